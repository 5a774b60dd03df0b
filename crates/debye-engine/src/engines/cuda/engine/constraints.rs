//! Fixed distances on a device: [`HostConstraints`], which are made from the input, and [`ConstraintKernels`], the kernels that use them.

mod printed;

use std::collections::HashMap;
use std::sync::Arc;

use super::kernels::{KernelConfig, Setup, World};
use super::resident::{GROUP_SUMS, VIRIAL_SUMS};
use super::rules::Rules;
use super::terms::Terms;
use super::unsupported;
use crate::engines::EngineError;
use crate::expr::Vec3;
use crate::forces::constraints::{Clusters, Group, Triangle};
use crate::system::{Class, Particles, RigidShape, System};
use debye_gpu::{
    Address, Addresses, Binder, Buffer, Bundle, ConstAddress, CudaError, Device, Kernel, Module,
    ModuleSource, Shape, Stream,
};

/// Numbers of a triangle, and of a shape of water with its two lengths.
const NUMBERS: usize = 7;
pub(super) const SHAPE: usize = NUMBERS + 2;

/// Numbers of a rigid body, of each of its sites, and counts: mass, moments, inverse moments, known directions; place and
/// mass; number of sites, whether it is linear, its reference sites, its first site.
pub(super) const RIGID_NUMBERS: usize = 16;
pub(super) const RIGID_SITE: usize = 4;
pub(super) const RIGID_COUNTS: usize = 6;

/// Sums over the constrained particles of a group: the virial of rotation, Σ m v⊗v, Σ m v.
pub(super) const CONSTRAINT_SUMS: usize = VIRIAL_SUMS + GROUP_SUMS;

/// Threads of a block.
pub(super) const CONSTRAIN_THREADS: usize = 64;

/// Particles at their fixed distances, and velocities that keep them.
pub(super) fn constrained(system: &System) -> Result<Particles, EngineError> {
    let mut system = system.clone();
    if !system.constraints.is_empty() {
        let refused = |e: crate::system::ConstraintError| EngineError::Unsupported(e.to_string());
        system.constrain_positions().map_err(refused)?;
        system.constrain_velocities().map_err(refused)?;
    }
    // Sites without mass have no velocity between two steps: rigid_bodies.cuh.
    let Particles {
        velocities, masses, ..
    } = &mut system.particles;
    for (v, _) in velocities.iter_mut().zip(masses).filter(|(_, m)| **m == 0.0) {
        *v = Vec3::zero();
    }
    Ok(system.particles)
}

/// What there is of particles at fixed distances: the kernels are compiled for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConstrainedGroups {
    waters: bool,
    clusters: bool,
    rigid_bodies: bool,
}

/// The groups of a system, as the kernels take them.
#[derive(Clone, Debug)]
pub(super) struct HostConstraints {
    clusters: Clusters,
    waters: usize,
    shape_of: Vec<u32>,
    shapes: Vec<[f64; SHAPE]>,
    starts: Vec<[u32; 2]>,
    parents: Vec<u32>,
    inverse_masses: Vec<f64>,
    ends: Vec<[u32; 2]>,
    lengths: Vec<f64>,
    /// Of each rigid body its shape and its first place.
    rigid: Vec<[u32; 2]>,
    rigid_numbers: Vec<[f64; RIGID_NUMBERS]>,
    rigid_counts: Vec<[u32; RIGID_COUNTS]>,
    rigid_sites: Vec<[f64; RIGID_SITE]>,
}

impl HostConstraints {
    /// Nothing where there are no constraints.
    pub(super) fn new(system: &System) -> Result<Option<Self>, EngineError> {
        if system.constraints.is_empty() {
            return Ok(None);
        }
        let clusters = system
            .clusters()
            .map_err(|e| EngineError::Unsupported(e.to_string()))?;
        let mut made = Self {
            waters: 0,
            shape_of: Vec::new(),
            shapes: Vec::new(),
            starts: Vec::new(),
            parents: Vec::new(),
            inverse_masses: Vec::new(),
            ends: Vec::new(),
            lengths: Vec::new(),
            rigid: Vec::new(),
            rigid_numbers: Vec::new(),
            rigid_counts: Vec::new(),
            rigid_sites: Vec::new(),
            clusters,
        };
        for kind in &system.constraints.bodies {
            made.add_shape(&kind.shape);
        }
        let clusters = std::mem::take(&mut made.clusters);
        let mut known = HashMap::new();
        for group in &clusters.groups {
            match (clusters.triangle(group), clusters.body(group)) {
                (Some(triangle), _) => made.add_water(&clusters, group, triangle, &mut known),
                (None, Some((shape, _))) => made.rigid.push([shape as u32, group.places.start as u32]),
                (None, None) => made.add_cluster(&clusters, group),
            }
        }
        made.starts
            .push([made.parents.len() as u32, made.lengths.len() as u32]);
        made.clusters = clusters;
        Ok(Some(made))
    }

