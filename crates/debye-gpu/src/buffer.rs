//! [`Buffer`]: a typed array in device memory, and views of parts of it.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use crate::driver::Allocation;
use crate::element::Element;

/// An array in device memory.
#[derive(Debug)]
pub struct Buffer<T: Element> {
    pub(crate) allocation: Arc<Allocation>,
    length: usize,
    kind: PhantomData<T>,
}

/// A part of a buffer, to read.
#[derive(Debug)]
pub struct Slice<'a, T: Element> {
    pub(crate) allocation: &'a Arc<Allocation>,
    start: usize,
    length: usize,
    kind: PhantomData<&'a T>,
}

/// A part of a buffer, to read and write.
#[derive(Debug)]
pub struct SliceMut<'a, T: Element> {
    pub(crate) allocation: Arc<Allocation>,
    start: usize,
    length: usize,
    kind: PhantomData<&'a mut T>,
}

impl<T: Element> Buffer<T> {
    pub(crate) fn new(allocation: Allocation, length: usize) -> Self {
        Self {
            allocation: Arc::new(allocation),
            length,
            kind: PhantomData,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    /// All of it, to read.
    pub fn all(&self) -> Slice<'_, T> {
        self.part(0..self.length)
    }

    /// All of it, to write.
    pub fn all_mut(&mut self) -> SliceMut<'_, T> {
        self.part_mut(0..self.length)
    }

    /// A part of it, to read; what lies beyond the end is left out.
    pub fn part(&self, range: Range<usize>) -> Slice<'_, T> {
        let end = range.end.min(self.length);
        let start = range.start.min(end);
        Slice {
            allocation: &self.allocation,
            start,
            length: end - start,
            kind: PhantomData,
        }
    }

    /// A part of it, to write; what lies beyond the end is left out.
    pub fn part_mut(&mut self, range: Range<usize>) -> SliceMut<'_, T> {
        let end = range.end.min(self.length);
        let start = range.start.min(end);
        SliceMut {
            allocation: Arc::clone(&self.allocation),
            start,
            length: end - start,
            kind: PhantomData,
        }
    }

    /// The first `at` elements and the rest, both to write.
    pub fn split_mut(&mut self, at: usize) -> (SliceMut<'_, T>, SliceMut<'_, T>) {
        let at = at.min(self.length);
        let part = |start, length| SliceMut {
            allocation: Arc::clone(&self.allocation),
            start,
            length,
            kind: PhantomData,
        };
        (part(0, at), part(at, self.length - at))
    }
}

impl<T: Element> Slice<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where it lies on the device.
    pub(crate) fn address(&self) -> u64 {
        self.allocation.address + (self.start * size_of::<T>()) as u64
    }
}

impl<T: Element> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for Slice<'_, T> {}

impl<T: Element> SliceMut<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where it lies on the device.
    pub(crate) fn address(&self) -> u64 {
        self.allocation.address + (self.start * size_of::<T>()) as u64
    }

    /// The same part, to read.
    pub fn read(&self) -> Slice<'_, T> {
        Slice {
            allocation: &self.allocation,
            start: self.start,
            length: self.length,
            kind: PhantomData,
        }
    }

    /// The same part for a shorter time.
    pub fn again(&mut self) -> SliceMut<'_, T> {
        SliceMut {
            allocation: Arc::clone(&self.allocation),
            start: self.start,
            length: self.length,
            kind: PhantomData,
        }
    }

    /// The first `length` elements, or all if there are fewer.
    pub fn first(&mut self, length: usize) -> SliceMut<'_, T> {
        let mut part = self.again();
        part.length = part.length.min(length);
        part
    }
}
