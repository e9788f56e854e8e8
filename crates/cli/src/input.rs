//! Input files: the models and other files that the command reads are recorded, so that no output replaces
//! one of them.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::{Path, PathBuf};
#[cfg(feature = "cloud")]
use std::sync::OnceLock;

use anyhow::{Context as _, anyhow, bail};
use typeloom_project::check::SideFiles;
use typeloom_project::error::Error;
use typeloom_project::file::{self, File};
#[cfg(feature = "cloud")]
use typeloom_project::parts::io::stores::is_remote;
use typeloom_project::parts::onnx::external::locations;
use typeloom_project::parts::onnx::view::ModelView;
#[cfg(feature = "cloud")]
use typeloom_project::parts::settings::paths::Search;
use typeloom_project::parts::solver::diagnostic::text::suggestion;
use typeloom_project::parts::solver::model::Seed;
use typeloom_project::parts::types::lattice::Lattice;
use typeloom_project::parts::types::lattice::build::NodeSpec;
use typeloom_project::parts::types::suggest::nearest;

use crate::reads::{self, Use};

/// One model to work on.
#[derive(Clone, Debug)]
pub(crate) struct Source(file::Source);

impl Deref for Source {
    type Target = file::Source;

    fn deref(&self) -> &file::Source {
        &self.0
    }
}

/// The file given by an argument; `-` is standard input.
pub(crate) fn source(argument: &str) -> Source {
    if argument == "-" {
        reads::record_stdin();
        return Source(file::Source::stdin());
    }
    let path = PathBuf::from(argument);
    reads::record(&path, Use::Model);
    Source::at(path)
}

/// Whether an argument is the address of one model in an object store that this build reads.
#[cfg(feature = "cloud")]
pub(crate) fn is_object(argument: &str) -> bool {
    let is_one = !argument.ends_with('/') && !Search::is_glob(argument);
    is_one && is_remote(argument) && !Path::new(argument).exists()
}

#[cfg(not(feature = "cloud"))]
pub(crate) fn is_object(_: &str) -> bool {
    false
}

/// The largest object that is read. A message of protobuf is smaller than 2 GiB.
#[cfg(feature = "cloud")]
const MAX_OBJECT: u64 = 1 << 31;

/// The model at an address, whole, with the credentials and options of the environment.
#[cfg(feature = "cloud")]
fn read_object(address: &str) -> anyhow::Result<File> {
    use typeloom_project::parts::io::files::Bytes;
    use typeloom_project::parts::io::stores::{Missing, Stores};

    static STORES: OnceLock<Result<Stores, String>> = OnceLock::new();

    let stores = STORES.get_or_init(|| Stores::new(Vec::new()).map_err(|error| error.to_string()));
    let stores = stores.as_ref().map_err(|error| anyhow!("{error}"))?;
    let object = stores.folder(address, Missing::Refuse)?.read("", MAX_OBJECT)?;
    let object = object.with_context(|| format!("cannot read `{address}`: there is no such object"))?;
    let path = PathBuf::from(address);
    Ok(File::new(Source::at(path.clone()).name.clone(), Some(path), Bytes::Read(object)))
}

#[cfg(not(feature = "cloud"))]
fn read_object(address: &str) -> anyhow::Result<File> {
    Err(remote(address).unwrap_or_else(|| anyhow!("cannot read `{address}`")))
}

/// The error of an address where a file is expected; `None` for a path, and for an address that is read.
pub(crate) fn remote(argument: &str) -> Option<anyhow::Error> {
    let (scheme, _) = argument.split_once("://")?;
    if Path::new(argument).exists() || is_object(argument) {
        return None;
    }
    let advice = match scheme {
        "s3" | "s3a" | "gs" | "az" | "abfs" | "abfss" if cfg!(feature = "cloud") => format!(
            "this command reads one object, and the Python package reads folders and globs of object stores: \
             `typeloom.fleet.check(\"{argument}\")`"
        ),
        "s3" | "s3a" | "gs" | "az" | "abfs" | "abfss" => format!(
            "builds with the feature `cloud` read models in object stores, as the archives of a release do, and so do wheels of \
             the Python package: `typeloom.fleet.check(\"{argument}\")`"
        ),
        "file" => "use the path without `file://`".to_owned(),
        _ => "download the model, and use the path of the file".to_owned(),
    };
    Some(anyhow!("`{argument}` is an address, and this command reads files: {advice}"))
}

