//! Charts and pictures, drawn here from first to last: one layout, written as SVG or painted as PNG.
//!
//! A [`Chart`] is data; its layout is a list of marks in named inks. As SVG the inks are CSS classes,
//! so that an inlined chart follows the reader's light or dark scheme ([`STYLE`]); as PNG they are the
//! light scheme's colors. Letters in a PNG are DejaVu Sans, embedded (`assets/fonts`, which holds its licence).
//! [`Scenery`] paints particles as shaded spheres, [`SliceFigure`] a plane of a map;
//! [`isosurface`] finds the triangles of a level, [`Animation`] makes a film of pictures. [`MapPage`] is a viewer of a map in one file.

mod animation;
mod camera;
mod canvas;
mod chart;
mod contour;
mod isosurface;
mod layout;
mod map_page;
mod palette;
mod picture;
mod plane;
mod scene;
mod slice;
mod snapshot;
mod svg;
mod text;
mod ticks;

pub use animation::Animation;
pub use chart::{Axis, BAR, Chart, Series, Stroke};
pub use isosurface::isosurface;
pub use map_page::MapPage;
pub use palette::{MISSING, Rgb, diverging, gradient, series_color};
pub use picture::{Picture, PlotError, data_uri};
pub use plane::Axis3;
pub use slice::{AtomSphere, SliceFigure};
pub use snapshot::{Paint, Scenery};
pub use svg::{STYLE, escape};
