"""The first hour of five users: each follows the documents in a new clone, block by block, and gets what they came for.

The lines that install are run by `.ci/run`: the package and the command are those that the tests run with. A document says `model.onnx`
where a reader has a file; each test provides it, and states the exit codes of commands that find something in it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from conftest import LIMIT
from documents import BLOCK, REPOSITORY, Reader, Step, matches


def run(model: Path, **inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of a model in ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).run(None, inputs)


#: Blocks of the README that other first hours do: the command from its sources.
FROM_SOURCES = ("cargo run ",)
#: Where cargo compiles: a folder of its own, because a build of the clone replaces the command of the repository.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "first-hours"
#: Blocks that need PyTorch, which the tests do not install.
OF_PYTORCH = ("torch.onnx.export(",)


def test_an_export_that_fails_at_batch_2(clone: Reader) -> None:
    clone.follow("README.md", not_run=FROM_SOURCES)
    clone.follow("docs/start/command-line.md", not_run=("typeloom completions",))
    # The reader's export is for the length of its example, and the released one for any.
    clone.provide(models__model="spec/models/baked_length.onnx", released__model="models/baked_length_fixed.onnx")
    check, diff = "typeloom check models -D restricted-symbol", "typeloom diff released/model.onnx models/model.onnx"
    # A model with errors has no interface to compare.
    clone.follow("docs/how-to/fails-at-batch-2.md", codes={check: 1, diff: 2}, not_run=OF_PYTORCH)
    # The report is right: the runtime accepts no other length, and any length of the export that the page asks for.
    x = np.zeros((2, 9, 8), np.float32)
    with pytest.raises(Exception, match="requested shape"):
        run(clone.root / "models/model.onnx", x=x)
    [y] = run(clone.root / "released/model.onnx", x=x)
    assert y.shape == (2, 9, 8)
    clone.provide(models__model="models/baked_length_fixed.onnx")
    clone.run(Step(check), "with the new export")
    clone.run(Step(diff), "with the new export")


def test_a_model_with_float16(clone: Reader) -> None:
    clone.follow("README.md", not_run=FROM_SOURCES)
    clone.provide(models__model="spec/models/mixed.onnx")
    check, repair = (
        "typeloom check models --target onnxruntime-1.31",
        "typeloom fix --dry-run --policy lossless models/model.onnx     # fails if only a lossy cast helps",
    )
    clone.follow("docs/how-to/float16.md", codes={check: 1, repair: 0})
    inputs: dict[str, np.ndarray] = {}
    with pytest.raises(Exception, match="bound to different types"):
        run(clone.root / "models/model.onnx", **inputs)
    # `-o` instead of `--dry-run`, as the page says. The runtime loads and runs the result.
    clone.run(Step("typeloom fix models/model.onnx -o fixed.onnx && mv fixed.onnx models/model.onnx"), "repair")
    clone.run(Step(check), "after the repair")
    clone.run(Step("typeloom run models/model.onnx --compare ort"), "after the repair")
    # The repaired model is the original of a conversion that keeps it as it is.
    clone.provide(original="models/model.onnx", converted="models/model.onnx")
    clone.follow("docs/how-to/before-and-after-a-conversion.md")
    clone.program.__dict__["test_conversion"]()


def test_a_registry_of_interfaces(clone: Reader) -> None:
    """One registry from the first push to the release."""
    clone.follow("README.md", not_run=FROM_SOURCES)
    # The candidate of the page's last commands accepts what callers of version 2 pass. The registry is the folder of the reader.
    clone.provide(candidate="spec/models/scorer2.onnx")
    registry = clone.environment["TYPELOOM_REGISTRY"]
    clone.follow("docs/how-to/a-new-version-of-an-interface.md", instead={"s3://models/registry": registry})
    # What the page and the next page state about the result.
    clone.run(Step("typeloom check spec/models/scorer3.onnx --against ranking/scorer@production > /dev/null", code=1), "a candidate")
    clone.provide(model="models/decoder.onnx")
    clone.provide(candidate="models/decoder.onnx")
    clone.follow("docs/registry.md", section="In short", instead={"s3://models/registry": registry})
    clone.run(Step("typeloom registry verify"), "after the pushes")


def test_a_program_in_rust(clone: Reader) -> None:
    """The program of the page in a package of its own, next to the clone."""
    if shutil.which("cargo") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("cargo is not installed")
        pytest.skip("cargo is not installed")
    clone.environment |= {"CARGO_TARGET_DIR": str(TARGET), "CARGO_NET_OFFLINE": "true"}
    clone.run(Step("cargo new --quiet --vcs none ../program"), "a new program")
    page = (clone.root / "docs/start/rust.md").read_text(encoding="utf-8")
    assert "cargo add --path crates/typeloom" in page and "`--no-default-features`" in page
    # The versions that the clone pins are those that are fetched.
    add = f"cargo add --quiet --path {clone.root}/crates/typeloom --no-default-features"
    clone.run(Step(f"cp Cargo.lock ../program && cd ../program && {add}"), "a new program")
    [program] = [code for language, code, _ in BLOCK.findall(page) if language == "rust"]
    [output] = [code for language, code, _ in BLOCK.findall(page) if language == "text"]
    (clone.root.parent / "program/src/main.rs").write_text(program, encoding="utf-8")
    clone.run(Step("cd ../program && cargo run --quiet", output=output), "docs/start/rust.md")
    clone.follow("README.md", not_run=("pip install",))


def test_a_notebook(clone: Reader) -> None:
    """The tutorial in a kernel of Jupyter: its programs are the cells."""
    clone.follow("docs/start/python.md")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    page = (clone.root / "docs/python/tutorial.md").read_text(encoding="utf-8")
    blocks = [(language, fenced) for language, fenced, _ in BLOCK.findall(page) if language in ("python", "sh", "text")]
    # A command is a cell that begins with `!`.
    programs = [code if language == "python" else f"!{code}" for language, code in blocks if language != "text"]
    # A value at the end of a cell is shown as HTML.
    cells = [nbformat.v4.new_code_cell(code) for code in [*programs, "tl.check(MODEL)"]]
    notebook = nbformat.v4.new_notebook(cells=cells)
    path = clone.environment["PATH"]
    client = nbclient.NotebookClient(notebook, timeout=LIMIT, resources={"metadata": {"path": str(clone.root)}})
    client.execute(env=dict(os.environ, PATH=path))
    printed = ["".join(part["text"] for part in cell.outputs if part.output_type == "stream") for cell in notebook.cells]
    at = -1
    for language, text in blocks:
        if language != "text":
            at += 1
        else:
            assert matches(text.splitlines(), printed[at].replace("\r", "").rstrip().splitlines()), printed[at]
    shown = notebook.cells[-1].outputs[0]["data"]
    assert "<table" in shown["text/html"] and "6 values" in shown["text/plain"]
