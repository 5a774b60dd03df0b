//! Simulations that go wrong on the device say why, as on the CPU.

use super::engine::wrong;
use super::systems::{Space, melt, plain, settings};
use super::{Place, Wrong};
use debye::engines::cuda::CudaEngine;
use debye::engines::{Culprit, Engine, EngineError, Precision};
use debye::expr::Vec3;
use debye::forces::ForceField;
use debye::system::System;

/// Who made a system explode, and the particles around it before that.
fn explosion(place: &Place<'_>, system: &System, field: &ForceField) -> Result<Culprit, Wrong> {
    let (d, s) = (plain(), settings(Precision::Mixed));
    let ended = CudaEngine::new(place.device, system, field, &d, &s).and_then(|mut engine| {
        let done = Engine::advance(&mut engine, 200, false);
        // What was there before must still be told.
        let finite = |r: &Vec3<f64>| r.norm2().is_finite();
        match Engine::particles(&engine) {
            Ok(p) if p.positions.iter().all(finite) => done,
            _ => Err(EngineError::Device(
                "particles are not told after an explosion".into(),
            )),
        }
    });
    match ended {
        Err(EngineError::Exploded(culprit)) => Ok(*culprit),
        Err(error) => Err(wrong(error)),
        Ok(()) => Err(wrong("no explosion")),
    }
}

fn named(place: &mut Place<'_>, what: &str, holds: bool, culprit: &Culprit) -> Result<(), Wrong> {
    place.cases += 1;
    if holds {
        return Ok(());
    }
    Err(Wrong::Result(format!("{what}: {culprit}")))
}

/// Particles too close, at one place, too fast or nowhere are named, with what acted on them.
pub(super) fn explosions(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (system, field) = melt(place.extent, true, Space::Box, 40)?;
    // From far too close for single precision to just close enough to fly away.
    for apart in [0.0, 1e-4, 0.05] {
        let mut system = system.clone();
        let p = &mut system.particles;
        p.positions[123] = p.positions[300] + Vec3::new(0.6 * apart, 0.8 * apart, 0.0);
        let culprit = explosion(place, &system, &field)?;
        let pair = [culprit.particle, culprit.partners.first().copied().unwrap_or(0)];
        let both = pair == [123, 300] || pair == [300, 123];
        let sound = culprit.distance.is_some_and(|d| (d - apart).abs() < 1e-5);
        // At one place, every term is as strong as any other.
        let term = apart == 0.0 || culprit.term.as_deref() == Some("lennard-jones");
        let term = term && culprit.neighborhood.len() > 1;
        named(
            place,
            "a pair",
            both && sound && term && culprit.step <= 2,
            &culprit,
        )?;
    }
    for velocity in [f64::NAN, f64::INFINITY, 1e9] {
        let mut system = system.clone();
        system.particles.velocities[77] = Vec3::new(0.0, velocity, 0.0);
        let culprit = explosion(place, &system, &field)?;
        let home = Vec3::from(culprit.position) - system.particles.positions[77];
        let near = system.cell.minimum_image(home).norm() < 1e-6;
        let what = culprit.what
            == if velocity == 1e9 {
                "flew across the cell"
            } else {
                "has no finite position"
            };
        named(
            place,
            "a velocity",
            culprit.particle == 77 && near && what && culprit.step == 1,
            &culprit,
        )?;
    }
    let mut lost = system;
    lost.particles.positions[77].x = f64::NAN;
    let refused = CudaEngine::new(place.device, &lost, &field, &plain(), &settings(Precision::Mixed));
    match refused {
        Err(EngineError::Exploded(culprit)) => named(place, "a position", culprit.particle == 77, &culprit),
        Err(error) => Err(wrong(error)),
        Ok(_) => Err(wrong("a particle without a place was accepted")),
    }
}
