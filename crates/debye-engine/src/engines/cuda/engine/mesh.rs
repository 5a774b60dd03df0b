//! [`MeshForces`]: the smooth part of Coulomb's law on the mesh of a device, as forces of every step.
//!
//! Lists of what touches each brick of the mesh are made with the neighbor lists, from the same positions, with room
//! for as far as a particle may go before those are stale. The mean force of the mesh is taken away where forces are
//! read.

use std::mem::offset_of;

use super::boundary::{BoundaryForces, BoundaryTables};
use super::frame::{Frame, Region};
use super::kernels::{Control, DUE_WITHOUT_SUMS, KernelConfig, MeshLeft, Setup, World};
use super::layout::{BLOCK, Grain};
use super::unsupported;
use super::watch::Bytes;
use crate::engines::cuda::mesh::{
    self, Bricks, ChangingCell, DeviceLevels, Fixed, Gather, GatherMethod, LevelNumber, MESH_SUMS, MeshCell,
    MeshNotes, MeshNumber, MeshShape, Notes, Part, Particles, Solve, Spread, SpreadKernel, Tiling, Word,
    mean_of_sums,
};
use crate::engines::{EngineError, Precision};
use crate::expr::{Mat3, Vec3};
use crate::forces::ForceField;
use crate::forces::electrostatics::{
    Boundary, ChargeSums, Electrostatics, MeshPlan, Method, Part as PartSums, open_axis,
};
use crate::forces::ewald::reciprocal;
use crate::forces::multilevel::{GridPlan, Levels, Nested};
use crate::forces::pme::{Basis, Influence};
use crate::simd::InstructionSet;
use crate::system::{Cell, System};
use debye_gpu::primitives::{Pieces, Place};
use debye_gpu::transforms::Cut;
use debye_gpu::{Buffer, Bundle, CudaError, Device, ModuleSource, SliceMut, Stream};

/// What is known of the mesh before there is one.
#[derive(Clone, Debug)]
pub(super) struct MeshTables {
    plan: Electrostatics,
    mesh: MeshPlan,
    /// Of multilevel summation; the mesh is the finest of them.
    grids: Option<Grids>,
    /// k_e, and over the permittivity.
    coulomb: f64,
    k: f64,
    /// Charges by kind of particle, and of all particles.
    kinds: Vec<f64>,
    charges: Vec<f64>,
    total: ChargeSums,
    /// What is not a conductor around all images.
    boundary: Option<BoundaryTables>,
    /// How much larger the cell of the reciprocal vectors or the region of the grids is.
    crowd: f64,
    /// Of the cell of the reciprocal vectors, as it is first.
    reciprocal: [Vec3<f64>; 3],
    volume: f64,
    /// Of the lists, and how far a particle may go before they are stale.
    radius: f64,
    reach: f64,
    /// Whether a barostat changes the cell.
    moving: bool,
    precision: Precision,
}

/// The grids of multilevel summation over a region.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grids {
    plan: GridPlan,
    /// The first point along open axes.
    first: [i64; 3],
    levels: usize,
}

/// How far a cell may shrink along an axis before lists of bricks are cut anew with more room.
const SHRUNK: f64 = 0.85;

