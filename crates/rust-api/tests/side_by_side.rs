//! Cases with both versions in `cases/*.txt`: the old one, `---`, the new one. Every break is found, no
//! harmless change is reported as a break, and no rewrite is reported.

use crate::cases::{Case, cases, modules};
use crate::compare::compare;
use crate::json;
use typeloom_rust_api::{Edition, Editions, ItemChange, lower, read, self_check};
use typeloom_term::Symbols;
use typeloom_testing::number;

const BREAKS: &str = include_str!("cases/breaks.txt");
const HARMLESS: &str = include_str!("cases/harmless.txt");
const SAME: &str = include_str!("cases/same.txt");
/// Cases that depend on the edition: the name, the verdict before 2024 and the verdict since.
const EDITION: &str = include_str!("cases/edition.txt");

/// Both versions of a case.
type Sides<'t> = Case<'t, 2>;

/// Every third case in a short run.
fn chosen(text: &str) -> Vec<Sides<'_>> {
    cases(text).into_iter().step_by(number(3, 1)).collect()
}

/// A crate with a module for each case.
fn version(side: usize) -> String {
    let kind = |(kind, text)| format!("pub mod {kind} {{\n{}}}\n", modules(&chosen(text), side));
    let kinds = [("breaks", BREAKS), ("harmless", HARMLESS), ("same", SAME)];
    format!("#![allow(warnings)]\n{}", kinds.map(kind).concat())
}

#[test]
fn every_break_is_found_and_nothing_else_is_reported_as_one() {
    let old = json::of("sides", &version(0));
    let new = json::of("sides", &version(1));
    let changes = compare(&old, &new);
    let within = |kind: &str, case: &Sides<'_>| -> Vec<&ItemChange> {
        let (inside, itself) = (format!("{kind}::{}::", case.name), format!("{kind}::{}", case.name));
        let found = |change: &&ItemChange| change.item.contains(&inside) || change.item.ends_with(&itself);
        changes.iter().filter(found).collect()
    };
    let mut wrong = Vec::new();
    for case in chosen(BREAKS) {
        if !within("breaks", &case).iter().any(|change| change.breaking) {
            wrong.push(format!("not found: {}", case.name));
        }
    }
    for case in chosen(HARMLESS) {
        let found = within("harmless", &case);
        if found.is_empty() {
            wrong.push(format!("no change reported: {}", case.name));
        }
        for change in found.iter().filter(|change| change.breaking) {
            wrong.push(format!("harmless, but: {change:?}"));
        }
    }
    for case in chosen(SAME) {
        for change in within("same", &case) {
            wrong.push(format!("nothing changed, but: {change:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let counts = [BREAKS, HARMLESS, SAME].map(|text| cases::<2>(text).len());
    assert!(counts[0] > 250 && counts[1] > 100 && counts[2] > 135, "{counts:?}");
    // In the other direction, every addition is a removal and must be a break.
    let back = compare(&new, &old);
    assert!(back.iter().filter(|change| change.breaking).count() > chosen(BREAKS).len() / 2);

    for json in [&old, &new] {
        let mut symbols = Symbols::new();
        let api = lower(&read(json).expect("rustdoc wrote it"), Edition::default(), &mut symbols, None)
            .expect("the crate is small");
        assert_eq!(self_check(&api, &mut symbols).expect("the crate is small"), []);
    }
}

#[test]
fn captures_of_impl_trait_depend_on_the_edition() {
    let sides: Vec<Sides<'_>> = cases(EDITION);
    let [old, new] = [0, 1].map(|side| format!("#![allow(warnings)]\n{}", modules(&sides, side)));
    // The option for the edition is necessary because the JSON does not depend on it.
    let [old_2021, new_2021] = [&old, &new].map(|text| json::in_edition("2021", "sample", text, &[]));
    let [old, new] = [old, new].map(|text| json::in_edition("2024", "sample", &text, &[]));
    assert!(
        old_2021 == old && new_2021 == new,
        "the JSON depends on the edition, so the edition could be read from it"
    );

    let mut wrong = Vec::new();
    for (column, edition) in [(1, Edition::E2015), (1, Edition::E2021), (2, Edition::E2024)] {
        let found = typeloom_rust_api::compare(&old, &new, edition.into()).expect("the crate is small");
        assert!(found.by_edition);
        for case in &sides {
            let words: Vec<&str> = case.name.split(' ').collect();
            let inside = format!("::{}::", words[0]);
            let breaks = found.changes.iter().filter(|change| change.item.contains(&inside));
            let verdict = match breaks.map(|change| change.breaking).max() {
                Some(true) => "break",
                Some(false) => "harmless",
                None => "same",
            };
            if verdict != words[column] {
                wrong.push(format!("{} in {edition:?}: {verdict}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // A crate that only moves to edition 2024 captures more lifetimes.
    let moved = Editions { old: Edition::E2021, new: Edition::E2024 };
    let found = typeloom_rust_api::compare(&old, &old, moved).expect("the crate is small").changes;
    assert!(
        found.iter().any(|change| change.item == "sample::add_underscore::f" && change.breaking),
        "{found:?}"
    );
    let back = Editions { old: Edition::E2024, new: Edition::E2021 };
    let found = typeloom_rust_api::compare(&old, &old, back).expect("the crate is small").changes;
    assert!(!found.is_empty() && found.iter().all(|change| !change.breaking), "{found:?}");

    let plain = json::of("sample", "pub fn f(x: &u8) -> impl Iterator<Item = &u8> { Some(x).into_iter() }");
    let found = typeloom_rust_api::compare(&plain, &plain, Editions::default()).expect("the crate is small");
    assert!(!found.by_edition, "every lifetime is mentioned");
}
