//! Errors of forces as they are, not as they are estimated: against an Ewald sum in double precision.
//!
//! The sum is exact for a sample of the particles. Its own splitting is not that of the settings: a longer cut-off and
//! fewer reciprocal vectors, chosen so that pairs and reciprocal vectors cost about the same and what both leave out is
//! far below the error that is looked for. So it stays payable for a million particles.

use crate::parallel::{InParallel, Indexed};

use crate::engines::cpu::CpuEngine;
use crate::engines::{EngineError, Settings};
use crate::expr::Vec3;
use crate::forces::electrostatics::{
    Boundary, ChargeSums, Electrostatics, Method, ReciprocalVectors, Within,
};
use crate::forces::ewald::vectors_on;
use crate::forces::pme::estimate::Charged;
use crate::forces::pme::expected::{Expected, charged};
use crate::forces::{ForceField, ListedPairs, PairTerm, TermError};
use crate::integrate::{Dynamics, Scheme};
use crate::potentials::Pair;
use crate::system::{Constraints, System, Topology};

/// Particles that forces are compared for, at most.
pub const SAMPLE: usize = 1000;

/// What the sum leaves out, as a fraction of the error that is looked for.
const FINER: f64 = 1e-4;
/// No sum in double precision is better than this fraction of the usual force.
const FINEST: f64 = 1e-13;

/// How far forces are from what they should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Particles compared.
    pub particles: usize,
    /// Root mean square of the differences.
    pub absolute: f64,
    /// The same over the root mean square of the forces.
    pub relative: f64,
    /// The largest difference.
    pub largest: f64,
    /// Root mean square of the Coulomb forces themselves.
    pub usual: f64,
}

/// The exact Coulomb forces on a sample of the charged particles.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Which particles, by their number.
    pub sample: Vec<usize>,
    /// Forces on them.
    pub forces: Vec<Vec3<f64>>,
    /// Cut-off of the sum.
    pub cutoff: f64,
    /// Its splitting parameter.
    pub alpha: f64,
    /// Reciprocal vectors summed, each with its mirror image.
    pub vectors: usize,
    /// Its own error, estimated.
    pub error: f64,
}

/// Told how much of the work is done, from 0 to 1.
pub type OnProgress<'a> = &'a mut dyn FnMut(f64);

/// Why an error could not be measured.
#[derive(Debug)]
#[non_exhaustive]
pub enum MeasureError {
    /// The force field has no long-range electrostatics.
    Nothing,
    /// There are no charges.
    NoCharges,
    /// The engine refused.
    Engine(EngineError),
    /// The pair term cannot be made.
    Term(TermError),
}

