//! Random models whose element types do not fit, over values of few shapes.
//!
//! Each node reads values of any element type with a small probability, so that a model has one to three
//! errors. The operators are those whose element types matter for repairs: arithmetic, comparisons, logic,
//! casts, readers of any type, indices, and nodes with graphs.

use std::fmt::Write as _;

use typeloom_solver::elem::Elem;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::choices::Choices;

/// A model with errors of element types.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The imported version of the default operator set.
    pub opset: i64,
    /// The inputs with their values.
    pub inputs: Vec<(Port, Datum)>,
    /// The initializers, each with its elements as text.
    pub constants: Vec<(Port, String)>,
    /// The nodes in order.
    pub nodes: Vec<Node>,
    /// The outputs; an element type is declared or not.
    pub outputs: Vec<(String, Option<Elem>)>,
}

/// A value with its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Port {
    /// The name.
    pub name: String,
    /// The element type.
    pub elem: Elem,
    /// The extents.
    pub shape: &'static [usize],
}

/// A node with one output.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operator of the default domain.
    pub op: &'static str,
    /// The inputs; empty names are omitted ones.
    pub inputs: Vec<String>,
    /// The output.
    pub output: String,
    /// The target of a `Cast`.
    pub to: Option<Elem>,
    /// Other attributes, graphs included, in the textual syntax.
    pub attributes: String,
}

/// The element types of inputs and casts.
const ELEMS: [Elem; 8] = [
    Elem::FLOAT,
    Elem::INT64,
    Elem::FLOAT16,
    Elem::INT32,
    Elem::DOUBLE,
    Elem::BOOL,
    Elem::UINT8,
    Elem::STRING,
];

const OPSETS: [i64; 8] = [9, 10, 11, 13, 15, 17, 18, 21];
const FULL: &[usize] = &[2, 3];
const SCALAR: &[usize] = &[];

const ARITHMETIC: [&str; 5] = ["Add", "Sub", "Mul", "Max", "Min"];
const UNARY: [&str; 8] = ["Neg", "Abs", "Relu", "Identity", "Floor", "Sigmoid", "Sign", "Sqrt"];
const LOGIC: [&str; 3] = ["And", "Or", "Xor"];

impl Broken {
    /// A model with up to `nodes` nodes.
    #[must_use]
    pub fn random(nodes: usize, choices: &mut Choices) -> Self {
        let mut maker = Maker {
            model: Self {
                opset: *choices.pick(&OPSETS),
                inputs: Vec::new(),
                constants: Vec::new(),
                nodes: Vec::new(),
                outputs: Vec::new(),
            },
            values: Vec::new(),
            choices,
        };
        for at in 0..maker.choices.between(2, 3) {
            let elem = maker.elem();
            let port = Port { name: format!("x{at}"), elem, shape: FULL };
            let value = maker.tensor(elem);
            maker.values.push((port.name.clone(), elem));
            maker.model.inputs.push((port, value));
        }
        let count = 1 + maker.choices.below(nodes);
        while maker.model.nodes.len() < count {
            maker.node();
        }
        maker.outputs();
        maker.model
    }

    /// Whether no node has graphs.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.nodes.iter().all(|node| !matches!(node.op, "If" | "Loop"))
    }

    /// The model in ONNX's textual syntax.
    #[must_use]
    pub fn text(&self) -> String {
        let ports = |ports: Vec<String>| ports.join(", ");
        let inputs = ports(self.inputs.iter().map(|(port, _)| port.text()).collect());
        let outputs = self.outputs.iter().map(|(name, elem)| match elem {
            Some(elem) => format!("{}[] {name}", name_of(*elem)),
            None => name.clone(),
        });
        let constants = self.constants.iter().map(|(port, text)| format!("{} = {{{text}}}", port.text()));
        let mut text = format!(
            "<ir_version: 8, opset_import: [\"\" : {}]>\ng ({inputs}) => ({})\n  <{}>\n{{\n",
            self.opset,
            ports(outputs.collect()),
            ports(constants.collect())
        );
        for Node { op, inputs, output, to, attributes } in &self.nodes {
            let to = to.map(|to| format!("to = {}", to.number())).unwrap_or_default();
            let read = inputs.iter().map(|name| if name.is_empty() { "\"\"" } else { name });
            let read = read.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "  {output} = {op} <{to}{attributes}> ({read})");
        }
        text.push_str("}\n");
        text.replace(" <>", "")
    }
}

impl Port {
    fn text(&self) -> String {
        let extents: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        let shape = if extents.is_empty() { String::new() } else { format!("[{}]", extents.join(",")) };
        format!("{}{shape} {}", name_of(self.elem), self.name)
    }
}

fn name_of(elem: Elem) -> &'static str {
    elem.onnx_name().unwrap_or("float")
}

struct Maker<'c> {
    model: Broken,
    /// The values of full shape, each with the element type that it most probably has.
    values: Vec<(String, Elem)>,
    choices: &'c mut Choices,
}

