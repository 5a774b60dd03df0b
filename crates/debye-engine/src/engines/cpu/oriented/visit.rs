//! The body of every kernel of oriented terms: a particle and a vector of its neighbors.

use std::marker::PhantomData;

use super::{Beside, PROPERTIES, ROW, Scene, Term};
use crate::engines::cpu::pair::{Any, Row, interact};
use crate::engines::cpu::space::Store;
use crate::expr::{Table, Tape, Vec3};
use crate::neighbors::ListBlock;
use crate::potentials::{
    Axes, INVARIANTS, MAX_ORIENTED, Numbers, OrientedCoefficients, OrientedEnergy, OrientedPair,
    OrientedPotential, PairPotential, PairSums, by_hand,
};
use crate::simd::Lanes;
use crate::truncation::TruncationCoefficients;

/// Where energies and derivatives of a vector of pairs come from.
pub trait Formula {
    /// Which axes are read, where that is known when the program is built.
    const AXES: Option<Axes>;

    /// Energy and derivatives by the invariants. `row` has the coefficients and the numbers of the truncation.
    fn evaluate<P: Store, L: Lanes>(
        term: &Term<P>,
        pair: &OrientedPair<L>,
        row: &[L; ROW],
        scratch: &mut Vec<L>,
    ) -> OrientedEnergy<L>;
}

/// The tape of a potential, line by line.
pub struct ByTape;

/// The derivatives that a potential has by hand.
pub struct ByHand<Q>(PhantomData<Q>);

impl Formula for ByTape {
    const AXES: Option<Axes> = None;

    #[inline(always)]
    fn evaluate<P: Store, L: Lanes>(
        term: &Term<P>,
        pair: &OrientedPair<L>,
        row: &[L; ROW],
        scratch: &mut Vec<L>,
    ) -> OrientedEnergy<L> {
        let mut inputs = [L::lit(0.0); INVARIANTS + PROPERTIES + ROW];
        inputs[0] = pair.r2;
        inputs[1..4].copy_from_slice(&pair.along[0]);
        inputs[4..7].copy_from_slice(&pair.along[1]);
        inputs[7..16].copy_from_slice(pair.cosines.as_flattened());
        inputs[16..18].copy_from_slice(&pair.charges);
        inputs[18..20].copy_from_slice(&pair.dipoles);
        inputs[20..].copy_from_slice(row);
        run(&term.tape, &inputs, &term.table, scratch);
        let mut results = [L::lit(0.0); 1 + INVARIANTS];
        for (k, result) in results.iter_mut().enumerate() {
            *result = scratch[term.tape.output(k)];
        }
        OrientedEnergy::from_slice(&results)
    }
}

impl<Q: OrientedPotential> Formula for ByHand<Q> {
    const AXES: Option<Axes> = Some(Q::AXES);

    #[inline(always)]
    fn evaluate<P: Store, L: Lanes>(
        term: &Term<P>,
        pair: &OrientedPair<L>,
        row: &[L; ROW],
        _scratch: &mut Vec<L>,
    ) -> OrientedEnergy<L> {
        let mut c: OrientedCoefficients<L> = [L::lit(0.0); MAX_ORIENTED];
        c.copy_from_slice(&row[..MAX_ORIENTED]);
        let [.., a, b, e, f] = *row;
        let t: TruncationCoefficients<L> = [a, b, e, f];
        match by_hand::<Q, L>(term.truncation, pair, &c, &t) {
            Some(energy) => energy,
            // The kernel is chosen for truncations that there is a formula for.
            None => OrientedEnergy::from_slice(&[L::lit(f64::NAN); 1 + INVARIANTS]),
        }
    }
}

/// A pair term in the same visit, or none.
pub trait FusedPair {
    /// Whether there is one.
    const PRESENT: bool;

    /// Energy and derivative by r² of a vector of pairs.
    fn interact<L: Lanes>(r2: L, row: &Row<L>, numbers: &Numbers<L::Element>) -> (L, L);
}

/// No pair term.
pub struct NoPair;

/// This one.
pub struct Fused<Q>(PhantomData<Q>);

impl FusedPair for NoPair {
    const PRESENT: bool = false;

    #[inline(always)]
    fn interact<L: Lanes>(_r2: L, _row: &Row<L>, _numbers: &Numbers<L::Element>) -> (L, L) {
        (L::lit(0.0), L::lit(0.0))
    }
}

impl<Q: PairPotential> FusedPair for Fused<Q> {
    const PRESENT: bool = true;

    #[inline(always)]
    fn interact<L: Lanes>(r2: L, row: &Row<L>, numbers: &Numbers<L::Element>) -> (L, L) {
        interact::<Q, Any, L>(r2, row, L::lit(0.0), numbers.table, numbers.truncation)
    }
}

