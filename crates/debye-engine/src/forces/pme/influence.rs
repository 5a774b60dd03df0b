//! [`Influence`]: what the transform of the charges is multiplied by to give the transform of the potential.

use std::f64::consts::PI;

use crate::parallel::{InParallel, Indexed};

use super::Basis;
use crate::expr::{Mat3, Real, Vec3};

/// Aliases of a reciprocal vector on either side of it in the optimal function. Their Gaussians vanish long before.
const ALIASES: i32 = 2;
/// The same where there is no Gaussian; these are summed along one axis only.
const FAR_ALIASES: i32 = 50;

/// G(m): the transform of the potential of smeared unit charges, with what spreading and gathering do taken out.
///
/// With m = m₁a₁\* + m₂a₂\* + m₃a₃\*, each mₐ an index folded to (−K/2, K/2], and g(m) = exp(−π²m²/α²)/(πVm²):
///
/// - plain: g(m) Π 1/wₐ(mₐ/Kₐ)², with w = [`Basis::on_mesh`] (Essmann et al. 1995, their B and C);
/// - optimal: Σₛ W²(m+sK) g(m+sK) / (Σₛ W²(m+sK))², with W = [`Basis::transform`] (Hockney & Eastwood 1981).
///
/// G(0) = 0. K/2 and −K/2 are one index: G is the mean of both, so that G(−m) = G(m) in any cell.
#[derive(Clone, Debug)]
pub struct Influence {
    space: ReciprocalSpace<f64>,
    mesh: [usize; 3],
    optimal: bool,
    /// For every index of an axis 1/w², or 1/(Σ W²)² where optimal.
    factors: [Vec<f64>; 3],
    /// Where optimal, for every index of an axis W² of its aliases.
    aliases: [Vec<[f64; 2 * ALIASES as usize + 1]>; 3],
}

impl Influence {
    /// For a cell whose reciprocal vectors (a\*ᵢ·aⱼ = δᵢⱼ) are the rows of `reciprocal`.
    pub fn new(
        reciprocal: Mat3<f64>,
        volume: f64,
        alpha: f64,
        mesh: [usize; 3],
        basis: Basis,
        optimal: bool,
    ) -> Self {
        let kind = if optimal { optimal_factors } else { plain_factors };
        let squares = |size: usize| {
            let at = |index: usize| folded(index, size) / size as f64;
            let square = |f: f64| std::array::from_fn(|k| transform2(basis, f + alias(k)));
            (0..size).map(|index| square(at(index))).collect()
        };
        Self {
            space: ReciprocalSpace::new(reciprocal, volume, alpha),
            mesh,
            optimal,
            factors: mesh.map(|size| kind(basis, size)),
            aliases: mesh.map(|size| if optimal { squares(size) } else { Vec::new() }),
        }
    }

    /// Points of the mesh along each axis.
    pub fn mesh(&self) -> [usize; 3] {
        self.mesh
    }

    /// Whether it is the optimal one.
    pub fn is_optimal(&self) -> bool {
        self.optimal
    }

    /// The factors along each axis; B(m) of the plain function is their product.
    pub fn factors(&self) -> &[Vec<f64>; 3] {
        &self.factors
    }

    /// Where it is the optimal one, W² of five aliases of every index of each axis, the reciprocal vector itself in the
    /// middle.
    pub fn aliases(&self) -> &[Vec<[f64; 2 * ALIASES as usize + 1]>; 3] {
        &self.aliases
    }

    /// G at an index of the mesh.
    pub fn at(&self, index: [usize; 3]) -> f64 {
        let factor: f64 = (0..3).map(|axis| self.factors[axis][index[axis]]).product();
        let (vector, mirrored) = self.vectors(index);
        let of = |vector| self.with_aliases(vector, index);
        factor * mirrored.map_or_else(|| of(vector), |other| 0.5 * (of(vector) + of(other)))
    }

