//! [`CudaError`] and [`NvrtcError`]: what can go wrong on a device, in words a user can act on.

/// Why something was not done on a device.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// A library is not on this machine.
    #[error("{what} was not found; {help}")]
    Missing {
        /// Which library.
        what: &'static str,
        /// How to get it.
        help: String,
    },
    /// There is no such device.
    #[error("there is no CUDA device {number}: {reason}")]
    NoDevice {
        /// Its number.
        number: u32,
        /// What the driver said.
        reason: String,
    },
    /// The device is too old.
    #[error("{name} has compute capability {major}.{minor}; Debye needs 7.5 or newer")]
    TooOld {
        /// The device.
        name: String,
        /// Compute capability, first number.
        major: u32,
        /// Compute capability, second number.
        minor: u32,
    },
    /// Not enough memory on the device.
    #[error(
        "the device is out of memory: {wanted} bytes were asked for, {free} of {total} are free. \
         Close other programs that use it, or make the system smaller"
    )]
    OutOfMemory {
        /// Bytes asked for.
        wanted: usize,
        /// Bytes free.
        free: usize,
        /// Bytes in all.
        total: usize,
    },
    /// A kernel does not compile.
    #[error(transparent)]
    Nvrtc(#[from] NvrtcError),
    /// A kernel does not compile on the host.
    #[error("{0}")]
    HostCompiler(String),
    /// A kernel takes other parameters than the caller believes.
    #[error("kernel {kernel} takes ({takes}), but is called with ({given})")]
    Signature {
        /// The kernel.
        kernel: String,
        /// What it takes.
        takes: String,
        /// What it would be given.
        given: String,
    },
    /// A launch that cannot work.
    #[error("kernel {kernel} cannot be launched so: {reason}")]
    Shape {
        /// The kernel.
        kernel: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A kernel failed while it ran.
    #[error("kernel {kernel} failed: {reason}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What was seen.
        reason: String,
    },
    /// The device no longer answers; nothing on it can be trusted.
    #[error(
        "the device was lost: {reason}. Everything on it is gone; start again from the last checkpoint. \
         If it happens again, `debye check --device cuda` and the system's log may say more"
    )]
    Lost {
        /// What the driver said.
        reason: String,
    },
    /// Something that a captured graph cannot hold.
    #[error("{what} cannot be part of a captured graph")]
    NotCapturable {
        /// What was asked.
        what: &'static str,
    },
    /// Lengths that do not fit.
    #[error("{what}: {given} elements where {needed} are needed")]
    Length {
        /// Where.
        what: &'static str,
        /// Elements given.
        given: usize,
        /// Elements needed.
        needed: usize,
    },
    /// The driver refused something else.
    #[error("the driver refused {call}: {reason}")]
    Driver {
        /// The function of the driver.
        call: &'static str,
        /// What it said.
        reason: String,
    },
}

impl CudaError {
    /// The refusal of a launch that cannot work.
    pub fn shape(kernel: impl Into<String>, reason: impl Into<String>) -> Self {
        let (kernel, reason) = (kernel.into(), reason.into());
        Self::Shape { kernel, reason }
    }

    /// Refuses a length other than the one needed.
    pub fn check_length(what: &'static str, given: usize, needed: usize) -> Result<(), Self> {
        if given == needed {
            return Ok(());
        }
        Err(Self::Length { what, given, needed })
    }
}

/// Why something was not compiled.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NvrtcError {
    /// No library was found.
    #[error("NVRTC was not found; {help}")]
    Missing {
        /// How to get it.
        help: String,
    },
    /// The library lacks a function, or a call failed for a reason other than the source.
    #[error("NVRTC failed in {call}: {reason}")]
    Call {
        /// The function of the library.
        call: &'static str,
        /// What it said.
        reason: String,
    },
    /// The source or an option has a NUL byte.
    #[error("the text for NVRTC has a NUL byte")]
    NulByte,
    /// The source does not compile.
    #[error("NVRTC refused {name}:\n{log}")]
    Source {
        /// The name given to the source.
        name: String,
        /// The compiler's messages.
        log: String,
    },
}
