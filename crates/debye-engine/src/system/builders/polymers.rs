//! Bead–spring chains as random walks that avoid one another.

use std::f64::consts::TAU;

use super::builder::{Bonded, Builder, Dense, Named, Placed, Scale, Setting, Shape};
use super::grid::Grid;
use super::{BuildError, count, positive, push, reserve};
use crate::expr::Vec3;
use crate::random::{Philox, stream};
use crate::system::{Cell, ExclusionRule, Exclusions, Link, System};

/// Places tried for a bead.
const PLACES: u64 = 32;
/// Rounds of pushing apart before giving up, and sweeps in each with one list of close pairs.
const ROUNDS: usize = 200;
const SWEEPS: usize = 10;
/// Relative error of a bond's length once beads were pushed apart.
const TOLERANCE: f64 = 1e-6;

/// Makes chains; see [`polymers`].
pub type PolymerBuilder = Builder<Chains>;

/// Chains of beads.
#[derive(Clone, Debug)]
pub struct Chains {
    chains: usize,
    beads: usize,
    bond_length: f64,
    bond_kind: String,
}

/// Chains of beads in a cubic cell, made for the melt of Kremer & Grest (J. Chem. Phys. 92, 5057 (1990)):
/// bonds of 0.97, beads two bonds apart no closer than 1.02 bond lengths (no folding back), others no
/// closer than a minimum distance.
///
/// Chains are grown one after another, each bead into the first free one of a few places tried or else into
/// the one furthest from its neighbors. What overlaps then is pushed apart, bonds held, until all distances
/// are kept; at the density 0.85 and the distance 0.9 that takes a moment. Where they cannot all be kept
/// (too dense), the best reached is returned. Beads of a chain follow one another and share a molecule
/// number; positions are wrapped into the cell, and images lead back to whole chains.
pub fn polymers(chains: usize, beads: usize) -> PolymerBuilder {
    let mut builder = Builder::new(Chains {
        chains,
        beads,
        bond_length: 0.97,
        bond_kind: "bond".to_owned(),
    });
    builder.setting.minimum_distance = 0.9;
    builder
}

impl Builder<Chains> {
    /// Length of all bonds; 0.97 unless said.
    pub fn bond_length(mut self, length: f64) -> Self {
        self.shape.bond_length = length;
        self
    }

    /// Name of the kind of all bonds; "bond" unless said.
    pub fn bond_kind(mut self, name: &str) -> Self {
        self.shape.bond_kind = name.to_owned();
        self
    }
}

impl Named for Chains {}
impl Dense for Chains {}
impl Placed for Chains {}
impl Bonded for Chains {}

impl Shape for Chains {
    const ONE_SPECIES: bool = true;

    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        let total = count(&[self.chains, self.beads])?;
        let Some(Scale::Density(density)) = setting.scale else {
            return Err(BuildError::MissingScale { what: "polymers" });
        };
        positive("bond length", self.bond_length)?;
        positive("minimum distance", setting.minimum_distance)?;
        let side = (total as f64 / positive("density", density)?).cbrt();
        let cell = Cell::orthorhombic([side; 3])?;
        let mut system = setting.system(setting.species_or_default(), cell)?;
        let mut points = self.grow(setting, cell);
        self.push_apart(setting.minimum_distance, cell, &mut points);
        reserve(&mut system, total);
        for (i, r) in points.into_iter().enumerate() {
            let (inside, image) = cell.wrap(r);
            push(&mut system, inside, 0, (i / self.beads) as u32);
            system.particles.images[i] = image;
        }
        system.topology.bond_kinds = vec![self.bond_kind.clone()];
        system.topology.bonds = self.along(1).map(|atoms| Link { kind: 0, atoms }).collect();
        system.exclusions =
            Exclusions::from_bonds(&system.topology, total, &ExclusionRule::through(setting.exclude))?;
        Ok(system)
    }
}

impl Chains {
    /// Shortest distance allowed between beads two bonds apart.
    fn fold(&self) -> f64 {
        1.02 * self.bond_length
    }

