//! Relations, leaves and side effects in compiled modules.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use typeloom::check::{Described, Operators};
use typeloom::module::passes::{Pass, Unit};
use typeloom::module::{
    Artifact, Backend, Bindings, BuildError, Codec, Coercion, Compiler, Graph, GraphExecutor, Imported,
    Model, Module, OperatorMethods as _, PeerId, Protocol, ValueRef,
};
use typeloom::onnx::{AttributeProto, GraphProto};
use typeloom::run::engine::ByExecution;
use typeloom::run::host::SystemClock;
use typeloom::run::values::{DatumElement, FromDatum as _, IntoDatum as _};
use typeloom::run::wire::{Endpoint, EndpointConfig, EndpointParts, LocalNetwork, MemoryJournal, RunId};
use typeloom::run::{Components, Cpu, Datum, Executor, Part, RunProtocol, Verify};
use typeloom::types::builtins::{TYPE_TENSOR, TYPE_TENSOR_F32, TYPE_TRIGGER};
use typeloom::types::operators::{
    AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, CustomRelationCtx, ELEMENTWISE, NO_RELATIONS, PortDecl,
    PortRef, RelationResult, TypeRelation,
};
use typeloom::types::{AnyTensor, TypeKind, TypeNode, register_type_node};

use super::Outcome;
use super::tree::P16;

/// A module whose body is a function.
struct Body<F: Fn(&Graph)>(&'static str, F);

impl<F: Fn(&Graph)> Module for Body<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn body(&self, g: &mut Graph) {
        (self.1)(g);
    }
}

#[derive(Debug)]
struct TestError(String);

impl fmt::Display for TestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TestError {}

const X: PortDecl = PortDecl::required("x", &TYPE_TENSOR);
const Y: PortDecl = PortDecl::required("y", &TYPE_TENSOR);

const fn decl(
    name: &'static str,
    kind: AtomicOpKind,
    type_relations: &'static [TypeRelation],
) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs: &[X], outputs: &[Y], kind, type_relations }
}

/// The output has twice the extent of the input, and at most three axes.
fn doubled(cx: &CustomRelationCtx<'_>) -> RelationResult {
    let Some(dims) = cx.shape(PortRef::Input(0)) else { return RelationResult::Defer };
    if dims.len() > 3 {
        let message = "at most three axes can be doubled";
        return typeloom::types::operators::RelationError::new(
            message,
            [PortRef::Input(0)],
            "rank 3",
            format!("rank {}", dims.len()),
        )
        .into();
    }
    let twice: Vec<_> = dims.iter().map(|dim| dim.map(|dim| 2 * dim)).collect();
    match cx.refine_shape(PortRef::Output(0), &twice) {
        Ok(_) => cx.unify(&[PortRef::Input(0), PortRef::Output(0)]),
        Err(error) => error.into(),
    }
}

static EXTENSIONS: [AtomicOpsetDecl; 1] = [AtomicOpsetDecl {
    domain: "org.audit.backend",
    version: 3,
    ops: &[decl("Twin", AtomicOpKind::Pure, &[TypeRelation::Custom { name: "audit.doubled", run: doubled }])],
}];

/// A backend with one operator of its own, which repeats its input.
struct Twins;

impl GraphExecutor for Twins {
    type Tensor = AnyTensor;
    type Error = TestError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<AnyTensor>,
        _: &[AttributeProto],
    ) -> Result<Vec<AnyTensor>, TestError> {
        let node = graph.node.first().ok_or_else(|| TestError("no node".into()))?;
        let fail = |error: &dyn fmt::Display| TestError(error.to_string());
        if node.op_type == "Twin" {
            let x = inputs[0].as_slice::<i16>().map_err(|error| fail(&error))?;
            return AnyTensor::from_slice(&[2 * x.len()], &[x, x].concat())
                .map(|y| vec![y])
                .map_err(|error| fail(&error));
        }
        Backend::execute(&Cpu, graph, inputs, &[]).map_err(|error| fail(&error))
    }

    fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        &EXTENSIONS
    }
}

