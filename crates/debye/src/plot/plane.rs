//! [`Plane`]: the values of a volume on a plane across an axis.

use debye_io::volumes::Volume;

use super::picture::PlotError;

/// Values beyond these are drawn as these, so that sums and differences of them are finite.
const LARGEST: f64 = 1e300;
/// The share of points whose value has a color of its own; those with larger |V| have the color of the end.
const WITHIN: f64 = 0.98;
/// As many points as the limit of the colors is taken from.
const SAMPLED: usize = 1_000_000;

/// An axis of space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Axis3 {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    #[default]
    Z,
}

impl Axis3 {
    /// All three.
    pub const ALL: [Axis3; 3] = [Axis3::X, Axis3::Y, Axis3::Z];

    /// `x`, `y` or `z`.
    pub fn name(self) -> char {
        ['x', 'y', 'z'][self as usize]
    }

    /// 0, 1 or 2.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The axes to the right and upwards in a plane across this one.
    pub(crate) fn across(self) -> [Axis3; 2] {
        match self {
            Axis3::X => [Axis3::Y, Axis3::Z],
            Axis3::Y => [Axis3::X, Axis3::Z],
            Axis3::Z => [Axis3::X, Axis3::Y],
        }
    }
}

/// The points of a grid along one axis.
#[derive(Clone, Copy, Debug)]
struct Points {
    count: usize,
    first: f64,
    step: f64,
}

impl Points {
    fn of(volume: &Volume, axis: Axis3) -> Self {
        let k = axis as usize;
        Points {
            count: volume.shape()[k],
            first: volume.origin()[k],
            step: volume.steps()[k][k],
        }
    }

    /// Lowest and highest coordinate. A single point stands for one step.
    fn extent(&self) -> [f64; 2] {
        let step = if self.step == 0.0 { 1.0 } else { self.step };
        let [from, to] = match self.count {
            1 => [-0.5, 0.5],
            count => [0.0, (count - 1) as f64],
        };
        let ends = [self.first + from * step, self.first + to * step];
        [ends[0].min(ends[1]), ends[0].max(ends[1])]
    }

    /// The point below a coordinate, the point above it, and the share of the way between them.
    fn between(&self, at: f64) -> (usize, usize, f64) {
        if self.count == 1 {
            return (0, 0, 0.0);
        }
        let last = self.count - 1;
        let index = ((at - self.first) / self.step).clamp(0.0, last as f64);
        let below = (index as usize).min(last - 1);
        (below, below + 1, index - below as f64)
    }
}

/// Values between two others; the one that is named alone may have any neighbor.
fn mix(a: f64, b: f64, share: f64) -> f64 {
    match share {
        0.0 => a,
        1.0 => b,
        _ => a * (1.0 - share) + b * share,
    }
}

/// The values of a volume on a plane across an axis.
pub(crate) struct Plane {
    /// To the right and upwards.
    points: [Points; 2],
    values: Vec<f64>,
    /// Coordinate of the plane.
    pub(crate) at: f64,
    /// Distance from plane to plane of the grid.
    pub(crate) step: f64,
}

impl Plane {
    /// The plane at a coordinate, or in the middle, by linear interpolation between planes of the grid.
    ///
    /// # Errors
    /// [`PlotError::Oblique`], [`PlotError::Outside`].
    pub(crate) fn cut(volume: &Volume, axis: Axis3, at: Option<f64>) -> Result<Self, PlotError> {
        if !is_orthogonal(volume) {
            let steps = volume.steps();
            return Err(PlotError::Oblique { steps });
        }
        let normal = Points::of(volume, axis);
        let range = normal.extent();
        let at = at.unwrap_or(0.5 * (range[0] + range[1]));
        // Rounding must not refuse the outermost planes.
        let margin = 1e-6 * (range[1] - range[0]);
        if !(range[0] - margin..=range[1] + margin).contains(&at) {
            let axis = axis.name();
            return Err(PlotError::Outside { axis, at, range });
        }
        let (below, above, share) = normal.between(at);
        let across = axis.across();
        let points = across.map(|a| Points::of(volume, a));
        let value = |column: usize, row: usize, layer: usize| {
            let mut point = [layer; 3];
            (point[across[0] as usize], point[across[1] as usize]) = (column, row);
            volume.value(point).unwrap_or(f64::NAN).clamp(-LARGEST, LARGEST)
        };
        let columns = points[0].count;
        let values = (0..columns * points[1].count)
            .map(|n| (n % columns, n / columns))
            .map(|(column, row)| mix(value(column, row, below), value(column, row, above), share))
            .collect();
        let step = normal.step.abs();
        Ok(Plane {
            points,
            values,
            at,
            step,
        })
    }

