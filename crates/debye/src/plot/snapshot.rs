//! [`Scenery`]: particles as shaded spheres.
//!
//! Spheres are written into a depth buffer, so no sorting is needed and spheres that overlap cut each
//! other properly. Shading follows in a second pass: one lamp, dimming where neighbors stand in front
//! (ambient occlusion from the depth buffer), haze with depth. Everything is done on twice the
//! resolution and averaged. Rows are shared out in fixed bands: the same pixels for any number of threads.

use crate::parallel::{InParallel, Indexed};

use super::camera::{Camera, Projected, corners};
use super::canvas::{fill, stroke, write};
use super::palette::{Rgb, gradient, sphere_color};
use super::picture::{Picture, PlotError};
use super::scene::Anchor;
use super::text;
use crate::expr::Vec3;
use crate::system::Snapshot;

/// Samples per pixel each way.
const FINE: usize = 2;
/// Rows of samples that are drawn together.
const BAND: usize = 64;
const NO_PARTICLE: u32 = u32::MAX;
/// Radius in pixels from which a sphere has room for an arrow.
const SMALLEST_WITH_ARROW: f64 = 4.0;
/// Color of arrows.
const ARROW: Rgb = [24, 28, 36];

/// What colors mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Paint<'a> {
    /// Species.
    #[default]
    Species,
    /// A group number for each particle: molecules, clusters.
    Groups(&'a [u32]),
    /// Speed, slow dark to fast bright, and its unit; needs velocities.
    Speed(&'a str),
    /// A number for each particle, and what it is called.
    Values(&'a [f64], &'a str),
}

/// How to look at particles.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenery<'a> {
    /// Pixels across and down.
    pub size: [usize; 2],
    /// Degrees about z, and above the horizon.
    pub angles: [f64; 2],
    /// Strength of the perspective, 0 (parallel rays) to 0.6.
    pub perspective: f64,
    /// What colors mean.
    pub paint: Paint<'a>,
    /// Radius by species; where missing, so large that neighbors nearly touch.
    pub radii: &'a [f64],
    /// Names of the species, for a legend; empty for none.
    pub names: &'a [String],
    /// Species that are left out.
    pub hidden: &'a [u32],
    /// Whether particles that turn carry an arrow along their axis, where they are large enough for one.
    pub arrows: bool,
    /// Written at the top; empty for nothing.
    pub title: &'a str,
    /// Whether the cell's edges are drawn.
    pub edges: bool,
    /// Color of the paper.
    pub paper: Rgb,
}

impl Default for Scenery<'_> {
    fn default() -> Self {
        Self {
            size: [960, 720],
            angles: [28.0, 20.0],
            perspective: 0.22,
            paint: Paint::Species,
            radii: &[],
            names: &[],
            hidden: &[],
            arrows: true,
            title: "",
            edges: true,
            paper: [255; 3],
        }
    }
}

/// A sphere in the picture.
#[derive(Clone, Copy, Default)]
struct Ball {
    at: Projected,
    radius: f32,
    color: Rgb,
}

/// For each sample the depth and the number of the nearest sphere.
struct Buffer {
    width: usize,
    height: usize,
    depth: Vec<f32>,
    owner: Vec<u32>,
}

