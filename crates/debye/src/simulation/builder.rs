//! [`SimulationBuilder`]: a simulation from code, term by term.

use std::path::PathBuf;

use super::{
    AnalysisPlan, Buffer, CheckpointPlan, DeviceChoice, Existing, MapPlan, Minimize, NeighborOptions,
    OutputPlan, RunPlan, Simulation, TablePlan, TrajectoryPlan,
};
use crate::analysis::{AnalysisError, AnalysisKind, AnalysisRequest, Setting, SettingValue};
use crate::engines::Precision;
use crate::forces::{BondedForce, ForceField, LongRange, LongRangeError, PairForce, TermError};
use crate::integrate::{Barostat, Dynamics, Scheme, Thermostat};
use crate::potentials::{
    self, AnglePotential, BondPotential, DihedralPotential, PairPotential, Parametrized,
};
use crate::system::System;

/// A simulation in the making; see [`Simulation::builder`]. What does not go together is told by [`Self::build`].
#[derive(Clone)]
#[must_use]
pub struct SimulationBuilder {
    system: System,
    title: String,
    forces: ForceField,
    /// The first term that was refused.
    refused: Option<TermError>,
    electrostatics: Option<LongRange>,
    timestep: f64,
    scheme: Scheme,
    thermostats: Vec<Thermostat>,
    barostat: Option<Barostat>,
    remove_momentum_every: Option<u64>,
    minimize: Option<Minimize>,
    run: RunPlan,
    neighbors: NeighborOptions,
    outputs: Vec<(u64, Output)>,
    last: Vec<PathBuf>,
    folder: Option<PathBuf>,
    report: bool,
    pub(crate) existing: Existing,
}

/// Something that is written or measured every so many steps.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// See [`Table`].
    Table(Table),
    /// See [`Trajectory`].
    Trajectory(Trajectory),
    /// See [`Checkpoints`].
    Checkpoints(Checkpoints),
    /// A mean map of the potential: see [`MapPlan`], whose `every` is that of the output.
    Map(MapPlan),
    /// See [`Measure`].
    Measure(Measure),
}

/// Energies, temperature, pressure: a CSV file.
#[derive(Clone, Debug)]
pub struct Table {
    file: PathBuf,
}

impl Table {
    /// A table in this file of the output folder.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }
}

/// Positions over time; the extension of the file is its format.
#[derive(Clone, Debug)]
#[must_use]
pub struct Trajectory {
    file: PathBuf,
    unwrap: bool,
    species: Vec<String>,
    orientations: bool,
}

impl Trajectory {
    /// A trajectory in this file of the output folder.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            unwrap: false,
            species: Vec::new(),
            orientations: true,
        }
    }

    /// Particles that left the cell are written where they went.
    pub fn unwrapped(mut self) -> Self {
        self.unwrap = true;
        self
    }

    /// Only particles of this species, and of others named so.
    pub fn species(mut self, name: impl Into<String>) -> Self {
        self.species.push(name.into());
        self
    }

    /// Nothing is written beside it where particles turn and its format has no place for orientations.
    pub fn without_orientations(mut self) -> Self {
        self.orientations = false;
        self
    }
}

/// States to go on from.
#[derive(Clone, Debug)]
#[must_use]
pub struct Checkpoints {
    file: PathBuf,
    keep: usize,
}

impl Checkpoints {
    /// Checkpoints in this file of the output folder; the one before stays beside it.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            keep: 2,
        }
    }

    /// How many are kept.
    pub fn keep(mut self, keep: usize) -> Self {
        self.keep = keep;
        self
    }
}

/// An analysis while the run goes on, of this library or of any other crate.
#[derive(Clone, Debug)]
#[must_use]
pub struct Measure {
    kind: &'static AnalysisKind,
    settings: Vec<(&'static str, SettingValue)>,
    from: u64,
    file: PathBuf,
}

impl std::fmt::Debug for AnalysisKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnalysisKind").field(&self.name).finish()
    }
}

