//! Text line by line, counted, with a bound on the length of a line.

use std::io::{BufRead, Read};

use crate::error::{IoError, Place, excerpt};

/// A longer line is an error: no format here has one, and a binary file must not fill the memory.
pub(crate) const LINE_LIMIT: usize = 1 << 20;

/// A reader of lines that knows where it is. CRLF and a missing last newline are tolerated, bytes
/// that are no UTF-8 (old titles) become a question mark each, so that columns stay where they are.
/// Lines with zero bytes (UTF-16) are refused.
pub(crate) struct Lines<R> {
    source: R,
    file: String,
    number: usize,
    bytes: Vec<u8>,
    text: String,
    /// Whether a byte of the line was replaced.
    replaced: bool,
    unfinished: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R, file: impl Into<String>) -> Self {
        Lines {
            source,
            file: file.into(),
            number: 0,
            bytes: Vec::new(),
            text: String::new(),
            replaced: false,
            unfinished: false,
        }
    }

    /// Loads the next line; `false` at the end of the file.
    pub(crate) fn advance(&mut self) -> Result<bool, IoError> {
        self.bytes.clear();
        let limit = LINE_LIMIT as u64 + 1;
        let read = (&mut self.source).take(limit).read_until(b'\n', &mut self.bytes);
        read.map_err(|source| IoError::Io {
            file: self.file.clone(),
            source,
        })?;
        self.text.clear();
        self.unfinished = self.bytes.last().is_some_and(|last| *last != b'\n');
        if self.bytes.is_empty() {
            return Ok(false);
        }
        self.number += 1;
        if self.bytes.len() > LINE_LIMIT {
            return Err(IoError::LineTooLong {
                file: self.file.clone(),
                line: self.number,
                limit: LINE_LIMIT,
            });
        }
        while let Some(b'\n' | b'\r') = self.bytes.last() {
            self.bytes.pop();
        }
        if self.bytes.contains(&0) {
            return Err(self.not_utf8());
        }
        self.replaced = false;
        for chunk in self.bytes.utf8_chunks() {
            self.text.push_str(chunk.valid());
            self.text.extend(chunk.invalid().iter().map(|_| '?'));
            self.replaced |= !chunk.invalid().is_empty();
        }
        Ok(true)
    }

    /// Whether the line last loaded is the last one and lacks its end.
    pub(crate) fn unfinished(&self) -> bool {
        self.unfinished
    }

    /// The line last loaded, without its end.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Number of the line last loaded, from 1.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Path or label.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Columns `from..to` of the line, counted from 0 in bytes, trimmed; empty where the line is
    /// too short.
    pub(crate) fn columns(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to.min(self.text.len())).unwrap_or("").trim()
    }

    fn not_utf8(&self) -> IoError {
        IoError::NotUtf8 {
            file: self.file.clone(),
            line: self.number,
        }
    }

    /// An error about the present line.
    pub(crate) fn unexpected(&self, found: &str, expected: impl Into<String>) -> IoError {
        if self.replaced {
            return self.not_utf8();
        }
        IoError::Parse {
            file: self.file.clone(),
            place: Place::Line(self.number),
            found: excerpt(found),
            expected: expected.into(),
        }
    }

    /// `token` as a finite number. Fortran's `1.0D+00` is understood.
    pub(crate) fn float(&self, token: &str, expected: &str) -> Result<f64, IoError> {
        let value = match token.parse::<f64>() {
            Ok(value) => value,
            Err(_) => token
                .replace(['d', 'D'], "e")
                .parse::<f64>()
                .map_err(|_| self.unexpected(token, expected))?,
        };
        if value.is_finite() {
            return Ok(value);
        }
        Err(IoError::NotFinite {
            file: self.file.clone(),
            place: Place::Line(self.number),
            value: excerpt(token),
        })
    }

    /// `token` as an integer.
    pub(crate) fn integer(&self, token: &str, expected: &str) -> Result<i64, IoError> {
        token.parse().map_err(|_| self.unexpected(token, expected))
    }

    /// `token` as a count.
    pub(crate) fn count(&self, token: &str, expected: &str) -> Result<usize, IoError> {
        token.parse().map_err(|_| self.unexpected(token, expected))
    }

    /// Three numbers of a row of words, from word `first` on.
    pub(crate) fn vector(&self, words: &[&str], first: usize, expected: &str) -> Result<[f64; 3], IoError> {
        let mut vector = [0.0; 3];
        for (axis, value) in vector.iter_mut().enumerate() {
            let word = words
                .get(first + axis)
                .ok_or_else(|| self.unexpected(&self.text, expected))?;
            *value = self.float(word, expected)?;
        }
        Ok(vector)
    }

    /// The error of a file that ends inside a frame.
    pub(crate) fn truncated(
        &self,
        frame: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> IoError {
        let (found, number) = (found.into(), self.number);
        IoError::Truncated {
            file: self.file.clone(),
            frame,
            expected: expected.into(),
            found: format!("{found}; the file ends at line {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_missing_newline() {
        let mut lines = Lines::new(&b"one\r\ntwo\n\nlast"[..], "x");
        let mut seen = Vec::new();
        while lines.advance().unwrap() {
            seen.push((lines.number(), lines.text().to_owned()));
        }
        let expected = [(1, "one"), (2, "two"), (3, ""), (4, "last")];
        assert_eq!(seen, expected.map(|(n, t)| (n, t.to_owned())));
    }

    #[test]
    fn endless_line_is_refused() {
        let mut lines = Lines::new(std::io::BufReader::new(std::io::repeat(b'a')), "x");
        assert!(matches!(
            lines.advance(),
            Err(IoError::LineTooLong { line: 1, .. })
        ));
    }

    #[test]
    fn other_encodings_are_told() {
        let mut lines = Lines::new(&b"caf\xe9\n1 2\xb5\n"[..], "x");
        assert!(lines.advance().unwrap());
        assert_eq!(lines.text(), "caf?");
        assert!(lines.advance().unwrap());
        let error = lines.count("2?", "a number").unwrap_err();
        assert!(matches!(error, IoError::NotUtf8 { line: 2, .. }), "{error}");
        let wide: Vec<u8> = "title\n2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut lines = Lines::new(&wide[..], "x");
        let error = lines.advance().unwrap_err().to_string();
        assert!(
            error.contains("line 1: not UTF-8 text; saved as Latin-1 or UTF-16?"),
            "{error}"
        );
    }

    #[test]
    fn numbers() {
        let lines = Lines::new(&b""[..], "x");
        assert_eq!(lines.float("1.5D+01", "number").unwrap(), 15.0);
        assert!(matches!(
            lines.float("nan", "number"),
            Err(IoError::NotFinite { .. })
        ));
        assert!(matches!(
            lines.float("1e999", "number"),
            Err(IoError::NotFinite { .. })
        ));
        assert!(matches!(lines.float("dd", "number"), Err(IoError::Parse { .. })));
    }
}
