//! Printed nodes and declarations, with labels below their parts.
//!
//! A node is decoded from its own bytes and printed by the textual syntax, nested graphs elided.
//! Attributes that are too large for one line are shown without their value, so the cost of a
//! snippet is bounded.

use bytes::Bytes;
use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::{AttributeProto, GraphProto, NodeProto, TensorProto, read};
use typeloom_onnx::text::span::{NodeSpans, Span};
use typeloom_onnx::text::{Focus, PrintOptions, print_node, print_type};
use typeloom_onnx::view::{Attribute, AttributeView, NodeField, NodeView, TensorView, TypeView};

use super::scope::escaped;
use super::{Label, Snippet, clip};

/// The maximum size of an attribute that is decoded to be shown, in bytes.
const MAX_BYTES: usize = 1 << 14;

/// The maximum number of inputs, outputs and attributes of a node that are decoded to be shown.
const MAX_PARTS: usize = 1 << 10;

/// A part of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part<'n> {
    /// The operator's name.
    Operator,
    /// An input.
    Input(usize),
    /// An output.
    Output(usize),
    /// An attribute, by name; the operator if the node does not have it.
    Attribute(&'n str),
    /// The name of an attribute; the operator if the node does not have it.
    AttributeName(&'n str),
}

/// A label for a part of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark<'n> {
    pub(super) part: Part<'n>,
    pub(super) text: String,
    /// Whether this part is the cause of the problem.
    pub(super) primary: bool,
}

impl<'n> Mark<'n> {
    /// Marks the cause of the problem.
    pub(super) fn primary(part: Part<'n>, text: impl Into<String>) -> Self {
        Self { part, text: text.into(), primary: true }
    }

    /// Marks context.
    pub(super) fn context(part: Part<'n>, text: impl Into<String>) -> Self {
        Self { part, text: text.into(), primary: false }
    }
}

/// The printed node with its marks; `None` if its bytes are malformed.
pub(super) fn snippet(node: NodeView<'_>, position: usize, marks: &[Mark<'_>]) -> Option<Snippet> {
    let proto = proto(node).ok()?;
    let mut options = PrintOptions::display();
    options.focus = focus(&proto, marks);
    let printed = print_node(&proto, &options);
    let mut labels: Vec<Label> = Vec::new();
    for Mark { part, text, primary } in marks {
        let span = span(&printed.spans, *part).range();
        match labels.iter_mut().find(|label| label.span == span) {
            Some(same) if same.text == *text => same.primary |= *primary,
            Some(same) if !text.is_empty() => {
                same.primary |= *primary;
                same.text =
                    if same.text.is_empty() { text.clone() } else { format!("{}; {text}", same.text) };
            }
            Some(same) => same.primary |= *primary,
            None => labels.push(Label { span, text: text.clone(), primary: *primary }),
        }
    }
    labels.sort_by_key(|label| (label.span.start, label.span.end));
    for label in &mut labels {
        label.text = escaped(std::mem::take(&mut label.text));
    }
    Some(Snippet { text: printed.text, line: Some(position), location: None, labels })
}

/// A declaration `float[2] x` with a label under its name and, if it has a type, one under the type.
pub(super) fn declaration(ty: &str, name: &str, label: String, primary: bool) -> Snippet {
    let name = clip(name, 64);
    let text = escaped(if ty.is_empty() { name } else { format!("{ty} {name}") });
    let span = 0..text.len();
    Snippet { text, line: None, location: None, labels: vec![Label { span, text: escaped(label), primary }] }
}

/// A declared type as the file contains it.
pub(super) fn type_text(ty: TypeView<'_>) -> Option<String> {
    if ty.bytes().len() > MAX_BYTES {
        return None;
    }
    read(Bytes::copy_from_slice(ty.bytes())).ok().map(|ty| print_type(&ty))
}

