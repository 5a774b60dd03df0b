//! Between host and device: particles, the cell, thermostats, the list of a saved run.

use super::super::arrays;
use super::super::frame::Frame;
use super::super::kernels::Control;
use super::super::layout::BLOCK;
use super::super::rotation;
use super::super::rules::{Fire, ScalingThermostat};
use super::super::state::{State, fraction};
use super::super::terms::Kind;
use super::Resident;
use crate::engines::cuda::mesh::EMPTY_SLOT;
use crate::engines::{EngineError, Precision, Wanted};
use crate::expr::Vec3;
use crate::system::Particles;
use debye_gpu::CudaError;

impl Resident {
    /// Puts particles into slots in their own order; the list is stale.
    pub(in super::super) fn place(&mut self, particles: &Particles) -> Result<(), EngineError> {
        let region = self.values.region;
        let (slots, bodies, grain) = (self.layout.slots(), self.terms.bodies.len(), self.layout.grain);
        let (mut pos, mut low) = (vec![0_u32; 4 * slots], vec![0_u32; 3 * slots]);
        let (mut velocities, mut images) = (vec![0.0; 3 * slots], vec![0_i32; 3 * slots]);
        let mut ids = vec![EMPTY_SLOT; slots];
        for slot in 0..slots {
            pos[4 * slot + 3] = EMPTY_SLOT;
        }
        let members = |body: usize| {
            let members = self.terms.bodies.members(body);
            members
                .enumerate()
                .map(move |(site, i)| (body * grain.lanes + site, i))
        };
        for (slot, i) in (0..bodies).flat_map(members) {
            let (inside, shift) = region.cell.wrap(particles.positions[i]);
            let s = region.fractional(inside);
            for k in 0..3 {
                let at = fraction(s[k]);
                pos[4 * slot + k] = (at >> 32) as u32;
                low[k * slots + slot] = at as u32;
                velocities[k * slots + slot] = particles.velocities[i][k];
                images[k * slots + slot] = particles.images.get(i).map_or(0, |image| image[k]) + shift[k];
            }
            pos[4 * slot + 3] = self.terms.kind_of[i];
            ids[slot] = i as u32;
        }
        let mut state = State {
            pos,
            low,
            velocities,
            images,
            ids,
            ..State::default()
        };
        self.lay(&mut state, particles);
        self.upload(&state)?;
        let first = self.rules.ensemble.first;
        self.last = Control {
            step: first,
            target: first,
            limited: self.rules.limited,
            stale: 1,
            blocks: bodies.div_ceil(grain.bodies()) as u32,
            split: self.rules.needs_of(first),
            ..Control::default()
        };
        Ok(self.write_control()?)
    }

    /// Gives slots the orientations of their particles, where any turn.
    fn lay(&self, state: &mut State, particles: &Particles) {
        let (slots, axes, precision) = (self.layout.slots(), self.terms.axes, self.terms.precision);
        if axes == 0 {
            return;
        }
        let words = 4 * arrays::words_of(precision).1;
        state.turns = vec![0.0; 4 * slots];
        state.momenta = vec![0.0; 3 * slots];
        state.facings = vec![0; words * slots];
        // Slots without a particle lie in some way too: what is computed of them is a number, and nobody looks at it.
        state.turns[..slots].fill(1.0);
        let o = &particles.orientations;
        for slot in 0..slots {
            let i = state.ids[slot] as usize;
            if let (Some(turn), Some(l)) = (o.rotations.get(i), o.angular_momenta.get(i)) {
                for (k, x) in [turn.w, turn.v.x, turn.v.y, turn.v.z].into_iter().enumerate() {
                    state.turns[k * slots + slot] = x;
                }
                for k in 0..3 {
                    state.momenta[k * slots + slot] = l[k];
                }
            }
            let facing = rotation::facing(o, i, axes, precision);
            state.facings[words * slot..words * (slot + 1)].copy_from_slice(&facing);
        }
    }

    /// Puts a state into the first half of everything.
    pub(in super::super) fn upload(&mut self, state: &State) -> Result<(), CudaError> {
        let (slots, single) = (self.layout.slots(), self.is(Precision::Single));
        let numbered = self.case().numbered();
        let (a, s) = (&mut self.arrays, &self.stream);
        s.upload(&state.pos, a.pos.part_mut(0..4 * slots))?;
        if !single {
            s.upload(&state.low, a.low.part_mut(0..3 * slots))?;
        }
        let velocities = arrays::words(&state.velocities, !single);
        s.upload(&velocities, a.velocities.part_mut(0..velocities.len()))?;
        s.upload(&state.images, a.images.part_mut(0..3 * slots))?;
        s.upload(&state.ids, a.ids.part_mut(0..slots))?;
        for (numbers, to) in [(&state.turns, &mut a.turns), (&state.momenta, &mut a.momenta)] {
            let numbers = arrays::words(numbers, !single);
            s.upload(&numbers, to.part_mut(0..numbers.len()))?;
        }
        s.upload(&state.facings, a.facings.part_mut(0..state.facings.len()))?;
        if numbered {
            s.upload(&state.slot_of(), a.slot_of.part_mut(0..slots))?;
        }
        s.synchronize()
    }

