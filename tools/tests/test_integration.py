"""pre-commit, the container, and the recipes for CI."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "docs" / "ci-recipes.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def sample(folder: Path, *models: str) -> Path:
    """A repository that uses the hook, with models in its index."""
    hooks = folder / "hooks"
    hooks.mkdir()
    git(hooks, "init", "--quiet")
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    git(hooks, "add", "--all")
    git(hooks, "commit", "--quiet", "--message", "hooks")
    user = folder / "user"
    user.mkdir()
    git(user, "init", "--quiet")
    hook = {"repo": str(hooks), "rev": git(hooks, "rev-parse", "HEAD"), "hooks": [{"id": "typeloom-check-system"}]}
    (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [hook]}))
    (user / "notes.txt").write_text("no model")
    for model in models:
        shutil.copy(ROOT / model, user)
    git(user, "add", "--all")
    return user


def pre_commit(user: Path, tool: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{tool / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PRE_COMMIT_HOME": str(user.parent / "cache"), **variables}
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"]
    return subprocess.run(command, cwd=user, env=environment, capture_output=True, text=True, timeout=300)


def test_the_hook_gets_the_models_of_a_commit(fake: Path, tmp_path: Path) -> None:
    user = sample(tmp_path, "models/classifier.onnx", "spec/models/twice.onnx")
    log = tmp_path / "log"
    done = pre_commit(user, fake, FAKE_LOG=str(log))
    assert done.returncode == 0, done.stdout + done.stderr
    (call,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert call[:2] == ["check", "--quiet"] and sorted(call[2:]) == ["classifier.onnx", "twice.onnx"]
    assert pre_commit(user, fake, FAKE_LOG=str(log), FAKE_EXIT="1").returncode == 1


def test_the_hook_refuses_a_commit_with_a_wrong_model(real: Path, tmp_path: Path) -> None:
    user = sample(tmp_path, "models/classifier.onnx")
    assert pre_commit(user, real).returncode == 0
    shutil.copy(ROOT / "spec/models/twice.onnx", user)
    git(user, "add", "--all")
    done = pre_commit(user, real)
    assert done.returncode == 1 and "error[dim-mismatch]" in done.stdout, done.stdout + done.stderr


def test_the_hooks_are_valid() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    subprocess.run(command, check=True)


def test_the_container_is_built_with_the_oldest_supported_compiler() -> None:
    text = (ROOT / "Containerfile").read_text()
    manifest = (ROOT / "Cargo.toml").read_text()
    rust = re.search(r'^rust-version = "(.+)"$', manifest, re.MULTILINE)
    assert rust and f"/rust:{rust.group(1)}-slim" in text
    assert re.search(r"^USER [1-9]", text, re.MULTILINE), "the command does not run as root"


def recipes(language: str) -> list[str]:
    return [text for found, text in FENCE.findall(RECIPES.read_text(encoding="utf-8")) if found == language]


def test_the_recipe_for_github_uses_inputs_of_the_action() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (workflow,) = [yaml.safe_load(text) for text in recipes("yaml") if "actions/checkout" in text]
    (step,) = [step for step in workflow["jobs"]["typeloom"]["steps"] if "typeloom" in step["uses"]]
    version = action["inputs"]["version"]["default"]
    assert step["uses"].endswith(f"@v{version}")
    assert set(step["with"]) <= set(action["inputs"])
    table = re.findall(r"^\| `([\w-]+)` \|", RECIPES.read_text(encoding="utf-8"), re.MULTILINE)
    assert table == list(action["inputs"])


def test_the_recipes_for_pre_commit_name_hooks() -> None:
    ids = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    configurations = [yaml.safe_load(text) for text in recipes("yaml") if text.startswith("repos:")]
    assert len(configurations) == 2
    for configuration in configurations:
        for repository in configuration["repos"]:
            assert {hook["id"] for hook in repository["hooks"]} <= ids


def commands() -> list[str]:
    """The calls of `typeloom` in the recipes."""
    gitlab = [yaml.safe_load(text)["typeloom"]["script"] for text in recipes("yaml") if text.startswith("typeloom:")]
    shell = [line for text in recipes("sh") for line in text.splitlines() if line.startswith("typeloom ")]
    jenkins = [line for text in recipes("groovy") for line in re.findall(r"'\.venv/bin/(typeloom [^']+)'", text)]
    assert len(gitlab) == len(shell) == len(jenkins) == 1
    return [*shell, *gitlab[0], *jenkins]


def test_the_commands_of_the_recipes_run(real: Path, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    shutil.copy(ROOT / "models" / "classifier.onnx", tmp_path / "models")
    for command in commands():
        words = shlex.split(command)
        done = subprocess.run([str(real / "bin" / words[0]), *words[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, command + done.stdout + done.stderr
        for file in re.findall(r"(?:junit|sarif)=(\S+)", command):
            assert (tmp_path / file).is_file(), file
