//! [`Solve`]: the potential of a mesh of charges.

use crate::expr::Mat3;
use crate::forces::pme::Influence;
use debye_gpu::{Buffer, Bundle, CudaError, Cufft, Device, Slice, SliceMut, Stream, cufft_version};

use super::fft::{Fft, Sizes};
use super::multiply::Multiply;
use super::passes::Passes;
use super::shape::Rest;
use super::table::FollowTable;
use super::{MeshNumber, Word};

debye_gpu::device_struct! {
    /// The cell and the smearing, in device memory: a barostat may write it between steps.
    pub struct MeshCell {
        /// Reciprocal vectors one after another, a\*ᵢ·aⱼ = δᵢⱼ.
        pub reciprocal: [f64; 9],
        /// Volume.
        pub volume: f64,
        /// Splitting parameter α.
        pub alpha: f64,
    }
}

impl MeshCell {
    /// Of a cell whose reciprocal vectors are the rows.
    pub fn new(reciprocal: Mat3<f64>, volume: f64, alpha: f64) -> Self {
        let [x, y, z] = [reciprocal.x, reciprocal.y, reciprocal.z];
        Self {
            reciprocal: [x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z],
            volume,
            alpha,
        }
    }
}

/// A part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// To the spectrum.
    Forward,
    /// Times the influence function; for kernels of this program also the transforms along x.
    Middle,
    /// Back.
    Backward,
}

impl Part {
    /// All of them in order.
    pub const ALL: [Self; 3] = [Self::Forward, Self::Middle, Self::Backward];
}

/// What a spectrum is multiplied by.
#[derive(Debug)]
pub(super) struct Multiplier<R: MeshNumber> {
    /// 1/w² for every index of x, y, and of the half of z that is kept.
    pub(super) factors: Buffer<R>,
    /// G itself where it is optimal, laid out as the spectrum; else empty.
    pub(super) table: Buffer<R>,
}

impl<R: MeshNumber> Multiplier<R> {
    pub(super) fn new(device: &Device, influence: &Influence, sizes: &Sizes) -> Result<Self, CudaError> {
        let [x, y, z] = influence.factors();
        let factors = x.iter().chain(y).chain(&z[..sizes.half as usize]);
        let factors: Vec<R> = factors.copied().map(R::rounded).collect();
        let table = if influence.is_optimal() {
            laid_out(&influence.table(), sizes)?
        } else {
            Vec::new()
        };
        Ok(Self {
            factors: device.upload(&factors)?,
            table: device.upload(&table)?,
        })
    }
}

/// A table as the spectrum lies in memory.
fn laid_out<R: MeshNumber>(values: &[f64], sizes: &Sizes) -> Result<Vec<R>, CudaError> {
    let (columns, plane) = (sizes.columns as usize, sizes.plane as usize);
    let needed = columns * sizes.size[0] as usize;
    CudaError::check_length("table of an influence function", values.len(), needed)?;
    let mut table = vec![R::rounded(0.0); sizes.spectrum() / 2];
    for (to, from) in table.chunks_mut(plane).zip(values.chunks(columns)) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = R::rounded(*from);
        }
    }
    Ok(table)
}

/// Numbers of energy and virial.
pub(in crate::engines::cuda) const MESH_SUMS: usize = 7;

/// The potential of a mesh of charges: forward transform, times the influence function, back; none is normalized.
///
/// Using it allocates nothing and can be captured in a graph. Every result has the same bits every time.
#[derive(Debug)]
pub struct Solve<R: MeshNumber> {
    fft: Fft,
    sizes: Sizes,
    kernels: Kernels<R>,
    spectrum: Buffer<R>,
    by: Multiplier<R>,
    follow: Option<FollowTable<R>>,
    partial: Buffer<f64>,
    /// Stands in for sums that are not wanted.
    none: Buffer<f64>,
}

#[derive(Debug)]
enum Kernels<R: MeshNumber> {
    Own(Box<Passes<R>>),
    Library(Box<(Cufft<R>, Multiply<R>)>),
}

