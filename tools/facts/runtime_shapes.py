#!/usr/bin/env python3
"""Record the types that ONNX Runtime computes for the graphs in `crates/ops/tests/runtime_shapes/`.

    pip install onnxruntime==1.31.1 onnx==1.23.2
    python3 tools/facts/runtime_shapes.py            # rewrites the recorded lines
    python3 tools/facts/runtime_shapes.py --check    # exit 1 if a recorded line differs

A file consists of graphs in ONNX's textual syntax, one a line, each followed by what happened when it ran:

    opset 21
    g (float[2,3] x) => (y) { y = Relu(x) }
      y float[2,3]
    g (float[2,3] x, float[2] z) => (y) { y = Add(x, z) }
      rejected

`opset` and `ml` set the versions of the domains `ai.onnx` and `ai.onnx.ml` for the graphs that follow. `rejected`: ONNX
Runtime refuses the graph when it loads or runs it. `unavailable`: it has no kernel for these element types. This script
writes the indented lines and keeps all others. `crates/ops/tests/runtime_shapes.rs` compares the solver with the recorded
lines, and documents the marks before a graph.
"""

import argparse
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, parser

VERSION = "1.31.1"
FOLDER = Path(__file__).resolve().parents[2] / "crates" / "ops" / "tests" / "runtime_shapes"


def main() -> int:
    arguments = argparse.ArgumentParser(description="record what ONNX Runtime computes")
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--reasons", action="store_true", help="print why graphs are rejected")
    options = arguments.parse_args()
    if ort.__version__ != VERSION:
        raise SystemExit(f"onnxruntime is {ort.__version__}; the recorded lines come from {VERSION}")
    differs = False
    for path in sorted(FOLDER.glob("*.txt")):
        before = path.read_text()
        after = record(before, options.reasons)
        if after != before:
            differs = True
            print(f"{path} {'would change' if options.check else 'changed'}")
            if not options.check:
                path.write_text(after)
    return int(options.check and differs)


def record(text: str, reasons: bool) -> str:
    lines, versions = [], {"opset": 21, "ml": 5}
    for line in text.splitlines():
        if line.startswith(" "):
            continue
        lines.append(line)
        if line.startswith(tuple(versions)):
            versions[line.split()[0]] = int(line.split()[1])
        graph = line.lstrip("~! ")
        if graph.startswith("g ("):
            outcome, reason = attempt(graph, versions)
            lines += [f"  {line}" for line in outcome]
            if reasons and reason:
                print(f"{line}\n    {reason}")
    return "\n".join(lines) + "\n"


def attempt(graph: str, versions: dict[str, int]) -> tuple[list[str], str]:
    """What a graph comes to, in a process of its own: some invalid graphs crash ONNX Runtime."""
    processes = multiprocessing.get_context("fork")
    ours, theirs = processes.Pipe(duplex=False)
    child = processes.Process(target=lambda: theirs.send(outcome_of(graph, versions)))
    child.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return ["rejected"], "crashed"
    finally:
        child.join()


def outcome_of(graph: str, versions: dict[str, int]) -> tuple[list[str], str]:
    try:
        return [f"{name} {ty}" for name, ty in run(graph, versions)], ""
    except Exception as error:  # noqa: BLE001: the kind does not matter
        reason = " ".join(str(error).split())[:300]
        return ["unavailable" if "NOT_IMPLEMENTED" in reason else "rejected"], reason


def run(graph: str, versions: dict[str, int]) -> list[tuple[str, str]]:
    imports = f'"": {versions["opset"]}, "ai.onnx.ml": {versions["ml"]}, "com.microsoft": 1, "com.microsoft.nchwc": 1'
    model = parser.parse_model(f"<ir_version: 10, opset_import: [{imports}]> {graph}")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {given.name: data(given.type) for given in model.graph.input}
    results = session.run(None, feeds)
    outputs = session.get_outputs()
    return [(output.name, type_of(output.type, result)) for output, result in zip(outputs, results)]


def data(ty: onnx.TypeProto):
    """Some data of a type: small positive floats, zeros and ones."""
    if ty.HasField("sequence_type"):
        return [data(ty.sequence_type.elem_type)] * 2
    if ty.HasField("map_type"):
        key = "a" if ty.map_type.key_type == TensorProto.STRING else 1
        value = data(ty.map_type.value_type).reshape(-1)[0].item()
        return {key: value}
    shape = [dim.dim_value for dim in ty.tensor_type.shape.dim]
    elem = ty.tensor_type.elem_type
    count = int(np.prod(shape))
    if elem == TensorProto.STRING:
        return np.array(["a b"] * count, dtype=object).reshape(shape)
    dtype = helper.tensor_dtype_to_np_dtype(elem)
    if np.issubdtype(dtype, np.floating):
        values = (np.arange(count) * 7 % 11 + 1) / 12
    else:
        values = np.arange(count) % 2
    return values.astype(dtype).reshape(shape)


def type_of(declared: str, value) -> str:
    """A type as the textual syntax writes it, from ONNX Runtime's own notation and the value."""
    constructor, inner = declared[:-1].split("(", 1)
    if constructor == "tensor":
        return f"{inner}[{','.join(map(str, value.shape))}]" if value.ndim else inner
    if constructor == "optional":
        return f"optional({type_of(inner, value)})"
    if constructor == "seq":
        inside = [type_of(inner, item) for item in value]
        same = inside and all(one == inside[0] for one in inside)
        return f"seq({inside[0] if same else erased(inner)})"
    if constructor == "map":
        key, item = inner.split(",", 1)
        return f"map({key},{erased(item)})"
    raise SystemExit(f"{declared} is not known")


def erased(declared: str) -> str:
    """A type without extents."""
    constructor, inner = declared[:-1].split("(", 1)
    if constructor == "tensor":
        return f"{inner}[]"
    if constructor == "map":
        key, item = inner.split(",", 1)
        return f"map({key}, {erased(item)})"
    return f"{constructor}({erased(inner)})"


if __name__ == "__main__":
    sys.exit(main())
