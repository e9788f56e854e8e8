"""The ONNX reference as a server of the bench: a request a line in, a reply a line out.

    METHOD \t PATH \t LEAST         ->  ok \t NANOSECONDS \t PEAK \t IDLE   |   no \t MESSAGE

Methods: `memory` and `memory-values` call the C++ inference on bytes read beforehand, without and with
propagation of values; `file` calls it on paths and so reads and writes files. All are strict and check
types. A call is repeated until the calls have taken LEAST nanoseconds, and NANOSECONDS is their mean. PEAK is the most memory this process ever held, IDLE what it had held at most before this request, in bytes.
The other side of the protocol is `src/contender.rs`.
"""

import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

from onnx import onnx_cpp2py_export

WANTED = "1.23.2"

inference = onnx_cpp2py_export.shape_inference


def main() -> None:
    found = version("onnx")
    if found != WANTED:
        raise SystemExit(f"onnx is {found}; the bench compares with {WANTED}")
    reply("ready", f"onnx {found}")
    for line in sys.stdin:
        method, path, least = line.rstrip("\n").split("\t")
        idle = peak()
        try:
            elapsed = METHODS[method](path, int(least))
        except Exception as problem:
            reply("no", " ".join(str(problem).split()))
        else:
            reply("ok", elapsed, peak(), idle)


def memory(path: str, least: int, data_prop: bool = False) -> int:
    with open(path, "rb") as file:
        data = file.read()
    return mean_time(
        lambda: inference.infer_shapes(data, check_type=True, strict_mode=True, data_prop=data_prop), least
    )


def memory_values(path: str, least: int) -> int:
    return memory(path, least, data_prop=True)


def file(path: str, least: int) -> int:
    answer = path + ".inferred"
    try:
        return mean_time(lambda: inference.infer_shapes_path(path, answer, True, True, False), least)
    finally:
        if os.path.exists(answer):
            os.remove(answer)


def mean_time(call: Callable[[], object], least: int) -> int:
    """The mean of as many calls as take `least` nanoseconds, and of at least one."""
    total = calls = 0
    while calls == 0 or total < least:
        start = time.perf_counter_ns()
        call()
        total += time.perf_counter_ns() - start
        calls += 1
    return total // calls


METHODS = {"memory": memory, "memory-values": memory_values, "file": file}


def peak() -> int:
    """The high-water mark of resident memory, or 0 where the system does not tell."""
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def reply(*parts: object) -> None:
    print(*parts, sep="\t", flush=True)


if __name__ == "__main__":
    main()
