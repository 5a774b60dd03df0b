//! TRR, mmCIF, LAMMPS dumps, compressed files, and what readers say about files that are odd.

use std::io::Read;

use debye_io::{
    CifReader, DcdReader, DumpReader, Format, Frame, GroReader, IoError, LengthUnit, PdbReader, ReadFrames,
    ReadOptions, Structure, Trajectory, TrrReader, XtcReader, XyzReader, read_lammps_data, read_pdb,
    read_structure, unpack,
};

use crate::samples::{self, distance, later, read_all, system, trr, written};

fn three_frames(unit: LengthUnit) -> [Frame; 3] {
    let (_, frame) = system(20, unit);
    [frame.clone(), later(&frame, 10), later(&frame, 20)]
}

#[allow(clippy::unwrap_used)]
fn opened(name: &str, bytes: &[u8], lenient: bool) -> (usize, Option<IoError>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let format = None;
    let mut trajectory = match Trajectory::open_with(&path, ReadOptions { format, lenient }) {
        Ok(trajectory) => trajectory,
        Err(error) => return (0, Some(error), Vec::new()),
    };
    let (mut frames, mut error) = (0, None);
    loop {
        match trajectory.next_frame() {
            Ok(Some(_)) => frames += 1,
            Ok(None) => break,
            Err(found) => {
                error = Some(found);
                break;
            }
        }
    }
    (frames, error, trajectory.warnings())
}

#[test]
fn trr_in_both_precisions() {
    let frames = three_frames(LengthUnit::Nanometer);
    for double in [false, true] {
        let bytes = trr(&frames, double);
        let (found, error) = read_all(TrrReader::new(&bytes[..], "x"));
        assert!(found.len() == 3 && error.is_none(), "{error:?}");
        let tolerance = if double { 0.0 } else { 1e-6 };
        for (a, b) in found.iter().zip(&frames) {
            assert_eq!((a.step, a.length_unit), (b.step, LengthUnit::Nanometer));
            assert!((a.time.unwrap() - b.time.unwrap()).abs() <= tolerance);
            assert!(distance(&a.cell.unwrap(), &b.cell.unwrap()) <= tolerance);
            assert!(distance(&a.positions, &b.positions) <= tolerance);
            assert!(distance(a.velocities.as_ref().unwrap(), b.velocities.as_ref().unwrap()) <= tolerance);
            assert!(distance(a.forces.as_ref().unwrap(), b.forces.as_ref().unwrap()) <= tolerance);
        }
    }
}

#[test]
fn trr_frames_without_positions_are_left_out() {
    let mut frames = three_frames(LengthUnit::Nanometer);
    // The header still counts the atoms.
    let mut bytes = trr(&frames[..1], false);
    frames[1].positions.clear();
    frames[1].velocities = None;
    frames[1].forces = None;
    let mut second = trr(&frames[1..2], false);
    second[64..68].copy_from_slice(&20_i32.to_be_bytes());
    bytes.extend(second);
    bytes.extend(trr(&frames[2..], false));
    let mut reader = TrrReader::new(&bytes[..], "x.trr");
    let mut count = 0;
    while reader.next_frame().unwrap().is_some() {
        count += 1;
    }
    let warnings = reader.warnings();
    assert_eq!(count, 2);
    assert!(
        warnings.len() == 1 && warnings[0].contains("x.trr: 1 frames"),
        "{warnings:?}"
    );
    assert!(reader.warnings().is_empty());
}

#[test]
fn mmcif() {
    let mut reader = CifReader::new(samples::CIF.as_bytes(), "x.cif");
    let first: Structure = reader.next_structure().unwrap().unwrap();
    assert_eq!(first.frame.title, "A title of two lines");
    assert_eq!(first.frame.cell.unwrap()[1], [0.0, 20.0, 0.0]);
    let names: Vec<(&str, &str, i64, &str)> = first
        .atoms
        .iter()
        .map(|a| (&*a.name, &*a.element, a.residue_number, &*a.chain))
        .collect();
    let expected = [
        ("N", "N", 7, "X"),
        ("CB", "C", 7, "X"),
        ("CA", "Ca", 8, "X"),
        ("O5'", "O", 9, "X"),
    ];
    assert_eq!(names, expected);
    assert_eq!(
        first.atoms.iter().map(|a| a.hetero).collect::<Vec<_>>(),
        [false, false, true, true]
    );
    assert_eq!(first.frame.positions[1], [1.2, 2.0, 3.0]);
    assert_eq!(first.frame.positions[2], [-1.5, 2.0, 3.0]);
    assert!(first.warnings.len() == 1 && first.warnings[0].contains("1 alternate"));
    let second = reader.next_frame().unwrap().unwrap();
    assert_eq!(second.positions[1], [4.2, 2.0, 3.0]);
    assert_eq!(second.positions.len(), 4);
    assert!(reader.next_frame().unwrap().is_none());
    // A loop of other columns, and no loop at all.
    let error = CifReader::new(&b"data_x\nloop_\n_atom_site.id\n1\n"[..], "x").next_frame();
    assert!(matches!(error, Err(IoError::Parse { .. })));
    let error = CifReader::new(&b"data_x\n_cell.length_a 3\n"[..], "x").next_frame();
    assert!(matches!(error, Err(IoError::Empty { .. })));
}

