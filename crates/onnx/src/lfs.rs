//! Git LFS pointers: text files that replace large files in a clone without Git LFS.

/// The start of every pointer in all versions of the format.
const START: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Maximum size of a pointer.
const MAX_BYTES: usize = 1024;

/// Whether a file with these bytes is a Git LFS pointer.
#[must_use]
pub fn is_pointer(file: &[u8]) -> bool {
    file.len() <= MAX_BYTES && file.starts_with(START)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_small_files_with_the_line_of_the_format() {
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        assert!(is_pointer(pointer));
        assert!(!is_pointer(b""));
        assert!(!is_pointer(&pointer[1..]));
        let mut large = pointer.to_vec();
        large.resize(MAX_BYTES, b'\n');
        assert!(is_pointer(&large));
        large.push(b'\n');
        assert!(!is_pointer(&large));
    }
}
