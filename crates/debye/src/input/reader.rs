//! A thin layer over TOML that knows where everything stands.
//!
//! [`Item`] is a value with its place; [`Section`] a table whose keys have been checked against the
//! ones it may have, so that a misspelled key is reported as such and not as a missing one.

use std::ops::{Range, RangeBounds};

use super::error::{InputError, Source, suggestion};
use crate::system::{Dimension, Units};

type Result<T> = std::result::Result<T, InputError>;

/// A value of the file.
#[derive(Debug)]
pub(super) struct Node {
    span: Range<usize>,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

#[derive(Debug)]
struct Entry {
    name: String,
    span: Range<usize>,
    node: Node,
}

impl Node {
    /// Reads the text of a whole file.
    pub(super) fn parse(source: &Source) -> Result<Self> {
        Self::parse_part(source, 0)
    }

    /// Reads the text that begins there.
    pub(super) fn parse_part(source: &Source, start: usize) -> Result<Self> {
        let moved = |span: Range<usize>| span.start + start..span.end + start;
        let document = toml_edit::Document::parse(&source.text[start..]).map_err(|error| {
            let message = error.message().trim();
            let at = moved(error.span().unwrap_or(0..0));
            InputError::at(source, at, "", format!("not valid TOML: {message}")).expected("TOML")
        })?;
        let mut node = Self {
            span: 0..0,
            data: Data::Table(entries(document.as_table())),
        };
        node.each_span(&|span| *span = moved(span.clone()));
        Ok(node)
    }

    fn each_span(&mut self, change: &dyn Fn(&mut Range<usize>)) {
        change(&mut self.span);
        match &mut self.data {
            Data::List(list) => list.iter_mut().for_each(|node| node.each_span(change)),
            Data::Table(entries) => {
                for entry in entries {
                    change(&mut entry.span);
                    entry.node.each_span(change);
                }
            }
            _ => {}
        }
    }