#[test]
fn lammps_dump() {
    let mut reader = DumpReader::new(samples::DUMP.as_bytes(), "x");
    let first = reader.next_structure().unwrap().unwrap();
    let frame = &first.frame;
    assert_eq!(
        (frame.step, frame.time, frame.length_unit),
        (Some(100), None, LengthUnit::Unspecified)
    );
    // Bounds are those of the corners: the tilts move them out.
    let cell = [[9.0, 0.0, 0.0], [0.5, 10.0, 0.0], [-1.0, 0.25, 12.0]];
    assert!(distance(&frame.cell.unwrap(), &cell) < 1e-12, "{:?}", frame.cell);
    assert_eq!(first.origin, Some([0.0, -2.0, 0.0]));
    assert_eq!(frame.positions[0], [0.0, -2.0, 0.0]);
    assert_eq!(frame.positions[1], [9.0, -2.0, 0.0]);
    assert!(distance(&frame.positions[2..], &[[4.25, 3.125, 6.0]]) < 1e-12);
    assert_eq!(frame.velocities.as_ref().unwrap()[2], [0.7, 0.8, 0.9]);
    assert_eq!(first.images.as_ref().unwrap()[2], [0, 0, -1]);
    let sodium = &first.atoms[2];
    assert_eq!((&*sodium.name, sodium.type_name.as_deref()), ("Na", Some("2")));
    assert_eq!((sodium.molecule, sodium.charge), (Some(2), Some(1.0)));
    let second = reader.next_frame().unwrap().unwrap();
    assert_eq!(second.positions, [[1.0; 3], [2.0; 3], [3.0; 3]]);
    assert!(reader.next_frame().unwrap().is_none() && reader.warnings().is_empty());
}

#[test]
fn lammps_dump_units_and_general_boxes() {
    let text = "ITEM: UNITS\nreal\nITEM: TIMESTEP\n5\nITEM: TIME\n2000\nITEM: NUMBER OF ATOMS\n1\n\
                ITEM: BOX BOUNDS abc origin pp pp pp\n0 2 0 1\n-3 0 0 1\n0 0 4 1\nITEM: ATOMS x y z vx vy vz\n\
                -3 2 0 0 0.001 0\n";
    let mut reader = DumpReader::new(text.as_bytes(), "x");
    let frame = reader.next_frame().unwrap().unwrap();
    assert_eq!((frame.time, frame.length_unit), (Some(2.0), LengthUnit::Angstrom));
    assert_eq!(
        frame.cell.unwrap(),
        [[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]]
    );
    assert_eq!(frame.positions[0], [2.0, 3.0, 0.0]);
    assert_eq!(frame.velocities.unwrap()[0], [1.0, 0.0, 0.0]);
    assert!(reader.warnings()[0].contains("no column id"));
    for (from, to) in [
        ("1 1.0 1.0 1.0", "1 1.0 1.0"),
        ("ATOMS id x y z", "ATOMS id x y"),
        ("3 3.0 3.0", "1 3.0 3.0"),
        ("0.0 10.0", "20.0 10.0"),
    ] {
        let text = samples::DUMP.replace(from, to);
        let (frames, error) = read_all(DumpReader::new(text.as_bytes(), "x"));
        assert!(
            frames.len() == 1 && matches!(error, Some(IoError::Parse { .. })),
            "{to}: {error:?}"
        );
    }
}

