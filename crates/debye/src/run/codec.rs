//! A plain binary encoding: little-endian numbers, lists with their length first.
//!
//! Written by hand because a checkpoint must stay readable whatever a serialisation crate decides:
//! the layout is the sequence of calls, and nothing else.

use crate::expr::Vec3;

/// Appends values to bytes.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

/// Reads values back; every read can fail.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

/// The bytes ended early or hold something impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(pub String);

impl Writer {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing yet, with room for so many bytes.
    pub fn with_room_for(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// A whole number.
    pub fn u64(&mut self, x: u64) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    /// A real number, bit for bit.
    pub fn f64(&mut self, x: f64) {
        self.u64(x.to_bits());
    }

    /// Raw bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Real numbers.
    pub fn f64s(&mut self, values: &[f64]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|&x| self.f64(x));
    }

    /// Whole numbers of 32 bits.
    pub fn u32s(&mut self, values: &[u32]) {
        self.u64(values.len() as u64);
        values
            .iter()
            .for_each(|x| self.0.extend_from_slice(&x.to_le_bytes()));
    }

    /// Vectors.
    pub fn vectors(&mut self, values: &[Vec3<f64>]) {
        self.u64(values.len() as u64);
        values
            .iter()
            .for_each(|v| v.to_array().into_iter().for_each(|x| self.f64(x)));
    }
}

impl<'a> Reader<'a> {
    /// Reads from the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], CodecError> {
        if n > self.0.len() {
            return Err(CodecError(format!(
                "{n} bytes expected where {} are left",
                self.0.len()
            )));
        }
        let (head, tail) = self.0.split_at(n);
        self.0 = tail;
        Ok(head)
    }

    /// A whole number.
    pub fn u64(&mut self) -> Result<u64, CodecError> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// A real number.
    pub fn f64(&mut self) -> Result<f64, CodecError> {
        self.u64().map(f64::from_bits)
    }

    /// A length that the bytes left can hold, given the size of one element.
    fn length(&mut self, size: usize) -> Result<usize, CodecError> {
        let n = self.u64()?;
        match usize::try_from(n).ok().and_then(|n| n.checked_mul(size)) {
            Some(bytes) if bytes <= self.0.len() => Ok(n as usize),
            _ => Err(CodecError(format!(
                "a list of {n} elements where {} bytes are left",
                self.0.len()
            ))),
        }
    }

    /// Raw bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8], CodecError> {
        let n = self.length(1)?;
        self.take(n)
    }

    /// A text.
    pub fn text(&mut self) -> Result<String, CodecError> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| CodecError("a text that is not UTF-8".into()))
    }

    /// Real numbers.
    pub fn f64s(&mut self) -> Result<Vec<f64>, CodecError> {
        let n = self.length(8)?;
        (0..n).map(|_| self.f64()).collect()
    }

    /// Whole numbers of 32 bits.
    pub fn u32s(&mut self) -> Result<Vec<u32>, CodecError> {
        let n = self.length(4)?;
        let bytes = self.take(4 * n)?;
        Ok(bytes
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect())
    }

    /// Vectors.
    pub fn vectors(&mut self) -> Result<Vec<Vec3<f64>>, CodecError> {
        let n = self.length(24)?;
        (0..n)
            .map(|_| Ok(Vec3::new(self.f64()?, self.f64()?, self.f64()?)))
            .collect()
    }
}
