//! The command line of the package: the same program as the binary.

use pyo3::prelude::*;

/// Runs the command `typeloom` with these arguments, the name of the program first; returns its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| typeloom_cli::command_with(arguments))
}
