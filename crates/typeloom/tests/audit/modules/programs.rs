//! The compiler: bindings, stamps, passes, casts, artifacts, public functions, the C header.

use typeloom as bb;
use typeloom::half::bf16;
use typeloom::interface::{Recorded, c_header};
use typeloom::module::passes::{Pass, Unit};
use typeloom::module::{
    Artifact, Bindings, Coercion, Compiler, Graph, Imported, Module, OperatorMethods as _,
};
use typeloom::onnx::{NodeProto, model_from_text};
use typeloom::run::components::{Exact, FederatedAverage, Int8};
use typeloom::run::{Components, Cpu, Datum, Executor, Verify};
use typeloom::types::AnyTensor;

use super::support::{Body, Outcome, named, run};

fn metadata<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    node.metadata_props.iter().find_map(|entry| (entry.key() == key).then(|| entry.value()))
}

const TRAIT: &str = "ai.bytesandbrains.required_trait";
const SLOT: &str = "ai.bytesandbrains.slot_id";
const DISPATCH: &str = "ai.bytesandbrains.dispatch";

fn mixed(g: &mut Graph) {
    let (x, ids) = (g.input("x").of("float[K, 2]"), g.input("ids"));
    let near = g.index("near");
    near.add(&ids, &x);
    let scaled = g.backend("compute").mul(&x, &x);
    let (found, distances) = near.search(&scaled, 4);
    g.output("found", found);
    g.output("distances", &distances);
    g.output("bits", g.codec("packing").encode(&g.backend("compute").exp(&distances)));
}

fn mixed_compiler() -> Compiler {
    Compiler::new()
        .bind_backend::<Cpu>("compute")
        .bind_index::<Exact<Cpu, [f32]>>("near")
        .bind_codec::<Int8<[f32]>>("packing")
}

