//! Kernel files compiled for the host: the shared library behind an emulated device.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cache;
use crate::error::CudaError;
use crate::source::ModuleSource;

/// The files of the emulator.
const RUNTIME: &[(&str, &str)] = &[
    ("emulator.h", include_str!("runtime/emulator.h")),
    ("emulator.cpp", include_str!("runtime/emulator.cpp")),
    ("fiber.h", include_str!("runtime/fiber.h")),
    ("races.h", include_str!("runtime/races.h")),
    ("races.cpp", include_str!("runtime/races.cpp")),
];

/// What is watched while kernels run on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instrument {
    /// Barriers and collectives only.
    #[default]
    Nothing,
    /// Also bad memory accesses and undefined behavior. The process must have been started with
    /// [`Emulation::preload`](super::Emulation::preload).
    Memory,
    /// Also accesses to the same word with no barrier between them.
    Races,
}

/// A C++ compiler of this machine.
#[derive(Clone, Debug)]
pub(super) struct HostCompiler {
    command: String,
    version: String,
}

impl HostCompiler {
    /// The one named by `CXX`, else the first of the usual names.
    pub(super) fn find() -> Result<Self, CudaError> {
        let named = env::var("CXX").ok().filter(|name| !name.is_empty());
        let names: Vec<String> = match named {
            Some(name) => vec![name],
            None => ["c++", "g++", "clang++"].map(String::from).into(),
        };
        for command in &names {
            if let Ok(answer) = Command::new(command).arg("--version").output()
                && answer.status.success()
            {
                return Ok(Self {
                    command: command.clone(),
                    version: String::from_utf8_lossy(&answer.stdout).into_owned(),
                });
            }
        }
        Err(CudaError::Missing {
            what: "a C++ compiler",
            help: format!(
                "the emulated device compiles its kernels with one; {} did not answer. Install g++ or clang++, or \
                 set CXX",
                names.join(", ")
            ),
        })
    }

    /// Where the compiler keeps a library of its own, such as the address sanitizer's.
    pub(super) fn own_library(&self, name: &str) -> Option<String> {
        let ask = Command::new(&self.command)
            .arg(format!("-print-file-name={name}"))
            .output();
        let path = String::from_utf8_lossy(&ask.ok()?.stdout).trim().to_owned();
        Path::new(&path).is_absolute().then_some(path)
    }

    /// The bytes of the shared library.
    pub(super) fn compile(
        &self,
        source: &ModuleSource,
        instrument: Instrument,
    ) -> Result<Vec<u8>, CudaError> {
        let common = common(instrument);
        let mut texts = vec!["host", self.command.as_str(), self.version.as_str()];
        texts.extend(common.iter().copied());
        texts.extend(kernels_only(instrument));
        texts.extend(RUNTIME_ONLY.iter().copied());
        texts.extend(RUNTIME.iter().map(|(_, text)| *text));
        let runtime_key = cache::key(texts.iter().copied());
        texts.extend(source.fingerprint());
        cache::get(&cache::key(texts), || {
            // The emulator itself is the same for all modules.
            let runtime = cache::get(&runtime_key, || {
                let arguments = ["-c", "emulator.cpp", "-o", "out"];
                self.call(
                    "the emulator",
                    &[],
                    [&common[..], RUNTIME_ONLY, &arguments].concat(),
                )
            })?;
            let kernels = self.kernels(source, instrument)?;
            let objects = [
                ("kernels.o", kernels.as_slice()),
                ("runtime.o", runtime.as_slice()),
            ];
            let arguments = ["-shared", "kernels.o", "runtime.o", "-ldl", "-o", "out"];
            self.call(&source.label(), &objects, [&common[..], &arguments].concat())
        })
    }

    /// The object file of the kernels.
    fn kernels(&self, source: &ModuleSource, instrument: Instrument) -> Result<Vec<u8>, CudaError> {
        let defines: Vec<String> = source
            .defines
            .iter()
            .map(|(name, value)| format!("-D{name}={value}"))
            .collect();
        let file = source.files.first().map_or("", |(name, _)| name.as_str());
        let mut arguments = common(instrument);
        arguments.extend(kernels_only(instrument));
        arguments.extend(defines.iter().map(String::as_str));
        arguments.extend(["-include", "emulator.h", "-x", "c++", "-c", file, "-o", "out"]);
        let files: Vec<(&str, &[u8])> = source
            .files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes()))
            .collect();
        self.call(&source.label(), &files, arguments)
    }

    /// Runs the compiler in a folder with the emulator and these files; gives the file `out`.
    fn call(&self, what: &str, files: &[(&str, &[u8])], arguments: Vec<&str>) -> Result<Vec<u8>, CudaError> {
        let failed = |error: &dyn std::fmt::Display| {
            CudaError::HostCompiler(format!("{} refused {what}: {error}", self.command))
        };
        let folder = tempfile::tempdir().map_err(|e| failed(&e))?;
        let runtime = RUNTIME.iter().map(|(name, text)| (*name, text.as_bytes()));
        for (name, text) in runtime.chain(files.iter().copied()) {
            fs::write(folder.path().join(name), text).map_err(|e| failed(&e))?;
        }
        // A sanitizer that this process was started with would watch the compiler too, and double its time.
        let answer = Command::new(&self.command)
            .args(&arguments)
            .env_remove("LD_PRELOAD")
            .current_dir(folder.path())
            .output()
            .map_err(|e| failed(&e))?;
        let messages = String::from_utf8_lossy(&answer.stderr);
        if !answer.status.success() || !messages.trim().is_empty() {
            return Err(failed(&messages));
        }
        fs::read(folder.path().join("out")).map_err(|e| failed(&e))
    }
}

/// Options of every call.
fn common(instrument: Instrument) -> Vec<&'static str> {
    let mut options = vec![
        "-std=c++17",
        "-fvisibility=hidden",
        "-fPIC",
        "-I.",
        "-ffp-contract=off",
        "-fno-strict-aliasing",
    ];
    match instrument {
        Instrument::Nothing => options.push("-w"),
        // What `-fno-sanitize` names either ends in a bad access, which the address sanitizer finds, or is of no class
        // of kernels: it takes a fifth of the time to compile. Watching the scopes of local variables takes a third
        // of what is left. Kernels keep no addresses of them, and `-Wall` knows of those that outlive their scope.
        Instrument::Memory => options.extend([
            "-g1",
            "-fsanitize=address,undefined",
            "-fno-sanitize=null,object-size,pointer-overflow,vptr",
            "-fno-sanitize-address-use-after-scope",
            "-fno-sanitize-recover=all",
            "-fno-omit-frame-pointer",
        ]),
        Instrument::Races => options.extend(["-g1", "-DDEBYE_RACE_CHECK"]),
    }
    options
}

/// Options of the emulator itself, which is compiled once for all modules.
const RUNTIME_ONLY: &[&str] = &["-O2"];

/// Options of kernels.
fn kernels_only(instrument: Instrument) -> Vec<&'static str> {
    // Names of lines and warnings take a quarter of the time: those who watch ask for them.
    if instrument == Instrument::Nothing {
        return vec!["-O1"];
    }
    // What is watched takes long to compile: a third less this way, and it runs as fast.
    let mut options = vec![
        "-Og",
        "-Wall",
        "-Wextra",
        "-Wno-unknown-pragmas",
        "-Wno-unused-function",
        "-Wno-unused-parameter",
    ];
    if instrument == Instrument::Races {
        // The calls it makes are answered by races.cpp, not by the sanitizer's own library.
        options.push("-fsanitize=thread");
    }
    options
}
