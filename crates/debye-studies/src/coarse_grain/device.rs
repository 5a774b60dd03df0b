//! The paper's kernels on a device: matrices of neighbors and of interaction types, forces, motion.

use debye::expr::{CudaReal, Vec3};
use debye_gpu::{
    Buffer, Const, CudaError, Device, Element, Header, Kernel, ModuleSource, Mut, Shape, Stream, constants,
};

use super::beads::{Acted, BUFFER, Beads, Model};
use super::interactions::{self, Ends, ROW};
use super::sequential::{Cells, Motion, NONE};
use crate::study::StudyError;

/// The paper's blocks.
const BEAD_THREADS: usize = 64;
/// A cell and those around it; fewer in small boxes, where the rest is [`NONE`].
const AROUND: usize = 27;

debye_gpu::device_struct! {
    /// What the kernels are to do.
    pub(crate) struct BeadWork {
        sides: [f64; 3],
        reach2: f64,
        cutoff2: f64,
        sticky2: f64,
        timestep: f64,
        beads: u32,
        species: u32,
        /// Rows of the matrix of neighbors.
        rows: u32,
        /// Columns of the matrix of cells.
        per_cell: u32,
    }
}

/// What is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
    /// Integers of 64 bits, 40 of them behind the point.
    Fixed,
    /// 32 bits, by the intrinsic functions that the paper names.
    Intrinsic,
}

impl Arithmetic {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Single, Self::Double, Self::Fixed, Self::Intrinsic];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Double => "double",
            Self::Fixed => "fixed point",
            Self::Intrinsic => "intrinsics",
        }
    }
}

/// A version of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// With types of beads and of interactions, or for water alone.
    pub complete: bool,
    /// What is computed with.
    pub arithmetic: Arithmetic,
    /// Whether forces end with the second half of a step.
    pub merged: bool,
}

/// The ends of both force fields, which the text of the kernels depends on.
fn ends(model: Model) -> Result<Ends, StudyError> {
    let simulation = model.simulation(840, 2.0, "langevin")?;
    Ok(interactions::Numbers::new(&simulation.forces, &simulation.system.species)?.ends)
}

fn source(ends: Ends, version: Version) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"])
        .constants(&constants![BEAD_THREADS, ROW, AROUND])
        .define::<BeadWork>();
    let functions = match version.arithmetic {
        Arithmetic::Single => interactions::text(ends, CudaReal::Float),
        Arithmetic::Double => interactions::text(ends, CudaReal::Double),
        // The type is the only word of the text that differs.
        _ => interactions::text(ends, CudaReal::Double).replace("double", "Number"),
    };
    ModuleSource::new("coarse_grain.cu", include_str!("../kernels/coarse_grain.cu"))
        .include("beads_shared.cuh", &shared.text())
        .include("numbers.cuh", include_str!("../kernels/numbers.cuh"))
        .include("interactions.cuh", &functions)
        .define("NUMBERS", version.arithmetic as u32)
        .define("COMPLETE", u32::from(version.complete))
        .define("STICKY", u32::from(ends.sticky2 > 0.0))
        .define("MERGED", u32::from(version.merged))
}

/// Every file of kernels.
pub(crate) fn modules() -> Vec<ModuleSource> {
    let mut all = Vec::new();
    for model in Model::ALL {
        let Ok(ends) = ends(model) else { continue };
        for arithmetic in Arithmetic::ALL {
            for complete in [true, false] {
                let version = Version {
                    complete,
                    arithmetic,
                    merged: complete,
                };
                if complete || model == Model::Water {
                    all.push(source(ends, version));
                }
            }
        }
    }
    all
}

/// A number as a kernel keeps it.
pub(super) trait Kept: Element {
    fn keep(x: f64) -> Self;
    fn back(self) -> f64;
}

impl Kept for f32 {
    fn keep(x: f64) -> Self {
        x as Self
    }
    fn back(self) -> f64 {
        f64::from(self)
    }
}

impl Kept for f64 {
    fn keep(x: f64) -> Self {
        x
    }
    fn back(self) -> f64 {
        self
    }
}

/// Bits behind the point.
const POINT: f64 = (1_u64 << 40) as f64;

