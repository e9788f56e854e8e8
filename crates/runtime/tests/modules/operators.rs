//! Operators that users register, and nodes with side effects.

use std::sync::atomic::{AtomicUsize, Ordering};

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::pass::Pass;
use typeloom_compiler::unit::{Coercion, Unit};
use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::protocol::Protocol;
use typeloom_module::bindings::Bindings;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::value::ValueRef;
use typeloom_module::registry::RegistryError;
use typeloom_onnx::messages::{AttributeProto, GraphProto};
use typeloom_ops::described::{Described, Operators};
use typeloom_runtime::components::{Components, RunProtocol};
use typeloom_runtime::error::{LinkError, PrepareError};
use typeloom_runtime::executor::Executor;
use typeloom_runtime::named::Inputs;
use typeloom_runtime::options::Verify;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use typeloom_types::relation::{ELEMENTWISE, NO_RELATIONS};
use typeloom_types::tree::builtin::{TYPE_TENSOR, TYPE_TENSOR_F32, TYPE_TENSOR_I64, TYPE_TRIGGER};

use crate::modules::support::{Body, Outcome, TestError, floats};

const X: PortDecl = PortDecl::required("x", &TYPE_TENSOR);
const Y: PortDecl = PortDecl::required("y", &TYPE_TENSOR);

const fn elementwise(name: &'static str, kind: AtomicOpKind) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs: &[X], outputs: &[Y], kind, type_relations: ELEMENTWISE }
}

/// Operators of the backend [`Doubling`].
static EXTENSIONS: [AtomicOpsetDecl; 1] = [AtomicOpsetDecl {
    domain: "org.example.backend",
    version: 2,
    ops: &[elementwise("Twice", AtomicOpKind::Pure)],
}];

/// Operators of one compilation.
static OWN: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.own",
    version: 1,
    ops: &[elementwise("Twist", AtomicOpKind::Pure)],
};

/// Operators that this crate registers.
static REGISTERED: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.registered",
    version: 1,
    ops: &[elementwise("Turn", AtomicOpKind::Pure), elementwise("Count", AtomicOpKind::Stateful)],
};
typeloom_contracts::register_opset!(REGISTERED);

/// A backend that executes graphs of its own operator only.
struct Doubling;

impl GraphExecutor for Doubling {
    type Tensor = AnyTensor;
    type Error = TestError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<AnyTensor>,
        _: &[AttributeProto],
    ) -> Result<Vec<AnyTensor>, TestError> {
        match (graph.node.first().map(|node| (node.domain(), node.op_type())), inputs.first()) {
            (Some(("org.example.backend", "Twice")), Some(x)) => {
                let twice: Vec<f32> =
                    x.as_slice::<f32>().unwrap_or_default().iter().map(|x| x * 2.0).collect();
                AnyTensor::from_slice(x.shape(), &twice)
                    .map(|y| vec![y])
                    .map_err(|error| TestError(error.to_string()))
            }
            (found, _) => Err(TestError(format!("{found:?}"))),
        }
    }

    fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        &EXTENSIONS
    }
}

type Backend = ByExecution<Doubling>;

#[test]
fn the_extension_operators_of_a_backend_are_typed_and_run() -> Outcome {
    let components = Components::new().backend("compute", ByExecution(Doubling));
    let body = |g: &mut Graph| {
        let x = g.input("x").of("float[N, 3]");
        let twice = g.backend("compute").node("org.example.backend", "Twice", &[&x], Vec::new(), 1);
        g.output("y", &twice[0]);
    };
    let compiler = components.compiler();
    let artifact = compiler.compile(Body("extension", body))?;
    assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
    assert_eq!(&*artifact.dispatch()[0].method, "execute");
    let loaded = Artifact::load(&artifact.to_bytes()?, components.bindings())?;
    let executor = Executor::new(&loaded, &components)?;
    let inputs = [("x".to_owned(), floats(&[1, 3], &[1.0, 2.0, 3.0]))];
    let outcome = executor.run(inputs, Verify::EveryValue)?;
    assert_eq!(outcome.get("y"), Some(&floats(&[1, 3], &[2.0, 4.0, 6.0])));

    // A whole model: the nodes are assigned to the backend.
    let assigned = Compiler::new().run_on_backend::<Backend>("compute").compile(Body("model", |g| {
        let x = g.input("x").of("float[3]");
        g.output("y", &g.node("org.example.backend", "Twice", &[&x], Vec::new(), 1)[0]);
    }))?;
    assert_eq!(&*assigned.dispatch()[0].slot, "compute");

    let wrong = compiler.compile(Body("wrong", |g| {
        let x = g.input("x").of("float[3]");
        let twice = g.backend("compute").node("org.example.backend", "Twice", &[&x], Vec::new(), 1);
        g.output("y", &twice[0].clone().of("double[3]"));
    }));
    assert!(matches!(wrong, Err(BuildError::TypeConstraintFailed(_))));
    let unknown = compiler.compile(Body("unknown", |g| {
        let x = g.input("x").of("float[3]");
        g.output("y", &g.backend("compute").node("org.example.backend", "Thrice", &[&x], Vec::new(), 1)[0]);
    }));
    assert!(unknown.is_err_and(|error| error.to_string().contains("Thrice")));
    Ok(())
}

