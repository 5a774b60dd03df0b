//! Terms of particles with orientations as CUDA text: energies and derivatives by the invariants from their tapes, and what
//! follows for forces and torques.

use std::fmt::Write;

use super::{Columns, Distinct, Terms, literal};
use crate::expr::{KnownInputs, Node};
use crate::forces::{ForceField, OrientedRow, OrientedTerm};
use crate::potentials::{Axes, INVARIANT_NAMES, INVARIANTS, MAX_ORIENTED};
use crate::truncation::TRUNCATION_COEFFICIENTS;

/// Columns of a row: cut-off², whether the pair takes part, charge and dipole of the other, coefficients, truncation.
const CHARGE: usize = 2;
const DIPOLE: usize = 3;
const NUMBERS: usize = 4;

/// Inputs of a tape after the invariants.
const OWN_CHARGE: usize = INVARIANTS;
const OTHER_CHARGE: usize = INVARIANTS + 1;
const OWN_DIPOLE: usize = INVARIANTS + 2;
const OTHER_DIPOLE: usize = INVARIANTS + 3;
const NUMBER: usize = INVARIANTS + 4;

/// Terms shorter than this part of the longest are visited in a part of the lists of their own.
const SHORT: f64 = 0.6;

/// Short and long terms.
pub(super) fn by_length(field: &ForceField) -> (Vec<&OrientedTerm>, Vec<&OrientedTerm>) {
    let most = field.cutoff();
    let is_short = |term: &&OrientedTerm| longest(&[*term]) < SHORT * most;
    field.oriented.iter().partition(is_short)
}

/// The longest cut-off of some terms.
pub(super) fn longest(terms: &[&OrientedTerm]) -> f64 {
    let rows = terms.iter().flat_map(|term| term.rows.iter().flatten());
    rows.fold(0.0, |most, row| most.max(row.cutoff))
}

/// Whether a term is one of the short ones, of which this is the longest cut-off.
fn is_short(term: &OrientedTerm, short: f64) -> bool {
    longest(&[term]) <= short
}

/// Whether a term acts on a kind of particle.
pub(super) fn acts_on(term: &OrientedTerm, kind: &Distinct) -> bool {
    let species = (term.rows.len() as f64).sqrt().round() as usize;
    let first = kind.species as usize * species;
    let charged = kind.charge != 0.0 || kind.rotor.dipole != 0.0;
    term.rows[first..first + species].iter().any(Option::is_some)
        && (charged || !term.family.is_electrostatic())
}

/// Numbers of a term for every pair of kinds. Pairs that do not interact have no cut-off and otherwise the numbers of those
/// that do, which may then be the same for all.
pub(super) fn rows(term: &OrientedTerm, kinds: &[Distinct]) -> Vec<Vec<f64>> {
    let species = (term.rows.len() as f64).sqrt().round() as u32;
    let any = term.rows.iter().flatten().next();
    let row = |a: &Distinct, b: &Distinct| {
        let own = term.rows[(a.species * species + b.species) as usize].as_ref();
        let cutoff = own.map_or(0.0, |row| row.cutoff);
        let head = [cutoff * cutoff, 1.0, b.charge, b.rotor.dipole];
        let numbers = |row: &OrientedRow| [&head[..], &row.coefficients, &row.truncation].concat();
        own.or(any).map_or_else(
            || vec![0.0; NUMBERS + MAX_ORIENTED + TRUNCATION_COEFFICIENTS],
            numbers,
        )
    };
    kinds
        .iter()
        .flat_map(|a| kinds.iter().map(move |b| row(a, b)))
        .collect()
}

/// `debye_oriented`, and the functions it calls.
pub(super) fn text(
    terms: &mut Terms,
    field: &ForceField,
    kinds: &[Distinct],
    columns: &mut Columns,
) -> String {
    let (mut functions, mut body) = (String::new(), String::new());
    let first = field.pairs.len();
    for (k, term) in field.oriented.iter().enumerate() {
        let number = first + k;
        let [function, act] = one(terms, number, term, field.coulomb_constant, kinds, columns);
        functions += &function;
        body += &if is_short(term, terms.short) {
            format!("    energies[{number}] = real(0);\n    if constexpr (ALL) {act}")
        } else {
            format!("    {act}")
        };
    }
    // Names of the axes that are read, and where they stand.
    let names: &[&str] = if terms.axes == 3 { &["x", "y", "z"] } else { &["z"] };
    let mut invariants = String::new();
    for (a, axis) in names.iter().enumerate() {
        for (who, of) in [("own", "i"), ("other", "j")] {
            let _ = writeln!(
                invariants,
                "    const real {axis}_{of} = {who}.axes[{a}][0] * d[0] + {who}.axes[{a}][1] * d[1] + {who}.axes[{a}][2] * d[2];"
            );
        }
        for (b, other) in names.iter().enumerate() {
            let product = |k: usize| format!("own.axes[{a}][{k}] * other.axes[{b}][{k}]");
            let _ = writeln!(
                invariants,
                "    const real {axis}{other} = {} + {} + {};",
                product(0),
                product(1),
                product(2)
            );
        }
    }
    let unused: String = names
        .iter()
        .flat_map(|a| {
            let cosines = names.iter().map(move |b| format!("{a}{b}"));
            [format!("{a}_i"), format!("{a}_j")].into_iter().chain(cosines)
        })
        .chain(["row", "tables", "own", "other", "d", "sideways"].map(String::from))
        .map(|name| format!("    (void){name};\n"))
        .collect();
    format!(
        "{functions}
// Energies of terms that know orientations, and their derivatives. `d` leads from this particle to the other; `sideways` is
// the force without its central part, only with ENERGY. Without ALL, short terms are left out.
template <bool ENERGY, bool ALL>
__device__ __forceinline__ void debye_oriented(real r2, const real (&d)[3], const Directed& own, const Directed& other,
                                               const Rows& row, const real* tables, real (&energies)[TERMS],
                                               real& derivative, OrientedSums& oriented, real (&sideways)[3])
{{
{invariants}{unused}{body}}}
"
    )
}

