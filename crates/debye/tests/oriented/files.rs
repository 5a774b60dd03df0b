//! Orientations in files, and input that is refused.

use debye::engines::reference;
use debye::expr::Vec3;
use debye::simulation::Simulation;
use debye::system::{System, Units};

use super::data;
use super::elba::elba;
use super::ssd::ssd;

/// Extended XYZ keeps orientations and dipoles; what no orientation is, is refused.
#[test]
fn extended_xyz_keeps_orientations() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("water.xyz");
    let write = |system: &System| {
        let moment = debye::run::export::Moment {
            title: "water",
            step: 0,
            time: 0.0,
            particles: &system.particles,
            cell: &system.cell,
        };
        debye::run::export::write_system(&file, system, moment).unwrap();
    };
    let (mut system, _) = ssd("ssd");
    system.units = Units::Md;
    write(&system);
    let input = "units = \"md\"\n[system]\nfile = \"water.xyz\"\n[forcefield]\ninclude = \"ssd\"\n";
    let options = debye::input::InputOptions {
        moves: false,
        ..Default::default()
    };
    let parse = || Simulation::parse_with(input, folder.path(), "water.toml", &options);
    let mut read = parse().unwrap().system;
    for i in 0..read.particles.len() {
        let (a, b) = (&read.particles.orientations, &system.particles.orientations);
        assert!((a.rotations[i].v - b.rotations[i].v).norm() < 1e-14);
        assert!((a.rotors[i].dipole - 2.35).abs() < 1e-12);
        assert!((read.particles.positions[i] - system.particles.positions[i]).norm() < 1e-12);
    }
    // A dipole of the set is the same again, to the last bit.
    let declared = read.species[0].rotor;
    read.particles.orientations.rotors.fill(declared);
    write(&read);
    let again = parse().unwrap().system.particles.orientations.rotors;
    assert!(again.iter().all(|rotor| *rotor == declared));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("orientation:R:4:dipole:R:3"), "{text}");
    let first = text.lines().nth(2).unwrap();
    let words: Vec<&str> = first.split(' ').collect();
    let mut wrong = words.clone();
    wrong[4..8].fill("0.0");
    std::fs::write(&file, text.replacen(first, &wrong.join(" "), 1)).unwrap();
    let error = parse().err().unwrap().to_string();
    assert!(error.contains("no unit quaternion"), "{error}");
}

/// LAMMPS data keep dipoles, angular velocities, and restraints of axes, which are angles there. LAMMPS takes moments of
/// inertia from diameters, I = m d²/10.
#[test]
fn lammps_data_keep_dipoles() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lipid.data");
    let write = |system: &System| {
        let moment = debye::run::export::Moment {
            title: "lipid",
            step: 0,
            time: 0.0,
            particles: &system.particles,
            cell: &system.cell,
        };
        debye::run::export::write_system(&file, system, moment).unwrap()
    };
    let simulation = elba("single_lipid_dopc.data");
    let mut system = simulation.system.clone();
    debye::system::velocities::thermalize(&mut system, 300.0, 7).unwrap();
    assert_eq!(write(&system), None);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("Atoms # hybrid") && !text.contains("Masses"),
        "{text}"
    );
    let input = "units = \"md\"\n[system]\nfile = \"lipid.data\"\n[forcefield]\ninclude = \"elba\"\n";
    let options = debye::input::InputOptions {
        moves: false,
        ..Default::default()
    };
    let read = Simulation::parse_with(input, folder.path(), "lipid.toml", &options).unwrap();
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    let (a, b) = (&read.system.particles, &system.particles);
    assert!(!system.topology.axes.is_empty());
    assert_eq!(read.system.topology.axes.len(), system.topology.axes.len());
    assert_eq!(read.system.topology.angles.len(), system.topology.angles.len());
    let close =
        |a: Vec3<f64>, b: Vec3<f64>, scale: f64| assert!((a - b).norm() < 1e-13 * scale, "{a:?} {b:?}");
    for i in 0..b.len() {
        let (o, p) = (&a.orientations, &b.orientations);
        close(a.positions[i], b.positions[i], 10.0);
        close(a.velocities[i], b.velocities[i], 1.0);
        close(o.angular_momenta[i], p.angular_momenta[i], 1.0);
        if p.rotors[i].dipole != 0.0 {
            close(o.axes(i)[2], p.axes(i)[2], 10.0);
            assert!((o.rotors[i].dipole - p.rotors[i].dipole).abs() < 1e-15);
        }
        assert_eq!(o.rotors[i].inertia, p.rotors[i].inertia);
        assert_eq!((a.charges[i], a.masses[i]), (b.charges[i], b.masses[i]));
    }
    assert!(a.orientations.angular_momenta.iter().any(|l| l.norm() > 0.0));
    let energy = |s: &Simulation, system: &System| reference::evaluate(system, &s.forces).potential;
    let (one, other) = (energy(&read, &read.system), energy(&simulation, &system));
    assert!((one - other).abs() < 1e-10 * other.abs(), "{one} {other}");
    // The spheres of the file have the moments of inertia of the species, in u Å².
    let structure = debye_io::read_structure(&file).unwrap();
    for (atom, rotor) in structure.atoms.iter().zip(&b.orientations.rotors) {
        let (mass, diameter) = (atom.mass.unwrap(), 2.0 * atom.radius.unwrap());
        if rotor.inertia[0] > 0.0 {
            let inertia = 100.0 * rotor.inertia[0];
            assert!((mass * diameter * diameter / 10.0 / inertia - 1.0).abs() < 1e-12);
        } else {
            assert!((atom.density.unwrap() - 1.0).abs() < 1e-12);
        }
    }
    // Rigid bodies have no place there.
    let lost = write(&ssd("ssd").0).unwrap();
    assert!(lost.contains("no orientations of"), "{lost}");
}

/// Bad input, each with a message that says what to do.
#[test]
fn bad_input_is_refused_in_words() {
    let water = format!(
        "file = \"{}\"\nformat = \"lammps\"\nlength_unit = \"Å\"",
        data("elba/single_lipid_dopc.data").display()
    );
    let elba = "[forcefield]\ninclude = \"elba\"\n";
    for (text, words) in [
        (
            format!("units = \"md\"\n[system]\n{water}\n[forcefield]\ninclude = [\"elba\", \"ssd-e\"]\n"),
            "which elba (published set) declares too",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n{elba}[species.C]\ndipole = \"1 D\"\n"),
            "without a moment of inertia",
        ),
        (
            format!(
                "units = \"md\"\n[system]\n{water}\n{elba}[species.C]\ninertia = [\"1 u*Å^2\", \"1 u*Å^2\", \"9 u*Å^2\"]\n"
            ),
            "moments of inertia",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n{elba}[species.C]\ninertia = \"1 u*Å^2\"\n"),
            "no orientation of atom 1",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n[topology]\naxes = [[1, 2, \"dipole\"]]\n{elba}"),
            "which is a point",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n[forcefield]\ninclude = \"elbow\"\n"),
            "elba",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n[forcefield]\ninclude = \"absent.toml\"\n"),
            "cannot be read",
        ),
    ] {
        let options = debye::input::InputOptions {
            moves: false,
            ..Default::default()
        };
        let error = Simulation::parse_with(&text, ".", "bad.toml", &options)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(words), "{error}\nlacks: {words}");
    }
}
