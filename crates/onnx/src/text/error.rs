//! Errors of parsing the textual syntax.
//!
//! **Invariant:** the parser raises an [`UnlocatedError`] with a byte offset. Line and column are computed
//! once, when the error leaves the parser, because every computation scans the text and backtracking discards
//! errors.

use std::fmt;

use super::lexer::{Punct, Token};
use crate::error::displayed;
use typeloom_types::dtype::suggestion;

/// Maximum length in bytes of a quotation from the text.
const MAX_QUOTED: usize = 40;

/// Error of parsing ONNX's textual syntax.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct ParseError {
    /// Offset of the offending token in bytes.
    pub offset: usize,
    /// Length of the offending token in bytes; 0 at the end of the text.
    pub length: usize,
    /// The line of the offset, starting at 1.
    pub line: usize,
    /// The column of the offset in characters, starting at 1.
    pub column: usize,
    pub kind: ParseErrorKind,
}

/// Kind of a [`ParseError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// The next token is not allowed by the grammar.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The tokens allowed by the grammar.
        expected: Expected,
        /// The actual token.
        found: Found,
    },
    /// A string literal without a closing quote.
    #[error("this string is never closed")]
    UnterminatedString,
    /// A character that starts no token.
    #[error("the character {0:?} means nothing here")]
    UnknownCharacter(char),
    /// Digits that do not form a number, such as `1e` or `3x`.
    #[error("`{0}` is not a number")]
    MalformedNumber(String),
    /// A number outside of the range of its type.
    #[error("`{literal}` does not fit {target}")]
    NumberOutOfRange {
        /// The literal in the text.
        literal: String,
        /// The type.
        target: NumberTarget,
    },
    /// The text after `hex` does not consist of pairs of hexadecimal digits.
    #[error("`hex` needs pairs of hexadecimal digits")]
    MalformedHex,
    /// Graphs, types or dim expressions that are nested too deeply.
    #[error("nested more than {limit} levels deep")]
    TooDeep {
        /// The maximum depth.
        limit: u32,
    },
    /// `key: value` with an unknown key.
    #[error("{context} has no `{key}`")]
    UnknownKey {
        /// The key in the text.
        key: String,
        /// The header or annotation with the key.
        context: KeyContext,
    },
    /// An unknown attribute type, as in `alpha: real = 1.0`.
    #[error("`{0}` is not an attribute type")]
    UnknownAttributeType(String),
    /// An unknown element type, as in `map(text, float)`.
    #[error("`{name}` is not an element type{suggestion}", name = .0, suggestion = suggestion(.0))]
    UnknownElementType(String),
    /// An attribute value whose type differs from the declared one.
    #[error("attribute `{attribute}` is declared {declared}, but its value is {found}")]
    AttributeType {
        attribute: String,
        /// The declared type.
        declared: &'static str,
        /// The type of the value.
        found: &'static str,
    },
    /// A list with elements of two types.
    #[error("attribute `{attribute}` mixes {first} with {found} in one list")]
    MixedList {
        attribute: String,
        /// The type of the elements before.
        first: &'static str,
        /// The type of the next element.
        found: &'static str,
    },
    /// `name = []`, a list of unknown type.
    #[error(
        "attribute `{attribute}` is an empty list, so its type must be written, as in `{attribute}: ints = []`"
    )]
    UntypedEmptyList { attribute: String },
    /// `[@name]`: a reference is only allowed as the whole value.
    #[error(
        "attribute `{attribute}` refers to another one inside a list; a reference replaces a whole value"
    )]
    ReferenceInList { attribute: String },
    /// A constant of a type that is not a tensor type.
    #[error("a constant needs a tensor type, not {0}")]
    ConstantNotATensor(&'static str),
    /// A constant of unknown rank or with a symbolic extent.
    #[error("a constant needs a numeric extent in every dim")]
    ConstantShape,
    /// A constant with elements of type `undefined`.
    #[error("values need an element type")]
    ConstantElementType,
}

