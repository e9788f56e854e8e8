//! Cases written side by side in `cases/*.txt`: what was, `---`, what is. Every break is found, no harmless change is
//! called one, no rewrite is reported at all.

#[path = "pair/compare.rs"]
mod compare;
#[path = "pair/json.rs"]
mod json;

use compare::compare;
use typeloom_rust::{Change, lower, read, self_check};
use typeloom_term::Symbols;

const BREAKS: &str = include_str!("cases/breaks.txt");
const HARMLESS: &str = include_str!("cases/harmless.txt");
const SAME: &str = include_str!("cases/same.txt");
/// Breaks that only the JSON with private items shows.
const HIDDEN: &str = include_str!("cases/hidden.txt");

struct Case<'t> {
    name: &'t str,
    old: &'t str,
    new: &'t str,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let case = |chunk| {
        let (name, body): (&str, &str) = str::split_once(chunk, '\n').expect("a case has a name and a body");
        let (old, new) = body.split_once("\n---\n").expect("a case has two sides");
        Case { name: name.trim(), old, new }
    };
    text.split("=== ").skip(1).map(case).collect()
}

/// A crate with a module for each case.
fn version(side: for<'t> fn(&Case<'t>) -> &'t str) -> String {
    let mut source = "#![allow(warnings)]\n".to_owned();
    for (kind, text) in [("breaks", BREAKS), ("harmless", HARMLESS), ("same", SAME)] {
        source.push_str(&format!("pub mod {kind} {{\n"));
        for case in cases(text) {
            source.push_str(&format!("pub mod {} {{\n{}\n}}\n", case.name, side(&case)));
        }
        source.push_str("}\n");
    }
    source
}

#[test]
fn every_break_is_found_and_nothing_else_is_called_one() {
    let old = json::of("sides", &version(|case| case.old));
    let new = json::of("sides", &version(|case| case.new));
    let changes = compare(&old, &new);
    let within = |kind: &str, case: &Case<'_>| -> Vec<&Change> {
        let (inside, itself) = (format!("{kind}::{}::", case.name), format!("{kind}::{}", case.name));
        let found = |change: &&Change| change.item.contains(&inside) || change.item.ends_with(&itself);
        changes.iter().filter(found).collect()
    };
    let mut wrong = Vec::new();
    for case in cases(BREAKS) {
        if !within("breaks", &case).iter().any(|change| change.breaking) {
            wrong.push(format!("not found: {}", case.name));
        }
    }
    for case in cases(HARMLESS) {
        let found = within("harmless", &case);
        if found.is_empty() {
            wrong.push(format!("not seen at all: {}", case.name));
        }
        for change in found.iter().filter(|change| change.breaking) {
            wrong.push(format!("harmless, but: {change:?}"));
        }
    }
    for case in cases(SAME) {
        for change in within("same", &case) {
            wrong.push(format!("nothing changed, but: {change:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let counts = [BREAKS, HARMLESS, SAME].map(|text| cases(text).len());
    assert!(counts[0] > 250 && counts[1] > 100 && counts[2] > 135, "{counts:?}");
    // The other way round, everything that was added is removed: nothing of it may be called harmless by mistake.
    let back = compare(&new, &old);
    assert!(back.iter().filter(|change| change.breaking).count() > counts[0] / 2);

    for json in [&old, &new] {
        let mut symbols = Symbols::new();
        let api =
            lower(&read(json).expect("rustdoc wrote it"), &mut symbols, None).expect("the crate is small");
        assert_eq!(self_check(&api, &mut symbols).expect("the crate is small"), []);
    }
}

#[test]
fn with_private_items_the_methods_of_types_that_nobody_can_name_are_compared() {
    let source = |side: for<'t> fn(&Case<'t>) -> &'t str| {
        let modules = cases(HIDDEN).into_iter();
        modules.map(|case| format!("pub mod {} {{\n{}\n}}\n", case.name, side(&case))).collect::<String>()
    };
    let json = |source: &str| json::with("hidden", source, &["--document-private-items"]);
    let changes = compare(&json(&source(|case| case.old)), &json(&source(|case| case.new)));
    for case in cases(HIDDEN) {
        let inside = format!("hidden::{}::", case.name);
        let found = changes.iter().any(|change| change.breaking && change.item.contains(&inside));
        assert!(found, "not found: {}: {changes:?}", case.name);
    }
}
