//! What stands around the map: axes, scale bar, color bar and title.

use super::sheet::Sheet;
use super::{LABEL, LINE, SliceFigure, TICK, TITLE};
use crate::plot::canvas::{fill, stroke, write};
use crate::plot::palette::{MISSING, diverging};
use crate::plot::picture::Picture;
use crate::plot::scene::{Anchor, Ink};
use crate::plot::text;
use crate::plot::ticks::{round_step, rounded, written};

impl Sheet {
    pub(super) fn draw_frame(&self, picture: &mut Picture) {
        let [left, top, width, height] = self.map.map(|v| v as f64);
        draw_box(picture, [left, top, left + width, top + height], self.scale);
    }

    pub(super) fn draw_axes(&self, picture: &mut Picture, figure: &SliceFigure<'_>) {
        let scale = self.scale;
        let [left, top, width, height] = self.map.map(|v| v as f64);
        let bottom = top + height;
        let names: [String; 2] = std::array::from_fn(|axis| {
            let name = figure.axis.across()[axis].name();
            let note = if self.stretched[axis] { ", stretched" } else { "" };
            format!("{name} ({}{}){note}", figure.length_unit, self.ticks[axis].suffix)
        });
        let ink = Ink::Text.light();
        let place = [left + 0.5 * width, bottom + (9.0 + TICK + 7.0 + LABEL) * scale];
        write(
            picture,
            &names[0],
            LABEL * scale,
            false,
            (place, Anchor::Middle, false),
            ink,
        );
        let place = [(12.0 + LABEL) * scale, top + 0.5 * height];
        write(
            picture,
            &names[1],
            LABEL * scale,
            false,
            (place, Anchor::Middle, true),
            ink,
        );
        for axis in 0..2 {
            self.draw_ticks(picture, axis);
        }
    }

    /// Marks and numbers along an axis; numbers that would touch are left out.
    fn draw_ticks(&self, picture: &mut Picture, axis: usize) {
        let scale = self.scale;
        let [left, bottom] = [self.map[0] as f64, (self.map[1] + self.map[3]) as f64];
        let [low, high] = self.plane.extents()[axis];
        let margin = 1e-9 * (high - low);
        let inside = |value: f64| (low - margin..=high + margin).contains(&value);
        let mut last = f64::INFINITY;
        for (value, label) in self.ticks[axis].marks.iter().filter(|(value, _)| inside(*value)) {
            let at = self.pixel(axis, *value);
            let (tick, place, wide) = match axis {
                0 => (
                    [[at, bottom], [at, bottom + 5.0 * scale]],
                    ([at, bottom + (8.0 + TICK) * scale], Anchor::Middle, false),
                    text::width(label, TICK * scale, false) + 6.0 * scale,
                ),
                _ => (
                    [[left - 5.0 * scale, at], [left, at]],
                    ([left - 9.0 * scale, at + 0.36 * TICK * scale], Anchor::End, false),
                    1.2 * TICK * scale,
                ),
            };
            stroke(picture, &tick, scale, Ink::Axis.light(), 1.0);
            if (at - last).abs() > wide {
                write(picture, label, TICK * scale, false, place, Ink::Muted.light());
                last = at;
            }
        }
    }

    pub(super) fn draw_scale_bar(&self, picture: &mut Picture, unit: &str) {
        let scale = self.scale;
        let [left, top, width, height] = self.map.map(|v| v as f64);
        let [low, high] = self.plane.extents()[0];
        let length = round_step(0.12 * (high - low));
        let long = length / (high - low) * width;
        let label = format!("{} {unit}", rounded(length));
        let wide = long.max(text::width(&label, TICK * scale, false)) + 16.0 * scale;
        let high = (TICK + 20.0) * scale;
        if wide > 0.6 * width || high > 0.6 * height {
            return;
        }
        let [right, bottom] = [left + width - 10.0 * scale, top + height - 10.0 * scale];
        let paper = corners([right - wide, bottom - high, right, bottom]);
        fill(picture, &[paper], [255; 3], 0.78);
        let middle = right - 0.5 * wide;
        let line = [middle - 0.5 * long, middle + 0.5 * long].map(|x| [x, bottom - 8.0 * scale]);
        stroke(picture, &line, 3.0 * scale, LINE, 1.0);
        let place = ([middle, bottom - 15.0 * scale], Anchor::Middle, false);
        write(picture, &label, TICK * scale, false, place, Ink::Text.light());
    }

