//! The collapse of the argon sphere, by the engine: Figs. 2, 3 and 4.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use debye::plot::{Animation, Axis, Chart, Paint, Picture, Scenery, Series, Stroke};
use debye::prelude::{DeviceChoice, Lattice, Precision, Run, RunOptions, Snapshot, System, Units, builders};

use super::bins::{CUTOFF, EPSILON, MASS, SIGMA, argon};
use super::clusters::Clusters;
use crate::lammps::{CALORIE, Lammps, LammpsLog};
use crate::study::{Bench, Comparison, Figure, Section, Shown, StudyError, Table};

/// eV in kJ/mol, the paper's unit of energy.
const EV: f64 = 96.485_332_12;
/// nm between neighbors of the lattice at the start; atoms that are closer at the end hang together.
const SPACING: f64 = 0.5256;
/// Snapshots, as in Fig. 2.
const SNAPSHOTS: usize = 6;
/// Frames of the film after the first, and how many there are in a second.
const FRAMES: u64 = 60;
const RATE: u16 = 12;

/// What the run gave.
#[derive(Default)]
struct Course {
    /// ps.
    time: Vec<f64>,
    kinetic: Vec<f64>,
    potential: Vec<f64>,
    /// Million particles per second, over the steps before.
    speed: Vec<f64>,
    /// Pictures and their times.
    frames: Vec<(Picture, String)>,
    /// What hangs together at the end.
    clusters: Clusters,
}

/// The sphere, its steps, and what it is called.
fn plan(bench: &Bench<'_>) -> Result<(System, u64, &'static str), StudyError> {
    let ball = |radius: f64, side: usize| {
        builders::sphere(Lattice::Sc, radius)
            .spacing(SPACING)
            .side(side)
            .units(Units::Md)
            .species("Ar", MASS, 0.0)
    };
    let (builder, steps, name) = match (bench.extent.pick(0, 1, 2), bench.device().is_some()) {
        (0, _) => (ball(4.0, 14), 60, "A small sphere"),
        (1, false) => (ball(12.0, 40), 15_000, "A small sphere"),
        (1, true) | (2, false) => (
            builders::small_argon_sphere(),
            20_000,
            "A sphere of a quarter of the radius",
        ),
        _ => (builders::argon_sphere(), 100_000, "The paper's sphere"),
    };
    Ok((builder.build().map_err(StudyError::other)?, steps, name))
}

/// Runs it.
pub(super) fn collapse(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let (system, steps, name) = plan(bench)?;
    let (atoms, rows) = (system.particles.len(), bench.extent.pick(6, 120, 300));
    let each = (steps / rows).max(1);
    let (course, device) = course(bench, &system, each, rows)?;
    let lammps = match Lammps::find() {
        _ if bench.stopped() => Err("the study was interrupted".to_string()),
        Err(why) => Err(why),
        // A million atoms would take a processor hours.
        Ok(lammps) => {
            let steps = steps.min((2e7 / atoms as f64) as u64).max(20);
            let folder = std::env::temp_dir().join(format!("debye-study-lammps-{}", std::process::id()));
            let run = LammpsRun::of(lammps, &system, steps, each.min(steps), &folder);
            let _ = std::fs::remove_dir_all(&folder);
            run.map(|run| (lammps.name(), run))
                .map_err(|error| error.to_string())
        }
    };
    bench
        .found
        .sections
        .push(section(&course, &device, &lammps, atoms, name));
    Ok(())
}