fn focus(node: &NodeProto, marks: &[Mark<'_>]) -> Focus {
    let mut focus = Focus::default();
    for mark in marks {
        match mark.part {
            Part::Operator => {}
            Part::Input(at) => focus.inputs.push(at),
            Part::Output(at) => focus.outputs.push(at),
            Part::Attribute(name) | Part::AttributeName(name) => {
                focus.attributes.extend(node.attribute.iter().position(|attribute| attribute.name() == name));
            }
        }
    }
    focus
}

fn span(spans: &NodeSpans, part: Part<'_>) -> Span {
    let found = match part {
        Part::Operator => None,
        Part::Input(at) => spans.input(at),
        Part::Output(at) => spans.output(at),
        Part::Attribute(name) => spans.attribute(name).map(|attribute| attribute.span),
        Part::AttributeName(name) => spans.attribute(name).map(|attribute| attribute.name),
    };
    // An omitted input is printed as an empty name, which cannot be underlined.
    found.filter(|span| !span.is_empty()).unwrap_or(spans.operator)
}

/// The node as a message, without the parts that are not shown.
fn proto(node: NodeView<'_>) -> Result<NodeProto, DecodeError> {
    let mut proto = NodeProto::default();
    for field in node.fields() {
        match field? {
            NodeField::Input(name) if proto.input.len() < MAX_PARTS => proto.input.push(name.to_owned()),
            NodeField::Output(name) if proto.output.len() < MAX_PARTS => proto.output.push(name.to_owned()),
            NodeField::Name(name) => proto.name = name.into(),
            NodeField::OpType(name) => proto.op_type = name.into(),
            NodeField::Domain(name) => proto.domain = name.into(),
            NodeField::Overload(name) => proto.overload = name.into(),
            NodeField::Attribute(view) if proto.attribute.len() < MAX_PARTS => {
                proto.attribute.push(attribute(view)?);
            }
            NodeField::Input(_)
            | NodeField::Output(_)
            | NodeField::Attribute(_)
            | NodeField::Metadata(_)
            | NodeField::Other(_) => {}
        }
    }
    Ok(proto)
}

fn attribute(view: AttributeView<'_>) -> Result<AttributeProto, DecodeError> {
    let parsed = view.parse()?;
    let holds_graphs = parsed.g.is_some() || parsed.graphs().next().is_some();
    if view.bytes().len() <= MAX_BYTES && !holds_graphs {
        return read(Bytes::copy_from_slice(view.bytes()));
    }
    thin(&parsed)
}

/// An attribute without its payload.
fn thin(attribute: &Attribute<'_>) -> Result<AttributeProto, DecodeError> {
    let tensor = |tensor: TensorView<'_>| -> Result<TensorProto, DecodeError> {
        let header = tensor.header()?;
        let dims = header.dims.iter().take(8).copied().collect();
        Ok(TensorProto { dims, data_type: Some(header.data_type), ..TensorProto::default() })
    };
    Ok(AttributeProto {
        name: attribute.name.into(),
        r#type: Some(attribute.kind),
        ref_attr_name: attribute.ref_attr_name.map(str::to_owned).into(),
        t: attribute.t.map(tensor).transpose()?.map(Box::new),
        g: attribute.g.map(|_| Box::new(GraphProto::default())),
        graphs: attribute
            .graphs()
            .take(MAX_PARTS)
            .map(|graph| graph.map(|_| GraphProto::default()))
            .collect::<Result<_, _>>()?,
        ..AttributeProto::default()
    })
}

/// The positions of the inputs in the text of a node: after the last open parenthesis outside of other ones, and
/// after each comma inside of it.
#[must_use]
pub fn input_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' if !is_escaped => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' | '<' => {
                depth += 1;
                if depth == 1 && letter == '(' {
                    starts = vec![at + 1];
                }
            }
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 1 && !starts.is_empty() => starts.push((at + 2).min(text.len())),
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    starts
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use typeloom_onnx::text::parse_node;

    use super::*;

    fn print(proto: &NodeProto, marks: &[Mark<'_>]) -> Snippet {
        let bytes = proto.encode_to_vec();
        snippet(NodeView::from_body(&bytes, 0), 3, marks).unwrap()
    }

    fn labelled(snippet: &Snippet) -> Vec<(&str, &str)> {
        snippet.labels.iter().map(|label| (&snippet.text[label.span.clone()], label.text.as_str())).collect()
    }

    #[test]
    fn labels_are_under_the_marked_parts_in_the_order_of_the_text() {
        let node = parse_node("y = Gemm <alpha = 2.0> (a, b, c)").unwrap();
        let marks = [
            Mark::primary(Part::Input(2), "third"),
            Mark::context(Part::Attribute("alpha"), "attribute"),
            Mark::context(Part::Output(0), "result"),
            Mark::context(Part::Operator, "operator"),
        ];
        let snippet = print(&node, &marks);
        let expected = [("y", "result"), ("Gemm", "operator"), ("alpha = 2.0", "attribute"), ("c", "third")];
        assert_eq!(labelled(&snippet), expected);
        assert_eq!(snippet.line, Some(3));
    }

    #[test]
    fn a_mark_at_a_missing_part_is_shown_at_the_operator() {
        let node = parse_node("y = Add(\"\", x)").unwrap();
        let marks = [
            Mark::primary(Part::Input(7), "no such input"),
            Mark::primary(Part::Attribute("axis"), "no such attribute"),
        ];
        assert_eq!(labelled(&print(&node, &marks)), [("Add", "no such input; no such attribute")]);
    }

    #[test]
    fn a_marked_input_is_shown_however_long_the_list_is() {
        let mut node = parse_node("y = Concat <axis = 0> (a)").unwrap();
        node.input = (0..500).map(|at| format!("x{at}")).collect();
        let snippet = print(&node, &[Mark::primary(Part::Input(250), "this one")]);
        assert_eq!(labelled(&snippet), [("x250", "this one")]);
        assert!(snippet.text.len() < 200, "{}", snippet.text);
    }

    #[test]
    fn large_attributes_are_left_out_of_the_line() {
        let mut node = parse_node("y = Constant <value = float[2] {1.0, 2.0}> ()").unwrap();
        let tensor = node.attribute[0].t.as_mut().unwrap();
        tensor.dims = vec![1 << 20];
        tensor.float_data = vec![0.5; 1 << 20];
        let snippet = print(&node, &[Mark::primary(Part::Operator, "")]);
        assert!(snippet.text.len() < 100, "{}", snippet.text);
        assert!(snippet.text.contains("float[1048576]"), "{}", snippet.text);
    }
}