#[test]
fn compressed_files() {
    let packed = [samples::GZIP, samples::BZIP2, samples::XZ, samples::ZSTD];
    for (bytes, end) in packed.iter().zip(["gz", "bz2", "xz", "zst"]) {
        for name in [format!("a.xyz.{end}"), "a.xyz".to_owned()] {
            let (frames, error, warnings) = opened(&name, bytes, false);
            assert!(frames == 3 && warnings.is_empty(), "{name}: {error:?}");
        }
        // Two files one after the other are one.
        let (frames, error, _) = opened("a.xyz", &bytes.repeat(2), false);
        assert_eq!((frames, error.is_none()), (6, true), "{end}");
        // Cut short, or damaged.
        let (_, error, _) = opened("a.xyz", &bytes[..bytes.len() - 6], false);
        assert!(error.is_some(), "{end}");
        let mut damaged = bytes.to_vec();
        damaged[bytes.len() / 2] ^= 0x55;
        let mut text = Vec::new();
        let read = unpack(&damaged[..]).and_then(|mut source| source.read_to_end(&mut text));
        assert!(read.is_err(), "{end}: {text:?}");
    }
    // A compressed structure, and a name that only looks like it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xyz.gz");
    std::fs::write(&path, samples::GZIP).unwrap();
    assert_eq!(read_structure(&path).unwrap().atoms[0].element, "Ar");
    assert_eq!(opened("a.xyz.gz", samples::ARGON_XYZ.as_bytes(), false).0, 3);
}

#[test]
fn a_compressed_file_cut_short_gives_its_whole_frames() {
    use std::io::Write;
    let (atoms, frame) = system(200, LengthUnit::Angstrom);
    let frames: Vec<Frame> = (0..40).map(|k| later(&frame, 10 * k)).collect();
    let bytes = written("xyz", &atoms, &frames).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&bytes).unwrap();
    let gzip = encoder.finish().unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(&bytes[..], ruzstd::encoding::CompressionLevel::Fastest);
    for packed in [gzip, zstd] {
        assert_eq!(opened("a.xyz", &packed, false).0, 40);
        let cut = &packed[..packed.len() / 2];
        let (frames, error, warnings) = opened("a.xyz", cut, true);
        assert!(error.is_none() && frames > 5 && frames < 40, "{frames} {error:?}");
        assert!(
            warnings[0].contains(&format!("the {frames} whole frames")),
            "{warnings:?}"
        );
        let (strict, error, _) = opened("a.xyz", cut, false);
        assert!(strict == frames && error.is_some());
    }
}

#[test]
fn whole_frames_of_files_that_are_cut_short() {
    for format in ["gro", "pdb", "xyz", "xtc", "dcd", "trr", "lammpstrj"] {
        let unit = format.parse::<Format>().unwrap().length_unit();
        let (atoms, _) = system(20, unit);
        let frames = three_frames(unit);
        let file = |frames: &[Frame]| match format {
            "trr" => trr(frames, false),
            "lammpstrj" => samples::DUMP.repeat(frames.len().div_ceil(2)).into_bytes(),
            _ => written(format, &atoms, frames).unwrap(),
        };
        let bytes = file(&frames);
        let whole = if format == "lammpstrj" { 3 } else { 2 };
        let name = format!("a.{format}");
        for back in [24, 27, 31, 40] {
            let cut = &bytes[..bytes.len() - back];
            let (count, error, warnings) = opened(&name, cut, true);
            assert!(
                count == whole && error.is_none(),
                "{format}, {back}: {count} {error:?}"
            );
            let says = format!("the {whole} whole frames before that are used");
            assert!(
                warnings.len() == 1 && warnings[0].contains(&says),
                "{format}: {warnings:?}"
            );
            assert!(warnings[0].contains(&name), "{warnings:?}");
            let (count, error, warnings) = opened(&name, cut, false);
            assert!(
                count == whole && error.is_some() && warnings.is_empty(),
                "{format}, {back}"
            );
        }
        // Nothing whole is left of a first frame. A model of a PDB file may end without ENDMDL.
        if format != "pdb" {
            let (count, error, _) = opened(&name, &bytes[..bytes.len() / 8], true);
            assert!(count == 0 && error.is_some(), "{format}");
        }
    }
}