    /// Takes over the tables of another file: lists of tables follow one another, keys of species and whole molecules are
    /// taken where they are missing, and everything else where there is nothing.
    pub(super) fn include(&mut self, other: Self) {
        let (Data::Table(own), Data::Table(others)) = (&mut self.data, other.data) else {
            return;
        };
        for entry in others {
            let Some(mine) = own.iter_mut().find(|e| e.name == entry.name) else {
                own.push(entry);
                continue;
            };
            match (&mut mine.node.data, entry.node.data) {
                (Data::List(mine), Data::List(others)) => mine.extend(others),
                (Data::Table(mine), Data::Table(others)) if entry.name == "molecules" => {
                    let missing = |other: &Entry| mine.iter().all(|e| e.name != other.name);
                    let (new, _): (Vec<Entry>, Vec<Entry>) = others.into_iter().partition(missing);
                    mine.extend(new);
                }
                (Data::Table(mine), Data::Table(others)) if entry.name == "species" => {
                    for species in others {
                        match mine.iter_mut().find(|e| e.name == species.name) {
                            Some(given) => given.node.include(species.node),
                            None => mine.push(species),
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

fn entries(table: &dyn toml_edit::TableLike) -> Vec<Entry> {
    let names = table.iter().map(|(name, _)| name.to_owned());
    names
        .filter_map(|name| {
            let (key, item) = table.get_key_value(&name)?;
            let span = key.span().or_else(|| item.span()).unwrap_or(0..0);
            Some(Entry {
                node: item_node(item, &span)?,
                name,
                span,
            })
        })
        .collect()
}

fn item_node(item: &toml_edit::Item, key: &Range<usize>) -> Option<Node> {
    let span = item.span().unwrap_or_else(|| key.clone());
    Some(match item {
        toml_edit::Item::None => return None,
        toml_edit::Item::Value(value) => value_node(value, key),
        toml_edit::Item::Table(table) => Node {
            span,
            data: Data::Table(entries(table)),
        },
        toml_edit::Item::ArrayOfTables(array) => {
            let node = |table: &toml_edit::Table| Node {
                span: table.span().unwrap_or_else(|| key.clone()),
                data: Data::Table(entries(table)),
            };
            Node {
                span,
                data: Data::List(array.iter().map(node).collect()),
            }
        }
    })
}

fn value_node(value: &toml_edit::Value, key: &Range<usize>) -> Node {
    use toml_edit::Value;
    let data = match value {
        Value::String(text) => Data::Text(text.value().clone()),
        Value::Integer(number) => Data::Integer(*number.value()),
        Value::Float(number) => Data::Float(*number.value()),
        Value::Boolean(flag) => Data::Bool(*flag.value()),
        Value::Datetime(_) => Data::Date,
        Value::Array(array) => Data::List(array.iter().map(|v| value_node(v, key)).collect()),
        Value::InlineTable(table) => Data::Table(entries(table)),
    };
    Node {
        span: value.span().unwrap_or_else(|| key.clone()),
        data,
    }
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Item<'a> {
    source: &'a Source,
    node: &'a Node,
    /// Where its key stands.
    key_span: Range<usize>,
    path: String,
}

/// A short text of a value, for messages.
impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.data {
            Data::Text(text) if text.chars().count() > 60 => {
                write!(f, "\"{}…\"", text.chars().take(60).collect::<String>())
            }
            Data::Text(text) => write!(f, "\"{text}\""),
            Data::Integer(number) => write!(f, "{number}"),
            Data::Float(number) => write!(f, "{number:?}"),
            Data::Bool(flag) => write!(f, "{flag}"),
            Data::Date => f.write_str("a date"),
            Data::List(list) => write!(f, "a list of {}", list.len()),
            Data::Table(_) => f.write_str("a table"),
        }
    }
}

impl<'a> Item<'a> {
    /// The whole file.
    pub(super) fn root(source: &'a Source, node: &'a Node) -> Self {
        Self {
            source,
            node,
            key_span: 0..0,
            path: String::new(),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether it comes from an included file.
    pub(super) fn is_included(&self) -> bool {
        self.source.is_included(self.node.span.start)
    }

    /// An error that points at the value; `problem` follows the name of the key.
    pub(super) fn error(&self, problem: impl std::fmt::Display) -> InputError {
        let headline = format!("`{}` {problem}", self.path);
        InputError::at(self.source, self.node.span.clone(), &self.path, headline).found(self.node.to_string())
    }

    /// An error that points at the key.
    pub(super) fn key_error(&self, headline: impl Into<String>) -> InputError {
        InputError::at(self.source, self.key_span.clone(), &self.path, headline).found(self.node.to_string())
    }

    /// An error that points at where `name` stands: in the value, or else in the key.
    pub(super) fn mention(&self, name: &str, headline: impl Into<String>) -> InputError {
        let span = match &self.node.data {
            Data::Text(text) if text.contains(name) => self.node.span.clone(),
            _ => self.key_span.clone(),
        };
        InputError::at(self.source, span, &self.path, headline).found(name)
    }

    /// "`key` is 3, expected a text".
    pub(super) fn wrong(&self, expected: impl Into<String>) -> InputError {
        let expected = expected.into();
        self.error(format!("is {}, expected {expected}", self.node))
            .expected(expected)
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.node.data, Data::Text(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.node.data, Data::List(_))
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self.node.data, Data::Integer(_) | Data::Float(_))
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        match &self.node.data {
            Data::Text(text) => Ok(text),
            _ => Err(self.wrong("a text in quotes")),
        }
    }

    /// A text that names a file; not empty.
    pub(super) fn file_name(&self) -> Result<&'a str> {
        match self.text()? {
            "" => Err(self.wrong("the name of a file")),
            name if name.contains('\0') => Err(self.wrong("the name of a file")),
            name => Ok(name),
        }
    }

    pub(super) fn flag(&self) -> Result<bool> {
        match self.node.data {
            Data::Bool(flag) => Ok(flag),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// A whole number within `range`; a float without a fraction will do (`1e6`).
    pub(super) fn whole(&self, range: impl RangeBounds<u64>, expected: &str) -> Result<u64> {
        const LARGEST: f64 = 9e15;
        let number = match self.node.data {
            Data::Integer(number) => u64::try_from(number).ok(),
            Data::Float(x) if x.fract() == 0.0 && (0.0..LARGEST).contains(&x) => Some(x as u64),
            _ => None,
        };
        number
            .filter(|n| range.contains(n))
            .ok_or_else(|| self.wrong(expected))
    }

    /// A count of things that are kept in memory.
    pub(super) fn count(&self, range: impl RangeBounds<u64>, expected: &str) -> Result<usize> {
        let number = self.whole(range, expected)?;
        usize::try_from(number).map_err(|_| self.wrong(expected))
    }

    /// A finite number, or a text with a number and a unit.
    pub(super) fn quantity(&self, units: Units, dimension: Dimension) -> Result<f64> {
        let number = match &self.node.data {
            Data::Integer(number) => *number as f64,
            Data::Float(number) => *number,
            Data::Text(text) => {
                return units.quantity(text, dimension).map_err(|error| {
                    let expected = match dimension.example(units) {
                        Some(example) => format!("{dimension} such as {example}"),
                        None => dimension.to_string(),
                    };
                    self.error(format!("is not {dimension}: {error}"))
                        .expected(expected)
                });
            }
            _ => {
                return Err(match dimension.example(units) {
                    Some(example) => self.wrong(format!("{dimension} such as {example}")),
                    None => self.wrong(dimension.to_string()),
                });
            }
        };
        if number.is_finite() {
            Ok(number)
        } else {
            Err(self.wrong("a finite number"))
        }
    }

    /// A quantity that must be greater than zero.
    pub(super) fn positive(&self, units: Units, dimension: Dimension) -> Result<f64> {
        let value = self.quantity(units, dimension)?;
        if value > 0.0 {
            Ok(value)
        } else {
            Err(self.wrong(format!("{dimension} greater than zero")))
        }
    }

    /// A quantity that must not be negative.
    pub(super) fn not_negative(&self, units: Units, dimension: Dimension) -> Result<f64> {
        let value = self.quantity(units, dimension)?;
        if value >= 0.0 {
            Ok(value)
        } else {
            Err(self.wrong(format!("{dimension} of at least zero")))
        }
    }

    /// One of a fixed set of names.
    pub(super) fn choice<T: Clone>(&self, what: &str, choices: &[(&str, T)]) -> Result<T> {
        let text = self.text()?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Ok(value.clone());
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        Err(self.unknown(what, &names))
    }

    /// "unknown pair potential `lenard-jones`", with what there is.
    pub(super) fn unknown(&self, what: &str, names: &[&str]) -> InputError {
        let text = match &self.node.data {
            Data::Text(text) => text.as_str(),
            _ => return self.wrong(names.join(", ")),
        };
        let headline = format!("unknown {what} `{text}` for `{}`", self.path);
        InputError::at(self.source, self.node.span.clone(), &self.path, headline)
            .found(text)
            .expected(names.join(", "))
            .help(suggestion(text, "known are", names))
    }

    fn child(&self, place: usize, node: &'a Node) -> Self {
        Self {
            source: self.source,
            node,
            key_span: node.span.clone(),
            path: format!("{}[{place}]", self.path),
        }
    }

    /// The members of a list.
    pub(super) fn list(&self) -> Result<Vec<Self>> {
        match &self.node.data {
            Data::List(list) => Ok(list.iter().enumerate().map(|(i, n)| self.child(i, n)).collect()),
            _ => Err(self.wrong("a list in [brackets]")),
        }
    }

    /// The members of a list, or the value itself where it stands alone.
    pub(super) fn one_or_many(&self) -> Vec<Self> {
        match &self.node.data {
            Data::List(list) => list.iter().enumerate().map(|(i, n)| self.child(i, n)).collect(),
            _ => vec![self.clone()],
        }
    }

    /// Exactly `N` members.
    pub(super) fn array<const N: usize>(&self, expected: &str) -> Result<[Self; N]> {
        let list = self.list().map_err(|_| self.wrong(expected))?;
        <[Self; N]>::try_from(list).map_err(|_| self.wrong(expected))
    }

    /// Names in a list, or one alone.
    pub(super) fn names(&self) -> Result<Vec<(&'a str, Self)>> {
        let members = self.one_or_many();
        members.into_iter().map(|item| Ok((item.text()?, item))).collect()
    }

    /// A table with any keys.
    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Self)>> {
        let Data::Table(entries) = &self.node.data else {
            return Err(self.wrong("a table: { key = value, … }"));
        };
        let item = |entry: &'a Entry| {
            let path = match self.path.as_str() {
                "" => entry.name.clone(),
                parent => format!("{parent}.{}", entry.name),
            };
            let item = Self {
                source: self.source,
                node: &entry.node,
                key_span: entry.span.clone(),
                path,
            };
            (entry.name.as_str(), item)
        };
        Ok(entries.iter().map(item).collect())
    }

    /// A table with no keys but these.
    pub(super) fn section(&self, heading: &str, keys: &[&str]) -> Result<Section<'a>> {
        let entries = self.entries()?;
        for (name, item) in &entries {
            if !keys.contains(name) {
                return Err(item
                    .key_error(format!("unknown key `{name}` in {heading}"))
                    .expected(keys.join(", "))
                    .help(suggestion(name, "valid keys", keys)));
            }
        }
        Ok(Section {
            item: self.clone(),
            heading: heading.into(),
            entries,
        })
    }
}

/// A table whose keys are all known.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    /// The table itself.
    pub(super) item: Item<'a>,
    /// `[[forces]]`, as people find it.
    pub(super) heading: String,
    entries: Vec<(&'a str, Item<'a>)>,
}

impl<'a> Section<'a> {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Item<'a>> {
        self.entries
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, item)| item)
    }