    /// Molecules constrained by SETTLE: their particles, and how far from the first the others are.
    pub(super) fn triangles(&self) -> impl Iterator<Item = ([u32; 3], f64)> {
        let groups = self.clusters.groups.iter();
        groups.filter_map(|group| {
            self.clusters.triangle(group)?;
            let atoms = self.clusters.atoms[group.places.clone()].try_into().ok()?;
            Some((atoms, self.clusters.bonds(group)[0].length))
        })
    }

    fn add_water(
        &mut self,
        clusters: &Clusters,
        group: &Group,
        triangle: &Triangle<f64>,
        known: &mut HashMap<[u64; SHAPE], u32>,
    ) {
        let sides = clusters.bonds(group);
        let mut numbers = [0.0; SHAPE];
        numbers[..NUMBERS].copy_from_slice(&triangle.numbers());
        numbers[NUMBERS..].copy_from_slice(&[sides[0].length, sides[2].length]);
        let shape = *known.entry(numbers.map(f64::to_bits)).or_insert_with(|| {
            self.shapes.push(numbers);
            self.shapes.len() as u32 - 1
        });
        self.waters += 1;
        self.shape_of.push(shape);
    }

    fn add_shape(&mut self, shape: &RigidShape) {
        let (references, first) = (shape.references(), self.rigid_sites.len() as u32);
        let mut numbers = [0.0; RIGID_NUMBERS];
        numbers[0] = shape.mass();
        numbers[1..4].copy_from_slice(&shape.rotor().inertia);
        numbers[4..7].copy_from_slice(&shape.inverse_inertia());
        numbers[7..].copy_from_slice(references.directions.map(Vec3::to_array).as_flattened());
        self.rigid_numbers.push(numbers);
        let [a, b, c] = references.sites;
        let linear = u32::from(shape.rotor().class() == Class::Linear);
        let count = shape.sites().len() as u32;
        self.rigid_counts.push([count, linear, a, b, c, first]);
        let sites = shape.sites().iter().zip(shape.masses());
        self.rigid_sites.extend(sites.map(|(s, &m)| [s.x, s.y, s.z, m]));
    }

    fn add_cluster(&mut self, clusters: &Clusters, group: &Group) {
        self.starts
            .push([self.parents.len() as u32, self.lengths.len() as u32]);
        self.parents.extend(clusters.parents(group));
        self.inverse_masses.extend(clusters.inverse_masses(group));
        for bond in clusters.bonds(group) {
            self.ends.push(bond.ends);
            self.lengths.push(bond.length);
        }
    }

    /// Refuses thermostats that scale some particles of a molecule and not the others.
    pub(super) fn check_groups(&self, terms: &Terms) -> Result<(), EngineError> {
        let group_of = |&i: &u32| terms.kinds[terms.kind_of[i as usize] as usize].group;
        for group in &self.clusters.groups {
            let atoms = &self.clusters.atoms[group.places.clone()];
            if let Some(other) = atoms.iter().find(|i| group_of(i) != group_of(&atoms[0])) {
                return Err(unsupported(format!(
                    "thermostats that scale the velocities of some particles of a molecule with constraints and not of \
                     others (particles {} and {})",
                    atoms[0] + 1,
                    other + 1
                )));
            }
        }
        Ok(())
    }

    fn groups(&self) -> usize {
        self.clusters.groups.len()
    }

    /// What kinds of groups there are.
    pub(super) fn kinds(&self) -> ConstrainedGroups {
        ConstrainedGroups {
            waters: self.waters > 0,
            clusters: self.distances() > 0,
            rigid_bodies: !self.rigid.is_empty(),
        }
    }

    /// Groups of distances that are no waters.
    fn distances(&self) -> usize {
        self.groups() - self.waters - self.rigid.len()
    }

    fn blocks(&self) -> usize {
        let groups = [self.waters, self.distances(), self.rigid.len()];
        groups.map(|n| n.div_ceil(CONSTRAIN_THREADS)).iter().sum()
    }

