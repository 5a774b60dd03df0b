//! The header of a LAMMPS data file.

use std::io::BufRead;

use crate::cell::Cell;
use crate::error::IoError;
use crate::lines::Lines;

/// Counts and box.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) title: String,
    pub(super) atoms: Option<usize>,
    pub(super) bonds: usize,
    pub(super) angles: usize,
    pub(super) dihedrals: usize,
    pub(super) impropers: usize,
    bounds: [Option<[f64; 2]>; 3],
    tilt: [f64; 3],
}

impl Header {
    /// Takes a header line; `false` if it is none.
    pub(super) fn take<R: BufRead>(&mut self, lines: &Lines<R>) -> Result<bool, IoError> {
        let words: Vec<&str> = without_comment(lines.text()).split_whitespace().take(8).collect();
        let count = || lines.count(words[0], "a count");
        match words[..] {
            [_, "atoms"] => self.atoms = Some(count()?),
            [_, "bonds"] => self.bonds = count()?,
            [_, "angles"] => self.angles = count()?,
            [_, "dihedrals"] => self.dihedrals = count()?,
            [_, "impropers"] => self.impropers = count()?,
            [low, high, "xlo", "xhi"] => self.bounds[0] = Some(bounds(lines, low, high)?),
            [low, high, "ylo", "yhi"] => self.bounds[1] = Some(bounds(lines, low, high)?),
            [low, high, "zlo", "zhi"] => self.bounds[2] = Some(bounds(lines, low, high)?),
            [_, _, _, "xy", "xz", "yz"] => self.tilt = lines.vector(&words, 0, "the tilt xy xz yz")?,
            [_, _, _, "avec" | "bvec" | "cvec"] | [_, _, _, "abc", "origin"] => {
                return Err(lines.unexpected(lines.text(), "box bounds xlo xhi … with a tilt xy xz yz"));
            }
            // Numbers of types, of extra bonds per atom, of ellipsoids …
            [first, ..] if first.parse::<f64>().is_ok() => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Box vectors and corner; `None` if the header has no bounds.
    pub(super) fn cell(&self) -> Option<(Cell, [f64; 3])> {
        let [Some([xlo, xhi]), Some([ylo, yhi]), Some([zlo, zhi])] = self.bounds else {
            return None;
        };
        let [xy, xz, yz] = self.tilt;
        Some((
            [[xhi - xlo, 0.0, 0.0], [xy, yhi - ylo, 0.0], [xz, yz, zhi - zlo]],
            [xlo, ylo, zlo],
        ))
    }
}

fn bounds<R: BufRead>(lines: &Lines<R>, low: &str, high: &str) -> Result<[f64; 2], IoError> {
    let expected = "two box bounds, the lower first";
    let bounds = [lines.float(low, expected)?, lines.float(high, expected)?];
    let good = bounds[0] < bounds[1] && (bounds[1] - bounds[0]).is_finite();
    good.then_some(bounds)
        .ok_or_else(|| lines.unexpected(lines.text(), expected))
}

/// The part of a line before `#`.
pub(super) fn without_comment(text: &str) -> &str {
    text.split_once('#').map_or(text, |(before, _)| before).trim()
}
