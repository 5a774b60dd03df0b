//! The words of an OpenDX file, with the lines they stand in.

use std::borrow::Cow;
use std::io::{BufRead, ErrorKind};

use crate::error::{IoError, Place, excerpt};
use crate::volumes::volume::VolumeError;

/// A longer word is an error: this is no file of the format.
const LONGEST_WORD: usize = 4096;
/// No more of a comment becomes a title.
const LONGEST_TITLE: usize = 256;

/// A reader of words between blanks, line ends and comments. What stands in double quotes is one word.
pub(super) struct Words<R> {
    source: R,
    file: String,
    line: usize,
    /// The last byte ended a line, and none followed yet.
    line_ended: bool,
    word: Vec<u8>,
    /// The first comment that says something, once there is one.
    title: Option<String>,
    comment: Vec<u8>,
}

enum State {
    Between,
    Comment,
    Word,
    Quoted,
}

impl<R: BufRead> Words<R> {
    pub(super) fn new(source: R, file: impl Into<String>) -> Self {
        Words {
            source,
            file: file.into(),
            line: 1,
            line_ended: false,
            word: Vec::new(),
            title: None,
            comment: Vec::new(),
        }
    }

    /// Loads the next word; `false` at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool, IoError> {
        self.word.clear();
        let mut state = State::Between;
        loop {
            let buffer = match self.source.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(source) => {
                    let file = self.file.clone();
                    return Err(IoError::Io { file, source });
                }
            };
            if buffer.is_empty() {
                return match state {
                    State::Between | State::Comment => Ok(false),
                    State::Word => Ok(true),
                    State::Quoted => Err(self.parse_error("the end of the file", "a closing quote")),
                };
            }
            let mut used = 0;
            let mut whole = false;
            for &byte in buffer {
                // The blank after a word is left, so that the line is still that of the word.
                if matches!(state, State::Word) && byte.is_ascii_whitespace() {
                    whole = true;
                    break;
                }
                used += 1;
                if self.line_ended {
                    self.line += 1;
                }
                self.line_ended = byte == b'\n';
                match state {
                    State::Between if byte == b'#' => state = State::Comment,
                    State::Between if byte == b'"' => state = State::Quoted,
                    State::Between if byte.is_ascii_whitespace() => {}
                    State::Comment if byte == b'\n' => {
                        state = State::Between;
                        if self.title.is_none() {
                            let text = String::from_utf8_lossy(&self.comment);
                            let text = text.trim_matches(|c: char| c == '#' || c.is_whitespace());
                            self.title = (!text.is_empty()).then(|| text.to_owned());
                            self.comment.clear();
                        }
                    }
                    State::Comment => {
                        if self.title.is_none() && self.comment.len() < LONGEST_TITLE {
                            self.comment.push(byte);
                        }
                    }
                    State::Quoted if byte == b'"' => {
                        whole = true;
                        break;
                    }
                    State::Between | State::Word => {
                        state = State::Word;
                        self.word.push(byte);
                    }
                    State::Quoted => self.word.push(byte),
                }
                if self.word.len() > LONGEST_WORD {
                    break;
                }
            }
            self.source.consume(used);
            if self.word.len() > LONGEST_WORD {
                let expected = format!("words of at most {LONGEST_WORD} bytes");
                return Err(self.unexpected(expected));
            }
            if whole {
                return Ok(true);
            }
        }
    }

    /// Loads the next word, which must be there.
    pub(super) fn need(&mut self, expected: &str) -> Result<(), IoError> {
        if self.advance()? {
            return Ok(());
        }
        Err(self.parse_error("the end of the file", expected))
    }

    /// Loads the next word, which must be this one.
    pub(super) fn keyword(&mut self, word: &str) -> Result<(), IoError> {
        let expected = format!("`{word}`");
        self.need(&expected)?;
        if self.is(word) {
            return Ok(());
        }
        Err(self.unexpected(expected))
    }

    /// Whether the word is this one, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.word.eq_ignore_ascii_case(word.as_bytes())
    }

    /// The word. Where it is no UTF-8 it becomes text that is no number and no keyword.
    pub(super) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.word)
    }

    /// A count.
    pub(super) fn count(&mut self, expected: &str) -> Result<usize, IoError> {
        self.need(expected)?;
        self.text().parse().map_err(|_| self.unexpected(expected))
    }

    /// Three finite numbers.
    pub(super) fn vector(&mut self, expected: &str) -> Result<[f64; 3], IoError> {
        let mut vector = [0.0_f64; 3];
        for number in &mut vector {
            self.need(expected)?;
            let parsed = number_of(&self.text());
            *number = parsed.ok_or_else(|| self.unexpected(expected))?;
            if !number.is_finite() {
                return Err(self.not_finite());
            }
        }
        Ok(vector)
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    pub(super) fn title(&mut self) -> String {
        self.title.take().unwrap_or_default()
    }

    /// The present word is not what should stand there.
    pub(super) fn unexpected(&self, expected: impl Into<String>) -> IoError {
        self.parse_error(&excerpt(&self.text()), expected)
    }

    pub(super) fn parse_error(&self, found: &str, expected: impl Into<String>) -> IoError {
        IoError::Parse {
            file: self.file.clone(),
            place: Place::Line(self.line),
            found: found.to_owned(),
            expected: expected.into(),
        }
    }

    /// The present word is a number beyond the largest, or none where one is needed.
    pub(super) fn not_finite(&self) -> IoError {
        IoError::NotFinite {
            file: self.file.clone(),
            place: Place::Line(self.line),
            value: excerpt(&self.text()),
        }
    }

    /// An impossible grid, told in the line of the present word.
    pub(super) fn refuse(&self, source: VolumeError) -> IoError {
        self.refuse_at(self.line, source)
    }

    pub(super) fn refuse_at(&self, line: usize, source: VolumeError) -> IoError {
        IoError::Volume {
            file: self.file.clone(),
            place: Place::Line(line),
            source: Box::new(source),
        }
    }
}

