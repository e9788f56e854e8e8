//! Slots: types of the bound components, for every storage type.

use std::cell::RefCell;
use std::collections::HashSet;

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::unit::Coercion;
use typeloom_contracts::protocol::Protocol;
use typeloom_contracts::role::Role;
use typeloom_module::bindings::{Binding, Bindings};
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::value::ValueRef;
use typeloom_module::module::Module;
use typeloom_onnx::messages::AttributeProto;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use typeloom_types::relation::NO_RELATIONS;
use typeloom_types::storage::Storage;
use typeloom_types::tree::builtin::{
    TYPE_PEER_ID_VEC, TYPE_TENSOR_F32, TYPE_TENSOR_F64, TYPE_TENSOR_I64, TYPE_TENSOR_U8, TYPE_TRIGGER,
};

use super::components::{Any, F32, F64, Flat, Of, Posits, Quantizer};

/// A module without declared types: the component of `compute` determines them.
fn scores() -> Of<impl Fn(&mut Graph)> {
    Of("scores", |g: &mut Graph| {
        let (query, weights) = (g.input("query"), g.input("weights"));
        let compute = g.backend("compute");
        let product = compute.matmul(&query, &weights);
        let larger = compute.greater(&product, &query);
        g.output("scores", &compute.relu(&product));
        g.output("larger", &larger);
    })
}

#[test]
fn a_backend_slot_has_the_storage_type_of_its_component() {
    let f32s = Compiler::new().bind_backend::<F32>("compute").compile(scores()).expect("it compiles");
    let f64s = Compiler::new().bind_backend::<F64>("compute").compile(scores()).expect("it compiles");
    for (artifact, leaf) in [(&f32s, "tensor.f32"), (&f64s, "tensor.f64")] {
        assert_eq!(artifact.type_of("query"), Some(leaf));
        assert_eq!(artifact.type_of("weights"), Some(leaf));
        assert_eq!(artifact.type_of("scores"), Some(leaf));
        assert_eq!(
            artifact.type_of("larger"),
            Some("tensor.bool"),
            "conditions do not have the storage type of the backend"
        );
    }
}

#[test]
fn a_backend_of_a_custom_leaf_compiles_and_every_value_is_stamped_with_it() {
    let module = Of("m", |g: &mut Graph| {
        let (a, b) = (g.input("a"), g.input("b"));
        let compute = g.backend("compute");
        g.output("y", &compute.add(&a, &b));
    });
    let artifact = Compiler::new().bind_backend::<Posits>("compute").compile(module).expect("it compiles");
    for value in ["a", "b", "y"] {
        assert_eq!(artifact.type_of(value), Some("tensor.test_posit16"));
    }
}

#[test]
fn a_custom_leaf_is_an_error_for_nodes_without_a_slot() {
    let module = Of("m", |g: &mut Graph| {
        let (a, b) = (g.input("a"), g.input("b"));
        let compute = g.backend("compute");
        let sum = compute.add(&a, &b);
        g.output("y", &(&sum * &b));
    });
    let error = Compiler::new().bind_backend::<Posits>("compute").compile(module).expect_err("it does not");
    assert!(error.to_string().contains("`Mul`"), "{error}");
}

#[test]
fn two_slots_of_one_role_store_different_types() {
    let module = || {
        Of("m", |g: &mut Graph| {
            let (x, y) = (g.input("x"), g.input("y"));
            let (fast, exact) = (g.backend("fast"), g.backend("exact"));
            g.output("a", &fast.neg(&x));
            g.output("b", &exact.neg(&y));
        })
    };
    let compiler = Compiler::new().bind_backend::<F32>("fast").bind_backend::<F64>("exact");
    let artifact = compiler.compile(module()).expect("it compiles");
    assert_eq!(artifact.type_of("a"), Some("tensor.f32"));
    assert_eq!(artifact.type_of("b"), Some("tensor.f64"));
}

#[test]
fn an_index_takes_its_storage_for_vectors_and_not_for_ids() {
    let module = || {
        Of("m", |g: &mut Graph| {
            let (query, ids, vectors) = (g.input("query"), g.input("ids"), g.input("vectors"));
            let near = g.index("near");
            let done = near.add(&ids, &vectors);
            let (found, distances) = near.search(&query, 5);
            g.output("found", &found);
            g.output("distances", &distances);
            g.output("done", &done);
        })
    };
    let artifact = Compiler::new().bind_index::<Flat<[f64]>>("near").compile(module()).expect("it compiles");
    let types =
        ["query", "vectors", "ids", "found", "distances", "done"].map(|value| artifact.type_of(value));
    let expected = ["tensor.f64", "tensor.f64", "tensor.u64", "tensor.u64", "tensor.f32", "trigger"];
    assert_eq!(types, expected.map(Some));
}

