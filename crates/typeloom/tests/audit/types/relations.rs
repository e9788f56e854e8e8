//! Declared operators and their relations, in checks of whole models.

use std::sync::atomic::{AtomicUsize, Ordering};

use typeloom::check::{Color, Diagnostic, Operators, Options, check_with, render};
use typeloom::onnx::model_from_text;
use typeloom::types::builtins::{
    TYPE_ANY, TYPE_PEER_ID, TYPE_SCALAR, TYPE_TENSOR, TYPE_TENSOR_BOOL, TYPE_TENSOR_F32, TYPE_TENSOR_I64,
};
use typeloom::types::operators::{
    AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, BROADCAST_BINARY, CustomRelationCtx, ELEMENTWISE,
    MATMUL_BINARY, NO_RELATIONS, PortDecl, PortRef, REDUCE_AXIS, RelationError, RelationResult,
    TENSOR_PRIMITIVES, TypeRelation, UNARY_SAME_ELEMENT,
};
use typeloom::{TENSOR_PRIMITIVES_OPS, TypeNode};

use super::tree::TYPE_AUDIT_P16;
use super::{checked, problems, type_of};

const fn input(name: &'static str) -> PortDecl {
    PortDecl::required(name, &TYPE_ANY)
}

const fn op(
    name: &'static str,
    inputs: &'static [PortDecl],
    outputs: &'static [PortDecl],
    type_relations: &'static [TypeRelation],
) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs, outputs, kind: AtomicOpKind::Pure, type_relations }
}

const A: PortDecl = input("a");
const B: PortDecl = input("b");
const C: PortDecl = input("c");

const fn bound(name: &'static str, node: &'static TypeNode) -> PortDecl {
    PortDecl::required(name, node)
}

/// Stacks: the extent of the output is the sum of the number of inputs and the attribute `more`.
fn stacked(cx: &CustomRelationCtx<'_>) -> RelationResult {
    let more = cx.attr_int("more").unwrap_or_default();
    let count = u64::try_from(cx.input_count()).unwrap_or_default() + more.unsigned_abs();
    match cx.refine_shape(PortRef::Output(0), &[Some(count)]) {
        Ok(_) => RelationResult::Satisfied,
        Err(error) => error.into(),
    }
}

/// The output has as many elements as the constant second input states.
fn sized(cx: &CustomRelationCtx<'_>) -> RelationResult {
    let Some(sizes) = cx.constant_ints(PortRef::Input(1)) else { return RelationResult::Defer };
    let dims: Vec<_> = sizes.into_iter().map(|size| u64::try_from(size).ok()).collect();
    match cx.refine_shape(PortRef::Output(0), &dims) {
        Ok(_) => RelationResult::Satisfied,
        Err(error) => error.into(),
    }
}

fn square(cx: &CustomRelationCtx<'_>) -> RelationResult {
    match cx.shape(PortRef::Input(0)).as_deref() {
        None => RelationResult::Defer,
        Some([Some(rows), Some(columns)]) if rows != columns => {
            let ports = [PortRef::Input(0)];
            RelationError::new(
                "a determinant needs a square matrix",
                ports,
                rows.to_string(),
                columns.to_string(),
            )
            .into()
        }
        Some(_) => RelationResult::Satisfied,
    }
}

/// Narrows one port per call, and needs the call after it.
fn one_by_one(cx: &CustomRelationCtx<'_>) -> RelationResult {
    for port in [PortRef::Output(0), PortRef::Output(1)] {
        match cx.refine(port, &TYPE_TENSOR_BOOL) {
            Ok(true) => return RelationResult::Refined,
            Ok(false) => {}
            Err(error) => return error.into(),
        }
    }
    RelationResult::Satisfied
}

const PRIMITIVES_WHERE: AtomicOpDecl = TENSOR_PRIMITIVES_OPS[27];

