//! [`Constraints`]: distances that do not change.

use std::collections::HashSet;

use super::System;
use crate::expr::Vec3;

/// Two particles of a cluster and the distance they keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedBond {
    /// Their places in the cluster.
    pub ends: [u32; 2],
    /// Their distance.
    pub length: f64,
}

/// Rigid molecules of three particles: an oxygen and two hydrogens, or anything of that shape.
#[derive(Clone, Debug, PartialEq)]
pub struct RigidWater {
    /// Distance of each hydrogen from the oxygen.
    pub bond: f64,
    /// Distance of the hydrogens.
    pub base: f64,
    /// Oxygen, hydrogen, hydrogen of every molecule.
    pub molecules: Vec<[u32; 3]>,
}

impl RigidWater {
    /// Its three distances, between the places 0, 1 and 2.
    pub fn sides(&self) -> [FixedBond; 3] {
        [([0, 1], self.bond), ([0, 2], self.bond), ([1, 2], self.base)]
            .map(|(ends, length)| FixedBond { ends, length })
    }
}

/// Two particles that keep their distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedDistance {
    /// The particles.
    pub atoms: [u32; 2],
    /// Their distance.
    pub length: f64,
}

/// All distances of a system that do not change.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraints {
    /// Rigid waters, by their geometry; held by SETTLE.
    pub waters: Vec<RigidWater>,
    /// Other distances; held by SHAKE and RATTLE.
    pub distances: Vec<FixedDistance>,
    /// How well those are held, relative to their length.
    pub tolerance: f64,
}

/// How well distances are held unless said, relative to their length.
pub const TOLERANCE: f64 = 1e-10;

/// A start whose distances are off by more than this is refused, relative to their length.
pub const FARTHEST_START: f64 = 0.05;

impl Default for Constraints {
    fn default() -> Self {
        Self {
            waters: Vec::new(),
            distances: Vec::new(),
            tolerance: TOLERANCE,
        }
    }
}

/// Why constraints were refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintError {
    /// A particle that is not there, or the same one twice.
    #[error(
        "a constraint joins particles {} and {}; expected two different ones of 1 to {particles}",
        u64::from(atoms[0]) + 1,
        u64::from(atoms[1]) + 1
    )]
    Particles {
        /// The particles, counted from 0.
        atoms: [u32; 2],
        /// How many there are.
        particles: usize,
    },
    /// A pair with two constraints.
    #[error("particles {} and {} are constrained twice", atoms[0] + 1, atoms[1] + 1)]
    Twice {
        /// The particles, counted from 0.
        atoms: [u32; 2],
    },
    /// A particle of a rigid water in another constraint.
    #[error("particle {} belongs to a rigid water and to another constraint", particle + 1)]
    Shared {
        /// The particle, counted from 0.
        particle: u32,
    },
    /// Lengths that make no triangle, or no length.
    #[error("a constraint of length {0}; expected a positive, finite length")]
    Length(f64),
    /// A rigid water that is flat or open.
    #[error("a rigid water with bonds of {bond} and a base of {base}: these make no triangle")]
    Flat {
        /// Distance of each hydrogen from the oxygen.
        bond: f64,
        /// Distance of the hydrogens.
        base: f64,
    },
    /// Hydrogens of different masses, which SETTLE does not do.
    #[error(
        "particles {} and {} of a rigid water have masses {} and {}; expected equal ones",
        atoms[0] + 1,
        atoms[1] + 1,
        masses[0],
        masses[1]
    )]
    Masses {
        /// The particles, counted from 0.
        atoms: [u32; 2],
        /// Their masses.
        masses: [f64; 2],
    },
    /// A constraint too many.
    #[error(
        "the constraints of the {count} particles around particle {} are not independent: one follows from the others, or \
         its particles lie in a line",
        particle + 1
    )]
    Dependent {
        /// The first particle of the cluster, counted from 0.
        particle: u32,
        /// Particles in the cluster.
        count: usize,
    },
    /// No species of this name.
    #[error("there is no species named `{0}`")]
    NoSpecies(String),
    /// Pairs that cannot be left out of the pair terms.
    #[error(transparent)]
    Exclusions(#[from] super::ExclusionError),
    /// A start that is too far from its constraints, or a constraint that cannot be met.
    #[error(
        "particles {} and {} are {found:.5} apart, and their constraint is {wanted:.5}",
        atoms[0] + 1,
        atoms[1] + 1
    )]
    Start {
        /// The particles, counted from 0.
        atoms: [u32; 2],
        /// The length wanted.
        wanted: f64,
        /// Their distance.
        found: f64,
    },
}

