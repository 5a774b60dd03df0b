//! The kernels of a simulation, and what they share with the host.

use crate::engines::Precision;
use debye_gpu::{Address, Addresses, ConstAddress, CudaError, Device, Kernel, ModuleSource};

use super::arrays::words_of;
use super::constraints::ConstrainedGroups;
use super::frame::{Frame, Region};
use super::layout::{BLOCK, Layout, WARP};
use super::resident::{GROUP_SUMS, VIRIAL_SUMS};
use super::rules::{Ensemble, Fire, Rules, ScalingThermostat, VelocityScaling};
use super::shared::{BoundingBox, Facing, Real, Speed, Uint4};
use super::terms::{Kind, Terms};

/// Values of `Setup::due`.
pub(super) const DUE_ALWAYS: u32 = 0;
pub(super) const DUE_WITHOUT_SUMS: u32 = 1;
pub(super) const DUE_WITH_SUMS: u32 = 2;
pub(super) const DUE_WITH_LIST: u32 = 3;

debye_gpu::device_struct! {
    /// What does not change while a graph is replayed.
    pub(super) struct Setup {
        frame: Frame,
        dt: f64,
        cutoff: f64,
        seed: u64,
        /// Of the lists.
        radius2: f32,
        radius: f32,
        /// Columns, and layers of a column for the sort.
        nx: u32,
        ny: u32,
        nz: u32,
        /// Columns on either side that may be within the radius.
        reach_x: u32,
        reach_y: u32,
        /// Of all blocks there is room for.
        slots: u32,
        blocks: u32,
        /// A bit for every axis that ends.
        open: u32,
        /// As in [`Rules`].
        remove_every: u32,
        scale_every: u32,
        rescale_every: u32,
        /// How far a particle of a body may be from its anchor.
        arm: f32,
        /// For which steps bonded terms, constraints and a mesh are: [`DUE_ALWAYS`], [`DUE_WITHOUT_SUMS`],
        /// [`DUE_WITH_SUMS`]; for what is there while its list is good: [`DUE_WITH_LIST`].
        pub(super) due: u32,
        /// Square of the distance within which short terms of orientations may act while a list lasts.
        short2: f32,
        /// Room: places of a stage, groups of 32 candidates of a warp, rows of a body, near blocks.
        stage: u32,
        most_groups: u32,
        rows: u32,
        most_near: u32,
    }

    /// What a list was found to need where it did not fit.
    #[derive(Default)]
    pub(super) struct Needed {
        pub(super) blocks: u32,
        /// Blocks of a column.
        pub(super) column_blocks: u32,
        pub(super) near_blocks: u32,
        /// Places of a stage.
        pub(super) places: u32,
        /// Groups of candidates of a warp.
        pub(super) groups: u32,
        /// Rows of a body.
        pub(super) rows: u32,
        /// 1: differences of places must be wrapped.
        pub(super) wrap: u32,
        /// 1: another frame.
        pub(super) frame: u32,
    }

    /// Words in device memory that steer a run. Kernels read them first and may return at once.
    #[derive(Default)]
    pub(super) struct Control {
        /// Steps done.
        pub(super) step: u64,
        /// Steps to do.
        pub(super) target: u64,
        /// Which of the two `pos` is now.
        pub(super) parity: u32,
        /// Which of the two of everything else is now.
        pub(super) side: u32,
        /// The list must be made anew before the next step.
        pub(super) stale: u32,
        /// A list did not fit: nothing more happens until the host has made room.
        pub(super) overflow: u32,
        /// 1 + a particle whose position is no number.
        pub(super) failed: u32,
        /// Blocks in use.
        pub(super) blocks: u32,
        /// What the next step needs besides forces and motion, and whether it has it: bits of `rules`.
        pub(super) split: u32,
        /// The cell cannot be followed.
        pub(super) cell_invalid: u32,
        /// A particle moved too far in this step.
        pub(super) moved: u32,
        /// Blocks of this step that are done.
        pub(super) finished: u32,
        /// A list is being made.
        pub(super) building: u32,
        /// Lists made.
        pub(super) builds: u32,
        pub(super) needed: Needed,
        /// Pairs listed, low and high word.
        pub(super) pairs: [u32; 2],
        /// Square of the largest displacement since the list, as bits.
        pub(super) farthest: u32,
        /// How often a barostat was kept from changing a length by more than a tenth.
        pub(super) limited: u32,
        /// 1 + a particle whose position this step made no number.
        pub(super) failed_now: u32,
        /// The cell has changed, and constraints with it.
        pub(super) stretched: u32,
        /// Of the beginning of a step that changes the cell.
        pub(super) virial: [f64; 3],
        /// By which it changed.
        pub(super) factors: [f64; 3],
        /// A constraint that cannot be satisfied: 2³² − 1 − its number, and the length found, as bits.
        pub(super) unsolved: u64,
        /// Whether the mesh of a step without sums, and of one with them, has nothing to do now.
        pub(super) rests: [u32; 2],
    }

    /// What a mesh leaves besides forces. After it in memory, by kind: what the mean force is of the sums; nothing for
    /// those without a charge.
    pub(super) struct MeshLeft {
        /// Of its forces on all charged particles, as whole numbers.
        pub(super) sums: [i64; 3],
        /// Of Coulomb's law.
        pub(super) strength: f64,
        /// Energy of a net charge's background, times the volume.
        pub(super) background: f64,
    }

    /// Everything in device memory. Arrays marked * are there twice, one half after the other.
    pub(super) struct World {
        pub(super) control: Address<Control>,
        /// * Upper halves and kinds, by `Control::parity`.
        pub(super) pos: Address<Uint4>,
        /// * Lower halves, axis by axis, by `low_half` of the kernels.
        pub(super) low: Address<u32>,
        /// * Axis by axis, by `Control::side` like all that follow.
        pub(super) velocities: Address<Speed>,
        /// *
        pub(super) ids: Address<u32>,
        /// * Axis by axis.
        pub(super) images: Address<i32>,
        /// Positions the list was made from.
        pub(super) reference: Address<Uint4>,
        /// The column of each block.
        pub(super) block_column: Address<u32>,
        /// The first block of each column, and their number.
        pub(super) column_blocks: Address<u32>,
        pub(super) boxes: Address<BoundingBox>,
        pub(super) warp_boxes: Address<BoundingBox>,
        pub(super) stage_counts: Address<u32>,
        pub(super) stages: Address<u32>,
        pub(super) lists: Address<u16>,
        /// How long each body's list is, or its last part; where lists are those of warps, its own place in the stage.
        pub(super) rows_of: Address<u16>,
        /// Rows of the first part of each body's list where it has three, and of all but the last part; only there where
        /// lists have parts.
        pub(super) parts_of: Address<u16>,
        /// Of bodies.
        pub(super) keys: Address<u32>,
        /// Of bodies.
        pub(super) order: Address<u32>,
        pub(super) starts: Address<u32>,
        pub(super) forces: Address<f64>,
        pub(super) partial: Address<f64>,
        pub(super) parameters: ConstAddress<Real>,
        pub(super) tables: ConstAddress<Real>,
        pub(super) kinds: ConstAddress<Kind>,
        /// Which rows of `parameters` a kind has, where several share them.
        pub(super) row_classes: ConstAddress<u32>,
        /// By id: bit k, the pair with particle id + k − `EXCLUDED_BELOW` is excluded.
        pub(super) excluded_near: ConstAddress<u64>,
        /// Where the other excluded pairs of a particle begin.
        pub(super) excluded_starts: ConstAddress<u32>,
        /// Ids of their partners, ascending.
        pub(super) excluded_far: ConstAddress<u32>,
        pub(super) frame: Address<Frame>,
        pub(super) thermostats: Address<ScalingThermostat>,
        pub(super) groups: Address<VelocityScaling>,
        pub(super) ensemble: ConstAddress<Ensemble>,
        pub(super) fire: Address<Fire>,
        /// * The slot of each particle; only there with bonded terms or constraints.
        pub(super) slot_of: Address<u32>,
        /// Forces of bonded terms, axis by axis, with a barostat their virial, and where particles turn their torques; only
        /// there with them.
        pub(super) bonded: Address<f64>,
        /// * Orientations as quaternions, component by component, and angular momenta in the laboratory's axes, axis by axis,
        /// half a kick behind; these and what follows only where particles turn.
        pub(super) turns: Address<Speed>,
        pub(super) momenta: Address<Speed>,
        /// * What others see of them, by `Control::parity`.
        pub(super) facings: Address<Facing>,
        pub(super) torques: Address<f64>,
        /// Only there with a mesh.
        pub(super) mesh: ConstAddress<MeshLeft>,
        /// Energy and virial of the mesh, without their strength, and of what surrounds all images.
        pub(super) mesh_sums: ConstAddress<f64>,
    }
}