    /// What the energy of an index is multiplied by to give its part of the virial: δ − 2(1 + π²m²/α²) mₐm_b/m², in
    /// the order xx yy zz xy xz yz. Aliases in the optimal function are taken for the reciprocal vector itself.
    pub fn virial_factor(&self, index: [usize; 3]) -> [f64; 6] {
        let (vector, mirrored) = self.vectors(index);
        let own = self.bracket(vector);
        let Some(other) = mirrored else { return own };
        let share = share(self.smeared(vector), self.smeared(other));
        let mirrored = self.bracket(other);
        std::array::from_fn(|k| share * own[k] + (1.0 - share) * mirrored[k])
    }

    /// G over half the spectrum: index (x·K₂ + y)·(K₃/2 + 1) + z.
    pub fn table(&self) -> Vec<f64> {
        let [_, along_y, along_z] = self.mesh;
        let half = along_z / 2 + 1;
        let mut table = vec![0.0; self.mesh[0] * along_y * half];
        table.par_chunks_mut(half).enumerate().for_each(|(row, values)| {
            for (z, value) in values.iter_mut().enumerate() {
                *value = self.at([row / along_y, row % along_y, z]);
            }
        });
        table
    }

    /// The reciprocal vector of an index, and the one it cannot be told from where an index is half the mesh.
    fn vectors(&self, index: [usize; 3]) -> ([f64; 3], Option<[f64; 3]>) {
        let half = |axis: usize| 2 * index[axis] == self.mesh[axis];
        let vector: [f64; 3] = std::array::from_fn(|axis| folded(index[axis], self.mesh[axis]));
        let other = std::array::from_fn(|axis| if half(axis) { -vector[axis] } else { vector[axis] });
        (vector, (0..3).any(half).then_some(other))
    }

    /// g of a reciprocal vector.
    fn smeared(&self, vector: [f64; 3]) -> f64 {
        self.space.smeared(self.space.vector(vector).1)
    }

    /// g of a reciprocal vector; where optimal, the sum of W²g over it and its aliases.
    fn with_aliases(&self, vector: [f64; 3], index: [usize; 3]) -> f64 {
        if !self.optimal || vector == [0.0; 3] {
            return self.smeared(vector);
        }
        let size = self.mesh.map(|size| size as f64);
        let at = |axis: usize, k: usize| {
            // W² of a mirrored reciprocal vector's aliases are those of the reciprocal vector, the other way round.
            let mirrored = vector[axis] != folded(index[axis], self.mesh[axis]);
            let k_of = if mirrored { 2 * ALIASES as usize - k } else { k };
            let square = self.aliases[axis][index[axis]][k_of];
            (vector[axis] + alias(k) * size[axis], square)
        };
        let all = 0..2 * ALIASES as usize + 1;
        let mut sum = 0.0;
        for x in all.clone().map(|k| at(0, k)) {
            for y in all.clone().map(|k| at(1, k)) {
                for z in all.clone().map(|k| at(2, k)) {
                    sum += x.1 * y.1 * z.1 * self.smeared([x.0, y.0, z.0]);
                }
            }
        }
        sum
    }

    fn bracket(&self, vector: [f64; 3]) -> [f64; 6] {
        if vector == [0.0; 3] {
            return [0.0; 6];
        }
        let (m, m2) = self.space.vector(vector);
        self.space.bracket(m, m2)
    }
}

/// The formulas of a reciprocal-space vector in a cell with Gaussian screening; engines print them for a card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReciprocalSpace<R> {
    /// Reciprocal vectors, as rows.
    pub(crate) reciprocal: Mat3<R>,
    /// π² and α²; or π²/α² and one, which saves a division.
    pub(crate) narrow: [R; 2],
    /// πV.
    pub(crate) volume: R,
}

