//! Liquids of single particles, with orientations or without, and of molecules.

use super::assembly::{Assembly, Mixture, shuffled};
use super::builder::{Bonded, Builder, Dense, Placed, Scale, Setting, Shape};
use super::{BuildError, count, places, positive, reserve};
use crate::expr::{Quat, Vec3};
use crate::random::{Philox, stream};
use crate::system::orientation::random_rotation;
use crate::system::{Cell, Molecule, System};

/// Makes liquids; see [`liquid`].
pub type LiquidBuilder = Builder<Liquid>;

/// Displacement from the lattice over its spacing.
const DISORDER: f64 = 0.05;

/// What stands at a site.
#[derive(Clone, Debug)]
enum Unit {
    /// A particle of this species of the setting.
    Particle(usize),
    Molecule(Box<Molecule>),
}

/// Particles and molecules near the sites of a lattice.
#[derive(Clone, Debug)]
pub struct Liquid {
    units: Vec<(Unit, usize)>,
    cell: Option<Cell>,
    disorder: f64,
    stretch: f64,
    aligned: bool,
}

/// Any number of particles and molecules, each a little away from its site of a lattice, in a cube of a density or in a given
/// cell. Molecules and particles that turn lie at random. Several kinds are mixed at random; those of a kind follow one
/// another. The density is that of particles and molecules, each counted as one.
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
        units: Vec::new(),
        cell: None,
        disorder: DISORDER,
        stretch: 1.0,
        aligned: false,
    })
}

impl Builder<Liquid> {
    /// Adds particles of a species.
    pub fn add(mut self, count: usize, species: crate::system::Species) -> Self {
        let unit = Unit::Particle(self.setting.species.len());
        self.shape.units.push((unit, count));
        self.setting.species.push(species);
        self
    }

    /// Adds molecules in the conformation they have, each turned at random about the middle of its beads.
    pub fn molecules(mut self, count: usize, molecule: Molecule) -> Self {
        self.shape.units.push((Unit::Molecule(Box::new(molecule)), count));
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
impl Bonded for Liquid {}

impl Shape for Liquid {
    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        let total = self
            .units
            .iter()
            .fold(0usize, |sum, &(_, n)| sum.saturating_add(n));
        let beads = self.units.iter().fold(0usize, |sum, (unit, n)| {
            let each = match unit {
                Unit::Particle(_) => 1,
                Unit::Molecule(molecule) => molecule.beads.len(),
            };
            sum.saturating_add(n.saturating_mul(each))
        });
        count(&[beads])?;
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
        let contact = Mixture::contact(setting)?;
        let mut assembly = Assembly::new(setting, &Mixture::default(), cell, contact)?;
        assembly.system.species.clone_from(&setting.species);
        reserve(&mut assembly.system, beads);
        let [a, b, c] = cell.to_arrays();
        let squeezed = Cell::triclinic([a, b, [c[0], c[1], c[2] / stretch]])?;
        let sites = places::spread(&squeezed, total);
        let step = 2.0 * self.disorder * (squeezed.volume() / total.max(1) as f64).cbrt();
        let philox = Philox::new(setting.seed);
        let mut templates = Vec::new();
        for (unit, _) in &self.units {
            templates.push(match unit {
                Unit::Particle(_) => None,
                Unit::Molecule(molecule) => {
                    Some((assembly.template(molecule), centered(&molecule.positions)))
                }
            });
        }
        for (kind, place) in shuffled(self.units.iter().map(|(_, n)| *n), &philox, 0) {
            let i = assembly.system.particles.len();
            let noise = philox.uniforms(0, i as u32, stream::PLACES);
            let [x, y, z] = std::array::from_fn(|k| (noise[k] - 0.5) * step);
            let r = sites[place] + Vec3::new(x, y, z);
            let (inside, _) = cell.wrap(Vec3::new(r.x, r.y, r.z * stretch));
            match (&templates[kind], &self.units[kind].0) {
                (Some((template, beads)), _) => {
                    let turn = match self.aligned {
                        true => Quat::identity(),
                        false => random_rotation(philox.uniforms(1, i as u32, stream::ORIENTATIONS)),
                    };
                    let beads: Vec<Vec3<f64>> =
                        beads.iter().map(|&bead| inside + turn.rotate(bead)).collect();
                    assembly.add(template, &beads);
                }
                (None, &Unit::Particle(species)) => {
                    let turn = self.aligned.then(Quat::identity);
                    assembly.add_single(species, inside, turn);
                }
                // Every molecule has its template.
                (None, Unit::Molecule(_)) => {}
            }
        }
        assembly.finish(setting)
    }
}

/// Places from their middle.
fn centered(places: &[Vec3<f64>]) -> Vec<Vec3<f64>> {
    let sum = places.iter().fold(Vec3::zero(), |sum, &r| sum + r);
    let middle = sum * (1.0 / places.len().max(1) as f64);
    places.iter().map(|&r| r - middle).collect()
}
