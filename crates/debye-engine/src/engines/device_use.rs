//! [`DeviceUse`]: what a device did for a simulation, and the memory it takes.

use std::fmt;

const GIB: f64 = (1_u64 << 30) as f64;

/// Bytes of device memory, by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs(pub Vec<(&'static str, usize)>);

impl Needs {
    /// All of it.
    pub fn total(&self) -> usize {
        self.0.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Says what one thing takes from now on.
    pub(crate) fn set(&mut self, what: &'static str, bytes: usize) {
        self.0.retain(|(name, _)| *name != what);
        self.0.push((what, bytes));
    }

    /// What one thing takes.
    pub fn of(&self, what: &str) -> usize {
        self.0.iter().filter(|(name, _)| *name == what).map(|n| n.1).sum()
    }
}

/// The sum, and what takes most first; what takes less than a hundredth of it is left out.
impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let mut parts: Vec<_> = self.0.iter().filter(|(_, bytes)| 100 * bytes >= total).collect();
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let parts: Vec<String> = parts
            .iter()
            .map(|(name, bytes)| format!("{name} {}", size(*bytes)))
            .collect();
        write!(f, "{} ({})", size(total), parts.join(", "))
    }
}

/// Bytes as people say them.
fn size(bytes: usize) -> String {
    let bytes = bytes as f64;
    if bytes >= GIB {
        format!("{:.2} GiB", bytes / GIB)
    } else if bytes >= 1024.0 * 1024.0 {
        format!("{:.1} MiB", bytes / (1024.0 * 1024.0))
    } else {
        format!("{:.1} KiB", bytes / 1024.0)
    }
}

/// A simulation that does not fit into the memory of its device.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortage {
    /// The device.
    pub device: String,
    /// What is needed.
    pub needs: Needs,
    /// Bytes free.
    pub free: usize,
    /// Bytes in all.
    pub total: usize,
    /// Cut-off and buffer.
    pub radius: f64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (free, total) = (size(self.free), size(self.total));
        write!(
            f,
            "the simulation needs {} of the memory of {}, of which {free} of {total} are free; lists hold everything within \
             {:.4}. Use a shorter `cutoff`, a smaller `buffer` in [neighbors] or fewer particles; or close other programs that \
             use the device",
            self.needs, self.device, self.radius
        )
    }
}

/// What a device did for a simulation, as its host saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceUse {
    /// Memory.
    pub memory: Needs,
    /// Steps done.
    pub steps: u64,
    /// Kernels queued for them, those that had nothing to do included.
    pub launches: u64,
    /// Graphs replayed.
    pub replays: u64,
    /// Lists made.
    pub lists: u64,
    /// Seconds that the host worked.
    pub host_seconds: f64,
    /// Seconds that it waited for the device.
    pub waited_seconds: f64,
    /// Times of every kernel, where they were asked for.
    pub profile: Option<Profile>,
}

impl DeviceUse {
    /// The numbers that are told of every run: name and value.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let steps = self.steps.max(1) as f64;
        vec![
            (
                "Kernels queued per step",
                format!("{:.2}", self.launches as f64 / steps),
            ),
            (
                "Graphs replayed",
                format!(
                    "{}, {:.1} steps each",
                    self.replays,
                    steps / self.replays.max(1) as f64
                ),
            ),
            (
                "Host, working",
                format!("{:.2} µs per step", 1e6 * self.host_seconds / steps),
            ),
            (
                "Host, waiting",
                format!("{:.2} µs per step", 1e6 * self.waited_seconds / steps),
            ),
            (
                "Lists",
                format!(
                    "{}, one every {:.1} steps",
                    self.lists,
                    steps / self.lists.max(1) as f64
                ),
            ),
        ]
    }
}

/// Times of every kernel over some steps, measured by events around each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Steps measured.
    pub steps: u64,
    /// The kernels, in the order they first ran.
    pub kernels: Vec<KernelUse>,
    /// Bytes per second that the memory of the device can move, where it is known.
    pub bandwidth: Option<f64>,
}

/// One kernel, or several that belong together, in a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelUse {
    /// Its name.
    pub name: String,
    /// How often it ran.
    pub launches: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Bytes that it must have moved at least, in all.
    pub bytes: f64,
}

impl Profile {
    /// Seconds of all kernels.
    pub fn seconds(&self) -> f64 {
        self.kernels.iter().map(|k| k.seconds).sum()
    }

    /// A row for every kernel under a row of titles.
    pub fn table(&self) -> Vec<Vec<String>> {
        let titles = [
            "kernel", "launches", "µs each", "µs/step", "share", "MB each", "GB/s", "of limit",
        ];
        let mut rows = vec![titles.map(String::from).to_vec()];
        let all = self.seconds();
        for k in &self.kernels {
            let (each, rate) = (k.launches.max(1) as f64, k.bytes / k.seconds);
            let known = k.seconds > 0.0 && k.bytes > 0.0;
            let limit = self.bandwidth.filter(|_| known);
            let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".into());
            rows.push(vec![
                k.name.clone(),
                k.launches.to_string(),
                format!("{:.2}", 1e6 * k.seconds / each),
                format!("{:.2}", 1e6 * k.seconds / self.steps.max(1) as f64),
                format!("{:.1} %", 100.0 * k.seconds / all.max(1e-300)),
                or_dash((k.bytes > 0.0).then(|| format!("{:.3}", 1e-6 * k.bytes / each))),
                or_dash(known.then(|| format!("{:.0}", 1e-9 * rate))),
                or_dash(limit.map(|limit| format!("{:.0} %", 100.0 * rate / limit))),
            ]);
        }
        rows
    }

    /// What the numbers mean.
    pub fn note(&self) -> String {
        let limit = self.bandwidth.map_or(String::new(), |rate| {
            format!(
                " The limit is the {:.0} GB/s of the device's memory.",
                1e-9 * rate
            )
        });
        format!(
            "{} steps without graphs, events around every kernel. MB: what must at least be read and written, each array \
             once.{limit} Kernels shorter than a host takes to queue them, some 5 µs, look longer than they are.",
            self.steps
        )
    }
}