impl Measure {
    /// This analysis, with its usual settings, into this file of the output folder; without a folder it stays in
    /// memory, where [`Run::analysis`](crate::run::Run::analysis) gives it.
    pub fn new(kind: &'static AnalysisKind, file: impl Into<PathBuf>) -> Self {
        Self {
            kind,
            settings: Vec::new(),
            from: 0,
            file: file.into(),
        }
    }

    /// Another value of a setting.
    pub fn set(mut self, name: &'static str, value: SettingValue) -> Self {
        self.settings.push((name, value));
        self
    }

    /// Steps before this one are left out.
    pub fn from_step(mut self, step: u64) -> Self {
        self.from = step;
        self
    }

    fn plan(self, every: u64) -> Result<AnalysisPlan, SetupError> {
        let known = |name: &str| self.kind.settings.iter().any(|s| s.name == name);
        if let Some((name, value)) = self.settings.iter().find(|(name, _)| !known(name)) {
            let names: Vec<&str> = self.kind.settings.iter().map(|s| s.name).collect();
            return Err(SetupError::Analysis(AnalysisError::Setting {
                analysis: self.kind.name,
                setting: name,
                value: format!("{value:?}"),
                expected: format!("one of its settings: {}", names.join(", ")),
            }));
        }
        let given = |setting: &'static Setting| {
            let found = self.settings.iter().rev().find(|(name, _)| *name == setting.name);
            Ok::<_, SetupError>(found.map(|(_, value)| value.clone()))
        };
        Ok(AnalysisPlan {
            request: AnalysisRequest::new(self.kind, given)?,
            every,
            from: self.from,
            file: self.file,
        })
    }
}

macro_rules! output {
    ($($kind:ident),*) => { $(
        impl From<$kind> for Output {
            fn from(output: $kind) -> Self {
                Self::$kind(output)
            }
        }
    )* };
}
output!(Table, Trajectory, Checkpoints, Measure);

impl From<MapPlan> for Output {
    fn from(plan: MapPlan) -> Self {
        Self::Map(plan)
    }
}

