//! Messages of errors that a model in textual syntax cannot show, and the bounds of messages.

use prost::Message;
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use typeloom_onnx::text::parse_model;
use typeloom_types::op::AtomicOpDecl;

use super::scope::Scope;
use super::*;
use crate::catalogue::{Catalogue, Lookup};
use crate::model::{CheckError, Checked, Mode, Options, check};
use crate::program::{StepId, ValueId};
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

fn checked<'a>(bytes: &'a [u8], mode: Mode) -> Checked<'a> {
    let universe = Universe::of_default_lattice().unwrap();
    check(bytes, &OneOperator, &universe, &Options { mode, ..Options::default() }).unwrap()
}

fn with_scope<T>(text: &str, run: impl FnOnce(&mut Scope<'_, '_>) -> T) -> T {
    let bytes = parse_model(text).unwrap().encode_to_vec();
    let mut checked = checked(&bytes, Mode::Strict);
    let Checked { core, frame, operators, .. } = &mut checked;
    let mut budget = 1000;
    run(&mut Scope { core, frame, operators, function: None, explains: true, budget: &mut budget })
}

const SMALL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[seq, past] x) => (y) { [first] y = Pass(x) }"#;

#[test]
fn a_missing_payload_is_an_error_with_the_reason() {
    let reason = "`weights.bin` is not there";
    let diagnostic = codes::missing_external_data::missing_external_data(
        Some("`w`".to_owned()),
        reason,
        Location::default(),
    );
    assert_eq!(diagnostic.message, "the data of `w` cannot be read: `weights.bin` is not there");
    assert!(diagnostic.is_error());
}

#[test]
fn a_relation_of_a_declared_operator_speaks_for_itself() {
    let failure = typeloom_types::relation::RelationError {
        message: "the width must be even".to_owned(),
        ports: vec![typeloom_types::relation::PortRef::Input(0)],
        expected: "an even width".to_owned(),
        found: "7".to_owned(),
    };
    let diagnostic = with_scope(SMALL, |scope| scope.relation_failed(StepId::new(0), &failure));
    assert_eq!(diagnostic.message, "`Pass` does not take these types: the width must be even");
    assert_eq!(diagnostic.notes, ["expected an even width, found 7"]);
    assert_eq!(diagnostic.snippets[0].labels[0].text, "float[seq, past], from graph input `x`");
}

#[test]
fn bytes_that_are_no_model_give_a_diagnostic_with_their_offset() {
    let universe = Universe::of_default_lattice().unwrap();
    let error = |bytes: &'static [u8]| {
        check(bytes, &OneOperator, &universe, &Options::default())
            .err()
            .and_then(|error| diagnose_error(&error))
    };
    let cut = error(b"\x3a\x7f\x01").unwrap();
    assert_eq!((cut.code, cut.location.offset), (Code::MalformedFile, Some(0)), "{cut:?}");
    assert_eq!(error(b"").unwrap().message, "the model has no graph");
    let mistake = CheckError::UnknownSeed { name: "x".to_owned() };
    assert_eq!(diagnose_error(&mistake), None, "a caller's mistake is no problem of the model");
}

/// A model of `count` nodes with unknown operators.
fn many_errors(count: usize) -> Vec<u8> {
    let node = |at: usize| NodeProto {
        op_type: Some("Pas".into()),
        input: vec!["x".into()],
        output: vec![format!("y{at}")],
        ..NodeProto::default()
    };
    let input = ValueInfoProto { name: Some("x".into()), ..ValueInfoProto::default() };
    let graph =
        GraphProto { node: (0..count).map(node).collect(), input: vec![input], ..GraphProto::default() };
    ModelProto { ir_version: Some(10), graph: Some(graph), ..ModelProto::default() }.encode_to_vec()
}

#[test]
fn the_last_listed_diagnostic_counts_the_others() {
    let bytes = many_errors(MAX_LISTED + 5);
    let found = diagnose(&mut checked(&bytes, Mode::Permissive));
    assert_eq!(found.len(), MAX_LISTED);
    assert_eq!(found.last().unwrap().notes, ["5 more problems not listed"]);
    assert!(
        found.iter().all(|diagnostic| diagnostic.severity == Severity::Warning),
        "permissive mode lets them pass"
    );
}

#[test]
fn every_code_has_a_name_of_its_own() {
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
