"""Models for the tests of the package."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from typeloom import _core

if TYPE_CHECKING:
    from documents import Reader
    from registry_stores import Server

#: Bound on the time of any process of a test, in seconds: a detector of deadlocks.
LIMIT = 300

HEAD = '<ir_version: 10, opset_import: ["" : 21]> '


@pytest.fixture
def text() -> str:
    """A well-typed model as text."""
    return HEAD + "g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }"


@pytest.fixture
def wrong() -> str:
    """A model with one error."""
    return HEAD + "g (float[N, 3] x, float[4, 5] w) => (y) { y = MatMul(x, w) }"


def needs_stores() -> None:
    """Skips a test if the package reads folders only; with `CI`, fails it."""
    if not _core.HAS_STORES:
        if os.environ.get("CI") == "true":
            pytest.fail("the package has no object stores (feature `cloud`)")
        pytest.skip("the package has no object stores (feature `cloud`)")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("stores") is not None:
        needs_stores()


@pytest.fixture(scope="session")
def s3() -> Iterator[Server]:
    """An S3 server with faults. It is optional: tests that need it skip without moto, and fail if `CI` is set."""
    needs_stores()
    if any(find_spec(module) is None for module in ("moto", "flask")):
        if os.environ.get("CI") == "true":
            pytest.fail("moto is not installed")
        pytest.skip("moto is not installed")
    from registry_stores import Server

    server = Server()
    try:
        yield server
    finally:
        server.close()


def interrupted(code: str) -> list[str]:
    """The lines that a program prints which gets an interrupt after its first line. It has to end by itself."""
    # A process whose parent ignores interrupts, such as a job in the background, would ignore them too.
    handled = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
    with subprocess.Popen([sys.executable, "-c", handled], stdout=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(LIMIT, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip()]
            process.send_signal(signal.SIGINT)
            lines += process.stdout.read().split()
            assert process.wait() == 0
            return lines
        finally:
            watchdog.cancel()
            process.kill()


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Someone in an empty folder, with the installed command first on the path and a registry of their own."""
    from documents import Reader

    root = tmp_path / "folder"
    root.mkdir()
    monkeypatch.chdir(root)
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", NO_COLOR="1")
    environment["TYPELOOM_REGISTRY"] = str(tmp_path / "registry")
    program = ModuleType("documents_program")
    monkeypatch.setitem(sys.modules, program.__name__, program)
    return Reader(root, environment, program)


@pytest.fixture
def clone(reader: Reader) -> Reader:
    """A reader in a copy of the repository without what was built in it."""
    from documents import REPOSITORY, built

    shutil.copytree(REPOSITORY, reader.root, ignore=built, dirs_exist_ok=True)
    return reader