impl<R: Real> ReciprocalSpace<R> {
    pub(crate) fn new(reciprocal: Mat3<R>, volume: R, alpha: R) -> Self {
        Self {
            reciprocal,
            narrow: [R::lit(PI * PI), alpha * alpha],
            volume: R::lit(PI) * volume,
        }
    }

    /// m and m², from the coefficients of m.
    pub(crate) fn vector(&self, coefficients: [R; 3]) -> (Vec3<R>, R) {
        let m = self.reciprocal.combine(coefficients.into());
        (m, m.norm2())
    }

    /// g(m) = exp(−π²m²/α²)/(πVm²); zero where m is.
    pub(crate) fn smeared(&self, m2: R) -> R {
        let [pi2, alpha2] = self.narrow;
        let g = (-pi2 * m2 / alpha2).exp() / (self.volume * m2);
        R::select_lt(R::lit(0.0), m2, g, R::lit(0.0))
    }

    /// δ − 2(1/m² + π²/α²) mₐm_b, for m ≠ 0: xx yy zz xy xz yz.
    pub(crate) fn bracket(&self, m: Vec3<R>, m2: R) -> [R; 6] {
        let ([pi2, alpha2], one) = (self.narrow, R::lit(1.0));
        let scale = R::lit(2.0) * (m2.recip() + pi2 / alpha2);
        [
            one - scale * m.x * m.x,
            one - scale * m.y * m.y,
            one - scale * m.z * m.z,
            -scale * m.x * m.y,
            -scale * m.x * m.z,
            -scale * m.y * m.z,
        ]
    }
}

/// The part of the first of two vectors in the sum of both.
pub(crate) fn share<R: Real>(one: R, two: R) -> R {
    let both = one + two;
    R::select_lt(R::lit(0.0), both, one / both, R::lit(0.5))
}

/// An index as a signed frequency, −K/2 < m ≤ K/2.
fn folded(index: usize, size: usize) -> f64 {
    let beyond = if 2 * index > size { size as f64 } else { 0.0 };
    index as f64 - beyond
}

/// Meshes that an alias lies away.
fn alias(k: usize) -> f64 {
    k as f64 - f64::from(ALIASES)
}

fn transform2(basis: Basis, f: f64) -> f64 {
    basis.transform(f).powi(2)
}

/// 1/w² for every index of an axis.
fn plain_factors(basis: Basis, size: usize) -> Vec<f64> {
    let factor = |index: usize| basis.on_mesh(folded(index, size) / size as f64).powi(-2);
    let mut factors: Vec<f64> = (0..size).map(factor).collect();
    // Splines of odd order do not see the shortest reciprocal vector: its factor is that of its neighbors.
    if matches!(basis, Basis::BSpline(order) if order % 2 == 1) && size.is_multiple_of(2) {
        let half = size / 2;
        factors[half] = 0.5 * (factors[half - 1] + factors[(half + 1) % size]);
    }
    factors
}

