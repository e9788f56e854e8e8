//! Cost of dispatch: nanoseconds per node in excess of the bare kernel, in chains of operators on one
//! element: `cargo run --release`.
//!
//! A chain is run by the runtime and, interleaved with it, as a loop over the bare kernel: the same calls of
//! [`Operator::run`] with the same inputs, moved at their last use. A run without nodes also has a cost:
//! inputs are looked up by name and checked against their types, and registers are allocated. The first table
//! shows this cost, which is subtracted from each run. The remainder per node, minus the kernel, is reported
//! as dispatch. `-- --limit 200` fails if a node costs more.
//!
//! `-- --run module-slot 1000 100` only runs such a chain a hundred times, for counting instructions
//! (`valgrind --tool=callgrind`).

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use typeloom_compiler::compiler::Compiler;
use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops::{self, Operator};
use typeloom_contracts::datum::Datum;
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
use typeloom_types::any_tensor::AnyTensor;

/// Numbers of nodes in a chain.
const CHAINS: [usize; 3] = [10, 1_000, 100_000];

/// Number of nodes per time measurement, for chains that are not longer. It is small enough that most
/// measurements are not interrupted.
const NODES: usize = 2_000;

/// Maximum number of alternate measurements of chain and kernel, and the total of nodes that limits it.
const TIMES: usize = 1_001;
const MAX_NODES: usize = 5_000_000;

/// Number of measurements of a run without nodes, and number of runs in each.
const EMPTY: usize = 1_001;
const RUNS: usize = 200;

type Make = fn(usize) -> Outcome<Chain>;
type Outcome<T> = Result<T, Box<dyn Error>>;

/// An operator that returns the successor of its first input.
#[derive(Clone, Copy)]
struct Link {
    op: &'static str,
    /// Whether the operator has the chain's input as its second input.
    takes_two: bool,
    attribute: Option<(&'static str, f32)>,
}

const ADD: Link = Link { op: "Add", takes_two: true, attribute: None };
const LEAKY: Link = Link { op: "LeakyRelu", takes_two: false, attribute: Some(("alpha", 0.5)) };
const HARD: Link = Link { op: "HardSigmoid", takes_two: false, attribute: Some(("alpha", 0.3)) };

type Chain = Box<dyn Fn(&AnyTensor) -> Outcome<AnyTensor>>;

fn session(link: Link, nodes: usize) -> Outcome<Chain> {
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

fn module(on_slot: bool, nodes: usize) -> Outcome<Chain> {
    let components = if on_slot { Components::new().backend("compute", Cpu) } else { Components::new() };
    let compiler = Compiler::new().with_bindings(components.bindings().clone());
    let executor = Executor::new(&compiler.compile(Sum { on_slot, nodes })?, &components)?;
    Ok(Box::new(move |x| {
        let inputs = HashMap::from([("x".to_owned(), x.clone().into())]);
        let outcome = executor.run(inputs, Verify::Inputs)?;
        outcome.get("y").and_then(|y| y.as_tensor().cloned()).ok_or_else(|| "no tensor".into())
    }))
}

/// Calls the bare kernel as often as the chain has nodes.
fn kernel(link: Link, nodes: usize) -> Outcome<Chain> {
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

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Nanoseconds per node: of the chain, and of the kernel alone.
fn measured(chain: &Chain, kernel: &Chain, nodes: usize) -> Outcome<(f64, f64)> {
    let x = AnyTensor::from([1.0_f32]);
    if chain(&x)? != kernel(&x)? {
        return Err("the chain and its kernel differ".into());
    }
    let runs = (NODES / nodes).max(1);
    let time = |run: &Chain| -> Outcome<f64> {
        let start = Instant::now();
        for _ in 0..runs {
            black_box(run(black_box(&x))?);
        }
        Ok(start.elapsed().as_secs_f64() * 1e9 / (runs * nodes) as f64)
    };
    let (mut chains, mut kernels) = (Vec::new(), Vec::new());
    for _ in 0..TIMES.min(MAX_NODES / (runs * nodes)) {
        chains.push(time(chain)?);
        kernels.push(time(kernel)?);
    }
    Ok((median(chains), median(kernels)))
}

/// Nanoseconds of a run without nodes.
fn empty(chain: &Chain) -> Outcome<f64> {
    let x = AnyTensor::from([1.0_f32]);
    let mut times = Vec::new();
    for _ in 0..EMPTY {
        let start = Instant::now();
        for _ in 0..RUNS {
            black_box(chain(black_box(&x))?);
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / RUNS as f64);
    }
    Ok(median(times))
}

/// Contenders: name for `--run`, description, link, and constructor.
const CONTENDERS: [(&str, &str, Link, Make); 5] = [
    ("session-add", "session, primitive (`Add`)", ADD, |nodes| session(ADD, nodes)),
    ("session-leaky", "session, operator (`LeakyRelu`)", LEAKY, |nodes| session(LEAKY, nodes)),
    ("session-hard", "session, operator (`HardSigmoid`)", HARD, |nodes| session(HARD, nodes)),
    ("module-node", "module, node (`Add`)", ADD, |nodes| module(false, nodes)),
    ("module-slot", "module, slot (`Add`)", ADD, |nodes| module(true, nodes)),
];

/// Runs one chain `times` times.
fn run(name: &str, nodes: usize, times: usize) -> Outcome<()> {
    let found = CONTENDERS.iter().find(|(own, ..)| *own == name);
    let chain = match found {
        Some((.., make)) => make(nodes)?,
        None => {
            let link = name.strip_prefix("kernel-").and_then(|op| match op {
                "add" => Some(ADD),
                "leaky" => Some(LEAKY),
                "hard" => Some(HARD),
                _ => None,
            });
            kernel(link.ok_or_else(|| format!("there is no `{name}`"))?, nodes)?
        }
    };
    let x = AnyTensor::from([1.0_f32]);
    for _ in 0..times {
        black_box(chain(black_box(&x))?);
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let limit = match &arguments[..] {
        [] => f64::INFINITY,
        [flag, limit] if flag == "--limit" => limit.parse()?,
        [flag, name, nodes, times] if flag == "--run" => return run(name, nodes.parse()?, times.parse()?),
        _ => return Err("usage: [--limit NANOSECONDS | --run NAME NODES TIMES]".into()),
    };
    let (session, module) = (empty(&session(ADD, 0)?)?, empty(&module(false, 0)?)?);
    println!("| a run without nodes | ns |\n|---|--:|");
    println!("| session | {session:.0} |\n| module | {module:.0} |\n");
    println!("| contender | nodes | a node, ns | its kernel, ns | dispatch, ns |");
    println!("|---|--:|--:|--:|--:|");
    let mut worst = 0.0_f64;
    for (name, what, link, make) in CONTENDERS {
        let own = if name.starts_with("session") { session } else { module };
        for nodes in CHAINS {
            let (chain, kernel) = measured(&make(nodes)?, &kernel(link, nodes)?, nodes)?;
            let chain = chain - own / nodes as f64;
            println!("| {what} | {nodes} | {chain:.0} | {kernel:.0} | {:.0} |", chain - kernel);
            worst = worst.max(chain - kernel);
        }
    }
    if worst > limit {
        return Err(format!("a node costs {worst:.0} ns to dispatch, more than {limit}").into());
    }
    Ok(())
}
