//! Numbers and times as people say them.

use super::{Dimension, Units};

/// A time in the unit people say it in.
pub fn time(value: f64, units: Units) -> String {
    match units {
        Units::Md if value >= 1e3 => format!("{} ns", number(1e-3 * value)),
        Units::Md if value > 0.0 && value < 0.1 => format!("{} fs", number(1e3 * value)),
        _ => format!("{} {}", number(value), units.label(Dimension::TIME)),
    }
}

/// Up to six digits, without zeros at the end.
pub fn number(x: f64) -> String {
    digits(x, 6)
}

/// Up to so many significant digits, without zeros at the end.
pub fn digits(x: f64, count: i32) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    let size = x.abs().log10().floor() as i32;
    if (-4..9).contains(&size) {
        let decimals = (count - 1 - size).clamp(0, 12) as usize;
        return trimmed(&format!("{x:.decimals$}"));
    }
    let text = format!("{x:.*e}", (count - 1) as usize);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", trimmed(mantissa))
}

/// A whole number in groups of three: `1 047 293`.
pub fn grouped(count: usize) -> String {
    let text = count.to_string();
    let mut grouped = String::new();
    for (k, digit) in text.chars().enumerate() {
        if k > 0 && (text.len() - k).is_multiple_of(3) && text.len() > 4 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}
