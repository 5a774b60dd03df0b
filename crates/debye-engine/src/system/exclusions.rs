//! [`Exclusions`]: pairs the pair terms leave out or weaken.

use super::Topology;

/// For every particle, the partners whose pair interaction is left out, sorted; symmetric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exclusions {
    /// `partners[start[i]..start[i + 1]]` belong to particle i; empty when nothing is excluded.
    pub start: Vec<u32>,
    /// Partners.
    pub partners: Vec<u32>,
    /// Pairs left out of the list but added back, scaled by a factor (1-4 pairs). Sorted, i < j.
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

/// Which pairs to leave out, counted in bonds along the shortest path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExclusionRule {
    /// Leave out pairs up to this many bonds apart: 1 for 1-2, 2 for 1-3 as well, 3 for 1-4 as well.
    pub through: u32,
    /// Scale pairs three bonds apart by (pair, charge) factors instead; needs `through` below 3.
    pub one_four: Option<(f64, f64)>,
    /// Pairs to leave out besides; they win over scaling.
    pub extra: Vec<[u32; 2]>,
}

impl ExclusionRule {
    /// Leaves out pairs up to this many bonds apart.
    pub fn through(bonds: u32) -> Self {
        Self {
            through: bonds,
            ..Self::default()
        }
    }

    /// Adds pairs exactly three bonds apart, scaled.
    pub fn one_four(mut self, pair: f64, charge: f64) -> Self {
        self.one_four = Some((pair, charge));
        self
    }

    /// Adds pairs to leave out.
    pub fn extra(mut self, pairs: impl IntoIterator<Item = [u32; 2]>) -> Self {
        self.extra.extend(pairs);
        self
    }
}

/// Why exclusions could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExclusionError {
    /// A bond or pair names a particle that is not there, or the same one twice.
    #[error("{what} {index} joins particles {atoms:?}; expected two different ones of 0..{particles}")]
    Pair {
        /// "bond" or "extra exclusion".
        what: &'static str,
        /// Its index.
        index: usize,
        /// The particles it names.
        atoms: [u32; 2],
        /// How many there are.
        particles: usize,
    },
    /// Pairs three bonds apart were to be both left out and scaled.
    #[error("pairs three bonds apart cannot be both left out (through = {through}) and scaled")]
    Contradiction {
        /// Bonds left out.
        through: u32,
    },
    /// A factor that is not a number.
    #[error("1-4 factors are {0} and {1}; expected finite numbers")]
    Factor(f64, f64),
    /// More partners than can be numbered.
    #[error("{0} excluded partners; at most {max} are possible", max = u32::MAX)]
    TooMany(usize),
}

/// Sorted, symmetric neighbors of every node, without repeats: `partners[start[i]..start[i + 1]]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    start: Vec<u32>,
    partners: Vec<u32>,
}

impl Graph {
    /// From undirected edges, by counting: O(nodes + edges), and a sort of each node's few neighbors.
    pub(crate) fn from_edges(
        nodes: usize,
        what: &'static str,
        edges: impl Iterator<Item = [u32; 2]> + Clone,
    ) -> Result<Self, ExclusionError> {
        let mut start = vec![0u32; nodes + 1];
        let mut total = 0usize;
        for (index, [i, j]) in edges.clone().enumerate() {
            if i == j || i as usize >= nodes || j as usize >= nodes {
                return Err(ExclusionError::Pair {
                    what,
                    index,
                    atoms: [i, j],
                    particles: nodes,
                });
            }
            total += 2;
            if u32::try_from(total).is_err() {
                return Err(ExclusionError::TooMany(total));
            }
            start[i as usize] += 1;
            start[j as usize] += 1;
        }
        let mut sum = 0;
        for s in &mut start {
            (*s, sum) = (sum, sum + *s);
        }
        let mut fill = start.clone();
        let mut partners = vec![0; total];
        for [i, j] in edges {
            for (from, to) in [(i, j), (j, i)] {
                let slot = &mut fill[from as usize];
                partners[*slot as usize] = to;
                *slot += 1;
            }
        }
        let mut graph = Self { start, partners };
        graph.sort_and_merge();
        Ok(graph)
    }