impl std::fmt::Display for MeasureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => write!(
                f,
                "there is no long-range electrostatics to check: expected a [[forces]] of kind \"ewald\", \"pme\", \"p3m\" or \
                 \"multilevel\""
            ),
            Self::NoCharges => write!(
                f,
                "no particle has a charge, so that there are no Coulomb forces to check: give charges in [species] or in the \
                 structure file"
            ),
            Self::Engine(error) => error.fmt(f),
            Self::Term(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MeasureError {}

impl From<EngineError> for MeasureError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<TermError> for MeasureError {
    fn from(error: TermError) -> Self {
        Self::Term(error)
    }
}

/// The error of the Coulomb forces that the settings of a force field give on the CPU.
pub fn measured_error(
    system: &System,
    field: &ForceField,
    settings: &Settings,
    progress: OnProgress,
) -> Result<Measured, MeasureError> {
    let exact = Exact::of(system, field, progress)?;
    let (bare, charges) = coulomb_only(system, field)?;
    let still = Dynamics {
        timestep: 1e-3,
        scheme: Scheme::VelocityVerlet,
        thermostats: Vec::new(),
        barostat: None,
        remove_momentum_every: 0,
        seed: 0,
    };
    let engine = CpuEngine::new(&bare, &charges, &still, settings)?;
    Ok(exact.measure(&engine.forces()))
}

/// The system without bonds and constraints, and the force field with nothing but its electrostatics: what an engine
/// needs for the Coulomb forces alone.
pub fn coulomb_only(system: &System, field: &ForceField) -> Result<(System, ForceField), MeasureError> {
    let plan = field.electrostatics.clone().ok_or(MeasureError::Nothing)?;
    let mut bare = system.clone();
    bare.constraints = Constraints::default();
    bare.topology = Topology::default();
    let mut charges = ForceField {
        coulomb_constant: field.coulomb_constant,
        ..ForceField::new(system.units)
    };
    charges.add_electrostatics(plan, &system.species)?;
    Ok((bare, charges))
}

impl Exact {
    /// Exact enough to measure the error of the settings of this force field.
    pub fn of(system: &System, field: &ForceField, progress: OnProgress) -> Result<Self, MeasureError> {
        let expected = match Expected::of(system, field) {
            Some(expected) => expected,
            None if field.electrostatics.is_none() => return Err(MeasureError::Nothing),
            None => return Err(MeasureError::NoCharges),
        };
        Self::within(system, field, expected.total(), progress)
    }

    /// Exact enough to measure errors of this size.
    pub fn within(
        system: &System,
        field: &ForceField,
        looked_for: f64,
        progress: OnProgress,
    ) -> Result<Self, MeasureError> {
        let plan = field.electrostatics.as_ref().ok_or(MeasureError::Nothing)?;
        let charged = charged(system, field, plan);
        if charged.squares == 0.0 {
            return Err(MeasureError::NoCharges);
        }
        let sample = sample(&system.particles.charges);
        let error = (looked_for * FINER).max(charged.usual_force() * FINEST);
        let split = match plan.boundary {
            Boundary::Open => Split::direct(system),
            _ => Split::cheapest(&charged, system.particles.len(), sample.len(), error),
        };
        let exact = Electrostatics {
            cutoff: split.cutoff,
            alpha: split.alpha,
            method: Method::Ewald(split.vectors),
            ..plan.clone()
        };
        let mut forces = vectors_on(
            &exact.ewald_cell(&system.cell),
            exact.alpha,
            &split.vectors,
            charged.k,
            (&system.particles.positions, &system.particles.charges),
            &sample,
            &mut |part| progress(part * split.reciprocal_share),
        );
        let term = exact.short_range(&system.species)?;
        let pairs = Pairs::new(system, field, &exact, &term);
        let blocks = sample.chunks(BLOCK).zip(forces.chunks_mut(BLOCK));
        for (number, (some, to)) in blocks.enumerate() {
            pairs.add(some, to);
            let part = ((number + 1) * BLOCK) as f64 / sample.len() as f64;
            progress(split.reciprocal_share + (1.0 - split.reciprocal_share) * part.min(1.0));
        }
        add_rest(system, field, exact, &sample, &mut forces);
        Ok(Self {
            sample,
            forces,
            cutoff: split.cutoff,
            alpha: split.alpha,
            vectors: split.number,
            error,
        })
    }

    /// How far forces on all particles are from the exact ones of the sample.
    pub fn measure(&self, forces: &[Vec3<f64>]) -> Measured {
        let (mut square, mut whole, mut largest) = (0.0, 0.0, 0.0_f64);
        for (&i, &exact) in self.sample.iter().zip(&self.forces) {
            let off = (forces[i] - exact).norm2();
            square += off;
            whole += exact.norm2();
            largest = largest.max(off);
        }
        let n = self.sample.len().max(1) as f64;
        Measured {
            particles: self.sample.len(),
            absolute: (square / n).sqrt(),
            relative: (square / whole.max(f64::MIN_POSITIVE)).sqrt(),
            largest: largest.sqrt(),
            usual: (whole / n).sqrt(),
        }
    }
}

/// Every k-th charged particle. k has neither of the factors 2 and 3 that salts, lattices and waters repeat by.
fn sample(charges: &[f64]) -> Vec<usize> {
    let charged: Vec<usize> = (0..charges.len()).filter(|&i| charges[i] != 0.0).collect();
    let least = charged.len().div_ceil(SAMPLE);
    let common = |k: &usize| [2, 3].iter().any(|p| k.is_multiple_of(*p));
    let step = (least..).find(|k| !common(k)).unwrap_or(least);
    charged.into_iter().step_by(step.max(1)).collect()
}

/// Particles whose pairs are summed before the next look at the clock.
const BLOCK: usize = 32;

/// How the exact sum is split.
struct Split {
    cutoff: f64,
    alpha: f64,
    vectors: ReciprocalVectors,
    number: usize,
    reciprocal_share: f64,
}

/// Nanoseconds, about: a reciprocal vector of a particle; a look at a pair; a pair within the cut-off.
const RECIPROCAL: f64 = 0.8;
const LOOK: f64 = 2.0;
const PAIR: f64 = 20.0;

impl Split {
    /// The cut-off at which reciprocal vectors and pairs together cost least.
    fn cheapest(charged: &Charged, particles: usize, sample: usize, error: f64) -> Self {
        let each = error * 0.5_f64.sqrt();
        let spacing = (charged.volume / charged.particles).cbrt();
        let (all, sample) = (particles as f64, sample as f64);
        let density = all / charged.volume;
        let mut best: Option<(f64, Self)> = None;
        for step in 0..60 {
            let cutoff = spacing * 1.08_f64.powi(step);
            let alpha = charged.alpha(cutoff, each);
            let vectors = crate::forces::pme::estimate::vectors(charged, alpha, each);
            let number = half_of(charged, &vectors);
            let sphere = 4.0 / 3.0 * std::f64::consts::PI * cutoff.powi(3);
            let reciprocal_cost = RECIPROCAL * number * (all + 4.0 * sample);
            // A cut-off beyond half of the cell meets several images.
            let images = 1.0 + 8.0 * sphere / charged.volume;
            let pair_cost = sample * (LOOK * all * images + PAIR * density * sphere);
            let cost = reciprocal_cost + pair_cost;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                let split = Self {
                    cutoff,
                    alpha,
                    vectors,
                    number: number as usize,
                    reciprocal_share: reciprocal_cost / cost,
                };
                best = Some((cost, split));
            }
        }
        best.map_or_else(|| Self::plain(charged, spacing, each), |(_, split)| split)
    }

    /// All pairs and no reciprocal vectors: erfc(αr) is one for all of them.
    fn direct(system: &System) -> Self {
        let positions = &system.particles.positions;
        let far = |r: &Vec3<f64>| (*r - positions[0]).norm();
        let cutoff = 2.1 * positions.iter().map(far).fold(f64::MIN_POSITIVE, f64::max);
        Self {
            cutoff,
            alpha: 1e-9 / cutoff,
            vectors: ReciprocalVectors {
                reach: [0; 3],
                within: Within::Box,
            },
            number: 0,
            reciprocal_share: 0.0,
        }
    }

    fn plain(charged: &Charged, cutoff: f64, each: f64) -> Self {
        let alpha = charged.alpha(cutoff, each);
        let vectors = crate::forces::pme::estimate::vectors(charged, alpha, each);
        let number = half_of(charged, &vectors) as usize;
        Self {
            cutoff,
            alpha,
            vectors,
            number,
            reciprocal_share: 0.5,
        }
    }
}

