//! `debye build ssd-water` and `liquid-crystal`: particles that turn.

use clap::Args;
use debye::system::Units;

use super::{Declared, Recipe, Rest, value};
use crate::failure::Failure;

/// Sets of soft sticky dipole water, with their densities at 298 K in g/cm³ (Fennell & Gezelter 2004); SSD has water's.
const SSD: &[(&str, &str)] = &[
    ("ssd", "0.997 g/cm^3"),
    ("ssd1", "0.999 g/cm^3"),
    ("ssd-e", "0.996 g/cm^3"),
    ("ssd-rf", "0.997 g/cm^3"),
];

/// Soft sticky dipole water
#[derive(Args)]
pub(super) struct SsdWater {
    /// The set: ssd, ssd1, ssd-e or ssd-rf
    #[arg(long, default_value = "ssd-e")]
    model: String,
    /// How many molecules
    #[arg(long)]
    molecules: u64,
    /// Mass density [default: that of the model at 298 K; for ssd that of water]
    #[arg(long)]
    density: Option<String>,
    #[command(flatten)]
    pub(super) rest: Rest,
}

/// Gay–Berne ellipsoids, aligned or at random
#[derive(Args)]
pub(super) struct LiquidCrystal {
    /// How many ellipsoids
    #[arg(long)]
    molecules: u64,
    /// Directions at random, which needs room
    #[arg(long)]
    random: bool,
    /// Number density [default: 0.33 aligned, 0.1 at random]
    #[arg(long)]
    density: Option<String>,
    #[command(flatten)]
    pub(super) rest: Rest,
}

impl SsdWater {
    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        self.rest.md_only()?;
        self.rest.no_species()?;
        let Some((set, density)) = SSD.iter().find(|(name, _)| *name == self.model) else {
            let known: Vec<&str> = SSD.iter().map(|(name, _)| *name).collect();
            return Err(Failure::refused(format!(
                "there is no set of soft sticky dipole water `{}`; known are: {}",
                self.model,
                known.join(", ")
            )));
        };
        let density = value(self.density.as_deref().unwrap_or(density));
        let (molecules, seed) = (self.molecules, self.rest.seed);
        let temperature = value(self.rest.temperature.as_deref().unwrap_or("298 K"));
        Ok(Recipe {
            units: Units::Md,
            build: format!(
                "kind = \"liquid\", counts = {{ W = {molecules} }}, density = {density}, seed = {seed}"
            ),
            more: String::new(),
            species: Vec::new(),
            include: vec![(*set).to_owned()],
            forces: String::new(),
            motion: format!(
                "[minimize]\nkind = \"fire\"\nmax_steps = 200\n\
                 [integrator]\nkind = \"langevin\"\ntimestep = \"2 fs\"\ntemperature = {temperature}\ntime = \"1 ps\"\n\
                 [run]\nsteps = 5000\ntemperature = {temperature}\nseed = {seed}\n\
                 [output]\ntable = {{ every = 50 }}\n"
            ),
        })
    }
}

/// GB(κ = 3, κ′ = 5, μ = 2, ν = 1) of Gay & Berne (1981), cut off as in LAMMPS' example.
const GAY_BERNE: &str = "\
[[forces]]
kind = \"gay-berne\"
cutoff = 4.0
truncation = \"shift\"
epsilon = 1.0
sigma = 1.0
species = { GB = { diameter_x = 1.0, diameter_y = 1.0, diameter_z = 3.0, well_z = 0.2 } }
";

impl LiquidCrystal {
    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        self.rest.no_species()?;
        if self.rest.units.is_some_and(|units| units != Units::LennardJones) {
            return Err(Failure::refused(
                "these ellipsoids have reduced units only: leave --units out",
            ));
        }
        let axes = match self.random {
            true => "axes = \"random\"",
            false => "axes = \"aligned\", stretch = 3.0",
        };
        let density = value(
            self.density
                .as_deref()
                .unwrap_or(if self.random { "0.1" } else { "0.33" }),
        );
        let (molecules, seed) = (self.molecules, self.rest.seed);
        let temperature = value(self.rest.temperature.as_deref().unwrap_or("1.25"));
        Ok(Recipe {
            units: Units::LennardJones,
            build: format!(
                "kind = \"liquid\", counts = {{ GB = {molecules} }}, density = {density}, {axes}, seed = {seed}"
            ),
            more: String::new(),
            // A homogeneous ellipsoid of mass 1: (a² + c²)/5 of its half axes.
            species: vec![Declared {
                name: "GB".to_owned(),
                lines: vec!["inertia = 0.5".to_owned()],
            }],
            include: Vec::new(),
            forces: GAY_BERNE.to_owned(),
            motion: format!(
                "[minimize]\nkind = \"fire\"\nmax_steps = 200\n\
                 [integrator]\nkind = \"langevin\"\ntimestep = 0.002\ntemperature = {temperature}\ntime = 1.0\n\
                 [run]\nsteps = 5000\ntemperature = {temperature}\nseed = {seed}\n\
                 [output]\ntable = {{ every = 50 }}\n"
            ),
        })
    }
}
