//! What nodes like this one came to before is copied; a node that is unlike them in what a rule reads has its own answer.

use typeloom_onnx::messages::{
    GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
};
use typeloom_onnx::text::parse_value_info;
use typeloom_ops::catalogue::Standard;
use typeloom_solver::catalogue::{Catalogue, Lookup, Operator};
use typeloom_solver::model::{Options, check};
use typeloom_solver::rule::{Failure, Port, Rule, RuleCx};
use typeloom_solver::universe::Universe;

use prost::Message as _;

/// `refuse.metadata`: a node whose metadata says so is refused.
fn refuse(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    match cx.metadata("refuse") {
        Some(_) => Err(Failure::value(Port::In(0), "is refused")),
        None => Ok(()),
    }
}

const RULES: &[Rule] = &[Rule { name: "refuse.metadata", run: refuse }];

/// ONNX's operators, each with the rule.
struct Refusing;

impl Catalogue for Refusing {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        match Standard.lookup(domain, name, version) {
            Lookup::Found(operator) => Lookup::Found(Operator { rules: RULES, ..operator }),
            other => other,
        }
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        Standard.names(domain)
    }
}

#[test]
fn a_rule_that_reads_metadata_runs_for_every_node() {
    let node = |input: &str, output: &str, refused: bool| NodeProto {
        op_type: Some("Abs".into()),
        input: vec![input.into()],
        output: vec![output.into()],
        metadata_props: refused
            .then(|| StringStringEntryProto {
                key: Some("refuse".into()),
                value: Some("yes".into()),
                ..StringStringEntryProto::default()
            })
            .into_iter()
            .collect(),
        ..NodeProto::default()
    };
    for refused in [[false, false, true], [true, false, false], [false, false, false]] {
        let graph = GraphProto {
            name: Some("g".into()),
            node: vec![node("x", "a", refused[0]), node("a", "b", refused[1]), node("b", "c", refused[2])],
            input: vec![parse_value_info("float[2] x").expect("a declaration")],
            ..GraphProto::default()
        };
        let model = ModelProto {
            ir_version: Some(8),
            graph: Some(graph),
            opset_import: vec![OperatorSetIdProto { version: Some(17), ..OperatorSetIdProto::default() }],
            ..ModelProto::default()
        };
        let bytes = model.encode_to_vec();
        let universe = Universe::of_default_lattice().expect("the tree is small");
        let checked = check(&bytes, &Refusing, &universe, &Options::default()).expect("it is a model");
        assert_eq!(checked.is_ok(), !refused.contains(&true), "{refused:?}");
    }
}
