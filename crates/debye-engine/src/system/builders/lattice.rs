//! Crystals: conventional cells repeated along x, y and z.

use super::builder::{Builder, Dense, Named, OnLattice, Setting, Shape};
use super::{BuildError, count, push, reserve};
use crate::expr::Vec3;
use crate::system::{Cell, System, Units};

/// A crystal structure, by its conventional (right-angled) cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lattice {
    /// Simple cubic, one particle per cell.
    Sc,
    /// Body-centerd cubic, two.
    Bcc,
    /// Face-centerd cubic, four.
    Fcc,
    /// Hexagonal close-packed with the ideal c/a, four in a cell of sides a, √3 a, √(8/3) a.
    Hcp,
    /// Diamond, eight.
    Diamond,
    /// Rock salt (NaCl), four of each of two species.
    RockSalt,
    /// Caesium chloride, one of each of two species.
    CsCl,
    /// Zinc blende (ZnS), four of each of two species.
    ZincBlende,
}

/// A site: its species and its place in the cell, as fractions of the cell's sides.
pub(super) type Site = (usize, [f64; 3]);

impl Lattice {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Sc,
        Self::Bcc,
        Self::Fcc,
        Self::Hcp,
        Self::Diamond,
        Self::RockSalt,
        Self::CsCl,
        Self::ZincBlende,
    ];

    /// Sides of the conventional cell in units of the spacing a.
    pub fn sides(self) -> [f64; 3] {
        match self {
            Self::Hcp => [1.0, 3f64.sqrt(), (8.0 / 3.0f64).sqrt()],
            _ => [1.0; 3],
        }
    }

    /// Particles in a conventional cell.
    pub fn particles_per_cell(self) -> usize {
        self.sites().len()
    }

    /// How many species it is made of.
    pub fn species_count(self) -> usize {
        match self {
            Self::RockSalt | Self::CsCl | Self::ZincBlende => 2,
            _ => 1,
        }
    }

    /// Distance of nearest neighbors in units of the spacing a.
    pub fn nearest_neighbor(self) -> f64 {
        match self {
            Self::Sc | Self::Hcp => 1.0,
            Self::Bcc | Self::CsCl => 3f64.sqrt() / 2.0,
            Self::Fcc => 0.5f64.sqrt(),
            Self::Diamond | Self::ZincBlende => 3f64.sqrt() / 4.0,
            Self::RockSalt => 0.5,
        }
    }

    /// Sites of a cell in order. Two species alternate, so that any even number of particles of a
    /// salt, counted from the first, is neutral.
    pub(super) fn sites(self) -> &'static [Site] {
        const H: f64 = 0.5;
        const Q: f64 = 0.25;
        const T: f64 = 0.75;
        match self {
            Self::Sc => &[(0, [0.0; 3])],
            Self::Bcc => &[(0, [0.0; 3]), (0, [H; 3])],
            Self::Fcc => &[
                (0, [0.0, 0.0, 0.0]),
                (0, [H, H, 0.0]),
                (0, [H, 0.0, H]),
                (0, [0.0, H, H]),
            ],
            Self::Hcp => &[
                (0, [0.0, 0.0, 0.0]),
                (0, [H, H, 0.0]),
                (0, [H, 5.0 / 6.0, H]),
                (0, [0.0, 1.0 / 3.0, H]),
            ],
            Self::Diamond => &[
                (0, [0.0, 0.0, 0.0]),
                (0, [H, H, 0.0]),
                (0, [H, 0.0, H]),
                (0, [0.0, H, H]),
                (0, [Q, Q, Q]),
                (0, [T, T, Q]),
                (0, [T, Q, T]),
                (0, [Q, T, T]),
            ],
            Self::RockSalt => &[
                (0, [0.0, 0.0, 0.0]),
                (1, [H, 0.0, 0.0]),
                (0, [H, H, 0.0]),
                (1, [0.0, H, 0.0]),
                (0, [H, 0.0, H]),
                (1, [0.0, 0.0, H]),
                (0, [0.0, H, H]),
                (1, [H, H, H]),
            ],
            Self::CsCl => &[(0, [0.0; 3]), (1, [H; 3])],
            Self::ZincBlende => &[
                (0, [0.0, 0.0, 0.0]),
                (1, [Q, Q, Q]),
                (0, [H, H, 0.0]),
                (1, [T, T, Q]),
                (0, [H, 0.0, H]),
                (1, [T, Q, T]),
                (0, [0.0, H, H]),
                (1, [Q, T, T]),
            ],
        }
    }
}

/// Makes a crystal; see [`lattice`].
pub type LatticeBuilder = Builder<Crystal>;

/// A crystal of whole conventional cells.
#[derive(Clone, Debug)]
pub struct Crystal {
    lattice: Lattice,
    cells: [usize; 3],
}

/// A periodic crystal of this many conventional cells along x, y and z.
///
/// The first particle sits at the origin. Particles of a cell follow one another; cells follow along
/// x, then y, then z.
pub fn lattice(lattice: Lattice, cells: [usize; 3]) -> LatticeBuilder {
    Builder::new(Crystal { lattice, cells })
}

/// The Lennard-Jones melt everyone measures with: fcc at the reduced density 0.8442.
pub fn lj_melt(cells: [usize; 3]) -> LatticeBuilder {
    lattice(Lattice::Fcc, cells)
        .density(0.8442)
        .units(Units::LennardJones)
}

impl Named for Crystal {}
impl Dense for Crystal {}
impl OnLattice for Crystal {}

impl Shape for Crystal {
    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        let species = setting.species_of(self.lattice)?;
        let a = setting.spacing_of(self.lattice)?;
        let sites = self.lattice.sites();
        let [nx, ny, nz] = self.cells;
        let total = count(&[nx, ny, nz, sites.len()])?;
        let side: [f64; 3] = std::array::from_fn(|axis| a * self.lattice.sides()[axis]);
        let lengths = std::array::from_fn(|axis| side[axis] * self.cells[axis] as f64);
        let mut system = setting.system(species, Cell::orthorhombic(lengths)?)?;
        reserve(&mut system, total);
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    for &(kind, f) in sites {
                        let place = |axis: usize, n: usize| (n as f64 + f[axis]) * side[axis];
                        let r = Vec3::new(place(0, i), place(1, j), place(2, k));
                        let molecule = system.particles.len() as u32;
                        push(&mut system, r, kind, molecule);
                    }
                }
            }
        }
        Ok(system)
    }
}
