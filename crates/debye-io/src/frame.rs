//! One moment of a trajectory.

/// The unit a file's lengths are in. Nothing is converted in this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LengthUnit {
    /// 1 nm (GRO, XTC).
    Nanometer,
    /// 0.1 nm (PDB, PQR, DCD, XYZ).
    Angstrom,
    /// The file does not say (LAMMPS data, reduced units).
    #[default]
    Unspecified,
}

impl LengthUnit {
    /// Name of the unit, for messages.
    pub fn name(self) -> &'static str {
        match self {
            LengthUnit::Nanometer => "nanometers",
            LengthUnit::Angstrom => "ångströms",
            LengthUnit::Unspecified => "an unspecified unit",
        }
    }
}

/// Positions and what goes with them at one time, as the file has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame {
    /// Title or comment of the frame.
    pub title: String,
    /// Integration step, where the file says it.
    pub step: Option<u64>,
    /// Time in picoseconds, where the file says it. DCD counts in units of 48.88821 fs; that one
    /// is part of the format and is resolved here.
    pub time: Option<f64>,
    /// Unit of the positions, of the box and of the length in the velocities.
    pub length_unit: LengthUnit,
    /// Box vectors a, b, c as rows; `None` where the file has no box.
    pub cell: Option<[[f64; 3]; 3]>,
    /// Along which box vectors the system repeats, where the file says it.
    pub periodic: Option<[bool; 3]>,
    /// One position per atom.
    pub positions: Vec<[f64; 3]>,
    /// One velocity per atom.
    pub velocities: Option<Vec<[f64; 3]>>,
    /// One force per atom.
    pub forces: Option<Vec<[f64; 3]>>,
    /// One orientation per atom: a unit quaternion x, y, z, w; four zeros of an atom that is known not to turn.
    pub orientations: Option<Vec<[f64; 4]>>,
    /// One dipole per atom, in elementary charges times the unit of length (extended XYZ).
    pub dipoles: Option<Vec<[f64; 3]>>,
    /// One angular velocity per atom, in the time of the velocities (LAMMPS data of spheres).
    pub angular_velocities: Option<Vec<[f64; 3]>>,
}
