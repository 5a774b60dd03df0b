//! The reference: Ewald sums by plain loops over pairs and images in double precision.

use debye::expr::Vec3;
use debye::forces::electrostatics::ReciprocalVectors;
use debye::forces::ewald::sum_reciprocal;
use debye::prelude::Cell;
use rayon::prelude::*;

use super::salt::UNITS;

/// Madelung's constant of rock salt (1.747 564 594 633 182).
pub(super) const MADELUNG: f64 = 1.747_564_594_633_182;

/// Energy in kJ/mol and forces in kJ/mol/nm.
#[derive(Clone, Debug)]
pub struct Sums {
    /// Energy.
    pub energy: f64,
    /// Forces.
    pub forces: Vec<[f64; 3]>,
}

/// Ions of a cubic periodic cell.
pub(super) struct Unit<'a> {
    pub positions: &'a [[f64; 3]],
    pub charges: &'a [f64],
    pub side: f64,
}

/// k_e.
pub(super) fn coulomb() -> f64 {
    UNITS.coulomb_constant()
}

/// Energy erfc(αr)/r of a pair, and its force over r.
#[inline]
pub(super) fn pair(r2: f64, alpha: f64) -> (f64, f64) {
    let r = r2.sqrt();
    let screened = erfc(alpha * r) / r;
    let gauss = std::f64::consts::FRAC_2_SQRT_PI * alpha * (-alpha * alpha * r2).exp();
    (screened, (screened + gauss) / r2)
}

/// The real-space sum over all images within a cut-off, however small the cell is.
pub(super) fn real_space(unit: &Unit<'_>, alpha: f64, cutoff: f64) -> Sums {
    let reach = (cutoff / unit.side).ceil() as i32;
    let n = unit.positions.len();
    let of = |i: usize| {
        let (mut energy, mut force) = (0.0, [0.0; 3]);
        for j in 0..n {
            // The nearest image, and those around it.
            let near: [f64; 3] = std::array::from_fn(|k| {
                let d = unit.positions[i][k] - unit.positions[j][k];
                d - unit.side * (d / unit.side).round()
            });
            let q = coulomb() * unit.charges[i] * unit.charges[j];
            for z in -reach..=reach {
                for y in -reach..=reach {
                    for x in -reach..=reach {
                        if i == j && [x, y, z] == [0; 3] {
                            continue;
                        }
                        let by = [x, y, z].map(|s| f64::from(s) * unit.side);
                        let d: [f64; 3] = std::array::from_fn(|k| near[k] + by[k]);
                        let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                        if r2 < cutoff * cutoff {
                            let (u, f) = pair(r2, alpha);
                            energy += 0.5 * q * u;
                            (0..3).for_each(|k| force[k] += q * f * d[k]);
                        }
                    }
                }
            }
        }
        (energy, force)
    };
    let all: Vec<(f64, [f64; 3])> = (0..n).into_par_iter().map(of).collect();
    Sums {
        energy: all.iter().map(|one| one.0).sum(),
        forces: all.into_iter().map(|one| one.1).collect(),
    }
}

/// α r_c of the whole sum: erfc of it is 1e-11.
const CONVERGED: f64 = 4.8;

/// The whole sum: pairs within 1 nm, and all reciprocal-space vectors that matter.
pub(super) fn ewald(unit: &Unit<'_>) -> Sums {
    let cutoff = 1.0;
    let alpha = CONVERGED / cutoff;
    let mut sums = real_space(unit, alpha, cutoff);
    let Ok(cell) = Cell::orthorhombic([unit.side; 3]) else {
        sums.energy = f64::NAN;
        return sums;
    };
    let vectors = ReciprocalVectors::up_to(&cell, alpha * CONVERGED / std::f64::consts::PI);
    let positions: Vec<Vec3<f64>> = unit.positions.iter().map(|&r| Vec3::from(r)).collect();
    let mut forces = vec![Vec3::zero(); positions.len()];
    let part = sum_reciprocal(
        &cell,
        alpha,
        &vectors,
        coulomb(),
        &positions,
        unit.charges,
        &mut forces,
    );
    let squares: f64 = unit.charges.iter().map(|q| q * q).sum();
    sums.energy += part.energy - coulomb() * alpha / std::f64::consts::PI.sqrt() * squares;
    for (to, f) in sums.forces.iter_mut().zip(forces) {
        let f = f.to_array();
        (0..3).for_each(|k| to[k] += f[k]);
    }
    sums
}

/// erfc by its series below 2.5 and by its continued fraction above: right to 1e-15 absolutely.
pub(super) fn erfc(x: f64) -> f64 {
    if x < 2.5 {
        // erf(x) = 2/√π exp(−x²) Σ 2ⁿ x²ⁿ⁺¹/(2n+1)!!
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while term > 1e-17 * sum && n < 200.0 {
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        1.0 - std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
    } else {
        let mut fraction = x;
        for k in (1..=60).rev() {
            fraction = x + 0.5 * f64::from(k) / fraction;
        }
        (-x * x).exp() / (fraction * std::f64::consts::PI.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::super::salt::{Ions, SPACING, Salt};
    use super::*;

    #[test]
    fn erfc_is_right() {
        // From tables of Abramowitz & Stegun, 7.1, and DLMF 7.23.
        for (x, want) in [
            (0.0, 1.0),
            (0.5, 0.479_500_122_186_953_5),
            (1.0, 0.157_299_207_050_285_13),
            (2.0, 0.004_677_734_981_047_266),
            (3.0, 2.209_049_699_858_544e-5),
            (4.0, 1.541_725_790_028_002e-8),
        ] {
            assert!((erfc(x) - want).abs() < 2e-15_f64.max(1e-12 * want), "{x}");
        }
    }

    #[test]
    fn rock_salt_has_madelungs_energy() {
        let salt = Salt::new(Ions::Perfect, 2);
        let want = -0.5 * MADELUNG * coulomb() / (0.5 * SPACING) * salt.len() as f64;
        assert!((salt.whole().energy / want - 1.0).abs() < 1e-9);
        assert!(salt.whole().forces.iter().flatten().all(|f| f.abs() < 1e-6));
    }
}
