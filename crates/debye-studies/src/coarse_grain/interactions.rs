//! [`Interaction`]: what Algorithms 4 and 5 of the paper distinguish, and the forces of each, written once for the
//! processor and for CUDA.

use debye::expr::{CudaReal, Real, Sym, Table, Tape, Vec3};
use debye::forces::ForceField;
use debye::potentials::{
    Dipoles, LennardJones, MAX_ORIENTED, OrientedEnergy, OrientedForces, OrientedPair, OrientedPotential,
    Pair, Sticky, truncated,
};
use debye::system::Species;
use debye::truncation::{QuadraticShifted, Switched, Truncation};

use crate::study::StudyError;

/// Numbers of an ordered pair of species: Lennard-Jones with its truncation, dipoles with theirs, charges and dipole
/// moments of both, the sticky term, the squared cut-off.
pub(super) const ROW: usize = 27;
const LENNARD_JONES: usize = 0;
const ITS_END: usize = 4;
const DIPOLES: usize = 8;
const THEIR_END: usize = 10;
const CHARGES: usize = 14;
const STICKY: usize = 18;
pub(super) const CUTOFF2: usize = 26;
/// How many coefficients Lennard-Jones and the sticky term have.
const OF_LENNARD_JONES: usize = 4;
const OF_STICKY: usize = 8;

/// Types of interactions, as in the paper's matrix of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Interaction {
    /// Two molecules of water: Algorithm 4.
    Water,
    /// A charge feels a dipole.
    ChargeDipole,
    /// A dipole feels a charge.
    DipoleCharge,
    /// Two dipoles.
    Dipoles,
    /// Two charges.
    Charges,
    /// Lennard-Jones alone.
    Plain,
}

impl Interaction {
    /// All of them, by number.
    pub const ALL: [Self; 6] = [
        Self::Water,
        Self::ChargeDipole,
        Self::DipoleCharge,
        Self::Dipoles,
        Self::Charges,
        Self::Plain,
    ];

    /// As in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Water => "water–water",
            Self::ChargeDipole => "charge–dipole",
            Self::DipoleCharge => "dipole–charge",
            Self::Dipoles => "dipole–dipole",
            Self::Charges => "charge–charge",
            Self::Plain => "Lennard-Jones alone",
        }
    }

    /// Of two species.
    fn of(a: &Species, b: &Species) -> Self {
        if a.name == "W" && b.name == "W" {
            return Self::Water;
        }
        match [a, b].map(|s| (s.charge != 0.0, s.rotor.dipole != 0.0)) {
            [(true, _), (true, _)] => Self::Charges,
            [(true, _), (_, true)] => Self::ChargeDipole,
            [(_, true), (true, _)] => Self::DipoleCharge,
            [(_, true), (_, true)] => Self::Dipoles,
            _ => Self::Plain,
        }
    }

    /// Whether the first and the second are charges, and dipoles.
    fn moments(self) -> [[bool; 2]; 2] {
        match self {
            Self::Water | Self::Dipoles => [[false; 2], [true; 2]],
            Self::ChargeDipole => [[true, false], [false, true]],
            Self::DipoleCharge => [[false, true], [true, false]],
            Self::Charges => [[true; 2], [false; 2]],
            Self::Plain => [[false; 2]; 2],
        }
    }
}

/// How the terms of a force field end, and whether water is sticky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ends {
    lennard_jones: Truncation,
    dipoles: Truncation,
    /// The squared distance beyond which nothing sticks; zero where nothing does.
    pub(super) sticky2: f64,
}

/// Numbers of all ordered pairs of species.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) ends: Ends,
    pub(super) species: usize,
    pub(super) rows: Vec<[f64; ROW]>,
    pub(super) types: Vec<Interaction>,
    pub(super) cutoff: f64,
}

