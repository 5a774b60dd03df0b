//! Values that are possible but odd: a unit that was probably forgotten or mistaken. Each becomes a warning with the
//! line of the file, what the value amounts to, and what was perhaps meant.

use super::reader::{Item, Section};
use crate::forces::ForceField;
use crate::integrate::{Dynamics, ThermostatKind};
use crate::potentials::PAIRS;
use crate::simulation::{AnalysisPlan, MapPlan, RunPlan};
use crate::system::display::{digits, number, time};
use crate::system::{Dimension, System, Units};

/// What the values are judged by.
pub(super) struct Seen<'s> {
    pub(super) system: &'s System,
    pub(super) forces: &'s ForceField,
    pub(super) dynamics: &'s Dynamics,
    pub(super) run: &'s RunPlan,
    pub(super) analyses: &'s [AnalysisPlan],
    pub(super) maps: &'s [MapPlan],
    /// Whether steps will be made.
    pub(super) moves: bool,
}

/// Lengths σ, nm, and well depths ε, kJ/mol, that atoms have.
const SIGMA: [f64; 2] = [0.1, 1.0];
const EPSILON: [f64; 2] = [1e-3, 50.0];
/// A plain ε below this is more likely one in eV.
const EPSILON_IN_EV: f64 = 0.02;
/// Longer cut-offs, nm, cost much and gain nothing.
const LONGEST_CUTOFF: f64 = 3.0;
/// Lennard-Jones is cut where little of it is left, in σ; or at its minimum.
const SHORTEST_CUTOFF: f64 = 2.0;
/// Temperatures, K.
const TEMPERATURES: [f64; 2] = [1.0, 2000.0];
/// Temperatures, K, at which nobody simulates molecules, and people live.
const ROOM: [f64; 2] = [15.0, 45.0];
/// Masses, u, and the largest charge, e.
const MASSES: [f64; 2] = [0.5, 1e5];
const LARGEST_CHARGE: f64 = 10.0;
/// The largest friction, 1/ps.
const LARGEST_FRICTION: f64 = 100.0;
/// Compressibility of water, 1/bar, and by what others differ at most.
const WATER: f64 = 4.5e-5;
const OTHERS: f64 = 1e3;
/// Densities, g/cm³.
const DENSITIES: [f64; 2] = [1e-4, 25.0];
/// Relaxation times in time steps: of thermostats, of barostats.
const THERMOSTAT_STEPS: f64 = 10.0;
const BAROSTAT_STEPS: f64 = 100.0;
/// Shorter runs are trials: no relaxation time is too long for them.
const TRIAL: u64 = 1000;
/// A harmonic bond takes so many time steps to vibrate once.
const STEPS_PER_PERIOD: f64 = 7.0;

/// All doubts, in the order of the sections.
pub(super) fn of(root: &Section, seen: &Seen) -> Vec<String> {
    let mut doubts = Doubts {
        root,
        seen,
        units: seen.system.units,
        found: Vec::new(),
    };
    doubts.species();
    doubts.density();
    doubts.pair_terms();
    if seen.moves && seen.dynamics.timestep > 0.0 {
        doubts.time_step();
        doubts.thermostats();
        doubts.barostat();
        doubts.run();
    }
    doubts.found
}

struct Doubts<'s, 'a> {
    root: &'s Section<'a>,
    seen: &'s Seen<'s>,
    units: Units,
    found: Vec<String>,
}

/// The value of a key in a table.
fn get<'a>(item: &Item<'a>, key: &str) -> Option<Item<'a>> {
    let entries = item.entries().ok()?;
    entries
        .into_iter()
        .find(|(name, _)| *name == key)
        .map(|(_, item)| item)
}

/// The number of a value as it is written, without its unit.
fn written(item: &Item) -> String {
    let found = item.error("").found.clone();
    let text = found.trim_matches('"').trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE_".contains(c)));
    text[..end.unwrap_or(text.len())]
        .trim_end_matches(['e', 'E'])
        .to_owned()
}

/// Whether a text gives its quantity in this unit.
fn is_in(item: &Item, unit: &str) -> bool {
    item.text().is_ok_and(|text| text.trim_end().ends_with(unit))
}

