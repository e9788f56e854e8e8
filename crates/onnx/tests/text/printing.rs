//! Printed texts and their spans.

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use typeloom_onnx::messages::{GraphProto, TensorProto};
use typeloom_onnx::text::span::{GraphSpans, SubgraphStep};
use typeloom_onnx::text::{
    Focus, Loss, PrintLimits, PrintOptions, Printed, Subgraphs, Syntax, parse_function, parse_graph,
    parse_model, parse_node, parse_type, print_function, print_graph, print_model, print_node,
};
use typeloom_types::dtype::Dtype;

use crate::normal::{self, Raw};
use crate::random::{Gen, Kind, runner};

/// Prints a node for display.
fn display(text: &str) -> String {
    print_node(&parse_node(text).unwrap(), &PrintOptions::display()).text
}

#[test]
fn a_model_prints_one_node_per_line() {
    let text = r#"<
   ir_version: 10,
   opset_import: ["": 21, "d": 1],
   producer_name: "p",
   metadata_props: ["k": "v"]
>
main (float[N, 128] x, bool c) => (float[N, 128] y) <
   float[2] w = {1.0, -0.5},
   string[1] "odd name" = {"a \"b\""},
   float[1] ext = ["location": "w.bin"],
   float[N, 128] h
> {
   [first] h = Softmax <axis = -1, mode = "fast", scales: floats = []> (x)
   [second] y = d.If(c) <then_branch = t () => (a) {
      a = Add(h, w)
   }, else_branch = e () => (b) {
      b = Identity(h)
   }>
}
<
   domain: "d",
   opset_import: ["": 21]
>
f <beta, alpha = 1.0> (float[N] x, z) => (y) <
   float[N] t
> {
   t = Scale <by: float = @alpha> (x)
   y = Add(t, z)
}"#;
    let model = parse_model(text).unwrap();
    let printed = print_model(&model, &PrintOptions::round_trip());
    assert_eq!(printed.text, text);
    assert!(printed.losses.is_empty());
}

#[test]
fn a_displayed_node_is_one_short_line() {
    for (text, expected) in [
        ("[\"/attn/Add_3\"] scores = Add(x, mask)", "scores = Add(x, mask)"),
        ("\"/attn/out\" = Add(\"/attn/in\", \"a b\")", "/attn/out = Add(/attn/in, \"a b\")"),
        ("y = Clip(x, \"\", hi)", "y = Clip(x, \"\", hi)"),
        ("y = ai.onnx.ml.Scaler <offset = [1.0]> (x)", "y = ai.onnx.ml.Scaler <offset = [1.0]> (x)"),
        (
            "y = If(c) <then_branch = t () => () {}, else_branch = e () => () {}>",
            "y = If(c) <then_branch = {...}, else_branch = {...}>",
        ),
        ("y = Op <a = \"two\nlines\"> ()", "y = Op <a = \"two\\nlines\"> ()"),
        ("y = Op <a = [1,2,3,4,5,6,7,8,9,10]> ()", "y = Op <a = [1, 2, 3, 4, 5, 6, 7, … 2 more, 10]> ()"),
        (
            "y = Constant <value = float[6] {1,2,3,4,5,6}> ()",
            "y = Constant <value = float[6] = {1.0, 2.0, 3.0, … 2 more, 6.0}> ()",
        ),
        ("y = Op() @{doc_string: \"d\"}", "y = Op()"),
        ("y = Op <t: type_proto = float[batch*seq]> ()", "y = Op <t = float[batch*seq]> ()"),
    ] {
        assert_eq!(display(text), expected);
    }
}

#[test]
fn everything_in_a_displayed_node_is_bounded() {
    let long = "n".repeat(10_000);
    let dims = vec!["7"; 10_000].join(", ");
    for text in [
        format!("y = {long}.{long}:{long}(x)"),
        format!("y = \"{long} \"(x)"),
        format!("y = Op <{long} = @{long}> (x)"),
        format!("y = Op <t = float[{long}, \"{long} \", {long}*2]@\"{long}\"> (x)"),
        format!("y = Op <t = float[{dims}]> (x)"),
        format!("y = Op <t = float[{dims}] = {{}}, u = float[1] = [\"{long}\": \"{long}\"]> (x)"),
        format!("y = Op <t = opaque({long}, {long}), s = hex\"{}\"> (x)", "ff".repeat(10_000)),
    ] {
        let shown = display(&text);
        assert!(shown.len() < 400, "{shown}");
    }
}

