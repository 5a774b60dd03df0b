//! The paper's kernels on a device: matrices of neighbors and of interaction types, forces, motion.

use debye::expr::Vec3;
use debye_gpu::{Buffer, Const, CudaError, Device, Kernel, Mut, Shape, Stream};

use super::beads::{Acted, BUFFER, Beads};
use super::sequential::{Cells, Motion, NONE};
use super::versions::{AROUND, BEAD_THREADS, BeadWork, Kept, Types, Version};
use crate::study::StudyError;

type Neighbors<S> = Kernel<(
    BeadWork,
    Const<S>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Mut<u32>,
    Mut<u32>,
    Mut<u32>,
    Mut<u32>,
)>;
type Forces<S> = Kernel<(
    BeadWork,
    Const<S>,
    Const<S>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<u32>,
    Const<S>,
    Const<S>,
    Mut<S>,
    Mut<S>,
    Mut<S>,
)>;
type Sum<S> = Kernel<(BeadWork, Const<S>, Mut<S>, Mut<S>, Mut<S>)>;
type Kick<S> = Kernel<(BeadWork, Const<S>, Const<S>, Mut<S>, Mut<S>)>;
type Integrate<S> = Kernel<(
    BeadWork,
    Const<S>,
    Const<S>,
    Const<S>,
    Mut<S>,
    Mut<S>,
    Mut<S>,
    Mut<S>,
)>;

/// Beads on a device with their matrices, ready for the kernels.
pub(super) struct OnCard<S: Kept> {
    work: BeadWork,
    version: Version,
    box_cells: Cells,
    neighbors_kernel: Neighbors<S>,
    forces_kernel: Forces<S>,
    sum_kernel: Option<Sum<S>>,
    kick_kernel: Kick<S>,
    integrate_kernel: Integrate<S>,
    places: Buffer<S>,
    axes: Buffer<S>,
    velocities: Buffer<S>,
    momenta: Buffer<S>,
    masses: Buffer<S>,
    inertias: Buffer<S>,
    rows: Buffer<S>,
    species: Buffer<u32>,
    types: Buffer<u32>,
    order: Buffer<u32>,
    cell_of: Buffer<u32>,
    around: Buffer<u32>,
    cells: Buffer<u32>,
    cell_counts: Buffer<u32>,
    excluded_starts: Buffer<u32>,
    excluded: Buffer<u32>,
    counts: Buffer<u32>,
    neighbors: Buffer<u32>,
    interactions: Buffer<u32>,
    needed: Buffer<u32>,
    acted: Buffer<S>,
}

/// Columns, one for each component.
fn columns<S: Kept, const N: usize>(n: usize, value: impl Fn(usize) -> [f64; N]) -> Vec<S> {
    let mut all = vec![S::keep(0.0); N * n];
    for i in 0..n {
        for (k, x) in value(i).into_iter().enumerate() {
            all[k * n + i] = S::keep(x);
        }
    }
    all
}

/// At least one element: buffers of none cannot be made.
fn some(mut values: Vec<u32>) -> Vec<u32> {
    if values.is_empty() {
        values.push(0);
    }
    values
}

