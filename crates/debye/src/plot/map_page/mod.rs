//! [`MapPage`]: a volume as one page of HTML that needs nothing else.
//!
//! The values travel as 16 bits of asinh(V / s): evenly spaced where |V| is small, in even ratios where it is large, so
//! that a charge on a point of the grid does not cost the rest its digits. Infinite values are drawn as a thousand times
//! the largest finite one. The viewer is `map.js` (planes) and
//! `space.js` (isosurfaces).

use std::borrow::Cow;
use std::fmt::Write as _;

use debye_io::surfaces::Surface;
use debye_io::volumes::Volume;

use super::isosurface::isosurface;
use super::palette::{MISSING, diverging};
use super::picture::base64;
use super::plane::{color_limit, is_orthogonal};
use super::slice::AtomSphere;
use super::svg::escape;

/// Most bytes that a page holds, before base64 makes them a third longer: less than 12 MB of text.
const BYTES: usize = 8_600_000;
/// Most bytes of the values. Surfaces have what values and atoms leave.
const VALUE_BYTES: usize = 4_800_000;
const ATOM_BYTES: usize = 1_100_000;
/// Colors of the map in the page.
const COLORS: usize = 511;
/// Codes of the values on each side of zero.
const CODES: f64 = 32_767.0;

/// A page that shows a volume: planes across each axis, isosurfaces in space, atoms. It follows the reader's light or
/// dark scheme, and asks nothing of the network.
///
/// ```
/// use debye::plot::MapPage;
/// use debye_io::volumes::Volume;
///
/// let steps = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]];
/// let volume = Volume::new([2, 2, 2], [0.0; 3], steps, vec![0.5_f32; 8])?;
/// let page = MapPage {
///     unit: "kT/e".into(),
///     surfaces: vec![1.0, -1.0],
///     ..MapPage::new("Potential", &volume)
/// };
/// assert!(page.html().starts_with("<!DOCTYPE html>"));
/// # Ok::<(), debye_io::volumes::VolumeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MapPage<'a> {
    /// What the page is about.
    pub title: String,
    /// The map. A grid too large for a page is shown with fewer points, and the page says so.
    pub volume: &'a Volume,
    /// The unit of its values.
    pub unit: String,
    /// The unit of its lengths.
    pub length_unit: String,
    /// Atoms, as spheres.
    pub atoms: Vec<AtomSphere>,
    /// Levels of the isosurfaces.
    pub surfaces: Vec<f64>,
    /// Rows of a table below the pictures.
    pub facts: Vec<(String, String)>,
}

