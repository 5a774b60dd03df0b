//! [`Dynamics`]: the paper's kernels step after step, without a thermostat: a new list when a bead has crossed half of
//! the buffer, bonded forces on the host in double precision.

use debye::engines::reference::evaluate;
use debye::expr::{Quat, Vec3};
use debye::forces::ForceField;
use debye::system::System;
use debye_gpu::{Buffer, Device, Stream};

use super::beads::{BUFFER, Beads};
use super::device::{OnCard, laid_out};
use super::variants::FEW;
use super::versions::{Kept, Version};
use crate::study::StudyError;

/// Bonds, angles and restraints.
struct Bonds<S: Kept> {
    system: System,
    field: ForceField,
    energy: f64,
    acted: Buffer<S>,
}

impl<S: Kept> Bonds<S> {
    fn new(device: &Device, beads: &Beads) -> Result<Self, StudyError> {
        Ok(Self {
            system: beads.simulation().system.clone(),
            field: beads.bonded_field(),
            energy: 0.0,
            acted: device.zeros(7 * beads.len())?,
        })
    }

    fn act(&mut self, stream: &Stream, at: Vec<Vec3<f64>>, facings: &[Vec3<f64>]) -> Result<(), StudyError> {
        let p = &mut self.system.particles;
        p.positions = at;
        // Restraints depend on the axis z alone.
        for (turn, &z) in p.orientations.rotations.iter_mut().zip(facings) {
            *turn = Quat::from_z_to(z);
        }
        let found = evaluate(&self.system, &self.field);
        self.energy = found.potential;
        stream.upload(
            &laid_out::<S>(&found.forces, &found.torques),
            self.acted.all_mut(),
        )?;
        Ok(())
    }
}

/// Beads that move by the kernels.
pub(super) struct Dynamics<'b, S: Kept> {
    beads: &'b Beads,
    device: &'b Device,
    stream: Stream,
    card: OnCard<S>,
    bonds: Option<Bonds<S>>,
    listed: Vec<Vec3<f64>>,
    /// Lists made on the way.
    pub(super) lists: u64,
}

impl<'b, S: Kept> Dynamics<'b, S> {
    /// At the start, with steps of so many picoseconds.
    pub(super) fn new(
        device: &'b Device,
        beads: &'b Beads,
        version: Version,
        timestep: f64,
    ) -> Result<Self, StudyError> {
        let bonded = !beads.simulation().system.topology.bonds.is_empty();
        let mut dynamics = Self {
            beads,
            device,
            stream: device.stream()?,
            // Forces alone at first: with a kernel that kicks, for no time at all.
            card: OnCard::new(device, beads, version, 0.0, FEW)?,
            bonds: bonded.then(|| Bonds::new(device, beads)).transpose()?,
            listed: beads.particles().positions.clone(),
            lists: 0,
        };
        dynamics.card.act(&dynamics.stream)?;
        dynamics.act_bonds(dynamics.listed.clone())?;
        dynamics.card.set_timestep(timestep);
        Ok(dynamics)
    }

    fn act_bonds(&mut self, at: Vec<Vec3<f64>>) -> Result<(), StudyError> {
        if let Some(bonds) = &mut self.bonds {
            bonds.act(&self.stream, at, &self.card.facings(&self.stream)?)?;
        }
        Ok(())
    }

    fn kick_bonds(&mut self) -> Result<(), StudyError> {
        if let Some(bonds) = &self.bonds {
            self.card.kick(&self.stream, Some(&bonds.acted))?;
        }
        Ok(())
    }

    /// A step.
    pub(super) fn step(&mut self) -> Result<(), StudyError> {
        self.kick_bonds()?;
        self.card.integrate(&self.stream)?;
        let now = self.card.positions(&self.stream)?;
        let far =
            |(a, b): (&Vec3<f64>, &Vec3<f64>)| self.beads.nearest(*a - *b).norm2() > (0.5 * BUFFER).powi(2);
        if now.iter().zip(&self.listed).any(far) {
            self.card.relist(self.device, &self.stream, &now)?;
            self.listed.clone_from(&now);
            self.lists += 1;
        }
        self.act_bonds(now)?;
        self.card.finish(&self.stream)?;
        self.kick_bonds()
    }

    /// Potential and kinetic energy.
    pub(super) fn energies(&self) -> Result<[f64; 2], StudyError> {
        let bonded = self.bonds.as_ref().map_or(0.0, |bonds| bonds.energy);
        let potential = self.card.acted(&self.stream)?.energy + bonded;
        Ok([potential, self.card.motion(&self.stream)?.kinetic(self.beads)])
    }
}
