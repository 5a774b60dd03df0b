//! 2N steps equal N steps, a save, a restore and N more: bit for bit, for every integrator.

use debye::engines::cpu::CpuEngine;
use debye::engines::{EngineError, Settings};
use debye::forces::{ForceField, MixingRule, PairTerm};
use debye::integrate::{Barostat, BarostatKind, Coupling, Dynamics, Scheme, Thermostat, ThermostatKind};
use debye::system::{System, builders};
use debye::truncation::Truncation;

use super::{double, liquid, lj, nve, precisions};

/// Two species of different masses and sizes.
fn mixture() -> (System, ForceField) {
    let mut system = builders::lattice(builders::Lattice::RockSalt, [4; 3])
        .density(0.8)
        .species("A", 1.0, 0.0)
        .species("B", 2.0, 0.0)
        .build()
        .unwrap();
    debye::system::velocities::thermalize(&mut system, 1.2, 5).unwrap();
    let term = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(2.3)
        .truncation(Truncation::Cut)
        .tail(true)
        .mixing(MixingRule::LorentzBerthelot)
        .like("A", &[("epsilon", 1.0), ("sigma", 1.0)])
        .unwrap()
        .like("B", &[("epsilon", 0.7), ("sigma", 1.05)])
        .unwrap()
        .finish()
        .unwrap();
    let field = ForceField {
        pairs: vec![term],
        ..ForceField::new(debye::system::Units::LennardJones)
    };
    (system, field)
}

fn thermostat(kind: ThermostatKind, species: &[u32]) -> Thermostat {
    Thermostat {
        kind,
        species: species.to_vec(),
        temperature: 1.0 + 0.2 * species.len() as f64,
        time: 0.3,
        // Most parts end between two actions.
        every: matches!(kind, ThermostatKind::Bussi | ThermostatKind::Berendsen)
            .then_some(3 + 4 * species.len() as u64),
    }
}

fn barostat(kind: BarostatKind, coupling: Coupling) -> Barostat {
    Barostat {
        limited: Default::default(),
        kind,
        coupling,
        pressure: [1.0, 1.5, 0.5],
        time: 0.5,
        compressibility: [0.1; 3],
        temperature: 1.0,
        every: 3,
    }
}

/// Everything there is to say about how particles move.
fn all_dynamics() -> Vec<(String, Dynamics)> {
    let kinds = [
        ThermostatKind::Langevin,
        ThermostatKind::Bussi,
        ThermostatKind::NoseHoover { chain: 3 },
        ThermostatKind::Berendsen,
    ];
    let base = nve(0.004);
    let mut all = vec![
        ("nve".to_owned(), base.clone()),
        (
            "leapfrog".to_owned(),
            Dynamics {
                scheme: Scheme::Leapfrog,
                ..base.clone()
            },
        ),
        (
            "momentum removed".to_owned(),
            Dynamics {
                remove_momentum_every: 7,
                ..base.clone()
            },
        ),
    ];
    for kind in kinds {
        all.push((
            format!("{kind:?}"),
            Dynamics {
                thermostats: vec![thermostat(kind, &[])],
                ..base.clone()
            },
        ));
        all.push((
            format!("{kind:?} on one species, Bussi on the other"),
            Dynamics {
                thermostats: vec![thermostat(kind, &[0]), thermostat(ThermostatKind::Bussi, &[1])],
                ..base.clone()
            },
        ));
        if matches!(kind, ThermostatKind::Bussi | ThermostatKind::Berendsen) {
            all.push((
                format!("leapfrog with {kind:?}"),
                Dynamics {
                    scheme: Scheme::Leapfrog,
                    thermostats: vec![thermostat(kind, &[])],
                    ..base.clone()
                },
            ));
        }
    }
    for kind in [BarostatKind::Berendsen, BarostatKind::CellRescale] {
        for coupling in [
            Coupling::Isotropic,
            Coupling::SemiIsotropic,
            Coupling::Anisotropic,
            Coupling::SurfaceTension { tension: 5.0 },
        ] {
            for thermostats in [
                vec![thermostat(ThermostatKind::Bussi, &[])],
                vec![thermostat(ThermostatKind::Langevin, &[])],
            ] {
                all.push((
                    format!("{kind:?} {coupling:?} with {:?}", thermostats[0].kind),
                    Dynamics {
                        thermostats,
                        barostat: Some(barostat(kind, coupling)),
                        ..base.clone()
                    },
                ));
            }
        }
    }
    all
}

