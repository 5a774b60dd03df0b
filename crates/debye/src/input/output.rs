//! `[run]`, `[neighbors]`, `[output]` and `[[analyze]]`.

use std::cell::LazyCell;
use std::path::{Path, PathBuf};

use debye_io::Format;
use debye_io::volumes::VolumeFormat;

use super::dynamics::Surroundings;
use super::error::InputError;
use super::forces::{MOST_IMAGES, number, shortest_period};
use super::reader::{Item, Section};
use crate::analysis::{
    ANALYSES, AnalysisError, AnalysisKind, AnalysisRequest, Setting, SettingKind, SettingValue,
};
use crate::engines::{ListKind, Precision};
use crate::maps::{MapError, MapMethod};
use crate::simulation::{
    AnalysisPlan, Buffer, CheckpointPlan, DeviceChoice, MOST_STEPS, MapPlan, NeighborOptions, OutputPlan,
    RunPlan, Simulation, TablePlan, TrajectoryPlan,
};
use crate::system::{Dimension, System, Units};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const RUN_KEYS: &[&str] = &[
    "steps",
    "equilibration",
    "temperature",
    "seed",
    "precision",
    "device",
    "remove_momentum_every",
];
pub(super) const NEIGHBORS_KEYS: &[&str] = &["buffer", "drift_tolerance", "lists"];
pub(super) const OUTPUT_KEYS: &[&str] = &[
    "folder",
    "table",
    "trajectory",
    "map",
    "checkpoint",
    "final",
    "report",
];
pub(super) const TABLE_KEYS: &[&str] = &["every", "file"];
pub(super) const TRAJECTORY_KEYS: &[&str] = &["every", "file", "unwrap", "species", "orientations"];
pub(super) const MAP_KEYS: &[&str] = &[
    "every",
    "file",
    "from",
    "spacing",
    "padding",
    "method",
    "units",
    "temperature",
    "permittivity",
    "tolerance",
    "center",
];
pub(super) const CHECKPOINT_KEYS: &[&str] = &["every", "file", "keep"];
pub(super) const ANALYZE_KEYS: &[&str] = &["kind", "every", "from", "file"];

/// Files that every run may write.
const ALWAYS: [&str; 6] = [
    "input.toml",
    "files.txt",
    "report.html",
    "first.png",
    "last.png",
    ".debye.lock",
];

const STEPS: &str = "a number of steps of at least 1";

/// `[run]`, and how often the motion of the center of mass is removed. What moves needs a number of steps.
pub(super) fn run(item: Option<&Item>, units: Units, moves: bool) -> Result<(RunPlan, Option<u64>)> {
    let mut plan = RunPlan::default();
    let Some(item) = item else { return Ok((plan, None)) };
    let section = item.section("[run]", RUN_KEYS)?;
    match section.get("steps") {
        Some(steps) => {
            plan.steps = steps.whole(1..=MOST_STEPS, &format!("{STEPS} and at most {MOST_STEPS}"))?;
        }
        None if moves => return Err(section.missing("steps", "steps = 10_000")),
        None => {}
    }
    plan.temperature = section.map("temperature", |i| i.not_negative(units, Dimension::TEMPERATURE))?;
    plan.seed = section
        .map("seed", |i| i.whole(.., "a whole number of at least 0"))?
        .unwrap_or(plan.seed);
    if let Some(precision) = section.map("precision", |i| i.choice("precision", Precision::NAMES))? {
        plan.precision = precision;
    }
    if let Some(item) = section.get("device") {
        plan.device = item
            .text()?
            .parse::<DeviceChoice>()
            .map_err(|_| item.unknown("device", &["auto", "cpu", "cuda", "cuda:0", "cuda:1"]))?;
    }
    let every = section.map("remove_momentum_every", |i| {
        i.whole(0..=MOST_STEPS, "a number of steps, or 0")
    })?;
    Ok((plan, every))
}

