//! Whole files: the extension says the format.

use std::fmt;
use std::path::Path;

use super::{Surface, write_obj, write_ply};
use crate::error::IoError;
use crate::replace::replace;

/// A format of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SurfaceFormat {
    /// PLY, binary.
    Ply,
    /// Wavefront OBJ.
    Obj,
}

impl SurfaceFormat {
    /// All of them.
    pub const ALL: [SurfaceFormat; 2] = [SurfaceFormat::Ply, SurfaceFormat::Obj];

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            SurfaceFormat::Ply => "PLY",
            SurfaceFormat::Obj => "OBJ",
        }
    }

    /// The extension that means this format, lower case.
    pub fn extension(self) -> &'static str {
        match self {
            SurfaceFormat::Ply => "ply",
            SurfaceFormat::Obj => "obj",
        }
    }

    /// The format a path's extension stands for, in any case.
    ///
    /// # Errors
    /// [`IoError::UnknownFormat`] lists the extensions that are known.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let means = |format: &SurfaceFormat| format.extension().eq_ignore_ascii_case(extension);
        SurfaceFormat::ALL.into_iter().find(means).ok_or_else(|| {
            let known = SurfaceFormat::ALL.map(|format| format!(".{}", format.extension()));
            IoError::UnknownFormat {
                file: path.display().to_string(),
                known: known.join(" "),
            }
        })
    }
}

impl fmt::Display for SurfaceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Writes a surface to a new file. The extension says the format.
///
/// The file is written under another name and renamed when it is whole: a failure leaves nothing, and a file that was
/// there as it was.
///
/// # Errors
/// [`IoError::UnknownFormat`], and those of [`write_ply`].
pub fn write_surface(path: impl AsRef<Path>, surface: &Surface) -> Result<(), IoError> {
    let path = path.as_ref();
    let format = SurfaceFormat::from_path(path)?;
    // The writers hand over pieces of some size, so that a file needs no buffer.
    replace(path, |file, label| match format {
        SurfaceFormat::Ply => write_ply(file, label, surface),
        SurfaceFormat::Obj => write_obj(file, label, surface),
    })
}

#[cfg(test)]
mod tests {
    use super::super::surface::tests::tetrahedron;
    use super::*;

    #[test]
    fn a_failure_leaves_the_file_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut surface = tetrahedron();
        for name in ["a.ply", "a.OBJ"] {
            let path = folder.path().join(name);
            surface.triangles[0][0] = 0;
            write_surface(&path, &surface).unwrap();
            let before = std::fs::read(&path).unwrap();
            surface.triangles[0][0] = 9;
            assert!(write_surface(&path, &surface).is_err());
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        let unknown = write_surface(folder.path().join("a.stl"), &surface)
            .unwrap_err()
            .to_string();
        assert!(
            unknown.ends_with("unknown format; known are .ply .obj"),
            "{unknown}"
        );
    }
}
