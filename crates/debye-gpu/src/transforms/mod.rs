//! Fourier transforms of real meshes in three dimensions, fused with what a caller does to the spectrum.
//!
//! [`Cut`] says how a mesh is transformed, by rule or as told. [`Passes`] are the kernels. What they multiply each
//! number of the spectrum by is in a header of the caller's, `multiply.cuh`; `kernels/fft.cu` says what it must have.

mod passes;

use std::fmt;

use crate::{CudaError, DeviceInfo, Header, ModuleSource};

pub use passes::{Passes, Rest};

/// Radices that lines are taken apart into.
const RADICES: [u32; 13] = [16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2];
/// Points along an axis.
pub(super) const SIZES: std::ops::RangeInclusive<u32> = 4..=512;
/// The most threads of a block.
const MOST_THREADS: u32 = 1024;

/// How the kernels that transform a mesh cut it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The largest radix.
    pub radix: u32,
    /// How planes across the first axis are transformed.
    pub across: Across,
    /// Columns along the first axis that a block takes.
    pub tile: Lines,
}

/// How planes are transformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// A whole plane by a block of so many threads.
    Planes(u32),
    /// Rows by two along the last axis, then columns along the second.
    Rows {
        /// Pairs of rows of a block.
        pairs: Lines,
        /// Columns of a block.
        strip: Lines,
    },
}

/// Lines that a block takes, and its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Lines.
    pub lines: u32,
    /// Threads.
    pub threads: u32,
}

/// Radices whose product is `n`, none above `most`: as few as can be, then the smallest, the largest first. `None` if
/// there are none.
pub fn radices(n: u32, most: u32) -> Option<Vec<u32>> {
    fn search(n: u32, most: u32) -> Option<Vec<u32>> {
        if n == 1 {
            return Some(Vec::new());
        }
        let fitting = RADICES.into_iter().filter(|&r| r <= most && n.is_multiple_of(r));
        let found = fitting.filter_map(|r| {
            let mut all = vec![r];
            all.extend(search(n / r, r)?);
            Some(all)
        });
        found.min_by_key(|all| (all.len(), all.iter().sum::<u32>()))
    }
    if n > 1 { search(n, most) } else { None }
}

/// Refuses a mesh that cannot be transformed.
pub(super) fn check(size: [u32; 3]) -> Result<(), CudaError> {
    if size
        .iter()
        .all(|&n| SIZES.contains(&n) && radices(n, 16).is_some())
    {
        return Ok(());
    }
    Err(refused(format!(
        "a mesh of {} × {} × {} points; each must be {} to {} and have no prime factor but 2, 3, 5 and 7",
        size[0],
        size[1],
        size[2],
        SIZES.start(),
        SIZES.end()
    )))
}

fn refused(reason: String) -> CudaError {
    CudaError::shape("debye_mesh", reason)
}

impl Lines {
    /// So many lines by the fewest threads, up to `most`, with which a block goes through them as fast as it can.
    pub fn balanced(lines: u32, radices: &[u32], most: u32) -> Self {
        let threads = balanced(&[(lines, radices)], most);
        Self { lines, threads }
    }
}

/// The fewest threads, up to `most`, with which a block goes through these lines as fast as it can.
fn balanced(work: &[(u32, &[u32])], most: u32) -> u32 {
    let rounds = |threads: u32| -> u32 {
        let line = |(lines, radices): &(u32, &[u32])| -> u32 {
            let n: u32 = radices.iter().product();
            radices
                .iter()
                .map(|r| r * (lines * (n / r)).div_ceil(threads))
                .sum()
        };
        work.iter().map(line).sum()
    };
    let all = (1..=most / 32).map(|warps| 32 * warps);
    all.min_by_key(|&threads| (rounds(threads), threads))
        .unwrap_or(32)
}

/// The spectrum of a mesh, and how it lies in memory.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// Points of the mesh.
    pub size: [u32; 3],
    /// Numbers of a row.
    pub half: u32,
    /// Numbers of a plane.
    pub columns: u32,
    /// Numbers from one plane to the next.
    pub plane: u32,
    radices: [Vec<u32>; 3],
    /// Numbers of two rows in shared memory.
    double_row: u32,
}

