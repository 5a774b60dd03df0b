//! Orientations beside a trajectory whose format has no place for them: `run.xtc.orientations` beside `run.xtc`.
//!
//! All numbers are little-endian. N is the number of particles in a frame of the trajectory, M that of those that turn.
//!
//! | bytes | type | what |
//! |---|---|---|
//! | 8 | text | `DEBYEORI` |
//! | 8 | `u64` | version of the format, 1 |
//! | 8 | `u64` | N |
//! | 8 | `u64` | M |
//! | 4 M | `u32` | places in a frame of the particles that turn, from 0, ascending |
//! | 4 | `u32` | CRC-32 of all before |
//!
//! Then one record of 20 + 16 M bytes for each frame of the trajectory, in its order:
//!
//! | bytes | type | what |
//! |---|---|---|
//! | 8 | `u64` | step |
//! | 8 | `f64` | time, in that of the run |
//! | 16 M | `f32` | unit quaternions x, y, z, w, which turn the axes of a particle into those of the laboratory |
//! | 4 | `u32` | CRC-32 of the record before |

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::{IoError, Place};
use crate::frame::Frame;
use crate::output::{Output, Resumption};

const MAGIC: &[u8; 8] = b"DEBYEORI";
const VERSION: u64 = 1;
/// Bytes before the places.
const FIXED: usize = 32;
/// Of a particle that does not turn.
const NONE: [f64; 4] = [0.0; 4];

/// The file of orientations that belongs to a trajectory.
pub fn orientations_path(trajectory: impl AsRef<Path>) -> PathBuf {
    let mut name = trajectory.as_ref().as_os_str().to_owned();
    name.push(".orientations");
    name.into()
}

/// The bytes a file begins with.
fn header(atoms: usize, turning: &[u32]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for number in [VERSION, atoms as u64, turning.len() as u64] {
        bytes.extend(number.to_le_bytes());
    }
    turning.iter().for_each(|place| bytes.extend(place.to_le_bytes()));
    sealed(bytes)
}

/// The bytes with their checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

fn record_length(turning: usize) -> usize {
    20 + 16 * turning
}

/// Writes the orientations of the frames of a trajectory.
pub struct OrientationWriter {
    out: Output<File>,
    atoms: usize,
    turning: Vec<u32>,
}

impl OrientationWriter {
    /// A new file for frames of so many atoms, of which those at these places turn.
    ///
    /// # Errors
    /// [`IoError::Io`].
    pub fn create(path: impl AsRef<Path>, atoms: usize, turning: Vec<u32>) -> Result<Self, IoError> {
        let file = path.as_ref().display().to_string();
        let sink = File::create(&path).map_err(|source| IoError::Io {
            file: file.clone(),
            source,
        })?;
        let mut out = Output::new(sink, file);
        out.write(&header(atoms, &turning))?;
        Ok(Self { out, atoms, turning })
    }

    /// Goes on after so many frames of a file; what follows them is cut off.
    ///
    /// # Errors
    /// [`IoError::Truncated`] where the file has fewer frames, [`IoError::Parse`] where it is of other atoms,
    /// [`IoError::Io`].
    pub fn resume(
        path: impl AsRef<Path>,
        atoms: usize,
        turning: Vec<u32>,
        frames: u64,
    ) -> Result<Self, IoError> {
        let file = path.as_ref().display().to_string();
        let io = |source| IoError::Io {
            file: file.clone(),
            source,
        };
        let mut sink = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(io)?;
        let expected = header(atoms, &turning);
        let bytes = Self::length(turning.len(), frames);
        let found = sink.metadata().map_err(io)?.len();
        if found < bytes {
            return Err(IoError::Truncated {
                file,
                frame: usize::try_from(frames).unwrap_or(usize::MAX),
                expected: format!("{bytes} bytes up to the point to continue from"),
                found: format!("{found} bytes"),
            });
        }
        let mut begins = vec![0; expected.len()];
        sink.read_exact(&mut begins).map_err(io)?;
        if begins != expected {
            return Err(IoError::Parse {
                file,
                place: Place::Byte(0),
                found: "another header".into(),
                expected: format!("orientations of {} among {atoms} atoms", turning.len()),
            });
        }
        let out = Resumption {
            sink,
            file,
            bytes,
            frames,
        }
        .cut()?;
        Ok(Self { out, atoms, turning })
    }

