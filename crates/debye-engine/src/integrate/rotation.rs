//! Free rotation of rigid bodies: how orientations go on while nothing acts on them.
//!
//! The angular momentum in the laboratory's axes stays the same meanwhile, so kicks by torques and free rotations make a
//! splitting like that of positions and momenta: symplectic and reversible in time (Dullweber, Leimkuhler & McLachlan,
//! J. Chem. Phys. 107, 5840 (1997)).

use crate::expr::{Quat, Real, Vec3};

/// A linear top after a time: it turns about its angular momentum at a constant rate. Exact.
#[inline(always)]
pub fn turn_linear<R: Real>(q: Quat<R>, momentum: Vec3<R>, inertia: R, dt: R) -> Quat<R> {
    let size = momentum.norm();
    let rate = R::lit(0.5) * dt / inertia;
    let half = size * rate;
    // sin(x)/x is one where the top rests.
    let share = R::select_lt(R::lit(1e-30), size, half.sin() / size.max(R::lit(1e-30)), rate);
    let turn = Quat {
        w: half.cos(),
        v: momentum * share,
    };
    turn.compose(q).normalized()
}

/// The same with its angular momentum, which rounding must not make spin about its axis.
#[inline(always)]
pub fn turn_top<R: Real>(q: Quat<R>, momentum: Vec3<R>, inertia: R, dt: R) -> (Quat<R>, Vec3<R>) {
    let q = turn_linear(q, momentum, inertia, dt);
    let z = q.axes()[2];
    (q, momentum - z * momentum.dot(z))
}

/// A body with three moments of inertia after a time: rotations about its own axes x, y, z, y, x one after another.
#[inline(always)]
pub fn turn_body<R: Real>(q: Quat<R>, momentum: Vec3<R>, inertia: [R; 3], dt: R) -> Quat<R> {
    let mut j = q.conjugate().rotate(momentum).to_array();
    let mut q = q;
    let half = R::lit(0.5) * dt;
    for (axis, time) in [(0, half), (1, half), (2, dt), (1, half), (0, half)] {
        let quarter = R::lit(0.5) * time * j[axis] / inertia[axis];
        let (s, c) = (quarter.sin(), quarter.cos());
        let mut v = [R::lit(0.0); 3];
        v[axis] = s;
        q = q.compose(Quat {
            w: c,
            v: Vec3::from(v),
        });
        // In axes that turn by an angle, a fixed vector turns the other way.
        let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
        let (sine, cosine) = (R::lit(2.0) * s * c, c * c - s * s);
        (j[a], j[b]) = (j[a] * cosine + j[b] * sine, j[b] * cosine - j[a] * sine);
    }
    q.normalized()
}

/// A vector given in some axes.
#[inline(always)]
pub(crate) fn from_axes<R: Real>(axes: [Vec3<R>; 3], v: Vec3<R>) -> Vec3<R> {
    axes[0] * v.x + axes[1] * v.y + axes[2] * v.z
}

/// A vector as it is in some axes.
#[inline(always)]
pub(crate) fn in_axes<R: Real>(axes: [Vec3<R>; 3], v: Vec3<R>) -> Vec3<R> {
    Vec3::new(axes[0].dot(v), axes[1].dot(v), axes[2].dot(v))
}

/// The axes of a body after a time, from its angular momentum in the laboratory.
#[inline(always)]
pub(crate) fn turn_axes<R: Real>(
    axes: [Vec3<R>; 3],
    momentum: Vec3<R>,
    inertia: [R; 3],
    dt: R,
) -> [Vec3<R>; 3] {
    // Seen from where the axes were, they turn from no rotation on.
    let turn = turn_body(Quat::identity(), in_axes(axes, momentum), inertia, dt);
    turn.axes().map(|axis| from_axes(axes, axis))
}