/// A number of steps, or a time as a text; rounded up to whole steps.
fn steps_or_time(item: &Item, units: Units, timestep: f64) -> Result<u64> {
    const EXPECTED: &str = "a number of steps, or a time in quotes";
    if !item.is_text() {
        return item.whole(0..=MOST_STEPS, EXPECTED);
    }
    let steps = (item.not_negative(units, Dimension::TIME)? / timestep - ROUNDING).ceil();
    if steps <= MOST_STEPS as f64 {
        Ok(steps.max(0.0) as u64)
    } else {
        Err(item.wrong(format!("a time of at most {MOST_STEPS} steps")))
    }
}

/// A time that is a whole number of steps but for rounding is taken for that.
const ROUNDING: f64 = 1e-6;

/// `equilibration` of `[run]`, in steps; nothing without a time step.
pub(super) fn equilibration(run: Option<&Item>, units: Units, timestep: f64) -> Result<u64> {
    let section = run.map(|item| item.section("[run]", RUN_KEYS)).transpose()?;
    let item = section.as_ref().and_then(|s| s.get("equilibration"));
    match item {
        Some(item) if timestep > 0.0 => steps_or_time(item, units, timestep),
        _ => Ok(0),
    }
}

pub(super) fn neighbors(item: Option<&Item>, units: Units) -> Result<NeighborOptions> {
    let mut options = NeighborOptions::default();
    let Some(item) = item else { return Ok(options) };
    let section = item.section("[neighbors]", NEIGHBORS_KEYS)?;
    if let Some(item) = section.get("buffer")
        && item.text().ok() != Some("auto")
    {
        options.buffer = Buffer::Length(item.not_negative(units, Dimension::LENGTH)?);
    }
    // Energy per time: kJ/mol/ps.
    let power = Dimension {
        time: -3,
        ..Dimension::ENERGY
    };
    options.drift_tolerance = section.map("drift_tolerance", |i| i.positive(units, power))?;
    options.lists = section
        .map("lists", |i| i.choice("kind of list", ListKind::NAMES))?
        .flatten();
    Ok(options)
}

/// Refuses a buffer that lists everything many times over: a misplaced unit.
pub(super) fn refuse_absurd_buffer(root: &Section, system: &System, cutoff: f64) -> Result<()> {
    let section = root.map("neighbors", |i| i.section("[neighbors]", NEIGHBORS_KEYS))?;
    let item = section.as_ref().and_then(|s| s.get("buffer"));
    let Some(item) = item.filter(|i| i.text().ok() != Some("auto")) else {
        return Ok(());
    };
    let buffer = item.not_negative(system.units, Dimension::LENGTH)?;
    let unit = system.units.label(Dimension::LENGTH);
    let shortest = shortest_period(&system.cell);
    if cutoff > 0.0 && buffer > MOST_IMAGES * cutoff {
        let most = number(MOST_IMAGES * cutoff);
        return Err(item
            .error(format!(
                "is {} {unit}, more than {MOST_IMAGES} times the longest cut-off ({} {unit})",
                number(buffer),
                number(cutoff)
            ))
            .expected(format!("at most {most} {unit}"))
            .help("leave it out: the buffer then follows the speed of the particles"));
    }
    if cutoff + buffer > MOST_IMAGES * shortest {
        return Err(item
            .error(format!(
                "makes lists of {} {unit}, more than {MOST_IMAGES} times the shortest height of the cell ({} {unit})",
                number(cutoff + buffer),
                number(shortest)
            ))
            .expected(format!("at most {} {unit}", number(MOST_IMAGES * shortest - cutoff)))
            .help("leave it out: the buffer then follows the speed of the particles"));
    }
    Ok(())
}

/// What output is read against.
pub(super) struct Outputs<'s, 'a> {
    pub(super) around: &'s Surroundings<'s, 'a>,
    /// Folder of the input file.
    pub(super) folder: &'s Path,
    /// The input file's name without extension.
    pub(super) stem: String,
    /// Length of a step; 0 where nothing moves.
    pub(super) timestep: f64,
    /// Steps that analyses leave out unless they say something else.
    pub(super) equilibration: u64,
    pub(super) files: Vec<PathBuf>,
}

