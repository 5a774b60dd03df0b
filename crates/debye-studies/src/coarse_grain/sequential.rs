//! The paper's serial program: cells as a linked list (Fig. 3), a list of pairs with their types (Fig. 5), forces with
//! Newton's third law, leapfrog with rotation. One thread, double precision.

use debye::expr::Vec3;

use super::beads::{Acted, BUFFER, Beads};
use super::interactions::Interaction;

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// Cells of a rectangular box, none shorter than a reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    pub(super) count: [usize; 3],
    per_length: [f64; 3],
}

impl Cells {
    pub(super) fn new(beads: &Beads) -> Self {
        let reach = beads.numbers.cutoff + BUFFER;
        let count = beads.side.map(|side| ((side / reach) as usize).max(1));
        Self {
            count,
            per_length: std::array::from_fn(|k| count[k] as f64 / beads.side[k]),
        }
    }

    pub(super) fn all(&self) -> usize {
        self.count.iter().product()
    }

    /// The cell of a place.
    pub(super) fn of(&self, place: Vec3<f64>) -> usize {
        let at = place.to_array();
        let [x, y, z] =
            std::array::from_fn(|k| ((at[k] * self.per_length[k]) as usize).min(self.count[k] - 1));
        (z * self.count[1] + y) * self.count[0] + x
    }

    /// A cell and those around it, each once.
    pub(super) fn around(&self, cell: usize) -> impl Iterator<Item = usize> + use<> {
        let n = self.count;
        let at = [cell % n[0], cell / n[0] % n[1], cell / (n[0] * n[1])];
        let near = move |k: usize| -> Vec<usize> {
            match n[k] {
                0..3 => (0..n[k]).collect(),
                all => [all - 1, 0, 1].map(|step| (at[k] + step) % all).to_vec(),
            }
        };
        let (xs, ys, zs) = (near(0), near(1), near(2));
        zs.into_iter().flat_map(move |z| {
            let xs = xs.clone();
            ys.clone()
                .into_iter()
                .flat_map(move |y| xs.clone().into_iter().map(move |x| (z * n[1] + y) * n[0] + x))
        })
    }
}

/// Pairs within the cut-off and a buffer, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct PairList {
    pub(super) pairs: Vec<[u32; 2]>,
    pub(super) types: Vec<Interaction>,
}

impl PairList {
    pub(super) fn new(beads: &Beads) -> Self {
        let (cells, positions) = (Cells::new(beads), &beads.particles().positions);
        let n = beads.len();
        // Beads and then cells: each value is the next bead of the cell.
        let mut linked = vec![NONE; n + cells.all()];
        for i in (0..n).rev() {
            let cell = n + cells.of(positions[i]);
            linked[i] = linked[cell];
            linked[cell] = i as u32;
        }
        let reach2 = (beads.numbers.cutoff + BUFFER).powi(2);
        let (mut list, species) = (Self::default(), &beads.particles().species);
        for cell in 0..cells.all() {
            for other in cells.around(cell) {
                let mut i = linked[n + cell];
                while i != NONE {
                    let mut j = linked[n + other];
                    while j != NONE {
                        let (a, b) = (i as usize, j as usize);
                        if i < j && beads.apart(a, b).norm2() < reach2 && !beads.excluded(a, b) {
                            let k = species[a] as usize * beads.numbers.species + species[b] as usize;
                            list.pairs.push([i, j]);
                            list.types.push(beads.numbers.types[k]);
                        }
                        j = linked[b];
                    }
                    i = linked[i as usize];
                }
            }
        }
        list
    }

    /// Forces and torques of all pairs.
    pub(super) fn act(&self, beads: &Beads) -> Acted {
        let mut acted = Acted {
            forces: vec![Vec3::zero(); beads.len()],
            torques: vec![Vec3::zero(); beads.len()],
            energy: 0.0,
        };
        for &[i, j] in &self.pairs {
            let (i, j) = (i as usize, j as usize);
            if let Some((energy, f)) = beads.pair(i, j) {
                acted.energy += energy;
                acted.forces[i] -= f.force;
                acted.forces[j] += f.force;
                acted.torques[i] += f.torques[0];
                acted.torques[j] += f.torques[1];
            }
        }
        acted
    }
}

/// Where beads are and how they move.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    pub(super) positions: Vec<Vec3<f64>>,
    pub(super) velocities: Vec<Vec3<f64>>,
    pub(super) axes: Vec<[Vec3<f64>; 3]>,
    pub(super) momenta: Vec<Vec3<f64>>,
}

impl Motion {
    pub(super) fn new(beads: &Beads) -> Self {
        let p = beads.particles();
        let momenta = &p.orientations.angular_momenta;
        Self {
            positions: p.positions.clone(),
            velocities: p.velocities.clone(),
            axes: beads.axes.clone(),
            momenta: (0..beads.len())
                .map(|i| momenta.get(i).copied().unwrap_or_else(Vec3::zero))
                .collect(),
        }
    }

    /// Algorithm 2: half a step of velocities, a step of places and axes, periodic boundaries.
    pub(super) fn first(&mut self, beads: &Beads, acted: &Acted, timestep: f64) {
        self.second(beads, acted, timestep);
        let rotors = &beads.particles().orientations;
        for i in 0..beads.len() {
            let moved = (self.positions[i] + self.velocities[i] * timestep).to_array();
            self.positions[i] = Vec3::from(std::array::from_fn(|k| moved[k].rem_euclid(beads.side[k])));
            let inertia = rotors.rotor(i).inertia;
            turn(&mut self.axes[i], self.momenta[i], inertia, timestep);
        }
    }

    /// Kinetic energy, that of rotations among it.
    pub(super) fn kinetic(&self, beads: &Beads) -> f64 {
        let p = beads.particles();
        let of = |i: usize| {
            let within = Vec3::from(self.axes[i].map(|axis| self.momenta[i].dot(axis)));
            let turning = p.orientations.rotor(i).kinetic_energy(within);
            0.5 * p.masses[i] * self.velocities[i].norm2() + turning
        };
        (0..beads.len()).map(of).sum()
    }

    /// The second half of a step of velocities and angular momenta.
    pub(super) fn second(&mut self, beads: &Beads, acted: &Acted, timestep: f64) {
        for (i, mass) in beads.particles().masses.iter().enumerate() {
            self.velocities[i] += acted.forces[i] * (0.5 * timestep / mass);
            self.momenta[i] += acted.torques[i] * (0.5 * timestep);
        }
    }
}

/// Free rotation: about the own axes one by one, the way there and back. The angular momentum stays.
fn turn(axes: &mut [Vec3<f64>; 3], momentum: Vec3<f64>, inertia: [f64; 3], timestep: f64) {
    for (k, share) in [(0, 0.5), (1, 0.5), (2, 1.0), (1, 0.5), (0, 0.5)] {
        if inertia[k] > 0.0 {
            let angle = share * timestep * momentum.dot(axes[k]) / inertia[k];
            let (sin, cos) = angle.sin_cos();
            let (a, b) = (axes[(k + 1) % 3], axes[(k + 2) % 3]);
            axes[(k + 1) % 3] = a * cos + b * sin;
            axes[(k + 2) % 3] = b * cos - a * sin;
        }
    }
}
