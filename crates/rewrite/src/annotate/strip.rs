//! Removal of annotations by their tags.

use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::splice::{Records, Splice, Spliced};
use typeloom_onnx::view::{ModelView, NodeView, ValueInfoView};
use typeloom_onnx::wire::{Fields, WireValue};
use typeloom_solver::program::MAX_NESTING;

use super::{ADDED, AnnotateError, FILLED, MARK, from_hex, value_info};
use crate::fields::{
    FUNCTION_NODE, FUNCTION_VALUE_INFO, GRAPH_INPUT, GRAPH_NODE, GRAPH_OUTPUT, GRAPH_VALUE_INFO,
};

/// A model without annotations.
#[derive(Clone, Debug)]
pub struct Stripped<'a> {
    /// The file without annotations.
    pub file: Spliced<'a>,
    /// The number of removed entries.
    pub removed: usize,
    /// The number of restored entries.
    pub restored: usize,
}

/// The kind of a message with nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Graph,
    Function,
}

/// Removes what [`annotate`](super::annotate()) wrote. The model need not type-check.
///
/// # Errors
/// [`AnnotateError`].
pub fn strip(bytes: &[u8]) -> Result<Stripped<'_>, AnnotateError> {
    let model = ModelView::new(bytes)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    let (mut removed, mut restored) = (0, 0);
    let mut open: Vec<(Holder, Fields<'_>, usize)> = Vec::new();
    open.extend(model.graph().map(|graph| (Holder::Graph, graph.wire_fields(), 0)));
    for function in model.functions() {
        open.push((Holder::Function, function?.wire_fields(), 0));
    }
    while let Some((holder, fields, depth)) = open.pop() {
        let body = fields.offset();
        for field in fields {
            let field = field?;
            match (holder, field.number) {
                (Holder::Graph, GRAPH_NODE) | (Holder::Function, FUNCTION_NODE) => {
                    if let WireValue::Len(bytes, offset) = field.value
                        && depth < MAX_NESTING
                    {
                        let graphs = NodeView::from_body(bytes, offset).graphs()?;
                        open.extend(graphs.iter().map(|it| (Holder::Graph, it.wire_fields(), depth + 1)));
                    }
                }
                (Holder::Graph, GRAPH_INPUT | GRAPH_OUTPUT | GRAPH_VALUE_INFO)
                | (Holder::Function, FUNCTION_VALUE_INFO) => {
                    let Some(info) = value_info(&field) else { continue };
                    match tag(info)? {
                        None => {}
                        Some(Tag::Added) => {
                            splice.remove(body, &field);
                            removed += 1;
                        }
                        Some(Tag::Filled(old)) => {
                            splice.replace(body, &field, &Records::new().bytes(field.number, old));
                            restored += 1;
                        }
                    }
                }
                _ => {}
            }
        }
    }
    Ok(Stripped { file: splice.finish()?, removed, restored })
}

enum Tag {
    Added,
    Filled(Vec<u8>),
}

fn tag(info: ValueInfoView<'_>) -> Result<Option<Tag>, AnnotateError> {
    for entry in info.metadata_props() {
        let entry = entry?;
        if entry.key()? != MARK {
            continue;
        }
        let bad = AnnotateError::BadMark { offset: info.offset() };
        return match entry.value()? {
            ADDED => Ok(Some(Tag::Added)),
            value => {
                value.strip_prefix(FILLED).and_then(from_hex).map(|old| Some(Tag::Filled(old))).ok_or(bad)
            }
        };
    }
    Ok(None)
}
