//! What a fuzzer does with the bytes it made up, one function per parser.
//!
//! The fuzz targets and the ordinary tests of `debye-io` include this file, so that both run the
//! same code. A body panics if a reader does, if it delivers a number that is not finite, or if it
//! claims more atoms than the input can hold.

use debye_io::volumes::{Volume, read_dx, read_npy};
use debye_io::{
    AtomStyle, CifReader, DcdReader, DumpReader, Frame, GroReader, PdbReader, ReadFrames, Structure,
    TrrReader, XtcReader, XyzReader, read_lammps_data, read_pdb, read_pqr, unpack,
};

fn check_frame(frame: &Frame, bytes: usize) {
    let atoms = frame.positions.len();
    // The densest format, XTC, takes two bits per atom at least.
    assert!(atoms <= 4 * bytes + 9, "{atoms} atoms from {bytes} bytes");
    for rows in [
        Some(&frame.positions),
        frame.velocities.as_ref(),
        frame.forces.as_ref(),
    ]
    .into_iter()
    .flatten()
    {
        assert_eq!(rows.len(), atoms);
        assert!(rows.iter().flatten().all(|value| value.is_finite()));
    }
    assert!(
        frame
            .cell
            .iter()
            .flatten()
            .flatten()
            .all(|value| value.is_finite())
    );
    assert!(frame.time.is_none_or(f64::is_finite));
}

fn check_structure(structure: &Structure, bytes: usize) {
    check_frame(&structure.frame, bytes);
    let atoms = structure.atoms.len();
    assert_eq!(atoms, structure.frame.positions.len());
    assert!(
        structure
            .images
            .as_ref()
            .is_none_or(|images| images.len() == atoms)
    );
    let terms = structure.bonds.iter().flat_map(|term| &term.atoms[..]);
    let terms = terms.chain(structure.angles.iter().flat_map(|term| &term.atoms[..]));
    let terms = terms.chain(structure.dihedrals.iter().flat_map(|term| &term.atoms[..]));
    let mut terms = terms.chain(structure.impropers.iter().flat_map(|term| &term.atoms[..]));
    assert!(terms.all(|index| *index < atoms));
}

/// Reads to the end, or to the error, and checks that the reader stays there.
fn drain(mut reader: impl ReadFrames, bytes: usize) {
    let mut frames = 0;
    while let Ok(Some(frame)) = reader.next_frame() {
        check_frame(&frame, bytes);
        frames += 1;
        assert!(frames <= bytes, "more frames than bytes");
    }
    assert!(
        matches!(reader.next_frame(), Ok(None)),
        "a reader stays at its end"
    );
}

/// GRO.
pub(crate) fn gro(data: &[u8]) {
    drain(GroReader::new(data, "fuzz"), data.len());
    if let Ok(Some(structure)) = GroReader::new(data, "fuzz").next_structure() {
        check_structure(&structure, data.len());
    }
}

/// PDB.
pub(crate) fn pdb(data: &[u8]) {
    drain(PdbReader::new(data, "fuzz"), data.len());
    if let Ok(structure) = read_pdb(data, "fuzz") {
        check_structure(&structure, data.len());
    }
}

/// XYZ.
pub(crate) fn xyz(data: &[u8]) {
    drain(XyzReader::new(data, "fuzz"), data.len());
    if let Ok(Some(structure)) = XyzReader::new(data, "fuzz").next_structure() {
        check_structure(&structure, data.len());
    }
}

/// PQR.
pub(crate) fn pqr(data: &[u8]) {
    if let Ok(structure) = read_pqr(data, "fuzz") {
        check_structure(&structure, data.len());
    }
}

/// DCD.
pub(crate) fn dcd(data: &[u8]) {
    if let Ok(reader) = DcdReader::new(data, "fuzz") {
        drain(reader, data.len());
    }
}

/// XTC.
pub(crate) fn xtc(data: &[u8]) {
    drain(XtcReader::new(data, "fuzz"), data.len());
}

/// LAMMPS data, with every atom style.
pub(crate) fn lammps(data: &[u8]) {
    for style in AtomStyle::ALL.into_iter().map(Some).chain([None]) {
        if let Ok(structure) = read_lammps_data(data, "fuzz", style) {
            check_structure(&structure, data.len());
        }
    }
}

/// TRR.
pub(crate) fn trr(data: &[u8]) {
    drain(TrrReader::new(data, "fuzz"), data.len());
}

/// mmCIF.
pub(crate) fn mmcif(data: &[u8]) {
    drain(CifReader::new(data, "fuzz"), data.len());
    if let Ok(Some(structure)) = CifReader::new(data, "fuzz").next_structure() {
        check_structure(&structure, data.len());
    }
}

/// LAMMPS dumps.
pub(crate) fn lammpstrj(data: &[u8]) {
    drain(DumpReader::new(data, "fuzz"), data.len());
    if let Ok(Some(structure)) = DumpReader::new(data, "fuzz").next_structure() {
        check_structure(&structure, data.len());
    }
}

/// Compressed files, as XYZ: what comes out is counted, since it may be much more than what goes in.
pub(crate) fn compressed(data: &[u8]) {
    /// Enough for every decoder to fill its buffers.
    const MOST: u64 = 4 << 20;
    if let Ok(source) = unpack(data) {
        let source = std::io::BufReader::new(std::io::Read::take(source, MOST));
        drain(XyzReader::new(source, "fuzz"), MOST as usize);
    }
}

fn check_volume(volume: &Volume, bytes: usize) {
    let values = volume.values().len();
    // A value of text is a digit and a blank, but for the last.
    assert!(2 * values <= bytes + 1, "{values} values from {bytes} bytes");
    assert_eq!(values, volume.shape().iter().product::<usize>());
    assert!(volume.origin().iter().all(|value| value.is_finite()));
    assert!(volume.steps().iter().flatten().all(|value| value.is_finite()));
}

/// OpenDX.
pub(crate) fn dx(data: &[u8]) {
    if let Ok(volume) = read_dx(data, "fuzz") {
        check_volume(&volume, data.len());
    }
}

/// NumPy.
pub(crate) fn npy(data: &[u8]) {
    if let Ok(volume) = read_npy(data, "fuzz") {
        check_volume(&volume, data.len());
    }
}
