//! Files with models: where they are, and what they contain.
//!
//! A large model is mapped into memory, not read: checking reads the pages of the graph and none of the
//! weights. A model in ONNX's textual syntax is converted. It is recognised by its first character, or by the
//! name of its file.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use typeloom::check::Diagnostic;
use typeloom_io::files::Bytes;
use typeloom_onnx::lfs;
use typeloom_onnx::text::{self, escape};
use typeloom_solver::diagnostic::diagnose_text;

use crate::error::Error;

/// The location of a model.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name in texts, with control characters escaped.
    pub name: String,
    path: Option<PathBuf>,
}

impl Source {
    /// A file.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { name: escape(&path.display().to_string()).into_owned(), path: Some(path) }
    }

    /// Standard input.
    #[must_use]
    pub fn stdin() -> Self {
        Self { name: "<stdin>".to_owned(), path: None }
    }

    /// The path of the file; `None` for standard input.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The folder of the model, for the files that it refers to.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.path.as_deref().map(folder_of)
    }

    /// The model. Standard input is read whole.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a regular file.
    pub fn read(&self) -> Result<File, Error> {
        let contents = match &self.path {
            Some(path) => typeloom_io::files::open(path),
            None => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map(|_| Bytes::Read(bytes.into()))
            }
        };
        let contents = contents.map_err(|source| {
            let name = if self.path.is_some() { self.name.clone() } else { "standard input".to_owned() };
            Error::Read { name, path: self.path.clone(), source }
        })?;
        Ok(File::new(self.name.clone(), self.path.clone(), contents))
    }
}

/// A model that was read.
pub struct File {
    /// The name in texts.
    pub name: String,
    path: Option<PathBuf>,
    folder: Option<PathBuf>,
    is_text: bool,
    size: u64,
    content: Bytes,
    problem: Option<Box<Diagnostic>>,
}

impl File {
    /// The contents of a file.
    #[must_use]
    pub fn new(name: String, path: Option<PathBuf>, contents: Bytes) -> Self {
        let folder = path.as_deref().map(|path| folder_of(path).to_path_buf());
        let size = contents.len() as u64;
        let has_suffix = path.as_deref().is_some_and(|path| is_text_name(path.as_os_str()));
        let is_text = text::is_text(&contents) || (has_suffix && !lfs::is_pointer(&contents));
        let (content, problem) = match is_text.then(|| model_of_text(&contents)) {
            None => (contents, None),
            Some(Ok(model)) => (model, None),
            Some(Err(problem)) => (Bytes::Read(Vec::new().into()), Some(problem)),
        };
        Self { name, path, folder, is_text, size, content, problem }
    }

    /// A model in memory.
    #[must_use]
    pub fn of_bytes(name: &str, bytes: Vec<u8>) -> Self {
        Self::new(name.to_owned(), None, Bytes::Read(bytes.into()))
    }

    /// A file whose contents the caller has read.
    #[must_use]
    pub fn at(path: PathBuf, contents: Vec<u8>) -> Self {
        let name = Source::at(path.clone()).name;
        Self::new(name, Some(path), Bytes::Read(contents.into()))
    }

    /// The same file with another model in it: a repaired one, or one with annotations.
    #[must_use]
    pub fn with_model(&self, model: Vec<u8>) -> Self {
        Self {
            name: self.name.clone(),
            path: self.path.clone(),
            folder: self.folder.clone(),
            is_text: false,
            size: model.len() as u64,
            content: Bytes::Read(model.into()),
            problem: None,
        }
    }

    /// The same file, whose tensors in other files are in a folder.
    #[must_use]
    pub fn in_folder(self, folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..self }
    }

    /// The model; empty if the file is a text with an error.
    #[must_use]
    pub fn model(&self) -> &Bytes {
        &self.content
    }

    /// The bytes of [`File::model`].
    #[must_use]
    pub fn into_model(self) -> Bytes {
        self.content
    }

    /// The size of the file in bytes, without external data.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The problem of a text that is not a model.
    #[must_use]
    pub fn problem(&self) -> Option<&Diagnostic> {
        self.problem.as_deref()
    }

    /// Whether the file is a text, so that [`File::model`] has other bytes.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.is_text
    }

    /// The path; `None` for a model in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The folder of the files that the model refers to.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

/// Whether a file of this name is a model in the textual syntax.
#[must_use]
pub fn is_text_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    text::SUFFIXES.iter().any(|suffix| name.ends_with(suffix.as_bytes()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Converts a model in the textual syntax.
fn model_of_text(bytes: &[u8]) -> Result<Bytes, Box<Diagnostic>> {
    // A character that is not UTF-8 is an error unless it is in a string or a comment, where it does not
    // matter.
    let text = String::from_utf8_lossy(bytes);
    text::model_bytes(&text)
        .map(|model| Bytes::Read(model.into()))
        .map_err(|error| Box::new(diagnose_text(&error)))
}
