//! The page itself. Everything that comes from outside goes through [`escape`].

use std::fmt::Write as _;

use super::{Kind, Report, charts};
use crate::analysis::{Analyzed, BlockAverage, Column, Rounded};
use crate::engines::DeviceUse;
use crate::plot::{STYLE, escape};

/// A number as people write it, with about `digits` significant digits.
fn number(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    if (-4..9).contains(&size) {
        let decimals = (digits - 1 - size).clamp(0, 12) as usize;
        return grouped(&format!("{value:.decimals$}"));
    }
    let text = format!("{value:.*e}", (digits - 1).max(0) as usize);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!(
        "{}·10<sup>{}</sup>",
        mantissa.replace('-', "−"),
        exponent.replace('-', "−")
    )
}

/// Thin spaces between thousands, and a proper minus.
fn grouped(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, rest) = text
        .split_once('.')
        .map_or((text, String::new()), |(w, r)| (w, format!(".{r}")));
    let mut groups = String::new();
    for (k, digit) in whole.chars().enumerate() {
        if k > 0 && whole.len() > 4 && (whole.len() - k).is_multiple_of(3) {
            groups.push('\u{202f}');
        }
        groups.push(digit);
    }
    format!("{sign}{groups}{rest}")
}

/// A value with as many digits as its standard error allows.
fn with_error(value: f64, error: f64) -> String {
    let Some(rounded) = Rounded::new(value, error) else {
        return number(value, 6);
    };
    let (value, error) = (rounded.value, rounded.error);
    let digits = |x: f64| rounded.digits(x).clamp(1, 14);
    format!(
        "{} ± {}",
        number(value, digits(value)),
        number(error, digits(error))
    )
}

fn count(value: u64) -> String {
    grouped(&value.to_string())
}

fn bytes(value: u64) -> String {
    let names = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = value as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < names.len() {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    format!("{} {}", number(size, 3), names[unit])
}

/// Rows of a two-column table; the second column is HTML already.
fn facts(rows: &[(String, String)]) -> String {
    let row =
        |(name, value): &(String, String)| format!("<tr><th>{}</th><td>{value}</td></tr>", escape(name));
    let rows: String = rows
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(row)
        .collect();
    format!("<table class=\"facts\"><tbody>{rows}</tbody></table>")
}

fn section(title: &str, body: &str) -> String {
    if body.is_empty() {
        String::new()
    } else {
        format!("<section><h2>{}</h2>{body}</section>\n", escape(title))
    }
}

/// Writes the page.
pub(super) fn page(report: &Report) -> String {
    let title = if report.title.is_empty() {
        "Simulation"
    } else {
        &report.title
    };
    let mut body = header(report, title);
    body += &tiles(report);
    body += &warnings(report);
    body += &section("Pictures", &pictures(report));
    body += &section("Course of the run", &course(report));
    body += &section("Averages", &averages(report));
    for analyzed in &report.analyses {
        body += &section(&analyzed.title, &analysis(analyzed));
    }
    body += &section("Setup", &setup(report));
    body += &section("System", &system(report));
    body += &section("Time", &stages(report));
    body += &section("Machine", &machine(report));
    if !report.input.is_empty() {
        body += &section("Input", &format!("<pre>{}</pre>", escape(&report.input)));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n\
         <style>\n{}{}\n</style>\n</head>\n<body>\n<main>\n{body}</main>\n<script>\n{}</script>\n</body>\n</html>\n",
        escape(title),
        include_str!("../../../assets/page.css"),
        *STYLE,
        include_str!("hover.js"),
    )
}

fn header(report: &Report, title: &str) -> String {
    let mut made = escape(&report.program);
    if let Some(commit) = report.commit.as_deref().filter(|c| !c.is_empty()) {
        let _ = write!(made, " <code>{}</code>", escape(commit));
    }
    let parts = [
        made,
        escape(&report.date),
        escape(&report.host.device),
        escape(&report.host.precision),
    ];
    let line = parts
        .into_iter()
        .filter(|p| !p.is_empty())
        .collect::<Vec<_>>()
        .join("<span class=\"dot\">·</span>");
    format!(
        "<header><h1>{}</h1><p class=\"made\">{line}</p></header>\n",
        escape(title)
    )
}

fn warnings(report: &Report) -> String {
    if report.warnings.is_empty() {
        return String::new();
    }
    let items: String = report
        .warnings
        .iter()
        .map(|w| format!("<li>{}</li>", escape(w)))
        .collect();
    format!("<aside class=\"warnings\"><strong>Warnings and notes</strong><ul>{items}</ul></aside>\n")
}

/// The rows of a column that averages are over.
fn averaged<'a>(report: &Report, column: &'a Column) -> &'a [f64] {
    column.values.get(report.equilibration_rows..).unwrap_or_default()
}

