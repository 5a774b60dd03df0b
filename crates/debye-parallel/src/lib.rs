//! Loops on all threads: what `rayon` has for slices and ranges, in less code for each loop.
//!
//! `rayon` compiles its splitting and joining anew for each closure and each zip, which once was a fifth of the time that
//! the engine took to compile. Here a loop is a range of indices that one function splits (`for_parts`, in `rayon`'s
//! pool), and what is compiled for a loop is its body. Names, and how loops are split, are those of `rayon`. Results are
//! in the order of the indices, whatever the number of threads; [`Indexed::fold`] alone joins parts in any order.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A loop that several threads share.
struct Loop<'w> {
    work: &'w (dyn Fn(Range<usize>) + Sync),
    /// How many indices a part has, at least and at most.
    parts: [usize; 2],
    threads: usize,
}

/// Does all indices below `len`, in parts of at least and at most so many where there are more threads than one.
fn for_parts(len: usize, parts: [usize; 2], work: &(dyn Fn(Range<usize>) + Sync)) {
    let threads = rayon::current_num_threads();
    match (len, threads) {
        (0, _) => {}
        (_, 1) => work(0..len),
        _ => {
            let all = Loop { work, parts, threads };
            all.split(0..len, threads, false);
        }
    }
}

impl Loop<'_> {
    /// In halves, until `halvings` is halved to none; again as often where an idle thread has taken the range over.
    fn split(&self, range: Range<usize>, halvings: usize, taken_over: bool) {
        let [least, most] = self.parts;
        let half = range.len() / 2;
        let wanted = taken_over || halvings > 0 || range.len() > most;
        if half < least || !wanted {
            return (self.work)(range);
        }
        let left = halvings / 2;
        let halvings = if taken_over { self.threads.max(left) } else { left };
        let middle = range.start + half;
        rayon::join_context(
            |context| self.split(range.start..middle, halvings, context.migrated()),
            |context| self.split(middle..range.end, halvings, context.migrated()),
        );
    }
}

/// Values by index.
///
/// # Safety
/// [`Self::get`] must be sound on any thread for every index below [`Self::len`], as long as no index is asked for twice.
/// The length must not change, and [`Self::parts`] must begin with one or more.
// Nobody asks a loop whether it is empty.
#[allow(clippy::len_without_is_empty)]
pub unsafe trait Indexed: Sync + Sized {
    /// A value.
    type Item;

    /// How many there are.
    fn len(&self) -> usize;

    /// The value of an index.
    ///
    /// # Safety
    /// The index must be below the length, and be asked for once at the most.
    unsafe fn get(&self, index: usize) -> Self::Item;

    /// How many are done by a thread without a pause, at least and at most.
    fn parts(&self) -> [usize; 2] {
        [1, usize::MAX]
    }

    /// At least so many by a thread without a pause.
    fn with_min_len(self, least: usize) -> InParts<Self> {
        let parts = [least.max(1), self.parts()[1]];
        InParts { of: self, parts }
    }

    /// At most so many by a thread without a pause.
    fn with_max_len(self, most: usize) -> InParts<Self> {
        let parts = [self.parts()[0], most];
        InParts { of: self, parts }
    }

