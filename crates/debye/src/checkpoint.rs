//! Checkpoints: written in one piece, told apart when damaged or foreign.
//!
//! A file is an [`Envelope`] that begins with `DEBYECKP`. Its content is, in this order:
//!
//! | what | for |
//! |---|---|
//! | the step; the system at that step as the bytes of a native structure file | any engine, and other runs |
//! | what thermostats and barostat remember ([`MotionState`]) | any engine |
//! | checksums of the input, planned steps, device | whether and where a run goes on |
//! | the form of the engine (device and precision), and its own state: order of particles, lists | the same engine, bit for bit |
//! | how far outputs had come, seconds so far | the run |
//!
//! An engine of another form goes on from the first two. A new file is written beside the old and
//! renamed over it, so that there is a sound file at every moment; older ones are kept as `name.1`, `name.2`….

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use debye_io::NativeStructure;
use debye_io::codec::{CodecError, Envelope, Reader, Writer};

use crate::integrate::{MotionState, ThermostatState};

const MAGIC: &[u8; 8] = b"DEBYECKP";
/// The version of the content that is written and read.
pub const VERSION: u64 = 7;
const ENVELOPE: Envelope = Envelope {
    magic: MAGIC,
    version: VERSION,
    what: "checkpoint",
};
/// How the names of checkpoints begin that are being written; a killed run leaves one behind.
pub(crate) const UNFINISHED: &str = ".unfinished-checkpoint-";

/// Everything a run needs to go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// The step.
    pub step: u64,
    /// The system at that step, as the bytes of a native structure file: what another run can begin with.
    pub system: Vec<u8>,
    /// The step the run is to end at.
    pub planned: u64,
    /// Names and checksums of the parts of the input that must be the same.
    pub fingerprint: Vec<(String, u32)>,
    /// What ran it.
    pub device: String,
    /// What thermostats and barostat remember.
    pub motion: MotionState,
    /// The form of the engine: engines of one form read one another's state.
    pub form: String,
    /// The engine's own state.
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
        // System and engine are the bulk: they are written as they are, without a copy.
        let [step, lengths, rest] = self.encode();
        let parts = [&step[..], &self.system, &lengths, &self.engine, &rest];
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED);
        // As any other file: temporary ones are for their owner alone unless said.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder).map_err(io)?;
        ENVELOPE.write(&parts, &mut file).map_err(io)?;
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
        let content = ENVELOPE.open(bytes).map_err(|e| damaged(e.0))?;
        Self::decode(content).map_err(|e| damaged(e.0))
    }

    /// The newest sound checkpoint in a folder, of whatever run; `None` where there is none at all.
    pub fn latest(folder: &Path) -> Result<Option<Found>, CheckpointError> {
        Self::newest(&folder.join("run.checkpoint"), None)
    }

    /// The system it holds.
    pub fn native_system(&self, file: &Path) -> Result<NativeStructure, CheckpointError> {
        NativeStructure::from_bytes(&self.system).map_err(|e| CheckpointError::Damaged {
            file: file.to_path_buf(),
            why: e.0,
        })
    }

    /// Whether a file begins as a checkpoint does.
    pub fn is_one(file: &Path) -> bool {
        let mut start = [0; 8];
        File::open(file)
            .and_then(|mut file| file.read_exact(&mut start))
            .is_ok_and(|()| &start == MAGIC)
    }

    /// Reads the newest sound checkpoint of a simulation (of any without a fingerprint) in the folder of `path`,
    /// whatever its name; damaged ones are passed over. `None` where there is none at all.
    pub fn newest(
        path: &Path,
        fingerprint: Option<&[(String, u32)]>,
    ) -> Result<Option<Found>, CheckpointError> {
        let mut files: Vec<_> = files_like(path)
            .into_iter()
            .map(|file| (age(&file), file))
            .collect();
        files.sort_by(|a, b| b.cmp(a));
        let (mut passed, mut damaged, mut foreign) = (Vec::new(), None, None);
        for (_, file) in files {
            match Self::read(&file) {
                Ok(checkpoint) => match checkpoint.belongs_to(&file, fingerprint) {
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
        let mut start = [0; 32];
        File::open(path).ok()?.read_exact(&mut start).ok()?;
        Reader::new(start.strip_prefix(MAGIC)?.get(16..)?).u64().ok()
    }

    /// Refuses a checkpoint of another simulation.
    fn belongs_to(&self, file: &Path, expected: Option<&[(String, u32)]>) -> Result<(), CheckpointError> {
        let Some(expected) = expected else {
            return Ok(());
        };
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

    /// What comes before the system, between it and the engine's state, and after that, lengths included.
    fn encode(&self) -> [Vec<u8>; 3] {
        let mut first = Writer::new();
        first.u64(self.step);
        first.u64(self.system.len() as u64);
        let mut w = Writer::new();
        w.u64(self.motion.thermostats.len() as u64);
        for thermostat in &self.motion.thermostats {
            w.f64(thermostat.given);
            w.f64s(thermostat.chain.as_flattened());
        }
        w.u64(self.motion.barostat_limited);
        w.u64(self.fingerprint.len() as u64);
        for (name, sum) in &self.fingerprint {
            w.text(name);
            w.u64(u64::from(*sum));
        }
        w.u64(self.planned);
        w.text(&self.device);
        w.text(&self.form);
        w.u64(self.engine.len() as u64);
        let middle = w.finish();
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
        [first.finish(), middle, w.finish()]
    }

    fn decode(content: &[u8]) -> Result<Self, CodecError> {
        let mut r = Reader::new(content);
        let (step, system) = (r.u64()?, r.bytes()?.to_vec());
        let mut motion = MotionState {
            step,
            ..MotionState::default()
        };
        for _ in 0..r.u64()? {
            let given = r.f64()?;
            let chain = r.f64s()?.chunks_exact(2).map(|c| [c[0], c[1]]).collect();
            motion.thermostats.push(ThermostatState { given, chain });
        }
        motion.barostat_limited = r.u64()?;
        let mut fingerprint = Vec::new();
        for _ in 0..r.u64()? {
            fingerprint.push((r.text()?, r.u64()? as u32));
        }
        let (planned, device, form, engine) = (r.u64()?, r.text()?, r.text()?, r.bytes()?.to_vec());
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
            step,
            system,
            planned,
            fingerprint,
            device,
            motion,
            form,
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
pub(crate) fn files_like(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let wanted = |file: &PathBuf| {
        let this = file.file_name().unwrap_or_default().to_string_lossy();
        let named = this.strip_prefix(&*name).is_some_and(|rest| {
            let number = rest.strip_prefix('.');
            rest.is_empty() || number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        });
        file.is_file() && !this.starts_with(UNFINISHED) && (named || Checkpoint::is_one(file))
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
