//! Tokens of the protobuf text format.

use std::fmt;
use std::ops::RangeInclusive;

use super::Position;
use crate::error::ReadError;

/// A token. Adjacent strings are separate tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, an enumerator, or a number that is not an integer.
    Word(String),
    Text(String),
    Integer(i64),
    Punct(char),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "`{word}`"),
            Self::Text(_) => f.write_str("a string"),
            Self::Integer(value) => write!(f, "`{value}`"),
            Self::Punct(c) => write!(f, "`{c}`"),
            Self::End => f.write_str("the end of the file"),
        }
    }
}

/// A cursor over a text.
pub(super) struct Lexer<'t> {
    rest: &'t str,
    at: Position,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text, at: Position { line: 1, column: 1 } }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.at = Position { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) {
        while let Some(c) = self.peek() {
            if c == '#' {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.bump();
                }
            } else if c.is_ascii_whitespace() || c == '\u{b}' {
                self.bump();
            } else {
                return;
            }
        }
    }

    /// The next token with its position.
    pub(super) fn next(&mut self) -> Result<(Token, Position), ReadError> {
        self.skip_space();
        let at = self.at;
        let token = match self.peek() {
            None => Token::End,
            Some(c @ (':' | '{' | '}' | '<' | '>' | '[' | ']' | ',' | ';')) => {
                self.bump();
                Token::Punct(c)
            }
            Some(quote @ ('"' | '\'')) => Token::Text(self.string(quote)?),
            Some('-') => {
                self.bump();
                self.skip_space();
                let word = self.word();
                if word.is_empty() {
                    return Err(at.error("expected a number after `-`"));
                }
                number("-", &word, at)?
            }
            Some(c) if is_word(c) => {
                let word = self.word();
                number("", &word, at)?
            }
            Some(_) => return Err(at.error("an unexpected character")),
        };
        Ok((token, at))
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            let is_exponent = matches!(c, '+' | '-')
                && word.starts_with(|c: char| c.is_ascii_digit() || c == '.')
                && !word.starts_with("0x")
                && word.ends_with(['e', 'E']);
            if !is_word(c) && !is_exponent {
                break;
            }
            word.push(c);
            self.bump();
        }
        word
    }

    /// Whether a message or the end of a list is next, which decides that `[` begins a list of messages.
    pub(super) fn is_next_message(&mut self) -> bool {
        self.skip_space();
        matches!(self.peek(), Some('{' | '<' | ']'))
    }

    /// Skips one `,` or `;` after a field.
    pub(super) fn skip_separator(&mut self) -> Result<(), ReadError> {
        self.skip_space();
        if matches!(self.peek(), Some(',' | ';')) {
            self.bump();
        }
        Ok(())
    }

    /// The name of an extension or type after `[`, with its brackets.
    pub(super) fn bracketed(&mut self, at: Position) -> Result<String, ReadError> {
        let mut name = "[".to_owned();
        loop {
            self.skip_space();
            match self.bump() {
                Some(']') => return Ok(name + "]"),
                Some(c) if is_word(c) || matches!(c, '/' | '-' | '%') => name.push(c),
                Some(_) | None => return Err(at.error("the name in brackets is not closed")),
            }
        }
    }

    /// Appends the string literals that follow without another token in between.
    pub(super) fn adjacent(&mut self, mut text: String) -> Result<String, ReadError> {
        loop {
            self.skip_space();
            match self.peek() {
                Some(quote @ ('"' | '\'')) => text.push_str(&self.string(quote)?),
                Some(_) | None => return Ok(text),
            }
        }
    }

    fn string(&mut self, quote: char) -> Result<String, ReadError> {
        let at = self.at;
        self.bump();
        let mut bytes = Vec::new();
        loop {
            let here = self.at;
            match self.bump() {
                None | Some('\n') => return Err(at.error("the string is not closed")),
                Some(c) if c == quote => break,
                Some('\\') => {
                    self.escape(&mut bytes).ok_or_else(|| here.error("an unknown escape sequence"))?;
                }
                Some(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        String::from_utf8(bytes).map_err(|_| at.error("the string is not UTF-8"))
    }

    /// Reads an escape sequence after the backslash.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        let byte = match self.bump()? {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            c @ ('\\' | '\'' | '"' | '?') => u8::try_from(c).ok()?,
            'x' | 'X' => u8::try_from(self.digits(16, 0, 1..=2)?).ok()?,
            c @ '0'..='7' => u8::try_from(self.digits(8, c.to_digit(8)?, 0..=2)?).ok()?,
            c @ ('u' | 'U') => {
                let count = if c == 'u' { 4 } else { 8 };
                let c = char::from_u32(self.digits(16, 0, count..=count)?)?;
                bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
                return Some(());
            }
            _ => return None,
        };
        bytes.push(byte);
        Some(())
    }

    /// Reads digits and appends them to the number `start`; `None` if their number is not in `count`.
    fn digits(&mut self, radix: u32, start: u32, count: RangeInclusive<usize>) -> Option<u32> {
        let (mut value, mut found) = (start, 0);
        while found < *count.end() {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else { break };
            value = value.checked_mul(radix)?.checked_add(digit)?;
            found += 1;
            self.bump();
        }
        count.contains(&found).then_some(value)
    }
}

/// Whether a character belongs to names and numbers.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

/// The token of a word: an integer if it is written in decimal, octal or hexadecimal digits, else the word.
fn number(sign: &str, word: &str, at: Position) -> Result<Token, ReadError> {
    let (digits, radix) = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if word.len() > 1 && word.starts_with('0') => (&word[1..], 8),
        None => (word, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Ok(Token::Word(format!("{sign}{word}")));
    }
    let value = i64::from_str_radix(&format!("{sign}{digits}"), radix);
    // Only unsigned fields can have greater values. They are not read, so a value need not be exact.
    let value = value.or_else(|error| match sign {
        "" => u64::from_str_radix(digits, radix).map(|_| i64::MAX).map_err(|_| error),
        _ => Err(error),
    });
    value.map(Token::Integer).map_err(|_| at.error("the integer has more than 64 bits"))
}
