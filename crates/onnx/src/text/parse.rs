//! Recursive-descent parser of the textual syntax, with one token of look-ahead.
//!
//! One submodule per layer of the grammar: [`types`], [`tensors`] (constants), [`attributes`], [`nodes`],
//! [`graphs`] and [`models`] (with functions). This module contains the entry points and shared rules.
//!
//! **Invariant:** recursion is bounded by [`MAX_NESTING`]: recursive rules call each other through
//! [`Parser::nested`]. All loops consume at least one token per iteration.
//!
//! **Invariant:** memory is linear in the length of the text.

mod attributes;
mod dims;
mod graphs;
mod models;
mod nodes;
mod tensors;
mod types;

pub(super) use dims::is_canonical_dim;

use std::ops::Neg;
use std::str::FromStr;

use bytes::Bytes;

use crate::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, Text, TypeProto, ValueInfoProto,
};

use super::composite::CompositeText;
use super::error::{
    Expected, Found, KeyContext, NameOf, NumberTarget, ParseError, ParseErrorKind, Result, UnlocatedError,
    clip,
};
use super::lexer::{Lexeme, Lexer, Punct, Token};
use super::names::is_float_word;

/// Maximum depth of graphs and containers together, and of parentheses in one dim expression.
///
/// 32 nested graphs take 94 levels of messages. Together with the types of the innermost graph they stay
/// below protobuf's limit of 100, so every parsed message can be encoded and decoded.
pub const MAX_NESTING: u32 = 32;

/// Parses a model: `<ir_version: 10, opset_import: ["": 21]> name (inputs) => (outputs) { nodes }` and
/// functions.
///
/// ```
/// let model = typeloom_onnx::text::parse_model(
///     r#"<ir_version: 10, opset_import: ["": 21]>
///        masked (float[N, 128] x, float[128] mask) => (float[N, 128] scores) {
///            scores = Add(x, mask)
///        }"#,
/// )?;
/// assert_eq!(model.graph.unwrap_or_default().node[0].op_type(), "Add");
/// # Ok::<(), typeloom_onnx::text::ParseError>(())
/// ```
pub fn parse_model(text: &str) -> std::result::Result<ModelProto, ParseError> {
    whole(text, Parser::model)
}

/// Parses a model and serializes it.
pub fn model_bytes(text: &str) -> std::result::Result<Vec<u8>, ParseError> {
    parse_model(text).map(|model| prost::Message::encode_to_vec(&model))
}

/// Parses a graph: `name (inputs) => (outputs) <initializers and types> { nodes }`.
pub fn parse_graph(text: &str) -> std::result::Result<GraphProto, ParseError> {
    whole(text, Parser::graph)
}

/// Parses a function: `<domain: "d", opset_import: ["": 21]> name <attributes> (inputs) => (outputs) { nodes
/// }`.
pub fn parse_function(text: &str) -> std::result::Result<FunctionProto, ParseError> {
    whole(text, Parser::function)
}

/// Parses a node: `[name] outputs = domain.Operator <attributes> (inputs)`.
pub fn parse_node(text: &str) -> std::result::Result<NodeProto, ParseError> {
    whole(text, Parser::node)
}

/// Parses a type, such as `float[batch, 3, 224, 224]` or `seq(map(int64, float))`.
///
/// As in ONNX's syntax, `float` is a scalar and `float[]` a tensor of unknown rank, for which `float[...]` is
/// another notation. Element types also have the names of other tools (`half`, `float32`, `tensor(float)`), see
/// [`Dtype`](typeloom_types::dtype::Dtype); in a model, these are names of values.
pub fn parse_type(text: &str) -> std::result::Result<TypeProto, ParseError> {
    whole(text, |parser| {
        parser.is_type = true;
        parser.ty()
    })
}

/// Parses the text of a composite type that is nested `depth` levels deep.
pub(super) fn parse_composite(text: &str, depth: u32) -> Result<CompositeText> {
    let mut parser = Parser::new(text)?;
    parser.depth = depth;
    let composite = parser.composite()?;
    match parser.token() {
        Token::End => Ok(composite),
        _ => Err(parser.unexpected(Expected::End)),
    }
}

/// Parses a value with an optional type: `float[N] x` or `x`.
pub fn parse_value_info(text: &str) -> std::result::Result<ValueInfoProto, ParseError> {
    whole(text, Parser::value_info)
}

fn whole<'a, T>(text: &'a str, rule: fn(&mut Parser<'a>) -> Result<T>) -> std::result::Result<T, ParseError> {
    let parse = || {
        let mut parser = Parser::new(text)?;
        let parsed = rule(&mut parser)?;
        match parser.token() {
            Token::End => Ok(parsed),
            _ => Err(parser.unexpected(Expected::End)),
        }
    };
    parse().map_err(|error: UnlocatedError| error.locate(text))
}

