"""The examples of all docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
import typeloom

MODULES = ["typeloom"] + [
    f"typeloom.{module.name}"
    for module in pkgutil.walk_packages(typeloom.__path__)
    if module.name not in ("_core", "__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_public_names_are_described() -> None:
    for name in typeloom.__all__:
        if name != "ModelLike":
            assert getattr(typeloom, name).__doc__, name
