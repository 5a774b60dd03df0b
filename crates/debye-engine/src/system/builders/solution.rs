//! Rigid water, pure, with salt, or around a solute.

use super::builder::{Builder, Setting, Shape};
use super::grid::Grid;
use super::{BuildError, count, places, positive, push, reserve};
use crate::expr::Vec3;
use crate::random::{Philox, stream};
use crate::system::models::WaterModel;
use crate::system::orientation::random_rotation;
use crate::system::{Cell, Species, System, Units};

/// Makes water and solutions; see [`water`].
pub type SolutionBuilder = Builder<Solution>;

/// Density of water at 298 K and 1 bar, in g/cm³.
const WATER_DENSITY: f64 = 0.997;
/// Atoms of two molecules farther apart than this do not disturb one another, in nm.
const CONTACT: f64 = 0.17;
/// Closer than this they overlap.
const OVERLAP: f64 = 0.1;
/// Orientations tried for a molecule before the best is taken.
const ATTEMPTS: u64 = 40;
/// Room around a solute, to each face.
const PADDING: f64 = 1.0;
/// Distance of the oxygens from a solute.
const CLEARANCE: f64 = 0.25;
/// A charge this near a multiple of that of an ion can be neutralized.
const WHOLE: f64 = 1e-3;

/// Water with what is in it.
#[derive(Clone, Debug)]
pub struct Solution {
    model: &'static WaterModel,
    /// Oxygen and hydrogen.
    sites: [Species; 2],
    molecules: Option<usize>,
    density: Option<f64>,
    cell: Option<Cell>,
    /// Cation and anion.
    ions: Option<[Species; 2]>,
    salt: Salt,
    ions_apart: Option<f64>,
    solute: Option<System>,
    padding: f64,
    clearance: f64,
    neutralize: bool,
}

/// How much salt.
#[derive(Clone, Copy, Debug)]
enum Salt {
    None,
    Pairs(usize),
    /// Moles per kilogram of water.
    Molality(f64),
}

/// Rigid water of a model, in md units: a number of molecules, a cell, or both.
///
/// ```
/// use debye::system::{builders, models};
/// let tip3p = models::water("tip3p").unwrap();
/// let box_of_water = builders::water(tip3p).molecules(216).seed(1).build()?;
/// assert_eq!(box_of_water.particles.len(), 648);
/// # Ok::<(), debye::system::builders::BuildError>(())
/// ```
///
/// The oxygens stand on a lattice, oriented at random so that no atoms of two molecules touch; a few picoseconds make
/// a liquid of it. Molecules are whole: hydrogens may stick out of the cell. The arrangement follows from the seed.
pub fn water(model: &'static WaterModel) -> SolutionBuilder {
    let mut builder = Builder::new(Solution {
        model,
        sites: [model.oxygen.species("OW"), model.hydrogen.species("HW")],
        molecules: None,
        density: None,
        cell: None,
        ions: None,
        salt: Salt::None,
        ions_apart: None,
        solute: None,
        padding: PADDING,
        clearance: CLEARANCE,
        neutralize: false,
    });
    builder.setting.units = Units::Md;
    builder
}

/// A salt of two ions of opposite charge in water: [`water`] in which ions take the places of molecules. Say how much with
/// [`SolutionBuilder::molality`] or [`SolutionBuilder::ion_pairs`].
///
/// Particles follow one another as solute, water, cations, anions.
pub fn solution(model: &'static WaterModel, cation: Species, anion: Species) -> SolutionBuilder {
    water(model).ions(cation, anion)
}

impl Builder<Solution> {
    /// How many molecules there are before ions take the place of some.
    pub fn molecules(mut self, molecules: usize) -> Self {
        self.shape.molecules = Some(molecules);
        self
    }

    /// Mass density of the water in u/nm³, from which follows the cell or the number of molecules, whichever is not
    /// given; that of water at 298 K, 0.997 g/cm³, unless said.
    pub fn density(mut self, density: f64) -> Self {
        self.shape.density = Some(density);
        self
    }

    /// The cell; unless said, a cube of the density for water, and one with some padding around a solute.
    pub fn cell(mut self, cell: Cell) -> Self {
        self.setting.periodic = cell.periodic();
        self.shape.cell = Some(cell);
        self
    }

    /// Names, masses and charges of oxygen and hydrogen; `OW` and `HW` of the model unless said.
    pub fn sites(mut self, oxygen: Species, hydrogen: Species) -> Self {
        self.shape.sites = [oxygen, hydrogen];
        self
    }

    /// Which ions there are, or may be where a solute is neutralized.
    pub fn ions(mut self, cation: Species, anion: Species) -> Self {
        self.shape.ions = Some([cation, anion]);
        self
    }

