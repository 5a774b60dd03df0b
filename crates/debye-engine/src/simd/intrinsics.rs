//! What every vector of intrinsics has in common, written once.

use super::polynomials::Exponents;
use crate::expr::{Vec3, real_space_force};

/// What some vectors have a quicker way for, and all others this one.
pub(super) trait Usual: Exponents {
    /// The sum of all lanes.
    fn total(self) -> f64;
    /// Those of three vectors.
    #[inline(always)]
    fn totals(v: Vec3<Self>) -> Vec3<f64> {
        Vec3::new(v.x.total(), v.y.total(), v.z.total())
    }
    /// The real-space force of Ewald sums.
    #[inline(always)]
    fn ewald_force(self) -> Self {
        real_space_force(Self::DOUBLE, self)
    }
    /// The same of several.
    #[inline(always)]
    fn ewald_forces<const N: usize>(mut x: [Self; N]) -> [Self; N] {
        for x in &mut x {
            *x = x.ewald_force();
        }
        x
    }
}

/// Everything of a vector type that is one intrinsic or the same for all of them. The type must have `less_mask`, `blend`,
/// `kept`, `only_bits`, `inverse`, `inverse_root`, `quotient`, `mask_of`, `stored`, `transposed`, `minus`, `charges_of`,
/// the gathers, `Exponents` and [`Usual`] itself.
macro_rules! lanes_of_intrinsics {
    (
        $name:ident($element:ident, $width:literal): Coordinate = $coordinate:ty, Indices = $indices:ty, Mask = $mask:ty, Stored = $own:ty;
        splat $splat:ident, add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident,
        sqrt $sqrt:ident, fma $fma:ident, load $load:ident, store $store:ident
    ) => {
        impl $name {
            #[inline(always)]
            fn to_array(self) -> [$element; $width] {
                let mut out = [0.0; $width];
                // SAFETY: `out` has room for the whole vector.
                unsafe { $store(out.as_mut_ptr(), self.0) };
                out
            }
            #[inline(always)]
            fn from_array(values: [$element; $width]) -> Self {
                // SAFETY: `values` holds a whole vector.
                Self(unsafe { $load(values.as_ptr()) })
            }
            /// Functions too rare in pair kernels to deserve a polynomial.
            #[inline(always)]
            fn each(self, f: impl Fn($element) -> $element) -> Self {
                Self::from_array(self.to_array().map(f))
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                // SAFETY: see the head of the file.
                Self(unsafe { $add(self.0, o.0) })
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                // SAFETY: see the head of the file.
                Self(unsafe { $sub(self.0, o.0) })
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                // SAFETY: see the head of the file.
                Self(unsafe { $mul(self.0, o.0) })
            }
        }
        impl Div for $name {
            type Output = Self;
            #[inline(always)]
            fn div(self, o: Self) -> Self {
                // SAFETY: see the head of the file.
                Self(unsafe { $div(self.0, o.0) })
            }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::lit(-0.0) - self
            }
        }

        impl Real for $name {
            type Index = $indices;

            #[inline(always)]
            fn lit(x: f64) -> Self {
                // SAFETY: see the head of the file.
                Self(unsafe { $splat(x as $element) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: see the head of the file.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn recip(self) -> Self {
                self.inverse()
            }
            #[inline(always)]
            fn over(self, below: Self) -> Self {
                self.quotient(below)
            }
            #[inline(always)]
            fn inverse_sqrt(self) -> Self {
                self.inverse_root()
            }
            #[inline(always)]
            fn exp(self) -> Self {
                polynomials::exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                polynomials::ln(self)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                self.each(<$element as Real>::sin)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                self.each(<$element as Real>::cos)
            }
            #[inline(always)]
            fn acos(self) -> Self {
                self.each(<$element as Real>::acos)
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                let (y, x) = (self.to_array(), x.to_array());
                Self::from_array(std::array::from_fn(|i| y[i].atan2(x[i])))
            }
            #[inline(always)]
            fn erfc(self) -> Self {
                self.each(<$element as Real>::erfc)
            }
            #[inline(always)]
            fn erfc_beside(self, gaussian: Self) -> Self {
                crate::expr::erfc_beside(<Self as Masked>::DOUBLE, self, gaussian)
            }
            #[inline(always)]
            fn screened(self) -> Self {
                crate::expr::screened(<Self as Masked>::DOUBLE, self)
            }
            #[inline(always)]
            fn real_space_force(self) -> Self {
                self.ewald_force()
            }
            #[inline(always)]
            fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
                Self::blend(Self::less_mask(a, b), yes, no)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: see the head of the file.
                Self(unsafe { $fma(self.0, a.0, b.0) })
            }
            #[inline(always)]
            fn split(self) -> (Self::Index, Self) {
                self.floor_split()
            }
            #[inline(always)]
            fn gather(table: &Table, index: Self::Index, offset: usize) -> Self {
                let values = <Self as Lanes>::table(table);
                // SAFETY: the indices are clamped to the table.
                unsafe {
                    Self::gather_column(
                        values.as_ptr(),
                        Self::clamp_indices(index, offset, values.len() - 1),
                    )
                }
            }
        }

        impl Masked for $name {
            const DOUBLE: bool = <Self as polynomials::Exponents>::DOUBLE;
            type Mask = $mask;
            #[inline(always)]
            fn less(a: Self, b: Self) -> $mask {
                Self::less_mask(a, b)
            }
            #[inline(always)]
            fn keep(mask: $mask, x: Self) -> Self {
                Self::kept(mask, x)
            }
        }

        impl Lanes for $name {
            const WIDTH: usize = $width;
            type Element = $element;
            type Coordinate = $coordinate;
            type Indices = $indices;
            type Stored = [$own; 4];

            #[inline(always)]
            unsafe fn indices(entries: *const u32) -> $indices {
                // SAFETY: the caller's promise.
                unsafe { Self::read_indices(entries) }
            }
            #[inline(always)]
            unsafe fn gather_records(
                coordinates: *const [$coordinate; 4],
                numbers: *const u32,
            ) -> Self::Stored {
                // SAFETY: the caller's promise.
                unsafe { Self::transposed(|k| coordinates.add(*numbers.add(k) as usize)) }
            }
            #[inline(always)]
            fn real_space_forces<const N: usize>(x: [Self; N]) -> [Self; N] {
                Self::ewald_forces(x)
            }
            #[inline(always)]
            fn pick(bits: u16, yes: Self, no: Self) -> Self {
                Self::blend(Self::mask_of(bits), yes, no)
            }
            #[inline(always)]
            unsafe fn scatter_add(to: *mut [$element; 4], numbers: *const u32, vectors: Vec3<Self>) {
                // SAFETY: the caller's promise.
                unsafe { Self::add_transposed(|k| to.add(*numbers.add(k) as usize), vectors) }
            }
            #[inline(always)]
            fn away(these: &Self::Stored, other: &[$coordinate; 4]) -> Vec3<Self> {
                Vec3::new(
                    Self::minus(these[0], Self::stored(other[0])),
                    Self::minus(these[1], Self::stored(other[1])),
                    Self::minus(these[2], Self::stored(other[2])),
                )
            }
            #[inline(always)]
            fn numbers(stored: &Self::Stored, place: usize) -> Self {
                Self::numbers_of(stored[place])
            }
            #[inline(always)]
            fn own_number(own: &[$coordinate; 4], place: usize) -> Self {
                Self::numbers_of(Self::stored(own[place]))
            }
            #[inline(always)]
            unsafe fn species(species: *const u32, others: $indices, offset: u32) -> $indices {
                // SAFETY: the caller's promise.
                unsafe { Self::gather_species(species, others, offset) }
            }
            #[inline(always)]
            unsafe fn lookup(column: *const $element, indices: $indices) -> Self {
                // SAFETY: the caller's promise.
                unsafe { Self::gather_column(column, indices) }
            }
            #[inline(always)]
            fn load(from: &[$element]) -> Self {
                let from = &from[..$width];
                // SAFETY: there are as many; see the head of the file.
                Self(unsafe { $load(from.as_ptr()) })
            }
            #[inline(always)]
            fn store(self, to: &mut [$element]) {
                let to = &mut to[..$width];
                // SAFETY: there is room for as many.
                unsafe { $store(to.as_mut_ptr(), self.0) };
            }
            #[inline(always)]
            fn element(x: f64) -> $element {
                x as $element
            }
            #[inline(always)]
            fn splat(x: $element) -> Self {
                // SAFETY: see the head of the file.
                Self(unsafe { $splat(x) })
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                Self::holds_anywhere(mask)
            }
            #[inline(always)]
            fn sum(self) -> f64 {
                self.total()
            }
            #[inline(always)]
            fn sums(v: Vec3<Self>) -> Vec3<f64> {
                Self::totals(v)
            }
            #[inline(always)]
            fn table(table: &Table) -> &[$element] {
                $crate::simd::TableOf::of(table)
            }
            fn to_vec(self) -> Vec<f64> {
                self.to_array().map(f64::from).to_vec()
            }
            fn from_values(values: &[f64]) -> Self {
                Self::from_array(std::array::from_fn(|i| {
                    values[i % values.len()] as $element
                }))
            }
        }
    };
}

pub(super) use lanes_of_intrinsics;

/// Adds the lanes of vectors to records one by one: for sets and precisions where nothing better is worth its lines.
///
/// # Safety
/// Every record must be writable.
#[inline(always)]
pub(super) unsafe fn add_one_by_one<const N: usize>(
    row: impl Fn(usize) -> *mut [f64; 4],
    [x, y, z]: [[f64; N]; 3],
) {
    for k in 0..N {
        // SAFETY: the caller's promise.
        let to = unsafe { &mut *row(k) };
        to[0] += x[k];
        to[1] += y[k];
        to[2] += z[k];
    }
}
