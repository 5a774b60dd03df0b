//! What must not change: translation, wrapping, permutation, rotation, doubling, buffer, threads, time.

use debye::engines::cpu::CpuEngine;
use debye::engines::reference::Evaluation;
use debye::engines::{Precision, Settings};
use debye::expr::Vec3;
use debye::forces::ForceField;
use debye::system::{Cell, System, builders};
use debye::truncation::Truncation;

use super::{Tolerance, assert_same, double, evaluated, liquid, lj, nve, precisions, random, variants};

/// A fluid that is nowhere symmetric.
fn fluid() -> (System, ForceField) {
    let cell = Cell::orthorhombic([9.0, 8.0, 10.0]).unwrap();
    let mut system = builders::random(cell)
        .add(350, "A", 1.0, 0.0)
        .minimum_distance(0.88)
        .seed(9)
        .build()
        .unwrap();
    debye::system::velocities::thermalize(&mut system, 1.0, 4).unwrap();
    let field = lj(&system, 2.5, Truncation::Cut, true);
    (system, field)
}

/// Holds `change` to leave everything as it is, but for what `back` undoes.
fn unchanged(what: &str, change: impl Fn(&System) -> System, back: impl Fn(Evaluation) -> Evaluation) {
    let (system, field) = fluid();
    let changed = change(&system);
    for settings in variants() {
        let before = evaluated(&system, &field, &settings);
        let after = back(evaluated(&changed, &field, &settings));
        assert_same(&after, &before, Tolerance::of(settings.precision), 2.5, what);
    }
}

#[test]
fn translation() {
    for by in [
        Vec3::new(0.123, -4.5, 2.7),
        Vec3::new(-3.3, 0.0, 1e-7),
        Vec3::new(8.99, 7.99, 9.99),
        Vec3::new(1000.0, -333.3, 77.7),
    ] {
        unchanged(
            "translation",
            |system| {
                let mut s = system.clone();
                s.particles.positions.iter_mut().for_each(|r| *r += by);
                s
            },
            |e| e,
        );
    }
}

#[test]
fn wrapping() {
    unchanged(
        "wrapping",
        |system| {
            let mut s = system.clone();
            for (k, r) in s.particles.positions.iter_mut().enumerate() {
                let n = random(2, k).map(|x| (7.0 * x) as i32 - 3);
                *r += s.cell.translation([n.x, n.y, n.z]);
            }
            s
        },
        |e| e,
    );
}

#[test]
fn permutation() {
    // k → 37 k + 11 mod 350 is a permutation.
    let new_place = |k: usize| (37 * k + 11) % 350;
    unchanged(
        "permutation",
        |system| {
            let mut s = system.clone();
            for k in 0..350 {
                s.particles.positions[new_place(k)] = system.particles.positions[k];
                s.particles.velocities[new_place(k)] = system.particles.velocities[k];
            }
            s
        },
        |mut e| {
            e.forces = (0..350).map(|k| e.forces[new_place(k)]).collect();
            e
        },
    );
}

/// A quarter turn about each axis: x → y → z → x keeps a right-handed cell in its orientation.
#[test]
fn rotation() {
    let turn = |v: Vec3<f64>| Vec3::new(v.z, v.x, v.y);
    let turn_back = |v: Vec3<f64>| Vec3::new(v.y, v.z, v.x);
    unchanged(
        "cyclic rotation",
        |system| {
            let mut s = system.clone();
            let [a, b, c] = [9.0, 8.0, 10.0];
            s.cell = Cell::orthorhombic([c, a, b]).unwrap();
            s.particles.positions.iter_mut().for_each(|r| *r = turn(*r));
            s.particles.velocities.iter_mut().for_each(|v| *v = turn(*v));
            s
        },
        |mut e| {
            e.forces.iter_mut().for_each(|f| *f = turn_back(*f));
            let [xx, yy, zz, xy, xz, yz] = e.virial;
            // Turned: x' = z, y' = x, z' = y, so x = y', y = z', z = x'.
            e.virial = [yy, zz, xx, yz, xy, xz];
            e
        },
    );
    // 90° about z: x' = −y, y' = x.
    unchanged(
        "rotation by 90°",
        |system| {
            let mut s = system.clone();
            s.cell = Cell::orthorhombic([8.0, 9.0, 10.0]).unwrap();
            s.particles
                .positions
                .iter_mut()
                .for_each(|r| *r = Vec3::new(-r.y, r.x, r.z));
            s.particles
                .velocities
                .iter_mut()
                .for_each(|v| *v = Vec3::new(-v.y, v.x, v.z));
            s
        },
        |mut e| {
            e.forces.iter_mut().for_each(|f| *f = Vec3::new(f.y, -f.x, f.z));
            let [xx, yy, zz, xy, xz, yz] = e.virial;
            e.virial = [yy, xx, zz, -xy, yz, -xz];
            e
        },
    );
}