    /// With their indices.
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate(self)
    }

    /// Beside others, as far as both go.
    fn zip<O: IntoIndexed>(self, others: O) -> Zip<Self, O::Indexed> {
        Zip(self, others.into_par_iter())
    }

    /// What a function makes of them.
    fn map<T, F: Fn(Self::Item) -> T + Sync>(self, to: F) -> Map<Self, F> {
        Map { of: self, to }
    }

    /// What a function makes of them that has something at hand, made once for each part.
    fn map_init<S, T, N, F>(self, new: N, to: F) -> MapInit<Self, N, F>
    where
        N: Fn() -> S + Sync,
        F: Fn(&mut S, Self::Item) -> T + Sync,
    {
        MapInit { of: self, new, to }
    }

    /// Does something with each.
    fn for_each(self, work: impl Fn(Self::Item) + Sync) {
        for_parts(self.len(), self.parts(), &|range| {
            for i in range {
                // SAFETY: ranges are below the length and apart.
                work(unsafe { self.get(i) });
            }
        });
    }

    /// Does something with each and with what is at hand, made once for each part.
    fn for_each_init<S, N: Fn() -> S + Sync>(self, new: N, work: impl Fn(&mut S, Self::Item) + Sync) {
        for_parts(self.len(), self.parts(), &|range| {
            let mut at_hand = new();
            for i in range {
                // SAFETY: ranges are below the length and apart.
                work(&mut at_hand, unsafe { self.get(i) });
            }
        });
    }

    /// What each part adds up, joined in any order: of use where that does not matter.
    fn fold<S: Send>(
        self,
        new: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, Self::Item) + Sync,
        join: impl Fn(&mut S, S),
    ) -> S {
        let sums = Mutex::new(Vec::new());
        for_parts(self.len(), self.parts(), &|range| {
            let mut sum = new();
            for i in range {
                // SAFETY: ranges are below the length and apart.
                add(&mut sum, unsafe { self.get(i) });
            }
            sums.lock().unwrap_or_else(PoisonError::into_inner).push(sum);
        });
        let mut total = new();
        let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
        sums.into_iter().for_each(|sum| join(&mut total, sum));
        total
    }

    /// All of them, in order.
    fn collect<C: Collected<Self::Item>>(self) -> C
    where
        Self::Item: Send,
    {
        C::from_vec(filled(
            self.len(),
            self.parts(),
            |range, to: &Shared<Self::Item>| {
                // SAFETY: ranges are below the length and apart.
                range.for_each(|i| unsafe { to.at(i).write(self.get(i)) });
            },
        ))
    }

    /// The largest; the last of several.
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord + Send,
    {
        self.collect::<Vec<_>>().into_iter().max()
    }
}

/// A vector of which each part writes its own elements, all of them.
fn filled<T: Send>(
    len: usize,
    parts: [usize; 2],
    fill: impl Fn(Range<usize>, &Shared<'_, T>) + Sync,
) -> Vec<T> {
    let mut all = Vec::with_capacity(len);
    let to = Shared(all.as_mut_ptr(), PhantomData);
    for_parts(len, parts, &|range| fill(range, &to));
    // SAFETY: each was written. Where a part panics, this is not come to.
    unsafe { all.set_len(len) };
    all
}

/// A pointer that threads share, each for elements of its own.
struct Shared<'a, T>(*mut T, PhantomData<&'a mut [T]>);

// SAFETY: elements are used by one thread each; that they may go to another is `T: Send`.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<T> Shared<'_, T> {
    /// # Safety
    /// The element must be inside of what is pointed to.
    unsafe fn at(&self, index: usize) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(index) }
    }
}

/// What [`Indexed::collect`] makes.
pub trait Collected<T> {
    /// From all of them, in order.
    fn from_vec(all: Vec<T>) -> Self;
}

impl<T> Collected<T> for Vec<T> {
    fn from_vec(all: Vec<T>) -> Self {
        all
    }
}

/// Everything, or the first error.
impl<T, E> Collected<Result<T, E>> for Result<Vec<T>, E> {
    fn from_vec(all: Vec<Result<T, E>>) -> Self {
        all.into_iter().collect()
    }
}

/// What becomes [`Indexed`].
pub trait IntoIndexed {
    /// What it becomes.
    type Indexed: Indexed;

    /// Its values by index.
    fn into_par_iter(self) -> Self::Indexed;
}

impl<I: Indexed> IntoIndexed for I {
    type Indexed = I;

    fn into_par_iter(self) -> I {
        self
    }
}

impl IntoIndexed for Range<usize> {
    type Indexed = Indices;

    fn into_par_iter(self) -> Indices {
        Indices(self)
    }
}

impl<T: Send> IntoIndexed for Vec<T> {
    type Indexed = Owned<T>;

    fn into_par_iter(self) -> Owned<T> {
        Owned(
            self.into_iter()
                .map(|value| UnsafeCell::new(Some(value)))
                .collect(),
        )
    }
}