impl Setup {
    /// Room for particles.
    pub(super) fn slots(&self) -> usize {
        self.slots as usize
    }
}

/// Numbers of the simulation that the kernels need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    pub(super) region: Region,
    pub(super) dt: f64,
    pub(super) seed: u64,
    /// Radius of the lists, and how near to each other anchors of bodies can be that have a pair within a cut-off.
    pub(super) radius: f64,
    pub(super) cutoff: f64,
    /// How far a particle of a body may be from its anchor.
    pub(super) arm: f64,
    /// The longest cut-off of the short terms of orientations.
    pub(super) short: f64,
}

/// A kernel that works on everything.
pub(super) type OnWorld = Kernel<(Addresses<World>, Setup)>;

/// The kernels of one layout.
pub(super) struct Kernels {
    pub(super) keys: OnWorld,
    pub(super) columns: OnWorld,
    pub(super) place: OnWorld,
    pub(super) boxes: OnWorld,
    pub(super) stages: OnWorld,
    pub(super) lists: OnWorld,
    pub(super) commit: OnWorld,
    /// Forces of pairs, where they are computed beside those of a mesh.
    pub(super) pairs: Option<OnWorld>,
    pub(super) step: OnWorld,
    /// Steps that need sums.
    pub(super) split: Option<Split>,
    /// Forces, energies and sums of what is there; those of pairs beside a mesh come first.
    pub(super) evaluate_pairs: Option<OnWorld>,
    pub(super) evaluate: OnWorld,
    /// Sets the step to stop at, where the last one was reached.
    pub(super) aim: Kernel<(Addresses<World>, u64, u64)>,
    pub(super) steps_left: Kernel<(Addresses<World>, u64)>,
}

