//! Verdicts of measured targets about small models.

use typeloom_onnx::prost::Message as _;
use typeloom_solver::diagnostic::Code;
use typeloom_solver::model::Options;

use crate::{Assignment, Outcome, Target};

const TABLE: &str = "typeloom-measured 1
source test 1
device D
through onnxruntime P
fixed
op ai.onnx::Add 4
  version 14
  smaller.A.B true false
  tree {1:0~1+}
op ai.onnx::Neg 2
  version 13
  type.T float double
  tree {1:0+1-}
op ai.onnx::Relu 3
  version 14
  rank.X 1 2
  tree +
op ai.onnx::Sin 1
  version 22
  tree ~
op ai.onnx::Clip 4
  version 13
  constant.min false true
  type.T float
  tree {1:0~1+}
op ai.onnx::Mod 4
  version 10 13
  attribute.fmod 0 1
  type.T float int32
  tree {2:0{0:1{1:0-1+}0-}1~}
op ai.onnx::Dropout 2
  version 22
  has.seed false true
  tree {1:0+1~}
op ai.onnx::GatherElements 4
  version 13
  gather.equal false true
  tree {1:0~1+}
op ai.onnx::Softmax 2
  version 13
  single.input true false
  tree {1:0~1+}
";

struct Summary {
    outcome: Outcome,
    codes: Vec<(Code, String)>,
    partitions: usize,
    crossing: Option<String>,
}

/// The advice of the diagnostics.
fn advice(graph: &str) -> Vec<Option<String>> {
    let target = Target::from_bytes("mine".to_owned(), TABLE.into()).unwrap();
    let text = format!("<ir_version: 10, opset_import: [\"\" : 22]> {graph}");
    let bytes = typeloom_onnx::text::parse_model(&text).unwrap().encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    target.diagnose(&mut checked).into_iter().map(|diagnostic| diagnostic.help).collect()
}

fn judge(graph: &str) -> Summary {
    let target = Target::from_bytes("mine".to_owned(), TABLE.into()).unwrap();
    let text = format!("<ir_version: 10, opset_import: [\"\" : 22]> {graph}");
    let bytes = typeloom_onnx::text::parse_model(&text).unwrap().encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    assert!(checked.is_ok(), "{graph}");
    let (outcome, reasons, verdict) = target.judge(&mut checked, true);
    let codes = reasons.into_iter().map(|reason| (reason.code, reason.message)).collect();
    let placement = verdict.placement.unwrap();
    Summary { outcome, codes, partitions: placement.partitions, crossing: placement.crossing }
}

#[test]
fn a_model_on_the_device_runs_without_reasons() {
    let found = judge("g (float[4] x) => (y) { a = Relu(x)  y = Neg(a) }");
    assert_eq!((found.outcome, found.codes, found.partitions), (Outcome::Runs, vec![], 1));
    assert_eq!(found.crossing.as_deref(), Some("0"));
}

#[test]
fn extents_apart_from_the_axis_and_attributes_without_a_default_are_properties() {
    let outcome = |graph: &str| judge(graph).outcome;
    let graph = |indices: &str| {
        format!("g (float[2, N] x, int64[{indices}] i) => (y) {{ y = GatherElements <axis = 1> (x, i) }}")
    };
    assert_eq!(outcome(&graph("2, 5")), Outcome::Runs);
    assert_eq!(outcome(&graph("1, 5")), Outcome::RunsWithFallback);
    assert_eq!(outcome("g (float[4] x) => (y) { y = Dropout (x) }"), Outcome::Runs);
    assert_eq!(outcome("g (float[4] x) => (y) { y = Dropout <seed = 3> (x) }"), Outcome::RunsWithFallback);
}

#[test]
fn a_node_on_the_cpu_splits_the_model() {
    let found = judge("g (float[4] x) => (y) { a = Relu(x)  b = Sin(a)  y = Relu(b) }");
    assert_eq!(found.outcome, Outcome::RunsWithFallback);
    assert_eq!(found.codes, [(Code::TargetFallback, "mine runs `Sin` on the CPU".to_owned())]);
    // `a` and `b` of 16 bytes each cross.
    assert_eq!((found.partitions, found.crossing.as_deref()), (2, Some("32")));
}

