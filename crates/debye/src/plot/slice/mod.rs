//! [`SliceFigure`]: a plane of a volume in colors, with contour lines, axes, a scale bar and the outline of a molecule.

mod annotations;
mod sheet;

use debye_io::volumes::Volume;

use self::sheet::Sheet;
use super::palette::Rgb;
use super::picture::{Picture, PlotError};
use super::plane::{Axis3, Plane, color_limit};

const TITLE: f64 = 18.0;
const LABEL: f64 = 14.5;
const TICK: f64 = 13.0;
/// Color of contours and of the outline.
const LINE: Rgb = [30, 34, 42];

/// An atom as a sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtomSphere {
    /// Its center, in the unit of the grid.
    pub position: [f64; 3],
    /// Its radius.
    pub radius: f64,
}

/// A figure of one plane of a volume.
///
/// ```
/// use debye::plot::{Axis3, SliceFigure};
/// use debye_io::volumes::Volume;
///
/// let steps = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]];
/// let volume = Volume::new([3, 3, 2], [0.0; 3], steps, vec![0.5_f32; 18])?;
/// let figure = SliceFigure::new(&volume).axis(Axis3::Z).at(0.2).label("potential").unit("kT/e");
/// let picture = figure.size(400, 300).paint()?;
/// assert!(picture.width <= 400 && picture.height <= 300);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SliceFigure<'a> {
    volume: &'a Volume,
    axis: Axis3,
    at: Option<f64>,
    atoms: &'a [AtomSphere],
    label: String,
    unit: String,
    length_unit: String,
    limit: Option<f64>,
    size: [usize; 2],
}

impl<'a> SliceFigure<'a> {
    /// The middle plane across z, in Å, at most 960 by 800 pixels.
    pub fn new(volume: &'a Volume) -> Self {
        SliceFigure {
            volume,
            axis: Axis3::Z,
            at: None,
            atoms: &[],
            label: String::new(),
            unit: String::new(),
            length_unit: "Å".into(),
            limit: None,
            size: [960, 800],
        }
    }

    /// Across this axis.
    #[must_use]
    pub fn axis(mut self, axis: Axis3) -> Self {
        self.axis = axis;
        self
    }

    /// At this coordinate, by linear interpolation between planes of the grid.
    #[must_use]
    pub fn at(mut self, coordinate: f64) -> Self {
        self.at = Some(coordinate);
        self
    }

    /// With the outline of these atoms.
    #[must_use]
    pub fn atoms(mut self, atoms: &'a [AtomSphere]) -> Self {
        self.atoms = atoms;
        self
    }

