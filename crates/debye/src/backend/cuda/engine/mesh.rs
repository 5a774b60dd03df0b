//! [`MeshForces`]: the smooth part of Coulomb's law on the mesh of a device, as forces of every step.
//!
//! Lists of what touches each brick of the mesh are made with the neighbour lists, from the same positions, with room for
//! as far as a particle may go before those are stale. The mean force of the mesh is taken away where forces are read.

use super::kernels::Control;
use super::layout::BLOCK;
use super::unsupported;
use crate::backend::cuda::mesh::{
    Bricks, Cut, Design, Entered, Fft, Fixed, Gather, MeshCell, MeshNumber, MeshShape, Particles, Solve,
    Spread, Tiling, Word, mean_of_sums,
};
use crate::backend::cuda::{Buffer, CudaError, Device, Stream};
use crate::backend::{EngineError, Precision};
use crate::expr::{Mat3, Vec3};
use crate::forces::ForceField;
use crate::forces::electrostatics::{Boundary, ChargeSums, Electrostatics, MeshPlan, Method, Part};
use crate::forces::ewald::reciprocal;
use crate::forces::pme::Influence;
use crate::system::System;

/// What is known of the mesh before there is one.
#[derive(Clone, Debug)]
pub(super) struct MeshTables {
    plan: Electrostatics,
    mesh: MeshPlan,
    /// k_e over the permittivity.
    k: f64,
    /// Charges by kind of particle, and of all particles.
    kinds: Vec<f64>,
    charges: Vec<f64>,
    /// What belongs neither to pairs nor to the mesh: energies that only the volume changes.
    rest: Vec<Part>,
    reciprocal: [Vec3<f64>; 3],
    volume: f64,
    /// How far a particle may go before lists are stale.
    reach: f64,
    precision: Precision,
}

impl MeshTables {
    /// Where the force field has electrostatics; refused where the device cannot do them.
    pub(super) fn new(
        system: &System,
        field: &ForceField,
        kind_of: &[u32],
        kinds: usize,
        reach: f64,
        precision: Precision,
    ) -> Result<Option<Self>, EngineError> {
        let Some(plan) = &field.electrostatics else {
            return Ok(None);
        };
        let mesh = match (&plan.method, plan.boundary) {
            (Method::Ewald(_), _) => return Err(unsupported("Ewald sums wave by wave".into())),
            (Method::Mesh(mesh), Boundary::Conductor) => *mesh,
            (_, Boundary::Vacuum) => return Err(unsupported("boundary = \"vacuum\"".into())),
            (_, Boundary::Slab { .. }) => return Err(unsupported("electrostatics of slabs".into())),
        };
        let charges = system.particles.charges.clone();
        let mut of_kind = vec![0.0; kinds];
        for (&kind, &q) in kind_of.iter().zip(&charges) {
            of_kind[kind as usize] = q;
        }
        let sums = ChargeSums::of(&charges);
        let rest = plan.rest(
            &system.cell,
            field.coulomb_constant,
            sums,
            &|_| Vec3::zero(),
            &charges,
            &mut [],
        );
        Ok(Some(Self {
            plan: plan.clone(),
            mesh,
            k: field.coulomb_constant / plan.permittivity,
            kinds: of_kind,
            charges,
            rest,
            reciprocal: reciprocal(&system.cell),
            volume: system.cell.volume(),
            reach,
            precision,
        }))
    }

    fn shape(&self) -> MeshShape {
        MeshShape {
            size: self.mesh.size.map(|n| n as u32),
            basis: self.mesh.basis,
        }
    }

    /// Cells of the mesh that a particle may cross before lists are stale.
    fn margin(&self) -> [u32; 3] {
        std::array::from_fn(|a| {
            let cells = self.reach * self.reciprocal[a].norm() * self.mesh.size[a] as f64;
            (cells.ceil() as u32).max(1)
        })
    }

    fn charged(&self) -> usize {
        self.charges.iter().filter(|q| **q != 0.0).count()
    }

