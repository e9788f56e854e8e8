"""Settings files and baselines: a test has the result of the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typeloom as tl
from typeloom.testing import assert_well_typed

from conftest import HEAD

FREE = HEAD + "g (float[A] a, float[B] b) => (y) { y = Add(a, b) }"
"""A model with one warning, `restricted-symbol`."""

OPERATORS = """typeloom-operators 1
domain com.example 1
op Double 1
  type T tensor(float)
  in x T
  out y T
  shape x [dims...]
  shape y [dims...]
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(tl.model_from_text(text))
    return path


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`typeloom check` in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "typeloom", "check", *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )


def test_the_settings_file_of_a_model_counts_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "typeloom.toml"
    settings.write_text('severities = { warnings = "deny" }\n')
    (tmp_path / "models").mkdir()
    path = write(tmp_path / "models", "m.onnx", FREE)
    assert tl.check(path)
    for config in (True, settings, str(settings)):
        assert [it.severity for it in tl.check(path, config=config).errors] == ["error"]
        assert all(not report for report in tl.check([path, path], config=config))
    # The arguments of the call take precedence.
    assert tl.check(path, config=True, severities={"all": "allow"}).diagnostics == []
    # A model in memory belongs to the current folder.
    assert tl.check(FREE, config=settings).errors
    monkeypatch.chdir(tmp_path)
    assert tl.check(FREE, config=True).errors and not tl.check(FREE).errors
    with pytest.raises(AssertionError, match="restricted-symbol"):
        assert_well_typed(path)
    assert assert_well_typed(path, config=False) and assert_well_typed(path, severities={"restricted-symbol": "warn"})


def test_each_setting_of_a_file_counts_unless_the_call_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "operators.txt").write_text(OPERATORS)
    target = tl.targets()[0]
    (tmp_path / "typeloom.toml").write_text(
        f"""
permissive = true
inline = false
external-data = false
merge-symbols = true
ops = ["operators.txt"]
targets = ["{target}"]
assume = {{ N = 4 }}
seeds = {{ s = "float[N]" }}
"""
    )
    head = '<ir_version: 10, opset_import: ["" : 21, "com.example" : 1], metadata_props: ["typeloom.allow" : "all"]> '
    text = head + """g (float[N] x, s) => (y, z) <float[2] w = ["location" : "missing"]> {
        t = com.example.Double(x)  u = com.example.Other(x)  y = Add(t, s)  z = Add(w, w)
    }"""
    path = write(tmp_path, "m.onnx", text)
    report = tl.check(path, config=True)
    assert report.values["t"] == report.values["y"] == "float[4]" and list(report.targets) == [target]
    assert report.values["u"] == "unknown" or report.values["u"].shape is None
    codes = {it.code for it in report.diagnostics}
    assert "missing-external-data" not in codes and report.excepted == {}
    strict = tl.check(path, config=True, strict=True, inline=True, external_data=True, assume={"N": 7})
    assert strict.values["t"] == "float[7]" and "missing-external-data" in strict.excepted
    # Operators of the call and of the file are known together; those of the call take precedence.
    other = tl.Operators(OPERATORS.replace("Double", "Other"))
    both = tl.check(path, config=True, operators=other)
    assert both.values["t"] == both.values["u"] == "float[4]"


def test_reports_are_those_of_the_command(tmp_path: Path) -> None:
    write(tmp_path, "m.onnx", FREE)
    (tmp_path / "typeloom.toml").write_text('severities = { warnings = "deny" }\nmax-problems = 0\n')
    done = command(tmp_path, "m.onnx")
    report = tl.check(tmp_path / "m.onnx", config=True)
    assert done.returncode == 1 and "1 not shown" in done.stdout
    assert done.stdout.splitlines()[0].removeprefix("m.onnx") == report.text().removeprefix(report.name)
    unknown = HEAD + "g (float[N] x) => (y) { y = NonZero(x) }"
    path = write(tmp_path, "u.onnx", unknown)
    assert command(tmp_path, "u.onnx").stdout.split(": ")[1].strip() == tl.check(path).text().split(": ")[-1].strip()


