//! Files as other programs write them.

use debye_io::{
    AtomStyle, Bonded, DcdReader, GroReader, IoError, LengthUnit, PdbReader, ReadFrames, XyzReader,
    read_lammps_data, read_pdb, read_pqr,
};

use crate::samples::{self, distance, read_all};

#[test]
fn gro() {
    for text in [samples::GRO.to_owned(), samples::GRO.replace('\n', "\r\n")] {
        let structure = GroReader::new(text.as_bytes(), "x")
            .next_structure()
            .unwrap()
            .unwrap();
        let frame = &structure.frame;
        assert_eq!(frame.title, "MD of 2 waters");
        assert_eq!((frame.time, frame.step), (Some(0.5), Some(250)));
        assert_eq!(frame.length_unit, LengthUnit::Nanometer);
        assert_eq!(frame.cell.unwrap()[1], [0.0, 1.8206, 0.0]);
        assert_eq!(frame.positions[4], [1.337, 0.002, 0.680]);
        assert_eq!(frame.velocities.as_ref().unwrap()[2], [-0.9045, -2.6469, 1.3180]);
        let atom = &structure.atoms[3];
        assert_eq!(
            (&*atom.name, &*atom.element, &*atom.residue, atom.residue_number),
            ("OW1", "O", "WATER", 2)
        );
    }
}

#[test]
fn gro_precision_and_triclinic_box() {
    let text = "fine\n1\n    1AR      AR    1  0.1234567 -1.2345678 10.0000000\n1.0 2.0 3.0 0.0 0.0 0.5 0.0 0.25 -0.125\n\n\n";
    let (frames, error) = read_all(GroReader::new(text.as_bytes(), "x"));
    assert!(error.is_none(), "{error:?}");
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].positions[0], [0.1234567, -1.2345678, 10.0]);
    assert_eq!(
        frames[0].cell.unwrap(),
        [[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [0.25, -0.125, 3.0]]
    );
    assert!(frames[0].velocities.is_none());
}

#[test]
fn gro_without_box_and_with_blank_title() {
    let text = "\n1\n    1AR      AR    1   0.000   0.000   0.000\n   0.0 0.0 0.0\n";
    let frame = GroReader::new(text.as_bytes(), "x")
        .next_frame()
        .unwrap()
        .unwrap();
    assert!(frame.cell.is_none() && frame.title.is_empty());
}

#[test]
fn pdb() {
    let structure = read_pdb(samples::PDB.as_bytes(), "1crn.pdb").unwrap();
    let elements: Vec<&str> = structure.atoms.iter().map(|atom| &*atom.element).collect();
    assert_eq!(elements, ["N", "C", "H", "Ca", "O"]);
    assert_eq!(structure.frame.title, "WATER STRUCTURE OF A HYDROPHOBIC PROTEIN");
    assert_eq!(structure.frame.positions[4], [15.115, 11.555, 5.265]);
    assert_eq!(
        (&*structure.atoms[3].chain, structure.atoms[3].residue_number),
        ("B", 2)
    );
    let cell = structure.frame.cell.unwrap();
    let expected = [[40.96, 0.0, 0.0], [0.0, 18.65, 0.0], [-0.302641, 0.0, 22.517966]];
    assert!(distance(&cell, &expected) < 1e-5, "{cell:?}");
    let bond = |atoms| Bonded {
        kind: String::new(),
        atoms,
    };
    assert_eq!(structure.bonds, [bond([0, 1]), bond([1, 2])]);
}

#[test]
fn pdb_models_and_odd_serials() {
    let line = |serial: &str, number: &str, x: f64| {
        format!("ATOM  {serial:>5}  O   HOH  {number:>4}    {x:8.3}   0.000   1.000\n")
    };
    let model = |x: f64| {
        let rows = [
            line("*****", "9999", x),
            line("A0000", "A000", x),
            line("186a0", "****", x),
        ]
        .concat();
        format!("MODEL        1\n{rows}TER\nENDMDL\n")
    };
    let text = format!(
        "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n{}{}END\n",
        model(1.0),
        model(2.0)
    );
    let (frames, error) = read_all(PdbReader::new(text.as_bytes(), "x"));
    assert!(error.is_none(), "{error:?}");
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[1].positions, [[2.0, 0.0, 1.0]; 3]);
    assert!(frames[0].cell.is_none(), "the unit cube means no crystal");
    let numbers: Vec<i64> = read_pdb(text.as_bytes(), "x")
        .unwrap()
        .atoms
        .iter()
        .map(|a| a.residue_number)
        .collect();
    assert_eq!(numbers, [9999, 10_000, 10_000]);
}

