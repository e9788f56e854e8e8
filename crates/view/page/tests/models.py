"""Models of the tests."""

from __future__ import annotations

import pathlib

import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[4]
MODELS = sorted((ROOT / "models").glob("*.onnx"))
LIGHT = sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))

FLOAT = TensorProto.FLOAT


def model(nodes: list[NodeProto], inputs=(), outputs=(), stored=(), **options) -> ModelProto:
    """A model; inputs and outputs are names with a shape, or with a shape and an element type."""

    def port(name: str, shape, element: int = FLOAT):
        return helper.make_tensor_value_info(name, element, shape)

    graph = helper.make_graph(nodes, "test", [port(*it) for it in inputs], [port(*it) for it in outputs], list(stored))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], **options)


def lines(node: NodeProto, line: int) -> NodeProto:
    """Adds the line of the author's program, as PyTorch's exporter records it."""
    trace = f'File "network.py", line {line}, in forward\n    {node.name} = ...\n'
    node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    return node


def layered(nodes: int) -> ModelProto:
    """Layers of 100 nodes with the names of an exporter, each with a branch to an earlier node."""
    made, value = [], "x0"
    for at in range(nodes):
        layer, part = divmod(at, 100)
        operator = ["Relu", "Add", "Sigmoid", "Mul"][at % 4]
        name = f"/model/layers.{layer}/{['attn', 'mlp'][part // 50]}/{operator}_{part}"
        inputs = [value] if operator in ("Relu", "Sigmoid") else [value, f"x{max(at - 3, 0)}"]
        made.append(helper.make_node(operator, inputs, [f"x{at + 1}"], name=name))
        value = f"x{at + 1}"
    return model(made, [("x0", ["batch", "seq", 64])], [(value, None)])


def planted() -> tuple[ModelProto, list[tuple[str, int]]]:
    """A network with three planted errors, and for each the name of the node that causes it and its line.

    The first: a mask that an earlier cast makes half precision. The second: a weight that an earlier node transposes by mistake. The third: a
    shape with a wrong product.
    """
    weight = helper.make_tensor("weight", FLOAT, [8, 32], b"\0" * (8 * 32 * 4), raw=True)
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [3, 11])
    nodes = [
        lines(helper.make_node("Cast", ["mask"], ["half_mask"], name="cast_mask", to=TensorProto.FLOAT16), 11),
        lines(helper.make_node("Identity", ["half_mask"], ["same_mask"], name="keep_mask"), 12),
        lines(helper.make_node("Add", ["x", "same_mask"], ["masked"], name="add_mask"), 13),
        lines(helper.make_node("Transpose", ["weight"], ["turned"], name="turn_weight", perm=[1, 0]), 21),
        lines(helper.make_node("Identity", ["turned"], ["used"], name="use_weight"), 22),
        lines(helper.make_node("MatMul", ["x", "used"], ["hidden"], name="project"), 23),
        lines(helper.make_node("Relu", ["fixed"], ["active"], name="activate"), 31),
        lines(helper.make_node("Reshape", ["active", "shape"], ["flat"], name="flatten"), 32),
    ]
    inputs = [("x", ["batch", 8]), ("mask", ["batch", 8]), ("fixed", [4, 8])]
    outputs = [("masked", None), ("hidden", None), ("flat", None)]
    causes = [("cast_mask", 11), ("turn_weight", 21), ("flatten", 32)]
    return model(nodes, inputs, outputs, [weight, shape]), causes


HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>&"\'`]]>\u202e\u0000\u0007${x}'


def hostile() -> ModelProto:
    """Markup, control characters and a change of direction in every text of a model."""
    node = helper.make_node("Relu", ["x" + HOSTILE], ["y" + HOSTILE], name=HOSTILE, doc_string=HOSTILE)
    other = helper.make_node("Op" + HOSTILE, ["y" + HOSTILE], ["z"], name="javascript:alert(3)", domain="d" + HOSTILE, text=HOSTILE)
    made = model([node, other], [("x" + HOSTILE, ["n" + HOSTILE])], [("z", None)], producer_name=HOSTILE)
    made.metadata_props.add(key=HOSTILE, value=HOSTILE)
    return made


def wide(readers: int) -> ModelProto:
    """One value with many readers, and one node with many inputs."""
    nodes = [helper.make_node("Relu", ["x"], [f"y{at}"]) for at in range(readers)]
    nodes.append(helper.make_node("Sum", [f"y{at}" for at in range(readers)], ["z"], name="all"))
    return model(nodes, [("x", [2])], [("z", [2])])


def many_edges(edges: int) -> ModelProto:
    """One node that reads one value many times."""
    return model([helper.make_node("Sum", ["x"] * edges, ["y"], name="sum")], [("x", [2])], [("y", [2])])


def deep_names(depth: int) -> ModelProto:
    """A node in scopes of this depth."""
    return model([helper.make_node("Relu", ["x"], ["y"], name="/".join(f"s{at}" for at in range(depth)))], [("x", [2])], [("y", [2])])


def deep_graphs(depth: int) -> bytes:
    """A model with `If` nodes nested to this depth. Protobuf's libraries do not write such models, so the bytes are made here."""

    def varint(number: int) -> bytes:
        out = bytearray()
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        return bytes([*out, number])

    def text(field: int, value: bytes) -> bytes:
        return varint(field << 3 | 2) + varint(len(value)) + value

    name = helper.make_tensor_value_info("y", FLOAT, [2]).SerializeToString()
    # From the inside out: the bytes before the nested graph and behind it.
    before, behind = [], []
    size = 0
    inner = text(1, text(1, b"x") + text(2, b"y") + text(4, b"Relu")) + text(2, b"g") + text(12, name)
    size = len(inner)
    for _ in range(depth):
        # AttributeProto: name, graph, type.
        graph = varint(6 << 3 | 2) + varint(size)
        size += len(graph)
        attribute = text(1, b"then_branch")
        kind = varint(20 << 3) + varint(5)
        size += len(attribute) + len(kind)
        # NodeProto: input, output, operator, attribute.
        head = text(1, b"c") + text(2, b"y") + text(4, b"If")
        opened = varint(5 << 3 | 2) + varint(size)
        size += len(head) + len(opened)
        node = varint(1 << 3 | 2) + varint(size)
        size += len(node)
        end = text(2, b"g") + text(12, name)
        before.append(node + head + opened + attribute + graph)
        behind.append(kind + end)
        size += len(end)
    graph = b"".join(reversed(before)) + inner + b"".join(behind)
    inputs = [helper.make_tensor_value_info(*it) for it in (("x", FLOAT, [2]), ("c", TensorProto.BOOL, []))]
    graph += b"".join(text(11, it.SerializeToString()) for it in inputs)
    opset = helper.make_opsetid("", 21).SerializeToString()
    return varint(1 << 3) + varint(10) + text(7, graph) + text(8, opset)
