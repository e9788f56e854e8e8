//! Verdicts about small models.

use typeloom_onnx::prost::Message as _;
use typeloom_solver::diagnostic::{Code, MAX_LISTED};
use typeloom_solver::model::Options;

use crate::{Outcome, Target};

/// The verdict about a model, and the codes of its diagnostics.
fn verdict(target: &str, text: &str) -> (Outcome, Vec<Code>) {
    let bytes = typeloom_onnx::text::parse_model(text).unwrap().encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    let target = Target::named(target).unwrap();
    let outcome = target.check(&mut checked).outcome();
    (outcome, target.diagnose(&mut checked).iter().map(|diagnostic| diagnostic.code).collect())
}

/// The verdict of one of the newer versions.
fn judged(text: &str) -> (Outcome, Vec<Code>) {
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
        format!(r#"<ir_version: {ir}, opset_import: ["": {opset}]> g (float[2] x) => (y) {{ y = Relu(x) }}"#)
    };
    assert_eq!(judged(&model(13, 26)), RUNS);
    assert_eq!(judged(&model(14, 26)), rejected(Code::TargetIrVersion));
    assert_eq!(judged(&model(13, 27)), rejected(Code::TargetOpset));
    assert_eq!(verdict("onnxruntime-1.24", &model(13, 26)), rejected(Code::TargetOpset));
}

#[test]
fn a_node_needs_a_kernel_for_its_solved_types() {
    let least = |ty: &str| judged(&graph(13, &format!("g ({ty}[2] x) => (y) {{ y = Min(x, x) }}")));
    assert_eq!(least("float"), RUNS);
    assert_eq!(least("float16"), RUNS);
    assert_eq!(least("int16"), rejected(Code::TargetKernel));
    let inferred = graph(13, "g (float[2] x) => (y) { h = Cast<to = 5>(x) y = Min(h, h) }");
    assert_eq!(judged(&inferred), rejected(Code::TargetKernel));
}

#[test]
fn nodes_are_cast_from_half_precision_only_if_float_has_a_kernel() {
    assert_eq!(judged(&graph(13, "g (float16[2] x) => (y) { y = Acos(x) }")), RUNS);
    let mixed = graph(15, "g (float16[2] x, int16[2] z) => (y) { y = Pow(x, z) }");
    assert_eq!(judged(&mixed), rejected(Code::TargetKernel));
    let made = graph(13, "g () => (y) { y = RandomNormal<shape = [2], dtype = 10>() }");
    assert_eq!(judged(&made), rejected(Code::TargetKernel));
}

