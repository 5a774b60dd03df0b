//! The kernels of a simulation, and what they share with the host.

use crate::backend::cuda::{Const, CudaError, Device, Kernel, ModuleSource, Mut};
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
crate::cuda_struct!(Setup, Control);

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
    pub(super) needed: [u32; 8],
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

type U = Const<u32>;
type UM = Mut<u32>;

/// The kernels of one layout.
pub(super) struct Kernels {
    pub(super) keys: Kernel<(U, U, UM, Setup)>,
    pub(super) columns: Kernel<(UM, U, UM, Setup)>,
    #[allow(clippy::type_complexity)]
    pub(super) place: Kernel<(UM, U, U, U, UM, UM, Mut<f64>, UM, Mut<i32>, UM, UM, Setup)>,
    pub(super) boxes: Kernel<(UM, U, U, U, UM, UM, Setup)>,
    #[allow(clippy::type_complexity)]
    pub(super) lists: Kernel<(UM, U, U, U, U, UM, UM, Mut<u16>, Mut<u16>, Setup)>,
    pub(super) commit: Kernel<(UM, U, Setup)>,
    #[allow(clippy::type_complexity)]
    pub(super) step: Kernel<(
        UM,
        UM,
        UM,
        Mut<f64>,
        U,
        Mut<i32>,
        U,
        U,
        U,
        U,
        Const<u16>,
        Const<u16>,
        Const<f32>,
        Const<f32>,
        Const<f64>,
        Setup,
    )>,
    #[allow(clippy::type_complexity)]
    pub(super) evaluate: Kernel<(
        U,
        U,
        Const<f64>,
        U,
        U,
        U,
        Const<u16>,
        Const<u16>,
        Const<f32>,
        Const<f32>,
        Const<f64>,
        Mut<f64>,
        Mut<f64>,
        Setup,
    )>,
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
