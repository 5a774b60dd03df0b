//! Converts any readable file to any writable format, by their extensions:
//!
//! `convert INPUT OUTPUT [STRUCTURE]`
//!
//! Bonds are left behind. A trajectory without atom names (DCD, XTC) takes them from STRUCTURE, or calls its atoms X.

use std::error::Error;

use debye_io::{Atom, Format, Frame, LengthUnit, ReadFrames, Trajectory, create_writer, read_structure};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (input, output, names) = match &arguments[..] {
        [input, output] => (input, output, input),
        [input, output, names] => (input, output, names),
        _ => return Err("usage: convert INPUT OUTPUT [STRUCTURE]".into()),
    };
    let to = Format::from_path(output)?;
    let structure = if Format::from_path(names)?.has_atoms() {
        Some(read_structure(names)?)
    } else {
        None
    };
    let atoms: Option<Vec<Atom>> = structure.map(|structure| structure.atoms);
    let mut frames = Trajectory::open(input)?;
    let mut writer = create_writer(output, to)?;
    while let Some(mut frame) = frames.next_frame()? {
        convert_lengths(&mut frame, to.length_unit());
        let nameless = || {
            vec![
                Atom {
                    name: "X".to_owned(),
                    ..Atom::default()
                };
                frame.positions.len()
            ]
        };
        let atoms = atoms.clone().unwrap_or_else(nameless);
        writer.write_frame(&atoms, &frame)?;
    }
    writer.finish()?;
    println!(
        "{output}: {} frames, {} bytes",
        writer.frames_written(),
        writer.bytes_written()
    );
    Ok(())
}

/// The formats themselves convert nothing. A file without a unit is taken to be in the other's.
fn convert_lengths(frame: &mut Frame, unit: LengthUnit) {
    let factor = match (frame.length_unit, unit) {
        (LengthUnit::Nanometer, LengthUnit::Angstrom) => 10.0,
        (LengthUnit::Angstrom, LengthUnit::Nanometer) => 0.1,
        _ => 1.0,
    };
    let rows = [Some(&mut frame.positions), frame.velocities.as_mut()];
    let vectors = rows
        .into_iter()
        .flatten()
        .flatten()
        .chain(frame.cell.iter_mut().flatten());
    vectors.flatten().for_each(|value| *value *= factor);
    frame.length_unit = unit;
}