impl Kept for i64 {
    fn keep(x: f64) -> Self {
        (x * POINT).round() as Self
    }
    fn back(self) -> f64 {
        self as f64 / POINT
    }
}

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
    Const<S>,
    Const<S>,
    Mut<S>,
    Mut<S>,
    Mut<S>,
)>;
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
    neighbors_kernel: Neighbors<S>,
    forces_kernel: Forces<S>,
    kick_kernel: Kick<S>,
    integrate_kernel: Option<Integrate<S>>,
    places: Buffer<S>,
    axes: Buffer<S>,
    velocities: Buffer<S>,
    momenta: Buffer<S>,
    masses: Buffer<S>,
    inertias: Buffer<S>,
    rows: Buffer<S>,
    species: Buffer<u32>,
    types: Buffer<u32>,
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
        let module = device.module(&source(ends, version))?;
        let cells = Cells::new(beads);
        let cell_of: Vec<u32> = p.positions.iter().map(|&r| cells.of(r) as u32).collect();
        // The matrix of cells is made by the host, as in the paper; its rows are as long as the fullest.
        let mut cell_counts = vec![0_u32; cells.all()];
        cell_of.iter().for_each(|&cell| cell_counts[cell as usize] += 1);
        let per_cell = cell_counts.iter().copied().max().unwrap_or(1).max(1);
        let mut matrix = vec![0_u32; cells.all() * per_cell as usize];
        let mut filled = vec![0_u32; cells.all()];
        for (i, &cell) in cell_of.iter().enumerate() {
            matrix[(cell * per_cell + filled[cell as usize]) as usize] = i as u32;
            filled[cell as usize] += 1;
        }
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
        let motion = Motion::new(beads);
        let vector = |v: &Vec<Vec3<f64>>| columns::<S, 3>(n, |i| v[i].to_array());
        let flat: Vec<S> = beads.numbers.rows.iter().flatten().map(|&x| S::keep(x)).collect();
        let types: Vec<u32> = beads.numbers.types.iter().map(|&what| what as u32).collect();
        let axes = columns::<S, 9>(n, |i| {
            let [x, y, z] = motion.axes[i].map(Vec3::to_array);
            [x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]]
        });
        let moves = matches!(version.arithmetic, Arithmetic::Single | Arithmetic::Double);
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
                per_cell,
            },
            version,
            neighbors_kernel: module.kernel("debye_bead_neighbors")?,
            forces_kernel: module.kernel("debye_bead_forces")?,
            kick_kernel: module.kernel("debye_bead_kick")?,
            integrate_kernel: moves.then(|| module.kernel("debye_bead_integrate")).transpose()?,
            places: device.upload(&vector(&motion.positions))?,
            axes: device.upload(&axes)?,
            velocities: device.upload(&vector(&motion.velocities))?,
            momenta: device.upload(&vector(&motion.momenta))?,
            masses: device.upload(&columns::<S, 1>(n, |i| [p.masses[i]]))?,
            inertias: device.upload(&columns::<S, 3>(n, |i| p.orientations.rotor(i).inertia))?,
            rows: device.upload(&flat)?,
            species: device.upload(&p.species)?,
            types: device.upload(&types)?,
            cell_of: device.upload(&cell_of)?,
            around: device.upload(&around)?,
            cells: device.upload(&matrix)?,
            cell_counts: device.upload(&cell_counts)?,
            excluded_starts: device.upload(&starts)?,
            excluded: device.upload(&some(exclusions.partners.clone()))?,
            counts: device.zeros(n)?,
            neighbors: device.zeros(1)?,
            interactions: device.zeros(1)?,
            needed: device.zeros(1)?,
            acted: device.zeros(7 * n)?,
        };
        let stream = device.stream()?;
        loop {
            on_card.resize(device)?;
            stream.fill(on_card.needed.all_mut(), 0)?;
            on_card.list(&stream)?;
            // The paper's auxiliary kernel: were the matrices large enough?
            let needed = stream.download(&on_card.needed)?[0];
            if needed <= on_card.work.rows {
                return Ok(on_card);
            }
            on_card.work.rows = needed;
        }
    }

    fn resize(&mut self, device: &Device) -> Result<(), CudaError> {
        let entries = self.work.rows as usize * self.work.beads as usize;
        self.neighbors = device.zeros(entries)?;
        if self.version.complete {
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
        let shape = self.shape();
        let given = (
            self.work,
            self.places.all(),
            self.axes.all(),
            self.species.all(),
            self.counts.all(),
            self.neighbors.all(),
            self.interactions.all(),
            self.rows.all(),
            self.masses.all(),
            self.acted.all_mut(),
            self.velocities.all_mut(),
            self.momenta.all_mut(),
        );
        self.forces_kernel.launch(stream, shape, given)
    }

    /// The first integration.
    pub(super) fn integrate(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let shape = self.shape();
        let Some(kernel) = &self.integrate_kernel else {
            return Ok(());
        };
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
        kernel.launch(stream, shape, given)
    }

    /// A whole step without a new list: integration, forces, and the second half where it stands apart.
    pub(super) fn step(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.integrate(stream)?;
        self.act(stream)?;
        if self.version.merged {
            return Ok(());
        }
        let shape = self.shape();
        let given = (
            self.work,
            self.masses.all(),
            self.acted.all(),
            self.velocities.all_mut(),
            self.momenta.all_mut(),
        );
        self.kick_kernel.launch(stream, shape, given)
    }

    fn vectors(&self, stream: &Stream, from: &Buffer<S>, at: usize) -> Result<Vec<Vec3<f64>>, CudaError> {
        let (n, all) = (self.work.beads as usize, stream.download(from)?);
        let vector = |i: usize| Vec3::from([0, 1, 2].map(|k| all[(at + k) * n + i].back()));
        Ok((0..n).map(vector).collect())
    }

    /// What the last forces were.
    pub(super) fn acted(&self, stream: &Stream) -> Result<Acted, CudaError> {
        let n = self.work.beads as usize;
        let energies = stream.download(&self.acted)?;
        Ok(Acted {
            forces: self.vectors(stream, &self.acted, 0)?,
            torques: self.vectors(stream, &self.acted, 3)?,
            energy: energies[6 * n..].iter().map(|x| x.back()).sum(),
        })
    }

    /// Where the beads are now.
    pub(super) fn motion(&self, stream: &Stream) -> Result<Motion, CudaError> {
        let axes: Vec<Vec<Vec3<f64>>> = [0, 3, 6]
            .iter()
            .map(|&at| self.vectors(stream, &self.axes, at))
            .collect::<Result<_, _>>()?;
        Ok(Motion {
            positions: self.vectors(stream, &self.places, 0)?,
            velocities: self.vectors(stream, &self.velocities, 0)?,
            axes: (0..self.work.beads as usize)
                .map(|i| [axes[0][i], axes[1][i], axes[2][i]])
                .collect(),
            momenta: self.vectors(stream, &self.momenta, 0)?,
        })
    }
}
