//! Ways to end a pair potential at its cut-off: adapters over any of them.
//!
//! * cut: u(r) for r < r_c, nothing beyond. The energy jumps at r_c.
//! * shift: u(r) − u(r_c). The energy is continuous, the forces are those of the cut.
//! * force-shift: u(r) − u(r_c) − (r − r_c) u′(r_c). Energy and force are continuous.
//! * switch: u(r) S(r), S falling from 1 at r_s to 0 at r_c as
//!   (r_c² − r²)² (r_c² + 2r² − 3r_s²) / (r_c² − r_s²)³ (the XPLOR form, a function of r²).

use crate::expr::{Dual, Real};
use crate::potentials::{Coefficients, Pair, PairFamily};

/// How a pair potential ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truncation {
    /// Plain cut.
    Cut,
    /// Potential shifted to zero at the cut-off.
    Shift,
    /// Potential and force shifted to zero at the cut-off.
    ForceShift,
    /// Switched off smoothly from this distance on.
    Switch {
        /// Where switching begins.
        from: f64,
    },
}

/// The code a truncation needs; cut and shift differ in one number only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TruncationKind {
    /// [`Shifted`]: cut and shift.
    Shifted,
    /// [`ForceShifted`].
    ForceShifted,
    /// [`Switched`].
    Switched,
}

impl TruncationKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Shifted, Self::ForceShifted, Self::Switched];
}

/// How many numbers a truncation keeps per pair of species.
pub const TRUNCATION_COEFFICIENTS: usize = 4;

/// What a truncation precomputes, once per pair of species.
pub type TruncationCoefficients<R> = [R; TRUNCATION_COEFFICIENTS];

/// A truncation as a type, so that each kernel holds the code of just one.
pub trait Adapter: Send + Sync + 'static {
    /// The truncated energy from the bare one.
    fn apply<R: Real>(bare: R, r2: R, t: &TruncationCoefficients<R>) -> R;
}

/// Cut and shift: t = (u(r_c) or 0).
#[derive(Debug)]
pub struct Shifted;

impl Adapter for Shifted {
    #[inline(always)]
    fn apply<R: Real>(bare: R, _r2: R, t: &TruncationCoefficients<R>) -> R {
        bare - t[0]
    }
}

/// Force-shift: t = (u(r_c) − r_c u′(r_c), u′(r_c)).
#[derive(Debug)]
pub struct ForceShifted;

impl Adapter for ForceShifted {
    #[inline(always)]
    fn apply<R: Real>(bare: R, r2: R, t: &TruncationCoefficients<R>) -> R {
        bare - t[0] - r2.sqrt() * t[1]
    }
}

/// Switch: t = (r_c², r_s², 3r_s², 1/(r_c² − r_s²)³).
#[derive(Debug)]
pub struct Switched;

impl Adapter for Switched {
    #[inline(always)]
    fn apply<R: Real>(bare: R, r2: R, t: &TruncationCoefficients<R>) -> R {
        let left = t[0] - r2;
        let fall = left * left * (t[0] + r2 + r2 - t[2]) * t[3];
        bare * R::select_lt(r2, t[1], R::lit(1.0), fall)
    }
}

impl Truncation {
    /// The code it needs.
    pub fn kind(self) -> TruncationKind {
        match self {
            Self::Cut | Self::Shift => TruncationKind::Shifted,
            Self::ForceShift => TruncationKind::ForceShifted,
            Self::Switch { .. } => TruncationKind::Switched,
        }
    }

    /// Numbers for the adapter, from the bare potential at its cut-off.
    pub fn coefficients(
        self,
        family: &dyn PairFamily,
        pair_at_cutoff: Pair<f64>,
        c: &Coefficients<f64>,
    ) -> TruncationCoefficients<f64> {
        let rc = pair_at_cutoff.r2.sqrt();
        let end = family.energy_and_slope(pair_at_cutoff, c);
        let slope = 2.0 * rc * end.derivative;
        match self {
            Self::Cut => [0.0; 4],
            Self::Shift => [end.value, 0.0, 0.0, 0.0],
            Self::ForceShift => [end.value - rc * slope, slope, 0.0, 0.0],
            Self::Switch { from } => {
                let (rc2, rs2) = (rc * rc, from * from);
                [rc2, rs2, 3.0 * rs2, (rc2 - rs2).powi(3).recip()]
            }
        }
    }

    /// The truncated energy and its derivative by r², in double precision.
    pub fn apply(self, bare: Dual<f64>, r2: f64, t: &TruncationCoefficients<f64>) -> Dual<f64> {
        let (r2, t) = (Dual::variable(r2), t.map(Dual::constant));
        match self.kind() {
            TruncationKind::Shifted => Shifted::apply(bare, r2, &t),
            TruncationKind::ForceShifted => ForceShifted::apply(bare, r2, &t),
            TruncationKind::Switched => Switched::apply(bare, r2, &t),
        }
    }
}
