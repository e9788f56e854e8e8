//! Graphs: unique names, defined inputs, nodes in topological order.

use std::collections::HashSet;

use typeloom_onnx::messages::GraphProto;

use super::{Context, Depth, Validity, ensure, node, required, tensor, value};

/// The first version of the format whose initializers need no input of the same name.
const FREE_INITIALIZERS: i64 = 4;

/// The names of a graph and those of the graphs around it.
#[derive(Default)]
pub struct Scope<'s> {
    names: HashSet<String>,
    outer: Option<&'s Scope<'s>>,
}

impl<'s> Scope<'s> {
    /// An empty scope inside of this one.
    #[must_use]
    pub fn inner(&'s self) -> Self {
        Self { names: HashSet::new(), outer: Some(self) }
    }

    /// Adds a name; returns whether the graph itself did not have it.
    pub fn insert(&mut self, name: &str) -> bool {
        self.names.insert(name.to_owned())
    }

    pub(super) fn has_own(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let mut scope = Some(self);
        while let Some(Self { names, outer }) = scope {
            if names.contains(name) {
                return true;
            }
            scope = *outer;
        }
        false
    }
}

pub(super) fn validate(
    cx: &Context<'_>,
    graph: &GraphProto,
    scope: &mut Scope<'_>,
    depth: Depth,
) -> Validity {
    required(!graph.name.is_empty(), "name", "graph")?;
    for info in graph.input.iter().chain(&graph.output) {
        value::validate(info, depth)?;
    }
    for input in &graph.input {
        ensure!(
            scope.insert(&input.name),
            "Graph must be in single static assignment (SSA) form, however '{}' has been used as graph input names multiple times.",
            input.name.as_str()
        );
    }
    initializers(cx, graph, scope)?;
    for node in &graph.node {
        for input in node.input.iter().filter(|input| !input.is_empty()) {
            ensure!(
                scope.has(input),
                "Nodes in a graph must be topologically sorted, however input '{input}' of node: \nname: {} OpType: {}\n is not output of any previous nodes.",
                node.name.as_str(),
                node.op_type.as_str()
            );
        }
        node::validate(cx, node, scope, depth).map_err(|error| node::in_context(error, node))?;
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            ensure!(
                !scope.has(output),
                "Graph must be in single static assignment (SSA) form, however '{output}' has been used as output names multiple times."
            );
            scope.insert(output);
        }
    }
    for output in &graph.output {
        ensure!(
            scope.has_own(&output.name),
            "Graph output '{}' is not an output of any node in graph.",
            output.name.as_str()
        );
    }
    Ok(())
}

fn initializers(cx: &Context<'_>, graph: &GraphProto, scope: &mut Scope<'_>) -> Validity {
    let mut seen: HashSet<&str> = HashSet::new();
    let dense = graph.initializer.iter().map(|tensor| (tensor.name.as_str(), Some(tensor), None));
    let sparse = graph.sparse_initializer.iter().map(|sparse| {
        let values = sparse.values.as_ref();
        (values.map_or("", |values| values.name.as_str()), None, Some(sparse))
    });
    for (name, tensor, sparse) in dense.chain(sparse) {
        required(!name.is_empty(), "name", if sparse.is_some() { "sparse_initializer" } else { "tensor" })?;
        ensure!(seen.insert(name), "{name} initializer name is not unique");
        if let Some(tensor) = tensor {
            tensor::dense(cx, tensor)?;
        }
        if let Some(sparse) = sparse {
            tensor::sparse(cx, sparse)?;
        }
        ensure!(
            cx.ir_version >= FREE_INITIALIZERS || scope.has_own(name),
            "{name} in initializer but not in graph input"
        );
        scope.insert(name);
    }
    Ok(())
}
