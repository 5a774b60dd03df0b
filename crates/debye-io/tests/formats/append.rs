//! A trajectory cut back to a checkpoint and continued.

use debye_io::{
    DcdReader, FileFormat, Format, IoError, ReadFrames, Trajectory, XyzWriter, create_writer, open_append,
};

use crate::samples::{later, read_all, system};

/// The formats that say how a file is continued.
fn appendable() -> impl Iterator<Item = Format> {
    Format::all().filter(|format| format.description().resume.is_some())
}

#[test]
fn a_continued_run_leaves_the_file_of_an_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    for format in appendable() {
        let (atoms, mut frame) = system(25, format.length_unit());
        frame.step = Some(0);
        frame.time = Some(0.0);
        let frames: Vec<_> = (0..6).map(|index| later(&frame, 50 * index)).collect();
        let whole = folder.path().join(format!("whole.{format}"));
        let mut writer = create_writer(&whole, format).unwrap();
        let mut marks = vec![(0, 0)];
        for frame in &frames {
            writer.write_frame(&atoms, frame).unwrap();
            writer.flush().unwrap();
            marks.push((writer.bytes_written(), writer.frames_written()));
            assert_eq!(
                std::fs::metadata(&whole).unwrap().len(),
                writer.bytes_written(),
                "{format}"
            );
        }
        writer.finish().unwrap();
        let expected = std::fs::read(&whole).unwrap();
        for &(bytes, count) in &marks[..6] {
            // The run was killed in the middle of a later frame.
            let path = folder.path().join(format!("cut.{format}"));
            std::fs::write(&path, &expected[..expected.len() - 7]).unwrap();
            let mut writer = open_append(&path, format, bytes, count).unwrap();
            assert_eq!((writer.bytes_written(), writer.frames_written()), (bytes, count));
            for frame in &frames[count as usize..] {
                writer.write_frame(&atoms, frame).unwrap();
            }
            writer.finish().unwrap();
            assert_eq!(writer.frames_written(), 6);
            assert!(
                std::fs::read(&path).unwrap() == expected,
                "{format} continued after frame {count}"
            );
        }
        let (read, error) = read_all(Trajectory::open(&whole).unwrap());
        assert!(read.len() == 6 && error.is_none(), "{format}: {error:?}");
    }
}

#[test]
fn dcd_is_readable_after_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.dcd");
    let (_, frame) = system(10, Format::DCD.length_unit());
    let mut writer = create_writer(&path, Format::DCD).unwrap();
    for count in 1..4 {
        writer.write_frame(&[], &later(&frame, count)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let reader = DcdReader::new(&bytes[..], "x").unwrap();
        assert_eq!(u64::from(reader.header().frames), count);
        assert_eq!(read_all(reader).0.len() as u64, count);
    }
    // Cut back to two frames, the header says two at once.
    let two = writer.bytes_written() / 3 * 2;
    let two = {
        let bytes = std::fs::read(&path).unwrap();
        let header = 92 + 92 + 12;
        let frame = (bytes.len() as u64 - header) / 3;
        assert!(two < header + 2 * frame);
        header + 2 * frame
    };
    drop(open_append(&path, Format::DCD, two, 2).unwrap());
    let (read, error) = read_all(Trajectory::open(&path).unwrap());
    assert!(read.len() == 2 && error.is_none(), "{error:?}");
    for (bytes, frames) in [(two - 1, 2), (two, 1), (100, 0), (two, u64::MAX)] {
        assert!(matches!(
            open_append(&path, Format::DCD, bytes, frames),
            Err(IoError::Parse { .. })
        ));
    }
    // Another number of atoms is refused.
    let mut writer = open_append(&path, Format::DCD, two, 2).unwrap();
    let (_, other) = system(11, Format::DCD.length_unit());
    assert!(matches!(
        writer.write_frame(&[], &other),
        Err(IoError::AtomCountMismatch { .. })
    ));
}

#[test]
fn refusals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short.xtc");
    std::fs::write(&path, b"1234").unwrap();
    for format in appendable() {
        assert!(matches!(
            open_append(&path, format, 5, 1),
            Err(IoError::Truncated { .. })
        ));
    }
    assert!(matches!(
        open_append(&path, Format::DCD, 4, 1),
        Err(IoError::Parse { .. })
    ));
    assert_eq!(
        std::fs::read(&path).unwrap(),
        b"1234",
        "nothing is cut off a file that is refused"
    );
    assert!(matches!(
        open_append(&path, Format::PQR, 4, 1),
        Err(IoError::NotSupported { .. })
    ));
    assert!(matches!(
        open_append(folder.path().join("none.xtc"), Format::XTC, 0, 0),
        Err(IoError::Io { .. })
    ));
    assert!(matches!(
        create_writer(&path, Format::LAMMPS),
        Err(IoError::NotSupported { .. })
    ));
    let error = Trajectory::open(folder.path().join("none.xtc")).err().unwrap();
    assert!(error.to_string().contains("none.xtc"), "{error}");
    std::fs::write(&path, b"").unwrap();
    assert!(Trajectory::open(&path).unwrap().next_frame().unwrap().is_none());
}

#[test]
fn a_format_of_another_crate_is_written_and_never_as_another() {
    const OWN: Format = Format::new(&FileFormat {
        name: "own",
        write_frames: Some(|file, label| Box::new(XyzWriter::new(file, label))),
        ..FileFormat::NONE
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.own");
    let (atoms, frame) = system(4, Format::XYZ.length_unit());
    let mut writer = create_writer(&path, OWN).unwrap();
    writer.write_frame(&atoms, &frame).unwrap();
    let (bytes, frames) = (writer.bytes_written(), writer.frames_written());
    assert!(matches!(
        open_append(&path, OWN, bytes, frames),
        Err(IoError::NotSupported { format: "own", .. })
    ));
}
