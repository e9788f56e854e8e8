//! Text of a model in comments and strings of C, and C types of elements.

use typeloom_onnx::text::escape;
use typeloom_types::dtype::{Dtype, DtypeClass};

/// Text in a comment: on one line, and without the characters that begin or end a comment or form a trigraph.
#[must_use]
pub fn comment(text: &str) -> String {
    let text = escape(text);
    let mut written = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if matches!((before, c), ('*', '/') | ('/', '*') | ('?', '?')) {
            written.push(' ');
        }
        written.push(c);
        before = c;
    }
    written
}

/// A string constant with the bytes of the text. Octal escapes have three digits, so that no following digit
/// belongs to them.
#[must_use]
pub fn literal(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => written.extend(['\\', char::from(byte)]),
            b' '..=b'~' => written.push(char::from(byte)),
            other => written.push_str(&format!("\\{other:03o}")),
        }
    }
    written.push('"');
    written
}

/// The C type of the elements; element types without a C type are unsigned integers of the same size.
#[must_use]
pub fn element(dtype: Dtype) -> &'static str {
    match (dtype.class(), dtype.size_bits()) {
        (DtypeClass::Float, Some(32)) => "float",
        (DtypeClass::Float, Some(64)) => "double",
        (DtypeClass::Complex, Some(64)) => "float",
        (DtypeClass::Complex, Some(128)) => "double",
        (DtypeClass::SignedInt, Some(8)) => "int8_t",
        (DtypeClass::SignedInt, Some(16)) => "int16_t",
        (DtypeClass::SignedInt, Some(32)) => "int32_t",
        (DtypeClass::SignedInt, Some(64)) => "int64_t",
        (_, Some(16)) => "uint16_t",
        (_, Some(32)) => "uint32_t",
        (_, Some(64)) => "uint64_t",
        (_, _) => "uint8_t",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_a_comment() {
        for text in ["a */ b", "/* a", "**//**/", "*/*/*/", "??/", "a\nb", "\\\n", "\u{202e}x"] {
            let written = comment(text);
            assert!(
                !["*/", "/*", "??", "\n", "\u{202e}"].iter().any(|end| written.contains(end)),
                "{written:?}"
            );
        }
        assert_eq!(comment("float[N, 4]"), "float[N, 4]");
    }

    #[test]
    fn a_literal_has_the_bytes_of_the_text() {
        assert_eq!(literal("a\"b\\c?"), r#""a\"b\\c\?""#);
        assert_eq!(literal("\n1\u{e9}"), r#""\0121\303\251""#);
    }
}
