"""Texts where a list of texts is expected."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["items"]


def items(texts: str | Iterable[str]) -> list[str]:
    """The texts as a list. A text alone is one item."""
    return [texts] if isinstance(texts, str) else list(texts)
