//! Ways to end a pair potential at its cut-off: adapters over any of them. The records at the end have the formulas.

use crate::expr::{Dual, Real};
use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::Dimension;

/// How a pair potential ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truncation {
    /// Plain cut.
    Cut,
    /// Potential shifted to zero at the cut-off.
    Shift,
    /// Potential and force shifted to zero at the cut-off.
    ForceShift,
    /// The same with a term in r²: no square root, and a force that is changed in proportion to the distance.
    QuadraticShift,
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
    /// [`QuadraticShifted`].
    QuadraticShifted,
    /// [`Switched`].
    Switched,
}

impl TruncationKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Shifted,
        Self::ForceShifted,
        Self::QuadraticShifted,
        Self::Switched,
    ];
}

/// How many numbers a truncation keeps per pair of species.
pub const TRUNCATION_COEFFICIENTS: usize = 4;

/// What a truncation precomputes, once per pair of species.
pub type TruncationCoefficients<R> = [R; TRUNCATION_COEFFICIENTS];

/// Coefficients that do not change with the distance. Written out, as this is part of every kernel.
#[inline(always)]
pub(crate) fn constant_truncation<R: Real>(t: &TruncationCoefficients<R>) -> TruncationCoefficients<Dual<R>> {
    [
        Dual::constant(t[0]),
        Dual::constant(t[1]),
        Dual::constant(t[2]),
        Dual::constant(t[3]),
    ]
}

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

/// Quadratic shift: t = (u(r_c) − r_c² du/d(r²)(r_c), du/d(r²)(r_c)).
#[derive(Debug)]
pub struct QuadraticShifted;

impl Adapter for QuadraticShifted {
    #[inline(always)]
    fn apply<R: Real>(bare: R, r2: R, t: &TruncationCoefficients<R>) -> R {
        bare - t[0] - r2 * t[1]
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
    /// All of them; where switching begins is yet to be said.
    pub const ALL: [Self; 5] = [
        Self::Cut,
        Self::Shift,
        Self::ForceShift,
        Self::QuadraticShift,
        Self::Switch { from: 0.0 },
    ];

    /// Its name in input files, its formula, its conventions.
    pub fn record(self) -> &'static Record {
        match self {
            Self::Cut => &CUT,
            Self::Shift => &SHIFT,
            Self::ForceShift => &FORCE_SHIFT,
            Self::QuadraticShift => &QUADRATIC_SHIFT,
            Self::Switch { .. } => &SWITCH,
        }
    }

    /// The code it needs.
    pub fn kind(self) -> TruncationKind {
        match self {
            Self::Cut | Self::Shift => TruncationKind::Shifted,
            Self::ForceShift => TruncationKind::ForceShifted,
            Self::QuadraticShift => TruncationKind::QuadraticShifted,
            Self::Switch { .. } => TruncationKind::Switched,
        }
    }

    /// Numbers for the adapter, from the bare potential at its cut-off and its derivative by r² there.
    pub fn coefficients(self, cutoff: f64, end: Dual<f64>) -> TruncationCoefficients<f64> {
        let derivative = 2.0 * cutoff * end.derivative;
        match self {
            Self::Cut => [0.0; 4],
            Self::Shift => [end.value, 0.0, 0.0, 0.0],
            Self::ForceShift => [end.value - cutoff * derivative, derivative, 0.0, 0.0],
            Self::QuadraticShift => {
                let derivative = end.derivative;
                [end.value - cutoff * cutoff * derivative, derivative, 0.0, 0.0]
            }
            Self::Switch { from } => {
                let (rc2, rs2) = (cutoff * cutoff, from * from);
                [rc2, rs2, 3.0 * rs2, (rc2 - rs2).powi(3).recip()]
            }
        }
    }

    /// The truncated energy and its derivative by r², in double precision.
    pub fn apply(self, bare: Dual<f64>, r2: f64, t: &TruncationCoefficients<f64>) -> Dual<f64> {
        let (r2, t) = (Dual::variable(r2), constant_truncation(t));
        match self.kind() {
            TruncationKind::Shifted => Shifted::apply(bare, r2, &t),
            TruncationKind::ForceShifted => ForceShifted::apply(bare, r2, &t),
            TruncationKind::QuadraticShifted => QuadraticShifted::apply(bare, r2, &t),
            TruncationKind::Switched => Switched::apply(bare, r2, &t),
        }
    }
}

/// `cut`.
pub const CUT: Record = Record {
    name: "cut",
    also: &[],
    keys: &[],
    doc: Doc {
        title: "Plain cut",
        formula: "u(r) for r < r_c, else 0",
        remarks: &[
            "The energy jumps at r_c, so it is conserved only as well as that jump is small.",
            "With `tail = true` what lies beyond is added for a uniform fluid: E = (2π/V) Σ_ab N_a N_b ∫ \
             r² u dr and P = −(2π/3V²) Σ_ab N_a N_b ∫ r³ u′ dr, from r_c to ∞, over all ordered pairs of \
             species a, b.",
        ],
        conventions: Conventions {
            gromacs: [
                "vdw-modifier = None; DispCorr = EnerPres adds the r⁻⁶ part of the tail, AllEnerPres both, with \
                 mean coefficients",
                "`tail = true` is nearest to AllEnerPres",
            ],
            lammps: [
                "its default; pair_modify tail yes adds the tail of the whole potential",
                "`tail = true` for pair_modify tail yes",
            ],
            openmm: [
                "its default; a dispersion correction of the whole Lennard-Jones potential is on unless \
                 switched off",
                "`tail = true` for its default",
            ],
            amber_charmm: [
                "AMBER's default, with a correction of the r⁻⁶ part (vdwmeth = 1); CHARMM: VTRUNC",
                "the same without vdwmeth",
            ],
        },
        references: &["Allen & Tildesley, Computer Simulation of Liquids, 2nd ed., Oxford (2017)"],
        examples: &[],
    },
};