#[test]
fn extended_xyz() {
    let structure = XyzReader::new(samples::EXTENDED_XYZ.as_bytes(), "x")
        .next_structure()
        .unwrap()
        .unwrap();
    let frame = &structure.frame;
    assert_eq!(
        frame.cell.unwrap(),
        [[4.0, 0.0, 0.0], [1.0, 5.0, 0.0], [0.0, 0.5, 6.0]]
    );
    assert_eq!(frame.time, Some(2.5));
    assert_eq!(frame.velocities.as_ref().unwrap()[1], [4.0, 5.0, 6.0]);
    assert_eq!(frame.forces.as_ref().unwrap()[0], [-1.0, -2.0, -3.0]);
    assert_eq!(structure.atoms[1].charge, Some(-1.0));
    assert_eq!(
        (&*structure.atoms[0].element, &*structure.atoms[0].name),
        ("Na", "Na")
    );
}

#[test]
fn xyz_of_the_reference_data() {
    // The forms of comment and of rows in NIST's Lennard-Jones and SPC/E configurations.
    let cuboid = "2\n    cell: 8.0  8.0  8.0\nH -7.89e-01 -3.26e+00 -1.44e-01\nH 1 2 3\n";
    let tilted =
        "         1\n1 10.0 9.8 9.6 1.7 2.5 0.4\n    1      -2.559e+00       3.362e+00      -2.910e+00\n";
    let forces = "1\n    Force on each atom, as computed by LAMMPS (kcal/mol/A)\n1 16.284 13.207 -0.736642\n";
    let numbers = "1\n 3 4 5\nAr 0 0 0\n";
    let read = |text: &str| {
        XyzReader::new(text.as_bytes(), "x")
            .next_structure()
            .unwrap()
            .unwrap()
    };
    assert_eq!(
        read(cuboid).frame.cell.unwrap(),
        [[8.0, 0.0, 0.0], [0.0, 8.0, 0.0], [0.0, 0.0, 8.0]]
    );
    assert_eq!(
        read(tilted).frame.cell.unwrap(),
        [[10.0, 0.0, 0.0], [1.7, 9.8, 0.0], [2.5, 0.4, 9.6]]
    );
    assert_eq!(read(tilted).atoms[0].name, "1");
    assert!(read(forces).frame.cell.is_none());
    assert_eq!(read(numbers).frame.cell.unwrap()[2], [0.0, 0.0, 5.0]);
}

#[test]
fn pqr() {
    let structure = read_pqr(samples::PQR.as_bytes(), "x").unwrap();
    assert_eq!(structure.atoms.len(), 3);
    assert_eq!(
        (structure.atoms[0].charge, structure.atoms[0].radius),
        (Some(-0.3), Some(1.85))
    );
    assert_eq!(
        (&*structure.atoms[0].chain, &*structure.atoms[1].chain),
        ("", "A")
    );
    let ion = &structure.atoms[2];
    assert_eq!((&*ion.element, &*ion.chain, ion.residue_number), ("Na", "B", 27));
    assert_eq!(structure.frame.positions[2], [-10.5, 100.25, 7.0]);
}

#[test]
fn lammps() {
    let structure = read_lammps_data(samples::LAMMPS.as_bytes(), "x", None).unwrap();
    assert_eq!(structure.frame.length_unit, LengthUnit::Unspecified);
    assert_eq!(structure.frame.positions[2], [-0.24, 0.9267, 0.0]);
    assert_eq!(structure.frame.velocities.as_ref().unwrap()[3], [1.0, 1.1, 1.2]);
    assert_eq!(
        structure.frame.cell.unwrap(),
        [[10.0, 0.0, 0.0], [0.5, 12.0, 0.0], [0.25, -0.5, 8.0]]
    );
    assert_eq!(structure.origin.unwrap(), [-1.0, -1.0, 0.0]);
    assert_eq!(structure.images.unwrap()[3], [1, -1, 0]);
    assert_eq!(
        (structure.atoms[1].mass, &*structure.atoms[1].element),
        (Some(1.008), "H")
    );
    assert_eq!(
        (structure.atoms[3].molecule, structure.atoms[3].charge),
        (Some(2), Some(-0.834))
    );
    assert_eq!(
        structure.bonds[1],
        Bonded {
            kind: "1".to_owned(),
            atoms: [0, 2]
        }
    );
    assert_eq!(
        structure.angles,
        [Bonded {
            kind: "1".to_owned(),
            atoms: [1, 0, 2]
        }]
    );
}

fn lammps_atoms(heading: &str, row: &str) -> String {
    format!("title\n\n1 atoms\n0 1 xlo xhi\n0 1 ylo yhi\n0 1 zlo zhi\n\n{heading}\n\n{row}\n")
}

