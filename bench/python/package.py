"""Compares `typeloom.check` with the command of the same package, without the start of its process.

    cargo run --release -- package [MODEL ...]

Runs are interleaved; the table has medians in milliseconds. `start` is `typeloom --version`; `command` is the whole command minus
`start`. `import` is the start of an interpreter that imports the package, minus one that does not. Without arguments, the models are
chains of unary operators with 1,000 to 1,000,000 nodes, in a temporary folder.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import typeloom as tl

RUNS = 7
PROGRAM = shutil.which("typeloom", path=str(Path(sys.executable).parent)) or "typeloom"


def seconds(work: Callable[[], object]) -> float:
    """The time of one run."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def command(*arguments: str) -> None:
    """Runs a command without its output."""
    subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def medians(*works: Callable[[], object]) -> list[float]:
    """The medians of interleaved runs, in milliseconds."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(RUNS):
        for work, own in zip(works, times):
            own.append(seconds(work))
    return [statistics.median(own) * 1000 for own in times]


def chain(nodes: int, folder: Path) -> Path:
    """A chain of unary operators."""
    steps = "".join(f"v{index + 1} = {'Relu' if index % 2 else 'Abs'}(v{index})\n" for index in range(nodes))
    text = f'<ir_version: 10, opset_import: ["" : 21]>\ng (float[batch, 64] v0) => (v{nodes}) {{\n{steps}}}'
    path = folder / f"chain_{nodes}.onnx"
    path.write_bytes(tl.model_from_text(text))
    return path


def main() -> None:
    """Prints the table."""
    empty, imported = medians(
        lambda: command(sys.executable, "-I", "-c", "pass"), lambda: command(sys.executable, "-I", "-c", "import typeloom")
    )
    print(f"import typeloom: {imported - empty:.1f} ms (interpreter {empty:.1f} ms)\n")
    print("| model | command | check | check / command | all values |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        models = [Path(name) for name in sys.argv[1:]]
        for path in models or [chain(nodes, Path(folder)) for nodes in (1_000, 10_000, 100_000, 1_000_000)]:
            start, whole, check, values = medians(
                lambda: command(PROGRAM, "--version"),
                lambda path=path: command(PROGRAM, "check", str(path)),
                lambda path=path: tl.check(path).ok,
                lambda path=path: dict(tl.check(path).values),
            )
            own = whole - start
            print(f"| {path.name} | {own:.2f} | {check:.2f} | {check / own:.2f} | {values:.2f} |", flush=True)


if __name__ == "__main__":
    main()