/// Two copies side by side: twice the energy and virial, the same forces.
#[test]
fn doubling() {
    for axis in 0..3 {
        let mut copies = [1; 3];
        copies[axis] = 2;
        let (system, field) = fluid();
        let twice = builders::replicate(&system, copies).unwrap();
        for settings in variants() {
            let one = evaluated(&system, &field, &settings);
            let mut two = evaluated(&twice, &field, &settings);
            assert_eq!(two.forces.len(), 700);
            two.terms.iter_mut().for_each(|t| t.1 *= 0.5);
            two.virial.iter_mut().for_each(|w| *w *= 0.5);
            let second = two.forces.split_off(350);
            let tolerance = Tolerance::of(settings.precision);
            assert_same(&two, &one, tolerance, 2.5, "doubling");
            let rms = super::relative_rms(&second, &one.forces);
            assert!(rms <= tolerance.forces, "copies: {rms:e}");
        }
    }
}

#[test]
fn buffer() {
    let (system, field) = fluid();
    for settings in variants() {
        let before = evaluated(&system, &field, &settings);
        for buffer in [0.0, 0.01, 0.5, 1.5, 4.0] {
            let other = Settings {
                buffer: Some(buffer),
                ..settings.clone()
            };
            let after = evaluated(&system, &field, &other);
            // The units of fixed point grow with the list.
            assert_same(
                &after,
                &before,
                Tolerance::of(settings.precision),
                2.5,
                &format!("buffer {buffer}"),
            );
        }
    }
}

/// The same trajectory whatever the buffer, as far as rounding lets it.
#[test]
fn buffers_do_not_change_the_motion() {
    let system = liquid(5, 0.8442, 1.44, 3);
    let field = lj(&system, 2.5, Truncation::ForceShift, false);
    let end = |buffer: Option<f64>| {
        let settings = Settings { buffer, ..double() };
        let mut engine = CpuEngine::new(&system, &field, &nve(0.004), &settings).unwrap();
        engine.advance(100, true).unwrap();
        (engine.particles().positions, engine.lists().builds)
    };
    let (reference, _) = end(None);
    let mut builds = Vec::new();
    for buffer in [0.02, 0.3, 1.0] {
        let (positions, lists) = end(Some(buffer));
        builds.push(lists);
        for (a, b) in positions.iter().zip(&reference) {
            let off = system.cell.minimum_image(*a - *b).norm();
            assert!(off < 1e-9, "buffer {buffer}: {off:e}");
        }
    }
    assert!(builds[0] > builds[1] && builds[1] > builds[2], "{builds:?}");
}

/// Sums have one order whatever the number of threads: every bit is the same.
#[test]
fn threads() {
    let system = liquid(12, 0.8442, 1.44, 3);
    let field = lj(&system, 2.5, Truncation::Cut, true);
    for settings in precisions() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let mut engine = CpuEngine::new(&system, &field, &nve(0.004), &settings).unwrap();
                engine.advance(30, true).unwrap();
                (engine.observe().unwrap(), engine.particles(), engine.save())
            })
        };
        let one = run(1);
        for threads in [2, 3] {
            let many = run(threads);
            assert!(one == many, "{threads} threads, {:?}", settings.precision);
        }
    }
}

/// Forward, velocities turned round, forward: back at the start.
#[test]
fn time_reversal() {
    let system = liquid(5, 0.8442, 1.0, 3);
    let field = lj(&system, 2.5, Truncation::ForceShift, false);
    let settings = Settings {
        precision: Precision::Double,
        ..Settings::default()
    };
    let forward = |system: &System| {
        let mut engine = CpuEngine::new(system, &field, &nve(0.004), &settings).unwrap();
        engine.advance(100, true).unwrap();
        let mut end = system.clone();
        end.particles = engine.particles();
        end.particles.velocities.iter_mut().for_each(|v| *v = -*v);
        end
    };
    let back = forward(&forward(&system));
    for (a, b) in back.particles.positions.iter().zip(&system.particles.positions) {
        let off = system.cell.minimum_image(*a - *b).norm();
        assert!(off < 1e-9, "off by {off:e}");
    }
    for (a, b) in back.particles.velocities.iter().zip(&system.particles.velocities) {
        // Velocities turn a small displacement into one times the frequencies of the liquid, some 20.
        assert!((*a - *b).norm() < 2e-8, "{:e}", (*a - *b).norm());
    }
}
