//! Files that are whole or not there.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::IoError;

/// Writes a file under another name and renames it when it is whole.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(File, String) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let label = path.display().to_string();
    let io = |source| IoError::Io {
        file: label.clone(),
        source,
    };
    // What is there and no file (a device, a pipe) cannot be replaced; a link leads to what is.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return write(File::create(path).map_err(io)?, label);
    }
    let place = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let unfinished = unfinished(&place);
    let file = File::create(&unfinished).map_err(io)?;
    let written = write(file, label.clone()).and_then(|()| std::fs::rename(&unfinished, &place).map_err(io));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

/// How the names of structure files begin that are being written; a killed program leaves one behind.
pub const UNFINISHED_STRUCTURE: &str = ".unfinished-structure-";

/// A name beside `path` for a file that is not whole yet.
fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{UNFINISHED_STRUCTURE}{}-{name}", std::process::id()))
}
