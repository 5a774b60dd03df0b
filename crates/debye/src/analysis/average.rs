//! [`BlockAverage`]: the mean of a correlated series and its error.

/// Mean of a series whose neighboring values are correlated.
///
/// Neighbors are averaged in pairs again and again (Flyvbjerg & Petersen 1989); the naive error of
/// the mean grows until blocks are longer than the correlation and then stays. The plateau is taken
/// at the smallest block length B with B³ > 2 n (error_B / error_1)⁴ (Lee et al. 2011, PRE 83, 066706),
/// which balances the bias of short blocks against the noise of few long ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockAverage {
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean; NaN for fewer than two values.
    pub standard_error: f64,
    /// Integrated correlation time ½ + Σ ρ(k), in samples; ½ for independent values.
    pub correlation_time: f64,
    /// Whether blocks long enough were found: if not, the series is too short for its correlation
    /// and the standard error is a lower bound.
    pub converged: bool,
}

impl BlockAverage {
    /// Averages the finite values of a series. Memory: the series once more.
    pub fn of(values: &[f64]) -> Self {
        let mut blocks: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let n = blocks.len() as f64;
        let mean = mean_of(&blocks);
        let naive = naive_error(&blocks);
        let mut average = Self {
            mean,
            standard_error: naive,
            correlation_time: 0.5,
            converged: false,
        };
        if naive == 0.0 || !naive.is_finite() {
            average.converged = naive == 0.0;
            return average;
        }
        let mut length = 1.0_f64;
        loop {
            let growth = naive_error(&blocks) / naive;
            // Anti-correlated series give growth < 1; claiming less than the naive error is not safe.
            if growth * naive > average.standard_error {
                average.standard_error = growth * naive;
                average.correlation_time = 0.5 * growth * growth;
            }
            if length.powi(3) > 2.0 * n * growth.powi(4) {
                average.converged = true;
                return average;
            }
            if blocks.len() < 8 {
                return average;
            }
            blocks = blocks
                .chunks_exact(2)
                .map(|pair| 0.5 * (pair[0] + pair[1]))
                .collect();
            length *= 2.0;
        }
    }

    /// How many times larger the variance of the mean is than for independent values.
    pub fn inefficiency(&self) -> f64 {
        2.0 * self.correlation_time
    }
}

/// The mean, summed about the first value: exact for constants, and without loss for small changes of
/// large numbers.
fn mean_of(values: &[f64]) -> f64 {
    let Some(&first) = values.first() else {
        return f64::NAN;
    };
    first + values.iter().map(|v| v - first).sum::<f64>() / values.len() as f64
}

/// Standard error of the mean of independent values.
fn naive_error(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if n < 2.0 {
        return f64::NAN;
    }
    let mean = mean_of(values);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (n * (n - 1.0))).sqrt()
}
