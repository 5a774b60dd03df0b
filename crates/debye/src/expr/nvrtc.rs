//! [`Nvrtc`]: NVIDIA's run-time compiler, found and loaded where there is one.
//!
//! It compiles on machines without a GPU, so that printed kernels are tested everywhere.

// Loading a library and calling its C functions is unsafe by nature; nothing else here is.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;

use libloading::{Library, Symbol};

/// Why something was not compiled.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NvrtcError {
    /// No library was found.
    #[error(
        "NVRTC was not found (looked for {}); `pip install nvidia-cuda-nvrtc`, install the CUDA toolkit, or set \
         DEBYE_NVRTC to the path of the library",
        tried.join(", ")
    )]
    Missing {
        /// Where it was looked for.
        tried: Vec<String>,
    },
    /// The library lacks a function, or a call failed for a reason other than the source.
    #[error("NVRTC failed in {call}: {reason}")]
    Call {
        /// The function of the library.
        call: &'static str,
        /// What it said.
        reason: String,
    },
    /// The source or an option has a NUL byte.
    #[error("the text for NVRTC has a NUL byte")]
    NulByte,
    /// The source does not compile.
    #[error("NVRTC refused {name}:\n{log}")]
    Source {
        /// The name given to the source.
        name: String,
        /// The compiler's messages.
        log: String,
    },
}

/// A loaded run-time compiler.
#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    path: PathBuf,
    /// Held so that the compiler finds it already loaded: it asks for it by name alone, which the
    /// loader cannot answer where the folder is not on its path.
    _builtins: Option<Library>,
}

type Program = *mut c_void;

