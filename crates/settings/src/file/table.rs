//! Reads the keys of a table, with the position of each error. Keys that are not read are errors.
//!
//! A settings file is edited by hand, so an error names its line and column, and a misspelt key is an error
//! instead of a setting without effect:
//!
//! ```text
//! typeloom.toml:3:1: unknown key `severites`; did you mean `severities`?
//! ```
//!
//! Derived deserialization (`serde`) loses positions and stops at types. [`Table`] instead wraps the parsed
//! TOML. Each method reads one key and records its name in `known`; [`Table::finish`] compares the keys of
//! the file with the recorded names, which are also the candidates for suggestions. So the list of keys is
//! the code that reads them.
//!
//! **Invariant:** a caller reads every key that it knows, also if the file lacks it, and then calls
//! [`Table::finish`].
//!
//! **Invariant:** entries are in the order of the file, and each value has its line ([`Sourced`]), which
//! reports show as the origin of a setting. Severities are sorted by the precision of their selectors,
//! because their order in the file has no meaning.
//!
//! **Limits:** reading ends at the first error. A file has at most [`MAX_GLOBS`] globs. Paths are relative to
//! the folder of the file.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use typeloom_solver::diagnostic::text::suggestion;
use typeloom_solver::model::Seed;
use typeloom_types::suggest::nearest;

use super::FileError;
use crate::effective::{SeedText, Settings, Source, Sourced};
use crate::levels::{Level, Rule, Selector};
use crate::paths::Lists;

/// The text that is read.
pub(super) struct Reader<'t> {
    pub(super) name: Arc<str>,
    pub(super) text: &'t str,
    /// The number of globs that were read.
    pub(super) globs: Cell<usize>,
}

/// The greatest number of globs of a file.
const MAX_GLOBS: usize = 1024;

impl Reader<'_> {
    /// An error at a byte of the text.
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> FileError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        FileError {
            file: Arc::clone(&self.name),
            line: self.line(at),
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }

    /// Counts a glob at a byte of the text.
    fn count_glob(&self, at: usize) -> Result<(), FileError> {
        self.globs.set(self.globs.get() + 1);
        if self.globs.get() > MAX_GLOBS {
            return Err(
                self.error(at, format!("this is the glob after the {MAX_GLOBS} that a file can have"))
            );
        }
        Ok(())
    }

    fn line(&self, at: usize) -> usize {
        self.text.get(..at).unwrap_or(self.text).matches('\n').count() + 1
    }

    fn sourced<T>(&self, at: usize, value: T) -> Sourced<T> {
        Sourced { value, source: Source::File { file: Arc::clone(&self.name), line: self.line(at) } }
    }
}

type Value<'i> = Spanned<DeValue<'i>>;
type Entry<'t, 'i> = (&'t Spanned<DeString<'i>>, &'t Value<'i>);

/// A table that is read key by key.
pub(super) struct Table<'r, 'i> {
    reader: &'r Reader<'r>,
    table: &'r DeTable<'i>,
    known: BTreeSet<&'static str>,
}

impl<'r, 'i> Table<'r, 'i> {
    pub(super) fn of(reader: &'r Reader<'r>, table: &'r DeTable<'i>) -> Self {
        Self { reader, table, known: BTreeSet::new() }
    }

    /// An error of the table as a whole, at its first key.
    pub(super) fn error(&self, message: &str) -> FileError {
        let at = self.table.keys().map(|key| key.span().start).min().unwrap_or_default();
        self.reader.error(at, message)
    }

