//! Rigid bodies of several sites: forces and impulses of the sites are gathered to the body, which moves and turns as the
//! particles that turn do, and takes its sites along.
//!
//! Sites without mass have no velocity of their own. Wherever velocities of sites go in, theirs is the impulse on them, so
//! that a kick v += Δt F/m is v += Δt F for them; a force in place of m times an acceleration likewise.

use crate::expr::Vec3;
use crate::integrate::rotation::{angular_velocity, from_axes, turn_axes, turn_linear_axes};
use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::constraints::FARTHEST_START;
use crate::system::{Class, Dimension, RigidShape, axes_of, directions, linear_axes};

/// What a body does: the velocity of its center, and its angular momentum about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Motion {
    pub(crate) velocity: Vec3<f64>,
    pub(crate) momentum: Vec3<f64>,
}

impl Motion {
    /// Slower by a factor, where that is below one.
    pub(crate) fn shorten(&mut self, factor: f64) {
        if factor < 1.0 {
            self.velocity = self.velocity * factor;
            self.momentum = self.momentum * factor;
        }
    }
}

/// Where a body is and how it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pose {
    pub(crate) center: Vec3<f64>,
    pub(crate) axes: [Vec3<f64>; 3],
}

impl Pose {
    /// Of sites at these places.
    pub(crate) fn of(shape: &RigidShape, places: &[Vec3<f64>]) -> Self {
        let mut center = Vec3::zero();
        for (&r, &m) in places.iter().zip(shape.masses()) {
            center += r * m;
        }
        let references = shape.references();
        let [a, b, c] = references.sites.map(|k| places[k as usize]);
        let found = match shape.rotor().class() {
            Class::Body => directions(b - a, c - a),
            Class::Point | Class::Linear => linear_axes(b - a),
        };
        Self {
            center: center * shape.mass().recip(),
            axes: axes_of(found, references.directions),
        }
    }

    /// Where its sites are.
    pub(crate) fn sites<'a>(&'a self, shape: &'a RigidShape) -> impl Iterator<Item = Vec3<f64>> + 'a {
        shape
            .sites()
            .iter()
            .map(|&s| self.center + from_axes(self.axes, s))
    }

    /// The motion that sites at these places have together.
    pub(crate) fn gather(&self, shape: &RigidShape, places: &[Vec3<f64>], rates: &[Vec3<f64>]) -> Motion {
        let (mut total, mut momentum) = (Vec3::zero(), Vec3::zero());
        for ((&r, &v), &m) in places.iter().zip(rates).zip(shape.masses()) {
            let impulse = if m > 0.0 { v * m } else { v };
            total += impulse;
            momentum += (r - self.center).cross(impulse);
        }
        Motion {
            velocity: total * shape.mass().recip(),
            momentum,
        }
    }

    /// The angular velocity of this motion.
    pub(crate) fn rate(&self, shape: &RigidShape, momentum: Vec3<f64>) -> Vec3<f64> {
        angular_velocity(self.axes, momentum, shape.inverse_inertia())
    }

    /// After this motion for a time, with nothing acting on it.
    pub(crate) fn after(&self, shape: &RigidShape, motion: &Motion, time: f64) -> Self {
        let inertia = shape.rotor().inertia;
        Self {
            center: self.center + motion.velocity * time,
            axes: match shape.rotor().class() {
                Class::Body => turn_axes(self.axes, motion.momentum, inertia, time),
                Class::Point | Class::Linear => {
                    turn_linear_axes(self.axes, motion.momentum, inertia[0], time)
                }
            },
        }
    }

