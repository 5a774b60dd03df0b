//! The two skeletons: a particle and a vector of its neighbours, or a vector of particles and one neighbour.

use std::ops::Range;

use super::super::simd::Lanes;
use super::{MAX_WIDTH, PairJob, PairSums};
use crate::expr::{Dual, Table, Vec3};
use crate::neighbors::{ClusterBlock, ListBlock};
use crate::potentials::{MAX_COEFFICIENTS, Pair, PairPotential};
use crate::truncation::{Adapter, TRUNCATION_COEFFICIENTS};

/// A row of numbers, the same in every lane or gathered.
#[derive(Clone, Copy)]
struct Row<L> {
    cutoff2: L,
    truncation: [L; TRUNCATION_COEFFICIENTS],
    coefficients: [L; MAX_COEFFICIENTS],
}

impl<L: Lanes> Row<L> {
    #[inline(always)]
    fn with(mut read: impl FnMut(usize) -> L) -> Self {
        Self {
            cutoff2: read(0),
            truncation: std::array::from_fn(|k| read(1 + k)),
            coefficients: std::array::from_fn(|k| read(1 + TRUNCATION_COEFFICIENTS + k)),
        }
    }
}

/// Energy, and its derivative by r², of a vector of pairs; zero where `inside` does not hold. The force is
/// −2 du/d(r²) times the distance; the factor is left to the sums.
#[inline(always)]
fn interact<P, T, L>(r2: L, inside: L::Mask, row: &Row<L>, charges: L, table: &Table) -> (L, L)
where
    P: PairPotential,
    T: Adapter,
    L: Lanes,
{
    let bare = P::energy_and_slope(Pair { r2, table }, &row.coefficients);
    let full = T::apply(bare, Dual::variable(r2), &row.truncation.map(Dual::constant));
    let (mut energy, mut slope) = (full.value, full.derivative);
    if P::USES_CHARGES {
        (energy, slope) = (energy * charges, slope * charges);
    }
    (L::keep(inside, energy), L::keep(inside, slope))
}

/// The sums of a vector of pairs, in units of the coordinates; force and virial still without their factor −2.
struct Gathered<L> {
    force: Vec3<L>,
    energy: L,
    virial: [L; 6],
}

impl<L: Lanes> Gathered<L> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            force: Vec3::zero(),
            energy: L::lit(0.0),
            virial: [L::lit(0.0); 6],
        }
    }

    #[inline(always)]
    fn add<const ENERGY: bool>(&mut self, d: Vec3<L>, energy: L, slope: L) {
        let force = &mut self.force;
        force.x = d.x.mul_add(slope, force.x);
        force.y = d.y.mul_add(slope, force.y);
        force.z = d.z.mul_add(slope, force.z);
        if !ENERGY {
            return;
        }
        let pull = d * slope;
        self.energy = self.energy + energy;
        let virial = &mut self.virial;
        virial[0] = d.x.mul_add(pull.x, virial[0]);
        virial[1] = d.y.mul_add(pull.y, virial[1]);
        virial[2] = d.z.mul_add(pull.z, virial[2]);
        virial[3] = d.x.mul_add(pull.y, virial[3]);
        virial[4] = d.x.mul_add(pull.z, virial[4]);
        virial[5] = d.y.mul_add(pull.z, virial[5]);
    }

    /// Half of the pairs' energy and virial, of the first `members` lanes.
    #[inline(always)]
    fn add_to(&self, sums: &mut PairSums, unit: f64, members: usize) {
        let total = |lanes: L| L::keep(L::first(members), lanes).sum();
        sums.energy += 0.5 * total(self.energy);
        for (to, part) in sums.virial.iter_mut().zip(self.virial) {
            *to -= unit * unit * total(part);
        }
    }
}

