//! [`Device`]: a card, or the emulation of one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::buffer::Buffer;
use crate::card::Gpu;
use crate::driver::{Allocation, DeviceInfo, Driver, Memory};
use crate::element::Element;
use crate::emulation::{Emulated, Emulation};
use crate::error::CudaError;
use crate::module::Module;
use crate::source::ModuleSource;
use crate::stream::Stream;

/// A place to run kernels; clones are the same device.
#[derive(Clone)]
pub struct Device {
    driver: Arc<dyn Driver>,
    requests: Arc<Mutex<Requests>>,
}

/// Labels of the modules that were to be compiled ahead, and of those that were asked for and were not among them.
#[derive(Default)]
struct Requests {
    ahead: BTreeSet<String>,
    late: BTreeSet<String>,
}

impl Requests {
    fn note(&mut self, label: String) {
        if !self.ahead.contains(&label) {
            self.late.insert(label);
        }
    }
}

/// Modules that are being compiled; waits for them when dropped, since a compiler must not be left alone.
#[derive(Debug)]
#[must_use]
pub struct Ahead(Vec<JoinHandle<()>>);

impl Ahead {
    /// Leaves it to itself: nobody may ever want what is compiled.
    pub fn detach(mut self) {
        self.0.clear();
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // Whoever wants the module is told what went wrong.
            let _ = thread.join();
        }
    }
}

impl Device {
    /// The card with this number.
    pub fn open(number: u32) -> Result<Self, CudaError> {
        // Kept open: a context takes the driver a fraction of a second, and a run asks for its device more than once.
        static OPEN: Mutex<BTreeMap<u32, Device>> = Mutex::new(BTreeMap::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = open.get(&number) {
            return Ok(device.clone());
        }
        let device = Self::new(Gpu::open(number)?);
        open.insert(number, device.clone());
        Ok(device)
    }

    /// An emulated device.
    pub fn emulated(emulation: Emulation) -> Result<Self, CudaError> {
        Ok(Self::new(Emulated::new(emulation)?))
    }

    fn new(driver: impl Driver + 'static) -> Self {
        Self {
            driver: Arc::new(driver),
            requests: Arc::default(),
        }
    }

    /// All cards of this machine; empty where there is none or no driver.
    pub fn list() -> Vec<DeviceInfo> {
        Gpu::list()
    }

    /// What it is.
    pub fn info(&self) -> &DeviceInfo {
        self.driver.info()
    }

    /// Memory now.
    pub fn memory(&self) -> Result<Memory, CudaError> {
        self.driver.memory()
    }

    /// Memory for this many elements, with anything in it.
    pub fn allocate<T: Element>(&self, length: usize) -> Result<Buffer<T>, CudaError> {
        let bytes = length.checked_mul(size_of::<T>());
        let Some(bytes) = bytes.filter(|&bytes| bytes <= isize::MAX as usize) else {
            let Memory { free, total } = self.memory()?;
            let wanted = usize::MAX;
            return Err(CudaError::OutOfMemory { wanted, free, total });
        };
        let address = if bytes == 0 {
            0
        } else {
            self.driver.allocate(bytes)?
        };
        let driver = Arc::clone(&self.driver);
        let allocation = Allocation {
            driver,
            address,
            bytes,
        };
        Ok(Buffer::new(allocation, length))
    }

    /// This many zeros.
    pub fn zeros<T: Element>(&self, length: usize) -> Result<Buffer<T>, CudaError> {
        let mut buffer = self.allocate(length)?;
        let stream = self.stream()?;
        stream.fill(buffer.all_mut(), 0)?;
        stream.synchronize()?;
        Ok(buffer)
    }

    /// A copy of these values.
    pub fn upload<T: Element>(&self, values: &[T]) -> Result<Buffer<T>, CudaError> {
        let mut buffer = self.allocate(values.len())?;
        let stream = self.stream()?;
        stream.upload(values, buffer.all_mut())?;
        stream.synchronize()?;
        Ok(buffer)
    }

    pub(crate) fn driver(&self) -> Arc<dyn Driver> {
        Arc::clone(&self.driver)
    }

    /// A new stream.
    pub fn stream(&self) -> Result<Stream, CudaError> {
        Stream::new(&self.driver)
    }

    /// Compiles a module, or takes it from the cache on disk, and loads it.
    pub fn module(&self, source: &ModuleSource) -> Result<Module, CudaError> {
        self.requests().note(source.label());
        Module::load(&self.driver, source)
    }

    /// Begins to compile modules that will be asked for, each on a thread of its own. Those on disk cost nothing, and
    /// [`Self::module`] waits for what is under way. The emulation, whose compiler is slow, leaves it all to those who ask.
    pub fn compile_ahead(&self, sources: Vec<ModuleSource>) -> Ahead {
        let begin = |source: ModuleSource| {
            self.requests().ahead.insert(source.label());
            let driver = Arc::clone(&self.driver);
            let compile = move || drop(driver.compile(&source));
            let thread = thread::Builder::new().name("compile".into());
            (!self.info().emulated).then(|| thread.spawn(compile).ok())?
        };
        Ahead(sources.into_iter().filter_map(begin).collect())
    }

    /// Labels of modules that were asked for and not compiled ahead; for tests.
    #[doc(hidden)]
    pub fn not_ahead(&self) -> Vec<String> {
        self.requests().late.iter().cloned().collect()
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(self.info()).finish()
    }
}
