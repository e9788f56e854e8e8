//! Types where an output meets an input.

use typeloom_link::error::{ConflictKind, MapError, PossibleCast};
use typeloom_link::{Casts, LinkError, LinkOptions, Narrowing, Unproven};

use typeloom_onnx::messages::NodeProto;

use crate::support::{codes, conflicts, graph, interface, join, joined, mapped};

const FIRST: &str = "a (float[N, M] x) => (float[N, M] y) { y = Relu(x) }";

#[test]
fn a_symbol_of_the_second_model_becomes_an_extent_of_the_first() {
    let second = "b (float[batch, 8] x, float[batch] w) => (float[batch, 8] z, float[batch] v) \
                  { z = Exp(x) v = Exp(w) }";
    let first = "a (float[N, 8] x) => (float[N, 8] y) { y = Relu(x) }";
    let found = interface(first, second, &mapped("y=x"));
    assert_eq!(found, "(x: float[N, 8], w: float[N]) -> (z: float[N, 8], v: float[N])");
}

#[test]
fn an_expression_of_the_second_model_is_solved_for_its_symbol() {
    let first = "a (float[N] x) => (y) { y = Concat <axis = 0> (x, x) }";
    let (linked, _) = joined(
        &graph(first),
        &graph("b (float[\"2*h\"] x, float[h] w) => (z, v) { z = Exp(x) v = Exp(w) }"),
        &mapped("y=x"),
    );
    assert_eq!(linked.interface.to_string(), "(x: float[N], w: float[N]) -> (z: float[2*N], v: float[N])");
    assert_eq!(linked.substitutions[0].value, "N");
}

#[test]
fn equal_symbols_of_unrelated_extents_are_kept_apart() {
    let second = "b (float[M, N] x, float[K] w) => (float[M, N] z, float[K] v) { z = Exp(x) v = Exp(w) }";
    let first = "a (float[N, M] x, float[K] u) => (float[N, M] y, float[K] t) { y = Relu(x) t = Exp(u) }";
    let found = interface(first, second, &mapped("y=x"));
    let expected =
        "(x: float[N, M], u: float[K], w: float[K_2]) -> (t: float[K], z: float[N, M], v: float[K_2])";
    assert_eq!(found, expected);
}

#[test]
fn extents_that_differ_are_rejected_with_both_sides() {
    let first = "a (float[N, 8] x) => (float[N, 8] y) { y = Relu(x) }";
    let second = "b (float[batch, 4] x) => (float[batch, 4] z) { z = Exp(x) }";
    let error = join(&graph(first), &graph(second), &mapped("y=x")).unwrap_err();
    assert_eq!(error.to_string(), "axis 1 of `y` is 8, but `x` needs 4");
    let LinkError::Types(conflicts) = error else { panic!("{error}") };
    assert_eq!(
        (conflicts[0].output.file.as_str(), conflicts[0].output.ty.as_str()),
        ("a.onnx", "float[N, 8]")
    );
    assert_eq!(
        (conflicts[0].input.file.as_str(), conflicts[0].input.ty.as_str()),
        ("b.onnx", "float[batch, 4]")
    );
    assert_eq!(conflicts[0].output.origin, "output of Relu node #0");
}

#[test]
fn a_symbol_of_two_extents_is_rejected_with_both_of_them() {
    let first = "a (float[N] x) => (float[N] y, float[5] z) { y = Relu(x) z = Constant <value = float[5] {1, 2, 3, 4, 5}> () }";
    let second = "b (float[k] p, float[k] q) => (float[k] r) { r = Add(p, q) }";
    let found = conflicts(first, second, &mapped("z=p,y=q"));
    let ConflictKind::Narrowing { symbol, value, bound: Some(bound), .. } = &found[0] else {
        panic!("{found:?}")
    };
    assert_eq!((symbol.as_str(), value.as_str()), ("N", "5"));
    assert_eq!((bound.symbol.as_str(), bound.output.as_str(), bound.axis), ("k", "z", 0));
    let first = "a (float[4] x, float[5] w) => (float[4] y, float[5] z) { y = Relu(x) z = Relu(w) }";
    assert_eq!(codes(first, second, &mapped("z=p,y=q")), ["extent"]);
}

#[test]
fn ranks_and_kinds_are_compared() {
    assert_eq!(codes(FIRST, "b (float[k] x) => (float[k] z) { z = Exp(x) }", &mapped("y=x")), ["rank"]);
    let sequence = "b (seq(float[k, l]) x) => (float[o, p] z) { z = ConcatFromSequence <axis = 0> (x) }";
    assert_eq!(codes(FIRST, sequence, &mapped("y=x")), ["kind"]);
    let ints = "b (int64[k, l] x) => (int64[k, l] z) { z = Neg(x) }";
    assert_eq!(codes(FIRST, ints, &mapped("y=x")), ["element-type"]);
}

