//! [`Frames`]: a trajectory file as the analyses want it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use debye::analysis::{AnalysisError, Labels, Model, Snapshot, Subject};
use debye::expr::{Quat, Vec3};
use debye::simulation::Simulation;
use debye::system::{Cell, Class, Dimension, Species, Units};
use debye_io::{
    Atom, Format, Frame, LengthUnit, ReadFrames, ReadOptions, Structure, Trajectory, read_structure_as,
};

use crate::console;
use crate::failure::Failure;
use crate::flags::units;

/// How files are read.
#[derive(Args, Clone, Copy)]
pub struct Reading {
    /// Format of the file, where its extension does not say it
    #[arg(long, value_name = "NAME", value_parser = format())]
    pub format: Option<Format>,
    /// Refuse a trajectory that is cut short instead of using its whole frames
    #[arg(long)]
    pub strict: bool,
}

impl Reading {
    /// Opens a trajectory.
    pub fn open(self, path: &Path) -> Result<Trajectory, Failure> {
        let options = ReadOptions {
            format: self.format,
            lenient: !self.strict,
        };
        Ok(Trajectory::open_with(path, options)?)
    }
}

/// Understands the names of formats.
fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::all().map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// Tells warnings about files, each once.
#[derive(Default)]
pub struct Warnings(Vec<String>);

impl Warnings {
    /// Tells those that are new.
    pub fn print(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            if !self.0.contains(&warning) {
                console::report(&format!("warning: {warning}"));
                self.0.push(warning);
            }
        }
    }
}

/// Which trajectory, and what it does not say itself.
#[derive(Args)]
pub struct Source {
    /// The trajectory: xtc, trr, dcd, gro, pdb, mmcif, xyz or lammpstrj, also compressed (gz, bz2, xz, zst)
    trajectory: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Structure file with names of the atoms and their bonds, for xtc, trr and dcd
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Input file of the run: says units, species, masses, charges, molecules and bonds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topology", "masses", "units"])]
    input: Option<PathBuf>,
    /// Format of the structure file, where its extension does not say it
    #[arg(long, value_name = "NAME", value_parser = format())]
    topology_format: Option<Format>,
    /// Unit of length of a file that does not say it (LAMMPS), such as Å [default: nm]
    #[arg(long, value_name = "UNIT")]
    length_unit: Option<String>,
    /// Unit system the run had
    #[arg(long, value_parser = units(), default_value = "md")]
    units: Units,
    /// Masses, where the structure file has none: Ar=39.948,Ne=20.18 [default: 1]
    #[arg(long, value_delimiter = ',', value_name = "NAME=MASS")]
    masses: Vec<String>,
    /// Time between frames, where the file does not say
    #[arg(long, value_name = "TIME")]
    interval: Option<String>,
    /// Edges of the cell, where the file does not say: three lengths
    #[arg(long, value_delimiter = ',', num_args = 1, value_name = "A,B,C")]
    cell: Vec<String>,
    /// Leave out frames before this time: "100 ps", or a number in the unit of the run
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Leave out so many frames at the beginning
    #[arg(long, default_value_t = 0, value_name = "N")]
    skip: usize,
    /// Take every Nth frame
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    stride: u64,
    /// The particles were written where they went (unwrap = true): do not follow them through the faces
    #[arg(long)]
    unwrapped: bool,
}

impl Source {
    /// Names and bonds of the particles: of the structure file, else of the trajectory where it has them.
    fn structure(&self, trajectory: &Trajectory, first: &Frame) -> Result<Structure, Failure> {
        if let Some(file) = &self.topology {
            let format = match self.topology_format {
                Some(format) => format,
                None => Format::of_input(file)?,
            };
            return Ok(read_structure_as(file, format)?);
        }
        if trajectory.format().has_atoms() {
            return Ok(read_structure_as(&self.trajectory, trajectory.format())?);
        }
        let unnamed = Atom {
            name: "A".into(),
            ..Atom::default()
        };
        Ok(Structure {
            atoms: vec![unnamed; first.positions.len()],
            ..Structure::default()
        })
    }

