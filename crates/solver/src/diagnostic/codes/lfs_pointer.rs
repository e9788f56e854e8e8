//! Diagnostic code `lfs-pointer`.

use crate::diagnostic::{Code, Diagnostic, Location};

super::code!("lfs-pointer", Error, "the file is a Git LFS pointer");

/// The file is a Git LFS pointer.
pub(crate) fn lfs_pointer() -> Diagnostic {
    let message = "the file is a Git LFS pointer, not the model itself".to_owned();
    Diagnostic::new(Code::LfsPointer, message, Location::default())
        .with_help("download the model with `git lfs pull`")
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::report_of_bytes;

    #[test]
    fn a_pointer_in_place_of_a_model_is_recognised() {
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
        let expected = "error[lfs-pointer]: the file is a Git LFS pointer, not the model itself";
        assert_eq!(report_of_bytes(pointer).to_string(), expected);
    }
}
