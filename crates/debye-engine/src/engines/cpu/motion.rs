//! Kicks, drifts and sums over all particles: parallel by blocks, sums in one order.

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use super::rotation::Noise;
use super::state::{BLOCK, State};
use crate::expr::Vec3;
use crate::random::{Philox, stream};

/// Rounds the state to single precision where that is what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Keep double precision.
    Double,
    /// Round positions and velocities to single precision.
    Single,
}

impl Rounding {
    #[inline(always)]
    pub(super) fn apply(self, v: Vec3<f64>) -> Vec3<f64> {
        match self {
            Self::Double => v,
            Self::Single => v.map(|x| f64::from(x as f32)),
        }
    }
}

/// What a force is multiplied with in a kick. Sites without mass have the impulse in place of a velocity, until it is given to
/// their rigid body.
#[inline(always)]
pub(super) fn per_mass(time: f64, mass: f64) -> f64 {
    if mass > 0.0 { time / mass } else { time }
}

/// v += F/m · `time`, and likewise for angular momenta.
pub fn kick(state: &mut State, time: f64, rounding: Rounding) {
    state.rotations.kick(time, rounding);
    let State {
        velocities,
        forces,
        masses,
        ..
    } = state;
    velocities
        .par_iter_mut()
        .zip(&*forces)
        .zip(&*masses)
        .with_min_len(BLOCK)
        .for_each(|((v, &f), &m)| {
            *v = rounding.apply(*v + f * per_mass(time, m));
        });
}

/// r += v · `time`, and free rotation.
pub fn drift(state: &mut State, time: f64, rounding: Rounding) {
    state.rotations.drift(time, rounding);
    let State {
        velocities,
        positions,
        ..
    } = state;
    positions
        .par_iter_mut()
        .zip(&*velocities)
        .with_min_len(BLOCK)
        .for_each(|(r, &v)| {
            *r = rounding.apply(*r + v * time);
        });
}

/// A kick and a drift in one pass over memory.
pub fn kick_and_drift(state: &mut State, kick: f64, drift: f64, rounding: Rounding) {
    state.rotations.kick(kick, rounding);
    state.rotations.drift(drift, rounding);
    let State {
        velocities,
        positions,
        forces,
        masses,
        ..
    } = state;
    positions
        .par_iter_mut()
        .zip(velocities)
        .zip(&*forces)
        .zip(&*masses)
        .with_min_len(BLOCK)
        .for_each(|(((r, v), &f), &m)| {
            *v = rounding.apply(*v + f * per_mass(kick, m));
            *r = rounding.apply(*r + *v * drift);
        });
}

/// Multiplies velocities and angular momenta by the factor of each species.
pub fn scale(state: &mut State, factor_of_species: &[f64], rounding: Rounding) {
    let State {
        velocities,
        species,
        rotations,
        ..
    } = state;
    rotations.scale(species, factor_of_species, rounding);
    velocities
        .par_iter_mut()
        .zip(&*species)
        .with_min_len(BLOCK)
        .for_each(|(v, &s)| {
            *v = rounding.apply(*v * factor_of_species[s as usize]);
        });
}

/// The exact Ornstein–Uhlenbeck step: v = c v + √((1 − c²) kT/m) ξ. Species with c = 1 are left alone.
pub fn ornstein_uhlenbeck(state: &mut State, keep: &[f64], kt: &[f64], philox: Philox, rounding: Rounding) {
    let State {
        velocities,
        species,
        masses,
        ids,
        step,
        rotations,
        ..
    } = state;
    let step = *step;
    rotations.ornstein_uhlenbeck(&Noise {
        step,
        ids,
        species,
        keep,
        kt,
        philox,
        rounding,
    });
    velocities
        .par_chunks_mut(BLOCK)
        .zip(species.par_chunks(BLOCK))
        .zip(masses.par_chunks(BLOCK))
        .zip(ids.par_chunks(BLOCK))
        .for_each_init(Vec::new, |noise, (((velocities, species), masses), ids)| {
            noise.resize(ids.len(), [0.0; 3]);
            philox.normals_of(step, ids, stream::LANGEVIN, noise);
            for (k, v) in velocities.iter_mut().enumerate() {
                let s = species[k] as usize;
                let (c, kt) = (keep[s], kt[s]);
                if c < 1.0 && masses[k] > 0.0 {
                    *v = rounding
                        .apply(*v * c + Vec3::from(noise[k]) * ((1.0 - c * c) * kt / masses[k]).sqrt());
                }
            }
        });
}