/// Evaluates every line of a tape.
#[inline(always)]
fn run<L: Lanes>(tape: &Tape, inputs: &[L], table: &Table, lines: &mut Vec<L>) {
    if tape.tables() > 0 {
        *lines = tape.evaluate_lines(inputs, &[table]);
        return;
    }
    lines.clear();
    for &node in tape.nodes() {
        let line = node.of_numbers(inputs, lines);
        lines.push(line);
    }
}

/// The axes of one particle or of a vector of them, and its dipole.
struct Frame<L> {
    axes: [Vec3<L>; 3],
    dipole: L,
}

impl<L: Lanes> Frame<L> {
    /// Where only z counts; the dipole is the fourth number.
    #[inline(always)]
    fn of_z([x, y, z, dipole]: [L; 4]) -> Self {
        Self {
            axes: [Vec3::zero(), Vec3::zero(), Vec3::new(x, y, z)],
            dipole,
        }
    }

    /// With the axis x.
    #[inline(always)]
    fn of(z: [L; 4], x: Vec3<L>) -> Self {
        let mut frame = Self::of_z(z);
        frame.axes[0] = x;
        frame.axes[1] = frame.axes[2].cross(x);
        frame
    }
}

/// What a particle has gathered.
struct Gathered<L> {
    force: Vec3<L>,
    torque: Vec3<L>,
    tally: Tally<L>,
    /// Of the pair term: Σ d du/d(r²).
    pair_force: Vec3<L>,
    pair_tally: Tally<L>,
}

/// Energy and Σ d⊗F.
struct Tally<L> {
    energy: L,
    virial: [L; 6],
}

impl<L: Lanes> Tally<L> {
    #[inline(always)]
    fn new() -> Self {
        let zero = L::lit(0.0);
        Self {
            energy: zero,
            virial: [zero; 6],
        }
    }

    #[inline(always)]
    fn add(&mut self, energy: L, d: Vec3<L>, force: Vec3<L>) {
        self.energy = self.energy + energy;
        let v = &mut self.virial;
        v[0] = d.x.mul_add(force.x, v[0]);
        v[1] = d.y.mul_add(force.y, v[1]);
        v[2] = d.z.mul_add(force.z, v[2]);
        v[3] = d.x.mul_add(force.y, v[3]);
        v[4] = d.x.mul_add(force.z, v[4]);
        v[5] = d.y.mul_add(force.z, v[5]);
    }

    /// Adds half of both, in units of the term.
    #[inline(always)]
    fn add_to(&self, sums: &mut PairSums, energy: f64, force: f64) {
        sums.energy += 0.5 * energy * self.energy.sum();
        for (to, part) in sums.virial.iter_mut().zip(self.virial) {
            *to -= 0.5 * force * part.sum();
        }
    }
}

impl<L: Lanes> Gathered<L> {
    /// Adds a vector of pairs of which those inside count: the force on the particle is the derivative by the separation.
    #[inline(always)]
    fn add<const ENERGY: bool>(
        &mut self,
        inside: L::Mask,
        d: Vec3<L>,
        own: &Frame<L>,
        other: &Frame<L>,
        e: &OrientedEnergy<L>,
        axes: Axes,
    ) {
        let first = if axes == Axes::All { 0 } else { 2 };
        let mut force = d * (e.r2 + e.r2);
        let mut turn = Vec3::zero();
        for a in first..3 {
            force = force + own.axes[a] * e.along[0][a] + other.axes[a] * e.along[1][a];
            let mut toward = d * e.along[0][a];
            for b in first..3 {
                toward += other.axes[b] * e.cosines[a][b];
            }
            turn += own.axes[a].cross(toward);
        }
        let keep = |v: Vec3<L>| Vec3::new(L::keep(inside, v.x), L::keep(inside, v.y), L::keep(inside, v.z));
        let (force, turn) = (keep(force), keep(turn));
        self.force += force;
        self.torque -= turn;
        if ENERGY {
            self.tally.add(L::keep(inside, e.value), d, force);
        }
    }
}

