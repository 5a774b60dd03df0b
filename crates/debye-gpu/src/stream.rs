//! [`Stream`]: a queue of work; [`Graph`]: work recorded once and replayed; [`Event`]: a moment in a queue.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use crate::buffer::{Buffer, Slice, SliceMut};
use crate::driver::{Driver, Handle};
use crate::element::Element;
use crate::error::CudaError;

/// A queue of work on a device. What is queued runs in order; the host waits only where it says so.
pub struct Stream {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) handle: Handle,
    /// While a graph is captured: what it uses.
    captured: RefCell<Option<Vec<Kept>>>,
}

/// Memory or a module that a graph uses.
pub(crate) type Kept = Arc<dyn Any + Send + Sync>;

/// Work recorded by [`Stream::capture`]. It keeps the memory and the modules it uses.
pub struct Graph {
    driver: Arc<dyn Driver>,
    handle: Handle,
    _kept: Vec<Kept>,
}

/// A moment in a stream.
pub struct Event {
    driver: Arc<dyn Driver>,
    handle: Handle,
}

impl Stream {
    pub(crate) fn new(driver: &Arc<dyn Driver>) -> Result<Self, CudaError> {
        Ok(Self {
            handle: driver.stream()?,
            driver: Arc::clone(driver),
            captured: RefCell::new(None),
        })
    }

