//! [`Animation`]: pictures that follow one another, as one file that viewers play, and as a page with a slider.

use super::picture::{Picture, PlotError};
use super::svg::escape;

/// Pictures of one size in time.
#[derive(Clone, Debug)]
pub struct Animation {
    /// What it shows.
    pub title: String,
    /// The pictures and what each is called: its time.
    pub frames: Vec<(Picture, String)>,
    /// Pictures per second, 1 to 60.
    pub rate: u16,
}

impl Animation {
    /// An animated PNG (APNG, part of the PNG standard since its third edition), which begins again at its end. All
    /// browsers play it; other viewers show the first picture.
    ///
    /// # Errors
    /// No pictures, or pictures of several sizes.
    pub fn to_png(&self) -> Result<Vec<u8>, PlotError> {
        let Some((first, _)) = self.frames.first() else {
            return Err(PlotError::Size(0, 0));
        };
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, first.width as u32, first.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_animated(self.frames.len() as u32, 0)?;
        encoder.set_frame_delay(1, self.rate.clamp(1, 60))?;
        let mut writer = encoder.write_header()?;
        for (picture, _) in &self.frames {
            if (picture.width, picture.height) != (first.width, first.height) {
                return Err(PlotError::Size(picture.width, picture.height));
            }
            writer.write_image_data(&picture.pixels)?;
        }
        writer.finish()?;
        Ok(file)
    }

    /// A page that needs nothing else: plays, pauses, and shows any picture by its time.
    ///
    /// # Errors
    /// As [`Self::to_png`].
    pub fn to_html(&self) -> Result<String, PlotError> {
        let mut images = String::new();
        for (picture, name) in &self.frames {
            let image = format!(
                "<img alt=\"{}\" src=\"{}\">",
                escape(name),
                picture.to_data_uri()?
            );
            images.push_str(&image);
            images.push('\n');
        }
        if self.frames.is_empty() {
            return Err(PlotError::Size(0, 0));
        }
        let title = escape(&self.title);
        let (last, pause) = (self.frames.len() - 1, 1000 / u32::from(self.rate.clamp(1, 60)));
        Ok(format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title>\n\
             <style>body{{font:16px system-ui,sans-serif;margin:1rem auto;max-width:64rem;padding:0 1rem}}\
             img{{display:none;max-width:100%}}img.now{{display:block}}#bar{{display:flex;gap:1rem;align-items:center}}\
             #at{{flex:1}}</style></head>\n<body>\n<h1>{title}</h1>\n<div id=\"film\">\n{images}</div>\n\
             <div id=\"bar\"><button id=\"play\">Pause</button>\
             <input id=\"at\" type=\"range\" min=\"0\" max=\"{last}\" value=\"0\" aria-label=\"frame\">\
             <output id=\"time\"></output></div>\n\
             <script>const pause={pause};{SCRIPT}</script>\n</body></html>\n"
        ))
    }
}

const SCRIPT: &str = include_str!("animation.js");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_is_in_both_files() {
        let frame = |shade: u8| (Picture::filled(8, 6, [shade; 3]), format!("{shade} ps"));
        let film = Animation {
            title: "a < b".into(),
            frames: [10, 120, 250].map(frame).into(),
            rate: 10,
        };
        let file = film.to_png().unwrap();
        let decoder = png::Decoder::new(std::io::Cursor::new(file));
        let mut reader = decoder.read_info().unwrap();
        assert_eq!(reader.info().animation_control.map(|a| a.num_frames), Some(3));
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        for want in [10, 120, 250] {
            reader.next_frame(&mut pixels).unwrap();
            assert!(pixels.iter().all(|&p| p == want));
        }
        let page = film.to_html().unwrap();
        assert_eq!(page.matches("<img ").count(), 3);
        assert!(page.contains("a &lt; b") && page.contains("max=\"2\""));
        let none = Animation {
            frames: Vec::new(),
            ..film
        };
        assert!(none.to_png().is_err() && none.to_html().is_err());
    }
}
