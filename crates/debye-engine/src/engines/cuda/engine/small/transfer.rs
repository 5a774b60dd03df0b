//! What goes to the device and comes back from it: states, cells, the control words.

use debye_gpu::CudaError;

use super::super::arrays::{numbers, words};
use super::super::frame::{Frame, Region};
use super::super::state::State;
use super::{IMAGE_BITS, IMAGE_X, IMAGE_Y, IMAGE_Z, Small};
use crate::engines::Precision;

impl Small {
    /// The cell as it is now.
    pub(super) fn region(&self) -> Result<Region, CudaError> {
        if !self.variant.moving {
            return Ok(self.values.region);
        }
        let frames = self.stream.download(&self.arrays.frames)?;
        Ok(self.values.region.with_frame(&frames[0]))
    }

    pub(super) fn upload_frames(&mut self, frames: [Frame; 2]) -> Result<(), CudaError> {
        self.stream.upload(&frames, self.arrays.frames.all_mut())?;
        self.stream.synchronize()
    }

    pub(super) fn particles_in(&self) -> usize {
        self.terms.kind_of.len()
    }

    /// The w of a position: its kind and, where images are told apart, its image counters.
    pub(super) fn word(&self, kind: u32, image: [i32; 3]) -> u32 {
        if !self.variant.images {
            return kind;
        }
        let [x, y, z] = image.map(|count| count.rem_euclid(1 << IMAGE_BITS) as u32);
        kind | x << IMAGE_X | y << IMAGE_Y | z << IMAGE_Z
    }

    pub(super) fn kind(&self, word: u32) -> usize {
        kind_in(word, self.variant.images)
    }

    /// Puts a state into the first half of everything.
    pub(super) fn upload(&mut self, state: &State) -> Result<(), CudaError> {
        let (low, n) = (self.low_words(&state.low), self.particles_in());
        self.upload_velocities(&state.velocities)?;
        let (a, s) = (&mut self.arrays, &self.stream);
        s.upload(&state.pos, a.pos.part_mut(0..4 * n))?;
        s.upload(&low, a.low.part_mut(0..low.len()))?;
        s.upload(&state.images, a.images.all_mut())?;
        s.synchronize()
    }

    pub(super) fn upload_velocities(&mut self, velocities: &[f64]) -> Result<(), CudaError> {
        let velocities = words(velocities, self.terms.precision != Precision::Single);
        self.stream
            .upload(&velocities, self.arrays.velocities.all_mut())?;
        self.stream.synchronize()
    }

    /// Lower halves as they lie in memory, from axis by axis.
    pub(super) fn low_words(&self, low: &[u32]) -> Vec<u32> {
        let n = self.particles_in();
        match self.terms.precision {
            Precision::Single => Vec::new(),
            _ if !self.variant.fine(&self.terms) => low.to_vec(),
            _ => (0..4 * n)
                .map(|at| if at % 4 == 3 { 0 } else { low[at % 4 * n + at / 4] })
                .collect(),
        }
    }

    /// And back, from one of the halves.
    pub(super) fn low(&self, parity: u32) -> Result<Vec<u32>, CudaError> {
        let n = self.particles_in();
        let (a, s) = (&self.arrays, &self.stream);
        match self.terms.precision {
            Precision::Single => Ok(vec![0; 3 * n]),
            _ if !self.variant.fine(&self.terms) => s.download(&a.low),
            _ => {
                let half = parity as usize * 4 * n;
                Ok(by_axis(&s.download_part(a.low.part(half..half + 4 * n))?))
            }
        }
    }

    /// The state as it is now.
    pub(super) fn download(&self) -> Result<State, CudaError> {
        self.download_half(self.last.parity)
    }

    /// The state with one of the two halves of positions. Lower halves that nobody else sees are there but once.
    pub(super) fn download_half(&self, parity: u32) -> Result<State, CudaError> {
        let n = self.particles_in();
        let (a, s) = (&self.arrays, &self.stream);
        let half = parity as usize * 4 * n;
        let velocities = s.download(&a.velocities)?;
        Ok(State {
            pos: s.download_part(a.pos.part(half..half + 4 * n))?,
            low: self.low(parity)?,
            velocities: numbers(&velocities, self.terms.precision != Precision::Single),
            images: s.download(&a.images)?,
            ids: (0..n as u32).collect(),
            ..State::default()
        })
    }

    pub(super) fn write_control(&mut self) -> Result<(), CudaError> {
        self.stream.upload(&[self.last], self.arrays.control.all_mut())?;
        self.stream.synchronize()
    }
}

/// The kind of particle in the w of a position, which may tell images apart.
pub(super) fn kind_in(word: u32, images: bool) -> usize {
    let kind = if images { word & ((1 << IMAGE_X) - 1) } else { word };
    kind as usize
}

/// Lower halves axis by axis, from four words to a particle.
fn by_axis(words: &[u32]) -> Vec<u32> {
    let n = words.len() / 4;
    (0..3 * n).map(|at| words[4 * (at % n) + at / n]).collect()
}
