//! Harmonic bond: u(r) = ½ k (r − r₀)².

use super::{BondPotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::system::Dimension;

/// A harmonic spring between two particles.
#[derive(Debug)]
pub struct HarmonicBond;

impl BondPotential for HarmonicBond {
    const NAME: &'static str = "harmonic-bond";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", Dimension::ENERGY_PER_AREA, Mixing::Explicit),
        Parameter::quantity("r0", Dimension::LENGTH, Mixing::Explicit),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, r0] = p.numbers();
        ParameterError::unless(k >= 0.0, "k", k, "a number ≥ 0")?;
        ParameterError::unless(r0 >= 0.0, "r0", r0, "a length ≥ 0")
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, r0] = p.numbers();
        [0.5 * k, r0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    fn energy<R: Real>(r: R, c: &[R; MAX_BONDED]) -> R {
        c[0] * (r - c[1]).squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![BondedSample::numbers([1000.0, 0.15], 0.1, 0.2)]
    }
}