#[test]
fn lammps_styles() {
    let read =
        |heading: &str, row: &str, style| read_lammps_data(lammps_atoms(heading, row).as_bytes(), "x", style);
    let guessed = [
        ("1 1 0.1 0.2 0.3", None, None),
        ("1 1 0.1 0.2 0.3 0 0 0", None, None),
        ("1 1 -0.5 0.1 0.2 0.3", None, Some(-0.5)),
        ("1 7 1 -0.5 0.1 0.2 0.3 0 0 1", Some(7), Some(-0.5)),
        ("1 2 0.1 0.2 0.3 7 0.7 0 0 0.5 5.4 1.1", Some(7), Some(0.7)),
        ("1 2 0.1 0.2 0.3 7 0.7 0 0 0.5 5.4 1.1 0 1 -1", Some(7), Some(0.7)),
    ];
    for (row, molecule, charge) in guessed {
        let structure = read("Atoms", row, None).unwrap();
        assert_eq!(structure.frame.positions, [[0.1, 0.2, 0.3]], "{row}");
        assert_eq!(
            (structure.atoms[0].molecule, structure.atoms[0].charge),
            (molecule, charge),
            "{row}"
        );
    }
    let lipid = read("Atoms # hybrid", guessed[4].0, None).unwrap();
    assert_eq!(lipid.atoms[0].dipole, Some([0.0, 0.0, 0.5]));
    assert_eq!(
        (lipid.atoms[0].radius, lipid.atoms[0].density),
        (Some(2.7), Some(1.1))
    );
    // Six columns of integers may be a molecule or a charge.
    let row = "1 1 1 0 0 0.5";
    let error = read("Atoms", row, None).unwrap_err();
    assert!(
        matches!(
            &error,
            IoError::AmbiguousStyle {
                line: 10,
                columns: 6,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(
        read("Atoms # molecular", row, None).unwrap().atoms[0].molecule,
        Some(1)
    );
    assert_eq!(
        read("Atoms", row, Some(AtomStyle::Charge)).unwrap().atoms[0].charge,
        Some(1.0)
    );
    let error = read("Atoms # peri", row, None).unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
}

/// A DCD file of one frame of two atoms as CHARMM or NAMD write it.
fn dcd(big_endian: bool, cell: [f64; 6], fixed: Option<i32>) -> Vec<u8> {
    let integer = |value: i32| {
        if big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let float = |value: f32| {
        if big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let double = |value: f64| {
        if big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let mut file = Vec::new();
    let mut record = |body: Vec<u8>| {
        file.extend(integer(body.len() as i32));
        file.extend(&body);
        file.extend(integer(body.len() as i32));
    };
    let frames = if fixed.is_some() { 2 } else { 1 };
    let mut control = [0; 20];
    (control[0], control[1], control[2], control[10], control[19]) = (frames, 1000, 100, 1, 24);
    control[8] = fixed.map_or(0, |_| 1);
    let delta = float(0.5);
    control[9] = if big_endian {
        i32::from_be_bytes(delta)
    } else {
        i32::from_le_bytes(delta)
    };
    record(
        [
            b"CORD".to_vec(),
            control.iter().flat_map(|v| integer(*v)).collect(),
        ]
        .concat(),
    );
    record([integer(2).to_vec(), vec![b'T'; 80], vec![b' '; 80]].concat());
    record(integer(2).to_vec());
    if let Some(free) = fixed {
        record(integer(free).to_vec());
    }
    for frame in 0..frames {
        record(cell.iter().flat_map(|v| double(*v)).collect());
        for axis in 0..3 {
            let atoms = if frame == 0 { 2 } else { 1 };
            record(
                (0..atoms)
                    .flat_map(|atom| float((10 * frame + axis + 100 * atom) as f32))
                    .collect(),
            );
        }
    }
    file
}

#[test]
fn dcd_byte_orders_and_cell_conventions() {
    let half = 0.5_f64;
    for big_endian in [false, true] {
        for cell in [
            [10.0, half, 11.0, 0.0, 0.0, 12.0],
            [10.0, 60.0, 11.0, 90.0, 90.0, 12.0],
        ] {
            let file = dcd(big_endian, cell, None);
            let (frames, error) = read_all(DcdReader::new(&file[..], "x").unwrap());
            assert!(error.is_none(), "{error:?}");
            assert_eq!(frames[0].positions, [[0.0, 1.0, 2.0], [100.0, 101.0, 102.0]]);
            let expected = [
                [10.0, 0.0, 0.0],
                [5.5, 11.0 * 0.75_f64.sqrt(), 0.0],
                [0.0, 0.0, 12.0],
            ];
            assert!(distance(&frames[0].cell.unwrap(), &expected) < 1e-12);
            assert_eq!(frames[0].step, Some(1000));
            assert!((frames[0].time.unwrap() - 1000.0 * 0.5 * 0.04888821).abs() < 1e-6);
        }
    }
}

#[test]
fn dcd_fixed_atoms() {
    let file = dcd(true, [0.0; 6], Some(2));
    let (frames, error) = read_all(DcdReader::new(&file[..], "x").unwrap());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(frames[1].positions, [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]);
    assert!(frames[1].cell.is_none());
    assert!(matches!(
        DcdReader::new(&dcd(true, [0.0; 6], Some(3))[..], "x"),
        Err(IoError::Parse { .. })
    ));
}
