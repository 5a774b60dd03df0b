//! Waters whose particles follow each other: all that a step does to them between two evaluations of forces is done to a
//! few at a time, while these are in the cache of a processor. The bits are those of passes over all.

use super::{Constrained, failed};
use crate::engines::EngineError;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::motion::{Damping, Part, Rounding};
use crate::engines::cpu::rigid::{Rigid, Slots, TOGETHER, now_of, then_and_now};
use crate::expr::Vec3;
use crate::forces::constraints::{Group, Nearest, Scratch, Triangle};
use crate::parallel::{Indexed, IntoIndexed};
use crate::system::Cell;

/// Waters of a part.
const PART: usize = 64;

/// Waters that are worked on where they lie, and how.
struct InRows<'a> {
    constrained: &'a Constrained,
    rigid: &'a Rigid,
    triangle: &'a Triangle<f64>,
    nearest: Nearest<'a>,
    rounding: Rounding,
    step: u64,
}

/// A part and the waters in it.
struct PartOfRows<'a> {
    part: Part<'a>,
    groups: &'a [Group],
    slots: &'a [[u32; 3]],
}

/// Memory of one thread.
#[derive(Default)]
struct Room {
    before: Vec<Vec3<f64>>,
    noise: Vec<[f64; 3]>,
    scratch: Scratch,
}

impl Constrained {
    /// Whether all groups are waters of one shape whose particles follow each other.
    pub(super) fn are_in_rows(&self) -> bool {
        let shape = |group: &Group| self.clusters.triangle(group).map(std::ptr::from_ref);
        let first = self.groups.first().and_then(shape);
        let alike = first.is_some() && self.groups.iter().all(|group| shape(group) == first);
        let together = |&[a, b, c]: &[u32; 3]| a.max(b).max(c) - a.min(b).min(c) == 2;
        alike && self.slots.as_chunks().0.iter().all(together)
    }

    fn in_rows<'a>(&'a self, cell: &'a Cell, rounding: Rounding, step: u64) -> Option<InRows<'a>> {
        let first = self.groups.first().filter(|_| self.in_rows)?;
        Some(InRows {
            constrained: self,
            rigid: self.rigid.as_ref()?,
            triangle: self.clusters.triangle(first)?,
            nearest: Nearest::new(cell),
            rounding,
            step,
        })
    }
}

impl CpuEngine {
    /// Kick, drift and, where velocities are damped, noise and another drift. False where this must be done by passes over all.
    pub(in crate::engines::cpu) fn drift_in_rows(
        &mut self,
        damping: Option<&Damping>,
    ) -> Result<bool, EngineError> {
        let (dt, philox, rounding) = (self.dynamics.timestep, self.philox, self.rounding);
        let step = self.state.step;
        // Where some are damped more than others, constraints act once more.
        if damping.is_some_and(|damping| !damping.is_alike()) {
            return Ok(false);
        }
        let drift = if damping.is_some() { 0.5 * dt } else { dt };
        self.in_rows(|rows, of, room| {
            room.before.clear();
            room.before.extend_from_slice(of.part.positions);
            of.part.kick_and_drift(0.5 * dt, drift, rounding);
            rows.settle(of, drift, room)?;
            let Some(damping) = damping else {
                return Ok(());
            };
            of.part.damp(damping, step, philox, rounding, &mut room.noise);
            rows.hold(of, room)?;
            room.before.copy_from_slice(of.part.positions);
            of.part.drift(drift, rounding);
            rows.settle(of, drift, room)
        })
    }

    /// A kick that changes no shape. False where this must be done by passes over all.
    pub(in crate::engines::cpu) fn kick_in_rows(&mut self, time: f64) -> Result<bool, EngineError> {
        let rounding = self.rounding;
        self.in_rows(|rows, of, room| {
            of.part.kick(time, rounding);
            rows.hold(of, room)
        })
    }

