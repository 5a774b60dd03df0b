//! [`ScanVariant`]: the rungs of the prefix sums.

use debye::neighbors::scan::exclusive_scan;
use debye_gpu::primitives::Scan;
use debye_gpu::{Buffer, Const, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Stream};

use crate::random::Random;
use crate::study::{Input, OnDevice, OnHost, Place, StudyError, Variant, Work};

/// Threads of a block, in all kernels of the paper.
pub(super) const THREADS: u32 = 512;

/// 2^32, where sums of 32 bits begin again.
const WRAP: f64 = 4_294_967_296.0;

/// What numbers are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Particles in bins of a liquid: 0 to 7.
    Random,
    /// Many in few bins, none elsewhere.
    Clustered,
    /// Something in the first and last element of every block of a kernel alone.
    Boundary,
    /// Sums beyond 32 bits, which wrap.
    Overflow,
}

/// Numbers to sum.
pub struct Numbers {
    numbers: Vec<u32>,
    counts: Counts,
}

impl Numbers {
    /// So many of a kind.
    pub fn new(counts: Counts, length: usize) -> Self {
        let mut random = Random(11);
        let number = |i: usize, random: &mut Random| match counts {
            Counts::Random => (random.next() >> 61) as u32,
            Counts::Clustered if random.next().is_multiple_of(97) => (random.next() >> 54) as u32,
            Counts::Boundary if matches!(i % 512, 0 | 511) || i + 1 == length => 3,
            Counts::Clustered | Counts::Boundary => 0,
            Counts::Overflow => u32::MAX - (random.next() >> 60) as u32,
        };
        Self {
            numbers: (0..length).map(|i| number(i, &mut random)).collect(),
            counts,
        }
    }
}

impl Input for Numbers {
    type Output = Vec<u32>;

    fn label(&self) -> String {
        match self.numbers.len() {
            n if n.is_power_of_two() => format!("2^{} elements", n.ilog2()),
            n => format!("{n} elements"),
        }
    }

    fn work(&self) -> f64 {
        self.numbers.len() as f64
    }

    /// The largest difference from the sums in double precision, which are exact, modulo 2^32, as 32 bits hold them.
    fn error(&self, output: &Vec<u32>) -> f64 {
        if output.len() != self.numbers.len() {
            return f64::NAN;
        }
        let mut sum = 0.0_f64;
        let off = self.numbers.iter().zip(output).map(|(&x, &got)| {
            sum += f64::from(x);
            // At most once: an element is less than 2^32.
            if sum >= WRAP {
                sum -= WRAP;
            }
            (f64::from(got) - sum).abs()
        });
        off.fold(0.0, f64::max)
    }
}

/// A way to sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Every element by a sum of its own, on the processor.
    QuadraticOnHost,
    /// One loop: what `numpy.cumsum` does.
    Loop,
    /// The engine's scan on all threads.
    EngineOnHost,
    /// Every element by a sum of its own.
    Quadratic,
    /// Balanced trees.
    Tree {
        /// Whether shared memory is padded against bank conflicts.
        padded: bool,
    },
    /// Double-buffered.
    Double,
    /// The engine's scan.
    Engine,
}

/// A rung.
#[derive(Clone, Copy, Debug)]
pub struct ScanVariant {
    /// How it sums.
    pub how: How,
    /// Whether a pass is timed by the host, launches and waiting included; else, on a device, by replays of a graph.
    pub launched: bool,
    /// The most elements it is given.
    pub most: usize,
    /// Threads of a block of the paper's kernels.
    pub threads: u32,
}

impl ScanVariant {
    /// As the paper has it, for arrays of any length.
    pub fn new(how: How) -> Self {
        Self {
            how,
            launched: false,
            most: usize::MAX,
            threads: THREADS,
        }
    }

    /// Every way.
    pub const ALL: [How; 8] = [
        How::QuadraticOnHost,
        How::Loop,
        How::EngineOnHost,
        How::Quadratic,
        How::Tree { padded: false },
        How::Tree { padded: true },
        How::Double,
        How::Engine,
    ];
}

impl Variant<Numbers> for ScanVariant {
    fn name(&self) -> String {
        let name = match self.how {
            How::QuadraticOnHost => "CPU quadratic",
            How::Loop => "CPU loop",
            How::EngineOnHost => "CPU engine",
            How::Quadratic => "GPU quadratic",
            How::Tree { padded: false } => "GPU balanced trees, no padding",
            How::Tree { padded: true } => "GPU balanced trees",
            How::Double => "GPU double-buffered",
            How::Engine => "GPU engine",
        };
        name.into()
    }

