//! Conformance with the ONNX reference implementation on recorded cases.
//!
//! The cases are stored next to the repository or in the folder that `TYPELOOM_CONFORMANCE` names. If they
//! are absent, the tests report that and pass, except under `CI=true`. Each test prints a table by operator
//! and lists every failing case. `TYPELOOM_OPS=Relu,Conv` restricts a run to cases with these operators.
//! `TYPELOOM_LESS_PRECISE=1` also lists the cases with less precise results than recorded.

#![expect(clippy::print_stdout, reason = "prints tables")]

#[path = "conformance/cases.rs"]
mod cases;
#[path = "conformance/judge.rs"]
mod judge;
#[path = "conformance/layers.rs"]
mod layers;

use cases::{Case, Table, bytes_if_there, bytes_of, case_files, list};
use judge::{Verdict, judge_inference, judge_outputs, judge_value};
use typeloom_onnx::messages::{OptionalProto, SequenceProto, TensorProto, read};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::{Mode, Options};
use typeloom_testing::number;

fn options(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

/// Every `ok` case of `inference`: element types are equal, shapes are at least as precise and never wrong.
#[test]
fn inference_agrees_with_the_reference() {
    let Some(cases) = list("inference") else { return };
    let mut table = Table::new("inference");
    let judged =
        |case: &&Case| !case.skip() && case.is_ok() && case.is_well_typed() && !is_reference_wrong(case);
    for case in cases.iter().filter(judged) {
        let bytes = bytes_of("inference", case.model());
        let expected = case.expected();
        let verdict = match typeloom_ops::check::check(&bytes, &options(Mode::Permissive)) {
            Ok(mut checked) => judge_inference(&typeloom_report::infer::types(&mut checked), &expected),
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish_exact(LESS_THAN_THE_REFERENCE);
}

/// Results of the reference that typeloom does not infer because they do not follow, with the reason, by last
/// operator.
const LESS_THAN_THE_REFERENCE: &[(&str, &str)] = &[
    ("Slice", "the reference takes axes or steps that only the run knows for those that are left out"),
    ("SequenceMap", "the body's declared symbol is the sequence's own, which keeps its name"),
    ("Loop", "the declared shape of a state may be that of the first iteration only, so it proves nothing"),
    ("If", "the reference counts the parts of a branch that never runs, and gives one a negative extent"),
];

/// Results that depend on the values of non-constant inputs.
const DECIDED_BY_THE_RUN: &[(&str, &str)] = &[
    ("NonMaxSuppression", "the number of selected boxes depends on boxes and scores"),
    ("OneHot", "the depth of these cases is an input"),
];

/// Models that the reference accepts and typeloom rejects, by rule or code. In each case the operator's
/// specification forbids the model.
const REFERENCE_TOO_LENIENT: &[(&str, &str)] = &[
    ("deprecated-operator", "the operator was withdrawn in the version that the model imports"),
    ("negativeloglikelihoodloss.classes", "labels have the shape of the scores without the classes"),
    ("resize.sizes", "either `scales` or `sizes` is given, not both"),
    (
        "rnn.states",
        "weights have a leading axis of as many directions as the node, and R is hidden_size wide",
    ),
    ("gru.states", "R is hidden_size wide"),
    ("lstm.states", "R is hidden_size wide"),
    ("conv.channels", "the groups divide the output channels"),
    ("mod.fmod", "before version 28, `fmod` is 1 for floats"),
    ("convinteger.zero_points", "the zero point of the data is a single number"),
    ("nonmaxsuppression.boxes", "boxes and scores have one batch"),
    ("rotaryembedding.pairs", "the caches are as wide as the rotated pairs"),
    ("stft.frames", "a complex signal has no one-sided spectrum"),
    ("scatternd.shapes", "updates have the shape that indices and data give them"),
    ("onehot.depth", "the depth is a single number"),
    ("if.branches", "the condition has one element"),
];

/// Errors that are not detected yet, by operator or model, with the reason.
const NOT_FOUND_YET: &[(&str, &str)] = &[];

/// Operators whose recorded types are wrong, according to the notes on the cases.
const REFERENCE_WRONG: &[(&str, &str)] =
    &[("STFT", "the reference reads a missing `onesided` as 0, but its default is 1")];

fn rejected(checked: &mut typeloom_solver::model::Checked<'_>) -> Verdict {
    let diagnostics = typeloom_solver::diagnostic::diagnose(checked);
    let first = diagnostics.first().map(|first| typeloom_report::concise::diagnostic("model", first));
    Verdict::rejected(first.unwrap_or_default())
}

fn is_reference_wrong(case: &Case) -> bool {
    REFERENCE_WRONG.iter().any(|(op, _)| case.ops().contains(op))
}

/// Whether every error of a model is listed in `REFERENCE_TOO_LENIENT`.
fn is_too_lenient(checked: &mut typeloom_solver::model::Checked<'_>) -> bool {
    let known = |name: &str| REFERENCE_TOO_LENIENT.iter().any(|(listed, _)| *listed == name);
    let diagnostics = typeloom_solver::diagnostic::diagnose(checked);
    diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).all(|diagnostic| {
        let rule = |note: &String| {
            note.strip_prefix("rule ").and_then(|note| note.split(' ').next()).is_some_and(known)
        };
        known(diagnostic.code.name()) || diagnostic.notes.iter().any(rule)
    })
}

/// The strict check accepts every model that is well typed according to the reference.
#[test]
fn well_typed_models_are_accepted() {
    let Some(cases) = list("inference") else { return };
    let mut table = Table::new("inference, accepted");
    for case in cases.iter().filter(|case| !case.skip() && case.is_ok() && case.is_well_typed()) {
        let bytes = bytes_of("inference", case.model());
        let verdict = match typeloom_ops::check::check(&bytes, &options(Mode::Permissive)) {
            Ok(mut checked) => {
                let accepted = checked.is_ok() || is_reference_wrong(case) || is_too_lenient(&mut checked);
                if accepted { Verdict::exact() } else { rejected(&mut checked) }
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
        let rejected = typeloom_ops::check::check(&bytes, &options(Mode::Strict))
            .map_or(true, |checked| !checked.is_ok());
        table.add(case, if rejected { Verdict::exact() } else { Verdict::wrong("accepted") });
    }
    table.finish();
}

/// Models with erased output declarations: inferred types never contradict the recorded outputs.
#[test]
fn erased_outputs_are_inferred_as_they_came_out() {
    let Some(cases) = list("backend") else { return };
    let mut table = Table::new("backend, erased");
    for case in cases.iter().filter(|case| !case.skip()) {
        let bytes = bytes_of("backend/erased", case.model());
        let verdict = match typeloom_ops::check::check(&bytes, &options(Mode::Permissive)) {
            Ok(mut checked) => judge_outputs(&typeloom_report::infer::types(&mut checked), case.actual()),
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish();
}

/// Decodes the tensors of a recorded output with an inferred type.
fn recorded(bytes: Vec<u8>, ty: &serde_json::Value) -> Vec<TensorProto> {
    let bytes = bytes.into();
    match ty["k"].as_str() {
        Some("seq") => {
            let sequence: SequenceProto = read(bytes).expect("a recorded output is a message");
            sequence.tensor_values
        }
        Some("opt") => {
            let optional: OptionalProto = read(bytes).expect("a recorded output is a message");
            let inside = optional.sequence_value.map(|sequence| sequence.tensor_values);
            optional.tensor_value.into_iter().chain(inside.into_iter().flatten()).collect()
        }
        _ => vec![read(bytes).expect("a recorded output is a message")],
    }
}

/// The recorded outputs of every single-operator model are instances of the inferred types.
#[test]
fn execution_never_contradicts_inference() {
    let Some(cases) = list("backend") else { return };
    let mut table = Table::new("backend, executed");
    for case in cases.iter().filter(|case| !case.skip() && case.data().is_some()) {
        let bytes = bytes_of("backend/erased", case.model());
        let mut checked =
            typeloom_ops::check::check(&bytes, &options(Mode::Permissive)).expect("the model can be read");
        let types = typeloom_report::infer::types(&mut checked);
        let outputs = types["outputs"].as_object().into_iter().flatten();
        let mut verdict = Verdict::exact();
        for (at, (name, ty)) in outputs.enumerate() {
            let folder = case.data().expect("cases without data were left out");
            let Some(bytes) = bytes_if_there("backend", &format!("{folder}/output_{at}.pb")) else {
                continue;
            };
            let mut inner = ty;
            while inner.get("of").is_some() {
                inner = &inner["of"];
            }
            for tensor in recorded(bytes, ty) {
                let elem = Elem::from_onnx(tensor.data_type()).and_then(Elem::onnx_name);
                let actual = serde_json::json!({"k": "tensor", "e": elem, "s": tensor.dims});
                judge_value(&mut verdict, name, inner, &actual);
            }
        }
        table.add(case, verdict);
    }
    table.finish();
}

/// Operators whose shape inputs are constants: the exact shape is inferred.
#[test]
fn constant_inputs_give_exact_shapes() {
    let Some(cases) = list("constant_shapes") else { return };
    let mut table = Table::new("constant_shapes");
    for case in cases.iter().filter(|case| !case.skip()) {
        let bytes = bytes_of("constant_shapes", case.model());
        let verdict = match typeloom_ops::check::check(&bytes, &options(Mode::Permissive)) {
            Ok(mut checked) => judge_outputs(&typeloom_report::infer::types(&mut checked), case.declared()),
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish_exact(DECIDED_BY_THE_RUN);
}

/// The backend models, with their declared types, are accepted.
#[test]
fn backend_models_are_accepted() {
    let Some(cases) = list("backend") else { return };
    let mut table = Table::new("backend, accepted");
    for case in cases.iter().filter(|case| !case.skip()) {
        let bytes = bytes_of("backend", case.model());
        let verdict = match typeloom_ops::check::check(&bytes, &options(Mode::Strict)) {
            Ok(checked) if checked.is_ok() => Verdict::exact(),
            Ok(mut checked) => rejected(&mut checked),
            Err(error) => Verdict::rejected(error.to_string()),
        };
        table.add(case, verdict);
    }
    table.finish();
}

/// Models with one error each: every one is rejected.
#[test]
fn each_error_of_the_ill_typed_models_is_found() {
    let Some(files) = case_files("illtyped") else { return };
    let mut table = Table::new("illtyped");
    for file in files {
        let bytes = std::fs::read(&file).expect("the folder was just listed");
        let rejected = typeloom_ops::check::check(&bytes, &options(Mode::Strict))
            .map_or(true, |checked| !checked.is_ok());
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some((_, reason)) = NOT_FOUND_YET.iter().find(|(known, _)| *known == name) {
            assert!(!rejected, "{name} is found now: take it off the list");
            println!("not found yet: {name}: {reason}");
            continue;
        }
        table.add(&Case::named(&name), if rejected { Verdict::exact() } else { Verdict::wrong("accepted") });
    }
    table.finish();
}

/// The memo copies the result of an equal earlier node, except in a solve that records causes. Both solves
/// give the same answer: for every case unchanged, and with repeated nodes so that the memo is used.
#[test]
fn recording_causes_changes_no_answer() {
    let mut differing = Vec::new();
    for folder in ["inference", "backend"] {
        let Some(cases) = list(folder) else { return };
        for case in cases.iter().step_by(number(10, 1)) {
            let once = bytes_of(folder, case.model());
            let again = layers::repeat(&once);
            for bytes in [Some(once), again].into_iter().flatten() {
                let answer = |trace| {
                    let options = Options { mode: Mode::Permissive, trace, ..Options::default() };
                    let mut checked = typeloom_ops::check::check(&bytes, &options).ok()?;
                    Some((typeloom_report::infer::types(&mut checked), checked.equations().len()))
                };
                if answer(false) != answer(true) {
                    differing.push(format!("{folder}/{}", case.id()));
                }
            }
        }
    }
    assert!(differing.is_empty(), "answers differ: {differing:#?}");
}
