//! [`Structure`]: how charges stand to one another, as far as reciprocal vectors see it.

use std::collections::HashSet;
use std::f64::consts::TAU;

use crate::parallel::{InParallel, Indexed};

use crate::expr::{Mat3, Vec3};
use crate::forces::ewald::reciprocal;
use crate::system::Cell;

/// Shells of reciprocal vectors of like length.
const SHELLS: usize = 48;

/// Directions in which reciprocal vectors are looked for, and the most that a shell has of them.
const DIRECTIONS: usize = 48;

/// Where short reciprocal vectors are usually weaker than this, few others have the rest of their strength, as in a
/// crystal.
const PEAKED: f64 = 0.75;

/// With fewer reciprocal vectors that have any strength nothing is known.
const ENOUGH: usize = 6;

/// Reciprocal vectors times charges that are worth a second of a core.
const WORK: usize = 30_000_000;

/// The mean of |Σ q exp(2πi m·r)|² over reciprocal vectors of like length, relative to Σ q²: one where charges are
/// placed without regard to one another, and much less than one for reciprocal vectors that are long beside the
/// distance of opposite charges.
///
/// In a crystal most of the strength is in few reciprocal vectors. What these do depends on where in its cell an ion
/// is: nothing on a site of high symmetry, all they can elsewhere. So a crystal is taken to be at random, which is on
/// the safe side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Structure {
    /// Length of the reciprocal vectors where the last shell ends; beyond it nothing was looked at.
    longest: f64,
    shells: [f64; SHELLS],
}

impl Structure {
    /// Of charges at these places in the cell of the reciprocal vectors, from some reciprocal vectors of every length
    /// up to `longest`.
    pub fn of(cell: &Cell, positions: &[Vec3<f64>], charges: &[f64], longest: f64) -> Self {
        let at: Vec<(f64, [f64; 3])> = (positions.iter().zip(charges))
            .filter(|(_, q)| **q != 0.0)
            .map(|(&r, &q)| {
                let s = cell.fractional(r);
                (q, [s.x, s.y, s.z])
            })
            .collect();
        let most = (WORK / at.len().max(1) / SHELLS).clamp(1, DIRECTIONS);
        let mut found = strengths(&at, vectors(cell, longest, most, [1; 3]));
        // Copies of a box have nothing at all between the reciprocal vectors of the box, which say how many there are.
        let copies: [i32; 3] = std::array::from_fn(|axis| {
            let some = found.iter().filter(|w| w.strength > NOTHING);
            some.fold(0, |all, w| common_factor(all, w.n[axis])).max(1)
        });
        let enough = |found: &[Reflection]| found.iter().filter(|w| w.strength > NOTHING).count() >= ENOUGH;
        if copies != [1; 3] && enough(&found) {
            found = strengths(&at, vectors(cell, longest, most, copies));
            let share = copies.iter().map(|&c| f64::from(c)).product::<f64>();
            found.iter_mut().for_each(|w| w.strength /= share);
        }
        let short = found.iter().filter(|w| w.shell >= SHELLS / 2);
        let peaked = usual(short.map(|w| w.strength)).is_none_or(|strength| strength < PEAKED);
        let mut shells = [1.0; SHELLS];
        if !peaked && enough(&found) {
            // A shell without reciprocal vectors is like the next one that has some: where cells are small, the first
            // are empty.
            let mut last = 1.0;
            for k in (0..SHELLS).rev() {
                let own = found.iter().filter(|w| w.shell == k);
                last = mean(own.map(|w| w.strength)).unwrap_or(last);
                shells[k] = last;
            }
        }
        Self { longest, shells }
    }

    /// What is left of a mean square that was worked out for charges at random, of which `density` says how much
    /// reciprocal vectors have whose reciprocal vectors are of a length.
    pub fn left_of(&self, density: impl Fn(f64) -> f64) -> f64 {
        let step = self.longest / SHELLS as f64;
        let less_of =
            |(k, strength): (usize, &f64)| density((k as f64 + 0.5) * step) * step * (1.0 - strength);
        let less: f64 = self.shells.iter().enumerate().map(less_of).sum();
        (1.0 - less).max(0.01)
    }

