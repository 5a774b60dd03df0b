//! What `debye map` writes: volumes, slices, surfaces, a page, by the extension.

use std::path::{Path, PathBuf};

use debye::maps::PotentialProfile;
use debye::maps::with_word;
use debye::plot::{AtomSphere, Axis, Axis3, Chart, MapPage, PlotError, Series, SliceFigure, isosurface};
use debye::prelude::{MapSubject, PotentialMap, PotentialUnit};
use debye_io::surfaces::{SurfaceFormat, write_surface};
use debye_io::volumes::{VolumeAtom, VolumeFormat};

use crate::console;
use crate::failure::Failure;

/// A kind of file, by the extension.
pub enum Kind {
    Volume,
    Slice,
    Surface,
    Page,
}

impl Kind {
    /// Refuses what nobody can write, before anything is computed.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "png" => Ok(Self::Slice),
            "html" => Ok(Self::Page),
            "ply" | "obj" => SurfaceFormat::from_path(path)
                .map(|_| Self::Surface)
                .map_err(Into::into),
            _ => match VolumeFormat::from_path(path) {
                Ok(_) => Ok(Self::Volume),
                Err(error) => Err(Failure::refused(format!(
                    "{error}; besides, .png is a slice, .ply and .obj an isosurface, .html a page"
                ))),
            },
        }
    }
}

/// How pictures are drawn.
pub struct Drawing {
    pub unit: PotentialUnit,
    pub axis: Axis3,
    /// In Å.
    pub at: Option<f64>,
    pub limit: Option<f64>,
    pub levels: Vec<f64>,
    /// Of atoms without one, in Å.
    pub radius: Option<f64>,
    pub title: String,
    pub facts: Vec<(String, String)>,
}

impl Drawing {
    /// Writes a map to a file.
    pub fn write(&self, path: &Path, map: &PotentialMap, subject: &MapSubject) -> Result<(), Failure> {
        match Kind::of(path)? {
            Kind::Volume => {
                let atoms = match VolumeFormat::from_path(path)? {
                    VolumeFormat::Cube => cube_atoms(subject),
                    _ => Vec::new(),
                };
                Ok(map.save_with_atoms(path, self.unit, atoms)?)
            }
            Kind::Slice => {
                let volume = map.volume(self.unit)?;
                let atoms = self.spheres(subject);
                let mut figure = SliceFigure::new(&volume)
                    .axis(self.axis)
                    .atoms(&atoms)
                    .label("electrostatic potential")
                    .unit(&self.unit.to_string());
                if let Some(at) = self.at {
                    figure = figure.at(at);
                }
                if let Some(limit) = self.limit {
                    figure = figure.limit(limit);
                }
                let picture = figure.paint().map_err(|error| match error {
                    PlotError::Outside { axis, at, range } => {
                        let [at, first, last] = [at, range[0], range[1]].map(console::short);
                        Failure::refused(format!(
                            "--at {at} Å lies outside of the grid, which goes from {first} to {last} Å along {axis}"
                        ))
                    }
                    other => other.into(),
                })?;
                console::save(path, &picture.to_png()?)
            }
            Kind::Surface => self.surfaces(path, map),
            Kind::Page => {
                let volume = map.volume(self.unit)?;
                let page = MapPage {
                    unit: self.unit.to_string(),
                    atoms: self.spheres(subject),
                    surfaces: self.levels_of(map),
                    facts: self.facts.clone(),
                    ..MapPage::new(&self.title, &volume)
                };
                console::save(path, page.html().as_bytes())
            }
        }
    }

    /// Atoms of the solute with a radius.
    fn spheres(&self, subject: &MapSubject) -> Vec<AtomSphere> {
        let atoms = subject.structure.atoms.iter().zip(&subject.positions);
        let sphere = |(atom, r): (&debye_io::Atom, &debye::expr::Vec3<f64>)| {
            let radius = atom.radius.filter(|r| *r > 0.0).or(self.radius)?;
            let position = (*r * 10.0).to_array();
            (!atom.is_water()).then_some(AtomSphere { position, radius })
        };
        atoms.filter_map(sphere).collect()
    }

    /// One file for a level, or one for each: `name.-5.ply`.
    fn surfaces(&self, path: &Path, map: &PotentialMap) -> Result<(), Failure> {
        let volume = map.volume(self.unit)?;
        let levels = self.levels_of(map);
        for (&level, file) in levels.iter().zip(surface_files(path, &levels)) {
            let surface = isosurface(&volume, level);
            if surface.triangles.is_empty() {
                console::report(&format!(
                    "warning: the potential is {level} {} nowhere",
                    self.unit
                ));
            }
            write_surface(&file, &surface)?;
        }
        Ok(())
    }

    /// Levels that were asked for; else ± half of what nine points of ten stay below.
    fn levels_of(&self, map: &PotentialMap) -> Vec<f64> {
        if !self.levels.is_empty() {
            return self.levels.clone();
        }
        let step = (map.values().len() / 100_000).max(1);
        let values = (0..map.values().len())
            .step_by(step)
            .filter_map(|i| map.values().get(i));
        let mut sizes: Vec<f64> = values.map(|v| (v * self.unit.factor()).abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let level = sizes.get(sizes.len() * 9 / 10).map_or(1.0, |v| 0.5 * v);
        if level > 0.0 {
            let digits = 10_f64.powf(level.log10().floor() - 1.0);
            let round = (level / digits).round() * digits;
            vec![-round, round]
        } else {
            vec![1.0]
        }
    }

    /// Writes a profile across the axis, and its chart beside it.
    pub fn profile(&self, path: &Path, profile: &PotentialProfile) -> Result<(), Failure> {
        let factor = self.unit.factor();
        let axis = self.axis.name();
        let rows = profile.rows();
        let mut text = format!(
            "{axis} (Å),potential ({unit}),standard error ({unit})\n",
            unit = self.unit
        );
        let column = |k: usize, factor: f64| -> Vec<f64> { rows.iter().map(|row| row[k] * factor).collect() };
        let [x, mean, error] = [column(0, 10.0), column(1, factor), column(2, factor)];
        for i in 0..rows.len() {
            let error = if error[i].is_finite() {
                error[i].to_string()
            } else {
                String::new()
            };
            text += &format!("{},{},{error}\n", x[i], mean[i]);
        }
        console::save(path, text.as_bytes())?;
        let chart = Chart::new(
            &self.title,
            Axis::new(&format!("{axis} (Å)")),
            Axis::new(&format!("potential ({})", self.unit)),
        )
        .with(Series::new("mean over the plane", &x, &mean).with_errors(&error));
        console::save(&path.with_extension("png"), &chart.to_png()?)
    }
}

/// The file of every level.
pub fn surface_files(path: &Path, levels: &[f64]) -> Vec<PathBuf> {
    match levels {
        [_] => vec![path.to_path_buf()],
        _ => levels
            .iter()
            .map(|level| with_word(path, &level.to_string()))
            .collect(),
    }
}

fn cube_atoms(subject: &MapSubject) -> Vec<VolumeAtom> {
    let atoms = subject
        .structure
        .atoms
        .iter()
        .zip(&subject.positions)
        .zip(&subject.charges);
    atoms
        .map(|((atom, r), &charge)| VolumeAtom {
            number: debye_io::atomic_number(&atom.element).unwrap_or(0),
            charge,
            position: r.to_array(),
        })
        .collect()
}
