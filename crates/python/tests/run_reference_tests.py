"""Runs the test files of the package `onnx` against the drop-in, unchanged.

    python crates/python/tests/run_reference_tests.py FOLDER [--list]

FOLDER is ``tests/python`` of the source distribution of onnx 1.23.2. The tests run in this process after ``typeloom.patch()``.
A test differs if it fails. ``docs/python/differences.md`` lists the known differences with their reasons: the run fails if a
test differs and is not listed, or is listed and passes. ``--list`` prints the differing tests instead.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

FILES = [
    "basic_test.py",
    "checker_test.py",
    "compose_test.py",
    "data_propagation_test.py",
    "external_data_test.py",
    "fp6_test.py",
    "function_inference_test.py",
    "function_test.py",
    "helper_test.py",
    "inference_function_test.py",
    "inliner_test.py",
    "model_container_refeval_test.py",
    "model_container_test.py",
    "model_inference_test.py",
    "node_shape_inference_test.py",
    "opaque_type_test.py",
    "parser_test.py",
    "printer_test.py",
    "schema_test.py",
    "shape_inference_test.py",
    "split_shape_inference_test.py",
    "symbolic_shape_test.py",
    "tools_test.py",
    "training_tool_test.py",
    "utils_test.py",
    "version_converter_test.py",
]
"""The files whose tests infer or check, directly or through functions of the package."""

DIFFERENCES = Path(__file__).resolve().parents[3] / "docs" / "python" / "differences.md"


class Outcomes:
    """A pytest plugin that records the outcome of each test."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        # A skipped or expected failure is no outcome.
        path, separator, test = report.nodeid.partition("::")
        name = path.rsplit("/", 1)[-1] + separator + test
        if report.failed:
            self.failed.add(name)
        elif report.when == "call" and report.passed:
            self.passed.add(name)


def listed() -> set[str]:
    """The tests in the table of differences."""
    rows = re.findall(r"^\| `([^`]+::.+?)` \|", DIFFERENCES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {row.replace("\\|", "|") for row in rows}


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    if not arguments:
        sys.stderr.write(str(__doc__))
        return 2
    import pytest

    import typeloom

    folder = Path(arguments[0]).resolve()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    outcomes = Outcomes()
    files = [name for name in FILES if (folder / name).exists()]
    with typeloom.patch():
        pytest.main(["-q", "--tb=no", "-p", "no:cacheprovider", "-r", "N", *files], plugins=[outcomes])
    failed = outcomes.failed
    total = len(failed | outcomes.passed)
    if "--list" in arguments:
        sys.stdout.write("\n".join(sorted(failed)) + "\n")
        return 0
    known = listed()
    new, fixed = sorted(failed - known), sorted(known & (outcomes.passed - failed))
    out = [f"{len(failed)} of {total} tests differ ({100 * len(failed) / max(total, 1):.1f} %)"]
    out += [f"not listed: {test}" for test in new]
    out += [f"listed, but passes: {test}" for test in fixed]
    sys.stdout.write("\n".join(out) + "\n")
    return 1 if new or fixed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
