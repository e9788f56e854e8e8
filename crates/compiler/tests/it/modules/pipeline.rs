//! The passes: names, skipping, insertion, and printing of the IR between them.

use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::pass::Pass;
use typeloom_compiler::stage::Stage;
use typeloom_compiler::unit::{Coercion, Unit};
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::GeluAttrs;
use typeloom_onnx::messages::{GraphProto, TypeProto, ValueInfoProto, type_proto};
use typeloom_onnx::prost::Message as _;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::tree::builtin::TYPE_TENSOR_F32;

use super::components::{F32, F64, Of, WithGelu};

fn relu() -> Of<impl Fn(&mut Graph)> {
    Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N, 3]");
        g.output("y", &x.relu());
    })
}

#[test]
fn the_passes_have_their_documented_names() {
    assert_eq!(
        Compiler::pass_names(),
        [
            "validate",
            "expand",
            "bind_slots",
            "refine_polymorphic_value_info",
            "type_solver",
            "stamp",
            "insert_cast_ops",
            "infer_peer_classes",
            "lower",
            "resolve_dispatch",
            "partition",
            "export_interface"
        ]
    );
}

#[test]
fn a_pass_is_left_out_by_name_and_a_wrong_name_is_an_error() {
    let artifact = Compiler::new().without_pass("stamp").compile(relu()).expect("it compiles");
    assert_eq!(artifact.type_of("y"), None);
    assert!(!artifact.report.passes.iter().any(|name| name == "stamp"));
    for compiler in [Compiler::new().without_pass("stemp"), Compiler::new().print_after("stemp")] {
        let error = compiler.compile(relu()).expect_err("there is no such pass");
        let BuildError::UnknownPass { name, known } = error else { panic!("{error}") };
        assert_eq!(name, "stemp");
        assert!(known.contains(&"stamp".to_owned()));
    }
}

#[test]
fn passes_that_others_rely_on_cannot_be_left_out() {
    let compiles = |name: &str| Compiler::new().without_pass(name).compile(relu());
    let (required, optional): (Vec<String>, Vec<String>) =
        Compiler::pass_names().into_iter().partition(|name| compiles(name).is_err());
    assert_eq!(optional, ["refine_polymorphic_value_info", "stamp", "insert_cast_ops", "lower", "partition"]);
    for pass in required {
        let error = compiles(&pass).expect_err("the pass is required");
        assert_eq!(error, BuildError::RequiredPass { name: pass });
    }
}

#[test]
fn a_user_pass_runs_at_its_position() {
    struct Refuses;
    impl Pass for Refuses {
        fn name(&self) -> &str {
            "no_relu"
        }

        fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
            let found = unit.graph().nodes.iter().any(|node| unit.program[*node].op == "Relu");
            let message = "there is a Relu".to_owned();
            if found { Err(BuildError::Pass { pass: "no_relu".into(), message }) } else { Ok(()) }
        }
    }
    let before = Compiler::new().with_pass_before("type_solver", Refuses).compile(relu());
    assert!(matches!(before.err(), Some(BuildError::Pass { .. })));
    let lowered = Of("m", |g: &mut Graph| {
        let x = g.input("x");
        let compute = g.backend("compute");
        g.output("y", &compute.relu(&x));
    });
    let compiler = Compiler::new().bind_backend::<F32>("compute").with_pass_after("lower", Refuses);
    let artifact = compiler.compile(lowered).expect("it was lowered before");
    let names: Vec<_> = artifact.report.passes.iter().map(String::as_str).collect();
    let at = names.iter().position(|name| *name == "no_relu").expect("it ran");
    assert_eq!(names[at - 1], "lower");
}

#[test]
fn the_ir_is_printed_after_a_pass() {
    let artifact =
        Compiler::new().print_after("expand").print_after("stamp").compile(relu()).expect("it compiles");
    let [(expand, untyped), (stamp, typed)] = &artifact.report.printed[..] else {
        panic!("two prints were requested")
    };
    assert_eq!((expand.as_str(), stamp.as_str()), ("expand", "stamp"));
    assert!(
        untyped.contains("Relu")
            && !untyped.contains("f32")
            && typed.contains("float[N, 3]@\"ai.bytesandbrains.tensor.f32\" y"),
        "{untyped}{typed}"
    );
}

