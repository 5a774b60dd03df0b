//! Barostats bring the pressure to its target, and cell rescaling the right fluctuations.

use debye::analysis::BlockAverage;
use debye::engines::cpu::CpuEngine;
use debye::engines::reference;
use debye::engines::{Observation, Precision};
use debye::expr::Vec3;
use debye::forces::ForceField;
use debye::integrate::{Barostat, BarostatKind, Coupling, Dynamics, Thermostat, ThermostatKind};
use debye::system::System;
use debye::truncation::Truncation;

use super::{liquid, lj, nve, with_precision};

const TARGET: f64 = 2.0;

fn dynamics(kind: BarostatKind, coupling: Coupling, pressure: [f64; 3]) -> Dynamics {
    Dynamics {
        thermostats: vec![Thermostat {
            kind: ThermostatKind::Bussi,
            species: vec![],
            temperature: 1.2,
            time: 0.2,
            every: None,
        }],
        barostat: Some(Barostat {
            limited: Default::default(),
            kind,
            coupling,
            pressure,
            time: 0.5,
            compressibility: [0.07; 3],
            temperature: 1.2,
            every: 5,
        }),
        ..nve(0.004)
    }
}

/// A fluid that starts far from the target.
fn fluid() -> (System, ForceField) {
    let system = liquid(5, 0.55, 1.2, 11);
    let field = lj(&system, 2.2, Truncation::ForceShift, false);
    (system, field)
}

fn sample(system: &System, field: &ForceField, dynamics: &Dynamics, steps: u64) -> Vec<Observation> {
    let settings = with_precision(Precision::Mixed);
    let mut engine = CpuEngine::new(system, field, dynamics, &settings).unwrap();
    engine.advance(steps / 3, false).unwrap();
    (0..steps / 5)
        .map(|_| {
            engine.advance(5, true).unwrap();
            engine.observe().unwrap()
        })
        .collect()
}

#[test]
fn the_pressure_reaches_its_target() {
    let (system, field) = fluid();
    for kind in [BarostatKind::Berendsen, BarostatKind::CellRescale] {
        for coupling in [
            Coupling::Isotropic,
            Coupling::SemiIsotropic,
            Coupling::Anisotropic,
        ] {
            let rows = sample(&system, &field, &dynamics(kind, coupling, [TARGET; 3]), 4_000);
            let p = BlockAverage::of(&rows.iter().filter_map(Observation::pressure).collect::<Vec<_>>());
            assert!(
                (p.mean - TARGET).abs() < 3.0 * p.standard_error + 0.02,
                "{kind:?} {coupling:?}: {p:?}"
            );
            let t = BlockAverage::of(&rows.iter().map(|o| o.temperature).collect::<Vec<_>>());
            assert!(
                (t.mean - 1.2).abs() < 3.0 * t.standard_error + 0.01,
                "{kind:?}: {t:?}"
            );
            shapes(&rows, coupling);
        }
    }
}

/// Lengths that move together keep their ratio; others do not.
fn shapes(rows: &[Observation], coupling: Coupling) {
    let h = rows[rows.len() - 1].cell.heights();
    let (xy, xz) = ((h.x / h.y - 1.0).abs(), (h.x / h.z - 1.0).abs());
    match coupling {
        Coupling::Isotropic => assert!(xy < 1e-12 && xz < 1e-12, "{h:?}"),
        Coupling::SemiIsotropic | Coupling::SurfaceTension { .. } => {
            assert!(xy < 1e-12 && xz > 1e-4, "{h:?}")
        }
        Coupling::Anisotropic => assert!(xy > 1e-4 && xz > 1e-4, "{h:?}"),
    }
}

/// Without tension the targets are those of semi-isotropic coupling with equal pressures, to the last bit.
#[test]
fn no_tension_is_semi_isotropic() {
    let (system, field) = fluid();
    for kind in [BarostatKind::Berendsen, BarostatKind::CellRescale] {
        let seen = |coupling| {
            let dynamics = dynamics(kind, coupling, [TARGET; 3]);
            let settings = with_precision(Precision::Mixed);
            let mut engine = CpuEngine::new(&system, &field, &dynamics, &settings).unwrap();
            engine.advance(200, true).unwrap();
            (engine.particles().positions, engine.cell(), engine.save())
        };
        let (a, b) = (
            seen(Coupling::SemiIsotropic),
            seen(Coupling::SurfaceTension { tension: 0.0 }),
        );
        assert!(a == b, "{kind:?}: {:?} {:?}", a.1, b.1);
        let pulled = seen(Coupling::SurfaceTension { tension: 3.0 });
        assert!(pulled.1 != a.1, "{kind:?}: a tension changes nothing");
    }
}

