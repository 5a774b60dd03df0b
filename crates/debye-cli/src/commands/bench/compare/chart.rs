//! The bar chart of a comparison: a panel for every case, a bar for every program, a dot for every round.

use debye::plot::{Axis, Chart, Picture, PlotError, STYLE, Series, Stroke, escape};

use super::results::{CaseResult, Comparison};
use crate::console;

/// Pixels of a panel: its height, what its axis takes, and every bar.
const HEIGHT: f64 = 300.0;
const AXIS: f64 = 92.0;
const BAR: f64 = 68.0;
/// The color of the dots.
const DOTS: usize = 4;
/// Dots of a bar lie within this width, in bars.
const WIDTH: f64 = 0.4;

/// Programs in the order of their colors, so that they look alike in every chart.
const COLORS: [&str; 4] = ["Debye", "GROMACS", "LAMMPS", "OpenMM"];

/// The chart as SVG and as PNG; `None` where nothing was measured.
pub(super) fn draw(comparison: &Comparison) -> Result<Option<(String, Vec<u8>)>, PlotError> {
    let measured = |case: &&CaseResult| case.programs.iter().any(|program| program.speed.is_some());
    let panels: Vec<Chart> = comparison.cases.iter().filter(measured).map(panel).collect();
    if panels.is_empty() {
        return Ok(None);
    }
    let pictures: Vec<Picture> = panels.iter().map(|panel| panel.paint(2.0)).collect();
    Ok(Some((svg(&panels), Picture::beside(&pictures).to_png()?)))
}

fn panel(case: &CaseResult) -> Chart {
    let bars: Vec<_> = case.programs.iter().filter(|p| p.speed.is_some()).collect();
    let particles = console::grouped(case.particles as u64);
    let title = format!("{}: {particles} particles", case.case);
    let mut x = Axis::new(&beside_the_fastest(case));
    x.names = (1..)
        .map(f64::from)
        .zip(bars.iter().map(|p| p.program.clone()))
        .collect();
    let mut chart =
        Chart::new(&title, x, Axis::new("steps/s")).with_size(AXIS + BAR * bars.len() as f64, HEIGHT);
    for (place, program) in (1..).map(f64::from).zip(&bars) {
        let known = COLORS.iter().position(|name| program.program.starts_with(name));
        let median = program.speed.map_or(0.0, |speed| speed.median);
        let bar = Series::new("", &[place], &[median]).with_stroke(Stroke::Bars);
        chart = chart.with(bar.with_color(known.unwrap_or(COLORS.len() + 1)));
        let rounds = &program.steps_per_second;
        if rounds.len() > 1 {
            let step = WIDTH / (rounds.len() - 1) as f64;
            let across: Vec<f64> = (0..rounds.len())
                .map(|k| place - 0.5 * WIDTH + step * k as f64)
                .collect();
            let dots = Series::new("", &across, rounds).with_stroke(Stroke::Dots);
            chart = chart.with(dots.with_color(DOTS));
        }
    }
    chart
}

/// `2.1 × GROMACS`: Debye over the fastest of the others.
fn beside_the_fastest(case: &CaseResult) -> String {
    let others = case.programs.iter().filter(|p| !p.program.starts_with(COLORS[0]));
    let median = |p: &super::results::ProgramResult| p.speed.map_or(0.0, |speed| speed.median);
    let fastest = others.max_by(|a, b| median(a).total_cmp(&median(b)));
    let ratio = fastest.and_then(|p| Some((p.debye_over_it?.median, &p.program)));
    ratio.map_or(String::new(), |(ratio, name)| {
        format!("Debye: {ratio:.1} × {name}")
    })
}

/// Panels beside one another.
fn svg(panels: &[Chart]) -> String {
    let width: f64 = panels.iter().map(|panel| panel.size[0]).sum();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" height=\"{HEIGHT}\" \
         class=\"plot\"><style>{}</style>",
        escape(&STYLE).replace("&#39;", "'")
    );
    let mut left = 0.0;
    for panel in panels {
        let [w, h] = panel.size;
        let place = format!("<svg x=\"{left}\" width=\"{w}\" height=\"{h}\"");
        text += &panel.to_svg_inline().replacen("<svg", &place, 1);
        left += w;
    }
    text + "</svg>"
}