#[test]
fn a_long_name_keeps_both_ends() {
    let name = format!("/model{}/Add_output_0", "/layer".repeat(30));
    let text = display(&format!("y = Relu(\"{name}\")"));
    assert!(text.starts_with("y = Relu(/model/layer/"), "{text}");
    assert!(text.ends_with("/Add_output_0)") && text.contains('…'), "{text}");
    assert!(text.chars().count() < 80, "{text}");
}

#[test]
fn focused_ports_are_printed_regardless_of_the_limit() {
    let inputs: Vec<String> = (0..100).map(|i| format!("x{i}")).collect();
    let node = parse_node(&format!("y = Concat({})", inputs.join(", "))).unwrap();
    let limits = PrintLimits { ports: 3, ..PrintLimits::LINE };
    let focus = Focus { inputs: vec![50, 1000], ..Focus::default() };
    let Printed { text, spans, losses } =
        print_node(&node, &PrintOptions { limits, focus, ..PrintOptions::display() });
    assert_eq!(text, "y = Concat(x0, x1, … 48 more, x50, … 48 more, x99)");
    assert_eq!(spans.inputs.len(), 100);
    let input = |index| spans.input(index).map(|span| span.of(&text));
    assert_eq!([input(1), input(50), input(99)], [Some("x1"), Some("x50"), Some("x99")]);
    assert_eq!([input(2), input(49)], [Some("… 48 more"); 2]);
    assert_eq!(input(51), Some("… 48 more"));
    assert!(spans.input(2) < spans.input(51));
    assert_eq!(spans.input(100), None);
    assert!(losses.contains(&Loss::Elided));
}

#[test]
fn spans_find_every_part_of_a_node() {
    let text = "[n] a, \"\" = d.Gemm:v2 <alpha = 0.5, \"my pads\" = [1, 2]> (x, \"\", \"a b\")";
    let Printed { text: printed, spans, .. } =
        print_node(&parse_node(text).unwrap(), &PrintOptions::round_trip());
    assert_eq!(printed, text);
    assert_eq!(spans.span.of(text), text);
    assert_eq!(spans.name.map(|span| span.of(text)), Some("n"));
    assert_eq!(spans.operator.of(text), "d.Gemm:v2");
    assert_eq!(spans.outputs.iter().map(|span| span.of(text)).collect::<Vec<_>>(), ["a", "\"\""]);
    assert_eq!(spans.inputs.iter().map(|span| span.of(text)).collect::<Vec<_>>(), ["x", "\"\"", "\"a b\""]);
    let pads = spans.attribute("my pads").unwrap();
    assert_eq!(
        (pads.span.of(text), pads.name.of(text), pads.value.of(text)),
        ("\"my pads\" = [1, 2]", "\"my pads\"", "[1, 2]")
    );
    assert_eq!(spans.attribute("beta"), None);
}

#[test]
fn spans_find_declarations_and_nodes_inside_subgraphs() {
    let model = parse_model(
        "<opset_import: [\"\": 21]> m (float[N] x) => (int64 y) <float[2] w = {1, 2}, bool t> {
           y = Loop(x) <body = b (int64 i) => () { z = If(t) <then_branch = c () => () { q = Relu(w) }> }>
         } f (float[N] p, q) => (r) { r = Neg(p) }",
    )
    .unwrap();
    let Printed { text, spans, .. } = print_model(&model, &PrintOptions::round_trip());
    let graph = &spans.graph;
    assert_eq!(spans.opset_imports[0].of(&text), "\"\": 21");
    assert_eq!((graph.name.of(&text), graph.inputs[0].span.of(&text)), ("m", "float[N] x"));
    assert_eq!(graph.inputs[0].ty.map(|span| span.of(&text)), Some("float[N]"));
    assert_eq!(graph.outputs[0].name.of(&text), "y");
    assert_eq!(graph.initializers[0].span.of(&text), "float[2] w = {1.0, 2.0}");
    assert_eq!(graph.value_infos[0].span.of(&text), "bool t");
    let step = SubgraphStep { node: 0, attribute: 0, graph: 0 };
    let inner = graph.subgraph(&[step, step]).unwrap();
    assert_eq!(inner.node(0).map(|node| node.span.of(&text)), Some("q = Relu(w)"));
    assert_eq!(graph.subgraph(&[step, step, step]), None);
    let function = &spans.functions[0];
    assert_eq!((function.name.of(&text), function.inputs[1].of(&text)), ("f", "q"));
    assert_eq!(function.value_infos[0].span.of(&text), "float[N] p");
    assert_eq!(function.nodes[0].operator.of(&text), "Neg");
    assert!(function.span.of(&text).starts_with("f (") && function.span.of(&text).ends_with('}'));
}

