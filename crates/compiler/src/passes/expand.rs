//! `expand`: replaces calls of functions by their nodes, and unbundled bundles by their children.
//!
//! Declared types of a function belong to the call, see the module `parameters`.
//!
//! After this pass every value has one type, since the program is one graph with the nested graphs of
//! branches and loops. A function that imports other operator versions than the program is kept, because its
//! nodes would change their meaning.
//!
//! Algorithm: a stack of nodes, see [`inline::expand`]; the nodes of a call are copied with the names
//! substituted. The cost is linear in the result, which is bounded by [`MAX_NODES`], [`MAX_GROWTH`] and
//! [`MAX_COPIED`], and by [`MAX_NESTING`] if functions call each other in branches. Functions that call
//! themselves are an error.

use std::collections::{HashMap, HashSet};

use typeloom_module::ir;
use typeloom_module::names::{COMPOSITE_DOMAIN, TYPES_DOMAIN};
use typeloom_onnx::inline::{self, Call, Key};
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto,
};
use typeloom_onnx::nested;
use typeloom_onnx::prost::Message as _;
use typeloom_solver::diagnostic::Code;
use typeloom_solver::program::MAX_NESTING;

mod parameters;

use parameters::{Declarations, at_call};

use crate::error::BuildError;
use crate::error::invalid_program::InvalidProgram;
use crate::recursion;
use crate::solve_program::{failed, solve};
use crate::stage::{Expanded, Parsed};
use crate::unit::Unit;

/// Maximum number of nodes of an expanded program that has grown by more than the factor [`MAX_GROWTH`].
pub const MAX_NODES: usize = 1 << 16;

/// Maximum factor by which the number of nodes of a larger program grows.
pub const MAX_GROWTH: usize = 64;

/// Maximum memory of the nodes that are copied from functions, in bytes, if it is more than [`MAX_GROWTH`]
/// times the encoded size of the functions and nodes.
pub const MAX_COPIED: usize = 1 << 25;

/// Expands calls of functions and unbundles bundles.
pub(crate) fn run(parsed: Parsed) -> Result<Expanded, BuildError> {
    let Parsed { mut unit } = parsed;
    if let Some(path) = recursion::cycle(&unit.model) {
        return Err(recursive(&unit, path));
    }
    let functions = std::mem::take(&mut unit.model.functions);
    let (inlined, kept) = inlinable(functions, &unit.model);
    if !inlined.is_empty() {
        let graph = unit.model.graph.get_or_insert_default();
        let mut nodes = 0;
        nested::each_graph(graph, |graph, _| nodes += graph.node.len());
        let written = nodes + inlined.values().map(|function| function.node.len()).sum::<usize>();
        let limit = MAX_NODES.max(written.saturating_mul(MAX_GROWTH));
        let encoded = graph.encoded_len() + inlined.values().map(FunctionProto::encoded_len).sum::<usize>();
        let max_copied = MAX_COPIED.max(encoded.saturating_mul(MAX_GROWTH));
        let prefixes = prefixes(graph);
        let declarations = Declarations::of(graph);
        let functions = &inlined;
        let mut expansion =
            Expansion { functions, prefixes, declarations, nodes, limit, copied: 0, max_copied, calls: 0 };
        nested::try_each_graph_mut(graph, |graph, depth| match depth > MAX_NESTING {
            true => Err(BuildError::NestingTooDeep { limit: MAX_NESTING }),
            false => expansion.graph(graph),
        })?;
        let mut declared = expansion.declarations.inputs;
        for input in &mut graph.input {
            input.r#type = declared.remove(input.name()).or(input.r#type.take());
        }
    }
    unit.model.functions = kept;
    nested::try_each_graph_mut(unit.graph_mut(), |graph, _| unbundle(graph))?;
    Ok(Expanded { unit })
}

