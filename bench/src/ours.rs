//! The interface of the bench to typeloom: checks a memory-mapped file.

use std::fs::File;
use std::path::Path;

use anyhow::{Result, ensure};

/// Name and version for the report.
pub const VERSION: &str = concat!("typeloom ", env!("CARGO_PKG_VERSION"));

/// Checks the model in a file, shapes included. Problems of the model are returned as the error.
pub fn check_file(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    #[expect(unsafe_code, reason = "the bench alone writes these files, and not while they are mapped")]
    // SAFETY: the file is not modified while it is mapped.
    let bytes = unsafe { memmap2::Mmap::map(&file)? };
    let mut checked = typeloom::check(&bytes, &typeloom::check::Options::default())?;
    ensure!(checked.is_ok(), "{} problems", checked.diagnostics().len());
    Ok(())
}