#[test]
fn nodes_with_the_same_reason_are_one_diagnostic_and_rejections_precede() {
    let target = Target::from_bytes("mine".to_owned(), TABLE.into()).unwrap();
    let model = "<ir_version: 10, opset_import: [\"\" : 22, \"own\" : 1]>
        g (float[4] x, double[4] z) => (y, w) {
            a = Sin(x)  b = own.f(a)  c = own.f(b)  d = Sin(c)  e = Sin(d)  f = Sin(e)  y = Relu(f)  w = Neg(z)
        }
        <domain: \"own\", opset_import: [\"\" : 22]> f (x) => (y) { y = Sin(x) }";
    let bytes = typeloom_onnx::text::parse_model(model).unwrap().encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    let (outcome, reasons, _) = target.judge(&mut checked, true);
    assert_eq!(outcome, Outcome::Rejected);
    let messages: Vec<&str> = reasons.iter().map(|reason| reason.message.as_str()).collect();
    // Four nodes of the graph, and one of the function, which is called twice.
    assert_eq!(messages, ["mine does not run `Neg`", "mine runs `Sin` on the CPU (5 nodes)"]);
    let note = reasons[1].notes.last().unwrap();
    assert!(
        note.starts_with("also node #3 (`Sin`), node #4 (`Sin`), ") && note.ends_with(" and 1 more"),
        "{note}"
    );
}

#[test]
fn independent_nodes_of_the_device_are_one_partition() {
    let found =
        judge("g (float[4] x, float[2] z) => (y, w) { a = Sin(x)  y = Relu(a)  b = Sin(z)  w = Relu(b) }");
    assert_eq!((found.partitions, found.crossing.as_deref()), (1, Some("24")));
}

#[test]
fn a_type_that_did_not_run_is_an_error() {
    let found = judge("g (double[4] x) => (y) { y = Neg(x) }");
    assert_eq!(found.outcome, Outcome::Rejected);
    assert_eq!(found.codes, [(Code::TargetNode, "mine does not run `Neg`".to_owned())]);
}

#[test]
fn a_node_without_a_row_is_undecided() {
    for (graph, reason) in [
        ("g (float[4] x) => (y) { y = Cos(x) }", "no node of this operator was measured"),
        ("g (float[4,1,1] x) => (y) { y = Relu(x) }", "no measured node has rank 3 of `X`"),
        ("g (float16[4] x) => (y) { y = Neg(x) }", "no measured node has type float16 of `T`"),
        (
            "g (float[4] x) => (y) { n = NonZero(x)  f = Cast <to = 1> (n)  y = Relu(f) }",
            "the extents of `f` depend on data, and measured ones were fixed",
        ),
    ] {
        let found = judge(graph);
        assert_eq!(found.outcome, Outcome::Undecided, "{graph}");
        let (code, message) = found.codes.last().unwrap();
        assert_eq!(*code, Code::TargetUndecided);
        assert!(message.ends_with(reason), "{message}");
    }
}

#[test]
fn an_outcome_that_depends_on_a_symbol_has_the_condition() {
    let found = judge("g (float[N, 1] x) => (y) { y = Softmax(x) }");
    assert_eq!(found.outcome, Outcome::Runs);
    let message = "the verdict about mine holds where N != 1, and where `N` is a number";
    assert_eq!(found.codes, [(Code::TargetCondition, message.to_owned())]);
    let found = judge("g (float[N, 2] x) => (y) { y = Softmax(x) }");
    let message = "the verdict about mine holds where `N` is a number";
    assert_eq!(found.codes, [(Code::TargetCondition, message.to_owned())]);
}

#[test]
fn a_broadcast_is_decided_by_the_extents() {
    assert_eq!(judge("g (float[4] x, float[4] z) => (y) { y = Add(x, z) }").outcome, Outcome::Runs);
    assert_eq!(
        judge("g (float[1] x, float[4] z) => (y) { y = Add(x, z) }").outcome,
        Outcome::RunsWithFallback
    );
    let found = judge("g (float[1] x, float[N] z) => (y) { y = Add(x, z) }");
    let message = "the verdict about mine holds where 1 >= N, and where `N` is a number";
    assert_eq!((found.outcome, found.codes[0].1.as_str()), (Outcome::Runs, message));
}

