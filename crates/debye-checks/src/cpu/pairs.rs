//! The engine against the reference, for every pair potential, instruction set and precision.

use debye::engines::InstructionSet;
use debye::engines::cpu::CpuEngine;
use debye::engines::reference::{self, Evaluation};
use debye::engines::{Precision, Settings};
use debye::forces::{ForceField, PairTerm};
use debye::integrate::{Dynamics, Scheme};
use debye::potentials::{PAIRS, PairFamily};
use debye::system::{Cell, System, Units, builders};
use debye::truncation::Truncation;

use super::Finding;
use crate::Failed;

/// Most particles of a system.
const MOST: usize = 600;

/// The checks of this section.
pub fn check() -> Result<Vec<Finding>, Failed> {
    let mut examples = Vec::new();
    for family in &PAIRS {
        let (system, field) = example(family)?;
        let reference = reference::evaluate(&system, &field);
        examples.push((system, field, reference));
    }
    let mut findings = Vec::new();
    for set in InstructionSet::available() {
        for &(name, precision) in Precision::NAMES {
            let (mut worst, mut culprit) = (0.0_f64, "");
            for (system, field, reference) in &examples {
                let error = compare(system, field, reference, set, precision)?;
                if error.is_nan() || error > worst {
                    (worst, culprit) = (error, field.pairs[0].family.name());
                }
            }
            let allowed = match precision {
                Precision::Double => 1e-11,
                _ => 2e-5,
            };
            let note = format!("of the largest force or of the energy; worst {culprit}");
            findings.push(Finding::new(
                format!("{}, {name}", set.name()),
                worst,
                allowed,
                note,
            ));
        }
    }
    Ok(findings)
}

/// A potential's first sample between particles at random in a cell of a few cut-offs.
fn example(family: &dyn PairFamily) -> Result<(System, ForceField), Failed> {
    let samples = family.samples();
    let sample = samples
        .first()
        .ok_or_else(|| Failed::from("a potential without a sample"))?;
    let side = 2.4 * sample.to;
    // A sixth of the volume: easy to fill at random.
    let apart = sample.from.max(0.1 * sample.to);
    let room = (0.3 * (side / apart).powi(3)) as usize;
    let number = room.clamp(10, MOST) / 2;
    let cell = Cell::orthorhombic([side; 3])?;
    let charge = if family.uses_charges() { 1.0 } else { 0.0 };
    let system = builders::random(cell)
        .add(number, "A", 1.0, charge)
        .add(number, "B", 1.0, -charge)
        .minimum_distance(apart)
        .units(Units::LennardJones)
        .seed(1)
        .build()?;
    let names = family.parameters().iter().map(|p| p.name.to_owned());
    let values: Vec<_> = names.zip(sample.values.iter().cloned()).collect();
    let term = PairTerm::build(family.name(), &system.species)
        .and_then(|term| term.all_values(values))
        .map(|term| term.cutoff(sample.to).truncation(Truncation::Shift))
        .and_then(|term| term.finish())?;
    let field = ForceField {
        pairs: vec![term],
        coulomb_constant: Units::LennardJones.coulomb_constant(),
        ..ForceField::new(debye::system::Units::LennardJones)
    };
    Ok((system, field))
}

/// The larger of the errors of the energy and of any force.
fn compare(
    system: &System,
    field: &ForceField,
    reference: &Evaluation,
    set: InstructionSet,
    precision: Precision,
) -> Result<f64, Failed> {
    let dynamics = Dynamics {
        timestep: 0.001,
        scheme: Scheme::VelocityVerlet,
        thermostats: Vec::new(),
        barostat: None,
        remove_momentum_every: 0,
        seed: 1,
    };
    let settings = Settings {
        precision,
        instruction_set: Some(set),
        ..Settings::default()
    };
    let mut engine = CpuEngine::new(system, field, &dynamics, &settings)?;
    let found = engine.observe()?.potential;
    let (energy, forces) = (reference.potential, &reference.forces);
    let largest = forces.iter().map(|f| f.norm2()).fold(0.0, f64::max).sqrt();
    let off = engine
        .forces()
        .iter()
        .zip(forces)
        .map(|(a, b)| (*a - *b).norm2())
        .fold(0.0, f64::max)
        .sqrt();
    // A sum of many terms of both signs is judged by their size, not by what is left.
    let scale = energy.abs().max(0.01 * largest * system.cell.heights().x);
    Ok((off / largest).max((found - energy).abs() / scale))
}
