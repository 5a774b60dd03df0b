//! Rock salt, ready to use.

use super::lattice::{Lattice, LatticeBuilder, lattice};
use crate::system::{Species, Units};

/// Lattice constant of sodium chloride at room temperature, in nm.
pub const NACL_SPACING: f64 = 0.564;

/// Sodium chloride: Na of charge +1 and Cl of charge −1, `cells` conventional cells of eight ions along x, y and z.
///
/// ```
/// let crystal = debye::system::builders::nacl([9, 9, 9]).build()?;
/// assert_eq!(crystal.particles.len(), 5832);
/// # Ok::<(), debye::system::builders::BuildError>(())
/// ```
pub fn nacl(cells: [usize; 3]) -> LatticeBuilder {
    salt(
        cells,
        [
            Species::point("Na", 22.990, 1.0),
            Species::point("Cl", 35.45, -1.0),
        ],
        NACL_SPACING,
    )
}

/// A salt with the structure of sodium chloride, of these two ions, with lattice constant `spacing` in nm.
pub fn salt(cells: [usize; 3], ions: [Species; 2], spacing: f64) -> LatticeBuilder {
    let start = lattice(Lattice::RockSalt, cells)
        .units(Units::Md)
        .spacing(spacing);
    ions.iter()
        .fold(start, |builder, s| builder.species(&s.name, s.mass, s.charge))
}