/// Reciprocal vectors of a set, without their mirror images.
fn half_of(charged: &Charged, set: &ReciprocalVectors) -> f64 {
    let Within::Length(longest) = set.within else {
        return set.reach.iter().map(|&n| 2.0 * n as f64 + 1.0).product::<f64>() / 2.0;
    };
    2.0 / 3.0 * std::f64::consts::PI * charged.cell.volume() * longest.powi(3)
}

/// Direct sums over all particles and their images.
struct Pairs<'a> {
    system: &'a System,
    term: &'a PairTerm,
    coulomb: f64,
    /// Fractional coordinates, within 0 and 1 along periodic axes.
    places: Vec<Vec3<f64>>,
    heights: Vec3<f64>,
    reach: [i32; 3],
    cutoff: f64,
}

impl<'a> Pairs<'a> {
    fn new(system: &'a System, field: &ForceField, plan: &Electrostatics, term: &'a PairTerm) -> Self {
        let cell = &system.cell;
        let heights = cell.heights();
        let places = system.particles.positions.iter().map(|r| {
            let s = cell.fractional(*r).to_array();
            let wrapped: [f64; 3] = std::array::from_fn(|k| {
                if cell.periodic()[k] {
                    s[k] - s[k].floor()
                } else {
                    s[k]
                }
            });
            Vec3::from(wrapped)
        });
        Self {
            places: places.collect(),
            reach: std::array::from_fn(|k| match cell.periodic()[k] {
                true => (plan.cutoff / heights[k] + 0.5).floor() as i32,
                false => 0,
            }),
            cutoff: plan.cutoff,
            coulomb: field.coulomb_constant,
            system,
            term,
            heights,
        }
    }

    fn add(&self, some: &[usize], forces: &mut [Vec3<f64>]) {
        some.par_iter()
            .zip(forces)
            .for_each(|(&i, force)| *force += self.on(i));
    }

