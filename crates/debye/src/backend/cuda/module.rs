//! [`ModuleSource`]: what is compiled; [`Module`] and [`Kernel`]: what comes of it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::arguments::Arguments;
use super::device::Device;
use super::driver::{Driver, Handle, RawKernel, Takes};
use super::element::Element;
use super::error::CudaError;
use super::stream::Stream;

/// The headers that kernels may include.
const HEADERS: &[(&str, &str)] = &[
    ("prelude.cuh", include_str!("kernels/prelude.cuh")),
    ("digits.cuh", include_str!("kernels/digits.cuh")),
    ("common.cuh", include_str!("kernels/common.cuh")),
    ("frame.cuh", include_str!("kernels/frame.cuh")),
    ("bonded.cuh", include_str!("kernels/bonded.cuh")),
    ("baths.cuh", include_str!("kernels/baths.cuh")),
    ("engine.cuh", include_str!("kernels/engine.cuh")),
    ("motion.cuh", include_str!("kernels/motion.cuh")),
    ("sums.cuh", include_str!("kernels/sums.cuh")),
    ("visit.cuh", include_str!("kernels/visit.cuh")),
    ("molecules.cuh", include_str!("kernels/molecules.cuh")),
    ("pull.cuh", include_str!("kernels/pull.cuh")),
    ("exact.cuh", include_str!("kernels/exact.cuh")),
    ("block_sum.cuh", include_str!("kernels/block_sum.cuh")),
    ("hold.cuh", include_str!("kernels/hold.cuh")),
    ("rigid.cuh", include_str!("kernels/rigid.cuh")),
    ("random.cuh", include_str!("kernels/random.cuh")),
    ("small.cuh", include_str!("kernels/small.cuh")),
    ("small_motion.cuh", include_str!("kernels/small_motion.cuh")),
];

/// Files and defines that make a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSource {
    /// What to call it in messages.
    pub name: String,
    /// Files by name and text. The first is compiled; it may include the others.
    pub files: Vec<(String, String)>,
    /// Names and values of macros.
    pub defines: Vec<(String, String)>,
    /// Further options for NVRTC; the emulator takes no notice.
    pub options: Vec<String>,
}

impl ModuleSource {
    /// A module of one file.
    pub fn new(name: &str, text: &str) -> Self {
        let own = (name.to_owned(), current(name, text));
        let headers = HEADERS.iter().map(|(n, t)| ((*n).to_owned(), current(n, t)));
        Self {
            name: name.to_owned(),
            files: std::iter::once(own).chain(headers).collect(),
            defines: Vec::new(),
            options: Vec::new(),
        }
    }

    /// With this macro defined.
    pub fn define(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.defines.push((name.to_owned(), value.to_string()));
        self
    }

    /// With another file that may be included.
    pub fn include(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// With an option for NVRTC.
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// Name and macros, for messages.
    pub fn label(&self) -> String {
        let defines = self
            .defines
            .iter()
            .map(|(name, value)| format!(" {name}={value}"));
        std::iter::once(self.name.clone()).chain(defines).collect()
    }

    /// Everything that decides what comes out, for hashing.
    pub(super) fn fingerprint(&self) -> Vec<&str> {
        let files = self.files.iter().chain(&self.defines);
        let pairs = files.flat_map(|(a, b)| [a.as_str(), b.as_str()]);
        pairs.chain(self.options.iter().map(String::as_str)).collect()
    }
}

/// The text of a kernel file: as it was built in, or, for work on kernels, from the folder that `DEBYE_KERNELS` names.
fn current(name: &str, built_in: &str) -> String {
    let folder = std::env::var_os("DEBYE_KERNELS").map(std::path::PathBuf::from);
    folder
        .and_then(|folder| std::fs::read_to_string(folder.join(name)).ok())
        .unwrap_or_else(|| built_in.to_owned())
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block; a multiple of 32 in all.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether all blocks must run at the same time, because they wait for each other.
    pub cooperative: bool,
}

impl Shape {
    /// So many blocks of so many threads.
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared: 0,
            cooperative: false,
        }
    }

    /// Enough blocks for one thread per item.
    pub fn covering(items: usize, threads: u32) -> Self {
        Self::new(
            u32::try_from(items.div_ceil(threads as usize)).unwrap_or(u32::MAX),
            threads,
        )
    }

    /// With dynamic shared memory.
    pub fn shared(self, bytes: u32) -> Self {
        Self {
            shared: bytes,
            ..self
        }
    }

    /// With all blocks at the same time.
    pub fn cooperative(self) -> Self {
        Self {
            cooperative: true,
            ..self
        }
    }

    pub(super) fn threads(self) -> u64 {
        self.block.iter().map(|&x| u64::from(x)).product()
    }

    fn check(self, name: &str, max_threads: u32) -> Result<(), CudaError> {
        let threads = self.threads();
        let refuse = |reason: String| {
            Err(CudaError::Shape {
                kernel: name.to_owned(),
                reason,
            })
        };
        if threads == 0 || !threads.is_multiple_of(32) || threads > u64::from(max_threads) {
            return refuse(format!(
                "{threads} threads per block, which must be a multiple of 32 and at most {max_threads}"
            ));
        }
        if self.grid.contains(&0) || self.grid[0] > i32::MAX as u32 || self.grid[1].max(self.grid[2]) > 65_535
        {
            return refuse(format!("a grid of {:?} blocks", self.grid));
        }
        Ok(())
    }
}