    /// What a step reads besides forces, before the first: sums of forces, and the share of each kind in them.
    fn left(&self) -> Vec<u64> {
        let each = mean_of_sums(self.charged());
        let share = |q: &f64| if *q == 0.0 { 0.0 } else { each };
        let shares = self.kinds.iter().map(|q| share(q).to_bits());
        [0; 3].into_iter().chain(shares).collect()
    }

    /// Bytes on the device, nearly.
    pub(super) fn bytes(&self) -> usize {
        let number = if self.precision == Precision::Double { 8 } else { 4 };
        let points: usize = self.mesh.size.iter().product();
        // The mesh, its spectrum, and lists with every particle some times.
        2 * points * number + points / 8 * number + 4 * 4 * self.charges.len()
    }
}

/// Buffers of the engine that the mesh works on.
#[derive(Clone, Copy)]
pub(super) struct Within<'a> {
    pub(super) control: &'a Buffer<Control>,
    pub(super) pos: &'a Buffer<u32>,
    pub(super) reference: &'a Buffer<u32>,
    /// The first block of each column, and their number.
    pub(super) column_blocks: &'a Buffer<u32>,
    pub(super) slots: usize,
}

/// A mesh on a device.
pub(super) struct MeshForces {
    tables: MeshTables,
    on: On,
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
    pub(super) fn new(device: &Device, tables: &MeshTables, within: Within<'_>) -> Result<Self, CudaError> {
        Ok(Self {
            on: if tables.precision == Precision::Double {
                On::Double(Box::new(Typed::new(device, tables, within)?))
            } else {
                On::Single(Box::new(Typed::new(device, tables, within)?))
            },
            tables: tables.clone(),
        })
    }

    /// The same for other buffers.
    pub(super) fn rebind(&mut self, within: Within<'_>) {
        on!(&mut self.on, mesh => mesh.rebind(within));
    }

    pub(super) fn tables(&self) -> &MeshTables {
        &self.tables
    }

    /// What a step reads besides forces; as MeshLeft in the kernels.
    pub(super) fn left(&self) -> &Buffer<u64> {
        on!(&self.on, mesh => &mesh.left)
    }

    /// Launches of a step.
    pub(super) const LAUNCHES: u64 = 5;

    /// Queues the lists of bricks, while neighbour lists are made.
    pub(super) fn queue_lists(&self, s: &Stream) -> Result<(), CudaError> {
        on!(&self.on, mesh => mesh.spread.list(s, &mesh.listed))
    }

    /// Queues forces at the positions of now: sets them, or adds them to those that are there. With `sums`, energy and
    /// virial too.
    pub(super) fn queue(
        &mut self,
        s: &Stream,
        forces: &mut Buffer<f64>,
        add: bool,
        sums: bool,
    ) -> Result<(), CudaError> {
        on!(&mut self.on, mesh => mesh.queue(s, forces, add, sums))
    }

    /// Energies and virial of all parts, after forces were queued with sums.
    pub(super) fn read_sums(&self, s: &Stream) -> Result<Vec<Part>, CudaError> {
        let sums = on!(&self.on, mesh => s.download(&mesh.sums))?;
        let k = self.tables.k;
        let first = Part {
            energy: k * sums[0],
            virial: std::array::from_fn(|a| k * sums[1 + a]),
        };
        Ok([first]
            .into_iter()
            .chain(self.tables.rest.iter().copied())
            .collect())
    }

    /// Makes room in lists that did not fit; complains of sums that did not.
    pub(super) fn check(&mut self, device: &Device, s: &Stream) -> Result<(), EngineError> {
        on!(&mut self.on, mesh => mesh.check(device, s))
    }
}

struct Typed<M: MeshNumber> {
    spread: Spread<M>,
    solve: Solve<M>,
    gather: Gather<M>,
    mesh: Buffer<M>,
    cell: Buffer<MeshCell>,
    sums: Buffer<f64>,
    charges: Buffer<M>,
    left: Buffer<u64>,
    /// Particles as they are now, and where they were when lists were made.
    now: Particles,
    listed: Particles,
}