    /// The state as it is now.
    pub(in super::super) fn download(&mut self) -> Result<State, CudaError> {
        self.read_control()?;
        self.download_with(self.last.parity)
    }

    /// The same with the upper halves of `parity`; those that are not of now are of the step before, unless a list
    /// was made since.
    pub(in super::super) fn download_with(&self, parity: u32) -> Result<State, CudaError> {
        let (slots, single) = (self.layout.slots(), self.is(Precision::Single));
        let (a, s) = (&self.arrays, &self.stream);
        let (p, h) = (parity as usize, self.last.side as usize);
        let half = |which: usize, length: usize| which * length..(which + 1) * length;
        let of_low = if self.is(Precision::Double) { p } else { h };
        let words = if single { 3 } else { 6 } * slots;
        Ok(State {
            pos: s.download_part(a.pos.part(half(p, 4 * slots)))?,
            low: if single {
                vec![0; 3 * slots]
            } else {
                s.download_part(a.low.part(half(of_low, 3 * slots)))?
            },
            velocities: arrays::numbers(&s.download_part(a.velocities.part(half(h, words)))?, !single),
            images: s.download_part(a.images.part(half(h, 3 * slots)))?,
            ids: s.download_part(a.ids.part(half(h, slots)))?,
            turns: {
                let part = a.turns.part(half(h, a.turns.len() / 2));
                arrays::numbers(&s.download_part(part)?, !single)
            },
            momenta: {
                let part = a.momenta.part(half(h, a.momenta.len() / 2));
                arrays::numbers(&s.download_part(part)?, !single)
            },
            facings: s.download_part(a.facings.part(half(p, a.facings.len() / 2)))?,
        })
    }

    /// The cell as a barostat left it, and what velocities are yet to be multiplied with.
    pub(in super::super) fn frame(&self) -> Result<Frame, CudaError> {
        let frames = self.stream.download(&self.numbers.frame)?;
        Ok(frames
            .first()
            .copied()
            .unwrap_or_else(|| self.values.region.frame(1.0, 1.0)))
    }

    /// Thermostats as they are now.
    pub(in super::super) fn thermostats(&self) -> Result<Vec<ScalingThermostat>, CudaError> {
        let mut thermostats = self.stream.download(&self.numbers.thermostats)?;
        thermostats.truncate(self.rules.thermostats.len());
        Ok(thermostats)
    }

    /// Sets the cell and the thermostats, after a restart or because the region grew.
    pub(in super::super) fn set_frame(&mut self, frame: Frame) -> Result<(), CudaError> {
        self.stream.upload(&[frame], self.numbers.frame.all_mut())
    }

    pub(in super::super) fn set_thermostats(
        &mut self,
        thermostats: &[ScalingThermostat],
    ) -> Result<(), CudaError> {
        let mut thermostats = thermostats.to_vec();
        self.rules.keep_intervals(&mut thermostats);
        let part = self.numbers.thermostats.part_mut(0..thermostats.len());
        self.stream.upload(&thermostats, part)
    }

    pub(in super::super) fn write_control(&mut self) -> Result<(), CudaError> {
        let last = &mut self.last;
        let waits = last.stale != 0 || last.step >= last.target;
        last.rests = [last.split != 0, last.split == 0].map(|other| u32::from(waits || other));
        self.stream.upload(&[self.last], self.control.all_mut())?;
        self.stream.synchronize()
    }

    pub(in super::super) fn read_control(&mut self) -> Result<(), CudaError> {
        if let Some(&now) = self.stream.download(&self.control)?.first() {
            self.last = now;
        }
        Ok(())
    }

