//! Read, write and build ONNX models.
//!
//! ```
//! use typeloom::onnx::{Message as _, ModelProto, model_from_text, model_to_text};
//!
//! let bytes = model_from_text(
//!     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Relu(x) }"#,
//! )?;
//! let model = ModelProto::decode(&bytes[..])?;
//! let graph = model.graph.as_ref().expect("a model has a graph");
//! assert_eq!(graph.node[0].op_type(), "Relu");
//! assert!(model_to_text(&model).contains("Relu"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In ONNX's textual syntax, constants follow the outputs, and a constant with the name of an input is its
//! default. Attributes follow the name of an operator, which begins with its domain if that is not ONNX's
//! own. `float x` is of rank 0, and `float[] x` of unknown rank.
//!
//! ```
//! let model = typeloom::onnx::model_from_text(
//!     r#"<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
//!     g (float[N, 2] x, float scale) => (y) <float[2, 2] w = {1.0, 0.0, 0.0, 1.0}, float scale = {0.5}> {
//!         h = MatMul(x, w)
//!         s = Softmax <axis = -1> (h)
//!         y = com.microsoft.Gelu(s)
//!     }"#,
//! )?;
//! let mut checked = typeloom::check(&model, &Default::default())?;
//! assert_eq!(checked.interface().to_string(), "(x: float[N, 2], scale?: float) -> (y: float[N, 2])");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Messages are built with `Default`: `NodeProto { op_type: "Relu".into(), ..NodeProto::default() }`.

/// Rust values as attributes: numbers, texts, lists, tensors, types and graphs.
///
/// ```
/// use typeloom::onnx::{AttributeProto, IntoAttribute, NodeProto, OperatorSetIdProto, StringStringEntryProto};
///
/// let node = NodeProto {
///     op_type: "Softmax".into(),
///     attribute: vec![AttributeProto::new("axis", -1)],
///     metadata_props: vec![StringStringEntryProto { key: "origin".into(), value: "head".into(), ..Default::default() }],
///     ..NodeProto::default()
/// };
/// assert_eq!((node.attribute[0].i(), node.metadata_props[0].value()), (-1, "head"));
/// assert_eq!("relu".into_attribute("activation").s(), b"relu");
/// let import = OperatorSetIdProto { domain: "".into(), version: Some(21), ..Default::default() };
/// assert_eq!(import.version(), 21);
/// ```
#[doc(inline)]
pub use typeloom_onnx::messages::IntoAttribute;
/// Messages of an ONNX file. Fields are optional as in the format; `Default` leaves all of them unset.
/// Strings convert into a [`Text`], which is empty if it is unset.
///
/// ```
/// use typeloom::check::{Dim, ValueType};
/// use typeloom::onnx::{
///     AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, Text, TypeProto, ValueInfoProto,
///     model_to_text,
/// };
/// use typeloom::types::Dtype;
///
/// let ty: TypeProto = ValueType::tensor(Dtype::F32, [Dim::Fixed(2)]).to_message();
/// let port = |name: &str| ValueInfoProto {
///     name: name.into(),
///     r#type: Some(ty.clone()),
///     ..ValueInfoProto::default()
/// };
/// let node = NodeProto {
///     op_type: "LeakyRelu".into(),
///     input: vec!["x".into()],
///     output: vec!["y".into()],
///     attribute: vec![AttributeProto { name: "alpha".into(), f: Some(0.5), ..AttributeProto::default() }],
///     ..NodeProto::default()
/// };
/// let absent: &Text = &node.domain;
/// assert!(node.op_type == "LeakyRelu" && absent.is_none() && absent.as_str().is_empty());
/// let graph = GraphProto {
///     node: vec![node],
///     input: vec![port("x")],
///     output: vec![port("y")],
///     initializer: Vec::<TensorProto>::new(),
///     ..GraphProto::default()
/// };
/// let functions = Vec::<FunctionProto>::new();
/// let model = ModelProto { graph: Some(graph), functions, ..ModelProto::default() };
/// assert!(model_to_text(&model).contains("LeakyRelu"));
/// ```
#[doc(inline)]
pub use typeloom_onnx::messages::ModelProto;
/// [`ModelProto`] has an example.
#[doc(inline)]
pub use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    TensorProto, Text, TypeProto, ValueInfoProto,
};
/// Encoding and decoding of messages.
///
/// ```
/// use typeloom::onnx::{Message as _, ModelProto};
///
/// let model = ModelProto { ir_version: Some(10), ..ModelProto::default() };
/// assert_eq!(ModelProto::decode(&model.encode_to_vec()[..])?, model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(no_inline)]
pub use typeloom_onnx::prost::Message;
/// Error of [`model_from_text`], with the position of the mistake.
///
/// ```
/// use typeloom::onnx::{ParseError, model_from_text};
///
/// let error: ParseError = model_from_text("g (x) => (y) {").unwrap_err();
/// println!("{error}");
/// ```
#[doc(inline)]
pub use typeloom_onnx::text::ParseError;

use typeloom_onnx::text::{PrintOptions, print_model};

/// Parses a model in ONNX's textual syntax and serializes it.
///
/// ```
/// let error = typeloom::onnx::model_from_text("g (x) => (y) {").unwrap_err();
/// println!("{error}");
/// ```
///
/// # Errors
/// [`ParseError`] with the position of the mistake.
pub fn model_from_text(text: &str) -> Result<Vec<u8>, ParseError> {
    typeloom_onnx::text::model_bytes(text)
}

/// Prints a model in ONNX's textual syntax.
///
/// ```
/// use typeloom::onnx::{GraphProto, ModelProto, model_to_text};
///
/// let model = ModelProto { graph: Some(GraphProto::default()), ..ModelProto::default() };
/// println!("{}", model_to_text(&model));
/// ```
#[must_use]
pub fn model_to_text(model: &ModelProto) -> String {
    print_model(model, &PrintOptions::round_trip()).text
}
