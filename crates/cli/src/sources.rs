//! The models that the arguments of a command select.
//!
//! | argument | models |
//! |---|---|
//! | `-` | standard input |
//! | a file | the file, with any name |
//! | none | as the current folder |
//! | a folder | the models in it and in the folders in it, in the order of names, without ignored ones |
//! | an address of an object store | one model, in builds with the feature `cloud` |
//! | a glob | the models that match it, and those in folders that match it; if it has an extension, all files that match it |
//! | `@list` | those of the arguments in a file, one a line |
//!
//! [`typeloom_project::folder`] finds the models in folders, and defines which ones are ignored. A named file or
//! folder is not ignored. An argument with the characters of a glob is a file if there is one with this name. An
//! argument that begins with `@` is always a list; `./@list` is the file `@list`.
//!
//! **Invariant:** an argument that selects nothing is an error, except if `--exclude` leaves out a file.
//!
//! A found model takes a few dozen bytes: a name, and the number of its folder.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use typeloom_project::folder::{self, Ignored, MAX_DEPTH, is_model};
use typeloom_project::parts::settings::paths::{Match, Search};
use typeloom_project::settings::{Resolver, relative};

use crate::args::FolderArgs;
use crate::input::{self, Source, read, source};
use crate::reads::{self, Use};

/// The greatest list of arguments, in bytes.
const MAX_LIST: u64 = 1 << 30;

/// The treatment of ignored files in folders that the arguments request.
pub(crate) fn ignored(args: &FolderArgs) -> Ignored {
    if args.no_ignore { Ignored::Read } else { Ignored::LeftOut }
}

/// The models of a command, in order.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    folders: Vec<PathBuf>,
    items: Vec<Item>,
    has_input: bool,
}

#[derive(Debug)]
enum Item {
    /// Standard input.
    Input,
    /// A file that an argument names.
    Named(Box<str>),
    /// A file that was found in a folder.
    Found { folder: u32, name: Box<OsStr> },
}

impl Sources {
    /// The number of models.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether standard input is one of them.
    pub(crate) fn has_input(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Input))
    }

    /// The models.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Source> {
        self.items.iter().map(|item| match item {
            Item::Input => source("-"),
            Item::Named(path) => Source::at(PathBuf::from(&**path)),
            Item::Found { folder, name } => Source::at(self.folders[*folder as usize].join(&**name)),
        })
    }
}

/// The models that the arguments select, without those that the settings exclude.
pub(crate) fn sources(
    arguments: &[String],
    ignored: Ignored,
    settings: &mut Resolver,
) -> anyhow::Result<Sources> {
    let mut finder = Finder { sources: Sources::default(), ignored, settings, excluded: 0 };
    if arguments.is_empty() {
        finder.argument("")?;
    }
    for argument in arguments {
        match argument.strip_prefix('@') {
            Some(name) => finder.list(name)?,
            None => finder.argument(argument)?,
        }
    }
    if finder.sources.items.is_empty() {
        bail!("--exclude leaves out all models");
    }
    Ok(finder.sources)
}

/// All models in a folder, in the order of file names, without those that the settings exclude.
#[cfg(feature = "interfaces")]
pub(crate) fn models_in(folder: &str, settings: &mut Resolver) -> anyhow::Result<Sources> {
    let mut finder = Finder { sources: Sources::default(), ignored: Ignored::Read, settings, excluded: 0 };
    finder.folder(Path::new(folder))?;
    Ok(finder.sources)
}

/// The names of models in folders, for messages.
fn names() -> String {
    let names: Vec<String> = folder::suffixes().map(|suffix| format!("*{suffix}")).collect();
    names.join(", ")
}

/// A search for models.
struct Finder<'s> {
    sources: Sources,
    ignored: Ignored,
    settings: &'s mut Resolver,
    /// The number of models that were found and excluded.
    excluded: usize,
}

/// An entry of a folder.
struct Entry {
    name: OsString,
    is_folder: bool,
}

