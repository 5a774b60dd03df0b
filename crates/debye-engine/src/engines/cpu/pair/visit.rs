//! The skeleton of every pair kernel: a particle and a vector of its neighbors.

use super::terms::{ALL, NONE, ONE, Row, Terms};
use crate::expr::{Table, Vec3};
use crate::neighbors::{ListBlock, ListRow, SHARED};
use crate::potentials::{Numbers, PairForces, PairJob, PairSums, TOGETHER};
use crate::simd::{Abreast, Lanes, Three};
use crate::truncation::TruncationKind;

/// Energy and virial of one term, in units of the coordinates; the virial still without its factor −2.
#[derive(Clone, Copy)]
struct Tally<L> {
    energy: L,
    virial: [L; 6],
}

impl<L: Lanes> Tally<L> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            energy: L::lit(0.0),
            virial: [L::lit(0.0); 6],
        }
    }

    #[inline(always)]
    fn add(&mut self, d: Vec3<L>, energy: L, derivative: L) {
        let force = d * derivative;
        let Self { energy: sum, virial } = self;
        *sum = *sum + energy;
        virial[0] = d.x.mul_add(force.x, virial[0]);
        virial[1] = d.y.mul_add(force.y, virial[1]);
        virial[2] = d.z.mul_add(force.z, virial[2]);
        virial[3] = d.x.mul_add(force.y, virial[3]);
        virial[4] = d.x.mul_add(force.z, virial[4]);
        virial[5] = d.y.mul_add(force.z, virial[5]);
    }
}

/// This share of the pairs' energy and virial.
#[inline(always)]
fn add_up<L: Lanes>(tallies: &[Tally<L>; TOGETHER], sums: &mut [PairSums], unit: f64, share: f64) {
    for (sums, tally) in sums.iter_mut().zip(tallies) {
        sums.energy += share * tally.energy.sum();
        for (to, part) in sums.virial.iter_mut().zip(tally.virial) {
            *to -= 2.0 * share * unit * unit * part.sum();
        }
    }
}

/// The numbers that every vector begins with.
struct Alike<'a, L> {
    unit2: L,
    broadcast: [Row<L>; TOGETHER],
    tables: [&'a Table; TOGETHER],
    ends: [TruncationKind; TOGETHER],
}

impl<'a, L: Lanes> Alike<'a, L> {
    #[inline(always)]
    fn of(job: &PairJob<'a, L::Coordinate, L::Element>) -> Self {
        let [a, b] = &job.terms;
        let first = |t: &Numbers<L::Element>| Row::<L>::with(|k| L::splat(t.columns.columns[k][0]));
        Self {
            unit2: L::lit(job.unit) * L::lit(job.unit),
            broadcast: [first(a), first(b)],
            tables: [a.table, b.table],
            ends: [a.truncation, b.truncation],
        }
    }

    /// The numbers between a particle and others of a species; whether there is anything of the first term.
    ///
    /// # Safety
    /// Both species must be inside the columns.
    #[inline(always)]
    unsafe fn pair(
        &self,
        job: &PairJob<L::Coordinate, L::Element>,
        own: usize,
        other: u32,
        rows: &mut [Row<L>; TOGETHER],
    ) -> bool {
        let mut present = [true; TOGETHER];
        for (term, row) in rows.iter_mut().enumerate() {
            let columns = job.terms[term].columns;
            if columns.is_uniform() {
                continue;
            }
            // SAFETY: the caller's promise; columns have a number for every pair of species.
            unsafe {
                let pair = (job.species[own] * columns.species + other) as usize;
                present[term] = !*columns.absent.get_unchecked(pair);
                *row = Row::with(|k| L::splat(*columns.columns[k].get_unchecked(pair)));
            }
        }
        present[0]
    }

    /// The numbers between a particle and a vector of others, each of its own species.
    ///
    /// # Safety
    /// As for [`PairKernel`](super::PairKernel).
    #[inline(always)]
    unsafe fn look_up(
        &self,
        job: &PairJob<L::Coordinate, L::Element>,
        own: usize,
        others: &[u32],
        rows: &mut [Row<L>; TOGETHER],
    ) {
        for (numbers, row) in job.terms.iter().zip(rows) {
            let columns = numbers.columns;
            if columns.is_uniform() {
                continue;
            }
            // SAFETY: the caller's promise; columns have a number for every pair of species.
            unsafe {
                let others = L::indices(others.as_ptr());
                let pairs = L::species(
                    job.other_species.as_ptr(),
                    others,
                    job.species[own] * columns.species,
                );
                *row = Row::with(|k| L::lookup(columns.columns[k].as_ptr(), pairs));
            }
        }
    }
}