    /// The chains as walks, unwrapped.
    fn grow(&self, setting: &Setting, cell: Cell) -> Vec<Vec3<f64>> {
        let philox = Philox::new(setting.seed);
        let reach = setting.minimum_distance.max(self.bond_length);
        let mut grid = Grid::new(cell, reach, self.chains * self.beads);
        for i in 0..self.chains * self.beads {
            let grown = i % self.beads;
            let before = (grown > 0).then(|| grid.points()[i - 1]);
            let second = (grown > 1).then(|| grid.points()[i - 2]);
            let mut best = (Vec3::zero(), f64::NEG_INFINITY);
            for attempt in 0..PLACES {
                let [u, v, w, _] = philox.uniforms(attempt, i as u32, stream::CHAINS);
                let r = match before {
                    None => cell.position(Vec3::new(u, v, w)),
                    Some(before) => before + direction(u, v) * self.bond_length,
                };
                let folded = second.is_some_and(|s| (r - s).norm2() < self.fold() * self.fold());
                // A place that folds back is better than none, which there always is.
                let skip = before.map(|_| i as u32 - 1);
                let nearest = if folded { -1.0 } else { grid.nearest2(r, skip) };
                if nearest > best.1 {
                    best = (r, nearest);
                }
                if nearest >= setting.minimum_distance * setting.minimum_distance {
                    break;
                }
            }
            grid.push(best.0);
        }
        grid.points().to_vec()
    }

    /// Moves beads until all distances are kept, or patience ends: pairs too close are moved apart by half of
    /// what is missing each, then bonds are set to their length, again and again (Gauss–Seidel, in order).
    fn push_apart(&self, d: f64, cell: Cell, points: &mut [Vec3<f64>]) {
        let fold = self.fold();
        // Ask for a little more than needed, so that it is reached in a finite number of sweeps.
        let (ask, ask_fold) = (d * 1.002, fold * 1.002);
        for _ in 0..ROUNDS {
            let pairs = self.close_pairs(cell, points, 1.25 * d);
            let length = |i: u32, j: u32| cell.minimum_image(points[j as usize] - points[i as usize]).norm();
            let bonds_kept = self.along(1).all(|[i, j]| {
                let error = length(i, j) / self.bond_length - 1.0;
                error.abs() < TOLERANCE
            });
            if bonds_kept
                && pairs.iter().all(|&[i, j]| length(i, j) >= d)
                && self.along(2).all(|[i, j]| length(i, j) >= fold)
            {
                return;
            }
            for _ in 0..SWEEPS {
                for &[i, j] in &pairs {
                    separate(cell, points, [i, j], |r| r.max(ask));
                }
                for pair in self.along(2) {
                    separate(cell, points, pair, |r| r.max(ask_fold));
                }
                for pair in self.along(1) {
                    separate(cell, points, pair, |_| self.bond_length);
                }
            }
        }
    }

    /// Pairs of beads this many bonds apart.
    fn along(&self, bonds: usize) -> impl Iterator<Item = [u32; 2]> + use<> {
        let (chains, beads) = (self.chains, self.beads);
        (0..chains).flat_map(move |chain| {
            (bonds..beads).map(move |k| [chain * beads + k - bonds, chain * beads + k].map(|i| i as u32))
        })
    }

    /// Pairs of beads closer than `reach` that are not bonded.
    fn close_pairs(&self, cell: Cell, points: &[Vec3<f64>], reach: f64) -> Vec<[u32; 2]> {
        let mut grid = Grid::new(cell, reach, points.len());
        let mut pairs = Vec::new();
        for (j, &r) in points.iter().enumerate() {
            grid.visit(r, |i, d| {
                let bonded = i as usize + 1 == j && j % self.beads != 0;
                if !bonded && d.norm2() < reach * reach {
                    pairs.push([i, j as u32]);
                }
            });
            grid.push(r);
        }
        pairs
    }
}

/// Moves two points along their connection until their distance r is `wanted(r)`.
fn separate(cell: Cell, points: &mut [Vec3<f64>], [i, j]: [u32; 2], wanted: impl Fn(f64) -> f64) {
    let d = cell.minimum_image(points[j as usize] - points[i as usize]);
    let r = d.norm();
    let target = wanted(r);
    if target == r {
        return;
    }
    // Points on top of one another part along x.
    let unit = if r > 0.0 {
        d * r.recip()
    } else {
        Vec3::new(1.0, 0.0, 0.0)
    };
    let half = unit * (0.5 * (target - r));
    points[i as usize] -= half;
    points[j as usize] += half;
}

/// A direction uniform on the sphere.
fn direction(u: f64, v: f64) -> Vec3<f64> {
    let z = 2.0 * u - 1.0;
    let rho = (1.0 - z * z).max(0.0).sqrt();
    let (sin, cos) = libm::sincos(TAU * v);
    Vec3::new(rho * cos, rho * sin, z)
}