    fn place(&self) -> Place {
        match self.how {
            How::QuadraticOnHost | How::Loop | How::EngineOnHost => Place::Cpu,
            _ => Place::Cuda,
        }
    }

    fn tolerance(&self) -> f64 {
        0.0
    }

    fn declines(&self, input: &Numbers) -> Option<String> {
        if input.numbers.len() > self.most {
            return Some("it would take too long".into());
        }
        (self.how == How::EngineOnHost && input.counts == Counts::Overflow)
            .then(|| "the engine reports sums beyond 32 bits instead of wrapping them".into())
    }

    fn prepare<'i>(
        &self,
        input: &'i Numbers,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Vec<u32>> + 'i>, StudyError> {
        let numbers = &input.numbers;
        let n = numbers.len();
        match self.how {
            How::QuadraticOnHost => Ok(OnHost::boxed(move || {
                let sum = |i: usize| numbers[..=i].iter().fold(0_u32, |sum, &x| sum.wrapping_add(x));
                Ok((0..n).map(sum).collect())
            })),
            How::Loop => Ok(Box::new(Looped {
                numbers,
                output: vec![0; n],
            })),
            How::EngineOnHost => Ok(Box::new(EngineOnHost {
                numbers,
                output: vec![0; n],
            })),
            _ => {
                let device = device.ok_or(StudyError::NoDevice)?;
                let mut scanned = Scanned::new(device, self, numbers)?;
                if self.launched {
                    let stream = device.stream()?;
                    return Ok(Box::new(Launched {
                        scanned,
                        stream,
                        numbers,
                    }));
                }
                scanned.queue(&device.stream()?)?;
                OnDevice::boxed(device, scanned, Scanned::queue, move |scanned, stream| {
                    scanned.output(stream, numbers)
                })
            }
        }
    }
}

/// One loop over memory that is there already, as the other rungs have it.
struct Looped<'i> {
    numbers: &'i [u32],
    output: Vec<u32>,
}

impl Work<Vec<u32>> for Looped<'_> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let began = std::time::Instant::now();
        for _ in 0..passes {
            let mut sum = 0_u32;
            for (out, &x) in self.output.iter_mut().zip(std::hint::black_box(self.numbers)) {
                sum = sum.wrapping_add(x);
                *out = sum;
            }
            std::hint::black_box(&mut self.output);
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn output(&mut self) -> Result<Vec<u32>, StudyError> {
        Ok(self.output.clone())
    }
}

/// The engine's scan works in place: the copy that comes before is not timed.
struct EngineOnHost<'i> {
    numbers: &'i [u32],
    output: Vec<u32>,
}

impl Work<Vec<u32>> for EngineOnHost<'_> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let mut seconds = 0.0;
        for _ in 0..passes {
            self.output.copy_from_slice(self.numbers);
            let began = std::time::Instant::now();
            exclusive_scan(&mut self.output).map_err(StudyError::other)?;
            seconds += began.elapsed().as_secs_f64();
        }
        Ok(seconds)
    }

    fn output(&mut self) -> Result<Vec<u32>, StudyError> {
        Ok(inclusive(&self.output, self.numbers))
    }
}

/// From the sums before each element to those that include it.
fn inclusive(exclusive: &[u32], numbers: &[u32]) -> Vec<u32> {
    exclusive
        .iter()
        .zip(numbers)
        .map(|(a, &b)| a.wrapping_add(b))
        .collect()
}

/// Launches by the host, and waiting for them.
struct Launched<'i> {
    scanned: Scanned,
    stream: Stream,
    numbers: &'i [u32],
}

impl Work<Vec<u32>> for Launched<'_> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let began = std::time::Instant::now();
        for _ in 0..passes {
            self.scanned.queue(&self.stream)?;
            self.stream.synchronize()?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn output(&mut self) -> Result<Vec<u32>, StudyError> {
        self.scanned.output(&self.stream, self.numbers)
    }
}

pub(crate) fn source(padded: bool, threads: u32) -> ModuleSource {
    ModuleSource::new("prefix_sum.cu", include_str!("../kernels/prefix_sum.cu"))
        .define("PADDED", u32::from(padded))
        .define("THREADS", threads)
}

type Segments = Kernel<(Const<u32>, Mut<u32>, Mut<u32>, u32)>;

