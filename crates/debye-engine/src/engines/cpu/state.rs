//! [`State`]: the particles of a running simulation, in the order of space.

use crate::parallel::{InParallel, Indexed};

use super::bonded::Slots;
use super::rotation::Rotations;
use super::shared_rows;
use crate::expr::Vec3;
use crate::neighbors::Sharing;
use crate::system::{Cell, Orientations, Particles, System};

/// Particles per block: the unit of parallel work and of ordered sums.
pub const BLOCK: usize = 2048;

/// Everything that changes, and what must move along when particles are sorted.
#[derive(Clone, Debug)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// The cell now.
    pub cell: Cell,
    /// Positions: inside the cell when the list was made, then moving freely.
    pub positions: Vec<Vec3<f64>>,
    /// Velocities; half a step behind for leapfrog.
    pub velocities: Vec<Vec3<f64>>,
    /// Forces at these positions.
    pub forces: Vec<Vec3<f64>>,
    /// Cells moved back so far.
    pub images: Vec<[i32; 3]>,
    /// The particle's number in the input.
    pub ids: Vec<u32>,
    /// Where each particle is now.
    pub slot_of: Vec<u32>,
    /// Which particles share a row of the list; empty if none do.
    pub sharing: Sharing,
    /// Species.
    pub species: Vec<u32>,
    /// Masses.
    pub masses: Vec<f64>,
    /// Charges.
    pub charges: Vec<f64>,
    /// How those that turn lie and turn.
    pub rotations: Rotations,
}

impl State {
    /// The state at the beginning.
    pub fn new(system: &System) -> Self {
        let p = &system.particles;
        let n = p.len();
        Self {
            step: 0,
            cell: system.cell,
            positions: p.positions.clone(),
            // Sites without mass go with their rigid bodies.
            velocities: (p.velocities.iter().zip(&p.masses))
                .map(|(&v, &m)| if m > 0.0 { v } else { Vec3::zero() })
                .collect(),
            forces: vec![Vec3::zero(); n],
            images: p.images.clone(),
            ids: (0..n as u32).collect(),
            slot_of: (0..n as u32).collect(),
            sharing: Sharing::new(),
            species: p.species.clone(),
            masses: p.masses.clone(),
            charges: p.charges.clone(),
            rotations: Rotations::new(&p.orientations),
        }
    }

    /// Where the particles are now, for links between them.
    pub(super) fn slots(&self) -> Slots<'_> {
        Slots {
            ids: &self.ids,
            slot_of: &self.slot_of,
            positions: &self.positions,
            species: &self.species,
            charges: &self.charges,
            turns: &self.rotations.turns,
        }
    }

    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Moves every particle back into the cell, or next to the first of those it shares a row with, counting in `images`.
    pub fn wrap(&mut self) {
        let cell = self.cell;
        self.positions
            .par_iter_mut()
            .zip(&mut self.images)
            .with_min_len(BLOCK)
            .for_each(|(r, image)| {
                let (inside, n) = cell.wrap(*r);
                *r = inside;
                for (total, moved) in image.iter_mut().zip(n) {
                    *total += moved;
                }
            });
        shared_rows::gather(&cell, &self.sharing, &mut self.positions, &mut self.images);
    }

    /// Puts slot `order[k]` into slot k.
    pub fn sort(&mut self, order: &[u32]) {
        permute(&mut self.positions, order);
        permute(&mut self.velocities, order);
        permute(&mut self.forces, order);
        permute(&mut self.images, order);
        permute(&mut self.ids, order);
        permute(&mut self.species, order);
        permute(&mut self.masses, order);
        permute(&mut self.charges, order);
        self.rotations.sort(order);
        if !self.sharing.is_empty() {
            permute(&mut self.sharing, order);
        }
        self.index();
    }

    /// Makes `slot_of` from `ids`.
    pub fn index(&mut self) {
        self.slot_of.resize(self.ids.len(), 0);
        for (slot, &id) in self.ids.iter().enumerate() {
            self.slot_of[id as usize] = slot as u32;
        }
    }

    /// A list in the order of the input.
    pub fn unsorted<T: Copy + Send + Sync>(&self, values: &[T]) -> Vec<T> {
        self.slot_of
            .par_iter()
            .with_min_len(BLOCK)
            .map(|&slot| values[slot as usize])
            .collect()
    }

    /// The particles in the order of the input, inside the cell, with these velocities and angular momenta.
    pub fn particles(
        &self,
        velocities: &[Vec3<f64>],
        angular_momenta: &[Vec3<f64>],
        molecules: &[u32],
    ) -> Particles {
        let mut positions = self.unsorted(&self.positions);
        let mut images = self.unsorted(&self.images);
        let cell = self.cell;
        positions
            .par_iter_mut()
            .zip(&mut images)
            .with_min_len(BLOCK)
            .for_each(|(r, image)| {
                let (inside, n) = cell.wrap(*r);
                *r = inside;
                *image = std::array::from_fn(|k| image[k] + n[k]);
            });
        Particles {
            positions,
            velocities: self.unsorted(velocities),
            images,
            species: self.unsorted(&self.species),
            masses: self.unsorted(&self.masses),
            charges: self.unsorted(&self.charges),
            molecules: molecules.to_vec(),
            orientations: self.orientations(angular_momenta),
        }
    }

    fn orientations(&self, angular_momenta: &[Vec3<f64>]) -> Orientations {
        match self.rotations.is_empty() {
            true => Orientations::default(),
            false => Orientations {
                rotations: self.unsorted(&self.rotations.turns),
                angular_momenta: self.unsorted(angular_momenta),
                rotors: self.unsorted(&self.rotations.rotors),
            },
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.positions.capacity() * (3 * 24 + 12 + 4 + 4 + 4 + 8 + 8) + self.rotations.bytes()
    }
}

pub(super) fn permute<T: Copy + Send + Sync>(values: &mut Vec<T>, order: &[u32]) {
    *values = order
        .par_iter()
        .with_min_len(BLOCK)
        .map(|&k| values[k as usize])
        .collect();
}
