//! Operators that a backend does not compute: lowered to primitives or rejected.

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_onnx::messages::{AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use typeloom_types::relation::NO_RELATIONS;
use typeloom_types::tree::builtin::TYPE_TENSOR_F32;

macro_rules! backend {
    ($name:ident stores $tensor:ty, $opsets:expr) => {
        struct $name;

        impl GraphExecutor for $name {
            type Tensor = $tensor;
            type Error = std::fmt::Error;

            fn execute(
                &self,
                _: &GraphProto,
                _: Vec<$tensor>,
                _: &[AttributeProto],
            ) -> Result<Vec<$tensor>, std::fmt::Error> {
                Err(std::fmt::Error)
            }

            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                $opsets
            }
        }
    };
}

const X: &[PortDecl] = &[PortDecl::required("x", &TYPE_TENSOR_F32)];
const RELU: AtomicOpDecl = AtomicOpDecl {
    name: "Relu",
    inputs: X,
    outputs: X,
    kind: AtomicOpKind::Pure,
    type_relations: NO_RELATIONS,
};

backend!(Any stores AnyTensor, &[]);
backend!(F32 stores Vec<f32>, &[]);
backend!(OwnRelu stores AnyTensor, &[AtomicOpsetDecl { domain: "", version: 18, ops: &[RELU] }]);

fn model(text: &str) -> ModelProto {
    let text = format!("<ir_version: 10, opset_import: [\"\": 20]>\n{text}");
    typeloom_onnx::text::parse_model(&text).expect("the text is a model")
}

fn operators(artifact: &Artifact) -> Vec<&str> {
    let graph = artifact.model().graph.as_ref().expect("a program has a graph");
    graph.node.iter().map(NodeProto::op_type).collect()
}

#[test]
fn an_operator_is_lowered_to_primitives_of_the_solved_type() {
    let compiler = Compiler::new().run_on_backend::<ByExecution<Any>>("compute");
    let artifact = compiler.compile(model("m (double[n, 3] x) => (double[n, 3] y) { y = Relu(x) }")).unwrap();
    assert_eq!(operators(&artifact), ["Constant", "Less", "Where"]);
    assert_eq!(artifact.type_of("y"), Some("tensor.f64"));
    assert_eq!(artifact.report.lowered, [("compute".to_owned(), 1)]);
    let graph = artifact.model().graph.as_ref().unwrap();
    let stamped = graph.value_info.iter().chain(&graph.output).map(ValueInfoProto::name).collect::<Vec<_>>();
    let made = graph.node.iter().flat_map(|node| &node.output);
    assert!(made.clone().all(|value| stamped.contains(&value.as_str())), "{stamped:?}");
}

#[test]
fn a_backend_that_is_bound_already_runs_a_model() {
    let bound = Compiler::new().bind_backend::<ByExecution<Any>>("compute");
    let relu = || model("m (float[n] x) => (float[n] y) { y = Relu(x) }");
    assert!(bound.clone().run_on_backend::<ByExecution<Any>>("compute").compile(relu()).is_ok());
    let other = bound.run_on_backend::<ByExecution<F32>>("compute").compile(relu());
    assert_eq!(other.unwrap_err().to_string(), "slot `compute` is bound twice");
}