impl Constraints {
    /// How many distances are fixed, which is by how much the degrees of freedom are fewer.
    pub fn len(&self) -> usize {
        self.distances.len() + 3 * self.waters.iter().map(|w| w.molecules.len()).sum::<usize>()
    }

    /// Whether nothing is fixed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every fixed distance: its particles and its length.
    pub fn pairs(&self) -> impl Iterator<Item = ([u32; 2], f64)> + '_ {
        let sides = |water: &RigidWater, atoms: &[u32; 3]| {
            let atoms = *atoms;
            water
                .sides()
                .map(|s| (s.ends.map(|end| atoms[end as usize]), s.length))
        };
        let waters = self
            .waters
            .iter()
            .flat_map(move |w| w.molecules.iter().flat_map(move |atoms| sides(w, atoms)));
        waters.chain(self.distances.iter().map(|d| (d.atoms, d.length)))
    }

    /// How many degrees of freedom the constraints take from the particles that `belongs` says. A constraint takes from its
    /// two ends in proportion to their inverse masses, which is exact where it is alone: the lighter end moves more.
    pub fn taken_from(&self, masses: &[f64], belongs: impl Fn(u32) -> bool) -> f64 {
        let mut taken = 0.0;
        for (atoms, _) in self.pairs() {
            taken += match atoms.map(&belongs) {
                [true, true] => 1.0,
                [false, false] => 0.0,
                [first, _] => {
                    let [a, b] = atoms.map(|i| 1.0 / masses[i as usize]);
                    if first { a / (a + b) } else { b / (a + b) }
                }
            };
        }
        taken
    }

    /// Refuses constraints that contradict one another or name particles that are not there.
    pub fn check(&self, masses: &[f64]) -> Result<(), ConstraintError> {
        let particles = masses.len();
        let mut rigid = HashSet::new();
        for water in &self.waters {
            let (bond, base) = (water.bond, water.base);
            let length = |x: f64| x.is_finite() && x > 0.0;
            if !(length(bond) && length(base) && base < 2.0 * bond * (1.0 - 1e-6)) {
                return Err(ConstraintError::Flat { bond, base });
            }
            for &[o, a, b] in &water.molecules {
                for atoms in [[o, a], [o, b], [a, b]] {
                    in_range(atoms, particles)?;
                }
                if let Some(particle) = [o, a, b].into_iter().find(|&i| !rigid.insert(i)) {
                    return Err(ConstraintError::Shared { particle });
                }
                let masses = [a, b].map(|i| masses[i as usize]);
                if masses[0] != masses[1] {
                    return Err(ConstraintError::Masses {
                        atoms: [a, b],
                        masses,
                    });
                }
            }
        }
        let mut seen = HashSet::new();
        for d in &self.distances {
            in_range(d.atoms, particles)?;
            if !(d.length.is_finite() && d.length > 0.0) {
                return Err(ConstraintError::Length(d.length));
            }
            let [i, j] = d.atoms;
            if !seen.insert([i.min(j), i.max(j)]) {
                return Err(ConstraintError::Twice { atoms: d.atoms });
            }
            if let Some(particle) = d.atoms.into_iter().find(|i| rigid.contains(i)) {
                return Err(ConstraintError::Shared { particle });
            }
        }
        Ok(())
    }
}

fn in_range(atoms: [u32; 2], particles: usize) -> Result<(), ConstraintError> {
    if atoms[0] == atoms[1] || atoms.iter().any(|&i| i as usize >= particles) {
        return Err(ConstraintError::Particles { atoms, particles });
    }
    Ok(())
}

impl System {
    /// The largest relative error of a fixed distance, and the largest speed along one.
    pub fn constraint_errors(&self) -> [f64; 2] {
        let p = &self.particles;
        let mut largest = [0.0_f64; 2];
        for (atoms, length) in self.constraints.pairs() {
            let [i, j] = atoms.map(|k| k as usize);
            let d: Vec3<f64> = self.cell.minimum_image(p.positions[i] - p.positions[j]);
            let speed = d.dot(p.velocities[i] - p.velocities[j]) / length;
            largest = [
                largest[0].max((d.norm() / length - 1.0).abs()),
                largest[1].max(speed.abs()),
            ];
        }
        largest
    }
}