impl<'a> Doubts<'_, 'a> {
    fn md(&self) -> bool {
        self.units == Units::Md
    }

    /// A doubt about a value; `problem` follows the name of its key.
    fn say(&mut self, item: &Item, problem: impl std::fmt::Display) {
        let error = item.error(problem);
        self.found
            .push(format!("{}:{}: {}", error.file, error.line, error.headline));
    }

    fn value(&self, item: &Item, dimension: Dimension) -> Option<f64> {
        item.quantity(self.units, dimension).ok()
    }

    fn section(&self, name: &str) -> Option<Item<'a>> {
        self.root.get(name).cloned()
    }

    fn species(&mut self) {
        let Some(all) = self.section("species").filter(|_| self.md()) else {
            return;
        };
        for (_, item) in all.entries().unwrap_or_default() {
            if let Some(mass) = get(&item, "mass")
                && let Some(m) = self.value(&mass, Dimension::MASS)
                // None at all is meant: a site of a rigid body.
                && m != 0.0
                && !(MASSES[0]..=MASSES[1]).contains(&m)
            {
                let meant = format!("did you mean \"{} u\"?", written(&mass));
                let meant = if mass.is_number() {
                    "did you forget the unit?".into()
                } else {
                    meant
                };
                self.say(&mass, format!("is {} u; {meant}", number(m)));
            }
            if let Some(charge) = get(&item, "charge")
                && let Some(q) = self.value(&charge, Dimension::CHARGE)
                && q.abs() > LARGEST_CHARGE
            {
                self.say(
                    &charge,
                    format!("is {} e; did you mean an elementary charge?", number(q)),
                );
            }
        }
    }

    fn density(&mut self) {
        let system = self.seen.system;
        let Some(section) = self.section("system").filter(|_| self.md()) else {
            return;
        };
        if system.cell.periodic() != [true; 3] {
            return;
        }
        let build = get(&section, "build");
        let vacuum = build
            .as_ref()
            .and_then(|b| get(b, "kind"))
            .is_some_and(|k| k.text().ok() == Some("sphere"));
        let mass: f64 = system.particles.masses.iter().sum();
        let density = mass / system.cell.volume() * self.units.grams_per_cubic_centimeter();
        let [low, high] = DENSITIES;
        let whole = ["cell", "file", "build"]
            .iter()
            .find_map(|key| get(&section, key))
            .unwrap_or(section);
        if density > high {
            let text = format!(
                "makes a density of {} g/cm³, more than any matter has; are its lengths in the right unit (nm, or Å)?",
                number(density)
            );
            self.say(&whole, text);
        } else if density < low && !vacuum {
            let text = format!(
                "makes a density of {} g/cm³, that of a thin gas; are its lengths in the right unit (nm, or Å)?",
                number(density)
            );
            self.say(&whole, text);
        }
    }

    fn pair_terms(&mut self) {
        let Some(list) = self.section("forces") else {
            return;
        };
        for item in list.one_or_many() {
            let kind = get(&item, "kind");
            let kind = kind.as_ref().and_then(|k| k.text().ok()).unwrap_or_default();
            let pair = PAIRS.has(kind);
            let mut sigmas = Vec::new();
            if pair {
                let mut tables = vec![item.clone()];
                for group in ["species", "pairs"] {
                    let members = get(&item, group).map(|g| g.entries().unwrap_or_default());
                    tables.extend(members.unwrap_or_default().into_iter().map(|(_, table)| table));
                }
                for table in tables {
                    if let Some(item) = get(&table, "sigma") {
                        sigmas.extend(self.sigma(&item));
                    }
                    if let Some(item) = get(&table, "epsilon") {
                        self.epsilon(&item);
                    }
                }
            }
            if let Some(cutoff) = get(&item, "cutoff") {
                self.cutoff(&cutoff, kind, &sigmas);
            }
        }
    }

    fn sigma(&mut self, item: &Item) -> Option<f64> {
        let sigma = self.value(item, Dimension::LENGTH)?;
        let [low, high] = SIGMA;
        if !self.md() || sigma <= 0.0 || (low..=high).contains(&sigma) {
            return Some(sigma);
        }
        let n = written(item);
        let meant = match sigma {
            s if s > high && (low..=high).contains(&(0.1 * s)) => format!("did you mean \"{n} Å\"?"),
            s if s < low && (low..=high).contains(&(10.0 * s)) && is_in(item, "Å") => {
                format!("did you mean \"{n} nm\"?")
            }
            _ => "atoms have 0.2 to 0.5 nm".into(),
        };
        self.say(item, format!("is {} nm; {meant}", number(sigma)));
        // A cut-off is not measured by a length that is itself in doubt.
        None
    }

    fn epsilon(&mut self, item: &Item) {
        let Some(epsilon) = self.value(item, Dimension::ENERGY) else {
            return;
        };
        let ([low, high], n) = (EPSILON, written(item));
        if !self.md() || epsilon <= 0.0 {
            return;
        }
        let kelvin = epsilon / self.units.boltzmann();
        if epsilon > high {
            let text = format!(
                "is {} kJ/mol, {} K; did you mean kelvins ({} kJ/mol)?",
                number(epsilon),
                number(kelvin.round()),
                number(epsilon * self.units.boltzmann())
            );
            self.say(item, text);
        } else if epsilon < low || epsilon < EPSILON_IN_EV && item.is_number() {
            let text = format!(
                "is {} kJ/mol, {:.2} K; did you mean \"{n} eV\"?",
                number(epsilon),
                kelvin
            );
            self.say(item, text);
        }
    }

    fn cutoff(&mut self, item: &Item, kind: &str, sigmas: &[f64]) {
        let Some(cutoff) = self.value(item, Dimension::LENGTH) else {
            return;
        };
        let unit = self.units.label(Dimension::LENGTH);
        let periodic = self.seen.system.cell.periodic() == [true; 3];
        if self.md() && cutoff > LONGEST_CUTOFF && periodic && kind != "coulomb" {
            let meant = match cutoff {
                c if c <= 10.0 * LONGEST_CUTOFF => format!("did you mean \"{} Å\"?", written(item)),
                _ => "about 1 nm is usual".into(),
            };
            self.say(item, format!("is {} nm; {meant}", number(cutoff)));
            return;
        }
        let largest = sigmas.iter().copied().fold(0.0, f64::max);
        if !["lennard-jones", "mie"].contains(&kind) || largest == 0.0 {
            return;
        }
        // Cut at its minimum, the potential is purely repulsive: that is meant.
        let minimum = 2_f64.powf(1.0 / 6.0);
        let least = if self.md() { SHORTEST_CUTOFF } else { 1.0 };
        let at_a_minimum = sigmas.iter().any(|s| (cutoff / (minimum * s) - 1.0).abs() < 0.01);
        if cutoff < least * largest && !at_a_minimum {
            let text = format!(
                "is {} {unit}, {} σ: most of the attraction is cut off; 2.5 σ to 4 σ is usual",
                number(cutoff),
                number((100.0 * cutoff / largest).round() / 100.0)
            );
            self.say(item, text);
        }
    }

    fn time_step(&mut self) {
        let Some(item) = self.section("integrator").and_then(|i| get(&i, "timestep")) else {
            return;
        };
        let step = self.seen.dynamics.timestep;
        let (longest, why) = self.longest_step();
        if step <= longest {
            return;
        }
        let units = self.units;
        // The same number in femtoseconds, where that is a time step.
        let likely = (1e-4..=longest).contains(&(1e-3 * step));
        let meant = match likely && self.md() && !is_in(&item, "fs") {
            true => format!("did you mean \"{} fs\"?", written(&item)),
            false => format!("at most {} is usual", time(longest, units)),
        };
        self.say(
            &item,
            format!("is {}, long for {why}; {meant}", time(step, units)),
        );
    }

    /// The longest time step for the lightest particles and the stiffest bonds, and what sets it.
    fn longest_step(&self) -> (f64, String) {
        let (system, field) = (self.seen.system, self.seen.forces);
        let masses = &system.particles.masses;
        // Sites without mass move with their rigid bodies.
        let lightest = masses
            .iter()
            .copied()
            .filter(|m| *m > 0.0)
            .fold(f64::INFINITY, f64::min);
        let mut limit = match self.units {
            Units::LennardJones => (0.02, "reduced units".to_owned()),
            Units::Md => {
                let limit = match lightest {
                    m if m < 12.0 => 0.005,
                    m if m < 45.0 => 0.01,
                    _ => 0.04,
                };
                (limit, format!("particles of {} u", number(lightest)))
            }
        };
        let fixed: std::collections::HashSet<[u32; 2]> = system
            .constraints
            .pairs()
            .map(|([i, j], _)| [i.min(j), i.max(j)])
            .collect();
        for term in &field.bonds {
            for bond in &system.topology.bonds {
                let [i, j] = bond.atoms;
                let Some(Some(row)) = term.rows.get(bond.kind as usize) else {
                    continue;
                };
                if fixed.contains(&[i.min(j), i.max(j)]) {
                    continue;
                }
                let [a, b] = [masses[i as usize], masses[j as usize]];
                if self.md() && a.min(b) < HYDROGEN && limit.0 > 0.0015 {
                    limit = (0.0015, "hydrogens whose bonds are not constrained".into());
                }
                // u = ½ k (r − r₀)²; the first coefficient is ½ k.
                if term.family.name() == "harmonic-bond" && row[0] > 0.0 {
                    let reduced = a * b / (a + b);
                    let period = std::f64::consts::TAU * (reduced / (2.0 * row[0])).sqrt();
                    if period / STEPS_PER_PERIOD < limit.0 {
                        let period_text = time(period, self.units);
                        limit = (
                            period / STEPS_PER_PERIOD,
                            format!("bonds that vibrate once in {period_text}"),
                        );
                    }
                }
            }
        }
        limit
    }

    fn temperature(&mut self, item: &Item) {
        let Some(t) = self.value(item, Dimension::TEMPERATURE) else {
            return;
        };
        if !self.md() {
            if t > 10.0 {
                self.say(
                    item,
                    format!(
                        "is {} ε/k; did you mean kelvins? Reduced temperatures are near 1",
                        number(t)
                    ),
                );
            }
            return;
        }
        let [low, high] = TEMPERATURES;
        let s = self.seen.system;
        let molecules = !s.topology.bonds.is_empty()
            || !s.constraints.is_empty()
            || s.particles.charges.iter().any(|q| *q != 0.0);
        if t > high || t > 0.0 && t < low {
            let meant = match t < low {
                true => "did you mean reduced units (units = \"lj\")?",
                false => "few force fields are made for that",
            };
            self.say(item, format!("is {} K; {meant}", number(t)));
        } else if molecules && (ROOM[0]..=ROOM[1]).contains(&t) {
            let text = format!(
                "is {} K; did you mean degrees Celsius (\"{} K\")?",
                number(t),
                number(t + 273.15)
            );
            self.say(item, text);
        }
    }

    fn thermostats(&mut self) {
        let mut sections: Vec<Item> = self.section("integrator").into_iter().collect();
        let list = self.section("thermostat").map(|list| list.one_or_many());
        sections.extend(list.unwrap_or_default());
        // Those of [integrator], or those of the list: never both.
        let with_time = sections.iter().filter(|s| get(s, "temperature").is_some());
        let pairs: Vec<(Item, _)> = with_time
            .cloned()
            .zip(self.seen.dynamics.thermostats.iter().cloned())
            .collect();
        for (section, thermostat) in pairs {
            if let Some(item) = get(&section, "temperature") {
                self.temperature(&item);
            }
            if let Some(item) = get(&section, "time").or_else(|| get(&section, "friction")) {
                self.relaxation(
                    &item,
                    thermostat.time,
                    thermostat.kind == ThermostatKind::Langevin,
                );
            }
            let step = self.seen.dynamics.timestep;
            let between = thermostat.interval(step) as f64 * step;
            if let Some(item) = get(&section, "every")
                && between > 0.5 * thermostat.time
            {
                let share = number(between / thermostat.time);
                self.say(
                    &item,
                    format!("is {share} relaxation times; a tenth or less is usual"),
                );
            }
        }
        for section in ["run", "barostat"] {
            if let Some(item) = self.section(section).and_then(|s| get(&s, "temperature")) {
                self.temperature(&item);
            }
        }
    }

    fn relaxation(&mut self, item: &Item, relaxation: f64, langevin: bool) {
        let (step, units) = (self.seen.dynamics.timestep, self.units);
        let steps = self.seen.run.steps;
        let whole = steps as f64 * step;
        if langevin && self.md() && relaxation.recip() > LARGEST_FRICTION {
            let text = format!(
                "makes a friction of {} 1/ps; 0.5 to 10 1/ps is usual, did you mean a time in ps?",
                number(relaxation.recip())
            );
            self.say(item, text);
        } else if relaxation < THERMOSTAT_STEPS * step * (1.0 - 1e-9) {
            let text = format!(
                "makes a relaxation time of {}, {} time steps; at least {THERMOSTAT_STEPS} are needed, 100 and more are usual",
                time(relaxation, units),
                number(relaxation / step)
            );
            self.say(item, text);
        } else if !langevin && steps >= TRIAL && relaxation > whole {
            let text = format!(
                "is {}, longer than the run ({}): it will hardly act",
                time(relaxation, units),
                time(whole, units)
            );
            self.say(item, text);
        }
    }

    fn barostat(&mut self) {
        let (Some(section), Some(barostat)) = (self.section("barostat"), &self.seen.dynamics.barostat) else {
            return;
        };
        let (units, step) = (self.units, self.seen.dynamics.timestep);
        if let Some(item) = get(&section, "pressure").filter(|_| self.md()) {
            for item in item.one_or_many() {
                self.without_unit(&item, Dimension::PRESSURE, "bar");
            }
        }
        if let Some(item) = get(&section, "tension").filter(|_| self.md()) {
            self.without_unit(&item, Dimension::ENERGY_PER_AREA, "mN/m");
        }
        if let Some(item) = get(&section, "compressibility").filter(|_| self.md()) {
            for item in item.one_or_many() {
                if self.without_unit(&item, Dimension::PER_PRESSURE, "1/bar") {
                    continue;
                }
                let Some(c) = self.value(&item, Dimension::PER_PRESSURE) else {
                    continue;
                };
                let per_bar = c / units.bar();
                if per_bar > 0.0 && !(WATER / OTHERS..=WATER * OTHERS).contains(&per_bar) {
                    let text = format!("is {} 1/bar; liquids have about 5e-5 1/bar", number(per_bar));
                    self.say(&item, text);
                }
            }
        }
        let Some(item) = get(&section, "time") else { return };
        let slowest = self.seen.dynamics.thermostats.iter();
        let slowest = slowest
            .filter(|t| t.kind.scales_velocities())
            .map(|t| t.time)
            .fold(0.0, f64::max);
        if barostat.time < BAROSTAT_STEPS * step * (1.0 - 1e-9) {
            let text = format!(
                "is {}, {} time steps; at least {BAROSTAT_STEPS} are needed, 500 and more are usual",
                time(barostat.time, units),
                number(barostat.time / step)
            );
            self.say(&item, text);
        } else if barostat.time < slowest {
            let text = format!(
                "is {}, shorter than the thermostat's {}: the cell would follow what the thermostat has not settled",
                time(barostat.time, units),
                time(slowest, units)
            );
            self.say(&item, text);
        }
    }

    /// Doubts a plain number where people think in another unit than that of the file; says whether it did.
    fn without_unit(&mut self, item: &Item, dimension: Dimension, unit: &str) -> bool {
        let plain = item.is_number() || item.text().is_ok_and(|text| text.trim().parse::<f64>().is_ok());
        let (factor, _) = match dimension {
            Dimension::ENERGY_PER_AREA => self.units.readable_tension(),
            _ => self.units.readable(dimension),
        };
        let Some(value) = self.value(item, dimension).filter(|v| *v != 0.0 && plain) else {
            return false;
        };
        // One bar, worked out in the units of the file, is meant.
        if dimension == Dimension::PRESSURE && (0.98..=1.02).contains(&(value * factor)) {
            return false;
        }
        let text = format!(
            "is {} without a unit, which is {} {unit} (plain numbers are in {}); did you mean \"{} {unit}\"?",
            written(item),
            digits(value * factor, 4),
            self.units.label(dimension),
            written(item)
        );
        self.say(item, text);
        true
    }

    fn run(&mut self) {
        let steps = self.seen.run.steps;
        if steps == 0 {
            return;
        }
        if let Some(item) = self.section("run").and_then(|r| get(&r, "equilibration"))
            && self.seen.run.equilibration >= steps
        {
            let text = format!(
                "leaves out the first {} steps, and the run has {steps}: nothing is left to average",
                self.seen.run.equilibration
            );
            self.say(&item, text);
        }
        let outputs = |key: &str| {
            let output = self.section("output").and_then(|output| get(&output, key));
            output.map(|item| item.one_or_many()).unwrap_or_default()
        };
        let maps = outputs("map");
        let mut all = [outputs("table"), outputs("trajectory"), maps.clone()].concat();
        let analyses = self.section("analyze").map(|list| list.one_or_many());
        let analyses = analyses.unwrap_or_default();
        all.extend(analyses.iter().cloned());
        for every in all.iter().filter_map(|item| get(item, "every")) {
            let period = every.whole(1.., "steps").unwrap_or(1);
            if period > steps {
                let text = format!("is {period}, and the run has {steps} steps: only the start is seen");
                self.say(&every, text);
            }
        }
        let (analyzed, mapped) = (self.seen.analyses.iter(), self.seen.maps.iter());
        let first = analyzed.map(AnalysisPlan::first_look);
        let first = first.chain(mapped.map(MapPlan::first_look));
        for (item, first) in analyses.iter().chain(&maps).zip(first) {
            if let Some(from) = get(item, "from").filter(|_| first > steps) {
                let text =
                    format!("begins at step {first}, and the run has {steps} steps: nothing is measured");
                self.say(&from, text);
            }
        }
        for (item, plan) in maps.iter().zip(self.seen.maps) {
            let frames = plan.frames(self.seen.system, None);
            if let Some(center) = get(item, "center").filter(|_| frames.is_ok_and(|f| !f.has_middle())) {
                let text = "names particles that are spread evenly along all axes: they have no middle, and nothing is \
                            centered; of a bilayer take what lies between its leaflets";
                self.say(&center, text);
            }
        }
    }
}

/// Lighter particles are hydrogens, u.
const HYDROGEN: f64 = 2.5;