#[test]
fn damage_in_the_middle_stays_an_error() {
    let text = samples::ARGON_XYZ.replacen("0.25", "0.x5", 2);
    let text = text.replacen("0.x5", "0.25", 1);
    let (frames, error, warnings) = opened("a.xyz", text.as_bytes(), true);
    assert!(frames == 1 && matches!(error, Some(IoError::Parse { .. })) && warnings.is_empty());
    let frames = three_frames(LengthUnit::Nanometer);
    let mut bytes = trr(&frames, false);
    let second = bytes.len() / 3;
    bytes[second + 3] = 0;
    let (count, error, _) = opened("a.trr", &bytes, true);
    assert!(
        count == 1 && matches!(error, Some(IoError::Parse { .. })),
        "{error:?}"
    );
}

#[test]
fn dcd_with_fewer_frames_than_its_header_counts() {
    let frames = three_frames(LengthUnit::Angstrom);
    let mut bytes = written("dcd", &[], &frames).unwrap();
    bytes[8..12].copy_from_slice(&500_i32.to_le_bytes());
    let (count, error, warnings) = opened("a.dcd", &bytes, true);
    assert!(count == 3 && error.is_none());
    assert!(
        warnings[0].contains("500 frames, as the header says"),
        "{warnings:?}"
    );
    assert!(opened("a.dcd", &bytes, false).1.is_some());
}

