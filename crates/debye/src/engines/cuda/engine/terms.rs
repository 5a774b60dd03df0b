//! [`Terms`]: the pair terms of a simulation as CUDA text and numbers, and the kinds of particles they tell apart.

use std::collections::HashMap;
use std::fmt::Write;

use super::bodies::Bodies;
use super::exclusions::Excluded;
use super::unsupported;
use crate::engines::{EngineError, Precision};
use crate::expr::{CudaReal, Given};
use crate::forces::{ForceField, PairRow, PairTerm};
use crate::integrate::Dynamics;
use crate::potentials::MAX_COEFFICIENTS;
use crate::system::System;
use crate::truncation::TRUNCATION_COEFFICIENTS;

/// Numbers per term and pair of kinds: cut-off², factor, coefficients, truncation.
const COLUMNS: usize = 2 + MAX_COEFFICIENTS + TRUNCATION_COEFFICIENTS;

/// The most kinds of particles.
const MOST_KINDS: usize = 128;

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
    }
}

/// What the kernels need to know of particles and forces.
#[derive(Debug)]
pub(super) struct Terms {
    /// The kind of each particle: species, charge and mass, and whether constraints hold it.
    pub(super) kind_of: Vec<u32>,
    /// Numbers of each kind.
    pub(super) kinds: Vec<Kind>,
    /// For every pair of kinds the numbers of the pair terms that are not the same for all pairs; those are in the text.
    pub(super) parameters: Vec<f64>,
    /// Tables of all terms, one after another.
    pub(super) tables: Vec<f64>,
    /// `pair_terms.cuh`.
    pub(super) text: String,
    /// Pairs that are left out.
    pub(super) excluded: Excluded,
    /// What lists know of.
    pub(super) bodies: Bodies,
    /// How many pair terms there are.
    pub(super) count: usize,
    /// Whether there is a Langevin thermostat.
    pub(super) langevin: bool,
    pub(super) precision: Precision,
}

impl Terms {
    /// Bytes that the kernels of pairs keep in shared memory of each body around a block.
    pub(super) fn staged_bytes(&self) -> usize {
        let sites = self.bodies.grain().sites;
        match self.precision {
            Precision::Double => 32 * sites,
            _ if sites == 1 => 16,
            // Coordinates, and a kind for all where there are others than molecules.
            _ => 12 * sites + if self.bodies.pure() { 0 } else { 4 },
        }
    }

    pub(super) fn new(
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        group_of: &[u32],
        precision: Precision,
        bodies: impl FnOnce(&[u32]) -> Bodies,
    ) -> Result<Self, EngineError> {
        let p = &system.particles;
        let mut constrained = vec![false; p.len()];
        for (atoms, _) in system.constraints.pairs() {
            atoms.into_iter().for_each(|i| constrained[i as usize] = true);
        }
        let mut known: HashMap<(u32, u64, u64, bool), u32> = HashMap::new();
        let mut distinct: Vec<(u32, f64, f64)> = Vec::new();
        let mut constrained_kinds = Vec::new();
        // Most particles are like the one before them.
        let mut last = None;
        let kind_of: Vec<u32> = (0..p.len())
            .map(|i| {
                let (charge, mass) = (p.charges[i], p.masses[i]);
                let key = (p.species[i], charge.to_bits(), mass.to_bits(), constrained[i]);
                if let Some((_, kind)) = last.filter(|(before, _)| *before == key) {
                    return kind;
                }
                let kind = *known.entry(key).or_insert_with(|| {
                    distinct.push((p.species[i], charge, mass));
                    constrained_kinds.push(constrained[i]);
                    distinct.len() as u32 - 1
                });
                last = Some((key, kind));
                kind
            })
            .collect();
        if distinct.len() > MOST_KINDS {
            return Err(unsupported(format!(
                "{} different combinations of species, charge and mass (at most {MOST_KINDS})",
                distinct.len()
            )));
        }
        let langevin = dynamics.has_langevin();
        let kinds: Vec<Kind> = distinct
            .iter()
            .zip(&constrained_kinds)
            .map(|(&(species, _, mass), &constrained)| {
                let thermostat = dynamics
                    .thermostats
                    .iter()
                    .filter(|t| !t.kind.scales_velocities())
                    .find(|t| t.species.is_empty() || t.species.contains(&species));
                let (keep, noise) = thermostat.map_or((1.0, 0.0), |t| {
                    let keep = (-dynamics.timestep / t.time).exp();
                    let kt = system.units.boltzmann() * t.temperature;
                    (keep, ((1.0 - keep * keep) * kt / mass).sqrt())
                });
                Kind {
                    inverse_mass: 1.0 / mass,
                    keep,
                    noise,
                    mass,
                    group: group_of[species as usize],
                    constrained: u32::from(constrained),
                }
            })
            .collect();
        let bodies = bodies(&kind_of);
        let excluded = Excluded::new(&system.exclusions, &bodies.in_molecules());
        let mut terms = Self {
            kind_of,
            kinds,
            parameters: Vec::new(),
            tables: Vec::new(),
            text: String::new(),
            excluded,
            bodies,
            count: field.pairs.len(),
            langevin,
            precision,
        };
        terms.write(field, &distinct);
        Ok(terms)
    }