/// The tokens allowed by the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// One punctuation mark.
    Punct(Punct),
    /// `,` or the closing mark of the list.
    CommaOr(Punct),
    /// A name, with or without quotes.
    Name(NameOf),
    Type,
    /// An element type, for example `float`.
    ElementType,
    /// A dim: a number, a name, an expression or `?`.
    Dim,
    /// An integer literal.
    Integer,
    /// A number literal.
    Number,
    /// A string literal.
    String,
    Value,
    /// The data of a constant: `{...}`, `[...]` or `hex"..."`.
    Data,
    /// The end of the text.
    End,
}

/// The actual token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A name without quotes.
    Name(String),
    /// A string literal (truncated).
    String(String),
    Number(String),
    /// A punctuation mark.
    Punct(Punct),
    /// The end of the text.
    End,
}

displayed! {
    /// The entity that an expected name refers to.
    pub enum NameOf {
        Graph "the name of a graph",
        Function "the name of a function",
        Value "the name of a value",
        Node "the name of a node",
        Operator "the name of an operator",
        Overload "the name of an overload",
        Attribute "the name of an attribute",
        AttributeType "the type of an attribute",
        OpaqueType "the name of an opaque type",
        /// A child of a composite type.
        Child "the name of another child",
        /// A key of a header or an annotation.
        Key "a key",
    }

    /// The type of a number literal.
    pub enum NumberTarget {
        /// A 32-bit signed integer.
        Int32 "32 bits",
        /// A 64-bit signed integer.
        Int64 "64 bits",
        /// A 64-bit unsigned integer.
        Uint64 "64 bits without sign",
        /// A 32-bit float.
        Float "a float",
        /// A 64-bit float.
        Double "a double",
    }

    /// A header or annotation with keys.
    pub enum KeyContext {
        /// The header of a model.
        Model "a model's header",
        /// The header of a function.
        Function "a function's header",
        /// The annotation of a graph.
        Graph "a graph's annotation",
        /// The annotation of a node.
        Node "a node's annotation",
        /// The annotation of a value.
        Value "a value's annotation",
        /// The annotation of a constant.
        Tensor "a constant's annotation",
        /// The annotation of an attribute.
        Attribute "an attribute's annotation",
    }
}

/// A parse error without line and column.
#[derive(Debug)]
pub(super) struct UnlocatedError {
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) kind: Box<ParseErrorKind>,
}

pub(super) type Result<T> = std::result::Result<T, UnlocatedError>;

impl UnlocatedError {
    pub(super) fn locate(self, text: &str) -> ParseError {
        let before = text.get(..self.offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ParseError {
            offset: self.offset,
            length: self.length,
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            kind: *self.kind,
        }
    }
}

impl Found {
    pub(super) fn of(token: Token<'_>) -> Self {
        match token {
            Token::Identifier(name) => Self::Name(clip(name)),
            Token::String(literal) => Self::String(clip(&literal.value())),
            Token::Number(literal) => Self::Number(clip(literal)),
            Token::Punct(punct) => Self::Punct(punct),
            Token::End => Self::End,
        }
    }
}

/// Truncates a text for an error message.
pub(super) fn clip(text: &str) -> String {
    if text.len() <= MAX_QUOTED {
        return text.to_owned();
    }
    let mut end = MAX_QUOTED;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Punct(punct) => write!(f, "`{}`", punct.as_str()),
            Self::CommaOr(punct) => write!(f, "`,` or `{}`", punct.as_str()),
            Self::Name(of) => write!(f, "{of}"),
            Self::Type => f.write_str("a type"),
            Self::ElementType => f.write_str("an element type"),
            Self::Dim => f.write_str("a dim (a number, a name, an expression or `?`)"),
            Self::Integer => f.write_str("an integer"),
            Self::Number => f.write_str("a number"),
            Self::String => f.write_str("a string"),
            Self::Value => f.write_str("a value"),
            Self::Data => f.write_str("the data of a constant (`{...}` or `[...]`)"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{name}`"),
            Self::String(value) => write!(f, "the string {value:?}"),
            Self::Number(literal) => write!(f, "the number `{literal}`"),
            Self::Punct(punct) => write!(f, "`{}`", punct.as_str()),
            Self::End => f.write_str("the end of the text"),
        }
    }
}