/// Forces and sums, without and with the virial for a barostat, then motion.
pub(super) struct Split {
    pub(super) forces_sums: Option<OnWorld>,
    pub(super) forces_sums_virial: Option<OnWorld>,
    pub(super) moves: OnWorld,
}

/// The modules of these.
struct SplitSources {
    forces_sums: Option<ModuleSource>,
    forces_sums_virial: Option<ModuleSource>,
    moves: ModuleSource,
}

impl SplitSources {
    fn all(self) -> impl Iterator<Item = ModuleSource> {
        let forces = self.forces_sums.into_iter().chain(self.forces_sums_virial);
        forces.chain([self.moves])
    }
}

/// What kernels are compiled for.
#[derive(Clone, Copy)]
pub(super) struct KernelConfig<'a> {
    pub(super) layout: &'a Layout,
    pub(super) terms: &'a Terms,
    pub(super) rules: &'a Rules,
    pub(super) region: &'a Region,
    /// Whether there are forces of bonded terms or of a mesh besides those of pairs.
    pub(super) bonded: bool,
    /// Whether there is a mesh.
    pub(super) meshed: bool,
    /// What there is of particles at fixed distances.
    pub(super) constrained: Option<ConstrainedGroups>,
}

impl KernelConfig<'_> {
    /// Whether kernels look for particles by their numbers.
    pub(super) fn numbered(self) -> bool {
        self.bonded || self.constrained.is_some()
    }

    /// Numbers of a block that evaluates: energies by term, the virial, and sums of every group.
    pub(super) fn sums(self) -> usize {
        let of_group = GROUP_SUMS + usize::from(self.terms.axes > 0);
        self.terms.count + VIRIAL_SUMS + of_group * self.rules.groups()
    }

    /// Numbers of a particle that bonded terms give: force, with a barostat the virial, where particles turn the torque.
    pub(super) fn of_links(self) -> usize {
        let virial = if self.rules.scale_every > 0 { 3 } else { 0 };
        let torque = if self.terms.axes > 0 { 3 } else { 0 };
        3 + virial + torque
    }

    /// Whether there is nothing but rigid waters on a mesh.
    pub(super) fn alone(self) -> bool {
        self.meshed && self.constrained.is_some() && self.terms.bodies.pure()
    }

    /// A module that knows how particles are kept and how they move.
    pub(super) fn module(self, name: &str, text: &str) -> ModuleSource {
        let flag = u32::from;
        crate::engines::cuda::kernels::source(name, text)
            .define("WRAP", flag(self.layout.wrap))
            .define("LANES", self.layout.grain.lanes)
            .define("SITES", self.layout.grain.sites)
            .define("PRECISION", self.terms.precision as u32)
            .define("TRICLINIC", flag(!self.region.cell.is_orthorhombic()))
            .define("MOVING", flag(self.rules.scale_every > 0))
            .define("LANGEVIN", flag(self.terms.langevin))
            .define("CONSTRAINED", flag(self.constrained.is_some()))
            .define("MESHED", flag(self.meshed))
            .define("TURNING", flag(self.terms.axes > 0))
            .define("AXES", self.terms.axes)
            .define("ROW_CLASSES", flag(self.terms.shares_rows()))
            .define("VARIED", flag(self.terms.varied))
            .define("ALONE", flag(self.alone()))
    }

    /// A module that also knows the lists and what acts.
    fn with_lists(self, name: &str, text: &str) -> ModuleSource {
        let (layout, terms, rules) = (self.layout, self.terms, self.rules);
        let flag = u32::from;
        self.module(name, text)
            .define("STAGED", terms.staged_bytes())
            .define("STAGED_NUMBERS", terms.staged_numbers())
            .define("TILES", flag(layout.tiles))
            .define("GROUPS_OF", rules.groups())
            .define("EXCLUSIONS", flag(terms.excluded.any))
            .define("PARTED", flag(terms.parted()))
            .define("SHORT", flag(terms.short > 0.0))
            .define("SOME_APOLAR", flag(terms.some_apolar))
            .define("BONDED", flag(self.bonded))
            .define("NUMBERED", flag(self.numbered()))
    }

    /// All modules that know the lists.
    pub(super) fn of_lists(self, minimizes: bool) -> Vec<ModuleSource> {
        let always = [self.rebuild(), self.step(), self.evaluate()];
        let descent = minimizes.then(|| self.minimize());
        let split = self.split().into_iter().flat_map(SplitSources::all);
        always.into_iter().chain(split).chain(descent).collect()
    }

    /// The module that makes lists.
    pub(super) fn rebuild(self) -> ModuleSource {
        self.with_lists("rebuild.cu", include_str!("../kernels/rebuild.cu"))
            .define("MANY", u32::from(self.layout.groups > WARP))
    }

    /// The module that uses them.
    pub(super) fn step(self) -> ModuleSource {
        self.of_steps("step.cu", include_str!("../kernels/step.cu"))
    }

    /// The modules of steps that need sums, where there are any.
    fn split(self) -> Option<SplitSources> {
        let forces = |virial: bool| {
            self.of_steps("split.cu", include_str!("../kernels/split.cu"))
                .define("VIRIAL", u32::from(virial))
        };
        self.rules.split().then(|| SplitSources {
            forces_sums: self.rules.sums_alone().then(|| forces(false)),
            forces_sums_virial: (self.rules.scale_every > 0).then(|| forces(true)),
            moves: self
                .module("move.cu", include_str!("../kernels/move.cu"))
                .define("GROUPS_OF", self.rules.groups()),
        })
    }

    fn of_steps(self, name: &str, text: &str) -> ModuleSource {
        let few_registers = self.terms.precision == Precision::Double || self.terms.axes > 0;
        self.with_pairs(self.with_lists(name, text))
            .define("SPLIT", u32::from(self.rules.split()))
            .define("RESIDENT", if few_registers { 2 } else { 4 })
    }

    /// The module of what the host asks for.
    pub(super) fn evaluate(self) -> ModuleSource {
        self.with_pairs(self.with_lists("evaluate.cu", include_str!("../kernels/evaluate.cu")))
    }

    /// The module of minimization.
    pub(super) fn minimize(self) -> ModuleSource {
        self.with_pairs(self.with_lists("minimize.cu", include_str!("../kernels/minimize.cu")))
    }

    // Quotients and roots to 2 ulp, as the pair functions of single precision are on the CPU; and no care for what is smaller
    // than any normal number, which takes a fifth of their instructions.
    fn with_pairs(self, module: ModuleSource) -> ModuleSource {
        let molecules = self.layout.grain.sites > 1;
        module
            .define("STAGE", if molecules { self.layout.stage } else { 0 })
            .include("pair_terms.cuh", &self.terms.text)
            .option("--prec-div=false")
            .option("--prec-sqrt=false")
            .option("--ftz=true")
    }

    /// The kernels of a descent: forces and sums, then motion.
    pub(super) fn minimization(self, device: &Device) -> Result<[OnWorld; 2], CudaError> {
        let module = device.module(&self.minimize())?;
        let kernels = [
            module.kernel("debye_descent_forces")?,
            module.kernel("debye_descent_move")?,
        ];
        kernels[0].resident_blocks(BLOCK as u32, self.step_shared())?;
        Ok(kernels)
    }

    /// Shared memory of the kernels that use lists.
    pub(super) fn step_shared(self) -> u32 {
        let numbers = 4 * words_of(self.terms.precision).1 * self.terms.staged_numbers();
        self.layout.step_shared(self.terms.staged_bytes()) + numbers as u32
    }
}

