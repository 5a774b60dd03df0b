//! Every potential of orientations against its derivatives, A18.

use debye::expr::{Dual, Quat, Table, Vec3};
use debye::potentials::{
    INVARIANTS, MAX_ORIENTED, ORIENTED, OrientedEnergy, OrientedFamily, OrientedPair, OrientedSample,
    Parameters, Preparation, oriented_truncation,
};
use debye::random::Philox;
use debye::truncation::Truncation;

use super::axes;

/// Random configurations of two particles for a sample: separation, orientations.
fn configurations(sample: &OrientedSample, count: u32) -> Vec<(Vec3<f64>, [Quat<f64>; 2])> {
    let philox = Philox::new(7);
    let turn = |k: u32| {
        let [a, b, c] = philox.normals(0, k, 1 << 16);
        let [d, ..] = philox.normals(1, k, 1 << 16);
        Quat {
            w: a,
            v: Vec3::new(b, c, d),
        }
        .normalized()
    };
    let one = |k: u32| {
        let direction = turn(3 * k).rotate(Vec3::new(0.0, 0.0, 1.0));
        let share = (f64::from(k) + 0.5) / f64::from(count);
        let distance = sample.from + (sample.to - sample.from) * share;
        (direction * distance, [turn(3 * k + 1), turn(3 * k + 2)])
    };
    (0..count).map(one).collect()
}

const CHARGES: [f64; 2] = [0.7, -0.4];
const DIPOLES: [f64; 2] = [0.05, 0.03];

const TRUNCATIONS: [Truncation; 5] = [
    Truncation::Cut,
    Truncation::Shift,
    Truncation::ForceShift,
    Truncation::QuadraticShift,
    Truncation::Switch { from: 0.0 },
];

/// Every registered potential with every sample and truncation.
fn each_case(
    mut check: impl FnMut(&str, &'static dyn OrientedFamily, Truncation, &OrientedSample, &Numbers),
) {
    for family in &ORIENTED {
        for sample in family.samples() {
            for truncation in TRUNCATIONS {
                let truncation = match truncation {
                    Truncation::Switch { .. } => Truncation::Switch {
                        from: 0.5 * (sample.from + sample.to),
                    },
                    other => other,
                };
                let mut table = Table::new(Vec::new());
                let own = [&sample.own[0], &sample.own[1]].map(|own| Parameters(own));
                let preparation = &mut Preparation {
                    cutoff: sample.to,
                    table: &mut table,
                };
                let numbers = Numbers {
                    c: family.coefficients(Parameters(&sample.values), own, preparation),
                    t: oriented_truncation(truncation, sample.to),
                    table,
                };
                let name = format!("{} {truncation:?}", family.name());
                check(&name, family, truncation, &sample, &numbers);
            }
        }
    }
}

struct Numbers {
    c: [f64; MAX_ORIENTED],
    t: [f64; 4],
    table: Table,
}

impl Numbers {
    fn pair(&self, d: Vec3<f64>, turns: [Quat<f64>; 2]) -> OrientedPair<'_, f64> {
        OrientedPair::new(d, turns.map(axes), CHARGES, DIPOLES, &self.table)
    }
}

/// The energy as the separation is moved or a particle is turned about an axis: derivatives by brute force.
fn derivative(
    family: &dyn OrientedFamily,
    truncation: Truncation,
    n: &Numbers,
    d: Vec3<f64>,
    turns: [Quat<f64>; 2],
    change: (usize, usize),
) -> f64 {
    let mut unit = [Dual::constant(0.0); 3];
    unit[change.1] = Dual::variable(0.0);
    let mut moved = [Vec3::zero(); 3];
    moved[change.0] = Vec3::from(unit);
    let turned = |k: usize| {
        let axes = axes(turns[k]).map(|axis| axis.map(Dual::constant));
        axes.map(|axis| axis + moved[1 + k].cross(axis))
    };
    let pair = OrientedPair::new(
        d.map(Dual::constant) + moved[0],
        [turned(0), turned(1)],
        CHARGES.map(Dual::constant),
        DIPOLES.map(Dual::constant),
        &n.table,
    );
    family.energy_dual(truncation, &pair, &n.c, &n.t).derivative
}