/// From when averages are, and over how many rows.
fn averaging_window(report: &Report) -> String {
    let times = &report.time;
    let rows = times.values.len().saturating_sub(report.equilibration_rows);
    match times.values.get(report.equilibration_rows) {
        Some(from) if report.equilibration_rows > 0 => format!(
            "Averages from {} {} on ({} rows; the equilibration before is left out)",
            number_without_zeros(*from),
            escape(&times.unit),
            count(rows as u64)
        ),
        None if rows == 0 && report.equilibration_rows > 0 => {
            "No averages: the run ends within its equilibration".to_owned()
        }
        _ => format!("Averages over all {} rows of the table", count(rows as u64)),
    }
}

/// Six digits at most.
fn number_without_zeros(value: f64) -> String {
    let text = number(value, 6);
    match text.contains('.') && !text.contains('<') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The mean of the first column of a kind.
fn mean(report: &Report, kind: Kind) -> Option<(BlockAverage, &str)> {
    let column = &report.table.iter().find(|q| q.kind == kind)?.column;
    let average = BlockAverage::of(averaged(report, column));
    average
        .mean
        .is_finite()
        .then_some((average, column.unit.as_str()))
}

fn tiles(report: &Report) -> String {
    let mut tiles = Vec::new();
    let mut tile = |name: &str, value: String, unit: &str, note: String| {
        tiles.push(format!(
            "<div class=\"tile\"><span class=\"name\">{name}</span><span class=\"value\">{value} <small>{}</small></span><span class=\"note\">{note}</span></div>",
            escape(unit)
        ));
    };
    let speed = &report.speed;
    if report.system.particles > 0 {
        let kinds = report.system.species.len();
        tile(
            "Particles",
            count(report.system.particles),
            "",
            format!("{kinds} species"),
        );
    }
    if speed.steps > 0 {
        tile(
            "Steps",
            count(speed.steps),
            "",
            format!("in {} s", number(speed.seconds, 4)),
        );
        let rate = speed.steps_per_second();
        let atoms = rate * report.system.particles as f64;
        let note = format!("{} atom·steps/s", number(atoms, 3));
        match speed.nanoseconds_per_day {
            Some(ns) => tile(
                "Speed",
                number(ns, 4),
                "ns/day",
                format!("{} steps/s; {note}", number(rate, 4)),
            ),
            None => tile("Speed", number(rate, 4), "steps/s", note),
        }
    }
    if let Some((name, value, unit, note)) = drift_tile(report) {
        tile(name, value, unit, note);
    }
    for (kind, name) in [(Kind::Temperature, "Temperature"), (Kind::Pressure, "Pressure")] {
        if let Some((average, unit)) = mean(report, kind) {
            let text = with_error(average.mean, average.standard_error);
            let over = match report.equilibration_rows {
                0 => "mean of the run",
                _ => "mean without the equilibration",
            };
            let (value, note) = match text.split_once(" ± ") {
                Some((value, error)) => (value.to_owned(), format!("± {error} ({over})")),
                None => (text, over.to_owned()),
            };
            tile(name, value, unit, note);
        }
    }
    if tiles.is_empty() {
        String::new()
    } else {
        format!("<div class=\"tiles\">{}</div>\n", tiles.concat())
    }
}

fn drift_tile(report: &Report) -> Option<(&'static str, String, &'static str, String)> {
    let facts = report.drift.filter(|f| f.drift.slope.is_finite())?;
    let ([rate, error], unit) = if facts.picoseconds {
        (facts.drift.per_nanosecond(), "kT/ns/dof")
    } else {
        (
            [facts.drift.per_freedom, facts.drift.per_freedom_error],
            "kT/τ/dof",
        )
    };
    let note = format!("bound |slope| + 2 s.e.; slope {}", with_error(rate, error));
    Some((
        "Energy drift",
        format!("≤ {}", number(rate.abs() + 2.0 * error, 2)),
        unit,
        note,
    ))
}

fn pictures(report: &Report) -> String {
    let shots = report
        .pictures
        .iter()
        .filter(|shot| shot.data_uri.starts_with("data:image/"));
    let figure = |shot: &super::Shot| {
        let (uri, caption) = (escape(&shot.data_uri), escape(&shot.caption));
        format!(
            "<figure class=\"shot\"><img src=\"{uri}\" alt=\"{caption}\"/><figcaption>{caption}</figcaption></figure>"
        )
    };
    let figures: String = shots.map(figure).collect();
    if figures.is_empty() {
        figures
    } else {
        format!("<div class=\"grid\">{figures}</div>")
    }
}

fn course(report: &Report) -> String {
    let figures: String = charts::of(report)
        .iter()
        .map(|chart| format!("<figure>{}</figure>", chart.to_svg_inline()))
        .collect();
    let mut body = if figures.is_empty() {
        String::new()
    } else {
        format!("<div class=\"grid\">{figures}</div>")
    };
    if let Some(facts) = report.drift.filter(|f| f.drift.slope.is_finite()) {
        let [relative, error] = facts.drift.relative_per_step(facts.timestep);
        let caution = if facts.drift.converged {
            ""
        } else {
            " The series is short for its correlation: the error is a lower bound."
        };
        let after = match report.equilibration_rows {
            0 => "",
            _ => " after the equilibration",
        };
        let _ = write!(
            body,
            "<p class=\"note\">Drift: a least-squares line through the total energy{after}; its error takes the correlation of \
             the residuals into account. Relative to the mean energy the slope is {} per step; the energy strays from \
             the line by {} (standard deviation).{caution}</p>",
            with_error(relative, error),
            number(facts.drift.deviation, 3),
        );
    }
    body
}

fn averages(report: &Report) -> String {
    let mut rows = String::new();
    for quantity in report.table.iter().filter(|q| q.kind != Kind::Step) {
        let column = &quantity.column;
        let values = averaged(report, column);
        let average = BlockAverage::of(values);
        let finite = || values.iter().copied().filter(|v| v.is_finite());
        let ends = [finite().reduce(f64::min), finite().reduce(f64::max)].map(|v| v.unwrap_or(f64::NAN));
        let time = if average.standard_error > 0.0 {
            number(average.correlation_time, 2)
        } else {
            "–".into()
        };
        let doubt = if average.converged || !average.mean.is_finite() {
            ""
        } else {
            " ≥"
        };
        let _ = write!(
            rows,
            "<tr><th>{}</th><td>{}</td><td>{doubt}{time}</td><td>{}</td><td>{}</td><td class=\"unit\">{}</td></tr>",
            escape(&column.name),
            with_error(average.mean, average.standard_error),
            number(ends[0], 6),
            number(ends[1], 6),
            escape(&column.unit),
        );
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<div class=\"scroll\"><table class=\"numbers\"><thead><tr><th>Quantity</th><th>Mean ± standard error</th>\
         <th>Correlation (rows)</th><th>Lowest</th><th>Highest</th><th class=\"unit\">Unit</th></tr></thead>\
         <tbody>{rows}</tbody></table></div><p class=\"note\">{}; errors from block averages \
         (Flyvbjerg &amp; Petersen). ≥ marks a series too short for its correlation.</p>",
        averaging_window(report)
    )
}

fn analysis(analyzed: &Analyzed) -> String {
    let chart =
        |c: crate::plot::Chart| format!("<figure>{}</figure>", c.with_size(560.0, 320.0).to_svg_inline());
    let figures: String = analyzed.charts().into_iter().map(chart).collect();
    let mut body = if figures.is_empty() {
        String::new()
    } else {
        format!("<div class=\"grid\">{figures}</div>")
    };
    let row = |s: &crate::analysis::Scalar| {
        let note = if s.note.is_empty() {
            String::new()
        } else {
            format!(" <small>{}</small>", escape(&s.note))
        };
        (
            s.name.clone(),
            format!("{} {}{note}", with_error(s.value, s.error), escape(&s.unit)),
        )
    };
    if !analyzed.scalars.is_empty() {
        body += &facts(&analyzed.scalars.iter().map(row).collect::<Vec<_>>());
    }
    if !analyzed.notes.is_empty() {
        let _ = write!(
            body,
            "<p class=\"note\">{}</p>",
            escape(&analyzed.notes.join(" "))
        );
    }
    body
}

/// How it was simulated.
fn setup(report: &Report) -> String {
    if report.setup.is_empty() {
        return String::new();
    }
    let row = |(name, text): &(String, String)| (name.clone(), escape(text));
    facts(&report.setup.iter().map(row).collect::<Vec<_>>())
}

fn system(report: &Report) -> String {
    let mut rows = Vec::new();
    if report.system.particles > 0 {
        rows.push(("Particles".to_string(), count(report.system.particles)));
    }
    let species = report
        .system
        .species
        .iter()
        .map(|(name, n)| format!("{} {}", count(*n), escape(name)));
    rows.push(("Species".into(), species.collect::<Vec<_>>().join(", ")));
    rows.extend(
        report
            .system
            .facts
            .iter()
            .map(|(name, value)| (name.clone(), escape(value))),
    );
    let mut body = if rows.iter().all(|(_, v)| v.is_empty()) {
        String::new()
    } else {
        facts(&rows)
    };
    if !report.places.is_empty() {
        let places: Vec<_> = report
            .places
            .iter()
            .map(|p| (p.term.clone(), escape(&p.place)))
            .collect();
        let _ = write!(body, "<h3>Where each term ran</h3>{}", facts(&places));
    }
    body
}

fn stages(report: &Report) -> String {
    let seconds = |s: &super::Stage| {
        if s.seconds.is_finite() {
            s.seconds.max(0.0)
        } else {
            0.0
        }
    };
    let total: f64 = report.stages.iter().map(seconds).sum();
    let mut body = String::new();
    if total > 0.0 {
        let mut rows = String::new();
        for stage in &report.stages {
            let share = 100.0 * seconds(stage) / total;
            let _ = write!(
                rows,
                "<tr><th>{}</th><td class=\"bar\"><span style=\"width:{share:.2}%\"></span></td><td>{share:.1} %</td>\
                 <td>{} s</td><td>{}</td><td>{}</td></tr>",
                escape(&stage.name),
                number(seconds(stage), 4),
                count(stage.calls),
                if stage.calls > 0 {
                    format!("{} µs", number(1e6 * seconds(stage) / stage.calls as f64, 4))
                } else {
                    "–".into()
                },
            );
        }
        let _ = write!(
            body,
            "<div class=\"scroll\"><table class=\"numbers stages\"><thead><tr><th>Stage</th><th class=\"bar\"></th>\
             <th>Share</th><th>Time</th><th>Calls</th><th>Each</th></tr></thead><tbody>{rows}</tbody></table></div>"
        );
    }
    let mut rows = Vec::new();
    if report.speed.steps > 0 {
        let rate = report.speed.steps_per_second();
        rows.push(("Steps per second".to_string(), number(rate, 5)));
        rows.push((
            "ns/day".into(),
            report
                .speed
                .nanoseconds_per_day
                .map_or(String::new(), |v| number(v, 5)),
        ));
        let atoms = rate * report.system.particles as f64;
        rows.push(("Atom·steps per second".into(), number(atoms, 4)));
    }
    let rebuilt = report
        .rebuild_interval
        .map_or(String::new(), |v| format!("every {} steps", number(v, 3)));
    rows.push(("Neighbor list rebuilt".into(), rebuilt));
    if rows.iter().any(|(_, v)| !v.is_empty()) {
        body += &facts(&rows);
    }
    if let Some(device) = &report.device_use {
        body += &device_use(device);
    }
    body
}

/// What the host asked of the device, and the kernels of a profile.
fn device_use(device: &DeviceUse) -> String {
    let rows: Vec<_> = device
        .facts()
        .into_iter()
        .map(|(name, value)| (name.to_string(), escape(&value)))
        .collect();
    let mut body = format!("<h3>On the device</h3>{}", facts(&rows));
    let Some(profile) = device.profile.as_ref().filter(|p| !p.kernels.is_empty()) else {
        return body;
    };
    let table = profile.table();
    let cells = |row: &Vec<String>, first: &str, other: &str| {
        let cell = |(k, text): (usize, &String)| {
            let tag = if k == 0 { first } else { other };
            format!("<{tag}>{}</{tag}>", escape(text))
        };
        format!(
            "<tr>{}</tr>",
            row.iter().enumerate().map(cell).collect::<String>()
        )
    };
    let head: String = table.iter().take(1).map(|row| cells(row, "th", "th")).collect();
    let rows: String = table.iter().skip(1).map(|row| cells(row, "th", "td")).collect();
    let _ = write!(
        body,
        "<h3>Kernels</h3><div class=\"scroll\"><table class=\"numbers\"><thead>{head}</thead><tbody>{rows}</tbody></table></div>\
         <p class=\"note\">{}</p>",
        escape(&profile.note())
    );
    body
}

fn machine(report: &Report) -> String {
    let host = &report.host;
    let mut rows = vec![
        ("Processor".to_string(), escape(&host.processor)),
        (
            "Threads".into(),
            if host.threads > 0 {
                host.threads.to_string()
            } else {
                String::new()
            },
        ),
        ("Vector instructions".into(), escape(&host.simd)),
        ("Device".into(), escape(&host.device)),
        ("Precision".into(), escape(&host.precision)),
    ];
    rows.extend(
        report
            .memory
            .iter()
            .map(|(name, size)| (format!("Memory, {name}"), bytes(*size))),
    );
    if rows.iter().all(|(_, v)| v.is_empty()) {
        String::new()
    } else {
        facts(&rows)
    }
}

#[cfg(test)]
mod tests {
    use super::with_error;

    #[test]
    fn values_end_where_their_errors_do() {
        for (value, error, expected) in [
            (123.456, 0.5, "123.46 ± 0.50"),
            (-0.123_456, 0.0012, "−0.1235 ± 0.0012"),
            (9.9987, 0.0996, "10.00 ± 0.10"),
            (12_345.6, 678.0, "12\u{202f}350 ± 680"),
            (1e-9, 0.02, "0.000 ± 0.020"),
        ] {
            assert_eq!(with_error(value, error), expected);
        }
    }
}