impl Outputs<'_, '_> {
    pub(super) fn output(&mut self, item: Option<&Item>) -> Result<OutputPlan> {
        let mut plan = OutputPlan::new(self.folder.join(format!("{}.out", self.stem)));
        self.files.extend(ALWAYS.map(PathBuf::from));
        let checkpoint = format!("{}.checkpoint", self.stem);
        let planned = |item: &Item| {
            item.entries()
                .is_ok_and(|e| e.iter().any(|(key, _)| *key == "checkpoint"))
        };
        if !item.is_some_and(planned) {
            // A run without a plan writes this one when it ends.
            self.files.push(checkpoint.clone().into());
        }
        let Some(item) = item else { return Ok(plan) };
        let section = item.section("[output]", OUTPUT_KEYS)?;
        if let Some(item) = section.get("folder") {
            plan.folder = Some(self.folder.join(item.file_name()?));
        }
        if let Some(item) = section.get("table") {
            let section = item.section("`table`", TABLE_KEYS)?;
            plan.table = Some(TablePlan {
                every: every(&section)?,
                file: self.file(&section, "energy.csv")?,
            });
        }
        if let Some(item) = section.get("trajectory") {
            for item in item.one_or_many() {
                let section = item.section("`trajectory`", TRAJECTORY_KEYS)?;
                plan.trajectories.push(TrajectoryPlan {
                    every: every(&section)?,
                    file: self.structure_file(&section, &format!("{}.xtc", self.stem.clone()))?,
                    unwrap: section.map("unwrap", Item::flag)?.unwrap_or(false),
                    species: self.species(&section)?,
                    orientations: section.map("orientations", Item::flag)?.unwrap_or(true),
                });
            }
        }
        if let Some(item) = section.get("map") {
            for item in item.one_or_many() {
                let map = self.map(&item)?;
                plan.maps.push(map);
            }
        }
        if let Some(item) = section.get("checkpoint") {
            let section = item.section("`checkpoint`", CHECKPOINT_KEYS)?;
            let keep = section.map("keep", |i| i.count(1..=1000, "a whole number from 1 to 1000"))?;
            plan.checkpoint = Some(CheckpointPlan {
                every: every(&section)?,
                file: self.file(&section, &checkpoint)?,
                keep: keep.unwrap_or(2),
            });
        }
        if let Some(item) = section.get("final") {
            for item in item.one_or_many() {
                let file = self.claim(&item, item.file_name()?)?;
                writable(&item, &file)?;
                if !Format::from_path(&file).is_ok_and(Format::has_atoms) {
                    return Err(
                        item.wrong("a structure file that holds the names of atoms, such as final.gro")
                    );
                }
                plan.last.push(file);
            }
        }
        plan.report = section.map("report", Item::flag)?.unwrap_or(true);
        Ok(plan)
    }

    fn map(&mut self, item: &Item) -> Result<MapPlan> {
        let section = item.section("`map`", MAP_KEYS)?;
        let mut plan = MapPlan::new(every(&section)?, self.file(&section, "map.dx")?);
        if let Err(error) = VolumeFormat::from_path(&plan.file) {
            let named = section.get("file").unwrap_or(item);
            return Err(named
                .error(error.to_string())
                .help("one of dx, mrc, ccp4, map, cube, npy"));
        }
        let claimed = plan.error_file();
        self.claim(item, &claimed.to_string_lossy())?;
        let units = self.around.units;
        plan.from = match section.get("from") {
            Some(item) if self.timestep > 0.0 => steps_or_time(item, units, self.timestep)?,
            _ => self.equilibration,
        };
        let length = |i: &Item| i.positive(units, Dimension::LENGTH);
        plan.spacing = section.map("spacing", length)?.unwrap_or(plan.spacing);
        plan.padding = section.map("padding", length)?.unwrap_or(plan.padding);
        plan.method = section
            .map("method", |i| i.choice("method", &MapMethod::NAMES))?
            .unwrap_or(plan.method);
        if let Some(item) = section.get("units") {
            let refused = |why: String| item.error(why);
            plan.unit = item.text()?.parse().map_err(refused)?;
        }
        if let Some(kelvin) = section.map("temperature", |i| i.positive(units, Dimension::TEMPERATURE))? {
            plan.unit = plan.unit.at_temperature(kelvin);
        }
        let number = |i: &Item| i.positive(units, Dimension::NONE);
        plan.permittivity = section.map("permittivity", number)?.unwrap_or(plan.permittivity);
        plan.tolerance = section.map("tolerance", number)?;
        if let Some(item) = section.get("center") {
            plan.center = self.around.species(item)?;
        }
        if let Err(error) = plan.frames(self.around.system, None) {
            let key = match error {
                MapError::Periodic(_) | MapError::Open(_) | MapError::Triclinic(_) => "method",
                MapError::Tolerance(_) | MapError::MultilevelTolerance { .. } => "tolerance",
                MapError::Spacing(_) | MapError::Shape(_) | MapError::Memory { .. } => "spacing",
                MapError::Centering => "center",
                MapError::Setting {
                    what: "a tolerance", ..
                } => "tolerance",
                _ => "map",
            };
            return Err(section.get(key).unwrap_or(item).key_error(error.to_string()));
        }
        Ok(plan)
    }

