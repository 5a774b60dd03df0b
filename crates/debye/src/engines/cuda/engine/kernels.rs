//! The kernels of a simulation, and what they share with the host.

use crate::engines::Precision;
use debye_gpu::{Addresses, CudaError, Device, Kernel, ModuleSource};

use super::frame::{Frame, Region};
use super::layout::{BLOCK, Layout};
use super::rules::Rules;
use super::terms::Terms;

/// What does not change while a graph is replayed; as in the kernels.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Setup {
    frame: Frame,
    dt: f64,
    cutoff: f64,
    seed: u64,
    radius2: f32,
    radius: f32,
    columns: [u32; 3],
    reach: [u32; 2],
    slots: u32,
    blocks: u32,
    open: u32,
    remove_every: u32,
    scale_every: u32,
    baths: u32,
    arm: f32,
    pub(super) links: u32,
    unused: u32,
}
debye_gpu::cuda_struct!(Setup, Control, World);

impl Setup {
    /// Room for particles.
    pub(super) fn slots(&self) -> usize {
        self.slots as usize
    }
}

/// The words that steer a run; as in the kernels.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Control {
    pub(super) step: u64,
    pub(super) target: u64,
    pub(super) parity: u32,
    pub(super) side: u32,
    pub(super) stale: u32,
    pub(super) overflow: u32,
    pub(super) lost: u32,
    pub(super) blocks: u32,
    pub(super) split: u32,
    pub(super) torn: u32,
    pub(super) moved: u32,
    pub(super) finished: u32,
    pub(super) building: u32,
    pub(super) builds: u32,
    pub(super) needed: [u32; 8],
    pub(super) pairs: [u32; 2],
    pub(super) farthest: u32,
    pub(super) held: u32,
    pub(super) nowhere: u32,
    pub(super) stretched: u32,
    pub(super) virial: [f64; 3],
    pub(super) factors: [f64; 3],
    pub(super) unheld: u64,
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
}

/// Where everything lies in device memory; as in the kernels.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct World {
    pub(super) control: u64,
    pub(super) pos: u64,
    pub(super) low: u64,
    pub(super) velocities: u64,
    pub(super) ids: u64,
    pub(super) images: u64,
    pub(super) reference: u64,
    pub(super) block_column: u64,
    pub(super) column_blocks: u64,
    pub(super) boxes: u64,
    pub(super) warp_boxes: u64,
    pub(super) stage_counts: u64,
    pub(super) stages: u64,
    pub(super) lists: u64,
    pub(super) rows_of: u64,
    pub(super) keys: u64,
    pub(super) order: u64,
    pub(super) starts: u64,
    pub(super) forces: u64,
    pub(super) partial: u64,
    pub(super) parameters: u64,
    pub(super) tables: u64,
    pub(super) kinds: u64,
    pub(super) excluded_near: u64,
    pub(super) excluded_starts: u64,
    pub(super) excluded_far: u64,
    pub(super) frame: u64,
    pub(super) baths: u64,
    pub(super) groups: u64,
    pub(super) rules: u64,
    pub(super) fire: u64,
    pub(super) slot_of: u64,
    pub(super) bonded: u64,
    pub(super) mesh: u64,
    pub(super) mesh_sums: u64,
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
    pub(super) evaluate: OnWorld,
}

/// Forces and sums, also with the virial for a barostat, then motion.
pub(super) struct Split {
    pub(super) pull: OnWorld,
    pub(super) pull_virial: Option<OnWorld>,
    pub(super) moves: OnWorld,
}

/// What kernels are compiled for.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) layout: &'a Layout,
    pub(super) terms: &'a Terms,
    pub(super) rules: &'a Rules,
    pub(super) region: &'a Region,
    /// Whether there are forces of bonded terms or of a mesh besides those of pairs.
    pub(super) bonded: bool,
    /// Whether there is a mesh.
    pub(super) meshed: bool,
    /// Whether there are constraints.
    pub(super) held: bool,
}

