//! Charges on a mesh and forces from one, against plain loops in double precision.

use super::{Extent, Place, Wrong};
use crate::backend::cuda::mesh::speed::Charges;
use crate::backend::cuda::mesh::{
    self, Bricks, Design, Entered, Fixed, Gather, MeshNumber, MeshShape, Particles, Spread, Tiling, Way,
};
use crate::backend::cuda::{Buffer, Device, ModuleSource, Stream};
use crate::forces::pme::Basis;

pub(super) fn modules() -> Vec<ModuleSource> {
    mesh::modules()
}

/// A basis, points, and edges of bricks: larger and smaller than the mesh, dividing it and not.
type Case = (Basis, [u32; 3], [u32; 3]);

const CASES: &[Case] = &[
    (Basis::Cubic, [12, 18, 20], [8, 8, 8]),
    (Basis::BSpline(5), [15, 14, 28], [8, 12, 8]),
    (Basis::BSpline(3), [7, 9, 10], [16, 16, 16]),
    (Basis::BSpline(4), [16, 8, 24], [8, 8, 16]),
    (Basis::BSpline(6), [10, 20, 12], [8, 8, 8]),
    (Basis::BSpline(7), [21, 7, 8], [8, 4, 8]),
    (Basis::BSpline(8), [18, 25, 16], [8, 12, 8]),
];