impl Scenery<'_> {
    /// Paints a frame: a million particles in less than a second on two free cores.
    pub fn render(&self, frame: &Snapshot<'_>) -> Result<Picture, PlotError> {
        let [width, height] = self.size;
        if !(1..=20_000).contains(&width) || !(1..=20_000).contains(&height) {
            return Err(PlotError::Size(width, height));
        }
        let expected = frame.positions.len();
        let fits = |what, found| {
            if found == expected {
                Ok(())
            } else {
                Err(PlotError::Length {
                    what,
                    found,
                    expected,
                })
            }
        };
        fits("species", frame.species.len())?;
        let (colors, bar) = self.colors(frame, fits)?;

        let radius = self.radius_of(frame);
        let mut seen = corners(frame.cell).to_vec();
        if frame.cell.periodic() != [true; 3] {
            seen.extend(bounds(frame.positions));
        }
        let fine = [(width * FINE) as f64, (height * FINE) as f64];
        let foot = if self.has_legend(&bar) { 0.05 } else { 0.0 };
        let margins = [0.05 * fine[0], (0.05 + foot) * fine[1]];
        let camera = Camera::new(&seen, self.angles, self.perspective, fine, margins);
        let shown: Vec<usize> = (0..expected)
            .filter(|&i| !self.hidden.contains(&frame.species[i]))
            .collect();
        let balls: Vec<Ball> = (shown.par_iter())
            .map(|&i| {
                let at = camera.project(frame.positions[i]);
                let radius = radius(frame.species[i]) as f32 * at.scale;
                Ball {
                    at,
                    radius,
                    color: colors[i],
                }
            })
            .collect();
        let buffer = Buffer::draw(&balls, width * FINE, height * FINE);
        let depths = corners(frame.cell).map(|c| camera.project(c).depth);
        let far = depths.iter().fold(f32::INFINITY, |a, &b| a.min(b));
        let near = depths.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
        let mut picture = averaged(&buffer.shade(&balls, self.paper, [far, near]), width, height);
        if let (true, Some(axes)) = (self.arrows, frame.axes) {
            fits("axes", axes.len())?;
            let axes = shown.iter().map(|&i| axes[i]);
            buffer.draw_arrows(&mut picture, &camera, &balls, axes);
        }
        if self.edges {
            self.draw_edges(frame, &camera, &buffer, &mut picture);
        }
        self.draw_legend(&mut picture, &bar);
        self.draw_title(&mut picture);
        Ok(picture)
    }

    /// The color of each particle; and, where it stands for a number, what and from where to where.
    #[allow(clippy::type_complexity)]
    fn colors(
        &self,
        frame: &Snapshot<'_>,
        fits: impl Fn(&'static str, usize) -> Result<(), PlotError>,
    ) -> Result<(Vec<Rgb>, Option<(String, [f64; 2])>), PlotError> {
        let by_value = |values: &[f64], name: &str| {
            // The outermost per cent are cut off: one stray particle must not gray out the rest.
            let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let pick = |share: f64| {
                sorted
                    .get(((sorted.len() as f64 - 1.0) * share) as usize)
                    .copied()
                    .unwrap_or(0.0)
            };
            let range = [pick(0.01), pick(0.99)];
            let scale = 1.0 / (range[1] - range[0]).max(f64::MIN_POSITIVE);
            let colors = values
                .par_iter()
                .map(|v| gradient((v - range[0]) * scale))
                .collect();
            (colors, Some((name.to_string(), range)))
        };
        Ok(match (self.paint, frame.velocities) {
            (Paint::Groups(groups), _) => {
                fits("groups", groups.len())?;
                (groups.iter().map(|&g| group_color(g)).collect(), None)
            }
            (Paint::Values(values, name), _) => {
                fits("values", values.len())?;
                by_value(values, name)
            }
            (Paint::Speed(unit), Some(velocities)) => {
                fits("velocities", velocities.len())?;
                let speeds: Vec<f64> = velocities.iter().map(|v| v.norm()).collect();
                by_value(&speeds, &format!("speed ({unit})"))
            }
            (Paint::Speed(_), None) => {
                return Err(fits("velocities", 0).err().unwrap_or(PlotError::Size(0, 0)));
            }
            (Paint::Species, _) => (
                frame.species.iter().map(|&s| sphere_color(s as usize)).collect(),
                None,
            ),
        })
    }

    /// Radius by species.
    fn radius_of(&self, frame: &Snapshot<'_>) -> impl Fn(u32) -> f64 + Sync {
        let n = frame.positions.len().max(1) as f64;
        let automatic = 0.48 * (frame.cell.volume() / n).cbrt();
        let given = self.radii.to_vec();
        move |species| {
            given
                .get(species as usize)
                .copied()
                .filter(|r| r.is_finite())
                .unwrap_or(automatic)
        }
    }

    /// The cell's edges, where no sphere stands in front.
    fn draw_edges(&self, frame: &Snapshot<'_>, camera: &Camera, buffer: &Buffer, picture: &mut Picture) {
        let corners = corners(frame.cell);
        let ink = if self.on_dark() {
            [150, 160, 172]
        } else {
            [92, 104, 118]
        };
        let width = (picture.width.min(picture.height) as f64 / 720.0 * 1.3).max(0.8);
        for (a, b) in (0..8_usize)
            .flat_map(|a| (0..3).map(move |k| (a, a | 1 << k)))
            .filter(|(a, b)| a != b)
        {
            let ends = [a, b].map(|n| camera.project(corners[n]));
            let steps = (ends[1].x - ends[0].x)
                .hypot(ends[1].y - ends[0].y)
                .ceil()
                .max(1.0);
            let mut run: Vec<[f64; 2]> = Vec::new();
            for step in 0..=steps as usize {
                let share = step as f32 / steps;
                let [x, y, depth] = [|p: &Projected| p.x, |p: &Projected| p.y, |p: &Projected| p.depth]
                    .map(|f| f(&ends[0]) * (1.0 - share) + f(&ends[1]) * share);
                let (px, py) = (x.max(0.0) as usize, y.max(0.0) as usize);
                let inside = px < buffer.width && py < buffer.height;
                if inside && buffer.depth[py * buffer.width + px] < depth {
                    run.push([x, y].map(|v| f64::from(v) / FINE as f64));
                } else if !run.is_empty() {
                    stroke_ends(picture, &std::mem::take(&mut run), width, ink);
                }
            }
            stroke_ends(picture, &run, width, ink);
        }
    }

    fn on_dark(&self) -> bool {
        self.paper.iter().map(|&c| u32::from(c)).sum::<u32>() < 384
    }

    fn has_legend(&self, bar: &Option<(String, [f64; 2])>) -> bool {
        bar.is_some() || (self.paint == Paint::Species && !self.names.is_empty())
    }

    fn draw_title(&self, picture: &mut Picture) {
        let unit = picture.width.min(picture.height) as f64 / 720.0;
        let size = (24.0 * unit).max(9.0);
        let place = ([0.5 * picture.width as f64, 1.4 * size], Anchor::Middle, false);
        write(picture, self.title, size, true, place, self.ink());
    }

    fn ink(&self) -> Rgb {
        if self.on_dark() {
            [205, 212, 220]
        } else {
            [64, 74, 87]
        }
    }

    fn draw_legend(&self, picture: &mut Picture, bar: &Option<(String, [f64; 2])>) {
        if !self.has_legend(bar) {
            return;
        }
        let unit = picture.width.min(picture.height) as f64 / 720.0;
        let size = (17.0 * unit).max(8.0);
        let ink = self.ink();
        let y = picture.height as f64 - 22.0 * unit;
        let mut x = 26.0 * unit;
        let say = |picture: &mut Picture, x: f64, words: &str| {
            write(picture, words, size, false, ([x, y], Anchor::Start, false), ink);
            text::width(words, size, false)
        };
        if let Some((name, range)) = bar {
            x += say(picture, x, &format!("{name}  {}", significant(range[0]))) + 10.0 * unit;
            let (long, high) = ((180.0 * unit).round(), (10.0 * unit).round());
            let (left, top) = (x.round() as i32, (y - 0.3 * size - 0.5 * high).round() as i32);
            for k in 0..long as i32 {
                let color = gradient(f64::from(k) / (long - 1.0).max(1.0));
                (0..high as i32).for_each(|row| picture.blend(left + k, top + row, color, 1.0));
            }
            say(picture, x + long + 10.0 * unit, &significant(range[1]));
            return;
        }
        let shown = |(k, _): &(usize, &String)| !self.hidden.contains(&(*k as u32));
        for (k, name) in self.names.iter().enumerate().filter(shown) {
            let (sin_cos, radius) = (
                |n: i32| (f64::from(n) / 32.0 * std::f64::consts::TAU).sin_cos(),
                0.36 * size,
            );
            let disc = (0..32)
                .map(sin_cos)
                .map(|(s, c)| [x + radius * (1.0 + c), y - 0.34 * size + radius * s]);
            fill(picture, &[disc.collect()], sphere_color(k), 1.0);
            x += 2.0 * radius + 7.0 * unit;
            x += say(picture, x, name) + 22.0 * unit;
        }
    }
}

