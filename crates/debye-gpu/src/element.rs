//! [`Element`]: what may lie in device memory; [`Value`]: what may be handed to a kernel.

use std::fmt::Debug;

use bytemuck::{NoUninit, Pod};

/// A type that may lie in device memory, by its name in kernels.
pub trait Element: Pod + Send + Sync {
    /// Its name as the emulator spells it.
    fn name() -> String;
}

/// A type that may be handed to a kernel by value.
pub trait Value: NoUninit + Send + Sync {
    /// Its name as the emulator spells it.
    fn name() -> String;
}

/// A type that CUDA C++ has a name for.
pub trait Spelled: Copy + Debug + Send + Sync + 'static {
    /// A variable of this type: `f64 links[16][2]`.
    fn declare(name: &str) -> String;
}

/// What an address may point to.
pub trait Pointee: Pod + Spelled {
    /// What a buffer of it has as elements: itself, or words.
    type Kept: Element;
}

impl<T: Spelled, const N: usize> Spelled for [T; N] {
    fn declare(name: &str) -> String {
        T::declare(&format!("{name}[{N}]"))
    }
}

macro_rules! plain {
    ($($type:ident),*) => {
        $(
            impl Element for $type {
                fn name() -> String {
                    stringify!($type).into()
                }
            }
            impl Value for $type {
                fn name() -> String {
                    stringify!($type).into()
                }
            }
            impl Spelled for $type {
                fn declare(name: &str) -> String {
                    format!(concat!(stringify!($type), " {}"), name)
                }
            }
            impl Pointee for $type {
                type Kept = Self;
            }
        )*
    };
}

plain!(u8, u16, u32, u64, i32, i64, f32, f64);

/// A floating-point number.
pub trait Float: Element {
    /// Whether it has 64 bits.
    const DOUBLE: bool;
    /// Rounded to it.
    fn rounded(x: f64) -> Self;
    /// As `f64`.
    fn wide(self) -> f64;
}

impl Float for f32 {
    const DOUBLE: bool = false;

    fn rounded(x: f64) -> Self {
        x as Self
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Float for f64 {
    const DOUBLE: bool = true;

    fn rounded(x: f64) -> Self {
        x
    }

    fn wide(self) -> f64 {
        self
    }
}
