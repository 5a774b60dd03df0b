//! [`Transform`]: the mesh, its Fourier transform, and the convolution between.
//!
//! The transform goes along z and y plane by plane, then along x in the middle, where the influence function is
//! multiplied in; and back.

use std::sync::Arc;

use crate::parallel::{InParallel, Indexed};
use debye_fft::{Complex, ComplexToReal, Fft, RealToComplex};

use super::MeshReal;
use super::planes::{PAD, Planes};
use crate::forces::electrostatics::Part;
use crate::forces::pme::Influence;

/// A mesh with its plans.
pub(super) struct Transform<T: MeshReal> {
    size: [usize; 3],
    pub(super) real: Planes<T>,
    /// By x, then z, then y.
    planes: Vec<Complex<T>>,
    /// After the transforms along x, by z, then x, then y.
    columns: Vec<Complex<T>>,
    along_z: Arc<dyn RealToComplex<T>>,
    back_z: Arc<dyn ComplexToReal<T>>,
    along: [Arc<dyn Fft<T>>; 2],
    back: [Arc<dyn Fft<T>>; 2],
    /// The influence function in the order of the columns.
    factors: Vec<T>,
    influence: Option<Influence>,
}

impl<T: MeshReal> Transform<T> {
    pub(super) fn new(size: [usize; 3]) -> Self {
        let half = size[2] / 2 + 1;
        let (along_z, back_z) = T::real_plans(size[2]);
        let (along_x, back_x) = T::complex_plans(size[0]);
        let (along_y, back_y) = T::complex_plans(size[1]);
        let zero = Complex::new(T::of(0.0), T::of(0.0));
        Self {
            size,
            real: Planes::new(size),
            planes: vec![zero; size[0] * size[1] * half],
            columns: vec![zero; size[0] * size[1] * half],
            along_z,
            back_z,
            along: [along_x, along_y],
            back: [back_x, back_y],
            factors: Vec::new(),
            influence: None,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.real.bytes()
            + 2 * self.planes.capacity() * size_of::<Complex<T>>()
            + self.factors.capacity() * size_of::<T>()
    }

    /// Takes another influence function.
    pub(super) fn influence(&mut self, influence: Influence) {
        let [along_x, along_y, _] = self.size;
        self.factors.resize(self.columns.len(), T::of(0.0));
        self.factors
            .par_chunks_exact_mut(along_x)
            .enumerate()
            .for_each(|(column, factors)| {
                let (z, y) = (column / along_y, column % along_y);
                for (x, factor) in factors.iter_mut().enumerate() {
                    *factor = T::of(influence.at([x, y, z]));
                }
            });
        self.influence = Some(influence);
    }

    /// From charges to potentials; with `sums`, the energy and virial.
    pub(super) fn solve(&mut self, sums: bool) -> Part {
        self.forward();
        let part = self.convolve(sums);
        self.inverse();
        part
    }

    /// Along z, then y, plane by plane.
    fn forward(&mut self) {
        let (half, pitch, along_y) = (self.size[2] / 2 + 1, self.real.pitch(), self.size[1]);
        let zero = Complex::new(T::of(0.0), T::of(0.0));
        let (along_z, fft) = (&self.along_z, &self.along[1]);
        self.planes
            .par_chunks_exact_mut(along_y * half)
            .zip(self.real.values.par_chunks_exact_mut(along_y * pitch))
            .for_each_init(
                || {
                    let scratch = along_z.get_scratch_len().max(fft.get_inplace_scratch_len());
                    (vec![zero; half], vec![zero; scratch])
                },
                |(row, scratch), (plane, real)| {
                    for (y, values) in real.chunks_exact_mut(pitch).enumerate() {
                        let values = &mut values[..pitch - PAD];
                        let room = &mut scratch[..along_z.get_scratch_len()];
                        // Lengths are those of the plan, so it cannot refuse them.
                        let done = along_z.process_with_scratch(values, row, room);
                        debug_assert!(done.is_ok());
                        for (z, &value) in row.iter().enumerate() {
                            plane[z * along_y + y] = value;
                        }
                    }
                    let room = &mut scratch[..fft.get_inplace_scratch_len()];
                    fft.process_with_scratch(plane, room);
                },
            );
    }

    /// Along x and back, with the influence function between; columns of one z at a time.
    fn convolve(&mut self, sums: bool) -> Part {
        let [along_x, along_y, along_z] = self.size;
        let half = along_z / 2 + 1;
        let zero = Complex::new(T::of(0.0), T::of(0.0));
        let (planes, fft, back) = (&self.planes, &self.along[0], &self.back[0]);
        let influence = self.influence.as_ref().filter(|_| sums);
        let parts: Vec<Part> = self
            .columns
            .par_chunks_exact_mut(along_x * along_y)
            .zip(self.factors.par_chunks_exact(along_x * along_y))
            .enumerate()
            .map_init(
                || {
                    let room = fft.get_inplace_scratch_len().max(back.get_inplace_scratch_len());
                    (vec![zero; along_x * along_y], vec![zero; room])
                },
                |(columns, scratch), (z, (turned, factors))| {
                    for x in 0..along_x {
                        let from = &planes[(x * half + z) * along_y..][..along_y];
                        for (y, &value) in from.iter().enumerate() {
                            columns[y * along_x + x] = value;
                        }
                    }
                    fft.process_with_scratch(columns, &mut scratch[..fft.get_inplace_scratch_len()]);
                    let part = influence.map(|f| layer(f, columns, factors, z, [along_x, along_y, along_z]));
                    for (value, &factor) in columns.iter_mut().zip(factors) {
                        *value = *value * factor;
                    }
                    back.process_with_scratch(columns, &mut scratch[..back.get_inplace_scratch_len()]);
                    // Turned while it is still in the nearest cache.
                    for (x, to) in turned.chunks_exact_mut(along_y).enumerate() {
                        for (y, to) in to.iter_mut().enumerate() {
                            *to = columns[y * along_x + x];
                        }
                    }
                    part.unwrap_or_default()
                },
            )
            .collect();
        let mut total = Part::default();
        for part in parts {
            total.energy += part.energy;
            total
                .virial
                .iter_mut()
                .zip(part.virial)
                .for_each(|(w, x)| *w += x);
        }
        total
    }

    /// Along y, then z.
    fn inverse(&mut self) {
        let (half, pitch) = (self.size[2] / 2 + 1, self.real.pitch());
        let [along_x, along_y, along_z] = self.size;
        let zero = Complex::new(T::of(0.0), T::of(0.0));
        let (columns, back_z, fft) = (&self.columns, &self.back_z, &self.back[1]);
        self.planes
            .par_chunks_exact_mut(along_y * half)
            .zip(self.real.values.par_chunks_exact_mut(along_y * pitch))
            .enumerate()
            .for_each_init(
                || {
                    let scratch = back_z.get_scratch_len().max(fft.get_inplace_scratch_len());
                    (vec![zero; half], vec![zero; scratch])
                },
                |(row, scratch), (x, (plane, real))| {
                    for (z, to) in plane.chunks_exact_mut(along_y).enumerate() {
                        to.copy_from_slice(&columns[(z * along_x + x) * along_y..][..along_y]);
                    }
                    fft.process_with_scratch(plane, &mut scratch[..fft.get_inplace_scratch_len()]);
                    for (y, values) in real.chunks_exact_mut(pitch).enumerate() {
                        for (z, to) in row.iter_mut().enumerate() {
                            *to = plane[z * along_y + y];
                        }
                        // Reciprocal vectors that are their own mirror images are real but for rounding.
                        row[0].im = T::of(0.0);
                        if along_z.is_multiple_of(2) {
                            row[half - 1].im = T::of(0.0);
                        }
                        let room = &mut scratch[..back_z.get_scratch_len()];
                        let done = back_z.process_with_scratch(row, &mut values[..along_z], room);
                        debug_assert!(done.is_ok());
                        for k in 0..PAD {
                            values[along_z + k] = values[k % along_z];
                        }
                    }
                },
            );
    }
}

/// Energy and virial of the reciprocal vectors of one z: ½ G |Q|², twice where the mirror image is not in this half.
fn layer<T: MeshReal>(
    influence: &Influence,
    columns: &[Complex<T>],
    factors: &[T],
    z: usize,
    [along_x, _, along_z]: [usize; 3],
) -> Part {
    let weight = if z == 0 || 2 * z == along_z { 0.5 } else { 1.0 };
    let mut part = Part::default();
    for (at, (value, &factor)) in columns.iter().zip(factors).enumerate() {
        let (re, im): (f64, f64) = (value.re.into(), value.im.into());
        let energy = weight * factor.into() * (re * re + im * im);
        if energy == 0.0 {
            continue;
        }
        part.energy += energy;
        let shape = influence.virial_factor([at % along_x, at / along_x, z]);
        for (to, s) in part.virial.iter_mut().zip(shape) {
            *to += energy * s;
        }
    }
    part
}