fn cases(place: &Place<'_>) -> &'static [Case] {
    if place.extent == Extent::Smallest {
        &CASES[..2]
    } else {
        CASES
    }
}

/// Charges on a device.
struct There<M: MeshNumber> {
    pos: Buffer<u32>,
    charges: Buffer<M>,
    particles: Particles,
}

impl<M: MeshNumber> There<M> {
    fn new(device: &Device, charges: &Charges) -> Result<Self, Wrong> {
        let (slots, table) = slots_of(charges);
        let table: Vec<M> = table.iter().map(|&q| M::rounded(q)).collect();
        let (pos, charges) = (device.upload(&slots)?, device.upload(&table)?);
        let particles = Particles::new(&pos, &charges);
        Ok(Self {
            pos,
            charges,
            particles,
        })
    }
}

/// Slots, every seventh of them empty.
fn slots_of(charges: &Charges) -> (Vec<u32>, Vec<f64>) {
    let (slots, table) = charges.kinds();
    let mut with_gaps = Vec::new();
    for (i, slot) in slots.chunks(4).enumerate() {
        if i % 7 == 3 {
            with_gaps.extend([1, 2, 3, u32::MAX]);
        }
        with_gaps.extend_from_slice(slot);
    }
    (with_gaps, table)
}

/// The slot of each particle.
fn slot(i: usize) -> usize {
    i + (i + 4) / 7
}

/// Charges anywhere, at corners, on points of the mesh, and some that are zero.
fn charges(place: &mut Place<'_>, shape: &MeshShape, number: usize) -> Charges {
    let kinds = [0.417, -0.834, 0.5, 0.0, -1.0, 0.25];
    let mut places: Vec<[u32; 3]> = vec![[0; 3], [u32::MAX; 3], [0, u32::MAX, 1 << 31]];
    // The first place of a cell, and the last of the one before.
    for k in 0..8 {
        let cell = |a: usize| {
            let size = u64::from(shape.size[a]);
            let edge = (k * 5 + a as u64) % size;
            ((edge << 32).div_ceil(size) as u32).wrapping_sub((k % 2) as u32)
        };
        places.push([cell(0), cell(1), cell(2)]);
    }
    while places.len() < number {
        places.push(std::array::from_fn(|_| place.random.next() as u32));
    }
    let charges = (0..places.len()).map(|i| kinds[i % kinds.len()]).collect();
    Charges { places, charges }
}

fn number(place: &Place<'_>) -> usize {
    match place.extent {
        Extent::Smallest => 60,
        Extent::Small => 150,
        Extent::Full => 5000,
    }
}

/// A design for these charges, with sums of so many places.
fn spread<M: MeshNumber>(
    device: &Device,
    shape: &MeshShape,
    design: Design,
    edges: [u32; 3],
    fixed: Fixed,
    margin: [u32; 3],
    capacity: usize,
) -> Result<Spread<M>, Wrong> {
    let tiling = Tiling::new(edges, 64, 1);
    Ok(Spread::new(device, shape, design, tiling, fixed, margin, capacity as u32, None)?)
}

fn run<M: MeshNumber>(
    device: &Device,
    stream: &Stream,
    spread: &Spread<M>,
    particles: &Particles,
    shape: &MeshShape,
) -> Result<Vec<M>, Wrong> {
    // Nobody may rely on what is there.
    let mut mesh = device.upload(&vec![M::rounded(1e9); shape.points()])?;
    spread.list(stream, particles)?;
    spread.queue(stream, particles, &mut mesh)?;
    Ok(stream.download(&mesh)?)
}

fn bits<M: MeshNumber>(mesh: &[M]) -> Vec<u64> {
    mesh.iter().map(|x| x.wide().to_bits()).collect()
}

/// How many charges touch each point.
fn touches(charges: &Charges, shape: &MeshShape) -> Vec<f64> {
    let n = shape.basis.points() as i64;
    let mut count = vec![0.0; shape.points()];
    let size = shape.size.map(i64::from);
    for place in &charges.places {
        let first: [i64; 3] = std::array::from_fn(|a| {
            ((u64::from(place[a]) * u64::from(shape.size[a])) >> 32) as i64 + i64::from(shape.basis.first())
        });
        for k in 0..n * n * n {
            let at = [k / (n * n), k / n % n, k % n];
            let p: [i64; 3] = std::array::from_fn(|a| (first[a] + at[a]).rem_euclid(size[a]));
            count[((p[0] * size[1] + p[1]) * size[2] + p[2]) as usize] += 1.0;
        }
    }
    count
}

/// Every contribution is rounded once to the fixed point; weights are right to `weights` each.
fn compare<M: MeshNumber>(
    place: &mut Place<'_>,
    what: &str,
    got: &[M],
    charges: &Charges,
    shape: &MeshShape,
    fixed: Fixed,
) -> Result<(), Wrong> {
    let want = charges.mesh(shape);
    let unit = 2_f64.powi(-fixed.bits);
    let weights = if M::DOUBLE { 3e-15 } else { 1.5e-6 };
    let count = touches(charges, shape);
    place.cases += 1;
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let allowed = count[i] * (0.5 * unit + weights) + want.abs() * weights;
        // Not a number is never near.
        if !((got.wide() - want).abs() <= allowed) {
            return Err(Wrong::Result(format!(
                "{what}: point {i} has {:e}, expected {want:e} within {allowed:e}",
                got.wide()
            )));
        }
    }
    let (total, sum): (f64, f64) = (charges.charges.iter().sum(), got.iter().map(|x| x.wide()).sum());
    let parts = charges.places.len() as f64;
    let allowed = parts.sqrt() * (shape.basis.points() as f64).powf(1.5) * (unit + weights);
    if !((total - sum).abs() <= allowed) {
        return Err(Wrong::Result(format!(
            "{what}: a charge of {sum} on the mesh, expected {total} within {allowed:e}"
        )));
    }
    Ok(())
}

fn spread_case<M: MeshNumber>(place: &mut Place<'_>, case: &Case) -> Result<(), Wrong> {
    let (device, stream) = (place.device, place.device.stream()?);
    let &(basis, size, edges) = case;
    let shape = MeshShape { size, basis };
    let n = number(place);
    let mut charges = charges(place, &shape, n);
    let there = There::<M>::new(device, &charges)?;
    // Tiles that overlap leave fewer places.
    let fixed = Fixed::choose::<M>(&shape, Design::Halo, charges.charges.iter().copied());
    let mut first = None;
    for design in Design::ALL {
        let what = format!("{design} {basis:?} {size:?} {edges:?}");
        let spread = spread::<M>(device, &shape, design, edges, fixed, [0; 3], n)?;
        let got = run(device, &stream, &spread, &there.particles, &shape)?;
        let notes = spread.bricks().notes(&stream)?;
        let fine = notes.listed.is_none() && !notes.strayed && (M::DOUBLE || fixed.holds(&notes));
        place.expect(&format!("{what}: {notes:?}"), &[fine], &[true])?;
        compare(place, &what, &got, &charges, &shape, fixed)?;
        let first = first.get_or_insert_with(|| bits(&got));
        place.expect(&format!("{what}: same bits as the first"), &bits(&got), first)?;
        // Used once, counts are left clear.
        let mut mesh = device.zeros::<M>(shape.points())?;
        spread.bricks().clear(&stream)?;
        for _ in 0..2 {
            spread.queue_fresh(&stream, &there.particles, &mut mesh)?;
        }
        place.expect(&what, &bits(&stream.download(&mesh)?), first)?;
        place.expect(&what, &spread.bricks().counts(&stream)?, &vec![0; spread.bricks().number()])?;
    }
    // In another order.
    for i in (1..n).rev() {
        let j = place.random.below(i + 1);
        charges.places.swap(i, j);
        charges.charges.swap(i, j);
    }
    let there = There::<M>::new(device, &charges)?;
    let owner = spread::<M>(device, &shape, Design::Owner, edges, fixed, [0; 3], n)?;
    let got = run(device, &stream, &owner, &there.particles, &shape)?;
    place.expect("another order", &bits(&got), &first.unwrap_or_default())
}

