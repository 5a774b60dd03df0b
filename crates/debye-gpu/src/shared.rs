//! What kernels share with the host, declared once in Rust: structures ([`device_struct!`](crate::device_struct)),
//! the addresses in them, constants ([`constants!`](crate::constants)), and the [`Header`] that all are printed into.

use std::fmt::Write;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use crate::element::{Element, Pointee, Spelled};

/// A type that only kernels know, such as one that a macro chooses, by its name there.
#[macro_export]
macro_rules! device_types {
    ($($(#[$doc:meta])* $visible:vis $name:ident = $spelled:literal in $kept:ty;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, ::bytemuck::Pod, ::bytemuck::Zeroable)]
            #[repr(C)]
            $visible struct $name;

            impl $crate::Spelled for $name {
                fn declare(name: &str) -> String {
                    format!(concat!($spelled, " {}"), name)
                }
            }

            impl $crate::Pointee for $name {
                type Kept = $kept;
            }
        )*
    };
}

/// A field that is an address in device memory.
pub trait Pointer: Pod {
    /// What it points to.
    type Target: Pointee;
    /// Made from a number.
    fn new(address: u64) -> Self;
}

macro_rules! pointers {
    ($($(#[$doc:meta])* $name:ident = $format:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Pod, Zeroable)]
            #[repr(transparent)]
            pub struct $name<T>(u64, PhantomData<T>);

            impl<T> Clone for $name<T> {
                fn clone(&self) -> Self {
                    *self
                }
            }

            impl<T> Copy for $name<T> {}

            impl<T: Pointee> Default for $name<T> {
                fn default() -> Self {
                    Self::new(0)
                }
            }

            impl<T: Pointee + Element> $name<T> {
                /// The address of an element after it.
                pub fn plus(self, elements: usize) -> Self {
                    Self::new(self.0 + (elements * size_of::<T>()) as u64)
                }
            }

            impl<T: Pointee> $name<T> {
                /// The same address of something else.
                pub fn cast<P: Pointer>(self) -> P {
                    P::new(self.0)
                }
            }

            impl<T: Pointee> Pointer for $name<T> {
                type Target = T;

                fn new(address: u64) -> Self {
                    Self(address, PhantomData)
                }
            }

            impl<T: Pointee> Spelled for $name<T> {
                fn declare(name: &str) -> String {
                    format!($format, T::declare("").trim_end(), name)
                }
            }
        )*
    };
}

pointers! {
    /// A field `T*`; none by default.
    Address = "{}* {}";
    /// A field `const T*`; none by default.
    ConstAddress = "const {}* {}";
}

/// A structure that kernels share with the host; made by [`device_struct!`](crate::device_struct).
pub trait DeviceStruct: Pointee {
    /// Its definition in CUDA C++, which does not compile unless every field is where Rust has it.
    fn definition() -> String;
}

/// Declares structures that kernels share with the host: plain data without padding. A [`Header`] defines them for the
/// kernels, under the same names.
#[macro_export]
macro_rules! device_struct {
    ($(
        $(#[$attribute:meta])*
        $visible:vis struct $name:ident {
            $($(#[$doc:meta])* $field_visible:vis $field:ident: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Copy, Debug, ::bytemuck::Pod, ::bytemuck::Zeroable)]
            #[repr(C)]
            $visible struct $name {
                $($(#[$doc])* $field_visible $field: $type,)*
            }

            impl $crate::Element for $name {
                fn name() -> String {
                    format!("struct{:04}", size_of::<Self>())
                }
            }

            impl $crate::Value for $name {
                fn name() -> String {
                    <Self as $crate::Element>::name()
                }
            }

            impl $crate::Pointee for $name {
                type Kept = Self;
            }

            impl $crate::Spelled for $name {
                // With the keyword, nothing need be declared before its address is taken.
                fn declare(name: &str) -> String {
                    format!(concat!("struct ", stringify!($name), " {}"), name)
                }
            }

            impl $crate::DeviceStruct for $name {
                fn definition() -> String {
                    let fields = [$((
                        stringify!($field),
                        <$type as $crate::Spelled>::declare(stringify!($field)),
                        ::core::mem::offset_of!($name, $field),
                    )),*];
                    $crate::define_struct(stringify!($name), size_of::<Self>(), &fields)
                }
            }
        )*
    };
}

/// The text of a structure with these fields: their names, declarations and offsets.
#[doc(hidden)]
pub fn define_struct(name: &str, size: usize, fields: &[(&str, String, usize)]) -> String {
    let mut text = format!("struct {name} {{\n");
    for (_, declaration, _) in fields {
        let _ = writeln!(text, "    {declaration};");
    }
    let _ = writeln!(text, "}};\nstatic_assert(sizeof({name}) == {size}, \"{name}\");");
    for (field, _, offset) in fields {
        let _ = writeln!(
            text,
            "static_assert(OFFSET_OF({name}, {field}) == {offset}, \"{name}::{field}\");"
        );
    }
    text
}

/// Names and values of constants, for [`Header::constants`]: `constants![BLOCK, ISOTROPIC = Coupling::Isotropic]`.
#[macro_export]
macro_rules! constants {
    (@ $name:ident) => { $name };
    (@ $name:ident $value:expr) => { $value };
    ($($name:ident $(= $value:expr)?),* $(,)?) => {
        [$((stringify!($name), $crate::constants!(@ $name $($value)?) as u32)),*]
    };
}

/// A header for kernels, printed from declarations in Rust. Structures inside others come before them.
#[derive(Clone, Debug, Default)]
pub struct Header(String);

impl Header {
    /// One that needs these other headers.
    pub fn new(includes: &[&str]) -> Self {
        let includes: String = includes
            .iter()
            .map(|name| format!("#include \"{name}\"\n"))
            .collect();
        Self(format!("#pragma once\n{includes}"))
    }

    /// With constants; see [`constants!`](crate::constants).
    pub fn constants(mut self, constants: &[(&str, u32)]) -> Self {
        for (name, value) in constants {
            let _ = writeln!(self.0, "constexpr u32 {name} = {value}u;");
        }
        self
    }

    /// With a structure.
    pub fn define<T: DeviceStruct>(mut self) -> Self {
        self.0 += &T::definition();
        self
    }

    /// Its text.
    pub fn text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    device_types! { Real = "real" in u32; }

    mod first {
        crate::device_struct! {
            /// As in `second`, but for the order.
            pub(super) struct Links {
                pub(super) cell: [f64; 6],
                pub(super) count: u32,
                pub(super) most: u32,
            }
        }
    }

    mod second {
        crate::device_struct! {
            pub(super) struct Links {
                pub(super) cell: [f64; 6],
                pub(super) most: u32,
                pub(super) count: u32,
            }
        }
    }

    device_struct! {
        struct Tables {
            starts: ConstAddress<u32>,
            velocities: Address<Real>,
            links: [Address<first::Links>; 2],
            inside: [first::Links; 1],
            pairs: [[f32; 2]; 4],
        }
    }

    #[test]
    fn swapped_fields_are_another_text() {
        let [one, two] = [first::Links::definition(), second::Links::definition()];
        assert_eq!(size_of::<first::Links>(), size_of::<second::Links>());
        assert!(one.contains("static_assert(OFFSET_OF(Links, count) == 48, \"Links::count\");"));
        assert!(two.contains("static_assert(OFFSET_OF(Links, count) == 52, \"Links::count\");"));
    }

    #[test]
    fn fields_are_spelled_as_in_cuda() {
        const MOST: usize = 3;
        let text = Header::new(&["prelude.cuh"])
            .constants(&constants![MOST, LEAST = MOST - 1])
            .define::<Tables>()
            .text();
        let expected = "#pragma once
#include \"prelude.cuh\"
constexpr u32 MOST = 3u;
constexpr u32 LEAST = 2u;
struct Tables {
    const u32* starts;
    real* velocities;
    struct Links* links[2];
    struct Links inside[1];
    f32 pairs[4][2];
};
static_assert(sizeof(Tables) == 120, \"Tables\");
static_assert(OFFSET_OF(Tables, starts) == 0, \"Tables::starts\");
static_assert(OFFSET_OF(Tables, velocities) == 8, \"Tables::velocities\");
static_assert(OFFSET_OF(Tables, links) == 16, \"Tables::links\");
static_assert(OFFSET_OF(Tables, inside) == 32, \"Tables::inside\");
static_assert(OFFSET_OF(Tables, pairs) == 88, \"Tables::pairs\");
";
        assert_eq!(text, expected);
    }
}
