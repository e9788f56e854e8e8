"""What `docs/python`, `docs/start/python.md` and `docs/how-to/my-own-operators.md` show is what happens, in one folder for each page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from documents import REPOSITORY, Reader

DOCUMENTS = REPOSITORY / "docs"
#: Packages of other projects that a document needs: it is skipped without them, except in CI.
NEEDS = {"docs/python/recipes.md": ["onnx", "onnx_ir", "onnxruntime", "onnxscript", "skl2onnx"]}


def documents() -> list[Any]:
    """The documents with programs, with the marks of those that read object stores."""
    paths = sorted([*DOCUMENTS.glob("python/*.md"), DOCUMENTS / "start" / "python.md"])
    with_programs = (path for path in paths if "```python" in path.read_text(encoding="utf-8"))
    names = [path.relative_to(REPOSITORY).as_posix() for path in with_programs]
    of_stores = {"docs/python/fleet.md"}
    return [pytest.param(name, marks=pytest.mark.stores) if name in of_stores else name for name in names]


@pytest.mark.parametrize("name", documents())
def test_a_document_works_as_written(name: str, reader: Reader) -> None:
    for package in NEEDS.get(name, []):
        if os.environ.get("CI") != "true":
            pytest.importorskip(package)
    reader.follow(name)


def test_the_page_about_operators_works_as_written(clone: Reader) -> None:
    clone.follow("docs/how-to/my-own-operators.md")


def test_a_pytorch_export_becomes_a_static_float16_model_for_a_device(clone: Reader) -> None:
    clone.follow("docs/how-to/convert-to-float16.md", section="From PyTorch to a static float16 model on a device")
    assert (clone.root / "half.onnx").is_file()


def test_the_program_of_the_readme_prints_what_it_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = REPOSITORY
    (program,) = re.findall(r"^```python\n(.*?)^```$", (root / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "decoder.onnx").write_bytes((root / "models" / "decoder.onnx").read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {})
    (stated,) = re.findall(r"# (float\[.*)$", program, re.MULTILINE)
    assert capsys.readouterr().out == f"{stated}\n"
    assert (tmp_path / "typed.onnx").is_file()
