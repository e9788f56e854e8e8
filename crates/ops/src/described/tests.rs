use std::collections::BTreeMap;

use prost::Message;
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::program::ValueId;
use typeloom_solver::solve_error::SolveErrorKind;
use typeloom_solver::universe::Universe;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};

use super::*;

/// The types of the values of a graph, and the rules that reject a node.
fn infer(operators: &Operators, graph: &str) -> (BTreeMap<String, String>, Vec<String>) {
    let text =
        format!("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1, \"own\" : 1]> {graph}");
    let bytes = typeloom_onnx::text::parse_model(&text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .encode_to_vec();
    let universe = Universe::standard().clone();
    let options = Options { mode: Mode::Strict, ..Options::default() };
    let mut checked = check(&bytes, operators, &universe, &options).unwrap();
    let errors = checked
        .errors()
        .iter()
        .filter(|error| error.is_error(Mode::Strict))
        .map(|error| match &error.kind {
            SolveErrorKind::Rule { rule, .. } => (*rule).to_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    let values: Vec<ValueId> = checked.body().values().collect();
    let types = values.into_iter().map(|value| {
        let name = checked.body().value_name(value).to_owned();
        (name, checked.display_type(value))
    });
    (types.collect(), errors)
}

/// The type of `y` in a valid graph.
fn y(operators: &Operators, graph: &str) -> String {
    let (mut types, errors) = infer(operators, graph);
    assert!(errors.is_empty(), "{graph}: {errors:?}");
    types.remove("y").unwrap()
}

fn described(op: &str) -> Result<Described, DescribeError> {
    Described::parse(&format!("typeloom-operators 1\ngroup f float float16\ndomain own 1\n{op}"))
}

fn own(op: &str) -> Operators {
    Operators::standard().with(described(op).unwrap())
}

fn error(op: &str) -> String {
    described(op).unwrap_err().to_string()
}

#[test]
fn the_embedded_text_is_in_the_format() {
    let described = Described::parse(Described::MICROSOFT).unwrap();
    assert_eq!(
        described.domains().collect::<Vec<_>>(),
        [("", 28), ("com.microsoft", 1), ("com.microsoft.nchwc", 1)]
    );
    assert!(described.names("com.microsoft").len() > 130);
}

#[test]
fn names_and_sums_and_products_are_solved_for() {
    let operators = own(
        "op Fold 1\n  type T tensor(f)\n  in x T\n  in w T\n  out y T\n  attr k int = 2\n  shape x [n, k * m + 1]\n  shape w [m, r...]\n  shape y [n + m, r...]",
    );
    assert_eq!(
        y(&operators, "g (float[N, 7] x, float[3, 4, 5] w) => (y) { y = own.Fold (x, w) }"),
        "float[N + 3, 4, 5]"
    );
    let wrong = "g (float[N, 7] x, float[4, 4, 5] w) => (y) { y = own.Fold (x, w) }";
    assert_eq!(infer(&operators, wrong).1, ["fold.shape"]);
}

#[test]
fn conditions_choose_between_clauses() {
    let operators = own(
        "op Pick 1\n  type T tensor(f)\n  in x T\n  in z T optional\n  out y T\n  attr mode string = \"a\"\n  shape x [n, m]\n  when mode = \"a\" and has(z): shape y [n]\n  when mode = \"a\" and not has(z): shape y [m]\n  when mode != \"a\": shape y [if(n > 2, n, m), any_of]\n  let any_of = min(n, 3)",
    );
    let y = |graph: &str| y(&operators, graph);
    assert_eq!(y("g (float[2, 5] x) => (y) { y = own.Pick (x) }"), "float[5]");
    assert_eq!(y("g (float[2, 5] x) => (y) { y = own.Pick (x, x) }"), "float[2]");
    assert_eq!(y("g (float[2, 5] x) => (y) { y = own.Pick <mode = \"b\"> (x) }"), "float[5, 2]");
    assert_eq!(y("g (float[4, 5] x) => (y) { y = own.Pick <mode = \"b\"> (x) }"), "float[4, 3]");
    assert_eq!(
        y("g (float[N, 5] x) => (y) { y = own.Pick <mode = \"b\"> (x) }"),
        "float[?, min(N, 3)]",
        "undecided"
    );
}

#[test]
fn values_ranks_axes_and_lists_are_accessible() {
    let operators = own(
        "op Ask 1\n  type T tensor(f)\n  in x T\n  in n tensor(int64)\n  out y T\n  attr list ints\n  shape x [r...]\n  shape y [value(n, 1), rank(x), axis(x, -1), size(r), list[0] % 4, _]",
    );
    let graph = "g (float[2, N] x) => (y) <int64[2] n = {7, 8}> { y = own.Ask <list = [6, 7]> (x, n) }";
    assert_eq!(y(&operators, graph), "float[8, 2, N, 2*N, 2, ?]");
}

#[test]
fn equal_names_must_be_equal_extents_and_requirements_must_hold() {
    let operators = own(
        "op Same 1\n  type T tensor(f)\n  in x T\n  in z T\n  out y T\n  shape x [n, m]\n  shape z [n, k]\n  require m = 2 * k\n  shape y [n]",
    );
    assert_eq!(y(&operators, "g (float[N, 4] x, float[N, 2] z) => (y) { y = own.Same (x, z) }"), "float[N]");
    for wrong in
        ["float[3, 4] x, float[2, 2] z", "float[3, 4] x, float[3, 3] z", "float[3, 4, 1] x, float[3, 2] z"]
    {
        let graph = format!("g ({wrong}) => (y) {{ y = own.Same (x, z) }}");
        assert_eq!(infer(&operators, &graph).1, ["same.shape"], "{wrong}");
    }
}

#[test]
fn an_error_in_one_place_leaves_the_rest_typed() {
    let operators = own(
        "op Two 1\n  type T tensor(f)\n  in x T\n  in z T\n  out y T\n  out v T\n  shape x [n]\n  shape z [2]\n  shape y [n]\n  shape v [n, n]",
    );
    let (types, errors) = infer(&operators, "g (float[5] x, float[3] z) => (y, v) { y, v = own.Two (x, z) }");
    assert_eq!(errors, ["two.shape"]);
    assert_eq!((&*types["y"], &*types["v"]), ("float[5]", "float[5, 5]"));
}

#[test]
fn a_parameter_can_have_several_shapes() {
    let operators = own(
        "op Scale 1\n  type T tensor(f)\n  in x T\n  in s T\n  out y T\n  shape x [m, n]\n  shape s [] or [1 or n] or [m, n, 1]\n  shape y [m, n]",
    );
    for scale in ["float", "float[1]", "float[4]", "float[3, 4, 1]", "float[...]", "float[K]"] {
        let (types, errors) =
            infer(&operators, &format!("g (float[3, 4] x, {scale} s) => (y) {{ y = own.Scale (x, s) }}"));
        assert!(errors.is_empty() && types["y"] == "float[3, 4]", "{scale}: {errors:?}");
    }
    for scale in ["float[2]", "float[4, 1]", "float[3, 4, 2]", "float[1, 1, 1, 1]"] {
        let (_, errors) =
            infer(&operators, &format!("g (float[3, 4] x, {scale} s) => (y) {{ y = own.Scale (x, s) }}"));
        assert_eq!(errors, ["scale.shape"], "{scale}");
    }
}

#[test]
fn a_line_can_depend_on_an_element_type() {
    let operators = own(
        "op Pack 1\n  type T tensor(float+float16)\n  in x T\n  in z T\n  out y T\n  shape x [n]\n  when elem(z) = float: shape z [n]\n  when elem(z) != float: shape z [n, 1]\n  shape y [n]",
    );
    let errors = |ty: &str, z: &str| {
        infer(&operators, &format!("g ({ty}[4] x, {ty}{z} z) => (y) {{ y = own.Pack (x, z) }}")).1
    };
    assert!(errors("float", "[4]").is_empty() && errors("float16", "[4, 1]").is_empty());
    assert!(!errors("float", "[4, 1]").is_empty() && !errors("float16", "[4]").is_empty());
}

#[test]
fn the_rules_of_an_operator_of_onnx_can_be_borrowed() {
    let operators = own("op Product 1\n  type T tensor(f)\n  in a T\n  in b T\n  out y T\n  like MatMul");
    assert_eq!(
        y(&operators, "g (float[N, 3] a, float[3, 4] b) => (y) { y = own.Product (a, b) }"),
        "float[N, 4]"
    );
}

#[test]
fn the_newest_version_up_to_the_requested_one_is_used() {
    let two = described("op A 1\n  in x tensor(float)\nop A 3\n  in x tensor(double)").unwrap();
    let since = |version| match two.lookup("own", "A", version) {
        Lookup::Found(operator) => operator.schema.since_version,
        _ => 0,
    };
    assert_eq!([since(1), since(2), since(3), since(9)], [1, 1, 3, 3]);
    assert!(matches!(two.lookup("own", "A", 0), Lookup::NewerThanOpset { since: 1 }));
    assert!(matches!(two.lookup("own", "B", 1), Lookup::UnknownOperator));
    assert!(matches!(two.lookup("other", "A", 1), Lookup::UnknownDomain));
}

#[test]
fn later_additions_hide_earlier_ones_and_never_those_of_onnx() {
    let first = described("op A 1\n  in x tensor(float)\n  out y tensor(float)").unwrap();
    let second = described("op A 1\n  in x tensor(float)\n  out y tensor(double)").unwrap();
    let relu =
        "typeloom-operators 1\ndomain ai.onnx 1\nop Relu 1\n  in x tensor(float)\n  out y tensor(double)";
    let operators = Operators::standard().with(first).with(second).with(Described::parse(relu).unwrap());
    assert_eq!(y(&operators, "g (float[2] x) => (y) { y = own.A (x) }"), "double[...]");
    assert_eq!(y(&operators, "g (float[2] x) => (y) { y = Relu (x) }"), "float[2]");
}

static PASS: AtomicOpDecl = AtomicOpDecl {
    name: "Pass",
    inputs: &[PortDecl::required("X", &typeloom_types::tree::builtin::TYPE_TENSOR)],
    outputs: &[PortDecl::required("Y", &typeloom_types::tree::builtin::TYPE_TENSOR)],
    kind: AtomicOpKind::Pure,
    type_relations: typeloom_types::relation::ELEMENTWISE,
};

static OWN: AtomicOpsetDecl = AtomicOpsetDecl { domain: "own", version: 1, ops: &[PASS] };

#[test]
fn operators_that_are_declared_in_rust_are_known_in_whole_models() {
    let operators = Operators::standard().with_opset(&OWN);
    assert_eq!(y(&operators, "g (float[N, 2] x) => (y) { y = own.Pass (x) }"), "float[N, 2]");
}

#[test]
fn errors_have_the_line() {
    for (text, message) in [
        ("  in x tensor(float)", "line 4: `in` occurs before any operator"),
        (
            "op A 1\n  in x T",
            "line 5: `T` is neither a type variable of the operator nor a tensor of one element type",
        ),
        ("op A 1\n  in x tensor(float)\n  shape z [n]", "line 6: the operator has no port `z`"),
        (
            "op A 1\n  out x tensor(float)\n  shape x [n]",
            "line 6: `n` is not bound by the shape of an input, a `let` or an attribute",
        ),
        ("op A 1\n  out x tensor(float)\n  shape x [n...]", "line 6: no input shape binds the axes `n...`"),
        (
            "op A 1\n  in x tensor(float)\n  shape x [n..., m...]",
            "line 6: the shape of an input can have only one list of axes of unknown length",
        ),
        (
            "op A 1\n  in x tensor(float)\n  shape x [n] or [m]",
            "line 6: several shapes are for an input only, and must differ in their number of axes",
        ),
        (
            "op A 1\n  in x tensor(float)\n  shape x [n",
            "line 6: expected `,` or `]`, found the end of the line",
        ),
        ("op A 1\n  in x tensor(float)\n  shape x [n] m", "line 6: expected the end of the line, found `m`"),
        (
            "op A 1\n  in x tensor(float)\n  shpae x [n]",
            "line 6: expected `shape`, `let`, `require`, `like` or `when`, found `shpae`",
        ),
        ("op A 1\n  in x tensor(float)\n  like MatMull", "line 6: ONNX has no operator `MatMull`"),
        (
            "op A 1\n  in x tensor(float)\n  when mode = \"a\": shape x []",
            "line 6: the operator has no attribute `mode`",
        ),
        ("op A 1\n  attr k int\n  attr k int", "line 6: `k` is described twice"),
        ("op A 1\nop A 1", "line 5: `A` is described twice"),
        (
            "op A 1\n  in x tensor(flaot)",
            "line 5: `tensor(flaot)` is neither a type variable of the operator nor a tensor of one element type",
        ),
        ("op A 1\n  shape x ?", "line 5: expected a name, a number or an operator, found ?"),
    ] {
        assert_eq!(error(text), message, "{text}");
    }
    let header = Described::parse("operators").unwrap_err().to_string();
    assert_eq!(header, "line 1: the first line must be `typeloom-operators 1`, not `operators`");
    let deep = format!("op A 1\n  in x tensor(float)\n  shape x [{}1{}]", "(".repeat(500), ")".repeat(500));
    assert_eq!(error(&deep), "line 6: the line is too long or nested too deeply");
}

#[test]
fn comments_and_the_order_of_attributes_do_not_matter() {
    let text =
        "op A 1 # an operator\n  # nothing\n\n  attr z string = \"#\"\n  attr a int\n\tin x tensor(float)";
    let described = described(text).unwrap();
    let schema = described.versions("own", "A").next().unwrap();
    let names: Vec<&str> = schema.attributes.iter().map(|attribute| &*attribute.name).collect();
    assert_eq!(names, ["a", "z"]);
}

#[test]
fn the_operators_of_the_optimiser_have_shapes() {
    let standard = Operators::standard();
    for (graph, expected) in [
        ("float[B, S, 64] x, float[64] b) => (y) { y = com.microsoft.BiasGelu (x, b) }", "float[B, S, 64]"),
        ("float[B, S, 64] x) => (y) { y = com.microsoft.QuickGelu (x) }", "float[B, S, 64]"),
        (
            "float[B, 4, 3] a, float[B, 5, 3] b) => (y) { y = com.microsoft.FusedMatMul <transB = 1> (a, b) }",
            "float[B, 4, 5]",
        ),
        (
            "float[B, S, 64] x, float[64] g) => (y) { y = com.microsoft.SkipSimplifiedLayerNormalization (x, x, g) }",
            "float[B, S, 64]",
        ),
        (
            "float[B, S, 64] x, float[64, 192] w, float[192] b) => (y) { y = com.microsoft.Attention <num_heads = 4> (x, w, b) }",
            "float[B, S, 64]",
        ),
        (
            "float[B, S, 64] q, float[B, K, 64] k, float[B, K, 32] v) => (y) { y = com.microsoft.MultiHeadAttention <num_heads = 4> (q, k, v) }",
            "float[B, S, 32]",
        ),
        (
            "float[B, S, 96] q, int32[B] n) => (y) <int32[1] t = {9}> { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 1> (q, \"\", \"\", \"\", \"\", n, t) }",
            "float[B, S, 64]",
        ),
        (
            "float[B, S, 64] x, uint8[32, 2, 16] w, float[64] s) => (y) { y = com.microsoft.MatMulNBits <K = 64, N = 32, block_size = 32> (x, w, s) }",
            "float[B, S, 32]",
        ),
        (
            "uint8[B, 3] a, uint8[3] b, float s, uint8 z) => (y) { y = com.microsoft.QLinearAdd (a, s, z, b, s, z, s, z) }",
            "uint8[B, 3]",
        ),
        (
            "float[B, 3] a, int8[3, 5] b, float s) => (y) { y = com.microsoft.DynamicQuantizeMatMul (a, b, s) }",
            "float[B, 5]",
        ),
        (
            "float[B, 3, 8, 8] x, float[4, 3, 3, 3] w) => (y) { y = com.microsoft.FusedConv <activation = \"Relu\"> (x, w) }",
            "float[B, 4, 6, 6]",
        ),
        (
            "float[B, 8, 8, 3] x, float[4, 3, 3, 3] w) => (y) { y = com.microsoft.NhwcConv (x, w) }",
            "float[B, 6, 6, 4]",
        ),
        (
            "uint8[B, 3, 8] x, float s, uint8 z) => (y) { y = com.microsoft.QLinearReduceMean <axes = [2], keepdims = 0> (x, s, z, s, z) }",
            "uint8[B, 3]",
        ),
        (
            "float[B, S, 64] x, float[64] w) => (y) { y = SimplifiedLayerNormalization (x, w) }",
            "float[B, S, 64]",
        ),
    ] {
        assert_eq!(y(&standard, &format!("g ({graph}")), expected, "{graph}");
    }
    let wrong = "g (float[B, S, 60] x, float[64, 192] w, float[192] b) => (y) { y = com.microsoft.Attention <num_heads = 4> (x, w, b) }";
    assert_eq!(infer(&standard, wrong).1, ["attention.shape"]);
}

#[test]
fn the_example_of_the_specification_is_the_file_that_the_documents_use() {
    let page = include_str!("../../../../docs/operator-files.md");
    let example: Vec<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("    typeloom-operators 1"))
        .take_while(|line| line.is_empty() || line.starts_with("    "))
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    let example = example.join("\n");
    assert_eq!(example.trim_end(), include_str!("../../../../spec/models/fold.ops").trim_end());
    let operators = Operators::standard().with(Described::parse(&example).unwrap());
    let graph = "<ir_version: 10, opset_import: [\"com.example\" : 3]> g (float16[B, 12, C] x) => (y) {
        y = com.example.Fold <width = 4, flat = 1> (x)
    }";
    let bytes = typeloom_onnx::text::parse_model(graph).unwrap().encode_to_vec();
    let universe = Universe::standard().clone();
    let mut checked = check(&bytes, &operators, &universe, &Options::default()).unwrap();
    let y = checked.find("y").unwrap();
    assert_eq!(checked.display_type(y), "float16[3*B, 4, C]");
}

#[test]
fn a_rule_reads_dims_attributes_and_element_types_as_text() {
    let text = "typeloom-operators 1\ndomain own 1\nop Mix 1\n  type T tensor(float+double)\n  in data T\n  in more T optional\n  out mixed T\n  attr ratio float = 0.5\n  attr names strings\n  attr steps floats\n";
    let rule = |cx: &mut OperatorCx<'_, '_, '_>| {
        assert_eq!(cx.element(0), Some(typeloom_types::dtype::Dtype::F64));
        assert!(cx.has_input(0) && !cx.has_input(1));
        let kinds: Vec<_> = cx.attributes().map(|(name, kind)| (name.to_owned(), kind.name())).collect();
        assert_eq!(kinds.len(), 3);
        assert_eq!(cx.float("ratio")?, Some(0.5));
        assert_eq!(cx.floats("steps")?, Some(vec![1.0, 2.0]));
        assert_eq!(cx.strings("names")?, Some(vec!["a".to_owned()]));
        let shape = cx.shape(0).unwrap();
        assert_eq!(cx.text(shape[0]).as_deref(), Some("2*N"));
        let unknown = cx.unknown();
        assert_eq!(cx.text(unknown), None);
        assert!(cx.parse("", &[]).is_err());
        let twice = cx.parse("q*2", &[("q".to_owned(), shape[0])])?;
        cx.set_shape(0, &[twice])
    };
    let described = Described::parse(text).unwrap().with_rule("own", "Mix", rule).unwrap();
    let operators = Operators::standard().with(described);
    let graph = "g (double[2*N] x) => (y) { y = own.Mix <names = [\"a\"], steps = [1.0, 2.0]> (x) }";
    let (types, errors) = infer(&operators, graph);
    assert_eq!((types["y"].as_str(), errors.len()), ("double[4*N]", 0));
}