impl<R: MeshNumber> Solve<R> {
    /// For the mesh of an influence function. The plain function follows the cell that is given with every solve; the
    /// optimal one is a table that holds for its own cell.
    pub fn new(device: &Device, influence: &Influence, fft: Fft) -> Result<Self, CudaError> {
        let size = influence.mesh().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let table = influence.is_optimal();
        let (sizes, kernels) = match fft {
            Fft::Own(cut) => {
                let sizes = Sizes::new(size, cut.radix, true)?;
                let passes = Passes::new(device, &sizes, &cut, table)?;
                (sizes, Kernels::Own(Box::new(passes)))
            }
            Fft::Library => {
                let sizes = Sizes::new(size, 16, false)?;
                let cufft = Cufft::new(device, size)?;
                let multiply = Multiply::new(device, &sizes, table)?;
                (sizes, Kernels::Library(Box::new((cufft, multiply))))
            }
        };
        let blocks = match &kernels {
            Kernels::Own(passes) => passes.blocks(),
            Kernels::Library(library) => library.1.blocks(),
        };
        Ok(Self {
            fft,
            spectrum: device.zeros(sizes.spectrum())?,
            by: Multiplier::new(device, influence, &sizes)?,
            follow: None,
            partial: device.zeros(blocks as usize * MESH_SUMS)?,
            none: device.allocate(0)?,
            kernels,
            sizes,
        })
    }

    /// Takes another table, such as [`Influence::table`] of another cell; waits for the stream.
    pub fn set_table(&mut self, stream: &Stream, values: &[f64]) -> Result<(), CudaError> {
        let table = laid_out::<R>(values, &self.sizes)?;
        stream.upload(&table, self.by.table.all_mut())?;
        stream.synchronize()
    }

    /// Has the optimal function follow the cell that is given with every solve, as the plain one does by itself.
    pub fn follow(&mut self, device: &Device, influence: &Influence) -> Result<(), CudaError> {
        if influence.is_optimal() {
            let padded = matches!(self.kernels, Kernels::Own(_));
            self.follow = Some(FollowTable::new(device, influence, &self.sizes, padded)?);
        }
        Ok(())
    }

    /// How it transforms.
    pub fn fft(&self) -> Fft {
        self.fft
    }

    /// Points of the mesh.
    pub fn points(&self) -> usize {
        self.sizes.points()
    }

    /// Bytes of device memory that it takes, apart from what a library takes.
    pub fn bytes(&self) -> usize {
        self.spectrum.bytes() + self.by.factors.bytes() + self.by.table.bytes() + self.partial.bytes()
    }

    /// Bytes that a part reads and writes at least.
    #[doc(hidden)]
    pub fn part_bytes(&self, part: Part) -> usize {
        let (mesh, spectrum) = (self.points() * size_of::<R>(), self.spectrum.bytes());
        let columns = match &self.kernels {
            Kernels::Own(passes) if passes.takes_planes() => 0,
            _ => 2 * spectrum,
        };
        match part {
            Part::Middle => 2 * spectrum + self.by.table.bytes(),
            Part::Forward | Part::Backward => mesh + spectrum + columns,
        }
    }

    /// Kernels of a part, without sums.
    #[doc(hidden)]
    pub fn launches(&self, part: Part) -> u64 {
        let table = part == Part::Middle && self.follow.is_some();
        let each = match &self.kernels {
            Kernels::Own(passes) if part != Part::Middle && !passes.takes_planes() => 2,
            _ => 1,
        };
        each + u64::from(table)
    }

    /// Charges become their potential, in place. `sums`, if wanted, are 7 numbers: the energy ½ΣG|Q|² and the virial
    /// xx yy zz xy xz yz.
    pub fn queue(
        &mut self,
        stream: &Stream,
        mut mesh: SliceMut<'_, R>,
        cell: Slice<'_, MeshCell>,
        sums: Option<SliceMut<'_, f64>>,
    ) -> Result<(), CudaError> {
        let always = Word::rest(None);
        self.forward(stream, mesh.read(), &always)?;
        self.middle(stream, cell, sums.is_some(), &always)?;
        self.backward(stream, mesh.again(), sums, &always)
    }

