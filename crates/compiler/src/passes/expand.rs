//! `expand`: replaces calls of functions by their nodes, and unbundled bundles by their children.
//!
//! Declared types of a function belong to the call, see the module `parameters`.
//!
//! After this pass every value has one type, since the program is one graph with the nested graphs of
//! branches and loops. A function that imports other operator versions than the program is kept, because its
//! nodes would change their meaning.
//!
//! Algorithm: a stack of nodes, see [`inline::expand`]; the nodes of a call are copied by `Instance`. The
//! cost is linear in the result, which is bounded by [`MAX_NODES`], [`MAX_GROWTH`] and [`MAX_COPIED`], and by
//! [`MAX_NESTING`] if functions call each other in branches. Functions that call themselves are an error.

use std::collections::HashSet;

use typeloom_module::Map;
use typeloom_onnx::inline;
use typeloom_program::domain::Domain;
use typeloom_program::program::{Callees, Function, GraphId, Node, NodeId, Port, Program, ValueId, imported};
use typeloom_solver::diagnostic::Code;
use typeloom_solver::program::MAX_NESTING;

mod instance;
mod parameters;

use instance::{Instance, Size};
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
/// times the estimated size of the functions and nodes when written.
pub const MAX_COPIED: usize = 1 << 25;

/// Expands calls of functions and unbundles bundles.
pub(crate) fn run(parsed: Parsed) -> Result<Expanded, BuildError> {
    let Parsed { mut unit } = parsed;
    if let Some(path) = recursion::cycle(&unit.program) {
        return Err(recursive(&unit, path));
    }
    let is_inlined: Vec<bool> =
        unit.program.functions.iter().map(|function| is_inlinable(&unit.program, function)).collect();
    if is_inlined.contains(&true) {
        let mut expansion = Expansion::new(&mut unit, &is_inlined);
        expansion.run()?;
        let mut declared = std::mem::take(&mut expansion.declarations.inputs);
        for input in &mut unit.graph_mut().inputs {
            input.declared = declared.remove(&input.value).or(input.declared.take());
        }
        let mut is_inlined = is_inlined.into_iter();
        unit.program.functions.retain(|_| !is_inlined.next().unwrap_or_default());
    }
    for graph in unit.program.graphs_in(unit.program.main()) {
        unbundle(&mut unit, graph)?;
    }
    Ok(Expanded { unit })
}

/// Returns the error of a recursive function. If the solver reaches the call, its diagnostics show the nodes.
fn recursive(unit: &Unit, path: Vec<String>) -> BuildError {
    let found = solve(&unit.program, &unit.facts, &unit.bindings, unit.mode);
    let mut diagnostics = found.map(|solution| solution.diagnostics).unwrap_or_default();
    diagnostics.retain(|diagnostic| diagnostic.code == Code::RecursiveFunction);
    if diagnostics.is_empty() {
        return BuildError::RecursiveFunction { path };
    }
    failed(unit, diagnostics)
}

/// Whether calls of a function are expanded: it imports the same operator versions as the program, and no
/// default of an attribute is a graph.
fn is_inlinable(program: &Program, function: &Function) -> bool {
    let agrees = function.imports().iter().all(|import| {
        let known = imported(program.imports(), &Domain::of(import.domain()));
        known.is_none_or(|version| version == import.version())
    });
    agrees && function.defaults().iter().all(|default| default.g.is_none() && default.graphs.is_empty())
}

/// Returns the prefixes of value names, up to the first slash.
fn prefixes(program: &Program) -> HashSet<String> {
    let names = program.names();
    names.iter().filter_map(|name| name.split_once('/')).map(|(head, _)| head.to_owned()).collect()
}

struct Expansion<'u> {
    unit: &'u mut Unit,
    callees: Callees,
    /// Whether calls of each function are expanded.
    is_inlined: &'u [bool],
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

