//! Artifacts in files, loaded with matching and other components.

use typeloom_compiler::artifact::{Artifact, LoadError};
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::unit::Coercion;
use typeloom_module::bindings::Bindings;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::module::imports::Imported;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, ModelProto, TypeProto};
use typeloom_onnx::prost::Message as _;
use typeloom_tensor::any_tensor::AnyTensor;

use super::components::{F32, F64, Flat, Of};

fn scores() -> Of<impl Fn(&mut Graph)> {
    Of("scores", |g: &mut Graph| {
        let query = g.input("query").of("float[N, 8]");
        let weights = g.input("weights").of("float[8, M]");
        let compute = g.backend("compute");
        let scores = compute.matmul(&query, &weights);
        let (ids, _) = g.index("near").search(&scores, 5);
        g.output("scores", &compute.relu(&scores));
        g.output("ids", &ids);
    })
}

fn components() -> Bindings {
    Bindings::new().bind_backend::<F32>("compute").bind_index::<Flat<[f32]>>("near")
}

fn file() -> Vec<u8> {
    let artifact = Compiler::new().with_bindings(components()).compile(scores()).expect("it compiles");
    artifact.to_bytes().expect("it can be written")
}

#[test]
fn an_artifact_is_loaded_as_it_was_saved() {
    let artifact = Compiler::new().with_bindings(components()).compile(scores()).expect("it compiles");
    let loaded =
        Artifact::load(&artifact.to_bytes().expect("it can be written"), &components()).expect("it loads");
    assert_eq!(loaded.model(), artifact.model());
    assert_eq!(loaded.dispatch(), artifact.dispatch());
    assert_eq!(loaded.interface, artifact.interface);
    assert_eq!(loaded.type_of("scores"), Some("tensor.f32"));
}

#[test]
fn components_of_another_storage_type_are_rejected_with_the_path() {
    let other = Bindings::new().bind_backend::<F64>("compute").bind_index::<Flat<[f32]>>("near");
    let error = Artifact::load(&file(), &other).expect_err("another storage");
    let LoadError::Component { slot, differences, .. } = &error else { panic!("{error}") };
    assert_eq!(slot, "compute");
    assert_eq!(differences.len(), 1);
    let text = error.to_string();
    assert!(text.contains("Tensor") && text.contains("tensor.f32") && text.contains("tensor.f64"), "{text}");
}

#[test]
fn a_component_of_another_role_or_none_is_rejected() {
    let other = Bindings::new().bind_index::<Flat<[f32]>>("compute").bind_index::<Flat<[f32]>>("near");
    assert!(matches!(Artifact::load(&file(), &other), Err(LoadError::Component { .. })));
    let none = Bindings::new().bind_backend::<F32>("compute");
    let error = Artifact::load(&file(), &none).expect_err("an index is missing");
    assert!(error.to_string().contains("`near`") && error.to_string().contains("nothing"), "{error}");
}

#[test]
fn a_program_that_differs_from_its_interface_is_rejected() {
    let mut model = ModelProto::decode(&file()[..]).expect("it is a model");
    let graph = model.graph.as_mut().expect("it has a graph");
    graph.output.pop();
    let error = Artifact::load(&model.encode_to_vec(), &components()).expect_err("an output is missing");
    assert!(
        matches!(&error, LoadError::InterfaceDiffers { differences } if differences.contains("ids")),
        "{error}"
    );
    let mut model = ModelProto::decode(&file()[..]).expect("it is a model");
    model.metadata_props.clear();
    let error = Artifact::load(&model.encode_to_vec(), &components()).err();
    assert!(matches!(error, Some(LoadError::NotAnArtifact(_))));
}

#[test]
fn broken_files_are_errors() {
    let file = file();
    for at in (0..file.len()).step_by(97) {
        let mut broken = file.clone();
        broken[at] ^= 0x55;
        // Any result is acceptable; the call must return.
        let _ = Artifact::load(&broken, &components());
        let _ = Artifact::load(&file[..at], &components());
    }
}

#[test]
fn the_interface_does_not_depend_on_inner_names() {
    let module = |extra: bool| {
        Of("m", move |g: &mut Graph| {
            let x = g.input("x").of("float[N]");
            let y = if extra { x.relu().identity().identity() } else { x.relu() };
            g.output("y", &y);
        })
    };
    let of = |extra| Compiler::new().compile(module(extra)).expect("it compiles").interface;
    assert_eq!(of(false), of(true));
}

