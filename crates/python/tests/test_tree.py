"""The tree of types."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typeloom as tl
from typeloom import types


def test_every_node_is_below_the_root() -> None:
    nodes = types.nodes()
    root = nodes[0]
    assert root.parent is None and sum(node.parent is None for node in nodes) == 1
    seen = set()
    for node in nodes:
        assert node.parent is None or node.parent in seen, "parents precede children"
        seen.add(node.id)
        assert types.is_subtype(node, root) and types.join(node, root) == root.id
        assert node.is_concrete != bool(node.children) or not node.is_concrete
    assert types.get("tensor.f32") in types.get("tensor").children
    with pytest.raises(KeyError):
        types.get("tensor.nothing")


def test_joins_are_the_lowest_common_nodes() -> None:
    assert types.join("tensor.f32", "tensor.i64") == "tensor"
    assert types.join("tensor.f32", "tensor.f32") == "tensor.f32"
    assert not types.is_subtype("tensor", "tensor.f32")


PROGRAM = """
import typeloom as tl
from typeloom import types

try:
    types.register(("tensor.posit16", "tensors"))
except tl.TypeloomError:
    print("no such parent")
types.register(("tensor.posit16", "tensor", "org.example.tensor.posit16"), ("tensor.posit4", "tensor"))
assert types.is_subtype("tensor.posit16", "tensor") and types.get("tensor.posit16").denotation
assert tl.Type("tensor.posit16").node == "tensor.posit16"
try:
    types.register(("tensor.posit8", "tensor"))
except tl.TypeloomError:
    print("fixed")
"""


def test_a_leaf_is_registered_before_the_first_use() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.stdout == "no such parent\nfixed\n", done.stderr


def test_a_used_tree_is_fixed() -> None:
    assert tl.Type("float[2]")
    types.nodes()
    with pytest.raises(tl.TypeloomError):
        types.register(("tensor.posit32", "tensor"))
