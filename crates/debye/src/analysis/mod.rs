//! Analyses: each an accumulator, fed frame by frame while a run is going on or from a trajectory.
//!
//! An [`Analysis`] sees [`Snapshot`]s and gives an [`Analyzed`]: named columns with units, numbers
//! with their errors, and how to plot them. Every accumulator is streaming, states its memory, gives
//! the same bits for any number of threads, and can be saved and restored exactly, so that a
//! checkpoint may carry it.
//!
//! Errors of averages come from at most 32 blocks of frames, which double in length as a
//! run goes on; those of single series come from [`BlockAverage`].
//!
//! Each analysis is one file, which ends with its [`AnalysisKind`]: its name in input files and on the command line,
//! its settings, and how it is made of them. The lines at the end of this module are the register.

mod analyzed;
mod average;
mod blocks;
mod correlate;
mod drift;
mod fit;
mod histogram;
mod kind;
mod lipids;
mod pairs;
mod rounded;
mod slabs;
mod state;

pub use analyzed::{Analyzed, Column, Plot, Scalar};
pub use average::BlockAverage;
pub use correlate::{Lags, Window};
pub use drift::{Drift, drift};
pub use fit::{Line, fit_line};
pub use histogram::{CountedPairs, OfPairs, count_pairs};
pub use kind::{
    AnalysisKind, AnalysisRequest, BuildAnalysis, Model, Setting, SettingKind, SettingValue, Subject,
};
pub use rounded::Rounded;
pub use slabs::{Axis, Slabs};

use debye_io::Register;

use crate::expr::Vec3;
pub use crate::system::Snapshot;
use crate::system::{Species, Units};

/// An accumulator over frames.
pub trait Analysis: Send {
    /// A short name, fit for a file: `rdf-Na-Cl`.
    fn name(&self) -> &str;
    /// Takes a frame in. After an error the state is as before.
    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError>;
    /// Where pairs by distance are all it wants of a frame: an engine may count them in its place. The answer and the
    /// pairs stay the same.
    fn of_pairs(&mut self) -> Option<&mut dyn OfPairs> {
        None
    }
    /// Whether it looks at velocities or rotational energies. Where nobody does, an engine need not find them.
    fn needs_velocities(&self) -> bool {
        true
    }
    /// The result so far.
    fn finish(&self) -> Analyzed;
    /// The exact state, for a checkpoint.
    fn save(&self) -> Vec<u8>;
    /// Puts back a state that [`Analysis::save`] gave. After an error the state is as before.
    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError>;
}

/// Why an analysis could not go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// A setting that makes no sense.
    #[error("{analysis}: {setting} is {value}; expected {expected}")]
    Setting {
        /// Which analysis.
        analysis: &'static str,
        /// Which setting.
        setting: &'static str,
        /// What it was.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// A frame with another number of particles than before, or lists of different lengths.
    #[error("step {step}: a frame has {found} {what}, expected {expected}")]
    Length {
        /// At which step.
        step: u64,
        /// Of what.
        what: &'static str,
        /// How many there were.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A species that has no name.
    #[error("step {step}: particle {particle} is of species {species}, but only {known} are known")]
    UnknownSpecies {
        /// At which step.
        step: u64,
        /// Which particle.
        particle: usize,
        /// Its species.
        species: u32,
        /// How many species there are.
        known: usize,
    },
    /// A coordinate or velocity that is not a number.
    #[error("step {step}: particle {particle} has a {what} that is not finite")]
    NotFinite {
        /// At which step.
        step: u64,
        /// Which particle.
        particle: usize,
        /// Position or velocity.
        what: &'static str,
    },
    /// The analysis needs velocities and the frame has none.
    #[error("step {step}: the frame has no velocities, and {analysis} needs them")]
    NoVelocities {
        /// At which step.
        step: u64,
        /// Which analysis.
        analysis: &'static str,
    },
    /// The analysis needs orientations and the frame has none.
    #[error(
        "step {step}: the frame has no orientations, and {analysis} needs them: of particles that turn, in a file that keeps \
         them, such as extended XYZ"
    )]
    NoOrientations {
        /// At which step.
        step: u64,
        /// Which analysis.
        analysis: &'static str,
    },
    /// Correlations need frames at equal intervals.
    #[error("step {step}: the frame is at time {found}, expected {expected}: frames must be equally spaced")]
    Uneven {
        /// At which step.
        step: u64,
        /// Its time.
        found: f64,
        /// The time it should have.
        expected: f64,
    },
    /// A saved state that cannot be read.
    #[error("the saved state of {analysis} cannot be used: {reason}")]
    State {
        /// Which analysis.
        analysis: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// What the numbers of an analysis are called: units and species.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Unit of length.
    pub length: String,
    /// Unit of time.
    pub time: String,
    /// Unit of mass.
    pub mass: String,
    /// Unit of charge.
    pub charge: String,
    /// Names of the species; their number is the number of species.
    pub species: Vec<String>,
}

