"""Commands for the tests of integrations: a false `typeloom` that records its arguments, and the real one if it is built."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: A command that records its arguments, writes every report, and ends with the exit code in `FAKE_EXIT`.
FAKE = """#!{python}
import json, os, sys
arguments = sys.argv[1:]
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(json.dumps(arguments) + "\\n")
for option in arguments[: arguments.index("--")] if "--" in arguments else []:
    name, _, file = option.partition("=")
    if name in ("sarif", "markdown"):
        with open(file, "w") as report:
            report.write(os.environ.get("FAKE_" + name.upper(), name + "\\n"))
print("::error file=a.onnx,title=dim-mismatch::text")
sys.exit(int(os.environ.get("FAKE_EXIT", "0")))
"""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A folder with `bin/typeloom`, which records its arguments."""
    command = tmp_path / "fake tool" / "bin" / "typeloom"
    command.parent.mkdir(parents=True)
    command.write_text(FAKE.format(python=sys.executable))
    command.chmod(command.stat().st_mode | stat.S_IEXEC)
    return command.parent.parent


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A folder with `bin/typeloom`, the command that `TYPELOOM_COMMAND` names."""
    name = os.environ.get("TYPELOOM_COMMAND")
    if not name:
        assert os.environ.get("CI") != "true", "`TYPELOOM_COMMAND` is the path of the command"
        pytest.skip("`TYPELOOM_COMMAND` is not set")
    folder = tmp_path / "real" / "bin"
    folder.mkdir(parents=True)
    shutil.copy2(name, folder / "typeloom")
    return folder.parent
