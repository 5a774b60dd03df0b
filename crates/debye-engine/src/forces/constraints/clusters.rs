//! [`Clusters`]: the constraints of a system, sorted into groups that know nothing of one another.

use std::collections::HashMap;
use std::ops::Range;

use super::rigid::{fitted, projected};
use super::{FixedBond, Triangle, Unsolved, rattle, shake};
use crate::expr::Vec3;
use crate::system::{Cell, Constraints, RigidShape};

/// Particles that are held together: a rigid water, a rigid body, or everything that is connected by fixed distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its places in the lists of [`Clusters`].
    pub places: Range<usize>,
    solver: Solver,
}

#[derive(Clone, Debug, PartialEq)]
enum Solver {
    /// By SETTLE: the number of its shape.
    Triangle(usize),
    /// By SHAKE and RATTLE: its bonds.
    Bonds(Range<usize>),
    /// As a rigid body: the number of its shape.
    Body(usize),
}

#[derive(Clone, Debug, PartialEq)]
struct Shape {
    triangle: Triangle<f64>,
    sides: [FixedBond; 3],
}

/// The shape of rigid bodies, and the distances of their sites from the first, by which faults are named.
#[derive(Clone, Debug, PartialEq)]
struct Body {
    shape: RigidShape,
    bonds: Vec<FixedBond>,
}

/// All groups of a system. Lists have one place for every particle that belongs to a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// The groups: waters first, then clusters of fixed distances, each in the order of its first particle; then bodies.
    pub groups: Vec<Group>,
    /// The particle at each place.
    pub atoms: Vec<u32>,
    /// The place within the group that a place is connected to; the first is connected to itself.
    parents: Vec<u32>,
    /// Infinite for sites without mass.
    inverse_masses: Vec<f64>,
    bonds: Vec<FixedBond>,
    shapes: Vec<Shape>,
    bodies: Vec<Body>,
    tolerance: f64,
}

/// Finds the images of bonded particles that are next to one another.
#[derive(Clone, Copy, Debug)]
pub struct Nearest<'a> {
    cell: &'a Cell,
    /// A difference shorter than this (squared) is its own shortest image.
    short: f64,
}

impl<'a> Nearest<'a> {
    /// In a cell.
    pub fn new(cell: &'a Cell) -> Self {
        let heights = cell.heights();
        let half = 0.49 * heights.x.min(heights.y).min(heights.z);
        Self {
            cell,
            short: half * half,
        }
    }

    /// The shortest image of a difference.
    #[inline(always)]
    pub fn of(&self, d: Vec3<f64>) -> Vec3<f64> {
        if d.norm2() < self.short {
            d
        } else {
            self.cell.minimum_image(d)
        }
    }
}

/// Room for the work on one group.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Places, relative to the first particle.
    pub old: Vec<Vec3<f64>>,
    /// Places after a step, or rates of change.
    pub new: Vec<Vec3<f64>>,
    multipliers: Vec<f64>,
}

impl Clusters {
    /// The groups of constraints that were checked, of particles with these masses.
    pub fn new(constraints: &Constraints, masses: &[f64]) -> Self {
        let mut all = Self {
            tolerance: constraints.tolerance,
            ..Self::default()
        };
        for water in &constraints.waters {
            let mut known: HashMap<[u64; 2], usize> = HashMap::new();
            for atoms in &water.molecules {
                let m = [masses[atoms[0] as usize], masses[atoms[1] as usize]];
                let shape = *known.entry(m.map(f64::to_bits)).or_insert_with(|| {
                    all.shapes.push(Shape {
                        triangle: Triangle::new(m, water.bond, water.base),
                        sides: water.sides(),
                    });
                    all.shapes.len() - 1
                });
                let first = all.atoms.len();
                all.atoms.extend(atoms);
                all.parents.extend([0; 3]);
                all.groups.push(Group {
                    places: first..first + 3,
                    solver: Solver::Triangle(shape),
                });
            }
        }
        all.add_connected(constraints);
        all.add_bodies(constraints);
        all.inverse_masses = all.atoms.iter().map(|&i| 1.0 / masses[i as usize]).collect();
        all
    }

    /// Walks along the distances from every particle not yet met.
    fn add_connected(&mut self, constraints: &Constraints) {
        let mut partners: HashMap<u32, Vec<(u32, f64)>> = HashMap::new();
        for d in &constraints.distances {
            let [i, j] = d.atoms;
            partners.entry(i).or_default().push((j, d.length));
            partners.entry(j).or_default().push((i, d.length));
        }
        let mut starts: Vec<u32> = partners.keys().copied().collect();
        starts.sort_unstable();
        let mut local: HashMap<u32, u32> = HashMap::new();
        for start in starts {
            if local.contains_key(&start) {
                continue;
            }
            let (first, first_bond) = (self.atoms.len(), self.bonds.len());
            self.atoms.push(start);
            self.parents.push(0);
            local.insert(start, 0);
            let mut at = first;
            while at < self.atoms.len() {
                let here = (at - first) as u32;
                for &(other, length) in &partners[&self.atoms[at]] {
                    let next = (self.atoms.len() - first) as u32;
                    let there = *local.entry(other).or_insert(next);
                    if there == next {
                        self.atoms.push(other);
                        self.parents.push(here);
                    }
                    // Every bond is met from both its ends, and kept once.
                    if there > here {
                        self.bonds.push(FixedBond {
                            ends: [here, there],
                            length,
                        });
                    }
                }
                at += 1;
            }
            self.groups.push(Group {
                places: first..self.atoms.len(),
                solver: Solver::Bonds(first_bond..self.bonds.len()),
            });
        }
    }

