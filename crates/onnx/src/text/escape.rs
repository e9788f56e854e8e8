//! Escaping of text from a model for output.
//!
//! Names, strings and paths in a model are arbitrary Unicode. Control characters control a terminal, line
//! breaks start a line that a log or a workflow interprets, and bidirectional and invisible characters
//! disguise a text. All output passes through [`escape`], which replaces these characters by `\u{..}`.
//! [`is_unsafe`] is the set of characters, for formats with an escape syntax of their own.
//!
//! **Invariant:** the result contains no [unsafe](is_unsafe) character; escaping is idempotent.
//!
//! Sources: Unicode general categories Cc, Zl and Zp, and the characters without a glyph in Cf and Mn
//! (Unicode Standard Annex 9 for bidirectional controls, `Default_Ignorable_Code_Point` for the others).

use std::borrow::Cow;

/// Whether a character is a control character, a line break, a bidirectional control or invisible.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    matches!(
        c,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text on one line with [unsafe](is_unsafe) characters as `\u{..}`.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// As [`escape`], but preserves line breaks, for text of several lines that typeloom writes.
#[must_use]
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| is_unsafe(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(escape).collect();
    Cow::Owned(lines.join("\n"))
}

/// A JSON text in which each [unsafe](is_unsafe) character is an escape of hexadecimal digits (RFC 8259,
/// section 7). They occur in strings only, apart from the line breaks of the layout, which are preserved.
#[must_use]
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_unsafe_in_json = |c: char| is_unsafe(c) && c != '\n';
    if !json.contains(is_unsafe_in_json) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if is_unsafe_in_json(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_text_is_borrowed() {
        for text in ["", "plain name/1", "größe", "模型 é", "👍"] {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn every_unsafe_character_is_written_as_its_number() {
        assert_eq!(
            escape("a\u{1b}[31m\r\n::error::\u{202e}b\u{200b}"),
            "a\\u{1b}[31m\\u{d}\\u{a}::error::\\u{202e}b\\u{200b}"
        );
        assert_eq!(escape("\u{9b}\u{7f}\u{e0041}"), "\\u{9b}\\u{7f}\\u{e0041}");
        for c in (0..=0x0010_ffff).filter_map(char::from_u32) {
            let escaped = escape(c.encode_utf8(&mut [0; 4])).into_owned();
            assert!(!escaped.contains(is_unsafe), "{c:?}");
            assert_eq!(escape(&escaped), escaped);
            assert!(is_unsafe(c) || !c.is_control(), "{c:?}");
        }
    }

    #[test]
    fn own_line_breaks_can_be_kept() {
        assert_eq!(escape_lines("a\nb\u{1b}c"), "a\nb\\u{1b}c");
        assert_eq!(escape_lines("a\r\nb"), "a\\u{d}\nb");
    }

    #[test]
    fn json_has_escapes_of_its_own() {
        assert_eq!(escape_json("{\n\"a\": 1}"), "{\n\"a\": 1}");
        assert_eq!(escape_json("\"\u{202e}\u{7f}\u{e0041}\""), "\"\\u202e\\u007f\\udb40\\udc41\"");
    }
}