/// The function of a term, and what is done with what it gives.
fn one(
    terms: &mut Terms,
    number: usize,
    term: &OrientedTerm,
    coulomb_constant: f64,
    kinds: &[Distinct],
    columns: &mut Columns,
) -> [String; 2] {
    let real = columns.real;
    let (axes, varied) = (terms.axes, terms.varied);
    // Whether the term reads an axis, and where that stands among those that are kept.
    let reads = |axis: usize| term.family.axes() == Axes::All || axis == 2;
    let place = |axis: usize| if axes == 3 { axis } else { 0 };
    let is_read = |invariant: usize| match invariant {
        0 => true,
        1..7 => reads((invariant - 1) % 3),
        _ => reads((invariant - 7) / 3) && reads((invariant - 7) % 3),
    };
    let own_same = |of: fn(&Distinct) -> f64| {
        let x = of(&kinds[0]);
        kinds
            .iter()
            .all(|kind| of(kind).to_bits() == x.to_bits())
            .then_some(x)
    };
    let (charge, dipole) = (own_same(|kind| kind.charge), own_same(|kind| kind.rotor.dipole));
    let mut known: Vec<Option<f64>> = (0..INVARIANTS)
        .map(|k| (!is_read(k)).then_some(0.0))
        .chain([charge, charge, dipole, dipole])
        .collect();
    let numbers = NUMBERS..NUMBERS + MAX_ORIENTED + TRUNCATION_COEFFICIENTS;
    known.extend(numbers.map(|k| columns.same(number, k)));
    let tape = term.family.shortest_tape(term.truncation).with_known(&known);
    let given = KnownInputs {
        below: columns.longest2(number),
        always: &[],
    };
    let function = tape.to_cuda_for_pairs(&format!("term_{number}"), real, given);
    let mut name = |input: usize| match input {
        0..INVARIANTS => INVARIANT_NAMES[input].to_owned(),
        OWN_CHARGE => "own.charge".into(),
        OTHER_CHARGE if varied => "other.charge".into(),
        OTHER_CHARGE => columns.name(number, CHARGE),
        OWN_DIPOLE => "own.dipole".into(),
        OTHER_DIPOLE if axes == 1 || varied => "other.dipole".into(),
        OTHER_DIPOLE => columns.name(number, DIPOLE),
        _ => columns.name(number, input - NUMBER + NUMBERS),
    };
    let open = (0..known.len()).filter(|&input| known[input].is_none());
    let mut arguments: Vec<String> = open
        .enumerate()
        .map(|(k, input)| {
            let is_read = tape.nodes().contains(&Node::Input(k as u32));
            if is_read {
                name(input)
            } else {
                "real(0)".to_owned()
            }
        })
        .collect();
    if tape.tables() > 0 {
        arguments.push(terms.table(&term.table));
    }
    let outputs = 1 + INVARIANTS;
    let output = |k: usize| format!("u{k}");
    arguments.extend((0..outputs).map(output));
    let declared: Vec<String> = (0..outputs).map(output).collect();
    let strength = literal(term.strength(coulomb_constant), real);
    let cutoff2 = columns.name(number, 0);
    let mut body = format!(
        "{{
        real {};
        term_{number}({});
        const bool inside = r2 < {cutoff2};
        const real strength = {strength};
        energies[{number}] = inside ? u0 * strength : real(0);
        derivative += inside ? u1 * strength : real(0);\n",
        declared.join(", "),
        arguments.join(", "),
    );
    let matters = |k: usize| tape.constant_output(k) != Some(0.0);
    // By the component along an own axis: toward the other.
    for a in 0..3 {
        let (k, at) = (2 + a, place(a));
        if matters(k) {
            let _ = writeln!(
                body,
                "        const real v{k} = inside ? u{k} * strength : real(0);
        oriented.along[{at}] += v{k};
        for (u32 k = 0; k < 3; ++k) oriented.toward[{at}][k] += d[k] * v{k};
        if (ENERGY) for (u32 k = 0; k < 3; ++k) sideways[k] += own.axes[{at}][k] * v{k};"
            );
        }
    }
    // By that along an axis of the other.
    for b in 0..3 {
        let (k, at) = (5 + b, place(b));
        if matters(k) {
            let _ = writeln!(
                body,
                "        const real v{k} = inside ? u{k} * strength : real(0);
        for (u32 k = 0; k < 3; ++k) oriented.rest[k] += other.axes[{at}][k] * v{k};
        if (ENERGY) for (u32 k = 0; k < 3; ++k) sideways[k] += other.axes[{at}][k] * v{k};"
            );
        }
    }
    for a in 0..3 {
        for b in 0..3 {
            let (k, mine, theirs) = (8 + 3 * a + b, place(a), place(b));
            if matters(k) {
                let _ = writeln!(
                    body,
                    "        const real v{k} = inside ? u{k} * strength : real(0);
        for (u32 k = 0; k < 3; ++k) oriented.toward[{mine}][k] += other.axes[{theirs}][k] * v{k};"
                );
            }
        }
    }
    body += "    }\n";
    [function, body]
}
