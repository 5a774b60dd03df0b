//! [`Course`]: energies and temperatures on the way of a run, by the engine or by the paper's kernels.

use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::thread;

use debye::engines::Engine;
use debye::prelude::{Precision, Simulation};
use debye::run::engine_on;
use debye_gpu::Device;
use rayon::prelude::*;

use super::beads::{Beads, Model};
use super::dynamics::Dynamics;
use super::report::{engine_name, kernels_name};
use super::versions::{Arithmetic, Kept, Types, Version};
use crate::study::{Bench, Place, StudyError, check_stop};

/// The time step of runs without a thermostat, as in the paper, fs.
pub(super) const NVE_STEP: f64 = 1.0;

/// 0 °C in K.
pub(super) const CELSIUS: f64 = 273.15;

/// A mean and the standard deviation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Spread {
    pub(super) fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        Self {
            mean,
            deviation: square.sqrt(),
        }
    }

    /// By how much the mean is off another, in percent of that.
    pub(super) fn percent_from(self, other: Self) -> f64 {
        100.0 * ((self.mean - other.mean) / other.mean).abs()
    }
}

/// What a run gave.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// ps.
    pub(super) times: Vec<f64>,
    /// kJ/mol for each bead.
    pub(super) potential: Vec<f64>,
    /// kJ/mol for each bead.
    pub(super) total: Vec<f64>,
    /// Of what is no water and of water, °C.
    pub(super) temperatures: [Vec<f64>; 2],
    /// Their degrees of freedom.
    pub(super) freedom: [f64; 2],
}

impl Course {
    fn record(&mut self, time: f64, [potential, kinetic]: [f64; 2], beads: &Beads) {
        let n = beads.len() as f64;
        self.times.push(time);
        self.potential.push(potential / n);
        self.total.push((potential + kinetic) / n);
    }

    /// ps from the first look to the last.
    pub(super) fn length(&self) -> f64 {
        match (self.times.first(), self.times.last()) {
            (Some(first), Some(last)) => last - first,
            _ => 0.0,
        }
    }

    /// The slope of the total energy, kJ/mol for each bead and ps: a line of least squares.
    pub(super) fn drift(&self) -> f64 {
        let [t, e] = [&self.times, &self.total].map(|x| Spread::of(x));
        let both = self.times.iter().zip(&self.total);
        let covariance: f64 = both.map(|(x, y)| (x - t.mean) * (y - e.mean)).sum();
        covariance / (self.times.len() as f64 * t.deviation.powi(2))
    }
}

/// How much warmer the second half of a run is than the first, where that is more than twice the standard error of the
/// difference. A temperature of f degrees of freedom varies by T √(2/f) and, with a Langevin thermostat of 1 ps, forgets
/// within half of that: a ps is worth one independent value.
pub(super) fn warming(temperatures: &[f64], freedom: f64, length: f64) -> Option<f64> {
    let (first, second) = temperatures.split_at(temperatures.len() / 2);
    let [first, second] = [first, second].map(|half| Spread::of(half).mean);
    let kelvin = 0.5 * (first + second) + CELSIUS;
    let error = kelvin * (2.0 / freedom).sqrt() * (2.0 / (0.5 * length).max(1.0)).sqrt();
    let change = second - first;
    (change.abs() > 2.0 * error).then_some(change)
}

/// The same beads with another time step, thermostat and precision.
pub(super) fn changed(
    beads: &Beads,
    femtoseconds: f64,
    ensemble: &str,
    precision: Precision,
) -> Result<Simulation, StudyError> {
    let mut simulation = beads.model.simulation(beads.len(), femtoseconds, ensemble)?;
    simulation.system = beads.simulation().system.clone();
    simulation.run.precision = precision;
    Ok(simulation)
}

/// A run of the engine that nobody times.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) femtoseconds: f64,
    pub(super) ensemble: &'static str,
    pub(super) precision: Precision,
    /// Steps from one look to the next, and how many looks.
    pub(super) looks: [u64; 2],
    /// Without one it is the processor's.
    pub(super) device: Option<&'a Device>,
}

