//! Steps on the device: graphs replayed until a target, lists made anew.

use std::time::Instant;

use super::super::kernels::{Control, DUE_ALWAYS};
use super::super::layout::BLOCK;
use super::super::mesh::{MeshForces, Request};
use super::super::watch::{AT_ONCE, Counted, Sizes};
use super::Resident;
use crate::engines::{EngineError, Precision};
use debye_gpu::{CudaError, Shape};

/// Steps of a graph.
const LONGEST: u64 = 64;
/// Kernels of a list, some more with a mesh.
const KERNELS_OF_LIST: f64 = 12.0;
/// Graphs of steps that are kept; more kinds of them are seldom asked for.
const KINDS: usize = 16;

/// Graphs of a new list, if there must be one, and steps: by how many, and whether they are done only where steps are
/// left. The last one was used last.
#[derive(Default)]
pub(super) struct StepGraphs(Vec<((u32, bool), Counted)>);

impl Resident {
    /// Does steps until the target.
    pub(in super::super) fn advance(&mut self, target: u64) -> Result<(), EngineError> {
        let (began, waited) = (Instant::now(), self.watch.waited_seconds);
        let (first, last) = self.watch.span();
        if first <= target && self.last.step < last {
            self.replay_until(first)?;
            self.time_until(target.min(last))?;
        }
        let done = self.replay_until(target);
        self.watch.host_seconds += began.elapsed().as_secs_f64() - (self.watch.waited_seconds - waited);
        done
    }

    /// Sets the step to stop at.
    fn aim(&mut self, target: u64) -> Result<(), CudaError> {
        self.read_control()?;
        self.last.target = target;
        self.aimed = target;
        self.write_control()
    }

    /// Queues steps until the target, most likely enough of them.
    pub(super) fn queue_until(&mut self, target: u64) -> Result<u64, EngineError> {
        if self.snapshots.is_empty() {
            // Nothing is on its way: where the device is, is where the first steps begin.
            self.read_control()?;
            self.aimed = self.last.step;
        }
        let (from, steps) = (self.aimed, target.saturating_sub(self.aimed));
        let aim = Shape::new(1, 32);
        self.kernels
            .aim
            .launch(&self.stream, aim, (&self.world, from, target))?;
        self.aimed = target;
        if steps == 0 {
            return Ok(0);
        }
        let of = self.steps_to_queue(from, steps);
        // As many as surely have something to do, and one more for each list that may end on the way.
        let (sure, lists) = (steps.div_ceil(of), steps as f64 / self.list_lasts);
        let more = (lists + 0.5 * lists.sqrt()).ceil().max(1.0) as u64;
        self.replay_steps(of as u32, false, sure)?;
        self.replay_steps(of as u32, true, more)?;
        Ok(sure)
    }

    /// Steps of each graph of those that lead to an output. A list that ends leaves its graph the rest of its kernels to
    /// return from, and each graph begins with those of a list: the fewest of both.
    fn steps_to_queue(&self, from: u64, steps: u64) -> u64 {
        let ideal = (self.list_lasts * KERNELS_OF_LIST / self.kernels_of_step).sqrt();
        let graphs = (steps as f64 / ideal.clamp(1.0, LONGEST as f64)).ceil() as u64;
        let (of, spacing) = (steps.div_ceil(graphs), u64::from(self.rules.spacing()));
        let in_place = from.is_multiple_of(spacing) || !self.rules.due_within(from, steps);
        match (graphs, in_place) {
            (1, true) => of,
            // It begins between steps that need sums, and waits for the kernels of the first of them.
            (1, false) => of + spacing - 1,
            _ => of.next_multiple_of(spacing),
        }
    }

    /// Replays a graph of so many steps so many times.
    fn replay_steps(&mut self, steps: u32, if_left: bool, times: u64) -> Result<(), CudaError> {
        let kind = (steps, if_left);
        let known = self.graphs.0.iter().position(|(other, _)| *other == kind);
        let graph = match known {
            Some(known) => self.graphs.0.remove(known).1,
            None => self.capture(steps, if_left)?,
        };
        if steps > 0 {
            self.kernels_of_step = (graph.launches as f64 - KERNELS_OF_LIST).max(1.0) / f64::from(steps);
        }
        let replayed = (0..times).try_for_each(|_| self.watch.replay(&self.stream, &graph));
        if self.graphs.0.len() >= KINDS {
            self.graphs.0.remove(0);
        }
        self.graphs.0.push((kind, graph));
        replayed
    }

    /// Learns from a snapshot how long lists last.
    pub(super) fn learn(&mut self, now: &Control) {
        let steps = now.step.saturating_sub(self.last.step);
        self.suit(steps, u64::from(now.builds.wrapping_sub(self.last.builds)));
    }