    fn on(&self, i: usize) -> Vec3<f64> {
        let periodic = self.system.cell.periodic();
        let here = self.places[i];
        let partners = self.system.exclusions.of(i as u32);
        let mut sum = Vec3::zero();
        for (j, &there) in self.places.iter().enumerate() {
            let mut s = (there - here).to_array();
            for k in 0..3 {
                if periodic[k] {
                    s[k] -= f64::from(i8::from(s[k] > 0.5) - i8::from(s[k] < -0.5));
                }
            }
            // Beyond the nearest image, nothing is left out.
            let far = |k: usize| self.reach[k] == 0 && s[k].abs() * self.heights[k] > self.cutoff;
            if far(0) || far(1) || far(2) {
                continue;
            }
            let excluded = i != j && partners.binary_search(&(j as u32)).is_ok();
            sum += self.images(i, j, Vec3::from(s), excluded);
        }
        sum
    }

    /// The force of all images of j within the cut-off on i, but for i itself and the nearest image of what is
    /// excluded.
    fn images(&self, i: usize, j: usize, s: Vec3<f64>, excluded: bool) -> Vec3<f64> {
        let cell = &self.system.cell;
        let nearest = if excluded {
            cell.minimum_image(cell.position(s)).norm2() * (1.0 + 1e-9)
        } else {
            0.0
        };
        let [a, b, c] = self.reach;
        let mut sum = Vec3::zero();
        for x in -a..=a {
            for y in -b..=b {
                for z in -c..=c {
                    let d = cell.position(s + Vec3::new(f64::from(x), f64::from(y), f64::from(z)));
                    let r2 = d.norm2();
                    if r2 >= self.cutoff * self.cutoff || r2 == 0.0 || (excluded && r2 <= nearest) {
                        continue;
                    }
                    sum += d * (2.0 * self.derivative(i, j, r2));
                }
            }
        }
        sum
    }

    /// du/d(r²).
    fn derivative(&self, i: usize, j: usize, r2: f64) -> f64 {
        let p = &self.system.particles;
        let row = &self.term.rows[0];
        let table = &self.term.table;
        let u = self
            .term
            .family
            .energy_and_derivative(Pair { r2, table }, &row.coefficients);
        u.derivative * self.coulomb * p.charges[i] * p.charges[j]
    }
}

/// Pairs that are left out or scaled, and what surrounds the cell.
fn add_rest(
    system: &System,
    field: &ForceField,
    plan: Electrostatics,
    sample: &[usize],
    forces: &mut [Vec3<f64>],
) {
    let p = &system.particles;
    let mut all = vec![Vec3::zero(); p.len()];
    let sums = ChargeSums::of(&p.charges);
    let unwrapped = |i: usize| p.positions[i] + system.cell.translation(p.images[i]);
    plan.rest(
        &system.cell,
        field.coulomb_constant,
        sums,
        &unwrapped,
        &p.charges,
        &mut all,
    );
    if let Ok(term) = plan.short_range(&system.species) {
        let charges = ForceField {
            pairs: vec![term],
            electrostatics: Some(plan),
            coulomb_constant: field.coulomb_constant,
            ..ForceField::new(system.units)
        };
        for listed in charges.listed_pairs(system) {
            add_listed(system, field.coulomb_constant, &listed, &mut all);
        }
    }
    for (&i, force) in sample.iter().zip(forces) {
        *force += all[i];
    }
}

fn add_listed(system: &System, coulomb: f64, listed: &ListedPairs, forces: &mut [Vec3<f64>]) {
    let p = &system.particles;
    for &(atoms, factor) in &listed.pairs {
        let [i, j] = atoms.map(|a| a as usize);
        let d = system.cell.minimum_image(p.positions[j] - p.positions[i]);
        let charges = coulomb * p.charges[i] * p.charges[j];
        let u = listed.act([p.species[i], p.species[j]], charges, factor, d.norm2());
        let force = d * (-2.0 * u.derivative);
        forces[j] += force;
        forces[i] -= force;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_every_sort_of_site() {
        // Waters: O, H, H.
        let charges = [-0.8, 0.4, 0.4].repeat(10_000);
        let some = sample(&charges);
        assert!(some.len() <= SAMPLE && some.len() > SAMPLE / 2);
        for site in 0..3 {
            let of = some.iter().filter(|&&i| i % 3 == site).count();
            assert!(of * 4 > some.len(), "{site}: {of}");
        }
        assert_eq!(sample(&[0.0, 1.0, 0.0, -1.0]), [1, 3]);
        assert_eq!(sample(&[0.0; 5]), [0; 0]);
        assert_eq!(sample(&[1.0; 1000]).len(), 1000);
    }
}
