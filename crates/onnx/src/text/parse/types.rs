//! Types and typed names.

use std::collections::HashSet;

use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::lookup_by_id;

use crate::messages::type_proto::{self, Value};
use crate::messages::{SharedText, TensorShapeProto, Text, TypeProto, ValueInfoProto};
use crate::text::composite::{COMPOSITE, CompositeText, opaque};
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
            Token::Identifier(word) => begins_type(word) || self.at_composite(),
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
    pub(super) fn denotation(&mut self) -> Result<Text<SharedText>> {
        if self.at(Punct::At) && matches!(self.peek(), Some(Token::String(_))) {
            self.advance()?;
            return Ok(self.string()?.into());
        }
        Ok(Text::default())
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
        if self.at_composite() {
            let start = self.lexeme.start;
            let end = self.composite_end()?;
            return Ok(Some(Value::OpaqueType(opaque(self.lexer.slice(start, end).to_owned()))));
        }
        if self.is_type && word == "tensor" && self.peek_is(Punct::LeftParen) {
            self.advance()?;
            self.advance()?;
            let elem_type = self.element_type()?;
            self.expect(Punct::RightParen)?;
            let shape = self.shape()?;
            return Ok(Some(Value::TensorType(type_proto::Tensor {
                elem_type,
                shape,
                ..Default::default()
            })));
        }
        if let Some(element) = self.named_element(word) {
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
            let is_element = self.is_type && self.peek_is(Punct::LeftBracket);
            let unknown = || self.error(ParseErrorKind::UnknownElementType(clip(word)));
            return Err(if is_element { unknown() } else { self.unexpected(Expected::Type) });
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

    /// Whether `composite{` starts here. The word alone is a name.
    fn at_composite(&self) -> bool {
        self.token() == Token::Identifier(COMPOSITE) && self.peek_is(Punct::LeftBrace)
    }

    /// The children of a composite type.
    pub(super) fn composite(&mut self) -> Result<CompositeText> {
        let mut composite = CompositeText::default();
        self.children(&mut composite)?;
        self.expect(Punct::RightBrace)?;
        Ok(composite)
    }

    /// Parses a composite type and returns the position of its end.
    fn composite_end(&mut self) -> Result<usize> {
        self.children(&mut CompositeText::default())?;
        let end = self.lexeme.end;
        self.expect(Punct::RightBrace)?;
        Ok(end)
    }

    /// `composite{a: float, ..` up to the closing brace.
    fn children(&mut self, composite: &mut CompositeText) -> Result<()> {
        if !self.at_composite() {
            return Err(self.unexpected(Expected::Type));
        }
        self.advance()?;
        self.expect(Punct::LeftBrace)?;
        let mut names = HashSet::new();
        while !self.at(Punct::RightBrace) {
            if self.eat(Punct::Dot)? {
                self.expect(Punct::Dot)?;
                composite.is_open = true;
                return Ok(());
            }
            let known = self.unexpected(Expected::Name(NameOf::Child));
            let name = self.name(NameOf::Child)?;
            if !names.insert(name.clone()) {
                return Err(known);
            }
            self.expect(Punct::Colon)?;
            let ty = self.nested(Self::child_type)?;
            composite.children.push((name, ty));
            if !self.at(Punct::RightBrace) {
                self.expect(Punct::Comma)?;
            }
        }
        Ok(())
    }

    /// A type, or the id of a registered type node.
    fn child_type(&mut self) -> Result<TypeProto> {
        if self.at_type() {
            return self.ty();
        }
        let unknown = self.unexpected(Expected::Type);
        let id = self.qualified_name()?;
        let denotation = lookup_by_id(&id).map(|node| node.denotation).filter(|it| !it.is_empty());
        let denotation = denotation.ok_or(unknown)?;
        Ok(TypeProto { denotation: denotation.into(), ..TypeProto::default() })
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
        let Some(element) = self.named_element(word) else {
            return Err(self.error(ParseErrorKind::UnknownElementType(clip(word))));
        };
        self.advance()?;
        Ok(element.map(Dtype::onnx_number))
    }

    /// The element type of a word. In a text that is one type, it also has the names of other tools.
    fn named_element(&self, word: &str) -> Option<Option<Dtype>> {
        let other = || self.is_type.then(|| word.parse().ok()).flatten().map(Some);
        element_type(word).or_else(other)
    }

    /// `[dims]`; a scalar without brackets, an unknown rank as `[]` or `[...]`.
    fn shape(&mut self) -> Result<Option<TensorShapeProto>> {
        let mut shape = TensorShapeProto::default();
        if self.eat(Punct::LeftBracket)? {
            if self.eat(Punct::RightBracket)? {
                return Ok(None);
            }
            if self.eat(Punct::Dot)? {
                for punct in [Punct::Dot, Punct::Dot, Punct::RightBracket] {
                    self.expect(punct)?;
                }
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
        opaque.name = self.qualified_name()?.into();
        if self.eat(Punct::Comma)? {
            opaque.domain = std::mem::replace(&mut opaque.name, self.qualified_name()?.into());
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
        value.name = self.name(NameOf::Value)?.into();
        let (doc_string, metadata_props) = (&mut value.doc_string, &mut value.metadata_props);
        self.annotation(KeyContext::Value, doc_string, Some(metadata_props), |_, _| Ok(false))?;
        Ok(value)
    }
}