/// Every value has a denotation; every node on a slot has its trait, its slot and `slot.method`.
#[test]
fn every_value_and_every_node_on_a_slot_is_stamped() -> Outcome {
    let artifact = mixed_compiler().compile(Body("mixed", mixed))?;
    let graph = artifact.model().graph.as_ref().ok_or("a graph")?;
    for name in graph.node.iter().flat_map(|node| &node.output).filter(|name| !name.is_empty()) {
        let infos = graph.value_info.iter().chain(&graph.output);
        let ty = infos.filter(|info| info.name() == name).find_map(|info| info.r#type.as_ref());
        let denotation = ty.ok_or("no type")?.denotation.as_str();
        assert!(
            bb::lookup_denotation(denotation).is_some_and(bb::TypeNode::is_concrete),
            "{name}: {denotation}"
        );
    }
    let stamps = |op: &str| {
        let node = graph.node.iter().find(|node| node.op_type() == op);
        node.map(|node| [TRAIT, SLOT, DISPATCH].map(|key| metadata(node, key).unwrap_or_default()))
    };
    assert_eq!(stamps("Add"), Some(["Index", "near", "near.add"]));
    assert_eq!(stamps("Search"), Some(["Index", "near", "near.search"]));
    assert_eq!(stamps("Mul"), Some(["Backend", "compute", "compute.mul"]));
    assert_eq!(stamps("Encode"), Some(["Codec", "packing", "packing.encode"]));
    let dispatch = artifact.dispatch();
    let table: Vec<_> = dispatch.iter().map(|it| (&*it.slot, &*it.method)).collect();
    assert_eq!(
        table,
        [("near", "add"), ("compute", "mul"), ("near", "search"), ("compute", "exp"), ("packing", "encode")]
    );
    assert_eq!(artifact.type_of("ids"), Some("tensor.u64"));
    Ok(())
}

/// Strict by default; permissive on request. The errors are the published variants.
#[test]
fn unresolved_and_contradicting_types_are_published_errors() {
    let open = || Body("open", |g| g.output("y", g.input("x").transpose(Default::default())));
    let strict = Compiler::new().compile(open()).expect_err("`x` has no type");
    assert!(matches!(strict, bb::BuildError::UnresolvedType(_)), "{strict}");
    assert!(strict.to_string().contains('x'), "{strict}");
    assert!(Compiler::new().with_permissive_types().compile(open()).is_ok());
    let wrong = Compiler::new().compile(Body("wrong", |g| {
        g.output("y", g.input("left").of("uint8[2]").add(&g.input("right").of("int16[2]")));
    }));
    let wrong = wrong.expect_err("two element types");
    assert!(matches!(wrong, bb::BuildError::TypeConstraintFailed(_)));
    let text = wrong.to_string();
    assert!(["left", "right", "uint8", "int16", "Add"].iter().all(|name| text.contains(name)), "{text}");
}

/// `Never` refuses, `Lossless` inserts casts that keep values, `AsDeclared` all; casts are nodes with `from`
/// and `to`.
#[test]
fn coercions_are_visible_nodes_by_policy() -> Outcome {
    let narrowing = || {
        Body("narrowing", |g| {
            let (x, w) = (g.input("x").of("double[2]"), g.input("w").of("float[2]"));
            g.output("y", x.abs().of("float[2]").mul(&w));
        })
    };
    let widening = || {
        Body("widening", |g| {
            let (x, w) = (g.input("x").of("int8[2]"), g.input("w").of("int32[2]"));
            g.output("y", x.neg().of("int32[2]").mul(&w));
        })
    };
    let with = |policy| Compiler::new().with_coercion(policy);
    assert!(
        Compiler::new().compile(narrowing()).is_err() && with(Coercion::Never).compile(widening()).is_err()
    );
    assert!(matches!(with(Coercion::Lossless).compile(narrowing()), Err(bb::BuildError::LossyCast(_))));
    let cast_of = |artifact: &Artifact| -> Result<[String; 4], &'static str> {
        let nodes = artifact.model().graph.iter().flat_map(|graph| &graph.node);
        let cast = nodes.clone().find(|node| node.op_type() == "Cast").ok_or("no cast")?;
        let attribute = |name: &str| {
            let found = cast.attribute.iter().find(|attribute| attribute.name() == name);
            found.and_then(|it| it.s.as_ref()).map(|text| String::from_utf8_lossy(text).into_owned())
        };
        let [from, to] = ["from", "to"].map(|name| attribute(name).unwrap_or_default());
        Ok([cast.domain().to_owned(), cast.op_type().to_owned(), from, to])
    };
    let lossless = with(Coercion::Lossless).compile(widening())?;
    assert_eq!(cast_of(&lossless)?, ["ai.bytesandbrains.types", "Cast", "tensor.i8", "tensor.i32"]);
    let inputs = [("x", AnyTensor::from([-128_i8, 3]).into()), ("w", AnyTensor::from([2_i32, -2]).into())];
    let outcome = run(&lossless, inputs)?;
    // The negation of -128 is computed in 8 bits, before the cast.
    assert_eq!(outcome.get("y"), Some(&AnyTensor::from([-256_i32, 6]).into()));
    let lossy = with(Coercion::AsDeclared).compile(narrowing())?;
    assert_eq!(cast_of(&lossy)?, ["ai.bytesandbrains.types", "Cast", "tensor.f64", "tensor.f32"]);
    assert_eq!(lossy.report.casts.len(), 1);
    Ok(())
}