pub(super) fn spreading(place: &mut Place<'_>) -> Result<(), Wrong> {
    for (k, case) in cases(place).iter().enumerate() {
        spread_case::<f32>(place, case)?;
        if place.extent == Extent::Full || k % 3 == 0 {
            spread_case::<f64>(place, case)?;
        }
    }
    Ok(())
}

/// Particles moved within the margin since the lists were made.
pub(super) fn margins(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (device, stream) = (place.device, place.device.stream()?);
    for (&(basis, size, edges), margin) in cases(place).iter().zip([[1, 2, 0], [1, 1, 1], [1, 0, 3]]) {
        let shape = MeshShape { size, basis };
        let n = number(place);
        let before = charges(place, &shape, n);
        let mut moved = before.clone();
        for at in &mut moved.places {
            for a in 0..3 {
                let most = (f64::from(margin[a]) / f64::from(size[a]) * 4_294_967_296.0) as i64;
                let step = (place.random.real() * most as f64) as i64;
                at[a] = at[a].wrapping_add(step as u32);
            }
        }
        let fixed = Fixed { bits: 18 };
        // Two halves, the second of them now.
        let (here, table) = slots_of(&before);
        let slots = here.len() / 4;
        let mut steer = device.upload(&[0_u32, 0, 1])?;
        let mut pos = device.upload(&[here, slots_of(&moved).0].concat())?;
        let table: Vec<f32> = table.iter().map(|q| *q as f32).collect();
        let table = device.upload(&table)?;
        let particles = Particles::halves(&pos, slots, Some((&steer, 1)), &table);
        let fresh = spread::<f32>(device, &shape, Design::Owner, edges, fixed, [0; 3], n)?;
        let there = There::<f32>::new(device, &moved)?;
        let want = bits(&run(device, &stream, &fresh, &there.particles, &shape)?);
        for design in Design::ALL {
            let what = format!("{design} {basis:?} {size:?}, margin {margin:?}");
            let tiling = Tiling::new(edges, 64, 1);
            let when = Some((&steer, 2));
            let spread = Spread::<f32>::new(device, &shape, design, tiling, fixed, margin, n as u32, when)?;
            let mut mesh = device.zeros(shape.points())?;
            stream.upload(&[0, 0, 1], steer.all_mut())?;
            spread.list(&stream, &particles)?;
            // Lists are not due: they stay.
            stream.upload(&[0, 1, 0], steer.all_mut())?;
            spread.list(&stream, &particles)?;
            spread.queue(&stream, &particles, &mut mesh)?;
            place.expect(&what, &bits(&stream.download(&mesh)?), &want)?;
            place.expect(&what, &[spread.bricks().notes(&stream)?.strayed], &[false])?;
            if design == Design::Halo {
                let mut far = slots_of(&moved).0;
                // Half the mesh away, without what would be near again by going round.
                far[0] = far[0].wrapping_add(1 << 31);
                stream.upload(&far, pos.part_mut(4 * slots..8 * slots))?;
                spread.queue(&stream, &particles, &mut mesh)?;
                let near = (size[0] / 2) < edges[0] + margin[0];
                let strayed = spread.bricks().notes(&stream)?.strayed;
                place.expect(&format!("{what}: strayed"), &[strayed || near], &[true])?;
                stream.upload(&slots_of(&moved).0, pos.part_mut(4 * slots..8 * slots))?;
            }
        }
    }
    Ok(())
}

