//! The state on a device as bytes, and back.

use super::arrays::words_of;
use super::frame::{Frame, Region};
use super::kernels::{Control, Values};
use super::layout::{Grain, Layout};
use super::resident::Resident;
use super::rules::ScalingThermostat;
use super::state::State;
use crate::engines::{EngineError, Wanted};
use debye_io::codec::{CodecError, Reader, Writer};

impl Resident {
    /// Everything that is not in the input, with a good list.
    pub(super) fn state_saved(&mut self) -> Result<Vec<u8>, EngineError> {
        let resident = self;
        resident.refresh_list()?;
        let state = resident.download()?;
        let source = resident.list_source()?;
        let mut w = Writer::new();
        let Control {
            step,
            blocks,
            builds,
            limited,
            ..
        } = *resident.control_mut();
        w.u64(step);
        w.u64(resident.rules.ensemble.first);
        w.u32s(&[blocks, builds, limited]);
        let region = resident.values.region;
        w.f64s(&[region.begin, region.length].concat());
        w.u32s(bytemuck::cast_slice(&[resident.frame()?]));
        w.u32s(bytemuck::cast_slice(&resident.thermostats()?));
        let l = resident.layout;
        let sizes = [l.blocks, l.stage, l.groups, l.rows, l.near].map(|x| x as u32);
        let flags = [
            u32::from(l.wrap),
            u32::from(l.tiles),
            l.grain.lanes as u32,
            l.grain.sites as u32,
        ];
        w.u32s(&[&l.columns[..], &l.reach[..], &sizes[..], &flags[..]].concat());
        w.u32s(&state.pos);
        w.u32s(&state.low);
        w.f64s(&state.velocities);
        w.u32s(bytemuck::cast_slice(&state.images));
        w.u32s(&state.ids);
        w.f64s(&state.turns);
        w.f64s(&state.momenta);
        w.u32s(&state.facings);
        source.iter().for_each(|values| w.u32s(values));
        Ok(w.finish())
    }

    /// Goes on from a saved state; gives its step and how many lists were made.
    pub(super) fn state_restored(&mut self, saved: &[u8]) -> Result<(u64, u32), EngineError> {
        let read = read(saved).map_err(|e| EngineError::Restore(e.0))?;
        let resident = self;
        let (state, source, layout) = (&read.state, &read.source, read.layout);
        let slots = layout.slots();
        let turning = if resident.terms.axes > 0 { slots } else { 0 };
        let fits = state.pos.len() == 4 * slots
            && state.low.len() == 3 * slots
            && state.velocities.len() == 3 * slots
            && state.images.len() == 3 * slots
            && state.ids.len() == slots
            && state.turns.len() == 4 * turning
            && state.momenta.len() == 3 * turning
            && state.facings.len() == 4 * words_of(resident.terms.precision).1 * turning
            && source[0].len() == 4 * slots
            && source[1].len() == layout.blocks
            && source[2].len() == (layout.columns[0] * layout.columns[1]) as usize + 1
            && layout.grain == resident.layout.grain
            && read.thermostats.len() == resident.rules.thermostats.len()
            && read.head[0] as usize <= layout.blocks;
        if !fits {
            return Err(EngineError::Restore("its arrays are of different lengths".into()));
        }
        resident.values.region.begin = read.region[0];
        resident.values.region.length = read.region[1];
        let region = resident.region(&read.frame);
        resident.values.region = region;
        resident.relayout(layout)?;
        resident.upload(state)?;
        resident.set_thermostats(&read.thermostats)?;
        *resident.control_mut() = Control {
            step: read.step,
            target: read.step,
            blocks: read.head[0],
            builds: read.head[1],
            limited: read.head[2],
            split: resident.rules.needs_of(read.step),
            ..Control::default()
        };
        // The list is that of the cell it was made in.
        resident.set_frame(made_in(&region, &read.frame, &resident.values))?;
        resident.restore_list(source)?;
        resident.set_frame(read.frame)?;
        resident.snapshot(Wanted::default())?;
        Ok((read.step, read.head[1]))
    }
}

/// The step that the engine of a saved state had begun at.
pub(super) fn first_of(saved: &[u8]) -> Result<u64, EngineError> {
    let mut r = Reader::new(saved);
    let first = r.u64().and_then(|_step| r.u64());
    first.map_err(|e| EngineError::Restore(e.0))
}

/// The frame of the list: that before the changes since.
fn made_in(region: &Region, now: &Frame, values: &Values) -> Frame {
    let [x, y, z] = now.scale;
    let mut then = *now;
    for (length, scale) in then.cell.iter_mut().zip([x, y, z, x, x, y]) {
        *length /= scale;
    }
    let region = if region.open() == 0 {
        region.with_frame(&then)
    } else {
        *region
    };
    region.frame(values.radius, values.cutoff)
}

/// What was saved.
struct Saved {
    step: u64,
    head: [u32; 3],
    region: [[f64; 3]; 2],
    frame: Frame,
    thermostats: Vec<ScalingThermostat>,
    layout: Layout,
    state: State,
    source: [Vec<u32>; 3],
}

fn read(saved: &[u8]) -> Result<Saved, CodecError> {
    let mut r = Reader::new(saved);
    let (step, _first) = (r.u64()?, r.u64()?);
    let head = fixed(&r.u32s()?)?;
    let [a, b, c, d, e, f] = fixed(&r.f64s()?)?;
    let frame = words(&r.u32s()?)?;
    let frame = fixed::<_, 1>(&frame)?[0];
    let thermostats = words(&r.u32s()?)?;
    let l: [u32; 14] = fixed(&r.u32s()?)?;
    let size = |k: usize| l[k] as usize;
    let grain = Grain {
        lanes: size(12),
        sites: size(13),
    };
    let layout = Layout {
        grain,
        columns: [l[0], l[1], l[2]],
        reach: [l[3], l[4]],
        blocks: size(5),
        stage: size(6),
        groups: size(7),
        rows: size(8),
        near: size(9),
        wrap: l[10] != 0,
        may_wrap: false,
        tiles: l[11] != 0,
    };
    let state = State {
        pos: r.u32s()?,
        low: r.u32s()?,
        velocities: r.f64s()?,
        images: r.u32s()?.into_iter().map(|x| x as i32).collect(),
        ids: r.u32s()?,
        turns: r.f64s()?,
        momenta: r.f64s()?,
        facings: r.u32s()?,
    };
    Ok(Saved {
        step,
        head,
        region: [[a, b, c], [d, e, f]],
        frame,
        thermostats,
        layout,
        state,
        source: [r.u32s()?, r.u32s()?, r.u32s()?],
    })
}

pub(super) fn fixed<T: Copy, const N: usize>(values: &[T]) -> Result<[T; N], CodecError> {
    values
        .try_into()
        .map_err(|_| CodecError(format!("{} numbers where {N} were expected", values.len())))
}

/// Structures from their words.
pub(super) fn words<T: bytemuck::Pod>(values: &[u32]) -> Result<Vec<T>, CodecError> {
    if !size_of_val(values).is_multiple_of(size_of::<T>()) {
        return Err(CodecError(format!("{} words of a structure", values.len())));
    }
    let bytes: &[u8] = bytemuck::cast_slice(values);
    Ok(bytes
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
        .collect())
}