    /// Numbers of a block for its sums.
    fn width(rules: &Rules) -> usize {
        VIRIAL_SUMS + CONSTRAINT_SUMS * rules.groups()
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self, rules: &Rules) -> usize {
        let places = self.clusters.atoms.len();
        size_of_val(&self.clusters.atoms[..])
            + size_of_val(&self.shape_of[..])
            + size_of_val(&self.shapes[..])
            + size_of_val(&self.starts[..])
            + size_of_val(&self.parents[..])
            + size_of_val(&self.inverse_masses[..])
            + size_of_val(&self.ends[..])
            + size_of_val(&self.lengths[..])
            + size_of_val(&self.rigid[..])
            + size_of_val(&self.rigid_numbers[..])
            + size_of_val(&self.rigid_counts[..])
            + size_of_val(&self.rigid_sites[..])
            + 8 * (9 * self.parents.len() + 3 * places + self.blocks() * Self::width(rules))
    }
}

impl ConstrainedGroups {
    /// The modules of motion and of sums.
    pub(super) fn sources(self, case: KernelConfig<'_>) -> [ModuleSource; 2] {
        let module = |name, text| {
            case.module(name, text)
                .define("GROUPS_OF", case.rules.groups())
                .define("BONDED", u32::from(case.bonded))
                .define("WATERS", u32::from(self.waters))
                .define("CLUSTERS", u32::from(self.clusters))
                .define("RIGID_BODIES", u32::from(self.rigid_bodies))
                .include("settle.cuh", &printed::settle())
                .include("rigid_formulas.cuh", &printed::rigid_bodies())
        };
        let motion = module("constrain.cu", include_str!("../kernels/constrain.cu"));
        let sums = module(
            "constrained_sums.cu",
            include_str!("../kernels/constrained_sums.cu"),
        );
        [motion, sums.define("SUMMING", u32::from(case.rules.split()))]
    }
}

debye_gpu::device_struct! {
    /// Constraints in device memory. Waters come first, then clusters, then rigid bodies. Every particle has a place: three
    /// for each water, then those of the clusters, then the sites of the bodies.
    pub(super) struct ConstraintTables {
        /// The particle of each place.
        atoms: ConstAddress<u32>,
        /// Of each water.
        shape_of: ConstAddress<u32>,
        shapes: ConstAddress<f64>,
        /// First place and first bond of each cluster, counted from the first cluster; and the ends.
        starts: ConstAddress<u32>,
        /// By place of the clusters: which place it is connected to, within its cluster.
        parents: ConstAddress<u32>,
        /// By place of the clusters.
        inverse_masses: ConstAddress<f64>,
        /// Of each bond, within its cluster.
        ends: ConstAddress<u32>,
        lengths: ConstAddress<f64>,
        /// For each place of the clusters: OLD, NEW, RATE of the kernels.
        scratch: Address<f64>,
        /// Of now, by place, axis by axis.
        velocities: Address<f64>,
        partial: Address<f64>,
        /// Of each rigid body: the number of its shape, and its first place.
        rigid: ConstAddress<u32>,
        /// Of each shape: mass, three moments and their inverse, and three directions that are known in its axes.
        rigid_numbers: ConstAddress<f64>,
        /// Of each shape: sites, whether it is linear, three sites that give the directions, the first site of all.
        rigid_counts: ConstAddress<u32>,
        /// Of each site: its place in the axes of the body, and its mass.
        rigid_sites: ConstAddress<f64>,
        tolerance: f64,
        rigid_bodies: u32,
        unused: u32,
        waters: u32,
        clusters: u32,
        places: u32,
        cluster_places: u32,
    }
}

type OnConstraints = Kernel<(Addresses<World>, Addresses<ConstraintTables>, Setup)>;

/// Sums over the particles at fixed distances.
#[derive(Debug)]
pub(super) struct ConstraintSums {
    /// Virial of the forces of constraints that make up for those on the particles.
    pub(super) forces: [f64; 6],
    /// Virial of those that keep groups together as they turn, for every group of thermostats.
    pub(super) turning: Vec<[f64; 6]>,
    /// Σ m v⊗v and Σ m v of every group of thermostats.
    pub(super) groups: Vec<([f64; 6], [f64; 3])>,
}

/// Rigid waters in the order of slots, where all of them are bodies.
struct ByBody {
    /// Slots of a body.
    lanes: usize,
    motion: OnConstraints,
    /// Kicks and motion, where there are no other particles and the forces are in memory.
    step: Option<OnConstraints>,
}