    /// The value of a key that must be there.
    pub(super) fn require(&self, key: &str, example: &str) -> Result<&Item<'a>> {
        self.get(key).ok_or_else(|| self.missing(key, example))
    }

    /// "missing key `cutoff` in [[forces]]", with a line to add.
    pub(super) fn missing(&self, key: &str, example: &str) -> InputError {
        let item = &self.item;
        let path = match item.path.as_str() {
            "" => key.to_owned(),
            parent => format!("{parent}.{key}"),
        };
        let headline = format!("missing key `{key}` in {}", self.heading);
        let error = match item.path.as_str() {
            "" => InputError::of_file(item.source.name(), headline).key(path),
            _ => InputError::at(item.source, item.node.span.clone(), &path, headline),
        };
        error
            .found("nothing")
            .expected(example)
            .help(format!("add {example}"))
    }

    /// Reads a key where it is there.
    pub(super) fn map<T>(&self, key: &str, read: impl FnOnce(&Item<'a>) -> Result<T>) -> Result<Option<T>> {
        self.get(key).map(read).transpose()
    }

    /// An error about the table as a whole.
    pub(super) fn error(&self, headline: impl Into<String>) -> InputError {
        let item = &self.item;
        InputError::at(item.source, item.node.span.clone(), &item.path, headline)
    }

    /// Refuses two keys that say the same thing in two ways.
    pub(super) fn not_both(&self, first: &str, second: &str) -> Result<()> {
        match (self.get(first), self.get(second)) {
            (Some(_), Some(other)) => Err(other
                .key_error(format!("both `{first}` and `{second}` in {}", self.heading))
                .expected(format!("one of `{first}` and `{second}`"))
                .help(format!("leave one of `{first}` and `{second}` out"))),
            _ => Ok(()),
        }
    }
}