#[test]
fn an_extension_operator_is_typed_by_its_relations_and_runs() -> Outcome {
    let components = Components::new().backend("own", ByExecution(Twins));
    let compiler = || components.compiler();
    let twin = |g: &Graph, x: &ValueRef| {
        g.backend("own").node("org.audit.backend", "Twin", &[x], Vec::new(), 1).remove(0)
    };
    let artifact = compiler().compile(Body("twins", |g| {
        let x = g.input("x").of("int16[3]");
        g.output("y", twin(g, &twin(g, &x)));
    }))?;
    assert_eq!(artifact.value_type("y").map(|ty| ty.to_string()), Some("int16[12]".into()));
    let loaded = Artifact::load(&artifact.to_bytes()?, components.bindings())?;
    let x: Datum = AnyTensor::from([1_i16, 2, 3]).into();
    let outcome = Executor::new(&loaded, &components)?.run([("x", x)], Verify::EveryValue)?;
    let y = outcome.get("y").and_then(Datum::as_tensor).expect("it is a tensor");
    assert_eq!(y.as_slice::<i16>()?, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);

    let error =
        compiler().compile(Body("rank", |g| g.output("y", twin(g, &g.input("x").of("float[1, 2, 3, 4]")))));
    let text = error.expect_err("the rank is too large").to_string();
    for part in ["at most three axes can be doubled", "rank 4", "`Twin`", "modules.rs:"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let error = compiler()
        .compile(Body("type", |g| g.output("y", twin(g, &g.input("x").of("float[2]")).of("double[4]"))));
    let text = error.expect_err("the types differ").to_string();
    assert!(text.contains("float") && text.contains("double") && text.contains("`Twin`"), "{text}");
    Ok(())
}

static OWN: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "net.audit",
    version: 7,
    ops: &[
        decl("Twist", AtomicOpKind::Pure, ELEMENTWISE),
        decl("Twin", AtomicOpKind::Pure, &[TypeRelation::Custom { name: "audit.doubled", run: doubled }]),
    ],
};

#[test]
fn the_compiler_takes_declared_and_described_operators_as_a_check_does() -> Outcome {
    let text = "typeloom-operators 1\ndomain com.audit 2\nop Halve 1\n  type T tensor(float+double)\n  in x T\n  out y T\n  \
                shape x [batch, length]\n  shape y [batch, length // 2]\n";
    let operators = || {
        Ok::<_, TestError>(
            Operators::standard()
                .with_opset(&OWN)
                .with(Described::parse(text).map_err(|error| TestError(error.to_string()))?),
        )
    };
    let body = |ty: &'static str| {
        Body("own", move |g: &Graph| {
            let x = g.input("x").of(ty);
            let twisted = g.node("net.audit", "Twist", &[&x], Vec::new(), 1).remove(0);
            g.output("y", g.node("com.audit", "Halve", &[&twisted], Vec::new(), 1).remove(0));
        })
    };
    let compiler = Compiler::new().with_operators(operators()?);
    let artifact = compiler.compile(body("double[N, 6]"))?;
    assert_eq!(artifact.value_type("y").map(|ty| ty.to_string()), Some("double[N, 3]".into()));
    let text = compiler.compile(body("int8[N, 6]")).expect_err("the description excludes int8").to_string();
    assert!(text.contains("`Halve`") && text.contains("int8"), "{text}");
    // The same graph in a check.
    let model = typeloom::onnx::model_from_text(
        r#"<ir_version: 10, opset_import: ["net.audit" : 7, "com.audit" : 2]>
        g (double[N, 6] x) => (y) { t = net.audit.Twist(x)  y = com.audit.Halve(t) }"#,
    )?;
    let operators = operators()?;
    let mut checked = typeloom::check::check_with(&model, &Default::default(), &operators)?;
    assert_eq!(checked.value("y").map(|y| y.ty().to_string()), Some("double[N, 3]".into()));
    // Without the operators, the compiler names the operator.
    let text = Compiler::new().compile(body("double[N, 6]")).expect_err("it is unknown").to_string();
    assert!(text.contains("Twist") && text.contains("net.audit"), "{text}");
    Ok(())
}

static LOG_OPS: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.audit.log",
    version: 1,
    ops: &[
        decl("Note", AtomicOpKind::Stateful, ELEMENTWISE),
        decl("Call", AtomicOpKind::Wire, ELEMENTWISE),
        AtomicOpDecl {
            name: "Mark",
            inputs: &[],
            outputs: &[PortDecl::required("done", &TYPE_TRIGGER)],
            kind: AtomicOpKind::Stateful,
            type_relations: NO_RELATIONS,
        },
    ],
};