    fn add_bodies(&mut self, constraints: &Constraints) {
        for (number, kind) in constraints.bodies.iter().enumerate() {
            let count = kind.shape.sites().len();
            let bonds = (1..count).map(|k| FixedBond {
                ends: [0, k as u32],
                length: kind.shape.distance(0, k),
            });
            self.bodies.push(Body {
                shape: kind.shape.clone(),
                bonds: bonds.collect(),
            });
            for atoms in kind.molecules() {
                let first = self.atoms.len();
                self.atoms.extend(atoms);
                self.parents.extend(atoms.iter().map(|_| 0));
                self.groups.push(Group {
                    places: first..first + count,
                    solver: Solver::Body(number),
                });
            }
        }
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The fixed distances of a group.
    pub fn bonds(&self, group: &Group) -> &[FixedBond] {
        match &group.solver {
            Solver::Triangle(shape) => &self.shapes[*shape].sides,
            Solver::Bonds(bonds) => &self.bonds[bonds.clone()],
            Solver::Body(number) => &self.bodies[*number].bonds,
        }
    }

    /// The shape of a rigid body and its number; nothing for other groups.
    pub(crate) fn body(&self, group: &Group) -> Option<(usize, &RigidShape)> {
        match &group.solver {
            Solver::Body(number) => Some((*number, &self.bodies[*number].shape)),
            Solver::Triangle(_) | Solver::Bonds(_) => None,
        }
    }

    /// Groups of one kind are solved alike: waters by the number of their shape, then fixed distances, then bodies.
    pub(crate) fn kind(&self, group: &Group) -> (u32, usize) {
        match group.solver {
            Solver::Triangle(shape) => (0, shape),
            Solver::Bonds(_) => (1, 0),
            Solver::Body(_) => (2, 0),
        }
    }

    /// The triangle of a rigid water; nothing for other groups.
    pub fn triangle(&self, group: &Group) -> Option<&Triangle<f64>> {
        match &group.solver {
            Solver::Triangle(shape) => Some(&self.shapes[*shape].triangle),
            Solver::Bonds(_) | Solver::Body(_) => None,
        }
    }

    /// For each particle of a group the one it is connected to, by their places in the group.
    pub fn parents(&self, group: &Group) -> &[u32] {
        &self.parents[group.places.clone()]
    }

    /// How well distances are held that SHAKE and RATTLE hold, relative to their length.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// The inverse masses of a group.
    pub fn inverse_masses(&self, group: &Group) -> &[f64] {
        &self.inverse_masses[group.places.clone()]
    }

    /// The two particles of a constraint and the length it wants.
    pub fn constraint(&self, group: &Group, bond: usize) -> ([u32; 2], f64) {
        let bond = self.bonds(group)[bond];
        (
            bond.ends.map(|k| self.atoms[group.places.start + k as usize]),
            bond.length,
        )
    }

    /// The places of a group relative to its first particle, each at the image next to the one it is connected to.
    pub fn whole(
        &self,
        group: &Group,
        nearest: Nearest,
        position: impl Fn(u32) -> Vec3<f64>,
        places: &mut Vec<Vec3<f64>>,
    ) {
        places.clear();
        let atoms = &self.atoms[group.places.clone()];
        for (&i, &parent) in atoms.iter().zip(&self.parents[group.places.clone()]) {
            let next = match places.get(parent as usize) {
                Some(&near) => near + nearest.of(position(i) - position(atoms[parent as usize])),
                None => Vec3::zero(),
            };
            places.push(next);
        }
    }

    /// Moves the places in `scratch.new` so that all distances hold, by displacements along those of `scratch.old`.
    pub fn positions(&self, group: &Group, scratch: &mut Scratch) -> Result<(), Unsolved> {
        let Scratch { old, new, .. } = scratch;
        match &group.solver {
            Solver::Triangle(shape) => {
                let three = |r: &[Vec3<f64>]| [r[0], r[1], r[2]];
                let settled = self.shapes[*shape].triangle.positions(three(old), three(new));
                if !settled.iter().all(|r| r.norm2().is_finite()) {
                    return Err(self.worst(group, new));
                }
                new.copy_from_slice(&settled);
                Ok(())
            }
            Solver::Bonds(bonds) => shake(
                &self.bonds[bonds.clone()],
                self.inverse_masses(group),
                old,
                new,
                self.tolerance,
            ),
            Solver::Body(number) => {
                fitted(&self.bodies[*number].shape, new);
                Ok(())
            }
        }
    }

    /// Changes the rates in `scratch.new`, at the places in `scratch.old`, so that bond · difference of rates is `wanted`
    /// of every bond. The multipliers of the bonds. Rates of rigid bodies become those of their motion as a whole, whatever
    /// is wanted, and there are no multipliers.
    pub fn rates<'s>(
        &self,
        group: &Group,
        scratch: &'s mut Scratch,
        wanted: impl Fn(usize) -> f64,
    ) -> Result<&'s [f64], Unsolved> {
        let Scratch {
            old,
            new,
            multipliers,
        } = scratch;
        multipliers.clear();
        match &group.solver {
            Solver::Triangle(shape) => {
                let (r, v) = ([old[0], old[1], old[2]], [new[0], new[1], new[2]]);
                let (change, found) =
                    self.shapes[*shape]
                        .triangle
                        .rates(r, v, [wanted(0), wanted(1), wanted(2)]);
                if !change.iter().all(|c| c.norm2().is_finite()) {
                    return Err(self.worst(group, old));
                }
                new.iter_mut().zip(change).for_each(|(v, c)| *v += c);
                multipliers.extend(found);
            }
            Solver::Bonds(bonds) => {
                let bonds = &self.bonds[bonds.clone()];
                multipliers.resize(bonds.len(), 0.0);
                let masses = self.inverse_masses(group);
                rattle(bonds, masses, old, new, wanted, self.tolerance, multipliers)?;
            }
            Solver::Body(number) => projected(&self.bodies[*number].shape, old, new),
        }
        Ok(multipliers)
    }

    /// The distance of a group that is furthest from what it should be.
    pub fn worst(&self, group: &Group, places: &[Vec3<f64>]) -> Unsolved {
        let mut worst = Unsolved {
            bond: 0,
            found: f64::NAN,
        };
        let mut largest = -1.0;
        for (k, bond) in self.bonds(group).iter().enumerate() {
            let [i, j] = bond.ends.map(|end| places[end as usize]);
            let found = (i - j).norm();
            let off = (found / bond.length - 1.0).abs();
            if off > largest || off.is_nan() {
                worst = Unsolved { bond: k, found };
                if off.is_nan() {
                    break;
                }
                largest = off;
            }
        }
        worst
    }

    /// A group whose constraints do not all count: one follows from the others, or will as soon as nothing moves.
    pub(crate) fn dependent(&self, cell: &Cell, positions: &[Vec3<f64>]) -> Option<&Group> {
        let mut places = Vec::new();
        self.groups.iter().find(|group| {
            let bonds = self.bonds(group);
            // A tree has no constraint too many. Clusters so large that this would take long are taken on trust.
            if bonds.len() < group.places.len() || bonds.len() > MOST_CHECKED {
                return false;
            }
            self.whole(group, Nearest::new(cell), |i| positions[i as usize], &mut places);
            !is_independent(bonds, self.inverse_masses(group), &places)
        })
    }
}