/// The state of the parser.
struct Parser<'a> {
    lexer: Lexer<'a>,
    lexeme: Lexeme<'a>,
    depth: u32,
    /// Whether the text is one type, in which no value has a name.
    is_type: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let mut lexer = Lexer::new(text);
        let lexeme = lexer.next()?;
        Ok(Self { lexer, lexeme, depth: 0, is_type: false })
    }

    /// The current token.
    fn token(&self) -> Token<'a> {
        self.lexeme.token
    }

    /// The next token; `None` if it is malformed.
    fn peek(&self) -> Option<Token<'a>> {
        let mut ahead = self.lexer;
        ahead.next().ok().map(|lexeme| lexeme.token)
    }

    fn advance(&mut self) -> Result<()> {
        self.lexeme = self.lexer.next()?;
        Ok(())
    }

    fn at(&self, punct: Punct) -> bool {
        self.token() == Token::Punct(punct)
    }

    fn peek_is(&self, punct: Punct) -> bool {
        self.peek() == Some(Token::Punct(punct))
    }

    /// Whether an annotation, `@{`, starts here.
    fn at_annotation(&self) -> bool {
        self.at(Punct::At) && self.peek_is(Punct::LeftBrace)
    }

    fn eat(&mut self, punct: Punct) -> Result<bool> {
        let found = self.at(punct);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, punct: Punct) -> Result<()> {
        if self.eat(punct)? { Ok(()) } else { Err(self.unexpected(Expected::Punct(punct))) }
    }

    /// An error at the current token.
    fn error(&self, kind: ParseErrorKind) -> UnlocatedError {
        error_at(self.lexeme, kind)
    }

    fn unexpected(&self, expected: Expected) -> UnlocatedError {
        self.error(ParseErrorKind::Unexpected { expected, found: Found::of(self.token()) })
    }

    /// Applies a rule one level deeper.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_NESTING {
            return Err(self.error(ParseErrorKind::TooDeep { limit: MAX_NESTING }));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Parses list items up to and including the closing mark; the opening mark has been consumed.
    fn list(&mut self, close: Punct, item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if self.eat(close)? { Ok(()) } else { self.list_of_some(close, item) }
    }

    /// As [`list`](Self::list), for lists of at least one item.
    fn list_of_some(&mut self, close: Punct, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        loop {
            item(self)?;
            if self.eat(close)? {
                return Ok(());
            }
            if !self.eat(Punct::Comma)? {
                return Err(self.unexpected(Expected::CommaOr(close)));
            }
        }
    }

    /// As [`list`](Self::list), and collects the items.
    fn items<T>(
        &mut self,
        close: Punct,
        items: &mut Vec<T>,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<()> {
        if self.eat(close)? { Ok(()) } else { self.some_items(close, items, item) }
    }

    /// As [`list_of_some`](Self::list_of_some), and collects the items.
    fn some_items<T>(
        &mut self,
        close: Punct,
        items: &mut Vec<T>,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<()> {
        self.list_of_some(close, |parser| {
            items.push(item(parser)?);
            Ok(())
        })
    }

    /// `["key": value, ...]`, where `entry` reads the value.
    fn entries<T>(
        &mut self,
        entries: &mut Vec<T>,
        mut entry: impl FnMut(&mut Self, String) -> Result<T>,
    ) -> Result<()> {
        self.expect(Punct::LeftBracket)?;
        self.items(Punct::RightBracket, entries, |parser| {
            let key = parser.string()?;
            parser.expect(Punct::Colon)?;
            entry(parser, key)
        })
    }

    /// An optional name, quoted or not.
    fn optional_name(&mut self) -> Result<Option<String>> {
        let name = match self.token() {
            Token::Identifier(name) => name.to_owned(),
            Token::String(literal) => literal.value().into_owned(),
            Token::Number(_) | Token::Punct(_) | Token::End => return Ok(None),
        };
        self.advance()?;
        Ok(Some(name))
    }

    fn name(&mut self, of: NameOf) -> Result<String> {
        match self.optional_name()? {
            Some(name) => Ok(name),
            None => Err(self.unexpected(Expected::Name(of))),
        }
    }

    fn string(&mut self) -> Result<String> {
        let Token::String(literal) = self.token() else { return Err(self.unexpected(Expected::String)) };
        self.advance()?;
        Ok(literal.value().into_owned())
    }

    /// Whether `hex"..."` starts here.
    fn at_hex(&self) -> bool {
        self.token() == Token::Identifier("hex") && matches!(self.peek(), Some(Token::String(_)))
    }

    /// `hex"00ff"`: arbitrary bytes.
    fn hex(&mut self) -> Result<Bytes> {
        self.advance()?;
        let Token::String(literal) = self.token() else { return Err(self.unexpected(Expected::String)) };
        let text = literal.value();
        let bytes = hex::decode(&*text).map_err(|_| self.error(ParseErrorKind::MalformedHex))?;
        self.advance()?;
        Ok(bytes.into())
    }

    /// A byte string: `"..."` or `hex"..."`.
    fn byte_string(&mut self) -> Result<Bytes> {
        if self.at_hex() { self.hex() } else { Ok(self.string()?.into()) }
    }

    /// An optional number with sign; the words `nan`, `inf` and `-infinity` are numbers.
    fn optional_number(&mut self) -> Result<Option<Number<'a>>> {
        let start = self.lexeme.start;
        let negative = self.at(Punct::Minus);
        let token = if negative { self.peek() } else { Some(self.token()) };
        let (digits, float) = match token {
            Some(Token::Number(digits)) => (digits, digits.contains(['.', 'e', 'E'])),
            Some(Token::Identifier(word)) if is_float_word(word) => (word, true),
            _ => return Ok(None),
        };
        if negative {
            self.advance()?;
        }
        let at = Lexeme { token: self.token(), start, end: self.lexeme.end };
        self.advance()?;
        Ok(Some(Number { negative, digits, float, at }))
    }

    fn number(&mut self) -> Result<Number<'a>> {
        match self.optional_number()? {
            Some(number) => Ok(number),
            None => Err(self.unexpected(Expected::Number)),
        }
    }

    /// An integer with sign, without a point.
    fn integer<I: TryFrom<i128>>(&mut self, target: NumberTarget) -> Result<I> {
        let before = self.lexeme;
        let (at, found) = match self.optional_number()? {
            Some(number) if !number.float => return number.to_integer(target),
            Some(number) => (number.at, Found::Number(number.literal())),
            None => (before, Found::of(before.token)),
        };
        Err(error_at(at, ParseErrorKind::Unexpected { expected: Expected::Integer, found }))
    }

    /// `["key": "value", ...]`
    fn string_pairs(&mut self) -> Result<Vec<StringStringEntryProto>> {
        let mut pairs = Vec::new();
        self.entries(&mut pairs, |parser, key| {
            let (key, value) = (key.into(), parser.string()?.into());
            Ok(StringStringEntryProto { key, value, ..Default::default() })
        })?;
        Ok(pairs)
    }

    /// `key: value, ...` up to and including the closing mark; `read` returns false for an unknown key.
    fn keyed(
        &mut self,
        context: KeyContext,
        close: Punct,
        mut read: impl FnMut(&mut Self, &str) -> Result<bool>,
    ) -> Result<()> {
        self.list_of_some(close, |parser| {
            let at = parser.lexeme;
            let Token::Identifier(key) = parser.token() else {
                return Err(parser.unexpected(Expected::Name(NameOf::Key)));
            };
            parser.advance()?;
            parser.expect(Punct::Colon)?;
            if read(parser, key)? {
                Ok(())
            } else {
                Err(error_at(at, ParseErrorKind::UnknownKey { key: clip(key), context }))
            }
        })
    }

    /// An optional annotation `@{doc_string: "...", metadata_props: [...]}`. `more` reads other keys.
    fn annotation(
        &mut self,
        context: KeyContext,
        doc_string: &mut Text,
        metadata_props: Option<&mut Vec<StringStringEntryProto>>,
        mut more: impl FnMut(&mut Self, &str) -> Result<bool>,
    ) -> Result<()> {
        if !self.at_annotation() {
            return Ok(());
        }
        self.advance()?;
        self.advance()?;
        let mut metadata_props = metadata_props;
        self.keyed(context, Punct::RightBrace, |parser, key| {
            match (key, metadata_props.as_deref_mut()) {
                ("doc_string", _) => *doc_string = parser.string()?.into(),
                ("metadata_props", Some(metadata_props)) => *metadata_props = parser.string_pairs()?,
                _ => return more(parser, key),
            }
            Ok(true)
        })
    }
}

