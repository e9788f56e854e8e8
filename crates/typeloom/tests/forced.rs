//! Constraints that the equations of a graph imply on the symbols of its inputs.

use typeloom_solver::diagnostic::diagnose;
use typeloom_solver::model::Options;

/// Formats the codes and messages for a graph, with a mark on errors.
fn found(graph: &str) -> Vec<String> {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n{graph}");
    let bytes = typeloom_onnx::text::model_bytes(&text).expect("the text is a model");
    let mut checked = typeloom_ops::check::check(&bytes, &Options::default()).expect("the model can be read");
    let ok = checked.is_ok();
    let diagnostics = diagnose(&mut checked);
    assert_eq!(ok, diagnostics.iter().all(|diagnostic| !diagnostic.is_error()));
    diagnostics
        .iter()
        .map(|diagnostic| format!("{} {}: {}", diagnostic.severity, diagnostic.code, diagnostic.message))
        .collect()
}

const SEVEN: &str = "error forced-symbol: `N` is declared free, but it can only be 7";
const EQUAL: &str = "warning forced-equality: `N` and `M` are different symbols, but they can only be equal";

#[test]
fn a_baked_extent_is_found_through_factors_that_both_sides_share() {
    let graph =
        "g (float[B, N, 8] x) => (y) <int64[3] rest = {7, 2, 4}, int64[1] zero = {0}, int64[1] one = {1}> {
        s = Shape(x)  b = Slice(s, zero, one)  t = Concat <axis = 0> (b, rest)  y = Reshape(x, t)
    }";
    assert_eq!(found(graph), [SEVEN]);
}

#[test]
fn weights_force_the_width_that_they_are_multiplied_with() {
    let graph = "g (float[B, N] x) => (y) <float[7, 1] w = {0, 0, 0, 0, 0, 0, 0}> { y = MatMul(x, w) }";
    assert_eq!(found(graph), [SEVEN]);
}

#[test]
fn the_declared_extent_of_another_input_is_a_warning() {
    let graph = "g (float[B, N] x, float[7, 4] w) => (y) { y = MatMul(x, w) }";
    assert_eq!(found(graph), [SEVEN.replace("error", "warning")]);
}

#[test]
fn a_reshape_that_keeps_the_symbol_forces_nothing() {
    let graph = "g (float[B, N, 8] x) => (y) <int64[3] t = {0, -1, 4}> { y = Reshape(x, t) }";
    assert_eq!(found(graph), [""; 0]);
}

#[test]
fn a_symbol_that_is_computed_from_others_is_restricted() {
    let graph = "g (float[past] a, float[seq] b, float[total, 1] m) => (y) {
        c = Concat <axis = 0> (a, b)  y = MatMul(c, m)
    }";
    assert_eq!(found(graph), ["warning restricted-symbol: the model runs only where `total = past + seq`"]);
}

#[test]
fn consequences_of_two_nodes_together_are_found() {
    let graph = "g (float[N, 4] x, float[M, 4] y) => (z, w) <int64[2] t = {7, 4}> {
        z = Concat <axis = 1> (x, y)  w = Reshape(y, t)
    }";
    assert_eq!(found(graph), [EQUAL, SEVEN]);
}

#[test]
fn a_graph_that_works_on_empty_tensors_only_is_found() {
    let graph = "g (float[N, 6] x) => (y) <int64[1] seven = {7}, int64[1] zero = {0}, int64[1] one = {1}> {
        s = Shape(x)  n = Slice(s, zero, one)  t = Concat <axis = 0> (n, seven)  y = Reshape(x, t)
    }";
    assert_eq!(found(graph), ["error forced-symbol: `N` is declared free, but it can only be 0"]);
}

#[test]
fn equations_that_contradict_each_other_are_an_error() {
    let graph = "g (float[N, 2] x, float[M, 2] y, float[N + 1, 2] v, float[M, 2] w) => (a, b) {
        a = Concat <axis = 1> (x, y)  b = Concat <axis = 1> (v, w)
    }";
    let found = found(graph);
    assert_eq!(found[0], EQUAL);
    assert!(found[1].starts_with("error dim-mismatch"), "{found:?}");
}

#[test]
fn a_broadcast_that_a_forced_symbol_rules_out_is_an_error() {
    let graph =
        "g (float[N] x, float[5, 1] y) => (z, w) <int64[2] t = {7, 1}, float[5] five = {0, 0, 0, 0, 0}> {
        z = Reshape(x, t)  w = Add(x, five)
    }";
    let found = found(graph);
    assert_eq!(found[0], SEVEN);
}

#[test]
fn a_branch_that_data_choose_restricts_the_runs_that_choose_it() {
    let branch = "g (float[N, 4] x, bool c) => (y) <int64[2] t = {7, 4}> {
        y = If (c) <then_branch = then () => (a) { a = Reshape(x, t) }, else_branch = other () => (b) { b = Relu(x) }>
    }";
    let expected =
        "error branch-mismatch: `N` is declared free, but it can only be 7, if `then_branch` of `If` runs";
    assert_eq!(found(branch), [expected]);
}

#[test]
fn nodes_that_may_never_run_force_nothing() {
    let body = "g (float[N, 4] x, int64 trips) => (y) <int64[2] t = {7, 4}, bool go = {1}> {
        y = Loop (trips, go) <body = turn (int64 i, bool c) => (c2, r) { c2 = Identity(c)  r = Reshape(x, t) }>
    }";
    assert_eq!(found(body), [""; 0]);
}

