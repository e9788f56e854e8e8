//! Register allocation: random graphs with branches, loops and functions, compared with an interpreter that
//! stores every value under a unique name and never frees it.

use std::collections::{BTreeMap, HashMap};

use typeloom_cpu::ops::generate::Random;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    ValueInfoProto,
};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::{RunOutcome, Session};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_testing::number;

/// Number of elements of every value.
const WIDTH: usize = 4;

type Elements = [f32; WIDTH];

/// A node or a small group of nodes.
enum Node {
    /// `Neg`, `Abs`, `Identity` or `Dropout`.
    One {
        op: &'static str,
        x: String,
        y: String,
    },
    /// `Mean`, `Max` or `Min` of some values, possibly repeated.
    Many {
        op: &'static str,
        xs: Vec<String>,
        y: String,
    },
    /// Swaps the halves of a value. The first half has an additional unread name or none.
    Swapped {
        x: String,
        halves: [String; 2],
        reads_first: bool,
        y: String,
    },
    If {
        condition: usize,
        branches: [Block; 2],
        ys: Vec<String>,
    },
    /// A loop with this many iterations. An additional output is the maximum of the collected values.
    Loop {
        turns: usize,
        carried: Vec<String>,
        body: Block,
        ys: Vec<String>,
        collected: String,
        most: String,
    },
    Call {
        function: usize,
        xs: Vec<String>,
        ys: Vec<String>,
    },
}

#[derive(Default)]
struct Block {
    inputs: Vec<String>,
    nodes: Vec<Node>,
    outputs: Vec<String>,
}

/// Generator of a graph.
struct Generator {
    random: Random,
    names: usize,
    conditions: usize,
    functions: Vec<Block>,
}

impl Generator {
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.random.bits() % limit as u64).expect("the limit is small")
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn names(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.name()).collect()
    }

    /// A random visible value, preferably a recent one.
    fn pick(&mut self, visible: &[String]) -> String {
        let recent = if self.below(3) == 0 { visible.len() } else { visible.len().min(3) };
        visible[visible.len() - 1 - self.below(recent)].clone()
    }

    fn picks(&mut self, count: usize, visible: &[String]) -> Vec<String> {
        (0..count).map(|_| self.pick(visible)).collect()
    }

    /// A block that reads visible values of the enclosing blocks; `depth` bounds its nesting.
    fn block(&mut self, around: &[String], inputs: usize, outputs: usize, depth: usize) -> Block {
        let inputs = self.names(inputs);
        let mut visible: Vec<String> = around.iter().chain(&inputs).cloned().collect();
        let mut nodes = Vec::new();
        for _ in 0..1 + self.below(if depth == 0 { 4 } else { 12 }) {
            let node = self.node(&visible, depth);
            visible.extend(node.results());
            nodes.push(node);
        }
        let outputs: Vec<String> = (0..outputs).map(|_| self.name()).collect();
        for y in &outputs {
            let x = self.pick(&visible);
            nodes.push(Node::One { op: "Identity", x, y: y.clone() });
        }
        Block { inputs, nodes, outputs }
    }

    fn node(&mut self, visible: &[String], depth: usize) -> Node {
        match self.below(if depth == 0 { 8 } else { 12 }) {
            0..=2 => {
                let op = ["Neg", "Abs", "Identity", "Dropout"][self.below(4)];
                Node::One { op, x: self.pick(visible), y: self.name() }
            }
            3..=6 => {
                let (op, count) = (["Mean", "Max", "Min"][self.below(3)], 1 + self.below(3));
                Node::Many { op, xs: self.picks(count, visible), y: self.name() }
            }
            7 => {
                let first = if self.below(2) == 0 { self.name() } else { String::new() };
                let reads_first = !first.is_empty() && self.below(2) == 0;
                let halves = [first, self.name()];
                Node::Swapped { x: self.pick(visible), halves, reads_first, y: self.name() }
            }
            8 | 9 => {
                let (condition, count) = (self.below(self.conditions), 1 + self.below(2));
                let branches = [(); 2].map(|()| self.block(visible, 0, count, depth - 1));
                Node::If { condition, branches, ys: self.names(count) }
            }
            10 => {
                let (turns, count) = (1 + self.below(3), 1 + self.below(2));
                let carried = self.picks(count, visible);
                // The loop states, and one collected value.
                let body = self.block(visible, count, count + 1, depth - 1);
                let ys = self.names(count);
                Node::Loop { turns, carried, body, ys, collected: self.name(), most: self.name() }
            }
            _ if self.functions.is_empty() => self.node(visible, 0),
            _ => {
                let function = self.below(self.functions.len());
                let Block { inputs, outputs, .. } = &self.functions[function];
                let (inputs, outputs) = (inputs.len(), outputs.len());
                Node::Call { function, xs: self.picks(inputs, visible), ys: self.names(outputs) }
            }
        }
    }
}