fn imported() -> Imported {
    let module = Of("scorer", |g: &mut Graph| {
        let query = g.input("query").of("float[N, 8]");
        let weights = g.input("weights").of("float[8, M]");
        let bias = g.input("bias").of("float[M]");
        g.output("scores", &(&query.matmul(&weights) + &bias));
    });
    let interface = Compiler::new().compile(module).expect("it compiles").interface;
    Imported::new(&interface).expect("its interface can be imported")
}

fn caller(imported: Imported, x: &'static str, bias: &'static str) -> Of<impl Fn(&mut Graph)> {
    Of("caller", move |g: &mut Graph| {
        let (x, w) = (g.input("x").of(x), g.input("w").of("float[8, 5]"));
        let bias = g.input("bias").of(bias);
        let scores = g.call_import(&imported, "scorer", &[&x, &w, &bias]);
        g.output("y", &scores[0].relu());
    })
}

#[test]
fn an_imported_function_types_its_call_with_the_symbols_of_the_call() {
    let artifact =
        Compiler::new().compile(caller(imported(), "float[batch, 8]", "float[]")).expect("it compiles");
    assert!(
        artifact.to_text().contains("float[batch, 5]@\"ai.bytesandbrains.tensor.f32\" y"),
        "{}",
        artifact.to_text()
    );
}

#[test]
fn an_argument_of_another_type_is_rejected_with_both_sides() {
    let error = Compiler::new().compile(caller(imported(), "double[batch, 8]", "float[5]")).err();
    let text = error.expect("a double is no float").to_string();
    for part in ["argument 1 (`query`)", "tensor.f32", "tensor.f64", "interfaces.rs:"] {
        assert!(text.contains(part), "{text}");
    }
}

/// Each wrong argument of a call is named by its position and name: another element type, rank, extent or
/// leaf.
#[test]
fn a_wrong_argument_is_named() {
    let exported = Of("mixed", |g: &mut Graph| {
        let (x, n) = (g.input("an x").of("float[N, 4]"), g.input("n").of("int64[N]"));
        let (who, both) =
            (g.input("who").of("peer_id"), g.input("both").of("composite{a: float[4], s: scalar.i32}"));
        let a = g.unbundle(&both, &["a"]).remove(0);
        g.output("y", &(&x + &a));
        g.output("m", &n.neg());
        g.output("w", &g.bundle(&[("who", &who)]));
    });
    let interface = Compiler::new().compile(exported).expect("it compiles").interface;
    let imported = Imported::new(&interface).expect("it has an interface");
    let right = ["float[B, 4]", "int64[B]", "peer_id", "composite{a: float[4], s: scalar.i32}"];
    let names = ["an x", "n", "who", "both"];
    let call = |types: [&'static str; 4]| {
        let imported = imported.clone();
        Compiler::new().compile(Of("caller", move |g: &mut Graph| {
            let given = [0, 1, 2, 3].map(|at| g.input(&format!("i{at}")).of(types[at]));
            let results = g.call_import(&imported, "mixed", &given.each_ref());
            results.iter().enumerate().for_each(|(at, result)| g.output(&format!("o{at}"), result));
        }))
    };
    assert!(call(right).is_ok(), "{}", call(right).err().map_or_else(String::new, |error| error.to_string()));
    let wrong: [&[&str]; 4] = [
        &["double[B, 4]", "float[B]", "float[B, 5]", "peer_id", "composite{a: float[4]}", "scalar.f32"],
        &["int32[B]", "int64[B, 1]", "trigger", "seq(int64[B])"],
        &["peer_id_vec", "int64[B]", "composite{who: peer_id}"],
        &[
            "composite{a: float[5], s: scalar.i32}",
            "composite{a: double[4], s: scalar.i32}",
            "composite{a: float[4]}",
            "composite{a: float[4], s: scalar.i32, t: trigger}",
            "composite{a: float[4], s: peer_id}",
            "float[4]",
        ],
    ];
    for (at, wrong) in wrong.into_iter().enumerate() {
        for ty in wrong {
            let mut types = right;
            types[at] = ty;
            let error = call(types).err().unwrap_or_else(|| panic!("{ty} as argument {at}")).to_string();
            let expected = format!("argument {} (`{}`) of imported `", at + 1, names[at]);
            assert!(error.contains(&expected), "{ty}: no {expected} in {error}");
        }
    }
}

