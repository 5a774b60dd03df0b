//! Every stage of a mesh alone, against plain loops in double precision.

use super::*;
use crate::forces::pme::Basis;
use crate::random::Philox;

const SIZE: [usize; 3] = [10, 12, 9];

fn cell() -> Cell {
    Cell::triclinic([[2.0, 0.0, 0.0], [0.3, 2.4, 0.0], [-0.2, 0.4, 1.9]]).unwrap()
}

fn plan(basis: Basis) -> MeshPlan {
    MeshPlan {
        size: SIZE,
        basis,
        optimal: false,
    }
}

/// Numbers in −1..1 that are the same every time.
fn noise(seed: u64, count: usize) -> Vec<f64> {
    let philox = Philox::new(seed);
    (0..count as u32)
        .map(|k| 2.0 * philox.uniform(0, k, 0) - 1.0)
        .collect()
}

/// Charges, some beyond the cell and one on its corner.
fn charges(count: usize) -> (Vec<Vec3<f64>>, Vec<f64>) {
    let x = noise(3, 3 * count);
    let mut places: Vec<_> = x
        .chunks_exact(3)
        .map(|x| Vec3::new(3.0 * x[0], 3.0 * x[1], 3.0 * x[2]))
        .collect();
    places[0] = Vec3::zero();
    (places, noise(4, count))
}

/// Points that a charge touches, as places of the mesh, with weight and derivatives by axis.
fn stencil(basis: Basis, r: Vec3<f64>) -> Vec<(usize, f64, [f64; 3])> {
    let vectors = reciprocal(&cell());
    let of_axis = |axis: usize| {
        let s = vectors[axis].dot(r);
        let u = (s - s.floor()) * SIZE[axis] as f64;
        let w = basis.weights(u - u.floor());
        let first = u.floor() as i64 + i64::from(basis.first());
        (0..basis.points()).map(move |k| {
            let point = (first + k as i64).rem_euclid(SIZE[axis] as i64) as usize;
            (point, w.values[k], w.derivatives[k])
        })
    };
    let mut all = Vec::new();
    for (x, wx, dx) in of_axis(0) {
        for (y, wy, dy) in of_axis(1) {
            for (z, wz, dz) in of_axis(2) {
                let at = (x * SIZE[1] + y) * SIZE[2] + z;
                all.push((at, wx * wy * wz, [dx * wy * wz, wx * dy * wz, wx * wy * dz]));
            }
        }
    }
    all
}

/// Values of a mesh without what lies beyond the ends of rows.
fn values<T: MeshReal>(transform: &Transform<T>) -> Vec<f64> {
    transform.real.packed().into_iter().map(Into::into).collect()
}

fn set_values<T: MeshReal>(transform: &mut Transform<T>, from: &[f64]) {
    let pitch = transform.real.pitch();
    let rows = transform.real.values.chunks_exact_mut(pitch);
    for (row, from) in rows.zip(from.chunks_exact(SIZE[2])) {
        // The ends of rows repeat their beginnings.
        for (k, x) in row.iter_mut().enumerate() {
            *x = T::of(from[k % SIZE[2]]);
        }
    }
}

fn close(a: &[f64], b: &[f64], limit: f64, what: &str) {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= limit * size, "{what}, {k}: {a} instead of {b}");
    }
}

fn spreads<T: MeshReal>(basis: Basis, set: InstructionSet, limit: f64) {
    let (places, q) = charges(77);
    let mut want = vec![0.0; SIZE.iter().product()];
    for (&r, &q) in places.iter().zip(&q) {
        stencil(basis, r).iter().for_each(|&(at, w, _)| want[at] += q * w);
    }
    let mut mesh = Mesh::<T>::new(plan(basis), 2.0, set);
    mesh.set_cell(&cell());
    mesh.spots.place(&mesh.axes, &places, &q);
    // Twice: what was there before goes away.
    for _ in 0..2 {
        mesh.spots.spread(&mut mesh.transform.real);
        close(
            &values(&mesh.transform),
            &want,
            limit,
            &format!("{basis:?} {set:?}"),
        );
    }
}

