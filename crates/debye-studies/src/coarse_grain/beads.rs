//! [`Beads`]: water or a lipid bilayer as kernels see it, with forces in double precision.

use std::sync::OnceLock;

use debye::engines::Engine;
use debye::engines::reference::{Evaluation, evaluate};
use debye::expr::Vec3;
use debye::forces::ForceField;
use debye::prelude::{DeviceChoice, Minimize, Precision, RunOptions, Simulation, Units};
use debye::run::engine_on;
use debye::simulation::OutputPlan;
use debye::system::builders::replicate;
use debye::system::{Cell, Exclusions, Particles, Topology};
use debye_gpu::Device;
use rayon::prelude::*;

use super::interactions::{self, CUTOFF2, Numbers};
use super::sequential::{Motion, PairList};
use crate::random::Random;
use crate::study::{Input, StudyError};

/// Most beads whose forces are compared.
const COMPARED: usize = 200;
/// Water of each lipid of 15 beads, as in the bilayer of the ELBA toolkit.
const HYDRATION: usize = 33;
/// The temperature of bilayers, K.
pub(super) const BILAYER_KELVIN: f64 = 303.0;
/// How much farther than the cut-off lists reach, nm.
pub(super) const BUFFER: f64 = 0.1;

/// What the beads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Sticky water, SSD/E: rigid bodies.
    Water,
    /// DOPC in water, ELBA: points, charges and dipoles.
    Lipids,
}

impl Model {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Water, Self::Lipids];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Water => "water",
            Self::Lipids => "lipids",
        }
    }

    /// An input file of so many beads.
    pub(super) fn input(self, beads: usize, femtoseconds: f64, ensemble: &str) -> String {
        let (build, set, kelvin) = match self {
            Self::Water => (
                format!("kind = \"liquid\", counts = {{ W = {beads} }}, density = \"0.996 g/cm^3\""),
                "ssd-e",
                298.0,
            ),
            Self::Lipids => {
                let lipids = 2 * (beads as f64 / (2 * (15 + HYDRATION)) as f64).round().max(1.0) as usize;
                let waters = beads - 15 * lipids;
                (
                    format!("kind = \"bilayer\", lipids = {{ DOPC = {lipids} }}, waters = {waters}"),
                    "elba",
                    BILAYER_KELVIN,
                )
            }
        };
        let motion = match ensemble {
            "nve" => String::new(),
            _ => format!("temperature = \"{kelvin} K\"\ntime = \"1 ps\"\n"),
        };
        format!(
            "units = \"md\"\n[system]\nbuild = {{ {build} }}\n[forcefield]\ninclude = \"{set}\"\n\
             [integrator]\nkind = \"{ensemble}\"\ntimestep = \"{femtoseconds} fs\"\n{motion}\
             [run]\nsteps = 1\nseed = 1\ntemperature = \"{kelvin} K\"\n"
        )
    }

    /// A simulation of so many beads, as it is built.
    pub(super) fn simulation(
        self,
        beads: usize,
        femtoseconds: f64,
        ensemble: &str,
    ) -> Result<Simulation, StudyError> {
        let text = self.input(beads, femtoseconds, ensemble);
        let mut simulation = Simulation::parse(&text, "", self.name()).map_err(StudyError::other)?;
        simulation.output = OutputPlan::nothing();
        Ok(simulation)
    }
}

/// How beads lie that come from no simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Everywhere alike.
    Random,
    /// Crowded in a corner, and few elsewhere.
    Clustered,
    /// Against the faces.
    Boundary,
    /// So crowded that rows of cells and lists are too short at first.
    Overflow,
}

/// Beads in a rectangular cell.
#[derive(Clone)]
pub struct Beads {
    /// What they are.
    pub model: Model,
    label: String,
    pub(super) side: [f64; 3],
    pub(super) numbers: Numbers,
    /// Everything, with bonds.
    pub(super) simulation: Simulation,
    pub(super) axes: Vec<[Vec3<f64>; 3]>,
    reference: OnceLock<Vec<(usize, [Vec3<f64>; 2])>>,
    list: OnceLock<PairList>,
}

/// What a way of computing gives: forces and torques of all beads, and the energy.
#[derive(Clone, Debug, Default)]
pub struct Acted {
    /// On each.
    pub forces: Vec<Vec3<f64>>,
    /// On each; zero where it has no axes.
    pub torques: Vec<Vec3<f64>>,
    /// The sum of all pairs; NaN where nobody asks for it.
    pub energy: f64,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Random, Self::Clustered, Self::Boundary, Self::Overflow];
}