#[test]
fn a_backend_of_any_tensor_takes_the_connected_type() {
    let module = || {
        Of("m", |g: &mut Graph| {
            let query = g.input("query").of(&TYPE_TENSOR_F64);
            let compute = g.backend("compute");
            let scaled = compute.mul(&query, &query);
            let (found, _) = g.index("near").search(&scaled, 5);
            g.output("found", &found);
            g.output("scaled", &scaled);
        })
    };
    let compiler = Compiler::new().bind_backend::<Any>("compute").bind_index::<Flat<AnyTensor>>("near");
    let artifact = compiler.compile(module()).expect("it compiles");
    assert_eq!(artifact.type_of("scaled"), Some("tensor.f64"));
}

#[test]
fn a_codec_has_two_storage_types() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x");
        let codec = g.codec("codec");
        let packed = codec.encode(&x);
        g.output("packed", &packed);
        g.output("back", &codec.decode(&packed));
    });
    let artifact = Compiler::new().bind_codec::<Quantizer>("codec").compile(module).expect("it compiles");
    let types = ["x", "packed", "back"].map(|value| artifact.type_of(value));
    assert_eq!(types, [Some("tensor.f32"), Some("tensor.u8"), Some("tensor.f32")]);
}

fn mixed() -> Of<impl Fn(&mut Graph)> {
    Of("mixed", |g: &mut Graph| {
        let x = g.input("x").of(&TYPE_TENSOR_F32);
        let (fast, exact) = (g.backend("fast"), g.backend("exact"));
        let y = fast.neg(&x);
        g.output("a", &exact.add(&y, &y));
        g.output("b", &exact.abs(&y));
    })
}

#[test]
fn an_edge_between_slots_that_store_different_types_is_cast_once_and_reported() {
    let compiler = Compiler::new().bind_backend::<F32>("fast").bind_backend::<F64>("exact");
    let error = compiler.compile(mixed()).expect_err("no cast is inserted by default");
    assert!(error.to_string().contains("<exact as Backend>::Tensor"), "{error}");

    let artifact = compiler.with_coercion(Coercion::Lossless).compile(mixed()).expect("it compiles");
    assert_eq!(artifact.type_of("a"), Some("tensor.f64"));
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let casts: Vec<_> = graph.node.iter().filter(|node| node.op_type() == "Cast").collect();
    assert_eq!(casts.len(), 1, "one cast serves every port that needs it");
    let attribute = |name: &str| {
        let found = casts[0].attribute.iter().find(|attribute| attribute.name() == name);
        found.and_then(|attribute| attribute.s.clone()).map(|bytes| bytes.to_vec())
    };
    assert_eq!(casts[0].domain(), "ai.bytesandbrains.types");
    assert_eq!(attribute("from").as_deref(), Some(&b"tensor.f32"[..]));
    assert_eq!(attribute("to").as_deref(), Some(&b"tensor.f64"[..]));
    assert_eq!(artifact.type_of(&casts[0].output[0]), Some("tensor.f64"), "the cast's result is stamped");
    assert!(artifact.report.casts.iter().all(|cast| cast.lossless && cast.reason.contains("exact")));
}

#[test]
fn a_lossy_cast_is_rejected_by_default() {
    let module = || {
        Of("m", |g: &mut Graph| {
            let x = g.input("x").of(&TYPE_TENSOR_F64);
            let fast = g.backend("fast");
            g.output("y", &fast.neg(&x));
        })
    };
    let compiler = Compiler::new().bind_backend::<F32>("fast");
    let error =
        compiler.clone().with_coercion(Coercion::Lossless).compile(module()).expect_err("it is lossy");
    let text = error.to_string();
    assert!(text.contains("tensor.f64 to tensor.f32") && text.contains("AsDeclared"), "{text}");
    let artifact = compiler
        .with_coercion(Coercion::AsDeclared)
        .compile(module())
        .expect("the policy allows lossy casts");
    assert!(!artifact.report.casts[0].lossless);
    assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
}

#[test]
fn a_program_that_type_checks_gets_no_cast() {
    let compiler = Compiler::new().bind_backend::<F32>("compute").with_coercion(Coercion::AsDeclared);
    let artifact = compiler.compile(scores()).expect("it compiles");
    assert!(artifact.report.casts.is_empty());
}

