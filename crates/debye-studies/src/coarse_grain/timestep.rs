//! The time step: Fig. 10.

use std::time::Instant;

use debye::prelude::Precision;
use debye::run::engine_on;
use debye_gpu::Device;

use super::beads::Beads;
use super::courses::changed;
use super::report::{compare, table};
use crate::study::{Bench, Input, Section, StudyError, number};

/// Steps per second, and steps for each list.
fn pace(
    beads: &Beads,
    femtoseconds: f64,
    steps: u64,
    device: Option<&Device>,
) -> Result<[f64; 2], StudyError> {
    let simulation = changed(beads, femtoseconds, "langevin", Precision::Mixed)?;
    let mut engine = engine_on(&simulation, device)?;
    engine.advance(steps / 2, false)?;
    let (lists, began) = (engine.lists().builds, Instant::now());
    engine.advance(steps, false)?;
    let seconds = began.elapsed().as_secs_f64();
    let lists = (engine.lists().builds - lists).max(1);
    Ok([steps as f64 / seconds, steps as f64 / lists as f64])
}

/// The time step: Fig. 10.
pub(super) fn timestep(bench: &mut Bench<'_>, lipids: &Beads) -> Result<(), StudyError> {
    let steps = bench.extent.pick(40, 600, 4000);
    let (mut rows, mut comparisons) = (Vec::new(), Vec::new());
    for (femtoseconds, interval) in [(1.0, 100.0), (10.0, 10.0), (20.0, 5.0)] {
        let [speed, every] = pace(lipids, femtoseconds, steps, bench.device())?;
        rows.push(vec![
            format!("{femtoseconds} fs"),
            number(speed),
            format!("{every:.1}"),
            format!("{:.1}", speed * femtoseconds * 86_400.0 * 1e-6),
        ]);
        let what = format!("steps for each list at {femtoseconds} fs");
        comparisons.push(compare(&what, interval, "in words", Some(every), "steps"));
        if bench.stopped() {
            break;
        }
    }
    bench.found.sections.push(Section {
        title: "The time step (Fig. 10)".into(),
        meaning: format!(
            "The engine, {}, Langevin: the longer the step, the sooner a bead has crossed the buffer of its list. The paper's \
             speed-up rises from 7.0 to 7.9 between 1 and 20 fs, as lists are a larger part of the serial program then.",
            lipids.label()
        ),
        comparisons,
        tables: vec![table(
            "time-step",
            "The engine at three time steps",
            &["", "steps/s", "steps for each list", "ns/day"],
            rows,
        )],
        figures: Vec::new(),
    });
    Ok(())
}
