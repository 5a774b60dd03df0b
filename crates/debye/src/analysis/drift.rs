//! [`drift`]: how fast a quantity that should be conserved goes astray.

use super::{BlockAverage, fit_line};

/// The drift of the total energy. Rates are per unit of time of the series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Slope of the least-squares line, energy per time.
    pub slope: f64,
    /// Its standard error, with the correlation of the residuals taken into account.
    pub standard_error: f64,
    /// The line's value at time 0.
    pub intercept: f64,
    /// Mean energy.
    pub mean: f64,
    /// Standard deviation of the energy about the line.
    pub deviation: f64,
    /// The slope in kT per time and degree of freedom.
    pub per_freedom: f64,
    /// Standard error of that.
    pub per_freedom_error: f64,
    /// Whether the series is long enough for its correlation; if not, the errors are lower bounds.
    pub converged: bool,
}

impl Drift {
    /// |slope| + 2 standard errors: what can be claimed.
    pub fn bound(&self) -> f64 {
        self.slope.abs() + 2.0 * self.standard_error
    }

    /// The bound in kT per time and degree of freedom.
    pub fn bound_per_freedom(&self) -> f64 {
        self.per_freedom.abs() + 2.0 * self.per_freedom_error
    }

    /// Slope and standard error relative to |mean energy|, per step of the given length.
    pub fn relative_per_step(&self, timestep: f64) -> [f64; 2] {
        [self.slope, self.standard_error].map(|v| v * timestep / self.mean.abs())
    }

    /// Slope and standard error in kT/ns/dof when the series' unit of time is the picosecond.
    pub fn per_nanosecond(&self) -> [f64; 2] {
        [self.per_freedom, self.per_freedom_error].map(|v| v * 1000.0)
    }
}

/// Fits a line to a series of energies.
///
/// For independent residuals the slope's standard error is σ / √Σ(t − t̄)². Correlated residuals
/// raise it by the square root of their statistical inefficiency, which [`BlockAverage`] measures.
/// Points that are not finite are left out; fewer than three points give NaN.
pub fn drift(times: &[f64], energies: &[f64], kt: f64, degrees_of_freedom: f64) -> Drift {
    let points = || {
        let pairs = times.iter().copied().zip(energies.iter().copied());
        pairs.filter(|(t, e)| t.is_finite() && e.is_finite())
    };
    // Fitting about the first energy keeps the digits of small changes of large numbers.
    let base = points().next().map_or(0.0, |(_, e)| e);
    let n = points().count() as f64;
    let mean = base + points().map(|(_, e)| e - base).sum::<f64>() / n;
    let line = if n < 3.0 {
        None
    } else {
        fit_line(points().map(|(t, e)| (t, e - base)))
    };
    let Some(line) = line else {
        return Drift {
            slope: f64::NAN,
            standard_error: f64::NAN,
            intercept: f64::NAN,
            mean,
            deviation: f64::NAN,
            per_freedom: f64::NAN,
            per_freedom_error: f64::NAN,
            converged: false,
        };
    };
    let residuals: Vec<f64> = points().map(|(t, e)| e - base - line.at(t)).collect();
    let average = BlockAverage::of(&residuals);
    let standard_error = line.slope_error * average.inefficiency().sqrt();
    let scale = 1.0 / (kt * degrees_of_freedom);
    Drift {
        slope: line.slope,
        standard_error,
        intercept: base + line.intercept,
        mean,
        deviation: (residuals.iter().map(|r| r * r).sum::<f64>() / n).sqrt(),
        per_freedom: line.slope * scale,
        per_freedom_error: standard_error * scale,
        converged: average.converged,
    }
}
