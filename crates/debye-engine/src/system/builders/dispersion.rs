//! Lipids scattered in water, from which they assemble by themselves.

use super::assembly::{Assembly, Mixture, bead_count, shuffled};
use super::bilayer::SQUEEZE;
use super::builder::{Bonded, Builder, Placed, Setting, Shape};
use super::{BuildError, positive};
use crate::expr::Vec3;
use crate::random::{Philox, stream};
use crate::system::orientation::random_rotation;
use crate::system::{Cell, Molecule, Species, System, Units};

/// Makes dispersions; see [`dispersion`].
pub type DispersionBuilder = Builder<Dispersion>;

/// Density over that of the liquid.
const RELATIVE_DENSITY: f64 = 0.9;
/// Places tried for a lipid before it may come nearer to others, and what it may come nearer by.
const ATTEMPTS: u64 = 200;
const LESS: f64 = 0.9;
/// Smallest fraction of the distance asked for.
const LEAST: f64 = 0.6;

/// Lipids and water without order.
#[derive(Clone, Debug)]
pub struct Dispersion {
    mixture: Mixture,
    relative_density: f64,
}

/// Whole lipids at random places in all directions, one after another, none within 0.3 nm of another where that is
/// possible, and water on a lattice in between.
///
/// The cell is a cube at nine tenths of the density of the liquid, in which 15 beads have 1.3235 nm³ and a water 0.030 nm³.
/// Minimize, then begin with short steps. Particles follow as lipids, in the order of the calls, and water.
pub fn dispersion() -> DispersionBuilder {
    Builder::new(Dispersion {
        mixture: Mixture::default(),
        relative_density: RELATIVE_DENSITY,
    })
    .units(Units::Md)
}

impl Builder<Dispersion> {
    /// Adds lipids.
    pub fn lipids(mut self, lipid: Molecule, count: usize) -> Self {
        self.shape.mixture.lipids.push((lipid, count));
        self
    }

    /// The water, and how much of it.
    pub fn water(mut self, water: Species, count: usize) -> Self {
        self.shape.mixture.water = Some((water, count));
        self
    }

    /// Density over that of the liquid, from which the cell follows; 0.9 unless said.
    pub fn relative_density(mut self, density: f64) -> Self {
        self.shape.relative_density = density;
        self
    }

    /// The cell; a cube unless said.
    pub fn cell(mut self, cell: Cell) -> Self {
        self.setting.periodic = cell.periodic();
        self.shape.mixture.cell = Some(cell);
        self
    }
}

impl Placed for Dispersion {}
impl Bonded for Dispersion {}

impl Shape for Dispersion {
    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        let lipids = &self.mixture.lipids;
        if bead_count(lipids) == 0 {
            return Err(BuildError::NoLipids);
        }
        let contact = Mixture::contact(setting)?;
        let cell = self.cell(setting)?;
        let height = cell
            .heights()
            .to_array()
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        if let Some((lipid, _)) = lipids.iter().find(|(lipid, _)| lipid.length() > height) {
            return Err(BuildError::MoleculeTooLong {
                molecule: lipid.name.clone(),
                length: lipid.length(),
                height,
            });
        }
        let mut assembly = Assembly::new(setting, &self.mixture, cell, contact)?;
        self.scatter(setting, contact, &mut assembly)?;
        if let Some((water, count)) = &self.mixture.water {
            let places = assembly.around(&cell, Vec3::zero(), *count, contact)?;
            assembly.add_singles(water, &places);
        }
        assembly.finish(setting)
    }
}

impl Dispersion {
    /// The cell; one that is given must not be much too small.
    fn cell(&self, setting: &Setting) -> Result<Cell, BuildError> {
        let liquid = Mixture::volumes(setting).map(|[bead, water]| {
            bead_count(&self.mixture.lipids) as f64 * bead + self.mixture.waters() as f64 * water
        });
        match (self.mixture.cell, liquid) {
            (Some(cell), Some(needed)) if needed > SQUEEZE * cell.volume() => Err(BuildError::CellTooSmall {
                needed,
                available: cell.volume(),
            }),
            (Some(cell), _) => Ok(cell),
            (None, Some(liquid)) => {
                let density = positive("relative density", self.relative_density)?;
                Ok(Cell::orthorhombic([(liquid / density).cbrt(); 3])?)
            }
            (None, None) => Err(BuildError::MissingCell { what: "dispersion" }),
        }
    }

    /// Places the lipids.
    fn scatter(&self, setting: &Setting, contact: f64, assembly: &mut Assembly) -> Result<(), BuildError> {
        let lipids = &self.mixture.lipids;
        let philox = Philox::new(setting.seed);
        let cell = assembly.system.cell;
        let templates: Vec<_> = lipids.iter().map(|(lipid, _)| assembly.template(lipid)).collect();
        let order = shuffled(lipids.iter().map(|(_, n)| *n), &philox, 2);
        let mut distance = contact;
        for (placed, &(kind, _)) in order.iter().enumerate() {
            let mut attempt = 0;
            let beads = loop {
                let beads = place_at_random(&lipids[kind].0, &cell, &philox, attempt, placed as u32);
                let is_free = |r: &Vec3<f64>| assembly.grid.nearest2(*r, None) >= distance * distance;
                if beads.iter().all(is_free) {
                    break beads;
                }
                attempt += 1;
                if attempt % ATTEMPTS == 0 {
                    distance *= LESS;
                }
                if distance < LEAST * contact {
                    return Err(BuildError::NoRoom {
                        what: "lipids",
                        placed,
                        wanted: order.len(),
                        distance: distance / LESS,
                    });
                }
            };
            assembly.add(&templates[kind], &beads);
        }
        Ok(())
    }
}

/// Beads of a lipid at a random place, in a random direction.
fn place_at_random(
    lipid: &Molecule,
    cell: &Cell,
    philox: &Philox,
    attempt: u64,
    number: u32,
) -> Vec<Vec3<f64>> {
    let [x, y, z, _] = philox.uniforms(2 * attempt, number, stream::LIPIDS);
    let turn = random_rotation(philox.uniforms(2 * attempt + 1, number, stream::LIPIDS));
    let [low, high] = lipid.extent();
    let center = Vec3::new(0.0, 0.0, 0.5 * (low + high));
    let place = cell.position(Vec3::new(x, y, z));
    let bead = |r: &Vec3<f64>| place + turn.rotate(*r - center);
    lipid.positions.iter().map(bead).collect()
}