impl Case<'_> {
    /// Whether kernels look for particles by their numbers.
    pub(super) fn numbered(self) -> bool {
        self.bonded || self.held
    }

    /// Whether there is nothing but rigid waters on a mesh.
    pub(super) fn alone(self) -> bool {
        self.meshed && self.held && self.terms.bodies.pure()
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
            .define("HELD", flag(self.held))
            .define("MESHED", flag(self.meshed))
            .define("ALONE", flag(self.alone()))
    }

    /// A module that also knows the lists and what acts.
    fn with_lists(self, name: &str, text: &str) -> ModuleSource {
        let (layout, terms, rules) = (self.layout, self.terms, self.rules);
        let flag = u32::from;
        let double = terms.precision == Precision::Double;
        self.module(name, text)
            .define("STAGE", layout.stage)
            .define("STAGED", terms.staged_bytes())
            .define("GROUPS", layout.groups)
            .define("ROWS", layout.rows)
            .define("NEAR", layout.near)
            .define("TILES", flag(layout.tiles))
            .define("SPLIT", flag(rules.split()))
            .define("GROUPS_OF", rules.groups())
            .define("EXCLUSIONS", flag(terms.excluded.any))
            .define("BONDED", flag(self.bonded))
            .define("NUMBERED", flag(self.numbered()))
            .define("RESIDENT", if double { 2 } else { 4 })
    }

    /// The module that makes lists.
    pub(super) fn rebuild(self) -> ModuleSource {
        self.with_lists("rebuild.cu", include_str!("../kernels/rebuild.cu"))
    }

    /// The module that uses them.
    pub(super) fn step(self) -> ModuleSource {
        self.with_pairs(self.with_lists("step.cu", include_str!("../kernels/step.cu")))
    }

    /// The module that goes downhill.
    pub(super) fn minimize(self) -> ModuleSource {
        self.with_pairs(self.with_lists("minimize.cu", include_str!("../kernels/minimize.cu")))
    }

    // Quotients and roots to 2 ulp, as the pair functions of single precision are on the CPU; and no care for what is smaller
    // than any normal number, which takes a fifth of their instructions.
    fn with_pairs(self, module: ModuleSource) -> ModuleSource {
        module
            .include("pair_terms.cuh", &self.terms.text)
            .option("--prec-div=false")
            .option("--prec-sqrt=false")
            .option("--ftz=true")
    }

    /// The kernels of a descent: forces and sums, then motion.
    pub(super) fn downhill(self, device: &Device) -> Result<[OnWorld; 2], CudaError> {
        let module = device.module(&self.minimize())?;
        let kernels = [
            module.kernel("debye_downhill_pull")?,
            module.kernel("debye_downhill_move")?,
        ];
        kernels[0].resident_blocks(BLOCK as u32, self.step_shared())?;
        Ok(kernels)
    }

    /// Shared memory of the kernels that use lists.
    pub(super) fn step_shared(self) -> u32 {
        self.layout.step_shared(self.terms.staged_bytes())
    }
}

impl Kernels {
    pub(super) fn new(device: &Device, case: Case<'_>) -> Result<Self, CudaError> {
        let (rebuild, step) = (device.module(&case.rebuild())?, device.module(&case.step())?);
        let split = if case.rules.split() {
            let moving = case.rules.scale_every > 0;
            Some(Split {
                pull: step.kernel("debye_pull")?,
                pull_virial: moving.then(|| step.kernel("debye_pull_virial")).transpose()?,
                moves: step.kernel("debye_move")?,
            })
        } else {
            None
        };
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
            split,
            evaluate: step.kernel("debye_evaluate")?,
        };
        // Allows the dynamic shared memory they need.
        let threads = BLOCK as u32;
        kernels
            .lists
            .resident_blocks(case.layout.grain.bodies() as u32, case.layout.list_shared())?;
        let pulls = kernels
            .split
            .iter()
            .flat_map(|s| [Some(&s.pull), s.pull_virial.as_ref()]);
        let forces = kernels.pairs.as_ref().unwrap_or(&kernels.step);
        for kernel in [forces, &kernels.evaluate].into_iter().chain(pulls.flatten()) {
            kernel.resident_blocks(threads, case.step_shared())?;
        }
        Ok(kernels)
    }
}

/// The numbers of a layout.
pub(super) fn setup(layout: &Layout, values: &Values, rules: &Rules) -> Setup {
    Setup {
        frame: values.region.frame(values.radius, values.cutoff),
        dt: values.dt,
        cutoff: values.cutoff,
        seed: values.seed,
        radius2: (values.radius * values.radius) as f32,
        radius: values.radius as f32,
        columns: layout.columns,
        reach: layout.reach,
        slots: layout.slots() as u32,
        blocks: layout.blocks as u32,
        open: values.region.open(),
        remove_every: rules.remove_every,
        scale_every: rules.scale_every,
        baths: rules.baths.len() as u32,
        arm: values.arm as f32,
        links: 0,
        unused: 0,
    }
}
