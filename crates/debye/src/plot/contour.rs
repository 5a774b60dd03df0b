//! Lines of one value on a plane: marching squares, joined into polylines.

/// Numbers on the points of a square lattice, row by row.
pub(crate) struct Lattice {
    pub(crate) columns: usize,
    pub(crate) values: Vec<f64>,
}

/// Where the boundary of what is inside cuts the sides of a ring of four corners. Side k lies between corners k and
/// k + 1. Each run of corners inside gives one pair: the side where a walk around the ring enters it, and the side where
/// the walk leaves it. Two opposite corners inside are two runs, so that rings with a common side always agree.
pub(crate) fn cuts(inside: [bool; 4]) -> impl Iterator<Item = (usize, usize)> {
    let within = move |corner: usize| inside[corner % 4];
    let enters = (0..4).filter(move |&side| !within(side) && within(side + 1));
    enters.map(move |side| {
        let leaves = (side + 1..side + 4).find(|&next| !within(next + 1));
        (side, leaves.unwrap_or(side) % 4)
    })
}

const NONE: u32 = u32::MAX;

impl Lattice {
    /// The lines where values cross `level`, in columns and rows. Larger values lie on the left of a line. A line that
    /// is closed ends where it begins. Squares with a NaN have no lines.
    pub(crate) fn contours(&self, level: f64) -> Vec<Vec<[f64; 2]>> {
        let next = self.links(level);
        let mut has_before = vec![false; next.len()];
        for &to in next.iter().filter(|&&to| to != NONE) {
            has_before[to as usize] = true;
        }
        let mut left = next.clone();
        let mut lines = Vec::new();
        // Open lines begin at the border or beside a NaN; what is left then are closed ones.
        let open = (0..next.len()).filter(|&edge| next[edge] != NONE && !has_before[edge]);
        for first in open.chain(0..next.len()) {
            let mut line = Vec::new();
            let mut edge = first;
            while left[edge] != NONE {
                line.push(self.crossing(edge, level));
                edge = std::mem::replace(&mut left[edge], NONE) as usize;
            }
            if !line.is_empty() {
                line.push(self.crossing(edge, level));
                lines.push(line);
            }
        }
        lines
    }

    /// For each side of a square the side that a line leads to from there. Side 2n runs from point n to the next in its
    /// row, side 2n + 1 to the next in its column.
    fn links(&self, level: f64) -> Vec<u32> {
        let columns = self.columns;
        let mut next = vec![NONE; 2 * self.values.len()];
        let rows = self.values.len() / columns.max(1);
        for row in 1..rows {
            for column in 1..columns {
                let high = row * columns + column;
                let low = high - columns;
                let corners = [low - 1, low, high, high - 1];
                let values = corners.map(|n| self.values[n]);
                if values.iter().any(|v| v.is_nan()) {
                    continue;
                }
                let sides = [2 * low - 2, 2 * low + 1, 2 * high - 2, 2 * low - 1];
                for (from, to) in cuts(values.map(|v| v >= level)) {
                    next[sides[to]] = sides[from] as u32;
                }
            }
        }
        next
    }

    /// Where a line crosses a side.
    fn crossing(&self, edge: usize, level: f64) -> [f64; 2] {
        let (from, down) = (edge / 2, edge % 2 == 1);
        let to = from + if down { self.columns } else { 1 };
        let [a, b] = [from, to].map(|n| self.values[n].clamp(-1e300, 1e300));
        let share = ((level - a) / (b - a)).clamp(0.0, 1.0);
        let at = [(from % self.columns) as f64, (from / self.columns) as f64];
        if down {
            [at[0], at[1] + share]
        } else {
            [at[0] + share, at[1]]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice(size: usize, value: impl Fn(f64, f64) -> f64) -> Lattice {
        let points = (0..size * size).map(|n| value((n % size) as f64, (n / size) as f64));
        Lattice {
            columns: size,
            values: points.collect(),
        }
    }

    #[test]
    fn a_circle_is_one_closed_line_with_the_larger_values_on_its_left() {
        let lattice = lattice(41, |x, y| -(x - 20.0).hypot(y - 20.0));
        let lines = lattice.contours(-12.3);
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!(line.first(), line.last());
        assert!(
            line.iter()
                .all(|p| ((p[0] - 20.0).hypot(p[1] - 20.0) - 12.3).abs() < 0.02)
        );
        let twice = line
            .windows(2)
            .map(|w| w[0][0] * w[1][1] - w[1][0] * w[0][1])
            .sum::<f64>();
        let area = std::f64::consts::PI * 12.3 * 12.3;
        assert!((0.5 * twice / area - 1.0).abs() < 0.01, "{twice}");
    }

    #[test]
    fn open_lines_and_gaps() {
        let rising = lattice(9, |x, _| x);
        let lines = rising.contours(3.25);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].iter().all(|p| p[0] == 3.25) && lines[0].len() == 9);
        let gap = lattice(9, |x, y| if y == 4.0 && x == 3.0 { f64::NAN } else { x });
        assert_eq!(gap.contours(3.25).len(), 2);
    }

    #[test]
    fn saddles_and_infinities() {
        let saddle = lattice(2, |x, y| if x == y { 1.0 } else { -1.0 });
        assert_eq!(saddle.contours(0.0).len(), 2);
        let wild = lattice(3, |x, y| {
            if x == 1.0 && y == 1.0 {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            }
        });
        let lines = wild.contours(0.0);
        assert!(lines.len() == 1 && lines[0].iter().flatten().all(|v| v.is_finite()));
        for empty in [
            lattice(0, |_, _| 0.0),
            lattice(1, |_, _| 0.0),
            lattice(5, |_, _| f64::NAN),
        ] {
            assert!(empty.contours(0.0).is_empty());
        }
    }
}
