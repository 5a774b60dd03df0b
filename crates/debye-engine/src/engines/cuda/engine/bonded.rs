//! Bonds, angles, dihedrals and scaled pairs on a device: [`LinkTables`], which are made from the input, and [`Bonded`],
//! the kernels that use them.

use std::collections::HashMap;
use std::fmt::Write;

use super::kernels::{KernelConfig, Setup, World};
use super::layout::BLOCK;
use super::shared::Uint4;
use super::unsupported;
use crate::engines::EngineError;
use crate::expr::{CudaReal, Real, Sym, Table, Tape, Vec3};
use crate::forces::geometry::{self, Coordinate};
use crate::forces::{BondedTerm, ForceField, ListedPairs};
use crate::potentials::{AxisFamily, MAX_BONDED, MAX_COEFFICIENTS};
use crate::system::{Link, Particles, System};
use crate::truncation::TRUNCATION_COEFFICIENTS;
use debye_gpu::{
    Address, Addresses, Binder, Buffer, Bundle, ConstAddress, CudaError, Device, Kernel, ModuleSource, Shape,
    Stream,
};

/// Numbers of a row. Those of a scaled pair are cut-off², factor, coefficients, truncation; links need fewer.
const COLUMNS: usize = 2 + MAX_COEFFICIENTS + TRUNCATION_COEFFICIENTS;

/// Bits of the row of a link and of the place of a particle in it; the term has the rest.
pub(super) const ROW_BITS: u32 = 22;
pub(super) const PLACE_BITS: u32 = 2;
const MOST_TERMS: usize = 1 << (32 - ROW_BITS - PLACE_BITS);

/// The links of every particle and the numbers of their terms, as the kernels take them.
#[derive(Debug, Default)]
pub(super) struct LinkTables {
    /// Names of the terms, in the order of the sums.
    pub(super) names: Vec<String>,
    /// `bonded_terms.cuh`.
    pub(super) text: String,
    /// The first link of each particle, and the number of all.
    pub(super) starts: Vec<u32>,
    /// Links: three other particles, and a word of term, place and row.
    pub(super) links: Vec<[u32; 4]>,
    /// Numbers of all terms.
    pub(super) rows: Vec<[f64; COLUMNS]>,
    /// Tables of all terms, one after another.
    pub(super) tables: Vec<f64>,
    /// Whether all of them are pairs within rigid molecules: what holds these undoes what such pairs do to them.
    pub(super) inert: bool,
}

impl LinkTables {
    /// The links of a system that the force field has parameters for; nothing where there are no such terms.
    pub(super) fn new(system: &System, field: &ForceField) -> Result<Option<Self>, EngineError> {
        let t = &system.topology;
        let mut maker = Maker::default();
        for term in &field.bonds {
            maker.bonded(term, &term.family.tape(), &t.bonds, |d| geometry::distance(d[0]))?;
        }
        for term in &field.angles {
            let angle = |d: &[Vec3<Sym>]| geometry::angle(-d[0], d[1]);
            maker.bonded(term, &term.family.tape(), &t.angles, angle)?;
        }
        for (terms, links) in [(&field.dihedrals, &t.dihedrals), (&field.impropers, &t.impropers)] {
            for term in terms {
                let dihedral = |d: &[Vec3<Sym>]| geometry::dihedral(-d[0], -d[1], d[2]);
                maker.bonded(term, &term.family.tape(), links, dihedral)?;
            }
        }
        for term in &field.axes {
            maker.axes(term, &t.axes)?;
        }
        let pairs = field.listed_pairs(system);
        let rigid = system.constraints.rigid_molecules(system.particles.len());
        let within = |&[i, j]: &[u32; 2]| {
            let [a, b] = [i, j].map(|i| rigid[i as usize]);
            a.is_some() && a == b
        };
        maker.made.inert = maker.made.names.is_empty()
            && pairs
                .iter()
                .flat_map(|listed| &listed.pairs)
                .all(|(atoms, _)| within(atoms));
        for listed in pairs {
            maker.listed(&listed, field, &system.particles)?;
        }
        Ok((!maker.made.names.is_empty()).then(|| maker.finish(system.particles.len())))
    }

    /// Bytes of the tables, and numbers of a block for its sums.
    pub(super) fn needs(&self) -> (usize, usize) {
        let tables = size_of_val(&self.starts[..])
            + size_of_val(&self.links[..])
            + size_of_val(&self.rows[..])
            + size_of_val(&self.tables[..]);
        (tables, self.names.len() + 6)
    }

