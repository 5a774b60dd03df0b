//! Orientations beside trajectories.

use debye_io::{Format, Frame, OrientationWriter, ReadFrames, Trajectory, create_writer, orientations_path};

fn frame(step: u64) -> Frame {
    let turn = 0.1 * step as f64;
    let (s, c) = turn.sin_cos();
    Frame {
        step: Some(step),
        time: Some(0.5 * step as f64),
        length_unit: Format::XTC.length_unit(),
        cell: Some([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]]),
        positions: vec![[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]],
        orientations: Some(vec![[0.0, s, 0.0, c], [9.0; 4], [s, 0.0, 0.0, c]]),
        ..Frame::default()
    }
}

#[test]
fn are_written_continued_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.xtc");
    let beside = orientations_path(&path);
    assert!(beside.ends_with("run.xtc.orientations"));
    let mut frames = create_writer(&path, Format::XTC).unwrap();
    let mut turns = OrientationWriter::create(&beside, 3, vec![0, 2]).unwrap();
    for step in 0..4 {
        frames.write_frame(&[], &frame(step)).unwrap();
        turns.write_frame(&frame(step)).unwrap();
    }
    let whole = std::fs::read(&beside).unwrap();
    assert_eq!(turns.bytes_written(), whole.len() as u64);
    assert_eq!(OrientationWriter::length(2, 4), whole.len() as u64);
    let read: Vec<Frame> = Trajectory::open(&path).unwrap().map(Result::unwrap).collect();
    for (step, found) in read.iter().enumerate() {
        let (found, exact) = (
            found.orientations.as_ref().unwrap(),
            frame(step as u64).orientations.unwrap(),
        );
        for atom in [0, 2] {
            assert!((0..4).all(|k| (found[atom][k] - exact[atom][k]).abs() < 1e-7));
        }
        // It does not turn.
        assert_eq!(found[1], [0.0; 4]);
    }
    // Cut back to two frames, and written again.
    let mut turns = OrientationWriter::resume(&beside, 3, vec![0, 2], 2).unwrap();
    (2..4).for_each(|step| turns.write_frame(&frame(step)).unwrap());
    assert!(std::fs::read(&beside).unwrap() == whole);
    assert!(OrientationWriter::resume(&beside, 3, vec![0, 2], 5).is_err());
    assert!(OrientationWriter::resume(&beside, 3, vec![0, 1], 2).is_err());
    assert!(turns.write_frame(&Frame::default()).is_err());
    // What is damaged or does not fit costs orientations and a warning, not the frames. The header has 44 bytes, a record
    // 52.
    let flipped = |at: usize| [&whole[..at], &[whole[at] ^ 1], &whole[at + 1..]].concat();
    for (bytes, oriented, words) in [
        (
            whole[..whole.len() - 1].to_vec(),
            [true, true, true, false],
            "record 4 (from byte 200) is cut short: 51 of 52 bytes; no orientations from frame 4 on",
        ),
        (
            whole[..148].to_vec(),
            [true, true, false, false],
            "it ends after record 2 (byte 148); no orientations from frame 3 on",
        ),
        (
            flipped(100),
            [true, false, true, true],
            "record 2 (bytes 96 to 147): its checksum is ",
        ),
        (
            flipped(44),
            [false, true, true, true],
            "frame 1 has no orientations",
        ),
        (
            flipped(251),
            [true, true, true, false],
            "frame 4 has no orientations",
        ),
        (
            whole[..20].to_vec(),
            [false; 4],
            "it ends at byte 20 of the 32 of its header; frames have no orientations",
        ),
        (
            whole[..40].to_vec(),
            [false; 4],
            "it ends at byte 40 of the 44 of its header",
        ),
        (flipped(33), [false; 4], "its header: its checksum is "),
        (flipped(0), [false; 4], "found `other bytes`"),
        (Vec::new(), [false; 4], "it ends at byte 0"),
        (
            [&whole[..44], &whole[96..]].concat(),
            [false; 4],
            "record 1 (from byte 44) is of step 1, the frame of step 0; no orientations from frame 1 on",
        ),
    ] {
        std::fs::write(&beside, bytes).unwrap();
        let mut trajectory = Trajectory::open(&path).unwrap();
        for (step, oriented) in oriented.into_iter().enumerate() {
            let found = trajectory.next_frame().unwrap().unwrap().orientations;
            assert_eq!(found.is_some(), oriented, "{words}: {step}");
            // Those of the frame, not of one before or after it.
            let exact = frame(step as u64).orientations.unwrap();
            if let Some(found) = found {
                assert!((0..4).all(|k| (found[0][k] - exact[0][k]).abs() < 1e-7));
            }
        }
        let warnings = trajectory.warnings();
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains(words), "{warnings:?}");
    }
    // Any byte may be another one.
    for (at, change) in (0..whole.len()).flat_map(|at| [1, 0x80, 0xff].map(|change| (at, change))) {
        let mut bytes = whole.clone();
        bytes[at] ^= change;
        std::fs::write(&beside, bytes).unwrap();
        let mut trajectory = Trajectory::open(&path).unwrap();
        assert_eq!(trajectory.by_ref().filter_map(Result::ok).count(), 4);
        assert_eq!(trajectory.warnings().len(), 1, "byte {at}");
    }
}

/// Not a line for each of very many.
#[test]
fn damage_is_told_in_few_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.xtc");
    let mut frames = create_writer(&path, Format::XTC).unwrap();
    let mut turns = OrientationWriter::create(orientations_path(&path), 3, vec![0, 2]).unwrap();
    for step in 0..40 {
        frames.write_frame(&[], &frame(step)).unwrap();
        turns.write_frame(&frame(step)).unwrap();
    }
    let mut bytes = std::fs::read(orientations_path(&path)).unwrap();
    (0..30).for_each(|record| bytes[44 + 52 * record] ^= 1);
    std::fs::write(orientations_path(&path), bytes).unwrap();
    let mut trajectory = Trajectory::open(&path).unwrap();
    for step in 0..40 {
        let found = trajectory.next_frame().unwrap().unwrap();
        assert_eq!(found.orientations.is_some(), step >= 30);
        assert_eq!(trajectory.orientations_missing(), step < 30);
    }
    let warnings = trajectory.warnings();
    assert_eq!(warnings.len(), 10);
    assert!(
        warnings[9].ends_with("further damage is not told"),
        "{warnings:?}"
    );
}
