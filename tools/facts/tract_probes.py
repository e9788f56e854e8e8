#!/usr/bin/env python3
"""Measure which nodes tract loads, optimises and makes runnable.

    pip install onnx==1.23.2 numpy
    cargo build --manifest-path engines/tract/Cargo.toml --bin probe
    python3 tools/facts/tract_probes.py --typeloom target/debug/typeloom --output tract-0.23.txt
    python3 tools/compare_targets.py --typeloom target/debug/typeloom --runtime tract --targets tract-0.23.txt ../shared/conformance

The table is no part of typeloom: too many verdicts about whole models are wrong, because tract analyses a node together with those before
it. Each probe is a model of one node. Nothing is run: tract accepts some nodes that it computes wrongly, see `engines/tract`.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

import measuring

VERSION = "0.23.9"
HEAD = {"source": f"tract-onnx {VERSION}", "device": "CPU", "inputs": "named"}


def make_serve(options):
    def serve(pipe) -> None:
        """Asks the command, which reads paths. This process ends when the command ends."""
        child = subprocess.Popen([options.tract], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        with tempfile.TemporaryDirectory() as folder:
            while True:
                try:
                    models = pipe.recv()
                except EOFError:
                    return
                answers = []
                for model in models:
                    path = Path(folder) / "probe.onnx"
                    path.write_bytes(model)
                    child.stdin.write(f"{path}\n")
                    child.stdin.flush()
                    answer = child.stdout.readline()
                    if not answer:
                        return
                    answers.append("" if answer == "ok\n" else answer.strip())
                pipe.send(answers)

    return serve


def is_unknown(error: str) -> bool:
    return "Unimplemented" in error


# Operators that need the elements of their first inputs. tract often computes them from the shapes of other values.
FOLDED = {f"ai.onnx::{name}" for name in "BlackmanWindow ConstantOfShape Expand HammingWindow HannWindow Range Reshape Tile".split()}


def depends(_signature, row) -> bool:
    return row is not None and row.operator in FOLDED and "false" in [value for name, value in row.properties.items() if name.startswith("constant.")]


def main() -> int:
    if onnx.__version__ != "1.23.2":
        raise SystemExit(f"onnx is {onnx.__version__}; the probes come from 1.23.2")
    parser = argparse.ArgumentParser(description="measure tract")
    parser.add_argument("--tract", default="engines/tract/target/debug/probe", help="the command that loads models")
    return measuring.main(parser, "tract-0.23", HEAD, make_serve, is_unknown, depends)


if __name__ == "__main__":
    sys.exit(main())
