//! The skeleton of every pair kernel: a few particles and a vector of their neighbors.

use super::terms::{ALL, NONE, ONE, Row, Terms};
use crate::expr::{Table, Vec3};
use crate::neighbors::{ListBlock, ListRow, SHARED};
use crate::potentials::{Numbers, PairForces, PairJob, PairSums, TOGETHER};
use crate::simd::{Abreast, Four, Lanes, Three};
use crate::truncation::TruncationKind;

/// Energy and virial of one term, in units of the coordinates; the virial still without its factor −2.
#[derive(Clone, Copy)]
struct Tally<L> {
    energy: L,
    /// What rounding has added to the energy: in a crystal all rows lose the same digits, which does not average out.
    excess: L,
    virial: [L; 6],
}

impl<L: Lanes> Tally<L> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            energy: L::lit(0.0),
            excess: L::lit(0.0),
            virial: [L::lit(0.0); 6],
        }
    }

    #[inline(always)]
    fn add(&mut self, d: Vec3<L>, energy: L, derivative: L) {
        let force = d * derivative;
        let rest = energy - self.excess;
        let sum = self.energy + rest;
        self.excess = (sum - self.energy) - rest;
        self.energy = sum;
        let virial = &mut self.virial;
        virial[0] = d.x.mul_add(force.x, virial[0]);
        virial[1] = d.y.mul_add(force.y, virial[1]);
        virial[2] = d.z.mul_add(force.z, virial[2]);
        virial[3] = d.x.mul_add(force.y, virial[3]);
        virial[4] = d.x.mul_add(force.z, virial[4]);
        virial[5] = d.y.mul_add(force.z, virial[5]);
    }
}

