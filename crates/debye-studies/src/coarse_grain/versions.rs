//! [`Version`]s of the paper's kernels: where types of interactions come from, and what is computed with.

use debye::expr::CudaReal;
use debye_gpu::{Element, Header, ModuleSource, constants};

use super::beads::Model;
use super::interactions::{self, Ends, Interaction, ROW};
use crate::study::StudyError;

/// The paper's blocks.
pub(super) const BEAD_THREADS: usize = 64;
/// A cell and those around it; fewer in small boxes, where the rest is none.
pub(super) const AROUND: usize = 27;
/// Types of interactions.
pub(super) const KINDS: usize = Interaction::ALL.len();

debye_gpu::device_struct! {
    /// What the kernels are to do.
    pub(crate) struct BeadWork {
        pub(super) sides: [f64; 3],
        pub(super) reach2: f64,
        pub(super) cutoff2: f64,
        pub(super) sticky2: f64,
        pub(super) timestep: f64,
        pub(super) beads: u32,
        pub(super) species: u32,
        /// Rows of the matrix of neighbors.
        pub(super) rows: u32,
        /// Columns of the matrix of cells.
        pub(super) per_cell: u32,
        /// Whether forces end with the second half of a step.
        pub(super) merged: u32,
        pub(super) unused: u32,
    }
}

/// What is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
    /// Integers of 64 bits, 40 of them behind the point, for pairs.
    Fixed,
    /// 32 bits, by the intrinsic functions that the paper names, for pairs.
    Intrinsic,
    /// 64 bits, but 32 for pairs.
    Mixed,
}

impl Arithmetic {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Single,
        Self::Double,
        Self::Fixed,
        Self::Intrinsic,
        Self::Mixed,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Double => "double",
            Self::Fixed => "fixed point",
            Self::Intrinsic => "intrinsics",
            Self::Mixed => "mixed",
        }
    }

    /// By how much a stored number of this size may be off after it is rounded.
    pub(super) fn rounding(self, size: f64) -> f64 {
        match self {
            Self::Single | Self::Intrinsic => 0.5 * size * f64::from(f32::EPSILON),
            Self::Double | Self::Mixed => 0.5 * size * f64::EPSILON,
            Self::Fixed => 0.5 / POINT,
        }
    }
}

/// Where the type of an interaction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Types {
    /// There is water alone.
    WaterOnly,
    /// The matrix of types: the paper's complete version.
    Matrix,
    /// The block: its threads have pairs of one type alone, of beads sorted by species.
    Blocks,
}

impl Types {
    /// In words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::WaterOnly => "water only",
            Self::Matrix => "complete",
            Self::Blocks => "class-pure blocks",
        }
    }
}

/// A version of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Where the type of an interaction comes from.
    pub types: Types,
    /// What is computed with.
    pub arithmetic: Arithmetic,
    /// Whether forces end with the second half of a step.
    pub merged: bool,
}

impl Version {
    /// One whose forces end with the second half of a step.
    pub const fn of(types: Types, arithmetic: Arithmetic) -> Self {
        Self {
            types,
            arithmetic,
            merged: true,
        }
    }

    /// Whether it is in single or double precision throughout.
    pub(super) fn is_floating(self) -> bool {
        matches!(self.arithmetic, Arithmetic::Single | Arithmetic::Double)
    }

    /// Those that are compiled for a model, merged: all arithmetics by the matrix of types and, for water, without types;
    /// blocks of one type in single and double precision.
    pub fn all(model: Model) -> Vec<Self> {
        let mut all = Vec::new();
        for types in [Types::WaterOnly, Types::Matrix, Types::Blocks] {
            let of = Arithmetic::ALL.map(|arithmetic| Self::of(types, arithmetic));
            all.extend(of.into_iter().filter(|version| match types {
                Types::WaterOnly => model == Model::Water,
                Types::Matrix => true,
                Types::Blocks => version.is_floating(),
            }));
        }
        all
    }

    /// The same with the second half of a step in a kernel of its own.
    pub fn apart(self) -> Self {
        Self {
            merged: false,
            ..self
        }
    }

    /// Parts of a column of the matrix of neighbors.
    pub(super) fn parts(self) -> usize {
        match self.types {
            Types::Blocks => KINDS,
            _ => 1,
        }
    }

    /// The text of its kernels.
    pub(super) fn source(self, ends: Ends) -> ModuleSource {
        let shared = Header::new(&["prelude.cuh"])
            .constants(&constants![BEAD_THREADS, ROW, AROUND, KINDS])
            .define::<BeadWork>();
        let functions = match self.arithmetic {
            Arithmetic::Single | Arithmetic::Mixed => interactions::text(ends, CudaReal::Float),
            Arithmetic::Double => interactions::text(ends, CudaReal::Double),
            // The type is the only word of the text that differs.
            Arithmetic::Fixed | Arithmetic::Intrinsic => {
                interactions::text(ends, CudaReal::Double).replace("double", "Number")
            }
        };
        ModuleSource::new("coarse_grain.cu", include_str!("../kernels/coarse_grain.cu"))
            .include("beads_shared.cuh", &shared.text())
            .include("numbers.cuh", include_str!("../kernels/numbers.cuh"))
            .include("interactions.cuh", &functions)
            .define("NUMBERS", self.arithmetic as u32)
            .define("TYPES", self.types as u32)
            .define("STICKY", u32::from(ends.sticky2 > 0.0))
    }
}

/// How the terms of a force field end, which the text of the kernels depends on.
fn ends(model: Model) -> Result<Ends, StudyError> {
    let simulation = model.simulation(840, 2.0, "langevin")?;
    Ok(interactions::Numbers::new(&simulation.forces, &simulation.system.species)?.ends)
}

/// Every file of kernels.
pub(crate) fn modules() -> Vec<ModuleSource> {
    let mut all = Vec::new();
    for model in Model::ALL {
        let Ok(ends) = ends(model) else { continue };
        all.extend(
            Version::all(model)
                .into_iter()
                .map(|version| version.source(ends)),
        );
    }
    all
}

/// A number as a kernel keeps it.
pub(super) trait Kept: Element {
    fn keep(x: f64) -> Self;
    fn back(self) -> f64;
}

impl Kept for f32 {
    fn keep(x: f64) -> Self {
        x as Self
    }
    fn back(self) -> f64 {
        f64::from(self)
    }
}

impl Kept for f64 {
    fn keep(x: f64) -> Self {
        x
    }
    fn back(self) -> f64 {
        self
    }
}

/// Bits behind the point.
const POINT: f64 = (1_u64 << 40) as f64;

impl Kept for i64 {
    fn keep(x: f64) -> Self {
        (x * POINT).round() as Self
    }
    fn back(self) -> f64 {
        self as f64 / POINT
    }
}
