//! Periodic dihedral.

use super::{BondedSample, DihedralPotential, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// One term of a Fourier series in the dihedral angle.
    pub struct PeriodicDihedral { k, n, phase }
}

impl DihedralPotential for PeriodicDihedral {
    const NAME: &'static str = "periodic-dihedral";
    const DOC: Doc = Doc {
        title: "Periodic dihedral",
        formula: "u(φ) = k [1 + cos(nφ − φ₀)]",
        remarks: &[
            "φ = 0 in cis, π in trans; positive where l is turned clockwise from i, seen along j → k \
             (IUPAC).",
            "Valid for every φ. No factor ½: the barrier is 2k. k may be negative; n = 0 is a constant. A \
             Fourier series is several terms on one kind.",
        ],
        conventions: Conventions {
            gromacs: [
                "dihedrals of type 1 and 9, impropers of type 4: k_φ [1 + cos(nφ − φ_s)], φ_s in degrees",
                "k = k_φ, phase = φ_s with \"deg\"",
            ],
            lammps: [
                "dihedral_style charmm: K [1 + cos(nφ − d)], d in degrees; harmonic: K [1 + d cos(nφ)], d \
                 = ±1",
                "k = K; phase = d with \"deg\"; phase = 0 for d = +1, \"180 deg\" for d = −1",
            ],
            openmm: [
                "PeriodicTorsionForce: k [1 + cos(nφ − φ₀)], in radians",
                "k, n, phase as they are",
            ],
            amber_charmm: [
                "(V_n/2) [1 + cos(nφ − γ)]; AMBER's files list V_n/2 (PK) and a divisor (IDIVF), CHARMM's \
                 K_χ",
                "k = V_n/2 = PK/IDIVF = K_χ; phase = γ = δ",
            ],
        },
        references: &[
            "Cornell et al., J. Am. Chem. Soc. 117, 5179 (1995), Eq. 1",
            "the sign of φ: IUPAC-IUB, Biochemistry 9, 3471 (1970)",
        ],
        examples: &[Example {
            values: &[5.9, 3.0, 0.5],
            cutoff: 0.0,
            at: 1.0,
            energy: 1.173252668,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", "half of the barrier", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity(
            "n",
            "multiplicity, a whole number",
            Dimension::NONE,
            Mixing::Explicit,
        ),
        Parameter::angle("phase", "φ₀, phase"),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, n, phase] = p.numbers();
        ParameterError::unless(k.is_finite(), "k", k, "an energy")?;
        // A dihedral angle is known up to whole turns only, so n must be whole.
        ParameterError::unless(
            (0.0..=64.0).contains(&n) && n.fract() == 0.0,
            "n",
            n,
            "a whole number from 0 to 64",
        )?;
        ParameterError::unless(phase.is_finite(), "phase", phase, "an angle")
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, n, phase] = p.numbers();
        [k, n, phase, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(phi: R, c: &[R; MAX_BONDED]) -> R {
        c[0] * (R::lit(1.0) + (c[1] * phi - c[2]).cos())
    }

    fn samples() -> Vec<BondedSample> {
        let pi = std::f64::consts::PI;
        vec![
            BondedSample::numbers([5.9, 3.0, 0.0], -pi, pi),
            BondedSample::numbers([-12.0, 2.0, pi], -pi, pi),
        ]
    }
}