impl MeshTables {
    /// Where the force field has electrostatics; refused where the device cannot do them.
    pub(super) fn new(
        system: &System,
        field: &ForceField,
        (kind_of, kinds): (&[u32], usize),
        region: &Region,
        [radius, reach]: [f64; 2],
        moving: bool,
        precision: Precision,
    ) -> Result<Option<Self>, EngineError> {
        let Some(plan) = &field.electrostatics else {
            return Ok(None);
        };
        let (mesh, grids) = match plan.method {
            Method::Mesh(mesh) => (mesh, None),
            Method::Ewald(_) => return Err(unsupported("Ewald sums vector by vector".into())),
            Method::Multilevel(_) if moving => {
                return Err(unsupported(
                    "a barostat with multilevel summation (`pme` follows the cell)".into(),
                ));
            }
            Method::Multilevel(plan) => {
                let mesh = MeshPlan {
                    size: plan.points,
                    basis: Basis::interpolating(plan.split.interpolation),
                    optimal: false,
                };
                let grids = Grids {
                    levels: plan.levels,
                    first: [0; 3],
                    plan,
                };
                (mesh, Some(grids))
            }
        };
        let axis = open_axis(&system.cell);
        if moving && axis.is_some() {
            return Err(unsupported("a barostat with electrostatics of slabs".into()));
        }
        let charges = system.particles.charges.clone();
        let mut of_kind = vec![0.0; kinds];
        for (&kind, &q) in kind_of.iter().zip(&charges) {
            of_kind[kind as usize] = q;
        }
        let total = ChargeSums::of(&charges);
        let k = field.coulomb_constant / plan.permittivity;
        let boundary = match plan.boundary {
            Boundary::Conductor | Boundary::Open => None,
            Boundary::Vacuum => Some(None),
            Boundary::Slab { .. } if grids.is_some() => None,
            Boundary::Slab { .. } => Some(axis),
        };
        let boundary = boundary.map(|axis| BoundaryTables {
            axis,
            charges: of_kind.clone(),
            total: total.total,
            k,
        });
        let vectors = plan.ewald_cell(&system.cell);
        let mut tables = Self {
            plan: plan.clone(),
            mesh,
            grids,
            coulomb: field.coulomb_constant,
            k,
            kinds: of_kind,
            charges,
            total,
            boundary,
            crowd: vectors.volume() / system.cell.volume(),
            reciprocal: reciprocal(&vectors),
            volume: vectors.volume(),
            radius,
            reach,
            moving,
            precision,
        };
        tables.set_region(region);
        Ok(Some(tables))
    }

    /// Lays the grids of multilevel summation over a region, whose faces along open axes are points of theirs. Says
    /// whether they are others now.
    fn set_region(&mut self, region: &Region) -> bool {
        let Some(grids) = &mut self.grids else {
            return false;
        };
        let before = (*grids, self.mesh.size);
        let (edges, h, spread) = (
            region.cell.heights(),
            grids.plan.split.spacing,
            region.spread(self.radius),
        );
        self.crowd = 1.0;
        for k in (0..3).filter(|&k| !grids.plan.boundaries.periodic()[k]) {
            grids.first[k] = (region.begin[k] * edges[k] / h).round() as i64;
            self.mesh.size[k] = (region.length[k] * edges[k] / h).round() as usize;
            // Charges stand as close as if they filled the region.
            self.crowd *= region.length[k] * edges[k] / spread[k].max(self.radius);
        }
        grids.levels = grids.plan.levels_over([0.0; 3], spread);
        let boxed = region.heights();
        let along = |k: usize| Vec3::from(std::array::from_fn(|j| if j == k { 1.0 / boxed[k] } else { 0.0 }));
        self.reciprocal = [along(0), along(1), along(2)];
        (*grids, self.mesh.size) != before
    }

    /// The grids as the host lays them out.
    fn levels<M: LevelNumber>(&self, grids: &Grids) -> Levels<M> {
        let periodic = grids.plan.boundaries.periodic();
        let spacing = std::array::from_fn(|k| match periodic[k] {
            true => 1.0 / (self.reciprocal[k].norm() * self.mesh.size[k] as f64),
            false => grids.plan.split.spacing,
        });
        let last = std::array::from_fn(|k| grids.first[k] + self.mesh.size[k] as i64 - 1);
        let nested = Nested::of_points(&grids.plan, spacing, grids.first, last, grids.levels);
        Levels::new(grids.plan.split, nested, InstructionSet::detect())
    }

    fn shape(&self) -> MeshShape {
        MeshShape {
            size: self.mesh.size.map(|n| n as u32),
            basis: self.mesh.basis,
        }
    }

    /// For a cell as a barostat left it.
    fn set_cell(&mut self, cell: &Cell) {
        let vectors = self.plan.ewald_cell(cell);
        (self.reciprocal, self.volume) = (reciprocal(&vectors), vectors.volume());
    }

    /// Cells of the mesh that a particle may cross before lists are stale.
    fn margin(&self) -> [u32; 3] {
        std::array::from_fn(|a| {
            let cells = self.reach * self.reciprocal[a].norm() * self.mesh.size[a] as f64;
            let room = if self.moving { cells / SHRUNK } else { cells };
            (room.ceil() as u32).max(1)
        })
    }

    fn charged(&self) -> usize {
        self.charges.iter().filter(|q| **q != 0.0).count()
    }

