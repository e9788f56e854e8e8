//! Tokens of the syntax of [`crate::print`].

use super::{ParseError, ParseErrorKind};
use crate::binder::VarKind;

/// A token with its offset.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Spanned<'t> {
    pub(super) token: Token<'t>,
    pub(super) offset: usize,
}

/// A token.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Token<'t> {
    /// An identifier or keyword, without path separators.
    Ident(&'t str),
    /// A lifetime with its tick.
    Lifetime(&'t str),
    /// A number.
    Int(i128),
    /// A character literal.
    Char(char),
    /// A string literal without escapes.
    Str(&'t str),
    /// A variable or placeholder of the extended notation.
    Sigil(Sigil),
    /// Punctuation.
    Punct(&'static str),
    /// The end of the text.
    End,
}

/// Sigil notation: `?0`, `'?c0`, `!#1.0`, `^0.1`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sigil {
    pub(super) kind: SigilKind,
    pub(super) sort: VarKind,
    pub(super) first: u32,
    pub(super) second: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum SigilKind {
    Var,
    Canonical,
    Placeholder,
    Bound,
}

/// Punctuation tokens, longest first.
const PUNCTUATION: [&str; 29] = [
    "...", "->", "::", "<", ">", "(", ")", "[", "]", "{", "}", ",", ";", "=", "+", "-", "*", "/", "%", "&",
    "|", "^", "!", "~", ".", ":", "#", "?", "'",
];

/// Splits a text into tokens. `<<` and `>>` are two tokens each; the parser joins them in operator position.
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned<'_>>, ParseError> {
    let mut list = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let offset = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            list.push(Spanned { token: Token::End, offset });
            return Ok(list);
        };
        let (token, len) = if let Some((sigil, len)) = sigil(rest) {
            (Token::Sigil(sigil), len)
        } else if is_start(first) {
            let len = ident_len(rest);
            (Token::Ident(rest.get(..len).unwrap_or(rest)), len)
        } else if first.is_ascii_digit() {
            let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let value = number(rest.get(..len).unwrap_or(rest));
            (Token::Int(value.ok_or(ParseError { offset, kind: ParseErrorKind::BadNumber })?), len)
        } else if first == '\'' {
            quoted(rest, offset)?
        } else if first == '"' {
            let body = rest.get(1..).unwrap_or_default();
            let end = body.find('"').ok_or(ParseError { offset, kind: ParseErrorKind::Unterminated })?;
            (Token::Str(body.get(..end).unwrap_or_default()), end + 2)
        } else {
            let punct = PUNCTUATION.into_iter().find(|p| rest.starts_with(p));
            let punct =
                punct.ok_or(ParseError { offset, kind: ParseErrorKind::UnexpectedCharacter(first) })?;
            (Token::Punct(punct), punct.len())
        };
        list.push(Spanned { token, offset });
        rest = rest.get(len..).unwrap_or_default();
    }
}

fn is_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Length of an identifier, which may contain dots: `tensor.f32`.
fn ident_len(text: &str) -> usize {
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        let inner_dot = c == '.' && chars.peek().is_some_and(|(_, next)| is_start(*next));
        if !(c.is_alphanumeric() || c == '_' || inner_dot) {
            break;
        }
        end = i + c.len_utf8();
    }
    end
}

/// Parses a decimal, hexadecimal, octal or binary number, with underscores and an optional type suffix.
fn number(text: &str) -> Option<i128> {
    let text: String = text.chars().filter(|c| *c != '_').collect();
    let (radix, digits) = match text.get(..2) {
        Some("0x") => (16, text.get(2..)?),
        Some("0o") => (8, text.get(2..)?),
        Some("0b") => (2, text.get(2..)?),
        _ => (10, text.as_str()),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let suffix = digits.get(end..)?;
    let known = ["", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];
    known.contains(&suffix).then(|| i128::from_str_radix(digits.get(..end)?, radix).ok()).flatten()
}

/// Parses a lifetime or a character literal.
fn quoted(rest: &str, offset: usize) -> Result<(Token<'_>, usize), ParseError> {
    let error = ParseError { offset, kind: ParseErrorKind::Unterminated };
    let body = rest.get(1..).unwrap_or_default();
    let first = body.chars().next().ok_or(error.clone())?;
    if first == '\\' {
        let end = body.get(2..).and_then(|tail| tail.find('\'')).ok_or(error.clone())? + 2;
        let value = escape(body.get(1..end).unwrap_or_default()).ok_or(error)?;
        return Ok((Token::Char(value), end + 2));
    }
    if body.get(first.len_utf8()..).is_some_and(|tail| tail.starts_with('\'')) {
        return Ok((Token::Char(first), first.len_utf8() + 2));
    }
    if is_start(first) {
        let len = body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
        return Ok((Token::Lifetime(rest.get(..=len).unwrap_or(rest)), len + 1));
    }
    Ok((Token::Punct("'"), 1))
}

fn escape(text: &str) -> Option<char> {
    Some(match text {
        "n" => '\n',
        "r" => '\r',
        "t" => '\t',
        "0" => '\0',
        "\\" => '\\',
        "'" => '\'',
        "\"" => '"',
        _ => {
            let digits = text.strip_prefix("u{")?.strip_suffix('}')?;
            char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
        }
    })
}

/// Parses a sigil such as `'?#c12.3`: an optional tick, a sign, an optional `#`, an optional `c`, numbers.
fn sigil(text: &str) -> Option<(Sigil, usize)> {
    let (mut rest, region) = text.strip_prefix('\'').map_or((text, false), |rest| (rest, true));
    let sign = rest.chars().next()?;
    rest = rest.get(1..)?;
    let (after, constant) = rest.strip_prefix('#').map_or((rest, false), |rest| (rest, true));
    rest = after;
    let mut kind = match sign {
        '?' => SigilKind::Var,
        '!' => SigilKind::Placeholder,
        '^' => SigilKind::Bound,
        _ => return None,
    };
    if kind == SigilKind::Var
        && let Some(after) = rest.strip_prefix('c')
    {
        kind = SigilKind::Canonical;
        rest = after;
    }
    let (first, after) = digits(rest)?;
    rest = after;
    let mut second = 0;
    if matches!(kind, SigilKind::Placeholder | SigilKind::Bound) {
        (second, rest) = digits(rest.strip_prefix('.')?)?;
    }
    let sort = match (region, constant) {
        (true, false) => VarKind::Region,
        (false, true) => VarKind::Const,
        (false, false) => VarKind::Ty,
        (true, true) => return None,
    };
    Some((Sigil { kind, sort, first, second }, text.len() - rest.len()))
}

fn digits(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?))
}
