//! Checks for types only: the types are those of a full check without cases, and without a proof no type counts as proved.

use typeloom_ops::catalogue::Standard;
use typeloom_solver::model::{Checked, Detail, Mode, Options, check};
use typeloom_solver::program::ValueId;
use typeloom_solver::solution::Type;

use crate::support::{graph, model_files, universe};

fn options(detail: Detail) -> Options {
    Options { mode: Mode::Permissive, detail, ..Options::default() }
}

/// The types of all values as text.
fn types(checked: &mut Checked<'_>) -> Vec<String> {
    let values: Vec<ValueId> = checked.body().values().collect();
    let mut shown = Vec::with_capacity(values.len());
    for value in values {
        let ty = checked.display_type(value);
        shown.push(format!("{}: {ty}", checked.body().value_name(value)));
    }
    shown
}

#[test]
fn types_are_those_of_a_full_check() {
    let mut compared = 0;
    for path in model_files() {
        let bytes = std::fs::read(&path).expect("the file can be read");
        let [full, only] = [Detail::Full, Detail::Types]
            .map(|detail| check(&bytes, &Standard, universe(), &options(detail)));
        let (Ok(mut full), Ok(mut only)) = (full, only) else { continue };
        // The recovery from an error depends on its causes.
        if !full.is_ok() {
            continue;
        }
        let expected = types(&mut full);
        // The outputs of branches are not solved for each case.
        if expected.iter().any(|ty| ty.contains('|')) {
            continue;
        }
        assert_eq!(types(&mut only), expected, "{}", path.display());
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn outputs_of_branches_are_joined() {
    let bytes = graph(
        "g (bool c, float[2] x, float[3] w) => (y) {
            y = If(c) <then_branch = a () => (p) { p = Relu(x) }, else_branch = b () => (q) { q = Relu(w) }>
        }",
    );
    let found = [Detail::Full, Detail::Types].map(|detail| {
        let mut checked = check(&bytes, &Standard, universe(), &options(detail)).expect("a model");
        types(&mut checked).into_iter().find(|ty| ty.starts_with("y: ")).expect("a value")
    });
    assert_eq!(found, ["y: float[2|3]", "y: float[?]"]);
}

#[test]
fn a_type_that_needs_an_assumption_is_not_proved() {
    let bytes = graph("g (float[N] x, int64[M] s) => (float[2] z) { y = Reshape(x, s) z = Relu(y) }");
    let mut only = check(&bytes, &Standard, universe(), &options(Detail::Types)).expect("a model");
    let z = only.body().values().last().expect("a value");
    assert!(matches!(only.type_of(z), Type::Tensor(_)));
    assert_eq!(only.proven_type_of(z), Type::Unknown(None));
}

#[test]
fn nodes_in_error_are_found_without_causes() {
    let bytes = graph("g (float[2] x, float[3] w) => (y) { y = Add(x, w) }");
    for detail in [Detail::Full, Detail::Types] {
        let checked = check(&bytes, &Standard, universe(), &options(detail)).expect("a model");
        assert_eq!(checked.all_errors().count(), 1, "{detail:?}");
    }
}

#[test]
fn a_condition_on_symbols_is_not_decided() {
    let bytes = graph("g (float[N] x, float[N + 1] w) => (y) { y = Add(x, w) }");
    let found = [Detail::Full, Detail::Types]
        .map(|detail| check(&bytes, &Standard, universe(), &options(detail)).expect("a model").is_ok());
    assert_eq!(found, [false, true]);
}

#[test]
fn errors_that_change_no_type_are_left_out() {
    let bytes = graph("g (float[4294967296, 4294967296] x) => (y) { y = Relu(x) }");
    let [full, only] = [Detail::Full, Detail::Types]
        .map(|detail| check(&bytes, &Standard, universe(), &options(detail)).expect("a model"));
    assert_eq!([full.is_ok(), only.is_ok()], [false, true]);
}