/// Operators of the backend [`Singles`]: over any tensor, with an index, and with a result that it does not
/// store.
static OVER_TENSORS: [AtomicOpsetDecl; 1] = [AtomicOpsetDecl {
    domain: "org.example.singles",
    version: 1,
    ops: &[
        AtomicOpDecl {
            name: "Pick",
            inputs: &[X, PortDecl::required("at", &TYPE_TENSOR_I64)],
            outputs: &[Y],
            kind: AtomicOpKind::Pure,
            type_relations: NO_RELATIONS,
        },
        AtomicOpDecl {
            name: "Where",
            inputs: &[X],
            outputs: &[PortDecl::required("at", &TYPE_TENSOR_I64)],
            kind: AtomicOpKind::Pure,
            type_relations: NO_RELATIONS,
        },
    ],
}];

/// A backend that stores 32-bit floats.
struct Singles;

impl GraphExecutor for Singles {
    type Tensor = Vec<f32>;
    type Error = TestError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<Vec<f32>>,
        _: &[AttributeProto],
    ) -> Result<Vec<Vec<f32>>, TestError> {
        // The index is not stored, so it is a constant of the graph.
        let index = graph.initializer.first().and_then(|index| typeloom_cpu::decode::tensor(index).ok());
        let at = index.and_then(|index| Some(*index.as_slice::<i64>().ok()?.first()?));
        let at = usize::try_from(at.unwrap_or_default()).unwrap_or_default();
        let found = inputs.first().and_then(|x| x.get(at)).copied();
        found.map(|found| vec![vec![found]]).ok_or_else(|| TestError("no element".into()))
    }

    fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        &OVER_TENSORS
    }
}

fn pick(g: &Graph, x: &ValueRef) -> ValueRef {
    let at = g.constant(&AnyTensor::from([1_i64]));
    g.backend("compute").node("org.example.singles", "Pick", &[x, &at], Vec::new(), 1).remove(0)
}

#[test]
fn data_of_extension_operators_is_of_the_storage_type_of_the_slot() -> Outcome {
    let components = Components::new().backend("compute", ByExecution(Singles));
    let compiler = || components.compiler();
    // The operator relates no ports: the storage types them.
    let artifact = compiler().compile(Body("pick", |g| {
        let y = pick(g, &g.input("x"));
        g.output("y", &y.of("float[1]"));
    }))?;
    assert_eq!(["x", "y"].map(|name| artifact.type_of(name)), [Some("tensor.f32"); 2]);
    let artifact = Artifact::load(&artifact.to_bytes()?, components.bindings())?;
    let inputs = [("x".to_owned(), floats(&[2], &[1.0, 2.0]))];
    let outcome = Executor::new(&artifact, &components)?.run(inputs, Verify::EveryValue)?;
    assert_eq!(outcome.get("y"), Some(&floats(&[1], &[2.0])));

    // Another type is an error that names the slot, or is cast.
    let double: fn(&mut Graph) = |g| g.output("y", &pick(g, &g.input("x").of("double[2]")));
    let error = compiler().compile(Body("pick", double)).unwrap_err().to_string();
    assert!(error.contains("slot `compute` stores tensor.f32") && error.contains("tensor.f64"), "{error}");
    let cast = compiler().with_coercion(Coercion::AsDeclared).compile(Body("pick", double))?;
    assert_eq!(cast.report.casts.len(), 1, "{:?}", cast.report.casts);

    let result = compiler().compile(Body("where", |g| {
        let x = g.input("x");
        g.output("y", &g.backend("compute").node("org.example.singles", "Where", &[&x], Vec::new(), 1)[0]);
    }));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("so it cannot return output `at`") && error.contains("tensor.i64"), "{error}");

    // Without a slot, or on a backend of any tensor, the ports are those of the declaration.
    let open = Compiler::new().bind_backend::<Backend>("compute").compile(Body("open", |g| {
        let x = g.input("x").of("double[2]");
        g.output("y", &g.backend("compute").node("org.example.backend", "Twice", &[&x], Vec::new(), 1)[0]);
    }))?;
    assert_eq!(open.type_of("y"), Some("tensor.f64"));
    Ok(())
}

