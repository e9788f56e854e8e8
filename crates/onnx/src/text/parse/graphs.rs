//! Graphs: `name (inputs) => (outputs) <initializers and types> { nodes }`.

use crate::messages::{GraphProto, TensorAnnotation, TensorProto, ValueInfoProto, type_proto};
use crate::text::error::{KeyContext, NameOf, Result};
use crate::text::lexer::{Lexeme, Punct};

use super::Parser;

impl Parser<'_> {
    pub(super) fn graph(&mut self) -> Result<GraphProto> {
        self.nested(|parser| {
            let mut graph = GraphProto { name: parser.name(NameOf::Graph)?.into(), ..Default::default() };
            parser.graph_annotation(&mut graph)?;
            if parser.eat(Punct::LeftParen)? {
                parser.list(Punct::RightParen, |parser| parser.input(&mut graph))?;
            }
            parser.expect(Punct::Arrow)?;
            parser.expect(Punct::LeftParen)?;
            parser.items(Punct::RightParen, &mut graph.output, Self::value_info)?;
            if parser.eat(Punct::Less)? {
                parser.list(Punct::Greater, |parser| parser.header_entry(&mut graph))?;
            }
            parser.nodes(&mut graph.node)?;
            Ok(graph)
        })
    }

    /// An input, with `= data` for a default, which is stored as an initializer.
    fn input(&mut self, graph: &mut GraphProto) -> Result<()> {
        let at = self.lexeme;
        let value = self.value_info()?;
        if self.eat(Punct::Equals)? {
            let default = ValueInfoProto {
                name: value.name.clone(),
                r#type: value.r#type.clone(),
                ..Default::default()
            };
            self.constant_entry(default, at, graph)?;
        }
        graph.input.push(value);
        Ok(())
    }

    /// An initializer, or the type of a value.
    fn header_entry(&mut self, graph: &mut GraphProto) -> Result<()> {
        let at = self.lexeme;
        let value = self.value_info()?;
        if self.eat(Punct::Equals)? {
            self.constant_entry(value, at, graph)?;
        } else {
            graph.value_info.push(value);
        }
        Ok(())
    }

    fn constant_entry(
        &mut self,
        value: ValueInfoProto,
        at: Lexeme<'_>,
        graph: &mut GraphProto,
    ) -> Result<()> {
        let ty = value.r#type.unwrap_or_default();
        if let Some(type_proto::Value::SparseTensorType(_)) = &ty.value {
            let mut sparse = self.sparse_data(&ty, at, value.name.into_option())?;
            if let Some(values) = &mut sparse.values {
                if values.doc_string.is_none() {
                    values.doc_string = value.doc_string;
                }
                values.metadata_props.extend(value.metadata_props);
            }
            graph.sparse_initializer.push(sparse);
        } else {
            let mut tensor = TensorProto {
                name: value.name,
                doc_string: value.doc_string,
                metadata_props: value.metadata_props,
                ..Default::default()
            };
            self.initializer(&ty, at, &mut tensor)?;
            graph.initializer.push(tensor);
        }
        Ok(())
    }

    fn graph_annotation(&mut self, graph: &mut GraphProto) -> Result<()> {
        let GraphProto { doc_string, metadata_props, quantization_annotation, .. } = graph;
        self.annotation(KeyContext::Graph, doc_string, Some(metadata_props), |parser, key| {
            if key != "quantization_annotation" {
                return Ok(false);
            }
            parser.entries(quantization_annotation, |parser, tensor| {
                let quant_parameter_tensor_names = parser.string_pairs()?;
                let tensor_name = tensor.into();
                Ok(TensorAnnotation { tensor_name, quant_parameter_tensor_names, ..Default::default() })
            })?;
            Ok(true)
        })
    }
}
