//! Costs of small models, with their values worked out by hand.

use typeloom_cost::executor::Executor;
use typeloom_cost::fit::{Fit, FitError, fit};
use typeloom_cost::undecided::Why;
use typeloom_cost::{Cost, cost};
use typeloom_onnx::text::model_bytes;
use typeloom_ops::check::check;
use typeloom_solver::model::{Checked, Options};

fn with<T>(text: &str, assume: &[(&str, &str)], ask: impl FnOnce(&mut Checked<'_>, &Cost<'_>) -> T) -> T {
    let bytes = model_bytes(text).expect("it is a model");
    let assume = assume.iter().map(|(symbol, dim)| ((*symbol).to_owned(), (*dim).to_owned())).collect();
    let options = Options { functions: true, assume, ..Options::default() };
    let mut checked = check(&bytes, &options).expect("it can be checked");
    let cost = cost(&mut checked);
    ask(&mut checked, &cost)
}

fn model(opset: u32, graph: &str) -> String {
    format!("<ir_version: 10, opset_import: [\"\" : {opset}, \"com.microsoft\" : 1]> g {graph}")
}

/// Multiply-accumulates and operations.
fn work(graph: &str) -> (String, String) {
    with(&model(23, graph), &[], |checked, cost| {
        let dims = checked.dims_mut();
        assert!(cost.undecided.nodes.is_empty(), "{:?}", cost.undecided);
        (cost.work.macs.text(dims), cost.work.flops.text(dims))
    })
}

/// Peaks of the plain executor and of the embedded runtime.
fn peaks(graph: &str) -> (String, String) {
    with(&model(21, graph), &[], |checked, cost| {
        let dims = checked.dims_mut();
        (cost.plain.peak.text(dims), cost.embedded.peak.text(dims))
    })
}

fn whys(graph: &str) -> Vec<(String, Why)> {
    with(&model(21, graph), &[], |_, cost| {
        let nodes = cost.undecided.nodes.keys();
        nodes.map(|((_, name), why)| ((*name).to_owned(), *why)).collect()
    })
}

#[test]
fn formulas_follow_the_definitions_of_operators() {
    let expected = [
        ("(float[N, 3, 8] a, float[8, 5] b) => (y) { y = MatMul(a, b) }", "120*N", "240*N"),
        (
            "(float[N, 8] a, float[5, 8] b, float[5] c) => (y) { y = Gemm<transB = 1>(a, b, c) }",
            "40*N",
            "85*N",
        ),
        // 16 results of 2 * 9 products, each with a bias, in 4 filters.
        (
            "(float[1, 4, 6, 6] x, float[4, 2, 3, 3] w, float[4] b) => (y) { y = Conv<group = 2>(x, w, b) }",
            "1152",
            "2368",
        ),
        // Each of 8 elements meets 3 filters with 4 positions.
        (
            "(float[1, 2, 2, 2] x, float[2, 3, 2, 2] w) => (y) { y = ConvTranspose<strides = [2, 2]>(x, w) }",
            "96",
            "192",
        ),
        (
            "(float[N, M] a, float[M, K] b) => (y) { y = Einsum<equation = \"ij,jk->ik\">(a, b) }",
            "N*M*K",
            "2*N*M*K",
        ),
        ("(float[N, 8] x) => (y) { y = Softmax(x) }", "0", "40*N"),
        ("(float[N, 8] x) => (y) { y = ReduceMean<keepdims = 0>(x) }", "0", "8*N + 1"),
        (
            "(float[1, 1, 8, 8] x) => (y) { y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) }",
            "0",
            "48",
        ),
        ("(float[2, 3] a, float[2, 3] b, float[2, 3] c) => (y) { y = Sum(a, b, c) }", "0", "12"),
        ("(float[2, 3] a) => (y) { t = Transpose(a)  y = Cast<to = 10>(t) }", "0", "0"),
        // Queries and results of 16 * 8 elements, 4 * 16 softmaxes of 16 weights.
        (
            "(float[1, 16, 32] q, float[1, 16, 32] k, float[1, 16, 32] v) => (y) { y = Attention<q_num_heads = 4, kv_num_heads = 4>(q, k, v) }",
            "16384",
            "39936",
        ),
        (
            "(float[S, B, 4] x, float[1, 12, 4] w, float[1, 12, 3] r) => (y) { y = LSTM<hidden_size = 3>(x, w, r) }",
            "84*S*B",
            "234*S*B",
        ),
    ];
    for (graph, macs, flops) in expected {
        assert_eq!(work(graph), (macs.to_owned(), flops.to_owned()), "{graph}");
    }
}

