//! [`Fft`]: how a mesh is transformed, as told; [`Solver`]: a mesh solved in this way.

use std::fmt;
use std::str::FromStr;

use debye::engines::cuda::mesh::{MeshCell, MeshNumber, Part, Solve};
use debye::forces::pme::Influence;
use debye_gpu::transforms::{Across, Cut, Lines};
use debye_gpu::{Buffer, CudaError, Device, Slice, SliceMut, Stream};

use crate::cufft::{Cufft, cufft_version};
use crate::cuts;
use crate::multiply::Multiply;

/// How a mesh is transformed. Written and read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fft {
    /// By the kernels of a simulation.
    Own(Cut),
    /// By NVIDIA's cuFFT.
    Library,
}

impl Fft {
    /// What is worth measuring, cuFFT too where there is one; `all` for more than a run would wait for.
    pub fn candidates<R: MeshNumber>(
        device: &Device,
        size: [u32; 3],
        all: bool,
    ) -> Result<Vec<Self>, CudaError> {
        let cuts = cuts::candidates(device.info(), size, R::DOUBLE, all)?;
        let library = cufft_version(device).ok().map(|_| Self::Library);
        Ok(cuts.into_iter().map(Self::Own).chain(library).collect())
    }
}

impl fmt::Display for Fft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(cut) => cut.fmt(f),
            Self::Library => f.write_str("cufft"),
        }
    }
}

/// What a choice looks like as text.
const EXPECTED: &str =
    "expected `cufft`, `planes=512 tile=16x256 radix=16` or `pairs=4x128 strip=16x128 tile=16x256 radix=16`";

impl FromStr for Fft {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "cufft" {
            return Ok(Self::Library);
        }
        let words: Option<Vec<(&str, &str)>> =
            text.split_whitespace().map(|word| word.split_once('=')).collect();
        let wrong = || format!("`{text}`: {EXPECTED}");
        let words = words.ok_or_else(wrong)?;
        let find = |key: &str| {
            let mut values = words.iter().filter(|word| word.0 == key).map(|word| word.1);
            values.next().filter(|_| values.next().is_none())
        };
        let number = |key: &str| find(key).and_then(|value| value.parse::<u32>().ok());
        let lines = |key: &str| {
            let (lines, threads) = find(key)?.split_once('x')?;
            Some(Lines {
                lines: lines.parse().ok().filter(|&n| n > 0)?,
                threads: threads.parse().ok()?,
            })
        };
        let rows = || {
            Some(Across::Rows {
                pairs: lines("pairs")?,
                strip: lines("strip")?,
            })
        };
        let across = number("planes").map(Across::Planes).or_else(rows);
        let known = if find("planes").is_some() { 3 } else { 4 };
        match (across, lines("tile"), number("radix")) {
            (Some(across), Some(tile), Some(radix)) if words.len() == known => {
                Ok(Self::Own(Cut { radix, across, tile }))
            }
            _ => Err(wrong()),
        }
    }
}

/// The potential of a mesh of charges: forward transform, times the influence function, back; none is normalized.
#[derive(Debug)]
pub enum Solver<R: MeshNumber> {
    /// By the kernels of a simulation.
    Own(Box<Solve<R>>),
    /// By cuFFT, and a kernel that multiplies.
    Library(Box<LibrarySolve<R>>),
}

/// A solve by cuFFT.
#[derive(Debug)]
pub struct LibrarySolve<R: MeshNumber> {
    size: [u32; 3],
    cufft: Cufft<R>,
    multiply: Multiply<R>,
    spectrum: Buffer<R>,
}

impl<R: MeshNumber> Solver<R> {
    /// For the mesh of an influence function.
    pub fn new(device: &Device, influence: &Influence, fft: Fft) -> Result<Self, CudaError> {
        let size = influence.mesh().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        // A mesh that no simulation could have is refused.
        Cut::rule(device.info(), size, R::DOUBLE)?;
        match fft {
            Fft::Own(cut) => Ok(Self::Own(Box::new(Solve::new(device, influence, cut)?))),
            Fft::Library => Self::library(device, influence),
        }
    }

    /// By cuFFT, which also takes meshes that no simulation could have.
    pub(crate) fn library(device: &Device, influence: &Influence) -> Result<Self, CudaError> {
        let size = influence.mesh().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Ok(Self::Library(Box::new(LibrarySolve {
            size,
            cufft: Cufft::new(device, size)?,
            multiply: Multiply::new(device, size, influence)?,
            spectrum: device.zeros(2 * (size[0] * size[1] * (size[2] / 2 + 1)) as usize)?,
        })))
    }

