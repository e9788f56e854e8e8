//! Annotations: the written types, and their removal.

use prost::Message as _;
use typeloom_onnx::messages::{GraphProto, ModelProto, ValueInfoProto};
use typeloom_rewrite::annotate::{AnnotationForm, MARK, annotate, strip};
use typeloom_solver::model::Mode;

use crate::support::{graph, model, model_files, solved};

fn annotated(bytes: &[u8], form: AnnotationForm) -> Vec<u8> {
    let mut checked = solved(bytes, Mode::Permissive).expect("the model can be read");
    annotate(&mut checked, form).expect("the model can be annotated").file.to_vec()
}

fn graph_of(bytes: &[u8]) -> GraphProto {
    ModelProto::decode(bytes).expect("the file is a model").graph.expect("the model has a graph")
}

/// `name: type`, as ONNX's textual syntax writes types.
fn shown(infos: &[ValueInfoProto]) -> Vec<String> {
    let ty = |info: &ValueInfoProto| info.r#type.as_ref().map(typeloom_onnx::text::print_type);
    infos.iter().map(|info| format!("{}: {}", info.name(), ty(info).unwrap_or_default())).collect()
}

#[test]
fn values_get_their_types_in_the_order_of_nodes() {
    let bytes =
        graph("g (float[N, 3] x, float[3, M] w) => (y) { h = MatMul(x, w) s = Shape(h) y = Relu(h) }");
    let graph = graph_of(&annotated(&bytes, AnnotationForm::Untagged));
    assert_eq!(shown(&graph.value_info), ["h: float[N, M]", "s: int64[2]"]);
    assert_eq!(shown(&graph.output), ["y: float[N, M]"]);
}

#[test]
fn expressions_are_written_so_that_they_read_back_as_the_same_dims() {
    let bytes = graph(
        "g (float[N, 3] x, float[M, 3] y) => (z) { h = Concat <axis = 0> (x, y) z = Concat <axis = 1> (h, h) }",
    );
    let once = annotated(&bytes, AnnotationForm::Untagged);
    assert_eq!(shown(&graph_of(&once).value_info), ["h: float[N + M, 3]"]);
    assert_eq!(annotated(&once, AnnotationForm::Untagged), once);
}

#[test]
fn declarations_are_filled_in_and_never_changed() {
    let text =
        "g (float[N, ?] x, float[4, 5] w) => (float[A, ?] y) <float[] h> { h = MatMul(x, w) y = Relu(h) }";
    let bytes = graph(text);
    let graph = graph_of(&annotated(&bytes, AnnotationForm::Untagged));
    assert_eq!(shown(&graph.input), ["x: float[N, ?]", "w: float[4, 5]"], "operators do not narrow an input");
    assert_eq!(shown(&graph.value_info), ["h: float[N, 5]"]);
    assert_eq!(shown(&graph.output), ["y: float[A, 5]"]);
}

#[test]
fn unproved_types_are_not_written() {
    let bytes = graph("g (float[?, 3] x) => (y) { h = Foo(x) y = Relu(x) }");
    let graph = graph_of(&annotated(&bytes, AnnotationForm::Untagged));
    assert_eq!(shown(&graph.value_info), Vec::<String>::new());
    assert_eq!(shown(&graph.output), ["y: float[?, 3]"]);
}

#[test]
fn nested_graphs_are_annotated_too() {
    let bytes = graph(
        "g (bool c, float[N] x) => (y) {
            y = If (c) <
                then_branch = t () => (a) { k = Relu(x) a = Abs(k) },
                else_branch = e () => (b) { b = Neg(x) }
            >
        }",
    );
    let graph = graph_of(&annotated(&bytes, AnnotationForm::Untagged));
    let inner = graph.node[0].attribute[0].g.as_ref().expect("the branch is there");
    assert_eq!(shown(&inner.value_info), ["k: float[N]"]);
    assert_eq!(shown(&inner.output), ["a: float[N]"]);
}

#[test]
fn functions_get_the_types_that_hold_at_every_call() {
    let bytes = model(
        "<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>
         g (float[N, 3] x, float[2, 3] w) => (y, z) { y = local.f(x) z = local.f(w) }
         <opset_import: [\"\" : 21], domain: \"local\"> f (a) => (c) { b = Relu(a) s = Shape(a) c = Neg(b) }",
    );
    let model =
        ModelProto::decode(&annotated(&bytes, AnnotationForm::Untagged)[..]).expect("the file is a model");
    assert_eq!(shown(&model.functions[0].value_info), ["b: float[?, 3]", "s: int64[2]", "c: float[?, 3]"]);
    let marked = annotated(&bytes, AnnotationForm::Tagged);
    assert!(strip(&marked).expect("it can be stripped").file.to_vec() == bytes);
}

#[test]
fn tags_identify_added_and_completed_entries() {
    let bytes = graph("g (float[N] x) => (y) { h = Relu(x) y = Relu(h) }");
    let graph = graph_of(&annotated(&bytes, AnnotationForm::Tagged));
    let keys =
        |info: &ValueInfoProto| info.metadata_props.iter().map(|entry| entry.key().to_owned()).collect();
    let keys_of: Vec<Vec<String>> =
        [&graph.value_info[0], &graph.output[0], &graph.input[0]].map(keys).into();
    assert_eq!(keys_of, [vec![MARK.to_owned()], vec![MARK.to_owned()], vec![]]);
}

#[test]
fn stripping_gives_the_model_back_byte_for_byte() {
    let mut changed = 0;
    for path in model_files() {
        let bytes = std::fs::read(&path).expect("a listed file can be read");
        let Ok(mut checked) = solved(&bytes, Mode::Permissive) else { continue };
        let written =
            annotate(&mut checked, AnnotationForm::Tagged).expect("a model that was read can be annotated");
        let written = written.file.to_vec();
        changed += usize::from(written != bytes);
        let back = strip(&written).expect("an annotated model can be stripped").file.to_vec();
        assert!(back == bytes, "{}", path.display());
        assert!(strip(&bytes).expect("any model can be stripped").file.to_vec() == bytes);
    }
    assert!(changed > 0, "some model has values without declared types");
}

#[test]
fn annotating_twice_changes_nothing_and_keeps_the_model_typed() {
    for path in model_files() {
        let bytes = std::fs::read(&path).expect("a listed file can be read");
        let Ok(mut checked) = solved(&bytes, Mode::Permissive) else { continue };
        let ok = checked.is_ok();
        let once = annotate(&mut checked, AnnotationForm::Tagged).expect("it can be annotated").file.to_vec();
        let mut again = solved(&once, Mode::Permissive).expect("an annotated model can be read");
        assert!(again.is_ok() == ok, "{}: the verdict changes", path.display());
        let twice = annotate(&mut again, AnnotationForm::Tagged).expect("it can be annotated").file.to_vec();
        assert!(twice == once, "{}: annotating again changes it", path.display());
    }
}
