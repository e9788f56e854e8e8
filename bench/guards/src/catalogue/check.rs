//! Checks of models: shapes of graphs, small models, the first check of a process, diagnostics.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use typeloom_bench_families::models::{self, Generator};
use typeloom_onnx::text::model_bytes;
use typeloom_ops::check::check;
use typeloom_solver::diagnostic::diagnose;
use typeloom_solver::model::Options;

use super::{Family, Growth, Start, Work, linear, model};

pub(super) const FAMILIES: &[Family] = &[
    linear("check/chain", "nodes", 200, |size| checked(models::CHAIN, size)),
    linear("check/wide", "nodes", 200, |size| checked(models::WIDE, size.max(3))),
    linear("check/fan", "nodes", 200, |size| checked(models::FAN, size)),
    linear("check/if", "nodes", 200, |size| checked(models::IF, size)),
    linear("check/functions", "depth", 20, |size| checked(models::FUNCTIONS, size)),
    linear("check/transformer", "layers", 3, |size| checked(models::TRANSFORMER, size)),
    // One matrix product, and ten.
    linear("check/heavy", "weights of 20 MB", 1, |size| checked(models::HEAVY, size * 20_000_000)),
    linear("check/small", "models of 30 nodes", 10, |size| repeated(vec![model(models::CHAIN, 30)], size)),
    Family {
        name: "check/first",
        unit: "models of 30 nodes",
        size: 1,
        growth: Growth::Linear,
        start: Start::Cold,
        prepare: |size| repeated(vec![model(models::CHAIN, 30)], size),
    },
    linear("check/models", "passes over models/", 1, |size| repeated(stored(), size)),
    linear("check/diagnostics", "errors", 30, diagnosed),
];

fn is_valid(bytes: &[u8]) -> bool {
    check(black_box(bytes), &Options::default()).is_ok_and(|checked| checked.is_ok())
}

fn checked(generator: Generator, size: usize) -> Work {
    repeated(vec![model(generator, size)], 1)
}

fn repeated(models: Vec<Vec<u8>>, times: usize) -> Work {
    Box::new(move || {
        for _ in 0..times {
            for bytes in &models {
                assert!(is_valid(bytes), "the model is valid");
            }
        }
    })
}

/// The valid models of this repository.
fn stored() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let entries = fs::read_dir(&folder).expect("the repository has models");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder is readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "onnx"));
    paths.sort();
    let models = paths.iter().map(|path| fs::read(path).expect("the model is readable"));
    models.filter(|bytes| is_valid(bytes)).collect()
}

/// Independent errors, with messages and causes.
fn diagnosed(size: usize) -> Work {
    let nodes: String = (0..size).map(|at| format!("y{at} = Add(x{at}, i{at})\n")).collect();
    let outputs: Vec<String> = (0..size).map(|at| format!("y{at}")).collect();
    let inputs: Vec<String> = (0..size).map(|at| format!("float[N] x{at}, int64[N] i{at}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]> g ({}) => ({}) {{ {nodes} }}",
        inputs.join(", "),
        outputs.join(", ")
    );
    let bytes = model_bytes(&text).expect("the text is a model");
    Box::new(move || {
        let mut checked = check(black_box(&bytes), &Options::default()).expect("the model is readable");
        assert_eq!(diagnose(&mut checked).len(), size);
    })
}
