//! [`PotentialMap`]: the values, and files of them.

use std::path::{Path, PathBuf};

use debye_io::volumes::{Volume, VolumeAtom, VolumeFormat, VolumeValues, read_volume, write_volume};

use super::{MapError, MapGrid, PotentialUnit};

/// Ångströms in a nanometer.
const ANGSTROM: f64 = 10.0;
/// Bohr radii in a nanometer (CODATA 2018).
const BOHR: f64 = 1.0 / 0.052_917_721_090_3;

/// The electrostatic potential at every point of a grid, in kJ/mol/e.
#[derive(Clone, Debug)]
pub struct PotentialMap {
    grid: MapGrid,
    values: VolumeValues,
    method: String,
}

impl PotentialMap {
    /// Values in kJ/mol/e, x slowest; how they were found goes into the title of files.
    pub fn new(grid: MapGrid, values: VolumeValues, method: impl Into<String>) -> Result<Self, MapError> {
        if values.len() != grid.points() {
            return Err(MapError::Lengths(grid.points(), values.len()));
        }
        Ok(Self {
            grid,
            values,
            method: method.into(),
        })
    }

    /// A map that is in a file (`.dx`): its values are in the unit that its title names, else in this one.
    pub fn read(path: &Path, unit: PotentialUnit) -> Result<Self, MapError> {
        let volume = read_volume(path)?;
        let steps = volume.steps();
        let along = |k: usize| (0..3).all(|c| c == k || steps[k][c] == 0.0);
        if !(0..3).all(along) {
            return Err(MapError::Oblique);
        }
        // An axis of one point may have no step.
        let spacing = std::array::from_fn(|k| {
            if steps[k][k] > 0.0 {
                steps[k][k] / ANGSTROM
            } else {
                0.1
            }
        });
        let grid = MapGrid::new(volume.origin().map(|x| x / ANGSTROM), spacing, volume.shape())?;
        let title = volume.title().to_owned();
        let per = 1.0 / PotentialUnit::of_title(&title).unwrap_or(unit).factor();
        let values = volume.into_values().into_f64().into_iter().map(|v| v * per);
        Self::new(grid, VolumeValues::F64(values.collect()), title)
    }

    /// Where the points are.
    pub fn grid(&self) -> &MapGrid {
        &self.grid
    }

    /// The potential in kJ/mol/e, x slowest.
    pub fn values(&self) -> &VolumeValues {
        &self.values
    }

    /// The potential at a point; NaN where there is none.
    pub fn value(&self, point: [usize; 3]) -> f64 {
        let inside = (0..3).all(|k| point[k] < self.grid.shape()[k]);
        let value = inside.then(|| self.values.get(self.grid.index(point))).flatten();
        value.unwrap_or(f64::NAN)
    }

    /// How it was found, in words.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The smallest and the largest value.
    pub fn range(&self) -> [f64; 2] {
        let values = (0..self.values.len()).filter_map(|i| self.values.get(i));
        values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| {
            [low.min(v), high.max(v)]
        })
    }

    /// As a volume with lengths in Å and values in a unit.
    pub fn volume(&self, unit: PotentialUnit) -> Result<Volume, MapError> {
        let factor = unit.factor();
        let values = match &self.values {
            VolumeValues::F32(values) => {
                VolumeValues::F32(values.iter().map(|&v| (f64::from(v) * factor) as f32).collect())
            }
            VolumeValues::F64(values) => VolumeValues::F64(values.iter().map(|v| v * factor).collect()),
        };
        let spacing = self.grid.spacing() * ANGSTROM;
        let steps = [
            [spacing.x, 0.0, 0.0],
            [0.0, spacing.y, 0.0],
            [0.0, 0.0, spacing.z],
        ];
        let origin = (self.grid.origin() * ANGSTROM).to_array();
        let how = self.method.rsplit("; ").next().unwrap_or_default();
        let mut title = format!("electrostatic potential, {}", unit.described());
        if !how.is_empty() {
            title += "; ";
            title += how;
        }
        Ok(Volume::new(self.grid.shape(), origin, steps, values)?.with_title(title))
    }

    /// Writes it; the extension says the format: `.dx`, `.mrc`, `.ccp4`, `.map`, `.cube`, `.npy`.
    pub fn save(&self, path: &Path, unit: PotentialUnit) -> Result<(), MapError> {
        save_volume(path, self.volume(unit)?)
    }

    /// The same with atoms, which cube files hold: atomic number, charge, position in nm.
    pub fn save_with_atoms(
        &self,
        path: &Path,
        unit: PotentialUnit,
        atoms: Vec<VolumeAtom>,
    ) -> Result<(), MapError> {
        let mut atoms = atoms;
        for atom in &mut atoms {
            atom.position = atom.position.map(|x| x * ANGSTROM);
        }
        save_volume(path, self.volume(unit)?.with_atoms(atoms)?)
    }
}

/// Writes a volume with lengths in Å in the unit of the format.
fn save_volume(path: &Path, volume: Volume) -> Result<(), MapError> {
    let volume = match VolumeFormat::from_path(path)? {
        VolumeFormat::Cube => volume.with_lengths_scaled(BOHR / ANGSTROM)?,
        _ => volume,
    };
    Ok(write_volume(path, &volume)?)
}

/// The same name with a word before the extension, and before that of a compression.
pub fn with_word(path: &Path, word: &str) -> PathBuf {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let packed = ["gz", "bz2", "xz", "zst"]
        .iter()
        .find(|e| name.ends_with(&format!(".{e}")));
    let plain = packed.map_or(name, |e| &name[..name.len() - e.len() - 1]);
    let (stem, extension) = plain.rsplit_once('.').unwrap_or((plain, ""));
    let packed = packed.map_or(String::new(), |e| format!(".{e}"));
    path.with_file_name(format!("{stem}.{word}.{extension}{packed}"))
}