    /// The same, with the charges left as they are.
    pub fn queue_apart(
        &mut self,
        stream: &Stream,
        charges: Slice<'_, R>,
        potential: SliceMut<'_, R>,
        cell: Slice<'_, MeshCell>,
        sums: Option<SliceMut<'_, f64>>,
    ) -> Result<(), CudaError> {
        let always = Word::rest(None);
        self.forward(stream, charges, &always)?;
        self.middle(stream, cell, sums.is_some(), &always)?;
        self.backward(stream, potential, sums, &always)
    }

    /// One part of it, in place. Kernels of this program do nothing while the word `rest` is not zero.
    pub fn queue_part(
        &mut self,
        stream: &Stream,
        part: Part,
        mut mesh: SliceMut<'_, R>,
        cell: Slice<'_, MeshCell>,
        sums: Option<SliceMut<'_, f64>>,
        rest: Option<&Word>,
    ) -> Result<(), CudaError> {
        let rest = Word::rest(rest);
        match part {
            Part::Forward => self.forward(stream, mesh.read(), &rest),
            Part::Middle => self.middle(stream, cell, sums.is_some(), &rest),
            Part::Backward => self.backward(stream, mesh.again(), sums, &rest),
        }
    }

    /// The spectrum as the last part left it, and the numbers from one plane of it to the next; for tests.
    #[doc(hidden)]
    pub fn spectrum(&self) -> (&Buffer<R>, usize) {
        (&self.spectrum, 2 * self.sizes.plane as usize)
    }

    fn forward(&mut self, stream: &Stream, mesh: Slice<'_, R>, rest: &Bundle<Rest>) -> Result<(), CudaError> {
        CudaError::check_length("mesh of charges", mesh.len(), self.points())?;
        let spectrum = self.spectrum.all_mut();
        match &self.kernels {
            Kernels::Own(passes) => passes.forward(stream, mesh, spectrum, rest),
            Kernels::Library(library) => library.0.forward(stream, mesh, spectrum),
        }
    }

    fn middle(
        &mut self,
        stream: &Stream,
        cell: Slice<'_, MeshCell>,
        sums: bool,
        rest: &Bundle<Rest>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("cell of a mesh", cell.len(), 1)?;
        if let Some(follow) = &mut self.follow {
            follow.queue(stream, cell, &mut self.by.table)?;
        }
        let spectrum = self.spectrum.all_mut();
        let partial = sums.then(|| self.partial.all_mut());
        match &self.kernels {
            Kernels::Own(passes) => passes.middle(stream, spectrum, &self.by, cell, partial, rest),
            Kernels::Library(library) => library.1.queue(stream, spectrum, &self.by, cell, partial),
        }
    }

    fn backward(
        &mut self,
        stream: &Stream,
        mesh: SliceMut<'_, R>,
        sums: Option<SliceMut<'_, f64>>,
        rest: &Bundle<Rest>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("mesh of a potential", mesh.len(), self.points())?;
        if let Some(sums) = &sums {
            CudaError::check_length("energy and virial of a mesh", sums.len(), MESH_SUMS)?;
        }
        let (spectrum, partial) = (self.spectrum.all_mut(), self.partial.all());
        match &self.kernels {
            Kernels::Own(passes) => {
                passes.backward(stream, spectrum, mesh, partial, sums, self.none.all_mut(), rest)
            }
            Kernels::Library(library) => {
                library.0.backward(stream, spectrum, mesh)?;
                sums.map_or(Ok(()), |sums| library.1.add(stream, partial, sums))
            }
        }
    }
}

/// Whether cuFFT can be used on a device, and its version.
pub(super) fn library_version(device: &Device) -> Option<(u32, u32)> {
    cufft_version(device).ok()
}