/// Lists the calls with the first element of each argument.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Protocol for Log {
    const OPSET: &'static AtomicOpsetDecl = &LOG_OPS;
}

impl RunProtocol for Log {
    type Error = TestError;

    fn call(
        &mut self,
        op: &str,
        args: &[Option<Datum>],
        _: &[AttributeProto],
    ) -> Result<Vec<Datum>, TestError> {
        let first = args.first().and_then(Option::as_ref);
        let number =
            first.and_then(Datum::as_tensor).and_then(|x| x.as_slice::<f32>().ok()?.first().copied());
        let entry = number.map_or_else(|| op.to_owned(), |number| format!("{op} {number}"));
        self.0.lock().map_err(|error| TestError(error.to_string()))?.push(entry);
        Ok(vec![first.cloned().unwrap_or(Datum::Trigger)])
    }
}

fn note(g: &Graph, op: &str, x: &ValueRef) -> ValueRef {
    g.protocol("log", "org.audit.log").call(op, &[x], 1).remove(0)
}

/// Equal nodes, unread results, nodes behind and in branches and loops, and a called module.
fn noting(g: &Graph) {
    let log = g.protocol("log", "org.audit.log");
    let x = g.input("x").of("float[1]");
    let one = g.constant(&AnyTensor::from([1.0_f32]));
    let late = g.add(&g.add(&x, &one), &one);
    let _ = note(g, "Note", &late);
    let _ = note(g, "Call", &x);
    let _ = note(g, "Note", &x);
    let _ = note(g, "Note", &x);
    let _ = log.call("Mark", &[], 1);
    let helper = Body("helper", |g: &Graph| g.output("y", note(g, "Call", &g.input("x"))));
    let called = g.call(&helper, &[&late]).remove(0);
    let count = g.constant(&AnyTensor::from_scalar(3_i64));
    let looped = g.loop_(Some(&count), None, &[&x], |g, _, go, state| {
        let next = g.add(&state[0], &one);
        let _ = note(g, "Note", &next);
        vec![go.clone(), next]
    });
    let _ = note(g, "Note", &one);
    g.output("y", g.add(&called, &looped[0]));
}

const NOTED: [&str; 10] =
    ["Note 7", "Call 5", "Note 5", "Note 5", "Mark", "Call 7", "Note 6", "Note 7", "Note 8", "Note 1"];

#[test]
fn stateful_and_wire_nodes_run_in_order_and_as_often_as_written() -> Outcome {
    for verify in [Verify::Inputs, Verify::EveryValue] {
        let log = Log::default();
        let components = Components::new().protocol("log", log.clone());
        let artifact = components.compiler().compile(Body("noting", noting))?;
        let loaded = Artifact::load(&artifact.to_bytes()?, components.bindings())?;
        let executor = Executor::new(&loaded, &components)?;
        for _ in 0..2 {
            let x: Datum = AnyTensor::from([5.0_f32]).into();
            let outcome = executor.run([("x", x)], verify)?;
            assert_eq!(outcome.get("y"), Some(&AnyTensor::from([15.0_f32]).into()));
            assert_eq!(*log.0.lock().expect("no call panicked"), NOTED);
            log.0.lock().expect("no call panicked").clear();
        }
    }
    Ok(())
}

/// A pass of the user.
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

/// Two calls from one line, with different arguments.
fn twice(g: &Graph) {
    let (a, b) = (g.input("a").of("float[1]"), g.input("b").of("float[1]"));
    let noted: Vec<ValueRef> = [&a, &b].into_iter().map(|x| note(g, "Note", x)).collect();
    g.output("y", &noted[0] + &noted[1]);
}