/// The published names of passes, in an order in which the IR can be printed after each.
#[test]
fn the_ir_is_printed_after_every_pass() -> Outcome {
    let names = Compiler::pass_names();
    let at =
        |name: &str| names.iter().position(|pass| pass == name).unwrap_or_else(|| panic!("no pass `{name}`"));
    let published = ["refine_polymorphic_value_info", "type_solver", "insert_cast_ops", "infer_peer_classes"];
    assert!(published.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{names:?}");
    let printing = names.iter().fold(mixed_compiler(), |compiler, name| compiler.print_after(name));
    let artifact = printing.compile(Body("mixed", mixed))?;
    let printed: Vec<&str> = artifact.report.printed.iter().map(|(pass, _)| pass.as_str()).collect();
    assert_eq!(printed, names);
    let text = |pass: &str| &artifact.report.printed[at(pass)].1;
    let stamp = "ai.bytesandbrains.tensor.u64";
    assert!(!text("bind_slots").contains(stamp) && text("stamp").contains(stamp), "{}", text("bind_slots"));
    for name in &names {
        assert!(mixed_compiler().compile_until(Body("mixed", mixed), name).is_ok(), "{name}");
    }
    assert!(matches!(
        mixed_compiler().print_after("no_pass").compile(Body("mixed", mixed)),
        Err(bb::BuildError::UnknownPass { .. })
    ));
    Ok(())
}

/// A pass of a user sees the stamps and can change the program, which the solver has typed; nodes with side
/// effects stay.
#[test]
fn a_pass_cannot_remove_a_node_with_side_effects() {
    struct RemoveFirst;

    impl Pass for RemoveFirst {
        fn name(&self) -> &str {
            "remove_first"
        }

        fn run(&self, unit: &mut Unit) -> Result<(), bb::BuildError> {
            unit.graph_mut().nodes.remove(0);
            Ok(())
        }
    }

    let compiler = mixed_compiler().with_pass_after("stamp", RemoveFirst);
    let error = compiler.compile(Body("mixed", mixed)).expect_err("`near.add` is stateful").to_string();
    assert!(error.contains("remove_first") && error.contains("side effects"), "{error}");
}

/// The executor runs the stamped method; a stamp that no method has is rejected, in memory and in a file.
#[test]
fn dispatch_follows_an_altered_stamp_or_rejects_it() -> Outcome {
    let components = Components::new().backend("compute", Cpu).backend("other", Cpu);
    let compiler = components.compiler();
    let artifact = compiler.compile(Body("sub", |g| {
        let (a, b) = (g.input("a").of("int64[2]"), g.input("b").of("int64[2]"));
        g.output("y", g.backend("compute").sub(&a, &b));
        g.output("z", g.backend("other").neg(&b));
    }))?;
    let inputs =
        || named([("a", AnyTensor::from([7_i64, 5]).into()), ("b", AnyTensor::from([2_i64, 3]).into())]);
    let with = |stamp: &str| -> Result<Datum, Box<dyn std::error::Error>> {
        let mut model = artifact.model().clone();
        let graph = model.graph.as_mut().ok_or("a graph")?;
        let node = graph.node.iter_mut().find(|node| node.op_type() == "Sub").ok_or("a node")?;
        let entry = node.metadata_props.iter_mut().find(|entry| entry.key() == DISPATCH).ok_or("a stamp")?;
        entry.value = stamp.into();
        let altered = artifact.clone().with_model(model)?;
        let in_memory = Executor::new(&altered, &components).map_err(|error| error.to_string());
        let loaded =
            Artifact::load(&altered.to_bytes()?, components.bindings()).map_err(|error| error.to_string());
        let from_file =
            loaded.and_then(|it| Executor::new(&it, &components).map_err(|error| error.to_string()));
        let results = [in_memory, from_file].map(|executor| {
            let outcome = executor?.run(inputs(), Verify::EveryValue).map_err(|error| error.to_string())?;
            outcome.get("y").cloned().ok_or_else(|| "no output".to_owned())
        });
        let [first, second] = results;
        assert_eq!(first.is_ok(), second.is_ok(), "{first:?} {second:?}");
        let (first, second) = (first?, second?);
        assert_eq!(first, second);
        Ok(first)
    };
    assert_eq!(with("compute.sub")?, AnyTensor::from([5_i64, 2]).into());
    assert_eq!(with("compute.mul")?, AnyTensor::from([14_i64, 15]).into());
    assert_eq!(with("compute.pow")?, AnyTensor::from([49_i64, 125]).into());
    for wrong in [
        "other.sub",
        "compute.nothing",
        "compute.",
        "sub",
        "",
        "compute.greater",
        "compute.matmul",
        "compute.reshape",
    ] {
        // A product of vectors is a scalar, and a comparison is no integer.
        assert!(with(wrong).is_err(), "{wrong}");
    }
    Ok(())
}

fn library(g: &mut Graph) {
    let x = g.input("x").of("bfloat16[N]");
    let hidden = g.call(&Body("hidden", |g| g.output("y", g.input("x").abs())), &[&x]).remove(0);
    g.output("y", &hidden);
    g.export(&Body("pair up", |g| {
        let (l, r) = (g.input("left").of("string[M]"), g.input("right").of("peer_id"));
        g.output("both", g.bundle(&[("l", &l), ("r", &r)]));
        g.output("mean", g.aggregator("mean").aggregate(None).of("float[3]"));
    }));
}

/// The export omits a private function; a change inside of it changes no digest; a call of it is an error.
#[test]
fn private_functions_are_not_exported() -> Outcome {
    let compiler = Compiler::new().bind_aggregator::<FederatedAverage<[f32]>>("mean");
    let artifact = compiler.compile(Body("library", library))?;
    let exports: Vec<&str> = artifact.interface.exports.keys().map(String::as_str).collect();
    assert_eq!(exports, ["library", "pair up"]);
    let text = format!("{:?}", artifact.interface);
    assert!(!text.contains("hidden"), "{text}");
    let inlined = Compiler::new().compile(Body("library", |g| {
        g.output("y", g.input("x").of("bfloat16[Z]").abs());
    }))?;
    assert_eq!(inlined.interface.exports["library"], artifact.interface.exports["library"]);
    let bytes = artifact.to_bytes()?;
    let components = Bindings::new().bind_aggregator::<FederatedAverage<[f32]>>("mean");
    let loaded = Artifact::load(&bytes, &components)?;
    assert_eq!(loaded.interface, artifact.interface);
    let nothing = Artifact::load(&bytes, &Bindings::new()).expect_err("the function has a slot").to_string();
    assert!(nothing.contains("mean"), "{nothing}");
    // The requirement of the function is recorded.
    let recorded = Recorded::read(&bytes)?.ok_or("the file was compiled")?;
    assert_eq!(recorded.slots.iter().map(|slot| slot.name.as_str()).collect::<Vec<_>>(), ["mean"]);

    struct Calls(Imported, &'static str);

    impl Module for Calls {
        fn name(&self) -> &str {
            "caller"
        }

        fn body(&self, g: &mut Graph) {
            let x = g.input("x").of("bfloat16[8]");
            g.output("y", g.call_import(&self.0, self.1, &[&x]).first().unwrap_or(&x));
        }
    }

    let imported = Imported::new(&loaded.interface)?;
    let caller = Compiler::new().compile(Calls(imported.clone(), "library"))?;
    let linked = Components::new().function("library", Executor::new(&inlined, &Components::new())?);
    let halves = AnyTensor::from([bf16::from_f32(-1.5); 8]);
    let outcome = Executor::new(&caller, &linked)?.run(named([("x", halves.into())]), Verify::EveryValue)?;
    assert_eq!(outcome.get("y"), Some(&AnyTensor::from([bf16::from_f32(1.5); 8]).into()));
    let error = Compiler::new().compile(Calls(imported, "hidden")).expect_err("it is private").to_string();
    assert!(error.contains("hidden") && error.contains("library"), "{error}");
    Ok(())
}

#[test]
fn names_of_functions_do_not_collide_with_other_exports() {
    for name in ["slot:compute", "part:self"] {
        let error = Compiler::new().compile(Body(name, |g| g.output("y", g.input("x").of("float"))));
        assert!(error.is_err(), "{name}");
    }
}

/// An argument error at an imported call names the wrong argument.
#[test]
fn an_imported_call_names_the_wrong_argument() -> Outcome {
    struct Caller(Imported);

    impl Module for Caller {
        fn name(&self) -> &str {
            "caller"
        }

        fn body(&self, g: &mut Graph) {
            let (a, b) = (g.input("a").of("float[4]"), g.input("b").of("int16[4]"));
            g.output("y", g.call_import(&self.0, "weigh", &[&a, &b]).remove(0));
        }
    }

    let weigh = Compiler::new().compile(Body("weigh", |g| {
        let (value, weight) = (g.input("value").of("float[N]"), g.input("weight").of("float[N]"));
        g.output("y", value.mul(&weight));
    }))?;
    let error =
        Compiler::new().compile(Caller(Imported::new(&weigh.interface)?)).expect_err("integers").to_string();
    assert!(error.contains("weight") && error.contains("`b`") && error.contains("int16"), "{error}");
    Ok(())
}

/// The header lists all public functions and parts with their ports, and the leaves of the type tree with
/// custom ones.
#[test]
fn a_header_lists_every_exported_function_with_its_ports() -> Outcome {
    let compiler = Compiler::new().bind_aggregator::<FederatedAverage<[f32]>>("mean");
    let file = compiler.compile(Body("library", library))?.to_bytes()?;
    let recorded = Recorded::read(&file)?.ok_or("the file was compiled")?;
    let functions: Vec<_> = recorded.exports().map(|it| (it.label.as_str(), &it.interface)).collect();
    let header = c_header("my lib", &functions)?;
    let digest = recorded.functions[0].digest.to_string();
    for line in [
        "#define MY_LIB_INPUT_X 0 /* `x`: bfloat16[N], bb_tensor_bf16_t */".to_owned(),
        "#define MY_LIB_PAIR_UP_FUNCTION \"pair up\"".to_owned(),
        format!("#define MY_LIB_PAIR_UP_DIGEST \"{digest}\""),
        "#define MY_LIB_PAIR_UP_INPUT_COUNT 2".to_owned(),
        "#define MY_LIB_PAIR_UP_INPUT_RIGHT 1 /* `right`: peer_id, bb_peer_id_t */".to_owned(),
        "#define MY_LIB_PAIR_UP_OUTPUT_MEAN 1 /* `mean`: float[3], bb_tensor_f32_t */".to_owned(),
        "typedef typeloom_bytes audit_sketch_t;".to_owned(),
        "#define AUDIT_NIBBLES_ID \"tensor.nibbles\"".to_owned(),
        "#define BB_TENSOR_U32_WIRE_HASH UINT64_C(0x10c)".to_owned(),
    ] {
        assert!(header.lines().any(|found| found == line), "`{line}` is missing");
    }
    assert!(!header.contains("hidden") && header.contains("MY_LIB_PAIR_UP_OUTPUT_BOTH 0"));
    Ok(())
}

/// An unmodified model compiles, also from text; an artifact is an ONNX model that others can read.
#[test]
fn a_model_compiles_and_an_artifact_is_a_model() -> Outcome {
    let model = model_from_text(
        r#"<ir_version: 10, opset_import: ["" : 21]> g (uint8[N, 4] x) => (y) { y = ReduceMax <keepdims = 0> (x) }"#,
    )?;
    let artifact = Compiler::new().compile(&model[..])?;
    let bytes = artifact.to_bytes()?;
    let mut checked = typeloom::check(&bytes, &Default::default())?;
    assert_eq!(checked.value("y").map(|value| value.to_string()).as_deref(), Some("y: uint8"));
    let not_compiled = Artifact::load(&model, &Bindings::new()).expect_err("it has no interface");
    assert!(matches!(not_compiled, typeloom::module::LoadError::NotAnArtifact(_)));
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        assert!(Artifact::load(&bytes[..cut], &Bindings::new()).is_err(), "{cut}");
    }
    Ok(())
}

/// Undeclared ports are resolved by their connections: forwards, backwards, and by the storage types of
/// components.
#[test]
fn ports_need_no_annotations() -> Outcome {
    let artifact = Compiler::new().bind_codec::<Int8<[f64]>>("packing").compile(Body("inferred", |g| {
        let (a, b) = (g.input("a"), g.input("b"));
        g.output("packed", g.codec("packing").encode(&a.mul(&b)));
        g.output("sent", g.send(&a, g.input("to")).1);
    }))?;
    assert_eq!(artifact.type_of("a"), Some("tensor.f64"));
    assert_eq!((artifact.type_of("b"), artifact.type_of("to")), (Some("tensor.f64"), Some("peer_id_vec")));
    Ok(())
}
