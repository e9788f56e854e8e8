#!/usr/bin/env python3
"""Holds annotations against values: annotation_law.py [--typeloom COMMAND] [--seed N] PATH...

Each path is a model or a folder of models. `typeloom annotate` writes the types of all values into a copy, which onnx's reference
evaluator then runs at several random sizes of the symbols. The evaluator compares each computed value with its annotation
(`check_shape_annotations=True`). A model that does not run without these comparisons either is counted and left out. The evaluator
skips loops without a condition and some checks of operators (the sum of the sizes of `Split`, the pads of `MaxPool`, the end of
`Shape`), and it gives collected scalars a second axis. So such loops get a condition, and where the evaluator contradicts an
annotation, ONNX Runtime runs the model, too: the annotation is false unless ONNX Runtime rejects the inputs or computes another shape
than the evaluator. It does not return values of nested graphs and functions; these are counted apart. Needs onnx 1.23 or newer,
onnxruntime and numpy. Exit code 1 if an annotation is false.
"""
import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from onnx.reference.shape_annotation_checker import ShapeAnnotationError

BINDINGS = 3
SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16)


def extent(dim, symbols, draw):
    """The extent of a declared axis; a text of names, numbers and arithmetic is evaluated."""
    if dim.HasField("dim_value"):
        return dim.dim_value
    if not dim.dim_param:
        return draw.choice(SIZES)
    names = {name: symbols.setdefault(name, draw.choice(SIZES)) for name in re.findall(r"[A-Za-z_]\w*", dim.dim_param)}
    try:
        return int(eval(dim.dim_param, {"__builtins__": {}}, names))  # noqa: S307
    except (SyntaxError, TypeError, ValueError, NameError, ZeroDivisionError):
        return symbols.setdefault(dim.dim_param, draw.choice(SIZES))


def feeds(model, draw):
    """Random inputs; `None` if an input is no tensor or its size is negative."""
    symbols, values = {}, {}
    initialized = {it.name for it in model.graph.initializer}
    numbers = np.random.default_rng(draw.randrange(2**32))
    for port in model.graph.input:
        kind = port.type.tensor_type
        if port.name in initialized:
            continue
        if not port.type.HasField("tensor_type") or not kind.HasField("shape") or kind.elem_type == onnx.TensorProto.STRING:
            return None
        shape = [extent(dim, symbols, draw) for dim in kind.shape.dim]
        if any(size < 0 for size in shape):
            return None
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        is_float = np.issubdtype(dtype, np.floating)
        values[port.name] = np.asarray(numbers.standard_normal(shape) if is_float else numbers.integers(0, 2, shape)).astype(dtype)
    return values


def with_conditions(model):
    """Gives loops without a condition a true one, which means the same: the evaluator does not run them otherwise."""

    def fill(graph):
        loops = 0
        for node in graph.node:
            if node.op_type == "Loop" and len(node.input) > 1 and not node.input[1]:
                node.input[1] = "always"
                loops += 1
            loops += sum(fill(attribute.g) for attribute in node.attribute if attribute.HasField("g"))
        return loops

    if fill(model.graph):
        model.graph.initializer.append(onnx.helper.make_tensor("always", onnx.TensorProto.BOOL, [], [True]))
    return model


def is_mistake(path, name, values):
    """Whether ONNX Runtime rejects the inputs, or computes another shape of a value than the evaluator; `None` for an inner value."""
    model = with_conditions(onnx.load(path))
    onnxruntime.set_default_logger_severity(4)
    is_inner = not any(name in node.output for node in model.graph.node)
    if not is_inner and name not in [output.name for output in model.graph.output]:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        found = session.run(None if is_inner else [name], values)
    except Exception:  # noqa: BLE001
        return True
    return None if is_inner else np.shape(found[0]) != np.shape(ReferenceEvaluator(model).run([name], values)[0])


def judge(path, command, draw):
    """The number of runs with true annotations, and the first false one."""
    with tempfile.TemporaryDirectory() as folder:
        annotated = pathlib.Path(folder, "annotated.onnx")
        done = subprocess.run([command, "annotate", str(path), "-o", str(annotated)], capture_output=True, text=True, check=False)
        if not annotated.exists():
            return "not annotated", done.stderr.strip()[-300:]
        model = with_conditions(onnx.load(annotated))
    try:
        evaluator = ReferenceEvaluator(model, check_shape_annotations=True)
    except Exception as error:  # noqa: BLE001
        return "not loaded by the evaluator", str(error)
    runs = 0
    for _ in range(BINDINGS):
        values = feeds(model, draw)
        if values is None:
            return "without random inputs", ""
        try:
            evaluator.run(None, values)
            runs += 1
        except ShapeAnnotationError as error:
            try:
                ReferenceEvaluator(model).run(None, values)
                ReferenceEvaluator(with_conditions(onnx.load(path)), check_shape_annotations=True).run(None, values)
            except Exception:  # noqa: BLE001, S112
                # The inputs are invalid, or the model's own declarations are false for them.
                continue
            mistake = is_mistake(path, str(error).partition("'")[2].partition("'")[0], values)
            if mistake is None:
                return "contradicted by the evaluator in a nested graph or function", ""
            if mistake:
                continue
            return "FALSE", f"{error}, with {({name: value.shape for name, value in values.items()})}"
        except Exception:  # noqa: BLE001, S112
            continue
    return ("true" if runs else "does not run at these sizes"), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--typeloom", default="typeloom")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    paths = [it for path in arguments.paths for it in (sorted(path.rglob("*.onnx")) if path.is_dir() else [path])]
    counts = collections.Counter()
    for path in paths:
        verdict, detail = judge(path, arguments.typeloom, random.Random(f"{arguments.seed} {path.name}"))
        counts[verdict] += 1
        if verdict == "FALSE":
            print(f"{path}: {detail}")
    for verdict, count in sorted(counts.items()):
        print(f"{count:6} {verdict}")
    return int(counts["FALSE"] > 0 or counts["true"] == 0)


if __name__ == "__main__":
    sys.exit(main())