impl<'a> MapPage<'a> {
    /// A page without atoms, surfaces and facts; lengths in Å.
    pub fn new(title: &str, volume: &'a Volume) -> Self {
        MapPage {
            title: title.into(),
            volume,
            unit: String::new(),
            length_unit: "Å".into(),
            atoms: Vec::new(),
            surfaces: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// The page.
    pub fn html(&self) -> String {
        let mut notes = Vec::new();
        let data = self.data(&mut notes);
        let title = escape(&self.title);
        let shape = self.volume.shape().map(|n| n.to_string()).join(" × ");
        let notes: String = notes
            .iter()
            .map(|n| format!("<p class=\"note\">{}</p>\n", escape(n)))
            .collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n\
             <style>\n{}{}</style>\n</head>\n<body>\n<main>\n<header><h1>{title}</h1>\
             <p class=\"made\">{shape} points</p></header>\n{}{notes}{}</main>\n\
             <script>\n'use strict';\nconst map = {data};\n{}{}</script>\n</body>\n</html>\n",
            include_str!("../../../assets/page.css"),
            include_str!("map.css"),
            include_str!("viewers.html"),
            self.table(),
            include_str!("map.js"),
            include_str!("space.js"),
        )
    }

    fn table(&self) -> String {
        if self.facts.is_empty() {
            return String::new();
        }
        let row = |(name, value): &(String, String)| {
            format!("<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value))
        };
        let rows: String = self.facts.iter().map(row).collect();
        format!("<table class=\"facts\"><tbody>{rows}</tbody></table>\n")
    }

    /// The object `map` of the scripts, and what the reader should know of it.
    fn data(&self, notes: &mut Vec<String>) -> String {
        let limit = color_limit(self.volume);
        let shown = fitting(self.volume, VALUE_BYTES / 2, notes);
        let codes = Codes::of(&shown, limit);
        let [low, size] = bounds(self.volume);
        let atoms = self.atom_bytes(notes);
        let surfaces = self.find_surfaces(BYTES - codes.bytes.len() - atoms.len(), notes);
        let colors = (0..COLORS).map(|k| diverging(2.0 * k as f64 / (COLORS - 1) as f64 - 1.0));
        let mut data = format!(
            "{{\"unit\":{},\"lengthUnit\":{},\"shape\":{:?},\"origin\":{:?},\"steps\":{:?},\"orthogonal\":{},\
             \"limit\":{limit:e},\"largest\":{:e},\"scale\":{:e},\"step\":{:e},\"low\":{low:?},\"size\":{size:?},\
             \"missing\":{MISSING:?},\n\"colors\":\"{}\",\n\"atoms\":\"{}\",\n\"surfaces\":[",
            quoted(&self.unit),
            quoted(&self.length_unit),
            shown.shape(),
            shown.origin(),
            whole_steps(&shown),
            is_orthogonal(&shown),
            codes.largest,
            codes.scale,
            codes.step,
            base64(&colors.flatten().collect::<Vec<u8>>()),
            base64(&atoms),
        );
        for (k, (level, surface)) in surfaces.iter().enumerate() {
            let comma = if k > 0 { "," } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(data, "{comma}\n{}", self.surface(*level, surface, [low, size]));
        }
        let _ = write!(data, "],\n\"values\":\"{}\"}}", base64(&codes.bytes));
        data
    }

    /// x, y, z and radius of each atom in single precision.
    fn atom_bytes(&self, notes: &mut Vec<String>) -> Vec<u8> {
        let sound = |atom: &&AtomSphere| {
            let [x, y, z] = atom.position;
            [x, y, z, atom.radius].iter().all(|v| (*v as f32).is_finite()) && atom.radius > 0.0
        };
        let atoms: Vec<&AtomSphere> = self.atoms.iter().filter(sound).collect();
        let every = (16 * atoms.len()).div_ceil(ATOM_BYTES).max(1);
        if every > 1 {
            notes.push(format!("One atom in {every} is shown, to keep the page small."));
        }
        let numbers = |atom: &&AtomSphere| {
            let [x, y, z] = atom.position;
            [x, y, z, atom.radius].map(|v| (v as f32).to_le_bytes())
        };
        atoms.iter().step_by(every).flat_map(numbers).flatten().collect()
    }

    /// The isosurfaces, of a coarser grid where they would take more than so many bytes.
    fn find_surfaces(&self, most: usize, notes: &mut Vec<String>) -> Vec<(f64, Surface)> {
        let levels: Vec<f64> = self.surfaces.iter().copied().filter(|l| l.is_finite()).collect();
        let find = |volume: &Volume| -> Vec<(f64, Surface)> {
            levels
                .iter()
                .map(|&level| (level, isosurface(volume, level)))
                .collect()
        };
        let size = |surfaces: &[(f64, Surface)]| -> usize {
            let bytes = |s: &Surface| 12 * (s.vertices.len() + s.triangles.len());
            surfaces.iter().map(|(_, s)| bytes(s)).sum()
        };
        let mut surfaces = find(self.volume);
        let mut every = 1;
        while size(&surfaces) > most {
            every += 1;
            surfaces = find(&thinned(self.volume, [every; 3]));
        }
        if every > 1 {
            notes.push(format!(
                "The isosurfaces are those of every {} point along each axis, to keep the page small.",
                ordinal(every)
            ));
        }
        surfaces
    }

    /// One surface of the object `map`: 12 bytes for each vertex, 12 for each triangle.
    fn surface(&self, level: f64, surface: &Surface, [low, size]: [[f64; 3]; 2]) -> String {
        let mut vertices = Vec::with_capacity(12 * surface.vertices.len());
        for (vertex, normal) in surface.vertices.iter().zip(&surface.normals) {
            for k in 0..3 {
                let share = (f64::from(vertex[k]) - low[k]) / size[k];
                vertices.extend(((65_535.0 * share).round() as u16).to_le_bytes());
            }
            vertices.extend([0, 0]);
            vertices.extend(normal.map(|x| (127.0 * x).round() as i8 as u8));
            vertices.push(0);
        }
        let triangles = surface.triangles.iter().flatten().flat_map(|n| n.to_le_bytes());
        format!(
            "{{\"label\":{},\"color\":{:?},\"vertices\":\"{}\",\"triangles\":\"{}\"}}",
            quoted(&format!("{level} {}", self.unit).replace('-', "−")),
            diverging(if level < 0.0 { -0.8 } else { 0.8 }),
            base64(&vertices),
            base64(&triangles.collect::<Vec<u8>>()),
        )
    }
}

/// Values as 16 bits: 0 for NaN, 32768 for zero.
struct Codes {
    /// The largest finite |V|.
    largest: f64,
    /// The s of asinh(V / s).
    scale: f64,
    /// From code to code.
    step: f64,
    bytes: Vec<u8>,
}

impl Codes {
    fn of(volume: &Volume, limit: f64) -> Self {
        let values = || (0..volume.values().len()).map(|n| volume.values().get(n).unwrap_or(f64::NAN));
        let finite = values().filter(|v| v.is_finite());
        // More than the single precision of the viewer holds would be infinite there.
        let largest = finite.fold(limit, |m, v| m.max(v.abs())).min(1e34);
        let end = if values().any(f64::is_infinite) {
            1e3 * largest
        } else {
            largest
        };
        let scale = 0.02 * limit.min(1e34);
        let step = (end / scale).asinh() / CODES;
        let code = |value: f64| match value {
            v if v.is_nan() => 0,
            v => (32_768.0 + ((v / scale).asinh() / step).round().clamp(-CODES, CODES)) as u16,
        };
        Codes {
            largest,
            scale,
            step,
            bytes: values().flat_map(|v| code(v).to_le_bytes()).collect(),
        }
    }
}

/// A volume of at most so many points: every second, every third ... of the axes that have most.
fn fitting<'a>(volume: &'a Volume, most: usize, notes: &mut Vec<String>) -> Cow<'a, Volume> {
    let shape = volume.shape();
    let mut every = [1; 3];
    let left = |every: [usize; 3]| [0, 1, 2].map(|k| shape[k].div_ceil(every[k]));
    while left(every).iter().product::<usize>() > most {
        let counts = left(every);
        let longest = (0..3).max_by_key(|&k| counts[k]).unwrap_or(0);
        every[longest] += 1;
    }
    if every != [1; 3] {
        let counts = left(every).map(|n| n.to_string()).join(" × ");
        notes.push(format!(
            "The planes show {counts} of the points, to keep the page small."
        ));
    }
    thinned(volume, every)
}