    /// Points of the mesh.
    pub fn points(&self) -> usize {
        match self {
            Self::Own(solve) => solve.points(),
            Self::Library(solve) => solve.size.iter().map(|&n| n as usize).product(),
        }
    }

    /// Bytes that a part reads and writes at least.
    pub fn part_bytes(&self, part: Part) -> usize {
        match self {
            Self::Own(solve) => solve.part_bytes(part),
            Self::Library(solve) => {
                let (mesh, spectrum) = (self.points() * size_of::<R>(), solve.spectrum.bytes());
                match part {
                    Part::Middle => 2 * spectrum + solve.multiply.table_bytes(),
                    Part::Forward | Part::Backward => mesh + 3 * spectrum,
                }
            }
        }
    }

    /// Takes another table instead of that of the optimal influence function; waits for the stream.
    pub fn set_table(&mut self, stream: &Stream, values: &[f64]) -> Result<(), CudaError> {
        match self {
            Self::Own(solve) => solve.set_table(stream, values),
            Self::Library(solve) => solve.multiply.set_table(stream, values),
        }
    }

    /// Charges become their potential, in place. `sums`, if wanted, are energy and virial.
    pub fn queue(
        &mut self,
        stream: &Stream,
        mut mesh: SliceMut<'_, R>,
        cell: Slice<'_, MeshCell>,
        sums: Option<SliceMut<'_, f64>>,
    ) -> Result<(), CudaError> {
        self.forward(stream, mesh.read())?;
        self.middle(stream, cell, sums.is_some())?;
        self.backward(stream, mesh.again(), sums)
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
        self.forward(stream, charges)?;
        self.middle(stream, cell, sums.is_some())?;
        self.backward(stream, potential, sums)
    }

    /// One part of it, in place, without sums.
    pub fn queue_part(
        &mut self,
        stream: &Stream,
        part: Part,
        mut mesh: SliceMut<'_, R>,
        cell: Slice<'_, MeshCell>,
    ) -> Result<(), CudaError> {
        match part {
            Part::Forward => self.forward(stream, mesh.read()),
            Part::Middle => self.middle(stream, cell, false),
            Part::Backward => self.backward(stream, mesh.again(), None),
        }
    }

    fn forward(&mut self, stream: &Stream, mesh: Slice<'_, R>) -> Result<(), CudaError> {
        CudaError::check_length("mesh of charges", mesh.len(), self.points())?;
        match self {
            Self::Own(solve) => solve.forward(stream, mesh, None),
            Self::Library(solve) => solve.cufft.forward(stream, mesh, solve.spectrum.all_mut()),
        }
    }

    fn middle(&mut self, stream: &Stream, cell: Slice<'_, MeshCell>, sums: bool) -> Result<(), CudaError> {
        match self {
            Self::Own(solve) => solve.middle(stream, cell, sums, None),
            Self::Library(solve) => solve.multiply.queue(stream, solve.spectrum.all_mut(), cell, sums),
        }
    }

    fn backward(
        &mut self,
        stream: &Stream,
        mesh: SliceMut<'_, R>,
        sums: Option<SliceMut<'_, f64>>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("mesh of a potential", mesh.len(), self.points())?;
        match self {
            Self::Own(solve) => solve.backward(stream, mesh, sums, None),
            Self::Library(solve) => {
                solve.cufft.backward(stream, solve.spectrum.all_mut(), mesh)?;
                sums.map_or(Ok(()), |sums| solve.multiply.add(stream, sums))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use debye_gpu::Emulation;

    #[test]
    fn choices_are_kept_as_text() {
        let info = Device::emulated(Emulation::default()).unwrap().info().clone();
        for size in [[64, 64, 64], [108, 108, 80], [5, 7, 9], [256, 256, 256]] {
            for double in [false, true] {
                for cut in cuts::candidates(&info, size, double, true).unwrap() {
                    let text = Fft::Own(cut).to_string();
                    assert_eq!(text.parse(), Ok(Fft::Own(cut)), "{text}");
                    cut.check(&info, size, double).unwrap();
                }
            }
        }
        assert_eq!("cufft".parse(), Ok(Fft::Library));
        for bad in [
            "",
            "fast",
            "planes=512",
            "planes=x tile=16x256 radix=16",
            "planes=512 tile=16 radix=16",
            "planes=512 tile=0x64 radix=16",
            "pairs=4x128 tile=16x256 radix=16",
            "planes=512 tile=16x256 radix=16 radix=8",
        ] {
            let error = bad.parse::<Fft>().unwrap_err();
            assert!(error.contains("expected"), "{error}");
        }
    }
}
