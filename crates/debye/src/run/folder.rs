//! The output folder: whether it may be written to, what is in it, and what a run puts there first.

use std::path::Path;

use debye_io::UNFINISHED_STRUCTURE;

use super::engine::form;
use super::fingerprint::fingerprint;
use super::lock::{self, LOCK_FILE};
use super::{Existing, RunError, outputs};
use crate::checkpoint::{Checkpoint, UNFINISHED, files_like};
use crate::simulation::{CheckpointPlan, MapPlan, Simulation};

/// The input file as it was read, in the output folder.
const INPUT_COPY: &str = "input.toml";

/// Where checkpoints go: without a plan, one is written when the run ends and every few minutes.
pub(super) fn checkpoint_plan(simulation: &Simulation) -> CheckpointPlan {
    simulation.output.checkpoint.clone().unwrap_or_else(|| {
        let stem = simulation.input_path.file_stem();
        let stem = stem.map_or_else(|| "run".into(), std::ffi::OsStr::to_string_lossy);
        CheckpointPlan {
            every: u64::MAX,
            file: format!("{stem}.checkpoint").into(),
            keep: 2,
        }
    })
}

/// Where a resumed run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePoint {
    /// The step.
    pub step: u64,
    /// What ran it so far, where this is another device or precision: bits may differ from there on.
    pub elsewhere: Option<String>,
}

/// Where a resumed run goes on on this device; `None` where it begins.
pub fn resume_point(simulation: &Simulation, on_device: bool) -> Option<ResumePoint> {
    let folder = simulation.output.folder.as_ref()?;
    let file = folder.join(checkpoint_plan(simulation).file);
    let found = Checkpoint::newest(&file, Some(&fingerprint(simulation)));
    let saved = found.ok().flatten()?.checkpoint;
    let same = saved.form == form(simulation, on_device);
    Some(ResumePoint {
        step: saved.step,
        elsewhere: (!same).then_some(saved.device),
    })
}

/// Refuses an output folder that is not to be written to, or that another process writes to.
pub(super) fn inspect(simulation: &Simulation, existing: Existing) -> Result<(), RunError> {
    if let Some(folder) = &simulation.output.folder {
        lock::refuse_taken(folder)?;
    }
    inspect_content(simulation, existing)
}

/// Refuses an output folder for what is in it.
pub(super) fn inspect_content(simulation: &Simulation, existing: Existing) -> Result<(), RunError> {
    let Some(folder) = simulation.output.folder.as_deref() else {
        return Ok(());
    };
    let owned = folder.to_path_buf();
    if let (Some(origin), Ok(here)) = (&simulation.origin, folder.canonicalize())
        && origin
            .path
            .canonicalize()
            .is_ok_and(|source| source.starts_with(here))
    {
        return Err(RunError::Occupied {
            folder: owned,
            why: format!(
                "[system] from = \"{}\" takes the system from it. Give the new run a folder of its own: --out DIR, or \
                 `folder` in [output]",
                origin.name
            ),
        });
    }
    if folder.exists() && !folder.is_dir() {
        return Err(RunError::NotAFolder(owned));
    }
    // A lock and half a file are no content: a run may have been killed before it wrote anything.
    let counts = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.map_or(true, |e| {
            let name = e.file_name();
            name != LOCK_FILE && name != BEGINNING && !is_unfinished(&name.to_string_lossy())
        })
    };
    if !std::fs::read_dir(folder).is_ok_and(|mut entries| entries.any(counts)) {
        return Ok(());
    }
    if existing == Existing::Refuse {
        return Err(RunError::Exists { folder: owned });
    }
    let refused = |why: String| {
        Err(RunError::Occupied {
            folder: owned.clone(),
            why,
        })
    };
    let copy = folder.join(INPUT_COPY);
    let place = |path: &Path| path.canonicalize().ok();
    if place(&copy).is_some() && place(&copy) == place(&simulation.input_path) {
        return refused(format!("its {INPUT_COPY} is the input of this run"));
    }
    let begun_alike = std::fs::read(&copy).is_ok_and(|text| text == simulation.input_text.as_bytes());
    let none_saved = files_like(&folder.join(checkpoint_plan(simulation).file)).is_empty();
    let only_begun = folder.join(BEGINNING).exists();
    if none_saved && !only_begun && !begun_alike && !Written::is_list(folder) {
        return refused("it holds files, but no run of this program".into());
    }
    // What nobody can go on from is not lost by beginning again.
    if existing == Existing::Resume && none_saved && !only_begun {
        let written = Written::listed(folder).with(simulation);
        if let Some(file) = written.output_in(folder) {
            return Err(RunError::NoCheckpoint { folder: owned, file });
        }
    }
    Ok(())
}

/// Whether a file is what a killed run left of one that was to replace another.
fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED) || name.starts_with(UNFINISHED_STRUCTURE)
}

/// The list of the files a run writes, kept in its folder, so that only those are ever replaced.
const FILE_LIST: &str = "files.txt";
/// Its first line, which tells it from other files of that name.
const LIST_TITLE: &str = "# Files that debye wrote here, and replaces with --overwrite";
/// There from the first file of a run to its first checkpoint: what else is in the folder is no more than a beginning.
const BEGINNING: &str = ".unfinished-start";

