//! The interface of the bench to typeloom.

use std::path::Path;

use anyhow::{Result, ensure};

/// Name and version for the report.
pub const VERSION: &str = concat!("typeloom ", env!("CARGO_PKG_VERSION"));

/// Checks the model in a file, which is opened as the command does.
pub fn check_file(path: &Path) -> Result<()> {
    check_bytes(&typeloom_io::files::open(path)?)
}

/// Checks a model, shapes included. Problems of the model are returned as the error.
pub fn check_bytes(model: &[u8]) -> Result<()> {
    let mut checked = typeloom::check(model, &typeloom::check::Options::default())?;
    ensure!(checked.is_ok(), "{} problems", checked.diagnostics().len());
    Ok(())
}