    /// Lowest and highest coordinate to the right and upwards.
    pub(crate) fn extents(&self) -> [[f64; 2]; 2] {
        self.points.map(|p| p.extent())
    }

    /// The values at the points of the grid.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The value at a place, by bilinear interpolation. It is NaN where the nearest point is; other points of NaN do
    /// not count.
    pub(crate) fn sample(&self, [right, up]: [f64; 2]) -> f64 {
        let (left, right, x) = self.points[0].between(right);
        let (low, high, y) = self.points[1].between(up);
        let at = |column: usize, row: usize| self.values[row * self.points[0].count + column];
        let value = mix(
            mix(at(left, low), at(right, low), x),
            mix(at(left, high), at(right, high), x),
            y,
        );
        if !value.is_nan() {
            return value;
        }
        let near = at(
            [left, right][usize::from(x > 0.5)],
            [low, high][usize::from(y > 0.5)],
        );
        if near.is_nan() {
            return near;
        }
        let corners = [
            (at(left, low), (1.0 - x) * (1.0 - y)),
            (at(right, low), x * (1.0 - y)),
            (at(left, high), (1.0 - x) * y),
            (at(right, high), x * y),
        ];
        let known = corners.into_iter().filter(|(v, _)| !v.is_nan());
        let (sum, weight) = known.fold((0.0, 0.0), |(s, w), (v, share)| (s + v * share, w + share));
        sum / weight
    }
}

/// Whether the steps of a grid lie along x, y and z.
pub(crate) fn is_orthogonal(volume: &Volume) -> bool {
    let steps = volume.steps();
    let mut axes = (0..3).filter(|&axis| volume.shape()[axis] > 1);
    axes.all(|axis| {
        let aside = (0..3).filter(|&k| k != axis).map(|k| steps[axis][k].abs());
        aside.fold(0.0, f64::max) <= 1e-9 * steps[axis][axis].abs()
    })
}

/// A round number that 98 % of all |V| lie below; 1 where no value is finite or all are zero.
pub(crate) fn color_limit(volume: &Volume) -> f64 {
    let values = volume.values();
    let every = values.len().div_ceil(SAMPLED);
    let mut sizes: Vec<f64> = (0..values.len())
        .step_by(every)
        .filter_map(|n| values.get(n))
        .filter(|v| v.is_finite())
        .map(f64::abs)
        .collect();
    let last = sizes.len().saturating_sub(1);
    if sizes.is_empty() {
        return 1.0;
    }
    let place = (last as f64 * WITHIN).ceil() as usize;
    let (_, &mut size, larger) = sizes.select_nth_unstable_by(place, f64::total_cmp);
    // Few points may hold all there is.
    let size = if size > 0.0 {
        size
    } else {
        larger.iter().copied().fold(0.0, f64::max)
    };
    match size {
        0.0 => 1.0,
        size => round_limit(size.clamp(1e-290, LARGEST)).min(LARGEST),
    }
}