/// The error is that of the name, not of the results that the caller reads.
#[test]
fn an_import_of_an_unknown_function_is_one_error() {
    let imported = imported();
    let known: Vec<String> = imported.functions().map(str::to_owned).collect();
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[8]");
        g.output("y", g.call_import(&imported, "unknown", &[&x])[0].neg());
    });
    let Err(BuildError::Authoring(errors)) = Compiler::new().compile(module) else { panic!("it is unknown") };
    let [error] = &errors[..] else { panic!("{errors:?}") };
    let text = error.to_string();
    assert!(text.contains("exports no `unknown`") && text.contains(&known.join(", ")), "{text}");
}

#[test]
fn extents_that_are_equal_in_the_signature_are_equal_at_the_call() {
    let axis = Compiler::new().compile(caller(imported(), "float[batch, 9]", "float[5]")).err();
    assert!(axis.expect("9 is not 8").to_string().contains("import.signature"));
    let tied = Compiler::new().compile(caller(imported(), "float[batch, 8]", "float[6]")).err();
    let text = tied.expect("both are M").to_string();
    assert!(text.contains("import.signature") && text.contains("argument 3 (`bias`)"), "{text}");
}

#[test]
fn an_argument_is_cast_to_the_type_of_the_signature_if_allowed() {
    let module = caller(imported(), "float16[batch, 8]", "float[5]");
    let compiler = Compiler::new().with_coercion(Coercion::Lossless);
    let artifact = compiler.compile(module).expect("it is lossless");
    assert_eq!(artifact.report.casts.len(), 1);
    assert!(artifact.report.casts[0].reason.contains("imported"), "{}", artifact.report.casts[0]);
}

#[test]
fn a_call_of_an_unknown_export_is_an_authoring_error() {
    let module = Of("caller", |g: &mut Graph| {
        let x = g.input("x").of("float[2, 8]");
        let scores = g.call_import(&imported(), "score", &[&x]);
        g.output("y", scores.first().unwrap_or(&x));
    });
    let error = Compiler::new().compile(module).expect_err("there is no `score`");
    let text = error.to_string();
    assert!(text.contains("no `score`") && text.contains("scorer"), "{text}");
}

#[test]
fn real_models_compile_and_load() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut compiled = 0;
    for entry in std::fs::read_dir(folder).expect("the repository has models") {
        let path = entry.expect("the folder can be listed").path();
        if path.extension().is_none_or(|extension| extension != "onnx") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("the model can be read");
        // One of the models is ill-typed on purpose.
        let Ok(artifact) = Compiler::new().compile(&bytes[..]) else { continue };
        let file = artifact.to_bytes().expect("it can be written");
        let loaded = Artifact::load(&file, &Bindings::new());
        assert!(
            loaded.is_ok(),
            "{}: {}",
            path.display(),
            loaded.err().map_or_else(String::new, |e| e.to_string())
        );
        compiled += 1;
    }
    assert!(compiled >= 2, "only {compiled} models compiled");
}

#[test]
fn symbols_of_a_loop_body_are_not_stamped() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21]>
        g (float[N] x, int64 m, bool c) => (l, s) {
            l, s = Loop (m, c, x) <body = body (int64 i, bool k, float[P] p) => (bool k2, float[] q, float[] o) {
                k2 = Identity (k)
                q = Concat <axis = 0> (p, p)
                o = Relu (q)
            }>
        }"#;
    let model = typeloom_onnx::text::parse_model(text).expect("the text is a model");
    let artifact = Compiler::new().compile(model).expect("it compiles");
    let loaded = Artifact::load(&artifact.to_bytes().expect("it can be written"), &Bindings::new());
    assert!(loaded.is_ok(), "{}", loaded.err().map_or_else(String::new, |error| error.to_string()));
}