/// Adds energy and virial.
#[inline(always)]
fn add_up<L: Lanes>(tallies: &[Tally<L>; TOGETHER], sums: &mut [PairSums], unit: f64) {
    for (sums, tally) in sums.iter_mut().zip(tallies) {
        sums.energy += tally.energy.sum() - tally.excess.sum();
        for (to, part) in sums.virial.iter_mut().zip(tally.virial) {
            *to -= 2.0 * unit * unit * part.sum();
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
            unit2: L::lit(job.unit * job.unit),
            broadcast: [first(a), first(b)],
            tables: [a.table, b.table],
            ends: [a.truncation, b.truncation],
        }
    }

    /// The numbers of a term between two species, by the place of the pair in its columns.
    ///
    /// # Safety
    /// The place must be inside the columns.
    #[inline(always)]
    unsafe fn row(&self, job: &PairJob<L::Coordinate, L::Element>, term: usize, pair: usize) -> Row<L> {
        let columns = job.terms[term].columns;
        if columns.is_uniform() {
            return self.broadcast[term];
        }
        // SAFETY: the caller's promise.
        Row::with(|k| L::splat(unsafe { *columns.columns[k].get_unchecked(pair) }))
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

/// The body of every kernel over half lists: a vector holds neighbors of the few particles that share a row.
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
    let alike = Alike::<L>::of(job);
    let mut sums = [PairSums::default(); TOGETHER];
    let mut masks = block.masks();
    // Side by side only where vectors are of one species, and where the second of two terms has the same numbers for all.
    let one_species = (UNIFORM || job.grouped) && (K::COUNT == 1 || job.terms[1].columns.is_uniform());
    for row in block.rows() {
        let to = PairForces {
            own: &mut own[row.of.clone()],
            others,
        };
        // SAFETY: the caller's promise.
        unsafe {
            // Constants first: what they exclude is not compiled.
            if K::SIDE_BY_SIDE && !ENERGY && one_species && row.of.len() == 4 {
                visit_row::<K, L, Four<L>, 1, UNIFORM, ENERGY>(job, &alike, &row, &mut masks, to, &mut sums);
            } else if K::SIDE_BY_SIDE && K::COUNT > 1 && !ENERGY && one_species && row.of.len() == 3 {
                visit_row::<K, L, Three<L>, 1, UNIFORM, ENERGY>(job, &alike, &row, &mut masks, to, &mut sums);
            } else {
                visit_row::<K, L, L, SHARED, UNIFORM, ENERGY>(job, &alike, &row, &mut masks, to, &mut sums);
            }
        }
    }
    sums
}

/// Adds what a row does to its particles, in at most `CHUNKS` chunks of as many as `S` has vectors side by side. The sums are
/// the same however many these are.
///
/// # Safety
/// As for [`PairKernel`](super::PairKernel).
#[inline(always)]
unsafe fn visit_row<K, L, S, const CHUNKS: usize, const UNIFORM: bool, const ENERGY: bool>(
    job: &PairJob<L::Coordinate, L::Element>,
    alike: &Alike<L>,
    row: &ListRow,
    masks: &mut &[[u16; SHARED]],
    PairForces { own, others }: PairForces<L::Element>,
    sums: &mut [PairSums; TOGETHER],
) where
    K: Terms,
    L: Lanes,
    S: Abreast<L>,
{
    // SAFETY: the caller's promise.
    let mut sites = unsafe { Sites::<L, S, CHUNKS>::new(job, row) };
    let mut numbers = SiteNumbers {
        rows: [
            Row::<S>::alike(&alike.broadcast[0]),
            Row::alike(&alike.broadcast[1]),
        ],
        pairs: [[0; SHARED]; TOGETHER],
    };
    // SAFETY: the caller's promise; columns have a number for every pair of species.
    unsafe {
        if UNIFORM {
            for (number, group) in row.groups().enumerate() {
                let masks = take_first(masks, row.masked(number));
                sites.interact::<K, ALL, ROWS, ENERGY>(job, group, masks, &numbers, alike, others);
            }
        } else if job.grouped {
            for (number, group) in row.groups().enumerate() {
                let masks = take_first(masks, row.masked(number));
                // A group has one species.
                let mut present = NONE;
                let mut of_sites = [alike.broadcast[0]; SHARED];
                for k in 0..row.of.len() {
                    for (term, pairs) in numbers.pairs.iter_mut().enumerate() {
                        let species = job.species[row.of.start + k];
                        pairs[k] = (species * job.terms[term].columns.species) as usize + number;
                    }
                    let pair = numbers.pairs[0][k];
                    let absent = job.terms[0]
                        .columns
                        .absent
                        .get(pair)
                        .is_some_and(|absent| *absent);
                    present |= u32::from(!absent) << k;
                    if const { S::COUNT > 1 } {
                        of_sites[k] = alike.row(job, 0, pair);
                    }
                }
                // Side by side the second term has the same numbers for all.
                if const { S::COUNT > 1 } {
                    numbers.rows[0] = Row::each(&|k| &of_sites[k]);
                }
                if K::COUNT > 1 && present == NONE {
                    sites.interact::<K, NONE, PAIRS, ENERGY>(job, group, masks, &numbers, alike, others);
                } else if K::COUNT > 1 && S::COUNT > 1 && present == ONE {
                    sites.interact::<K, ONE, PAIRS, ENERGY>(job, group, masks, &numbers, alike, others);
                } else if present != NONE {
                    sites.interact::<K, ALL, PAIRS, ENERGY>(job, group, masks, &numbers, alike, others);
                }
            }
        } else {
            let masks = take_first(masks, row.masked(0));
            for k in 0..row.of.len() {
                numbers.pairs[0][k] = row.of.start + k;
            }
            sites.interact::<K, ALL, LOOKED_UP, ENERGY>(job, row.entries(), masks, &numbers, alike, others);
        }
    }
    for (to, force) in own.chunks_exact_mut(S::COUNT).zip(&sites.force) {
        for (k, to) in to.iter_mut().enumerate() {
            *to += L::sums(Vec3::new(force.x.at(k), force.y.at(k), force.z.at(k))) * (2.0 * job.unit);
        }
    }
    if ENERGY {
        for tallies in &sites.tallies[..sites.chunks] {
            add_up(tallies, &mut sums[..K::COUNT], job.unit);
        }
    }
}

/// Takes so many from the front.
#[inline(always)]
fn take_first<'a>(masks: &mut &'a [[u16; SHARED]], count: usize) -> &'a [[u16; SHARED]] {
    let (first, rest) = masks.split_at(count);
    *masks = rest;
    first
}

