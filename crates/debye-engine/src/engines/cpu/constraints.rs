//! Constraints at work: positions after a drift, velocities after a kick, and what they add to the pressure.
//!
//! Every group of constrained particles writes changes to places of its own; then each particle adds the one that is its.
//! So threads never meet, and nothing depends on their number. Rigid waters of one shape are worked on several at a time.
#![allow(unsafe_code)]

mod bodies;
mod pressure;

use std::ops::Range;

use crate::parallel::{InParallel, Indexed, IntoIndexed};
use rayon::slice::ParallelSliceMut;

use self::bodies::body_before;
use super::engine::CpuEngine;
use super::motion::{Rounding, per_mass};
use super::rigid::{Rigid, TOGETHER, Waters};
use super::state::{BLOCK, State};
use crate::engines::EngineError;
use crate::expr::Vec3;
use crate::forces::constraints::{Clusters, Group, Nearest, Scratch, Triangle, Unsolved};
use crate::simd::InstructionSet;
use crate::system::constraints::check_reach;
use crate::system::{Cell, System};

/// Groups per block: the unit of parallel work and of ordered sums.
const GROUPS: usize = 256;

/// A particle that no constraint holds.
const FREE: u32 = u32::MAX;

/// The constraints of an engine.
#[derive(Clone, Default)]
pub(super) struct Constrained {
    clusters: Clusters,
    /// The groups in the order in which they are worked on: kind by kind, those side by side whose particles are.
    groups: Vec<Group>,
    /// How waters are constrained, several at a time.
    rigid: Option<Rigid>,
    /// The slot of the particle of each place among the changes.
    slots: Vec<u32>,
    /// The place of the particle in each slot, or [`FREE`].
    places: Vec<u32>,
    /// Places before this are held at distances; those from it on are sites of rigid bodies.
    first_of_bodies: u32,
    /// Sites without mass.
    massless: Vec<u32>,
    /// Of every kind of rigid bodies its first particle, and how far sites are from it.
    bodies: Vec<(u32, f64)>,
    /// A change for every place.
    changes: Vec<Vec3<f64>>,
    /// Positions before the drift, by slot.
    before: Vec<Vec3<f64>>,
}

/// xx yy zz xy xz yz of a ⊗ b, made symmetric.
fn outer(a: Vec3<f64>, b: Vec3<f64>) -> [f64; 6] {
    let both = |p: f64, q: f64| 0.5 * (p + q);
    [
        a.x * b.x,
        a.y * b.y,
        a.z * b.z,
        both(a.x * b.y, a.y * b.x),
        both(a.x * b.z, a.z * b.x),
        both(a.y * b.z, a.z * b.y),
    ]
}

fn add(total: &mut [f64; 6], part: [f64; 6]) {
    total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
}

impl Constrained {
    pub(super) fn new(system: &System, set: InstructionSet) -> Result<Self, EngineError> {
        if system.constraints.is_empty() {
            return Ok(Self::default());
        }
        let clusters = system
            .clusters()
            .map_err(|e| EngineError::Unsupported(e.to_string()))?;
        let bodies = clusters
            .groups
            .iter()
            .find(|group| clusters.body(group).is_some());
        let first_of_bodies = bodies.map_or(clusters.atoms.len(), |group| group.places.start) as u32;
        let masses = &system.particles.masses;
        let massless = clusters
            .atoms
            .iter()
            .copied()
            .filter(|&i| masses[i as usize] == 0.0);
        let mut made = Self {
            massless: massless.collect(),
            bodies: system.constraints.reaches().collect(),
            first_of_bodies,
            groups: clusters.groups.clone(),
            clusters,
            rigid: Some(Rigid::new(set)),
            ..Self::default()
        };
        let slot_of: Vec<u32> = (0..system.particles.len() as u32).collect();
        made.set_slots(&slot_of);
        Ok(made)
    }

