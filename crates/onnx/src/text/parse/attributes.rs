//! Attributes: `name: type = value`. The type is required for empty lists only.
//!
//! The parser infers the type of an attribute from its value, and compares it with the declared type, if
//! there is one:
//!
//! ```text
//! axis = 1                  INT
//! alpha: float = 1          FLOAT, from an integer
//! pads = [0, 1]             INTS
//! scales = [1, 2.5]         FLOATS: the integers before the first float are converted
//! value = float[2] {1, 2}   TENSOR
//! body = g (x) => (y) {}    GRAPH
//! axis: int = @k            the attribute `k` of the function; without `int`, the type is left out
//! axes: ints = []           no element determines the type
//! ```
//!
//! The first token of a value determines its kind, except in three cases, which the next token decides: a
//! type is a constant if a name or data follows, and a string or the word `undefined` is the name of a graph
//! if the body of a graph follows. Elements of a list are stored in the field of their type while they are
//! read. The time is linear in the text.
//!
//! **Invariant:** the type of an attribute and the field that is set agree. A reference inside a list is an
//! error, because `AttributeProto` cannot represent it. Nested graphs and types count as levels of
//! [`MAX_NESTING`](super::MAX_NESTING).

use bytes::Bytes;

use crate::messages::attribute_proto::AttributeType;
use crate::messages::{AttributeProto, GraphProto, SparseTensorProto, TensorProto, TypeProto, type_proto};
use crate::text::error::{
    Expected, KeyContext, NameOf, NumberTarget, ParseErrorKind, Result, UnlocatedError, clip,
};
use crate::text::lexer::{Punct, Token};
use crate::text::names::{attribute_type, attribute_type_name, element_of, is_float_word, list_of};

use super::{Number, Parser, error_at};

/// A single value of an attribute.
enum Single<'a> {
    Number(Number<'a>),
    String(Bytes),
    Tensor(Box<TensorProto>),
    Sparse(Box<SparseTensorProto>),
    Graph(Box<GraphProto>),
    Type(Box<TypeProto>),
    Reference(String),
}

impl Single<'_> {
    /// The attribute type of this value.
    fn ty(&self) -> AttributeType {
        match self {
            Self::Number(number) if number.float => AttributeType::Float,
            Self::Number(_) => AttributeType::Int,
            Self::String(_) => AttributeType::String,
            Self::Tensor(_) => AttributeType::Tensor,
            Self::Sparse(_) => AttributeType::SparseTensor,
            Self::Graph(_) => AttributeType::Graph,
            Self::Type(_) => AttributeType::TypeProto,
            Self::Reference(_) => AttributeType::Undefined,
        }
    }
}

impl<'a> Parser<'a> {
    /// Optional attributes: `<attribute, ...>`.
    pub(super) fn attributes(&mut self, attributes: &mut Vec<AttributeProto>) -> Result<()> {
        if self.eat(Punct::Less)? {
            self.some_items(Punct::Greater, attributes, |parser| {
                let name = parser.name(NameOf::Attribute)?;
                parser.attribute(name)
            })?;
        }
        Ok(())
    }

    /// The rest of an attribute after its name.
    pub(super) fn attribute(&mut self, name: String) -> Result<AttributeProto> {
        let mut attribute = AttributeProto { name: name.into(), ..Default::default() };
        let declared = if self.eat(Punct::Colon)? { Some(self.attribute_type()?) } else { None };
        self.annotation(KeyContext::Attribute, &mut attribute.doc_string, None, |_, _| Ok(false))?;
        self.expect(Punct::Equals)?;
        if self.at(Punct::LeftBracket) {
            self.attribute_list(&mut attribute, declared)?;
        } else {
            self.attribute_single(&mut attribute, declared)?;
        }
        Ok(attribute)
    }

