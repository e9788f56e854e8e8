#!/usr/bin/env python3
"""Record values that ONNX Runtime computes for random calls of operators outside ONNX's default domain.

    pip install onnxruntime==1.31.1 onnx==1.23.2
    python3 tools/facts/runtime_values.py                       # rewrites the recorded cases
    python3 tools/facts/runtime_values.py --count 50 --seed 7 --out DIR [--only Attention]

Writes `ml.txt` and `contrib.txt`: graphs of one node in ONNX's textual syntax, each followed by its inputs and
results:

    g (float[2] x) => (y) { y = com.microsoft.Gelu (x) }
      in x float [2] [1.0, -1.0]
      out y float [2] [0.8413447, -0.15865526]

Maps are written as their keys and their values, and the maps of a sequence, which have the same keys, as `maps` with a row of values
for each:

      in x map int64 [2] [1, 3] float [2] [0.5, 2.0]

`cargo test -p typeloom-runtime runtime_values` runs the graphs and compares. It reads the recorded cases in its folder, and
those in the folder `TYPELOOM_RUNTIME_VALUES`. Cases that ONNX Runtime refuses are counted and dropped.
"""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import helper, parser

sys.path.insert(0, str(Path(__file__).resolve().parent))
from runtime_values import contrib, ml  # noqa: E402
from runtime_values.case import DTYPES, is_present  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "crates" / "runtime" / "tests" / "runtime_values"


def literal(value):
    """An attribute in ONNX's textual syntax."""
    if isinstance(value, np.ndarray):
        numbers = ", ".join(repr(item.item()) for item in value.reshape(-1))
        return f"{DTYPES[value.dtype.name]}{list(value.shape)} {{{numbers}}}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(float(np.float32(value)))
    return repr(int(value))


def graph(case):
    """The case as a graph in ONNX's textual syntax."""
    def declared(name, array):
        if isinstance(array, dict):
            return f"map({'string' if isinstance(next(iter(array)), str) else 'int64'}, float) {name}"
        return f"{DTYPES[array.dtype.name]}{list(array.shape) or ''} {name}"

    given = [(name, array) for name, array in case.inputs if is_present(array)]
    inputs = ", ".join(declared(name, array) for name, array in given if name not in case.constants)
    constants = ", ".join(
        f"{declared(name, array)} = {{{', '.join(literal(item.item()) for item in array.reshape(-1))}}}"
        for name, array in given
        if name in case.constants
    )
    attributes = ", ".join(f"{name} = {literal(value)}" for name, value in case.attributes.items())
    operands = ", ".join(name if is_present(array) else '""' for name, array in case.inputs)
    results = ", ".join(case.outputs)
    named = ", ".join(name for name in case.outputs if name != '""')
    node = f"{results} = {case.op}" + (f" <{attributes}>" if attributes else "") + f" ({operands})"
    return f"g ({inputs}) => ({named})" + (f" <{constants}>" if constants else "") + f" {{ {node} }}"


def model(text, versions):
    parsed = parser.parse_graph(text)
    imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return helper.make_model(parsed, opset_imports=imports, ir_version=10)


def values(array):
    array = np.asarray(array)
    if array.dtype.name in ("float16", "float32", "float64"):
        def number(item):
            return str(item) if not np.isfinite(item) else float(f"{float(item):.9g}" if array.dtype != np.float64 else item)
        return json.dumps([number(item) for item in array.reshape(-1)])
    return json.dumps(array.reshape(-1).tolist())


def line(kind, name, array):
    maps = [array] if isinstance(array, dict) else array if isinstance(array, list) else []
    if maps:
        keys = sorted(maps[0])
        keyed = line("", "", np.array(keys)).strip()
        rows = np.array([[it[key] for key in keys] for it in maps], np.float32)
        rows = rows[0] if isinstance(array, dict) else rows
        return f"  {kind} {name} {'map' if isinstance(array, dict) else 'maps'} {keyed} {line('', '', rows).strip()}"
    array = np.asarray(array)
    dtype = "string" if array.dtype == object or array.dtype.kind == "U" else DTYPES[array.dtype.name]
    return f"  {kind} {name} {dtype} {json.dumps(list(array.shape))} {values(array)}"


def run_in_place(session, case, feeds):
    """Runs a session that writes some results to the memory of copies of inputs."""
    copies = {name: array.copy() for name, array in feeds.items()}
    bound = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in copies.items()}
    binding = session.io_binding()
    for name, value in bound.items():
        binding.bind_ortvalue_input(name, value)
    for name in case.outputs:
        if name in case.in_place:
            binding.bind_ortvalue_output(name, bound[case.in_place[name]])
        else:
            binding.bind_output(name)
    session.run_with_iobinding(binding)
    return [output.numpy().copy() for output in binding.get_outputs()]


def record(case, refused, reasons):
    text = graph(case)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    feeds = {name: array for name, array in case.inputs if is_present(array) and name not in case.constants}
    try:
        session = ort.InferenceSession(model(text, case.versions).SerializeToString(), options)
        results = run_in_place(session, case, feeds) if case.in_place else session.run(None, feeds)
    except Exception as error:
        refused[case.op] += 1
        if reasons:
            print(f"{text[:300]}\n    {str(error)[:300]}")
        return []
    lines = [text]
    lines += [line("in", name, array) for name, array in feeds.items()]
    named = [name for name in case.outputs if name != '""']
    lines += [line("out", name, array) for name, array in zip(named, results) if name not in case.unspecified]
    return lines


def main():
    arguments = argparse.ArgumentParser(description="record what ONNX Runtime computes")
    arguments.add_argument("--count", type=int, default=3, help="cases for each form of an operator")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--out", type=Path, default=FOLDER)
    arguments.add_argument("--only", default="", help="operators whose name matches this expression")
    arguments.add_argument("--reasons", action="store_true", help="print why cases are refused")
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, module in (("ml", ml), ("contrib", contrib)):
        lines, refused, kept = [], Counter(), Counter()
        versions = None
        for at, (op, make) in enumerate(module.FORMS):
            if not re.search(options.only, op):
                continue
            for number in range(options.count):
                random = np.random.default_rng([options.seed, at, number])
                case = make(random)
                recorded = record(case, refused, options.reasons)
                if recorded and case.versions != versions:
                    versions = case.versions
                    lines.append("versions " + json.dumps(versions))
                lines += recorded
                kept[case.op] += bool(recorded)
        (options.out / f"{name}.txt").write_text("\n".join(lines) + "\n" if lines else "")
        total = sum(kept.values())
        print(f"{name}: {total} cases; refused: {dict(refused)}; without cases: {[op for op in kept if not kept[op]]}")


if __name__ == "__main__":
    main()
