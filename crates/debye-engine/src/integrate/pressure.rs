//! Factors by which a barostat changes the cell.

use super::{Barostat, BarostatKind, Coupling};
use crate::expr::{Real, Vec3};
use crate::random::{Philox, stream};
use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::{Cell, Dimension};

/// Compressibility unless said: that of water, 1/bar.
pub const COMPRESSIBILITY: f64 = 4.5e-5;
/// Steps between two actions unless said.
pub const EVERY: u64 = 10;

impl Barostat {
    /// The factors for x, y and z after `dt`, from the pressure along them.
    pub fn factors(
        &self,
        pressure: [f64; 3],
        cell: &Cell,
        kb: f64,
        dt: f64,
        step: u64,
        philox: Philox,
    ) -> Vec3<f64> {
        let wanted = self.kind.factors(
            self.coupling,
            &Compression {
                target: self.pressure,
                tension: self.coupling.tension(),
                height: cell.to_arrays()[2][2],
                pressure,
                compressibility: self.compressibility,
                noise: philox.normals(step, 0, stream::BAROSTAT),
                volume: cell.volume(),
                boltzmann: kb,
                temperature: self.temperature,
                time: self.time,
                dt,
            },
        );
        let factors = wanted.map(limited);
        if factors != wanted {
            self.limited.increase();
        }
        factors.into()
    }
}

/// What the formula of a barostat reads; along x, y and z where there are three. `dt` is the time between two actions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compression<R> {
    pub(crate) target: [R; 3],
    /// Of the layer, and the length of the cell along z.
    pub(crate) tension: R,
    pub(crate) height: R,
    pub(crate) pressure: [R; 3],
    pub(crate) compressibility: [R; 3],
    /// Standard normals.
    pub(crate) noise: [R; 3],
    pub(crate) volume: R,
    pub(crate) boltzmann: R,
    pub(crate) temperature: R,
    pub(crate) time: R,
    pub(crate) dt: R,
}

impl BarostatKind {
    /// The factors for x, y and z, not [`limited`] yet. Printed for CUDA.
    ///
    /// The formulas are those of `BERENDSEN` and `CELL_RESCALE` below: for n = 3 lengths that move together Eq. 7 of
    /// Bernetti & Bussi (2020) for ln V, for n = 2 and 1 their Eqs. 9 for the area and the height,
    /// with their surface tension where one is kept.
    pub(crate) fn factors<R: Real>(self, coupling: Coupling, c: &Compression<R>) -> [R; 3] {
        let groups: &[&[usize]] = match coupling {
            Coupling::Isotropic => &[&[0, 1, 2]],
            Coupling::SemiIsotropic | Coupling::SurfaceTension { .. } => &[&[0, 1], &[2]],
            Coupling::Anisotropic => &[&[0], &[1], &[2]],
        };
        let target = match coupling {
            Coupling::SurfaceTension { .. } => {
                let [_, _, normal] = c.target;
                let lateral = normal - c.tension / c.height;
                [lateral, lateral, normal]
            }
            _ => c.target,
        };
        let mut factors = [R::lit(1.0); 3];
        for (number, axes) in groups.iter().enumerate() {
            let count = axes.len() as f64;
            let n = R::lit(count);
            let mean = |values: &[R; 3]| axes.iter().fold(R::lit(0.0), |sum, &k| sum + values[k]) / n;
            let excess = mean(&target) - mean(&c.pressure);
            let rate = mean(&c.compressibility) * c.dt / (R::lit(3.0) * c.time);
            let factor = match self {
                Self::Berendsen => R::lit(1.0) - rate * excess,
                Self::CellRescale => {
                    let spread = R::lit(2.0 * count) * c.boltzmann * c.temperature * rate / c.volume;
                    ((R::lit(-count) * rate * excess + spread.sqrt() * c.noise[number]) / n).exp()
                }
            };
            axes.iter().for_each(|&k| factors[k] = factor);
        }
        factors
    }

    /// What velocities are multiplied by along an axis whose length is multiplied by `factor`.
    pub(crate) fn velocity_factor<R: Real>(self, factor: R) -> R {
        match self {
            Self::Berendsen => R::lit(1.0),
            Self::CellRescale => factor.recip(),
        }
    }
}

/// No step may change a length by more than a tenth: the pressure of a bad start is absurd. NaN stays NaN.
pub(crate) fn limited<R: Real>(factor: R) -> R {
    let (least, most) = (R::lit(0.9), R::lit(1.1));
    R::select_lt(factor, least, least, R::select_lt(most, factor, most, factor))
}

/// A component of the pressure tensor, from those of Σ m v⊗v and Σ r⊗F and the tail's pressure × volume².
pub(crate) fn pressure<R: Real>(kinetic: R, virial: R, volume: R, tail: R) -> R {
    (kinetic + virial) / volume + tail / (volume * volume)
}

