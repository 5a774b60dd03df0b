//! The largest system: §10.2.

use std::time::Instant;

use debye::engines::EngineError;
use debye::prelude::Precision;
use debye::run::RunError;
use debye_gpu::{CudaError, Device};

use super::MERGED;
use super::beads::{Beads, Model};
use super::device::OnCard;
use super::report::{compare, filled};
use super::variants::{FEW, force_tolerance};
use super::versions::{Types, Version};
use crate::study::{Bench, Input, Section, StudyError, number};

const GIB: f64 = (1_u64 << 30) as f64;

/// A system that was run.
struct Held {
    beads: f64,
    /// Bytes of its arrays, and bytes that the device had less.
    computed: f64,
    used: f64,
    seconds: f64,
}

impl Held {
    fn cells(&self, name: &str) -> Vec<String> {
        vec![
            name.into(),
            number(self.beads),
            format!("{:.0}", self.computed / self.beads),
            format!("{:.0}", self.used / self.beads),
            number(self.used / GIB),
            number(self.seconds),
        ]
    }
}

/// Whether a system does not fit, which is an answer; other errors are errors.
fn fits<T>(found: Result<T, StudyError>) -> Result<Option<T>, StudyError> {
    match found {
        Err(
            StudyError::Device(CudaError::OutOfMemory { .. })
            | StudyError::Engine(EngineError::DeviceMemory(_))
            | StudyError::Run(RunError::Engine(EngineError::DeviceMemory(_))),
        ) => Ok(None),
        Err(error) => Err(error),
        Ok(held) => Ok(Some(held)),
    }
}

/// A step of the kernels, whose forces are compared.
fn by_kernels(device: &Device, beads: &Beads, version: Version) -> Result<Held, StudyError> {
    let (began, free) = (Instant::now(), device.memory()?.free);
    let mut card = OnCard::<f32>::new(device, beads, version, 0.0, FEW)?;
    let stream = device.stream()?;
    card.step(&stream)?;
    let acted = card.acted(&stream)?;
    let (seconds, used) = (
        began.elapsed().as_secs_f64(),
        free.saturating_sub(device.memory()?.free),
    );
    let (error, allowed) = (beads.error(&acted), force_tolerance(version.arithmetic));
    if error.is_nan() || error > allowed {
        return Err(StudyError::Inexact {
            what: format!("a step, {}", beads.label()),
            error,
            allowed,
        });
    }
    Ok(Held {
        beads: beads.work(),
        computed: card.bytes() as f64,
        used: used as f64,
        seconds,
    })
}

/// A step of the engine.
fn by_engine(device: &Device, beads: &Beads) -> Result<Held, StudyError> {
    let (began, free) = (Instant::now(), device.memory()?.free);
    let mut engine = beads.engine(Precision::Mixed, Some(device))?;
    engine.advance(1, false)?;
    // Waits for the step.
    engine.observe()?;
    Ok(Held {
        beads: beads.work(),
        computed: engine.bytes() as f64,
        used: free.saturating_sub(device.memory()?.free) as f64,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// Twice as many beads again and again, once at least, until they do not fit or the next would take longer than is left.
/// What was last run by the kernels and by the engine, and why it ended.
fn grow(
    bench: &Bench<'_>,
    device: &Device,
    beads: &Beads,
) -> Result<([Option<Held>; 2], &'static str), StudyError> {
    let version = Version {
        types: match beads.model {
            Model::Water => Types::WaterOnly,
            Model::Lipids => Types::Matrix,
        },
        ..MERGED
    };
    let budget = bench.extent.pick(0.0, 3.0, 10.0);
    let (mut copies, mut held) = ([1, 1, 1], [None, None]);
    let began = Instant::now();
    for round in 0.. {
        let start = Instant::now();
        let grown = beads.replicated(copies)?;
        let Some(kernels) = fits(by_kernels(device, &grown, version))? else {
            return Ok((held, "memory"));
        };
        held[0] = Some(kernels);
        let Some(engine) = fits(by_engine(device, &grown))? else {
            return Ok((held, "memory"));
        };
        held[1] = Some(engine);
        let next = began.elapsed().as_secs_f64() + 2.0 * start.elapsed().as_secs_f64();
        if bench.stopped() || (round > 0 && next > budget) {
            break;
        }
        copies[round % 3] *= 2;
    }
    Ok((held, "time"))
}

/// Memory: §10.2.
pub(super) fn capacity(bench: &mut Bench<'_>, systems: &[Beads]) -> Result<(), StudyError> {
    let (mut rows, mut comparisons, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for beads in systems {
        // Of the C2050, and its largest system.
        const MEMORY: f64 = 3072.0 * 1_048_576.0;
        let largest = match beads.model {
            Model::Water => 1.63e6,
            Model::Lipids => 7.26e5,
        };
        let (held, end) = match bench.device() {
            Some(device) => grow(bench, device, beads)?,
            None => ([None, None], "no device"),
        };
        let model = beads.model.name();
        for (who, held) in ["matrices, single", "engine, mixed"].into_iter().zip(&held) {
            let per_bead = held.as_ref().map(|held| held.computed / held.beads);
            let what = |x: &str| format!("{model}, {who}: {x}");
            comparisons.push(compare(
                &what("for each bead"),
                MEMORY / largest,
                "C2050, 3072 MB by the largest system",
                per_bead,
                "bytes",
            ));
            comparisons.push(compare(
                &what("beads in 3072 MB"),
                largest,
                "C2050",
                per_bead.map(|bytes| MEMORY / bytes),
                "beads",
            ));
            rows.extend(held.as_ref().map(|held| held.cells(&format!("{model}, {who}"))));
        }
        if let (Some(device), [Some(kernels), Some(engine)]) = (bench.device(), &held) {
            let total = device.memory()?.total as f64;
            let all = |held: &Held| number(total * held.beads / held.computed);
            words.push(format!(
                "{model}: the largest that were run have {} beads with the kernels and {} with the engine, then {end} ended \
                 it; at their bytes for each bead the {:.0} GiB of this device would hold {} and {}",
                number(kernels.beads),
                number(engine.beads),
                total / GIB,
                all(kernels),
                all(engine)
            ));
        }
    }
    let meaning = if words.is_empty() {
        "Nothing was run: no CUDA device was used.".into()
    } else {
        format!(
            "Copies of a system are joined, twice as many again and again, and run for a step; forces are compared. {}. A \
             matrix has as many rows as the most crowded bead has neighbors, and one more of the same size for the types. \
             The engine keeps places of 16 bits in lists as long as each bead needs.",
            words.join(". ")
        )
    };
    bench.found.sections.push(Section {
        title: "The largest system (§10.2)".into(),
        meaning,
        comparisons,
        tables: filled(
            "capacity",
            "The largest systems that were run",
            &[
                "",
                "beads",
                "bytes for each bead, computed",
                "bytes for each bead, taken from the device",
                "GiB",
                "seconds, with all preparations",
            ],
            rows,
        ),
        ..Section::default()
    });
    Ok(())
}