/// The same of a linear body with this moment across its axis z.
#[inline(always)]
pub(crate) fn turn_linear_axes<R: Real>(
    axes: [Vec3<R>; 3],
    momentum: Vec3<R>,
    inertia: R,
    dt: R,
) -> [Vec3<R>; 3] {
    let turn = turn_linear(Quat::identity(), in_axes(axes, momentum), inertia, dt);
    turn.axes().map(|axis| from_axes(axes, axis))
}

/// The angular velocity of a body, from 1/I about its axes.
#[inline(always)]
pub(crate) fn angular_velocity<R: Real>(
    axes: [Vec3<R>; 3],
    momentum: Vec3<R>,
    inverse_inertia: [R; 3],
) -> Vec3<R> {
    from_axes(axes, in_axes(axes, momentum).scale(Vec3::from(inverse_inertia)))
}

/// No particle turns further in one step of a descent, in radians.
const MOST_TURN: f64 = 0.1;

/// A step of a descent: turned at this rate for a time, but not too far.
#[inline(always)]
pub fn turn_to_minimum<R: Real>(q: Quat<R>, rate: Vec3<R>, dt: R) -> Quat<R> {
    let (size, least) = (rate.norm(), R::lit(1e-30));
    let half = R::lit(0.5) * (size * dt).min(R::lit(MOST_TURN));
    let turn = Quat {
        w: half.cos(),
        v: rate * (half.sin() / size.max(least)),
    };
    turn.compose(q).normalized()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Rotor;

    const START: Quat<f64> = Quat {
        w: 0.5,
        v: Vec3::new(0.5, -0.5, 0.5),
    };

    fn distance(a: Quat<f64>, b: Quat<f64>) -> f64 {
        let c = a.conjugate().compose(b);
        c.v.norm()
    }

    /// A small step of the equation of motion, with the derivative of the orientation ½ ω q.
    fn small_steps(q: Quat<f64>, momentum: Vec3<f64>, rotor: &Rotor, time: f64, steps: u32) -> Quat<f64> {
        let dt = time / f64::from(steps);
        let rate = |q: Quat<f64>| {
            let j = q.conjugate().rotate(momentum);
            let w = |l: f64, i: f64| if i > 0.0 { l / i } else { 0.0 };
            let [x, y, z] = rotor.inertia;
            q.rotate(Vec3::new(w(j.x, x), w(j.y, y), w(j.z, z)))
        };
        let mut q = q;
        for _ in 0..steps {
            let turn = |q: Quat<f64>, w: Vec3<f64>, t: f64| {
                let size = w.norm();
                Quat::about(w * size.recip(), size * t).compose(q)
            };
            let middle = turn(q, rate(q), 0.5 * dt);
            q = turn(q, rate(middle), dt);
        }
        q
    }

    #[test]
    fn linear_tops_turn_exactly() {
        let rotor = Rotor::linear(1.7);
        let across = START.rotate(Vec3::new(0.6, -1.1, 0.0));
        let expected = small_steps(START, across, &rotor, 2.0, 4000);
        assert!(distance(turn_linear(START, across, 1.7, 2.0), expected) < 1e-6);
        assert!(distance(turn_linear(START, Vec3::zero(), 1.7, 2.0), START) < 1e-15);
    }

    #[test]
    fn bodies_turn_to_second_order_and_back() {
        let (inertia, momentum) = ([1.7696, 0.6145, 1.1550], Vec3::new(0.3, -0.2, 0.7));
        let expected = small_steps(START, momentum, &Rotor::body(inertia), 1.0, 20_000);
        let error = |steps: u32| {
            let dt = 1.0 / f64::from(steps);
            let end = (0..steps).fold(START, |q, _| turn_body(q, momentum, inertia, dt));
            distance(end, expected)
        };
        let (coarse, fine) = (error(10), error(20));
        assert!((3.6..4.4).contains(&(coarse / fine)), "{coarse} {fine}");
        let there = turn_body(START, momentum, inertia, 0.4);
        assert!(distance(turn_body(there, momentum, inertia, -0.4), START) < 1e-14);
    }
}
