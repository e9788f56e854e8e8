//! Views of nodes.

use super::{AttributeView, EntryView, GraphView};
use super::{fields, views};
use crate::error::DecodeError;

views! {
    /// A view of one `NodeProto`.
    NodeView,
}

// Reading nodes is the hottest loop of checking a model; without inlining it takes a quarter more
// instructions.
fields! {
    #[inline(always)]
    pub enum NodeField of NodeView ("NodeProto"), NodeFields;
    /// Names of the input values; empty for an omitted optional input.
    1 "input" Input(str) => all inputs;
    /// Names of the output values; empty for an omitted optional output.
    2 "output" Output(str) => all outputs;
    /// The node's name.
    3 "name" Name(str) => last name;
    /// The operator.
    4 "op_type" OpType(str) => last op_type;
    /// Attributes.
    5 "attribute" Attribute(AttributeView) => all attributes;
    /// The domain of the operator set.
    7 "domain" Domain(str) => last domain;
    /// Distinguishes functions of the same name and domain.
    8 "overload" Overload(str) => last overload;
    /// Metadata entries.
    9 "metadata_props" Metadata(EntryView) => all metadata_props;
}

impl<'a> NodeView<'a> {
    /// The graphs in the attributes, in the order of the attributes.
    pub fn graphs(&self) -> Result<Vec<GraphView<'a>>, DecodeError> {
        let mut graphs = Vec::new();
        for attribute in self.attributes() {
            let attribute = attribute?.parse()?;
            graphs.extend(attribute.g);
            for graph in attribute.graphs() {
                graphs.push(graph?);
            }
        }
        Ok(graphs)
    }
}