    /// What a step reads besides forces, before the first: [`MeshLeft`], and for each kind what the mean force is of
    /// the sums.
    fn left(&self) -> Vec<u64> {
        let each = mean_of_sums(self.charged());
        let share = |q: &f64| if *q == 0.0 { 0.0 } else { each };
        let (alpha, q) = (self.plan.alpha, self.total.total);
        let background = match self.grids {
            None => -std::f64::consts::PI * self.k * q * q / (2.0 * alpha * alpha),
            // It is in their kernels.
            Some(_) => 0.0,
        };
        let left = MeshLeft {
            sums: [0; 3],
            strength: self.k,
            background,
        };
        let shares: Vec<f64> = self.kinds.iter().map(share).collect();
        [bytemuck::cast_slice(&[left]), bytemuck::cast_slice(&shares)].concat()
    }

    /// Modules besides those that every mesh has.
    pub(super) fn sources(&self, case: KernelConfig<'_>) -> Vec<ModuleSource> {
        self.boundary
            .iter()
            .map(|boundary| boundary.source(case))
            .collect()
    }

    /// Those that every mesh has.
    pub(super) fn common_sources(
        &self,
        device: &Device,
        grain: Grain,
    ) -> Result<Vec<ModuleSource>, CudaError> {
        let (shape, slots) = (self.shape(), [grain.lanes, grain.sites]);
        let fourier = self.grids.is_none().then_some([self.mesh.optimal, self.moving]);
        if self.precision == Precision::Double {
            mesh::sources::<f64>(device, &shape, self.charged(), slots, fourier)
        } else {
            mesh::sources::<f32>(device, &shape, self.charged(), slots, fourier)
        }
    }

    /// Whether positions are fractions of a cell that must not change but by a barostat.
    pub(super) fn is_slab(&self) -> bool {
        self.boundary.as_ref().is_some_and(|b| b.axis.is_some())
    }

    /// The spacing of grids that the region must begin and end on.
    pub(super) fn spacing(&self) -> Option<f64> {
        self.grids.map(|grids| grids.plan.split.spacing)
    }

    /// Bytes on the device, nearly.
    pub(super) fn bytes(&self) -> usize {
        let number = if self.precision == Precision::Double { 8 } else { 4 };
        let points: usize = self.mesh.size.iter().product();
        // The mesh, its spectrum, and lists with every particle some times.
        2 * points * number + points / 8 * number + 4 * 4 * self.charges.len()
    }
}

/// What is queued one after another for the forces of a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Charges to the mesh.
    Spread,
    /// Charges on the mesh to their potential.
    Solve(Part),
    /// Forces of the potential.
    Gather,
    /// What is not a conductor around all images.
    Boundary,
}

impl Stage {
    /// Its name in a profile, and the bytes that it must move at least.
    pub(super) fn watched(self) -> (&'static str, Bytes) {
        match self {
            Self::Spread => ("spread", |n| 16.0 * n.slots + n.mesh),
            // A spectrum takes as much as the mesh.
            Self::Solve(Part::Forward) => ("forward", |n| 2.0 * n.mesh),
            Self::Solve(Part::Middle) => ("convolve", |n| 2.0 * n.mesh),
            Self::Solve(Part::Backward) => ("backward", |n| 2.0 * n.mesh),
            Self::Gather => ("gather", |n| (16.0 + 24.0) * n.slots + n.mesh),
            Self::Boundary => ("boundary", |n| (2.0 * 16.0 + 2.0 * 24.0) * n.slots),
        }
    }
}

/// What forces are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Energy and virial too.
    pub(super) sums: bool,
    /// When, as in `Setup::due`: at other times nobody wants them.
    pub(super) due: u32,
}

/// Buffers of the engine that the mesh works on.
#[derive(Clone, Copy)]
pub(super) struct Within<'a> {
    pub(super) control: &'a Buffer<Control>,
    pub(super) pos: &'a Buffer<u32>,
    pub(super) low: &'a Buffer<u32>,
    pub(super) reference: &'a Buffer<u32>,
    /// The first block of each column, and their number.
    pub(super) column_blocks: &'a Buffer<u32>,
    /// The cell of now.
    pub(super) frame: &'a Buffer<Frame>,
    pub(super) slots: usize,
    pub(super) grain: Grain,
}