impl Node {
    /// Values that other nodes may read.
    fn results(&self) -> Vec<String> {
        match self {
            Self::One { y, .. } | Self::Many { y, .. } | Self::Swapped { y, .. } => vec![y.clone()],
            Self::If { ys, .. } | Self::Call { ys, .. } => ys.clone(),
            Self::Loop { ys, most, .. } => ys.iter().chain([most]).cloned().collect(),
        }
    }
}

// Interpreter

type Values = BTreeMap<String, Elements>;

struct Interpreter<'i> {
    conditions: &'i [bool],
    functions: &'i [Block],
}

impl Interpreter<'_> {
    fn block(&self, block: &Block, around: &Values, inputs: &[Elements]) -> Vec<Elements> {
        let mut values = around.clone();
        values.extend(block.inputs.iter().cloned().zip(inputs.iter().copied()));
        for node in &block.nodes {
            self.node(node, &mut values);
        }
        block.outputs.iter().map(|name| values[name]).collect()
    }

    fn node(&self, node: &Node, values: &mut Values) {
        let all =
            |names: &[String], values: &Values| names.iter().map(|name| values[name]).collect::<Vec<_>>();
        let greatest = |a: Elements, b: &Elements| std::array::from_fn(|at| a[at].max(b[at]));
        match node {
            Node::One { op, x, y } => {
                let x = values[x];
                let result = match *op {
                    "Neg" => x.map(|x| -x),
                    "Abs" => x.map(f32::abs),
                    _ => x,
                };
                values.insert(y.clone(), result);
            }
            Node::Many { op, xs, y } => {
                let xs = all(xs, values);
                let fold = |each: fn(f32, f32) -> f32| {
                    let fold = |a: Elements, b: &Elements| std::array::from_fn(|at| each(a[at], b[at]));
                    xs[1..].iter().fold(xs[0], fold)
                };
                let result = match *op {
                    "Max" => fold(f32::max),
                    "Min" => fold(f32::min),
                    _ => fold(|a, b| a + b).map(|sum: f32| sum / xs.len() as f32),
                };
                values.insert(y.clone(), result);
            }
            Node::Swapped { x, reads_first, y, .. } => {
                let [a, b, c, d] = values[x];
                values.insert(y.clone(), if *reads_first { [c, d, a, b] } else { [c, d, c, d] });
            }
            Node::If { condition, branches: [one, other], ys } => {
                let taken = if self.conditions[*condition] { one } else { other };
                let results = self.block(taken, values, &[]);
                values.extend(ys.iter().cloned().zip(results));
            }
            Node::Loop { turns, carried, body, ys, collected: _, most } => {
                let mut state = all(carried, values);
                let mut slices = Vec::new();
                for _ in 0..*turns {
                    state = self.block(body, values, &state);
                    slices.extend(state.pop());
                }
                values.extend(ys.iter().cloned().zip(state));
                values.insert(most.clone(), slices[1..].iter().fold(slices[0], greatest));
            }
            Node::Call { function, xs, ys } => {
                let results = self.block(&self.functions[*function], &Values::new(), &all(xs, values));
                values.extend(ys.iter().cloned().zip(results));
            }
        }
    }
}

// Model

fn node(op: &str, input: Vec<String>, output: Vec<String>, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto { op_type: op.into(), input, output, attribute, ..NodeProto::default() }
}

fn body(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        r#type: Some(AttributeType::Graph.into()),
        g: Some(Box::new(graph)),
        ..AttributeProto::default()
    }
}

