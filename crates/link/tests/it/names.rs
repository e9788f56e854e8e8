//! Names are kept apart, also those of nested graphs.

use std::collections::HashMap;

use bytes::Bytes;
use typeloom_link::{LinkError, LinkOptions, Outputs};
use typeloom_onnx::messages::{ModelProto, metadata_entry, read};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use crate::support::{graph, interface, join, joined, mapped, run};

fn edited(model: &Bytes, edit: impl Fn(&mut ModelProto)) -> Bytes {
    let mut model: ModelProto = read(model.clone()).unwrap();
    edit(&mut model);
    prost::Message::encode_to_vec(&model).into()
}

fn floats(values: &[f32]) -> Datum {
    Datum::Tensor(AnyTensor::from(values))
}

/// Runs a linked model on one input `x` and returns the floats of one output.
fn result(
    first: &Bytes,
    second: &Bytes,
    options: &LinkOptions,
    inputs: &[(&str, Datum)],
    output: &str,
) -> Vec<f32> {
    let (linked, _) = joined(first, second, options);
    let inputs: HashMap<String, Datum> =
        inputs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let outputs = run(&linked.to_vec([first, second]).into(), inputs).unwrap();
    let bytes = outputs[output].as_tensor().unwrap().bytes().to_vec();
    bytes.chunks_exact(4).map(|it| f32::from_le_bytes(it.try_into().unwrap())).collect()
}

#[test]
fn inputs_and_outputs_keep_their_names() {
    let first = "a (float[N] x) => (float[N] y) { t = Exp(x) y = Relu(t) }";
    let second = "b (float[N] x, float[N] t) => (float[N] y) { u = Add(x, t) y = Neg(u) }";
    assert_eq!(interface(first, second, &mapped("y=x")), "(x: float[N], t: float[N]) -> (y: float[N])");
    let (linked, model) = joined(&graph(first), &graph(second), &mapped("y=x"));
    let renames: Vec<_> = linked.renames.iter().map(|it| (it.from.as_str(), it.to.as_str())).collect();
    assert_eq!(renames, [("t", "t_2"), ("y", "y_2")]);
    let nodes: Vec<_> = model.graph.unwrap().node.into_iter().map(|node| (node.input, node.output)).collect();
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(nodes[0], (names(&["x"]), names(&["t_2"])));
    assert_eq!(nodes[1], (names(&["t_2"]), names(&["y_2"])));
    assert_eq!(nodes[2], (names(&["y_2", "t"]), names(&["u"])));
}

#[test]
fn inputs_of_one_name_are_a_conflict_with_both_sides() {
    let first = "a (float[N] x, float[N] m) => (float[N] y) { y = Add(x, m) }";
    let second = "b (float[N] h, int64[N] m) => (float[N] z) { c = Cast <to = 1> (m) z = Add(h, c) }";
    let error = join(&graph(first), &graph(second), &mapped("y=h")).unwrap_err();
    assert_eq!(error.to_string(), "`m` is an input of `a.onnx` and another input of `b.onnx`");
    let options = LinkOptions { prefixes: ["".to_owned(), "b_".to_owned()], ..mapped("y=h") };
    let found = interface(first, second, &options);
    assert_eq!(found, "(x: float[N], m: float[N], b_m: int64[N]) -> (b_z: float[N])");
}

#[test]
fn a_nested_graph_captures_the_value_of_its_own_model() {
    // The branches read `w`, which is also a value of the first model.
    let first = graph("a (float[2] x) => (float[2] y) <float[2] w = {100, 100}> { y = Add(x, w) }");
    let second = graph(
        "b (float[2] x, bool c) => (float[2] z) <float[2] w = {1, 2}> { z = If (c) < \
         then_branch = t () => (float[2] p) { p = Add(x, w) }, \
         else_branch = e () => (float[2] q) { q = Sub(x, w) } > }",
    );
    let inputs =
        [("x", floats(&[1.0, 1.0])), ("c", Datum::Tensor(AnyTensor::from_vec(&[], vec![true]).unwrap()))];
    assert_eq!(result(&first, &second, &mapped("y=x"), &inputs, "z"), [102.0, 103.0]);
}

