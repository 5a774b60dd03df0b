//! Errors of energy and pressure before they are measured.
//!
//! Forces err at random and errors of many charges cancel; energy and pressure do not. What the pair term leaves out
//! beyond the cut-off, −k_e Σ q_i q_j w(r) with w = erfc(αr)/r + (2α/√π) exp(−α²r²) for the virial, adds up over all
//! charges wherever each has the same surroundings: in a crystal it is a sum over shells of ions of either sign, tens
//! of times larger than for charges at random. So pairs around the cut-off are looked at ([`PairShells`]).
//!
//! A mesh, averaged over where it lies, has of each reciprocal-space vector the energy ½ k_e G(m) Σ_s W²(m+sK)
//! |S(m+sK)|² instead of ½ k_e g(m) |S(m)|², with its aliases m+sK; |S|² are those of [`super::Structure`].
//!
//! In rigid waters only the virial of whole molecules counts, since constraints take up the rest: lever arms are those
//! of the centers of mass, and the form factor of the molecule has its part in the derivative.

use std::f64::consts::{FRAC_2_SQRT_PI, PI, TAU};

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use super::Influence;
use super::estimate::{Charged, Moments};
use super::expected::complete_up_to;
use crate::expr::{Mat3, Vec3};
use crate::forces::electrostatics::{Electrostatics, MeshPlan, Method};
use crate::forces::ewald::reciprocal;
use crate::system::{RigidBodies, System};

/// Estimated errors of energy and pressure: their sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PressureError {
    /// Energy that pairs beyond the cut-off have.
    pub energy_pairs: f64,
    /// Energy: the mesh's, or that of reciprocal-space vectors left out.
    pub energy_rest: f64,
    /// Pressure that pairs beyond the cut-off have.
    pub pairs: f64,
    /// Pressure: the mesh's, or that of reciprocal-space vectors left out.
    pub rest: f64,
}

impl PressureError {
    /// Both errors of the pressure together. Neither is random, so that they add where they have one sign.
    pub fn total(&self) -> f64 {
        self.pairs + self.rest
    }

    /// Both errors of the energy together.
    pub fn energy(&self) -> f64 {
        self.energy_pairs + self.energy_rest
    }
}

/// What errors of energy and pressure depend on besides the settings: where the charges are.
#[derive(Clone, Debug)]
pub struct ChargeOrder {
    charged: Charged,
    shells: PairShells,
    rigid: Vec<RigidPair>,
}

/// Σ q_a q_b over all rigid waters, and the distance.
#[derive(Clone, Copy, Debug)]
struct RigidPair {
    charges: f64,
    distance: f64,
}

/// The α for which |S|² are looked at, times the cut-off: one for all settings, so that one estimate is the other.
const LOOKED_AT: f64 = 3.2;

/// The largest α that is worth it, times the cut-off: beyond it a longer cut-off is cheaper than a finer mesh.
const STEEPEST: f64 = 4.5;

/// What the mesh does to the pressure of rigid waters, over the estimate: molecules around a molecule, which the
/// estimate leaves out, add to it. Measured: 1.2 to 3.
const RIGID: f64 = 2.2;

/// Forces of a mesh err with the period of its points: energies by this part of the spacing times the force, virials by
/// the other. Measured with the optimal influence function, where nothing else is left.
const ENERGY_PERIOD: f64 = 0.1;
const VIRIAL_PERIOD: f64 = 0.5;

impl ChargeOrder {
    /// Of a system, for pair terms that end at this cut-off.
    pub fn of(system: &System, charged: Charged, cutoff: f64) -> Self {
        let p = &system.particles;
        let of_kind = |water: &crate::system::RigidWater| {
            let sides = water.sides().map(|side| {
                let [a, b] = side.ends.map(|end| end as usize);
                let product = |m: &[u32; 3]| p.charges[m[a] as usize] * p.charges[m[b] as usize];
                RigidPair {
                    charges: water.molecules.iter().map(product).sum(),
                    distance: side.length,
                }
            });
            sides.into_iter()
        };
        let of_body = |kind: &RigidBodies| {
            let n = kind.shape.sites().len();
            let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
            let pairs = pairs.map(|(a, b)| {
                let product = |m: &[u32]| p.charges[m[a] as usize] * p.charges[m[b] as usize];
                RigidPair {
                    charges: kind.molecules().map(product).sum(),
                    distance: kind.shape.distance(a, b),
                }
            });
            pairs.filter(|pair| pair.charges != 0.0).collect::<Vec<_>>()
        };
        Self {
            charged: charged.placed(&p.positions, &p.charges, LOOKED_AT / cutoff),
            shells: PairShells::of(system, cutoff),
            rigid: (system.constraints.waters.iter().flat_map(of_kind))
                .chain(system.constraints.bodies.iter().flat_map(of_body))
                .collect(),
        }
    }