    /// Finds how many steps a graph should have.
    fn suit(&mut self, steps: u64, lists: u64) {
        let before = self.steps_of_graph;
        if lists > 0 && steps > 0 {
            let lasted = steps as f64 / lists as f64;
            // Many lists say it at once, few little by little.
            let weight = (0.1 * lists as f64).min(1.0);
            self.list_lasts = match self.list_lasts.is_finite() {
                true => self.list_lasts + weight * (lasted - self.list_lasts),
                false => lasted,
            };
        }
        if lists == 0 && steps >= 4 * u64::from(before) && before < LONGEST as u32 {
            self.steps_of_graph = (2 * before).min(LONGEST as u32);
        } else if lists > 0 {
            // One list to a graph: as many steps as a list lasts, and one more; some wait for those that need sums.
            let waiting = self.rules.spacing() / 2;
            let fitting =
                (self.list_lasts.floor() + 1.0 + f64::from(waiting)).clamp(1.0, LONGEST as f64) as u32;
            if fitting.abs_diff(before) * 5 > before {
                self.steps_of_graph = fitting;
            }
        }
    }

    /// Does steps without graphs, with the time of every kernel.
    fn time_until(&mut self, target: u64) -> Result<(), EngineError> {
        self.aim(target)?;
        loop {
            self.check()?;
            let left = target.saturating_sub(self.last.step);
            if left == 0 {
                return Ok(());
            }
            let (step, builds) = (self.last.step, self.last.builds);
            let stream = self.device.stream()?;
            self.watch.begin();
            if self.last.stale != 0 {
                self.queue_rebuild(&stream)?;
            }
            let count = left.min(AT_ONCE) as u32;
            for number in 0..count {
                self.watch.step();
                self.queue_step(&stream, number)?;
            }
            let began = Instant::now();
            stream.synchronize()?;
            self.read_control()?;
            self.watch.waited(began);
            let sizes = self.sizes()?;
            self.watch
                .end(self.last.step - step, self.last.builds != builds, &sizes)?;
        }
    }

    /// Sizes of what the kernels work on now.
    fn sizes(&self) -> Result<Sizes, CudaError> {
        let (a, blocks) = (&self.arrays, self.last.blocks as usize);
        let staged = self.stream.download_part(a.stage_counts.part(0..blocks))?;
        // Pairs are listed in numbers of two bytes, for a particle or for a warp.
        let listed = 2.0 * self.listed() as f64 / if self.layout.tiles { 32.0 } else { 1.0 };
        let columns = f64::from(self.layout.columns[0] * self.layout.columns[1]);
        Ok(Sizes {
            slots: (blocks * BLOCK) as f64,
            blocks: blocks as f64,
            room: self.layout.slots() as f64,
            staged: staged.into_iter().map(f64::from).sum(),
            listed,
            moving: if self.is(Precision::Single) { 12.0 } else { 36.0 },
            columns,
            buckets: columns * f64::from(self.layout.columns[2]),
            mesh: self.mesh.as_ref().map_or(0, MeshForces::bytes) as f64,
        })
    }

    /// Does steps until the target by replaying graphs.
    fn replay_until(&mut self, target: u64) -> Result<(), EngineError> {
        self.aim(target)?;
        loop {
            self.check()?;
            let left = target.saturating_sub(self.last.step);
            if left == 0 {
                return Ok(());
            }
            let (step, builds) = (self.last.step, self.last.builds);
            let replays = left.div_ceil(u64::from(self.steps_of_graph)).min(64);
            self.replay_steps(self.steps_of_graph, false, replays)?;
            let began = Instant::now();
            self.read_control()?;
            self.watch.waited(began);
            self.suit(self.last.step - step, u64::from(self.last.builds - builds));
        }
    }

    /// Makes a new list if the old one is stale.
    pub(in super::super) fn refresh_list(&mut self) -> Result<(), EngineError> {
        self.read_control()?;
        while self.last.stale != 0 {
            self.replay_steps(0, false, 1)?;
            self.read_control()?;
            self.check()?;
        }
        Ok(())
    }

    /// Steps of minimization until a target, or until they reach the tolerance.
    pub(in super::super) fn descend(&mut self, target: u64) -> Result<(), EngineError> {
        self.descends = true;
        let done = self.descend_until(target);
        self.descends = false;
        done
    }

    fn descend_until(&mut self, target: u64) -> Result<(), EngineError> {
        self.aim(target)?;
        while self.last.step < target {
            let before = self.last.step;
            self.refresh_list()?;
            // Kept by the device once they are compiled; growing changes them.
            let kernels = self.case().minimization(&self.device)?;
            let (shape, stream) = (self.blocks(self.case().step_shared()), self.device.stream()?);
            for _ in before..target {
                self.queue_links(&stream, DUE_ALWAYS)?;
                let (sums, due) = (false, DUE_ALWAYS);
                self.queue_mesh(&stream, Request { sums, due })?;
                kernels[0].launch(&stream, shape, (&self.world, self.setup))?;
                kernels[1].launch(&stream, self.blocks(0), (&self.world, self.setup))?;
            }
            stream.synchronize()?;
            self.read_control()?;
            self.check()?;
            if self.last.target == self.last.step {
                break;
            }
        }
        Ok(())
    }
}