#[test]
fn a_pass_cannot_remove_merge_or_move_nodes_with_side_effects() {
    let compile = |change: fn(&mut Unit), at: &str| {
        let compiler = Compiler::new().bind_protocol::<Log>("log");
        compiler.with_pass_after(at, Change(change)).compile(Body("twice", twice))
    };
    let is_refused = |change, at| match compile(change, at) {
        Err(BuildError::Pass { message, .. }) => message.contains("side effects"),
        other => panic!("at {at}: {other:?}"),
    };
    for at in ["validate", "bind_slots", "stamp", "lower"] {
        assert!(compile(|_| {}, at).is_ok());
        assert!(is_refused(|unit| unit.graph_mut().nodes.swap(0, 1), at));
        assert!(is_refused(
            |unit| {
                let removed = unit.graph_mut().nodes.remove(1);
                let nodes = unit.graph().nodes.clone();
                let (kept, removed) = (unit.program[nodes[0]].outputs[0], unit.program[removed].outputs[0]);
                for node in nodes {
                    let inputs = unit.program[node].inputs.iter_mut();
                    inputs.filter(|input| **input == removed).for_each(|input| *input = kept);
                }
            },
            at
        ));
        assert!(is_refused(
            |unit| {
                let mut copy = unit.program[unit.graph().nodes[0]].clone();
                copy.outputs = vec![Some(unit.program.add_value(unit.program.main(), "copy"))];
                let copy = unit.program.add_node(copy);
                unit.graph_mut().nodes.insert(1, copy);
            },
            at
        ));
    }
}

/// Doubles tensors of any element type.
struct Doubler;

impl Model for Doubler {
    type Tensor = AnyTensor;
    type Error = TestError;

    fn forward(&self, input: &AnyTensor) -> Result<Box<AnyTensor>, TestError> {
        Backend::add(&Cpu, input, input).map(Box::new).map_err(|error| TestError(error.to_string()))
    }

    fn load_parameters(&mut self, _: &AnyTensor) -> Result<(), TestError> {
        Ok(())
    }

    fn backward(&mut self, gradient: &AnyTensor) -> Result<Box<AnyTensor>, TestError> {
        Ok(gradient.clone().into())
    }

    fn apply_delta(&mut self, _: &AnyTensor) -> Result<(), TestError> {
        Ok(())
    }

    fn compute_loss(&self, prediction: &AnyTensor, _: &AnyTensor) -> Result<Box<AnyTensor>, TestError> {
        Ok(prediction.clone().into())
    }

    fn params(&self) -> &AnyTensor {
        static NONE: std::sync::OnceLock<AnyTensor> = std::sync::OnceLock::new();
        NONE.get_or_init(|| AnyTensor::from([0.0_f32]))
    }
}

/// All ports of the slot have one type, wherever it is declared.
#[test]
fn the_ports_of_a_slot_share_one_storage_type() -> Outcome {
    let compiler = || Compiler::new().bind_model::<Doubler>("scorer");
    let types = |artifact: &Artifact, names: &[&str]| -> Vec<Option<&'static str>> {
        names.iter().map(|name| artifact.type_of(name)).collect()
    };
    let forward = compiler().compile(Body("forward", |g| {
        g.output("y", g.model("scorer").forward(&g.input("x").of("float16[N]")));
    }))?;
    assert_eq!(types(&forward, &["x", "y"]), [Some("tensor.f16"); 2]);
    let backward = compiler().compile(Body("backward", |g| {
        let scorer = g.model("scorer");
        let (x, goal) = (g.input("x"), g.input("goal"));
        let y = scorer.forward(&x);
        g.output("loss", scorer.compute_loss(&y, &goal));
        g.output("gradient", scorer.backward(&g.input("change").of("double[3]")));
        g.output("y", y);
    }))?;
    assert_eq!(types(&backward, &["x", "goal", "y", "loss", "gradient"]), [Some("tensor.f64"); 5]);
    // Two slots are independent.
    let two =
        Compiler::new().bind_model::<Doubler>("a").bind_model::<Doubler>("b").compile(Body("two", |g| {
            g.output("x2", g.model("a").forward(&g.input("x").of("float[2]")));
            g.output("z2", g.model("b").forward(&g.input("z").of("int32[2]")));
        }))?;
    assert_eq!(types(&two, &["x2", "z2"]), [Some("tensor.f32"), Some("tensor.i32")]);
    let error = compiler().compile(Body("mixed", |g| {
        g.output("a", g.model("scorer").forward(&g.input("x").of("float[2]")));
        g.output("b", g.model("scorer").forward(&g.input("z").of("int32[2]")));
    }));
    let text = error.expect_err("one slot has one type").to_string();
    for part in ["scorer", "Tensor", "tensor.f32", "tensor.i32", "`x`", "`z`"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    Ok(())
}