#[test]
fn bodies_of_operators_run_in_the_versions_of_the_table() {
    let drawn = |opset| judged(&graph(opset, "g (float[2] x) => (y) { y = Bernoulli(x) }"));
    assert_eq!(drawn(21), RUNS);
    assert_eq!(drawn(22), rejected(Code::TargetKernel));
    let gelu = |mode: &str| {
        judged(&graph(20, &format!(r#"g (double[2] x) => (y) {{ y = Gelu<approximate = "{mode}">(x) }}"#)))
    };
    assert_eq!(gelu("tanh"), RUNS);
    assert_eq!(gelu("none"), rejected(Code::TargetKernel));
}

#[test]
fn the_loader_has_no_operators_of_other_domains() {
    let unknown = graph(13, "g (float[2] x) => (y) { y = com.microsoft.Fused(x) }");
    assert_eq!(judged(&unknown), rejected(Code::TargetOperator));
    let preview = r#"<ir_version: 8, opset_import: ["": 13, "ai.onnx.preview.training": 1]>
        g (float R, int64 T, float[1] X, float[1] G, float[1] V) => (a, b) {
            a, b = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 0.1, mode = "standard", norm_coefficient = 0.1>(R, T, X, G, V)
        }"#;
    assert_eq!(judged(preview), rejected(Code::TargetOperator));
}

#[test]
fn element_types_and_missing_types_are_found_at_values() {
    let complex = graph(13, "g (float[2] x, complex64[2] z) => (y) { y = Relu(x) }");
    assert_eq!(judged(&complex), rejected(Code::TargetElementType));
    let untyped = graph(13, "g (float[2] x, z) => (y) { y = Add(x, z) }");
    assert_eq!(judged(&untyped), rejected(Code::TargetElementType));
}

#[test]
fn attributes_are_compared_with_the_signature_and_the_rules_of_kernels() {
    let newer = graph(
        24,
        "g (float[1, 2, 3, 4] x) => (y) { y = Attention<left_window_size = 1, is_causal = 1>(x, x, x) }",
    );
    assert_eq!(judged(&newer), rejected(Code::TargetAttribute));
    let pooled = |pad: i64| {
        let node = format!("MaxPool<kernel_shape = [2, 2], pads = [1, 1, {pad}, 1]>(x)");
        judged(&graph(13, &format!("g (float[1, 1, 5, 5] x) => (y) {{ y = {node} }}")))
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
    assert_eq!(product("onnxruntime-1.24", "double", "<perm = [0, 2, 1]>"), rejected(Code::TargetOperator));
    assert_eq!(product("onnxruntime-1.24", "double", "<perm = [2, 1, 0]>"), RUNS);
    assert_eq!(product("onnxruntime-1.24", "double", ""), RUNS);
}

#[test]
fn a_rejection_is_listed_after_any_number_of_undecided_nodes() {
    let undecided: String = (0..MAX_LISTED + 1)
        .map(|at| format!(r#"u{at} = StringNormalizer<case_change_action = "LOWER">(x) "#))
        .collect();
    let text = format!("g (string[2] x, int16[2] z) => (y) {{ {undecided} y = Min(z, z) }}");
    let (outcome, codes) = judged(&graph(13, &text));
    assert_eq!((outcome, codes.len()), (Outcome::Rejected, MAX_LISTED));
    assert_eq!(codes.last(), Some(&Code::TargetKernel));
}

#[test]
fn a_result_that_depends_on_the_machine_is_undecided() {
    let normalized = |locale: &str| {
        let node = format!(r#"StringNormalizer<{locale} case_change_action = "LOWER">(x)"#);
        judged(&graph(13, &format!("g (string[2] x) => (y) {{ y = {node} }}")))
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
        judged(&graph(13, &text))
    };
    assert_eq!(branches("stored"), RUNS);
    assert_eq!(branches("input"), rejected(Code::TargetKernel));
}

#[test]
fn nodes_of_functions_have_the_versions_that_the_model_imports() {
    let called = |model: i64, function: i64| {
        judged(&format!(
            r#"<ir_version: 8, opset_import: ["": {model}, "l": 1]> g (float[2] x) => (y) {{ y = l.f(x) }}
            <domain: "l", opset_import: ["": {function}]> f (a) => (b) {{ b = Add(a, a) }}"#
        ))
    };
    assert_eq!(called(13, 6), RUNS);
    assert_eq!(called(6, 13), rejected(Code::TargetKernel));
    let short = r#"<ir_version: 8, opset_import: ["": 13, "l": 1]> g (float[2] x) => (y) { y = l.f(x) }
        <domain: "l", opset_import: ["": 13]> f (a) => (b, c) { b = Relu(a) c = Neg(a) }"#;
    assert_eq!(judged(short), rejected(Code::TargetOperator));
}

const UNDECIDED: Outcome = Outcome::Undecided;

fn outcome(text: &str) -> Outcome {
    judged(text).0
}

#[test]
fn the_model_and_each_function_import_the_domains_of_their_nodes() {
    let model = |imports: &str, function: &str| {
        judged(&format!(
            r#"<ir_version: 8, opset_import: ["": 13{imports}]> g (float[2] x) => (y) {{ y = l.f(x) }}
            <domain: "l", opset_import: ["": 13]> f (a) => (b) {{ b = {function}(a) }}"#
        ))
    };
    assert_eq!(model(r#", "l": 1"#, "Relu"), RUNS);
    assert_eq!(model("", "Relu"), rejected(Code::TargetOperator));
    assert_eq!(model(r#", "l": 1"#, "ai.onnx.Relu"), rejected(Code::TargetOperator));
}

#[test]
fn a_function_calls_no_overload() {
    let model = |overload: &str| {
        judged(&format!(
            r#"<ir_version: 10, opset_import: ["": 22, "l": 1]> g (float[2] x) => (y) {{ y = l.h(x) }}
            <domain: "l", opset_import: ["": 22, "l": 1]> h (a) => (b) {{ b = l.f{overload}(a) }}
            <domain: "l", overload: "o", opset_import: ["": 22]> f (a) => (b) {{ b = Relu(a) }}
            <domain: "l", opset_import: ["": 22]> f (a) => (b) {{ b = Relu(a) }}"#
        ))
    };
    assert_eq!(model(""), RUNS);
    assert_eq!(model(":o"), rejected(Code::TargetOperator));
}

#[test]
fn a_nested_graph_has_no_long_name_of_the_main_domain() {
    let model = |domain: &str| {
        let branch = format!("then_branch = t () => (a) {{ a = {domain}Relu(x) }}");
        let other = "else_branch = e () => (b) { b = Neg(x) }";
        judged(&graph(13, &format!("g (float[2] x, bool c) => (y) {{ y = If(c) <{branch}, {other}> }}")))
    };
    assert_eq!(model(""), RUNS);
    assert_eq!(model("ai.onnx."), rejected(Code::TargetOperator));
}

#[test]
fn an_if_with_a_stored_condition_needs_no_kernel_itself() {
    let model = |condition: &str, stored: &str| {
        let branch = |name: &str| {
            format!(
                "{name}_branch = {name} () => (optional(seq(float[2])) {name}_a) {{ {name}_a = Optional(x) }}"
            )
        };
        let branches = format!("{}, {}", branch("then"), branch("else"));
        let inputs = format!("seq(float[2]) x{condition}");
        let text = format!("g ({inputs}) => (y) {stored} {{ y = If(c) <{branches}> }}");
        verdict("onnxruntime-1.24", &graph(15, &text)).0
    };
    assert_eq!(model(", bool c", ""), Outcome::Rejected);
    assert_ne!(model("", "<bool c = {1}>"), Outcome::Rejected);
}

#[test]
fn an_identity_that_the_loader_removes_needs_no_kernel() {
    let copied = |made: &str| outcome(&graph(25, &format!("g (int4[2] x) => (y) {{ {made} }}")));
    assert_eq!(copied("y = Identity(x)"), Outcome::Rejected);
    assert_eq!(copied("h = Cast<to = 1>(x) h4 = Cast<to = 22>(h) y = Identity(h4)"), UNDECIDED);
    assert_eq!(copied("h = Identity(x) y = Cast<to = 1>(h)"), UNDECIDED);
}

#[test]
fn old_files_have_no_initializers_that_nothing_reads() {
    let model = |ir: i64, node: &str| {
        judged(&format!(
            r#"<ir_version: {ir}, opset_import: ["": 9]> g (float[2] x) => (y) <float[2] w = {{1, 2}}> {{ y = {node} }}"#
        ))
    };
    assert_eq!(model(3, "Add(x, w)"), RUNS);
    assert_eq!(model(4, "Relu(x)"), RUNS);
    assert_eq!(model(3, "Relu(x)"), rejected(Code::TargetOperator));
}

#[test]
fn a_constant_of_an_unknown_type_that_nothing_reads_is_undecided() {
    let model = |node: &str| {
        outcome(&graph(22, &format!("g (float[2] x) => (y) <complex64[1] w = {{1, 2}}> {{ {node} }}")))
    };
    assert_eq!(model("y = Relu(x)"), UNDECIDED);
    assert_eq!(model("y = Relu(x) z = Identity(w)"), Outcome::Rejected);
}

#[test]
fn sparse_initializers_make_kernels_undecided() {
    use typeloom_onnx::messages::{SparseTensorProto, TensorProto};

    let text =
        graph(13, "g (int64[2] i) => (y) <float[1] data = {1}, int64[1] at = {2}> { y = Gather(data, i) }");
    let mut model = typeloom_onnx::text::parse_model(&text).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let [values, indices]: [TensorProto; 2] = std::mem::take(&mut graph.initializer).try_into().unwrap();
    let sparse = SparseTensorProto {
        values: Some(values),
        indices: Some(indices),
        dims: vec![5],
        ..SparseTensorProto::default()
    };
    graph.sparse_initializer.push(sparse);
    let bytes = model.encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    let target = Target::named("onnxruntime-1.31").unwrap();
    assert_eq!(target.check(&mut checked).outcome(), UNDECIDED);
}

#[test]
fn attributes_are_given_once_and_required_ones_at_all() {
    let transposed = |attributes: &str| {
        judged(&graph(13, &format!("g (float[2, 2] x) => (y) {{ y = Transpose{attributes}(x) }}")))
    };
    assert_eq!(transposed("<perm = [1, 0]>"), RUNS);
    assert_eq!(transposed("<perm = [1, 0], perm = [1, 0]>"), rejected(Code::TargetOperator));
    let unknown =
        |op: &str| judged(&graph(22, &format!("g (float[2] x) => (y) {{ y = {op}<other = 1>(x, x) }}")));
    assert_eq!(unknown("LayerNormalization"), RUNS);
    assert_eq!(unknown("Pow"), rejected(Code::TargetAttribute));
}

#[test]
fn required_ports_are_not_left_out() {
    let pooled = |outputs: &str| {
        let node = format!("{outputs} = MaxPool<kernel_shape = [1]>(x)");
        judged(&graph(13, &format!("g (float[1, 1, 6] x) => (y) {{ {node} }}")))
    };
    assert_eq!(pooled("y"), RUNS);
    assert_eq!(pooled(r#""", y"#), rejected(Code::TargetOperator));
    let least = |inputs: &str| outcome(&graph(13, &format!("g (float[2] x) => (y) {{ y = Min({inputs}) }}")));
    assert_eq!(least("x, x"), Outcome::Runs);
    assert_eq!(least(r#""", x"#), UNDECIDED);
}

#[test]
fn a_list_of_inputs_that_ends_with_an_empty_name_is_undecided_for_kernels_that_count() {
    let model =
        |node: &str| outcome(&graph(18, &format!("g (float[6] x, float[6] w) => (y) {{ y = {node} }}")));
    assert_eq!(model("LayerNormalization(x, w)"), Outcome::Runs);
    assert_eq!(model(r#"LayerNormalization(x, w, "")"#), UNDECIDED);
    assert_eq!(model(r#"Clip(x, "", "")"#), Outcome::Runs);
    assert_eq!(
        outcome(&graph(18, r#"g (float[6] x) => (y, z) { y, z = Split<num_outputs = 2>(x, "") }"#)),
        UNDECIDED
    );
}

#[test]
fn doubts_about_attributes_and_ranks_are_undecided() {
    let model =
        |node: &str| outcome(&graph(14, &format!("g (float[3, 2, 4] x, float r) => (y) {{ y = {node} }}")));
    assert_eq!(model("ai.onnx.ml.Scaler<offset = [1.0], scale = [1.0]>(x)"), Outcome::Runs);
    assert_eq!(model("ai.onnx.ml.Scaler(x)"), UNDECIDED);
    assert_eq!(model("Dropout(x, r)"), Outcome::Runs);
    let ratio = graph(14, "g (float[3] x, float[1] r) => (y) { y = Dropout(x, r) }");
    assert_eq!(outcome(&ratio), UNDECIDED);
    assert_eq!(model("Transpose<perm = [2, 0, 1]>(x)"), Outcome::Runs);
    assert_eq!(model(r#"com.microsoft.FusedGemm<activation = "Relu">(x, x)"#), UNDECIDED);
}

#[test]
fn common_nodes_are_decided() {
    let model = |node: &str| {
        judged(&graph(18, &format!("g (float[1, 3, 9, 9] x, float[4, 3, 3, 3] w) => (y) {{ y = {node} }}")))
    };
    for node in [
        "Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x, w)",
        "MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x)",
        "AveragePool<kernel_shape = [7, 7], pads = [3, 3, 3, 3]>(x)",
        "LRN<size = 5>(x)",
        "Transpose<perm = [0, 2, 3, 1]>(x)",
        "DepthToSpace<blocksize = 1>(x)",
    ] {
        assert_eq!(model(node), RUNS, "{node}");
    }
}

#[test]
fn computed_sizes_of_a_resize_have_a_known_number() {
    let model = |data: &str, sizes: &str| {
        let text = format!(r#"g (float{data} x, int64{sizes} s) => (y) {{ y = Resize(x, "", "", s) }}"#);
        outcome(&graph(19, &text))
    };
    assert_eq!(model("[1, 1, 2, 2]", "[4]"), Outcome::Runs);
    assert_eq!(model("[1, 1, 2, 2]", "[n]"), UNDECIDED);
    assert_eq!(model("[]", "[n]"), Outcome::Runs);
}

#[test]
fn a_wrong_body_prevents_a_cast() {
    let model = |ty: &str| {
        judged(&graph(13, &format!("g ({ty}[1, 2, 3, 3] x) => (y) {{ y = MeanVarianceNormalization(x) }}")))
    };
    assert_eq!(model("float"), RUNS);
    assert_eq!(model("float16"), rejected(Code::TargetKernel));
}

#[test]
fn lists_of_a_tree_ensemble_have_one_length() {
    let model = |modes: &str| {
        let nodes =
            "nodes_falsenodeids = [0], nodes_featureids = [0], nodes_nodeids = [0], nodes_treeids = [0],
            nodes_truenodeids = [0], nodes_values = [0.0], target_ids = [0], target_nodeids = [0],
            target_treeids = [0], target_weights = [1.0], n_targets = 1";
        let node = format!("ai.onnx.ml.TreeEnsembleRegressor<{nodes}, nodes_modes = [{modes}]>(x)");
        outcome(&graph(13, &format!("g (float[2, 1] x) => (y) {{ y = {node} }}")))
    };
    assert_eq!(model(r#""LEAF""#), Outcome::Runs);
    assert_eq!(model(r#""LEAF", "LEAF""#), UNDECIDED);
}

#[test]
fn a_loop_passes_a_condition_of_the_declared_rank() {
    let model = |condition: &str| {
        let body =
            "body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) { d = Identity(c) t = Relu(s) }";
        let text =
            format!("g (float[2] x, int64 n, bool{condition} c) => (y) {{ y = Loop(n, c, x) <{body}> }}");
        outcome(&graph(13, &text))
    };
    assert_eq!(model(""), Outcome::Runs);
    assert_eq!(model("[1]"), UNDECIDED);
}

#[test]
fn a_node_that_only_extents_depend_on_may_be_removed() {
    let model =
        |read: &str| outcome(&graph(13, &format!("g (int16[2] x) => (y) {{ h = Min(x, x) {read} }}")));
    assert_eq!(model("y = Abs(h)"), Outcome::Rejected);
    assert_eq!(model("y = Shape(h)"), UNDECIDED);
    assert_eq!(model("k = Abs(h) y = Shape(k)"), UNDECIDED);
    let text = "g (float[2] x, int64[1] s) => (y) { k = Relu(s) y = Reshape(x, k) }";
    assert_eq!(outcome(&graph(14, text)), UNDECIDED);
}

#[test]
fn a_function_that_calls_another_one_may_reject_rare_element_types() {
    let model = |ty: &str| {
        outcome(&format!(
            r#"<ir_version: 10, opset_import: ["": 25, "l": 1]> g (float[2] x, {ty}[2] z) => (y) {{ y = l.h(x, z) }}
            <domain: "l", opset_import: ["": 25, "l": 1]> h (a, b) => (c) {{ c = l.f(a, b) }}
            <domain: "l", opset_import: ["": 25]> f (a, b) => (c) {{ c = CastLike(a, b) }}"#
        ))
    };
    assert_eq!(model("int8"), Outcome::Runs);
    assert_eq!(model("int2"), UNDECIDED);
}

#[test]
fn a_support_vector_machine_needs_its_attributes() {
    let node = "ai.onnx.ml.SVMRegressor<coefficients = [1.0], rho = [0.0], n_supports = 0>(x)";
    assert_eq!(outcome(&graph(13, &format!("g (float[2, 1] x) => (y) {{ y = {node} }}"))), UNDECIDED);
}

#[test]
fn a_loop_has_all_outputs_of_its_graph() {
    let model = |outputs: &str| {
        let body = "body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[2] u) { d = Identity(c) t = Relu(s) u = Neg(s) }";
        let text = format!("g (float[2] x, int64 n, bool c) => (y) {{ {outputs} = Loop(n, c, x) <{body}> }}");
        outcome(&graph(13, &text))
    };
    assert_eq!(model("y, z"), Outcome::Runs);
    assert_eq!(model("y"), UNDECIDED);
}

#[test]
fn directions_of_a_scan_fit_its_inputs() {
    let model = |directions: &str| {
        let body =
            "body = b (float[2] s, float[2] e) => (float[2] t, float[2] u) { t = Add(s, e) u = Identity(t) }";
        let node = format!("y, z = Scan(i, x) <num_scan_inputs = 1, {directions} {body}>");
        outcome(&graph(11, &format!("g (float[2] i, float[3, 2] x) => (y, z) {{ {node} }}")))
    };
    assert_eq!(model(""), Outcome::Runs);
    assert_eq!(model("scan_input_directions = [1],"), Outcome::Runs);
    assert_eq!(model("scan_input_directions = [2],"), UNDECIDED);
    assert_eq!(model("scan_input_directions = [0, 1],"), UNDECIDED);
}

#[test]
fn a_scan_over_unknown_extents_is_undecided() {
    let model = |extent: &str| {
        let body = "body = b (s, e) => (t, u) { t = Add(s, e) u = Identity(t) }";
        let node = format!("y, z = Scan(i, x) <num_scan_inputs = 1, {body}>");
        outcome(&graph(11, &format!("g (float[2] i, float[{extent}, 2] x) => (y, z) {{ {node} }}")))
    };
    assert_eq!(model("3"), Outcome::Runs);
    assert_eq!(model("n"), UNDECIDED);
}

#[test]
fn a_scan_whose_state_changes_is_undecided() {
    let model = |extent: i64| {
        let body = "body = b (s, e) => (t, u) { t = Add(s, e) u = Identity(t) }";
        let node = format!("y, z = Scan(i, x) <num_scan_inputs = 1, {body}>");
        outcome(&graph(11, &format!("g (float[{extent}] i, float[3, 2] x) => (y, z) {{ {node} }}")))
    };
    assert_eq!(model(2), Outcome::Runs);
    assert_ne!(model(1), Outcome::Runs);
}

#[test]
fn a_split_of_a_new_version_has_a_number_of_parts() {
    let called = |model: i64| {
        outcome(&format!(
            r#"<ir_version: 8, opset_import: ["": {model}, "l": 1]> g (float[6] x) => (y, z) {{ y, z = l.f(x) }}
            <domain: "l", opset_import: ["": 13]> f (a) => (b, c) {{ b, c = Split(a) }}"#
        ))
    };
    assert_eq!(called(13), Outcome::Runs);
    assert_eq!(called(18), UNDECIDED);
}

#[test]
fn a_reshape_of_no_elements_is_undecided() {
    let model = |extent: i64| {
        let text = format!("g (float[2, {extent}] x) => (y) <int64[1] s = {{-1}}> {{ y = Reshape(x, s) }}");
        outcome(&graph(13, &text))
    };
    assert_eq!(model(3), Outcome::Runs);
    assert_eq!(model(0), UNDECIDED);
}

#[test]
fn computed_and_given_pads_exclude_each_other() {
    let model = |pads: &str| {
        let node = format!(r#"Conv<auto_pad = "VALID"{pads}>(x, w)"#);
        outcome(&graph(13, &format!("g (float[1, 1, 5] x, float[1, 1, 3] w) => (y) {{ y = {node} }}")))
    };
    assert_eq!(model(""), Outcome::Runs);
    assert_eq!(model(", pads = [0, 0]"), UNDECIDED);
}

#[test]
fn the_lists_of_a_window_have_one_length() {
    let model = |strides: &str| {
        let node = format!("com.microsoft.NhwcMaxPool<kernel_shape = [2], strides = {strides}>(x)");
        outcome(&graph(17, &format!("g (int8[] x) => (y) {{ y = {node} }}")))
    };
    assert_eq!(model("[2]"), Outcome::Runs);
    assert_eq!(model("[2, 1]"), UNDECIDED);
}

#[test]
fn an_if_decided_by_constants_has_one_of_them() {
    let model = |condition: &str| {
        let branches = "then_branch = t () => (a) { a = Neg(x) }, else_branch = e () => (b) { b = Abs(x) }";
        outcome(&graph(13, &format!("g (float[2] x) => (y) <bool{condition}> {{ y = If(c) <{branches}> }}")))
    };
    assert_eq!(model("[1] c = {1}"), Outcome::Runs);
    assert_ne!(model("[2] c = {1, 0}"), Outcome::Runs);
}

#[test]
fn an_unusual_stash_type_is_undecided() {
    let model = |stash: i64| {
        let node = format!("GroupNormalization<num_groups = 2, stash_type = {stash}>(a, b, b)");
        outcome(&graph(21, &format!("g (float[3, 4, 2, 2] a, float[4] b) => (y) {{ y = {node} }}")))
    };
    assert_eq!(model(1), Outcome::Runs);
    assert_eq!(model(0), UNDECIDED);
}

#[test]
fn the_default_axis_of_old_versions_is_an_axis_of_the_input() {
    let model = |opset: i64, shape: &str| {
        outcome(&graph(opset, &format!("g (float{shape} x) => (y) {{ y = Hardmax(x) }}")))
    };
    assert_eq!(model(11, "[2, 2]"), Outcome::Runs);
    assert_eq!(model(11, "[2]"), UNDECIDED);
    assert_eq!(model(13, "[2]"), Outcome::Runs);
}

#[test]
fn blocks_of_quantized_weights_have_a_listed_size() {
    let model = |target: &str, block: i64, bits: i64| {
        let node = format!(
            "com.microsoft.MatMulNBits<K = 1024, N = 8, block_size = {block}, bits = {bits}>(a, b, s)"
        );
        verdict(
            target,
            &graph(21, &format!("g (float[2, 1024] a, uint8[] b, float[] s) => (y) {{ y = {node} }}")),
        )
    };
    assert_eq!(model("onnxruntime-1.32", 512, 4), RUNS);
    assert_eq!(model("onnxruntime-1.31", 512, 4), rejected(Code::TargetAttribute));
    assert_eq!(model("onnxruntime-1.32", 48, 4), rejected(Code::TargetAttribute));
    assert_eq!(model("onnxruntime-1.24", 48, 4), RUNS);
    assert_eq!(model("onnxruntime-1.32", 32, 3), rejected(Code::TargetAttribute));
    assert_eq!(model("onnxruntime-1.32", 512, 2), rejected(Code::TargetAttribute));
    assert_eq!(model("onnxruntime-1.32", 256, 2), RUNS);
}

#[test]
fn zero_points_of_eight_bits_are_integers_in_the_newest_version() {
    let model = |target: &str, inputs: &str| {
        let node =
            format!("com.microsoft.MatMulNBits<K = 64, N = 8, block_size = 32, bits = 8>(a, b, s{inputs})");
        let ports = "float[2, 64] a, uint8[] b, float[] s, uint8[] z, float[] f, float[8] c";
        verdict(target, &graph(21, &format!("g ({ports}) => (y) {{ y = {node} }}")))
    };
    assert_eq!(model("onnxruntime-1.32", ", z"), RUNS);
    assert_eq!(model("onnxruntime-1.32", ", f"), rejected(Code::TargetAttribute));
    assert_eq!(model("onnxruntime-1.32", r#", "", "", c"#), RUNS);
    assert_eq!(model("onnxruntime-1.31", ", f"), RUNS);
}

#[test]
fn weights_that_the_loader_packs_have_the_shape_of_the_attributes() {
    let model = |packed: i64, element: &str| {
        let node = format!(
            "com.microsoft.MatMulNBits<K = 16, N = 1, block_size = 16, bits = 2, weight_prepacked = {packed}>(a, b, s)"
        );
        judged(&graph(
            21,
            &format!(
                "g ({element}[2, 16] a, {element}[1] s) => (y) <uint8[4] b = {{0, 0, 0, 0}}> {{ y = {node} }}"
            ),
        ))
    };
    assert_eq!(model(1, "float"), rejected(Code::TargetOperator));
    assert_eq!(model(1, "float16").0, UNDECIDED);
    let bias = |shape: &str| {
        let node = r#"com.microsoft.MatMulNBits<K = 16, N = 1, block_size = 16>(a, b, s, "", "", c)"#;
        judged(&graph(
            21,
            &format!(
                "g (float[2, 16] a, uint8[1, 1, 8] b, float[1] s, float{shape} c) => (y) {{ y = {node} }}"
            ),
        ))
    };
    assert_eq!(bias("[1]"), RUNS);
    assert_eq!(bias("[]"), rejected(Code::TargetOperator));
}

/// A model of opset 21 with quantized values, a zero point `z` of int8 and a scale `s`.
fn quantized(target: &str, text: &str) -> Outcome {
    let model = format!(
        "g (float[4, 8] x) => (y) <float s = {{1}}, int8 z = {{0}}, int8 other = {{1}}> {{ {text} }}"
    );
    verdict(target, &graph(21, &model)).0
}

#[test]
fn an_int8_pair_that_the_loader_makes_unsigned_is_undecided() {
    let model =
        |text: &str| quantized("onnxruntime-1.31", &format!("q = QuantizeLinear<output_dtype = 3>({text}"));
    assert_eq!(model("x, s, z) y = DequantizeLinear(q, s, z)"), UNDECIDED);
    assert_eq!(model("x, s, z) c = Identity(q) y = DequantizeLinear(c, s)"), UNDECIDED);
    assert_eq!(model("x, s) y = DequantizeLinear(q, s)"), Outcome::Runs);
    assert_eq!(model("x, s, z) y = DequantizeLinear(q, s, other)"), Outcome::Runs);
    assert_eq!(
        model("x, s, z) d = DequantizeLinear(q, s, z) c = Cast<to = 1>(q) y = Add(c, d)"),
        Outcome::Runs
    );
    let moved = "t = Transpose(x) y = QuantizeLinear<output_dtype = 3>(t, s, z)";
    assert_eq!(quantized("onnxruntime-1.24", moved), UNDECIDED);
}

#[test]
fn an_int8_node_that_the_loader_moves_is_undecided() {
    let model = |target: &str, text: &str| {
        quantized(target, &format!("q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) {text}"))
    };
    assert_eq!(model("onnxruntime-1.31", "t = Transpose(d) y = Sqrt(t)"), UNDECIDED);
    assert_eq!(model("onnxruntime-1.24", "t = Transpose(d) y = Sqrt(t)"), Outcome::Runs);
    assert_eq!(model("onnxruntime-1.31", "t = Flatten(d) y = Sqrt(t)"), Outcome::Runs);
    assert_eq!(model("onnxruntime-1.31", "t = Transpose(d) y = QuantizeLinear(t, s, z)"), Outcome::Runs);
    let weights = "w = Constant<value = int8[8, 1] {1, 1, 1, 1, 1, 1, 1, 1}>() d = DequantizeLinear(w, s, z)
        t = Transpose(d) y = Add(t, x)";
    assert_eq!(quantized("onnxruntime-1.31", weights), Outcome::Runs);
}

#[test]
fn a_node_on_which_the_loader_crashes_is_undecided() {
    let model = |target: &str, perm: &str| {
        let nodes = format!("d = DequantizeLinear<axis = 0>(q, s) y = Transpose{perm}(d)");
        verdict(target, &graph(21, &format!("g (int8[2, 3] q, float[2] s) => (y) {{ {nodes} }}"))).0
    };
    assert_eq!(model("onnxruntime-1.24", ""), UNDECIDED);
    assert_eq!(model("onnxruntime-1.24", "<perm = [1, 0]>"), Outcome::Runs);
    assert_eq!(model("onnxruntime-1.31", ""), Outcome::Runs);
}

#[test]
fn a_quantized_node_that_the_loader_fuses_is_undecided() {
    let model = |node: &str| {
        let pair = "q = QuantizeLinear<output_dtype = 3>(x, s) d = DequantizeLinear(q, s)";
        quantized(
            "onnxruntime-1.31",
            &format!("{pair} h = {node} y = QuantizeLinear<output_dtype = 3>(h, s)"),
        )
    };
    assert_eq!(model("Sigmoid(d)"), UNDECIDED);
    assert_eq!(model("Sigmoid(x)"), Outcome::Runs);
    assert_eq!(model("Sqrt(d)"), Outcome::Runs);
    let clipped = |element: &str| {
        let text = format!(
            "g (float[4, 8] x) => (y) <float s = {{1}}, {element} z = {{0}}> {{ h = Clip(x) y = QuantizeLinear(h, s, z) }}"
        );
        outcome(&graph(21, &text))
    };
    assert_eq!(clipped("uint4"), UNDECIDED);
    assert_eq!(clipped("uint16"), Outcome::Runs);
    let half = |after: &str| {
        let text = format!("g (float[2] x) => (y) <float16 s = {{15360}}> {{ q = Cast<to = 3>(x) {after} }}");
        outcome(&graph(23, &text))
    };
    assert_eq!(half("d = DequantizeLinear<output_dtype = 10>(q, s) y = Sqrt(d)"), UNDECIDED);
    assert_eq!(half("d = DequantizeLinear(q, s) y = Sqrt(d)"), Outcome::Runs);
}

/// The verdict about a model after its initializer `s` was moved to another file.
fn external(text: &str) -> Outcome {
    use typeloom_onnx::messages::{StringStringEntryProto, tensor_proto::DataLocation};
    let text = if text.starts_with('<') { text.to_owned() } else { graph(21, text) };
    let mut model = typeloom_onnx::text::parse_model(&text).unwrap();
    let initializers = &mut model.graph.as_mut().unwrap().initializer;
    let tensor = initializers.iter_mut().find(|tensor| tensor.name() == "s").unwrap();
    tensor.int64_data.clear();
    tensor.data_location = Some(DataLocation::External as i32);
    tensor.external_data = vec![StringStringEntryProto {
        key: "location".into(),
        value: "s.data".into(),
        ..StringStringEntryProto::default()
    }];
    let bytes = model.encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    Target::named("onnxruntime-1.31").unwrap().check(&mut checked).outcome()
}

#[test]
fn shapes_in_other_files_are_not_read() {
    let model =
        |x: &str, nodes: &str| external(&format!("g ({x} x) => (y) <int64[2] s = {{1, 8}}> {{ {nodes} }}"));
    assert_eq!(model("float[4, 2]", "y = Reshape(x, s)"), Outcome::Rejected);
    assert_eq!(model("float[n, 2]", "y = Reshape(x, s)"), Outcome::Rejected);
    assert_eq!(model("float[]", "y = Expand(x, s)"), Outcome::Runs);
    assert_eq!(model("float[4, 2]", "t = Identity(s) y = Reshape(x, t)"), Outcome::Rejected);
    assert_eq!(model("float[4, 2]", "t = Transpose(s) y = Reshape(x, t)"), UNDECIDED);
    assert_eq!(model("float[2, 9]", "y, z = Split<axis = 1>(x, s)"), Outcome::Rejected);
    assert_eq!(model("float[n, 9]", "y, z = Split<axis = 1>(x, s)"), Outcome::Rejected);
    assert_eq!(model("float[9, n]", "y, z = Split<axis = 1>(x, s)"), Outcome::Runs);
    let branch =
        "then_branch = t () => (a) { a = Reshape(x, s) }, else_branch = e () => (b) { b = Reshape(x, s) }";
    assert_eq!(model("bool c, float[4, 2]", &format!("y = If(c) <{branch}>")), Outcome::Rejected);
}

#[test]
fn a_function_can_be_called_with_a_shape_in_another_file() {
    let model = |argument: &str| {
        let text = format!(
            r#"<ir_version: 8, opset_import: ["": 21, "l": 1]>
            g (float[4, 2] x, int64[2] i) => (y) <int64[2] s = {{1, 8}}> {{ t = Neg(s) y = l.f(x, {argument}) }}
            <domain: "l", opset_import: ["": 21]> f (a, b) => (c) {{ c = Reshape(a, b) }}"#
        );
        external(&text)
    };
    assert_eq!(model("s"), UNDECIDED);
    assert_eq!(model("i"), Outcome::Runs);
}