macro_rules! slices {
    ($($from:ty, $bound:ident => $into:ty, $by:ident;)*) => {$(
        impl<'a, T: $bound> IntoIndexed for $from {
            type Indexed = $into;

            fn into_par_iter(self) -> $into {
                self.$by()
            }
        }
    )*};
}
slices! {
    &'a [T], Sync => Elements<'a, T>, par_iter;
    &'a Vec<T>, Sync => Elements<'a, T>, par_iter;
    &'a mut [T], Send => ElementsMut<'a, T>, par_iter_mut;
    &'a mut Vec<T>, Send => ElementsMut<'a, T>, par_iter_mut;
}

/// Slices as loops.
pub trait InParallel<T> {
    /// Elements.
    fn par_iter(&self) -> Elements<'_, T>;

    /// Elements to change.
    fn par_iter_mut(&mut self) -> ElementsMut<'_, T>;

    /// Runs of so many, the last with what is left.
    fn par_chunks(&self, size: usize) -> Chunks<'_, T>;

    /// The same to change.
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;

    /// Runs of so many, without what is left.
    fn par_chunks_exact(&self, size: usize) -> Chunks<'_, T>;

    /// The same to change.
    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
}

impl<T> InParallel<T> for [T] {
    fn par_iter(&self) -> Elements<'_, T> {
        Elements(self)
    }

    fn par_iter_mut(&mut self) -> ElementsMut<'_, T> {
        ElementsMut {
            first: Shared(self.as_mut_ptr(), PhantomData),
            len: self.len(),
        }
    }

    fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
        assert!(size > 0, "runs of nothing");
        Chunks { of: self, size }
    }

    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        assert!(size > 0, "runs of nothing");
        let of = self.par_iter_mut();
        ChunksMut { of, size }
    }

    fn par_chunks_exact(&self, size: usize) -> Chunks<'_, T> {
        self[..self.len() / size * size].par_chunks(size)
    }

    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        let whole = self.len() / size * size;
        self[..whole].par_chunks_mut(size)
    }
}

/// Numbers in a row.
pub struct Indices(Range<usize>);

// SAFETY: numbers are nobody's.
unsafe impl Indexed for Indices {
    type Item = usize;

    fn len(&self) -> usize {
        self.0.len()
    }

    unsafe fn get(&self, index: usize) -> usize {
        self.0.start + index
    }
}

/// Elements of a slice.
pub struct Elements<'a, T>(&'a [T]);

// SAFETY: what is read may be shared.
unsafe impl<'a, T: Sync> Indexed for Elements<'a, T> {
    type Item = &'a T;

    fn len(&self) -> usize {
        self.0.len()
    }

    unsafe fn get(&self, index: usize) -> &'a T {
        // SAFETY: below the length by the caller's promise.
        unsafe { self.0.get_unchecked(index) }
    }
}

/// Elements of a slice, to change.
pub struct ElementsMut<'a, T> {
    first: Shared<'a, T>,
    len: usize,
}

// SAFETY: each element is given once, of a slice that is borrowed as long.
unsafe impl<'a, T: Send> Indexed for ElementsMut<'a, T> {
    type Item = &'a mut T;

    fn len(&self) -> usize {
        self.len
    }

    unsafe fn get(&self, index: usize) -> &'a mut T {
        // SAFETY: below the length, and nobody else's by the caller's promise.
        unsafe { &mut *self.first.at(index) }
    }
}

/// What a vector holds, moved out of it.
pub struct Owned<T>(Vec<UnsafeCell<Option<T>>>);

// SAFETY: each element is used by one thread, which it is moved to.
unsafe impl<T: Send> Sync for Owned<T> {}

// SAFETY: as above.
unsafe impl<T: Send> Indexed for Owned<T> {
    type Item = T;

    fn len(&self) -> usize {
        self.0.len()
    }

    unsafe fn get(&self, index: usize) -> T {
        // SAFETY: nobody else's by the caller's promise, who has not taken it before.
        unsafe { (*self.0[index].get()).take().unwrap_unchecked() }
    }
}

/// Runs of a slice.
pub struct Chunks<'a, T> {
    of: &'a [T],
    size: usize,
}

// SAFETY: what is read may be shared.
unsafe impl<'a, T: Sync> Indexed for Chunks<'a, T> {
    type Item = &'a [T];

