//! What is simulated: units, cell, particles, species, topology, and builders that make them.

pub mod builders;
mod cell;
pub mod constraints;
mod exclusions;
mod hydrogens;
pub mod models;
mod molecule;
pub mod native;
mod orientation;
mod particles;
mod rigid;
mod topology;
pub(crate) mod units;
pub mod velocities;
mod whole;

pub use cell::{Cell, CellError};
pub use constraints::{ConstraintError, Constraints, FixedDistance, RigidWater};
pub use debye_io::AtomLabels;
pub use exclusions::{ExclusionError, ExclusionRule, Exclusions, ScaledPair};
pub use hydrogens::HydrogenError;
pub use molecule::Molecule;
pub use orientation::{Class, Orientations, Rotor, RotorError};
pub use particles::{Particles, Snapshot};
pub use rigid::{RigidBodies, RigidShape};
pub(crate) use rigid::{axes_of, directions, linear_axes};
pub use topology::{Link, Topology, connected};
pub use units::display;
pub use units::{Dimension, QuantityError, Units};
pub use velocities::VelocityError;
pub use whole::whole_positions;

/// A sort of particle.
#[derive(Clone, Debug, PartialEq)]
pub struct Species {
    /// Its name.
    pub name: String,
    /// Its mass.
    pub mass: f64,
    /// Its charge.
    pub charge: f64,
    /// How it turns, and its dipole; [`Rotor::POINT`] for a point.
    pub rotor: Rotor,
    /// How many electrons it stands for, in electron density profiles; zero where not known.
    pub electrons: f64,
}

impl Species {
    /// A sort of points.
    pub fn point(name: impl Into<String>, mass: f64, charge: f64) -> Self {
        Self {
            name: name.into(),
            mass,
            charge,
            rotor: Rotor::POINT,
            electrons: 0.0,
        }
    }

    /// The same with orientations.
    #[must_use]
    pub fn with_rotor(self, rotor: Rotor) -> Self {
        Self { rotor, ..self }
    }
}

/// Everything there is to simulate, before anyone says how.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// What the numbers mean.
    pub units: Units,
    /// The box.
    pub cell: Cell,
    /// The sorts of particles.
    pub species: Vec<Species>,
    /// The particles.
    pub particles: Particles,
    /// Who is bonded to whom.
    pub topology: Topology,
    /// Pairs left out of the pair terms.
    pub exclusions: Exclusions,
    /// Distances that do not change.
    pub constraints: Constraints,
    /// Names, residues and chains of the particles in structure files; none where there was no file.
    pub labels: AtomLabels,
}
