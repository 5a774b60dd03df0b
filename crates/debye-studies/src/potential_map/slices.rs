//! [`Slices`]: the paper's procedure around its kernels: slice by slice, chunk of atoms by chunk of atoms.

use debye_gpu::{Buffer, CudaError, Device, Kernel, Module, ModuleSource, Mut, Shape, Stream};

use super::input::{Molecule, SPACING};

/// Threads of a block along x and y.
pub(super) const SIDE: usize = 16;
/// Atoms in constant memory: a chunk.
const CHUNK: usize = 4096;

/// The three kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One point for each thread.
    One,
    /// Four neighboring points.
    Two,
    /// Eight points, coalesced.
    Three,
}

impl Version {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    /// 1, 2 or 3.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// Points of a thread.
    pub fn points(self) -> usize {
        [1, 4, 8][self as usize]
    }

    /// A slice padded to whole blocks.
    pub fn padded(self, [x, y]: [usize; 2]) -> [usize; 2] {
        [x.next_multiple_of(SIDE * self.points()), y.next_multiple_of(SIDE)]
    }
}

/// Blocks of a square slice.
pub(super) fn blocks(version: Version, edge: usize) -> usize {
    let [x, y] = version.padded([edge; 2]);
    x / (SIDE * version.points()) * (y / SIDE)
}

pub(crate) fn source() -> ModuleSource {
    ModuleSource::new("potential_map.cu", include_str!("../kernels/potential_map.cu"))
}

/// A map in the making.
pub(super) struct Slices {
    module: Module,
    kernel: Kernel<(Mut<f32>, u32, f32, u32)>,
    shape: Shape,
    /// Points along x, y, z.
    points: [usize; 3],
    padded: [usize; 2],
    atoms: Vec<[f64; 4]>,
    slice: Buffer<f32>,
    /// What is copied to constant memory.
    chunk: Vec<f32>,
}

impl Slices {
    pub(super) fn new(device: &Device, version: Version, molecule: &Molecule) -> Result<Self, CudaError> {
        let module = device.module(&source())?;
        let points = molecule.shape();
        let padded = version.padded([points[0], points[1]]);
        let blocks = [padded[0] / (SIDE * version.points()), padded[1] / SIDE];
        Ok(Self {
            kernel: module.kernel(&format!("debye_dcs_{}", version.number()))?,
            module,
            shape: Shape {
                grid: [blocks[0] as u32, blocks[1] as u32, 1],
                block: [SIDE as u32, SIDE as u32, 1],
                shared: 0,
                cooperative: false,
            },
            points,
            padded,
            atoms: molecule.atoms().to_vec(),
            slice: device.zeros(padded[0] * padded[1])?,
            chunk: vec![0.0; 4 * CHUNK],
        })
    }

    fn launch(&mut self, stream: &Stream, atoms: usize) -> Result<(), CudaError> {
        let row = self.padded[0] as u32;
        let given = (self.slice.all_mut(), row, SPACING as f32, atoms as u32);
        self.kernel.launch(stream, self.shape, given)
    }

    /// The launches of all slices and chunks without the copies between them.
    pub(super) fn launches(&mut self, stream: &Stream) -> Result<(), CudaError> {
        for _ in 0..self.points[2] {
            let mut left = self.atoms.len();
            while left > 0 {
                let atoms = left.min(CHUNK);
                self.launch(stream, atoms)?;
                left -= atoms;
            }
        }
        Ok(())
    }

    /// Fig. 15.4: for each slice, chunks of atoms to constant memory one after another, and the slice back to the host.
    pub(super) fn map(&mut self, stream: &Stream) -> Result<Vec<f32>, CudaError> {
        let [nx, ny, nz] = self.points;
        let mut values = Vec::with_capacity(nx * ny * nz);
        for k in 0..nz {
            stream.fill(self.slice.all_mut(), 0)?;
            let z = (SPACING * k as f64) as f32;
            for start in (0..self.atoms.len()).step_by(CHUNK) {
                let end = (start + CHUNK).min(self.atoms.len());
                for (slot, atom) in self.chunk.chunks_exact_mut(4).zip(&self.atoms[start..end]) {
                    let [x, y, az, q] = atom.map(|v| v as f32);
                    let dz = z - az;
                    slot.copy_from_slice(&[x, y, dz * dz, q]);
                }
                self.module.set(stream, "debye_atominfo", &self.chunk)?;
                self.launch(stream, end - start)?;
            }
            let slice = stream.download(&self.slice)?;
            let rows = slice.chunks_exact(self.padded[0]).take(ny);
            rows.for_each(|row| values.extend_from_slice(&row[..nx]));
        }
        Ok(values)
    }
}
