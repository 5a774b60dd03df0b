//! Bonds, angles, dihedrals and scaled pairs on the CPU.
//!
//! Every link writes its forces to places of its own; then each particle sums the places that
//! are its, in the order of the topology. So threads never meet and sums have one order.

use crate::parallel::{InParallel, Indexed};

use super::axes::AxisForces;
use crate::expr::{Dual, Quat, Vec3};
use crate::forces::constraints::Nearest;
use crate::forces::{BondedTerm, ForceField, ListedPairs, geometry};
use crate::potentials::{MAX_BONDED, PairSums};
use crate::system::{Cell, Link, System};

/// Links per block: the unit of parallel work and of ordered sums.
const BLOCK: usize = 1024;

/// A link with its coefficients, of one term.
#[derive(Clone, Copy, Debug)]
struct Bonded<const N: usize> {
    atoms: [u32; N],
    row: [f64; MAX_BONDED],
}

type Geometry<const N: usize> = fn(&Cell, [Vec3<f64>; N]) -> geometry::Coordinate<f64, N>;
type Derivative = Box<dyn Fn(f64, &[f64; MAX_BONDED]) -> Dual<f64> + Send + Sync>;

/// All links of one term.
struct TermLinks<const N: usize> {
    name: String,
    links: Vec<Bonded<N>>,
    derivative: Derivative,
    geometry: Geometry<N>,
    first: usize,
}

/// Pairs that are left out of the lists, of one pair term.
struct Scaled {
    listed: ListedPairs,
    /// Those within a rigid molecule: what holds it undoes all that they do to it, so that they have an energy and nothing else.
    inert: Vec<([u32; 2], f64)>,
    first: usize,
}

/// Every bonded term of a system.
#[derive(Default)]
pub struct BondedForces {
    bonds: Vec<TermLinks<2>>,
    angles: Vec<TermLinks<3>>,
    dihedrals: Vec<TermLinks<4>>,
    scaled: Vec<Scaled>,
    axes: AxisForces,
    /// Forces link by link.
    places: Vec<Vec3<f64>>,
    /// `incident[starts[id]..starts[id + 1]]` are the places of a particle.
    starts: Vec<u32>,
    incident: Vec<u32>,
}

impl BondedForces {
    /// Collects the links of a system that the force field has parameters for.
    pub fn new(system: &System, field: &ForceField) -> Self {
        let mut all = Self::default();
        let t = &system.topology;
        let mut first = 0;
        for term in &field.bonds {
            let family = term.family;
            let derivative: Derivative = Box::new(move |x, c| family.energy_and_derivative(x, c));
            all.bonds
                .push(links_of(term, &t.bonds, derivative, bond_geometry, &mut first));
        }
        for term in &field.angles {
            let family = term.family;
            let derivative: Derivative = Box::new(move |x, c| family.energy_and_derivative(x, c));
            all.angles
                .push(links_of(term, &t.angles, derivative, angle_geometry, &mut first));
        }
        for (terms, links) in [(&field.dihedrals, &t.dihedrals), (&field.impropers, &t.impropers)] {
            for term in terms {
                let family = term.family;
                let derivative: Derivative = Box::new(move |x, c| family.energy_and_derivative(x, c));
                all.dihedrals
                    .push(links_of(term, links, derivative, dihedral_geometry, &mut first));
            }
        }
        let rigid = system.constraints.rigid_molecules(system.particles.len());
        for mut listed in field.listed_pairs(system) {
            let within = |[i, j]: [u32; 2]| {
                let molecule = rigid[i as usize];
                molecule.is_some() && molecule == rigid[j as usize]
            };
            let all_pairs = std::mem::take(&mut listed.pairs).into_iter();
            let (inert, acting) = all_pairs.partition(|(atoms, _)| within(*atoms));
            listed.pairs = acting;
            let count = listed.pairs.len();
            all.scaled.push(Scaled { listed, inert, first });
            first += 2 * count;
        }
        all.axes = AxisForces::new(system, field);
        all.places = vec![Vec3::zero(); first];
        all.index(system.particles.len());
        all
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.scaled.iter().all(|s| s.inert.is_empty()) && self.axes.is_empty()
    }

