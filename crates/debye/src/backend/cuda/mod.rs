//! CUDA: devices, memory, kernels compiled at run time, graphs, and the primitives built on them.
//!
//! All code is written against [`Device`], which is a graphics card or an emulation of one on the host: the same
//! kernel files, compiled by the host's C++ compiler, with every CUDA thread a fibre. What runs on one runs on the
//! other, so that everything here is tested where there is no card. `docs/testing.md` says what that can show.
//!
//! ```no_run
//! use debye::backend::cuda::{Device, primitives::Scan};
//!
//! let device = Device::open(0)?;
//! let stream = device.stream()?;
//! let numbers = device.upload(&[3_u32, 1, 4])?;
//! let mut starts = device.zeros::<u32>(3)?;
//! let mut total = device.zeros::<u32>(1)?;
//! Scan::new(&device, 3)?.exclusive(&stream, numbers.all(), starts.all_mut(), total.all_mut())?;
//! assert_eq!(stream.download(&starts)?, [0, 3, 4]);
//! # Ok::<(), debye::backend::cuda::CudaError>(())
//! ```

mod arguments;
mod buffer;
mod cache;
pub mod checks;
mod device;
mod driver;
mod element;
mod emulated;
mod engine;
mod error;
mod gpu;
mod host_compiler;
pub mod library;
pub mod mesh;
mod module;
mod nvrtc;
pub mod primitives;
pub mod speed;
mod stream;

pub use arguments::{Addresses, Arguments, Binder, Bundle, Const, Mut, Parameter};
pub use buffer::{Buffer, Slice, SliceMut};
pub use device::{Device, DeviceInfo, Memory};
pub use element::{Element, Value};
pub use emulated::{Emulation, Instrument};
pub use engine::{Choice, CudaEngine};
pub use error::CudaError;
pub use gpu::driver_version;
pub use module::{Kernel, Module, ModuleSource, Shape};
pub use nvrtc::{Compiled, Nvrtc, NvrtcError};
pub use stream::{Event, Graph, Stream};
