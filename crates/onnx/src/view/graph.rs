//! Views of graphs.

use super::{EntryView, NodeView, SparseTensorView, TensorView, ValueInfoView};
use super::{fields, getters, views};
use crate::error::DecodeError;

views! {
    /// A view of one `GraphProto`.
    GraphView,
    /// A view of one `TensorAnnotation`.
    AnnotationView,
}

fields! {
    #[inline]
    pub enum GraphField of GraphView ("GraphProto"), GraphFields;
    /// Nodes.
    1 "node" Node(NodeView) => all nodes;
    /// The graph's name.
    2 "name" Name(str) => last name;
    /// Constants. A constant with the name of an input is the input's default.
    5 "initializer" Initializer(TensorView) => all initializers;
    /// Inputs.
    11 "input" Input(ValueInfoView) => all inputs;
    /// Outputs.
    12 "output" Output(ValueInfoView) => all outputs;
    /// Types of other values.
    13 "value_info" ValueInfo(ValueInfoView) => all value_info;
    /// Quantisation parameters of values.
    14 "quantization_annotation" QuantizationAnnotation(AnnotationView) => all quantization_annotations;
    /// Constants in sparse form.
    15 "sparse_initializer" SparseInitializer(SparseTensorView) => all sparse_initializers;
    /// Metadata entries.
    16 "metadata_props" Metadata(EntryView) => all metadata_props;
}

impl GraphFields<'_> {
    /// The absolute offset of the next field.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.fields.offset()
    }

    /// Skips consecutive nodes and returns their number.
    #[inline]
    pub fn skip_nodes(&mut self) -> usize {
        let mut count = 0;
        loop {
            let before = self.fields;
            match self.fields.next_bytes() {
                Some((GraphView::NODE, _)) => count += 1,
                Some(_) | None => {
                    self.fields = before;
                    return count;
                }
            }
        }
    }
}

impl GraphView<'_> {
    /// The field number of nodes.
    pub const NODE: u32 = 1;
}

getters! {
    AnnotationView of "TensorAnnotation";
    /// The annotated value.
    1 "tensor_name" last str tensor_name;
    /// For each parameter, the name of the tensor with its value.
    2 "quant_parameter_tensor_names" all EntryView quant_parameter_tensor_names;
}