/// The body of every kernel over lists of particles: a vector holds neighbors of one particle, or of a few that share a row.
///
/// # Safety
/// As for [`PairKernel`](super::PairKernel).
#[inline(always)]
pub(super) unsafe fn visit<K, L, const UNIFORM: bool, const ENERGY: bool>(
    job: &PairJob<L::Coordinate, L::Element>,
    block: &ListBlock,
    PairForces { own, others }: PairForces<L::Element>,
) -> [PairSums; TOGETHER]
where
    K: Terms,
    L: Lanes,
{
    const {
        assert!(
            K::COUNT > 1 || !K::SHARES,
            "a row is shared where there are two terms"
        )
    };
    let alike = Alike::<L>::of(job);
    let mut sums = [PairSums::default(); TOGETHER];
    let shares = K::SHARES && (UNIFORM || job.grouped) && job.terms[1].columns.is_uniform();
    for row in block.rows() {
        let first = block.particles().start + row.of.start;
        let forces = &mut own[row.of.clone()];
        // SAFETY: the caller's promise.
        unsafe {
            // Constants first: what they exclude is not compiled.
            if K::SHARES && shares && forces.len() == SHARED {
                let to = PairForces { own: forces, others };
                visit_row::<K, L, Three<L>, UNIFORM, ENERGY>(job, &alike, first, &row, to, &mut sums);
            } else {
                for (k, own) in forces.chunks_exact_mut(1).enumerate() {
                    let to = PairForces { own, others };
                    visit_row::<K, L, L, UNIFORM, ENERGY>(job, &alike, first + k, &row, to, &mut sums);
                }
            }
        }
    }
    sums
}

/// Adds what a row does to the particles from `first` on that are side by side: more than one only where vectors are of one
/// species, and where the second of two terms has the same numbers for all of them.
///
/// # Safety
/// As for [`PairKernel`](super::PairKernel).
#[inline(always)]
unsafe fn visit_row<K, L, S, const UNIFORM: bool, const ENERGY: bool>(
    job: &PairJob<L::Coordinate, L::Element>,
    alike: &Alike<L>,
    first: usize,
    row: &ListRow,
    PairForces { own, others }: PairForces<L::Element>,
    sums: &mut [PairSums; TOGETHER],
) where
    K: Terms,
    L: Lanes,
    S: Abreast<L>,
{
    let mut sites = Sites::<L, S>::new(job, first);
    let usual = || Row::<S>::alike(&alike.broadcast[1]);
    // SAFETY: the caller's promise.
    unsafe {
        if UNIFORM {
            let rows = [Row::alike(&alike.broadcast[0]), usual()];
            sites.interact::<K, ALL, ENERGY>(job, row.entries(), &rows, alike, others);
        } else if job.grouped {
            // A group has one species.
            for (species, group) in row.groups().enumerate() {
                let mut of_sites = [alike.broadcast; SHARED];
                let mut present = NONE;
                for (k, row) in of_sites.iter_mut().take(S::COUNT).enumerate() {
                    present |= u32::from(alike.pair(job, first + k, species as u32, row)) << k;
                }
                let second = if const { S::COUNT > 1 } {
                    usual()
                } else {
                    Row::each(&|k| &of_sites[k][1])
                };
                let rows = [Row::each(&|k| &of_sites[k][0]), second];
                if const { K::COUNT > 1 } && present == NONE {
                    sites.interact::<K, NONE, ENERGY>(job, group, &rows, alike, others);
                } else if const { K::COUNT > 1 && S::COUNT > 1 } && present == ONE {
                    sites.interact::<K, ONE, ENERGY>(job, group, &rows, alike, others);
                } else if present != NONE {
                    sites.interact::<K, ALL, ENERGY>(job, group, &rows, alike, others);
                }
            }
        } else {
            for vector in row.entries().chunks_exact(L::WIDTH) {
                let mut of_sites = [alike.broadcast; 1];
                alike.look_up(job, first, vector, &mut of_sites[0]);
                let rows = [0, 1].map(|term| Row::each(&|_| &of_sites[0][term]));
                sites.interact::<K, ALL, ENERGY>(job, vector, &rows, alike, others);
            }
        }
    }
    for (k, to) in own.iter_mut().enumerate() {
        let of = |sum: S| sum.at(k).sum();
        *to += Vec3::new(of(sites.force.x), of(sites.force.y), of(sites.force.z)) * (2.0 * job.unit);
    }
    if ENERGY {
        let share = if others.is_empty() { 0.5 } else { 1.0 };
        add_up(&sites.tallies, &mut sums[..K::COUNT], job.unit, share);
    }
}