fn course(bench: &Bench<'_>, system: &System, each: u64, rows: u64) -> Result<(Course, String), StudyError> {
    let device = bench.device();
    let choice = if device.is_some() {
        DeviceChoice::Cuda(0)
    } else {
        DeviceChoice::Cpu
    };
    let simulation = argon(system.clone())
        .precision(Precision::Mixed)
        .device(choice)
        .build()
        .map_err(StudyError::other)?;
    let mut options = RunOptions {
        device,
        ..RunOptions::default()
    };
    let mut run = simulation.start_with(&mut options)?;
    let atoms = system.particles.len() as f64;
    let mut course = Course::default();
    course.observe(&mut run, f64::NAN)?;
    course.draw(&run)?;
    let mut drawn = 1;
    for row in 1..=rows {
        let began = Instant::now();
        run.steps(each)?;
        let speed = 1e-6 * atoms * each as f64 / began.elapsed().as_secs_f64();
        course.observe(&mut run, speed)?;
        if row * FRAMES >= drawn * rows {
            course.draw(&run)?;
            drawn = row * FRAMES / rows + 1;
        }
        if bench.stopped() {
            break;
        }
    }
    let side = system.cell.to_arrays()[0][0];
    course.clusters = Clusters::of(&run.particles()?.positions, side, SPACING);
    Ok((course, run.device()))
}

impl Course {
    fn observe(&mut self, run: &mut Run<'_>, speed: f64) -> Result<(), StudyError> {
        let seen = run.observe()?;
        self.time.push(seen.time);
        self.kinetic.push(seen.kinetic / EV);
        self.potential.push(seen.potential / EV);
        self.speed.push(speed);
        Ok(())
    }

    fn draw(&mut self, run: &Run<'_>) -> Result<(), StudyError> {
        let (particles, cell) = (run.particles()?, run.cell());
        let time = self.time.last().copied().unwrap_or(0.0);
        let snapshot = Snapshot {
            step: run.step(),
            time,
            cell: &cell,
            positions: &particles.positions,
            unwrapped: &particles.positions,
            velocities: Some(&particles.velocities),
            species: &particles.species,
            axes: None,
            rotational_energies: None,
        };
        let title = format!("{time:.1} ps");
        let scenery = Scenery {
            size: [480, 400],
            // Half of the distance between neighbors in the liquid.
            radii: &[0.19],
            paint: Paint::Speed("nm/ps"),
            title: &title,
            ..Scenery::default()
        };
        let picture = scenery.render(&snapshot)?;
        self.frames.push((picture, title));
        Ok(())
    }

    /// Some of the frames from the first to the last, three beside each other.
    fn snapshots(&self) -> Picture {
        let last = self.frames.len().saturating_sub(1);
        let mut places: Vec<usize> = (0..SNAPSHOTS).map(|k| k * last / (SNAPSHOTS - 1)).collect();
        places.dedup();
        let chosen: Vec<Picture> = places
            .iter()
            .filter_map(|&k| Some(self.frames.get(k)?.0.clone()))
            .collect();
        below(&chosen.chunks(3).map(Picture::beside).collect::<Vec<_>>())
    }

    /// The largest change of the total energy, by the total energy at the start.
    fn excursion(&self) -> f64 {
        let total = |i: usize| self.kinetic[i] + self.potential[i];
        let off = (0..self.time.len())
            .map(|i| (total(i) - total(0)).abs())
            .fold(0.0, f64::max);
        off / total(0).abs()
    }
}

