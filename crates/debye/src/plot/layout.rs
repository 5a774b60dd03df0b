//! Where everything on a chart goes.

use super::chart::{BAR, Chart, Series, Stroke};
use super::scene::{Anchor, Ink, Mark, Scene};
use super::text;
use super::ticks::{Ticks, linear, logarithmic, named};

const TITLE: f64 = 15.0;
const LABEL: f64 = 12.5;
const TICK: f64 = 11.5;

/// Lays a chart out.
pub(crate) fn arrange(chart: &Chart) -> Scene {
    let [width, height] = chart.size;
    let x_ticks = axis_ticks(chart, 0, (width / 110.0).clamp(3.0, 10.0) as usize);
    let y_ticks = axis_ticks(chart, 1, (height / 48.0).clamp(3.0, 8.0) as usize);
    let mut marks = Vec::new();

    let mut top = 12.0;
    if !chart.title.is_empty() {
        top += TITLE + 2.0;
        marks.push(label(
            [12.0, top - 2.0],
            &chart.title,
            TITLE,
            true,
            Anchor::Start,
            Ink::Text,
        ));
        top += 10.0;
    }
    top = legend(chart, top, &mut marks);
    if !y_ticks.suffix.is_empty() {
        top += 12.0;
    }
    let widest = y_ticks
        .marks
        .iter()
        .map(|(_, l)| text::width(l, TICK, false))
        .fold(0.0, f64::max);
    let frame = [
        12.0 + LABEL + 12.0 + widest + 8.0,
        top + 4.0,
        width - 18.0,
        // A chart that is too small for anything else still has a frame.
        (height - 48.0).max(top + 14.0),
    ];
    let [left, top, right, bottom] = frame;

    let place = Place {
        frame,
        x: x_ticks.range,
        y: y_ticks.range,
        logarithmic: [chart.x.logarithmic, chart.y.logarithmic],
    };
    draw_axes(chart, &place, &x_ticks, &y_ticks, &mut marks);
    for (index, series) in chart.series.iter().enumerate() {
        draw_band(series, index, &place, &mut marks);
    }
    for (index, series) in chart.series.iter().enumerate() {
        draw_series(series, index, &place, &mut marks);
    }
    if !chart
        .series
        .iter()
        .any(|s| s.points.iter().any(|&p| place.at(p).is_some()))
    {
        let middle = [0.5 * (left + right), 0.5 * (top + bottom)];
        marks.push(label(middle, "no data", LABEL, false, Anchor::Middle, Ink::Muted));
    }
    Scene {
        size: chart.size,
        marks,
        frame,
        ranges: [place.x[0], place.x[1], place.y[0], place.y[1]],
        logarithmic: place.logarithmic,
        title: chart.title.clone(),
    }
}

/// From values to pixels.
struct Place {
    frame: [f64; 4],
    x: [f64; 2],
    y: [f64; 2],
    logarithmic: [bool; 2],
}

impl Place {
    /// Where a value lies along an axis, if it can be shown.
    fn along(&self, axis: usize, value: f64) -> Option<f64> {
        let value = if self.logarithmic[axis] {
            value.log10()
        } else {
            value
        };
        value.is_finite().then(|| self.pixel(axis, value))
    }

    fn pixel(&self, axis: usize, value: f64) -> f64 {
        let [left, top, right, bottom] = self.frame;
        let (range, from, to) = if axis == 0 {
            (self.x, left, right)
        } else {
            (self.y, bottom, top)
        };
        let share = ((value - range[0]) / (range[1] - range[0])).clamp(-1.0, 2.0);
        from + share * (to - from)
    }

    fn at(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        Some([self.along(0, x)?, self.along(1, y)?])
    }
}

fn label(at: [f64; 2], text: &str, size: f64, bold: bool, anchor: Anchor, ink: Ink) -> Mark {
    Mark::Text {
        at,
        text: text.into(),
        size,
        bold,
        anchor,
        turned: false,
        ink,
    }
}

