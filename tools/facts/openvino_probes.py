#!/usr/bin/env python3
"""Measure which nodes OpenVINO compiles for its CPU device.

    pip install openvino==2026.4.1 onnx==1.23.2 numpy
    python3 tools/facts/openvino_probes.py --typeloom target/debug/typeloom            # writes crates/targets/data/openvino-2026.4-cpu.measured
    python3 tools/facts/openvino_probes.py --typeloom target/debug/typeloom --check    # exit 1 if that file differs

Each probe is a model of one node, which is read by the frontend and compiled for the device `CPU` with default options. Nothing is run.
The file format is described in `measured.py`, the probes in `node_probes.py`.
"""

import argparse
import re
import sys
import tempfile

import onnx
import onnx.compose
from onnx import TensorProto

import measuring

VERSION = "2026.4.1"
HEAD = {"source": f"openvino {VERSION}", "device": "CPU", "inputs": "ranked", "unused": "removed", "functions": "rejected"}


def serve(pipe) -> None:
    """Compiles models in a process that may crash. Models of one node take most of the time that all nodes take in one model, so nodes
    that the frontend reads alone are compiled together. The node that an error names is left out; without a name, the group is divided.
    """
    import openvino

    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": 1})

    def read_model(model: bytes) -> openvino.Model:
        # The frontend reads bytes in memory by other code, which accepts more models.
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(model)
            file.flush()
            return core.read_model(file.name)

    def read_error(number: int, model: bytes) -> str:
        try:
            read = read_model(model)
        except Exception as error:  # noqa: BLE001: the runtime has several kinds of errors
            return " ".join(str(error).split()) or "failed"
        if number % OPEN_RANKS and any(value.partial_shape.rank.is_dynamic and value.get_target_inputs() for value in read.inputs):
            return "an input of unknown rank"
        return ""

    def compiled(models: list[onnx.ModelProto]) -> list[str]:
        errors = [""] * len(models)
        rest = list(range(len(models)))
        while rest:
            try:
                core.compile_model(read_model(joined([models[at] for at in rest]).SerializeToString()), "CPU")
                break
            except Exception as error:  # noqa: BLE001: see above
                text = " ".join(str(error).split()) or "failed"
            named = {int(number) for number in re.findall(r"\bprobe(\d+)/", text)}
            if len(named) == 1 or len(rest) == 1:
                # The message names the node that is rejected.
                errors[rest.pop(named.pop() if named and len(rest) > 1 else 0)] = text
                continue
            middle = len(rest) // 2
            for part in (rest[:middle], rest[middle:]):
                for at, error in zip(part, compiled([models[at] for at in part])):
                    errors[at] = error
            break
        return errors

    while True:
        try:
            models = pipe.recv()
        except EOFError:
            return
        errors = [read_error(*each) for each in enumerate(models)]
        groups: dict[tuple, list[int]] = {}
        read = {at: onnx.load_from_string(models[at]) for at, error in enumerate(errors) if not error}
        for at, model in read.items():
            groups.setdefault(group(model), []).append(at)
        for members in groups.values():
            for at, error in zip(members, compiled([read[at] for at in members])):
                errors[at] = error
        pipe.send(errors)


# The device rejects each input of the graph whose rank is unknown and that an operation reads. One of so many such models is compiled to confirm it.
OPEN_RANKS = 8
# Nodes with these element types are mostly rejected, and compiled apart from others.
RARE = {getattr(TensorProto, name) for name in "STRING COMPLEX64 COMPLEX128 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ".split()}


def group(model: onnx.ModelProto) -> tuple:
    """Nodes with one group may be compiled together."""
    elements = {value.type.tensor_type.elem_type for value in model.graph.input} | {tensor.data_type for tensor in model.graph.initializer}
    imports = tuple((one.domain, one.version) for one in model.opset_import)
    return imports, model.ir_version, tuple(sorted(elements & RARE))


def joined(models: list[onnx.ModelProto]) -> onnx.ModelProto:
    """One model with the nodes of all of them, which have no values in common."""
    if len(models) == 1:
        return models[0]
    found = onnx.ModelProto()
    found.CopyFrom(models[0])
    found.graph.CopyFrom(onnx.GraphProto(name="g"))
    for number, model in enumerate(models):
        found.graph.MergeFrom(onnx.compose.add_prefix_graph(model.graph, f"probe{number}/"))
    found.graph.name = "g"
    return found


def is_unknown(error: str) -> bool:
    return "No conversion rule found for operations" in error


def depends(signature, _row) -> bool:
    """The frontend replaces groups of operators on sequences. One of them alone is rejected."""
    kinds = [*(ty for allowed in signature.types.values() for ty in allowed), *(port.type for port in signature.inputs)]
    only_sequences = any(
        all(ty.startswith("seq(") for ty in signature.types.get(port.type, [port.type])) for port in [*signature.inputs, *signature.outputs]
    )
    return bool(kinds) and only_sequences


def main() -> int:
    import openvino

    if not openvino.__version__.startswith(f"{VERSION}-"):
        raise SystemExit(f"openvino is {openvino.__version__}; the table is of {VERSION}")
    if onnx.__version__ != "1.23.2":
        raise SystemExit(f"onnx is {onnx.__version__}; the probes come from 1.23.2")
    parser = argparse.ArgumentParser(description="measure OpenVINO on its CPU device")
    return measuring.main(parser, "openvino-2026.4-cpu", HEAD, lambda _: serve, is_unknown, depends)


if __name__ == "__main__":
    sys.exit(main())
