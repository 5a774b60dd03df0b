//! NVIDIA's libraries on this machine: where they are looked for, and what to do where they are missing.
//!
//! In this order: a variable that names the file, the system's own search, the CUDA toolkit, Python's packages, and
//! the folder of the program.

// Loading a library is unsafe by nature; nothing else here is.
#![allow(unsafe_code)]

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;

/// A library that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The driver.
    Driver,
    /// The run-time compiler.
    Nvrtc,
    /// Fourier transforms.
    Cufft,
}

/// A library that was found and loaded.
#[derive(Debug)]
pub struct Found {
    /// Where it is; a bare name where the system found it.
    pub path: PathBuf,
    /// Its functions.
    pub library: Library,
}

/// A library that was not found.
#[derive(Clone, Debug)]
pub struct Missing {
    /// Which.
    pub wanted: Wanted,
    /// Where it was looked for.
    pub tried: Vec<PathBuf>,
}

impl Wanted {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Driver, Self::Nvrtc, Self::Cufft];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Driver => "NVIDIA driver",
            Self::Nvrtc => "NVRTC",
            Self::Cufft => "cuFFT",
        }
    }

    /// The variable that names the file, and then nothing else is tried.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Driver => "DEBYE_CUDA_DRIVER",
            Self::Nvrtc => "DEBYE_NVRTC",
            Self::Cufft => "DEBYE_CUFFT",
        }
    }

    /// File names, the preferred first.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Driver => &["libcuda.so.1", "libcuda.so"],
            Self::Nvrtc => &["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"],
            Self::Cufft => &["libcufft.so", "libcufft.so.12", "libcufft.so.11"],
        }
    }

    /// What file names begin with, before the version.
    fn stem(self) -> &'static str {
        match self {
            Self::Driver => "libcuda.so",
            Self::Nvrtc => "libnvrtc.so",
            Self::Cufft => "libcufft.so",
        }
    }

    /// How to get it.
    fn remedy(self) -> &'static str {
        match self {
            Self::Driver => {
                "install NVIDIA's driver (version 550 or newer), in a container with `--gpus all`"
            }
            Self::Nvrtc => "`pip install nvidia-cuda-nvrtc`, or install the CUDA toolkit",
            Self::Cufft => "`pip install nvidia-cufft`, or install the CUDA toolkit",
        }
    }

    /// Everywhere it may be, in order; made as it is walked through, because Python is slow to answer.
    pub fn candidates(self) -> Box<dyn Iterator<Item = PathBuf>> {
        if let Some(path) = env::var_os(self.variable()) {
            return Box::new(std::iter::once(path.into()));
        }
        let names = self.files().iter().map(PathBuf::from);
        let elsewhere = std::iter::once(self).flat_map(Self::elsewhere);
        Box::new(names.chain(elsewhere))
    }

    /// Files of this kind in folders that the system does not search.
    fn elsewhere(self) -> Vec<PathBuf> {
        let folders = if self == Self::Driver {
            driver_folders()
        } else {
            folders().clone()
        };
        folders
            .iter()
            .filter_map(|folder| newest_in(folder, self.stem()))
            .collect()
    }
}

impl Missing {
    /// What to do about it.
    pub fn help(&self) -> String {
        let tried: Vec<String> = self.tried.iter().map(|path| path.display().to_string()).collect();
        format!(
            "{}, or set {} to the path of the library (tried {}{})",
            self.wanted.remedy(),
            self.wanted.variable(),
            tried.join(", "),
            if self.wanted == Wanted::Driver {
                ""
            } else {
                "; also the CUDA toolkit, Python's packages and the folder of the program"
            }
        )
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not found: {}", self.help())
    }
}

/// Finds and loads a library.
pub fn find(wanted: Wanted) -> Result<Found, Missing> {
    let mut tried = Vec::new();
    for path in wanted.candidates() {
        // SAFETY: NVIDIA's libraries run no initializers that depend on the state of this process.
        match unsafe { Library::new(&path) } {
            Ok(library) => return Ok(Found { path, library }),
            Err(_) => tried.push(path),
        }
    }
    Err(Missing { wanted, tried })
}