/// A straight line through the first and the last of some points.
fn stroke_ends(picture: &mut Picture, run: &[[f64; 2]], width: f64, ink: Rgb) {
    if let (Some(&first), Some(&last)) = (run.first(), run.last()) {
        stroke(picture, &[first, last], width, ink, 1.0);
    }
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let decimals = if value == 0.0 {
        0.0
    } else {
        (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0)
    };
    super::ticks::written(value, decimals as usize)
}

/// Colors for any number of groups: the palette, then lighter and darker shades of it.
fn group_color(group: u32) -> Rgb {
    let shade = 1.0 - 0.16 * f64::from(group / 6 % 4);
    sphere_color(group as usize).map(|c| (f64::from(c) * shade) as u8)
}

/// Lowest and highest corner of a cloud of points.
fn bounds(points: &[Vec3<f64>]) -> Vec<Vec3<f64>> {
    let finite = points
        .iter()
        .filter(|p| p.x.is_finite() && p.y.is_finite() && p.z.is_finite());
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for p in finite {
        for k in 0..3 {
            (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k]));
        }
    }
    if low[0] > high[0] {
        return Vec::new();
    }
    (0..8)
        .map(|n| {
            Vec3::new(
                [low[0], high[0]][n & 1],
                [low[1], high[1]][n >> 1 & 1],
                [low[2], high[2]][n >> 2],
            )
        })
        .collect()
}

