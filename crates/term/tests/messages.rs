//! Messages for terms that do not relate, in both families.

use typeloom_term::infer::RegionFacts;
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::program::NoProgram;
use typeloom_term::{Arena, Boxed, InferenceTable, Interned, Name, Symbols, Ty, TypeFamily, print};

fn ty<F: TypeFamily<Name = Name>>(cx: &F, symbols: &mut Symbols, text: &str) -> Ty<F> {
    parse_ty(cx, symbols, &Scope::new().types(["T"]).consts(["N"]), text).expect("the text is a type")
}

fn message<F: TypeFamily<Name = Name>>(cx: &F, symbols: &mut Symbols, a: &str, b: &str) -> String {
    let mut table = InferenceTable::new(cx.clone());
    for _ in 0..2 {
        table.new_ty_var().expect("there are few variables");
    }
    let (a, b) = (ty(cx, symbols, a), ty(cx, symbols, b));
    match table.sub(&NoProgram, &a, &b) {
        Err(error) => print::type_error(&error, symbols),
        Ok(left) if !left.is_empty() => print::obligation(&left[0], symbols),
        Ok(_) => match table.regions().check(&RegionFacts::new()) {
            Err(error) => print::region_error(&error, symbols),
            Ok(()) => "yes".to_owned(),
        },
    }
}

fn every_sentence<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut symbols = Symbols::new();
    for (a, b, sentence) in [
        ("Vec<u8>", "Vec<u8>", "yes"),
        ("Vec<u8>", "Vec<T>", "`u8` is not `T`"),
        ("[u8; 3]", "[u8; 4]", "`3` is not `4`"),
        ("[u8; 2 * N]", "[u8; N]", "`2 * N` is not `N`"),
        ("Wrapper<'a>", "Wrapper<u8>", "the lifetime `'a` does not match the type `u8`"),
        ("?0", "Vec<?0>", "`?0` would have to contain itself, as `Vec<?0>`"),
        ("?0", "?1", "`?0` is a subtype of `?1`"),
        ("&'a u8", "&'b u8", "`'a` is not known to outlive `'b`"),
    ] {
        assert_eq!(message(cx, &mut symbols, a, b), sentence, "{a} and {b}");
    }
    let leak = message(cx, &mut symbols, "fn(&'a u8)", "for<'x> fn(&'x u8)");
    assert_eq!(leak, "one type is more general than the other: `'x` is not known to outlive `'a`");

    let below = message(cx, &mut symbols, "for<'x> fn(Wrapper<?0>)", "for<'x> fn(Wrapper<&'x u8>)");
    assert_eq!(below, "one type is more general than the other: `'x` is not known to outlive `'?0`");

    let inside = message(cx, &mut symbols, "for<'a> fn(&'a [&'x u8])", "for<'b> fn(&'b [u16])");
    assert_eq!(inside, "`&'x u8` is not `u16`");
    let inside = message(cx, &mut symbols, "fn(u8, V)", "for<Q> fn(Q, V)");
    assert_eq!(inside, "`u8` is not `T`");
}

#[test]
fn every_relation_error_names_the_terms() {
    every_sentence(&Boxed::default());
    let arena = Arena::new();
    every_sentence(&Interned::new(&arena));
}