/// Lists that do not fit are noticed, and made to fit.
pub(super) fn overflow(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (device, stream) = (place.device, place.device.stream()?);
    let &(basis, size, edges) = &CASES[0];
    let shape = MeshShape { size, basis };
    let mut all = charges(place, &shape, 80);
    // Most of them in a corner.
    for at in &mut all.places[20..] {
        *at = at.map(|x| x >> 3);
    }
    let there = There::<f32>::new(device, &all)?;
    let fixed = Fixed { bits: 16 };
    for design in Design::ALL {
        let mut tight = spread::<f32>(device, &shape, design, edges, fixed, [0; 3], 32)?;
        let roomy = spread::<f32>(device, &shape, design, edges, fixed, [0; 3], 96)?;
        let want = run(device, &stream, &roomy, &there.particles, &shape)?;
        let most = roomy.bricks().counts(&stream)?.into_iter().max();
        run(device, &stream, &tight, &there.particles, &shape)?;
        let notes = tight.bricks().notes(&stream)?;
        place.expect(&format!("{design}: needed"), &[notes.listed], &[most])?;
        let settled = [tight.settle(device, &stream)?];
        let got = run(device, &stream, &tight, &there.particles, &shape)?;
        place.expect(&format!("{design}: with room"), &bits(&got), &bits(&want))?;
        let settled = [settled[0], tight.settle(device, &stream)?];
        place.expect(&format!("{design}: settled"), &settled, &[false, true])?;
    }
    Ok(())
}

/// Sums that are too large are noticed: where nothing is noted, the mesh is right.
pub(super) fn saturation(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (device, stream) = (place.device, place.device.stream()?);
    for &(basis, size, edges) in cases(place).iter().take(3) {
        let shape = MeshShape { size, basis };
        let mut all = charges(place, &shape, 60);
        // A heap of one sign, over a corner of bricks.
        for (at, q) in all.places.iter_mut().zip(&mut all.charges).skip(10) {
            for a in 0..3 {
                let middle = (u64::from(edges[a].min(size[a] - 1)) << 32) / u64::from(size[a]);
                at[a] = (middle as u32).wrapping_add(at[a] >> 7);
            }
            *q = 1.0;
        }
        let there = There::<f32>::new(device, &all)?;
        for design in Design::ALL {
            let (mut right, mut flagged) = (0, 0);
            for places in [20, 24, 26, 27, 28, 29, 30] {
                let fixed = Fixed { bits: places };
                let spread = spread::<f32>(device, &shape, design, edges, fixed, [0; 3], 96)?;
                let got = run(device, &stream, &spread, &there.particles, &shape)?;
                if fixed.holds(&spread.bricks().notes(&stream)?) {
                    right += 1;
                    compare(place, &format!("{design} {basis:?}, {places} places"), &got, &all, &shape, fixed)?;
                } else {
                    flagged += 1;
                }
            }
            let both = [right > 0, flagged > 0];
            place.expect(&format!("{design} {basis:?}: {right} right, {flagged} flagged"), &both, &[true; 2])?;
            let fixed = Fixed { bits: 30 };
            let mut spread = spread::<f32>(device, &shape, design, edges, fixed, [0; 3], 96)?;
            let mut tries = 0;
            let got = loop {
                let got = run(device, &stream, &spread, &there.particles, &shape)?;
                tries += 1;
                if spread.settle(device, &stream)? || tries > 6 {
                    break got;
                }
            };
            compare(place, &format!("{design} {basis:?} settled"), &got, &all, &shape, spread.fixed())?;
        }
    }
    Ok(())
}

