//! Models for given sizes: what becomes a constant, what is removed, and what stays.

use typeloom_onnx::messages::{ModelProto, TensorProto};
use typeloom_ops::catalogue::Standard;
use typeloom_rewrite::specialize::{Cause, SpecializeError, Specialized, specialize};
use typeloom_solver::model::{Mode, Options};

use crate::support::{graph, model, solved, universe};

fn fixed(bytes: &[u8], assume: &[(&str, &str)]) -> Result<Specialized, SpecializeError> {
    let assume = assume.iter().map(|(name, dim)| ((*name).to_owned(), (*dim).to_owned())).collect();
    // The operators of some tests are unknown.
    let options = Options { assume, mode: Mode::Permissive, ..Options::default() };
    specialize(bytes, &Standard, universe(), &options, None)
}

/// The printed graph of a specialized model, without whitespace that does not matter.
fn shown(specialized: &Specialized) -> String {
    assert!(specialized.conditions.is_empty());
    assert!(solved(&specialized.file, Mode::Permissive).is_ok_and(|checked| checked.is_ok()));
    shown_with_conditions(specialized)
}

fn shown_with_conditions(specialized: &Specialized) -> String {
    let model = typeloom_onnx::messages::read(bytes::Bytes::copy_from_slice(&specialized.file))
        .expect("a specialized file is a model");
    let options = typeloom_onnx::text::PrintOptions::round_trip();
    let text = typeloom_onnx::text::print_model(&model, &options).text;
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ").replace("< ", "<").replace(" >", ">");
    text.split_once("> ").expect("a header").1.to_owned()
}

const RESHAPED: &str =
    "g (float[batch, seq, 8] x) => (float[batch, m] y) <int64[1] rest = {-1}, float[batch, seq, 8] a> {
    a = Relu (x)
    shape = Shape (a)
    zero = Constant <value_int = 0> ()
    first = Gather (shape, zero)
    axes = Constant <value_ints = [0]> ()
    rows = Unsqueeze (first, axes)
    to = Concat <axis = 0> (rows, rest)
    y = Reshape (a, to) }";

#[test]
fn shape_arithmetic_becomes_a_constant_of_the_same_name() {
    let found = fixed(&graph(RESHAPED), &[("batch", "2"), ("seq", "4")]).unwrap();
    assert_eq!(
        shown(&found),
        "g (float[2, 4, 8] x) => (float[2, 32] y) <int64[2] to = {2, -1}, float[2, 4, 8] a> \
         { a = Relu(x) y = Reshape(a, to) }"
    );
    assert_eq!((found.constants, found.nodes, found.removed_initializers), (1, [8, 2], 1));
    assert!(found.open.is_empty());
}

#[test]
fn a_symbol_without_a_size_stays() {
    let found = fixed(&graph(RESHAPED), &[("seq", "4")]).unwrap();
    let text = shown(&found);
    assert!(text.starts_with("g (float[batch, 4, 8] x) => (float[batch, 32] y)"), "{text}");
    assert!(text.contains("Concat"), "{text}");
    let open: Vec<_> =
        found.open.iter().map(|open| (&*open.value, open.symbol.as_deref(), &open.cause)).collect();
    assert_eq!(open, [("x", Some("batch"), &Cause::Input)]);
}

#[test]
fn symbols_can_be_related() {
    let bytes = graph(
        "g (float[past] a, float[seq] b, float[total] c) => (float[total] y) {
        ab = Concat <axis = 0> (a, b)  y = Add (ab, c) }",
    );
    let found = fixed(&bytes, &[("total", "past + seq")]).unwrap();
    let text = shown(&found);
    assert!(text.contains("float[\"past + seq\"] c"), "{text}");
    let found = fixed(&found.file, &[("past", "3"), ("seq", "1")]).unwrap();
    assert!(shown(&found).starts_with("g (float[3] a, float[1] b, float[4] c) => (float[4] y)"));
}

#[test]
fn a_size_that_the_model_does_not_allow_is_an_error() {
    let bytes =
        graph("g (float[N, 6] x) => (y) { s = Constant <value_ints = [4, -1]> ()  y = Reshape (x, s) }");
    assert_eq!(fixed(&bytes, &[("N", "3")]).unwrap_err(), SpecializeError::Errors);
    assert!(fixed(&bytes, &[("N", "2")]).is_ok());
    assert!(matches!(fixed(&bytes, &[("M", "2")]).unwrap_err(), SpecializeError::Check(_)));
}

const BRANCHES: &str = "g (float[N, 4] x, float[4] w) => (float[N, 4] y, z) <int64 one = {1}> {
    s = Shape <start = 0, end = 1> (x)
    is_one = Equal (s, one)
    c = Squeeze (is_one)
    y, h = If (c) <
        then_branch = t () => (p, q) <float[4] bias = {1, 2, 3, 4}> { m = Mul (x, w)  p = Add (m, bias)  q = Neg (m) },
        else_branch = e () => (p, q) { m = Sub (x, w)  p = Relu (m)  q = Identity (x) }>
    z = Abs (h) }";