impl<'u> Expansion<'u> {
    fn new(unit: &'u mut Unit, is_inlined: &'u [bool]) -> Self {
        let program = &unit.program;
        let nodes = program.nodes_in(program.main()).count();
        let inlined = program.functions.iter().zip(is_inlined).filter(|(_, is_inlined)| **is_inlined);
        let (mut written, mut memory) = (nodes, 0);
        for (function, _) in inlined {
            written += program[function.body].nodes.len();
            let nodes = program[function.body].nodes.iter();
            memory += nodes.map(|node| Size::written(program, *node).bytes).sum::<usize>();
        }
        memory += program[program.main()]
            .nodes
            .iter()
            .map(|node| Size::written(program, *node).bytes)
            .sum::<usize>();
        Self {
            callees: program.callees(),
            is_inlined,
            prefixes: prefixes(program),
            declarations: Declarations::of(program),
            nodes,
            limit: MAX_NODES.max(written.saturating_mul(MAX_GROWTH)),
            copied: 0,
            max_copied: MAX_COPIED.max(memory.saturating_mul(MAX_GROWTH)),
            calls: 0,
            unit,
        }
    }

    /// Expands the calls of the main graph and of the graphs nested in it, also those of expanded functions.
    fn run(&mut self) -> Result<(), BuildError> {
        let mut open = vec![(self.unit.program.main(), 0)];
        while let Some((graph, depth)) = open.pop() {
            if depth > MAX_NESTING {
                return Err(BuildError::NestingTooDeep { limit: MAX_NESTING });
            }
            self.graph(graph)?;
            let program = &self.unit.program;
            let nested =
                program[graph].nodes.iter().rev().flat_map(|node| program[*node].graphs.iter().rev());
            open.extend(nested.map(|graph| (*graph, depth + 1)));
        }
        Ok(())
    }

    fn graph(&mut self, graph: GraphId) -> Result<(), BuildError> {
        let is_call = |node: &NodeId| self.function(*node).is_some();
        if self.unit.program[graph].nodes.iter().any(is_call) {
            let nodes = self.unit.program.take_nodes(graph);
            let nodes = inline::expand(nodes.into_iter(), |node| match self.function(*node) {
                Some(function) => self.call(graph, *node, function).map(Some),
                None => Ok(None),
            })?;
            self.unit.program[graph].nodes = nodes;
        }
        Ok(())
    }

    /// Counts an addition to the program.
    fn count(&mut self, size: Size) -> Result<(), BuildError> {
        self.nodes = self.nodes.saturating_add(size.nodes);
        self.copied = self.copied.saturating_add(size.bytes);
        if self.nodes > self.limit {
            return Err(BuildError::TooLarge { limit: self.limit });
        }
        if self.copied > self.max_copied {
            Err(BuildError::TooLong { limit: self.max_copied })
        } else {
            Ok(())
        }
    }

    /// The position of the function that a node calls, if the call is expanded.
    fn function(&self, node: NodeId) -> Option<usize> {
        let program = &self.unit.program;
        self.callees.find(program, &program[node]).filter(|at| self.is_inlined[*at])
    }

