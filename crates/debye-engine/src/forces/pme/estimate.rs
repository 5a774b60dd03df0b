//! Errors of forces before any is computed, and settings that keep them below a tolerance.
//!
//! Charges are taken to be where they are without regard to one another, unless it is known how they stand
//! ([`Structure`]): in a liquid or a crystal errors of opposite charges cancel in part. `debye energy
//! --check-electrostatics` measures them.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use crate::parallel::{Indexed, IntoIndexed};

use super::{Basis, Influence, Structure};
use crate::expr::{Mat3, Vec3};
use crate::forces::electrostatics::{
    Boundary, ChargeSums, Electrostatics, MeshPlan, Method, ReciprocalVectors, Within,
};
use crate::forces::ewald::reciprocal;
use crate::forces::multilevel::MultilevelPlan;
use crate::system::{Cell, System};

/// What errors depend on besides the settings.
#[derive(Clone, Copy, Debug)]
pub struct Charged {
    /// Particles with a charge.
    pub particles: f64,
    /// Σ q².
    pub squares: f64,
    /// The cell of the reciprocal vectors.
    pub cell: Cell,
    /// Volume of the system itself.
    pub volume: f64,
    /// k_e over the permittivity.
    pub k: f64,
    /// How charges stand to one another, if that is known.
    pub structure: Option<Structure>,
}

/// Order of interpolation, C and m of [`Charged::grid_error`], measured for h/a from 1/12 to 1/3.
const GRID_ERRORS: [(usize, f64, f64); 3] = [(4, 1.5, 2.05), (6, 4.0, 3.5), (8, 9.2, 4.55)];

fn grid_constants(order: usize) -> (usize, f64, f64) {
    let known = GRID_ERRORS.into_iter().find(|(known, ..)| *known == order);
    known.unwrap_or(GRID_ERRORS[0])
}

impl Charged {
    /// Of a system of these charges.
    pub fn new(cell: &Cell, boundary: Boundary, charges: &[f64], k: f64) -> Self {
        let sums = ChargeSums::of(charges);
        let plan = Electrostatics {
            name: String::new(),
            cutoff: 0.0,
            alpha: 0.0,
            permittivity: 1.0,
            method: Method::Ewald(ReciprocalVectors {
                reach: [0; 3],
                within: Within::Box,
            }),
            boundary,
        };
        Self {
            particles: charges.iter().filter(|q| **q != 0.0).count().max(1) as f64,
            squares: sums.squares,
            cell: plan.ewald_cell(cell),
            volume: cell.with_periodicity([true; 3]).volume(),
            k,
            structure: None,
        }
    }