#[test]
fn a_nested_definition_is_not_the_connected_input() {
    // The branch defines `x` itself, and reads the connected input `w`, which is the same value.
    let first = graph("a (float[2] x) => (float[2] y) { y = Neg(x) }");
    let second = graph(
        "b (float[2] x, float[2] w, bool c) => (float[2] z) { z = If (c) < \
         then_branch = t () => (float[2] p) { x = Exp(w) y = Sub(w, x) p = Add(x, y) }, \
         else_branch = e () => (float[2] x) { x = Identity(w) } > }",
    );
    let inputs =
        [("x", floats(&[-1.0, -2.0])), ("c", Datum::Tensor(AnyTensor::from_vec(&[], vec![true]).unwrap()))];
    // w - exp(w) + exp(w)
    let found = result(&first, &second, &mapped("y=x,y=w"), &inputs, "z");
    assert!((found[0] - 1.0).abs() < 1e-5 && (found[1] - 2.0).abs() < 1e-5, "{found:?}");
}

#[test]
fn an_output_of_a_nested_graph_can_be_the_connected_input() {
    let first = graph("a (float[2] h) => (float[2] y) { y = Neg(h) }");
    let second = graph(
        "b (float[2] x, bool c) => (float[2] z) { z = If (c) < \
         then_branch = t () => (float[2] x) { }, else_branch = e () => (float[2] q) { q = Exp(x) } > }",
    );
    let inputs =
        [("h", floats(&[3.0, 4.0])), ("c", Datum::Tensor(AnyTensor::from_vec(&[], vec![true]).unwrap()))];
    assert_eq!(result(&first, &second, &mapped("y=x"), &inputs, "z"), [-3.0, -4.0]);
}

#[test]
fn an_output_that_is_the_connected_input_is_passed_on() {
    let first = graph("a (float[N] h) => (float[N] y) { y = Neg(h) }");
    let second = graph("b (float[N] x) => (float[N] x, float[N] z) { z = Exp(x) }");
    let (linked, _) = joined(&first, &second, &mapped("y=x"));
    assert_eq!(linked.interface.to_string(), "(h: float[N]) -> (x: float[N], z: float[N])");
    assert_eq!(result(&first, &second, &mapped("y=x"), &[("h", floats(&[1.0]))], "x"), [-1.0]);
}

#[test]
fn an_output_that_is_an_input_or_a_constant_can_be_connected() {
    let second = graph("b (float[2] p, float[2] q) => (float[2] z) { z = Sub(p, q) }");
    let first = graph("a (float[2] x) => (float[2] x, float[2] w) <float[2] w = {1, 2}> { u = Exp(x) }");
    let options = mapped("x=p,w=q");
    let (linked, _) = joined(&first, &second, &options);
    assert_eq!(linked.interface.to_string(), "(x: float[2]) -> (z: float[2])");
    assert_eq!(result(&first, &second, &options, &[("x", floats(&[5.0, 7.0]))], "z"), [4.0, 5.0]);
}

#[test]
fn a_connected_input_loses_its_default() {
    let first = graph("a (float[2] h) => (float[2] y) { y = Neg(h) }");
    let second = graph(
        "b (float[2] x, float[2] w) => (float[2] z) <float[2] x = {9, 9}, float[2] w = {1, 2}> { z = Add(x, w) }",
    );
    let second = edited(&second, |model| {
        // In the text, an initializer with the name of an input is written as its default.
        assert_eq!(model.graph.as_ref().unwrap().initializer.len(), 2);
    });
    let (linked, model) = joined(&first, &second, &mapped("y=x"));
    assert_eq!(linked.interface.to_string(), "(h: float[2], w?: float[2]) -> (z: float[2])");
    assert_eq!(model.graph.unwrap().initializer.len(), 1);
    assert_eq!(result(&first, &second, &mapped("y=x"), &[("h", floats(&[1.0, 1.0]))], "z"), [0.0, 1.0]);
}