#[test]
fn a_model_of_any_tensor_compiles_and_runs_without_annotations() -> Outcome {
    let components = Components::new().model("scorer", Doubler).backend("compute", Cpu);
    let artifact = components.compiler().compile(Body("scored", |g| {
        let y = g.model("scorer").forward(&g.input("x"));
        let one = g.constant(&AnyTensor::from([1_i64]));
        g.output("y", g.backend("compute").add(&y, &one));
    }))?;
    assert_eq!(artifact.type_of("x"), Some("tensor.i64"));
    let x: Datum = AnyTensor::from([5_i64, 6]).into();
    let outcome = Executor::new(&artifact, &components)?.run([("x", x)], Verify::EveryValue)?;
    assert_eq!(outcome.get("y"), Some(&AnyTensor::from([11_i64, 13]).into()));
    Ok(())
}

/// An undeclared input at the peers of a send, directly and through structural operators.
#[test]
fn undeclared_peers_resolve() -> Outcome {
    let direct = Compiler::new().compile(Body("direct", |g| {
        let (data, _) = g.send(g.input("x").of("float[2]"), g.input("workers"));
        g.output("y", g.abs(&data));
    }))?;
    assert_eq!(direct.type_of("workers"), Some("peer_id_vec"));
    let through = Compiler::new().compile(Body("through", |g| {
        let (first, second) = (g.input("first"), g.input("second"));
        let all = g.concat(&[&g.identity(&first), &second], 0);
        let (data, _) = g.send(g.input("x").of("float[2]"), &all);
        g.output("y", g.abs(&data));
    }));
    match through {
        Ok(artifact) => assert_eq!(artifact.type_of("first"), Some("peer_id_vec")),
        // Two inputs are two classes of peers.
        Err(error) => {
            assert!(error.to_string().contains("first") && error.to_string().contains("second"), "{error}");
        }
    }
    let out = Compiler::new().compile(Body("out", |g| {
        let request = g.net_out("note", g.input("x").of("int8[2]"), g.identity(&g.input("peers")));
        g.output("request", request);
    }))?;
    assert_eq!((out.type_of("peers"), out.type_of("request")), (Some("peer_id_vec"), Some("wire_req_id")));
    Ok(())
}

#[test]
fn an_argument_error_at_an_imported_call_names_the_argument() -> Outcome {
    let library = Compiler::new().compile(Body("library", |g| {
        let (x, w, n) =
            (g.input("x").of("float[N, K]"), g.input("w").of("float[K]"), g.input("n").of("int64[N]"));
        g.output("y", g.add(&x, &w));
        g.output("m", g.abs(&n));
    }))?;
    let imported = Imported::new(&library.interface)?;
    let call = |types: [&'static str; 3]| {
        let imported = imported.clone();
        Compiler::new().compile(Body("caller", move |g| {
            let names = ["a", "b", "c"];
            let args: Vec<ValueRef> =
                names.iter().zip(types).map(|(name, ty)| g.input(name).of(ty)).collect();
            let results = g.call_import(&imported, "library", &args.iter().collect::<Vec<_>>());
            g.output("y", &results[0]);
            g.output("m", &results[1]);
        }))
    };
    let artifact = call(["float[7, B]", "float[B]", "int64[7]"])?;
    assert_eq!(artifact.value_type("y").map(|ty| ty.to_string()), Some("float[7, B]".into()));
    for (types, named) in [
        (["int8[7, 2]", "float[2]", "int64[7]"], "argument 1 (`x`)"),
        (["float[7, 2]", "double[2]", "int64[7]"], "argument 2 (`w`)"),
        (["float[7, 2]", "float[3]", "int64[7]"], "argument 2 (`w`)"),
        (["float[7, 2]", "float[2]", "float[7]"], "argument 3 (`n`)"),
        (["float[7, 2]", "float[2]", "int64[8]"], "argument 3 (`n`)"),
    ] {
        let text = call(types).expect_err("an argument is wrong").to_string();
        assert!(text.contains(named) && text.contains("modules.rs:"), "no {named} in {text}");
    }
    Ok(())
}

impl DatumElement for P16 {
    const BYTES: usize = 2;

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.0.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(u16::from_le_bytes(bytes)))
    }
}

/// Encodes floats as an element type of the program.
struct ToP16;

