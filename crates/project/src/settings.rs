//! Finds the settings of each model: those of the caller, then the nearest settings file above the model.
//!
//! Settings are looked up once for each folder. Models with the same settings share one [`Plan`].
//!
//! Only the command looks up settings files without a request. A library that is called with a path and
//! arguments would otherwise give other answers in another folder.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use typeloom::check::{Described, Operators};
use typeloom::targets::Target;
use typeloom_settings::effective::{Settings, Sourced};
use typeloom_settings::file::{FileKind, SettingsFile};
use typeloom_settings::paths::Paths;

use crate::error::Error;
use crate::file::Source;
use crate::plan::Plan;

/// Reads a file that is not a model. The command records the files that it reads, so that no output replaces
/// one of them; other callers pass [`typeloom_io::files::read`].
pub type ReadFile = fn(&Path) -> std::io::Result<Vec<u8>>;

/// The settings files that count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsFiles {
    /// The nearest one above each model.
    Nearest,
    /// One for all models.
    One(PathBuf),
    /// None.
    Ignored,
}

enum Files {
    Nearest,
    One(Arc<SettingsFile>),
    Ignored,
}

/// Looks up the settings of models.
pub struct Resolver {
    files: Files,
    arguments: Settings,
    exclude: Vec<Sourced<String>>,
    /// The parsed globs of `exclude`, relative to the current folder; `None` if there are none.
    excluded: Option<Paths>,
    current: PathBuf,
    /// The nearest settings file of each folder.
    folders: HashMap<PathBuf, Option<Arc<SettingsFile>>>,
    /// By the folder of the settings file and the overrides that apply.
    plans: HashMap<Option<(PathBuf, Vec<usize>)>, Arc<Plan>>,
    read: ReadFile,
}

/// The settings file of a model.
pub struct Found {
    /// The file, if there is one.
    pub file: Option<Arc<SettingsFile>>,
    overrides: Vec<usize>,
}

impl Resolver {
    /// Looks up settings, over which those of the caller, `arguments`, take precedence. Paths are relative to
    /// the folder `current`.
    ///
    /// # Errors
    /// If a file that is given cannot be read, or has no settings.
    pub fn new(
        files: &SettingsFiles,
        arguments: Settings,
        current: PathBuf,
        read: ReadFile,
    ) -> Result<Self, Error> {
        let files = match files {
            SettingsFiles::Ignored => Files::Ignored,
            SettingsFiles::Nearest => Files::Nearest,
            SettingsFiles::One(path) => {
                let file = parse(FileKind::of(path), path, &current, read)?;
                Files::One(Arc::new(file.ok_or_else(|| Error::NoSettings { path: path.clone() })?))
            }
        };
        Ok(Self {
            files,
            arguments,
            exclude: Vec::new(),
            excluded: None,
            current,
            folders: HashMap::new(),
            plans: HashMap::new(),
            read,
        })
    }

    /// Adds the globs of the caller for models that are left out.
    ///
    /// # Errors
    /// If a text is not a glob.
    pub fn excluding(mut self, globs: &[String]) -> Result<Self, Error> {
        if !globs.is_empty() {
            let parsed = Paths::parse(globs.iter().map(String::as_str));
            self.excluded = Some(parsed.map_err(|(at, error)| Error::Glob {
                text: globs.get(at).cloned().unwrap_or_default(),
                reason: error.to_string(),
            })?);
            self.exclude = globs.iter().cloned().map(Sourced::of_command_line).collect();
        }
        Ok(self)
    }

    /// The globs of the caller for models that are left out.
    #[must_use]
    pub fn exclude(&self) -> &[Sourced<String>] {
        &self.exclude
    }

    /// The settings file of a model, and the overrides that apply to it.
    ///
    /// # Errors
    /// If a settings file cannot be read, or has an error.
    pub fn find(&mut self, source: &Source) -> Result<Found, Error> {
        let path = source.path().map(|path| normal(&self.current.join(path)));
        let file = self.file_of(path.as_deref())?;
        let overrides = match (&file, &path) {
            (Some(file), Some(path)) => file.overrides_of(&relative(path, &self.folder_of(file))),
            _ => Vec::new(),
        };
        Ok(Found { file, overrides })
    }

    /// Whether the caller leaves out a file.
    #[must_use]
    pub fn leaves_out(&self, path: &Path) -> bool {
        self.excluded.as_ref().is_some_and(|globs| {
            globs.matches(&relative(&normal(&self.current.join(path)), &normal(&self.current)))
        })
    }

    /// Whether the caller or the settings exclude a model that was found in a folder.
    ///
    /// # Errors
    /// As of [`Resolver::find`].
    pub fn excludes(&mut self, path: &Path) -> Result<bool, Error> {
        if self.leaves_out(path) {
            return Ok(true);
        }
        let path = normal(&self.current.join(path));
        let file = self.file_of(Some(&path))?.filter(|file| !file.exclude().is_empty());
        Ok(file.is_some_and(|file| file.excludes(&relative(&path, &self.folder_of(&file)))))
    }

