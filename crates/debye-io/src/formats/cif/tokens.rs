//! The words of a CIF file: names, values with their quotes, and the words that are reserved.

use std::io::BufRead;

use crate::error::IoError;
use crate::lines::Lines;

/// What a word is; its text is with the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// `loop_`
    Loop,
    /// `data_…`, `save_…`, `stop_`, `global_`
    Other,
    /// `_category.item`
    Name,
    /// A value, without its quotes.
    Value,
}

/// Reads the words one after the other.
pub(super) struct Tokens<R> {
    lines: Lines<R>,
    /// Where in the present line the next word begins; behind its end where a new line is due.
    at: usize,
    begun: bool,
    text: String,
    last: Option<Token>,
    again: bool,
}

impl<R: BufRead> Tokens<R> {
    pub(super) fn new(lines: Lines<R>) -> Self {
        Tokens {
            lines,
            at: 0,
            begun: false,
            text: String::new(),
            last: None,
            again: false,
        }
    }

    pub(super) fn lines(&self) -> &Lines<R> {
        &self.lines
    }

    /// The text of the word last read.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Gives the word last read once more.
    pub(super) fn back(&mut self) {
        self.again = true;
    }

    /// The next word; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Token>, IoError> {
        if !std::mem::take(&mut self.again) {
            self.last = self.read()?;
        }
        Ok(self.last)
    }

    fn read(&mut self) -> Result<Option<Token>, IoError> {
        loop {
            if !self.begun {
                if !self.lines.advance()? {
                    return Ok(None);
                }
                (self.begun, self.at) = (true, 0);
                if self.lines.text().starts_with(';') {
                    return self.text_field();
                }
            }
            let line = self.lines.text();
            let rest = line.get(self.at..).unwrap_or("");
            let word = rest.trim_start();
            let start = line.len() - word.len();
            match word.chars().next() {
                None | Some('#') => self.begun = false,
                Some(quote @ ('\'' | '"')) => {
                    let inner = &word[1..];
                    let end = closing(inner, quote);
                    self.text.clear();
                    self.text.push_str(&inner[..end]);
                    self.at = start + 1 + end + 1;
                    return Ok(Some(Token::Value));
                }
                Some(_) => {
                    let end = word.find(char::is_whitespace).unwrap_or(word.len());
                    self.text.clear();
                    self.text.push_str(&word[..end]);
                    self.at = start + end;
                    return Ok(Some(kind(&self.text)));
                }
            }
        }
    }

    /// A value of several lines, between lines that begin with a semicolon.
    fn text_field(&mut self) -> Result<Option<Token>, IoError> {
        let first = self.lines.text().get(1..).unwrap_or("");
        self.text.clear();
        self.text.push_str(first);
        loop {
            if !self.lines.advance()? {
                let found = "the end of the file";
                return Err(self
                    .lines
                    .unexpected(found, "a line with `;` that closes the text"));
            }
            if self.lines.text().starts_with(';') {
                self.at = 1;
                return Ok(Some(Token::Value));
            }
            self.text.push('\n');
            self.text.push_str(self.lines.text());
        }
    }
}

/// Where a quoted text ends: at a quote that a blank or the end of the line follows.
fn closing(text: &str, quote: char) -> usize {
    let mut quotes = text.match_indices(quote);
    let last = quotes.find(|(at, _)| {
        let after = text[at + 1..].chars().next();
        after.is_none_or(char::is_whitespace)
    });
    last.map_or(text.len(), |(at, _)| at)
}

fn kind(text: &str) -> Token {
    let starts = |word: &str| {
        text.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    if text.starts_with('_') {
        Token::Name
    } else if text.eq_ignore_ascii_case("loop_") {
        Token::Loop
    } else if starts("data_") || starts("save_") || starts("stop_") || starts("global_") {
        Token::Other
    } else {
        Token::Value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes() {
        let file = "data_X # no\nloop_\n_a.b\n'O5'' \"a 'b'\" 'it''s' # x\n;two\nlines\n; ? _c 'open\nO5'\n";
        let mut tokens = Tokens::new(Lines::new(file.as_bytes(), "x"));
        let mut found = Vec::new();
        while let Some(token) = tokens.next().unwrap() {
            found.push((token, tokens.text().to_owned()));
        }
        let expected = [
            (Token::Other, "data_X"),
            (Token::Loop, "loop_"),
            (Token::Name, "_a.b"),
            (Token::Value, "O5'"),
            (Token::Value, "a 'b'"),
            (Token::Value, "it''s"),
            (Token::Value, "two\nlines"),
            (Token::Value, "?"),
            (Token::Name, "_c"),
            (Token::Value, "open"),
            (Token::Value, "O5'"),
        ];
        assert_eq!(found, expected.map(|(token, text)| (token, text.to_owned())));
    }
}