#[test]
fn a_convolution_is_lowered_with_a_symbolic_batch() {
    let compiler = Compiler::new().run_on_backend::<ByExecution<F32>>("compute");
    let text = "m (float[n, 2, 8, 8] x, float[4, 2, 3, 3] w) => (float[n, 4, 8, 8] y) \
                { y = Conv <auto_pad = \"SAME_UPPER\"> (x, w) }";
    let artifact = compiler.compile(model(text)).unwrap();
    assert!(!operators(&artifact).contains(&"Conv"));
    let info = &artifact.model().graph.as_ref().unwrap().output[0];
    let ty = typeloom_onnx::text::print_type(info.r#type.as_ref().unwrap());
    assert!(ty.starts_with("float[n, 4, 8, 8]"), "{ty}");
}

#[test]
fn a_declared_operator_is_used_within_the_bounds_of_its_ports() {
    let compiler = Compiler::new().run_on_backend::<ByExecution<OwnRelu>>("compute");
    let own = compiler.compile(model("m (float[n] x) => (float[n] y) { y = Relu(x) }")).unwrap();
    assert_eq!(operators(&own), ["Relu"]);
    assert_eq!(&*own.dispatch()[0].method, "execute");
    let lowered = compiler.compile(model("m (double[n] x) => (double[n] y) { y = Relu(x) }")).unwrap();
    assert!(!operators(&lowered).contains(&"Relu"));
}

#[test]
fn a_node_that_cannot_be_lowered_is_an_error_with_operator_type_and_reason() {
    let compiler = Compiler::new().run_on_backend::<ByExecution<F32>>("compute");
    let refused = compiler.compile(model("m (float[n] x, int64[k] s) => (y) { y = Expand(x, s) }")).err();
    let Some(BuildError::NotDispatchable { message, .. }) = refused else { panic!("{refused:?}") };
    assert!(
        message.contains("`Expand` on tensor.f32, tensor.i64")
            && message.contains("the rank of its result is not known"),
        "{message}"
    );
}

#[test]
fn a_backend_of_one_element_type_gets_the_nodes_that_compute_on_it() {
    let compiler = Compiler::new().run_on_backend::<ByExecution<F32>>("compute");
    let text = "m (float[n] x, int64[n] i) => (float[n] y, int64[n] j) { y = Exp(x)  j = Add(i, i) }";
    let artifact = compiler.compile(model(text)).unwrap();
    let dispatch = artifact.dispatch();
    let on: Vec<&str> = dispatch.iter().map(|entry| &*entry.operator).collect();
    assert_eq!(on, ["Exp"]);
}

/// Huge attributes and extents, in programs whose types do not depend on them or that are rejected first.
#[test]
fn huge_numbers_are_rejected_without_a_panic() {
    let huge = i64::MAX;
    let low = i64::MIN;
    let texts = [
        format!("m (float[n, {huge}, 8, 8] x) => (y) {{ y = DepthToSpace <blocksize = {huge}> (x) }}"),
        format!("m (float[n, 4, {huge}, {huge}] x) => (y) {{ y = SpaceToDepth <blocksize = 2> (x) }}"),
        format!("m (float[{huge}, {huge}, {huge}] x) => (y) {{ y = Flatten <axis = 2> (x) }}"),
        format!("m (float[{huge}, {huge}] x) => (y) {{ y = Size(x) }}"),
        format!("m (float[n, 4, {huge}] x) => (y) {{ y = LRN <size = {huge}> (x) }}"),
        format!(
            "m (float[n, {huge}, 9] x, float[{huge}] s) => (y) {{ y = GroupNormalization <num_groups = {low}> (x, s, s) }}"
        ),
        format!(
            "m (float[n, 2, 9] x) => (y) {{ y = MaxPool <kernel_shape = [{huge}], strides = [{huge}], dilations = [{huge}]> (x) }}"
        ),
        format!(
            "m (float[n, 2, 9] x) => (y) {{ y = AveragePool <kernel_shape = [3], pads = [{huge}, {huge}]> (x) }}"
        ),
        format!(
            "m (float[n, 2, 9] x, float[2, 2, {huge}] w) => (y) {{ y = Conv <strides = [{huge}]> (x, w) }}"
        ),
        format!(
            "m (float[n, 2, 9] x, float[2, 2, 3] w) => (y) {{ y = ConvTranspose <strides = [{huge}], group = {low}> (x, w) }}"
        ),
        "m (float[n, 2, 9] x, float[2] w) => (y) { y = ConvTranspose(x, w) }".to_owned(),
        format!("m (float[{huge}, 2] x) => (y) {{ y = ArgMax <axis = {low}> (x) }}"),
        format!("m (float[{huge}, {huge}] x) => (y) {{ y = EyeLike <k = {low}> (x) }}"),
        format!("m (float[{huge}, {huge}] x) => (y) {{ y = Trilu(x) }}"),
        format!("m (float[{huge}, {huge}] x) => (y) {{ y = Hardmax(x) }}"),
        format!("m (float[{huge}, {huge}] x) => (y) {{ y = ReduceProd(x) }}"),
        format!(
            "m (float[{huge}, {huge}] a, float[{huge}, {huge}] b) => (y) {{ y = Einsum <equation = \"ij,jk->ik\"> (a, b) }}"
        ),
        format!("m (float[{huge}, 3] x, int64[{huge}, 2] i) => (y) {{ y = GatherND(x, i) }}"),
        format!("m (float[{huge}, {huge}] x, int64[{huge}, {huge}] i) => (y) {{ y = GatherElements(x, i) }}"),
        "m (float[3] a, float[3] b) => (y) { y = Gemm <transA = 1> (a, b) }".to_owned(),
        format!("m (float[a, b] x) => (y) {{ y = Shape <start = {low}, end = {huge}> (x) }}"),
    ];
    let compiler = Compiler::new().with_permissive_types().run_on_backend::<ByExecution<Any>>("compute");
    for text in texts {
        if let Ok(artifact) = compiler.compile(model(&text)) {
            let made = artifact.model().graph.as_ref().map_or(0, |graph| graph.node.len());
            assert!(made < 100, "{text}: {made} nodes");
        }
    }
}

#[test]
fn the_documents_state_the_number_of_lowered_operators() {
    let operators: Vec<&str> = typeloom_compiler::passes::lower::lowered_operators().collect();
    let distinct: std::collections::BTreeSet<&str> = operators.iter().copied().collect();
    assert_eq!(distinct.len(), operators.len(), "one rule for each operator");
    let said = format!("{} operators", operators.len());
    for document in
        [include_str!("../../../../../docs/modules.md"), include_str!("../../../../../CHANGELOG.md")]
    {
        assert!(document.contains(&said), "{said}");
    }
}