fn section(
    course: &Course,
    device: &str,
    lammps: &Result<(String, LammpsRun), String>,
    atoms: usize,
    name: &str,
) -> Section {
    let time = &course.time;
    let mut energies = Chart::new("Energies", Axis::new("time (ps)"), Axis::new("energy (eV)"))
        .with(Series::new("kinetic", time, &course.kinetic).with_color(1))
        .with(Series::new("potential", time, &course.potential).with_color(0));
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f64>>();
    let mut total = Chart::new("Total energy", Axis::new("time (ps)"), Axis::new("energy (eV)"))
        .with(Series::new("Debye", time, &sum(&course.kinetic, &course.potential)).with_color(0));
    let mut speed = Chart::new(
        "Speed",
        Axis::new("time (ps)"),
        Axis::new("million particles per second"),
    )
    .with(Series::new("Debye", time, &course.speed).with_color(0));
    let median = median_of(time.iter().zip(&course.speed));
    let (mut ratio, mut beside) = (None, Vec::new());
    match lammps {
        Ok((_, run)) => {
            let column = |k: usize| {
                run.rows
                    .iter()
                    .map(|row| row[k] / if k > 0 { EV } else { 1.0 })
                    .collect::<Vec<f64>>()
            };
            let (t, kinetic, potential) = (column(0), column(1), column(2));
            for (name, values, color) in [
                ("kinetic, LAMMPS", &kinetic, 1),
                ("potential, LAMMPS", &potential, 0),
            ] {
                energies = energies.with(
                    Series::new(name, &t, values)
                        .with_stroke(Stroke::Dots)
                        .with_color(color),
                );
            }
            total = total.with(
                Series::new("LAMMPS", &t, &sum(&kinetic, &potential))
                    .with_stroke(Stroke::Dots)
                    .with_color(1),
            );
            let mega = 1e-6 * atoms as f64 * run.speed;
            speed = speed
                .with(Series::new("LAMMPS", &[t[0], *t.last().unwrap_or(&0.0)], &[mega; 2]).with_color(1));
            // Over the same part of the collapse: the speed falls as the sphere grows dense.
            let until = t.last().copied().unwrap_or(0.0) + 1e-6;
            ratio = median_of(time.iter().zip(&course.speed).filter(|(t, _)| **t <= until))
                .map(|speed| speed / mega);
            beside.push(vec![
                "LAMMPS, one process, Mp/s".into(),
                crate::study::number(mega),
            ]);
            // The same start: energies agree until trajectories part.
            let early = run.rows.get(1).map(|row| {
                let at = time.iter().position(|&x| (x - row[0]).abs() < 1e-6);
                at.map(|i| (course.potential[i] * EV / row[2] - 1.0).abs())
            });
            if let Some(Some(off)) = early {
                beside.push(vec![
                    "potential energy against LAMMPS, first common row".into(),
                    format!("{off:.1e}"),
                ]);
            }
        }
        Err(why) => beside.push(vec!["LAMMPS".into(), why.clone()]),
    }
    let figure = |name: &str, caption: &str, chart: Chart| Figure {
        name: name.into(),
        caption: caption.into(),
        shown: Shown::Chart(Box::new(chart)),
    };
    let mut table = vec![
        vec!["atoms".into(), atoms.to_string()],
        vec!["ran on".into(), device.to_string()],
        vec![
            "simulated".into(),
            format!("{:.1} ps", time.last().copied().unwrap_or(0.0)),
        ],
        vec![
            "median speed, Mp/s".into(),
            median.map_or("–".into(), crate::study::number),
        ],
        vec![
            "largest change of the total energy".into(),
            format!("{:.1} %", 100.0 * course.excursion()),
        ],
        vec![
            "atoms in the largest cluster at the end".into(),
            format!("{:.1} %", 100.0 * course.clusters.largest),
        ],
        vec![
            "atoms alone at the end".into(),
            format!("{:.1} %", 100.0 * course.clusters.alone),
        ],
        vec![
            "clusters of two and more".into(),
            course.clusters.number.to_string(),
        ],
    ];
    table.extend(beside);
    Section {
        title: "The argon sphere (Figs. 2, 3, 4)".into(),
        meaning: format!(
            "{name} begins at rest on its lattice. At {:.0} ps {:.0} % of its atoms hang together in one cluster, closer than the \
             {SPACING} nm of neighbors at the start, and {:.0} % are alone. The potential is cut at 12 Å without a shift, as in the \
             paper, so that the total energy changes whenever a pair crosses the cut-off.",
            time.last().copied().unwrap_or(0.0),
            100.0 * course.clusters.largest,
            100.0 * course.clusters.alone,
        ),
        comparisons: vec![
            Comparison {
                what: "largest change of the total energy (less is better)".into(),
                paper: 5.0,
                source: "text of Fig. 4b: < 5 %",
                ours: Some(100.0 * course.excursion()),
                unit: "%",
            },
            Comparison {
                what: "over LAMMPS (here on one process)".into(),
                paper: 1.8555,
                source: "Tesla K80, LAMMPS on a Xeon E5-2690 v3",
                ours: ratio,
                unit: "times",
            },
        ],
        tables: vec![Table {
            name: "sphere".into(),
            title: "The run".into(),
            head: vec![String::new(), String::new()],
            rows: table,
        }],
        figures: vec![
            Figure {
                name: "snapshots".into(),
                caption: "Fig. 2: the sphere in time. Color is speed.".into(),
                shown: Shown::Picture(Box::new(course.snapshots())),
            },
            Figure {
                name: "collapse".into(),
                caption: "The video of Fig. 2: the same as a film, which collapse.html plays with a slider."
                    .into(),
                shown: Shown::Film(Box::new(Animation {
                    title: "The collapse of the argon sphere".into(),
                    frames: course.frames.clone(),
                    rate: RATE,
                })),
            },
            figure("energies", "Fig. 3: kinetic and potential energy.", energies),
            figure("speed", "Fig. 4a: speed along the run.", speed),
            figure("total-energy", "Fig. 4b: total energy.", total),
        ],
        ..Section::default()
    }
}