#[test]
fn a_decided_branch_moves_into_its_graph() {
    let found = fixed(&graph(BRANCHES), &[("N", "1")]).unwrap();
    assert_eq!(
        shown(&found),
        "g (float[1, 4] x, float[4] w) => (float[1, 4] y, float[1, 4] z) <float[4] bias = {1.0, 2.0, 3.0, 4.0}> \
         { m = Mul(x, w) y = Add(m, bias) h = Neg(m) z = Abs(h) }"
    );
    let taken: Vec<_> = found.branches.iter().map(|taken| (&*taken.node, taken.condition)).collect();
    assert_eq!(taken, [("y", true)]);
    let found = fixed(&graph(BRANCHES), &[("N", "3")]).unwrap();
    assert!(shown(&found).contains("{ m = Sub(x, w) y = Relu(m) h = Identity(x) z = Abs(h) }"));
}

#[test]
fn names_that_other_graphs_have_are_changed() {
    let bytes = graph(
        "g (float[N] x, bool b) => (y, z) <int64 one = {1}> {
        s = Shape (x)  i = Equal (s, one)  c = Squeeze (i)
        y = If (c) <then_branch = t () => (p) { m = Neg (x)  p = Neg (m) },
                    else_branch = e () => (p) { m = Abs (x)  p = Neg (m) }>
        z = If (b) <then_branch = t () => (p) { m = Sin (x)  p = Neg (m) },
                    else_branch = e () => (p) { m = Cos (x)  p = Neg (m) }> }",
    );
    let text = shown(&fixed(&bytes, &[("N", "1")]).unwrap());
    assert!(text.contains("{ m_2 = Neg(x) y = Neg(m_2) z = If"), "{text}");
}

#[test]
fn a_branch_can_return_a_value_of_the_graph_around_it() {
    let bytes = graph(
        "g (float[N] x) => (y) <int64 one = {1}> {
        s = Shape (x)  i = Equal (s, one)  c = Squeeze (i)
        y = If (c) <then_branch = t () => (k) <float[1] k = {7}> {},
                    else_branch = e () => (p) { p = Neg (x) }> }",
    );
    let text = shown(&fixed(&bytes, &[("N", "1")]).unwrap());
    assert!(text.contains("<float[1] k = {7.0}> { y = Identity(k) }"), "{text}");
}

#[test]
fn branches_in_branches_and_in_loops_are_taken() {
    let bytes = graph("g (float[N] x, int64 n, bool go) => (y) <int64 one = {1}> {
        s = Shape (x)  i = Equal (s, one)  c = Squeeze (i)
        y = Loop (n, go, x) <body = b (int64 at, bool more, float[N] v) => (more, r) {
            r = If (c) <then_branch = t () => (p) {
                p = If (c) <then_branch = t2 () => (q) { q = Neg (v) }, else_branch = e2 () => (q) { q = Abs (v) }> },
                else_branch = e () => (p) { p = Neg (v) }> }> }");
    let found = fixed(&bytes, &[("N", "1")]).unwrap();
    assert_eq!(found.branches.len(), 2);
    let text = shown(&found);
    assert!(text.contains("{ r = Neg(v) }") && !text.contains("If"), "{text}");
}

#[test]
fn an_output_that_is_constant_stays_a_node() {
    let bytes = graph("g (float[N, 4] x) => (int64[2] s) { s = Shape (x) }");
    assert!(
        shown(&fixed(&bytes, &[("N", "3")]).unwrap())
            .contains("{ s = Constant <value = int64[2] = {3, 4}> () }")
    );
}

#[test]
fn a_sequence_of_constants_is_no_tensor() {
    let bytes = graph("g (float[N] x) => (seq(int64[1]) y) { s = Shape (x)  y = SequenceConstruct (s, s) }");
    let text = shown(&fixed(&bytes, &[("N", "3")]).unwrap());
    assert!(text.contains("<int64[1] s = {3}> { y = SequenceConstruct(s, s) }"), "{text}");
}

#[test]
fn files_of_old_versions_get_constant_nodes() {
    // Before version 4 of the format, an initializer has to be an input.
    let bytes = model(
        "<ir_version: 3, opset_import: [\"\" : 9]>
        g (float[N, 4] x, float[12] z) => (y) { s = Shape (x)  y = Reshape (z, s) }",
    );
    let text = shown(&fixed(&bytes, &[("N", "3")]).unwrap());
    assert!(text.contains("s = Constant <value = int64[2] = {3, 4}> ()"), "{text}");
}

