//! Errors of strict mode. Messages name the parts in conflict, their origins, and the line of the author.

use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::value::ValueRef;
use typeloom_types::storage::ElementStorage;
use typeloom_types::tree::builtin::{TYPE_PEER_ID, TYPE_TENSOR_F32, TYPE_TENSOR_I64, TYPE_TRIGGER};
use typeloom_types::tree::{TypeKind, TypeNode};

use super::components::{F32, Flat, Of, Quantizer};

fn refused(compiler: Compiler, module: Of<impl Fn(&mut Graph)>) -> BuildError {
    compiler.compile(&module).expect_err("the module is ill-typed")
}

fn assert_contains(error: &BuildError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is not in\n{text}");
    }
    assert!(text.contains("strict_errors.rs:"), "the author's line is not in\n{text}");
}

#[test]
fn add_rejects_a_peer_id() {
    let error = refused(
        Compiler::new(),
        Of("m", |g: &mut Graph| {
            let x = g.input("x").of(&TYPE_TENSOR_F32);
            let who = g.input("who").of(&TYPE_PEER_ID);
            g.output("y", &(&x + &who));
        }),
    );
    assert!(matches!(error, BuildError::TypeConstraintFailed(_)), "{error}");
    assert_contains(&error, &["`Add`", "`who` is peer_id", "graph input"]);
}

#[test]
fn relu_rejects_a_trigger() {
    let error = refused(
        Compiler::new(),
        Of("m", |g: &mut Graph| {
            let go = g.input("go").of(&TYPE_TRIGGER);
            g.output("y", &go.relu());
        }),
    );
    assert_contains(&error, &["`Relu`", "`go` is trigger"]);
}

#[test]
fn a_float_plus_an_integer_is_an_error() {
    let error = refused(
        Compiler::new(),
        Of("m", |g: &mut Graph| {
            let x = g.input("x").of(&TYPE_TENSOR_F32);
            let n = g.input("n").of(&TYPE_TENSOR_I64);
            g.output("y", &(&x + &n));
        }),
    );
    assert_contains(&error, &["`x` is float", "`n` is int64", "graph input"]);
}

#[test]
fn the_result_of_a_comparison_is_not_a_number() {
    let error = refused(
        Compiler::new(),
        Of("m", |g: &mut Graph| {
            let x = g.input("x").of(&TYPE_TENSOR_F32);
            let larger = x.greater(&x);
            g.output("y", &(&larger + &x));
        }),
    );
    assert_contains(&error, &["`Add`", "bool", "float"]);
}

#[test]
fn a_decoder_of_bytes_rejects_floats() {
    let error = refused(
        Compiler::new().bind_codec::<Quantizer>("codec"),
        Of("m", |g: &mut Graph| {
            let x = g.input("x").of(&TYPE_TENSOR_F32);
            let codec = g.codec("codec");
            g.output("y", &codec.decode(&x));
        }),
    );
    assert_contains(&error, &["`Decode`", "tensor.u8", "<codec as Codec>::Out", "tensor.f32"]);
}

#[test]
fn an_unbound_slot_is_an_error() {
    let error = refused(
        Compiler::new(),
        Of("m", |g: &mut Graph| {
            let x = g.input("x").of(&TYPE_TENSOR_F32);
            let compute = g.backend("compute");
            g.output("y", &compute.neg(&x));
        }),
    );
    assert!(matches!(&error, BuildError::UnboundSlot { slot, .. } if slot == "compute"), "{error}");
    assert_contains(&error, &["`compute`", "bind_backend"]);
}

#[test]
fn a_slot_bound_to_another_role_is_an_error() {
    let error = refused(
        Compiler::new().bind_backend::<F32>("near"),
        Of("m", |g: &mut Graph| {
            let x = g.input("x");
            let (ids, _) = g.index("near").search(&x, 3);
            g.output("ids", &ids);
        }),
    );
    assert!(matches!(&error, BuildError::SlotRole { slot, .. } if slot == "near"), "{error}");
    assert_contains(&error, &["requires Index", "Backend"]);
}

