//! Bytes of a binary file, counted, never more in memory than the file holds.

use std::io::Read;

use crate::error::{IoError, Place};

/// A reader of bytes that knows its offset.
pub(crate) struct Bytes<R> {
    source: R,
    file: String,
    offset: u64,
}

impl<R: Read> Bytes<R> {
    pub(crate) fn new(source: R, file: impl Into<String>) -> Self {
        Bytes {
            source,
            file: file.into(),
            offset: 0,
        }
    }

    /// Path or label.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Replaces `buffer` by the next `count` bytes, or by what is left of them; returns how many
    /// came. The buffer grows with what is read, not with what is asked for.
    pub(crate) fn read_up_to(&mut self, count: u64, buffer: &mut Vec<u8>) -> Result<usize, IoError> {
        buffer.clear();
        let read = (&mut self.source).take(count).read_to_end(buffer);
        let read = read.map_err(|source| IoError::Io {
            file: self.file.clone(),
            source,
        })?;
        self.offset += read as u64;
        Ok(read)
    }

    /// The next `count` bytes, all of them.
    pub(crate) fn block(
        &mut self,
        count: u64,
        buffer: &mut Vec<u8>,
        frame: usize,
        what: &str,
    ) -> Result<(), IoError> {
        let found = self.read_up_to(count, buffer)? as u64;
        if found < count {
            let expected = format!("{count} bytes of {what}");
            return Err(self.truncated(frame, expected, format!("{found} bytes")));
        }
        Ok(())
    }

    /// The next `N` bytes; `None` if fewer are left.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<Option<[u8; N]>, IoError> {
        let mut array = [0; N];
        let mut filled = 0;
        while filled < N {
            match self.source.read(&mut array[filled..]) {
                Ok(0) => return Ok(None),
                Ok(read) => {
                    filled += read;
                    self.offset += read as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(IoError::Io {
                        file: self.file.clone(),
                        source,
                    });
                }
            }
        }
        Ok(Some(array))
    }

    /// An error about the byte at `offset`.
    pub(crate) fn unexpected(
        &self,
        offset: u64,
        found: impl ToString,
        expected: impl Into<String>,
    ) -> IoError {
        IoError::Parse {
            file: self.file.clone(),
            place: Place::Byte(offset),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    /// The error of a file that ends inside a frame.
    pub(crate) fn truncated(
        &self,
        frame: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> IoError {
        let (found, offset) = (found.into(), self.offset);
        IoError::Truncated {
            file: self.file.clone(),
            frame,
            expected: expected.into(),
            found: format!("{found}; the file ends at byte {offset}"),
        }
    }

    /// The error of a number that is none.
    pub(crate) fn not_finite(&self, offset: u64, value: f64) -> IoError {
        IoError::NotFinite {
            file: self.file.clone(),
            place: Place::Byte(offset),
            value: value.to_string(),
        }
    }
}