    /// The module of the bonded terms.
    pub(super) fn source(&self, case: KernelConfig<'_>) -> ModuleSource {
        case.module("bonded.cu", include_str!("../kernels/bonded.cu"))
            .include("bonded_terms.cuh", &self.text)
    }
}

/// Tables while they are made.
#[derive(Default)]
struct Maker {
    made: LinkTables,
    /// Text of the terms.
    terms: String,
    /// Links by particle.
    links: Vec<(u32, [u32; 4])>,
}

impl Maker {
    fn bonded<F: ?Sized, const N: usize>(
        &mut self,
        term: &BondedTerm<F>,
        tape: &Tape,
        links: &[Link<N>],
        geometry: impl Fn(&[Vec3<Sym>]) -> Coordinate<Sym, N>,
    ) -> Result<(), EngineError> {
        let row = |l: &Link<N>| {
            let given = (*term.rows.get(l.kind as usize)?)?;
            Some((l.atoms, padded(given)))
        };
        self.add(term.name.clone(), links.iter().filter_map(row))?;
        let tape = link_tape(geometry, |x, row| {
            let given = [&[x], &row[..MAX_BONDED]].concat();
            let e = tape.evaluate(&given, &[]);
            [e[0], e[1]]
        });
        self.print(&tape, N, &Table::default());
        Ok(())
    }

    /// Restraints of axes.
    fn axes(&mut self, term: &BondedTerm<dyn AxisFamily>, links: &[Link<2>]) -> Result<(), EngineError> {
        let row = |l: &Link<2>| Some((l.atoms, padded((*term.rows.get(l.kind as usize)?)?)));
        self.add(term.name.clone(), links.iter().filter_map(row))?;
        self.print_axis(&axis_tape(&term.family.tape()));
        Ok(())
    }

    /// A pair term at the distance of given pairs, with the truncation it has everywhere.
    fn listed(
        &mut self,
        listed: &ListedPairs,
        field: &ForceField,
        particles: &Particles,
    ) -> Result<(), EngineError> {
        let term = &listed.term;
        let species = (term.rows.len() as f64).sqrt().round() as u32;
        let charges = term.family.uses_charges();
        let row = |&(atoms, factor): &([u32; 2], f64)| {
            let [i, j] = atoms.map(|a| a as usize);
            let row = &term.rows[(particles.species[i] * species + particles.species[j]) as usize];
            let strength = if charges {
                field.coulomb_constant * particles.charges[i] * particles.charges[j]
            } else {
                1.0
            };
            let numbers = [row.cutoff * row.cutoff, factor * strength].into_iter();
            (
                atoms,
                padded(numbers.chain(row.coefficients).chain(row.truncation)),
            )
        };
        self.add(listed.name.clone(), listed.pairs.iter().map(row))?;
        let tape = term.family.tape(term.truncation.kind());
        let squared = |d: &[Vec3<Sym>]| geometry::squared_distance(d[0]);
        let tape = link_tape(squared, |r2, row| {
            let e = tape.evaluate(&[&[r2], &row[2..]].concat(), &[&term.table]);
            [e[0], e[1]].map(|x| Sym::select_lt(r2, row[0], x, Sym::lit(0.0)) * row[1])
        });
        self.print(&tape, 2, &term.table);
        Ok(())
    }

    /// Takes the links of one term. Its rows that are alike are kept once.
    fn add<const N: usize>(
        &mut self,
        name: String,
        links: impl Iterator<Item = ([u32; N], [f64; COLUMNS])>,
    ) -> Result<(), EngineError> {
        let term = self.made.names.len();
        let mut known: HashMap<[u64; COLUMNS], u32> = HashMap::new();
        for (atoms, numbers) in links {
            let next = self.made.rows.len() as u32;
            let row = *known.entry(numbers.map(f64::to_bits)).or_insert_with(|| {
                self.made.rows.push(numbers);
                next
            });
            for (place, &own) in atoms.iter().enumerate() {
                let mut others = atoms.iter().enumerate().filter(|(k, _)| *k != place);
                let mut other = || others.next().map_or(0, |(_, &id)| id);
                let packed = (term as u32) << (ROW_BITS + PLACE_BITS) | (place as u32) << ROW_BITS | row;
                self.links.push((own, [other(), other(), other(), packed]));
            }
        }
        if self.made.rows.len() > 1 << ROW_BITS || term >= MOST_TERMS {
            return Err(unsupported(format!(
                "more than {MOST_TERMS} bonded terms, or {} sets of their parameters (at `{name}`)",
                1 << ROW_BITS
            )));
        }
        self.made.names.push(name);
        Ok(())
    }