    /// Takes half a kick from the velocities: from those of now to those that are kept.
    pub(in super::super) fn kick_back(&mut self) -> Result<(), EngineError> {
        let mut state = self.download()?;
        let slots = self.layout.slots();
        let forces = self.stream.download(&self.arrays.forces)?;
        let torques = self.stream.download(&self.arrays.torques)?;
        for slot in 0..slots {
            let kind = state.pos[4 * slot + 3];
            if kind == EMPTY_SLOT || slot >= self.last.blocks as usize * BLOCK {
                continue;
            }
            let Kind {
                inverse_mass, turns, ..
            } = self.terms.kinds[kind as usize];
            let turns = turns != 0;
            for k in 0..3 {
                let at = k * slots + slot;
                state.velocities[at] -= 0.5 * self.values.dt * inverse_mass * forces[at];
                if let Some(momentum) = state.momenta.get_mut(at).filter(|_| turns) {
                    *momentum -= 0.5 * self.values.dt * torques[at];
                }
            }
        }
        let (double, side) = (!self.is(Precision::Single), self.last.side as usize);
        let a = &mut self.arrays;
        for (numbers, to) in [
            (&state.velocities, &mut a.velocities),
            (&state.momenta, &mut a.momenta),
        ] {
            let words = arrays::words(numbers, double);
            let half = side * words.len();
            self.stream
                .upload(&words, to.part_mut(half..half + words.len()))?;
        }
        Ok(self.stream.synchronize()?)
    }

    /// Forces in the order of the input.
    pub(in super::super) fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        self.snapshot(Wanted::default())?;
        let forces = self.stream.download(&self.arrays.forces)?;
        self.by_particle(&forces)
    }

    /// Torques in the order of the input; empty where nothing turns.
    pub(in super::super) fn torques(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        if self.terms.kinds.iter().all(|kind| kind.turns == 0) {
            return Ok(Vec::new());
        }
        self.snapshot(Wanted::default())?;
        let torques = self.stream.download(&self.arrays.torques)?;
        self.by_particle(&torques)
    }

    /// Forces of the bonded terms alone, as they were last evaluated, in the order of the input.
    pub(in super::super) fn bonded_forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        let forces = self.stream.download(&self.arrays.bonded)?;
        self.by_particle(&forces)
    }

    fn by_particle(&mut self, forces: &[f64]) -> Result<Vec<Vec3<f64>>, EngineError> {
        let state = self.download()?;
        let slots = self.layout.slots();
        let mut out = vec![Vec3::zero(); self.terms.kind_of.len()];
        for (slot, id) in state.used(&self.last).slots() {
            out[id] = Vec3::from(std::array::from_fn(|k| forces[k * slots + slot]));
        }
        Ok(out)
    }

    /// What the list was made from: positions, the column of each block, and where columns begin.
    pub(in super::super) fn list_source(&self) -> Result<[Vec<u32>; 3], CudaError> {
        let a = &self.arrays;
        Ok([
            self.stream.download(&a.reference)?,
            self.stream.download(&a.block_column)?,
            self.stream.download(&a.column_blocks)?,
        ])
    }

    /// Makes the list of another run again.
    pub(in super::super) fn restore_list(
        &mut self,
        [reference, block_column, column_blocks]: &[Vec<u32>; 3],
    ) -> Result<(), EngineError> {
        let a = &mut self.arrays;
        self.stream.upload(reference, a.reference.all_mut())?;
        self.stream.upload(block_column, a.block_column.all_mut())?;
        self.stream.upload(column_blocks, a.column_blocks.all_mut())?;
        // The commit changes sides.
        let before = Control {
            parity: self.last.parity ^ 1,
            side: self.last.side ^ 1,
            building: 1,
            builds: self.last.builds.wrapping_sub(1),
            ..self.last
        };
        loop {
            self.last = before;
            self.write_control()?;
            let stream = self.device.stream()?;
            self.queue_lists(&stream)?;
            stream.synchronize()?;
            self.read_control()?;
            if self.last.overflow == 0 && self.last.building == 0 {
                return Ok(());
            }
            // Lists of bricks have no more room than those of a run that begins.
            let more = match &mut self.mesh {
                Some(mesh) => mesh.check(&self.device, &stream)?,
                None => false,
            };
            if !more {
                return Err(EngineError::Restore(
                    "its list does not fit on this device".into(),
                ));
            }
        }
    }

    /// How a descent begins.
    pub(in super::super) fn set_fire(&mut self, fire: Fire) -> Result<(), CudaError> {
        self.stream.upload(&[fire], self.numbers.fire.all_mut())
    }

    /// The number of the step, which a descent has used for itself.
    pub(in super::super) fn set_step(&mut self, step: u64) -> Result<(), CudaError> {
        self.read_control()?;
        (self.last.step, self.last.target) = (step, step);
        self.last.split = self.rules.needs_of(step);
        self.write_control()
    }
}