    /// Errors of settings with the cut-off this was made for; those of multilevel summation are not known.
    pub fn error(&self, plan: &Electrostatics) -> PressureError {
        let [energy_pairs, pairs] = self.pair_error(plan.alpha);
        let [energy_rest, rest] = match &plan.method {
            Method::Mesh(mesh) => self.mesh_error(plan.alpha, mesh),
            Method::Ewald(set) => self.reciprocal_error(plan.alpha, complete_up_to(&self.charged, set)),
            Method::Multilevel(_) => [f64::NAN; 2],
        };
        PressureError {
            energy_pairs,
            energy_rest,
            pairs,
            rest,
        }
    }

    /// Energy and pressure of pairs beyond the cut-off: their size, as the sign changes with a shift of the cut-off.
    pub fn pair_error(&self, alpha: f64) -> [f64; 2] {
        let k = self.charged.k;
        let energy = |r: f64| libm::erfc(alpha * r) / r;
        let virial = |r: f64| energy(r) + FRAC_2_SQRT_PI * alpha * (-(alpha * r).powi(2)).exp();
        [
            k * self.shells.beyond(&self.shells.energy, energy),
            k * self.shells.beyond(&self.shells.virial, virial) / (3.0 * self.charged.volume),
        ]
    }

    /// α from `least` on at which the pair term's error of the pressure is no larger than `pressure`, or the largest
    /// that is worth it.
    pub fn alpha(&self, least: f64, pressure: f64) -> f64 {
        let most = least.max(STEEPEST / self.shells.cutoff);
        let good = |alpha: f64| self.pair_error(alpha)[1] <= pressure;
        if good(least) {
            return least;
        }
        let (mut small, mut large) = (least, most);
        if !good(large) {
            return large;
        }
        while large / small > 1.002 {
            let middle = (small * large).sqrt();
            match good(middle) {
                true => large = middle,
                false => small = middle,
            }
        }
        large
    }

    /// Energy and pressure of a mesh: the mean over all places of the mesh, and how they change with the place.
    pub fn mesh_error(&self, alpha: f64, plan: &MeshPlan) -> [f64; 2] {
        let [energy, pressure] = self.mean_mesh_error(alpha, plan);
        let points: usize = plan.size.iter().product();
        let spacing = (self.charged.cell.volume() / points as f64).cbrt();
        let change = self.charged.mesh_error(alpha, plan) * self.charged.particles.sqrt() * spacing;
        let rigid = if self.rigid.is_empty() { 1.0 } else { RIGID };
        [
            energy.hypot(ENERGY_PERIOD * change),
            (rigid * pressure).hypot(VIRIAL_PERIOD * change / (3.0 * self.charged.volume)),
        ]
    }

    /// Mean energy and pressure that a mesh has too much, over all places of the mesh.
    fn mean_mesh_error(&self, alpha: f64, plan: &MeshPlan) -> [f64; 2] {
        let cell = &self.charged.cell;
        let [a, b, c] = reciprocal(cell);
        let rows = Mat3::from_rows(a, b, c);
        let volume = cell.volume();
        let influence = Influence::new(rows, volume, alpha, plan.size, plan.basis, plan.optimal);
        let moments = plan.size.map(|size| Moments::all(plan.basis, size));
        let [along_x, along_y, along_z] = plan.size;
        let of_row = |row: usize| {
            let (x, y) = (row / along_y, row % along_y);
            let mut sums = [0.0; 2];
            for z in 0..along_z / 2 + 1 {
                let twice = if z == 0 || 2 * z == along_z { 1.0 } else { 2.0 };
                let m = [&moments[0][x], &moments[1][y], &moments[2][z]];
                let vector = rows.combine(Vec3::new(m[0].number, m[1].number, m[2].number));
                let m2 = vector.norm2();
                if m2 == 0.0 {
                    continue;
                }
                let length = m2.sqrt();
                let own = m[0].own * m[1].own * m[2].own;
                let all = m[0].sums[0] * m[1].sums[0] * m[2].sums[0];
                let g = influence.at([x, y, z]);
                let fall = (PI / alpha).powi(2) * m2;
                let itself = g * own - (-fall).exp() / (PI * volume * m2);
                let energy = self.strength(length) * itself + g * (all - own);
                sums[0] += twice * energy;
                sums[1] += twice * (energy * (1.0 - 2.0 * fall) + self.lever(length) * itself);
            }
            sums
        };
        let rows: Vec<[f64; 2]> = (0..along_x * along_y).into_par_iter().map(of_row).collect();
        let sums = rows
            .iter()
            .fold([0.0; 2], |all, row| [all[0] + row[0], all[1] + row[1]]);
        self.scaled(sums)
    }