impl Split {
    fn new(device: &Device, sources: &SplitSources) -> Result<Self, CudaError> {
        let forces = |source: &Option<ModuleSource>, name| {
            let kernel = |source| device.module(source)?.kernel(name);
            source.as_ref().map(kernel).transpose()
        };
        Ok(Self {
            forces_sums: forces(&sources.forces_sums, "debye_forces_sums")?,
            forces_sums_virial: forces(&sources.forces_sums_virial, "debye_forces_sums_virial")?,
            moves: device.module(&sources.moves)?.kernel("debye_move")?,
        })
    }

    /// The kernels that find forces.
    pub(super) fn forces(&self) -> impl Iterator<Item = &OnWorld> {
        self.forces_sums.iter().chain(&self.forces_sums_virial)
    }
}

impl Kernels {
    pub(super) fn new(device: &Device, case: KernelConfig<'_>) -> Result<Self, CudaError> {
        let (rebuild, step) = (device.module(&case.rebuild())?, device.module(&case.step())?);
        let evaluate = device.module(&case.evaluate())?;
        let split = case.split().map(|sources| Split::new(device, &sources));
        let kernels = Self {
            keys: rebuild.kernel("debye_keys")?,
            columns: rebuild.kernel("debye_columns")?,
            place: rebuild.kernel("debye_place")?,
            boxes: rebuild.kernel("debye_boxes")?,
            stages: rebuild.kernel("debye_stages")?,
            lists: rebuild.kernel("debye_lists")?,
            commit: rebuild.kernel("debye_commit")?,
            pairs: case.meshed.then(|| step.kernel("debye_pairs")).transpose()?,
            step: step.kernel("debye_step")?,
            split: split.transpose()?,
            evaluate_pairs: (case.meshed)
                .then(|| evaluate.kernel("debye_evaluate_pairs"))
                .transpose()?,
            evaluate: evaluate.kernel("debye_evaluate")?,
            aim: evaluate.kernel("debye_aim")?,
            steps_left: evaluate.kernel("debye_steps_left")?,
        };
        // Allows the dynamic shared memory they need.
        let threads = BLOCK as u32;
        kernels
            .stages
            .resident_blocks(threads, case.layout.near_shared())?;
        kernels
            .lists
            .resident_blocks(case.layout.grain.bodies() as u32, case.layout.list_shared())?;
        let pair_kernels = kernels.split.iter().flat_map(Split::forces);
        let forces = kernels.pairs.as_ref().unwrap_or(&kernels.step);
        let evaluates = kernels.evaluate_pairs.as_ref().unwrap_or(&kernels.evaluate);
        for kernel in [forces, evaluates].into_iter().chain(pair_kernels) {
            kernel.resident_blocks(threads, case.step_shared())?;
        }
        Ok(kernels)
    }
}

/// The numbers of a layout.
pub(super) fn setup(layout: &Layout, values: &Values, rules: &Rules) -> Setup {
    // A cell may be stretched by a twentieth before there is another list.
    let stretched = if rules.scale_every > 0 { 0.06 } else { 0.0 };
    let short = values.short + values.radius - values.cutoff + stretched * values.cutoff;
    let ([nx, ny, nz], [reach_x, reach_y]) = (layout.columns, layout.reach);
    Setup {
        frame: values.region.frame(values.radius, values.cutoff),
        dt: values.dt,
        cutoff: values.cutoff,
        seed: values.seed,
        radius2: (values.radius * values.radius) as f32,
        radius: values.radius as f32,
        nx,
        ny,
        nz,
        reach_x,
        reach_y,
        slots: layout.slots() as u32,
        blocks: layout.blocks as u32,
        open: values.region.open(),
        remove_every: rules.remove_every,
        scale_every: rules.scale_every,
        rescale_every: rules.rescale_every,
        arm: values.arm as f32,
        due: DUE_ALWAYS,
        short2: (short * short) as f32,
        stage: layout.stage as u32,
        most_groups: layout.groups as u32,
        rows: layout.rows as u32,
        most_near: layout.near as u32,
    }
}
