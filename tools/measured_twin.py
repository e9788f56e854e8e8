"""A slow twin of the verdicts of measured targets, for `compare_targets.py --table`. It computes the properties of nodes in Python, from
the types that `typeloom infer` reports, and looks them up in a table.

It decides models whose nodes are all in the main graph. Nested graphs and model-local functions are undecided.
"""

import sys
import zlib
from pathlib import Path

import onnx
from onnx import AttributeProto

sys.path.insert(0, str(Path(__file__).resolve().parent / "facts"))

import measured
import node_probes
from node_properties import properties

WORDS = {"+": "runs", "~": "runs", "-": "rejected", "?": "undecided"}


def read_table(text: str) -> dict:
    """The names of the properties, their values, and the tree of each operator. The empty name has the measured package."""
    found: dict = {"": text.splitlines()[1].split()[1]}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("op "):
            name, names, values = words[1], [], []
        elif line.startswith("  tree "):
            found[name] = (names, values, measured.read_tree(words[1])[0])
        elif line.startswith("  "):
            names.append(words[0])
            values.append(words[1:])
    return found


def check_all(command: str, table: Path, models: list[Path]) -> dict[Path, tuple[str, list[str]]]:
    """The verdict of each model, and the nodes that decide it."""
    data = table.read_bytes()
    text = data.decode() if data.startswith(b"typeloom-measured") else zlib.decompress(data).decode()
    known, read = node_probes.signatures(), read_table(text)
    found = {}
    for start in range(0, len(models), 2000):
        part = models[start : start + 2000]
        for path, answer in zip(part, node_probes.infer(command, [path.read_bytes() for path in part])):
            found[path] = verdict(path, answer, known, read)
    return found


def verdict(path: Path, answer: dict, known: dict, table: dict) -> tuple[str, list[str]]:
    if not answer["ok"]:
        return "errors", []
    graph = (model := onnx.load(path, load_external_data=False)).graph
    imports = {one.domain.replace("ai.onnx", "") if one.domain == "ai.onnx" else one.domain: one.version for one in model.opset_import}
    reasons: dict[str, list[str]] = {}
    if hidden := rejected_inputs(graph, table[""]):
        reasons["-"] = hidden
    alive = live(graph)
    for at, node in enumerate(graph.node):
        outcome = node_outcome(node, graph, imports, answer, known, table, {one.name for one in model.functions})
        if at not in alive:
            # OpenVINO removes the node before it compiles. tract analyses it and removes it then.
            outcome = "+" if table[""] == "openvino" or outcome == "+" else "?"
        reasons.setdefault(outcome, []).append(f"{node.domain or 'ai.onnx'}::{node.op_type}")
    for outcome in "-?~":
        if outcome in reasons:
            return WORDS[outcome], reasons[outcome]
    return "runs", []


def rejected_inputs(graph, source: str) -> list[str]:
    """Inputs that are rejected for their declared type, also where nodes determine it: OpenVINO needs the rank, tract also names of the
    extents that are not numbers.
    """
    stored = {tensor.name for tensor in graph.initializer}
    found = []
    for value in graph.input:
        if value.name in stored or value.type.WhichOneof("value") not in (None, "tensor_type"):
            continue
        ty = value.type.tensor_type
        unnamed = any(not dim.HasField("dim_value") and not dim.dim_param for dim in ty.shape.dim)
        if not ty.HasField("shape") or (source != "openvino" and unnamed):
            found.append(f"input {value.name}")
    return found


def live(graph) -> set[int]:
    """The positions of the nodes that reach an output."""
    read, kept = {value.name for value in graph.output}, set()
    for at, node in reversed(list(enumerate(graph.node))):
        if read & set(node.output):
            kept.add(at)
            read.update(node.input)
            for attribute in node.attribute:
                for inner in [attribute.g, *attribute.graphs]:
                    read.update(name for each in inner.node for name in each.input)
    return kept


def node_outcome(node, graph, imports: dict, answer: dict, known: dict, table: dict, functions: set) -> str:
    domain = "" if node.domain == "ai.onnx" else node.domain
    name = f"{domain or 'ai.onnx'}::{node.op_type}"
    versions = known.get(name, [])
    fitting = [one for one in versions if one.version <= imports.get(domain, 1)]
    nested = any(attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for attribute in node.attribute)
    if not fitting or node.op_type in functions or name not in table:
        return "?"
    names, values, tree = table[name]
    found = {"version": str(fitting[-1].version), **properties(fitting[-1], versions, graph, node, answer)}
    outcome = measured.lookup(tree, values, [found[each] for each in names])
    return "?" if nested and outcome == "+" else outcome
