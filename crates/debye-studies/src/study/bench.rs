//! [`Bench`]: what a study measures with.

use std::sync::atomic::{AtomicBool, Ordering};

use debye_gpu::Device;

use super::findings::{Findings, Row};
use super::{Input, Journal, Place, Profile, StudyError, Variant, compare};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Seconds: for tests.
    Smallest,
    /// Less than three minutes on two cores.
    Quick,
    /// The sizes of the paper where the machine allows it.
    Full,
}

impl Extent {
    /// One of three.
    pub fn pick<T>(self, smallest: T, quick: T, full: T) -> T {
        match self {
            Self::Smallest => smallest,
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// What a study measures with, and what it has found.
pub struct Bench<'a> {
    /// How much is measured.
    pub extent: Extent,
    /// What has been found so far.
    pub found: Findings,
    /// A profile of the kernels that `ncu --csv` wrote, for studies of counters.
    pub counters: Option<Profile>,
    /// Where measurements are written as they are made. What is in it already is not measured again.
    pub journal: Option<Journal>,
    /// Why the journal could not be written, if so.
    unwritten: Option<StudyError>,
    device: Result<Device, String>,
    stop: &'a AtomicBool,
    report: &'a mut dyn FnMut(&Row),
}

/// [`StudyError::Interrupted`] where it was told to stop.
pub(crate) fn check_stop(stop: &AtomicBool) -> Result<(), StudyError> {
    match stop.load(Ordering::Relaxed) {
        true => Err(StudyError::Interrupted),
        false => Ok(()),
    }
}

impl<'a> Bench<'a> {
    /// On a device, or without one for the reason given. `stop` ends it early with what is there; `report` hears of each
    /// measurement.
    pub fn new(
        extent: Extent,
        device: Result<Device, String>,
        stop: &'a AtomicBool,
        report: &'a mut dyn FnMut(&Row),
    ) -> Self {
        let name = device.as_ref().map(|device| device.info().name.clone());
        Self {
            extent,
            found: Findings::new(name.map_err(Clone::clone)),
            counters: None,
            journal: None,
            unwritten: None,
            device,
            stop,
            report,
        }
    }

    /// The device, if there is one.
    pub fn device(&self) -> Option<&Device> {
        self.device.as_ref().ok()
    }

    /// Whether it was told to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether everything that was measured is in the journal.
    pub(super) fn written(&mut self) -> Result<(), StudyError> {
        self.unwritten.take().map_or(Ok(()), Err)
    }

    /// The flag that says so.
    pub fn stop_flag(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Compares a variant with the reference, and times it if it is right. `size` is where it stands in a figure.
    pub fn measure<I: Input>(
        &mut self,
        ladder: &'static str,
        unit: &'static str,
        size: f64,
        input: &I,
        variant: &dyn Variant<I>,
    ) {
        let mut row = Row {
            ladder,
            variant: variant.name(),
            place: variant.place(),
            input: input.label(),
            size,
            work: input.work(),
            unit,
            seconds: None,
            fastest: None,
            slowest: None,
            rounds: 0,
            error: None,
            tolerance: variant.tolerance(),
            failure: None,
            skipped: None,
        };
        if self.stopped() {
            row.skipped = Some("interrupted".into());
        } else if let (Place::Cuda, Err(why)) = (variant.place(), &self.device) {
            row.skipped = Some(why.clone());
        } else if let Some(why) = variant.declines(input) {
            row.skipped = Some(why);
        } else if !self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.recall(&mut row))
        {
            match self.timed(input, variant, &mut row) {
                Ok(()) => {}
                Err(error @ (StudyError::NoDevice | StudyError::Missing(_))) => {
                    row.skipped = Some(error.to_string());
                }
                Err(error) => row.failure = Some(error.to_string()),
            }
            // What was cut short is measured again.
            if self.stopped() {
            } else if let Some(Err(error)) = self.journal.as_mut().map(|journal| journal.note(&row)) {
                self.unwritten = Some(error);
            }
        }
        (self.report)(&row);
        self.found.rows.push(row);
    }

    fn timed<I: Input>(&self, input: &I, variant: &dyn Variant<I>, row: &mut Row) -> Result<(), StudyError> {
        let mut work = variant.prepare(input, self.device())?;
        // Caches, clocks, memory: the first pass does not count.
        work.seconds(1)?;
        let [error, allowed] = compare(input, variant, work.as_mut())?;
        row.error = Some(error);
        row.tolerance = allowed;
        if error.is_nan() || error > allowed {
            row.failure = Some(format!("off by {error:.1e}, allowed are {allowed:.1e}"));
            return Ok(());
        }
        let once = work.seconds(1)?.max(1e-7);
        let passes = (self.extent.pick(0.001, 0.02, 0.02) / once).clamp(1.0, 1000.0) as u32;
        let rounds = if once > 0.3 { 3 } else { self.extent.pick(3, 7, 9) };
        let mut times = Vec::new();
        for _ in 0..rounds {
            times.push(work.seconds(passes)? / f64::from(passes));
            if self.stopped() {
                break;
            }
        }
        times.sort_by(f64::total_cmp);
        row.rounds = times.len();
        row.seconds = times.get(times.len() / 2).copied();
        row.fastest = times.first().copied();
        row.slowest = times.last().copied();
        Ok(())
    }
}
