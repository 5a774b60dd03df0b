//! [`Journal`]: measurements on disk as they are made, so that a study that ended early can go on.

use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::findings::Row;
use super::{DeviceStudied, Extent, Study, StudyError};

const SCHEMA: &str = "debye/study-journal/1";

/// A line for the study, then one for each measurement.
pub struct Journal {
    path: PathBuf,
    file: File,
    known: Vec<Measured>,
}

/// What measurements of one journal have in common.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Circumstances {
    schema: String,
    /// A number of the program's file.
    program: u64,
    study: String,
    extent: String,
    processor: String,
    threads: usize,
    cuda: Option<String>,
}

impl Circumstances {
    fn here(study: &Study, extent: Extent, device: &Result<String, String>) -> Self {
        let machine = DeviceStudied::here(device);
        Self {
            schema: SCHEMA.into(),
            program: program(),
            study: study.name.into(),
            extent: format!("{extent:?}").to_lowercase(),
            processor: machine.processor,
            threads: machine.threads,
            cuda: device.as_ref().ok().cloned(),
        }
    }

    /// What is not as it was, in words.
    fn change(&self, before: &Self) -> Option<String> {
        let none = "none".to_owned();
        let device = |of: &Self| of.cuda.clone().unwrap_or_else(|| none.clone());
        let threads = |of: &Self| of.threads.to_string();
        let pairs = [
            ("format", before.schema.clone(), self.schema.clone()),
            ("study", before.study.clone(), self.study.clone()),
            ("extent", before.extent.clone(), self.extent.clone()),
            ("processor", before.processor.clone(), self.processor.clone()),
            ("threads", threads(before), threads(self)),
            ("CUDA device", device(before), device(self)),
        ];
        let mut changes = pairs.into_iter().filter(|(_, before, now)| before != now);
        let change = changes
            .next()
            .map(|(what, before, now)| format!("{what}: {before}; now: {now}"));
        change.or_else(|| (before.program != self.program).then(|| "another build of the program".into()))
    }
}

/// A number of the file of this program: another build has other kernels.
fn program() -> u64 {
    let mut hasher = DefaultHasher::new();
    let file = std::env::current_exe().and_then(std::fs::read);
    hasher.write(&file.unwrap_or_default());
    hasher.finish()
}

/// The numbers of a [`Row`] that was measured, and what tells it from others.
#[derive(Deserialize)]
struct Measured {
    ladder: String,
    variant: String,
    input: String,
    size: f64,
    seconds: f64,
    fastest: f64,
    slowest: f64,
    rounds: usize,
    error: f64,
    tolerance: f64,
}

impl Journal {
    fn path(folder: &Path) -> PathBuf {
        folder.join("journal.jsonl")
    }

    /// A new one in the folder of a study.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn begin(
        folder: &Path,
        study: &Study,
        extent: Extent,
        device: &Result<String, String>,
    ) -> Result<Self, StudyError> {
        let path = Self::path(folder);
        let file = File::create(&path).map_err(|error| cannot("write", &path, &error))?;
        let mut journal = Self {
            path,
            file,
            known: Vec::new(),
        };
        journal.line(&Circumstances::here(study, extent, device))?;
        Ok(journal)
    }

    /// Whether a study left one in this folder, which is to be gone on with.
    pub fn is_in(folder: &Path) -> bool {
        Self::path(folder).is_file()
    }

    /// The one that a study left in its folder when it ended early.
    ///
    /// # Errors
    /// There is none, or it is of another study, extent, machine or program.
    pub fn resume(
        folder: &Path,
        study: &Study,
        extent: Extent,
        device: &Result<String, String>,
    ) -> Result<Self, StudyError> {
        let path = Self::path(folder);
        let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => StudyError::Other(format!(
                "{} has no study that stopped early: there is no {}",
                folder.display(),
                path.display()
            )),
            _ => cannot("read", &path, &error),
        })?;
        let Some((head, lines)) = text.split_once('\n') else {
            // Killed before anything was measured.
            return Self::begin(folder, study, extent, device);
        };
        let damaged = |error| StudyError::Other(format!("{} is damaged: {error}", path.display()));
        let before: Circumstances = serde_json::from_str(head).map_err(damaged)?;
        if let Some(change) = Circumstances::here(study, extent, device).change(&before) {
            return Err(StudyError::Other(format!(
                "{} is of another run ({change}), whose measurements cannot stand beside new ones",
                path.display()
            )));
        }
        // What failed or was left out has no numbers, and a line may be cut off: these are measured again.
        let known = lines
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.map_err(|error| cannot("write", &path, &error))?;
        let mut journal = Self { path, file, known };
        if !text.ends_with('\n') {
            journal.write("\n")?;
        }
        Ok(journal)
    }

    /// Measurements that are there already.
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// Gives a row the numbers it had before, if it had any.
    pub(super) fn recall(&self, row: &mut Row) -> bool {
        let same = |known: &&Measured| {
            (known.ladder.as_str(), &known.variant, &known.input, known.size)
                == (row.ladder, &row.variant, &row.input, row.size)
        };
        let Some(known) = self.known.iter().find(same) else {
            return false;
        };
        row.seconds = Some(known.seconds);
        row.fastest = Some(known.fastest);
        row.slowest = Some(known.slowest);
        row.rounds = known.rounds;
        row.error = Some(known.error);
        row.tolerance = known.tolerance;
        true
    }

    /// Writes a row down.
    pub(super) fn note(&mut self, row: &Row) -> Result<(), StudyError> {
        self.line(row)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), StudyError> {
        let text = serde_json::to_string(value).map_err(StudyError::other)?;
        self.write(&(text + "\n"))
    }

    fn write(&mut self, text: &str) -> Result<(), StudyError> {
        let written = self.file.write_all(text.as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        written.map_err(|error| cannot("write", &self.path, &error))
    }

    /// Takes it away, where the study came to its end.
    ///
    /// # Errors
    /// A file that cannot be deleted.
    pub fn end(self) -> Result<(), StudyError> {
        std::fs::remove_file(&self.path).map_err(|error| cannot("delete", &self.path, &error))
    }
}

fn cannot(do_what: &str, path: &Path, error: &std::io::Error) -> StudyError {
    StudyError::Other(format!("cannot {do_what} {}: {error}", path.display()))
}