    /// Names of the terms, in the order of the sums.
    pub fn names(&self) -> Vec<String> {
        let bonds = self.bonds.iter().map(|s| &s.name);
        let angles = self.angles.iter().map(|s| &s.name);
        let dihedrals = self.dihedrals.iter().map(|s| &s.name);
        bonds
            .chain(angles)
            .chain(dihedrals)
            .chain(self.scaled.iter().map(|s| &s.listed.name))
            .cloned()
            .chain(self.axes.names())
            .collect()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.places.capacity() * 24 + (self.starts.capacity() + self.incident.capacity()) * 4
    }

    /// Adds forces and torques (in the order of `slots`) and returns energy and virial by term. Pairs within rigid molecules
    /// take part with `energy` only, and have no force and no virial: without these, what holds the molecules has less to undo.
    pub fn add(
        &mut self,
        cell: &Cell,
        field: &ForceField,
        particles: &Slots,
        forces: &mut [Vec3<f64>],
        torques: &mut [Vec3<f64>],
        energy: bool,
    ) -> Vec<PairSums> {
        let mut places = std::mem::take(&mut self.places);
        let mut sums = Vec::new();
        let mut rest = places.as_mut_slice();
        for s in &self.bonds {
            sums.push(s.evaluate(cell, particles, &mut rest));
        }
        for s in &self.angles {
            sums.push(s.evaluate(cell, particles, &mut rest));
        }
        for s in &self.dihedrals {
            sums.push(s.evaluate(cell, particles, &mut rest));
        }
        for s in &self.scaled {
            let mut sum = s.evaluate(cell, field, particles, &mut rest);
            if energy {
                sum.energy += s.inert_energy(cell, field, particles);
            }
            sums.push(sum);
        }
        if !self.axes.is_empty() {
            sums.extend(self.axes.add(cell, particles, forces, torques));
        }
        if places.is_empty() {
            return sums;
        }
        let (starts, incident) = (&self.starts, &self.incident);
        forces
            .par_iter_mut()
            .zip(particles.ids)
            .with_min_len(BLOCK)
            .for_each(|(f, &id)| {
                let (from, to) = (starts[id as usize] as usize, starts[id as usize + 1] as usize);
                for &place in &incident[from..to] {
                    *f += places[place as usize];
                }
            });
        self.places = places;
        sums
    }

    /// Adds what pairs within rigid molecules do, which moves nobody, to forces that are to be shown.
    pub(super) fn add_inert(
        &self,
        cell: &Cell,
        field: &ForceField,
        particles: &Slots,
        forces: &mut [Vec3<f64>],
    ) {
        let nearest = Nearest::new(cell);
        for s in &self.scaled {
            for pair in &s.inert {
                let (_, force, _) = s.act(nearest, field, particles, pair);
                let [i, j] = pair.0.map(|a| particles.slot_of[a as usize] as usize);
                forces[i] += force;
                forces[j] -= force;
            }
        }
    }

    /// The link with the largest force at a particle.
    pub(super) fn strongest(
        &self,
        cell: &Cell,
        field: &ForceField,
        particles: &Slots,
        id: u32,
    ) -> Option<LinkForce> {
        let (from, to) = (
            self.starts[id as usize] as usize,
            self.starts[id as usize + 1] as usize,
        );
        let link_force = |&place: &u32| {
            let place = place as usize;
            let bonds = self
                .bonds
                .iter()
                .find_map(|s| s.link_force(cell, particles, place));
            bonds
                .or_else(|| {
                    self.angles
                        .iter()
                        .find_map(|s| s.link_force(cell, particles, place))
                })
                .or_else(|| {
                    self.dihedrals
                        .iter()
                        .find_map(|s| s.link_force(cell, particles, place))
                })
                .or_else(|| {
                    self.scaled
                        .iter()
                        .find_map(|s| s.link_force(cell, field, particles, place))
                })
        };
        let links = self.incident[from..to].iter().filter_map(link_force);
        links.reduce(|most, next| if next.force > most.force { next } else { most })
    }