    fn species(&self, section: &Section) -> Result<Vec<u32>> {
        section
            .map("species", |i| self.around.species(i))
            .map(Option::unwrap_or_default)
    }

    /// The file of a section; no two outputs share one.
    fn file(&mut self, section: &Section, default: &str) -> Result<PathBuf> {
        match section.get("file") {
            Some(item) => self.claim(item, item.file_name()?),
            None => self.claim(&section.item, default),
        }
    }

    fn structure_file(&mut self, section: &Section, default: &str) -> Result<PathBuf> {
        let file = self.file(section, default)?;
        let item = section.get("file").unwrap_or(&section.item);
        writable(item, &file)?;
        if !Format::from_path(&file).is_ok_and(Format::holds_frames) {
            let known = Format::all().filter(|f| f.holds_frames() && f.writes_frames());
            let known = known.map(Format::name).collect::<Vec<_>>().join(", ");
            return Err(item
                .error(format!(
                    "is to be written as {}, a format that holds one frame only",
                    file.display()
                ))
                .expected(&known)
                .help(format!("use one of {known}; or `final` for the last step alone")));
        }
        Ok(file)
    }

    fn claim(&mut self, item: &Item, name: &str) -> Result<PathBuf> {
        let file = PathBuf::from(name);
        if file.file_name() != Some(file.as_os_str()) {
            return Err(item
                .error(format!("writes \"{name}\", which names a folder besides a file"))
                .expected("the name of a file in the output folder")
                .help("name the file alone: all files of a run go to `folder` of [output]"));
        }
        if self.files.contains(&file) {
            return Err(item
                .error(format!("writes \"{name}\", which another output writes already"))
                .expected("a file of its own")
                .help("give it another `file`"));
        }
        self.files.push(file.clone());
        Ok(file)
    }

    pub(super) fn analyses(&mut self, list: Option<&Item>) -> Result<Vec<AnalysisPlan>> {
        let mut plans = Vec::new();
        for item in list.map(Item::one_or_many).unwrap_or_default() {
            let kind_item = item.entries()?.into_iter().find(|(name, _)| *name == "kind");
            let keys = |kind: &AnalysisKind| kind.settings.iter().filter_map(|setting| setting.key);
            let Some((_, kind_item)) = kind_item else {
                let mut all = ANALYZE_KEYS.to_vec();
                for key in ANALYSES.iter().flat_map(&keys) {
                    if !all.contains(&key) {
                        all.push(key);
                    }
                }
                return Err(item
                    .section("[[analyze]]", &all)?
                    .missing("kind", "kind = \"rdf\""));
            };
            let kinds: Vec<(&str, &AnalysisKind)> = ANALYSES.iter().map(|kind| (kind.name, kind)).collect();
            let kind = kind_item.choice("analysis", &kinds)?;
            let name = kind.name;
            let keys: Vec<&str> = ANALYZE_KEYS.iter().copied().chain(keys(kind)).collect();
            let section = item.section(&format!("[[analyze]] of kind \"{name}\""), &keys)?;
            let request = AnalysisRequest::new(kind, |setting| {
                let item = setting.key.and_then(|key| section.get(key));
                item.map(|item| self.setting(setting, item)).transpose()
            })?;
            let mut default = format!("{name}.csv");
            let mut number = 1;
            while self.files.contains(&PathBuf::from(&default)) {
                number += 1;
                default = format!("{name}-{number}.csv");
            }
            plans.push(AnalysisPlan {
                request,
                every: every(&section)?,
                from: match section.get("from") {
                    Some(item) if self.timestep > 0.0 => {
                        steps_or_time(item, self.around.units, self.timestep)?
                    }
                    _ => self.equilibration,
                },
                file: self.file(&section, &default)?,
            });
        }
        Ok(plans)
    }

