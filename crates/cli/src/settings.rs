//! Finds the settings of each model: the command line, then the nearest settings file above the model.
//!
//! Settings are looked up once for each folder. Models with the same settings share one [`Plan`].

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use typeloom_settings::effective::{SeedText, Settings, Sourced};
use typeloom_settings::file::{FileKind, SettingsFile};
use typeloom_settings::levels::Levels;
use typeloom_settings::paths::Paths;
use typeloom_targets::Target;

use crate::args::{ExcludeArgs, SolveArgs};
use crate::commands::targets;
use crate::input::{self, Checker, SideReading, Source, read, read_assumption, read_seed};

/// How models with the same settings are checked.
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    pub(crate) levels: Levels,
    pub(crate) checker: Checker,
    pub(crate) targets: Vec<&'static Target>,
}

/// The settings files that count.
enum Files {
    /// The nearest one above each model.
    Nearest,
    /// One for all models.
    One(Arc<SettingsFile>),
    /// None.
    Ignored,
}

/// Looks up the settings of models.
pub(crate) struct Resolver {
    files: Files,
    command_line: Settings,
    exclude: Vec<Sourced<String>>,
    /// The parsed globs of `exclude`, relative to the current folder; `None` if there are none.
    excluded: Option<Paths>,
    current: PathBuf,
    /// The nearest settings file of each folder.
    folders: HashMap<PathBuf, Option<Arc<SettingsFile>>>,
    /// By the folder of the settings file and the overrides that apply.
    plans: HashMap<Option<(PathBuf, Vec<usize>)>, Arc<Plan>>,
}

/// The settings of a model, before they are turned into a plan.
pub(crate) struct Found {
    pub(crate) file: Option<Arc<SettingsFile>>,
    overrides: Vec<usize>,
}

impl Resolver {
    /// Looks up settings, to which those of the command line are added.
    pub(crate) fn new(args: &SolveArgs, mut command_line: Settings) -> anyhow::Result<Self> {
        let current = std::env::current_dir().unwrap_or_default();
        let files = match &args.read.config {
            _ if args.read.no_config => Files::Ignored,
            Some(path) => {
                let file = parse(FileKind::of(path), path, &current)?;
                let table = || format!("`{}` has no table `tool.typeloom`", path.display());
                Files::One(Arc::new(file.with_context(table)?))
            }
            None => Files::Nearest,
        };
        command_line.extend(solve_settings(args)?);
        Ok(Self {
            files,
            command_line,
            exclude: Vec::new(),
            excluded: None,
            current,
            folders: HashMap::new(),
            plans: HashMap::new(),
        })
    }

    /// Adds the globs of the command line for models that are left out.
    pub(crate) fn excluding(mut self, args: &ExcludeArgs) -> anyhow::Result<Self> {
        if !args.exclude.is_empty() {
            let globs = Paths::parse(args.exclude.iter().map(String::as_str));
            self.excluded = Some(globs.map_err(|(at, error)| {
                let glob = args.exclude.get(at).map_or("", String::as_str);
                anyhow::anyhow!("--exclude: `{glob}` is not a glob: {error}")
            })?);
            self.exclude = args.exclude.iter().cloned().map(Sourced::of_command_line).collect();
        }
        Ok(self)
    }

    /// The globs of the command line for models that are left out.
    pub(crate) fn exclude(&self) -> &[Sourced<String>] {
        &self.exclude
    }

    /// The settings file of a model, and the overrides that apply to it.
    pub(crate) fn find(&mut self, source: &Source) -> anyhow::Result<Found> {
        let path = source.path().map(|path| normal(&self.current.join(path)));
        let file = self.file_of(path.as_deref())?;
        let overrides = match (&file, &path) {
            (Some(file), Some(path)) => file.overrides_of(&relative(path, &self.folder_of(file))),
            _ => Vec::new(),
        };
        Ok(Found { file, overrides })
    }

    /// Whether the command line leaves out a file.
    pub(crate) fn leaves_out(&self, path: &Path) -> bool {
        self.excluded.as_ref().is_some_and(|globs| {
            globs.matches(&relative(&normal(&self.current.join(path)), &normal(&self.current)))
        })
    }

    /// Whether the command line or the settings exclude a model that was found in a folder.
    pub(crate) fn excludes(&mut self, path: &Path) -> anyhow::Result<bool> {
        if self.leaves_out(path) {
            return Ok(true);
        }
        let path = normal(&self.current.join(path));
        let file = self.file_of(Some(&path))?.filter(|file| !file.exclude().is_empty());
        Ok(file.is_some_and(|file| file.excludes(&relative(&path, &self.folder_of(&file)))))
    }

    /// The settings file of a model with this normal path; of standard input, that of the current folder.
    fn file_of(&mut self, path: Option<&Path>) -> anyhow::Result<Option<Arc<SettingsFile>>> {
        Ok(match &self.files {
            Files::Ignored => None,
            Files::One(file) => Some(Arc::clone(file)),
            Files::Nearest => match path.and_then(Path::parent) {
                Some(folder) => self.nearest(folder)?,
                None => self.nearest(&self.current.clone())?,
            },
        })
    }

    /// The settings of a model.
    pub(crate) fn settings(&mut self, source: &Source) -> anyhow::Result<Settings> {
        let found = self.find(source)?;
        Ok(self.merged(&found))
    }

