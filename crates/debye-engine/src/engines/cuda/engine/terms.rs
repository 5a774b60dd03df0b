//! [`Terms`]: the pair terms of a simulation as CUDA text and numbers, and the kinds of particles they tell apart.

mod oriented;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use super::arrays::words_of;
use super::bodies::Bodies;
use super::exclusions::Excluded;
use super::rotation;
use crate::engines::{EngineError, Precision};
use crate::expr::{CudaReal, KnownInputs, Table};
use crate::forces::{ForceField, PairRow, PairTerm};
use crate::integrate::Dynamics;
use crate::potentials::{Axes, MAX_COEFFICIENTS};
use crate::system::{Rotor, System};
use crate::truncation::TRUNCATION_COEFFICIENTS;

/// Numbers per term and pair of kinds: cut-off², factor, coefficients, truncation.
const COLUMNS: usize = 2 + MAX_COEFFICIENTS + TRUNCATION_COEFFICIENTS;

/// The most numbers of all terms that are kept in shared memory.
const STAGED_NUMBERS: usize = 512;

/// The most classes of particles that have rows of numbers of their own: the rows of all pairs must stay near the processors.
pub(super) const MOST_SORTS: usize = 128;

debye_gpu::device_struct! {
    /// Numbers of a kind of particle.
    #[derive(PartialEq)]
    pub(super) struct Kind {
        pub(super) inverse_mass: f64,
        /// What Langevin dynamics keeps of a velocity, and what it adds for each normal number.
        keep: f64,
        noise: f64,
        mass: f64,
        /// Its group of thermostats.
        pub(super) group: u32,
        /// 1: at fixed distances from others.
        pub(super) constrained: u32,
        /// Moments of inertia, and what Langevin dynamics adds to an angular momentum about each axis for a normal number.
        pub(super) inertia: [f64; 3],
        turning_noise: [f64; 3],
        charge: f64,
        dipole: f64,
        /// Whether it turns, and how: 0, [`LINEAR`](super::rotation::LINEAR) or [`BODY`](super::rotation::BODY).
        pub(super) turns: u32,
        /// 1: long terms of orientations act on it.
        polar: u32,
    }
}

/// What the kernels need to know of particles and forces.
#[derive(Debug)]
pub(super) struct Terms {
    /// The kind of each particle: species, charge, mass, inertia and dipole, and whether constraints hold it.
    pub(super) kind_of: Vec<u32>,
    /// Numbers of each kind.
    pub(super) kinds: Arc<[Kind]>,
    /// Which rows of numbers each kind has; empty where each has its own.
    pub(super) row_classes: Vec<u32>,
    /// Whether charges and dipoles are too many for such rows.
    pub(super) varied: bool,
    /// For every pair of row classes the numbers of the pair terms that are not the same for all pairs; those are in the text.
    pub(super) parameters: Vec<f64>,
    /// Tables of all terms, one after another.
    pub(super) tables: Vec<f64>,
    /// `pair_terms.cuh`.
    pub(super) text: String,
    /// Pairs that are left out.
    pub(super) excluded: Excluded,
    /// What lists know of.
    pub(super) bodies: Bodies,
    /// How many pair terms there are, those of orientations among them.
    pub(super) count: usize,
    /// How many axes of a particle its neighbors look at: none where none turns, z alone, or all three.
    pub(super) axes: usize,
    /// The longest cut-off of terms of orientations that end well before the others; zero where there are none.
    pub(super) short: f64,
    /// Whether there are particles that no other term of orientations acts on.
    pub(super) some_apolar: bool,
    /// Whether there is a Langevin thermostat.
    pub(super) langevin: bool,
    pub(super) precision: Precision,
}

