//! Runs of the engine: the time step (Fig. 10), temperatures and energies (Tables 6 and 7, Fig. 11).

use std::time::Instant;

use debye::engines::Engine;
use debye::plot::{Axis, Chart, Series};
use debye::prelude::{Precision, Simulation};
use debye::run::engine_on;
use debye_gpu::Device;

use super::beads::Beads;
use super::report::{compare, figure, table};
use crate::study::{Bench, Input, Section, StudyError, number};

/// A mean and the standard deviation.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        Self {
            mean,
            deviation: square.sqrt(),
        }
    }
}

/// The same beads with another time step, thermostat and precision.
fn changed(
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

/// What a run gave: temperatures of lipids and of water in °C, potential and total energy for each bead.
struct Course {
    lipids: Spread,
    water: Spread,
    potential: Spread,
    total: Spread,
    /// ps, and the total energy for each bead.
    energies: (Vec<f64>, Vec<f64>),
}

/// Looks at a run every so many steps.
fn course(
    beads: &Beads,
    femtoseconds: f64,
    ensemble: &str,
    precision: Precision,
    looks: [u64; 2],
    device: Option<&Device>,
) -> Result<Course, StudyError> {
    let [every, times] = looks;
    let simulation = changed(beads, femtoseconds, ensemble, precision)?;
    let mut engine = engine_on(&simulation, device)?;
    let water = simulation.system.species.iter().position(|s| s.name == "W");
    let n = beads.len() as f64;
    let [mut lipid_t, mut water_t, mut potential, mut total, mut time] = [const { Vec::new() }; 5];
    for _ in 0..times {
        engine.advance(every, true)?;
        let seen = engine.observe()?;
        potential.push(seen.potential / n);
        total.push((seen.potential + seen.kinetic) / n);
        time.push(seen.time);
        let [l, w] = temperatures(engine.as_ref(), water)?;
        lipid_t.push(l);
        water_t.push(w);
    }
    Ok(Course {
        lipids: Spread::of(&lipid_t),
        water: Spread::of(&water_t),
        potential: Spread::of(&potential),
        total: Spread::of(&total),
        energies: (time, total),
    })
}

/// Temperatures of what is no water and of water, in °C; rotations count.
fn temperatures(engine: &dyn Engine, water: Option<usize>) -> Result<[f64; 2], StudyError> {
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
    Ok([0, 1].map(|g| 2.0 * energy[g] / (f64::max(freedom[g], 1.0) * BOLTZMANN) - 273.15))
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

/// Temperatures and energies: Tables 6 and 7, Fig. 11.
pub(super) fn accuracy(bench: &mut Bench<'_>, lipids: &Beads) -> Result<(), StudyError> {
    let looks = bench.extent.pick([5, 4], [20, 40], [100, 200]);
    let device = bench.device();
    let heated = |precision| course(lipids, 10.0, "langevin", precision, looks, device);
    let alone = |precision| course(lipids, 1.0, "nve", precision, looks, device);
    let (mixed, double) = (heated(Precision::Mixed)?, heated(Precision::Double)?);
    let (mixed_nve, double_nve) = (alone(Precision::Mixed)?, alone(Precision::Double)?);
    let apart = 100.0 * ((mixed.potential.mean - double.potential.mean) / double.potential.mean).abs();
    let cell = |x: Spread, digits: usize| format!("{:.*} ± {:.*}", digits, x.mean, digits, x.deviation);
    let rows = vec![
        vec![
            "temperature of lipids (°C)".into(),
            cell(mixed.lipids, 2),
            cell(double.lipids, 2),
        ],
        vec![
            "temperature of water (°C)".into(),
            cell(mixed.water, 2),
            cell(double.water, 2),
        ],
        vec![
            "potential energy (kJ/mol per bead)".into(),
            cell(mixed.potential, 4),
            cell(double.potential, 4),
        ],
        vec![
            "total energy, NVE at 1 fs (kJ/mol per bead)".into(),
            cell(mixed_nve.total, 6),
            cell(double_nve.total, 6),
        ],
    ];
    let shifted = |(time, energy): &(Vec<f64>, Vec<f64>)| {
        let first = energy.first().copied().unwrap_or(0.0);
        let since: Vec<f64> = time
            .iter()
            .map(|t| t - time.first().copied().unwrap_or(0.0))
            .collect();
        (
            since,
            energy.iter().map(|e| 1e3 * (e - first)).collect::<Vec<f64>>(),
        )
    };
    let mut chart = Chart::new(
        "Total energy, NVE",
        Axis::new("time (ps)"),
        Axis::new("change (J/mol per bead)"),
    );
    for (name, course) in [("mixed", &mixed_nve), ("double", &double_nve)] {
        let (t, e) = shifted(&course.energies);
        chart = chart.with(Series::new(name, &t, &e));
    }
    let section = Section {
        title: "Accuracy (Tables 6 and 7, Fig. 11)".into(),
        meaning: format!(
            "Mean potential energies of mixed and double precision are {apart:.3} % apart, within the noise of runs this short; \
             the paper has 0.68 % between its processor and its better cards. The total energy of a bead varies by {:.1e} \
             kJ/mol in mixed and {:.1e} in double precision at 1 fs.",
            mixed_nve.total.deviation, double_nve.total.deviation
        ),
        comparisons: vec![
            compare(
                "temperature of lipids",
                30.0018,
                "serial program; asked for here are 29.85 °C",
                Some(mixed.lipids.mean),
                "°C",
            ),
            compare(
                "potential energy, mixed from double",
                0.68,
                "GTX 480 from CPU",
                Some(apart),
                "%",
            ),
            compare(
                "NVE, standard deviation of the total energy",
                0.0464,
                "GTX 480",
                Some(mixed_nve.total.deviation),
                "kJ/mol",
            ),
        ],
        tables: vec![table(
            "accuracy",
            &format!("{}: mean ± standard deviation", lipids.label()),
            &["", "mixed", "double"],
            rows,
        )],
        figures: vec![figure(
            "total-energy",
            "Fig. 11: the total energy without a thermostat, from its start.",
            chart,
        )],
    };
    bench.found.sections.push(section);
    Ok(())
}
