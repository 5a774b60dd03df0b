//! [`Nvrtc`]: NVIDIA's run-time compiler, found and loaded where there is one.
//!
//! It compiles on machines without a GPU, so that printed kernels are tested everywhere.

// Loading a library and calling its C functions is unsafe by nature; nothing else here is.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use libloading::{Library, Symbol};

use super::library::{self, Wanted};
use crate::error::NvrtcError;

/// A loaded run-time compiler.
#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    path: PathBuf,
    /// Kept so that the compiler finds it already loaded: it asks for it by name alone, which the loader cannot
    /// answer where the folder is not on its path.
    _builtins: Option<Library>,
}

type Program = *mut c_void;

/// What came out of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// PTX or machine code.
    pub code: Vec<u8>,
    /// Warnings; empty if there are none.
    pub log: String,
}

impl Nvrtc {
    /// The compiler of this process; looked for once.
    pub fn get() -> Result<&'static Self, NvrtcError> {
        static FOUND: OnceLock<Result<Nvrtc, NvrtcError>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref().map_err(Clone::clone)
    }

    /// Looks where [`library`] says.
    pub fn find() -> Result<Self, NvrtcError> {
        let found =
            library::find(Wanted::Nvrtc).map_err(|missing| NvrtcError::Missing { help: missing.help() })?;
        let builtins = found
            .path
            .parent()
            .and_then(|folder| library::newest_in(folder, "libnvrtc-builtins.so"));
        // SAFETY: NVIDIA's libraries run no initializers that depend on the state of this process.
        let builtins = builtins.and_then(|path| unsafe { Library::new(path) }.ok());
        Ok(Self {
            library: found.library,
            path: found.path,
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

    /// Architectures it can make machine code for, such as 90 for `sm_90`.
    pub fn architectures(&self) -> Result<Vec<u32>, NvrtcError> {
        let mut count: c_int = 0;
        // SAFETY: the signature is that of nvrtc.h, and the pointer is valid for the call.
        let status = unsafe {
            let number: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int> =
                self.symbol("nvrtcGetNumSupportedArchs")?;
            number(&mut count)
        };
        self.accept("nvrtcGetNumSupportedArchs", status)?;
        let mut list = vec![0 as c_int; usize::try_from(count).unwrap_or(0)];
        // SAFETY: as above; the list is as long as the library asked for.
        let status = unsafe {
            let get: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int> =
                self.symbol("nvrtcGetSupportedArchs")?;
            get(list.as_mut_ptr())
        };
        self.accept("nvrtcGetSupportedArchs", status)?;
        Ok(list.into_iter().filter_map(|a| u32::try_from(a).ok()).collect())
    }

    /// Compiles a source: to PTX for an architecture like `compute_90`, to a cubin for `sm_90`.
    pub fn compile(
        &self,
        name: &str,
        source: &str,
        architecture: &str,
        options: &[&str],
    ) -> Result<Vec<u8>, NvrtcError> {
        let compiled = self.compile_with(name, source, &[], architecture, options)?;
        Ok(compiled.code)
    }

    /// The same with headers, by name and text, that the source may include; gives warnings too.
    pub fn compile_with(
        &self,
        name: &str,
        source: &str,
        headers: &[(String, String)],
        architecture: &str,
        options: &[&str],
    ) -> Result<Compiled, NvrtcError> {
        let program = self.create(name, source, headers)?;
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

    fn create(&self, name: &str, source: &str, headers: &[(String, String)]) -> Result<Program, NvrtcError> {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        let (name, source) = (text(name)?, text(source)?);
        let header_names = headers
            .iter()
            .map(|(name, _)| text(name))
            .collect::<Result<Vec<_>, _>>()?;
        let header_texts = headers
            .iter()
            .map(|(_, body)| text(body))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers = |list: &[CString]| list.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (name_pointers, text_pointers) = (pointers(&header_names), pointers(&header_texts));
        let mut program: Program = ptr::null_mut();
        // SAFETY: the signature is that of nvrtc.h; the strings end in NUL and outlive the call, and there are
        // as many headers as stated.
        let status = unsafe {
            let create: Symbol<Create> = self.symbol("nvrtcCreateProgram")?;
            create(
                &mut program,
                source.as_ptr(),
                name.as_ptr(),
                headers.len() as c_int,
                text_pointers.as_ptr(),
                name_pointers.as_ptr(),
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
    ) -> Result<Compiled, NvrtcError> {
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
        let log = self.read(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?;
        let log = String::from_utf8_lossy(&log)
            .trim_end_matches(['\0', '\n'])
            .to_owned();
        if status != 0 {
            let log = if log.is_empty() { self.reason(status) } else { log };
            return Err(NvrtcError::Source {
                name: name.to_owned(),
                log,
            });
        }
        let code = if machine_code {
            self.read(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")?
        } else {
            self.read(program, "nvrtcGetPTXSize", "nvrtcGetPTX")?
        };
        Ok(Compiled { code, log })
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