    /// Waits until everything queued is done; reports what failed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.refuse_in_capture("waiting")?;
        self.driver.synchronize(self.handle)
    }

    /// Copies values to the device.
    pub fn upload<T: Element>(&self, values: &[T], to: SliceMut<'_, T>) -> Result<(), CudaError> {
        self.refuse_in_capture("a copy from the host")?;
        CudaError::check_length("upload", values.len(), to.len())?;
        if values.is_empty() {
            return Ok(());
        }
        self.driver
            .write(self.handle, to.address(), bytemuck::cast_slice(values))
    }

    /// Waits for the stream and copies values from the device.
    pub fn download_part<T: Element>(&self, from: Slice<'_, T>) -> Result<Vec<T>, CudaError> {
        self.refuse_in_capture("a copy to the host")?;
        let mut values = vec![T::zeroed(); from.len()];
        if !values.is_empty() {
            self.driver
                .read(self.handle, from.address(), bytemuck::cast_slice_mut(&mut values))?;
        }
        Ok(values)
    }

    /// Waits for the stream and copies a whole buffer from the device.
    pub fn download<T: Element>(&self, from: &Buffer<T>) -> Result<Vec<T>, CudaError> {
        self.download_part(from.all())
    }

    /// Copies on the device.
    pub fn copy<T: Element>(&self, from: Slice<'_, T>, to: SliceMut<'_, T>) -> Result<(), CudaError> {
        CudaError::check_length("copy", from.len(), to.len())?;
        if from.is_empty() {
            return Ok(());
        }
        self.keep([from.allocation, &to.allocation]);
        let bytes = from.len() * size_of::<T>();
        self.driver.copy(self.handle, to.address(), from.address(), bytes)
    }

    /// Sets every byte.
    pub fn fill<T: Element>(&self, to: SliceMut<'_, T>, byte: u8) -> Result<(), CudaError> {
        if to.is_empty() {
            return Ok(());
        }
        self.keep([&to.allocation]);
        self.driver
            .fill(self.handle, to.address(), byte, to.len() * size_of::<T>())
    }

    /// Queues work of a library of NVIDIA's from one array to another. `call` gets the stream and the arrays as the
    /// driver knows them, with the device's context that of this thread. A graph in the making keeps both arrays and
    /// the library's `plan`.
    pub fn call_library<T: Element, P: Any + Send + Sync>(
        &self,
        plan: &Arc<P>,
        from: Slice<'_, T>,
        to: SliceMut<'_, T>,
        call: impl FnOnce(u64, u64, u64) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        self.keep([plan]);
        self.keep([from.allocation, &to.allocation]);
        self.driver.memory()?;
        call(self.handle, from.address(), to.address())
    }

    /// Marks this moment.
    pub fn event(&self) -> Result<Event, CudaError> {
        self.refuse_in_capture("an event")?;
        Ok(Event {
            handle: self.driver.event(self.handle)?,
            driver: Arc::clone(&self.driver),
        })
    }

    /// Waits, on the device, for everything that another stream has queued so far. What follows in a stream that is
    /// captured is captured too, until that stream follows this one.
    pub fn wait_for(&self, other: &Self) -> Result<(), CudaError> {
        self.driver.wait(self.handle, other.handle)?;
        let (mut own, mut others) = (self.captured.borrow_mut(), other.captured.borrow_mut());
        match (own.as_mut(), others.as_mut()) {
            (None, Some(_)) => *own = Some(Vec::new()),
            (Some(own), Some(_)) => own.extend(others.take().unwrap_or_default()),
            _ => {}
        }
        Ok(())
    }

    /// Records what `work` queues on this stream, without doing it.
    pub fn capture(&self, work: impl FnOnce(&Self) -> Result<(), CudaError>) -> Result<Graph, CudaError> {
        self.refuse_in_capture("another capture")?;
        self.driver.begin_capture(self.handle)?;
        self.captured.replace(Some(Vec::new()));
        self.recorded(work(self))
    }

    /// Records what `work` queues behind a condition. `decide` gets the number of the condition and queues one kernel,
    /// which sets it by `set_condition`.
    pub fn capture_if(
        &self,
        decide: impl FnOnce(&Self, u64) -> Result<(), CudaError>,
        work: impl FnOnce(&Self) -> Result<(), CudaError>,
    ) -> Result<Graph, CudaError> {
        self.refuse_in_capture("another capture")?;
        let condition = self.driver.begin_condition(self.handle)?;
        self.captured.replace(Some(Vec::new()));
        let decided = decide(self, condition);
        let begun = decided.and_then(|()| self.driver.begin_conditional(self.handle));
        self.recorded(begun.and_then(|()| work(self)))
    }

    /// The graph of what was recorded, if that is `done` well.
    fn recorded(&self, done: Result<(), CudaError>) -> Result<Graph, CudaError> {
        let kept = self.captured.take().unwrap_or_default();
        let handle = self.driver.end_capture(self.handle);
        let graph = handle.map(|handle| Graph {
            driver: Arc::clone(&self.driver),
            handle,
            _kept: kept,
        });
        // What went wrong inside says more than what the driver makes of it.
        done.and(graph)
    }

    /// Queues everything that was recorded.
    pub fn replay(&self, graph: &Graph) -> Result<(), CudaError> {
        self.refuse_in_capture("a graph")?;
        self.driver.replay(graph.handle, self.handle)
    }

    /// Seconds on the device that `repetitions` replays take; waits for them.
    pub fn time(&self, graph: &Graph, repetitions: u32) -> Result<f64, CudaError> {
        let from = self.event()?;
        for _ in 0..repetitions {
            self.replay(graph)?;
        }
        let to = self.event()?;
        from.seconds_until(&to)
    }

    /// Remembers what a graph in the making uses.
    pub(crate) fn keep<'a, T: Any + Send + Sync>(&self, used: impl IntoIterator<Item = &'a Arc<T>>) {
        if let Some(kept) = self.captured.borrow_mut().as_mut() {
            kept.extend(used.into_iter().map(|used| Arc::clone(used) as Kept));
        }
    }

    fn refuse_in_capture(&self, what: &'static str) -> Result<(), CudaError> {
        if self.captured.borrow().is_some() {
            return Err(CudaError::NotCapturable { what });
        }
        Ok(())
    }
}

impl Event {
    /// Waits for it.
    pub fn wait(&self) -> Result<(), CudaError> {
        self.driver.wait_for(self.handle)
    }

    /// Whether the device has come to it.
    pub fn is_reached(&self) -> Result<bool, CudaError> {
        self.driver.is_reached(self.handle)
    }

    /// Seconds from this moment to a later one of the same stream; waits for it.
    pub fn seconds_until(&self, later: &Self) -> Result<f64, CudaError> {
        self.driver.seconds(self.handle, later.handle)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.driver.end_stream(self.handle);
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.driver.end_graph(self.handle);
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.driver.end_event(self.handle);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x})", self.handle)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({:#x})", self.handle)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:#x})", self.handle)
    }
}
