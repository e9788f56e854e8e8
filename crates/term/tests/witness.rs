//! Witnesses bind their lifetimes existentially: the opposite direction of functions.

use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::program::NoProgram;
use typeloom_term::{Boxed, InferenceTable, Name, Symbols, Ty, Variance, is_subtype};

fn parse(symbols: &mut Symbols, text: &str) -> Ty {
    parse_ty(&Boxed::new(), symbols, &Scope::new(), text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_witness_holds_its_types_for_some_lifetimes() {
    let mut symbols = Symbols::new();
    // Lesser, greater, and whether the reverse holds too.
    let pairs = [
        ("(&'a u8)", "for<'x> (&'x u8)", false),
        ("(&'static u8)", "for<'x> (&'x u8)", false),
        ("for<'x> (&'x mut &'x u8, u8)", "for<'x, 'y> (&'x mut &'y u8, u8)", false),
        ("for<'x> (&'x u8, fn(&'x u8))", "for<'x, 'y> (&'x u8, fn(&'y u8))", false),
        ("for<'x, 'y> (&'x u8, &'y u8)", "for<'y, 'x> (&'y u8, &'x u8)", true),
        ("for<'x, 'y> (&'x u8, u8)", "for<'x> (&'x u8, u8)", true),
        ("for<'x, 'y> (&'x u8, &'y u8)", "for<'x> (&'x u8, &'x u8)", true),
        ("(&'static u8, for<'x> fn(&'x u8))", "(&'a u8, fn(&'a u8))", false),
    ];
    for (lesser, greater, reverse) in pairs {
        let [a, b] = [lesser, greater].map(|types| parse(&mut symbols, &format!("{{witness work {types}}}")));
        assert!(is_subtype(&a, &b).is_ok(), "{lesser} | {greater}");
        assert_eq!(is_subtype(&b, &a).is_ok(), reverse, "{greater} | {lesser}");
        // The relation with exchanged sides is the reverse relation.
        let mut table = InferenceTable::new(Boxed::new());
        assert!(table.relate(&NoProgram, Variance::Contravariant, &b, &a).is_ok(), "{lesser} | {greater}");
        // A function with the same types as its result is general over its lifetimes instead.
        let a = parse(&mut symbols, &format!("fn({{witness work {lesser}}})"));
        let b = parse(&mut symbols, &format!("fn({{witness work {greater}}})"));
        assert!(is_subtype(&b, &a).is_ok(), "{lesser} | {greater}");
    }
}

#[test]
fn the_builder_binds_the_lifetimes_inside() {
    let cx = Boxed::new();
    let mut symbols = Symbols::new();
    let [work, a, b, unused] = ["work", "'a", "'b", "'unused"].map(|text| symbols.intern(text));
    let (work, [a, b, unused]) = (Name::Adt(work), [a, b, unused].map(Name::Param));
    let [x, y] = ["fn(&'a u8) -> &'b u8", "&'a u8"].map(|text| parse(&mut symbols, text));
    let built = Ty::witness(&cx, work, &[a, b], &[x.clone(), y.clone()]).unwrap();
    let renamed = ["fn(&'b u8) -> &'a u8", "&'b u8"].map(|text| parse(&mut symbols, text));
    assert_eq!(built, Ty::witness(&cx, work, &[a, b], &renamed).unwrap());
    assert_eq!(built, Ty::witness(&cx, work, &[unused, b, a], &[x.clone(), y.clone()]).unwrap());
    let outside = Ty::witness(&cx, work, &[a], &[x.clone(), y.clone()]).unwrap();
    assert_ne!(built, outside);
    assert!(is_subtype(&outside, &built).is_ok() && is_subtype(&built, &outside).is_err());
    assert!(is_subtype(&Ty::witness(&cx, work, &[], &[x, y]).unwrap(), &outside).is_ok());
}