impl Codec for ToP16 {
    type In = [f32];
    type Out = [P16];
    type Error = TestError;

    fn train(&mut self, _: &[&[f32]]) -> Result<(), TestError> {
        Ok(())
    }

    fn encode(&self, value: &[f32]) -> Result<Box<[P16]>, TestError> {
        Ok(value.iter().map(|x| P16((x * 16.0) as u16)).collect())
    }

    fn decode(&self, value: &[P16]) -> Result<Box<[f32]>, TestError> {
        Ok(value.iter().map(|x| f32::from(x.0) / 16.0).collect())
    }
}

/// A bound of the program, and a leaf below it with the last part of a built-in leaf.
static GROUP: TypeNode = TypeNode {
    id: "tensor.audit_group",
    parent: Some("tensor"),
    kind: TypeKind::Abstract,
    ffi_name: "",
    wire_hash: 0,
    denotation: "",
};
static GROUPED: TypeNode = TypeNode {
    id: "tensor.audit_group.i8",
    parent: Some("tensor.audit_group"),
    kind: TypeKind::Concrete,
    denotation: "org.example.audit.group.i8",
    ..GROUP
};
register_type_node!(GROUP);
register_type_node!(GROUPED);

#[test]
fn a_leaf_below_a_bound_of_the_program_is_bounded_stamped_and_loaded() -> Outcome {
    static OPS: AtomicOpsetDecl = AtomicOpsetDecl {
        domain: "org.audit.group",
        version: 1,
        ops: &[
            AtomicOpDecl {
                name: "Pack",
                inputs: &[X],
                outputs: &[PortDecl::required("y", &GROUPED)],
                kind: AtomicOpKind::Pure,
                type_relations: &[TypeRelation::BroadcastShape {
                    in0: PortRef::Input(0),
                    in1: PortRef::Input(0),
                    out: PortRef::Output(0),
                }],
            },
            AtomicOpDecl {
                name: "Turn",
                inputs: &[PortDecl::required("x", &GROUP)],
                outputs: &[Y],
                kind: AtomicOpKind::Pure,
                type_relations: ELEMENTWISE,
            },
        ],
    };
    let operators = || Operators::standard().with_opset(&OPS);
    let turn = |g: &Graph, x: &ValueRef| g.node("org.audit.group", "Turn", &[x], Vec::new(), 1).remove(0);
    let artifact = Compiler::new().with_operators(operators()).compile(Body("packed", |g| {
        let x = g.input("x").of("int8[N, 2]");
        g.output("y", turn(g, &g.node("org.audit.group", "Pack", &[&x], Vec::new(), 1)[0]));
        g.output("same", g.abs(&x));
    }))?;
    let bindings = Bindings::new().with_operators(Arc::new(operators()));
    let loaded = Artifact::load(&artifact.to_bytes()?, &bindings)?;
    let shown = |name: &str| loaded.value_type(name).map(|ty| ty.to_string());
    assert_eq!((loaded.type_of("y"), loaded.type_of("same")), (Some(GROUPED.id), Some("tensor.i8")));
    assert_eq!(shown("y").as_deref(), Some("audit_group.i8[N, 2]"));
    assert_eq!(shown("same").as_deref(), Some("int8[N, 2]"));
    let error = Compiler::new().with_operators(operators()).compile(Body("outside", |g| {
        g.output("y", turn(g, &g.input("x").of("int8[2]")));
    }));
    let text = error.expect_err("int8 is not below the bound").to_string();
    assert!(text.contains("tensor.audit_group") && text.contains("int8"), "{text}");
    Ok(())
}

fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

fn endpoint(network: &LocalNetwork, name: &str, part: &Part) -> Result<Endpoint, Box<dyn std::error::Error>> {
    let parts = EndpointParts {
        transport: Arc::new(network.join(peer(name))),
        clock: Arc::new(SystemClock::new()),
        journal: Box::new(MemoryJournal::new()),
        ports: part.ports(),
        peers: vec![peer("home"), peer("w")],
    };
    Ok(Endpoint::open(parts, EndpointConfig::new(1))?)
}