impl<'a> Run<'a> {
    /// Without a thermostat, with the paper's time step.
    pub(super) fn alone(precision: Precision, looks: [u64; 2], device: Option<&'a Device>) -> Self {
        Self {
            femtoseconds: NVE_STEP,
            ensemble: "nve",
            precision,
            looks,
            device,
        }
    }

    /// Until it is done or is to stop.
    fn course(&self, stop: &AtomicBool, beads: &Beads) -> Result<Course, StudyError> {
        let simulation = changed(beads, self.femtoseconds, self.ensemble, self.precision)?;
        let mut engine = engine_on(&simulation, self.device)?;
        let water = simulation.system.species.iter().position(|s| s.name == "W");
        let mut course = Course::default();
        let [every, times] = self.looks;
        for look in 0..=times {
            check_stop(stop)?;
            if look > 0 {
                engine.advance(every, true)?;
            }
            let seen = engine.observe()?;
            course.record(seen.time, [seen.potential, seen.kinetic], beads);
            let (now, freedom) = temperatures(engine.as_ref(), water)?;
            course.freedom = freedom;
            for (all, now) in course.temperatures.iter_mut().zip(now) {
                all.push(now);
            }
        }
        Ok(course)
    }
}

/// Runs of the device side by side, and those of the processor after one another meanwhile.
pub(super) fn courses(stop: &AtomicBool, beads: &Beads, runs: &[Run<'_>]) -> Result<Vec<Course>, StudyError> {
    thread::scope(|scope| {
        let course = |run: Run<'_>| run.course(stop, beads);
        let started: Vec<_> = runs
            .iter()
            .map(|&run| (run, run.device.map(|_| scope.spawn(move || course(run)))))
            .collect();
        let ended = |(run, thread): (_, Option<thread::ScopedJoinHandle<'_, _>>)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => course(run),
        };
        started.into_iter().map(ended).collect()
    })
}

/// Looks at a run of the paper's kernels, without a thermostat. How many lists were made on the way, too.
fn by_kernels(
    stop: &AtomicBool,
    beads: &Beads,
    arithmetic: Arithmetic,
    looks: [u64; 2],
    device: &Device,
) -> Result<(Course, u64), StudyError> {
    match arithmetic {
        Arithmetic::Single | Arithmetic::Intrinsic => kept::<f32>(stop, beads, arithmetic, looks, device),
        Arithmetic::Double | Arithmetic::Mixed => kept::<f64>(stop, beads, arithmetic, looks, device),
        Arithmetic::Fixed => kept::<i64>(stop, beads, arithmetic, looks, device),
    }
}

fn kept<S: Kept>(
    stop: &AtomicBool,
    beads: &Beads,
    arithmetic: Arithmetic,
    [every, times]: [u64; 2],
    device: &Device,
) -> Result<(Course, u64), StudyError> {
    let timestep = 1e-3 * NVE_STEP;
    let version = Version::of(Types::Matrix, arithmetic);
    let mut dynamics = Dynamics::<S>::new(device, beads, version, timestep)?;
    let mut course = Course::default();
    course.record(0.0, dynamics.energies()?, beads);
    for look in 1..=times {
        check_stop(stop)?;
        (0..every).try_for_each(|_| dynamics.step())?;
        course.record((look * every) as f64 * timestep, dynamics.energies()?, beads);
    }
    Ok((course, dynamics.lists))
}

/// A run of the kernels in double precision, lists and bonds among it, beside the engine's on the processor.
#[derive(Clone, Copy, Debug)]
pub struct RunDifference {
    /// The largest difference of potential energies, kJ/mol for each bead.
    pub potential: f64,
    /// The largest difference of total energies, kJ/mol for each bead.
    pub total: f64,
    /// By how much the potential energy changes on the way, kJ/mol for each bead.
    pub change: f64,
    /// Lists made on the way.
    pub lists: u64,
}

/// How a bilayer of 840 beads moves for a tenth of a ps.
///
/// # Errors
/// What the device says, or the engine.
pub fn run_difference(device: &Device) -> Result<RunDifference, StudyError> {
    const LOOKS: [u64; 2] = [25, 4];
    let never = AtomicBool::new(false);
    let beads = Beads::relaxed(Model::Lipids, 840, 20, None)?;
    let (kernels, lists) = by_kernels(&never, &beads, Arithmetic::Double, LOOKS, device)?;
    let engine = Run::alone(Precision::Double, LOOKS, None).course(&never, &beads)?;
    let worst = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let start = vec![engine.potential[0]; engine.potential.len()];
    Ok(RunDifference {
        potential: worst(&kernels.potential, &engine.potential),
        total: worst(&kernels.total, &engine.total),
        change: worst(&engine.potential, &start),
        lists,
    })
}

/// Runs of the same beads without a thermostat, by name of the variant.
pub(super) struct Conserved {
    /// Which beads.
    pub(super) model: Model,
    /// How many.
    pub(super) beads: usize,
    /// The engine on the processor in double precision.
    pub(super) reference: Course,
    /// All others.
    pub(super) others: Vec<(String, Course)>,
}

impl Conserved {
    /// By the engine on the device and by the kernels in all arithmetics; without a device by the engine on the processor.
    pub(super) fn new(bench: &Bench<'_>, beads: &Beads, looks: [u64; 2]) -> Result<Self, StudyError> {
        let stop = bench.stop_flag();
        let device = bench.device();
        let others: &[(Precision, Place)] = match device {
            Some(_) => &[(Precision::Mixed, Place::Cuda), (Precision::Double, Place::Cuda)],
            None => &[(Precision::Mixed, Place::Cpu)],
        };
        let mut runs = vec![Run::alone(Precision::Double, looks, None)];
        runs.extend(
            others
                .iter()
                .map(|&(precision, _)| Run::alone(precision, looks, device)),
        );
        let mut all = courses(stop, beads, &runs)?.into_iter();
        let reference = all.next().unwrap_or_default();
        let names = others
            .iter()
            .map(|&(precision, place)| engine_name(precision, place));
        let mut others: Vec<_> = names.zip(all).collect();
        if let Some(device) = device {
            // Side by side: the host computes their bonds.
            let kernels = Arithmetic::ALL.into_par_iter().map(|arithmetic| {
                let (course, _) = by_kernels(stop, beads, arithmetic, looks, device)?;
                Ok((kernels_name(Types::Matrix, arithmetic), course))
            });
            others.extend(kernels.collect::<Result<Vec<_>, StudyError>>()?);
        }
        Ok(Self {
            model: beads.model,
            beads: beads.len(),
            reference,
            others,
        })
    }

    /// The run of a variant.
    pub(super) fn of(&self, variant: &str) -> Option<&Course> {
        if variant == engine_name(Precision::Double, Place::Cpu) {
            return Some(&self.reference);
        }
        let found = self.others.iter().find(|(name, _)| name == variant);
        found.map(|(_, course)| course)
    }
}

/// Temperatures of what is no water and of water, in °C, and their degrees of freedom; rotations count.
fn temperatures(engine: &dyn Engine, water: Option<usize>) -> Result<([f64; 2], [f64; 2]), StudyError> {
    /// kJ/(mol K), CODATA 2018.
    const BOLTZMANN: f64 = 0.008_314_462_618;
    let p = engine.particles()?;
    let (mut energy, mut freedom) = ([0.0; 2], [0.0; 2]);
    for i in 0..p.len() {
        let group = usize::from(Some(p.species[i] as usize) == water);
        let turns = p
            .orientations
            .rotor(i)
            .inertia
            .iter()
            .filter(|&&x| x > 0.0)
            .count();
        energy[group] += 0.5 * p.masses[i] * p.velocities[i].norm2();
        if turns > 0 {
            energy[group] += p.orientations.kinetic_energy(i);
        }
        freedom[group] += 3.0 + turns as f64;
    }
    let of = |g: usize| 2.0 * energy[g] / (f64::max(freedom[g], 1.0) * BOLTZMANN) - CELSIUS;
    Ok(([0, 1].map(of), freedom))
}