/// Why a simulation could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A term of the force field.
    #[error(transparent)]
    Term(#[from] TermError),
    /// Long-range electrostatics.
    #[error(transparent)]
    LongRange(#[from] LongRangeError),
    /// An analysis.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// A species that the system does not have.
    #[error("there is no species `{name}` in the system; there are: {known}")]
    UnknownSpecies {
        /// Its name.
        name: String,
        /// Those there are.
        known: String,
    },
    /// No time step.
    #[error("the time step is {0}; expected a time greater than zero: timestep(…)")]
    Timestep(f64),
    /// Outputs every zero steps.
    #[error("an output every 0 steps; expected at least 1")]
    NeverDue,
    /// Two tables, or two sets of checkpoints.
    #[error("two outputs are {0}; expected at most one")]
    Twice(&'static str),
    /// Parts of the motion that do not go together.
    #[error("{0}")]
    Motion(String),
}

impl Simulation {
    /// Begins a simulation of a system.
    ///
    /// ```
    /// use debye::prelude::*;
    ///
    /// let argon = builders::lattice(Lattice::Fcc, [6, 6, 6])
    ///     .units(Units::Md)
    ///     .species("Ar", 39.948, 0.0)
    ///     .spacing(0.5256)
    ///     .thermalize(120.0, 1)?;
    /// let simulation = Simulation::builder(argon)
    ///     .pair(PairForce::new(LennardJones::new(0.998, 0.34)).cutoff(0.85))
    ///     .timestep(0.002)
    ///     .thermostat(Thermostat::bussi(120.0, 0.5))
    ///     .build()?;
    /// assert_eq!(simulation.forces.pairs.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(system: System) -> SimulationBuilder {
        SimulationBuilder {
            title: "run".into(),
            forces: ForceField::new(system.units),
            refused: None,
            system,
            electrostatics: None,
            timestep: 0.0,
            scheme: Scheme::VelocityVerlet,
            thermostats: Vec::new(),
            barostat: None,
            remove_momentum_every: None,
            minimize: None,
            run: RunPlan::default(),
            neighbors: NeighborOptions::default(),
            outputs: Vec::new(),
            last: Vec::new(),
            folder: None,
            report: true,
            existing: Existing::Refuse,
        }
    }
}

impl SimulationBuilder {
    /// What it is called; `run` unless said.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds a pair potential.
    pub fn pair<P: PairPotential + Parametrized>(mut self, force: PairForce<P>) -> Self {
        let term = force.term(&self.system.species);
        self.forces.pairs.extend(kept(term, &mut self.refused));
        self
    }

    /// Adds a potential of bonds.
    pub fn bonds<P: BondPotential + Parametrized>(mut self, force: BondedForce<P>) -> Self {
        let term = force.term(potentials::bond::<P>(), &self.system.topology.bond_kinds);
        self.forces.bonds.extend(kept(term, &mut self.refused));
        self
    }

    /// Adds a potential of angles.
    pub fn angles<P: AnglePotential + Parametrized>(mut self, force: BondedForce<P>) -> Self {
        let term = force.term(potentials::angle::<P>(), &self.system.topology.angle_kinds);
        self.forces.angles.extend(kept(term, &mut self.refused));
        self
    }

    /// Adds a potential of dihedrals.
    pub fn dihedrals<P: DihedralPotential + Parametrized>(mut self, force: BondedForce<P>) -> Self {
        let term = force.term(potentials::dihedral::<P>(), &self.system.topology.dihedral_kinds);
        self.forces.dihedrals.extend(kept(term, &mut self.refused));
        self
    }

    /// Adds a potential of impropers, which is one of a dihedral angle.
    pub fn impropers<P: DihedralPotential + Parametrized>(mut self, force: BondedForce<P>) -> Self {
        let term = force.term(potentials::dihedral::<P>(), &self.system.topology.improper_kinds);
        self.forces.impropers.extend(kept(term, &mut self.refused));
        self
    }

    /// Long-range electrostatics, with its real-space part.
    pub fn electrostatics(mut self, request: LongRange) -> Self {
        self.electrostatics = Some(request);
        self
    }

    /// The time step.
    pub fn timestep(mut self, timestep: f64) -> Self {
        self.timestep = timestep;
        self
    }

    /// Order of kicks and drifts; velocity Verlet unless said.
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// Adds a thermostat.
    pub fn thermostat(mut self, thermostat: Thermostat) -> Self {
        self.thermostats.push(thermostat);
        self
    }

    /// A barostat.
    pub fn barostat(mut self, barostat: Barostat) -> Self {
        self.barostat = Some(barostat);
        self
    }

    /// Removes the motion of the center of mass every so many steps, 0 for never. Unless said every 100 steps where a
    /// thermostat scales velocities, which feeds that motion in the long run; else never.
    pub fn remove_momentum_every(mut self, steps: u64) -> Self {
        self.remove_momentum_every = Some(steps);
        self
    }

    /// A minimization before the first step.
    pub fn minimize(mut self, minimize: Minimize) -> Self {
        self.minimize = Some(minimize);
        self
    }

    /// Seed of every random number; 1 unless said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.run.seed = seed;
        self
    }

    /// Precision; mixed unless said.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.run.precision = precision;
        self
    }

    /// Where it runs; on the first GPU that can do it unless said, else on the CPU.
    pub fn device(mut self, device: DeviceChoice) -> Self {
        self.run.device = device;
        self
    }

    /// Buffer of the neighbor lists; chosen while running unless said.
    pub fn buffer(mut self, length: f64) -> Self {
        self.neighbors.buffer = Buffer::Length(length);
        self
    }

    /// Steps at the beginning that averages and the drift leave out.
    pub fn equilibration(mut self, steps: u64) -> Self {
        self.run.equilibration = steps;
        self
    }

    /// Writes or measures something every so many steps.
    pub fn every(mut self, steps: u64, output: impl Into<Output>) -> Self {
        self.outputs.push((steps, output.into()));
        self
    }

    /// Writes the particles of the last step to this file of the output folder.
    pub fn last(mut self, file: impl Into<PathBuf>) -> Self {
        self.last.push(file.into());
        self
    }

    /// The folder of all files. Unless said it is the title with `.out` where a file is asked for; else nothing is
    /// written.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// No pictures and no `report.html` in the folder.
    pub fn without_report(mut self) -> Self {
        self.report = false;
        self
    }

    /// What to do with a folder that is there already; it is refused unless said.
    pub fn existing(mut self, existing: Existing) -> Self {
        self.existing = existing;
        self
    }

    /// The simulation: what an input file would have made.
    ///
    /// # Errors
    /// Species, kinds and parameters that are missing or make no sense, and parts that do not go together.
    pub fn build(self) -> Result<Simulation, SetupError> {
        if let Some(error) = self.refused {
            return Err(error.into());
        }
        let (system, mut field, mut warnings) = (self.system, self.forces, Vec::new());
        let target = self
            .barostat
            .as_ref()
            .map(|b| b.pressure.iter().sum::<f64>() / 3.0);
        let request = self
            .electrostatics
            .map(|request| request.for_barostat(target, &system));
        if let Some(request) = &request {
            warnings.extend(field.add_long_range(request, &system)?);
        }
        if !(self.timestep > 0.0 && self.timestep.is_finite()) {
            return Err(SetupError::Timestep(self.timestep));
        }
        let dynamics = Dynamics {
            remove_momentum_every: (self.remove_momentum_every)
                .unwrap_or_else(|| Dynamics::usual_momentum_removal(&self.thermostats)),
            timestep: self.timestep,
            scheme: self.scheme,
            thermostats: self.thermostats,
            barostat: self.barostat,
            seed: self.run.seed,
        };
        dynamics
            .check(system.particles.len())
            .map_err(SetupError::Motion)?;
        let mut output = OutputPlan {
            folder: self.folder,
            report: self.report,
            last: self.last,
            ..OutputPlan::nothing()
        };
        let mut analyses = Vec::new();
        let mut writes = !output.last.is_empty();
        for (every, one) in self.outputs {
            if every == 0 {
                return Err(SetupError::NeverDue);
            }
            writes |= !matches!(one, Output::Measure(_));
            match one {
                Output::Table(t) => {
                    let file = t.file;
                    if output.table.replace(TablePlan { every, file }).is_some() {
                        return Err(SetupError::Twice("tables"));
                    }
                }
                Output::Trajectory(t) => output.trajectories.push(TrajectoryPlan {
                    every,
                    file: t.file,
                    unwrap: t.unwrap,
                    species: species(&t.species, &system)?,
                    orientations: t.orientations,
                }),
                Output::Checkpoints(c) => {
                    let (file, keep) = (c.file, c.keep);
                    if output
                        .checkpoint
                        .replace(CheckpointPlan { every, file, keep })
                        .is_some()
                    {
                        return Err(SetupError::Twice("checkpoints"));
                    }
                }
                Output::Map(plan) => output.maps.push(MapPlan { every, ..plan }),
                Output::Measure(m) => analyses.push(m.plan(every)?),
            }
        }
        if writes && output.folder.is_none() {
            output.folder = Some(format!("{}.out", self.title).into());
        }
        Ok(Simulation {
            pressure_tolerance: request.and_then(|request| request.pressure_tolerance),
            title: self.title,
            system,
            origin: None,
            forces: field,
            dynamics,
            minimize: self.minimize,
            run: self.run,
            output,
            neighbors: self.neighbors,
            analyses,
            warnings,
            input_text: String::new(),
            input_path: PathBuf::new(),
        })
    }
}

/// A term, or nothing where it was refused; the first error is kept.
fn kept<T>(term: Result<T, TermError>, refused: &mut Option<TermError>) -> Option<T> {
    term.map_err(|error| refused.get_or_insert(error)).ok()
}

/// Places of species in a system.
fn species(names: &[String], system: &System) -> Result<Vec<u32>, SetupError> {
    let known: Vec<String> = system.species.iter().map(|s| s.name.clone()).collect();
    let place = |name: &String| {
        let found = known.iter().position(|k| k == name);
        found.map(|i| i as u32).ok_or_else(|| SetupError::UnknownSpecies {
            name: name.clone(),
            known: known.join(", "),
        })
    };
    names.iter().map(place).collect()
}