    fn attribute_type(&mut self) -> Result<AttributeType> {
        let Token::Identifier(word) = self.token() else {
            return Err(self.unexpected(Expected::Name(NameOf::AttributeType)));
        };
        let ty = attribute_type(word)
            .ok_or_else(|| self.error(ParseErrorKind::UnknownAttributeType(clip(word))))?;
        self.advance()?;
        Ok(ty)
    }

    fn attribute_single(
        &mut self,
        attribute: &mut AttributeProto,
        declared: Option<AttributeType>,
    ) -> Result<()> {
        let at = self.lexeme;
        let value = self.single()?;
        let found = value.ty();
        let mismatch = |declared| {
            error_at(
                at,
                ParseErrorKind::AttributeType {
                    attribute: clip(attribute.name()),
                    declared: attribute_type_name(declared),
                    found: attribute_type_name(found),
                },
            )
        };
        match (&value, declared) {
            (Single::Reference(_), _) | (_, None) => {}
            (Single::Number(_), Some(AttributeType::Float)) => {}
            (_, Some(declared)) if declared == found => {}
            (_, Some(declared)) => return Err(mismatch(declared)),
        }
        let ty = match &value {
            Single::Reference(_) => declared.filter(|&ty| ty != AttributeType::Undefined),
            _ => Some(declared.unwrap_or(found)),
        };
        attribute.r#type = ty.map(|ty| ty as i32);
        match value {
            Single::Number(number) if ty == Some(AttributeType::Float) => {
                attribute.f = Some(number.to_float(NumberTarget::Float, f32::is_finite)?);
            }
            Single::Number(number) => attribute.i = Some(number.to_integer(NumberTarget::Int64)?),
            Single::String(bytes) => attribute.s = Some(bytes),
            Single::Tensor(tensor) => attribute.t = Some(tensor),
            Single::Sparse(sparse) => attribute.sparse_tensor = Some(sparse),
            Single::Graph(graph) => attribute.g = Some(graph),
            Single::Type(ty) => attribute.tp = Some(ty),
            Single::Reference(name) => attribute.ref_attr_name = name.into(),
        }
        Ok(())
    }

    /// `[value, ...]`. A list with integers and floats is a list of floats.
    fn attribute_list(
        &mut self,
        attribute: &mut AttributeProto,
        declared: Option<AttributeType>,
    ) -> Result<()> {
        let opening = self.lexeme;
        self.advance()?;
        // As in ONNX's syntax, `alpha: float = [1.0]` is a list of floats.
        let mut element = declared.map(|ty| element_of(ty).unwrap_or(ty));
        let mut promotable = declared.is_none();
        let mut empty = true;
        self.list(Punct::RightBracket, |parser| {
            let at = parser.lexeme;
            let value = parser.single()?;
            let found = value.ty();
            empty = false;
            match (element, found) {
                (_, AttributeType::Undefined) => {
                    let attribute = clip(attribute.name());
                    return Err(error_at(at, ParseErrorKind::ReferenceInList { attribute }));
                }
                (None, _) => element = Some(found),
                (Some(AttributeType::Float), AttributeType::Int) => {}
                (Some(AttributeType::Int), AttributeType::Float) if promotable => {
                    attribute.floats = attribute.ints.drain(..).map(|int| int as f32).collect();
                    element = Some(AttributeType::Float);
                }
                (Some(element), _) if element == found => {}
                (Some(element), _) => return Err(list_mismatch(attribute, declared, element, found, at)),
            }
            promotable = promotable && declared.is_none();
            push(attribute, value, element)
        })?;
        let name = || clip(attribute.name());
        let ty = match (element, declared) {
            (Some(element), _) if !empty => list_of(element).unwrap_or(element),
            (_, Some(list)) if element_of(list).is_some() || list == AttributeType::Undefined => list,
            (_, Some(declared)) => {
                let (declared, found) = (attribute_type_name(declared), "an empty list");
                let kind = ParseErrorKind::AttributeType { attribute: name(), declared, found };
                return Err(error_at(opening, kind));
            }
            (_, None) => {
                return Err(error_at(opening, ParseErrorKind::UntypedEmptyList { attribute: name() }));
            }
        };
        attribute.r#type = (ty != AttributeType::Undefined).then_some(ty as i32);
        Ok(())
    }

