//! Conversions to another precision: which nodes are converted, where casts remain, and what the file states.

use prost::Message as _;
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto};
use typeloom_onnx::text::{PrintOptions, print_node};
use typeloom_ops::catalogue::Standard;
use typeloom_rewrite::coerce::LossKind;
use typeloom_rewrite::convert::{ConvertError, Converted, Reason, Request, convert};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::{Mode, Options};

use crate::support::{graph, model, solved, universe};

fn request(to: Elem) -> Request<'static> {
    Request { to: Some(to), ..Request::default() }
}

fn convert_with(bytes: &[u8], request: &Request<'_>) -> Result<Converted, ConvertError> {
    let converted = convert(bytes, &Standard, universe(), &Options::default(), request, None)?;
    assert!(solved(&converted.file, Mode::Strict).expect("it can be read").is_ok());
    Ok(converted)
}

fn half(text: &str) -> Converted {
    convert_with(&graph(text), &request(Elem::FLOAT16)).expect("it can be converted")
}

fn graph_of(converted: &Converted) -> GraphProto {
    ModelProto::decode(&converted.file[..])
        .expect("the file is a model")
        .graph
        .expect("the model has a graph")
}

fn printed(nodes: &[NodeProto]) -> Vec<String> {
    nodes.iter().map(|node| print_node(node, &PrintOptions::display()).text).collect()
}

fn nodes(converted: &Converted) -> Vec<String> {
    printed(&graph_of(converted).node)
}

fn tensor_elem(info: &typeloom_onnx::messages::ValueInfoProto) -> i32 {
    use typeloom_onnx::messages::type_proto::Value;
    match info.r#type.as_ref().and_then(|ty| ty.value.as_ref()) {
        Some(Value::TensorType(tensor)) => tensor.elem_type.unwrap_or(0),
        _ => 0,
    }
}

const HALF: i32 = 10;
const SINGLE: i32 = 1;

#[test]
fn nodes_inputs_outputs_and_tensors_get_the_new_type() {
    let converted = half(
        "g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
            h = MatMul (x, w)
            y = Relu (h)
        }",
    );
    let graph = graph_of(&converted);
    assert_eq!(nodes(&converted), ["h = MatMul(x, w)", "y = Relu(h)"]);
    assert_eq!([tensor_elem(&graph.input[0]), tensor_elem(&graph.output[0])], [HALF, HALF]);
    assert_eq!(graph.initializer[0].data_type, Some(HALF));
    assert_eq!(graph.initializer[0].raw_data.as_deref(), Some(&[0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44][..]));
    assert_eq!((converted.converted, converted.casts.len(), converted.interface.len()), (2, 0, 2));
}

#[test]
fn the_interface_can_keep_its_types() {
    let text = "g (float[N] x) => (float[N] y) { y = Relu (x) }";
    let request = Request { keep_io: true, ..request(Elem::FLOAT16) };
    let converted = convert_with(&graph(text), &request).expect("it can be converted");
    let expected = [
        "x_as_float16 = Cast <to = float16> (x)",
        "y_as_float16 = Relu(x_as_float16)",
        "y = Cast <to = float> (y_as_float16)",
    ];
    assert_eq!(nodes(&converted), expected);
    let graph = graph_of(&converted);
    assert_eq!([tensor_elem(&graph.input[0]), tensor_elem(&graph.output[0])], [SINGLE, SINGLE]);
}

#[test]
fn values_keep_their_type_where_the_schema_demands_it() {
    let converted = half(
        "g (float[1, 1, 4, 4] x) => (y) <float[4] scales = {1, 1, 2, 2}, float[0] roi = {}> {
            y = Resize <mode = \"nearest\"> (x, roi, scales)
        }",
    );
    let elems: Vec<i32> = graph_of(&converted).initializer.iter().filter_map(|it| it.data_type).collect();
    assert_eq!(elems.iter().filter(|elem| **elem == SINGLE).count(), 1, "{elems:?}");
    assert_eq!(converted.casts.len(), 0);
}

