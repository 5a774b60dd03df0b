//! Plans of fast Fourier transforms in single and double precision, from rustfft and realfft.
//!
//! Their kernels are generic, so the crate that makes a plan compiles all of them: of the engine, and
//! again of its tests. Here they are compiled once.
//!
//! ```
//! use debye_fft::Transformed;
//!
//! let (forward, _) = f64::real_plans(4);
//! let (mut values, mut spectrum) = (vec![1.0, 2.0, 3.0, 4.0], forward.make_output_vec());
//! forward.process(&mut values, &mut spectrum)?;
//! assert_eq!(spectrum[0].re, 10.0);
//! # Ok::<(), realfft::FftError>(())
//! ```

use std::sync::Arc;

pub use realfft::{ComplexToReal, RealToComplex};
pub use rustfft::num_complex::Complex;
pub use rustfft::{Fft, FftNum};

/// A number that rows of a mesh may hold: `f32` or `f64`.
pub trait Transformed: FftNum {
    /// From a row of real numbers to half of its spectrum, and back without a factor.
    fn real_plans(length: usize) -> (Arc<dyn RealToComplex<Self>>, Arc<dyn ComplexToReal<Self>>);
    /// From a row of complex numbers to its spectrum, and back without a factor.
    fn complex_plans(length: usize) -> (Arc<dyn Fft<Self>>, Arc<dyn Fft<Self>>);
}

macro_rules! transformed {
    ($($number:ty),*) => {
        $(
            impl Transformed for $number {
                fn real_plans(length: usize) -> (Arc<dyn RealToComplex<Self>>, Arc<dyn ComplexToReal<Self>>) {
                    let mut planner = realfft::RealFftPlanner::new();
                    (planner.plan_fft_forward(length), planner.plan_fft_inverse(length))
                }

                fn complex_plans(length: usize) -> (Arc<dyn Fft<Self>>, Arc<dyn Fft<Self>>) {
                    let mut planner = rustfft::FftPlanner::new();
                    (planner.plan_fft_forward(length), planner.plan_fft_inverse(length))
                }
            }
        )*
    };
}
transformed!(f32, f64);