// Keys that several of these have.
const KEY_PRESSURE: Key = Key::new(
    "pressure",
    "P₀; one, `[xy, z]` or `[x, y, z]` as `coupling` says",
    Dimension::PRESSURE,
    Absent::Required,
);
const KEY_TIME: Key = Key::new("time", "τ, relaxation time", Dimension::TIME, Absent::Required);
const KEY_COMPRESSIBILITY: Key = Key::new(
    "compressibility",
    "β, isothermal compressibility, as `pressure`",
    Dimension::PER_PRESSURE,
    Absent::Md(COMPRESSIBILITY, "1/bar"),
);
const KEY_EVERY: Key = Key::new(
    "every",
    "steps between two actions",
    Dimension::NONE,
    Absent::Value(EVERY as f64),
);
const KEY_COUPLING: Key = Key::name(
    "coupling",
    "which lengths of the cell change together",
    "isotropic, semi-isotropic, anisotropic, surface-tension",
    "isotropic",
);
const KEY_TENSION: Key = Key::new(
    "tension",
    "γ of the layer, with `coupling = \"surface-tension\"`",
    Dimension::ENERGY_PER_AREA,
    Absent::Otherwise("none; needed with that coupling"),
);
/// What every barostat says of it.
const SURFACE_TENSION: &str = "With `surface-tension`, x and y change together, and their target is P₀ − γ/L_z with \
     the current L_z. γ = L_z (P_zz − (P_xx + P_yy)/2) is that of the whole layer: twice that of an interface where a \
     slab has two, and the first number of ref-p of GROMACS (bar nm; 1 mN/m = 10 bar nm).";

/// `berendsen`.
pub(super) const BERENDSEN: Record = Record {
    name: "berendsen",
    also: &["weak-coupling"],
    keys: &[
        KEY_PRESSURE,
        KEY_TIME,
        KEY_COMPRESSIBILITY,
        KEY_EVERY,
        KEY_COUPLING,
        KEY_TENSION,
    ],
    doc: Doc {
        title: "Weak coupling (Berendsen)",
        formula: "r ← μr, L ← μL, μ = 1 − β Δt/(3τ) (P₀ − P)",
        remarks: &[
            "Δt is the time between two actions. P > P₀ makes the cell grow. Only β/τ matters, not each.",
            "Fluctuations of the volume are too small: for equilibration. Velocities are not scaled. μ is \
             kept within 0.9 … 1.1.",
            "Constrained groups move as a whole, and P is that of their centers.",
            SURFACE_TENSION,
        ],
        conventions: Conventions {
            gromacs: [
                "pcoupl = Berendsen: tau-p, compressibility; μ is the same",
                "time = tau-p",
            ],
            lammps: [
                "fix press/berendsen: Pdamp, modulus; volume times 1 − Δt/Pdamp (P₀ − P)/modulus",
                "time = Pdamp, compressibility = 1/modulus",
            ],
            openmm: ["Monte Carlo barostat only", "–"],
            amber_charmm: [
                "AMBER: barostat = 1, taup, comp in 1e-6/bar; CHARMM: PCONST, PCOUP, COMPRESS in 1/atm",
                "time = taup = PCOUP; compressibility = comp × 1e-6 1/bar, or COMPRESS 1/atm",
            ],
        },
        references: &["Berendsen, Postma, van Gunsteren, DiNola & Haak, J. Chem. Phys. 81, 3684 (1984)"],
        examples: &[],
    },
};

/// `cell-rescale`.
pub(super) const CELL_RESCALE: Record = Record {
    name: "cell-rescale",
    also: &["c-rescale"],
    keys: &[
        KEY_PRESSURE,
        KEY_TIME,
        KEY_COMPRESSIBILITY,
        KEY_EVERY,
        KEY_COUPLING,
        KEY_TENSION,
        Key::new(
            "temperature",
            "T of the noise",
            Dimension::TEMPERATURE,
            Absent::Otherwise("that of the first thermostat"),
        ),
    ],
    doc: Doc {
        title: "Stochastic cell rescaling (Bernetti & Bussi)",
        formula: "ln μ = −β Δt/(3τ) (P₀ − P) + √(2 k_B T β Δt/(3 n V τ)) ξ\n\
                  r ← μr, L ← μL, v ← v/μ; n = 3, 2 or 1 lengths change together, ξ standard normal",
        remarks: &[
            "Δt is the time between two actions. P > P₀ makes the cell grow. Only β/τ matters, not each. \
             μ is kept within 0.9 … 1.1.",
            "Isothermal–isobaric with a canonical thermostat beside it.",
            "Constrained groups move as a whole, and P is that of their centers.",
            SURFACE_TENSION,
        ],
        conventions: Conventions {
            gromacs: ["pcoupl = C-rescale: tau-p, compressibility", "time = tau-p"],
            lammps: [
                "not among its fixes; fix npt (Nosé–Hoover) samples the same ensemble",
                "–",
            ],
            openmm: [
                "MonteCarloBarostat samples the same ensemble, without a time of relaxation",
                "pressure as it is",
            ],
            amber_charmm: [
                "AMBER: barostat = 2 (Monte Carlo) and CHARMM's Langevin piston sample the same ensemble",
                "pressure as it is",
            ],
        },
        references: &["Bernetti & Bussi, J. Chem. Phys. 153, 114107 (2020), Eqs. 7 and 9"],
        examples: &[],
    },
};