    fn index(&mut self, particles: usize) {
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(self.places.len());
        fn push<const N: usize>(terms: &[TermLinks<N>], pairs: &mut Vec<(u32, u32)>) {
            for s in terms {
                for (k, link) in s.links.iter().enumerate() {
                    pairs.extend((0..N).map(|a| (link.atoms[a], (s.first + k * N + a) as u32)));
                }
            }
        }
        push(&self.bonds, &mut pairs);
        push(&self.angles, &mut pairs);
        push(&self.dihedrals, &mut pairs);
        for s in &self.scaled {
            for (k, (atoms, _)) in s.listed.pairs.iter().enumerate() {
                pairs.extend((0..2).map(|a| (atoms[a], (s.first + k * 2 + a) as u32)));
            }
        }
        pairs.sort_unstable();
        self.starts = vec![0; particles + 1];
        for &(id, _) in &pairs {
            self.starts[id as usize + 1] += 1;
        }
        for i in 0..particles {
            self.starts[i + 1] += self.starts[i];
        }
        self.incident = pairs.into_iter().map(|(_, place)| place).collect();
    }
}

/// What one link does to one of its particles.
#[derive(Clone, Debug)]
pub(super) struct LinkForce {
    /// The term of the link.
    pub(super) term: String,
    /// Size of the force; infinite where it is none at all.
    pub(super) force: f64,
    /// The other particles of the link.
    pub(super) partners: Vec<u32>,
}

impl LinkForce {
    fn new(term: &str, force: Vec3<f64>, atoms: &[u32], own: usize) -> Self {
        let size = force.norm2().sqrt();
        let others = atoms.iter().enumerate().filter(|(k, _)| *k != own);
        Self {
            term: term.to_owned(),
            force: if size.is_nan() { f64::INFINITY } else { size },
            partners: others.map(|(_, &id)| id).collect(),
        }
    }
}

/// Where particles are now.
#[derive(Clone, Copy, Debug)]
pub struct Slots<'a> {
    /// Number of the particle in each slot.
    pub ids: &'a [u32],
    /// Slot of each particle.
    pub slot_of: &'a [u32],
    /// Positions by slot.
    pub positions: &'a [Vec3<f64>],
    /// Species by slot.
    pub species: &'a [u32],
    /// Charges by slot.
    pub charges: &'a [f64],
    /// Orientations by slot; none where everything is a point.
    pub turns: &'a [Quat<f64>],
}

fn links_of<F: ?Sized, const N: usize>(
    term: &BondedTerm<F>,
    links: &[Link<N>],
    derivative: Derivative,
    geometry: Geometry<N>,
    first: &mut usize,
) -> TermLinks<N> {
    let links: Vec<Bonded<N>> = links
        .iter()
        .filter_map(|l| {
            let row = (*term.rows.get(l.kind as usize)?)?;
            Some(Bonded { atoms: l.atoms, row })
        })
        .collect();
    let here = *first;
    *first += links.len() * N;
    TermLinks {
        name: term.name.clone(),
        links,
        derivative,
        geometry,
        first: here,
    }
}

impl<const N: usize> TermLinks<N> {
    fn evaluate(&self, cell: &Cell, particles: &Slots, rest: &mut &mut [Vec3<f64>]) -> PairSums {
        let (mine, others) = std::mem::take(rest).split_at_mut(self.links.len() * N);
        *rest = others;
        let blocks: Vec<PairSums> = mine
            .par_chunks_mut(BLOCK * N)
            .zip(self.links.par_chunks(BLOCK))
            .map(|(places, links)| {
                let mut sums = PairSums::default();
                for (to, link) in places.chunks_exact_mut(N).zip(links) {
                    let (energy, forces, relative) = self.act(cell, particles, link);
                    sums.energy += energy;
                    for ((to, f), d) in to.iter_mut().zip(forces).zip(relative) {
                        *to = f;
                        geometry::add_virial(&mut sums.virial, d, f);
                    }
                }
                sums
            })
            .collect();
        total(blocks)
    }

    /// Energy of a link, the forces on its particles, and where these are relative to one of them.
    #[inline]
    fn act(&self, cell: &Cell, particles: &Slots, link: &Bonded<N>) -> (f64, [Vec3<f64>; N], [Vec3<f64>; N]) {
        let at = |a: u32| particles.positions[particles.slot_of[a as usize] as usize];
        let coordinate = (self.geometry)(cell, link.atoms.map(at));
        let e = (self.derivative)(coordinate.value, &link.row);
        (e.value, coordinate.forces(e.derivative), coordinate.relative)
    }

