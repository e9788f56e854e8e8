use std::collections::BTreeSet;

use typeloom_solver::diagnostic::{Code, Diagnostic, Location, NodeLocation};

use super::{Baseline, BaselineError};

fn location(node: &str) -> Location {
    let node = NodeLocation { index: 0, name: node.to_owned(), operator: "Add".to_owned(), output: None };
    Location { node: Some(node), ..Location::default() }
}

fn problem(node: &str) -> Diagnostic {
    Diagnostic::new(Code::DimMismatch, String::new(), location(node))
}

fn problems(nodes: &[&str]) -> Vec<Diagnostic> {
    nodes.iter().map(|node| problem(node)).collect()
}

fn nodes(diagnostics: &[Diagnostic]) -> Vec<&str> {
    diagnostics.iter().filter_map(|it| it.location.node.as_ref()).map(|node| node.name.as_str()).collect()
}

fn baseline(files: &[(&str, &[&str])]) -> Baseline {
    let mut baseline = Baseline::default();
    for (file, nodes) in files {
        baseline.record(file, &problems(nodes));
    }
    baseline
}

/// The new problems of a file, and the number of fixed ones.
fn compare<'n>(
    baseline: &Baseline,
    gone: &[&str],
    file: &str,
    nodes_now: &[&'n str],
) -> (Vec<&'n str>, usize) {
    let gone: BTreeSet<String> = gone.iter().map(|file| (*file).to_owned()).collect();
    let mut comparison = baseline.comparison(&gone);
    let mut found = problems(nodes_now);
    let known = comparison.remove_known(file, [&mut found]);
    assert_eq!(known + found.len(), nodes_now.len());
    let left = nodes(&found);
    (nodes_now.iter().copied().filter(|node| left.contains(node)).collect(), comparison.fixed())
}

#[test]
fn known_problems_are_removed_and_missing_ones_are_fixed() {
    let baseline = baseline(&[("m.onnx", &["a", "b"])]);
    assert_eq!(compare(&baseline, &[], "m.onnx", &["b", "c"]), (vec!["c"], 1));
}

#[test]
fn equal_problems_are_counted() {
    let baseline = baseline(&[("m.onnx", &["a", "a"])]);
    assert_eq!(baseline.len(), 2);
    let mut found = problems(&["a", "a", "a"]);
    assert_eq!(baseline.comparison(&BTreeSet::new()).remove_known("m.onnx", [&mut found]), 2);
    assert_eq!(found.len(), 1);
}

#[test]
fn a_renamed_file_keeps_its_entries_and_another_file_has_none() {
    let baseline = baseline(&[("old.onnx", &["a"])]);
    assert_eq!(compare(&baseline, &["old.onnx"], "new.onnx", &["a"]), (vec![], 0));
    assert_eq!(compare(&baseline, &[], "new.onnx", &["a"]), (vec!["a"], 0), "the old file exists");
    assert_eq!(compare(&baseline, &["old.onnx"], "new.onnx", &[]), (vec![], 1));
}

#[test]
fn a_diagnostic_of_several_nodes_is_known_if_each_node_is() {
    let grouped = |nodes: &[&str]| {
        let mut first = problem(nodes[0]);
        first.also = nodes[1..].iter().map(|node| location(node)).collect();
        first
    };
    let mut baseline = Baseline::default();
    baseline.record("m.onnx", &[grouped(&["a", "b", "c"])]);
    let new = |nodes: &[&str]| {
        let mut comparison = baseline.comparison(&BTreeSet::new());
        let mut found = vec![grouped(nodes)];
        comparison.remove_known("m.onnx", [&mut found]);
        (found.len(), comparison.fixed())
    };
    assert_eq!(new(&["a", "b", "c"]), (0, 0));
    assert_eq!(new(&["b", "c"]), (0, 1), "the first node was repaired");
    assert_eq!(new(&["a", "b", "c", "d"]), (1, 3), "another node is in error");
}

#[test]
fn the_text_is_sorted_and_parsed() {
    let text = baseline(&[("b.onnx", &["z", "a"]), ("a.onnx", &["m"])]).to_text();
    assert_eq!(text, baseline(&[("a.onnx", &["m"]), ("b.onnx", &["a", "z"])]).to_text());
    let files: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("{\"file\":\"")?.split('"').next()).collect();
    assert_eq!(files, ["a.onnx", "b.onnx", "b.onnx"]);
    assert_eq!(Baseline::parse(&text).unwrap().to_text(), text);
    let empty = Baseline::default().to_text();
    assert_eq!(Baseline::parse(&empty), Ok(Baseline::default()));
}

#[test]
fn other_texts_are_errors() {
    assert!(matches!(Baseline::parse("{"), Err(BaselineError::Json(_))));
    assert_eq!(Baseline::parse("{}"), Err(BaselineError::Format));
    let newer = Baseline::default().to_text().replace("\"version\": 1", "\"version\": 2");
    assert_eq!(Baseline::parse(&newer), Err(BaselineError::Version { found: "2".to_owned() }));
    let text = baseline(&[("a.onnx", &["m"])]).to_text();
    let zero = text.replace("\"count\":1", "\"count\":0");
    assert_eq!(Baseline::parse(&zero), Err(BaselineError::Entry { position: 1, key: "count" }));
    let short = text.replace("\"fingerprint\":\"", "\"fingerprint\":\"0");
    assert_eq!(Baseline::parse(&short), Err(BaselineError::Entry { position: 1, key: "fingerprint" }));
}
