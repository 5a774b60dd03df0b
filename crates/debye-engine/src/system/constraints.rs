//! [`Constraints`]: distances and shapes that do not change.

use std::collections::HashSet;

use super::{Cell, Class, RigidBodies, System};
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
    /// Rigid molecules of any other shape, which move and turn as a whole.
    pub bodies: Vec<RigidBodies>,
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
            bodies: Vec::new(),
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
    /// A particle of a rigid molecule in another constraint.
    #[error("particle {} belongs to a rigid molecule and to another constraint", particle + 1)]
    Shared {
        /// The particle, counted from 0.
        particle: u32,
    },
    /// Sites that make no rigid body.
    #[error("a rigid body that cannot be: {0}")]
    Shape(String),
    /// A particle whose mass is not that of its site.
    #[error("particle {} has mass {found}, and its site in the rigid body {wanted}", particle + 1)]
    SiteMass {
        /// The particle, counted from 0.
        particle: u32,
        /// Its mass.
        found: f64,
        /// The mass of the site.
        wanted: f64,
    },
    /// A molecule that does not have the shape of its body.
    #[error(
        "particle {} is {off:.5} away from its site in the rigid body, whose size is {size:.5}{}",
        particle + 1,
        if *mirrored { "; all distances are right, so it is the mirror image: two like sites are swapped" } else { "" }
    )]
    Misfit {
        /// The particle, counted from 0.
        particle: u32,
        /// How far off it is.
        off: f64,
        /// The largest distance of two sites.
        size: f64,
        /// Whether all distances are right.
        mirrored: bool,
    },
    /// A body whose sites may be nearer to an image of it.
    #[error(
        "the rigid body of particle {} reaches {reach:.5} from it, more than half of the cell's height of {height:.5}",
        particle + 1
    )]
    TooLong {
        /// Its first particle, counted from 0.
        particle: u32,
        /// How far its sites are from the first.
        reach: f64,
        /// The smallest height of the cell along which it is periodic.
        height: f64,
    },
    /// A particle without mass that no rigid body carries along.
    #[error("particle {} has no mass and belongs to no rigid body, so that nothing says how it moves", particle + 1)]
    Massless {
        /// The particle, counted from 0.
        particle: u32,
    },
    /// A site that turns by itself.
    #[error("particle {} turns by itself and belongs to a rigid body", particle + 1)]
    Turns {
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
    /// No molecule of these species.
    #[error("there are no molecules of {0}, their particles one after another")]
    NoMolecules(String),
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
    /// By how much the degrees of freedom are fewer than three for each particle.
    pub fn len(&self) -> usize {
        let of_body = |b: &RigidBodies| {
            let sites = b.shape.sites().len();
            b.molecules().len() * (3 * sites - b.shape.degrees_of_freedom() as usize)
        };
        self.distances.len()
            + 3 * self.waters.iter().map(|w| w.molecules.len()).sum::<usize>()
            + self.bodies.iter().map(of_body).sum::<usize>()
    }

    /// Whether nothing is fixed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every fixed distance: its particles and its length. In a rigid body those of all pairs of sites.
    pub fn pairs(&self) -> impl Iterator<Item = ([u32; 2], f64)> + '_ {
        let within = |body: &RigidBodies, atoms: &[u32]| {
            let mut pairs = Vec::new();
            for i in 0..atoms.len() {
                pairs.extend((0..i).map(|j| ([atoms[j], atoms[i]], body.shape.distance(j, i))));
            }
            pairs
        };
        let bodies = self.bodies.iter();
        let bodies = bodies.flat_map(move |b| b.molecules().flat_map(move |atoms| within(b, atoms)));
        self.sides_and_distances().chain(bodies)
    }

    /// The distances that are held one by one.
    fn sides_and_distances(&self) -> impl Iterator<Item = ([u32; 2], f64)> + '_ {
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
    /// two ends in proportion to their inverse masses, which is exact where it is alone: the lighter end moves more. A
    /// site of a rigid body keeps those that move it.
    pub fn taken_from(&self, masses: &[f64], belongs: impl Fn(u32) -> bool) -> f64 {
        let mut taken = 0.0;
        for body in &self.bodies {
            let sites = body.shape.sites().len();
            let kept: Vec<f64> = (0..sites).map(|k| body.shape.freedom_of(k)).collect();
            for (k, &i) in body.particles.iter().enumerate() {
                taken += if belongs(i) { 3.0 - kept[k % sites] } else { 0.0 };
            }
        }
        for (atoms, _) in self.sides_and_distances() {
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

    /// The rigid molecule of each particle of so many, where it is in one.
    pub(crate) fn rigid_molecules(&self, particles: usize) -> Vec<Option<u32>> {
        let mut of = vec![None; particles];
        let waters = self.waters.iter().flat_map(|kind| &kind.molecules);
        let bodies = self.bodies.iter().flat_map(RigidBodies::molecules);
        for (number, atoms) in (0..).zip(waters.map(|atoms| &atoms[..]).chain(bodies)) {
            atoms.iter().for_each(|&i| of[i as usize] = Some(number));
        }
        of
    }

    /// Of every kind of rigid bodies the first particle, and how far sites are from it.
    pub(crate) fn reaches(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let of = |body: &RigidBodies| Some((*body.particles.first()?, body.shape.reach()));
        self.bodies.iter().filter_map(of)
    }

    /// Whether a particle belongs to a rigid body, for every particle of so many.
    pub fn in_bodies(&self, particles: usize) -> Vec<bool> {
        let mut inside = vec![false; particles];
        for &i in self.bodies.iter().flat_map(|b| &b.particles) {
            inside[i as usize] = true;
        }
        inside
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
        for body in &self.bodies {
            for atoms in body.molecules() {
                for (&particle, &wanted) in atoms.iter().zip(body.shape.masses()) {
                    let other = atoms.iter().find(|&&i| i != particle);
                    in_range([particle, other.copied().unwrap_or(particle)], particles)?;
                    if !rigid.insert(particle) {
                        return Err(ConstraintError::Shared { particle });
                    }
                    let found = masses[particle as usize];
                    if found != wanted {
                        return Err(ConstraintError::SiteMass {
                            particle,
                            found,
                            wanted,
                        });
                    }
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

/// Refuses a cell in which sites of a rigid body may be nearer to an image of it than to the first of them.
pub(crate) fn check_reach(bodies: &[(u32, f64)], cell: &Cell) -> Result<(), ConstraintError> {
    let heights = cell.heights().to_array().into_iter().zip(cell.periodic());
    let periodic = heights
        .filter(|(_, periodic)| *periodic)
        .map(|(height, _)| height);
    let height = periodic.fold(f64::INFINITY, f64::min);
    match bodies.iter().find(|(_, reach)| 2.0 * reach > height) {
        Some(&(particle, reach)) => Err(ConstraintError::TooLong {
            particle,
            reach,
            height,
        }),
        None => Ok(()),
    }
}

fn in_range(atoms: [u32; 2], particles: usize) -> Result<(), ConstraintError> {
    if atoms[0] == atoms[1] || atoms.iter().any(|&i| i as usize >= particles) {
        return Err(ConstraintError::Particles { atoms, particles });
    }
    Ok(())
}

impl System {
    /// Refuses constraints that cannot be, sites that turn by themselves, and bodies that are too long for the cell.
    ///
    /// # Errors
    /// [`ConstraintError`].
    pub fn check_constraints(&self) -> Result<(), ConstraintError> {
        self.constraints.check(&self.particles.masses)?;
        for body in &self.constraints.bodies {
            let turns = |&&i: &&u32| self.particles.orientations.rotor(i as usize).class() != Class::Point;
            if let Some(&particle) = body.particles.iter().find(turns) {
                return Err(ConstraintError::Turns { particle });
            }
        }
        check_reach(&self.constraints.reaches().collect::<Vec<_>>(), &self.cell)
    }

    /// Refuses particles without mass that no rigid body carries along. What begins a simulation asks this.
    ///
    /// # Errors
    /// [`ConstraintError::Massless`].
    pub fn check_massless(&self) -> Result<(), ConstraintError> {
        let masses = &self.particles.masses;
        if masses.iter().all(|m| *m != 0.0) {
            return Ok(());
        }
        let carried = self.constraints.in_bodies(masses.len());
        match (0u32..)
            .zip(carried)
            .find(|&(i, carried)| masses[i as usize] == 0.0 && !carried)
        {
            Some((particle, _)) => Err(ConstraintError::Massless { particle }),
            None => Ok(()),
        }
    }

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