/// The names of files in the folder of a missing one that could be meant, as paths.
fn similar(path: &Path) -> Vec<String> {
    let (Some(name), Some(folder)) = (path.file_name().and_then(OsStr::to_str), path.parent()) else {
        return Vec::new();
    };
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(shown).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    // The name without its extension.
    let longer =
        names.iter().filter(|other| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
    let mut near: Vec<String> = longer.cloned().collect();
    if near.is_empty() {
        near = nearest(name, names.iter().map(String::as_str));
    }
    near.into_iter().take(3).map(|name| folder.join(name).display().to_string()).collect()
}

/// The contents of a file that is no model.
pub(crate) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    reads::record(path, Use::Other);
    typeloom_project::parts::io::files::read(path)
}

impl Source {
    /// The model in a file.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self(file::Source::at(path))
    }

    /// The model. A text that is not a model is an error.
    pub(crate) fn open(&self) -> anyhow::Result<File> {
        let file = self.read()?;
        if let Some(problem) = file.problem() {
            return Err(anyhow!("cannot read `{}`: {}", self.name, problem.message));
        }
        // The problems of a malformed model are reported by the check.
        if let Ok(model) = ModelView::new(file.model()) {
            locations(&model).into_iter().for_each(|location| self.record_side_file(location));
        }
        Ok(file)
    }

    /// The model, or the problem of a text that is not one.
    pub(crate) fn read(&self) -> anyhow::Result<File> {
        if let Some(path) = self.path() {
            if let Some(address) = path.to_str().filter(|path| is_object(path)) {
                return read_object(address);
            }
            reads::record(path, Use::Model);
        }
        self.0.read().map_err(|error| match (&error, self.path()) {
            (Error::Read { source, .. }, Some(path)) if source.kind() == ErrorKind::NotFound => {
                let remote = path.to_str().and_then(remote);
                remote.unwrap_or_else(|| anyhow!("{}{}", error.chain(), suggestion(&similar(path))))
            }
            _ => error.into(),
        })
    }

    /// Records the use of a file with tensors of the model.
    fn record_side_file(&self, location: &str) {
        if let Some(folder) = self.folder() {
            reads::record(&folder.join(location), Use::Tensors);
        }
    }

    /// Whether the file has the name or the contents of a model in the textual syntax. Standard input is not
    /// read.
    pub(crate) fn is_text(&self) -> anyhow::Result<bool> {
        Ok(self.path().is_some() && self.read()?.is_text())
    }

    /// Does work that looks for the files with tensors of the model, which are recorded. Those next to an
    /// object of a store are not looked up.
    pub(crate) fn with_side_files<R>(&self, work: impl FnOnce(SideFiles<'_>) -> R) -> R {
        if self.path().and_then(Path::to_str).is_some_and(is_object) {
            return work(SideFiles::Unchecked);
        }
        work(SideFiles::By(&mut |location| {
            self.record_side_file(location);
            typeloom_project::parts::io::files::size(self.folder(), location)
        }))
    }
}

/// Adds the nodes of a JSON file to the type tree: a list of objects with the fields of
/// [`NodeSpec`](typeloom_project::parts::types::lattice::build::NodeSpec).
pub(crate) fn extend_types(file: &Path) -> anyhow::Result<()> {
    let name = file.display();
    let bytes = read(file).with_context(|| format!("cannot read `{name}`"))?;
    let nodes: Vec<NodeSpec> =
        serde_json::from_slice(&bytes).map_err(|error| anyhow::anyhow!("`{name}`: {error}"))?;
    Lattice::extend(nodes).map_err(|error| anyhow::anyhow!("`{name}`: {error}"))
}

/// `SYMBOL=DIM`; a symbol that contains `=` is in double quotes.
pub(crate) fn read_assumption(text: &str) -> anyhow::Result<(String, String)> {
    let quoted = text.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let quoted = quoted.and_then(|(symbol, rest)| Some((symbol, rest.trim_start().strip_prefix('=')?)));
    match quoted.or_else(|| text.split_once('=')) {
        Some((symbol, dim)) if !symbol.trim().is_empty() && !dim.trim().is_empty() => {
            Ok((symbol.trim().to_owned(), dim.trim().to_owned()))
        }
        Some(_) | None => bail!("an assumption is written SYMBOL=DIM, not `{text}`"),
    }
}

/// The name, the text of the type and the type of `NAME=TYPE`; the name may itself contain `=`, a type
/// cannot.
pub(crate) fn read_seed(text: &str) -> anyhow::Result<(String, String, Seed)> {
    let Some((name, ty)) = text.rsplit_once('=') else {
        let random =
            if text.parse::<u64>().is_ok() { "; `run` has --random-seed for generated inputs" } else { "" };
        bail!("a seed is written NAME=TYPE, not `{text}`{random}");
    };
    let seed = Seed::parse(ty).with_context(|| format!("`{ty}` is no type"))?;
    Ok((name.to_owned(), ty.to_owned(), seed))
}
