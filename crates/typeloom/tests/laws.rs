//! Laws that hold for every model: some transformations do not change an answer, and additional knowledge
//! never makes it less precise.
//!
//! The tests run on the recorded cases (see `conformance.rs`), on the models of this repository and on graphs
//! generated from fixed seeds. Each test prints the number of models.

#![expect(clippy::print_stdout, reason = "prints the number of tested cases")]

#[expect(dead_code, reason = "the other tests of recorded cases use the rest")]
#[path = "conformance/cases.rs"]
mod cases;
#[path = "laws/change.rs"]
mod change;
#[path = "laws/generate.rs"]
mod generate;
#[expect(dead_code, reason = "the other tests of recorded cases use the rest")]
#[path = "conformance/judge.rs"]
mod judge;
#[path = "laws/refine.rs"]
mod refine;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};
use typeloom_onnx::messages::{ModelProto, read};
use typeloom_onnx::prost::Message as _;
use typeloom_solver::model::{Mode, Options};
use typeloom_testing::number;

use change::{Shuffle, is_plain, rename_symbols, rename_values, renamed, shuffle, strip, substitute};
use refine::{Difference, refines};

/// A model by name.
struct Model {
    name: String,
    bytes: Vec<u8>,
}

/// The models available to the tests: all with `TYPELOOM_TESTS=all`, which `.ci/long` sets. Otherwise every
/// 30th generated or recorded one, from `first`, which differs by law.
fn models(first: usize) -> Vec<Model> {
    let (first, step) = (number(first, 0), number(30, 1));
    let mut models: Vec<Model> = (first as u64..400)
        .step_by(step)
        .map(|seed| Model { name: format!("generated {seed}"), bytes: generate::model(seed) })
        .collect();
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let files = std::fs::read_dir(own).expect("the repository has models");
    let mut files: Vec<PathBuf> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "onnx"));
    files.sort();
    models.extend(files.into_iter().map(|file| {
        let bytes = std::fs::read(&file).expect("the folder was just listed");
        Model { name: file.display().to_string(), bytes }
    }));
    for (folder, sub) in
        [("inference", "inference"), ("backend", "backend/erased"), ("constant_shapes", "constant_shapes")]
    {
        for case in
            cases::list(folder).into_iter().flatten().filter(|case| !case.skip()).skip(first).step_by(step)
        {
            let name = format!("{sub}/{}", case.model());
            models.push(Model { bytes: cases::bytes_of(sub, case.model()), name });
        }
    }
    models
}

/// Result for a model: the verdict and the types of its values.
struct Answer {
    ok: bool,
    types: Map<String, Value>,
    problems: Vec<String>,
}

fn answer_with(bytes: &[u8], options: &Options) -> Option<Answer> {
    let mut checked = typeloom_ops::check::check(bytes, options).ok()?;
    let (ok, types) = (checked.is_ok(), typeloom_report::infer::types(&mut checked));
    let shown = |it: &typeloom_solver::diagnostic::Diagnostic| format!("{}: {}", it.severity, it.message);
    let problems = typeloom_solver::diagnostic::diagnose(&mut checked).iter().map(shown).collect();
    Some(Answer { ok, types, problems })
}

fn answer(bytes: &[u8]) -> Option<Answer> {
    answer_with(bytes, &Options { mode: Mode::Permissive, ..Options::default() })
}

fn message(model: &Model) -> Option<ModelProto> {
    read(model.bytes.clone().into()).ok()
}

/// The types of the values of the main graph, by name. Names in nested graphs are paths with positions.
fn main_types(types: &Map<String, Value>) -> BTreeMap<&str, &Value> {
    ["inputs", "value_info", "outputs"]
        .iter()
        .filter_map(|list| types.get(*list)?.as_object())
        .flatten()
        .map(|(name, ty)| (name.as_str(), ty))
        .collect()
}

/// Fails with the first models that break a law, or if the law applied to few of `all`.
fn hold(law: &str, tried: usize, all: usize, broken: &[String]) {
    println!("{law}: {tried} of {all} models");
    assert!(tried * number(40, 20) > all, "{law} was tried on {tried} of {all} models only");
    assert!(
        broken.is_empty(),
        "{law}: {} broken\n{}",
        broken.len(),
        broken[..broken.len().min(12)].join("\n")
    );
}

fn first_difference(
    a: &BTreeMap<&str, &Value>,
    b: &BTreeMap<&str, &Value>,
    text: impl Fn(&Value) -> String,
) -> Option<String> {
    let of = |ty: Option<&&Value>| ty.map(|ty| text(ty));
    let differs = a.iter().find(|(name, ty)| of(b.get(*name)) != Some(text(ty)));
    differs.map(|(name, ty)| format!("`{name}`: {ty} and {:?}", b.get(name).map(ToString::to_string)))
}

#[test]
fn the_order_of_nodes_does_not_matter() {
    let (mut tried, mut broken) = (0, Vec::new());
    let models = models(0);
    for (at, model) in models.iter().enumerate() {
        let (Some(before), Some(mut proto)) = (answer(&model.bytes), message(model)) else { continue };
        if shuffle(&mut proto, at as u64) == Shuffle::Impossible {
            continue;
        }
        let bytes = proto.encode_to_vec();
        let Some(after) = answer(&bytes) else { continue };
        tried += 1;
        if before.ok != after.ok {
            broken.push(format!("{}: {:#?} and {:#?}", model.name, before.problems, after.problems));
        } else if before.ok
            && let Some(words) =
                first_difference(&main_types(&before.types), &main_types(&after.types), Value::to_string)
        {
            broken.push(format!("{}: {words}", model.name));
        }
    }
    hold("the order of nodes", tried, models.len(), &broken);
}

