//! Writer for the ONNX messages of generated families: graphs, nodes, declared tensors, constants, functions.
//!
//! A graph is encoded while it is built, so memory use is the encoded size also for a model of a million
//! nodes.

use crate::wire::{Message, fields};

/// The opset that every generated model imports.
const OPSET: i64 = 18;
const IR_VERSION: i64 = 8;

/// The domain of generated functions.
pub const FUNCTIONS: &str = "bench";

/// Element types with their ONNX numbers.
#[derive(Clone, Copy)]
pub enum Element {
    Float = 1,
    Int64 = 7,
    Bool = 9,
}

/// An attribute of a node.
pub enum Attribute<'a> {
    Int(&'a str, i64),
    Ints(&'a str, &'a [i64]),
    Graph(&'a str, &'a Graph),
}

impl Attribute<'_> {
    fn encode(&self) -> Message {
        let mut attribute = Message::default();
        match self {
            Self::Int(name, value) => {
                attribute.text(1, name);
                attribute.int(3, *value);
                attribute.int(20, 2);
            }
            Self::Ints(name, values) => {
                attribute.text(1, name);
                for value in *values {
                    attribute.int(8, *value);
                }
                attribute.int(20, 7);
            }
            Self::Graph(name, graph) => {
                attribute.text(1, name);
                attribute.message(6, &graph.body);
                attribute.int(20, 5);
            }
        }
        attribute
    }
}

/// A graph under construction.
pub struct Graph {
    body: Message,
    nodes: u64,
}

impl Graph {
    pub fn new(name: &str) -> Self {
        let mut body = Message::default();
        body.text(2, name);
        Self { body, nodes: 0 }
    }

    /// Adds a node of the standard domain with one output and the name of that output.
    pub fn node(&mut self, op: &str, inputs: &[&str], output: &str, attributes: &[Attribute]) {
        self.body.message(1, &node("", op, inputs, output, attributes));
        self.nodes += 1;
        for attribute in attributes {
            if let Attribute::Graph(_, graph) = attribute {
                self.nodes += graph.nodes;
            }
        }
    }

    /// Adds a call of a generated function.
    pub fn call(&mut self, function: &str, input: &str, output: &str) {
        self.body.message(1, &node(FUNCTIONS, function, &[input], output, &[]));
        self.nodes += 1;
    }

    /// Declares an input; a dim that is not a number is a symbol.
    pub fn input(&mut self, name: &str, element: Element, dims: &[&str]) {
        self.body.message(11, &value(name, element, dims));
    }

    /// Declares an output; a dim that is not a number is a symbol.
    pub fn output(&mut self, name: &str, element: Element, dims: &[&str]) {
        self.body.message(12, &value(name, element, dims));
    }

    /// Adds an output without a type, which is valid for branches of control flow.
    pub fn bare_output(&mut self, name: &str) {
        let mut value = Message::default();
        value.text(1, name);
        self.body.message(12, &value);
    }

    /// Adds a constant of floats, all 0.5.
    pub fn floats(&mut self, name: &str, dims: &[i64]) {
        let count =
            usize::try_from(dims.iter().product::<i64>()).expect("dims of a constant are not negative");
        self.body.message(5, &tensor(name, Element::Float, dims, &0.5f32.to_le_bytes().repeat(count)));
    }

    /// Adds a constant of integers: a scalar if `dims` is empty.
    pub fn ints(&mut self, name: &str, dims: &[i64], values: &[i64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.body.message(5, &tensor(name, Element::Int64, dims, &bytes));
    }

    /// Number of nodes, including nested graphs.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    pub fn encoded(&self) -> &Message {
        &self.body
    }
}

/// Builds a function with one input `x` and one output `y`; `build` records its nodes.
pub fn function(name: &str, build: impl FnOnce(&mut Graph)) -> Message {
    let mut body = Graph::new("");
    build(&mut body);
    let mut function = Message::default();
    function.text(1, name);
    function.text(4, "x");
    function.text(5, "y");
    for (_, node) in fields(body.body.as_bytes()).filter(|(field, _)| *field == 1) {
        function.bytes(7, node);
    }
    imports(&mut function, 9);
    function.text(10, FUNCTIONS);
    function
}

/// Encodes a model without its graph.
pub fn envelope(functions: &[Message]) -> Message {
    let mut model = Message::default();
    model.int(1, IR_VERSION);
    model.text(2, "typeloom-bench");
    imports(&mut model, 8);
    for function in functions {
        model.message(25, function);
    }
    model
}

/// Encodes the tag and length of the model's graph. The caller writes the graph afterwards.
pub fn open_graph(length: usize) -> Message {
    let mut head = Message::default();
    head.open(7, length);
    head
}

/// Encodes a tensor field of the main graph up to its payload of `payload` bytes.
pub fn open_tensor(name: &str, element: Element, dims: &[i64], payload: usize) -> Message {
    let mut head = tensor_head(name, element, dims);
    head.open(9, payload);
    let mut field = Message::default();
    field.open(5, head.as_bytes().len() + payload);
    field.merge(&head);
    field
}

fn imports(owner: &mut Message, field: u32) {
    for (domain, version) in [("", OPSET), (FUNCTIONS, 1)] {
        let mut import = Message::default();
        import.text(1, domain);
        import.int(2, version);
        owner.message(field, &import);
    }
}

fn node(domain: &str, op: &str, inputs: &[&str], output: &str, attributes: &[Attribute]) -> Message {
    let mut node = Message::default();
    for input in inputs {
        node.text(1, input);
    }
    node.text(2, output);
    node.text(3, &format!("node_{output}"));
    node.text(4, op);
    for attribute in attributes {
        node.message(5, &attribute.encode());
    }
    if !domain.is_empty() {
        node.text(7, domain);
    }
    node
}

fn value(name: &str, element: Element, dims: &[&str]) -> Message {
    let mut shape = Message::default();
    for dim in dims {
        let mut message = Message::default();
        match dim.parse() {
            Ok(number) => message.int(1, number),
            Err(_) => message.text(2, dim),
        }
        shape.message(1, &message);
    }
    let mut tensor = Message::default();
    tensor.int(1, element as i64);
    tensor.message(2, &shape);
    let mut ty = Message::default();
    ty.message(1, &tensor);
    let mut value = Message::default();
    value.text(1, name);
    value.message(2, &ty);
    value
}

fn tensor(name: &str, element: Element, dims: &[i64], payload: &[u8]) -> Message {
    let mut tensor = tensor_head(name, element, dims);
    tensor.bytes(9, payload);
    tensor
}

fn tensor_head(name: &str, element: Element, dims: &[i64]) -> Message {
    let mut tensor = Message::default();
    for dim in dims {
        tensor.int(1, *dim);
    }
    tensor.int(2, element as i64);
    tensor.text(8, name);
    tensor
}