    /// Velocities of sites at these places.
    pub(crate) fn velocities<'a>(
        &self,
        shape: &RigidShape,
        motion: &Motion,
        places: &'a [Vec3<f64>],
    ) -> impl Iterator<Item = Vec3<f64>> + use<'a> {
        let (center, rate, common) = (self.center, self.rate(shape, motion.momentum), motion.velocity);
        places.iter().map(move |&r| common + rate.cross(r - center))
    }

    /// The largest speed of a site.
    pub(crate) fn fastest(&self, shape: &RigidShape, motion: &Motion, places: &[Vec3<f64>]) -> f64 {
        let speeds = self.velocities(shape, motion, places).map(Vec3::norm);
        speeds.fold(0.0, f64::max)
    }

    /// The forces that keep the sites in their places: what they need for the accelerations of the body, less `forces`.
    pub(crate) fn constraint_forces<'a>(
        &self,
        shape: &'a RigidShape,
        motion: &Motion,
        places: &'a [Vec3<f64>],
        forces: &'a [Vec3<f64>],
    ) -> impl Iterator<Item = Vec3<f64>> + use<'a> {
        let (mut total, mut torque) = (Vec3::zero(), Vec3::zero());
        for (&r, &f) in places.iter().zip(forces) {
            total += f;
            torque += (r - self.center).cross(f);
        }
        let rate = self.rate(shape, motion.momentum);
        let turning = self.rate(shape, torque - rate.cross(motion.momentum));
        let (center, common) = (self.center, total * shape.mass().recip());
        let sites = places.iter().zip(forces).zip(shape.masses());
        sites.map(move |((&r, &f), &m)| {
            let arm = r - center;
            (common + turning.cross(arm) + rate.cross(rate.cross(arm))) * m - f
        })
    }
}

/// Places on a body that has the shape, as near to these as its reference sites say.
pub(crate) fn fitted(shape: &RigidShape, places: &mut [Vec3<f64>]) {
    let pose = Pose::of(shape, places);
    places
        .iter_mut()
        .zip(pose.sites(shape))
        .for_each(|(to, r)| *to = r);
}

/// What is wrong with places that do not have the shape: the site that is farthest off, by how much, and whether all
/// distances are right, so that they are those of the mirror image. Nothing where all are as near as a start must be.
pub fn misfit(shape: &RigidShape, places: &[Vec3<f64>]) -> Option<(usize, f64, bool)> {
    let within = FARTHEST_START * shape.size();
    let mut fit = places.to_vec();
    fitted(shape, &mut fit);
    let off = |k: usize| {
        let off = (fit[k] - places[k]).norm();
        // What is not a number is farthest.
        if off.is_nan() { f64::INFINITY } else { off }
    };
    let worst = (0..places.len()).fold(0, |worst, k| if off(k) > off(worst) { k } else { worst });
    if off(worst) <= within {
        return None;
    }
    let right = |a: usize, b: usize| ((places[a] - places[b]).norm() - shape.distance(a, b)).abs() <= within;
    let mirrored = (0..places.len()).all(|a| (0..a).all(|b| right(a, b)));
    Some((worst, off(worst), mirrored))
}

/// Rates of sites at these places that keep their shape and have the same momenta.
pub(crate) fn projected(shape: &RigidShape, places: &[Vec3<f64>], rates: &mut [Vec3<f64>]) {
    let pose = Pose::of(shape, places);
    let motion = pose.gather(shape, places, rates);
    let new = pose.velocities(shape, &motion, places);
    rates.iter_mut().zip(new).for_each(|(to, v)| *to = v);
}