fn line(points: Vec<[f64; 2]>, ink: Ink, width: f64) -> Mark {
    Mark::Line {
        points,
        ink,
        width,
        dashed: false,
        series: None,
    }
}

fn axis_ticks(chart: &Chart, axis: usize, count: usize) -> Ticks {
    let log = [chart.x.logarithmic, chart.y.logarithmic];
    let shown = |value: f64, axis: usize| value.is_finite() && (!log[axis] || value > 0.0);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let visible = |p: &&[f64; 2]| shown(p[0], 0) && shown(p[1], 1);
    for point in chart.series.iter().flat_map(|s| s.points.iter()).filter(visible) {
        let value = point[axis].clamp(-1e300, 1e300);
        (low, high) = (low.min(value), high.max(value));
    }
    let bars = chart.series.iter().any(|s| s.stroke == Stroke::Bars);
    if bars && axis == 1 {
        low = if log[1] { 0.5 * low } else { low.min(0.0) };
    }
    if log[axis] {
        return logarithmic(low, high);
    }
    let names = [&chart.x.names, &chart.y.names][axis];
    if !names.is_empty() {
        return named(names);
    }
    // Room for the bands, but not so much that a wild error hides the curve.
    let span = high - low;
    let (mut low_band, mut high_band) = (low, high);
    if axis == 1 {
        for series in &chart.series {
            let errors = series.errors.iter().flatten();
            for (point, error) in series
                .points
                .iter()
                .filter(visible)
                .zip(errors)
                .filter(|(_, e)| e.is_finite())
            {
                (low_band, high_band) = (low_band.min(point[1] - error), high_band.max(point[1] + error));
            }
        }
    }
    linear(
        low_band.max(low - 0.3 * span),
        high_band.min(high + 0.3 * span),
        count,
        axis == 0,
    )
}

/// A row of names with a sample of each line, broken where it is full; gives the next free y. Names that would take more than
/// a third of the chart are counted instead.
fn legend(chart: &Chart, top: f64, marks: &mut Vec<Mark>) -> f64 {
    let named: Vec<_> = chart
        .series
        .iter()
        .enumerate()
        .filter(|(_, s)| !s.name.is_empty())
        .collect();
    if named.len() < 2 {
        return top;
    }
    let (mut x, mut y) = (12.0, top + 4.0);
    let (count, lowest) = (named.len(), top + chart.size[1] / 3.0);
    for (place, (index, series)) in named.into_iter().enumerate() {
        // A page shows the text in a font of its own, which may be wider.
        let space = 26.0 + 1.06 * text::width(&series.name, TICK, false) + 18.0;
        if x > 12.0 && x + space > chart.size[0] - 12.0 {
            (x, y) = (12.0, y + 18.0);
        }
        if y > lowest {
            let rest = format!("and {} more", count - place);
            marks.push(label([x, y + 4.0], &rest, TICK, false, Anchor::Start, Ink::Muted));
            break;
        }
        let ink = ink_of(series, index);
        if series.stroke == Stroke::Dots {
            marks.push(Mark::Dot {
                at: [x + 10.0, y],
                radius: 2.6,
                ink,
            });
        } else {
            marks.push(Mark::Line {
                points: vec![[x, y], [x + 20.0, y]],
                ink,
                width: width_of(series),
                dashed: series.stroke == Stroke::Dashed || ink.repeats(),
                series: None,
            });
        }
        marks.push(label(
            [x + 26.0, y + 4.0],
            &series.name,
            TICK,
            false,
            Anchor::Start,
            Ink::Muted,
        ));
        x += space;
    }
    y + 14.0
}

fn ink_of(series: &Series, index: usize) -> Ink {
    Ink::Series(series.color.unwrap_or(index))
}

/// How wide the line of a series is, on the chart and in the legend.
fn width_of(series: &Series) -> f64 {
    match series.stroke {
        Stroke::Thin => 1.0,
        _ => 1.8,
    }
}

