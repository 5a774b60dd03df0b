//! The Gaussian core model: soft particles that can sit on one another.

use debye::expr::Real;
use debye::potentials::{
    Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters, Preparation,
};
use debye::record::Doc;
use debye::system::Dimension;

debye::parameters! {
    /// u(r) = ε exp(−r²/σ²).
    pub struct GaussianCore { epsilon, sigma }
}

impl PairPotential for GaussianCore {
    const NAME: &'static str = "gaussian-core";
    const DOC: Doc = Doc {
        title: "Gaussian core",
        formula: "u(r) = ε exp(−r²/σ²)",
        references: &["Stillinger, J. Chem. Phys. 65, 3968 (1976)"],
        ..Doc::NONE
    };
    const EXPONENTIAL: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("epsilon", "ε, energy at r = 0", Dimension::ENERGY, Mixing::Energy),
        Parameter::quantity("sigma", "σ, width", Dimension::LENGTH, Mixing::Length),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [epsilon, sigma] = p.numbers();
        ParameterError::unless(epsilon.is_finite(), "epsilon", epsilon, "a number")?;
        ParameterError::unless(sigma > 0.0, "sigma", sigma, "a length > 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [epsilon, sigma] = p.numbers();
        [epsilon, -sigma.powi(-2), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    // The force follows from the energy, on the CPU and in the CUDA kernel that is printed for it.
    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        c[0] * (c[1] * pair.r2).exp()
    }

    fn samples() -> Vec<PairSample> {
        vec![PairSample::numbers([1.0, 1.0], 0.1, 3.0)]
    }
}
