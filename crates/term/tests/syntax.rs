//! Textual form of types, and parsing it back.

use crate::shape::{Build, Style, check, shapes};
use typeloom_term::parse::{ParseError, ParseErrorKind, Scope, parse_ty};
use typeloom_term::print::{self, Printer};
use typeloom_term::{Boxed, Symbols, TermError, Ty};

fn scope() -> Scope {
    Scope::new().types(["T", "U"]).consts(["N"])
}

fn parse(text: &str) -> Result<(Ty<Boxed>, Symbols), ParseError> {
    let mut symbols = Symbols::new();
    let ty = parse_ty(&Boxed::new(), &mut symbols, &scope(), text)?;
    Ok((ty, symbols))
}

fn reprint(text: &str) -> String {
    let (ty, symbols) = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    print::rust(&ty, &symbols)
}

#[test]
fn canonical_spellings_are_printed_as_they_were_read() {
    for text in [
        "u8",
        "!",
        "()",
        "(u8,)",
        "(u8, &'a T)",
        "[u8]",
        "[u8; 3]",
        "[u8; N]",
        "[u8; { 1 + 2 * N }]",
        "[u8; { (1 + 2) * N }]",
        "[u8; { 1 - (2 - N) }]",
        "[u8; { 1 << N >> 2 }]",
        "&'static str",
        "&'a mut (dyn Tr + 'a)",
        "&'_ u8",
        "*const (fn(u8))",
        "*mut T",
        "std::vec::Vec<T>",
        "Arr<u8, 3>",
        "Arr<u8, N>",
        "Flag<true, 'x', -3>",
        "fn(u8, T) -> U",
        "for<'x> fn(&'x u8) -> &'x u8",
        "for<'x> fn(for<'y> fn(&'x u8, &'y u8))",
        "for<'x, T, const A> fn(&'x T, [T; A])",
        "unsafe extern \"C\" fn(u8, ...) -> i32",
        "unsafe<'x> &'x u8",
        "dyn Tr + 'static",
        "dyn Tr + Send + Sync + 'a",
        "dyn for<'x> TrL<'x> + 'a",
        "dyn As<X = u8> + 'a",
        "dyn for<'x> TrT<&'x u8, Out = &'x T> + 'a",
        "dyn Sub + ~Super<Item = u8> + 'a",
        "<T as As>::X",
        "<T as Mul<u8>>::Output",
        "<<T as Iterator>::Item as As>::X",
        "Tensor<f32, [N, 3, 224, 224]>",
        "Tensor<tensor.f32, [2 * N + 1, seq]>",
        "Tensor<bool, []>",
        "Tensor<f32>",
        "{closure main::closure_0<'a, T>}",
        "{fn std::mem::swap<T>}",
        "{coroutine-witness work<T>}",
        "{witness work for<'x> (&'x u8, T)}",
        "{opaque impl_0<T>}",
        "{pattern range<u32, 1, 5>}",
        "[u8; {const crate::LEN}]",
        "?0",
        "(?0, &'?1 u8, [u8; ?#2])",
        "(?c0, &'?c1 u8, [u8; ?#c2])",
        "(!1.0, &'!1.1 u8, [u8; !#2.0])",
        "(^0.1, &'^1.0 u8, [u8; ^#0.0])",
    ] {
        assert_eq!(reprint(text), text);
    }
}

#[test]
fn other_spellings_are_read_and_printed_canonically() {
    for (text, canonical) in [
        ("( u8 )", "u8"),
        ("(u8, T,)", "(u8, T)"),
        ("&u8", "&'_ u8"),
        ("&mut u8", "&'_ mut u8"),
        ("fn(x: u8) -> ()", "fn(u8)"),
        ("extern fn()", "extern \"C\" fn()"),
        ("Vec<Vec<u8>>", "Vec<Vec<u8>>"),
        ("dyn Tr", "dyn Tr + 'static"),
        ("dyn 'a + Send + Tr", "dyn Send + Tr + 'a"),
        ("dyn (for<'q> TrL<'q>) + 'a", "dyn for<'x> TrL<'x> + 'a"),
        ("dyn Fn(u8, T) -> u8 + Send", "dyn Fn<(u8, T)> + ~FnOnce<(u8, T), Output = u8> + Send + 'static"),
        ("dyn FnOnce()", "dyn FnOnce<(), Output = ()> + 'static"),
        (
            "dyn for<'a> std::ops::Fn(&'a u8) -> &'a u8",
            "dyn for<'x> std::ops::Fn<(&'x u8,)> \
             + ~for<'x> std::ops::FnOnce<(&'x u8,), Output = &'x u8> + 'static",
        ),
        ("for<'q> fn(&'q u8)", "for<'x> fn(&'x u8)"),
        ("[u8; 0x1_0usize]", "[u8; 16]"),
        ("Flag<'\\n'>", "Flag<'\\n'>"),
        ("Tensor<f32, [(N)]>", "Tensor<f32, [N]>"),
    ] {
        assert_eq!(reprint(text), canonical, "{text}");
    }
}

