//! [`MapError`]: why there is no map.

use debye_io::IoError;
use debye_io::volumes::VolumeError;

use crate::engines::EngineError;
use crate::system::units::display::number;

/// Why there is no map.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// Nothing to make a potential.
    #[error("there are no atoms")]
    Empty,
    /// Reduced units, in which a charge of one has no size.
    #[error("maps are of systems in `units = \"md\"`: in reduced units the potential has no unit")]
    Units,
    /// What a checkpoint holds of a map does not fit.
    #[error("the checkpoint has {0}")]
    State(debye_io::codec::CodecError),
    /// Water alone.
    #[error("there is no solute: every atom is of a water")]
    NoSolute,
    /// Atoms, but none with a charge.
    #[error("no atom has a charge: the potential is zero everywhere")]
    NoCharges,
    /// Two lists that belong together.
    #[error("{0} atoms where there should be {1}")]
    Lengths(usize, usize),
    /// An atom, counted from 1, nowhere.
    #[error("atom {0} has a position or charge that is not a number")]
    NotFinite(usize),
    /// A distance of points that cannot be.
    #[error("a spacing of {0} nm: it must be above zero")]
    Spacing(f64),
    /// A grid without points, or with more than can be counted.
    #[error(
        "a grid of {} × {} × {} points: it takes one along each axis at least, and no more than can be counted; do atoms lie \
         far apart?",
        .0[0], .0[1], .0[2]
    )]
    Shape([usize; 3]),
    /// A grid nowhere.
    #[error("a grid from {0:?} nm on: its coordinates must be finite")]
    Origin([f64; 3]),
    /// Room around a structure that cannot be.
    #[error("a padding of {0} nm: it must be zero or more")]
    Padding(f64),
    /// A setting that makes no sense.
    #[error("{what} of {value}: {expected}")]
    Setting {
        /// Which.
        what: &'static str,
        /// As it was given.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// A length that does not go with another.
    #[error("{what} of {} Å: {expected}", number(10.0 * .value))]
    Length {
        /// Which.
        what: &'static str,
        /// As it was given, in nm.
        value: f64,
        /// What it must be.
        expected: String,
    },
    /// An order of interpolation that is not there.
    #[error("interpolation of order {0}; there are 4, 6 and 8")]
    Order(usize),
    /// More points than memory.
    #[error(
        "{points} points take {} of memory, of which {} are free: take a wider spacing or a smaller grid",
        gigabytes(.needed), gigabytes(.available)
    )]
    Memory {
        /// Points of the grid.
        points: usize,
        /// Bytes for all that the method keeps.
        needed: usize,
        /// Bytes that are free.
        available: usize,
    },
    /// A method that needs periodic boundaries.
    #[error("method `{0}` needs a cell that is periodic along all axes")]
    Open(&'static str),
    /// A method for open boundaries.
    #[error("method `{0}` has open boundaries: it cannot sum over periodic images")]
    Periodic(&'static str),
    /// A cell this method cannot take.
    #[error("method `{0}` takes rectangular cells only; `mesh` takes triclinic ones")]
    Triclinic(&'static str),
    /// Ions at extrema in a cell whose grid does not repeat with it.
    #[error("ions at extrema take rectangular cells; with open boundaries (--open) the cell does not matter")]
    TriclinicIons,
    /// No mesh is fine enough.
    #[error(
        "no mesh has errors of forces below a tolerance of {0:e}: allow a larger one, or take a longer cut-off"
    )]
    Tolerance(f64),
    /// No setting of multilevel summation is fine enough.
    #[error(
        "method `multilevel` has errors of {least:e} at least, above half a tolerance of {tolerance:e}: allow a larger one, or \
         take `direct` with open boundaries, `mesh` with periodic ones"
    )]
    MultilevelTolerance {
        /// What was asked for.
        tolerance: f64,
        /// What the finest setting has.
        least: f64,
    },
    /// A grid over a cell that is not there.
    #[error("the structure has no cell to lay a grid over")]
    NoCell,
    /// A cell that is periodic along some axes.
    #[error("maps take a cell that is periodic along all axes or along none")]
    PartlyPeriodic,
    /// Centering where there is no cell to be in the middle of.
    #[error("centering takes a cell that is periodic along all axes")]
    Centering,
    /// Alignment where images would be turned.
    #[error("alignment turns atoms, but not the cell: it takes open boundaries")]
    AlignedImages,
    /// A grid longer than the cell.
    #[error(
        "the grid is longer than the cell along {axis}: {grid:.4} nm of points, {cell:.4} nm of cell; its values would repeat"
    )]
    Longer {
        /// Which axis.
        axis: char,
        /// Length of the grid.
        grid: f64,
        /// Length of the cell.
        cell: f64,
    },
    /// A grid that is not where the cell is.
    #[error(
        "the grid lies outside of the cell along {axis}: from {:.4} to {:.4} nm, where the cell goes from 0 to {cell:.4} nm",
        .grid[0], .grid[1]
    )]
    Outside {
        /// Which axis.
        axis: char,
        /// Where the grid begins and ends.
        grid: [f64; 2],
        /// Length of the cell.
        cell: f64,
    },
    /// Atoms that cannot be laid over each other.
    #[error("an alignment takes three atoms or more, and as many in each frame; there are {0} and {1}")]
    Alignment(usize, usize),
    /// Dipoles whose directions nobody knows.
    #[error(
        "the structure has dipoles, but the frame has no orientations: the trajectory must have them, or a file beside it"
    )]
    NoOrientations,
    /// A profile where planes have no mean.
    #[error("a profile takes a rectangular cell that is periodic along all axes")]
    Profile,
    /// Sums beyond all numbers.
    #[error("the potential is not finite: a charge or a setting is absurd")]
    Infinite,
    /// A selection that selects nothing.
    #[error("no atom or residue is called `{0}`, and it is no range of atoms such as 1-100")]
    Selection(String),
    /// No frames.
    #[error("there is no frame to average over")]
    NoFrames,
    /// Ions that found no place.
    #[error(
        "ion {number} of {of} found no place: every point is nearer than {solute} nm to the solute or {ions} nm to an ion"
    )]
    NoPlace {
        /// Which ion, from 1.
        number: usize,
        /// Of so many.
        of: usize,
        /// Distance kept to the solute.
        solute: f64,
        /// Distance kept between ions.
        ions: f64,
    },
    /// A structure whose lengths mean nothing.
    #[error("the file does not say its unit of length: give it (--length-unit)")]
    LengthUnit,
    /// A box that is none.
    #[error("the cell of the structure: {0}")]
    Cell(String),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] EngineError),
    /// A map in a file whose axes are not x, y and z.
    #[error("the steps of the map do not lie along x, y and z")]
    Oblique,
    /// A map that no file holds.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] IoError),
}

fn gigabytes(bytes: &usize) -> String {
    let gigabytes = *bytes as f64 / 1e9;
    if gigabytes < 10.0 {
        format!("{gigabytes:.2} GB")
    } else {
        format!("{gigabytes:.0} GB")
    }
}
