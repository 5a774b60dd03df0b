//! The values of a volume as bytes and text, in either precision.

use std::fmt::{LowerExp, Write as _};

use super::volume::VolumeError;

/// Bytes or characters that are put together before they are written.
pub(super) const PIECE: usize = 1 << 16;

/// A value of a volume.
pub(super) trait Number: Copy + LowerExp {
    /// Decimals, after the first digit, that tell every value from its neighbors, also when a file written in single
    /// precision is read in double precision and rounded.
    const DECIMALS: usize;
    /// As NumPy calls the type.
    const DESCRIPTION: &'static str;

    fn to_f64(self) -> f64;
    fn to_f32(self) -> f32;
    fn put_bytes(self, bytes: &mut Vec<u8>);
    /// The number of the first bytes of a slice that is long enough.
    fn from_bytes(bytes: &[u8]) -> Self;
    fn parse(text: &str) -> Option<Self>;
}

macro_rules! number {
    ($type:ident, $decimals:literal, $description:literal) => {
        impl Number for $type {
            const DECIMALS: usize = $decimals;
            const DESCRIPTION: &'static str = $description;

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn to_f32(self) -> f32 {
                self as f32
            }

            fn put_bytes(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(&bytes[..size_of::<$type>()]);
                $type::from_le_bytes(own)
            }

            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    };
}

number!(f32, 8, "<f4");
number!(f64, 16, "<f8");

/// Appends a number as C's `%e` writes it: `-1.50000000e-03`, `nan`, `inf`.
pub(super) fn put_scientific<T: Number>(text: &mut String, value: T) {
    let wide = value.to_f64();
    if !wide.is_finite() {
        text.push_str(match wide {
            x if x.is_nan() => "nan",
            x if x > 0.0 => "inf",
            _ => "-inf",
        });
        return;
    }
    let start = text.len();
    // Writing to a string cannot fail.
    let _ = write!(text, "{value:.*e}", T::DECIMALS);
    // Rust writes the exponent without plus and leading zero.
    let Some(exponent) = text[start..].rfind('e').map(|at| start + at + 1) else {
        return;
    };
    let digits = match text.as_bytes().get(exponent) {
        Some(b'-') => exponent + 1,
        _ => {
            text.insert(exponent, '+');
            exponent + 1
        }
    };
    if text.len() - digits < 2 {
        text.insert(digits, '0');
    }
}

/// Values that come one by one, as many as a header claims. Memory grows with those that came.
pub(super) struct Growing<T> {
    values: Vec<T>,
    claimed: usize,
}

impl<T> Growing<T> {
    /// Room for values that are to be `claimed`.
    ///
    /// # Errors
    /// [`VolumeError::OverLimit`].
    pub(super) fn new(claimed: usize) -> Result<Self, VolumeError> {
        check_limit(claimed)?;
        Ok(Growing {
            values: Vec::new(),
            claimed,
        })
    }

    pub(super) fn push(&mut self, value: T) -> Result<(), VolumeError> {
        let length = self.values.len();
        if length == self.values.capacity() {
            let room = length.max(PIECE).min(self.claimed.saturating_sub(length)).max(1);
            reserve(&mut self.values, room)?;
        }
        self.values.push(value);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn finish(self) -> Vec<T> {
        self.values
    }
}

/// Refuses more points than are read.
pub(super) fn check_limit(points: usize) -> Result<(), VolumeError> {
    let limit = super::LARGEST_READ;
    if points > limit {
        return Err(VolumeError::OverLimit { points, limit });
    }
    Ok(())
}

/// Takes memory for so many values more, and no more than that.
pub(super) fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), VolumeError> {
    values.try_reserve_exact(more).map_err(|_| VolumeError::NoMemory {
        bytes: (values.len() + more).saturating_mul(size_of::<T>()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: Number>(value: T) -> String {
        let mut text = String::from("e ");
        put_scientific(&mut text, value);
        text.split_off(2)
    }

    #[test]
    fn exponents_have_two_digits_and_a_sign() {
        assert_eq!(text(-1.5_f32 / 1024.0), "-1.46484375e-03");
        assert_eq!(text(0.0_f32), "0.00000000e+00");
        assert_eq!(text(1e10_f32), "1.00000000e+10");
        assert_eq!(text(1.5e-300_f64), "1.5000000000000001e-300");
        let wide = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(text);
        assert_eq!(wide, ["nan", "inf", "-inf"]);
    }

    #[test]
    fn no_more_memory_than_claimed() {
        let mut values = Growing::new(PIECE + 3).unwrap();
        for i in 0..PIECE + 3 {
            values.push(i).unwrap();
        }
        assert_eq!(values.finish().capacity(), PIECE + 3);
        let refused = Growing::<f32>::new(usize::MAX).err().unwrap().to_string();
        assert_eq!(
            refused,
            "18446744073709551615 points are more than the 2147483648 that are read"
        );
    }
}
