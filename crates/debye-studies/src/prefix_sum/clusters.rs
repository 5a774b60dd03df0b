//! [`Clusters`]: atoms that hang together, for what has become of the sphere.

use debye::prelude::Vec3;

/// How atoms are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Clusters {
    /// The share of atoms in the largest cluster.
    pub largest: f64,
    /// The share of atoms with no other atom near.
    pub alone: f64,
    /// Clusters of more than one atom.
    pub number: usize,
}

impl Clusters {
    /// Of atoms in a periodic cube; those closer than `reach` are joined.
    pub(super) fn of(positions: &[Vec3<f64>], side: f64, reach: f64) -> Self {
        let cells = ((side / reach).floor() as usize).max(1);
        let cell = |r: &Vec3<f64>| {
            let place = |x: f64| ((x / side).rem_euclid(1.0) * cells as f64) as usize % cells;
            r.to_array().map(place)
        };
        let number = |[x, y, z]: [usize; 3]| (z * cells + y) * cells + x;
        let mut members: Vec<(usize, usize)> = positions
            .iter()
            .enumerate()
            .map(|(i, r)| (number(cell(r)), i))
            .collect();
        members.sort_unstable();
        let inside = |at: usize| {
            let begin = members.partition_point(|member| member.0 < at);
            members[begin..].iter().take_while(move |member| member.0 == at)
        };
        let mut parent: Vec<usize> = (0..positions.len()).collect();
        for (i, &r) in positions.iter().enumerate() {
            let mine = cell(&r);
            for step in 0..27 {
                let shift = [step % 3, step / 3 % 3, step / 9];
                let near = std::array::from_fn(|k| (mine[k] + cells + shift[k] - 1) % cells);
                for &(_, j) in inside(number(near)).filter(|member| member.1 < i) {
                    let d = (r - positions[j])
                        .to_array()
                        .map(|x| x - side * (x / side).round());
                    if d.iter().map(|x| x * x).sum::<f64>() < reach * reach {
                        let (a, b) = (root(&mut parent, i), root(&mut parent, j));
                        parent[a.max(b)] = a.min(b);
                    }
                }
            }
        }
        let mut sizes = vec![0_usize; positions.len()];
        (0..positions.len()).for_each(|i| sizes[root(&mut parent, i)] += 1);
        let share = |n: usize| n as f64 / positions.len().max(1) as f64;
        Self {
            largest: share(sizes.iter().copied().max().unwrap_or(0)),
            alone: share(sizes.iter().filter(|n| **n == 1).count()),
            number: sizes.iter().filter(|n| **n > 1).count(),
        }
    }
}

/// The first member of its cluster; ways to it are made shorter.
fn root(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row across a face, a pair, and two that are alone, one of them at the very reach.
    #[test]
    fn atoms_within_reach_hang_together() {
        let at = |x: f64| Vec3::from([x, 5.0, 5.0]);
        let row = [9.3, 9.9, 0.5].map(at);
        let rest = [3.0, 3.6, 6.0, 7.0].map(at);
        let found = Clusters::of(&[&row[..], &rest].concat(), 10.0, 1.0);
        assert_eq!(
            found,
            Clusters {
                largest: 3.0 / 7.0,
                alone: 2.0 / 7.0,
                number: 2
            }
        );
        // A box of fewer than three cells finds each pair once.
        let two = Clusters::of(&[at(0.1), at(1.9)], 2.0, 0.5);
        assert_eq!((two.largest, two.number), (1.0, 1));
    }
}
