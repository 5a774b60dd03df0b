//! Checkpoints: written in one piece, told apart when damaged or foreign.
//!
//! A file is the eight bytes `DEBYECKP`, the version and the length of the content as 64-bit
//! little-endian numbers, the content, and its CRC-32. A new one is written beside the old and
//! renamed over it, so that there is a sound file at every moment; older ones are kept as
//! `name.1`, `name.2`….

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::codec::{CodecError, Reader, Writer};
use crate::input::Simulation;

const MAGIC: &[u8; 8] = b"DEBYECKP";
/// The version of the content that is written and read.
pub const VERSION: u64 = 2;
/// How the names of checkpoints begin that are being written; a killed run leaves one behind.
pub(super) const UNFINISHED: &str = ".unfinished-checkpoint-";

/// Everything a run needs to go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// Names and checksums of the parts of the input that must be the same.
    pub fingerprint: Vec<(String, u32)>,
    /// The step.
    pub step: u64,
    /// What ran it.
    pub device: String,
    /// The engine's state.
    pub engine: Vec<u8>,
    /// How far each output had come.
    pub outputs: Vec<Record>,
    /// Seconds of computing so far.
    pub seconds: f64,
}

/// How far an output had come; a run that goes on finds it by its file and its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its file, in the output folder.
    pub file: String,
    /// What it is: a table, a trajectory, an analysis.
    pub kind: String,
    /// Checksum of what goes into it.
    pub content: u32,
    /// How far the file was written.
    pub written: Written,
    /// What an analysis has gathered.
    pub state: Vec<u8>,
}

/// How far an output file was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes.
    pub bytes: u64,
    /// Frames or rows.
    pub frames: u64,
}

/// Why a checkpoint was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file could not be read or written.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not sound.
    #[error("{}: damaged checkpoint: {why}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file is sound but of another simulation.
    #[error(
        "{}: this checkpoint belongs to another simulation: {} changed since. Undo the change to \
         go on with this run. To begin another stage where this one ended (NPT after NVT, another temperature), write a new \
         input with `[system] from = \"{}\"` and an output folder of its own",
        file.display(),
        changed.join(", "),
        file.parent().unwrap_or(Path::new("")).display()
    )]
    Foreign {
        /// The file.
        file: PathBuf,
        /// Which parts of the input differ.
        changed: Vec<String>,
    },
}

