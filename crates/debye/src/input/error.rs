//! [`InputError`]: what is wrong with an input file, where, and what to write instead.

use crate::suggest::nearest;
use std::fmt;
use std::ops::{Deref, Range};

/// An input file was refused. `Display` is one message of several lines that quotes the place; the
/// parts are those of [`InputDetails`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InputError(Box<InputDetails>);

impl Deref for InputError {
    type Target = InputDetails;

    fn deref(&self) -> &InputDetails {
        &self.0
    }
}

/// The parts of an [`InputError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputDetails {
    /// The input file, as it was named.
    pub file: String,
    /// Line, counted from 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// Column in characters, counted from 1; 0 where the file as a whole is meant.
    pub column: usize,
    /// Where in the tree of keys: `forces[0].pairs.Ar-Ar.epsilon`.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What should stand there.
    pub expected: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The first line of the message, without the place.
    pub headline: String,
    /// The line quoted, and how many characters of it are underlined.
    quote: Option<(String, usize)>,
}

/// Longest line quoted in full, in characters.
const WIDEST: usize = 100;

impl InputError {
    /// An error about the file as a whole.
    pub(super) fn of_file(file: &str, headline: impl Into<String>) -> Self {
        Self(Box::new(InputDetails {
            file: file.into(),
            line: 0,
            column: 0,
            key: String::new(),
            found: String::new(),
            expected: String::new(),
            help: None,
            headline: headline.into(),
            quote: None,
        }))
    }

    /// An error about a line that cannot be quoted.
    pub(super) fn of_line(file: &str, line: usize, headline: impl Into<String>) -> Self {
        let mut error = Self::of_file(file, headline);
        error.0.line = line;
        error
    }

    /// An error about a stretch of the file.
    pub(super) fn at(source: &Source, span: Range<usize>, key: &str, headline: impl Into<String>) -> Self {
        let mut error = Self::of_file(source.part(span.start).0, headline).key(key);
        let (line, column, text, width) = source.locate(span);
        error.0.line = line;
        error.0.column = column;
        error.0.quote = Some((text, width));
        error
    }

    pub(super) fn key(mut self, key: impl Into<String>) -> Self {
        self.0.key = key.into();
        self
    }

    pub(super) fn found(mut self, found: impl Into<String>) -> Self {
        self.0.found = found.into();
        self
    }

    pub(super) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.0.expected = expected.into();
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }
}

impl fmt::Display for InputDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.headline)?;
        if let Some((quoted, width)) = &self.quote {
            let number = self.line.to_string();
            let margin = " ".repeat(number.len());
            let (shown, offset) = window(quoted, self.column.saturating_sub(1));
            let room = (shown.chars().count() + 1).saturating_sub(offset);
            let carets = "^".repeat((*width).min(room).max(1));
            let indent = " ".repeat(offset);
            write!(f, "\n {number} | {shown}\n {margin} | {indent}{carets}")?;
        }
        match &self.help {
            Some(help) => write!(f, "\n help: {help}"),
            None => Ok(()),
        }
    }
}

/// The part of a long line around `column`, and where the column lies in it.
fn window(line: &str, column: usize) -> (String, usize) {
    let count = line.chars().count();
    if count <= WIDEST {
        return (line.into(), column.min(count));
    }
    let start = column.saturating_sub(WIDEST / 2).min(count - WIDEST);
    let mut shown: String = line.chars().skip(start).take(WIDEST).collect();
    let mut offset = column.min(count) - start;
    if start > 0 {
        shown.insert(0, '…');
        offset += 1;
    }
    if start + WIDEST < count {
        shown.push('…');
    }
    (shown, offset)
}

/// An input file: its name and its text, and after it the files that it includes.
#[derive(Debug)]
pub(super) struct Source {
    /// All texts, one after another.
    pub(super) text: String,
    /// Names of the files, and where each begins; the input file is the first.
    parts: Vec<(String, usize)>,
}

impl Source {
    pub(super) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            parts: vec![(name.into(), 0)],
        }
    }

    /// The name of the input file.
    pub(super) fn name(&self) -> &str {
        self.part(0).0
    }

    /// Adds a file; gives where it begins.
    pub(super) fn append(&mut self, name: String, text: &str) -> usize {
        self.text.push('\n');
        let start = self.text.len();
        self.parts.push((name, start));
        self.text.push_str(text);
        start
    }

    /// Whether a place is in an included file.
    pub(super) fn is_included(&self, at: usize) -> bool {
        self.parts.get(1).is_some_and(|(_, start)| at >= *start)
    }

    /// The file of a place, and where it begins.
    fn part(&self, at: usize) -> (&str, usize) {
        let part = self.parts.iter().rfind(|(_, start)| *start <= at);
        part.map_or(("", 0), |(name, start)| (name, *start))
    }

    /// Line and column of the start of a span, the line's text, and the width to underline.
    fn locate(&self, span: Range<usize>) -> (usize, usize, String, usize) {
        let text = self.text.as_str();
        let clamp = |mut at: usize| {
            at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (start, end) = (clamp(span.start), clamp(span.end.max(span.start)));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let begin = self.part(start).1.min(line_start);
        let line = text[begin..line_start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count() + 1;
        let shown: String = text[line_start..line_end]
            .trim_end_matches('\r')
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let width = text[start..end.min(line_end)].trim_end().chars().count();
        (line, column, shown, width)
    }
}

/// `did you mean `x`? ` where something is near, then the whole list.
pub(super) fn suggestion(name: &str, what: &str, candidates: &[&str]) -> String {
    let list = candidates.join(", ");
    match nearest(name, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {what}: {list}"),
        None => format!("{what}: {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_at_the_place() {
        let source = Source::new("argon.toml", "a = 1\n[[forces]]\ncutof = \"12 Å\"\r\nb = 2");
        let error = InputError::at(
            &source,
            17..22,
            "forces[0].cutof",
            "unknown key `cutof` in [[forces]]",
        )
        .help("did you mean `cutoff`?");
        assert_eq!(
            error.to_string(),
            "argon.toml:3: unknown key `cutof` in [[forces]]\n 3 | cutof = \"12 Å\"\n   | ^^^^^\n help: did you mean `cutoff`?"
        );
        assert_eq!((error.line, error.column), (3, 1));
    }

    #[test]
    fn quotes_a_window_of_long_lines() {
        let text = format!("{}HERE{}", "å".repeat(500), "z".repeat(500));
        let source = Source::new("x", text);
        let shown = InputError::at(&source, 1000..1004, "k", "wrong").to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[2].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[1].chars().skip(caret).take(4).collect::<String>(), "HERE");
    }

    #[test]
    fn any_span_is_safe() {
        let source = Source::new("x", "Å\nå");
        for start in 0..8 {
            for end in 0..8 {
                let _ = InputError::at(&source, start..end, "k", "wrong").to_string();
            }
        }
    }
}
