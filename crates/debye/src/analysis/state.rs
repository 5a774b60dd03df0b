//! How the state of an analysis is written: little-endian, tagged, with a version and a checksum.
//!
//! Layout: tag (4 bytes), version of the analysis (u16), the settings, the state, CRC-32 of all before. Lists carry
//! their length, which is compared with the bytes left before anything is allocated.

use super::AnalysisError;
use crate::expr::Vec3;

const FIRST_VERSION: u16 = 1;

/// Writes a state.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(tag: &[u8; 4]) -> Self {
        Self::of_version(tag, FIRST_VERSION)
    }

    /// The state of an analysis whose layout has changed.
    pub(crate) fn of_version(tag: &[u8; 4], version: u16) -> Self {
        let mut writer = Self(tag.to_vec());
        writer.0.extend(version.to_le_bytes());
        writer
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn f64(&mut self, value: f64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) -> &mut Self {
        self.u64(values.len() as u64);
        values.iter().for_each(|&v| {
            self.f64(v);
        });
        self
    }

    pub(crate) fn vectors(&mut self, values: &[Vec3<f64>]) -> &mut Self {
        self.u64(values.len() as u64);
        for v in values {
            self.f64(v.x).f64(v.y).f64(v.z);
        }
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.u64(text.len() as u64);
        self.0.extend(text.as_bytes());
        self
    }

    /// What has been written so far: the settings a saved state must begin with.
    pub(crate) fn so_far(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let sum = crc32fast::hash(&self.0);
        self.0.extend(sum.to_le_bytes());
        self.0
    }
}

/// Reads a state back.
pub(crate) struct Reader<'a> {
    analysis: &'static str,
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader behind the settings in `head`, which the state must begin with.
    pub(crate) fn new(analysis: &'static str, state: &'a [u8], head: &Writer) -> Result<Self, AnalysisError> {
        let error = |reason| AnalysisError::State { analysis, reason };
        let (body, sum) = state
            .split_last_chunk::<4>()
            .ok_or_else(|| error("it is too short"))?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(error("its checksum is wrong"));
        }
        let head = head.so_far();
        if body.get(..4) != head.get(..4) {
            return Err(error("it belongs to another analysis"));
        }
        if body.get(..6) != head.get(..6) {
            return Err(error("it is of another version"));
        }
        let left = body
            .strip_prefix(head)
            .ok_or_else(|| error("it was made with other settings"))?;
        Ok(Self { analysis, left })
    }

    pub(crate) fn error(&self, reason: &'static str) -> AnalysisError {
        AnalysisError::State {
            analysis: self.analysis,
            reason,
        }
    }

    fn eight(&mut self) -> Result<[u8; 8], AnalysisError> {
        match self.left.split_first_chunk::<8>() {
            Some((eight, rest)) => {
                self.left = rest;
                Ok(*eight)
            }
            None => Err(self.error("it ends too early")),
        }
    }

    pub(crate) fn u64(&mut self) -> Result<u64, AnalysisError> {
        Ok(u64::from_le_bytes(self.eight()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64, AnalysisError> {
        Ok(f64::from_le_bytes(self.eight()?))
    }

    /// A length of a list whose items take at least `size` bytes each.
    pub(crate) fn length(&mut self, size: usize) -> Result<usize, AnalysisError> {
        let length = self.u64()?;
        if length > (self.left.len() / size) as u64 {
            return Err(self.error("a list in it is longer than the state"));
        }
        Ok(length as usize)
    }

    pub(crate) fn f64s(&mut self) -> Result<Vec<f64>, AnalysisError> {
        let length = self.length(8)?;
        (0..length).map(|_| self.f64()).collect()
    }

    pub(crate) fn vectors(&mut self) -> Result<Vec<Vec3<f64>>, AnalysisError> {
        let length = self.length(24)?;
        (0..length)
            .map(|_| Ok(Vec3::new(self.f64()?, self.f64()?, self.f64()?)))
            .collect()
    }

    pub(crate) fn finish(self) -> Result<(), AnalysisError> {
        if self.left.is_empty() {
            Ok(())
        } else {
            Err(self.error("it is too long"))
        }
    }
}
