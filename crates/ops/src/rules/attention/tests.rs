use std::sync::Arc;

use prost::Message;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::universe::Universe;

use crate::catalogue::Standard;
use crate::rules::testing::{conditions, error, errors, infer, infer_y};

/// The type of `y` and the first rule that fails, for a graph that also uses the preview operators.
fn preview(graph: &str) -> (String, Option<String>) {
    let text = format!("<ir_version: 10, opset_import: [\"\": 24, \"ai.onnx.preview\": 1]> {graph}");
    let bytes = typeloom_onnx::text::parse_model(&text).unwrap().encode_to_vec();
    let universe: Arc<Universe> = Universe::standard().clone();
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let mut checked = check(&bytes, &Standard, &universe, &options).unwrap();
    let error = checked.errors().first().map(|error| format!("{:?}", error.kind));
    let y = checked.find("y").unwrap();
    (checked.display_type(y), error)
}

fn flex(attributes: &str) -> String {
    format!(
        "g (float16[b, 8, l, 16] q, float16[b, 2, s, 16] k, float16[b, 2, s, 10] v) => (y) {{ y = ai.onnx.preview.FlexAttention {attributes} (q, k, v) }}"
    )
}

#[test]
fn flex_attention_derives_its_extents() {
    assert_eq!(preview(&flex("")), ("float16[b, 8, l, 10]".to_owned(), None));
    let (_, error) = preview(&flex("").replace("b, 8,", "b, 7,"));
    assert!(error.unwrap().contains("flexattention.heads"));
}

#[test]
fn a_modifier_keeps_the_scores_in_the_precision_of_the_softmax() {
    let modifier = flex("<score_mod = m (float[b, 8, l, s] x) => (z) { z = Relu (x) }>");
    assert_eq!(preview(&modifier), ("float16[b, 8, l, 10]".to_owned(), None));
    let (_, error) = preview(&modifier.replace("(float[b, 8, l, s] x)", "(float16[b, 8, l, s] x)"));
    assert!(error.is_some());
    let flattens =
        flex("<prob_mod = m (x) => (z) { z = GlobalMaxPool (x) }>").replace("b, 8, l, 16", "b, 8, 3, 16");
    let (_, error) = preview(&flattens);
    assert!(error.unwrap().contains("flexattention.modified"));
}

#[test]
fn a_separate_axis_for_heads_gives_an_output_with_heads() {
    let graph = "g (float[b, 8, l, 16] q, float[b, 2, s, 16] k, float[b, 2, s, 10] v) => (y) { y = Attention (q, k, v) }";
    assert_eq!(infer_y(23, graph), "float[b, 8, l, 10]");
    assert_eq!(
        error(23, &graph.replace("b, 8,", "b, 7,")),
        "attention.heads: 7 heads of queries cannot share 2 heads of keys evenly"
    );
    assert!(error(23, &graph.replace("s, 16]", "s, 15]")).contains("are the size of a head"));
}

#[test]
fn packed_heads_are_counted_by_attributes() {
    let graph = "g (float[b, l, 128] q, float[b, s, 32] k, float[b, s, 20] v) => (y) { y = Attention <q_num_heads = 8, kv_num_heads = 2> (q, k, v) }";
    assert_eq!(infer_y(24, graph), "float[b, l, 80]");
    assert!(
        error(24, &graph.replace("s, 20]", "s, 21]")).contains("21 elements, which 2 heads cannot share")
    );
    let bare =
        "g (float[b, l, 128] q, float[b, s, 32] k, float[b, s, 20] v) => (y) { y = Attention (q, k, v) }";
    assert_eq!(error(24, bare), "attention.heads: q_num_heads must be given for operands with 3 axes");
}