    /// What a structure says to analyses.
    fn subject(
        &self,
        structure: &Structure,
        quantity: impl Fn(&str, &str, Dimension) -> Result<f64, Failure>,
    ) -> Result<Subject, Failure> {
        let given = self.masses.iter().map(|text| match text.split_once('=') {
            Some((name, mass)) => Ok((name.trim(), quantity("masses", mass, Dimension::MASS)?)),
            None => Err(Failure::refused(format!(
                "--masses {text}: expected NAME=MASS, such as Ar=39.948"
            ))),
        });
        let given = given.collect::<Result<Vec<_>, _>>()?;
        let (mut list, mut species, mut masses): (Vec<Species>, Vec<u32>, Vec<f64>) = Default::default();
        for atom in &structure.atoms {
            let called = atom.sort_name();
            let index = list.iter().position(|s| s.name == *called);
            species.push(index.unwrap_or(list.len()) as u32);
            let declared = given
                .iter()
                .find(|(name, _)| *name == called)
                .map(|(_, mass)| *mass);
            let mass = declared.or(atom.mass).unwrap_or(1.0);
            masses.push(mass);
            if index.is_none() {
                let (name, charge) = (called.to_owned(), atom.charge.unwrap_or(0.0));
                list.push(Species::point(name, mass, charge));
            }
        }
        let atoms = &structure.atoms;
        // Atoms without a molecule are one each.
        let beyond = atoms
            .iter()
            .filter_map(|atom| atom.molecule)
            .max()
            .map_or(0, |last| last + 1);
        let molecule = |(i, atom): (usize, &Atom)| atom.molecule.unwrap_or(beyond + i as i64) as u32;
        Ok(Subject {
            units: self.units,
            labels: Labels::new(self.units, &list),
            electrons: vec![0.0; list.len()].into(),
            species: species.into(),
            masses: masses.into(),
            charges: atoms.iter().map(|a| a.charge.unwrap_or(0.0)).collect(),
            rotations: [].into(),
            molecules: atoms.iter().enumerate().map(molecule).collect(),
            constraints: Default::default(),
            bonds: structure
                .bonds
                .iter()
                .map(|b| b.atoms.map(|i| i as u32))
                .collect(),
            cell: Cell::orthorhombic([1.0; 3]).map_err(Failure::refused)?,
            reach: 0.0,
            temperature: None,
            model: None,
        })
    }
}

/// The particles of a trajectory of `count`, where the input writes only some species to a file of its name.
fn written(simulation: &Simulation, file: &Path, whole: &Subject, count: usize) -> Option<Vec<usize>> {
    let name = file.file_name()?;
    let plans = &simulation.output.trajectories;
    let plan = plans.iter().find(|plan| plan.file.file_name() == Some(name))?;
    let chosen = |i: &usize| plan.species.contains(&whole.species[*i]);
    let places: Vec<usize> = (0..whole.species.len()).filter(chosen).collect();
    (places.len() == count && count < whole.species.len()).then_some(places)
}

/// Particles that each particle sees in a radial distribution unless said: time grows with their number.
const MOST_SEEN: f64 = 5000.0;

/// How far pairs are looked for unless said.
fn reach(cell: &Cell, particles: usize) -> f64 {
    let h = cell.heights();
    let volume = cell.volume() * MOST_SEEN / particles.max(1) as f64;
    let ball = (0.75 * volume / std::f64::consts::PI).cbrt();
    ball.min(0.5 * h.x.min(h.y).min(h.z))
}

/// The frames of a trajectory, with species, masses and unwrapped positions.
pub struct Frames {
    name: String,
    trajectory: Trajectory,
    /// The first frame, read ahead.
    first: Option<Frame>,
    subject: Subject,
    /// Which particles turn; `None` where the trajectory alone has to say it.
    turns: Option<Vec<bool>>,
    cell: Option<Cell>,
    interval: Option<f64>,
    from: Option<f64>,
    skip: usize,
    stride: usize,
    unwrapped: bool,
    /// Whether damage is refused.
    strict: bool,
    count: usize,
    /// Length of a file that does not say its unit.
    unspecified: f64,
    warnings: Warnings,
}