fn gathers<T: MeshReal>(basis: Basis, set: InstructionSet, limit: f64) {
    let (places, q) = charges(77);
    let potential = noise(5, SIZE.iter().product());
    let mut mesh = Mesh::<T>::new(plan(basis), 2.0, set);
    mesh.set_cell(&cell());
    mesh.spots.place(&mesh.axes, &places, &q);
    set_values(&mut mesh.transform, &potential);
    let k = 1.7;
    let mut want: Vec<Vec3<f64>> = Vec::new();
    for (&r, &q) in places.iter().zip(&q) {
        let mut force = Vec3::zero();
        for (at, _, derivatives) in stencil(basis, r) {
            for axis in 0..3 {
                let derivative = derivatives[axis] * SIZE[axis] as f64;
                force -= mesh.axes.vectors[axis] * (k * q * derivative * potential[at]);
            }
        }
        want.push(force);
    }
    let mean = want.iter().fold(Vec3::zero(), |a, &b| a + b) * (1.0 / want.len() as f64);
    let mut found = vec![Vec3::zero(); q.len()];
    mesh.gather(k, &q, &mut found);
    let flat = |v: &[Vec3<f64>]| v.iter().flat_map(|f| f.to_array()).collect::<Vec<_>>();
    let want: Vec<_> = want.into_iter().map(|f| f - mean).collect();
    close(&flat(&found), &flat(&want), limit, &format!("{basis:?} {set:?}"));
}

#[test]
fn charges_are_spread() {
    for basis in Basis::ALL {
        for set in InstructionSet::available() {
            spreads::<f32>(basis, set, 2e-6);
            spreads::<f64>(basis, set, 1e-14);
        }
    }
}

#[test]
fn forces_are_gathered() {
    for basis in Basis::ALL {
        for set in InstructionSet::available() {
            gathers::<f32>(basis, set, 5e-6);
            gathers::<f64>(basis, set, 1e-13);
        }
    }
}

/// φ = Σ_m G(m) q̂(m) exp(2πi m·n), E = ½ Σ_n q φ, by sums over all reciprocal vectors and points.
fn solves<T: MeshReal>(limit: f64) {
    let (basis, alpha, charges) = (Basis::BSpline(5), 2.0, noise(6, SIZE.iter().product()));
    let mut mesh = Mesh::<T>::new(plan(basis), alpha, InstructionSet::detect());
    mesh.set_cell(&cell());
    let [a, b, c] = mesh.axes.vectors;
    let influence = Influence::new(
        Mat3::from_rows(a, b, c),
        cell().volume(),
        alpha,
        SIZE,
        basis,
        false,
    );
    let index = |k: usize| [k / (SIZE[1] * SIZE[2]), k / SIZE[2] % SIZE[1], k % SIZE[2]];
    let turn = |m: [usize; 3], n: [usize; 3]| {
        let turns: f64 = (0..3).map(|k| (m[k] * n[k]) as f64 / SIZE[k] as f64).sum();
        2.0 * std::f64::consts::PI * turns
    };
    let all = 0..charges.len();
    let mut want = vec![0.0; charges.len()];
    for m in all.clone().map(index) {
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (n, &q) in charges.iter().enumerate() {
            let (sin, cos) = turn(m, index(n)).sin_cos();
            real += q * cos;
            imaginary -= q * sin;
        }
        let g = influence.at(m);
        for n in all.clone() {
            let (sin, cos) = turn(m, index(n)).sin_cos();
            want[n] += g * (real * cos - imaginary * sin);
        }
    }
    let energy: f64 = 0.5 * want.iter().zip(&charges).map(|(a, b)| a * b).sum::<f64>();
    set_values(&mut mesh.transform, &charges);
    let part = mesh.transform.solve(true);
    close(&values(&mesh.transform), &want, limit, "potential");
    close(&[part.energy], &[energy], limit, "energy");
}

#[test]
fn a_mesh_is_solved() {
    solves::<f32>(3e-6);
    solves::<f64>(1e-13);
}
