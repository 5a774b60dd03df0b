//! What a chart looks like, in words that SVG and PNG share.

use super::palette::{DARK, LIGHT, Rgb};

/// A role, not a color: each output chooses the color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Titles.
    Text,
    /// Labels.
    Muted,
    /// The axes' lines.
    Axis,
    /// Grid lines.
    Grid,
    /// Series number.
    Series(usize),
}

impl Ink {
    pub(crate) fn light(self) -> Rgb {
        match self {
            Self::Text => [0x1b, 0x24, 0x30],
            Self::Muted => [0x55, 0x60, 0x6e],
            Self::Axis => [0x9a, 0xa4, 0xb0],
            Self::Grid => [0xe6, 0xea, 0xef],
            Self::Series(k) => LIGHT[k % LIGHT.len()],
        }
    }

    pub(crate) fn dark(self) -> Rgb {
        match self {
            Self::Text => [0xe8, 0xec, 0xf1],
            Self::Muted => [0xa3, 0xad, 0xb9],
            Self::Axis => [0x66, 0x70, 0x7c],
            Self::Grid => [0x2b, 0x33, 0x3d],
            Self::Series(k) => DARK[k % DARK.len()],
        }
    }

    /// Whether another series has its color already.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Self::Series(k) if k >= LIGHT.len())
    }

    /// Its CSS class.
    pub(crate) fn class(self) -> String {
        match self {
            Self::Text => "pt".into(),
            Self::Muted => "pm".into(),
            Self::Axis => "pa".into(),
            Self::Grid => "pg".into(),
            Self::Series(k) => format!("p{}", k % LIGHT.len()),
        }
    }
}

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// One thing drawn. Lengths are in pixels of the chart's nominal size, y downwards.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    Line {
        points: Vec<[f64; 2]>,
        ink: Ink,
        width: f64,
        dashed: bool,
        /// Name of the series, where it is one.
        series: Option<String>,
    },
    Area {
        points: Vec<[f64; 2]>,
        ink: Ink,
        opacity: f64,
    },
    Dot {
        at: [f64; 2],
        radius: f64,
        ink: Ink,
    },
    Text {
        at: [f64; 2],
        text: String,
        size: f64,
        bold: bool,
        anchor: Anchor,
        /// Reads upwards.
        turned: bool,
        ink: Ink,
    },
}

/// A chart laid out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scene {
    pub(crate) size: [f64; 2],
    pub(crate) marks: Vec<Mark>,
    /// Left, top, right, bottom of the data area.
    pub(crate) frame: [f64; 4],
    /// First and last x, first and last y; logarithms on a logarithmic axis.
    pub(crate) ranges: [f64; 4],
    pub(crate) logarithmic: [bool; 2],
    pub(crate) title: String,
}
