//! The smooth part of an Ewald sum, one reciprocal vector after another, in double precision: what meshes are held to.
//!
//! E = (k_e/2πV) Σ over m ≠ 0 of exp(−π²m²/α²)/m² |S(m)|², S(m) = Σ q exp(2πi m·r). Half of the reciprocal vectors are
//! summed; the others are their mirror images.

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use super::electrostatics::{Part, ReciprocalVectors, Within};
use crate::expr::Vec3;
use crate::system::Cell;

/// Reciprocal vectors of a cell: row k times a position is its k-th fractional coordinate.
pub fn reciprocal(cell: &Cell) -> [Vec3<f64>; 3] {
    let axes = [
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 1.0, 0.0),
        Vec3::new(0.0, 0.0, 1.0),
    ];
    let columns = axes.map(|axis| cell.fractional(axis));
    std::array::from_fn(|k| Vec3::new(columns[0][k], columns[1][k], columns[2][k]))
}

impl ReciprocalVectors {
    /// All reciprocal vectors that matter to the last digits of double precision.
    pub fn converged(cell: &Cell, alpha: f64) -> Self {
        // exp(−π²m²/α²) = 1e-18
        Self::up_to(cell, alpha * 41.4_f64.sqrt() / std::f64::consts::PI)
    }

    /// All reciprocal vectors no longer than `longest`.
    pub fn up_to(cell: &Cell, longest: f64) -> Self {
        let vectors = cell.to_arrays();
        Self {
            reach: vectors.map(|v| (longest * Vec3::from(v).norm()).floor().max(1.0) as usize),
            within: Within::Length(longest),
        }
    }

    fn has(&self, n: [i64; 3], m2: f64) -> bool {
        match self.within {
            Within::Box => true,
            Within::Numbers(limit) => n.iter().map(|x| x * x).sum::<i64>() < i64::from(limit),
            Within::Length(longest) => m2 <= longest * longest,
        }
    }
}

/// A reciprocal vector of the half that is summed, with its mirror image along the third axis beside it.
struct Row {
    /// Numbers along the first two axes.
    n: [i64; 2],
    /// Σ q exp(2πi m·r) for numbers 0, 1, … along the third axis, and for 0, −1, ….
    sums: [Vec<[f64; 2]>; 2],
    /// Factors of the energies, zero for reciprocal vectors that are not summed.
    factors: [Vec<f64>; 2],
}

/// exp(2πi n s) of every particle, for n = 0, 1, … along one axis: `re[n * particles + i]`.
struct Turns {
    re: Vec<f64>,
    im: Vec<f64>,
}

impl Turns {
    fn new(s: &[f64], reach: usize) -> Self {
        let n = s.len();
        let mut turns = Self {
            re: vec![1.0; n * (reach + 1)],
            im: vec![0.0; n * (reach + 1)],
        };
        turns
            .re
            .par_chunks_mut(n)
            .zip(turns.im.par_chunks_mut(n))
            .enumerate()
            .for_each(|(number, (re, im))| {
                for i in 0..n {
                    // The whole turns go first, so that the angle keeps its digits.
                    let turn = number as f64 * s[i];
                    (im[i], re[i]) = (std::f64::consts::TAU * (turn - turn.round())).sin_cos();
                }
            });
        turns
    }

    fn at(&self, number: i64, particles: std::ops::Range<usize>, n: usize) -> (&[f64], &[f64], f64) {
        let first = number.unsigned_abs() as usize * n;
        let range = first + particles.start..first + particles.end;
        (&self.re[range.clone()], &self.im[range], number.signum() as f64)
    }
}

/// Energy and virial of the reciprocal vectors; adds their forces. `k` is k_e over the permittivity.
pub fn sum_reciprocal(
    cell: &Cell,
    alpha: f64,
    set: &ReciprocalVectors,
    k: f64,
    positions: &[Vec3<f64>],
    charges: &[f64],
    forces: &mut [Vec3<f64>],
) -> Part {
    let phases = Phases::new(cell, alpha, set, k, positions);
    let rows: Vec<Row> = phases.rows(charges);
    phases.add_forces(&rows, charges, forces);
    phases.total(&rows)
}

/// Particles whose reciprocal vectors are summed at a time, where only some are asked for.
const AT_ONCE: usize = 8192;

