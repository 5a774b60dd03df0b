//! The skeleton of every pair kernel: a particle and a vector of its neighbors.

use super::terms::{Row, Terms};
use crate::expr::{Table, Vec3};
use crate::neighbors::{ListBlock, ListRow, SHARED};
use crate::potentials::{Numbers, PairJob, PairSums, TOGETHER};
use crate::simd::Lanes;
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

/// Adds the derivatives of all terms, in units of the coordinates and still without their factor −2.
#[inline(always)]
fn add_force<K: Terms, L: Lanes>(force: &mut Vec3<L>, d: Vec3<L>, found: &[(L, L); TOGETHER], first: bool) {
    let derivative = K::total(found, first);
    force.x = d.x.mul_add(derivative, force.x);
    force.y = d.y.mul_add(derivative, force.y);
    force.z = d.z.mul_add(derivative, force.z);
}

/// Adds energies and virials by term.
#[inline(always)]
fn add_tallies<K: Terms, L: Lanes>(
    tallies: &mut [Tally<L>; TOGETHER],
    d: Vec3<L>,
    found: &[(L, L); TOGETHER],
) {
    for (tally, &(energy, derivative)) in tallies.iter_mut().zip(found).take(K::COUNT) {
        tally.add(d, energy, derivative);
    }
}

