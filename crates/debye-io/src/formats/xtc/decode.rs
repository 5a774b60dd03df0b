//! From the bit stream to rounded positions.

use super::bits::{BitReader, FIRST_INDEX, FullCode, LAST_INDEX, OFFSET_RANGES};

/// What precedes the bit stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prelude {
    pub(super) minimum: [i32; 3],
    pub(super) maximum: [i32; 3],
    pub(super) offset_index: usize,
}

/// Fewest bits an atom takes: one of a full position in a range of one, and its flag.
pub(super) const FEWEST_BITS: u64 = 2;

/// What a damaged stream should have had.
pub(super) type Expected = &'static str;

impl Prelude {
    /// Checks what the decoder relies on.
    pub(super) fn check(&self) -> Result<(), Expected> {
        for axis in 0..3 {
            let extent = i64::from(self.maximum[axis]) - i64::from(self.minimum[axis]);
            if !(0..i64::from(i32::MAX)).contains(&extent) {
                return Err("a range of positions between 0 and 2^31");
            }
        }
        if !(FIRST_INDEX..=LAST_INDEX).contains(&self.offset_index) {
            return Err("an index of the table of offsets between 9 and 72");
        }
        Ok(())
    }
}

/// Decodes `atoms` positions. The caller has checked that `stream` has enough bits for so many and
/// that the prelude is sound.
pub(super) fn decode(stream: &[u8], prelude: &Prelude, atoms: usize) -> Result<Vec<[i64; 3]>, Expected> {
    const BITS: Expected = "enough bits for all atoms";
    let mut bits = BitReader::new(stream);
    let minimum = prelude.minimum.map(i64::from);
    let full = FullCode::new(prelude.minimum, prelude.maximum);
    let mut offset_index = prelude.offset_index;
    let mut run = 0;
    let mut positions: Vec<[i64; 3]> = Vec::with_capacity(atoms);
    while positions.len() < atoms {
        let anchor = add(full.read(&mut bits).ok_or(BITS)?, minimum);
        let mut change = 1;
        if bits.take(1).ok_or(BITS)? == 1 {
            let code = bits.take(5).ok_or(BITS)?;
            run = code / 3;
            change = code % 3;
        }
        if positions.len() + 1 + run as usize > atoms {
            return Err("a run of atoms that ends with the frame");
        }
        let range = OFFSET_RANGES[offset_index];
        let mut previous = anchor;
        for member in 0..run {
            let offset = bits.take_mixed(offset_index as u32, [range; 3]).ok_or(BITS)?;
            previous = add(add(offset, previous), [-i64::from(range / 2); 3]);
            positions.push(previous);
            if member == 0 {
                positions.push(anchor);
            }
        }
        if run == 0 {
            positions.push(anchor);
        }
        offset_index = offset_index + change as usize - 1;
        if !(FIRST_INDEX..=LAST_INDEX).contains(&offset_index) {
            return Err("offsets within their table");
        }
    }
    Ok(positions)
}

fn add(u: [i64; 3], v: [i64; 3]) -> [i64; 3] {
    [u[0] + v[0], u[1] + v[1], u[2] + v[2]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsound_preludes() {
        let good = Prelude {
            minimum: [0; 3],
            maximum: [10; 3],
            offset_index: 9,
        };
        assert!(good.check().is_ok());
        assert!(
            Prelude {
                offset_index: 8,
                ..good
            }
            .check()
            .is_err()
        );
        assert!(
            Prelude {
                offset_index: 73,
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
