//! Where everything on the figure goes, and what lies on the map: colors, contours and the outline of the atoms.

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use super::{AtomSphere, LABEL, LINE, SliceFigure, TICK, TITLE};
use crate::plot::canvas::stroke;
use crate::plot::contour::Lattice;
use crate::plot::palette::diverging;
use crate::plot::picture::Picture;
use crate::plot::plane::{Axis3, Plane};
use crate::plot::text;
use crate::plot::ticks::{Ticks, linear, round_step};

/// The largest ratio of the sides of a map; longer ones are stretched.
const LONGEST: f64 = 8.0;
/// Pixels from point to point of the lattice that lines are found on.
const SPACING: usize = 2;
/// Contours on each side of zero, about.
const CONTOURS: f64 = 5.0;

/// Where everything on the figure goes. Lengths are in pixels.
pub(super) struct Sheet {
    pub(super) plane: Plane,
    pub(super) limit: f64,
    /// Ticks to the right, upwards, and of the color bar.
    pub(super) ticks: [Ticks; 3],
    /// Pixels of the whole picture.
    pub(super) size: [usize; 2],
    /// Left, top, width and height of the map.
    pub(super) map: [usize; 4],
    /// Top and height of the color bar.
    pub(super) bar: [f64; 2],
    /// Whether a side is longer than it should be, to the right and upwards.
    pub(super) stretched: [bool; 2],
    /// Pixels for each nominal one.
    pub(super) scale: f64,
}

impl Sheet {
    pub(super) fn new(figure: &SliceFigure<'_>, plane: Plane, limit: f64) -> Self {
        let [width, height] = figure.size.map(|s| s as f64);
        let scale = (width.min(height) / 720.0).max(0.55);
        let lengths = plane.extents().map(|[low, high]| high - low);
        let ratio = lengths[0] / lengths[1];
        let shown = ratio.clamp(1.0 / LONGEST, LONGEST);
        let stretched = [ratio < shown, ratio > shown];

        let [right, up] = plane.extents();
        let count = |length: f64| (length / (75.0 * scale)).clamp(2.0, 10.0) as usize;
        // How many ticks there are decides how wide they are; a first guess of the room is good enough.
        let guess = [
            (height * 0.8 * shown).min(0.75 * width),
            (width * 0.75 / shown).min(0.8 * height),
        ];
        let ticks = [
            linear(right[0], right[1], count(guess[0]), true),
            linear(up[0], up[1], count(guess[1]), true),
            linear(-limit, limit, 2 * CONTOURS as usize, true),
        ];
        let widest = |ticks: &Ticks| {
            let widths = ticks
                .marks
                .iter()
                .map(|(_, label)| text::width(label, TICK, false));
            widths.fold(0.0, f64::max)
        };
        let left = scale * (14.0 + LABEL + 8.0 + widest(&ticks[1]) + 9.0);
        let top = scale * (12.0 + TITLE + 12.0);
        let beside = scale * (24.0 + 18.0 + 10.0 + widest(&ticks[2]) + 12.0 + LABEL + 14.0);
        let below = scale * (9.0 + TICK + 8.0 + LABEL + 14.0);
        let room = [width - left - beside, height - top - below].map(|r| r.max(16.0));
        let map = [room[0].min(room[1] * shown), room[1].min(room[0] / shown)].map(|r| r.max(4.0).round());
        // The bar needs some length, whatever the shape of the map.
        let bar = map[1].max((200.0 * scale).min(room[1]));
        let above = (0.5 * (bar - map[1])).round();
        let size = [left.round() + map[0] + beside, top.round() + bar + below].map(|s| s.round() as usize);
        Sheet {
            limit,
            ticks,
            size,
            map: [left.round(), top.round() + above, map[0], map[1]].map(|v| v as usize),
            bar: [top.round(), bar.round()],
            stretched,
            scale,
            plane,
        }
    }

    /// Where a coordinate to the right (0) or upwards (1) lies.
    pub(super) fn pixel(&self, axis: usize, value: f64) -> f64 {
        let [low, high] = self.plane.extents()[axis];
        let share = (value - low) / (high - low);
        let [left, top, width, height] = self.map.map(|v| v as f64);
        match axis {
            0 => left + share * width,
            _ => top + (1.0 - share) * height,
        }
    }

    /// The coordinate at a share of the way through the map.
    fn coordinate(&self, axis: usize, share: f64) -> f64 {
        let [low, high] = self.plane.extents()[axis];
        low + share * (high - low)
    }

