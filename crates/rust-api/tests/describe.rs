//! Description of a crate: all names resolve, the bundle contains every signature, and bad input is rejected
//! with a reason.

use crate::json;
use crate::sources::{NEW, OLD};
use typeloom_pool::Pool;
use typeloom_rust_api::{Edition, Error, LowerError, ReadError, bundle, describe, futures, print, signature};
use typeloom_term::normal::normal_form;
use typeloom_term::{Boxed, Symbols};

/// A crate with an item of every kind.
const EVERYTHING: &str = r#"
pub type Alias<'a, T, const N: usize = 2> = &'a [T; N];
pub struct Unit;
pub struct Tuple<T>(pub T, u8);
pub struct Named<'a, T: ?Sized + 'a, const N: usize> { pub by_ref: &'a T, pub array: [u8; N] }
pub union Either { pub a: u32, pub b: f32 }
pub enum Sum<T> { None, One(T), Two { a: T, b: Box<Sum<T>> } }
pub const LEN: usize = 2 * 3;
pub static NAMES: &[&str] = &[];
pub static mut COUNTER: u64 = 0;
pub trait Lend { type Item<'a> where Self: 'a; const SIZE: usize = 1; fn lend(&mut self) -> Option<Self::Item<'_>>; fn twice(&self) where Self: Clone {} }
pub trait Sub: Lend + Send where Self: 'static {}
impl Lend for Unit { type Item<'a> = &'a Unit; fn lend(&mut self) -> Option<&Unit> { Some(self) } }
impl<'a, T: ?Sized, const N: usize> Named<'a, T, N> { pub const TWICE: usize = N * 2; pub fn get(&self) -> &'a T { self.by_ref } pub fn len(self: Box<Self>) -> usize { N } }
pub fn arguments(f: impl for<'x> Fn(&'x str) -> &'x str + Send, d: &mut dyn FnMut(u8) -> u8, p: *const u8, q: *mut Unit) {}
pub fn results<T: Clone>(t: T) -> (impl Iterator<Item = T>, Box<dyn Iterator<Item = T>>) where T: 'static { (std::iter::empty(), Box::new(std::iter::empty())) }
pub async fn later(x: &str) -> usize { x.len() }
pub unsafe extern "C" fn foreign(callback: Option<unsafe extern "C" fn(*mut u8, ...) -> i32>) -> [u8; LEN] { [0; LEN] }
pub fn never() -> ! { loop {} }
pub fn projected<I: IntoIterator>(i: I) -> <I::IntoIter as Iterator>::Item where I::Item: Copy, for<'a> &'a I: IntoIterator<Item = &'a u8> { panic!() }
pub fn expression<const N: usize>(x: Named<'static, str, { 1 + 2 }>) -> Alias<'static, char> { panic!() }
mod hidden { pub struct Shown; pub mod inner { pub fn deep() {} } }
pub use hidden::*;
pub use hidden::Shown as Renamed;
pub use std::collections::BTreeMap;
#[macro_export] macro_rules! shout { () => {} }
unsafe extern "C" { pub fn imported(x: u8); pub static GLOBAL: u8; }
"#;

/// A crate whose JSON some tests alter.
const SMALL: &str = "
pub struct S { pub a: u8 }
pub type A = *const u8; pub type B = *const A;
pub fn f<'a>(_x: &'a u8) -> (impl Sized,) { (1,) }
";

fn lines(source: &str) -> Vec<String> {
    let mut symbols = Symbols::new();
    let api =
        describe(&json::of("sample", source), Edition::default(), &mut symbols).expect("the crate is small");
    assert!(api.counts.unknown.is_empty(), "{:?}", api.counts.unknown);
    api.items.iter().map(|item| print::item(item, &mut symbols)).collect()
}

#[test]
fn every_kind_of_item_is_described_as_it_would_be_written() {
    let lines = lines(EVERYTHING);
    let expected = [
        "type sample::Alias<'a, T, const N: usize = 2> = &'a [T; N]",
        "struct sample::Named<'a, T, const N: usize> where T: 'a",
        "sample::Named::array: [u8; N]",
        "const sample::Named::TWICE: usize",
        "fn sample::Named::get<'a, T, const N: usize>(self: &sample::Named<'a, T, N>) -> &'a T",
        "variant sample::Sum::Two",
        "sample::Sum::Two::b: alloc::boxed::Box<sample::Sum<T>>",
        "static sample::NAMES: &'static [&'static str]",
        "static mut sample::COUNTER: u64",
        "trait sample::Sub where Self: sample::Lend, Self: core::marker::Send, Self: 'static",
        "fn sample::Lend::lend(self: &mut Self) -> core::option::Option<<Self as sample::Lend<'_>>::Item>",
        "fn sample::later(x: &str) -> impl Future",
        "unsafe extern \"C\" fn sample::foreign(callback: core::option::Option<unsafe extern \"C\" fn(*mut u8, ...) \
         -> i32>) -> [u8; 6]",
        "fn sample::never() -> !",
        "fn sample::inner::deep()",
        "struct sample::Renamed",
        "use alloc::collections::btree::map::BTreeMap as sample::BTreeMap",
        "macro sample::shout",
        "unsafe extern \"C\" fn sample::imported(x: u8)",
    ];
    // Conditions are at the end of a line.
    let has =
        |line: &str| lines.iter().any(|found| found.split(" where ").next() == line.split(" where ").next());
    let missing: Vec<&str> = expected.into_iter().filter(|line| !has(line)).collect();
    assert!(missing.is_empty(), "missing: {missing:#?}\nof: {lines:#?}");
}

#[test]
fn a_bundle_of_a_crate_brings_every_signature_back() {
    for (name, source) in [("sample", EVERYTHING), ("sample", OLD), ("after", NEW)] {
        let mut symbols = Symbols::new();
        let api =
            describe(&json::of(name, source), Edition::default(), &mut symbols).expect("the crate is small");
        let bytes = bundle(&api, &mut symbols).expect("signatures are portable");
        let mut pool = Pool::new();
        let roots = pool.import(bytes.as_bytes()).expect("the bundle was just written");
        let mut labels = std::collections::BTreeMap::new();
        for root in &roots {
            labels.insert(root.label.clone(), root.ty);
        }
        let back: Vec<_> = labels
            .values()
            .map(|id| pool.term(&Boxed::new(), &mut symbols, *id).expect("it was a term"))
            .collect();
        let mut compared = 0;
        for item in &api.items {
            let Some(ty) = signature(item, &mut symbols).expect("the types are small") else { continue };
            let normal = normal_form(&Boxed::new(), &ty).expect("the types are small");
            assert!(back.contains(&normal), "{} is not in the bundle", item.path);
            compared += 1;
        }
        assert_eq!(compared, roots.len());
    }
}

#[test]
fn items_are_found_by_their_paths() {
    let mut symbols = Symbols::new();
    let api = describe(&json::of("sample", EVERYTHING), Edition::default(), &mut symbols)
        .expect("the crate is small");
    for item in &api.items {
        assert!(api.items_at(&item.path).any(|found| std::ptr::eq(found, item)), "{}", item.path);
    }
    assert_eq!(api.items_at("nothing::of::the::kind").count(), 0);
}

#[test]
fn equal_signatures_have_equal_digests_in_both_versions() {
    let digests = |source: &str| {
        let mut symbols = Symbols::new();
        // The JSON with private items, which other tests need too, describes the same signatures.
        let json = json::with("sample", source, &["--document-private-items"]);
        let api = describe(&json, Edition::default(), &mut symbols).expect("the crate is small");
        let bytes = bundle(&api, &mut symbols).expect("signatures are portable");
        let roots = Pool::new().import(bytes.as_bytes()).expect("the bundle was just written");
        roots.into_iter().map(|root| (root.label, root.digest)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let (old, new) = (digests(OLD), digests(NEW));
    for same in [
        "sample::same::lifetime_names::f",
        "sample::same::alias_expanded::f",
        "sample::same::this::S::new",
        "sample::same::higher_ranked::f",
        "sample::same::dyn_order::f",
        "sample::same::paths::f",
    ] {
        assert_eq!(old.get(same), new.get(same), "{same}");
        assert!(old.contains_key(same), "{same}");
    }
    for different in ["sample::breaks::return_type::f", "sample::breaks::lifetimes_tied::f"] {
        assert_ne!(old[different], new[different], "{different}");
    }
}

#[test]
fn the_count_names_every_kind_and_nothing_unknown() {
    let mut symbols = Symbols::new();
    let api = describe(&json::of("sample", EVERYTHING), Edition::default(), &mut symbols)
        .expect("the crate is small");
    let counts = &api.counts;
    for kind in [
        "trait object",
        "function pointer",
        "impl Trait in a parameter",
        "impl Trait in a result",
        "associated type",
        "raw pointer",
        "array",
        "slice",
        "tuple",
        "reference",
        "parameter",
        "alias",
        "constant",
    ] {
        assert!(counts.types.keys().any(|name| name.contains(kind)), "{kind} is not in {:?}", counts.types);
    }
    assert!(counts.unknown.is_empty(), "{:?}", counts.unknown);
}

#[test]
fn bad_input_is_refused_with_the_reason() {
    let good = json::of("sample", SMALL);
    let text = String::from_utf8(good.clone()).expect("JSON is text");
    let read = |text: &str| match describe(text.as_bytes(), Edition::default(), &mut Symbols::new()) {
        Err(Error::Read(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(read(""), ReadError::Truncated { .. }));
    assert!(matches!(read("hello"), ReadError::NotJson { .. }));
    assert!(matches!(read("[]"), ReadError::NoVersion | ReadError::Malformed { .. }));
    assert!(matches!(read("{}"), ReadError::NoVersion));
    let older = text.replace("\"format_version\":57", "\"format_version\":45");
    assert!(matches!(read(&older), ReadError::Version { found: 45 }));
    for odd in ["\"57\"", "57.5", "-1"] {
        let odd = text.replace("\"format_version\":57", &format!("\"format_version\":{odd}"));
        assert!(read(&odd).to_string().contains("`format_version` is "));
    }
    let newer = text.replace("\"format_version\":57", "\"format_version\":4294967353");
    assert!(matches!(read(&newer), ReadError::Version { found: 4_294_967_353 }));
    let twice = text.replacen('{', "{\"format_version\":57,", 1);
    assert!(read(&twice).to_string().contains("duplicate"));
    let json: serde_json::Value = serde_json::from_str(&text).expect("rustdoc wrote it");
    let mut rootless = json.clone();
    rootless["root"] = serde_json::json!(987_654_321);
    assert!(read(&rootless.to_string()).to_string().contains("root (item 987654321) is not a module"));
    let odd = text.replace("\"struct_field\"", "\"struct_hologram\"");
    let ReadError::Malformed { message } = read(&odd) else { panic!("an unknown kind is malformed") };
    assert!(message.contains("struct_hologram"), "{message}");
    for at in (1..good.len() - 1).step_by(997) {
        assert!(matches!(read(&text[..at]), ReadError::Truncated { .. }), "cut at {at}");
    }
}

#[test]
fn aliases_in_a_circle_are_an_error_and_not_a_loop() {
    let text = String::from_utf8(json::of("sample", SMALL)).expect("text");
    let json: serde_json::Value = serde_json::from_str(&text).expect("rustdoc wrote it");
    let id_of = |name: &str| {
        let index = json["index"].as_object().expect("an object");
        index.values().find(|item| item["name"] == name).map(|item| item["id"].clone()).expect("the item")
    };
    let (a, b) = (id_of("A"), id_of("B"));
    let mut circle = json.clone();
    for (own, other) in [(&a, &b), (&b, &a)] {
        let path = serde_json::json!({ "resolved_path": { "path": "x", "id": other, "args": null } });
        circle["index"][own.to_string()]["inner"]["type_alias"]["type"] = path;
    }
    let found = describe(circle.to_string().as_bytes(), Edition::default(), &mut Symbols::new());
    assert!(matches!(found, Err(Error::Lower(LowerError::Aliases { .. }))), "{found:?}");
}

#[test]
fn very_many_choices_that_capture_very_many_lifetimes_are_an_error_and_not_a_flood() {
    let json = json::of("sample", SMALL);
    let text = String::from_utf8(json).expect("JSON is text");
    let lifetime = r#"{"name":"'a","kind":{"lifetime":{"outlives":[]}}}"#;
    let from = text.find(r#"{"impl_trait""#).expect("it is in the result");
    let choice = &text[from..from + text[from..].find("]}").expect("it ends") + 2];
    let lifetimes: Vec<String> = (0..2000).map(|n| lifetime.replace("'a", &format!("'l{n}"))).collect();
    let many = text
        .replace(lifetime, &format!("{lifetime},{}", lifetimes.join(",")))
        .replace(choice, &vec![choice; 2000].join(","));
    assert!(many.len() > text.len() + 200_000, "both were found");
    let refused = describe(many.as_bytes(), Edition::default(), &mut Symbols::new());
    assert!(matches!(refused, Err(Error::Lower(LowerError::TooLarge { .. }))), "{refused:?}");
}

#[test]
fn an_async_fn_holds_its_arguments_for_some_lifetimes() {
    let source = "
pub struct S<'l, T>(pub &'l T);
impl<'l, T> S<'l, T> {
    pub async fn method(&self, other: &'l T, fixed: &'static str) {}
    pub fn not_async(&self) -> impl Future<Output = ()> { async {} }
}
pub async fn local(x: std::rc::Rc<u8>) {}
pub async fn generic<A: Send, B>(a: A, b: Vec<B>) where B: Iterator<Item = u8>, B::Item: Send {}
pub async fn nothing() {}
pub trait Tr: Send { #[allow(async_fn_in_trait)] async fn required(self, x: &mut u8); }
";
    let mut symbols = Symbols::new();
    let json = json::of("sample", source);
    let api = describe(&json, Edition::default(), &mut symbols).expect("the crate is small");
    let found: Vec<String> = futures(&api, &mut symbols)
        .expect("the crate is small")
        .iter()
        .map(|future| format!("{}: {}", print::ty(future.witness, &symbols), future.traits.join(" + ")))
        .collect();
    let expected = [
        "{witness sample::S::method for<'x, 'y, 'z, 'x1> (&'x sample::S<'y, T>, &'z T, &'x1 str)}: ",
        "{witness sample::Tr::required for<'x> (Self, &'x mut u8)}: Send",
        "{witness sample::generic (A, alloc::vec::Vec<B>)}: ",
        "{witness sample::local (alloc::rc::Rc<u8>)}: ",
        "{witness sample::nothing ()}: Send + Sync",
    ];
    assert_eq!(found, expected);
}

#[test]
fn conditions_in_any_order_count_once() {
    let counts = |conditions: &str| {
        let source = format!("pub fn f<F>(_: F) where {conditions} {{}}");
        let mut symbols = Symbols::new();
        let api = describe(&json::of("sample", &source), Edition::default(), &mut symbols);
        let counts = api.expect("the crate is small").counts;
        (counts.occurrences, counts.distinct, counts.types)
    };
    assert_eq!(counts("F::Output: Send, F: FnOnce(u8)"), counts("F: FnOnce(u8), F::Output: Send"));
}

/// Each trait has the two of the next level as supertraits, so there are `2^40` chains of them.
#[test]
fn a_trait_is_examined_once_for_all_chains_of_supertraits() {
    let level = |at: usize| {
        let above = if at == 40 { String::new() } else { format!(": A{0} + B{0}", at + 1) };
        format!("pub trait A{at}{above} {{}} pub trait B{at}{above} {{}} ")
    };
    let open: String = (0..=40).map(level).collect();
    let sealed = open.replace("pub trait A40 {}", "mod private { pub trait A40 {} } use private::A40;");
    for (source, is_open) in [(open, true), (sealed, false)] {
        let mut symbols = Symbols::new();
        let api = describe(&json::of("sample", &source), Edition::default(), &mut symbols);
        let api = api.expect("the crate is small");
        assert!(api.items_at("sample::A0").all(|item| item.implemented_by_others == is_open), "{is_open}");
    }
}
