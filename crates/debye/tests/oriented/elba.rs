//! ELBA lipids and water against LAMMPS, A14, and the engines against the reference.

use debye::engines::Precision;
use debye::engines::reference;
use debye::expr::Vec3;
use debye::simulation::Simulation;

use super::{Backend, KCAL, agree, data, rows};

/// An input that takes the published set as it is.
pub fn elba(file: &str) -> Simulation {
    let text = format!(
        "units = \"md\"\n[system]\nfile = \"{}\"\nformat = \"lammps\"\nlength_unit = \"Å\"\n[forcefield]\ninclude = \"elba\"\n",
        data(&format!("elba/{file}")).display()
    );
    let options = debye::input::InputOptions {
        moves: false,
        ..Default::default()
    };
    Simulation::parse_with(&text, ".", "elba.toml", &options).unwrap()
}

/// Energies by term, pressure, forces and torques of LAMMPS, A14.
#[test]
fn elba_agrees_with_lammps() {
    for (file, forces, wanted, pressure) in [
        (
            "single_lipid_dopc.data",
            "forces_single_lipid.dat",
            [115.4251255, -1.716025351, 88.65048432, 12.15729489],
            269.5519746,
        ),
        (
            "bilayer_128dopc_4232wat.data.xz",
            "forces_dopc.dat.xz",
            [-13481.80104, -31888.36944, 122.7014258, 758.9120912],
            8307.837481,
        ),
    ] {
        let simulation = elba(file);
        assert!(simulation.warnings.is_empty(), "{:?}", simulation.warnings);
        let (system, field) = (&simulation.system, &simulation.forces);
        let table = rows(&format!("elba/{forces}"));
        let mut found = Vec::new();
        let few = system.particles.len() < 100;
        if few {
            found.push((reference::evaluate(system, field), 1.0));
        }
        for backend in if few { Backend::all() } else { Backend::fast() } {
            for (precision, tolerance) in [(Precision::Double, 1.0), (Precision::Mixed, 200.0)] {
                found.push((backend.evaluate(system, field, precision), tolerance));
            }
        }
        for (found, tolerance) in found {
            let energy = |name: &str| found.terms.iter().find(|t| t.0 == name).unwrap().1 / KCAL;
            let terms = [
                energy("lennard-jones"),
                energy("dipoles"),
                energy("harmonic-bond"),
                energy("cosine-squared-angle") + energy("axis-restraint"),
            ];
            for (a, b) in terms.iter().zip(wanted) {
                assert!(
                    (a - b).abs() <= 1e-7 * tolerance * b.abs().max(1.0),
                    "{file}: {a} {b}"
                );
            }
            // 68568.415 atm of LAMMPS for one kcal/mol/Å³.
            let virial = found.virial[..3].iter().sum::<f64>() / KCAL;
            let atmospheres = virial / (3.0 * system.cell.volume() * 1e3) * 68568.415;
            assert!(
                (atmospheres - pressure).abs() < 1e-6 * tolerance * pressure.abs(),
                "{file}: {atmospheres} {pressure}"
            );
            for row in &table {
                let i = row[0] as usize - 1;
                let vector = |at: usize| Vec3::new(row[at], row[at + 1], row[at + 2]);
                let (force, torque) = (found.forces[i] * (0.1 / KCAL), found.torques[i] * KCAL.recip());
                assert!(
                    (force - vector(8)).norm() < 2e-7 * tolerance * vector(8).norm().max(1.0),
                    "{file} {i}: {force:?}"
                );
                assert!(
                    (torque - vector(11)).norm() < 2e-7 * tolerance * vector(11).norm().max(1.0),
                    "{file} {i}: {torque:?}"
                );
            }
        }
    }
}

/// Points, charges and dipoles of a lipid on each backend, in each precision, against the reference.
#[test]
fn backends_agree_with_the_reference() {
    let simulation = elba("single_lipid_dopc.data");
    let exact = reference::evaluate(&simulation.system, &simulation.forces);
    for (precision, tolerance) in [
        (Precision::Double, 1e-11),
        (Precision::Mixed, 3e-6),
        (Precision::Single, 3e-6),
    ] {
        for backend in Backend::all() {
            agree(
                &backend.evaluate(&simulation.system, &simulation.forces, precision),
                &exact,
                tolerance,
            );
        }
    }
}
