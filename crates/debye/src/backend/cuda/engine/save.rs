//! The state on a device as bytes, and back.

use super::kernels::Control;
use super::layout::Layout;
use super::resident::Resident;
use super::state::State;
use crate::backend::EngineError;
use crate::run::codec::{CodecError, Reader, Writer};

impl Resident {
    /// Everything that is not in the input, with a good list.
    pub(super) fn state_saved(&mut self) -> Result<Vec<u8>, EngineError> {
        let resident = self;
        resident.settle()?;
        let state = resident.download()?;
        let source = resident.list_source()?;
        let mut w = Writer::new();
        let Control {
            step, blocks, builds, ..
        } = *resident.control_mut();
        w.u64(step);
        w.u32s(&[blocks, builds]);
        let l = resident.layout;
        let sizes = [l.blocks, l.stage, l.groups, l.rows, l.near, usize::from(l.wrap)].map(|x| x as u32);
        w.u32s(&[&l.columns[..], &l.reach[..], &sizes[..]].concat());
        w.u32s(&state.pos);
        w.u32s(&state.low);
        w.f64s(&state.velocities);
        w.u32s(bytemuck::cast_slice(&state.images));
        w.u32s(&state.ids);
        source.iter().for_each(|values| w.u32s(values));
        Ok(w.finish())
    }

    /// Goes on from a saved state; gives its step.
    pub(super) fn restored(&mut self, saved: &[u8]) -> Result<u64, EngineError> {
        let (step, head, layout, state, source) = read(saved).map_err(|e| EngineError::Restore(e.0))?;
        let resident = self;
        let slots = layout.slots();
        let fits = state.pos.len() == 4 * slots
            && state.low.len() == 3 * slots
            && state.velocities.len() == 3 * slots
            && state.images.len() == 3 * slots
            && state.ids.len() == slots
            && source[0].len() == 4 * slots
            && source[1].len() == layout.blocks
            && source[2].len() == (layout.columns[0] * layout.columns[1]) as usize + 1
            && head[0] as usize <= layout.blocks;
        if !fits {
            return Err(EngineError::Restore("its arrays are of different lengths".into()));
        }
        resident.relayout(layout)?;
        resident.upload(&state)?;
        *resident.control_mut() = Control {
            step,
            target: step,
            blocks: head[0],
            builds: head[1],
            ..Control::default()
        };
        resident.restore_list(&source)?;
        resident.evaluate()?;
        Ok(step)
    }
}

type Saved = (u64, [u32; 2], Layout, State, [Vec<u32>; 3]);

fn read(saved: &[u8]) -> Result<Saved, CodecError> {
    let mut r = Reader::new(saved);
    let step = r.u64()?;
    let head = fixed(&r.u32s()?)?;
    let l: [u32; 11] = fixed(&r.u32s()?)?;
    let size = |k: usize| l[k] as usize;
    let layout = Layout {
        columns: [l[0], l[1], l[2]],
        reach: [l[3], l[4]],
        blocks: size(5),
        stage: size(6),
        groups: size(7),
        rows: size(8),
        near: size(9),
        wrap: l[10] != 0,
    };
    let state = State {
        pos: r.u32s()?,
        low: r.u32s()?,
        velocities: r.f64s()?,
        images: r.u32s()?.into_iter().map(|x| x as i32).collect(),
        ids: r.u32s()?,
    };
    Ok((step, head, layout, state, [r.u32s()?, r.u32s()?, r.u32s()?]))
}

fn fixed<const N: usize>(values: &[u32]) -> Result<[u32; N], CodecError> {
    values
        .try_into()
        .map_err(|_| CodecError(format!("{} numbers where {N} were expected", values.len())))
}
