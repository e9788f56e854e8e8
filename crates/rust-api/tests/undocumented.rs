//! Items with `#[doc(hidden)]`, in JSON that contains them: they are not public, and hiding an item does not remove it.

use crate::json;
use typeloom_rust_api::{Edition, Editions, ItemChange, describe};
use typeloom_term::Symbols;
use typeloom_test_cases::number;

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

const VISIBLE: &str = "
pub fn function(x: u8) {}
pub mod module { pub fn inside() {} }
pub struct Struct { pub field: u8, pub other: u8 }
impl Struct { pub fn method(&self) {} }
impl Clone for Struct { fn clone(&self) -> Self { loop {} } }
pub enum Enum { One, Two }
pub trait Trait { fn provided(&self) {} }
#[macro_export] macro_rules! shout { () => {} }
pub use std::collections::BTreeMap;
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
#[doc(hidden)] pub use std::collections::BTreeMap;
";

#[test]
fn an_item_that_became_hidden_is_not_removed() {
    let changes = compare(VISIBLE, HIDDEN);
    assert_eq!(
        summary(&changes),
        [
            "impl core::clone::Clone for sample::Struct",
            "sample::BTreeMap",
            "sample::Enum::Two",
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
fn the_signature_of_an_item_that_became_hidden_is_still_compared() {
    let changes = compare("pub fn f(x: u8) {} pub fn g() {}", "#[doc(hidden)] pub fn f(x: u16) {}");
    assert_eq!(summary(&changes), ["sample::f!", "sample::g!"]);
}

#[test]
fn a_deprecated_item_stays_public_when_it_is_hidden() {
    let changes = compare("#[doc(hidden)] #[deprecated] pub fn f(x: u8) {}", "");
    assert_eq!(summary(&changes), ["sample::f!"]);
}

#[test]
fn a_visible_path_makes_an_item_of_a_hidden_module_public() {
    let old = "#[doc(hidden)] pub mod private { pub struct S; pub struct T; } pub use private::S;";
    let new = "#[doc(hidden)] pub mod private { pub struct S { x: u8 } }  pub use private::S;";
    assert_eq!(summary(&compare(old, new)), ["sample::S!"]);
    let mut symbols = Symbols::new();
    let api = describe(&json(old), Edition::default(), &mut symbols).expect("the crate is small");
    let items: Vec<_> = api.items.iter().filter(|item| !item.path.starts_with("impl ")).collect();
    assert!(items.iter().all(|item| item.path == "sample::S"), "{items:?}");
}

#[test]
fn a_hidden_variant_makes_an_enum_non_exhaustive() {
    let with = "pub enum E { A, #[doc(hidden)] __Other }";
    assert_eq!(
        summary(&compare(with, "#[non_exhaustive] pub enum E { A, B }")),
        ["sample::E", "sample::E::B"]
    );
    assert_eq!(summary(&compare("pub enum E { A }", with)), ["sample::E!"]);
}

#[test]
fn impls_for_hidden_types_are_public_only_if_values_are_reachable() {
    let old = "
#[doc(hidden)] pub mod p { pub struct Internal; pub struct Iter; }
impl From<p::Internal> for Public { fn from(_: p::Internal) -> Self { Public } }
pub trait Tr {} impl Tr for p::Internal {} impl Tr for p::Iter {}
pub struct Public;
impl Public { pub fn iter(&self) -> p::Iter { p::Iter } }
";
    let new = "
#[doc(hidden)] pub mod p { pub struct Iter; }
pub trait Tr {}
pub struct Public;
impl Public { pub fn iter(&self) -> p::Iter { p::Iter } }
";
    assert_eq!(summary(&compare(old, new)), ["impl sample::Tr for sample::p::Iter!"]);
}

#[test]
fn a_hidden_requirement_seals_a_trait() {
    let sealed = "pub trait Tr { fn f(&self); #[doc(hidden)] fn sealed(&self); }";
    let more = "pub trait Tr { fn f(&self); fn g(&self); #[doc(hidden)] fn sealed(&self); }";
    assert_eq!(summary(&compare(sealed, more)), ["sample::Tr::g"]);
    assert_eq!(summary(&compare("pub trait Tr { fn f(&self); }", sealed)), ["sample::Tr!"]);
}

#[test]
fn a_supertrait_in_a_hidden_module_may_come_and_go() {
    let bound = "#[doc(hidden)] pub mod p { pub trait Sealed {} impl Sealed for u8 {} }
pub trait Tr: p::Sealed { fn f(&self); } impl Tr for u8 { fn f(&self) {} }";
    let free = "pub trait Tr { fn f(&self); } impl Tr for u8 { fn f(&self) {} }";
    let other = "#[doc(hidden)] pub mod q { pub trait Private {} impl Private for u8 {} }
pub trait Tr where Self: q::Private { fn f(&self); fn g(&self); } impl Tr for u8 { fn f(&self) {} fn g(&self) {} }";
    assert_eq!(summary(&compare(bound, free)), ["sample::Tr"]);
    assert_eq!(summary(&compare(bound, other)), ["sample::Tr::g"]);
    assert_eq!(summary(&compare(free, bound)), ["sample::Tr!"], "other crates can no longer implement it");
}

#[test]
fn a_private_supertrait_of_every_type_does_not_seal() {
    let private = |source: &str| json::with("sample", source, &["--document-private-items"]);
    let with = private(
        "mod p { pub trait Ext {} impl<T: ?Sized> Ext for T {} } pub trait Tr: p::Ext { fn f(&self); }",
    );
    let without = private("pub trait Tr { fn f(&self); }");
    for (old, new) in [(&with, &without), (&without, &with)] {
        let found = typeloom_rust_api::compare(old, new, Editions::default()).expect("the crates are small");
        assert_eq!(found.changes, []);
    }
}

#[test]
fn without_the_option_hidden_items_are_missing() {
    let (old, new) =
        (json::of("sample", "pub fn f() {}"), json::of("sample", "#[doc(hidden)] pub fn f() {}"));
    let found = typeloom_rust_api::compare(&old, &new, Editions::default()).expect("the crates are small");
    assert_eq!(summary(&found.changes), ["sample::f!"]);
}

#[test]
fn impls_of_a_private_type_are_compared_for_its_aliases() {
    let private = |source: &str| json::with("sample", source, &["--document-private-items"]);
    let old = "mod p {
pub struct By<I, T> { iter: I, last: Option<T> }
impl<I: Iterator<Item = T>, T> Iterator for By<I, T> { type Item = T; fn next(&mut self) -> Option<T> { None } }
impl<I: Clone, T: Clone> Clone for By<I, T> { fn clone(&self) -> Self { loop {} } }
}
pub type Merged<I> = p::By<I, <I as Iterator>::Item>;";
    let new = |item: &str| {
        format!(
            "mod p {{
pub struct By<I: Iterator, C: Count<I::Item>> {{ iter: I, last: Option<C::Out> }}
pub trait Count<T> {{ type Out; }}
pub struct Plain;
impl<T> Count<T> for Plain {{ type Out = {item}; }}
impl<I: Iterator, C: Count<I::Item>> Iterator for By<I, C> {{ type Item = C::Out; fn next(&mut self) -> Option<C::Out> {{ None }} }}
impl<I: Iterator + Clone, C: Count<I::Item>> Clone for By<I, C> where C::Out: Clone {{ fn clone(&self) -> Self {{ loop {{}} }} }}
}}
pub type Merged<I> = p::By<I, p::Plain>;"
        )
    };
    let changes = |new: &str| {
        let found = typeloom_rust_api::compare(&private(old), &private(new), Editions::default());
        found.expect("the crates are small").changes
    };
    let same = changes(&new("T"));
    assert!(same.iter().all(|change| !change.breaking), "{same:?}");
    assert!(changes(&new("(usize, T)")).iter().any(|change| change.breaking));
}

