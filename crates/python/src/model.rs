//! Models from Python: a path, or the bytes of a model.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use typeloom::onnx::{Message as _, ModelProto};
use typeloom_project::parts::onnx::view::{GraphField, ModelView};

use crate::error::{core_error, file_error};
use crate::report::Listing;

/// A file up to this size, in bytes, is read.
const MAX_READ: u64 = 16 << 20;

/// A larger file is mapped if it has at least this many bytes for each node, and read otherwise. A report on
/// a mapped file lists all values at once, which takes about as long for a node as reading this many bytes.
const MAPPED_BYTES_PER_NODE: usize = 5000;

/// A model as an argument.
#[derive(FromPyObject)]
pub(crate) enum Model {
    Bytes(PyBackedBytes),
    Path(PathBuf),
}

/// The bytes of a model.
pub(crate) struct ModelBytes {
    bytes: Bytes,
    is_mapped: bool,
    path: Option<PathBuf>,
}

impl Model {
    /// The bytes. Those of a Python object are shared with it.
    pub(crate) fn open(self) -> PyResult<ModelBytes> {
        match self {
            Self::Bytes(bytes) => {
                Ok(ModelBytes { bytes: Bytes::from_owner(bytes), is_mapped: false, path: None })
            }
            Self::Path(path) => {
                let (bytes, is_mapped) = read(&path).map_err(|error| file_error(error, &path))?;
                Ok(ModelBytes { bytes, is_mapped, path: Some(path) })
            }
        }
    }
}

fn read(path: &Path) -> std::io::Result<(Bytes, bool)> {
    let is_small = std::fs::metadata(path)?.len() <= MAX_READ;
    if is_small {
        return Ok((typeloom_project::parts::io::files::read(path)?.into(), false));
    }
    let mapped = typeloom_project::parts::io::files::open(path)?.shared().clone();
    if nodes(&mapped) > mapped.len() / MAPPED_BYTES_PER_NODE {
        return Ok((mapped.to_vec().into(), false));
    }
    Ok((mapped, true))
}

/// The number of nodes of the main graph, as far as the file is well-formed.
fn nodes(model: &[u8]) -> usize {
    let Some(graph) = ModelView::new(model).ok().and_then(|model| model.graph()) else { return 0 };
    let (mut fields, mut count) = (graph.fields(), 0);
    loop {
        count += fields.skip_nodes();
        match fields.next() {
            Some(Ok(field)) => count += usize::from(matches!(field, GraphField::Node(_))),
            Some(Err(_)) | None => return count,
        }
    }
}

impl ModelBytes {
    /// The bytes, reference-counted.
    pub(crate) fn shared(&self) -> &Bytes {
        &self.bytes
    }

    /// Whether the bytes are those of a mapped file, which must be released before the call ends.
    pub(crate) fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// The time at which a report on these bytes lists the values.
    pub(crate) fn listing(&self) -> Listing {
        if self.is_mapped { Listing::AtOnce } else { Listing::OnDemand }
    }

    /// The path of the file; `None` for bytes.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// The folder of the file; `None` for bytes.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        Some(self.path.as_deref()?.parent().unwrap_or(Path::new("")).to_path_buf())
    }
}

impl Deref for ModelBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Parses ONNX's textual syntax.
#[pyfunction]
pub(crate) fn model_from_text(text: &str) -> PyResult<Vec<u8>> {
    typeloom::onnx::model_from_text(text).map_err(core_error)
}

/// Prints a model in ONNX's textual syntax.
#[pyfunction]
pub(crate) fn model_to_text(model: Model) -> PyResult<String> {
    let bytes = model.open()?;
    let model = ModelProto::decode(&bytes[..]).map_err(core_error)?;
    Ok(typeloom::onnx::model_to_text(&model))
}
