//! Verdicts about small models.

use typeloom_onnx::prost::Message as _;
use typeloom_solver::diagnostic::Code;
use typeloom_solver::model::Options;

use crate::{Outcome, Target};

/// The verdict about a model, and the codes of its diagnostics.
fn verdict(target: &str, text: &str) -> (Outcome, Vec<Code>) {
    let bytes = typeloom_onnx::text::parse_model(text).unwrap().encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    let target = Target::find(target).unwrap();
    let outcome = target.check(&mut checked).outcome();
    (outcome, target.diagnose(&mut checked).iter().map(|diagnostic| diagnostic.code).collect())
}

fn newest(text: &str) -> (Outcome, Vec<Code>) {
    verdict("onnxruntime-1.31", text)
}

/// A graph with operator set `opset`.
fn graph(opset: i64, text: &str) -> String {
    format!(r#"<ir_version: 8, opset_import: ["": {opset}, "ai.onnx.ml": 3, "com.microsoft": 1]> {text}"#)
}

fn rejected(code: Code) -> (Outcome, Vec<Code>) {
    (Outcome::Rejected, vec![code])
}

const RUNS: (Outcome, Vec<Code>) = (Outcome::Runs, Vec::new());

#[test]
fn versions_of_the_file_are_compared_with_those_of_the_target() {
    let model = |ir: i64, opset: i64| {
        format!(
            r#"<ir_version: {ir}, opset_import: ["": {opset}]> g (float[2] x) => (y) {{ y = Relu(x) }}"#
        )
    };
    assert_eq!(newest(&model(13, 26)), RUNS);
    assert_eq!(newest(&model(14, 26)), rejected(Code::TargetIrVersion));
    assert_eq!(newest(&model(13, 27)), rejected(Code::TargetOpset));
    assert_eq!(verdict("onnxruntime-1.24", &model(13, 26)), rejected(Code::TargetOpset));
}

#[test]
fn a_node_needs_a_kernel_for_its_solved_types() {
    let least = |ty: &str| newest(&graph(13, &format!("g ({ty}[2] x) => (y) {{ y = Min(x, x) }}")));
    assert_eq!(least("float"), RUNS);
    assert_eq!(least("float16"), RUNS);
    assert_eq!(least("int16"), rejected(Code::TargetKernel));
    let inferred = graph(13, "g (float[2] x) => (y) { h = Cast<to = 5>(x) y = Min(h, h) }");
    assert_eq!(newest(&inferred), rejected(Code::TargetKernel));
}

#[test]
fn nodes_are_cast_from_half_precision_only_if_float_has_a_kernel() {
    assert_eq!(newest(&graph(13, "g (float16[2] x) => (y) { y = Acos(x) }")), RUNS);
    let mixed = graph(15, "g (float16[2] x, int16[2] z) => (y) { y = Pow(x, z) }");
    assert_eq!(newest(&mixed), rejected(Code::TargetKernel));
    let made = graph(13, "g () => (y) { y = RandomNormal<shape = [2], dtype = 10>() }");
    assert_eq!(newest(&made), rejected(Code::TargetKernel));
}

#[test]
fn bodies_of_operators_run_in_the_versions_of_the_table() {
    let drawn = |opset| newest(&graph(opset, "g (float[2] x) => (y) { y = Bernoulli(x) }"));
    assert_eq!(drawn(21), RUNS);
    assert_eq!(drawn(22), rejected(Code::TargetKernel));
    let gelu = |mode: &str| {
        newest(&graph(
            20,
            &format!(r#"g (double[2] x) => (y) {{ y = Gelu<approximate = "{mode}">(x) }}"#),
        ))
    };
    assert_eq!(gelu("tanh"), RUNS);
    assert_eq!(gelu("none"), rejected(Code::TargetKernel));
}

#[test]
fn the_loader_has_no_operators_of_other_domains() {
    let unknown = graph(13, "g (float[2] x) => (y) { y = com.microsoft.Fused(x) }");
    assert_eq!(newest(&unknown), rejected(Code::TargetOperator));
    let preview = r#"<ir_version: 8, opset_import: ["": 13, "ai.onnx.preview.training": 1]>
        g (float R, int64 T, float[1] X, float[1] G, float[1] V) => (a, b) {
            a, b = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 0.1, mode = "standard", norm_coefficient = 0.1>(R, T, X, G, V)
        }"#;
    assert_eq!(newest(preview), rejected(Code::TargetOperator));
}

#[test]
fn element_types_and_missing_types_are_found_at_values() {
    let complex = graph(13, "g (float[2] x, complex64[2] z) => (y) { y = Relu(x) }");
    assert_eq!(newest(&complex), rejected(Code::TargetElementType));
    let untyped = graph(13, "g (float[2] x, z) => (y) { y = Add(x, z) }");
    assert_eq!(newest(&untyped), rejected(Code::TargetElementType));
}

#[test]
fn attributes_are_compared_with_the_signature_and_the_rules_of_kernels() {
    let newer = graph(
        24,
        "g (float[1, 2, 3, 4] x) => (y) { y = Attention<left_window_size = 1, is_causal = 1>(x, x, x) }",
    );
    assert_eq!(newest(&newer), rejected(Code::TargetAttribute));
    let pooled = |pad: i64| {
        let node = format!("MaxPool<kernel_shape = [2, 2], pads = [1, 1, {pad}, 1]>(x)");
        newest(&graph(13, &format!("g (float[1, 1, 5, 5] x) => (y) {{ y = {node} }}")))
    };
    assert_eq!(pooled(1), RUNS);
    assert_eq!(pooled(2), rejected(Code::TargetAttribute));
    let resized = |target| {
        let text = "g (float[1, 1, 2, 2] x) => (y) <float[2] s = {3, 2}> { y = Resize<axes = [-2, -1]>(x, \"\", s) }";
        verdict(target, &graph(18, text))
    };
    assert_eq!(resized("onnxruntime-1.31"), RUNS);
    assert_eq!(resized("onnxruntime-1.24"), rejected(Code::TargetAttribute));
}

#[test]
fn a_fused_node_needs_a_kernel_too() {
    let product = |target, ty: &str, perm: &str| {
        let node = format!("t = Transpose{perm}(x) y = MatMul(t, x)");
        verdict(target, &graph(13, &format!("g ({ty}[3, 3, 3] x) => (y) {{ {node} }}")))
    };
    assert_eq!(product("onnxruntime-1.31", "double", "<perm = [0, 2, 1]>"), RUNS);
    assert_eq!(product("onnxruntime-1.24", "float", "<perm = [0, 2, 1]>"), RUNS);
    assert_eq!(
        product("onnxruntime-1.24", "double", "<perm = [0, 2, 1]>"),
        rejected(Code::TargetOperator)
    );
    assert_eq!(product("onnxruntime-1.24", "double", "<perm = [2, 1, 0]>"), RUNS);
    assert_eq!(product("onnxruntime-1.24", "double", ""), RUNS);
}

#[test]
fn a_result_that_depends_on_the_machine_is_undecided() {
    let normalized = |locale: &str| {
        let node = format!(r#"StringNormalizer<{locale} case_change_action = "LOWER">(x)"#);
        newest(&graph(13, &format!("g (string[2] x) => (y) {{ y = {node} }}")))
    };
    assert_eq!(normalized(""), (Outcome::Undecided, vec![Code::TargetUndecided]));
    assert_eq!(normalized(r#"locale = "C","#), RUNS);
}

#[test]
fn a_branch_that_is_never_taken_needs_no_kernel() {
    let branches = |condition: &str| {
        let text = format!(
            "g (int16[2] x, bool input) => (y) <bool stored = {{1}}> {{
                y = If({condition}) <
                    then_branch = then () => (a) {{ a = Identity(x) }},
                    else_branch = else () => (b) {{ b = Min(x, x) }}
                >
            }}"
        );
        newest(&graph(13, &text))
    };
    assert_eq!(branches("stored"), RUNS);
    assert_eq!(branches("input"), rejected(Code::TargetKernel));
}

#[test]
fn nodes_of_functions_have_the_versions_that_the_model_imports() {
    let called = |model: i64, function: i64| {
        newest(&format!(
            r#"<ir_version: 8, opset_import: ["": {model}, "l": 1]> g (float[2] x) => (y) {{ y = l.f(x) }}
            <domain: "l", opset_import: ["": {function}]> f (a) => (b) {{ b = Add(a, a) }}"#
        ))
    };
    assert_eq!(called(13, 6), RUNS);
    assert_eq!(called(6, 13), rejected(Code::TargetKernel));
    let short = r#"<ir_version: 8, opset_import: ["": 13, "l": 1]> g (float[2] x) => (y) { y = l.f(x) }
        <domain: "l", opset_import: ["": 13]> f (a) => (b, c) { b = Relu(a) c = Neg(a) }"#;
    assert_eq!(newest(short), rejected(Code::TargetOperator));
}
