//! [`OfPairs`]: analyses that want nothing of a frame but its pairs by distance.

use super::AnalysisError;
use super::pairs::{Grid, Match};
use crate::engines::PairHistogram;
use crate::expr::Vec3;
use crate::system::Cell;

/// An analysis of pairs by their distance: an engine may count them in its place.
pub trait OfPairs {
    /// The pairs it wants.
    fn histogram(&self) -> PairHistogram;
    /// Takes in a frame whose pairs were counted. After an error the state is as before.
    fn add_counted(&mut self, frame: &CountedPairs<'_>) -> Result<(), AnalysisError>;
}

/// Pairs that were counted in a frame.
#[derive(Clone, Copy, Debug)]
pub struct CountedPairs<'a> {
    /// At which step.
    pub step: u64,
    /// The cell.
    pub cell: &'a Cell,
    /// The species of every particle.
    pub species: &'a [u32],
    /// Pairs in every interval.
    pub counts: &'a [u64],
}

/// Counts the pairs of a frame in time proportional to their number.
pub fn count_pairs(
    of: &PairHistogram,
    cell: &Cell,
    positions: &[Vec3<f64>],
    species: &[u32],
) -> Result<Vec<u64>, AnalysisError> {
    let chosen: Vec<_> = (positions.iter().zip(species))
        .filter_map(|(&r, &s)| of.place(s).map(|place| (r, place)))
        .collect();
    let matching = if of.is_mixed() {
        Match::Different
    } else {
        Match::Any
    };
    Ok(Grid::new(cell, &chosen, of.reach)?.histogram(of.bins, matching))
}
