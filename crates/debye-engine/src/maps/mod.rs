//! Maps of the electrostatic potential: its value at every point of a grid.
//!
//! ```
//! use debye::prelude::*;
//!
//! let atoms = [Vec3::new(0.0, 0.0, 0.0), Vec3::new(0.4, 0.0, 0.0)];
//! let charges = PointCharges::new(&atoms, &[1.0, -1.0])?;
//! let grid = MapGrid::around(&atoms, 0.5, 0.1)?;
//! let map = MapRequest::new(grid).method(MapMethod::Direct).compute(&charges)?;
//! // Half way between two opposite charges there is nothing.
//! assert!(map.value([7, 5, 5]).abs() < 1e-3);
//! map.save("dipole.dx".as_ref(), PotentialUnit::Volt)?;
//! # std::fs::remove_file("dipole.dx")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | method | boundaries | cost | what it leaves out |
//! |---|---|---|---|
//! | `direct` | open | charges × points | nothing |
//! | `cutoff` | open or periodic | linear | what charges do beyond the cut-off, and a smooth part within |
//! | `multilevel` | open or periodic | linear | an error of interpolation, stated |
//! | `mesh` | periodic | linear | an error of interpolation, stated |
//!
//! A point nearer to a charge than the exclusion radius gets the potential at that radius: 1/r is 1/d there.

mod align;
mod average;
mod charges;
mod choice;
pub mod cuda;
mod error;
mod file;
mod frames;
mod grid;
mod ions;
mod mesh;
mod near;
mod profile;
mod request;
mod subject;
mod tiles;
mod unit;

pub use align::Alignment;
pub use average::MapAverage;
pub use charges::{DIPOLE_LENGTH, PointCharges};
pub use choice::Choice;
pub use error::MapError;
pub use file::{PotentialMap, with_word};
pub use frames::MapFrames;
pub use grid::MapGrid;
pub use ions::{Ion, IonPlacement, IonRequest, Ionized, PlacedIon};
pub use profile::PotentialProfile;
pub use request::{MapMethod, MapRequest};
pub use subject::MapSubject;
pub use unit::PotentialUnit;
