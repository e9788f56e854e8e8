//! Hostile programs: the compiler neither panics nor hangs, and every artifact is sound.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::unit::Coercion;
use typeloom_module::bindings::Bindings;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::GatherAttrs;
use typeloom_module::graph::value::ValueRef;
use typeloom_onnx::messages::{GraphProto, ModelProto};
use typeloom_onnx::prost::Message as _;

use super::components::{Any, F32, F64, Flat, Of, Quantizer};

/// Returns a test runner with a fixed seed, so that each run tests the same programs.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

fn components() -> Bindings {
    Bindings::new()
        .bind_backend::<F32>("fast")
        .bind_backend::<F64>("exact")
        .bind_backend::<Any>("any")
        .bind_index::<Flat<[f32]>>("near")
        .bind_codec::<Quantizer>("codec")
}

/// Records a random step on random values.
fn step(g: &Graph, values: &mut Vec<ValueRef>, (op, left, right): (u8, u8, u8)) {
    let pick = |at: u8| values[usize::from(at) % values.len()].clone();
    let (a, b) = (pick(left), pick(right));
    let slot = g.backend(["fast", "exact", "any"][usize::from(right) % 3]);
    let made = match op % 20 {
        0 => vec![&a + &b],
        1 => vec![slot.mul(&a, &b)],
        2 => vec![a.relu()],
        3 => vec![slot.sigmoid(&a)],
        4 => vec![slot.greater(&a, &b)],
        5 => vec![a.cast(typeloom_types::dtype::Dtype::F64, Default::default())],
        6 => vec![g.index("near").search(&a, 2).1],
        7 => vec![g.codec("codec").encode(&a)],
        8 => vec![g.codec("codec").decode(&a)],
        9 => {
            let (data, handle) = g.send(&a, &b);
            vec![data, handle]
        }
        10 => g.if_(&a, |_| vec![b.neg()], |_| vec![b.abs()]),
        11 => g.loop_(None, Some(&a), &[&b], |_, _, again, carried| {
            vec![again.clone(), slot.add(&carried[0], &carried[0])]
        }),
        12 => vec![a.gather(&b, GatherAttrs::default())],
        13 => {
            let both = g.bundle(&[("a", &a), ("b", &b)]);
            g.unbundle(&both, &["b"]).into()
        }
        14 => vec![a.clone().of(["float[N]", "double[3]", "int64[]", "peer_id"][usize::from(right) % 4])],
        15 => vec![g.receive(&a).0],
        16 => vec![g.concat(&[&a, &b], 0)],
        17 => {
            let inner = Of("inner", |h: &mut Graph| {
                let x = h.input("x");
                h.output("y", &(&x + &x));
            });
            g.call(&inner, &[&a]).into()
        }
        18 => vec![slot.matmul(&a, &b)],
        _ => vec![slot.tanh(&a)],
    };
    values.extend(made);
}

fn program(steps: Vec<(u8, u8, u8)>) -> Of<impl Fn(&mut Graph)> {
    Of("program", move |g: &mut Graph| {
        // Every slot is used once, so that all bindings are for slots that exist.
        let first = g.input("first").of("float[N]");
        let mut values = vec![
            g.backend("fast").neg(&first),
            g.backend("exact").neg(&g.input("second")),
            g.backend("any").neg(&g.input("third").of("float[M, 4]")),
            g.index("near").search(&first, 1).0,
            g.codec("codec").encode(&first),
            g.input("peers").of("peer_id_vec"),
            g.input("flag").of("bool"),
        ];
        for step in &steps {
            self::step(g, &mut values, *step);
        }
        for (at, value) in values.iter().enumerate() {
            g.output(&format!("out{at}"), value);
        }
    })
}

/// Checks that every result of every node has a type.
fn is_stamped(graph: &GraphProto) -> Result<(), String> {
    let mut open = vec![graph];
    while let Some(graph) = open.pop() {
        let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
        let typed: std::collections::HashSet<&str> = infos
            .filter(|info| {
                info.r#type.as_ref().is_some_and(|ty| ty.denotation.is_some() || ty.value.is_some())
            })
            .map(typeloom_onnx::messages::ValueInfoProto::name)
            .collect();
        for node in &graph.node {
            if let Some(open) =
                node.output.iter().find(|name| !name.is_empty() && !typed.contains(name.as_str()))
            {
                return Err(format!("`{open}` of {} has no type", node.op_type()));
            }
            open.extend(node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()));
        }
    }
    Ok(())
}

