//! Application of a fix to a decoded model.

use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, Text, opset_import};
use typeloom_solver::diagnostic::{Fix, GraphPath, GraphPathStep, Location};
use typeloom_solver::elem::Elem;

use crate::coerce::{NewNode, cast};

/// The operator set version of inserted `Cast` nodes.
const CAST_VERSION: i64 = 21;

/// Applies a fix at the location of its diagnostic; `None` if the location does not exist. [`mend`](crate::mend) applies
/// fixes of a whole model.
pub(super) fn apply(model: &mut ModelProto, location: &Location, fix: &Fix) -> Option<()> {
    match fix {
        Fix::InsertCast { input, value: _, to, readers } => {
            let to = Elem::from_onnx_name(to)?;
            let mut sites: Vec<(&Location, usize)> = vec![(location, *input)];
            sites.extend(readers.iter().map(|reader| (&reader.location, reader.input)));
            let graph = |location: &Location| (location.function.clone(), location.graph.to_string());
            sites.sort_by_cached_key(|(location, input)| {
                (graph(location), location.node.as_ref().map(|node| node.index), *input)
            });
            let mut number = 0;
            // Paths contain positions of nodes, so inner graphs are edited before outer ones.
            let mut graphs: Vec<&[(&Location, usize)]> =
                sites.chunk_by(|(a, _), (b, _)| graph(a) == graph(b)).collect();
            graphs.sort_by_key(|sites| std::cmp::Reverse(graph(sites[0].0).1.len()));
            for sites in graphs {
                casts(model, sites, to, &mut number)?;
            }
            Some(())
        }
        Fix::RenameInput { input, to } => {
            at_node(model, location, |node| node.input.get_mut(*input).map(|name| to.clone_into(name)))
        }
        Fix::RenameOperator { to } => at_node(model, location, |node| {
            node.op_type = to.clone().into();
            Some(())
        }),
        Fix::RenameAttribute { from, to } => at_node(model, location, |node| {
            let attribute = node.attribute.iter_mut().find(|attribute| attribute.name() == from)?;
            attribute.name = to.clone().into();
            Some(())
        }),
        Fix::RemoveAttribute { name } => at_node(model, location, |node| {
            node.attribute.retain(|attribute| attribute.name() != name);
            Some(())
        }),
        Fix::ImportOpset { domain, version } => {
            let imports: &mut Vec<OperatorSetIdProto> = match &location.function {
                None => &mut model.opset_import,
                Some(name) => &mut function(model, name)?.opset_import,
            };
            match imports.iter_mut().find(|import| import.domain() == domain) {
                Some(import) => import.version = Some(*version),
                None => imports.push(opset_import(domain, *version)),
            }
            Some(())
        }
        Fix::RenameOutput { from, to } => {
            let output = |name: &mut String| to.clone_into(name);
            match (&location.function, location.graph.is_empty()) {
                (Some(name), true) => {
                    let outputs = &mut function(model, name)?.output;
                    outputs.iter_mut().find(|name| *name == from).map(output)
                }
                _ => {
                    let graph = graph(model, location)?;
                    let info = graph.output.iter_mut().find(|info| info.name() == from)?;
                    info.name = to.clone().into();
                    Some(())
                }
            }
        }
        Fix::SortNodes | Fix::DropShapes | Fix::DropDims | Fix::RenameDims => None,
    }
}

/// Inserts a `Cast` node for each input in `sites`, directly before the node that reads it. All sites are in one graph and in
/// the order of nodes.
fn casts(model: &mut ModelProto, sites: &[(&Location, usize)], to: Elem, number: &mut usize) -> Option<()> {
    let nodes = nodes(model, sites[0].0)?;
    let old = std::mem::take(nodes);
    let mut sites = sites.iter().peekable();
    for (index, mut node) in old.into_iter().enumerate() {
        while let Some((_, input)) =
            sites.next_if(|(location, _)| location.node.as_ref().is_some_and(|node| node.index == index))
        {
            let port = node.input.get_mut(*input)?;
            let output = format!("{port}\u{1}{number}");
            *number += 1;
            let input = std::mem::replace(port, output.clone());
            let new = NewNode { name: "", input: &input, output: &output };
            nodes.push(NodeProto { name: Text::default(), ..cast(&new, to, CAST_VERSION) });
        }
        nodes.push(node);
    }
    sites.next().is_none().then_some(())
}

fn at_node(
    model: &mut ModelProto,
    location: &Location,
    change: impl FnOnce(&mut NodeProto) -> Option<()>,
) -> Option<()> {
    let index = location.node.as_ref()?.index;
    change(nodes(model, location)?.get_mut(index)?)
}

/// Finds a function by its name with its domain.
fn function<'m>(
    model: &'m mut ModelProto,
    name: &str,
) -> Option<&'m mut typeloom_onnx::messages::FunctionProto> {
    model.functions.iter_mut().find(|function| match function.domain() {
        "" => function.name() == name,
        domain => name.strip_prefix(domain).and_then(|rest| rest.strip_prefix('.')) == Some(function.name()),
    })
}

/// The nodes of the graph or function at a location.
fn nodes<'m>(model: &'m mut ModelProto, location: &Location) -> Option<&'m mut Vec<NodeProto>> {
    if let (Some(name), true) = (&location.function, location.graph.is_empty()) {
        return Some(&mut function(model, name)?.node);
    }
    Some(&mut graph(model, location)?.node)
}

/// The graph at a location.
fn graph<'m>(model: &'m mut ModelProto, location: &Location) -> Option<&'m mut GraphProto> {
    let GraphPath(path) = &location.graph;
    let (mut nodes, path) = match (&location.function, path.split_first()) {
        (None, None) => return model.graph.as_mut(),
        (Some(_), None) => return None,
        (Some(name), Some(path)) => (&mut function(model, name)?.node, path),
        (None, Some(path)) => (&mut model.graph.as_mut()?.node, path),
    };
    let (mut step, mut rest) = path;
    loop {
        let GraphPathStep { node, operator: _, attribute, index } = step;
        let attribute = nodes.get_mut(*node)?.attribute.iter_mut().find(|own| own.name() == attribute)?;
        let mut graphs = attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs);
        let found = graphs.nth(index.unwrap_or(0))?;
        match rest.split_first() {
            None => return Some(found),
            Some(next) => (step, rest) = next,
        }
        nodes = &mut found.node;
    }
}