    fn len(&self) -> usize {
        self.of.len().div_ceil(self.size)
    }

    unsafe fn get(&self, index: usize) -> &'a [T] {
        let first = index * self.size;
        &self.of[first..self.of.len().min(first + self.size)]
    }
}

/// Runs of a slice, to change.
pub struct ChunksMut<'a, T> {
    of: ElementsMut<'a, T>,
    size: usize,
}

// SAFETY: runs do not overlap, and each is given once, of a slice that is borrowed as long.
unsafe impl<'a, T: Send> Indexed for ChunksMut<'a, T> {
    type Item = &'a mut [T];

    fn len(&self) -> usize {
        self.of.len.div_ceil(self.size)
    }

    unsafe fn get(&self, index: usize) -> &'a mut [T] {
        let first = index * self.size;
        let size = self.size.min(self.of.len - first);
        // SAFETY: inside of the slice, and nobody else's by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.of.first.at(first), size) }
    }
}

/// See [`Indexed::enumerate`].
pub struct Enumerate<I>(I);

// SAFETY: that of what is counted.
unsafe impl<I: Indexed> Indexed for Enumerate<I> {
    type Item = (usize, I::Item);

    fn len(&self) -> usize {
        self.0.len()
    }

    unsafe fn get(&self, index: usize) -> Self::Item {
        // SAFETY: the caller's promise.
        (index, unsafe { self.0.get(index) })
    }

    fn parts(&self) -> [usize; 2] {
        self.0.parts()
    }
}

/// See [`Indexed::zip`].
pub struct Zip<A, B>(A, B);

// SAFETY: that of both.
unsafe impl<A: Indexed, B: Indexed> Indexed for Zip<A, B> {
    type Item = (A::Item, B::Item);

    fn len(&self) -> usize {
        self.0.len().min(self.1.len())
    }

    unsafe fn get(&self, index: usize) -> Self::Item {
        // SAFETY: the caller's promise.
        unsafe { (self.0.get(index), self.1.get(index)) }
    }

    fn parts(&self) -> [usize; 2] {
        let ([least, most], [other_least, other_most]) = (self.0.parts(), self.1.parts());
        [least.max(other_least), most.min(other_most)]
    }
}

/// See [`Indexed::map`].
pub struct Map<I, F> {
    of: I,
    to: F,
}

// SAFETY: that of what is mapped.
unsafe impl<I: Indexed, T, F: Fn(I::Item) -> T + Sync> Indexed for Map<I, F> {
    type Item = T;

    fn len(&self) -> usize {
        self.of.len()
    }

    unsafe fn get(&self, index: usize) -> T {
        // SAFETY: the caller's promise.
        (self.to)(unsafe { self.of.get(index) })
    }

    fn parts(&self) -> [usize; 2] {
        self.of.parts()
    }
}

/// See [`Indexed::with_min_len`].
pub struct InParts<I> {
    of: I,
    parts: [usize; 2],
}

// SAFETY: that of what is in parts.
unsafe impl<I: Indexed> Indexed for InParts<I> {
    type Item = I::Item;

    fn len(&self) -> usize {
        self.of.len()
    }

    unsafe fn get(&self, index: usize) -> I::Item {
        // SAFETY: the caller's promise.
        unsafe { self.of.get(index) }
    }

    fn parts(&self) -> [usize; 2] {
        self.parts
    }
}

/// See [`Indexed::map_init`].
pub struct MapInit<I, N, F> {
    of: I,
    new: N,
    to: F,
}

impl<I, S, T, N, F> MapInit<I, N, F>
where
    I: Indexed,
    T: Send,
    N: Fn() -> S + Sync,
    F: Fn(&mut S, I::Item) -> T + Sync,
{
    /// All of them, in order.
    pub fn collect<C: Collected<T>>(self) -> C {
        let Self { of, new, to } = self;
        C::from_vec(filled(of.len(), of.parts(), |range, all: &Shared<T>| {
            let mut at_hand = new();
            // SAFETY: ranges are below the length and apart.
            range.for_each(|i| unsafe { all.at(i).write(to(&mut at_hand, of.get(i))) });
        }))
    }
}

#[cfg(test)]
mod tests;
