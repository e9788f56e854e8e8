"""The drop-in modules `typeloom.onnx.shape_inference` and `typeloom.onnx.checker`, and `typeloom.patch`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import typeloom as tl

onnx = pytest.importorskip("onnx")

import onnx.checker  # noqa: E402
import onnx.parser  # noqa: E402
import onnx.shape_inference  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

from typeloom.onnx import checker, shape_inference  # noqa: E402

HEADER = '<ir_version: 10, opset_import: ["" : 21]> '


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEADER + text)


def shapes(inferred: onnx.ModelProto) -> dict[str, list[int | str]]:
    graph = inferred.graph
    return {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in [*graph.value_info, *graph.output]
    }


def test_types_are_written_in_the_form_of_the_reference() -> None:
    one = model("g (float[N, 2] x) => (y) { h = Concat<axis=0>(x, x)  y = Relu(h) }")
    ours, theirs = shape_inference.infer_shapes(one), onnx.shape_inference.infer_shapes(one)
    assert type(ours) is onnx.ModelProto
    assert shapes(ours) == shapes(theirs) == {"h": ["unk__0", 2], "y": ["unk__0", 2]}


def test_generated_names_avoid_those_of_the_model() -> None:
    one = model("g (float[unk__0, 2] x) => (y) { y = Concat<axis=0>(x, x) }")
    assert shapes(shape_inference.infer_shapes(one))["y"] == ["unk__1", 2]


def test_bytes_give_a_model() -> None:
    one = model("g (float[2] x) => (y) { y = Relu(x) }")
    inferred = shape_inference.infer_shapes(one.SerializeToString())
    assert shapes(inferred)["y"] == [2]


def test_computed_values_decide_shapes_with_data_propagation_only() -> None:
    one = model("g (float[4, 1] x, float[1, 8] y) => (z) { s = Shape(x)  z = Expand(y, s) }")
    assert shapes(shape_inference.infer_shapes(one, data_prop=True))["z"] == [4, 8]
    assert shapes(shape_inference.infer_shapes(one))["z"] != [4, 8]


def test_an_ill_typed_model_raises_in_strict_mode_only() -> None:
    one = model("g (float[2, 3] x, float[4, 5] w) => (y) { h = Relu(x)  y = MatMul(x, w) }")
    with pytest.raises(onnx.shape_inference.InferenceError, match="MatMul"):
        shape_inference.infer_shapes(one, strict_mode=True)
    assert shapes(shape_inference.infer_shapes(one))["h"] == [2, 3]


@pytest.mark.parametrize("wrong", ["model.onnx", Path("model.onnx"), 3])
def test_other_arguments_raise_a_type_error(wrong: object) -> None:
    with pytest.raises(TypeError, match="infer_shapes only accepts ModelProto or bytes"):
        shape_inference.infer_shapes(wrong)


def test_malformed_bytes_raise_a_value_error() -> None:
    with pytest.raises(ValueError):
        shape_inference.infer_shapes(b"\xff\xff\xff no model")
    with pytest.raises(ValueError):
        checker.check_model(b"\xff\xff\xff no model")


def test_a_file_is_inferred_in_place_or_into_another(tmp_path: Path) -> None:
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model("g (float[2] x) => (y) { y = Relu(x) }"), source)
    shape_inference.infer_shapes_path(source, target)
    assert shapes(onnx.load(target))["y"] == [2]
    shape_inference.infer_shapes_path(str(source))
    assert source.read_bytes() == target.read_bytes()
    with pytest.raises(onnx.checker.ValidationError):
        shape_inference.infer_shapes_path(tmp_path / "missing.onnx")


def test_a_node_and_a_function_are_inferred() -> None:
    float_type = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])
    node = helper.make_node("Transpose", ["x"], ["y"])
    schema = onnx.defs.get_schema("Transpose", 21)
    found = shape_inference.infer_node_outputs(schema, node, {"x": float_type})
    assert [dim.dim_value for dim in found["y"].tensor_type.shape.dim] == [3, 2]
    with pytest.raises(KeyError):
        shape_inference.infer_node_outputs(schema, node, {})
    function = onnx.parser.parse_function(
        '<opset_import: ["" : 21], domain: "local"> f (a) => (b) { b = Cast<to=6>(a) }'
    )
    [result] = shape_inference.infer_function_output_types(function, [float_type], [])
    assert result.tensor_type.elem_type == TensorProto.INT32


def test_exceptions_are_those_of_the_reference() -> None:
    assert issubclass(shape_inference.InferenceError, onnx.shape_inference.InferenceError)
    assert issubclass(checker.ValidationError, onnx.checker.ValidationError)


BROKEN = {
    "no version": "ir_version",
    "no imports": "opset_import",
    "no graph": "graph",
}


@pytest.mark.parametrize("field", BROKEN.values(), ids=BROKEN.keys())
def test_a_model_without_a_required_field_is_refused(field: str) -> None:
    one = model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    checker.check_model(one)
    one.ClearField(field)
    for check in (checker.check_model, onnx.checker.check_model):
        with pytest.raises(onnx.checker.ValidationError):
            check(one)


STRUCTURES = [
    "g (float[2] x) => (float[2] y) { y = Relu(z) }",
    "g (float[2] x) => (float[2] y) { y = Relu(x)  y = Abs(x) }",
    "g (float[2] x) => (float[2] z) { y = Relu(x) }",
    "g (float[2] x) => (float[2] y) { y = Relu(x, x) }",
    "g (float[2] x) => (float[2] y) { y = Concat(x, x) }",
    "g (float[2] x) => (float[2] y) { y = Upsample(x, x) }",
    "g (float[2] x) => (float[2] y) { y = Unheard(x) }",
    "g (float[2] x) => (float[2] y) { y = Relu<alpha = 1.0>(x) }",
    "g (float[2] x) => (y) { y = Relu(x) }",
    "g (float[2] x, bool c) => (float[2] y) { y = If(c)<then_branch = a () => (x) { x = Abs(x) }, "
    "else_branch = b () => (z) { z = Abs(x) }> }",
]


@pytest.mark.parametrize("text", STRUCTURES)
def test_the_checker_refuses_what_the_reference_refuses(text: str) -> None:
    one = model(text)
    with pytest.raises(onnx.checker.ValidationError) as theirs:
        onnx.checker.check_model(one)
    with pytest.raises(checker.ValidationError) as ours:
        checker.check_model(one)
    assert type(ours.value) is checker.ValidationError
    assert str(theirs.value)


def test_parts_of_models_are_checked() -> None:
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])
    checker.check_tensor(tensor)
    tensor.dims[0] = 3
    with pytest.raises(checker.ValidationError):
        checker.check_tensor(tensor)
    checker.check_node(helper.make_node("Relu", ["x"], ["y"]))
    with pytest.raises(checker.ValidationError):
        checker.check_node(helper.make_node("Relu", [""], ["y"]))
    with pytest.raises(TypeError, match="TensorProto"):
        checker.check_tensor(helper.make_node("Relu", ["x"], ["y"]))


def test_external_data_stays_in_the_folder_of_the_model(tmp_path: Path) -> None:
    one = model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    tensor = one.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[1])
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add(key="location", value="w.bin")
    (tmp_path / "w.bin").write_bytes(bytes(4))
    onnx.save(one, tmp_path / "m.onnx")
    checker.check_model(tmp_path / "m.onnx")
    entry.value = "../w.bin"
    (tmp_path / "m.onnx").write_bytes(one.SerializeToString())
    with pytest.raises(checker.ValidationError):
        checker.check_model(tmp_path / "m.onnx")


def test_a_patch_can_be_undone() -> None:
    before = onnx.checker.check_model
    with tl.patch():
        assert onnx.checker.check_model is checker.check_model
        assert onnx.shape_inference.infer_shapes is shape_inference.infer_shapes
    assert onnx.checker.check_model is before
    patch = tl.patch()
    patch.undo()
    assert onnx.checker.check_model is before


def test_bytes_suffice_without_the_package_onnx() -> None:
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "from typeloom.onnx import checker, shape_inference\n"
        "model = sys.stdin.buffer.read()\n"
        "checker.check_model(model)\n"
        "sys.stdout.buffer.write(shape_inference.infer_shapes(model))\n"
    )
    one = model("g (float[2] x) => (float[2] y) { h = Relu(x)  y = Abs(h) }")
    run = subprocess.run(
        [sys.executable, "-c", code], input=one.SerializeToString(), capture_output=True, timeout=120, env=dict(os.environ)
    )
    assert run.returncode == 0, run.stderr.decode()
    assert shapes(onnx.ModelProto.FromString(run.stdout))["h"] == [2]
