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
    Family {
        name: "check/windows",
        unit: "window partitions",
        size: 1,
        growth: Growth::Other {
            times: 20.0,
            reason: "conditions are examined under those of other partitions, which one alone does not have; from 10 on, growth is linear",
        },
        start: Start::Warm,
        prepare: windows,
    },
    linear("check/stages", "pixel unshuffles in a row, twice", 1, stages),
    linear("check/rank", "axes", 30, rank),
    linear("check/attributes", "unknown attributes", 200, attributes),
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

/// Window partitions of images with free sizes: conditions on products of quotients.
fn windows(size: usize) -> Work {
    let node = |at: usize| {
        format!(
            "s{at} = Shape(x{at}) h{at} = Gather(s{at}, one) w{at} = Gather(s{at}, two)
             p{at} = Div(h{at}, seven) q{at} = Div(w{at}, seven)
             t{at} = Concat <axis = 0> (batch, p{at}, seven, q{at}, seven, eight)
             y{at} = Reshape(x{at}, t{at})\n"
        )
    };
    let input = |at: usize| format!("float[1, h{at}, w{at}, 8] x{at}");
    let text = independent(
        size,
        input,
        node,
        "int64[1] batch = {1}, int64[1] one = {1}, int64[1] two = {2}, int64[1] seven = {7}, int64[1] eight = {8}",
    );
    of_text(&text)
}

/// Two pixel unshuffles of each of some images, one after the other.
fn stages(size: usize) -> Work {
    let unshuffle = |at: usize, from: &str, to: &str, (c, wide): (u32, u32)| {
        format!(
            "s{to}{at} = Shape({from}{at}) h{to}{at} = Gather(s{to}{at}, two) w{to}{at} = Gather(s{to}{at}, three)
             p{to}{at} = Div(h{to}{at}, two) q{to}{at} = Div(w{to}{at}, two)
             t{to}{at} = Concat <axis = 0> (one, c{c}, p{to}{at}, two, q{to}{at}, two)
             r{to}{at} = Reshape({from}{at}, t{to}{at})
             m{to}{at} = Transpose <perm = [0, 1, 3, 5, 2, 4]> (r{to}{at})
             u{to}{at} = Concat <axis = 0> (one, c{wide}, p{to}{at}, q{to}{at})
             {to}{at} = Reshape(m{to}{at}, u{to}{at})\n"
        )
    };
    let node = |at: usize| unshuffle(at, "x", "z", (3, 12)) + &unshuffle(at, "z", "y", (12, 48));
    let input = |at: usize| format!("float[1, 3, h{at}, w{at}] x{at}");
    let text = independent(
        size,
        input,
        node,
        "int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] c3 = {3}, int64[1] c12 = {12}, int64[1] c48 = {48}",
    );
    of_text(&text)
}

/// A broadcast of two tensors with many named axes, with its warnings.
fn rank(size: usize) -> Work {
    let dims = |name: &str| (0..size).map(|at| format!("{name}{at}")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[{}] x, float[{}] z) => (y) {{ y = Add(x, z) }}",
        dims("a"),
        dims("b")
    );
    of_text(&text)
}

/// A node with attributes that its operator does not have.
fn attributes(size: usize) -> Work {
    let attributes: Vec<String> = (0..size).map(|at| format!("a{at} = {at}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] x) => (y) {{ y = Relu <{}> (x) }}",
        attributes.join(", ")
    );
    let bytes = model_bytes(&text).expect("the text is a model");
    Box::new(move || {
        let mut checked = check(black_box(&bytes), &Options::default()).expect("the model is readable");
        assert_eq!(diagnose(&mut checked).len(), 1);
    })
}

/// Nodes on inputs of their own.
fn independent(
    size: usize,
    input: impl Fn(usize) -> String,
    node: impl Fn(usize) -> String,
    constants: &str,
) -> String {
    let inputs: Vec<String> = (0..size).map(input).collect();
    let nodes: String = (0..size).map(node).collect();
    let outputs: Vec<String> = (0..size).map(|at| format!("y{at}")).collect();
    format!(
        "<ir_version: 10, opset_import: [\"\" : 21]> g ({}) => ({}) <{constants}> {{ {nodes} }}",
        inputs.join(", "),
        outputs.join(", ")
    )
}

/// Checks a model without errors, with its warnings.
fn of_text(text: &str) -> Work {
    let bytes = model_bytes(text).expect("the text is a model");
    Box::new(move || {
        let mut checked = check(black_box(&bytes), &Options::default()).expect("the model is readable");
        assert!(checked.is_ok(), "the model is valid");
        black_box(diagnose(&mut checked));
    })
}
