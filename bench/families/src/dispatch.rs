//! Chains of operators on one element, prepared to be run.

use std::collections::HashMap;
use std::error::Error;

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops::{self, Operator};
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::module::Module;
use typeloom_onnx::messages::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto,
};
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

/// A constructor of a chain with a number of nodes.
pub type Make = fn(usize) -> Outcome<Chain>;
/// A result with any error.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// An operator that returns the successor of its first input.
#[derive(Clone, Copy)]
pub struct Link {
    op: &'static str,
    /// Whether the operator has the chain's input as its second input.
    takes_two: bool,
    attribute: Option<(&'static str, f32)>,
}

/// `Add`.
pub const ADD: Link = Link { op: "Add", takes_two: true, attribute: None };
/// `LeakyRelu`.
pub const LEAKY: Link = Link { op: "LeakyRelu", takes_two: false, attribute: Some(("alpha", 0.5)) };
/// `HardSigmoid`.
pub const HARD: Link = Link { op: "HardSigmoid", takes_two: false, attribute: Some(("alpha", 0.3)) };

/// A prepared chain: the function runs it.
pub type Chain = Box<dyn Fn(&AnyTensor) -> Outcome<AnyTensor>>;

/// A session with the chain.
///
/// # Errors
/// The session refuses the model.
pub fn session(link: Link, nodes: usize) -> Outcome<Chain> {
    let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("v{at}") };
    let attribute = link.attribute.map(|(name, value)| AttributeProto {
        name: name.into(),
        f: Some(value),
        ..AttributeProto::default()
    });
    let node = |at: usize| NodeProto {
        op_type: link.op.into(),
        input: if link.takes_two { vec![name(at), "x".to_owned()] } else { vec![name(at)] },
        output: vec![name(at + 1)],
        attribute: attribute.iter().cloned().collect(),
        ..NodeProto::default()
    };
    let info = |name: String| ValueInfoProto { name: name.into(), ..ValueInfoProto::default() };
    let graph = GraphProto {
        node: (0..nodes).map(node).collect(),
        input: vec![info(name(0))],
        output: vec![info(name(nodes))],
        ..GraphProto::default()
    };
    let opset = OperatorSetIdProto { version: Some(18), ..OperatorSetIdProto::default() };
    let model = ModelProto { graph: Some(graph), opset_import: vec![opset], ..ModelProto::default() };
    let session = Session::new(&model, &|_| Err("there are no other files".to_owned()))?;
    Ok(Box::new(move |x| {
        let inputs = HashMap::from([("x".to_owned(), Datum::Tensor(x.clone()))]);
        let result = session.run(inputs, Verify::Inputs)?.outputs.pop();
        result.and_then(|(_, value)| value.as_tensor().cloned()).ok_or_else(|| "no tensor".into())
    }))
}

struct Sum {
    on_slot: bool,
    nodes: usize,
}

impl Module for Sum {
    fn name(&self) -> &str {
        "sum"
    }

    fn body(&self, g: &mut Graph) {
        let x = g.input("x").of("float[N]");
        let mut sum = x.clone();
        for _ in 0..self.nodes {
            sum = if self.on_slot { g.backend("compute").add(&sum, &x) } else { &sum + &x };
        }
        g.output("y", &sum);
    }
}

/// An executor of a module with a chain of additions.
///
/// # Errors
/// The module does not compile.
pub fn module(on_slot: bool, nodes: usize) -> Outcome<Chain> {
    let components = if on_slot { Components::new().backend("compute", Cpu) } else { Components::new() };
    let compiler = components.compiler();
    let executor = Executor::new(&compiler.compile(Sum { on_slot, nodes })?, &components)?;
    Ok(Box::new(move |x| {
        let inputs = HashMap::from([("x".to_owned(), x.clone().into())]);
        let outcome = executor.run(inputs, Verify::Inputs)?;
        outcome.get("y").and_then(|y| y.as_tensor().cloned()).ok_or_else(|| "no tensor".into())
    }))
}

/// Calls the bare kernel as often as the chain has nodes.
pub fn kernel(link: Link, nodes: usize) -> Outcome<Chain> {
    let operator: &'static Operator = ops::find("", link.op).ok_or("every operator has a kernel")?;
    let attributes = link.attribute.map_or_else(Attributes::default, |(name, value)| {
        Attributes::default().with(name, Attribute::Float(value))
    });
    Ok(Box::new(move |x| {
        let mut last = Datum::Tensor(x.clone());
        for _ in 0..nodes {
            let inputs = if link.takes_two {
                vec![Some(last), Some(Datum::Tensor(x.clone()))]
            } else {
                vec![Some(last)]
            };
            let call = Call { version: 18, attributes: &attributes, inputs, outputs: 1 };
            last = operator.run(call)?.pop().ok_or("no tensor")?;
        }
        last.as_tensor().cloned().ok_or_else(|| "no tensor".into())
    }))
}

/// Contenders: name for `--run`, description, link, and constructor.
pub const CONTENDERS: [(&str, &str, Link, Make); 5] = [
    ("session-add", "session, primitive (`Add`)", ADD, |nodes| session(ADD, nodes)),
    ("session-leaky", "session, operator (`LeakyRelu`)", LEAKY, |nodes| session(LEAKY, nodes)),
    ("session-hard", "session, operator (`HardSigmoid`)", HARD, |nodes| session(HARD, nodes)),
    ("module-node", "module, node (`Add`)", ADD, |nodes| module(false, nodes)),
    ("module-slot", "module, slot (`Add`)", ADD, |nodes| module(true, nodes)),
];