/// The changes between two versions, as the command documents them.
fn compare_all(old: &str, new: &str) -> Vec<ItemChange> {
    let json =
        |source: &str| json::with("sample", source, &["--document-hidden-items", "--document-private-items"]);
    let found = typeloom_rust_api::compare(&json(old), &json(new), Editions::default());
    found.expect("the crates are small").changes
}

/// The items that break.
fn breaks(old: &str, new: &str) -> Vec<String> {
    summary(&compare_all(old, new)).into_iter().filter(|item| item.ends_with('!')).collect()
}

#[test]
fn a_type_that_became_hidden_has_the_auto_traits_of_its_fields() {
    let old = "
pub struct Instant(pub std::time::Instant);
pub struct Generic<T> { items: Vec<T>, pub count: u8 }
pub enum Sum<'a> { A(&'a str), B { x: Box<u8> } }
pub union Either { pub a: u8, pub b: f32 }
pub struct Pointer(*const u8); unsafe impl Send for Pointer {}
";
    let hidden = old.replace("\npub", "\n#[doc(hidden)] pub");
    assert_eq!(breaks(old, &hidden), [] as [&str; 0]);
    let lost = |from: &str, to: &str| breaks(old, &hidden.replace(from, to));
    assert_eq!(
        lost("items: Vec<T>", "items: std::rc::Rc<T>"),
        [
            "impl core::marker::Send for sample::Generic<T>!",
            "impl core::marker::Sync for sample::Generic<T>!",
            "impl core::panic::unwind_safe::UnwindSafe for sample::Generic<T>!"
        ]
    );
    assert_eq!(
        lost("x: Box<u8>", "x: std::cell::Cell<u8>"),
        [
            "impl core::marker::Sync for sample::Sum<'a>!",
            "impl core::panic::unwind_safe::RefUnwindSafe for sample::Sum<'a>!",
            "sample::Sum::B::x!"
        ]
    );
    assert_eq!(lost("unsafe impl Send for Pointer {}", ""), ["impl core::marker::Send for sample::Pointer!"]);
}