/// Adds up something of every particle, block by block, so that the sum has one order.
pub fn sum<T: Copy + Send + Default>(
    n: usize,
    add: impl Fn(&mut T, usize) + Sync,
    join: impl Fn(&mut T, T),
) -> T {
    let blocks: Vec<T> = (0..n.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut total = T::default();
            for i in block * BLOCK..((block + 1) * BLOCK).min(n) {
                add(&mut total, i);
            }
            total
        })
        .collect();
    let mut total = T::default();
    for block in blocks {
        join(&mut total, block);
    }
    total
}

/// Σ m v⊗v: xx yy zz xy xz yz.
pub fn kinetic_tensor(state: &State, velocities: &[Vec3<f64>]) -> [f64; 6] {
    sum(
        state.len(),
        |t: &mut [f64; 6], i| {
            let (v, m) = (velocities[i], state.masses[i]);
            t[0] += m * v.x * v.x;
            t[1] += m * v.y * v.y;
            t[2] += m * v.z * v.z;
            t[3] += m * v.x * v.y;
            t[4] += m * v.x * v.z;
            t[5] += m * v.y * v.z;
        },
        |t, b| t.iter_mut().zip(b).for_each(|(t, b)| *t += b),
    )
}

/// Kinetic energy of the particles whose species are marked, rotation included.
pub fn kinetic_energy_of(state: &State, marked: &[bool]) -> f64 {
    let rotations = &state.rotations;
    let turning = rotations.kinetic_energy_of(&rotations.momenta, |i| marked[state.species[i] as usize]);
    turning
        + 0.5
            * sum(
                state.len(),
                |t: &mut f64, i| {
                    if marked[state.species[i] as usize] {
                        *t += state.masses[i] * state.velocities[i].norm2();
                    }
                },
                |t, b| *t += b,
            )
}

/// Total momentum and mass.
pub fn momentum(state: &State) -> (Vec3<f64>, f64) {
    let [x, y, z, m] = sum(
        state.len(),
        |t: &mut [f64; 4], i| {
            let (v, m) = (state.velocities[i], state.masses[i]);
            t[0] += m * v.x;
            t[1] += m * v.y;
            t[2] += m * v.z;
            t[3] += m;
        },
        |t, b| t.iter_mut().zip(b).for_each(|(t, b)| *t += b),
    );
    (Vec3::new(x, y, z), m)
}

/// Stops the motion of the center of mass.
pub fn remove_momentum(state: &mut State, rounding: Rounding) {
    let (p, m) = momentum(state);
    let drift = p * (1.0 / m);
    state
        .velocities
        .par_iter_mut()
        .zip(&state.masses)
        .with_min_len(BLOCK)
        .for_each(|(v, &m)| {
            if m > 0.0 {
                *v = rounding.apply(*v - drift);
            }
        });
}

/// How far particles are from where they were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// The two largest displacements; infinite if one is not a number.
    pub largest: [f64; 2],
    /// The mean square displacement along one axis.
    pub variance: f64,
}

/// How far particles are from reference positions scaled by `scale`.
pub fn displacements(positions: &[Vec3<f64>], reference: &[Vec3<f64>], scale: Vec3<f64>) -> Moved {
    let blocks: Vec<([f64; 2], f64)> = positions
        .par_chunks(BLOCK)
        .zip(reference.par_chunks(BLOCK))
        .map(|(now, then)| {
            let (mut top, mut sum) = ([0.0_f64; 2], 0.0);
            for (&a, &b) in now.iter().zip(then) {
                let d2 = (a - b.scale(scale)).norm2();
                sum += d2;
                if d2 > top[1] || d2.is_nan() {
                    top = insert(top, if d2.is_nan() { f64::INFINITY } else { d2 });
                }
            }
            (top, sum)
        })
        .collect();
    let (mut largest, mut sum) = ([0.0; 2], 0.0);
    for (top, part) in blocks {
        largest = insert(insert(largest, top[0]), top[1]);
        sum += part;
    }
    Moved {
        largest: largest.map(f64::sqrt),
        variance: sum / (3.0 * positions.len() as f64),
    }
}

fn insert([a, b]: [f64; 2], x: f64) -> [f64; 2] {
    if x > a { [x, a] } else { [a, b.max(x)] }
}
