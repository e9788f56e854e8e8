"""Checks, rewrites and interfaces on all forms of models."""

from __future__ import annotations

import json
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typeloom as tl

from conftest import HEAD


def data(text: str) -> bytes:
    """The bytes of a model."""
    return tl.model_from_text(text)


def test_a_report_lists_values_with_types_and_origins(text: str) -> None:
    report = tl.check(text)
    assert report and report.ok and report.diagnostics == []
    y = report.values["y"]
    assert (str(y), y.kind, y.element, y.rank) == ("float[N, 4]", "tensor", "float", 2)
    assert y.shape == (tl.Dim("N"), tl.Dim(4))
    assert (y.origin.kind, y.origin.operator) == ("node", "Relu")
    assert list(report.values) == ["x", "w", "h", "y"]
    assert report.coverage.typed == report.coverage.values == 4
    with pytest.raises(KeyError):
        report.values["nothing"]
    assert report.raise_for_errors() is report
    assert repr(report) == "<text>: ok, 4 values fully typed"


def test_a_report_of_errors_has_the_text_of_the_command(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.onnx"
    path.write_bytes(data(wrong))
    report = tl.check(path)
    assert not report
    [diagnostic] = report.diagnostics
    assert diagnostic.code == "dim-mismatch" and diagnostic.is_error
    assert "MatMul" in (diagnostic.node or "")
    assert {"x", "w"} <= {label.part for label in diagnostic.labels}
    with pytest.raises(tl.ModelError) as error:
        report.raise_for_errors()
    assert error.value.diagnostics == report.diagnostics
    command = subprocess.run(
        [sys.executable, "-m", "typeloom", "check", str(path)], capture_output=True, text=True, timeout=120
    )
    assert command.returncode == 1
    assert command.stdout.strip() == repr(report).strip()
    assert "dim-mismatch" in report._repr_html_() and "<table>" in report._repr_html_()
    assert pickle.loads(pickle.dumps(diagnostic)) == diagnostic


def test_all_forms_of_a_model_give_the_same_types(text: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data(text))
    forms: list[object] = [text, data(text), bytearray(data(text)), memoryview(data(text)), path, str(path)]
    onnx = pytest.importorskip("onnx")
    forms.append(onnx.ModelProto.FromString(data(text)))
    try:
        import onnx_ir
    except ModuleNotFoundError:
        pass
    else:
        forms.append(onnx_ir.from_proto(onnx.ModelProto.FromString(data(text))))
    for form in forms:
        assert tl.infer(form)["y"] == "float[N, 4]", type(form)
        annotated = tl.annotate(form)
        expected = bytes if isinstance(form, (str, Path)) and form != text else type(form)
        assert isinstance(annotated.model, expected)
        assert tl.check(annotated) and tl.check(annotated.model)
    reports = tl.check(forms)
    assert len(reports) == len(forms) and all(reports)


def test_stripping_an_annotated_model_restores_its_bytes(text: str) -> None:
    original = data(text)
    annotated = tl.annotate(original)
    assert annotated != original
    assert tl.strip(annotated) == original
    assert tl.annotate(annotated) == annotated
    assert tl.strip(original) is original
    assert tl.annotate(annotated).model is annotated.model


def test_a_result_is_written_to_a_file_and_nothing_in_place(text: str, tmp_path: Path) -> None:
    path, output = tmp_path / "model.onnx", tmp_path / "annotated.onnx"
    path.write_bytes(data(text))
    result = tl.annotate(path, output=output)
    assert output.read_bytes() == result
    assert path.read_bytes() == data(text)
    assert stat.S_IMODE(output.stat().st_mode) == stat.S_IMODE(path.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["annotated.onnx", "model.onnx"]
    with pytest.raises(OSError):
        tl.annotate(path, output=tmp_path / "nowhere" / "model.onnx")


def test_options_change_the_check() -> None:
    model = HEAD + "g (float[batch] x, w) => (y) { y = Add(x, w) }"
    assert tl.check(model).values["y"] == "float[...]"
    report = tl.check(model, seeds={"w": "float[1]"}, assume={"batch": 8})
    assert report.values["y"] == "float[8]"
    untyped = HEAD + "g (x) => (y) { y = Relu(x) }"
    assert not tl.check(untyped) and tl.check(untyped, strict=False)
    with pytest.raises(tl.TypeloomError):
        tl.check(model, seeds={"w": "no type!"})
    with pytest.raises(tl.TypeloomError):
        tl.check(model, seeds={"nothing": "float"})


def test_what_is_no_model_is_a_diagnostic_or_an_exception(tmp_path: Path) -> None:
    report = tl.check(b"\xff\xff\xff")
    assert not report and len(report.diagnostics) == 1 and len(report.values) == 0
    with pytest.raises(FileNotFoundError):
        tl.check(tmp_path / "nothing.onnx")
    with pytest.raises(OSError):
        tl.check(tmp_path)
    with pytest.raises(TypeError):
        tl.check(17)  # type: ignore[arg-type]
    with pytest.raises(tl.TypeloomError):
        tl.check("<no model")
    for call in (tl.annotate, tl.describe, tl.fix, tl.compile, tl.strip, tl.Session):
        with pytest.raises((tl.TypeloomError, tl.ModelError)):
            call(b"\xff\xff\xff")


def test_a_report_survives_the_end_of_its_file(tmp_path: Path) -> None:
    """A mapped file that is truncated ends the process if someone reads it."""
    path = tmp_path / "large.onnx"
    model = data(HEAD + "g (float[N] x) => (y) { h = Abs(x)  y = Relu(h) }")
    # An unknown field of the model with 20 MB, so that the file is mapped.
    size = 20 << 20
    length = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F | 0x80, size >> 21])
    path.write_bytes(model + b"\xfa\x3e" + length + bytes(size))
    report = tl.check(path)
    assert report
    path.write_bytes(b"")
    assert report.values["h"] == "float[N]"
    assert list(report.values) == ["x", "h", "y"]


