"""Compares `typeloom.onnx.shape_inference.infer_shapes` with the reference in one run.

    cargo run --release -- infer_shapes [--models FOLDER] [--seconds S]

Both functions get the same `onnx.ModelProto` and return one; serialisation is part of the time. Calls alternate, so that changes of
the machine's speed concern both. Printed are medians in milliseconds, the ratio of the reference's median to typeloom's, and the time
that both spend to serialise the message and to parse the result.

The models are chains of residual blocks with 10 to 100,000 nodes, and with ``--models`` every file of a folder (for example the
small models of ``conformance/inference/models``), whose ratios are summarized. Exit code 1 if a promise is broken: at least 4 times as
fast as the reference at 1,001 nodes; of the small models, a median ratio of at least 1.2, and none below 0.8. They are promises about the
wheels of releases (``maturin build --profile dist``); a package that pip builds from the sources has a median of about 1.15. The machine
must be idle.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx.shape_inference
from onnx import TensorProto, helper

from typeloom.onnx import shape_inference

SIZES = (10, 100, 1_000, 10_000, 100_000)
MAX_ROUNDS = 200
CHAIN = 4.0
MEDIAN = 1.2
LEAST = 0.8


def chain(nodes: int) -> onnx.ModelProto:
    """A model of `nodes` nodes: blocks of MatMul, Add, Relu and a residual Add on ``float[N, 64]``."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, (64, 64), bytes(4 * 64 * 64), raw=True)
    bias = helper.make_tensor("b", TensorProto.FLOAT, (64,), bytes(4 * 64), raw=True)
    made: list[onnx.NodeProto] = []
    last = "x"
    for at in range(nodes // 4):
        made.append(helper.make_node("MatMul", [last, "w"], [f"m{at}"]))
        made.append(helper.make_node("Add", [f"m{at}", "b"], [f"a{at}"]))
        made.append(helper.make_node("Relu", [f"a{at}"], [f"r{at}"]))
        made.append(helper.make_node("Add", [f"r{at}", last], [f"s{at}"]))
        last = f"s{at}"
    made.append(helper.make_node("Identity", [last], ["y"]))
    graph = helper.make_graph(
        made,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weight, bias],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def once(function: Callable[[Any], Any], model: onnx.ModelProto) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    try:
        function(model)
    except Exception:  # noqa: BLE001 - some recorded models are ill-typed, for both functions
        pass
    return time.perf_counter() - start


def compare(model: onnx.ModelProto, seconds: float) -> tuple[float, float]:
    """The medians of the reference and of typeloom, in seconds."""
    ours: list[float] = []
    theirs: list[float] = []
    once(shape_inference.infer_shapes, model)
    once(onnx.shape_inference.infer_shapes, model)
    end = time.perf_counter() + seconds
    while len(ours) < 3 or (time.perf_counter() < end and len(ours) < MAX_ROUNDS):
        theirs.append(once(onnx.shape_inference.infer_shapes, model))
        ours.append(once(shape_inference.infer_shapes, model))
    return statistics.median(theirs), statistics.median(ours)


def protobuf(model: onnx.ModelProto, seconds: float) -> float:
    """The median time to serialise a model and to parse its result, in seconds."""
    result = shape_inference.infer_shapes(model).SerializeToString()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < MAX_ROUNDS):
        start = time.perf_counter()
        model.SerializeToString()
        onnx.ModelProto.FromString(result)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="a folder of models")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each chain")
    options = parser.parse_args()
    out = sys.stdout.write
    out(f"{'nodes':>8} {'reference ms':>13} {'typeloom ms':>12} {'ratio':>7} {'protobuf ms':>12}\n")
    broken: list[str] = []
    for size in SIZES:
        model = chain(size)
        theirs, ours = compare(model, options.seconds)
        if size == 1_000 and theirs / ours < CHAIN:
            broken.append(f"{theirs / ours:.2f} times at {size + 1} nodes, {CHAIN} promised")
        common = protobuf(model, options.seconds / 4)
        out(f"{len(model.graph.node):>8} {theirs * 1e3:>13.3f} {ours * 1e3:>12.3f} {theirs / ours:>7.2f} {common * 1e3:>12.3f}\n")
    if options.models is not None:
        ratios: list[tuple[float, str]] = []
        for path in sorted(options.models.iterdir()):
            theirs, ours = compare(onnx.ModelProto.FromString(path.read_bytes()), options.seconds / 100)
            ratios.append((theirs / ours, path.name))
        ratios.sort()
        slower = sum(ratio < 1 for ratio, _ in ratios)
        middle = ratios[len(ratios) // 2][0]
        out(f"{len(ratios)} small models: least ratio {ratios[0][0]:.2f} ({ratios[0][1]}), median {middle:.2f}, ")
        out(f"{slower} slower than the reference\n")
        if middle < MEDIAN:
            broken.append(f"median {middle:.2f} of the small models, {MEDIAN} promised")
        broken.extend(f"{ratio:.2f} times for {name}, {LEAST} promised" for ratio, name in ratios if ratio < LEAST)
    for promise in broken:
        out(f"broken: {promise}\n")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