impl Beads {
    /// So many, after minimization and some steps: on the device if there is one, else on the processor.
    ///
    /// # Errors
    /// A system that does not fit its cell, or an engine that fails.
    pub fn relaxed(
        model: Model,
        beads: usize,
        steps: u64,
        device: Option<&Device>,
    ) -> Result<Self, StudyError> {
        let mut simulation = model.simulation(beads, 2.0, "langevin")?;
        simulation.run.precision = Precision::Mixed;
        simulation.run.device = if device.is_some() {
            DeviceChoice::Cuda(0)
        } else {
            DeviceChoice::Cpu
        };
        let mut options = RunOptions {
            device,
            ..RunOptions::default()
        };
        let mut run = simulation.clone().start_with(&mut options)?;
        run.minimize(&Minimize {
            max_steps: 300,
            ..Minimize::fire(100.0, Units::Md)
        })?;
        run.steps(steps)?;
        simulation.system.particles = run.particles()?;
        let label = format!("{beads} beads, {}", model.name());
        Self::of(model, label, simulation)
    }

    /// About so many, that lie like this.
    ///
    /// # Errors
    /// Never, for the force fields that come with the library.
    pub fn lying(model: Model, order: Order, beads: usize) -> Result<Self, StudyError> {
        let mut simulation = model.simulation(840, 2.0, "langevin")?;
        let system = &mut simulation.system;
        // Between beads, and how far lists reach.
        let (spacing, reach) = match model {
            Model::Water => (0.33, 0.9 + BUFFER),
            Model::Lipids => (0.52, 1.2 + BUFFER),
        };
        // Distinct cells on all sides.
        let least = (3.0 * reach / spacing).ceil();
        let cells = (1.6 * beads as f64).cbrt().ceil().max(least) as usize;
        let side = cells as f64 * spacing;
        let mut random = Random(11);
        let species = system.species.len();
        let mut particles = Particles::default();
        for n in 0..cells.pow(3) {
            let at = [n % cells, n / cells % cells, n / (cells * cells)].map(|i| i as f64);
            let near = |share: f64| at.iter().all(|&x| x < share * cells as f64);
            let keep = match order {
                Order::Random => random.unit() < 0.6,
                Order::Clustered => near(0.5) || random.unit() < 0.1,
                Order::Overflow => near(0.6),
                Order::Boundary => at.iter().any(|&x| x < 0.5 || x > cells as f64 - 1.5),
            };
            if keep {
                let packed = if order == Order::Overflow { 0.93 } else { 1.0 };
                // On both sides of the faces, which some cross within a step.
                let first = if order == Order::Boundary { -0.075 } else { 0.01 };
                let place = at.map(|x| (x * packed + first + 0.15 * random.unit()) * spacing);
                let kind = random.below(species);
                let s = &system.species[kind];
                let molecule = particles.len() as u32;
                particles.push(Vec3::from(place), kind as u32, s.mass, s.charge, molecule);
            }
        }
        system.cell = Cell::orthorhombic([side; 3]).map_err(StudyError::other)?;
        system.particles = particles;
        system.topology = Topology::default();
        system.exclusions = Exclusions::default();
        system.labels = Default::default();
        system.orient_at_random(3);
        // nm/ps and rad/ps, as fast as thermal ones.
        let mut within = |most: f64| (2.0 * random.unit() - 1.0) * most;
        let p = &mut system.particles;
        for i in 0..p.len() {
            p.velocities[i] = Vec3::from([0; 3].map(|_| within(0.5)));
            let (axes, inertia) = (p.orientations.axes(i), p.orientations.rotor(i).inertia);
            if let Some(momentum) = p.orientations.angular_momenta.get_mut(i) {
                *momentum = (0..3).fold(Vec3::zero(), |sum, k| sum + axes[k] * (inertia[k] * within(5.0)));
            }
        }
        let label = format!("{} beads, {}, {order:?}", system.particles.len(), model.name()).to_lowercase();
        Self::of(model, label, simulation)
    }

    /// Copies of them side by side.
    pub(super) fn replicated(&self, copies: [usize; 3]) -> Result<Self, StudyError> {
        let mut simulation = self.simulation.clone();
        simulation.system = replicate(&self.simulation.system, copies).map_err(StudyError::other)?;
        let beads = simulation.system.particles.len();
        Self::of(
            self.model,
            format!("{beads} beads, {}", self.model.name()),
            simulation,
        )
    }

    fn of(model: Model, label: String, mut simulation: Simulation) -> Result<Self, StudyError> {
        let system = &mut simulation.system;
        let side: [f64; 3] = std::array::from_fn(|k| system.cell.to_arrays()[k][k]);
        for r in &mut system.particles.positions {
            // As single precision keeps them, within the cell.
            let inside: [f64; 3] = std::array::from_fn(|k| {
                let x = r.to_array()[k].rem_euclid(side[k]) as f32;
                f64::from(if f64::from(x) < side[k] { x } else { 0.0 })
            });
            *r = Vec3::from(inside);
        }
        let o = &system.particles.orientations;
        let axes = (0..system.particles.len()).map(|i| o.axes(i)).collect();
        Ok(Self {
            model,
            label,
            side,
            numbers: Numbers::new(&simulation.forces, &simulation.system.species)?,
            simulation,
            axes,
            reference: OnceLock::new(),
            list: OnceLock::new(),
        })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.axes.len()
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }

    /// Pairs within the cut-off and a buffer, made once.
    pub(super) fn list(&self) -> &PairList {
        self.list.get_or_init(|| PairList::new(self))
    }

    /// All of it, with bonds.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    pub(super) fn particles(&self) -> &Particles {
        &self.simulation.system.particles
    }

    /// Whether a pair has no pair terms.
    pub(super) fn excluded(&self, i: usize, j: usize) -> bool {
        self.simulation.system.exclusions.contains(i as u32, j as u32)
    }

    /// From one bead to the nearest image of another.
    #[inline(always)]
    pub(super) fn apart(&self, i: usize, j: usize) -> Vec3<f64> {
        let positions = &self.particles().positions;
        self.nearest(positions[j] - positions[i])
    }

    /// The nearest image of a difference.
    #[inline(always)]
    pub(super) fn nearest(&self, d: Vec3<f64>) -> Vec3<f64> {
        let d = d.to_array();
        Vec3::from(std::array::from_fn(|k| {
            d[k] - self.side[k] * (d[k] / self.side[k]).round()
        }))
    }

    /// The same beads elsewhere.
    pub(super) fn moved(&self, to: &Motion) -> Self {
        let mut simulation = self.simulation.clone();
        simulation.system.particles.positions.clone_from(&to.positions);
        Self {
            model: self.model,
            label: self.label.clone(),
            side: self.side,
            numbers: self.numbers.clone(),
            simulation,
            axes: to.axes.clone(),
            reference: OnceLock::new(),
            list: OnceLock::new(),
        }
    }

    /// A pair: what the second does to the first. `None` beyond the cut-off.
    #[inline(always)]
    pub(super) fn pair(&self, i: usize, j: usize) -> Option<(f64, debye::potentials::OrientedForces<f64>)> {
        let (d, species) = (self.apart(i, j), &self.particles().species);
        let species = [species[i], species[j]];
        let row = &self.numbers.rows[species[0] as usize * self.numbers.species + species[1] as usize];
        (d.norm2() < row[CUTOFF2]).then(|| {
            let axes = [self.axes[i], self.axes[j]];
            interactions::act(&self.numbers, species, d, axes)
        })
    }

    /// Forces and torques on some beads, by loops over all others.
    fn reference(&self) -> &[(usize, [Vec3<f64>; 2])] {
        self.reference.get_or_init(|| {
            let n = self.len();
            let on = |i: usize| {
                let mut sums = [Vec3::zero(); 2];
                for j in (0..n).filter(|&j| j != i && !self.excluded(i, j)) {
                    if let Some((_, f)) = self.pair(i, j) {
                        sums[0] -= f.force;
                        sums[1] += f.torques[0];
                    }
                }
                (i, sums)
            };
            let step = n.div_ceil(COMPARED);
            (0..n).into_par_iter().step_by(step).map(on).collect()
        })
    }

    /// Forces and torques of bonds, angles and restraints, in double precision.
    pub(super) fn bonded(&self) -> Evaluation {
        evaluate(&self.simulation.system, &self.bonded_field())
    }

    /// The force field without terms of pairs.
    pub(super) fn bonded_field(&self) -> ForceField {
        let mut field = self.simulation.forces.clone();
        field.pairs.clear();
        field.oriented.clear();
        field
    }

    /// Its engine, on a device or on the processor.
    pub(super) fn engine(
        &self,
        precision: Precision,
        device: Option<&Device>,
    ) -> Result<Box<dyn Engine>, StudyError> {
        let mut simulation = self.simulation.clone();
        simulation.run.precision = precision;
        Ok(engine_on(&simulation, device)?)
    }
}

impl Input for Beads {
    type Output = Acted;

    fn label(&self) -> String {
        self.label.clone()
    }

    fn work(&self) -> f64 {
        self.len() as f64
    }

    /// The larger of the differences of forces and of torques, by the largest of each.
    fn error(&self, acted: &Acted) -> f64 {
        if [acted.forces.len(), acted.torques.len()] != [self.len(); 2] {
            return f64::NAN;
        }
        let off = |of: fn(&Acted) -> &Vec<Vec3<f64>>, which: usize| {
            let (mut worst, mut largest) = (0.0_f64, f64::MIN_POSITIVE);
            for (i, want) in self.reference() {
                let off = (of(acted)[*i] - want[which]).norm();
                worst = if off.is_nan() { f64::NAN } else { worst.max(off) };
                largest = largest.max(want[which].norm());
            }
            worst / largest
        };
        let [forces, torques] = [off(|a| &a.forces, 0), off(|a| &a.torques, 1)];
        if forces.is_nan() || torques.is_nan() {
            return f64::NAN;
        }
        forces.max(torques)
    }
}
