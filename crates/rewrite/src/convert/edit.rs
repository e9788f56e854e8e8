//! Edits of the file: sources in their new types, and casts without an effect.
//!
//! The nodes keep their positions, so the [conversions](crate::coerce) of a solution apply to the edited file.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::messages::{ModelProto, NodeProto, TensorProto, ValueInfoProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::view::{ModelView, NodeView, TensorView};
use typeloom_onnx::wire::{Field, WireValue};
use typeloom_solver::elem::Elem;
use typeloom_solver::program::GraphId;
use typeloom_types::dtype::Dtype;

use super::elements::converted;
use super::sources::{constant_tensor, restate};
use super::{ConvertError, ConvertedTensor, ReadSide, ValueKey};
use crate::coerce::graph_text;
use crate::coerce::layout::{BodyId, GraphLayout, Layout, Source};
use crate::coerce::write::WriteError;
use crate::declared::retype;
use crate::fields::{GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT};

/// The largest file of a model: a message of protocol buffers has at most 2 GiB.
const MAX_FILE: u64 = (1 << 31) - 1;

/// The changes of types that a file states.
#[derive(Debug, Default)]
pub(super) struct Restated {
    /// The new type of each source that changes.
    pub(super) sources: HashMap<ValueKey, Elem>,
    /// The type of each output of the model.
    pub(super) outputs: HashMap<usize, Elem>,
    /// The results of nodes `Cast` that no longer change the type, and that are outputs of graphs.
    pub(super) identities: HashSet<ValueKey>,
    /// The stored values that are also needed in the new type, although they keep the old one.
    pub(super) copied: HashMap<ValueKey, Elem>,
}

/// The edited file.
pub(super) struct Edited {
    pub(super) file: Vec<u8>,
    pub(super) tensors: Vec<ConvertedTensor>,
    /// The tensors of [`Restated::copied`].
    pub(super) copies: HashMap<ValueKey, TensorProto>,
}

struct Editor<'e> {
    restated: &'e Restated,
    side: Option<&'e ReadSide<'e>>,
    tensors: Vec<ConvertedTensor>,
    copies: HashMap<ValueKey, TensorProto>,
}