    /// A setting of an analysis.
    fn setting(&self, setting: &Setting, item: &Item) -> Result<SettingValue> {
        Ok(match setting.kind {
            SettingKind::Count(_) => {
                SettingValue::Count(item.count(1..=10_000_000, "a whole number from 1 to 10000000")?)
            }
            SettingKind::Quantity(dimension) => {
                SettingValue::Quantity(Some(item.positive(self.around.units, dimension)?))
            }
            SettingKind::Choice(names, _) => {
                let places = names.iter().copied().zip(0..).collect::<Vec<_>>();
                SettingValue::Choice(item.choice(setting.name, &places)?)
            }
            SettingKind::Pair => SettingValue::Pair(Some(self.pair(item)?)),
            SettingKind::Species => SettingValue::Species(self.around.species(item)?),
        })
    }

    fn pair(&self, item: &Item) -> Result<[u32; 2]> {
        let text = item.text()?;
        let names = self.around.declared.pair(text, item)?;
        let place = |name: &str| {
            let place = self.around.system.species.iter().position(|s| s.name == name);
            place.map(|p| p as u32).ok_or_else(|| {
                item.error(format!(
                    "names species `{name}`, of which the system has no particle"
                ))
                .expected("species of the system")
            })
        };
        Ok([place(names[0])?, place(names[1])?])
    }
}

/// Refuses analyses that cannot measure what they are asked for in this system.
pub(super) fn check_analyses(list: Option<&Item>, simulation: &Simulation) -> Result<()> {
    let subject = LazyCell::new(|| simulation.subject());
    let items = list.map(Item::one_or_many).unwrap_or_default();
    for (item, plan) in items.iter().zip(&simulation.analyses) {
        if let Err(error) = plan.request.check(&subject) {
            return Err(refused(item, plan.request.kind(), &error));
        }
    }
    Ok(())
}

/// What an analysis refuses, at the key it is about, or at the analysis where that key is not given.
fn refused(item: &Item, kind: &AnalysisKind, error: &AnalysisError) -> InputError {
    let AnalysisError::Setting {
        setting,
        value,
        expected,
        ..
    } = error
    else {
        return item.key_error(error.to_string());
    };
    let key = kind.settings.iter().find(|s| s.name == *setting);
    let key = key.and_then(|s| s.key).unwrap_or(setting);
    let entries = item.entries().unwrap_or_default();
    let error = match entries.iter().find(|(name, _)| *name == key) {
        Some((_, stated)) => stated.error(format!("is {value}; expected {expected}")),
        None => item.key_error(error.to_string()),
    };
    error.expected(expected)
}

fn every(section: &Section) -> Result<u64> {
    section
        .require("every", "every = 1000")?
        .whole(1..=MOST_STEPS, STEPS)
}

/// Refuses a file whose format cannot be written.
fn writable(item: &Item, file: &Path) -> Result<()> {
    let known: Vec<&str> = Format::all()
        .filter(|f| f.is_writable())
        .map(Format::name)
        .collect();
    match Format::from_path(file) {
        Ok(format) if format.is_writable() => Ok(()),
        _ => Err(item
            .error(format!(
                "is to be written as {}, which is no format that can be written",
                file.display()
            ))
            .expected(known.join(", "))
            .help(format!("the extension is the format: {}", known.join(", ")))),
    }
}
