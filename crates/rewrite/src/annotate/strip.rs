//! Removal of annotations by their tags.

use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::splice::{Records, Splice, Spliced};
use typeloom_onnx::view::{ModelView, NodeView, ValueInfoView};
use typeloom_onnx::wire::WireValue;
use typeloom_solver::program::MAX_NESTING;

use super::{ADDED, AnnotateError, FILLED, MARK};
use crate::coerce::layout::Source;

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

/// Removes the annotations that [`annotate`](super::annotate()) wrote. The model need not type-check.
///
/// # Errors
/// [`AnnotateError`].
pub fn strip(bytes: &[u8]) -> Result<Stripped<'_>, AnnotateError> {
    let model = ModelView::new(bytes)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    let (mut removed, mut restored) = (0, 0);
    let mut open: Vec<(Source<'_>, usize)> = Vec::new();
    open.extend(model.graph().map(|graph| (Source::Graph(graph), 0)));
    for function in model.functions() {
        open.push((Source::Function(function?), 0));
    }
    while let Some((source, depth)) = open.pop() {
        for field in source.fields() {
            let field = field?;
            if let WireValue::Len(bytes, offset) = field.value
                && field.number == source.node_field()
                && depth < MAX_NESTING
            {
                let graphs = NodeView::from_body(bytes, offset).graphs()?;
                open.extend(graphs.into_iter().map(|graph| (Source::Graph(graph), depth + 1)));
            }
            let Some(info) = source.declaration(&field) else { continue };
            match tag(info)? {
                None => {}
                Some(Tag::Added) => {
                    splice.remove(source.offset(), &field);
                    removed += 1;
                }
                Some(Tag::Filled(old)) => {
                    splice.replace(source.offset(), &field, Records::new().bytes(field.number, old));
                    restored += 1;
                }
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
                let old = value.strip_prefix(FILLED).and_then(|old| hex::decode(old).ok());
                old.map(|old| Some(Tag::Filled(old))).ok_or(bad)
            }
        };
    }
    Ok(None)
}