/// Returns the error of a recursive function. If the solver reaches the call, its diagnostics show the nodes.
fn recursive(unit: &Unit, path: Vec<String>) -> BuildError {
    let found = solve(&unit.model, &unit.bindings, unit.mode).map(|solution| solution.diagnostics);
    let mut diagnostics = found.unwrap_or_default();
    diagnostics.retain(|diagnostic| diagnostic.code == Code::RecursiveFunction);
    if diagnostics.is_empty() {
        return BuildError::RecursiveFunction { path };
    }
    failed(unit, diagnostics)
}

/// Selects the functions that import the same operator versions as the program.
fn inlinable(
    functions: Vec<FunctionProto>,
    model: &ModelProto,
) -> (HashMap<Key, FunctionProto>, Vec<FunctionProto>) {
    let mut inlined = HashMap::new();
    let mut kept = Vec::new();
    for function in functions {
        let agrees = function.opset_import.iter().all(|import| {
            ir::imported(model, import.domain()).is_none_or(|version| version == import.version())
        });
        if agrees {
            inlined
                .entry(inline::key(function.domain(), function.name(), function.overload()))
                .or_insert(function);
        } else {
            kept.push(function);
        }
    }
    (inlined, kept)
}

/// Returns the prefixes of value names, up to the first slash.
fn prefixes(graph: &GraphProto) -> HashSet<String> {
    let names = nested::value_names(graph);
    names.iter().filter_map(|name| name.split_once('/')).map(|(head, _)| head.to_owned()).collect()
}

struct Expansion<'f> {
    functions: &'f HashMap<Key, FunctionProto>,
    /// Prefixes of value names up to the first slash, which no call may use.
    prefixes: HashSet<String>,
    declarations: Declarations,
    /// Number of nodes of the program so far.
    nodes: usize,
    limit: usize,
    /// Memory of the copied nodes.
    copied: usize,
    max_copied: usize,
    calls: usize,
}

impl<'f> Expansion<'f> {
    fn graph(&mut self, graph: &mut GraphProto) -> Result<(), BuildError> {
        if graph.node.iter().any(|node| self.function(node).is_some()) {
            let nodes = std::mem::take(&mut graph.node).into_iter();
            graph.node = inline::expand(nodes, |node| match self.function(node) {
                Some(function) => self.call(node, function, &mut graph.value_info).map(Some),
                None => Ok(None),
            })?;
        }
        Ok(())
    }

