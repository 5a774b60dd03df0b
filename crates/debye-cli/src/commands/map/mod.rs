//! `debye map`: the electrostatic potential on a grid.

mod files;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use clap::Args;
use debye::engines::Precision;
use debye::input::InputOptions;
use debye::maps::{PotentialProfile, with_word};
use debye::plot::Axis3;
use debye::prelude::{
    MapAverage, MapFrames, MapGrid, MapMethod, MapRequest, MapSubject, PotentialMap, PotentialUnit,
};
use debye::simulation::{DeviceChoice, Simulation};
use debye::system::{Cell, Dimension, Units};
use debye_io::volumes::VolumeFormat;
use debye_io::{ReadFrames, ReadOptions, Trajectory};
use serde::Serialize;

use crate::console;
use crate::failure::Failure;
use crate::flags::{ThreadFlag, precision};
use crate::progress::Patience;
use files::{Drawing, Kind, surface_files};

/// Map the electrostatic potential of a structure, or its mean over a trajectory, on a grid
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye map protein.pqr -o potential.dx
  debye map protein.pqr --permittivity 78.5 -o map.html -o slice.png --at \"4 Å\"
  debye map c.pqr --method direct --origin \"0 Å,0 Å,0 Å\" --spacing \"2 Å\" --shape 21,21,21 --units kJ/mol/e -o m.npy
  debye map water.pqr --cell \"30 Å,30 Å,30 Å\" --tolerance 1e-4 -o periodic.mrc
  debye map dopc.toml --trajectory dopc.out/lipids.xtc --units mV --center T --profile profile.csv -o mean.dx
  debye map protein.pqr --level 5 -o plus.ply
  debye map potential.dx --units kT/e --axis x -o slice.png

