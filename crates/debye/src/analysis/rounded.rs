//! [`Rounded`]: a value and its standard error with the digits that mean something.

use std::fmt;

/// A value and its standard error, both rounded to two significant digits of the error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounded {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// The power of ten of the last digit.
    last: i32,
}

/// Numbers of this many digits before or zeros after the point are written with a power of ten.
const PLAIN: std::ops::Range<i32> = -4..9;

/// Errors below this part of a value are no errors.
const ROUNDING: f64 = 1e-13;

impl Rounded {
    /// `None` where either is not finite, or the error is not positive.
    pub fn new(value: f64, error: f64) -> Option<Self> {
        // An error in the last bits is that of adding up equal numbers.
        if !(value.is_finite() && error.is_finite() && error > ROUNDING * value.abs()) {
            return None;
        }
        // By way of the decimal text, which rounds 0.0996 to 0.10.
        let text = format!("{error:.1e}");
        let last = text.split_once('e')?.1.parse::<i32>().ok()? - 1;
        let round = |x: f64| -> Option<f64> {
            // A text is rounded exactly, and has no digits that were not meant.
            let decimals = usize::try_from(-last).unwrap_or(0);
            match last > 0 {
                true => Some((x / 10_f64.powi(last)).round() * 10_f64.powi(last)),
                false => format!("{x:.decimals$}").parse().ok(),
            }
        };
        Some(Self {
            value: round(value)?,
            error: round(error)?,
            last,
        })
    }

    /// How many significant digits a number has that ends with the last digit.
    pub fn digits(&self, x: f64) -> i32 {
        if x == 0.0 {
            return 1 - self.last;
        }
        x.abs().log10().floor() as i32 - self.last + 1
    }
}

/// `94.41 ± 0.10`, or `(1.234 ± 0.012)e-7` where there would be many zeros.
impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let largest = self.value.abs().max(self.error);
        let size = largest.log10().floor() as i32;
        if PLAIN.contains(&size) {
            let decimals = usize::try_from(-self.last).unwrap_or(0);
            return write!(f, "{:.decimals$} ± {:.decimals$}", self.value, self.error);
        }
        let decimals = usize::try_from(size - self.last).unwrap_or(0);
        let scale = 10_f64.powi(size);
        write!(
            f,
            "({:.decimals$} ± {:.decimals$})e{size}",
            self.value / scale,
            self.error / scale
        )
    }
}