impl Nvrtc {
    /// The compiler of this process; looked for once.
    pub fn get() -> Result<&'static Self, NvrtcError> {
        static FOUND: OnceLock<Result<Nvrtc, NvrtcError>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref().map_err(Clone::clone)
    }

    /// Looks in `DEBYE_NVRTC` (and then nowhere else), the loader's own path, the CUDA toolkit and
    /// Python's packages, in this order.
    pub fn find() -> Result<Self, NvrtcError> {
        let mut tried = Vec::new();
        for candidate in candidates() {
            match Self::load(&candidate) {
                Ok(found) => return Ok(found),
                Err(_) => tried.push(candidate.display().to_string()),
            }
        }
        Err(NvrtcError::Missing { tried })
    }

    fn load(path: &Path) -> Result<Self, libloading::Error> {
        let builtins = path
            .parent()
            .and_then(|folder| library_in(folder, "libnvrtc-builtins.so"));
        // SAFETY: NVIDIA's libraries run no initialisers that depend on the state of this process.
        let builtins = builtins.and_then(|path| unsafe { Library::new(path) }.ok());
        // SAFETY: as above.
        let library = unsafe { Library::new(path) }?;
        Ok(Self {
            library,
            path: path.to_owned(),
            _builtins: builtins,
        })
    }

    /// Where the library is; a bare name where the loader found it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Major and minor version.
    pub fn version(&self) -> Result<(i32, i32), NvrtcError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the signature is that of nvrtc.h, and both pointers are valid for the call.
        let status = unsafe {
            let version: Symbol<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int> =
                self.symbol("nvrtcVersion")?;
            version(&mut major, &mut minor)
        };
        self.accept("nvrtcVersion", status)?;
        Ok((major, minor))
    }

    /// Compiles a source: to PTX for an architecture like `compute_90`, to a cubin for `sm_90`.
    pub fn compile(
        &self,
        name: &str,
        source: &str,
        architecture: &str,
        options: &[&str],
    ) -> Result<Vec<u8>, NvrtcError> {
        let program = self.create(name, source)?;
        let result = self.compile_program(program, name, architecture, options);
        let mut program = program;
        // SAFETY: the signature is that of nvrtc.h; `program` was made by `create` and is not used again.
        unsafe {
            let destroy: Symbol<unsafe extern "C" fn(*mut Program) -> c_int> =
                self.symbol("nvrtcDestroyProgram")?;
            destroy(&mut program);
        }
        result
    }

    fn create(&self, name: &str, source: &str) -> Result<Program, NvrtcError> {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        let (name, source) = (text(name)?, text(source)?);
        let mut program: Program = ptr::null_mut();
        // SAFETY: the signature is that of nvrtc.h; the strings end in NUL and outlive the call, and
        // without headers the last two pointers may be null.
        let status = unsafe {
            let create: Symbol<Create> = self.symbol("nvrtcCreateProgram")?;
            create(
                &mut program,
                source.as_ptr(),
                name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        self.accept("nvrtcCreateProgram", status)?;
        Ok(program)
    }

    fn compile_program(
        &self,
        program: Program,
        name: &str,
        architecture: &str,
        options: &[&str],
    ) -> Result<Vec<u8>, NvrtcError> {
        let machine_code = architecture.starts_with("sm_");
        let architecture = format!("--gpu-architecture={architecture}");
        let options = std::iter::once(architecture.as_str()).chain(options.iter().copied());
        let options = options.map(text).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the signature is that of nvrtc.h; `program` is alive, and there are as many
        // NUL-terminated options as stated, all of which outlive the call.
        let status = unsafe {
            let compile: Symbol<unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int> =
                self.symbol("nvrtcCompileProgram")?;
            compile(program, pointers.len() as c_int, pointers.as_ptr())
        };
        if status != 0 {
            let log = self.read(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?;
            let log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned();
            let log = if log.is_empty() { self.reason(status) } else { log };
            return Err(NvrtcError::Source {
                name: name.to_owned(),
                log,
            });
        }
        if machine_code {
            self.read(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
        } else {
            self.read(program, "nvrtcGetPTXSize", "nvrtcGetPTX")
        }
    }

    /// Reads what the library offers as a pair of functions: its size, then its bytes.
    fn read(
        &self,
        program: Program,
        size_call: &'static str,
        call: &'static str,
    ) -> Result<Vec<u8>, NvrtcError> {
        let mut size = 0_usize;
        // SAFETY: the signature is that of nvrtc.h; `program` is alive and `size` valid for the call.
        let status = unsafe {
            let get: Symbol<unsafe extern "C" fn(Program, *mut usize) -> c_int> = self.symbol(size_call)?;
            get(program, &mut size)
        };
        self.accept(size_call, status)?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the signature is that of nvrtc.h; the buffer is as long as the library asked for.
        let status = unsafe {
            let get: Symbol<unsafe extern "C" fn(Program, *mut c_char) -> c_int> = self.symbol(call)?;
            get(program, bytes.as_mut_ptr().cast())
        };
        self.accept(call, status)?;
        Ok(bytes)
    }

    /// # Safety
    /// `T` must be the type of that function in nvrtc.h.
    unsafe fn symbol<T>(&self, call: &'static str) -> Result<Symbol<'_, T>, NvrtcError> {
        // SAFETY: promised by the caller.
        let symbol = unsafe { self.library.get(call.as_bytes()) };
        symbol.map_err(|error| NvrtcError::Call {
            call,
            reason: error.to_string(),
        })
    }

    fn accept(&self, call: &'static str, status: c_int) -> Result<(), NvrtcError> {
        if status == 0 {
            Ok(())
        } else {
            Err(NvrtcError::Call {
                call,
                reason: self.reason(status),
            })
        }
    }

    fn reason(&self, status: c_int) -> String {
        // SAFETY: the signature is that of nvrtc.h, which returns a static string for any status.
        unsafe {
            let text: Result<Symbol<unsafe extern "C" fn(c_int) -> *const c_char>, _> =
                self.symbol("nvrtcGetErrorString");
            match text.map(|text| text(status)) {
                Ok(text) if !text.is_null() => CStr::from_ptr(text).to_string_lossy().into_owned(),
                _ => format!("status {status}"),
            }
        }
    }
}

fn text(text: &str) -> Result<CString, NvrtcError> {
    CString::new(text).map_err(|_| NvrtcError::NulByte)
}

/// Where the library may be, in the order of preference.
fn candidates() -> Vec<PathBuf> {
    if let Some(path) = env::var_os("DEBYE_NVRTC") {
        return vec![path.into()];
    }
    let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];
    let mut found: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(env::var_os)
        .map(PathBuf::from);
    for toolkit in toolkits.chain([PathBuf::from("/usr/local/cuda")]) {
        found.push(newest_or_named(&toolkit.join("lib64")));
    }
    for packages in python_packages() {
        for folder in ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"] {
            found.push(newest_or_named(&packages.join(folder)));
        }
    }
    found
}

/// The compiler in this folder, or what it would be called there, to be named in the error.
fn newest_or_named(folder: &Path) -> PathBuf {
    library_in(folder, "libnvrtc.so").unwrap_or_else(|| folder.join("libnvrtc.so"))
}

/// The file of this folder whose name is `stem` or begins with `stem` and a version; the newest.
fn library_in(folder: &Path, stem: &str) -> Option<PathBuf> {
    let versioned = format!("{stem}.");
    let files = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name == stem || name.starts_with(&versioned))
    };
    files.filter(fits).max()
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
    if let Ok(answer) = Command::new("python3").args(["-c", ask]).output() {
        folders.extend(String::from_utf8_lossy(&answer.stdout).lines().map(PathBuf::from));
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_carry_the_compilers_words() {
        let Ok(nvrtc) = Nvrtc::get() else { return };
        assert!(nvrtc.version().unwrap().0 >= 12);
        let ptx = nvrtc.compile(
            "ok.cu",
            "__global__ void k(float* x) { *x = 1.0f; }",
            "compute_90",
            &[],
        );
        assert!(String::from_utf8_lossy(&ptx.unwrap()).contains(".entry"));
        let error = nvrtc.compile("bad.cu", "__global__ void k() { nonsense; }", "compute_90", &[]);
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains("bad.cu") && message.contains("nonsense"),
            "{message}"
        );
        assert!(matches!(
            nvrtc.compile("nul.cu", "\0", "compute_90", &[]),
            Err(NvrtcError::NulByte)
        ));
    }
}