/// A crystal under tension: γ is L_z (P_zz − (P_xx + P_yy)/2), and the pressure along z is the one asked for.
#[test]
fn the_tension_of_a_crystal_reaches_its_target() {
    let system = debye::system::builders::lattice(debye::system::builders::Lattice::Fcc, [5; 3])
        .density(1.0)
        .thermalize(0.3, 1)
        .unwrap();
    let field = lj(&system, 2.5, Truncation::ForceShift, false);
    let (normal, tension) = (3.0, 12.0);
    for kind in [BarostatKind::Berendsen, BarostatKind::CellRescale] {
        let mut d = dynamics(kind, Coupling::SurfaceTension { tension }, [normal; 3]);
        d.thermostats[0].temperature = 0.3;
        let barostat = d.barostat.as_mut().unwrap();
        (barostat.temperature, barostat.compressibility) = (0.3, [0.02; 3]);
        let rows = sample(&system, &field, &d, 9_000);
        let mean =
            |of: &dyn Fn(&Observation) -> f64| BlockAverage::of(&rows.iter().map(of).collect::<Vec<_>>());
        let p = mean(&|o| o.pressure_tensor[2]);
        assert!(
            (p.mean - normal).abs() < 4.0 * p.standard_error + 0.08,
            "{kind:?}: {p:?}"
        );
        let g = mean(&|o| {
            let [x, y, z, ..] = o.pressure_tensor;
            o.cell.heights().z * (z - 0.5 * (x + y))
        });
        assert!(
            (g.mean - tension).abs() < 4.0 * g.standard_error + 0.6,
            "{kind:?}: {g:?}"
        );
        let h = rows[rows.len() - 1].cell.heights();
        assert!(
            h.z < 0.99 * h.x && (h.x / h.y - 1.0).abs() < 1e-12,
            "{kind:?}: {h:?}"
        );
    }
}

/// ⟨δV²⟩ = kT V κ, with κ from the derivative of the equation of state; and a weakly coupled cell, which
/// fluctuates less.
#[test]
fn volume_fluctuations() {
    let (system, field) = fluid();
    let volumes = |kind, pressure: f64| -> Vec<f64> {
        let dynamics = dynamics(kind, Coupling::Isotropic, [pressure; 3]);
        let rows = sample(&system, &field, &dynamics, 16_000);
        rows.iter().map(|o| o.cell.volume()).collect()
    };
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: Vec<f64> = values.iter().map(|v| (v - mean).powi(2)).collect();
        (mean, BlockAverage::of(&squares))
    };
    let (low, _) = moments(&volumes(BarostatKind::CellRescale, 1.7));
    let (high, _) = moments(&volumes(BarostatKind::CellRescale, 2.3));
    let (_, spread) = moments(&volumes(BarostatKind::CellRescale, TARGET));
    let want = 1.2 * (low - high) / 0.6;
    assert!(
        (spread.mean - want).abs() < 4.0 * spread.standard_error + 0.1 * want,
        "{spread:?} instead of {want}"
    );
    let (_, weak) = moments(&volumes(BarostatKind::Berendsen, TARGET));
    assert!(weak.mean < 0.8 * want, "{weak:?} of {want}");
}

/// A solid under uneven pressure is squeezed where it is pushed.
#[test]
fn crystals_follow_uneven_pressure() {
    let system = debye::system::builders::lattice(debye::system::builders::Lattice::Fcc, [5; 3])
        .density(1.0)
        .thermalize(0.3, 1)
        .unwrap();
    let field = lj(&system, 2.5, Truncation::ForceShift, false);
    for kind in [BarostatKind::Berendsen, BarostatKind::CellRescale] {
        let mut d = dynamics(kind, Coupling::Anisotropic, [0.0, 0.0, 6.0]);
        d.thermostats[0].temperature = 0.3;
        d.barostat.as_mut().unwrap().temperature = 0.3;
        d.barostat.as_mut().unwrap().compressibility = [0.02; 3];
        let rows = sample(&system, &field, &d, 3_000);
        for (axis, target) in [0.0, 0.0, 6.0].into_iter().enumerate() {
            let p = BlockAverage::of(&rows.iter().map(|o| o.pressure_tensor[axis]).collect::<Vec<_>>());
            assert!(
                (p.mean - target).abs() < 4.0 * p.standard_error + 0.05,
                "{kind:?} axis {axis}: {p:?}"
            );
        }
        let h = rows[rows.len() - 1].cell.heights();
        assert!(h.z < 0.97 * h.x && h.z < 0.97 * h.y, "{kind:?}: {h:?}");
    }
}

#[test]
fn a_cell_that_is_torn_open_keeps_its_lists_right() {
    // A crystal at rest under strong tension doubles its cell: nobody moves within it, so only the stretch can call for lists.
    let mut system = liquid(4, 1.0, 1.0, 3);
    system
        .particles
        .velocities
        .iter_mut()
        .for_each(|v| *v = Vec3::zero());
    let field = lj(&system, 2.2, Truncation::ForceShift, false);
    let mut pull = dynamics(BarostatKind::Berendsen, Coupling::Isotropic, [-20.0; 3]);
    pull.thermostats.clear();
    for settings in crate::precisions() {
        let mut engine = CpuEngine::new(&system, &field, &pull, &settings).unwrap();
        let before = system.cell.volume();
        for _ in 0..40 {
            engine.advance(20, true).unwrap();
            let mut now = system.clone();
            (now.particles, now.cell) = (engine.particles(), engine.cell());
            let exact = reference::evaluate(&now, &field).potential;
            let found = engine.observe().unwrap().potential;
            assert!(
                (found - exact).abs() <= 1e-4 * exact.abs() + 1e-4,
                "{settings:?}: {found} for {exact}"
            );
        }
        assert!(
            engine.cell().volume() > 4.0 * before,
            "{} of {before}",
            engine.cell().volume()
        );
    }
}
