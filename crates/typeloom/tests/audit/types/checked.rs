//! Whole models: what is part of solving, and what diagnostics name.

use typeloom::check::{Code, Mode, Operators, Options, Seed, Severity, check, check_with};
use typeloom::onnx::{Message as _, ModelProto, model_from_text};

use super::{Outcome, checked, model, problems, type_of};

fn ty(graph: &str, value: &str) -> String {
    let operators = Operators::standard();
    checked(&operators, graph, |checked| assert!(checked.is_ok(), "{:?}", checked.diagnostics()));
    type_of(&operators, graph, value)
}

fn errors(graph: &str) -> Vec<String> {
    problems(&Operators::standard(), graph)
}

fn codes(graph: &str) -> Vec<Code> {
    checked(&Operators::standard(), graph, |checked| {
        checked.diagnostics().iter().map(|diagnostic| diagnostic.code).collect()
    })
}

/// `bytes` is never the type of an unknown value.
#[test]
fn an_unknown_value_is_an_error_and_not_bytes() {
    for graph in ["g (x) => (y) { y = Identity(x) }", "g (x) => (y) { y = Relu(x) }"] {
        assert_eq!(codes(graph), [Code::UnresolvedType]);
        checked(&Operators::standard(), graph, |checked| {
            let value = checked.value("y").expect("it has the value");
            assert!(!value.ty().is_concrete() && !value.to_string().contains("bytes"), "{value}");
        });
    }
}

#[test]
fn a_declared_output_determines_an_undeclared_input() {
    let chain = "g (x, w) => (bfloat16[2, 2] y) { h = Add(x, w)  k = Neg(h)  y = Abs(k) }";
    assert!(ty(chain, "x").starts_with("bfloat16"));
    assert!(ty(chain, "w").starts_with("bfloat16"));
}

#[test]
fn shapes_attributes_constants_and_optional_ports_take_part() {
    let cases = [
        (
            "g (float[N, 3, 8, 8] x, float[4, 3, 3, 3] w) => (y) { y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w) }",
            "float[N, 4, 4, 4]",
        ),
        ("g (float[2, N] x) => (y) { y = Transpose <perm = [1, 0]> (x) }", "float[N, 2]"),
        ("g (float[B, S] x) => (y) { s = Shape(x) y = ConstantOfShape(s) }", "float[B, S]"),
        (
            "g (float[B, 4] x) => (y) { n = Constant <value_ints = [0, 2, 2]> () y = Reshape(x, n) }",
            "float[B, 2, 2]",
        ),
        (
            "g (float[2, 3] a, float[2, 5] b, float[2, K] c) => (y) { y = Concat <axis = 1> (a, b, c) }",
            "float[2, K + 8]",
        ),
        ("g (float[9] x) => (c) { a, b, c = Split <num_outputs = 3> (x) }", "float[3]"),
        ("g (float[6] x, float hi) => (y) { y = Clip(x, , hi) }", "float[6]"),
        ("g (int8[6] x) => (y) { y = Cast <to = 11> (x) }", "double[6]"),
        ("g (float[N, 3] x) => (y) <int64[2] i = {0, 2}> { y = Gather <axis = 1> (x, i) }", "float[N, 2]"),
        ("g (float[N, 4] x) => (i) { v, i = TopK <axis = 1> (x, k) }", "int64[N, 3]"),
    ];
    for (graph, expected) in cases {
        let graph = if graph.contains("TopK") {
            graph.replace("=> (i)", "=> (i) <int64[1] k = {3}>")
        } else {
            graph.to_owned()
        };
        let value = if graph.contains("=> (c)") {
            "c"
        } else if graph.contains("=> (i)") {
            "i"
        } else {
            "y"
        };
        assert_eq!(ty(&graph, value), expected, "{graph}");
    }
    // An element type that ONNX does not declare for the operator.
    let found = errors("g (string[2] x) => (y) { y = Exp(x) }");
    assert!(found.len() == 1 && found[0].contains("string") && found[0].contains("`Exp`"), "{found:?}");
}

