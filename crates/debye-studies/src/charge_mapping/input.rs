//! [`Sites`]: charges in mesh units and the mesh they are mapped to, with the mesh in double precision.

use std::sync::OnceLock;

use debye::engines::cuda::mesh::MeshShape;
use debye::forces::pme::{Basis, cubic};
use debye::io::{read_pqr, unpack};
use debye::prelude::Vec3;
use rayon::prelude::*;

use crate::charges::Charges;
use crate::random::Random;
use crate::study::{Input, StudyError};

/// Particles per Å³ of a condensed system, as the paper has it.
const DENSITY: f64 = 0.1;
/// The mesh of the paper's benchmarks: §I speaks of 32³ for 90,000 particles, and 32³ threads write 1024 times as warps,
/// where Table III has 1022 stores.
pub(super) const PAPER_MESH: [usize; 3] = [32; 3];
/// Particles for each point of synthetic sets: those of ApoA1 on the paper's mesh.
const EACH: f64 = 92_224.0 / 32_768.0;
/// Edges of ApoA1 along x, y, z, in Å.
const APOA1_EDGES: [f64; 3] = [108.8612, 108.8612, 77.758];
/// Particles of the DMPC benchmark.
const DMPC: usize = 68_000;
/// Parts that the reference is summed in.
const PARTS: usize = 4;

/// How charges lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Anywhere.
    Random,
    /// In a few clusters, each wider than a cell of the mesh.
    Clustered,
    /// Against the faces, edges and corners, and on points.
    Boundary,
    /// All charges of one sign, a tenth of them in one cell: bins overflow and sums lose digits.
    Overflow,
}

/// Charges, and a periodic mesh. Points along x follow one another in memory, then y, then z.
pub struct Sites {
    name: String,
    size: [usize; 3],
    edges: [f64; 3],
    particles: Vec<[f32; 4]>,
    crowd: usize,
    reference: OnceLock<Reference>,
}

/// The mesh, and the largest point of the mesh of charges without signs.
struct Reference {
    values: Vec<f64>,
    largest: f64,
}

impl Sites {
    /// Places in units of the mesh, from 0 to its size, and charges; `edges` of the cell in Å.
    fn new(name: String, size: [usize; 3], edges: [f64; 3], mut particles: Vec<[f32; 4]>) -> Self {
        for particle in &mut particles {
            for k in 0..3 {
                let n = size[k] as f32;
                let inside = particle[k].rem_euclid(n);
                // Rounding may end on the upper face, which is the lower one.
                particle[k] = if inside >= n { 0.0 } else { inside };
            }
        }
        let mut counts = vec![0_usize; size.iter().product()];
        particles.iter().for_each(|p| counts[bin(size, p)] += 1);
        Self {
            crowd: counts.into_iter().max().unwrap_or(0),
            name,
            size,
            edges,
            particles,
            reference: OnceLock::new(),
        }
    }

    /// So many charges of water, arranged somehow around a mesh of this size.
    pub fn synthetic(arrangement: Arrangement, size: [usize; 3], particles: usize) -> Self {
        let mut random = Random(11);
        let all = (0..particles).map(|i| {
            let middle = (random.unit() * 3.0).floor() * 0.3 + 0.15;
            let crowded = i % 10 == 0;
            let place = |k: usize| {
                let (n, u) = (size[k] as f64, random.unit());
                match arrangement {
                    Arrangement::Random => u * n,
                    Arrangement::Clustered => (middle + 0.1 * u) * n,
                    Arrangement::Boundary => match random.below(4) {
                        0 => 0.3 * u,
                        1 => n - 0.3 * u,
                        2 => (u * n).floor(),
                        _ => u * n,
                    },
                    Arrangement::Overflow if crowded => 1.0 + 0.9 * u,
                    Arrangement::Overflow => u * n,
                }
            };
            let [x, y, z] = [0, 1, 2].map(place);
            let q = [-0.834, 0.417, 0.417][i % 3];
            let q = if arrangement == Arrangement::Overflow {
                0.417
            } else {
                q
            };
            [x as f32, y as f32, z as f32, q as f32]
        });
        let all = all.collect();
        let name = format!("{arrangement:?}").to_lowercase();
        let edge = (particles as f64 / DENSITY).cbrt();
        Self::new(name, size, [edge; 3], all)
    }

    /// A synthetic set of the paper's density with as many charges for each point as ApoA1 has on the paper's mesh.
    pub fn liquid(particles: usize) -> Self {
        let n = ((particles as f64 / EACH).cbrt().round() as usize).max(4);
        let sites = Self::synthetic(Arrangement::Random, [n; 3], particles);
        Self {
            name: "synthetic".into(),
            ..sites
        }
    }

