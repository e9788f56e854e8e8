//! Short texts of a model for pictures, and their widths without font files.
//!
//! **Invariant:** a short text has one line, and no character that controls a terminal, reverses text or is
//! invisible.

use typeloom_solver::diagnostic::text::clip;
use unicode_width::UnicodeWidthStr as _;

/// Maximum length of a name in a picture, in characters.
pub const MAX_NAME: usize = 32;

/// Maximum length of a type in a picture, in characters.
pub const MAX_TYPE: usize = 48;

/// Maximum length of a text that is shown on demand, in characters.
pub const MAX_DETAIL: usize = 240;

/// Maximum size of a name of which the middle is searched, in bytes.
const MAX_BYTES: usize = 1 << 12;

/// A text on one line with its middle left out beyond `max` characters. The cost does not depend on the
/// length of the text.
#[must_use]
pub fn short(text: &str, max: usize) -> String {
    let shown = if text.len() <= MAX_BYTES {
        clip(text, max)
    } else {
        let (head, tail) = (floor(text, MAX_BYTES / 2), ceil(text, text.len() - MAX_BYTES / 2));
        clip(&format!("{}\u{2026}{}", &text[..head], &text[tail..]), max)
    };
    // Escapes can be longer than the characters that they replace.
    if shown.chars().count() > max { clip(&shown, max) } else { shown }
}

/// The names of files without their folders: of one path, or of two paths with ` -> ` between them. Two files with
/// the same name have as many folders as they differ by.
#[must_use]
pub fn file_names(paths: &str) -> String {
    // From the name outwards.
    fn parts(path: &str) -> Vec<&str> {
        path.rsplit(['/', '\\']).filter(|part| !part.is_empty()).collect()
    }
    let Some((old, new)) = paths.split_once(" -> ") else {
        return parts(paths).first().copied().unwrap_or_default().to_owned();
    };
    let [old, new] = [old, new].map(parts);
    let equal = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let names = [old, new].map(|parts| {
        let count = (equal + 1).min(parts.len());
        parts[..count].iter().rev().copied().collect::<Vec<_>>().join("/")
    });
    names.join(" -> ")
}

/// The last character boundary up to `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first character boundary from `at` on.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The number of columns of a text in a font with a fixed width.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.width()
}

/// `1 node`, `2 nodes`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    typeloom_solver::diagnostic::text::count(count, noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_unsafe_texts_are_short_and_safe() {
        assert_eq!(short("a/b", 8), "a/b");
        assert_eq!(short("abcdefghij", 5), "ab\u{2026}ij");
        assert_eq!(short("a\nb\u{202e}", 32), "a\\u{a}b\\u{202e}");
        let long = "\u{202e}é".repeat(1 << 16);
        let shown = short(&long, 32);
        assert!(shown.chars().count() <= 33 && !shown.contains('\u{202e}'), "{shown}");
    }

    #[test]
    fn files_are_named_without_folders_that_they_share() {
        for (paths, names) in [
            ("a/b/m.onnx", "m.onnx"),
            ("m.onnx", "m.onnx"),
            ("C:\\models\\m.onnx", "m.onnx"),
            ("", ""),
            ("a/old.onnx -> b/new.onnx", "old.onnx -> new.onnx"),
            ("x/v1/m.onnx -> x/v2/m.onnx", "v1/m.onnx -> v2/m.onnx"),
            ("m.onnx -> m.onnx", "m.onnx -> m.onnx"),
        ] {
            assert_eq!(file_names(paths), names, "{paths}");
        }
    }

    #[test]
    fn wide_characters_have_two_columns() {
        assert_eq!([columns("ab"), columns("模型"), columns("")], [2, 4, 0]);
    }
}