fn draw_axes(chart: &Chart, place: &Place, x: &Ticks, y: &Ticks, marks: &mut Vec<Mark>) {
    let [left, top, right, bottom] = place.frame;
    for (value, text) in &y.marks {
        let at = place.pixel(1, *value);
        if text.is_empty() {
            marks.push(line(vec![[left - 3.0, at], [left, at]], Ink::Axis, 1.0));
            continue;
        }
        marks.push(line(vec![[left, at], [right, at]], Ink::Grid, 1.0));
        marks.push(label(
            [left - 8.0, at + 4.0],
            text,
            TICK,
            false,
            Anchor::End,
            Ink::Muted,
        ));
    }
    let mut free = f64::NEG_INFINITY;
    for (value, text) in &x.marks {
        let at = place.pixel(0, *value);
        let long = if text.is_empty() { 3.0 } else { 5.0 };
        marks.push(line(vec![[at, bottom], [at, bottom + long]], Ink::Axis, 1.0));
        let half = 0.5 * text::width(text, TICK, false);
        if !text.is_empty() && at - half > free {
            marks.push(label(
                [at, bottom + 19.0],
                text,
                TICK,
                false,
                Anchor::Middle,
                Ink::Muted,
            ));
            free = at + half + 6.0;
        }
    }
    // Factor and offset of the vertical axis stand above it, where there is room.
    let note = y.suffix.trim_start_matches([' ', ',']);
    if !note.is_empty() {
        marks.push(label(
            [left, top - 7.0],
            note,
            TICK,
            false,
            Anchor::Start,
            Ink::Muted,
        ));
    }
    marks.push(line(vec![[left, bottom], [right, bottom]], Ink::Axis, 1.2));
    let middle = [0.5 * (left + right), 0.5 * (top + bottom)];
    let name = format!("{}{}", chart.x.label, x.suffix);
    marks.push(label(
        [middle[0], bottom + 39.0],
        &name,
        LABEL,
        false,
        Anchor::Middle,
        Ink::Text,
    ));
    marks.push(Mark::Text {
        at: [12.0 + LABEL - 2.0, middle[1]],
        text: chart.y.label.clone(),
        size: LABEL,
        bold: false,
        anchor: Anchor::Middle,
        turned: true,
        ink: Ink::Text,
    });
}

fn draw_band(series: &Series, index: usize, place: &Place, marks: &mut Vec<Mark>) {
    let Some(errors) = &series.errors else { return };
    let [_, top, _, bottom] = place.frame;
    let mut run: Vec<[f64; 3]> = Vec::new();
    let mut flush = |run: &mut Vec<[f64; 3]>| {
        if run.len() > 1 {
            let thinned = thin_band(run);
            let upper = thinned.iter().map(|p| [p[0], p[1]]);
            let points = upper.chain(thinned.iter().rev().map(|p| [p[0], p[2]])).collect();
            marks.push(Mark::Area {
                points,
                ink: ink_of(series, index),
                opacity: 0.2,
            });
        }
        run.clear();
    };
    for (&[x, y], &error) in series.points.iter().zip(errors) {
        // On a logarithmic axis a band may reach below what can be shown: down to the frame then.
        let ends = match (place.along(0, x), place.along(1, y), place.along(1, y + error)) {
            (Some(x), Some(_), Some(high)) => Some([x, high, place.along(1, y - error).unwrap_or(bottom)]),
            _ => None,
        };
        match ends {
            Some([x, high, low]) => run.push([x, high.clamp(top, bottom), low.clamp(top, bottom)]),
            None => flush(&mut run),
        }
    }
    flush(&mut run);
}

/// The hull of a band in each half pixel.
fn thin_band(run: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let mut thinned: Vec<[f64; 3]> = Vec::new();
    for &[x, high, low] in run {
        match thinned.last_mut() {
            Some(last) if run.len() > 2000 && (x - last[0]).abs() < 0.5 => {
                *last = [last[0], last[1].min(high), last[2].max(low)];
            }
            _ => thinned.push([x, high, low]),
        }
    }
    thinned
}

