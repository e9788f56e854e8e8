"""Measures a process of `typeloom check` on one file, next to a process that does nothing.

    cargo run --release -- start [--runs 101] [MODEL ...]

Without models, it takes the light networks of the package `onnx` and those of `models/`. For each model, the table in Markdown
for `bench/results/command.md` has the medians of interleaved runs: of `true`, whose time is that of `exec`, of a process's memory and of its
end; and of the command minus that of `true`. The command is copied first, as by an installation: the system maps a file that a linker wrote
in smaller parts, which takes longer. Ends with an error if a model of at most 40 nodes takes 5 ms or more. Needs
Linux; the machine must be idle.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import onnx

ROOT = Path(__file__).parents[2]
NOTHING = "/bin/true"
SMALL = 40
LIMIT = 5.0
WARM_UP = 20


def seconds(arguments: list[str], output: int) -> float:
    """The time from the start of a process to its end."""
    to_output = [(os.POSIX_SPAWN_DUP2, output, 1)]
    begin = time.perf_counter()
    process = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=to_output)
    _, status = os.waitpid(process, 0)
    taken = time.perf_counter() - begin
    if code := os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(arguments)}: exit code {code}")
    return taken


def defaults() -> list[Path]:
    """The light networks and the models of the repository."""
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return sorted(light.glob("*.onnx")) + sorted((ROOT / "models").glob("*.onnx"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--runs", type=int, default=101)
    options = parser.parse_args()
    print("| model | nodes | `true`, ms | `typeloom check` minus `true`, ms |")
    print("|---|---:|---:|---:|")
    late = []
    with open(os.devnull, "wb") as devnull, tempfile.TemporaryDirectory() as folder:
        command = shutil.copy(os.environ["TYPELOOM_COMMAND"], folder)
        for path in options.models or defaults():
            nodes = len(onnx.load(path, load_external_data=False).graph.node)
            check = [command, "check", "--no-config", str(path)]
            pairs = ((seconds([NOTHING], devnull.fileno()), seconds(check, devnull.fileno())) for _ in range(WARM_UP + options.runs))
            nothing, whole = (statistics.median(times[WARM_UP:]) * 1000 for times in zip(*pairs, strict=True))
            print(f"| {path.stem} | {nodes:,} | {nothing:.2f} | {whole - nothing:.2f} |", flush=True)
            if nodes <= SMALL and whole - nothing >= LIMIT:
                late.append(path.stem)
    if late:
        sys.exit(f"{LIMIT} ms or more: {', '.join(late)}")


if __name__ == "__main__":
    main()