    /// Of a system. An open one has the volume of what it fills.
    pub fn of(system: &System, boundary: Boundary, k: f64) -> Self {
        let p = &system.particles;
        let charged = Self::new(&system.cell, boundary, &p.charges, k);
        if boundary != Boundary::Open {
            return charged;
        }
        let spacing = (charged.volume / charged.particles).cbrt();
        let filled = |axis: usize| {
            let along = || p.positions.iter().map(|r| r[axis]);
            (along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min)).max(spacing)
        };
        Self {
            volume: filled(0) * filled(1) * filled(2),
            ..charged
        }
    }

    /// The same, with regard to where the charges are: for meshes whose α is not much larger than this.
    pub fn placed(self, positions: &[Vec3<f64>], charges: &[f64], alpha: f64) -> Self {
        Self {
            // Shorter reciprocal vectors than that have little weight in what is cut off, and none on a mesh.
            structure: Some(Structure::of(&self.cell, positions, charges, 3.0 * alpha)),
            ..self
        }
    }

    /// The force between neighbors: what tolerances are fractions of. k_e ⟨q²⟩ over the square of the mean distance.
    pub fn usual_force(&self) -> f64 {
        let spacing = (self.volume / self.particles).cbrt();
        self.k * self.squares / self.particles / (spacing * spacing)
    }

    /// Error of the pair term: 2 k_e Σq² exp(−α²r_c²)/√(N r_c V) for charges at random (Kolafa & Perram 1992). Where it
    /// is known how they stand to one another, reciprocal vectors have the strength they have of what is cut off.
    pub fn pair_error(&self, alpha: f64, cutoff: f64) -> f64 {
        let structure = self.structure.as_ref();
        let left = structure.map_or(1.0, |s| s.left_of(tail_density(alpha, cutoff)));
        self.pair_error_at_random(alpha, cutoff) * left.sqrt()
    }

    fn pair_error_at_random(&self, alpha: f64, cutoff: f64) -> f64 {
        let fall = (-(alpha * cutoff).powi(2)).exp();
        2.0 * self.k * self.squares * fall / (self.particles * cutoff * self.volume).sqrt()
    }

    /// α that makes the pair term's error this large.
    pub fn alpha(&self, cutoff: f64, error: f64) -> f64 {
        let x = error / self.pair_error_at_random(0.0, cutoff);
        (-x.min(0.5).ln()).sqrt() / cutoff
    }

    /// Error of the grids of multilevel summation: C (h/a)^m k_e ⟨q²⟩ √(N/(V a)), with C and m of the order of
    /// interpolation as measured on a melt of ions (`GRID_ERRORS`).
    pub fn grid_error(&self, split: &MultilevelPlan) -> f64 {
        let (_, c, m) = grid_constants(split.interpolation.order());
        c * (split.spacing / split.cutoff).powf(m) * self.grid_unit(split.cutoff)
    }

    /// The spacing at which it is this large.
    pub fn grid_spacing(&self, order: usize, cutoff: f64, error: f64) -> f64 {
        let (_, c, m) = grid_constants(order);
        cutoff * (error / (c * self.grid_unit(cutoff))).powf(1.0 / m)
    }

    fn grid_unit(&self, cutoff: f64) -> f64 {
        self.k * self.squares / self.particles * (self.particles / (self.volume * cutoff)).sqrt()
    }

    /// Error of leaving out reciprocal vectors shorter than 1/`longest` (the mean over axes of Kolafa & Perram's).
    pub fn reciprocal_error(&self, alpha: f64, longest: f64) -> f64 {
        let side = self.cell.volume().cbrt();
        let number = longest * side;
        let fall = (-(PI * longest / alpha).powi(2)).exp();
        2.0 * self.k * self.squares * alpha / side * (1.0 / (PI * number * self.particles)).sqrt() * fall
    }

    /// Error of a mesh: the mean square over all places of two charges of the difference between the force of the mesh
    /// and the true one (Hockney & Eastwood 1981, for forces that are derivatives of the gathered potential). Where it
    /// is known how charges stand to one another, reciprocal vectors of the mesh have the strength they have.
    pub fn mesh_error(&self, alpha: f64, plan: &MeshPlan) -> f64 {
        let [a, b, c] = reciprocal(&self.cell);
        let rows = Mat3::from_rows(a, b, c);
        let volume = self.cell.volume();
        let influence = Influence::new(rows, volume, alpha, plan.size, plan.basis, plan.optimal);
        let moments: [Vec<Moments>; 3] = plan.size.map(|size| Moments::all(plan.basis, size));
        let [along_x, along_y, along_z] = plan.size;
        let half = along_z / 2 + 1;
        let square: f64 = (0..along_x * along_y)
            .into_par_iter()
            .map(|row| {
                let (x, y) = (row / along_y, row % along_y);
                let of = |z: usize| {
                    let weight = if z == 0 || 2 * z == along_z { 1.0 } else { 2.0 };
                    let m = [&moments[0][x], &moments[1][y], &moments[2][z]];
                    let strength = |length: f64| self.structure.as_ref().map_or(1.0, |s| s.at(length));
                    weight * vector_square(&rows, alpha, volume, influence.at([x, y, z]), m, strength)
                };
                (0..half).map(of).sum::<f64>()
            })
            .collect::<Vec<f64>>()
            .iter()
            .sum();
        2.0 * PI * self.k * self.squares * (square.max(0.0) / self.particles).sqrt()
    }
}

