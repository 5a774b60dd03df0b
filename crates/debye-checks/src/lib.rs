//! One body per check, for every device: `cargo test` runs them on the emulation, `debye check` on the user's own machine.

pub mod cpu;
pub mod device;

/// Why a check could not be made.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;