    fn write(&mut self, field: &ForceField, kinds: &[(u32, f64, f64)]) {
        let real = if self.precision == Precision::Double {
            CudaReal::Double
        } else {
            CudaReal::Float
        };
        let rows: Vec<Vec<[f64; COLUMNS]>> =
            field.pairs.iter().map(|term| rows(term, field, kinds)).collect();
        let (mut functions, mut body) = (String::new(), String::new());
        // Term and column of the numbers that differ from pair to pair.
        let mut varying: Vec<(usize, usize)> = Vec::new();
        for (number, term) in field.pairs.iter().enumerate() {
            let tape = term.family.tape(term.truncation.kind());
            let rows = &rows[number];
            let same = |k: usize| {
                let x = rows[0][k];
                let alike = rows.iter().all(|row| row[k].to_bits() == x.to_bits());
                alike.then_some(x)
            };
            // Of the inputs the first is the distance.
            let always: Vec<Option<f64>> = std::iter::once(None).chain((2..COLUMNS).map(same)).collect();
            let given = Given {
                below: rows.iter().fold(0.0, |most, row| most.max(row[0])),
                always: &always,
            };
            functions += &tape.to_cuda_for_pairs(&format!("term_{number}"), real, given);
            let mut value = |k: usize| {
                if let Some(x) = same(k) {
                    return literal(x, real);
                }
                let place = varying.iter().position(|&at| at == (number, k));
                let place = place.unwrap_or_else(|| {
                    varying.push((number, k));
                    varying.len() - 1
                });
                format!("row.n[{place}]")
            };
            let mut arguments: Vec<String> = vec!["r2".into()];
            arguments.extend((2..COLUMNS).map(&mut value));
            if tape.tables() > 0 {
                arguments.push(format!("tables + {}", self.tables.len()));
                arguments.push(format!("{}", term.table.f64s().len()));
                self.tables.extend_from_slice(term.table.f64s());
            }
            arguments.extend(["energy".into(), "of_term".into()]);
            let arguments = arguments.join(", ");
            let (cutoff2, factor) = (value(0), value(1));
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
        let pairs = kinds.len() * kinds.len();
        let numbers = (0..pairs).flat_map(|pair| varying.iter().map(move |&(term, k)| (pair, term, k)));
        self.parameters
            .extend(numbers.map(|(pair, term, k)| rows[term][pair][k]));
        let active = |a: u32, b: u32| {
            let pair = a as usize * kinds.len() + b as usize;
            let acts = |row: &[f64; COLUMNS]| row[0] > 0.0 && row[1] != 0.0;
            (0..rows.len()).fold(0, |bits, term| bits | u32::from(acts(&rows[term][pair])) << term)
        };
        let molecules = self.bodies.text(kinds.len(), &active);
        let (count, kinds, width) = (self.count, kinds.len(), varying.len());
        let room = width.max(1);
        let reads = if width == 0 {
            "    (void)row, (void)own, (void)other, (void)parameters;\n".to_owned()
        } else {
            let reads = (0..width).map(|k| format!("    row.n[{k}] = from[{k}];\n"));
            let first = format!("    const real* from = parameters + (own * {kinds}u + other) * {width}u;\n");
            std::iter::once(first).chain(reads).collect()
        };
        self.text = format!(
            "#pragma once\n#include \"precision.cuh\"\nconstexpr u32 TERMS = {count};\n{functions}{molecules}
// Numbers of the terms between two kinds, as far as they are not the same for all.
struct Rows {{
    real n[{room}];
}};
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
"
        );
        // Kernels take no empty arrays.
        if self.parameters.is_empty() {
            self.parameters.push(0.0);
        }
        if self.tables.is_empty() {
            self.tables.push(0.0);
        }
    }
}

/// A number as the kernels write it, to the last bit.
fn literal(x: f64, real: CudaReal) -> String {
    match real {
        CudaReal::Float => format!("__uint_as_float(0x{:08x}u)", (x as f32).to_bits()),
        CudaReal::Double => format!("__longlong_as_double(0x{:016x}ll)", x.to_bits()),
    }
}

fn rows(term: &PairTerm, field: &ForceField, kinds: &[(u32, f64, f64)]) -> Vec<[f64; COLUMNS]> {
    let species = (term.rows.len() as f64).sqrt().round() as u32;
    let row = |a: &(u32, f64, f64), b: &(u32, f64, f64)| {
        let PairRow {
            cutoff,
            truncation,
            coefficients,
            ..
        } = &term.rows[(a.0 * species + b.0) as usize];
        let factor = if term.family.uses_charges() {
            field.coulomb_constant * a.1 * b.1
        } else {
            1.0
        };
        let mut numbers = [cutoff * cutoff, factor]
            .into_iter()
            .chain(coefficients.iter().copied())
            .chain(truncation.iter().copied());
        std::array::from_fn(|_| numbers.next().unwrap_or(0.0))
    };
    kinds
        .iter()
        .flat_map(|a| kinds.iter().map(move |b| row(a, b)))
        .collect()
}