/// A scan on a device.
struct Scanned {
    input: Buffer<u32>,
    output: Buffer<u32>,
    kernels: Kernels,
    threads: u32,
}

enum Kernels {
    Quadratic(Kernel<(Const<u32>, Mut<u32>, u32)>),
    Hierarchy {
        scan: Segments,
        add: Kernel<(Mut<u32>, Const<u32>, u32, u32)>,
        segment: usize,
        /// Totals of the segments of each level, and their sums.
        levels: Vec<(Buffer<u32>, Buffer<u32>)>,
    },
    Engine(Scan, Buffer<u32>),
}

impl Scanned {
    fn new(device: &Device, variant: &ScanVariant, numbers: &[u32]) -> Result<Self, CudaError> {
        let (n, how, threads) = (numbers.len(), variant.how, variant.threads);
        let module = || device.module(&source(how == How::Tree { padded: true }, threads));
        let hierarchy = |name: &str, segment: usize| {
            let module = module()?;
            let mut levels = Vec::new();
            let mut left = n;
            loop {
                left = left.div_ceil(segment);
                levels.push((device.zeros(left)?, device.zeros(left)?));
                if left == 1 {
                    break;
                }
            }
            Ok::<_, CudaError>(Kernels::Hierarchy {
                scan: module.kernel(name)?,
                add: module.kernel("debye_scan_add")?,
                segment,
                levels,
            })
        };
        let kernels = match how {
            How::Tree { .. } => hierarchy("debye_scan_tree", 2 * threads as usize)?,
            How::Double => hierarchy("debye_scan_double", threads as usize)?,
            How::Engine => Kernels::Engine(Scan::new(device, n)?, device.zeros(1)?),
            _ => Kernels::Quadratic(module()?.kernel("debye_scan_quadratic")?),
        };
        Ok(Self {
            input: device.upload(numbers)?,
            output: device.zeros(n)?,
            kernels,
            threads,
        })
    }

    fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let (n, threads) = (self.input.len(), self.threads);
        match &mut self.kernels {
            Kernels::Quadratic(kernel) => {
                let given = (self.input.all(), self.output.all_mut(), n as u32);
                kernel.launch(stream, Shape::covering(n, threads), given)
            }
            Kernels::Engine(scan, total) => {
                scan.exclusive(stream, self.input.all(), self.output.all_mut(), total.all_mut())
            }
            Kernels::Hierarchy {
                scan,
                add,
                segment,
                levels,
            } => {
                let shape = |blocks: usize| Shape::new(blocks as u32, threads);
                // Down: segments, then the totals of segments, and so on until one segment holds them all.
                let blocks = levels[0].0.len();
                let given = (
                    self.input.all(),
                    self.output.all_mut(),
                    levels[0].0.all_mut(),
                    n as u32,
                );
                scan.launch(stream, shape(blocks), given)?;
                for level in 1..levels.len() {
                    let (above, below) = levels.split_at_mut(level);
                    let ((totals, sums), (next, _)) = (&mut above[level - 1], &mut below[0]);
                    let (length, blocks) = (totals.len() as u32, next.len());
                    let given = (totals.all(), sums.all_mut(), next.all_mut(), length);
                    scan.launch(stream, shape(blocks), given)?;
                }
                // Up: the sums of segments are added to the segments after them.
                for level in (1..levels.len()).rev() {
                    let (above, below) = levels.split_at_mut(level);
                    let blocks = below[0].0.len();
                    if blocks > 1 {
                        let sums = &mut above[level - 1].1;
                        let length = sums.len() as u32;
                        let given = (sums.all_mut(), below[0].1.all(), *segment as u32, length);
                        add.launch(stream, shape(blocks - 1), given)?;
                    }
                }
                if blocks > 1 {
                    let given = (
                        self.output.all_mut(),
                        levels[0].1.all(),
                        *segment as u32,
                        n as u32,
                    );
                    add.launch(stream, shape(blocks - 1), given)?;
                }
                Ok(())
            }
        }
    }

    fn output(&mut self, stream: &Stream, numbers: &[u32]) -> Result<Vec<u32>, StudyError> {
        stream.fill(self.output.all_mut(), 0xff)?;
        self.queue(stream)?;
        let output = stream.download(&self.output)?;
        Ok(match self.kernels {
            Kernels::Engine(..) => inclusive(&output, numbers),
            _ => output,
        })
    }
}
