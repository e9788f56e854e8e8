"""Times single operators and whole models on typeloom's embedded backend and on ONNX Runtime, interleaved in one run.

    cargo run --release -- operators [--family NAME] [--only WORD] [--threads N] [--model FILE]...

Prints a line per case: the median time of each, the ratio of typeloom's to ONNX Runtime's, the ratio of their peak memory in addition
to the process without the model, and the greatest relative difference of the outputs (relative to the greatest element). Each case
runs in `--processes` pairs of processes. In each round, both processes of a pair run a batch, and their times give a ratio: other work on
the machine that lasts longer than a round delays both. The printed times and ratios are medians over the rounds of all pairs. `--write
FILE` also writes a page with the tables and which promises were kept (`page.py`). Inputs of `--model` are drawn from the declared types; a
symbol is the number of `--size`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from cases import FAMILIES, Case
from contender import Contender, Failed, onnxruntime, typeloom
from onnx import helper, numpy_helper
from page import HEAD, Row, page
from real import real

LINE = "{:42} {:>13} {:>13} {:>7} {:>7}  {}"

BATCH_SECONDS, MAX_BATCH = 0.02, 1_000

# Seconds before a batch with several threads: those of ONNX Runtime spin for a while after a run.
PAUSE = 0.1


def of_file(path: Path, size: int) -> Case:
    """A case of a model file with drawn inputs."""
    model = onnx.load(path)
    stored = {tensor.name for tensor in model.graph.initializer}
    random = np.random.default_rng(1)
    inputs: dict[str, np.ndarray[Any, Any]] = {}
    for value in model.graph.input:
        if value.name in stored:
            continue
        kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [dim.dim_value if dim.HasField("dim_value") else size for dim in value.type.tensor_type.shape.dim]
        if np.issubdtype(kind, np.floating):
            inputs[value.name] = random.uniform(0, 1, shape).astype(kind)
        elif kind == np.bool_:
            inputs[value.name] = random.integers(0, 2, shape).astype(kind)
        else:
            inputs[value.name] = random.integers(0, 2 if kind == np.int64 else 100, shape).astype(kind)
    return Case(path.stem, model, inputs)


def difference(case: Path, ours: Contender, theirs: Contender) -> str:
    """The greatest difference of outputs relative to the greatest element, or the outputs whose types differ."""
    folders = [case / "ours", case / "theirs"]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    types = [them.ask(f"output {folder}") for them, folder in zip((ours, theirs), folders, strict=True)]
    worst = 0.0
    for at, (one, other) in enumerate(zip(*types, strict=True)):
        kind, _, shape = other.partition(":")
        if kind == "other" or one == "other":
            continue
        if one.partition(":")[2] != shape:
            return f"output {at}: {one} and {other}"
        left, right = (np.fromfile(folder / str(at), np.dtype(kind)).astype(np.float64) for folder in folders)
        if left.size != right.size:
            return f"output {at}: {one} and {other}"
        if left.size:
            finite = np.isfinite(right)
            if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
                return f"output {at}: infinite or NaN in one only"
            scale = float(np.max(np.abs(right[finite]), initial=0.0)) or 1.0
            worst = max(worst, float(np.max(np.abs(left[finite] - right[finite]), initial=0.0)) / scale)
    return f"{worst:.0e}" if worst else "0"


def batch_of(seconds: float) -> int:
    return max(1, min(MAX_BATCH, int(BATCH_SECONDS / max(seconds, 1e-7))))


def save(case: Case, folder: Path) -> tuple[Path, dict[str, Path]]:
    """Writes the files of a case: the model, and its inputs by name."""
    onnx.save(case.model, folder / "model.onnx")
    inputs: dict[str, Path] = {}
    for key, value in case.inputs.items():
        inputs[key] = folder / f"{len(inputs)}.pb"
        inputs[key].write_bytes(numpy_helper.from_array(value).SerializeToString())
    return folder / "model.onnx", inputs


def measure(case: Case, program: list[str], options: argparse.Namespace) -> Row:
    row = Row(case.name)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, inputs = save(case, folder)
        for _ in range(options.processes):
            pair: list[Contender] = []
            try:
                for command in (program, onnxruntime(options.threads)):
                    pair.append(Contender(command, options.threads, model, inputs))
                ours, theirs = pair
                batches = [batch_of(them.run(1) and them.run(1)) for them in pair]
                times: list[list[float]] = [[], []]
                for turn in range(options.rounds):
                    # The order changes, so that a drift of the machine's speed cancels.
                    for at in (0, 1) if turn % 2 == 0 else (1, 0):
                        if options.threads > 1:
                            time.sleep(PAUSE)
                        times[at].append(pair[at].run(batches[at]))
                row.add(*times)
                row.memory.append(ours.peak() / max(1, theirs.peak()))
                row.difference = difference(folder, ours, theirs)
            except Failed as problem:
                row.problem = f"{'typeloom' if len(pair) != 1 else 'ONNX Runtime'}: {problem}"
                break
            finally:
                for them in pair:
                    them.close()
    return row


ALL = {**FAMILIES, "real": real}


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, Case]]:
    """Families and their cases."""
    for path in options.model:
        yield "files", of_file(path, options.size)
    for name in options.family or ([] if options.model else FAMILIES):
        yield from ((name, case) for case in ALL[name]() if options.only.lower() in case.name.lower())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    families = "may be given several times; all but `real` without it, which downloads models of 200 MB"
    parser.add_argument("--family", choices=list(ALL), action="append", help=families)
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--model", type=Path, action="append", default=[])
    parser.add_argument("--size", type=int, default=1, help="the extent for each symbol of a model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11, help="alternate batches per pair of processes")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--write", type=Path, help="also write a page in Markdown")
    options = parser.parse_args()
    program = typeloom()
    tables: dict[str, list[Row]] = {}
    print(LINE.format(*HEAD))
    for family, case in chosen(options):
        row = measure(case, program, options)
        tables.setdefault(family, []).append(row)
        print(LINE.format(*row.fields()), flush=True)
    if not tables:
        print("no case matches", file=sys.stderr)
        return 1
    if options.write:
        options.write.write_text(page(tables, sys.argv[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
