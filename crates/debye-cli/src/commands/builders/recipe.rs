//! [`Recipe`]: the input file that a builder prints, and what a structure file would lose of it.

use std::path::Path;

use debye::simulation::Simulation;
use debye::system::{Class, Rotor, System, Units};
use debye_io::Format;

use super::{quoted, value};
use crate::console;

/// The sections of an input file that describe the system.
pub(super) struct Recipe {
    pub(super) units: Units,
    /// `build = { … }` without the braces.
    pub(super) build: String,
    /// Further keys of `[system]`.
    pub(super) more: String,
    pub(super) species: Vec<Declared>,
    /// Force fields to include, whose species are not declared again.
    pub(super) include: Vec<String>,
    /// Sections that follow in the printed input file.
    pub(super) forces: String,
    /// Those after them, where the file is complete.
    pub(super) motion: String,
}

/// A species and the lines of its section.
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) lines: Vec<String>,
}

impl Declared {
    pub(super) fn new(name: &str, mass: Option<&str>) -> Self {
        Self {
            name: name.trim().to_owned(),
            lines: mass
                .map(|mass| format!("mass = {}", value(mass)))
                .into_iter()
                .collect(),
        }
    }
}

impl Recipe {
    pub(super) fn text(&self, system: &str) -> String {
        let mut text = format!("units = {}\n[system]\n{system}", quoted(self.units.name()));
        match &self.include[..] {
            [] => {}
            [one] => text += &format!("[forcefield]\ninclude = {}\n", quoted(one)),
            many => {
                let names: Vec<String> = many.iter().map(|name| quoted(name)).collect();
                text += &format!("[forcefield]\ninclude = [{}]\n", names.join(", "));
            }
        }
        for Declared { name, lines } in &self.species {
            text += &format!("[species.{}]\n", key(name));
            for line in lines {
                text += &format!("{line}\n");
            }
        }
        text
    }

    pub(super) fn snippet(&self, file: Option<(&Path, Format)>, simulation: &Simulation) -> String {
        let system = &simulation.system;
        let count = console::grouped(system.particles.len() as u64);
        let begins = if self.motion.is_empty() {
            "An input file may begin like this"
        } else {
            "An input file"
        };
        let within = file
            .map(|(path, _)| format!(" in {}", path.display()))
            .unwrap_or_default();
        let mut text = format!("# {count} particles{within}. {begins}:\n");
        if system.species.len() > 1 {
            text += &composition(system);
        }
        let unsaid = file.and_then(|(_, format)| self.unsaid(system, format));
        if let Some(unsaid) = &unsaid {
            text += &format!("# ({unsaid}, so the system is built again)\n");
        }
        match file.filter(|_| unsaid.is_none()) {
            Some((path, _)) => {
                text += &self.text(&format!("file = {}\n", quoted(&path.display().to_string())))
            }
            None => text += &self.text(&format!("build = {{ {} }}\n{}", self.build, self.more)),
        }
        text += &self.forces;
        if self.motion.is_empty() {
            return text + "# go on with [[forces]], [integrator], [run] and [output]: docs/input-file.md\n";
        }
        text + &self.motion
    }
}

impl Recipe {
    /// What a file of this format does not say, and the species do not either.
    fn unsaid(&self, system: &System, format: Format) -> Option<String> {
        let t = &system.topology;
        let part = |what, needed, held| Part { what, needed, held };
        let rotors = &system.particles.orientations.rotors;
        // LAMMPS has the directions of dipoles, and so those of tops that have one.
        let by_dipole =
            |r: &Rotor| r.class() == Class::Point || (r.class() == Class::Linear && r.dipole > 0.0);
        let orientations: fn(Format) -> bool = match rotors.iter().all(by_dipole) {
            true => |f| [Format::XYZ, Format::LAMMPS, Format::NATIVE].contains(&f),
            false => |f| [Format::XYZ, Format::NATIVE].contains(&f),
        };
        let parts = [
            part("bonds", !t.bonds.is_empty(), |f| f.description().bonds),
            part("angles", !t.angles.is_empty(), |f| {
                f == Format::LAMMPS || f == Format::NATIVE
            }),
            part("restraints of axes", !t.axes.is_empty(), |f| {
                f == Format::LAMMPS || f == Format::NATIVE
            }),
            part("orientations", !rotors.is_empty(), orientations),
            part("charges", self.has_own_charges(system), |f| {
                f.description().charges
            }),
        ];
        let missing = parts.into_iter().find(|p| p.needed && !(p.held)(format));
        let Some(Part { what, held, .. }) = missing else {
            return (!format.has_atoms()).then(|| "this format names no atoms".to_owned());
        };
        let others = Format::all().filter(|f| f.is_writable() && held(*f));
        let others: Vec<&str> = others.map(Format::name).collect();
        let others = others.join(", ");
        Some(format!("this format holds no {what}, but these do: {others}"))
    }

    /// Whether particles have charges that their species do not say.
    fn has_own_charges(&self, system: &System) -> bool {
        if !self.include.is_empty() {
            return false;
        }
        let modeled = |name: &str| {
            let of_model = |line: &String| line.starts_with("model");
            let mut species = self.species.iter();
            species.any(|s| s.name == name && s.lines.iter().any(of_model))
        };
        let known: Vec<f64> = system
            .species
            .iter()
            .map(|s| if modeled(&s.name) { s.charge } else { 0.0 })
            .collect();
        let particles = &system.particles;
        particles
            .species
            .iter()
            .zip(&particles.charges)
            .any(|(&kind, charge)| *charge != known[kind as usize])
    }
}

/// A part of a system that not all formats hold.
struct Part {
    what: &'static str,
    /// Whether the system has it.
    needed: bool,
    held: fn(Format) -> bool,
}

/// How many of each species, and how dense.
fn composition(system: &System) -> String {
    let count = |kind: usize| {
        let is = |k: &&u32| **k as usize == kind;
        system.particles.species.iter().filter(is).count() as u64
    };
    let counts: Vec<String> = (0..system.species.len())
        .map(|kind| format!("{} {}", console::grouped(count(kind)), system.species[kind].name))
        .collect();
    let mass: f64 = system.particles.masses.iter().sum();
    let density = mass / system.cell.volume() * system.units.grams_per_cubic_centimeter();
    format!("# {}; {density:.4} g/cm³\n", counts.join(", "))
}

/// A key as TOML wants it.
pub(super) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}