#[test]
fn bytes_are_an_expression_in_the_symbols() {
    let found = judge("g (float[N, 2] x) => (y) { a = Sin(x)  y = Relu(a) }");
    assert_eq!((found.partitions, found.crossing.as_deref()), (1, Some("8*N")));
}

#[test]
fn a_call_is_where_the_worst_of_its_nodes_is() {
    let model = "<ir_version: 10, opset_import: [\"\" : 22, \"own\" : 1]> g (float[4] x) => (y) { a = own.f(x)  y = Relu(a) }
        <domain: \"own\", opset_import: [\"\" : 22]> f (x) => (y) { a = Relu(x)  y = Sin(a) }";
    let target = Target::from_bytes("mine".to_owned(), TABLE.into()).unwrap();
    let bytes = typeloom_onnx::text::parse_model(model).unwrap().encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    let (outcome, _, verdict) = target.judge(&mut checked, true);
    let placement = verdict.placement.unwrap();
    assert_eq!(outcome, Outcome::RunsWithFallback);
    assert_eq!((placement.count(Assignment::Device), placement.count(Assignment::Cpu)), (1, 1));
}

#[test]
fn advice_names_a_change_with_which_the_device_runs_the_node() {
    for (graph, help) in [
        (
            "g (double[4] x) => (y) { y = Neg(x) }",
            Some("the device runs it with type float of `T` instead of double"),
        ),
        // A type that was not measured.
        (
            "g (float16[4] x) => (y) { y = Neg(x) }",
            Some("the device runs it with type float of `T` instead of float16"),
        ),
        // Types of another kind are no advice.
        ("g (int32[4] x) => (y) { y = Neg(x) }", None),
        (
            "g (float[4] x, float low) => (y) { y = Clip(x, low) }",
            Some("the device runs it with a constant `min` (an initializer)"),
        ),
        // Two changes are necessary.
        (
            "g (double[4] x, double low) => (y) { y = Clip(x, low) }",
            Some(
                "the device runs it with a constant `min` (an initializer) and type float of `T` instead of double",
            ),
        ),
        ("g (float[4] x) => (y) { y = Mod(x, x) }", Some("the device runs it with `fmod` = 1 instead of 0")),
        // No change is known.
        ("g (float[4] x) => (y) { y = Sin(x) }", None),
    ] {
        assert_eq!(advice(graph)[0].as_deref(), help, "{graph}");
    }
}

/// The verdict of a runtime of its own, not of a device behind a provider.
fn of_runtime(head: &str, graph: &str) -> (Outcome, Vec<String>) {
    let table = format!(
        "typeloom-measured 1\n{head}\nop ai.onnx::Relu 1\n  version 14\n  tree +\nop ai.onnx::Abs 1\n  version 13\n  tree -\nop ai.onnx::If 1\n  version 21\n  tree +\nop ai.onnx::Loop 1\n  version 21\n  tree +\nop ai.onnx::Scan 1\n  version 21\n  tree +\nop ai.onnx::Identity 1\n  version 21\n  tree +\n"
    );
    let target = Target::from_bytes(format!("runtime {head}"), table.into_bytes()).unwrap();
    let text = format!("<ir_version: 10, opset_import: [\"\" : 22, \"own\" : 1]> {graph}");
    let bytes = typeloom_onnx::text::parse_model(&text).unwrap().encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
    let (outcome, reasons, _) = target.judge(&mut checked, true);
    (outcome, reasons.into_iter().map(|reason| reason.message).collect())
}

#[test]
fn inputs_of_the_model_declare_as_much_as_the_runtime_requires() {
    let (unranked, unnamed) =
        ("g (float[] x) => (y) { y = Relu(x) }", "g (float[?, 2] x) => (y) { y = Relu(x) }");
    for (graph, head, outcome) in [
        (unranked, "", Outcome::Runs),
        (unranked, "inputs ranked", Outcome::Rejected),
        (unranked, "inputs named", Outcome::Rejected),
        (unnamed, "inputs ranked", Outcome::Runs),
        (unnamed, "inputs named", Outcome::Rejected),
        ("g (float[N, 2] x) => (y) { y = Relu(x) }", "inputs named", Outcome::Runs),
    ] {
        assert_eq!(of_runtime(head, graph).0, outcome, "{head} {graph}");
    }
    let (_, messages) = of_runtime("inputs ranked", unranked);
    assert!(
        messages[0].ends_with("does not load the model: the input `x` has no declared rank"),
        "{messages:?}"
    );
}

