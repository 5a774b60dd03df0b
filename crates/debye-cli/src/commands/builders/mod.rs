//! `debye build`: structure files of standard systems, made by the builders that input files have.

mod liquids;
mod membranes;
mod oriented;
mod recipe;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use debye::run::export::{Moment, write_system};
use debye::simulation::Simulation;
use debye::system::Units;
use debye_io::Format;

use crate::console;
use crate::failure::Failure;
use crate::flags::units;
use liquids::{Liquid, Nacl, Solution};
use membranes::{Bilayer, Dispersion};
use oriented::{LiquidCrystal, SsdWater};
use recipe::{Declared, Recipe};

/// Build a system and write it to a structure file
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye build lattice --cells 6 --spacing \"5.256 Å\" --species \"Ar=39.948 u\" -o argon.gro
  debye build argon-droplet -o droplet.gro
  debye build lj-melt --cells 20 --temperature 1.44 -o melt.xyz
  debye build random --counts Ar=200,Ne=50 --species Ar=39.948,Ne=20.18 --cell 4 --apart 0.3 -o mix.pdb
  debye build polymer --chains 40 --beads 50 --density 0.85 -o chains.pdb
  debye build nacl --cells 9 -o nacl.gro
  debye build water --model tip3p --molecules 895 -o water.xyz
  debye build solution --model spce --salt NaCl --molality 1 --molecules 1000 -o brine.xyz
  debye build solution --solute lysozyme.pqr --neutralize --species \"C=12.011 u,N=14.007 u,…\" -o solvated.pqr
  debye build bilayer --lipid DOPC=0.7,DOPE=0.3 --lipids 128 --waters 4232 -o bilayer.debye
  debye build ssd-water --model ssd-e --molecules 4096 > water.toml

The extension of the file is its format: gro, pdb, xyz, pqr, lammps, debye, dcd, xtc. What is printed
is the beginning of an input file that goes on from there; without -o it builds the system itself.
Quantities may carry units.")]
pub struct Build {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// A crystal
    Lattice {
        #[command(flatten)]
        crystal: Crystal,
        /// Cells along a, b, c, or one number for all
        #[arg(long, value_delimiter = ',', num_args = 1, required = true)]
        cells: Vec<u32>,
        #[command(flatten)]
        rest: Rest,
    },
    /// A sphere cut from a crystal, with vacuum around it
    Sphere {
        #[command(flatten)]
        crystal: Crystal,
        /// Radius in lattice constants
        #[arg(long)]
        radius_spacings: f64,
        /// Side of the cubic cell in lattice constants, even
        #[arg(long)]
        side_spacings: Option<u32>,
        #[command(flatten)]
        rest: Rest,
    },
    /// The 1,047,293-atom argon sphere
    ArgonSphere(Rest),
    /// Its small sister: 14,147 argon atoms
    ArgonDroplet(Rest),
    /// The fcc crystal at reduced density 0.8442 that melts are begun from
    LjMelt {
        /// Cells along a, b, c, or one number for all
        #[arg(long, value_delimiter = ',', default_value = "10")]
        cells: Vec<u32>,
        #[command(flatten)]
        rest: Rest,
    },
    /// Particles at random, not too close to one another
    Random {
        /// How many of each species: Ar=200,Ne=50
        #[arg(long, value_delimiter = ',', required = true)]
        counts: Vec<String>,
        /// Edges of the cell: one length for all, or three
        #[arg(long, value_delimiter = ',', required = true)]
        cell: Vec<String>,
        /// Smallest distance
        #[arg(long, default_value = "0")]
        apart: String,
        #[command(flatten)]
        rest: Rest,
    },
    /// Chains of beads
    Polymer {
        /// Chains
        #[arg(long)]
        chains: u32,
        /// Beads of each
        #[arg(long)]
        beads: u32,
        /// Number density of the beads
        #[arg(long)]
        density: String,
        /// Length of a bond [default in lj units: 0.97]
        #[arg(long)]
        bond_length: Option<String>,
        /// Smallest distance of beads that are not bonded [default in lj units: 0.8]
        #[arg(long)]
        apart: Option<String>,
        #[command(flatten)]
        rest: Rest,
    },
    /// Rock salt, with the charges of its ions
    Nacl(Nacl),
    /// A box of rigid water
    Water(Liquid),
    /// Salt in water, or water around a solute
    Solution(Solution),
    /// Lipids in two leaflets, with water above and below
    Bilayer(Bilayer),
    /// Lipids scattered in water, for self-assembly
    Dispersion(Dispersion),
    /// Soft sticky dipole water
    SsdWater(SsdWater),
    /// Gay–Berne ellipsoids, aligned or at random
    LiquidCrystal(LiquidCrystal),
    /// Single particles near a lattice, mixed at random
    Liquid {
        /// How many of each species: Ar=200,Ne=50
        #[arg(long, value_delimiter = ',', required = true)]
        counts: Vec<String>,
        /// Number density, or a mass density such as "1.4 g/cm^3"
        #[arg(long)]
        density: String,
        #[command(flatten)]
        rest: Rest,
    },
}

