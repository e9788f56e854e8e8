//! Nodes: `[name] outputs = domain.Operator:overload <attributes> (inputs)`.

use crate::messages::NodeProto;
use crate::text::error::{KeyContext, NameOf, Result};
use crate::text::lexer::Punct;

use super::Parser;

impl Parser<'_> {
    /// `{ node* }`
    pub(super) fn nodes(&mut self, nodes: &mut Vec<NodeProto>) -> Result<()> {
        self.expect(Punct::LeftBrace)?;
        while !self.eat(Punct::RightBrace)? {
            nodes.push(self.node()?);
        }
        Ok(())
    }

    pub(super) fn node(&mut self) -> Result<NodeProto> {
        let mut node = NodeProto::default();
        if self.eat(Punct::LeftBracket)? {
            node.name = self.optional_name()?.unwrap_or_default().into();
            self.expect(Punct::RightBracket)?;
        }
        self.ports(&mut node.output)?;
        self.expect(Punct::Equals)?;
        self.operator(&mut node)?;
        self.attributes(&mut node.attribute)?;
        self.expect(Punct::LeftParen)?;
        self.ports(&mut node.input)?;
        self.expect(Punct::RightParen)?;
        if node.attribute.is_empty() {
            self.attributes(&mut node.attribute)?;
        }
        let (doc_string, metadata_props) = (&mut node.doc_string, &mut node.metadata_props);
        self.annotation(KeyContext::Node, doc_string, Some(metadata_props), |_, _| Ok(false))?;
        Ok(node)
    }

    /// Comma-separated names of values. An omitted port is `""` or an empty position before a comma; a
    /// trailing comma adds no port: `(,x)` has two ports, `(x,)` and `(,)` have one.
    fn ports(&mut self, ports: &mut Vec<String>) -> Result<()> {
        loop {
            match self.optional_name()? {
                Some(name) => ports.push(name),
                None if self.at(Punct::Comma) => ports.push(String::new()),
                None => return Ok(()),
            }
            if !self.eat(Punct::Comma)? {
                return Ok(());
            }
        }
    }

    /// The last part of a dotted name is the operator, the others are the domain.
    fn operator(&mut self, node: &mut NodeProto) -> Result<()> {
        let mut operator = self.name(NameOf::Operator)?;
        let mut domain: Option<String> = None;
        while self.eat(Punct::Dot)? {
            let part = std::mem::replace(&mut operator, self.name(NameOf::Operator)?);
            match &mut domain {
                None => domain = Some(part),
                Some(domain) => {
                    domain.push('.');
                    domain.push_str(&part);
                }
            }
        }
        node.op_type = operator.into();
        node.domain = domain.into();
        if self.eat(Punct::Colon)? {
            node.overload = self.name(NameOf::Overload)?.into();
        }
        Ok(())
    }
}