impl Buffer {
    /// Draws the spheres, band by band.
    fn draw(balls: &[Ball], width: usize, height: usize) -> Self {
        let bands = height.div_ceil(BAND);
        let rows = |ball: &Ball| {
            let reach = ball.radius.max(1.0);
            let sane = ball.at.x.is_finite() && ball.at.y.is_finite() && reach.is_finite();
            let low = ((ball.at.y - reach).floor().max(0.0) as usize) / BAND;
            let high = ((ball.at.y + reach).ceil().max(-1.0) + 1.0) as usize;
            if sane {
                low..high.div_ceil(BAND).min(bands)
            } else {
                0..0
            }
        };
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); bands];
        for (index, ball) in balls.iter().enumerate() {
            rows(ball).for_each(|band| members[band].push(index as u32));
        }
        let mut depth = vec![f32::NEG_INFINITY; width * height];
        let mut owner = vec![NO_PARTICLE; width * height];
        (depth.par_chunks_mut(BAND * width))
            .zip(owner.par_chunks_mut(BAND * width))
            .zip(members.par_iter())
            .enumerate()
            .for_each(|(band, ((depth, owner), members))| {
                for &index in members {
                    splat(&balls[index as usize], index, band * BAND, width, depth, owner);
                }
            });
        Self {
            width,
            height,
            depth,
            owner,
        }
    }

    /// Arrows along the axes of the spheres whose middle is seen.
    fn draw_arrows(
        &self,
        picture: &mut Picture,
        camera: &Camera,
        balls: &[Ball],
        axes: impl Iterator<Item = Vec3<f64>>,
    ) {
        for (k, (ball, axis)) in balls.iter().zip(axes).enumerate() {
            let radius = f64::from(ball.radius) / FINE as f64;
            let (x, y) = (ball.at.x.max(0.0) as usize, ball.at.y.max(0.0) as usize);
            let inside = x < self.width && y < self.height;
            let seen = inside && self.owner[y * self.width + x] == k as u32;
            if axis == Vec3::zero() || radius < SMALLEST_WITH_ARROW || !seen {
                continue;
            }
            let [right, up] = camera.across(axis);
            let middle = [ball.at.x, ball.at.y].map(|v| f64::from(v) / FINE as f64);
            let along = [right * radius, -up * radius];
            let at = |share: f64, aside: f64| {
                let [dx, dy] = along;
                let long = dx.hypot(dy).max(1e-9);
                let across = [-dy / long * radius * aside, dx / long * radius * aside];
                [
                    middle[0] + share * dx + across[0],
                    middle[1] + share * dy + across[1],
                ]
            };
            stroke(picture, &[at(-0.7, 0.0), at(0.3, 0.0)], 0.22 * radius, ARROW, 0.9);
            fill(
                picture,
                &[vec![at(0.85, 0.0), at(0.2, 0.34), at(0.2, -0.34)]],
                ARROW,
                0.9,
            );
        }
    }

    /// The color of each sample.
    fn shade(&self, balls: &[Ball], paper: Rgb, range: [f32; 2]) -> Vec<[f32; 3]> {
        let paper = paper.map(f32::from);
        let mut color = vec![paper; self.width * self.height];
        let lamp = { [-0.42_f32, 0.56, 0.714] };
        color.par_chunks_mut(self.width).enumerate().for_each(|(y, row)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                let at = y * self.width + x;
                if self.owner[at] == NO_PARTICLE {
                    continue;
                }
                let ball = &balls[self.owner[at] as usize];
                let nx = ((x as f32 + 0.5 - ball.at.x) / ball.radius).clamp(-1.0, 1.0);
                let ny = (-(y as f32 + 0.5 - ball.at.y) / ball.radius).clamp(-1.0, 1.0);
                let nz = (1.0 - nx * nx - ny * ny).max(0.0).sqrt();
                let facing = (nx * lamp[0] + ny * lamp[1] + nz * lamp[2]).max(0.0);
                let open = self.openness(x, y, ball.radius);
                let light = open * (0.46 + 0.16 * nz) + 0.5 * facing * (0.45 + 0.55 * open);
                // Halfway between lamp and eye.
                let shine = (-0.227 * nx + 0.302 * ny + 0.926 * nz).max(0.0).powi(40) * 38.0 * open;
                let haze =
                    0.5 * ((range[1] - self.depth[at]) / (range[1] - range[0]).max(1e-6)).clamp(0.0, 1.0);
                for k in 0..3 {
                    let lit = (f32::from(ball.color[k]) * light * 1.06 + shine).min(255.0);
                    pixel[k] = lit + (paper[k] - lit) * haze * haze * 1.3;
                }
            }
        });
        color
    }

    /// How much of the sky a sample sees, 0 to 1, guessed from the depths around it.
    fn openness(&self, x: usize, y: usize, radius: f32) -> f32 {
        const AROUND: [[f32; 2]; 12] = [
            [1.0, 0.0],
            [0.5, 0.87],
            [-0.5, 0.87],
            [-1.0, 0.0],
            [-0.5, -0.87],
            [0.5, -0.87],
            [1.56, 0.9],
            [0.0, 1.8],
            [-1.56, 0.9],
            [-1.56, -0.9],
            [0.0, -1.8],
            [1.56, -0.9],
        ];
        let here = self.depth[y * self.width + x];
        let reach = radius.clamp(3.0, 60.0);
        let mut hidden = 0.0;
        for [dx, dy] in AROUND {
            let (px, py) = (x as f32 + dx * reach, y as f32 + dy * reach);
            if px < 0.0 || py < 0.0 || px as usize >= self.width || py as usize >= self.height {
                continue;
            }
            let above = (self.depth[py as usize * self.width + px as usize] - here) / reach;
            if above > 0.05 {
                hidden += (above * 0.8).min(1.0);
            }
        }
        // Tiny spheres would otherwise all be dark.
        let strength = 0.72 * ((radius - 2.0) / 12.0).clamp(0.25, 1.0);
        1.0 - strength * hidden / 12.0
    }
}