impl Terms {
    /// Bytes that the kernels of pairs keep in shared memory of each body around a block.
    pub(super) fn staged_bytes(&self) -> usize {
        let sites = self.bodies.grain().sites;
        let real = 4 * words_of(self.precision).1;
        let facing = if self.axes > 0 { 4 * real } else { 0 };
        let traits = if self.varied { 2 * real } else { 0 };
        facing
            + traits
            + match self.precision {
                Precision::Double => 32 * sites,
                _ if sites == 1 => 16,
                // Coordinates, and a kind for all where there are others than molecules.
                _ => 12 * sites + if self.bodies.pure() { 0 } else { 4 },
            }
    }

    /// How many numbers of the terms the kernels of pairs keep in shared memory: all, where they are few.
    pub(super) fn staged_numbers(&self) -> usize {
        let few = self.parameters.len() <= STAGED_NUMBERS && self.parameters.len() > 1;
        if few && self.bodies.grain().sites == 1 {
            self.parameters.len()
        } else {
            0
        }
    }

    /// Whether lists have parts, in which not all terms act.
    pub(super) fn parted(&self) -> bool {
        self.short > 0.0 || self.some_apolar
    }

    /// Whether every body must have a list of its own.
    pub(super) fn own_lists(&self) -> bool {
        self.excluded.any || self.parted()
    }

    /// Whether several kinds share rows of numbers.
    pub(super) fn shares_rows(&self) -> bool {
        !self.row_classes.is_empty()
    }

    pub(super) fn new(
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        group_of: &[u32],
        precision: Precision,
        bodies: impl FnOnce(&[u32], bool) -> Bodies,
    ) -> Result<Self, EngineError> {
        let (kind_of, distinct) = Distinct::all(system);
        let axes = axes_read(system, field);
        let langevin = dynamics.has_langevin();
        let (short, long) = oriented::by_length(field);
        let kinds: Vec<Kind> = distinct
            .iter()
            .map(|one| {
                let polar = long.iter().any(|term| oriented::acts_on(term, one));
                one.numbers(system, dynamics, group_of[one.species as usize], polar)
            })
            .collect();
        let (row_classes, of_rows, varied) = row_classes(&distinct, axes);
        let bodies = bodies(&kind_of, row_classes.is_empty());
        let excluded = Excluded::new(&system.exclusions, &bodies.in_molecules());
        let some_apolar = axes > 0 && !long.is_empty() && kinds.iter().any(|kind| kind.polar == 0);
        let mut terms = Self {
            kind_of,
            kinds: kinds.into(),
            row_classes,
            varied,
            parameters: Vec::new(),
            tables: Vec::new(),
            text: String::new(),
            excluded,
            bodies,
            count: field.pairs.len() + field.oriented.len(),
            axes,
            short: oriented::longest(&short),
            some_apolar,
            langevin,
            precision,
        };
        terms.write(field, &distinct, of_rows.as_deref().unwrap_or(&distinct));
        Ok(terms)
    }