/// The next number of at most two digits whose fifth has few digits too.
fn round_limit(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let digits = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
    let limits = digits.into_iter().map(|digit| digit * power);
    limits
        .into_iter()
        .find(|&limit| limit >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(shape: [usize; 3], steps: [f64; 3], value: impl Fn([f64; 3]) -> f64) -> Volume {
        let mut volume = Volume::new(
            shape,
            [1.0, 2.0, 3.0],
            [[steps[0], 0.0, 0.0], [0.0, steps[1], 0.0], [0.0, 0.0, steps[2]]],
            vec![0.0_f64; shape.iter().product()],
        )
        .unwrap();
        let [_, y, z] = shape;
        let points = (0..shape.iter().product()).map(|n| volume.position([n / (y * z), n / z % y, n % z]));
        let values: Vec<f64> = points.map(value).collect();
        volume = Volume::new(shape, volume.origin(), volume.steps(), values).unwrap();
        volume
    }

    #[test]
    fn linear_functions_are_met_exactly_on_every_plane() {
        let f = |[x, y, z]: [f64; 3]| x - 2.0 * y + 3.0 * z;
        for steps in [[0.5, 0.25, 0.4], [-0.5, 0.25, -0.4]] {
            let volume = volume([7, 8, 9], steps, f);
            for axis in Axis3::ALL {
                let at = Points::of(&volume, axis).extent()[0] + 0.7;
                let plane = Plane::cut(&volume, axis, Some(at)).unwrap();
                let [right, up] = plane.extents().map(|[low, high]| 0.3 * low + 0.7 * high);
                let mut place = [at; 3];
                (place[axis.across()[0] as usize], place[axis.across()[1] as usize]) = (right, up);
                assert!((plane.sample([right, up]) - f(place)).abs() < 1e-12, "{axis:?}");
            }
        }
    }

    #[test]
    fn planes_outside_and_oblique_steps_are_refused() {
        let volume = volume([2, 2, 5], [0.5; 3], |_| 0.0);
        let message = |at| {
            Plane::cut(&volume, Axis3::Z, Some(at))
                .err()
                .map(|e| e.to_string())
        };
        let outside = "the plane z = 5.5 lies outside of the grid, which goes from 3 to 5";
        assert_eq!(message(5.5).as_deref(), Some(outside));
        assert!(message(f64::NAN).is_some() && message(5.0).is_none() && message(3.0).is_none());
        let oblique = [[0.5, 0.0, 0.0], [0.1, 0.5, 0.0], [0.0, 0.0, 0.5]];
        let volume = volume.with_geometry([0.0; 3], oblique).unwrap();
        let refused = Plane::cut(&volume, Axis3::Z, None).err().map(|e| e.to_string());
        assert!(refused.unwrap().contains("along x, y and z"));
    }

    #[test]
    fn a_gap_is_as_large_as_its_point() {
        let hole = volume([5, 5, 1], [1.0; 3], |[x, y, _]| {
            if x == 3.0 && y == 4.0 { f64::NAN } else { 7.0 }
        });
        let plane = Plane::cut(&hole, Axis3::Z, None).unwrap();
        assert!(plane.sample([3.4, 4.4]).is_nan());
        assert!((plane.sample([3.6, 4.0]) - 7.0).abs() < 1e-12);
    }

    #[test]
    fn limits_are_round_robust_and_finite() {
        let spike = |p: [f64; 3]| {
            if p == [1.0, 2.0, 3.0] {
                f64::INFINITY
            } else {
                0.9 - p[0]
            }
        };
        assert_eq!(color_limit(&volume([30, 10, 10], [0.1; 3], spike)), 3.0);
        for (value, limit) in [
            (0.0, 1.0),
            (f64::NAN, 1.0),
            (f64::NEG_INFINITY, 1.0),
            (-3.4, 4.0),
            (1e306, 1e300),
        ] {
            assert_eq!(
                color_limit(&volume([3, 1, 2], [1.0; 3], |_| value)),
                limit,
                "{value}"
            );
        }
        let single = |p: [f64; 3]| if p == [1.0, 2.0, 3.0] { -2.0 } else { 0.0 };
        assert_eq!(color_limit(&volume([30, 10, 10], [0.1; 3], single)), 2.0);
    }
}
