#!/usr/bin/env python3
"""Runs repaired models in ONNX Runtime: repair_law.py FOLDER

FOLDER has the models that `cargo run -p typeloom-differential --example repairs -- --write FOLDER` wrote. For each, the model of
the nodes that were right is executed before the repair and the repaired model after it, and the values of these nodes are
compared bit by bit. Needs onnxruntime and numpy. Exit code 1 if a value differs or a repaired model does not load.
"""
import json
import pathlib
import sys

import numpy as np
import onnxruntime as ort

TYPES = {"float": np.float32, "float16": np.float16, "double": np.float64, "int32": np.int32, "int64": np.int64,
         "uint8": np.uint8, "bool": np.bool_}
SHAPE = (2, 3)

ort.set_default_logger_severity(4)


def session(path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def tensor(value):
    if value["type"] == "string":
        return np.array(value["elements"], dtype=object).reshape(SHAPE)
    return np.frombuffer(bytes(value["elements"]), dtype=TYPES[value["type"]]).reshape(SHAPE)


def same(left, right):
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    return (left == right).all() if left.dtype == object else left.tobytes() == right.tobytes()


def judge(folder, case):
    """The number of compared values, or the reason why the models are not compared or differ."""
    inputs = {name: tensor(value) for name, value in case["inputs"].items()}
    values = case["values"]
    try:
        after = session(folder["after"])
    except Exception as error:  # noqa: BLE001
        missing = "NOT_IMPLEMENTED" in str(error)
        return ("no kernel" if missing else "VIOLATION the repaired model does not load"), str(error)
    if not values:
        try:
            after.run(None, {port.name: inputs[port.name] for port in after.get_inputs()})
        except Exception as error:  # noqa: BLE001
            return "VIOLATION the repaired model does not run", str(error)
        return 0, ""
    try:
        before = session(folder["before"])
        expected = before.run([old for old, _ in values], {port.name: inputs[port.name] for port in before.get_inputs()})
    except Exception as error:  # noqa: BLE001
        return "the right nodes do not run", str(error)
    try:
        found = after.run([new for _, new in values], {port.name: inputs[port.name] for port in after.get_inputs()})
    except Exception as error:  # noqa: BLE001
        return "VIOLATION the repaired model does not run", str(error)
    for (name, _), left, right in zip(values, expected, found):
        if not same(left, right):
            return "VIOLATION a value differs", f"{name}: {left.tolist()} {right.tolist()}"
    return len(values), ""


def main(path):
    counts, compared = {}, 0
    for file in sorted(pathlib.Path(path).glob("*.json")):
        stem = str(file)[: -len(".json")]
        result, detail = judge({"before": stem + ".before.onnx", "after": stem + ".after.onnx"}, json.loads(file.read_text()))
        if isinstance(result, int):
            compared += result
            result = "compared"
        elif result.startswith("VIOLATION"):
            print(f"{stem}: {result}: {detail.splitlines()[0][:300]}")
        counts[result] = counts.get(result, 0) + 1
    print(f"{compared} values;", "; ".join(f"{count} models: {name}" for name, count in sorted(counts.items())))
    return any(name.startswith("VIOLATION") for name in counts)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