static ROUNDS: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.test.rounds",
    version: 3,
    ops: &[AtomicOpDecl {
        name: "Round",
        inputs: &[PortDecl::required("start", &TYPE_TRIGGER)],
        outputs: &[PortDecl::required("heard_from", &TYPE_PEER_ID_VEC)],
        kind: AtomicOpKind::Stateful,
        type_relations: NO_RELATIONS,
    }],
};

struct Rounds;

impl Protocol for Rounds {
    const OPSET: &'static AtomicOpsetDecl = &ROUNDS;
}

typeloom_contracts::register_protocol!(Rounds);

#[test]
fn a_registered_protocol_has_operators_types_and_a_binding() {
    let module = |op: &'static str| {
        Of("m", move |g: &mut Graph| {
            let start = g.input("start");
            let rounds = g.protocol("rounds", "org.example.test.rounds");
            g.output("heard", &rounds.call(op, &[&start], 1)[0]);
        })
    };
    let compiler = Compiler::new().bind_protocol::<Rounds>("rounds");
    let artifact = compiler.compile(module("Round")).expect("it compiles");
    let registered = Compiler::new().compile(module("Round")).expect("the registration binds the slot");
    assert_eq!(
        (registered.interface.clone(), registered.dispatch()),
        (artifact.interface.clone(), artifact.dispatch())
    );
    assert_eq!(artifact.type_of("start"), Some("trigger"));
    assert_eq!(artifact.type_of("heard"), Some("peer_id_vec"));
    assert_eq!(&*artifact.dispatch()[0].method, "round");
    let error = compiler.compile(module("Rond")).expect_err("it has no such operator");
    assert!(error.to_string().contains("`Rond`") && error.to_string().contains("`Round`"), "{error}");
}

/// The attributes of a cast are ids of leaves, or names of element types.
#[test]
fn a_cast_names_its_types_by_id_or_by_element_type() {
    let cast = |from: &'static str, to: &'static str| {
        Compiler::new().compile(Of("m", move |g: &mut Graph| {
            let attributes = vec![AttributeProto::new("from", from), AttributeProto::new("to", to)];
            let x = g.input("x");
            g.output("y", &g.node("ai.bytesandbrains.types", "Cast", &[&x], attributes, 1)[0]);
        }))
    };
    for (from, to) in [("F32", "F64"), ("tensor.f32", "tensor.f64"), ("f32", "tensor.f64")] {
        let artifact = cast(from, to).expect("both are types");
        assert_eq!((artifact.type_of("x"), artifact.type_of("y")), (Some("tensor.f32"), Some("tensor.f64")));
    }
    assert!(cast("F33", "F64").is_err());
}

/// A component of a role that stores `AnyTensor` in every associated type.
fn any_component(role: Role) -> Binding {
    let storages = role.storages().iter().map(|assoc| (*assoc, <AnyTensor as Storage>::TYPE)).collect();
    Binding { role, component: "Any", storages, opsets: &[], protocol: None }
}

fn compile_on_any(role: Role, module: impl Module) -> Result<Artifact, BuildError> {
    let bindings = Bindings::new().bind("slot", any_component(role));
    Compiler::new().with_bindings(bindings).compile(module)
}

#[test]
fn all_ports_of_a_slot_have_one_storage_type_without_annotations() {
    type Body = fn(&mut Graph, &ValueRef);
    let cases: [(Role, Body); 5] = [
        (Role::Model, |g, x| {
            let net = g.model("slot");
            g.output("y", &net.forward(x));
            g.output("z", &net.params(None));
        }),
        (Role::Index, |g, x| {
            let near = g.index("slot");
            let y = g.input("y");
            g.output("trained", &near.train(x));
            g.output("ids", &near.search(&y, 3).0);
            g.output("z", &y.identity());
        }),
        (Role::Aggregator, |g, x| {
            let (average, source) = (g.aggregator("slot"), g.input("source"));
            g.output("done", &average.contribute(&source, x, None));
            g.output("y", &average.aggregate(None));
            g.output("z", &average.aggregate(None));
        }),
        (Role::DataSource, |g, x| {
            let source = g.data_source("slot");
            g.output("seen", &source.on_data_loaded(x));
            g.output("y", &source.next_batch(None));
            g.output("z", &source.next_batch(None));
        }),
        (Role::Codec, |g, x| {
            let codec = g.codec("slot");
            let y = g.input("y");
            g.output("trained", &codec.train(x));
            g.output("code", &codec.encode(&y).of(&TYPE_TENSOR_U8));
            g.output("z", &y.identity());
        }),
    ];
    for (role, body) in cases {
        for leaf in [&TYPE_TENSOR_F32, &TYPE_TENSOR_F64, &TYPE_TENSOR_I64] {
            let module = Of("m", |g: &mut Graph| {
                let x = g.input("x").of(leaf);
                body(g, &x);
            });
            let artifact = compile_on_any(role, module).unwrap_or_else(|error| panic!("{role}: {error}"));
            for value in ["y", "z"] {
                assert_eq!(artifact.type_of(value), Some(leaf.id), "`{value}` of {role}");
            }
        }
    }
}

