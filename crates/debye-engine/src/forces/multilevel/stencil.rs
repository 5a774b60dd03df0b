//! [`Stencil`]: sums over the points of a grid within a distance, with one kernel for all.

#![allow(unsafe_code)]

use crate::parallel::{InParallel, Indexed};

use crate::simd::{Array, InstructionSet, Lanes};
#[cfg(target_arch = "x86_64")]
use crate::simd::{F32x8, F32x16, F64x4, F64x8};

use super::levels::GridReal;

/// Vectors of sums that a thread holds at once.
const VECTORS: usize = 4;

/// Coefficients by the difference of two points, row by row along z.
pub(super) struct Stencil<T> {
    rows: Vec<Row>,
    coefficients: Vec<T>,
    /// How far rows reach below and above along z.
    reach: [usize; 2],
}

/// Coefficients of points that differ by so much along x and y, from a difference along z on.
struct Row {
    x: i64,
    y: i64,
    first: i64,
    begin: usize,
    end: usize,
}

impl<T: GridReal> Stencil<T> {
    /// From a kernel of differences, over a box of them. Rows lose what is zero at their ends.
    pub(super) fn new(
        ranges: [std::ops::RangeInclusive<i64>; 3],
        kernel: impl Fn([i64; 3]) -> f64 + Sync,
    ) -> Self {
        let [along_x, along_y, along_z] = ranges;
        let pairs: Vec<(i64, i64)> = along_x
            .flat_map(|x| along_y.clone().map(move |y| (x, y)))
            .collect();
        let values: Vec<Vec<f64>> = pairs
            .par_iter()
            .map(|&(x, y)| along_z.clone().map(|z| kernel([x, y, z])).collect())
            .collect();
        let mut stencil = Self {
            rows: Vec::new(),
            coefficients: Vec::new(),
            reach: [0; 2],
        };
        for ((x, y), values) in pairs.into_iter().zip(values) {
            let Some(low) = values.iter().position(|&v| v != 0.0) else {
                continue;
            };
            let high = values.iter().rposition(|&v| v != 0.0).unwrap_or(low);
            let first = along_z.start() + low as i64;
            let begin = stencil.coefficients.len();
            let kept = values[low..=high].iter().map(|&v| T::of(v));
            stencil.coefficients.extend(kept);
            let end = stencil.coefficients.len();
            let last = first + (high - low) as i64;
            stencil.reach[0] = stencil.reach[0].max(first.min(0).unsigned_abs() as usize);
            stencil.reach[1] = stencil.reach[1].max(last.max(0) as usize);
            stencil.rows.push(Row {
                x,
                y,
                first,
                begin,
                end,
            });
        }
        stencil
    }

    /// Every coefficient, by the difference of two points.
    pub(super) fn entries(&self) -> impl Iterator<Item = ([i64; 3], T)> + '_ {
        self.rows.iter().flat_map(|row| {
            let values = self.coefficients[row.begin..row.end].iter().enumerate();
            values.map(|(k, &value)| ([row.x, row.y, row.first + k as i64], value))
        })
    }

    /// Products that a point's sum has.
    pub(super) fn points(&self) -> usize {
        self.coefficients.len()
    }

    /// out(i) = Σ_d K(d) in(i + d).
    pub(super) fn apply(
        &self,
        shape: [usize; 3],
        periodic: [bool; 3],
        from: &[T],
        set: InstructionSet,
    ) -> Vec<T> {
        let padded = Padded::new(shape, periodic[2], self.reach, from);
        let sum = T::rows_of(set);
        let mut out = vec![T::default(); from.len()];
        out.par_chunks_mut(shape[2]).enumerate().for_each(|(row, out)| {
            let at = [(row / shape[1]) as i64, (row % shape[1]) as i64];
            let place = |k: usize, offset: i64| {
                let (n, i) = (shape[k] as i64, at[k] + offset);
                let inside = (0..n).contains(&i);
                (inside || periodic[k]).then(|| i.rem_euclid(n) as usize)
            };
            let rows: Vec<Slide<T>> = self
                .rows
                .iter()
                .filter_map(|r| {
                    let (x, y) = (place(0, r.x)?, place(1, r.y)?);
                    if padded.is_empty[x * shape[1] + y] {
                        return None;
                    }
                    let start = padded.start([x, y], r.first);
                    Some((&padded.values[start..], &self.coefficients[r.begin..r.end]))
                })
                .collect();
            // SAFETY: the loop is that of a set that this processor has.
            unsafe { sum(&rows, out) };
        });
        out
    }
}

