//! Debye: a molecular dynamics and electrostatics engine.
//!
//! ```
//! use debye::prelude::*;
//!
//! let melt = builders::lattice(Lattice::Fcc, [4, 4, 4]).density(0.8442).thermalize(1.44, 1)?;
//! let mut run = Simulation::builder(melt)
//!     .pair(PairForce::new(LennardJones::new(1.0, 1.0)).cutoff(2.5))
//!     .timestep(0.005)
//!     .device(DeviceChoice::Cpu)
//!     .start()?;
//! run.steps(20)?;
//! let observation = run.observe()?;
//! assert_eq!(observation.step, 20);
//! assert!(observation.temperature > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Simulation::read`](simulation::Simulation::read) takes an input file instead; [`run::run`] does all of it.
//!
//! A reader's path: [`system`] is what there is, [`potentials`] and [`forces`] what acts on it,
//! [`integrate`] how it moves, [`simulation`] all that is asked for, [`engines`] where it happens, [`run`] what happens
//! around it, and [`expr`] the numbers all physics is written in; [`manual`] is what `debye info` says of each model.
//! `docs/architecture.md` has the picture.

pub mod analysis;
pub mod checkpoint;
pub mod input;
pub mod plot;
pub mod prelude;
pub mod run;
pub mod simulation;

use debye_parallel as parallel;

#[doc(inline)]
pub use debye_engine::{
    engines, expr, forces, integrate, manual, maps, neighbors, parameters, potentials, random, record,
    suggest, system, truncation,
};
pub use debye_gpu as gpu;
pub use debye_io as io;