static OPS: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.audit",
    version: 1,
    ops: &[
        op("Free", &[A], &[B], NO_RELATIONS),
        op("Same", &[A], &[B], &[TypeRelation::SameType(&[PortRef::Input(0), PortRef::Output(0)])]),
        op("Elementwise", &[A], &[B], ELEMENTWISE),
        op("Unary", &[A], &[B], UNARY_SAME_ELEMENT),
        op("Binary", &[A, B], &[C], BROADCAST_BINARY),
        op("Product", &[A, B], &[C], MATMUL_BINARY),
        op("Reduce", &[A, PortDecl::optional("axes", &TYPE_TENSOR_I64)], &[B], REDUCE_AXIS),
        op(
            "Compare",
            &[A, B],
            &[bound("c", &TYPE_TENSOR_BOOL)],
            &[TypeRelation::BroadcastShape {
                in0: PortRef::Input(0),
                in1: PortRef::Input(1),
                out: PortRef::Output(0),
            }],
        ),
        op(
            "Rest",
            &[PortDecl::variadic("all", &TYPE_TENSOR)],
            &[PortDecl::variadic("results", &TYPE_TENSOR)],
            &[TypeRelation::SameType(&[PortRef::InputsFrom(0), PortRef::OutputsFrom(0)])],
        ),
        op(
            "AfterFirst",
            &[A, PortDecl::variadic("others", &TYPE_TENSOR)],
            &[B],
            &[TypeRelation::SameElementType(&[PortRef::InputsFrom(1), PortRef::Output(0)])],
        ),
        op(
            "Stack",
            &[PortDecl::variadic("all", &TYPE_TENSOR)],
            &[bound("b", &TYPE_TENSOR_F32)],
            &[TypeRelation::Custom { name: "audit.stacked", run: stacked }],
        ),
        op(
            "Sized",
            &[A, bound("size", &TYPE_TENSOR_I64)],
            &[bound("b", &TYPE_TENSOR_F32)],
            &[TypeRelation::Custom { name: "audit.sized", run: sized }],
        ),
        AtomicOpDecl { name: "Choose", ..PRIMITIVES_WHERE },
        op("Det", &[A], &[B], &[TypeRelation::Custom { name: "audit.square", run: square }]),
        op("Two", &[], &[A, B], &[TypeRelation::Custom { name: "audit.one-by-one", run: one_by_one }]),
        op(
            "ToP16",
            &[bound("a", &TYPE_TENSOR_F32)],
            &[bound("b", &TYPE_AUDIT_P16)],
            &[TypeRelation::BroadcastShape {
                in0: PortRef::Input(0),
                in1: PortRef::Input(0),
                out: PortRef::Output(0),
            }],
        ),
        op(
            "Pick",
            &[bound("a", &TYPE_TENSOR)],
            &[bound("b", &TYPE_SCALAR)],
            &[TypeRelation::SameElementType(&[PortRef::Input(0), PortRef::Output(0)])],
        ),
        op("Whose", &[bound("a", &TYPE_PEER_ID)], &[bound("b", &TYPE_PEER_ID)], NO_RELATIONS),
    ],
};

pub(super) fn operators() -> Operators {
    Operators::standard().with_opset(&OPS)
}

fn ty(graph: &str, value: &str) -> String {
    let full = graph.replace('@', "org.example.audit.");
    checked(&operators(), &full, |checked| assert!(checked.is_ok(), "{:?}", checked.diagnostics()));
    type_of(&operators(), &full, value)
}

/// The diagnostics as the command prints them.
fn errors(graph: &str) -> Vec<String> {
    let show = |it: &Diagnostic| render("audit.onnx", it, Color::Never);
    checked(&operators(), &graph.replace('@', "org.example.audit."), |checked| {
        checked.diagnostics().iter().map(show).collect()
    })
}

#[test]
fn same_type_relates_element_type_and_shape_in_both_directions() {
    assert_eq!(ty("g (float[N, 2] x) => (y) { y = @Same(x) }", "y"), "float[N, 2]");
    assert_eq!(ty("g (x) => (int8[4] y) { y = @Same(x) }", "x"), "int8[...]");
    let found = errors("g (float[2] x) => (int8[2] y) { y = @Same(x) }");
    assert!(found.len() == 1 && found[0].contains("float") && found[0].contains("int8"), "{found:?}");
}

#[test]
fn elementwise_keeps_symbolic_shapes() {
    assert_eq!(ty("g (double[N, 2*M] x) => (y) { h = @Elementwise(x) y = Relu(h) }", "y"), "double[N, 2*M]");
    assert_eq!(ty("g (x) => (bfloat16[3] y) { y = @Elementwise(x) }", "x"), "bfloat16[...]");
}

#[test]
fn unary_same_element_relates_no_shapes() {
    assert_eq!(ty("g (uint8[2, 3] x) => (y) { y = @Unary(x) }", "y"), "uint8[...]");
    assert_eq!(ty("g (uint8[2, 3] x) => (uint8[6] y) { y = @Unary(x) }", "y"), "uint8[6]");
}

