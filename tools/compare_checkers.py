"""Prints what other tools report for the models of `docs/comparison.md`.

    pip install onnx==1.23.2 onnxruntime==1.32.0 sympy onnx-shape-inference==0.4.0 onnxsim==0.8.1
    python tools/compare_checkers.py

An answer is `accepted`, or the first line of an error. For `models/decoder.onnx` it also counts the inner values with an axis that has
neither a number nor a name of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import onnx_ir
import onnxsim
from onnx_shape_inference import infer_symbolic_shapes
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

ROOT = Path(__file__).resolve().parent.parent

HEADER = '<ir_version: 8, opset_import: ["" : 18]>\n'
#: Models with two independent errors.
TEXTS = {
    "two wrong shapes": "g (float[N, 4] x, float[5] b, float[3, 7] w) => (float[N, M] y, float[N, K] z) { y = Add(x, b) z = MatMul(x, w) }",
    "two mixed element types": "g (float[N, 4] x, float16[4] b, int64[4] c) => (float[N, M] y, float[N, K] z) { y = Add(x, b) z = Mul(x, c) }",
}
FILES = ["spec/models/mixed.onnx", "spec/models/baked_length.onnx", "models/control_flow.onnx", "models/decoder.onnx"]


def checker(model: onnx.ModelProto) -> onnx.ModelProto:
    onnx.checker.check_model(model, full_check=True)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def shape_inference(model: onnx.ModelProto) -> onnx.ModelProto:
    return onnx_ir.to_proto(infer_symbolic_shapes(onnx_ir.from_proto(model), warn_on_missing=False))


TOOLS: dict[str, Callable[[onnx.ModelProto], onnx.ModelProto]] = {
    "onnx.checker": checker,
    "ONNX Runtime": SymbolicShapeInference.infer_shapes,
    "onnx-shape-inference": shape_inference,
    "onnxsim": lambda model: onnxsim.simplify(model)[0],
}


def is_open(value: onnx.ValueInfoProto) -> bool:
    """Whether an axis has neither a number nor a name of the model."""
    tensor = value.type.tensor_type
    extents = tensor.shape.dim
    return not tensor.HasField("shape") or any(
        not extent.HasField("dim_value") and (not extent.dim_param or extent.dim_param.startswith("unk")) for extent in extents
    )


def main() -> None:
    models = {name: onnx.parser.parse_model(HEADER + text) for name, text in TEXTS.items()}
    models |= {name: onnx.load(ROOT / name) for name in FILES}
    for name, model in models.items():
        print(name)
        for tool, call in TOOLS.items():
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            try:
                result = call(copy)
            except Exception as error:
                print(f"  {tool}: {type(error).__name__}: {' '.join(str(error).split())}")
                continue
            values = result.graph.value_info
            print(f"  {tool}: accepted; {sum(map(is_open, values))} of {len(values)} inner values have an open axis, {len(result.graph.node)} nodes")


if __name__ == "__main__":
    main()
