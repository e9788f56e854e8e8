#!/usr/bin/env python3
"""Holds conversions against ONNX Runtime: convert_law.py [--typeloom COMMAND] [--to TYPE] [--step N] PATH...

Each path is a model or a folder of models. Every model with float values that ONNX Runtime loads is converted by `typeloom convert` and
by ONNX Runtime's own converter (`onnxruntime.transformers.float16`). The law:

- the result loads in ONNX Runtime;
- no inserted `Cast` reads the result of a `Cast` or is read by one;
- it has no more new casts than the result of the other converter, if that one loads;
- over all of these models together it has at most 60 % of its new casts.

A model for which `typeloom convert` states that nothing can be converted is counted and left out. Exit code 1 if the law is broken.
Needs onnx, onnxruntime and numpy.
"""
import argparse
import collections
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import onnx
import onnxruntime
from onnxruntime.transformers.float16 import convert_float_to_float16

FLOAT = onnx.TensorProto.FLOAT


def graphs(model):
    """All graphs and functions of a model, with nested ones."""
    open_graphs = [model.graph, *model.functions]
    while open_graphs:
        graph = open_graphs.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    open_graphs.append(attribute.g)
                open_graphs.extend(attribute.graphs)


def has_floats(model):
    """Whether the file states a float type: of an input, an output, a tensor or a cast."""
    for graph in graphs(model):
        if any(tensor.data_type == FLOAT for tensor in getattr(graph, "initializer", ())):
            return True
        for port in [*getattr(graph, "input", ()), *getattr(graph, "output", ())]:
            if not isinstance(port, str) and port.type.tensor_type.elem_type == FLOAT:
                return True
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name == "to" and attribute.i == FLOAT or attribute.t.data_type == FLOAT:
                    return True
    return False


def casts(model):
    return sum(node.op_type == "Cast" for graph in graphs(model) for node in graph.node)


def chains(model):
    """The casts that read a cast, by their outputs."""
    found = set()
    for graph in graphs(model):
        made = {node.output[0] for node in graph.node if node.op_type == "Cast"}
        found |= {(node.input[0], node.output[0]) for node in graph.node if node.op_type == "Cast" and node.input[0] in made}
    return found


def load(model_bytes, folder):
    """The error of ONNX Runtime at loading a model; None if it loads."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Tensors in other files are found next to the original.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    try:
        onnxruntime.InferenceSession(model_bytes, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001
        return str(error).splitlines()[0][:160]
    return None


def other(path):
    """The result of the other converter; None if it fails."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return convert_float_to_float16(onnx.load(path), disable_shape_infer=False)
    except Exception:  # noqa: BLE001
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--typeloom", default="typeloom")
    parser.add_argument("--to", default="float16")
    parser.add_argument("--step", type=int, default=1, help="take every N-th model of a folder")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    files = []
    for path in args.paths:
        files += [path] if path.is_file() else sorted(path.rglob("*.onnx"))[:: args.step]
    counts, broken = collections.Counter(), []
    own_total = other_total = own_alone = 0
    for path in files:
        try:
            model = onnx.load(path, load_external_data=False)
        except Exception:  # noqa: BLE001
            counts["not read"] += 1
            continue
        if not has_floats(model):
            counts["no floats"] += 1
            continue
        if load(path.read_bytes(), path.parent):
            counts["does not load before"] += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "out.onnx"
            command = [args.typeloom, "convert", path, "--to", args.to, "-o", output, "--format", "json", "--no-config"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                text = (done.stderr or done.stdout).strip()
                if "nothing to convert" in text:
                    counts["nothing to convert"] += 1
                elif "not converted" in text:
                    counts["type errors"] += 1
                else:
                    broken.append((path, f"exit code {done.returncode}: {text[-300:]}"))
                continue
            report = json.loads(done.stdout)
            result = onnx.load(output, load_external_data=False)
            result_bytes = output.read_bytes()
        counts["converted"] += 1
        problem = load(result_bytes, path.parent)
        if problem:
            broken.append((path, f"does not load: {problem}"))
            continue
        new_chains = chains(result) - chains(model)
        if new_chains:
            broken.append((path, f"a cast reads a cast: {sorted(new_chains)[:2]}"))
        own = casts(result) - casts(model)
        compared = other(path)
        if compared is None:
            counts["other converter fails"] += 1
            own_alone += max(own, 0)
            continue
        if load(compared.SerializeToString(), path.parent):
            counts["other result does not load"] += 1
            own_alone += max(own, 0)
            continue
        theirs = casts(compared) - casts(model)
        counts["compared"] += 1
        own_total, other_total = own_total + max(own, 0), other_total + max(theirs, 0)
        if args.verbose:
            print(f"{path}: {own} new casts, other {theirs}, kept {len(report['kept'])}", flush=True)
        if own > max(theirs, 0):
            broken.append((path, f"{own} new casts, the other converter has {theirs}"))
    for path, problem in broken:
        print(f"{path}: {problem}")
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    share = 100 * own_total / other_total if other_total else 0
    print(f"new casts: {own_total}, other converter {other_total} ({share:.0f} %); where that one fails: {own_alone}")
    if other_total and share > 60:
        print("more than 60 % of the casts of the other converter")
    print(f"{len(broken)} broken")
    return 1 if broken or share > 60 else 0


if __name__ == "__main__":
    sys.exit(main())
