//! Flags that several commands share.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use debye::engines::Precision;
use debye::run::with_threads;
use debye::simulation::{DeviceChoice, Simulation};
use debye::system::Units;

use crate::failure::Failure;

/// Where and in which numbers to compute.
#[derive(Args, Clone, Debug)]
pub struct EngineFlags {
    /// Where to compute: auto, cpu, cuda or cuda:N [default: the input file's, else auto]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
    /// Arithmetic
    #[arg(long, value_parser = precision())]
    pub precision: Option<Precision>,
    #[command(flatten)]
    pub threads: ThreadFlag,
}

/// How many threads.
#[derive(Args, Clone, Copy, Debug)]
pub struct ThreadFlag {
    /// Threads [default: all cores]. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl EngineFlags {
    /// Puts what was said on the command line in place of what the file says.
    pub fn apply(&self, simulation: &mut Simulation) {
        if let Some(device) = self.device {
            simulation.run.device = device;
        }
        if let Some(precision) = self.precision {
            simulation.run.precision = precision;
        }
    }
}

impl ThreadFlag {
    /// As the library takes it.
    pub fn number(self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    /// Works on this many threads.
    pub fn install<T: Send>(self, work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
        with_threads(self.number(), work)?
    }
}

/// Understands `single`, `mixed`, `double`.
pub fn precision() -> impl TypedValueParser<Value = Precision> {
    let names = Precision::NAMES.iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names).map(|text| {
        let named = Precision::NAMES.iter().find(|(name, _)| *name == text);
        named.map_or_else(Precision::default, |(_, precision)| *precision)
    })
}

/// Understands `md` and `lj`.
pub fn units() -> impl TypedValueParser<Value = Units> {
    PossibleValuesParser::new(["md", "lj"]).map(|text| match text.as_str() {
        "lj" => Units::LennardJones,
        _ => Units::Md,
    })
}
