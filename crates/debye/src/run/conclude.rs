//! How a run ends: last structures, analyses, pictures, report, summary.

use std::path::{Path, PathBuf};

use debye_io::{Format, LengthUnit, Structure, write_structure};

use super::export::{Export, Moment, Placement, write_system};
use super::report::{DriftFacts, Host, Kind, Place, Quantity, Report, Shot, Speed, Stage, SystemFacts};
use super::table::{TableLayout, read_table};
use super::{Averages, Outcome, Run, RunError, Summary, describe};
use crate::analysis::{BlockAverage, Column, Labels, Snapshot, drift};
use crate::engines::{Culprit, Engine, Observation};
use crate::maps::MapError;
use crate::plot::{Paint, Scenery, data_uri};
use crate::simulation::Simulation;
use crate::system::{Cell, Dimension, Particles, Units};

/// Rows a drift needs before it means anything.
const FEWEST_ROWS: usize = 10;

/// The share of a run that checkpoints may take without a note.
const EXPENSIVE: f64 = 0.1;

impl Run<'_> {
    pub(super) fn conclude(mut self, outcome: Outcome) -> Result<Summary, RunError> {
        let (last_step, seconds) = (self.engine.step_number(), self.seconds);
        let limited = self.engine.barostat_limited();
        if limited > 0 {
            self.notes.push(format!(
                "the barostat was limited to 10 % of a length at once, {limited} times so far: the pressure is far from its \
                 target, and meanwhile does not relax in the `time` asked for. Minimize first, begin nearer to the \
                 target, or give [barostat] a longer `time`"
            ));
        }
        let saving = self.closing.saves.as_secs_f64() / seconds;
        let asked = self.simulation.output.checkpoint.is_some();
        if asked && saving > EXPENSIVE && seconds > 1.0 {
            self.notes.push(format!(
                "checkpoints took {:.0} % of the time: `checkpoint` of [output] may have a larger `every`, or be left out \
                 for one every few minutes",
                100.0 * saving
            ));
        }
        let timestep = self.simulation.dynamics.timestep;
        let steps = last_step - self.first_step;
        let md = self.simulation.system.units == Units::Md;
        let nanoseconds_per_day =
            (md && seconds > 0.0).then(|| steps as f64 * timestep * 1e-3 / seconds * 86_400.0);
        if outcome == Outcome::Finished {
            self.write_structures()?;
            self.outputs.finish()?;
        }
        self.write_maps()?;
        let analyses = self.write_analyses()?;
        if let Some(picture) = self.picture("last.png", true)? {
            picture.draw()?;
        }
        let table = match &self.simulation.output.table {
            Some(plan) => read_table(&self.path(&plan.file))?.1,
            None => Vec::new(),
        };
        let skipped = self.equilibration_rows(&table);
        let averages = self.averages(&table, skipped)?;
        let drift = self.drift(&table, skipped)?;
        let mut report = None;
        if self.files.is_some() && self.simulation.output.report {
            let speed = Speed {
                steps,
                seconds,
                nanoseconds_per_day,
            };
            let page = self.report(&table, skipped, drift, speed, analyses)?.to_html();
            let path = self.path("report.html");
            std::fs::write(&path, page).map_err(|e| RunError::write(&path, e))?;
            report = Some(path);
        }
        Ok(Summary {
            outcome,
            first_step: self.first_step,
            last_step,
            start_seconds: self.start_seconds,
            seconds,
            nanoseconds_per_day,
            drift: drift.map(|d| d.drift),
            averages,
            device: self.engine.device(),
            device_use: self.engine.device_use(),
            report,
            notes: self.notes,
            folder: self.files.map(|files| files.folder),
        })
    }

    /// A file in the output folder.
    fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.simulation.output.path(file)
    }

    /// Names of the species.
    pub(super) fn species_names(&self) -> Vec<&str> {
        let species = self.simulation.system.species.iter();
        species.map(|s| s.name.as_str()).collect()
    }

    fn write_structures(&mut self) -> Result<(), RunError> {
        let (particles, cell) = (self.engine.particles()?, self.engine.cell());
        let (step, time) = (self.engine.step_number(), self.engine.observe()?.time);
        for file in &self.simulation.output.last {
            let now = Moment {
                title: &self.simulation.title,
                step,
                time,
                particles: &particles,
                cell: &cell,
            };
            let note = write_system(&self.path(file), &self.simulation.system, now)?;
            self.notes.extend(note);
        }
        Ok(())
    }

    /// Means of maps and their errors, as far as the run came.
    fn write_maps(&mut self) -> Result<(), RunError> {
        for map in std::mem::take(&mut self.outputs.maps) {
            let plan = map.plan;
            let (average, _) = match map.frames.finish() {
                Ok(found) => found,
                Err(MapError::NoFrames) => {
                    let (file, from) = (plan.file.display(), plan.from);
                    self.notes
                        .push(format!("{file} is not written: it begins at step {from}"));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if self.files.is_none() {
                continue;
            }
            average.mean()?.save(&self.path(&plan.file), plan.unit)?;
            if let Some(error) = average.error()? {
                error.save(&self.path(plan.error_file()), plan.unit)?;
            }
        }
        Ok(())
    }

    fn write_analyses(&mut self) -> Result<Vec<crate::analysis::Analyzed>, RunError> {
        let mut all = Vec::new();
        self.outputs.drain();
        let last = self.engine.step_number();
        let (names, mut late) = (self.species_names(), Vec::new());
        for m in self.outputs.measurements() {
            let first = m.plan.first_look();
            if first > last {
                let file = m.plan.file.display();
                late.push(format!("{file} is not written: it begins at step {first}"));
                continue;
            }
            let result = m.plan.request.narrow(m.analysis.finish(), &names);
            if self.files.is_some() {
                for (path, content) in result.files(&self.path(&m.plan.file))? {
                    std::fs::write(&path, content).map_err(|e| RunError::write(&path, e))?;
                }
            }
            all.push(result);
        }
        self.notes.extend(late);
        Ok(all)
    }

    /// A picture of the particles now; `fresh` replaces one that is there already.
    pub(super) fn picture(&self, name: &str, fresh: bool) -> Result<Option<Picture>, RunError> {
        let path = self.path(name);
        let pictures = self.files.is_some() && self.simulation.output.report;
        if !pictures || (path.exists() && !fresh) {
            return Ok(None);
        }
        let system = &self.simulation.system;
        Ok(Some(Picture {
            path,
            step: self.engine.step_number(),
            particles: self.engine.particles()?,
            cell: self.engine.cell(),
            labels: Labels::new(system.units, &system.species),
        }))
    }

    /// Rows at the beginning of the table that belong to the equilibration.
    fn equilibration_rows(&mut self, table: &[Vec<f64>]) -> usize {
        let steps = self.simulation.run.equilibration;
        let rows = table.first().map_or(0, Vec::len);
        // The first column is the step.
        let skipped = table.first().map_or(0, |column| {
            column.iter().take_while(|&&step| step < steps as f64).count()
        });
        if steps == 0 || rows == 0 || self.engine.step_number() > steps {
            return skipped;
        }
        self.notes
            .push("there are no averages: the run ends within its equilibration".into());
        rows
    }

    fn layout(&self, example: &Observation) -> TableLayout {
        TableLayout::new(&self.simulation.system, &self.simulation.dynamics, example)
    }

    /// Averages of what people look at first.
    fn averages(&mut self, table: &[Vec<f64>], skipped: usize) -> Result<Option<Averages>, RunError> {
        let observation = self.engine.observe()?;
        let layout = self.layout(&observation);
        let rows = table.first().map_or(0, Vec::len) - skipped;
        let times = layout.place("time").and_then(|k| table.get(k));
        let from = times.and_then(|times| times.get(skipped)).copied();
        let Some(from) = from.filter(|_| rows >= FEWEST_ROWS) else {
            return Ok(None);
        };
        let average = |name: &&str| {
            let place = layout.place(name)?;
            let column = &layout.columns()[place];
            let average = BlockAverage::of(table.get(place)?.get(skipped..)?);
            Some((column.name.clone(), column.unit.clone(), average))
        };
        Ok(Some(Averages {
            from,
            rows,
            columns: ["temperature", "pressure", "density", "surface tension"]
                .iter()
                .filter_map(average)
                .collect(),
        }))
    }

    /// The drift of the conserved energy, from the table without its first rows.
    fn drift(&mut self, table: &[Vec<f64>], skipped: usize) -> Result<Option<DriftFacts>, RunError> {
        let observation = self.engine.observe()?;
        let layout = self.layout(&observation);
        let column = |name: &str| {
            let place = layout.place(name)?;
            table.get(place).and_then(|column| column.get(skipped..))
        };
        let (Some(times), Some(conserved), Some(temperatures)) =
            (column("time"), column("conserved"), column("temperature"))
        else {
            return Ok(None);
        };
        if times.len() < FEWEST_ROWS || conserved.iter().any(|e| !e.is_finite()) {
            return Ok(None);
        }
        let mean = temperatures.iter().sum::<f64>() / temperatures.len() as f64;
        // At rest, or with nothing that can move, there is nothing to compare a drift with.
        if !(mean > 0.0 && observation.degrees_of_freedom > 0.0) {
            return Ok(None);
        }
        if !self.simulation.dynamics.thermostats.is_empty()
            && let Some(note) = relaxing(temperatures)
        {
            self.notes.push(note);
        }
        let kt = self.simulation.system.units.boltzmann() * mean;
        Ok(Some(DriftFacts {
            drift: drift(times, conserved, kt, observation.degrees_of_freedom),
            timestep: self.simulation.dynamics.timestep,
            picoseconds: self.simulation.system.units == Units::Md,
        }))
    }

    fn report(
        &mut self,
        table: &[Vec<f64>],
        skipped: usize,
        drift: Option<DriftFacts>,
        speed: Speed,
        analyses: Vec<crate::analysis::Analyzed>,
    ) -> Result<Report, RunError> {
        let observation = self.engine.observe()?;
        let layout = self.layout(&observation);
        let column = |k: usize| {
            let c = &layout.columns()[k];
            Column::new(&c.name, &c.unit, table.get(k).cloned().unwrap_or_default(), None)
        };
        let kind = |name: &str| match name {
            "step" => Some(Kind::Step),
            "potential" => Some(Kind::Potential),
            "kinetic" => Some(Kind::Kinetic),
            "conserved" => Some(Kind::Total),
            "temperature" => Some(Kind::Temperature),
            "pressure" => Some(Kind::Pressure),
            "volume" => Some(Kind::Volume),
            "density" => Some(Kind::Density),
            name if name.starts_with("term ") => Some(Kind::Term),
            _ => None,
        };
        // Where nothing is conserved, the total energy is what there is to show.
        let conserved = layout.place("conserved").is_some();
        let quantities = (0..layout.columns().len())
            .filter_map(|k| {
                let name = layout.columns()[k].name.as_str();
                let kind = if !conserved && name == "total" {
                    Some(Kind::Total)
                } else {
                    kind(name)
                };
                Some(Quantity {
                    kind: kind?,
                    column: column(k),
                })
            })
            .collect();
        let lists = self.engine.lists();
        Ok(Report {
            title: self.simulation.title.clone(),
            program: format!("debye {}", env!("CARGO_PKG_VERSION")),
            commit: option_env!("DEBYE_COMMIT").map(str::to_owned),
            date: super::report::utc_now(),
            host: Host {
                processor: super::report::processor(),
                threads: rayon::current_num_threads(),
                simd: crate::engines::InstructionSet::detect().name().into(),
                precision: self.simulation.run.precision.name().into(),
                device: self.engine.device(),
            },
            input: self.simulation.input_text.clone(),
            setup: describe::setup(&self.simulation)
                .into_iter()
                .map(|(name, text)| (capitalized(name), text))
                .collect(),
            system: self.facts(),
            places: observation
                .terms
                .iter()
                .map(|(term, _)| Place {
                    term: term.clone(),
                    place: if term == "tail" {
                        "analytic".into()
                    } else {
                        self.engine.device()
                    },
                })
                .collect(),
            time: if table.is_empty() {
                Column::new("time", "", Vec::new(), None)
            } else {
                column(1)
            },
            table: quantities,
            equilibration_rows: skipped,
            drift,
            stages: self
                .engine
                .stages()
                .list()
                .iter()
                .map(|s| Stage {
                    name: s.name.into(),
                    seconds: s.seconds,
                    calls: s.calls,
                })
                .collect(),
            speed,
            device_use: self.engine.device_use(),
            rebuild_interval: (lists.builds > 1).then(|| observation.step as f64 / lists.builds as f64),
            memory: self.memory(),
            pictures: self.shots(),
            analyses,
            warnings: self.notes.clone(),
        })
    }

    fn memory(&self) -> Vec<(String, u64)> {
        let Some(device) = self.engine.device_use() else {
            return vec![
                ("engine".into(), self.engine.bytes() as u64),
                (
                    "of that, neighbor lists".into(),
                    self.engine.lists().size.bytes as u64,
                ),
            ];
        };
        let parts = device.memory.0.iter();
        let parts = parts.map(|(name, bytes)| (format!("of that, {name}"), *bytes as u64));
        [("of the device".to_owned(), device.memory.total() as u64)]
            .into_iter()
            .chain(parts)
            .collect()
    }

    fn facts(&self) -> SystemFacts {
        let system = &self.simulation.system;
        let length = system.units.label(Dimension::LENGTH);
        let count = |s: usize| {
            system
                .particles
                .species
                .iter()
                .filter(|&&k| k as usize == s)
                .count() as u64
        };
        let species = system
            .species
            .iter()
            .enumerate()
            .map(|(k, s)| (s.name.clone(), count(k)))
            .collect();
        let [a, b, c] = self.engine.cell().to_arrays();
        let lists = self.engine.lists();
        let cutoff = self.simulation.forces.cutoff();
        let per_particle = lists.size.pairs as f64 / system.particles.len() as f64;
        let row = |v: [f64; 3]| format!("({:.4}, {:.4}, {:.4})", v[0], v[1], v[2]);
        SystemFacts {
            particles: system.particles.len() as u64,
            species,
            facts: vec![
                (
                    "Cell at the end".into(),
                    format!("{} {} {} {length}", row(a), row(b), row(c)),
                ),
                ("Largest cut-off".into(), format!("{cutoff:.4} {length}")),
                (
                    "List buffer now".into(),
                    format!("{:.4} {length}", lists.radius - cutoff),
                ),
                (
                    "Neighbors listed per particle".into(),
                    format!("{per_particle:.1}"),
                ),
                ("Images beyond the cell".into(), lists.size.images.to_string()),
            ],
        }
    }

    fn shots(&self) -> Vec<Shot> {
        let shot = |name: &str, caption: String| {
            let bytes = std::fs::read(self.path(name)).ok()?;
            Some(Shot {
                caption,
                data_uri: data_uri("image/png", &bytes),
            })
        };
        let last = format!("Step {}", self.engine.step_number());
        [shot("first.png", "The beginning".into()), shot("last.png", last)]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// A label as the page begins its rows.
fn capitalized(label: &str) -> String {
    let mut letters = label.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// A picture that is to be drawn.
pub(super) struct Picture {
    path: PathBuf,
    step: u64,
    particles: Particles,
    cell: Cell,
    labels: Labels,
}

impl Picture {
    /// Draws it into its file.
    pub(super) fn draw(self) -> Result<(), RunError> {
        let p = &self.particles;
        let moving = p.velocities.iter().any(|v| v.norm2() > 0.0);
        let axes = p.orientations.facings();
        let snapshot = Snapshot {
            step: self.step,
            time: 0.0,
            cell: &self.cell,
            positions: &p.positions,
            unwrapped: &p.positions,
            velocities: Some(&p.velocities),
            species: &p.species,
            axes: (!axes.is_empty()).then_some(&axes),
            rotational_energies: None,
        };
        let names = &self.labels.species;
        let unit = self.labels.speed();
        let paint = if names.len() == 1 && moving {
            Paint::Speed(&unit)
        } else {
            Paint::Species
        };
        let scenery = Scenery {
            paint,
            names,
            ..Scenery::default()
        };
        let png = scenery.render(&snapshot)?.to_png()?;
        std::fs::write(&self.path, png).map_err(|e| RunError::write(&self.path, e))
    }
}

/// What to say of the drift of a run that begins far from its temperature. The energy of finite steps differs from the true
/// one by a part that grows with how fast particles move: while they come to rest, it changes without anything being wrong.
fn relaxing(temperatures: &[f64]) -> Option<String> {
    let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len() as f64;
    let n = temperatures.len();
    // The first row is as it was drawn or read; what minimization left over shows in the next ones.
    let (early, late) = (
        mean(temperatures.get(1..2 + n / 10)?),
        mean(temperatures.get(n / 2..)?),
    );
    let above = 100.0 * (early / late - 1.0);
    (above.abs() > 10.0).then(|| {
        let way = if above > 0.0 { "above" } else { "below" };
        format!(
            "the temperature began {:.0} % {way} that of the later half, so the drift is that of a system coming to rest and \
             says little about the time step; `equilibration` of [run], or `debye analyze drift` with `--from`, leaves the \
             beginning out",
            above.abs()
        )
    })
}

/// The particles around one that exploded, those with finite positions.
pub(super) fn write_surroundings(
    file: &Path,
    culprit: &Culprit,
    simulation: &Simulation,
    engine: &dyn Engine,
) -> Result<(), RunError> {
    let particles = engine.particles()?;
    let cell = engine.cell();
    let export = Export::new(&simulation.system, Format::XYZ, &[], Placement::Wrapped);
    let mut whole = Structure {
        atoms: export.atoms().to_vec(),
        frame: export.frame(&particles, &cell, culprit.step, 0.0, &culprit.to_string()),
        ..Structure::default()
    };
    let factor = match (simulation.system.units, Format::XYZ.length_unit()) {
        (Units::Md, LengthUnit::Angstrom) => 10.0,
        _ => 1.0,
    };
    let mut atoms = Vec::new();
    let mut positions = Vec::new();
    for &id in &culprit.neighborhood {
        let mut r = whole.frame.positions[id as usize];
        if id == culprit.particle {
            r = culprit.position.map(|x| x * factor);
        }
        if r.iter().all(|x| x.is_finite()) {
            atoms.push(whole.atoms[id as usize].clone());
            positions.push(r);
        }
    }
    (whole.atoms, whole.frame.positions) = (atoms, positions);
    whole.frame.velocities = None;
    let file: PathBuf = file.to_path_buf();
    Ok(write_structure(file, &whole)?)
}

#[cfg(test)]
mod tests {
    use super::relaxing;

    #[test]
    fn a_hot_start_is_noticed() {
        let fall = |k: usize| 300.0 + 300.0 * (-(k as f64) / 20.0).exp();
        let hot: Vec<f64> = (0..200).map(fall).collect();
        let quiet: Vec<f64> = (0..200)
            .map(|k| 300.0 + if k % 2 == 0 { 5.0 } else { -5.0 })
            .collect();
        assert!(relaxing(&hot).is_some_and(|note| note.contains("--from")));
        assert_eq!(relaxing(&quiet), None);
        assert_eq!(relaxing(&[300.0]), None);
    }
}