impl ByBody {
    fn new(
        module: &Module,
        tables: &HostConstraints,
        case: KernelConfig<'_>,
    ) -> Result<Option<Self>, CudaError> {
        let molecules = case.terms.bodies.molecules_among();
        if molecules != tables.groups() || tables.shapes.len() != 1 {
            return Ok(None);
        }
        let alone = case.alone();
        Ok(Some(Self {
            lanes: case.layout.grain.lanes,
            motion: module.kernel("debye_constrain_bodies")?,
            step: alone.then(|| module.kernel("debye_step_bodies")).transpose()?,
        }))
    }
}

/// The constraints of a simulation on its device.
pub(super) struct ConstraintKernels {
    tables: HostConstraints,
    bytes: usize,
    /// Whose velocities these are.
    atoms: Arc<[u32]>,
    velocities: Buffer<f64>,
    partial: Buffer<f64>,
    bundle: Bundle<ConstraintTables>,
    motion: OnConstraints,
    by_body: Option<ByBody>,
    sums: Option<OnConstraints>,
    reshape: Option<OnConstraints>,
    now: OnConstraints,
}

impl ConstraintKernels {
    pub(super) fn new(
        device: &Device,
        tables: HostConstraints,
        case: KernelConfig<'_>,
    ) -> Result<Self, CudaError> {
        let [motion, sums] = &tables.kinds().sources(case);
        let (motion, sums) = (device.module(motion)?, device.module(sums)?);
        let places = tables.clusters.atoms.len();
        let velocities = device.zeros(3 * places)?;
        let partial = device.zeros(tables.blocks() * HostConstraints::width(case.rules))?;
        let mut at = Binder::default();
        let world = ConstraintTables {
            atoms: at.address(&device.upload(&tables.clusters.atoms)?),
            shape_of: at.address(&device.upload(&tables.shape_of)?),
            shapes: at.address(&device.upload(tables.shapes.as_flattened())?),
            starts: at.address(&device.upload(tables.starts.as_flattened())?),
            parents: at.address(&device.upload(&tables.parents)?),
            inverse_masses: at.address(&device.upload(&tables.inverse_masses)?),
            ends: at.address(&device.upload(tables.ends.as_flattened())?),
            lengths: at.address(&device.upload(&tables.lengths)?),
            scratch: at.address(&device.zeros::<f64>(9 * tables.parents.len())?),
            velocities: at.address(&velocities),
            partial: at.address(&partial),
            rigid: at.address(&device.upload(tables.rigid.as_flattened())?),
            rigid_numbers: at.address(&device.upload(tables.rigid_numbers.as_flattened())?),
            rigid_counts: at.address(&device.upload(tables.rigid_counts.as_flattened())?),
            rigid_sites: at.address(&device.upload(tables.rigid_sites.as_flattened())?),
            rigid_bodies: tables.rigid.len() as u32,
            unused: 0,
            tolerance: tables.clusters.tolerance(),
            waters: tables.waters as u32,
            clusters: tables.distances() as u32,
            places: places as u32,
            cluster_places: tables.parents.len() as u32,
        };
        let (splits, moves) = (case.rules.split(), case.rules.scale_every > 0);
        let by_body = ByBody::new(&motion, &tables, case)?;
        Ok(Self {
            bytes: tables.bytes(case.rules),
            atoms: tables.clusters.atoms.clone().into(),
            velocities,
            partial,
            bundle: at.bundle(world),
            motion: motion.kernel("debye_constrain")?,
            by_body,
            sums: splits.then(|| sums.kernel("debye_constraint_sums")).transpose()?,
            reshape: moves.then(|| motion.kernel("debye_reshape")).transpose()?,
            now: sums.kernel("debye_constrain_now")?,
            tables,
        })
    }