/// The forces of the reciprocal vectors of all particles on some of them. `progress` hears how much is done, from 0 to 1.
pub fn vectors_on(
    cell: &Cell,
    alpha: f64,
    set: &ReciprocalVectors,
    k: f64,
    (positions, charges): (&[Vec3<f64>], &[f64]),
    some: &[usize],
    progress: &mut dyn FnMut(f64),
) -> Vec<Vec3<f64>> {
    let mut rows: Vec<Row> = Vec::new();
    let all = charges.len();
    let chunks = positions.chunks(AT_ONCE).zip(charges.chunks(AT_ONCE));
    for (number, (positions, charges)) in chunks.enumerate() {
        let part = Phases::new(cell, alpha, set, k, positions).rows(charges);
        if rows.is_empty() {
            rows = part;
        } else {
            rows.iter_mut().zip(part).for_each(|(row, part)| row.add(part));
        }
        progress(((number + 1) * AT_ONCE).min(all) as f64 / all as f64);
    }
    let at: Vec<Vec3<f64>> = some.iter().map(|&i| positions[i]).collect();
    let charged: Vec<f64> = some.iter().map(|&i| charges[i]).collect();
    let mut forces = vec![Vec3::zero(); some.len()];
    Phases::new(cell, alpha, set, k, &at).add_forces(&rows, &charged, &mut forces);
    forces
}

impl Row {
    /// With the sums of other particles.
    fn add(&mut self, other: Self) {
        for (sums, others) in self.sums.iter_mut().zip(other.sums) {
            for (sum, other) in sums.iter_mut().zip(others) {
                sum[0] += other[0];
                sum[1] += other[1];
            }
        }
    }
}

struct Phases {
    vectors: [Vec3<f64>; 3],
    volume: f64,
    alpha: f64,
    set: ReciprocalVectors,
    k: f64,
    turns: [Turns; 3],
    n: usize,
}

/// Particles at a time in the pass that gathers forces.
const CHUNK: usize = 64;

impl Phases {
    fn new(cell: &Cell, alpha: f64, set: &ReciprocalVectors, k: f64, positions: &[Vec3<f64>]) -> Self {
        let vectors = reciprocal(cell);
        let turns = std::array::from_fn(|axis| {
            let s: Vec<f64> = positions.iter().map(|r| vectors[axis].dot(*r)).collect();
            Turns::new(&s, set.reach[axis])
        });
        Self {
            vectors,
            volume: cell.volume(),
            alpha,
            set: *set,
            k,
            turns,
            n: positions.len(),
        }
    }

    fn vector(&self, n: [i64; 3]) -> Vec3<f64> {
        let [a, b, c] = self.vectors;
        a * n[0] as f64 + b * n[1] as f64 + c * n[2] as f64
    }

    /// k_e/(2πV) exp(−π²m²/α²)/m², twice because of the mirror image; zero for reciprocal vectors that are not of the
    /// set.
    fn factor(&self, n: [i64; 3]) -> f64 {
        let m2 = self.vector(n).norm2();
        if n == [0; 3] || !self.set.has(n, m2) {
            return 0.0;
        }
        let fall = (std::f64::consts::PI / self.alpha).powi(2) * m2;
        2.0 * self.k / (std::f64::consts::TAU * self.volume) * (-fall).exp() / m2
    }

    /// Structure factors, row by row along the third axis.
    fn rows(&self, charges: &[f64]) -> Vec<Row> {
        let [a, b, _] = self.set.reach.map(|x| x as i64);
        let numbers: Vec<[i64; 2]> = (0..=a)
            .flat_map(|x| (if x == 0 { 0 } else { -b }..=b).map(move |y| [x, y]))
            .collect();
        numbers.into_par_iter().map(|n| self.row(n, charges)).collect()
    }

    fn row(&self, n: [i64; 2], charges: &[f64]) -> Row {
        let c = self.set.reach[2];
        let in_line = n == [0, 0];
        let factor = |sign: i64| -> Vec<f64> {
            let of = |z: i64| match (sign, z) {
                // Zero is counted once, and in line with the third axis one half is the mirror image of the other.
                (-1, 0) => 0.0,
                (-1, _) if in_line => 0.0,
                _ => self.factor([n[0], n[1], sign * z]),
            };
            (0..=c as i64).map(of).collect()
        };
        let factors = [factor(1), factor(-1)];
        let mut row = Row {
            n,
            sums: [vec![[0.0; 2]; c + 1], vec![[0.0; 2]; c + 1]],
            factors,
        };
        let (mut re, mut im) = (vec![0.0; self.n], vec![0.0; self.n]);
        self.in_plane(n, 0..self.n, &mut re, &mut im);
        for ((re, im), q) in re.iter_mut().zip(&mut im).zip(charges) {
            *re *= q;
            *im *= q;
        }
        for z in 0..=c {
            if row.factors[0][z] == 0.0 && row.factors[1][z] == 0.0 {
                continue;
            }
            let (cos, sin, _) = self.turns[2].at(z as i64, 0..self.n, self.n);
            let [mut a, mut b, mut c, mut d] = [0.0; 4];
            for i in 0..self.n {
                a += re[i] * cos[i];
                b += im[i] * sin[i];
                c += re[i] * sin[i];
                d += im[i] * cos[i];
            }
            row.sums[0][z] = [a - b, c + d];
            row.sums[1][z] = [a + b, d - c];
        }
        row
    }

