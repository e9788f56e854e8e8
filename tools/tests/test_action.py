"""The action for GitHub: its scripts run as on a runner."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "ci" / "action"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the tests run the scripts with the bash of the system")


class Runner:
    """The environment of a step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "run ner"
        self.folder.mkdir()
        self.output = self.folder / "output"
        self.summary = self.folder / "summary.md"
        self.log = self.folder / "log"
        self.output.touch()
        self.summary.touch()

    def step(self, script: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a script with the variables of its step."""
        environment = {
            "PATH": os.environ["PATH"],
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "RUNNER_TEMP": str(self.folder),
            "RUNNER_TOOL_CACHE": str(self.folder / "tools"),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "FAKE_LOG": str(self.log),
            **variables,
        }
        command = ["bash", str(SCRIPTS / script)]
        return subprocess.run(command, cwd=cwd or self.folder, env=environment, capture_output=True, text=True, timeout=120)

    def outputs(self) -> dict[str, str]:
        """The outputs of the steps until now."""
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())

    def calls(self) -> list[list[str]]:
        """The arguments of each call of the false command."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_steps_are_scripts_and_inputs_reach_them_as_variables_only() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    scripts = [step for step in action["runs"]["steps"] if "run" in step]
    assert len(scripts) == 3
    for step in scripts:
        # An expression in a script would let a branch name or a file name inject commands.
        assert "${{" not in step["run"]
        name = re.fullmatch(r'"\$GITHUB_ACTION_PATH/(ci/action/\w+\.sh)"', step["run"])
        assert name, step["run"]
        assert os.access(ROOT / name.group(1), os.X_OK), name.group(1)
        text = (ROOT / name.group(1)).read_text()
        used = set(re.findall(r"\$\{?(TYPELOOM_[A-Z]+)", text)) - {"TYPELOOM_DOWNLOADS"}
        assert used == set(step["env"]), name.group(1)


def test_the_default_version_is_that_of_the_workspace() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    manifest = (ROOT / "Cargo.toml").read_text()
    found = re.search(r'^version = "(.+)"$', manifest, re.MULTILINE)
    assert found and action["inputs"]["version"]["default"] == found.group(1)


@pytest.mark.parametrize(
    ("system", "processor", "target"),
    [
        ("Linux", "X64", "x86_64-unknown-linux-gnu"),
        ("Linux", "ARM64", "aarch64-unknown-linux-gnu"),
        ("macOS", "X64", "x86_64-apple-darwin"),
        ("macOS", "ARM64", "aarch64-apple-darwin"),
        ("Windows", "X64", "x86_64-pc-windows-msvc"),
    ],
)
def test_each_runner_has_a_release(runner: Runner, system: str, processor: str, target: str) -> None:
    done = runner.step("target.sh", TYPELOOM_VERSION="0.1.0", TYPELOOM_SOURCE="", RUNNER_OS=system, RUNNER_ARCH=processor)
    assert done.returncode == 0, done.stderr
    assert runner.outputs() == {
        "target": target,
        "folder": f"{runner.folder}/tools/typeloom/0.1.0/{target}",
        "key": f"typeloom-0.1.0-{target}",
    }
    # The release workflow builds it.
    assert f"target: {target} " in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_a_runner_without_a_release_and_a_strange_version_are_errors(runner: Runner) -> None:
    done = runner.step("target.sh", TYPELOOM_VERSION="0.1.0", TYPELOOM_SOURCE="", RUNNER_OS="Linux", RUNNER_ARCH="X86")
    assert done.returncode == 2 and done.stdout.startswith("::error title=typeloom::")
    done = runner.step("target.sh", TYPELOOM_VERSION="../0.1.0", TYPELOOM_SOURCE="")
    assert done.returncode == 2 and done.stdout.startswith("::error title=typeloom::")
    assert runner.outputs() == {}


def test_sources_are_cached_by_their_commit(runner: Runner) -> None:
    done = runner.step("target.sh", TYPELOOM_VERSION="0.1.0", TYPELOOM_SOURCE=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"typeloom-source-[0-9a-f]{40}-x86_64-unknown-linux-gnu", runner.outputs()["key"])


def released(runner: Runner, fake: Path, target: str) -> str:
    """The address of a release with the false command."""
    downloads = runner.folder / "downloads"
    archive = [sys.executable, str(ROOT / "tools" / "release" / "archive.py"), "--target", target]
    shared = runner.folder / "shared"
    shared.mkdir(exist_ok=True)
    binary = ["--binary", str(fake / "bin" / "typeloom"), "--shared", str(shared), "--output", str(downloads / "v0.1.0")]
    subprocess.run([*archive, *binary], check=True, capture_output=True)
    return downloads.as_uri()


@pytest.mark.parametrize("target", ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc"])
def test_a_release_is_installed(runner: Runner, fake: Path, target: str) -> None:
    downloads = released(runner, fake, target)
    folder = runner.folder / "installed"
    variables = {"TYPELOOM_VERSION": "0.1.0", "TYPELOOM_SOURCE": "", "TYPELOOM_TARGET": target, "TYPELOOM_FOLDER": str(folder)}
    done = runner.step("install.sh", TYPELOOM_DOWNLOADS=downloads, **variables)
    assert done.returncode == 0, done.stderr
    (command,) = (folder / "bin").iterdir()
    assert command.read_bytes() == (fake / "bin" / "typeloom").read_bytes()
    assert os.access(command, os.X_OK)
    assert not list(runner.folder.glob("typeloom.*")), "temporary files are removed"


def test_a_changed_archive_is_not_installed(runner: Runner, fake: Path) -> None:
    target = "x86_64-unknown-linux-gnu"
    downloads = released(runner, fake, target)
    archive = runner.folder / "downloads" / "v0.1.0" / f"typeloom-{target}.tar.gz"
    archive.write_bytes(archive.read_bytes() + b"\0")
    folder = runner.folder / "installed"
    variables = {"TYPELOOM_VERSION": "0.1.0", "TYPELOOM_SOURCE": "", "TYPELOOM_TARGET": target, "TYPELOOM_FOLDER": str(folder)}
    done = runner.step("install.sh", TYPELOOM_DOWNLOADS=downloads, **variables)
    assert done.returncode != 0
    assert list((folder / "bin").iterdir()) == []


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_check_reports_everywhere_and_keeps_the_exit_code(runner: Runner, fake: Path, code: int) -> None:
    files = "models\nwith blank/a *.onnx\r\n\n-odd.onnx"
    variables = {"TYPELOOM_FOLDER": str(fake), "TYPELOOM_FILES": files, "TYPELOOM_ARGUMENTS": "--warn=portability\n--assume=n=$(id)\n"}
    done = runner.step("check.sh", FAKE_EXIT=str(code), **variables)
    assert done.returncode == code, done.stderr
    sarif = str(runner.folder / "typeloom.sarif")
    reports = ["--format", "github", "--format", f"sarif={sarif}", "--format", f"markdown={runner.folder / 'typeloom.md'}"]
    given = ["--warn=portability", "--assume=n=$(id)", "--", "models", "with blank/a *.onnx", "-odd.onnx"]
    assert runner.calls() == [["check", *reports, *given]]
    assert done.stdout == "::error file=a.onnx,title=dim-mismatch::text\n"
    assert runner.summary.read_text() == "markdown\n"
    assert runner.outputs() == {"exit-code": str(code), "sarif": sarif}


def test_a_long_summary_is_cut_at_a_line(runner: Runner, fake: Path) -> None:
    # A variable of the environment cannot be as long as the summary, so the command repeats it.
    command = fake / "bin" / "typeloom"
    command.write_text(command.read_text().replace('name + "\\n"))', 'name + "\\n") * 150_000)'))
    done = runner.step("check.sh", TYPELOOM_FOLDER=str(fake), TYPELOOM_FILES="models", TYPELOOM_ARGUMENTS="")
    assert done.returncode == 0, done.stderr
    lines = runner.summary.read_text().splitlines()
    assert 900_000 < runner.summary.stat().st_size < 1_048_576
    assert set(lines[:-2]) == {"markdown"} and lines[-1].startswith("The summary is longer")


def test_a_report_of_an_earlier_step_is_not_uploaded(runner: Runner, fake: Path) -> None:
    (runner.folder / "typeloom.sarif").write_text("old")
    command = fake / "bin" / "typeloom"
    command.write_text("#!/bin/sh\nexit 2\n")
    done = runner.step("check.sh", TYPELOOM_FOLDER=str(fake), TYPELOOM_FILES="models", TYPELOOM_ARGUMENTS="--odd")
    assert done.returncode == 2
    assert runner.outputs() == {"exit-code": "2"}
    assert runner.summary.read_text() == ""


def test_the_command_itself_reports_a_wrong_model(runner: Runner, real: Path) -> None:
    variables = {"TYPELOOM_FOLDER": str(real), "TYPELOOM_ARGUMENTS": ""}
    done = runner.step("check.sh", cwd=ROOT, TYPELOOM_FILES="spec/models/twice.onnx\nmodels/classifier.onnx", **variables)
    assert done.returncode == 1, done.stderr
    assert len(re.findall(r"^::error file=spec/models/twice\.onnx,.*::", done.stdout, re.MULTILINE)) == 2
    assert "spec/models/twice.onnx" in runner.summary.read_text()
    report = json.loads(Path(runner.outputs()["sarif"]).read_text())
    assert [result["ruleId"] for result in report["runs"][0]["results"]] == ["element-type-mismatch", "dim-mismatch"]


def test_the_command_itself_accepts_a_correct_model(runner: Runner, real: Path) -> None:
    variables = {"TYPELOOM_FOLDER": str(real), "TYPELOOM_ARGUMENTS": "--max-problems=5\n"}
    done = runner.step("check.sh", cwd=ROOT, TYPELOOM_FILES="models/classifier.onnx", **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(Path(runner.outputs()["sarif"]).read_text())["runs"][0]["results"] == []