#[test]
fn the_cache_grows_by_the_new_keys() {
    let graph = "g (float[b, l, 64] q, float[b, s, 64] k, float[b, s, 64] v, float[b, 4, p, 16] pk, float[b, 4, p, 16] pv)
        => (y, k2, v2, qk) { y, k2, v2, qk = Attention <q_num_heads = 4, kv_num_heads = 4> (q, k, v, \"\", pk, pv) }";
    let types = infer(23, graph);
    assert_eq!(types["y"], "float[b, l, 64]");
    assert_eq!(types["k2"], "float[b, 4, s + p, 16]");
    assert_eq!(types["v2"], "float[b, 4, s + p, 16]");
    assert_eq!(types["qk"], "float[b, 4, l, s + p]");
}

#[test]
fn caches_and_masks_must_fit() {
    let past = "g (float[2, 4, 3, 8] q, float[2, 4, 5, 8] k, float[2, 4, 5, 6] v, float[2, 4, 4, 8] p) => (y) { y = Attention (q, k, v, \"\", p) }";
    assert_eq!(error(23, past), "attention.heads: past keys and past values must be given together");
    let mask = "g (float[2, 4, 3, 8] q, float[2, 4, 5, 8] k, float[2, 4, 5, 6] v, float[3, 4] m) => (y) { y = Attention (q, k, v, m) }";
    assert!(error(23, mask).starts_with("attention.heads: axis 1 of input 3"));
    assert_eq!(infer_y(24, mask), "float[2, 4, 3, 6]");
    let window = "g (float[2, 4, 3, 8] q, float[2, 4, 5, 8] k, float[2, 4, 5, 6] v) => (y) { y = Attention <left_window_size = -2> (q, k, v) }";
    assert_eq!(error(25, window), "attention.ranges: left_window_size is -2, but must be -1 or at least 0");
}

#[test]
fn rotation_keeps_the_shape_and_checks_the_caches() {
    let graph = "g (float[b, 4, l, 8] x, float[50, 4] c, float[50, 4] s, int64[b, l] p) => (y) { y = RotaryEmbedding (x, c, s, p) }";
    assert_eq!(infer_y(23, graph), "float[b, 4, l, 8]");
    assert_eq!(conditions(23, graph), ["l <= 50"]);
    let narrow = graph.replace("[50, 4] s", "[50, 3] s");
    assert!(errors(23, &narrow).iter().any(|error| error.contains("are the rotated pairs")));
    let packed =
        "g (float[b, l, 32] x, float[b, l, 4] c, float[b, l, 4] s) => (y) { y = RotaryEmbedding (x, c, s) }";
    assert_eq!(error(23, packed), "rotaryembedding.pairs: num_heads must be given for an input with 3 axes");
}

#[test]
fn linear_attention_keeps_a_state_for_each_head() {
    let graph = "g (float16[b, t, 64] q, float16[b, t, 32] k, float16[b, t, 20] v)
        => (y, s) { y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\"> (q, k, v) }";
    let types = infer(27, graph);
    assert_eq!(types["y"], "float16[b, t, 40]");
    assert_eq!(types["s"], "float16[b, 2, 16, 10]");
    let gated = graph.replace("linear\"", "gated\"");
    assert_eq!(error(27, &gated), "linearattention.state: update_rule is `gated`, which needs a decay");
}

#[test]
fn the_state_of_a_causal_convolution_is_the_end_of_its_input() {
    let graph = "g (float[b, 4, l] x, float[4, 1, k] w) => (y, s) { y, s = CausalConvWithState (x, w) }";
    let types = infer(27, graph);
    assert_eq!(types["y"], "float[b, 4, l]");
    assert_eq!(types["s"], "float[b, 4, k - 1]");
    assert!(error(27, &graph.replace("[4, 1,", "[5, 1,")).contains("are the channels"));
}

#[test]
fn gate_and_value_are_not_broadcast() {
    assert_eq!(infer_y(28, "g (float[b, 8] a, float[b, 8] v) => (y) { y = SwiGLU (a, v) }"), "float[b, 8]");
    assert!(
        error(28, "g (float[1, 8] a, float[2, 8] v) => (y) { y = SwiGLU (a, v) }")
            .starts_with("swiglu.shape")
    );
}