impl Numbers {
    /// Of a force field with Lennard-Jones, dipoles, and perhaps the sticky term.
    pub(super) fn new(field: &ForceField, species: &[Species]) -> Result<Self, StudyError> {
        let missing = |what: &str| StudyError::Other(format!("the force field has no term {what}"));
        let lj = field.pairs.first().ok_or_else(|| missing("lennard-jones"))?;
        let oriented = |name: &str| field.oriented.iter().find(|term| term.family.name() == name);
        let dipoles = oriented("dipoles").ok_or_else(|| missing("dipoles"))?;
        let sticky = oriented("sticky");
        let n = species.len();
        let mut rows = Vec::new();
        for (k, row) in lj.rows.iter().enumerate() {
            let mut all = [0.0; ROW];
            let mut put = |at: usize, values: &[f64]| all[at..at + values.len()].copy_from_slice(values);
            put(LENNARD_JONES, &row.coefficients[..OF_LENNARD_JONES]);
            put(ITS_END, &row.truncation);
            if let Some(row) = &dipoles.rows[k] {
                let strength = dipoles.strength(field.coulomb_constant);
                put(DIPOLES, &[row.coefficients[0] * strength, row.coefficients[1]]);
                put(THEIR_END, &row.truncation);
            }
            if let Some(row) = sticky.and_then(|term| term.rows[k].as_ref()) {
                put(STICKY, &row.coefficients[..OF_STICKY]);
            }
            let [a, b] = [&species[k / n], &species[k % n]];
            put(CHARGES, &[a.charge, b.charge, a.rotor.dipole, b.rotor.dipole]);
            put(CUTOFF2, &[row.cutoff * row.cutoff]);
            rows.push(all);
        }
        let types = (0..n * n).map(|k| Interaction::of(&species[k / n], &species[k % n]));
        let reach = sticky
            .into_iter()
            .flat_map(|term| term.rows.iter().flatten())
            .map(|row| row.cutoff);
        Ok(Self {
            ends: Ends {
                lennard_jones: lj.truncation,
                dipoles: dipoles.truncation,
                sticky2: reach.fold(0.0, f64::max).powi(2),
            },
            species: n,
            types: types.collect(),
            cutoff: rows
                .iter()
                .map(|row: &[f64; ROW]| row[CUTOFF2].sqrt())
                .fold(0.0, f64::max),
            rows,
        })
    }
}

fn nothing<R: Real>() -> OrientedEnergy<R> {
    let zero = R::lit(0.0);
    OrientedEnergy {
        value: zero,
        r2: zero,
        along: [[zero; 3]; 2],
        cosines: [[zero; 3]; 3],
    }
}

fn sum<R: Real>(a: OrientedEnergy<R>, b: OrientedEnergy<R>) -> OrientedEnergy<R> {
    let add = |a: [R; 3], b: [R; 3]| std::array::from_fn(|k| a[k] + b[k]);
    OrientedEnergy {
        value: a.value + b.value,
        r2: a.r2 + b.r2,
        along: std::array::from_fn(|k| add(a.along[k], b.along[k])),
        cosines: std::array::from_fn(|k| add(a.cosines[k], b.cosines[k])),
    }
}

fn from<const N: usize, R: Real>(row: &[R; ROW], at: usize) -> [R; N] {
    std::array::from_fn(|k| row[at + k])
}

/// Lennard-Jones and electrostatics of a pair; `d` leads from the first to the second.
#[inline(always)]
pub(super) fn usual<R: Real>(
    ends: Ends,
    what: Interaction,
    d: Vec3<R>,
    axes: [[Vec3<R>; 3]; 2],
    row: &[R; ROW],
) -> OrientedEnergy<R> {
    let (zero, table) = (R::lit(0.0), Table::default());
    let [charges, dipoles] = what.moments();
    let kept = |on: [bool; 2], at: usize| -> [R; 2] {
        std::array::from_fn(|k| if on[k] { row[at + k] } else { zero })
    };
    let (charges, moments) = (kept(charges, CHARGES), kept(dipoles, CHARGES + 2));
    let pair = OrientedPair::new(d, axes, charges, moments, &table);
    let few: [R; OF_LENNARD_JONES] = from(row, LENNARD_JONES);
    let c = [few[0], few[1], few[2], few[3], zero, zero, zero, zero];
    let (plain, end) = (
        Pair {
            r2: pair.r2,
            table: &table,
        },
        from(row, ITS_END),
    );
    let lj = match ends.lennard_jones {
        Truncation::Switch { .. } => truncated::<LennardJones, Switched, R>(plain, &c, &end),
        _ => truncated::<LennardJones, QuadraticShifted, R>(plain, &c, &end),
    };
    let lj = OrientedEnergy {
        value: lj.value,
        r2: lj.derivative,
        ..nothing()
    };
    if what == Interaction::Plain {
        lj
    } else {
        sum(lj, electrostatics(ends, &pair, row))
    }
}