impl<M: MeshNumber> Typed<M> {
    fn new(device: &Device, tables: &MeshTables, within: Within<'_>) -> Result<Self, CudaError> {
        let (shape, margin) = (tables.shape(), tables.margin());
        let design = Design::Owner;
        let tiling = Tiling::usual::<M>(device, &shape, design, margin);
        // Two places fewer than usual: matter may crowd, and places must not change within a run. What is left is finer
        // than the numbers of the mesh.
        let Fixed { bits } = Fixed::choose::<M>(&shape, design, tables.charges.iter().copied());
        let fixed = Fixed { bits: bits - 2 };
        let capacity = Bricks::capacity_for(&shape, tiling.edges, Entered::Touched, margin, tables.charged());
        let (building, overflow) = (
            Word::of(within.control, std::mem::offset_of!(Control, building)),
            Word::of(within.control, std::mem::offset_of!(Control, overflow)),
        );
        let mut spread = Spread::new(
            device,
            &shape,
            design,
            tiling,
            fixed,
            margin,
            capacity,
            Some(&building),
        )?;
        spread.bricks_mut().tell(&overflow);
        let left = device.upload(&tables.left())?;
        spread.bricks_mut().clear_sums(&Word::of(&left, 0));
        let [a, b, c] = tables.reciprocal;
        let rows = Mat3::from_rows(a, b, c);
        let MeshPlan { size, basis, optimal } = tables.mesh;
        let influence = Influence::new(rows, tables.volume, tables.plan.alpha, size, basis, optimal);
        // By rule, not by timing: other cuts round differently, and a resumed run must not.
        let fft = Fft::Own(Cut::rule(device.info(), shape.size, M::DOUBLE)?);
        let mut gather = Gather::usual(device, &shape)?;
        let turn = std::array::from_fn(|k| std::array::from_fn(|axis| tables.k * tables.reciprocal[axis][k]));
        let stream = device.stream()?;
        gather.set_cell(&stream, turn, tables.k, tables.charged())?;
        stream.synchronise()?;
        let kinds: Vec<M> = tables.kinds.iter().map(|&q| M::rounded(q)).collect();
        let charges = device.upload(&kinds)?;
        let (now, listed) = particles(within, &charges);
        Ok(Self {
            spread,
            solve: Solve::new(device, &influence, fft)?,
            gather,
            mesh: device.zeros(shape.points())?,
            cell: device.upload(&[MeshCell::new(rows, tables.volume, tables.plan.alpha)])?,
            sums: device.zeros(7)?,
            charges,
            left,
            now,
            listed,
        })
    }

    fn rebind(&mut self, within: Within<'_>) {
        (self.now, self.listed) = particles(within, &self.charges);
    }

    fn queue(
        &mut self,
        s: &Stream,
        forces: &mut Buffer<f64>,
        add: bool,
        sums: bool,
    ) -> Result<(), CudaError> {
        self.spread.queue(s, &self.now, &mut self.mesh)?;
        let wanted = sums.then(|| self.sums.all_mut());
        self.solve
            .queue(s, self.mesh.all_mut(), self.cell.all(), wanted)?;
        let total = Word::of(&self.left, 0);
        self.gather
            .queue(s, &self.now, None, &self.mesh, forces, None, add, Some(&total))
    }

    fn check(&mut self, device: &Device, s: &Stream) -> Result<(), EngineError> {
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
            self.spread.settle(device, s)?;
        }
        Ok(())
    }
}

/// Slots by the parity of now, and those that lists are made from.
fn particles<M: MeshNumber>(within: Within<'_>, charges: &Buffer<M>) -> (Particles, Particles) {
    debug_assert!(within.slots.is_multiple_of(BLOCK));
    let parity = Word::of(within.control, std::mem::offset_of!(Control, parity));
    let blocks = Word::of(within.control, std::mem::offset_of!(Control, blocks));
    let listed = Word::of(within.column_blocks, 4 * (within.column_blocks.len() - 1));
    let unit = BLOCK as u32;
    (
        Particles::halves(
            within.pos,
            within.slots,
            Some(&parity),
            Some((&blocks, unit)),
            charges,
        ),
        Particles::halves(
            within.reference,
            within.slots,
            None,
            Some((&listed, unit)),
            charges,
        ),
    )
}
