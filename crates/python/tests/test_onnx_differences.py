"""Behaviours that the drop-in shares with the reference: errors by option, and types that are inferred forward only."""

from __future__ import annotations

from typing import Any

import pytest

import typeloom as tl

onnx = pytest.importorskip("onnx")

import onnx.checker  # noqa: E402
import onnx.parser  # noqa: E402
import onnx.shape_inference  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

from typeloom.onnx import checker, shape_inference  # noqa: E402

HEADER = '<ir_version: 10, opset_import: ["" : {opset}, "ai.onnx.ml" : 3]> '


def model(text: str, opset: int = 21) -> Any:
    return onnx.parser.parse_model(HEADER.format(opset=opset) + text)


def described(inferred: Any) -> dict[str, tuple[int, list[int | None] | None]]:
    """The element type and the shape of each declared value; ``None`` for an extent that is not a number."""
    found = {}
    for value in [*inferred.graph.value_info, *inferred.graph.output]:
        tensor = value.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
        found[value.name] = (tensor.elem_type, shape if tensor.HasField("shape") else None)
    return found


def result(module: Any, one: Any, options: dict[str, bool]) -> Any:
    """The described types, or ``None`` if inference fails."""
    try:
        return described(module.infer_shapes(one, **options))
    except onnx.shape_inference.InferenceError:
        return None


def same(one: Any, **options: bool) -> Any:
    """The result of both modules, which is the same."""
    ours, theirs = result(shape_inference, one, options), result(onnx.shape_inference, one, options)
    assert ours == theirs
    return ours


TYPES, STRICT = {"check_type": True}, {"strict_mode": True}

OPTIONS = [{}, TYPES, STRICT, TYPES | STRICT]


@pytest.mark.parametrize("options", OPTIONS)
def test_element_types_are_errors_with_check_type_only(options: dict[str, bool]) -> None:
    for text in (
        "g (bool[2, 3] x) => (y) { y = Greater(x, x) }",
        "g (float[2, 3] x, float[1] a) => (y) { y = CumSum(x, a) }",
    ):
        ours = same(model(text), **options)
        assert (ours is None) == ("check_type" in options), text
    mixed = model("g (float[2, 3] x, float16[3] w) => (y) { y = Add(x, w) }")
    results = [result(module, mixed, options) for module in (shape_inference, onnx.shape_inference)]
    assert [one is None for one in results] == ["check_type" in options] * 2


@pytest.mark.parametrize("options", [TYPES, STRICT])
def test_shapes_are_errors_in_strict_mode_only(options: dict[str, bool]) -> None:
    one = model("g (float[2, 3] x, float[4, 5] w) => (y) { y = MatMul(x, w) }")
    ours, theirs = result(shape_inference, one, options), result(onnx.shape_inference, one, options)
    assert (ours is None) == (theirs is None) == ("strict_mode" in options)


READERS = [
    "g () => (y) <int32[2] s = {2, 3}> { y = ConstantOfShape(s) }",
    "g (float[6] x) => (y) <int32[2] s = {2, 3}> { y = Reshape(x, s) }",
    "g (float[3] x) => (y) <int32[2] s = {2, 3}> { y = Expand(x, s) }",
    "g (float[3] x) => (y) <int32[1] s = {2}> { y = Tile(x, s) }",
    "g (float[3, 1] x) => (y) <int32[1] s = {1}> { y = ReduceSum(x, s) }",
    "g (float[3, 1] x) => (y) <int32[1] s = {1}> { y = Squeeze(x, s) }",
]


@pytest.mark.parametrize("text", READERS)
def test_stored_shapes_of_a_wrong_type_are_errors_in_strict_mode(text: str) -> None:
    assert same(model(text), strict_mode=True) is None


def test_a_stored_shape_of_a_wrong_type_decides_nothing() -> None:
    one = model("g () => (float y) <int32[2] s = {2, 3}> { y = ConstantOfShape(s) }")
    one.graph.output[0].type.tensor_type.ClearField("shape")
    assert same(one)["y"] == (TensorProto.FLOAT, None)


def test_a_loop_with_a_condition_of_a_wrong_type_is_inferred() -> None:
    one = model(
        "g (float c, float[2] x) => (last, all) { last, all = Loop(, c, x) <body = b (int64 i, bool go, float[2] s) "
        "=> (bool more, float[2] next, float[2] item) { more = Identity(go)  next = Identity(s)  item = Neg(s) }> }"
    )
    body = one.graph.node[0].attribute[0].g
    for value in (body.input[1], body.output[0]):
        value.type.tensor_type.elem_type = TensorProto.UNDEFINED
    assert same(one, strict_mode=True)["all"] == (TensorProto.FLOAT, [None, 2])
    assert same(one, strict_mode=True, check_type=True) is None


def test_a_symbol_contradicts_no_declared_extent() -> None:
    symbols = model("g (float[2, N] x) => (float[2, N] z) { y = Concat<axis = 1>(x, x)  z = Neg(y) }")
    assert same(symbols, strict_mode=True)["z"] == (TensorProto.FLOAT, [2, None])
    assert not tl.check(symbols)
    single = model("g (float[2, N] x) => (y, z) <int64[2] s = {3, 1}> { y, z = Split<axis = 1>(x, s) }")
    assert same(single, strict_mode=True)["y"] == (TensorProto.FLOAT, [2, None])
    assert [problem.code for problem in tl.check(single).diagnostics] == ["forced-symbol"]
    numbers = model("g (float[2, 3] x) => (float[2, 3] y) { y = Concat<axis = 1>(x, x) }")
    assert same(numbers, strict_mode=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "g (float x) => (y) { y = Softmax<axis = 0>(x) }",
        "g (float x) => (y) { y = ArgMin<axis = 0>(x) }",
        "g (float[1, 2, 4, 4] x, float w) => (y) { y = ConvTranspose(x, w) }",
    ],
)
def test_a_declared_scalar_has_no_axes(text: str) -> None:
    one = model(text)
    assert same(one, strict_mode=True) is None
    assert all(result(module, one, {}) is not None for module in (shape_inference, onnx.shape_inference))