impl Checkpoint {
    /// Writes it atomically, keeping `keep` files in all.
    pub fn write(&self, path: &Path, keep: usize) -> Result<(), CheckpointError> {
        let io = |source| CheckpointError::Io {
            file: path.to_path_buf(),
            source,
        };
        let folder = path
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        // The engine's state is the bulk: it is written as it is, without a copy.
        let (head, tail) = self.encode();
        let parts = [&head[..], &self.engine[..], &tail[..]];
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED);
        // As any other file: temporary ones are for their owner alone unless said.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder).map_err(io)?;
        let mut put = |bytes: &[u8]| file.write_all(bytes).map_err(io);
        put(MAGIC)?;
        put(&VERSION.to_le_bytes())?;
        put(&length.to_le_bytes())?;
        let mut checksum = crc32fast::Hasher::new();
        for part in parts {
            put(part)?;
            checksum.update(part);
        }
        put(&checksum.finalize().to_le_bytes())?;
        file.as_file().sync_all().map_err(io)?;
        for number in (1..keep.max(1)).rev() {
            let older = if number == 1 {
                path.to_path_buf()
            } else {
                numbered(path, number - 1)
            };
            if older.exists() {
                // A copy of the newest, so that its own name never disappears.
                let moved = if number == 1 {
                    fs::copy(&older, numbered(path, 1)).map(drop)
                } else {
                    fs::rename(&older, numbered(path, number))
                };
                moved.map_err(io)?;
            }
        }
        file.persist(path).map_err(|e| io(e.error))?;
        Ok(())
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let io = |source| CheckpointError::Io {
            file: path.to_path_buf(),
            source,
        };
        let mut bytes = Vec::new();
        File::open(path)
            .map_err(io)?
            .read_to_end(&mut bytes)
            .map_err(io)?;
        Self::from_bytes(&bytes, path)
    }

    /// The content of a file; `path` is what messages call it.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, CheckpointError> {
        let damaged = |why: String| CheckpointError::Damaged {
            file: path.to_path_buf(),
            why,
        };
        if bytes.len() < 28 || &bytes[..8] != MAGIC {
            return Err(damaged("it does not begin as a checkpoint does".into()));
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        if number(8) != VERSION {
            return Err(damaged(format!(
                "version {}; this program reads version {VERSION}",
                number(8)
            )));
        }
        let (length, there) = (number(16), bytes.len() as u64 - 28);
        if length != there {
            return Err(damaged(format!(
                "{there} bytes of content where {length} were written"
            )));
        }
        let content = &bytes[24..bytes.len() - 4];
        let checksum = u32::from_le_bytes(std::array::from_fn(|k| bytes[bytes.len() - 4 + k]));
        if crc32fast::hash(content) != checksum {
            return Err(damaged("its checksum does not fit its content".into()));
        }
        Self::decode(content).map_err(|e| damaged(e.0))
    }

    /// Reads the newest sound checkpoint of this simulation in the folder of `path`, whatever its name; damaged ones
    /// are passed over. `None` where there is none at all.
    pub fn newest(path: &Path, simulation: &Simulation) -> Result<Option<Found>, CheckpointError> {
        let mut files: Vec<_> = files_like(path)
            .into_iter()
            .map(|file| (age(&file), file))
            .collect();
        files.sort_by(|a, b| b.cmp(a));
        let (mut passed, mut damaged, mut foreign) = (Vec::new(), None, None);
        for (_, file) in files {
            match Self::read(&file) {
                Ok(checkpoint) => match checkpoint.belongs_to(&file, simulation) {
                    Ok(()) => {
                        return Ok(Some(Found {
                            checkpoint,
                            file,
                            passed,
                        }));
                    }
                    Err(error) => foreign = foreign.or(Some(error)),
                },
                Err(error) => {
                    passed.push(error.to_string());
                    damaged = damaged.or(Some(error));
                }
            }
        }
        foreign.or(damaged).map_or(Ok(None), Err)
    }

    /// The step a file claims to be of, from its first bytes; the rest is not looked at.
    fn claimed_step(path: &Path) -> Option<u64> {
        let mut start = Vec::new();
        File::open(path).ok()?.take(4096).read_to_end(&mut start).ok()?;
        let mut r = Reader::new(start.strip_prefix(MAGIC)?.get(16..)?);
        for _ in 0..r.u64().ok()? {
            r.text().ok()?;
            r.u64().ok()?;
        }
        r.u64().ok()
    }

    /// Refuses a checkpoint of another simulation.
    fn belongs_to(&self, file: &Path, simulation: &Simulation) -> Result<(), CheckpointError> {
        let expected = fingerprint(simulation);
        let changed: Vec<String> = expected
            .iter()
            .filter(|part| !self.fingerprint.contains(part))
            .map(|(name, _)| name.clone())
            .collect();
        if changed.is_empty() && expected.len() == self.fingerprint.len() {
            Ok(())
        } else {
            Err(CheckpointError::Foreign {
                file: file.to_path_buf(),
                changed,
            })
        }
    }

    /// What comes before the engine's state, its length included, and what comes after it.
    fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let mut w = Writer::new();
        w.u64(self.fingerprint.len() as u64);
        for (name, sum) in &self.fingerprint {
            w.text(name);
            w.u64(u64::from(*sum));
        }
        w.u64(self.step);
        w.text(&self.device);
        w.u64(self.engine.len() as u64);
        let head = w.finish();
        let mut w = Writer::new();
        w.u64(self.outputs.len() as u64);
        for record in &self.outputs {
            w.text(&record.file);
            w.text(&record.kind);
            w.u64(u64::from(record.content));
            w.u64(record.written.bytes);
            w.u64(record.written.frames);
            w.bytes(&record.state);
        }
        w.f64(self.seconds);
        (head, w.finish())
    }

    fn decode(content: &[u8]) -> Result<Self, CodecError> {
        let mut r = Reader::new(content);
        let mut fingerprint = Vec::new();
        for _ in 0..r.u64()? {
            fingerprint.push((r.text()?, r.u64()? as u32));
        }
        let (step, device, engine) = (r.u64()?, r.text()?, r.bytes()?.to_vec());
        let mut outputs = Vec::new();
        for _ in 0..r.u64()? {
            outputs.push(Record {
                file: r.text()?,
                kind: r.text()?,
                content: r.u64()? as u32,
                written: Written {
                    bytes: r.u64()?,
                    frames: r.u64()?,
                },
                state: r.bytes()?.to_vec(),
            });
        }
        Ok(Self {
            fingerprint,
            step,
            device,
            engine,
            outputs,
            seconds: r.f64()?,
        })
    }
}

