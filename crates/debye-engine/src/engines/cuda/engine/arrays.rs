//! [`Arrays`]: the memory of a simulation on its device.

use debye_gpu::primitives::CountingSort;
use debye_gpu::{Binder, Buffer, Bundle, ConstAddress, CudaError, Device};

use crate::engines::Precision;

use super::frame::Frame;
use super::kernels::{Control, KernelConfig, World};
use super::mesh::MeshForces;
use super::rules::{Ensemble, Fire, Rules, ScalingThermostat, VelocityScaling};
use super::terms::{Kind, Terms};

/// Numbers of the terms and of the kinds of particles.
pub(super) struct Numbers {
    parameters: Buffer<u32>,
    tables: Buffer<u32>,
    kinds: Buffer<Kind>,
    row_classes: Buffer<u32>,
    excluded_near: Buffer<u64>,
    excluded_starts: Buffer<u32>,
    excluded_far: Buffer<u32>,
    pub(super) frame: Buffer<Frame>,
    pub(super) thermostats: Buffer<ScalingThermostat>,
    groups: Buffer<VelocityScaling>,
    ensemble: Buffer<Ensemble>,
    pub(super) fire: Buffer<Fire>,
}

impl Numbers {
    pub(super) fn new(
        device: &Device,
        terms: &Terms,
        rules: &Rules,
        frame: Frame,
    ) -> Result<Self, CudaError> {
        let double = terms.precision == Precision::Double;
        // Kernels take no empty arrays.
        let thermostats = [&rules.thermostats[..], &[ScalingThermostat::default()]].concat();
        Ok(Self {
            parameters: device.upload(&words(&terms.parameters, double))?,
            tables: device.upload(&words(&terms.tables, double))?,
            kinds: device.upload(&terms.kinds)?,
            row_classes: device.upload(&terms.row_classes)?,
            excluded_near: device.upload(&terms.excluded.near)?,
            excluded_starts: device.upload(&terms.excluded.starts)?,
            excluded_far: device.upload(&terms.excluded.far)?,
            frame: device.upload(&[frame])?,
            thermostats: device.upload(&thermostats)?,
            groups: device.upload(&vec![VelocityScaling::default(); rules.groups()])?,
            ensemble: device.upload(&[rules.ensemble])?,
            fire: device.upload(&[Fire::default()])?,
        })
    }
}

/// Words of a number of motion, and of one of pairs.
pub(super) fn words_of(precision: Precision) -> (usize, usize) {
    match precision {
        Precision::Single => (1, 1),
        Precision::Mixed => (2, 1),
        Precision::Double => (2, 2),
    }
}

/// Numbers in double or single precision, as words.
pub(super) fn words(values: &[f64], double: bool) -> Vec<u32> {
    if double {
        bytemuck::cast_slice(values).to_vec()
    } else {
        values.iter().map(|&x| (x as f32).to_bits()).collect()
    }
}

/// And back.
pub(super) fn numbers(words: &[u32], double: bool) -> Vec<f64> {
    if double {
        words
            .chunks_exact(2)
            .map(|w| f64::from_bits(u64::from(w[0]) | u64::from(w[1]) << 32))
            .collect()
    } else {
        words.iter().map(|&x| f64::from(f32::from_bits(x))).collect()
    }
}

/// Where everything lies.
pub(super) fn world(
    control: &Buffer<Control>,
    a: &Arrays,
    numbers: &Numbers,
    mesh: Option<&MeshForces>,
) -> Bundle<World> {
    let mut at = Binder::default();
    let world = World {
        control: at.address(control),
        pos: at.address(&a.pos),
        low: at.address(&a.low),
        velocities: at.address(&a.velocities),
        ids: at.address(&a.ids),
        images: at.address(&a.images),
        reference: at.address(&a.reference),
        block_column: at.address(&a.block_column),
        column_blocks: at.address(&a.column_blocks),
        boxes: at.address(&a.boxes),
        warp_boxes: at.address(&a.warp_boxes),
        stage_counts: at.address(&a.stage_counts),
        stages: at.address(&a.stages),
        lists: at.address(&a.lists),
        rows_of: at.address(&a.rows_of),
        parts_of: at.address(&a.parts_of),
        keys: at.address(&a.keys),
        order: at.address(&a.order),
        starts: at.address(&a.starts),
        forces: at.address(&a.forces),
        partial: at.address(&a.partial),
        parameters: at.address(&numbers.parameters),
        tables: at.address(&numbers.tables),
        kinds: at.address(&numbers.kinds),
        row_classes: at.address(&numbers.row_classes),
        excluded_near: at.address(&numbers.excluded_near),
        excluded_starts: at.address(&numbers.excluded_starts),
        excluded_far: at.address(&numbers.excluded_far),
        frame: at.address(&numbers.frame),
        thermostats: at.address(&numbers.thermostats),
        groups: at.address(&numbers.groups),
        ensemble: at.address(&numbers.ensemble),
        fire: at.address(&numbers.fire),
        slot_of: at.address(&a.slot_of),
        bonded: at.address(&a.bonded),
        turns: at.address(&a.turns),
        momenta: at.address(&a.momenta),
        facings: at.address(&a.facings),
        torques: at.address(&a.torques),
        mesh: mesh.map_or(ConstAddress::default(), |mesh| at.address_as(mesh.left())),
        mesh_sums: mesh.map_or(ConstAddress::default(), |mesh| at.address(mesh.sums())),
    };
    at.bundle(world)
}