/// The body of every kernel over lists of particles: a vector holds neighbours of one particle.
///
/// # Safety
/// As for [`PairKernel`](super::PairKernel).
#[inline(always)]
pub(super) unsafe fn visit<P, T, L, const UNIFORM: bool, const ENERGY: bool>(
    job: &PairJob<L::Coordinate, L::Element>,
    block: &ListBlock,
    forces: &mut [Vec3<f64>],
) -> PairSums
where
    P: PairPotential,
    T: Adapter,
    L: Lanes,
{
    let particles: Range<usize> = block.particles();
    let unit2 = L::lit(job.unit) * L::lit(job.unit);
    let columns = &job.columns.columns;
    let broadcast = Row::<L>::with(|k| L::splat(columns[k][0]));
    let mut sums = PairSums::default();
    for (offset, i) in particles.enumerate() {
        let own = &job.coordinates[i];
        let charge = L::own_charge(own) * L::lit(job.coulomb);
        let row_of_own = job.species[i] * job.columns.species;
        let mut gathered = Gathered::<L>::new();
        for entries in block.entries(offset).chunks_exact(L::WIDTH) {
            // SAFETY: entries of the block are inside the coordinates by the caller's promise, their species
            // inside the columns.
            let (d, row, charges) = unsafe {
                let others = L::indices(entries.as_ptr());
                let row = if UNIFORM {
                    broadcast
                } else {
                    let pairs = L::species(job.species.as_ptr(), others, row_of_own);
                    Row::<L>::with(|k| L::lookup(columns[k].as_ptr(), pairs))
                };
                let charges = if P::USES_CHARGES {
                    charge * L::charges(job.coordinates.as_ptr(), others)
                } else {
                    L::lit(1.0)
                };
                let d = L::differences(job.coordinates.as_ptr(), entries.as_ptr(), own);
                (d, row, charges)
            };
            let r2 = d.norm2() * unit2;
            let inside = L::less(r2, row.cutoff2);
            let (energy, slope) = interact::<P, T, L>(r2, inside, &row, charges, job.table);
            gathered.add::<ENERGY>(d, energy, slope);
        }
        let force = gathered.force;
        forces[offset] += Vec3::new(force.x.sum(), force.y.sum(), force.z.sum()) * (-2.0 * job.unit);
        if ENERGY {
            gathered.add_to(&mut sums, job.unit, L::WIDTH);
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
    unsafe fn meet<P: PairPotential, T: Adapter, const UNIFORM: bool, const ENERGY: bool>(
        &self,
        job: &PairJob<L::Coordinate, L::Element>,
        place: u32,
        with: Option<u32>,
        broadcast: &Row<L>,
        unit2: L,
        gathered: &mut Gathered<L>,
    ) {
        let (columns, species) = (&job.columns.columns, job.columns.species as usize);
        // SAFETY: the place is inside the coordinates and species by the caller's promise; so are the species
        // inside the columns, which go on for a vector.
        let (other, row) = unsafe {
            let row = if UNIFORM {
                *broadcast
            } else {
                let begin = species * *job.species.get_unchecked(place as usize) as usize;
                Row::<L>::with(|k| L::pick(columns[k].as_ptr().add(begin), self.species, species))
            };
            (job.coordinates.get_unchecked(place as usize), row)
        };
        let d = L::away(&self.own, other);
        let r2 = d.norm2() * unit2;
        let mut inside = L::less(r2, row.cutoff2);
        if let Some(bits) = with {
            inside = L::only(inside, bits);
        }
        let mut charges = self.charge;
        if P::USES_CHARGES {
            charges = charges * L::own_charge(other);
        }
        let (energy, slope) = interact::<P, T, L>(r2, inside, &row, charges, job.table);
        gathered.add::<ENERGY>(d, energy, slope);
    }
}

/// The body of every kernel over lists of clusters: a vector holds the members of a cluster and meets one
/// neighbour at a time.
///
/// # Safety
/// As for [`PairKernel`](super::PairKernel).
#[inline(always)]
pub(super) unsafe fn visit_clusters<P, T, L, const UNIFORM: bool, const ENERGY: bool>(
    job: &PairJob<L::Coordinate, L::Element>,
    block: &ClusterBlock,
    forces: &mut [Vec3<f64>],
) -> PairSums
where
    P: PairPotential,
    T: Adapter,
    L: Lanes,
{
    let unit2 = L::lit(job.unit) * L::lit(job.unit);
    let columns = &job.columns.columns;
    let broadcast = Row::<L>::with(|k| L::splat(columns[k][0]));
    let mut sums = PairSums::default();
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
            unsafe {
                cluster.meet::<P, T, UNIFORM, ENERGY>(job, place, None, &broadcast, unit2, &mut gathered)
            };
        }
        for entry in block.masked(number) {
            let with = Some(entry.members);
            // SAFETY: the caller's promise.
            unsafe {
                cluster.meet::<P, T, UNIFORM, ENERGY>(
                    job,
                    entry.place,
                    with,
                    &broadcast,
                    unit2,
                    &mut gathered,
                )
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
            gathered.add_to(&mut sums, job.unit, members.len());
        }
    }
    sums
}
