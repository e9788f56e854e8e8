//! Generated programs: graphs, nodes and functions, and their output in ONNX's textual syntax.
//!
//! **Invariant:** a name is defined once in a program, including nested graphs and functions, so the name
//! identifies a value.

use std::fmt::{self, Write as _};

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// The operator set that programs import.
pub const OPSET: i64 = 21;
/// The domain of the functions of a program.
pub const LOCAL: &str = "local";

/// A whole model.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The main graph.
    pub graph: Graph,
    /// The functions, callees first.
    pub functions: Vec<Function>,
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub name: String,
    pub inputs: Vec<Declaration>,
    pub outputs: Vec<Declaration>,
    pub constants: Vec<(String, AnyTensor)>,
    /// The declarations in `value_info`.
    pub values: Vec<Declaration>,
    /// The nodes in an executable order.
    pub nodes: Vec<Node>,
}

/// A function without attributes.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name in the domain [`LOCAL`].
    pub name: String,
    /// The inputs, outputs and nodes.
    pub graph: Graph,
}

/// A name with a declared type.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub name: String,
    /// The type; `None` if nothing is declared.
    pub ty: Option<Declared>,
}

/// A declared tensor type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The element type.
    pub dtype: Dtype,
    /// The extents as text, `?` for an anonymous one; `None` if no shape is declared.
    pub shape: Option<Vec<String>>,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The operator or function.
    pub op: String,
    /// Empty or [`LOCAL`].
    pub domain: &'static str,
    /// Input names; empty for an omitted input.
    pub inputs: Vec<String>,
    /// Output names.
    pub outputs: Vec<String>,
    /// The attributes, except for graphs.
    pub attributes: Vec<(&'static str, Attribute)>,
    pub graphs: Vec<(&'static str, Graph)>,
}

impl Node {
    /// The attributes in the form that kernels take.
    #[must_use]
    pub fn kernel_attributes(&self) -> Attributes {
        let attributes = self.attributes.iter();
        attributes.fold(Attributes::default(), |all, (name, value)| all.with(name, value.clone()))
    }
}

impl Graph {
    /// Visits the graph and all nested graphs.
    pub fn walk<'g>(&'g self, visit: &mut dyn FnMut(&'g Graph)) {
        visit(self);
        for (_, graph) in self.nodes.iter().flat_map(|node| &node.graphs) {
            graph.walk(visit);
        }
    }
}

impl Program {
    /// The program in ONNX's textual syntax.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("<ir_version: 10, opset_import: [\"\" : {OPSET}");
        if !self.functions.is_empty() {
            let _ = write!(text, ", \"{LOCAL}\" : 1");
        }
        text.push_str("]>\n");
        text.push_str(&graph_text(&self.graph, 0));
        text.push('\n');
        for Function { name, graph } in &self.functions {
            let _ = writeln!(text, "<domain: \"{LOCAL}\", opset_import: [\"\" : {OPSET}]>");
            let names = |ports: &[Declaration]| {
                ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ")
            };
            let _ = writeln!(text, "{name} ({}) => ({}) {{", names(&graph.inputs), names(&graph.outputs));
            for node in &graph.nodes {
                let _ = writeln!(text, "  {}", node_text(node, 1));
            }
            text.push_str("}\n");
        }
        text
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ty) = &self.ty {
            write!(f, "{ty} ")?;
        }
        f.write_str(&self.name)
    }
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.dtype.onnx_name())?;
        match self.shape.as_deref() {
            None => f.write_str("[]"),
            Some([]) => Ok(()),
            Some(shape) => write!(f, "[{}]", shape.join(", ")),
        }
    }
}

/// A graph inside `depth` others.
fn graph_text(graph: &Graph, depth: usize) -> String {
    let Graph { name, inputs, outputs, constants, values, nodes } = graph;
    let mut text = format!("{name} ({}) => ({})", joined(inputs), joined(outputs));
    let constants = constants.iter().map(|(name, tensor)| constant(Some(name), tensor));
    let header: Vec<String> = constants.chain(values.iter().map(ToString::to_string)).collect();
    if !header.is_empty() {
        let _ = write!(text, " <{}>", header.join(", "));
    }
    text.push_str(" {\n");
    for node in nodes {
        let _ = writeln!(text, "{}{}", "  ".repeat(depth + 1), node_text(node, depth + 1));
    }
    text + &"  ".repeat(depth) + "}"
}

fn joined(parts: &[impl ToString]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A node inside `depth` graphs.
fn node_text(node: &Node, depth: usize) -> String {
    let Node { op, domain, inputs, outputs, attributes, graphs } = node;
    let dot = if domain.is_empty() { "" } else { "." };
    let attributes = attributes.iter().map(|(name, value)| match value {
        Attribute::Int(value) => format!("{name} = {value}"),
        Attribute::Ints(values) if values.is_empty() => format!("{name}: ints = []"),
        Attribute::Ints(values) => format!("{name} = {values:?}"),
        Attribute::Float(value) => format!("{name} = {value:?}"),
        Attribute::Bytes(text) => format!("{name} = {:?}", String::from_utf8_lossy(text)),
        Attribute::Tensor(tensor) => format!("{name} = {}", constant(None, tensor)),
        other => format!("{name} = {other:?}"),
    });
    let graphs = graphs.iter().map(|(name, graph)| format!("{name} = {}", graph_text(graph, depth)));
    let all: Vec<String> = attributes.chain(graphs).collect();
    let all = if all.is_empty() { String::new() } else { format!(" <{}>", all.join(", ")) };
    format!("{} = {domain}{dot}{op}{all} ({})", outputs.join(", "), inputs.join(", "))
}

/// A constant with its elements, with or without a name.
fn constant(name: Option<&str>, tensor: &AnyTensor) -> String {
    let shape = tensor.shape().iter().map(ToString::to_string).collect();
    let ty = Declared { dtype: tensor.dtype(), shape: Some(shape) };
    let elements: Vec<String> = match tensor.dtype() {
        Dtype::F32 => numbers::<f32>(tensor, |it| format!("{it:?}")),
        Dtype::F64 => numbers::<f64>(tensor, |it| format!("{it:?}")),
        Dtype::I64 => numbers::<i64>(tensor, |it| it.to_string()),
        Dtype::I32 => numbers::<i32>(tensor, |it| it.to_string()),
        // One byte per element: the generator creates only constants of the types above and `bool`.
        _ => tensor.bytes().iter().map(ToString::to_string).collect(),
    };
    let (gap, name) = name.map_or(("", ""), |name| (" ", name));
    let equals = if name.is_empty() { "" } else { " =" };
    format!("{ty}{gap}{name}{equals} {{{}}}", elements.join(", "))
}

fn numbers<T: typeloom_types::element::Element>(
    tensor: &AnyTensor,
    print: impl Fn(T) -> String,
) -> Vec<String> {
    tensor.to_vec::<T>().map(|elements| elements.into_iter().map(print).collect()).unwrap_or_default()
}
