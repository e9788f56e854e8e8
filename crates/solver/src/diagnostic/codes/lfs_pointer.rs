//! Diagnostic code `lfs-pointer`.

use crate::diagnostic::{Code, Diagnostic, Location};

super::code!("lfs-pointer", Error, "the file is a Git LFS pointer");

/// The file is a Git LFS pointer.
pub(crate) fn lfs_pointer() -> Diagnostic {
    let message = "the file is a Git LFS pointer, not the model itself".to_owned();
    Diagnostic::new(Code::LfsPointer, message, Location::default())
        .with_help("download the model with `git lfs pull`")
}
