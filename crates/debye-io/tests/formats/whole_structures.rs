//! Formats that hold a whole structure: LAMMPS data and the native file.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;

use debye_io::{
    Atom, AtomLabels, Bonded, Format, Frame, IoError, NativeLinks, NativeSpecies, NativeStructure, Structure,
    read_structure, write_structure,
};

fn atom(name: &str, type_name: &str, mass: f64, charge: f64, molecule: i64) -> Atom {
    Atom {
        name: name.into(),
        type_name: Some(type_name.into()),
        mass: Some(mass),
        charge: Some(charge),
        molecule: Some(molecule),
        ..Atom::default()
    }
}

fn bonded<const N: usize>(kind: &str, atoms: [usize; N]) -> Bonded<N> {
    Bonded {
        kind: kind.into(),
        atoms,
    }
}

/// Two waters and an ion in a tilted box.
fn structure() -> Structure {
    let water = |molecule| {
        [
            atom("OW", "OW", 15.9994, -0.8476, molecule),
            atom("HW1", "HW", 1.008, 0.4238, molecule),
            atom("HW2", "HW", 1.008, 0.4238, molecule),
        ]
    };
    let mut atoms: Vec<Atom> = [water(1), water(2)].concat();
    atoms.push(atom("NA", "Na", 22.98977, 1.0, 3));
    let n = atoms.len();
    let row = |i: usize, k: usize| (i as f64 + 0.1) / (k as f64 + 3.0);
    Structure {
        atoms,
        frame: Frame {
            title: "two waters, units = real".into(),
            cell: Some([[9.0, 0.0, 0.0], [0.5, 8.0, 0.0], [0.25, 0.125, 7.0]]),
            positions: (0..n).map(|i| std::array::from_fn(|k| row(i, k))).collect(),
            velocities: Some(
                (0..n)
                    .map(|i| std::array::from_fn(|k| 1e-3 * row(i, k)))
                    .collect(),
            ),
            ..Frame::default()
        },
        images: Some((0..n as i32).map(|i| [i, -i, 0]).collect()),
        bonds: vec![
            bonded("O-H", [0, 1]),
            bonded("O-H", [0, 2]),
            bonded("stiff", [3, 4]),
        ],
        angles: vec![bonded("H-O-H", [1, 0, 2])],
        dihedrals: vec![bonded("4", [1, 0, 2, 3]), bonded("2", [1, 0, 2, 4])],
        impropers: vec![bonded("flat", [0, 1, 2, 3])],
        ..Structure::default()
    }
}

#[test]
fn lammps_data_keeps_topology_types_and_every_digit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.data");
    let made = structure();
    write_structure(&path, &made).unwrap();
    let read = read_structure(&path).unwrap();
    assert_eq!(read.frame.positions, made.frame.positions);
    assert_eq!(read.frame.velocities, made.frame.velocities);
    assert_eq!(read.frame.cell, made.frame.cell);
    assert_eq!(read.images, made.images);
    assert_eq!(
        (&read.bonds, &read.angles, &read.dihedrals, &read.impropers),
        (&made.bonds, &made.angles, &made.dihedrals, &made.impropers)
    );
    for (read, made) in read.atoms.iter().zip(&made.atoms) {
        assert_eq!(Some(&read.name), made.type_name.as_ref());
        assert_eq!(
            (read.mass, read.charge, read.molecule),
            (made.mass, made.charge, made.molecule)
        );
    }
}

#[test]
fn lammps_data_has_the_smallest_style_that_holds_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.data");
    let style = |structure: &Structure| {
        write_structure(&path, structure).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let line = text.lines().find(|line| line.starts_with("Atoms #")).unwrap();
        line.trim_start_matches("Atoms # ").to_owned()
    };
    let mut made = structure();
    assert_eq!(style(&made), "full");
    (made.bonds, made.angles, made.dihedrals, made.impropers) = Default::default();
    assert_eq!(style(&made), "full", "atoms share molecules");
    (1..).zip(&mut made.atoms).for_each(|(k, a)| a.molecule = Some(k));
    assert_eq!(style(&made), "charge");
    made.atoms.iter_mut().for_each(|a| a.charge = Some(0.0));
    assert_eq!(style(&made), "atomic");
}

#[test]
fn lammps_data_refuses_a_structure_without_a_box() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = structure();
    made.frame.cell = None;
    let error = write_structure(folder.path().join("x.data"), &made).unwrap_err();
    assert!(error.to_string().contains("needs a box"), "{error}");
}

#[test]
fn pdb_writes_bonds_as_conect_and_reads_them_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.pdb");
    let made = structure();
    write_structure(&path, &made).unwrap();
    let read = read_structure(&path).unwrap();
    let pairs = |s: &Structure| s.bonds.iter().map(|b| b.atoms).collect::<Vec<_>>();
    assert_eq!(pairs(&read), pairs(&made));
}

#[test]
fn extended_xyz_has_elements_and_keeps_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.xyz");
    let mut made = structure();
    for atom in &mut made.atoms {
        atom.element = debye_io::element_of(&atom.name).unwrap().to_owned();
    }
    made.frame.periodic = Some([true, true, false]);
    write_structure(&path, &made).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let comment = text.lines().nth(1).unwrap();
    assert!(
        comment.contains("species:S:1:pos:R:3:name:S:1") && comment.contains("pbc=\"T T F\""),
        "{comment}"
    );
    let first: Vec<&str> = text.lines().map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(first[2..], ["O", "H", "H", "O", "H", "H", "Na"]);
    let read = read_structure(&path).unwrap();
    assert_eq!(read.frame.periodic, made.frame.periodic);
    let names: Vec<&str> = read.atoms.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["OW", "HW", "HW", "OW", "HW", "HW", "Na"]);
}