/// Compiled kernels on a device.
#[derive(Clone)]
pub struct Module {
    shared: Arc<Loaded>,
}

struct Loaded {
    driver: Arc<dyn Driver>,
    handle: Handle,
    name: String,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.driver.unload(self.handle);
    }
}

impl Module {
    pub(super) fn load(device: &Device, source: &ModuleSource) -> Result<Self, CudaError> {
        let shared = Loaded {
            handle: device.driver.load(source)?,
            driver: Arc::clone(&device.driver),
            name: source.label(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// A kernel by its name; refused if it does not take these parameters.
    pub fn kernel<A: Arguments>(&self, name: &str) -> Result<Kernel<A>, CudaError> {
        let raw = self.shared.driver.kernel(self.shared.handle, name)?;
        let (names, sizes) = (A::names(), A::sizes());
        let fits = match &raw.takes {
            Takes::Types(types) => *types == names.join(", "),
            Takes::Sizes(takes) => *takes == sizes,
            Takes::Unknown => true,
        };
        if !fits {
            return Err(CudaError::Signature {
                kernel: name.to_owned(),
                takes: match raw.takes {
                    Takes::Types(types) => types,
                    Takes::Sizes(sizes) => format!("values of {sizes:?} bytes"),
                    Takes::Unknown => String::new(),
                },
                given: format!("{}: {sizes:?} bytes", names.join(", ")),
            });
        }
        Ok(Kernel {
            raw,
            name: name.to_owned(),
            module: self.clone(),
            takes: PhantomData,
        })
    }

    /// Sets a variable in constant memory.
    pub fn set<T: Element>(&self, stream: &Stream, name: &str, values: &[T]) -> Result<(), CudaError> {
        let (address, bytes) = self.shared.driver.variable(self.shared.handle, name)?;
        CudaError::check_length("a variable of a module", size_of_val(values), bytes)?;
        self.shared
            .driver
            .write(stream.handle, address, bytemuck::cast_slice(values))
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({})", self.shared.name)
    }
}

/// A kernel that takes the parameters `A`.
#[derive(Debug)]
pub struct Kernel<A: Arguments> {
    raw: RawKernel,
    name: String,
    module: Module,
    takes: PhantomData<fn(A)>,
}

impl<A: Arguments> Kernel<A> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Allows this much dynamic shared memory, and says how many blocks can run at the same time.
    pub fn resident_blocks(&self, threads: u32, shared: u32) -> Result<u32, CudaError> {
        let driver = &self.module.shared.driver;
        let each = driver.occupancy(&self.raw, &self.name, threads, shared)?;
        Ok(each * driver.info().multiprocessors)
    }

    /// Queues a launch.
    pub fn launch(&self, stream: &Stream, shape: Shape, arguments: A::Given<'_>) -> Result<(), CudaError> {
        shape.check(&self.name, self.raw.max_threads)?;
        let call = A::pack(arguments);
        stream.keep(&call.memory);
        stream.keep([&self.module.shared]);
        stream
            .driver
            .launch(stream.handle, &self.raw, &self.name, shape, &call.packed)
    }
}