    /// A synthetic set of the size of the paper's DMPC, which is not public.
    pub fn dmpc() -> Self {
        let sites = Self::synthetic(Arrangement::Random, PAPER_MESH, DMPC);
        Self {
            name: "synthetic for DMPC".into(),
            ..sites
        }
    }

    /// The ApoA1 benchmark on a mesh of this size.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn apoa1(size: [usize; 3]) -> Result<Self, StudyError> {
        let packed = &include_bytes!("../../../../examples/maps/apoa1.pqr.xz")[..];
        let text = unpack(packed).map_err(StudyError::other)?;
        let structure = read_pqr(text, "apoa1.pqr.xz").map_err(StudyError::other)?;
        let particles = structure.atoms.iter().zip(&structure.frame.positions);
        let particles = particles.map(|(atom, r)| {
            let [x, y, z]: [f64; 3] = std::array::from_fn(|k| r[k] / APOA1_EDGES[k] * size[k] as f64);
            // Wrapped before it is rounded.
            let [x, y, z] = [(x, 0), (y, 1), (z, 2)].map(|(u, k)| u.rem_euclid(size[k] as f64) as f32);
            [x, y, z, atom.charge.unwrap_or(0.0) as f32]
        });
        Ok(Self::new("ApoA1".into(), size, APOA1_EDGES, particles.collect()))
    }

    /// The same charges and a mesh with these points along x, y, z.
    pub(super) fn on_mesh(&self, size: [usize; 3]) -> Self {
        let (positions, charges) = self.positions();
        let mut finer = Self::new(self.name.clone(), size, self.edges, Vec::new());
        finer.particles = finer.in_mesh_units(&positions, &charges);
        finer
    }

    /// Points along x, y, z.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Points, and bins.
    pub fn points(&self) -> usize {
        self.size.iter().product()
    }

    /// x, y, z in units of the mesh, and the charge.
    pub fn particles(&self) -> &[[f32; 4]] {
        &self.particles
    }

    /// Particles of the fullest bin.
    pub fn crowd(&self) -> usize {
        self.crowd
    }

    /// The number of the bin of each particle.
    pub(super) fn bins(&self) -> impl Iterator<Item = usize> {
        self.particles.iter().map(|p| bin(self.size, p))
    }

    /// The mesh as the engine has it: its last axis is our x.
    pub fn shape(&self) -> MeshShape {
        let [x, y, z] = self.size.map(|n| n as u32);
        MeshShape {
            size: [z, y, x],
            basis: Basis::Cubic,
        }
    }

    /// Edges of the cell as the engine has it, in nm.
    pub fn cell_edges(&self) -> [f64; 3] {
        let [x, y, z] = self.edges.map(|edge| 0.1 * edge);
        [z, y, x]
    }

    /// Positions in nm and charges, as the engine has them.
    pub fn positions(&self) -> (Vec<Vec3<f64>>, Vec<f64>) {
        let at = |p: &[f32; 4], k: usize| f64::from(p[k]) / self.size[k] as f64 * 0.1 * self.edges[k];
        let place = |p: &[f32; 4]| Vec3::new(at(p, 2), at(p, 1), at(p, 0));
        let places = self.particles.iter().map(place).collect();
        let charges = self.particles.iter().map(|p| f64::from(p[3])).collect();
        (places, charges)
    }

    /// The same in units of the mesh, found from positions as a simulation has them.
    pub(super) fn in_mesh_units(&self, positions: &[Vec3<f64>], charges: &[f64]) -> Vec<[f32; 4]> {
        let per: [f64; 3] = std::array::from_fn(|k| 10.0 / self.edges[k]);
        let along = |x: f64, k: usize| {
            let (fraction, n) = (x * per[k], self.size[k] as f64);
            let u = ((fraction - fraction.floor()) * n) as f32;
            if u >= n as f32 { 0.0 } else { u }
        };
        let place = |(r, q): (&Vec3<f64>, &f64)| [along(r.z, 0), along(r.y, 1), along(r.x, 2), *q as f32];
        positions.iter().zip(charges).map(place).collect()
    }

    /// The same as fractions of the cell.
    pub fn charges(&self) -> Charges {
        let fraction = |p: &[f32; 4], k: usize| {
            let all = f64::from(p[k]) / self.size[k] as f64 * 4_294_967_296.0;
            // The upper face is the lower one.
            all.round() as u64 as u32
        };
        Charges {
            places: self
                .particles
                .iter()
                .map(|p| [fraction(p, 2), fraction(p, 1), fraction(p, 0)])
                .collect(),
            charges: self.particles.iter().map(|p| f64::from(p[3])).collect(),
        }
    }

    fn reference(&self) -> &Reference {
        self.reference.get_or_init(|| {
            let [values, sizes] = self.sums(|part| [part, part.abs()]);
            Reference {
                values,
                largest: sizes.into_iter().fold(f64::MIN_POSITIVE, f64::max),
            }
        })
    }

    /// The mesh in double precision.
    pub(super) fn exact(&self) -> &[f64] {
        &self.reference().values
    }

    /// The mesh with what every charge gives to a point rounded to a whole number of 2^−places.
    pub(super) fn rounded(&self, places: i32) -> Vec<f64> {
        let (scale, unit) = (2_f64.powi(places), 2_f64.powi(-places));
        let [values] = self.sums(|part| [(part * scale).round_ties_even() * unit]);
        values
    }

    /// The largest point of the mesh of charges without signs.
    pub(super) fn largest(&self) -> f64 {
        self.reference().largest
    }

    /// The largest difference between the mesh and another; not a number where a point is none.
    pub(super) fn off(&self, mesh: impl IntoIterator<Item = f64>) -> f64 {
        farthest(mesh, &self.reference().values)
    }

    /// Meshes of what a function makes of each part of Eq. 1.
    fn sums<const N: usize>(&self, of: impl Fn(f64) -> [f64; N] + Sync) -> [Vec<f64>; N] {
        let zeros = || -> [Vec<f64>; N] { std::array::from_fn(|_| vec![0.0; self.points()]) };
        let part = self.particles.len().div_ceil(PARTS).max(1);
        let summed = self.particles.par_chunks(part).map(|part| {
            let mut meshes = zeros();
            part.iter().for_each(|p| self.add(p, &of, &mut meshes));
            meshes
        });
        let mut all = zeros();
        for meshes in summed.collect::<Vec<_>>() {
            for (to, from) in all.iter_mut().zip(meshes) {
                to.iter_mut().zip(from).for_each(|(a, b)| *a += b);
            }
        }
        all
    }

    /// Eq. 1 for one particle in double precision.
    fn add<const N: usize>(
        &self,
        particle: &[f32; 4],
        of: &impl Fn(f64) -> [f64; N],
        meshes: &mut [Vec<f64>; N],
    ) {
        let along: [([usize; 4], [f64; 4]); 3] = std::array::from_fn(|k| {
            let (n, x) = (self.size[k], f64::from(particle[k]));
            let points = std::array::from_fn(|w| (x.floor() as usize + n + w - 1) % n);
            (points, cubic(x - x.floor()).0)
        });
        let [x, y, z] = along;
        let q = f64::from(particle[3]);
        for k in 0..4 {
            for j in 0..4 {
                let row = (z.0[k] * self.size[1] + y.0[j]) * self.size[0];
                for i in 0..4 {
                    let parts = of(q * z.1[k] * y.1[j] * x.1[i]);
                    for (mesh, part) in meshes.iter_mut().zip(parts) {
                        mesh[row + x.0[i]] += part;
                    }
                }
            }
        }
    }
}

