//! Restraints of axes on the CPU: forces on both particles of a link and a torque on the first.

use crate::parallel::{InParallel, Indexed};

use super::bonded::Slots;
use crate::expr::Vec3;
use crate::forces::constraints::Nearest;
use crate::forces::geometry::{add_virial, axis};
use crate::forces::{BondedTerm, ForceField};
use crate::potentials::{AxisFamily, MAX_BONDED, PairSums};
use crate::system::{Cell, System};

/// Links per block: the unit of parallel work and of ordered sums.
const BLOCK: usize = 1024;

/// Every restraint of axes of a system.
#[derive(Default)]
pub struct AxisForces {
    terms: Vec<Restraints>,
    /// Links of every particle, in the order of the terms: which one, and whether it is the first of its two.
    starts: Vec<u32>,
    incident: Vec<(u32, bool)>,
    /// Force on the second particle of every link, and torque on the first.
    results: Vec<[Vec3<f64>; 2]>,
}

/// The links of one term.
struct Restraints {
    name: String,
    family: &'static dyn AxisFamily,
    links: Vec<Restraint>,
}

/// The particles of a link and its coefficients.
type Restraint = ([u32; 2], [f64; MAX_BONDED]);

impl AxisForces {
    /// The links of a system that the force field has parameters for.
    pub fn new(system: &System, field: &ForceField) -> Self {
        let of = |term: &BondedTerm<dyn AxisFamily>| Restraints {
            name: term.name.clone(),
            family: term.family,
            links: (system.topology.axes.iter())
                .filter_map(|link| Some((link.atoms, (*term.rows.get(link.kind as usize)?)?)))
                .collect(),
        };
        let terms: Vec<Restraints> = field.axes.iter().map(of).collect();
        let atoms = terms.iter().flat_map(|term| &term.links).map(|link| link.0);
        let mut all: Vec<(u32, u32, bool)> = (0..)
            .zip(atoms)
            .flat_map(|(number, [first, second])| [(first, number, true), (second, number, false)])
            .collect();
        all.sort_unstable();
        let particles = system.particles.len() as u32;
        let before = |id: u32| all.partition_point(|entry| entry.0 < id) as u32;
        Self {
            starts: (0..=particles).map(before).collect(),
            incident: all.iter().map(|entry| (entry.1, entry.2)).collect(),
            results: vec![[Vec3::zero(); 2]; all.len() / 2],
            terms,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Names of the terms, in the order of the sums.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.terms.iter().map(|term| term.name.clone())
    }

    /// Adds forces and torques in the order of `particles`; gives energy and virial by term.
    pub fn add(
        &mut self,
        cell: &Cell,
        particles: &Slots,
        forces: &mut [Vec3<f64>],
        torques: &mut [Vec3<f64>],
    ) -> Vec<PairSums> {
        let mut rest = self.results.as_mut_slice();
        let mut sums = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let (mine, others) = rest.split_at_mut(term.links.len());
            rest = others;
            sums.push(term.evaluate(cell, particles, mine));
        }
        let (starts, incident, results) = (&self.starts, &self.incident, &self.results);
        let all = forces.par_iter_mut().zip(torques).zip(particles.ids);
        all.with_min_len(BLOCK).for_each(|((force, torque), &id)| {
            let (from, to) = (starts[id as usize] as usize, starts[id as usize + 1] as usize);
            for &(link, is_first) in &incident[from..to] {
                let [on_second, turn] = results[link as usize];
                if is_first {
                    *force -= on_second;
                    *torque += turn;
                } else {
                    *force += on_second;
                }
            }
        });
        sums
    }
}

impl Restraints {
    fn evaluate(&self, cell: &Cell, particles: &Slots, to: &mut [[Vec3<f64>; 2]]) -> PairSums {
        let nearest = Nearest::new(cell);
        let act = |to: &mut [Vec3<f64>; 2], (atoms, row): &Restraint, sums: &mut PairSums| {
            let [i, j] = atoms.map(|a| particles.slot_of[a as usize] as usize);
            let d = nearest.of(particles.positions[j] - particles.positions[i]);
            let z = particles.turns[i].rotate(Vec3::new(0.0, 0.0, 1.0));
            let c = axis(z, d);
            let u = self.family.energy_and_derivative(c.value, row);
            *to = [c.by_separation * -u.derivative, c.torque * -u.derivative];
            sums.energy += u.value;
            add_virial(&mut sums.virial, d, to[0]);
        };
        let blocks: Vec<PairSums> = to
            .par_chunks_mut(BLOCK)
            .zip(self.links.par_chunks(BLOCK))
            .map(|(to, links)| {
                let mut sums = PairSums::default();
                for (to, link) in to.iter_mut().zip(links) {
                    act(to, link, &mut sums);
                }
                sums
            })
            .collect();
        let mut total = PairSums::default();
        blocks.iter().for_each(|block| total.add(block));
        total
    }
}