/// The numbers of a row's particles with a vector of their neighbors.
struct SiteNumbers<S> {
    /// [`ROWS`]: the same for all chunks, or those of the one chunk there is.
    rows: [Row<S>; TOGETHER],
    /// [`PAIRS`]: for each term and particle, where in its columns they are. [`LOOKED_UP`]: which particle of the block it is.
    pairs: [[usize; SHARED]; TOGETHER],
}

/// Numbers of a row are ready.
const ROWS: u8 = 0;
/// They are read from the columns of a pair of species, unless particles are side by side.
const PAIRS: u8 = 1;
/// They are looked up for every lane.
const LOOKED_UP: u8 = 2;

impl<S: Copy> SiteNumbers<S> {
    /// Those of a chunk.
    ///
    /// # Safety
    /// As for [`PairKernel`](super::PairKernel).
    #[inline(always)]
    unsafe fn of<L: Lanes, const FROM: u8>(
        &self,
        chunk: usize,
        entries: &[u32],
        alike: &Alike<L>,
        job: &PairJob<L::Coordinate, L::Element>,
    ) -> [Row<S>; TOGETHER]
    where
        S: Abreast<L>,
    {
        // SAFETY: the caller's promise.
        unsafe {
            if const { FROM == ROWS || S::COUNT > 1 } {
                self.rows
            } else if const { FROM == PAIRS } {
                let [first, second] = &self.pairs;
                [
                    Row::alike(&alike.row(job, 0, first[chunk])),
                    Row::alike(&alike.row(job, 1, second[chunk])),
                ]
            } else {
                let mut of_site = alike.broadcast;
                alike.look_up(job, self.pairs[0][chunk], entries, &mut of_site);
                [Row::alike(&of_site[0]), Row::alike(&of_site[1])]
            }
        }
    }
}

/// How many entries of the lists are brought into the cache before they are needed: a row or two.
const AHEAD: usize = 256;

/// The particles of a row in chunks of as many as are side by side, and what the row does to them.
struct Sites<L: Lanes, S, const CHUNKS: usize> {
    chunks: usize,
    own: [[L::Coordinate; 4]; SHARED],
    charges: [S; CHUNKS],
    force: [Vec3<S>; CHUNKS],
    /// By chunk: the more is added up in single precision, the less exact it is.
    tallies: [[Tally<L>; TOGETHER]; CHUNKS],
}

impl<L: Lanes, S: Abreast<L>, const CHUNKS: usize> Sites<L, S, CHUNKS> {
    /// # Safety
    /// As for [`PairKernel`](super::PairKernel).
    #[inline(always)]
    unsafe fn new(job: &PairJob<L::Coordinate, L::Element>, row: &ListRow) -> Self {
        // SAFETY: the caller's promise.
        let of_row = unsafe { job.own.get_unchecked(row.of.clone()) };
        let chunks = if CHUNKS == 1 { 1 } else { of_row.len() / S::COUNT };
        let mut charges = [S::lit(0.0); CHUNKS];
        let mut own = [[L::Coordinate::default(); 4]; SHARED];
        for (chunk, charges) in charges.iter_mut().take(chunks).enumerate() {
            // SAFETY: as many are in the row.
            let of_chunk = |k: usize| unsafe { of_row.get_unchecked(chunk * S::COUNT + k) };
            *charges = S::each(|k| L::own_number(of_chunk(k), 3)) * S::lit(job.coulomb);
            for k in 0..S::COUNT {
                own[chunk * S::COUNT + k] = *of_chunk(k);
            }
        }
        Self {
            chunks,
            own,
            charges,
            force: [Vec3::zero(); CHUNKS],
            tallies: [[Tally::new(); TOGETHER]; CHUNKS],
        }
    }