#[test]
fn the_type_of_a_slot_flows_back_to_its_first_node() {
    let module = Of("m", |g: &mut Graph| {
        let net = g.model("slot");
        let (x, target) = (g.input("x"), g.input("target"));
        let loss = net.compute_loss(&net.forward(&x), &target);
        g.output("loss", &loss);
        g.output("done", &net.apply_delta(&g.input("delta").of(&TYPE_TENSOR_F64)));
    });
    let artifact = compile_on_any(Role::Model, module).expect("the delta determines all types");
    for value in ["x", "target", "loss"] {
        assert_eq!(artifact.type_of(value), Some("tensor.f64"), "{value}");
    }
}

#[test]
fn two_types_on_one_slot_are_an_error_that_names_the_alias() {
    let module = Of("m", |g: &mut Graph| {
        let net = g.model("slot");
        let (x, delta) = (g.input("x").of(&TYPE_TENSOR_F32), g.input("delta").of(&TYPE_TENSOR_F64));
        g.output("y", &net.forward(&x));
        g.output("done", &net.apply_delta(&delta));
    });
    let error = compile_on_any(Role::Model, module).expect_err("a slot has one type");
    for part in ["<slot as Model>::Tensor", "tensor.f32", "tensor.f64"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn two_slots_of_one_component_have_types_of_their_own() {
    let bindings =
        Bindings::new().bind("a", any_component(Role::Model)).bind("b", any_component(Role::Model));
    let module = Of("m", |g: &mut Graph| {
        let (x, y) = (g.input("x").of(&TYPE_TENSOR_F32), g.input("y").of(&TYPE_TENSOR_F64));
        g.output("fx", &g.model("a").forward(&x));
        g.output("fy", &g.model("b").forward(&y));
    });
    let artifact = Compiler::new().with_bindings(bindings).compile(module).expect("it compiles");
    assert_eq!(["fx", "fy"].map(|value| artifact.type_of(value)), [Some("tensor.f32"), Some("tensor.f64")]);
}

#[test]
fn an_open_input_of_a_backend_of_any_tensor_has_the_type_of_its_other_data() {
    let module = |mixed: bool| {
        Of("m", move |g: &mut Graph| {
            let compute = g.backend("slot");
            let (x, open) = (g.input("x").of(&TYPE_TENSOR_F64), g.input("open"));
            g.output("y", &compute.neg(&x));
            g.output("z", &compute.neg(&open));
            if mixed {
                g.output("n", &compute.neg(&g.input("n_in").of(&TYPE_TENSOR_I64)));
            }
        })
    };
    let artifact = compile_on_any(Role::Backend, module(false)).expect("it compiles");
    assert_eq!(artifact.type_of("open"), Some("tensor.f64"));
    let error = compile_on_any(Role::Backend, module(true)).expect_err("f64 or i64?");
    assert!(matches!(error, BuildError::UnresolvedType(_)), "{error}");
}

/// Random modules over components that store `AnyTensor`: two inputs are declared, and a reference relates
/// all other values by the slots that they pass.
#[test]
fn types_flow_through_random_modules_of_components_that_store_any_tensor() {
    let first: u64 = std::env::var("TYPELOOM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (mut typed, mut open, mut mixed) = (0, 0, 0);
    for seed in first..first + 300 {
        let compiled = Chains::of(seed);
        match (compiled.expected(), compiled.artifact) {
            (Expected::Types(types), Ok(artifact)) => {
                typed += 1;
                for (name, ty) in types {
                    assert_eq!(artifact.type_of(&name), Some(ty), "seed {seed}: {name}");
                }
            }
            (Expected::Open, Err(BuildError::UnresolvedType(_))) => open += 1,
            (Expected::Mixed, Err(BuildError::TypeConstraintFailed(_))) => mixed += 1,
            (expected, Ok(_)) => panic!("seed {seed}: it compiles instead of {expected:?}"),
            (expected, Err(error)) => panic!("seed {seed}: {error} instead of {expected:?}"),
        }
    }
    println!("seeds from {first}: {typed} typed, {open} open, {mixed} of two types");
    assert!(typed > 0 && open > 0 && mixed > 0);
}

/// The result that the reference expects.
#[derive(Debug)]
enum Expected {
    Types(Vec<(String, &'static str)>),
    /// A value has no type.
    Open,
    /// A slot has two types.
    Mixed,
}

/// A compiled random module, with the classes of values of one type.
struct Chains {
    artifact: Result<Artifact, BuildError>,
    /// The parent of each class.
    parents: Vec<usize>,
    /// The outputs with their classes.
    outputs: Vec<(String, usize)>,
    declared: [(usize, &'static str); 2],
}

/// The classes of the types of slots: two models, a codec with two types, and an aggregator.
const SLOTS: usize = 5;

impl Chains {
    fn of(seed: u64) -> Self {
        let state = RefCell::new((Vec::new(), Vec::new()));
        let used = RefCell::new(HashSet::from(["a"]));
        let declared = [(SLOTS, "tensor.f32"), (SLOTS + 1, "tensor.i64")];
        let module = Of("m", |g: &mut Graph| {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut below = |limit: usize| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(random >> 33).unwrap_or(0) % limit
            };
            let mut parents: Vec<usize> = (0..SLOTS + 4).collect();
            let mut outputs = Vec::new();
            let inputs = [
                g.input("f").of(&TYPE_TENSOR_F32),
                g.input("i").of(&TYPE_TENSOR_I64),
                g.input("u"),
                g.input("v"),
            ];
            let mut values: Vec<(ValueRef, usize)> =
                inputs.into_iter().enumerate().map(|(at, value)| (value, SLOTS + at)).collect();
            for (at, (value, class)) in values.iter().enumerate().take(2) {
                g.output(&format!("in{at}"), &value.identity());
                outputs.push((format!("in{at}"), *class));
            }
            for (value, class) in values.clone().iter().skip(2) {
                values.push((g.model("a").forward(value), 0));
                join(&mut parents, *class, 0);
            }
            for _ in 0..1 + below(4) {
                let (value, class) = values[below(values.len())].clone();
                let choice = below(5);
                used.borrow_mut().insert(["a", "b", "c", "c", "d"][choice]);
                let (result, from, to) = match choice {
                    0 => (g.model("a").forward(&value), 0, 0),
                    1 => (g.model("b").backward(&value), 1, 1),
                    2 => (g.codec("c").encode(&value), 2, 3),
                    3 => (g.codec("c").decode(&value), 3, 2),
                    _ => {
                        let done = g.aggregator("d").contribute(
                            &g.input(&format!("p{}", values.len())),
                            &value,
                            None,
                        );
                        (g.aggregator("d").aggregate(Some(&done)), 4, 4)
                    }
                };
                join(&mut parents, class, from);
                values.push((result, to));
            }
            for (at, (value, class)) in values.into_iter().enumerate().skip(4) {
                g.output(&format!("out{at}"), &value);
                outputs.push((format!("out{at}"), class));
            }
            *state.borrow_mut() = (parents, outputs);
        });
        // The first recording finds the slots.
        drop(Compiler::new().compile(&module));
        let slots = [("a", Role::Model), ("b", Role::Model), ("c", Role::Codec), ("d", Role::Aggregator)];
        let used = used.borrow().clone();
        let bound = slots.into_iter().filter(|(slot, _)| used.contains(slot));
        let bindings = bound.fold(Bindings::new(), |all, (slot, role)| all.bind(slot, any_component(role)));
        let artifact = Compiler::new().with_bindings(bindings).compile(&module);
        let (parents, outputs) = state.take();
        Self { artifact, parents, outputs, declared }
    }

    fn expected(&self) -> Expected {
        let root = |class| root(&self.parents, class);
        let [(first, first_id), (second, second_id)] = self.declared;
        if root(first) == root(second) {
            return Expected::Mixed;
        }
        let of = |class: usize| match root(class) {
            found if found == root(first) => Some(first_id),
            found if found == root(second) => Some(second_id),
            _ => None,
        };
        let types = self.outputs.iter().map(|(name, class)| Some((name.clone(), of(*class)?)));
        types.collect::<Option<_>>().map_or(Expected::Open, Expected::Types)
    }
}

fn root(parents: &[usize], mut class: usize) -> usize {
    while parents[class] != class {
        class = parents[class];
    }
    class
}

fn join(parents: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parents, a), root(parents, b));
    parents[a] = b;
}
