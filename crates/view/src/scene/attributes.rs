//! Attributes and small tensors as short texts.

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::view::{Attribute as Decoded, NodeView, TensorView};
use typeloom_solver::program::Initializer;
use typeloom_types::dtype::Dtype;

use super::types::{MAX_TEXT, elements_text};
use super::{Attribute, Form, MAX_ELEMENTS};
use crate::text::short;

/// Maximum number of attributes of a node.
const MAX_ATTRIBUTES: usize = 32;

/// The attributes of a node without nested graphs. Malformed ones are left out: the check reports them.
pub(super) fn of_node(node: NodeView<'_>) -> Vec<Attribute> {
    let decoded = node.attributes().filter_map(|attribute| attribute.ok()?.parse().ok());
    let shown = decoded.filter_map(|attribute| {
        let text = text(&attribute)?;
        Some(Attribute { name: attribute.name.to_owned(), text: short(&text, MAX_TEXT) })
    });
    shown.take(MAX_ATTRIBUTES).collect()
}

/// The value of an attribute; `None` for graphs.
fn text(attribute: &Decoded<'_>) -> Option<String> {
    if let Some(name) = attribute.ref_attr_name {
        return Some(format!("@{name}"));
    }
    Some(match attribute.attribute_type()? {
        AttributeType::Float => attribute.f.unwrap_or_default().to_string(),
        AttributeType::Int => integer(attribute.name, attribute.i.unwrap_or_default()),
        AttributeType::String => quoted(attribute.s.unwrap_or_default()),
        AttributeType::Tensor => tensor(attribute.t.unwrap_or_default()),
        AttributeType::Floats => list(attribute.floats().filter_map(Result::ok).map(|it| it.to_string())),
        AttributeType::Ints => list(attribute.ints().filter_map(Result::ok).map(|it| it.to_string())),
        AttributeType::Strings => list(attribute.strings().filter_map(Result::ok).map(quoted)),
        AttributeType::Tensors => list(attribute.tensors().filter_map(Result::ok).map(tensor)),
        AttributeType::SparseTensor | AttributeType::SparseTensors => "sparse tensor".to_owned(),
        AttributeType::TypeProto | AttributeType::TypeProtos => "type".to_owned(),
        AttributeType::Undefined | AttributeType::Graph | AttributeType::Graphs => return None,
    })
}

/// An integer; an element type by its name.
fn integer(name: &str, number: i64) -> String {
    let is_type = matches!(name, "to" | "dtype" | "output_dtype");
    let dtype = i32::try_from(number).ok().filter(|_| is_type).and_then(Dtype::from_onnx_number);
    dtype.map_or_else(|| number.to_string(), |dtype| dtype.onnx_name().to_owned())
}

/// The first elements of a list.
fn list(mut items: impl Iterator<Item = String>) -> String {
    let mut shown: Vec<String> = items.by_ref().take(MAX_ELEMENTS).collect();
    if items.next().is_some() {
        shown.push("\u{2026}".to_owned());
    }
    format!("[{}]", shown.join(", "))
}

fn quoted(text: &[u8]) -> String {
    let text = &text[..text.len().min(4 * MAX_TEXT)];
    format!("\"{}\"", String::from_utf8_lossy(text))
}

/// The element type and extents of a tensor, and the elements of a small one.
fn tensor(view: TensorView<'_>) -> String {
    let Ok(header) = view.header() else { return "tensor".to_owned() };
    let name = Dtype::from_onnx_number(header.data_type).map_or("tensor", Dtype::onnx_name);
    let dims: Vec<String> = header.dims.iter().map(ToString::to_string).collect();
    let ty = if dims.is_empty() { name.to_owned() } else { format!("{name}[{}]", dims.join(", ")) };
    match preview(view) {
        Some(elements) => format!("{ty} {}", elements.text()),
        None => ty,
    }
}

/// The elements of a small tensor in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Elements {
    /// Integers, which shapes can come from.
    Integers(Vec<i64>, Form),
    /// Other elements, as short text.
    Text(String),
}

impl Elements {
    fn text(self) -> String {
        match self {
            Self::Integers(items, form) => elements_text(items.iter().map(ToString::to_string), form),
            Self::Text(text) => text,
        }
    }
}

/// The elements of a small tensor.
fn preview(view: TensorView<'_>) -> Option<Elements> {
    let is_scalar = view.header().ok()?.dims.is_empty();
    let form = |count: usize| if is_scalar && count == 1 { Form::Scalar } else { Form::List };
    let items: Vec<String> = if let Ok(Some(ints)) = view.int_values(MAX_ELEMENTS) {
        let form = form(ints.len());
        return Some(Elements::Integers(ints, form));
    } else if let Ok(Some(floats)) = view.float_values(MAX_ELEMENTS) {
        // Floats of 16 and 32 bits are printed with their own precision.
        floats.iter().map(|it| (*it as f32).to_string()).collect()
    } else if let Ok(Some(strings)) = view.string_values(MAX_ELEMENTS) {
        strings.iter().map(|text| quoted(text)).collect()
    } else {
        return None;
    };
    let form = form(items.len());
    Some(Elements::Text(elements_text(items, form)))
}

/// The elements of a small initializer.
pub(super) fn of_initializer(initializer: Initializer<'_>) -> Option<Elements> {
    match initializer {
        Initializer::Dense(tensor) => preview(tensor),
        Initializer::Sparse(_) => None,
    }
}

/// The number of elements of a dense initializer.
pub(super) fn count(initializer: Initializer<'_>) -> u64 {
    let Initializer::Dense(tensor) = initializer else { return 0 };
    let dims = tensor.header().map(|header| header.dims).unwrap_or_default();
    let extents = dims.iter().map(|extent| u64::try_from(*extent).unwrap_or(0));
    extents.fold(1, u64::saturating_mul)
}

/// The elements of a small `Constant` node.
pub(super) fn of_constant(node: NodeView<'_>) -> Option<Elements> {
    let attribute = node.attributes().find_map(|attribute| attribute.ok()?.parse().ok())?;
    if let Some(tensor) = attribute.t {
        return preview(tensor);
    }
    let integers = || {
        let kind = attribute.attribute_type().filter(|_| attribute.ref_attr_name.is_none())?;
        if kind == AttributeType::Int {
            return Some(Elements::Integers(vec![attribute.i.unwrap_or_default()], Form::Scalar));
        }
        let mut items = attribute.ints().filter_map(Result::ok);
        let shown = items.by_ref().take(MAX_ELEMENTS).collect();
        let form = if items.next().is_some() { Form::Beginning } else { Form::List };
        (kind == AttributeType::Ints).then_some(Elements::Integers(shown, form))
    };
    integers().or_else(|| text(&attribute).map(|text| Elements::Text(short(&text, MAX_TEXT))))
}
