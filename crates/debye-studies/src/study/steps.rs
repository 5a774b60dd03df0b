//! [`Steps`]: steps of the engine as work of a study.

use std::time::Instant;

use debye::prelude::{DeviceChoice, Precision, Run, RunOptions, SimulationBuilder};
use debye_gpu::Device;

use super::{StudyError, Work};

/// Steps in a pass, so that what is asked for once does not count.
const STEPS: u32 = 10;

/// Steps of the engine; what it gives is that of the start.
pub(crate) struct Steps<O> {
    run: Run<'static>,
    output: O,
}

impl<O: Clone> Steps<O> {
    /// In mixed precision on the processor, or on a device. `output` reads what is compared.
    pub(crate) fn new(
        setup: SimulationBuilder,
        device: Option<&Device>,
        output: impl FnOnce(&mut Run<'_>) -> Result<O, StudyError>,
    ) -> Result<Self, StudyError> {
        let choice = match device {
            Some(_) => DeviceChoice::Cuda(0),
            None => DeviceChoice::Cpu,
        };
        let mut options = RunOptions {
            device,
            ..RunOptions::default()
        };
        let simulation = setup
            .precision(Precision::Mixed)
            .device(choice)
            .build()
            .map_err(StudyError::other)?;
        let mut run = simulation.start_with(&mut options)?;
        Ok(Self {
            output: output(&mut run)?,
            run,
        })
    }
}

impl<O: Clone> Work<O> for Steps<O> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let began = Instant::now();
        self.run.steps(u64::from(STEPS * passes))?;
        Ok(began.elapsed().as_secs_f64() / f64::from(STEPS))
    }

    fn output(&mut self) -> Result<O, StudyError> {
        Ok(self.output.clone())
    }
}