impl Spectrum {
    /// Of a mesh that is transformed by radices up to `radix`.
    pub fn new(size: [u32; 3], radix: u32) -> Result<Self, CudaError> {
        check(size)?;
        let all = size.map(|n| radices(n, radix));
        let [Some(x), Some(y), Some(z)] = all else {
            return Err(refused(format!("radices up to {radix} do not make {size:?}")));
        };
        let half = size[2] / 2 + 1;
        let columns = size[1] * half;
        let apart = if z[0].is_multiple_of(2) {
            (size[2] - 1) / z[0]
        } else {
            0
        };
        Ok(Self {
            size,
            half,
            columns,
            plane: columns.next_multiple_of(16),
            radices: [x, y, z],
            double_row: size[2] + apart,
        })
    }

    /// Points of the mesh.
    pub fn points(&self) -> usize {
        self.size.iter().map(|&n| n as usize).product()
    }

    /// Real numbers in memory, two for each complex one.
    pub fn numbers(&self) -> usize {
        2 * self.size[0] as usize * self.plane as usize
    }

    /// Bytes of shared memory of a plane.
    fn plane_shared(&self, double: bool) -> u32 {
        let rows = self.size[1].div_ceil(2) * self.double_row;
        complex(double) * rows.max(self.columns)
    }

    fn pairs_shared(&self, pairs: Lines, double: bool) -> u32 {
        complex(double) * pairs.lines * self.double_row
    }

    fn strip_shared(&self, strip: Lines, double: bool) -> u32 {
        complex(double) * strip.lines * self.size[1]
    }

    fn tile_shared(&self, tile: Lines, double: bool) -> u32 {
        complex(double) * tile.lines * self.size[0]
    }
}

fn complex(double: bool) -> u32 {
    if double { 16 } else { 8 }
}

impl Cut {
    /// What is expected to be fast on a device.
    pub fn rule(info: &DeviceInfo, size: [u32; 3], double: bool) -> Result<Self, CudaError> {
        // More threads of double precision would have too few registers.
        let (radix, threads) = (16, if double { 384 } else { 512 });
        let whole = Self::whole_planes(info, size, double, radix, threads)?;
        let rows = || Self::by_rows(info, size, double, radix);
        whole.map_or_else(rows, Ok)
    }

    /// Whole planes by blocks of up to `threads`, if they fit.
    pub fn whole_planes(
        info: &DeviceInfo,
        size: [u32; 3],
        double: bool,
        radix: u32,
        threads: u32,
    ) -> Result<Option<Self>, CudaError> {
        let sizes = Spectrum::new(size, radix)?;
        let [_, y, z] = &sizes.radices;
        let work: [(u32, &[u32]); 2] = [(size[1].div_ceil(2), z), (sizes.half, y)];
        let fits = sizes.plane_shared(double) + 2048 <= info.shared_per_block;
        Ok(fits.then_some(Self {
            radix,
            across: Across::Planes(balanced(&work, threads)),
            tile: tile(info, &sizes, double),
        }))
    }

    /// Rows, then columns.
    pub fn by_rows(info: &DeviceInfo, size: [u32; 3], double: bool, radix: u32) -> Result<Self, CudaError> {
        let sizes = Spectrum::new(size, radix)?;
        let [_, y, z] = &sizes.radices;
        let pairs = (128 * z[0] / size[2]).max(1);
        // Strips of one width.
        let wanted = if double { 8 } else { 16 };
        let strip = sizes.half.div_ceil(sizes.half.div_ceil(wanted));
        Ok(Self {
            radix,
            across: Across::Rows {
                pairs: Lines::balanced(pairs, z, 256),
                strip: Lines::balanced(strip, y, 256),
            },
            tile: tile(info, &sizes, double),
        })
    }

    /// Refuses what a device cannot do.
    pub fn check(&self, info: &DeviceInfo, size: [u32; 3], double: bool) -> Result<(), CudaError> {
        let sizes = Spectrum::new(size, self.radix)?;
        let mut shared = vec![(self.tile.threads, sizes.tile_shared(self.tile, double))];
        match self.across {
            Across::Planes(threads) => shared.push((threads, sizes.plane_shared(double))),
            Across::Rows { pairs, strip } => shared.extend([
                (pairs.threads, sizes.pairs_shared(pairs, double)),
                (strip.threads, sizes.strip_shared(strip, double)),
            ]),
        }
        for (threads, bytes) in shared {
            let good = threads % 32 == 0 && (32..=MOST_THREADS).contains(&threads);
            // Sums of blocks take some more.
            if !good || bytes == 0 || bytes + 2048 > info.shared_per_block {
                return Err(refused(format!(
                    "`{self}` takes {threads} threads and {bytes} bytes of shared memory; threads must be a multiple of \
                     32 up to {MOST_THREADS}, and the device has {} bytes",
                    info.shared_per_block
                )));
            }
        }
        Ok(())
    }

