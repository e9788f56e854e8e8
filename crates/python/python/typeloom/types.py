"""The tree of types.

>>> import typeloom as tl
>>> import typeloom.types
>>> node = tl.types.get("tensor.f32")
>>> node.parent, node.is_concrete
('tensor', True)
>>> tl.types.is_subtype("tensor.f32", "tensor"), tl.types.join("tensor.f32", "tensor.i64")
(True, 'tensor')

Every type is at or below a node, and a value has a leaf of the tree. The tree is fixed from its first use on, which is the first
check, parsed type or question to this module: call `register` before.
"""

from __future__ import annotations

from collections.abc import Iterator

from typeloom import _core

__all__ = ["Node", "get", "is_subtype", "join", "nodes", "register"]


def __dir__() -> list[str]:
    return sorted(__all__)



class Node:
    """A node of the tree.

    Attributes:
        id: the identifier, such as ``tensor.f32``.
        parent: the id of the parent; ``None`` for the root.
        is_concrete: whether values can have this type: it is a leaf.
        denotation: the name in an ONNX file; empty if ONNX has an element type of its own for it.
    """

    __slots__ = ("denotation", "id", "is_concrete", "parent")

    def __init__(self, id: str, parent: str | None, is_concrete: bool, denotation: str) -> None:
        self.id = id
        self.parent = parent
        self.is_concrete = is_concrete
        self.denotation = denotation

    @property
    def ancestors(self) -> Iterator[Node]:
        """The parent, its parent, and so on to the root."""
        parent = self.parent
        while parent is not None:
            node = get(parent)
            yield node
            parent = node.parent

    @property
    def children(self) -> list[Node]:
        """The nodes directly below.

        >>> from typeloom import types
        >>> "tensor.f32" in [node.id for node in types.get("tensor").children]
        True
        """
        return [node for node in _tree().values() if node.parent == self.id]

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Node) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __str__(self) -> str:
        return self.id

    def __repr__(self) -> str:
        return f"<Node {self.id}>"


_nodes: dict[str, Node] = {}


def _tree() -> dict[str, Node]:
    if not _nodes:
        _nodes.update((raw[0], Node(*raw)) for raw in _core.tree_nodes())
    return _nodes


def nodes() -> list[Node]:
    """All nodes, parents before children.

    >>> from typeloom import types
    >>> types.nodes()[0].parent is None
    True
    """
    return list(_tree().values())


def get(id: str) -> Node:
    """The node with an id.

    Raises:
        KeyError: there is no such node; the message lists similar ones.
    """
    tree = _tree()
    if id not in tree:
        raise KeyError(f"there is no type node `{id}`{_core.suggestion(id, list(tree))}")
    return tree[id]


def is_subtype(below: str | Node, above: str | Node) -> bool:
    """Whether a node is at or below another one.

    Raises:
        KeyError: there is no such node.
    """
    node, other = get(str(below)), get(str(above))
    return node == other or other in node.ancestors


def join(left: str | Node, right: str | Node) -> str:
    """The id of the lowest node above two nodes.

    Raises:
        KeyError: there is no such node.
    """
    node, other = get(str(left)), get(str(right))
    above = {node, *node.ancestors}
    return next(each for each in (other, *other.ancestors) if each in above).id


def register(*nodes: tuple[str, str] | tuple[str, str, str]) -> None:
    """Adds leaves to the tree, which is fixed after that: one call registers all of them.

    ::

        types.register(("tensor.posit16", "tensor", "org.example.tensor.posit16"), ("tensor.posit8", "tensor"))

    Args:
        *nodes: for each leaf its id, the id of its parent, and optionally the name in an ONNX file.

    Raises:
        TypeloomError: the tree is fixed, an id exists, or there is no such parent. Nothing is added then.
    """
    if any(isinstance(node, str) for node in nodes):
        raise TypeError("a leaf is a tuple of its id and the id of its parent")
    _core.tree_extend([(node[0], node[1], node[2] if len(node) == 3 else None) for node in nodes])
