//! [`fit_line`]: least squares.

/// A straight line through points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Value at x = 0.
    pub intercept: f64,
    /// Slope.
    pub slope: f64,
    /// Standard error of the slope if the points' errors were independent; NaN for fewer than three.
    pub slope_error: f64,
}

impl Line {
    /// The line's value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.slope.mul_add(x, self.intercept)
    }
}

/// The least-squares line through the points that are finite; `None` where no slope is defined.
pub fn fit_line(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Line> {
    let points = points.filter(|(x, y)| x.is_finite() && y.is_finite());
    let (mut n, mut mean_x, mut mean_y) = (0.0, 0.0, 0.0);
    for (x, y) in points.clone() {
        n += 1.0;
        mean_x += (x - mean_x) / n;
        mean_y += (y - mean_y) / n;
    }
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        let (x, y) = (x - mean_x, y - mean_y);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    if n < 2.0 || xx <= 0.0 || !xx.is_finite() {
        return None;
    }
    let slope = xy / xx;
    let rest = (yy - slope * xy).max(0.0);
    Some(Line {
        intercept: mean_y - slope * mean_x,
        slope,
        slope_error: if n > 2.0 {
            (rest / ((n - 2.0) * xx)).sqrt()
        } else {
            f64::NAN
        },
    })
}