/// A number as C or Fortran writes it: also `-nan` and `1.0D+00`.
pub(super) fn number_of<T: crate::volumes::number::Number>(text: &str) -> Option<T> {
    T::parse(text).or_else(|| {
        let lower = text.to_ascii_lowercase();
        if let Some(rest) = lower.trim_start_matches(['+', '-']).strip_prefix("nan") {
            // C may say more of it: `nan(0x8000000000000)`, `-nan(ind)`.
            let more = rest.is_empty() || (rest.starts_with('(') && rest.ends_with(')'));
            return if more { T::parse("nan") } else { None };
        }
        T::parse(&lower.replace('d', "e"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[u8]) -> Vec<(usize, String)> {
        // A buffer of one byte: words go across its ends.
        let mut words = Words::new(std::io::BufReader::with_capacity(1, text), "x");
        let mut all = Vec::new();
        while words.advance().unwrap() {
            all.push((words.line(), words.text().into_owned()));
        }
        all
    }

    #[test]
    fn lines_quotes_and_comments() {
        let found = words(b"# a\n#\n one\t\"two words\"\r\n\n#more\nthree#3 # four\nfive");
        let expected = [(3, "one"), (3, "two words"), (6, "three#3"), (7, "five")];
        assert_eq!(found, expected.map(|(line, word)| (line, word.to_owned())));
        assert!(words(b"# nothing").is_empty() && words(b"").is_empty());
    }

    #[test]
    fn the_first_comment_with_text_is_the_title() {
        let mut words = Words::new(&b"#\n# \n#  POTENTIAL (kT/e) \n# more\nobject"[..], "x");
        assert!(words.advance().unwrap());
        assert_eq!(words.title(), "POTENTIAL (kT/e)");
    }

    #[test]
    fn numbers_of_other_programs() {
        for (text, value) in [
            ("1.5D+01", 15.0),
            ("-2d-1", -0.2),
            ("+3", 3.0),
            ("Infinity", f64::INFINITY),
        ] {
            assert_eq!(number_of::<f64>(text), Some(value));
        }
        for text in ["nan", "NaN", "-nan", "-nan(ind)", "+NAN"] {
            assert!(number_of::<f32>(text).unwrap().is_nan(), "{text}");
        }
        for text in ["d", "", "nano", "0x10", "1,5", "--1"] {
            assert_eq!(number_of::<f64>(text), None, "{text}");
        }
    }

    #[test]
    fn endless_words_are_refused() {
        for byte in [b'a', b'"'] {
            let mut source = vec![byte];
            source.resize(1 << 20, b'a');
            let error = Words::new(&source[..], "x").advance().unwrap_err();
            assert!(error.to_string().contains("at most 4096 bytes"), "{error}");
        }
    }
}
