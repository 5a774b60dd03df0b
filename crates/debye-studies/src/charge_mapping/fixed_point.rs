//! [`FixedPoint`]: what the sums of the brick kernels cost, and whether they are right.
//!
//! The kernels round what a charge gives to a point to a whole number of 2^−places, and add these with 32 bits.
//! [`Fixed::choose`] leaves room for twice the mean charge near a point, [`Design::overlap`] times over where blocks share
//! points; where more lies there, [`Fixed::after`] gives up places until the kernels' own bound fits. Every rounding is
//! off by up to 2^−places/2. So a point that n charges touch is off by n/2 units at the most, and by √(n/12) if roundings
//! are independent.
//!
//! n/2 is too much to allow: with 30,000 charges near a point it is 15,000 units, where one charge may be 200. Nor are
//! roundings independent where charges of one sign have parts below half a unit. But places are known, so the host
//! rounds in the same way, in double precision. The difference of its mesh from the exact one is what rounding costs
//! ([`FixedPoint::cost`]). A kernel differs from the host's mesh only as far as its weights do, and by whole units where
//! these decide a rounding ([`FixedPoint::check`]). One charge that is lost is many times as much.
//!
//! [`Design::overlap`]: crate::Design::overlap

use debye::engines::cuda::mesh::Fixed;

use super::input::{Sites, farthest};
use crate::study::StudyError;

/// What weights and one conversion in single precision may cost, by the largest point of the mesh of charges without
/// signs: 40 roundings of 2^−23.
pub(super) const SINGLE: f64 = 5e-6;
/// Roundings at one point that weights in single precision may decide otherwise, beyond [`SINGLE`]. A weight is off by
/// some 2^−23, so this happens to one in thousands.
const UNITS: f64 = 4.0;

/// A mesh of fixed-point sums, rounded on the host.
pub struct FixedPoint<'i> {
    sites: &'i Sites,
    fixed: Fixed,
    mesh: Vec<f64>,
}

impl<'i> FixedPoint<'i> {
    /// Of these whole numbers.
    pub fn new(sites: &'i Sites, fixed: Fixed) -> Self {
        let mesh = sites.rounded(fixed.bits);
        Self { sites, fixed, mesh }
    }

    /// What rounding costs: the largest difference from the exact mesh, as [`Input::error`] has it.
    ///
    /// [`Input::error`]: crate::study::Input::error
    pub fn cost(&self) -> f64 {
        self.sites.off(self.mesh.iter().copied()) / self.sites.largest()
    }

    /// Whether a kernel found these sums.
    ///
    /// # Errors
    /// [`StudyError::Inexact`] where it did not; a mesh of another size is wrong too.
    pub fn check(&self, mesh: &[f32]) -> Result<(), StudyError> {
        let unit = 2_f64.powi(-self.fixed.bits) / self.sites.largest();
        let error = if mesh.len() == self.mesh.len() {
            farthest(mesh.iter().copied().map(f64::from), &self.mesh) / self.sites.largest()
        } else {
            f64::NAN
        };
        let allowed = SINGLE + UNITS * unit;
        if error <= allowed {
            return Ok(());
        }
        let what = format!("sums of whole numbers of 2^{}", -self.fixed.bits);
        Err(StudyError::Inexact { what, error, allowed })
    }
}
