//! Charges on a mesh, against plain loops in double precision.

use super::{Extent, Place, Wrong};
use debye::engines::cuda::mesh::{Fixed, MeshNumber, MeshShape, Particles, Spread, Tiling, Word};
use debye::forces::pme::Basis;
use debye_gpu::{Buffer, Device, Stream};
use debye_studies::{Charges, Design, fastest};

/// A basis, points, and edges of bricks: larger and smaller than the mesh, dividing it and not.
pub(super) type Case = (Basis, [u32; 3], [u32; 3]);

pub(super) const CASES: &[Case] = &[
    (Basis::Cubic, [12, 18, 20], [8, 8, 8]),
    (Basis::BSpline(5), [15, 14, 28], [8, 12, 8]),
    (Basis::BSpline(3), [7, 9, 10], [16, 16, 16]),
    (Basis::BSpline(4), [16, 8, 24], [8, 8, 16]),
    (Basis::BSpline(6), [10, 20, 12], [8, 8, 8]),
    (Basis::BSpline(7), [21, 7, 8], [8, 4, 8]),
    (Basis::BSpline(8), [18, 25, 16], [8, 12, 8]),
];

pub(super) fn cases(place: &Place<'_>) -> &'static [Case] {
    if place.extent <= Extent::Smallest {
        &CASES[..2]
    } else {
        CASES
    }
}

/// Charges on a device.
pub(super) struct There<M: MeshNumber> {
    pub(super) pos: Buffer<u32>,
    pub(super) charges: Buffer<M>,
    pub(super) particles: Particles,
}

impl<M: MeshNumber> There<M> {
    pub(super) fn new(device: &Device, charges: &Charges) -> Result<Self, Wrong> {
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

/// Slots in whole warps, every fourth of them empty, as those of waters are.
fn slots_of(charges: &Charges) -> (Vec<u32>, Vec<f64>) {
    let (slots, table) = charges.kinds();
    let mut with_gaps = Vec::new();
    for three in slots.chunks(3 * 4) {
        with_gaps.extend_from_slice(three);
        with_gaps.extend([1, 2, 3, u32::MAX]);
    }
    while !with_gaps.len().is_multiple_of(32 * 4) {
        with_gaps.extend([1, 2, 3, u32::MAX]);
    }
    (with_gaps, table)
}

/// The slot of each particle.
pub(super) fn slot(i: usize) -> usize {
    i + i / 3
}

/// Charges anywhere, at corners, on points of the mesh, and some that are zero.
pub(super) fn charges(place: &mut Place<'_>, shape: &MeshShape, number: usize) -> Charges {
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

pub(super) fn number(place: &Place<'_>) -> usize {
    match place.extent {
        Extent::Watched | Extent::Smallest => 60,
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
    let kernel = design.kernel::<M>(shape, Tiling::new(edges, 64, 1), margin);
    Ok(Spread::new(
        device,
        shape,
        &kernel,
        fixed,
        margin,
        capacity as u32,
        None,
    )?)
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
        let off = (got.wide() - want).abs();
        if off > allowed || off.is_nan() {
            return Err(Wrong::Result(format!(
                "{what}: point {i} has {:e}, expected {want:e} within {allowed:e}",
                got.wide()
            )));
        }
    }
    // Rounding to nearest is not even-handed here: the many parts at the edge of a stencil that are smaller than half a
    // unit become nothing. So the total is held to that of parts rounded on the host, which no lost charge and no other
    // rounding meets. Weights of a charge sum to one but for their last digit, which may lean one way; now and then
    // that turns the rounding of a part.
    let total: f64 = charges.mesh_rounded(shape, fixed.bits).iter().sum();
    let sum: f64 = got.iter().map(|x| x.wide()).sum();
    let size: f64 = charges.charges.iter().map(|q| q.abs()).sum();
    let lean = size * if M::DOUBLE { 4e-15 } else { 1e-6 };
    let allowed = lean + 6.0 * (unit * size * weights).sqrt() + unit;
    let off = (total - sum).abs();
    if off > allowed || off.is_nan() {
        return Err(Wrong::Result(format!(
            "{what}: a charge of {sum} on the mesh, {total} if rounded on the host, expected within {allowed:e}"
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
    // Tiles that overlap leave fewer places; fewer still, so that no heap of a few charges is too large.
    let mut fixed = Fixed::choose::<M>(&shape, Design::Halo.overlap(), charges.charges.iter().copied());
    if !M::DOUBLE {
        fixed.bits -= 4;
    }
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
        place.expect(
            &what,
            &spread.bricks().counts(&stream)?,
            &vec![0; spread.bricks().number()],
        )?;
        // Nothing is done while a word is not zero; what is added to has been cleared.
        let mut word = device.upload(&[0_u32])?;
        let resting = there.particles.unless(&Word::of(&word, 0));
        spread.list(&stream, &there.particles)?;
        spread.queue(&stream, &resting, &mut mesh)?;
        place.expect(&what, &bits(&stream.download(&mesh)?), first)?;
        stream.upload(&[1_u32], word.all_mut())?;
        let left = M::rounded(7.0);
        let mut mesh = device.upload(&vec![left; shape.points()])?;
        spread.queue(&stream, &resting, &mut mesh)?;
        let left = if design == Design::Halo {
            M::rounded(0.0)
        } else {
            left
        };
        place.expect(
            &what,
            &bits(&stream.download(&mesh)?),
            &bits(&vec![left; shape.points()]),
        )?;
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
        let (parity, due) = (Word::of(&steer, 4), Word::of(&steer, 8));
        let particles = Particles::halves((&pos, None), slots, Some(&parity), None, &table);
        let fresh = spread::<f32>(device, &shape, Design::Owner, edges, fixed, [0; 3], n)?;
        let there = There::<f32>::new(device, &moved)?;
        let want = bits(&run(device, &stream, &fresh, &there.particles, &shape)?);
        for design in Design::ALL {
            let what = format!("{design} {basis:?} {size:?}, margin {margin:?}");
            let kernel = design.kernel::<f32>(&shape, Tiling::new(edges, 64, 1), margin);
            let spread = Spread::<f32>::new(device, &shape, &kernel, fixed, margin, n as u32, Some(&due))?;
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
        let mut tight = spread::<f32>(device, &shape, design, edges, fixed, [0; 3], 8)?;
        let roomy = spread::<f32>(device, &shape, design, edges, fixed, [0; 3], 96)?;
        let want = run(device, &stream, &roomy, &there.particles, &shape)?;
        let most = roomy.bricks().counts(&stream)?.into_iter().max();
        run(device, &stream, &tight, &there.particles, &shape)?;
        let notes = tight.bricks().notes(&stream)?;
        place.expect(&format!("{design}: needed"), &[notes.listed], &[most])?;
        let grown = [tight.grow_if_full(device, &stream)?];
        let got = run(device, &stream, &tight, &there.particles, &shape)?;
        place.expect(&format!("{design}: with room"), &bits(&got), &bits(&want))?;
        let grown = [grown[0], tight.grow_if_full(device, &stream)?];
        place.expect(&format!("{design}: grown"), &grown, &[false, true])?;
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
            let first = Fixed { bits: 20 };
            let mut spread = spread::<f32>(device, &shape, design, edges, first, [0; 3], 96)?;
            for places in [20, 24, 26, 27, 28, 29, 30] {
                let fixed = Fixed { bits: places };
                spread.set_fixed(fixed);
                let got = run(device, &stream, &spread, &there.particles, &shape)?;
                if fixed.holds(&spread.bricks().notes(&stream)?) {
                    right += 1;
                    let what = format!("{design} {basis:?}, {places} places");
                    compare(place, &what, &got, &all, &shape, fixed)?;
                } else {
                    flagged += 1;
                }
                spread.bricks_mut().forget(&stream)?;
            }
            let what = format!("{design} {basis:?}: {right} right, {flagged} flagged");
            place.expect(&what, &[right > 0, flagged > 0], &[true; 2])?;
            let mut tries = 0;
            let got = loop {
                let got = run(device, &stream, &spread, &there.particles, &shape)?;
                tries += 1;
                if spread.grow_if_full(device, &stream)? || tries > 6 {
                    break got;
                }
            };
            compare(
                place,
                &format!("{design} {basis:?} grown"),
                &got,
                &all,
                &shape,
                spread.fixed(),
            )?;
        }
    }
    Ok(())
}

/// The fastest design is found, and spreads as the others do.
pub(super) fn choice(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (device, stream) = (place.device, place.device.stream()?);
    let shape = MeshShape {
        size: [8, 8, 12],
        basis: Basis::BSpline(4),
    };
    let all = charges(place, &shape, 30);
    let there = There::<f32>::new(device, &all)?;
    let (fastest, timed) = fastest::<f32>(device, &shape, &there.particles, &all.charges, [1; 3])?;
    let got = run(device, &stream, &fastest, &there.particles, &shape)?;
    compare(place, "the fastest", &got, &all, &shape, fastest.fixed())?;
    let first = timed.first().map(|t| t.tiling);
    place.expect("it is the first", &[first], &[Some(fastest.tiling())])?;
    let in_order = timed.windows(2).all(|w| w[0].seconds <= w[1].seconds);
    place.expect("in order", &[in_order], &[true])
}