/// The largest difference of two meshes. Not a number is worse than any.
pub(super) fn farthest(mesh: impl IntoIterator<Item = f64>, from: &[f64]) -> f64 {
    let worse = |worst: f64, d: f64| if d > worst || d.is_nan() { d } else { worst };
    let off = mesh.into_iter().zip(from);
    off.map(|(a, b)| (a - b).abs()).fold(0.0, worse)
}

/// The bin of a particle: the point at or below it.
pub(super) fn bin(size: [usize; 3], particle: &[f32; 4]) -> usize {
    let [x, y, z] = [0, 1, 2].map(|k| particle[k] as usize);
    (z * size[1] + y) * size[0] + x
}

impl Input for Sites {
    type Output = Vec<f32>;

    fn label(&self) -> String {
        let [x, y, z] = self.size;
        let number = self.particles.len();
        format!("{}, {number} particles on {x} × {y} × {z}", self.name)
    }

    fn work(&self) -> f64 {
        self.particles.len() as f64
    }

    /// The largest difference, by the largest point of the mesh of charges without signs.
    fn error(&self, mesh: &Vec<f32>) -> f64 {
        if mesh.len() != self.points() {
            return f64::NAN;
        }
        self.off(mesh.iter().copied().map(f64::from)) / self.largest()
    }
}
