//! Hostile texts and messages cause no panic, no stack overflow and no excessive run time.

use proptest::collection::vec;
use proptest::prelude::*;
use typeloom_onnx::messages::type_proto::{Sequence, Value};
use typeloom_onnx::messages::{AttributeProto, GraphProto, NodeProto, TypeProto};
use typeloom_onnx::text::{
    Loss, MAX_NESTING, ParseErrorKind, PrintOptions, parse_function, parse_graph, parse_model, parse_node,
    parse_type, print_graph, print_model, print_type,
};

use crate::random::{Gen, Kind, runner};

/// Parses a text with every entry point and ignores the results.
fn read_all(text: &str) -> usize {
    [
        parse_model(text).is_ok(),
        parse_graph(text).is_ok(),
        parse_function(text).is_ok(),
        parse_node(text).is_ok(),
        parse_type(text).is_ok(),
    ]
    .into_iter()
    .filter(|read| *read)
    .count()
}

/// The position of an error of any entry point is within the text.
fn check_positions(text: &str) {
    for error in [
        parse_model(text).err(),
        parse_graph(text).err(),
        parse_function(text).err(),
        parse_node(text).err(),
        parse_type(text).err(),
    ]
    .into_iter()
    .flatten()
    {
        assert!(text.is_char_boundary(error.offset), "{error} in {text:?}");
        assert!(text.is_char_boundary(error.offset + error.length), "{error} in {text:?}");
    }
}

#[test]
fn forall_random_texts_parsing_ends_and_errors_are_within_the_text() {
    let alphabet =
        "<>(){}[],:.=@?+-*/%#\"\\ \nab1éfloat seq( hex\"0\" => @{ doc_string: ir_version: _\0\u{7f}";
    let alphabet: Vec<char> = alphabet.chars().collect();
    runner(2000)
        .run(&vec(any::<prop::sample::Index>(), 0..80), |picks| {
            let text: String = picks.iter().map(|pick| *pick.get(&alphabet)).collect();
            check_positions(&text);
            Ok(())
        })
        .unwrap();
    runner(500)
        .run(&vec(any::<u8>(), 0..200), |bytes| {
            check_positions(&String::from_utf8_lossy(&bytes));
            Ok(())
        })
        .unwrap();
}

#[test]
fn forall_printed_models_truncated_or_damaged_texts_are_parsed_or_rejected() {
    runner(150)
        .run(&(vec(any::<u8>(), 0..600), any::<prop::sample::Index>(), any::<char>()), |(bytes, at, c)| {
            let model = Gen::new(&bytes, Kind::Expressible).model();
            let text = print_model(&model, &PrintOptions::round_trip()).text;
            let mut at = at.index(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            check_positions(&text[..at]);
            check_positions(&format!("{}{c}{}", &text[..at], &text[at..]));
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_truncation_of_a_model_is_rejected() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]> g @{doc_string: "d"} (float[N*2, ?]@"D" q, float[2] x = [ "location": "f"]) => (seq(float) y)
        <sparse_tensor(float[9]) s = (float[1] {1.5e-3}, int64[1] {-3}), string[1] t = {hex"ff"}> {
        ["n n"] a,, b = d.Op:o <i: ints = [1, 2], r = @q, t = g () => () {}> (x, "", y) }"#;
    assert!(parse_model(text).is_ok(), "{:?}", parse_model(text));
    for end in 0..text.len() {
        assert!(parse_model(&text[..end]).is_err(), "{}", &text[..end]);
    }
}

#[test]
fn ten_thousand_levels_are_an_error_not_an_overflow() {
    const LEVELS: usize = 10_000;
    let too_deep = |kind: ParseErrorKind| matches!(kind, ParseErrorKind::TooDeep { limit: MAX_NESTING });
    assert!(too_deep(parse_type(&"seq(".repeat(LEVELS)).unwrap_err().kind));
    assert!(too_deep(parse_type(&format!("float[{}", "(".repeat(LEVELS))).unwrap_err().kind));
    assert!(too_deep(parse_type(&format!("float[{}", "f(".repeat(LEVELS))).unwrap_err().kind));
    assert!(too_deep(parse_graph(&"g () => () { x = If() <b = ".repeat(LEVELS)).unwrap_err().kind));
    assert!(too_deep(parse_graph(&"g () => () { x = If() <b = [".repeat(LEVELS)).unwrap_err().kind));
    for opening in
        ["(", "[", "{", "<", "@{", "-", "=", ",", "@", "x = ", "a.", "?", "optional(seq(", "[[", "\\", "#"]
    {
        read_all(&opening.repeat(LEVELS));
        read_all(&format!("y = Op <a = {}", opening.repeat(LEVELS)));
    }
    // Signs are parsed by a loop.
    assert!(parse_type(&format!("float[{}n]", "-".repeat(LEVELS))).is_ok());
}

#[test]
fn the_maximum_depth_is_parsed_and_printed_on_a_small_stack() {
    let deepest = usize::try_from(MAX_NESTING).unwrap();
    let text = format!(
        "{}g (float[(n + 1)*2] x) => () {{ x = C <t = float {{1.0}}> () }}{}",
        "g () => () { x = If() <b = ".repeat(deepest - 1),
        "> }".repeat(deepest - 1)
    );
    let run = move || {
        let graph = parse_graph(&text).expect("the deepest graph reads");
        let printed = print_graph(&graph, &PrintOptions::round_trip());
        assert!(printed.losses.is_empty());
        assert_eq!(parse_graph(&printed.text).expect("and reads again"), graph);
        let model = typeloom_onnx::messages::ModelProto { graph: Some(graph), ..Default::default() };
        let bytes = prost::Message::encode_to_vec(&model);
        let read = typeloom_onnx::messages::read::<typeloom_onnx::messages::ModelProto>(bytes.into());
        assert_eq!(read.expect("its bytes read too"), model);
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("no overflow");
}

#[test]
fn a_message_deeper_than_the_limit_is_printed_up_to_the_limit() {
    let mut ty = TypeProto::default();
    for _ in 0..1000 {
        let elem_type = Some(Box::new(ty));
        ty = TypeProto {
            value: Some(Value::SequenceType(Sequence { elem_type, ..Default::default() })),
            ..Default::default()
        };
    }
    let text = print_type(&ty);
    assert_eq!(
        text.matches("seq(").count(),
        usize::try_from(MAX_NESTING).unwrap() + 1,
        "one, and as many levels in it"
    );
    assert!(parse_type(&text).is_ok());

    let mut graph = GraphProto::default();
    for _ in 0..200 {
        let attribute =
            vec![AttributeProto { g: Some(Box::new(graph)), r#type: Some(5), ..Default::default() }];
        graph =
            GraphProto { node: vec![NodeProto { attribute, ..Default::default() }], ..Default::default() };
    }
    let printed = print_graph(&graph, &PrintOptions::round_trip());
    assert!(printed.losses.contains(&Loss::TooDeep));
    assert!(parse_graph(&printed.text).is_ok());
}

#[test]
fn time_and_memory_are_linear_in_the_text() {
    // Sizes for which a quadratic parser would take minutes.
    let nodes = format!("g () => () {{{}}}", "y = Add(x, y)\n".repeat(50_000));
    assert_eq!(parse_graph(&nodes).unwrap().node.len(), 50_000);
    let unclosed = format!("y = Op({}", "x,".repeat(200_000));
    assert!(parse_node(&unclosed).is_err());
    assert!(read_all(&"\"".repeat(100_001)) == 0);
    assert!(read_all(&"# comment\n".repeat(100_000)) == 0);
}