/// A model that calls an imported function of a sequence.
fn caller_of_sequence(argument: &str, param: &str, result: &str) -> ModelProto {
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 20, \"ai.bytesandbrains.import\": 1]>\n\
         m ({argument} x) => (y) {{ s = SequenceConstruct(x)  y = ai.bytesandbrains.import.Call(s) }}"
    );
    let mut model = typeloom_onnx::text::parse_model(&text).expect("the text is a model");
    let ty = |text: &str| typeloom_onnx::text::parse_type(text).expect("the text is a type");
    let attribute = |name: &str, ty: TypeProto| AttributeProto {
        name: name.into(),
        type_protos: vec![ty],
        r#type: Some(AttributeType::TypeProtos as i32),
        ..AttributeProto::default()
    };
    let call = &mut model.graph.as_mut().expect("it has a graph").node[1];
    call.attribute = vec![attribute("params", ty(param)), attribute("results", ty(result))];
    model
}

#[test]
fn an_imported_call_types_containers() {
    let model = caller_of_sequence("float[n]", "seq(float)", "seq(map(int64, float))");
    let artifact = Compiler::new().compile(model).expect("the function takes a sequence");
    let output = artifact.model().graph.as_ref().and_then(|graph| graph.output[0].r#type.clone());
    let shown = output.map(|ty| typeloom_onnx::text::print_type(&ty)).unwrap_or_default();
    assert!(shown.starts_with("seq(map(int64, "), "{shown}");
}

#[test]
fn an_imported_call_rejects_a_container_of_another_type() {
    let error = Compiler::new().compile(caller_of_sequence("int64[n]", "seq(float)", "seq(float)")).err();
    let Some(BuildError::TypeConstraintFailed(diagnostics)) = error else { panic!("{error:?}") };
    let text = BuildError::TypeConstraintFailed(diagnostics).to_string();
    assert!(text.contains("is seq(tensor.i64), but seq(tensor.f32) is needed"), "{text}");
}

/// A program with slots, lowered operators, casts, branches, bundles, sends and a public function.
fn everything() -> Of<impl Fn(&mut Graph)> {
    Of("everything", |g: &mut Graph| {
        let (x, exact) = (g.input("x").of("float[N, 8]"), g.input("exact").of("double[N, 8]"));
        let (flag, workers) = (g.input("flag").of("bool"), g.input("workers").of("peer_id_vec"));
        let compute = g.backend("compute");
        let sum = compute.sigmoid(&compute.add(&x, &exact));
        let chosen = g.if_(&flag, |g| vec![g.backend("compute").neg(&sum)], |_| vec![sum.abs()]);
        let both = g.bundle(&[("chosen", &chosen[0]), ("flag", &flag)]);
        let (sent, _) = g.send(&both, &workers);
        let parts = g.unbundle(&sent, &["chosen"]);
        let one = g.constant(&AnyTensor::from([1.0_f32]));
        let (back, _) = g.send(g.backend("there").add(&parts[0], &one), &g.receive(&sent).1);
        let (ids, _) = g.index("near").search(&back, 5);
        g.output("ids", &ids);
        g.net_out("seen", &back, &workers);
        g.export(&Of("twice", |h: &mut Graph| {
            let x = h.input("x").of("float[M]");
            h.output("y", h.backend("compute").add(&x, &x));
        }));
    })
}

/// `earlier.onnx` is the artifact of `everything` that the last version before programs with identities wrote.
#[test]
fn an_artifact_of_an_earlier_version_is_loaded() {
    let components = components().bind_backend::<F32>("there");
    let compiler = Compiler::new().with_coercion(Coercion::AsDeclared).with_bindings(components.clone());
    let artifact = compiler.compile(everything()).expect("it compiles");
    let earlier = Artifact::load(include_bytes!("../../data/earlier.onnx"), &components).expect("it loads");
    assert_eq!(earlier.interface, artifact.interface);
    assert_eq!(earlier.dispatch(), artifact.dispatch());
    // The entries of values are in another order.
    let lines = |text: String| {
        let mut lines: Vec<String> = text.lines().map(|line| line.trim_end_matches(',').to_owned()).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(earlier.to_text()), lines(artifact.to_text()));
    let written = artifact.to_bytes().expect("it can be written");
    let again = Artifact::load(&written, &components).expect("it loads");
    assert_eq!(again.model(), artifact.model());
    // An earlier artifact is written as it was read.
    let same =
        Artifact::load(&earlier.to_bytes().expect("it can be written"), &components).expect("it loads");
    assert_eq!(same.model(), earlier.model());
}