#[test]
fn nodes_without_a_preference_save_casts() {
    let text = "g (float[N, 4] x) => (y) {
        a = Relu (x)
        b = Reshape (a, s)
        c = Softmax (b)
        d = Reshape (c, s)
        y = Relu (d)
    }"
    .replace("=> (y) {", "=> (y) <int64[2] s = {4, -1}> {");
    let keep = ["Softmax".to_owned()];
    let request = Request { keep: &keep, ..request(Elem::FLOAT16) };
    let converted = convert_with(&graph(&text), &request).expect("it can be converted");
    assert_eq!(converted.casts.len(), 2);
    let kept: Vec<_> = converted.kept.iter().map(|node| (node.name.as_str(), node.reason)).collect();
    assert!(kept.contains(&("c", Reason::Requested)), "{kept:?}");
}

#[test]
fn a_cast_of_the_model_changes_its_type_and_is_not_cast_again() {
    let converted = half(
        "g (int64[N] i, float[N] x) => (y, z) {
            f = Cast <to = 1> (i)
            y = Add (f, x)
            z = Sin (f)
        }",
    );
    assert_eq!(nodes(&converted)[0], "f = Cast <to = float16> (i)");
    assert_eq!(converted.casts.len(), 0);
    let keep = ["Sin".to_owned()];
    let text = "g (int64[N] i, float[N] x) => (y, z) {
        f = Cast <to = 1> (i)
        y = Add (f, x)
        z = Sin (f)
    }";
    let request = Request { keep: &keep, ..request(Elem::FLOAT16) };
    let converted = convert_with(&graph(text), &request).expect("it can be converted");
    // Both casts read the integers.
    let casts: Vec<String> = nodes(&converted).into_iter().filter(|node| node.contains("Cast")).collect();
    assert_eq!(casts.len(), 2, "{casts:?}");
    assert!(casts.iter().all(|cast| cast.ends_with("(i)")), "{casts:?}");
}

#[test]
fn a_cast_without_an_effect_is_removed() {
    let converted = half(
        "g (float16[N] h, float[N] x) => (y) {
            f = Cast <to = 1> (h)
            y = Add (f, x)
        }",
    );
    assert_eq!(nodes(&converted), ["y = Add(h, x)"]);
    assert_eq!(converted.removed, 1);
}

#[test]
fn arithmetic_on_shapes_that_gives_integers_keeps_its_type() {
    let converted = half(
        "g (float[N, 4] x, float[4, 4] w) => (y) {
            s = Shape (x)
            c = Cast <to = 1> (s)
            m = Floor (c)
            i = Cast <to = 7> (m)
            p = MatMul (x, w)
            y = Expand (p, i)
        }",
    );
    assert_eq!(nodes(&converted)[1], "c = Cast <to = float> (s)");
    assert_eq!(converted.casts.len(), 0);
}

#[test]
fn arithmetic_on_shapes_that_scales_values_is_converted() {
    let converted = half(
        "g (float[N, 4] x) => (y) {
            s = Shape (x)
            c = Cast <to = 1> (s)
            r = Sqrt (c)
            t = Gather (r, zero)
            y = Mul (x, t)
        }"
        .replace("=> (y) {", "=> (y) <int64 zero = {1}> {")
        .as_str(),
    );
    assert_eq!(nodes(&converted)[1], "c = Cast <to = float16> (s)");
    assert_eq!(converted.casts.len(), 0);
}

#[test]
fn a_sequence_is_converted_with_its_elements() {
    let converted = half(
        "g (float[N] x) => (seq(float[N]) y) {
            e = SequenceEmpty ()
            h = Relu (x)
            y = SequenceInsert (e, h)
        }",
    );
    assert_eq!(converted.casts.len(), 0);
    assert_eq!(nodes(&converted)[0], "e = SequenceEmpty <dtype = float16> ()");
}