    /// Prints the term that was added last; `table` is what its tape looks into, if it does.
    fn print(&mut self, tape: &Tape, particles: usize, table: &Table) {
        let term = self.made.names.len() - 1;
        let axes = |name: &'static str, count: usize| {
            (0..count).flat_map(move |k| ["x", "y", "z"].map(|axis| format!("{name}[{k}].{axis}")))
        };
        let numbers = |name: &'static str, count: usize| (0..count).map(move |k| format!("{name}[{k}]"));
        let mut given: Vec<String> = axes("d", particles - 1).chain(numbers("c", COLUMNS)).collect();
        if tape.tables() > 0 {
            let values = table.f64s();
            given.push(format!("tables + {}, {}", self.made.tables.len(), values.len()));
            self.made.tables.extend_from_slice(values);
        }
        given.push("energy".into());
        given.extend(axes("f", particles).chain(numbers("virial", 6)));
        let (function, given) = (format!("link_{term}"), given.join(", "));
        self.terms += &tape.to_cuda(&function, CudaReal::Double);
        let _ = write!(
            self.terms,
            "struct Link{term} {{
    static constexpr u32 TERM = {term}, PARTICLES = {particles};
    static constexpr bool AXIS = false;
    static __device__ __forceinline__ void act(const Vector* d, u32 row, const f64* rows, const f64* tables,
                                               f64& energy, Vector* f, f64* virial)
    {{
        const f64* c = rows + row * {COLUMNS}u;
        (void)tables;
        {function}({given});
    }}
}};
"
        );
    }

    /// The same for a restraint of an axis.
    fn print_axis(&mut self, tape: &Tape) {
        let term = self.made.names.len() - 1;
        let vector = |name: &str| ["x", "y", "z"].map(|axis| format!("{name}.{axis}"));
        let numbers = |name: &'static str, count: usize| (0..count).map(move |k| format!("{name}[{k}]"));
        let given = vector("way").into_iter().chain(vector("axis"));
        let given = given.chain(numbers("c", COLUMNS)).chain(["energy".into()]);
        let given = given.chain(["f[0]", "f[1]", "torque"].into_iter().flat_map(vector));
        let given: Vec<String> = given.chain(numbers("virial", 6)).collect();
        let (function, given) = (format!("link_{term}"), given.join(", "));
        self.terms += &tape.to_cuda(&function, CudaReal::Double);
        let _ = write!(
            self.terms,
            "struct Link{term} {{
    static constexpr u32 TERM = {term}, PARTICLES = 2;
    static constexpr bool AXIS = true;
    static __device__ __forceinline__ void act(const Vector& way, const Vector& axis, u32 row, const f64* rows,
                                               f64& energy, Vector* f, Vector& torque, f64* virial)
    {{
        const f64* c = rows + row * {COLUMNS}u;
        {function}({given});
    }}
}};
"
        );
    }

    /// Links by particle, and by term where a particle has several: warps then do the same most of the time.
    fn finish(mut self, particles: usize) -> LinkTables {
        // Stable, and terms were added in their order.
        self.links.sort_by_key(|l| l.0);
        let mut made = self.made;
        made.starts = vec![0; particles + 1];
        for (id, _) in &self.links {
            made.starts[*id as usize + 1] += 1;
        }
        for i in 0..particles {
            made.starts[i + 1] += made.starts[i];
        }
        made.links = self.links.into_iter().map(|l| l.1).collect();
        let count = made.names.len();
        let visits: String = (0..count).map(|t| format!("    visit(Link{t}());\n")).collect();
        made.text = format!(
            "#pragma once\n#include \"exact.cuh\"\nconstexpr u32 LINK_TERMS = {count};\n{}
template <class Visit> __device__ __forceinline__ void each_link_term(Visit& visit)\n{{\n{visits}}}\n",
            self.terms
        );
        made
    }
}

