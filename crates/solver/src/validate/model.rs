//! Models and functions: versions, imports, calls.

use std::collections::{BTreeMap, HashMap, HashSet};

use typeloom_onnx::messages::{FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, Version};

use super::{Context, Depth, Invalid, OpsetCompatibility, Scope, Validity, ensure, graph, node, required};
use crate::catalogue::Lookup;

/// The newest version of the format.
pub const NEWEST_IR: i64 = Version::IrVersion as i64;

/// The first version of the format with imports of operator sets.
const IMPORTS: i64 = 3;

pub(super) fn validate(cx: &Context<'_>, model: &ModelProto, compatibility: OpsetCompatibility) -> Validity {
    let ir_version = model.ir_version.unwrap_or_default();
    ensure!(ir_version > 0, "The model does not have an ir_version set properly.");
    ensure!(
        ir_version <= NEWEST_IR,
        "Your model ir_version {ir_version} is higher than the checker's ({NEWEST_IR})."
    );
    let mut keys: HashSet<&str> = HashSet::new();
    ensure!(
        model.metadata_props.iter().all(|entry| keys.insert(entry.key.as_str())),
        "Your model has duplicate keys in metadata_props."
    );
    let mut cx = Context { ir_version, opset_imports: imports(&model.opset_import), ..cx.clone() };
    if ir_version >= IMPORTS {
        let is_named = model.graph.as_ref().is_some_and(|graph| !graph.name.is_empty());
        required(is_named || !cx.opset_imports.is_empty(), "name", "graph")?;
        ensure!(
            !cx.opset_imports.is_empty(),
            "model with IR version >= 3 must specify opset_import for ONNX"
        );
    } else {
        ensure!(cx.opset_imports.is_empty(), "model with IR version < 3 cannot have opset_import specified");
        cx.opset_imports.insert(String::new(), 1);
    }
    functions(&cx, model, compatibility)?;
    let empty = typeloom_onnx::messages::GraphProto::default();
    graph::validate(&cx, model.graph.as_ref().unwrap_or(&empty), &mut Scope::default(), Depth::MAIN)
}

fn imports(list: &[OperatorSetIdProto]) -> BTreeMap<String, i64> {
    list.iter().map(|one| (one.domain.to_string(), one.version.unwrap_or_default())).collect()
}

/// The identity of a function.
type Key<'m> = (&'m str, &'m str, &'m str);

fn functions(cx: &Context<'_>, model: &ModelProto, compatibility: OpsetCompatibility) -> Validity {
    let mut known: HashMap<Key<'_>, usize> = HashMap::new();
    for (at, one) in model.functions.iter().enumerate() {
        let key = (one.domain.as_str(), one.name.as_str(), one.overload.as_str());
        ensure!(
            known.insert(key, at).is_none(),
            "Model contains multiple local functions with the same implementation id '{}::{}'.",
            key.0,
            key.1
        );
    }
    let calls: Vec<Vec<usize>> = model
        .functions
        .iter()
        .map(|one| {
            let mut found = Vec::new();
            nodes_within(&one.node, &mut |node| {
                let key = (node.domain.as_str(), node.op_type.as_str(), node.overload.as_str());
                found.extend(known.get(&key).copied());
            });
            found
        })
        .collect();
    if let Some(at) = cyclic(&calls) {
        return Err(Invalid(format!(
            "Cycle detected in model-local function references: '{}' calls itself",
            model.functions[at].name.as_str()
        )));
    }
    for one in &model.functions {
        let own = imports(&one.opset_import);
        if compatibility == OpsetCompatibility::Required {
            compatible(cx, one, &own)?;
        }
        let cx = Context { opset_imports: own, ..cx.clone() };
        function(&cx, one, &Scope::default())?;
    }
    Ok(())
}

/// A function that calls itself, directly or through others. Depth-first search with an explicit stack.
fn cyclic(calls: &[Vec<usize>]) -> Option<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; calls.len()];
    for start in 0..calls.len() {
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            if next == 0 {
                match states[at] {
                    State::Done => continue,
                    State::Open => return Some(at),
                    State::New => states[at] = State::Open,
                }
            }
            match calls[at].get(next) {
                Some(callee) => stack.extend([(at, next + 1), (*callee, 0)]),
                None => states[at] = State::Done,
            }
        }
    }
    None
}

/// Visits nodes and those of the graphs nested in them.
fn nodes_within<'m>(nodes: &'m [NodeProto], visit: &mut dyn FnMut(&'m NodeProto)) {
    let mut open: Vec<&NodeProto> = nodes.iter().collect();
    while let Some(node) = open.pop() {
        visit(node);
        for attribute in &node.attribute {
            let graphs = attribute.g.iter().map(|graph| &**graph).chain(&attribute.graphs);
            open.extend(graphs.flat_map(|graph| &graph.node));
        }
    }
}

/// Operators of a function mean the same in the version that the function imports and in that of the model.
fn compatible(cx: &Context<'_>, function: &FunctionProto, own: &BTreeMap<String, i64>) -> Validity {
    for node in &function.node {
        let domain = node.domain.as_str();
        let (Some(own), Some(outer)) = (own.get(domain), cx.opset_imports.get(domain)) else { continue };
        if own == outer {
            continue;
        }
        let since = |version: i64| match cx.catalogue.lookup(domain, &node.op_type, version) {
            Lookup::Found(operator) => Some(operator.schema.since_version),
            _ => None,
        };
        let (a, b) = (since(*own), since(*outer));
        ensure!(
            a == b,
            "Opset import for domain {domain} in function op {} is not compatible with the version imported by model. \
             FunctionOp imports version {own} whereas model imports version {outer}",
            node.op_type.as_str()
        );
    }
    Ok(())
}

pub(super) fn function(cx: &Context<'_>, function: &FunctionProto, outer: &Scope<'_>) -> Validity {
    required(!function.name.is_empty(), "name", "function")?;
    let name = function.name.as_str();
    let mut scope = outer.inner();
    for input in &function.input {
        ensure!(
            scope.insert(input),
            "Graph must be in single static assignment (SSA) form, however '{input}' has been used multiple times."
        );
    }
    let mut seen = HashSet::new();
    ensure!(
        function.output.iter().all(|output| seen.insert(output)),
        "function ({name}) should not have duplicate outputs specified."
    );
    let attributes = function.attribute.iter().map(String::as_str);
    let attributes = attributes.chain(function.attribute_proto.iter().map(|one| one.name.as_str()));
    let mut seen = HashSet::new();
    for attribute in attributes {
        ensure!(seen.insert(attribute), "function ({name}) should not have duplicate attributes specified.");
    }
    for one in &function.node {
        for input in one.input.iter().filter(|input| !input.is_empty()) {
            ensure!(
                scope.has(input),
                "Nodes in a function must be topologically sorted, however input '{input}' of node: \nName: {} OpType: {}\n is neither output of any previous nodes nor input of the function.",
                one.name.as_str(),
                one.op_type.as_str()
            );
        }
        node::validate(cx, one, &scope, Depth::MAIN)?;
        for output in one.output.iter().filter(|output| !output.is_empty()) {
            ensure!(
                scope.insert(output),
                "Function must be in single static assignment (SSA) form, however '{output}' has been used as output names multiple times."
            );
        }
    }
    Ok(())
}