fn draw_series(series: &Series, index: usize, place: &Place, marks: &mut Vec<Mark>) {
    let ink = ink_of(series, index);
    if series.stroke == Stroke::Bars {
        let bottom = place.frame[3];
        let side = |x: f64, sign: f64| place.along(0, x + sign * 0.5 * BAR);
        for &[x, y] in &series.points {
            if let (Some(left), Some(right), Some(top)) = (side(x, -1.0), side(x, 1.0), place.along(1, y)) {
                marks.push(Mark::Area {
                    points: vec![[left, bottom], [left, top], [right, top], [right, bottom]],
                    ink,
                    opacity: 0.85,
                });
            }
        }
        return;
    }
    if series.stroke == Stroke::Dots {
        let mut last = [f64::NAN; 2];
        for at in series.points.iter().filter_map(|&p| place.at(p)) {
            if !((at[0] - last[0]).abs() < 0.5 && (at[1] - last[1]).abs() < 0.5) {
                marks.push(Mark::Dot { at, radius: 2.4, ink });
                last = at;
            }
        }
        return;
    }
    let mut run: Vec<[f64; 2]> = Vec::new();
    let mut flush = |run: &mut Vec<[f64; 2]>| {
        match run.len() {
            0 => {}
            1 => marks.push(Mark::Dot {
                at: run[0],
                radius: 2.0,
                ink,
            }),
            _ => marks.push(Mark::Line {
                points: thin(run),
                ink,
                width: width_of(series),
                dashed: series.stroke == Stroke::Dashed || ink.repeats(),
                series: Some(series.name.clone()),
            }),
        }
        run.clear();
    };
    for &point in &series.points {
        match place.at(point) {
            Some(at) => run.push(at),
            None => flush(&mut run),
        }
    }
    flush(&mut run);
}

/// First, lowest, highest and last point in each pixel, without those on a straight line: looks the
/// same, whatever the number of points.
fn thin(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    if points.len() < 2000 {
        return straightened(points);
    }
    let mut thinned = Vec::new();
    let mut rest = points;
    while let Some(first) = rest.first() {
        let count = rest
            .iter()
            .take_while(|p| (p[0] - first[0]).abs() < 1.0)
            .count()
            .max(1);
        let (group, after) = rest.split_at(count);
        let by_height = |a: &usize, b: &usize| group[*a][1].total_cmp(&group[*b][1]);
        let lowest = (0..count).min_by(by_height).unwrap_or(0);
        let highest = (0..count).max_by(by_height).unwrap_or(0);
        let mut keep = vec![0, lowest, highest, count - 1];
        keep.sort_unstable();
        keep.dedup();
        thinned.extend(keep.into_iter().map(|k| group[k]));
        rest = after;
    }
    straightened(&thinned)
}

/// Leaves out points nearer than a twentieth of a pixel to the line that remains (Ramer 1972).
fn straightened(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let Some(last) = points.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut keep = vec![false; points.len()];
    (keep[0], keep[last]) = (true, true);
    let mut open = vec![(0, last)];
    while let Some((from, to)) = open.pop() {
        let [a, b] = [points[from], points[to]];
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        let length = dx.hypot(dy);
        let distance = |p: [f64; 2]| {
            let (px, py) = (p[0] - a[0], p[1] - a[1]);
            if length < 1e-6 {
                px.hypot(py)
            } else {
                (dx * py - dy * px).abs() / length
            }
        };
        let farthest = (from + 1..to).max_by(|&i, &j| distance(points[i]).total_cmp(&distance(points[j])));
        if let Some(middle) = farthest.filter(|&k| distance(points[k]) > 0.05) {
            keep[middle] = true;
            open.extend([(from, middle), (middle, to)]);
        }
    }
    points
        .iter()
        .zip(keep)
        .filter(|(_, keep)| *keep)
        .map(|(&p, _)| p)
        .collect()
}
