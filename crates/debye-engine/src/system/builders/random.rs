//! Particles at random places, none too close to another.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::builder::{Builder, Placed, Setting, Shape};
use super::grid::Grid;
use super::{BuildError, count, push, reserve};
use crate::expr::Vec3;
use crate::random::{Philox, stream};
use crate::system::{Cell, System};

/// Makes a random arrangement; see [`random`].
pub type RandomBuilder = Builder<Scatter>;

/// Particles at random places of a cell.
#[derive(Clone, Debug)]
pub struct Scatter {
    cell: Cell,
    counts: Vec<usize>,
    attempts: u32,
}

/// Particles placed one after another, uniformly in the cell, each at least a minimum distance from all
/// before it. Particles of a species follow one another, in the order of the calls of
/// [`RandomBuilder::add`]. The arrangement follows from the seed.
pub fn random(cell: Cell) -> RandomBuilder {
    let mut builder = Builder::new(Scatter {
        cell,
        counts: Vec::new(),
        attempts: 20_000,
    });
    builder.setting.periodic = cell.periodic();
    builder
}

impl Builder<Scatter> {
    /// Adds particles of a new species.
    pub fn add(mut self, count: usize, name: &str, mass: f64, charge: f64) -> Self {
        self.shape.counts.push(count);
        self.setting.add_species(name, mass, charge);
        self
    }

    /// How many places to try for one particle before giving up; 20 000 unless said.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.shape.attempts = attempts;
        self
    }
}

impl Placed for Scatter {}

impl Shape for Scatter {
    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        let d = setting.minimum_distance;
        if !(d.is_finite() && d >= 0.0) {
            return Err(BuildError::Invalid {
                what: "minimum distance",
                value: d,
                expected: "zero or a positive number",
            });
        }
        let wanted = self.counts.iter().fold(0usize, |sum, &n| sum.saturating_add(n));
        count(&[wanted])?;
        let fraction = wanted as f64 * PI / 6.0 * d.powi(3) / self.cell.volume();
        let does_not_fit = |placed, attempts| BuildError::DoesNotFit {
            placed,
            wanted,
            minimum_distance: d,
            attempts,
            fraction,
        };
        // Nothing periodic is denser than close packing, π/√18.
        if self.cell.periodic() == [true; 3] && fraction > PI / 3.0 * FRAC_1_SQRT_2 {
            return Err(does_not_fit(0, 0));
        }
        let mut system = setting.system(setting.species.clone(), self.cell)?;
        reserve(&mut system, wanted);
        let philox = Philox::new(setting.seed);
        let mut grid = Grid::new(self.cell, d.max(f64::MIN_POSITIVE), wanted);
        for (kind, &n) in self.counts.iter().enumerate() {
            for _ in 0..n {
                let index = grid.len() as u32;
                let place = (0..self.attempts).find_map(|attempt| {
                    let [x, y, z, _] = philox.uniforms(u64::from(attempt), index, stream::PLACES);
                    let r = self.cell.position(Vec3::new(x, y, z));
                    (d == 0.0 || grid.nearest2(r, None) >= d * d).then_some(r)
                });
                let Some(r) = place else {
                    return Err(does_not_fit(grid.len(), self.attempts));
                };
                grid.push(r);
                push(&mut system, r, kind, index);
            }
        }
        Ok(system)
    }
}
