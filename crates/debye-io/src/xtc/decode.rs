//! The bit stream of a compressed XTC frame.
//!
//! Rounded positions are written either in full, as a mixed-radix number below the ranges of the
//! three axes, or as a small offset from the atom before. After each full position a flag bit tells
//! whether the length of the run of offsets changes; if so, five bits give three times that length
//! plus 0, 1 or 2 for "offsets get smaller, stay, get larger". The first atom of a run changes
//! places with the full one, which suits water molecules (oxygen before its hydrogens).

use molly::reader::{FIRSTIDX, MAGICINTS};

/// Ranges above this are written per axis, since their product would not be handled.
const LARGEST_FACTOR: u32 = 0x00ff_ffff;

/// What precedes the bit stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prelude {
    pub(super) minimum: [i32; 3],
    pub(super) maximum: [i32; 3],
    pub(super) small_index: usize,
}

/// Fewest bits an atom takes: one of a full position in a range of one, and its flag.
pub(super) const FEWEST_BITS: u64 = 2;

/// Why a stream cannot be decoded.
pub(super) type Damage = &'static str;

impl Prelude {
    /// Checks what the decoder relies on.
    pub(super) fn check(&self) -> Result<(), Damage> {
        for axis in 0..3 {
            let extent = i64::from(self.maximum[axis]) - i64::from(self.minimum[axis]);
            if !(0..i64::from(i32::MAX)).contains(&extent) {
                return Err("a range of positions between 0 and 2^31");
            }
        }
        if !(FIRSTIDX..MAGICINTS.len()).contains(&self.small_index) {
            return Err("an index of the table of offset sizes between 9 and 72");
        }
        Ok(())
    }
}

/// Decodes `atoms` positions. The caller has checked that `stream` has enough bits for them and
/// that the prelude is sound.
pub(super) fn decode(stream: &[u8], prelude: &Prelude, atoms: usize) -> Result<Vec<[i64; 3]>, Damage> {
    const SHORT: Damage = "enough bits for all atoms";
    let mut bits = Bits {
        bytes: stream,
        held: 0,
        count: 0,
    };
    let minimum = prelude.minimum.map(i64::from);
    let full = FullCode::new(prelude);
    let mut small_index = prelude.small_index;
    let mut run = 0;
    let mut positions: Vec<[i64; 3]> = Vec::with_capacity(atoms);
    while positions.len() < atoms {
        let anchor = add(full.read(&mut bits).ok_or(SHORT)?, minimum);
        let mut change = 1;
        if bits.take(1).ok_or(SHORT)? == 1 {
            let code = bits.take(5).ok_or(SHORT)?;
            run = code / 3;
            change = code % 3;
        }
        if positions.len() + 1 + run as usize > atoms {
            return Err("a run of atoms that ends with the frame");
        }
        let size = MAGICINTS[small_index];
        let mut previous = anchor;
        for member in 0..run {
            let offset = mixed_radix(&mut bits, small_index as u32, [size as u32; 3]).ok_or(SHORT)?;
            previous = add(add(offset, previous), [-i64::from(size / 2); 3]);
            positions.push(previous);
            if member == 0 {
                positions.push(anchor);
            }
        }
        if run == 0 {
            positions.push(anchor);
        }
        small_index = small_index + change as usize - 1;
        if !(FIRSTIDX..MAGICINTS.len()).contains(&small_index) {
            return Err("offset sizes within their table");
        }
    }
    Ok(positions)
}

fn add(u: [i64; 3], v: [i64; 3]) -> [i64; 3] {
    [u[0] + v[0], u[1] + v[1], u[2] + v[2]]
}

/// How full positions are written.
enum FullCode {
    Together { bits: u32, ranges: [u32; 3] },
    PerAxis([u32; 3]),
}

impl FullCode {
    fn new(prelude: &Prelude) -> FullCode {
        let range = |axis: usize| prelude.maximum[axis].abs_diff(prelude.minimum[axis]) + 1;
        let ranges = [range(0), range(1), range(2)];
        let bits_of = |value: u128| u128::BITS - value.leading_zeros();
        if ranges.iter().any(|range| *range > LARGEST_FACTOR) {
            return FullCode::PerAxis(ranges.map(|range| bits_of(u128::from(range))));
        }
        let product: u128 = ranges.iter().map(|range| u128::from(*range)).product();
        FullCode::Together {
            bits: bits_of(product),
            ranges,
        }
    }

    fn read(&self, bits: &mut Bits<'_>) -> Option<[i64; 3]> {
        match self {
            FullCode::Together { bits: count, ranges } => mixed_radix(bits, *count, *ranges),
            FullCode::PerAxis(counts) => {
                let mut values = [0; 3];
                for (value, count) in values.iter_mut().zip(counts) {
                    *value = i64::from(bits.take(*count)?);
                }
                Some(values)
            }
        }
    }
}

/// Reads `(x * ranges[1] + y) * ranges[2] + z`, whose bytes come lowest first, the incomplete one
/// last.
fn mixed_radix(bits: &mut Bits<'_>, count: u32, ranges: [u32; 3]) -> Option<[i64; 3]> {
    let mut value: u128 = 0;
    let mut shift = 0;
    while shift < count {
        let width = (count - shift).min(8);
        value |= u128::from(bits.take(width)?) << shift;
        shift += width;
    }
    let [_, y, z] = ranges;
    if let Ok(value) = u64::try_from(value) {
        let (y, z) = (u64::from(y), u64::from(z));
        let rest = value / z;
        return Some([(rest / y) as i64, (rest % y) as i64, (value % z) as i64]);
    }
    let (y, z) = (u128::from(y), u128::from(z));
    let rest = value / z;
    Some([(rest / y) as i64, (rest % y) as i64, (value % z) as i64])
}

/// Bits of a byte string, the most significant of a byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    held: u64,
    count: u32,
}

impl Bits<'_> {
    /// The next `count` (up to 32) bits.
    fn take(&mut self, count: u32) -> Option<u32> {
        while self.count < count {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            self.held = self.held << 8 | u64::from(*byte);
            self.count += 8;
        }
        self.count -= count;
        let mask = (1_u64 << count) - 1;
        Some((self.held >> self.count & mask) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_across_bytes() {
        let mut bits = Bits {
            bytes: &[0b1010_0101, 0xff, 0x00],
            held: 0,
            count: 0,
        };
        let taken = [
            bits.take(3),
            bits.take(7),
            bits.take(0),
            bits.take(14),
            bits.take(1),
        ];
        assert_eq!(
            taken,
            [
                Some(0b101),
                Some(0b00_1011_1),
                Some(0),
                Some(0b11_1111_0000_0000),
                None
            ]
        );
    }

    #[test]
    fn unsound_preludes() {
        let good = Prelude {
            minimum: [0; 3],
            maximum: [10; 3],
            small_index: 9,
        };
        assert!(good.check().is_ok());
        assert!(
            Prelude {
                small_index: 8,
                ..good
            }
            .check()
            .is_err()
        );
        assert!(
            Prelude {
                small_index: 73,
                ..good
            }
            .check()
            .is_err()
        );
        assert!(
            Prelude {
                maximum: [10, -1, 10],
                ..good
            }
            .check()
            .is_err()
        );
        assert!(
            Prelude {
                minimum: [i32::MIN; 3],
                ..good
            }
            .check()
            .is_err()
        );
    }
}
