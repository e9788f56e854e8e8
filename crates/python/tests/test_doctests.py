"""The examples of all docstrings."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil

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
