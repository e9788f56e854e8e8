//! Recorded results of ONNX's parser (onnx 1.23.2) for short texts, compared with ours.

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::type_proto::Value;
use typeloom_onnx::messages::{AttributeProto, TensorProto, TypeProto, ValueInfoProto};
use typeloom_onnx::text::{parse_function, parse_graph, parse_model, parse_node, parse_type};
use typeloom_types::dtype::Dtype;

/// The attributes of `y = Op <...> ()`.
fn attributes(text: &str) -> Vec<AttributeProto> {
    parse_node(&format!("y = Op <{text}> ()")).unwrap_or_else(|error| panic!("{text}: {error}")).attribute
}

fn attribute(text: &str) -> AttributeProto {
    let mut attributes = attributes(text);
    assert_eq!(attributes.len(), 1, "{text}");
    attributes.remove(0)
}

fn tensor(text: &str) -> TensorProto {
    let attribute = attribute(&format!("a = {text}"));
    assert_eq!(attribute.r#type(), AttributeType::Tensor, "{text}");
    *attribute.t.expect("a tensor attribute has a tensor")
}

/// Element type and dims of a tensor type; `None` for an unknown rank.
fn shape(ty: &TypeProto) -> (Dtype, Option<Vec<Option<dimension::Value>>>) {
    let Some(Value::TensorType(tensor)) = &ty.value else { panic!("{ty:?}") };
    let dims = tensor.shape.as_ref().map(|shape| shape.dim.iter().map(|dim| dim.value.clone()).collect());
    (Dtype::from_onnx_number(tensor.elem_type.unwrap_or_default()).unwrap(), dims)
}

fn number(value: i64) -> Option<dimension::Value> {
    Some(dimension::Value::DimValue(value))
}

fn symbol(name: &str) -> Option<dimension::Value> {
    Some(dimension::Value::DimParam(name.into()))
}

#[test]
fn a_bare_element_type_is_a_scalar_and_empty_brackets_are_an_unknown_rank() {
    assert_eq!(shape(&parse_type("float").unwrap()), (Dtype::F32, Some(vec![])));
    assert_eq!(shape(&parse_type("float[]").unwrap()), (Dtype::F32, None));
}

#[test]
fn a_dim_is_a_number_a_name_a_string_or_unknown() {
    let (element, dims) = shape(&parse_type("int64[-1, ?, \"a+b\", n, float]").unwrap());
    assert_eq!(element, Dtype::I64);
    assert_eq!(dims, Some(vec![number(-1), None, symbol("a+b"), symbol("n"), symbol("float")]));
}

#[test]
fn containers_nest() {
    let ty = parse_type("optional(seq(map(string, float[N])))").unwrap();
    let Some(Value::OptionalType(optional)) = ty.value else { panic!() };
    let Some(Value::SequenceType(sequence)) = optional.elem_type.unwrap().value else { panic!() };
    let Some(Value::MapType(map)) = sequence.elem_type.unwrap().value else { panic!() };
    assert_eq!(map.key_type, Some(Dtype::String.onnx_number()));
    assert_eq!(shape(&map.value_type.unwrap()), (Dtype::F32, Some(vec![symbol("N")])));
    let Some(Value::SparseTensorType(sparse)) = parse_type("sparse_tensor(double[2])").unwrap().value else {
        panic!()
    };
    assert_eq!((sparse.elem_type, sparse.shape.unwrap().dim.len()), (Some(Dtype::F64.onnx_number()), 1));
}

#[test]
fn one_dotted_name_of_an_opaque_type_is_its_name_and_two_are_domain_and_name() {
    let opaque = |text| match parse_type(text).unwrap().value {
        Some(Value::OpaqueType(opaque)) => (opaque.domain().to_owned(), opaque.name().to_owned()),
        _ => panic!("{text}"),
    };
    assert_eq!(opaque("opaque()"), (String::new(), String::new()));
    assert_eq!(opaque("opaque(a.b.c)"), (String::new(), "a.b.c".into()));
    assert_eq!(opaque("opaque(a.b, c)"), ("a.b".into(), "c".into()));
}

#[test]
fn an_omitted_port_is_empty_and_a_trailing_comma_adds_none() {
    let inputs = |text: &str| parse_node(&format!("y = Op({text})")).unwrap().input;
    for (text, expected) in [
        ("", &[][..]),
        (",", &[""]),
        ("a,", &["a"]),
        (",a", &["", "a"]),
        (",,b", &["", "", "b"]),
        ("\"\", b", &["", "b"]),
        ("\"é x\"", &["é x"]),
        ("float, seq", &["float", "seq"]),
    ] {
        assert_eq!(inputs(text), expected, "({text})");
    }
    assert_eq!(parse_node("= Print(x)").unwrap().output.len(), 0);
    assert_eq!(parse_node("a,, b = Op()").unwrap().output, ["a", "", "b"]);
}

#[test]
fn all_parts_of_a_dotted_operator_but_the_last_are_its_domain() {
    let node = parse_node("y = a.b.Op:v2 <z = 1> (x)").unwrap();
    assert_eq!((node.domain(), node.op_type(), node.overload()), ("a.b", "Op", "v2"));
    assert_eq!(parse_node("y = Op(x)").unwrap().domain(), "");
}

#[test]
fn attributes_precede_or_follow_the_inputs() {
    for text in ["y = Op <a = 1> (x)", "y = Op(x) <a = 1>"] {
        assert_eq!(parse_node(text).unwrap().attribute[0].i, Some(1), "{text}");
    }
}

#[test]
fn a_label_names_the_node() {
    for (text, name) in [("[n]", Some("n")), ("[\"a b\"]", Some("a b")), ("[]", Some("")), ("", None)] {
        assert_eq!(parse_node(&format!("{text} y = Op(x)")).unwrap().name.as_deref(), name, "{text}");
    }
}

#[test]
fn the_type_of_an_attribute_is_that_of_its_value_or_the_declared_one() {
    for (text, ty) in [
        ("a = 1", AttributeType::Int),
        ("a = -1", AttributeType::Int),
        ("a = 1.", AttributeType::Float),
        ("a = 1e5", AttributeType::Float),
        ("a: float = 1", AttributeType::Float),
        ("a = -inf", AttributeType::Float),
        ("a = NaN", AttributeType::Float),
        ("a = Infinity", AttributeType::Float),
        ("a = \"s\"", AttributeType::String),
        ("a = float[2] {1, 2}", AttributeType::Tensor),
        ("a = float[2] t", AttributeType::Tensor),
        ("a = float", AttributeType::TypeProto),
        ("a = float[]", AttributeType::TypeProto),
        ("a = sparse_tensor(float[2])", AttributeType::TypeProto),
        ("a = g () => () {}", AttributeType::Graph),
        ("a = [1, 2]", AttributeType::Ints),
        ("a = [1.5, 2]", AttributeType::Floats),
        ("a: floats = [1, 2]", AttributeType::Floats),
        ("a: float = [1, 2]", AttributeType::Floats),
        ("a = [\"s\"]", AttributeType::Strings),
        ("a: ints = []", AttributeType::Ints),
        ("a: ints = @b", AttributeType::Ints),
        ("a = @b", AttributeType::Undefined),
    ] {
        assert_eq!(attribute(text).r#type(), ty, "{text}");
    }
}

#[test]
fn values_of_attributes_are_stored() {
    assert_eq!(attribute("a = -9223372036854775808").i, Some(i64::MIN));
    assert_eq!(attribute("a = 1e-45").f, Some(f32::from_bits(1)));
    assert_eq!(attribute("a: float = -0").f.map(f32::to_bits), Some((-0.0f32).to_bits()));
    assert_eq!(attribute("a = [1.5, 2]").floats, [1.5, 2.0]);
    assert_eq!(attribute("a = \"x\\n\\\"\\\\y\"").s(), b"xn\"\\y");
    assert_eq!(attribute("a = @\"b c\"").ref_attr_name(), "b c");
    assert_eq!(attribute("a = @b").name(), "a");
    assert_eq!(attributes("a = 1, a = 2").len(), 2);
}

#[test]
fn elements_go_into_the_field_of_their_type() {
    assert_eq!(tensor("float[2] {1, -inf}").float_data, [1.0, f32::NEG_INFINITY]);
    assert_eq!(tensor("double {1e300}").double_data, [1e300]);
    assert_eq!(tensor("int64[1] {-7}").int64_data, [-7]);
    assert_eq!(tensor("uint32[1] {4294967295}").uint64_data, [u64::from(u32::MAX)]);
    assert_eq!(tensor("uint64[1] {18446744073709551615}").uint64_data, [u64::MAX]);
    assert_eq!(tensor("string[2] {\"a\", \"\"}").string_data, ["a", ""]);
    assert_eq!(tensor("complex64[1] {1, 2}").float_data, [1.0, 2.0]);
    for small in ["bool", "uint8", "int4", "float16", "bfloat16", "float8e4m3fn", "float4e2m1", "float6e2m3"]
    {
        assert_eq!(tensor(&format!("{small}[1] {{300}}")).int32_data, [300], "{small}");
    }
}

#[test]
fn a_constant_has_a_type_an_optional_name_and_optional_data() {
    for (text, name, count) in [
        ("float[2] {1, 2}", "", 2),
        ("float[2] = {1, 2}", "", 2),
        ("float[2] t {1, 2}", "t", 2),
        ("float[2] t = {1, 2}", "t", 2),
        ("float[2] t", "t", 0),
        ("float[2] {}", "", 0),
    ] {
        let tensor = tensor(text);
        assert_eq!(
            (tensor.name(), tensor.float_data.len(), &tensor.dims[..]),
            (name, count, &[2][..]),
            "{text}"
        );
    }
    assert_eq!(tensor("float {1}").dims, []);
}

#[test]
fn pairs_of_strings_are_data_in_another_file() {
    let tensor = tensor("float[2] = [\"location\": \"w.bin\", \"offset\": \"64\"]");
    assert_eq!(tensor.data_location(), DataLocation::External);
    let pairs: Vec<_> = tensor.external_data.iter().map(|pair| (pair.key(), pair.value())).collect();
    assert_eq!(pairs, [("location", "w.bin"), ("offset", "64")]);
}

#[test]
fn a_graph_has_typed_or_untyped_inputs_and_may_have_none() {
    let graph = parse_graph("g (x, float[] y, float z) => (y) {}").unwrap();
    assert_eq!(graph.input.iter().map(ValueInfoProto::name).collect::<Vec<_>>(), ["x", "y", "z"]);
    assert_eq!(graph.input[0].r#type, None);
    assert_eq!(shape(graph.input[2].r#type.as_ref().unwrap()).1, Some(vec![]));
    assert!(parse_graph("g => () {}").unwrap().input.is_empty());
    assert_eq!(parse_graph("\"g h\" () => () <> {}").unwrap().name(), "g h");
}

#[test]
fn initializers_are_defaults_of_inputs_or_entries_of_the_header() {
    let graph =
        parse_graph("g (float[1] x = {1}) => () <float[2] w = {1, 2}, float y, z, string s = {\"a\"}> {}")
            .unwrap();
    let names: Vec<_> = graph.initializer.iter().map(TensorProto::name).collect();
    assert_eq!(names, ["x", "w", "s"]);
    assert_eq!(graph.input[0].name(), "x");
    assert_eq!(graph.value_info.iter().map(ValueInfoProto::name).collect::<Vec<_>>(), ["y", "z"]);
}

#[test]
fn graphs_inside_nodes_are_parsed() {
    let text = "y = If (c) <then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) <int64 k = {3}> { b = Abs(k) }>";
    let node = parse_node(text).unwrap();
    let graphs: Vec<_> = node.attribute.iter().map(|attribute| attribute.g.as_ref().unwrap()).collect();
    assert_eq!((graphs[0].name(), graphs[0].node[0].op_type()), ("t", "Relu"));
    assert_eq!(graphs[1].initializer[0].int64_data, [3]);
}

#[test]
fn a_model_has_a_header_a_graph_and_functions() {
    let model = parse_model(
        r#"# a comment before everything
        <
          ir_version: 10, opset_import: ["": 21, "my.domain" : 1],
          producer_name: "p", producer_version: "1", domain: "d", model_version: 3,
          doc_string: "two
lines", metadata_props: ["k": "v", "k2": "v2"]
        >
        main (float[N] x) => (float[N] y) { y = my.domain.f <alpha = 2.0> (x) # comment
        }
        <domain: "my.domain", opset_import: ["": 21], doc_string: "f", overload: "o">
        f <beta, alpha: float = 1.0, gamma = 2> (x, float[N] z) => (int64 y) <float[2] t> { y = Add(x, z) }
        g (x) => (y) { y = Neg(x) }"#,
    )
    .unwrap();
    assert_eq!((model.ir_version(), model.model_version(), model.doc_string()), (10, 3, "two\nlines"));
    assert_eq!((model.producer_name(), model.producer_version(), model.domain()), ("p", "1", "d"));
    let imports: Vec<_> =
        model.opset_import.iter().map(|import| (import.domain(), import.version())).collect();
    assert_eq!(imports, [("", 21), ("my.domain", 1)]);
    assert_eq!(model.metadata_props.len(), 2);
    assert_eq!(model.graph.unwrap().node[0].domain(), "my.domain");

    let [f, g] = &model.functions[..] else { panic!("two functions") };
    assert_eq!((f.name(), f.domain(), f.overload(), f.doc_string()), ("f", "my.domain", "o", "f"));
    assert_eq!(f.attribute, ["beta"]);
    let defaults: Vec<_> =
        f.attribute_proto.iter().map(|default| (default.name(), default.r#type())).collect();
    assert_eq!(defaults, [("alpha", AttributeType::Float), ("gamma", AttributeType::Int)]);
    assert_eq!((&f.input[..], &f.output[..]), (&["x".to_owned(), "z".to_owned()][..], &["y".to_owned()][..]));
    let typed: Vec<_> = f.value_info.iter().map(ValueInfoProto::name).collect();
    assert_eq!(typed, ["z", "y", "t"], "types of inputs, then of outputs, then of the list");
    assert_eq!((g.name(), g.opset_import.len()), ("g", 0));
}

#[test]
fn a_header_is_optional_a_repeated_key_overrides_and_lists_may_be_empty() {
    assert_eq!(parse_model("g () => () {}").unwrap().ir_version, None);
    assert_eq!(parse_model("<ir_version: 7, ir_version: 8> g () => () {}").unwrap().ir_version(), 8);
    assert!(
        parse_model("<metadata_props: [], opset_import: []> g () => () {}")
            .unwrap()
            .metadata_props
            .is_empty()
    );
}

#[test]
fn texts_that_the_reference_rejects_are_rejected() {
    for text in [
        "x = Op <> (y)",
        "x = Op <a = []> (y)",
        "x = Op <a: int = []> (y)",
        "x = Op <a: int = 1.5> (y)",
        "x = Op <a: real = 1.5> (y)",
        "x = Op <a = 1e39> (y)",
        "x = Op <a = 99999999999999999999> (y)",
        "x = Op <a = .5> (y)",
        "x = Op <a = 1.2.3> (y)",
        "x = Op <a: tensor = float[N] {1}> (y)",
        "x = Op <a: tensor = float[] {1}> (y)",
        "x = Op <a = seq(float) {1}> (y)",
        "x = Op <a = int32[1] {2147483648}> (y)",
        "x = Op <a = int32[1] {1.0}> (y)",
        "x = Op(é)",
        "x = Op(y",
        "x Op(y)",
        "[n x = Op(y)",
    ] {
        assert!(parse_node(text).is_err(), "{text}");
    }
    for text in ["g () = > () {}", "g (float[2] x,) => () {}", "g () => {}", "g () => ()", "() => () {}"] {
        assert!(parse_graph(text).is_err(), "{text}");
    }
    for text in ["f <> (x) => () {}", "<foo: 1> f () => () {}", "f (x) => (y)"] {
        assert!(parse_function(text).is_err(), "{text}");
    }
    for text in ["", "<> g () => () {}", "<foo: 1> g () => () {}", "<ir_version 7> g () => () {}"] {
        assert!(parse_model(text).is_err(), "{text}");
    }
}

/// The reference accepts each of these texts with an unintended meaning.
#[test]
fn invalid_texts_that_the_reference_accepts_are_rejected() {
    for text in [
        "x = (y)",
        "x = .Op(y)",
        "x = Op(y) and more",
        "x = Op <a = [@z]> (y)",
        "x = Op <a = uint64[1] {-1}> (y)",
    ] {
        assert!(parse_node(text).is_err(), "{text}");
    }
    for text in ["g () => () {} and more", "g () => () <float[2] x = > {}"] {
        assert!(parse_graph(text).is_err(), "{text}");
    }
}