/// A mesh on a device.
pub(super) struct MeshForces {
    tables: MeshTables,
    on: On,
    /// Energy and virial of the mesh, in units of k, and those of the boundary.
    sums: Buffer<f64>,
    boundary: Option<BoundaryForces>,
}

enum On {
    Single(Box<Typed<f32>>),
    Double(Box<Typed<f64>>),
}

macro_rules! on {
    ($self:expr, $mesh:ident => $what:expr) => {
        match $self {
            On::Single($mesh) => $what,
            On::Double($mesh) => $what,
        }
    };
}

impl MeshForces {
    pub(super) fn new(
        device: &Device,
        tables: &MeshTables,
        within: Within<'_>,
        case: KernelConfig<'_>,
    ) -> Result<Self, CudaError> {
        let sums = device.zeros(2 * MESH_SUMS)?;
        let boundary = tables.boundary.as_ref();
        let boundary = boundary.map(|b| BoundaryForces::new(device, b, case, &sums, MESH_SUMS));
        Ok(Self {
            boundary: boundary.transpose()?,
            sums,
            on: if tables.precision == Precision::Double {
                On::Double(Box::new(Typed::new(device, tables, within, tables.margin(), 0)?))
            } else {
                On::Single(Box::new(Typed::new(device, tables, within, tables.margin(), 0)?))
            },
            tables: tables.clone(),
        })
    }

    /// The same for other buffers, in one of two cells.
    pub(super) fn rebind(
        &mut self,
        device: &Device,
        within: Within<'_>,
        (region, cells): (&Region, [&Cell; 2]),
    ) -> Result<(), CudaError> {
        let other = self.tables.set_region(region);
        let mut margin = on!(&self.on, mesh => mesh.spread.bricks().margin());
        let moving = self.tables.moving;
        for cell in cells.into_iter().filter(|_| moving) {
            self.tables.set_cell(cell);
            let needed = self.tables.margin();
            margin = std::array::from_fn(|a| margin[a].max(needed[a]));
        }
        on!(&mut self.on, mesh => {
            if mesh.spread.bricks().margin() == margin && !other {
                mesh.rebind(within);
            } else {
                // Lists that had to grow keep their room.
                let capacity = mesh.spread.bricks().capacity();
                **mesh = Typed::new(device, &self.tables, within, margin, capacity)?;
            }
        });
        match &mut self.boundary {
            Some(boundary) => boundary.resize(device, within.slots / BLOCK, &self.sums, MESH_SUMS),
            None => Ok(()),
        }
    }

    pub(super) fn tables(&self) -> &MeshTables {
        &self.tables
    }

    /// What a step reads besides forces: [`MeshLeft`].
    pub(super) fn left(&self) -> &Buffer<u64> {
        on!(&self.on, mesh => &mesh.left)
    }

    /// Energy and virial of the mesh and of the boundary, [`MESH_SUMS`] each.
    pub(super) fn sums(&self) -> &Buffer<f64> {
        &self.sums
    }

    /// Bytes of the mesh.
    pub(super) fn bytes(&self) -> usize {
        on!(&self.on, mesh => mesh.mesh.bytes())
    }

    /// Launches of a stage.
    pub(super) fn launches(&self, stage: Stage) -> u64 {
        match stage {
            Stage::Spread | Stage::Gather => 1,
            Stage::Solve(part) => on!(&self.on, mesh => match &mesh.solve {
                Solver::Fourier(solve) => solve.launches(part),
                Solver::Levels(levels) if part == Part::Middle => levels.launches(),
                Solver::Levels(_) => 0,
            }),
            Stage::Boundary => 2,
        }
    }

    /// The stages of a step, in order.
    pub(super) fn stages(&self) -> impl Iterator<Item = Stage> + use<> {
        let solve = Part::ALL.map(Stage::Solve);
        let boundary = self.boundary.as_ref().map(|_| Stage::Boundary);
        let first = std::iter::once(Stage::Spread).chain(solve);
        first.chain([Stage::Gather]).chain(boundary)
    }

    /// Queues the lists of bricks, while neighbor lists are made.
    pub(super) fn queue_lists(&self, s: &Stream) -> Result<(), CudaError> {
        on!(&self.on, mesh => mesh.spread.list(s, &mesh.listed))
    }

