//! `debye analyze picture`: frames of a trajectory as pictures, side by side.

use std::path::PathBuf;

use clap::Args;
use debye::plot::{Picture, Scenery};

use super::frames::{Frames, Source};
use crate::console;
use crate::failure::Failure;

/// Pictures of some frames.
#[derive(Args)]
pub struct Look {
    #[command(flatten)]
    source: Source,
    /// How many frames, evenly spaced from the first to the last; 1 is the last
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=12))]
    frames: u64,
    /// Species that are left out, such as W
    #[arg(long, value_name = "NAMES")]
    hide: Option<String>,
    /// Degrees about z, and above the horizon
    #[arg(long, value_delimiter = ',', num_args = 1, default_values_t = [28.0, 20.0], allow_hyphen_values = true, value_name = "TURN,TILT")]
    view: Vec<f64>,
    /// Pixels across and down, of one frame
    #[arg(long, value_delimiter = ',', num_args = 1, default_values_t = [960, 720], value_name = "WIDTH,HEIGHT")]
    size: Vec<usize>,
    /// No arrows on particles that turn
    #[arg(long)]
    no_arrows: bool,
    /// The PNG file
    #[arg(long, short, default_value = "picture.png", value_name = "FILE")]
    output: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    overwrite: bool,
}

impl Look {
    /// Draws them.
    pub fn execute(&self) -> Result<(), Failure> {
        let (&[turn, tilt], &[width, height]) = (&self.view[..], &self.size[..]) else {
            return Err(Failure::refused(
                "--view and --size take two numbers each: --view 28,20 --size 960,720",
            ));
        };
        if self.output.exists() && !self.overwrite {
            let file = self.output.display();
            return Err(Failure::refused(format!(
                "{file} exists already. Replace it with --overwrite, or name another file"
            )));
        }
        let mut all = 0;
        Frames::open(&self.source)?.for_each(|_| {
            all += 1;
            Ok(())
        })?;
        let chosen = evenly(all, self.frames as usize);
        let mut frames = Frames::open(&self.source)?;
        let hidden = match &self.hide {
            Some(names) => frames.some_species("hide", names)?,
            None => Vec::new(),
        };
        let labels = frames.subject().labels.clone();
        let scenery = Scenery {
            size: [width, height],
            angles: [turn, tilt],
            names: &labels.species,
            hidden: &hidden,
            arrows: !self.no_arrows,
            ..Scenery::default()
        };
        let (mut number, mut pictures) = (0, Vec::new());
        frames.for_each(|snapshot| {
            if chosen.contains(&number) {
                let title = match chosen.len() {
                    1 => String::new(),
                    _ => moment(snapshot.time, &labels.time),
                };
                let titled = Scenery {
                    title: &title,
                    ..scenery.clone()
                };
                pictures.push(titled.render(snapshot));
            }
            number += 1;
            Ok(())
        })?;
        let pictures = pictures.into_iter().collect::<Result<Vec<_>, _>>();
        let png = pictures.and_then(|pictures| Picture::beside(&pictures).to_png());
        let png = png.map_err(|e| Failure::failed(e.to_string()))?;
        std::fs::write(&self.output, png)
            .map_err(|e| Failure::failed(format!("{}: {e}", self.output.display())))?;
        let count = chosen.len();
        console::print(&format!("{}: {count} of {all} frames\n", self.output.display()))
    }
}

/// Numbers of so many frames out of `all`, the last one always.
pub fn evenly(all: usize, wanted: usize) -> Vec<usize> {
    let last = all.saturating_sub(1);
    let mut chosen: Vec<usize> = match wanted {
        1 => vec![last],
        _ => (0..wanted)
            .map(|k| (k * last + (wanted - 1) / 2) / (wanted - 1))
            .collect(),
    };
    chosen.dedup();
    chosen
}

/// A time in words, without the digits of single precision.
pub fn moment(time: f64, unit: &str) -> String {
    let rounded = |time: f64| format!("{time:.5e}").parse::<f64>().unwrap_or(time);
    match unit {
        "ps" if time >= 1000.0 => format!("{} ns", rounded(time / 1000.0)),
        _ => format!("{} {unit}", rounded(time)),
    }
}
