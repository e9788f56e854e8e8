//! typeloom, as the bench calls it: a mapped file in, a verdict out.

use std::fs::File;
use std::path::Path;

use anyhow::{Result, ensure};

/// What it calls itself.
pub const VERSION: &str = concat!("typeloom ", env!("CARGO_PKG_VERSION"));

/// Checks the model in a file, shapes included; the error says what is wrong with the model.
pub fn check_file(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    #[expect(unsafe_code, reason = "the bench alone writes these files, and not while they are mapped")]
    // SAFETY: nothing changes the file while the mapping lives.
    let bytes = unsafe { memmap2::Mmap::map(&file)? };
    let checked = typeloom::check(&bytes, &typeloom::Options::default())?;
    ensure!(checked.is_ok(), "{} problems", checked.errors().len());
    Ok(())
}