/// Energies of a run of LAMMPS.
struct LammpsRun {
    /// ps, kinetic and potential energy in kJ/mol.
    rows: Vec<[f64; 3]>,
    /// Steps per second.
    speed: f64,
}

impl LammpsRun {
    /// So many steps of 2 fs, with a row every so many.
    fn of(
        lammps: Lammps,
        system: &System,
        steps: u64,
        every: u64,
        folder: &Path,
    ) -> Result<Self, StudyError> {
        Ok(Self::from(lammps.run(
            &data(system),
            &input(steps, every),
            folder,
        )?))
    }
}

impl From<LammpsLog> for LammpsRun {
    fn from(log: LammpsLog) -> Self {
        let row = |row: &Vec<f64>| match row[..] {
            [step, kinetic, potential] => Some([0.002 * step, kinetic * CALORIE, potential * CALORIE]),
            _ => None,
        };
        Self {
            rows: log.rows.iter().filter_map(row).collect(),
            speed: log.steps / log.seconds,
        }
    }
}

fn data(system: &System) -> String {
    let side = 10.0 * system.cell.to_arrays()[0][0];
    let n = system.particles.len();
    let mut text = format!(
        "argon\n\n{n} atoms\n1 atom types\n\n0 {side} xlo xhi\n0 {side} ylo yhi\n0 {side} zlo zhi\n\nMasses\n\n1 {MASS}\n\nAtoms # atomic\n\n"
    );
    for (i, r) in system.particles.positions.iter().enumerate() {
        let [x, y, z] = (*r * 10.0).to_array();
        let _ = writeln!(text, "{} 1 {x} {y} {z}", i + 1);
    }
    text
}

fn input(steps: u64, every: u64) -> String {
    format!(
        "units real\natom_style atomic\nread_data system.data\n\
         pair_style lj/cut {}\npair_coeff 1 1 {} {}\n\
         timestep 2.0\nfix 1 all nve\nthermo {every}\n\
         thermo_style custom step ke pe\nthermo_modify norm no flush yes\nrun {steps}\n",
        10.0 * CUTOFF,
        EPSILON / CALORIE,
        10.0 * SIGMA,
    )
}

/// The median of the second numbers, where there are any.
fn median_of<'a>(pairs: impl Iterator<Item = (&'a f64, &'a f64)>) -> Option<f64> {
    let mut sorted: Vec<f64> = pairs.map(|(_, &s)| s).filter(|s| s.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// Pictures of one width, one below the other.
fn below(rows: &[Picture]) -> Picture {
    let width = rows.iter().map(|row| row.width).max().unwrap_or(1);
    let mut pixels = Vec::new();
    for row in rows {
        let mut wide = Picture::filled(width, row.height, [255; 3]);
        for (y, line) in row.pixels.chunks_exact(3 * row.width).enumerate() {
            wide.pixels[3 * y * width..][..line.len()].copy_from_slice(line);
        }
        pixels.extend(wide.pixels);
    }
    Picture {
        width,
        height: rows.iter().map(|row| row.height).sum(),
        pixels,
    }
}
