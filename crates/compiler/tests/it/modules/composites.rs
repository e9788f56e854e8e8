//! Types of bundles, from the children through sends to the unbundled values.

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_interface::recorded::Recorded;
use typeloom_module::graph::Graph;
use typeloom_module::module::imports::Imported;
use typeloom_onnx::messages::TypeProto;
use typeloom_tensor::value_type::ValueType;

use super::components::Of;

fn compiled(body: impl Fn(&mut Graph)) -> Artifact {
    match Compiler::new().compile(Of("m", body)) {
        Ok(artifact) => artifact,
        Err(error) => panic!("{error}"),
    }
}

fn error(body: impl Fn(&mut Graph)) -> String {
    Compiler::new().compile(Of("m", body)).expect_err("it has a type error").to_string()
}

/// The stamp of a port.
fn port(artifact: &Artifact, name: &str) -> String {
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
    let mut types = infos.filter(|info| info.name() == name).filter_map(|info| info.r#type.as_ref());
    types.next().map_or_else(String::new, |ty: &TypeProto| ValueType::from_message(ty).to_string())
}

/// Sends a nested bundle and unbundles it at the other side.
fn sent(g: &mut Graph, of: &'static str) {
    let (x, n) = (g.input("x").of("float[N]"), g.input("n").of("scalar.i32"));
    let peers = g.input("peers").of("peer_id_vec");
    let inner = g.bundle(&[("b", &n), ("a", &x)]);
    let both = g.bundle(&[("peers", &peers), ("inner", &inner)]);
    let (there, _) = g.send(&both, &peers);
    let inner = g.unbundle(&there, &["inner"]).remove(0);
    let parts = g.unbundle(&inner, &["b", "a"]);
    g.output("y", &parts[1].clone().of(of));
    g.output("n2", &parts[0]);
    g.output("both", &both);
    g.output("there", &there);
}

#[test]
fn the_type_of_a_bundle_flows_through_a_send() {
    let artifact = compiled(|g| sent(g, "float[]"));
    let both = "composite{inner: composite{a: float[N], b: scalar.i32}, peers: peer_id_vec}";
    for (name, ty) in [("both", both), ("there", both), ("n2", "scalar.i32")] {
        assert_eq!(port(&artifact, name), ty, "{name}");
    }
    let undeclared = compiled(|g| {
        let x = g.input("x").of("float[N]");
        let (there, _) = g.send(&g.bundle(&[("x", &x)]), &g.input("peers").of("peer_id_vec"));
        g.output("y", &g.unbundle(&there, &["x"])[0]);
    });
    assert_eq!(port(&undeclared, "y"), "float[N]");
}

#[test]
fn a_child_that_is_declared_as_another_type_is_an_error_with_its_name_and_both_types() {
    let text = error(|g| sent(g, "int64[]"));
    for part in ["child `a`", "float", "int64"] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    let whole = error(|g| {
        let x = g.input("x").of("float[N]");
        g.output("y", &g.bundle(&[("x", &x)]).of("composite{x: int64[N]}"));
    });
    for part in ["`x`", "float[N]", "int64"] {
        assert!(whole.contains(part), "{part} is missing: {whole}");
    }
}

#[test]
fn a_child_that_the_bundle_does_not_have_is_an_error_with_the_known_names() {
    let text = error(|g| {
        let x = g.input("x").of("float[N]");
        let (there, _) = g.send(&g.bundle(&[("x", &x), ("y", &x)]), &g.input("peers").of("peer_id_vec"));
        g.output("z", &g.unbundle(&there, &["z"])[0]);
    });
    assert!(text.contains("the bundle has no child `z`; it has x, y"), "{text}");
}

#[test]
fn a_bundle_from_outside_has_the_declared_children_or_those_that_are_read() {
    let declared = compiled(|g| {
        let both = g.input("both").of("composite{a: float[N], \"b c\": peer_id}");
        let parts = g.unbundle(&both, &["a"]);
        g.output("y", &parts[0]);
    });
    assert_eq!(port(&declared, "both"), "composite{a: float[N], \"b c\": peer_id}");
    assert_eq!(port(&declared, "y"), "float[N]");
    let read = compiled(|g| {
        let both = g.input("both").of("composite");
        let parts = g.unbundle(&both, &["a", "b"]);
        g.output("y", &parts[0].clone().of("float[2]"));
        g.output("z", &parts[1].clone().of("peer_id"));
    });
    assert_eq!(port(&read, "both"), "composite{a: float[...], b: peer_id, ..}");
    let unknown = error(|g| {
        let both = g.input("both").of("composite");
        g.output("y", &g.unbundle(&both, &["a"])[0]);
    });
    assert!(unknown.contains("nothing determines the type"), "{unknown}");
}

#[test]
fn children_are_a_part_of_the_digest_of_an_artifact() {
    let of = |ty: &'static str| {
        let artifact = compiled(move |g| {
            let both = g.input("both").of(ty);
            g.output("y", &g.unbundle(&both, &["a"])[0].clone().of("float[N]"));
        });
        let file = artifact.to_bytes().expect("it has bytes");
        Recorded::read(&file).expect("the record is valid").expect("it has a record").main.digest
    };
    let types =
        ["composite{a: float[N], b: int64}", "composite{a: float[N], b: int32}", "composite{a: float[N]}"];
    let digests = types.map(of);
    assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
    assert_eq!(digests[0], of("composite{b: int64, a: float[M]}"));
}