#[test]
fn constructors_of_types_are_solved() {
    assert_eq!(ty("g (float[N] x) => (y) { y = SequenceConstruct(x, x) }", "y"), "seq(float[N])");
    assert_eq!(ty("g (seq(int64[2]) s, int64 i) => (y) { y = SequenceAt(s, i) }", "y"), "int64[2]");
    assert_eq!(ty("g (float[2] x) => (y) { y = Optional(x) }", "y"), "optional(float[2])");
    let found = errors("g (seq(float[2]) s) => (y) { y = Relu(s) }");
    assert!(found.len() == 1 && found[0].contains("seq(float[2])"), "{found:?}");
}

/// An error names the operator, both values and both types; the rendered text the node and where each side
/// comes from.
#[test]
fn an_error_names_node_ports_values_types_and_causes() {
    let graph = "g (float[2] image, int64[2] mask) => (y) { [first] h = Relu(image)  [second] k = Identity(mask)  [third] y = Mul(h, k) }";
    let bytes = model(graph);
    let mut checked = check(&bytes, &Options { trace: true, ..Options::default() }).expect("it is a model");
    let diagnostics = checked.diagnostics();
    assert_eq!(diagnostics.len(), 1);
    let text = typeloom::check::render("audit.onnx", &diagnostics[0], typeloom::check::Color::Never);
    for part in ["`Mul`", "`h`", "`k`", "float", "int64", "third", "image", "mask"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let explanation = checked.explain("h").expect("it has the value");
    let reasons: Vec<&str> = explanation.reasons.iter().map(|reason| reason.text.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("image")), "{reasons:?}");
}

#[test]
fn independent_errors_are_listed_in_graph_order_every_time() {
    let graph = "g (float[2] a, int64[2] b, float[3] c, bool[2] d) => (u, v, w, z) {
        u = Add(a, b)  p = Relu(u)  v = Add(a, c)  q = Exp(v)  w = Sqrt(d)  z = Neg(a) }";
    let first = errors(graph);
    assert_eq!(first.len(), 3, "{first:?}");
    let order: Vec<usize> = ["`Add` needs one element type", "2 and", "`Sqrt`"]
        .iter()
        .filter_map(|part| first.iter().position(|text| text.contains(part)))
        .collect();
    assert!(order.is_sorted(), "{first:?}");
    assert!((0..5).all(|_| errors(graph) == first));
    // An error silences what depends on it and nothing else.
    assert_eq!(type_of(&Operators::standard(), graph, "z"), "float[2]");
}

#[test]
fn an_unknown_operator_makes_its_outputs_unknown_and_nothing_else() {
    let graph = "g (float[N] x) => (y, z) { h = com.example.audit.Nothing(x)  y = Relu(h)  z = Abs(x) }";
    assert_eq!(codes(graph), [Code::UnknownOperator]);
    assert_eq!(type_of(&Operators::standard(), graph, "z"), "float[N]");
    let bytes = model(graph);
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let mut checked = check(&bytes, &options).expect("it is a model");
    assert!(checked.is_ok());
    assert!(checked.diagnostics().iter().all(|diagnostic| diagnostic.severity != Severity::Error));
}

#[test]
fn a_declared_extent_is_verified() {
    assert_eq!(
        codes("g (float[N, 2] x) => (float[N, 3] y) { y = Relu(x) }"),
        [Code::DeclaredTypeContradiction]
    );
    // False for some bindings: those for which it holds are shown.
    let found = errors("g (float[N] x) => (float[8] y) { y = Concat <axis = 0> (x, x) }");
    assert!(found.len() == 1 && found[0].contains("`N`") && found[0].contains("only be 4"), "{found:?}");
    // Undecidable: the declared type is assumed, marked, and not proven for another value.
    let graph = "g (float[N] x) => (int64[1, 4] y) { y = NonZero(x) }";
    assert_eq!(codes(graph), [Code::AssumedType]);
    checked(&Operators::standard(), graph, |checked| {
        assert!(checked.is_ok() && checked.value("y").expect("it has the value").is_assumed());
    });
}

