//! Damaged files: an error that names the place, and the frames before it.

use debye_io::{
    DcdReader, Format, GroReader, IoError, PdbReader, Place, XtcReader, XyzReader, read_lammps_data,
    read_pdb, read_pqr,
};

use crate::samples::{self, later, read_all, system, written};

/// Reads frames of a format from bytes.
fn read(format: &str, bytes: &[u8]) -> (usize, Option<IoError>) {
    let (frames, error) = match format {
        "gro" => read_all(GroReader::new(bytes, "cut")),
        "pdb" => read_all(PdbReader::new(bytes, "cut")),
        "xyz" => read_all(XyzReader::new(bytes, "cut")),
        "xtc" => read_all(XtcReader::new(bytes, "cut")),
        _ => match DcdReader::new(bytes, "cut") {
            Ok(reader) => read_all(reader),
            Err(error) => (Vec::new(), Some(error)),
        },
    };
    (frames.len(), error)
}

#[test]
fn a_cut_last_frame_leaves_the_others() {
    for format in ["gro", "pdb", "xyz", "xtc", "dcd"] {
        let unit = format.parse::<Format>().unwrap().length_unit();
        let (atoms, frame) = system(30, unit);
        let frames = [frame.clone(), later(&frame, 1), later(&frame, 2)];
        let two = written(format, &atoms, &frames[..2]).unwrap().len();
        let bytes = written(format, &atoms, &frames).unwrap();
        // Well inside the third frame (PDB closes a file by END, which is not part of a frame, and
        // opens a frame with the box).
        let opening = if format == "pdb" { 100 } else { 8 };
        for length in (two + opening..bytes.len() - 80).step_by(29) {
            let (frames, error) = read(format, &bytes[..length]);
            assert_eq!(frames, 2, "{format} cut at {length}: {error:?}");
            let error = error.unwrap_or_else(|| panic!("{format} cut at {length} is taken for whole"));
            // Text may also be cut inside a number or name.
            let text = matches!(format, "gro" | "pdb" | "xyz");
            match &error {
                IoError::Truncated { frame, .. } => assert_eq!(*frame, 3, "{format}: {error}"),
                IoError::Parse { .. } => assert!(text, "{format}: {error}"),
                _ => panic!("{format} cut at {length}: {error}"),
            }
            assert!(error.to_string().contains("cut"), "{error}");
        }
        // A file cut before its first frame is whole in none.
        for length in (1..two / 2 - 80).step_by(37) {
            let (frames, error) = read(format, &bytes[..length]);
            assert_eq!(frames, 0, "{format} cut at {length}");
            let lost_in_records = format == "pdb" && error.is_none();
            assert!(error.is_some() || lost_in_records, "{format} cut at {length}");
        }
    }
}

#[test]
fn a_dcd_file_cut_between_frames_misses_what_its_header_promises() {
    let (_, frame) = system(30, Format::DCD.length_unit());
    let bytes = written("dcd", &[], &[frame.clone(), frame.clone()]).unwrap();
    let one = written("dcd", &[], &[frame]).unwrap().len();
    let (frames, error) = read("dcd", &bytes[..one]);
    assert!(
        frames == 1 && matches!(error, Some(IoError::Truncated { frame: 2, .. })),
        "{error:?}"
    );
    // A program killed before it updated the header leaves more frames than the header says.
    let mut killed = bytes;
    killed[8..12].copy_from_slice(&0_i32.to_le_bytes());
    let (frames, error) = read("dcd", &killed);
    assert!(frames == 2 && error.is_none(), "{error:?}");
}