    /// Prints the terms; `all` are the kinds of particles, `kinds` those that have rows of numbers.
    fn write(&mut self, field: &ForceField, all: &[Distinct], kinds: &[Distinct]) {
        let real = if self.precision == Precision::Double {
            CudaReal::Double
        } else {
            CudaReal::Float
        };
        let of_pairs = field.pairs.iter().map(|term| rows(term, field, kinds));
        let of_oriented = field.oriented.iter().map(|term| oriented::rows(term, kinds));
        let mut columns = Columns {
            rows: of_pairs.chain(of_oriented).collect(),
            varying: Vec::new(),
            real,
        };
        let (mut functions, mut body) = (String::new(), String::new());
        for (number, term) in field.pairs.iter().enumerate() {
            let tape = term.family.tape(term.truncation.kind());
            // Of the inputs the first is the distance.
            let always: Vec<Option<f64>> = std::iter::once(None)
                .chain((2..COLUMNS).map(|k| columns.same(number, k)))
                .collect();
            let given = KnownInputs {
                below: columns.longest2(number),
                always: &always,
            };
            functions += &tape.to_cuda_for_pairs(&format!("term_{number}"), real, given);
            let mut arguments: Vec<String> = vec!["r2".into()];
            arguments.extend((2..COLUMNS).map(|k| columns.name(number, k)));
            if tape.tables() > 0 {
                arguments.push(self.table(&term.table));
            }
            arguments.extend(["energy".into(), "of_term".into()]);
            let arguments = arguments.join(", ");
            let cutoff2 = columns.name(number, 0);
            let factor = if self.varied && term.family.uses_charges() {
                format!("row.charges * {}", literal(field.coulomb_constant, real))
            } else {
                columns.name(number, 1)
            };
            let _ = writeln!(
                body,
                "    energies[{number}] = real(0);
    if (active >> {number} & 1) {{
        real energy, of_term;
        term_{number}({arguments});
        const bool inside = r2 < {cutoff2};
        const real factor = {factor};
        energies[{number}] = inside ? energy * factor : real(0);
        derivative += inside ? of_term * factor : real(0);
    }}"
            );
        }
        let oriented = if self.axes > 0 {
            oriented::text(self, field, all, &mut columns)
        } else {
            String::new()
        };
        let Columns { rows, varying, .. } = columns;
        // Rows are read four numbers at a time, or two.
        let width = match varying.len() {
            few @ 0..3 => few,
            more => more.next_multiple_of(4),
        };
        let row = |pair: usize| {
            let rows = &rows;
            let numbers = varying.iter().map(move |&(term, k)| rows[term][pair][k]);
            numbers.chain(std::iter::repeat(0.0)).take(width)
        };
        self.parameters
            .extend((0..kinds.len() * kinds.len()).flat_map(row));
        let active = |a: u32, b: u32| {
            let pair = a as usize * kinds.len() + b as usize;
            let acts = |row: &[f64]| row[0] > 0.0 && row[1] != 0.0;
            (0..rows.len()).fold(0, |bits, term| bits | u32::from(acts(&rows[term][pair])) << term)
        };
        let molecules = self.bodies.text(kinds.len(), &active);
        let (count, kinds) = (self.count, kinds.len());
        let room = width.max(1);
        let pairs_count = field.pairs.len();
        let charges = if self.varied { "    real charges;\n" } else { "" };
        let reads = if width == 0 {
            "    (void)row, (void)own, (void)other, (void)parameters;\n".to_owned()
        } else {
            let at_once = if width % 4 == 0 { 4 } else { width };
            let mut reads = format!(
                "    const Numbers<{at_once}>* from = reinterpret_cast<const Numbers<{at_once}>*>(parameters) + \
                 (own * {kinds}u + other) * {}u;\n",
                width / at_once
            );
            for k in 0..width / at_once {
                let _ = writeln!(reads, "    const Numbers<{at_once}> part_{k} = from[{k}];");
                for j in 0..at_once {
                    let _ = writeln!(reads, "    row.n[{}] = part_{k}.n[{j}];", k * at_once + j);
                }
            }
            reads
        };
        self.text = format!(
            "#pragma once\n#include \"precision.cuh\"\nconstexpr u32 TERMS = {count}, PAIR_TERMS = {pairs_count};\n{functions}{molecules}
// Numbers of the terms between two row classes, as far as they are not the same for all.
template <u32 N> struct alignas(N * sizeof(real)) Numbers {{
    real n[N];
}};
struct Rows {{
    real n[{room}];
{charges}}};
__device__ __forceinline__ void read_rows(Rows& row, u32 own, u32 other, const real* parameters)
{{
{reads}}}
// Terms whose bits are not set are zero.
__device__ __forceinline__ void debye_pair(real r2, const Rows& row, const real* tables, u32 active,
                                           real (&energies)[TERMS], real& derivative)
{{
    (void)row;
    (void)tables;
    derivative = real(0);
{body}}}
__device__ __forceinline__ void debye_pair(real r2, u32 own, u32 other, const real* parameters, const real* tables,
                                           real (&energies)[TERMS], real& derivative)
{{
    Rows row;
    read_rows(row, own, other, parameters);
    debye_pair(r2, row, tables, ~0u, energies, derivative);
}}
{oriented}"
        );
        // Kernels take no empty arrays.
        if self.parameters.is_empty() {
            self.parameters.push(0.0);
        }
        if self.tables.is_empty() {
            self.tables.push(0.0);
        }
    }

