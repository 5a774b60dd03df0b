//! How much device memory a layout takes, before any of it is taken.

use super::arrays::words_of;
use super::frame::Frame;
use super::kernels::{Control, KernelConfig};
use super::rules::{Ensemble, Fire, ScalingThermostat, VelocityScaling};
use super::terms::Kind;
use crate::engines::{EngineError, Needs, Precision, Shortage};
use debye_gpu::primitives::CountingSort;
use debye_gpu::{Device, Memory};

/// Bytes of the tables of bonded terms, and numbers of a block for their sums.
type Links = Option<(usize, usize)>;

/// What tables on the device take: those of bonded terms, and bytes for constraints and for a mesh.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tables {
    pub(super) links: Links,
    pub(super) constrained: Option<usize>,
    pub(super) mesh: usize,
}

/// What [`Arrays`](super::arrays::Arrays) and all else on the device will take; a check holds it to what they do.
fn needs(
    device: &Device,
    case: KernelConfig<'_>,
    Tables {
        links,
        constrained,
        mesh,
    }: Tables,
) -> Needs {
    let KernelConfig {
        layout, terms, rules, ..
    } = case;
    let (slots, blocks, bodies) = (layout.slots(), layout.blocks, layout.bodies());
    let columns = (layout.columns[0] * layout.columns[1]) as usize;
    let buckets = columns * layout.columns[2] as usize;
    // Lower halves and velocities.
    let moving = if terms.precision == Precision::Single {
        12
    } else {
        12 + 24
    };
    let (speed, real) = words_of(terms.precision);
    // Two halves of orientations, angular momenta and what others see of them; torques.
    let turning = if terms.axes > 0 {
        2 * 4 * (7 * speed + 4 * real) + 24
    } else {
        0
    };
    let each = if case.region.cell.is_orthorhombic() {
        32
    } else {
        48
    };
    let numbers = if case.numbered() { 4 } else { 0 };
    let excluded = &terms.excluded;
    let parameters = 4 * real * (terms.parameters.len() + terms.tables.len())
        + size_of::<Kind>() * terms.kinds.len()
        + 4 * terms.row_classes.len()
        + 8 * excluded.near.len()
        + 4 * (excluded.starts.len() + excluded.far.len())
        + size_of::<Control>()
        + size_of::<Frame>()
        + size_of::<ScalingThermostat>() * (rules.thermostats.len() + 1)
        + size_of::<VelocityScaling>() * rules.groups()
        + size_of::<Ensemble>()
        + size_of::<Fire>();
    let mut all = vec![
        // Two halves of positions, what moves, ids, slots by number and images; the list's positions; forces.
        (
            "particles",
            slots * (2 * (16 + moving + 4 + numbers + 12) + 16 + 24 + turning),
        ),
        of_lists(case)[0],
        of_lists(case)[1],
        (
            "sort",
            4 * (2 * bodies + buckets + 1) + CountingSort::bytes(device, bodies, buckets),
        ),
        // Column, count of the stage, boxes.
        (
            "boxes",
            blocks * (4 + 4 + layout.boxes() * each) + 4 * (columns + 1),
        ),
        ("sums", 8 * blocks * case.sums()),
        ("parameters", parameters),
    ];
    if let Some((tables, width)) = links {
        all.push((
            "bonded",
            tables + 8 * blocks * width + slots * 8 * case.of_links(),
        ));
    }
    if let Some(bytes) = constrained {
        all.push(("constraints", bytes));
    }
    if mesh > 0 {
        all.push(("mesh", mesh));
    }
    Needs(all)
}

/// What lists take, and stages.
fn of_lists(case: KernelConfig<'_>) -> [(&'static str, usize); 2] {
    let (layout, rows) = (case.layout, if case.terms.parted() { 6 } else { 2 });
    [
        ("lists", 2 * layout.list_entries() + rows * layout.bodies()),
        ("stages", 4 * layout.blocks * layout.stage),
    ]
}

/// What is needed with lists and stages of this layout, where those of another one were given back.
pub(super) fn with_lists(
    device: &Device,
    mut needs: Needs,
    case: KernelConfig<'_>,
    radius: f64,
) -> Result<Needs, EngineError> {
    let taken = needs.total() - needs.of("lists") - needs.of("stages");
    for (what, bytes) in of_lists(case) {
        let all = needs.0.iter_mut().filter(|(name, _)| *name == what);
        all.for_each(|(_, of)| *of = bytes);
    }
    growing(device, needs, taken, radius)
}

/// Refuses a layout that the free memory of the device cannot hold.
pub(super) fn check(
    device: &Device,
    case: KernelConfig<'_>,
    tables: Tables,
    radius: f64,
) -> Result<Needs, EngineError> {
    fitting(device, needs(device, case, tables), radius)
}

/// Refuses what the free memory of the device cannot hold.
pub(super) fn fitting(device: &Device, needs: Needs, radius: f64) -> Result<Needs, EngineError> {
    growing(device, needs, 0, radius)
}

/// The same where so many bytes of it are taken already.
pub(super) fn growing(
    device: &Device,
    needs: Needs,
    taken: usize,
    radius: f64,
) -> Result<Needs, EngineError> {
    let Memory { free, total } = device.memory()?;
    let free = free + taken;
    if needs.total() <= free {
        return Ok(needs);
    }
    Err(EngineError::DeviceMemory(Box::new(Shortage {
        device: device.info().name.clone(),
        needs,
        free,
        total,
        radius,
    })))
}
