//! The types of a kernel's parameters, so that a launch with the wrong ones does not compile.

use std::sync::Arc;

use crate::buffer::{Buffer, Slice, SliceMut};
use crate::driver::{Allocation, Packed};
use crate::element::{Element, Pointee, Value};
use crate::shared::Pointer;

/// A parameter `const T*`; given a [`Slice`].
#[derive(Debug)]
pub struct Const<T>(std::marker::PhantomData<T>);

/// A parameter `T*`; given a [`SliceMut`].
#[derive(Debug)]
pub struct Mut<T>(std::marker::PhantomData<T>);

/// The type of a kernel's parameter: [`Const`], [`Mut`], or a [`Value`].
pub trait Parameter {
    /// What the caller gives.
    type Passed<'a>;
    /// The type as the emulator spells it.
    fn name() -> String;
    /// Its size in bytes.
    fn size() -> usize;
    #[doc(hidden)]
    fn put(given: Self::Passed<'_>, call: &mut Call);
}

/// The values of a launch, and the memory they point to. Made by [`Arguments`] alone.
#[derive(Debug, Default)]
pub struct Call {
    pub(crate) packed: Packed,
    pub(crate) memory: Vec<Arc<Allocation>>,
}

impl<T: Element> Parameter for Const<T> {
    type Passed<'a> = Slice<'a, T>;

    fn name() -> String {
        format!("*const {}", T::name())
    }

    fn size() -> usize {
        8
    }

    fn put(given: Slice<'_, T>, call: &mut Call) {
        let address = if given.is_empty() { 0 } else { given.address() };
        call.packed.push(&address.to_ne_bytes());
        call.memory.push(Arc::clone(given.allocation));
    }
}

impl<T: Element> Parameter for Mut<T> {
    type Passed<'a> = SliceMut<'a, T>;

    fn name() -> String {
        format!("*mut {}", T::name())
    }

    fn size() -> usize {
        8
    }

    fn put(given: SliceMut<'_, T>, call: &mut Call) {
        let address = if given.is_empty() { 0 } else { given.address() };
        call.packed.push(&address.to_ne_bytes());
        call.memory.push(given.allocation);
    }
}

/// A parameter that is a structure of addresses; given a [`Bundle`].
#[derive(Debug)]
pub struct Addresses<T>(std::marker::PhantomData<T>);

/// A structure of addresses in device memory, which it keeps from being freed.
#[derive(Clone, Debug)]
pub struct Bundle<T> {
    addresses: T,
    memory: Vec<Arc<Allocation>>,
}

/// Takes the addresses of arrays, and remembers the arrays.
#[derive(Debug, Default)]
pub struct Binder(Vec<Arc<Allocation>>);

impl Binder {
    /// The address of an array.
    pub fn address<P: Pointer>(&mut self, buffer: &Buffer<<P::Target as Pointee>::Kept>) -> P {
        self.part(buffer.all())
    }

    /// The address of an array that kernels know as one of another type.
    pub fn address_as<T: Element, P: Pointer>(&mut self, buffer: &Buffer<T>) -> P {
        self.part(buffer.all())
    }

    /// The address of a part of an array; none where it is empty.
    pub fn part<T: Element, P: Pointer>(&mut self, part: Slice<'_, T>) -> P {
        self.0.push(Arc::clone(part.allocation));
        P::new(if part.is_empty() { 0 } else { part.address() })
    }

    /// The address of the field so many bytes into an array.
    pub fn field<T: Element, P: Pointer>(&mut self, buffer: &Buffer<T>, bytes: usize) -> P {
        debug_assert!(bytes < buffer.len() * size_of::<T>());
        let all = buffer.all();
        self.0.push(Arc::clone(all.allocation));
        P::new(all.address() + bytes as u64)
    }

    /// What another bundle holds.
    pub fn join<T: Copy>(&mut self, other: &Bundle<T>) -> T {
        self.0.extend(other.memory.iter().cloned());
        other.addresses
    }

    /// A structure of addresses taken here.
    pub fn bundle<T>(self, addresses: T) -> Bundle<T> {
        Bundle {
            addresses,
            memory: self.0,
        }
    }
}

impl<T: Value> Parameter for Addresses<T> {
    type Passed<'a> = &'a Bundle<T>;

    fn name() -> String {
        T::name()
    }

    fn size() -> usize {
        size_of::<T>()
    }

    fn put(given: &Bundle<T>, call: &mut Call) {
        call.packed.push(bytemuck::bytes_of(&given.addresses));
        call.memory.extend(given.memory.iter().cloned());
    }
}

impl<T: Value> Parameter for T {
    type Passed<'a> = T;

    fn name() -> String {
        <T as Value>::name()
    }

    fn size() -> usize {
        size_of::<T>()
    }

    fn put(given: T, call: &mut Call) {
        call.packed.push(bytemuck::bytes_of(&given));
    }
}

/// The types of all parameters of a kernel, a tuple of [`Parameter`]s.
pub trait Arguments {
    /// What the caller gives: a tuple of the same length.
    type Passed<'a>;
    /// Their names.
    fn names() -> Vec<String>;
    /// Their sizes.
    fn sizes() -> Vec<usize>;
    #[doc(hidden)]
    fn pack(given: Self::Passed<'_>) -> Call;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Parameter),*> Arguments for ($($name,)*) {
            type Passed<'a> = ($($name::Passed<'a>,)*);

            fn names() -> Vec<String> {
                vec![$($name::name()),*]
            }

            fn sizes() -> Vec<usize> {
                vec![$($name::size()),*]
            }

            #[allow(non_snake_case, clippy::redundant_closure_call)]
            fn pack(given: Self::Passed<'_>) -> Call {
                let ($($name,)*) = given;
                let mut call = Call::default();
                $($name::put($name, &mut call);)*
                call
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
tuples!(A B C D E F G H I J K L M);
tuples!(A B C D E F G H I J K L M N);
tuples!(A B C D E F G H I J K L M N O);
tuples!(A B C D E F G H I J K L M N O P);