#[derive(Args)]
struct Crystal {
    /// sc, bcc, fcc, hcp, diamond, rock-salt, cscl or zinc-blende
    #[arg(long, default_value = "fcc")]
    lattice: String,
    /// Lattice constant
    #[arg(long, required_unless_present = "density", conflicts_with = "density")]
    spacing: Option<String>,
    /// Number density, or a mass density such as "1.4 g/cm^3"
    #[arg(long)]
    density: Option<String>,
}

#[derive(Args)]
struct Rest {
    /// Unit system of plain numbers and of the file [default: md; lj for melts and polymers]
    #[arg(long, value_parser = units())]
    units: Option<Units>,
    /// Species with their masses: "Ar=39.948 u" or "Na=22.99 u,Cl=35.45 u"; in lj units a mass of 1 unless given
    #[arg(long, value_delimiter = ',')]
    species: Vec<String>,
    /// Draw velocities for this temperature (gro and xyz keep them)
    #[arg(long)]
    temperature: Option<String>,
    /// Seed of random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file to write [default: none, and the input printed builds the system]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    overwrite: bool,
}

impl Build {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let (recipe, rest) = self.kind.recipe()?;
        let format = rest.output.as_ref().map(Format::from_path).transpose()?;
        if let Some(file) = rest
            .output
            .as_ref()
            .filter(|file| file.exists() && !rest.overwrite)
        {
            let file = file.display();
            return Err(Failure::refused(format!(
                "{file} exists already. Replace it with --overwrite, or name another file"
            )));
        }
        let mut input = recipe.text(&format!("build = {{ {} }}\n{}", recipe.build, recipe.more));
        input += "[integrator]\nkind = \"nve\"\ntimestep = 1\n";
        let temperature = rest
            .temperature
            .as_deref()
            .map(|t| format!("temperature = {}\n", value(t)));
        let temperature = temperature.unwrap_or_default();
        input += &format!("[run]\nsteps = 1\nseed = {}\n{temperature}", rest.seed);
        let simulation = Simulation::parse(&input, ".", "build")?;
        if let Some(file) = &rest.output {
            write(file, &simulation)?;
        }
        let file = rest.output.as_deref().zip(format);
        console::print(&recipe.snippet(file, &simulation))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn write(path: &Path, simulation: &Simulation) -> Result<(), Failure> {
    let system = &simulation.system;
    let now = Moment {
        title: &format!("made by debye {}", env!("CARGO_PKG_VERSION")),
        step: 0,
        time: 0.0,
        particles: &system.particles,
        cell: &system.cell,
    };
    if let Some(note) = write_system(path, system, now)? {
        console::report(&format!("note: {note}"));
    }
    Ok(())
}

impl Kind {
    fn recipe(&self) -> Result<(Recipe, &Rest), Failure> {
        let sphere = |build: &str| Recipe {
            units: Units::Md,
            build: format!("kind = \"sphere\", lattice = \"sc\", spacing = \"5.256 Å\", {build}"),
            more: String::new(),
            species: vec![Declared::new("Ar", Some("39.948 u"))],
            include: Vec::new(),
            forces: String::new(),
            motion: String::new(),
        };
        Ok(match self {
            Self::Lattice { crystal, cells, rest } => {
                let build = format!(
                    "kind = \"lattice\", {}, cells = {}",
                    crystal.keys(),
                    triple(cells)?
                );
                (rest.recipe(build, Units::Md)?, rest)
            }
            Self::Sphere {
                crystal,
                radius_spacings,
                side_spacings,
                rest,
            } => {
                let side = side_spacings
                    .map(|n| format!(", side_spacings = {n}"))
                    .unwrap_or_default();
                let radius = format!("radius_spacings = {radius_spacings:?}{side}");
                let build = format!("kind = \"sphere\", {}, {radius}", crystal.keys());
                (rest.recipe(build, Units::Md)?, rest)
            }
            Self::ArgonSphere(rest) => {
                let build = "radius_spacings = 63, side_spacings = 200, edge_spacing = 5.256";
                (rest.fixed(sphere(build))?, rest)
            }
            Self::ArgonDroplet(rest) => {
                let build = "radius_spacings = 15, side_spacings = 48";
                (rest.fixed(sphere(build))?, rest)
            }
            Self::LjMelt { cells, rest } => {
                let cells = triple(cells)?;
                let build =
                    format!("kind = \"lattice\", lattice = \"fcc\", cells = {cells}, density = 0.8442");
                (rest.recipe(build, Units::LennardJones)?, rest)
            }
            Self::Random {
                counts,
                cell,
                apart,
                rest,
            } => {
                let build = format!(
                    "kind = \"random\", counts = {{ {} }}, minimum_distance = {}",
                    counts_of(counts),
                    value(apart)
                );
                let mut recipe = rest.recipe(build, Units::Md)?;
                recipe.more = cell_key(cell);
                (recipe, rest)
            }
            Self::Polymer {
                chains,
                beads,
                density,
                bond_length,
                apart,
                rest,
            } => {
                let mut build = format!(
                    "kind = \"polymer\", chains = {chains}, beads = {beads}, density = {}, seed = {}",
                    value(density),
                    rest.seed
                );
                for (key, given) in [("bond_length", bond_length), ("minimum_distance", apart)] {
                    if let Some(text) = given {
                        build += &format!(", {key} = {}", value(text));
                    }
                }
                (rest.recipe(build, Units::LennardJones)?, rest)
            }
            Self::Nacl(nacl) => (nacl.recipe()?, &nacl.rest),
            Self::Water(water) => (water.recipe()?, &water.rest),
            Self::Solution(solution) => (solution.recipe()?, &solution.liquid.rest),
            Self::Bilayer(bilayer) => (bilayer.recipe()?, &bilayer.lipids.rest),
            Self::Dispersion(dispersion) => (dispersion.recipe()?, &dispersion.lipids.rest),
            Self::SsdWater(water) => (water.recipe()?, &water.rest),
            Self::LiquidCrystal(crystal) => (crystal.recipe()?, &crystal.rest),
            Self::Liquid {
                counts,
                density,
                rest,
            } => {
                let build = format!(
                    "kind = \"liquid\", counts = {{ {} }}, density = {}, seed = {}",
                    counts_of(counts),
                    value(density),
                    rest.seed
                );
                (rest.recipe(build, Units::Md)?, rest)
            }
        })
    }
}

impl Crystal {
    fn keys(&self) -> String {
        let scale = match (&self.spacing, &self.density) {
            (Some(a), _) => format!("spacing = {}", value(a)),
            (None, Some(density)) => format!("density = {}", value(density)),
            (None, None) => String::new(),
        };
        format!("lattice = {}, {scale}", quoted(&self.lattice))
    }
}

impl Rest {
    fn recipe(&self, build: String, default: Units) -> Result<Recipe, Failure> {
        let units = self.units.unwrap_or(default);
        let mut species = self.masses();
        if species.is_empty() && units == Units::LennardJones {
            species.push(Declared::new("A", None));
        }
        if species.is_empty() {
            return Err(Failure::refused(
                "which particles? Name them with their masses: --species \"Ar=39.948 u\"",
            ));
        }
        Ok(Recipe {
            units,
            build,
            more: String::new(),
            species,
            include: Vec::new(),
            forces: String::new(),
            motion: String::new(),
        })
    }

