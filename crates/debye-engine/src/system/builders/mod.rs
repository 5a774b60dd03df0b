//! Builders: systems from a few numbers.
//!
//! ```
//! use debye::system::{Units, builders::{self, Lattice}};
//! let melt = builders::lattice(Lattice::Fcc, [5, 5, 5])
//!     .density(0.8442)
//!     .units(Units::LennardJones)
//!     .thermalize(1.44, 1)?;
//! assert_eq!(melt.particles.len(), 500);
//! # Ok::<(), debye::system::builders::BuildError>(())
//! ```
//!
//! Every builder ends in `build()`, which leaves the particles at rest, or in
//! `thermalize(temperature, seed)`, which gives them velocities. The same calls give the same bits.

mod assembly;
mod bilayer;
mod builder;
mod dispersion;
mod grid;
mod lattice;
mod liquid;
mod places;
mod polymers;
mod random;
mod replicate;
mod salt;
mod solution;
mod sphere;

pub use bilayer::{BilayerBuilder, ELBA_AREA, bilayer};
pub use builder::Builder;
pub use dispersion::{DispersionBuilder, dispersion};
pub use lattice::{Lattice, LatticeBuilder, lattice, lj_melt};
pub use liquid::{LiquidBuilder, liquid};
pub use polymers::{PolymerBuilder, polymers};
pub use random::{RandomBuilder, random};
pub use replicate::replicate;
pub use salt::{NACL_SPACING, nacl, salt};
pub use solution::{SolutionBuilder, solution, water};
pub use sphere::{Edge, SphereBuilder, argon_sphere, small_argon_sphere, sphere};

use super::velocities::VelocityError;
use super::{CellError, ExclusionError, System};
use crate::expr::Vec3;