#[test]
fn a_node_whose_results_are_not_used_may_be_removed() {
    let graph = "g (float[2] x) => (y) { y = Relu(x)  z = Abs(x) }";
    assert_eq!(of_runtime("", graph).0, Outcome::Undecided);
    assert_eq!(of_runtime("unused removed", graph).0, Outcome::Runs);
    let used = "g (float[2] x) => (y) { z = Abs(x)  y = Relu(z) }";
    assert_eq!(of_runtime("unused removed", used).0, Outcome::Rejected);
}

#[test]
fn a_node_with_nested_graphs_runs_if_their_nodes_do() {
    let graph = |inner: &str| {
        format!(
            "g (bool c, float[2] x) => (y) {{ y = If(c) <then_branch = a () => (u) {{ u = Relu(x) }}, else_branch = b () => (v) {{ v = {inner}(x) }}> }}"
        )
    };
    assert_eq!(of_runtime("", &graph("Relu")).0, Outcome::Runs);
    assert_eq!(of_runtime("", &graph("Neg")).0, Outcome::Undecided);
    assert_eq!(of_runtime("unused removed", &graph("Abs")).0, Outcome::Rejected);
    let ranks = "g (bool c, float[2] x, float z) => (y) { y = If(c) <then_branch = a () => (u) { u = Relu(x) }, else_branch = b () => (v) { v = Relu(z) }> }";
    assert_eq!(of_runtime("", ranks).0, Outcome::Undecided, "the rank of the result is not known");
    let repeated = |ty: &str, inner: &str| {
        format!(
            "g (int64 n, {ty} x) => (y) {{ y = Loop <body = b (int64 i, bool c, {ty} s) => (bool c, {ty} t) {{ t = {inner}(s) }}> (n, , x) }}"
        )
    };
    assert_eq!(of_runtime("", &repeated("float[2]", "Relu")).0, Outcome::Runs);
    assert_eq!(of_runtime("", &repeated("float[2]", "Abs")).0, Outcome::Rejected);
    assert_eq!(of_runtime("", &repeated("seq(float[2])", "Identity")).0, Outcome::Undecided);
    let scan = "g (float[4, 2] x) => (y) { y = Scan <num_scan_inputs = 1, body = b (float[2] e) => (f) { f = Relu(e) }> (x) }";
    assert_eq!(of_runtime("", scan).0, Outcome::Undecided);
}

#[test]
fn a_runtime_without_functions_rejects_their_calls() {
    let graph = "g (float[2] x) => (y) { y = own.f(x) } <domain: \"own\", opset_import: [\"\" : 22]> f (x) => (y) { y = Relu(x) }";
    assert_eq!(of_runtime("", graph).0, Outcome::Runs);
    let (outcome, messages) = of_runtime("functions rejected", graph);
    assert_eq!((outcome, messages.len()), (Outcome::Rejected, 1), "{messages:?}");
}

#[test]
fn an_unknown_property_with_a_value_that_was_not_measured_is_undecided() {
    let judge = |tree: &str, graph: &str| {
        let table = format!(
            "typeloom-measured 1\nop ai.onnx::Softmax 2\n  version 13\n  single.input true false\n  tree {tree}\n"
        );
        let target = Target::from_bytes(format!("softmax {tree}"), table.into_bytes()).unwrap();
        let text = format!("<ir_version: 10, opset_import: [\"\" : 22]> {graph}");
        let bytes = typeloom_onnx::text::parse_model(&text).unwrap().encode_to_vec();
        let options = Options { functions: true, ..Options::default() };
        let mut checked = typeloom_ops::check::check(&bytes, &options).unwrap();
        target.judge(&mut checked, true).0
    };
    let unknown = "g (float[] x) => (y) { y = Softmax(x) }";
    assert_eq!(judge("{1:1+}", "g (float[2] x) => (y) { y = Softmax(x) }"), Outcome::Runs);
    assert_eq!(judge("{1:1+}", unknown), Outcome::Undecided);
    assert_eq!(judge("{1:0,1+}", unknown), Outcome::Runs);
}
