//! [`Excluded`]: pairs that the lists leave out, as the kernels want them.

use crate::system::Exclusions;

/// How far below its own a partner's number may be to have a bit.
pub(super) const EXCLUDED_BELOW: u32 = 32;

/// Partners of every particle by their numbers: a bit for those near its own, and the few others in order.
#[derive(Debug)]
pub(super) struct Excluded {
    /// Bit k: partner i + k - [`EXCLUDED_BELOW`].
    pub(super) near: Vec<u64>,
    /// Where the others of each particle begin, and their number.
    pub(super) starts: Vec<u32>,
    /// The others.
    pub(super) far: Vec<u32>,
    /// Whether there are any at all.
    pub(super) any: bool,
}

impl Excluded {
    /// Without those that never come up, whose particles are marked.
    pub(super) fn new(exclusions: &Exclusions, never: &[bool]) -> Self {
        let particles = never.len();
        let mut listed = (0..particles as u32).filter(|&i| !never[i as usize]);
        let any = listed.any(|i| !exclusions.of(i).is_empty());
        let mut all = Self {
            near: vec![0],
            starts: vec![0],
            far: Vec::new(),
            any,
        };
        if any {
            all.near = vec![0; particles];
            for i in 0..particles as u32 {
                for &j in exclusions.of(i) {
                    match j.wrapping_sub(i).wrapping_add(EXCLUDED_BELOW) {
                        bit @ 0..64 => all.near[i as usize] |= 1 << bit,
                        _ => all.far.push(j),
                    }
                }
                all.starts.push(all.far.len() as u32);
            }
        }
        // Kernels take no empty arrays.
        if all.far.is_empty() {
            all.far.push(u32::MAX);
        }
        all
    }
}