/// Adds forces and torques of one block; gives energy and virial of the term and of the one beside it.
///
/// # Safety
/// As for [`Kernel`](super::Kernel); lists must be padded to whole vectors.
#[inline(always)]
pub unsafe fn visit<F, B, P, L, const ENERGY: bool>(
    scene: &Scene<P>,
    term: &Term<P>,
    beside: Option<&Beside<P>>,
    block: &ListBlock,
    [forces, torques]: [&mut [Vec3<f64>]; 2],
) -> [PairSums; 2]
where
    F: Formula,
    B: FusedPair,
    P: Store,
    L: Lanes<Coordinate = P::Coordinate, Element = P::Element>,
{
    let axes = F::AXES.unwrap_or(term.axes);
    let zero = L::lit(0.0);
    let mut scratch: Vec<L> = Vec::with_capacity(term.tape.nodes().len());
    let mut sums = [PairSums::default(); 2];
    // The numbers that all pairs have alike.
    let mut numbers = [zero; ROW];
    for (k, number) in numbers.iter_mut().enumerate() {
        *number = L::splat(term.columns[1 + k][0]);
    }
    let cutoff2 = L::splat(term.columns[0][0]);
    let beside = beside.filter(|_| B::PRESENT);
    for row in block.rows() {
        for offset in row.of.clone() {
            let own = block.particles().start + offset;
            let own_species = scene.species[own];
            let charge = L::own_number(&scene.coordinates[own], 3);
            let z = &scene.z[own];
            let z = [
                L::own_number(z, 0),
                L::own_number(z, 1),
                L::own_number(z, 2),
                L::own_number(z, 3),
            ];
            let frame = match axes {
                Axes::Z => Frame::of_z(z),
                Axes::All => {
                    let x = &scene.x[own];
                    Frame::of(
                        z,
                        Vec3::new(L::own_number(x, 0), L::own_number(x, 1), L::own_number(x, 2)),
                    )
                }
            };
            let uncharged = term.electrostatic && charge.sum() == 0.0 && frame.dipole.sum() == 0.0;
            let acts = !term.idle[own_species as usize] && !uncharged;
            if !acts && beside.is_none() {
                continue;
            }
            let mut gathered = Gathered {
                force: Vec3::zero(),
                torque: Vec3::zero(),
                tally: Tally::new(),
                pair_force: Vec3::zero(),
                pair_tally: Tally::new(),
            };
            let one = Center {
                own,
                species: own_species,
                charge,
                frame,
            };
            // SAFETY: the caller's promise.
            unsafe {
                if scene.grouped {
                    // A group has one species, and so one set of numbers.
                    for (other, group) in row.groups().enumerate() {
                        let at = (own_species * term.species) as usize + other;
                        let reach = (acts && !term.inert[other]).then(|| {
                            if !term.uniform {
                                for &k in &term.read {
                                    numbers[k] = L::splat(term.columns[1 + k][at]);
                                }
                            }
                            Reach::Alike(L::splat(term.columns[0][at]))
                        });
                        let pair = beside.and_then(|numbers| pair_row(numbers, own_species, other as u32));
                        if reach.is_some() || pair.is_some() {
                            add_neighbors::<F, B, P, L, ENERGY>(
                                scene,
                                term,
                                &one,
                                group,
                                &mut numbers,
                                reach,
                                beside.zip(pair.as_ref()),
                                &mut gathered,
                                &mut scratch,
                            );
                        }
                    }
                } else {
                    let reach = match term.uniform {
                        true => Reach::Alike(cutoff2),
                        false => Reach::ByPair,
                    };
                    let pair = beside.and_then(|numbers| pair_row(numbers, 0, 0));
                    add_neighbors::<F, B, P, L, ENERGY>(
                        scene,
                        term,
                        &one,
                        row.entries(),
                        &mut numbers,
                        acts.then_some(reach),
                        beside.zip(pair.as_ref()),
                        &mut gathered,
                        &mut scratch,
                    );
                }
            }
            let total = |v: Vec3<L>| Vec3::new(v.x.sum(), v.y.sum(), v.z.sum());
            forces[offset] += total(gathered.force) * term.strength;
            if let Some(to) = torques.get_mut(offset) {
                *to += total(gathered.torque) * term.strength;
            }
            if B::PRESENT {
                forces[offset] += total(gathered.pair_force) * 2.0;
            }
            if ENERGY {
                gathered.tally.add_to(&mut sums[0], term.strength, term.strength);
                if B::PRESENT {
                    gathered.pair_tally.add_to(&mut sums[1], 1.0, 2.0);
                }
            }
        }
    }
    sums
}

/// The numbers of a pair term between two species, in every lane; `None` where it is absent.
///
/// # Safety
/// Both species must be inside the columns.
#[inline(always)]
unsafe fn pair_row<L: Lanes>(numbers: &Numbers<L::Element>, own: u32, other: u32) -> Option<Row<L>> {
    let columns = numbers.columns;
    let pair = (own * columns.species + other) as usize;
    // SAFETY: the caller's promise; columns have a number for every pair of species.
    unsafe {
        let absent = *columns.absent.get_unchecked(pair);
        (!absent).then(|| Row::with(|k| L::splat(*columns.columns[k].get_unchecked(pair))))
    }
}

