"""Models for the tests of the package."""

from __future__ import annotations

import pytest

HEAD = '<ir_version: 10, opset_import: ["" : 21]> '


@pytest.fixture
def text() -> str:
    """A well-typed model as text."""
    return HEAD + "g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }"


@pytest.fixture
def wrong() -> str:
    """A model with one error."""
    return HEAD + "g (float[N, 3] x, float[4, 5] w) => (y) { y = MatMul(x, w) }"
