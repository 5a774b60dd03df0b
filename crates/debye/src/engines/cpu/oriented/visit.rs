//! The body of every kernel of oriented terms: a particle and a vector of its neighbors.

use std::marker::PhantomData;

use super::{PROPERTIES, ROW, Scene, Term};
use crate::engines::cpu::space::Store;
use crate::expr::{Table, Tape, Vec3};
use crate::neighbors::ListBlock;
use crate::potentials::{
    Axes, INVARIANTS, MAX_ORIENTED, OrientedEnergy, OrientedPair, OrientedPotential, PairSums,
};
use crate::simd::Lanes;

/// Where energies and derivatives of a vector of pairs come from.
pub trait Formula {
    /// Which axes are read, where that is known when the program is built.
    const AXES: Option<Axes>;
    /// How many numbers of a row are read at the most.
    const NUMBERS: usize;

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
    const NUMBERS: usize = ROW;

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
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn evaluate<P: Store, L: Lanes>(
        term: &Term<P>,
        pair: &OrientedPair<L>,
        row: &[L; ROW],
        _scratch: &mut Vec<L>,
    ) -> OrientedEnergy<L> {
        let mut c = [L::lit(0.0); MAX_ORIENTED];
        c[..Self::NUMBERS].copy_from_slice(&row[..Self::NUMBERS]);
        match Q::energy_and_derivatives(term.truncation, pair, &c) {
            Some(energy) => energy,
            // The kernel is chosen for truncations that there is a formula for.
            None => OrientedEnergy::from_slice(&[L::lit(f64::NAN); 1 + INVARIANTS]),
        }
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
    energy: L,
    virial: [L; 6],
}

impl<L: Lanes> Gathered<L> {
    /// Adds a vector of pairs of which those inside count: the force on the particle is the derivative by the separation.
    #[inline(always)]
    fn add(
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
        self.energy = self.energy + L::keep(inside, e.value);
        let v = &mut self.virial;
        v[0] = d.x.mul_add(force.x, v[0]);
        v[1] = d.y.mul_add(force.y, v[1]);
        v[2] = d.z.mul_add(force.z, v[2]);
        v[3] = d.x.mul_add(force.y, v[3]);
        v[4] = d.x.mul_add(force.z, v[4]);
        v[5] = d.y.mul_add(force.z, v[5]);
    }
}

/// Adds forces and torques of one block; gives energy and virial.
///
/// # Safety
/// As for [`Kernel`](super::Kernel); lists must be padded to whole vectors.
#[inline(always)]
pub unsafe fn visit<F, P, L>(
    scene: &Scene<P>,
    term: &Term<P>,
    block: &ListBlock,
    [forces, torques]: [&mut [Vec3<f64>]; 2],
) -> PairSums
where
    F: Formula,
    P: Store,
    L: Lanes<Coordinate = P::Coordinate, Element = P::Element>,
{
    let axes = F::AXES.unwrap_or(term.axes);
    let zero = L::lit(0.0);
    let mut scratch: Vec<L> = Vec::with_capacity(term.tape.nodes().len());
    let mut sums = PairSums::default();
    // The numbers that all pairs have alike.
    let mut numbers = [zero; ROW];
    for (k, number) in numbers.iter_mut().enumerate() {
        *number = L::splat(term.columns[1 + k][0]);
    }
    let cutoff2 = L::splat(term.columns[0][0]);
    for row in block.rows() {
        for offset in row.of.clone() {
            let own = block.particles().start + offset;
            let own_species = scene.species[own];
            if term.idle[own_species as usize] {
                continue;
            }
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
            if term.electrostatic && charge.sum() == 0.0 && frame.dipole.sum() == 0.0 {
                continue;
            }
            let mut gathered = Gathered {
                force: Vec3::zero(),
                torque: Vec3::zero(),
                energy: zero,
                virial: [zero; 6],
            };
            let one = One {
                own,
                species: own_species,
                charge,
                frame,
            };
            // SAFETY: the caller's promise.
            unsafe {
                if scene.grouped {
                    // A group has one species, and so one set of numbers.
                    for (other, group) in row.groups().enumerate().filter(|(other, _)| !term.inert[*other]) {
                        let at = (own_species * term.species) as usize + other;
                        if !term.uniform {
                            for &k in &term.read {
                                numbers[k] = L::splat(term.columns[1 + k][at]);
                            }
                        }
                        let cutoff2 = L::splat(term.columns[0][at]);
                        meet::<F, P, L>(
                            scene,
                            term,
                            &one,
                            group,
                            &mut numbers,
                            Some(cutoff2),
                            &mut gathered,
                            &mut scratch,
                        );
                    }
                } else {
                    let cutoff2 = term.uniform.then_some(cutoff2);
                    meet::<F, P, L>(
                        scene,
                        term,
                        &one,
                        row.entries(),
                        &mut numbers,
                        cutoff2,
                        &mut gathered,
                        &mut scratch,
                    );
                }
            }
            let total = |v: Vec3<L>| Vec3::new(v.x.sum(), v.y.sum(), v.z.sum()) * term.strength;
            forces[offset] += total(gathered.force);
            if let Some(to) = torques.get_mut(offset) {
                *to += total(gathered.torque);
            }
            sums.energy += 0.5 * term.strength * gathered.energy.sum();
            for (to, part) in sums.virial.iter_mut().zip(gathered.virial) {
                *to -= 0.5 * term.strength * part.sum();
            }
        }
    }
    sums
}

/// A particle that visits its neighbors.
struct One<L> {
    own: usize,
    species: u32,
    charge: L,
    frame: Frame<L>,
}

/// Adds what these neighbors do. Without a cut-off for all of them, numbers are looked up pair by pair.
///
/// A function and not a closure: closures do not have the instruction set of the kernel they are in.
///
/// # Safety
/// As for [`visit`].
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the inner loop of a kernel")]
unsafe fn meet<F, P, L>(
    scene: &Scene<P>,
    term: &Term<P>,
    one: &One<L>,
    entries: &[u32],
    numbers: &mut [L; ROW],
    cutoff2: Option<L>,
    gathered: &mut Gathered<L>,
    scratch: &mut Vec<L>,
) where
    F: Formula,
    P: Store,
    L: Lanes<Coordinate = P::Coordinate, Element = P::Element>,
{
    let axes = F::AXES.unwrap_or(term.axes);
    let (place, unit) = (&scene.coordinates[one.own], L::lit(scene.unit));
    for entries in entries.chunks_exact(L::WIDTH) {
        // SAFETY: the caller's promise.
        let others = unsafe { L::bring(scene.coordinates.as_ptr(), entries.as_ptr()) };
        let d = L::away(&others, place) * unit;
        let r2 = d.norm2();
        let cutoff2 = match cutoff2 {
            Some(cutoff2) => cutoff2,
            // SAFETY: the caller's promise; columns have a number for every pair of species.
            None => unsafe {
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
            let z = L::bring(scene.z.as_ptr(), entries.as_ptr());
            let z = [
                L::numbers(&z, 0),
                L::numbers(&z, 1),
                L::numbers(&z, 2),
                L::numbers(&z, 3),
            ];
            match axes {
                Axes::Z => Frame::of_z(z),
                Axes::All => {
                    let x = L::bring(scene.x.as_ptr(), entries.as_ptr());
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
        gathered.add(inside, d, &one.frame, &other, &energy, axes);
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
