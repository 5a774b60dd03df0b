//! [`Particles`]: structure of arrays; [`Snapshot`]: a view of them at one moment.

use super::Orientations;
use super::cell::Cell;
use crate::expr::Vec3;

/// The state and the fixed properties of every particle; all lists have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles {
    /// Positions, inside the cell or not.
    pub positions: Vec<Vec3<f64>>,
    /// Velocities.
    pub velocities: Vec<Vec3<f64>>,
    /// How often a position was wrapped along a, b, c: position + images·cell is the unwrapped one.
    pub images: Vec<[i32; 3]>,
    /// Index into the system's species.
    pub species: Vec<u32>,
    /// Masses.
    pub masses: Vec<f64>,
    /// Charges.
    pub charges: Vec<f64>,
    /// Molecule numbers, counted from 0.
    pub molecules: Vec<u32>,
    /// Orientations of those that turn; nothing where everything is a point.
    pub orientations: Orientations,
}

impl Particles {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Adds a point at rest; [`orient`](Self::orient) makes it turn.
    pub fn push(&mut self, position: Vec3<f64>, species: u32, mass: f64, charge: f64, molecule: u32) {
        self.positions.push(position);
        self.velocities.push(Vec3::zero());
        self.images.push([0; 3]);
        self.species.push(species);
        self.masses.push(mass);
        self.charges.push(charge);
        self.molecules.push(molecule);
        self.orientations.grow(self.positions.len());
    }

    /// Gives particles other masses. Velocities change with them, so that each keeps its kinetic energy, and all together
    /// their momentum.
    pub fn change_masses(&mut self, masses: Vec<f64>) {
        let before = self.momentum();
        let old = std::mem::replace(&mut self.masses, masses);
        for ((v, &old), &new) in self.velocities.iter_mut().zip(&old).zip(&self.masses) {
            if old != new && new > 0.0 {
                *v = *v * (old / new).sqrt();
            }
        }
        let change = self.momentum() - before;
        let drift = change * (1.0 / self.masses.iter().sum::<f64>());
        if change != Vec3::zero() {
            let moving = self.velocities.iter_mut().zip(&self.masses);
            moving.filter(|(_, m)| **m > 0.0).for_each(|(v, _)| *v -= drift);
        }
    }

    /// Σ m v.
    fn momentum(&self) -> Vec3<f64> {
        let all = self.velocities.iter().zip(&self.masses);
        all.fold(Vec3::zero(), |sum, (&v, &m)| sum + v * m)
    }
}

/// Particles at one moment, as analyses and pictures see them. All lists have the same length.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Step number.
    pub step: u64,
    /// Time.
    pub time: f64,
    /// The box.
    pub cell: &'a Cell,
    /// Positions inside the cell.
    pub positions: &'a [Vec3<f64>],
    /// Positions followed through the faces of the cell.
    pub unwrapped: &'a [Vec3<f64>],
    /// Velocities, where the source has them.
    pub velocities: Option<&'a [Vec3<f64>]>,
    /// Index of each particle's species.
    pub species: &'a [u32],
    /// Axes z of particles that turn, which dipoles point along, zero for points; where the source has them.
    pub axes: Option<&'a [Vec3<f64>]>,
    /// Kinetic energies of the rotation of particles, where the source has them.
    pub rotational_energies: Option<&'a [f64]>,
}