    /// What is compiled, but for the caller's `multiply.cuh`.
    pub fn source(&self, spectrum: &Spectrum, double: bool) -> ModuleSource {
        let text = |radices: &[u32]| {
            let words: Vec<String> = radices.iter().map(u32::to_string).collect();
            words.join(",")
        };
        let [x, y, z] = &spectrum.radices;
        let reversed: Vec<u32> = x.iter().rev().copied().collect();
        let module = spectrum_source("fft.cu", include_str!("../kernels/fft.cu"), spectrum.size, double)
            .define("PADDED", 1)
            .define("RADICES_X", text(x))
            .define("RADICES_Y", text(y))
            .define("RADICES_Z", text(z))
            .define("REVERSED_X", text(&reversed))
            .define("TILE", self.tile.lines)
            .define("TILE_THREADS", self.tile.threads);
        match self.across {
            Across::Planes(threads) => module.define("PLANES", 1).define("PLANE_THREADS", threads),
            Across::Rows { pairs, strip } => module
                .define("PLANES", 0)
                .define("PAIRS", pairs.lines)
                .define("PAIR_THREADS", pairs.threads)
                .define("STRIP", strip.lines)
                .define("STRIP_THREADS", strip.threads),
        }
    }
}

/// A module that may include `spectrum.cuh`, for a mesh of this size. It must define whether planes of the spectrum are
/// `PADDED`.
pub fn spectrum_source(name: &str, text: &str, size: [u32; 3], double: bool) -> ModuleSource {
    let [x, y, z] = size;
    ModuleSource::new(name, text)
        .include("fft.cuh", include_str!("../kernels/fft.cuh"))
        .include("spectrum.cuh", include_str!("../kernels/spectrum.cuh"))
        .include(
            "transforms_shared.cuh",
            &Header::new(&["prelude.cuh"]).define::<Rest>().text(),
        )
        .define("PRECISION", if double { 2 } else { 0 })
        .define("N1", x)
        .define("N2", y)
        .define("N3", z)
        // Generic lambdas are device code.
        .option("--device-as-default-execution-space")
}

/// Columns along x of a block: lines of 128 bytes unless there would be too few blocks.
fn tile(info: &DeviceInfo, sizes: &Spectrum, double: bool) -> Lines {
    let full = if double { 8 } else { 16 };
    let enough = sizes.columns / full >= info.multiprocessors;
    Lines::balanced(if enough { full } else { 8 }, &sizes.radices[0], 256)
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.lines, self.threads)
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.across {
            Across::Planes(threads) => write!(f, "planes={threads}")?,
            Across::Rows { pairs, strip } => write!(f, "pairs={pairs} strip={strip}")?,
        }
        write!(f, " tile={} radix={}", self.tile, self.radix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Emulation};

    #[test]
    fn lines_take_few_stages() {
        for (n, most, want) in [
            (64, 16, vec![8, 8]),
            (64, 4, vec![4, 4, 4]),
            (108, 16, vec![12, 9]),
            (125, 16, vec![5, 5, 5]),
            (7, 16, vec![7]),
            (512, 16, vec![8, 8, 8]),
            (486, 16, vec![9, 9, 6]),
        ] {
            assert_eq!(radices(n, most), Some(want), "{n}");
        }
        for n in [0, 1, 11, 22, 169] {
            assert_eq!(radices(n, 16), None, "{n}");
        }
        for n in SIZES.filter(|&n| radices(n, 16).is_some()) {
            for most in [8, 10, 16] {
                assert_eq!(radices(n, most).unwrap().iter().product::<u32>(), n);
            }
        }
    }

    #[test]
    fn meshes_that_cannot_be_transformed_are_refused() {
        for size in [[11, 8, 8], [8, 3, 8], [8, 8, 1024]] {
            let error = check(size).unwrap_err().to_string();
            assert!(error.contains("2, 3, 5 and 7"), "{error}");
        }
        let info = Device::emulated(Emulation::default()).unwrap().info().clone();
        let rule = Cut::rule(&info, [64; 3], false).unwrap();
        rule.check(&info, [64; 3], false).unwrap();
        let across = Across::Planes(500);
        let cut = Cut { across, ..rule };
        let error = cut.check(&info, [64; 3], false).unwrap_err().to_string();
        assert!(error.contains("multiple of 32"), "{error}");
    }
}
