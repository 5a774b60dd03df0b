//! Whole files: the extension says the format and the compression.

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::volume::Volume;
use super::{MrcOrigin, read_dx, read_npy, write_cube, write_dx, write_mrc, write_npy};
use crate::error::IoError;
use crate::replace::replace;
use crate::source::{self, without_compression};

/// A format of grids of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VolumeFormat {
    /// OpenDX as APBS writes it.
    Dx,
    /// MRC2014, with the origin as a length.
    Mrc,
    /// The same with the origin in steps, as crystallography reads it.
    Ccp4,
    /// Gaussian cube.
    Cube,
    /// NumPy array.
    Npy,
}

impl VolumeFormat {
    /// All of them.
    pub const ALL: [VolumeFormat; 5] = [
        VolumeFormat::Dx,
        VolumeFormat::Mrc,
        VolumeFormat::Ccp4,
        VolumeFormat::Cube,
        VolumeFormat::Npy,
    ];

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            VolumeFormat::Dx => "OpenDX",
            VolumeFormat::Mrc => "MRC",
            VolumeFormat::Ccp4 => "CCP4",
            VolumeFormat::Cube => "Gaussian cube",
            VolumeFormat::Npy => "NumPy",
        }
    }

    /// Extensions that mean this format, lower case.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            VolumeFormat::Dx => &["dx"],
            VolumeFormat::Mrc => &["mrc"],
            VolumeFormat::Ccp4 => &["ccp4", "map"],
            VolumeFormat::Cube => &["cube"],
            VolumeFormat::Npy => &["npy"],
        }
    }

    /// The unit the format wants lengths in; `None` where it holds no lengths. Nothing is converted here.
    pub fn length_unit(self) -> Option<&'static str> {
        match self {
            VolumeFormat::Dx | VolumeFormat::Mrc | VolumeFormat::Ccp4 => Some("Å"),
            VolumeFormat::Cube => Some("Bohr"),
            VolumeFormat::Npy => None,
        }
    }

    /// Whether [`read_volume`] reads it.
    pub fn is_readable(self) -> bool {
        matches!(self, VolumeFormat::Dx | VolumeFormat::Npy)
    }

    /// The format a path's extension stands for, in any case. An extension of a compression may follow.
    ///
    /// # Errors
    /// [`IoError::UnknownFormat`] lists the extensions that are known.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        let plain = without_compression(path);
        let extension = plain.extension().and_then(|e| e.to_str()).unwrap_or("");
        let means = |format: &VolumeFormat| {
            let mut extensions = format.extensions().iter();
            extensions.any(|e| e.eq_ignore_ascii_case(extension))
        };
        VolumeFormat::ALL.into_iter().find(means).ok_or_else(|| {
            let extensions = VolumeFormat::ALL.iter().flat_map(|f| f.extensions());
            let known: Vec<String> = extensions.map(|e| format!(".{e}")).collect();
            IoError::UnknownFormat {
                file: path.display().to_string(),
                known: format!("{}, also with .gz .bz2 and, to read, .xz .zst", known.join(" ")),
            }
        })
    }
}

impl fmt::Display for VolumeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads a whole file; the extension says the format. What is compressed is unpacked.
///
/// # Errors
/// [`IoError::UnknownFormat`], [`IoError::NotSupported`] for a format that is only written, and those of [`read_dx`]
/// and [`read_npy`].
pub fn read_volume(path: impl AsRef<Path>) -> Result<Volume, IoError> {
    let path = path.as_ref();
    let format = VolumeFormat::from_path(path)?;
    if !format.is_readable() {
        return Err(IoError::NotSupported {
            file: path.display().to_string(),
            format: format.name(),
            operation: "read",
        });
    }
    let (source, label) = source::open(path)?;
    match format {
        VolumeFormat::Npy => read_npy(source, label),
        _ => read_dx(source, label),
    }
}

/// Writes a volume to a new file. The extension says the format; `.gz` or `.bz2` after it compresses the file.
///
/// The file is written under another name and renamed when it is whole: a failure leaves nothing, and a file that was
/// there as it was.
///
/// # Errors
/// [`IoError::UnknownFormat`], [`IoError::NotSupported`] for a compression that is only read, [`IoError::Io`], and those
/// of [`write_mrc`].
pub fn write_volume(path: impl AsRef<Path>, volume: &Volume) -> Result<(), IoError> {
    let path = path.as_ref();
    let format = VolumeFormat::from_path(path)?;
    let packing = Packing::from_path(path)?;
    replace(path, |file, label| {
        let io = |source| IoError::Io {
            file: label.clone(),
            source,
        };
        match packing {
            Packing::None => write_to(file, &label, format, volume),
            Packing::Gzip => {
                let sink = BufWriter::new(file);
                let mut sink = flate2::write::GzEncoder::new(sink, flate2::Compression::fast());
                write_to(&mut sink, &label, format, volume)?;
                sink.finish().and_then(|mut sink| sink.flush()).map_err(io)
            }
            Packing::Bzip2 => {
                let sink = BufWriter::new(file);
                let mut sink = bzip2::write::BzEncoder::new(sink, bzip2::Compression::fast());
                write_to(&mut sink, &label, format, volume)?;
                sink.finish().and_then(|mut sink| sink.flush()).map_err(io)
            }
        }
    })
}

/// The writers hand over pieces of some size, so that a file needs no buffer.
fn write_to(sink: impl Write, label: &str, format: VolumeFormat, volume: &Volume) -> Result<(), IoError> {
    match format {
        VolumeFormat::Dx => write_dx(sink, label, volume),
        VolumeFormat::Mrc => write_mrc(sink, label, volume, MrcOrigin::Length),
        VolumeFormat::Ccp4 => write_mrc(sink, label, volume, MrcOrigin::Steps),
        VolumeFormat::Cube => write_cube(sink, label, volume),
        VolumeFormat::Npy => write_npy(sink, label, volume),
    }
}

/// The compressions that are written: those whose encoder is in the crates that readers need anyway.
enum Packing {
    None,
    Gzip,
    Bzip2,
}

impl Packing {
    fn from_path(path: &Path) -> Result<Self, IoError> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let known = source::EXTENSIONS
            .iter()
            .find(|e| e.eq_ignore_ascii_case(extension));
        match known {
            None => Ok(Packing::None),
            Some(&"gz" | &"gzip") => Ok(Packing::Gzip),
            Some(&"bz2") => Ok(Packing::Bzip2),
            Some(other) => Err(IoError::NotSupported {
                file: path.display().to_string(),
                format: other,
                operation: "compress what is written; take .gz or .bz2",
            }),
        }
    }
}
