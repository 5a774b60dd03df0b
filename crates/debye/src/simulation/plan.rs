//! What a simulation shall do besides moving: plain structs, made by an input file or by hand.

use std::path::{Path, PathBuf};

use debye_gpu::Device;
use debye_io::Format;

use crate::analysis::AnalysisRequest;
pub use crate::engines::DeviceChoice;
use crate::engines::cpu::Fire;
use crate::engines::{ListKind, Precision};
use crate::maps::{MapError, MapFrames, MapMethod, MapRequest, MapSubject, PotentialUnit, with_word};
use crate::system::{Class, System, Units};

/// More steps than any machine will do.
pub const MOST_STEPS: u64 = 1_000_000_000_000_000;

/// How long to run, and from which velocities.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// Steps of the dynamics; 0 evaluates once.
    pub steps: u64,
    /// Steps at the beginning that averages, the drift and analyses leave out.
    pub equilibration: u64,
    /// Temperature the initial velocities were drawn for; `None` keeps those of the system.
    pub temperature: Option<f64>,
    /// Seed of every random number.
    pub seed: u64,
    /// Numbers.
    pub precision: Precision,
    /// Place.
    pub device: DeviceChoice,
}

impl Default for RunPlan {
    fn default() -> Self {
        Self {
            steps: 0,
            equilibration: 0,
            temperature: None,
            seed: 1,
            precision: Precision::default(),
            device: DeviceChoice::default(),
        }
    }
}

/// How an energy minimum is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinimizeKind {
    /// Fast inertial relaxation engine (Bitzek et al. 2006).
    Fire,
}

/// A minimization before the dynamics.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimize {
    /// Its sort.
    pub kind: MinimizeKind,
    /// Done when no force is larger.
    pub force_tolerance: f64,
    /// Done after so many steps in any case.
    pub max_steps: u64,
    /// No particle moves farther in one step.
    pub max_displacement: f64,
}

/// The margin of the lists of neighbors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Buffer {
    /// Selection by the engine for speed, within the tolerated drift.
    #[default]
    Auto,
    /// This length.
    Length(f64),
}

/// How neighbors are found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NeighborOptions {
    /// Margin beyond the cut-off.
    pub buffer: Buffer,
    /// Drift of the energy per particle and time that missed pairs may cause; `None` to miss no pair.
    pub drift_tolerance: Option<f64>,
    /// Kind of list; `None` for the one that suits the pair terms.
    pub lists: Option<ListKind>,
}

/// A table of energies, temperature and pressure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePlan {
    /// Every so many steps.
    pub every: u64,
    /// File in the output folder.
    pub file: PathBuf,
}

/// A trajectory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrajectoryPlan {
    /// Every so many steps.
    pub every: u64,
    /// File in the output folder; its extension is the format.
    pub file: PathBuf,
    /// Whether particles that left the cell are written where they went.
    pub unwrap: bool,
    /// Species written; empty means all.
    pub species: Vec<u32>,
    /// Whether orientations are written beside it, where particles turn and its format has no place for them.
    pub orientations: bool,
}

impl TrajectoryPlan {
    /// The file of orientations beside it, and the places in its frames of the particles that turn; `None` where there
    /// is nothing to write, or its format has a place for it.
    pub fn companion(&self, system: &System) -> Option<(PathBuf, Vec<u32>)> {
        let format = Format::from_path(&self.file).ok()?;
        if !self.orientations || format.holds_orientations() || system.particles.orientations.is_empty() {
            return None;
        }
        let p = &system.particles;
        let written =
            (0..p.len()).filter(|&i| self.species.is_empty() || self.species.contains(&p.species[i]));
        let turns = |&(_, i): &(usize, usize)| p.orientations.rotor(i).class() != Class::Point;
        let turning: Vec<u32> = written
            .enumerate()
            .filter(turns)
            .map(|(place, _)| place as u32)
            .collect();
        (!turning.is_empty()).then(|| (debye_io::orientations_path(&self.file), turning))
    }
}

/// A mean map of the electrostatic potential. Lengths in nm.
#[derive(Clone, Debug, PartialEq)]
pub struct MapPlan {
    /// Every so many steps.
    pub every: u64,
    /// The first step that counts.
    pub from: u64,
    /// File in the output folder; its extension is the format.
    pub file: PathBuf,
    /// Distance of points.
    pub spacing: f64,
    /// Room around the particles where the cell is open.
    pub padding: f64,
    /// How the potential is summed.
    pub method: MapMethod,
    /// Unit of the values.
    pub unit: PotentialUnit,
    /// Relative permittivity.
    pub permittivity: f64,
    /// The relative error that is allowed; `None` for the usual.
    pub tolerance: Option<f64>,
    /// Species whose middle is moved to the middle of the cell; none for no such motion.
    pub center: Vec<u32>,
}