/// The file of a folder whose name is `stem`, or `stem` and a version; the newest.
pub(super) fn newest_in(folder: &Path, stem: &str) -> Option<PathBuf> {
    let files = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let version = |path: &PathBuf| -> Option<Vec<u32>> {
        let rest = path.file_name()?.to_str()?.strip_prefix(stem)?;
        let numbers = match rest.strip_prefix('.') {
            None if rest.is_empty() => return Some(Vec::new()),
            None => return None,
            Some(rest) => rest.split('.'),
        };
        numbers.map(|number| number.parse().ok()).collect()
    };
    files
        .filter_map(|path| Some((version(&path)?, path)))
        .max()
        .map(|(_, path)| path)
}

/// Where drivers are apart from the system's own places.
fn driver_folders() -> Vec<PathBuf> {
    let known = [
        "/usr/local/nvidia/lib64",
        "/usr/local/nvidia/lib",
        "/usr/lib/wsl/lib",
    ];
    let compat = toolkits().into_iter().map(|toolkit| toolkit.join("compat"));
    known.iter().map(PathBuf::from).chain(compat).collect()
}

/// Folders of libraries other than the driver; looked for once, as Python is slow to answer.
fn folders() -> &'static Vec<PathBuf> {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let mut found = Vec::new();
        for toolkit in toolkits() {
            let target = format!("targets/{}-linux/lib", env::consts::ARCH);
            for below in ["lib64", "lib", target.as_str()] {
                found.push(toolkit.join(below));
            }
        }
        for packages in python_packages() {
            let families = packages.join("nvidia").read_dir().into_iter().flatten().flatten();
            let mut families: Vec<PathBuf> = families.map(|family| family.path().join("lib")).collect();
            families.sort();
            found.extend(families);
        }
        if let Some(own) = env::current_exe().ok().as_deref().and_then(Path::parent) {
            found.extend([own.to_owned(), own.join("lib"), own.join("../lib")]);
        }
        found
    })
}

/// CUDA toolkits: those named by variables, the one `nvcc` is of, those in the usual place.
fn toolkits() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os);
    let mut found: Vec<PathBuf> = named.map(PathBuf::from).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    let compilers = env::split_paths(&path).map(|folder| folder.join("nvcc"));
    let compiler = compilers.filter_map(|nvcc| nvcc.canonicalize().ok()).next();
    found.extend(compiler.and_then(|nvcc| Some(nvcc.parent()?.parent()?.to_owned())));
    let local = Path::new("/usr/local").read_dir().into_iter().flatten().flatten();
    let is_cuda = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("cuda"))
    };
    let mut local: Vec<PathBuf> = local.map(|entry| entry.path()).filter(is_cuda).collect();
    // `cuda` itself is what the administrator chose; then the newest.
    local.sort_by_key(|path| (!path.ends_with("cuda"), std::cmp::Reverse(path.clone())));
    found.extend(local);
    found
}

/// Folders that Python packages are installed in: the active environment's, then those of `python3`.
fn python_packages() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(environment) = env::var_os("VIRTUAL_ENV") {
        let lib = Path::new(&environment).join("lib");
        let versions = lib.read_dir().into_iter().flatten().flatten();
        folders.extend(versions.map(|version| version.path().join("site-packages")));
    }
    let ask = "import site; print('\\n'.join(site.getsitepackages() + [site.getusersitepackages()]))";
    let pythons = ["python3", "python"].into_iter();
    let answer = pythons
        .filter_map(|python| Command::new(python).args(["-c", ask]).output().ok())
        .find(|answer| answer.status.success());
    if let Some(answer) = answer {
        folders.extend(String::from_utf8_lossy(&answer.stdout).lines().map(PathBuf::from));
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "libnvrtc.so",
            "libnvrtc.so.9",
            "libnvrtc.so.12",
            "libnvrtc.alt.so.13",
            "libnvrtc.so.x",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let newest = newest_in(folder.path(), "libnvrtc.so").unwrap();
        assert!(newest.ends_with("libnvrtc.so.12"), "{}", newest.display());
        assert_eq!(newest_in(folder.path(), "libcufft.so"), None);
    }

    #[test]
    fn what_is_missing_is_explained() {
        let missing = Missing {
            wanted: Wanted::Nvrtc,
            tried: vec!["libnvrtc.so".into()],
        };
        let text = missing.to_string();
        for part in ["pip install", "DEBYE_NVRTC", "libnvrtc.so", "toolkit"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