    fn sort_and_merge(&mut self) {
        let mut kept = 0;
        for i in 0..self.start.len() - 1 {
            let (from, to) = (self.start[i] as usize, self.start[i + 1] as usize);
            self.partners[from..to].sort_unstable();
            let first = kept;
            for k in from..to {
                if kept == first || self.partners[kept - 1] != self.partners[k] {
                    self.partners[kept] = self.partners[k];
                    kept += 1;
                }
            }
            self.start[i] = first as u32;
        }
        if let Some(last) = self.start.last_mut() {
            *last = kept as u32;
        }
        self.partners.truncate(kept);
    }

    pub(crate) fn of(&self, i: u32) -> &[u32] {
        &self.partners[self.start[i as usize] as usize..self.start[i as usize + 1] as usize]
    }
}

impl Exclusions {
    /// Exclusions from bonds, in time proportional to the particles and the pairs found.
    ///
    /// A pair counts by its shortest path: in a ring of five, 1-4 pairs are also 1-3 pairs and so are
    /// left out rather than scaled.
    pub fn from_bonds(
        topology: &Topology,
        particles: usize,
        rule: &ExclusionRule,
    ) -> Result<Self, ExclusionError> {
        let through = rule.through;
        match rule.one_four {
            Some(_) if through >= 3 => return Err(ExclusionError::Contradiction { through }),
            Some((a, b)) if !(a.is_finite() && b.is_finite()) => return Err(ExclusionError::Factor(a, b)),
            _ => {}
        }
        let bonds = Graph::from_edges(particles, "bond", topology.bonds.iter().map(|b| b.atoms))?;
        let extra = Graph::from_edges(particles, "extra exclusion", rule.extra.iter().copied())?;
        let depth = if rule.one_four.is_some() { 3 } else { through };

        let mut made = Self {
            start: Vec::with_capacity(particles + 1),
            ..Self::default()
        };
        made.start.push(0);
        let mut seen = vec![u32::MAX; particles];
        // Particles in the order of their distance, and where each distance begins.
        let mut reached = Vec::new();
        for i in 0..particles as u32 {
            reached.clear();
            reached.push(i);
            seen[i as usize] = i;
            let mut ring = 0;
            let row = made.partners.len();
            for distance in 1..=depth {
                let end = reached.len();
                for at in ring..end {
                    for &j in bonds.of(reached[at]) {
                        if std::mem::replace(&mut seen[j as usize], i) != i {
                            reached.push(j);
                        }
                    }
                }
                let new = &mut reached[end..];
                ring = end;
                if new.is_empty() {
                    break;
                }
                if distance <= through {
                    made.partners.extend_from_slice(new);
                } else if let (3, Some((pair, charge))) = (distance, rule.one_four) {
                    made.partners.extend_from_slice(new);
                    new.sort_unstable();
                    let is_scaled = |j: &&u32| **j > i && extra.of(i).binary_search(j).is_err();
                    made.scaled
                        .extend(new.iter().filter(is_scaled).map(|&j| ScaledPair {
                            atoms: [i, j],
                            pair,
                            charge,
                        }));
                }
            }
            let bonded = made.partners.len();
            for j in extra.of(i) {
                if !made.partners[row..bonded].contains(j) {
                    made.partners.push(*j);
                }
            }
            made.partners[row..].sort_unstable();
            match u32::try_from(made.partners.len()) {
                Ok(end) => made.start.push(end),
                Err(_) => return Err(ExclusionError::TooMany(made.partners.len())),
            }
        }
        if made.partners.is_empty() {
            made.start.clear();
        }
        Ok(made)
    }

    /// Excludes these pairs too, of so many particles; scaled pairs among them are no longer added back.
    pub fn exclude(
        &mut self,
        particles: usize,
        pairs: impl Iterator<Item = [u32; 2]> + Clone,
    ) -> Result<(), ExclusionError> {
        let known: Vec<[u32; 2]> = self.pairs().collect();
        let all = Graph::from_edges(particles, "excluded pair", known.into_iter().chain(pairs.clone()))?;
        let gone: std::collections::HashSet<[u32; 2]> = pairs.map(|[i, j]| [i.min(j), i.max(j)]).collect();
        self.scaled.retain(|scaled| !gone.contains(&scaled.atoms));
        (self.start, self.partners) = (all.start, all.partners);
        if self.partners.is_empty() {
            self.start.clear();
        }
        Ok(())
    }

