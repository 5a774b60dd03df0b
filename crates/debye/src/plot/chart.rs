//! [`Chart`]: lines over two axes.

use super::picture::{Picture, PlotError};
use super::{canvas, layout, svg};

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it measures, unit included: `temperature (K)`.
    pub label: String,
    /// Whether it is logarithmic; values that are not positive are left out then.
    pub logarithmic: bool,
    /// Values and what stands there; round numbers where there are none. A logarithmic axis has none.
    pub names: Vec<(f64, String)>,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: &str) -> Self {
        Self {
            label: label.into(),
            logarithmic: false,
            names: Vec::new(),
        }
    }

    /// A logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self {
            label: label.into(),
            logarithmic: true,
            names: Vec::new(),
        }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stroke {
    /// A line.
    #[default]
    Solid,
    /// A dashed line.
    Dashed,
    /// A thin line, for noisy data behind a fit.
    Thin,
    /// Dots.
    Dots,
    /// Bars from the lower end of the axis, [`BAR`] wide; a linear axis then begins at zero.
    Bars,
}

/// The width of a bar, in units of the horizontal axis.
pub const BAR: f64 = 0.7;

/// A curve. It is broken where a coordinate is not finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points.
    pub points: Vec<[f64; 2]>,
    /// Standard errors of y, drawn as a band of ± one; those not finite leave a gap.
    pub errors: Option<Vec<f64>>,
    /// How it is drawn.
    pub stroke: Stroke,
    /// The color's number; `None` counts on.
    pub color: Option<usize>,
}

impl Series {
    /// A line through (x, y); the shorter list decides.
    pub fn new(name: &str, x: &[f64], y: &[f64]) -> Self {
        Self {
            name: name.into(),
            points: x.iter().zip(y).map(|(&x, &y)| [x, y]).collect(),
            ..Self::default()
        }
    }

    /// With a band of ± one standard error.
    pub fn with_errors(mut self, errors: &[f64]) -> Self {
        self.errors = Some(errors.to_vec());
        self
    }

    /// Drawn so.
    pub fn with_stroke(mut self, stroke: Stroke) -> Self {
        self.stroke = stroke;
        self
    }

    /// In the color of this number.
    pub fn with_color(mut self, color: usize) -> Self {
        self.color = Some(color);
        self
    }
}

/// A line chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows; empty for none.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
    /// Nominal width and height in pixels.
    pub size: [f64; 2],
}

impl Chart {
    /// A chart without curves, 720 by 380.
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            size: [720.0, 380.0],
        }
    }

    /// With another curve.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// With another size; at least 160 by 120, at most 10 000 each way.
    pub fn with_size(mut self, width: f64, height: f64) -> Self {
        self.size = [width.clamp(160.0, 1e4), height.clamp(120.0, 1e4)];
        self
    }

    /// An SVG file, which follows the light or dark scheme of whoever looks at it.
    pub fn to_svg(&self) -> String {
        svg::write(&layout::arrange(self), true)
    }

    /// An SVG element to be put in a page that has [`super::STYLE`].
    pub fn to_svg_inline(&self) -> String {
        svg::write(&layout::arrange(self), false)
    }

    /// A painting at `scale` pixels for each nominal one (2 is sharp on any screen), on white.
    pub fn paint(&self, scale: f64) -> Picture {
        canvas::paint(&layout::arrange(self), scale.clamp(0.25, 8.0))
    }

    /// A PNG file at twice the nominal size.
    pub fn to_png(&self) -> Result<Vec<u8>, PlotError> {
        self.paint(2.0).to_png()
    }
}
