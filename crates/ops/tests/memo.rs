//! Memoisation: rule applications that read the same data share a result, others do not.

use std::sync::atomic::{AtomicUsize, Ordering};

use prost::Message as _;
use typeloom_onnx::messages::{
    GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto,
    ValueInfoProto,
};
use typeloom_onnx::text::parse_value_info;
use typeloom_ops::catalogue::Standard;
use typeloom_solver::catalogue::{Catalogue, Lookup, Operator};
use typeloom_solver::model::{Options, check};
use typeloom_solver::rule::{Port, Rule, RuleCx, RuleError, RuleFn};
use typeloom_solver::universe::Universe;

/// ONNX's operators with one rule instead of their own.
struct Refusing([Rule; 1]);

impl Catalogue for Refusing {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        match Standard.lookup(domain, name, version) {
            Lookup::Found(operator) => Lookup::Found(Operator { rules: &self.0, ..operator }),
            other => other,
        }
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        Standard.names(domain)
    }
}

fn refuse(is_refused: bool) -> Result<(), RuleError> {
    if is_refused { Err(RuleError::value(Port::In(0), "is refused")) } else { Ok(()) }
}

fn node(op_type: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: op_type.into(),
        input: inputs.iter().map(|input| (*input).into()).collect(),
        output: vec![output.into()],
        ..NodeProto::default()
    }
}

fn graph(nodes: Vec<NodeProto>) -> GraphProto {
    let declaration = |text| parse_value_info(text).expect("a declaration");
    GraphProto {
        name: "g".into(),
        node: nodes,
        input: vec![declaration("float[2] x"), declaration("float[2] y")],
        ..GraphProto::default()
    }
}

fn encoded(graph: GraphProto) -> Vec<u8> {
    let model = ModelProto {
        ir_version: Some(8),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { version: Some(17), ..OperatorSetIdProto::default() }],
        ..ModelProto::default()
    };
    model.encode_to_vec()
}

/// The number of nodes that a rule refuses.
fn refusals(rule: RuleFn, graph: GraphProto) -> usize {
    let bytes = encoded(graph);
    let universe = Universe::standard().clone();
    let catalogue = Refusing([Rule { name: "refuse.some", run: rule }]);
    let checked = check(&bytes, &catalogue, &universe, &Options::default()).expect("it is a model");
    checked.errors().len()
}

/// The builder of bodies keeps recent operators, which must be those that a lookup of each name finds.
#[test]
fn every_node_has_the_operator_of_its_name() {
    let names = Standard.names("");
    let spread = (0..3 * names.len()).map(|at| names[at * at % names.len()]);
    let ops: Vec<&str> = spread.chain(names.iter().flat_map(|name| [*name, "Abs", *name])).collect();
    let nodes = ops.iter().enumerate().map(|(at, op)| node(op, &["x"], &format!("v{at}"))).collect();
    let bytes = encoded(graph(nodes));
    let checked = check(&bytes, &Standard, Universe::standard(), &Options::default()).expect("it is a model");
    for (at, op) in ops.iter().enumerate() {
        let value = checked.find(&format!("v{at}")).expect("the node has an output");
        let step = checked.body().maker(value).expect("a node makes the value");
        assert_eq!(checked.operator(step), ("", *op));
    }
}

#[test]
fn a_rule_that_reads_metadata_runs_for_every_node() {
    let marked = |mut node: NodeProto, is_marked: bool| {
        let entry = StringStringEntryProto {
            key: "refuse".into(),
            value: "yes".into(),
            ..StringStringEntryProto::default()
        };
        node.metadata_props = is_marked.then_some(entry).into_iter().collect();
        node
    };
    for marks in [[false, false, true], [true, false, false], [false, false, false]] {
        let nodes = [("x", "a"), ("a", "b"), ("b", "c")];
        let nodes =
            nodes.iter().zip(marks).map(|((input, output), is)| marked(node("Abs", &[input], output), is));
        let refused = refusals(|cx| refuse(cx.metadata("refuse").is_some()), graph(nodes.collect()));
        assert_eq!(refused > 0, marks.contains(&true), "{marks:?}");
    }
}

#[test]
fn a_rule_that_reads_a_constant_runs_for_every_constant() {
    let constant = |name: &str, value: i64| TensorProto {
        name: name.into(),
        data_type: Some(7),
        int64_data: vec![value],
        ..TensorProto::default()
    };
    let nodes = ["one", "two", "three", "two"].iter().enumerate();
    let nodes = nodes.map(|(at, input)| node("Neg", &[input], &format!("v{at}"))).collect();
    let initializer = vec![constant("one", 1), constant("two", 2), constant("three", 3)];
    let graph = GraphProto { initializer, ..graph(nodes) };
    assert_eq!(refusals(|cx| refuse(cx.const_int(Port::In(0)) == Some(2)), graph), 2);
}

#[test]
fn a_rule_runs_once_for_each_of_many_constants() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let constants = 100;
    let initializer = (0..constants).map(|value| TensorProto {
        name: format!("c{value}").into(),
        data_type: Some(7),
        int64_data: vec![value],
        ..TensorProto::default()
    });
    let nodes =
        (0..3 * constants).map(|at| node("Neg", &[&format!("c{}", at % constants)], &format!("v{at}")));
    let graph = GraphProto { initializer: initializer.collect(), ..graph(nodes.collect()) };
    let rule: RuleFn = |cx| {
        RUNS.fetch_add(1, Ordering::Relaxed);
        refuse(cx.const_int(Port::In(0)).is_none())?;
        cx.set_shape(Port::Out(0), &[])
    };
    assert_eq!(refusals(rule, graph), 0);
    assert_eq!(RUNS.load(Ordering::Relaxed), 100);
}

#[test]
fn a_rule_that_reads_a_declaration_runs_for_every_node() {
    let nodes = [("x", "a"), ("y", "b"), ("a", "c")];
    let nodes = nodes.iter().map(|(input, output)| node("Abs", &[input], output)).collect();
    let value_info: Vec<ValueInfoProto> = vec![parse_value_info("float[2] b").expect("a declaration")];
    let graph = GraphProto { value_info, ..graph(nodes) };
    assert_eq!(refusals(|cx| refuse(cx.declared_shape(Port::Out(0)).is_some()), graph), 1);
}

#[test]
fn a_rule_that_compares_values_runs_for_every_node() {
    let nodes = vec![
        node("Identity", &["x"], "copy"),
        node("Identity", &["y"], "other"),
        node("Add", &["x", "other"], "different"),
        node("Add", &["x", "copy"], "equal"),
    ];
    fn rule(cx: &mut RuleCx<'_, '_>) -> Result<(), RuleError> {
        if cx.input_count() == 1 {
            return cx.same_shape(Port::In(0), Port::Out(0));
        }
        refuse(cx.is_same_value(Port::In(0), Port::In(1)))
    }
    assert_eq!(refusals(rule, graph(nodes)), 1);
}