/// Particles side by side, and what a row does to them.
struct Sites<L: Lanes, S> {
    own: [[L::Coordinate; 4]; SHARED],
    charge: S,
    force: Vec3<S>,
    tallies: [Tally<L>; TOGETHER],
}

impl<L: Lanes, S: Abreast<L>> Sites<L, S> {
    #[inline(always)]
    fn new(job: &PairJob<L::Coordinate, L::Element>, first: usize) -> Self {
        let mut own = [[L::Coordinate::default(); 4]; SHARED];
        own[..S::COUNT].copy_from_slice(&job.coordinates[first..first + S::COUNT]);
        Self {
            own,
            charge: S::each(|k| L::own_number(&own[k], 3)) * S::lit(job.coulomb),
            force: Vec3::zero(),
            tallies: [Tally::new(); TOGETHER],
        }
    }

    /// Adds what a run of entries does to every site, and what they are given for it; `FIRST` says which sites have the first of
    /// two terms.
    ///
    /// # Safety
    /// As for [`PairKernel`](super::PairKernel).
    #[inline(always)]
    unsafe fn interact<K: Terms, const FIRST: u32, const ENERGY: bool>(
        &mut self,
        job: &PairJob<L::Coordinate, L::Element>,
        entries: &[u32],
        rows: &[Row<S>; TOGETHER],
        alike: &Alike<L>,
        to: &mut [[L::Element; 4]],
    ) {
        // In registers.
        let mut force = self.force;
        let mut last: Option<(&[u32], Vec3<L>)> = None;
        for entries in entries.chunks_exact(L::WIDTH) {
            // SAFETY: entries of the block are inside the coordinates by the caller's promise.
            let others = unsafe { L::gather_records(job.others.as_ptr(), entries.as_ptr()) };
            // From the site to the others: what is the same for all vectors can be read from memory as it is used.
            let d = S::vectors(|k| L::away(&others, &self.own[k]));
            let r2 = d.norm2() * S::alike(alike.unit2);
            // Nothing waits for what the last vector is given, so it is written while this one is computed.
            if let Some((entries, given)) = last {
                // SAFETY: entries of the block are inside the forces by the caller's promise.
                unsafe { L::scatter_add(to.as_mut_ptr(), entries.as_ptr(), given) };
            }
            let charges = self.charge * S::alike(L::numbers(&others, 3));
            let found = K::interact::<L, S, FIRST>(r2, rows, charges, alike.tables, alike.ends);
            let derivative = K::total::<L, S, FIRST>(&found);
            force.x = d.x.mul_add(derivative, force.x);
            force.y = d.y.mul_add(derivative, force.y);
            force.z = d.z.mul_add(derivative, force.z);
            if !to.is_empty() {
                let given = Vec3::new(d.x.dot(derivative), d.y.dot(derivative), d.z.dot(derivative));
                last = Some((entries, given));
            }
            if ENERGY {
                for k in 0..S::COUNT {
                    let d = Vec3::new(d.x.at(k), d.y.at(k), d.z.at(k));
                    for (tally, (energy, derivative)) in self.tallies.iter_mut().zip(found).take(K::COUNT) {
                        tally.add(d, energy.at(k), derivative.at(k));
                    }
                }
            }
        }
        if let Some((entries, given)) = last {
            // SAFETY: as above.
            unsafe { L::scatter_add(to.as_mut_ptr(), entries.as_ptr(), given) };
        }
        self.force = force;
    }
}