    /// The species named, with their masses.
    fn masses(&self) -> Vec<Declared> {
        let one = |text: &String| match text.split_once('=') {
            Some((name, mass)) => Declared::new(name, Some(mass)),
            None => Declared::new(text, None),
        };
        self.species.iter().map(one).collect()
    }

    /// A system whose units and species are given.
    fn fixed(&self, recipe: Recipe) -> Result<Recipe, Failure> {
        if self.units.is_some_and(|u| u != recipe.units) || !self.species.is_empty() {
            return Err(Failure::refused(
                "argon is argon: this builder takes no --species, and md units only",
            ));
        }
        Ok(recipe)
    }
}

/// `Ar = 200, Ne = 50` from Ar=200 and Ne=50.
fn counts_of(counts: &[String]) -> String {
    let one = |count: &String| count.replacen('=', " = ", 1);
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `cell = […]` from one edge or three.
fn cell_key(edges: &[String]) -> String {
    let edges: Vec<String> = edges.iter().map(|edge| value(edge)).collect();
    let edges = match &edges[..] {
        [one] => [one.clone(), one.clone(), one.clone()].join(", "),
        _ => edges.join(", "),
    };
    format!("cell = [{edges}]\n")
}

/// A number as it is, anything else as a text.
fn value(text: &str) -> String {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => format!("{number:?}"),
        _ => quoted(text),
    }
}

/// A TOML text.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => " ".into(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn triple(cells: &[u32]) -> Result<String, Failure> {
    match cells {
        [n] => Ok(format!("[{n}, {n}, {n}]")),
        [a, b, c] => Ok(format!("[{a}, {b}, {c}]")),
        _ => Err(Failure::refused(format!(
            "--cells takes one number or three, not {}",
            cells.len()
        ))),
    }
}
