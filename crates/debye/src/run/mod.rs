//! Running a simulation and what comes out of it.

pub mod report;
