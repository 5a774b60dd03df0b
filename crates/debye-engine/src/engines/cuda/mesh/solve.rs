//! [`Solve`]: the potential of a mesh of charges.

use crate::expr::Mat3;
use crate::forces::pme::Influence;
use debye_gpu::transforms::{Across, Cut, Lines, Passes, Spectrum, spectrum_source};
use debye_gpu::{
    Binder, Buffer, Bundle, ConstAddress, CudaError, Device, DeviceInfo, ModuleSource, Slice, SliceMut,
    Stream,
};

use super::reciprocal;
use super::shared::{self, SpectrumReal};
use super::table::{self, ChangingTable};
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

    /// Where what a spectrum is multiplied by is.
    pub(super) struct Multiplier {
        /// Those of x, y and z one after another.
        factors: ConstAddress<SpectrumReal>,
        cell: ConstAddress<MeshCell>,
        /// The influence function itself, where it is read from a table.
        table: ConstAddress<SpectrumReal>,
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
    /// Along x, times the influence function, and back along x.
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
struct Multipliers<R: MeshNumber> {
    /// 1/w² for every index of x, y, and of the half of z that is kept.
    factors: Buffer<R>,
    /// G itself where it is optimal, laid out as the spectrum; else empty.
    table: Buffer<R>,
}

impl<R: MeshNumber> Multipliers<R> {
    fn new(device: &Device, influence: &Influence, sizes: &Spectrum) -> Result<Self, CudaError> {
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

    fn at(&self, cell: Slice<'_, MeshCell>) -> Bundle<Multiplier> {
        let mut at = Binder::default();
        let addresses = Multiplier {
            factors: at.address_as(&self.factors),
            cell: at.part(cell),
            table: at.address_as(&self.table),
        };
        at.bundle(addresses)
    }
}

/// A module that may include `influence.cuh`, for a mesh of this size. It must define whether planes of the spectrum
/// are `PADDED`. `table`: the influence function is read from one.
pub fn influence_source(name: &str, text: &str, size: [u32; 3], double: bool, table: bool) -> ModuleSource {
    with_influence(spectrum_source(name, text, size, double), double, table)
}

fn with_influence(module: ModuleSource, double: bool, table: bool) -> ModuleSource {
    module
        .include("influence.cuh", include_str!("../kernels/influence.cuh"))
        .include("reciprocal.cuh", &reciprocal::text(double))
        .include("solve_shared.cuh", &shared::of_solving())
        .define("TABLE", u32::from(table))
}

/// The passes of a cut, with the multiplication between them.
fn source(cut: &Cut, sizes: &Spectrum, double: bool, table: bool) -> ModuleSource {
    with_influence(cut.source(sizes, double), double, table)
        .include("multiply.cuh", include_str!("../kernels/multiply.cuh"))
}

/// A table as the spectrum lies in memory.
fn laid_out<R: MeshNumber>(values: &[f64], sizes: &Spectrum) -> Result<Vec<R>, CudaError> {
    let (columns, plane) = (sizes.columns as usize, sizes.plane as usize);
    let needed = columns * sizes.size[0] as usize;
    CudaError::check_length("table of an influence function", values.len(), needed)?;
    let mut table = vec![R::rounded(0.0); sizes.numbers() / 2];
    for (to, from) in table.chunks_mut(plane).zip(values.chunks(columns)) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = R::rounded(*from);
        }
    }
    Ok(table)
}

/// Numbers of energy and virial.
pub const MESH_SUMS: usize = 7;

/// The potential of a mesh of charges: forward transform, times the influence function, back; none is normalized.
///
/// Using it allocates nothing and can be captured in a graph. Every result has the same bits every time.
#[derive(Debug)]
pub struct Solve<R: MeshNumber> {
    sizes: Spectrum,
    passes: Passes<R, Multiplier>,
    spectrum: Buffer<R>,
    by: Multipliers<R>,
    changing: Option<ChangingTable<R>>,
    partial: Buffer<f64>,
    /// Stands in for sums that are not wanted.
    none: Buffer<f64>,
}

impl<R: MeshNumber> Solve<R> {
    /// For the mesh of an influence function. The plain function follows the cell that is given with every solve; the
    /// optimal one is a table that holds for its own cell.
    pub fn new(device: &Device, influence: &Influence, cut: Cut) -> Result<Self, CudaError> {
        let size = influence.mesh().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let sizes = Spectrum::new(size, cut.radix)?;
        let source = source(&cut, &sizes, R::DOUBLE, influence.is_optimal());
        let passes = Passes::new(device, &sizes, &cut, &source)?;
        Ok(Self {
            spectrum: device.zeros(sizes.numbers())?,
            by: Multipliers::new(device, influence, &sizes)?,
            changing: None,
            partial: device.zeros(passes.blocks() as usize * MESH_SUMS)?,
            none: device.allocate(0)?,
            passes,
            sizes,
        })
    }

    /// What is compiled for a mesh of this size, with an influence function that may be optimal and then follow the cell.
    pub(super) fn sources(
        info: &DeviceInfo,
        size: [u32; 3],
        [optimal, changes]: [bool; 2],
    ) -> Result<Vec<ModuleSource>, CudaError> {
        let cut = Cut::rule(info, size, R::DOUBLE)?;
        let sizes = Spectrum::new(size, cut.radix)?;
        let table = (optimal && changes).then(|| table::source(&sizes, R::DOUBLE));
        let passes = source(&cut, &sizes, R::DOUBLE, optimal);
        Ok([passes].into_iter().chain(table).collect())
    }

