//! The paper's algorithms on one core, in single precision.

use super::bins::HostBins;

/// Particles whose weights are found side by side.
const LANES: usize = 8;

/// Eq. 2 at a distance `xi` in units of the mesh.
fn basis_function(xi: f32) -> f32 {
    let xi = xi.abs();
    if xi <= 1.0 {
        (1.0 - xi) * (1.0 + xi - 1.5 * xi * xi)
    } else if xi <= 2.0 {
        -0.5 * (xi - 1.0) * (2.0 - xi) * (2.0 - xi)
    } else {
        0.0
    }
}

/// Algorithm 1. The paper wraps its loop variables; here a copy is wrapped, as the loops would not end otherwise.
pub(super) fn baseline(size: [usize; 3], particles: &[[f32; 4]]) -> Vec<f32> {
    let mut mesh = vec![0.0; size.iter().product()];
    let wrap = |i: i64, n: usize| {
        let n = n as i64;
        if i < 0 {
            i + n
        } else if i >= n {
            i - n
        } else {
            i
        }
    };
    for particle in particles {
        let [px, py, pz, q] = *particle;
        let [nx, ny, nz] = [px, py, pz].map(|x| x.floor() as i64);
        for z in nz - 1..=nz + 2 {
            for y in ny - 1..=ny + 2 {
                for x in nx - 1..=nx + 2 {
                    let (gz, gy, gx) = (wrap(z, size[2]), wrap(y, size[1]), wrap(x, size[0]));
                    let phiz = basis_function(pz - z as f32);
                    let phiy = basis_function(py - y as f32);
                    let phix = basis_function(px - x as f32);
                    let at = (gz as usize * size[1] + gy as usize) * size[0] + gx as usize;
                    mesh[at] += phiz * phiy * phix * q;
                }
            }
        }
    }
    mesh
}

/// The four points that a charge touches along an axis, by conditional assignments.
#[inline(always)]
fn touched(below: usize, n: usize) -> [usize; 4] {
    let up = |i: usize| if i >= n { i - n } else { i };
    [
        if below == 0 { n - 1 } else { below - 1 },
        below,
        up(below + 1),
        up(below + 2),
    ]
}

/// Eq. 3.
#[inline(always)]
fn polynomials(oi: f32) -> [f32; 4] {
    let (oi2, oi3) = (oi * oi, oi * oi * oi);
    [
        oi2 - 0.5 * (oi3 + oi),
        1.5 * oi3 - 2.5 * oi2 + 1.0,
        2.0 * oi2 - 1.5 * oi3 + 0.5 * oi,
        0.5 * (oi3 - oi2),
    ]
}

/// Lines 9 to 16 of Algorithm 2. The paper sets the point where it must add to it.
#[inline(always)]
fn accumulate(mesh: &mut [f32], size: [usize; 3], points: [[usize; 4]; 3], phi: [[f32; 4]; 3], q: f32) {
    for z in 0..4 {
        for y in 0..4 {
            let row = (points[2][z] * size[1] + points[1][y]) * size[0];
            let charge = phi[2][z] * q * phi[1][y];
            for x in 0..4 {
                mesh[row + points[0][x]] += charge * phi[0][x];
            }
        }
    }
}

#[inline(always)]
fn spread(mesh: &mut [f32], size: [usize; 3], particle: &[f32; 4]) {
    let points: [[usize; 4]; 3] = std::array::from_fn(|k| touched(particle[k] as usize, size[k]));
    let phi = std::array::from_fn(|k| polynomials(particle[k] - points[k][1] as f32));
    accumulate(mesh, size, points, phi, particle[3]);
}

/// Algorithm 2.
pub(super) fn optimized(size: [usize; 3], particles: &[[f32; 4]]) -> Vec<f32> {
    let mut mesh = vec![0.0; size.iter().product()];
    for particle in particles {
        spread(&mut mesh, size, particle);
    }
    mesh
}

/// Algorithm 2 with the weights of several particles found at the same time; they are added one after another, since they
/// may touch the same points.
pub(super) fn vectorized(size: [usize; 3], particles: &[[f32; 4]]) -> Vec<f32> {
    let mut mesh = vec![0.0; size.iter().product()];
    let mut groups = particles.chunks_exact(LANES);
    for group in &mut groups {
        // By axis, weight and particle: what the compiler turns into vectors.
        let mut phi = [[[0.0_f32; LANES]; 4]; 3];
        let mut below = [[0_u32; LANES]; 3];
        for k in 0..3 {
            let mut oi = [0.0_f32; LANES];
            for lane in 0..LANES {
                below[k][lane] = group[lane][k] as i32 as u32;
                oi[lane] = group[lane][k] - group[lane][k] as i32 as f32;
            }
            for lane in 0..LANES {
                let w = polynomials(oi[lane]);
                (0..4).for_each(|i| phi[k][i][lane] = w[i]);
            }
        }
        for (lane, particle) in group.iter().enumerate() {
            let points = std::array::from_fn(|k| touched(below[k][lane] as usize, size[k]));
            let own = std::array::from_fn(|k| phi[k].map(|w| w[lane]));
            accumulate(&mut mesh, size, points, own, particle[3]);
        }
    }
    for particle in groups.remainder() {
        spread(&mut mesh, size, particle);
    }
    mesh
}

/// Algorithm 2 over bins in order: the points of a bin are found once for all its particles.
pub(super) fn binned(bins: &HostBins) -> Vec<f32> {
    let size = bins.size();
    let [nx, ny, _] = size;
    let mut mesh = vec![0.0; bins.number()];
    for (bin, slots) in bins.all() {
        let points = [
            touched(bin % nx, nx),
            touched(bin / nx % ny, ny),
            touched(bin / (nx * ny), size[2]),
        ];
        for particle in slots {
            let phi = std::array::from_fn(|k| polynomials(particle[k] - points[k][1] as f32));
            accumulate(&mut mesh, size, points, phi, particle[3]);
        }
    }
    mesh
}