/// Changes the types that a file states.
pub(super) fn restated(
    bytes: &[u8],
    layouts: &[Layout<'_>],
    restated: &Restated,
    side: Option<&ReadSide<'_>>,
) -> Result<Edited, ConvertError> {
    let mut editor = Editor { restated, side, tensors: Vec::new(), copies: HashMap::new() };
    let size = editor.new_size(layouts)?;
    if size > MAX_FILE {
        return Err(ConvertError::TooLarge { bytes: size });
    }
    let mut splice = Splice::new::<ModelProto>(bytes);
    for (at, layout) in layouts.iter().enumerate() {
        for (graph, own) in layout.graphs() {
            editor.graph(BodyId::new(at), layout, graph, own, &mut splice)?;
        }
    }
    let spliced = splice.finish().map_err(WriteError::from)?;
    let size = spliced.byte_len() as u64;
    if size > MAX_FILE {
        return Err(ConvertError::TooLarge { bytes: size });
    }
    Ok(Edited { file: spliced.to_vec(), tensors: editor.tensors, copies: editor.copies })
}

impl Editor<'_> {
    /// The bytes of the converted initializers.
    fn new_size(&self, layouts: &[Layout<'_>]) -> Result<u64, ConvertError> {
        let mut size = 0;
        for (at, layout) in layouts.iter().enumerate() {
            for (graph, own) in layout.graphs() {
                for (_, tensor) in initializers(own)? {
                    let header = tensor.header().map_err(WriteError::from)?;
                    let key = (BodyId::new(at), graph, header.name().to_owned());
                    if let Some(to) = self.restated.sources.get(&key) {
                        let bits = to.dtype().and_then(Dtype::size_bits).unwrap_or(32);
                        size += header.element_count().unwrap_or(0) * u64::from(bits) / 8;
                    }
                }
            }
        }
        Ok(size)
    }

    fn report(
        &mut self,
        layout: &Layout<'_>,
        graph: GraphId,
        name: &str,
        to: Elem,
        loss: crate::coerce::TensorLoss,
    ) {
        let graph = graph_text(layout.is_function().then_some(layout.name), &layout.path(graph));
        self.tensors.push(ConvertedTensor { graph, name: name.to_owned(), to, loss });
    }

    fn graph(
        &mut self,
        body: BodyId,
        layout: &Layout<'_>,
        graph: GraphId,
        own: &GraphLayout<'_>,
        splice: &mut Splice<'_>,
    ) -> Result<(), ConvertError> {
        let message = own.source.offset();
        for (node, record) in own.nodes.iter().zip(&own.records) {
            let Some(name) = node.outputs().flatten().next() else { continue };
            let key = (body, graph, name.to_owned());
            let copy = self.restated.copied.get(&key).copied();
            let stated = self.restated.sources.get(&key).copied();
            if self.restated.identities.contains(&key) {
                let mut new: NodeProto = parsed(node.bytes())?;
                new.op_type = "Identity".into();
                new.attribute.clear();
                splice.replace(message, record, Records::new().message(record.number, &new));
                continue;
            }
            if copy.is_none() && stated.is_none() {
                continue;
            }
            let mut new: NodeProto = parsed(node.bytes())?;
            if let Some(to) = copy {
                let (tensor, loss) = constant_tensor(&new, to, self.side)?;
                self.report(layout, graph, name, to, loss);
                self.copies.insert(key.clone(), tensor);
            }
            if let Some(to) = stated {
                if let Some(loss) = restate(&mut new, to, self.side)? {
                    self.report(layout, graph, name, to, loss);
                }
                splice.replace(message, record, Records::new().message(record.number, &new));
            }
        }
        for (record, tensor) in initializers(own)? {
            let header = tensor.header().map_err(WriteError::from)?;
            let key = (body, graph, header.name().to_owned());
            let copy = self.restated.copied.get(&key).copied();
            let stated = self.restated.sources.get(&key).copied();
            let Some(to) = copy.or(stated) else { continue };
            let (mut new, loss) = converted(parsed(tensor.bytes())?, to, self.side)?;
            self.report(layout, graph, header.name(), to, loss);
            if copy.is_some() {
                new.name = String::new().into();
                self.copies.insert(key, new);
            } else {
                splice.replace(message, &record, Records::new().message(GRAPH_INITIALIZER, &new));
            }
        }
        if body == BodyId::MAIN && graph.index() == 0 {
            self.interface(own, splice)?;
        }
        Ok(())
    }

    /// Changes the declared types of inputs and outputs of the model.
    fn interface(&self, own: &GraphLayout<'_>, splice: &mut Splice<'_>) -> Result<(), ConvertError> {
        let mut ports = 0..;
        for (record, info) in own.source.declarations().map_err(WriteError::from)? {
            let new = match record.number {
                GRAPH_INPUT => {
                    let name = info.parse().map_err(WriteError::from)?.name;
                    self.restated.sources.get(&(BodyId::MAIN, GraphId::new(0), name.to_owned())).copied()
                }
                GRAPH_OUTPUT => ports.next().and_then(|port| self.restated.outputs.get(&port)).copied(),
                _ => None,
            };
            let Some(new) = new else { continue };
            let mut info: ValueInfoProto = parsed(info.bytes())?;
            if retype(info.r#type.as_mut(), new).is_some() {
                splice.replace(own.source.offset(), &record, Records::new().message(record.number, &info));
            }
        }
        Ok(())
    }
}

fn parsed<M: typeloom_onnx::messages::OnnxMessage>(bytes: &[u8]) -> Result<M, WriteError> {
    Ok(read(bytes::Bytes::copy_from_slice(bytes))?)
}

/// The dense initializers of a graph with their records.
fn initializers<'a>(graph: &GraphLayout<'a>) -> Result<Vec<(Field<'a>, TensorView<'a>)>, WriteError> {
    let mut found = Vec::new();
    if matches!(graph.source, Source::Function(_)) {
        return Ok(found);
    }
    for field in graph.source.fields() {
        let field = field?;
        if let (GRAPH_INITIALIZER, WireValue::Len(bytes, offset)) = (field.number, field.value) {
            found.push((field, TensorView::from_body(bytes, offset)));
        }
    }
    Ok(found)
}

/// Removes the nodes `Cast` with one of these results that nothing reads, and returns their number.
pub(super) fn without_casts(
    bytes: &[u8],
    results: &HashSet<&str>,
) -> Result<(Option<Vec<u8>>, usize), WriteError> {
    let mut count = 0;
    if results.is_empty() {
        return Ok((None, count));
    }
    let model = ModelView::new(bytes)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    for layout in Layout::of_model(&model)? {
        let mut unread: HashSet<&str> = results.clone();
        for (_, own) in layout.graphs() {
            for input in own.nodes.iter().flat_map(NodeView::inputs) {
                unread.remove(input?);
            }
            match own.source {
                Source::Graph(view) => {
                    for output in view.outputs() {
                        unread.remove(output?.parse()?.name);
                    }
                }
                Source::Function(view) => {
                    for output in view.outputs() {
                        unread.remove(output?);
                    }
                }
            }
        }
        for (_, own) in layout.graphs() {
            let message = own.source.offset();
            for (node, record) in own.nodes.iter().zip(&own.records) {
                let result = node.outputs().flatten().next().unwrap_or_default();
                if node.op_type() == Ok("Cast") && unread.contains(result) {
                    splice.remove(message, record);
                    count += 1;
                }
            }
            for (record, info) in own.source.declarations()? {
                if !matches!(record.number, GRAPH_INPUT | GRAPH_OUTPUT) && unread.contains(info.parse()?.name)
                {
                    splice.remove(message, &record);
                }
            }
        }
    }
    Ok((splice.changed()?, count))
}