    /// Mean energy and pressure that change without vectors longer than `longest`.
    pub fn reciprocal_error(&self, alpha: f64, longest: f64) -> [f64; 2] {
        const STEPS: usize = 400;
        let step = 3.0 * alpha / STEPS as f64;
        let mut sums = [0.0; 2];
        for k in 0..STEPS {
            let m = longest + (k as f64 + 0.5) * step;
            let fall = (PI * m / alpha).powi(2);
            // Σ over m is V ∫ 4πm² dm.
            let g = 4.0 * (-fall).exp() * step;
            let strength = self.strength(m);
            sums[0] += g * strength;
            sums[1] += g * (strength * (1.0 - 2.0 * fall) + self.lever(m));
        }
        self.scaled(sums).map(f64::abs)
    }

    /// From sums over vectors, in units of ½ k_e Σ q², to energy and pressure.
    fn scaled(&self, [energy, virial]: [f64; 2]) -> [f64; 2] {
        let half = 0.5 * self.charged.k * self.charged.squares;
        [half * energy, half * virial / (3.0 * self.charged.volume)]
    }

    /// |S|² of vectors of a length, relative to Σ q².
    fn strength(&self, length: f64) -> f64 {
        self.charged.structure.as_ref().map_or(1.0, |s| s.at(length))
    }

    /// m d/dm of the form factor of rigid molecules, relative to Σ q²: what the virial of molecules has besides that of
    /// their charges.
    fn lever(&self, length: f64) -> f64 {
        let of = |pair: &RigidPair| {
            let x = TAU * length * pair.distance;
            2.0 * pair.charges * (x.cos() - x.sin() / x)
        };
        self.rigid.iter().map(of).sum::<f64>() / self.charged.squares
    }
}

/// Shells of distances: from a little within the cut-off to where nothing is left of erfc.
const SHELLS: usize = 600;
/// Where they begin and end, in units of the cut-off.
const FROM: f64 = 0.95;
const TO: f64 = 1.7;
/// How far a barostat may move shells through the cut-off: errors are those of all cut-offs from 0.95 to 1.05 of the
/// true one.
const SHIFTS: i32 = 10;
const SHIFT: f64 = 0.005;

/// Pairs of charges that are looked at, at most, to find those near the cut-off.
const LOOKS: usize = 100_000_000;
/// The fewest charges whose surroundings are looked at.
const FEWEST: usize = 400;

/// Charges around the charges of a system, by distance: how they alternate near the cut-off.
#[derive(Clone, Debug)]
pub struct PairShells {
    cutoff: f64,
    /// Σ q_i q_j of each shell.
    energy: Sums,
    /// The same times the lever arm of the virial over the distance.
    virial: Sums,
    /// Of how many charges, as a fraction of all.
    share: f64,
}

#[derive(Clone, Debug)]
struct Sums {
    products: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    fn empty() -> Self {
        Self {
            products: vec![0.0; SHELLS],
            squares: vec![0.0; SHELLS],
        }
    }

    fn count(&mut self, shell: usize, product: f64) {
        self.products[shell] += product;
        self.squares[shell] += product * product;
    }

    fn add(&mut self, other: &Self) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
        add(&mut self.products, &other.products);
        add(&mut self.squares, &other.squares);
    }
}

impl PairShells {
    /// Around all charges of a small system, or a sample of them.
    pub fn of(system: &System, cutoff: f64) -> Self {
        let p = &system.particles;
        let charged: Vec<usize> = (0..p.len()).filter(|&i| p.charges[i] != 0.0).collect();
        let most = (LOOKS / charged.len().max(1)).max(FEWEST);
        let least = charged.len().div_ceil(most);
        // Neither 2 nor 3, by which salts, lattices and waters repeat.
        let common = |k: &usize| *k > 1 && [2, 3].iter().any(|p| k.is_multiple_of(*p));
        let step = (least.max(1)..).find(|k| !common(k)).unwrap_or(least);
        let some: Vec<usize> = charged.iter().copied().step_by(step).collect();
        let search = PairSearch::new(system, &charged, cutoff);
        // One order of summation, whatever the number of threads.
        let parts: Vec<[Sums; 2]> = some.par_chunks(64).map(|some| search.sums(some)).collect();
        let (mut energy, mut virial) = (Sums::empty(), Sums::empty());
        for [e, w] in &parts {
            energy.add(e);
            virial.add(w);
        }
        Self {
            cutoff,
            energy,
            virial,
            share: some.len() as f64 / charged.len().max(1) as f64,
        }
    }

