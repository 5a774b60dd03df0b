//! [`Stages`]: where the time goes.

use std::time::Instant;

/// Time spent in one part of the step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// Seconds.
    pub seconds: f64,
    /// How often.
    pub calls: u64,
}

/// Time spent in every part.
#[derive(Clone, Debug, Default)]
pub struct Stages(Vec<Stage>);

impl Stages {
    /// Adds the time since `began` to a stage.
    pub fn add(&mut self, name: &'static str, began: Instant) {
        let seconds = began.elapsed().as_secs_f64();
        match self.0.iter_mut().find(|s| s.name == name) {
            Some(stage) => {
                stage.seconds += seconds;
                stage.calls += 1;
            }
            None => self.0.push(Stage {
                name,
                seconds,
                calls: 1,
            }),
        }
    }

    /// The stages, in the order they first ran.
    pub fn list(&self) -> &[Stage] {
        &self.0
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
