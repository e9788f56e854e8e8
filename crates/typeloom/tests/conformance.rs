//! The recorded cases: models with the answers of the ONNX reference implementation.
//!
//! The cases lie beside the repository or where `TYPELOOM_CONFORMANCE` says. Where they are absent the
//! tests say so and pass, except under `CI=true`. Each prints a table by operator and names every
//! failing case. `TYPELOOM_OPS=Relu,Conv` restricts a run to cases that use these operators.

#[path = "conformance/cases.rs"]
mod cases;
#[path = "conformance/judge.rs"]
mod judge;

use cases::{Case, Table, bytes_of, case_files, list};
use judge::{Verdict, judge_inference, judge_outputs};
use typeloom::{Mode, Options};

fn options(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

/// Every `ok` case of `inference`: element types equal, shapes at least as precise and never wrong.
#[test]
fn inference_agrees_with_the_reference() {
    let Some(cases) = list("inference") else { return };
    let mut table = Table::new("inference");
    for case in cases.iter().filter(|case| !case.skip() && case.is_ok() && case.is_well_typed()) {
        let bytes = bytes_of("inference", case.model());
        let expected = case.expected();
        let verdict = match typeloom::check(&bytes, &options(Mode::Permissive)) {
            Ok(mut checked) => judge_inference(&typeloom::report::infer::types(&mut checked), &expected),
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish();
}

/// Cases that the reference accepts and we reject, each because the operator's specification forbids it.
const REFERENCE_TOO_LENIENT: &[(&str, &str)] = &[
    ("Upsample", "withdrawn in version 10"),
    ("Scatter", "withdrawn in version 11"),
    ("SoftmaxCrossEntropyLoss", "labels must have the shape of the scores without the classes"),
];

/// Every model that the reference finds well typed passes the strict check.
#[test]
fn well_typed_models_are_accepted() {
    let Some(cases) = list("inference") else { return };
    let mut table = Table::new("inference, accepted");
    for case in cases.iter().filter(|case| !case.skip() && case.is_ok() && case.is_well_typed()) {
        let bytes = bytes_of("inference", case.model());
        let verdict = match typeloom::check(&bytes, &options(Mode::Permissive)) {
            Ok(checked) if checked.is_ok() => Verdict::exact(),
            Ok(_) if REFERENCE_TOO_LENIENT.iter().any(|(op, _)| case.ops() == [*op]) => Verdict::exact(),
            Ok(checked) => {
                Verdict::rejected(format!("{:?}", checked.faults().first().map(|fault| &fault.kind)))
            }
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish();
}

/// Every ill-typed model of `inference` is rejected.
#[test]
fn ill_typed_models_are_rejected() {
    let Some(cases) = list("inference") else { return };
    let mut table = Table::new("inference, ill-typed");
    for case in cases.iter().filter(|case| !case.skip() && !case.is_well_typed()) {
        let bytes = bytes_of("inference", case.model());
        let rejected =
            typeloom::check(&bytes, &options(Mode::Strict)).map_or(true, |checked| !checked.is_ok());
        table.add(case, if rejected { Verdict::exact() } else { Verdict::wrong("accepted") });
    }
    table.finish();
}

/// Models whose declared output types were erased: what is inferred never contradicts what came out.
#[test]
fn erased_outputs_are_inferred_as_they_came_out() {
    let Some(cases) = list("backend") else { return };
    let mut table = Table::new("backend, erased");
    for case in cases.iter().filter(|case| !case.skip()) {
        let bytes = bytes_of("backend/erased", case.model());
        let verdict = match typeloom::check(&bytes, &options(Mode::Permissive)) {
            Ok(mut checked) => judge_outputs(&typeloom::report::infer::types(&mut checked), case.actual()),
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish();
}

/// Operators whose shape-giving inputs are constants: the exact shape comes out.
#[test]
fn constant_inputs_give_exact_shapes() {
    let Some(cases) = list("constant_shapes") else { return };
    let mut table = Table::new("constant_shapes");
    for case in cases.iter().filter(|case| !case.skip()) {
        let bytes = bytes_of("constant_shapes", case.model());
        let verdict = match typeloom::check(&bytes, &options(Mode::Permissive)) {
            Ok(mut checked) => judge_outputs(&typeloom::report::infer::types(&mut checked), case.declared()),
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish();
}

/// The backend models, declared types in place, pass.
#[test]
fn backend_models_are_accepted() {
    let Some(cases) = list("backend") else { return };
    let mut table = Table::new("backend, accepted");
    for case in cases.iter().filter(|case| !case.skip()) {
        let bytes = bytes_of("backend", case.model());
        let verdict = match typeloom::check(&bytes, &options(Mode::Strict)) {
            Ok(checked) if checked.is_ok() => Verdict::exact(),
            Ok(checked) => {
                Verdict::rejected(format!("{:?}", checked.faults().first().map(|fault| &fault.kind)))
            }
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish();
}

/// Models that are wrong in one way each: every one is rejected.
#[test]
fn each_fault_of_the_ill_typed_models_is_found() {
    let Some(files) = case_files("illtyped") else { return };
    let mut table = Table::new("illtyped");
    for file in files {
        let bytes = std::fs::read(&file).expect("the folder was just listed");
        let rejected =
            typeloom::check(&bytes, &options(Mode::Strict)).map_or(true, |checked| !checked.is_ok());
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        table.add(&Case::named(&name), if rejected { Verdict::exact() } else { Verdict::wrong("accepted") });
    }
    table.finish();
}
