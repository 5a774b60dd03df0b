//! [`Tuning`]: what a kernel is compiled with; [`Cut`]: which thread has which points of a grid.

/// Lines that lie side by side in a strip, about; so a block of 64 threads is 8 × 8 lines.
const STRIP: u32 = 8;
/// A block takes so many charges at least.
const FEWEST: u32 = 128;

/// What a kernel is compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Points of a thread, along a line.
    pub points: u32,
    /// Threads of a block: a multiple of 32, for terms of finite reach a power of two.
    pub threads: u32,
    /// Points of a thread whose reciprocal roots are computed by multiplications: the special function units would be
    /// what limits the speed.
    pub software: u32,
    /// Terms of those roots: 3 (right to 8.8e-7) or 4 (to 1.3e-7).
    pub root_terms: u32,
    /// Points whose roots come from those of their neighbors, for charges that are far enough: fewer than half.
    pub between: u32,
    /// Charges of a turn of the loop.
    pub unroll: u32,
    /// Blocks that should fit on a multiprocessor.
    pub resident: u32,
    /// The order of the polynomials that stand for far charges along a line; 0 for none.
    pub line_order: u32,
    /// Of those of the farthest charges.
    pub far_order: u32,
    /// So many blocks keep any card busy to the end: where there are fewer, each takes a part of the charges.
    pub busy: u32,
}

impl Tuning {
    /// Every charge at every point.
    pub fn direct(points: u32, double: bool) -> Self {
        Self {
            points,
            // More points need more registers, and more warps of a block share what it stages.
            threads: if double || points <= 12 { 64 } else { 128 },
            // A quarter, or rather less.
            software: if double || points < 4 { 0 } else { (points + 1) / 4 },
            root_terms: 4,
            between: if double {
                0
            } else {
                ((points + 1) / 3).min((points - 1) / 2)
            },
            unroll: match points {
                _ if double => 2,
                13..=16 => 8,
                _ => 4,
            },
            resident: match points {
                _ if double => 8,
                ..=12 => 8,
                13..=16 => 4,
                _ => 3,
            },
            line_order: 0,
            far_order: 0,
            busy: 3200,
        }
    }

    /// Far charges by polynomials along lines.
    pub fn lines(points: u32, order: u32, far: u32) -> Self {
        Self {
            threads: 64,
            unroll: 4,
            resident: if points <= 24 { 7 } else { 6 },
            line_order: order,
            far_order: far,
            ..Self::direct(points, false)
        }
    }

    /// Terms of finite reach.
    pub fn short(points: u32, double: bool) -> Self {
        Self {
            software: 0,
            between: 0,
            unroll: 1,
            ..Self::direct(points, double)
        }
    }

    /// Others worth a measurement on a card that this was not chosen on.
    pub fn candidates(self) -> Vec<Self> {
        let mut all = vec![self];
        all.extend([3, 4].map(|root_terms| Self { root_terms, ..self }));
        all.extend([2, 8].map(|unroll| Self { unroll, ..self }));
        all.extend([1, 6, 9, 10].map(|resident| Self { resident, ..self }));
        all.extend([1600, 6400].map(|busy| Self { busy, ..self }));
        all.extend([32, 128].map(|threads| Self {
            threads,
            resident: (self.resident * self.threads / threads).max(1),
            ..self
        }));
        for more in [-1, 1] {
            let software = self.software.saturating_add_signed(more);
            let between = self
                .between
                .saturating_add_signed(more)
                .min((self.points - 1) / 2);
            all.extend([Self { software, ..self }, Self { between, ..self }]);
        }
        all.push(Self { between: 0, ..self });
        let mut seen = Vec::new();
        all.retain(|tuning| {
            let new = !seen.contains(tuning);
            seen.push(*tuning);
            new
        });
        all
    }
}

/// What the time of a thread depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work {
    Direct {
        double: bool,
    },
    /// Polynomials of two orders, each for charges farther than so many half lengths of a line.
    Lines {
        orders: [(u32, f64); 2],
    },
    Short,
}

impl Work {
    /// How many points a thread may have.
    fn most(self) -> u32 {
        match self {
            Self::Direct { double: false } => 24,
            Self::Lines { .. } => 32,
            Self::Direct { double: true } | Self::Short => 8,
        }
    }

