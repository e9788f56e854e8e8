#!/usr/bin/env python3
"""Holds `typeloom specialize` against ONNX Runtime: specialize_law.py [--typeloom COMMAND] [--seed N] [--onnxsim] PATH...

Each path is a model or a folder of models. All symbols of the inputs get sizes: those of the inputs in MODEL.npz beside the model, or
random ones. ONNX Runtime then runs the model and the specialized one on the same inputs, without its optimizations, and the outputs have
to be equal in each bit (a NaN equals a NaN). The specialized model must not contain an assumed symbol. Models that do not run with the
sizes are counted and left out. `--onnxsim` also counts the nodes that onnxsim removes more with fixed input shapes than without; that is
the part that shapes decide. Needs onnx, onnxruntime and numpy, and onnxsim for the last. Exit code 1 if a law does not hold.
"""
import argparse
import collections
import json
import multiprocessing
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from annotation_law import feeds  # noqa: E402

SECONDS = 120
MAX_MEMORY = 6 << 30
ATTEMPTS = 4


def ports(model):
    """The inputs that callers give."""
    initialized = {it.name for it in model.graph.initializer}
    return [port for port in model.graph.input if port.name not in initialized]


def symbols(model, values):
    """The sizes of the symbols that these inputs have; `None` if two inputs disagree."""
    sizes = {}
    for port in ports(model):
        if port.name not in values or not port.type.tensor_type.HasField("shape"):
            return None
        dims = port.type.tensor_type.shape.dim
        if len(dims) != values[port.name].ndim:
            return None
        for dim, size in zip(dims, values[port.name].shape):
            if dim.dim_param.isidentifier() and sizes.setdefault(dim.dim_param, size) != size:
                return None
    return sizes


