//! [`Fft`]: how a mesh is transformed, by rule, by measurement, or as told.

use std::fmt;
use std::str::FromStr;

use debye_gpu::{CudaError, DeviceInfo, ModuleSource};

/// Radices that lines are taken apart into.
const RADICES: [u32; 13] = [16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2];
/// Points along an axis.
pub(super) const SIZES: std::ops::RangeInclusive<u32> = 4..=512;
/// The most threads of a block.
const MOST_THREADS: u32 = 1024;

/// How a mesh is transformed. Written and read as text, so that a choice can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fft {
    /// By kernels of this program.
    Own(Cut),
    /// By NVIDIA's cuFFT.
    Library,
}

/// How the kernels of this program cut a mesh.
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

/// Radices whose product is `n`, none above `most`: as few as can be, then the smallest, the largest first. `None` if there
/// are none.
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
    CudaError::Shape {
        kernel: "debye_mesh".into(),
        reason,
    }
}

/// The fewest threads, up to `most`, with which a block goes through these lines as fast as it can.
pub(super) fn balanced(lines: u32, radices: &[u32], most: u32) -> u32 {
    balanced_of(&[(lines, radices)], most)
}

fn balanced_of(work: &[(u32, &[u32])], most: u32) -> u32 {
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

/// Sizes that follow from a mesh.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    pub(super) size: [u32; 3],
    /// Numbers of a row of the spectrum.
    pub(super) half: u32,
    /// Numbers of a plane of the spectrum, and of one as it lies in memory.
    pub(super) columns: u32,
    pub(super) plane: u32,
    pub(super) radices: [Vec<u32>; 3],
    /// Numbers of two rows in shared memory.
    double_row: u32,
}