    pub(super) fn color(&self, picture: &mut Picture) {
        let [left, top, width, height] = self.map;
        let across = 3 * picture.width;
        let rows = &mut picture.pixels[top * across..(top + height) * across];
        rows.par_chunks_mut(across).enumerate().for_each(|(y, row)| {
            let up = self.coordinate(1, 1.0 - (y as f64 + 0.5) / height as f64);
            for (x, pixel) in row[3 * left..3 * (left + width)].chunks_exact_mut(3).enumerate() {
                let right = self.coordinate(0, (x as f64 + 0.5) / width as f64);
                pixel.copy_from_slice(&diverging(self.plane.sample([right, up]) / self.limit));
            }
        });
    }

    /// The lattice for lines: its columns and rows, from the lower left corner of the map.
    fn lattice(&self) -> [usize; 2] {
        [self.map[2], self.map[3]].map(|pixels| (pixels / SPACING).max(1) + 1)
    }

    fn draw_lines(
        &self,
        picture: &mut Picture,
        lattice: &Lattice,
        level: f64,
        pen: impl Fn(&mut Picture, &[[f64; 2]]),
    ) {
        let [columns, rows] = self.lattice().map(|n| (n - 1) as f64);
        let [left, top, width, height] = self.map.map(|v| v as f64);
        for line in lattice.contours(level) {
            let place = |[x, y]: [f64; 2]| [left + x / columns * width, top + (1.0 - y / rows) * height];
            pen(picture, &line.into_iter().map(place).collect::<Vec<_>>());
        }
    }

    pub(super) fn draw_contours(&self, picture: &mut Picture) {
        let [columns, rows] = self.lattice();
        let sample = |n: usize| {
            let share = [
                (n % columns) as f64 / (columns - 1) as f64,
                (n / columns) as f64 / (rows - 1) as f64,
            ];
            self.plane
                .sample([self.coordinate(0, share[0]), self.coordinate(1, share[1])])
        };
        let values = (0..columns * rows).into_par_iter().map(sample).collect();
        let lattice = Lattice { columns, values };
        for level in self.levels() {
            let [width, opacity] = if level == 0.0 { [1.5, 0.7] } else { [0.9, 0.42] };
            let pen = |picture: &mut Picture, line: &[[f64; 2]]| {
                stroke(picture, line, width * self.scale, LINE, opacity);
            };
            self.draw_lines(picture, &lattice, level, pen);
        }
    }

    /// Round values that have a contour.
    pub(super) fn levels(&self) -> impl Iterator<Item = f64> {
        let step = round_step(self.limit / CONTOURS);
        let count = (self.limit / step + 1e-6).floor() as i32;
        (-count..=count).map(move |k| f64::from(k) * step)
    }

    /// Where the plane cuts the union of the spheres: the zero of the distance to the nearest circle.
    pub(super) fn draw_outline(&self, picture: &mut Picture, axis: Axis3, atoms: &[AtomSphere]) {
        let counts = self.lattice();
        let [columns, rows] = counts;
        let spacing: [f64; 2] = std::array::from_fn(|k| {
            self.coordinate(k, 1.0 / (counts[k] - 1) as f64) - self.coordinate(k, 0.0)
        });
        let reach = 2.0 * spacing[0].max(spacing[1]);
        let mut nearest = vec![reach; columns * rows];
        for atom in atoms {
            let height = atom.position[axis as usize] - self.plane.at;
            let radius = (atom.radius * atom.radius - height * height).sqrt();
            let center = axis.across().map(|a| atom.position[a as usize]);
            if radius.is_nan() || center.iter().any(|x| !x.is_finite()) {
                continue;
            }
            let range = |k: usize| {
                let [from, to] = [-1.0, 1.0].map(|side| {
                    let share = center[k] + side * (radius + reach) - self.coordinate(k, 0.0);
                    (share / spacing[k]).clamp(0.0, counts[k] as f64) as usize
                });
                from..to
            };
            for row in range(1) {
                for column in range(0) {
                    let x = self.coordinate(0, 0.0) + column as f64 * spacing[0] - center[0];
                    let y = self.coordinate(1, 0.0) + row as f64 * spacing[1] - center[1];
                    let at = &mut nearest[row * columns + column];
                    *at = at.min(x.hypot(y) - radius);
                }
            }
        }
        let lattice = Lattice {
            columns,
            values: nearest,
        };
        for (width, color, opacity) in [(4.2, [255; 3], 0.75), (2.1, LINE, 1.0)] {
            let pen = |picture: &mut Picture, line: &[[f64; 2]]| {
                stroke(picture, line, width * self.scale, color, opacity);
            };
            self.draw_lines(picture, &lattice, 0.0, pen);
        }
    }
}