#[test]
fn declared_and_described_operators_are_typed_and_need_an_implementation_to_run() -> Outcome {
    let text = "typeloom-operators 1\ndomain com.example 3\nop Fold 1\n  type T tensor(float+double)\n  in data T\n  \
                out folded T\n  shape data [batch, length]\n  shape folded [batch, length // 2, 2]\n";
    let operators = || Ok::<_, TestError>(Operators::standard().with_opset(&OWN).with(parsed(text)?));
    let body = |g: &mut Graph| {
        let x = g.input("x").of("float[N, 8]");
        let twisted = g.node("org.example.own", "Twist", &[&x], Vec::new(), 1).remove(0);
        let turned = g.node("org.example.registered", "Turn", &[&twisted], Vec::new(), 1).remove(0);
        g.output("y", &g.node("com.example", "Fold", &[&turned], Vec::new(), 1)[0]);
    };
    let artifact = Compiler::new().with_operators(operators()?).compile(Body("own", body))?;
    assert!(artifact.to_text().contains("(float[N, 4, 2]"), "{}", artifact.to_text());

    let file = artifact.to_bytes()?;
    let refused = Artifact::load(&file, &Bindings::new()).unwrap_err();
    assert!(
        refused.to_string().contains("is unknown, so the types of its results cannot be checked"),
        "{refused}"
    );
    let loaded = Artifact::load(&file, &Bindings::new().with_operators(operators()?.into()))?;
    let unsupported = Executor::new(&loaded, &Components::new()).unwrap_err();
    assert!(matches!(unsupported, PrepareError::Link(LinkError::UnknownOperator { .. })), "{unsupported}");

    static OTHER: AtomicOpsetDecl = AtomicOpsetDecl {
        domain: "org.example.own",
        version: 1,
        ops: &[AtomicOpDecl {
            name: "Twist",
            inputs: &[X],
            outputs: &[PortDecl::required("y", &TYPE_TENSOR_F32)],
            kind: AtomicOpKind::Pure,
            type_relations: NO_RELATIONS,
        }],
    };
    let both = Operators::standard().with_opset(&OWN).with_opset(&OTHER);
    let error = Compiler::new().with_operators(both).compile(Body("twice", body)).unwrap_err();
    assert!(
        matches!(&error, BuildError::Operators(all) if matches!(all[..], [RegistryError::Conflict { .. }]))
    );
    assert_eq!(error.diagnostics().len(), 1);
    Ok(())
}

fn parsed(text: &str) -> Result<Described, TestError> {
    Described::parse(text).map_err(|error| TestError(error.to_string()))
}

static COUNTER_OPS: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.counter",
    version: 1,
    ops: &[
        AtomicOpDecl {
            name: "Next",
            inputs: &[],
            outputs: &[PortDecl::required("count", &TYPE_TENSOR_F32)],
            kind: AtomicOpKind::Stateful,
            type_relations: NO_RELATIONS,
        },
        AtomicOpDecl {
            name: "Skip",
            inputs: &[],
            outputs: &[PortDecl::required("done", &TYPE_TRIGGER)],
            kind: AtomicOpKind::Stateful,
            type_relations: NO_RELATIONS,
        },
    ],
};

/// Counts calls.
struct Counter(AtomicUsize);

impl Protocol for Counter {
    const OPSET: &'static AtomicOpsetDecl = &COUNTER_OPS;
}

impl RunProtocol for Counter {
    type Error = TestError;

    fn call(
        &mut self,
        operator: &str,
        _: &[Option<Datum>],
        _: &[AttributeProto],
    ) -> Result<Vec<Datum>, TestError> {
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        let count = f32::from(u8::try_from(count).map_err(|error| TestError(error.to_string()))?);
        Ok(vec![if operator == "Next" { floats(&[1], &[count]) } else { Datum::Trigger }])
    }
}

