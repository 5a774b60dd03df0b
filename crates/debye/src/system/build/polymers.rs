//! Bead–spring chains as random walks that avoid one another.

use std::f64::consts::TAU;

use super::grid::Grid;
use super::{BuildError, Setting, count, positive, push, reserve, thermalised};
use crate::expr::Vec3;
use crate::random::{Philox, stream};
use crate::system::{Cell, ExclusionRule, Exclusions, Link, System, Units};

/// Directions tried for a bead before the chain steps back.
const DIRECTIONS: u64 = 64;

/// Makes chains; see [`polymers`].
#[derive(Clone, Debug)]
#[must_use]
pub struct PolymerBuilder {
    chains: usize,
    beads: usize,
    density: Option<f64>,
    bond_length: f64,
    minimum_distance: f64,
    bond_kind: String,
    exclude: u32,
    seed: u64,
    setting: Setting,
}

/// Chains of beads in a cubic cell, made for the melt of Kremer & Grest (J. Chem. Phys. 92, 5057 (1990)):
/// bonds of 0.97, beads two bonds apart no closer than 1.02 bond lengths (no folding back), others no
/// closer than a minimum distance.
///
/// A chain that runs into others steps back and tries again, further and further. A bead that still finds
/// no room takes the place furthest from its neighbours, so the minimum distance is kept where possible;
/// at the density 0.85 and the distance 0.8 it is kept throughout. Beads of a chain follow one another and
/// share a molecule number; positions are wrapped into the cell, and images lead back to whole chains.
pub fn polymers(chains: usize, beads: usize) -> PolymerBuilder {
    PolymerBuilder {
        chains,
        beads,
        density: None,
        bond_length: 0.97,
        minimum_distance: 0.8,
        bond_kind: "bond".to_owned(),
        exclude: 0,
        seed: 0,
        setting: Setting::default(),
    }
}

impl PolymerBuilder {
    /// Number density of beads.
    pub fn density(mut self, density: f64) -> Self {
        self.density = Some(density);
        self
    }

    /// Length of all bonds; 0.97 unless said.
    pub fn bond_length(mut self, length: f64) -> Self {
        self.bond_length = length;
        self
    }

    /// Beads that are not bonded are no closer than this where possible; 0.8 unless said.
    pub fn minimum_distance(mut self, distance: f64) -> Self {
        self.minimum_distance = distance;
        self
    }

    /// Name of the kind of all bonds; "bond" unless said.
    pub fn bond_kind(mut self, name: &str) -> Self {
        self.bond_kind = name.to_owned();
        self
    }

    /// Excludes pairs up to this many bonds apart from the pair terms; none unless said.
    pub fn exclude(mut self, bonds: u32) -> Self {
        self.exclude = bonds;
        self
    }

    /// Seed of the walks; 0 unless said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Unit system of the numbers given and made; Lennard-Jones unless said.
    pub fn units(mut self, units: Units) -> Self {
        self.setting.units = units;
        self
    }

    /// The species of all beads; mass 1 and charge 0 unless said.
    pub fn species(mut self, name: &str, mass: f64, charge: f64) -> Self {
        self.setting.species.clear();
        self.setting.add_species(name, mass, charge);
        self
    }

    /// The chains at rest.
    pub fn build(self) -> Result<System, BuildError> {
        let total = count(&[self.chains, self.beads])?;
        let density = self
            .density
            .ok_or(BuildError::MissingScale { what: "polymers" })?;
        positive("bond length", self.bond_length)?;
        positive("minimum distance", self.minimum_distance)?;
        let side = (total as f64 / positive("density", density)?).cbrt();
        let cell = Cell::orthorhombic([side; 3])?;
        let mut system = self.setting.system(self.setting.species_or_default(), cell)?;
        let mut walk = Walk {
            builder: &self,
            cell,
            philox: Philox::new(self.seed),
            grid: Grid::new(cell, self.minimum_distance.max(self.bond_length), total),
        };
        for chain in 0..self.chains {
            walk.grow(chain);
        }
        reserve(&mut system, total);
        for (i, r) in walk.grid.into_points().into_iter().enumerate() {
            let (inside, image) = cell.wrap(r);
            push(&mut system, inside, 0, (i / self.beads) as u32);
            system.particles.images[i] = image;
        }
        system.topology.bond_kinds = vec![self.bond_kind.clone()];
        system.topology.bonds = (0..total as u32)
            .filter(|i| (*i as usize + 1) % self.beads != 0)
            .map(|i| Link {
                kind: 0,
                atoms: [i, i + 1],
            })
            .collect();
        system.exclusions =
            Exclusions::from_bonds(&system.topology, total, &ExclusionRule::through(self.exclude))?;
        Ok(system)
    }

    /// The chains with velocities of this temperature.
    pub fn thermalise(self, temperature: f64, seed: u64) -> Result<System, BuildError> {
        thermalised(self.build(), temperature, seed)
    }
}

/// The chains grown so far, unwrapped.
struct Walk<'a> {
    builder: &'a PolymerBuilder,
    cell: Cell,
    philox: Philox,
    grid: Grid,
}

impl Walk<'_> {
    /// Adds a chain.
    fn grow(&mut self, chain: usize) {
        let beads = self.builder.beads;
        let first = self.grid.len();
        let (mut draw, mut longest, mut failures) = (0, 0, 0);
        let mut patience = 1000 + 20 * beads;
        while self.grid.len() < first + beads {
            let grown = self.grid.len() - first;
            let (place, kept) = self.place(chain, grown, &mut draw);
            if kept || patience == 0 {
                self.grid.push(place);
                if grown >= longest {
                    (longest, failures) = (grown + 1, 0);
                }
                continue;
            }
            patience -= 1;
            let back = grown.min(1 << failures.min(20));
            failures += 1;
            for _ in 0..back {
                self.grid.pop();
            }
        }
    }

    /// A place for bead `grown` of the chain: the first that keeps all distances, or, with `false`, the
    /// one furthest from its nearest neighbour.
    fn place(&self, chain: usize, grown: usize, draw: &mut u64) -> (Vec3<f64>, bool) {
        let b = self.builder;
        let d2 = b.minimum_distance * b.minimum_distance;
        let fold = 1.02 * b.bond_length;
        let before = self.grid.last(0).filter(|_| grown > 0);
        let skip = before.map(|_| self.grid.len() as u32 - 1);
        let second = self.grid.last(1).filter(|_| grown > 1);
        let mut best = (Vec3::zero(), f64::NEG_INFINITY);
        for _ in 0..DIRECTIONS {
            let [u, v, w, _] = self.philox.uniforms(*draw, chain as u32, stream::CHAINS);
            *draw += 1;
            let r = match before {
                None => self.cell.position(Vec3::new(u, v, w)),
                Some(before) => before + direction(u, v) * b.bond_length,
            };
            if second.is_some_and(|second| (r - second).norm2() < fold * fold) {
                continue;
            }
            let nearest = self.grid.nearest2(r, skip);
            if nearest >= d2 {
                return (r, true);
            }
            if nearest > best.1 {
                best = (r, nearest);
            }
        }
        (best.0, false)
    }
}

/// A direction uniform on the sphere.
fn direction(u: f64, v: f64) -> Vec3<f64> {
    let z = 2.0 * u - 1.0;
    let rho = (1.0 - z * z).max(0.0).sqrt();
    let (sin, cos) = libm::sincos(TAU * v);
    Vec3::new(rho * cos, rho * sin, z)
}
