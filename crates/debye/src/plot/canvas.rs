//! Painting marks with smooth edges.

use ab_glyph_rasterizer::{Point, Rasterizer, point};

use super::palette::Rgb;
use super::picture::Picture;
use super::scene::{Anchor, Ink, Mark, Scene};
use super::text;

/// Paints a chart on white.
pub(crate) fn paint(scene: &Scene, scale: f64) -> Picture {
    let [w, h] = scene.size.map(|s| (s * scale).round() as usize);
    let mut picture = Picture::filled(w, h, [255; 3]);
    for mark in &scene.marks {
        match mark {
            Mark::Line {
                points,
                ink,
                width,
                dashed,
                ..
            } => {
                // Hairlines along an axis look crisp only on whole pixels.
                let crisp = points.len() == 2 && matches!(ink, Ink::Axis | Ink::Grid);
                let snap = |v: f64| {
                    if crisp {
                        (v * scale).round() + 0.5 * (width * scale % 2.0)
                    } else {
                        v * scale
                    }
                };
                let points: Vec<[f64; 2]> = points.iter().map(|p| p.map(snap)).collect();
                let runs = if *dashed {
                    dashes(&points, 6.0 * scale, 4.0 * scale)
                } else {
                    vec![points]
                };
                for run in runs {
                    stroke(&mut picture, &run, width * scale, ink.light(), 1.0);
                }
            }
            Mark::Area { points, ink, opacity } => {
                let points: Vec<[f64; 2]> = points.iter().map(|p| p.map(|v| v * scale)).collect();
                fill(&mut picture, &[points], ink.light(), *opacity);
            }
            Mark::Dot { at, radius, ink } => {
                let points = circle(at.map(|v| v * scale), radius * scale);
                fill(&mut picture, &[points], ink.light(), 1.0);
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
                let place = (at.map(|v| v * scale), *anchor, *turned);
                write(&mut picture, text, size * scale, *bold, place, ink.light());
            }
        }
    }
    picture
}

/// Writes a text at a place (position, anchor, whether it reads upwards).
pub(crate) fn write(
    picture: &mut Picture,
    text: &str,
    size: f64,
    bold: bool,
    (at, anchor, turned): ([f64; 2], Anchor, bool),
    color: Rgb,
) {
    let width = text::width(text, size, bold);
    let start = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -0.5 * width,
        Anchor::End => -width,
    };
    if turned {
        let (x, y) = (at[0].round() as i32, at[1].round() as i32);
        text::draw(text, size, bold, [start as f32, 0.0], |u, v, c| {
            picture.blend(x + v, y - 1 - u, color, c)
        });
    } else {
        let offset = [(at[0] + start) as f32, at[1].round() as f32];
        text::draw(text, size, bold, offset, |x, y, c| picture.blend(x, y, color, c));
    }
}

/// A line of some width with round joints and ends. A pixel is covered as far as the nearest piece
/// of the line covers it, so joints do not show.
pub(crate) fn stroke(picture: &mut Picture, points: &[[f64; 2]], width: f64, color: Rgb, opacity: f64) {
    let reach = 0.5 * width + 0.5;
    if points.is_empty() || points.iter().flatten().any(|v| !v.is_finite()) {
        return;
    }
    let limits = [picture.width as f64, picture.height as f64];
    let bound = |k: usize, of: fn(f64, f64) -> f64, margin: f64| {
        let extreme = points.iter().map(|p| p[k]).reduce(of).unwrap_or(0.0);
        (extreme + margin).floor().clamp(0.0, limits[k]) as usize
    };
    let low = [bound(0, f64::min, -reach), bound(1, f64::min, -reach)];
    let high = [bound(0, f64::max, reach + 1.0), bound(1, f64::max, reach + 1.0)];
    if high[0] <= low[0] || high[1] <= low[1] {
        return;
    }
    let columns = high[0] - low[0];
    let mut cover = vec![0.0_f32; columns * (high[1] - low[1])];
    for pair in points.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        let d = [b[0] - a[0], b[1] - a[1]];
        let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1]).max(1e-12);
        let span = |k: usize| {
            let from = (a[k].min(b[k]) - reach)
                .floor()
                .clamp(low[k] as f64, high[k] as f64) as usize;
            let to = (a[k].max(b[k]) + reach)
                .ceil()
                .clamp(low[k] as f64, high[k] as f64) as usize;
            from..to
        };
        for y in span(1) {
            for x in span(0) {
                let p = [x as f64 + 0.5 - a[0], y as f64 + 0.5 - a[1]];
                let along = ((p[0] * d[0] + p[1] * d[1]) * inverse).clamp(0.0, 1.0);
                let distance = (p[0] - along * d[0]).hypot(p[1] - along * d[1]);
                let here = (reach - distance).clamp(0.0, 1.0) as f32;
                let at = &mut cover[(y - low[1]) * columns + x - low[0]];
                *at = at.max(here);
            }
        }
    }
    for (k, &here) in cover.iter().enumerate().filter(|(_, here)| **here > 0.0) {
        let (x, y) = (low[0] + k % columns, low[1] + k / columns);
        picture.blend(x as i32, y as i32, color, here * opacity as f32);
    }
}