#[inline(always)]
fn electrostatics<R: Real>(ends: Ends, pair: &OrientedPair<'_, R>, row: &[R; ROW]) -> OrientedEnergy<R> {
    let mut c = [R::lit(0.0); MAX_ORIENTED];
    (c[0], c[1]) = (row[DIPOLES], row[DIPOLES + 1]);
    match ends.dipoles {
        Truncation::Switch { .. } => {
            let bare = Dipoles::energy_and_derivatives(Truncation::Cut, pair, &c).unwrap_or_else(nothing);
            bare.switched(pair.r2, &from(row, THEIR_END))
        }
        end => Dipoles::energy_and_derivatives(end, pair, &c).unwrap_or_else(nothing),
    }
}

/// The sticky term of two molecules of water.
#[inline(always)]
pub(super) fn sticky<R: Real>(d: Vec3<R>, axes: [[Vec3<R>; 3]; 2], row: &[R; ROW]) -> OrientedEnergy<R> {
    let (zero, table) = (R::lit(0.0), Table::default());
    let pair = OrientedPair::new(d, axes, [zero; 2], [zero; 2], &table);
    let few: [R; OF_STICKY] = from(row, STICKY);
    let c = std::array::from_fn(|k| if k < OF_STICKY { few[k] } else { zero });
    Sticky::energy_and_derivatives(Truncation::Cut, &pair, &c).unwrap_or_else(nothing)
}

/// Forces and torques of a pair within the cut-off, and its energy; in double precision.
#[inline(always)]
pub(super) fn act(
    numbers: &Numbers,
    species: [u32; 2],
    d: Vec3<f64>,
    axes: [[Vec3<f64>; 3]; 2],
) -> (f64, OrientedForces<f64>) {
    let k = species[0] as usize * numbers.species + species[1] as usize;
    let (row, what) = (&numbers.rows[k], numbers.types[k]);
    let mut energy = usual(numbers.ends, what, d, axes, row);
    if what == Interaction::Water && d.norm2() < numbers.ends.sticky2 {
        energy = sum(energy, sticky(d, axes, row));
    }
    (energy.value, energy.forces(d, axes))
}

/// An energy of symbols: of the separation, the axes of both, and the numbers of the pair.
type Formula<'f> = &'f dyn Fn(Vec3<Sym>, [[Vec3<Sym>; 3]; 2], &[Sym; ROW]) -> OrientedEnergy<Sym>;

/// The functions as CUDA text: `usual_N` for each type that is not water, whose `usual_3` is that of dipoles, and
/// `sticky`. They give force and torque on the first, and the energy.
pub(super) fn text(ends: Ends, real: CudaReal) -> String {
    let names: Vec<String> = ["dx", "dy", "dz"]
        .map(String::from)
        .into_iter()
        .chain((0..9).map(|k| format!("a{k}")))
        .chain((0..9).map(|k| format!("b{k}")))
        .chain((0..ROW).map(|k| format!("p{k}")))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let printed = |name: &str, energy: Formula<'_>| {
        let tape = Tape::record(names.len(), |x| {
            let vector = |at: usize| Vec3::from([x[at], x[at + 1], x[at + 2]]);
            let (d, axes) = (
                vector(0),
                [3, 12].map(|at| [vector(at), vector(at + 3), vector(at + 6)]),
            );
            let energy = energy(d, axes, &std::array::from_fn(|k| x[21 + k]));
            let OrientedForces { force, torques } = energy.forces(d, axes);
            let [force, torque] = [-force, torques[0]].map(Vec3::to_array);
            [&force[..], &torque, &[energy.value]].concat()
        });
        tape.named(&names, &["fx", "fy", "fz", "tx", "ty", "tz", "u"])
            .to_cuda(name, real)
    };
    let mut text: String = Interaction::ALL[1..]
        .iter()
        .map(|&what| {
            printed(&format!("usual_{}", what as u32), &|d, axes, row| {
                usual(ends, what, d, axes, row)
            })
        })
        .collect();
    if ends.sticky2 > 0.0 {
        text += &printed("sticky", &sticky);
    }
    text
}
