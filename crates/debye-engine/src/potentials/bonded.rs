//! Interactions along the chemical structure: bonds, angles, dihedrals.
//!
//! Each is an energy of one coordinate (distance, angle, dihedral angle); the geometry that turns
//! its derivative into forces is written once, in `forces::geometry`.

use std::marker::PhantomData;

use super::parameter::{Parameter, ParameterError, Parameters, Value};
use crate::expr::{Dual, Real, Tape};
use crate::record::Doc;

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

impl BondedSample {
    /// A sample for a potential whose parameters are all numbers.
    pub fn numbers<const N: usize>(values: [f64; N], from: f64, to: f64) -> Self {
        Self {
            values: values.map(Value::Number).to_vec(),
            from,
            to,
        }
    }
}

/// Names of the inputs of the bonded families' `tape`, in order.
pub const BONDED_INPUTS: [&str; 1 + MAX_BONDED] = ["x", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

macro_rules! bonded_sort {
    ($potential:ident, $family:ident, $adapter:ident, $visitor:ident, $what:literal) => {
        #[doc = concat!("An energy of ", $what, ".")]
        pub trait $potential: Send + Sync + 'static {
            /// The `kind` in input files.
            const NAME: &'static str;
            /// Its formula, its conventions beside those of other programs, its reference.
            const DOC: Doc;
            /// What an input file must give.
            const PARAMETERS: &'static [Parameter];

            /// Refuses parameters that make no sense.
            fn check(p: Parameters) -> Result<(), ParameterError>;

            /// Precomputes the numbers `energy` reads.
            fn coefficients(p: Parameters) -> [f64; MAX_BONDED];

            #[doc = concat!("The energy as a function of ", $what, ".")]
            fn energy<R: Real>(coordinate: R, c: &[R; MAX_BONDED]) -> R;

            #[doc = concat!("The energy and its derivative by ", $what, ".")]
            #[inline(always)]
            fn energy_and_derivative<R: Real>(coordinate: R, c: &[R; MAX_BONDED]) -> Dual<R> {
                Self::energy(Dual::variable(coordinate), &c.map(Dual::constant))
            }

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
            /// Its formula, conventions and reference.
            fn doc(&self) -> &'static Doc;
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
            /// The energy alone, as the formula is written.
            fn energy(&self, coordinate: f64, c: &[f64; MAX_BONDED]) -> f64;
            /// Energy and its derivative by the coordinate.
            fn energy_and_derivative(&self, coordinate: f64, c: &[f64; MAX_BONDED]) -> Dual<f64>;
            /// Energy and its derivative by the coordinate, in single precision.
            fn energy_and_derivative_f32(&self, coordinate: f32, c: &[f32; MAX_BONDED]) -> Dual<f32>;
            /// The energy and its derivative (`energy`, `derivative`) as a tape over [`BONDED_INPUTS`].
            fn tape(&self) -> Tape;
        }

        #[doc = concat!("Something to do with each registered [`", stringify!($potential), "`] as a type.")]
        pub trait $visitor {
            /// Called once per potential.
            fn visit<P: $potential>(&mut self);
        }

        #[doc = concat!("Makes a [`", stringify!($family), "`] of a [`", stringify!($potential), "`].")]
        pub(crate) struct $adapter<P>(pub(crate) PhantomData<P>);

        impl<P: $potential> $family for $adapter<P> {
            fn name(&self) -> &'static str {
                P::NAME
            }
            fn doc(&self) -> &'static Doc {
                &P::DOC
            }
            fn parameters(&self) -> &'static [Parameter] {
                P::PARAMETERS
            }
            fn check(&self, p: Parameters) -> Result<(), ParameterError> {
                p.check_finite(P::PARAMETERS)?;
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
            fn energy_and_derivative(&self, coordinate: f64, c: &[f64; MAX_BONDED]) -> Dual<f64> {
                P::energy_and_derivative(coordinate, c)
            }
            fn energy(&self, coordinate: f64, c: &[f64; MAX_BONDED]) -> f64 {
                P::energy(coordinate, c)
            }
            fn energy_and_derivative_f32(&self, coordinate: f32, c: &[f32; MAX_BONDED]) -> Dual<f32> {
                P::energy_and_derivative(coordinate, c)
            }
            fn tape(&self) -> Tape {
                let tape = Tape::record(BONDED_INPUTS.len(), |inputs| {
                    let energy = P::energy_and_derivative(inputs[0], &std::array::from_fn(|i| inputs[1 + i]));
                    vec![energy.value, energy.derivative]
                });
                tape.named(&BONDED_INPUTS, &["energy", "derivative"])
            }
        }
    };
}

bonded_sort!(
    BondPotential,
    BondFamily,
    BondAdapter,
    BondVisitor,
    "the distance of two particles"
);
bonded_sort!(
    AnglePotential,
    AngleFamily,
    AngleAdapter,
    AngleVisitor,
    "the angle i–j–k, in radians"
);
bonded_sort!(
    DihedralPotential,
    DihedralFamily,
    DihedralAdapter,
    DihedralVisitor,
    "the dihedral angle i–j–k–l, in radians (0 = cis)"
);
bonded_sort!(
    AxisPotential,
    AxisFamily,
    AxisAdapter,
    AxisVisitor,
    "the cosine between the axis z of a particle and the direction to another"
);