#[test]
fn constants_of_an_old_ir_do_not_become_inputs() {
    let text = "<ir_version: 3, opset_import: [\"\" : 21]>\n\
                a (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }";
    let first = crate::support::model(text);
    let second = graph("b (float[2] x) => (float[2] z) { z = Exp(x) }");
    let (linked, model) = joined(&first, &second, &mapped("y=x"));
    assert_eq!(linked.interface.to_string(), "(x: float[2]) -> (z: float[2])");
    assert_eq!((model.ir_version, model.graph.unwrap().input.len()), (Some(10), 1));
}

#[test]
fn outputs_are_selected() {
    let first = "a (float[N] x) => (float[N] y, float[N] u) { y = Neg(x) u = Exp(x) }";
    let second = "b (float[N] x) => (float[N] z, float[N] v) { z = Neg(x) v = Exp(x) }";
    let shown = |outputs| interface(first, second, &LinkOptions { outputs, ..mapped("y=x") });
    assert_eq!(shown(Outputs::Unconsumed), "(x: float[N]) -> (u: float[N], z: float[N], v: float[N])");
    assert_eq!(shown(Outputs::All), "(x: float[N]) -> (y: float[N], u: float[N], z: float[N], v: float[N])");
    let named = |names: &[&str]| Outputs::Named(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(shown(named(&["v", "y"])), "(x: float[N]) -> (v: float[N], y: float[N])");
    let options = LinkOptions { outputs: named(&["w"]), ..mapped("y=x") };
    let error = join(&graph(first), &graph(second), &options).unwrap_err();
    assert!(error.to_string().starts_with("the result has no output `w`"), "{error}");
}

#[test]
fn metadata_of_both_models_is_kept() {
    let model = |text: &str, author: &str| {
        edited(&graph(text), |model| {
            model.metadata_props = vec![metadata_entry("author", author), metadata_entry("task", "demo")];
        })
    };
    let first = model("a (float[N] x) => (float[N] y) { y = Neg(x) }", "p");
    let second = model("b (float[N] x) => (float[N] z) { z = Neg(x) }", "q");
    let (linked, model) = joined(&first, &second, &mapped("y=x"));
    let entries: Vec<_> = model.metadata_props.iter().map(|entry| (entry.key(), entry.value())).collect();
    assert_eq!(entries, [("author", "p"), ("task", "demo"), ("author_2", "q")]);
    assert!(linked.renames.iter().any(|rename| rename.kind == "metadata"));
}

#[test]
fn training_steps_and_programs_are_refused() {
    let first = graph("a (float[N] x) => (float[N] y) { y = Neg(x) }");
    let second = graph("b (float[N] x) => (float[N] z) { z = Neg(x) }");
    let trained = edited(&second, |model| model.training_info = vec![Default::default()]);
    let compiled = edited(&first, |model| {
        model.metadata_props = vec![metadata_entry("ai.bytesandbrains.interface", "")];
    });
    for (first, second) in [(&first, &trained), (&compiled, &second)] {
        let error = join(first, second, &mapped("y=x")).unwrap_err();
        assert!(matches!(error, LinkError::Unsupported { .. }), "{error}");
    }
}

#[test]
fn old_types_in_tags_of_annotations_are_renamed_too() {
    let annotated = |text: &str| {
        let model = graph(text);
        let mut checked = typeloom_ops::check::check(&model, &Default::default()).unwrap();
        let annotated = typeloom_rewrite::annotate::annotate(&mut checked, Default::default()).unwrap();
        Bytes::from(annotated.file.to_vec())
    };
    let first = annotated("a (float[N] x) => (y) { t = Exp(x) y = Neg(t) }");
    let second = annotated("b (float[N] x, float[K] t) => (y, u) { y = Neg(x) u = Neg(t) }");
    let (linked, _) = joined(&first, &second, &mapped("y=x"));
    let file = linked.to_vec([&first, &second]);
    let stripped = typeloom_rewrite::annotate::strip(&file).unwrap();
    let model: ModelProto = read(stripped.file.to_vec().into()).unwrap();
    let outputs: Vec<_> = model.graph.unwrap().output;
    assert!(outputs.iter().all(|output| output.r#type.is_none()), "{outputs:?}");
    assert_eq!(outputs[0].name(), "y");
}