impl Frames {
    /// Opens a trajectory and reads its first frame.
    pub fn open(source: &Source) -> Result<Self, Failure> {
        let name = source.trajectory.display().to_string();
        let mut warnings = Warnings::default();
        let mut trajectory = source.reading.open(&source.trajectory)?;
        let first = trajectory.next_frame()?;
        warnings.print(trajectory.warnings());
        let first = first.ok_or_else(|| Failure::refused(format!("{name} holds no frame")))?;
        let quantity = |flag: &str, text: &str, dimension: Dimension| {
            let read = source.units.quantity(text, dimension);
            read.map_err(|e| Failure::refused(format!("--{flag} {text}: {e}")))
        };
        let (subject, turns) = match &source.input {
            Some(file) => {
                let simulation = Simulation::read(file)?;
                let rotors = &simulation.system.particles.orientations.rotors;
                let turns: Vec<bool> = rotors.iter().map(|rotor| rotor.class() != Class::Point).collect();
                let whole = Subject {
                    temperature: simulation.dynamics.temperature(),
                    model: Some(Arc::new(Model {
                        system: simulation.system.clone(),
                        forces: simulation.forces.clone(),
                    })),
                    ..Subject::new(&simulation.system, 0.0)
                };
                match written(&simulation, &source.trajectory, &whole, first.positions.len()) {
                    Some(places) => {
                        let turns = places.iter().filter_map(|&i| turns.get(i).copied()).collect();
                        (whole.of(&places), Some(turns))
                    }
                    None => (whole, Some(turns)),
                }
            }
            None => {
                let structure = source.structure(&trajectory, &first)?;
                warnings.print(structure.warnings.clone());
                (source.subject(&structure, quantity)?, None)
            }
        };
        let (count, expected) = (first.positions.len(), subject.species.len());
        if count != expected {
            let other = match source.input {
                Some(_) => "input",
                None => "structure",
            };
            return Err(Failure::refused(format!(
                "{name} has {count} particles in its first frame, but the {other} file {expected}"
            )));
        }
        let cell = match &source.cell[..] {
            [] => None,
            [a, b, c] => {
                let edge = |text: &str| quantity("cell", text, Dimension::LENGTH);
                let edges = [edge(a)?, edge(b)?, edge(c)?];
                Some(Cell::orthorhombic(edges).map_err(Failure::refused)?)
            }
            other => {
                return Err(Failure::refused(format!(
                    "--cell takes three lengths, not {}",
                    other.len()
                )));
            }
        };
        let interval = source.interval.as_deref();
        let unit = source.length_unit.as_deref();
        let unspecified = unit.map(|unit| quantity("length-unit", &format!("1 {unit}"), Dimension::LENGTH));
        let says = first.length_unit != LengthUnit::Unspecified || subject.units == Units::LennardJones;
        if unit.is_none() && !says {
            warnings.print(vec![format!(
                "{name} does not say its unit of length, which is taken to be nm; --length-unit gives another"
            )]);
        }
        let mut frames = Self {
            name,
            trajectory,
            first: None,
            subject,
            turns,
            cell,
            interval: interval
                .map(|text| quantity("interval", text, Dimension::TIME))
                .transpose()?,
            from: source
                .from
                .as_deref()
                .map(|text| quantity("from", text, Dimension::TIME))
                .transpose()?,
            skip: source.skip,
            stride: source.stride as usize,
            unwrapped: source.unwrapped,
            strict: source.reading.strict,
            count: 0,
            unspecified: unspecified.transpose()?.unwrap_or(1.0),
            warnings,
        };
        frames.subject.cell = frames.cell_of(&first)?;
        frames.subject.reach = reach(&frames.subject.cell, count);
        frames.first = Some(first);
        Ok(frames)
    }

