//! SHAKE and RATTLE: fixed distances in a cluster of particles, one after another until all hold.

use crate::expr::Vec3;
use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::Dimension;
use crate::system::constraints::{FixedBond, TOLERANCE};

impl FixedBond {
    /// The difference of a quantity of its ends.
    #[inline(always)]
    fn of(&self, values: &[Vec3<f64>]) -> Vec3<f64> {
        values[self.ends[0] as usize] - values[self.ends[1] as usize]
    }

    /// Moves the ends apart along `d`, each by `amount` × its inverse mass.
    #[inline(always)]
    fn push(&self, values: &mut [Vec3<f64>], inverse_masses: &[f64], d: Vec3<f64>, amount: f64) {
        let [i, j] = self.ends.map(|k| k as usize);
        values[i] += d * (amount * inverse_masses[i]);
        values[j] -= d * (amount * inverse_masses[j]);
    }

    #[inline(always)]
    fn inverse_mass(&self, inverse_masses: &[f64]) -> f64 {
        inverse_masses[self.ends[0] as usize] + inverse_masses[self.ends[1] as usize]
    }
}

/// A constraint that could not be met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unsolved {
    /// Its place in the list.
    pub bond: usize,
    /// The distance of its ends when it was given up.
    pub found: f64,
}

/// Rounds over all constraints before one is given up.
const ROUNDS: usize = 5000;

/// An end may turn by at most this much within a step: the cosine between old and new direction.
const LEAST_COSINE: f64 = 1e-2;

/// Moves `new` so that all distances hold to the relative `tolerance`, by displacements along the bonds of `old` (SHAKE:
/// Ryckaert, Ciccotti & Berendsen, J. Comput. Phys. 23, 327 (1977)).
pub fn shake(
    bonds: &[FixedBond],
    inverse_masses: &[f64],
    old: &[Vec3<f64>],
    new: &mut [Vec3<f64>],
    tolerance: f64,
) -> Result<(), Unsolved> {
    let mut left = 0;
    for _ in 0..ROUNDS {
        let mut worst = 0.0;
        for (k, bond) in bonds.iter().enumerate() {
            let (now, then) = (bond.of(new), bond.of(old));
            let square = bond.length * bond.length;
            let off = square - now.norm2();
            let along = now.dot(then);
            let unsolved = Unsolved {
                bond: k,
                found: now.norm(),
            };
            if !off.is_finite() || along < LEAST_COSINE * square {
                return Err(unsolved);
            }
            // |r|² off by δ is r off by δ/2r.
            let relative = off.abs() / (2.0 * square);
            if relative > worst {
                (worst, left) = (relative, k);
            }
            if relative > tolerance {
                let amount = off / (2.0 * along * bond.inverse_mass(inverse_masses));
                bond.push(new, inverse_masses, then, amount);
            }
        }
        if worst <= tolerance {
            return Ok(());
        }
    }
    Err(Unsolved {
        bond: left,
        found: bonds[left].of(new).norm(),
    })
}

/// Changes `rates` (velocities or accelerations at places `r`) by forces along the bonds, so that bond · difference of
/// rates is `wanted`, to the `tolerance` times the largest rate (RATTLE's second stage: Andersen, J. Comput. Phys. 52, 24
/// (1983)). The multiplier of each bond goes to `multipliers`: a particle of mass m changes by multiplier × bond / m.
pub fn rattle(
    bonds: &[FixedBond],
    inverse_masses: &[f64],
    r: &[Vec3<f64>],
    rates: &mut [Vec3<f64>],
    wanted: impl Fn(usize) -> f64,
    tolerance: f64,
    multipliers: &mut [f64],
) -> Result<(), Unsolved> {
    multipliers.fill(0.0);
    let fastest = rates.iter().map(|v| v.norm2()).fold(0.0, f64::max).sqrt();
    let longest = |k: usize| wanted(k).abs() / bonds[k].length;
    let scale = tolerance * (0..bonds.len()).map(longest).fold(fastest, f64::max);
    let mut left = 0;
    for _ in 0..ROUNDS {
        let mut worst = 0.0;
        for (k, bond) in bonds.iter().enumerate() {
            let d = bond.of(r);
            let off = wanted(k) - d.dot(bond.of(rates));
            if !off.is_finite() {
                return Err(Unsolved {
                    bond: k,
                    found: d.norm(),
                });
            }
            let too_fast = off.abs() / bond.length;
            if too_fast > worst {
                (worst, left) = (too_fast, k);
            }
            if too_fast > scale {
                let amount = off / (d.norm2() * bond.inverse_mass(inverse_masses));
                multipliers[k] += amount;
                bond.push(rates, inverse_masses, d, amount);
            }
        }
        if worst <= scale {
            return Ok(());
        }
    }
    Err(Unsolved {
        bond: left,
        found: bonds[left].of(r).norm(),
    })
}

