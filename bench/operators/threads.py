"""Measures what a second thread gains, for typeloom's embedded backend and for ONNX Runtime, interleaved in one run.

    cargo run --release -- threads [--only WORD] [--threads N] [--rounds N] [--write FILE]

A case runs in four processes: each contender with one thread and with N. In each round every process runs the model for `WARM_SECONDS`
without timing and then for `BATCH_SECONDS` with timing. Meanwhile the threads of ONNX Runtime in the process before come to rest, which
spin for some hundredths of a second after a run, and a processor that was idle reaches its speed. A gain is the median over the rounds of
the time with one thread divided by the time with N in the same round, so that slow changes of the machine's speed cancel; for networks,
the gain at the least times is printed too, because other work on one core delays only the run with N threads. `--write FILE` also writes a
page in Markdown.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from cases import Case, chain, floats, node
from compare import save
from contender import Contender, onnxruntime, typeloom
from onnx import TensorProto, helper, numpy_helper
from page import machine, table

HEAD = ["case", "typeloom, 1", "typeloom, {}", "gain", "ONNX Runtime, 1", "ONNX Runtime, {}", "gain", "ratio, 1", "ratio, {}"]
LINE = "{:32} {:>11} {:>11} {:>6} {:>15} {:>15} {:>6} {:>8} {:>8}"

WARM_SECONDS, BATCH_SECONDS = 0.15, 0.15

# The gain promised for networks.
GAIN = 1.7

ABOUT = """# Gain of several threads