    /// exp(2πi (n₁s₁ + n₂s₂)) of some particles.
    fn in_plane(&self, n: [i64; 2], of: std::ops::Range<usize>, re: &mut [f64], im: &mut [f64]) {
        let (ar, ai, a) = self.turns[0].at(n[0], of.clone(), self.n);
        let (br, bi, b) = self.turns[1].at(n[1], of, self.n);
        for i in 0..re.len() {
            let (ai, bi) = (a * ai[i], b * bi[i]);
            re[i] = ar[i] * br[i] - ai * bi;
            im[i] = ar[i] * bi + ai * br[i];
        }
    }

    /// Adds to each force 4π q/(2πV)… m Im(exp(2πi m·r) S*), vector by vector.
    fn add_forces(&self, rows: &[Row], charges: &[f64], forces: &mut [Vec3<f64>]) {
        forces
            .par_chunks_mut(CHUNK)
            .zip(charges.par_chunks(CHUNK))
            .enumerate()
            .for_each(|(chunk, (forces, charges))| {
                let first = chunk * CHUNK;
                let of = first..first + forces.len();
                let (mut re, mut im) = ([0.0; CHUNK], [0.0; CHUNK]);
                let mut total = [Vec3::zero(); CHUNK];
                for row in rows {
                    let (re, im) = (&mut re[..forces.len()], &mut im[..forces.len()]);
                    self.in_plane(row.n, of.clone(), re, im);
                    let (mut plain, mut along) = ([0.0; CHUNK], [0.0; CHUNK]);
                    self.row_force(row, of.clone(), re, im, &mut plain, &mut along);
                    let across = self.vector([row.n[0], row.n[1], 0]);
                    for i in 0..forces.len() {
                        total[i] += across * plain[i] + self.vectors[2] * along[i];
                    }
                }
                for ((f, q), t) in forces.iter_mut().zip(charges).zip(total) {
                    *f += t * (2.0 * std::f64::consts::TAU * q);
                }
            });
    }

    /// Σ factor Im(exp(2πi m·r) S*) over a row, and the same times the number along the third axis.
    fn row_force(
        &self,
        row: &Row,
        of: std::ops::Range<usize>,
        re: &[f64],
        im: &[f64],
        plain: &mut [f64; CHUNK],
        along: &mut [f64; CHUNK],
    ) {
        for z in 0..row.factors[0].len() {
            let factors = [row.factors[0][z], row.factors[1][z]];
            if factors == [0.0; 2] {
                continue;
            }
            let (cos, sin, _) = self.turns[2].at(z as i64, of.clone(), self.n);
            let [up, down] = [0, 1].map(|side| row.sums[side][z].map(|s| s * factors[side]));
            for i in 0..re.len() {
                let [a, b, c, d] = [re[i] * cos[i], im[i] * sin[i], re[i] * sin[i], im[i] * cos[i]];
                let above = (c + d) * up[0] - (a - b) * up[1];
                let below = (d - c) * down[0] - (a + b) * down[1];
                plain[i] += above + below;
                along[i] += (above - below) * z as f64;
            }
        }
    }

    fn total(&self, rows: &[Row]) -> Part {
        let mut part = Part::default();
        for row in rows {
            for (side, sign) in [(0, 1), (1, -1)] {
                for (z, (sum, factor)) in row.sums[side].iter().zip(&row.factors[side]).enumerate() {
                    if *factor == 0.0 {
                        continue;
                    }
                    let m = self.vector([row.n[0], row.n[1], sign * z as i64]);
                    let energy = factor * (sum[0] * sum[0] + sum[1] * sum[1]);
                    part.energy += energy;
                    let shape = virial_shape(m, self.alpha);
                    for (to, s) in part.virial.iter_mut().zip(shape) {
                        *to += energy * s;
                    }
                }
            }
        }
        part
    }
}

/// The virial of a reciprocal vector in units of its energy: δ − 2 (1 + π²m²/α²) m⊗m/m², as xx yy zz xy xz yz.
pub fn virial_shape(m: Vec3<f64>, alpha: f64) -> [f64; 6] {
    let m2 = m.norm2();
    let steep = 2.0 * (1.0 / m2 + (std::f64::consts::PI / alpha).powi(2));
    [
        1.0 - steep * m.x * m.x,
        1.0 - steep * m.y * m.y,
        1.0 - steep * m.z * m.z,
        -steep * m.x * m.y,
        -steep * m.x * m.z,
        -steep * m.y * m.z,
    ]
}