    /// Takes new slots of particles. Works on the groups in the order of their particles from now on; nothing
    /// depends on that but where memory is read.
    pub(super) fn set_slots(&mut self, slot_of: &[u32]) {
        if self.is_empty() {
            return;
        }
        let clusters = &self.clusters;
        let first = |group: &Group| slot_of[clusters.atoms[group.places.start] as usize];
        let order = |group: &Group| (clusters.kind(group), first(group));
        ParallelSliceMut::par_sort_unstable_by_key(self.groups.as_mut_slice(), order);
        let atoms = (self.groups.iter()).flat_map(|group| &clusters.atoms[group.places.clone()]);
        self.slots.clear();
        self.slots.extend(atoms.map(|&atom| slot_of[atom as usize]));
        self.places.clear();
        self.places.resize(slot_of.len(), FREE);
        for (place, &slot) in (0..).zip(&self.slots) {
            self.places[slot as usize] = place;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Refuses a cell that is too short for a body.
    pub(super) fn check_reach(&self, cell: &Cell, step: u64) -> Result<(), EngineError> {
        let short = |e: crate::system::ConstraintError| EngineError::Cell {
            step,
            why: e.to_string(),
        };
        check_reach(&self.bodies, cell).map_err(short)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        (self.slots.capacity() + self.places.capacity() + self.massless.capacity()) * 4
            + (self.changes.capacity() + self.before.capacity()) * 24
            + self.clusters.atoms.capacity() * 16
            + self.groups.capacity() * size_of::<Group>()
    }

    /// Remembers where the particles are before they move.
    fn remember(&mut self, positions: &[Vec3<f64>]) {
        self.before.resize(positions.len(), Vec3::zero());
        self.before
            .par_iter_mut()
            .zip(positions)
            .with_min_len(BLOCK)
            .for_each(|(to, &r)| *to = r);
    }

    /// How many of the groups, from the first on, are waters of one shape: as many as are worked on together, or fewer.
    fn alike(&self, groups: &[Group]) -> usize {
        let shape = |group: &Group| self.clusters.triangle(group).map(std::ptr::from_ref);
        let first = groups.first().and_then(shape);
        let like = |group: &&Group| first.is_some() && shape(group) == first;
        groups.iter().take(TOGETHER).take_while(like).count()
    }

    /// Works on every group in parallel; `work` writes the changes of its particles, `waters` those of several waters by their
    /// slots, or says that it cannot. The first failure in the order of the groups counts.
    fn change(
        &self,
        changes: &mut [Vec3<f64>],
        step: u64,
        waters: impl Fn(&Triangle<f64>, &[[u32; 3]], &mut [Vec3<f64>]) -> bool + Sync,
        work: impl Fn(&Clusters, &Group, &mut Scratch, &mut [Vec3<f64>]) -> Result<(), Unsolved> + Sync,
    ) -> Result<(), EngineError> {
        let clusters = &self.clusters;
        let (mut rest, mut slots) = (changes, &self.slots[..]);
        let mut blocks = Vec::with_capacity(self.groups.len().div_ceil(GROUPS));
        for groups in self.groups.chunks(GROUPS) {
            let places: usize = groups.iter().map(|g| g.places.len()).sum();
            let (own, others) = rest.split_at_mut(places);
            let (of_own, of_others) = slots.split_at(places);
            blocks.push((groups, of_own, own));
            (rest, slots) = (others, of_others);
        }
        let done: Vec<Result<(), EngineError>> = blocks
            .into_par_iter()
            .map_init(Scratch::default, |scratch, (groups, mut slots, mut changes)| {
                let mut groups = groups;
                while let Some(group) = groups.first() {
                    let count = self.alike(groups);
                    let (some, left) = groups.split_at(count.max(1));
                    let places: usize = some.iter().map(|g| g.places.len()).sum();
                    let (own, others) = changes.split_at_mut(places);
                    let (of_own, of_others) = slots.split_at(places);
                    // Also one alone, so that its bits do not depend on its neighbors.
                    let triangle = clusters.triangle(group);
                    // Where one of several fails, it is found one by one.
                    if !triangle.is_some_and(|triangle| waters(triangle, of_own.as_chunks().0, own)) {
                        let mut own = own;
                        for group in some {
                            let (mine, more) = own.split_at_mut(group.places.len());
                            work(clusters, group, scratch, mine)
                                .map_err(|u| failed(clusters, group, u, step))?;
                            own = more;
                        }
                    }
                    (groups, slots, changes) = (left, of_others, others);
                }
                Ok(())
            })
            .collect();
        done.into_iter().collect()
    }

    /// Adds up something of every group, in one order.
    fn sum(
        &self,
        step: u64,
        work: impl Fn(&Clusters, &Group, &mut Scratch) -> Result<[f64; 6], Unsolved> + Sync,
    ) -> Result<[f64; 6], EngineError> {
        let clusters = &self.clusters;
        let sums: Vec<Result<[f64; 6], EngineError>> = clusters
            .groups
            .par_chunks(GROUPS)
            .map_init(Scratch::default, |scratch, groups| {
                let mut total = [0.0; 6];
                for group in groups {
                    let part = work(clusters, group, scratch);
                    add(&mut total, part.map_err(|u| failed(clusters, group, u, step))?);
                }
                Ok(total)
            })
            .collect();
        let mut total = [0.0; 6];
        for sum in sums {
            add(&mut total, sum?);
        }
        Ok(total)
    }

    /// Room for the changes; not given back by who fails.
    fn lend(&mut self) -> Vec<Vec3<f64>> {
        let mut changes = std::mem::take(&mut self.changes);
        changes.resize(self.clusters.atoms.len(), Vec3::zero());
        changes
    }

    /// Whether no constraint holds the particle in a slot.
    pub(super) fn is_free(&self, slot: usize) -> bool {
        self.places.get(slot).is_none_or(|&place| place == FREE)
    }

    /// Changes something of every constrained particle.
    fn apply(&self, changes: &[Vec3<f64>], values: &mut [Vec3<f64>], rounding: Rounding) {
        self.apply_to(0..FREE, changes, values, rounding);
    }

    /// The same of those at some places.
    fn apply_to(
        &self,
        places: Range<u32>,
        changes: &[Vec3<f64>],
        values: &mut [Vec3<f64>],
        rounding: Rounding,
    ) {
        values
            .par_iter_mut()
            .zip(&self.places)
            .with_min_len(BLOCK)
            .for_each(|(value, &place)| {
                if places.contains(&place) {
                    *value = rounding.apply(*value + changes[place as usize]);
                }
            });
    }
}

fn failed(clusters: &Clusters, group: &Group, unsolved: Unsolved, step: u64) -> EngineError {
    let (particles, wanted) = clusters.constraint(group, unsolved.bond);
    EngineError::Constraint {
        step,
        particles,
        wanted,
        found: unsolved.found,
    }
}

/// What a function makes of the three of a water; written out, as closures of arrays stay calls.
#[inline(always)]
fn each<T, U>([a, b, c]: [T; 3], to: impl Fn(T) -> U) -> [U; 3] {
    [to(a), to(b), to(c)]
}

/// Puts the vectors of one water among those of several.
fn put(to: &mut Waters, water: usize, values: [Vec3<f64>; 3]) {
    for (atom, value) in to.iter_mut().zip(values) {
        for (axis, x) in atom.iter_mut().zip(value.to_array()) {
            axis[water] = x;
        }
    }
}

/// Writes what is to be added to `from` for `to`; whether all of it is finite.
fn write_changes(from: &Waters, to: &Waters, changes: &mut [Vec3<f64>]) -> bool {
    let mut sum = 0.0;
    for (water, changes) in changes.chunks_exact_mut(3).enumerate() {
        for (atom, change) in changes.iter_mut().enumerate() {
            let of = |axis: usize| to[atom][axis][water] - from[atom][axis][water];
            *change = Vec3::new(of(0), of(1), of(2));
            sum += change.x + change.y + change.z;
        }
    }
    sum.is_finite()
}

/// Waters that are no waters: lanes without one must have something that can be solved.
const EMPTY: Waters = [[[0.0; TOGETHER]; 3]; 3];

/// Where the particles of a group are, relative to the first.
fn gather(
    clusters: &Clusters,
    group: &Group,
    state: &State,
    nearest: Nearest,
    positions: &[Vec3<f64>],
    to: &mut Vec<Vec3<f64>>,
) {
    let at = |i: u32| positions[state.slot_of[i as usize] as usize];
    clusters.whole(group, nearest, at, to);
}

/// The same for where they are now, to the old places.
fn gather_now(clusters: &Clusters, group: &Group, state: &State, nearest: Nearest, scratch: &mut Scratch) {
    gather(
        clusters,
        group,
        state,
        nearest,
        &state.positions,
        &mut scratch.old,
    );
}

/// Slots of the particles of a group.
fn slots<'a>(clusters: &'a Clusters, group: &Group, state: &'a State) -> impl Iterator<Item = usize> + 'a {
    clusters.atoms[group.places.clone()]
        .iter()
        .map(|&i| state.slot_of[i as usize] as usize)
}

/// The mean of something of the particles of a group, by mass.
fn center(inverse_masses: &[f64], values: impl Iterator<Item = Vec3<f64>>) -> Vec3<f64> {
    let (mut sum, mut mass) = (Vec3::zero(), 0.0);
    for (w, value) in inverse_masses.iter().zip(values) {
        sum += value * (1.0 / w);
        mass += 1.0 / w;
    }
    sum * (1.0 / mass)
}

impl CpuEngine {
    pub(super) fn is_constrained(&self) -> bool {
        !self.constrained.is_empty()
    }

    /// To be called before positions change.
    pub(super) fn before_drift(&mut self) {
        if self.is_constrained() {
            self.constrained.remember(&self.state.positions);
        }
    }

    /// After a drift of `time`: brings distances back to their lengths along the bonds before it, and gives the velocities
    /// their share; moves and turns rigid bodies by the velocities of their sites. A `time` of zero leaves velocities alone.
    pub(super) fn constrain_positions(&mut self, time: f64) -> Result<(), EngineError> {
        self.constrain_positions_within(time, f64::INFINITY)
    }

    /// The same with no site of a rigid body going farther than `longest`.
    pub(super) fn constrain_positions_within(&mut self, time: f64, longest: f64) -> Result<(), EngineError> {
        if !self.is_constrained() {
            return Ok(());
        }
        let mut changes = self.constrained.lend();
        let (state, constrained) = (&self.state, &self.constrained);
        let before = &constrained.before;
        let nearest = Nearest::new(&state.cell);
        let waters = |triangle: &Triangle<f64>, slots: &[[u32; 3]], changes: &mut [Vec3<f64>]| {
            let Some(rigid) = &constrained.rigid else {
                return false;
            };
            let (mut old, mut new) = (EMPTY, EMPTY);
            for (water, slots) in slots.iter().enumerate() {
                let slots = each(*slots, |slot| slot as usize);
                let was = each(slots, |slot| before[slot] - before[slots[0]]);
                let places = each(was, |d| nearest.of(d));
                put(&mut old, water, places);
                // What led to the image next to the others; then the way since.
                let now = |k: usize| state.positions[slots[k]] - before[slots[0]] + (places[k] - was[k]);
                put(&mut new, water, [now(0), now(1), now(2)]);
            }
            let mut settled = new;
            // SAFETY: made for a set that this processor has.
            unsafe { (rigid.positions)(triangle, &old, &mut settled) };
            write_changes(&new, &settled, changes)
        };
        constrained.change(
            &mut changes,
            state.step,
            waters,
            |clusters, group, scratch, changes| {
                let Scratch { old, new, .. } = scratch;
                gather(clusters, group, state, nearest, before, old);
                new.clear();
                let mut first = None;
                for (slot, &place) in slots(clusters, group, state).zip(&*old) {
                    let origin = *first.get_or_insert(before[slot]);
                    // What led to the image next to the others; then the way since.
                    let image = place - (before[slot] - origin);
                    new.push(state.positions[slot] - origin + image);
                }
                changes.copy_from_slice(new);
                match clusters.body(group).filter(|_| time != 0.0) {
                    Some((_, shape)) => {
                        let (pose, mut motion) = body_before(clusters, group, shape, state, old, new);
                        motion.shorten(longest / (time * pose.fastest(shape, &motion, old)));
                        let then = pose.after(shape, &motion, time);
                        new.iter_mut().zip(then.sites(shape)).for_each(|(to, r)| *to = r);
                    }
                    None => clusters.positions(group, scratch)?,
                }
                for (change, &constrained) in changes.iter_mut().zip(&scratch.new) {
                    *change = constrained - *change;
                }
                Ok(())
            },
        )?;
        let (state, rounding) = (&mut self.state, self.rounding);
        let bodies = constrained.first_of_bodies;
        let places = constrained.places.par_iter().with_min_len(BLOCK);
        let moved = state.positions.par_iter_mut().zip(&mut state.velocities);
        places.zip(moved).for_each(|(&place, (r, v))| {
            if place == FREE {
                return;
            }
            let change = changes[place as usize];
            *r = rounding.apply(*r + change);
            if time != 0.0 && place < bodies {
                *v = rounding.apply(*v + change * (1.0 / time));
            }
        });
        if time != 0.0 && (bodies as usize) < constrained.clusters.atoms.len() {
            self.turn_velocities_of_bodies(&mut changes)?;
        }
        self.constrained.changes = changes;
        Ok(())
    }

    /// Takes from the velocities what would change a fixed distance.
    pub(super) fn constrain_velocities(&mut self) -> Result<(), EngineError> {
        if !self.is_constrained() {
            return Ok(());
        }
        let mut velocities = std::mem::take(&mut self.state.velocities);
        let mut changes = self.constrained.lend();
        let done = self.constrain_rates(&mut velocities, &mut changes, self.rounding);
        self.state.velocities = velocities;
        self.constrained.changes = changes;
        self.rest_massless();
        done
    }

    /// The same for velocities or accelerations that are not those of the state.
    fn constrain_rates(
        &self,
        rates: &mut [Vec3<f64>],
        changes: &mut [Vec3<f64>],
        rounding: Rounding,
    ) -> Result<(), EngineError> {
        let (state, values) = (&self.state, &*rates);
        let nearest = Nearest::new(&state.cell);
        let constrained = &self.constrained;
        let waters = |triangle: &Triangle<f64>, slots: &[[u32; 3]], changes: &mut [Vec3<f64>]| {
            let Some(rigid) = &constrained.rigid else {
                return false;
            };
            let (mut places, mut now) = (EMPTY, EMPTY);
            for (water, slots) in slots.iter().enumerate() {
                let slots = each(*slots, |slot| slot as usize);
                let first = state.positions[slots[0]];
                let place = |slot: usize| nearest.of(state.positions[slot] - first);
                put(&mut places, water, each(slots, place));
                put(&mut now, water, each(slots, |slot| values[slot]));
            }
            let mut kept = now;
            // SAFETY: made for a set that this processor has.
            unsafe { (rigid.rates)(triangle, &places, &mut kept) };
            write_changes(&now, &kept, changes)
        };
        self.constrained.change(
            changes,
            state.step,
            waters,
            |clusters, group, scratch, changes| {
                gather_now(clusters, group, state, nearest, scratch);
                scratch.new.clear();
                scratch
                    .new
                    .extend(slots(clusters, group, state).map(|slot| values[slot]));
                changes.copy_from_slice(&scratch.new);
                clusters.rates(group, scratch, |_| 0.0)?;
                for (change, &constrained) in changes.iter_mut().zip(&scratch.new) {
                    *change = constrained - *change;
                }
                Ok(())
            },
        )?;
        self.constrained.apply(changes, rates, rounding);
        Ok(())
    }

    /// Velocities that are not those of the state, constrained as far as they can be: where they cannot, the next step says so.
    pub(super) fn constrained_velocities(&self, mut velocities: Vec<Vec3<f64>>) -> Vec<Vec3<f64>> {
        if !self.is_constrained() {
            return velocities;
        }
        let before = velocities.clone();
        let mut changes = vec![Vec3::zero(); self.constrained.clusters.atoms.len()];
        match self.constrain_rates(&mut velocities, &mut changes, Rounding::Double) {
            Ok(()) => velocities,
            Err(_) => before,
        }
    }

    /// Leaves of the forces only what moves particles without changing a fixed distance. Zero at a minimum.
    pub(super) fn constrain_forces(&mut self) -> Result<(), EngineError> {
        if !self.is_constrained() {
            return Ok(());
        }
        let mut changes = self.constrained.lend();
        let mut rates = std::mem::take(&mut self.state.forces);
        let weigh = |rates: &mut [Vec3<f64>], masses: &[f64], factor: fn(f64) -> f64| {
            rates
                .par_iter_mut()
                .zip(masses)
                .with_min_len(BLOCK)
                .for_each(|(f, &m)| *f = *f * factor(m));
        };
        weigh(&mut rates, &self.state.masses, |m| per_mass(1.0, m));
        let done = self.constrain_rates(&mut rates, &mut changes, Rounding::Double);
        weigh(&mut rates, &self.state.masses, |m| m);
        self.state.forces = rates;
        self.constrained.changes = changes;
        done
    }
}
