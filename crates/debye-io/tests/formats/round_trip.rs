//! What is written can be read back.

use debye_io::{
    Atom, Bonded, DcdReader, Format, Frame, GroReader, GroWriter, IoError, LengthUnit, PdbReader, ReadFrames,
    Structure, WriteFrames, XtcReader, XtcWriter, XyzReader, read_pqr, read_structure, write_structure,
};
use proptest::prelude::*;

use crate::samples::{distance, later, read_all, system, written};

const NANOMETER: LengthUnit = LengthUnit::Nanometer;
const ANGSTROM: LengthUnit = LengthUnit::Angstrom;

#[test]
fn gro_keeps_names_velocities_and_box() {
    let (atoms, frame) = system(20, NANOMETER);
    let bytes = written("gro", &atoms, &[frame.clone(), later(&frame, 10)]).unwrap();
    let mut reader = GroReader::new(&bytes[..], "x");
    let first = reader.next_structure().unwrap().unwrap();
    for (read, atom) in first.atoms.iter().zip(&atoms) {
        assert_eq!(
            (&read.name, &read.element, &read.residue),
            (&atom.name, &atom.element, &atom.residue)
        );
    }
    assert_eq!(
        (first.frame.step, first.frame.time, &first.frame.title),
        (frame.step, frame.time, &frame.title)
    );
    assert!(distance(&first.frame.positions, &frame.positions) <= 0.000_500_1);
    let velocities = frame.velocities.as_ref().unwrap();
    assert!(distance(first.frame.velocities.as_ref().unwrap(), velocities) <= 0.000_050_1);
    assert_eq!(first.frame.cell, frame.cell);
    assert_eq!(reader.next_structure().unwrap().unwrap().frame.step, Some(510));
    assert!(reader.next_frame().unwrap().is_none());
}

#[test]
fn gro_numbers_wrap_around() {
    let (mut atoms, frame) = system(100_002, NANOMETER);
    for (index, atom) in atoms.iter_mut().enumerate() {
        atom.residue_number = index as i64 + 1;
    }
    let bytes = written("gro", &atoms, std::slice::from_ref(&frame)).unwrap();
    let read = GroReader::new(&bytes[..], "x").next_structure().unwrap().unwrap();
    assert_eq!(read.atoms.len(), 100_002);
    assert_eq!(
        (
            read.atoms[99_998].residue_number,
            read.atoms[100_000].residue_number
        ),
        (99_999, 1)
    );
    assert!(distance(&read.frame.positions, &frame.positions) <= 0.000_500_1);
}

#[test]
fn pdb_keeps_models_and_bonds() {
    let (atoms, frame) = system(9, ANGSTROM);
    let bytes = written("pdb", &atoms, &[frame.clone(), later(&frame, 10)]).unwrap();
    let (frames, error) = read_all(PdbReader::new(&bytes[..], "x"));
    assert!(error.is_none() && frames.len() == 2, "{error:?}");
    assert!(distance(&frames[1].positions, &later(&frame, 10).positions) <= 0.000_500_1);
    assert!(distance(&frames[0].cell.unwrap(), &frame.cell.unwrap()) < 2e-3);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bonds.pdb");
    let bonds = vec![
        Bonded {
            kind: String::new(),
            atoms: [0, 1],
        },
        Bonded {
            kind: String::new(),
            atoms: [1, 4],
        },
    ];
    write_structure(
        &path,
        &Structure {
            atoms: atoms.clone(),
            frame,
            bonds: bonds.clone(),
            ..Structure::default()
        },
    )
    .unwrap();
    let read = read_structure(&path).unwrap();
    assert_eq!(read.bonds, bonds);
    for (read, atom) in read.atoms.iter().zip(&atoms) {
        assert_eq!(
            (&read.name, &read.element, &read.residue),
            (&atom.name, &atom.element, &atom.residue)
        );
        assert_eq!(read.residue_number, atom.residue_number);
        assert_eq!((&read.insertion, read.hetero), (&atom.insertion, atom.hetero));
    }
}