    /// Works on all parts in parallel, where all constraints are waters in rows and nothing turns; false elsewhere.
    fn in_rows(
        &mut self,
        work: impl Fn(&InRows, &mut PartOfRows, &mut Room) -> Result<(), EngineError> + Sync,
    ) -> Result<bool, EngineError> {
        let (cell, step) = (self.state.cell, self.state.step);
        let Some(rows) = self.constrained.in_rows(&cell, self.rounding, step) else {
            return Ok(false);
        };
        if !self.state.rotations.is_empty() {
            return Ok(false);
        }
        let slots = self.constrained.slots.as_chunks().0.chunks(PART);
        let begin =
            |slots: &[[u32; 3]]| slots[0].iter().fold(u32::MAX, |first, &slot| first.min(slot)) as usize;
        let parts = self.state.parts(slots.clone().skip(1).map(begin));
        let groups = self.constrained.groups.chunks(PART);
        let all: Vec<PartOfRows> = (parts.into_iter().zip(groups).zip(slots))
            .map(|((part, groups), slots)| PartOfRows { part, groups, slots })
            .collect();
        let done: Vec<Result<(), EngineError>> = all
            .into_par_iter()
            .map_init(Room::default, |room, mut of| work(&rows, &mut of, room))
            .collect();
        // The first failure in the order of the groups counts.
        done.into_iter().collect::<Result<(), EngineError>>()?;
        Ok(true)
    }
}

impl InRows<'_> {
    /// After a drift of `time` from where the particles were before: distances and velocities as the constraints want them.
    fn settle(&self, of: &mut PartOfRows, time: f64, room: &mut Room) -> Result<(), EngineError> {
        let PartOfRows { part, groups, slots } = of;
        let Room { before, scratch, .. } = room;
        for (groups, slots) in groups.chunks(TOGETHER).zip(slots.chunks(TOGETHER)) {
            let slots = Slots {
                of_waters: slots,
                first: part.first,
            };
            let mut changes = [Vec3::zero(); 3 * TOGETHER];
            let changes = &mut changes[..3 * groups.len()];
            if !(self.rigid).settle(
                self.triangle,
                self.nearest,
                slots,
                before,
                part.positions,
                changes,
            ) {
                // One of them cannot be solved: they are taken one by one.
                let all = groups.iter().zip(slots.places());
                for ((group, water), changes) in all.zip(changes.chunks_exact_mut(3)) {
                    let [then, now] = then_and_now(self.nearest, water, before, part.positions);
                    self.solve(group, [then, now], changes, scratch, false)?;
                }
            }
            for (k, &change) in slots.places().flatten().zip(&*changes) {
                let (r, v) = (&mut part.positions[k], &mut part.velocities[k]);
                *r = self.rounding.apply(*r + change);
                *v = self.rounding.apply(*v + change * (1.0 / time));
            }
        }
        Ok(())
    }

    /// Takes from the velocities what would change a fixed distance.
    fn hold(&self, of: &mut PartOfRows, room: &mut Room) -> Result<(), EngineError> {
        let PartOfRows { part, groups, slots } = of;
        for (groups, slots) in groups.chunks(TOGETHER).zip(slots.chunks(TOGETHER)) {
            let slots = Slots {
                of_waters: slots,
                first: part.first,
            };
            let mut changes = [Vec3::zero(); 3 * TOGETHER];
            let changes = &mut changes[..3 * groups.len()];
            let (positions, velocities) = (&*part.positions, &mut *part.velocities);
            if !(self.rigid).hold(self.triangle, self.nearest, slots, positions, velocities, changes) {
                let all = groups.iter().zip(slots.places());
                for ((group, water), changes) in all.zip(changes.chunks_exact_mut(3)) {
                    let rates = water.map(|k| velocities[k]);
                    let places = now_of(self.nearest, water, positions);
                    self.solve(group, [places, rates], changes, &mut room.scratch, true)?;
                }
            }
            for (k, &change) in slots.places().flatten().zip(&*changes) {
                velocities[k] = self.rounding.apply(velocities[k] + change);
            }
        }
        Ok(())
    }

    /// The changes of one water: of its places, or of their rates.
    fn solve(
        &self,
        group: &Group,
        [old, new]: [[Vec3<f64>; 3]; 2],
        changes: &mut [Vec3<f64>],
        scratch: &mut Scratch,
        of_rates: bool,
    ) -> Result<(), EngineError> {
        let clusters = &self.constrained.clusters;
        scratch.old = old.to_vec();
        scratch.new = new.to_vec();
        let solved = match of_rates {
            true => clusters.rates(group, scratch, |_| 0.0).map(|_| ()),
            false => clusters.positions(group, scratch),
        };
        solved.map_err(|unsolved| failed(clusters, group, unsolved, self.step))?;
        for ((change, &to), from) in changes.iter_mut().zip(&scratch.new).zip(new) {
            *change = to - from;
        }
        Ok(())
    }
}
