//! A folder to try things in, and the program to try.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// 500 argon atoms for twenty steps.
pub const ARGON: &str = r#"units = "md"
[system]
build = { kind = "lattice", lattice = "fcc", cells = [5, 5, 5], spacing = "5.5 Å", species = "Ar" }
[species.Ar]
mass = "39.948 u"
[[forces]]
kind = "lennard-jones"
cutoff = "10 Å"
truncation = "shift"
pairs = { Ar-Ar = { epsilon = "0.0104 eV", sigma = "3.40 Å" } }
[integrator]
kind = "nve"
timestep = "2 fs"
[run]
steps = 20
temperature = "120 K"
[output]
table = { every = 5 }
trajectory = { every = 5, file = "argon.xtc" }
checkpoint = { every = 10, keep = 1 }
final = "final.gro"
report = false
"#;

/// A folder of its own for a test.
pub struct Lab {
    folder: tempfile::TempDir,
}

/// What the program did.
pub struct Tried {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Lab {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A folder with `argon.toml` in it.
    pub fn with_argon(text: &str) -> Self {
        let lab = Self::new();
        lab.write("argon.toml", text);
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_debye"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    /// Runs the program to its end.
    pub fn debye(&self, arguments: &[&str]) -> Tried {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs the program and expects it to succeed.
    pub fn succeeds(&self, arguments: &[&str]) -> Tried {
        let tried = self.debye(arguments);
        assert_eq!(tried.status, Some(0), "{arguments:?}: {}", tried.err);
        tried
    }

    /// Runs a shell script with the program as `$0`.
    pub fn shell(&self, script: &str) -> Tried {
        let mut command = Command::new("sh");
        command
            .args(["-c", script, env!("CARGO_BIN_EXE_debye")])
            .current_dir(self.folder.path());
        command.output().unwrap().into()
    }

    /// Starts the program and lets it run.
    pub fn start(&self, arguments: &[&str]) -> Child {
        Self::let_run(self.command(arguments))
    }

    /// The same through another program.
    pub fn start_with(&self, wrapper: &[&str], arguments: &[&str]) -> Child {
        let mut command = Command::new(wrapper[0]);
        command
            .args(&wrapper[1..])
            .arg(env!("CARGO_BIN_EXE_debye"))
            .args(arguments)
            .current_dir(self.folder.path());
        Self::let_run(command)
    }

    fn let_run(mut command: Command) -> Child {
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Expects a refusal: the status, one message on standard error, and no file changed.
    pub fn refuses(&self, arguments: &[&str], status: i32, expected: &[&str]) -> Tried {
        let before = self.files();
        let tried = self.debye(arguments);
        tried.is_refusal(&format!("{arguments:?}"), status, expected);
        let after = self.files();
        for (name, content) in before {
            assert!(
                after.get(&name) == Some(&content),
                "{arguments:?} changed {}",
                name.display()
            );
        }
        tried
    }

    /// Every file with its content.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(self.folder.path(), &mut all);
        all
    }
}

fn collect(folder: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, all);
        } else if path.is_file() {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

impl From<Output> for Tried {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Tried {
    /// One message, without a trace of the inside of the program.
    pub fn is_refusal(&self, what: &str, status: i32, expected: &[&str]) {
        let err = &self.err;
        assert_eq!(self.status, Some(status), "{what}: {err}");
        assert!(err.starts_with("error: "), "{what}: {err}");
        assert_eq!(err.matches("error: ").count(), 1, "{what}: {err}");
        for inside in [
            "panicked",
            "RUST_BACKTRACE",
            "Err(",
            "Error {",
            "Some(",
            "None",
            "unwrap",
        ] {
            assert!(!err.contains(inside), "{what}: {err}");
        }
        for text in expected {
            assert!(err.contains(text), "{what}: `{text}` is missing in: {err}");
        }
    }
}

/// A text with one place changed.
pub fn changed(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}` is not there once");
    text.replace(from, to)
}
