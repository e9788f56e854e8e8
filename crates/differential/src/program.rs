//! Generated programs: graphs, nodes and functions, and their output in ONNX's textual syntax.
//!
//! **Invariant:** a name is defined once in a program, including nested graphs and functions, so the name
//! identifies a value.

use std::fmt::{self, Write as _};

use typeloom_cpu::attributes::{Attribute as Plain, Attributes};
use typeloom_types::any_tensor::AnyTensor;
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

#[derive(Clone, Debug)]
pub enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
    Text(&'static str),
    Tensor(AnyTensor),
}

impl Node {
    /// The attributes in the form that kernels take.
    #[must_use]
    pub fn kernel_attributes(&self) -> Attributes {
        self.attributes.iter().fold(Attributes::default(), |attributes, (name, value)| {
            let value = match value {
                Attribute::Int(value) => Plain::Int(*value),
                Attribute::Ints(values) => Plain::Ints(values.clone()),
                Attribute::Float(value) => Plain::Float(*value),
                Attribute::Text(text) => Plain::Bytes(text.as_bytes().to_vec()),
                Attribute::Tensor(tensor) => Plain::Tensor(tensor.clone()),
            };
            attributes.with(name, value)
        })
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
        let _ = write!(text, "{}", Nested { graph: &self.graph, depth: 0 });
        text.push('\n');
        for Function { name, graph } in &self.functions {
            let _ = writeln!(text, "<domain: \"{LOCAL}\", opset_import: [\"\" : {OPSET}]>");
            let names = |ports: &[Declaration]| {
                ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ")
            };
            let _ = writeln!(text, "{name} ({}) => ({}) {{", names(&graph.inputs), names(&graph.outputs));
            for node in &graph.nodes {
                let _ = writeln!(text, "  {}", Indented { node, depth: 1 });
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
struct Nested<'g> {
    graph: &'g Graph,
    depth: usize,
}

impl fmt::Display for Nested<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { graph, depth } = *self;
        let list =
            |ports: &[Declaration]| ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "{} ({}) => ({})", graph.name, list(&graph.inputs), list(&graph.outputs))?;
        if !graph.constants.is_empty() || !graph.values.is_empty() {
            let constants = graph.constants.iter().map(|(name, tensor)| constant(Some(name), tensor));
            let all: Vec<String> = constants.chain(graph.values.iter().map(ToString::to_string)).collect();
            write!(f, " <{}>", all.join(", "))?;
        }
        f.write_str(" {\n")?;
        let indent = "  ".repeat(depth + 1);
        for node in &graph.nodes {
            writeln!(f, "{indent}{}", Indented { node, depth: depth + 1 })?;
        }
        write!(f, "{}}}", "  ".repeat(depth))
    }
}

/// A node inside `depth` graphs.
struct Indented<'g> {
    node: &'g Node,
    depth: usize,
}

impl fmt::Display for Indented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Node { op, domain, inputs, outputs, attributes, graphs } = self.node;
        let dot = if domain.is_empty() { "" } else { "." };
        write!(f, "{} = {domain}{dot}{op}", outputs.join(", "))?;
        let mut all: Vec<String> = attributes
            .iter()
            .map(|(name, value)| match value {
                Attribute::Int(value) => format!("{name} = {value}"),
                Attribute::Ints(values) if values.is_empty() => format!("{name}: ints = []"),
                Attribute::Ints(values) => format!("{name} = {values:?}"),
                Attribute::Float(value) => format!("{name} = {value:?}"),
                Attribute::Text(text) => format!("{name} = {text:?}"),
                Attribute::Tensor(tensor) => format!("{name} = {}", constant(None, tensor)),
            })
            .collect();
        for (name, graph) in graphs {
            all.push(format!("{name} = {}", Nested { graph, depth: self.depth }));
        }
        if !all.is_empty() {
            write!(f, " <{}>", all.join(", "))?;
        }
        write!(f, " ({})", inputs.join(", "))
    }
}

/// A constant with its elements, with or without a name.
fn constant(name: Option<&str>, tensor: &AnyTensor) -> String {
    let shape = tensor.shape().iter().map(ToString::to_string).collect::<Vec<_>>();
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
