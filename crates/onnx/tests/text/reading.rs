//! Parsing of the extensions of ONNX's grammar.

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::type_proto::Value;
use typeloom_onnx::messages::{AttributeProto, TypeProto};
use typeloom_onnx::text::{
    parse_function, parse_graph, parse_node, parse_type, parse_value_info, print_type,
};

fn attribute(text: &str) -> AttributeProto {
    let node = parse_node(&format!("y = Op <{text}> ()")).unwrap_or_else(|error| panic!("{text}: {error}"));
    node.attribute.into_iter().next().expect("the node has an attribute")
}

/// The dim of a tensor type of rank 1.
fn dim(text: &str) -> dimension::Value {
    let ty = parse_type(&format!("float[{text}]")).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Some(Value::TensorType(tensor)) = ty.value else { panic!("{text}") };
    let [dim] = &tensor.shape.expect("the rank is known").dim[..] else { panic!("{text}") };
    dim.value.clone().expect("the dim is known")
}

#[test]
fn an_expression_in_a_dim_is_stored_with_one_spelling() {
    for (text, stored) in [
        ("batch*seq", "batch*seq"),
        ("batch * seq", "batch*seq"),
        ("seq + 1", "seq + 1"),
        ("seq+1", "seq + 1"),
        ("seq-1", "seq - 1"),
        ("4*batch", "4*batch"),
        ("a // b", "a//b"),
        ("a / b % 3 ** 2", "a/b%3**2"),
        ("-n", "-n"),
        ("- -n", "--n"),
        ("-1 + n", "-1 + n"),
        ("2*-n", "2*-n"),
        ("( h+2 * pad )//stride", "(h + 2*pad)//stride"),
        ("max(a , b+1)", "max(a, b + 1)"),
        ("007*n", "7*n"),
    ] {
        assert_eq!(dim(text), dimension::Value::DimParam(stored.into()), "{text}");
        assert_eq!(dim(stored), dimension::Value::DimParam(stored.into()), "{stored}");
    }
}

#[test]
fn a_quoted_dim_is_stored_unchanged() {
    assert_eq!(dim("\"a  +b\""), dimension::Value::DimParam("a  +b".into()));
    assert_eq!(dim("\"7\""), dimension::Value::DimParam("7".into()));
    assert_eq!(dim("-7"), dimension::Value::DimValue(-7));
    assert_eq!(dim("- 7"), dimension::Value::DimValue(-7));
}

#[test]
fn a_type_prints_as_it_is_written() {
    for text in [
        "float[batch, 3, 224, 224]",
        "float[batch*seq, seq + 1, (h + 2*pad)//stride]",
        "float[\"a  +b\", \"7\", ?]",
        "float",
        "float[...]",
        "seq(map(int64, float[N]))",
        "optional(sparse_tensor(double[2]))",
        "opaque(a.b, c)",
        "?",
        "?@\"bb.peer_id\"",
        "undefined[2]",
        "float[N@\"DATA_BATCH\"]@\"ai.bytesandbrains.tensor.f32\"",
        "seq()",
        "map(int64)",
        "opaque(\"odd name\")",
    ] {
        assert_eq!(print_type(&parse_type(text).unwrap_or_else(|error| panic!("{text}: {error}"))), text);
    }
}

