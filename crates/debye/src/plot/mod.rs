//! Charts and pictures, drawn here from first to last: one layout, written as SVG or painted as PNG.
//!
//! A [`Chart`] is data; its layout is a list of marks in named inks. As SVG the inks are CSS classes,
//! so that an inlined chart follows the reader's light or dark scheme ([`STYLE`]); as PNG they are the
//! light scheme's colors. Letters in a PNG are DejaVu Sans, embedded (`assets/fonts`, which holds its licence).
//! [`Scenery`] paints particles as shaded spheres.

mod camera;
mod canvas;
mod chart;
mod layout;
mod palette;
mod picture;
mod scene;
mod snapshot;
mod svg;
mod text;
mod ticks;

pub use chart::{Axis, Chart, Series, Stroke};
pub use palette::{Rgb, gradient, series_color};
pub use picture::{Picture, PlotError, data_uri};
pub use snapshot::{Paint, Scenery};
pub use svg::{STYLE, escape};
