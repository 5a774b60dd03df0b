//! [`Molecule`]: charges and the points of a map, with the potential in double precision at some of them.

use std::sync::OnceLock;

use debye::forces::multilevel::Softening;
use debye::prelude::{MapGrid, PointCharges, Vec3};
use rayon::prelude::*;

use crate::random::Random;
use crate::study::{Input, StudyError};

/// Distance between points, in nm.
pub(super) const SPACING: f64 = 0.05;
/// Charges are this far from every point, in nm: the paper's kernels give infinity on a charge. It is also the radius
/// within which the engine's potential is that of the radius.
pub(super) const EXCLUSION: f64 = 0.2 * SPACING;
/// How far the engine's cut-off reaches, in nm.
pub(super) const CUTOFF: f64 = 1.2;
/// Most points that are compared.
const COMPARED: usize = 2000;

/// How charges lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Anywhere between the points.
    Random,
    /// In a few tight clusters.
    Clustered,
    /// Against the faces, edges and corners of the grid, inside and outside.
    Boundary,
    /// All charges of one sign, next to the first point: sums that lose digits.
    Corner,
}

/// Charges and the points of a map. Points are `shape[0]` along x, which follow one another in memory, then y, then z.
pub struct Molecule {
    shape: [usize; 3],
    /// x, y, z in nm from the first point, and the charge.
    atoms: Vec<[f64; 4]>,
    /// Indices of points that are compared.
    compared: Vec<usize>,
    all: OnceLock<Reference>,
    near: OnceLock<Reference>,
}

/// The potential at the points that are compared, and that of all charges without their signs.
struct Reference {
    values: Vec<f64>,
    largest: f64,
}

/// A map, and which charges it sums.
pub struct Summed {
    /// The potential, in the order of the points.
    pub values: Vec<f32>,
    /// Times this it is in e/nm.
    pub unit: f64,
    /// Whether charges beyond the cut-off, and the smooth part of those within, are left out.
    pub cut: bool,
}

impl Molecule {
    /// So many atoms around a grid of this shape, of no charge in all but for [`Arrangement::Corner`].
    pub fn new(arrangement: Arrangement, shape: [usize; 3], atoms: usize) -> Self {
        let mut random = Random(7);
        let edge = shape.map(|n| n as f64);
        let mut place = |k: usize| -> f64 {
            // In units of the spacing.
            match arrangement {
                Arrangement::Random => random.unit() * edge[k],
                Arrangement::Clustered => {
                    let cluster = (random.unit() * 3.0).floor() * 0.3 + 0.1;
                    (cluster + 0.02 * random.unit()) * edge[k]
                }
                Arrangement::Boundary => {
                    let side = (random.unit() * 3.0).floor();
                    let near = (random.unit() - 0.5) * 1.6;
                    match side as u32 {
                        0 => near,
                        1 => edge[k] - 1.0 + near,
                        _ => random.unit() * edge[k],
                    }
                }
                Arrangement::Corner => 0.5 + 0.3 * random.unit(),
            }
        };
        let mut all: Vec<[f64; 4]> = (0..atoms)
            .map(|i| {
                let mut r = [place(0), place(1), place(2)];
                // Away from the nearest point, along x.
                let off = r.map(|x| x - x.round());
                if off.iter().map(|d| d * d).sum::<f64>() < 0.04 {
                    r[0] = r[0].round() + 0.2_f64.copysign(off[0]) * 1.05;
                }
                // Rounded as the kernels will have them, so that they are not blamed for it.
                let [x, y, z] = r.map(|x| f64::from((x * SPACING) as f32));
                let q = [0.417, -0.834, 0.417][i % 3];
                [x, y, z, f64::from(q as f32)]
            })
            .collect();
        if arrangement == Arrangement::Corner {
            all.iter_mut().for_each(|atom| atom[3] = atom[3].abs());
        }
        let points: usize = shape.iter().product();
        let compared = if points <= COMPARED {
            (0..points).collect()
        } else {
            // The last ones too: where blocks end, padding begins.
            (0..COMPARED - 2)
                .map(|_| random.below(points))
                .chain([0, points - 1])
                .collect()
        };
        Self {
            shape,
            atoms: all,
            compared,
            all: OnceLock::new(),
            near: OnceLock::new(),
        }
    }

    /// Points along x, y, z.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// x, y, z and charge of each atom.
    pub fn atoms(&self) -> &[[f64; 4]] {
        &self.atoms
    }

    /// The grid as the engine has it: its last axis is our x.
    pub fn grid(&self) -> Result<MapGrid, StudyError> {
        let [x, y, z] = self.shape;
        Ok(MapGrid::new([0.0; 3], [SPACING; 3], [z, y, x])?)
    }

    /// The charges as the engine has them.
    pub fn charges(&self) -> Result<PointCharges, StudyError> {
        let places: Vec<_> = self.atoms.iter().map(|a| Vec3::new(a[2], a[1], a[0])).collect();
        let charges: Vec<f64> = self.atoms.iter().map(|a| a[3]).collect();
        Ok(PointCharges::new(&places, &charges)?)
    }

    fn reference(&self, cut: bool) -> &Reference {
        let cell = if cut { &self.near } else { &self.all };
        cell.get_or_init(|| {
            let softening = Softening::for_order(4);
            let term = |r: f64| match cut {
                true if r >= CUTOFF => 0.0,
                true => 1.0 / r - softening.smooth(r, CUTOFF),
                false => 1.0 / r,
            };
            let [nx, ny, _] = self.shape;
            let at = |&index: &usize| {
                let point = [index % nx, index / nx % ny, index / (nx * ny)].map(|i| i as f64 * SPACING);
                self.atoms.iter().fold((0.0, 0.0), |(sum, size), atom| {
                    let r2: f64 = (0..3).map(|k| (point[k] - atom[k]).powi(2)).sum();
                    let v = atom[3] * term(r2.sqrt());
                    (sum + v, size + v.abs())
                })
            };
            let (values, sizes): (Vec<f64>, Vec<f64>) = self.compared.par_iter().map(at).unzip();
            Reference {
                values,
                largest: sizes.into_iter().fold(f64::MIN_POSITIVE, f64::max),
            }
        })
    }
}

impl Input for Molecule {
    type Output = Summed;

    fn label(&self) -> String {
        let [x, y, z] = self.shape;
        format!("{x} × {y} × {z} points, {} atoms", self.atoms.len())
    }

    fn work(&self) -> f64 {
        self.shape.iter().product::<usize>() as f64 * self.atoms.len() as f64
    }

    /// The largest difference, by the largest potential that the charges would make without their signs.
    fn error(&self, output: &Summed) -> f64 {
        if output.values.len() != self.shape.iter().product::<usize>() {
            return f64::NAN;
        }
        let reference = self.reference(output.cut);
        let off = self
            .compared
            .iter()
            .zip(&reference.values)
            .map(|(&i, want)| (f64::from(output.values[i]) * output.unit - want).abs());
        // Not a number is worse than any.
        off.fold(
            0.0,
            |worst: f64, d| if d > worst || d.is_nan() { d } else { worst },
        ) / reference.largest
    }
}