Lengths without a unit are in nm. The array of .npy is [x][y][z]. Without --origin and --shape the grid follows the
structure: over its cell where images count, else around its atoms with --padding.
Boundaries are periodic where the structure has a cell (or --cell gives one) and the method is not direct.
A trajectory gives the mean, and the standard error of the mean beside it (mean.error.dx).
Values of the potential near an atom are large: a point nearer than --exclusion has the value at that distance.")]
pub struct Map {
    /// Structure with charges (pqr, LAMMPS data, debye), the input file of a simulation, or a map (dx) to draw or convert
    structure: PathBuf,
    /// Average over the frames of this trajectory of the same atoms
    #[arg(long, value_name = "FILE")]
    trajectory: Option<PathBuf>,
    /// Leave out so many frames at the beginning
    #[arg(long, default_value_t = 0, value_name = "N", requires = "trajectory")]
    skip: usize,
    /// Take every Nth frame
    #[arg(long, default_value_t = 1, value_name = "N", requires = "trajectory",
          value_parser = clap::value_parser!(u64).range(1..))]
    stride: u64,
    /// Lay these atoms of each frame over the structure's: names of atoms or residues, ranges such as 1-100
    #[arg(long, value_name = "ATOMS", requires = "trajectory")]
    align: Option<String>,
    /// Move the middle of these atoms to the middle of the cell in each frame, along axes where they do not fill it evenly
    #[arg(long, value_name = "ATOMS", requires = "trajectory", conflicts_with = "align")]
    center: Option<String>,
    /// How the potential is summed: auto, direct, cutoff, multilevel or mesh
    #[arg(long, default_value = "auto")]
    method: MapMethod,
    /// First point of the grid: three lengths
    #[arg(long, value_delimiter = ',', value_name = "X,Y,Z", allow_hyphen_values = true)]
    origin: Vec<String>,
    /// Distance of points
    #[arg(long, default_value = "1 Å", value_name = "LENGTH")]
    spacing: String,
    /// Points along x, y and z
    #[arg(long, value_delimiter = ',', value_name = "NX,NY,NZ")]
    shape: Vec<usize>,
    /// Room around the atoms, where the grid follows the structure
    #[arg(long, default_value = "10 Å", value_name = "LENGTH")]
    padding: String,
    /// Unit of the values: kT/e, V, mV, kJ/mol/e or kcal/mol/e
    #[arg(long, default_value = "kT/e", value_name = "UNIT")]
    units: PotentialUnit,
    /// Temperature of kT/e
    #[arg(long, default_value = "300 K", value_name = "TEMPERATURE")]
    temperature: String,
    /// Relative permittivity, which divides the potential
    #[arg(long, default_value_t = 1.0, value_name = "NUMBER")]
    permittivity: f64,
    /// Nearer to a charge than this, the potential is that at this distance
    #[arg(long, default_value = "0.1 Å", value_name = "LENGTH")]
    exclusion: String,
    /// How far the short-range part of cutoff, multilevel and mesh reaches
    #[arg(long, value_name = "LENGTH")]
    cutoff: Option<String>,
    /// Spacing of the finest grid of multilevel
    #[arg(long, value_name = "LENGTH")]
    level_spacing: Option<String>,
    /// Order of interpolation of multilevel: 4, 6 or 8
    #[arg(long)]
    order: Option<usize>,
    /// Relative error that is allowed [default: 0.001; mesh: 0.0001 of the forces]
    #[arg(long, value_name = "NUMBER")]
    tolerance: Option<f64>,
    /// Open boundaries, though the structure has a cell
    #[arg(long)]
    open: bool,
    /// Edges of a periodic cell, where the structure has none
    #[arg(long, value_delimiter = ',', value_name = "A,B,C", conflicts_with = "open")]
    cell: Vec<String>,
    /// Unit of length of a structure that does not say it (LAMMPS), such as Å
    #[arg(long, value_name = "UNIT")]
    length_unit: Option<String>,
    /// Axis that slices and profiles lie across
    #[arg(long, default_value = "z", value_parser = ["x", "y", "z"])]
    axis: String,
    /// Where the slice lies on the axis [default: the middle]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    at: Option<String>,
    /// Largest value of the slice's colors, in --units
    #[arg(long, value_name = "NUMBER")]
    limit: Option<f64>,
    /// Radius of atoms whose structure has none, for the outline in pictures
    #[arg(long, value_name = "LENGTH")]
    radius: Option<String>,
    /// Levels of isosurfaces, in --units [default: plus and minus a usual value]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NUMBER",
        allow_hyphen_values = true
    )]
    level: Vec<f64>,
    /// Write the mean over planes across --axis of a periodic cell, and a chart beside it
    #[arg(long, value_name = "FILE.csv")]
    profile: Option<PathBuf>,
    /// Where to compute: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    /// Arithmetic
    #[arg(long, value_parser = precision())]
    precision: Option<Precision>,
    #[command(flatten)]
    threads: ThreadFlag,
    /// Replace files that are there
    #[arg(long)]
    overwrite: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
    /// Files to write, by their extension: dx, mrc, ccp4, map, cube, npy; png (a slice), ply, obj (isosurfaces), html
    #[arg(long, short, required_unless_present = "profile", value_name = "FILE")]
    output: Vec<PathBuf>,
}

/// Atoms of a structure file, or of what an input file describes.
pub fn subject(path: &Path, unit: Option<f64>) -> Result<MapSubject, Failure> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml")) {
        let options = InputOptions {
            moves: false,
            ..InputOptions::default()
        };
        return Ok(MapSubject::of_system(
            &Simulation::read_with(path, &options)?.system,
        ));
    }
    Ok(MapSubject::read(path, unit)?)
}

/// A length of the command line.
pub fn length(flag: &str, text: &str) -> Result<f64, Failure> {
    let read = Units::Md.quantity(text.trim(), Dimension::LENGTH);
    read.map_err(|e| Failure::refused(format!("--{flag} {text}: {e}")))
}

/// Three values of the command line, or none.
pub fn three<T: Clone, U>(
    flag: &str,
    given: &[T],
    read: impl Fn(&T) -> Result<U, Failure>,
) -> Result<Option<[U; 3]>, Failure> {
    match given {
        [] => Ok(None),
        [a, b, c] => Ok(Some([read(a)?, read(b)?, read(c)?])),
        other => Err(Failure::refused(format!(
            "--{flag} takes three values separated by commas, not {}",
            other.len()
        ))),
    }
}

/// What was computed.
struct Done {
    map: PotentialMap,
    average: Option<MapAverage>,
    profile: Option<PotentialProfile>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Answer<'a> {
    charges: usize,
    net_charge: f64,
    shape: [usize; 3],
    origin_angstrom: [f64; 3],
    spacing_angstrom: [f64; 3],
    unit: String,
    least: f64,
    largest: f64,
    frames: Option<usize>,
    method: &'a str,
    why: Option<String>,
    seconds: f64,
    files: Vec<String>,
}

