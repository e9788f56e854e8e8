//! The text format of protocol buffers, without a schema.
//!
//! [`parse`] returns a tree of fields in their order, each with its position. Libraries for the format read a
//! message of a known schema and reject other fields; a configuration has fields of newer servers and of
//! backends, which this reader keeps.
//!
//! Syntax: <https://protobuf.dev/reference/protobuf/textformat-spec/>. Fields of any name, scalar values,
//! messages in `{}` or `<>`, lists, adjacent strings, comments, and `,` or `;` after a field. Extension names
//! and `Any` URLs in `[]` are names.
//!
//! Algorithm: a lexer and a loop over tokens with a stack of open messages; time and memory are linear in the
//! text. Messages and lists nest at most [`MAX_NESTING`] levels.

mod lexer;

use crate::error::ReadError;
use lexer::{Lexer, Token};

/// The maximum nesting of messages.
const MAX_NESTING: usize = 100;

/// The fields of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Message {
    pub(crate) fields: Vec<Field>,
}

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The values: several for a list.
    pub(crate) values: Vec<Value>,
    pub(crate) at: Position,
}

/// One value with its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) kind: Kind,
    pub(crate) at: Position,
}

/// The kinds of values. Numbers that are no integers are words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Message(Message),
    Text(String),
    Integer(i64),
    Word(String),
}

/// A position in a text, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    /// An error at this position.
    pub(crate) fn error(self, message: impl Into<String>) -> ReadError {
        ReadError::At { line: self.line, column: self.column, message: message.into() }
    }
}

impl Message {
    /// The values of all fields of a name, in order.
    pub(crate) fn all<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m Value> {
        self.fields.iter().filter(move |field| field.name == name).flat_map(|field| &field.values)
    }

    /// Whether there is a field of a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// The value of a field that is not repeated; the last one, as in the format.
    pub(crate) fn last<'m>(&'m self, name: &'m str) -> Option<&'m Value> {
        self.all(name).last()
    }
}

/// An open message, and the state of the list around it.
struct Open {
    message: Message,
    /// The field that contains the message.
    name: String,
    at: Position,
    /// The token that ends the message.
    end: char,
    within: Within,
}

/// The parent of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A field.
    Field,
    /// The list of the last field.
    List,
}

/// Parses a message.
pub(crate) fn parse(text: &str) -> Result<Message, ReadError> {
    Parser { lexer: Lexer::new(text), open: Vec::new(), message: Message::default() }.run()
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The messages around the current one.
    open: Vec<Open>,
    message: Message,
}