#[test]
fn a_private_supertrait_with_arguments_counts_as_its_own_supertraits() {
    for (with, without) in [
        (
            "mod p { pub trait A<'a>: AsRef<&'a str> {} } pub trait Tr: for<'a> p::A<'a> {}",
            "mod p { pub trait A {} } pub trait Tr: p::A + for<'a> AsRef<&'a str> {}",
        ),
        (
            "mod p { pub trait A<'a, T: 'static>: Into<&'a T> {} } pub trait Tr: for<'x> p::A<'x, u8> {}",
            "mod p { pub trait B {} } pub trait Tr: for<'a> Into<&'a u8> + p::B {}",
        ),
        (
            "mod p { pub trait A { type Out; } } pub trait Tr: p::A<Out = u8> {}",
            "mod p { pub trait A {} } pub trait Tr: p::A {}",
        ),
    ] {
        assert_eq!(summary(&compare_all(with, without)), [] as [&str; 0], "{with}");
        assert_eq!(summary(&compare_all(without, with)), [] as [&str; 0], "{without}");
    }
    let lost = breaks(
        "mod p { pub trait A<'a>: PartialEq<&'a str> {} } pub trait Tr: for<'a> p::A<'a> {}",
        "mod p { pub trait A {} } pub trait Tr: p::A {}",
    );
    assert_eq!(lost, ["sample::Tr!"]);
}

#[test]
fn a_private_type_in_a_required_signature_seals() {
    let with = |alias: &str, item: &str, more: &str| {
        format!("mod p {{ pub struct Token; }} {alias} pub struct Own; pub trait Tr {{ {item} {more} }}")
    };
    for (item, seals) in [
        ("fn f(&self, _: p::Token);", true),
        ("fn f(&self) -> Option<p::Token>;", true),
        ("const C: p::Token;", true),
        ("fn f(&self, _: p::Token) {}", false),
        ("fn f(&self) -> Own;", false),
    ]
    .into_iter()
    .step_by(number(3, 1))
    {
        let found = |alias: &str| breaks(&with(alias, item, ""), &with(alias, item, "fn g(&self);"));
        let open = ["sample::Tr::g!"];
        assert_eq!(found(""), if seals { &open[..0] } else { &open }, "{item}");
        assert_eq!(found("pub type Named = p::Token;"), open, "{item}");
    }
}