#[test]
fn xyz_keeps_everything_exactly() {
    let (atoms, frame) = system(7, ANGSTROM);
    let bytes = written("xyz", &atoms, std::slice::from_ref(&frame)).unwrap();
    let read = XyzReader::new(&bytes[..], "x").next_structure().unwrap().unwrap();
    assert_eq!(read.frame, frame);
    assert!(
        read.atoms
            .iter()
            .zip(&atoms)
            .all(|(u, v)| u.charge == v.charge && u.element == v.element)
    );
}

#[test]
fn pqr_keeps_charge_and_radius() {
    let (mut atoms, frame) = system(12, ANGSTROM);
    atoms[3].chain = "B".to_owned();
    atoms[4].name = "two words".to_owned();
    let bytes = written("pqr", &atoms, std::slice::from_ref(&frame)).unwrap();
    let read = read_pqr(&bytes[..], "x").unwrap();
    assert!(
        read.atoms
            .iter()
            .zip(&atoms)
            .all(|(u, v)| u.charge == v.charge && u.radius == v.radius && u.chain == v.chain)
    );
    assert_eq!(read.atoms[4].name, "two_words");
    assert!(distance(&read.frame.positions, &frame.positions) <= 0.000_050_1);
    assert!(matches!(
        written("pqr", &atoms, &[frame.clone(), frame]),
        Err(IoError::NotSupported { .. })
    ));
}

#[test]
fn dcd_keeps_clock_and_cell() {
    let (_, mut frame) = system(50, ANGSTROM);
    frame.time = Some(frame.step.unwrap() as f64 * 0.002);
    let frames = [frame.clone(), later(&frame, 100), later(&frame, 200)];
    let bytes = written("dcd", &[], &frames).unwrap();
    let reader = DcdReader::new(&bytes[..], "x").unwrap();
    assert_eq!((reader.header().frames, reader.header().step_interval), (3, 100));
    let (read, error) = read_all(reader);
    assert!(error.is_none(), "{error:?}");
    for (read, frame) in read.iter().zip(&frames) {
        assert!(distance(&read.positions, &frame.positions) < 1e-6);
        assert!(distance(&read.cell.unwrap(), &frame.cell.unwrap()) < 1e-12);
        assert_eq!(read.step, frame.step);
        assert!((read.time.unwrap() - frame.time.unwrap()).abs() < 1e-6);
    }
}

#[test]
fn xtc_keeps_clock_and_box() {
    for atoms in [0, 1, 9, 10, 11, 300] {
        let (_, frame) = system(atoms, NANOMETER);
        let frames = [frame.clone(), later(&frame, 7)];
        let bytes = written("xtc", &[], &frames).unwrap();
        let (read, error) = read_all(XtcReader::new(&bytes[..], "x"));
        assert!(error.is_none() && read.len() == 2, "{error:?}");
        for (read, frame) in read.iter().zip(&frames) {
            assert!(distance(&read.positions, &frame.positions) <= 0.000_501);
            assert_eq!((read.step, read.cell), (frame.step, frame.cell));
            assert!((read.time.unwrap() - frame.time.unwrap()).abs() < 1e-6);
        }
    }
}

/// What this crate writes, read by this crate and by another.
#[allow(clippy::unwrap_used)]
fn decoders_agree(bytes: &[u8], precision: f64) {
    let (read, error) = read_all(XtcReader::new(bytes, "x"));
    assert!(error.is_none(), "{error:?}");
    let mut other = molly::XTCReader::new(bytes);
    for frame in &read {
        let mut expected = molly::Frame::default();
        other.read_frame(&mut expected).unwrap();
        for (value, expected) in frame.positions.iter().flatten().zip(&expected.positions) {
            let expected = f64::from(*expected);
            let tolerance = 1e-6 * expected.abs() + 1e-6 / precision;
            assert!((value - expected).abs() <= tolerance, "{value} {expected}");
        }
    }
}

