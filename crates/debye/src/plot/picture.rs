//! [`Picture`]: pixels, and how they become a PNG.

use super::palette::Rgb;

/// Why a picture could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The encoder failed.
    #[error("the picture could not be encoded as PNG: {0}")]
    Encode(#[from] png::EncodingError),
    /// A picture without pixels or beyond reason.
    #[error("a picture of {0} by {1} pixels cannot be made; expected 1 to 20000 each way")]
    Size(usize, usize),
    /// A list that does not fit the particles.
    #[error("there are {found} {what} for {expected} particles")]
    Length {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many particles.
        expected: usize,
    },
    /// A plane that does not meet the grid.
    #[error("the plane {axis} = {at} lies outside of the grid, which goes from {} to {}", .range[0], .range[1])]
    Outside {
        /// Name of the axis.
        axis: char,
        /// Coordinate of the plane.
        at: f64,
        /// First and last coordinate of the grid.
        range: [f64; 2],
    },
    /// Planes across x, y and z are none of an oblique grid.
    #[error("a slice needs a grid with steps along x, y and z; the steps are {steps:?}")]
    Oblique {
        /// The steps of the grid.
        steps: [[f64; 3]; 3],
    },
}

/// A picture in memory: red, green, blue, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// 3 · width · height bytes.
    pub pixels: Vec<u8>,
}

impl Picture {
    /// A picture of one color.
    pub fn filled(width: usize, height: usize, color: Rgb) -> Self {
        Self {
            width,
            height,
            pixels: color.iter().copied().cycle().take(3 * width * height).collect(),
        }
    }

    /// Lays a color over a pixel; outside the picture nothing happens.
    pub fn blend(&mut self, x: i32, y: i32, color: Rgb, opacity: f32) {
        if x < 0 || y < 0 || x as usize >= self.width || y as usize >= self.height {
            return;
        }
        let at = 3 * (y as usize * self.width + x as usize);
        let opacity = opacity.clamp(0.0, 1.0);
        for (pixel, ink) in self.pixels[at..at + 3].iter_mut().zip(color) {
            let below = f32::from(*pixel);
            *pixel = (below + (f32::from(ink) - below) * opacity).round() as u8;
        }
    }

    /// Pictures from left to right, as high as the highest.
    pub fn beside(pictures: &[Self]) -> Self {
        let width = pictures.iter().map(|p| p.width).sum();
        let height = pictures.iter().map(|p| p.height).max().unwrap_or(0);
        let mut all = Self::filled(width, height, [255; 3]);
        let mut left = 0;
        for picture in pictures {
            for (y, row) in picture.pixels.chunks_exact(3 * picture.width).enumerate() {
                let at = 3 * (y * width + left);
                all.pixels[at..at + row.len()].copy_from_slice(row);
            }
            left += picture.width;
        }
        all
    }

    /// A PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, PlotError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(file)
    }

    /// The PNG as a `data:` address, for a page or an SVG.
    pub fn to_data_uri(&self) -> Result<String, PlotError> {
        Ok(data_uri("image/png", &self.to_png()?))
    }
}

/// A `data:` address (RFC 2397) in base64.
pub fn data_uri(kind: &str, bytes: &[u8]) -> String {
    format!("data:{kind};base64,{}", base64(bytes))
}

/// Bytes as text (RFC 4648).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |b, &byte| b << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for k in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(
                data_uri("a/b", plain.as_bytes()),
                format!("data:a/b;base64,{coded}")
            );
        }
    }
}