#[test]
fn random_modules_compile_into_sound_artifacts_or_are_errors() {
    let policies = [Coercion::Never, Coercion::Lossless, Coercion::AsDeclared];
    let steps = prop::collection::vec(any::<(u8, u8, u8)>(), 0..12);
    let compiled = std::cell::Cell::new(0);
    let result = runner(400).run(&(steps, 0..3usize), |(steps, policy)| {
        let compiler = Compiler::new().with_bindings(components()).with_coercion(policies[policy]);
        match compiler.compile(program(steps)) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(artifact) => {
                compiled.set(compiled.get() + 1);
                let graph = artifact.model().graph.as_ref().expect("an artifact has a graph");
                prop_assert_eq!(is_stamped(graph), Ok(()));
                let bytes = artifact.to_bytes().expect("an artifact can be written");
                let loaded = Artifact::load(&bytes, &components());
                prop_assert!(loaded.is_ok(), "{}", loaded.err().map_or_else(String::new, |e| e.to_string()));
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(compiled.get() > 20, "only {} programs compiled", compiled.get());
}

#[test]
fn programs_of_broken_bytes_are_errors() {
    let artifact =
        Compiler::new().with_bindings(components()).compile(program(Vec::new())).expect("it compiles");
    let bytes = artifact.model().encode_to_vec();
    let cases = (0..bytes.len(), any::<u8>(), any::<bool>());
    let result = runner(600).run(&cases, |(at, byte, cut)| {
        let mut broken = bytes.clone();
        if cut {
            broken.truncate(at);
        } else {
            broken[at] = byte;
        }
        // Any result is acceptable; the call must return.
        let compiler = Compiler::new().with_bindings(components()).with_coercion(Coercion::AsDeclared);
        let _ = compiler.compile(&broken[..]);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn functions_that_double_at_every_level_are_too_large_and_not_a_hang() {
    let mut text = String::from(
        "<ir_version: 10, opset_import: [\"\" : 21, \"f\" : 1]>\nmain (float[2] x) => (y) { y = f.f40(x) }\n",
    );
    for level in 1..=40 {
        let below = level - 1;
        text.push_str(&format!(
            "<domain: \"f\", opset_import: [\"\" : 21, \"f\" : 1]> f{level} (a) => (c) {{ b = f.f{below}(a) c = f.f{below}(b) }}\n"
        ));
    }
    text.push_str("<domain: \"f\", opset_import: [\"\" : 21]> f0 (a) => (b) { b = Relu(a) }\n");
    let model = typeloom_onnx::text::parse_model(&text).expect("the text is a model");
    let error = Compiler::new().compile(model).expect_err("it has 2^40 nodes");
    assert!(error.to_string().contains("more than"), "{error}");
}

#[test]
fn functions_that_call_each_other_are_an_error() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
        main (float[2] x) => (y) { y = f.a(x) }
        <domain: "f", opset_import: ["f" : 1]> a (x) => (y) { y = f.b(x) }
        <domain: "f", opset_import: ["f" : 1]> b (x) => (y) { y = f.a(x) }"#;
    let model = typeloom_onnx::text::parse_model(text).expect("the text is a model");
    let error = Compiler::new().compile(model).expect_err("the functions are recursive");
    assert!(error.to_string().contains("calls itself"), "{error}");
}

#[test]
fn a_chain_of_a_hundred_thousand_nodes_compiles() {
    let module = Of("long", |g: &mut Graph| {
        let mut value = g.input("x").of("float[N]");
        for _ in 0..100_000 {
            value = value.neg();
        }
        g.output("y", &value);
    });
    let artifact = Compiler::new().compile(module).expect("the depth of a graph is not limited");
    assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
}

#[test]
fn a_program_without_a_graph_is_an_error() {
    assert!(Compiler::new().compile(ModelProto::default()).is_err());
    assert!(Compiler::new().compile(&[][..]).is_err());
}