/// `bonds`.
pub const SHAKE: Record = Record {
    name: "bonds",
    also: &["shake", "rattle"],
    keys: &[Key::new(
        "tolerance",
        "largest relative error of a length",
        Dimension::NONE,
        Absent::Value(TOLERANCE),
    )],
    doc: Doc {
        title: "Fixed distances by SHAKE and RATTLE",
        formula: "|r_i − r_j| = d, (r_i − r_j)·(v_i − v_j) = 0\n\
                  r_i ← r_i + λ s/m_i, r_j ← r_j − λ s/m_j along the old bond s,\n\
                  one bond after another until all hold",
        remarks: &[
            "The tolerance is relative to d; velocities are held to the same tolerance times the largest \
             speed.",
            "Each distance takes one degree of freedom. Constrained pairs are left out of the pair terms.",
        ],
        conventions: Conventions {
            gromacs: [
                "constraint-algorithm = SHAKE, shake-tol 1e-4, relative; its default LINCS needs no match",
                "tolerance = shake-tol",
            ],
            lammps: ["fix shake or rattle: tol, relative", "tolerance = tol"],
            openmm: ["constraint tolerance 1e-5, relative (CCMA)", "tolerance as it is"],
            amber_charmm: ["AMBER: ntc, tol 1e-5; CHARMM: SHAKE TOL 1e-10", "tolerance = tol"],
        },
        references: &[
            "Ryckaert, Ciccotti & Berendsen, J. Comput. Phys. 23, 327 (1977)",
            "Andersen, J. Comput. Phys. 52, 24 (1983)",
        ],
        examples: &[],
    },
};

#[cfg(test)]
mod tests {
    use super::super::Triangle;
    use super::*;
    use crate::expr::Dual;
    use crate::random::Philox;

    const MASSES: [f64; 3] = [15.9994, 1.008, 1.008];
    const BOND: f64 = 0.09572;
    const BASE: f64 = 0.15139;

    fn sides() -> [FixedBond; 3] {
        [([0, 1], BOND), ([0, 2], BOND), ([1, 2], BASE)].map(|(ends, length)| FixedBond { ends, length })
    }

    fn random(k: u32) -> Vec3<f64> {
        let [x, y, z, _] = Philox::new(5).uniforms(1, k, 0);
        Vec3::new(x - 0.5, y - 0.5, z - 0.5) * 2.0
    }

    /// A water of exact shape, turned at random.
    fn water(seed: u32) -> [Vec3<f64>; 3] {
        let x = random(3 * seed);
        let x = x * x.norm().recip();
        let y = x.cross(random(3 * seed + 1));
        let y = y * y.norm().recip();
        let height = (BOND * BOND - 0.25 * BASE * BASE).sqrt();
        let o = random(3 * seed + 2) * 0.05;
        [
            o,
            o + x * (0.5 * BASE) - y * height,
            o - x * (0.5 * BASE) - y * height,
        ]
    }

    fn moved(r: [Vec3<f64>; 3], seed: u32, by: f64) -> [Vec3<f64>; 3] {
        std::array::from_fn(|k| r[k] + random(10_000 + 3 * seed + k as u32) * by)
    }

    #[test]
    fn settle_is_shake() {
        let triangle = Triangle::new([MASSES[0], MASSES[1]], BOND, BASE);
        let inverse = MASSES.map(|m| 1.0 / m);
        for seed in 0..200 {
            let old = water(seed);
            // Up to a tenth of the bond: ten times what happens in a step of 2 fs.
            let new = moved(old, seed, 0.01);
            let settled = triangle.positions(old, new);
            let mut shaken = new;
            shake(&sides(), &inverse, &old, &mut shaken, 1e-14).unwrap();
            for k in 0..3 {
                let off = (settled[k] - shaken[k]).norm();
                assert!(off < 1e-13, "{seed}: {off:e}");
            }
            for s in sides() {
                assert!((s.of(&settled).norm() / s.length - 1.0).abs() < 1e-13);
            }
            let momentum =
                |r: [Vec3<f64>; 3]| (0..3).fold(Vec3::zero(), |p, k| p + (r[k] - new[k]) * MASSES[k]);
            assert!(momentum(settled).norm() < 1e-13);
        }
    }