    /// Ends the reading: any key that was not read is an error.
    pub(super) fn finish(self) -> Result<(), FileError> {
        let unknown = self.table.keys().filter(|key| !self.known.contains(key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let name = key.get_ref().as_ref();
        let near = suggestion(&nearest(name, self.known.iter().copied()));
        Err(self.reader.error(key.span().start, format!("unknown key `{name}`{near}")))
    }

    /// The settings that a file and its overrides have in common.
    pub(super) fn settings(&mut self, folder: &Path) -> Result<Settings, FileError> {
        Ok(Settings {
            severities: self.severities()?,
            seeds: self.map("seeds", |reader, at, value| {
                let text = string(reader, value)?;
                match Seed::parse(&text) {
                    Ok(seed) => Ok(SeedText { text, seed }),
                    Err(error) => Err(reader.error(at, format!("`{text}` is no type: {error}"))),
                }
            })?,
            assume: self.map("assume", |reader, at, value| match value.get_ref() {
                DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Ok(number.to_string()),
                    Err(_) => Err(reader.error(at, "this number has more than 64 bits")),
                },
                _ => string(reader, value),
            })?,
            ops: self.files("ops", folder)?,
            targets: self.strings("targets")?,
            target_files: self.files("target-files", folder)?,
            permissive: self.flag("permissive")?,
            merge_symbols: self.flag("merge-symbols")?,
            inline: self.flag("inline")?,
            external_data: self.flag("external-data")?,
            max_problems: self.number("max-problems")?,
            baseline: None,
            registry: None,
        })
    }

    /// A path, relative to a folder.
    pub(super) fn path(
        &mut self,
        name: &'static str,
        folder: &Path,
    ) -> Result<Option<Sourced<PathBuf>>, FileError> {
        let reader = self.reader;
        let Some((key, value)) = self.entry(name) else { return Ok(None) };
        let path = reader.sourced(key.span().start, string(reader, value)?);
        Ok(Some(in_folder(path, folder)))
    }

    /// A URL, or a path relative to a folder.
    pub(super) fn location(
        &mut self,
        name: &'static str,
        folder: &Path,
    ) -> Result<Option<Sourced<String>>, FileError> {
        let reader = self.reader;
        let Some((key, value)) = self.entry(name) else { return Ok(None) };
        let text = string(reader, value)?;
        let is_url = text.contains("://");
        let location = if is_url { text } else { folder.join(text).display().to_string() };
        Ok(Some(reader.sourced(key.span().start, location)))
    }

    /// A list of strings.
    pub(super) fn strings(&mut self, name: &'static str) -> Result<Vec<Sourced<String>>, FileError> {
        let reader = self.reader;
        let Some((_, value)) = self.entry(name) else { return Ok(Vec::new()) };
        let DeValue::Array(items) = value.get_ref() else {
            return Err(reader.error(value.span().start, format!("`{name}` is a list of strings")));
        };
        let one = |item| Ok(reader.sourced(item_start(item), string(reader, item)?));
        items.iter().map(one).collect()
    }

    /// A list of paths, relative to a folder.
    fn files(&mut self, name: &'static str, folder: &Path) -> Result<Vec<Sourced<PathBuf>>, FileError> {
        Ok(self.strings(name)?.into_iter().map(|path| in_folder(path, folder)).collect())
    }

    /// Adds a list of globs; `None` if the key is missing.
    pub(super) fn paths(&mut self, name: &'static str, lists: &mut Lists) -> Result<Option<()>, FileError> {
        let texts = self.strings(name)?;
        let reader = self.reader;
        let Some((_, value)) = self.entry(name) else { return Ok(None) };
        for _ in &texts {
            reader.count_glob(value.span().start)?;
        }
        lists.add(texts.iter().map(|text| text.value.as_str())).map_err(|(at, error)| {
            let items = if let DeValue::Array(items) = value.get_ref() { items.get(at) } else { None };
            let start = items.map_or(value.span().start, item_start);
            reader.error(start, format!("malformed glob: {error}"))
        })?;
        Ok(Some(()))
    }

    /// A list of tables.
    pub(super) fn tables(&mut self, name: &'static str) -> Result<Vec<Table<'r, 'i>>, FileError> {
        let reader = self.reader;
        let Some((_, value)) = self.entry(name) else { return Ok(Vec::new()) };
        let wrong = |at: usize| reader.error(at, format!("`{name}` is a list of tables: `[[{name}]]`"));
        let DeValue::Array(items) = value.get_ref() else { return Err(wrong(value.span().start)) };
        let one = |item: &'r Value<'i>| match item.get_ref() {
            DeValue::Table(table) => Ok(Table::of(reader, table)),
            _ => Err(wrong(item.span().start)),
        };
        items.iter().map(one).collect()
    }

    fn severities(&mut self) -> Result<Vec<Sourced<Rule>>, FileError> {
        let rules = self.entries("severities", |reader, key, value| {
            let (at, name) = (key.span().start, key.get_ref().as_ref());
            if Selector::is_glob(name) {
                reader.count_glob(at)?;
            }
            let selector = Selector::parse(name).map_err(|error| reader.error(at, error.to_string()))?;
            let text = string(reader, value)?;
            let Some(level) = Level::from_name(&text) else {
                let near = suggestion(&nearest(&text, Level::ALL.iter().map(|level| level.name())));
                let message = format!("a severity is `allow`, `warn` or `deny`, not `{text}`{near}");
                return Err(reader.error(value.span().start, message));
            };
            Ok(reader.sourced(at, Rule { selector, level }))
        })?;
        let mut rules = rules;
        rules.sort_by_key(|rule| rule.value.selector.precision());
        Ok(rules)
    }

    /// The entries of a table, by name.
    fn map<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&Reader<'_>, usize, &Value<'_>) -> Result<T, FileError>,
    ) -> Result<Vec<(String, Sourced<T>)>, FileError> {
        self.entries(name, |reader, key, value| {
            let read = read(reader, value.span().start, value)?;
            Ok((key.get_ref().as_ref().to_owned(), reader.sourced(key.span().start, read)))
        })
    }

    /// The entries of a table, in the order of the file.
    fn entries<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&Reader<'_>, &Spanned<DeString<'i>>, &Value<'i>) -> Result<T, FileError>,
    ) -> Result<Vec<T>, FileError> {
        let reader = self.reader;
        let Some((_, value)) = self.entry(name) else { return Ok(Vec::new()) };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(reader.error(value.span().start, format!("`{name}` is a table")));
        };
        let mut entries: Vec<Entry<'_, 'i>> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(|(key, value)| read(reader, key, value)).collect()
    }

    fn flag(&mut self, name: &'static str) -> Result<Option<Sourced<bool>>, FileError> {
        let reader = self.reader;
        let Some((key, value)) = self.entry(name) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(Some(reader.sourced(key.span().start, *flag))),
            _ => Err(reader.error(value.span().start, format!("`{name}` is `true` or `false`"))),
        }
    }

    fn number(&mut self, name: &'static str) -> Result<Option<Sourced<usize>>, FileError> {
        let reader = self.reader;
        let Some((key, value)) = self.entry(name) else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match number {
            Some(number) => Ok(Some(reader.sourced(key.span().start, number))),
            None => {
                Err(reader.error(value.span().start, format!("`{name}` is a number that is not negative")))
            }
        }
    }

    fn entry(&mut self, name: &'static str) -> Option<Entry<'r, 'i>> {
        self.known.insert(name);
        self.table.get_key_value(name)
    }
}

fn item_start(item: &Value<'_>) -> usize {
    item.span().start
}

fn in_folder(path: Sourced<String>, folder: &Path) -> Sourced<PathBuf> {
    Sourced { value: folder.join(path.value), source: path.source }
}

fn string(reader: &Reader<'_>, value: &Value<'_>) -> Result<String, FileError> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.as_ref().to_owned()),
        _ => Err(reader.error(value.span().start, "this value is a string")),
    }
}
