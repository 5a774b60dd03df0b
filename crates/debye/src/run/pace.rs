//! [`Pace`]: how fast steps are done lately, and whether time is left for more.

use std::time::{Duration, Instant};

/// Seconds that the average looks back.
const MEMORY: f64 = 10.0;

/// Steps per second as a moving average, so that what is shown does not jump.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    rate: Option<f64>,
    seconds: f64,
}

impl Pace {
    /// So many steps took so many seconds; gives the rate now.
    pub(super) fn add(&mut self, steps: u64, seconds: f64) -> f64 {
        let now = steps as f64 / seconds.max(1e-9);
        // The mean of all until there is more than is looked back on.
        self.seconds = (self.seconds + seconds).min(MEMORY);
        let weight = (seconds / self.seconds.max(1e-9)).min(1.0);
        let rate = self.rate.map_or(now, |before| before + weight * (now - before));
        self.rate = Some(rate);
        rate
    }
}

/// Seconds for what ends every run: its report, analyses, the last lines.
const LAST_WORDS: f64 = 2.0;
/// Bytes of a table that are read and drawn in a second at the least.
const TABLE_RATE: f64 = 2e7;

/// How long the parts of an end take, as far as they were seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Closing {
    /// The longest checkpoint so far.
    pub(super) save: Duration,
    /// All checkpoints among the steps.
    pub(super) saves: Duration,
    /// The first picture.
    pub(super) picture: Duration,
}

impl Closing {
    /// The time to leave for an end: twice what was seen, for a disk that is busier by then, and `chunk`, the seconds
    /// between two looks at the clock.
    pub(super) fn room(&self, chunk: f64, table_bytes: u64) -> Duration {
        let seen = 2.0 * (self.save + self.picture).as_secs_f64();
        let table = table_bytes as f64 / TABLE_RATE;
        Duration::from_secs_f64(seen + table + 2.0 * chunk + LAST_WORDS)
    }
}

/// Whether a deadline leaves no room any more.
pub(super) fn is_over(deadline: Option<Instant>, room: Duration) -> bool {
    deadline.is_some_and(|end| Instant::now() + room >= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_moves_slowly_and_arrives() {
        let mut pace = Pace::default();
        assert_eq!(pace.add(20, 0.2), 100.0);
        // One slow moment of many changes little.
        for _ in 0..200 {
            pace.add(20, 0.2);
        }
        let dip = pace.add(2, 0.2);
        assert!((97.0..99.0).contains(&dip), "{dip}");
        // A lasting change is followed.
        let mut rate = dip;
        for _ in 0..200 {
            rate = pace.add(40, 0.2);
        }
        assert!((195.0..=200.0).contains(&rate), "{rate}");
    }

    #[test]
    fn an_end_has_room() {
        let closing = Closing {
            save: Duration::from_secs(10),
            saves: Duration::from_secs(50),
            picture: Duration::from_secs(5),
        };
        let room = closing.room(0.2, 40_000_000).as_secs_f64();
        assert!((34.0..35.0).contains(&room), "{room}");
        let end = |seconds| Some(Instant::now() + Duration::from_secs(seconds));
        assert!(is_over(end(30), closing.room(0.2, 0) + Duration::from_secs(1)));
        assert!(!is_over(end(60), closing.room(0.2, 0)));
        assert!(!is_over(None, closing.room(0.2, 0)));
    }
}