    /// How to check a model.
    pub(crate) fn plan(&mut self, source: &Source) -> anyhow::Result<Arc<Plan>> {
        let found = self.find(source)?;
        let key = found.file.as_ref().map(|file| (file.folder.clone(), found.overrides.clone()));
        if let Some(plan) = self.plans.get(&key) {
            return Ok(Arc::clone(plan));
        }
        let settings = self.merged(&found);
        let targets = targets::find(settings.targets.iter().map(|name| name.value.as_str()))?;
        let mut checker = checker_of(&settings)?;
        checker.options.functions |= !targets.is_empty();
        if settings.external_data.as_ref().is_some_and(|flag| !flag.value) {
            checker.side_files = SideReading::Off;
        }
        let plan = Arc::new(Plan { levels: settings.levels(), checker, targets, settings });
        self.plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }

    fn merged(&self, found: &Found) -> Settings {
        let mut settings =
            found.file.as_ref().map(|file| file.settings(&found.overrides)).unwrap_or_default();
        settings.extend(self.command_line.clone());
        settings
    }

    fn folder_of(&self, file: &SettingsFile) -> PathBuf {
        normal(&self.current.join(&file.folder))
    }

    /// The nearest settings file of a folder. Folders on the way are looked up once.
    fn nearest(&mut self, folder: &Path) -> anyhow::Result<Option<Arc<SettingsFile>>> {
        if let Some(known) = self.folders.get(folder) {
            return Ok(known.clone());
        }
        let mut passed = Vec::new();
        let mut found = None;
        for folder in folder.ancestors() {
            if let Some(known) = self.folders.get(folder) {
                found.clone_from(known);
                break;
            }
            passed.push(folder.to_owned());
            if let Some(file) = self.in_folder(folder)? {
                found = Some(Arc::new(file));
                break;
            }
        }
        for folder in passed {
            self.folders.insert(folder, found.clone());
        }
        Ok(found)
    }

    fn in_folder(&self, folder: &Path) -> anyhow::Result<Option<SettingsFile>> {
        for kind in FileKind::ALL {
            let path = folder.join(kind.file_name());
            if path.metadata().is_ok_and(|meta| meta.is_file())
                && let Some(file) = parse(*kind, &path, &self.current)?
            {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

/// Parses a settings file. Paths in it are shown relative to the current folder where they are in it.
fn parse(kind: FileKind, path: &Path, current: &Path) -> anyhow::Result<Option<SettingsFile>> {
    let short = path.strip_prefix(current).unwrap_or(path);
    let name = short.display();
    let bytes = read(path).with_context(|| format!("cannot read `{name}`"))?;
    let text = String::from_utf8(bytes).with_context(|| format!("cannot read `{name}`"))?;
    let folder = short.parent().unwrap_or(Path::new(""));
    Ok(SettingsFile::parse(kind, &name.to_string(), folder, &text)?)
}

/// A path without `.` and `..`. Links are not followed.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

/// A normal path relative to a normal folder, separated by `/`.
pub(crate) fn relative(path: &Path, folder: &Path) -> String {
    for (up, ancestor) in folder.ancestors().enumerate() {
        if let Ok(rest) = path.strip_prefix(ancestor) {
            let parts = rest.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
            return std::iter::repeat_n("..".to_owned(), up).chain(parts).collect::<Vec<_>>().join("/");
        }
    }
    path.to_string_lossy().replace('\\', "/")
}

/// The settings of these arguments.
fn solve_settings(args: &SolveArgs) -> anyhow::Result<Settings> {
    let on = |flag: bool| flag.then(|| Sourced::of_command_line(true));
    let seeds = args.seeds.iter().map(|text| {
        let (name, text, seed) = read_seed(text)?;
        Ok((name, Sourced::of_command_line(SeedText { text, seed })))
    });
    let assume = args.assume.iter().map(|text| {
        let (symbol, dim) = read_assumption(text)?;
        Ok((symbol, Sourced::of_command_line(dim)))
    });
    Ok(Settings {
        seeds: seeds.collect::<anyhow::Result<_>>()?,
        assume: assume.collect::<anyhow::Result<_>>()?,
        ops: args.read.ops.iter().cloned().map(Sourced::of_command_line).collect(),
        permissive: on(args.read.permissive),
        merge_symbols: on(args.merge_symbols),
        ..Settings::default()
    })
}

fn checker_of(settings: &Settings) -> anyhow::Result<Checker> {
    let ops: Vec<PathBuf> = settings.ops.iter().map(|path| path.value.clone()).collect();
    Ok(Checker::new(settings.options(), input::operators(&ops)?))
}

/// The checker of one model.
pub(crate) fn checker(args: &SolveArgs, source: &Source) -> anyhow::Result<Checker> {
    checker_of(&Resolver::new(args, Settings::default())?.settings(source)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_a_folder_without_dots() {
        let of = |path: &str, folder: &str| relative(&normal(Path::new(path)), &normal(Path::new(folder)));
        assert_eq!(of("/a/b/m.onnx", "/a"), "b/m.onnx");
        assert_eq!(of("/a/./b/../m.onnx", "/a/"), "m.onnx");
        assert_eq!(of("/a/m.onnx", "/a/b/c"), "../../m.onnx");
        assert_eq!(of("/m.onnx", "/a"), "../m.onnx");
    }
}