/// Some of the points of a volume.
fn thinned(volume: &Volume, every: [usize; 3]) -> Cow<'_, Volume> {
    if every == [1; 3] {
        return Cow::Borrowed(volume);
    }
    let counts: [usize; 3] = std::array::from_fn(|k| volume.shape()[k].div_ceil(every[k]));
    let mut values = Vec::with_capacity(counts.iter().product());
    for i in 0..counts[0] {
        for j in 0..counts[1] {
            for k in 0..counts[2] {
                let point = [i * every[0], j * every[1], k * every[2]];
                values.push(volume.value(point).unwrap_or(f64::NAN));
            }
        }
    }
    let steps = std::array::from_fn(|k| volume.steps()[k].map(|x| x * every[k] as f64));
    // Steps that are independent stay so.
    Volume::new(counts, volume.origin(), steps, values).map_or(Cow::Borrowed(volume), Cow::Owned)
}

/// The steps; along an axis of one point, where any is allowed, one as long as the others.
fn whole_steps(volume: &Volume) -> [[f64; 3]; 3] {
    let (shape, mut steps) = (volume.shape(), volume.steps());
    let length = |step: &[f64; 3]| step.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let others = (0..3).filter(|&k| shape[k] > 1).map(|k| length(&steps[k]));
    let usual = others.reduce(f64::max).unwrap_or(1.0);
    for k in (0..3).filter(|&k| shape[k] == 1) {
        steps[k] = [0.0; 3];
        steps[k][k] = usual;
    }
    steps
}

/// Lowest corner and size of the box around a grid.
fn bounds(volume: &Volume) -> [[f64; 3]; 2] {
    let last = volume.shape().map(|n| n - 1);
    let corner = |n: usize| volume.position([0, 1, 2].map(|k| if n >> k & 1 == 1 { last[k] } else { 0 }));
    let extreme = |of: fn(f64, f64) -> f64| {
        let corners = (1..8).map(corner);
        corners.fold(corner(0), |m, p| [0, 1, 2].map(|k| of(m[k], p[k])))
    };
    let [low, high] = [extreme(f64::min), extreme(f64::max)];
    [low, [0, 1, 2].map(|k| (high[k] - low[k]).max(f64::MIN_POSITIVE))]
}

fn ordinal(n: usize) -> String {
    match n {
        2 => "second".into(),
        3 => "third".into(),
        n => format!("{n}th"),
    }
}

