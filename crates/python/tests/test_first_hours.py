"""The first hour of five users: each follows the documents in a new clone, block by block, and gets what they came for.

What a document shows is run in its order: commands with their output and exit code, commands alone, programs and what they print. The
lines that install are run by `.ci/run` (`INSTALLED`): the package and the command are those that the tests run with. A document says
`model.onnx` where a reader has a file; each test provides it, and states the exit codes of commands that find something in it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import LIMIT

REPOSITORY = Path(__file__).parents[3]
#: Commands that `.ci/run` runs itself, in this or another form.
INSTALLED = {"pip install .", "cargo install --path crates/cli", "cargo test --workspace"}
#: A fence with its language, or lines with an indent of four.
BLOCK = re.compile(r"^```([\w]*)[^\n]*\n(.*?)^```$|((?:^    \S[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
PROGRAMS = ("typeloom ", "python ", "pip ", "cargo ", "git ", "export ")


@dataclass
class Step:
    """A command, with the output and the exit code that a document shows, if it shows them."""

    command: str
    output: str | None = None
    code: int = 0


@dataclass
class Clone:
    """A clone and what the reader does in it."""

    root: Path
    environment: dict[str, str]
    #: Values of programs, from block to block.
    names: dict[str, Any] = field(default_factory=dict)

    def provide(self, **files: str) -> None:
        """Copies files of the repository to where a document expects those of the reader: a name with `__` for each `/`."""
        for name, source in files.items():
            target = self.root / (name.replace("__", "/") + ".onnx")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / source, target)

    def run(self, step: Step, where: str) -> None:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", step.command],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=4 * LIMIT,
        )
        printed = done.stdout + done.stderr
        assert done.returncode == step.code, f"{where}: `{step.command}` ended with {done.returncode}\n{printed}"
        if step.output is not None:
            assert matches(step.output.splitlines(), printed.splitlines()), f"{where}: `{step.command}`\n{printed}"

    def follow(
        self,
        document: str,
        *,
        codes: dict[str, int] | None = None,
        instead: dict[str, str] | None = None,
        not_run: tuple[str, ...] = (),
        section: str = "",
    ) -> None:
        """Runs the blocks of a document, or of one section. `codes` has the exit codes of commands that the document does not give, `instead` what stands
        for a text of the document, `not_run` a text of each block that needs what is not here. Each of them must be used.
        """
        codes, instead, unused = dict(codes or {}), instead or {}, {*(codes or {}), *(instead or {}), *not_run}
        text = (self.root / document).read_text(encoding="utf-8")
        if section:
            text = text.split(f"\n## {section}\n")[1].split("\n## ")[0]
        printed: str | None = None
        ran = 0
        for block in BLOCK.finditer(text):
            language, fenced, indented = block.groups()
            code = fenced or re.sub("^    ", "", indented or "", flags=re.MULTILINE)
            where = f"{document}:{text[: block.start()].count(chr(10)) + 1}"
            skipped = [mark for mark in not_run if mark in code]
            unused.difference_update(skipped)
            if skipped:
                continue
            for old, new in instead.items():
                if old in code:
                    unused.discard(old)
                    code = code.replace(old, new)
            if language == "console":
                for step in session(code):
                    self.run(step, where)
                    ran += 1
            elif language == "sh" or (indented and code.startswith(PROGRAMS)):
                for line in (line for line in code.splitlines() if line.strip() and line not in INSTALLED):
                    unused.discard(line)
                    if line.startswith("export "):
                        name, value = shlex.split(line, comments=True)[1].split("=", 1)
                        self.environment[name] = value
                    else:
                        self.run(Step(line, code=codes.get(line, 0)), where)
                    ran += 1
            elif language == "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(compile(code, where, "exec"), self.names)
                printed = output.getvalue()
                ran += 1
                continue
            elif language == "text" and printed:
                assert matches(code.splitlines(), printed.rstrip().splitlines()), f"{where}\n{printed}"
            printed = None
        assert ran > 0, f"{document} has nothing to do"
        assert not unused, f"{document} does not contain {sorted(unused)}"


def session(text: str) -> Iterator[Step]:
    """The commands of a `console` block."""
    step: Step | None = None
    for line in text.splitlines():
        if line.startswith("$ "):
            if step is not None:
                yield step
            step = Step(line.removeprefix("$ "), output="")
        elif step is not None and line.startswith("? "):
            step.code = int(line.removeprefix("? "))
        elif step is not None:
            step.output = f"{step.output}{line}\n"
    if step is not None:
        yield step


def matches(shown: list[str], found: list[str]) -> bool:
    """Whether a text is what a document shows: `...` in a line is any text, and alone on a line any lines."""
    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(map(re.escape, line.rstrip().split("..."))) + r"[ ]*\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None


def built(_: str, names: list[str]) -> set[str]:
    """The entries of a folder that a checkout has and a clone does not have."""
    named = {".git", "node_modules", ".venv", "__pycache__", *(["target"] if "Cargo.toml" in names else [])}
    return {name for name in names if name in named or name.endswith(".so")}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """The repository in a new folder, without what was built in it, and the installed command first on the path."""
    root = tmp_path / "clone"
    shutil.copytree(REPOSITORY, root, ignore=built)
    monkeypatch.chdir(root)
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", NO_COLOR="1")
    environment["TYPELOOM_REGISTRY"] = str(tmp_path / "registry")
    return Clone(root, environment)


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


def test_an_export_that_fails_at_batch_2(clone: Clone) -> None:
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


def test_a_model_with_float16(clone: Clone) -> None:
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
    clone.names["test_conversion"]()


def test_a_registry_of_interfaces(clone: Clone) -> None:
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


def test_a_program_in_rust(clone: Clone) -> None:
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
    add = "cargo add --quiet --path ../clone/crates/typeloom --no-default-features"
    clone.run(Step(f"cp Cargo.lock ../program && cd ../program && {add}"), "a new program")
    [program] = [code for language, code, _ in BLOCK.findall(page) if language == "rust"]
    [output] = [code for language, code, _ in BLOCK.findall(page) if language == "text"]
    (clone.root.parent / "program/src/main.rs").write_text(program, encoding="utf-8")
    clone.run(Step("cd ../program && cargo run --quiet", output=output), "docs/start/rust.md")
    clone.follow("README.md", not_run=("pip install",))


def test_a_notebook(clone: Clone) -> None:
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