    fn single(&mut self) -> Result<Single<'a>> {
        if self.at_hex() {
            return Ok(Single::String(self.hex()?));
        }
        // In a position where only a graph has an unquoted name, `undefined` is a type unless a graph
        // follows.
        let undefined = self.token() == Token::Identifier("undefined") && !self.peek_is_graph_body();
        if undefined || self.at_type() {
            return self.typed_value();
        }
        match self.token() {
            Token::Identifier(word) if !is_float_word(word) => self.graph_value(),
            Token::String(_) if self.peek_is_graph_body() => self.graph_value(),
            Token::String(_) => Ok(Single::String(self.string()?.into())),
            Token::Punct(Punct::At) => {
                self.advance()?;
                Ok(Single::Reference(self.name(NameOf::Attribute)?))
            }
            Token::Identifier(_) | Token::Number(_) | Token::Punct(_) | Token::End => {
                match self.optional_number()? {
                    Some(number) => Ok(Single::Number(number)),
                    None => Err(self.unexpected(Expected::Value)),
                }
            }
        }
    }

    /// Whether the current string is the name of a graph.
    fn peek_is_graph_body(&self) -> bool {
        matches!(self.peek(), Some(Token::Punct(Punct::LeftParen | Punct::Arrow | Punct::At)))
    }

    fn graph_value(&mut self) -> Result<Single<'a>> {
        Ok(Single::Graph(Box::new(self.graph()?)))
    }

    /// A type, or a constant, which starts with its type.
    fn typed_value(&mut self) -> Result<Single<'a>> {
        let at = self.lexeme;
        let ty = self.ty()?;
        let constant = match self.token() {
            Token::Identifier(_) | Token::String(_) => true,
            Token::Punct(Punct::LeftBrace | Punct::LeftBracket | Punct::Equals | Punct::At) => true,
            Token::Number(_) | Token::Punct(_) | Token::End => false,
        };
        Ok(match &ty.value {
            _ if !constant => Single::Type(Box::new(ty)),
            Some(type_proto::Value::SparseTensorType(_)) => {
                Single::Sparse(Box::new(self.sparse_constant(&ty, at)?))
            }
            _ => Single::Tensor(Box::new(self.constant(&ty, at)?)),
        })
    }
}

fn push(attribute: &mut AttributeProto, value: Single<'_>, element: Option<AttributeType>) -> Result<()> {
    match value {
        Single::Number(number) if element == Some(AttributeType::Float) => {
            attribute.floats.push(number.to_float(NumberTarget::Float, f32::is_finite)?);
        }
        Single::Number(number) => attribute.ints.push(number.to_integer(NumberTarget::Int64)?),
        Single::String(bytes) => attribute.strings.push(bytes),
        Single::Tensor(tensor) => attribute.tensors.push(*tensor),
        Single::Sparse(sparse) => attribute.sparse_tensors.push(*sparse),
        Single::Graph(graph) => attribute.graphs.push(*graph),
        Single::Type(ty) => attribute.type_protos.push(*ty),
        // References in lists are rejected earlier.
        Single::Reference(_) => {}
    }
    Ok(())
}

fn list_mismatch(
    attribute: &AttributeProto,
    declared: Option<AttributeType>,
    element: AttributeType,
    found: AttributeType,
    at: crate::text::lexer::Lexeme<'_>,
) -> UnlocatedError {
    let name = clip(attribute.name());
    let found = attribute_type_name(found);
    let kind = match declared {
        Some(declared) => {
            ParseErrorKind::AttributeType { attribute: name, declared: attribute_type_name(declared), found }
        }
        None => ParseErrorKind::MixedList { attribute: name, first: attribute_type_name(element), found },
    };
    error_at(at, kind)
}