    /// For reciprocal vectors of this length.
    pub fn at(&self, length: f64) -> f64 {
        let shell = (length / self.longest * SHELLS as f64) as usize;
        self.shells.get(shell).copied().unwrap_or(1.0)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    (count > 0.0).then_some(sum / count)
}

/// The mean of numbers that fall off exponentially, as the strengths of reciprocal vectors do where nothing is ordered,
/// whatever a few of them are: from the mean of their logarithms, which is less by Euler's constant.
fn usual(values: impl Iterator<Item = f64>) -> Option<f64> {
    mean(values.map(f64::ln)).map(|log| (log + 0.577_215_664_901_532_9).exp())
}

/// Less than that is nothing but rounding.
const NOTHING: f64 = 1e-6;

/// A reciprocal vector, the shell it is in, and how strong it is.
struct Reflection {
    n: [i32; 3],
    shell: usize,
    strength: f64,
}

/// The largest number that divides both.
fn common_factor(a: i32, b: i32) -> i32 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Reciprocal vectors of every length whose numbers are multiples of those of `copies`, at most so many to a shell.
fn vectors(cell: &Cell, longest: f64, most: usize, copies: [i32; 3]) -> Vec<Reflection> {
    let [a, b, c] = reciprocal(cell);
    let rows = Mat3::from_rows(a, b, c);
    let vectors = cell.to_arrays().map(Vec3::from);
    let (mut known, mut counts, mut all) = (HashSet::new(), [0; SHELLS], Vec::new());
    for number in 0..SHELLS * DIRECTIONS {
        // Evenly over the half of a sphere: reciprocal vectors come in pairs that are alike.
        let (shell, direction) = (number / DIRECTIONS, number % DIRECTIONS);
        let z = (direction as f64 + 0.5) / DIRECTIONS as f64;
        let turn = TAU * 0.618_033_988_749_895 * number as f64;
        let flat = (1.0 - z * z).sqrt();
        let length = longest * (shell as f64 + 0.5) / SHELLS as f64;
        let m = Vec3::new(flat * turn.cos(), flat * turn.sin(), z) * length;
        let n: [i32; 3] = std::array::from_fn(|axis| {
            let multiple = copies[axis];
            multiple * (m.dot(vectors[axis]) / f64::from(multiple)).round() as i32
        });
        let found = rows
            .combine(Vec3::new(f64::from(n[0]), f64::from(n[1]), f64::from(n[2])))
            .norm();
        let shell = (found / longest * SHELLS as f64) as usize;
        if n == [0; 3] || shell >= SHELLS || counts[shell] >= most {
            continue;
        }
        if !known.contains(&n.map(|k| -k)) && known.insert(n) {
            counts[shell] += 1;
            let strength = 0.0;
            all.push(Reflection { n, shell, strength });
        }
    }
    all
}

/// The reciprocal vectors with their strengths, for charges at fractions of the cell.
fn strengths(at: &[(f64, [f64; 3])], mut vectors: Vec<Reflection>) -> Vec<Reflection> {
    let squares: f64 = at.iter().map(|(q, _)| q * q).sum();
    let numbers: Vec<[i32; 3]> = vectors.iter().map(|w| w.n).collect();
    for (vector, [re, im]) in vectors.iter_mut().zip(densities(at, &numbers)) {
        vector.strength = (re * re + im * im) / squares.max(f64::MIN_POSITIVE);
    }
    vectors
}

/// Σ q exp(2πi n·s) for each of some reciprocal vectors.
fn densities(at: &[(f64, [f64; 3])], vectors: &[[i32; 3]]) -> Vec<[f64; 2]> {
    let reach: [usize; 3] = std::array::from_fn(|axis| {
        let longest = vectors.iter().map(|n| n[axis].unsigned_abs()).max();
        longest.unwrap_or(0) as usize
    });
    let times = |a: [f64; 2], b: [f64; 2]| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    let of_chunk = |chunk: &[(f64, [f64; 3])]| {
        let mut sums = vec![[0.0; 2]; vectors.len()];
        let mut powers: [Vec<[f64; 2]>; 3] = reach.map(|n| vec![[1.0, 0.0]; n + 1]);
        for (q, s) in chunk {
            for (powers, s) in powers.iter_mut().zip(s) {
                let (sine, cosine) = (TAU * s).sin_cos();
                for n in 1..powers.len() {
                    powers[n] = times(powers[n - 1], [cosine, sine]);
                }
            }
            for (sum, n) in sums.iter_mut().zip(vectors) {
                let along = |axis: usize| {
                    let [re, im] = powers[axis][n[axis].unsigned_abs() as usize];
                    [re, if n[axis] < 0 { -im } else { im }]
                };
                let [re, im] = times(times(along(0), along(1)), along(2));
                sum[0] += q * re;
                sum[1] += q * im;
            }
        }
        sums
    };
    // One order, whatever the number of threads.
    let chunks: Vec<_> = at.par_chunks(2048).map(of_chunk).collect();
    let mut all = vec![[0.0; 2]; vectors.len()];
    for chunk in chunks {
        for (to, from) in all.iter_mut().zip(chunk) {
            to[0] += from[0];
            to[1] += from[1];
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number from 0 to 1.
    fn random(k: usize) -> f64 {
        let mut x = k as u64;
        x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 27)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ (x >> 33)) as f64 / u64::MAX as f64
    }

    #[test]
    fn crystals_are_taken_to_be_at_random() {
        let cell = Cell::orthorhombic([5.0; 3]).unwrap();
        let made = |beside: f64| {
            let place = |k: usize| {
                let at = |axis: usize, n: usize| 0.25 * n as f64 + beside * (random(3 * k + axis + 1) - 0.5);
                Vec3::new(at(0, k / 400), at(1, k / 20 % 20), at(2, k % 20))
            };
            let positions: Vec<Vec3<f64>> = (0..8000).map(place).collect();
            let even = |k: usize| (k / 400 + k / 20 + k).is_multiple_of(2);
            let charges: Vec<f64> = (0..8000).map(|k| if even(k) { 1.0 } else { -1.0 }).collect();
            Structure::of(&cell, &positions, &charges, 9.0)
        };
        for beside in [0.0, 0.03, 0.06] {
            assert!(made(beside).shells.iter().all(|s| *s == 1.0), "{beside}");
        }
        assert!(made(5.0).shells.iter().any(|s| *s != 1.0));
    }

    #[test]
    fn copies_of_a_box_are_like_the_box() {
        let small = Cell::orthorhombic([2.0, 2.5, 3.0]).unwrap();
        let large = Cell::orthorhombic([4.0, 7.5, 6.0]).unwrap();
        let (mut positions, mut charges) = (Vec::new(), Vec::new());
        for k in 0..600 {
            let s = |axis: usize| random(7 * k + axis + 1);
            let first = small.position(Vec3::new(s(0), s(1), s(2)));
            positions.extend([first, first + Vec3::new(0.1 * s(3), 0.1 * s(4), 0.1)]);
            charges.extend([1.0, -1.0]);
        }
        let one = Structure::of(&small, &positions, &charges, 5.0);
        let (mut many, mut theirs) = (Vec::new(), Vec::new());
        for n in 0..12 {
            let by = Vec3::new(
                2.0 * f64::from(n % 2),
                2.5 * f64::from(n / 2 % 3),
                3.0 * f64::from(n / 6),
            );
            many.extend(positions.iter().map(|&r| r + by));
            theirs.extend_from_slice(&charges);
        }
        let all = Structure::of(&large, &many, &theirs, 5.0);
        let of = |s: &Structure, from: usize, to: usize| mean(s.shells[from..to].iter().copied()).unwrap();
        for (from, to) in [(4, 12), (12, 24), (24, 48)] {
            let (one, all) = (of(&one, from, to), of(&all, from, to));
            assert!((all / one - 1.0).abs() < 0.3, "{from}: {one} {all}");
        }
    }

    #[test]
    fn one_at_random_and_less_for_dipoles_in_long_waves() {
        let cell = Cell::triclinic([[4.0, 0.0, 0.0], [1.0, 5.0, 0.0], [0.5, -1.0, 6.0]]).unwrap();
        let place = |k: usize| {
            let s = |axis: usize| random(3 * k + axis + 1);
            cell.position(Vec3::new(s(0), s(1), s(2)))
        };
        let anywhere: Vec<Vec3<f64>> = (0..4000).map(place).collect();
        let charges: Vec<f64> = (0..4000).map(|k| if k % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let structure = Structure::of(&cell, &anywhere, &charges, 12.0);
        let mean = structure.shells[8..].iter().sum::<f64>() / (SHELLS - 8) as f64;
        assert!((mean - 1.0).abs() < 0.1, "{structure:?}");
        assert_eq!(structure.at(12.1), 1.0);

        // Opposite charges 0.1 apart: 2 sin²(π m d) on average over directions is 1 − sin(2π m d)/(2π m d).
        let mut pairs = anywhere.clone();
        for k in 0..2000 {
            let (z, turn) = (2.0 * random(9 * k + 70_001) - 1.0, TAU * random(9 * k + 80_002));
            let flat = (1.0 - z * z).sqrt();
            pairs[2 * k + 1] = pairs[2 * k] + Vec3::new(flat * turn.cos(), flat * turn.sin(), z) * 0.1;
        }
        let structure = Structure::of(&cell, &pairs, &charges, 12.0);
        for shell in 4..SHELLS {
            let x = TAU * 0.1 * 12.0 * (shell as f64 + 0.5) / SHELLS as f64;
            let (got, want) = (structure.shells[shell], 1.0 - x.sin() / x);
            assert!((got / want - 1.0).abs() < 0.6, "{shell}: {got} {want}");
        }
        // Every reciprocal vector of which something is known is a sum over all charges.
        let vectors = vectors(&cell, 3.0, 8, [1; 3]);
        let n = vectors[vectors.len() / 2].n;
        let at: Vec<(f64, [f64; 3])> = (anywhere.iter().zip(&charges))
            .map(|(&r, &q)| {
                (q, {
                    let s = cell.fractional(r);
                    [s.x, s.y, s.z]
                })
            })
            .collect();
        let [re, im] = densities(&at, &[n])[0];
        let sum = |f: fn(f64) -> f64| -> f64 {
            at.iter()
                .map(|(q, s)| q * f(TAU * (0..3).map(|a| f64::from(n[a]) * s[a]).sum::<f64>()))
                .sum()
        };
        assert!((re - sum(f64::cos)).abs() < 1e-8 && (im - sum(f64::sin)).abs() < 1e-8);
    }
}
