//! [`Patience`]: says how far a computation is, once it takes longer than anyone likes to wait in silence.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::console;

/// Nothing is said before.
const SILENT: Duration = Duration::from_secs(2);
/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// A bar on a terminal, a line now and then elsewhere.
pub struct Patience {
    what: &'static str,
    began: Instant,
    last_line: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Patience {
    /// For something of this name.
    pub fn new(what: &'static str) -> Self {
        Self {
            what,
            began: Instant::now(),
            last_line: None,
            bar: None,
        }
    }

    /// So much of it is done, from 0 to 1.
    pub fn show(&mut self, part: f64) {
        if self.began.elapsed() < SILENT {
            return;
        }
        let percent = (100.0 * part.clamp(0.0, 1.0)) as u64;
        if std::io::stderr().is_terminal() {
            let what = self.what;
            let bar = self.bar.get_or_insert_with(|| {
                let style = ProgressStyle::with_template("  {msg} {wide_bar} {percent} %");
                let bar = ProgressBar::new(100).with_message(what);
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                bar
            });
            bar.set_position(percent);
        } else if self
            .last_line
            .is_none_or(|last_line| last_line.elapsed() > LINE_EVERY)
        {
            self.last_line = Some(Instant::now());
            console::report(&format!("  {}: {percent} %", self.what));
        }
    }

    /// It is done.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