Written by `bench/operators/threads.py`; see its description. Both contenders run the same model in separate processes, each with one thread
and with {threads}, in {rounds} rounds of alternating batches after untimed runs; times are medians. *gain* is the median over the rounds of the
time with one thread divided by the time with {threads} in the same round; *ratio* is that of typeloom's time divided by that of ONNX Runtime with
the same number of threads.
"""


def network(name: str) -> Case:
    """An architecture of the light networks in the package `onnx`, with stored random weights, as `bench/runtime/src/cases.rs` makes it."""
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    model = onnx.load(light)
    graph, random = model.graph, np.random.default_rng(7)
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer if tensor.data_type == TensorProto.INT64}
    normalised = {value: at for user in graph.node if user.op_type == "BatchNormalization" for at, value in enumerate(user.input)}
    kept: list[onnx.NodeProto] = []
    weights: dict[str, np.ndarray] = {}
    for made in graph.node:
        if made.op_type != "ConstantOfShape" or made.input[0] not in shapes:
            kept.append(made)
            continue
        extents, output = shapes[made.input[0]].tolist(), made.output[0]
        # Factors and variances of a normalisation are near 1, its offsets and means near 0; other weights keep the variance of values.
        middle = 1.0 if normalised.get(output) in (1, 4) else 0.0
        width = 0.1 if output in normalised or len(extents) < 2 else (6 / np.prod(extents[1:])) ** 0.5
        weights[output] = (middle + width * random.uniform(-1, 1, extents)).astype(np.float32)
    initial = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in initial]
    used = {name for kept_node in kept for name in kept_node.input}
    stored = [tensor for tensor in graph.initializer if tensor.name in used]
    stored += [numpy_helper.from_array(array, name) for name, array in weights.items()]
    full = helper.make_graph(kept, name, inputs, graph.output, stored)
    given = {value.name: random.uniform(0, 1, [dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32) for value in inputs}
    return Case(f"{name}, full weights", helper.make_model(full, opset_imports=model.opset_import, ir_version=10), given)


def branches() -> Case:
    """Four convolutions of one value that do not depend on each other, too small to gain from threads each, and their concatenation."""
    lines = [f"y{at} = Conv <pads=[1, 1, 1, 1]> (x, w{at})" for at in range(4)]
    text = " ".join([*lines, "y = Concat <axis = 1> (y0, y1, y2, y3)"])
    return chain("4 branches of Conv 32x14x14", text, floats(1, 32, 14, 14), {f"w{at}": floats(32, 32, 3, 3) for at in range(4)})


def cases() -> Iterator[Case]:
    yield network("resnet50")
    yield network("squeezenet")
    x, image = floats(8, 128, 768), floats(1, 64, 112, 112)
    yield node("8x128x768", "Softmax", [x], axis=-1)
    yield node("8x128x768", "LayerNormalization", [x, floats(768), floats(768)], constants=(1, 2))
    for axis in (0, 1, 2):
        yield node(f"8x128x768 axis {axis}", "ReduceSum", [x, np.array([axis])], constants=(1,))
    yield node("64x112x112 3x3", "MaxPool", [image], kernel_shape=[3, 3], strides=[2, 2])
    yield node("64x112x112 3x3", "AveragePool", [image], kernel_shape=[3, 3], strides=[2, 2])
    yield node("64x112x112", "GlobalAveragePool", [image])
    yield node("8x128x768", "Add", [x, floats(8, 128, 768)])
    for op in ("Exp", "Erf", "Sigmoid"):
        yield node("8x128x768", op, [x])
    yield node("128x768x3072", "MatMul", [floats(128, 768), floats(768, 3072)], constants=(1,))
    yield node("64x56x56 3x3", "Conv", [floats(1, 64, 56, 56), floats(64, 64, 3, 3)], constants=(1,), pads=[1] * 4)
    yield branches()


def measure(case: Case, program: list[str], threads: int, rounds: int) -> list[list[float]]:
    """Seconds of a run in each batch: typeloom with one thread and with several, ONNX Runtime with one and with several."""
    with tempfile.TemporaryDirectory() as name:
        model, inputs = save(case, Path(name))
        processes: list[Contender] = []
        try:
            for command in (lambda _: program, onnxruntime):
                for count in (1, threads):
                    processes.append(Contender(command(count), count, model, inputs))
            times: list[list[float]] = [[] for _ in processes]
            for them in processes:
                them.run(1)
            for turn in range(rounds):
                # The order changes, so that a drift of the machine's speed cancels.
                for at in range(len(processes)) if turn % 2 == 0 else reversed(range(len(processes))):
                    them = processes[at]
                    end, once = time.monotonic() + WARM_SECONDS, 1.0
                    while time.monotonic() < end:
                        once = them.run(1)
                    times[at].append(them.run(max(1, int(BATCH_SECONDS / once))))
            return times
        finally:
            for them in processes:
                them.close()


def quotient(above: list[float], below: list[float]) -> float:
    """The median over the rounds."""
    return statistics.median(one / other for one, other in zip(above, below, strict=True))


def fields(name: str, batches: list[list[float]]) -> list[str]:
    ours, ours_many, theirs, theirs_many = batches
    microseconds = [f"{statistics.median(times) * 1e6:,.0f} us" for times in batches]
    gains = [f"{quotient(one, many):.2f}" for one, many in ((ours, ours_many), (theirs, theirs_many))]
    ratios = [f"{quotient(ours, theirs):.2f}", f"{quotient(ours_many, theirs_many):.2f}"]
    return [name, *microseconds[:2], gains[0], *microseconds[2:], gains[1], *ratios]


def kept(name: str, batches: list[list[float]]) -> str:
    """The gain and, because other work on the machine delays a run on all its cores more, that at the least times."""
    gain, least = quotient(*batches[:2]), [min(times) for times in batches]
    word = "yes" if gain >= GAIN else "no"
    times = f"at the least times {least[0] / least[1]:.2f}, ONNX Runtime {least[2] / least[3]:.2f}"
    return f"{name} {gain:.2f} ({word}; {times})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2, help="default: one for each core")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--write", type=Path, help="also write a page in Markdown")
    options = parser.parse_args()
    program, head = typeloom(), [text.format(options.threads) for text in HEAD]
    print(LINE.format(*head))
    rows: list[list[str]] = []
    promises: list[str] = []
    for case in cases():
        if options.only.lower() in case.name.lower():
            batches = measure(case, program, options.threads, options.rounds)
            rows.append(fields(case.name, batches))
            print(LINE.format(*rows[-1]), flush=True)
            if "full weights" in case.name:
                promises.append(kept(case.name, batches))
                print(promises[-1], flush=True)
    if not rows:
        print("no case matches", file=sys.stderr)
        return 1
    if options.write:
        measured = "; ".join(promises)
        promise = f"Promise: {options.threads} threads gain at least {GAIN} on networks with weights of full size. Measured: {measured}.\n"
        about = ABOUT.format(threads=options.threads, rounds=options.rounds)
        options.write.write_text("\n".join([about, machine("threads", sys.argv[1:]), promise, table(head, rows)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
