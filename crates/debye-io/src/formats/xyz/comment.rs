//! The comment line of an XYZ frame.

use crate::cell::{self, Cell};

/// The `key=value` pairs of a comment. Values may be quoted by `"`, `'`, `{}` or `[]`; words
/// without a value are left out.
pub(super) fn pairs(comment: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let mut rest = comment.trim_start();
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| c == '=' || c.is_whitespace())
            .unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(value) = after.strip_prefix('=') else {
            rest = after.trim_start();
            continue;
        };
        let (value, after) = take_value(value);
        if !key.is_empty() {
            pairs.push((key, value));
        }
        rest = after.trim_start();
    }
    pairs
}

/// Splits the value off the start of `text`.
fn take_value(text: &str) -> (&str, &str) {
    let closing = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => Some(quote),
        Some('{') => Some('}'),
        Some('[') => Some(']'),
        _ => None,
    };
    match closing {
        Some(closing) => {
            let inner = &text[1..];
            inner.split_once(closing).unwrap_or((inner, ""))
        }
        None => text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())),
    }
}

/// The box a plain comment holds, if it is one of the three forms.
pub(super) fn plain_cell(comment: &str) -> Option<Cell> {
    let (named, numbers) = match comment.trim().strip_prefix("cell:") {
        Some(rest) => (true, rest),
        None => (false, comment),
    };
    let values = numbers
        .split_whitespace()
        .take(8)
        .map(|word| word.parse().ok().filter(|v: &f64| v.is_finite()));
    let values = values.collect::<Option<Vec<f64>>>()?;
    let positive = |lengths: [f64; 3]| lengths.iter().all(|length| *length > 0.0);
    match values[..] {
        [x, y, z] if positive([x, y, z]) => Some(cell::from_lengths([x, y, z])),
        [flag, x, y, z, xy, xz, yz] if !named && flag == 1.0 && positive([x, y, z]) => {
            Some([[x, 0.0, 0.0], [xy, y, 0.0], [xz, yz, z]])
        }
        _ => None,
    }
}

/// Three flags of periodicity; `None` if they are not.
pub(super) fn flags(value: &str) -> Option<[bool; 3]> {
    let words = value
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|w| !w.is_empty());
    let flags = words.map(|word| match word {
        "T" | "True" | "true" | "1" => Some(true),
        "F" | "False" | "false" | "0" => Some(false),
        _ => None,
    });
    flags.collect::<Option<Vec<bool>>>()?.try_into().ok()
}

/// What a column of an extended file means to this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Species,
    AtomicNumber,
    Name,
    Type,
    Position,
    Velocity,
    Force,
    Orientation,
    Dipole,
    Charge,
    Mass,
    Radius,
    Molecule,
    Residue,
    ResidueNumber,
}

/// A meaning and the column it starts at.
pub(super) type Column = (Meaning, usize);

/// The columns of a plain file.
pub(super) const PLAIN: [Column; 2] = [(Meaning::Species, 0), (Meaning::Position, 1)];

/// The columns `Properties` describes, as `name:type:count` one after the other; `None` if it is
/// malformed or has no positions. Names that mean nothing here are skipped.
pub(super) fn columns(properties: &str) -> Option<Vec<Column>> {
    /// No line of an XYZ file has more columns than bytes.
    const MOST: usize = crate::lines::LINE_LIMIT;
    let words: Vec<&str> = properties.split(':').collect();
    if !words.len().is_multiple_of(3) {
        return None;
    }
    let mut columns: Vec<Column> = Vec::new();
    let mut at: usize = 0;
    for triple in words.chunks_exact(3) {
        let count: usize = triple[2]
            .parse()
            .ok()
            .filter(|count| (1..=MOST).contains(count))?;
        if let Some((meaning, width)) = meaning(triple[0]) {
            let known = columns.iter().any(|(other, _)| *other == meaning);
            if width == count && !known {
                columns.push((meaning, at));
            }
        }
        at = at.checked_add(count).filter(|at| *at <= MOST)?;
    }
    columns
        .iter()
        .any(|(meaning, _)| *meaning == Meaning::Position)
        .then_some(columns)
}

fn meaning(name: &str) -> Option<(Meaning, usize)> {
    Some(match name.to_ascii_lowercase().as_str() {
        "species" | "element" | "symbol" => (Meaning::Species, 1),
        "z" | "numbers" | "atomic_number" => (Meaning::AtomicNumber, 1),
        "name" | "atom_name" => (Meaning::Name, 1),
        "type" | "atom_type" | "atom_types" => (Meaning::Type, 1),
        "pos" | "positions" | "position" => (Meaning::Position, 3),
        "vel" | "velo" | "velocity" | "velocities" => (Meaning::Velocity, 3),
        "force" | "forces" => (Meaning::Force, 3),
        "orientation" | "orientations" | "quat" => (Meaning::Orientation, 4),
        "dipole" | "dipoles" | "mu" => (Meaning::Dipole, 3),
        "charge" | "charges" | "q" | "initial_charges" => (Meaning::Charge, 1),
        "mass" | "masses" => (Meaning::Mass, 1),
        "radius" | "radii" => (Meaning::Radius, 1),
        "molecule" | "mol" | "molid" => (Meaning::Molecule, 1),
        "resname" | "residue" | "residuenames" => (Meaning::Residue, 1),
        "resid" | "resnum" | "residue_number" | "residuenumbers" => (Meaning::ResidueNumber, 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_values() {
        let line = r#"Lattice="1 0 0 0 2 0 0 0 3" Properties=species:S:1:pos:R:3 flag Time=1.5 pbc=[T, T, F] open="x"#;
        let expected = [
            ("Lattice", "1 0 0 0 2 0 0 0 3"),
            ("Properties", "species:S:1:pos:R:3"),
            ("Time", "1.5"),
            ("pbc", "T, T, F"),
            ("open", "x"),
        ];
        assert_eq!(pairs(line), expected);
        assert_eq!(pairs("= a=é b='"), [("a", "é"), ("b", "")]);
    }

    #[test]
    fn plain_boxes() {
        assert_eq!(
            plain_cell("    cell: 8.0  8.0  8.0"),
            Some(cell::from_lengths([8.0; 3]))
        );
        assert_eq!(
            plain_cell("1 3 4 5 0.1 0.2 0.3"),
            Some([[3.0, 0.0, 0.0], [0.1, 4.0, 0.0], [0.2, 0.3, 5.0]])
        );
        for comment in [
            "",
            "water",
            "1 2",
            "frame 1 2 3",
            "0 0 0",
            "-1 2 3",
            "1 2 3 4",
            "nan 1 1",
        ] {
            assert_eq!(plain_cell(comment), None, "{comment}");
        }
    }

    #[test]
    fn properties() {
        let found = columns("id:I:1:species:S:1:pos:R:3:magmom:R:3:forces:R:3").unwrap();
        assert_eq!(
            found,
            [(Meaning::Species, 1), (Meaning::Position, 2), (Meaning::Force, 8)]
        );
        for bad in [
            "",
            "pos:R",
            "species:S:1",
            "pos:R:99999999999",
            "pos:R:3:x:R:0",
            "pos:R:2",
        ] {
            assert_eq!(columns(bad), None, "{bad}");
        }
    }
}