def test_an_input_without_an_element_type_is_refused_if_a_result_has_it() -> None:
    one = model("g (float[2] x) => (y) { y = Neg(x) }")
    one.graph.input[0].type.tensor_type.elem_type = TensorProto.UNDEFINED
    assert same(one, strict_mode=True) is None
    one = model("g (float[2] x) => (y) { y = Shape(x) }")
    one.graph.input[0].type.tensor_type.elem_type = TensorProto.UNDEFINED
    assert same(one, strict_mode=True)["y"] == (TensorProto.INT64, [1])


LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    "operator, a, b, fails",
    [("Sub", LEAST, 1, True), ("Add", MOST, 1, True), ("Mul", MOST, 2, True), ("Sub", 5, 1, False), ("Add", MOST, 0, False)],
)
def test_overflowing_shapes_are_errors_with_data_propagation(operator: str, a: int, b: int, fails: bool) -> None:
    nodes = [helper.make_node(operator, ["a", "b"], ["s"]), helper.make_node("Neg", ["s"], ["y"])]
    values = [helper.make_tensor(name, TensorProto.INT64, [1], [value]) for name, value in (("a", a), ("b", b))]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", TensorProto.INT64, [1])], values)
    one = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    assert (same(one, strict_mode=True, data_prop=True) is None) == fails
    assert same(one, strict_mode=True) is not None


def test_extents_that_overflow_are_errors() -> None:
    one = model(f"g (float[{MOST}] x, float[1] y) => (z) {{ z = Concat<axis = 0>(x, y) }}")
    assert same(one, strict_mode=True) is None
    assert [problem.code for problem in tl.check(one).diagnostics] == ["shape-mismatch"]
    columns = f"<int64[2] i = {{1, 1}}, int64[2] b = {{{MOST}, 2}}>"
    one = model(f"g (float[1, 1, 1] x) => (y) {columns} {{ y = Col2Im(x, i, b) }}")
    with pytest.raises(shape_inference.InferenceError, match="overflow"):
        shape_inference.infer_shapes(one, strict_mode=True)


FORWARD = [
    # A reader of `r` determines its extents; its own node does not.
    "g (float[6] x, int64[n] s, float[3, 4] w) => (y) <float[2, k] r> { r = Reshape(x, s)  y = MatMul(r, w) }",
    "g (float[3] x, float[] w) => (y) { y = MatMul(x, w) }",
    "g (float[] x, float[a, 2, 5] w) => (y) { y = MatMul(x, w) }",
    "g (float[3, 2] x, int64[2] s) => (y) { y = CenterCropPad(x, s) }",
    "g (float[2, a] x) => (y, z) <int64[2] s = {3, 1}> { y, z = Split<axis = 1>(x, s) }",
    "g (float[2, 4] x) => (y, z) <int64[2] s = {3, 1}> { y, z = Split<axis = -1>(x, s) }",
    'g (int64[3, 4, 5] x, int64 i) => (y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }',
    'g (int64[3, 4, 5] x, int64[2] i) => (y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }',
]


@pytest.mark.parametrize("text", FORWARD)
def test_types_are_inferred_forward_only(text: str) -> None:
    one = model(text)
    for value in one.graph.input:
        # `float[]` is a tensor of unknown rank.
        if value.name in ("x", "w") and not value.type.tensor_type.shape.dim and "[]" in text:
            value.type.tensor_type.ClearField("shape")
    assert same(one, strict_mode=True) is not None


def test_a_classifier_with_too_few_coefficients_has_shapes() -> None:
    one = model(
        'g (float[4, 5] x) => (y, z) { y, z = ai.onnx.ml.LinearClassifier<coefficients = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], '
        "intercepts = [2.0, 2.0, 3.0], classlabels_ints = [1, 2, 3]>(x) }"
    )
    assert same(one, strict_mode=True)["z"] == (TensorProto.FLOAT, [4, 3])
    assert not tl.check(one)


def test_a_scale_of_one_keeps_a_large_extent() -> None:
    one = model(
        "g (float[16777217, 3] x) => (y) <int64[2] s = {16777217, 3}> "
        '{ y = Resize<keep_aspect_ratio_policy = "not_larger">(x, , , s) }'
    )
    assert same(one)["y"] == (TensorProto.FLOAT, [16777217, 3])


BODY = (
    "g (float[2] x) => (y) <int64 n = {3}, bool c = {1}> { y = Loop(n, c, x) <body = b (int64 i, bool go, float[2] s, float k) "
    "=> (bool more, float[2] next) <float k = {10}> { more = Identity(go)  next = Mul(s, k) }> }"
)


@pytest.mark.parametrize("ir_version, fits", [(3, True), (10, False)])
def test_constants_of_old_bodies_are_no_operands_of_the_loop(ir_version: int, fits: bool) -> None:
    one = model(BODY, opset=8)
    one.ir_version = ir_version
    for name, elem in (("n", TensorProto.INT64), ("c", TensorProto.BOOL)):
        one.graph.input.append(helper.make_tensor_value_info(name, elem, []))
    one.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2]))
    assert bool(tl.check(one)) == fits
    if fits:
        checker.check_model(one, full_check=True)
        onnx.checker.check_model(one, full_check=True)