def exposed(model, names):
    """The model with more of its values as outputs."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    known = {port.name for port in copy.graph.output}
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    return copy.SerializeToString()


def equal_values(old, new, values):
    """Compares all values that both models make in their main graphs.

    ONNX Runtime has few kernels for 16 bits on the CPU. It converts between nodes, and leaves out conversions there and back, so that
    several nodes round once. Which ones depends on the nodes around them. As an output, each value is rounded.
    """

    def made(model):
        return [name for node in model.graph.node for name in node.output if name]

    names = sorted(set(made(old)) & set(made(new)))
    before, after = (by_name(session(exposed(model, names)), values) for model in (old, new))
    return all(equal(before[name], after[name]) for name in after)


def by_name(runtime, values):
    return dict(zip([port.name for port in runtime.get_outputs()], runtime.run(None, values)))


def has_16_bits(model):
    kinds = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    inputs = (port.type.tensor_type.elem_type for port in [*model.graph.input, *model.graph.output])
    return bool(kinds & {*inputs, *(tensor.data_type for tensor in model.graph.initializer)})


def session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"])


def equal(old, new):
    if isinstance(old, list):
        return len(old) == len(new) and all(map(equal, old, new))
    if not isinstance(old, np.ndarray):
        return old == new
    same_kind = old.dtype == new.dtype and old.shape == new.shape
    return same_kind and np.array_equal(old, new, equal_nan=old.dtype.kind in "fc")


def count(graph):
    nested = (it for node in graph.node for attribute in node.attribute for it in [*attribute.graphs, attribute.g])
    return len(graph.node) + sum(count(it) for it in nested if len(it.node))


def remaining(model, names):
    """The assumed symbols that a declaration of the main graph contains."""
    found = set()
    for info in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        found |= {dim.dim_param for dim in info.type.tensor_type.shape.dim} & names
    return found


def by_onnxsim(model, shapes):
    """The nodes that onnxsim removes because the input shapes are fixed."""
    import onnxsim

    options = {"skipped_optimizers": None, "perform_optimization": False}
    try:
        free, _ = onnxsim.simplify(model, **options)
        fixed, _ = onnxsim.simplify(model, overwrite_input_shapes=shapes, **options)
    except Exception:  # noqa: BLE001 - any failure of the other tool is one
        return None
    return count(free.graph) - count(fixed.graph)


def law(path, arguments, draw, folder, totals):
    """Compares one model; returns the problem, or `None`."""
    model = onnx.load(path)
    beside = path.with_suffix(".npz")
    for _ in range(1 if beside.exists() else ATTEMPTS):
        values = dict(np.load(beside)) if beside.exists() else feeds(model, draw)
        sizes = values is not None and symbols(model, values)
        if not sizes:
            totals["left out: no symbols in the inputs"] += 1
            return None
        try:
            old = session(path).run(None, values)
            break
        except Exception:  # noqa: BLE001 - the runtime raises many types
            continue
    else:
        totals["left out: does not run"] += 1
        return None
    new_path = folder / "new.onnx"
    assume = [part for name, size in sizes.items() for part in ("--assume", f"{name}={size}")]
    command = [arguments.typeloom, "specialize", str(path), *assume, "--format", "json", "--force", "-o", str(new_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if ran.returncode == 1 and subprocess.run([arguments.typeloom, "check", "--quiet", str(path)], capture_output=True).returncode:
        totals["left out: has errors"] += 1
        return None
    if ran.returncode:
        return f"not specialized: {(ran.stderr or ran.stdout)[:300]}"
    report = json.loads(ran.stdout)
    changed = onnx.load(new_path, load_external_data=False)
    if left := remaining(changed, set(sizes)):
        return f"the symbols {sorted(left)} are left"
    try:
        new = session(new_path).run(None, values)
    except Exception as error:  # noqa: BLE001
        return f"does not run: {str(error)[:300]}"
    # The runtime draws other numbers in each run.
    random_kinds = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"}
    if any(node.op_type in random_kinds for node in model.graph.node):
        totals["random: not compared"] += 1
    elif not equal(old, new):
        if not has_16_bits(model) or not equal_values(model, changed, values):
            return "another output"
        totals["equal in each value"] += 1
    totals["equal outputs"] += 1
    nodes = report["nodes"]
    totals["nodes before"] += nodes["before"]
    totals["nodes removed"] += nodes["before"] - nodes["after"]
    totals["extents open"] += len(report["open"])
    if arguments.onnxsim:
        shapes = {port.name: list(values[port.name].shape) for port in ports(model)}
        other = by_onnxsim(model, shapes)
        if other is None:
            totals["onnxsim failed"] += 1
            return None
        own = nodes["before"] - nodes["after"]
        totals["removed by onnxsim"] += other
        totals["removed where onnxsim works"] += own
        if own < other:
            totals["onnxsim removes more"] += 1
            print(f"{path}: onnxsim removes {other}, typeloom {own}")
    return None


def in_process(path, arguments, folder):
    """Compares one model in a process of its own, because a runtime can crash; returns the problem and the counts."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def work():
        # Random sizes can ask for any memory.
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        totals = collections.Counter()
        try:
            problem = law(path, arguments, random.Random(f"{arguments.seed} {path.name}"), folder, totals)
        except Exception as error:  # noqa: BLE001 - a model that onnx cannot read
            problem = None
            totals[f"left out: {type(error).__name__}"] += 1
        theirs.send((problem, totals))

    process = context.Process(target=work)
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return None, collections.Counter({"left out: crashed": 1})
    finally:
        process.join()


def main():
    parser = argparse.ArgumentParser(description="hold specialized models against ONNX Runtime")
    parser.add_argument("--typeloom", default="typeloom")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--onnxsim", action="store_true")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    files = []
    for path in arguments.paths:
        files += sorted(path.rglob("*.onnx")) if path.is_dir() else [path]
    totals, problems = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            problem, counts = in_process(path, arguments, pathlib.Path(folder))
            totals += counts
            if problem:
                problems += 1
                print(f"{path}: {problem}")
    for name, number in sorted(totals.items()):
        print(f"{number:7} {name}")
    print(f"{len(files)} files, seed {arguments.seed}, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