#[test]
fn nothing_unproved_is_written_into_a_model() -> Outcome {
    let bytes = model("g (float[N] x) => (y) { i = NonZero(x)  y = Abs(i) }");
    let mut checked = check(&bytes, &Options::default())?;
    let annotated = ModelProto::decode(&checked.annotated()?[..])?;
    let text = typeloom::onnx::model_to_text(&annotated);
    assert!(text.contains("int64[1, ?] i") || text.contains("int64[1,?] i"), "{text}");
    assert_eq!(typeloom::check::strip(&annotated.encode_to_vec())?.len(), bytes.len());
    Ok(())
}

#[test]
fn a_branch_has_the_types_of_both_outcomes() {
    let graph = "g (bool c, float[2] x, float[3] z) => (y) {
        y = If (c) <then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Abs(z) }> }";
    checked(&Operators::standard(), graph, |checked| {
        assert!(checked.is_ok());
        let y = checked.value("y").expect("it has the value");
        assert!(y.to_string().contains("2|3"), "{y}");
    });
    let found = errors(
        "g (bool c, float[2] x, int8[2] z) => (y) {
        y = If (c) <then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Abs(z) }> }",
    );
    assert!(found.len() == 1 && found[0].contains("float") && found[0].contains("int8"), "{found:?}");
}

#[test]
fn symbols_survive_and_expressions_are_read_and_written() {
    assert_eq!(
        ty("g (float[batch, seq] x) => (y) { y = Concat <axis = 1> (x, x) }", "y"),
        "float[batch, 2*seq]"
    );
    assert_eq!(ty("g (float[\"a*b\", c] x) => (y) { y = Transpose(x) }", "y"), "float[c, a*b]");
    let restricted = "g (float[seq, 4] x) => (y) <float[7, 4] w = {
        0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}> { y = Add(x, w) }";
    checked(&Operators::standard(), restricted, |checked| {
        let diagnostics = checked.diagnostics();
        let all: String = diagnostics.iter().map(|it| format!("{it} {:?}", it.notes)).collect();
        assert!(all.contains("seq") && all.contains('7') && all.contains("`w`"), "{all}");
    });
}

#[test]
fn seeds_and_assumptions_of_the_caller_count() -> Outcome {
    let bytes = model("g (x, w) => (y) { y = Add(x, w) }");
    let options = Options { seeds: vec![("y".into(), Seed::parse("float16[B, 2]")?)], ..Options::default() };
    let mut checked = check(&bytes, &options)?;
    assert!(checked.value("x").expect("it has the value").to_string().starts_with("x: float16"));
    Ok(())
}

/// An undecided equation between dims is a condition of the model, and neither symbol is renamed.
#[test]
fn undecided_equations_are_shown_and_symbols_stay_apart() {
    let graph = "g (float[2, N] x, float[M, 3] w) => (y, z) { y = MatMul(x, w)  z = Abs(x) }";
    checked(&Operators::standard(), graph, |checked| {
        let conditions = checked.preconditions().join(", ");
        assert!(conditions.contains('N') && conditions.contains('M'), "{conditions}");
    });
    assert_eq!(type_of(&Operators::standard(), graph, "z"), "float[2, N]");
}