/// Equal nodes without inputs, with unread results, in branches, and between nodes that are folded.
fn counting(g: &mut Graph) {
    let counter = g.protocol("counter", "org.example.counter");
    let next = |g: &Graph| {
        g.protocol("counter", "org.example.counter").call("Next", &[], 1).remove(0).of("float[1]")
    };
    let (first, second) = (next(g), next(g));
    // Nothing reads these.
    let _ = counter.call("Skip", &[], 1);
    let _ = counter.call("Next", &[], 1);
    let constant = g.constant(&AnyTensor::from([10.0_f32]));
    let folded = g.add(&constant, &constant);
    let yes = g.constant(&AnyTensor::from_scalar(true));
    let chosen = g.if_(&yes, |g| vec![next(g)], |g| vec![g.constant(&AnyTensor::from([0.0_f32]))]);
    g.output("first", &first);
    g.output("second", &g.add(&second, &folded));
    g.output("chosen", &chosen[0]);
    g.output("last", &next(g));
}

#[test]
fn stateful_nodes_are_not_removed_merged_or_moved() -> Outcome {
    for verify in [Verify::Inputs, Verify::EveryValue] {
        let components = Components::new().protocol("counter", Counter(AtomicUsize::new(0)));
        let compiler = components.compiler();
        let artifact = compiler.compile(Body("counting", counting))?;
        let executor = Executor::new(&artifact, &components)?;
        for offset in [0.0, 6.0] {
            let outcome = executor.run(Inputs::default(), verify)?;
            let number = |name: &str| outcome.get(name).cloned();
            assert_eq!(number("first"), Some(floats(&[1], &[offset])));
            assert_eq!(number("second"), Some(floats(&[1], &[offset + 21.0])));
            assert_eq!(number("chosen"), Some(floats(&[1], &[offset + 4.0])));
            assert_eq!(number("last"), Some(floats(&[1], &[offset + 5.0])));
        }
    }
    Ok(())
}

/// A pass that changes the nodes of the graph.
struct Change(fn(&mut Unit));

impl Pass for Change {
    fn name(&self) -> &str {
        "change"
    }

    fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
        (self.0)(unit);
        Ok(())
    }
}

#[test]
fn a_pass_that_removes_or_moves_a_node_with_side_effects_is_an_error() {
    let compile = |change: fn(&mut Unit)| {
        let compiler = Compiler::new().bind_protocol::<Counter>("counter");
        compiler.with_pass_after("bind_slots", Change(change)).compile(Body("counting", counting))
    };
    assert!(compile(|_| {}).is_ok());
    // A node without side effects can move.
    assert!(
        compile(|unit| {
            let nodes = unit.graph().nodes.iter();
            let at = nodes.copied().position(|node| unit.program[node].op == "Add").unwrap_or(0);
            let add = unit.graph_mut().nodes.remove(at);
            unit.graph_mut().nodes.insert(0, add);
        })
        .is_ok()
    );
    let is_refused = |change| match compile(change) {
        Err(BuildError::Pass { message, .. }) => message.contains("which has side effects"),
        _ => false,
    };
    assert!(is_refused(|unit| {
        let nodes = unit.graph().nodes.clone().into_iter();
        unit.graph_mut().nodes = nodes.filter(|node| unit.program[*node].op != "Skip").collect();
    }));
    assert!(is_refused(|unit| unit.graph_mut().nodes.swap(1, 2)));
}

#[test]
fn a_node_with_side_effects_on_constants_runs_once_at_the_own_side() -> Outcome {
    let artifact = Compiler::new().compile(Body("sends", |g| {
        g.node("org.example.registered", "Count", &[&g.constant(&AnyTensor::from([1.0_f32]))], Vec::new(), 1);
        let x = g.input("x").of("float[2]");
        let (there, _) = g.send(&x, &g.input("workers").of("peer_id_vec"));
        g.output("y", &g.abs(&there));
    }))?;
    let counts = |name: &str| {
        let part = artifact.parts().find(|part| part.name() == name);
        part.map(|part| part.node.iter().filter(|node| node.op_type() == "Count").count())
    };
    assert_eq!((counts("self"), counts("workers")), (Some(1), Some(0)));
    Ok(())
}
