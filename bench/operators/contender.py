"""Processes that run one model and answer requests: typeloom's and ONNX Runtime's.

Both follow the protocol of `src/main.rs`. Started as a program, this file is the process of ONNX Runtime:

    python contender.py THREADS MODEL [NAME=TENSOR.pb]...
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PROGRAM = "typeloom-bench-operators"

# The end of the name of a result that ONNX Runtime writes to the memory of the input with the name before.
IN_PLACE = ".in_place"


class Failed(Exception):
    """A contender cannot load or run the model."""


class Contender:
    """A process with one loaded model."""

    def __init__(self, command: list[str], threads: int, model: Path, inputs: dict[str, Path]) -> None:
        arguments = [*command, str(model), *(f"{name}={path}" for name, path in inputs.items())]
        environment = {**os.environ, "RAYON_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.load = int(self._answer()[0]) / 1e9

    def _answer(self) -> list[str]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the process ended with {self.process.wait()}")
        kind, *fields = line.rstrip("\n").split("\t")
        if kind != "ok":
            raise Failed(" ".join(fields))
        return fields

    def ask(self, request: str) -> list[str]:
        assert self.process.stdin is not None
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self._answer()

    def run(self, times: int) -> float:
        """Seconds of one run, averaged over `times`."""
        return int(self.ask(f"run {times}")[0]) / times / 1e9

    def peak(self) -> int:
        """Bytes in addition to those before the model was loaded."""
        high, idle = map(int, self.ask("memory"))
        return high - idle

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def typeloom() -> list[str]:
    """Builds the program and returns its command."""
    folder = Path(__file__).parent
    subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", folder / "Cargo.toml"], check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", folder.parent / "target"))
    return [str(target / "release" / PROGRAM)]


def onnxruntime(threads: int) -> list[str]:
    return [sys.executable, __file__, str(threads)]


def prepared(session: Any, feed: dict[str, np.ndarray[Any, Any]]) -> Callable[[], list[Any]]:
    """A function that runs the session. A result with the name of an input and `IN_PLACE` is written to the memory of that input."""
    import onnxruntime

    names = [output.name for output in session.get_outputs()]
    if not any(name.endswith(IN_PLACE) for name in names):
        return lambda: session.run(None, feed)
    binding = session.io_binding()
    bound = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in feed.items()}
    for name, value in bound.items():
        binding.bind_ortvalue_input(name, value)
    for name in names:
        if name.endswith(IN_PLACE):
            binding.bind_ortvalue_output(name, bound[name.removesuffix(IN_PLACE)])
        else:
            binding.bind_output(name)

    def run() -> list[Any]:
        session.run_with_iobinding(binding)
        return [output.numpy() for output in binding.get_outputs()]

    return run


def serve(threads: int, path: str, arguments: list[str]) -> None:
    """The process of ONNX Runtime."""
    import onnx.numpy_helper
    import onnxruntime

    feed = {}
    for argument in arguments:
        name, _, file = argument.partition("=")
        feed[name] = onnx.numpy_helper.to_array(onnx.TensorProto.FromString(Path(file).read_bytes()))
    idle = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    start = time.perf_counter_ns()
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as problem:
        print("no", " ".join(str(problem).split())[:200], sep="\t", flush=True)
        return
    print("ok", time.perf_counter_ns() - start, sep="\t", flush=True)
    run = prepared(session, feed)
    for line in sys.stdin:
        request, _, argument = line.rstrip("\n").partition(" ")
        try:
            if request == "run":
                start = time.perf_counter_ns()
                for _ in range(int(argument)):
                    run()
                print("ok", time.perf_counter_ns() - start, sep="\t", flush=True)
            elif request == "memory":
                print("ok", memory("VmHWM"), idle, sep="\t", flush=True)
            else:
                results = run()
                types = []
                for at, result in enumerate(results):
                    if not isinstance(result, np.ndarray) or result.dtype == object:
                        types.append("other")
                        continue
                    Path(argument, str(at)).write_bytes(np.ascontiguousarray(result).tobytes())
                    types.append(f"{result.dtype.name}:{','.join(map(str, result.shape))}")
                print("ok", *types, sep="\t", flush=True)
        except Exception as problem:
            print("no", " ".join(str(problem).split())[:200], sep="\t", flush=True)


def memory(key: str) -> int:
    """A line of the process's memory status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
