//! Bank conflicts and divergent branches of the paper's kernels, counted by going through the addresses that every warp
//! would use. Shared memory has 32 banks of 4 bytes; lanes of a warp that want different words of one bank wait for each
//! other.

use super::scans::THREADS;

const LANES: u32 = 32;

/// What a block of a kernel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Accesses of warps to shared memory.
    pub accesses: u32,
    /// Cycles they take: one each, and one more for every conflict.
    pub cycles: u32,
    /// Branches of warps.
    pub branches: u32,
    /// Those where some lanes go one way and some the other.
    pub divergent: u32,
}

impl Counted {
    /// Every warp of a block asks `condition` and, where it holds, uses the words of `addresses` one after another.
    fn step<const N: usize>(&mut self, condition: impl Fn(u32) -> bool, addresses: impl Fn(u32) -> [u32; N]) {
        for warp in 0..THREADS / LANES {
            let lanes: Vec<u32> = (warp * LANES..(warp + 1) * LANES)
                .filter(|&t| condition(t))
                .collect();
            self.branches += 1;
            self.divergent += u32::from(!lanes.is_empty() && lanes.len() < LANES as usize);
            if lanes.is_empty() {
                continue;
            }
            for access in 0..N {
                let words: Vec<u32> = lanes.iter().map(|&t| addresses(t)[access]).collect();
                self.accesses += 1;
                self.cycles += cycles(&words);
            }
        }
    }

    /// Balanced trees.
    pub fn tree(padded: bool) -> Self {
        let slot = |element: u32| if padded { element + element / 32 } else { element };
        let (n, mut counted) = (2 * THREADS, Self::default());
        counted.step(|_| true, |t| [slot(t), slot(t + THREADS)]);
        let mut level = |offset: u32, first: u32| {
            let high = |t: u32| offset * (2 * t + first) - 1;
            // Both summands are read, and one of them is written.
            counted.step(
                |t| high(t) < n,
                |t| [slot(high(t)), slot(high(t) - offset), slot(high(t))],
            );
        };
        (0..n.ilog2()).for_each(|k| level(1 << k, 2));
        (0..THREADS.ilog2()).rev().for_each(|k| level(1 << k, 3));
        counted.step(|_| true, |t| [slot(t), slot(t + THREADS)]);
        counted
    }

    /// Double-buffered.
    pub fn double() -> Self {
        let mut counted = Self::default();
        counted.step(|_| true, |t| [t]);
        for k in 0..THREADS.ilog2() {
            let offset = 1 << k;
            counted.step(|t| t >= offset, |t| [t, t - offset, t]);
            // The other side of the same branch, which is not another one.
            let before = (counted.branches, counted.divergent);
            counted.step(|t| t < offset, |t| [t, t]);
            (counted.branches, counted.divergent) = before;
        }
        counted.step(|_| true, |t| [t]);
        counted
    }
}

/// As many as the most words of one bank; lanes that want the same word share it.
fn cycles(words: &[u32]) -> u32 {
    let mut banks: [Vec<u32>; 32] = Default::default();
    for &word in words {
        let bank = &mut banks[word as usize % 32];
        if !bank.contains(&word) {
            bank.push(word);
        }
    }
    banks.iter().map(Vec::len).max().unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_those_of_the_words() {
        let stride = |s: u32| (0..32).map(|t| t * s).collect::<Vec<_>>();
        for (s, want) in [(0, 1), (1, 1), (2, 2), (16, 16), (32, 32), (33, 1)] {
            assert_eq!(cycles(&stride(s)), want, "{s}");
        }
    }

    #[test]
    fn padding_takes_most_conflicts_away() {
        let (plain, padded, double) = (Counted::tree(false), Counted::tree(true), Counted::double());
        assert_eq!(plain.accesses, padded.accesses);
        assert_eq!(double.accesses, double.cycles);
        let conflicts = |c: Counted| c.cycles - c.accesses;
        assert!(10 * conflicts(padded) < conflicts(plain), "{plain:?} {padded:?}");
        // Two in, two out, and 19 levels that all warps ask about.
        assert_eq!(plain.branches, 21 * 16);
    }
}