impl<T: GridReal> Stencil<T> {
    /// Σ_i Q(i) Q(i + d) for every d that there is a coefficient of, in their order. Planes of i are summed one by one.
    pub(super) fn correlate(
        &self,
        shape: [usize; 3],
        periodic: [bool; 3],
        charges: &[T],
        set: InstructionSet,
    ) -> Vec<f64> {
        let padded = Padded::new(shape, periodic[2], self.reach, charges);
        let sum = T::rows_of(set);
        let of_row = |row: &Row| {
            let place = |k: usize, i: usize, offset: i64| {
                let (n, i) = (shape[k] as i64, i as i64 + offset);
                ((0..n).contains(&i) || periodic[k]).then(|| i.rem_euclid(n) as usize)
            };
            let mut total = vec![0.0; row.end - row.begin];
            let mut part = vec![T::default(); row.end - row.begin];
            for x in 0..shape[0] {
                let slides: Vec<Slide<T>> = (0..shape[1])
                    .filter_map(|y| {
                        let start = padded.start([place(0, x, row.x)?, place(1, y, row.y)?], row.first);
                        let own = &charges[(x * shape[1] + y) * shape[2]..][..shape[2]];
                        Some((&padded.values[start..], own))
                    })
                    .collect();
                // SAFETY: the loop is that of a set that this processor has.
                unsafe { sum(&slides, &mut part) };
                let parts = total.iter_mut().zip(&part);
                parts.for_each(|(to, &x)| *to += Into::<f64>::into(x));
            }
            total
        };
        let rows: Vec<Vec<f64>> = self.rows.par_iter().map(of_row).collect();
        rows.concat()
    }
}

/// A copy of a grid whose rows go on beyond their ends: with zeros, or with their other end.
struct Padded<T> {
    values: Vec<T>,
    /// Rows without charges, of which open grids have many.
    is_empty: Vec<bool>,
    pitch: usize,
    along_y: usize,
    below: usize,
}

impl<T: GridReal> Padded<T> {
    fn new(shape: [usize; 3], periodic: bool, [below, above]: [usize; 2], from: &[T]) -> Self {
        let n = shape[2];
        // Vectors of sums past the end of a row read on.
        let pitch = (below + n + above).next_multiple_of(16) + 16 * VECTORS;
        let mut values = vec![T::default(); shape[0] * shape[1] * pitch];
        values
            .par_chunks_mut(pitch)
            .zip(from.par_chunks(n))
            .for_each(|(to, from)| {
                to[below..below + n].copy_from_slice(from);
                if periodic {
                    for i in 0..below {
                        to[i] = from[(i as i64 - below as i64).rem_euclid(n as i64) as usize];
                    }
                    for i in 0..above {
                        to[below + n + i] = from[i % n];
                    }
                }
            });
        // The last row may be read past its end too.
        values.resize(values.len() + 16 * VECTORS + below + above, T::default());
        let is_empty = from.par_chunks(n).map(|row| row.iter().all(|&q| q.into() == 0.0));
        Self {
            is_empty: is_empty.collect(),
            values,
            pitch,
            along_y: shape[1],
            below,
        }
    }

    /// Where the row of a point begins, with a difference along z.
    fn start(&self, [x, y]: [usize; 2], first: i64) -> usize {
        (x * self.along_y + y) * self.pitch + (self.below as i64 + first) as usize
    }
}

/// A row of values, and the coefficients that slide along it.
pub type Slide<'a, T> = (&'a [T], &'a [T]);
/// Sets a row of sums.
pub(super) type Rows<T> = unsafe fn(&[Slide<T>], &mut [T]);

#[allow(clippy::type_complexity)]
#[inline(always)]
fn sum_rows<L: Lanes<Element: GridReal>>(rows: &[Slide<L::Element>], out: &mut [L::Element]) {
    let step = VECTORS * L::WIDTH;
    for begin in (0..out.len()).step_by(step) {
        let mut sums = [L::lit(0.0); VECTORS];
        for (values, coefficients) in rows {
            let values = &values[begin..begin + step + coefficients.len() - 1];
            for (i, &c) in coefficients.iter().enumerate() {
                let c = L::splat(c);
                let window = &values[i..i + step];
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum = c.mul_add(L::load(&window[k * L::WIDTH..(k + 1) * L::WIDTH]), *sum);
                }
            }
        }
        let mut line = [L::Element::default(); 16 * VECTORS];
        for (k, sum) in sums.into_iter().enumerate() {
            sum.store(&mut line[k * L::WIDTH..]);
        }
        let end = (begin + step).min(out.len());
        out[begin..end].copy_from_slice(&line[..end - begin]);
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! of_set {
    ($name:ident, $features:literal, $element:ty, $lanes:ty) => {
        #[target_feature(enable = $features)]
        unsafe fn $name(rows: &[Slide<$element>], out: &mut [$element]) {
            sum_rows::<$lanes>(rows, out);
        }
    };
}
#[cfg(target_arch = "x86_64")]
of_set!(single512, "avx512f,avx512dq,avx512vl,avx2,fma", f32, F32x16);
#[cfg(target_arch = "x86_64")]
of_set!(double512, "avx512f,avx512dq,avx512vl,avx2,fma", f64, F64x8);
#[cfg(target_arch = "x86_64")]
of_set!(single256, "avx2,fma", f32, F32x8);
#[cfg(target_arch = "x86_64")]
of_set!(double256, "avx2,fma", f64, F64x4);

/// The loop in single precision for a set, which this processor must have.
pub(super) fn single(set: InstructionSet) -> Rows<f32> {
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => single512,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => single256,
        _ => sum_rows::<Array<f32, 4>>,
    }
}

/// The same in double precision.
pub(super) fn double(set: InstructionSet) -> Rows<f64> {
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => double512,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => double256,
        _ => sum_rows::<Array<f64, 2>>,
    }
}
