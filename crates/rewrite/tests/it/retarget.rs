//! Exact changes for targets: the change is made where a target asks for it, and nowhere else.

use std::collections::BTreeSet;

use typeloom_ops::catalogue::Standard;
use typeloom_rewrite::retarget::{Retargeted, Standing, retarget};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::{Checked, Options};
use typeloom_solver::program::{StepId, StepKind};

use crate::support::{graph, model, universe};

/// Whether a target has an issue with a node.
type Rejects = dyn Fn(&mut Checked<'_>, StepId) -> bool;

/// A target that rejects some nodes.
fn changed(bytes: &[u8], rejects: &Rejects) -> Retargeted {
    let mut judge = |checked: &mut Checked<'_>| {
        let body = checked.bodies()[0].body.clone();
        let (from, to) = body.graph(body.root()).steps;
        let steps = (from..to).map(StepId::new);
        let steps = steps.filter(|step| !matches!(body.step(*step).kind, StepKind::Exit(_)));
        let nodes: BTreeSet<_> = steps
            .filter(|step| rejects(checked, *step))
            .map(|step| (body.step(step).graph, body.step(step).position as usize))
            .collect();
        let is_new = checked.model().is_some_and(|model| model.ir_version() > 9);
        let newest_ir = is_new.then_some(9);
        Standing { counts: vec![[nodes.len() + usize::from(is_new), 0, 0]], nodes, newest_ir }
    };
    retarget(bytes, &Standard, universe(), &Options::default(), &mut judge).expect("the model can be read")
}

/// The nodes of a model as text, with its initializers.
fn shown(file: &[u8]) -> String {
    let model = typeloom_onnx::messages::read(bytes::Bytes::copy_from_slice(file))
        .expect("a changed file is a model");
    typeloom_onnx::text::print_model(&model, &typeloom_onnx::text::PrintOptions::round_trip()).text
}

fn old(text: &str) -> Vec<u8> {
    model(&format!("<ir_version: 9, opset_import: [\"\" : 21]>\n{text}"))
}

fn is(checked: &Checked<'_>, step: StepId, name: &str) -> bool {
    checked.body().op_name(step) == name
}

#[test]
fn a_proved_input_becomes_an_initializer_and_its_nodes_go() {
    let bytes = old("g (float[2, 3] x, float[N] z) => (y, w) {
        s = Shape(z)  w = Reshape(z, s)
        t = Shape(x)  r = Identity(t)  y = Reshape(x, r) }");
    let found = changed(&bytes, &|checked, step| {
        let body = checked.bodies()[0].body.clone();
        is(checked, step, "Reshape") && !body.is_stored(body.inputs(step)[1].unwrap())
    });
    let changes: Vec<&str> = found.fixed.iter().map(|fixed| &*fixed.change).collect();
    // The extent of `z` is a symbol, so the other node stays.
    assert_eq!(changes, ["`Reshape` (#4): `r` = [2, 3] is a constant, which the types prove"]);
    let text = shown(&found.file.unwrap());
    assert!(text.contains("r_constant = {2, 3}") && text.contains("Reshape(x, r_constant)"), "{text}");
    assert!(!text.contains("Identity") && text.contains("s = Shape(z)"), "{text}");
}

#[test]
fn indices_change_their_width_if_all_values_fit() {
    let rejects: &Rejects = &|checked, step| {
        let body = checked.bodies().remove(0);
        is(checked, step, "Gather") && {
            let indices = body.body.inputs(step)[1].unwrap();
            checked.type_within(&body, indices).tensor().unwrap().elem.single() == Some(Elem::INT64)
        }
    };
    let bytes = old("g (float[4] x) => (y) <int64[2] i = {1, -1}> { y = Gather(x, i) }");
    let text = shown(&changed(&bytes, rejects).file.unwrap());
    assert!(text.contains("int32[2] i_constant = {1, -1}") && !text.contains("int64"), "{text}");
    let bytes = old("g (float[4] x, int64[2] i) => (y) { y = Gather(x, i) }");
    assert_eq!(changed(&bytes, rejects), Retargeted::default());
}

#[test]
fn attributes_are_written_another_way() {
    let writes = |name: &'static str, op: &'static str| {
        move |checked: &mut Checked<'_>, step: StepId| {
            let body = checked.bodies()[0].body.clone();
            let mut attributes = body.step(step).node.attributes().flatten();
            is(checked, step, op) && attributes.any(|attribute| attribute.parse().unwrap().name == name)
        }
    };
    let bytes = old("g (float[1, 1, 4] x, float[1, 1, 1] w) => (y) {
        y = Conv <auto_pad = \"NOTSET\", pads = [0, 0]> (x, w) }");
    let found = changed(&bytes, &writes("pads", "Conv"));
    assert_eq!(found.fixed[0].change, "`Conv` (#0): removed `pads`, which has its default");
    let text = shown(&found.file.unwrap());
    assert!(text.contains("auto_pad") && !text.contains("pads ="), "{text}");
    // The value is not the default.
    let bytes = old("g (float[1, 1, 4] x, float[1, 1, 1] w) => (y) { y = Conv <pads = [1, 0]> (x, w) }");
    assert_eq!(changed(&bytes, &writes("pads", "Conv")), Retargeted::default());
    let bytes = old("g (float[2, 3] x) => (y) { y = Softmax(x) }");
    let found = changed(&bytes, &move |checked, step| !writes("axis", "Softmax")(checked, step));
    assert_eq!(found.fixed[0].change, "`Softmax` (#0): wrote out the default of `axis`");
    let found = changed(&bytes, &|checked, step| {
        let body = checked.bodies()[0].body.clone();
        let mut attributes = body.step(step).node.attributes().flatten();
        !attributes.any(|attribute| attribute.parse().unwrap().i == Some(1))
    });
    assert_eq!(found.fixed[0].change, "`Softmax` (#0): wrote `axis` = -1 as 1, the same axis");
}

#[test]
fn the_ir_version_is_lowered_if_nothing_needs_it() {
    let found = changed(&graph("g (float[2] x) => (y) { y = Relu(x) }"), &|_, _| false);
    assert_eq!(found.fixed[0].change, "lowered the IR version to 9: nothing in the file needs a newer one");
    assert!(shown(&found.file.unwrap()).contains("ir_version: 9"));
    let found = changed(&graph("g (int4[2] x) => (y) { y = Identity(x) }"), &|_, _| false);
    assert_eq!(found, Retargeted::default());
}

#[test]
fn a_change_that_does_not_help_is_not_made() {
    let bytes = old("g (float[2, 3] x) => (y) { s = Shape(x)  y = Reshape(x, s) }");
    assert_eq!(changed(&bytes, &|checked, step| is(checked, step, "Reshape")), Retargeted::default());
}

#[test]
fn a_change_of_a_node_that_goes_is_left_out() {
    let bytes = old("g (float[2, 3] x) => (y) { s = Shape(x)  r = Identity(s)  y = Reshape(x, r) }");
    let found = changed(&bytes, &|checked, step| {
        let body = checked.bodies()[0].body.clone();
        let shape = body.inputs(step).last().copied().flatten().unwrap();
        !is(checked, step, "Shape") && !body.is_stored(shape)
    });
    let changes: Vec<&str> = found.fixed.iter().map(|fixed| &*fixed.change).collect();
    assert_eq!(changes, ["`Reshape` (#2): `r` = [2, 3] is a constant, which the types prove"]);
    assert!(!shown(&found.file.unwrap()).contains("s_constant"));
}
