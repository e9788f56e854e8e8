//! Recognition of files in the textual syntax.

/// The endings of names of files in the textual syntax; the first two are those of the reference.
pub const SUFFIXES: [&str; 3] = [".onnxtxt", ".onnxtext", ".onnx.txt"];

/// Whether a file with these bytes is a model in the textual syntax that begins with its header,
/// `<ir_version: ...>`.
///
/// No serialized model begins with these bytes: read as the key of a field, each has a wire type that its
/// field in a model cannot have.
#[must_use]
pub fn is_text(file: &[u8]) -> bool {
    let mut rest = file.trim_ascii_start();
    while rest.first() == Some(&b'#') {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        rest = rest[end..].trim_ascii_start();
    }
    // Pages of web sites begin with `<!doctype` or `<html`.
    let header = rest.strip_prefix(b"<").map(<[u8]>::trim_ascii_start);
    header.is_some_and(|it| {
        !it.starts_with(b"!") && !it.get(..4).is_some_and(|it| it.eq_ignore_ascii_case(b"html"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_begins_with_a_header_after_comments() {
        for text in ["<ir_version: 10>", "\n\t <", "# a <\n  # b\n\n<"] {
            assert!(is_text(text.as_bytes()), "{text:?}");
        }
        for file in [
            "",
            "#",
            "# <",
            "<!DOCTYPE html>",
            "<HTML lang",
            "g (x) => (y) {}",
            "\u{8}\u{a}",
            "{\"a\": \"<\"}",
        ] {
            assert!(!is_text(file.as_bytes()), "{file:?}");
        }
    }
}