    /// Moles of salt per kilogram of water, as near as whole numbers come. Of this and [`Self::ion_pairs`] the last
    /// call counts.
    pub fn molality(mut self, molality: f64) -> Self {
        self.shape.salt = Salt::Molality(molality);
        self
    }

    /// How many cations, and as many anions.
    pub fn ion_pairs(mut self, pairs: usize) -> Self {
        self.shape.salt = Salt::Pairs(pairs);
        self
    }

    /// No two ions, and no ion and the solute, closer than this; as far apart as is found to fit unless said.
    pub fn ions_apart(mut self, distance: f64) -> Self {
        self.shape.ions_apart = Some(distance);
        self
    }

    /// What the water surrounds: centerd in the cell, with its bonds, molecules and charges as they are.
    pub fn solute(mut self, solute: System) -> Self {
        self.shape.solute = Some(solute);
        self
    }

    /// Room between the solute and each face of the cell; 1 nm unless said.
    pub fn padding(mut self, padding: f64) -> Self {
        self.shape.padding = padding;
        self
    }

    /// No oxygen closer than this to an atom of the solute; 0.25 nm unless said.
    pub fn clearance(mut self, clearance: f64) -> Self {
        self.shape.clearance = clearance;
        self
    }

    /// Adds ions until the charge of the solute is made up for.
    pub fn neutralize(mut self, neutralize: bool) -> Self {
        self.shape.neutralize = neutralize;
        self
    }

    /// How many particles there can be, before any memory is taken for them.
    pub fn most_particles(&self) -> Result<usize, BuildError> {
        let solute = self.shape.solute.as_ref().map_or(0, |s| s.particles.len());
        let (_, wanted) = self.shape.extent()?;
        Ok(wanted.saturating_mul(3).saturating_add(solute))
    }

    /// Seed of orientations and of the places of ions; 0 unless said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.setting.seed = seed;
        self
    }
}

impl Shape for Solution {
    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        if setting.units != Units::Md || self.solute.as_ref().is_some_and(|s| s.units != Units::Md) {
            return Err(BuildError::ReducedWater);
        }
        let (cell, wanted) = self.extent()?;
        count(&[wanted, 3])?;
        let (mut system, kinds) = self.start(setting, cell)?;
        let philox = Philox::new(setting.seed);

        let mut atoms = Grid::new(cell, CONTACT.max(self.clearance), 3 * wanted);
        for r in &system.particles.positions {
            atoms.push(*r);
        }
        let mut free = places::spread(&cell, wanted);
        if self.solute.is_some() {
            free.retain(|r| atoms.nearest2(*r, None) >= self.clearance * self.clearance);
        }
        let numbers = self.ion_numbers(&system, free.len())?;
        let ions = self.choose_ions(&cell, &system.particles.positions, &free, numbers, &philox)?;
        for &place in &ions {
            atoms.push(free[place]);
        }
        let mut is_ion = vec![false; free.len()];
        for &place in &ions {
            is_ion[place] = true;
        }
        reserve(&mut system, 3 * (free.len() - ions.len()) + ions.len());
        let mut molecule = system.particles.molecules.iter().max().map_or(0, |m| m + 1);
        for (place, &r) in free.iter().enumerate().filter(|(place, _)| !is_ion[*place]) {
            let hydrogens = self.orient(&atoms, r, place as u32, &philox)?;
            for (r, kind) in [(r, kinds[0]), (hydrogens[0], kinds[1]), (hydrogens[1], kinds[1])] {
                atoms.push(r);
                push(&mut system, r, kind, molecule);
            }
            molecule += 1;
        }
        for (n, &place) in ions.iter().enumerate() {
            let kind = if n < numbers[0] { kinds[2] } else { kinds[3] };
            push(&mut system, free[place], kind, molecule);
            molecule += 1;
        }
        drop_unused(&mut system);
        Ok(system)
    }
}

/// Leaves species out that no particle belongs to: one of the ions, where only the other was needed.
fn drop_unused(system: &mut System) {
    let mut used = vec![false; system.species.len()];
    for &kind in &system.particles.species {
        used[kind as usize] = true;
    }
    let mut next = 0;
    let place: Vec<u32> = used
        .iter()
        .map(|&used| {
            next += u32::from(used);
            next.saturating_sub(1)
        })
        .collect();
    let mut kept = used.iter();
    system.species.retain(|_| kept.next() == Some(&true));
    for kind in &mut system.particles.species {
        *kind = place[*kind as usize];
    }
}

