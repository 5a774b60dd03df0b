//! Debye: a molecular dynamics and electrostatics engine.

pub mod analyse;
pub mod expr;
pub mod forces;
pub mod integrate;
pub mod plot;
pub mod potentials;
pub mod run;
pub mod system;
pub mod truncation;