    /// Counts an addition to the program.
    fn count(&mut self, nodes: usize, bytes: usize) -> Result<(), BuildError> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.copied = self.copied.saturating_add(bytes);
        if self.nodes > self.limit {
            return Err(BuildError::TooLarge { limit: self.limit });
        }
        if self.copied > self.max_copied {
            Err(BuildError::TooLong { limit: self.max_copied })
        } else {
            Ok(())
        }
    }

    fn function(&self, node: &NodeProto) -> Option<&'f FunctionProto> {
        if node.is_onnx() && self.functions.is_empty() {
            return None;
        }
        self.functions.get(&inline::callee(node))
    }

    /// Returns the nodes that replace a call: formal names are mapped to actual ones, and all other names to
    /// names with a new prefix.
    fn call(
        &mut self,
        node: &NodeProto,
        function: &FunctionProto,
        infos: &mut Vec<ValueInfoProto>,
    ) -> Result<Vec<NodeProto>, BuildError> {
        let prefix = loop {
            self.calls += 1;
            let head = format!("{}.{}", function.name(), self.calls);
            if !self.prefixes.contains(&head) {
                break format!("{head}/");
            }
        };
        let mut nodes = Vec::with_capacity(function.node.len());
        let mut names: HashMap<String, String> = HashMap::new();
        let declared =
            function.value_info.iter().filter_map(|info| Some((info.name(), info.r#type.as_ref()?)));
        let types: HashMap<&str, &TypeProto> = declared.collect();
        let symbols = self.declarations.symbols(function, node);
        // Parameters that declare an input of the program.
        let mut inputs: HashSet<&str> = HashSet::new();
        for (at, formal) in function.input.iter().enumerate() {
            let argument = node.input.get(at).cloned().unwrap_or_default();
            let ty = types.get(formal.as_str()).filter(|_| !argument.is_empty());
            let name = match ty {
                Some(ty) if self.declarations.declare(&argument, ty, &symbols) => {
                    inputs.insert(formal);
                    argument
                }
                Some(_) => {
                    let own = format!("{prefix}{formal}");
                    nodes.push(ir::types_node("Identity", &argument, &own, node.metadata_props.clone()));
                    own
                }
                None => argument,
            };
            names.insert(formal.clone(), name);
        }
        let mut results = Vec::new();
        for (formal, actual) in function.output.iter().zip(&node.output).filter(|(_, it)| !it.is_empty()) {
            match names.get(formal) {
                None => {
                    names.insert(formal.clone(), actual.clone());
                }
                // The function returns an input, or one value twice.
                Some(from) => {
                    results.push(ir::types_node("Identity", from, actual, node.metadata_props.clone()));
                }
            }
        }
        // The stored attributes of the call, and the types declared in the function.
        let lengths = [&function.attribute_proto, &node.attribute].into_iter().flatten();
        let attributes: usize = lengths.map(|it| it.encoded_len() + size_of::<AttributeProto>()).sum();
        let memory = |info: &ValueInfoProto| info.encoded_len() + prefix.len() + size_of::<ValueInfoProto>();
        let declared: usize = function.value_info.iter().map(memory).sum();
        self.count(0, attributes.saturating_add(declared))?;
        let call = Call::new(function, node, names, prefix);
        let declared = function.value_info.iter().filter(|info| !inputs.contains(info.name()));
        for info in declared {
            let name = call.name(info.name());
            if !name.is_empty() {
                let ty = info.r#type.as_ref().map(|ty| at_call(ty, &symbols));
                infos.push(ValueInfoProto { name: name.into(), r#type: ty, ..info.clone() });
            }
        }
        for inner in &function.node {
            let (count, bytes) = call.size(inner);
            self.count(count, bytes)?;
            nodes.push(call.instance(inner));
        }
        nodes.extend(results);
        Ok(nodes)
    }
}

/// Replaces `Unbundle` by the children of a bundle in the same graph.
fn unbundle(graph: &mut GraphProto) -> Result<(), BuildError> {
    let is = |node: &NodeProto, op: &str| node.domain() == COMPOSITE_DOMAIN && node.op_type() == op;
    if !graph.node.iter().any(|node| is(node, "Unbundle")) {
        return Ok(());
    }
    let mut bundles: HashMap<String, (Vec<String>, Vec<String>)> = HashMap::new();
    let mut expanded = Vec::with_capacity(graph.node.len());
    for node in std::mem::take(&mut graph.node) {
        let first = node.input.first().and_then(|input| bundles.get(input)).cloned();
        if is(&node, "Bundle") {
            if let Some(output) = node.output.first() {
                bundles.insert(output.clone(), (ir::keys(&node), node.input.clone()));
            }
        } else if node.op_type() == "Identity" && (node.is_onnx() || node.domain() == TYPES_DOMAIN) {
            if let (Some(output), Some(bundle)) = (node.output.first(), &first) {
                bundles.insert(output.clone(), bundle.clone());
            }
        } else if is(&node, "Unbundle")
            && let Some((names, children)) = &first
        {
            for (key, output) in ir::keys(&node).iter().zip(&node.output) {
                let child = names.iter().position(|name| name == key).and_then(|at| children.get(at));
                let Some(child) = child else {
                    return Err(InvalidProgram::NoChild {
                        key: key.to_string(),
                        known: names.iter().map(ToString::to_string).collect(),
                    }
                    .into());
                };
                expanded.push(ir::types_node("Identity", child, output, node.metadata_props.clone()));
            }
            continue;
        }
        expanded.push(node);
    }
    graph.node = expanded;
    Ok(())
}
