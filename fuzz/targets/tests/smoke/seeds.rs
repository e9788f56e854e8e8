//! Small models that together use every construct of the format.

/// Valid models in ONNX's textual syntax.
pub(crate) const TEXTS: &[&str] = &[
    r#"<ir_version: 10, opset_import: ["" : 21], producer_name: "seed", metadata_props: ["k": "v"]>
g (float[N, 3] x, float[3, 4] w, float[4] b) => (float[N, 4] y) <float[1] half = {0.5}> {
  [first] h = MatMul(x, w)
  s = Add(h, b)
  t = Mul(s, half)
  y = Softmax <axis = -1> (t)
}"#,
    r#"<ir_version: 10, opset_import: ["" : 21]>
g (bool c, float[N, 4] x, float[N, 4] z) => (float[N, 4] y) {
  y = If (c) <then_branch = t () => (a) { a = Add(x, z) }, else_branch = e () => (b) { u = Neg(x) b = Mul(u, z) }>
}"#,
    r#"<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, bool c, float[4] x) => (last, all) {
  last, all = Loop (n, c, x) <body = b (int64 i, bool go, float[4] s) => (bool on, float[4] t, float[4] o) {
    on = Identity(go)  t = Add(s, s)  o = Relu(t)
  }>
}"#,
    r#"<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x, float[T, 4] xs) => (last, all) {
  last, all = Scan (x, xs) <num_scan_inputs = 1, body = b (float[4] s, float[4] i) => (t, o) { t = Add(s, i)  o = Relu(t) }>
}"#,
    r#"<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N, 4] x, float[M] v) => (y, z) {
  y = local.twice <alpha: float = 0.5> (x)
  z = local.twice(v)
}
<domain: "local", opset_import: ["" : 21, "local" : 1]>
twice <alpha> (a) => (c) { b = local.once <alpha: float = @alpha> (a)  c = local.once(b) }
<domain: "local", opset_import: ["" : 21]>
once <alpha: float = 1.0> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }"#,
    r#"<ir_version: 10, opset_import: ["" : 21]>
g (seq(float[N]) s, optional(float[K]) o, float[N] x) => (y, e, l, c) {
  i = Constant <value_int = 0> ()
  t = SequenceInsert(s, x, i)
  y = SequenceAt(t, i)
  e = OptionalGetElement(o)
  l = SequenceLength(t)
  c = ConcatFromSequence <axis = 0> (t)
  m = SequenceMap (t) <body = b (float[N] q) => (r) { r = Neg(q) }>
}"#,
    r#"<ir_version: 10, opset_import: ["" : 21]>
g (float[3, 3] x) => (y) <sparse_tensor(float[3, 3]) s = (float[2] {1, 2}, int64[2] {0, 8}), string[2] t = {"a", "b"}> {
  y = Mul(x, s)
  u = StringConcat(t, t)
  v = Constant <value_strings = ["p", "q"]> ()
}"#,
    r#"<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 5]>
g (float[N, 3, H, W] x, float[8, 3, 3, 3] k) => (y) <int64[2] target = {0, -1}, int64[1] axes = {1}> {
  c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x, k)
  p = GlobalAveragePool(c)
  r = Reshape(p, target)
  d = Shape(r)
  g = Gather <axis = 0> (d, axes)
  o = ConstantOfShape(g)
  q = Unsqueeze(o, axes)
  y = Concat <axis = 1> (r, r)
  n = ai.onnx.ml.Normalizer <norm = "L2"> (r)
}"#,
    r#"<ir_version: 10, opset_import: ["" : 21]>
g (float[batch*seq, seq + 1] x, map(int64, float[N]) m, ?u) => (y) { y = Transpose <perm = [1, 0]> (x)  z = Identity(u) }"#,
];

/// The same models, serialized.
pub(crate) fn models() -> Vec<(String, Vec<u8>)> {
    let model = |(index, text): (usize, &&str)| {
        let bytes = typeloom_onnx::text::model_bytes(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        (format!("seed {index}"), bytes)
    };
    TEXTS.iter().enumerate().map(model).collect()
}
