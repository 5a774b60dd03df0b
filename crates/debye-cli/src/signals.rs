//! What a run does when it is told to stop or to save.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// Signals this soon after the first are the same wish: `timeout` sends two, a terminal that closes too.
const ONE_WISH: Duration = Duration::from_secs(1);

/// Flags that signals raise.
#[derive(Clone, Default)]
pub struct Wishes {
    /// Stop soon, with everything saved.
    pub stop: Arc<AtomicBool>,
    /// Write a checkpoint and go on.
    pub save: Arc<AtomicBool>,
}

impl Wishes {
    /// Listens: Ctrl-C, SIGTERM and SIGHUP ask to stop, and end the program at once when they come again later than a
    /// second after the first; SIGUSR1 asks for a checkpoint. SIGHUP stays ignored where it is, as under `nohup`.
    pub fn listen() -> Result<Self, Failure> {
        let wishes = Self::default();
        let mut wanted = vec![SIGINT, SIGTERM, SIGUSR1];
        if !is_ignored(SIGHUP) {
            wanted.push(SIGHUP);
        }
        let mut signals =
            Signals::new(wanted).map_err(|e| Failure::failed(format!("cannot listen to signals: {e}")))?;
        let flags = wishes.clone();
        std::thread::spawn(move || {
            let mut first: Option<Instant> = None;
            for signal in signals.forever() {
                if signal == SIGUSR1 {
                    flags.save.store(true, Ordering::Relaxed);
                } else if first.is_some_and(|first| first.elapsed() > ONE_WISH) {
                    signal_hook::low_level::exit(128 + signal);
                } else {
                    first = first.or_else(|| Some(Instant::now()));
                    flags.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        Ok(wishes)
    }
}

/// Whether the program was started with a signal ignored, where the system says so.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