    /// The settings file of a model with this normal path; of standard input, that of the current folder.
    fn file_of(&mut self, path: Option<&Path>) -> Result<Option<Arc<SettingsFile>>, Error> {
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
    ///
    /// # Errors
    /// As of [`Resolver::find`].
    pub fn settings(&mut self, source: &Source) -> Result<Settings, Error> {
        let found = self.find(source)?;
        Ok(self.merged(&found))
    }

    /// The plan of a check of a model.
    ///
    /// # Errors
    /// As of [`Resolver::find`]; also if a setting names a target that does not exist, or a file that does
    /// not describe operators or a target.
    pub fn plan(&mut self, source: &Source) -> Result<Arc<Plan>, Error> {
        let found = self.find(source)?;
        let key = found.file.as_ref().map(|file| (file.folder.clone(), found.overrides.clone()));
        if let Some(plan) = self.plans.get(&key) {
            return Ok(Arc::clone(plan));
        }
        let settings = self.merged(&found);
        let operators = operators(settings.ops.iter().map(|path| &*path.value), self.read)?;
        let own = target_files(settings.target_files.iter().map(|path| &*path.value), self.read)?;
        let plan = Arc::new(Plan::new(settings, Arc::new(operators), own)?);
        self.plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }

    fn merged(&self, found: &Found) -> Settings {
        let mut settings =
            found.file.as_ref().map(|file| file.settings(&found.overrides)).unwrap_or_default();
        settings.extend(self.arguments.clone());
        settings
    }

    fn folder_of(&self, file: &SettingsFile) -> PathBuf {
        normal(&self.current.join(&file.folder))
    }

    /// The nearest settings file of a folder. Folders on the way are looked up once.
    fn nearest(&mut self, folder: &Path) -> Result<Option<Arc<SettingsFile>>, Error> {
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

    fn in_folder(&self, folder: &Path) -> Result<Option<SettingsFile>, Error> {
        for kind in FileKind::ALL {
            let path = folder.join(kind.file_name());
            if path.metadata().is_ok_and(|meta| meta.is_file())
                && let Some(file) = parse(*kind, &path, &self.current, self.read)?
            {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

/// Parses a settings file. Paths in it are shown relative to the current folder where they are in it.
fn parse(kind: FileKind, path: &Path, current: &Path, read: ReadFile) -> Result<Option<SettingsFile>, Error> {
    let short = path.strip_prefix(current).ok().filter(|short| !short.as_os_str().is_empty()).unwrap_or(path);
    let text = text_of(path, read).map_err(|source| unreadable(short, source))?;
    let folder = short.parent().unwrap_or(Path::new(""));
    Ok(SettingsFile::parse(kind, &short.display().to_string(), folder, &text)?)
}

/// ONNX's operators, and those that the files describe.
///
/// # Errors
/// If a file cannot be read, or does not describe operators.
pub fn operators<'p>(files: impl IntoIterator<Item = &'p Path>, read: ReadFile) -> Result<Operators, Error> {
    let mut operators = Operators::standard();
    for file in files {
        let text = text_of(file, read).map_err(|source| unreadable(file, source))?;
        let described = Described::parse(&text);
        operators = operators.with(
            described.map_err(|error| Error::Operators { path: file.to_owned(), reason: Box::new(error) })?,
        );
    }
    Ok(operators)
}

/// The targets that files describe. The name of each is that of its file, without folder and extension.
///
/// # Errors
/// If a file cannot be read, or does not describe a target.
pub fn target_files<'p>(
    files: impl IntoIterator<Item = &'p Path>,
    read: ReadFile,
) -> Result<Vec<Target>, Error> {
    let target = |path: &'p Path| {
        let bytes = read(path).map_err(|source| unreadable(path, source))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Target::from_bytes(name, bytes).map_err(|source| Error::TargetFile { path: path.to_owned(), source })
    };
    files.into_iter().map(target).collect()
}

/// A file as text.
pub(crate) fn text_of(path: &Path, read: ReadFile) -> std::io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    Error::Read { name: path.display().to_string(), path: Some(path.to_owned()), source }
}

/// A path without `.` and `..`. Links are not followed.
#[must_use]
pub fn normal(path: &Path) -> PathBuf {
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
#[must_use]
pub fn relative(path: &Path, folder: &Path) -> String {
    for (up, ancestor) in folder.ancestors().enumerate() {
        if let Ok(rest) = path.strip_prefix(ancestor) {
            let parts = rest.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
            return std::iter::repeat_n("..".to_owned(), up).chain(parts).collect::<Vec<_>>().join("/");
        }
    }
    path.to_string_lossy().replace('\\', "/")
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