fn int(name: &str, value: i64) -> AttributeProto {
    let r#type = Some(AttributeType::Int.into());
    AttributeProto { name: name.into(), r#type, i: Some(value), ..AttributeProto::default() }
}

fn info(name: impl Into<String>) -> ValueInfoProto {
    ValueInfoProto { name: name.into().into(), ..ValueInfoProto::default() }
}

fn stored(name: &str, data_type: i32, dims: Vec<i64>, raw: Vec<u8>) -> TensorProto {
    let (name, raw_data) = (name.into(), Some(raw.into()));
    TensorProto { name, dims, data_type: Some(data_type), raw_data, ..TensorProto::default() }
}

/// The nodes of a block.
fn nodes(block: &Block) -> Vec<NodeProto> {
    block.nodes.iter().flat_map(messages).collect()
}

fn messages(made: &Node) -> Vec<NodeProto> {
    match made {
        Node::One { op, x, y } => vec![node(op, vec![x.clone()], vec![y.clone()], Vec::new())],
        Node::Many { op, xs, y } => vec![node(op, xs.clone(), vec![y.clone()], Vec::new())],
        Node::Swapped { x, halves: [first, second], reads_first, y } => {
            let split = node(
                "Split",
                vec![x.clone()],
                vec![first.clone(), second.clone()],
                vec![int("num_outputs", 2)],
            );
            let last = if *reads_first { first } else { second };
            let parts = vec![second.clone(), last.clone()];
            vec![split, node("Concat", parts, vec![y.clone()], vec![int("axis", 0)])]
        }
        Node::If { condition, branches, ys } => {
            let graph = |block: &Block| GraphProto {
                node: nodes(block),
                output: block.outputs.iter().map(info).collect(),
                ..GraphProto::default()
            };
            let [one, other] = branches.each_ref().map(graph);
            let branches = vec![body("then_branch", one), body("else_branch", other)];
            vec![node("If", vec![format!("c{condition}")], ys.clone(), branches)]
        }
        Node::Loop { turns, carried, body: block, ys, collected, most } => {
            let own = |what: &str| format!("{what}_{collected}");
            let on = node("Identity", vec![own("on")], vec![own("still")], Vec::new());
            let inputs = [own("turn"), own("on")];
            let graph = GraphProto {
                node: [on].into_iter().chain(nodes(block)).collect(),
                input: inputs.iter().chain(&block.inputs).map(info).collect(),
                output: [own("still")].iter().chain(&block.outputs).map(info).collect(),
                ..GraphProto::default()
            };
            let given = [format!("n{turns}"), String::new()].into_iter().chain(carried.iter().cloned());
            let results = ys.iter().chain([collected]).cloned().collect();
            let repeated = node("Loop", given.collect(), results, vec![body("body", graph)]);
            let axes = vec![collected.clone(), "first_axis".to_owned()];
            vec![repeated, node("ReduceMax", axes, vec![most.clone()], vec![int("keepdims", 0)])]
        }
        Node::Call { function, xs, ys } => {
            let call = node(&format!("f{function}"), xs.clone(), ys.clone(), Vec::new());
            vec![NodeProto { domain: "own".into(), ..call }]
        }
    }
}

fn floats(values: &Elements) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A model with its inputs, constants and results.
struct Case {
    model: ModelProto,
    main: Block,
    constants: Values,
    functions: Vec<Block>,
    conditions: usize,
}

fn case(generator: &mut Generator) -> Case {
    generator.functions.clear();
    for _ in 0..generator.below(3) {
        let (inputs, outputs) = (1 + generator.below(2), 1 + generator.below(2));
        // A function whose body calls the previous functions. It sees no outer values, so it contains no
        // loop, which would need the constants of the main graph.
        let function = generator.block(&[], inputs, outputs, 0);
        generator.functions.push(function);
    }
    let constants: Vec<String> = generator.names(2);
    let mut main = generator.block(&constants, 2, 1, 3);
    // The outputs include an early value, an intermediate value, an input and a constant.
    let made: Vec<String> = main.nodes.iter().flat_map(Node::results).collect();
    for _ in 0..generator.below(4) {
        let output = made[generator.below(made.len())].clone();
        if !main.outputs.contains(&output) {
            main.outputs.push(output);
        }
    }
    main.outputs.extend(main.inputs.first().cloned());
    main.outputs.extend(constants.first().cloned());
    let constants: Values = constants
        .into_iter()
        .map(|name| (name, [(); WIDTH].map(|()| generator.below(64) as f32 / 4.0 - 8.0)))
        .collect();
    let integer =
        |name: &str, value: i64, dims: Vec<i64>| stored(name, 7, dims, value.to_le_bytes().to_vec());
    let initializers =
        constants.iter().map(|(name, values)| stored(name, 1, vec![WIDTH as i64], floats(values)));
    let counts = (1..=3).map(|turns| integer(&format!("n{turns}"), turns, Vec::new()));
    let conditions: Vec<String> = (0..generator.conditions).map(|at| format!("c{at}")).collect();
    let graph = GraphProto {
        node: nodes(&main),
        input: main.inputs.iter().chain(&conditions).map(info).collect(),
        output: main.outputs.iter().map(info).collect(),
        initializer: initializers.chain(counts).chain([integer("first_axis", 0, vec![1])]).collect(),
        ..GraphProto::default()
    };
    let opset = |domain: &str, version: i64| OperatorSetIdProto {
        domain: domain.into(),
        version: Some(version),
        ..OperatorSetIdProto::default()
    };
    let function = |(at, block): (usize, &Block)| FunctionProto {
        name: format!("f{at}").into(),
        domain: "own".into(),
        input: block.inputs.clone(),
        output: block.outputs.clone(),
        node: nodes(block),
        opset_import: vec![opset("", 21)],
        ..FunctionProto::default()
    };
    let model = ModelProto {
        graph: Some(graph),
        opset_import: vec![opset("", 21), opset("own", 1)],
        functions: generator.functions.iter().enumerate().map(function).collect(),
        ..ModelProto::default()
    };
    let functions = std::mem::take(&mut generator.functions);
    Case { model, main, constants, functions, conditions: generator.conditions }
}

impl Case {
    /// Random inputs and the results of the interpreter.
    fn inputs_and_results(&self, random: &mut Random) -> (HashMap<String, Datum>, Vec<Elements>) {
        let given: Vec<Elements> = self
            .main
            .inputs
            .iter()
            .map(|_| [(); WIDTH].map(|()| (random.bits() % 64) as f32 / 4.0 - 8.0))
            .collect();
        let conditions: Vec<bool> = (0..self.conditions).map(|_| random.bits().is_multiple_of(2)).collect();
        let mut inputs = HashMap::new();
        for (name, values) in self.main.inputs.iter().zip(&given) {
            inputs.insert(name.clone(), Datum::from(AnyTensor::from(*values)));
        }
        for (at, condition) in conditions.iter().enumerate() {
            inputs.insert(format!("c{at}"), Datum::from(AnyTensor::from_scalar(*condition)));
        }
        let interpreter = Interpreter { conditions: &conditions, functions: &self.functions };
        (inputs, interpreter.block(&self.main, &self.constants, &given))
    }

    fn session(&self) -> Session {
        Session::new(&self.model, &|_| Err("there are no other files".to_owned()))
            .expect("it can be prepared")
    }
}

fn answer(outcome: &RunOutcome) -> Vec<Vec<f32>> {
    let values = |(_, value): &(String, Datum)| value.as_tensor().and_then(|it| it.to_vec().ok());
    outcome.outputs.iter().map(values).collect::<Option<_>>().expect("outputs are tensors of floats")
}

fn generator(seed: f64) -> Generator {
    Generator { random: Random::new(Some(seed)), names: 0, conditions: 2, functions: Vec::new() }
}

#[test]
fn sharing_registers_does_not_change_values() {
    let mut generator = generator(31.0);
    let mut nested = 0;
    for round in 0..number(60, 300) {
        let case = case(&mut generator);
        let session = case.session();
        nested += usize::from(case.main.nodes.iter().any(|node| matches!(node, Node::Loop { .. })));
        for _ in 0..3 {
            let (inputs, expected) = case.inputs_and_results(&mut generator.random);
            for verify in [Verify::Inputs, Verify::EveryValue] {
                let outcome = session.run(inputs.clone(), verify);
                let found = answer(&outcome.expect("the model runs"));
                assert_eq!(found, expected, "round {round}, {verify:?}");
            }
        }
    }
    assert!(nested > number(10, 50), "{nested}");
}

#[test]
fn concurrent_runs_have_their_own_registers() {
    let mut generator = generator(32.0);
    for _ in 0..10 {
        let case = case(&mut generator);
        let session = case.session();
        let questions: Vec<_> = (0..4).map(|_| case.inputs_and_results(&mut generator.random)).collect();
        std::thread::scope(|scope| {
            for (inputs, expected) in &questions {
                let session = &session;
                scope.spawn(move || {
                    for _ in 0..20 {
                        let outcome = session.run(inputs.clone(), Verify::Inputs).expect("the model runs");
                        assert_eq!(answer(&outcome), *expected);
                    }
                });
            }
        });
    }
}

#[test]
fn a_failed_run_does_not_affect_the_next() {
    let mut generator = generator(33.0);
    for _ in 0..30 {
        let case = case(&mut generator);
        let session = case.session();
        let (inputs, expected) = case.inputs_and_results(&mut generator.random);
        let mut wrong = inputs.clone();
        // A shape that does not broadcast to the others. The run succeeds if no node combines the input with
        // another one.
        wrong.insert(case.main.inputs[0].clone(), AnyTensor::from([1.0_f32; 3]).into());
        for _ in 0..2 {
            drop(session.run(wrong.clone(), Verify::Inputs));
            let outcome = session.run(inputs.clone(), Verify::Inputs).expect("the model runs");
            assert_eq!(answer(&outcome), expected);
        }
    }
}