#[test]
fn bundles_of_bundles_are_bounded() {
    let text = error(|g| {
        let mut value = g.input("x").of("float");
        for _ in 0..20 {
            value = g.bundle(&[("a", &value), ("b", &value)]);
        }
        g.output("y", &value);
    });
    assert!(text.contains("a bundle holds at most 4096 values"), "{text}");
}

#[test]
fn shapes_of_children_pass_through_functions_that_are_not_inlined() {
    // The function imports another version of ONNX's operators, so it is kept.
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1, "ai.bytesandbrains.composite" : 1]>
        main (float[N, 3] x, float[M] z) => (y, v) {
            inner = ai.bytesandbrains.composite.Bundle <keys = ["i"]> (x)
            b = ai.bytesandbrains.composite.Bundle <keys = ["a", "z"]> (inner, z)
            c = own.rewrap(b)
            k, w = ai.bytesandbrains.composite.Unbundle <keys = ["a", "z"]> (c)
            y = ai.bytesandbrains.composite.Unbundle <keys = ["i"]> (k)
            other = ai.bytesandbrains.composite.Bundle <keys = ["a", "z"]> (inner, w)
            v = own.rewrap(other)
        }
        <domain: "own", opset_import: ["" : 17, "ai.bytesandbrains.composite" : 1]> rewrap (b) => (c) {
            a, z = ai.bytesandbrains.composite.Unbundle <keys = ["a", "z"]> (b)
            i = ai.bytesandbrains.composite.Unbundle <keys = ["i"]> (a)
            n = Transpose (i)
            inner = ai.bytesandbrains.composite.Bundle <keys = ["i"]> (n)
            both = Concat <axis = 0> (z, z)
            c = ai.bytesandbrains.composite.Bundle <keys = ["a", "z"]> (inner, both)
        }"#;
    let model = typeloom_onnx::text::parse_model(text).expect("the text is a model");
    let artifact = Compiler::new().compile(model).unwrap_or_else(|error| panic!("{error}"));
    assert!(artifact.to_text().contains("rewrap"), "{}", artifact.to_text());
    assert_eq!(port(&artifact, "y"), "float[3, N]");
    assert_eq!(port(&artifact, "v"), "composite{a: composite{i: float[3, N]}, z: float[4*M]}");
}

#[test]
fn shapes_of_children_are_those_of_an_imported_signature() {
    let exported = compiled(|g| {
        let both = g.input("both").of("composite{a: float[N, 2], deep: composite{k: int64[3]}}");
        let a = g.unbundle(&both, &["a"]).remove(0);
        g.output("out", &g.bundle(&[("rows", &a.transpose(Default::default())), ("both", &both)]));
    });
    let imported = Imported::new(&exported.interface).expect("it has an interface");
    let call = |g: &Graph, rows: &'static str, k: &'static str| {
        let (x, k) = (g.input("x").of(rows), g.input("k").of(k));
        let both = g.bundle(&[("a", &x), ("deep", &g.bundle(&[("k", &k)]))]);
        let out = g.call_import(&imported, "m", &[&both]).remove(0);
        g.output("y", &g.unbundle(&out, &["rows"])[0]);
        g.output("out", &out);
    };
    let artifact = compiled(|g| call(g, "float[B, 2]", "int64[3]"));
    assert_eq!(port(&artifact, "y"), "float[2, B]");
    let both = "composite{a: float[B, 2], deep: composite{k: int64[3]}}";
    assert_eq!(port(&artifact, "out"), format!("composite{{both: {both}, rows: float[2, B]}}"));
    for (rows, k, child) in [("float[B, 3]", "int64[3]", "a"), ("float[B, 2]", "int64[4]", "k")] {
        let text = error(|g| call(g, rows, k));
        for part in ["argument 1 (`both`)".to_owned(), format!("the shape of child `{child}`")] {
            assert!(text.contains(&part), "{part} is missing: {text}");
        }
    }
}

#[test]
fn a_branch_or_loop_that_returns_a_bundle_is_an_error_with_an_alternative() {
    let branch = error(|g| {
        let (x, yes) = (g.input("x").of("float[N]"), g.input("yes").of("bool"));
        let both = g.if_(&yes, |g| vec![g.bundle(&[("x", &x)])], |g| vec![g.bundle(&[("x", &x.neg())])]);
        g.output("y", &both[0]);
    });
    let looped = error(|g| {
        let x = g.input("x").of("float[N]");
        let both = g.bundle(&[("x", &x)]);
        let state = g.loop_(Some(&g.input("n").of("int64")), None, &[&both], |_, _, condition, state| {
            vec![condition.clone(), state[0].clone()]
        });
        g.output("y", &g.unbundle(&state[0], &["x"])[0]);
    });
    let scanned = error(|g| {
        let x = g.input("x").of("float[N, 2]");
        let out = g.scan(&[], &[&x], |g, _, slices| vec![g.bundle(&[("x", &slices[0])])]);
        g.output("y", &out[0]);
    });
    assert!(branch.contains("return the values of the bundle, and bundle the results of `If`"), "{branch}");
    assert!(looped.contains("unbundle the values that `Loop` computes with"), "{looped}");
    assert!(
        scanned.contains("return the values of the bundle, and bundle the results of `Scan`"),
        "{scanned}"
    );
}
