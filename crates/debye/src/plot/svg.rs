//! A laid-out chart as SVG.

use std::fmt::Write as _;
use std::sync::LazyLock;

use super::palette::LIGHT;
use super::scene::{Anchor, Ink, Mark, Scene};

/// The style sheet of charts, light and dark; for a page that inlines them.
pub static STYLE: LazyLock<String> = LazyLock::new(|| {
    let light = rules(Ink::light);
    let dark = rules(Ink::dark);
    format!(
        ".plot{{font-family:system-ui,-apple-system,'Segoe UI','Noto Sans',sans-serif;font-variant-numeric:tabular-nums}}\n\
         {light}\n@media (prefers-color-scheme:dark){{@media screen{{\n{dark}\n}}}}"
    )
});

fn rules(color: impl Fn(Ink) -> [u8; 3]) -> String {
    let mut inks = vec![Ink::Text, Ink::Muted, Ink::Axis, Ink::Grid];
    inks.extend((0..LIGHT.len()).map(Ink::Series));
    let rule = |ink: Ink| {
        let [r, g, b] = color(ink);
        let class = ink.class();
        format!(
            ".plot .{class}{{stroke:#{r:02x}{g:02x}{b:02x}}}.plot .{class}f{{fill:#{r:02x}{g:02x}{b:02x}}}"
        )
    };
    inks.into_iter().map(rule).collect::<Vec<_>>().join("\n")
}

/// Text made safe for XML and HTML, in elements and in quoted attributes. Characters that XML cannot
/// hold become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(c),
            c if c < ' ' || ('\u{7f}'..='\u{9f}').contains(&c) || c == '\u{fffe}' || c == '\u{ffff}' => {
                safe.push('\u{fffd}');
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A coordinate with as many digits as can be seen.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), String::from)
}

fn path(points: &[[f64; 2]]) -> String {
    points
        .iter()
        .map(|p| format!("{},{}", short(p[0]), short(p[1])))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes an SVG, with its own style sheet or without.
pub(crate) fn write(scene: &Scene, with_style: bool) -> String {
    let [w, h] = scene.size.map(short);
    let mut svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {w} {h}\"");
    if with_style {
        let _ = write!(svg, " width=\"{w}\" height=\"{h}\"");
    }
    let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let [log_x, log_y] = scene.logarithmic.map(u8::from);
    let _ = write!(
        svg,
        " role=\"img\" aria-label=\"{}\" data-frame=\"{}\" data-ranges=\"{}\" data-log=\"{log_x} {log_y}\">",
        escape(&scene.title),
        scene.frame.map(short).join(" "),
        list(&scene.ranges),
    );
    if with_style {
        let _ = write!(svg, "<style>{}</style>", escape(&STYLE).replace("&#39;", "'"));
    }
    for mark in &scene.marks {
        write_mark(&mut svg, mark);
    }
    svg.push_str("</svg>");
    svg
}

fn write_mark(svg: &mut String, mark: &Mark) {
    let _ = match mark {
        Mark::Line {
            points,
            ink,
            width,
            dashed,
            series,
        } => {
            let dash = if *dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let name = series
                .as_ref()
                .map_or(String::new(), |s| format!(" data-series=\"{}\"", escape(s)));
            write!(
                svg,
                "<polyline class=\"{}\" points=\"{}\" fill=\"none\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}{name}/>",
                ink.class(),
                path(points),
            )
        }
        Mark::Area { points, ink, opacity } => {
            let class = ink.class();
            write!(
                svg,
                "<polygon class=\"{class}f\" points=\"{}\" fill-opacity=\"{opacity}\"/>",
                path(points)
            )
        }
        Mark::Dot { at, radius, ink } => {
            let [x, y] = at.map(short);
            write!(
                svg,
                "<circle class=\"{}f\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>",
                ink.class()
            )
        }
        Mark::Text {
            at,
            text,
            size,
            bold,
            anchor,
            turned,
            ink,
        } => {
            let [x, y] = at.map(short);
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let weight = if *bold { " font-weight=\"600\"" } else { "" };
            let turn = if *turned {
                format!(" transform=\"rotate(-90 {x} {y})\"")
            } else {
                String::new()
            };
            let class = ink.class();
            write!(
                svg,
                "<text class=\"{class}f\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}{weight}{turn}>{}</text>",
                escape(text)
            )
        }
    };
}