/// Writes the part of a sphere that lies in a band starting at row `first`.
fn splat(ball: &Ball, index: u32, first: usize, width: usize, depth: &mut [f32], owner: &mut [u32]) {
    let (x0, y0, radius) = (ball.at.x, ball.at.y, ball.radius.max(0.6));
    let rows = depth.len() / width;
    let from = ((y0 - radius - 0.5).ceil().max(first as f32)) as usize;
    for y in from..first + rows {
        let dy = y as f32 + 0.5 - y0;
        let half2 = radius * radius - dy * dy;
        if half2 < 0.0 {
            if dy > 0.0 {
                break;
            }
            continue;
        }
        let half = half2.sqrt();
        let left = (x0 - half - 0.5).ceil().max(0.0) as usize;
        let right = ((x0 + half - 0.5).floor() + 1.0).clamp(0.0, width as f32) as usize;
        let row = (y - first) * width;
        for x in left..right {
            let dx = x as f32 + 0.5 - x0;
            let front = ball.at.depth + (half2 - dx * dx).max(0.0).sqrt();
            if front > depth[row + x] {
                depth[row + x] = front;
                owner[row + x] = index;
            }
        }
    }
}

/// Averages samples into pixels, as light adds (squares of the values, nearly).
fn averaged(color: &[[f32; 3]], width: usize, height: usize) -> Picture {
    let mut picture = Picture::filled(width, height, [0; 3]);
    picture
        .pixels
        .par_chunks_mut(3 * width)
        .enumerate()
        .for_each(|(y, row)| {
            for x in 0..width {
                for k in 0..3 {
                    let mut sum = 0.0;
                    for dy in 0..FINE {
                        for dx in 0..FINE {
                            let value = color[(y * FINE + dy) * width * FINE + x * FINE + dx][k];
                            sum += value * value;
                        }
                    }
                    row[3 * x + k] = (sum / (FINE * FINE) as f32).sqrt().round() as u8;
                }
            }
        });
    picture
}