impl Sizes {
    pub(super) fn new(size: [u32; 3], radix: u32, padded: bool) -> Result<Self, CudaError> {
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
            plane: if padded {
                columns.next_multiple_of(16)
            } else {
                columns
            },
            radices: [x, y, z],
            double_row: size[2] + apart,
        })
    }

    pub(super) fn points(&self) -> usize {
        self.size.iter().map(|&n| n as usize).product()
    }

    /// Numbers of the spectrum in memory, two for each complex one.
    pub(super) fn spectrum(&self) -> usize {
        2 * self.size[0] as usize * self.plane as usize
    }

    /// Bytes of shared memory of a plane.
    pub(super) fn plane_shared(&self, double: bool) -> u32 {
        let rows = self.size[1].div_ceil(2) * self.double_row;
        complex(double) * rows.max(self.columns)
    }

    pub(super) fn pairs_shared(&self, pairs: Lines, double: bool) -> u32 {
        complex(double) * pairs.lines * self.double_row
    }

    pub(super) fn strip_shared(&self, strip: Lines, double: bool) -> u32 {
        complex(double) * strip.lines * self.size[1]
    }

    pub(super) fn tile_shared(&self, tile: Lines, double: bool) -> u32 {
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
    pub(super) fn whole_planes(
        info: &DeviceInfo,
        size: [u32; 3],
        double: bool,
        radix: u32,
        threads: u32,
    ) -> Result<Option<Self>, CudaError> {
        let sizes = Sizes::new(size, radix, true)?;
        let [_, y, z] = &sizes.radices;
        let work: [(u32, &[u32]); 2] = [(size[1].div_ceil(2), z), (sizes.half, y)];
        let fits = sizes.plane_shared(double) + 2048 <= info.shared_per_block;
        Ok(fits.then_some(Self {
            radix,
            across: Across::Planes(balanced_of(&work, threads)),
            tile: tile(info, &sizes, double, None, 256),
        }))
    }

    /// Rows, then columns.
    pub(super) fn by_rows(
        info: &DeviceInfo,
        size: [u32; 3],
        double: bool,
        radix: u32,
    ) -> Result<Self, CudaError> {
        let sizes = Sizes::new(size, radix, true)?;
        let [_, y, z] = &sizes.radices;
        let pairs = (128 * z[0] / size[2]).max(1);
        // Strips of one width.
        let wanted = if double { 8 } else { 16 };
        let strip = sizes.half.div_ceil(sizes.half.div_ceil(wanted));
        Ok(Self {
            radix,
            across: Across::Rows {
                pairs: Lines {
                    lines: pairs,
                    threads: balanced(pairs, z, 256),
                },
                strip: Lines {
                    lines: strip,
                    threads: balanced(strip, y, 256),
                },
            },
            tile: tile(info, &sizes, double, None, 256),
        })
    }

    /// Refuses what a device cannot do.
    pub(super) fn check(&self, info: &DeviceInfo, size: [u32; 3], double: bool) -> Result<(), CudaError> {
        let sizes = Sizes::new(size, self.radix, true)?;
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

    /// What is compiled.
    pub(super) fn source(&self, sizes: &Sizes, double: bool, table: bool) -> ModuleSource {
        let text = |radices: &[u32]| {
            let words: Vec<String> = radices.iter().map(u32::to_string).collect();
            words.join(",")
        };
        let [x, y, z] = &sizes.radices;
        let reversed: Vec<u32> = x.iter().rev().copied().collect();
        let module = with_mesh("fft.cu", include_str!("../kernels/fft.cu"), sizes, double, table)
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

/// A module that knows the mesh.
pub(super) fn with_mesh(name: &str, text: &str, sizes: &Sizes, double: bool, table: bool) -> ModuleSource {
    let [x, y, z] = sizes.size;
    ModuleSource::new(name, text)
        .include("fft.cuh", include_str!("../kernels/fft.cuh"))
        .include("influence.cuh", include_str!("../kernels/influence.cuh"))
        .include("reciprocal.cuh", &super::reciprocal::text(double))
        .define("PRECISION", if double { 2 } else { 0 })
        .define("N1", x)
        .define("N2", y)
        .define("N3", z)
        .define("TABLE", u32::from(table))
        // Generic lambdas are device code.
        .option("--device-as-default-execution-space")
}

/// Columns along x of a block; by rule, lines of 128 bytes unless there would be too few blocks.
pub(super) fn tile(info: &DeviceInfo, sizes: &Sizes, double: bool, lines: Option<u32>, most: u32) -> Lines {
    let full = if double { 8 } else { 16 };
    let enough = sizes.columns / full >= info.multiprocessors;
    let lines = lines.unwrap_or(if enough { full } else { 8 });
    Lines {
        lines,
        threads: balanced(lines, &sizes.radices[0], most),
    }
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

/// Modules for tests that compile them all.
pub fn modules() -> Vec<ModuleSource> {
    let told = [
        ([64, 64, 64], "planes=288 tile=16x128 radix=8", false),
        ([128, 105, 45], "planes=384 tile=8x128 radix=16", true),
        (
            [98, 75, 120],
            "pairs=4x128 strip=11x128 tile=8x64 radix=15",
            false,
        ),
    ];
    let mut all = Vec::new();
    for (size, text, double) in told {
        if let (Ok(Fft::Own(cut)), Ok(bare)) = (text.parse(), Sizes::new(size, 16, false)) {
            if let Ok(sizes) = Sizes::new(size, cut.radix, true) {
                all.push(cut.source(&sizes, double, double));
                all.push(super::table::source(&sizes, double, true));
            }
            all.push(super::multiply::source(&bare, double, double));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use debye_gpu::{Device, Emulation};

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
    fn choices_are_kept_as_text() {
        let info = Device::emulated(Emulation::default()).unwrap().info().clone();
        for size in [[64, 64, 64], [108, 108, 80], [5, 7, 9], [256, 256, 256]] {
            for double in [false, true] {
                for cut in Cut::candidates(&info, size, double, true).unwrap() {
                    let text = Fft::Own(cut).to_string();
                    assert_eq!(text.parse(), Ok(Fft::Own(cut)), "{text}");
                    cut.check(&info, size, double).unwrap();
                }
                Cut::rule(&info, size, double)
                    .unwrap()
                    .check(&info, size, double)
                    .unwrap();
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

    #[test]
    fn meshes_that_cannot_be_transformed_are_refused() {
        for size in [[11, 8, 8], [8, 3, 8], [8, 8, 1024]] {
            let error = check(size).unwrap_err().to_string();
            assert!(error.contains("2, 3, 5 and 7"), "{error}");
        }
        let info = Device::emulated(Emulation::default()).unwrap().info().clone();
        let Ok(Fft::Own(cut)) = "planes=500 tile=16x256 radix=16".parse() else {
            panic!()
        };
        let error = cut.check(&info, [64; 3], false).unwrap_err().to_string();
        assert!(error.contains("multiple of 32"), "{error}");
    }
}