impl Parser<'_> {
    fn run(mut self) -> Result<Message, ReadError> {
        loop {
            let (token, at) = self.lexer.next()?;
            match token {
                Token::End if self.open.is_empty() => return Ok(self.message),
                Token::Word(name) => self.field(name, at)?,
                Token::Punct('[') => {
                    let name = self.lexer.bracketed(at)?;
                    self.field(name, at)?;
                }
                Token::Punct(end) if self.open.last().is_some_and(|open| open.end == end) => self.close()?,
                other => return Err(at.error(format!("expected the name of a field, found {other}"))),
            }
        }
    }

    /// Parses a field after its name.
    fn field(&mut self, name: String, at: Position) -> Result<(), ReadError> {
        let (mut token, mut value_at) = self.lexer.next()?;
        let has_colon = token == Token::Punct(':');
        if has_colon {
            (token, value_at) = self.lexer.next()?;
        }
        match token {
            Token::Punct('{' | '<') => self.begin(name, token, value_at, Within::Field),
            Token::Punct('[') if has_colon || self.lexer.is_next_message() => {
                self.message.fields.push(Field { name, values: Vec::new(), at });
                self.elements()
            }
            token if has_colon => {
                let value = self.scalar(token, value_at)?;
                self.message.fields.push(Field { name, values: vec![value], at });
                self.lexer.skip_separator()
            }
            other => Err(value_at.error(format!("expected `:` or a message after `{name}`, found {other}"))),
        }
    }

    /// Parses the elements of a list up to its end or its next message.
    fn elements(&mut self) -> Result<(), ReadError> {
        loop {
            let (token, at) = self.lexer.next()?;
            match token {
                Token::Punct(']') => return self.lexer.skip_separator(),
                Token::Punct('{' | '<') => {
                    let name = self.message.fields.last().map(|field| field.name.clone()).unwrap_or_default();
                    return self.begin(name, token, at, Within::List);
                }
                token => {
                    let value = self.scalar(token, at)?;
                    self.push(value);
                    if self.element_end()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads the token after an element; whether it ends the list.
    fn element_end(&mut self) -> Result<bool, ReadError> {
        match self.lexer.next()? {
            (Token::Punct(','), _) => Ok(false),
            (Token::Punct(']'), _) => self.lexer.skip_separator().map(|()| true),
            (other, at) => Err(at.error(format!("expected `,` or `]`, found {other}"))),
        }
    }

    /// Adds a value to the last field, which is a list.
    fn push(&mut self, value: Value) {
        if let Some(field) = self.message.fields.last_mut() {
            field.values.push(value);
        }
    }

    fn begin(&mut self, name: String, token: Token, at: Position, within: Within) -> Result<(), ReadError> {
        if self.open.len() >= MAX_NESTING {
            return Err(at.error(format!("messages nest more than {MAX_NESTING} levels")));
        }
        let end = if token == Token::Punct('{') { '}' } else { '>' };
        self.open.push(Open { message: std::mem::take(&mut self.message), name, at, end, within });
        Ok(())
    }

    /// Ends the current message.
    fn close(&mut self) -> Result<(), ReadError> {
        let Some(Open { message, name, at, within, .. }) = self.open.pop() else { return Ok(()) };
        let inner = std::mem::replace(&mut self.message, message);
        let value = Value { kind: Kind::Message(inner), at };
        if within == Within::List {
            self.push(value);
            return if self.element_end()? { Ok(()) } else { self.elements() };
        }
        self.message.fields.push(Field { name, values: vec![value], at });
        self.lexer.skip_separator()
    }

    fn scalar(&mut self, token: Token, at: Position) -> Result<Value, ReadError> {
        let kind = match token {
            Token::Text(text) => Kind::Text(self.lexer.adjacent(text)?),
            Token::Integer(value) => Kind::Integer(value),
            Token::Word(word) => Kind::Word(word),
            other => return Err(at.error(format!("expected a value, found {other}"))),
        };
        Ok(Value { kind, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(message: &Message, name: &str) -> Vec<Kind> {
        message.all(name).map(|value| value.kind.clone()).collect()
    }

    #[test]
    fn all_notations_of_values_are_read() {
        let text = "a: 1, b: -0x10; c: 'x' \"y\\n\\101\\u00e9\" # comment\n d { e: [1, 2] } d < e: 3 > f: [{g: A}, <>] h: 1.5e3\n\
                    [ext.name] { i: true } j: [] k: - 5 k: 6";
        let message = parse(text).expect("the text is well formed");
        assert_eq!(texts(&message, "a"), [Kind::Integer(1)]);
        assert_eq!(texts(&message, "b"), [Kind::Integer(-16)]);
        assert_eq!(texts(&message, "c"), [Kind::Text("xy\nA\u{e9}".to_owned())]);
        assert_eq!(message.all("d").count(), 2);
        assert_eq!(message.all("f").count(), 2);
        assert_eq!(texts(&message, "h"), [Kind::Word("1.5e3".to_owned())]);
        assert_eq!(message.all("[ext.name]").count(), 1);
        assert_eq!(message.fields.last().map(|field| field.name.as_str()), Some("k"));
        assert_eq!(message.last("k").map(|value| &value.kind), Some(&Kind::Integer(6)));
    }

    #[test]
    fn errors_have_the_position_of_the_token() {
        for (text, expected) in [
            ("a: 1\n  }", "line 2, column 3: expected the name of a field, found `}`"),
            ("a", "line 1, column 2: expected `:` or a message after `a`, found the end of the file"),
            ("a: \"x", "line 1, column 4: the string is not closed"),
            ("a: \"\\q\"", "line 1, column 5: an unknown escape sequence"),
            ("a {\n b: 1", "line 2, column 6: expected the name of a field, found the end of the file"),
            ("a: [1 2]", "line 1, column 7: expected `,` or `]`, found `2`"),
            ("\u{e9}: 1", "line 1, column 1: an unexpected character"),
            ("a: 99999999999999999999", "line 1, column 4: the integer has more than 64 bits"),
            ("a: -9223372036854775809", "line 1, column 4: the integer has more than 64 bits"),
            ("a: \"\\377\"", "line 1, column 4: the string is not UTF-8"),
            ("a { b: 1 >", "line 1, column 10: expected the name of a field, found `>`"),
        ] {
            let error = parse(text).map_err(|error| error.to_string());
            assert_eq!(error.err().as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(parse(&("a {".repeat(MAX_NESTING) + &"}".repeat(MAX_NESTING))).is_ok());
        assert!(parse(&"a {".repeat(100_000)).is_err());
        assert!(parse(&"a: [{".repeat(100_000)).is_err());
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn long_lists_are_read_without_recursion() {
        let text = format!("a: [{}]", vec!["{}"; 50_000].join(","));
        assert_eq!(parse(&text).expect("the list is well formed").all("a").count(), 50_000);
    }
}