impl Solution {
    /// The cell and the number of places for molecules in it.
    fn extent(&self) -> Result<(Cell, usize), BuildError> {
        let density = match self.density {
            Some(density) => positive("density", density)?,
            None => WATER_DENSITY / Units::Md.grams_per_cubic_centimeter(),
        };
        let [oxygen, hydrogen] = &self.sites;
        let mass = positive("mass", oxygen.mass)? + 2.0 * positive("mass", hydrogen.mass)?;
        let cell = match (self.cell, &self.solute, self.molecules) {
            (Some(cell), _, _) => cell,
            (None, Some(solute), _) => self.around(solute)?,
            (None, None, Some(molecules)) => {
                let side = (molecules as f64 * mass / density).cbrt();
                Cell::orthorhombic([positive("side of the cell", side)?; 3])?
            }
            (None, None, None) => return Err(BuildError::MissingExtent),
        };
        let wanted = match self.molecules {
            Some(molecules) => molecules,
            None => {
                let number = (density * cell.volume() / mass).round();
                if number > f64::from(u32::MAX) {
                    return Err(BuildError::TooMany {
                        count: number as u128,
                    });
                }
                number as usize
            }
        };
        if wanted == 0 {
            return Err(BuildError::Invalid {
                what: "number of molecules",
                value: 0.0,
                expected: "at least 1",
            });
        }
        Ok((cell, wanted))
    }

    /// A right-angled cell around the solute.
    fn around(&self, solute: &System) -> Result<Cell, BuildError> {
        if !(self.padding.is_finite() && self.padding >= 0.0) {
            return Err(BuildError::Invalid {
                what: "padding",
                value: self.padding,
                expected: "zero or a positive number",
            });
        }
        let (low, high) = bounds(&solute.particles.positions);
        let side = |axis: usize| (high[axis] - low[axis]).max(0.0) + 2.0 * self.padding;
        Ok(Cell::orthorhombic([side(0), side(1), side(2)])?)
    }

    /// The system with the solute in its middle, and the species of oxygen, hydrogen, cations and anions in it.
    fn start(&self, setting: &Setting, cell: Cell) -> Result<(System, [usize; 4]), BuildError> {
        let clearance = self.clearance;
        if !(clearance.is_finite() && clearance >= 0.0) {
            return Err(BuildError::Invalid {
                what: "clearance",
                value: clearance,
                expected: "zero or a positive number",
            });
        }
        let mut species = self
            .solute
            .as_ref()
            .map(|s| s.species.clone())
            .unwrap_or_default();
        let mut place = |wanted: &Species| {
            species
                .iter()
                .position(|s| s.name == wanted.name)
                .unwrap_or_else(|| {
                    species.push(wanted.clone());
                    species.len() - 1
                })
        };
        let mut kinds = [0; 4];
        (kinds[0], kinds[1]) = (place(&self.sites[0]), place(&self.sites[1]));
        if let Some(ions) = &self.ions {
            (kinds[2], kinds[3]) = (place(&ions[0]), place(&ions[1]));
        }
        let mut system = setting.system(species, cell)?;
        if let Some(solute) = &self.solute {
            let (low, high) = bounds(&solute.particles.positions);
            let middle = cell.position(Vec3::new(0.5, 0.5, 0.5));
            let shift = middle - (low + high) * 0.5;
            let (extent, heights) = (high - low, cell.heights());
            if let Some(axis) = (0..3).find(|&k| cell.periodic()[k] && extent[k] > heights[k]) {
                return Err(BuildError::SoluteTooLarge {
                    axis: ['x', 'y', 'z'][axis],
                    extent: extent[axis],
                    height: heights[axis],
                });
            }
            system.particles = solute.particles.clone();
            for r in &mut system.particles.positions {
                *r += shift;
            }
            system.particles.images.fill([0; 3]);
            system.topology = solute.topology.clone();
            system.exclusions = solute.exclusions.clone();
            system.labels = solute.labels.clone();
        }
        Ok((system, kinds))
    }