    /// Queues a stage of forces at the positions of now: they are set, or added to those that are there.
    pub(super) fn queue(
        &mut self,
        s: &Stream,
        stage: Stage,
        forces: &mut Buffer<f64>,
        (world, setup): (&Bundle<World>, Setup),
        add: bool,
        asked: Request,
    ) -> Result<(), CudaError> {
        let sums = asked.sums.then(|| self.sums.part_mut(0..MESH_SUMS));
        match stage {
            Stage::Spread => on!(&mut self.on, mesh => mesh.spread(s, asked)),
            Stage::Solve(part) => on!(&mut self.on, mesh => mesh.solve(s, part, sums, asked)),
            Stage::Gather => on!(&self.on, mesh => mesh.gather(s, forces, add, asked)),
            Stage::Boundary => {
                let boundary = self.boundary.as_ref();
                boundary.map_or(Ok(()), |boundary| boundary.queue(s, world, setup, asked.due))
            }
        }
    }

    /// What the host reads after forces were queued with sums.
    pub(super) fn add_to(&self, pieces: &mut Pieces) -> MeshPlaces {
        let notes = on!(&self.on, mesh => [mesh.spread.bricks().noted(), mesh.gather.noted()]);
        MeshPlaces {
            sums: pieces.add(self.sums.all()),
            notes: notes.map(|noted| pieces.add(noted.all())),
        }
    }

    /// Whether everything fitted.
    pub(super) fn is_sound(
        &self,
        read: impl Fn(Place<MeshNotes>) -> Result<Vec<MeshNotes>, CudaError>,
        places: &MeshPlaces,
    ) -> Result<bool, CudaError> {
        let [spread, gather] = places.notes;
        let (spread, gather) = (Notes::of(&read(spread)?), Notes::of(&read(gather)?));
        Ok(on!(&self.on, mesh => mesh.is_sound(&spread, &gather) && spread.listed.is_none()))
    }

    /// Energies and virial of all parts in a cell, from the sums that were read.
    pub(super) fn parts(&self, sums: &[f64], cell: &Cell) -> Vec<PartSums> {
        let t = &self.tables;
        let part = |first: usize, k: f64| PartSums {
            energy: k * sums[first],
            virial: std::array::from_fn(|a| k * sums[first + 1 + a]),
        };
        // What only the volume changes; without positions there is no dipole.
        let unplaced = |_| Vec3::zero();
        let mut rest = t.plan.rest(cell, t.coulomb, t.total, &unplaced, &[], &mut []);
        if let (Some(_), Some(last)) = (&self.boundary, rest.last_mut()) {
            *last = part(MESH_SUMS, 1.0);
        }
        [part(0, t.k)].into_iter().chain(rest).collect()
    }

    /// Charges where they are now.
    pub(super) fn now(&self) -> Particles {
        on!(&self.on, mesh => mesh.now.clone())
    }

    /// Makes room in lists that did not fit, and says whether there were any; complains of sums that did not.
    pub(super) fn check(&mut self, device: &Device, s: &Stream) -> Result<bool, EngineError> {
        on!(&mut self.on, mesh => mesh.check(device, s))
    }
}

/// Where the host finds sums and notes in what was collected.
pub(super) struct MeshPlaces {
    pub(super) sums: Place<f64>,
    notes: [Place<MeshNotes>; 2],
}

/// How charges on the mesh become their potential.
enum Solver<M: MeshNumber + LevelNumber> {
    Fourier(Box<Solve<M>>),
    Levels(Box<DeviceLevels<M>>),
}

struct Typed<M: MeshNumber + LevelNumber> {
    spread: Spread<M>,
    solve: Solver<M>,
    gather: Gather<M>,
    mesh: Buffer<M>,
    cell: Buffer<MeshCell>,
    charges: Buffer<M>,
    left: Buffer<u64>,
    /// Particles as they are now, and where they were when lists were made.
    now: Particles,
    listed: Particles,
    /// For every value of `Setup::due` but the first the word that says when there is nothing to do, and the particles
    /// unless it does.
    due: [(Word, Particles); 3],
}

