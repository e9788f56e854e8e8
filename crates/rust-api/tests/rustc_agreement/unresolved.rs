//! Names that are not resolved: the items that rustc rejects are those with an error, and no other item
//! changes.
//!
//! In the source, `u128` becomes a type that does not exist; in the JSON, a primitive type that does not
//! exist.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use typeloom_rust_api::{Edition, Editions, compare, describe};
use typeloom_term::Symbols;

use crate::json;
use crate::probe::{Random, Statements, Tally, accepted, breaks, for_each_seed};
use typeloom_testing::number;

const PRELUDE: &str = "#![allow(warnings)]
pub trait Tr { type X; }
pub trait Of<T> {}
pub struct W<T>(pub T);
impl Tr for u8 { type X = u16; }
impl<T> Tr for W<T> { type X = T; }
impl<T> Tr for Vec<T> { type X = u8; }
";

fn ty(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(5) == 0 {
        return random.pick(&["u8", "u16", "u128", "bool", "T", "&'a str"]).to_owned();
    }
    let x = ty(random, depth - 1);
    match random.below(11) {
        0 => format!("Vec<{x}>"),
        1 => format!("({x}, {})", ty(random, depth - 1)),
        2 => format!("W<{x}>"),
        3 => format!("fn({x}) -> bool"),
        4 => format!("[{x}; 2]"),
        5 => format!("<W<{x}> as Tr>::X"),
        6 => format!("<Vec<{x}> as Tr>::X"),
        7 => format!("Box<dyn Of<{x}> + 'a>"),
        8 => format!("&'a [{x}]"),
        9 => format!("*const {x}"),
        _ => format!("Box<dyn Iterator<Item = {x}> + 'a>"),
    }
}

#[test]
fn items_with_errors_are_those_that_rustc_rejects() {
    let mut tally = Tally::default();
    for_each_seed(0x404, |seed, mut random| {
        let mut source = PRELUDE.to_owned();
        let mut statements = Statements::new();
        for at in 0..number(50, 150) {
            let (input, output) = (ty(&mut random, 2), ty(&mut random, 2));
            let bound = ty(&mut random, 1);
            let item = match random.below(3) {
                0 => format!("pub fn q{at}_<'a, T: 'a>(_: {input}) -> {output} {{ loop {{}} }}"),
                1 => format!("pub fn q{at}_<'a, T: 'a + Of<{bound}>>(_: {input}) {{}}"),
                _ => format!(
                    "pub fn q{at}_<'a, T: 'a>(_: impl Of<{bound}>) -> impl Iterator<Item = {output}> {{ std::iter::empty() }}"
                ),
            };
            writeln!(source, "{item}").expect("text");
            statements.insert(format!("q{at}_"), item.replace("u128", "Missing"));
        }
        let yes = accepted(PRELUDE, &statements).expect("the declarations are accepted");
        let good = json::of("names", &source);
        let text = String::from_utf8(good.clone()).expect("JSON is text");
        let bad = text.replace(r#"{"primitive":"u128"}"#, r#"{"primitive":"u256"}"#).into_bytes();
        let mut symbols = Symbols::new();
        let api = describe(&bad, Edition::default(), &mut symbols).expect("the JSON is well formed");
        let unresolved: BTreeSet<&str> = api
            .items
            .iter()
            .filter(|item| !item.unresolved.is_empty())
            .filter_map(|item| item.path.rsplit("::").next())
            .collect();
        let changes = |old, new| compare(old, new, Editions::default()).expect("well formed").changes;
        let (same, other) = (changes(&bad, &bad), changes(&good, &bad));
        for (name, statement) in &statements {
            let question = || format!("seed {seed}: {statement}");
            tally.record(yes.contains(name), !unresolved.contains(name.as_str()), question);
            // An item with an error is compatible with no item, not even with itself.
            tally.record(yes.contains(name), !breaks(&same, name), question);
            tally.record(yes.contains(name), !breaks(&other, name), question);
        }
    });
    tally.finish("unresolved names");
}