/// A checkpoint to go on from.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it holds.
    pub checkpoint: Checkpoint,
    /// Its file.
    pub file: PathBuf,
    /// What is wrong with the files that were passed over.
    pub passed: Vec<String>,
}

/// Orders checkpoints by age: by the step they claim, then before copies of the older, then by the clock. Files that do
/// not even say a step come last, to be looked at first.
fn age(file: &Path) -> (u64, bool, Option<std::time::SystemTime>) {
    let copy = file
        .extension()
        .is_some_and(|e| e.to_string_lossy().bytes().all(|b| b.is_ascii_digit()));
    let changed = fs::metadata(file).and_then(|m| m.modified()).ok();
    (Checkpoint::claimed_step(file).unwrap_or(u64::MAX), !copy, changed)
}

/// Files in the folder of `path` that begin as checkpoints do, or that have its name, numbered or not.
pub(super) fn files_like(path: &Path) -> Vec<PathBuf> {
    let begins = |file: &Path| {
        let mut start = [0; 8];
        File::open(file)
            .and_then(|mut file| file.read_exact(&mut start))
            .is_ok_and(|()| &start == MAGIC)
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let wanted = |file: &PathBuf| {
        let this = file.file_name().unwrap_or_default().to_string_lossy();
        let named = this.strip_prefix(&*name).is_some_and(|rest| {
            let number = rest.strip_prefix('.');
            rest.is_empty() || number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        });
        file.is_file() && !this.starts_with(UNFINISHED) && (named || begins(file))
    };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")))
        .into_iter()
        .flatten();
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(wanted)
        .collect()
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Checksums of everything that decides the trajectory, by name.
pub fn fingerprint(simulation: &Simulation) -> Vec<(String, u32)> {
    let system = &simulation.system;
    let f = &simulation.forces;
    let pairs: Vec<_> = f
        .pairs
        .iter()
        .map(|t| (t.family.name(), t.truncation, &t.rows, t.tail, t.table.f64s()))
        .collect();
    let bonds: Vec<_> = f.bonds.iter().map(|t| (t.family.name(), &t.rows)).collect();
    let angles: Vec<_> = f.angles.iter().map(|t| (t.family.name(), &t.rows)).collect();
    let dihedrals: Vec<_> = f
        .dihedrals
        .iter()
        .chain(&f.impropers)
        .map(|t| (t.family.name(), &t.rows))
        .collect();
    let mut masses = Writer::new();
    masses.f64s(&system.particles.masses);
    masses.f64s(&system.particles.charges);
    masses.u32s(&system.particles.species);
    // Only where there are any: checkpoints from before there were constraints still fit.
    let constraints = match &system.constraints {
        none if none.is_empty() => String::new(),
        some => format!(" {some:?}"),
    };
    let parts: [(&str, String); 7] = [
        ("the number of particles", system.particles.len().to_string()),
        (
            "units or species",
            format!(
                "{:?} {:?} {:?}",
                system.units,
                system.species,
                system.cell.periodic()
            ),
        ),
        (
            "masses, charges or species of particles",
            crc32fast::hash(&masses.finish()).to_string(),
        ),
        (
            "topology or exclusions",
            format!("{:?} {:?}{}", system.topology, system.exclusions, constraints),
        ),
        (
            "[[forces]]",
            format!(
                "{pairs:?} {bonds:?} {angles:?} {dihedrals:?} {}",
                f.coulomb_constant
            ),
        ),
        (
            "[integrator], thermostats, barostat or seed",
            format!("{:?}", simulation.dynamics),
        ),
        (
            "precision or neighbour buffer",
            format!("{:?} {:?}", simulation.run.precision, simulation.neighbors),
        ),
    ];
    parts
        .map(|(name, text)| (name.to_owned(), crc32fast::hash(text.as_bytes())))
        .to_vec()
}
