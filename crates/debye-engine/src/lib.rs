//! What there is, what acts on it, how it moves, and where that is computed.
//!
//! A reader's path: [`system`] is what there is, [`potentials`] and [`forces`] what acts on it, [`integrate`] how it
//! moves, [`engines`] where it happens, [`maps`] the potential of charges on a grid, and [`expr`] the numbers all physics
//! is written in; [`manual`] is what `debye info` says of each model. The crate `debye` is the front door.

pub mod engines;
pub mod expr;
pub mod forces;
pub mod integrate;
pub mod manual;
pub mod maps;
pub mod neighbors;
pub mod potentials;
pub mod random;
pub mod record;
mod simd;
pub mod suggest;
pub mod system;
pub mod truncation;

use debye_parallel as parallel;
