//! [`Model`]: a case in the terms that every program has, from which all inputs are written.

use debye::forces::MixingRule;
use debye::integrate::ThermostatKind;
use debye::simulation::Simulation;
use debye::system::{Dimension, Units};
use debye::truncation::Truncation;
use serde::Serialize;

use super::super::cases::{Kind, Selection};
use crate::failure::Failure;

/// A system of Lennard-Jones particles, with charges, rigid water and a thermostat or without.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Model {
    /// Whether numbers are in reduced units; else in nm, ps, kJ/mol, u, e, K.
    pub(super) reduced: bool,
    /// Sides of the rectangular cell.
    pub(super) cell: [f64; 3],
    pub(super) species: Vec<Species>,
    /// The species of every particle.
    pub(super) kinds: Vec<u32>,
    /// Molecules are whole.
    pub(super) positions: Vec<[f64; 3]>,
    pub(super) velocities: Vec<[f64; 3]>,
    /// Of Lennard-Jones, and of the real-space part of the charges.
    pub(super) cutoff: f64,
    pub(super) timestep: f64,
    /// Where there are charges, the tolerance that OpenMM is given.
    pub(super) tolerance: Option<f64>,
    pub(super) water: Option<Water>,
    /// Temperature and relaxation time.
    pub(super) thermostat: Option<[f64; 2]>,
    /// Of the velocities.
    pub(super) temperature: f64,
}

/// A species.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Species {
    pub(super) name: String,
    pub(super) mass: f64,
    pub(super) charge: f64,
    /// Unlike species mix by the rule of Lorentz and Berthelot.
    pub(super) sigma: f64,
    pub(super) epsilon: f64,
}

/// Rigid molecules of water.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Water {
    /// Distance of O and H.
    pub(super) bond: f64,
    /// Distance of both H.
    pub(super) base: f64,
    /// O, H, H of every molecule.
    pub(super) molecules: Vec<[u32; 3]>,
}

/// What numbers of a model are multiplied by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) length: f64,
    pub(super) mass: f64,
    pub(super) energy: f64,
    pub(super) time: f64,
    pub(super) temperature: f64,
}

impl Scale {
    /// Numbers as they are.
    pub(super) const ONE: Self = Self {
        length: 1.0,
        mass: 1.0,
        energy: 1.0,
        time: 1.0,
        temperature: 1.0,
    };

    /// Reduced units as argon's: the numbers of the case `argon-droplet`.
    pub(super) fn argon() -> Result<Self, Failure> {
        let number = |text, dimension| {
            let quantity = Units::Md.quantity(text, dimension);
            quantity.map_err(Failure::failed)
        };
        let (length, mass, energy) = (
            number("3.40 Å", Dimension::LENGTH)?,
            number("39.948 u", Dimension::MASS)?,
            number("0.0104 eV", Dimension::ENERGY)?,
        );
        Ok(Self {
            length,
            mass,
            energy,
            time: length * (mass / energy).sqrt(),
            temperature: energy / Units::Md.boltzmann(),
        })
    }

    /// Forces in the scale, back to those of the model.
    pub(super) fn forces_back(&self, forces: Vec<[f64; 3]>) -> Vec<[f64; 3]> {
        let factor = self.length / self.energy;
        forces.into_iter().map(|f| f.map(|x| x * factor)).collect()
    }
}

/// Why a case is not compared; `None` where it is.
pub(super) fn reason_against(case: &Selection) -> Option<&'static str> {
    match case.kind {
        Kind::Melt(..) | Kind::Salt(_) | Kind::Water(_) => None,
        Kind::Argon(..) => Some("is timed while it collapses from rest, and the others equilibrate first"),
        Kind::Sticky(_) => Some("is sticky water, which none of the other programs has"),
        Kind::Bilayer(_) => Some("is a bilayer of ELBA beads; bench/elba-dopc.lmp is the input of LAMMPS"),
    }
}

