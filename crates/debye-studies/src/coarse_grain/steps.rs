//! Whole steps of the paper's kernels against the serial program in double precision.

use debye::expr::Vec3;
use debye_gpu::Device;

use super::beads::{Acted, Beads};
use super::device::OnCard;
use super::sequential::Motion;
use super::variants::{FEW, force_tolerance};
use super::versions::{Arithmetic, Kept, Version};
use crate::study::StudyError;

/// ps.
const TIMESTEP: f64 = 0.002;
/// Roundings of a stored number in a step, and of each axis in five turns.
const ROUNDINGS: f64 = 4.0;
const ROUNDINGS_OF_AXES: f64 = 20.0;

/// How far one real step of the kernels is from that of the serial program, beside what is allowed: the largest ratio over
/// positions, velocities, angular momenta and axes of all beads. It is right up to 1.
///
/// Allowed is what follows from forces and torques that are off by the tolerance of the version, t F and t T at most:
/// a velocity is off by h t F / m after both halves, a position by h² t F / 2m, an angular momentum by h t T, an axis by
/// h² t T / 2I; and in addition the rounding of what is stored.
///
/// # Errors
/// What the device says.
pub fn step_error(device: &Device, beads: &Beads, version: Version) -> Result<f64, StudyError> {
    match version.arithmetic {
        Arithmetic::Single | Arithmetic::Intrinsic => one_step::<f32>(device, beads, version),
        Arithmetic::Double | Arithmetic::Mixed => one_step::<f64>(device, beads, version),
        Arithmetic::Fixed => one_step::<i64>(device, beads, version),
    }
}

fn one_step<S: Kept>(device: &Device, beads: &Beads, version: Version) -> Result<f64, StudyError> {
    let list = beads.list();
    let before = list.act(beads);
    let mut want = Motion::new(beads);
    want.first(beads, &before, TIMESTEP);
    let after = list.act(&beads.moved(&want));
    want.second(beads, &after, TIMESTEP);
    let stream = device.stream()?;
    // Forces alone first: with a kernel that kicks, for no time at all.
    let mut state = OnCard::<S>::new(device, beads, version, 0.0, FEW)?;
    state.act(&stream)?;
    state.set_timestep(TIMESTEP);
    state.step(&stream)?;
    let got = state.motion(&stream)?;
    let largest = |of: fn(&Acted) -> &Vec<Vec3<f64>>| {
        let all = of(&before).iter().chain(of(&after));
        force_tolerance(version.arithmetic) * all.map(|x| x.norm()).fold(0.0, f64::max)
    };
    let (force, torque) = (largest(|a| &a.forces), largest(|a| &a.torques));
    let rounding = |x: Vec3<f64>| ROUNDINGS * version.arithmetic.rounding(x.norm());
    let axis_rounding = ROUNDINGS_OF_AXES * version.arithmetic.rounding(1.0);
    let side = Vec3::from(beads.side);
    let mut worst = 0.0_f64;
    let mut see = |off: f64, allowed: f64| {
        let ratio = off / allowed;
        worst = if ratio.is_nan() {
            f64::INFINITY
        } else {
            worst.max(ratio)
        };
    };
    for (i, mass) in beads.particles().masses.iter().enumerate() {
        // Within the cell.
        for (x, side) in got.positions[i].to_array().into_iter().zip(beads.side) {
            see((-x).max(x - side).max(0.0), version.arithmetic.rounding(side));
        }
        let inertia = beads.particles().orientations.rotor(i).inertia;
        let smallest = inertia
            .into_iter()
            .filter(|&x| x > 0.0)
            .fold(f64::INFINITY, f64::min);
        let velocity = TIMESTEP * force / mass;
        let off = |a: &[Vec3<f64>], b: &[Vec3<f64>]| (a[i] - b[i]).norm();
        see(
            beads.nearest(got.positions[i] - want.positions[i]).norm(),
            0.5 * TIMESTEP * velocity + rounding(side),
        );
        see(
            off(&got.velocities, &want.velocities),
            velocity + rounding(want.velocities[i]),
        );
        see(
            off(&got.momenta, &want.momenta),
            TIMESTEP * torque + rounding(want.momenta[i]),
        );
        for k in 0..3 {
            see(
                (got.axes[i][k] - want.axes[i][k]).norm(),
                0.5 * TIMESTEP * TIMESTEP * torque / smallest + axis_rounding,
            );
        }
    }
    Ok(worst)
}