impl<S: Kept> OnCard<S> {
    /// Uploads beads and makes their matrices. Rows for `rows` neighbors at first; more if that is too few.
    pub(super) fn new(
        device: &Device,
        beads: &Beads,
        version: Version,
        timestep: f64,
        rows: u32,
    ) -> Result<Self, StudyError> {
        let (n, p, ends) = (beads.len(), beads.particles(), beads.numbers.ends);
        let module = device.module(&version.source(ends))?;
        let cells = Cells::new(beads);
        let around: Vec<u32> = (0..cells.all())
            .flat_map(|cell| {
                let around = cells.around(cell).map(|c| c as u32);
                around.chain(std::iter::repeat(NONE)).take(AROUND)
            })
            .collect();
        let exclusions = &beads.simulation.system.exclusions;
        let starts = if exclusions.start.is_empty() {
            vec![0; n + 1]
        } else {
            exclusions.start.clone()
        };
        let mut order: Vec<u32> = Vec::new();
        if version.types == Types::Blocks {
            order = (0..n as u32).collect();
            order.sort_by_key(|&i| p.species[i as usize]);
        }
        let motion = Motion::new(beads);
        let vector = |v: &Vec<Vec3<f64>>| columns::<S, 3>(n, |i| v[i].to_array());
        let flat: Vec<S> = beads.numbers.rows.iter().flatten().map(|&x| S::keep(x)).collect();
        let types: Vec<u32> = beads.numbers.types.iter().map(|&what| what as u32).collect();
        let axes = columns::<S, 9>(n, |i| {
            let [x, y, z] = motion.axes[i].map(Vec3::to_array);
            [x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]]
        });
        let blocks = version.types == Types::Blocks;
        let mut on_card = Self {
            work: BeadWork {
                sides: beads.side,
                reach2: (beads.numbers.cutoff + BUFFER).powi(2),
                cutoff2: beads.numbers.cutoff.powi(2),
                sticky2: ends.sticky2,
                timestep,
                beads: n as u32,
                species: beads.numbers.species as u32,
                rows,
                per_cell: 1,
                merged: u32::from(version.merged),
                unused: 0,
            },
            version,
            box_cells: cells,
            neighbors_kernel: module.kernel("debye_bead_neighbors")?,
            forces_kernel: module.kernel("debye_bead_forces")?,
            sum_kernel: blocks.then(|| module.kernel("debye_bead_sum")).transpose()?,
            kick_kernel: module.kernel("debye_bead_kick")?,
            integrate_kernel: module.kernel("debye_bead_integrate")?,
            places: device.upload(&vector(&motion.positions))?,
            axes: device.upload(&axes)?,
            velocities: device.upload(&vector(&motion.velocities))?,
            momenta: device.upload(&vector(&motion.momenta))?,
            masses: device.upload(&columns::<S, 1>(n, |i| [p.masses[i]]))?,
            inertias: device.upload(&columns::<S, 3>(n, |i| p.orientations.rotor(i).inertia))?,
            rows: device.upload(&flat)?,
            species: device.upload(&p.species)?,
            types: device.upload(&types)?,
            order: device.upload(&some(order))?,
            cell_of: device.zeros(n)?,
            around: device.upload(&around)?,
            cells: device.zeros(1)?,
            cell_counts: device.zeros(1)?,
            excluded_starts: device.upload(&starts)?,
            excluded: device.upload(&some(exclusions.partners.clone()))?,
            counts: device.zeros(version.parts() * n)?,
            neighbors: device.zeros(1)?,
            interactions: device.zeros(1)?,
            needed: device.zeros(1)?,
            acted: device.zeros(version.parts() * 7 * n)?,
        };
        on_card.resize(device)?;
        on_card.relist(device, &device.stream()?, &motion.positions)?;
        Ok(on_card)
    }

    /// Makes all matrices for beads that are there now: that of the cells on the host, as in the paper, with rows as long
    /// as the fullest; the others by the kernel, and again where they were too small.
    pub(super) fn relist(
        &mut self,
        device: &Device,
        stream: &Stream,
        positions: &[Vec3<f64>],
    ) -> Result<(), StudyError> {
        let cells = self.box_cells;
        let cell_of: Vec<u32> = positions.iter().map(|&r| cells.of(r) as u32).collect();
        let mut counts = vec![0_u32; cells.all()];
        cell_of.iter().for_each(|&cell| counts[cell as usize] += 1);
        let per_cell = counts.iter().copied().max().unwrap_or(1).max(1);
        let mut matrix = vec![0_u32; cells.all() * per_cell as usize];
        let mut filled = vec![0_u32; cells.all()];
        for (i, &cell) in cell_of.iter().enumerate() {
            matrix[(cell * per_cell + filled[cell as usize]) as usize] = i as u32;
            filled[cell as usize] += 1;
        }
        self.work.per_cell = per_cell;
        self.cell_of = device.upload(&cell_of)?;
        self.cells = device.upload(&matrix)?;
        self.cell_counts = device.upload(&counts)?;
        loop {
            stream.fill(self.needed.all_mut(), 0)?;
            self.list(stream)?;
            // The paper's auxiliary kernel: were the matrices large enough?
            let needed = stream.download(&self.needed)?[0];
            if needed <= self.work.rows {
                return Ok(());
            }
            self.work.rows = needed;
            self.resize(device)?;
        }
    }

    fn resize(&mut self, device: &Device) -> Result<(), CudaError> {
        let entries = self.work.rows as usize * self.work.beads as usize;
        // The old ones go first.
        (self.neighbors, self.interactions) = (device.zeros(1)?, device.zeros(1)?);
        self.neighbors = device.zeros(entries)?;
        if self.version.types == Types::Matrix {
            self.interactions = device.zeros(entries)?;
        }
        Ok(())
    }

    /// The time of a step from now on.
    pub(super) fn set_timestep(&mut self, timestep: f64) {
        self.work.timestep = timestep;
    }

    fn shape(&self) -> Shape {
        Shape::covering(self.work.beads as usize, BEAD_THREADS as u32)
    }

    /// Bytes of all arrays.
    pub(super) fn bytes(&self) -> usize {
        let numbers = [
            &self.places,
            &self.axes,
            &self.velocities,
            &self.momenta,
            &self.masses,
            &self.inertias,
            &self.rows,
            &self.acted,
        ];
        let words = [
            &self.species,
            &self.types,
            &self.order,
            &self.cell_of,
            &self.around,
            &self.cells,
            &self.cell_counts,
            &self.excluded_starts,
            &self.excluded,
            &self.counts,
            &self.neighbors,
            &self.interactions,
        ];
        let numbers: usize = numbers.iter().map(|b| b.bytes()).sum();
        numbers + words.iter().map(|b| b.bytes()).sum::<usize>()
    }

    /// Makes the matrices of neighbors and of interaction types.
    pub(super) fn list(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let shape = self.shape();
        let given = (
            self.work,
            self.places.all(),
            self.species.all(),
            self.types.all(),
            self.order.all(),
            self.cell_of.all(),
            self.around.all(),
            self.cells.all(),
            self.cell_counts.all(),
            self.excluded_starts.all(),
            self.excluded.all(),
            self.counts.all_mut(),
            self.neighbors.all_mut(),
            self.interactions.all_mut(),
            self.needed.all_mut(),
        );
        self.neighbors_kernel.launch(stream, shape, given)
    }

    /// Forces, and half a step of velocities where both are merged.
    pub(super) fn act(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let blocks = (self.work.beads as usize).div_ceil(BEAD_THREADS) * self.version.parts();
        let given = (
            self.work,
            self.places.all(),
            self.axes.all(),
            self.species.all(),
            self.order.all(),
            self.counts.all(),
            self.neighbors.all(),
            self.interactions.all(),
            self.rows.all(),
            self.masses.all(),
            self.acted.all_mut(),
            self.velocities.all_mut(),
            self.momenta.all_mut(),
        );
        let shape = Shape::new(blocks as u32, BEAD_THREADS as u32);
        self.forces_kernel.launch(stream, shape, given)?;
        let shape = self.shape();
        let Some(kernel) = &self.sum_kernel else {
            return Ok(());
        };
        let given = (
            self.work,
            self.masses.all(),
            self.acted.all_mut(),
            self.velocities.all_mut(),
            self.momenta.all_mut(),
        );
        kernel.launch(stream, shape, given)
    }

    /// The first integration.
    pub(super) fn integrate(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let shape = self.shape();
        let given = (
            self.work,
            self.masses.all(),
            self.inertias.all(),
            self.acted.all(),
            self.places.all_mut(),
            self.axes.all_mut(),
            self.velocities.all_mut(),
            self.momenta.all_mut(),
        );
        self.integrate_kernel.launch(stream, shape, given)
    }

    /// Half a step of velocities by the last forces, or by others that are laid out as those.
    pub(super) fn kick(&mut self, stream: &Stream, others: Option<&Buffer<S>>) -> Result<(), CudaError> {
        let shape = self.shape();
        let given = (
            self.work,
            self.masses.all(),
            others
                .unwrap_or(&self.acted)
                .part(0..7 * self.work.beads as usize),
            self.velocities.all_mut(),
            self.momenta.all_mut(),
        );
        self.kick_kernel.launch(stream, shape, given)
    }

    /// Forces and the second half of a step.
    pub(super) fn finish(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.act(stream)?;
        if self.version.merged {
            return Ok(());
        }
        self.kick(stream, None)
    }

    /// A whole step without a new list: integration, forces, and the second half where it stands apart.
    pub(super) fn step(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.integrate(stream)?;
        self.finish(stream)
    }

    fn vectors(&self, stream: &Stream, from: &Buffer<S>, at: usize) -> Result<Vec<Vec3<f64>>, CudaError> {
        let n = self.work.beads as usize;
        let all = stream.download_part(from.part(at * n..(at + 3) * n))?;
        let vector = |i: usize| Vec3::from([0, 1, 2].map(|k| all[k * n + i].back()));
        Ok((0..n).map(vector).collect())
    }

    /// What the last forces were.
    pub(super) fn acted(&self, stream: &Stream) -> Result<Acted, CudaError> {
        let n = self.work.beads as usize;
        let energies = stream.download_part(self.acted.part(6 * n..7 * n))?;
        Ok(Acted {
            forces: self.vectors(stream, &self.acted, 0)?,
            torques: self.vectors(stream, &self.acted, 3)?,
            energy: energies.iter().map(|x| x.back()).sum(),
        })
    }

    /// Where the beads are now.
    pub(super) fn positions(&self, stream: &Stream) -> Result<Vec<Vec3<f64>>, CudaError> {
        self.vectors(stream, &self.places, 0)
    }

    /// The axis z of all beads.
    pub(super) fn facings(&self, stream: &Stream) -> Result<Vec<Vec3<f64>>, CudaError> {
        self.vectors(stream, &self.axes, 6)
    }

    /// Where the beads are and how they move.
    pub(super) fn motion(&self, stream: &Stream) -> Result<Motion, CudaError> {
        let axes: Vec<Vec<Vec3<f64>>> = [0, 3, 6]
            .iter()
            .map(|&at| self.vectors(stream, &self.axes, at))
            .collect::<Result<_, _>>()?;
        Ok(Motion {
            positions: self.positions(stream)?,
            velocities: self.vectors(stream, &self.velocities, 0)?,
            axes: (0..self.work.beads as usize)
                .map(|i| [axes[0][i], axes[1][i], axes[2][i]])
                .collect(),
            momenta: self.vectors(stream, &self.momenta, 0)?,
        })
    }
}

/// Forces and torques as kernels have them.
pub(super) fn laid_out<S: Kept>(forces: &[Vec3<f64>], torques: &[Vec3<f64>]) -> Vec<S> {
    columns::<S, 7>(forces.len(), |i| {
        let [f, t] = [forces[i], torques.get(i).copied().unwrap_or_else(Vec3::zero)].map(Vec3::to_array);
        [f[0], f[1], f[2], t[0], t[1], t[2], 0.0]
    })
}