/// The reverse sweep against forward derivatives, and r × F + T₁ + T₂ = 0.
#[test]
fn forces_and_torques_are_derivatives_and_balance() {
    each_case(|name, family, truncation, sample, n| {
        let tape = family.tape(truncation);
        assert_eq!(tape.outputs(), 1 + INVARIANTS);
        for (d, turns) in configurations(sample, 40) {
            let pair = n.pair(d, turns);
            let [first, second] = pair.along;
            let mut inputs = vec![pair.r2];
            inputs.extend(first.iter().chain(&second).chain(pair.cosines.as_flattened()));
            inputs.extend(CHARGES.iter().chain(&DIPOLES).chain(&n.c).chain(&n.t));
            let energy = OrientedEnergy::from_slice(&tape.evaluate(&inputs, &[&n.table]));
            let forces = energy.forces(d, turns.map(axes));
            let plain = family.energy(truncation, &pair, &n.c, &n.t);
            let scale = plain.abs() + forces.force.norm() * d.norm();
            assert!(
                (energy.value - plain).abs() <= 1e-12 * scale,
                "{name}: {} {plain}",
                energy.value
            );
            let along = |k: usize| {
                Vec3::from([0, 1, 2].map(|axis| -derivative(family, truncation, n, d, turns, (k, axis))))
            };
            let close = |a: Vec3<f64>, b: Vec3<f64>, unit: f64| {
                assert!((a - b).norm() <= 1e-10 * scale / unit, "{name}: {a:?} {b:?}");
            };
            close(forces.force, along(0), d.norm());
            close(forces.torques[0], along(1), 1.0);
            close(forces.torques[1], along(2), 1.0);
            let balance = d.cross(forces.force) + forces.torques[0] + forces.torques[1];
            close(balance, Vec3::zero(), 1.0);
        }
    });
}

/// Turning everything changes no energy, and exchanging the particles neither.
#[test]
fn energies_do_not_depend_on_the_laboratory() {
    let whole = Quat::about(Vec3::new(0.36, 0.48, 0.8), 2.1);
    each_case(|name, family, truncation, sample, n| {
        for (d, turns) in configurations(sample, 20) {
            let energy = |d, turns| family.energy(truncation, &n.pair(d, turns), &n.c, &n.t);
            let (before, after) = (
                energy(d, turns),
                energy(whole.rotate(d), turns.map(|q| whole.compose(q))),
            );
            assert!(
                (before - after).abs() <= 1e-11 * (1.0 + before.abs()),
                "{name}: {before} {after}"
            );
        }
    });
}

/// Closed forms against the general one, and both end smoothly.
#[test]
fn force_shifts_end_smoothly() {
    each_case(|name, family, truncation, sample, n| {
        if truncation != Truncation::ForceShift {
            return;
        }
        for (d, turns) in configurations(sample, 20) {
            let pair = n.pair(d, turns);
            let (closed, general) = (
                family.energy(truncation, &pair, &n.c, &n.t),
                family.force_shifted_by_duals(&pair, &n.c, sample.to),
            );
            assert!(
                (closed - general).abs() <= 1e-11 * (1.0 + closed.abs()),
                "{name}: {closed} {general}"
            );
            let end = n.pair(d * (sample.to / d.norm()), turns);
            assert!(
                family.energy(truncation, &end, &n.c, &n.t).abs() < 1e-11,
                "{name}"
            );
        }
    });
}

/// Derivatives by hand against those of the reverse sweep.
#[test]
fn derivatives_by_hand_are_the_derived_ones() {
    let mut found = 0;
    each_case(|name, family, truncation, sample, n| {
        let tape = family.tape(truncation);
        for (d, turns) in configurations(sample, 40) {
            let pair = n.pair(d, turns);
            let Some(by_hand) = family.energy_and_derivatives(truncation, &pair, &n.c, &n.t) else {
                return;
            };
            found += 1;
            let [first, second] = pair.along;
            let mut inputs = vec![pair.r2];
            inputs.extend(first.iter().chain(&second).chain(pair.cosines.as_flattened()));
            inputs.extend(CHARGES.iter().chain(&DIPOLES).chain(&n.c).chain(&n.t));
            let derived = OrientedEnergy::from_slice(&tape.evaluate(&inputs, &[&n.table]));
            let mut all = vec![(by_hand.value, derived.value), (by_hand.r2, derived.r2)];
            all.extend(
                by_hand
                    .along
                    .as_flattened()
                    .iter()
                    .copied()
                    .zip(derived.along.as_flattened().iter().copied()),
            );
            all.extend(
                by_hand
                    .cosines
                    .as_flattened()
                    .iter()
                    .copied()
                    .zip(derived.cosines.as_flattened().iter().copied()),
            );
            for (a, b) in all {
                assert!((a - b).abs() <= 1e-11 * (1e-3 + a.abs()), "{name}: {a} {b}");
            }
        }
    });
    assert!(found > 0);
}