impl<M: MeshNumber + LevelNumber> Typed<M> {
    /// Lists have so much margin, and at least so much room.
    fn new(
        device: &Device,
        tables: &MeshTables,
        within: Within<'_>,
        margin: [u32; 3],
        room: u32,
    ) -> Result<Self, CudaError> {
        let shape = tables.shape();
        // Tiles that overlap (halo) are a few percent faster where charges are dense, but leave three binary places
        // fewer.
        let tiling = Tiling::usual::<M>(device, &shape, tables.charged());
        let owner = SpreadKernel::owner::<M>(&shape, tiling);
        // Two places fewer than usual: matter may crowd, and places must not change within a run. What is left is finer
        // than the numbers of the mesh.
        // Charges of a slab, or of an open system, stand as close as if they filled all of it.
        let crowd = tables.crowd.ceil() as usize;
        let charges = std::iter::repeat_n(&tables.charges, crowd).flatten().copied();
        let Fixed { bits } = Fixed::choose::<M>(&shape, 1.0, charges);
        let fixed = Fixed { bits: bits - 2 };
        let charged = crowd * tables.charged();
        let usual = Bricks::capacity_for(&shape, tiling.edges, owner.entered, margin, charged);
        let capacity = usual.max(room);
        let (building, overflow) = (
            Word::of(within.control, offset_of!(Control, building)),
            Word::of(within.control, offset_of!(Control, overflow)),
        );
        let mut spread = Spread::new(device, &shape, &owner, fixed, margin, capacity, Some(&building))?;
        spread.bricks_mut().set_overflow(&overflow);
        let left = device.upload(&tables.left())?;
        spread
            .bricks_mut()
            .clear_sums(&Word::of(&left, offset_of!(MeshLeft, sums)));
        let [a, b, c] = tables.reciprocal;
        let rows = Mat3::from_rows(a, b, c);
        let Grain { lanes, sites } = within.grain;
        let method = GatherMethod::usual::<M>(device, &shape, spread.bricks(), lanes, sites);
        let mut gather = Gather::usual(device, &shape, method, tiling.edges)?;
        if tables.charged() == tables.charges.len() {
            gather = gather.all_charged();
        }
        let turn = std::array::from_fn(|k| std::array::from_fn(|axis| tables.k * tables.reciprocal[axis][k]));
        let stream = device.stream()?;
        gather.set_cell(&stream, turn, tables.k, tables.charged())?;
        stream.synchronize()?;
        let cell = device.upload(&[MeshCell::new(rows, tables.volume, tables.plan.alpha)])?;
        let solve = match &tables.grids {
            Some(grids) => Solver::Levels(Box::new(DeviceLevels::new(device, &tables.levels(grids), true)?)),
            None => {
                let MeshPlan { size, basis, optimal } = tables.mesh;
                let influence = Influence::new(rows, tables.volume, tables.plan.alpha, size, basis, optimal);
                // By rule, not by timing: other cuts round differently, and a resumed run must not.
                let cut = Cut::rule(device.info(), shape.size, M::DOUBLE)?;
                let mut solve = Solve::new(device, &influence, cut)?;
                if tables.moving {
                    solve.track_cell(device, &influence)?;
                }
                Solver::Fourier(Box::new(solve))
            }
        };
        if tables.moving {
            spread.bricks_mut().set_changing_cell(ChangingCell {
                frame: Word::of(within.frame, offset_of!(Frame, cell)),
                solver: Word::of(&cell, 0),
                gatherer: gather.cell(),
                reach: tables.reach,
                most: std::array::from_fn(|a| f64::from(margin[a]) / f64::from(shape.size[a])),
            });
        }
        let kinds: Vec<M> = tables.kinds.iter().map(|&q| M::rounded(q)).collect();
        let charges = device.upload(&kinds)?;
        let (now, listed) = particles(within, &charges);
        Ok(Self {
            spread,
            solve,
            gather,
            mesh: device.zeros(shape.points())?,
            cell,
            charges,
            left,
            due: due(within, &now),
            now,
            listed,
        })
    }

    fn rebind(&mut self, within: Within<'_>) {
        (self.now, self.listed) = particles(within, &self.charges);
        self.due = due(within, &self.now);
    }

    fn spread(&mut self, s: &Stream, asked: Request) -> Result<(), CudaError> {
        let (_, particles) = when(asked, &self.due, &self.now);
        self.spread.queue(s, particles, &mut self.mesh)
    }

