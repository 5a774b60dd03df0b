//! Numbers as bits: what the encoder and the decoder have in common.

/// Ranges of small offsets: the cube of entry `i` just fits `i` bits. The irregular entries are
/// those of the format.
#[rustfmt::skip]
pub(super) const OFFSET_RANGES: [u32; 73] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 101, 128, 161, 203, 256, 322, 406, 512, 645,
    812, 1024, 1290, 1625, 2048, 2580, 3250, 4096, 5060, 6501, 8192, 10321, 13003, 16384, 20642, 26007, 32768, 41285,
    52015, 65536, 82570, 104031, 131072, 165140, 208063, 262144, 330280, 416127, 524287, 660561, 832255, 1048576,
    1321122, 1664510, 2097152, 2642245, 3329021, 4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216,
];

/// The first and the last entry of [`OFFSET_RANGES`] in use.
pub(super) const FIRST_INDEX: usize = 9;
pub(super) const LAST_INDEX: usize = OFFSET_RANGES.len() - 1;

/// Ranges above this are written per axis.
const LARGEST_FACTOR: u32 = 0x00ff_ffff;

/// How full positions are written.
pub(super) enum FullCode {
    /// All axes as one mixed-radix number of so many bits.
    Together { bits: u32, ranges: [u32; 3] },
    /// Each axis in so many bits.
    PerAxis([u32; 3]),
}

impl FullCode {
    /// The code for positions between `minimum` and `maximum`.
    pub(super) fn new(minimum: [i32; 3], maximum: [i32; 3]) -> FullCode {
        let range = |axis: usize| maximum[axis].abs_diff(minimum[axis]).saturating_add(1);
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

    pub(super) fn read(&self, source: &mut BitReader<'_>) -> Option<[i64; 3]> {
        match self {
            FullCode::Together { bits, ranges } => source.take_mixed(*bits, *ranges),
            FullCode::PerAxis(bits) => {
                let mut values = [0; 3];
                for (value, bits) in values.iter_mut().zip(bits) {
                    *value = i64::from(source.take(*bits)?);
                }
                Some(values)
            }
        }
    }

    pub(super) fn write(&self, values: [u32; 3], sink: &mut BitWriter<'_>) {
        match self {
            FullCode::Together { bits, ranges } => sink.put_mixed(values, *bits, *ranges),
            FullCode::PerAxis(bits) => values
                .iter()
                .zip(bits)
                .for_each(|(value, bits)| sink.put(*value, *bits)),
        }
    }
}

/// Bits of a byte string, the most significant of a byte first.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    held: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        BitReader {
            bytes,
            held: 0,
            count: 0,
        }
    }

    /// The next `count` (up to 32) bits; `None` if fewer are left.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
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

    /// Reads `(x * ranges[1] + y) * ranges[2] + z`, whose bytes come lowest first, the incomplete
    /// one last.
    pub(super) fn take_mixed(&mut self, count: u32, ranges: [u32; 3]) -> Option<[i64; 3]> {
        let mut value: u128 = 0;
        let mut shift = 0;
        while shift < count {
            let width = (count - shift).min(8);
            value |= u128::from(self.take(width)?) << shift;
            shift += width;
        }
        let [_, y, z] = ranges;
        // 64 bits are enough for nearly all, and much faster to divide.
        if let Ok(value) = u64::try_from(value) {
            let (y, z) = (u64::from(y), u64::from(z));
            let rest = value / z;
            return Some([(rest / y) as i64, (rest % y) as i64, (value % z) as i64]);
        }
        let (y, z) = (u128::from(y), u128::from(z));
        let rest = value / z;
        Some([(rest / y) as i64, (rest % y) as i64, (value % z) as i64])
    }
}

/// The inverse of [`BitReader`].
pub(super) struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    held: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(bytes: &'a mut Vec<u8>) -> Self {
        BitWriter {
            bytes,
            held: 0,
            count: 0,
        }
    }

    /// Appends the lowest `count` (up to 32) bits of `value`.
    pub(super) fn put(&mut self, value: u32, count: u32) {
        let mask = (1_u64 << count) - 1;
        self.held = self.held << count | u64::from(value) & mask;
        self.count += count;
        if self.count >= 32 {
            self.count -= 32;
            let word = (self.held >> self.count) as u32;
            self.bytes.extend_from_slice(&word.to_be_bytes());
        }
    }

    /// The inverse of [`BitReader::take_mixed`].
    pub(super) fn put_mixed(&mut self, values: [u32; 3], count: u32, ranges: [u32; 3]) {
        if count <= 64 {
            let [x, y, z] = values.map(u64::from);
            let value = (x * u64::from(ranges[1]) + y) * u64::from(ranges[2]) + z;
            // Whole bytes in the order of memory, then what is left.
            let (whole, rest) = (count / 8 * 8, count % 8);
            if whole > 0 {
                let bytes = value.swap_bytes() >> (64 - whole);
                let second = whole.min(32);
                self.put((bytes >> second) as u32, whole - second);
                self.put(bytes as u32, second);
            }
            if rest > 0 {
                self.put((value >> whole) as u32, rest);
            }
            return;
        }
        let [x, y, z] = values.map(u128::from);
        let mut value = (x * u128::from(ranges[1]) + y) * u128::from(ranges[2]) + z;
        let mut left = count;
        while left > 0 {
            let width = left.min(8);
            self.put((value & 0xff) as u32, width);
            value >>= 8;
            left -= width;
        }
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(mut self) {
        self.put(0, self.count.next_multiple_of(8) - self.count);
        while self.count > 0 {
            self.count -= 8;
            self.bytes.push((self.held >> self.count) as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_across_bytes() {
        let mut bits = BitReader::new(&[0b1010_0101, 0xff, 0x00]);
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
                Some(0b001_0111),
                Some(0),
                Some(0b11_1111_0000_0000),
                None
            ]
        );
    }

    #[test]
    fn written_numbers_are_read() {
        let largest = LARGEST_FACTOR;
        for ranges in [
            [1, 1, 1],
            [2, 3, 5],
            [1000, 2000, 3000],
            [largest, largest, largest],
            [largest, 1, 7],
        ] {
            let code = FullCode::new([0; 3], ranges.map(|range| (range - 1) as i32));
            let values = [
                ranges.map(|range| range - 1),
                [0; 3],
                ranges.map(|range| range / 2),
            ];
            let mut bytes = Vec::new();
            let mut writer = BitWriter::new(&mut bytes);
            for value in values {
                writer.put(1, 1);
                code.write(value, &mut writer);
            }
            writer.finish();
            let mut reader = BitReader::new(&bytes);
            for value in values {
                assert_eq!(reader.take(1), Some(1));
                assert_eq!(code.read(&mut reader), Some(value.map(i64::from)), "{ranges:?}");
            }
        }
    }

    #[test]
    fn offsets_fit_their_bits() {
        for (bits, range) in OFFSET_RANGES.iter().enumerate().skip(FIRST_INDEX) {
            assert!(u128::from(*range).pow(3) <= 1 << bits, "{bits}");
        }
    }
}