/// Bits of all that can be seen of an engine.
fn seen(engine: &mut CpuEngine) -> (String, Vec<u64>, Vec<u8>) {
    let p = engine.particles();
    let bits = p
        .positions
        .iter()
        .chain(&p.velocities)
        .chain(&engine.forces())
        .flat_map(|v| v.to_array().map(f64::to_bits))
        .collect();
    (format!("{:?}", engine.observe().unwrap()), bits, engine.save())
}

/// Runs straight and in two parts; the parts do not end where lists are made or barostats act.
fn continues(system: &System, field: &ForceField, dynamics: &Dynamics, settings: &Settings, what: &str) {
    let steps = 40;
    let mut straight = CpuEngine::new(system, field, dynamics, settings).unwrap();
    straight.advance(2 * steps, true).unwrap();
    let mut first = CpuEngine::new(system, field, dynamics, settings).unwrap();
    first.advance(steps, false).unwrap();
    let saved = first.save();
    drop(first);
    let mut second = CpuEngine::resumed(system, field, dynamics, settings, &saved).unwrap();
    assert_eq!(second.step_number(), steps);
    assert!(
        second.save() == saved,
        "{what}: a restored engine saves something else"
    );
    second.advance(steps, true).unwrap();
    assert!(straight.lists().builds > 1, "{what}: no list was made on the way");
    let (a, b) = (seen(&mut straight), seen(&mut second));
    assert_eq!(a.0, b.0, "{what}");
    assert!(a.1 == b.1, "{what}: other positions, velocities or forces");
    assert!(a.2 == b.2, "{what}: other saved state");
}

#[test]
fn every_integrator_continues_exactly() {
    let (system, field) = mixture();
    for (name, dynamics) in all_dynamics() {
        for settings in precisions() {
            let what = format!("{name}, {}", settings.precision.name());
            continues(&system, &field, &dynamics, &settings, &what);
        }
    }
}

/// An observation in between, which evaluates forces once more, changes nothing.
#[test]
fn looking_does_not_disturb() {
    let (system, field) = mixture();
    for (name, dynamics) in all_dynamics() {
        let end = |look: bool| {
            let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
            for _ in 0..6 {
                engine.advance(5, false).unwrap();
                if look {
                    engine.observe().unwrap();
                }
            }
            seen(&mut engine).1
        };
        assert!(end(true) == end(false), "{name}");
    }
}

/// Saved state of another simulation, or damaged, is refused.
#[test]
fn foreign_states_are_refused() {
    let (system, field) = mixture();
    let engine = CpuEngine::new(&system, &field, &nve(0.004), &double()).unwrap();
    let saved = engine.save();
    let other = liquid(4, 0.8, 1.0, 1);
    let other_field = lj(&other, 2.3, debye::truncation::Truncation::Shift, false);
    let refused = |result: Result<CpuEngine, EngineError>| {
        assert!(matches!(result, Err(EngineError::Restore(_))));
    };
    refused(CpuEngine::resumed(
        &other,
        &other_field,
        &nve(0.004),
        &double(),
        &saved,
    ));
    for cut in [0, 1, 8, 100, saved.len() / 2, saved.len() - 1] {
        refused(CpuEngine::resumed(
            &system,
            &field,
            &nve(0.004),
            &double(),
            &saved[..cut],
        ));
    }
    let langevin = Dynamics {
        thermostats: vec![thermostat(ThermostatKind::Langevin, &[])],
        ..nve(0.004)
    };
    refused(CpuEngine::resumed(&system, &field, &langevin, &double(), &saved));
}
