//! Messages of errors that a model in textual syntax cannot show, and the bounds of messages.

use std::cell::RefCell;
use std::path::Path;

use prost::Message;
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use typeloom_onnx::text::parse_model;
use typeloom_types::op::AtomicOpDecl;

use super::scope::{Content, Scope};
use super::*;
use crate::catalogue::{Catalogue, Lookup};
use crate::model::{Checked, Mode, Options, check};
use crate::program::ValueId;
use crate::universe::Universe;

/// A catalogue that has one operator.
struct OneOperator;

static PASS: AtomicOpDecl = AtomicOpDecl {
    name: "Pass",
    inputs: &[typeloom_types::op::PortDecl::required("X", &typeloom_types::tree::builtin::TYPE_ANY)],
    outputs: &[typeloom_types::op::PortDecl::required("Y", &typeloom_types::tree::builtin::TYPE_ANY)],
    kind: typeloom_types::op::AtomicOpKind::Pure,
    type_relations: typeloom_types::relation::UNARY_SAME_ELEMENT,
};

impl Catalogue for OneOperator {
    fn lookup(&self, _: &str, name: &str, _: i64) -> Lookup<'_> {
        if name == "Pass" { Lookup::Declared(&PASS) } else { Lookup::UnknownOperator }
    }

    fn names(&self, _: &str) -> Vec<&str> {
        vec!["Pass"]
    }
}

pub(super) fn checked<'a>(bytes: &'a [u8], options: Options) -> Checked<'a> {
    let universe = Universe::standard().clone();
    check(bytes, &OneOperator, &universe, &options).unwrap()
}

pub(super) fn with_scope<T>(text: &str, run: impl FnOnce(&mut Scope<'_, '_>) -> T) -> T {
    let bytes = parse_model(text).unwrap().encode_to_vec();
    let mut checked = checked(&bytes, Options::default());
    let Checked { core, frame, operators, .. } = &mut checked;
    let mut budget = 1000;
    run(&mut Scope {
        core,
        frame,
        operators,
        function: None,
        content: Content::Causes,
        budget: &mut budget,
        named: RefCell::default(),
    })
}

/// The diagnostics of a model with the standard operators, each as `error[code]: message`. A text that begins
/// with a graph is a model of opset 21.
pub(super) fn reports(text: &str) -> Vec<String> {
    let header = if text.starts_with('<') { "" } else { "<ir_version: 10, opset_import: [\"\": 21]> " };
    let bytes = parse_model(&format!("{header}{text}")).unwrap().encode_to_vec();
    // These operators are linked with another build of this crate, so its types cannot be named.
    let mut checked = typeloom_ops::check::check(&bytes, &Default::default()).unwrap();
    checked.diagnostics().iter().map(ToString::to_string).collect()
}

/// The help of the first diagnostic of a model with the standard operators.
pub(super) fn help(text: &str) -> String {
    let bytes = parse_model(text).unwrap().encode_to_vec();
    let mut checked = typeloom_ops::check::check(&bytes, &Default::default()).unwrap();
    checked.diagnostics()[0].help.clone().unwrap()
}

/// The diagnostic of bytes that cannot be checked.
pub(super) fn report_of_bytes(bytes: &[u8]) -> Diagnostic {
    let universe = Universe::standard().clone();
    let error = check(bytes, &OneOperator, &universe, &Options::default()).err().unwrap();
    diagnose_error(&error).unwrap()
}

pub(super) const SMALL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[seq, past] x) => (y) { [first] y = Pass(x) }"#;

/// A model of `count` nodes with unknown operators.
fn many_errors(count: usize) -> Vec<u8> {
    let node = |at: usize| NodeProto {
        op_type: "Pas".into(),
        input: vec!["x".into()],
        output: vec![format!("y{at}")],
        ..NodeProto::default()
    };
    let input = ValueInfoProto { name: "x".into(), ..ValueInfoProto::default() };
    let graph =
        GraphProto { node: (0..count).map(node).collect(), input: vec![input], ..GraphProto::default() };
    ModelProto { ir_version: Some(10), graph: Some(graph), ..ModelProto::default() }.encode_to_vec()
}

