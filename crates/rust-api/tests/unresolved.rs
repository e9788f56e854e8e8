//! Unresolved names: errors with a reason, which no comparison treats as names.

use crate::json;
use typeloom_rust_api::{BundleError, Edition, Unresolved, bundle, compare, describe, print};
use typeloom_term::Symbols;

const SOURCE: &str = "
pub trait Tr { type X; }
pub struct S<'a, T> { pub field: &'a T }
impl Tr for u64 { type X = i128; }
pub fn primitive(_: u128) {}
pub fn value() -> <u64 as Tr>::X { 1 }
pub fn parameter<Tail>(x: Tail) -> Tail { x }
pub fn lifetime<'long>(x: &'long u8) -> &'long u8 { x }
pub type Alias = Option<u128>;
pub fn through_alias(_: Alias) {}
pub fn untouched(x: u8) -> u8 { x }
";

/// The JSON with one name replaced, wherever a type mentions it.
fn with(json: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(json.to_vec()).expect("JSON is text");
    assert!(text.contains(from), "{from}");
    text.replace(from, to).into_bytes()
}

#[test]
fn an_unresolved_name_is_an_error_with_a_reason_and_never_a_name() {
    let good = json::of("names", SOURCE);
    let cases = [
        (r#"{"primitive":"u128"}"#, r#"{"primitive":"u256"}"#, Unresolved::Primitive("u256".to_owned()), 3),
        (r#"{"generic":"Tail"}"#, r#"{"generic":"Head"}"#, Unresolved::Parameter("Head".to_owned()), 1),
        (r#""lifetime":"'long""#, r#""lifetime":"'other""#, Unresolved::Lifetime("'other".to_owned()), 1),
        (r#"{"primitive":"i128"}"#, r#""infer""#, Unresolved::Inferred, 2),
    ];
    for (from, to, reason, items) in cases {
        let bad = with(&good, from, to);
        let mut symbols = Symbols::new();
        let api = describe(&bad, Edition::default(), &mut symbols).expect("the JSON is well formed");
        assert!(api.counts.unknown.contains_key(reason.name()), "{:?}", api.counts.unknown);
        let unresolved: Vec<_> = api.items.iter().filter(|item| !item.unresolved.is_empty()).collect();
        assert!(!unresolved.is_empty());
        for item in &unresolved {
            assert_eq!(item.unresolved, std::slice::from_ref(&reason), "{}", item.path);
            assert!(item.has_error() && print::item(item, &mut symbols).contains("{error}"));
        }
        let Err(BundleError::Unresolved { item: _, reason: found }) = bundle(&api, &mut symbols) else {
            panic!("an error is in no bundle");
        };
        assert_eq!(found, reason);

        // An unresolved name is not even equal to itself, and nothing else changes.
        for (old, new) in [(&bad, &bad), (&good, &bad), (&bad, &good)] {
            let changes = compare(old, new, Edition::default().into()).expect("well formed").changes;
            assert_eq!(changes.len(), items, "{changes:#?}");
            for change in &changes {
                assert!(change.breaking && change.path.to_string().contains("unresolved"), "{change:?}");
                let texts = [&change.old, &change.new].map(|text| text.clone().unwrap_or_default()).concat();
                let is_value = change.item == "names::value";
                assert!(is_value || texts.contains(&reason.to_string()), "{change:?}");
            }
        }
    }
}
