"""Measures `typeloom check` on a folder with many small models: models per second, and peak memory.

    cargo run --release -- folder [--models 100000] [--jobs 1,2] [--keep FOLDER]

Writes the models, of 10 to 30 nodes each, with names, extents and symbols of their own, in folders of 10,000; then runs the command
on a tenth of them and on all of them. Prints a table in Markdown for `bench/results/command.md`. Needs Linux, and about 4 KB of
disk space for each model. Each figure is of one run after one that reads all files; the machine must be idle.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
from onnx import TensorProto, helper

SEED = 18
PER_FOLDER = 10_000


def model(number: int) -> bytes:
    """A network of small layers; its names occur in no other model."""
    rng = random.Random(SEED * 1_000_003 + number)
    tag = f"m{number}"
    width = rng.randrange(4, 64)
    batch = f"batch_{tag}"
    names = (f"{tag}/value_{at}" for at in range(1_000_000))
    value = f"{tag}/input"
    inputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, [batch, width])]
    nodes, weights = [], []
    for at in range(rng.randrange(10, 31)):
        output = next(names)
        match rng.randrange(5):
            case 0:
                other = rng.randrange(4, 64)
                weight = f"{tag}/weight_{at}"
                data = bytes(4 * width * other) if width * other <= 64 else None
                if data is None:
                    inputs.append(helper.make_tensor_value_info(weight, TensorProto.FLOAT, [width, other]))
                else:
                    weights.append(helper.make_tensor(weight, TensorProto.FLOAT, [width, other], data, raw=True))
                nodes.append(helper.make_node("MatMul", [value, weight], [output], name=f"{tag}/node_{at}"))
                width = other
            case 1:
                nodes.append(helper.make_node("Add", [value, value], [output], name=f"{tag}/node_{at}"))
            case 2:
                nodes.append(helper.make_node("Softmax", [value], [output], name=f"{tag}/node_{at}", axis=-1))
            case 3:
                nodes.append(helper.make_node("Concat", [value, value], [output], name=f"{tag}/node_{at}", axis=1))
                width *= 2
                if width > 512:
                    shorter = next(names)
                    ends = [f"{tag}/{part}_{at}" for part in ("starts", "ends", "axes")]
                    for name, number_ in zip(ends, (0, 16, 1), strict=True):
                        weights.append(helper.make_tensor(name, TensorProto.INT64, [1], [number_]))
                    nodes.append(helper.make_node("Slice", [output, *ends], [shorter], name=f"{tag}/slice_{at}"))
                    output, width = shorter, 16
            case _:
                nodes.append(helper.make_node("Relu", [value], [output], name=f"{tag}/node_{at}"))
        value = output
    outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, [batch, width])]
    graph = helper.make_graph(nodes, tag, inputs, outputs, weights)
    made = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    return made.SerializeToString()


def write(folder: Path, numbers: range) -> None:
    """Writes the models that are missing in a folder."""
    for number in numbers:
        path = folder / f"{number // PER_FOLDER:03}" / f"model_{number:07}.onnx"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(model(number))


def run(command: str, folder: Path, jobs: int) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak memory in MB of one run, whose report goes to no file."""
    arguments = [command, "check", "--no-config", "--jobs", str(jobs), str(folder)]
    begin, peak = time.perf_counter(), 0
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as process:
        # The peak of `wait4` includes that of this process before the command replaced it.
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), peak)
            time.sleep(0.005)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(ended[1])
    if process.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit code {process.returncode}")
    return seconds, ended[2].ru_utime + ended[2].ru_stime, peak / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=100_000)
    parser.add_argument("--jobs", default="1,2")
    parser.add_argument("--keep", type=Path, help="write the models here, and keep them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        tenth = options.models // 10
        write(folder / "tenth", range(tenth))
        write(folder / "all", range(options.models))
        print(f"onnx {onnx.__version__}, {os.cpu_count()} processors\n")
        print("| models | jobs | seconds | processor seconds | models/s | peak memory, MB |")
        print("|---:|---:|---:|---:|---:|---:|")
        for part, models in (("tenth", tenth), ("all", options.models)):
            run(os.environ["TYPELOOM_COMMAND"], folder / part, 2)
            for jobs in map(int, options.jobs.split(",")):
                seconds, busy, peak = run(os.environ["TYPELOOM_COMMAND"], folder / part, jobs)
                print(f"| {models:,} | {jobs} | {seconds:.2f} | {busy:.2f} | {models / seconds:,.0f} | {peak:.1f} |")


if __name__ == "__main__":
    main()
