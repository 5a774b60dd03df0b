//! `debye info`: this machine, this program, what is missing and how to get it; `debye info NAME`: a model's formula,
//! units and conventions.

use std::process::ExitCode;

use clap::Args;
use debye::engines::InstructionSet;
use debye::input::{SETS, components};
use debye::manual::{self, Absent, Entry, Key, Section};
use debye::run::report::processor;
use debye::system::{Units, models};
use debye_gpu::library::{self, Wanted};
use debye_gpu::{Device, Nvrtc};
use debye_io::Format;
use serde::Serialize;

use super::{cores, primitives};
use crate::console;
use crate::failure::Failure;

/// Show devices, libraries found, file formats and models; or the formula, units and conventions of one model
#[derive(Args)]
#[command(
    after_help = "Examples:\n  debye info\n  debye info harmonic-bond\n  debye info force-shift --json"
)]
pub struct Info {
    /// A potential, truncation, mixing rule, integrator, thermostat, barostat, constraint or minimizer
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print Markdown: the page of all models (docs/models.md), or of one
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

#[derive(Serialize)]
struct Answer {
    version: &'static str,
    processor: String,
    threads: usize,
    instruction_sets: Vec<&'static str>,
    memory_bytes: Option<u64>,
    driver: Option<String>,
    devices: Vec<DeviceLine>,
    libraries: Vec<LibraryLine>,
    formats: Vec<FormatLine>,
    potentials: Vec<Potential>,
    methods: Vec<Method>,
    models: Vec<Model>,
    force_fields: Vec<ForceFieldLine>,
}

/// A set for `[forcefield] include`.
#[derive(Serialize)]
struct ForceFieldLine {
    name: &'static str,
    species: Vec<String>,
    molecules: Vec<String>,
}

/// A model of the manual that is not a potential.
#[derive(Serialize)]
struct Method {
    name: &'static str,
    is: &'static str,
    formula: &'static str,
}

#[derive(Serialize)]
struct Model {
    name: &'static str,
    sites: Vec<&'static str>,
    citation: &'static str,
}

#[derive(Serialize)]
struct DeviceLine {
    name: String,
    compute_capability: String,
    multiprocessors: u32,
    memory_bytes: usize,
    memory_bytes_per_second: Option<f64>,
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
struct LibraryLine {
    name: &'static str,
    found: Option<String>,
    #[serde(skip)]
    help: String,
}

#[derive(Serialize)]
struct FormatLine {
    name: &'static str,
    extensions: &'static [&'static str],
    writes: bool,
}

#[derive(Serialize)]
struct Potential {
    name: &'static str,
    acts_on: &'static str,
    formula: &'static str,
    parameters: Vec<String>,
}

impl Info {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        if let Some(name) = &self.name {
            console::print(&super::manual::about(name, self.json, self.markdown)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.markdown {
            console::print(&manual::page())?;
            return Ok(ExitCode::SUCCESS);
        }
        let answer = Answer::new();
        let text = if self.json {
            console::json("info/1", &answer)?
        } else {
            answer.page()
        };
        console::print(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl DeviceLine {
    fn new(info: &debye_gpu::DeviceInfo) -> Self {
        Self {
            name: info.name.clone(),
            compute_capability: format!("{}.{}", info.capability.0, info.capability.1),
            multiprocessors: info.multiprocessors,
            memory_bytes: info.memory,
            memory_bytes_per_second: info.bandwidth,
            text: primitives::describe(info),
        }
    }
}

impl LibraryLine {
    fn new(wanted: Wanted) -> Self {
        let found = library::find(wanted);
        let path = found.as_ref().map(|found| found.path.display().to_string());
        let version = if wanted == Wanted::Nvrtc && found.is_ok() {
            Nvrtc::get().and_then(Nvrtc::version).ok()
        } else {
            None
        };
        let version = version.map(|(major, minor)| format!(", version {major}.{minor}"));
        Self {
            name: wanted.name(),
            found: path.ok().map(|path| path + &version.unwrap_or_default()),
            help: found.err().map(|missing| missing.to_string()).unwrap_or_default(),
        }
    }
}

impl Answer {
    fn new() -> Self {
        let entries = manual::entries();
        let potentials = entries.iter().filter_map(Potential::new).collect();
        let methods = entries
            .iter()
            .filter(|entry| Potential::new(entry).is_none())
            .map(|entry| Method {
                name: entry.name,
                is: entry.section.noun(),
                formula: manual::one_line(entry),
            })
            .collect();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            processor: processor(),
            threads: cores(),
            instruction_sets: InstructionSet::available()
                .into_iter()
                .map(InstructionSet::name)
                .collect(),
            memory_bytes: memory(),
            driver: debye_gpu::driver_version()
                .map(|(major, minor)| format!("for CUDA {major}.{minor}"))
                .ok(),
            devices: Device::list().iter().map(DeviceLine::new).collect(),
            libraries: Wanted::ALL.map(LibraryLine::new).into(),
            formats: Format::all()
                .map(|f| FormatLine {
                    name: f.name(),
                    extensions: f.extensions(),
                    writes: f.is_writable(),
                })
                .collect(),
            potentials,
            methods,
            models: Model::all(),
            force_fields: SETS
                .iter()
                .filter_map(|(name, _)| ForceFieldLine::new(name))
                .collect(),
        }
    }

    fn page(&self) -> String {
        let memory = self.memory_bytes.map_or("unknown".into(), |bytes| {
            format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
        });
        let mut rows = vec![
            ("processor", self.processor.clone()),
            ("threads", self.threads.to_string()),
            (
                "vectors",
                format!("{} (the first is used)", self.instruction_sets.join(", ")),
            ),
            ("memory", memory),
            (
                "CUDA",
                match (&self.driver, self.devices.len()) {
                    (None, _) => "no driver: everything runs on the CPU".into(),
                    (Some(version), 0) => format!("driver {version}, but it sees no device"),
                    (Some(version), _) => format!(
                        "driver {version}. Simulations run there with `--device cuda`, the same bits every time; \
                         `debye check --device cuda` checks the device"
                    ),
                },
            ),
        ];
        for device in &self.devices {
            rows.push(("device", device.text.clone()));
        }
        for library in &self.libraries {
            rows.push((
                library.name,
                library.found.clone().unwrap_or_else(|| library.help.clone()),
            ));
        }
        let mut text = format!("debye {}\n{}\nfiles\n", self.version, console::facts(&rows));
        for f in &self.formats {
            let how = if f.writes { "read and written" } else { "read" };
            text += &format!("  {:14} {:18} .{}\n", f.name, how, f.extensions.join(" ."));
        }
        text += "\npotentials\n";
        for p in &self.potentials {
            text += &format!("  {:24} {:10} {}\n", p.name, p.acts_on, p.formula);
            text += &format!("  {:24} {:10} {}\n", "", "", p.parameters.join(", "));
        }
        text += "\nmethods\n";
        for m in &self.methods {
            let is = m.is.trim_start_matches("long-range ");
            text += &format!("  {:18} {:15} {}\n", m.name, is, m.formula);
        }
        text += "\n`debye info NAME` has the whole formula, units, and the conventions of other programs\n";
        text += "\nmodels (species: model = \"tip3p:O\")\n";
        for m in &self.models {
            text += &format!("  {:24} {:40} {}\n", m.name, m.sites.join(" "), m.citation);
        }
        text += "\nforce fields ([forcefield] include = \"elba\"), their species and molecules\n";
        for f in &self.force_fields {
            let line = format!(
                "  {:24} {:40} {}",
                f.name,
                f.species.join(" "),
                f.molecules.join(" ")
            );
            text += &format!("{}\n", line.trim_end());
        }
        text
    }
}

impl ForceFieldLine {
    fn new(name: &'static str) -> Option<Self> {
        let set = components(name).ok()?;
        Some(Self {
            name,
            species: set.species.into_iter().map(|s| s.name).collect(),
            molecules: set.molecules.into_iter().map(|m| m.name).collect(),
        })
    }
}

impl Model {
    fn all() -> Vec<Self> {
        let waters = models::WATERS.iter().map(|m| Self {
            name: m.name,
            sites: m.sites().map(|site| site.name).into(),
            citation: m.citation,
        });
        let ions = models::IONS.iter().map(|set| Self {
            name: set.name,
            sites: set.ions.iter().map(|ion| ion.name).collect(),
            citation: set.citation,
        });
        waters.chain(ions).collect()
    }
}

impl Potential {
    /// The potentials of the manual; the rest of it is methods.
    fn new(entry: &Entry) -> Option<Self> {
        let acts_on = match entry.section {
            Section::Pair => "pairs",
            Section::Bond => "bonds",
            Section::Angle => "angles",
            Section::Dihedral => "dihedrals",
            Section::Oriented => "orientations",
            Section::Axis => "axes",
            _ => return None,
        };
        Some(Self {
            name: entry.name,
            acts_on,
            formula: manual::one_line(entry),
            parameters: entry.keys.iter().map(describe).collect(),
        })
    }
}

/// `epsilon (kJ/mol)`; those that may be left out with their default.
fn describe(key: &Key) -> String {
    let unit = key.takes.unit(Units::Md);
    let unit = if unit.is_empty() {
        unit
    } else {
        format!(" ({unit})")
    };
    let default = match key.absent {
        Absent::Value(x) => format!(" = {x}"),
        _ => String::new(),
    };
    format!("{}{unit}{default}", key.name)
}

/// Bytes of main memory, where the system says.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
