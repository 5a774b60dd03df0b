//! A plain binary encoding: little-endian numbers, lists with their length first.
//!
//! Native structure files and checkpoints are made of it. Written by hand because they must stay
//! readable whatever a serialization crate decides: the layout is the sequence of calls, and nothing
//! else.

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

/// A file in one piece: eight bytes that say what it is, the version and the length of the content as
/// 64-bit little-endian numbers, the content, and its CRC-32.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// The first eight bytes.
    pub magic: &'static [u8; 8],
    /// The version of the content that is written and read.
    pub version: u64,
    /// What messages call such a file.
    pub what: &'static str,
}

impl Envelope {
    const HEAD: usize = 24;
    const SUM: usize = 4;

    /// Writes a content that is in several parts.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write(&self, parts: &[&[u8]], sink: &mut impl std::io::Write) -> std::io::Result<()> {
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        sink.write_all(self.magic)?;
        sink.write_all(&self.version.to_le_bytes())?;
        sink.write_all(&length.to_le_bytes())?;
        let mut checksum = crc32fast::Hasher::new();
        for part in parts {
            sink.write_all(part)?;
            checksum.update(part);
        }
        sink.write_all(&checksum.finalize().to_le_bytes())
    }

    /// The content of a whole file.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], CodecError> {
        let Some(rest) = bytes.strip_prefix(self.magic) else {
            return Err(CodecError(format!("it does not begin as a {} does", self.what)));
        };
        let mut head = Reader(rest);
        let (version, length) = (head.u64()?, head.u64()?);
        if version != self.version {
            return Err(CodecError(format!(
                "version {version} of the format; this program reads version {}",
                self.version
            )));
        }
        let there = (bytes.len() as u64).saturating_sub((Self::HEAD + Self::SUM) as u64);
        if length != there {
            return Err(CodecError(format!(
                "{there} bytes of content where {length} were written"
            )));
        }
        let content = head.take(length as usize)?;
        let mut sum = [0; Self::SUM];
        sum.copy_from_slice(head.take(Self::SUM)?);
        if crc32fast::hash(content) != u32::from_le_bytes(sum) {
            return Err(CodecError("its checksum does not fit its content".into()));
        }
        Ok(content)
    }
}

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

    /// What `content` writes, with its length.
    pub fn section(&mut self, content: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.u64(0);
        content(self);
        let length = (self.0.len() - start - 8) as u64;
        self.0[start..start + 8].copy_from_slice(&length.to_le_bytes());
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

    /// Whole numbers of 32 bits with a sign.
    pub fn i32s(&mut self, values: impl ExactSizeIterator<Item = i32>) {
        self.u64(values.len() as u64);
        values.for_each(|x| self.0.extend_from_slice(&x.to_le_bytes()));
    }

    /// Vectors.
    pub fn vectors<V: Copy + Into<[f64; 3]>>(&mut self, values: &[V]) {
        self.u64(values.len() as u64);
        values
            .iter()
            .for_each(|&v| v.into().into_iter().for_each(|x| self.f64(x)));
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

    /// Whole numbers of 32 bits with a sign.
    pub fn i32s(&mut self) -> Result<Vec<i32>, CodecError> {
        Ok(self.u32s()?.into_iter().map(u32::cast_signed).collect())
    }

    /// Vectors.
    pub fn vectors<V: From<[f64; 3]>>(&mut self) -> Result<Vec<V>, CodecError> {
        let n = self.length(24)?;
        (0..n)
            .map(|_| Ok(V::from([self.f64()?, self.f64()?, self.f64()?])))
            .collect()
    }
}
