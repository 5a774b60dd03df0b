//! [`setup`]: what a simulation is, in rows that a person checks at one glance.
//!
//! The header of `debye run`, the report and `debye energy --json` show these rows.

use std::collections::HashSet;

use crate::forces::pme::expected;
use crate::forces::{BondedTerm, MixingRule, OrientedRow, PairTerm};
use crate::integrate::{Barostat, BarostatKind, Coupling, Scheme, Thermostat, ThermostatKind};
use crate::simulation::{Buffer, Simulation};
use crate::system::display::{digits, grouped, number, time};
use crate::system::{Cell, Dimension, Exclusions, Link, System, Topology, Units};
use crate::truncation::Truncation;

/// A row: what it is about, and what is to be said.
pub type Fact = (&'static str, String);

/// The rows of a simulation: particles, cell, ensemble, time step, constraints, forces, start, run, outputs. Nothing
/// is said where there is nothing to say.
pub fn setup(simulation: &Simulation) -> Vec<Fact> {
    let s = simulation;
    let mut rows = vec![
        ("particles", particles(&s.system)),
        ("cell", cell(&s.system.cell, &s.system)),
    ];
    rows.extend(masses(&s.system).map(|text| ("masses", text)));
    rows.extend(
        s.origin
            .iter()
            .map(|run| ("from", format!("{}, step {}", run.name, run.step))),
    );
    let moves = s.dynamics.timestep > 0.0;
    if moves {
        rows.extend(ensemble(s));
        rows.push(("time step", time_step(s)));
    }
    rows.extend(constraints(s).map(|text| ("constraints", text)));
    rows.extend(forces(s).into_iter().map(|text| ("force", text)));
    let electrostatics = expected::describe(&s.system, &s.forces, s.pressure_tolerance);
    rows.extend(electrostatics.map(|text| ("electrostatics", text)));
    rows.extend(exclusions(s).map(|text| ("exclusions", text)));
    rows.extend(neighbors(s).map(|text| ("neighbors", text)));
    if moves {
        rows.extend(start(s));
        rows.push(("run", length_of_run(s)));
        rows.push(("output", outputs(s)));
        rows.extend(analyses(s).map(|text| ("analyses", text)));
    }
    rows
}

fn particles(system: &System) -> String {
    let mut counts = vec![0_usize; system.species.len()];
    for &s in &system.particles.species {
        counts[s as usize] += 1;
    }
    let names = system.species.iter().zip(counts);
    let species: Vec<String> = names.map(|(s, n)| format!("{} {}", s.name, grouped(n))).collect();
    format!("{} ({})", grouped(system.particles.len()), species.join(", "))
}

/// Masses by species, where particles have others than their species.
fn masses(system: &System) -> Option<String> {
    let p = &system.particles;
    let mut ranges = vec![[f64::INFINITY, f64::NEG_INFINITY]; system.species.len()];
    for (&species, &mass) in p.species.iter().zip(&p.masses) {
        let [low, high] = &mut ranges[species as usize];
        (*low, *high) = (low.min(mass), high.max(mass));
    }
    let others: Vec<String> = (system.species.iter().zip(ranges))
        .filter(|(species, [low, high])| low <= high && [*low, *high] != [species.mass; 2])
        .map(|(species, [low, high])| match low == high {
            true => format!("{} {}", species.name, number(low)),
            false => format!("{} {} to {}", species.name, number(low), number(high)),
        })
        .collect();
    let unit = system.units.label(Dimension::MASS);
    (!others.is_empty()).then(|| format!("{} {unit}", others.join(", ")))
}

fn cell(cell: &Cell, system: &System) -> String {
    let units = system.units;
    let length = units.label(Dimension::LENGTH);
    let [a, b, c] = cell.to_arrays();
    let size = if cell.is_orthorhombic() {
        format!("{} × {} × {} {length}", number(a[0]), number(b[1]), number(c[2]))
    } else {
        let row = |v: [f64; 3]| format!("({}, {}, {})", number(v[0]), number(v[1]), number(v[2]));
        format!("{} {} {} {length}", row(a), row(b), row(c))
    };
    match cell.periodic() {
        [true, true, true] => {
            let mass: f64 = system.particles.masses.iter().sum();
            let (factor, unit) = units.readable(Dimension::MASS_DENSITY);
            let density = mass / cell.volume() * factor;
            format!("{size}, periodic; density {} {unit}", digits(density, 4))
        }
        [false, false, false] => format!("{size}, open"),
        along => {
            let names = ["a", "b", "c"].iter().zip(along);
            let names: String = names.filter(|(_, on)| *on).map(|(name, _)| *name).collect();
            format!("{size}, periodic along {names}")
        }
    }
}

fn ensemble(s: &Simulation) -> Vec<Fact> {
    let d = &s.dynamics;
    let name = match (d.thermostats.is_empty(), d.barostat.is_some()) {
        (true, false) => "NVE",
        (true, true) => "NPH",
        (false, false) => "NVT",
        (false, true) => "NPT",
    };
    let mut rows = Vec::new();
    match d.thermostats.as_slice() {
        [] => rows.push(("ensemble", name.to_owned())),
        [one] if one.species.is_empty() => {
            rows.push(("ensemble", format!("{name}, {}", thermostat(one, s))));
        }
        groups => {
            rows.push(("ensemble", name.to_owned()));
            for group in groups {
                let names = species_names(&s.system, &group.species);
                rows.push(("thermostat", format!("{names}: {}", thermostat(group, s))));
            }
            let free: Vec<u32> = (0..s.system.species.len() as u32)
                .filter(|k| {
                    groups
                        .iter()
                        .all(|g| !g.species.is_empty() && !g.species.contains(k))
                })
                .collect();
            if !free.is_empty() {
                rows.push(("thermostat", format!("{}: none", species_names(&s.system, &free))));
            }
        }
    }
    rows.extend(d.barostat.as_ref().map(|b| ("barostat", barostat(b, s))));
    if d.remove_momentum_every > 0 {
        let every = grouped(d.remove_momentum_every as usize);
        rows.push((
            "momentum",
            format!("of the center of mass removed every {every} steps"),
        ));
    }
    rows
}

fn species_names(system: &System, chosen: &[u32]) -> String {
    if chosen.is_empty() {
        return "all".into();
    }
    let name = |&k: &u32| system.species.get(k as usize).map(|s| s.name.as_str());
    chosen.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

fn thermostat(t: &Thermostat, s: &Simulation) -> String {
    let units = s.system.units;
    let target = temperature(t.temperature, units);
    let acts = match t.interval(s.dynamics.timestep) {
        1 => "every step".to_owned(),
        steps => format!("every {} steps", grouped(steps as usize)),
    };
    let relaxes = format!("relaxation time {}", time(t.time, units));
    match t.kind {
        ThermostatKind::Langevin => format!(
            "{target} by Langevin dynamics, friction {} {}",
            number(t.time.recip()),
            units.label(Dimension::PER_TIME)
        ),
        ThermostatKind::Bussi => format!("{target} by stochastic velocity rescaling {acts}, {relaxes}"),
        ThermostatKind::NoseHoover { chain } => {
            format!("{target} by a Nosé–Hoover chain of {chain}, {relaxes}")
        }
        ThermostatKind::Berendsen => {
            format!("{target} by weak coupling (Berendsen: fluctuations too small) {acts}, {relaxes}")
        }
    }
}

fn barostat(b: &Barostat, s: &Simulation) -> String {
    let units = s.system.units;
    let (factor, unit) = units.readable(Dimension::PRESSURE);
    let [x, y, z] = b.pressure.map(|p| number(p * factor));
    let target = match b.coupling {
        Coupling::SurfaceTension { tension } => {
            let (factor, of_tension) = units.readable_tension();
            let tension = number(tension * factor);
            format!("surface tension {tension} {of_tension}, {z} {unit} along z")
        }
        _ if x == y && y == z => format!("{x} {unit}"),
        Coupling::Isotropic => format!("{x} {unit}"),
        Coupling::SemiIsotropic => format!("{x} {unit} along x and y, {z} {unit} along z"),
        Coupling::Anisotropic => format!("{x}, {y}, {z} {unit} along x, y, z"),
    };
    let kind = match b.kind {
        BarostatKind::Berendsen => "weak coupling (Berendsen: fluctuations too small)",
        BarostatKind::CellRescale => "stochastic cell rescaling",
    };
    let coupling = b.coupling.name();
    let (factor, unit) = units.readable(Dimension::PER_PRESSURE);
    let soft = b.compressibility.map(|c| number(c * factor));
    let soft = match soft[0] == soft[1] && soft[1] == soft[2] {
        true => soft[0].clone(),
        false => soft.join(", "),
    };
    let first = s.dynamics.thermostats.first().map(|t| t.temperature);
    let noise = match b.kind {
        BarostatKind::CellRescale if first != Some(b.temperature) => {
            format!(", noise of {}", temperature(b.temperature, units))
        }
        _ => String::new(),
    };
    format!(
        "{target} by {kind}, {coupling}, relaxation time {}, compressibility {soft} {unit}{noise}",
        time(b.time, units)
    )
}

fn time_step(s: &Simulation) -> String {
    let d = &s.dynamics;
    let langevin = d.has_langevin();
    let scheme = match d.scheme {
        Scheme::VelocityVerlet if langevin => "velocity Verlet (BAOAB)",
        Scheme::VelocityVerlet => "velocity Verlet",
        Scheme::Leapfrog => "leapfrog",
    };
    let length = match s.system.units {
        Units::Md => format!("{} fs", number(1e3 * d.timestep)),
        Units::LennardJones => time(d.timestep, s.system.units),
    };
    format!("{length}, {scheme}")
}

fn constraints(s: &Simulation) -> Option<String> {
    let c = &s.system.constraints;
    if c.is_empty() {
        return None;
    }
    let unit = s.system.units.label(Dimension::LENGTH);
    let water = |w: &crate::system::RigidWater| {
        format!(
            "{} rigid waters by SETTLE (bonds {}, base {} {unit})",
            grouped(w.molecules.len()),
            number(w.bond),
            number(w.base)
        )
    };
    let body = |b: &crate::system::RigidBodies| {
        let (masses, linear) = (b.shape.masses(), b.shape.degrees_of_freedom() == 5);
        let massless = match masses.iter().filter(|m| **m == 0.0).count() {
            0 => String::new(),
            n => format!(", {n} of them without mass"),
        };
        format!(
            "{} {}{} of {} sites{massless}",
            grouped(b.molecules().len()),
            if linear { "rigid linear " } else { "rigid " },
            if b.molecules().len() == 1 {
                "body"
            } else {
                "bodies"
            },
            masses.len()
        )
    };
    let mut parts: Vec<String> = c
        .waters
        .iter()
        .map(water)
        .chain(c.bodies.iter().map(body))
        .collect();
    if !c.distances.is_empty() {
        parts.push(format!(
            "{} distances by SHAKE and RATTLE to {:e}",
            grouped(c.distances.len()),
            c.tolerance
        ));
    }
    let freedom = s.dynamics.freedom_of(&s.system).max(0.0) as usize;
    parts.push(format!("{} degrees of freedom", grouped(freedom)));
    Some(parts.join("; "))
}

/// Every term: its name where it has one of its own, its kind, and what it acts on.
fn forces(s: &Simulation) -> Vec<String> {
    let (f, t) = (&s.forces, &s.system.topology);
    let mut rows = Vec::new();
    // The pair term of long-range electrostatics is told with the rest of it.
    let of_sum = |term: &&PairTerm| {
        let kinds = ["coulomb-ewald", "coulomb-multilevel"];
        f.electrostatics.is_some() && kinds.contains(&term.family.name())
    };
    for term in f.pairs.iter().filter(|term| !of_sum(term)) {
        let cutoffs: Vec<f64> = term.rows.iter().map(|row| row.cutoff).collect();
        let what = pair(&cutoffs, term.truncation, term.mixing, term.tail, &s.system);
        rows.push(named(&term.name, term.family.name(), &what));
    }
    for term in &f.oriented {
        let cutoff = |row: &Option<OrientedRow>| row.map_or(0.0, |row| row.cutoff);
        let cutoffs: Vec<f64> = term.rows.iter().map(cutoff).collect();
        let what = pair(&cutoffs, term.truncation, term.mixing, false, &s.system);
        rows.push(named(&term.name, term.family.name(), &what));
    }
    for term in &f.bonds {
        let what = acted_on(term, &t.bonds, "bonds");
        rows.push(named(&term.name, term.family.name(), &what));
    }
    for term in &f.angles {
        let what = acted_on(term, &t.angles, "angles");
        rows.push(named(&term.name, term.family.name(), &what));
    }
    for term in &f.dihedrals {
        let what = acted_on(term, &t.dihedrals, "dihedrals");
        rows.push(named(&term.name, term.family.name(), &what));
    }
    for term in &f.impropers {
        let what = acted_on(term, &t.impropers, "impropers");
        rows.push(named(&term.name, term.family.name(), &what));
    }
    for term in &f.axes {
        let what = acted_on(term, &t.axes, "axes");
        rows.push(named(&term.name, term.family.name(), &what));
    }
    rows
}

fn named(name: &str, kind: &str, what: &str) -> String {
    if name == kind {
        format!("{kind}{what}")
    } else {
        format!("{name}: {kind}{what}")
    }
}

fn pair(cutoffs: &[f64], truncation: Truncation, mixing: MixingRule, tail: bool, system: &System) -> String {
    let unit = system.units.label(Dimension::LENGTH);
    let acting = || cutoffs.iter().copied().filter(|&c| c > 0.0);
    let Some(longest) = acting().reduce(f64::max) else {
        return ", acts on no pair".into();
    };
    let shortest = acting().fold(longest, f64::min);
    let end = match truncation {
        Truncation::Cut => "cut".into(),
        Truncation::Shift => "shifted".into(),
        Truncation::ForceShift => "force-shifted".into(),
        Truncation::QuadraticShift => "shifted with its force by a term in r²".into(),
        Truncation::Switch { from } => format!("switched from {} {unit}", number(from)),
    };
    let cutoff = match shortest < longest {
        true => format!("cut-offs {} to {} {unit}", number(shortest), number(longest)),
        false => format!("cut-off {} {unit}", number(longest)),
    };
    let mut text = format!(", {cutoff}, {end}");
    let n = system.species.len();
    text += match mixing {
        _ if n < 2 => "",
        MixingRule::None => "",
        MixingRule::LorentzBerthelot => ", Lorentz–Berthelot mixing",
        MixingRule::Geometric => ", geometric mixing",
    };
    if tail {
        text += ", tail correction";
    }
    let pairs = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
    let acting: Vec<String> = pairs
        .filter(|(i, j)| cutoffs.get(i * n + j).is_some_and(|cutoff| *cutoff > 0.0))
        .map(|(i, j)| format!("{}-{}", system.species[i].name, system.species[j].name))
        .collect();
    if acting.len() < n * (n + 1) / 2 && acting.len() <= MOST_PAIRS {
        text += &format!(", {} only", acting.join(", "));
    }
    text
}

/// No more pairs of species are listed.
const MOST_PAIRS: usize = 4;

fn acted_on<const N: usize, F: ?Sized>(term: &BondedTerm<F>, links: &[Link<N>], what: &str) -> String {
    format!(" on {} {what}", grouped(term.count(links)))
}

fn exclusions(s: &Simulation) -> Option<String> {
    let (e, t) = (&s.system.exclusions, &s.system.topology);
    if s.forces.pairs.is_empty() {
        return None;
    }
    let left_out = (e.partners.len() / 2).saturating_sub(e.scaled.len());
    if left_out == 0 && e.scaled.is_empty() {
        return (!t.bonds.is_empty())
            .then(|| "none: bonded particles interact through pair terms too".into());
    }
    let mut text = format!("{} pairs", grouped(left_out));
    match through(t, e) {
        0 if left_out == s.system.constraints.pairs().count() => text += ", those of constraints",
        0 => {}
        1 => text += ", those through 1 bond",
        bonds => text += &format!(", those through {bonds} bonds"),
    }
    if let Some(first) = e.scaled.first() {
        let alike = e
            .scaled
            .iter()
            .all(|p| (p.pair, p.charge) == (first.pair, first.charge));
        let factors = match alike {
            true => format!(" × {}, charges × {}", number(first.pair), number(first.charge)),
            false => " by factors of their own".into(),
        };
        text += &format!("; {} 1-4 pairs{factors}", grouped(e.scaled.len()));
    }
    Some(text)
}

/// Particles whose surroundings are looked at to see how far exclusions reach.
const LOOKED_AT: usize = 500;
/// As far as `[exclusions]` can reach.
const FARTHEST: u32 = 10;

/// The largest number of bonds through which every pair is excluded, as far as molecules reach.
fn through(topology: &Topology, exclusions: &Exclusions) -> u32 {
    let particles = exclusions.start.len().saturating_sub(1);
    let mut neighbors: Vec<Vec<u32>> = vec![Vec::new(); particles];
    for bond in &topology.bonds {
        let [i, j] = bond.atoms;
        if (i.max(j) as usize) < particles {
            neighbors[i as usize].push(j);
            neighbors[j as usize].push(i);
        }
    }
    let scaled: HashSet<[u32; 2]> = exclusions.scaled.iter().map(|p| p.atoms).collect();
    let excluded = |i: u32, j: u32| {
        let (from, to) = (
            exclusions.start[i as usize] as usize,
            exclusions.start[i as usize + 1] as usize,
        );
        exclusions.partners[from..to].contains(&j) && !scaled.contains(&[i.min(j), i.max(j)])
    };
    let (mut reach, mut complete) = (0, FARTHEST);
    let bonded = (0..particles as u32).filter(|&i| !neighbors[i as usize].is_empty());
    for i in bonded.take(LOOKED_AT) {
        let (mut seen, mut shell) = (HashSet::from([i]), vec![i]);
        for distance in 1..=complete {
            let mut next = Vec::new();
            for &j in shell.iter().flat_map(|&k| &neighbors[k as usize]) {
                if seen.insert(j) {
                    next.push(j);
                }
            }
            if next.is_empty() {
                break;
            }
            if next.iter().any(|&j| !excluded(i, j)) {
                complete = distance - 1;
                break;
            }
            reach = reach.max(distance);
            shell = next;
        }
    }
    reach.min(complete)
}

fn neighbors(s: &Simulation) -> Option<String> {
    let units = s.system.units;
    let mut parts = Vec::new();
    if let Buffer::Length(buffer) = s.neighbors.buffer {
        let unit = units.label(Dimension::LENGTH);
        parts.push(format!("buffer {} {unit}", number(buffer)));
    }
    if let Some(drift) = s.neighbors.drift_tolerance {
        let (energy, time) = (units.label(Dimension::ENERGY), units.label(Dimension::TIME));
        parts.push(format!(
            "missed pairs may cost {} {energy}/{time} per particle",
            number(drift)
        ));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn start(s: &Simulation) -> Vec<Fact> {
    let units = s.system.units;
    let mut rows = Vec::new();
    if let Some(m) = &s.minimize {
        rows.push((
            "minimization",
            format!(
                "by FIRE until no force exceeds {} {}, at most {} steps",
                number(m.force_tolerance),
                units.label(Dimension::FORCE),
                grouped(m.max_steps as usize)
            ),
        ));
    }
    let moving = || s.system.particles.velocities.iter().any(|v| v.norm2() > 0.0);
    let velocities = match s.run.temperature {
        Some(t) => format!("drawn for {}, seed {}", temperature(t, units), s.run.seed),
        None if moving() => "those of the starting configuration".into(),
        None => "at rest".into(),
    };
    rows.push(("velocities", velocities));
    rows
}

fn length_of_run(s: &Simulation) -> String {
    let (units, step) = (s.system.units, s.dynamics.timestep);
    let mut text = format!(
        "{} steps, {}",
        grouped(s.run.steps as usize),
        time(s.run.steps as f64 * step, units)
    );
    if s.run.equilibration >= s.run.steps && s.run.steps > 0 {
        text += "; all of it is equilibration, without averages";
    } else if s.run.equilibration > 0 {
        let from = time(s.run.equilibration as f64 * step, units);
        text += &format!("; averages from {from} on");
    }
    text
}

fn outputs(s: &Simulation) -> String {
    let o = &s.output;
    let table = o.table.iter().map(|t| (&t.file, t.every));
    let trajectories = o.trajectories.iter().map(|t| (&t.file, t.every));
    let maps = o.maps.iter().map(|m| (&m.file, m.every));
    let files = table.chain(trajectories).chain(maps);
    let files: Vec<String> = files
        .map(|(file, every)| format!("{} every {}", file.display(), grouped(every as usize)))
        .collect();
    let Some(folder) = o.folder.as_ref().map(|folder| folder.display()) else {
        return "none".into();
    };
    if files.is_empty() {
        folder.to_string()
    } else {
        format!("{folder}: {} steps", files.join(", "))
    }
}

fn analyses(s: &Simulation) -> Option<String> {
    let (units, step) = (s.system.units, s.dynamics.timestep);
    let one = |plan: &crate::simulation::AnalysisPlan| {
        let from = match plan.from {
            0 => String::new(),
            from => format!(" from {} on", time(from as f64 * step, units)),
        };
        let every = grouped(plan.every as usize);
        format!("{} every {every} steps{from}", plan.file.display())
    };
    let all: Vec<String> = s.analyses.iter().map(one).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn temperature(value: f64, units: Units) -> String {
    format!("{} {}", number(value), units.label(Dimension::TEMPERATURE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact() {
        for (x, text) in [
            (298.15, "298.15"),
            (1.200_000_000_000_000_2, "1.2"),
            (4.5e-5, "4.5e-5"),
            (1e-3, "0.001"),
            (0.0, "0"),
            (100.0, "100"),
            (2.5e12, "2.5e12"),
        ] {
            assert_eq!(number(x), text);
        }
        assert_eq!(time(0.002, Units::Md), "2 fs");
        assert_eq!(time(0.5, Units::Md), "0.5 ps");
        assert_eq!(time(12_000.0, Units::Md), "12 ns");
        assert_eq!(time(0.005, Units::LennardJones), "0.005 τ");
    }

    #[test]
    fn exclusions_are_told_by_how_far_they_reach() {
        let link = |i: u32| Link {
            kind: 0,
            atoms: [i, i + 1],
        };
        let chain = Topology {
            bonds: (0..5).map(link).collect(),
            ..Topology::default()
        };
        for bonds in 0..=4 {
            let rule = crate::system::ExclusionRule::through(bonds);
            let found = Exclusions::from_bonds(&chain, 6, &rule).unwrap();
            assert_eq!(through(&chain, &found), bonds);
        }
        let rule = crate::system::ExclusionRule::through(2).one_four(0.5, 0.8333);
        let found = Exclusions::from_bonds(&chain, 6, &rule).unwrap();
        assert_eq!(through(&chain, &found), 2);
    }
}
