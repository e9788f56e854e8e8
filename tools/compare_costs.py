"""Compares the operation counts of `typeloom cost` with those of onnx-tool.

    pip install onnx==1.23.2 onnx-tool==1.0.1
    python tools/compare_costs.py target/debug/typeloom MODEL...

Both are compared node by node. onnx-tool counts the addition of a bias as a multiply-accumulate, and elementary functions as several,
so a node is equal if its number there is that of multiply-accumulates and other operations here (FLOPs - MACs). Each difference is
printed once for an operator, with the party that is right and the reason; `docs/costs.md` explains them. The exit code is 1 if a
difference has no known reason.

Symbols of inputs get values: 1 for the first axis, 64 for others.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy
import onnx
import onnx_tool

#: The reasons of differences: who is right, and why.
REASONS = {
    "Add": "typeloom: onnx-tool computes scalars of shapes itself and counts none",
    "ArgMax": "typeloom: onnx-tool counts no comparisons",
    "AveragePool": "both: a mean is k - 1 sums and a quotient; onnx-tool has no quotient or counts it as 4",
    "BatchNormalization": "both: 4 operations for each element here; onnx-tool computes the square root for each element",
    "Cast": "typeloom: a cast is no arithmetic",
    "Clip": "both: maximum and minimum are 2 here",
    "Conv": "typeloom: onnx-tool counts 0 for a node with an unknown or padded form",
    "ConvTranspose": "typeloom: the window of the output channels meets each input element, not each output element",
    "Cos": "both: an elementary function is 1 here",
    "Div": "both: a quotient is 1 here and 4 there",
    "Erf": "both: an elementary function is 1 here",
    "Exp": "both: an elementary function is 1 here",
    "Gather": "typeloom: copies are no arithmetic",
    "Gelu": "both: elementary functions are 1 here",
    "GlobalAveragePool": "both: a quotient is 1 here and 4 there",
    "HardSigmoid": "both: product, sum, maximum and minimum are 4 here",
    "HardSwish": "both: product, sum, maximum, minimum and product are 5 here",
    "InstanceNormalization": "both: 7 operations for each element here",
    "LRN": "both: sums and products of the window, power and quotient; elementary functions are 1 here",
    "LSTM": "both: elementary functions are 1 here",
    "LayerNormalization": "both: 7 operations for each element here",
    "LeakyRelu": "both: comparison and product are 2 here",
    "Log": "both: an elementary function is 1 here",
    "LogSoftmax": "both: elementary functions are 1 here",
    "MaxPool": "typeloom: the maximum of k elements needs k - 1 comparisons",
    "Mod": "both: a quotient is 1 here",
    "Mul": "typeloom: onnx-tool computes scalars of shapes itself and counts none",
    "Not": "typeloom: one operation for each element",
    "PRelu": "both: comparison and product are 2 here",
    "Pow": "both: an elementary function is 1 here",
    "Range": "typeloom: onnx-tool has no count",
    "Reciprocal": "both: a quotient is 1 here",
    "ReduceMean": "typeloom: the quotient is counted too",
    "Resize": "both: a weighted sum of 2 neighbours along each axis here; onnx-tool counts 4 for any number of axes",
    "Sigmoid": "both: elementary functions are 1 here",
    "Sin": "both: an elementary function is 1 here",
    "Softmax": "both: elementary functions are 1 here",
    "Softplus": "both: elementary functions are 1 here",
    "Sqrt": "both: an elementary function is 1 here",
    "Sub": "typeloom: onnx-tool computes scalars of shapes itself and counts none",
    "Sum": "typeloom: n operands need n - 1 sums",
    "Tanh": "both: an elementary function is 1 here",
    "Upsample": "both: a weighted sum of neighbours here",
    "Where": "both: one selection for each element here",
}


def sizes(model: onnx.ModelProto) -> tuple[dict[str, int], dict[str, numpy.ndarray]]:
    """Values of symbols, and inputs of these shapes."""
    constants = {tensor.name for tensor in model.graph.initializer}
    symbols: dict[str, int] = {}
    inputs: dict[str, numpy.ndarray] = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        shape = []
        for axis, dim in enumerate(tensor.shape.dim):
            if dim.dim_param:
                symbols.setdefault(dim.dim_param, 1 if axis == 0 else 64)
            shape.append(symbols[dim.dim_param] if dim.dim_param else dim.dim_value)
        inputs[value.name] = numpy.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return symbols, inputs


def ours(command: str, path: Path, symbols: dict[str, int]) -> dict:
    assumed = [part for name, value in symbols.items() for part in ("--assume", f"{name}={value}")]
    arguments = [command, "cost", str(path), "--no-config", "--format", "json", "--nodes", "10000000", *assumed]
    answer = subprocess.run(arguments, capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError((answer.stderr or answer.stdout).strip().splitlines()[0])
    return json.loads(answer.stdout)


def theirs(path: Path, inputs: dict[str, numpy.ndarray]) -> dict[str, int]:
    """The count of each node, by its first output."""
    with contextlib.redirect_stdout(io.StringIO()):
        graph = onnx_tool.Model(str(path), {"verbose": False}).graph
        graph.shape_infer(inputs)
        graph.profile()
    return {node.output[0]: int(node.macs[0]) for node in graph.nodemap.values() if node.output}


def main() -> int:
    command, *paths = sys.argv[1:]
    equal: Counter[str] = Counter()
    differing: dict[str, list[str]] = defaultdict(list)
    for path in map(Path, paths):
        model = onnx.load(path, load_external_data=False)
        try:
            symbols, inputs = sizes(model)
            cost = ours(command, path, symbols)
            found = theirs(path, inputs)
        except Exception as error:  # noqa: BLE001 onnx-tool raises errors of any class
            print(f"{path.name}: not compared: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            continue
        counts = {node["index"]: node for node in cost["nodes"]}
        compared = [0, 0]
        for index, node in enumerate(model.graph.node):
            count = found.get(node.output[0]) if node.output else None
            mine = counts.get(index, {"flops": {"number": 0}, "macs": {"number": 0}})
            numbers = [mine[key]["number"] for key in ("flops", "macs")]
            if count is None or None in numbers:
                continue
            flops, macs = numbers
            is_equal = count == flops - macs
            compared[is_equal] += 1
            if is_equal:
                equal[node.op_type] += 1
            else:
                differing[node.op_type].append(f"{path.name} `{node.output[0]}`: {flops - macs} here, {count} there")
        undecided = ", ".join(f"{it['operator']} ({it['what']})" for it in cost["undecided"])
        print(f"{path.name}: {compared[True]} nodes equal, {compared[False]} different{'; undecided: ' + undecided if undecided else ''}")
    print()
    unknown = 0
    for operator in sorted(equal.keys() | differing.keys()):
        rows = differing.get(operator, [])
        line = f"{operator}: {equal[operator]} equal, {len(rows)} different"
        if rows:
            reason = REASONS.get(operator)
            unknown += reason is None
            line += f"; {reason or 'NO KNOWN REASON'}; first: {rows[0]}"
        print(line)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