    /// Nothing to do, and so much that nothing can be done.
    #[test]
    fn settle_at_its_limits() {
        let triangle = Triangle::new([MASSES[0], MASSES[1]], BOND, BASE);
        let old = water(1);
        let same = triangle.positions(old, old);
        assert!((0..3).all(|k| (same[k] - old[k]).norm() < 1e-15));
        let (x, y, z) = (
            old[1] - old[0],
            old[2] - old[0],
            (old[1] - old[0]).cross(old[2] - old[0]),
        );
        let upright = [
            old[0],
            old[0] + z * (0.09 / z.norm()),
            old[0] + z * (0.09 / z.norm()) + (x - y) * 0.1,
        ];
        assert!(triangle.positions(old, upright)[0].x.is_nan());
    }

    /// In single precision, and by the derivative numbers every formula is written for.
    #[test]
    fn settle_in_other_numbers() {
        let old = water(4);
        let new = moved(old, 4, 0.003);
        let single = Triangle::<f32>::new([MASSES[0], MASSES[1]], BOND, BASE);
        let near = |r: [Vec3<f64>; 3]| r.map(|v| (v - old[0]).map(|x| x as f32));
        let exact = Triangle::<f64>::new([MASSES[0], MASSES[1]], BOND, BASE).positions(old, new);
        let got = single.positions(near(old), near(new));
        for k in 0..3 {
            let want = exact[k] - old[0];
            assert!((got[k].map(f64::from) - want).norm() < 1e-7);
        }
        let dual = Triangle::<Dual<f64>>::new([MASSES[0], MASSES[1]], BOND, BASE);
        let lift = |r: [Vec3<f64>; 3]| r.map(|v| v.map(<Dual<f64> as crate::expr::Real>::lit));
        let got = dual.positions(lift(old), lift(new));
        assert!((got[1].x.value - exact[1].x).abs() < 1e-14);
    }

    #[test]
    fn velocities_of_a_triangle() {
        let triangle = Triangle::new([MASSES[0], MASSES[1]], BOND, BASE);
        let inverse = MASSES.map(|m| 1.0 / m);
        for seed in 0..100 {
            let r = water(seed);
            let v = moved([Vec3::zero(); 3], seed, 1.0);
            let wanted = [0.1, -0.2, 0.05].map(|x| x * f64::from(seed % 2));
            let (change, multipliers) = triangle.rates(r, v, wanted);
            let solved: [Vec3<f64>; 3] = std::array::from_fn(|k| v[k] + change[k]);
            let mut iterated = v;
            let mut found = [0.0; 3];
            rattle(
                &sides(),
                &inverse,
                &r,
                &mut iterated,
                |k| wanted[k],
                1e-14,
                &mut found,
            )
            .unwrap();
            for (k, s) in sides().iter().enumerate() {
                assert!((s.of(&r).dot(s.of(&solved)) - wanted[k]).abs() < 1e-14);
                assert!((multipliers[k] - found[k]).abs() < 1e-11 * found[k].abs().max(1.0));
                assert!((solved[k] - iterated[k]).norm() < 1e-12);
            }
            let momentum = (0..3).fold(Vec3::zero(), |p, k| p + change[k] * MASSES[k]);
            assert!(momentum.norm() < 1e-13);
        }
    }

    #[test]
    fn a_bond_that_cannot_be_held() {
        let bonds = [FixedBond {
            ends: [0, 1],
            length: 1.0,
        }];
        let old = [Vec3::zero(), Vec3::new(1.0, 0.0, 0.0)];
        let mut across = [Vec3::zero(), Vec3::new(0.0, 2.0, 0.0)];
        let failed = shake(&bonds, &[1.0, 1.0], &old, &mut across, 1e-10).unwrap_err();
        assert_eq!((failed.bond, failed.found), (0, 2.0));
        let mut lost = [Vec3::zero(), Vec3::splat(f64::NAN)];
        assert!(shake(&bonds, &[1.0, 1.0], &old, &mut lost, 1e-10).is_err());
        let mut speeds = [Vec3::zero(), Vec3::splat(f64::NAN)];
        assert!(rattle(&bonds, &[1.0, 1.0], &old, &mut speeds, |_| 0.0, 1e-10, &mut [0.0]).is_err());
    }
}
