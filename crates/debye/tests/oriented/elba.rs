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

/// A configuration, its sample of forces and torques, and what LAMMPS prints of it.
struct Published {
    file: &'static str,
    forces: &'static str,
    /// Lennard-Jones, charges and dipoles, bonds, angles with restraints of dipoles: kcal/mol.
    energies: [f64; 4],
    /// Of particles at rest, in atm.
    pressure: f64,
    /// xx, yy, zz, xy, xz, yz in atm without what restraints of dipoles add, where they were printed.
    tensor: Option<[f64; 6]>,
}

/// Configurations of the ELBA-LAMMPS toolkit, evaluated by LAMMPS; forces and torques are of every 20th bead, of all for a
/// single lipid. In the file of DMPC coordinates are rounded to 1e-10 Å, and velocities and coefficients of bonds left out.
const PUBLISHED: [Published; 4] = [
    Published {
        file: "single_lipid_dopc.data",
        forces: "forces_single_lipid.dat",
        energies: [115.4251255, -1.716025351, 88.65048432, 12.15729489],
        pressure: 269.5519746,
        tensor: None,
    },
    Published {
        file: "bilayer_128dopc_4232wat.data.xz",
        forces: "forces_dopc.dat.xz",
        energies: [-13481.80104, -31888.36944, 122.7014258, 758.9120912],
        pressure: 8307.837481,
        tensor: None,
    },
    Published {
        file: "dispersion_128dopc_4232wat.data.xz",
        forces: "forces_disp.dat.xz",
        energies: [-18031.8056, -29493.9357, 1142.889952, 1067.11415],
        pressure: 2392.220776,
        tensor: None,
    },
    Published {
        file: "bilayer_128dmpc_5120wat.data.xz",
        forces: "forces_dmpc.dat.xz",
        energies: [-21466.6266, -36026.51918, 1035.407071, 717.7048855],
        pressure: -1429.217986,
        tensor: Some([
            -1310.113948,
            -1492.723427,
            -1484.816583,
            -117.9233506,
            49.8106478,
            -25.91336652,
        ]),
    },
];

/// Energies by term, pressure, forces and torques of LAMMPS, A14.
#[test]
fn elba_agrees_with_lammps() {
    for published in PUBLISHED {
        let (file, pressure) = (published.file, published.pressure);
        let simulation = elba(file);
        assert!(simulation.warnings.is_empty(), "{:?}", simulation.warnings);
        let (system, field) = (&simulation.system, &simulation.forces);
        let table = rows(&format!("elba/{}", published.forces));
        // LAMMPS counts no virial of restraints. The forces of one are across its separation: it has no pressure,
        // but components of the tensor.
        let mut without_restraints = system.clone();
        without_restraints.topology.axes.clear();
        // 68568.415 atm of LAMMPS for one kcal/mol/Å³.
        let atm = 68568.415 / (KCAL * system.cell.volume() * 1e3);
        let mut found = Vec::new();
        let few = system.particles.len() < 100;
        if few {
            found.push((reference::evaluate(system, field), 1.0));
        }
        for backend in if few { Backend::all() } else { Backend::fast() } {
            for (precision, tolerance) in [(Precision::Double, 1.0), (Precision::Mixed, 200.0)] {
                found.push((backend.evaluate(system, field, precision), tolerance));
                let Some(tensor) = published.tensor else {
                    continue;
                };
                let virial = backend.evaluate(&without_restraints, field, precision).virial;
                for (component, wanted) in virial.iter().zip(tensor) {
                    assert!(
                        (component * atm - wanted).abs() < 1e-6 * tolerance * pressure.abs(),
                        "{file}: {virial:?} {tensor:?}"
                    );
                }
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
            for (a, b) in terms.iter().zip(published.energies) {
                assert!(
                    (a - b).abs() <= 1e-7 * tolerance * b.abs().max(1.0),
                    "{file}: {a} {b}"
                );
            }
            let atmospheres = found.virial[..3].iter().sum::<f64>() / 3.0 * atm;
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
