//! The kernels of a simulation, and what they share with the host.

use crate::backend::cuda::{Addresses, CudaError, Device, Kernel, ModuleSource};
use crate::expr::Vec3;

use super::layout::{BLOCK, Layout};
use super::terms::Terms;

/// What does not change while a graph is replayed; as in the kernels.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Setup {
    per_length: [f64; 3],
    dt: f64,
    seed: u64,
    unit: [f32; 3],
    limit2: f32,
    radius2: f32,
    radius: f32,
    length: [f32; 3],
    columns: [u32; 3],
    reach: [u32; 2],
    slots: u32,
    blocks: u32,
}
crate::cuda_struct!(Setup, Control, World);

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
    pub(super) moved: u32,
    pub(super) finished: u32,
    pub(super) building: u32,
    pub(super) builds: u32,
    pub(super) needed: [u32; 7],
    pub(super) nowhere: u32,
    pub(super) pairs: [u32; 2],
}

/// Numbers of the simulation that the kernels need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    pub(super) lengths: Vec3<f64>,
    pub(super) dt: f64,
    pub(super) seed: u64,
    pub(super) radius: f64,
    pub(super) buffer: f64,
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
}

/// A kernel that works on everything.
pub(super) type OnWorld = Kernel<(Addresses<World>, Setup)>;

/// The kernels of one layout.
pub(super) struct Kernels {
    pub(super) keys: OnWorld,
    pub(super) columns: OnWorld,
    pub(super) place: OnWorld,
    pub(super) boxes: OnWorld,
    pub(super) lists: OnWorld,
    pub(super) commit: OnWorld,
    pub(super) step: OnWorld,
    pub(super) evaluate: OnWorld,
}

/// The modules of a layout: what makes lists, and what uses them.
pub(super) fn sources(layout: &Layout, terms: &Terms) -> [ModuleSource; 2] {
    let with = |source: ModuleSource| {
        source
            .define("STAGE", layout.stage)
            .define("GROUPS", layout.groups)
            .define("ROWS", layout.rows)
            .define("NEAR", layout.near)
            .define("WRAP", u32::from(layout.wrap))
    };
    let rebuild = ModuleSource::new("rebuild.cu", include_str!("../kernels/rebuild.cu"));
    let step = ModuleSource::new("step.cu", include_str!("../kernels/step.cu"));
    // Quotients and roots to 2 ulp, as the pair functions of single precision are on the CPU.
    let step = with(step)
        .define("LANGEVIN", u32::from(terms.langevin))
        .include("pair_terms.cuh", &terms.text)
        .option("--prec-div=false")
        .option("--prec-sqrt=false");
    [with(rebuild), step]
}

impl Kernels {
    pub(super) fn new(device: &Device, layout: &Layout, terms: &Terms) -> Result<Self, CudaError> {
        let [rebuild, step] = sources(layout, terms);
        let (rebuild, step) = (device.module(&rebuild)?, device.module(&step)?);
        let kernels = Self {
            keys: rebuild.kernel("debye_keys")?,
            columns: rebuild.kernel("debye_columns")?,
            place: rebuild.kernel("debye_place")?,
            boxes: rebuild.kernel("debye_boxes")?,
            lists: rebuild.kernel("debye_lists")?,
            commit: rebuild.kernel("debye_commit")?,
            step: step.kernel("debye_step")?,
            evaluate: step.kernel("debye_evaluate")?,
        };
        // Allows the dynamic shared memory they need.
        kernels
            .lists
            .resident_blocks(BLOCK as u32, layout.list_shared())?;
        kernels.step.resident_blocks(BLOCK as u32, layout.step_shared())?;
        kernels
            .evaluate
            .resident_blocks(BLOCK as u32, layout.step_shared())?;
        Ok(kernels)
    }
}

/// The numbers of a layout.
pub(super) fn setup(layout: &Layout, values: &Values) -> Setup {
    let l = values.lengths.to_array();
    let half = 0.5 * values.buffer;
    Setup {
        per_length: l.map(|x| 2.0_f64.powi(64) / x),
        dt: values.dt,
        seed: values.seed,
        unit: l.map(|x| (x / 2.0_f64.powi(32)) as f32),
        limit2: (half * half * 0.9999) as f32,
        radius2: (values.radius * values.radius) as f32,
        radius: values.radius as f32,
        length: l.map(|x| x as f32),
        columns: layout.columns,
        reach: layout.reach,
        slots: layout.slots() as u32,
        blocks: layout.blocks as u32,
    }
}
