//! Regular grids of numbers in files: maps of a potential, of a charge, of a density.
//!
//! | format | extensions | read | write | lengths in | values |
//! |---|---|---|---|---|---|
//! | OpenDX | `.dx` | yes | yes | Å | text, 9 digits (`f32`) or 17 (`f64`) |
//! | MRC2014 | `.mrc` | | yes | Å | `f32` |
//! | CCP4 | `.ccp4`, `.map` | | yes | Å | `f32` |
//! | Gaussian cube | `.cube` | | yes | Bohr | text, 9 digits (`f32`) or 17 (`f64`) |
//! | NumPy | `.npy` | yes | yes | holds none | `f32` or `f64` |
//!
//! This crate converts nothing: give a [`Volume`] in the unit of the format
//! ([`VolumeFormat::length_unit`]), if need be by [`Volume::with_lengths_scaled`]. Values are written as they are, in
//! whatever unit the caller has; a title is the place to say which.
//!
//! | kept by | OpenDX | MRC, CCP4 | cube | NumPy |
//! |---|---|---|---|---|
//! | origin | yes | yes | yes | no |
//! | oblique steps | yes | yes | yes | no |
//! | first step not along x, or second not in the xy plane | yes | refused | yes | no |
//! | NaN and infinities | written, not read | yes | yes | yes |
//! | title | first comment | label, 80 characters | first line | no |
//! | atoms | no | no | yes | no |
//!
//! A NumPy file is read as a volume at the origin with steps of 1; [`Volume::with_geometry`] puts it where it belongs.
//!
//! Writers go through the values once (MRC: twice, for the statistics of its header) and copy none but those of the
//! piece they write. Readers take memory for what the file holds, not for what its header claims.
//!
//! ```
//! use debye_io::volumes::{Volume, read_dx, write_dx};
//!
//! let steps = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]];
//! let volume = Volume::new([2, 2, 1], [0.0; 3], steps, vec![0.1_f32, -0.2, 0.3, 1.5])?;
//! let mut file = Vec::new();
//! write_dx(&mut file, "map.dx", &volume.with_title("potential, kT/e"))?;
//! let read = read_dx(&file[..], "map.dx")?;
//! assert_eq!(read.title(), "potential, kT/e");
//! assert_eq!(read.into_values().into_f32()[..3], [0.1, -0.2, 0.3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cube;
mod dx;
mod file;
mod mrc;
mod npy;
mod number;
mod volume;

pub use cube::write_cube;
pub use dx::{read_dx, write_dx};
pub use file::{VolumeFormat, read_volume, write_volume};
pub use mrc::{MrcOrigin, write_mrc};
pub use npy::{read_npy, write_npy};
pub use volume::{Volume, VolumeAtom, VolumeError, VolumeValues};

/// A file that claims more points than these is refused before any memory is taken: 16 GiB in double precision.
pub const LARGEST_READ: usize = 1 << 31;