fn circle(center: [f64; 2], radius: f64) -> Vec<[f64; 2]> {
    let sides = (8.0 + 2.0 * radius).min(64.0) as usize;
    let corner = |k: usize| {
        let (sin, cos) = (k as f64 / sides as f64 * std::f64::consts::TAU).sin_cos();
        [center[0] + radius * cos, center[1] + radius * sin]
    };
    (0..sides).map(corner).collect()
}

/// Fills polygons of one color; where they overlap they count once.
pub(crate) fn fill(picture: &mut Picture, shapes: &[Vec<[f64; 2]>], color: Rgb, opacity: f64) {
    let corners = shapes.iter().flatten();
    let inside = corners
        .clone()
        .all(|p| p.iter().all(|v| v.is_finite() && v.abs() < 1e5));
    if !inside || shapes.iter().all(Vec::is_empty) {
        return;
    }
    let low = corners
        .clone()
        .fold([f64::INFINITY; 2], |m, p| [m[0].min(p[0]), m[1].min(p[1])]);
    let high = corners.fold([f64::NEG_INFINITY; 2], |m, p| [m[0].max(p[0]), m[1].max(p[1])]);
    let origin = low.map(|v| v.floor() - 1.0);
    let size: [usize; 2] = std::array::from_fn(|k| (high[k] - origin[k]).ceil() as usize + 2);
    if size[0].saturating_mul(size[1]) > 200_000_000 {
        return;
    }
    let mut raster = Rasterizer::new(size[0], size[1]);
    let local = |p: [f64; 2]| -> Point { point((p[0] - origin[0]) as f32, (p[1] - origin[1]) as f32) };
    for shape in shapes {
        for (k, &from) in shape.iter().enumerate() {
            raster.draw_line(local(from), local(shape[(k + 1) % shape.len()]));
        }
    }
    let (x0, y0) = (origin[0] as i32, origin[1] as i32);
    raster.for_each_pixel_2d(|x, y, coverage| {
        if coverage > 0.0 {
            picture.blend(
                x0 + x as i32,
                y0 + y as i32,
                color,
                coverage.min(1.0) * opacity as f32,
            );
        }
    });
}

/// A line cut into dashes.
fn dashes(points: &[[f64; 2]], on: f64, off: f64) -> Vec<Vec<[f64; 2]>> {
    let mut runs = Vec::new();
    let mut run: Vec<[f64; 2]> = points.first().copied().into_iter().collect();
    let (mut drawing, mut left) = (true, on);
    for pair in points.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        let length = (b[0] - a[0]).hypot(b[1] - a[1]);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let at = [
                a[0] + (b[0] - a[0]) * done / length,
                a[1] + (b[1] - a[1]) * done / length,
            ];
            if drawing {
                run.push(at);
                runs.push(std::mem::take(&mut run));
            } else {
                run = vec![at];
            }
            drawing = !drawing;
            left = if drawing { on } else { off };
        }
        left -= length - done;
        if drawing {
            run.push(b);
        }
    }
    runs.push(run);
    runs
}
