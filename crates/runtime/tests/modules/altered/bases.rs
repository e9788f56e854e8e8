//! The programs whose artifacts are altered, with their components.

use std::sync::Mutex;

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::unit::Coercion;
use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::model::Model;
use typeloom_contracts::protocol::Protocol;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::module::imports::Imported;
use typeloom_onnx::messages::{AttributeProto, GraphProto, IntoAttribute};
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::{Components, RunProtocol};
use typeloom_runtime::executor::Executor;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, Scalar};
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use typeloom_types::relation::{ELEMENTWISE, NO_RELATIONS};
use typeloom_types::tree::builtin::{TYPE_TENSOR, TYPE_TENSOR_F32, TYPE_TRIGGER};

use crate::modules::peers::peers;
use crate::modules::roles::Flat;
use crate::modules::support::{Body, TestError, floats};

/// A model with a different result for every method.
pub(super) struct Net(Vec<f32>);

impl Model for Net {
    type Tensor = [f32];
    type Error = TestError;

    fn forward(&self, input: &[f32]) -> Result<Box<[f32]>, TestError> {
        Ok(input.iter().zip(&self.0).map(|(x, weight)| x * weight).collect())
    }

    fn load_parameters(&mut self, parameters: &[f32]) -> Result<(), TestError> {
        self.0 = parameters.to_vec();
        Ok(())
    }

    fn backward(&mut self, gradient: &[f32]) -> Result<Box<[f32]>, TestError> {
        self.0.iter_mut().for_each(|weight| *weight += 0.5);
        Ok(gradient.iter().map(|x| x - 1.0).collect())
    }

    fn apply_delta(&mut self, delta: &[f32]) -> Result<(), TestError> {
        self.0.iter_mut().zip(delta).for_each(|(weight, delta)| *weight += delta);
        Ok(())
    }

    fn compute_loss(&self, prediction: &[f32], target: &[f32]) -> Result<Box<[f32]>, TestError> {
        Ok(prediction.iter().zip(target).map(|(a, b)| a - b).collect())
    }

    fn params(&self) -> &[f32] {
        &self.0
    }
}

/// Operators of the backend [`Extended`], in two versions of one form and one with a state.
static EXTENSIONS: [AtomicOpsetDecl; 1] = [AtomicOpsetDecl {
    domain: "org.example.altered",
    version: 1,
    ops: &[
        extension("Twice", AtomicOpKind::Pure),
        extension("Thrice", AtomicOpKind::Pure),
        extension("Count", AtomicOpKind::Stateful),
    ],
}];

const X: PortDecl = PortDecl::required("x", &TYPE_TENSOR);
const Y: PortDecl = PortDecl::required("y", &TYPE_TENSOR);

const fn extension(name: &'static str, kind: AtomicOpKind) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs: &[X], outputs: &[Y], kind, type_relations: ELEMENTWISE }
}

/// A backend that executes its extension operators only.
#[derive(Default)]
pub(super) struct Extended(Mutex<f32>);

impl Extended {
    pub(super) fn apply(&self, op: &str, x: &AnyTensor) -> Result<AnyTensor, TestError> {
        let error = |error: &dyn std::fmt::Display| TestError(error.to_string());
        let mut count = self.0.lock().map_err(|poisoned| error(&poisoned))?;
        let elements: &[f32] = x.as_slice().map_err(|wrong| error(&wrong))?;
        let each = |apply: &dyn Fn(f32) -> f32| elements.iter().map(|x| apply(*x)).collect::<Vec<_>>();
        let elements = match op {
            "Twice" => each(&|x| x * 2.0),
            "Thrice" => each(&|x| x * 3.0),
            "Count" => {
                *count += 1.0;
                each(&|x| x + *count)
            }
            _ => return Err(TestError(format!("no operator `{op}`"))),
        };
        AnyTensor::from_slice(x.shape(), &elements).map_err(|wrong| error(&wrong))
    }
}

impl GraphExecutor for Extended {
    type Tensor = AnyTensor;
    type Error = TestError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<AnyTensor>,
        _: &[AttributeProto],
    ) -> Result<Vec<AnyTensor>, TestError> {
        let [node] = &graph.node[..] else { return Err(TestError("one node".into())) };
        let input = inputs.first().ok_or_else(|| TestError("one input".into()))?;
        Ok(vec![self.apply(node.op_type(), input)?])
    }

    fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        &EXTENSIONS
    }
}

const COUNTED: &[PortDecl] = &[PortDecl::required("count", &TYPE_TENSOR_F32)];

static COUNTER: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.altered.counter",
    version: 1,
    ops: &[
        counting("Next", COUNTED),
        counting("Back", COUNTED),
        counting("Skip", &[PortDecl::required("done", &TYPE_TRIGGER)]),
    ],
};

const fn counting(name: &'static str, outputs: &'static [PortDecl]) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs: &[], outputs, kind: AtomicOpKind::Stateful, type_relations: NO_RELATIONS }
}

