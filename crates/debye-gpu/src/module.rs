//! [`Module`]: compiled kernels on a device; [`Kernel`]: one of them, with the types of its parameters.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::arguments::Arguments;
use crate::driver::{Driver, Handle, RawKernel, Takes};
use crate::element::Element;
use crate::error::CudaError;
use crate::shape::Shape;
use crate::source::ModuleSource;
use crate::stream::Stream;

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
    pub(crate) fn load(driver: &Arc<dyn Driver>, source: &ModuleSource) -> Result<Self, CudaError> {
        let shared = Loaded {
            handle: driver.load(source)?,
            driver: Arc::clone(driver),
            name: source.label(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// A kernel by its name; refused if it does not take these parameters.
    pub fn kernel<A: Arguments>(&self, name: &str) -> Result<Kernel<A>, CudaError> {
        Ok(Kernel {
            raw: self.raw_kernel(name, A::names(), &A::sizes())?,
            name: name.to_owned(),
            module: self.clone(),
            takes: PhantomData,
        })
    }

    /// A kernel that takes parameters of these types and sizes.
    fn raw_kernel(&self, name: &str, names: Vec<String>, sizes: &[usize]) -> Result<RawKernel, CudaError> {
        let raw = self.shared.driver.kernel(self.shared.handle, name)?;
        let names = names.join(", ");
        let fits = match &raw.takes {
            Takes::Types(types) => *types == names,
            Takes::Sizes(takes) => takes == sizes,
            Takes::Unknown => true,
        };
        if fits {
            return Ok(raw);
        }
        Err(CudaError::Signature {
            kernel: name.to_owned(),
            takes: match raw.takes {
                Takes::Types(types) => types,
                Takes::Sizes(sizes) => format!("values of {sizes:?} bytes"),
                Takes::Unknown => String::new(),
            },
            given: format!("{names}: {sizes:?} bytes"),
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
    pub fn launch(&self, stream: &Stream, shape: Shape, arguments: A::Passed<'_>) -> Result<(), CudaError> {
        shape.check(&self.name, self.raw.max_threads)?;
        let call = A::pack(arguments);
        stream.keep(&call.memory);
        stream.keep([&self.module.shared]);
        stream
            .driver
            .launch(stream.handle, &self.raw, &self.name, shape, &call.packed)
    }
}
