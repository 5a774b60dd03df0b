//! Debye itself, through the code that `debye run` uses.

use debye::engines::{Engine, Precision};
use debye::forces::electrostatics::{Electrostatics, Method};
use debye::run::with_threads;

use super::super::timing;
use super::accuracy::unconstrained;
use super::program::{Case, Contestant, Place, Problem, Program};
use crate::failure::Failure;

/// Debye in one precision.
pub(super) struct Debye {
    pub(super) precision: Precision,
}

/// Part of the measured time that comes before it and does not count.
const WARM_UP: f64 = 0.25;

impl Program for Debye {
    fn name(&self) -> String {
        match self.precision {
            Precision::Mixed => "Debye".into(),
            other => format!("Debye {}", other.name()),
        }
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn settings(&self, case: &Case<'_>, _: &Place<'_>) -> String {
        let charges = case.simulation.forces.electrostatics.as_ref().map(mesh);
        let precision = self.precision.name();
        let motion = case.model.motion("Langevin");
        format!("{precision} precision, {}{motion}", charges.unwrap_or_default())
    }

    fn start<'a>(
        &'a self,
        case: &'a Case<'a>,
        place: &Place<'a>,
    ) -> Result<Box<dyn Contestant + 'a>, Problem> {
        Ok(Box::new(Started {
            precision: self.precision,
            case,
            place: place.clone(),
            engine: None,
        }))
    }
}

/// The mesh of a case in words.
fn mesh(charges: &Electrostatics) -> String {
    let Method::Mesh(plan) = &charges.method else {
        return String::new();
    };
    let [x, y, z] = plan.size;
    let (order, alpha) = (plan.basis.points(), charges.alpha);
    format!("PME order {order}, mesh {x}×{y}×{z}, α {alpha}/nm, ")
}

/// Debye with a case. Its engine stays from round to round.
struct Started<'a> {
    precision: Precision,
    case: &'a Case<'a>,
    place: Place<'a>,
    engine: Option<Box<dyn Engine>>,
}

impl Started<'_> {
    fn install<T: Send>(&self, work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Problem> {
        with_threads(Some(self.place.threads), work)
            .map_err(Problem::failed)?
            .map_err(Problem::failed)
    }
}

impl Contestant for Started<'_> {
    fn forces(&mut self) -> Result<Vec<[f64; 3]>, Problem> {
        let free = unconstrained(&self.case.simulation, self.precision);
        let forces = self.install(|| Ok(debye::run::engine(&free)?.forces()?))?;
        Ok(forces.into_iter().map(|f| f.to_array()).collect())
    }

    fn speed(&mut self, seconds: f64) -> Result<f64, Problem> {
        let engine = self.engine.take();
        let stop = self.place.stop;
        let (case, precision) = (self.case, self.precision);
        let (rate, engine) = self.install(move || {
            let proceed = || !stop.load(std::sync::atomic::Ordering::Relaxed);
            let mut engine = match engine {
                Some(engine) => engine,
                None => {
                    let mut simulation = case.simulation.clone();
                    simulation.run.precision = precision;
                    debye::run::engine(&simulation)?
                }
            };
            timing::time(case.selection, engine.as_mut(), WARM_UP * seconds, &proceed)?;
            let timing = timing::time(case.selection, engine.as_mut(), seconds, &proceed)?;
            Ok((timing.rate(), engine))
        })?;
        self.engine = Some(engine);
        match self.place.stopped() {
            true => Err(Problem::Stopped),
            false => Ok(rate),
        }
    }
}