/// A protocol with a private state.
#[derive(Default)]
pub(super) struct Counter(f32);

impl Counter {
    pub(super) fn apply(&mut self, method: &str) -> Option<Datum> {
        self.0 += match method {
            "next" => 1.0,
            "back" => -2.0,
            "skip" => 10.0,
            _ => return None,
        };
        Some(if method == "skip" { Datum::Trigger } else { floats(&[1], &[self.0]) })
    }
}

impl Protocol for Counter {
    const OPSET: &'static AtomicOpsetDecl = &COUNTER;
}

impl RunProtocol for Counter {
    type Error = TestError;

    fn call(
        &mut self,
        operator: &str,
        _: &[Option<Datum>],
        _: &[AttributeProto],
    ) -> Result<Vec<Datum>, TestError> {
        let result = self.apply(&operator.to_lowercase());
        result.map(|result| vec![result]).ok_or_else(|| TestError(format!("no operator `{operator}`")))
    }
}

fn backend(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let y = g.input("y").of("float[2]");
    let compute = g.backend("compute");
    let (sum, product) = (compute.add(&x, &y), compute.mul(&x, &y));
    let last = compute.sub(&compute.neg(&sum), &compute.exp(&product));
    g.output("sum", &sum);
    g.output("last", &last);
}

fn model(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let net = g.model("net");
    let worked = net.forward(&x);
    let back = net.backward(&worked);
    let done = net.apply_delta(&back);
    g.output("done", &done);
    g.output("worked", &net.forward(&back));
    g.output("loss", &net.compute_loss(&worked, &back));
    g.output("weights", &net.params(Some(&done)));
}

fn index(g: &mut Graph) {
    let (near, far) = (g.index("near"), g.index("far"));
    let (ids, vectors) = (g.input("ids").of("uint64[2]"), g.input("vectors").of("float[2, 2]"));
    g.output("trained", &near.train(&vectors));
    g.output("added", &near.add(&ids, &vectors));
    g.output("kept", &far.add(&ids, &vectors));
    g.output("removed", &far.remove(&ids));
    let (found, distances) = near.search(&g.input("x").of("float[2]"), 2);
    g.output("found", &found);
    g.output("distances", &distances);
}

fn sends(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let (there, _) = g.send(&x, &g.input("workers").of("peer_id_vec"));
    let (payload, sender) = g.receive(&there);
    let (back, _) = g.send(&g.model("net").forward(&payload), &sender);
    let (answer, _) = g.receive(&back);
    g.output("y", &g.model("own").forward(&answer));
}

fn doubled(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    g.output("doubled", &g.backend("compute").add(&x, &x));
}

fn negated(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    g.output("negated", &g.backend("compute").neg(&x));
}

fn imported(name: &'static str, body: fn(&mut Graph)) -> (Artifact, Executor) {
    let components = Components::new().backend("compute", Cpu);
    let artifact = components.compiler().compile(Body(name, body));
    let artifact = artifact.expect("the module compiles");
    let executor = Executor::new(&artifact, &components).expect("its components are bound");
    (artifact, executor)
}

fn imports(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let call = |name, body, x| {
        let exports = Imported::new(&imported(name, body).0.interface).expect("it has an interface");
        g.call_import(&exports, name, &[x]).remove(0)
    };
    let twice = call("twice", doubled, &x);
    let minus = call("minus", negated, &twice);
    g.output("minus", &g.model("net").forward(&minus));
}

/// Bundles between peers, a bundle as an input and bundles in bundles.
fn bundles(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let given = g.input("c").of("composite{p: float[2], q: scalar.i32}");
    let workers = g.input("workers");
    let q = g.unbundle(&given, &["q"]).remove(0);
    let (there, _) = g.send(&g.bundle(&[("a", &x), ("b", &q), ("c", &given)]), &workers);
    let (payload, sender) = g.receive(&there);
    let parts = g.unbundle(&payload, &["c", "a"]);
    let p = g.unbundle(&parts[0], &["p"]).remove(0);
    let worked = g.model("net").forward(&parts[1]);
    g.output("there", &worked);
    let deep = g.bundle(&[("worked", &worked), ("p", &p)]);
    let (back, _) = g.send(&g.bundle(&[("deep", &deep), ("whole", &payload)]), &sender);
    let (answer, _) = g.receive(&back);
    let parts = g.unbundle(&answer, &["whole", "deep"]);
    let inner = g.unbundle(&parts[1], &["p", "worked"]);
    g.output("whole", &parts[0]);
    g.output("y", &g.model("own").forward(&inner[1]));
    g.output("p", &inner[0].neg());
}

