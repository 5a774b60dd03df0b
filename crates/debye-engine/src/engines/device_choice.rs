//! [`DeviceChoice`]: where is computed.

/// Where something is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU where there is one, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// The GPU of this number.
    Cuda(u32),
}

impl std::str::FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => match text.strip_prefix("cuda:").map(str::parse) {
                Some(Ok(number)) => Ok(Self::Cuda(number)),
                _ => Err(format!(
                    "unknown device `{text}`; known are auto, cpu, cuda, cuda:N"
                )),
            },
        }
    }
}