#[test]
fn xtc_wide_ranges() {
    // One number of up to 32, 64 and 72 bits; ranges above 2^24 are written per axis.
    for (spread, precision) in [
        (1.0, 1000.0),
        (500.0, 1000.0),
        (3000.0, 1000.0),
        (5000.0, 1000.0),
        (50_000.0, 1000.0),
        (3.0, 1e6),
    ] {
        let (_, mut frame) = system(200, NANOMETER);
        frame
            .positions
            .iter_mut()
            .flatten()
            .for_each(|x| *x = (*x - 3.0) / 2.5 * spread);
        let mut bytes = Vec::new();
        XtcWriter::with_precision(&mut bytes, "x", precision)
            .write_frame(&[], &frame)
            .unwrap();
        decoders_agree(&bytes, f64::from(precision));
        let (read, _) = read_all(XtcReader::new(&bytes[..], "x"));
        let error = distance(&read[0].positions, &frame.positions);
        assert!(
            error <= 0.51 / f64::from(precision) + 1e-7 * spread,
            "{spread} {error}"
        );
    }
}

#[test]
fn writers_refuse_what_they_cannot_hold() {
    for format in Format::all().filter(|format| format.writes_frames()) {
        let (atoms, good) = system(20, format.length_unit());
        let try_write = |frame: Frame| written(format.name(), &atoms, &[frame]);
        assert!(try_write(good.clone()).is_ok(), "{format}");
        for value in [f64::NAN, f64::INFINITY] {
            let mut frame = good.clone();
            frame.positions[7][1] = value;
            let error = try_write(frame).unwrap_err();
            assert!(
                matches!(&error, IoError::NotFinite { .. }) && error.to_string().contains("atom 8"),
                "{error}"
            );
        }
        let mut frame = good.clone();
        frame.cell = Some([[f64::NAN; 3]; 3]);
        assert!(
            matches!(try_write(frame), Err(IoError::NotFinite { .. })),
            "{format}"
        );
        let mut frame = good.clone();
        frame.positions.pop();
        assert!(
            matches!(try_write(frame), Err(IoError::AtomCountMismatch { .. })),
            "{format}"
        );
        let mut frame = good.clone();
        frame.velocities = Some(vec![[0.0; 3]]);
        assert!(
            matches!(try_write(frame), Err(IoError::AtomCountMismatch { .. })),
            "{format}"
        );
        let mut frame = good.clone();
        frame.length_unit = if format.length_unit() == NANOMETER {
            ANGSTROM
        } else {
            NANOMETER
        };
        assert!(
            matches!(try_write(frame), Err(IoError::UnitMismatch { .. })),
            "{format}"
        );
        if ![Format::XYZ, Format::PQR].contains(&format) {
            let mut frame = good.clone();
            frame.positions[3][2] = 1e40;
            assert!(
                matches!(try_write(frame), Err(IoError::TooLarge { .. })),
                "{format}"
            );
        }
        if [Format::PDB, Format::PQR, Format::DCD].contains(&format) {
            let mut frame = good.clone();
            frame.cell = Some([[0.0, 5.0, 0.0], [5.0, 0.0, 0.0], [0.0, 0.0, 5.0]]);
            assert!(
                matches!(try_write(frame), Err(IoError::TooLarge { .. })),
                "{format}"
            );
        }
    }
    let (_, mut frame) = system(20, NANOMETER);
    frame.positions[0][0] = 2_147_484.0;
    assert!(matches!(
        written("xtc", &[], &[frame.clone()]),
        Err(IoError::TooLarge { .. })
    ));
    frame.positions[0] = [2_000_000.0; 3];
    frame.positions[1] = [-2_000_000.0; 3];
    assert!(matches!(
        written("xtc", &[], &[frame]),
        Err(IoError::TooLarge { .. })
    ));
    let (_, frame) = system(5, ANGSTROM);
    let (_, other) = system(6, ANGSTROM);
    assert!(matches!(
        written("dcd", &[], &[frame, other]),
        Err(IoError::AtomCountMismatch { .. })
    ));
}

fn vectors(atoms: usize, range: f64) -> impl Strategy<Value = Vec<[f64; 3]>> {
    prop::collection::vec([-range..range, -range..range, -range..range], atoms)
}

