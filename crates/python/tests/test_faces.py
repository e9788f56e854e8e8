"""`check` and `view` report the problems of recorded models that the command reports."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import typeloom as tl

FOLDER = Path(
    os.environ.get("TYPELOOM_CONFORMANCE")
    or Path(__file__).resolve().parents[4] / "shared" / "conformance"
)

MODELS = 200
"""The models are those of the Rust tests (`crates/testing/src/recorded.rs`)."""


def models() -> list[Path]:
    if not FOLDER.is_dir():
        assert os.environ.get("CI") != "true", f"no recorded cases at {FOLDER}"
        pytest.skip(f"no recorded cases at {FOLDER}")
    chosen = sorted((FOLDER / "illtyped").glob("*.onnx"))[:MODELS]
    others = sorted((FOLDER / "inference" / "models").glob("*.onnx"))
    missing = MODELS - len(chosen)
    return chosen + [others[at * len(others) // missing] for at in range(missing)]


def test_check_and_view_report_the_problems_of_the_command() -> None:
    paths = [str(path) for path in models()]
    run = subprocess.run(
        [sys.executable, "-m", "typeloom", "check", "--no-config", "--format", "json", *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    objects = {record["file"]: record for record in map(json.loads, run.stdout.splitlines())}
    assert len(objects) == MODELS
    problems = 0
    for path in paths:
        expected = objects[path]["diagnostics"]
        problems += len(expected)
        report = tl.check(path)
        raw = [found._raw for found in report.diagnostics]
        for key in ("code", "severity", "place", "message"):
            assert [found[key] for found in raw] == [found[key] for found in expected], (path, key)
        try:
            page = tl.view(path)
        except tl.ModelError as error:
            assert [it.code for it in error.diagnostics] == [it["code"] for it in expected], path
            continue
        assert page._errors == sum(it["severity"] == "error" for it in expected), path
        scene = re.search(r'id="scene">([^<]*)<', page.html)
        assert scene is not None
        marks = zlib.decompress(base64.b64decode(scene[1]))
        for found in report.diagnostics:
            # The scene has each problem as the text that the command prints, with code, severity and location.
            assert found.text.encode() in marks, (path, found.text)
    assert problems > 50
