//! [`MapAverage`]: the mean of maps over frames, with its error.

use crate::parallel::{InParallel, Indexed, IntoIndexed};
use debye_io::codec::{CodecError, Reader, Writer};
use debye_io::volumes::VolumeValues;

use super::{MapError, MapGrid, PotentialMap};

/// Blocks of frames that are kept; when there are as many, neighbors are joined.
const BLOCKS: usize = 16;

/// Sums of maps, taken frame by frame. Memory does not grow with their number: 72 bytes for a point.
///
/// The standard error comes from the means of 8 to 16 blocks of successive frames, so that it is right for frames that
/// resemble their neighbors, as long as a block is longer than that.
#[derive(Clone, Debug)]
pub struct MapAverage {
    grid: MapGrid,
    sum: Vec<f64>,
    /// Sums of blocks of `length` frames; the last may have fewer.
    blocks: Vec<Vec<f32>>,
    length: usize,
    frames: usize,
    method: String,
}

impl MapAverage {
    /// Over maps on this grid.
    pub fn new(grid: MapGrid) -> Self {
        Self {
            grid,
            sum: vec![0.0; grid.points()],
            blocks: Vec::new(),
            length: 1,
            frames: 0,
            method: String::new(),
        }
    }

    /// Adds a map of a frame.
    pub fn add(&mut self, map: &PotentialMap) -> Result<(), MapError> {
        if map.values().len() != self.sum.len() {
            return Err(MapError::Lengths(self.sum.len(), map.values().len()));
        }
        self.begin_block();
        map.method().clone_into(&mut self.method);
        let value = |i: usize| map.values().get(i).unwrap_or(f64::NAN);
        self.sum
            .par_iter_mut()
            .enumerate()
            .for_each(|(i, sum)| *sum += value(i));
        if let Some(block) = self.blocks.last_mut() {
            block
                .par_iter_mut()
                .enumerate()
                .for_each(|(i, sum)| *sum += value(i) as f32);
        }
        self.frames += 1;
        Ok(())
    }

    /// Adds the sum of maps of several frames, no more than there is [room](Self::room) for.
    pub(super) fn add_sum(&mut self, values: &[f64], frames: usize, method: &str) -> Result<(), MapError> {
        if values.len() != self.sum.len() {
            return Err(MapError::Lengths(self.sum.len(), values.len()));
        }
        self.begin_block();
        method.clone_into(&mut self.method);
        self.sum.par_iter_mut().zip(values).for_each(|(sum, v)| *sum += v);
        if let Some(block) = self.blocks.last_mut() {
            let pairs = block.par_iter_mut().zip(values);
            pairs.for_each(|(sum, &v)| *sum += v as f32);
        }
        self.frames += frames;
        Ok(())
    }

    /// Frames until the block of now is full.
    pub(super) fn room(&self) -> usize {
        match self.blocks.len() * self.length - self.frames {
            0 if self.blocks.len() == BLOCKS => 2 * self.length,
            0 => self.length,
            left => left,
        }
    }

    /// Begins another block where the last is full.
    fn begin_block(&mut self) {
        if self.frames < self.blocks.len() * self.length {
            return;
        }
        if self.blocks.len() == BLOCKS {
            self.join();
        }
        self.blocks.push(vec![0.0; self.sum.len()]);
    }

    pub(super) fn save(&self, to: &mut Writer) {
        to.u64(self.frames as u64);
        to.u64(self.length as u64);
        to.text(&self.method);
        to.f64s(&self.sum);
        to.u64(self.blocks.len() as u64);
        for block in &self.blocks {
            to.u32s(&block.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        }
    }

    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), CodecError> {
        let [frames, length] = [from.u64()?, from.u64()?].map(|n| n as usize);
        let method = from.text()?;
        let sum = from.f64s()?;
        let mut blocks = Vec::new();
        for _ in 0..from.u64()?.min(BLOCKS as u64) {
            blocks.push(from.u32s()?.into_iter().map(f32::from_bits).collect::<Vec<_>>());
        }
        let points = self.sum.len();
        if sum.len() != points || blocks.iter().any(|block| block.len() != points) || length == 0 {
            return Err(CodecError(format!(
                "a map of {} points, expected {points}",
                sum.len()
            )));
        }
        (self.frames, self.length, self.method) = (frames, length, method);
        (self.sum, self.blocks) = (sum, blocks);
        Ok(())
    }

    fn join(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        let mut blocks = blocks.into_iter();
        while let (Some(mut first), Some(second)) = (blocks.next(), blocks.next()) {
            first.par_iter_mut().zip(second).for_each(|(a, b)| *a += b);
            self.blocks.push(first);
        }
        self.length *= 2;
    }

    /// Frames so far.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Says where the points are, where they moved.
    pub(super) fn lie_on(&mut self, grid: MapGrid) {
        self.grid = grid;
    }

    /// The mean.
    pub fn mean(&self) -> Result<PotentialMap, MapError> {
        if self.frames == 0 {
            return Err(MapError::NoFrames);
        }
        let per = 1.0 / self.frames as f64;
        let values = self.sum.iter().map(|sum| (sum * per) as f32).collect();
        let method = format!("mean of {} frames, {}", self.frames, self.method);
        PotentialMap::new(self.grid, VolumeValues::F32(values), method)
    }

    /// Blocks that the standard error comes from, and frames of each.
    pub fn blocks(&self) -> (usize, usize) {
        (self.frames / self.length, self.length)
    }

    /// The standard error of the mean at every point; `None` with fewer than two blocks.
    pub fn error(&self) -> Result<Option<PotentialMap>, MapError> {
        let (whole, length) = self.blocks();
        if whole < 2 {
            return Ok(None);
        }
        let values = (0..self.sum.len())
            .into_par_iter()
            .map(|i| {
                let means = self.blocks[..whole].iter();
                standard_error(means.map(|block| f64::from(block[i]) / length as f64)) as f32
            })
            .collect();
        let method = format!("standard error of the mean over {whole} blocks of {length} frames");
        PotentialMap::new(self.grid, VolumeValues::F32(values), method).map(Some)
    }
}

/// Of the mean of independent numbers; NaN of fewer than two.
pub(super) fn standard_error(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_errors_are_those_of_all_frames() {
        let grid = MapGrid::new([0.0; 3], [0.1; 3], [2, 1, 3]).unwrap();
        let mut average = MapAverage::new(grid);
        let value = |frame: usize| ((frame * 7919) % 101) as f32;
        for frame in 0..100 {
            let values = VolumeValues::F32(vec![value(frame); 6]);
            average
                .add(&PotentialMap::new(grid, values, "test").unwrap())
                .unwrap();
        }
        let mean = (0..100).map(|f| f64::from(value(f))).sum::<f64>() / 100.0;
        assert!((average.mean().unwrap().value([1, 0, 2]) - mean).abs() < 1e-4);
        assert_eq!(average.blocks(), (12, 8));
        let error = average.error().unwrap().unwrap().value([0, 0, 0]);
        // Independent numbers from 0 to 100: σ/√n is 2.9, less here, where they are spread evenly.
        assert!(error > 0.0 && error < 4.0, "{error}");
    }
}