#[test]
fn a_claim_of_a_declaration_is_not_written_as_a_constant() {
    let bytes = model("<ir_version: 10, opset_import: [\"\" : 21, \"own\" : 1]>
        g (float[N] x) => (float[k] y, int64[1] s) <float[3] h> { h = own.Op (x)  s = Shape (h)  y = Relu (h) }");
    let text = shown(&fixed(&bytes, &[("N", "3")]).unwrap());
    assert!(text.contains("s = Shape(h)"), "{text}");
}

#[test]
fn nodes_of_unknown_operators_and_inputs_with_defaults_stay() {
    let bytes = model(
        "<ir_version: 10, opset_import: [\"\" : 21, \"own\" : 1]>
        g (float[N] x, float[2] d) => (y) <float[2] d = {1, 2}, float[2] unread = {1, 2}> {
            seen = own.Print (x)  dead = Neg (x)  y = Relu (x) }",
    );
    let found = fixed(&bytes, &[("N", "3")]).unwrap();
    let text = shown(&found);
    assert!(text.contains("own.Print(x)") && text.contains("float[2] d = {1.0, 2.0}"), "{text}");
    assert!(!text.contains("dead") && !text.contains("unread"), "{text}");
    assert_eq!((found.nodes, found.removed_initializers), ([3, 2], 1));
}

#[test]
fn a_number_can_require_another_one() {
    let bytes = graph("g (float[N, 4] x, float[k, 4] z) => (y) { s = Shape (x)  y = Reshape (z, s) }");
    let found = fixed(&bytes, &[("N", "3")]).unwrap();
    assert_eq!(found.conditions, ["`k` is declared free, but it can only be 3"]);
    assert!(fixed(&bytes, &[("N", "3"), ("k", "3")]).unwrap().conditions.is_empty());
}

#[test]
fn a_number_that_only_a_condition_forces_is_not_declared() {
    // `Reshape` forces the unnamed extent to be 6, which a check of the declared `y` does not use.
    let bytes = graph(
        "g (float[?, seq] x) => (y, z) {
        twice = Concat <axis = 0> (x, x)  to = Constant <value_ints = [12, 3]> ()
        z = Reshape (twice, to)  y = Relu (twice) }",
    );
    let text = shown_with_conditions(&fixed(&bytes, &[("seq", "3")]).unwrap());
    assert!(text.starts_with("g (float[?, 3] x)"), "{text}");
}

#[test]
fn open_extents_have_their_cause() {
    let bytes = graph(
        "g (float[N] x, float[k] mask, float[...] any) => (y, z) {
        n = NonZero (x)  y = Transpose (n)  z = Relu (any) }",
    );
    let found = fixed(&bytes, &[("N", "3")]).unwrap();
    let open: Vec<String> = found.open.iter().map(|open| format!("{open:?}")).collect();
    assert_eq!(found.open.len(), 3, "{open:?}");
    assert_eq!((&*found.open[0].value, found.open[0].symbol.as_deref()), ("mask", Some("k")));
    assert_eq!((&*found.open[1].value, found.open[1].axis), ("any", None));
    let Cause::Node { operator, .. } = &found.open[2].cause else { panic!("{open:?}") };
    assert_eq!((&*found.open[2].value, &**operator), ("n", "NonZero"));
}

#[test]
fn nodes_on_constants_are_computed_by_the_caller() {
    // Half of an extent is a fraction, which the solver does not follow through every operator.
    let bytes = graph("g (float[N, 4] x) => (y, w) <float third = {3.0}> {
        s = Shape (x)  f = Cast <to = 1> (s)  q = Div (f, third)  y = Mul (q, third)  r = Sin (q)  w = Add (y, r) }");
    let options = Options { assume: vec![("N".to_owned(), "2".to_owned())], ..Options::default() };
    let seen = std::cell::RefCell::new(None);
    let evaluate = |model: &ModelProto| {
        let outputs = model.graph.as_ref()?.output.len();
        seen.replace(Some(model.clone()));
        Some(
            (0..outputs)
                .map(|at| TensorProto {
                    dims: vec![2],
                    data_type: Some(1),
                    float_data: vec![at as f32; 2],
                    ..TensorProto::default()
                })
                .collect(),
        )
    };
    let found = specialize(&bytes, &Standard, universe(), &options, Some(&evaluate)).unwrap();
    let model = seen.take().expect("the nodes are run");
    let nodes: Vec<String> = model.graph.unwrap().node.iter().map(|node| node.op_type.to_string()).collect();
    // `Sin` is not the same on all implementations.
    assert_eq!(nodes, ["Cast", "Div", "Mul"]);
    let text = shown(&found);
    assert!(text.contains("r = Sin(q)") && !text.contains("Div"), "{text}");
}

#[test]
fn a_model_without_symbols_and_constants_stays_the_same() {
    let bytes = graph("g (float[2] x) => (float[2] y) { y = Relu (x) }");
    let found = fixed(&bytes, &[]).unwrap();
    assert_eq!((found.file, found.nodes), (bytes, [1, 1]));
}
