//! [`Lock`]: one run in an output folder at a time.
//!
//! The lock is that of the operating system on a file in the folder, so that it ends with the process that holds it,
//! however that ends. The file also says who holds it, for the message, and for file systems without locks: there, a
//! process that is still running on the same host holds the folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{RunError, report};

/// The file that is locked, in the output folder.
pub(super) const LOCK_FILE: &str = ".debye.lock";

/// How often a folder that looks taken is tried again, and the time between: another process may only be looking.
const TRIES: usize = 4;
const BETWEEN: Duration = Duration::from_millis(25);

/// The folder is ours until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    /// Kept open: closing it ends the lock.
    _file: File,
    path: PathBuf,
    /// Folders that were made to put the file in, the innermost first; they go with it where nothing else came in.
    made: Vec<PathBuf>,
}

/// What the file says of who holds the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Holder {
    process: Option<u32>,
    host: String,
    since: String,
}

impl Lock {
    /// Takes a folder, which is made where there is none, or says who has it.
    pub(super) fn take(folder: &Path) -> Result<Self, RunError> {
        let made = missing(folder);
        std::fs::create_dir_all(folder).map_err(|e| RunError::write(folder, e))?;
        let path = folder.join(LOCK_FILE);
        let taken = Self::lock_file(folder, &path);
        if taken.is_err() {
            remove_empty(&made);
        }
        Ok(Self {
            _file: taken?,
            path,
            made,
        })
    }

    /// The locked file, with our name in it.
    fn lock_file(folder: &Path, path: &Path) -> Result<File, RunError> {
        let fail = |e| RunError::write(path, e);
        for attempt in 0.. {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(path).map_err(fail)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if attempt < TRIES => {
                    std::thread::sleep(BETWEEN);
                    continue;
                }
                Err(TryLockError::WouldBlock) => return Err(Holder::of(path).refusal(folder)),
                Err(TryLockError::Error(_)) => Holder::of(path).refuse_if_running(folder)?,
            }
            // Whoever had it before may have removed the file between our opening and locking it.
            if !is_at(&file, path) && attempt < TRIES {
                continue;
            }
            file.set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| file.write_all(Holder::us().to_text().as_bytes()))
                .and_then(|()| file.flush())
                .map_err(fail)?;
            return Ok(file);
        }
        Err(Holder::of(path).refusal(folder))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is locked. Left behind, it does no harm.
        let _ = std::fs::remove_file(&self.path);
        remove_empty(&self.made);
    }
}

/// Refuses a folder that another process has now. Nothing is changed.
pub(super) fn refuse_taken(folder: &Path) -> Result<(), RunError> {
    let path = folder.join(LOCK_FILE);
    let Ok(file) = File::open(&path) else {
        return Ok(());
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Holder::of(&path).refusal(folder)),
        Err(TryLockError::Error(_)) => Holder::of(&path).refuse_if_running(folder),
    }
}

impl Holder {
    fn us() -> Self {
        Self {
            process: Some(std::process::id()),
            host: host(),
            since: report::utc_now(),
        }
    }

    fn of(path: &Path) -> Self {
        let mut text = String::new();
        // What cannot be read names nobody.
        let _ = File::open(path).and_then(|file| file.take(4096).read_to_string(&mut text));
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(" = "));
            lines.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        Self {
            process: value("process").and_then(|number| number.parse().ok()),
            host: value("host").unwrap_or_default().to_owned(),
            since: value("since").unwrap_or_default().to_owned(),
        }
    }

    fn to_text(&self) -> String {
        let Self { process, host, since } = self;
        let process = process.unwrap_or_default();
        format!("process = {process}\nhost = {host}\nsince = {since}\n")
    }

    /// Where there are no locks, a file of this host is believed while its process runs, one of another host always.
    fn refuse_if_running(&self, folder: &Path) -> Result<(), RunError> {
        let here = self.host == host();
        match self.process {
            Some(process) if process != std::process::id() && (!here || is_running(process)) => {
                Err(self.refusal(folder))
            }
            _ => Ok(()),
        }
    }

    fn refusal(&self, folder: &Path) -> RunError {
        let mut holder = match self.process {
            Some(process) => format!("process {process}"),
            None => "another process".into(),
        };
        for (word, value) in [("on", &self.host), ("since", &self.since)] {
            if !value.is_empty() {
                holder += &format!(" {word} {value}");
            }
        }
        RunError::Locked {
            folder: folder.to_path_buf(),
            holder,
        }
    }
}

/// The name of this computer; empty where it is not known.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok());
    name.unwrap_or_default().trim().to_owned()
}

fn is_running(process: u32) -> bool {
    if cfg!(target_os = "linux") {
        return Path::new("/proc").join(process.to_string()).exists();
    }
    let mut asked = std::process::Command::new("kill");
    asked.args(["-0", &process.to_string()]);
    // Where nobody can be asked, it is better to refuse.
    asked.output().map_or(true, |output| output.status.success())
}

/// Whether an open file is still what stands at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |data: std::fs::Metadata| (data.dev(), data.ino());
    let (ours, there) = (file.metadata().map(place), std::fs::metadata(path).map(place));
    matches!((ours, there), (Ok(ours), Ok(there)) if ours == there)
}

/// Open files are not removed there.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// The folders on the way to this one that are not there, the innermost first.
fn missing(folder: &Path) -> Vec<PathBuf> {
    let ancestors = folder.ancestors().filter(|f| !f.as_os_str().is_empty());
    ancestors
        .take_while(|f| !f.exists())
        .map(Path::to_path_buf)
        .collect()
}

/// Removes folders that are empty, the innermost first.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<impl std::fmt::Debug, RunError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_folder_is_held_by_one_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        let first = Lock::take(&folder).unwrap();
        for refusal in [message(Lock::take(&folder)), message(refuse_taken(&folder))] {
            assert!(
                refusal.contains(&format!("process {}", std::process::id())),
                "{refusal}"
            );
            assert!(refusal.contains("since 2"), "{refusal}");
        }
        drop(first);
        // Nothing is left of a run that wrote nothing.
        assert!(!place.path().join("a").exists());
        // A file that a killed process left is taken over.
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(LOCK_FILE), "process = 1\nhost = elsewhere\n").unwrap();
        refuse_taken(&folder).unwrap();
        let second = Lock::take(&folder).unwrap();
        assert_eq!(Holder::of(&folder.join(LOCK_FILE)), Holder::us());
        drop(second);
        assert!(folder.exists() && !folder.join(LOCK_FILE).exists());
    }

    /// File systems without locks.
    #[test]
    fn without_locks_the_process_is_looked_for() {
        let folder = Path::new("x.out");
        let holder = |process, host: &str| Holder {
            process: Some(process),
            host: host.into(),
            since: String::new(),
        };
        // The first process is always there; numbers this large are not given.
        holder(1, &host()).refuse_if_running(folder).unwrap_err();
        holder(u32::MAX - 1, &host()).refuse_if_running(folder).unwrap();
        let refusal = message(holder(u32::MAX - 1, "elsewhere").refuse_if_running(folder));
        assert!(
            refusal.contains("elsewhere") && refusal.contains(LOCK_FILE),
            "{refusal}"
        );
        Holder::default().refuse_if_running(folder).unwrap();
    }
}
