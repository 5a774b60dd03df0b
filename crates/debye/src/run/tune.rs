//! The fastest settings of electrostatics whose error, as measured, stays within a tolerance.
//!
//! Cut-off, order and kind are tried; the splitting parameter and the mesh follow from the estimates. Every candidate is
//! timed through the engine on this machine, and its forces are compared with an exact sum on the system itself. Other
//! terms keep their cut-offs.

use std::time::Instant;

use super::coulomb::{ExactSums, SumsError, coulomb_forces, coulomb_sums};
use super::{RunError, engine};
use crate::engines::cpu::Fire;
use crate::forces::electrostatics::{Electrostatics, MeshPlan, Method};
use crate::forces::pme::Basis;
use crate::forces::pme::estimate::{Charged, coarsest, good_size};
use crate::forces::pme::expected::{Expected, charged};
use crate::run::measure::{Exact, MeasureError, Measured};
use crate::simulation::Simulation;

/// Settings that were tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The settings.
    pub plan: Electrostatics,
    /// Errors before they were measured.
    pub expected: Expected,
    /// Errors as they are.
    pub measured: Measured,
    /// Errors of energy and pressure as they are, where they could be measured.
    pub sums: Option<SumsError>,
    /// Seconds a step takes.
    pub seconds: f64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// All that was tried, fastest first.
    pub trials: Vec<Trial>,
    /// The place of the best; `None` where none is within the tolerance.
    pub best: Option<usize>,
    /// The relative error that was allowed.
    pub tolerance: f64,
    /// The error of the pressure that was allowed, if any was said.
    pub pressure_tolerance: Option<f64>,
    /// Where it was timed.
    pub device: String,
}

/// How to tune.
pub struct TuneOptions<'a> {
    /// Relative error of the Coulomb forces that is allowed.
    pub tolerance: f64,
    /// Error of the pressure that is allowed; `None` for any.
    pub pressure_tolerance: Option<f64>,
    /// Steps before anything is measured, so that a lattice is none any more.
    pub warm_up: u64,
    /// Seconds to time each of the settings for.
    pub seconds: f64,
    /// Told what is done.
    pub progress: &'a mut (dyn FnMut(&str) + Send),
}

/// Why nothing was tuned.
#[derive(Debug)]
#[non_exhaustive]
pub enum TuneError {
    /// Something that a run would refuse too.
    Run(RunError),
    /// Nothing to measure.
    Measure(MeasureError),
    /// Settings that are not searched for.
    Grids,
    /// No cut-off and mesh are expected to reach the tolerance.
    NoCandidate {
        /// The tolerance.
        tolerance: f64,
    },
}

impl std::fmt::Display for TuneError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Measure(error) => error.fmt(f),
            Self::Grids => write!(
                f,
                "tuning tries meshes; of kind = \"multilevel\" the spacing follows from cutoff, order and tolerance. Take kind \
                 = \"pme\" to tune, or compare settings with `debye energy --check-electrostatics`"
            ),
            Self::NoCandidate { tolerance } => write!(
                f,
                "no mesh worth its time reaches a relative error of {tolerance:e}; ask for less, or use kind = \"ewald\""
            ),
        }
    }
}

impl std::error::Error for TuneError {}