    /// ½ Σ over pairs beyond the cut-off of a function of their distance. The root mean square over small changes of
    /// all distances, and no less than charges at random would have.
    fn beyond(&self, sums: &Sums, of: impl Fn(f64) -> f64) -> f64 {
        let width = self.cutoff * (TO - FROM) / SHELLS as f64;
        let at = |k: usize| self.cutoff * FROM + (k as f64 + 0.5) * width;
        let within = |scale: f64| (0..SHELLS).filter(move |&k| at(k) >= scale * self.cutoff);
        let total = |scale: f64| -> f64 {
            let all: f64 = within(scale).map(|k| sums.products[k] * of(at(k) / scale)).sum();
            0.5 * all / self.share
        };
        let random: f64 = within(1.0).map(|k| sums.squares[k] * of(at(k)).powi(2)).sum();
        // What a sample has more of than all charges would.
        let noise = 0.25 * random / (self.share * self.share) * (1.0 - self.share);
        let shifts = (-SHIFTS..=SHIFTS).map(|n| total(1.0 + SHIFT * f64::from(n)).powi(2));
        let mean = shifts.sum::<f64>() / f64::from(2 * SHIFTS + 1);
        let now = total(1.0).powi(2);
        (mean.max(now) - noise).max(0.5 * random / self.share).sqrt()
    }
}

/// What a search for pairs needs.
struct PairSearch<'a> {
    system: &'a System,
    /// Charged particles: number, fractional coordinates, from the particle to the center of its rigid molecule.
    places: Vec<(usize, Vec3<f64>)>,
    levers: Vec<Vec3<f64>>,
    reach: [i32; 3],
    cutoff: f64,
}

impl<'a> PairSearch<'a> {
    fn new(system: &'a System, charged: &[usize], cutoff: f64) -> Self {
        let (cell, p) = (&system.cell, &system.particles);
        let mut levers = vec![Vec3::zero(); p.len()];
        let waters = system.constraints.waters.iter().flat_map(|w| &w.molecules);
        let bodies = system.constraints.bodies.iter().flat_map(RigidBodies::molecules);
        for molecule in waters.map(|atoms| &atoms[..]).chain(bodies) {
            let atoms: Vec<usize> = molecule.iter().map(|&a| a as usize).collect();
            let from = |i: usize| cell.minimum_image(p.positions[i] - p.positions[atoms[0]]);
            let mass: f64 = atoms.iter().map(|&i| p.masses[i]).sum();
            let mut center = Vec3::zero();
            for &i in &atoms {
                center += from(i) * (p.masses[i] / mass);
            }
            for &i in &atoms {
                levers[i] = center - from(i);
            }
        }
        let heights = cell.heights();
        Self {
            system,
            places: charged
                .iter()
                .map(|&i| (i, cell.fractional(p.positions[i])))
                .collect(),
            levers,
            reach: std::array::from_fn(|k| match cell.periodic()[k] {
                true => (TO * cutoff / heights[k] + 0.5).floor() as i32,
                false => 0,
            }),
            cutoff,
        }
    }

    fn sums(&self, some: &[usize]) -> [Sums; 2] {
        let mut sums = [Sums::empty(), Sums::empty()];
        some.iter().for_each(|&i| self.add(i, &mut sums));
        sums
    }

    fn add(&self, i: usize, [energy, virial]: &mut [Sums; 2]) {
        let (cell, p) = (&self.system.cell, &self.system.particles);
        let (periodic, heights) = (cell.periodic(), cell.heights());
        let here = cell.fractional(p.positions[i]);
        let partners = self.system.exclusions.of(i as u32);
        let [a, b, c] = self.reach;
        let (near, far) = (self.cutoff * FROM, self.cutoff * TO);
        for &(j, there) in &self.places {
            let mut s = (there - here).to_array();
            for k in 0..3 {
                if periodic[k] {
                    s[k] -= s[k].round();
                }
            }
            if (0..3).any(|k| self.reach[k] == 0 && s[k].abs() * heights[k] > far) {
                continue;
            }
            // An excluded pair is whole wherever it is, but its further images are not.
            let excluded = i != j && partners.binary_search(&(j as u32)).is_ok();
            for (x, y, z) in images(a, b, c) {
                if excluded && (x, y, z) == (0, 0, 0) {
                    continue;
                }
                let d = cell.position(Vec3::from(s) + Vec3::new(f64::from(x), f64::from(y), f64::from(z)));
                let r2 = d.norm2();
                if r2 < near * near || r2 >= far * far {
                    continue;
                }
                let shell = (r2.sqrt() / self.cutoff - FROM) / (TO - FROM) * SHELLS as f64;
                let shell = (shell as usize).min(SHELLS - 1);
                let product = p.charges[i] * p.charges[j];
                let arm = 1.0 + d.dot(self.levers[j] - self.levers[i]) / r2;
                energy.count(shell, product);
                virial.count(shell, product * arm);
            }
        }
    }
}

fn images(a: i32, b: i32, c: i32) -> impl Iterator<Item = (i32, i32, i32)> {
    (-a..=a).flat_map(move |x| (-b..=b).flat_map(move |y| (-c..=c).map(move |z| (x, y, z))))
}
