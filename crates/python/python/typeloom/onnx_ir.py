"""A pass of ``onnx_ir`` that fills types and shapes. Needs the packages ``onnx_ir`` and ``onnx``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx_ir

import typeloom
from typeloom._operators import Operators

__all__ = ["TypesPass"]


class TypesPass(onnx_ir.passes.InPlacePass):
    """Fills the proven types and shapes of all values of a model, also in nested graphs and functions.

    >>> import onnx_ir, typeloom as tl
    >>> from typeloom.onnx_ir import TypesPass
    >>> text = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[N] y) { h = Neg(x)  y = Abs(h) }'
    >>> model = onnx_ir.from_onnx_text(text)
    >>> result = TypesPass()(model)
    >>> result.modified, str(model.graph[0].outputs[0].shape)
    (True, '[N]')

    Args:
        strict: refuse a model with errors.
        operators: operators of other domains.

    A type that the model declares is completed, and never replaced.

    Raises:
        ModelError: the model has errors, and `strict` is set.
    """

    def __init__(self, *, strict: bool = True, operators: Operators | None = None) -> None:
        super().__init__()
        self.strict = strict
        self.operators = operators

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        """Fills the types in place; returns the model, and whether it changed."""
        # The check reads names, types and small constants; the copy shares the memory of large ones until it is written.
        annotated = typeloom.annotate(
            model, marks=False, partial=not self.strict, strict=self.strict, operators=self.operators
        ).model
        modified = False
        if annotated is not model:
            for old, new in zip(_values(model), _values(annotated), strict=True):
                modified |= _complete(old, new)
        return onnx_ir.passes.PassResult(model, modified)


def _values(model: onnx_ir.Model) -> Iterator[onnx_ir.Value]:
    """All values of a model, in an order that depends on its structure alone."""
    graphs: list[Any] = [model.graph, *model.functions.values()]
    for graph in graphs:
        yield from graph.inputs
        for node in onnx_ir.traversal.RecursiveGraphIterator(graph):
            yield from node.outputs
            for attribute in node.attributes.values():
                for nested in _graphs(attribute):
                    yield from nested.inputs


def _graphs(attribute: Any) -> list[Any]:
    if attribute.type == onnx_ir.AttributeType.GRAPH:
        return [attribute.value]
    return list(attribute.value) if attribute.type == onnx_ir.AttributeType.GRAPHS else []


def _complete(old: onnx_ir.Value, new: onnx_ir.Value) -> bool:
    """Takes what the new value has and the old one lacks; returns whether there was anything."""
    modified = False
    if new.type is not None and old.type is None:
        old.type = new.type
        modified = True
    if new.shape is not None and (old.shape is None or old.shape != new.shape):
        old.shape = new.shape
        modified = True
    return modified