#[test]
fn compilation_can_stop_at_any_pass() {
    let stage = Compiler::new().compile_until(relu(), "type_solver").expect("it compiles so far");
    let Stage::Solved(solved) = stage else { panic!("the program is {}", stage.name()) };
    assert_eq!(solved.unit.type_of("y").and_then(ValueType::leaf), Some(&TYPE_TENSOR_F32));
    let stages = Compiler::pass_names()
        .into_iter()
        .map(|name| Compiler::new().compile_until(relu(), &name).expect("it compiles so far").name());
    let mut stages: Vec<_> = stages.collect();
    stages.dedup();
    assert_eq!(stages, ["parsed", "expanded", "solved", "lowered", "dispatched", "exported"]);
}

#[test]
fn every_value_is_stamped_also_in_branches_and_lowered_nodes() {
    let module = Of("m", |g: &mut Graph| {
        let (x, c) = (g.input("x"), g.input("c"));
        let compute = g.backend("compute");
        let y = g.if_(&c, |_| vec![compute.sigmoid(&x)], |_| vec![compute.neg(&x)]);
        let total = g.loop_(None, Some(&c), &[&y[0]], |g, _, again, carried| {
            let next = compute.tanh(&carried[0]);
            let _ = g;
            vec![again.clone(), next.clone(), next]
        });
        g.output("total", &total[0]);
        g.output("all", &total[1]);
    });
    let artifact = Compiler::new().bind_backend::<F64>("compute").compile(module).expect("it compiles");
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let mut open: Vec<&GraphProto> = vec![graph];
    let mut seen = 0;
    while let Some(graph) = open.pop() {
        let infos: Vec<_> = graph.input.iter().chain(&graph.output).chain(&graph.value_info).collect();
        for node in &graph.node {
            for output in &node.output {
                let info = infos.iter().find(|info| info.name() == output);
                let ty = info
                    .and_then(|info| info.r#type.as_ref())
                    .unwrap_or_else(|| panic!("{output} has no type"));
                assert!(ty.denotation.is_some() && ty.value.is_some(), "{output} has no stamp");
                seen += 1;
            }
            open.extend(node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()));
        }
    }
    assert!(seen > 10, "sigmoid and tanh are several primitives each");
}

#[test]
fn the_solver_replaces_abstract_types_by_the_storage_of_a_component() {
    let abstract_tensor = || TypeProto {
        value: Some(type_proto::Value::TensorType(type_proto::Tensor::default())),
        ..TypeProto::default()
    };
    let module = || {
        Of("m", move |g: &mut Graph| {
            let x = g.input("x").of(abstract_tensor());
            let far = x.abs().of(abstract_tensor()).relu();
            g.output("y", g.backend("compute").neg(&far));
        })
    };
    let compiler = Compiler::new().bind_backend::<F64>("compute");
    let artifact = compiler.compile(module()).expect("it compiles");
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    for value in graph.input.iter().chain(&graph.value_info).chain(&graph.output) {
        assert_eq!(artifact.type_of(value.name()), Some("tensor.f64"), "{}", value.name);
    }
    let without =
        compiler.without_pass("refine_polymorphic_value_info").compile(module()).expect("it compiles");
    assert_eq!(without.model(), artifact.model());
}

