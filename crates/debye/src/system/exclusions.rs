//! [`Exclusions`]: pairs the pair terms leave out or weaken.

/// For every particle, the partners whose pair interaction is left out, sorted; symmetric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exclusions {
    /// `partners[start[i]..start[i + 1]]` belong to particle i; empty when nothing is excluded.
    pub start: Vec<u32>,
    /// Partners.
    pub partners: Vec<u32>,
    /// Pairs left out of the list but added back, scaled by a factor (1-4 pairs).
    pub scaled: Vec<ScaledPair>,
}

/// A pair whose interaction is multiplied by factors instead of being left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaledPair {
    /// The two particles.
    pub atoms: [u32; 2],
    /// Factor for potentials that do not use charges.
    pub pair: f64,
    /// Factor for those that do.
    pub charge: f64,
}