/// How far a term reaches.
#[derive(Clone, Copy)]
enum Reach<L> {
    /// The same for these neighbors, as a square.
    Alike(L),
    /// Looked up pair by pair.
    ByPair,
}

/// A particle that visits its neighbors.
struct Center<L> {
    own: usize,
    species: u32,
    charge: L,
    frame: Frame<L>,
}

/// Adds what these neighbors do: the term as far as it reaches, where it acts, and the pair term beside it with its numbers.
///
/// A function and not a closure: closures do not have the instruction set of the kernel they are in.
///
/// # Safety
/// As for [`visit`].
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the inner loop of a kernel")]
unsafe fn add_neighbors<F, B, P, L, const ENERGY: bool>(
    scene: &Scene<P>,
    term: &Term<P>,
    one: &Center<L>,
    entries: &[u32],
    numbers: &mut [L; ROW],
    reach: Option<Reach<L>>,
    beside: Option<(&Numbers<P::Element>, &Row<L>)>,
    gathered: &mut Gathered<L>,
    scratch: &mut Vec<L>,
) where
    F: Formula,
    B: FusedPair,
    P: Store,
    L: Lanes<Coordinate = P::Coordinate, Element = P::Element>,
{
    let axes = F::AXES.unwrap_or(term.axes);
    let (place, unit) = (&scene.coordinates[one.own], L::lit(scene.unit));
    for entries in entries.chunks_exact(L::WIDTH) {
        // SAFETY: the caller's promise.
        let others = unsafe { L::gather_records(scene.coordinates.as_ptr(), entries.as_ptr()) };
        let d = L::away(&others, place) * unit;
        let r2 = d.norm2();
        if B::PRESENT
            && let Some((numbers, row)) = beside
        {
            let (energy, derivative) = B::interact(r2, row, numbers);
            let force = d * derivative;
            gathered.pair_force += force;
            if ENERGY {
                gathered.pair_tally.add(energy, d, force);
            }
        }
        let cutoff2 = match reach {
            None => continue,
            Some(Reach::Alike(cutoff2)) => cutoff2,
            // SAFETY: the caller's promise; columns have a number for every pair of species.
            Some(Reach::ByPair) => unsafe {
                let indices = L::indices(entries.as_ptr());
                let pairs = L::species(scene.species.as_ptr(), indices, one.species * term.species);
                for &k in &term.read {
                    numbers[k] = L::lookup(term.columns[1 + k].as_ptr(), pairs);
                }
                L::lookup(term.columns[0].as_ptr(), pairs)
            },
        };
        let inside = L::less(r2, cutoff2);
        if !L::any(inside) {
            continue;
        }
        // SAFETY: the caller's promise.
        let other = unsafe {
            let z = L::gather_records(scene.z.as_ptr(), entries.as_ptr());
            let z = [
                L::numbers(&z, 0),
                L::numbers(&z, 1),
                L::numbers(&z, 2),
                L::numbers(&z, 3),
            ];
            match axes {
                Axes::Z => Frame::of_z(z),
                Axes::All => {
                    let x = L::gather_records(scene.x.as_ptr(), entries.as_ptr());
                    Frame::of(
                        z,
                        Vec3::new(L::numbers(&x, 0), L::numbers(&x, 1), L::numbers(&x, 2)),
                    )
                }
            }
        };
        let charges = [one.charge, L::numbers(&others, 3)];
        let pair = pair(r2, d, [&one.frame, &other], charges, &term.table, axes);
        let energy = F::evaluate(term, &pair, numbers, scratch);
        gathered.add::<ENERGY>(inside, d, &one.frame, &other, &energy, axes);
    }
}

/// The invariants of a vector of pairs; of axes that are not read, zero.
#[inline(always)]
fn pair<'a, L: Lanes>(
    r2: L,
    d: Vec3<L>,
    [own, other]: [&Frame<L>; 2],
    charges: [L; 2],
    table: &'a Table,
    axes: Axes,
) -> OrientedPair<'a, L> {
    let zero = L::lit(0.0);
    let first = if axes == Axes::All { 0 } else { 2 };
    let (mut along, mut cosines) = ([[zero; 3]; 2], [[zero; 3]; 3]);
    for a in first..3 {
        along[0][a] = own.axes[a].dot(d);
        along[1][a] = other.axes[a].dot(d);
        for (cosine, axis) in cosines[a].iter_mut().zip(other.axes).skip(first) {
            *cosine = own.axes[a].dot(axis);
        }
    }
    OrientedPair {
        r2,
        along,
        cosines,
        charges,
        dipoles: [own.dipole, other.dipole],
        table,
    }
}