/// Memory that a layout decides.
pub(super) struct Arrays {
    /// Both halves, one after the other.
    pub(super) pos: Buffer<u32>,
    pub(super) low: Buffer<u32>,
    pub(super) velocities: Buffer<u32>,
    pub(super) ids: Buffer<u32>,
    pub(super) images: Buffer<i32>,
    pub(super) reference: Buffer<u32>,
    pub(super) block_column: Buffer<u32>,
    pub(super) column_blocks: Buffer<u32>,
    pub(super) boxes: Buffer<u32>,
    pub(super) warp_boxes: Buffer<u32>,
    pub(super) stage_counts: Buffer<u32>,
    pub(super) stages: Buffer<u32>,
    pub(super) lists: Buffer<u16>,
    pub(super) rows_of: Buffer<u16>,
    pub(super) parts_of: Buffer<u16>,
    pub(super) keys: Buffer<u32>,
    pub(super) order: Buffer<u32>,
    pub(super) starts: Buffer<u32>,
    pub(super) forces: Buffer<f64>,
    pub(super) partial: Buffer<f64>,
    pub(super) sort: CountingSort,
    /// Slots of particles (both halves) and forces of bonded terms; empty where they are not needed.
    pub(super) slot_of: Buffer<u32>,
    pub(super) bonded: Buffer<f64>,
    /// Orientations, angular momenta and what others see of them (both halves), and torques; empty where nothing turns.
    pub(super) turns: Buffer<u32>,
    pub(super) momenta: Buffer<u32>,
    pub(super) facings: Buffer<u32>,
    pub(super) torques: Buffer<f64>,
}

impl Arrays {
    pub(super) fn new(device: &Device, case: KernelConfig<'_>) -> Result<Self, CudaError> {
        let layout = case.layout;
        let (slots, blocks, bodies) = (layout.slots(), layout.blocks, layout.bodies());
        let single = case.terms.precision == Precision::Single;
        let triclinic = !case.region.cell.is_orthorhombic();
        let columns = (layout.columns[0] * layout.columns[1]) as usize;
        let buckets = layout.buckets();
        let box_words = if triclinic { 12 } else { 8 };
        let turning = if case.terms.axes > 0 { slots } else { 0 };
        let (speed, real) = words_of(case.terms.precision);
        Ok(Self {
            pos: device.zeros(8 * slots)?,
            low: device.zeros(if single { 0 } else { 6 * slots })?,
            velocities: device.zeros(2 * 3 * speed * slots)?,
            ids: device.zeros(2 * slots)?,
            images: device.zeros(6 * slots)?,
            reference: device.zeros(4 * slots)?,
            block_column: device.zeros(blocks)?,
            column_blocks: device.zeros(columns + 1)?,
            boxes: device.zeros(box_words * blocks)?,
            warp_boxes: device.zeros((layout.boxes() - 1) * box_words * blocks)?,
            stage_counts: device.zeros(blocks)?,
            stages: device.allocate(blocks * layout.stage)?,
            lists: device.allocate(layout.list_entries())?,
            rows_of: device.zeros(bodies)?,
            parts_of: device.zeros(if case.terms.parted() { 2 * bodies } else { 0 })?,
            keys: device.allocate(bodies)?,
            order: device.allocate(bodies)?,
            starts: device.zeros(buckets + 1)?,
            forces: device.zeros(3 * slots)?,
            partial: device.zeros(blocks * case.sums())?,
            sort: CountingSort::new(device, bodies, buckets)?,
            slot_of: device.zeros(if case.numbered() { 2 * slots } else { 0 })?,
            bonded: device.zeros(if case.bonded { case.of_links() * slots } else { 0 })?,
            turns: device.zeros(2 * 4 * speed * turning)?,
            momenta: device.zeros(2 * 3 * speed * turning)?,
            facings: device.zeros(2 * 4 * real * turning)?,
            torques: device.zeros(3 * turning)?,
        })
    }
}