    pub(super) fn draw_color_bar(&self, picture: &mut Picture, figure: &SliceFigure<'_>) {
        let scale = self.scale;
        let [left, right] = [24.0, 42.0].map(|x| (self.map[0] + self.map[2]) as f64 + x * scale);
        // Room for the points of a bar whose ends stand for more than their value.
        let point = 9.0 * scale;
        let [top, bottom] = [self.bar[0] + point, self.bar[0] + self.bar[1] - point];
        let bar = [left, top, right, bottom].map(f64::round);
        for y in bar[1] as i32..bar[3] as i32 {
            let value = 1.0 - 2.0 * (f64::from(y) + 0.5 - top) / (bottom - top);
            for x in bar[0] as i32..bar[2] as i32 {
                picture.blend(x, y, diverging(value), 1.0);
            }
        }
        let at = |value: f64| 0.5 * (top + bottom) - 0.5 * (bottom - top) * value / self.limit;
        for level in self.levels().filter(|level| level.abs() < 0.999 * self.limit) {
            stroke(
                picture,
                &[[left, at(level)], [right, at(level)]],
                0.9 * scale,
                LINE,
                0.42,
            );
        }
        draw_box(picture, bar, scale);
        let values = self.plane.values();
        for (sign, end) in [(1.0, top - 2.0 * scale), (-1.0, bottom + 2.0 * scale)] {
            if values.iter().any(|v| v * sign > self.limit * (1.0 + 1e-9)) {
                let tip = [0.5 * (left + right), end - sign * (point - 2.0 * scale)];
                fill(
                    picture,
                    &[vec![[left, end], tip, [right, end]]],
                    diverging(sign),
                    1.0,
                );
            }
        }
        let inside = |value: f64| value.abs() <= self.limit * (1.0 + 1e-9);
        for (value, label) in self.ticks[2].marks.iter().filter(|(value, _)| inside(*value)) {
            let y = at(*value);
            stroke(
                picture,
                &[[right, y], [right + 4.0 * scale, y]],
                scale,
                Ink::Axis.light(),
                1.0,
            );
            let place = (
                [right + 9.0 * scale, y + 0.36 * TICK * scale],
                Anchor::Start,
                false,
            );
            write(picture, label, TICK * scale, false, place, Ink::Muted.light());
        }
        self.name_color_bar(picture, figure);
        if values.iter().any(|v| v.is_nan()) {
            self.explain_gray(picture, left);
        }
    }

    fn name_color_bar(&self, picture: &mut Picture, figure: &SliceFigure<'_>) {
        let unit = format!("{}{}", figure.unit, self.ticks[2].suffix);
        let label = match (figure.label.as_str(), unit.trim()) {
            (label, "") => label.to_owned(),
            ("", unit) => unit.to_owned(),
            (label, unit) => format!("{label} ({unit})"),
        };
        let [top, height] = self.bar;
        let size = fitted(&label, LABEL * self.scale, height);
        let place = [self.size[0] as f64 - 13.0 * self.scale, top + 0.5 * height];
        write(
            picture,
            &label,
            size,
            false,
            (place, Anchor::Middle, true),
            Ink::Text.light(),
        );
    }

    /// Below the color bar: what gray means.
    fn explain_gray(&self, picture: &mut Picture, left: f64) {
        let scale = self.scale;
        let top = self.bar[0] + self.bar[1] + 10.0 * scale;
        let side = 13.0 * scale;
        fill(
            picture,
            &[corners([left, top, left + side, top + side])],
            MISSING,
            1.0,
        );
        let place = (
            [left + side + 6.0 * scale, top + 0.85 * side],
            Anchor::Start,
            false,
        );
        write(
            picture,
            "no value",
            TICK * scale,
            false,
            place,
            Ink::Muted.light(),
        );
    }

    pub(super) fn draw_title(&self, picture: &mut Picture, figure: &SliceFigure<'_>) {
        let scale = self.scale;
        let decimals = match self.plane.step {
            0.0 => 2.0,
            step => (1.0 - step.log10().floor()).clamp(0.0, 9.0),
        };
        let at = written(self.plane.at, decimals as usize);
        let place = format!("{} = {at} {}", figure.axis.name(), figure.length_unit);
        let title = match figure.label.as_str() {
            "" => place,
            label => format!("{label} at {place}"),
        };
        let left = self.map[0] as f64;
        let size = fitted(&title, TITLE * scale, self.size[0] as f64 - left - 10.0 * scale);
        let at = ([left, (12.0 + TITLE) * scale], Anchor::Start, false);
        write(picture, &title, size, true, at, Ink::Text.light());
    }
}

/// The size at which a text is no wider than `room`.
fn fitted(label: &str, size: f64, room: f64) -> f64 {
    // Bold letters are the widest.
    size * (room / text::width(label, size, true).max(1.0)).min(1.0)
}

fn corners([left, top, right, bottom]: [f64; 4]) -> Vec<[f64; 2]> {
    vec![[left, top], [right, top], [right, bottom], [left, bottom]]
}

fn draw_box(picture: &mut Picture, edges: [f64; 4], scale: f64) {
    let mut line = corners(edges);
    line.push(line[0]);
    stroke(picture, &line, scale, Ink::Axis.light(), 1.0);
}