#[test]
fn loops_multiply_and_branches_compete() {
    let body =
        "body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t) { d = Identity(c) t = Exp(s) }";
    let counted = format!("(float[4] x, bool c) => (y) <int64 n = {{7}}> {{ y = Loop<{body}>(n, c, x) }}");
    assert_eq!(work(&counted).1, "28");
    let open = format!("(float[4] x, bool c, int64 n) => (y) {{ y = Loop<{body}>(n, c, x) }}");
    assert_eq!(whys(&open), [("Loop".to_owned(), Why::Iterations)]);
    let scan = "(float[8] s, float[T, 8] x) => (y, z) { y, z = Scan<num_scan_inputs = 1, \
                body = b (float[8] s, float[8] x) => (float[8] t, float[8] u) { t = Add(s, x) u = Neg(t) }>(s, x) }";
    assert_eq!(work(scan).1, "16*T");
    let branch = |other: &str| {
        format!(
            "(bool c, float[N] x, float[M] z) => (y) {{ y = If<then_branch = t () => (float[K] a) {{ a = Exp(x) }}, \
             else_branch = e () => (float[L] b) {{ {other} }}>(c) }}"
        )
    };
    assert_eq!(work(&branch("p = Exp(x) b = Exp(p)")).1, "2*N");
    assert!(whys(&branch("b = Exp(z)")).contains(&("If".to_owned(), Why::Branch)));
}

#[test]
fn each_call_of_a_function_counts() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
        g (float[N] x, float[M] z) => (y, w) { a = f.twice(x) y = f.twice(a) w = f.twice(z) }
        <domain: "f", opset_import: ["" : 21, "f" : 1]> twice (x) => (y) { a = f.once(x) y = f.once(a) }
        <domain: "f", opset_import: ["" : 21]> once (x) => (y) { y = Exp(x) }"#;
    with(text, &[], |checked, cost| {
        let dims = checked.dims_mut();
        assert_eq!(cost.work.flops.text(dims), "4*N + 2*M");
        assert_eq!(cost.operators[&("", "Exp")].runs.as_number(), Some(6));
        assert!(cost.undecided.nodes.is_empty());
    });
}

#[test]
fn the_peak_depends_on_the_executor() {
    let both = |plain: &str, embedded: &str| (plain.to_owned(), embedded.to_owned());
    // The input, and two or one of the results.
    assert_eq!(peaks("(float[N] x) => (y) { a = Exp(x) b = Exp(a) y = Exp(b) }"), both("12*N", "4*N"));
    // The input has another reader.
    assert_eq!(peaks("(float[N] x) => (y) { a = Exp(x) y = Add(a, x) }"), both("12*N", "8*N"));
    // A view has no memory of its own.
    let view = "(float[2, N] x) => (y) <int64[1] s = {-1}> { a = Reshape(x, s) y = Concat<axis = 0>(a, a) }";
    assert_eq!(peaks(view), both("32*N", "24*N"));
    // A result that nothing reads is free at once.
    assert_eq!(peaks("(float[N] x) => (y) { a = Concat<axis = 0>(x, x) y = Neg(x) }"), both("12*N", "12*N"));
    // Constants are weights, and nodes on them are computed before the run.
    let constant = "(float[N] x) => (y) <float[1] w = {1}> { v = Exp(w) y = Add(x, v) }";
    assert_eq!(peaks(constant), both("8*N + 4", "8*N"));
    // The convolution, its normalisation and its clamp are one node.
    let conv = "(float[N, 1, 4, 4] x, float[1] c) => (y) <float[8, 1, 1, 1] w = {1, 1, 1, 1, 1, 1, 1, 1}> \
                { a = Conv(x, w) b = Relu(a) d = Concat<axis = 1>(b, b) y = Neg(d) }";
    assert_eq!(peaks(conv), both("2112*N + 4", "1536*N + 4"));
}

#[test]
fn several_steps_can_be_the_peak() {
    let graph = "(float[N] x, float[M] z) => (y) { a = Concat<axis = 0>(x, x) s = ReduceSum<keepdims = 0>(a) \
                 b = Concat<axis = 0>(z, z) t = ReduceSum<keepdims = 0>(b) y = Add(s, t) }";
    let (_, embedded) = peaks(graph);
    assert_eq!(embedded, "max(12*N + 4*M, 12*M + 4)");
}