#[test]
fn unknown_types_are_parsed_in_type_positions() {
    assert_eq!(parse_type("?").unwrap(), TypeProto::default());
    let value = parse_value_info("?@\"bb.trigger\" go").unwrap();
    assert_eq!((value.name(), value.r#type.as_ref().unwrap().denotation()), ("go", "bb.trigger"));
    let graph = parse_graph("g (undefined[2] x, undefined, undefined y) => () {}").unwrap();
    let typed: Vec<_> = graph.input.iter().map(|value| (value.name(), value.r#type.is_some())).collect();
    assert_eq!(typed, [("x", true), ("undefined", false), ("y", true)]);
}

#[test]
fn annotations_contain_documentation_and_metadata() {
    let graph = parse_graph(
        r#"g @{doc_string: "graph", metadata_props: ["a": "b"], quantization_annotation: ["x": ["SCALE_TENSOR": "s"]]}
           (float x @{doc_string: "input"}) => () <float w @{metadata_props: ["c": "d"]} = {1.0}> {
             [n] y = Op <a @{doc_string: "attribute"} = 1> (x) @{metadata_props: ["pkg.stack_trace": "model.py:7"], doc_string: "node"}
             z = Op(x)
           }"#,
    )
    .unwrap();
    assert_eq!((graph.doc_string(), graph.metadata_props.len()), ("graph", 1));
    assert_eq!(graph.quantization_annotation[0].quant_parameter_tensor_names[0].value(), "s");
    assert_eq!(graph.input[0].doc_string(), "input");
    assert_eq!(graph.initializer[0].metadata_props[0].key(), "c");
    assert_eq!(graph.initializer[0].float_data, [1.0]);
    let node = &graph.node[0];
    assert_eq!((node.doc_string(), node.metadata_props[0].value()), ("node", "model.py:7"));
    assert_eq!(node.attribute[0].doc_string(), "attribute");
    assert_eq!(graph.node.len(), 2);
    let function = parse_function("<metadata_props: [\"a\": \"b\"]> f (x) => () {}").unwrap();
    assert_eq!(function.metadata_props[0].key(), "a");
}

#[test]
fn names_are_quoted_in_every_position() {
    let node = parse_node("y = \"my.odd-domain\".\"aten::add\":\"v 1\" <\"an attribute\" = 1> (x)").unwrap();
    assert_eq!((node.domain(), node.op_type(), node.overload()), ("my.odd-domain", "aten::add", "v 1"));
    assert_eq!(node.attribute[0].name(), "an attribute");
    for text in ["a = \"my graph\" () => () {}", "a = \"my graph\" => () {}"] {
        assert_eq!(attribute(text).g.expect("a graph").name(), "my graph", "{text}");
    }
    assert_eq!(attribute("a = \"my graph\"").r#type(), AttributeType::String);
}

#[test]
fn bytes_that_are_not_text_are_written_in_hex() {
    assert_eq!(attribute("a = hex\"00fF\"").s(), [0, 255]);
    assert_eq!(attribute("a = [hex\"80\", \"b\"]").strings, [&b"\x80"[..], b"b"]);
    let tensor = attribute("a = float[1] = hex\"0000803f\"").t.expect("a tensor");
    assert_eq!((tensor.raw_data(), tensor.name()), (&[0, 0, 0x80, 0x3f][..], ""));
    assert_eq!(attribute("a = float[1] hex = {1}").t.expect("a tensor").name(), "hex");
}

#[test]
fn lists_contain_constants_graphs_and_types() {
    assert_eq!(attribute("a = [float[1] {1}, int64 {2}]").tensors.len(), 2);
    assert_eq!(attribute("a = [g () => () {}, \"h\" () => () {}]").graphs.len(), 2);
    let types = attribute("a = [float, seq(int64)]");
    assert_eq!((types.type_protos.len(), types.r#type()), (2, AttributeType::TypeProtos));
}

#[test]
fn integers_among_floats_are_floats() {
    let mixed = attribute("a = [1, 2.5, 3]");
    assert_eq!(
        (&mixed.floats[..], mixed.ints.len(), mixed.r#type()),
        (&[1.0, 2.5, 3.0][..], 0, AttributeType::Floats)
    );
}

#[test]
fn a_sparse_constant_is_values_and_indices() {
    let sparse = attribute("a = sparse_tensor(float[9]) s = (float[2] {1, 2}, int64[2] {0, 8})")
        .sparse_tensor
        .expect("sparse");
    assert_eq!(sparse.dims, [9]);
    let (values, indices) = (sparse.values.expect("values"), sparse.indices.expect("indices"));
    assert_eq!(
        (values.name(), &values.float_data[..], &indices.int64_data[..]),
        ("s", &[1.0, 2.0][..], &[0, 8][..])
    );
    let graph = parse_graph(
        "g () => () <sparse_tensor(float[9]) w = (float[1] {1}, int64[1] {3}), sparse_tensor(float[9]) v> {}",
    );
    let graph = graph.unwrap();
    assert_eq!(graph.sparse_initializer[0].values.as_ref().expect("values").name(), "w");
    assert_eq!(graph.value_info[0].name(), "v");
}
