//! The settings of one model, merged from a settings file and the command line.
//!
//! [`Settings::extend`] adds settings that take precedence: a single value and an entry with the same name
//! are replaced, lists grow, and rules of severities are appended, because the last one that matches decides.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use typeloom_solver::model::{Mode, Options, Seed};

use crate::levels::{Levels, Rule};

/// The origin of a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// The command line.
    CommandLine,
    /// A settings file.
    File {
        /// The file, as it is displayed.
        file: Arc<str>,
        /// The line of the setting, from 1.
        line: usize,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("command line"),
            Self::File { file, line } => write!(f, "{file}:{line}"),
        }
    }
}

/// A value with its source.
#[derive(Clone, Debug)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its source.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// A value of the command line.
    pub fn of_command_line(value: T) -> Self {
        Self { value, source: Source::CommandLine }
    }
}

/// A type that the user assigns to a value, with its text.
#[derive(Clone, Debug)]
pub struct SeedText {
    /// The text.
    pub text: String,
    /// The parsed type.
    pub seed: Seed,
}

/// The settings of one model. Defaults are absent.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Severities; the last rule that matches decides.
    pub severities: Vec<Sourced<Rule>>,
    /// Types of values, by name.
    pub seeds: Vec<(String, Sourced<SeedText>)>,
    /// Replacements of symbols, by name.
    pub assume: Vec<(String, Sourced<String>)>,
    /// Files that describe operators.
    pub ops: Vec<Sourced<PathBuf>>,
    /// Programs that have to be able to run the model.
    pub targets: Vec<Sourced<String>>,
    /// Files with facts about such programs.
    pub target_files: Vec<Sourced<PathBuf>>,
    /// Whether values without a proven type are accepted.
    pub permissive: Option<Sourced<bool>>,
    /// Whether symbols that the graph requires to be equal are merged.
    pub merge_symbols: Option<Sourced<bool>>,
    /// Whether exceptions in the metadata of models count.
    pub inline: Option<Sourced<bool>>,
    /// Whether the files of external tensor data have to exist.
    pub external_data: Option<Sourced<bool>>,
    /// The maximum number of problems that are shown for each model.
    pub max_problems: Option<Sourced<usize>>,
    /// The file with the known problems.
    pub baseline: Option<Sourced<PathBuf>>,
    /// The URL or folder of the registry.
    pub registry: Option<Sourced<String>>,
}

impl Settings {
    /// Adds settings that take precedence.
    pub fn extend(&mut self, other: Self) {
        let Self {
            severities,
            seeds,
            assume,
            ops,
            targets,
            target_files,
            permissive,
            merge_symbols,
            inline,
            external_data,
            max_problems,
            baseline,
            registry,
        } = other;
        self.severities.extend(severities);
        extend_named(&mut self.seeds, seeds);
        extend_named(&mut self.assume, assume);
        extend_list(&mut self.ops, ops);
        extend_list(&mut self.targets, targets);
        extend_list(&mut self.target_files, target_files);
        replace(&mut self.permissive, permissive);
        replace(&mut self.merge_symbols, merge_symbols);
        replace(&mut self.inline, inline);
        replace(&mut self.external_data, external_data);
        replace(&mut self.max_problems, max_problems);
        replace(&mut self.baseline, baseline);
        replace(&mut self.registry, registry);
    }

    /// The settings of the solver, for commands that use a model and report only why they cannot.
    #[must_use]
    pub fn of_solver(self) -> Self {
        let Self { seeds, assume, ops, permissive, merge_symbols, .. } = self;
        Self { seeds, assume, ops, permissive, merge_symbols, ..Self::default() }
    }

    /// The severities.
    #[must_use]
    pub fn levels(&self) -> Levels {
        self.severities.iter().map(|rule| rule.value.clone()).collect()
    }

    /// The options of the solver.
    #[must_use]
    pub fn options(&self) -> Options {
        let is_on = |flag: &Option<Sourced<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
        Options {
            mode: if is_on(&self.permissive) { Mode::Permissive } else { Mode::Strict },
            seeds: self.seeds.iter().map(|(name, seed)| (name.clone(), seed.value.seed.clone())).collect(),
            assume: self.assume.iter().map(|(name, dim)| (name.clone(), dim.value.clone())).collect(),
            merge_symbols: is_on(&self.merge_symbols),
            ..Options::default()
        }
    }

    /// The settings as lines of TOML, each with its source.
    #[must_use]
    pub fn lines(&self) -> Vec<(String, &Source)> {
        let Self {
            severities,
            seeds,
            assume,
            ops,
            targets,
            target_files,
            permissive,
            merge_symbols,
            inline,
            external_data,
            max_problems,
            baseline,
            registry,
        } = self;
        let mut lines = Vec::new();
        for Sourced { value: Rule { selector, level }, source } in severities {
            let text = format!("severities.{} = {}", key(&selector.to_string()), quoted(level.name()));
            lines.push((text, source));
        }
        for (name, Sourced { value, source }) in seeds {
            lines.push((format!("seeds.{} = {}", key(name), quoted(&value.text)), source));
        }
        for (name, Sourced { value, source }) in assume {
            lines.push((format!("assume.{} = {}", key(name), quoted(value)), source));
        }
        for Sourced { value, source } in ops {
            lines.push((format!("ops = [{}]", quoted(&value.display().to_string())), source));
        }
        for Sourced { value, source } in targets {
            lines.push((format!("targets = [{}]", quoted(value)), source));
        }
        for Sourced { value, source } in target_files {
            lines.push((format!("target-files = [{}]", quoted(&value.display().to_string())), source));
        }
        let flags = [
            ("permissive", permissive),
            ("merge-symbols", merge_symbols),
            ("inline", inline),
            ("external-data", external_data),
        ];
        for (name, flag) in flags {
            lines.extend(flag.iter().map(|Sourced { value, source }| (format!("{name} = {value}"), source)));
        }
        lines.extend(
            max_problems.iter().map(|Sourced { value, source }| (format!("max-problems = {value}"), source)),
        );
        lines.extend(baseline.iter().map(|Sourced { value, source }| {
            (format!("baseline = {}", quoted(&value.display().to_string())), source)
        }));
        lines.extend(
            registry
                .iter()
                .map(|Sourced { value, source }| (format!("registry = {}", quoted(value)), source)),
        );
        lines
    }
}

/// Appends entries, which replace those with the same names.
fn extend_named<T>(entries: &mut Vec<(String, T)>, other: Vec<(String, T)>) {
    entries.retain(|(name, _)| other.iter().all(|(replaced, _)| replaced != name));
    entries.extend(other);
}

/// Appends values that a list does not have.
fn extend_list<T: PartialEq>(entries: &mut Vec<Sourced<T>>, other: Vec<Sourced<T>>) {
    let unknown = |new: &Sourced<T>| entries.iter().all(|known| known.value != new.value);
    let new: Vec<Sourced<T>> = other.into_iter().filter(unknown).collect();
    entries.extend(new);
}

fn replace<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

/// A key of TOML.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// A string of TOML: a string of JSON is one, except for the character DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
