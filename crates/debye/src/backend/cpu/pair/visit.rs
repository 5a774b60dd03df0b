//! The two skeletons: a particle and a vector of its neighbours, or a vector of particles and one neighbour.

use super::super::simd::Lanes;
use super::terms::{Row, Terms};
use super::{MAX_WIDTH, Numbers, PairJob, PairSums, TOGETHER};
use crate::expr::Vec3;
use crate::neighbors::{ClusterBlock, ListBlock};

/// The sums of a vector of pairs, in units of the coordinates; force and virial still without their factor −2.
struct Gathered<L> {
    force: Vec3<L>,
    tallies: [Tally<L>; TOGETHER],
}

/// Energy and virial of one term.
#[derive(Clone, Copy)]
struct Tally<L> {
    energy: L,
    virial: [L; 6],
}

impl<L: Lanes> Gathered<L> {
    #[inline(always)]
    fn new() -> Self {
        let tally = Tally {
            energy: L::lit(0.0),
            virial: [L::lit(0.0); 6],
        };
        Self {
            force: Vec3::zero(),
            tallies: [tally; TOGETHER],
        }
    }

    /// Adds energy and slope by term.
    #[inline(always)]
    fn add<K: Terms, const ENERGY: bool>(&mut self, d: Vec3<L>, found: &[(L, L); TOGETHER]) {
        let (force, slope) = (&mut self.force, K::total(found));
        force.x = d.x.mul_add(slope, force.x);
        force.y = d.y.mul_add(slope, force.y);
        force.z = d.z.mul_add(slope, force.z);
        if ENERGY {
            for (term, &(energy, slope)) in found.iter().take(K::COUNT).enumerate() {
                self.tally(term, d, energy, slope);
            }
        }
    }

    #[inline(always)]
    fn tally(&mut self, term: usize, d: Vec3<L>, energy: L, slope: L) {
        let pull = d * slope;
        let Tally { energy: sum, virial } = &mut self.tallies[term];
        *sum = *sum + energy;
        virial[0] = d.x.mul_add(pull.x, virial[0]);
        virial[1] = d.y.mul_add(pull.y, virial[1]);
        virial[2] = d.z.mul_add(pull.z, virial[2]);
        virial[3] = d.x.mul_add(pull.y, virial[3]);
        virial[4] = d.x.mul_add(pull.z, virial[4]);
        virial[5] = d.y.mul_add(pull.z, virial[5]);
    }

    /// Half of the pairs' energy and virial, of the first `members` lanes.
    #[inline(always)]
    fn add_to(&self, sums: &mut [PairSums], unit: f64, members: usize) {
        let total = |lanes: L| L::keep(L::first(members), lanes).sum();
        for (sums, tally) in sums.iter_mut().zip(&self.tallies) {
            sums.energy += 0.5 * total(tally.energy);
            for (to, part) in sums.virial.iter_mut().zip(tally.virial) {
                *to -= unit * unit * total(part);
            }
        }
    }
}

/// The numbers of one term for a particle and a vector of its neighbours, and whether it has any that count. `broadcast` has
/// those of the first pair of species.
///
/// # Safety
/// `others` and `entries` must be the same places of the job, and their species inside the columns.
#[inline(always)]
unsafe fn row<L: Lanes>(
    job: &PairJob<L::Coordinate, L::Element>,
    numbers: &Numbers<L::Element>,
    own: u32,
    first: u32,
    others: L::Indices,
    broadcast: &Row<L>,
) -> (Row<L>, bool) {
    if numbers.columns.is_uniform() {
        return (*broadcast, true);
    }
    let columns = &numbers.columns.columns;
    let begin = own * numbers.columns.species;
    // SAFETY: the caller's promise; columns have a number for every pair of species.
    unsafe {
        if job.grouped {
            // One species in a vector: what pads it stands behind the others.
            let pair = (begin + job.species.get_unchecked(first as usize)) as usize;
            if *numbers.columns.absent.get_unchecked(pair) {
                return (broadcast.without_reach(), false);
            }
            let row = Row::with(|k| L::splat(*columns[k].get_unchecked(pair)));
            return (row, true);
        }
        let pairs = L::species(job.species.as_ptr(), others, begin);
        (Row::with(|k| L::lookup(columns[k].as_ptr(), pairs)), true)
    }
}

