//! `debye animate`: a trajectory as an animated picture, and as a page that plays it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use debye::plot::{Animation, Paint, Scenery};

use super::analyze::frames::{Frames, Source};
use super::analyze::picture::{evenly, moment};
use crate::console;
use crate::failure::Failure;
use crate::progress::Patience;

/// Make an animated picture of a trajectory, and a page that plays it
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye animate argon.out/argon.xtc
  debye animate collapse.xtc --frames 120 --spin 90 --rate 24 -o collapse.png

Writes an animated PNG, which browsers play, and beside it a page of the same name with a slider. Particles with
velocities in the trajectory are colored by speed, others by species.")]
pub struct Animate {
    #[command(flatten)]
    source: Source,
    /// How many frames at most, evenly spaced from the first to the last
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    frames: u64,
    /// Frames per second
    #[arg(long, default_value_t = 12, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=60))]
    rate: u16,
    /// Species that are left out, such as W
    #[arg(long, value_name = "NAMES")]
    hide: Option<String>,
    /// Degrees about z, and above the horizon
    #[arg(long, value_delimiter = ',', num_args = 1, default_values_t = [28.0, 20.0], allow_hyphen_values = true, value_name = "TURN,TILT")]
    view: Vec<f64>,
    /// Degrees about z that the view turns by from the first frame to the last
    #[arg(
        long,
        default_value_t = 0.0,
        allow_hyphen_values = true,
        value_name = "DEGREES"
    )]
    spin: f64,
    /// Pixels across and down
    #[arg(long, value_delimiter = ',', num_args = 1, default_values_t = [640, 480], value_name = "WIDTH,HEIGHT")]
    size: Vec<usize>,
    /// The animated PNG; the page lies beside it
    #[arg(long, short, default_value = "animation.png", value_name = "FILE.png")]
    output: PathBuf,
    /// Replace files that are there
    #[arg(long)]
    overwrite: bool,
}

/// Pixels that leave room for the title and the scale, and that films of many frames still fit into memory with.
const SMALLEST: usize = 64;
const LARGEST: usize = 4096;

impl Animate {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let (&[turn, tilt], &[width, height]) = (&self.view[..], &self.size[..]) else {
            return Err(Failure::refused(
                "--view and --size take two numbers each: --view 28,20 --size 640,480",
            ));
        };
        if width.min(height) < SMALLEST || width.max(height) > LARGEST {
            return Err(Failure::refused(format!(
                "--size {width},{height}: pictures have {SMALLEST} to {LARGEST} pixels across and down"
            )));
        }
        let png = self
            .output
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("png"));
        if !png {
            return Err(Failure::refused(format!(
                "{}: what is written is an animated PNG; give it a name that ends in .png",
                self.output.display()
            )));
        }
        let page = self.output.with_extension("html");
        console::check_new(&[self.output.clone(), page.clone()], self.overwrite)?;
        let mut all = 0;
        Frames::open(&self.source)?.for_each(|_| {
            all += 1;
            Ok(())
        })?;
        if all == 0 {
            return Err(Failure::refused("there is no frame to show"));
        }
        let chosen = evenly(all, (self.frames as usize).min(all));
        let mut frames = Frames::open(&self.source)?;
        let hidden = match &self.hide {
            Some(names) => frames.some_species("hide", names)?,
            None => Vec::new(),
        };
        let labels = frames.subject().labels.clone();
        let unit = labels.speed();
        let mut patience = Patience::new("frames");
        let (mut number, mut drawn, mut failed) = (0, Vec::new(), None);
        frames.for_each(|snapshot| {
            if chosen.contains(&number) && failed.is_none() {
                let title = moment(snapshot.time, &labels.time);
                let part = drawn.len() as f64 / chosen.len() as f64;
                let moving = snapshot
                    .velocities
                    .is_some_and(|v| v.iter().any(|v| v.norm2() > 0.0));
                let scenery = Scenery {
                    size: [width, height],
                    angles: [turn + part * self.spin, tilt],
                    names: &labels.species,
                    hidden: &hidden,
                    title: &title,
                    paint: if moving {
                        Paint::Speed(&unit)
                    } else {
                        Paint::Species
                    },
                    ..Scenery::default()
                };
                match scenery.render(snapshot) {
                    Ok(picture) => drawn.push((picture, title)),
                    Err(error) => failed = Some(error),
                }
                patience.show(part);
            }
            number += 1;
            Ok(())
        })?;
        patience.clear();
        if let Some(error) = failed {
            return Err(error.into());
        }
        let name = self.output.file_stem().unwrap_or_default();
        let film = Animation {
            title: name.to_string_lossy().into_owned(),
            frames: drawn,
            rate: self.rate,
        };
        console::save(&self.output, &film.to_png()?)?;
        console::save(&page, film.to_html()?.as_bytes())?;
        let (shown, file) = (film.frames.len(), self.output.display());
        console::print(&format!(
            "{file} and {}: {shown} of {all} frames\n",
            page.display()
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}