#[test]
fn dcd_with_a_symmetric_cell_is_turned_with_its_positions() {
    let (_, mut frame) = system(20, LengthUnit::Angstrom);
    frame.cell = Some([[30.0, 0.0, 0.0], [0.0, 31.0, 0.0], [0.0, 0.0, 32.0]]);
    let mut bytes = written("dcd", &[], &[frame.clone()]).unwrap();
    // The cell follows the header and the mark of its record.
    let cell = bytes.len() - 3 * (4 * 20 + 8) - 4 - 48;
    let matrix = [30.8, 14.5, 31.7, 9.6, -2.6, 32.6];
    for (place, value) in matrix.iter().enumerate() {
        bytes[cell + 8 * place..cell + 8 * place + 8].copy_from_slice(&f64::to_le_bytes(*value));
    }
    let mut reader = DcdReader::new(&bytes[..], "x").unwrap();
    let found = reader.next_frame().unwrap().unwrap();
    let box_ = found.cell.unwrap();
    assert!(box_[0][1] == 0.0 && box_[0][2] == 0.0 && box_[1][2] == 0.0);
    let rows = [[30.8, 14.5, 9.6], [14.5, 31.7, -2.6], [9.6, -2.6, 32.6]];
    // What does not depend on the axes: lengths, and the products of positions with box vectors.
    let dot = |u: &[f64; 3], v: &[f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    for (new, old) in found.positions.iter().zip(&frame.positions) {
        for (vector, row) in box_.iter().zip(&rows) {
            assert!((dot(new, vector) - dot(old, row)).abs() < 1e-3, "{new:?} {old:?}");
        }
    }
}

#[test]
fn pdb_alternate_locations() {
    let text = "\
ATOM      1  N   SER A   7      11.000  12.000  13.000  1.00  0.00           N
ATOM      2  CB ASER A   7      11.100  12.000  13.000  0.40  0.00           C
ATOM      3  CB BSER A   7      11.200  12.000  13.000  0.60  0.00           C
ATOM      4  OG ASER A   7      11.300  12.000  13.000  0.50  0.00           O
ATOM      5  OG BSER A   7      11.400  12.000  13.000  0.50  0.00           O
ATOM      6  C   SER A   7      11.500  12.000  13.000  1.00  0.00           C
CONECT    1    2    3    6
CONECT    3    5    4
END
";
    let structure = read_pdb(text.as_bytes(), "x.pdb").unwrap();
    let x: Vec<f64> = structure.frame.positions.iter().map(|r| r[0]).collect();
    assert_eq!(x, [11.0, 11.2, 11.3, 11.5]);
    assert_eq!(structure.atoms.len(), 4);
    let bonds: Vec<[usize; 2]> = structure.bonds.iter().map(|bond| bond.atoms).collect();
    assert_eq!(bonds, [[0, 1], [0, 3], [1, 2]]);
    let warnings = &structure.warnings;
    assert!(
        warnings.len() == 1 && warnings[0].contains("2 alternate locations"),
        "{warnings:?}"
    );
    let frame = PdbReader::new(text.as_bytes(), "x")
        .next_frame()
        .unwrap()
        .unwrap();
    assert_eq!(frame.positions.len(), 4);
}

#[test]
fn pdb_models_without_endmdl() {
    let atom = "ATOM      1  N   SER A   7      11.000  12.000  13.000  1.00  0.00           N\n";
    let file = |models: usize| -> String {
        (1..=models)
            .map(|k| format!("MODEL     {k:4}\n{atom}{atom}"))
            .collect()
    };
    for text in [file(3), file(3) + "END\n"] {
        let (frames, error, warnings) = opened("a.pdb", text.as_bytes(), false);
        assert!(frames == 3 && error.is_none(), "{frames} {error:?}");
        assert!(
            warnings.len() == 1 && warnings[0].contains("ENDMDL"),
            "{warnings:?}"
        );
    }
    // One model that nothing closes may be cut short.
    assert!(opened("a.pdb", file(1).as_bytes(), false).1.is_some());
    let (frames, error, warnings) = opened("a.pdb", file(1).as_bytes(), true);
    assert!(frames == 1 && error.is_none() && warnings.len() == 1);
    assert_eq!(read_pdb(file(1).as_bytes(), "x").unwrap().warnings.len(), 1);
    // Shorter than the one before it, it is.
    let short = file(2) + "MODEL        3\n" + atom;
    assert!(matches!(
        opened("a.pdb", short.as_bytes(), false).1,
        Some(IoError::Truncated { .. })
    ));
}

#[test]
fn gro_with_missing_velocities_and_a_box_without_blanks() {
    let text = samples::GRO.replacen("  0.8085  0.3191 -0.7791", "", 1);
    let structure = GroReader::new(text.as_bytes(), "x")
        .next_structure()
        .unwrap()
        .unwrap();
    assert_eq!(structure.frame.velocities.unwrap()[1], [0.0; 3]);
    assert!(structure.warnings[0].contains("1 of 6 atoms have no velocity"));
    let text = samples::GRO.replace(
        "   1.82060   1.82060   1.82060",
        "40000.0000040000.0000040000.00000",
    );
    let frame = GroReader::new(text.as_bytes(), "x")
        .next_frame()
        .unwrap()
        .unwrap();
    assert_eq!(frame.cell.unwrap()[2], [0.0, 0.0, 40000.0]);
}

#[test]
fn coefficients_of_lammps_data_are_kept() {
    let extra =
        "PairIJ Coeffs # lj/cut\n\n1 2 0.1 3.0\n2 2 0.2 2.0 # x\n\nAtom Type Labels\n\n1 O\n\nAtoms # full";
    let text = samples::LAMMPS.replace("Atoms # full", extra);
    let structure = read_lammps_data(text.as_bytes(), "x.data", None).unwrap();
    let [bonds, pairs] = &structure.coefficients[..] else {
        panic!("{:?}", structure.coefficients)
    };
    assert_eq!(
        (&*bonds.section, bonds.style.as_deref()),
        ("Bond Coeffs", Some("harmonic"))
    );
    assert_eq!(
        (&bonds.rows[0].types[..], &bonds.rows[0].words[..]),
        (
            &["1".to_owned()][..],
            &["450".to_owned(), "0.9572".to_owned()][..]
        )
    );
    assert_eq!(pairs.rows[1].types, ["2", "2"]);
    assert_eq!(pairs.rows[1].words, ["0.2", "2.0"]);
    assert!(structure.warnings.is_empty(), "{:?}", structure.warnings);
    let called = |number: &str| {
        let mut atoms = structure.atoms.iter();
        let atom = atoms.find(|a| a.type_name.as_deref() == Some(number));
        atom.unwrap().name.clone()
    };
    assert_eq!(
        (called("1"), called("2")),
        ("O".into(), "2".into()),
        "labels are names"
    );
    // A comment that is no style; a style that is not known.
    let text = samples::LAMMPS.replace("Atoms # full", "Atoms # of mine");
    assert!(read_lammps_data(text.as_bytes(), "x", None).is_ok());
    let text = samples::LAMMPS.replace("Atoms # full", "Atoms # dipole");
    assert!(read_lammps_data(text.as_bytes(), "x", None).is_err());
}

#[test]
fn readers_without_warnings_have_none() {
    let (atoms, frame) = system(3, LengthUnit::Angstrom);
    let xyz = written("xyz", &atoms, &[frame]).unwrap();
    let mut reader = XyzReader::new(&xyz[..], "x");
    assert!(reader.next_frame().unwrap().is_some() && reader.warnings().is_empty());
    assert!(XtcReader::new(&b""[..], "x").warnings().is_empty());
}