/// The body of every kernel over lists of particles: a vector holds neighbours of one particle.
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
    let unit2 = L::lit(job.unit) * L::lit(job.unit);
    let broadcast = job
        .terms
        .map(|t| Row::<L>::with(|k| L::splat(t.columns.columns[k][0])));
    let tables = job.terms.map(|t| t.table);
    let mut sums = [PairSums::default(); TOGETHER];
    for (offset, i) in block.particles().enumerate() {
        let own = &job.coordinates[i];
        let charge = L::own_charge(own) * L::lit(job.coulomb);
        let own_species = job.species[i];
        let mut gathered = Gathered::<L>::new();
        for entries in block.entries(offset).chunks_exact(L::WIDTH) {
            // SAFETY: entries of the block are inside the coordinates by the caller's promise, their species
            // inside the columns.
            let (d, charges, rows) = unsafe {
                let others = L::indices(entries.as_ptr());
                let (d, charges) = L::differences(job.coordinates.as_ptr(), entries.as_ptr(), own);
                let mut rows = broadcast.map(|row| (row, true));
                if !UNIFORM {
                    for ((to, numbers), alike) in
                        rows.iter_mut().zip(&job.terms).zip(&broadcast).take(K::COUNT)
                    {
                        *to = row::<L>(job, numbers, own_species, entries[0], others, alike);
                    }
                }
                (d, charge * charges, rows)
            };
            let r2 = d.norm2() * unit2;
            let found = K::interact(r2, None, &rows, charges, tables);
            gathered.add::<K, ENERGY>(d, &found);
        }
        let force = gathered.force;
        forces[offset] += Vec3::new(force.x.sum(), force.y.sum(), force.z.sum()) * (-2.0 * job.unit);
        if ENERGY {
            gathered.add_to(&mut sums[..K::COUNT], job.unit, L::WIDTH);
        }
    }
    sums
}

/// A cluster whose members meet one neighbour after the other.
struct Cluster<L: Lanes> {
    own: L::Own,
    species: L::Indices,
    charge: L,
}

impl<L: Lanes> Cluster<L> {
    /// Adds what one place does to the members, or to those of `with`.
    ///
    /// # Safety
    /// As for [`PairKernel`](super::PairKernel); the place must be one of the job's.
    #[inline(always)]
    unsafe fn meet<K: Terms, const UNIFORM: bool, const ENERGY: bool>(
        &self,
        job: &PairJob<L::Coordinate, L::Element>,
        place: u32,
        with: Option<u32>,
        broadcast: &[Row<L>; TOGETHER],
        unit2: L,
        gathered: &mut Gathered<L>,
    ) {
        let mut rows = broadcast.map(|row| (row, true));
        // SAFETY: the place is inside the coordinates and species by the caller's promise; so are the species
        // inside the columns, which go on for a vector.
        let other = unsafe {
            if !UNIFORM {
                for ((row, _), numbers) in rows.iter_mut().zip(&job.terms).take(K::COUNT) {
                    let species = numbers.columns.species as usize;
                    let begin = species * *job.species.get_unchecked(place as usize) as usize;
                    let columns = &numbers.columns.columns;
                    *row = Row::with(|k| L::pick(columns[k].as_ptr().add(begin), self.species, species));
                }
            }
            job.coordinates.get_unchecked(place as usize)
        };
        let d = L::away(&self.own, other);
        let r2 = d.norm2() * unit2;
        let charges = self.charge * L::own_charge(other);
        let found = K::interact(r2, with, &rows, charges, job.terms.map(|t| t.table));
        gathered.add::<K, ENERGY>(d, &found);
    }
}

/// The body of every kernel over lists of clusters: a vector holds the members of a cluster and meets one
/// neighbour at a time.
///
/// # Safety
/// As for [`PairKernel`](super::PairKernel).
#[inline(always)]
pub(super) unsafe fn visit_clusters<K, L, const UNIFORM: bool, const ENERGY: bool>(
    job: &PairJob<L::Coordinate, L::Element>,
    block: &ClusterBlock,
    forces: &mut [Vec3<f64>],
) -> [PairSums; TOGETHER]
where
    K: Terms,
    L: Lanes,
{
    let unit2 = L::lit(job.unit) * L::lit(job.unit);
    let broadcast = job
        .terms
        .map(|t| Row::<L>::with(|k| L::splat(t.columns.columns[k][0])));
    let mut sums = [PairSums::default(); TOGETHER];
    for number in 0..block.clusters() {
        let members = block.members(number);
        let first = block.particles().start + members.start;
        // SAFETY: coordinates and species go on for a vector beyond the particles.
        let (own, own_species) = unsafe {
            (
                L::own(job.coordinates.as_ptr().add(first)),
                L::indices(job.species.as_ptr().add(first)),
            )
        };
        let cluster = Cluster::<L> {
            own,
            species: own_species,
            charge: L::own_charges(&own) * L::lit(job.coulomb),
        };
        let mut gathered = Gathered::<L>::new();
        for &place in block.entries(number) {
            // SAFETY: the caller's promise.
            unsafe { cluster.meet::<K, UNIFORM, ENERGY>(job, place, None, &broadcast, unit2, &mut gathered) };
        }
        for entry in block.masked(number) {
            let with = Some(entry.members);
            // SAFETY: the caller's promise.
            unsafe {
                cluster.meet::<K, UNIFORM, ENERGY>(job, entry.place, with, &broadcast, unit2, &mut gathered)
            };
        }
        let mut lanes = [[0.0; MAX_WIDTH]; 3];
        gathered.force.x.write(&mut lanes[0]);
        gathered.force.y.write(&mut lanes[1]);
        gathered.force.z.write(&mut lanes[2]);
        for (k, force) in forces[members.clone()].iter_mut().enumerate() {
            *force += Vec3::new(lanes[0][k], lanes[1][k], lanes[2][k]) * (-2.0 * job.unit);
        }
        if ENERGY {
            gathered.add_to(&mut sums[..K::COUNT], job.unit, members.len());
        }
    }
    sums
}