#[test]
fn a_value_of_an_operator_without_the_type_is_cast_once() {
    // `Range` has no float16; both casts of `n` read the integer.
    let converted = half(
        "g (int32 n, float[1] x) => (float[10] y) <float zero = {0}, float one = {1}> {
            f = Cast <to = 1> (n)
            r = Range (zero, f, one)
            s = Mul (f, x)
            y = Mul (r, s)
        }",
    );
    assert_eq!(converted.casts.len(), 2);
    assert!(
        converted.casts.iter().all(|cast| cast.input == "n" || cast.input == "r"),
        "{:?}",
        converted.casts
    );
    let kept: Vec<_> = converted.kept.iter().map(|node| (node.name.as_str(), node.reason)).collect();
    assert!(kept.contains(&("r", Reason::Operator)), "{kept:?}");
}

#[test]
fn a_small_tensor_that_is_read_in_both_types_is_stored_in_both() {
    let keep = ["Sub".to_owned()];
    let text = "g (float[N] x) => (y, z) <float[1] c = {0.5}> {
        y = Add (x, c)
        z = Sub (x, c)
    }";
    let request = Request { keep: &keep, ..request(Elem::FLOAT16) };
    let converted = convert_with(&graph(text), &request).expect("it can be converted");
    let graph = graph_of(&converted);
    assert_eq!(graph.initializer[0].data_type, Some(SINGLE));
    assert_eq!(graph.node.iter().filter(|node| node.op_type() == "Constant").count(), 1);
    assert!(converted.casts.iter().all(|cast| cast.input != "c"));
}

#[test]
fn elements_are_rounded_to_even_and_masks_stay_finite() {
    let converted = half(
        "g (float[5] x) => (y) <float[5] c = {-3.4028235e38, 1e-9, 2049, 0.5, 70000}> { y = Add (x, c) }",
    );
    let loss = &converted.tensors[0].loss;
    let changes: Vec<_> =
        loss.changes.iter().map(|it| (it.kind, it.count, it.from.as_str(), it.to.as_str())).collect();
    let expected = [
        (LossKind::Overflowed, 2, "-3.4028235e38", "-65504"),
        (LossKind::Vanished, 1, "1e-9", "0"),
        (LossKind::Rounded, 1, "2049", "2048"),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn attributes_with_a_type_change_with_their_value() {
    let converted = half(
        "g (int64[1] n, float[N] x) => (y) {
            a = ConstantOfShape (n)
            b = ConstantOfShape <value = float[1] {2}> (n)
            c = Constant <value_float = 1.5> ()
            d = Constant <value = float {0.25}> ()
            e = Sum (a, b, c, d, x)
            y = Relu (e)
        }",
    );
    assert_eq!(converted.casts.len(), 0);
    for node in &graph_of(&converted).node[..4] {
        let tensor = node.attribute.iter().find(|it| it.name() == "value").and_then(|it| it.t.as_ref());
        assert_eq!(tensor.and_then(|tensor| tensor.data_type), Some(HALF), "{}", node.op_type());
    }
}

#[test]
fn bodies_of_if_and_loop_are_converted() {
    let converted = half(
        "g (bool c, float[4] x, int64 n) => (y, z) {
            y = If (c) <
                then_branch = t () => (float[4] a) { a = Relu (x) },
                else_branch = e () => (float[4] b) { b = Neg (x) }
            >
            z = Loop (n, , x) <
                body = l (int64 i, bool more, float[4] s) => (bool go, float[4] r) {
                    go = Identity (more)
                    r = Add (s, x)
                }
            >
        }",
    );
    assert_eq!(converted.casts.len(), 0);
    let graph = graph_of(&converted);
    for node in &graph.node {
        for body in node.attribute.iter().filter_map(|it| it.g.as_ref()) {
            let last = body.output.last().expect("a body has outputs");
            assert_eq!(tensor_elem(last), HALF);
        }
    }
}

