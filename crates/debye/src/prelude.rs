//! The front door: `use debye::prelude::*;` and what a program needs has its name.

pub use crate::analysis::{ANALYSES, Analysis, AnalysisKind, Analyzed, SettingValue, Snapshot};
pub use crate::engines::{Observation, Precision};
pub use crate::expr::Vec3;
pub use crate::forces::{BondedForce, ForceField, LongRange, MixingRule, PairForce};
pub use crate::integrate::{Barostat, BarostatKind, Coupling, Scheme, Thermostat, ThermostatKind};
pub use crate::maps::{
    Ion, IonPlacement, IonRequest, MapAverage, MapError, MapFrames, MapGrid, MapMethod, MapRequest,
    MapSubject, PointCharges, PotentialMap, PotentialUnit,
};
pub use crate::potentials::{
    BornMayerHuggins, Buckingham, CosineSquaredAngle, Coulomb, CoulombReactionField, FeneBond, HarmonicAngle,
    HarmonicBond, HarmonicImproper, LennardJones, Mie, Morse, MorseBond, PeriodicDihedral, RyckaertBellemans,
    Tabulated, Wca, Yukawa,
};
pub use crate::run::{Existing, Outcome, Progress, Run, RunError, RunOptions, Summary};
pub use crate::simulation::{
    Checkpoints, DeviceChoice, MapPlan, Measure, Minimize, Simulation, SimulationBuilder, Table, Trajectory,
};
pub use crate::system::builders::{self, Lattice};
pub use crate::system::{Cell, Particles, Species, System, Units, models};
pub use crate::truncation::Truncation;
