"""The names of the package, the texts that options accept, and texts in place of lists."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys
import traceback
from importlib.metadata import version
from typing import Any, get_args

import pytest
import typeloom as tl
from typeloom import pool, term, typing

from conftest import HEAD

SECOND = HEAD + "s (float[B, 4] v) => (scores) { scores = Abs(v) }"
MODULES = ["fleet", "pool", "registry", "term", "testing", "types", "typing"]


def exceptions(kind: type[BaseException]) -> list[type[BaseException]]:
    """An exception and all that derive from it."""
    return [kind, *(each for below in kind.__subclasses__() for each in exceptions(below))]


def test_exceptions_have_the_names_by_which_they_are_caught() -> None:
    for module in MODULES:
        importlib.import_module(f"typeloom.{module}")
    found = [kind for kind in exceptions(tl.TypeloomError) if kind.__module__.startswith("typeloom")]
    assert {tl.TypeloomError, tl.ModelError, tl.LinkError, pool.BundleError, tl.registry.RejectedError} <= set(found)
    for kind in found:
        assert "._" not in f".{kind.__module__}", kind
        assert getattr(importlib.import_module(kind.__module__), kind.__name__) is kind


def test_tracebacks_show_public_names(wrong: str) -> None:
    def last_line(call: Any) -> str:
        try:
            call()
        except Exception as error:
            assert type(pickle.loads(pickle.dumps(error))) is type(error)
            return "".join(traceback.format_exception_only(error)).splitlines()[0]
        raise AssertionError("no exception")

    assert last_line(lambda: tl.describe(wrong)).startswith("typeloom.ModelError: error[dim-mismatch]")
    assert last_line(lambda: tl.explain("no-code")) == "typeloom.TypeloomError: there is no diagnostic code `no-code`"
    assert last_line(pool.Bundle.from_bytes(b"").verify).startswith("typeloom.pool.BundleError: ")


def test_the_version_is_that_of_the_command_and_of_the_distribution() -> None:
    assert tl.__version__ == version("typeloom")
    command = subprocess.run(
        [sys.executable, "-m", "typeloom", "--version"], capture_output=True, text=True, timeout=120, check=True
    )
    assert command.stdout.split()[1] == tl.__version__


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    code = "import typeloom; print(*dir(typeloom))"
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    listed = fresh.stdout.split()
    assert listed == dir(tl) == sorted(tl.__all__)
    assert {"check", "fix", "Report", "registry", "__version__"} <= set(listed)
    assert not [name for name in listed if name.startswith("_") and name != "__version__"]
    assert not {"TYPE_CHECKING", "Any", "annotations"} & set(listed)
    assert all(hasattr(tl, name) for name in listed)
    for name in MODULES:
        module = importlib.import_module(f"typeloom.{name}")
        assert dir(module) == sorted(module.__all__), name
        assert all(hasattr(module, public) for public in dir(module)), name


def test_annotations_list_the_texts_that_options_accept(text: str, tmp_path: Any) -> None:
    """A wrong text is an error that lists the accepted ones."""
    interface = tl.describe(HEAD + "g (float[2] x) => (y) { y = Relu(x) }")
    for mode in get_args(typing.Mode):
        assert tl.diff(text, text, mode=mode)
        types = pool.Pool()
        assert types.compat(types.primitive("int"), types.primitive("int"), mode)
    for mode in get_args(typing.RegistryMode):
        registry = tl.registry.Registry(tmp_path / mode)
        assert registry.push(text, "net", mode=mode).mode == mode
    for policy in get_args(typing.Policy):
        assert tl.fix(text, policy=policy).model == text
    for cast in get_args(typing.CompileCast):
        assert tl.check(tl.compile(text, cast=cast))
    for cast in get_args(typing.LinkCast):
        assert tl.check(tl.link(text, SECOND, map={"y": "v"}, cast=cast))
    for format in get_args(typing.ContractFormat):
        assert interface.to_contract(format, model_name="net")
    for level in get_args(typing.Level):
        assert tl.check(text, severities={"all": level})
    for engine in get_args(typing.Engine):
        with pytest.raises(ValueError, match=f"'{engine}'"):
            tl.fleet.check([], "no engine")  # type: ignore[arg-type]
    for call, accepted in (
        (lambda: tl.diff(text, text, mode="no"), get_args(typing.Mode)),  # type: ignore[arg-type]
        (lambda: tl.registry.Registry(tmp_path).push(text, "a", mode="no"), get_args(typing.RegistryMode)),  # type: ignore[arg-type]
        (lambda: tl.compile(text, cast="no"), get_args(typing.CompileCast)),  # type: ignore[arg-type]
        (lambda: tl.link(text, text, cast="no"), get_args(typing.LinkCast)),  # type: ignore[arg-type]
        (lambda: interface.to_contract("no"), get_args(typing.ContractFormat)),  # type: ignore[arg-type]
        (lambda: tl.check(text, severities={"all": "no"}), get_args(typing.Level)),  # type: ignore[arg-type]
        (lambda: tl.fix(text, policy="no"), get_args(typing.Policy)[:4]),  # type: ignore[arg-type]
    ):
        with pytest.raises((tl.TypeloomError, ValueError)) as error:
            call()
        assert all(name in str(error.value) for name in accepted), error.value


def test_a_text_in_place_of_a_list_is_one_item(text: str, tmp_path: Any) -> None:
    target = tl.targets()[0]
    assert list(tl.check(text, targets=target).targets) == [target]
    with pytest.raises(tl.TypeloomError, match="no-such-pass"):
        tl.compile(text, without="no-such-pass")
    linked = tl.link(text, SECOND, map={"y": "v"}, outputs="scores")
    assert [port.name for port in tl.describe(linked).outputs] == ["scores"]
    assert term.parse("Vec<Item>", types="Item") == term.parse("Vec<Item>", types=["Item"])
    types = pool.Pool()
    item = types.bound(0, 0, "type")
    assert types.scheme("type", item) == types.scheme(["type"], item)
    digest = types.digest(types.primitive("int"))
    listed = types.list(types.primitive("int"))
    assert types.export_thin({"a": listed}, digest) == types.export_thin({"a": listed}, [digest])
    registry = tl.registry.Registry(tmp_path)
    assert registry.push(text, "net", alias="production").aliases == ["production"]
    assert registry.set("net", remove_aliases="production").aliases == {}
    with pytest.raises(TypeError):
        tl.types.register("tensor.posit16")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one for each model"):
        tl.link(text, SECOND, map={"y": "v"}, prefixes="s_")  # type: ignore[arg-type]
    session = tl.Session(HEAD + "g (string x) => (y) { y = Identity(x) }")
    assert session.run("word")[0].tolist() == "word"


def test_options_are_annotated_with_the_texts_that_they_accept() -> None:
    from typeloom.testing import assert_replaces, assert_well_typed

    for function, option, alias in (
        (tl.diff, "mode", "Mode"),
        (tl.Interface.diff, "mode", "Mode"),
        (assert_replaces, "mode", "Mode"),
        (pool.Pool.compat, "direction", "Mode"),
        (tl.registry.Registry.push, "mode", "RegistryMode | None"),
        (tl.registry.Registry.check, "mode", "RegistryMode | None"),
        (tl.registry.Registry.set, "mode", "RegistryMode | None"),
        (tl.fix, "policy", "Policy"),
        (tl.convert, "to", "Precision"),
        (tl.link, "cast", "LinkCast"),
        (tl.compile, "cast", "CompileCast"),
        (tl.Interface.to_contract, "format", "ContractFormat"),
        (tl.fleet.check, "engine", "Engine"),
        (tl.check, "severities", "Mapping[str, Level] | None"),
        (tl.view, "severities", "Mapping[str, Level] | None"),
        (assert_well_typed, "severities", "Mapping[str, Level] | None"),
    ):
        assert inspect.signature(function).parameters[option].annotation == alias, function