/// Names of files a run writes, apart from those every run does.
#[derive(Default)]
struct Written(std::collections::BTreeSet<String>);

impl Written {
    /// What earlier runs in this folder wrote.
    fn listed(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join(FILE_LIST)).unwrap_or_default();
        let names = text.lines().filter(|line| !line.starts_with('#'));
        Self(names.map(str::to_owned).collect())
    }

    /// Whether this program wrote the list in a folder.
    fn is_list(folder: &Path) -> bool {
        std::fs::read_to_string(folder.join(FILE_LIST)).is_ok_and(|text| text.starts_with(LIST_TITLE))
    }

    /// A file of results that is there.
    fn output_in(&self, folder: &Path) -> Option<String> {
        let always = ["report.html", "first.png", "last.png"];
        let mut names = self.0.iter().map(String::as_str).chain(always);
        names.find(|name| folder.join(name).is_file()).map(str::to_owned)
    }

    /// And what this one will.
    fn with(mut self, simulation: &Simulation) -> Self {
        let o = &simulation.output;
        let files = (o.table.iter().map(|t| &t.file))
            .chain(o.trajectories.iter().map(|t| &t.file))
            .chain(o.maps.iter().map(|m| &m.file))
            .chain(&o.last)
            .chain(simulation.analyses.iter().map(|a| &a.file))
            .cloned()
            .chain(
                o.trajectories
                    .iter()
                    .filter_map(|t| Some(t.companion(&simulation.system)?.0)),
            )
            .chain(o.maps.iter().map(MapPlan::error_file))
            .chain([checkpoint_plan(simulation).file]);
        self.0
            .extend(files.map(|file| file.to_string_lossy().into_owned()));
        self
    }

    fn to_text(&self) -> String {
        let names: String = self.0.iter().map(|name| format!("{name}\n")).collect();
        format!("{LIST_TITLE}\n{names}")
    }

    /// Whether a file is one of them: pictures of analyses and older checkpoints carry their names.
    fn includes(&self, name: &str) -> bool {
        let always = [
            INPUT_COPY,
            FILE_LIST,
            "first.png",
            "last.png",
            "report.html",
            "explosion.xyz",
            "run.checkpoint",
        ];
        let named = |file: &str| {
            let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
            let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
            let picture = name.strip_suffix(".png").and_then(|n| n.strip_prefix(&*stem));
            name == file
                || name
                    .strip_prefix(file)
                    .and_then(|rest| rest.strip_prefix('.'))
                    .is_some_and(number)
                || picture.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(number))
        };
        always.iter().any(|file| named(file)) || self.0.iter().any(|file| named(file))
    }
}

/// Refuses outputs that cannot be written or measured, before anything is changed.
pub(super) fn try_outputs(
    folder: &Path,
    existing: Existing,
    simulation: &Simulation,
) -> Result<(), RunError> {
    outputs::check(simulation)?;
    let planned = Written::default().with(simulation);
    for name in planned
        .0
        .iter()
        .map(String::as_str)
        .chain([INPUT_COPY, FILE_LIST])
    {
        let path = folder.join(name);
        let fail = |e| RunError::write(&path, e);
        let parent = path.parent().filter(|parent| *parent != folder);
        if parent.is_some_and(|parent| !parent.is_dir()) {
            return Err(fail(std::io::ErrorKind::NotFound.into()));
        }
        if path.is_dir() {
            return Err(fail(std::io::ErrorKind::IsADirectory.into()));
        }
        if path.is_file() && existing != Existing::Overwrite {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).open(&path).map_err(fail)?;
        }
    }
    if folder.is_dir() {
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED);
        builder
            .tempfile_in(folder)
            .map_err(|e| RunError::write(folder, e))?;
    }
    Ok(())
}

/// The run has a checkpoint: it is more than a beginning.
pub(super) fn has_begun(folder: &Path) {
    // Left behind, it does no harm: the next checkpoint tries again.
    let _ = std::fs::remove_file(folder.join(BEGINNING));
}

/// Makes the folder, or takes the files of an earlier run out of it, and puts a copy of the input in. A run that
/// `begins` has no checkpoint to go on from.
pub(super) fn prepare(
    folder: &Path,
    existing: Existing,
    begins: bool,
    simulation: &Simulation,
) -> Result<(), RunError> {
    let fail = |e| RunError::write(folder, e);
    std::fs::create_dir_all(folder).map_err(fail)?;
    if begins {
        let mark = folder.join(BEGINNING);
        std::fs::write(&mark, []).map_err(|e| RunError::write(&mark, e))?;
    }
    let written = Written::listed(folder);
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stale = existing == Existing::Overwrite && !path.is_dir() && written.includes(&name);
        if stale || is_unfinished(&name) {
            std::fs::remove_file(&path).map_err(|e| RunError::write(&path, e))?;
        }
    }
    let list = folder.join(FILE_LIST);
    std::fs::write(&list, written.with(simulation).to_text()).map_err(|e| RunError::write(&list, e))?;
    let copy = folder.join(INPUT_COPY);
    if !begins && copy.exists() {
        return Ok(());
    }
    std::fs::write(&copy, &simulation.input_text).map_err(|e| RunError::write(&copy, e))
}
