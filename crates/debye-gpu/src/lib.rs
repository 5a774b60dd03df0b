//! Devices and what runs on them: memory, streams, graphs, kernels compiled at run time, and what is built on them:
//! [`primitives`] (scans, sorts, reductions) and Fourier [`transforms`]. Nothing here knows of physics.
//!
//! All code is written against [`Device`], which is a graphics card or an emulation of one on the host: the same
//! kernel files, compiled by the host's C++ compiler, with every CUDA thread a fiber. What runs on one runs on the
//! other, so that everything is tested where there is no card. `docs/testing.md` says what that can show.
//!
//! ```no_run
//! use debye_gpu::{Device, primitives::Scan};
//!
//! let device = Device::open(0)?;
//! let stream = device.stream()?;
//! let numbers = device.upload(&[3_u32, 1, 4])?;
//! let mut starts = device.zeros::<u32>(3)?;
//! let mut total = device.zeros::<u32>(1)?;
//! Scan::new(&device, 3)?.exclusive(&stream, numbers.all(), starts.all_mut(), total.all_mut())?;
//! assert_eq!(stream.download(&starts)?, [0, 3, 4]);
//! # Ok::<(), debye_gpu::CudaError>(())
//! ```

// From the ground up: nothing imports what stands below it.
mod arguments;
mod buffer;
mod cache;
mod card;
mod device;
mod driver;
mod element;
mod emulation;
mod error;
mod module;
pub mod primitives;
mod shape;
mod shared;
mod source;
mod stream;
pub mod transforms;

pub use arguments::{Addresses, Arguments, Binder, Bundle, Const, Mut, Parameter};
pub use buffer::{Buffer, Slice, SliceMut};
pub use card::{Compiled, Nvrtc, compile_for, driver_version, library, report_compilations};
pub use device::{Ahead, Device};
pub use driver::{DeviceInfo, Memory};
pub use element::{Element, Float, Pointee, Spelled, Value};
pub use emulation::{Emulation, Instrument};
pub use error::{CudaError, NvrtcError};
pub use module::{Kernel, Module};
pub use shape::Shape;
#[doc(hidden)]
pub use shared::define_struct;
pub use shared::{Address, ConstAddress, DeviceStruct, Header, Pointer};
pub use source::ModuleSource;
pub use stream::{Event, Graph, Stream};
