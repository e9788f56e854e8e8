//! Types and typed names.

use typeloom_types::dtype::Dtype;

use crate::messages::type_proto::{self, Value};
use crate::messages::{SharedText, TensorShapeProto, TypeProto, ValueInfoProto};
use crate::text::error::{Expected, KeyContext, NameOf, ParseErrorKind, Result, clip};
use crate::text::lexer::{Punct, Token};
use crate::text::names::{begins_type, element_type};

use super::Parser;

impl Parser<'_> {
    /// Whether a type starts here, in a position that also accepts a name.
    pub(super) fn at_type(&self) -> bool {
        match self.token() {
            Token::Identifier("undefined") => {
                matches!(
                    self.peek(),
                    Some(
                        Token::Identifier(_)
                            | Token::String(_)
                            | Token::Punct(Punct::LeftBracket | Punct::At)
                    )
                )
            }
            Token::Identifier(word) => begins_type(word),
            Token::Punct(Punct::Question) => true,
            Token::String(_) | Token::Number(_) | Token::Punct(_) | Token::End => false,
        }
    }

    /// A type. Only containers count as levels; a tensor type does not, so that values of the innermost graph
    /// can have types.
    pub(super) fn ty(&mut self) -> Result<TypeProto> {
        let value = self.type_value()?;
        Ok(TypeProto { value, denotation: self.denotation()?, ..Default::default() })
    }

    /// An optional denotation, `@"denotation"`.
    pub(super) fn denotation(&mut self) -> Result<Option<SharedText>> {
        if self.at(Punct::At) && matches!(self.peek(), Some(Token::String(_))) {
            self.advance()?;
            return Ok(Some(self.string()?.into()));
        }
        Ok(None)
    }

    fn type_value(&mut self) -> Result<Option<Value>> {
        let word = match self.token() {
            Token::Identifier(word) => word,
            Token::Punct(Punct::Question) => {
                self.advance()?;
                return Ok(None);
            }
            Token::String(_) | Token::Number(_) | Token::Punct(_) | Token::End => {
                return Err(self.unexpected(Expected::Type));
            }
        };
        if let Some(element) = element_type(word) {
            self.advance()?;
            let shape = self.shape()?;
            let elem_type = element.map(Dtype::onnx_number);
            return Ok(Some(Value::TensorType(type_proto::Tensor {
                elem_type,
                shape,
                ..Default::default()
            })));
        }
        if !begins_type(word) {
            return Err(self.unexpected(Expected::Type));
        }
        self.advance()?;
        self.expect(Punct::LeftParen)?;
        let value = match word {
            "seq" => {
                let elem_type = self.optional_inner_type()?;
                Value::SequenceType(type_proto::Sequence { elem_type, ..Default::default() })
            }
            "optional" => {
                let elem_type = self.optional_inner_type()?;
                Value::OptionalType(type_proto::Optional { elem_type, ..Default::default() })
            }
            "map" => {
                let key_type = self.element_type()?;
                let value_type = if self.eat(Punct::Comma)? { Some(self.inner_type()?) } else { None };
                Value::MapType(type_proto::Map { key_type, value_type, ..Default::default() })
            }
            "sparse_tensor" => {
                let elem_type = self.element_type()?;
                let shape = self.shape()?;
                Value::SparseTensorType(type_proto::SparseTensor { elem_type, shape, ..Default::default() })
            }
            // The keywords that start a type are the element types and these five.
            _ => Value::OpaqueType(self.opaque()?),
        };
        self.expect(Punct::RightParen)?;
        Ok(Some(value))
    }

    /// The optional type in `seq()` or `optional()`.
    fn optional_inner_type(&mut self) -> Result<Option<Box<TypeProto>>> {
        if self.at(Punct::RightParen) { Ok(None) } else { Ok(Some(self.inner_type()?)) }
    }

    /// A nested type; `?` has no nested types and does not count as a level.
    fn inner_type(&mut self) -> Result<Box<TypeProto>> {
        let ty = if self.at(Punct::Question) { self.ty() } else { self.nested(Self::ty) };
        ty.map(Box::new)
    }

    /// An element type as the value of a field; `None` for `undefined`.
    fn element_type(&mut self) -> Result<Option<i32>> {
        let Token::Identifier(word) = self.token() else {
            return Err(self.unexpected(Expected::ElementType));
        };
        let Some(element) = element_type(word) else {
            return Err(self.error(ParseErrorKind::UnknownElementType(clip(word))));
        };
        self.advance()?;
        Ok(element.map(Dtype::onnx_number))
    }

    /// `[dims]`; a scalar without brackets, an unknown rank with empty brackets.
    fn shape(&mut self) -> Result<Option<TensorShapeProto>> {
        let mut shape = TensorShapeProto::default();
        if self.eat(Punct::LeftBracket)? {
            if self.eat(Punct::RightBracket)? {
                return Ok(None);
            }
            self.some_items(Punct::RightBracket, &mut shape.dim, Self::dim)?;
        }
        Ok(Some(shape))
    }

    /// After `opaque(`: nothing, `name`, or `domain, name`; both may be dotted.
    fn opaque(&mut self) -> Result<type_proto::Opaque> {
        let mut opaque = type_proto::Opaque::default();
        if self.at(Punct::RightParen) {
            return Ok(opaque);
        }
        opaque.name = Some(self.qualified_name()?);
        if self.eat(Punct::Comma)? {
            opaque.domain = opaque.name.replace(self.qualified_name()?);
        }
        Ok(opaque)
    }

    fn qualified_name(&mut self) -> Result<String> {
        let mut name = self.name(NameOf::OpaqueType)?;
        while self.eat(Punct::Dot)? {
            name.push('.');
            name.push_str(&self.name(NameOf::OpaqueType)?);
        }
        Ok(name)
    }

    /// `type? name annotation?`
    pub(super) fn value_info(&mut self) -> Result<ValueInfoProto> {
        let mut value = ValueInfoProto::default();
        if self.at_type() {
            value.r#type = Some(self.ty()?);
        }
        value.name = Some(self.name(NameOf::Value)?);
        let (doc_string, metadata_props) = (&mut value.doc_string, &mut value.metadata_props);
        self.annotation(KeyContext::Value, doc_string, Some(metadata_props), |_, _| Ok(false))?;
        Ok(value)
    }
}