#[test]
fn operators_on_a_slot_are_stamped_with_contract_slot_and_dispatch() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x");
        let compute = g.backend("compute");
        g.output("y", &compute.gelu(&compute.neg(&x), GeluAttrs::default()));
    });
    let compiler = Compiler::new().bind_backend::<ByExecution<WithGelu>>("compute");
    let artifact = compiler.compile(module).expect("the backend has Gelu");
    let dispatch = artifact.dispatch();
    let methods: Vec<_> = dispatch.iter().map(|it| (&*it.operator, &*it.method)).collect();
    assert_eq!(methods, [("Neg", "neg"), ("Gelu", "execute")]);
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let stamp = |key: &str| {
        let entry = graph.node[0].metadata_props.iter().find(|entry| entry.key() == key);
        entry.map(|entry| entry.value().to_owned())
    };
    assert_eq!(stamp("ai.bytesandbrains.required_trait").as_deref(), Some("Backend"));
    assert_eq!(stamp("ai.bytesandbrains.slot_id").as_deref(), Some("compute"));
    assert_eq!(stamp("ai.bytesandbrains.dispatch").as_deref(), Some("compute.neg"));

    let determinant = Of("m", |g: &mut Graph| {
        let (x, compute) = (g.input("x"), g.backend("compute"));
        g.output("y", &compute.det(&x));
    });
    let error = Compiler::new().bind_backend::<F32>("compute").compile(determinant).err();
    assert!(matches!(error, Some(BuildError::NotDispatchable { .. })), "{error:?}");
}

#[test]
fn permissive_mode_keeps_unresolved_types() {
    let module = || {
        Of("m", |g: &mut Graph| {
            let x = g.input("x");
            let compute = g.backend("compute");
            g.output("y", &compute.neg(&x));
            g.output("z", &g.input("w").of(&TYPE_TENSOR_F32).relu());
        })
    };
    let artifact = Compiler::new().with_permissive_types().compile(module()).expect("it compiles");
    assert_eq!(artifact.type_of("y"), None);
    assert_eq!(artifact.type_of("z"), Some("tensor.f32"), "resolved types are stamped");
}

#[test]
fn modules_that_are_called_are_typed_for_each_call() {
    let module = Of("outer", |g: &mut Graph| {
        let double = Of("twice", |h: &mut Graph| {
            let x = h.input("x");
            h.output("y", &(&x + &x));
        });
        let a = g.input("a").of(&TYPE_TENSOR_F32);
        let b = g.input("b").of("int64[4]");
        let (p, q) = (g.call(&double, &[&a]), g.call(&double, &[&b]));
        g.output("p", &p[0]);
        g.output("q", &q[0]);
    });
    let artifact = Compiler::new().compile(module).expect("it compiles");
    assert_eq!(artifact.type_of("p"), Some("tensor.f32"));
    assert_eq!(artifact.type_of("q"), Some("tensor.i64"));
}

#[test]
fn bundles_keep_the_types_of_their_children() {
    let module = Of("m", |g: &mut Graph| {
        let a = g.input("a").of(&TYPE_TENSOR_F32);
        let who = g.input("who").of("peer_id");
        let both = g.bundle(&[("value", &a), ("who", &who)]);
        let parts = g.unbundle(&both, &["who", "value"]);
        g.output("from", &parts[0]);
        g.output("y", &parts[1].relu());
        g.output("both", &both);
    });
    let artifact = Compiler::new().compile(module).expect("it compiles");
    let types = ["from", "y", "both"].map(|value| artifact.type_of(value));
    assert_eq!(types, [Some("peer_id"), Some("tensor.f32"), Some("composite")]);
}

#[test]
fn an_onnx_model_goes_through_the_same_passes() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        main (float[N, 3] x, float[3, 4] w) => (y) { h = own.twice(x) y = MatMul(h, w) }
        <domain: "own", opset_import: ["" : 21]> twice (a) => (b) { b = Add(a, a) }"#;
    let model = typeloom_onnx::text::parse_model(text).expect("the text is a model");
    let artifact = Compiler::new().compile(model.clone()).expect("it compiles");
    assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
    assert!(
        artifact.to_text().contains("float[N, 4]@\"ai.bytesandbrains.tensor.f32\" y"),
        "{}",
        artifact.to_text()
    );
    let same = Compiler::new().compile(&model.encode_to_vec()[..]).expect("its bytes compile as well");
    assert_eq!(same.model(), artifact.model());
}

#[test]
fn compiling_twice_gives_the_same_bytes() {
    let bytes = || {
        let artifact = Compiler::new().compile(relu()).expect("it compiles");
        artifact.to_bytes().expect("it can be written")
    };
    assert_eq!(bytes(), bytes());
}