    /// Length of a file with so many particles that turn and so many frames.
    pub fn length(turning: usize, frames: u64) -> u64 {
        let header = (FIXED + 4 * turning + 4) as u64;
        header.saturating_add(frames.saturating_mul(record_length(turning) as u64))
    }

    /// Writes the orientations of one frame.
    ///
    /// # Errors
    /// [`IoError::AtomCountMismatch`] where there are none or too few, [`IoError::NotFinite`], [`IoError::Io`].
    pub fn write_frame(&mut self, frame: &Frame) -> Result<(), IoError> {
        let found = frame.orientations.as_deref().unwrap_or_default();
        if found.len() != self.atoms {
            return Err(IoError::AtomCountMismatch {
                file: self.out.file.clone(),
                what: "orientations",
                expected: self.atoms,
                found: found.len(),
            });
        }
        let mut bytes = Vec::with_capacity(record_length(self.turning.len()));
        bytes.extend(frame.step.unwrap_or(0).to_le_bytes());
        bytes.extend(frame.time.unwrap_or(0.0).to_le_bytes());
        for &place in &self.turning {
            let turn = found[place as usize];
            if let Some(wrong) = turn.iter().find(|x| !x.is_finite()) {
                return Err(IoError::NotFinite {
                    file: self.out.file.clone(),
                    place: Place::Atom(place as usize + 1),
                    value: wrong.to_string(),
                });
            }
            turn.iter().for_each(|x| bytes.extend((*x as f32).to_le_bytes()));
        }
        self.out.write_frame(&sealed(bytes))
    }

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// [`IoError::Io`].
    pub fn flush(&mut self) -> Result<(), IoError> {
        self.out.flush()
    }

    /// Length of the file so far.
    pub fn bytes_written(&self) -> u64 {
        self.out.bytes
    }
}

/// Reads the orientations of the frames of a trajectory, one after the other.
pub(crate) struct OrientationReader {
    source: BufReader<File>,
    file: String,
    atoms: usize,
    turning: Vec<u32>,
    frames: usize,
}

impl OrientationReader {
    /// The file beside a trajectory, where there is one.
    pub(crate) fn beside(trajectory: &Path) -> Option<Result<Self, IoError>> {
        let path = orientations_path(trajectory);
        path.is_file().then(|| Self::open(&path))
    }

