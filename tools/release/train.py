"""Runs the checks of the package on models of every operator, to record a profile for `wheel.py`.

The models are the tests of operators in the package `onnx`, calls of functions, and short chains of the benchmark `infer_shapes.py`. The
networks and the recorded models that benchmarks measure are not among them. Each one is checked as it is, without the types of its outputs, with a symbol as the first extent of each input, and
with a wrong type of its last input.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import onnx.parser
import onnx.printer
from onnx.backend.test.loader import load_model_tests

import typeloom as tl
from typeloom.onnx import checker, shape_inference

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "python"))
from infer_shapes import chain  # noqa: E402 - the folder is no package

KINDS = ("simple", "pytorch-operator", "pytorch-converted")
MAX_BYTES = 2_000_000
# Programs infer the same few models again and again; a check of a model with many symbols takes a hundred times as long.
INFERENCES = 8

CALL = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
call (float[N, 4] x) => (float[N, 4] y) { h = local.twice (x) y = local.twice (h) }
<domain: "local", opset_import: ["" : 17, "local" : 1]>
twice (x) => (y) { h = Add (x, x) y = %s (h) }
"""
"""Calls of a function, which calls itself if the operator is `local.twice`."""


def recorded() -> Iterator[onnx.ModelProto]:
    for case in load_model_tests(kind="node"):
        yield case.model
    for kind in KINDS:
        for case in load_model_tests(kind=kind):
            if case.model_dir is not None:
                yield onnx.load(Path(case.model_dir, "model.onnx"))
    for nodes in (10, 100, 1_000):
        yield chain(nodes)
    for operator in ("Relu", "local.twice"):
        yield onnx.parser.parse_model(CALL % operator)


def variants(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    yield model
    untyped = onnx.ModelProto()
    untyped.CopyFrom(model)
    for output in untyped.graph.output:
        output.ClearField("type")
    yield untyped
    symbolic = onnx.ModelProto()
    symbolic.CopyFrom(untyped)
    for at, value in enumerate(symbolic.graph.input):
        extents = value.type.tensor_type.shape.dim
        if extents:
            extents[0].dim_param = f"n{at}"
    yield symbolic
    wrong = onnx.ModelProto()
    wrong.CopyFrom(untyped)
    for value in list(wrong.graph.input)[-1:]:
        tensor = value.type.tensor_type
        tensor.elem_type = onnx.TensorProto.BOOL if tensor.elem_type == onnx.TensorProto.STRING else onnx.TensorProto.STRING
    yield wrong


def attempt(function: Callable[..., object], *arguments: object) -> None:
    """Some functions raise for wrong variants."""
    try:
        function(*arguments)
    except Exception:  # noqa: BLE001 - see above
        pass


def main() -> None:
    for model in recorded():
        if model.ByteSize() > MAX_BYTES:
            continue
        for variant in variants(model):
            for _ in range(INFERENCES):
                attempt(shape_inference.infer_shapes, variant)
            attempt(shape_inference.infer_shapes, variant, True, True, True)
            attempt(checker.check_model, variant)
            attempt(tl.check, variant)
            attempt(tl.annotate, variant)
        attempt(tl.check, onnx.printer.to_text(model))


if __name__ == "__main__":
    with warnings.catch_warnings():
        # The tests of casts and of divisions by zero compute their expected values.
        warnings.simplefilter("ignore")
        main()
