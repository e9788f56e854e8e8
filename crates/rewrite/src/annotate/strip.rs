//! Takes annotations out of a model, by their marks.

use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::splice::{Records, Splice, Spliced};
use typeloom_onnx::view::{ModelView, NodeView, ValueInfoView};
use typeloom_onnx::wire::{Fields, WireValue};
use typeloom_solver::program::MAX_NESTING;

use super::{ADDED, AnnotateError, FILLED, INPUT, MARK, OUTPUT, VALUE_INFO, from_hex, value_info};

/// A model without annotations.
#[derive(Clone, Debug)]
pub struct Stripped<'a> {
    /// The file as it was.
    pub file: Spliced<'a>,
    /// How many entries went.
    pub removed: usize,
    /// How many entries are again what they were.
    pub restored: usize,
}

/// The fields of a graph or function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Graph,
    Function,
}

/// Takes out what [`annotate`](super::annotate()) wrote; whether the model type-checks does not matter.
///
/// # Errors
/// [`AnnotateError`].
pub fn strip(bytes: &[u8]) -> Result<Stripped<'_>, AnnotateError> {
    let model = ModelView::new(bytes)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    let (mut removed, mut restored) = (0, 0);
    let mut open: Vec<(Part, Fields<'_>, usize)> = Vec::new();
    open.extend(model.graph().map(|graph| (Part::Graph, graph.wire_fields(), 0)));
    for function in model.functions() {
        open.push((Part::Function, function?.wire_fields(), 0));
    }
    while let Some((part, fields, depth)) = open.pop() {
        let body = fields.offset();
        for field in fields {
            let field = field?;
            match (part, field.number) {
                (Part::Graph, 1) | (Part::Function, 7) => {
                    if let WireValue::Len(bytes, offset) = field.value
                        && depth < MAX_NESTING
                    {
                        let graphs = NodeView::from_body(bytes, offset).graphs()?;
                        open.extend(graphs.iter().map(|it| (Part::Graph, it.wire_fields(), depth + 1)));
                    }
                }
                (Part::Graph, INPUT | OUTPUT | VALUE_INFO) | (Part::Function, 12) => {
                    let Some(info) = value_info(&field) else { continue };
                    match marked(info)? {
                        None => {}
                        Some(Mark::Added) => {
                            splice.remove(body, &field);
                            removed += 1;
                        }
                        Some(Mark::Filled(old)) => {
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

enum Mark {
    Added,
    Filled(Vec<u8>),
}

fn marked(info: ValueInfoView<'_>) -> Result<Option<Mark>, AnnotateError> {
    for entry in info.metadata_props() {
        let entry = entry?;
        if entry.key()? != MARK {
            continue;
        }
        let bad = AnnotateError::BadMark { offset: info.offset() };
        return match entry.value()? {
            ADDED => Ok(Some(Mark::Added)),
            value => {
                value.strip_prefix(FILLED).and_then(from_hex).map(|old| Some(Mark::Filled(old))).ok_or(bad)
            }
        };
    }
    Ok(None)
}