/// `rigid-body`.
pub const RIGID_BODY: Record = Record {
    name: "rigid-body",
    also: &["rigid"],
    keys: &[Key::new(
        "sites",
        "where its sites are, in any axes",
        Dimension::LENGTH,
        Absent::Otherwise("those of the first molecule"),
    )],
    doc: Doc {
        title: "Rigid molecules of any number of sites",
        formula: "F = Σ f_k, T = Σ (r_k − R) × f_k over its sites\n\
                  M dV/dt = F, dL/dt = T; r_k = R + Q s_k, v_k = V + ω × (r_k − R)",
        remarks: &[
            "Orientations go on by the symplectic, time-reversible splitting of Dullweber, Leimkuhler and McLachlan, exactly \
             for linear bodies. Six degrees of freedom, five for a linear one.",
            "Sites may have no mass, as the charge of four-site waters: mass = 0 in their [species]. They carry forces only.",
            "Pairs within a body do not interact.",
            "Center of mass and moments of inertia follow from masses and places of the sites.",
        ],
        conventions: Conventions {
            gromacs: [
                "virtual sites beside constraints; no rigid bodies of other shapes",
                "sites with mass 0",
            ],
            lammps: [
                "fix rigid/small; four-site waters by pair styles of their own",
                "molecules by species",
            ],
            openmm: ["constraints and virtual sites", "sites with mass 0"],
            amber_charmm: ["extra points; SHAPE, LONEPAIR", "sites with mass 0"],
        },
        references: &["Dullweber, Leimkuhler & McLachlan, J. Chem. Phys. 107, 5840 (1997)"],
        examples: &[],
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Quat;

    fn shapes() -> [RigidShape; 2] {
        let bent = [
            [0.0, 0.0, 0.0],
            [0.1, 0.0, 0.01],
            [-0.03, 0.095, 0.0],
            [0.008, 0.011, 0.02],
        ]
        .map(Vec3::from);
        let line = [-1.16, 0.0, 1.4, 0.3].map(|x| Vec3::new(0.3 * x, x, -x));
        [
            RigidShape::new(&bent, &[16.0, 1.0, 2.0, 0.0]).unwrap(),
            RigidShape::new(&line, &[16.0, 12.0, 16.0, 0.0]).unwrap(),
        ]
    }

    fn places(shape: &RigidShape) -> Vec<Vec3<f64>> {
        let turn = Quat::about(Vec3::new(0.36, 0.48, 0.8), 2.3);
        (shape.sites().iter())
            .map(|&s| turn.rotate(s) + Vec3::new(1.0, -2.0, 0.5))
            .collect()
    }

    fn near(a: &[Vec3<f64>], b: &[Vec3<f64>], within: f64) {
        for (a, b) in a.iter().zip(b) {
            assert!((*a - *b).norm() < within, "{a:?} {b:?}");
        }
    }

    #[test]
    fn sites_come_back_from_their_own_pose() {
        for shape in shapes() {
            let there = places(&shape);
            let pose = Pose::of(&shape, &there);
            assert!((pose.center - Vec3::new(1.0, -2.0, 0.5)).norm() < 1e-14);
            near(&pose.sites(&shape).collect::<Vec<_>>(), &there, 1e-14);
        }
    }

    #[test]
    fn places_of_another_shape_are_found() {
        let [shape, _] = shapes();
        let there = places(&shape);
        assert_eq!(misfit(&shape, &there), None);
        let mut bent = there.clone();
        bent[1] += Vec3::splat(0.02);
        assert!(matches!(misfit(&shape, &bent), Some((_, off, false)) if off > 0.008));
        // A fourth site off the plane of three makes a hand.
        let raised = [
            [0.0, 0.0, 0.0],
            [0.1, 0.0, 0.0],
            [0.0, 0.1, 0.0],
            [0.02, 0.02, 0.09],
        ]
        .map(Vec3::from);
        let shape = RigidShape::new(&raised, &[12.0, 1.0, 1.0, 1.0]).unwrap();
        let mirror: Vec<Vec3<f64>> = raised.iter().map(|r| Vec3::new(r.x, r.y, -r.z)).collect();
        assert!(matches!(misfit(&shape, &mirror), Some((_, off, true)) if off > 0.05));
    }

    #[test]
    fn rigid_motion_is_its_own_projection_and_momenta_stay() {
        for shape in shapes() {
            let there = places(&shape);
            let pose = Pose::of(&shape, &there);
            let rates: Vec<Vec3<f64>> = (0..4)
                .map(|k| Vec3::new(0.3 * k as f64, 1.0 - k as f64, 0.2))
                .collect();
            let before = pose.gather(&shape, &there, &rates);
            let mut once = rates.clone();
            projected(&shape, &there, &mut once);
            // Sites without mass carry no impulse any more: their velocity is that of the body.
            let massive: Vec<Vec3<f64>> = once
                .iter()
                .zip(shape.masses())
                .map(|(&v, &m)| if m > 0.0 { v } else { Vec3::zero() })
                .collect();
            let after = pose.gather(&shape, &there, &massive);
            assert!((after.velocity - before.velocity).norm() < 1e-13);
            // A linear body cannot spin about its axis.
            let lost = after.momentum - before.momentum;
            let off = match shape.rotor().class() {
                Class::Body => lost.norm(),
                _ => lost.cross(pose.axes[2]).norm(),
            };
            assert!(off < 1e-12, "{off}");
            let mut twice = massive;
            projected(&shape, &there, &mut twice);
            near(&twice, &once, 1e-12);
        }
    }

    #[test]
    fn free_motion_keeps_distances_momenta_and_comes_back() {
        for shape in shapes() {
            let there = places(&shape);
            let pose = Pose::of(&shape, &there);
            let across = |v: Vec3<f64>| match shape.rotor().class() {
                Class::Body => v,
                _ => v - pose.axes[2] * v.dot(pose.axes[2]),
            };
            let motion = Motion {
                velocity: Vec3::new(0.3, 0.1, -0.2),
                momentum: across(Vec3::new(0.02, -0.01, 0.03)) * shape.rotor().inertia[0],
            };
            let then = pose.after(&shape, &motion, 7.0);
            let sites: Vec<Vec3<f64>> = then.sites(&shape).collect();
            for a in 0..4 {
                for b in 0..a {
                    assert!(((sites[a] - sites[b]).norm() - shape.distance(a, b)).abs() < 1e-14);
                }
            }
            let rates: Vec<Vec3<f64>> = then.velocities(&shape, &motion, &sites).collect();
            let massive: Vec<Vec3<f64>> = rates
                .iter()
                .zip(shape.masses())
                .map(|(&v, &m)| if m > 0.0 { v } else { Vec3::zero() })
                .collect();
            let gathered = then.gather(&shape, &sites, &massive);
            assert!((gathered.momentum - motion.momentum).norm() < 1e-14 * (1.0 + motion.momentum.norm()));
            let back = then.after(&shape, &motion, -7.0);
            near(&back.sites(&shape).collect::<Vec<_>>(), &there, 1e-13);
        }
    }

    #[test]
    fn constraint_forces_balance_and_follow_from_the_motion() {
        let shape = &shapes()[0];
        let there = places(shape);
        let pose = Pose::of(shape, &there);
        let motion = Motion {
            velocity: Vec3::new(0.3, 0.1, -0.2),
            momentum: Vec3::new(0.01, -0.02, 0.03),
        };
        let forces: Vec<Vec3<f64>> = (0..4)
            .map(|k| Vec3::new(1.0 - k as f64, 0.4, 0.3 * k as f64))
            .collect();
        let holding: Vec<Vec3<f64>> = pose.constraint_forces(shape, &motion, &there, &forces).collect();
        let (mut total, mut torque) = (Vec3::zero(), Vec3::zero());
        for (&r, &g) in there.iter().zip(&holding) {
            total += g;
            torque += (r - pose.center).cross(g);
        }
        assert!(
            total.norm() < 1e-12 && torque.norm() < 1e-12,
            "{total:?} {torque:?}"
        );
        // Second differences of the motion of each site, with kicks by the forces in between.
        let dt = 1e-4;
        let moved = |time: f64| {
            let kicked: Vec<Vec3<f64>> = (pose.velocities(shape, &motion, &there))
                .zip(&forces)
                .zip(shape.masses())
                .map(|((v, &f), &m)| {
                    if m > 0.0 {
                        v + f * (0.5 * time / m)
                    } else {
                        f * (0.5 * time)
                    }
                })
                .collect();
            let motion = pose.gather(shape, &there, &kicked);
            pose.after(shape, &motion, time).sites(shape).collect::<Vec<_>>()
        };
        let (ahead, behind) = (moved(dt), moved(-dt));
        for k in 0..4 {
            let acceleration = (ahead[k] + behind[k] - there[k] * 2.0) * (dt * dt).recip();
            let expected = holding[k] + forces[k];
            let off = (acceleration * shape.masses()[k] - expected).norm();
            assert!(off < 1e-4, "{off} of {expected:?}");
        }
    }
}