    /// What the values are.
    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        self.label = label.into();
        self
    }

    /// Their unit.
    #[must_use]
    pub fn unit(mut self, unit: &str) -> Self {
        self.unit = unit.into();
        self
    }

    /// The unit of the grid's lengths.
    #[must_use]
    pub fn length_unit(mut self, unit: &str) -> Self {
        self.length_unit = unit.into();
        self
    }

    /// Colors from −limit to limit. By default a round number that 98 % of all |V| of the volume lie below.
    #[must_use]
    pub fn limit(mut self, limit: f64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Pixels across and down at most. The picture is as much smaller as the shape of the plane asks for.
    #[must_use]
    pub fn size(mut self, width: usize, height: usize) -> Self {
        self.size = [width, height];
        self
    }

    /// Paints it on white.
    ///
    /// # Errors
    /// [`PlotError::Oblique`] for a grid whose steps are not along x, y and z, [`PlotError::Outside`],
    /// [`PlotError::Size`].
    pub fn paint(&self) -> Result<Picture, PlotError> {
        let [width, height] = self.size;
        if !(1..=20_000).contains(&width) || !(1..=20_000).contains(&height) {
            return Err(PlotError::Size(width, height));
        }
        let plane = Plane::cut(self.volume, self.axis, self.at)?;
        let given = self.limit.map(f64::abs).filter(|l| l.is_finite() && *l > 0.0);
        let limit = given.unwrap_or_else(|| color_limit(self.volume));
        let sheet = Sheet::new(self, plane, limit);
        let mut picture = Picture::filled(sheet.size[0], sheet.size[1], [255; 3]);
        sheet.color(&mut picture);
        sheet.draw_contours(&mut picture);
        sheet.draw_outline(&mut picture, self.axis, self.atoms);
        sheet.draw_frame(&mut picture);
        sheet.draw_axes(&mut picture, self);
        sheet.draw_scale_bar(&mut picture, &self.length_unit);
        sheet.draw_color_bar(&mut picture, self);
        sheet.draw_title(&mut picture, self);
        Ok(picture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::palette::diverging;

    const STEPS: [[f64; 3]; 3] = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]];

    fn volume(shape: [usize; 3], value: impl Fn(usize) -> f64) -> Volume {
        let values: Vec<f64> = (0..shape.iter().product()).map(value).collect();
        Volume::new(shape, [0.0; 3], STEPS, values).unwrap()
    }

    fn pixel(picture: &Picture, [x, y]: [f64; 2]) -> Rgb {
        let at = 3 * (y as usize * picture.width + x as usize);
        [0, 1, 2].map(|k| picture.pixels[at + k])
    }

    #[test]
    fn colors_and_outline_lie_where_they_should() {
        // 1 on the left half, −1 on the right one.
        let volume = volume([21, 21, 3], |n| if n / 63 < 10 { 1.0 } else { -1.0 });
        let atoms = [AtomSphere {
            position: [5.0, 5.0, 0.5],
            radius: 2.5,
        }];
        let figure = SliceFigure::new(&volume).at(0.5).atoms(&atoms).limit(2.0);
        let picture = figure.paint().unwrap();
        let sheet = Sheet::new(&figure, Plane::cut(&volume, Axis3::Z, Some(0.5)).unwrap(), 2.0);
        let at = |x: f64, y: f64| pixel(&picture, [sheet.pixel(0, x), sheet.pixel(1, y)]);
        assert_eq!(at(1.0, 8.0), diverging(0.5));
        assert_eq!(at(9.0, 8.0), diverging(-0.5));
        for angle in 0..12 {
            let (sin, cos) = f64::from(angle).sin_cos();
            assert_eq!(at(5.0 + 2.5 * cos, 5.0 + 2.5 * sin), LINE, "{angle}");
        }
        // A plane that misses the sphere shows no outline.
        let away = SliceFigure::new(&volume).at(0.0).limit(2.0);
        let none = away.clone().paint().unwrap();
        let small = [AtomSphere {
            radius: 0.4,
            ..atoms[0]
        }];
        assert_eq!(away.atoms(&small).paint().unwrap(), none);
    }

    #[test]
    fn odd_grids_are_painted() {
        let shapes = [[1, 1, 1], [400, 1, 1], [1, 300, 2], [30, 20, 10]];
        for (shape, axis) in shapes.into_iter().flat_map(|s| Axis3::ALL.map(|a| (s, a))) {
            for value in [0.0, -1e-30, 1e300, f64::NAN, f64::INFINITY] {
                let mixed = volume(shape, |n| if n % 3 == 0 { value } else { n as f64 });
                for volume in [&volume(shape, |_| value), &mixed] {
                    let figure = SliceFigure::new(volume).axis(axis).label("potential").unit("V");
                    let picture = figure.size(200, 160).paint().unwrap();
                    assert!(
                        picture.width > 60 && picture.height > 60,
                        "{shape:?} {axis:?} {value}"
                    );
                }
            }
        }
    }

    #[test]
    fn atoms_and_limits_without_sense_are_passed_over() {
        let volume = volume([9, 9, 9], |n| n as f64 - 300.0);
        let plain = SliceFigure::new(&volume).size(300, 300).paint().unwrap();
        let atom = |x, radius| AtomSphere {
            position: [x, 1.0, 2.0],
            radius,
        };
        let atoms = [
            atom(f64::NAN, 1.0),
            atom(1.0, f64::NAN),
            atom(1.0, -0.0),
            atom(1e300, 5.0),
        ];
        let figure = SliceFigure::new(&volume).size(300, 300).atoms(&atoms);
        assert_eq!(figure.clone().paint().unwrap(), plain);
        for limit in [0.0, f64::NAN, f64::INFINITY] {
            assert_eq!(figure.clone().limit(limit).paint().unwrap(), plain);
        }
        for size in [[0, 100], [100, 30_000]] {
            let refused = figure.clone().size(size[0], size[1]).paint();
            assert!(matches!(refused, Err(PlotError::Size(..))));
        }
        assert!(figure.size(1, 1).paint().is_ok());
    }
}