    /// What the trajectory is of.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Frames taken.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The refusal of a trajectory that is too short for an analysis.
    pub fn too_few(&self, needed: usize, analysis: &str) -> Failure {
        let frames = |n: usize| {
            if n == 1 {
                "1 frame".into()
            } else {
                format!("{n} frames")
            }
        };
        let chosen = match (self.skip, self.stride) {
            (0, 1) => "",
            _ => " with this --skip and --stride",
        };
        Failure::refused(format!(
            "{}: {}{chosen} is not enough; {analysis} needs at least {needed}, at different times",
            self.name,
            frames(self.count)
        ))
    }

    /// Two species by their names, as a flag gives them.
    pub fn pair(&self, flag: &str, text: &str) -> Result<[u32; 2], Failure> {
        // A name may hold a hyphen itself: every place to split is tried.
        let splits = text
            .match_indices('-')
            .map(|(at, _)| (&text[..at], &text[at + 1..]));
        for (a, b) in splits {
            if let (Some(a), Some(b)) = (self.place(a), self.place(b)) {
                return Ok([a, b]);
            }
        }
        let expected = format!("two of the species {}, joined by a hyphen", self.names());
        Err(self.strangers(flag, text, &expected))
    }

    /// Species by their names, as a flag gives them.
    pub fn some_species(&self, flag: &str, text: &str) -> Result<Vec<u32>, Failure> {
        let places = text.split(',').map(|name| self.place(name.trim()));
        places.collect::<Option<Vec<u32>>>().ok_or_else(|| {
            let expected = format!("some of the species {}, joined by commas", self.names());
            self.strangers(flag, text, &expected)
        })
    }

    fn place(&self, name: &str) -> Option<u32> {
        let place = self.subject.labels.species.iter().position(|n| n == name);
        place.map(|i| i as u32)
    }

    fn names(&self) -> String {
        self.subject.labels.species.join(", ")
    }

    /// The refusal of species that are not there.
    fn strangers(&self, flag: &str, text: &str, expected: &str) -> Failure {
        let unnamed = self.subject.labels.species == ["A"];
        let hint = if unnamed {
            "; --topology gives a file with names"
        } else {
            ""
        };
        Failure::refused(format!("--{flag} {text}: expected {expected}{hint}"))
    }

    /// Hands every frame to `take`. Unless reading is strict, one whose orientations are damaged does not count where they
    /// are needed.
    pub fn for_each(
        &mut self,
        mut take: impl FnMut(&Snapshot) -> Result<(), AnalysisError>,
    ) -> Result<(), Failure> {
        let (mut number, mut before): (usize, Option<Vec<Vec3<f64>>>) = (0, None);
        // Frames that are late enough, taken or not.
        let mut late = 0_usize;
        loop {
            let next = match self.first.take() {
                Some(frame) => Some(frame),
                None => self.trajectory.next_frame()?,
            };
            self.warnings.print(self.trajectory.warnings());
            let damaged = self.trajectory.orientations_missing();
            let Some(frame) = next else { break };
            let cell = self.cell_of(&frame)?;
            let factor = self.factor(&frame);
            let scaled = |v: &[f64; 3]| Vec3::new(v[0], v[1], v[2]) * factor;
            let raw: Vec<Vec3<f64>> = frame.positions.iter().map(scaled).collect();
            let follows = before
                .as_ref()
                .filter(|old| !self.unwrapped && old.len() == raw.len());
            let unwrapped: Vec<Vec3<f64>> = match follows {
                Some(old) => old
                    .iter()
                    .zip(&raw)
                    .map(|(&o, &r)| o + cell.minimum_image(r - o))
                    .collect(),
                None => raw.clone(),
            };
            let time = match self.interval {
                Some(interval) => Some(number as f64 * interval),
                None => frame.time,
            };
            let counts = number >= self.skip && self.is_late(time)?;
            if counts {
                late += 1;
            }
            if counts && (late - 1).is_multiple_of(self.stride) {
                let positions: Vec<Vec3<f64>> = raw.iter().map(|&r| cell.wrap(r).0).collect();
                let velocities: Option<Vec<Vec3<f64>>> = frame
                    .velocities
                    .as_ref()
                    .map(|all| all.iter().map(scaled).collect());
                let time = time.unwrap_or(number as f64);
                let taken = take(&Snapshot {
                    step: frame.step.unwrap_or(number as u64),
                    time,
                    cell: &cell,
                    positions: &positions,
                    unwrapped: &unwrapped,
                    velocities: velocities.as_deref(),
                    species: &self.subject.species,
                    axes: self.axes(&frame).as_deref(),
                    rotational_energies: None,
                });
                match taken {
                    Ok(()) => self.count += 1,
                    Err(AnalysisError::NoOrientations { .. }) if !self.strict && damaged => {}
                    Err(e) => {
                        let refused = format!("{}, frame {}: {e}", self.name, number + 1);
                        return Err(Failure::refused(refused));
                    }
                }
            }
            before = Some(unwrapped);
            number += 1;
        }
        if self.count == 0 {
            return Err(Failure::refused(format!(
                "{}: all of its {number} frames were skipped",
                self.name
            )));
        }
        Ok(())
    }