#[test]
fn numbers_that_are_none() {
    for word in ["  nan", "  inf", " -inf", "1e999"] {
        for (format, text, line) in [
            ("gro", samples::GRO.replace("1.661", word), 4),
            ("pdb", samples::PDB.replace("12.784", &format!(" {word}")), 5),
            ("xyz", samples::EXTENDED_XYZ.replace("2.1", word), 4),
        ] {
            let (_, error) = read(format, text.as_bytes());
            let error = error.unwrap_or_else(|| panic!("{format} accepts {word}"));
            let IoError::NotFinite { place, value, .. } = &error else {
                panic!("{format}: {error}")
            };
            assert_eq!(
                (*place, value.as_str()),
                (Place::Line(line), word.trim()),
                "{format}"
            );
        }
        let pqr = samples::PQR.replace("-0.3000", word);
        assert!(matches!(
            read_pqr(pqr.as_bytes(), "x"),
            Err(IoError::NotFinite {
                place: Place::Line(2),
                ..
            })
        ));
        let lammps = samples::LAMMPS.replace("0.9572 0.0 0.0", &format!("{word} 0.0 0.0"));
        let error = read_lammps_data(lammps.as_bytes(), "x", None).unwrap_err();
        assert!(
            matches!(
                &error,
                IoError::NotFinite {
                    place: Place::Line(29),
                    ..
                }
            ),
            "{error}"
        );
    }
    let (_, frame) = system(4, Format::XTC.length_unit());
    let mut xtc = written("xtc", &[], &[frame]).unwrap();
    xtc[60..64].copy_from_slice(&f32::NAN.to_be_bytes());
    assert!(matches!(read("xtc", &xtc), (0, Some(IoError::NotFinite { .. }))));
    let (_, frame) = system(4, Format::DCD.length_unit());
    let mut dcd = written("dcd", &[], &[frame]).unwrap();
    let end = dcd.len();
    dcd[end - 8..end - 4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let (_, error) = read("dcd", &dcd);
    let expected = Place::Byte(end as u64 - 8);
    assert!(
        matches!(&error, Some(IoError::NotFinite { place, .. }) if *place == expected),
        "{error:?}"
    );
}

#[test]
fn messages_name_line_value_and_expectation() {
    let text = samples::GRO.replace("1.661", "x.661");
    let (_, error) = read("gro", text.as_bytes());
    let message = error.unwrap().to_string();
    assert_eq!(
        message,
        "cut, line 4: found `x.661`, expected a position in the columns of the first atom"
    );
    let error = read_pdb(&b"REMARK nothing here\n"[..], "empty.pdb").unwrap_err();
    assert!(
        matches!(&error, IoError::Empty { .. }) && error.to_string().contains("ATOM"),
        "{error}"
    );
}

#[test]
fn counts_beyond_the_file_allocate_nothing() {
    // Were the counts believed, each of these would ask for more than 10 GB.
    let huge = "4000000000";
    let (_, error) = read(
        "gro",
        samples::GRO
            .replace("\n    6\n", &format!("\n{huge}\n"))
            .as_bytes(),
    );
    assert!(error.is_some());
    let (_, error) = read("xyz", samples::EXTENDED_XYZ.replacen('2', huge, 1).as_bytes());
    assert!(
        matches!(error, Some(IoError::Truncated { frame: 1, .. })),
        "{error:?}"
    );
    for (from, to) in [
        ("4 atoms", "4000000000 atoms"),
        ("2 bonds", "4000000000 bonds"),
        ("1 angles", "9 angles"),
    ] {
        let text = samples::LAMMPS.replace(from, to);
        let error = read_lammps_data(text.as_bytes(), "x", None).unwrap_err();
        assert!(matches!(error, IoError::AtomCountMismatch { .. }), "{error}");
    }
    let (_, error) = read("gro", b"title\n99999999999999999999999\n");
    assert!(matches!(error, Some(IoError::Parse { .. })), "{error:?}");
    let (_, frame) = system(30, Format::XTC.length_unit());
    let good = written("xtc", &[], &[frame]).unwrap();
    let mut xtc = good.clone();
    for at in [4, 52] {
        xtc[at..at + 4].copy_from_slice(&i32::MAX.to_be_bytes());
    }
    assert!(matches!(read("xtc", &xtc), (0, Some(IoError::Parse { .. }))));
    // The length of the bit stream, with the count of atoms that would need it.
    xtc[88..92].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(matches!(read("xtc", &xtc), (0, Some(IoError::Truncated { .. }))));
    let (_, frame) = system(30, Format::DCD.length_unit());
    let mut dcd = written("dcd", &[], &[frame]).unwrap();
    let count_at = 92 + 92 + 4;
    dcd[count_at..count_at + 4].copy_from_slice(&i32::MAX.to_le_bytes());
    assert!(matches!(read("dcd", &dcd), (0, Some(IoError::Parse { .. }))));
}

#[test]
fn fewer_atoms_than_rows() {
    let text = samples::GRO.replace("\n    6\n", "\n    5\n");
    let (_, error) = read("gro", text.as_bytes());
    assert!(
        matches!(
            error,
            Some(IoError::Parse {
                place: Place::Line(8),
                ..
            })
        ),
        "{error:?}"
    );
    let text = samples::EXTENDED_XYZ.replacen('2', "1", 1);
    let (frames, error) = read("xyz", text.as_bytes());
    assert!(frames == 1 && error.is_some());
}

#[test]
fn lammps_references_to_nothing() {
    for (from, to, line) in [("2 1 1 3\n", "2 1 1 4\n", 41), ("20 1.0 1.1", "21 1.0 1.1", 45)] {
        let error = read_lammps_data(samples::LAMMPS.replace(from, to).as_bytes(), "x", None).unwrap_err();
        assert!(
            matches!(&error, IoError::Parse { place: Place::Line(at), .. } if *at == line),
            "{error}"
        );
    }
    for (from, to) in [
        ("20 2 1 -0.834", "2 2 1 -0.834"),
        ("9.0 xlo", "-9.0 xlo"),
        ("1 1 1 2\n", "1 1 1\n"),
    ] {
        let error = read_lammps_data(samples::LAMMPS.replace(from, to).as_bytes(), "x", None).unwrap_err();
        assert!(matches!(&error, IoError::Parse { .. }), "{error}");
    }
}

#[test]
fn other_files_under_the_wrong_name() {
    for bytes in [
        &b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"[..],
        b"PK\x03\x04",
        &[0xff; 4096],
        &[0; 4096],
    ] {
        for format in ["gro", "xyz", "xtc", "dcd"] {
            let (frames, error) = read(format, bytes);
            assert!(frames == 0 && error.is_some(), "{format}");
        }
        assert!(read_pqr(bytes, "x").is_err() && read_pdb(bytes, "x").is_err());
        assert!(read_lammps_data(bytes, "x", None).is_err());
    }
}
