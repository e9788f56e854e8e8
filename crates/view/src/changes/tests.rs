//! The changes of small models.

use super::*;
use crate::scene::{Subject, compare};
use crate::testing::{scene_of_text, scene_problems};

/// The text of the changes from one model to another, after checks of the scene that shows both.
#[track_caller]
fn text(old: &str, new: &str) -> String {
    let (old, new) = (scene_of_text(old), scene_of_text(new));
    let (union, changes) = compare(&old, &new);
    assert_eq!(scene_problems(&union), [""; 0]);
    let comparison = union.comparison.as_ref().expect("the scene shows two models");
    let listed: usize = comparison.listed.iter().map(|it| it.count).sum();
    assert_eq!((comparison.total, listed), (changes.total(), changes.total()));
    let removed = union.nodes.iter().filter(|node| node.change == Change::Removed).count();
    assert_eq!(union.nodes.len(), new.nodes.len() + removed);
    let counts = union.group(union.main()).changes;
    let changed_nodes = changes.nodes.len();
    assert_eq!(counts.added + counts.removed + counts.changed, changed_nodes, "{counts:?}");
    changes.to_text(&old, &new)
}

const OLD: &str = "g (float[N, 3] x, float[3, 4] w) => (y) {
    [\"up\"] h = MatMul(x, w)  [\"act\"] a = Relu(h)  [\"end\"] y = Softmax <axis = -1> (a) }";

#[test]
fn a_model_has_no_changes_to_itself() {
    assert_eq!(text(OLD, OLD), "no changes\n");
}

#[test]
fn other_names_are_counted() {
    let new = OLD.replace("h ", "h2 ").replace("(h)", "(h2)").replace("act", "act2");
    assert_eq!(text(OLD, &new), "other names only: 1 node and 1 value\n");
}

#[test]
fn the_interface_is_first() {
    let new = "g (float[N, 3] data, float[3, 4] w, float[4] b) => (y, z) {
        [\"up\"] h = MatMul(data, w)  [\"act\"] a = Relu(h)  [\"bias\"] z = Add(a, b)  [\"end\"] y = Softmax <axis = -1> (a) }";
    assert_eq!(
        text(OLD, new),
        "interface
  ~ input data: renamed from x
  + input b: float[4]
  + output z: float[N, 4]
nodes
  + Add bias
"
    );
    assert_eq!(
        text(new, OLD),
        "interface
  ~ input x: renamed from data
  - input b: float[4]
  - output z: float[N, 4]
nodes
  - Add bias
"
    );
}

#[test]
fn symbols_with_other_names_are_one_change() {
    assert_eq!(text(OLD, &OLD.replace('N', "batch")), "interface\n  ~ symbol N: renamed to batch\n");
}

#[test]
fn changed_types_are_listed_with_both_texts() {
    assert_eq!(
        text(OLD, &OLD.replace("float", "float16").replace("3, 4", "3, 5")),
        "interface
  ~ input x: float[N, 3] -> float16[N, 3]
  ~ input w: float[3, 4] -> float16[3, 5]
  ~ output y: float[N, 4] -> float16[N, 5]
types
  ~ h: float[N, 4] -> float16[N, 5]
  ~ a: float[N, 4] -> float16[N, 5]
"
    );
}

#[test]
fn operators_and_attributes_are_compared() {
    let new = OLD.replace("Relu", "Sigmoid").replace("axis = -1", "axis = 1");
    assert_eq!(
        text(OLD, &new),
        "nodes\n  ~ Sigmoid act: operator Relu -> Sigmoid\n  ~ Softmax end: axis: -1 -> 1\n"
    );
}

#[test]
fn an_inserted_node_rewires_its_reader() {
    let new = OLD.replace("(h)", "(n)").replace("[\"act\"]", "[\"neg\"] n = Neg(h)  [\"act\"]");
    assert_eq!(text(OLD, &new), "nodes\n  + Neg neg\n  ~ Relu act: input 0: h -> n\n");
    assert_eq!(text(&new, OLD), "nodes\n  - Neg neg\n  ~ Relu act: input 0: n -> h\n");
}

#[test]
fn stored_tensors_are_compared_by_type_and_elements() {
    let model = |first: &str, second: &str| {
        format!(
            "g (float[N, 2] x) => (y) <float[2] w = {first}, float[2] v = {second}> {{ h = Mul(x, w)  y = Mul(h, v) }}"
        )
    };
    assert_eq!(
        text(&model("{1, 2}", "{3, 4}"), &model("{1, 2}", "{3, 5}")),
        "nodes\n  ~ Mul of y: stored input 1: [3, 4] -> [3, 5]\n"
    );
    // Both names still exist, so the nodes read other tensors.
    let swapped =
        model("{1, 2}", "{3, 4}").replace("(x, w)", "(x, v2)").replace("(h, v)", "(h, w)").replace("v2", "v");
    let swapped = text(&model("{1, 2}", "{3, 4}"), &swapped);
    assert!(swapped.contains("Mul of h: stored input 1: [1, 2] -> [3, 4]"), "{swapped}");
}

#[test]
fn nested_graphs_are_compared_with_their_nodes() {
    let model = |inner: &str| {
        format!(
            "g (bool c, float[N] x) => (y) {{
               h = Neg(x)
               y = If (c) <then_branch = t () => (a) {{ {inner} }}, else_branch = e () => (b) {{ b = Abs(h) }}> }}"
        )
    };
    let found = text(&model("a = Exp(h)"), &model("k = Exp(h)  a = Relu(k)"));
    assert!(found.contains("nodes\n") && found.contains("+ Relu of a"), "{found}");
    assert!(!found.contains("~ If") && !found.contains("Abs"), "{found}");
}