impl<E: Into<RunError>> From<E> for TuneError {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

/// Cut-offs that are tried, in units of the file's.
const CUTOFFS: [f64; 7] = [0.65, 0.75, 0.85, 1.0, 1.15, 1.3, 1.5];
/// Bases that are tried, and whether with the influence function of P3M. The usual one is first: what others need is judged
/// by its mesh.
const BASES: [(Basis, bool); 4] = [
    (Basis::BSpline(5), false),
    (Basis::BSpline(6), false),
    (Basis::BSpline(4), false),
    (Basis::Cubic, true),
];
/// A little below the tolerance, so that the next configuration stays within it too.
const CAREFUL: f64 = 0.85;

/// Tries settings and finds the fastest of those within the tolerance.
pub fn tune(simulation: &Simulation, options: TuneOptions) -> Result<Tuned, TuneError> {
    let TuneOptions {
        tolerance,
        pressure_tolerance,
        warm_up,
        seconds,
        progress,
    } = options;
    let plan = match &simulation.forces.electrostatics {
        Some(plan) if plan.grids().is_some() => return Err(TuneError::Grids),
        Some(plan) => plan.clone(),
        None => return Err(TuneError::Measure(MeasureError::Nothing)),
    };
    let simulation = warmed(simulation, warm_up, progress)?;
    let charged = charged(&simulation.system, &simulation.forces, &plan);
    if charged.squares == 0.0 {
        return Err(TuneError::Measure(MeasureError::NoCharges));
    }
    progress("the exact forces");
    let looked_for = tolerance * 0.1 * charged.usual_force();
    let exact = Exact::within(&simulation.system, &simulation.forces, looked_for, &mut |_| {})
        .map_err(TuneError::Measure)?;
    let exact_sums = ExactSums::within(&simulation, looked_for)?;
    let lab = Lab {
        simulation: &simulation,
        charged,
        exact,
        exact_sums,
        seconds,
    };
    let mut trials: Vec<Trial> = Vec::new();
    // How measured and estimated errors compare on this system is learnt on the way, for each basis.
    let mut ratios = [None; BASES.len()];
    let attempts = if pressure_tolerance.is_some() { 5 } else { 3 };
    for factor in CUTOFFS {
        let cutoff = plan.cutoff * factor;
        let mut smallest = None;
        for ((basis, optimal), ratio) in BASES.into_iter().zip(&mut ratios) {
            let mut goal = CAREFUL * tolerance / ratio.unwrap_or(1.0);
            // The last settings whose forces are good, if possible with a pressure that is good.
            let mut found = None;
            for _ in 0..attempts {
                let Some((alpha, mesh)) = lab.mesh(cutoff, basis, optimal, goal, smallest) else {
                    break;
                };
                smallest = smallest.or(Some(mesh.size));
                let candidate = Electrostatics {
                    cutoff,
                    alpha,
                    method: Method::Mesh(mesh),
                    ..plan.clone()
                };
                progress(&candidate.in_words(simulation.system.units));
                let Some((expected, measured, sums)) = lab.errors(&candidate)? else {
                    break;
                };
                // By the estimate that chooses, which knows of no places.
                let chosen_for = Expected::of_plan(&lab.charged, &candidate).map(|e| e.relative());
                *ratio = chosen_for.map(|chosen_for| measured.relative / chosen_for);
                // Both errors of the pair term fall alike with α.
                let by_pressure = beyond(sums.as_ref(), pressure_tolerance);
                let by_pressure = Some(by_pressure).filter(|x| x.is_finite()).unwrap_or(0.0);
                let off = (measured.relative / tolerance).max(by_pressure);
                let forces_good = measured.relative <= tolerance;
                let trial = Trial {
                    seconds: f64::INFINITY,
                    plan: candidate,
                    expected,
                    measured,
                    sums,
                };
                if off > 1.0 {
                    // A step at a time: the mesh grows with it.
                    goal *= CAREFUL / off.min(10.0);
                    found = forces_good.then_some(trial).or(found);
                    continue;
                }
                found = Some(trial);
                break;
            }
            if let Some(trial) = found {
                let seconds = lab.time(&trial.plan)?;
                trials.push(Trial { seconds, ..trial });
            }
        }
    }
    if trials.is_empty() {
        return Err(TuneError::NoCandidate { tolerance });
    }
    trials.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let within =
        |t: &Trial| t.measured.relative <= tolerance && beyond(t.sums.as_ref(), pressure_tolerance) <= 1.0;
    let best = trials.iter().position(within);
    Ok(Tuned {
        trials,
        best,
        tolerance,
        pressure_tolerance,
        device: engine(&simulation)?.device(),
    })
}

/// The error of the pressure in units of the one that is allowed. What could not be measured is not within.
fn beyond(sums: Option<&SumsError>, allowed: Option<f64>) -> f64 {
    let Some(allowed) = allowed else { return 0.0 };
    sums.and_then(|sums| sums.pressure)
        .map_or(f64::INFINITY, |error| error.abs() / allowed)
}

/// The simulation some steps on: minimized where the file says so, and no lattice any more.
fn warmed(
    simulation: &Simulation,
    steps: u64,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<Simulation, TuneError> {
    let mut warm = simulation.clone();
    if steps == 0 && simulation.minimize.is_none() {
        return Ok(warm);
    }
    progress("the first steps");
    let mut engine = engine(simulation)?;
    if let Some(m) = &simulation.minimize {
        let fire = Fire {
            force_tolerance: m.force_tolerance,
            max_steps: m.max_steps,
            max_displacement: m.max_displacement,
        };
        engine.minimize(fire, &mut |_| true)?;
    }
    engine.advance(steps, false)?;
    warm.system.particles = engine.particles()?;
    warm.system.cell = engine.cell();
    warm.minimize = None;
    Ok(warm)
}

/// The simulation with other settings of electrostatics; all else as it was.
pub fn with_plan(simulation: &Simulation, plan: &Electrostatics) -> Result<Simulation, MeasureError> {
    let mut other = simulation.clone();
    let field = &mut other.forces;
    let old = field.electrostatics.take().ok_or(MeasureError::Nothing)?;
    let name = format!("{}-real", old.name);
    let place = field.pairs.iter().rposition(|term| term.name == name);
    let term = plan.short_range(&other.system.species)?;
    match place {
        Some(place) => field.pairs[place] = term,
        None => field.pairs.push(term),
    }
    field.electrostatics = Some(plan.clone());
    Ok(other)
}

struct Lab<'a> {
    simulation: &'a Simulation,
    charged: Charged,
    exact: Exact,
    exact_sums: Option<ExactSums>,
    seconds: f64,
}

impl Lab<'_> {
    /// α and mesh by the estimates, for an error relative to the usual force; `None` where the mesh would be more than
    /// eight times as large as a known one, which cannot be faster and takes long to find.
    fn mesh(
        &self,
        cutoff: f64,
        basis: Basis,
        optimal: bool,
        goal: f64,
        known: Option<[usize; 3]>,
    ) -> Option<(f64, MeshPlan)> {
        let error = goal * self.charged.usual_force() * 0.5_f64.sqrt();
        let alpha = self.charged.alpha(cutoff, error);
        if let Some(size) = known {
            let twice = MeshPlan {
                size: size.map(|n| good_size(2 * n)),
                basis,
                optimal,
            };
            if self.charged.mesh_error(alpha, &twice) > error {
                return None;
            }
        }
        let mesh = coarsest(&self.charged, alpha, basis, optimal, error)?;
        Some((alpha, mesh))
    }

