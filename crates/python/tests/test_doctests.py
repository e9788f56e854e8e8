"""The examples of all docstrings."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
from pathlib import Path

import pytest
import typeloom

MODULES = ["typeloom"] + [
    module.name
    for module in pkgutil.walk_packages(typeloom.__path__, "typeloom.")
    if module.name not in ("typeloom._core", "typeloom.__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module for another library needs that library.
        assert os.environ.get("CI") != "true" and not (error.name or "").startswith("typeloom"), error
        pytest.skip(str(error))
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_public_names_are_described() -> None:
    for name in typeloom.__all__:
        if name != "ModelLike":
            assert getattr(typeloom, name).__doc__, name


def test_the_stub_has_the_docstrings_of_the_public_classes() -> None:
    """The reference of the site is made from the sources."""
    stub = ast.parse((Path(__file__).parents[1] / "python" / "typeloom" / "_core.pyi").read_text(encoding="utf-8"))
    described = {item.name: ast.get_docstring(item) for item in stub.body if isinstance(item, ast.ClassDef) and ast.get_docstring(item)}
    assert described.keys() == {"Idx", "Symbols", "TypeloomError"}
    core = importlib.import_module("typeloom._core")
    for name, text in described.items():
        assert " ".join(inspect.getdoc(getattr(core, name)).split()) == " ".join(text.split()), name
