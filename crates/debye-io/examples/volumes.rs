//! Writes a map of known values in every format of grids, for `validation/volumes` to open with other programs:
//!
//! `volumes FOLDER` writes the maps; `volumes INPUT OUTPUT` converts one file to another, as their extensions say.
//!
//! `volumes time POINTS FOLDER` says how long a map of POINTS³ takes in each format.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use debye_io::volumes::{Volume, VolumeAtom, VolumeFormat, VolumeValues, read_volume, write_volume};

/// CODATA 2022.
const BOHR_IN_ANGSTROM: f64 = 0.529_177_210_544;
const ORTHOGONAL: [[f64; 3]; 3] = [[0.5, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 0.75]];
const OBLIQUE: [[f64; 3]; 3] = [[0.5, 0.0, 0.0], [0.125, 0.375, 0.0], [-0.25, 0.0625, 0.75]];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [folder] => write_all(Path::new(folder)),
        [input, output] => Ok(write_volume(output, &read_volume(input)?)?),
        [time, points, folder] if time == "time" => time_all(points.parse()?, Path::new(folder)),
        _ => Err("usage: volumes FOLDER | volumes INPUT OUTPUT | volumes time POINTS FOLDER".into()),
    }
}

/// The value at indices (i, j, k), which the script computes too.
fn value(i: usize, j: usize, k: usize) -> f64 {
    (100 * i + 10 * j + k) as f64 / 7.0 - 30.0
}

fn map(
    shape: [usize; 3],
    origin: [f64; 3],
    steps: [[f64; 3]; 3],
    single: bool,
) -> Result<Volume, Box<dyn Error>> {
    let [nx, ny, nz] = shape;
    let points = (0..nx).flat_map(|i| (0..ny).flat_map(move |j| (0..nz).map(move |k| value(i, j, k))));
    let values = VolumeValues::F64(points.collect());
    let values = if single { values.into_f32().into() } else { values };
    let volume = Volume::new(shape, origin, steps, values)?;
    Ok(volume.with_title("a map of the Debye validation"))
}

/// `NAME-f32.EXTENSION` and `NAME-f64.EXTENSION`, in the unit of each format where these lengths are in Å.
fn write_all(folder: &Path) -> Result<(), Box<dyn Error>> {
    let cases = [
        ("orthogonal", [-3.0, 1.5, 7.5], ORTHOGONAL),
        ("between", [-3.1, 1.6, 7.7], ORTHOGONAL),
        ("oblique", [-3.0, 1.5, 7.5], OBLIQUE),
    ];
    for (name, origin, steps) in cases {
        for (precision, single) in [("f32", true), ("f64", false)] {
            let volume = map([5, 7, 18], origin, steps, single)?;
            for format in VolumeFormat::ALL {
                let scaled = match format {
                    VolumeFormat::Cube => with_water(&volume)?.with_lengths_scaled(1.0 / BOHR_IN_ANGSTROM)?,
                    _ => volume.clone(),
                };
                for extension in format.extensions() {
                    for packing in ["", ".gz", ".bz2"] {
                        let file = format!("{name}-{precision}.{extension}{packing}");
                        write_volume(folder.join(file), &scaled)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn with_water(volume: &Volume) -> Result<Volume, Box<dyn Error>> {
    let atom = |number, charge, position| VolumeAtom {
        number,
        charge,
        position,
    };
    let atoms = vec![
        atom(8, -0.8476, [-2.0, 2.0, 9.0]),
        atom(1, 0.4238, [-1.0, 2.0, 9.0]),
        atom(1, 0.4238, [-2.333, 2.943, 9.0]),
    ];
    Ok(volume.clone().with_atoms(atoms)?)
}

fn time_all(points: usize, folder: &Path) -> Result<(), Box<dyn Error>> {
    let volume = map([points; 3], [0.0; 3], ORTHOGONAL, true)?;
    for extension in ["dx", "mrc", "cube", "npy", "mrc.gz"] {
        let path = folder.join(format!("time.{extension}"));
        let start = Instant::now();
        write_volume(&path, &volume)?;
        let (written, bytes) = (start.elapsed().as_secs_f64(), std::fs::metadata(&path)?.len());
        print!("{extension:8} {bytes:12} bytes, written in {written:7.3} s");
        if VolumeFormat::from_path(&path)?.is_readable() {
            let start = Instant::now();
            let read = read_volume(&path)?;
            print!(
                ", {} values read in {:7.3} s",
                read.values().len(),
                start.elapsed().as_secs_f64()
            );
        }
        println!();
        std::fs::remove_file(&path)?;
    }
    Ok(())
}
