//! [`ModuleSource`]: the files and macros that a module is compiled from.

use std::fmt;

/// The headers of this crate, which every kernel may include.
const HEADERS: &[(&str, &str)] = &[
    ("prelude.cuh", include_str!("kernels/prelude.cuh")),
    ("digits.cuh", include_str!("kernels/digits.cuh")),
];

/// Files and defines that make a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSource {
    /// What to call it in messages.
    pub name: String,
    /// Files by name and text. The first is compiled; it may include the others.
    pub files: Vec<(String, String)>,
    /// Names and values of macros.
    pub defines: Vec<(String, String)>,
    /// Further options for NVRTC; the emulator takes no notice.
    pub options: Vec<String>,
}

impl ModuleSource {
    /// A module of one file, which may include the headers of this crate.
    pub fn new(name: &str, text: &str) -> Self {
        let module = Self {
            name: name.to_owned(),
            files: vec![(name.to_owned(), current(name, text))],
            defines: Vec::new(),
            options: Vec::new(),
        };
        module.headers(HEADERS)
    }

    /// With files of a crate that may be included.
    pub fn headers(mut self, files: &[(&str, &str)]) -> Self {
        let texts = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), current(name, text)));
        self.files.extend(texts);
        self
    }

    /// With this macro defined.
    pub fn define(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.defines.push((name.to_owned(), value.to_string()));
        self
    }

    /// With another file that may be included.
    pub fn include(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// With an option for NVRTC.
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// Name and macros, for messages.
    pub fn label(&self) -> String {
        let defines = self
            .defines
            .iter()
            .map(|(name, value)| format!(" {name}={value}"));
        std::iter::once(self.name.clone()).chain(defines).collect()
    }

    /// Everything that decides what comes out, for hashing.
    pub(crate) fn fingerprint(&self) -> Vec<&str> {
        let files = self.files.iter().chain(&self.defines);
        let pairs = files.flat_map(|(a, b)| [a.as_str(), b.as_str()]);
        pairs.chain(self.options.iter().map(String::as_str)).collect()
    }
}

/// The text of a kernel file: as it was built in, or, for work on kernels, from the first of the folders that
/// `DEBYE_KERNELS` names (as `PATH` names folders) that has it.
fn current(name: &str, built_in: &str) -> String {
    let folders = std::env::var_os("DEBYE_KERNELS").unwrap_or_default();
    std::env::split_paths(&folders)
        .filter(|folder| !folder.as_os_str().is_empty())
        .find_map(|folder| std::fs::read_to_string(folder.join(name)).ok())
        .unwrap_or_else(|| built_in.to_owned())
}
