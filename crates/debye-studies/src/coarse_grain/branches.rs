//! Decisions that the kernels make, counted: how often each way is taken (Fig. 12), and how often lanes of a warp
//! disagree (Tables 4 and 5).

use super::beads::{BUFFER, Beads};
use super::interactions::{CUTOFF2, Interaction};
use super::sequential::Cells;

const WARP: usize = 32;

/// How often the ways of Algorithms 3 to 5 are taken.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Pairs of the list.
    pub listed: u64,
    /// Of these, pairs within the cut-off.
    pub within: u64,
    /// Of these, pairs of each type.
    pub of_type: [u64; 6],
    /// Of these, pairs within reach of the sticky term.
    pub sticky: u64,
}

impl Ways {
    /// Of a system.
    pub fn of(beads: &Beads) -> Self {
        let (list, numbers) = (beads.list(), &beads.numbers);
        let mut ways = Self::default();
        for (&[i, j], &what) in list.pairs.iter().zip(&list.types) {
            let r2 = beads.apart(i as usize, j as usize).norm2();
            ways.listed += 1;
            if r2 < numbers.cutoff.powi(2) {
                ways.within += 1;
                ways.of_type[what as usize] += 1;
                ways.sticky += u64::from(what == Interaction::Water && r2 < numbers.ends.sticky2);
            }
        }
        // A charge that feels a dipole is a dipole that feels a charge, of the other bead.
        let [c, d] = [Interaction::ChargeDipole, Interaction::DipoleCharge].map(|what| what as usize);
        let both = ways.of_type[c] + ways.of_type[d];
        (ways.of_type[c], ways.of_type[d]) = (both / 2, both - both / 2);
        ways
    }
}

/// Branches of warps, and how many of them divide a warp.
#[derive(Clone, Copy, Debug, Default)]
pub struct Branches {
    /// Decisions of warps.
    pub all: u64,
    /// Those on which lanes disagree.
    pub divided: u64,
}

impl Branches {
    /// A decision of the lanes that still run.
    fn decide<T: PartialEq>(&mut self, mut lanes: impl Iterator<Item = T>) {
        if let Some(first) = lanes.next() {
            self.all += 1;
            self.divided += u64::from(lanes.any(|other| other != first));
        }
    }

    /// In percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.divided as f64 / (self.all as f64).max(1.0)
    }
}

/// Branches of the three kernels: integration, neighbors, forces.
pub fn of_kernels(beads: &Beads, complete: bool) -> [Branches; 3] {
    let (n, numbers) = (beads.len(), &beads.numbers);
    let (species, positions) = (&beads.particles().species, &beads.particles().positions);
    let cells = Cells::new(beads);
    let mut members = vec![Vec::new(); cells.all()];
    let cell_of: Vec<usize> = positions.iter().map(|&r| cells.of(r)).collect();
    (0..n).for_each(|i| members[cell_of[i]].push(i));
    let reach2 = (numbers.cutoff + BUFFER).powi(2);
    let listed = |i: usize, j: usize| i != j && beads.apart(i, j).norm2() < reach2 && !beads.excluded(i, j);
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); n];
    let [mut integration, mut neighbors, mut forces] = [Branches::default(); 3];
    for first in (0..n).step_by(WARP) {
        let lanes: Vec<usize> = (first..n.min(first + WARP)).collect();
        // Is there a bead; has it an orientation.
        integration.decide((first..first + WARP).map(|i| i < n));
        let turns = |i: usize| beads.particles().orientations.rotor(i).inertia[0] > 0.0;
        integration.decide(lanes.iter().map(|&i| turns(i)));
        // The cells around each, which warps walk in step.
        neighbors.decide((first..first + WARP).map(|i| i < n));
        let around: Vec<Vec<usize>> = lanes
            .iter()
            .map(|&i| cells.around(cell_of[i]).collect())
            .collect();
        for a in 0..around[0].len() {
            let longest = around
                .iter()
                .map(|cells| members[cells[a]].len())
                .max()
                .unwrap_or(0);
            for k in 0..=longest {
                // Lanes whose cell ended earlier have left the loop.
                let running = |lane: &usize| k == 0 || k <= members[around[*lane][a]].len();
                let still: Vec<usize> = (0..lanes.len()).filter(running).collect();
                neighbors.decide(still.iter().map(|&l| k < members[around[l][a]].len()));
                let in_cell: Vec<usize> = still
                    .into_iter()
                    .filter(|&l| k < members[around[l][a]].len())
                    .collect();
                neighbors.decide(in_cell.iter().map(|&l| {
                    let j = members[around[l][a]][k];
                    let is_listed = listed(lanes[l], j);
                    if is_listed {
                        columns[lanes[l]].push(j);
                    }
                    is_listed
                }));
            }
        }
        forces.decide((first..first + WARP).map(|i| i < n));
        let longest = lanes.iter().map(|&i| columns[i].len()).max().unwrap_or(0);
        for k in 0..=longest {
            let running = lanes.iter().filter(|&&i| k == 0 || k <= columns[i].len());
            forces.decide(running.map(|&i| k < columns[i].len()));
            let pairs: Vec<(usize, usize)> = lanes
                .iter()
                .filter_map(|&i| columns[i].get(k).map(|&j| (i, j)))
                .collect();
            let within = |&(i, j): &(usize, usize)| {
                let row = species[i] as usize * numbers.species + species[j] as usize;
                beads.apart(i, j).norm2() < numbers.rows[row][CUTOFF2]
            };
            forces.decide(pairs.iter().map(within));
            let pairs: Vec<(usize, usize)> = pairs.into_iter().filter(within).collect();
            let what = |&(i, j): &(usize, usize)| {
                numbers.types[species[i] as usize * numbers.species + species[j] as usize]
            };
            if complete {
                forces.decide(pairs.iter().map(|pair| what(pair) == Interaction::Water));
                forces.decide(pairs.iter().map(what).filter(|&w| w != Interaction::Water));
            }
            if numbers.ends.sticky2 > 0.0 {
                let waters = pairs.iter().filter(|pair| what(pair) == Interaction::Water);
                forces.decide(waters.map(|&(i, j)| beads.apart(i, j).norm2() < numbers.ends.sticky2));
            }
        }
    }
    [integration, neighbors, forces]
}