#[test]
fn functions_are_compared_by_name() {
    let model = |body: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]>
             g (float[N] x) => (y) {{ h = l.f(x)  y = l.f(h) }}
             <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) {{ {body} }}"
        )
    };
    let (old, new) = (scene_of_text(&model("b = Neg(a)")), scene_of_text(&model("t = Neg(a)  b = Abs(t)")));
    let (union, changes) = compare(&old, &new);
    assert_eq!(scene_problems(&union), [""; 0]);
    assert_eq!(changes.nodes.len(), 1, "{}", changes.to_text(&old, &new));
    assert_eq!(union.group(union.functions[0]).change(), Change::Changed);
    assert_eq!(union.group(union.main()).change(), Change::Same);
    assert!(union.nodes.iter().filter(|node| node.callee.is_some()).count() == 2);
}

#[test]
fn removed_nodes_stay_in_the_scene_of_both_models() {
    let new = "g (float[N, 3] x, float[3, 4] w) => (y) { [\"up\"] h = MatMul(x, w)  [\"end\"] y = Softmax <axis = -1> (h) }";
    let (old, new) = (scene_of_text(OLD), scene_of_text(new));
    let (union, _) = compare(&old, &new);
    let at = union.nodes.iter().position(|node| node.change == Change::Removed).expect("a removed node");
    let removed = NodeId::new(at);
    assert_eq!((union.operator(removed).name.as_str(), union.nodes[at].position), ("Relu", 1));
    // It reads a value of the new model, and the node behind it still reads its value.
    let (input, output) = (union.nodes[at].inputs[0].unwrap(), union.nodes[at].outputs[0].unwrap());
    assert_eq!((union.value(input).name.as_str(), union.value(input).change), ("h", Change::Same));
    assert_eq!((union.value(output).name.as_str(), union.value(output).change), ("a", Change::Removed));
    let reader = union.readers(output)[0];
    assert_eq!((union.node(reader).name.as_str(), union.node(reader).change), ("end", Change::Changed));
    let subjects: Vec<_> = union.comparison.unwrap().listed.iter().map(|it| it.subject).collect();
    assert_eq!(subjects, [Subject::Node(removed), Subject::Node(reader)]);
}

#[test]
fn a_group_of_added_nodes_is_added() {
    let old = "g (float[N] x) => (y) { [\"/a/f\"] h = Neg(x)  [\"/a/g\"] y = Relu(h) }";
    let new = "g (float[N] x) => (y) { [\"/a/f\"] h = Neg(x)  [\"/b/s\"] i = Exp(h)  [\"/b/t\"] j = Log(i)  [\"/a/g\"] y = Relu(j) }";
    let (union, _) = compare(&scene_of_text(old), &scene_of_text(new));
    let change = |label: &str| union.groups.iter().find(|group| group.label == label).expect(label).change();
    assert_eq!([change("a"), change("b")], [Change::Changed, Change::Added]);
}

