//! Forces from a mesh of potentials, against plain loops in double precision.

use super::mesh::{CASES, Case, There, cases, charges, number, slot};
use super::{Extent, Place, Wrong};
use debye::engines::cuda::mesh::{
    Bricks, Entered, Fixed, Gather, GatherMethod, MeshNumber, MeshShape, Particles, Spread, SpreadKernel,
    Tiling, Word, mean_of_sums,
};
use debye_gpu::Buffer;
use debye_studies::Charges;

/// Force and q φ of every particle, by plain loops: `turn` × −q ∂φ/∂(fraction).
fn gathered(charges: &Charges, shape: &MeshShape, phi: &[f64], turn: &[[f64; 3]; 3]) -> Vec<([f64; 3], f64)> {
    let n = shape.basis.points();
    let size = shape.size.map(|k| k as usize);
    let one = |(place, q): (&[u32; 3], &f64)| {
        let along: [(usize, _); 3] = std::array::from_fn(|a| {
            let u = u64::from(place[a]) * u64::from(shape.size[a]);
            let first = (u >> 32) as i64 + i64::from(shape.basis.first());
            let rest = (u & 0xffff_ffff) as f64 / 4_294_967_296.0;
            (
                first.rem_euclid(size[a] as i64) as usize,
                shape.basis.weights::<f64>(rest),
            )
        });
        let (mut derivative, mut value) = ([0.0; 3], 0.0);
        for k in 0..n * n * n {
            let at = [k / (n * n), k / n % n, k % n];
            let p: [usize; 3] = std::array::from_fn(|a| (along[a].0 + at[a]) % size[a]);
            let here = phi[(p[0] * size[1] + p[1]) * size[2] + p[2]];
            let w: [f64; 3] = std::array::from_fn(|a| along[a].1.values[at[a]]);
            let s: [f64; 3] = std::array::from_fn(|a| along[a].1.derivatives[at[a]]);
            value += w[0] * w[1] * w[2] * here;
            derivative[0] += s[0] * w[1] * w[2] * here;
            derivative[1] += w[0] * s[1] * w[2] * here;
            derivative[2] += w[0] * w[1] * s[2] * here;
        }
        let along_mesh: [f64; 3] = std::array::from_fn(|a| -q * size[a] as f64 * derivative[a]);
        let force = std::array::from_fn(|k| (0..3).map(|a| turn[k][a] * along_mesh[a]).sum());
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
    Err(Wrong::Result(format!(
        "{what}: {got}, expected {want} within {allowed:e}"
    )))
}

fn gather_case<M: MeshNumber>(place: &mut Place<'_>, case: &Case) -> Result<(), Wrong> {
    let (device, stream) = (place.device, place.device.stream()?);
    let &(basis, size, edges) = case;
    let shape = MeshShape { size, basis };
    let n = number(place);
    let all = charges(place, &shape, n);
    let there = There::<M>::new(device, &all)?;
    let slots = there.pos.len() / 4;
    let phi: Vec<M> = (0..shape.points())
        .map(|_| M::rounded(place.random.real()))
        .collect();
    let wide: Vec<f64> = phi.iter().map(|x| x.wide()).collect();
    let want = gathered(&all, &shape, &wide, &TURN);
    let charged = all.charges.iter().filter(|q| **q != 0.0).count();
    let mesh = device.upload(&phi)?;
    let bricks = Bricks::new::<M>(device, &shape, edges, Entered::Touched, [1; 3], n as u32, None)?;
    bricks.queue(&stream, &there.particles, false)?;
    let most = f64::from(*size.iter().max().unwrap_or(&1));
    let allowed = if M::DOUBLE { 1e-13 } else { 5e-6 } * most;
    let mut first: Option<Vec<u64>> = None;
    let mut methods = vec![GatherMethod::Slots, GatherMethod::Tiles];
    let groups = [(4, 3), (8, 8), (2, 2)].map(|(slots, particles)| GatherMethod::Groups { slots, particles });
    if place.extent == Extent::Full {
        methods.extend(groups);
    } else {
        // Modules take long to compile.
        methods.push(groups[shape.basis.points() % 2]);
    }
    for method in methods {
        let what = format!("{method:?} {basis:?} {size:?}");
        let mut gather = Gather::<M>::new(device, &shape, method, Tiling::new(edges, 64, 1))?;
        gather.set_cell(&stream, TURN, 1.0, charged)?;
        let mut forces = device.upload(&vec![7.0_f64; 3 * slots])?;
        let mut potentials = device.upload(&vec![7.0_f64; slots])?;
        let particles = &there.particles;
        let lists = Some(&bricks);
        gather.queue(
            &stream,
            particles,
            lists,
            &mesh,
            &mut forces,
            Some(&mut potentials),
            false,
            None,
        )?;
        let (set, energy) = (stream.download(&forces)?, stream.download(&potentials)?);
        for (i, (force, value)) in want.iter().enumerate() {
            for (k, want) in force.iter().enumerate() {
                near(
                    place,
                    &format!("{what}: force {i}"),
                    set[k * slots + slot(i)],
                    *want,
                    allowed,
                )?;
            }
            near(
                place,
                &format!("{what}: potential {i}"),
                energy[slot(i)],
                *value,
                allowed,
            )?;
        }
        place.expect(&format!("{what}: empty slots"), &[set[3], energy[3]], &[0.0, 0.0])?;
        let now: Vec<u64> = set.iter().chain(&energy).map(|x| x.to_bits()).collect();
        let first = first.get_or_insert_with(|| now.clone());
        place.expect(&format!("{what}: same bits as the first"), &now, first)?;
        // Added to, and summed; twice, as spreading clears the sums.
        let sums = device.upload(&[5_u64; 3])?;
        let at = Word::of(&sums, 0);
        let fixed = Fixed { bits: 16 };
        let kernel = SpreadKernel::owner::<M>(&shape, Tiling::new(edges, 64, 1));
        let mut spread = Spread::<M>::new(device, &shape, &kernel, fixed, [0; 3], n as u32, None)?;
        spread.bricks_mut().clear_sums(&at);
        let add = |particles: &Particles, forces: &mut Buffer<f64>| {
            gather.queue(&stream, particles, lists, &mesh, forces, None, true, Some(&at))
        };
        for _ in 0..2 {
            stream.upload(&vec![7.0; 3 * slots], forces.all_mut())?;
            spread.queue_fresh(&stream, particles, &mut device.zeros(shape.points())?)?;
            add(particles, &mut forces)?;
            let (added, found) = (stream.download(&forces)?, stream.download(&sums)?);
            for (i, (force, _)) in want.iter().enumerate() {
                for k in 0..3 {
                    let what = format!("{what}: added force");
                    near(place, &what, added[k * slots + slot(i)], 7.0 + force[k], allowed)?;
                }
            }
            for k in 0..3 {
                let mean = want.iter().map(|w| w.0[k]).sum::<f64>() / charged as f64;
                let found = found[k] as i64 as f64 * mean_of_sums(charged);
                near(place, &format!("{what}: mean"), found, mean, allowed + 1e-6)?;
            }
        }
        place.expect(&what, &[gather.notes(&stream)?.too_strong], &[false])?;
        // Nothing is done while a word is not zero.
        let word = device.upload(&[1_u32])?;
        let resting = particles.unless(&Word::of(&word, 0));
        let (before, summed) = (stream.download(&forces)?, stream.download(&sums)?);
        add(&resting, &mut forces)?;
        place.expect(&format!("{what}: rests"), &stream.download(&forces)?, &before)?;
        place.expect(&format!("{what}: rests"), &stream.download(&sums)?, &summed)?;
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

/// Forces are minus the derivatives of Σ q φ for a mesh that stays as it is.
pub(super) fn derivatives(place: &mut Place<'_>) -> Result<(), Wrong> {
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
        let mut gather = Gather::<f64>::usual(device, &shape, GatherMethod::Slots, [8; 3])?;
        gather.set_cell(&stream, turn, 1.0, 1)?;
        let mut evaluate = |all: &Charges| -> Result<(Vec<f64>, Vec<f64>), Wrong> {
            let there = There::<f64>::new(device, all)?;
            let slots = there.pos.len() / 4;
            let (mut forces, mut potentials) = (device.zeros(3 * slots)?, device.zeros(slots)?);
            let values = Some(&mut potentials);
            gather.queue(
                &stream,
                &there.particles,
                None,
                &mesh,
                &mut forces,
                values,
                false,
                None,
            )?;
            place.cases += usize::from(!there.charges.is_empty());
            Ok((stream.download(&forces)?, stream.download(&potentials)?))
        };
        let (forces, _) = evaluate(&all)?;
        let slots = forces.len() / 3;
        // Fractions of 2^-17: 10^-4 of a mesh cell and more.
        let step = 1_u32 << 15;
        for a in 0..3 {
            let mut energy = |by: u32| {
                all.places
                    .iter_mut()
                    .for_each(|at| at[a] = at[a].wrapping_add(by));
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
