//! Models and functions: a header of keys, followed by a graph, or by a signature and a body.

use crate::messages::{FunctionProto, ModelProto, OperatorSetIdProto, ValueInfoProto};
use crate::text::error::{KeyContext, NameOf, NumberTarget, Result};
use crate::text::lexer::{Punct, Token};

use super::Parser;

impl Parser<'_> {
    pub(super) fn model(&mut self) -> Result<ModelProto> {
        let mut model = ModelProto::default();
        if self.eat(Punct::Less)? {
            self.keyed(KeyContext::Model, Punct::Greater, |parser, key| {
                match key {
                    "ir_version" => model.ir_version = Some(parser.integer(NumberTarget::Int64)?),
                    "opset_import" => parser.opset_imports(&mut model.opset_import)?,
                    "producer_name" => model.producer_name = parser.string()?.into(),
                    "producer_version" => model.producer_version = parser.string()?.into(),
                    "domain" => model.domain = parser.string()?.into(),
                    "model_version" => model.model_version = Some(parser.integer(NumberTarget::Int64)?),
                    "doc_string" => model.doc_string = parser.string()?.into(),
                    "metadata_props" => model.metadata_props.extend(parser.string_pairs()?),
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        model.graph = Some(self.graph()?);
        while self.token() != Token::End {
            model.functions.push(self.function()?);
        }
        Ok(model)
    }

    pub(super) fn function(&mut self) -> Result<FunctionProto> {
        let mut function = FunctionProto::default();
        if self.eat(Punct::Less)? {
            self.keyed(KeyContext::Function, Punct::Greater, |parser, key| {
                match key {
                    "opset_import" => parser.opset_imports(&mut function.opset_import)?,
                    "domain" => function.domain = parser.string()?.into(),
                    "overload" => function.overload = parser.string()?.into(),
                    "doc_string" => function.doc_string = parser.string()?.into(),
                    "metadata_props" => function.metadata_props.extend(parser.string_pairs()?),
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        function.name = self.name(NameOf::Function)?.into();
        self.formal_attributes(&mut function)?;
        let FunctionProto { input, output, value_info, .. } = &mut function;
        self.formals(input, value_info)?;
        self.expect(Punct::Arrow)?;
        self.formals(output, value_info)?;
        if self.eat(Punct::Less)? {
            self.items(Punct::Greater, value_info, Self::value_info)?;
        }
        self.nodes(&mut function.node)?;
        Ok(function)
    }

    /// Optional formal attributes: `<name, name: type = default, ...>`.
    fn formal_attributes(&mut self, function: &mut FunctionProto) -> Result<()> {
        if !self.eat(Punct::Less)? {
            return Ok(());
        }
        self.list_of_some(Punct::Greater, |parser| {
            let name = parser.name(NameOf::Attribute)?;
            if parser.at(Punct::Colon) || parser.at(Punct::Equals) || parser.at_annotation() {
                function.attribute_proto.push(parser.attribute(name)?);
            } else {
                function.attribute.push(name);
            }
            Ok(())
        })
    }

    /// `(name, type name, ...)`. A typed name also adds a value info.
    fn formals(&mut self, names: &mut Vec<String>, value_infos: &mut Vec<ValueInfoProto>) -> Result<()> {
        self.expect(Punct::LeftParen)?;
        self.list(Punct::RightParen, |parser| {
            let value = parser.value_info()?;
            names.push(value.name.clone().into());
            if value.r#type.is_some() {
                value_infos.push(value);
            }
            Ok(())
        })
    }

    /// `["domain": version, ...]`
    fn opset_imports(&mut self, imports: &mut Vec<OperatorSetIdProto>) -> Result<()> {
        self.entries(imports, |parser, domain| {
            let version = Some(parser.integer(NumberTarget::Int64)?);
            Ok(OperatorSetIdProto { domain: domain.into(), version, ..Default::default() })
        })
    }
}