/// 1/(Σ W²)² for every index of an axis.
fn optimal_factors(basis: Basis, size: usize) -> Vec<f64> {
    let sum = |index: usize| -> f64 {
        let f = folded(index, size) / size as f64;
        (-FAR_ALIASES..=FAR_ALIASES)
            .map(|s| transform2(basis, f + f64::from(s)))
            .sum()
    };
    (0..size).map(|index| sum(index).powi(-2)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESH: [usize; 3] = [8, 9, 10];

    fn cell(triclinic: bool) -> Mat3<f64> {
        let [xy, xz, yz] = if triclinic { [1.1, -0.7, 1.9] } else { [0.0; 3] };
        Mat3::from_rows(
            [7.0, 0.0, 0.0].into(),
            [xy, 8.0, 0.0].into(),
            [xz, yz, 9.5].into(),
        )
    }

    fn influence(cell: Mat3<f64>, basis: Basis, optimal: bool) -> Influence {
        // Rows a₁ a₂ a₃; the reciprocal vectors are the columns of the inverse.
        Influence::new(
            cell.inverse().transpose(),
            cell.determinant(),
            0.9,
            MESH,
            basis,
            optimal,
        )
    }

    fn indices() -> impl Iterator<Item = [usize; 3]> {
        (0..MESH[0] * MESH[1] * MESH[2]).map(|i| [i / (9 * 10), i / 10 % 9, i % 10])
    }

    #[test]
    fn the_plain_function_is_the_published_one() {
        for basis in [Basis::BSpline(4), Basis::BSpline(6), Basis::Cubic] {
            let cell = cell(true);
            let found = influence(cell, basis, false);
            for index in [[1, 0, 0], [7, 2, 3], [3, 8, 9], [0, 5, 0]] {
                let vector: [f64; 3] = std::array::from_fn(|a| folded(index[a], MESH[a]));
                let m = cell.inverse().transpose().combine(vector.into());
                let m2 = m.dot(m);
                let mut want = (-PI * PI * m2 / 0.81).exp() / (PI * cell.determinant() * m2);
                if let Basis::BSpline(order) = basis {
                    for a in 0..3 {
                        // |b|² = 1/|Σ M_n(k+1) exp(2πi m k/K)|².
                        let weights = basis.weights(0.0_f64).values;
                        let turn = 2.0 * PI * vector[a] / MESH[a] as f64;
                        let part = |f: fn(f64) -> f64| -> f64 {
                            let terms = (0..order - 1).map(|k| weights[order - 2 - k] * f(turn * k as f64));
                            terms.sum()
                        };
                        want /= part(f64::cos).powi(2) + part(f64::sin).powi(2);
                    }
                }
                let got = found.at(index);
                assert!(
                    (got / want - 1.0).abs() < 1e-12,
                    "{basis:?} {index:?}: {got} {want}"
                );
            }
            assert_eq!(found.at([0; 3]), 0.0);
        }
    }

    #[test]
    fn opposite_waves_have_one_value_in_any_cell() {
        for (basis, optimal) in [(Basis::BSpline(5), false), (Basis::Cubic, true)] {
            let found = influence(cell(true), basis, optimal);
            for index in indices() {
                let opposite = std::array::from_fn(|a| (MESH[a] - index[a]) % MESH[a]);
                let (one, two) = (found.at(index), found.at(opposite));
                assert!(one.is_finite() && (one - two).abs() <= 1e-13 * one, "{index:?}");
                let factors = found.virial_factor(index).into_iter();
                for (one, two) in factors.zip(found.virial_factor(opposite)) {
                    assert!((one - two).abs() < 1e-12, "{index:?}");
                }
            }
        }
    }

    /// The virial is −dE/d(strain).
    #[test]
    fn the_virial_is_the_derivative_by_strain() {
        let plain = cell(true);
        let found = influence(plain, Basis::BSpline(4), false);
        let strained = |at: [usize; 2], by: f64| {
            let mut strain = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            strain[at[0]][at[1]] += by;
            let strain = Mat3::from_rows(strain[0].into(), strain[1].into(), strain[2].into());
            let rows = [plain.x, plain.y, plain.z].map(|row| strain.apply(row));
            influence(
                Mat3::from_rows(rows[0], rows[1], rows[2]),
                Basis::BSpline(4),
                false,
            )
        };
        for (k, at) in [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]]
            .into_iter()
            .enumerate()
        {
            let h = 1e-5;
            let (up, down) = (strained(at, h), strained(at, -h));
            for index in [[1, 2, 3], [7, 0, 1], [4, 3, 2], [3, 3, 5], [4, 1, 5]] {
                let want = (down.at(index) - up.at(index)) / (2.0 * h) / found.at(index);
                let got = found.virial_factor(index)[k];
                assert!(
                    (got - want).abs() < 1e-7 * (1.0 + want.abs()),
                    "{index:?} {at:?}: {got} {want}"
                );
            }
        }
    }

    /// ½ Σ G |Q|² for charges spread over the mesh, and the sum over reciprocal vectors it stands for.
    fn energies(cell: Mat3<f64>, found: &Influence, basis: Basis, charges: &[([f64; 3], f64)]) -> [f64; 2] {
        let vector = |index: [usize; 3]| -> f64 {
            let (mut re, mut im) = (0.0, 0.0);
            for (at, q) in charges {
                let mut product = (*q, 0.0);
                for a in 0..3 {
                    let u = at[a] * MESH[a] as f64;
                    let weights = basis.weights(u - u.floor()).values;
                    let (mut x, mut y) = (0.0, 0.0);
                    for (j, w) in weights.iter().enumerate().take(basis.points()) {
                        let point = u.floor() + f64::from(basis.first()) + j as f64;
                        let angle = 2.0 * PI * index[a] as f64 * point / MESH[a] as f64;
                        x += w * angle.cos();
                        y += w * angle.sin();
                    }
                    product = (product.0 * x - product.1 * y, product.0 * y + product.1 * x);
                }
                re += product.0;
                im += product.1;
            }
            re * re + im * im
        };
        let mesh = indices().map(|index| 0.5 * found.at(index) * vector(index)).sum();
        let mut exact = 0.0;
        for i in 0..21_usize.pow(3) {
            let m = [i / 441, i / 21 % 21, i % 21].map(|k| k as f64 - 10.0);
            let phase = |at: [f64; 3]| 2.0 * PI * (m[0] * at[0] + m[1] * at[1] + m[2] * at[2]);
            let re: f64 = charges.iter().map(|(at, q)| q * phase(*at).cos()).sum();
            let im: f64 = charges.iter().map(|(at, q)| q * phase(*at).sin()).sum();
            let v = cell.inverse().transpose().combine(m.into());
            let m2 = v.dot(v);
            if m2 > 0.0 {
                exact +=
                    0.5 * (re * re + im * im) * (-PI * PI * m2 / 0.81).exp() / (PI * cell.determinant() * m2);
            }
        }
        [mesh, exact]
    }

    #[test]
    fn energies_are_those_of_ewald_and_the_optimal_function_is_better() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (basis, allowed) in [(Basis::Cubic, 0.15), (Basis::BSpline(6), 0.02)] {
            for triclinic in [false, true] {
                let cell = cell(triclinic);
                let both = [false, true].map(|optimal| influence(cell, basis, optimal));
                let mut errors = [0.0_f64; 2];
                let mut size = 0.0_f64;
                for _ in 0..8 {
                    let mut charges: Vec<([f64; 3], f64)> = Vec::new();
                    for q in [1.0, -1.0, 0.5, -0.5] {
                        charges.push(([random(), random(), random()], q));
                    }
                    for (found, error) in both.iter().zip(&mut errors) {
                        let [mesh, exact] = energies(cell, found, basis, &charges);
                        *error += (mesh - exact).powi(2);
                        size += 0.5 * exact * exact;
                    }
                }
                let [plain, optimal] = errors.map(|error| (error / size).sqrt());
                println!("{basis:?} triclinic {triclinic}: plain {plain:.2e}, optimal {optimal:.2e}");
                assert!(
                    plain < allowed && optimal < allowed,
                    "{basis:?}: {plain} {optimal}"
                );
                assert!(optimal < plain, "{basis:?}: {plain} {optimal}");
            }
        }
    }

    #[test]
    fn tables_hold_half_the_spectrum() {
        let found = influence(cell(true), Basis::BSpline(5), true);
        let table = found.table();
        assert_eq!(table.len(), 8 * 9 * 6);
        for index in [[0, 0, 0], [7, 3, 5], [4, 8, 1]] {
            assert_eq!(table[(index[0] * 9 + index[1]) * 6 + index[2]], found.at(index));
        }
    }
}