#[test]
fn the_last_listed_diagnostic_counts_the_others() {
    let bytes = many_errors(MAX_LISTED + 5);
    let permissive = Options { mode: Mode::Permissive, ..Options::default() };
    let found = diagnose(&mut checked(&bytes, permissive));
    assert_eq!(found.len(), MAX_LISTED);
    assert_eq!(found.last().unwrap().notes, ["5 more problems not listed"]);
    assert!(
        found.iter().all(|diagnostic| diagnostic.severity == Severity::Warning),
        "permissive mode lets them pass"
    );
}

#[test]
fn errors_are_listed_before_warnings_if_the_list_is_cut() {
    let mut model = ModelProto::decode(&many_errors(MAX_LISTED + 5)[..]).unwrap();
    let nodes = &mut model.graph.as_mut().unwrap().node;
    // `x` is defined twice: an error in every mode.
    for at in [MAX_LISTED + 2, MAX_LISTED + 4] {
        nodes[at].output = vec!["x".into()];
    }
    let permissive = Options { mode: Mode::Permissive, ..Options::default() };
    let bytes = model.encode_to_vec();
    let mut checked = checked(&bytes, permissive);
    let found = diagnose(&mut checked);
    assert!(!checked.is_ok());
    assert_eq!(found.len(), MAX_LISTED);
    assert_eq!(found.iter().filter(|diagnostic| diagnostic.is_error()).count(), 2);
    let nodes: Vec<_> = found.iter().filter_map(|diagnostic| diagnostic.location.node.as_ref()).collect();
    assert!(nodes.is_sorted_by_key(|node| node.index), "in the order of the graph");
    assert_eq!(found.last().unwrap().notes.last().unwrap(), "7 more problems not listed");
}

#[test]
fn every_code_has_a_distinct_name() {
    for code in Code::ALL.iter().copied() {
        assert_eq!(Code::from_name(code.name()), Some(code));
        assert!(code.name().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{code}");
    }
    assert_eq!(Code::from_name("no-such-code"), None);
}

#[test]
fn names_of_a_model_stay_on_one_line() {
    let scope_names = with_scope(SMALL, |scope| scope.name(ValueId::new(0)));
    assert_eq!(scope_names, "`x`");
    assert_eq!(quote("a\nb\u{1b}[31m\u{202e}c"), "`a\\u{a}b\\u{1b}[31m\\u{202e}c`");
    let long = quote(&"x".repeat(500));
    assert_eq!(long.chars().count(), 99, "{long}");
}

/// Codes that other crates report, with the files of their tests.
const OF_OTHER_CRATES: [(Code, &str); 18] = [
    (Code::InvalidModule, "compiler/src/error.rs"),
    (Code::SlotBinding, "compiler/src/error.rs"),
    (Code::LossyCast, "compiler/src/error.rs"),
    (Code::MissingSend, "compiler/src/error.rs"),
    (Code::UnsupportedNode, "runtime/src/error.rs"),
    (Code::NodeFailed, "runtime/src/error.rs"),
    (Code::ProgramTooLarge, "compiler/src/error.rs"),
    (Code::ProgramInterface, "compiler/src/error.rs"),
    (Code::TargetIrVersion, "targets/src/verdict/tests.rs"),
    (Code::TargetOpset, "targets/src/verdict/tests.rs"),
    (Code::TargetOperator, "targets/src/verdict/tests.rs"),
    (Code::TargetKernel, "targets/src/verdict/tests.rs"),
    (Code::TargetElementType, "targets/src/verdict/tests.rs"),
    (Code::TargetAttribute, "targets/src/verdict/tests.rs"),
    (Code::TargetNode, "targets/src/measured/tests.rs"),
    (Code::TargetFallback, "targets/src/measured/tests.rs"),
    (Code::TargetCondition, "targets/src/measured/tests.rs"),
    (Code::TargetUndecided, "targets/src/verdict/tests.rs"),
];

#[test]
fn every_code_has_a_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |file: &str| std::fs::read_to_string(crates.join(file)).unwrap();
    for code in Code::ALL {
        let other = OF_OTHER_CRATES.iter().find(|(other, _)| other == code);
        let file = format!("solver/src/diagnostic/codes/{}.rs", code.name().replace('-', "_"));
        let file = other.map_or(file.as_str(), |(_, file)| file);
        let text = read(file);
        let tests = match text.split_once("#[cfg(test)]") {
            Some((_, tests)) => tests,
            None if file.ends_with("/tests.rs") => &text,
            None => "",
        };
        let is_named = other.is_none() || tests.contains(&format!("Code::{code:?}"));
        assert!(tests.contains("#[test]") && is_named, "{code} has no test");
    }
}
