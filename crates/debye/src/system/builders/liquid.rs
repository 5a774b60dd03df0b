//! Liquids of single particles, with orientations or without.

use super::assembly::shuffled;
use super::builder::{Builder, Dense, Placed, Scale, Setting, Shape};
use super::{BuildError, count, places, positive, push, reserve};
use crate::expr::{Quat, Vec3};
use crate::random::{Philox, stream};
use crate::system::orientation::random_rotation;
use crate::system::{Cell, Class, System};

/// Makes liquids; see [`liquid`].
pub type LiquidBuilder = Builder<Liquid>;

/// Displacement from the lattice over its spacing.
const DISORDER: f64 = 0.05;

/// Particles near the sites of a lattice.
#[derive(Clone, Debug)]
pub struct Liquid {
    counts: Vec<usize>,
    cell: Option<Cell>,
    disorder: f64,
    stretch: f64,
    aligned: bool,
}

/// Any number of particles, each a little away from its site of a lattice, in a cube of a density or in a given cell.
/// Those that turn lie at random. Several species are mixed at random; particles of a species follow one another.
///
/// ```
/// use debye::system::{Rotor, Species, builders};
/// let stockmayer = Species::point("D", 1.0, 0.0).with_rotor(Rotor::linear(0.025).with_dipole(1.0));
/// let fluid = builders::liquid().add(1000, stockmayer).density(0.8).seed(1).build()?;
/// assert_eq!(fluid.particles.orientations.rotations.len(), 1000);
/// # Ok::<(), debye::system::builders::BuildError>(())
/// ```
pub fn liquid() -> LiquidBuilder {
    Builder::new(Liquid {
        counts: Vec::new(),
        cell: None,
        disorder: DISORDER,
        stretch: 1.0,
        aligned: false,
    })
}

impl Builder<Liquid> {
    /// Adds particles of a species.
    pub fn add(mut self, count: usize, species: crate::system::Species) -> Self {
        self.shape.counts.push(count);
        self.setting.species.push(species);
        self
    }

    /// The cell; a cube of the density unless said.
    pub fn cell(mut self, cell: Cell) -> Self {
        self.setting.periodic = cell.periodic();
        self.shape.cell = Some(cell);
        self
    }

    /// How far from their sites particles may be, along each axis and over the spacing; 0.05 unless said.
    pub fn disorder(mut self, disorder: f64) -> Self {
        self.shape.disorder = disorder;
        self
    }

    /// How much farther sites are apart along z than across, for long particles; 1 unless said.
    pub fn stretch(mut self, stretch: f64) -> Self {
        self.shape.stretch = stretch;
        self
    }

    /// Lays the axes z of all particles along that of the cell, the director.
    pub fn aligned(mut self, aligned: bool) -> Self {
        self.shape.aligned = aligned;
        self
    }
}

impl Dense for Liquid {}
impl Placed for Liquid {}

impl Shape for Liquid {
    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        let total = self.counts.iter().fold(0usize, |sum, &n| sum.saturating_add(n));
        count(&[total])?;
        let cell = match (self.cell, setting.scale) {
            (Some(cell), _) => cell,
            (None, Some(Scale::Density(density))) => {
                let side = (total as f64 / positive("density", density)?).cbrt();
                Cell::orthorhombic([positive("side of the cell", side)?; 3])?
            }
            _ => return Err(BuildError::MissingScale { what: "liquid" }),
        };
        if !(0.0..=0.5).contains(&self.disorder) {
            return Err(BuildError::Invalid {
                what: "disorder",
                value: self.disorder,
                expected: "a fraction of the spacing, from 0 to 0.5",
            });
        }
        let stretch = positive("stretch", self.stretch)?;
        let mut system = setting.system(setting.species.clone(), cell)?;
        reserve(&mut system, total);
        let [a, b, c] = cell.to_arrays();
        let squeezed = Cell::triclinic([a, b, [c[0], c[1], c[2] / stretch]])?;
        let sites = places::spread(&squeezed, total);
        let step = 2.0 * self.disorder * (squeezed.volume() / total.max(1) as f64).cbrt();
        let philox = Philox::new(setting.seed);
        for (kind, place) in shuffled(self.counts.iter().copied(), &philox, 0) {
            let i = system.particles.len();
            let noise = philox.uniforms(0, i as u32, stream::PLACES);
            let [x, y, z] = std::array::from_fn(|k| (noise[k] - 0.5) * step);
            let r = sites[place] + Vec3::new(x, y, z);
            let (inside, _) = cell.wrap(Vec3::new(r.x, r.y, r.z * stretch));
            push(&mut system, inside, kind, i as u32);
            let rotor = system.species[kind].rotor;
            if rotor.class() != Class::Point {
                let turn = match self.aligned {
                    true => Quat::identity(),
                    false => random_rotation(philox.uniforms(0, i as u32, stream::ORIENTATIONS)),
                };
                system.particles.orient(i, rotor, turn);
            }
        }
        Ok(system)
    }
}