/// Force and q φ of every particle, by plain loops: `turn` × −q ∂φ/∂(fraction).
fn gathered(charges: &Charges, shape: &MeshShape, phi: &[f64], turn: &[[f64; 3]; 3]) -> Vec<([f64; 3], f64)> {
    let n = shape.basis.points();
    let size = shape.size.map(|k| k as usize);
    let one = |(place, q): (&[u32; 3], &f64)| {
        let along: [(usize, _); 3] = std::array::from_fn(|a| {
            let u = u64::from(place[a]) * u64::from(shape.size[a]);
            let first = (u >> 32) as i64 + i64::from(shape.basis.first());
            let rest = (u & 0xffff_ffff) as f64 / 4_294_967_296.0;
            (first.rem_euclid(size[a] as i64) as usize, shape.basis.weights::<f64>(rest))
        });
        let (mut slope, mut value) = ([0.0; 3], 0.0);
        for k in 0..n * n * n {
            let at = [k / (n * n), k / n % n, k % n];
            let p: [usize; 3] = std::array::from_fn(|a| (along[a].0 + at[a]) % size[a]);
            let here = phi[(p[0] * size[1] + p[1]) * size[2] + p[2]];
            let w: [f64; 3] = std::array::from_fn(|a| along[a].1.values[at[a]]);
            let s: [f64; 3] = std::array::from_fn(|a| along[a].1.slopes[at[a]]);
            value += w[0] * w[1] * w[2] * here;
            slope[0] += s[0] * w[1] * w[2] * here;
            slope[1] += w[0] * s[1] * w[2] * here;
            slope[2] += w[0] * w[1] * s[2] * here;
        }
        let pull: [f64; 3] = std::array::from_fn(|a| -q * size[a] as f64 * slope[a]);
        let force = std::array::from_fn(|k| (0..3).map(|a| turn[k][a] * pull[a]).sum());
        (force, q * value)
    };
    charges.places.iter().zip(&charges.charges).map(one).collect()
}

const TURN: [[f64; 3]; 3] = [[0.1, 0.0, 0.0], [-0.02, 0.12, 0.0], [0.01, 0.03, 0.09]];

fn near(place: &mut Place<'_>, what: &str, got: f64, want: f64, allowed: f64) -> Result<(), Wrong> {
    place.cases += 1;
    if (got - want).abs() <= allowed {
        return Ok(());
    }
    Err(Wrong::Result(format!("{what}: {got}, expected {want} within {allowed:e}")))
}

fn gather_case<M: MeshNumber>(place: &mut Place<'_>, case: &Case) -> Result<(), Wrong> {
    let (device, stream) = (place.device, place.device.stream()?);
    let &(basis, size, edges) = case;
    let shape = MeshShape { size, basis };
    let n = number(place);
    let all = charges(place, &shape, n);
    let there = There::<M>::new(device, &all)?;
    let slots = there.pos.len() / 4;
    let phi: Vec<M> = (0..shape.points()).map(|_| M::rounded(place.random.real())).collect();
    let wide: Vec<f64> = phi.iter().map(|x| x.wide()).collect();
    let want = gathered(&all, &shape, &wide, &TURN);
    let charged = all.charges.iter().filter(|q| **q != 0.0).count();
    let mesh = device.upload(&phi)?;
    let bricks = Bricks::new::<M>(device, &shape, edges, Entered::Touched, [1; 3], n as u32, None)?;
    bricks.queue(&stream, &there.particles, false)?;
    let most = f64::from(*size.iter().max().unwrap_or(&1));
    let allowed = if M::DOUBLE { 1e-13 } else { 5e-6 } * most;
    let mut first: Option<Vec<u64>> = None;
    for way in [Way::Slots, Way::Tiles] {
        let what = format!("{way:?} {basis:?} {size:?}");
        let mut gather = Gather::<M>::new(device, &shape, way, Tiling::new(edges, 64, 1))?;
        gather.set_cell(&stream, TURN, 1.0, charged)?;
        let mut forces = device.upload(&vec![7.0_f64; 3 * slots])?;
        let mut potentials = device.upload(&vec![7.0_f64; slots])?;
        let particles = &there.particles;
        let lists = Some(&bricks);
        gather.queue(&stream, particles, lists, &mesh, &mut forces, Some(&mut potentials), false, false)?;
        let (set, energy) = (stream.download(&forces)?, stream.download(&potentials)?);
        for (i, (force, value)) in want.iter().enumerate() {
            for (k, want) in force.iter().enumerate() {
                near(place, &format!("{what}: force {i}"), set[k * slots + slot(i)], *want, allowed)?;
            }
            near(place, &format!("{what}: potential {i}"), energy[slot(i)], *value, allowed)?;
        }
        place.expect(&format!("{what}: empty slots"), &[set[3], energy[3]], &[0.0, 0.0])?;
        let now: Vec<u64> = set.iter().chain(&energy).map(|x| x.to_bits()).collect();
        let first = first.get_or_insert_with(|| now.clone());
        place.expect(&format!("{what}: same bits as the first"), &now, first)?;
        // Added to, with the mean removed; twice, as sums must be clear again.
        let sums: [f64; 3] = std::array::from_fn(|k| want.iter().map(|w| w.0[k]).sum::<f64>() / charged as f64);
        for _ in 0..2 {
            stream.upload(&vec![7.0; 3 * slots], forces.all_mut())?;
            gather.queue(&stream, particles, lists, &mesh, &mut forces, None, true, true)?;
            gather.remove_mean(&stream, particles, &mut forces)?;
            let added = stream.download(&forces)?;
            for (i, (force, _)) in want.iter().enumerate() {
                for k in 0..3 {
                    let mean = if all.charges[i] == 0.0 { 0.0 } else { sums[k] };
                    let left = 7.0 + force[k] - mean;
                    near(place, &format!("{what}: mean"), added[k * slots + slot(i)], left, allowed + 1e-6)?;
                }
            }
        }
        place.expect(&what, &[gather.notes(&stream)?.too_strong], &[false])?;
    }
    Ok(())
}