impl Map {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        self.check_files()?;
        let unit = self.length_unit.as_deref();
        let unit = unit
            .map(|unit| length("length-unit", &format!("1 {unit}")))
            .transpose()?;
        if VolumeFormat::from_path(&self.structure).is_ok_and(|format| format == VolumeFormat::Dx) {
            return self.redraw();
        }
        let subject = subject(&self.structure, unit)?;
        if let Some([a, b]) = subject.coincident() {
            console::report(&format!("warning: atoms {a} and {b} lie at the same place"));
        }
        let request = self.request(&subject)?;
        let began = Instant::now();
        let done = self.threads.install(|| match &self.trajectory {
            None => self.single(&request, &subject),
            Some(path) => self.average(&request, &subject, path, unit),
        })?;
        let seconds = began.elapsed().as_secs_f64();
        self.conclude(&request, &subject, &done, seconds)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Draws or converts a map that is there.
    fn redraw(&self) -> Result<ExitCode, Failure> {
        let given = [
            ("trajectory", self.trajectory.is_some()),
            ("profile", self.profile.is_some()),
            ("json", self.json),
            ("method", self.method != MapMethod::Auto),
            ("cell", !self.cell.is_empty()),
            ("open", self.open),
            ("origin", !self.origin.is_empty()),
            ("shape", !self.shape.is_empty()),
            ("cutoff", self.cutoff.is_some()),
            ("level-spacing", self.level_spacing.is_some()),
            ("order", self.order.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("precision", self.precision.is_some()),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Failure::refused(format!(
                "a map that is there can be drawn and converted (-o): --{flag} needs a structure"
            )));
        }
        let map = PotentialMap::read(&self.structure, self.unit()?)?;
        let drawing = self.drawing(vec![("method", map.method().to_owned())])?;
        for path in &self.output {
            drawing.write(path, &map, &MapSubject::new(Vec::new(), Vec::new()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Every file that will be written.
    fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut files = Vec::new();
        for path in &self.output {
            match Kind::of(path)? {
                Kind::Volume if self.trajectory.is_some() => {
                    files.extend([path.clone(), with_word(path, "error")]);
                }
                Kind::Surface if !self.level.is_empty() => files.extend(surface_files(path, &self.level)),
                _ => files.push(path.clone()),
            }
        }
        if let Some(path) = &self.profile {
            files.extend([path.clone(), path.with_extension("png")]);
        }
        Ok(files)
    }

    /// Refuses files of unknown kinds, those that are there, and two of one name, before anything is computed.
    fn check_files(&self) -> Result<(), Failure> {
        console::check_new(&self.files()?, self.overwrite)?;
        let mut numbers = self.level.iter().chain(&self.limit);
        if let Some(bad) = numbers.find(|x| !x.is_finite()) {
            return Err(Failure::refused(format!("{bad} is no value of the potential")));
        }
        if let Some(flag) = self.idle_setting() {
            return Err(Failure::refused(format!(
                "--{flag} does nothing with --method {}",
                self.method
            )));
        }
        match self.limit {
            Some(limit) if limit <= 0.0 => Err(Failure::refused("--limit must be above zero")),
            _ if !self.cell.is_empty() && self.method == MapMethod::Direct => Err(Failure::refused(
                "--method direct has open boundaries: --cell goes with the other methods",
            )),
            _ => Ok(()),
        }
    }

    /// A setting that the method that was asked for has no use for.
    fn idle_setting(&self) -> Option<&'static str> {
        use MapMethod::{Cutoff, Direct, Mesh};
        let given = [
            ("order", self.order.is_some(), &[Direct, Cutoff, Mesh][..]),
            (
                "level-spacing",
                self.level_spacing.is_some(),
                &[Direct, Cutoff, Mesh][..],
            ),
            ("cutoff", self.cutoff.is_some(), &[Direct][..]),
        ];
        let idle = |(_, given, of): &&(_, bool, &[MapMethod])| *given && of.contains(&self.method);
        given.iter().find(idle).map(|(flag, ..)| *flag)
    }

    fn single(&self, request: &MapRequest, subject: &MapSubject) -> Result<Done, Failure> {
        let patience = Mutex::new(Patience::new("potential"));
        let watch = |part: f64| {
            if let Ok(mut patience) = patience.lock() {
                patience.show(part);
            }
        };
        let map = request.compute_watched(&subject.point_charges()?, &watch)?;
        if let Ok(mut patience) = patience.lock() {
            patience.clear();
        }
        let profile = match self.profile {
            Some(_) => {
                let frames = MapFrames::new(subject.clone(), request.clone(), self.shape.is_empty())?;
                Some(frames.profile_of_subject(self.axis().index())?)
            }
            None => None,
        };
        Ok(Done {
            map,
            average: None,
            profile,
        })
    }

    fn average(
        &self,
        request: &MapRequest,
        subject: &MapSubject,
        path: &Path,
        unit: Option<f64>,
    ) -> Result<Done, Failure> {
        let options = ReadOptions {
            lenient: true,
            ..ReadOptions::default()
        };
        let mut trajectory = Trajectory::open_with(path, options)?;
        let mut frames = MapFrames::new(subject.clone(), request.clone(), self.shape.is_empty())?;
        if self.profile.is_some() {
            frames = frames.with_profile(self.axis().index())?;
        }
        if let Some(text) = &self.align {
            frames = frames.aligned(subject.select(text)?)?;
        }
        if let Some(text) = &self.center {
            frames = frames.centered(subject.select(text)?)?;
        }
        let began = Instant::now();
        let (mut number, mut taken) = (0, 0_u64);
        let mut last_line = Instant::now();
        while let Some(frame) = trajectory.next_frame()? {
            if number >= self.skip && (number - self.skip).is_multiple_of(self.stride as usize) {
                let name = path.display();
                let refused = |e| Failure::refused(format!("{name}, frame {}: {e}", number + 1));
                frames.add(&frame, unit).map_err(refused)?;
                taken += 1;
                if last_line.elapsed().as_secs() >= 10 {
                    last_line = Instant::now();
                    let seconds = began.elapsed().as_secs_f64() / taken as f64;
                    console::report(&format!("  {taken} frames, {seconds:.2} s each"));
                }
            }
            number += 1;
        }
        for warning in trajectory.warnings() {
            console::report(&format!("warning: {warning}"));
        }
        if frames.uncentered() > 0 {
            console::report(&format!(
                "warning: {} of {taken} frames are not centered: the atoms of --center are spread evenly along all axes. Of a \
                 bilayer, name what lies between its leaflets",
                frames.uncentered()
            ));
        }
        let (average, profile) = frames.finish()?;
        Ok(Done {
            map: average.mean()?,
            average: Some(average),
            profile,
        })
    }

    fn unit(&self) -> Result<PotentialUnit, Failure> {
        let text = &self.temperature;
        let temperature = Units::Md.quantity(text, Dimension::TEMPERATURE);
        let refused = |why: String| Failure::refused(format!("--temperature {text}: {why}"));
        let temperature = temperature.map_err(|e| refused(e.to_string()))?;
        if temperature <= 0.0 {
            return Err(refused("it must be above zero".into()));
        }
        Ok(self.units.at_temperature(temperature))
    }

    fn request(&self, subject: &MapSubject) -> Result<MapRequest, Failure> {
        let edges = three("cell", &self.cell, |text| length("cell", text))?;
        let given = edges
            .map(Cell::orthorhombic)
            .transpose()
            .map_err(Failure::refused)?;
        let open = self.open || self.align.is_some() || self.method == MapMethod::Direct;
        let cell = given.or(subject.cell.filter(|cell| cell.periodic() == [true; 3]));
        let cell = cell.filter(|_| !open);
        let spacing = length("spacing", &self.spacing)?;
        let origin = three("origin", &self.origin, |text| length("origin", text))?;
        let shape = three("shape", &self.shape, |&n| Ok(n))?;
        let grid = match (origin, shape) {
            (Some(origin), Some(shape)) => MapGrid::new(origin, [spacing; 3], shape)?,
            (None, None) if cell.is_some() => subject.clone().with_cell(cell).grid_over_cell(spacing)?,
            (None, None) => subject.grid_around(length("padding", &self.padding)?, spacing)?,
            _ => return Err(Failure::refused("--origin and --shape go together")),
        };
        let mut request = MapRequest::new(grid)
            .method(self.method)
            .device(self.device)
            .permittivity(self.permittivity)
            .exclusion(length("exclusion", &self.exclusion)?)
            .precision(self.precision.unwrap_or(Precision::Mixed));
        if let Some(cell) = cell {
            request = request.periodic(cell);
        }
        if let Some(text) = &self.cutoff {
            request = request.cutoff(length("cutoff", text)?);
        }
        if let Some(text) = &self.level_spacing {
            request = request.level_spacing(length("level-spacing", text)?);
        }
        if let Some(order) = self.order {
            request = request.order(order);
        }
        if let Some(tolerance) = self.tolerance {
            request = request.tolerance(tolerance);
        }
        Ok(request)
    }

    fn axis(&self) -> Axis3 {
        let named = Axis3::ALL
            .into_iter()
            .find(|axis| self.axis == axis.name().to_string());
        named.unwrap_or(Axis3::Z)
    }

    fn drawing(&self, rows: Vec<(&str, String)>) -> Result<Drawing, Failure> {
        let name = self.structure.file_name().unwrap_or_default();
        let at = self.at.as_deref().map(|text| length("at", text)).transpose()?;
        Ok(Drawing {
            unit: self.unit()?,
            axis: self.axis(),
            at: at.map(|x| 10.0 * x),
            limit: self.limit,
            levels: self.level.clone(),
            radius: self
                .radius
                .as_deref()
                .map(|text| length("radius", text))
                .transpose()?
                .map(|r| 10.0 * r),
            title: format!("Electrostatic potential of {}", name.to_string_lossy()),
            facts: rows.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
        })
    }

    /// Writes the files and says what was done.
    fn conclude(
        &self,
        request: &MapRequest,
        subject: &MapSubject,
        done: &Done,
        seconds: f64,
    ) -> Result<(), Failure> {
        let (unit, map) = (self.unit()?, &done.map);
        let charges = subject.point_charges()?;
        let [low, high] = map.range().map(|v| v * unit.factor());
        let [a, b, c] = map.grid().shape();
        let spacing = (map.grid().spacing() * 10.0).to_array();
        let [x, y, z] = spacing.map(console::short);
        let net = (charges.total() * 1e6).round() / 1e6;
        let mut rows = vec![
            ("charges", console::grouped(charges.len() as u64)),
            ("net charge", format!("{} e", console::short(net))),
            ("grid", format!("{a} × {b} × {c} points, {x} × {y} × {z} Å apart")),
            ("method", map.method().to_owned()),
        ];
        let why = request.choose(&charges).why;
        rows.extend(why.clone().map(|why| ("chosen", why)));
        rows.push((
            "potential",
            format!(
                "{} to {} {}",
                console::short(low),
                console::short(high),
                unit.described()
            ),
        ));
        if let Some((blocks, frames)) = done.average.as_ref().map(MapAverage::blocks) {
            let text = match blocks {
                ..2 => "unknown: one frame has none".into(),
                _ => format!("from {blocks} blocks of {frames} frames"),
            };
            rows.push(("error", text));
        }
        rows.push(("time", console::duration(seconds)));
        let drawing = self.drawing(rows.clone())?;
        let error = done
            .average
            .as_ref()
            .map(MapAverage::error)
            .transpose()?
            .flatten();
        for path in &self.output {
            drawing.write(path, map, subject)?;
            if let (Some(error), Kind::Volume) = (&error, Kind::of(path)?) {
                drawing.write(&with_word(path, "error"), error, subject)?;
            }
        }
        if let (Some(path), Some(profile)) = (&self.profile, &done.profile) {
            drawing.profile(path, profile)?;
        }
        if self.json {
            let answer = Answer {
                charges: charges.len(),
                net_charge: net,
                shape: map.grid().shape(),
                origin_angstrom: (map.grid().origin() * 10.0).to_array(),
                spacing_angstrom: spacing,
                unit: unit.described(),
                least: low,
                largest: high,
                frames: done.average.as_ref().map(MapAverage::frames),
                method: map.method(),
                why,
                seconds,
                files: self
                    .files()?
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect(),
            };
            return console::print(&console::json("map/1", &answer)?);
        }
        console::print(&console::facts(&rows))
    }
}