/// The line of the program that an exporter recorded is part of the error.
#[test]
fn an_error_ends_at_a_line_of_the_exported_program() -> Outcome {
    let mut message = ModelProto::decode(&model("g (float[2] x, int64[2] w) => (y) { y = Add(x, w) }")[..])?;
    let trace = "File \"net.py\", line 41, in forward\n    return x + self.mask";
    let node = message.graph.as_mut().and_then(|graph| graph.node.first_mut()).expect("it has a node");
    node.metadata_props.push(Default::default());
    let entry = node.metadata_props.last_mut().expect("it was added");
    (entry.key, entry.value) = ("pkg.torch.onnx.stack_trace".into(), trace.into());
    let bytes = message.encode_to_vec();
    let mut checked = check(&bytes, &Options::default())?;
    let text = typeloom::check::render("net.onnx", &checked.diagnostics()[0], typeloom::check::Color::Never);
    assert!(text.contains("net.py") && text.contains("41") && text.contains("x + self.mask"), "{text}");
    Ok(())
}

/// A function is solved once for each types of its arguments, also inside other functions.
#[test]
fn functions_are_polymorphic() -> Outcome {
    let bytes = model_from_text(
        r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        g (float[N] x, int32[2, 2] z) => (y, w) { y = own.Outer(x)  w = own.Outer(z) }
        <domain: "own", opset_import: ["" : 21, "own" : 1]> Outer (a) => (b) { h = own.Inner(a)  b = own.Inner(h) }
        <domain: "own", opset_import: ["" : 21]> Inner (a) => (b) { b = Add(a, a) }"#,
    )?;
    let mut checked = check(&bytes, &Options::default())?;
    let diagnostics: Vec<String> = checked.diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(diagnostics, Vec::<String>::new());
    let mut text = |name: &str| checked.value(name).expect("it has the value").to_string();
    assert_eq!((text("y"), text("w")), ("y: float[N]".into(), "w: int32[2, 2]".into()));
    Ok(())
}

/// A function of ten calls of the function before it, thirty levels deep, has 10^30 nodes when it is
/// expanded.
#[test]
fn calls_of_functions_are_solved_once_for_each_type() -> Outcome {
    let mut text = String::from(
        r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1]> g (float[N] x) => (y) { y = own.F30(x) }
        <domain: "own", opset_import: ["" : 21]> F0 (a) => (b) { b = Relu(a) }"#,
    );
    for level in 1..=30 {
        let body: String = (0..10)
            .map(|at| format!("v{} = own.F{}(v{at}) ", at + 1, level - 1))
            .collect::<String>()
            .replace("(v0)", "(a)");
        text += &format!(
            r#"<domain: "own", opset_import: ["" : 21, "own" : 1]> F{level} (a) => (v10) {{ {body} }} "#
        );
    }
    let bytes = model_from_text(&text)?;
    let mut checked = check(&bytes, &Options::default())?;
    assert_eq!(checked.value("y").expect("it has the value").to_string(), "y: float[N]");
    assert!(checked.is_ok());
    Ok(())
}

/// No recursion over the depth of a graph: the test thread has a stack of 2 MiB.
#[test]
fn a_long_chain_needs_no_stack() -> Outcome {
    let nodes = 200_000;
    let chain: String = (0..nodes).map(|at| format!("v{} = Relu(v{at})\n", at + 1)).collect();
    let bytes = model(&format!("g (float[N] v0) => (v{nodes}) {{ {chain} }}"));
    let mut checked = check(&bytes, &Options::default())?;
    assert_eq!(checked.value(&format!("v{nodes}")).map(|it| it.ty().to_string()), Some("float[N]".into()));
    Ok(())
}

/// Malformed bytes end in an error with a location, never in a panic.
#[test]
fn damaged_files_are_errors() {
    let bytes = model("g (float[N, 2] x) => (y) { h = MatMul(x, w)  y = Relu(h) }");
    let operators = Operators::standard();
    for at in 0..bytes.len() {
        for change in [0x00, 0x7f, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = change;
            if let Ok(mut checked) = check_with(&damaged, &Options::default(), &operators) {
                assert!(checked.diagnostics().iter().all(|it| !it.message.is_empty()));
            }
            let _ = check(&bytes[..at], &Options::default());
        }
    }
}