/// Clusters with more constraints are not checked for superfluous ones.
const MOST_CHECKED: usize = 600;

/// Whether the matrix of the constraints (by Cholesky's decomposition) has full rank.
fn is_independent(bonds: &[FixedBond], inverse_masses: &[f64], r: &[Vec3<f64>]) -> bool {
    let n = bonds.len();
    let unit = |b: &FixedBond| {
        let d = r[b.ends[0] as usize] - r[b.ends[1] as usize];
        d * d.norm().recip()
    };
    let units: Vec<Vec3<f64>> = bonds.iter().map(unit).collect();
    let mut matrix = vec![0.0; n * n];
    for (a, p) in bonds.iter().enumerate() {
        for (b, q) in bonds.iter().enumerate().take(a + 1) {
            for (i, sign) in [(p.ends[0], 1.0), (p.ends[1], -1.0)] {
                for (j, other) in [(q.ends[0], 1.0), (q.ends[1], -1.0)] {
                    if i == j {
                        matrix[a * n + b] +=
                            sign * other * inverse_masses[i as usize] * units[a].dot(units[b]);
                    }
                }
            }
        }
    }
    for a in 0..n {
        let whole = matrix[a * n + a];
        for b in 0..=a {
            let known: f64 = (0..b).map(|k| matrix[a * n + k] * matrix[b * n + k]).sum();
            let left = matrix[a * n + b] - known;
            if a == b {
                if left <= 1e-6 * whole || left.is_nan() {
                    return false;
                }
                matrix[a * n + a] = left.sqrt();
            } else {
                matrix[a * n + b] = left / matrix[b * n + b];
            }
        }
    }
    true
}
