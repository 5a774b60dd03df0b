//! Runs input files of `validation/` and prints averages with their standard errors.
//!
//! ```text
//! cargo run --release -p debye --example validate -- validation/b1-0776.toml
//! ```
//!
//! `--skip F` leaves the first fraction F of the steps out of the averages (0.2 unless said), and
//! `--precision P` overrides the file's, `--rows` prints every observation too. Threads: `RAYON_NUM_THREADS`.
#![allow(clippy::unwrap_used, reason = "a program for developers")]

use debye::analysis::{Analysis, BlockAverage, Labels, Msd, MsdOptions, Rdf, RdfOptions, Snapshot, drift};
use debye::engines::{Observation, Precision};
use debye::expr::Vec3;
use debye::run;
use debye::simulation::Simulation;
use debye::system::Units;

/// Time unit of argon in picoseconds: σ √(m/ε) with σ 3.40 Å, m 39.948 u, ε 0.0104 eV.
const ARGON_PICOSECONDS: f64 = 2.1454;
/// Structure and diffusion are measured up to this size.
const SMALL: usize = 2000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut skip, mut precision, mut rows, mut files) = (0.2, None, false, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--skip" => skip = arguments.next().unwrap().parse().unwrap(),
            "--precision" => {
                let name = arguments.next().unwrap();
                precision = Precision::NAMES.iter().find(|p| p.0 == name).map(|p| p.1);
            }
            "--rows" => rows = true,
            _ => files.push(argument),
        }
    }
    for file in files {
        validate(&file, skip, precision, rows);
    }
}

fn validate(file: &str, skip: f64, precision: Option<Precision>, print: bool) {
    let mut simulation = Simulation::read(file).unwrap_or_else(|e| panic!("{e}"));
    simulation.run.precision = precision.unwrap_or(simulation.run.precision);
    let s = &simulation;
    let every = s.output.table.as_ref().map_or(10, |t| t.every);
    let first = (s.run.steps as f64 * skip) as u64;
    let small = s.system.particles.len() <= SMALL;
    let labels = Labels::new(s.system.units, &s.system.species);
    let r_max = 0.5 * s.system.cell.heights().x;
    let options = RdfOptions {
        pair: None,
        r_max,
        bins: 400,
    };
    let mut rdf = Rdf::new(options, &labels).unwrap();
    let mut msd = Msd::new(MsdOptions::default(), &labels).unwrap();
    let began = std::time::Instant::now();
    let mut engine = run::engine(s).unwrap();
    let mut rows: Vec<Observation> = Vec::new();
    while engine.step_number() < s.run.steps {
        engine.advance(every, true).unwrap();
        if engine.step_number() < first {
            continue;
        }
        rows.push(engine.observe().unwrap());
        if print {
            let o = &rows[rows.len() - 1];
            println!(
                "  {} {} {} {} {}",
                o.step,
                o.temperature,
                o.potential,
                o.kinetic,
                o.total()
            );
        }
        if small && rows.len().is_multiple_of(2) {
            let (p, cell) = (engine.particles().unwrap(), engine.cell());
            let unwrapped: Vec<Vec3<f64>> = p
                .positions
                .iter()
                .zip(&p.images)
                .map(|(&r, &n)| r + cell.translation(n))
                .collect();
            let frame = Snapshot {
                step: engine.step_number(),
                time: engine.step_number() as f64 * s.dynamics.timestep,
                cell: &cell,
                positions: &p.positions,
                unwrapped: &unwrapped,
                velocities: None,
                species: &p.species,
                axes: None,
                rotational_energies: None,
            };
            rdf.add(&frame).unwrap();
            msd.add(&frame).unwrap();
        }
    }
    println!(
        "{file}: {} particles, {} steps, {}, {}, {:.0} s",
        s.system.particles.len(),
        s.run.steps,
        s.run.precision.name(),
        engine.device(),
        began.elapsed().as_secs_f64()
    );
    averages(s, &rows);
    conservation(s, &rows);
    if small {
        structure(&rdf, &msd);
    }
}

fn averages(s: &Simulation, rows: &[Observation]) {
    let n = s.system.particles.len() as f64;
    let units = s.system.units;
    let mass: f64 = s.system.particles.masses.iter().sum();
    let print = |name: &str, value: &dyn Fn(&Observation) -> f64| {
        let values: Vec<f64> = rows.iter().map(value).collect();
        let average = BlockAverage::of(&values);
        let variance = values.iter().map(|v| (v - average.mean).powi(2)).sum::<f64>() / values.len() as f64;
        println!(
            "  {name:12} {:14.6} ± {:.6}   (standard deviation {:.6})",
            average.mean,
            average.standard_error,
            variance.sqrt()
        );
    };
    print("temperature", &|o| o.temperature);
    print("U/N", &|o| o.potential / n);
    print("pressure", &|o| o.pressure().unwrap_or(f64::NAN));
    match units {
        Units::Md => {
            print("p / bar", &|o| o.pressure().unwrap_or(f64::NAN) * units.bar());
            print("g/cm³", &|o| {
                mass / o.cell.volume() * units.grams_per_cubic_centimeter()
            });
        }
        Units::LennardJones => print("density", &|o| n / o.cell.volume()),
    }
}

fn conservation(s: &Simulation, rows: &[Observation]) {
    if rows.iter().any(|o| o.thermostat.is_none()) {
        return;
    }
    let picoseconds = match s.system.units {
        Units::Md => 1.0,
        Units::LennardJones => ARGON_PICOSECONDS,
    };
    let times: Vec<f64> = rows.iter().map(|o| o.time * picoseconds).collect();
    let energies: Vec<f64> = rows
        .iter()
        .map(|o| o.total() + o.thermostat.unwrap_or(0.0))
        .collect();
    let temperatures: Vec<f64> = rows.iter().map(|o| o.temperature).collect();
    let kt = s.system.units.boltzmann() * BlockAverage::of(&temperatures).mean;
    let d = drift(&times, &energies, kt, rows[0].degrees_of_freedom);
    let [derivative, error] = d.per_nanosecond();
    println!(
        "  drift        {derivative:.3e} ± {error:.3e} kT/ns/dof over {:.3} ns; |derivative| + 2 s.e. = {:.3e}; deviation {:.3e} of |E|",
        (times[times.len() - 1] - times[0]) / 1000.0,
        d.bound_per_freedom() * 1000.0,
        d.deviation / d.mean.abs()
    );
}

fn structure(rdf: &Rdf, msd: &Msd) {
    let g = rdf.finish();
    let (r, values) = (&g.columns[0].values, &g.columns[1].values);
    let peak = (0..values.len())
        .max_by(|&a, &b| values[a].total_cmp(&values[b]))
        .unwrap();
    println!("  g(r)         first peak {:.3} at {:.3}", values[peak], r[peak]);
    for scalar in &msd.finish().scalars {
        println!(
            "  {:12} {:14.6} ± {:.6} {}",
            scalar.name, scalar.value, scalar.error, scalar.unit
        );
    }
}