    /// Errors of settings; `None` where there is nothing to compare.
    fn errors(
        &self,
        plan: &Electrostatics,
    ) -> Result<Option<(Expected, Measured, Option<SumsError>)>, TuneError> {
        let other = with_plan(self.simulation, plan).map_err(TuneError::Measure)?;
        let measured = self.exact.measure(&coulomb_forces(&other)?);
        let sums = match &self.exact_sums {
            Some(exact) => Some(exact.measure(&coulomb_sums(&other)?)),
            None => None,
        };
        Ok(Expected::of(&other.system, &other.forces).map(|expected| (expected, measured, sums)))
    }

    /// Seconds a step takes: the best of some laps, for machines that others use too.
    fn time(&self, plan: &Electrostatics) -> Result<f64, TuneError> {
        let other = with_plan(self.simulation, plan).map_err(TuneError::Measure)?;
        let mut engine = engine(&other)?;
        engine.advance(FIRST, false)?;
        let (mut best, began) = (f64::INFINITY, Instant::now());
        let mut laps = 0;
        while laps < 2 || began.elapsed().as_secs_f64() < self.seconds {
            let lap = Instant::now();
            engine.advance(LAP, false)?;
            best = best.min(lap.elapsed().as_secs_f64() / LAP as f64);
            laps += 1;
        }
        Ok(best)
    }
}

/// Steps before the clock starts, and between two looks at it.
const FIRST: u64 = 10;
const LAP: u64 = 10;
