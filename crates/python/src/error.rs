//! The exception of errors that are not problems of a model.

use std::fmt::Display;

use pyo3::PyErr;
use pyo3::exceptions::{PyException, PyOSError};
use typeloom::targets::Target;
use typeloom_project::error::Error;

pyo3::create_exception!(
    typeloom,
    TypeloomError,
    PyException,
    "Error of typeloom; the base of all its exceptions. Files that cannot be read raise `OSError`."
);

/// An exception with the text of an error.
pub(crate) fn core_error(error: impl Display) -> PyErr {
    TypeloomError::new_err(error.to_string())
}

/// An exception for a file: the subclass of `OSError` that Python raises itself.
pub(crate) fn file_error(error: std::io::Error, path: &std::path::Path) -> PyErr {
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, text_of(&error), path.as_os_str().to_owned())),
        None => PyOSError::new_err(format!("`{}`: {error}", path.display())),
    }
}

/// The exception of an error that is not a problem of a model.
pub(crate) fn project_error(error: Error) -> PyErr {
    match error {
        Error::Check { source, .. } => core_error(source),
        Error::Read { path: Some(path), source, .. } | Error::ReadBaseline { path, source } => {
            file_error(source, &path)
        }
        Error::Interface { source, .. } => core_error(source),
        Error::Target { name, .. } => {
            let groups = Target::groups().iter().map(|(group, _)| *group);
            let names: Vec<&str> = Target::all().map(Target::name).chain(groups).collect();
            core_error(format!("there is no target `{name}`; there are {}", names.join(", ")))
        }
        error => core_error(error.chain()),
    }
}

/// The description of an error of the system without its number, which `OSError` shows itself.
fn text_of(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
