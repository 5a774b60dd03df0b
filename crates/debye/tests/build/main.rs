//! Systems that are built: counts, geometry, and the same bits for the same seed.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod crystals;
mod liquids;
mod membranes;
mod polymers;