fn frames(unit: LengthUnit, range: f64) -> impl Strategy<Value = (Vec<Atom>, Frame)> {
    (0_usize..40, any::<bool>(), any::<bool>()).prop_flat_map(move |(atoms, has_velocities, has_cell)| {
        let parts = (
            vectors(atoms, range),
            vectors(atoms, 99.0),
            [1.0..range, 1.0..range, 1.0..range],
            -0.3..0.3_f64,
        );
        parts.prop_map(move |(positions, velocities, lengths, tilt)| {
            let (atoms, mut frame) = system(positions.len(), unit);
            let [a, b, c] = lengths;
            frame.cell = has_cell.then_some([[a, 0.0, 0.0], [a * tilt, b, 0.0], [-a * tilt, b * tilt, c]]);
            frame.velocities = has_velocities.then_some(velocities);
            frame.forces = None;
            frame.positions = positions;
            (atoms, frame)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn random_gro((atoms, frame) in frames(NANOMETER, 900.0), decimals in 2_usize..9) {
        let mut bytes = Vec::new();
        GroWriter::with_decimals(&mut bytes, "x", decimals).write_frame(&atoms, &frame).unwrap();
        let read = GroReader::new(&bytes[..], "x").next_frame().unwrap().unwrap();
        prop_assert!(distance(&read.positions, &frame.positions) <= 0.51 * 10_f64.powi(-(decimals as i32)));
        prop_assert_eq!(read.velocities.is_some(), frame.velocities.is_some() && !atoms.is_empty());
        prop_assert_eq!(read.cell.is_some(), frame.cell.is_some());
    }

    #[test]
    fn random_pdb((atoms, frame) in frames(ANGSTROM, 900.0)) {
        let bytes = match written("pdb", &atoms, std::slice::from_ref(&frame)) {
            Ok(bytes) => bytes,
            Err(error) => {
                prop_assert!(error.to_string().contains("too flat"), "{error}");
                return Ok(());
            }
        };
        let (read, error) = read_all(PdbReader::new(&bytes[..], "x"));
        prop_assert!(error.is_none(), "{:?}", error);
        if atoms.is_empty() {
            prop_assert!(read.is_empty());
        } else {
            prop_assert!(distance(&read[0].positions, &frame.positions) <= 0.000_501);
            prop_assert_eq!(read[0].cell.is_some(), frame.cell.is_some());
        }
    }

    #[test]
    fn random_xyz((atoms, frame) in frames(ANGSTROM, 1e12)) {
        let bytes = written("xyz", &atoms, &[frame.clone(), frame.clone()]).unwrap();
        let (read, error) = read_all(XyzReader::new(&bytes[..], "x"));
        prop_assert!(error.is_none());
        prop_assert_eq!(&read, &[frame.clone(), frame]);
    }

    #[test]
    fn random_pqr((atoms, frame) in frames(ANGSTROM, 900.0)) {
        let bytes = written("pqr", &atoms, std::slice::from_ref(&frame)).unwrap();
        match read_pqr(&bytes[..], "x") {
            Ok(read) => prop_assert!(distance(&read.frame.positions, &frame.positions) <= 0.000_051),
            Err(error) => prop_assert!(atoms.is_empty(), "{error}"),
        }
    }

    #[test]
    fn random_dcd((_, frame) in frames(ANGSTROM, 1e4)) {
        let bytes = written("dcd", &[], &[frame.clone(), frame.clone()]).unwrap();
        let (read, error) = read_all(DcdReader::new(&bytes[..], "x").unwrap());
        prop_assert!(error.is_none() && read.len() == 2, "{:?}", error);
        prop_assert!(distance(&read[1].positions, &frame.positions) <= 1e-3);
        prop_assert_eq!(read[1].cell.is_some(), frame.cell.is_some());
    }

    #[test]
    fn random_xtc((_, frame) in frames(NANOMETER, 900.0), precision in 1.0_f32..1e5, shrink in 1e-4..1.0_f64) {
        let mut frame = frame;
        frame.positions.iter_mut().flatten().for_each(|x| *x *= shrink);
        let mut bytes = Vec::new();
        let mut writer = XtcWriter::with_precision(&mut bytes, "x", precision);
        writer.write_frame(&[], &frame).unwrap();
        writer.write_frame(&[], &frame).unwrap();
        drop(writer);
        let (read, error) = read_all(XtcReader::new(&bytes[..], "x"));
        prop_assert!(error.is_none() && read.len() == 2, "{:?}", error);
        prop_assert!(distance(&read[1].positions, &frame.positions) <= 0.51 / f64::from(precision) + 2e-4 * shrink);
        decoders_agree(&bytes, f64::from(precision));
    }
}