#[test]
fn sequences_are_unified_inside() {
    let first = "a (float[N] x) => (seq(float[N]) y) { y = SequenceConstruct(x, x) }";
    let second = "b (seq(float[k]) x, float[k] w) => (float[k] z) { i = Constant <value = int64 {0}> () \
                  t = SequenceAt(x, i) z = Add(t, w) }";
    let found = interface(first, second, &mapped("y=x"));
    assert_eq!(found, "(x: float[N], w: float[N]) -> (z: float[N])");
}

#[test]
fn casts_are_inserted_on_request_only() {
    let second = "b (double[k, l] x) => (double[k, l] z) { z = Exp(x) }";
    let found = conflicts(FIRST, second, &mapped("y=x"));
    assert_eq!(found, [ConflictKind::Element { cast: PossibleCast::Lossless }]);
    let options = LinkOptions { casts: Casts::Lossless, ..mapped("y=x") };
    let (linked, model) = joined(&graph(FIRST), &graph(second), &options);
    assert_eq!(linked.interface.to_string(), "(x: float[N, M]) -> (z: double[N, M])");
    assert!(!linked.joined[0].cast.as_ref().unwrap().is_lossy());
    let operators: Vec<&str> = model.graph.as_ref().unwrap().node.iter().map(NodeProto::op_type).collect();
    assert_eq!(operators, ["Relu", "Cast", "Exp"]);

    let lossy = "b (float16[k, l] x) => (float16[k, l] z) { z = Exp(x) }";
    assert_eq!(codes(FIRST, lossy, &options), ["element-type"]);
    let options = LinkOptions { casts: Casts::Any, ..mapped("y=x") };
    assert!(join(&graph(FIRST), &graph(lossy), &options).is_ok());
}

#[test]
fn one_cast_serves_all_inputs_of_one_type() {
    let second = "b (double[k, l] x, double[m, n] w) => (z, v) { z = Exp(x) v = Exp(w) }";
    let options = LinkOptions { casts: Casts::Lossless, ..mapped("y=x,y=w") };
    let (_, model) = joined(&graph(FIRST), &graph(second), &options);
    let nodes = &model.graph.as_ref().unwrap().node;
    assert_eq!(nodes.iter().filter(|node| node.op_type() == "Cast").count(), 1);
}

#[test]
fn the_first_model_is_narrowed_on_request_only() {
    let second = "b (float[k, 4] x) => (float[k, 4] z) { z = Exp(x) }";
    let found = conflicts(FIRST, second, &mapped("y=x"));
    let expected =
        ConflictKind::Narrowing { axis: 1, symbol: "M".to_owned(), value: "4".to_owned(), bound: None };
    assert_eq!(found, [expected]);
    let options = LinkOptions { narrowing: Narrowing::Allow, ..mapped("y=x") };
    assert_eq!(interface(FIRST, second, &options), "(x: float[N, 4]) -> (z: float[N, 4])");

    let square = "b (float[k, k] x) => (float[k, k] z) { z = Exp(x) }";
    assert_eq!(codes(FIRST, square, &mapped("y=x")), ["narrowing"]);
    assert_eq!(interface(FIRST, square, &options), "(x: float[N, N]) -> (z: float[N, N])");

    let even = "b (float[k, \"2*k\"] x) => (z) { z = Exp(x) }";
    assert_eq!(interface(FIRST, even, &options), "(x: float[N, 2*N]) -> (z: float[N, 2*N])");
}

#[test]
fn types_that_only_data_decides_are_not_proved_to_fit() {
    let first = "a (float[N] x) => (y) { y = NonZero(x) }";
    let second = "b (int64[1, 3] x) => (int64[1, 3] z) { z = Neg(x) }";
    assert_eq!(codes(first, second, &mapped("y=x")), ["unproven"]);
    let options = LinkOptions { unproven: Unproven::Accept, ..mapped("y=x") };
    let (linked, _) = joined(&graph(first), &graph(second), &options);
    assert_eq!(linked.unproven, ["axis 1 of `y`, which is ?, is 3, as `x` needs"]);
}

#[test]
fn a_remaining_input_cannot_depend_on_a_computed_extent() {
    let first = "a (float[N] x) => (y) { y = NonZero(x) }";
    let second = "b (int64[1, s] x, int64[s] w) => (int64[1, s] z) { z = Add(x, w) }";
    assert_eq!(codes(first, second, &mapped("y=x")), ["unproven"]);
}

