//! Two versions of a crate: every break is found, no harmless change is called one, no rewrite is reported at all.

#[path = "pair/json.rs"]
mod json;

use std::collections::BTreeSet;

use typeloom_rust::{Api, Change, diff, lower, read, self_check};
use typeloom_term::Symbols;

const OLD: &str = include_str!("pair/old.rs");
const NEW: &str = include_str!("pair/new.rs");

fn compare(old: &[u8], new: &[u8]) -> Vec<Change> {
    let mut symbols = Symbols::new();
    let old = read(old).expect("rustdoc wrote it");
    let new = read(new).expect("rustdoc wrote it");
    let old: Api = lower(&old, &mut symbols, None).expect("the crate is small");
    let new: Api = lower(&new, &mut symbols, Some(&old)).expect("the crate is small");
    diff(&old, &new, &mut symbols).expect("the crate is small")
}

/// The modules inside of one module of the sources.
fn cases(source: &str, of: &str) -> BTreeSet<String> {
    let start = source.find(&format!("pub mod {of} {{")).expect("the sources have the module");
    let inside = source[start..].lines().skip(1).take_while(|line| *line != "}");
    inside
        .filter_map(|line| line.strip_prefix("    pub mod "))
        .filter_map(|rest| rest.split([' ', '{']).next())
        .map(str::to_owned)
        .collect()
}

fn within<'c>(changes: &'c [Change], module: &str) -> Vec<&'c Change> {
    let inside = format!("{module}::");
    changes.iter().filter(|change| change.item.contains(&inside)).collect()
}

#[test]
fn every_break_is_found_and_nothing_else_is_called_one() {
    judge(&compare(&json::of("before", OLD), &json::of("after", NEW)));
}

#[test]
fn private_items_in_the_json_change_no_verdict() {
    let private = ["--document-private-items"];
    let json = |source| json::with("sample", source, &private);
    let changes = compare(&json(OLD), &json(NEW));
    judge(&changes);
    assert_eq!(compare(&json(OLD), &json::of("sample", OLD)), []);
}

fn judge(changes: &[Change]) {
    let mut wrong = Vec::new();
    for case in cases(OLD, "breaks") {
        if !within(changes, &format!("breaks::{case}")).iter().any(|change| change.breaking) {
            wrong.push(format!("not found: {case}"));
        }
    }
    for case in cases(OLD, "harmless") {
        let found = within(changes, &format!("harmless::{case}"));
        if found.is_empty() {
            wrong.push(format!("not seen at all: {case}"));
        }
        for change in found.iter().filter(|change| change.breaking) {
            wrong.push(format!("harmless, but: {change:?}"));
        }
    }
    for case in cases(OLD, "same") {
        for change in within(changes, &format!("same::{case}")) {
            wrong.push(format!("nothing changed, but: {change:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        cases(OLD, "breaks").len() > 70 && cases(OLD, "harmless").len() > 20 && cases(OLD, "same").len() > 20
    );
}

#[test]
fn every_item_is_proven_to_be_usable_in_place_of_itself() {
    for source in [OLD, NEW] {
        let mut symbols = Symbols::new();
        let json = read(&json::of("sample", source)).expect("rustdoc wrote it");
        let api = lower(&json, &mut symbols, None).expect("the crate is small");
        assert_eq!(self_check(&api, &mut symbols).expect("the crate is small"), []);
    }
}