#[test]
fn invented_names_avoid_those_that_the_program_uses() {
    assert_eq!(reprint("for<'b> fn(&'b u8, &'x u8)"), "for<'y> fn(&'y u8, &'x u8)");
    let printed = "{forall for<T> fn() -> (for<'x> fn(&'x T), for<'x, U> fn(&'x U, T))}";
    assert_eq!(reprint(printed), printed);
    assert_eq!(reprint("{forall for<Q> fn() -> (Q, U, V<T>)}"), "{forall for<W> fn() -> (W, U, V<T>)}");
}

#[test]
fn every_type_is_read_back_as_it_was_printed() {
    check(400, &(shapes(), proptest::prelude::any::<bool>()), |(shape, plain)| {
        let cx = Boxed::new();
        let mut symbols = Symbols::new();
        let style = if plain { Style::Plain } else { Style::Roundabout };
        let ty = Build::new(&cx, &mut symbols, style).ty(&shape);
        let text = print::rust(&ty, &symbols);
        let again = parse_ty(&cx, &mut symbols, &scope(), &text);
        proptest::prop_assert_eq!(again, Ok(ty), "{}", text);
        Ok(())
    });
}

#[test]
fn malformed_text_is_rejected_with_a_place() {
    let expected = |offset, what| ParseError { offset, kind: ParseErrorKind::Expected(what) };
    for (text, error) in [
        ("", expected(0, "a type")),
        ("Vec<u8", expected(6, ">")),
        ("&'a", expected(3, "a type")),
        ("*u8", expected(1, "`const` or `mut`")),
        ("[u8; ]", expected(5, "a constant")),
        ("<T>::X", expected(2, "`as`")),
        ("fn(u8", expected(5, ")")),
        ("for<u8", expected(6, ">")),
        ("{what x}", expected(0, "a kind of type")),
        ("u8 u8", ParseError { offset: 3, kind: ParseErrorKind::Trailing }),
        ("u8 $", ParseError { offset: 3, kind: ParseErrorKind::UnexpectedCharacter('$') }),
        ("[u8; 3x]", ParseError { offset: 5, kind: ParseErrorKind::BadNumber }),
        ("extern \"C fn()", ParseError { offset: 7, kind: ParseErrorKind::Unterminated }),
        ("^99999999.0", ParseError { offset: 0, kind: ParseErrorKind::Term(TermError::BinderTooFar) }),
    ] {
        assert_eq!(parse(text).map(|(ty, _)| ty), Err(error), "{text}");
    }
}

#[test]
fn expected_punctuation_is_quoted() {
    for (text, message) in [
        ("Vec<u8", "expected `>` at byte 6"),
        ("&'a", "expected a type at byte 3"),
        ("*u8", "expected `const` or `mut` at byte 1"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn no_text_makes_the_parser_panic() {
    let pieces = [
        "u8",
        "&",
        "'a",
        "'",
        "mut",
        "[",
        "]",
        ";",
        "3",
        "(",
        ")",
        ",",
        "fn",
        "for",
        "<",
        ">",
        "dyn",
        "+",
        "->",
        "Vec",
        "::",
        "as",
        "{",
        "}",
        "closure",
        "?",
        "?0",
        "!",
        "!1.0",
        "^",
        "#",
        "-",
        "\"C\"",
        "...",
        "Tensor",
        "é",
        "unsafe",
        "const",
        "*",
        "=",
        "~",
        "'x'",
        "\\",
        "0x",
        "9999999999999999999999999999999999999999999",
    ];
    let texts = proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..12);
    check(3000, &texts, |words| {
        for text in [words.join(" "), words.concat()] {
            if let Ok((ty, symbols)) = parse(&text) {
                let printed = print::rust(&ty, &symbols);
                proptest::prop_assert!(parse(&printed).is_ok(), "{text} prints as {printed}");
            }
        }
        Ok(())
    });
}

#[test]
fn printing_stops_at_the_limit() {
    let (ty, symbols) = parse("(u8, (u8, u8), u8)").unwrap();
    assert_eq!(Printer::new(&symbols).limit(3).ty(&ty), "(u8, (…))");
}