    fn open(path: &Path) -> Result<Self, IoError> {
        let file = path.display().to_string();
        let io = |source| IoError::Io {
            file: file.clone(),
            source,
        };
        let wrong = |at: u64, found: String, expected: &str| IoError::Parse {
            file: file.clone(),
            place: Place::Byte(at),
            found,
            expected: expected.to_owned(),
        };
        let sink = File::open(path).map_err(io)?;
        let whole = sink.metadata().map_err(io)?.len();
        let cut = |needed: u64| IoError::Damaged {
            file: file.clone(),
            why: format!("it ends at byte {whole} of the {needed} of its header"),
        };
        let mut source = BufReader::new(sink);
        let mut bytes = vec![0; FIXED];
        if whole < FIXED as u64 {
            return Err(cut(FIXED as u64));
        }
        source.read_exact(&mut bytes).map_err(io)?;
        let number = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(eight)
        };
        if bytes[..8] != *MAGIC {
            return Err(wrong(0, "other bytes".into(), "DEBYEORI"));
        }
        let [version, atoms, turning] = [number(8), number(16), number(24)];
        if version != VERSION {
            return Err(wrong(8, version.to_string(), "version 1"));
        }
        // No more memory than the file has bytes, whatever its header says.
        if turning > atoms || turning > whole / 4 {
            return Err(wrong(24, turning.to_string(), "a number of particles that turn"));
        }
        let needed = FIXED as u64 + 4 * turning + 4;
        if whole < needed {
            return Err(cut(needed));
        }
        let mut rest = vec![0; 4 * turning as usize];
        source.read_exact(&mut rest).map_err(io)?;
        let mut checksum = [0; 4];
        source.read_exact(&mut checksum).map_err(io)?;
        bytes.extend(&rest);
        let found = crc32fast::hash(&bytes);
        if found != u32::from_le_bytes(checksum) {
            return Err(IoError::Damaged {
                file,
                why: format!("its header: {}", mismatch(found, checksum)),
            });
        }
        let places = rest.as_chunks::<4>().0;
        let turning: Vec<u32> = places.iter().map(|four| u32::from_le_bytes(*four)).collect();
        if turning.iter().any(|place| u64::from(*place) >= atoms) {
            return Err(wrong(
                FIXED as u64,
                "a place beyond the atoms".into(),
                "places in a frame",
            ));
        }
        Ok(Self {
            source,
            file,
            atoms: usize::try_from(atoms).unwrap_or(usize::MAX),
            turning,
            frames: 0,
        })
    }

    /// The orientations that belong to the next frame of the trajectory.
    pub(crate) fn next(&mut self, frame: &Frame) -> Result<Vec<[f64; 4]>, Missing> {
        self.frames += 1;
        if frame.positions.len() != self.atoms {
            return Err(Missing::ForGood(IoError::AtomCountMismatch {
                file: self.file.clone(),
                what: "orientations for the atoms of the trajectory",
                expected: frame.positions.len(),
                found: self.atoms,
            }));
        }
        let length = record_length(self.turning.len());
        let from = OrientationWriter::length(self.turning.len(), self.frames as u64 - 1);
        let number = self.frames;
        let damaged = |why: String| IoError::Damaged {
            file: self.file.clone(),
            why,
        };
        let mut record = Vec::with_capacity(length);
        let read = self.source.by_ref().take(length as u64).read_to_end(&mut record);
        if let Err(source) = read {
            return Err(Missing::ForGood(IoError::Io {
                file: self.file.clone(),
                source,
            }));
        }
        if record.len() < length {
            return Err(Missing::ForGood(damaged(match record.len() {
                0 => format!("it ends after record {} (byte {from})", number - 1),
                found => {
                    format!("record {number} (from byte {from}) is cut short: {found} of {length} bytes")
                }
            })));
        }
        let (record, checksum) = record.split_at(length - 4);
        let mut stored = [0; 4];
        stored.copy_from_slice(checksum);
        let found = crc32fast::hash(record);
        if found != u32::from_le_bytes(stored) {
            let bytes = format!("bytes {from} to {}", from + length as u64 - 1);
            let why = format!("record {number} ({bytes}): {}", mismatch(found, stored));
            return Err(Missing::Once(damaged(why)));
        }
        let mut eight = [0; 8];
        eight.copy_from_slice(&record[..8]);
        let step = u64::from_le_bytes(eight);
        if let Some(expected) = frame.step.filter(|of_trajectory| *of_trajectory != step) {
            return Err(Missing::ForGood(damaged(format!(
                "record {number} (from byte {from}) is of step {step}, the frame of step {expected}"
            ))));
        }
        let mut all = vec![NONE; self.atoms];
        let numbers = record[16..].as_chunks::<4>().0;
        let numbers: Vec<f64> = numbers
            .iter()
            .map(|four| f64::from(f32::from_le_bytes(*four)))
            .collect();
        for (place, turn) in self.turning.iter().zip(numbers.as_chunks::<4>().0) {
            all[*place as usize] = *turn;
        }
        Ok(all)
    }
}

/// Why a frame has no orientations.
pub(crate) enum Missing {
    /// Its record is damaged. Records are of one length: the next one can be read.
    Once(IoError),
    /// Nor will the frames after it.
    ForGood(IoError),
}

/// What is wrong with a checksum.
fn mismatch(found: u32, stored: [u8; 4]) -> String {
    let stored = u32::from_le_bytes(stored);
    format!("its checksum is {found:08x}, that in the file {stored:08x}")
}
