//! Interactions along the chemical structure: bonds, angles, dihedrals.
//!
//! Each is an energy of one coordinate (distance, angle, dihedral angle); the geometry that turns
//! its derivative into forces is written once, in `forces::bonded`.

use std::marker::PhantomData;

use super::parameter::{Parameter, ParameterError, Parameters, Value};
use crate::expr::{Dual, Real};

/// How many numbers a bonded potential may keep per kind of bond.
pub const MAX_BONDED: usize = 8;

/// Parameters for which the tests of every bonded potential are run.
#[derive(Clone, Debug)]
pub struct BondedSample {
    /// In the order of `PARAMETERS`.
    pub values: Vec<Value>,
    /// From which coordinate (length or radians).
    pub from: f64,
    /// To which coordinate.
    pub to: f64,
}

macro_rules! bonded_sort {
    ($potential:ident, $family:ident, $adapter:ident, $what:literal) => {
        #[doc = concat!("An energy of ", $what, ".")]
        pub trait $potential: Send + Sync + 'static {
            /// The `kind` in input files.
            const NAME: &'static str;
            /// What an input file must give.
            const PARAMETERS: &'static [Parameter];

            /// Refuses parameters that make no sense.
            fn check(p: Parameters) -> Result<(), ParameterError>;

            /// Precomputes the numbers `energy` reads.
            fn coefficients(p: Parameters) -> [f64; MAX_BONDED];

            #[doc = concat!("The energy as a function of ", $what, ".")]
            fn energy<R: Real>(coordinate: R, c: &[R; MAX_BONDED]) -> R;

            /// The largest coordinate the potential allows (FENE), where it has one.
            fn limit(_p: Parameters) -> Option<f64> {
                None
            }

            /// Parameters for the tests; at least one.
            fn samples() -> Vec<BondedSample>;
        }

        #[doc = concat!("A [`", stringify!($potential), "`] behind a pointer: what the register holds.")]
        pub trait $family: Send + Sync {
            /// The `kind` in input files.
            fn name(&self) -> &'static str;
            /// What an input file must give.
            fn parameters(&self) -> &'static [Parameter];
            /// Refuses parameters that make no sense.
            fn check(&self, p: Parameters) -> Result<(), ParameterError>;
            /// Precomputes coefficients.
            fn coefficients(&self, p: Parameters) -> [f64; MAX_BONDED];
            /// The largest coordinate allowed.
            fn limit(&self, p: Parameters) -> Option<f64>;
            /// Parameters for the tests.
            fn samples(&self) -> Vec<BondedSample>;
            /// Energy and its derivative by the coordinate.
            fn energy_and_slope(&self, coordinate: f64, c: &[f64; MAX_BONDED]) -> Dual<f64>;
        }

        #[doc = concat!("Makes a [`", stringify!($family), "`] of a [`", stringify!($potential), "`].")]
        pub(crate) struct $adapter<P>(pub(crate) PhantomData<P>);

        impl<P: $potential> $family for $adapter<P> {
            fn name(&self) -> &'static str {
                P::NAME
            }
            fn parameters(&self) -> &'static [Parameter] {
                P::PARAMETERS
            }
            fn check(&self, p: Parameters) -> Result<(), ParameterError> {
                P::check(p)
            }
            fn coefficients(&self, p: Parameters) -> [f64; MAX_BONDED] {
                P::coefficients(p)
            }
            fn limit(&self, p: Parameters) -> Option<f64> {
                P::limit(p)
            }
            fn samples(&self) -> Vec<BondedSample> {
                P::samples()
            }
            fn energy_and_slope(&self, coordinate: f64, c: &[f64; MAX_BONDED]) -> Dual<f64> {
                P::energy(Dual::variable(coordinate), &c.map(Dual::constant))
            }
        }
    };
}

bonded_sort!(
    BondPotential,
    BondFamily,
    BondAdapter,
    "the distance of two particles"
);
bonded_sort!(
    AnglePotential,
    AngleFamily,
    AngleAdapter,
    "the angle i–j–k, in radians"
);
bonded_sort!(
    DihedralPotential,
    DihedralFamily,
    DihedralAdapter,
    "the dihedral angle i–j–k–l, in radians (0 = cis)"
);