impl Labels {
    /// The names in a system of units.
    pub fn new(units: Units, species: &[Species]) -> Self {
        let [length, time, mass, charge] = match units {
            Units::LennardJones => ["σ", "τ", "m", "q"],
            Units::Md => ["nm", "ps", "u", "e"],
        }
        .map(String::from);
        Self {
            length,
            time,
            mass,
            charge,
            species: species.iter().map(|s| s.name.clone()).collect(),
        }
    }

    /// Unit of speed.
    pub fn speed(&self) -> String {
        format!("{}/{}", self.length, self.time)
    }
}

/// Refuses a frame whose lists do not fit together or hold what is not a number.
fn check(
    frame: &Snapshot<'_>,
    labels: &Labels,
    values: &[Vec3<f64>],
    what: &'static str,
) -> Result<(), AnalysisError> {
    let (step, known) = (frame.step, labels.species.len());
    if values.len() != frame.species.len() {
        return Err(AnalysisError::Length {
            step,
            what: "particles",
            found: values.len(),
            expected: frame.species.len(),
        });
    }
    if let Some(particle) = frame.species.iter().position(|&s| s as usize >= known) {
        let species = frame.species[particle];
        return Err(AnalysisError::UnknownSpecies {
            step,
            particle,
            species,
            known,
        });
    }
    let finite = |v: &Vec3<f64>| v.x.is_finite() && v.y.is_finite() && v.z.is_finite();
    match values.iter().position(|v| !finite(v)) {
        Some(particle) => Err(AnalysisError::NotFinite { step, particle, what }),
        None => Ok(()),
    }
}

/// The axes of a frame's particles.
fn axes<'a>(
    frame: &Snapshot<'a>,
    labels: &Labels,
    analysis: &'static str,
) -> Result<&'a [Vec3<f64>], AnalysisError> {
    let step = frame.step;
    let axes = frame
        .axes
        .ok_or(AnalysisError::NoOrientations { step, analysis })?;
    check(frame, labels, axes, "orientation")?;
    Ok(axes)
}

/// One group for each species, and one for all where there are several.
fn group_names(labels: &Labels) -> Vec<String> {
    let mut names = labels.species.clone();
    if names.len() != 1 {
        names.push("all".into());
    }
    names
}

/// How many time origins a correlation keeps.
const ORIGINS: usize = 16;

/// Declares the modules of the analyses, what they make public, and the register.
macro_rules! register {
    ($($module:ident { $($public:ident),* $(,)? }),* $(,)?) => {
        $( mod $module; pub use $module::{$($public),*}; )*
        /// Every kind of analysis, in the order of the register.
        pub static ANALYSES: Register<AnalysisKind> = Register::new(&[$( &$module::KIND ),*]);
    };
}

register! {
    rdf { Rdf, RdfOptions },
    msd { Msd, MsdOptions },
    density { Density },
    vacf { Vacf },
    bilayer { Bilayer },
    order { BondOrder },
    lateral_diffusion { LateralDiffusion },
    orientation { OrientationProfile },
    reorientation { Reorientation },
    nematic { NematicOrder },
    temperature { Temperature },
    pressure_profile { PressureProfile },
}