#[test]
fn broadcast_binary_broadcasts_symbols_and_rejects_extents() {
    assert_eq!(ty("g (float[N, 1] x, float[4] w) => (y) { y = @Binary(x, w) }", "y"), "float[N, 4]");
    let found = errors("g (float[2, 3] x, float[4] w) => (y) { y = @Binary(x, w) }");
    assert!(found.len() == 1 && found[0].contains("axis 1 of `x` is 3 and axis 0 of `w` is 4"), "{found:?}");
    let found = errors("g (float[4] x, int32[4] w) => (y) { y = @Binary(x, w) }");
    assert!(found.len() == 1 && found[0].contains("`x`") && found[0].contains("`w`"), "{found:?}");
    assert!(found[0].contains("float") && found[0].contains("int32"), "{found:?}");
    let where_ = "g (bool[N, 1] c, float[M] a, float b) => (y) { y = @Choose(c, a, b) }";
    assert_eq!(ty(where_, "y"), "float[N, M]");
    // The shape alone.
    assert_eq!(ty("g (float[N] x, int32[1] w) => (y) { y = @Compare(x, w) }", "y"), "bool[N]");
}

#[test]
fn matmul_binary_contracts() {
    assert_eq!(
        ty("g (float[5, 2, 3] x, float[3, 7] w) => (y) { y = @Product(x, w) }", "y"),
        "float[5, 2, 7]"
    );
    assert_eq!(ty("g (float[N, 3] x, float[3, K] w) => (y) { y = @Product(x, w) }", "y"), "float[N, K]");
    let found = errors("g (float[2, 3] x, float[4, 7] w) => (y) { y = @Product(x, w) }");
    assert!(found.len() == 1 && found[0].contains("inner dims"), "{found:?}");
}

#[test]
fn reduce_axis_reads_attributes_and_constants() {
    let axes = "g (float[N, 3, 4] x) => (y) <int64[1] axes = {1}> { y = @Reduce(x, axes) }";
    assert_eq!(ty(axes, "y"), "float[N, 1, 4]");
    let dropped =
        "g (float[N, 3, 4] x) => (y) <int64[1] axes = {-1}> { y = @Reduce <keepdims = 0> (x, axes) }";
    assert_eq!(ty(dropped, "y"), "float[N, 3]");
    assert_eq!(
        ty("g (float[N, 3] x) => (y) { y = @Reduce <axes = [0], keepdims = 0> (x) }", "y"),
        "float[3]"
    );
    assert_eq!(ty("g (float[N, 3] x) => (y) { y = @Reduce <keepdims = 0> (x) }", "y"), "float");
}

#[test]
fn variadic_rests_relate_all_their_ports() {
    let rest = "g (float16[N] x, y, z) => (a, b) { a, b = @Rest(x, y, z) }";
    for (value, expected) in
        [("y", "float16[...]"), ("z", "float16[...]"), ("a", "float16[N]"), ("b", "float16[N]")]
    {
        assert_eq!(ty(rest, value), expected, "{value}");
    }
    let after = "g (int32[2] x, double[3] y, z) => (a) { a = @AfterFirst(x, y, z) }";
    assert_eq!(ty(after, "a"), "double[...]");
    assert_eq!(ty(after, "z"), "double[...]");
    let found = errors("g (int32[2] x, double[3] y, float[1] z) => (a) { a = @AfterFirst(x, y, z) }");
    assert!(found.len() == 1 && found[0].contains("`y`") && found[0].contains("`z`"), "{found:?}");
}

#[test]
fn custom_relations_read_attributes_constants_and_ports() {
    assert_eq!(ty("g (float[2] x, int8[5] y) => (z) { z = @Stack <more = 40> (x, y) }", "z"), "float[42]");
    let sized = "g (float[2] x) => (y) <int64[2] n = {6, 7}> { m = Identity(n) y = @Sized(x, m) }";
    assert_eq!(ty(sized, "y"), "float[6, 7]");
    assert_eq!(ty("g () => (a) { a, b = @Two() }", "b"), "bool[...]");
    let found = errors("g (float[2, 3] x) => (float y) { y = @Det(x) }");
    let expected = "a determinant needs a square matrix";
    assert!(found.len() == 1 && found[0].contains(expected) && found[0].contains("`x`"), "{found:?}");
    assert!(found[0].contains('2') && found[0].contains('3'), "{found:?}");
    assert_eq!(ty("g (float[3, 3] x) => (float y) { y = @Det(x) }", "y"), "float");
}

#[test]
fn bounds_limit_ports_and_leaves_are_exact() {
    let found = errors("g (string[2] x) => (y) { y = @Compare(x, x) z = @Stack(y) }");
    assert_eq!(found, Vec::<String>::new());
    let found = errors("g (float[2] x) => (y) { y = @Whose(x) }");
    assert!(found.len() == 1 && found[0].contains("peer_id") && found[0].contains("float"), "{found:?}");
    let found = errors("g (x, y) => (c) { a = @Whose(x) c = @Rest(a, y) }");
    assert!(found.iter().any(|text| text.contains("peer_id") && text.contains("tensor")), "{found:?}");
}