/// Casts by declarations, of arguments, and explicit ones.
fn casts(g: &mut Graph) {
    let (x, d) = (g.input("x").of("float[2]"), g.input("d").of("double[2]"));
    let worked = g.model("net").forward(&d);
    let wide = g.node("", "Identity", &[&worked], Vec::new(), 1).remove(0).of("double[2]");
    let to = vec![7_i64.into_attribute("to")];
    let whole = g.node("", "Cast", &[&x], to.clone(), 1).remove(0);
    let sum = (&wide + &d).of("double[2]");
    g.output("worked", &worked);
    g.output("narrow", &g.node("", "Identity", &[&sum], Vec::new(), 1).remove(0).of("float[2]"));
    g.output("whole", &whole);
    g.output("on_slot", &g.backend("compute").node("", "Cast", &[&x], to, 1)[0]);
    let s = g.input("s").of("scalar.i32");
    g.output(
        "t",
        &g.node("ai.bytesandbrains.types", "Identity", &[&s], Vec::new(), 1).remove(0).of("scalar.f32"),
    );
}

/// Operators of a backend beyond ONNX's, with and without a state.
fn extensions(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let run =
        |op: &str, x| g.backend("extended").node("org.example.altered", op, &[x], Vec::new(), 1).remove(0);
    let twice = run("Twice", &x);
    g.output("counted", &run("Count", &x));
    g.output("again", &run("Count", &twice));
    g.output("thrice", &run("Thrice", &twice));
    g.output("sum", &g.backend("compute").add(&twice, &x));
}

/// A protocol with a private state.
fn state(g: &mut Graph) {
    let counter = g.protocol("counter", "org.example.altered.counter");
    let next = |op: &str| counter.call(op, &[], 1).remove(0);
    let first = next("Next").of("float[1]");
    let skipped = next("Skip");
    let second = next("Back").of("float[1]");
    g.output("first", &first);
    g.output("skipped", &skipped);
    g.output("sum", &(&second + &first));
    g.output("last", &(&next("Next").of("float[1]") * &g.input("z").of("float[1]")));
}

/// A program with its inputs, in the order of their declaration.
pub(super) struct Base {
    pub(super) name: &'static str,
    pub(super) body: fn(&mut Graph),
    pub(super) inputs: Vec<(&'static str, Datum)>,
    /// Whether it runs on two peers.
    pub(super) sends: bool,
}

pub(super) fn bases() -> Vec<Base> {
    let x = || ("x", floats(&[2], &[2.0, 3.0]));
    let ids: Datum = AnyTensor::from([7_u64, 8]).into();
    let vectors = floats(&[2, 2], &[0.0, 0.0, 3.0, 4.0]);
    let base = |name, body, inputs| Base { name, body, inputs, sends: false };
    let sent = |name, body, inputs| Base { name, body, inputs, sends: true };
    let workers = || ("workers", peers(&["a"]));
    let c =
        vec![("p".to_owned(), floats(&[2], &[5.0, 6.0])), ("q".to_owned(), Datum::Scalar(Scalar::I32(9)))];
    let d = Datum::Tensor(AnyTensor::from([0.5_f64, 4.0]));
    vec![
        base("backend", backend, vec![x(), ("y", floats(&[2], &[0.5, -1.0]))]),
        base("model", model, vec![x()]),
        base("index", index, vec![("ids", ids), ("vectors", vectors), x()]),
        sent("sends", sends, vec![x(), workers()]),
        base("imports", imports, vec![x()]),
        sent("bundles", bundles, vec![x(), ("c", Datum::Composite(c)), workers()]),
        base("casts", casts, vec![x(), ("d", d), ("s", Datum::Scalar(Scalar::I32(3)))]),
        base("extensions", extensions, vec![x()]),
        base("state", state, vec![("z", floats(&[1], &[3.0]))]),
    ]
}

pub(super) fn net() -> Net {
    Net(vec![2.0, 3.0])
}

/// The programs that [`imports`] calls.
pub(super) struct Functions(Executor, Executor);

impl Functions {
    pub(super) fn new() -> Self {
        Self(imported("twice", doubled).1, imported("minus", negated).1)
    }

    /// Fresh components for a program.
    pub(super) fn components(&self, name: &str) -> Components {
        let all = Components::new();
        match name {
            "backend" => all.backend("compute", Cpu),
            "index" => all.index("near", Flat::default()).index("far", Flat::default()),
            "sends" | "bundles" => all.model("net", net()).model("own", net()),
            "casts" => all.model("net", net()).backend("compute", Cpu),
            "extensions" => all.backend("extended", ByExecution(Extended::default())).backend("compute", Cpu),
            "state" => all.protocol("counter", Counter::default()),
            _ => all.model("net", net()).function("twice", self.0.clone()).function("minus", self.1.clone()),
        }
    }
}

pub(super) fn compiled(base: &Base, components: &Components) -> Artifact {
    let compiler = components.compiler();
    let artifact = compiler.with_coercion(Coercion::AsDeclared).compile(Body("altered", base.body));
    artifact.unwrap_or_else(|error| panic!("{}: {error}", base.name))
}
