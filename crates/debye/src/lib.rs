//! Debye: a molecular dynamics and electrostatics engine.
//!
//! The short way from an input file to numbers:
//!
//! ```
//! use debye::simulation::Simulation;
//!
//! let text = r#"
//! units = "lj"
//! [system]
//! build = { kind = "lattice", lattice = "fcc", cells = [4, 4, 4], density = 0.8442 }
//! [species.A]
//! [[forces]]
//! kind = "lennard-jones"
//! cutoff = 2.5
//! epsilon = 1.0
//! sigma = 1.0
//! [integrator]
//! kind = "nve"
//! timestep = 0.005
//! [run]
//! steps = 20
//! temperature = 1.44
//! "#;
//! let simulation = Simulation::parse(text, ".", "melt.toml")?;
//! let mut engine = debye::run::engine(&simulation)?;
//! engine.advance(20, true)?;
//! let observation = engine.observe()?;
//! assert_eq!(observation.step, 20);
//! assert!(observation.temperature > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A reader's path: [`system`] is what there is, [`potentials`] and [`forces`] what acts on it,
//! [`integrate`] how it moves, [`engines`] where that happens, [`run`] what happens around it, and
//! [`expr`] the numbers all physics is written in; [`manual`] is what `debye info` says of each model. `docs/architecture.md` has the picture.

pub mod analysis;
pub mod checkpoint;
pub mod engines;
pub mod expr;
pub mod forces;
pub mod input;
pub mod integrate;
pub mod manual;
pub mod neighbors;
pub mod plot;
pub mod potentials;
pub mod prelude;
pub mod random;
pub mod record;
pub mod run;
mod simd;
pub mod simulation;
mod suggest;
pub mod system;
pub mod truncation;

pub use debye_gpu as gpu;
pub use debye_io as io;