    /// Returns the nodes that replace a call: formal parameters are the actual values, and all other values
    /// are new ones, with a new prefix.
    fn call(&mut self, graph: GraphId, node: NodeId, function: usize) -> Result<Vec<NodeId>, BuildError> {
        let program = &self.unit.program;
        let function = &program.functions[function];
        let prefix = loop {
            self.calls += 1;
            let head = format!("{}.{}", function.name, self.calls);
            if !self.prefixes.contains(&head) {
                break format!("{head}/");
            }
        };
        let body = function.body;
        let mut instance = Instance::new(program, function, node, graph, prefix);
        self.count(instance.size_of_call(&self.unit.program))?;
        let unit = &mut *self.unit;
        let infos = unit.program[body].infos.clone();
        let declared: Map<ValueId, &Port> =
            infos.iter().filter(|port| port.declared.is_some()).map(|port| (port.value, port)).collect();
        let (inputs, outputs) = (unit.program[node].inputs.clone(), unit.program[node].outputs.clone());
        let formals = |ports: &[Port]| ports.iter().map(|port| port.value).collect::<Vec<_>>();
        let parameters = formals(&unit.program[body].inputs);
        let results = formals(&unit.program[body].outputs);
        let symbols = self.declarations.symbols(&infos, &parameters, &inputs);
        let mut nodes = Vec::new();
        // Parameters that declare an input of the program.
        let mut declaring: HashSet<ValueId> = HashSet::new();
        for (at, formal) in parameters.iter().enumerate() {
            let argument = inputs.get(at).copied().flatten();
            let ty = declared.get(formal).and_then(|port| port.declared.as_ref()).zip(argument);
            match ty {
                Some((ty, argument)) if self.declarations.declare(argument, ty, &symbols) => {
                    declaring.insert(*formal);
                    instance.bind(*formal, Some(argument));
                }
                Some((_, argument)) => {
                    let own = instance.value(&mut unit.program, *formal);
                    nodes.push(unit.add_identity(Some(argument), own, node));
                }
                None => instance.bind(*formal, argument),
            }
        }
        let mut copies = Vec::new();
        for (formal, actual) in results.into_iter().zip(outputs) {
            let Some(actual) = actual else { continue };
            match instance.bound(formal) {
                None => instance.bind(formal, Some(actual)),
                // The function returns an input, or one value twice.
                Some(from) => copies.push(unit.add_identity(from, actual, node)),
            }
        }
        for info in infos.iter().filter(|info| !declaring.contains(&info.value)) {
            if let Some(value) = instance.instance_of(&mut unit.program, info.value) {
                let mut port = info.clone();
                port.value = value;
                port.declared = info.declared.as_ref().map(|ty| at_call(ty, &symbols));
                unit.program[graph].infos.push(port);
            }
        }
        for inner in self.unit.program[body].nodes.clone() {
            self.count(instance.size(&self.unit.program, inner))?;
            let Unit { program, facts, .. } = &mut *self.unit;
            nodes.push(instance.node(program, facts, inner));
        }
        nodes.extend(copies);
        Ok(nodes)
    }
}

/// Replaces `Unbundle` by the children of a bundle in the same graph.
fn unbundle(unit: &mut Unit, graph: GraphId) -> Result<(), BuildError> {
    let is = |node: &Node, op: &str| node.is(&Domain::Composite, op);
    if !unit.program[graph].nodes.iter().any(|node| is(&unit.program[*node], "Unbundle")) {
        return Ok(());
    }
    let mut bundles: Map<ValueId, (Vec<String>, Vec<Option<ValueId>>)> = Map::default();
    let mut expanded = Vec::new();
    for id in unit.program.take_nodes(graph) {
        let node = &unit.program[id];
        let first = node.first_input().and_then(|input| bundles.get(&input)).cloned();
        if is(node, "Bundle") {
            if let Some(output) = node.first_output() {
                bundles.insert(output, (node.texts("keys"), node.inputs.clone()));
            }
        } else if node.op == "Identity" && matches!(node.domain, Domain::Onnx | Domain::Types) {
            if let (Some(output), Some(bundle)) = (node.first_output(), first) {
                bundles.insert(output, bundle);
            }
        } else if is(node, "Unbundle")
            && let Some((names, children)) = first
        {
            let outputs = node.outputs.clone();
            for (key, output) in node.texts("keys").into_iter().zip(outputs) {
                let child = names.iter().position(|name| *name == key).and_then(|at| children.get(at));
                let Some(child) = child else {
                    return Err(InvalidProgram::NoChild { key, known: names }.into());
                };
                if let Some(output) = output {
                    expanded.push(unit.add_identity(*child, output, id));
                }
            }
            continue;
        }
        expanded.push(id);
    }
    unit.program[graph].nodes = expanded;
    Ok(())
}
