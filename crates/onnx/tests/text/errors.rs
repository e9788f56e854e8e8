//! Parse errors: messages and positions.

use typeloom_onnx::text::{
    Expected, Found, KeyContext, NameOf, NumberTarget, ParseError, ParseErrorKind, Punct, parse_graph,
    parse_model, parse_node, parse_type,
};

fn node(text: &str) -> ParseError {
    parse_node(text).expect_err(text)
}

/// The part of the text that an error covers.
fn covered<'a>(text: &'a str, error: &ParseError) -> &'a str {
    &text[error.offset..error.offset + error.length]
}

#[test]
fn a_message_reports_expected_and_found_tokens() {
    for (text, expected, message) in [
        ("x = Add(a b)", "b", "line 1, column 11: expected `)`, found `b`"),
        ("x Add(a)", "Add", "line 1, column 3: expected `=`, found `Add`"),
        ("x = (a)", "(", "line 1, column 5: expected the name of an operator, found `(`"),
        ("x = Op <a = > ()", ">", "line 1, column 13: expected a value, found `>`"),
        ("x = Op <a = [1 2]> ()", "2", "line 1, column 16: expected `,` or `]`, found the number `2`"),
        ("x = Op(a", "", "line 1, column 9: expected `)`, found the end of the text"),
        ("x = Op(a) b", "b", "line 1, column 11: expected the end of the text, found `b`"),
        ("x = Op <a: real = 1> ()", "real", "line 1, column 12: `real` is not an attribute type"),
        (
            "x = Op <a: int = 1.5> ()",
            "1.5",
            "line 1, column 18: attribute `a` is declared int, but its value is float",
        ),
        (
            "x = Op <a = [1, \"b\"]> ()",
            "\"b\"",
            "line 1, column 17: attribute `a` mixes int with string in one list",
        ),
        ("x = Op <a = 1e39> ()", "1e39", "line 1, column 13: `1e39` does not fit a float"),
        (
            "x = Op <a = int64[1] {1.5}> ()",
            "1.5",
            "line 1, column 23: expected an integer, found the number `1.5`",
        ),
        (
            "x = Op <a = int32[1] {-3000000000}> ()",
            "-3000000000",
            "line 1, column 23: `-3000000000` does not fit 32 bits",
        ),
        (
            "x = Op <a = float[N] {1}> ()",
            "float",
            "line 1, column 13: a constant needs a numeric extent in every dim",
        ),
        (
            "x = Op <a = seq(float) {1}> ()",
            "seq",
            "line 1, column 13: a constant needs a tensor type, not a sequence",
        ),
        ("x = Op <a = hex\"0\"> ()", "\"0\"", "line 1, column 16: `hex` needs pairs of hexadecimal digits"),
        ("x = Op <a = 1e> ()", "1e", "line 1, column 13: `1e` is not a number"),
        ("x = Op(a) @{note: \"n\"}", "note", "line 1, column 13: a node's annotation has no `note`"),
    ] {
        let error = node(text);
        assert_eq!(error.to_string(), message, "{text}");
        assert_eq!(covered(text, &error), expected, "{text}");
    }
}

#[test]
fn an_empty_list_needs_a_type() {
    let error = node("x = Op <pads = []> ()");
    assert_eq!(error.kind, ParseErrorKind::UntypedEmptyList { attribute: "pads".into() });
    assert!(error.to_string().ends_with("as in `pads: ints = []`"), "{error}");
}

#[test]
fn lines_count_from_one_and_columns_in_characters() {
    let text = "g () => () {\n  \"é→\" = Op(x)\n  \"é→\" = Op(x # comment\n}";
    let error = parse_graph(text).expect_err("the parenthesis is open");
    assert_eq!((error.line, error.column, error.offset), (4, 1, text.len() - 1));
    assert_eq!(
        error.kind,
        ParseErrorKind::Unexpected {
            expected: Expected::Punct(Punct::RightParen),
            found: Found::Punct(Punct::RightBrace)
        }
    );
    let error = parse_graph("g () => () { \"é→\" Op }").expect_err("there is no `=`");
    assert_eq!((error.line, error.column), (1, 19));
}

#[test]
fn error_kinds_have_typed_payloads() {
    assert_eq!(
        parse_model("<ir_versoin: 7> g () => () {}").expect_err("a mistyped key").kind,
        ParseErrorKind::UnknownKey { key: "ir_versoin".into(), context: KeyContext::Model }
    );
    assert_eq!(
        parse_type("float[9223372036854775808]").expect_err("too large").kind,
        ParseErrorKind::NumberOutOfRange {
            literal: "9223372036854775808".into(),
            target: NumberTarget::Int64
        }
    );
    assert_eq!(
        parse_type("map(text, float)").expect_err("no such type").kind,
        ParseErrorKind::UnknownElementType("text".into())
    );
    assert_eq!(
        parse_type("flaot").expect_err("no such type").kind,
        ParseErrorKind::Unexpected { expected: Expected::Type, found: Found::Name("flaot".into()) }
    );
    assert_eq!(
        parse_graph("g (,) => () {}").expect_err("an input has a name").kind,
        ParseErrorKind::Unexpected {
            expected: Expected::Name(NameOf::Value),
            found: Found::Punct(Punct::Comma)
        }
    );
    assert_eq!(node("x = Op(\"y)").kind, ParseErrorKind::UnterminatedString);
}

#[test]
fn quotations_in_errors_are_bounded() {
    let long = "é".repeat(10_000);
    for text in [format!("x = Op(y) \"{long}\""), format!("x = {} y", "a".repeat(10_000)), "1".repeat(10_000)]
    {
        assert!(node(&text).to_string().len() < 200);
    }
}