/// A string of JSON that is safe within a script of HTML.
fn quoted(text: &str) -> String {
    let mut safe = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | ..' ' => {
                let _ = write!(safe, "\\u{:04x}", c as u32);
            }
            c => safe.push(c),
        }
    }
    safe.push('"');
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [[f64; 3]; 3] = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]];

    fn volume(shape: [usize; 3], value: impl Fn(usize) -> f64) -> Volume {
        let values: Vec<f64> = (0..shape.iter().product()).map(value).collect();
        Volume::new(shape, [0.0; 3], STEPS, values).unwrap()
    }

    /// As `map.js` reads them.
    fn decoded(codes: &Codes) -> Vec<f64> {
        let code = |two: &[u8]| f64::from(u16::from_le_bytes([two[0], two[1]]));
        let value = |code: f64| match code {
            0.0 => f64::NAN,
            code => codes.scale * ((code - 32_768.0) * codes.step).sinh(),
        };
        codes.bytes.chunks(2).map(code).map(value).collect()
    }

    #[test]
    fn values_keep_three_digits_over_many_decades() {
        let value = |n: usize| match n {
            0 => f64::NAN,
            1 => 0.0,
            n => (-1.0_f64).powi(n as i32) * 10_f64.powf(n as f64 / 10.0 - 5.0),
        };
        let volume = volume([90, 1, 1], value);
        let read = decoded(&Codes::of(&volume, 1.0));
        assert!(read[0].is_nan() && read[1] == 0.0);
        for (n, read) in read.into_iter().enumerate().skip(2) {
            let error = (read - value(n)).abs();
            assert!(error < 5e-4 * value(n).abs() + 1e-5, "{n}: {read} {}", value(n));
        }
    }

    #[test]
    fn infinite_values_are_beyond_the_finite_ones() {
        let wild = volume([2, 2, 1], |n| {
            [f64::INFINITY, f64::NEG_INFINITY, 3.0, f64::NAN][n]
        });
        let read = decoded(&Codes::of(&wild, 4.0));
        assert!(read[0] > 3e3 && read[1] < -3e3 && (read[2] - 3.0).abs() < 3e-3 && read[3].is_nan());
        for value in [1e300, f64::NAN, f64::INFINITY, 0.0, 1e-300] {
            let volume = volume([2, 3, 1], |_| value);
            let codes = Codes::of(&volume, color_limit(&volume));
            assert!(
                [codes.largest, codes.scale, codes.step]
                    .iter()
                    .all(|x| x.is_finite() && *x > 0.0)
            );
            let head = MapPage::new("", &volume).data(&mut Vec::new());
            let head = head.split("colors").next().unwrap();
            assert!(!head.contains("inf") && !head.contains("NaN"), "{head}");
        }
    }

    #[test]
    fn large_grids_lose_points_of_their_longest_axes() {
        let mut notes = Vec::new();
        let long = volume([300, 4, 2], |n| n as f64);
        let shown = fitting(&long, 500, &mut notes);
        assert_eq!(shown.shape(), [60, 4, 2]);
        assert_eq!(shown.value([7, 3, 1]), long.value([35, 3, 1]));
        assert_eq!(shown.position([7, 3, 1]), long.position([35, 3, 1]));
        assert_eq!(
            notes,
            ["The planes show 60 × 4 × 2 of the points, to keep the page small."]
        );
        notes.clear();
        assert_eq!(fitting(&long, 2400, &mut notes).shape(), [300, 4, 2]);
        assert!(notes.is_empty());
    }

    #[test]
    fn too_large_surfaces_are_made_coarser() {
        let wave = volume([24; 3], |n| ((n % 24) as f64 * 0.7).sin());
        let page = MapPage {
            surfaces: vec![0.5, -0.5, f64::NAN],
            ..MapPage::new("", &wave)
        };
        let mut notes = Vec::new();
        let fine = page.find_surfaces(usize::MAX, &mut notes);
        assert!(fine.len() == 2 && notes.is_empty());
        let coarse = page.find_surfaces(60_000, &mut notes);
        assert!(coarse[0].1.triangles.len() < fine[0].1.triangles.len());
        assert!(
            notes[0].starts_with("The isosurfaces are those of every "),
            "{notes:?}"
        );
    }

    #[test]
    fn texts_cannot_leave_their_places() {
        let volume = volume([3, 3, 3], |n| n as f64);
        let hostile = "</script><b>\"'\\\u{2028}";
        let atom = AtomSphere {
            position: [f64::NAN; 3],
            radius: 1.0,
        };
        let page = MapPage {
            unit: hostile.into(),
            length_unit: hostile.into(),
            atoms: vec![atom],
            surfaces: vec![4.0, f64::INFINITY],
            facts: vec![(hostile.into(), hostile.into())],
            ..MapPage::new(hostile, &volume)
        };
        let html = page.html();
        assert_eq!(html.matches("</script>").count(), 1);
        assert!(!html.contains("<b>") && !html.contains("://"));
        assert!(html.contains("\"atoms\":\"\""));
    }
}