    /// What the link that owns a place does to the particle of that place, if the link is of this term.
    fn link_force(&self, cell: &Cell, particles: &Slots, place: usize) -> Option<LinkForce> {
        let own = place.checked_sub(self.first)?;
        let link = self.links.get(own / N)?;
        let (_, forces, _) = self.act(cell, particles, link);
        Some(LinkForce::new(&self.name, forces[own % N], &link.atoms, own % N))
    }
}

impl Scaled {
    fn inert_energy(&self, cell: &Cell, field: &ForceField, particles: &Slots) -> f64 {
        let nearest = Nearest::new(cell);
        let energy = |pair| self.act(nearest, field, particles, pair).0;
        let blocks: Vec<f64> = self
            .inert
            .par_chunks(BLOCK)
            .map(|pairs| pairs.iter().map(energy).sum())
            .collect();
        blocks.iter().sum()
    }

    fn evaluate(
        &self,
        cell: &Cell,
        field: &ForceField,
        particles: &Slots,
        rest: &mut &mut [Vec3<f64>],
    ) -> PairSums {
        let (mine, others) = std::mem::take(rest).split_at_mut(self.listed.pairs.len() * 2);
        *rest = others;
        let blocks: Vec<PairSums> = mine
            .par_chunks_mut(BLOCK * 2)
            .zip(self.listed.pairs.par_chunks(BLOCK))
            .map(|(places, pairs)| {
                let mut sums = PairSums::default();
                let nearest = Nearest::new(cell);
                for (to, pair) in places.chunks_exact_mut(2).zip(pairs) {
                    let (energy, force, d) = self.act(nearest, field, particles, pair);
                    sums.energy += energy;
                    geometry::add_virial(&mut sums.virial, d, force);
                    (to[0], to[1]) = (force, -force);
                }
                sums
            })
            .collect();
        total(blocks)
    }

    /// Energy of a pair, the force on its first particle, and the way there from the second.
    fn act(
        &self,
        nearest: Nearest,
        field: &ForceField,
        particles: &Slots,
        &(atoms, factor): &([u32; 2], f64),
    ) -> (f64, Vec3<f64>, Vec3<f64>) {
        let [i, j] = atoms.map(|a| particles.slot_of[a as usize] as usize);
        let d = nearest.of(particles.positions[i] - particles.positions[j]);
        let charges = field.coulomb_constant * particles.charges[i] * particles.charges[j];
        let species = [particles.species[i], particles.species[j]];
        let r2 = geometry::squared_distance(d);
        let e = self.listed.act(species, charges, factor, r2.value);
        (e.value, r2.forces(e.derivative)[1], d)
    }

    /// As [`TermLinks::link_force`].
    fn link_force(
        &self,
        cell: &Cell,
        field: &ForceField,
        particles: &Slots,
        place: usize,
    ) -> Option<LinkForce> {
        let own = place.checked_sub(self.first)?;
        let pair = self.listed.pairs.get(own / 2)?;
        let (_, force, _) = self.act(Nearest::new(cell), field, particles, pair);
        Some(LinkForce::new(&self.listed.name, force, &pair.0, own % 2))
    }
}

fn total(blocks: Vec<PairSums>) -> PairSums {
    let mut sum = PairSums::default();
    for block in blocks {
        sum.add(&block);
    }
    sum
}

fn bond_geometry(cell: &Cell, r: [Vec3<f64>; 2]) -> geometry::Coordinate<f64, 2> {
    geometry::distance(cell.minimum_image(r[1] - r[0]))
}

fn angle_geometry(cell: &Cell, r: [Vec3<f64>; 3]) -> geometry::Coordinate<f64, 3> {
    geometry::angle(cell.minimum_image(r[0] - r[1]), cell.minimum_image(r[2] - r[1]))
}

fn dihedral_geometry(cell: &Cell, r: [Vec3<f64>; 4]) -> geometry::Coordinate<f64, 4> {
    let (ji, kj) = (cell.minimum_image(r[0] - r[1]), cell.minimum_image(r[1] - r[2]));
    geometry::dihedral(ji, kj, cell.minimum_image(r[3] - r[2]))
}