/// A term as the kernels call it. It takes the displacement from each particle to the next and a row of numbers; it
/// gives the energy, the forces on all particles and the virial. `act` is the energy and its derivative by the coordinate.
fn link_tape<const N: usize>(
    geometry: impl Fn(&[Vec3<Sym>]) -> Coordinate<Sym, N>,
    act: impl Fn(Sym, &[Sym]) -> [Sym; 2],
) -> Tape {
    let count = 3 * (N - 1);
    Tape::record(count + COLUMNS, |s| {
        let (d, row) = s.split_at(count);
        let d: Vec<Vec3<Sym>> = d.chunks_exact(3).map(|d| Vec3::new(d[0], d[1], d[2])).collect();
        let coordinate = geometry(&d);
        let [energy, derivative] = act(coordinate.value, row);
        let forces = coordinate.forces(derivative);
        let mut virial = [Sym::lit(0.0); 6];
        for (d, f) in coordinate.relative.into_iter().zip(forces) {
            geometry::add_virial(&mut virial, d, f);
        }
        let forces = forces.into_iter().flat_map(Vec3::to_array);
        std::iter::once(energy).chain(forces).chain(virial).collect()
    })
}

/// A restraint of an axis as the kernels call it: from the separation and the axis of the first particle to the energy,
/// forces on both, the torque on the first and the virial.
fn axis_tape(tape: &Tape) -> Tape {
    Tape::record(6 + COLUMNS, |s| {
        let [d, z] = [0, 3].map(|k| Vec3::new(s[k], s[k + 1], s[k + 2]));
        let c = geometry::axis(z, d);
        let given = [&[c.value], &s[6..6 + MAX_BONDED]].concat();
        let u = tape.evaluate(&given, &[]);
        let force = c.by_separation * -u[1];
        let mut virial = [Sym::lit(0.0); 6];
        geometry::add_virial(&mut virial, d, force);
        let vectors = [-force, force, c.torque * -u[1]]
            .into_iter()
            .flat_map(Vec3::to_array);
        std::iter::once(u[0]).chain(vectors).chain(virial).collect()
    })
}

fn padded(numbers: impl IntoIterator<Item = f64>) -> [f64; COLUMNS] {
    let mut numbers = numbers.into_iter();
    std::array::from_fn(|_| numbers.next().unwrap_or(0.0))
}

debye_gpu::device_struct! {
    /// Tables of all links, and where sums go.
    #[derive(Default)]
    pub(super) struct Links {
        /// `links[starts[id]]` is the first of a particle.
        pub(super) starts: ConstAddress<u32>,
        /// The other particles in order, and packed: term, place of this particle among them, row.
        pub(super) links: ConstAddress<Uint4>,
        /// Numbers of the terms, row by row.
        pub(super) rows: ConstAddress<f64>,
        pub(super) tables: ConstAddress<f64>,
        /// Block by block: energies by term, virial.
        pub(super) partial: Address<f64>,
    }
}

type OnLinks = Kernel<(Addresses<World>, Addresses<Links>, Setup)>;

/// Energies by term, and the virial.
pub(in crate::engines::cuda) type LinkSums = (Vec<f64>, [f64; 6]);

/// The bonded terms of a simulation on its device.
pub(super) struct Bonded {
    /// See [`LinkTables`].
    pub(super) inert: bool,
    terms: usize,
    starts: Buffer<u32>,
    links: Buffer<u32>,
    rows: Buffer<f64>,
    tables: Buffer<f64>,
    partial: Buffer<f64>,
    bundle: Bundle<Links>,
    forces: OnLinks,
    sums: OnLinks,
}

impl Bonded {
    /// For the blocks of a layout.
    pub(super) fn new(
        device: &Device,
        tables: &LinkTables,
        case: KernelConfig<'_>,
    ) -> Result<Self, CudaError> {
        let module = device.module(&tables.source(case))?;
        let starts = device.upload(&tables.starts)?;
        let links = device.upload(tables.links.as_flattened())?;
        let rows = device.upload(tables.rows.as_flattened())?;
        let lookup = device.upload(&tables.tables)?;
        let partial = device.zeros(case.layout.blocks * (tables.names.len() + 6))?;
        Ok(Self {
            inert: tables.inert,
            terms: tables.names.len(),
            bundle: bundle(&starts, &links, [&rows, &lookup, &partial]),
            starts,
            links,
            rows,
            tables: lookup,
            partial,
            forces: module.kernel("debye_bonded")?,
            sums: module.kernel("debye_bonded_sums")?,
        })
    }

    /// Room for another number of blocks.
    pub(super) fn resize(&mut self, device: &Device, blocks: usize) -> Result<(), CudaError> {
        self.partial = device.zeros(blocks * (self.terms + 6))?;
        self.bundle = bundle(
            &self.starts,
            &self.links,
            [&self.rows, &self.tables, &self.partial],
        );
        Ok(())
    }

    /// Bytes of the tables, and numbers of a block for its sums.
    pub(super) fn needs(&self) -> (usize, usize) {
        let tables = self.starts.bytes() + self.links.bytes() + self.rows.bytes() + self.tables.bytes();
        (tables, self.terms + 6)
    }