/// `shift`.
pub const SHIFT: Record = Record {
    name: "shift",
    also: &[],
    keys: &[],
    doc: Doc {
        title: "Potential shifted to zero at the cut-off",
        formula: "u(r) − u(r_c) for r < r_c, else 0",
        remarks: &[
            "What is taken where a term says nothing about its truncation. The energy is continuous; the \
             forces are those of `cut` and jump at r_c.",
        ],
        conventions: Conventions {
            gromacs: ["vdw-modifier = Potential-shift, its default", "the same"],
            lammps: ["pair_modify shift yes", "the same"],
            openmm: ["not for NonbondedForce", "–"],
            amber_charmm: [
                "AMBER: no. CHARMM's VSHIFT and SHIFT are other functions, whose force is continuous too",
                "–",
            ],
        },
        references: &["Allen & Tildesley, Computer Simulation of Liquids, 2nd ed., Oxford (2017)"],
        examples: &[],
    },
};

/// `force-shift`.
pub const FORCE_SHIFT: Record = Record {
    name: "force-shift",
    also: &["shifted-force"],
    keys: &[],
    doc: Doc {
        title: "Potential and force shifted to zero at the cut-off",
        formula: "u(r) − u(r_c) − (r − r_c) u′(r_c) for r < r_c, else 0",
        remarks: &[
            "Energy and force are continuous; the force is −u′(r) + u′(r_c) everywhere within the \
             cut-off, so short distances feel it too.",
            "It is not a force switch: that one changes the force between an inner radius and r_c only.",
        ],
        conventions: Conventions {
            gromacs: [
                "Force-switch adds A (r − r₁)² + B (r − r₁)³ to the force from r₁ = rvdw-switch on: \
                 another function, also for r₁ = 0",
                "–",
            ],
            lammps: ["pair_style lj/smooth/linear; coul/dsf with alpha = 0", "the same"],
            openmm: ["not for NonbondedForce", "–"],
            amber_charmm: [
                "CHARMM's FSHIFT of charges, q₁q₂/r (1 − r/r_c)², is this for 1/r; VFSWITCH is a force \
                 switch",
                "the same for charges with FSHIFT",
            ],
        },
        references: &["Toxvaerd & Dyre, J. Chem. Phys. 134, 081102 (2011)"],
        examples: &[],
    },
};

/// `quadratic-shift`.
pub const QUADRATIC_SHIFT: Record = Record {
    name: "quadratic-shift",
    also: &[],
    keys: &[],
    doc: Doc {
        title: "Potential and force shifted to zero at the cut-off, by a term in r²",
        formula: "u(r) − u(r_c) − (r² − r_c²) u′(r_c)/(2r_c) for r < r_c, else 0",
        remarks: &[
            "Energy and force are continuous, as with `force-shift`; the force is changed in proportion to r, and so least at \
             short distances. The Lennard-Jones part of the ELBA force field ends this way.",
        ],
        conventions: Conventions {
            gromacs: ["no", "–"],
            lammps: [
                "the Lennard-Jones part of pair_style lj/sf/dipole/sf; its Coulomb part is `force-shift`",
                "the same",
            ],
            openmm: ["not for NonbondedForce", "–"],
            amber_charmm: [
                "CHARMM's VSHIFT is of this kind for r⁻⁶ and r⁻¹² apart: another function",
                "–",
            ],
        },
        references: &[
            "Stoddard & Ford, Phys. Rev. A 8, 1504 (1973)",
            "Orsi & Essex, PLoS ONE 6, e28637 (2011)",
        ],
        examples: &[],
    },
};

/// `switch`.
pub const SWITCH: Record = Record {
    name: "switch",
    also: &["xplor"],
    keys: &[Key::new(
        "switch_from",
        "r_s, where switching begins, below `cutoff`",
        Dimension::LENGTH,
        Absent::Required,
    )],
    doc: Doc {
        title: "Potential switched off smoothly",
        formula: "u(r) S(r) for r < r_c, else 0\n\
                  S = 1 for r < r_s, else (r_c² − r²)² (r_c² + 2r² − 3r_s²)/(r_c² − r_s²)³",
        remarks: &[
            "The energy is multiplied, and the force is its derivative: −u′S − uS′. S has a continuous \
             first derivative in r² (the XPLOR form); its second derivative jumps at r_s and r_c.",
        ],
        conventions: Conventions {
            gromacs: [
                "Potential-switch: S = 1 − 10x³ + 15x⁴ − 6x⁵ with x = (r − r_s)/(r_c − r_s): another \
                 function",
                "–",
            ],
            lammps: [
                "lj/charmm: this S; lj/mdf: (1−x)³(1+3x+6x²), the function of GROMACS and OpenMM",
                "the same as lj/charmm with inner = switch_from",
            ],
            openmm: [
                "setUseSwitchingFunction: S = 1 − 6x⁵ + 15x⁴ − 10x³: another function",
                "–",
            ],
            amber_charmm: [
                "CHARMM: VSWITCH, CTONNB and CTOFNB; AMBER: no, but fswitch, a force switch",
                "switch_from = CTONNB, cutoff = CTOFNB",
            ],
        },
        references: &["Brooks et al., J. Comput. Chem. 4, 187 (1983) (CHARMM)"],
        examples: &[],
    },
};