/// The types of the inputs and outputs of a compiled module.
fn signature(coercion: Coercion, body: impl Fn(&mut Graph)) -> Result<String, String> {
    let compiled = Compiler::new().with_coercion(coercion).compile(Of("m", body));
    let graph = compiled.map_err(|error| error.to_string())?.model().graph.clone().unwrap_or_default();
    let show = |infos: &[ValueInfoProto]| {
        let ty = |info: &ValueInfoProto| Some(ValueType::from_message(info.r#type.as_ref()?).to_string());
        infos.iter().filter_map(ty).collect::<Vec<_>>().join(", ")
    };
    Ok(format!("({}) => ({})", show(&graph.input), show(&graph.output)))
}

#[test]
fn declared_parameters_of_a_called_module_belong_to_the_call() {
    let narrow = Of("narrow", |g: &mut Graph| {
        let (x, y) = (g.input("x").of("float[N]"), g.input("y").of("float[N, K]"));
        g.output("sum", &y.add(&x.unsqueeze(&g.ints(&[1]))));
    });
    // Different extents, known and symbolic ones, in the calls of one module.
    let text = signature(Coercion::Never, |g| {
        let (a, b) = (g.input("a").of("float[2]"), g.input("b").of("float[2, 4]"));
        let (c, d) = (g.input("c").of("float[M]"), g.input("d").of("float[M, 4]"));
        g.output("r", &g.call(&narrow, &[&a, &b])[0]);
        g.output("s", &g.call(&narrow, &[&c, &d])[0]);
    });
    assert_eq!(text.unwrap(), "(float[2], float[2, 4], float[M], float[M, 4]) => (float[2, 4], float[M, 4])");
    // Parameters declare undeclared inputs, with symbols of each call.
    let text = signature(Coercion::Never, |g| {
        g.output("r", &g.call(&narrow, &[&g.input("a"), &g.input("b")])[0]);
        g.output("s", &g.call(&narrow, &[&g.input("c"), &g.input("d")])[0]);
    });
    let expected = "(float[N], float[N, K], float[N_2], float[N_2, K_2]) => (float[N, K], float[N_2, K_2])";
    assert_eq!(text.unwrap(), expected);
    // A cast for a call does not change the argument for other nodes.
    let wide = |g: &mut Graph| {
        let (x, y) = (g.input("x").of("double[3]"), g.input("y").of("float[3, 1]"));
        let computed = x.abs();
        g.output("r", &g.call(&narrow, &[&computed, &y])[0]);
        g.output("s", &g.call(&narrow, &[&x, &y])[0]);
        g.output("t", &computed);
    };
    let text = signature(Coercion::AsDeclared, wide);
    let expected = "(double[3], float[3, 1]) => (float[3, 1], float[3, 1], double[3])";
    assert_eq!(text.unwrap(), expected);
    let error = signature(Coercion::Never, wide).unwrap_err();
    assert!(error.contains("float") && error.contains("double"), "{error}");
}

#[test]
fn a_graph_that_a_function_uses_twice_is_copied_twice() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        main (float[N] x, bool c) => (y) {
            y = own.either <branch = b () => (float[N] z) { h = Abs(x) z = Neg(h) }> (c)
        }
        <domain: "own", opset_import: ["" : 21]>
        either <branch> (c) => (y) {
            y = If (c) <then_branch: graph = @branch, else_branch: graph = @branch>
        }"#;
    let model = typeloom_onnx::text::parse_model(text).expect("the text is a model");
    let artifact = Compiler::new().compile(model).expect("it compiles");
    assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
    let program = &artifact.program;
    let branches = program.graphs_in(program.main());
    let [_, first, second] = branches[..] else { panic!("there are two branches: {branches:?}") };
    for graph in [first, second] {
        let inner = program[graph].nodes.iter().flat_map(|node| program[*node].outputs.iter().flatten());
        let types: Vec<_> =
            inner.map(|value| (program[*value].graph, artifact.facts.types.leaf(*value))).collect();
        assert_eq!(types, [(graph, Some(&TYPE_TENSOR_F32)); 2]);
    }
}