/// Of the square of the forces erfc(αr)/r² + 2α/√π exp(−α²r²)/r beyond a cut-off, integrated over space: how much
/// reciprocal vectors have whose reciprocal vectors are of a length, all together one.
fn tail_density(alpha: f64, cutoff: f64) -> impl Fn(f64) -> f64 {
    /// An even number of steps, of which the fastest reciprocal vectors that matter take several to a turn.
    const STEPS: usize = 400;
    // To where exp(−α²r²) is 10⁻¹³ of what it is at the cut-off.
    let end = (cutoff * cutoff + 30.0 / (alpha * alpha)).sqrt();
    let step = (end - cutoff) / STEPS as f64;
    let integral = move |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        let at = |k: usize| {
            let r = cutoff + k as f64 * step;
            let x = alpha * r;
            let force = libm::erfc(x) / (r * r) + FRAC_2_SQRT_PI * alpha * (-x * x).exp() / r;
            let weight = match k {
                0 | STEPS => 1.0,
                _ => 2.0 + 2.0 * (k % 2) as f64,
            };
            weight * f(r, force * r)
        };
        (0..=STEPS).map(at).sum::<f64>() * step / 3.0
    };
    let all = 4.0 * PI * integral(&|_, force| force * force);
    move |length: f64| {
        // The spherical Bessel function that belongs to a field of radial forces.
        let bessel = |x: f64| (x.sin() / x - x.cos()) / x;
        let vector = 4.0 * PI * integral(&|r, force| r * force * bessel(2.0 * PI * length * r));
        4.0 * PI * length * length * vector * vector / all
    }
}

/// Sums over the aliases of a reciprocal vector along one axis: W², n W², n² W²; and the reciprocal vector itself.
pub(super) struct Moments {
    pub(super) number: f64,
    pub(super) own: f64,
    pub(super) sums: [f64; 3],
}

impl Moments {
    pub(super) fn all(basis: Basis, size: usize) -> Vec<Self> {
        let of = |index: usize| {
            let number = if 2 * index > size {
                index as f64 - size as f64
            } else {
                index as f64
            };
            let square = |n: f64| basis.transform(n / size as f64).powi(2);
            let mut sums = [0.0; 3];
            for alias in -6..=6 {
                let n = number + f64::from(alias) * size as f64;
                let w = square(n);
                sums.iter_mut()
                    .zip([1.0, n, n * n])
                    .for_each(|(s, x)| *s += w * x);
            }
            Self {
                number,
                own: square(number),
                sums,
            }
        };
        (0..size).map(of).collect()
    }
}

/// Σ over aliases t of m_t² (S_t g_t² − 2 S_t G W_t² g_t + G² W_t² Σ S_s W_s²); beyond the reciprocal vector itself g
/// is nothing, and the strength S of a reciprocal vector is one.
fn vector_square(
    rows: &Mat3<f64>,
    alpha: f64,
    volume: f64,
    influence: f64,
    m: [&Moments; 3],
    strength: impl Fn(f64) -> f64,
) -> f64 {
    let vector = rows.combine(Vec3::new(m[0].number, m[1].number, m[2].number));
    let m2 = vector.norm2();
    if m2 == 0.0 {
        return 0.0;
    }
    let smeared = (-(PI / alpha).powi(2) * m2).exp() / (PI * volume * m2);
    let own = m[0].own * m[1].own * m[2].own;
    let all = m[0].sums[0] * m[1].sums[0] * m[2].sums[0];
    // Σ |Σ n_a a*_a|² Π W²: squares along each axis, and twice the products of two.
    let axes = [
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 1.0, 0.0),
        Vec3::new(0.0, 0.0, 1.0),
    ]
    .map(|axis| rows.combine(axis));
    let mut long = 0.0;
    for i in 0..3 {
        for j in 0..3 {
            let factor = |k: usize| m[k].sums[usize::from(k == i) + usize::from(k == j)];
            long += axes[i].dot(axes[j]) * factor(0) * factor(1) * factor(2);
        }
    }
    let (square, strength) = (influence * influence, strength(m2.sqrt()));
    // Together, as they nearly cancel.
    let itself = m2 * smeared * (smeared - 2.0 * influence * own) + square * long * own;
    strength * itself + square * long * (all - own)
}

/// Largest number of points along an axis.
pub const MOST_MESH: usize = 1024;