#[test]
fn a_computed_extent_gets_the_name_of_the_second_model() {
    let first = "a (float[N] x) => (y) { y = NonZero(x) }";
    let second = "b (int64[1, s] x) => (int64[1, s] z) { z = Neg(x) }";
    assert_eq!(interface(first, second, &mapped("y=x")), "(x: float[N]) -> (z: int64[1, s])");
    // The first model has another `s`.
    let first = "a (float[s] x) => (y) { y = NonZero(x) }";
    assert_eq!(interface(first, second, &mapped("y=x")), "(x: float[s]) -> (z: int64[1, s_2])");
}

#[test]
fn conditions_of_the_second_model_apply_to_the_first() {
    let table = "b (float[k] x) => (z) { c = Constant <value = int64[1] {64}> () t = ConstantOfShape(c) \
                 s = Shape(x) i = Constant <value = int64[1] {0}> () v = Slice(t, i, s) z = Add(v, x) }";
    let fixed = |extent: &str| format!("a (float[{extent}] x) => (y) {{ y = Relu(x) }}");
    let free = interface(&fixed("N"), table, &mapped("y=x"));
    assert_eq!(free, "(x: float[N]) -> (z: float[N]) where N <= 64");
    assert_eq!(interface(&fixed("3"), table, &mapped("y=x")), "(x: float[3]) -> (z: float[3])");
    assert_eq!(codes(&fixed("99"), table, &mapped("y=x")), ["condition"]);
}

#[test]
fn wrong_names_have_suggestions() {
    let second = "b (float[k, l] input) => (float[k, l] z) { z = Exp(input) }";
    let error = |map| join(&graph(FIRST), &graph(second), &mapped(map)).unwrap_err().to_string();
    let first = "a (float[N] x) => (float[N] output) { output = Relu(x) }";
    let misspelt = join(&graph(first), &graph(second), &mapped("outptu=input")).unwrap_err().to_string();
    assert_eq!(misspelt, "`a.onnx` has no output `outptu`; did you mean `output`?");
    assert_eq!(error("y=inptu"), "`b.onnx` has no input `inptu`; did you mean `input`?");
    assert_eq!(error("y=input,y=input"), "input `input` of `b.onnx` is mapped twice: to `y` and to `y`");
    assert!(matches!(
        join(&graph(FIRST), &graph(second), &LinkOptions::default()),
        Err(LinkError::Map(errors)) if matches!(errors[..], [MapError::NothingInCommon { .. }])
    ));
}

#[test]
fn without_a_map_equal_names_are_connected() {
    let first = "a (float[N] x) => (float[N] p, float[N] q) { p = Relu(x) q = Exp(x) }";
    let second = "b (float[k] q, float[k] r, float[k] p) => (float[k] z) { t = Add(q, r) z = Sub(t, p) }";
    let found = interface(first, second, &LinkOptions::default());
    assert_eq!(found, "(x: float[N], r: float[N]) -> (z: float[N])");
}

#[test]
fn models_with_errors_of_their_own_are_rejected() {
    let wrong = "b (float[k, l] x, int64[k, l] w) => (z) { z = Add(x, w) }";
    let error = join(&graph(FIRST), &graph(wrong), &mapped("y=x")).unwrap_err();
    assert!(matches!(&error, LinkError::IllTyped { file, .. } if file == "b.onnx"), "{error}");
}

#[test]
fn nodes_that_reject_the_types_of_the_first_model_are_reported() {
    // The second model accepts any rank until it is linked.
    let second = "b (float[] x) => (z) { w = Constant <value = float[3] {1, 2, 3}> () z = Add(x, w) }";
    let first = "a (float[N, 5] x) => (float[N, 5] y) { y = Relu(x) }";
    let second = graph(second.replace("float[] x", "float x").as_str());
    let second =
        typeloom_onnx::messages::read::<typeloom_onnx::messages::ModelProto>(second).map(|mut model| {
            let graph = model.graph.as_mut().unwrap();
            let ty = graph.input[0].r#type.as_mut().and_then(|ty| ty.value.as_mut());
            if let Some(typeloom_onnx::messages::type_proto::Value::TensorType(tensor)) = ty {
                tensor.shape = None;
            }
            prost::Message::encode_to_vec(&model).into()
        });
    let error = join(&graph(first), &second.unwrap(), &mapped("y=x")).unwrap_err();
    assert!(
        matches!(&error, LinkError::IllTypedResult { diagnostics } if diagnostics.len() == 1),
        "{error:?}"
    );
}
