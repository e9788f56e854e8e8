"""Runs the test files of the package `onnx` against the drop-in, unchanged.

    python crates/python/tests/run_reference_tests.py FOLDER [--list]

FOLDER is the folder of tests in a source distribution of onnx: ``tests/python`` for 1.23, ``onnx/test`` for older releases.
The tests run twice, each time in a new process: with the installed package `onnx`, and after ``typeloom.patch()``. A test
differs if it passes with the first and fails with the second; tests that fail with both are left out, such as those of an old
release for behaviour that the installed one changed. ``docs/python/differences.md`` lists the known differences with their
reasons: the run fails if a test differs and is not listed, if a test of the installed release is listed and passes, or if
`MAXIMUM_SHARE` of a file differ. ``--list`` prints the differing tests instead.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

FILES = [
    "basic_test.py",
    "checker_test.py",
    "compose_test.py",
    "data_propagation_test.py",
    "elu_test.py",
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
    "relu_test.py",
    "schema_test.py",
    "shape_inference_test.py",
    "split_shape_inference_test.py",
    "symbolic_shape_test.py",
    "test_external_data.py",
    "tools_test.py",
    "training_tool_test.py",
    "utils_test.py",
    "version_converter_test.py",
]
"""The files whose tests infer or check, directly or through functions of the package."""

MAXIMUM_SHARE = 0.02
"""The share of the tests of one file that may differ."""

RUN = "--run"
"""Runs the tests in this process; `run`."""

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


OLDER = "## Tests of older releases that differ"
"""The heading of the table for tests that the installed release does not have, or has in another form."""


def listed() -> tuple[set[str], set[str]]:
    """The tests in the tables of differences: of the installed release, and of older ones only."""
    installed, _, older = DIFFERENCES.read_text(encoding="utf-8").partition(OLDER)

    def rows(text: str) -> set[str]:
        found = re.findall(r"^\| `([^`]+::.+?)` \|", text, flags=re.MULTILINE)
        return {row.replace("\\|", "|") for row in found}

    return rows(installed), rows(older)


def run(folder: Path, subject: str, target: Path) -> None:
    """Runs the files in this process and writes the outcomes into a file."""
    from contextlib import nullcontext

    import pytest

    os.chdir(folder)
    sys.path.insert(0, str(folder))
    outcomes = Outcomes()
    files = [name for name in FILES if (folder / name).exists()]
    if subject == "typeloom":
        import typeloom

        patch: Any = typeloom.patch()
    else:
        patch = nullcontext()
    with patch:
        # A file that cannot be imported, such as one that needs a module of its release, is left out.
        options = ["-q", "--tb=no", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-r", "N"]
        pytest.main([*options, *files], plugins=[outcomes])
    target.write_text(json.dumps([sorted(outcomes.passed), sorted(outcomes.failed)]), encoding="utf-8")


def outcomes_of(folder: Path, subject: str) -> tuple[set[str], set[str]]:
    """The tests that pass and those that fail, run in a new process."""
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "outcomes.json"
        # The process writes what the tests print to the standard error stream.
        subprocess.run(
            [sys.executable, __file__, str(folder), RUN, subject, str(target)], check=True, stdout=sys.stderr
        )
        passed, failed = json.loads(target.read_text(encoding="utf-8"))
    return set(passed) - set(failed), set(failed)


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    if not arguments:
        sys.stderr.write(str(__doc__))
        return 2
    folder = Path(arguments[0]).resolve()
    if RUN in arguments:
        _, _, subject, target = arguments
        run(folder, subject, Path(target))
        return 0
    of_reference, _ = outcomes_of(folder, "onnx")
    passed, failed = outcomes_of(folder, "typeloom")
    tests, differing = of_reference & (passed | failed), of_reference & failed
    lost = of_reference - passed - failed
    if "--list" in arguments:
        sys.stdout.write("".join(f"{test}\n" for test in sorted(differing | lost)))
        return 0

    def share(part: int, whole: int) -> str:
        return f"{part} of {whole} tests differ ({100 * part / max(whole, 1):.1f} %)"

    def by_file(tests: set[str]) -> Counter[str]:
        return Counter(test.partition("::")[0] for test in tests)

    (known, older), is_installed = listed(), folder.name == "python"
    totals = by_file(tests)
    unlisted = differing - known - (set() if is_installed else older)
    problems = [] if tests else ["no test passes with the package onnx"]
    problems += [f"not listed: {test}" for test in sorted(unlisted)]
    problems += [f"not run: {test}" for test in sorted(lost)]
    if is_installed:
        problems += [f"listed, but passes: {test}" for test in sorted(known & passed)]
    out = [share(len(differing), len(tests))]
    for name, count in sorted(by_file(differing).items()):
        out.append(f"{name}: {share(count, totals[name])}")
        if count > MAXIMUM_SHARE * totals[name]:
            problems.append(f"more than {100 * MAXIMUM_SHARE:.0f} % differ: {name}")
    sys.stdout.write("\n".join(out + problems) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