    /// Adds what a run of entries does to every particle, and what they are given for it; the first vectors have `masks`.
    /// `FIRST` says which of the particles have the first of two terms.
    ///
    /// # Safety
    /// As for [`PairKernel`](super::PairKernel).
    #[inline(always)]
    unsafe fn interact<K: Terms, const FIRST: u32, const FROM: u8, const ENERGY: bool>(
        &mut self,
        job: &PairJob<L::Coordinate, L::Element>,
        entries: &[u32],
        masks: &[[u16; SHARED]],
        numbers: &SiteNumbers<S>,
        alike: &Alike<L>,
        to: &mut [[L::Element; 4]],
    ) {
        let chunks = if CHUNKS == 1 { 1 } else { self.chunks.min(CHUNKS) };
        // In registers.
        let mut force = self.force;
        let mut last: Option<(&[u32], Vec3<L>)> = None;
        for (number, entries) in entries.chunks_exact(L::WIDTH).enumerate() {
            // SAFETY: entries of the block are inside those around it by the caller's promise.
            let others = unsafe { L::gather_records(job.others.as_ptr(), entries.as_ptr()) };
            let charges = L::numbers(&others, 3);
            L::prefetch(entries.as_ptr().wrapping_add(AHEAD));
            let mut given = Vec3::zero();
            for chunk in 0..chunks {
                // From the site to the others: what is the same for all vectors can be read from memory as it is used.
                let d = S::vectors(|k| L::away(&others, &self.own[chunk * S::COUNT + k]));
                let mut r2 = d.norm2() * S::alike(alike.unit2);
                if let Some(mask) = masks.get(number) {
                    r2 = S::each(|k| L::pick(mask[chunk * S::COUNT + k], r2.at(k), L::splat(job.far2)));
                }
                // Nothing waits for what the last vector is given, so it is written while this one is computed.
                if let Some((entries, given)) = last.take() {
                    // SAFETY: entries of the block are inside the forces by the caller's promise.
                    unsafe { L::scatter_add(to.as_mut_ptr(), entries.as_ptr(), given) };
                }
                let charges = self.charges[chunk] * S::alike(charges);
                // SAFETY: the caller's promise.
                let rows = unsafe { numbers.of::<L, FROM>(chunk, entries, alike, job) };
                let found = K::interact::<L, S, FIRST>(r2, &rows, charges, alike.tables, alike.ends);
                let derivative = K::total::<L, S, FIRST>(&found);
                let force = &mut force[chunk];
                force.x = d.x.mul_add(derivative, force.x);
                force.y = d.y.mul_add(derivative, force.y);
                force.z = d.z.mul_add(derivative, force.z);
                given.x = d.x.add_products(derivative, given.x);
                given.y = d.y.add_products(derivative, given.y);
                given.z = d.z.add_products(derivative, given.z);
                if ENERGY {
                    for k in 0..S::COUNT {
                        let d = Vec3::new(d.x.at(k), d.y.at(k), d.z.at(k));
                        for (tally, (energy, derivative)) in
                            self.tallies[chunk].iter_mut().zip(found).take(K::COUNT)
                        {
                            tally.add(d, energy.at(k), derivative.at(k));
                        }
                    }
                }
            }
            last = Some((entries, given));
        }
        if let Some((entries, given)) = last {
            // SAFETY: as above.
            unsafe { L::scatter_add(to.as_mut_ptr(), entries.as_ptr(), given) };
        }
        self.force = force;
    }
}
