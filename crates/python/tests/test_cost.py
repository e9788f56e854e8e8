"""Costs of models."""

from __future__ import annotations

import pytest

import typeloom as tl

MODEL = """<ir_version: 10, opset_import: ["" : 21]>
g (float[batch, 64] x, float[64, 256] w) => (y) { h = MatMul(x, w)  y = Relu(h) }"""


def test_amounts_are_expressions_or_numbers() -> None:
    cost = tl.cost(MODEL)
    assert cost.raw["work"]["flops"] == {"text": "33024*batch", "number": None}
    assert [row["operator"] for row in cost.raw["operators"]] == ["MatMul", "Relu"]
    assert "16384*batch" in cost
    cost = tl.cost(MODEL, assume={"batch": 3}, nodes=1)
    assert cost.raw["work"]["macs"]["number"] == 3 * 16384
    assert len(cost.raw["nodes"]) == 1


def test_a_symbol_is_solved() -> None:
    cost = tl.cost(MODEL, solve="batch", memory=1 << 20)
    assert cost.raw["solve"]["most"] == {"plain": 426, "embedded": 768}


def test_errors() -> None:
    with pytest.raises(TypeError):
        tl.cost(MODEL, solve="batch")
    with pytest.raises(tl.TypeloomError, match="no symbol `seq`"):
        tl.cost(MODEL, solve="seq", memory=1 << 20)
    with pytest.raises(tl.TypeloomError, match="no symbol `bach`"):
        tl.cost(MODEL, assume={"bach": 1})
    with pytest.raises(tl.ModelError):
        tl.cost(MODEL.replace("float[64, 256]", "float[65, 256]"))
