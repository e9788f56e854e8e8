//! The texts of a signature in an `MLmodel`.
//!
//! An `MLmodel` is written by a program: PyYAML in block style. This reader finds the key `signature` of the
//! top level, and in its block the keys `inputs` and `outputs`, whose values are scalars in single or double
//! quotes, folded over several lines, or `null`. It is no YAML parser: another notation is an error, and the
//! rest of the file is skipped. A parser of YAML would be a large dependency for two strings.

use std::iter::Peekable;
use std::str::Chars;

use crate::error::ReadError;

/// The lists of tensors as JSON texts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Texts {
    pub(super) inputs: Option<String>,
    pub(super) outputs: Option<String>,
}

/// A line with its number.
type Line<'t> = (usize, &'t str);

/// Finds the texts of the signature.
pub(super) fn signature(text: &str) -> Result<Texts, ReadError> {
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line)).peekable();
    let missing = || at(1, 1, "the file has no block `signature:`");
    lines.find(|(_, line)| line.trim_end() == "signature:").ok_or_else(missing)?;
    let mut texts = Texts::default();
    while let Some((number, line)) = lines.next_if(|(_, line)| is_inner(line)) {
        let entry = line.trim_start().split_once(':');
        let target = match entry {
            Some(("inputs", _)) => &mut texts.inputs,
            Some(("outputs", _)) => &mut texts.outputs,
            Some(_) | None => continue,
        };
        let value = entry.map_or("", |(_, value)| value).trim();
        *target = match value {
            "null" | "~" | "" => None,
            quoted => Some(scalar(quoted, number, &mut lines)?),
        };
    }
    Ok(texts)
}

/// Whether a line belongs to the block.
fn is_inner(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.trim().is_empty()
}

fn at(line: usize, column: usize, message: &str) -> ReadError {
    ReadError::At { line, column, message: message.to_owned() }
}

/// Reads a quoted scalar, with its first line without the indentation. Line breaks are folded: one is a
/// space, and each further one is a line break.
fn scalar<'t>(
    first: &'t str,
    number: usize,
    lines: &mut Peekable<impl Iterator<Item = Line<'t>>>,
) -> Result<String, ReadError> {
    let quote = match first.chars().next() {
        Some(quote @ ('\'' | '"')) => quote,
        Some(_) | None => return Err(at(number, 1, "the value is no text in quotes")),
    };
    let mut text = String::new();
    let mut rest = &first[1..];
    let mut last = number;
    loop {
        let end = line(rest, quote, &mut text).ok_or_else(|| at(last, 1, "an unknown escape sequence"))?;
        if end == End::Quote {
            return Ok(text);
        }
        let mut breaks = 0;
        loop {
            let next = lines.next_if(|(_, line)| is_inner(line));
            let (number, next) = next.ok_or_else(|| at(number, 1, "the text is not closed"))?;
            last = number;
            rest = next.trim();
            if !rest.is_empty() {
                break;
            }
            breaks += 1;
        }
        if end == End::Line {
            text.truncate(text.trim_end_matches([' ', '\t']).len());
        }
        match (breaks, end) {
            (0, End::Line) => text.push(' '),
            (_, _) => text.extend(std::iter::repeat_n('\n', breaks)),
        }
    }
}

/// The end of the text on a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The closing quote.
    Quote,
    /// The end of the line.
    Line,
    /// A backslash at the end of the line, which folds without a space.
    Backslash,
}

/// Reads the text of one line up to its end. `None` for an unknown escape sequence.
fn line(rest: &str, quote: char, text: &mut String) -> Option<End> {
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        if c == quote {
            if quote == '\'' && chars.next_if_eq(&'\'').is_some() {
                text.push('\'');
                continue;
            }
            return Some(End::Quote);
        }
        if c == '\\' && quote == '"' {
            if chars.peek().is_none() {
                return Some(End::Backslash);
            }
            text.push(escape(&mut chars)?);
        } else {
            text.push(c);
        }
    }
    Some(End::Line)
}

/// An escape sequence in double quotes.
fn escape(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    let length = match chars.next()? {
        '0' => return Some('\0'),
        'a' => return Some('\u{7}'),
        'b' => return Some('\u{8}'),
        't' | '\t' => return Some('\t'),
        'n' => return Some('\n'),
        'v' => return Some('\u{b}'),
        'f' => return Some('\u{c}'),
        'r' => return Some('\r'),
        'e' => return Some('\u{1b}'),
        'N' => return Some('\u{85}'),
        '_' => return Some('\u{a0}'),
        'L' => return Some('\u{2028}'),
        'P' => return Some('\u{2029}'),
        c @ (' ' | '"' | '/' | '\\') => return Some(c),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let mut value = 0_u32;
    for _ in 0..length {
        value = value.checked_mul(16)?.checked_add(chars.next()?.to_digit(16)?)?;
    }
    char::from_u32(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_texts_in_both_quotes_are_read() {
        let file = "a: 1\nsignature:\n  inputs: '[it''s\n\n    one,\n    two]'\n  outputs: \"[\\\"x\\\",\\n \\\n    \\ y\\u00e9\n    z]\"\nb: 2\n";
        let texts = signature(file).expect("the file has a signature");
        assert_eq!(texts.inputs.as_deref(), Some("[it's\none, two]"));
        assert_eq!(texts.outputs.as_deref(), Some("[\"x\",\n  y\u{e9} z]"));
    }

    #[test]
    fn other_notations_are_errors() {
        for (file, expected) in [
            ("a: 1\n", "line 1, column 1: the file has no block `signature:`"),
            ("signature:\n  inputs: [1]\n", "line 2, column 1: the value is no text in quotes"),
            ("signature:\n  inputs: '[1\nb: 2\n", "line 2, column 1: the text is not closed"),
            ("signature:\n  inputs: \"\\q\"\n", "line 2, column 1: an unknown escape sequence"),
        ] {
            assert_eq!(
                signature(file).map_err(|error| error.to_string()).err().as_deref(),
                Some(expected),
                "{file}"
            );
        }
        assert_eq!(signature("signature:\n  inputs: null\n  params: null\n"), Ok(Texts::default()));
    }
}
