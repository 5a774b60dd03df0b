//! `debye ionize`: ions where the potential wants them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use debye::maps::Ionized;
use debye::prelude::{DeviceChoice, Ion, IonPlacement, IonRequest, PotentialUnit};
use debye::system::{Cell, Dimension, Units};
use debye_io::Format;

use super::map::{length, subject, three};
use crate::console;
use crate::failure::Failure;
use crate::flags::ThreadFlag;

/// Add counter-ions and salt to a structure, at the extrema of its potential or at random
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye ionize protein.pqr -o ionized.pqr
  debye ionize solvated.pqr --concentration \"0.15 mol/L\" --cation K:1 --anion CL:-1 -o ionized.pqr --table ions.csv
  debye ionize dna.pqr --cation MG:2 -o ionized.pqr
  debye ionize solvated.pqr --random --permittivity 78.5 --concentration \"0.15 mol/L\" --seed 7 -o ionized.gro

The solute is what is not water. Each ion goes to the lowest place of its energy
that keeps its distances, on a grid; its own potential is added before the next. With --random, places are drawn with
the weight exp(-q phi/kT) of the Debye-Hueckel potential of the solute and of the ions before, at the permittivity of
the solvent. In a periodic cell the potential is that of all images. Waters that are too near to an ion are taken out
whole.")]
pub struct Ionize {
    /// Structure with charges (pqr, LAMMPS data, debye), or the input file of a simulation
    structure: PathBuf,
    /// The cation, its charge, and for pqr its radius in Å
    #[arg(long, default_value = "NA:1", value_name = "NAME:CHARGE[:RADIUS]")]
    cation: String,
    /// The anion
    #[arg(long, default_value = "CL:-1", value_name = "NAME:CHARGE[:RADIUS]")]
    anion: String,
    /// Salt besides the counter-ions: "0.15 mol/L", "150 mmol/L" or a number in mol/L
    #[arg(long, value_name = "CONCENTRATION")]
    concentration: Option<String>,
    /// Do not take the charge of the solute away
    #[arg(long)]
    no_neutralize: bool,
    /// At random instead of at extrema
    #[arg(long, requires = "permittivity")]
    random: bool,
    /// Least distance to atoms of the solute
    #[arg(long, default_value = "5 Å", value_name = "LENGTH")]
    solute_distance: String,
    /// Least distance between ions
    #[arg(long, default_value = "5 Å", value_name = "LENGTH")]
    ion_distance: String,
    /// Waters whose oxygen is nearer to an ion than this go
    #[arg(long, default_value = "2.3 Å", value_name = "LENGTH")]
    water_distance: String,
    /// Spacing of the grid of places
    #[arg(long, default_value = "1 Å", value_name = "LENGTH")]
    spacing: String,
    /// Room around the solute where there is neither cell nor water
    #[arg(long, default_value = "10 Å", value_name = "LENGTH")]
    padding: String,
    /// Relative permittivity [default: 1, which does not change where extrema are]
    #[arg(long, value_name = "NUMBER")]
    permittivity: Option<f64>,
    /// Temperature, of --random and of kT/e in the table
    #[arg(long, default_value = "300 K", value_name = "TEMPERATURE")]
    temperature: String,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Edges of the periodic cell, where the structure has none
    #[arg(long, value_delimiter = ',', value_name = "A,B,C", conflicts_with = "open")]
    cell: Vec<String>,
    /// Open boundaries, though the structure has a cell
    #[arg(long)]
    open: bool,
    /// Names of atoms or residues that are water [default: the usual names of residues]
    #[arg(long, value_name = "NAMES")]
    water: Option<String>,
    /// Unit of length of a structure that does not say it (LAMMPS), such as Å
    #[arg(long, value_name = "UNIT")]
    length_unit: Option<String>,
    /// Write what went where: ion, charge, place, potential, waters
    #[arg(long, value_name = "FILE.csv")]
    table: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    overwrite: bool,
    /// Where the potential is computed: auto, cpu, cuda or cuda:N. Ions do not depend on it
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    #[command(flatten)]
    threads: ThreadFlag,
    /// The structure with ions: pqr, gro, pdb or xyz
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

/// Formats that hold names of atoms, and no bonds that would be missing.
const FORMATS: [Format; 4] = [Format::PQR, Format::GRO, Format::PDB, Format::XYZ];

impl Ionize {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let files: Vec<PathBuf> = std::iter::once(&self.output)
            .chain(&self.table)
            .cloned()
            .collect();
        console::check_new(&files, self.overwrite)?;
        if !Format::from_path(&self.output).is_ok_and(|format| FORMATS.contains(&format)) {
            let file = self.output.display();
            return Err(Failure::refused(format!(
                "{file}: structures with ions are written as pqr, gro, pdb or xyz"
            )));
        }
        if self.no_neutralize && self.concentration.is_none() {
            return Err(Failure::refused(
                "--no-neutralize adds no counter-ions: give a --concentration",
            ));
        }
        let request = self.request()?;
        let unit = self.length_unit.as_deref();
        let unit = unit
            .map(|unit| length("length-unit", &format!("1 {unit}")))
            .transpose()?;
        let mut subject = subject(&self.structure, unit)?;
        if let Some(edges) = three("cell", &self.cell, |text| length("cell", text))? {
            subject = subject.with_cell(Some(Cell::orthorhombic(edges).map_err(Failure::refused)?));
        }
        if self.open {
            subject = subject.with_cell(None);
        }
        let began = Instant::now();
        let ionized = self.threads.install(|| Ok(request.place(&subject)?))?;
        let seconds = began.elapsed().as_secs_f64();
        ionized.subject.save(&self.output)?;
        let thermal = PotentialUnit::Thermal(request.temperature);
        if let Some(path) = &self.table {
            console::save(path, table(&ionized, thermal).as_bytes())?;
        }
        let count = |name: &str| ionized.ions.iter().filter(|ion| ion.name == name).count();
        let before: f64 = subject.charges.iter().sum();
        let after: f64 = ionized.subject.charges.iter().sum();
        let waters: usize = ionized.ions.iter().map(|ion| ion.waters).sum();
        let kinds = [&request.cation.name, &request.anion.name];
        let rows = [
            (
                "ions",
                kinds.map(|name| format!("{} {name}", count(name))).join(", "),
            ),
            (
                "net charge",
                format!("{} e, before {} e", charge(after), charge(before)),
            ),
            ("waters out", waters.to_string()),
            (
                "energy",
                format!(
                    "{} kJ/mol, of the ions with the solute and one another",
                    console::short(ionized.energy() + 0.0)
                ),
            ),
            ("time", console::duration(seconds)),
        ];
        console::print(&console::facts(&rows))?;
        if request.neutralize && after.abs() > 1e-3 {
            console::report(&format!(
                "warning: a charge of {} e is left, which these ions cannot take away",
                charge(after)
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn request(&self) -> Result<IonRequest, Failure> {
        let text = &self.temperature;
        let temperature = Units::Md.quantity(text, Dimension::TEMPERATURE);
        Ok(IonRequest {
            cation: ion("cation", &self.cation)?,
            anion: ion("anion", &self.anion)?,
            neutralize: !self.no_neutralize,
            concentration: self.concentration.as_deref().map_or(Ok(0.0), concentration)?,
            placement: if self.random {
                IonPlacement::Random
            } else {
                IonPlacement::Extrema
            },
            solute_distance: length("solute-distance", &self.solute_distance)?,
            ion_distance: length("ion-distance", &self.ion_distance)?,
            water_distance: length("water-distance", &self.water_distance)?,
            spacing: length("spacing", &self.spacing)?,
            padding: length("padding", &self.padding)?,
            permittivity: self.permittivity.unwrap_or(1.0),
            temperature: temperature.map_err(|e| Failure::refused(format!("--temperature {text}: {e}")))?,
            seed: self.seed,
            waters: self.water.clone(),
            device: self.device,
        })
    }
}

/// A sum of charges, less its rounding.
fn charge(sum: f64) -> String {
    console::short((sum * 1e6).round() / 1e6 + 0.0)
}

/// `NA:1` or `NA:1:1.4`.
fn ion(flag: &str, text: &str) -> Result<Ion, Failure> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default().trim();
    let mut number = || parts.next().map(|part| part.trim().parse::<f64>());
    let (charge, radius, more) = (number(), number(), number());
    let plain = !name.is_empty() && !name.contains(' ') && more.is_none();
    match (charge, radius) {
        (Some(Ok(charge)), radius) if plain && !matches!(radius, Some(Err(_))) => Ok(Ion {
            radius: radius.and_then(Result::ok),
            ..Ion::new(name, charge)
        }),
        _ => Err(Failure::refused(format!(
            "--{flag} {text}: expected NAME:CHARGE or NAME:CHARGE:RADIUS, such as MG:2"
        ))),
    }
}

/// mol/L.
fn concentration(text: &str) -> Result<f64, Failure> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| c.is_alphabetic() && c != 'e' && c != 'E')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let factor = match unit.trim() {
        "" | "M" | "mol/L" | "mol/l" => Some(1.0),
        "mM" | "mmol/L" | "mmol/l" => Some(1e-3),
        _ => None,
    };
    let number = number.trim().parse::<f64>().ok().zip(factor);
    number.map(|(number, factor)| number * factor).ok_or_else(|| {
        Failure::refused(format!(
            "--concentration {text}: expected a number in mol/L or mmol/L, such as \"0.15 mol/L\""
        ))
    })
}

fn table(ionized: &Ionized, thermal: PotentialUnit) -> String {
    let mut text = format!(
        "ion,name,charge (e),x (Å),y (Å),z (Å),potential (kJ/mol/e),potential ({}),waters taken out\n",
        thermal.described()
    );
    for (n, ion) in ionized.ions.iter().enumerate() {
        let [x, y, z] = (ion.position * 10.0).to_array();
        let _ = writeln!(
            text,
            "{},{},{},{x:.4},{y:.4},{z:.4},{},{},{}",
            n + 1,
            ion.name,
            ion.charge,
            ion.potential,
            ion.potential * thermal.factor(),
            ion.waters
        );
    }
    text
}