/// A custom leaf compiles, travels alone and in a bundle, and comes back.
#[test]
fn a_custom_leaf_compiles_travels_and_comes_back() -> Outcome {
    let components = Components::new().codec("codec", ToP16);
    let artifact = components.compiler().compile(Body("small", |g| {
        let small = g.codec("codec").encode(&g.input("x"));
        let both = g.bundle(&[("small", &small), ("again", &small)]);
        let (there, _) = g.send(&both, g.input("workers"));
        let (received, sender) = g.receive(&there);
        let parts = g.unbundle(&received, &["again", "small"]);
        let (back, _) = g.send(&parts[0], &sender);
        g.output("small", &parts[1]);
        let (back, _) = g.receive(&back);
        g.output("decoded", g.codec("codec").decode(&back));
    }));
    let artifact = match artifact {
        Ok(artifact) => artifact,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(artifact.type_of("small"), Some("tensor.audit_p16"));
    let artifact = Artifact::load(&artifact.to_bytes()?, components.bindings())?;
    let network = LocalNetwork::new();
    let link = |name: &str| Part::new(&artifact, name, &components);
    let (home, worker) = (link("self")?, link("workers")?);
    let (at_home, at_worker) = (endpoint(&network, "home", &home)?, endpoint(&network, "w", &worker)?);
    let wait = Duration::from_secs(120);
    let inputs: HashMap<String, Datum> = HashMap::from([
        ("x".to_owned(), AnyTensor::from([0.5_f32, 2.0]).into()),
        ("workers".to_owned(), Datum::Peers(vec![peer("w")])),
    ]);
    std::thread::scope(|scope| -> Outcome {
        let served = scope.spawn(|| worker.serve(&at_worker, wait, Verify::EveryValue));
        let own = home.run(&at_home, RunId(1), inputs, wait, Verify::EveryValue)?;
        let served = served.join().expect("it does not panic")?.expect("a message arrives");
        let small = served.get("small").or(own.get("small")).expect("it is an output");
        assert_eq!(Vec::<P16>::from_datum(small).as_deref(), Some(&vec![P16(8), P16(32)]));
        assert_eq!(vec![P16(8), P16(32)].to_datum(None), *small);
        Ok(())
    })
}

/// A cast is inserted only if the policy allows it, and is visible.
#[test]
fn an_extension_operator_takes_casts_as_other_operators_do() -> Outcome {
    static SINGLE: [AtomicOpsetDecl; 1] = [AtomicOpsetDecl {
        domain: "org.audit.single",
        version: 1,
        ops: &[AtomicOpDecl {
            name: "Keep",
            inputs: &[PortDecl::required("x", &TYPE_TENSOR_F32)],
            outputs: &[Y],
            kind: AtomicOpKind::Pure,
            type_relations: ELEMENTWISE,
        }],
    }];
    let operators = || Operators::standard().with_opset(&SINGLE[0]);
    let body = || {
        Body("keep", |g: &Graph| {
            g.output(
                "y",
                g.node("org.audit.single", "Keep", &[&g.input("x").of("float[2]")], Vec::new(), 1)
                    .remove(0)
                    .of("double[2]"),
            );
        })
    };
    assert!(matches!(
        Compiler::new().with_operators(operators()).compile(body()),
        Err(BuildError::TypeConstraintFailed(_))
    ));
    let cast =
        Compiler::new().with_operators(operators()).with_coercion(Coercion::Lossless).compile(body())?;
    assert_eq!(cast.report.casts.len(), 1);
    assert!(cast.to_text().contains("Cast") && cast.type_of("y") == Some("tensor.f64"));
    Ok(())
}

/// A loop over a bundle is one error: the causes of the others are not reported.
#[test]
fn a_rejected_bundle_at_a_loop_is_one_error() {
    let error = Compiler::new().compile(Body("looped", |g| {
        let x = g.input("x").of("float[N]");
        let both = g.bundle(&[("x", &x)]);
        let state = g.loop_(Some(&g.input("n").of("int64")), None, &[&both], |g, _, go, state| {
            let inner = g.unbundle(&state[0], &["x"]).remove(0);
            vec![go.clone(), g.bundle(&[("x", &g.abs(&inner))])]
        });
        g.output("y", &g.unbundle(&state[0], &["x"])[0]);
    }));
    let error = error.expect_err("a bundle is no state of a loop");
    assert_eq!(error.diagnostics().len(), 1, "{error}");
    assert!(error.to_string().contains("unbundle the values that `Loop` computes with"), "{error}");
}
