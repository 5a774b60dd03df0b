//! Spheres cut from a lattice, with vacuum around them.

use super::builder::{Builder, Dense, Named, OnLattice, Setting, Shape};
use super::{BuildError, Lattice, count, positive, push};
use crate::expr::Vec3;
use crate::system::{Cell, System, Units};

/// How points on the surface of the sphere are judged; a lattice puts many exactly there.
///
/// Let the lattice constant be one, n the point and c the center of the box, which is a lattice
/// point, and R the radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge {
    /// Keep |n − c|² ≤ R² with differences of lattice coordinates, which for all cubic lattices are
    /// multiples of a quarter: exact, surface included, for any spacing.
    Exact,
    /// Keep sqrt(dx² + dy² + dz²) ≤ R·a, evaluated in double precision from left to right, with
    /// dx = n·a − c·a and this number a. Which surface points stay depends on rounding, and so on a:
    /// it must be given as the source gives it, in the source's unit of length.
    Rounded {
        /// The spacing as the source writes it.
        spacing: f64,
    },
}

/// Makes a sphere; see [`sphere`].
pub type SphereBuilder = Builder<Ball>;

/// A ball cut from a lattice.
#[derive(Clone, Debug)]
pub struct Ball {
    lattice: Lattice,
    radius: f64,
    side: Option<usize>,
    edge: Edge,
}

/// The particles of a lattice that are no further than `radius` lattice constants from a lattice point,
/// which is the center of the cubic cell.
///
/// Particles follow along x, then y, then z as in [`lattice`](super::lattice()).
pub fn sphere(lattice: Lattice, radius: f64) -> SphereBuilder {
    Builder::new(Ball {
        lattice,
        radius,
        side: None,
        edge: Edge::Exact,
    })
}

/// The argon sphere of the prefix-sum paper: 1 047 293 atoms on a simple cubic lattice of 5.256 Å,
/// radius 63 spacings, in a cube of 200 spacings. Units nm, ps, kJ/mol.
pub fn argon_sphere() -> SphereBuilder {
    argon(63.0, 200).edge(Edge::Rounded { spacing: 5.256 })
}

/// Its small sister: radius 15 spacings by the exact rule, 14 147 atoms, in a cube of 48 spacings.
pub fn small_argon_sphere() -> SphereBuilder {
    argon(15.0, 48)
}

fn argon(radius: f64, side: usize) -> SphereBuilder {
    sphere(Lattice::Sc, radius)
        .spacing(0.5256)
        .side(side)
        .units(Units::Md)
        .species("Ar", 39.948, 0.0)
}

impl Builder<Ball> {
    /// Side of the cubic cell in lattice constants, even; the smallest that leaves one radius of vacuum
    /// between images unless said.
    pub fn side(mut self, spacings: usize) -> Self {
        self.shape.side = Some(spacings);
        self
    }

    /// Rule for points on the surface; [`Edge::Exact`] unless said.
    pub fn edge(mut self, edge: Edge) -> Self {
        self.shape.edge = edge;
        self
    }
}

impl Named for Ball {}
impl Dense for Ball {}
impl OnLattice for Ball {}

impl Shape for Ball {
    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        let species = setting.species_of(self.lattice)?;
        let a = setting.spacing_of(self.lattice)?;
        let radius = positive("radius", self.radius)?;
        let side = self
            .side
            .unwrap_or(((1.5 * radius).ceil() as usize).saturating_mul(2));
        count(&[side, side, side, self.lattice.particles_per_cell()])?;
        if side % 2 == 1 {
            return Err(BuildError::Invalid {
                what: "side in lattice constants",
                value: side as f64,
                expected: "an even number, so that a lattice point is the center",
            });
        }
        if side as f64 <= 2.0 * radius {
            return Err(BuildError::SphereTooLarge {
                radius: radius * a,
                side: side as f64 * a,
            });
        }
        let cell = Cell::orthorhombic([side as f64 * a; 3])?;
        let mut system = setting.system(species, cell)?;
        let center = (side / 2) as f64;
        let sides = self.lattice.sides();
        let reach = sides.map(|s| (radius / s).ceil() as i64 + 1);
        for k in -reach[2]..=reach[2] {
            for j in -reach[1]..=reach[1] {
                for i in -reach[0]..=reach[0] {
                    for &(kind, f) in self.lattice.sites() {
                        let n: [f64; 3] =
                            std::array::from_fn(|axis| ([i, j, k][axis] as f64 + f[axis]) * sides[axis]);
                        if self.edge.keeps(n, center, radius) {
                            let molecule = system.particles.len() as u32;
                            push(
                                &mut system,
                                Vec3::from(n.map(|n| (n + center) * a)),
                                kind,
                                molecule,
                            );
                        }
                    }
                }
            }
        }
        Ok(system)
    }
}

impl Edge {
    /// Whether the point n spacings from the center stays.
    fn keeps(self, n: [f64; 3], center: f64, radius: f64) -> bool {
        match self {
            Self::Exact => n[0] * n[0] + n[1] * n[1] + n[2] * n[2] <= radius * radius,
            Self::Rounded { spacing } => {
                let d = n.map(|n| (n + center) * spacing - center * spacing);
                (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt() <= radius * spacing
            }
        }
    }
}
