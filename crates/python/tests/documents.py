"""Runs what documents show: commands with their output and exit code, commands alone, programs and what they print."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

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
class Reader:
    """A folder, and what someone who follows documents does in it."""

    root: Path
    environment: dict[str, str]
    #: The program of all blocks: they share their values. Libraries that read the source of a function find it by module and file.
    program: ModuleType

    def provide(self, **files: str) -> None:
        """Copies files of the repository to where a document expects those of the reader: a name with `__` for each `/`."""
        for name, source in files.items():
            target = self.root / (name.replace("__", "/") + ".onnx")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / source, target)

    def run(self, step: Step, where: str) -> str:
        """Runs a command in the folder. Returns what it printed."""
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
        return printed

    def follow(
        self,
        document: str,
        *,
        codes: dict[str, int] | None = None,
        instead: dict[str, str] | None = None,
        not_run: tuple[str, ...] = (),
        section: str = "",
    ) -> None:
        """Runs the blocks of a document of the repository, or of one section.

        `codes` has the exit codes of commands that the document does not give, `instead` what stands for a text of the document, `not_run`
        a text of each block that needs what is not here. Each of them must be used.
        """
        codes, instead, unused = dict(codes or {}), instead or {}, {*(codes or {}), *(instead or {}), *not_run}
        text = (REPOSITORY / document).read_text(encoding="utf-8")
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
                printed = ""
                for line in (line for line in code.splitlines() if line.strip() and line not in INSTALLED):
                    unused.discard(line)
                    if line.startswith("export "):
                        name, value = shlex.split(line, comments=True)[1].split("=", 1)
                        self.environment[name] = value
                    else:
                        printed += self.run(Step(line, code=codes.get(line, 0)), where)
                    ran += 1
                continue
            elif language == "python":
                linecache.cache[where] = (len(code), None, code.splitlines(keepends=True), where)
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(compile(code, where, "exec"), self.program.__dict__)
                printed = output.getvalue()
                ran += 1
                continue
            elif language == "text" and printed is not None:
                assert matches(code.strip().splitlines(), printed.strip().splitlines()), f"{where}\n{printed}"
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