def test_known_problems_of_a_baseline_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "m.onnx", HEAD + "g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }")
    baseline = tmp_path / "known.json"
    assert command(tmp_path, "--baseline", "known.json", "--update-baseline", "m.onnx").returncode == 0
    assert len(json.loads(baseline.read_text())) > 0
    assert not tl.check(path)
    report = tl.check(path, baseline=baseline)
    assert report and report.known == 1 and report.diagnostics == [] and "1 known" in repr(report)
    shown = command(tmp_path, "--baseline", "known.json", "m.onnx").stdout.splitlines()
    assert f"m.onnx: {repr(report).split(': ')[1]}" in shown
    with pytest.raises(AssertionError):
        assert_well_typed(path)
    assert assert_well_typed(path, baseline=str(baseline)).known == 1
    assert "1 error" in repr(tl.view(path)) and "error" not in repr(tl.view(path, baseline=baseline))
    # The baseline of the settings file, relative to its folder.
    (tmp_path / "typeloom.toml").write_text('baseline = "known.json"\n')
    assert assert_well_typed(path) and tl.check(path, config=True).known == 1
    assert "error" not in repr(tl.view(path, config=True))
    # A new problem is reported, and each entry counts once.
    path.write_bytes(tl.model_from_text(HEAD + "g (float[2] x, double[2] w) => (y, z) { y = Mul(x, w)  z = Div(x, w) }"))
    assert [it.code for it in tl.check(path, config=True).errors] == ["element-type-mismatch"]


def test_a_list_of_models_shares_a_baseline(tmp_path: Path) -> None:
    """A file that was renamed has the entries of its old name, once."""
    mixed = HEAD + "g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }"
    old = write(tmp_path, "old.onnx", mixed)
    command(tmp_path, "--baseline", "known.json", "--update-baseline", "old.onnx")
    old.unlink()
    new, copy = write(tmp_path, "new.onnx", mixed), write(tmp_path, "copy.onnx", mixed)
    assert [report.known for report in tl.check([new, copy], baseline=tmp_path / "known.json")] == [1, 0]


def test_files_that_are_missing_or_wrong_are_errors(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, "m.onnx", text)
    for options in ({"config": tmp_path / "no.toml"}, {"baseline": tmp_path / "no.json"}):
        with pytest.raises(FileNotFoundError) as error:
            tl.check(path, **options)
        assert isinstance(error.value.filename, str) and Path(error.value.filename).name.startswith("no.")
    with pytest.raises(OSError, match=f"`{tmp_path}`: it is a folder"):
        tl.check(path, config=tmp_path)
    (tmp_path / "known.json").write_text("[")
    with pytest.raises(tl.TypeloomError, match="known.json"):
        tl.check(path, baseline=tmp_path / "known.json")
    (tmp_path / "typeloom.toml").write_text("unknown = 1\n")
    with pytest.raises(tl.TypeloomError, match="typeloom.toml:1"):
        tl.check(path, config=True)
    (tmp_path / "typeloom.toml").write_text('targets = ["nothing-1"]\n')
    with pytest.raises(tl.TypeloomError, match="nothing-1"):
        tl.check(path, config=True)
    assert tl.check(path)


def test_a_comparison_uses_the_registry_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TYPELOOM_REGISTRY", raising=False)
    old = HEAD + "g (float[N, 3] x) => (y) { y = Relu(x) }"
    tl.registry.Registry(tmp_path / "interfaces").push(old, "net")
    (tmp_path / "typeloom.toml").write_text('registry = "interfaces"\n')
    path = write(tmp_path, "m.onnx", old.replace("3", "4"))
    monkeypatch.chdir(tmp_path)
    for config in (True, "typeloom.toml"):
        report = tl.check(path, config=config, against="net")
        assert [it.code for it in report.errors] == ["extent-changed", "extent-changed"]
    assert command(tmp_path, "--against", "net", "m.onnx").returncode == 1
    with pytest.raises(tl.registry.NotFoundError):
        tl.check(path, against="net")
    monkeypatch.setenv("TYPELOOM_REGISTRY", str(tmp_path / "other"))
    with pytest.raises(tl.registry.NotFoundError):
        tl.check(path, config=True, against="net")