/// The entries of the list of changes, with the number of items in each.
fn listed(old: &str, new: &str) -> Vec<(String, usize)> {
    let (union, _) = compare(&scene_of_text(old), &scene_of_text(new));
    let comparison = union.comparison.expect("the scene shows two models");
    comparison.listed.into_iter().map(|it| (it.text, it.items.len())).collect()
}

#[test]
fn the_same_change_of_many_values_is_one_entry() {
    let chain = |ty: &str, names: &[&str]| {
        let nodes: Vec<String> =
            names.windows(2).map(|pair| format!("[\"{0}\"] {0} = Relu({1})", pair[1], pair[0])).collect();
        format!("g ({ty} a) => (e) {{ {} }}", nodes.join("  "))
    };
    let names = ["a", "b", "c", "d", "e"];
    let float = chain("float[N, 4]", &names);
    let entry = |text: &str, items| (text.to_owned(), items);
    // The interface is first; three values between input and output have the same change.
    let expected = [
        entry("input a: float[N, 4] -> float16[N, 4]", 0),
        entry("output e: float[N, 4] -> float16[N, 4]", 0),
        entry("3 values: float -> float16", 3),
    ];
    assert_eq!(listed(&float, &chain("float16[N, 4]", &names)), expected);
    let extents = listed(&float, &chain("float[N, 8]", &names));
    assert_eq!(extents[2], entry("3 values: extent 4 -> 8", 3));
    let ranks = listed(&float, &chain("float[N, 4, 2]", &names));
    assert_eq!(ranks[2], entry("3 values: float[N, 4] -> float[N, 4, 2]", 3));
    let short = ["a", "b", "c", "e"];
    // Two are entries of their own.
    let two = listed(&chain("float[N, 4]", &short), &chain("float16[N, 4]", &short));
    assert_eq!(
        two[2..],
        [entry("b: float[N, 4] -> float16[N, 4]", 0), entry("c: float[N, 4] -> float16[N, 4]", 0)]
    );
}

#[test]
fn nodes_with_the_same_unique_name_match_before_their_structure_is_compared() {
    // The weights of the two projections are exchanged: the structure alone matches `q` with `k`.
    let model = |q: usize, k: usize| {
        format!(
            "g (float[N, 8] x, float[8, {q}] a, float[8, {k}] b) => (s, t) {{
               [\"q\"] u = MatMul(x, a)  [\"q_act\"] s = Relu(u)  [\"k\"] v = MatMul(x, b)  [\"k_act\"] t = Relu(v) }}"
        )
    };
    let (old, new) = (scene_of_text(&model(4, 6)), scene_of_text(&model(6, 4)));
    let matching = crate::matching::matching(&old, &new);
    for (first, second) in matching.nodes.iter() {
        assert_eq!(old.node(first).name, new.node(second).name);
    }
    assert_eq!(matching.nodes.iter().count(), 4);
}

#[test]
fn names_that_a_new_node_moves_to_other_nodes_are_not_used() {
    let chain = |operators: &[&str]| {
        let nodes = operators.iter().enumerate();
        let nodes = nodes.map(|(at, operator)| {
            let number = operators[..at].iter().filter(|other| *other == operator).count();
            format!("[\"{operator}_{number}\"] v{} = {operator}(v{at})", at + 1)
        });
        let nodes: Vec<String> = nodes.collect();
        format!("g (float[N] v0) => (v{}) {{ {} }}", operators.len(), nodes.join("  "))
    };
    let old = ["Neg", "Relu", "Abs", "Relu", "Neg", "Relu", "Abs", "Relu", "Neg"];
    let mut new = old.to_vec();
    new.insert(3, "Relu");
    let (old, new) = (scene_of_text(&chain(&old)), scene_of_text(&chain(&new)));
    let (_, changes) = compare(&old, &new);
    let added = changes.nodes.iter().filter(|it| it.change() == Change::Added).count();
    assert_eq!((added, changes.nodes.len()), (1, 2), "{}", changes.to_text(&old, &new));
}