def test_missing_external_data_is_reported_for_paths(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    proto = onnx.ModelProto.FromString(data(HEAD + "g (float[2] x) => (y) <float[2] w = {1.0, 2.0}> { y = Add(x, w) }"))
    tensor = proto.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "weights.bin"
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    assert [one.code for one in tl.check(path).diagnostics] == ["missing-external-data"]
    assert tl.check(path, external_data=False)
    assert tl.check(proto)
    assert not tl.check(proto, external_data_dir=tmp_path)
    (tmp_path / "weights.bin").write_bytes(bytes(8))
    assert tl.check(path) and tl.check(proto, external_data_dir=tmp_path)
    assert tl.Session(path).run([[1.0, 2.0]])[0].tolist() == [1.0, 2.0]


def with_side_file(folder: Path, text: str, data: bytes) -> Path:
    """A model whose first initializer is in a file next to it."""
    onnx = pytest.importorskip("onnx")
    proto = onnx.ModelProto.FromString(tl.model_from_text(text))
    tensor = proto.graph.initializer[0]
    for field in ("float_data", "int32_data", "int64_data", "raw_data"):
        tensor.ClearField(field)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "side.bin"), ("length", str(len(data)))):
        tensor.external_data.add(key=key, value=value)
    (folder / "side.bin").write_bytes(data)
    path = folder / "side.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def test_small_tensors_of_side_files_decide_types(tmp_path: Path) -> None:
    text = HEAD + "g (float[4, 6] x) => (y) <int64[2] shape = {0, 0}> { y = Reshape(x, shape) }"
    path = with_side_file(tmp_path, text, np.array([3, 8], np.int64).tobytes())
    folder, message = tmp_path, path.read_bytes()
    assert tl.check(path).values["y"] == "float[3, 8]"
    assert tl.check(message, external_data_dir=folder).values["y"] == "float[3, 8]"
    assert tl.check(message).values["y"] == tl.check(path, external_data=False).values["y"] != "float[3, 8]"
    assert tl.infer(path)["y"] == tl.infer(message, external_data_dir=folder)["y"] == "float[3, 8]"
    assert tl.explain(path, "y").raw["type"] == "float[3, 8]"
    assert str(tl.describe(path).outputs[0].type) == "float[3, 8]"
    annotated = tl.annotate(message, external_data_dir=folder)
    assert "float[3, 8] y" in tl.model_to_text(annotated)
    models = tl.fleet.check(str(path), progress=False).models
    [row] = models if isinstance(models, list) else models.to_pylist()
    assert row["values"] == row["typed"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted in /proc")
def test_a_report_keeps_no_file_open(tmp_path: Path) -> None:
    text = HEAD + "g (float[4, 6] x) => (y) <int64[2] shape = {0, 0}> { y = Reshape(x, shape) }"
    path = with_side_file(tmp_path, text, np.array([3, 8], np.int64).tobytes())
    reports = [tl.check(path) for _ in range(20)]
    # Runtimes of earlier tests close files of their own in the background, so only those of this test count.
    open_files = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert not [name for name in open_files if name.startswith(str(tmp_path.resolve()))]
    assert all(report.values["y"] == "float[3, 8]" for report in reports)


def test_unsafe_fixes_are_applied_on_request(tmp_path: Path) -> None:
    text = HEAD + "g (uint8[2] x) => (y) <int64[2] c = {1, 300}> { y = Add(x, c) }"
    with pytest.raises(tl.ModelError):
        tl.fix(text, policy="to=uint8")
    fixed = tl.fix(text, policy="to=uint8", unsafe_fixes=True)
    assert str(tl.infer(fixed)["y"]) == "uint8[2]"


def test_a_fix_reads_the_integers_of_side_files(tmp_path: Path) -> None:
    text = HEAD + "g (uint8[2] x) => (y) <int64[2] c = {0, 0}> { y = Add(x, c) }"
    fits = with_side_file(tmp_path, text, np.array([1, 200], np.int64).tobytes())
    assert str(tl.infer(tl.fix(fits, policy="to=uint8"))["y"]) == "uint8[2]"
    wraps = with_side_file(tmp_path, text, np.array([1, 300], np.int64).tobytes())
    with pytest.raises(tl.ModelError):
        tl.fix(wraps, policy="to=uint8")


def test_a_fix_makes_the_model_check(tmp_path: Path) -> None:
    model = HEAD + "g (float[2] x, int64[2] mask) => (y) { h = Relu(x)  y = Add(h, mask) }"
    assert not tl.check(model)
    assert tl.check(tl.fix(model))
    with pytest.raises(tl.ModelError):
        tl.fix(model, policy="lossless")
    with pytest.raises(tl.TypeloomError):
        tl.fix(model, policy="any")
    with pytest.raises(tl.ModelError):
        tl.fix(HEAD + "g (float[2, 3] x, float[4, 5] w) => (y) { y = MatMul(x, w) }")


def test_interfaces_have_digests_and_differences(text: str) -> None:
    interface = tl.describe(text)
    assert [it.name for it in interface.inputs] == ["x", "w"] and interface.outputs[0].type == "float[N, 4]"
    assert len(interface.digest) == 64 and interface.symbols == ["N"]
    assert json.loads(interface.to_json())["digest"] == interface.digest
    renamed = tl.describe(text.replace("[N", "[M"))
    assert renamed == interface and tl.diff(interface, renamed).equal
    assert tl.Interface.from_bundle(interface.to_bundle("scorer"), "scorer") == interface
    other = tl.diff(text, text.replace("float[3, 4] w", "float[3, 5] w"))
    assert not other and {it.code for it in other.differences} == {"extent-changed"}
    with pytest.raises(tl.TypeloomError):
        tl.Interface.from_bundle(b"no bundle")
    with pytest.raises(tl.TypeloomError):
        tl.diff(text, text, mode="sideways")


def test_explanations_name_the_causes(text: str) -> None:
    explanation = tl.explain(text, "y")
    assert explanation.raw["type"] == "float[N, 4]" and "MatMul" in explanation
    with pytest.raises(tl.TypeloomError, match="no value"):
        tl.explain(text, "z")
    with pytest.raises(tl.TypeloomError):
        tl.explain("no-such-code")


def test_a_compiled_model_checks(text: str, wrong: str) -> None:
    assert tl.check(tl.compile(data(text)))
    with pytest.raises(tl.ModelError):
        tl.compile(wrong)
    with pytest.raises(tl.TypeloomError):
        tl.compile(text, without=["nothing"])


def test_the_package_loads_nothing_heavy() -> None:
    code = "import sys, typeloom; print([name for name in ('numpy', 'onnx', 'dataclasses') if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert loaded.stdout.strip() == "[]"


def test_the_command_is_that_of_the_binary(text: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data(text))
    for arguments, code in ([["--version"], 0], [["check", str(path)], 0], [["check", "nothing"], 2]):
        command = [sys.executable, "-m", "typeloom", *arguments]
        assert subprocess.run(command, capture_output=True, timeout=120).returncode == code, arguments


@pytest.mark.parametrize("given", [None, "no-such-interpreter"])
def test_the_command_compares_runs_with_the_packages_of_its_interpreter(
    given: str | None, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data(text))
    environment = {name: value for name, value in os.environ.items() if name != "TYPELOOM_PYTHON"}
    if given is not None:
        environment["TYPELOOM_PYTHON"] = given
    command = [sys.executable, "-m", "typeloom", "run", "--compare", "ort", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if given is None:
        pytest.importorskip("onnxruntime")
        assert done.returncode == 0, done.stderr
        assert "differences from ONNX Runtime" in done.stdout
    else:
        assert done.returncode == 2 and given in done.stderr


def test_exceptions_in_a_model_and_severities_of_the_call_change_the_report(tmp_path: Path) -> None:
    head = '<ir_version: 10, opset_import: ["" : 21], metadata_props: ["typeloom.allow" : "element-type-mismatch"]> '
    wrong = head + "g (float[N] x, double[N] w) => (y) { y = Mul(x, w) }"
    report = tl.check(wrong)
    assert report and report.excepted == {"element-type-mismatch": 1}
    assert report.text().startswith("<text>: ok, 1 allowed by the model (element-type-mismatch), ")
    assert [it.code for it in tl.check(wrong, inline=False).diagnostics] == ["element-type-mismatch"]
    # An exception does not make a model usable.
    with pytest.raises(tl.ModelError):
        tl.describe(wrong)
    free = HEAD + "g (float[A] a, float[B] b) => (y) { y = Add(a, b) }"
    assert [it.severity for it in tl.check(free).diagnostics] == ["warning"]
    denied = tl.check(free, severities={"warnings": "deny"})
    assert not denied and [it.severity for it in denied.diagnostics] == ["error"]
    assert tl.check(free, severities={"all": "allow"}).diagnostics == []
    with pytest.raises(tl.TypeloomError, match="no level `off`"):
        tl.check(free, severities={"all": "off"})
    # Settings files count on request only.
    (tmp_path / "typeloom.toml").write_text('severities = { all = "allow" }\n')
    path = tmp_path / "m.onnx"
    path.write_bytes(tl.model_from_text(free))
    assert len(tl.check(path).diagnostics) == 1


def test_a_file_in_the_textual_syntax_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text(HEAD + "g (float[N] x) => (y) { y = Relu(x) }")
    assert str(tl.check(path).values["y"]) == "float[N]"
    path.write_text(HEAD + "g (float[N] x) => (y) { y = ")
    assert [it.code for it in tl.check(path).diagnostics] == ["malformed-file"]


def test_a_page_shows_missing_files_and_leaves_out_exceptions(tmp_path: Path) -> None:
    text = HEAD + 'g (float[2] x) => (y) <float[2] w = ["location" : "w.bin"]> { y = Add(x, w) }'
    path = tmp_path / "m.onnx"
    path.write_bytes(tl.model_from_text(text))
    assert [it.code for it in tl.check(path).diagnostics] == ["missing-external-data"]
    assert "1 error" in repr(tl.view(path)) and "error" not in repr(tl.view(path, external_data=False))