    /// What kinds of groups there are.
    pub(super) fn kinds(&self) -> ConstrainedGroups {
        self.tables.kinds()
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn shape(&self) -> Shape {
        Shape::new(self.tables.blocks() as u32, CONSTRAIN_THREADS as u32)
    }

    /// Kernels in the order of slots, and how they are launched; none where the sums of their blocks, three numbers each, have
    /// no room.
    fn by_body(&self, setup: &Setup) -> Option<(&ByBody, Shape)> {
        let by_body = self.by_body.as_ref()?;
        let blocks = setup.slots().div_ceil(by_body.lanes * CONSTRAIN_THREADS);
        (3 * blocks <= self.partial.len())
            .then(|| (by_body, Shape::new(blocks as u32, CONSTRAIN_THREADS as u32)))
    }

    fn whole_step(&self, setup: &Setup) -> Option<(&OnConstraints, Shape)> {
        let (by_body, shape) = self.by_body(setup)?;
        Some((by_body.step.as_ref()?, shape))
    }

    /// Whether [`Self::queue_step`] does all that is left of a step when the forces of pairs and of the mesh are there.
    pub(super) fn steps_alone(&self, setup: &Setup) -> bool {
        self.whole_step(setup).is_some()
    }

    /// Queues the motion of a step without sums, after the kernel that gives the kicks where there is one.
    pub(super) fn queue_step(
        &self,
        s: &Stream,
        world: &Bundle<World>,
        setup: Setup,
    ) -> Result<(), CudaError> {
        match self.whole_step(&setup) {
            Some((kernel, shape)) => kernel.launch(s, shape, (world, &self.bundle, setup)),
            None => self.queue_motion(s, world, setup),
        }
    }

    /// Queues the motion of a step, after the kernel that gives the kicks.
    pub(super) fn queue_motion(
        &self,
        s: &Stream,
        world: &Bundle<World>,
        setup: Setup,
    ) -> Result<(), CudaError> {
        let (kernel, shape) = match self.by_body(&setup) {
            Some((by_body, shape)) => (&by_body.motion, shape),
            None => (&self.motion, self.shape()),
        };
        kernel.launch(s, shape, (world, &self.bundle, setup))
    }

    /// Queues the sums of a step, after those of all other particles.
    pub(super) fn queue_sums(
        &self,
        s: &Stream,
        world: &Bundle<World>,
        setup: Setup,
    ) -> Result<(), CudaError> {
        match &self.sums {
            Some(sums) => sums.launch(s, self.shape(), (world, &self.bundle, setup)),
            None => Ok(()),
        }
    }

    /// Queues what a change of the cell asks for, after the motion.
    pub(super) fn queue_reshape(
        &self,
        s: &Stream,
        world: &Bundle<World>,
        setup: Setup,
    ) -> Result<(), CudaError> {
        match &self.reshape {
            Some(reshape) => reshape.launch(s, self.shape(), (world, &self.bundle, setup)),
            None => Ok(()),
        }
    }

    /// Queues velocities of now and what they sum to. Forces must be those of now.
    pub(super) fn queue_snapshot(
        &self,
        s: &Stream,
        world: &Bundle<World>,
        setup: Setup,
    ) -> Result<(), CudaError> {
        self.now.launch(s, self.shape(), (world, &self.bundle, setup))
    }

    /// What the host reads of a snapshot: sums of blocks, and velocities.
    pub(super) fn snapshot_buffers(&self) -> [&Buffer<f64>; 2] {
        [&self.partial, &self.velocities]
    }

    /// What velocities of now sum to, from the sums of blocks.
    pub(super) fn sums(&self, parts: &[f64], groups: usize) -> ConstraintSums {
        let width = VIRIAL_SUMS + CONSTRAINT_SUMS * groups;
        let mut all = vec![0.0; width];
        for block in parts.chunks_exact(width) {
            all.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        let at = |first: usize| std::array::from_fn(|k| all[first + k]);
        let of = |first: usize| std::array::from_fn(|k| all[first + k]);
        let begins = || (0..groups).map(|g| VIRIAL_SUMS + CONSTRAINT_SUMS * g);
        ConstraintSums {
            forces: at(0),
            turning: begins().map(at).collect(),
            groups: begins()
                .map(|g| (at(g + VIRIAL_SUMS), of(g + 2 * VIRIAL_SUMS)))
                .collect(),
        }
    }

    /// The particles whose velocities are looked at, in their order.
    pub(super) fn atoms(&self) -> Arc<[u32]> {
        Arc::clone(&self.atoms)
    }

    /// What `Control::unsolved` says: a distance that could not be constrained.
    pub(super) fn failed(&self, unsolved: u64, step: u64) -> EngineError {
        let clusters = &self.tables.clusters;
        let mut bond = (u32::MAX - (unsolved >> 32) as u32) as usize;
        for group in &clusters.groups {
            let here = clusters.bonds(group).len();
            if bond < here {
                let (particles, wanted) = clusters.constraint(group, bond);
                let found = f64::from(f32::from_bits(unsolved as u32));
                return EngineError::Constraint {
                    step,
                    particles,
                    wanted,
                    found,
                };
            }
            bond -= here;
        }
        EngineError::Device(format!("constraint {bond} is none"))
    }
}