fn native() -> NativeStructure {
    let made = structure();
    let species = |name: &str, mass, charge| NativeSpecies {
        name: name.into(),
        mass,
        charge,
        rotor: if name == "OW" {
            [0.5, 0.5, 0.0, 0.04]
        } else {
            [0.0; 4]
        },
    };
    let oxygen = [0.5, 0.5, 0.0, 0.04];
    NativeStructure {
        title: "exact".into(),
        reduced: true,
        step: 7,
        time: 0.1 + 0.2,
        cell: made.frame.cell.unwrap(),
        periodic: [true, false, true],
        species: vec![
            species("OW", 15.9994, -0.8476),
            species("HW", 1.008, 0.4238),
            species("Na", 22.98977, 1.0),
        ],
        species_of: vec![0, 1, 1, 0, 1, 1, 2],
        velocities: made.frame.velocities.unwrap(),
        positions: made.frame.positions,
        images: made.images.unwrap(),
        masses: vec![15.9994, 1.008, 2.014, 15.9994, 1.008, 1.008, 22.98977],
        charges: vec![-0.8476, 0.4238, 0.4238, -0.8476, 0.4238, 0.4238, 0.9],
        molecules: vec![0, 0, 0, 1, 1, 1, 2],
        rotors: [0, 1, 1, 0, 1, 1, 1].map(|k| [oxygen, [0.0; 4]][k]).to_vec(),
        orientations: vec![[0.5, -0.5, 0.5, 0.5]; 7],
        angular_momenta: vec![[0.1, 0.2, 0.3]; 7],
        axes: NativeLinks {
            kinds: vec!["dipole".into()],
            links: vec![(0, [0, 6])],
        },
        labels: AtomLabels::new(&made.atoms),
        bonds: NativeLinks {
            kinds: vec!["O-H".into()],
            links: vec![(0, [0, 1]), (0, [0, 2])],
        },
        angles: NativeLinks {
            kinds: vec!["H-O-H".into()],
            links: vec![(0, [1, 0, 2])],
        },
        ..NativeStructure::default()
    }
}

#[test]
fn native_files_keep_every_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.debye");
    let made = native();
    made.write(&path).unwrap();
    assert_eq!(NativeStructure::read(&path).unwrap(), made);
    assert_eq!(Format::from_path(&path).unwrap(), Format::NATIVE);
    let structure = read_structure(&path).unwrap();
    assert_eq!(structure.atoms[1].name, "HW1");
    assert_eq!(structure.atoms[1].type_name.as_deref(), Some("HW"));
    assert_eq!(structure.bonds.len(), 2);
    assert_eq!(structure.frame.periodic, Some([true, false, true]));
    // Along the axis z of the body, a third of a turn about a diagonal.
    assert_eq!(structure.atoms[0].dipole, Some([0.0, 0.04, 0.0]));
    assert_eq!(structure.atoms[1].dipole, None);
    let packed = folder.path().join("system.debye.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&made.to_bytes()).unwrap();
    std::fs::write(&packed, gzip.finish().unwrap()).unwrap();
    assert_eq!(read_structure(&packed).unwrap(), structure);

    // What goes without saying takes no room.
    let mut plain = NativeStructure {
        labels: AtomLabels::default(),
        images: vec![[0; 3]; 7],
        ..made
    };
    plain.masses = vec![15.9994, 1.008, 1.008, 15.9994, 1.008, 1.008, 22.98977];
    plain.charges = vec![-0.8476, 0.4238, 0.4238, -0.8476, 0.4238, 0.4238, 1.0];
    plain.molecules = (0..7).collect();
    let bytes = plain.to_bytes();
    assert_eq!(NativeStructure::from_bytes(&bytes).unwrap(), plain);
    assert!(!bytes.windows(6).any(|w| w == b"masses" || w == b"images"));
}

#[test]
fn damaged_native_files_are_refused_in_words() {
    let bytes = native().to_bytes();
    let refused = |bytes: &[u8], expected: &str| {
        let error = NativeStructure::from_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(b"hello", "does not begin as a native structure file does");
    refused(&bytes[..bytes.len() - 1], "bytes of content");
    let mut other = bytes.clone();
    other[8] = 9;
    refused(&other, "version 9");
    let mut flipped = bytes.clone();
    flipped[100] ^= 1;
    refused(&flipped, "checksum");
    let mut wrong = native();
    wrong.bonds.links[0].1[1] = 99;
    refused(&wrong.to_bytes(), "a bond of kind 0 between particles [0, 99]");
    let mut wrong = native();
    wrong.velocities.pop();
    refused(&wrong.to_bytes(), "7 positions and 6 velocities");
    let mut wrong = native();
    wrong.positions[0][0] = f64::NAN;
    refused(&wrong.to_bytes(), "not finite");
    // Every byte matters, and none brings the reader down.
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        assert!(NativeStructure::from_bytes(&bytes).is_err(), "byte {at}");
    }
}

#[test]
fn whole_structures_are_not_written_frame_by_frame() {
    for format in [Format::LAMMPS, Format::NATIVE] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let refused = debye_io::create_writer(&path, format);
        assert!(matches!(refused, Err(IoError::NotSupported { .. })));
        assert!(!path.exists(), "a refusal leaves no file");
    }
}
