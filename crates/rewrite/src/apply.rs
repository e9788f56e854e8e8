//! Application of the fix of a diagnostic to a serialized model.
//!
//! Only the records of the edited nodes, imports and outputs change, see the [splice
//! writer](typeloom_onnx::splice). [`mend`](crate::mend) applies fixes of a whole model.

mod casts;
mod ports;

use typeloom_onnx::domain::canonical;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, ModelProto, NodeProto, ValueInfoProto, opset_import, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::text::{PrintOptions, print_node};
use typeloom_onnx::view::{ModelView, NodeView, OpsetIdView};
use typeloom_onnx::wire::{Field, Fields, WireValue};
use typeloom_solver::diagnostic::{Fix, Location};
use typeloom_solver::program::GraphId;

use crate::coerce::layout::{GraphLayout, Layout, Source};
use crate::coerce::{Hunk, WriteError, graph_text};
use crate::fields::{
    FUNCTION_OPSET_IMPORT, FUNCTION_OUTPUT, GRAPH_INITIALIZER, GRAPH_OUTPUT, MODEL_OPSET_IMPORT,
};
use crate::names::Names;

/// A model with an applied fix.
pub(crate) struct Edited {
    pub(crate) file: Vec<u8>,
    /// The changed nodes.
    pub(crate) hunks: Vec<Hunk>,
}

/// Applies fixes at the locations of their diagnostics; `None` if one cannot be applied. The nodes of one
/// graph are in any order, and no node has two fixes.
pub(crate) fn apply(bytes: &[u8], fixes: &[(&Location, &Fix)]) -> Option<Edited> {
    // A model that was checked can be read.
    let mut editor = Editor::new(bytes).ok()?;
    for (location, fix) in fixes {
        editor.apply(location, fix)?;
    }
    let Editor { splice, hunks, .. } = editor;
    Some(Edited { file: splice.changed().ok()??, hunks })
}

struct Editor<'a> {
    model: ModelView<'a>,
    layouts: Vec<Layout<'a>>,
    splice: Splice<'a>,
    names: Names,
    hunks: Vec<Hunk>,
}

/// A graph of a model or function.
#[derive(Clone, Copy)]
struct Site<'e, 'a> {
    layout: &'e Layout<'a>,
    id: GraphId,
    graph: &'e GraphLayout<'a>,
}