#[test]
fn unknown_parts_are_listed() {
    assert_eq!(whys("(float[N] x) => (y) { y = Det(x) }").first().map(|it| it.1), Some(Why::Operations));
    let found = whys("(float[N] x) => (y) { i = NonZero(x) y = Cast<to = 1>(i) }");
    assert_eq!(found, [("NonZero".to_owned(), Why::Extent)]);
    let found = whys("(float[N] x, int64[K] s) => (y) { r = Reshape(x, s) y = Exp(r) }");
    assert!(found.contains(&("Exp".to_owned(), Why::Operations)), "{found:?}");
    assert!(found.contains(&("Exp".to_owned(), Why::Bytes)), "{found:?}");
}

#[test]
fn large_sizes_do_not_overflow() {
    let big = "(float[3000000000, 2] a, float[2, 3000000000] b) => (y) { m = MatMul(a, b) y = Neg(m) }";
    with(&model(21, big), &[], |checked, cost| {
        let dims = checked.dims_mut();
        assert_eq!(cost.work.macs.text(dims), "18000000000000000000");
        assert_eq!(cost.plain.peak.as_number(), Some(72_000_000_048_000_000_000));
    });
    let beyond = "(float[3000000000, 3000000000, 3000000000] a) => (y) { y = Neg(a) }";
    with(&model(21, beyond), &[], |checked, cost| {
        assert!(cost.work.flops.is_unknown(checked.dims()));
    });
}

#[test]
fn caches_are_pairs_of_inputs_and_outputs() {
    let named = "(float[B, 4, P, 8] past_key_values_0_key, float[B, 4, S, 8] k) => (present_key_values_0_key) \
                 { present_key_values_0_key = Concat<axis = 2>(past_key_values_0_key, k) }";
    let unnamed = "(float16[B, 4, P, 8] c, float16[B, 4, S, 8] k) => (n) { n = Concat<axis = 2>(c, k) }";
    for (graph, bytes) in [(named, "128*B"), (unnamed, "64*B")] {
        with(&model(21, graph), &[], |checked, cost| {
            let caches: Vec<usize> = cost.caches.iter().map(|cache| cache.axis).collect();
            assert_eq!(caches, [2]);
            assert_eq!(cost.cache_bytes().text(checked.dims_mut()), bytes);
        });
    }
    with(&model(21, "(float[N] x) => (y) { y = Neg(x) }"), &[], |_, cost| assert!(cost.caches.is_empty()));
}

#[test]
fn the_largest_value_of_a_symbol_fits() {
    let graph = model(21, "(float[N, M] x) => (y) <float[4] w = {1, 1, 1, 1}> { v = Add(w, w) y = Exp(x) }");
    with(&graph, &[("M", "2")], |checked, cost| {
        let at = |limit| fit(checked, cost, Executor::Embedded, "N", limit);
        // 16 bytes of weights, and 8 for each row.
        assert_eq!(at(16 + 8 * 5), Ok(Fit::Most(5)));
        assert_eq!(at(16 + 8 * 5 - 1), Ok(Fit::Most(4)));
        assert_eq!(at(20), Ok(Fit::Never(24)));
        let unknown = fit(checked, cost, Executor::Embedded, "K", 100);
        assert!(matches!(unknown, Err(FitError::UnknownSymbol { .. })));
    });
    with(&graph, &[], |checked, cost| {
        let error = fit(checked, cost, Executor::Plain, "N", 100).expect_err("`M` is open");
        assert_eq!(error.to_string(), "the memory also depends on `M`: give it a value with --assume");
    });
}

#[test]
fn weights_are_counted_once() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
        g (float[N] x) => (y) <float[3] w = {1, 2, 3}, int8[5] v = {1, 2, 3, 4, 5}> {
            c = Constant<value = float[2] {1, 2}>() a = f.biased(x) y = f.biased(a)
        }
        <domain: "f", opset_import: ["" : 21]> biased (x) => (y) {
            b = Constant<value_float = 1.0>() y = Add(x, b)
        }"#;
    with(text, &[], |_, cost| {
        let total = cost.weights.total();
        assert_eq!((total.tensors, total.elements, total.bytes), (4, 11, 29));
    });
}