    /// The axes of the particles, where the frame has orientations or dipoles.
    fn axes(&self, frame: &Frame) -> Option<Vec<Vec3<f64>>> {
        let dipole = |&[x, y, z]: &[f64; 3]| Vec3::new(x, y, z);
        let mut axes: Vec<Vec3<f64>> = match (&frame.orientations, &frame.dipoles) {
            (Some(turns), _) => {
                let axis = |&[x, y, z, w]: &[f64; 4]| {
                    let turn = Quat {
                        w,
                        v: Vec3::new(x, y, z),
                    };
                    // Four zeros are of a particle that is known not to turn.
                    match [x, y, z, w] == [0.0; 4] {
                        true => Vec3::zero(),
                        false => turn.axes()[2],
                    }
                };
                turns.iter().map(axis).collect()
            }
            (None, Some(dipoles)) => {
                let axis = |p: Vec3<f64>| {
                    if p == Vec3::zero() {
                        p
                    } else {
                        p * p.norm().recip()
                    }
                };
                dipoles.iter().map(dipole).map(axis).collect()
            }
            (None, None) => return None,
        };
        for (i, axis) in axes.iter_mut().enumerate() {
            let turns = match (&self.turns, &frame.dipoles) {
                (Some(turns), _) => turns.get(i).copied().unwrap_or(false),
                // Points are written as if they lay along z.
                (None, Some(dipoles)) => dipole(&dipoles[i]) != Vec3::zero(),
                (None, None) => true,
            };
            if !turns {
                *axis = Vec3::zero();
            }
        }
        Some(axes)
    }

    /// Whether a frame of this time is to be looked at.
    fn is_late(&self, time: Option<f64>) -> Result<bool, Failure> {
        match (self.from, time) {
            (None, _) => Ok(true),
            // Trajectories hold times in single precision.
            (Some(from), Some(time)) => Ok(time >= from - 1e-6 * from.abs()),
            (Some(_), None) => Err(Failure::refused(format!(
                "{} does not say the times of its frames, so that --from means nothing; give --interval, or use --skip",
                self.name
            ))),
        }
    }

    /// What a length of the frame is in the unit of the analysis.
    fn factor(&self, frame: &Frame) -> f64 {
        match (self.subject.units, frame.length_unit) {
            (Units::Md, LengthUnit::Angstrom) => 0.1,
            (_, LengthUnit::Unspecified) => self.unspecified,
            _ => 1.0,
        }
    }

    fn cell_of(&self, frame: &Frame) -> Result<Cell, Failure> {
        if let Some(cell) = &self.cell {
            return Ok(*cell);
        }
        let vectors = frame.cell.ok_or_else(|| {
            Failure::refused(format!(
                "{} does not say its cell; give it with --cell a,b,c",
                self.name
            ))
        })?;
        let factor = self.factor(frame);
        let cell = Cell::triclinic(vectors.map(|row| row.map(|x| x * factor)));
        cell.map_err(|e| Failure::refused(format!("{}: {e}", self.name)))
    }
}