    /// Sorted partners of particle i.
    pub fn of(&self, i: u32) -> &[u32] {
        match (self.start.get(i as usize), self.start.get(i as usize + 1)) {
            (Some(&from), Some(&to)) => &self.partners[from as usize..to as usize],
            _ => &[],
        }
    }

    /// Whether the pair i, j is left out of the pair terms (scaled pairs are).
    pub fn contains(&self, i: u32, j: u32) -> bool {
        self.of(i).binary_search(&j).is_ok()
    }

    /// All pairs left out, each once with i < j, in order.
    pub fn pairs(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let particles = self.start.len().saturating_sub(1) as u32;
        (0..particles).flat_map(move |i| self.of(i).iter().filter(move |&&j| j > i).map(move |&j| [i, j]))
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.partners.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Link;

    fn bonded(bonds: &[[u32; 2]]) -> Topology {
        Topology {
            bonds: bonds.iter().map(|&atoms| Link { kind: 0, atoms }).collect(),
            ..Topology::default()
        }
    }

    fn ring(n: u32) -> Topology {
        bonded(&(0..n).map(|i| [i, (i + 1) % n]).collect::<Vec<_>>())
    }

    /// Shortest paths of all pairs (Floyd & Warshall).
    fn distances(topology: &Topology, n: usize) -> Vec<Vec<u32>> {
        let mut d = vec![vec![1000; n]; n];
        for bond in &topology.bonds {
            let [i, j] = bond.atoms.map(|i| i as usize);
            (d[i][j], d[j][i]) = (1, 1);
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    d[i][j] = d[i][j].min(d[i][k] + d[k][j]);
                }
            }
        }
        d
    }

    #[test]
    fn a_chain_of_five() {
        let chain = bonded(&[[1, 0], [1, 2], [3, 2], [3, 4]]);
        let made = Exclusions::from_bonds(&chain, 6, &ExclusionRule::through(2)).unwrap();
        assert_eq!(made.start, [0, 2, 5, 9, 12, 14, 14]);
        assert_eq!(made.partners, [1, 2, 0, 2, 3, 0, 1, 3, 4, 1, 2, 4, 2, 3]);
        assert!(made.contains(0, 2) && made.contains(2, 0) && !made.contains(0, 3));
        assert!(!made.contains(5, 0) && !made.contains(77, 0));

        let rule = ExclusionRule::through(2).one_four(0.5, 0.8333);
        let made = Exclusions::from_bonds(&chain, 6, &rule).unwrap();
        assert!(made.contains(0, 3) && made.contains(1, 4) && !made.contains(0, 4));
        let pairs: Vec<_> = made.scaled.iter().map(|s| (s.atoms, s.pair, s.charge)).collect();
        assert_eq!(pairs, [([0, 3], 0.5, 0.8333), ([1, 4], 0.5, 0.8333)]);
    }

    #[test]
    fn rings_count_by_the_shortest_path() {
        let rule = ExclusionRule::through(2).one_four(0.5, 0.5);
        for n in [3u32, 4, 5] {
            let made = Exclusions::from_bonds(&ring(n), n as usize, &rule).unwrap();
            assert_eq!(made.scaled, [], "ring of {n}");
            assert_eq!(made.pairs().count() as u32, n * (n - 1) / 2);
        }
        // In a ring of six the opposite atom is reached by two paths of three bonds, and counted once.
        let made = Exclusions::from_bonds(&ring(6), 6, &rule).unwrap();
        let pairs: Vec<_> = made.scaled.iter().map(|s| s.atoms).collect();
        assert_eq!(pairs, [[0, 3], [1, 4], [2, 5]]);
    }

    #[test]
    fn random_graphs_against_all_shortest_paths() {
        let philox = crate::random::Philox::new(8);
        for round in 0..20 {
            let n = 60;
            let mut bonds = Vec::new();
            for k in 0..70 {
                let [a, b, ..] = philox.words(round, k, 0, 0);
                if a % n != b % n {
                    bonds.push([a % n, b % n]);
                }
            }
            let topology = bonded(&bonds);
            let d = distances(&topology, n as usize);
            for through in 0..5 {
                let mut rule = ExclusionRule::through(through).extra([[3, 50], [50, 3], [0, 1]]);
                if through < 3 {
                    rule = rule.one_four(0.1, 0.2);
                }
                let made = Exclusions::from_bonds(&topology, n as usize, &rule).unwrap();
                let mut scaled = Vec::new();
                for i in 0..n {
                    assert!(made.of(i).is_sorted_by(|a, b| a < b));
                    for j in 0..n {
                        let extra = [[3, 50], [50, 3], [0, 1], [1, 0]].contains(&[i, j]);
                        let far = d[i as usize][j as usize];
                        let weak = through < 3 && far == 3 && !extra;
                        let out = i != j && (far <= through || extra || weak);
                        assert_eq!(made.contains(i, j), out, "{i} {j} {far}");
                        if weak && i < j {
                            scaled.push([i, j]);
                        }
                    }
                }
                assert_eq!(made.scaled.iter().map(|s| s.atoms).collect::<Vec<_>>(), scaled);
            }
        }
    }

    #[test]
    fn repeated_bonds_and_nothing() {
        let made = Exclusions::from_bonds(&bonded(&[[0, 1], [1, 0]]), 2, &ExclusionRule::through(1)).unwrap();
        assert_eq!(made.partners, [1, 0]);
        let none = Exclusions::from_bonds(&bonded(&[]), 9, &ExclusionRule::through(3)).unwrap();
        assert_eq!(none, Exclusions::default());
        assert!(!none.contains(0, 1) && none.is_empty());
    }

    #[test]
    fn more_pairs_to_leave_out() {
        let chain = bonded(&[[0, 1], [1, 2], [2, 3]]);
        let rule = ExclusionRule::through(2).one_four(0.5, 0.8);
        let mut made = Exclusions::from_bonds(&chain, 6, &rule).unwrap();
        assert_eq!(made.scaled.len(), 1);
        let before: Vec<_> = made.pairs().collect();
        made.exclude(6, [[5, 4], [3, 0], [0, 1]].into_iter()).unwrap();
        let mut want = before;
        want.push([4, 5]);
        assert_eq!(made.pairs().collect::<Vec<_>>(), want);
        // It was scaled; now it is gone.
        assert_eq!(made.scaled, []);
        assert!(made.exclude(6, [[0, 6]].into_iter()).is_err());
        let mut none = Exclusions::default();
        none.exclude(3, std::iter::empty()).unwrap();
        assert_eq!(none, Exclusions::default());
    }

    #[test]
    fn mistakes_are_named() {
        let bad = |bonds: &[[u32; 2]], rule| Exclusions::from_bonds(&bonded(bonds), 3, &rule).unwrap_err();
        let error = bad(&[[0, 1], [1, 3]], ExclusionRule::through(1));
        assert!(matches!(
            error,
            ExclusionError::Pair {
                what: "bond",
                index: 1,
                ..
            }
        ));
        let error = bad(&[[2, 2]], ExclusionRule::through(1));
        assert!(matches!(error, ExclusionError::Pair { index: 0, .. }));
        let error = bad(&[], ExclusionRule::default().extra([[0, 9]]));
        assert!(matches!(
            error,
            ExclusionError::Pair {
                what: "extra exclusion",
                ..
            }
        ));
        let error = bad(&[], ExclusionRule::through(3).one_four(0.5, 0.5));
        assert!(matches!(error, ExclusionError::Contradiction { through: 3 }));
        let error = bad(&[], ExclusionRule::through(2).one_four(f64::NAN, 0.5));
        assert!(matches!(error, ExclusionError::Factor(..)));
    }

    #[test]
    fn a_million_bonds_take_a_moment() {
        let n = 1_000_000u32;
        let chain = bonded(&(1..n).map(|i| [i - 1, i]).collect::<Vec<_>>());
        let begin = std::time::Instant::now();
        let rule = ExclusionRule::through(2).one_four(0.5, 0.5);
        let made = Exclusions::from_bonds(&chain, n as usize, &rule).unwrap();
        println!("exclusions of a million bonds: {:?}", begin.elapsed());
        assert_eq!(made.partners.len(), 2 * (3 * n as usize - 6));
        assert_eq!(made.scaled.len(), n as usize - 3);
    }
}
