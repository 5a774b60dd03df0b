//! From rounded positions to the bit stream.
//!
//! Any choice of runs and of offset ranges decodes to the same positions; this one follows the
//! usual writers: start from the range that covers the closest neighbors, and let it grow and
//! shrink with the distances met.

use super::bits::{BitWriter, FIRST_INDEX, FullCode, LAST_INDEX, OFFSET_RANGES};
use super::decode::Prelude;

/// Most offsets in a run: five bits hold three times this, plus 2.
const LONGEST_RUN: usize = 8;

/// How far the index of the range may move from its start.
const INDEX_SPAN: usize = 8;

/// Appends the bit stream of `positions` to `stream` and returns what must precede it; `None` if
/// the positions spread over more than the format's integers.
pub(super) fn encode(positions: &[[i32; 3]], stream: &mut Vec<u8>) -> Option<Prelude> {
    let (minimum, maximum) = bounds(positions);
    let prelude = Prelude {
        minimum,
        maximum,
        offset_index: first_index(positions),
    };
    prelude.check().ok()?;
    let mut encoder = Encoder {
        full: FullCode::new(minimum, maximum),
        minimum,
        index: prelude.offset_index,
        highest: (prelude.offset_index + INDEX_SPAN).min(LAST_INDEX),
        last_run: None,
        sink: BitWriter::new(stream),
    };
    let mut previous = None;
    let mut rest = positions;
    while let [first, others @ ..] = rest {
        let taken;
        (previous, taken) = encoder.put_run(previous, *first, others);
        rest = &rest[taken..];
    }
    encoder.sink.finish();
    Some(prelude)
}

struct Encoder<'a> {
    full: FullCode,
    minimum: [i32; 3],
    index: usize,
    highest: usize,
    last_run: Option<usize>,
    sink: BitWriter<'a>,
}

impl Encoder<'_> {
    /// Writes a full position and the offsets after it; returns the last position written and how
    /// many were.
    fn put_run(
        &mut self,
        previous: Option<[i32; 3]>,
        first: [i32; 3],
        others: &[[i32; 3]],
    ) -> (Option<[i32; 3]>, usize) {
        let half = OFFSET_RANGES[self.index] / 2;
        let run = match others.first() {
            Some(second) if within(first, *second, half) => run_length(first, &others[1..], half),
            _ => 0,
        };
        // In a run the second atom is the full one, and the first the first offset from it.
        let anchor = if run > 0 { others[0] } else { first };
        let members = || {
            std::iter::once(first)
                .chain(others.iter().skip(1).copied())
                .take(run)
        };
        let relative = [0, 1, 2].map(|axis| anchor[axis].abs_diff(self.minimum[axis]));
        self.full.write(relative, &mut self.sink);
        let change = self.change(previous, first, anchor, members());
        if self.last_run == Some(run) && change == 1 {
            self.sink.put(0, 1);
        } else {
            self.sink.put(1, 1);
            self.sink.put(3 * run as u32 + change, 5);
            self.last_run = Some(run);
        }
        let mut last = anchor;
        for member in members() {
            // Within half the range of each other, so that this is neither negative nor beyond it.
            let offset = [0, 1, 2].map(|axis| (member[axis] - last[axis] + half as i32) as u32);
            self.sink
                .put_mixed(offset, self.index as u32, [OFFSET_RANGES[self.index]; 3]);
            last = member;
        }
        self.index = self.index + change as usize - 1;
        (Some(last), run + 1)
    }

    /// Whether offsets get smaller (0), stay (1) or get larger (2) after this run.
    fn change(
        &self,
        previous: Option<[i32; 3]>,
        first: [i32; 3],
        anchor: [i32; 3],
        members: impl Iterator<Item = [i32; 3]>,
    ) -> u32 {
        let Some(previous) = previous else { return 1 };
        if self.index < self.highest && within(first, previous, OFFSET_RANGES[self.highest] / 2) {
            return 2;
        }
        let mut members = members.peekable();
        if self.index <= self.highest - INDEX_SPAN || members.peek().is_none() {
            return 1;
        }
        let smaller = u64::from(OFFSET_RANGES[(self.index - 1).max(FIRST_INDEX)] / 2);
        let mut last = anchor;
        let mut all_small = true;
        for member in members {
            // Members of a run are within 2²³ of each other.
            let squares = (0..3).map(|axis| u64::from(member[axis].abs_diff(last[axis])).pow(2));
            all_small &= squares.sum::<u64>() < smaller * smaller;
            last = member;
        }
        u32::from(!all_small)
    }
}