#[test]
fn a_function_that_is_called_in_both_types_is_copied() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        g (float[N] x) => (y, z) {
            y = own.twice (x)
            s = Sin (x)
            z = own.twice (s)
        }
        <domain: "own", opset_import: ["" : 21]>
        twice (v) => (w) { w = Add (v, v) }"#;
    let converted = convert_with(&model(text), &request(Elem::FLOAT16)).expect("it can be converted");
    assert_eq!(converted.casts.len(), 0);
    // The body of a function is kept in all calls.
    let keep = ["Add".to_owned()];
    let request = Request { keep: &keep, ..request(Elem::FLOAT16) };
    let converted = convert_with(&model(text), &request).expect("it can be converted");
    assert!(!converted.casts.is_empty());
}

#[test]
fn a_constant_in_a_function_is_converted() {
    let text = r#"<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        g (float[N] x) => (y, z) {
            y = own.more (x)
            z = own.more (y)
        }
        <domain: "own", opset_import: ["" : 21]>
        more (v) => (w) { c = Constant <value = float {1}> () w = Add (v, c) }"#;
    let converted = convert_with(&model(text), &request(Elem::FLOAT16)).expect("it can be converted");
    assert_eq!(converted.casts.len(), 0);
    let file = ModelProto::decode(&converted.file[..]).expect("the file is a model");
    let tensor = file.functions[0].node[0].attribute[0].t.as_ref();
    assert_eq!(tensor.and_then(|tensor| tensor.data_type), Some(HALF));
}

#[test]
fn bfloat16_needs_an_operator_set_that_has_it() {
    let text = "<ir_version: 6, opset_import: [\"\" : 11]> g (float[N] x) => (float[N] y) { y = Relu (x) }";
    let error = convert_with(&model(text), &request(Elem::BFLOAT16)).expect_err("it cannot be converted");
    assert_eq!(error, ConvertError::NoCast { to: "bfloat16", version: 11 });
    let converted = convert_with(&graph("g (float[N] x) => (y) { y = Relu (x) }"), &request(Elem::BFLOAT16));
    assert_eq!(converted.expect("it can be converted").converted, 1);
}

#[test]
fn a_model_is_converted_back() {
    let there = half("g (float[N] x) => (float[N] y) <float[1] w = {0.5}> { y = Mul (x, w) }");
    let back = convert_with(&there.file, &request(Elem::FLOAT)).expect("it can be converted");
    let graph = graph_of(&back);
    assert_eq!([tensor_elem(&graph.input[0]), tensor_elem(&graph.output[0])], [SINGLE, SINGLE]);
    assert_eq!(graph.initializer[0].raw_data.as_deref(), Some(&0.5_f32.to_le_bytes()[..]));
    assert_eq!(back.casts.len(), 0);
}

#[test]
fn an_impossible_conversion_is_an_error() {
    let integers = graph("g (int64[N] x) => (y) { y = Neg (x) }");
    let error = convert_with(&integers, &request(Elem::FLOAT16)).expect_err("it has no floats");
    assert!(matches!(error, ConvertError::Nothing { .. }), "{error}");
    let wrong = graph("g (float[N] x, int64[N] i) => (y) { y = Add (x, i) }");
    assert_eq!(convert_with(&wrong, &request(Elem::FLOAT16)).map(drop), Err(ConvertError::HasErrors));
    let fine = graph("g (float[N] x) => (y) { y = Relu (x) }");
    let error = convert_with(&fine, &request(Elem::INT8)).expect_err("int8 is no precision");
    assert_eq!(error, ConvertError::NoConversion("int8".to_owned()));
    let keep = ["Softmax".to_owned()];
    let request = Request { keep: &keep, ..request(Elem::FLOAT16) };
    let error = convert_with(&fine, &request).expect_err("there is no such node");
    assert_eq!(error, ConvertError::UnknownKeep("Softmax".to_owned()));
}
