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
    // What is damaged or does not fit costs the orientations and a warning, not the frames.
    for (bytes, oriented) in [
        (whole[..whole.len() - 1].to_vec(), 3),
        (whole[..20].to_vec(), 0),
        ([&whole[..100], &[whole[100] ^ 1], &whole[101..]].concat(), 1),
        ([b"X", &whole[1..]].concat(), 0),
        (Vec::new(), 0),
    ] {
        std::fs::write(&beside, bytes).unwrap();
        let mut trajectory = Trajectory::open(&path).unwrap();
        let mut found = 0;
        for _ in 0..4 {
            let frame = trajectory.next_frame().unwrap().unwrap();
            found += usize::from(frame.orientations.is_some());
        }
        assert_eq!(found, oriented);
        assert_eq!(trajectory.warnings().len(), 1);
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