impl Model {
    /// The system of a simulation as it is now.
    pub(super) fn of(case: &Selection, simulation: &Simulation) -> Result<Self, Failure> {
        let (system, field) = (&simulation.system, &simulation.forces);
        let refused = |why: &str| Failure::refused(format!("{} cannot be compared: {why}", case.name));
        let mut terms = field.pairs.iter().filter(|term| !term.family.uses_charges());
        let (Some(term), None) = (terms.next(), terms.next()) else {
            return Err(refused("it has more than one pair potential"));
        };
        let count = system.species.len();
        let mixed = count == 1 || term.mixing == MixingRule::LorentzBerthelot;
        if term.family.name() != "lennard-jones" || term.truncation != Truncation::Cut || !mixed {
            return Err(refused(
                "its pair potential is not a Lennard-Jones potential with a plain cut-off",
            ));
        }
        if !system.cell.is_orthorhombic() {
            return Err(refused("its cell is not rectangular"));
        }
        let species = system.species.iter().enumerate().map(|(k, s)| {
            let [c12, c6, ..] = term.rows[k * (count + 1)].coefficients;
            let (sigma, epsilon) = match c6 > 0.0 {
                true => ((c12 / c6).powf(1.0 / 6.0), 0.25 * c6 * c6 / c12),
                false => (0.0, 0.0),
            };
            Species {
                name: s.name.clone(),
                mass: s.mass,
                charge: s.charge,
                sigma,
                epsilon,
            }
        });
        let p = &system.particles;
        let mut positions = p.positions.clone();
        let water = system.constraints.waters.first().map(|water| Water {
            bond: water.bond,
            base: water.base,
            molecules: water.molecules.clone(),
        });
        for [o, hydrogens @ ..] in water.iter().flat_map(|water| &water.molecules) {
            for h in hydrogens {
                let (o, h) = (*o as usize, *h as usize);
                positions[h] = positions[o] + system.cell.minimum_image(positions[h] - positions[o]);
            }
        }
        let thermostat = match &simulation.dynamics.thermostats[..] {
            [] => None,
            [one] if one.kind == ThermostatKind::Langevin => Some([one.temperature, one.time]),
            _ => return Err(refused("its thermostat is not one of Langevin")),
        };
        let vectors = system.cell.to_arrays();
        Ok(Self {
            reduced: system.units == Units::LennardJones,
            cell: [vectors[0][0], vectors[1][1], vectors[2][2]],
            species: species.collect(),
            kinds: p.species.clone(),
            positions: positions.into_iter().map(|r| r.to_array()).collect(),
            velocities: p.velocities.iter().map(|v| v.to_array()).collect(),
            cutoff: term.rows.iter().map(|row| row.cutoff).fold(0.0, f64::max),
            timestep: simulation.dynamics.timestep,
            tolerance: case.openmm_tolerance(),
            water,
            thermostat,
            temperature: simulation.run.temperature.unwrap_or(0.0),
        })
    }

    /// The same system in other units.
    pub(super) fn scaled(&self, scale: &Scale) -> Self {
        let mut new = self.clone();
        let speed = scale.length / scale.time;
        new.cell = new.cell.map(|side| side * scale.length);
        for species in &mut new.species {
            species.mass *= scale.mass;
            species.sigma *= scale.length;
            species.epsilon *= scale.energy;
        }
        for r in new.positions.iter_mut().flatten() {
            *r *= scale.length;
        }
        for v in new.velocities.iter_mut().flatten() {
            *v *= speed;
        }
        new.cutoff *= scale.length;
        new.timestep *= scale.time;
        if let Some(water) = &mut new.water {
            water.bond *= scale.length;
            water.base *= scale.length;
        }
        new.thermostat = new
            .thermostat
            .map(|[temperature, time]| [temperature * scale.temperature, time * scale.time]);
        new.temperature *= scale.temperature;
        new
    }

    /// In nm, ps and kJ/mol, for programs that have no others: reduced units become argon's.
    pub(super) fn in_md_units(&self) -> Result<(Self, Scale), Failure> {
        let scale = if self.reduced { Scale::argon()? } else { Scale::ONE };
        Ok((self.scaled(&scale), scale))
    }

    /// How it moves, with the name of the thermostat where there is one.
    pub(super) fn motion(&self, thermostat: &'static str) -> &'static str {
        if self.thermostat.is_some() {
            thermostat
        } else {
            "NVE"
        }
    }

    /// What [`Self::in_md_units`] changes, to be said of settings.
    pub(super) fn argon_note(&self) -> &'static str {
        if self.reduced {
            ", argon for reduced units"
        } else {
            ""
        }
    }

    /// Particles.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// The species of a particle.
    pub(super) fn species_of(&self, particle: usize) -> &Species {
        &self.species[self.kinds[particle] as usize]
    }
}