/// The next number from `least` on that has no prime factors but 2, 3, 5 and 7.
pub fn good_size(least: usize) -> usize {
    let smooth = |n: &usize| {
        let mut rest = *n;
        for prime in [2, 3, 5, 7] {
            while rest.is_multiple_of(prime) {
                rest /= prime;
            }
        }
        rest == 1
    };
    (least.max(1)..).find(smooth).unwrap_or(least)
}

/// The most points of a mesh for so many charges: hundreds to a charge, or 256³.
pub fn most_points(charges: usize) -> usize {
    charges.saturating_mul(512).clamp(1 << 24, 1 << 27)
}

/// The coarsest mesh of near-cubic spacing whose error stays below `error`; `None` where no mesh of [`most_points`] and
/// [`MOST_MESH`] along an axis does.
pub fn coarsest(charged: &Charged, alpha: f64, basis: Basis, optimal: bool, error: f64) -> Option<MeshPlan> {
    let good = |plan: &MeshPlan| charged.mesh_error(alpha, plan) <= error;
    coarsest_where(charged, alpha, basis, optimal, good)
}

/// The coarsest mesh of near-cubic spacing that is good; one that is finer than a good one is good too.
pub fn coarsest_where(
    charged: &Charged,
    alpha: f64,
    basis: Basis,
    optimal: bool,
    good: impl Fn(&MeshPlan) -> bool,
) -> Option<MeshPlan> {
    let lengths = charged.cell.to_arrays().map(|v| Vec3::from(v).norm());
    let most = most_points(charged.particles as usize);
    let plan = |spacing: f64| {
        let size = lengths.map(|l| good_size(((l / spacing).ceil() as usize).max(basis.points().max(4))));
        let fits = size.iter().all(|&n| n <= MOST_MESH) && size.iter().product::<usize>() <= most;
        fits.then_some(MeshPlan { size, basis, optimal })
    };
    // Finer and finer, as a fine mesh takes long to look at; then back to where it just does. Errors fall steadily.
    let mut coarse = 2.0 / alpha;
    let mut found = plan(coarse)?;
    if good(&found) {
        return Some(found);
    }
    let mut fine = coarse;
    loop {
        fine *= 0.8;
        found = plan(fine)?;
        if good(&found) {
            break;
        }
        coarse = fine;
    }
    while coarse / fine > 1.02 {
        let middle = (coarse * fine).sqrt();
        match plan(middle).filter(|plan| good(plan)) {
            Some(coarser) => (fine, found) = (middle, coarser),
            None => coarse = middle,
        }
    }
    Some(found)
}

/// The reciprocal vectors of an Ewald sum whose error stays below `error`.
pub fn vectors(charged: &Charged, alpha: f64, error: f64) -> ReciprocalVectors {
    vectors_where(charged, |longest| {
        charged.reciprocal_error(alpha, longest) <= error
    })
}

/// The fewest reciprocal vectors that are good, by the length of the longest reciprocal vector.
pub fn vectors_where(charged: &Charged, good: impl Fn(f64) -> bool) -> ReciprocalVectors {
    let step = 0.5 / charged.cell.volume().cbrt();
    let mut longest = 2.0 * step;
    while !good(longest) {
        longest += step;
    }
    ReciprocalVectors::up_to(&charged.cell, longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_of_what_is_cut_off_are_all_of_it() {
        for (alpha, cutoff) in [(2.9, 0.9), (3.4, 1.0), (0.3, 10.0)] {
            let density = tail_density(alpha, cutoff);
            let step = 0.02 * alpha;
            let upto = |longest: f64| {
                let count = (longest * alpha / step) as usize;
                (0..count)
                    .map(|k| density((k as f64 + 0.5) * step) * step)
                    .sum::<f64>()
            };
            let (some, most) = (upto(3.0), upto(12.0));
            assert!(some > 0.7 && some < most, "{some}");
            // They end as those of a step do: what is missing falls with the inverse of the length.
            assert!(
                (4.0 * (1.0 - most) / (1.0 - some) - 1.0).abs() < 0.1,
                "{some} {most}"
            );
        }
    }
}