    /// Queues the forces of a step.
    pub(super) fn queue(&self, s: &Stream, world: &Bundle<World>, setup: Setup) -> Result<(), CudaError> {
        self.forces.launch(s, self.shape(), (world, &self.bundle, setup))
    }

    /// Queues forces and sums, whatever the state of the run.
    pub(super) fn queue_sums(
        &self,
        s: &Stream,
        world: &Bundle<World>,
        setup: Setup,
    ) -> Result<(), CudaError> {
        self.sums.launch(s, self.shape(), (world, &self.bundle, setup))
    }

    /// What the host reads of them.
    pub(super) fn partial(&self) -> &Buffer<f64> {
        &self.partial
    }

    /// The sums that were queued, from those of so many blocks in use.
    pub(super) fn sums(&self, parts: &[f64], blocks: usize) -> LinkSums {
        let width = self.terms + 6;
        let (mut energies, mut virial) = (vec![0.0; self.terms], [0.0; 6]);
        for block in parts.chunks_exact(width).take(blocks) {
            let to = energies.iter_mut().chain(&mut virial);
            to.zip(block).for_each(|(sum, x)| *sum += x);
        }
        (energies, virial)
    }

    fn shape(&self) -> Shape {
        Shape::new((self.partial.len() / (self.terms + 6)) as u32, BLOCK as u32)
    }
}

fn bundle(
    starts: &Buffer<u32>,
    links: &Buffer<u32>,
    [rows, tables, partial]: [&Buffer<f64>; 3],
) -> Bundle<Links> {
    let mut at = Binder::default();
    let links = Links {
        starts: at.address(starts),
        links: at.address(links),
        rows: at.address(rows),
        tables: at.address(tables),
        partial: at.address(partial),
    };
    at.bundle(links)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Dual;
    use crate::potentials::{ANGLES, BONDS, DIHEDRALS, MAX_BONDED, Parameters};

    /// Forces are −∇E and the virial is Σ r⊗F, by differentiation of the energy that is printed beside them.
    fn check<const N: usize>(
        tape: &Tape,
        c: &[f64; MAX_BONDED],
        name: &str,
        geometry: impl Fn(&[Vec3<Sym>]) -> Coordinate<Sym, N>,
    ) {
        let link = link_tape(geometry, |x, row| {
            let e = tape.evaluate(&[&[x], &row[..MAX_BONDED]].concat(), &[]);
            [e[0], e[1]]
        });
        let all = [0.7, 0.3, -0.4, 0.6, -0.8, 0.1, 0.2, 0.5, 0.9];
        let d = &all[..3 * (N - 1)];
        let inputs: Vec<f64> = d.iter().copied().chain(padded(*c)).collect();
        let found = link.evaluate(&inputs, &[]);
        let (mut forces, mut virial) = ([[0.0; 3]; N], [[0.0; 3]; 3]);
        for k in 0..d.len() {
            let mut duals: Vec<Dual<f64>> = inputs.iter().copied().map(Dual::constant).collect();
            duals[k].derivative = 1.0;
            let partial = link.evaluate(&duals, &[])[0].derivative;
            forces[k / 3][k % 3] += partial;
            forces[k / 3 + 1][k % 3] -= partial;
            for (axis, row) in virial.iter_mut().enumerate() {
                row[k % 3] -= d[k / 3 * 3 + axis] * partial;
            }
        }
        let [x, y, z] = virial;
        let virial = [x[0], y[1], z[2], x[1], x[2], y[2]];
        let wanted = forces.iter().flatten().chain(&virial);
        for (got, want) in found[1..].iter().zip(wanted) {
            assert!(
                (got - want).abs() < 1e-10 * (1.0 + want.abs()),
                "{name}: {got} {want}"
            );
        }
    }

    #[test]
    fn forces_and_virials_are_derivatives_of_energies() {
        macro_rules! each {
            ($list:ident, $geometry:expr) => {
                for family in &$list {
                    for sample in family.samples() {
                        let c = family.coefficients(Parameters(&sample.values));
                        check(&family.tape(), &c, family.name(), $geometry);
                    }
                }
            };
        }
        each!(BONDS, |d| geometry::distance(d[0]));
        each!(BONDS, |d| geometry::squared_distance(d[0]));
        each!(ANGLES, |d| geometry::angle(-d[0], d[1]));
        each!(DIHEDRALS, |d| geometry::dihedral(-d[0], -d[1], d[2]));
    }
}