/// Why a system could not be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Neither a spacing nor a density was given.
    #[error("{what}: its size is not known; give a spacing or a density")]
    MissingScale {
        /// The builder.
        what: &'static str,
    },
    /// A number that has no meaning.
    #[error("{what} is {value}; expected {expected}")]
    Invalid {
        /// What the number stands for.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// The wrong number of species.
    #[error("{lattice:?} takes {expected} species; {given} given")]
    SpeciesCount {
        /// The lattice.
        lattice: Lattice,
        /// How many it takes.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// More particles than can be numbered.
    #[error("{count} particles; at most {} are possible", u32::MAX)]
    TooMany {
        /// How many were asked for.
        count: u128,
    },
    /// The body does not fit into its cell.
    #[error("a sphere of radius {radius} does not fit into a cell of side {side}")]
    SphereTooLarge {
        /// Radius.
        radius: f64,
        /// Side of the cell.
        side: f64,
    },
    /// Random placement ran out of room.
    #[error(
        "placed {placed} of {wanted} particles at least {minimum_distance} apart, then found no room in {attempts} attempts \
         (they would fill {:.1} % of the volume; random placement jams near 38 %): enlarge the cell or lower the distance",
        100.0 * fraction
    )]
    DoesNotFit {
        /// How many found a place.
        placed: usize,
        /// How many were asked for.
        wanted: usize,
        /// Distance kept.
        minimum_distance: f64,
        /// Attempts for the one that did not.
        attempts: u32,
        /// Volume of all spheres of that diameter over the volume of the cell.
        fraction: f64,
    },
    /// Neither a number of molecules nor a cell was given.
    #[error("how much water? Give a number of molecules, or a cell")]
    MissingExtent,
    /// Models of water are in nanometers and kJ/mol.
    #[error("water and ions need md units: their models have no reduced ones")]
    ReducedWater,
    /// Salt without ions.
    #[error("which ions? Give a cation and an anion")]
    MissingIons,
    /// Two ions that do not make a salt one to one.
    #[error(
        "a cation of charge {cation} and an anion of charge {anion} do not make a neutral pair; expected +q and −q"
    )]
    NotASalt {
        /// Charge of the first.
        cation: f64,
        /// Charge of the second.
        anion: f64,
    },
    /// A solute whose charge ions cannot make up for.
    #[error(
        "the solute has the charge {charge:.6}, which is no multiple of that of an ion: check its charges, or do not neutralize it"
    )]
    ChargeNotWhole {
        /// Its charge.
        charge: f64,
    },
    /// More ions than places.
    #[error(
        "{wanted} ions, but only {places} places for molecules and ions together: ask for more water or less salt"
    )]
    TooManyIons {
        /// How many ions.
        wanted: usize,
        /// How many places.
        places: usize,
    },
    /// Less than half a pair of ions.
    #[error(
        "{molecules} molecules at {molality} mol/kg hold no pair of ions: ask for more water or more salt"
    )]
    TooDilute {
        /// Moles per kilogram of water.
        molality: f64,
        /// How many molecules.
        molecules: usize,
    },
    /// The ions found no places far enough apart.
    #[error(
        "placed {placed} of {wanted} ions at least {apart} nm apart and from the solute: lower that distance, or enlarge the cell"
    )]
    IonsDoNotFit {
        /// How many found a place.
        placed: usize,
        /// How many were asked for.
        wanted: usize,
        /// The distance.
        apart: f64,
    },
    /// Molecules on top of one another.
    #[error(
        "molecules come within {distance:.3} nm of others: lower the density, enlarge the cell, or keep more distance from the solute"
    )]
    Crowded {
        /// The smallest distance of two atoms.
        distance: f64,
    },
    /// A solute that does not fit into the cell given for it.
    #[error("the solute is {extent:.3} nm long along {axis}, more than the cell's {height:.3} nm")]
    SoluteTooLarge {
        /// x, y or z.
        axis: char,
        /// How long it is.
        extent: f64,
        /// Height of the cell.
        height: f64,
    },
    /// No lipids.
    #[error("there are no lipids: name some with their numbers")]
    NoLipids,
    /// Lipids that cannot be shared out.
    #[error(
        "{lipids} lipids do not make two equal leaflets: take an even number, or give each leaflet its own"
    )]
    OddLipids {
        /// How many there are.
        lipids: usize,
    },
    /// Neither a cell nor what it follows from.
    #[error("{what}: its size is not known in reduced units; give a cell")]
    MissingCell {
        /// The builder.
        what: &'static str,
    },
    /// A leaflet of upright lipids is larger than the cell.
    #[error(
        "{lipids} lipids of a leaflet, upright, need an area of {needed:.4} nm², and the cell has {available:.4} nm²: widen it, \
         or take fewer lipids"
    )]
    LeafletTooLarge {
        /// How many lipids.
        lipids: usize,
        /// Area that they need.
        needed: f64,
        /// Area of the cell.
        available: f64,
    },
    /// A cell too low for what is in it.
    #[error(
        "lipids and water need {needed:.3} along z, and the cell has {available:.3}: make it higher or wider, or take \
         less water"
    )]
    CellTooLow {
        /// Height needed.
        needed: f64,
        /// Height of the cell.
        available: f64,
    },
    /// A cell too small for what is in it.
    #[error(
        "lipids and water need a volume of {needed:.3} nm³, and the cell has {available:.3} nm³: enlarge it"
    )]
    CellTooSmall {
        /// Volume needed.
        needed: f64,
        /// Volume of the cell.
        available: f64,
    },
    /// A molecule longer than its cell.
    #[error(
        "`{molecule}` is {length:.3} long, and the cell {height:.3} wide: enlarge it, or ask for more of everything"
    )]
    MoleculeTooLong {
        /// The molecule.
        molecule: String,
        /// How long it is.
        length: f64,
        /// Smallest height of the cell.
        height: f64,
    },
    /// Molecules that found no place.
    #[error(
        "placed {placed} of {wanted} {what} at least {distance:.3} from everything else, then found no room: enlarge the \
         cell, or lower the distance"
    )]
    NoRoom {
        /// What was placed.
        what: &'static str,
        /// How many found a place.
        placed: usize,
        /// How many were asked for.
        wanted: usize,
        /// The smallest distance that was tried.
        distance: f64,
    },
    /// The cell was refused.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// The velocities were refused.
    #[error(transparent)]
    Velocities(#[from] VelocityError),
    /// The bonds were refused.
    #[error(transparent)]
    Exclusions(#[from] ExclusionError),
}

fn positive(what: &'static str, value: f64) -> Result<f64, BuildError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(BuildError::Invalid {
            what,
            value,
            expected: "a positive number",
        })
    }
}

/// Product of counts that must stay below the largest particle number.
fn count(factors: &[usize]) -> Result<usize, BuildError> {
    let product = factors
        .iter()
        .try_fold(1u128, |product, &f| product.checked_mul(f as u128))
        .unwrap_or(u128::MAX);
    match u32::try_from(product) {
        Ok(n) => Ok(n as usize),
        Err(_) => Err(BuildError::TooMany { count: product }),
    }
}

/// Makes room for this many particles.
fn reserve(system: &mut System, n: usize) {
    let p = &mut system.particles;
    p.positions.reserve(n);
    p.velocities.reserve(n);
    p.images.reserve(n);
    p.species.reserve(n);
    p.masses.reserve(n);
    p.charges.reserve(n);
    p.molecules.reserve(n);
}

/// Appends a particle of a species of the system.
fn push(system: &mut System, position: Vec3<f64>, species: usize, molecule: u32) {
    let (mass, charge) = (system.species[species].mass, system.species[species].charge);
    system
        .particles
        .push(position, species as u32, mass, charge, molecule);
}