    /// Takes the table of a term, and names it and its length.
    fn table(&mut self, table: &Table) -> String {
        let values = table.f64s();
        let name = format!("tables + {}, {}", self.tables.len(), values.len());
        self.tables.extend_from_slice(values);
        name
    }
}

/// How many axes the terms of a simulation read; none where nothing turns.
fn axes_read(system: &System, field: &ForceField) -> usize {
    if system.particles.orientations.is_empty() && field.oriented.is_empty() {
        0
    } else if field.oriented.iter().any(|t| t.family.axes() == Axes::All) {
        3
    } else {
        1
    }
}

/// Which rows of numbers every kind has, and a kind for each of those; and whether charges and dipoles had to be left out.
/// Nothing where every kind has rows of its own. Where neighbors look at one axis, they see the dipole beside it.
fn row_classes(all: &[Distinct], axes: usize) -> (Vec<u32>, Option<Vec<Distinct>>, bool) {
    if all.len() <= MOST_SORTS {
        return (Vec::new(), None, false);
    }
    let by = |key: &dyn Fn(&Distinct) -> [u64; 3]| {
        let mut known: HashMap<[u64; 3], u32> = HashMap::new();
        let mut first = Vec::new();
        let of: Vec<u32> = all
            .iter()
            .map(|kind| {
                *known.entry(key(kind)).or_insert_with(|| {
                    first.push(*kind);
                    first.len() as u32 - 1
                })
            })
            .collect();
        (of, first)
    };
    let dipole = |kind: &Distinct| if axes == 3 { kind.rotor.dipole.to_bits() } else { 0 };
    let (of, first) = by(&|kind| [u64::from(kind.species), kind.charge.to_bits(), dipole(kind)]);
    if first.len() <= MOST_SORTS {
        return (of, Some(first), false);
    }
    let (of, first) = by(&|kind| [u64::from(kind.species), 0, 0]);
    (of, Some(first), true)
}

/// A kind of particle.
#[derive(Clone, Copy)]
pub(super) struct Distinct {
    species: u32,
    charge: f64,
    mass: f64,
    rotor: Rotor,
    constrained: bool,
}

impl Distinct {
    /// The kind of every particle, and all kinds.
    pub(super) fn all(system: &System) -> (Vec<u32>, Vec<Self>) {
        let p = &system.particles;
        let mut constrained = vec![false; p.len()];
        for (atoms, _) in system.constraints.pairs() {
            atoms.into_iter().for_each(|i| constrained[i as usize] = true);
        }
        let mut known: HashMap<([u64; 7], bool), u32> = HashMap::new();
        let mut distinct: Vec<Self> = Vec::new();
        // Most particles are like the one before them.
        let mut last = None;
        let kind_of = (0..p.len())
            .map(|i| {
                let one = Self {
                    species: p.species[i],
                    charge: p.charges[i],
                    mass: p.masses[i],
                    rotor: p.orientations.rotor(i),
                    constrained: constrained[i],
                };
                let key = one.key();
                if let Some((_, kind)) = last.filter(|(before, _)| *before == key) {
                    return kind;
                }
                let kind = *known.entry(key).or_insert_with(|| {
                    distinct.push(one);
                    distinct.len() as u32 - 1
                });
                last = Some((key, kind));
                kind
            })
            .collect();
        (kind_of, distinct)
    }

