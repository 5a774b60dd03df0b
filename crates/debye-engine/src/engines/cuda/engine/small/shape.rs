//! [`Form`]: how many lanes, threads and blocks a small system gets.

pub(super) const WARP: u32 = 32;
/// The most warps of a block.
const MOST_WARPS: u32 = 32;

/// Lanes that own a particle, threads of a block, blocks, and particles that a group owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Form {
    pub(in super::super) lanes: u32,
    pub(in super::super) threads: u32,
    pub(in super::super) blocks: u32,
    pub(in super::super) rounds: u32,
}

/// The lanes that share a particle. Sums are taken over lanes, so this decides bits: it depends on the number of particles alone.
/// With these, up to 32 768 particles have a group of their own on 128 multiprocessors.
pub(in super::super) fn lanes(particles: usize) -> u32 {
    match particles {
        0..=2048 => 32,
        2049..=8192 => 16,
        8193..=16_384 => 8,
        16_385..=32_768 => 4,
        _ => 2,
    }
}

/// One block to a multiprocessor, no larger than it takes for every group to own one particle; more of them where blocks are full.
pub(in super::super) fn shape(
    particles: usize,
    multiprocessors: u32,
    lanes: u32,
    threads: Option<u32>,
) -> Form {
    let warps = (particles as u64 * u64::from(lanes))
        .div_ceil(u64::from(WARP))
        .max(1);
    let all = u64::from(multiprocessors.max(1));
    let most = threads.map_or(MOST_WARPS, |t| (t / WARP).clamp(1, MOST_WARPS));
    let rounds = warps.div_ceil(all * u64::from(most));
    let each = threads.map_or(warps.div_ceil(rounds * all), |_| u64::from(most));
    Form {
        lanes,
        threads: each as u32 * WARP,
        blocks: warps.div_ceil(rounds * each) as u32,
        rounds: rounds as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_rule(n: usize, multiprocessors: u32) -> (u32, u32, u32, u32) {
        let s = shape(n, multiprocessors, lanes(n), None);
        (s.lanes, s.threads, s.blocks, s.rounds)
    }

    #[test]
    fn known_sizes_get_known_shapes() {
        assert_eq!(by_rule(1000, 132), (32, 256, 125, 1));
        assert_eq!(by_rule(5832, 132), (16, 736, 127, 1));
        assert_eq!(by_rule(8192, 132), (16, 1024, 128, 1));
        assert_eq!(by_rule(12_000, 132), (8, 736, 131, 1));
        assert_eq!(by_rule(1, 132), (32, 32, 1, 1));
        // Few multiprocessors: groups own several.
        assert_eq!(by_rule(1000, 3), (32, 992, 3, 11));
    }

    #[test]
    fn every_particle_has_a_group() {
        for n in [1, 2, 31, 33, 500, 1000, 2049, 5832, 9000, 16_385, 40_000, 65_535] {
            for multiprocessors in [1, 2, 3, 16, 108, 132] {
                for threads in [None, Some(32), Some(256), Some(736)] {
                    for lanes in [1, 2, 4, 8, 16, 32] {
                        let s = shape(n, multiprocessors, lanes, threads);
                        let groups = u64::from(s.threads / s.lanes * s.blocks * s.rounds);
                        assert!(groups >= n as u64 && s.threads <= 1024, "{n} {s:?}");
                        assert!(s.blocks <= multiprocessors, "{n} {s:?}");
                    }
                }
            }
        }
    }
}
