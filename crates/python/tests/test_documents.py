"""The programs in `docs/python`, `docs/start/python.md` and `docs/how-to/my-own-operators.md` run and print what they show.

Blocks of ``python`` in one document run in order in one namespace and an empty folder; a block of ``text`` directly after one
is its output. Blocks of ``sh`` that begin with ``typeloom`` run as commands.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Packages of other projects that a document needs: it is skipped without them, except in CI.
NEEDS = {"python/recipes.md": ["onnx", "onnx_ir", "onnxruntime", "onnxscript", "skl2onnx"]}


def documents() -> list[str]:
    """The documents with programs."""
    paths = [*DOCUMENTS.glob("python/*.md"), DOCUMENTS / "start" / "python.md", DOCUMENTS / "how-to" / "my-own-operators.md"]
    with_programs = (path for path in paths if "```python" in path.read_text(encoding="utf-8"))
    return sorted(path.relative_to(DOCUMENTS).as_posix() for path in with_programs)


def arguments() -> list[Any]:
    """The documents, with the marks of those that read object stores."""
    of_stores = {"python/fleet.md"}
    return [pytest.param(name, marks=pytest.mark.stores) if name in of_stores else name for name in documents()]


@pytest.mark.parametrize("name", arguments())
def test_a_document_works_as_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(name, []):
        if os.environ.get("CI") != "true":
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    text = (DOCUMENTS / name).read_text(encoding="utf-8")
    # Libraries that read the source of a function find it by its module and file.
    module = types.ModuleType(f"document_{Path(name).stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    output: str | None = None
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        line = text[: block.start()].count("\n") + 1
        where = f"{name}:{line}"
        if language == "python":
            linecache.cache[where] = (len(code), None, code.splitlines(keepends=True), where)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, where, "exec"), module.__dict__)
            output = printed.getvalue()
        elif language == "sh" and code.startswith("typeloom "):
            output = ""
            for command in code.strip().splitlines():
                done = subprocess.run(
                    [sys.executable, "-m", *shlex.split(command)], capture_output=True, text=True, timeout=300
                )
                output += done.stdout
        elif language == "text" and output is not None:
            assert output.strip() == code.strip(), where
            output = None


def test_the_program_of_the_readme_prints_what_it_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = DOCUMENTS.parent
    (program,) = re.findall(r"^```python\n(.*?)^```$", (root / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "decoder.onnx").write_bytes((root / "models" / "decoder.onnx").read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {})
    (stated,) = re.findall(r"# (float\[.*)$", program, re.MULTILINE)
    assert capsys.readouterr().out == f"{stated}\n"
    assert (tmp_path / "typed.onnx").is_file()
