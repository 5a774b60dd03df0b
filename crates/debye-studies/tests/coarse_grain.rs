//! Beads of the coarse-grain study: the serial program against the reference of the library, and the engine.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use debye::engines::reference::evaluate;
use debye::prelude::Precision;
use debye_studies::coarse_grain::{BeadVariant, Beads, Model, Order, Part};
use debye_studies::study::{Input, Place, Variant, check};

#[test]
fn serial_forces_are_those_of_the_library() {
    for model in Model::ALL {
        for order in Order::ALL {
            let beads = Beads::lying(model, order, 250).unwrap();
            let serial = BeadVariant::Sequential(Part::Forces);
            let mut work = serial.prepare(&beads, None).unwrap();
            work.seconds(1).unwrap();
            let acted = work.output().unwrap();
            assert!(beads.error(&acted) < 1e-12, "{}", beads.label());
            let simulation = beads.simulation();
            let e = evaluate(&simulation.system, &simulation.forces);
            let largest = e.forces.iter().map(|f| f.norm()).fold(0.0, f64::max);
            for (i, force) in e.forces.iter().enumerate() {
                assert!(
                    (acted.forces[i] - *force).norm() < 1e-11 * largest,
                    "{} {i}",
                    beads.label()
                );
            }
            let largest = e.torques.iter().map(|t| t.norm()).fold(0.0, f64::max);
            for (i, torque) in e.torques.iter().enumerate() {
                assert!(
                    (acted.torques[i] - *torque).norm() < 1e-11 * largest,
                    "{} {i}",
                    beads.label()
                );
            }
            assert!(
                (acted.energy - e.potential).abs() < 1e-11 * e.potential.abs(),
                "{}",
                beads.label()
            );
        }
    }
}

#[test]
fn the_engine_agrees() {
    for model in Model::ALL {
        for order in Order::ALL {
            let beads = Beads::lying(model, order, 250).unwrap();
            for precision in [Precision::Mixed, Precision::Double] {
                let variant = BeadVariant::Engine(precision, Place::Cpu);
                check(&beads, &variant, None).unwrap();
            }
        }
    }
}

#[test]
fn bonded_beads_have_no_pair_terms() {
    let beads = Beads::relaxed(Model::Lipids, 840, 20, None).unwrap();
    for variant in [
        BeadVariant::Sequential(Part::Forces),
        BeadVariant::Engine(Precision::Double, Place::Cpu),
    ] {
        check(&beads, &variant, None).unwrap();
    }
}
