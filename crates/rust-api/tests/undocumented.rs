//! Comparison of items that the documentation of a crate omits: items with `#[doc(hidden)]`, and private
//! items. Options of rustdoc add them to its JSON. They are not public, but an item that becomes hidden is
//! not removed.
//!
//! A file in `cases` contains the cases for one list of options. A case has an old version, a new version and
//! the expected changes. A change is a path, with an exclamation mark at its end if the change is breaking.
//! `...` after the changes means that the case lists the breaking changes only.
//!
//! All cases of a file are modules of one crate, because rustdoc takes about as long for a crate with one
//! case. In an expected path, `sample::` is the module of the case.

use crate::cases::{Case, cases, modules};
use crate::json;
use typeloom_rust_api::{Edition, Editions, ItemChange, describe};
use typeloom_term::Symbols;

const HIDDEN_ITEMS: &str = include_str!("cases/hidden_items.txt");
const PRIVATE_ITEMS: &str = include_str!("cases/private_items.txt");
/// Cases with the options that the command uses.
const ALL_ITEMS: &str = include_str!("cases/all_items.txt");

/// The source of a crate with one version of each case: the old version for `side` 0, the new one for 1.
fn version(cases: &[Case<'_, 3>], side: usize) -> String {
    format!("#![allow(warnings)]\n{}", modules(cases, side))
}

/// Checks the changes between the versions of all cases, documented with these options.
fn check_cases(text: &str, options: &[&str]) {
    let cases = cases(text);
    let json = |source: String| json::with("sample", &source, options);
    let (old, new) = (json(version(&cases, 0)), json(version(&cases, 1)));
    let changes = typeloom_rust_api::compare(&old, &new, Editions::default()).expect("the crates are small");
    let mut other = summary(&changes.changes);
    let mut wrong = Vec::new();
    for case in &cases {
        let inside = format!("sample::{}::", case.name);
        let (own, rest): (Vec<String>, Vec<String>) =
            other.into_iter().partition(|item| item.contains(&inside));
        other = rest;
        let found: Vec<String> = own.iter().map(|item| item.replace(&inside, "sample::")).collect();
        let expected: Vec<&str> = case.parts[2].lines().collect();
        let (of, listed) = match expected.split_last() {
            Some((&"...", listed)) => (found.iter().filter(|item| item.ends_with('!')).collect(), listed),
            Some(_) | None => (found.iter().collect::<Vec<_>>(), &expected[..]),
        };
        if of != listed {
            wrong.push(format!("{}: expected {expected:#?}, found {found:#?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(other.is_empty(), "changes of no case: {other:#?}");
}

fn json(source: &str) -> Vec<u8> {
    json::with("sample", source, &["--document-hidden-items"])
}

fn compare(old: &str, new: &str) -> Vec<ItemChange> {
    let found = typeloom_rust_api::compare(&json(old), &json(new), Editions::default());
    found.expect("the crates are small").changes
}

/// The paths of the changes, with an exclamation mark for a break.
fn summary(changes: &[ItemChange]) -> Vec<String> {
    let one = |change: &ItemChange| format!("{}{}", change.item, if change.breaking { "!" } else { "" });
    changes.iter().map(one).collect()
}

#[test]
fn each_case_with_hidden_items_has_the_expected_changes() {
    check_cases(HIDDEN_ITEMS, &["--document-hidden-items"]);
}

#[test]
fn each_case_with_private_items_has_the_expected_changes() {
    check_cases(PRIVATE_ITEMS, &["--document-private-items"]);
}

#[test]
fn each_case_with_all_items_has_the_expected_changes() {
    check_cases(ALL_ITEMS, &["--document-hidden-items", "--document-private-items"]);
}

#[test]
fn only_visible_paths_of_an_item_of_a_hidden_module_are_described() {
    let json = json(&version(&cases(HIDDEN_ITEMS), 0));
    let mut symbols = Symbols::new();
    let api = describe(&json, Edition::default(), &mut symbols).expect("the crate is small");
    let module = "sample::a_visible_path_makes_an_item_of_a_hidden_module_public";
    let inside = |item: &&str| item.starts_with(module);
    let found: Vec<&str> = api.items.iter().map(|item| item.path.as_str()).filter(inside).collect();
    assert_eq!(found, [format!("{module}::S")]);
}

const VISIBLE: &str = "
pub fn function(x: u8) {}
pub mod module { pub fn inside() {} }
pub struct Struct { pub field: u8, pub other: u8 }
impl Struct { pub fn method(&self) {} }
impl Clone for Struct { fn clone(&self) -> Self { loop {} } }
pub enum Enum { One, Two }
pub trait Trait { fn provided(&self) {} }
#[macro_export] macro_rules! shout { () => {} }
pub use core::cell::RefCell;
";

const HIDDEN: &str = "
#[doc(hidden)] pub fn function(x: u8) {}
#[doc(hidden)] pub mod module { pub fn inside() {} }
pub struct Struct { #[doc(hidden)] pub field: u8, pub other: u8 }
impl Struct { #[doc(hidden)] pub fn method(&self) {} }
#[doc(hidden)] impl Clone for Struct { fn clone(&self) -> Self { loop {} } }
pub enum Enum { One, #[doc(hidden)] Two }
pub trait Trait { #[doc(hidden)] fn provided(&self) {} }
#[doc(hidden)] #[macro_export] macro_rules! shout { () => {} }
#[doc(hidden)] pub use core::cell::RefCell;
";

#[test]
fn an_item_that_became_hidden_is_not_removed() {
    let changes = compare(VISIBLE, HIDDEN);
    assert_eq!(
        summary(&changes),
        [
            "impl core::clone::Clone for sample::Struct",
            "sample::Enum::Two",
            "sample::RefCell",
            "sample::Struct::field",
            "sample::Struct::method",
            "sample::Trait::provided",
            "sample::function",
            "sample::module::inside",
            "sample::shout",
        ]
    );
    for change in &changes {
        assert_eq!((change.old.as_deref(), change.new.as_deref()), (Some("visible"), Some("hidden")));
    }
}

#[test]
fn a_hidden_item_that_becomes_visible_is_added() {
    let changes = compare(HIDDEN, VISIBLE);
    assert!(changes.iter().all(|change| !change.breaking), "{changes:?}");
    assert!(summary(&changes).contains(&"sample::function".to_owned()), "{changes:?}");
}

#[test]
fn changes_of_items_that_were_hidden_before_are_not_reported() {
    let new = "
#[doc(hidden)] pub fn function(x: &'static str) -> u8 { 0 }
#[doc(hidden)] pub mod module { pub fn other() {} }
pub struct Struct { #[doc(hidden)] pub field: u16, pub other: u8 }
impl Struct { #[doc(hidden)] pub fn method(self) {} }
pub enum Enum { One, #[doc(hidden)] Three }
pub trait Trait { #[doc(hidden)] fn provided(&mut self) {} }
";
    assert_eq!(compare(HIDDEN, new), []);
}

#[test]
fn without_the_option_hidden_items_are_missing() {
    let (old, new) =
        (json::of("sample", "pub fn f() {}"), json::of("sample", "#[doc(hidden)] pub fn f() {}"));
    let found = typeloom_rust_api::compare(&old, &new, Editions::default()).expect("the crates are small");
    assert_eq!(summary(&found.changes), ["sample::f!"]);
}