#[test]
fn a_model_annotated_with_its_own_types_is_right_and_stays_as_it_is() {
    use typeloom_rewrite::annotate::{AnnotationForm, annotate};
    let (mut tried, mut broken) = (0, Vec::new());
    let models = models(1);
    for model in &models {
        let options = Options { mode: Mode::Permissive, ..Options::default() };
        let Ok(mut checked) = typeloom_ops::check::check(&model.bytes, &options) else { continue };
        if !checked.is_ok() {
            continue;
        }
        let before = typeloom_report::infer::types(&mut checked);
        let Ok(annotated) = annotate(&mut checked, AnnotationForm::Untagged) else { continue };
        let bytes = annotated.file.pieces().concat();
        tried += 1;
        match answer(&bytes) {
            Some(after) if after.ok && after.types == before => {}
            Some(after) if after.ok => {
                let words =
                    first_difference(&main_types(&before), &main_types(&after.types), Value::to_string);
                broken.push(format!("{}: {}", model.name, words.unwrap_or_default()));
            }
            Some(_) => {
                let mut checked = typeloom_ops::check::check(&bytes, &options).expect("it was just read");
                let found = typeloom_solver::diagnostic::diagnose(&mut checked);
                let first = found.iter().find(|diagnostic| diagnostic.is_error()).map(|d| d.message.clone());
                broken.push(format!("{}: {}", model.name, first.unwrap_or_default()));
            }
            None => broken.push(format!("{}: cannot be read", model.name)),
        }
    }
    hold("its own types", tried, models.len(), &broken);
}

#[test]
fn renaming_values_and_symbols_renames_the_answer() {
    let (mut tried, mut broken) = (0, Vec::new());
    let models = models(2);
    for model in &models {
        let (Some(before), Some(mut proto)) = (answer(&model.bytes), message(model)) else { continue };
        if !is_plain(&proto) {
            continue;
        }
        rename_values(&mut proto);
        rename_symbols(&mut proto);
        let Some(after) = answer(&proto.encode_to_vec()) else { continue };
        tried += 1;
        if before.ok != after.ok || (before.ok && renamed(&before.types) != after.types) {
            let (old, new) = (renamed(&before.types), after.types);
            let words =
                first_difference(&main_types(&old), &main_types(&new), Value::to_string).unwrap_or_default();
            broken.push(format!("{}: right {} and {}: {words}", model.name, before.ok, after.ok));
        }
    }
    hold("renaming", tried, models.len(), &broken);
}

/// Numbers for the symbols of a model, in the order of their names.
const NUMBERS: [[i64; 6]; 2] = [[6, 4, 12, 8, 10, 24], [6, 6, 6, 6, 6, 6]];

#[test]
fn numbers_for_symbols_refine_the_symbolic_answer() {
    let (mut tried, mut refused, mut broken) = (0, 0, Vec::new());
    let models = models(3);
    for model in &models {
        let (Some(symbolic), Some(proto)) = (answer(&model.bytes), message(model)) else { continue };
        if !symbolic.ok || !is_plain(&proto) {
            continue;
        }
        for numbers in NUMBERS {
            let mut proto = proto.clone();
            let symbols = substitute(&mut proto, &numbers);
            let Some(concrete) = answer(&proto.encode_to_vec()) else { continue };
            tried += 1;
            if !concrete.ok {
                // The numbers need not satisfy the constraints of an operator on symbols.
                refused += 1;
                continue;
            }
            if let Err(Difference(words)) = refines(&concrete.types, &symbolic.types, &symbols) {
                broken.push(format!("{}: {words}", model.name));
            }
            // The same by an assumption instead of another model.
            let assume = symbols.iter().map(|(name, number)| (name.clone(), number.to_string())).collect();
            let options = Options { mode: Mode::Permissive, assume, ..Options::default() };
            match answer_with(&model.bytes, &options) {
                Some(assumed) if assumed.ok && assumed.types == concrete.types => {}
                Some(assumed) => {
                    let words = first_difference(
                        &main_types(&concrete.types),
                        &main_types(&assumed.types),
                        Value::to_string,
                    );
                    broken.push(format!("{}: assumed: {}", model.name, words.unwrap_or_default()));
                }
                None => broken.push(format!("{}: assumptions are refused", model.name)),
            }
        }
    }
    println!("numbers that an operator refuses: {refused}");
    hold("numbers for symbols", tried, models.len(), &broken);
}

#[test]
fn declared_types_refine_the_types_derived_without_them() {
    let (mut tried, mut broken) = (0, Vec::new());
    let models = models(4);
    for model in &models {
        let (Some(declared), Some(mut proto)) = (answer(&model.bytes), message(model)) else { continue };
        strip(&mut proto);
        let Some(bare) = answer(&proto.encode_to_vec()) else { continue };
        if !declared.ok || !bare.ok {
            continue;
        }
        tried += 1;
        if let Err(Difference(words)) = refines(&declared.types, &bare.types, &BTreeMap::new()) {
            broken.push(format!("{}: {words}", model.name));
        }
    }
    hold("declared types", tried, models.len(), &broken);
}

#[test]
fn a_second_run_gives_the_same_answer_to_the_byte() {
    let (mut tried, mut broken) = (0, Vec::new());
    let models = models(5);
    for model in &models {
        let text = |bytes: &[u8]| answer(bytes).map(|answer| Value::Object(answer.types).to_string());
        let (once, traced) = (text(&model.bytes), {
            let options = Options { mode: Mode::Permissive, trace: true, ..Options::default() };
            answer_with(&model.bytes, &options).map(|answer| Value::Object(answer.types).to_string())
        });
        tried += 1;
        if once != text(&model.bytes) || once != traced {
            broken.push(model.name.clone());
        }
    }
    hold("a second run, and one with a trace", tried, models.len(), &broken);
}