#[test]
fn requirements_of_a_function_are_reported_at_its_call() {
    let text = "g (float[N, 4] x, float[M, 4] y) => (z) { z = local.join (x, y) }
        <domain: \"local\", opset_import: [\"\" : 21]> join (a, b) => (c) { c = Concat <axis = 1> (a, b) }";
    assert_eq!(found(text), [EQUAL]);
}

#[test]
fn a_negative_declared_difference_means_an_empty_axis() {
    let graph = "g (float[seq] x) => (float[seq - 2] y) <int64[1] two = {2}, int64[1] many = {9223372036854775807}, int64[1] zero = {0}> {
        y = Slice(x, two, many, zero)
    }";
    assert_eq!(found(graph), [""; 0]);
    let wrong = graph.replace("seq - 2", "seq - 3");
    assert!(found(&wrong)[0].starts_with("error declared-type-contradiction"), "{:?}", found(&wrong));
}

#[test]
fn an_output_may_not_promise_the_symbol_of_another_input() {
    let relu = "g (float[M] x, float[N] y) => (float[M] z) { z = Relu(y) }";
    let message =
        "error declared-type-contradiction: graph output `z` is declared with `M` on axis 0, but it is `N`";
    assert_eq!(found(relu), [message]);
    let equal = "g (float[N, 1] x, float[M, 1] y) => (float[N, 1] z, c) { z = Relu(y)  c = Concat <axis = 1> (x, y) }";
    assert_eq!(found(equal), [EQUAL], "if another node makes the extents equal, the declaration holds");
    let own_name = "g (float[M] x, float[N] y) => (float[rows] z) { z = Relu(y) }";
    assert_eq!(found(own_name), [""; 0]);
}

/// The type of `y` under options.
fn y(graph: &str, options: &Options) -> String {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{graph}");
    let bytes = typeloom_onnx::text::model_bytes(&text).expect("the text is a model");
    let mut checked = typeloom_ops::check::check(&bytes, options).expect("the model can be read");
    assert!(diagnose(&mut checked).is_empty(), "{:?}", diagnose(&mut checked));
    let y = checked.find("y").expect("the graph has a value `y`");
    checked.display_type(y)
}

fn assuming(pairs: &[(&str, &str)]) -> Options {
    let assume = pairs.iter().map(|(symbol, dim)| ((*symbol).to_owned(), (*dim).to_owned())).collect();
    Options { assume, ..Options::default() }
}

const JOINED: &str = "g (float[N, past] x, float[M, seq] z) => (y) { y = Concat <axis = 1> (x, z) }";

#[test]
fn an_assumption_replaces_every_occurrence_of_the_symbol() {
    let both = |pairs: &[(&str, &str)]| y(JOINED, &assuming(pairs));
    assert_eq!(both(&[("N", "M")]), "float[M, past + seq]");
    assert_eq!(both(&[("N", "4"), ("M", "4")]), "float[4, past + seq]");
    assert_eq!(both(&[("M", "N"), ("past", "seq"), ("N", "2")]), "float[2, 2*seq]");
    assert_eq!(both(&[("M", "N"), ("past", "2*k + 1"), ("seq", "k")]), "float[N, 3*k + 1]");
}

#[test]
fn assumptions_that_make_no_sense_are_refused() {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{JOINED}");
    let bytes = typeloom_onnx::text::model_bytes(&text).expect("the text is a model");
    let refused = |pairs: &[(&str, &str)]| match typeloom_ops::check::check(&bytes, &assuming(pairs)) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert_eq!(refused(&[("pst", "3")]), "the model declares no symbol `pst`; did you mean `past`?");
    assert_eq!(
        refused(&[("past", "-3")]),
        "`past` cannot be assumed to be `-3`: an extent cannot be negative"
    );
    let message = "`N` cannot be assumed to be `4`: it contradicts an earlier assumption";
    assert_eq!(refused(&[("N", "M"), ("M", "3"), ("N", "4")]), message);
}

#[test]
fn symbols_are_merged_on_request_under_the_name_that_came_first() {
    let merge = Options { merge_symbols: true, ..Options::default() };
    assert_eq!(y(JOINED, &merge), "float[N, past + seq]");
    let chain = "g (float[A, 1] a, float[B, 1] b, float[C, 1] c) => (y) {
        p = Concat <axis = 1> (a, b)  q = Concat <axis = 1> (b, c)  y = Add(q, c)
    }";
    assert_eq!(y(chain, &merge), "float[A, 2]");
}

#[test]
fn open_equations_are_listed_as_json() {
    let graph = "g (float[a*b, 4] x, float[c, 4] y, float[7, 4] w) => (z, v) {
        z = Concat <axis = 1> (x, y)  v = Add(y, w)
    }";
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{graph}");
    let bytes = typeloom_onnx::text::model_bytes(&text).expect("the text is a model");
    let checked = typeloom_ops::check::check(&bytes, &Options::default()).expect("the model can be read");
    let listed: Vec<String> =
        typeloom_report::infer::equations(&checked).iter().map(ToString::to_string).collect();
    assert_eq!(
        listed,
        [
            r#"{"left":"a*b","right":"c","need":"equal","node":0,"operator":"Concat","rule":"concat.axis"}"#,
            r#"{"left":"c","right":"7","need":"one-or-equal","node":1,"operator":"Add","rule":"broadcast.shape"}"#,
        ]
    );
}
