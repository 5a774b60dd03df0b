//! Where a simulation runs.

pub mod cpu;
