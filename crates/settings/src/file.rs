//! Settings files: `typeloom.toml`, and the table `tool.typeloom` of `pyproject.toml`.
//!
//! ```toml
//! exclude = ["vendor", "*.tmp.onnx"]
//! baseline = "typeloom-baseline.json"
//!
//! [severities]
//! warnings = "deny"
//! assumed-type = "allow"
//!
//! [[overrides]]
//! files = ["legacy"]
//! severities = { shapes = "warn" }
//! seeds = { x = "float[batch, 3]" }
//! ```
//!
//! Settings of `overrides` apply to the files that match, the later ones first. The order of severities has
//! no meaning: a code takes precedence over a glob, a glob over a group, a group over `warnings`, and that
//! over `all`. Paths are relative to the folder of the file.

mod table;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::effective::{Settings, Sourced};
use crate::paths::{Lists, Paths};
use table::{Reader, Table};

/// The kind of a settings file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// All keys of the file are settings.
    Typeloom,
    /// The settings are in the table `tool.typeloom`.
    Pyproject,
}

impl FileKind {
    /// The kinds, in the order in which they are searched in a folder.
    pub const ALL: &[Self] = &[Self::Typeloom, Self::Pyproject];

    /// The name of the file.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Typeloom => "typeloom.toml",
            Self::Pyproject => "pyproject.toml",
        }
    }

    /// The kind of a file with any name.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let is_pyproject = path.file_name().is_some_and(|name| name == Self::Pyproject.file_name());
        if is_pyproject { Self::Pyproject } else { Self::Typeloom }
    }
}

/// An error of a settings file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct FileError {
    /// The file, as it is displayed.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The error.
    pub message: String,
}

/// A settings file.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    /// The file, as it is displayed.
    pub name: Arc<str>,
    /// Its folder, to which globs and paths are relative.
    pub folder: PathBuf,
    general: Settings,
    exclude: Paths,
    exclude_texts: Vec<Sourced<String>>,
    /// The globs of each override.
    files: Paths,
    overrides: Vec<Settings>,
}

impl SettingsFile {
    /// Parses the text of a file; `None` for a `pyproject.toml` without the table. `name` is displayed.
    ///
    /// # Errors
    /// The first error, with its position.
    pub fn parse(kind: FileKind, name: &str, folder: &Path, text: &str) -> Result<Option<Self>, FileError> {
        let name: Arc<str> = Arc::from(name);
        // Other tools report errors of their tables.
        if kind == FileKind::Pyproject && !text.contains("typeloom") {
            return Ok(None);
        }
        let reader = Reader { name: Arc::clone(&name), text, globs: Cell::new(0) };
        let root = DeTable::parse(text).map_err(|error| {
            reader.error(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let table = match kind {
            FileKind::Typeloom => Some(root.get_ref()),
            FileKind::Pyproject => child(root.get_ref(), "tool").and_then(|tool| child(tool, "typeloom")),
        };
        let Some(table) = table else { return Ok(None) };
        let mut table = Table::of(&reader, table);
        let mut general = table.settings(folder)?;
        general.baseline = table.path("baseline", folder)?;
        general.registry = table.location("registry", folder)?;
        let exclude_texts = table.strings("exclude")?;
        let (mut exclude, mut files) = (Lists::default(), Lists::default());
        table.paths("exclude", &mut exclude)?;
        let mut overrides = Vec::new();
        for mut inner in table.tables("overrides")? {
            if inner.paths("files", &mut files)?.is_none() {
                return Err(inner.error("an override needs `files`, a list of globs"));
            }
            overrides.push(inner.settings(folder)?);
            inner.finish()?;
        }
        let compile = |lists: Lists| lists.compile().map_err(|error| table.error(&format!("globs: {error}")));
        let (exclude, files) = (compile(exclude)?, compile(files)?);
        table.finish()?;
        Ok(Some(Self { name, folder: folder.to_owned(), general, exclude, exclude_texts, files, overrides }))
    }

    /// The overrides that apply to a path, by position. The path is relative to the folder of the settings
    /// file and separated by `/`.
    #[must_use]
    pub fn overrides_of(&self, path: &str) -> Vec<usize> {
        self.files.lists_of(path)
    }

    /// The settings of the files to which these overrides apply.
    #[must_use]
    pub fn settings(&self, overrides: &[usize]) -> Settings {
        let mut settings = self.general.clone();
        for it in overrides.iter().filter_map(|at| self.overrides.get(*at)) {
            settings.extend(it.clone());
        }
        settings
    }

    /// Whether a path is excluded from the files that are found in folders.
    #[must_use]
    pub fn excludes(&self, path: &str) -> bool {
        self.exclude.matches(path)
    }

    /// The globs of excluded files.
    #[must_use]
    pub fn exclude(&self) -> &[Sourced<String>] {
        &self.exclude_texts
    }
}

fn child<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<&'t DeTable<'i>> {
    match table.get(name)?.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