pub(super) fn gathering(place: &mut Place<'_>) -> Result<(), Wrong> {
    for (k, case) in cases(place).iter().enumerate() {
        gather_case::<f32>(place, case)?;
        if place.extent == Extent::Full || k % 3 == 0 {
            gather_case::<f64>(place, case)?;
        }
    }
    Ok(())
}

/// Forces are minus the slopes of Σ q φ for a mesh that stays as it is.
pub(super) fn slopes(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (device, stream) = (place.device, place.device.stream()?);
    let mut used = vec![CASES[0]];
    if place.extent > Extent::Smallest {
        used.extend([CASES[3], CASES[6]]);
    }
    for (basis, size, _) in used {
        let shape = MeshShape { size, basis };
        let mut all = charges(place, &shape, 40);
        let phi: Vec<f64> = (0..shape.points()).map(|_| place.random.real()).collect();
        let mesh = device.upload(&phi)?;
        let turn = std::array::from_fn(|k| std::array::from_fn(|j| f64::from(u8::from(j == k))));
        let mut gather = Gather::<f64>::usual(device, &shape)?;
        gather.set_cell(&stream, turn, 1.0, 1)?;
        let mut evaluate = |all: &Charges| -> Result<(Vec<f64>, Vec<f64>), Wrong> {
            let there = There::<f64>::new(device, all)?;
            let slots = there.pos.len() / 4;
            let (mut forces, mut potentials) = (device.zeros(3 * slots)?, device.zeros(slots)?);
            let values = Some(&mut potentials);
            gather.queue(&stream, &there.particles, None, &mesh, &mut forces, values, false, false)?;
            place.cases += usize::from(!there.charges.is_empty());
            Ok((stream.download(&forces)?, stream.download(&potentials)?))
        };
        let (forces, _) = evaluate(&all)?;
        let slots = forces.len() / 3;
        // Fractions of 2^-17: 10^-4 of a mesh cell and more.
        let step = 1_u32 << 15;
        for a in 0..3 {
            let mut energy = |by: u32| {
                all.places.iter_mut().for_each(|at| at[a] = at[a].wrapping_add(by));
                evaluate(&all).map(|(_, energy)| energy)
            };
            let up = energy(step)?;
            let down = energy(0_u32.wrapping_sub(2 * step))?;
            energy(step)?;
            let per = 4_294_967_296.0 / (2.0 * f64::from(step));
            for i in 0..40 {
                let found = -(up[slot(i)] - down[slot(i)]) * per;
                let force = forces[a * slots + slot(i)];
                // The cubic's second derivative jumps at points of the mesh.
                let allowed = 2e-3 * f64::from(size[a]);
                if (found - force).abs() > allowed {
                    return Err(Wrong::Result(format!(
                        "{basis:?} {size:?}: a force of {force} on {i} along axis {a}, but the energy falls by {found}"
                    )));
                }
            }
        }
    }
    Ok(())
}