impl Maker<'_> {
    fn elem(&mut self) -> Elem {
        // Strings are rare, and most models have floats.
        let count = if self.choices.percent(10) { ELEMS.len() } else { ELEMS.len() - 1 };
        if self.choices.percent(30) { Elem::FLOAT } else { ELEMS[self.choices.below(count)] }
    }

    fn value(&mut self) -> (String, Elem) {
        self.values[self.choices.below(self.values.len())].clone()
    }

    /// A value, mostly of an element type.
    fn value_of(&mut self, elem: Elem) -> String {
        let same: Vec<String> =
            self.values.iter().filter(|(_, own)| *own == elem).map(|(name, _)| name.clone()).collect();
        if same.is_empty() || self.choices.percent(15) {
            return if self.choices.percent(40) { self.constant(elem) } else { self.value().0 };
        }
        same[self.choices.below(same.len())].clone()
    }

    /// A constant, mostly of an element type.
    fn constant(&mut self, elem: Elem) -> String {
        let elem = if self.choices.percent(25) { self.elem() } else { elem };
        let text = match elem {
            // The bits of 0.5, 3, 0.1 and -65504.
            Elem::FLOAT16 => *self.choices.pick(&["14336", "16896", "11878", "64511"]),
            Elem::FLOAT | Elem::DOUBLE => *self.choices.pick(&["0.5", "3", "1e-12", "-70000", "0.1", "2"]),
            Elem::UINT8 => *self.choices.pick(&["0", "1", "200"]),
            Elem::BOOL => *self.choices.pick(&["0", "1"]),
            Elem::STRING => "\"3\"",
            _ => *self.choices.pick(&["0", "1", "3", "-1", "300", "16777217"]),
        };
        self.stored(elem, SCALAR, text)
    }

    fn stored(&mut self, elem: Elem, shape: &'static [usize], text: &str) -> String {
        let name = format!("c{}", self.model.constants.len());
        self.model.constants.push((Port { name: name.clone(), elem, shape }, text.to_owned()));
        name
    }

    fn tensor(&mut self, elem: Elem) -> Datum {
        let choices = &mut *self.choices;
        let floats: Vec<f32> = (0..6).map(|_| *choices.pick(&[0.1, 2.5, -1.5, 0.0, 70000.0, 1.0])).collect();
        let ints: Vec<i64> = (0..6).map(|_| *choices.pick(&[0, 1, 3, -3, 300, 16_777_217])).collect();
        // 0.1, 2.5, -1.5, 0, 65504 and 1.
        let halves: Vec<u8> = (0..6)
            .flat_map(|_| choices.pick(&[0x2e66_u16, 0x4100, 0xbe00, 0, 0x7bff, 0x3c00]).to_le_bytes())
            .collect();
        let small = || ints.iter().map(|value| i32::try_from(*value).unwrap_or(0));
        let tensor = match elem {
            Elem::FLOAT => AnyTensor::from_slice(FULL, &floats),
            Elem::FLOAT16 => AnyTensor::from_le_bytes(Dtype::F16, FULL, &halves),
            Elem::DOUBLE => AnyTensor::from_vec(FULL, floats.iter().map(|value| f64::from(*value)).collect()),
            Elem::INT64 => AnyTensor::from_slice(FULL, &ints),
            Elem::INT32 => AnyTensor::from_vec(FULL, small().collect()),
            Elem::UINT8 => AnyTensor::from_vec(FULL, small().map(|value| (value & 255) as u8).collect()),
            Elem::BOOL => AnyTensor::from_vec(FULL, small().map(|value| value > 0).collect()),
            _ => AnyTensor::from_strings(FULL, &["1", "2.5", "3", "0", "10", "7"]),
        };
        Datum::Tensor(tensor.expect("the shape has six elements"))
    }

    fn add(&mut self, op: &'static str, inputs: Vec<String>, elem: Option<Elem>, attributes: String) {
        let output = format!("v{}", self.model.nodes.len());
        // The output of `Concat` and `ArgMax` has another shape, as have nodes of constants.
        let is_full = |name: &String| self.values.iter().any(|(value, _)| value == name);
        if let Some(elem) = elem.filter(|_| op == "If" || inputs.iter().any(is_full)) {
            self.values.push((output.clone(), elem));
        }
        self.model.nodes.push(Node { op, inputs, output, to: None, attributes });
    }

    fn node(&mut self) {
        let (first, elem) = self.value();
        let opset = self.model.opset;
        let comparisons: &[&'static str] = if opset >= 12 {
            &["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]
        } else {
            &["Equal", "Less", "Greater"]
        };
        match self.choices.below(20) {
            0..=5 => {
                let op = *self.choices.pick(&ARITHMETIC);
                let second = if self.choices.percent(30) { self.constant(elem) } else { self.value_of(elem) };
                self.add(op, vec![first, second], Some(elem), String::new());
            }
            6 | 7 => {
                let op = *self.choices.pick(&UNARY);
                self.add(op, vec![first], Some(elem), String::new());
            }
            8 | 9 => {
                let op = *self.choices.pick(comparisons);
                let second = if self.choices.percent(30) { self.constant(elem) } else { self.value_of(elem) };
                self.add(op, vec![first, second], Some(Elem::BOOL), String::new());
            }
            10 => {
                let op = *self.choices.pick(&LOGIC);
                let (left, right) = (self.value_of(Elem::BOOL), self.value_of(Elem::BOOL));
                self.add(op, vec![left, right], Some(Elem::BOOL), String::new());
            }
            11 => {
                let (condition, other) = (self.value_of(Elem::BOOL), self.value_of(elem));
                self.add("Where", vec![condition, first, other], Some(elem), String::new());
            }
            12 | 13 => {
                // ONNX Runtime 1.31 gathers rows of text wrongly, and the text of a number is not one of a
                // truth value: these casts fail when they run.
                let to = match self.elem() {
                    _ if elem == Elem::STRING => Elem::STRING,
                    Elem::BOOL if self.has_text() => Elem::FLOAT,
                    to => to,
                };
                self.add("Cast", vec![first], Some(to), String::new());
                if let Some(node) = self.model.nodes.last_mut() {
                    node.to = Some(to);
                }
            }
            14 => {
                let second = self.value_of(elem);
                self.add("Concat", vec![first, second], None, "axis = 0".to_owned());
            }
            15 => {
                let of = *self.choices.pick(&[Elem::INT64, Elem::INT32, Elem::FLOAT]);
                let indices = self.stored(of, &[2], "1, 0");
                self.add("Gather", vec![first, indices], Some(elem), "axis = 0".to_owned());
            }
            16 => {
                let of = *self.choices.pick(&[Elem::INT64, Elem::INT64, Elem::INT32, Elem::FLOAT]);
                let shape = self.stored(of, &[2], "2, 3");
                self.add("Reshape", vec![first, shape], Some(elem), String::new());
            }
            17 if opset >= 11 => {
                let least = self.constant(elem);
                self.add("Clip", vec![first, least], Some(elem), String::new());
            }
            18 => self.branch(elem),
            19 => self.repeat(first, elem),
            _ => {
                let weights = self.stored(elem_of_weights(elem), &[3, 3], "1, 0, 0, 0, 2, 0, 0, 0, 3");
                self.add("MatMul", vec![first, weights], Some(elem), String::new());
            }
        }
    }

    /// Whether a value of the model, perhaps one behind other nodes, is text.
    fn has_text(&self) -> bool {
        let mut elems = self.values.iter().map(|(_, elem)| *elem);
        elems.any(|elem| elem == Elem::STRING)
            || self.model.constants.iter().any(|(port, _)| port.elem == Elem::STRING)
    }

    fn branch(&mut self, elem: Elem) {
        let of = if self.choices.percent(80) { Elem::BOOL } else { Elem::FLOAT };
        let condition = self.stored(of, SCALAR, "1");
        // Branches of different ranks are another error.
        let of_full_shape = |maker: &mut Self| {
            let name = maker.value_of(elem);
            if name.starts_with('c') { maker.value().0 } else { name }
        };
        let (one, other) = (of_full_shape(self), of_full_shape(self));
        let at = self.model.nodes.len();
        let graph = |name: &str, value: &str| {
            format!("{name}_branch = {name}{at} () => ({name}_r{at}) {{ {name}_r{at} = Identity({value}) }}")
        };
        let attributes = format!("{}, {}", graph("then", &one), graph("else", &other));
        self.add("If", vec![condition], Some(elem), attributes);
    }

    fn repeat(&mut self, first: String, elem: Elem) {
        let (trips, goes_on) = (self.stored(Elem::INT64, SCALAR, "2"), self.stored(Elem::BOOL, SCALAR, "1"));
        let added = self.value_of(elem);
        let at = self.model.nodes.len();
        let attributes = format!(
            "body = b{at} (int64 i{at}, bool go{at}, s{at}) => (bool more{at}, r{at}) {{
                more{at} = Identity(go{at}) r{at} = Add(s{at}, {added})
            }}"
        );
        self.add("Loop", vec![trips, goes_on, first], Some(elem), attributes);
    }

    fn outputs(&mut self) {
        let is_read = |name: &str, model: &Broken| {
            let of_graph = |node: &Node| {
                node.attributes.contains(&format!("({name})"))
                    || node.attributes.contains(&format!(", {name})"))
            };
            model.nodes.iter().any(|node| node.inputs.iter().any(|input| input == name) || of_graph(node))
        };
        for at in 0..self.model.nodes.len() {
            let name = self.model.nodes[at].output.clone();
            if is_read(&name, &self.model) && !self.choices.percent(15) {
                continue;
            }
            let own = self.values.iter().find(|(value, _)| *value == name).map(|(_, elem)| *elem);
            let declared = if self.choices.percent(10) { Some(self.elem()) } else { own };
            let declared = declared.filter(|_| self.choices.percent(60));
            self.model.outputs.push((name, declared));
        }
    }
}

/// `MatMul` takes no bools and texts.
fn elem_of_weights(elem: Elem) -> Elem {
    if matches!(elem, Elem::BOOL | Elem::STRING | Elem::UINT8) { Elem::FLOAT } else { elem }
}
