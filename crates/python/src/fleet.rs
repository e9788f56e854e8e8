//! Models on disk and in object stores, for `typeloom.fleet`.
//!
//! **Invariant:** a call holds the interpreter only to convert arguments and results, so that threads of
//! Python check in parallel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError};
use pyo3::prelude::*;
use typeloom_project::check::SideFiles;
use typeloom_project::file::File;
use typeloom_project::parts::io::files::Bytes;
use typeloom_project::parts::io::fleet::{Client, FetchError, Limits, OMITTED};
use typeloom_project::parts::io::stores::{StoreError, is_remote};
use typeloom_project::parts::onnx::view::ModelView;

use crate::error::{core_error, file_error};
use crate::model::Model;
use crate::report::{Keep, Listing, Report};
use crate::settings::{Settings, side_files};

/// Maximum number of files that the tensors of one model in an object store refer to.
const MAX_SIDE_FILES: u64 = 4096;

/// Object stores with their options, and checks of models in them.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Fleet {
    client: Client,
}

/// A report, the number of nodes of the main graph, the size of the file, the bytes and requests that were
/// needed, and the version of the object.
type Answer = (Report, Option<usize>, u64, u64, u64, Option<String>);

#[pymethods]
impl Fleet {
    /// `max_fetch` is the maximum number of bytes that are read of one model.
    #[new]
    fn new(options: Vec<(String, String)>, max_fetch: u64) -> PyResult<Self> {
        let limits = Limits { bytes: max_fetch, ..Limits::default() };
        Ok(Self { client: Client::new(options, limits).map_err(fetch_error)? })
    }

    /// Whether a text is a URL of an object store, rather than a path.
    #[staticmethod]
    #[pyo3(name = "is_remote")]
    fn is_remote_uri(uri: &str) -> bool {
        is_remote(uri)
    }

    /// The URLs of all objects in a folder and the folders in it.
    fn list(&self, py: Python<'_>, folder: &str) -> PyResult<Vec<String>> {
        py.detach(|| self.client.list(folder)).map_err(fetch_error)
    }

    /// Checks one model.
    fn check(&self, py: Python<'_>, uri: &str, settings: &Settings) -> PyResult<Answer> {
        let check = || {
            if is_remote(uri) { self.remote(uri, settings) } else { local(uri, settings) }
        };
        // A defect that one model reveals must not end the check of all others.
        let answer = py.detach(|| catch_unwind(AssertUnwindSafe(check)));
        answer.unwrap_or_else(|_| Err(core_error("the check panicked, which is a defect of typeloom")))
    }
}

impl Fleet {
    fn remote(&self, uri: &str, settings: &Settings) -> PyResult<Answer> {
        let fetched = self.client.fetch(uri).map_err(fetch_error)?;
        let nodes = node_count(&fetched.skeleton);
        let mut requests = fetched.counts.requests;
        let mut files = 0;
        let mut size_of = |location: &str| {
            if location == OMITTED {
                return Ok(u64::MAX);
            }
            files += 1;
            if files > MAX_SIDE_FILES {
                return Err(format!("the model refers to more than {MAX_SIDE_FILES} files"));
            }
            requests += 1;
            self.client.size(uri, location)
        };
        let file = File::new(uri.to_owned(), None, Bytes::Read(fetched.skeleton));
        let side = SideFiles::By(&mut size_of);
        let report =
            Report::new(file, Arc::clone(&settings.plan), side, Listing::OnDemand, Keep::Nothing, |_, _| {
                Ok(())
            })?;
        Ok((report, nodes, fetched.size, fetched.counts.bytes, requests, fetched.version))
    }
}

fn local(uri: &str, settings: &Settings) -> PyResult<Answer> {
    let path = PathBuf::from(uri);
    let bytes = Model::Path(path.clone()).open()?;
    let (nodes, size) = (node_count(&bytes), bytes.len() as u64);
    let file = settings.file(&bytes, uri);
    let side = side_files(&file);
    let report =
        Report::new(file, Arc::clone(&settings.plan), side, bytes.listing(), Keep::Nothing, |_, _| Ok(()))?;
    Ok((report, nodes, size, 0, 0, modified(&path).map_err(|error| file_error(error, &path))?))
}

/// A local file has no entity tag. Its time of modification, in nanoseconds, changes with the contents.
fn modified(path: &Path) -> std::io::Result<Option<String>> {
    let modified = std::fs::metadata(path)?.modified()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok();
    Ok(since.map(|since| since.as_nanos().to_string()))
}

/// The number of nodes of the main graph; `None` if the bytes are no model.
fn node_count(bytes: &[u8]) -> Option<usize> {
    let mut count = 0;
    for node in ModelView::new(bytes).ok()?.graph()?.nodes() {
        node.ok()?;
        count += 1;
    }
    Some(count)
}

/// The subclass of `OSError` that Python raises for local files.
fn fetch_error(error: FetchError) -> PyErr {
    match error {
        FetchError::Access(error) => store_error(&error),
        FetchError::Limit(text) => PyOSError::new_err(text),
    }
}

/// The exception of an error of a store.
pub(crate) fn store_error(error: &StoreError) -> PyErr {
    let text = error.to_string();
    match error {
        StoreError::NotFound(_) | StoreError::NoBucket(_) => PyFileNotFoundError::new_err(text),
        StoreError::Denied(..) => PyPermissionError::new_err(text),
        StoreError::Changed(_)
        | StoreError::TooLarge(..)
        | StoreError::TooMany(..)
        | StoreError::Irregular(..)
        | StoreError::Store(..) => PyOSError::new_err(text),
        StoreError::Usage(_) => core_error(text),
    }
}