    /// What tells it from others.
    fn key(&self) -> ([u64; 7], bool) {
        let Rotor {
            inertia: [x, y, z],
            dipole,
        } = self.rotor;
        let [a, b, c, d, e, f] = [self.charge, self.mass, x, y, z, dipole].map(f64::to_bits);
        ([u64::from(self.species), a, b, c, d, e, f], self.constrained)
    }

    /// What the kernels know of it.
    fn numbers(&self, system: &System, dynamics: &Dynamics, group: u32, polar: bool) -> Kind {
        let thermostat = dynamics
            .thermostats
            .iter()
            .filter(|t| !t.kind.scales_velocities())
            .find(|t| t.species.is_empty() || t.species.contains(&self.species));
        let (keep, spread) = thermostat.map_or((1.0, 0.0), |t| {
            let keep = (-dynamics.timestep / t.time).exp();
            let kt = system.units.boltzmann() * t.temperature;
            (keep, (1.0 - keep * keep) * kt)
        });
        Kind {
            // A site without mass has its impulse in place of a velocity: rigid_bodies.cuh.
            inverse_mass: if self.mass > 0.0 { 1.0 / self.mass } else { 1.0 },
            keep,
            noise: if self.mass > 0.0 {
                (spread / self.mass).sqrt()
            } else {
                0.0
            },
            mass: self.mass,
            group,
            constrained: u32::from(self.constrained),
            inertia: self.rotor.inertia,
            turning_noise: self.rotor.inertia.map(|i| (spread * i).sqrt()),
            charge: self.charge,
            dipole: self.rotor.dipole,
            turns: rotation::number_of(self.rotor.class()),
            polar: u32::from(polar),
        }
    }
}

/// Numbers of terms as the printed text names them: a literal where all pairs of kinds have the same one, else a place in a
/// row.
pub(super) struct Columns {
    /// By term and pair of kinds.
    rows: Vec<Vec<Vec<f64>>>,
    /// Term and column of the numbers that differ from pair to pair.
    varying: Vec<(usize, usize)>,
    real: CudaReal,
}

impl Columns {
    /// The number of all pairs, where it is one.
    fn same(&self, term: usize, k: usize) -> Option<f64> {
        let rows = &self.rows[term];
        let x = rows[0][k];
        let alike = rows.iter().all(|row| row[k].to_bits() == x.to_bits());
        alike.then_some(x)
    }

    /// The square of the longest cut-off.
    fn longest2(&self, term: usize) -> f64 {
        self.rows[term].iter().fold(0.0, |most, row| most.max(row[0]))
    }

    /// What a number is called.
    fn name(&mut self, term: usize, k: usize) -> String {
        if let Some(x) = self.same(term, k) {
            return literal(x, self.real);
        }
        let place = self.varying.iter().position(|&at| at == (term, k));
        let place = place.unwrap_or_else(|| {
            self.varying.push((term, k));
            self.varying.len() - 1
        });
        format!("row.n[{place}]")
    }
}

/// A number as the kernels write it, to the last bit.
fn literal(x: f64, real: CudaReal) -> String {
    match real {
        CudaReal::Float => format!("__uint_as_float(0x{:08x}u)", (x as f32).to_bits()),
        CudaReal::Double => format!("__longlong_as_double(0x{:016x}ll)", x.to_bits()),
    }
}

fn rows(term: &PairTerm, field: &ForceField, kinds: &[Distinct]) -> Vec<Vec<f64>> {
    let species = (term.rows.len() as f64).sqrt().round() as u32;
    let row = |a: &Distinct, b: &Distinct| {
        let PairRow {
            cutoff,
            truncation,
            coefficients,
            ..
        } = &term.rows[(a.species * species + b.species) as usize];
        let factor = if term.family.uses_charges() {
            field.coulomb_constant * a.charge * b.charge
        } else {
            1.0
        };
        let numbers = [cutoff * cutoff, factor];
        [&numbers[..], coefficients, truncation].concat()
    };
    kinds
        .iter()
        .flat_map(|a| kinds.iter().map(move |b| row(a, b)))
        .collect()
}
