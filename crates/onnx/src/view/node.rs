//! Views of nodes.

use super::{AttributeView, EntryView, GraphView};
use super::{last_string, messages, name, strings, views};
use crate::error::DecodeError;
use crate::wire::{Field, Fields};

views! {
    /// A view of one `NodeProto`.
    NodeView,
}

/// One field of a node.
#[derive(Clone, Copy, Debug)]
pub enum NodeField<'a> {
    /// The name of a value it reads; empty for an optional input that is left out.
    Input(&'a str),
    /// The name of a value it makes; empty for an optional output that is left out.
    Output(&'a str),
    /// The node's own name.
    Name(&'a str),
    /// The operator.
    OpType(&'a str),
    /// An attribute.
    Attribute(AttributeView<'a>),
    /// The operator set's domain.
    Domain(&'a str),
    /// Tells apart functions of one name and domain.
    Overload(&'a str),
    /// A named fact.
    Metadata(EntryView<'a>),
    /// A field that no reader of graphs needs, or an unknown one.
    Other(Field<'a>),
}

/// The fields of a node in file order.
#[derive(Clone, Copy, Debug)]
pub struct NodeFields<'a> {
    fields: Fields<'a>,
}

impl<'a> Iterator for NodeFields<'a> {
    type Item = Result<NodeField<'a>, DecodeError>;

    // Where nodes are read is the hottest loop of checking a model; as a call it takes a quarter more instructions.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let read = match self.fields.next()? {
            Ok(field) => read_field(&field),
            Err(error) => return Some(Err(error)),
        };
        if read.is_err() {
            self.fields.stop();
        }
        Some(read)
    }
}

impl std::iter::FusedIterator for NodeFields<'_> {}

#[inline(always)]
fn read_field<'a>(field: &Field<'a>) -> Result<NodeField<'a>, DecodeError> {
    Ok(match field.number {
        1 => NodeField::Input(field.string(name!("NodeProto", "input"))?),
        2 => NodeField::Output(field.string(name!("NodeProto", "output"))?),
        3 => NodeField::Name(field.string(name!("NodeProto", "name"))?),
        4 => NodeField::OpType(field.string(name!("NodeProto", "op_type"))?),
        5 => {
            let (bytes, offset) = field.bytes(name!("NodeProto", "attribute"))?;
            NodeField::Attribute(AttributeView::from_body(bytes, offset))
        }
        7 => NodeField::Domain(field.string(name!("NodeProto", "domain"))?),
        8 => NodeField::Overload(field.string(name!("NodeProto", "overload"))?),
        9 => {
            let (bytes, offset) = field.bytes(name!("NodeProto", "metadata_props"))?;
            NodeField::Metadata(EntryView::from_body(bytes, offset))
        }
        _ => NodeField::Other(*field),
    })
}

impl<'a> NodeView<'a> {
    /// The fields in file order, in one pass.
    #[inline]
    pub const fn fields(&self) -> NodeFields<'a> {
        NodeFields { fields: self.wire_fields() }
    }

    /// The node's own name.
    pub fn name(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 3, name!("NodeProto", "name"))
    }

    /// The operator.
    pub fn op_type(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 4, name!("NodeProto", "op_type"))
    }

    /// The operator set's domain.
    pub fn domain(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 7, name!("NodeProto", "domain"))
    }

    /// Tells apart functions of one name and domain.
    pub fn overload(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 8, name!("NodeProto", "overload"))
    }

    /// Names of the values it reads.
    pub fn inputs(&self) -> impl Iterator<Item = Result<&'a str, DecodeError>> + Clone + use<'a> {
        strings(self.wire_fields(), 1, name!("NodeProto", "input"))
    }

    /// Names of the values it makes.
    pub fn outputs(&self) -> impl Iterator<Item = Result<&'a str, DecodeError>> + Clone + use<'a> {
        strings(self.wire_fields(), 2, name!("NodeProto", "output"))
    }

    /// The graphs in the attributes, in the order of the attributes.
    pub fn graphs(&self) -> Result<Vec<GraphView<'a>>, DecodeError> {
        let mut graphs = Vec::new();
        for attribute in self.attributes() {
            let attribute = attribute?.parse()?;
            graphs.extend(attribute.g());
            for graph in attribute.graphs() {
                graphs.push(graph?);
            }
        }
        Ok(graphs)
    }

    /// The attributes.
    pub fn attributes(
        &self,
    ) -> impl Iterator<Item = Result<AttributeView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 5, name!("NodeProto", "attribute"), AttributeView::from_body)
    }

    /// Named facts.
    pub fn metadata_props(
        &self,
    ) -> impl Iterator<Item = Result<EntryView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 9, name!("NodeProto", "metadata_props"), EntryView::from_body)
    }
}