/// An error at one token.
fn error_at(lexeme: Lexeme<'_>, kind: ParseErrorKind) -> UnlocatedError {
    UnlocatedError { offset: lexeme.start, length: lexeme.end - lexeme.start, kind: Box::new(kind) }
}

/// A number literal before conversion to a type.
#[derive(Clone, Copy)]
struct Number<'a> {
    negative: bool,
    digits: &'a str,
    float: bool,
    at: Lexeme<'a>,
}

impl Number<'_> {
    fn literal(self) -> String {
        clip(&format!("{}{}", if self.negative { "-" } else { "" }, self.digits))
    }

    fn out_of_range(self, target: NumberTarget) -> UnlocatedError {
        error_at(self.at, ParseErrorKind::NumberOutOfRange { literal: self.literal(), target })
    }

    fn to_integer<I: TryFrom<i128>>(self, target: NumberTarget) -> Result<I> {
        let magnitude = self.digits.parse::<u64>().ok().map(i128::from);
        let number = magnitude.map(|magnitude| if self.negative { -magnitude } else { magnitude });
        number.and_then(|number| number.try_into().ok()).ok_or_else(|| self.out_of_range(target))
    }

    fn to_float<F>(self, target: NumberTarget, is_finite: fn(F) -> bool) -> Result<F>
    where
        F: FromStr + Neg<Output = F> + Copy,
    {
        let magnitude = self.digits.parse::<F>().ok();
        magnitude
            .filter(|magnitude| is_finite(*magnitude) || is_float_word(self.digits))
            .map(|magnitude| if self.negative { -magnitude } else { magnitude })
            .ok_or_else(|| self.out_of_range(target))
    }
}
