//! Maps by particle mesh Ewald on a device: the engine's own spreading and transforms.

use debye_gpu::transforms::Cut;
use debye_gpu::{Buffer, CudaError, Device, Stream};

use crate::engines::cuda::mesh::levels::AxisPasses;
use crate::engines::cuda::mesh::{
    Bricks, Fixed, MeshCell, MeshNumber, Particles, Solve, Spread, SpreadKernel, Tiling,
};
use crate::expr::Mat3;
use crate::forces::electrostatics::MeshPlan;
use crate::forces::ewald::reciprocal;
use crate::forces::multilevel::GridReal;
use crate::forces::pme::Influence;
use crate::maps::charges::PointCharges;
use crate::maps::mesh::{MapMesh, Plan};
use crate::maps::{MapError, MapGrid};
use crate::system::Cell;

/// Fractions of the cell as whole numbers of 2⁻⁶⁴: upper and lower halves.
fn halves(fraction: f64) -> [u32; 2] {
    let whole = ((fraction - fraction.floor()) * 2_f64.powi(64)) as u64;
    [(whole >> 32) as u32, whole as u32]
}

/// The potential at the points of a mesh.
pub(super) struct MeshPotential<M: MeshNumber> {
    stream: Stream,
    spread: Spread<M>,
    solve: Solve<M>,
    mesh: Buffer<M>,
    alpha: f64,
}

impl<M: MeshNumber> MeshPotential<M> {
    /// Of charges like these.
    pub(super) fn new(device: &Device, plan: &Plan, charges: &PointCharges) -> Result<Self, MapError> {
        let (shape, number) = (plan.shape(), charges.len());
        let tiling = Tiling::usual::<M>(device, &shape, number);
        let owner = SpreadKernel::owner::<M>(&shape, tiling);
        let fixed = Fixed::choose::<M>(&shape, 1.0, charges.charges().iter().copied());
        let capacity = Bricks::capacity_for(&shape, tiling.edges, owner.entered, [0; 3], number);
        let MeshPlan { size, basis, optimal } = plan.mesh;
        let cell = &plan.cell;
        let influence = Influence::new(rows(cell), cell.volume(), plan.alpha, size, basis, optimal);
        let cut = Cut::rule(device.info(), shape.size, M::DOUBLE)?;
        Ok(Self {
            stream: device.stream()?,
            spread: Spread::new(device, &shape, &owner, fixed, [0; 3], capacity, None)?,
            solve: Solve::new(device, &influence, cut)?,
            mesh: device.zeros(shape.points())?,
            alpha: plan.alpha,
        })
    }

    /// Of these particles in this cell; waits for it.
    pub(super) fn of(
        &mut self,
        device: &Device,
        particles: &Particles,
        cell: &Cell,
    ) -> Result<&Buffer<M>, MapError> {
        loop {
            self.spread.list(&self.stream, particles)?;
            self.spread.queue(&self.stream, particles, &mut self.mesh)?;
            if self.spread.grow_if_full(device, &self.stream)? {
                break;
            }
        }
        let cell = device.upload(&[MeshCell::new(rows(cell), cell.volume(), self.alpha)])?;
        self.solve.forward(&self.stream, self.mesh.all(), None)?;
        self.solve.middle(&self.stream, cell.all(), false, None)?;
        self.solve
            .backward(&self.stream, self.mesh.all_mut(), None, None)?;
        self.stream.synchronize()?;
        Ok(&self.mesh)
    }
}

/// `scale` times what a potential on a mesh is at the points of a grid; waits for it.
pub(super) fn smooth<T: MapMesh + GridReal>(
    device: &Device,
    stream: &Stream,
    plan: &Plan,
    grid: &MapGrid,
    potential: &Buffer<T>,
    scale: f64,
) -> Result<Buffer<T>, CudaError> {
    if plan.cell.is_orthorhombic() {
        let lists = plan.lists(grid);
        let axes = [2, 1, 0].map(|axis| (axis, &lists[axis][..]));
        let mut passes = AxisPasses::new(device, plan.mesh.size, axes, scale, false)?;
        let mut values = device.allocate(passes.len())?;
        passes.queue(stream, potential.all(), values.all_mut())?;
        stream.synchronize()?;
        return Ok(values);
    }
    // The mesh is small: the rest of its way is the CPU's.
    let mut values = plan.gathered(grid, stream.download(potential)?);
    let by = <T as GridReal>::of(scale);
    values.iter_mut().for_each(|value| *value = *value * by);
    device.upload(&values)
}

fn rows(cell: &Cell) -> Mat3<f64> {
    let [a, b, c] = reciprocal(cell);
    Mat3::from_rows(a, b, c)
}

/// Charges as particles of a mesh.
pub(super) struct Uploaded<M: MeshNumber> {
    high: Buffer<u32>,
    low: Buffer<u32>,
    kinds: Buffer<M>,
    number: usize,
}

impl<M: MeshNumber> Uploaded<M> {
    pub(super) fn new(device: &Device, cell: &Cell, charges: &PointCharges) -> Result<Self, CudaError> {
        let number = charges.len();
        let (mut high, mut low) = (Vec::with_capacity(4 * number), vec![0; 3 * number]);
        for (i, &r) in charges.positions().iter().enumerate() {
            let fractions = cell.fractional(r).to_array().map(halves);
            for (axis, [upper, lower]) in fractions.into_iter().enumerate() {
                high.push(upper);
                low[axis * number + i] = lower;
            }
            // Every charge is of a kind of its own.
            high.push(i as u32);
        }
        let kinds: Vec<M> = charges.charges().iter().map(|&q| M::rounded(q)).collect();
        Ok(Self {
            high: device.upload(&high)?,
            low: device.upload(&low)?,
            kinds: device.upload(&kinds)?,
            number,
        })
    }

    pub(super) fn particles(&self) -> Particles {
        Particles::halves(
            (&self.high, Some(&self.low)),
            self.number,
            None,
            None,
            &self.kinds,
        )
    }
}
