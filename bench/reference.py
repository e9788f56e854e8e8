"""The ONNX reference as a server of the bench: a request a line in, a reply a line out.

    METHOD \t PATH                 ->  ok \t NANOSECONDS \t PEAK \t IDLE   |   no \t MESSAGE

Methods: `memory` and `memory-values` call the C++ inference on bytes read beforehand, without and with
propagation of values; `file` calls it on paths and so reads and writes files. All are strict and check
types. PEAK is the most memory this process ever held, IDLE what it had held at most before this request, in bytes.
The protocol is spoken by `src/server.rs` on the other side.
"""

import os
import sys
import time
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
        method, path = line.rstrip("\n").split("\t")
        idle = peak()
        try:
            elapsed = METHODS[method](path)
        except Exception as problem:
            reply("no", " ".join(str(problem).split()))
        else:
            reply("ok", elapsed, peak(), idle)


def memory(path: str, data_prop: bool = False) -> int:
    with open(path, "rb") as file:
        data = file.read()
    start = time.perf_counter_ns()
    inference.infer_shapes(data, check_type=True, strict_mode=True, data_prop=data_prop)
    return time.perf_counter_ns() - start


def memory_values(path: str) -> int:
    return memory(path, data_prop=True)


def file(path: str) -> int:
    answer = path + ".inferred"
    try:
        start = time.perf_counter_ns()
        inference.infer_shapes_path(path, answer, True, True, False)
        return time.perf_counter_ns() - start
    finally:
        if os.path.exists(answer):
            os.remove(answer)


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