    /// Takes another table, such as [`Influence::table`] of another cell; waits for the stream.
    pub fn set_table(&mut self, stream: &Stream, values: &[f64]) -> Result<(), CudaError> {
        let table = laid_out::<R>(values, &self.sizes)?;
        stream.upload(&table, self.by.table.all_mut())?;
        stream.synchronize()
    }

    /// Has the optimal influence function change with the cell of every solve, as the plain one does by itself.
    pub fn track_cell(&mut self, device: &Device, influence: &Influence) -> Result<(), CudaError> {
        if influence.is_optimal() {
            self.changing = Some(ChangingTable::new(device, influence, &self.sizes)?);
        }
        Ok(())
    }

    /// Points of the mesh.
    pub fn points(&self) -> usize {
        self.sizes.points()
    }

    /// Bytes of device memory that it takes.
    pub fn bytes(&self) -> usize {
        self.spectrum.bytes() + self.by.factors.bytes() + self.by.table.bytes() + self.partial.bytes()
    }

    /// Bytes that a part reads and writes at least.
    #[doc(hidden)]
    pub fn part_bytes(&self, part: Part) -> usize {
        let (mesh, spectrum) = (self.points() * size_of::<R>(), self.spectrum.bytes());
        let columns = if self.passes.takes_planes() {
            0
        } else {
            2 * spectrum
        };
        match part {
            Part::Middle => 2 * spectrum + self.by.table.bytes(),
            Part::Forward | Part::Backward => mesh + spectrum + columns,
        }
    }

    /// Kernels of a part, without sums.
    #[doc(hidden)]
    pub fn launches(&self, part: Part) -> u64 {
        let table = part == Part::Middle && self.changing.is_some();
        let columns = part != Part::Middle && !self.passes.takes_planes();
        1 + u64::from(columns) + u64::from(table)
    }

    /// The spectrum as the last part left it, and the numbers from one plane of it to the next; for tests.
    #[doc(hidden)]
    pub fn spectrum(&self) -> (&Buffer<R>, usize) {
        (&self.spectrum, 2 * self.sizes.plane as usize)
    }

    /// To the spectrum. Here as below, kernels do nothing while the word `rest` is not zero.
    pub fn forward(
        &mut self,
        stream: &Stream,
        mesh: Slice<'_, R>,
        rest: Option<&Word>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("mesh of charges", mesh.len(), self.points())?;
        let spectrum = self.spectrum.all_mut();
        self.passes.forward(stream, mesh, spectrum, &Word::rest(rest))
    }

    /// Times the influence function. `sums`: [`Solve::backward`] will be asked for them.
    pub fn middle(
        &mut self,
        stream: &Stream,
        cell: Slice<'_, MeshCell>,
        sums: bool,
        rest: Option<&Word>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("cell of a mesh", cell.len(), 1)?;
        if let Some(changing) = &mut self.changing {
            changing.queue(stream, cell, &mut self.by.table)?;
        }
        let spectrum = self.spectrum.all_mut();
        let partial = sums.then(|| self.partial.all_mut());
        let (by, rest) = (self.by.at(cell), Word::rest(rest));
        self.passes.middle(stream, spectrum, &by, partial, &rest)
    }

    /// Back. `sums`, if wanted, are [`MESH_SUMS`] numbers: the energy ½ΣG|Q|² and the virial xx yy zz xy xz yz.
    pub fn backward(
        &mut self,
        stream: &Stream,
        mesh: SliceMut<'_, R>,
        sums: Option<SliceMut<'_, f64>>,
        rest: Option<&Word>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("mesh of a potential", mesh.len(), self.points())?;
        if let Some(sums) = &sums {
            CudaError::check_length("energy and virial of a mesh", sums.len(), MESH_SUMS)?;
        }
        let (spectrum, partial, none) = (self.spectrum.all_mut(), self.partial.all(), self.none.all_mut());
        let rest = Word::rest(rest);
        self.passes
            .backward(stream, spectrum, mesh, partial, sums, none, &rest)
    }
}

/// Modules for tests that compile them all.
pub(super) fn modules() -> Vec<ModuleSource> {
    let lines = |lines, threads| Lines { lines, threads };
    let cut = |radix, across, tile| Cut { radix, across, tile };
    let strips = Across::Rows {
        pairs: lines(4, 128),
        strip: lines(11, 128),
    };
    let sources = [
        ([64, 64, 64], cut(8, Across::Planes(288), lines(16, 128)), false),
        ([128, 105, 45], cut(16, Across::Planes(384), lines(8, 128)), true),
        ([98, 75, 120], cut(15, strips, lines(8, 64)), false),
    ];
    let made = sources.iter().filter_map(|(size, cut, double)| {
        let sizes = Spectrum::new(*size, cut.radix).ok()?;
        Some([
            source(cut, &sizes, *double, *double),
            table::source(&sizes, *double),
        ])
    });
    made.flatten().collect()
}
