//! Views of graphs.

use super::{EntryView, NodeView, SparseTensorView, TensorView, ValueInfoView};
use super::{last_string, messages, name, views};
use crate::error::DecodeError;
use crate::wire::{Field, Fields};

views! {
    /// A view of one `GraphProto`.
    GraphView,
    /// A view of one `TensorAnnotation`.
    AnnotationView,
}

/// One field of a graph.
#[derive(Clone, Copy, Debug)]
pub enum GraphField<'a> {
    /// A node.
    Node(NodeView<'a>),
    /// The graph's name.
    Name(&'a str),
    /// A constant, or the default of the input of the same name.
    Initializer(TensorView<'a>),
    /// A constant in sparse form.
    SparseInitializer(SparseTensorView<'a>),
    /// An input.
    Input(ValueInfoView<'a>),
    /// An output.
    Output(ValueInfoView<'a>),
    /// The type of another value.
    ValueInfo(ValueInfoView<'a>),
    /// The quantisation parameters of a value.
    QuantizationAnnotation(AnnotationView<'a>),
    /// A named fact.
    Metadata(EntryView<'a>),
    /// A field that no reader of graphs needs, or an unknown one.
    Other(Field<'a>),
}

/// The fields of a graph in file order.
#[derive(Clone, Copy, Debug)]
pub struct GraphFields<'a> {
    fields: Fields<'a>,
}

impl GraphFields<'_> {
    /// Passes over the nodes that follow, and says how many there were.
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

impl<'a> Iterator for GraphFields<'a> {
    type Item = Result<GraphField<'a>, DecodeError>;

    #[inline]
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

impl std::iter::FusedIterator for GraphFields<'_> {}

#[inline]
fn read_field<'a>(field: &Field<'a>) -> Result<GraphField<'a>, DecodeError> {
    let name = match field.number {
        1 => name!("GraphProto", "node"),
        2 => return field.string(name!("GraphProto", "name")).map(GraphField::Name),
        5 => name!("GraphProto", "initializer"),
        11 => name!("GraphProto", "input"),
        12 => name!("GraphProto", "output"),
        13 => name!("GraphProto", "value_info"),
        14 => name!("GraphProto", "quantization_annotation"),
        15 => name!("GraphProto", "sparse_initializer"),
        16 => name!("GraphProto", "metadata_props"),
        _ => return Ok(GraphField::Other(*field)),
    };
    let (bytes, offset) = field.bytes(name)?;
    Ok(match field.number {
        1 => GraphField::Node(NodeView::from_body(bytes, offset)),
        5 => GraphField::Initializer(TensorView::from_body(bytes, offset)),
        11 => GraphField::Input(ValueInfoView::from_body(bytes, offset)),
        12 => GraphField::Output(ValueInfoView::from_body(bytes, offset)),
        13 => GraphField::ValueInfo(ValueInfoView::from_body(bytes, offset)),
        14 => GraphField::QuantizationAnnotation(AnnotationView::from_body(bytes, offset)),
        15 => GraphField::SparseInitializer(SparseTensorView::from_body(bytes, offset)),
        _ => GraphField::Metadata(EntryView::from_body(bytes, offset)),
    })
}

impl<'a> GraphView<'a> {
    /// The number of the field that holds the nodes.
    pub const NODE: u32 = 1;

    /// The fields in file order, in one pass.
    #[inline]
    pub const fn fields(&self) -> GraphFields<'a> {
        GraphFields { fields: self.wire_fields() }
    }

    /// The graph's name.
    pub fn name(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 2, name!("GraphProto", "name"))
    }

    /// The nodes.
    pub fn nodes(&self) -> impl Iterator<Item = Result<NodeView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 1, name!("GraphProto", "node"), NodeView::from_body)
    }

    /// The constants.
    pub fn initializers(
        &self,
    ) -> impl Iterator<Item = Result<TensorView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 5, name!("GraphProto", "initializer"), TensorView::from_body)
    }

    /// The constants in sparse form.
    pub fn sparse_initializers(
        &self,
    ) -> impl Iterator<Item = Result<SparseTensorView<'a>, DecodeError>> + Clone + use<'a> {
        let name = name!("GraphProto", "sparse_initializer");
        messages(self.wire_fields(), 15, name, SparseTensorView::from_body)
    }

    /// The inputs.
    pub fn inputs(&self) -> impl Iterator<Item = Result<ValueInfoView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 11, name!("GraphProto", "input"), ValueInfoView::from_body)
    }

    /// The outputs.
    pub fn outputs(&self) -> impl Iterator<Item = Result<ValueInfoView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 12, name!("GraphProto", "output"), ValueInfoView::from_body)
    }

    /// The types of other values.
    pub fn value_info(
        &self,
    ) -> impl Iterator<Item = Result<ValueInfoView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 13, name!("GraphProto", "value_info"), ValueInfoView::from_body)
    }

    /// The quantisation parameters of values.
    pub fn quantization_annotations(
        &self,
    ) -> impl Iterator<Item = Result<AnnotationView<'a>, DecodeError>> + Clone + use<'a> {
        let name = name!("GraphProto", "quantization_annotation");
        messages(self.wire_fields(), 14, name, AnnotationView::from_body)
    }

    /// Named facts.
    pub fn metadata_props(
        &self,
    ) -> impl Iterator<Item = Result<EntryView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 16, name!("GraphProto", "metadata_props"), EntryView::from_body)
    }
}

impl<'a> AnnotationView<'a> {
    /// The value that is annotated.
    pub fn tensor_name(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 1, name!("TensorAnnotation", "tensor_name"))
    }

    /// For each parameter, the tensor that holds it.
    pub fn quant_parameter_tensor_names(
        &self,
    ) -> impl Iterator<Item = Result<EntryView<'a>, DecodeError>> + Clone + use<'a> {
        let name = name!("TensorAnnotation", "quant_parameter_tensor_names");
        messages(self.wire_fields(), 2, name, EntryView::from_body)
    }
}
