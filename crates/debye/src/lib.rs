//! Debye: a molecular dynamics and electrostatics engine.

pub mod analyse;
pub mod backend;
pub mod expr;
pub mod forces;
pub mod input;
pub mod integrate;
pub mod neighbors;
pub mod plot;
pub mod potentials;
pub mod random;
pub mod run;
pub mod system;
pub mod truncation;