/// Checks that the texts at the spans of a graph parse to the parts of the graph.
fn check_spans(text: &str, graph: &GraphProto, spans: &GraphSpans) {
    assert_eq!(spans.nodes.len(), graph.node.len());
    let declared = |values: &[_], found: &[typeloom_onnx::text::span::ValueSpans]| {
        assert_eq!(values.len(), found.len());
        for (value, spans) in std::iter::zip(values, found) {
            let value: &typeloom_onnx::messages::ValueInfoProto = value;
            assert_eq!(value.r#type.is_some(), spans.ty.is_some());
            if let (Some(ty), Some(span)) = (&value.r#type, spans.ty) {
                let (mut read, mut ty) = (parse_type(span.of(text)).unwrap(), ty.clone());
                normal::ty(&mut read);
                normal::ty(&mut ty);
                assert_eq!(read, ty);
            }
        }
    };
    declared(&graph.input, &spans.inputs);
    declared(&graph.output, &spans.outputs);
    declared(&graph.value_info, &spans.value_infos);
    assert_eq!(graph.initializer.len(), spans.initializers.len());
    assert_eq!(graph.sparse_initializer.len(), spans.sparse_initializers.len());
    for (node, spans) in std::iter::zip(&graph.node, &spans.nodes) {
        let (mut read, mut node) = (parse_node(spans.span.of(text)).unwrap(), node.clone());
        for (names, found) in [(&node.input, &spans.inputs), (&node.output, &spans.outputs)] {
            assert_eq!(names.len(), found.len());
            for (name, span) in std::iter::zip(names, found) {
                let port = parse_node(&format!("= Op({})", span.of(text))).unwrap().input;
                assert_eq!(port, std::slice::from_ref(name));
            }
        }
        assert_eq!(node.attribute.len(), spans.attributes.len());
        for (attribute, spans) in std::iter::zip(&node.attribute, &spans.attributes) {
            assert_eq!(&*spans.key, attribute.name());
            assert!(spans.span.of(text).starts_with(spans.name.of(text)));
            assert!(spans.span.of(text).ends_with(spans.value.of(text)));
            for (graph, spans) in
                std::iter::zip(attribute.g.as_deref().into_iter().chain(&attribute.graphs), &spans.graphs)
            {
                check_spans(text, graph, spans);
            }
        }
        normal::node(&mut read, Raw::Decoded);
        normal::node(&mut node, Raw::Decoded);
        assert_eq!(read.encode_to_vec(), node.encode_to_vec());
    }
}

#[test]
fn forall_models_the_text_at_a_span_parses_to_the_element_of_the_span() {
    runner(150)
        .run(&vec(any::<u8>(), 0..1000), |bytes| {
            let model = Gen::new(&bytes, Kind::Expressible).model();
            let Printed { text, spans, .. } = print_model(&model, &PrintOptions::round_trip());
            check_spans(&text, model.graph.as_ref().unwrap(), &spans.graph);
            for (function, spans) in std::iter::zip(&model.functions, &spans.functions) {
                prop_assert_eq!(function.value_info.len(), spans.value_infos.len());
                let read = parse_function(spans.span.of(&text)).unwrap();
                prop_assert_eq!(read.name(), function.name());
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn forall_nodes_the_displayed_text_is_one_line_of_bounded_length() {
    runner(400)
        .run(&vec(any::<u8>(), 0..1500), |bytes| {
            let node = Gen::new(&bytes, Kind::Wild).node();
            let Printed { text, spans, .. } = print_node(&node, &PrintOptions::display());
            prop_assert!(!text.contains(['\n', '\r', '\t']), "{}", text);
            prop_assert!(text.len() < 8000);
            prop_assert_eq!(spans.inputs.len(), node.input.len());
            prop_assert_eq!(spans.outputs.len(), node.output.len());
            prop_assert_eq!(spans.attributes.len(), node.attribute.len());
            for span in spans.inputs.iter().chain(&spans.outputs).chain([&spans.operator, &spans.span]) {
                prop_assert!(text.get(span.range()).is_some());
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn eliding_a_large_constant_does_not_walk_it() {
    let tensor = TensorProto {
        dims: vec![1 << 28],
        data_type: Some(Dtype::U8.onnx_number()),
        raw_data: Some(vec![0; 1 << 28].into()),
        name: "w".into(),
        ..TensorProto::default()
    };
    let graph = GraphProto { initializer: vec![tensor], ..GraphProto::default() };
    let printed = print_graph(&graph, &PrintOptions::display());
    assert!(printed.text.contains("uint8[268435456] w = {0, 0, 0, … 268435452 more, 0}"), "{}", printed.text);
}

#[test]
fn subgraphs_are_printed_on_demand() {
    let node = parse_node("y = If(c) <then_branch = t () => (a) { a = Relu(\"/x\") }>").unwrap();
    let options = PrintOptions { subgraphs: Subgraphs::Inline, ..PrintOptions::display() };
    assert_eq!(
        print_node(&node, &options).text,
        "y = If(c) <then_branch = t () => (a) {\n   a = Relu(/x)\n}>"
    );
}

#[test]
fn inexpressible_parts_are_reported_as_losses() {
    let losses = |graph: &GraphProto| {
        print_graph(graph, &PrintOptions::round_trip()).losses.into_iter().collect::<Vec<_>>()
    };
    let initializer = |tensor| GraphProto { initializer: vec![tensor], ..GraphProto::default() };
    assert_eq!(losses(&GraphProto::default()), []);
    assert_eq!(
        losses(&initializer(TensorProto { data_type: Some(99), ..Default::default() })),
        [Loss::ElementType(99)]
    );
    let stray = TensorProto { data_type: Some(1), int64_data: vec![1], ..Default::default() };
    assert_eq!(losses(&initializer(stray)), [Loss::StrayTensorData]);
    let nan = TensorProto {
        data_type: Some(1),
        float_data: vec![f32::from_bits(0x7fc0_0001)],
        ..Default::default()
    };
    assert_eq!(losses(&initializer(nan)), [Loss::NanPayload]);
    let segment = TensorProto { data_type: Some(1), segment: Some(Default::default()), ..Default::default() };
    assert_eq!(losses(&initializer(segment)), [Loss::TensorSegment]);
}

#[test]
fn raw_data_with_a_partial_element_is_printed_as_bytes() {
    let raw = |bytes: &'static [u8]| {
        let tensor = TensorProto {
            data_type: Some(1),
            dims: vec![1],
            raw_data: Some(bytes.into()),
            ..Default::default()
        };
        let graph = GraphProto { initializer: vec![tensor], ..GraphProto::default() };
        print_graph(&graph, &PrintOptions::round_trip()).text
    };
    assert!(raw(&[0, 0, 0x80, 0x3f]).contains("= {1.0}"));
    assert!(raw(&[0, 0, 0x80]).contains("= hex\"000080\""));
}

#[test]
fn a_function_prints_types_in_the_positions_of_the_parser() {
    for text in [
        "f (float x, y) => (int64 z) {}",
        "f (x, float y) => (z) <\n   float x,\n   int64 z\n> {}",
        "f (x) => (z) <\n   float q\n> {}",
    ] {
        let function = parse_function(text).unwrap();
        assert_eq!(print_function(&function, &PrintOptions::round_trip()).text, text);
    }
}

#[test]
fn readable_types_in_a_graph_keep_their_expressions_bare() {
    let graph = parse_graph("g (float[\"batch*seq\", \"a  b\"] x) => () {}").unwrap();
    let exact = print_graph(&graph, &PrintOptions::round_trip()).text;
    assert_eq!(exact, "g (float[\"batch*seq\", \"a  b\"] x) => () {}");
    let readable = PrintOptions { syntax: Syntax::Readable, ..PrintOptions::round_trip() };
    assert_eq!(print_graph(&graph, &readable).text, "g (float[batch*seq, \"a  b\"] x) => () {}");
}
