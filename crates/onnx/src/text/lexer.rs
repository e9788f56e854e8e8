//! Lexer of the textual syntax.
//!
//! Unquoted names are ASCII (`[A-Za-z_][A-Za-z0-9_]*`); other names are written as strings. In a string, a
//! backslash makes the next character literal: there is no `
//! `, line breaks are written as they are. A number consists of digits with at most one point and an
//! exponent. Its sign is a separate token because dims are expressions (`seq-1`). A comment extends from `#`
//! to the end of the line.
//!
//! **Invariant:** tokens borrow from the text; only the value of a string with escapes is allocated.

use std::borrow::Cow;

use super::error::{ParseErrorKind, Result, UnlocatedError, clip};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Identifier(&'a str),
    String(StringLiteral<'a>),
    Number(&'a str),
    Punct(Punct),
    End,
}

/// The source of a string literal without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringLiteral<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> StringLiteral<'a> {
    /// The value of the literal.
    pub(super) fn value(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut value = String::with_capacity(self.raw.len());
        let mut chars = self.raw.chars();
        while let Some(c) = chars.next() {
            // A literal ends at an unescaped quote, so a backslash is never its last character.
            value.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        Cow::Owned(value)
    }
}

macro_rules! puncts {
    ($( $(#[$meta:meta])* $variant:ident $text:literal )*) => {
        /// A punctuation mark of the textual syntax.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Punct { $( $(#[$meta])* #[doc = concat!("`", $text, "`")] $variant, )* }

        impl Punct {
            /// All punctuation marks. A longer mark precedes its prefixes.
            const ALL: [Self; [$( $text ),*].len()] = [$( Self::$variant ),*];

            /// The source of the mark.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )* }
            }
        }
    };
}

puncts! {
    LeftParen "("
    RightParen ")"
    LeftBracket "["
    RightBracket "]"
    LeftBrace "{"
    RightBrace "}"
    Less "<"
    Greater ">"
    Comma ","
    Colon ":"
    Dot "."
    Arrow "=>"
    Equals "="
    At "@"
    Question "?"
    Plus "+"
    Minus "-"
    StarStar "**"
    Star "*"
    SlashSlash "//"
    Slash "/"
    Percent "%"
}

/// A token and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme<'a> {
    pub(super) token: Token<'a>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The rest of a text. Copied for look-ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// A part of the text, by its positions in bytes.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        &self.text[start..end]
    }

    /// Returns the next token.
    pub(super) fn next(&mut self) -> Result<Lexeme<'a>> {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let token = match rest {
            [] => Token::End,
            [b'"', ..] => self.string()?,
            [b'0'..=b'9', ..] => self.number()?,
            [b'a'..=b'z' | b'A'..=b'Z' | b'_', ..] => {
                self.at += rest.iter().take_while(|byte| is_name_byte(**byte)).count();
                Token::Identifier(&self.text[start..self.at])
            }
            _ => Token::Punct(self.punct(rest)?),
        };
        Ok(Lexeme { token, start, end: self.at })
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' => {
                    let comment = &bytes[self.at..];
                    self.at += comment.iter().position(|&byte| byte == b'\n').unwrap_or(comment.len());
                }
                _ => return,
            }
        }
    }

    fn string(&mut self) -> Result<Token<'a>> {
        let bytes = self.text.as_bytes();
        let opening = self.at;
        let mut escaped = false;
        let mut at = opening + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    self.at = at + 1;
                    return Ok(Token::String(StringLiteral { raw: &self.text[opening + 1..at], escaped }));
                }
                b'\\' => {
                    escaped = true;
                    at += 2;
                }
                _ => at += 1,
            }
        }
        self.at = bytes.len();
        Err(self.error(opening, ParseErrorKind::UnterminatedString))
    }

    fn number(&mut self) -> Result<Token<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        self.at = digits(start);
        if bytes.get(self.at) == Some(&b'.') {
            self.at = digits(self.at + 1);
        }
        let mut well_formed = true;
        if let Some(b'e' | b'E') = bytes.get(self.at) {
            let sign = usize::from(matches!(bytes.get(self.at + 1), Some(b'+' | b'-')));
            let exponent = self.at + 1 + sign;
            self.at = digits(exponent);
            well_formed = self.at > exponent;
        }
        while bytes.get(self.at).is_some_and(|byte| is_name_byte(*byte)) {
            well_formed = false;
            self.at += 1;
        }
        let literal = &self.text[start..self.at];
        if well_formed {
            Ok(Token::Number(literal))
        } else {
            Err(self.error(start, ParseErrorKind::MalformedNumber(clip(literal))))
        }
    }

    fn punct(&mut self, rest: &[u8]) -> Result<Punct> {
        let Some(punct) = Punct::ALL.into_iter().find(|punct| rest.starts_with(punct.as_str().as_bytes()))
        else {
            let start = self.at;
            let c = self.text[start..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
            self.at += c.len_utf8();
            return Err(self.error(start, ParseErrorKind::UnknownCharacter(c)));
        };
        self.at += punct.as_str().len();
        Ok(punct)
    }

    /// An error that covers the text from `start` to the current position.
    fn error(&self, start: usize, kind: ParseErrorKind) -> UnlocatedError {
        UnlocatedError { offset: start, length: self.at - start, kind: Box::new(kind) }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a name needs no quotes by the rules of the lexer.
pub(super) fn is_identifier(name: &str) -> bool {
    name.bytes().all(is_name_byte) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            match lexer.next().expect("lexes").token {
                Token::End => return tokens,
                token => tokens.push(token),
            }
        }
    }

    fn kind(text: &str) -> ParseErrorKind {
        let mut lexer = Lexer::new(text);
        loop {
            match lexer.next() {
                Ok(lexeme) => assert_ne!(lexeme.token, Token::End, "{text:?} lexes"),
                Err(error) => return *error.kind,
            }
        }
    }

    #[test]
    fn comments_and_blanks_separate_tokens() {
        let expected = [Token::Identifier("a"), Token::Punct(Punct::Equals), Token::Identifier("b_1")];
        assert_eq!(tokens("a # x = y\n\t=\r\n#\n b_1 # end"), expected);
    }

    #[test]
    fn the_longest_mark_is_preferred() {
        let texts = ["=>", "//", "**", "=", "/", "*"];
        for text in texts {
            let [Token::Punct(punct)] = tokens(text)[..] else { panic!("{text}") };
            assert_eq!(punct.as_str(), text);
        }
    }

    #[test]
    fn a_backslash_makes_the_next_character_literal() {
        let [Token::String(literal)] = tokens(r#""a\"b\\c\nd""#)[..] else { panic!() };
        assert_eq!(literal.value(), "a\"b\\cnd");
    }

    #[test]
    fn numbers_have_no_sign() {
        assert_eq!(tokens("1 2. 3.5e-7 4E5"), ["1", "2.", "3.5e-7", "4E5"].map(Token::Number));
        assert_eq!(tokens("-1"), [Token::Punct(Punct::Minus), Token::Number("1")]);
    }

    #[test]
    fn invalid_tokens_are_errors() {
        assert_eq!(kind("1e"), ParseErrorKind::MalformedNumber("1e".into()));
        assert_eq!(kind("3x"), ParseErrorKind::MalformedNumber("3x".into()));
        assert_eq!(kind("a é"), ParseErrorKind::UnknownCharacter('é'));
        assert_eq!(kind("\"abc"), ParseErrorKind::UnterminatedString);
        assert_eq!(kind("\"abc\\"), ParseErrorKind::UnterminatedString);
        assert_eq!(kind("\"abc\\é"), ParseErrorKind::UnterminatedString);
    }

    #[test]
    fn only_ascii_names_are_bare() {
        for name in ["a", "_", "A9_z"] {
            assert!(is_identifier(name), "{name}");
        }
        for name in ["", "9a", "a.b", "é", "a b"] {
            assert!(!is_identifier(name), "{name}");
        }
    }
}