#[test]
fn a_float_tensor_that_is_received_as_double_is_an_error() {
    let error = refused(
        Compiler::new(),
        Of("m", |g: &mut Graph| {
            let x = g.input("x").of(&TYPE_TENSOR_F32);
            let peers = g.input("peers").of("peer_id_vec");
            let (data, handle) = g.send(&x, &peers);
            let data = data.of("double[]");
            g.output("there", &data.relu());
            g.output("sent", &handle);
        }),
    );
    assert_contains(&error, &["double", "float"]);
}

#[test]
fn the_error_of_an_unconstrained_input_lists_ways_to_resolve_it() {
    let error = refused(
        Compiler::new().bind_index::<Flat<typeloom_tensor::any_tensor::AnyTensor>>("near"),
        Of("m", |g: &mut Graph| {
            let x = g.input("x");
            let (ids, _) = g.index("near").search(&x, 3);
            g.output("ids", &ids);
        }),
    );
    assert!(matches!(error, BuildError::UnresolvedType(_)), "{error}");
    assert_contains(&error, &["`x`", "g.input(\"x\").of(", "bind slot `near`", "bind_index"]);
}

/// The help proposes a type that the value can have.
#[test]
fn the_help_for_an_unresolved_input_proposes_a_possible_type() {
    type Body = fn(&mut Graph, &ValueRef);
    let cases: [(Body, &str); 4] = [
        (|g, i| g.output("y", g.input("x").of("float[8]").gather(i, Default::default())), "int64[..]"),
        (|g, i| g.output("y", g.input("x").of("float[8]").slice(i, i, None, None)), "int64[..]"),
        (|g, i| g.output("y", i.exp()), "float[..]"),
        (|g, i| g.output("y", &g.unbundle(i, &["b", "a"])[0]), "composite{a: float[..], b: float[..], ..}"),
    ];
    for (body, ty) in cases {
        let module = Of("m", move |g: &mut Graph| {
            let open = g.input("open");
            body(g, &open);
        });
        let text = refused(Compiler::new(), module).to_string();
        assert!(text.contains(&format!("g.input(\"open\").of({ty:?})")), "{text}");
    }
}

struct Ghost;

static TYPE_TENSOR_GHOST: TypeNode = TypeNode {
    id: "tensor.test_ghost",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "",
};

impl ElementStorage for Ghost {
    const SLICE: &'static TypeNode = &TYPE_TENSOR_GHOST;
}

/// A node with the id of a registered one, and another content.
struct OtherF32;

static TYPE_OTHER_F32: TypeNode = TypeNode { denotation: "org.example.f32", ..TYPE_TENSOR_F32 };

impl ElementStorage for OtherF32 {
    const SLICE: &'static TypeNode = &TYPE_OTHER_F32;
}

#[test]
fn an_unregistered_type_node_of_a_component_is_an_error() {
    let module = || {
        Of("m", |g: &mut Graph| {
            g.output("ids", &g.index("near").search(&g.input("x"), 3).0);
        })
    };
    let unregistered = refused(Compiler::new().bind_index::<Flat<[Ghost]>>("near"), module());
    assert!(matches!(unregistered, BuildError::UnregisteredStorage { .. }), "{unregistered}");
    let words = ["slot `near`", "stores `tensor.test_ghost` as its `Vector`", "register_type_node!"];
    assert_contains(&unregistered, &words);
    let other = refused(Compiler::new().bind_index::<Flat<[OtherF32]>>("near"), module());
    assert_contains(&other, &["`tensor.f32`", "another type node is registered with this id"]);
}

#[test]
fn all_independent_errors_are_reported_at_once() {
    let error = refused(
        Compiler::new(),
        Of("m", |g: &mut Graph| {
            let x = g.input("x").of(&TYPE_TENSOR_F32);
            let n = g.input("n").of(&TYPE_TENSOR_I64);
            let go = g.input("go").of(&TYPE_TRIGGER);
            g.output("y", &(&x + &n));
            g.output("z", &go.relu());
        }),
    );
    assert_eq!(error.diagnostics().len(), 2, "{error}");
}
