//! Comparison of two versions of a crate: every break is found, no harmless change is reported as a break,
//! and no rewrite is reported.

use crate::json;
use std::collections::BTreeSet;

use crate::compare::compare;
use crate::sources::{NEW, OLD};
use typeloom_rust_api::{Edition, ItemChange, lower, read, self_check};
use typeloom_term::Symbols;

/// The modules of one of the sources.
fn cases(source: &str) -> BTreeSet<String> {
    source
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod "))
        .filter_map(|rest| rest.split([' ', '{']).next())
        .map(str::to_owned)
        .collect()
}

fn within<'c>(changes: &'c [ItemChange], module: &str) -> Vec<&'c ItemChange> {
    let inside = format!("{module}::");
    changes.iter().filter(|change| change.item.contains(&inside)).collect()
}

#[test]
fn every_break_is_found_and_nothing_else_is_reported_as_one() {
    judge(&compare(&json::of("sample", OLD), &json::of("after", NEW)));
}

#[test]
fn private_items_in_the_json_change_no_verdict() {
    let private = ["--document-private-items"];
    let json = |source| json::with("sample", source, &private);
    let changes = compare(&json(OLD), &json(NEW));
    judge(&changes);
    assert_eq!(compare(&json(OLD), &json::of("sample", OLD)), []);
}

fn judge(changes: &[ItemChange]) {
    let mut wrong = Vec::new();
    for case in cases(include_str!("pair/old/breaks.rs")) {
        if !within(changes, &format!("breaks::{case}")).iter().any(|change| change.breaking) {
            wrong.push(format!("not found: {case}"));
        }
    }
    for case in cases(include_str!("pair/old/harmless.rs")) {
        let found = within(changes, &format!("harmless::{case}"));
        if found.is_empty() {
            wrong.push(format!("no change reported: {case}"));
        }
        for change in found.iter().filter(|change| change.breaking) {
            wrong.push(format!("harmless, but: {change:?}"));
        }
    }
    for case in cases(include_str!("pair/old/same.rs")) {
        for change in within(changes, &format!("same::{case}")) {
            wrong.push(format!("nothing changed, but: {change:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        cases(include_str!("pair/old/breaks.rs")).len() > 70
            && cases(include_str!("pair/old/harmless.rs")).len() > 20
            && cases(include_str!("pair/old/same.rs")).len() > 20
    );
}

#[test]
fn every_item_is_proven_to_be_substitutable_for_itself() {
    for (name, source) in [("sample", OLD), ("after", NEW)] {
        let mut symbols = Symbols::new();
        let json = read(&json::of(name, source)).expect("rustdoc wrote it");
        let api = lower(&json, Edition::default(), &mut symbols, None).expect("the crate is small");
        assert_eq!(self_check(&api, &mut symbols).expect("the crate is small"), []);
    }
}
