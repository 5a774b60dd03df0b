//! [`Builder`]: what all builders share. A shape says how it is filled, and by its traits which setters it has.

use super::lattice::Lattice;
use super::{BuildError, positive};
use crate::system::{
    AtomLabels, Cell, Constraints, Exclusions, Particles, Species, System, Topology, Units, velocities,
};

/// A system in the making: of what it is made, and its shape.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder<S> {
    pub(super) setting: Setting,
    pub(super) shape: S,
}

/// What builders are told, each what it has use for.
#[derive(Clone, Debug)]
pub struct Setting {
    pub(super) units: Units,
    pub(super) species: Vec<Species>,
    pub(super) periodic: [bool; 3],
    pub(super) scale: Option<Scale>,
    pub(super) minimum_distance: f64,
    pub(super) seed: u64,
    pub(super) exclude: u32,
}

/// How large a system is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scale {
    /// Lattice constant a.
    Spacing(f64),
    /// Particles per volume.
    Density(f64),
}

/// How a system is filled with particles at rest.
pub trait Shape {
    /// Whether all particles are of one species, so that the last one named counts.
    const ONE_SPECIES: bool = false;

    /// The system.
    fn fill(&self, setting: &Setting) -> Result<System, BuildError>;
}

/// Shapes whose species are named, without numbers.
pub trait Named: Shape {}
/// Shapes with a density.
pub trait Dense: Shape {}
/// Shapes cut from a lattice.
pub trait OnLattice: Dense {}
/// Shapes whose particles find places at random.
pub trait Placed: Shape {}
/// Shapes with bonds.
pub trait Bonded: Shape {}

impl<S: Shape> Builder<S> {
    pub(super) fn new(shape: S) -> Self {
        Self {
            setting: Setting {
                units: Units::LennardJones,
                species: Vec::new(),
                periodic: [true; 3],
                scale: None,
                minimum_distance: 0.0,
                seed: 0,
                exclude: 0,
            },
            shape,
        }
    }

    /// Unit system of the numbers given and made; Lennard-Jones unless said.
    pub fn units(mut self, units: Units) -> Self {
        self.setting.units = units;
        self
    }

    /// The system at rest.
    pub fn build(self) -> Result<System, BuildError> {
        self.shape.fill(&self.setting)
    }

    /// The system with velocities of this temperature.
    pub fn thermalize(self, temperature: f64, seed: u64) -> Result<System, BuildError> {
        let mut system = self.build()?;
        velocities::thermalize(&mut system, temperature, seed)?;
        Ok(system)
    }
}

impl<S: Named> Builder<S> {
    /// Adds a species: two for rock salt, CsCl and zinc blende, else one, which has mass 1 and charge 0 unless
    /// said.
    pub fn species(mut self, name: &str, mass: f64, charge: f64) -> Self {
        if S::ONE_SPECIES {
            self.setting.species.clear();
        }
        self.setting.add_species(name, mass, charge);
        self
    }
}

impl<S: Dense> Builder<S> {
    /// Number density, of all species together; of a sphere, inside it.
    pub fn density(mut self, density: f64) -> Self {
        self.setting.scale = Some(Scale::Density(density));
        self
    }
}

impl<S: OnLattice> Builder<S> {
    /// Lattice constant a. Of this and [`Self::density`] the last call counts.
    pub fn spacing(mut self, a: f64) -> Self {
        self.setting.scale = Some(Scale::Spacing(a));
        self
    }

    /// Along which axes the cell repeats; all unless said.
    pub fn periodic(mut self, periodic: [bool; 3]) -> Self {
        self.setting.periodic = periodic;
        self
    }
}

impl<S: Placed> Builder<S> {
    /// No two particles closer than this, apart from those of one molecule; 0.9 for chains, 0.3 nm around lipids and zero
    /// for others unless said.
    pub fn minimum_distance(mut self, distance: f64) -> Self {
        self.setting.minimum_distance = distance;
        self
    }

    /// Seed of the places; 0 unless said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.setting.seed = seed;
        self
    }
}

impl<S: Bonded> Builder<S> {
    /// Excludes pairs up to this many bonds apart from the pair terms; none unless said.
    pub fn exclude(mut self, bonds: u32) -> Self {
        self.setting.exclude = bonds;
        self
    }
}

impl Setting {
    pub(super) fn add_species(&mut self, name: &str, mass: f64, charge: f64) {
        self.species.push(Species::point(name, mass, charge));
    }

    /// The species given, or, where one is enough and none was, a neutral one of mass 1.
    pub(super) fn species_or_default(&self) -> Vec<Species> {
        if self.species.is_empty() {
            let (name, mass, charge) = ("A".to_owned(), 1.0, 0.0);
            vec![Species::point(name, mass, charge)]
        } else {
            self.species.clone()
        }
    }

    /// Species checked against what a lattice takes.
    pub(super) fn species_of(&self, lattice: Lattice) -> Result<Vec<Species>, BuildError> {
        let expected = lattice.species_count();
        let given = self.species.len();
        if given == expected || (given == 0 && expected == 1) {
            Ok(self.species_or_default())
        } else {
            Err(BuildError::SpeciesCount {
                lattice,
                expected,
                given,
            })
        }
    }

    /// The lattice constant.
    pub(super) fn spacing_of(&self, lattice: Lattice) -> Result<f64, BuildError> {
        match self.scale {
            None => Err(BuildError::MissingScale { what: "lattice" }),
            Some(Scale::Spacing(a)) => positive("spacing", a),
            Some(Scale::Density(density)) => {
                let [x, y, z] = lattice.sides();
                let volume = lattice.particles_per_cell() as f64 / positive("density", density)?;
                positive("spacing", (volume / (x * y * z)).cbrt())
            }
        }
    }

    /// A system of these species without particles.
    pub(super) fn system(&self, species: Vec<Species>, cell: Cell) -> Result<System, BuildError> {
        for s in &species {
            positive("mass", s.mass)?;
            if !s.charge.is_finite() {
                return Err(BuildError::Invalid {
                    what: "charge",
                    value: s.charge,
                    expected: "a finite number",
                });
            }
        }
        Ok(System {
            units: self.units,
            cell: cell.with_periodicity(self.periodic),
            species,
            particles: Particles::default(),
            topology: Topology::default(),
            exclusions: Exclusions::default(),
            constraints: Constraints::default(),
            labels: AtomLabels::default(),
        })
    }
}
