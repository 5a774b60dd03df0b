//! Round numbers along an axis, and how to write them.

/// Where an axis has marks and what stands there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ticks {
    /// First and last value of the axis (logarithms on a logarithmic axis).
    pub(crate) range: [f64; 2],
    /// Positions in `range`, with labels; an empty label is a minor mark.
    pub(crate) marks: Vec<(f64, String)>,
    /// What to add to the axis' label: a factor or an offset.
    pub(crate) suffix: String,
}

/// Superscript digits.
pub(crate) fn superscript(exponent: i32) -> String {
    let raise = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + (digit as u32 - '0' as u32)).unwrap_or(digit),
    };
    exponent.to_string().chars().map(raise).collect()
}

/// A number with the typographer's minus.
pub(crate) fn written(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    match text.strip_prefix('-') {
        Some(rest) if zero => rest.into(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// The smallest of 1, 2, 5 · 10ⁿ that is at least `least`.
pub(crate) fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|&s| s >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// A number of one digit other than zero, as [`round_step`] gives it.
pub(crate) fn rounded(value: f64) -> String {
    let exponent = (value.log10() + 1e-9).floor();
    if (-3.0..5.0).contains(&exponent) {
        return written(value, (-exponent).max(0.0) as usize);
    }
    let digit = written(value / 10_f64.powf(exponent), 0);
    format!("{digit}·10{}", superscript(exponent as i32))
}

/// Ticks on a linear axis from `low` to `high`, about `count` of them.
pub(crate) fn linear(low: f64, high: f64, count: usize, exact: bool) -> Ticks {
    let (mut low, mut high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    // Below the resolution of the numbers themselves there is nothing to show.
    let size = low.abs().max(high.abs());
    if !(high - low > 1e-13 * size && high - low > 1e-290) {
        let widen = if size == 0.0 { 1.0 } else { 0.05 * size };
        (low, high) = (low - widen, high + widen);
    } else if !exact {
        let pad = 0.05 * (high - low);
        let positive = low >= 0.0 && low <= 0.25 * high;
        (low, high) = (
            if positive { (low - pad).max(0.0) } else { low - pad },
            high + pad,
        );
    }
    if exact && low > 0.0 && low < 0.06 * high {
        low = 0.0;
    }
    let step = round_step((high - low) / count as f64);
    if exact {
        // An axis that ends just short of a round number ends there.
        let (below, above) = ((low / step).floor() * step, (high / step).ceil() * step);
        low = if low - below < 0.02 * (high - low) {
            below
        } else {
            low
        };
        high = if above - high < 0.02 * (high - low) {
            above
        } else {
            high
        };
    }
    let values: Vec<f64> = ((low / step - 1e-6).ceil() as i64..=(high / step + 1e-6).floor() as i64)
        .map(|k| k as f64 * step)
        .collect();
    let (labels, suffix) = labels(&values, step);
    Ticks {
        range: [low, high],
        marks: values.into_iter().zip(labels).collect(),
        suffix,
    }
}

/// Names on a linear axis, with room for half of one at both ends.
pub(crate) fn named(names: &[(f64, String)]) -> Ticks {
    let values = || names.iter().map(|(value, _)| *value);
    let (low, high) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let pad = match high > low {
        true => 0.5 * (high - low) / (names.len() - 1) as f64,
        false => 0.5,
    };
    Ticks {
        range: [low - pad, high + pad],
        marks: names.to_vec(),
        suffix: String::new(),
    }
}

fn labels(values: &[f64], step: f64) -> (Vec<String>, String) {
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mut base = 0.0;
    let mut suffix = String::new();
    // More than five digits to tell ticks apart: show what changes, and say from where.
    if largest / step > 2e4 {
        base = values[values.len() / 2];
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        suffix = format!(", relative to {}", written(base, decimals.min(12)));
    }
    let largest = values.iter().fold(0.0_f64, |m, v| m.max((v - base).abs()));
    let mut exponent = 0;
    if largest > 0.0 && !(1e-2..1e5).contains(&largest) {
        exponent = ((largest.log10() + 1e-9) / 3.0).floor() as i32 * 3;
        suffix = format!(" ×10{}{suffix}", superscript(exponent));
    }
    let scale = 10_f64.powi(-exponent);
    let decimals = (-(step * scale).log10() - 1e-9).ceil().clamp(0.0, 12.0) as usize;
    let labels = values
        .iter()
        .map(|v| written((v - base) * scale, decimals))
        .collect();
    (labels, suffix)
}

/// Ticks on a logarithmic axis; `low` and `high` are the smallest and largest positive values.
pub(crate) fn logarithmic(low: f64, high: f64) -> Ticks {
    let (low, high) = if low > 0.0 && high >= low {
        (low, high)
    } else {
        (1.0, 10.0)
    };
    let (mut from, mut to) = (low.log10(), high.log10());
    if to - from < 0.3 {
        (from, to) = (from - 0.2, to + 0.2);
    }
    let pad = 0.03 * (to - from);
    let range = [from - pad, to + pad];
    let every = ((to - from) / 8.0).ceil().max(1.0) as i32;
    let mut marks = Vec::new();
    for exponent in (range[0].floor() as i32)..=(range[1].ceil() as i32) {
        for digit in 1..10_i32 {
            let at = f64::from(exponent) + f64::from(digit).log10();
            if at < range[0] || at > range[1] {
                continue;
            }
            let few = to - from < 1.6;
            let label = match digit {
                1 if exponent.rem_euclid(every) == 0 => decade(exponent),
                2 | 5 if few => plain(digit, exponent),
                _ => String::new(),
            };
            if every == 1 || !label.is_empty() {
                marks.push((at, label));
            }
        }
    }
    Ticks {
        range,
        marks,
        suffix: String::new(),
    }
}

fn decade(exponent: i32) -> String {
    if (-2..=3).contains(&exponent) {
        plain(1, exponent)
    } else {
        format!("10{}", superscript(exponent))
    }
}

fn plain(digit: i32, exponent: i32) -> String {
    if (-2..=3).contains(&exponent) {
        written(
            f64::from(digit) * 10_f64.powi(exponent),
            (-exponent).max(0) as usize,
        )
    } else {
        format!("{digit}·10{}", superscript(exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &Ticks) -> Vec<&str> {
        ticks.marks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn round_numbers_are_chosen_and_written_shortly() {
        assert_eq!(
            texts(&linear(0.0, 10.0, 5, true)),
            ["0", "2", "4", "6", "8", "10"]
        );
        assert_eq!(
            texts(&linear(-1.0, 1.0, 4, true)),
            ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
        );
        let small = linear(0.0, 3e-7, 3, true);
        assert_eq!(
            (texts(&small), small.suffix.as_str()),
            (vec!["0", "100", "200", "300"], " ×10⁻⁹")
        );
        let close = linear(-123_456.002, -123_456.0, 4, true);
        assert!(close.suffix.contains("relative to −123456.00"), "{close:?}");
    }

    #[test]
    fn nothing_and_constants_have_ticks_too() {
        for ticks in [
            linear(f64::INFINITY, f64::NEG_INFINITY, 5, false),
            linear(3.0, 3.0, 5, false),
            linear(0.0, 0.0, 5, true),
            linear(1e300, 1e300, 5, true),
            linear(f64::MIN_POSITIVE, 2.0 * f64::MIN_POSITIVE, 5, false),
            logarithmic(f64::INFINITY, 0.0),
            logarithmic(1e-300, 1e300),
            named(&[(1.0, "C-P".into()), (2.0, "P-G".into())]),
        ] {
            assert!((2..80).contains(&ticks.marks.len()), "{ticks:?}");
            assert!(ticks.range[1] > ticks.range[0]);
        }
    }
}