impl<'a> Editor<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, WriteError> {
        let model = ModelView::new(bytes)?;
        let layouts = Layout::of_model(&model)?;
        let mut names = Names::default();
        for layout in &layouts {
            layout.take_names(&mut names)?;
        }
        Ok(Self { model, layouts, splice: Splice::new::<ModelProto>(bytes), names, hunks: Vec::new() })
    }

    fn apply(&mut self, location: &Location, fix: &Fix) -> Option<()> {
        match fix {
            Fix::InsertCast { input, value: _, to, readers } => {
                self.insert_casts(location, *input, to, readers)
            }
            Fix::RenameInput { input, to } => self.edit_node(location, |_, node| {
                to.clone_into(node.input.get_mut(*input)?);
                Some(Vec::new())
            }),
            Fix::RenameOperator { to } => self.edit_node(location, |_, node| {
                node.op_type = to.clone().into();
                Some(Vec::new())
            }),
            Fix::RenameAttribute { from, to } => self.edit_node(location, |_, node| {
                let attribute = node.attribute.iter_mut().find(|attribute| attribute.name() == from)?;
                attribute.name = to.clone().into();
                Some(Vec::new())
            }),
            Fix::RemoveAttribute { name } => self.edit_node(location, |_, node| {
                node.attribute.retain(|attribute| attribute.name() != name);
                Some(Vec::new())
            }),
            Fix::SetAttribute { name, value } => self.edit_node(location, |_, node| {
                node.attribute.retain(|attribute| attribute.name() != name);
                node.attribute.push(int_attribute(name, *value));
                Some(Vec::new())
            }),
            Fix::PassAsInputs { ports } => {
                self.edit_node(location, |cx, node| cx.pass_as_inputs(node, ports))
            }
            Fix::PassAsAttributes { ports } => {
                self.edit_node(location, |cx, node| cx.pass_as_attributes(node, ports))
            }
            Fix::UnsqueezeInput { input, value: _ } => {
                self.edit_node(location, |cx, node| cx.unsqueeze(node, *input))
            }
            Fix::ImportOpset { domain, version } => self.import(location, domain, *version),
            Fix::RenameOutput { from, to } => self.rename_output(location, from, to),
            Fix::SortNodes
            | Fix::CorrectDeclarations
            | Fix::DropRepetitions
            | Fix::DropShapes
            | Fix::DropDims
            | Fix::RenameDims => None,
        }
    }

    /// Finds the graph of a location.
    fn site<'e>(layouts: &'e [Layout<'a>], location: &Location) -> Option<Site<'e, 'a>> {
        let layout = layouts.iter().find(|layout| match (&location.function, layout.source()) {
            (None, Source::Graph(_)) => true,
            (Some(name), Source::Function(function)) => match function.domain().unwrap_or_default() {
                "" => name == layout.name,
                domain => {
                    name.strip_prefix(domain).and_then(|rest| rest.strip_prefix('.')) == Some(layout.name)
                }
            },
            (None, Source::Function(_)) | (Some(_), Source::Graph(_)) => false,
        })?;
        let (id, graph) = layout.graphs().find(|(id, _)| layout.path(*id) == location.graph)?;
        Some(Site { layout, id, graph })
    }

    /// Changes one node. `change` gets its context and returns the new nodes before it.
    fn edit_node(
        &mut self,
        location: &Location,
        change: impl FnOnce(&mut ports::Context<'_, '_, 'a>, &mut NodeProto) -> Option<Vec<NodeProto>>,
    ) -> Option<()> {
        let Self { model, layouts, splice, names, hunks } = self;
        let index = location.node.as_ref()?.index;
        let site = Self::site(layouts, location)?;
        let view: NodeView<'a> = *site.graph.nodes.get(index)?;
        let record = site.graph.records.get(index)?;
        let mut node: NodeProto = read(bytes::Bytes::copy_from_slice(view.bytes())).ok()?;
        let before = printed(&node);
        let version = imported(model, site.layout.source(), "");
        let mut context = ports::Context { site, version, names, initializers: Vec::new() };
        let new = change(&mut context, &mut node)?;
        let mut records = Records::new();
        for node in new.iter().chain([&node]) {
            records = records.message(record.number, node);
        }
        splice.replace(site.graph.source.offset(), record, records);
        for tensor in &context.initializers {
            splice.append(site.graph.source.offset(), Records::new().message(GRAPH_INITIALIZER, tensor));
        }
        let function = location.function.as_deref();
        hunks.push(Hunk {
            graph: graph_text(function, &location.graph),
            position: index,
            before: Some(before),
            after: new.iter().chain([&node]).map(printed).collect(),
        });
        Some(())
    }

    /// Imports a version of a domain into the model, or into a function with imports of its own.
    fn import(&mut self, location: &Location, domain: &str, version: i64) -> Option<()> {
        let source = Self::site(&self.layouts, location)?.layout.source();
        let import = opset_import(domain, version);
        let (message, number, fields) = match source {
            Source::Function(function) if function.opset_imports().next().is_some() => {
                (function.offset(), FUNCTION_OPSET_IMPORT, function.wire_fields())
            }
            Source::Function(_) | Source::Graph(_) => (0, MODEL_OPSET_IMPORT, self.model.wire_fields()),
        };
        let records = Records::new().message(number, &import);
        match find(fields, number, |bytes, offset| {
            OpsetIdView::from_body(bytes, offset)
                .parse()
                .is_ok_and(|import| canonical(import.domain) == domain)
        }) {
            Some(known) => self.splice.replace(message, &known, records),
            None => self.splice.append(message, records),
        }
        Some(())
    }

    /// Uses another value as output of a graph or function.
    fn rename_output(&mut self, location: &Location, from: &str, to: &str) -> Option<()> {
        let site = Self::site(&self.layouts, location)?;
        match site.graph.source {
            Source::Function(function) => {
                let own = find(function.wire_fields(), FUNCTION_OUTPUT, |bytes, _| bytes == from.as_bytes())?;
                self.splice.replace(function.offset(), &own, Records::new().bytes(FUNCTION_OUTPUT, to));
            }
            Source::Graph(graph) => {
                for (record, info) in site.graph.source.declarations().ok()? {
                    if record.number == GRAPH_OUTPUT && info.parse().ok()?.name == from {
                        let info: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes())).ok()?;
                        let info = ValueInfoProto { name: to.into(), ..info };
                        self.splice.replace(
                            graph.offset(),
                            &record,
                            Records::new().message(GRAPH_OUTPUT, &info),
                        );
                        return Some(());
                    }
                }
                return None;
            }
        }
        Some(())
    }
}

/// The first message or string of a field that is accepted.
fn find<'a>(fields: Fields<'a>, number: u32, accept: impl Fn(&'a [u8], usize) -> bool) -> Option<Field<'a>> {
    fields.flatten().find(|field| match field.value {
        WireValue::Len(bytes, offset) => field.number == number && accept(bytes, offset),
        _ => false,
    })
}

/// The imported version of a domain in a body.
fn imported(model: &ModelView<'_>, source: Source<'_>, domain: &str) -> Option<i64> {
    let own: Vec<(String, i64)> = match source {
        Source::Function(function) => {
            function.opset_imports().flatten().map(|it| (it.domain.to_owned(), it.version)).collect()
        }
        Source::Graph(_) => Vec::new(),
    };
    let of_model = || model.opset_imports().flatten().map(|it| (it.domain.to_owned(), it.version)).collect();
    let imports: Vec<(String, i64)> = if own.is_empty() { of_model() } else { own };
    imports.into_iter().find(|(name, _)| canonical(name) == domain).map(|(_, version)| version)
}

fn int_attribute(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        i: Some(value),
        r#type: Some(AttributeType::Int as i32),
        ..AttributeProto::default()
    }
}

fn printed(node: &NodeProto) -> String {
    print_node(node, &PrintOptions::display()).text
}