/// Half of the pairs' energy and virial.
#[inline(always)]
fn add_up<L: Lanes>(tallies: &[Tally<L>; TOGETHER], sums: &mut [PairSums], unit: f64) {
    for (sums, tally) in sums.iter_mut().zip(tallies) {
        sums.energy += 0.5 * tally.energy.sum();
        for (to, part) in sums.virial.iter_mut().zip(tally.virial) {
            *to -= unit * unit * part.sum();
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
                let pairs = L::species(job.species.as_ptr(), others, job.species[own] * columns.species);
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
    forces: &mut [Vec3<f64>],
) -> [PairSums; TOGETHER]
where
    K: Terms,
    L: Lanes,
{
    let alike = Alike::<L>::of(job);
    let mut sums = [PairSums::default(); TOGETHER];
    for row in block.rows() {
        let first = block.particles().start + row.of.start;
        let forces = &mut forces[row.of.clone()];
        // SAFETY: the caller's promise.
        unsafe {
            match forces.len() {
                SHARED if K::SHARES && (UNIFORM || job.grouped) => {
                    visit_row::<K, L, SHARED, UNIFORM, ENERGY>(job, &alike, first, &row, forces, &mut sums);
                }
                _ => {
                    for (k, force) in forces.chunks_exact_mut(1).enumerate() {
                        visit_row::<K, L, 1, UNIFORM, ENERGY>(job, &alike, first + k, &row, force, &mut sums);
                    }
                }
            }
        }
    }
    sums
}

/// Adds what a row does to the `N` particles from `first` on: more than one only where vectors are of one species.
///
/// # Safety
/// As for [`PairKernel`](super::PairKernel).
#[inline(always)]
unsafe fn visit_row<K, L, const N: usize, const UNIFORM: bool, const ENERGY: bool>(
    job: &PairJob<L::Coordinate, L::Element>,
    alike: &Alike<L>,
    first: usize,
    row: &ListRow,
    forces: &mut [Vec3<f64>],
    sums: &mut [PairSums; TOGETHER],
) where
    K: Terms,
    L: Lanes,
{
    let mut sites = Sites::<L, N>::new(job, first);
    // SAFETY: the caller's promise.
    unsafe {
        if UNIFORM {
            sites.meet::<K, ALL, ENERGY>(job, row.entries(), &[alike.broadcast; N], alike);
        } else if job.grouped {
            // A group has one species.
            for (species, group) in row.groups().enumerate() {
                let mut rows = [alike.broadcast; N];
                let mut present = 0;
                for (k, row) in rows.iter_mut().enumerate() {
                    present |= u32::from(alike.pair(job, first + k, species as u32, row)) << k;
                }
                match present {
                    0 if K::COUNT == 1 => {}
                    0 => sites.meet::<K, 0, ENERGY>(job, group, &rows, alike),
                    1 if N > 1 && K::COUNT > 1 => sites.meet::<K, 1, ENERGY>(job, group, &rows, alike),
                    _ => sites.meet::<K, ALL, ENERGY>(job, group, &rows, alike),
                }
            }
        } else {
            for vector in row.entries().chunks_exact(L::WIDTH) {
                let mut rows = [alike.broadcast; N];
                for (k, row) in rows.iter_mut().enumerate() {
                    alike.look_up(job, first + k, vector, row);
                }
                sites.meet::<K, ALL, ENERGY>(job, vector, &rows, alike);
            }
        }
    }
    for (to, force) in forces.iter_mut().zip(&sites.force) {
        *to += Vec3::new(force.x.sum(), force.y.sum(), force.z.sum()) * (2.0 * job.unit);
    }
    if ENERGY {
        add_up(&sites.tallies, &mut sums[..K::COUNT], job.unit);
    }
}

/// Particles that share a row, and what it does to them.
struct Sites<L: Lanes, const N: usize> {
    own: [[L::Coordinate; 4]; N],
    charge: [L; N],
    force: [Vec3<L>; N],
    tallies: [Tally<L>; TOGETHER],
}

/// Every site has the first of two terms with the others of a run; those that lack it have no reach.
const ALL: u32 = u32::MAX;

impl<L: Lanes, const N: usize> Sites<L, N> {
    #[inline(always)]
    fn new(job: &PairJob<L::Coordinate, L::Element>, first: usize) -> Self {
        let own = std::array::from_fn(|k| job.coordinates[first + k]);
        let mut charge = [L::lit(0.0); N];
        for k in 0..N {
            charge[k] = L::own_number(&own[k], 3) * L::lit(job.coulomb);
        }
        Self {
            own,
            charge,
            force: [Vec3::zero(); N],
            tallies: [Tally::new(); TOGETHER],
        }
    }

    /// Adds what a run of entries does to every site; bit k of `FIRST` says whether site k has the first of two terms.
    ///
    /// # Safety
    /// As for [`PairKernel`](super::PairKernel).
    #[inline(always)]
    unsafe fn meet<K: Terms, const FIRST: u32, const ENERGY: bool>(
        &mut self,
        job: &PairJob<L::Coordinate, L::Element>,
        entries: &[u32],
        rows: &[[Row<L>; TOGETHER]; N],
        alike: &Alike<L>,
    ) {
        for entries in entries.chunks_exact(L::WIDTH) {
            // SAFETY: entries of the block are inside the coordinates by the caller's promise.
            let others = unsafe { L::bring(job.coordinates.as_ptr(), entries.as_ptr()) };
            // Written out, so that sums stay in registers.
            self.meet_one::<K, FIRST, ENERGY>(0, &others, rows, alike);
            if N > 1 {
                self.meet_one::<K, FIRST, ENERGY>(1, &others, rows, alike);
            }
            if N > 2 {
                self.meet_one::<K, FIRST, ENERGY>(2, &others, rows, alike);
            }
        }
    }

    /// Adds what one vector of others does to site `k`.
    #[inline(always)]
    fn meet_one<K: Terms, const FIRST: u32, const ENERGY: bool>(
        &mut self,
        k: usize,
        others: &L::Stored,
        rows: &[[Row<L>; TOGETHER]; N],
        alike: &Alike<L>,
    ) {
        let charges = self.charge[k] * L::numbers(others, 3);
        // From the site to the others: what is the same for all vectors can be read from memory as it is used.
        let d = L::away(others, &self.own[k]);
        let r2 = d.norm2() * alike.unit2;
        let first = FIRST >> k & 1 == 1;
        let found = if first {
            K::interact::<L, true>(r2, &rows[k], charges, alike.tables, alike.ends)
        } else {
            K::interact::<L, false>(r2, &rows[k], charges, alike.tables, alike.ends)
        };
        add_force::<K, L>(&mut self.force[k], d, &found, first);
        if ENERGY {
            add_tallies::<K, L>(&mut self.tallies, d, &found);
        }
    }
}