    /// How long a thread takes for a charge, in times of a point.
    fn time(self, points: u32, shape: [usize; 3]) -> f64 {
        let points = f64::from(points);
        // Fetching a charge and the distance of a line cost as much as half a point. Beyond 12 points registers get
        // scarce; measured were 12, 16, 20, 24 and, with lines, 28 and 32.
        let scarce = match points {
            ..=12.0 => 1.0,
            13.0..=16.0 | 24.0 => 1.01,
            32.0 => 1.02,
            _ => 1.06,
        };
        let plain = (points + 0.6) * scarce;
        let Self::Lines { orders } = self else {
            return plain;
        };
        // Four instructions for a moment and thirteen for a charge, where a point takes five and a half.
        let [line, far_line] = orders.map(|(order, _)| (13.0 + 4.0 * f64::from(order)) / 5.5);
        // The share of charges in a grid that are nearer than a radius, somewhat more than a sphere of them.
        let [near, nearer] = orders.map(|(_, nearer)| {
            let radius = nearer * 0.5 * (points - 1.0);
            let share = |n: usize| {
                let part = (radius / n as f64).min(1.0);
                2.0 * part - part * part
            };
            let all: f64 = shape.into_iter().map(share).product();
            all * (0.6 + 0.4 * all)
        });
        near * plain + (nearer - near) * line + (1.0 - nearer) * far_line
    }
}

/// Which thread has which points: chunks of lines along one axis; lines lie in strips along the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The axes that lines lie along, beside one another in a strip, and in rows.
    pub(super) axes: [usize; 3],
    /// Parts of a line.
    pub(super) chunks: u32,
    /// Lines beside one another in a strip.
    pub(super) width: u32,
    /// Strips with one line more; they come first.
    pub(super) wide_strips: u32,
    /// Threads that have points.
    pub(super) items: u64,
}

impl Cut {
    /// With so many points of a thread along an axis.
    fn along(shape: [usize; 3], axis: usize, points: u32) -> Self {
        let [one, other] = [(axis + 1) % 3, (axis + 2) % 3];
        // Strips lie along the longer of the two.
        let (row, across) = if shape[one] < shape[other] {
            (one, other)
        } else {
            (other, one)
        };
        let lines = shape[across] as u32;
        let strips = ((lines + STRIP / 2) / STRIP).max(1);
        let chunks = shape[axis].div_ceil(points as usize);
        Self {
            axes: [axis, across, row],
            chunks: chunks as u32,
            width: lines / strips,
            wide_strips: lines % strips,
            items: (chunks * shape[across] * shape[row]) as u64,
        }
    }

    /// The axis, and the points of a thread unless they are given, that take the least time; and that time.
    pub(super) fn choose(shape: [usize; 3], work: Work, given: Option<u32>) -> (Self, u32, f64) {
        let sizes = given.map_or(1..=work.most(), |points| points..=points);
        // Along z first: there, the points of a thread lie beside one another in memory.
        let all = [2, 1, 0]
            .into_iter()
            .flat_map(|axis| sizes.clone().map(move |points| (axis, points)));
        let mut best = None;
        for (axis, points) in all {
            let cut = Self::along(shape, axis, points);
            let time = cut.items as f64 * work.time(points, shape);
            if best.is_none_or(|(_, _, least)| time < least) {
                best = Some((cut, points, time));
            }
        }
        best.unwrap_or((Self::along(shape, 2, 1), 1, f64::INFINITY))
    }

    /// Parts that the charges are cut into, and how many each has.
    pub(super) fn parts(&self, tuning: &Tuning, charges: u32) -> (u32, u32) {
        let threads = tuning.threads;
        let blocks = self.items.div_ceil(u64::from(threads));
        let wanted = u64::from(tuning.busy)
            .div_ceil(blocks)
            .min(u64::from(charges.div_ceil(FEWEST)));
        let each = charges
            .div_ceil((wanted as u32).max(1))
            .next_multiple_of(threads)
            .max(threads);
        (charges.div_ceil(each).max(1), each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_waste_next_to_nothing() {
        let direct = Work::Direct { double: false };
        for shape in [[192; 3], [21; 3], [100, 97, 53], [5, 40, 3], [1; 3], [7, 1, 300]] {
            let (cut, points, _) = Cut::choose(shape, direct, None);
            let lanes = cut.items * u64::from(points);
            let all: usize = shape.iter().product();
            assert!(lanes as f64 <= 1.05 * all as f64, "{shape:?}: {cut:?}, {points}");
        }
        assert_eq!(Cut::choose([192; 3], direct, None).1, 24);
        let lines = Work::Lines {
            orders: [(8, 5.0), (5, 10.8)],
        };
        let time = |shape, work| Cut::choose(shape, work, None).2;
        assert!(2.0 * time([192; 3], lines) < time([192; 3], direct));
        // Nothing is far in a small grid.
        assert!(time([21; 3], lines) > time([21; 3], direct));
        assert_eq!(Cut::choose([192; 3], lines, None).1, 24);
    }

    #[test]
    fn charges_are_shared_where_points_are_few() {
        let tuning = Tuning::direct(12, false);
        let (cut, _, _) = Cut::choose([21; 3], Work::Direct { double: false }, None);
        let (parts, each) = cut.parts(&tuning, 4096);
        assert!(parts > 16 && parts * each >= 4096 && (parts - 1) * each < 4096);
        let (cut, _, _) = Cut::choose([192; 3], Work::Direct { double: false }, None);
        assert_eq!(cut.parts(&tuning, 4096), (1, 4096));
        assert_eq!(cut.parts(&tuning, 1), (1, 64));
    }
}
