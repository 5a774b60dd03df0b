//! The columns of `ITEM: ATOMS`.

use std::io::BufRead;

use crate::error::IoError;
use crate::lines::Lines;

/// What three columns of a position are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Lengths (`x`, or unwrapped `xu`).
    Absolute,
    /// Fractions of the box (`xs`, or unwrapped `xsu`).
    Scaled,
}

/// Where the columns are, from 0.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub(super) count: usize,
    pub(super) id: Option<usize>,
    pub(super) kind: Option<usize>,
    pub(super) molecule: Option<usize>,
    pub(super) element: Option<usize>,
    pub(super) mass: Option<usize>,
    pub(super) charge: Option<usize>,
    pub(super) radius: Option<usize>,
    pub(super) diameter: Option<usize>,
    pub(super) position: (Place, [usize; 3]),
    pub(super) velocity: Option<[usize; 3]>,
    pub(super) force: Option<[usize; 3]>,
    pub(super) image: Option<[usize; 3]>,
}

impl Columns {
    /// The columns of these names. Of several positions the wrapped, unscaled one is taken.
    pub(super) fn of<R: BufRead>(lines: &Lines<R>, names: &[String]) -> Result<Columns, IoError> {
        let at = |name: &str| names.iter().position(|known| known == name);
        let three = |names: [&str; 3]| {
            let [x, y, z] = names.map(at);
            Some([x?, y?, z?])
        };
        let places = [
            (Place::Absolute, ["x", "y", "z"]),
            (Place::Scaled, ["xs", "ys", "zs"]),
            (Place::Absolute, ["xu", "yu", "zu"]),
            (Place::Scaled, ["xsu", "ysu", "zsu"]),
        ];
        let position = places
            .into_iter()
            .find_map(|(place, names)| Some((place, three(names)?)));
        let position = position.ok_or_else(|| {
            let expected = "columns x y z, xs ys zs, xu yu zu or xsu ysu zsu";
            lines.unexpected(lines.text(), expected)
        })?;
        Ok(Columns {
            count: names.len(),
            id: at("id"),
            kind: at("type"),
            molecule: at("mol"),
            element: at("element"),
            mass: at("mass"),
            charge: at("q"),
            radius: at("radius"),
            diameter: at("diameter"),
            position,
            velocity: three(["vx", "vy", "vz"]),
            force: three(["fx", "fy", "fz"]),
            image: three(["ix", "iy", "iz"]),
        })
    }
}