/// How many offsets a run has that starts with `first` and may go on with `next`.
fn run_length(first: [i32; 3], next: &[[i32; 3]], half: u32) -> usize {
    let mut last = first;
    let mut run = 1;
    for position in next.iter().take(LONGEST_RUN - 1) {
        if !within(*position, last, half) {
            break;
        }
        run += 1;
        last = *position;
    }
    run
}

fn within(u: [i32; 3], v: [i32; 3], limit: u32) -> bool {
    (0..3).all(|axis| u[axis].abs_diff(v[axis]) < limit)
}

fn bounds(positions: &[[i32; 3]]) -> ([i32; 3], [i32; 3]) {
    let start = positions.first().copied().unwrap_or_default();
    let (mut minimum, mut maximum) = (start, start);
    for position in positions {
        for axis in 0..3 {
            minimum[axis] = minimum[axis].min(position[axis]);
            maximum[axis] = maximum[axis].max(position[axis]);
        }
    }
    (minimum, maximum)
}

/// The range that covers the closest neighbors in the list.
fn first_index(positions: &[[i32; 3]]) -> usize {
    let distance = |pair: &[[i32; 3]]| {
        (0..3)
            .map(|axis| u64::from(pair[0][axis].abs_diff(pair[1][axis])))
            .sum::<u64>()
    };
    let closest = positions.windows(2).map(distance).min().unwrap_or(0);
    (FIRST_INDEX..LAST_INDEX)
        .find(|index| u64::from(OFFSET_RANGES[*index]) >= closest)
        .unwrap_or(LAST_INDEX)
}

#[cfg(test)]
mod tests {
    use super::super::decode::decode;
    use super::*;

    fn there_and_back(positions: &[[i32; 3]]) {
        let mut stream = Vec::new();
        let prelude = encode(positions, &mut stream).unwrap();
        let decoded = decode(&stream, &prelude, positions.len()).unwrap();
        let expected: Vec<[i64; 3]> = positions.iter().map(|position| position.map(i64::from)).collect();
        assert!(decoded == expected);
    }

    #[test]
    fn integers_come_back_exactly() {
        // A small generator is enough here: spreads from one point to the whole range of integers.
        let mut state = 1_u64;
        let mut next = |spread: i64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as i64 % (spread + 1) - spread / 2) as i32
        };
        for bits in 0..31 {
            let spread = (1_i64 << bits) - 1;
            for count in [1, 2, 3, 10, 500] {
                let scattered: Vec<[i32; 3]> = (0..count)
                    .map(|_| [next(spread), next(spread), next(spread)])
                    .collect();
                there_and_back(&scattered);
                // Molecules: three atoms close to each other, at places far apart.
                let steps: Vec<i32> = (0..9 * count).map(|_| next(spread / 16 + 1)).collect();
                let atom = |index: usize| {
                    [0, 1, 2].map(|axis| scattered[index / 3 % count][axis] / 2 + steps[3 * index + axis])
                };
                there_and_back(&(0..3 * count).map(atom).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn too_wide_is_refused() {
        assert!(encode(&[[i32::MIN, 0, 0], [i32::MAX, 0, 0]], &mut Vec::new()).is_none());
    }
}
