//! [`PairHistogram`]: pairs by distance, which an engine may count where its particles are.

/// Pairs in equal intervals of distance, each pair once; a particle and its own image are a pair too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairHistogram {
    /// Two species, or `None` for all particles.
    pub pair: Option<[u32; 2]>,
    /// The largest distance.
    pub reach: f64,
    /// Number of intervals.
    pub bins: usize,
}

/// Pairs in every interval, in the order in which [`Engine::count_pairs`](super::Engine::count_pairs) was told of the
/// histograms; none of those that were not wanted.
pub type PairCounts = Vec<Vec<u64>>;

impl PairHistogram {
    /// The place in the pair of particles of this species; `None` where they are not counted.
    pub fn place(&self, species: u32) -> Option<u32> {
        match self.pair {
            None => Some(0),
            Some([a, _]) if species == a => Some(0),
            Some([_, b]) if species == b => Some(1),
            Some(_) => None,
        }
    }

    /// Whether pairs are those of two species.
    pub fn is_mixed(&self) -> bool {
        self.pair.is_some_and(|[a, b]| a != b)
    }

    /// How many particles have each place.
    pub fn members(&self, species: &[u32]) -> [usize; 2] {
        let mut members = [0; 2];
        for place in species.iter().filter_map(|&s| self.place(s)) {
            members[place as usize] += 1;
        }
        members
    }
}