impl MapPlan {
    /// Every Ångström, in kT/e at 300 K.
    pub fn new(every: u64, file: impl Into<PathBuf>) -> Self {
        Self {
            every,
            from: 0,
            file: file.into(),
            spacing: 0.1,
            padding: 1.0,
            method: MapMethod::Auto,
            unit: PotentialUnit::Thermal(300.0),
            permittivity: 1.0,
            tolerance: None,
            center: Vec::new(),
        }
    }

    /// The file of the standard error of the mean.
    pub fn error_file(&self) -> PathBuf {
        with_word(&self.file, "error")
    }

    /// The first step it looks at.
    pub fn first_look(&self) -> u64 {
        first_multiple(self.from, self.every)
    }

    /// Maps of this system as it moves; on a device, if given.
    pub(crate) fn frames(&self, system: &System, device: Option<&Device>) -> Result<MapFrames, MapError> {
        if system.units != Units::Md {
            return Err(MapError::Units);
        }
        let periodic = match system.cell.periodic() {
            [true, true, true] => true,
            [false, false, false] => false,
            _ => return Err(MapError::PartlyPeriodic),
        };
        let subject = MapSubject::of_system(system);
        let grid = match periodic {
            true => subject.grid_over_cell(self.spacing)?,
            false => subject.grid_around(self.padding, self.spacing)?,
        };
        let mut request = MapRequest::new(grid)
            .method(self.method)
            .permittivity(self.permittivity);
        if periodic {
            request = request.periodic(system.cell);
        }
        if let Some(tolerance) = self.tolerance {
            request = request.tolerance(tolerance);
        }
        request = match device {
            Some(device) => request.on_device(device),
            None => request.device(DeviceChoice::Cpu),
        };
        let frames = MapFrames::new(subject, request, periodic)?;
        if self.center.is_empty() {
            return Ok(frames);
        }
        let species = system.particles.species.iter().enumerate();
        let centered = species
            .filter(|(_, kind)| self.center.contains(kind))
            .map(|(i, _)| i);
        frames.centered(centered.collect())
    }
}

/// Checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPlan {
    /// Every so many steps.
    pub every: u64,
    /// File in the output folder.
    pub file: PathBuf,
    /// How many are kept.
    pub keep: usize,
}

/// What is written, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPlan {
    /// The folder of all files of the run; without one nothing is written.
    pub folder: Option<PathBuf>,
    /// The table, if any.
    pub table: Option<TablePlan>,
    /// Trajectories.
    pub trajectories: Vec<TrajectoryPlan>,
    /// Mean maps of the potential.
    pub maps: Vec<MapPlan>,
    /// Checkpoints, if any.
    pub checkpoint: Option<CheckpointPlan>,
    /// Structure files of the last step.
    pub last: Vec<PathBuf>,
    /// Whether a report is written.
    pub report: bool,
}

impl OutputPlan {
    /// A report in this folder and nothing else.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
            table: None,
            trajectories: Vec::new(),
            maps: Vec::new(),
            checkpoint: None,
            last: Vec::new(),
            report: true,
        }
    }

    /// Nothing is written.
    pub fn nothing() -> Self {
        Self {
            folder: None,
            ..Self::new("")
        }
    }

    /// A file in the folder.
    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.folder.as_deref().unwrap_or(Path::new("")).join(file)
    }
}

impl Minimize {
    /// Until no force is larger than this; for these units the usual largest number and length of steps.
    pub fn fire(force_tolerance: f64, units: Units) -> Self {
        let place = usize::from(units == Units::LennardJones);
        Self {
            kind: MinimizeKind::Fire,
            force_tolerance,
            max_steps: Fire::MAX_STEPS,
            max_displacement: Fire::MAX_DISPLACEMENT[place],
        }
    }

    /// The descent that it asks for.
    pub(crate) fn descent(&self) -> Fire {
        Fire {
            force_tolerance: self.force_tolerance,
            max_steps: self.max_steps,
            max_displacement: self.max_displacement,
        }
    }
}

/// The first multiple of `every` from a step on.
fn first_multiple(from: u64, every: u64) -> u64 {
    from.div_ceil(every.max(1)).saturating_mul(every)
}

impl AnalysisPlan {
    /// The first step it looks at.
    pub fn first_look(&self) -> u64 {
        first_multiple(self.from, self.every)
    }

    /// Whether it looks at this step.
    pub fn looks_at(&self, step: u64) -> bool {
        step >= self.from && step.is_multiple_of(self.every)
    }
}

/// A measurement, how often, and where to.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysisPlan {
    /// What.
    pub request: AnalysisRequest,
    /// Every so many steps.
    pub every: u64,
    /// The first step it may look at.
    pub from: u64,
    /// File in the output folder.
    pub file: PathBuf,
}

/// The run that a system was taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its folder, its checkpoint or its native structure file, as the input names it.
    pub name: String,
    /// The same as a path from here.
    pub path: PathBuf,
    /// The step it was at.
    pub step: u64,
}

/// What to do with an output folder that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Refuse to run.
    #[default]
    Refuse,
    /// Go on from its last checkpoint.
    Resume,
    /// Remove the files in it, if a run left them there.
    Overwrite,
}