    fn solve(
        &mut self,
        s: &Stream,
        part: Part,
        sums: Option<SliceMut<'_, f64>>,
        asked: Request,
    ) -> Result<(), CudaError> {
        let (rest, _) = when(asked, &self.due, &self.now);
        match (&mut self.solve, part) {
            (Solver::Fourier(solve), Part::Forward) => solve.forward(s, self.mesh.all(), rest),
            (Solver::Fourier(solve), Part::Middle) => solve.middle(s, self.cell.all(), sums.is_some(), rest),
            (Solver::Fourier(solve), Part::Backward) => solve.backward(s, self.mesh.all_mut(), sums, rest),
            // Where they are not due nobody reads what comes out.
            (Solver::Levels(levels), Part::Middle) => levels.queue(s, &mut self.mesh, sums),
            (Solver::Levels(_), Part::Forward | Part::Backward) => Ok(()),
        }
    }

    fn gather(
        &self,
        s: &Stream,
        forces: &mut Buffer<f64>,
        add: bool,
        asked: Request,
    ) -> Result<(), CudaError> {
        let total = Word::of(&self.left, offset_of!(MeshLeft, sums));
        let (_, particles) = when(asked, &self.due, &self.now);
        let bricks = Some(self.spread.bricks());
        self.gather
            .queue(s, particles, bricks, &self.mesh, forces, None, add, Some(&total))
    }

    /// Whether sums were small enough, and particles where they were listed.
    fn is_sound(&self, spread: &Notes, gather: &Notes) -> bool {
        (M::DOUBLE || self.spread.fixed().holds(spread)) && !spread.strayed && !gather.too_strong
    }

    fn check(&mut self, device: &Device, s: &Stream) -> Result<bool, EngineError> {
        let (notes, forces) = (self.spread.bricks().notes(s)?, self.gather.notes(s)?);
        if !M::DOUBLE && !self.spread.fixed().holds(&notes) {
            return Err(EngineError::Device(format!(
                "charges crowd on the mesh: up to {:.1} e at a point, {:.1} fit; precision = \"double\" has room for any",
                notes.range,
                self.spread.fixed().range()
            )));
        }
        if notes.strayed || forces.too_strong {
            return Err(EngineError::Device(
                "a particle left its brick of the mesh, or a force is too strong to be summed".into(),
            ));
        }
        if notes.listed.is_some() {
            self.spread.grow_if_full(device, s)?;
        }
        Ok(notes.listed.is_some())
    }
}

/// Slots of now, for every value of `Setup::due` but the first.
fn due(within: Within<'_>, now: &Particles) -> [(Word, Particles); 3] {
    let [without, with] = [0, 1].map(|k| offset_of!(Control, rests) + k * size_of::<u32>());
    [without, with, offset_of!(Control, stale)].map(|word| {
        let word = Word::of(within.control, word);
        let particles = now.unless(&word);
        (word, particles)
    })
}

/// The word that says when there is nothing to do, if any does, and the particles unless it does.
fn when<'a>(
    asked: Request,
    due: &'a [(Word, Particles); 3],
    now: &'a Particles,
) -> (Option<&'a Word>, &'a Particles) {
    match due.get((asked.due as usize).wrapping_sub(DUE_WITHOUT_SUMS as usize)) {
        Some((word, particles)) => (Some(word), particles),
        None => (None, now),
    }
}

/// Slots by the parity of now, and those that lists are made from.
fn particles<M: MeshNumber>(within: Within<'_>, charges: &Buffer<M>) -> (Particles, Particles) {
    debug_assert!(within.slots.is_multiple_of(BLOCK));
    let parity = Word::of(within.control, offset_of!(Control, parity));
    let blocks = Word::of(within.control, offset_of!(Control, blocks));
    let listed = Word::of(within.column_blocks, 4 * (within.column_blocks.len() - 1));
    let unit = BLOCK as u32;
    (
        Particles::halves(
            (within.pos, Some(within.low)),
            within.slots,
            Some(&parity),
            Some((&blocks, unit)),
            charges,
        ),
        Particles::halves(
            (within.reference, None),
            within.slots,
            None,
            Some((&listed, unit)),
            charges,
        ),
    )
}