    /// How many cations and anions there will be.
    fn ion_numbers(&self, system: &System, places: usize) -> Result<[usize; 2], BuildError> {
        let Some([cation, anion]) = &self.ions else {
            return match self.salt {
                Salt::None if !self.neutralize => Ok([0; 2]),
                _ => Err(BuildError::MissingIons),
            };
        };
        if !(cation.charge > 0.0 && (cation.charge + anion.charge).abs() < 1e-9 * cation.charge) {
            return Err(BuildError::NotASalt {
                cation: cation.charge,
                anion: anion.charge,
            });
        }
        let charge: f64 = system.particles.charges.iter().sum();
        let mut numbers = [0; 2];
        if self.neutralize {
            let ions = charge.abs() / cation.charge;
            if (ions - ions.round()).abs() > WHOLE {
                return Err(BuildError::ChargeNotWhole { charge });
            }
            numbers[usize::from(charge > 0.0)] = ions.round() as usize;
        }
        let too_many = |wanted: usize| BuildError::TooManyIons { wanted, places };
        let counter = numbers[0] + numbers[1];
        let left = places.checked_sub(counter).ok_or(too_many(counter))?;
        let pairs = match self.salt {
            Salt::None => 0,
            Salt::Pairs(pairs) => pairs,
            Salt::Molality(molality) => {
                // Each pair takes the place of two molecules: b = p / (w (N − 2 p)).
                let per_molecule = positive("molality", molality)? * self.model.mass() * 1e-3;
                let pairs = left as f64 * per_molecule / (1.0 + 2.0 * per_molecule);
                if pairs < 0.5 {
                    return Err(BuildError::TooDilute {
                        molality,
                        molecules: left,
                    });
                }
                pairs.round() as usize
            }
        };
        let wanted = pairs.saturating_mul(2).saturating_add(counter);
        if wanted >= places && wanted > 0 {
            return Err(too_many(wanted));
        }
        Ok(numbers.map(|n| n + pairs))
    }

    /// Places of the ions, cations first, no two close to one another or to the solute.
    fn choose_ions(
        &self,
        cell: &Cell,
        solute: &[Vec3<f64>],
        free: &[Vec3<f64>],
        numbers: [usize; 2],
        philox: &Philox,
    ) -> Result<Vec<usize>, BuildError> {
        let wanted = numbers[0] + numbers[1];
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let mut order: Vec<usize> = (0..free.len()).collect();
        order.sort_by_cached_key(|&place| (philox.words(0, place as u32, stream::IONS, 0), place));
        let attempt = |apart: f64| {
            let mut taken = Grid::new(*cell, apart.max(f64::MIN_POSITIVE), solute.len() + wanted);
            for r in solute {
                taken.push(*r);
            }
            let mut chosen = Vec::with_capacity(wanted);
            for &place in &order {
                if chosen.len() < wanted && taken.nearest2(free[place], None) >= apart * apart {
                    taken.push(free[place]);
                    chosen.push(place);
                }
            }
            chosen
        };
        if let Some(apart) = self.ions_apart {
            if !(apart.is_finite() && apart >= 0.0) {
                return Err(BuildError::Invalid {
                    what: "distance of the ions",
                    value: apart,
                    expected: "zero or a positive number",
                });
            }
            let chosen = attempt(apart);
            if chosen.len() < wanted {
                return Err(BuildError::IonsDoNotFit {
                    placed: chosen.len(),
                    wanted,
                    apart,
                });
            }
            return Ok(chosen);
        }
        // The distance that fills space, then less of it until there is room.
        let mut apart = (cell.volume() / wanted as f64).cbrt().min(1.0);
        loop {
            let chosen = attempt(apart);
            if chosen.len() == wanted {
                return Ok(chosen);
            }
            apart = if apart > 0.2 { 0.9 * apart } else { 0.0 };
        }
    }

    /// Hydrogens of a molecule whose oxygen is at `r`, away from all atoms there are.
    fn orient(
        &self,
        atoms: &Grid,
        r: Vec3<f64>,
        molecule: u32,
        philox: &Philox,
    ) -> Result<[Vec3<f64>; 2], BuildError> {
        let (height, half) = (self.model.height(), 0.5 * self.model.base);
        let mut best = (0.0, [r; 2]);
        for attempt in 0..ATTEMPTS {
            let turn = random_rotation(philox.uniforms(attempt, molecule, stream::ORIENTATIONS));
            let hydrogens = [half, -half].map(|x| r + turn.rotate(Vec3::new(x, 0.0, height)));
            let near = hydrogens.map(|h| atoms.nearest2(h, None));
            let distance = near[0].min(near[1]).sqrt();
            if distance > best.0 {
                best = (distance, hydrogens);
            }
            if distance >= CONTACT {
                break;
            }
        }
        let distance = best.0.min(atoms.nearest2(r, None).sqrt());
        if distance < OVERLAP {
            return Err(BuildError::Crowded { distance });
        }
        Ok(best.1)
    }
}

/// The corners of the box that holds these positions.
fn bounds(positions: &[Vec3<f64>]) -> (Vec3<f64>, Vec3<f64>) {
    let Some(&first) = positions.first() else {
        return (Vec3::zero(), Vec3::zero());
    };
    let each = |pick: fn(f64, f64) -> f64| {
        positions.iter().fold(first, |corner, r| {
            Vec3::new(pick(corner.x, r.x), pick(corner.y, r.y), pick(corner.z, r.z))
        })
    };
    (each(f64::min), each(f64::max))
}