impl Finder<'_> {
    fn argument(&mut self, argument: &str) -> anyhow::Result<()> {
        if argument == "-" {
            if self.sources.has_input {
                bail!("standard input can only be read once");
            }
            self.sources.has_input = true;
            reads::record_stdin();
            self.sources.items.push(Item::Input);
            return Ok(());
        }
        if let Some(error) = input::remote(argument) {
            return Err(error);
        }
        if input::is_object(argument) {
            self.sources.items.push(Item::Named(argument.into()));
            return Ok(());
        }
        let path = Path::new(argument);
        let (found, excluded) = (self.sources.items.len(), self.excluded);
        let search = Search::is_glob(argument) && path.symlink_metadata().is_err();
        if search {
            let search = Search::parse(argument);
            let search = search.map_err(|error| anyhow::anyhow!("`{argument}` is not a glob: {error}"))?;
            self.glob(&search)?;
        } else if argument.is_empty() || path.is_dir() {
            self.folder(path)?;
        } else if !self.settings.leaves_out(path) {
            reads::record(path, Use::Model);
            self.sources.items.push(Item::Named(argument.into()));
            return Ok(());
        } else {
            return Ok(());
        }
        match (self.sources.items.len() - found, self.excluded - excluded) {
            (0, 0) if search => bail!("no model matches `{argument}`"),
            (0, 0) => self.nothing_in(path),
            (0, _) => bail!("all models of `{argument}` are excluded"),
            _ => Ok(()),
        }
    }

    /// Adds the models of a list of arguments; `-` is standard input.
    fn list(&mut self, name: &str) -> anyhow::Result<()> {
        let mut text = String::new();
        let read = if name == "-" {
            if self.sources.has_input {
                bail!("standard input can only be read once");
            }
            self.sources.has_input = true;
            std::io::stdin().lock().take(MAX_LIST).read_to_string(&mut text).map(drop)
        } else {
            read(Path::new(name)).and_then(|bytes| {
                text = String::from_utf8(bytes).map_err(std::io::Error::other)?;
                Ok(())
            })
        };
        read.with_context(|| {
            format!("cannot read the list of arguments `{name}` (the file `@{name}` is written `./@{name}`)")
        })?;
        for (at, line) in text.lines().enumerate() {
            if line.is_empty() {
                continue;
            }
            let added = if line.starts_with('@') {
                Err(anyhow::anyhow!("a list cannot contain the list `{line}`"))
            } else {
                self.argument(line)
            };
            added.with_context(|| format!("`{name}`, line {}", at + 1))?;
        }
        Ok(())
    }

    /// Adds the models in a folder.
    fn folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let root = shown(folder);
        for path in folder::models_in(root, self.ignored) {
            let path = path.with_context(|| format!("cannot list `{}`", root.display()))?;
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let parent = parent.strip_prefix(root).map_or(parent.to_owned(), |it| folder.join(it));
            self.found(&parent, name)?;
        }
        Ok(())
    }

    /// The error of a folder without models.
    fn nothing_in(&mut self, folder: &Path) -> anyhow::Result<()> {
        let left_out = std::mem::replace(&mut self.ignored, Ignored::Read);
        let before = self.sources.items.len();
        self.folder(folder)?;
        let ignored = self.sources.items.len() - before;
        let folder = shown(folder).display();
        if left_out == Ignored::LeftOut && ignored > 0 {
            bail!(
                "all models in `{folder}` ({ignored}) are ignored, by `.gitignore` or because their folders are hidden or \
                 those of packages; name them, or use --no-ignore"
            );
        }
        bail!("there is no model ({}) in `{folder}`", names())
    }

    /// Adds the models that a glob selects.
    fn glob(&mut self, search: &Search) -> anyhow::Result<()> {
        let base = Path::new(search.folder());
        if base.as_os_str().is_empty() || base.is_dir() {
            self.matching(search, base, base, 0)?;
        }
        Ok(())
    }

    fn matching(&mut self, search: &Search, base: &Path, folder: &Path, depth: usize) -> anyhow::Result<()> {
        for Entry { name, is_folder } in entries(folder)? {
            let path = folder.join(&name);
            let below = path.strip_prefix(base).unwrap_or(&path);
            let matched = search.matches(&relative(below, Path::new("")));
            if !is_folder {
                let is_selected = search.has_extension() || is_model(&name);
                if matched == Match::Whole && is_selected {
                    self.found(folder, &name)?;
                }
            } else if depth < MAX_DEPTH {
                match matched {
                    Match::Whole => self.folder(&path)?,
                    Match::Above => self.matching(search, base, &path, depth + 1)?,
                    Match::None => {}
                }
            }
        }
        Ok(())
    }

    /// Adds a file of a folder.
    fn found(&mut self, folder: &Path, name: &OsStr) -> anyhow::Result<()> {
        if self.settings.excludes(&folder.join(name))? {
            self.excluded += 1;
            return Ok(());
        }
        let folders = &mut self.sources.folders;
        if folders.last().is_none_or(|last| last != folder) {
            folders.push(folder.to_owned());
        }
        let folder = u32::try_from(folders.len() - 1).context("there are too many folders")?;
        self.sources.items.push(Item::Found { folder, name: name.into() });
        Ok(())
    }
}

/// The path of a folder for messages and the system; the current one has no name as an argument.
fn shown(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// The entries of a folder, in the order of names. A link to a folder is not one.
fn entries(folder: &Path) -> anyhow::Result<Vec<Entry>> {
    let cannot = || format!("cannot list `{}`", shown(folder).display());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(shown(folder)).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let is_folder = entry.file_type().with_context(cannot)?.is_dir();
        entries.push(Entry { name: entry.file_name(), is_folder });
    }
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}
