//! Input files: what is understood, what is refused and how, and that nothing panics.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod analyses;
mod bad;
mod constraints;
mod doubts;
mod electrostatic_pressure;
mod equilibration;
mod files;
mod fuzz;
mod good;
mod liquids;
mod membranes;
mod potentials;
mod setup;
mod unused;

use debye::input::InputError;

use debye::simulation::Simulation;

/// Argon as in the design page, small.
pub const ARGON: &str = r#"units = "md"
title = "argon"
[system]
build = { kind = "lattice", lattice = "fcc", cells = [6, 6, 6], spacing = "5.256 Å", species = "Ar" }
[species.Ar]
mass = "39.948 u"
[[forces]]
kind = "lennard-jones"
cutoff = "12 Å"
truncation = "shift"
pairs = { Ar-Ar = { epsilon = "0.0104 eV", sigma = "3.40 Å" } }
[integrator]
kind = "nve"
timestep = "2 fs"
[run]
steps = 10_000
temperature = "120 K"
seed = 1
[output]
table = { every = 100, file = "energy.csv" }
trajectory = { every = 1000, file = "argon.xtc" }
checkpoint = { every = 10_000, file = "argon.checkpoint" }
"#;

/// Two species in reduced units.
pub const SALT: &str = r#"units = "lj"
[system]
build = { kind = "lattice", lattice = "rock-salt", cells = [2, 2, 2], spacing = 2.2, species = ["Na", "Cl"] }
[species.Na]
charge = 1.0
[species.Cl]
charge = -1.0
mass = 1.5
[[forces]]
kind = "lennard-jones"
cutoff = 2.0
mixing = "lorentz-berthelot"
species = { Na = { epsilon = 1.0, sigma = 0.8 }, Cl = { epsilon = 4.0, sigma = 1.2 } }
[integrator]
kind = "langevin"
timestep = 0.005
temperature = 1.0
friction = 0.5
[run]
steps = 10
"#;

/// A chain of three particles with everything a topology can have.
pub const CHAIN: &str = r#"units = "lj"
[system]
cell = [10.0, 10.0, 10.0]
build = { kind = "random", counts = { A = 4, B = 2 }, minimum_distance = 1.0, seed = 3 }
[species.A]
[species.B]
mass = 2.0
[topology]
bonds = [[1, 2, "stiff"], [2, 3, "soft"], [3, 4, "soft"]]
[exclusions]
scale_14 = { pair = 0.5, charge = 0.8333 }
[[forces]]
kind = "lennard-jones"
cutoff = 2.5
epsilon = 1.0
sigma = 1.0
[[forces]]
kind = "harmonic-bond"
types = { stiff = { k = 100.0, r0 = 1.0 }, soft = { k = 10.0, r0 = 1.0 } }
[integrator]
kind = "leapfrog"
timestep = 0.005
[[thermostat]]
kind = "bussi"
species = ["A"]
temperature = 1.0
time = 0.5
[[thermostat]]
kind = "berendsen"
species = ["B"]
temperature = 1.0
time = 0.5
[run]
steps = 10
"#;

/// Reads a text as the file `test.toml` of a folder without structure files.
pub fn parse(text: &str) -> Result<Simulation, InputError> {
    Simulation::parse(text, std::env::temp_dir(), "test.toml")
}

/// The simulation of a text, or the message that refuses it.
pub fn accept(text: &str) -> Simulation {
    parse(text).unwrap_or_else(|error| panic!("{error}\n---\n{text}"))
}

/// `text` with one part replaced, which must occur.
pub fn with(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "`{old}` is not in the text");
    text.replacen(old, new, 1)
}