#[test]
fn a_scalar_and_a_tensor_share_an_element_type() {
    assert_eq!(ty("g (int32[8] x) => (y) { y = @Pick(x) }", "y"), "scalar.i32");
    assert_eq!(ty("g (float[8] x) => (y) { y = @Pick(x) }", "y"), "scalar.f32");
}

/// `TypedValue` and `ValueType` print one text.
#[test]
fn a_leaf_without_a_dtype_has_one_text() {
    assert_eq!(ty("g (float[N, 3] x) => (y) { y = @ToP16(x) }", "y"), "audit_p16[N, 3]");
    assert_eq!(ty("g (float[] x) => (y) { y = @ToP16(x) }", "y"), "audit_p16[...]");
    let found = errors("g (float[2] x) => (y) { p = @ToP16(x) y = @Binary(p, x) }");
    assert!(found.len() == 1 && found[0].contains("audit_p16") && found[0].contains("float"), "{found:?}");
}

/// Counts the calls of a relation that waits for its input.
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn counted(cx: &CustomRelationCtx<'_>) -> RelationResult {
    CALLS.fetch_add(1, Ordering::Relaxed);
    cx.unify(&[PortRef::Input(0), PortRef::Output(0)])
}

static COUNTED: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "com.example.audit",
    version: 1,
    ops: &[op("Counted", &[A], &[B], &[TypeRelation::Custom { name: "audit.counted", run: counted }])],
};

/// A value that feeds ten thousand nodes and gets its type from the last one.
#[test]
fn fan_out_is_linear_in_the_number_of_relations() {
    let operators = Operators::standard().with_opset(&COUNTED);
    let count = |nodes: usize| {
        let readers: String =
            (0..nodes).map(|at| format!("y{at} = com.example.audit.Counted(x)\n")).collect();
        let text =
            format!("g (x) => (y0) {{ {readers} z = Add(x, w) }}").replace("g (x)", "g (x, int8[2] w)");
        CALLS.store(0, Ordering::Relaxed);
        assert_eq!(problems(&operators, &text), Vec::<String>::new());
        assert_eq!(type_of(&operators, &text, &format!("y{}", nodes - 1)), "int8[...]");
        CALLS.load(Ordering::Relaxed)
    };
    let (few, many) = (count(1_000), count(10_000));
    assert!(many <= 10 * few + 100, "{few} calls for 1,000 readers and {many} for 10,000");
    // Two checks. Each node runs before and after the type is known.
    assert!(many <= 80_000, "{many}");
}

/// The published list, in its order, and the type of each operator's result.
#[test]
fn the_thirty_primitives_are_typed_by_their_declarations() {
    let names: Vec<&str> = TENSOR_PRIMITIVES_OPS.iter().map(|op| op.name).collect();
    let published = "Add Sub Mul Div Neg Abs Sqrt Pow Exp Log MatMul ReduceSum ReduceMean ReduceMax ReduceMin \
        Reshape Transpose Concat Slice Split Squeeze Unsqueeze Identity Cast Equal Greater Less Where Constant Gather";
    assert_eq!(names, published.split_whitespace().collect::<Vec<_>>());
    assert_eq!(TENSOR_PRIMITIVES.check(), []);
    assert!(TENSOR_PRIMITIVES_OPS.iter().all(|op| op.kind == AtomicOpKind::Pure && op.check().is_empty()));
}

#[test]
fn a_malformed_declaration_is_listed_completely() {
    static BROKEN: AtomicOpDecl = op(
        "Broken",
        &[A, A, PortDecl::variadic("rest", &TYPE_ANY), B],
        &[C],
        &[TypeRelation::SameType(&[PortRef::Input(0), PortRef::Output(4)])],
    );
    let errors: Vec<String> = BROKEN.check().iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("output 4")), "{errors:?}");
}

static OLD: AtomicOpsetDecl =
    AtomicOpsetDecl { domain: "org.example.audit", version: 1, ops: &[op("Move", &[A], &[B], ELEMENTWISE)] };
static NEW: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.audit",
    version: 2,
    ops: &[op("Move", &[A], &[B], UNARY_SAME_ELEMENT)],
};

/// The version that a model imports selects the declaration.
#[test]
fn declared_operators_have_versions() {
    let operators = Operators::standard().with_opset(&NEW).with_opset(&OLD);
    for (version, expected) in [(1, "float[N]"), (2, "float[...]"), (9, "float[...]")] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["org.example.audit" : {version}]>
            g (float[N] x) => (y) {{ y = org.example.audit.Move(x) }}"#
        );
        let bytes = model_from_text(&text).expect("the text is a model");
        let mut checked = check_with(&bytes, &Options::default(), &operators).expect("it is a model");
        assert_eq!(checked.value("y").map(|y| y.ty().to_string()).as_deref(), Some(expected), "{version}");
    }
}
