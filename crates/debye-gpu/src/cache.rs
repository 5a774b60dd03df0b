//! Compiled kernels on disk, found by a hash of everything that decides what they are.
//!
//! A damaged entry counts as missing. A folder that cannot be read or written only costs time.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// What an entry begins with; a change of the format changes it.
const MAGIC: &[u8; 8] = b"DEBYEK01";

/// The hash of these texts, none of which can run into the next.
pub(crate) fn key<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The folder: `DEBYE_CACHE`, else where this system keeps such things.
pub(crate) fn folder() -> Option<PathBuf> {
    let set = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(folder) = set("DEBYE_CACHE") {
        return Some(folder);
    }
    let base = if cfg!(target_os = "windows") {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|home| home.join("Library/Caches"))
    } else {
        set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("debye"))
}

/// The entry of this key, made where there is none. Threads that want the same one wait for the first of them.
pub(crate) fn get<E>(key: &str, make: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Vec<u8>, E> {
    static MAKERS: Makers = Makers::new();
    MAKERS.alone(key, || get_in(folder().as_deref(), key, make))
}

/// Locks by key, of those entries that a thread of this process looks for.
struct Makers(Mutex<BTreeMap<String, Arc<Mutex<()>>>>);

impl Makers {
    const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Runs `work` while no other thread runs its own for the same key.
    fn alone<T>(&self, key: &str, work: impl FnOnce() -> T) -> T {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = Arc::clone(all().entry(key.to_owned()).or_default());
        let done = {
            let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
            work()
        };
        let mut all = all();
        // This thread's and the map's own: nobody else waits.
        if Arc::strong_count(&lock) == 2 {
            all.remove(key);
        }
        done
    }
}

fn get_in<E>(
    folder: Option<&Path>,
    key: &str,
    make: impl FnOnce() -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let path = folder.map(|folder| folder.join(key));
    if let Some(found) = path.as_deref().and_then(read) {
        return Ok(found);
    }
    let made = make()?;
    if let (Some(folder), Some(path)) = (folder, path) {
        // Only time is lost where this fails.
        let _ = write(folder, &path, &made);
    }
    Ok(made)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let sum = bytes.strip_prefix(MAGIC)?.get(..32)?;
    let content = &bytes[MAGIC.len() + 32..];
    if Sha256::digest(content).as_slice() != sum {
        return None;
    }
    bytes.drain(..MAGIC.len() + 32);
    Some(bytes)
}

fn write(folder: &Path, path: &Path, content: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    // Renamed when it is whole, so that nobody reads half of it.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(MAGIC)?;
    file.write_all(Sha256::digest(content).as_slice())?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(folder: Option<&Path>, made: &mut u32) -> Vec<u8> {
        let make = || {
            *made += 1;
            Ok::<_, ()>(b"machine code".to_vec())
        };
        get_in(folder, "entry", make).unwrap()
    }

    #[test]
    fn damage_is_noticed_and_mended() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut made) = (folder.path().join("entry"), 0);
        for _ in 0..2 {
            assert_eq!(fetch(Some(folder.path()), &mut made), b"machine code");
        }
        assert_eq!(made, 1);
        let whole = fs::read(&path).unwrap();
        for damage in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[damage] ^= 0x10;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(read(&path), None, "byte {damage}");
            fs::write(&path, &whole[..damage]).unwrap();
            assert_eq!(read(&path), None, "cut at {damage}");
        }
        assert_eq!(fetch(Some(folder.path()), &mut made), b"machine code");
        assert_eq!(made, 2);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn threads_make_an_entry_once() {
        let folder = tempfile::tempdir().unwrap();
        let (makers, made) = (Makers::new(), Mutex::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let make = || {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        *made.lock().unwrap() += 1;
                        Ok::<_, ()>(b"machine code".to_vec())
                    };
                    makers.alone("entry", || get_in(Some(folder.path()), "entry", make))
                });
            }
        });
        assert_eq!(made.into_inner().unwrap(), 1);
        assert!(makers.0.into_inner().unwrap().is_empty());
    }

    #[test]
    fn no_folder_is_no_error() {
        let mut made = 0;
        fetch(None, &mut made);
        let file = tempfile::NamedTempFile::new().unwrap();
        fetch(Some(&file.path().join("below a file")), &mut made);
        assert_eq!(made, 2);
    }

    #[test]
    fn keys_do_not_run_together() {
        assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
        assert_eq!(key(["a"]).len(), 64);
    }
}
