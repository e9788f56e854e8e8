"""The results of `fix`, `convert` and `annotate`."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import pytest
import typeloom as tl

from conftest import HEAD

MIXED = HEAD + "g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }"


def test_a_repair_has_the_model_and_its_changes() -> None:
    fixed = tl.fix(MIXED, policy="lossless")
    [cast] = fixed.changes["casts"]
    assert (cast["input"], cast["from"], cast["to"], cast["lossy"]) == ("x", "float", "double", False)
    assert fixed.ok and "1 cast inserted" in repr(fixed) and "+y = Mul(" in str(fixed)
    assert isinstance(fixed.model, str) and tl.check(fixed.model)
    assert isinstance(fixed, bytes) and tl.model_to_text(bytes(fixed)) == fixed.model


def test_a_repair_that_changes_nothing_has_the_old_model(text: str) -> None:
    fixed = tl.fix(text)
    assert fixed.model is text and bytes(fixed) == tl.model_from_text(text)
    assert fixed.changes["casts"] == [] and repr(fixed) == "<text>: nothing to fix"


def test_a_partial_repair_is_not_ok() -> None:
    text = HEAD + """g (float[2] x, double[2] w, float[2, 3] a, float[4, 5] b) => (y, z) {
        y = Mul(x, w)  z = MatMul(a, b)
    }"""
    with pytest.raises(tl.ModelError):
        tl.fix(text)
    fixed = tl.fix(text, partial=True)
    assert not fixed.ok and [it.code for it in tl.check(fixed).diagnostics] == ["dim-mismatch"]


def test_a_conversion_has_the_model_and_its_changes() -> None:
    text = HEAD + "g (float[N] x) => (float[N] y) { h = Relu(x)  y = Softmax(h) }"
    half = tl.convert(text, "float16")
    assert half.ok and half.changes["casts"] == [] and tl.infer(half)["y"] == tl.Type("float16[N]")
    assert isinstance(half.model, str) and "2 nodes converted" in repr(half)
    kept = tl.convert(text, "float16", keep="Softmax", keep_io=True)
    assert [node["name"] for node in kept.changes["kept"]] == ["y"] and len(kept.changes["casts"]) == 2
    with pytest.raises(tl.ModelError):
        tl.convert(MIXED, "float16")
    for to, keep in (("int8", ()), ("float", ()), ("float16", ["Gelu"])):
        with pytest.raises(tl.TypeloomError):
            tl.convert(text, to, keep=keep)  # type: ignore[arg-type]


def test_annotations_have_their_numbers(text: str) -> None:
    annotated = tl.annotate(text)
    assert annotated.changes == {"added": 1, "filled": 1} and annotated.ok
    assert repr(annotated) == "<text>: 1 type added, 1 filled in"
    assert tl.annotate(annotated).changes == {"added": 0, "filled": 0}


def test_a_result_is_a_model_for_every_function(text: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    path.write_bytes(tl.model_from_text(text))
    message = onnx.ModelProto.FromString(path.read_bytes())
    for form in (text, path, str(path), path.read_bytes(), bytearray(path.read_bytes()), message):
        annotated = tl.annotate(form)
        assert tl.check(annotated).name == tl.check(form).name
        assert tl.infer(annotated) == tl.infer(form) and tl.describe(annotated) == tl.describe(form)
        assert type(tl.strip(annotated)) is type(annotated.model)
        assert tl.diff(annotated, form).equal and tl.fix(annotated).ok
        assert tl.check(tl.compile(annotated)) and tl.view(annotated) and tl.Session(annotated)
        assert all(tl.check([annotated, form]))
        assert "h" in tl.explain(annotated, "h") and "Relu" in tl.model_to_text(annotated)
        tl.registry.Registry(tmp_path / "registry").push(annotated, "net")
        assert onnx.load_model_from_string(annotated).graph.name == "g"


def test_a_result_is_written_as_bytes_are(tmp_path: Path) -> None:
    fixed = tl.fix(MIXED)
    path = tmp_path / "fixed.onnx"
    for write in (
        lambda: path.write_bytes(fixed),
        lambda: fixed.save(path),
        lambda: path.write_bytes(bytes(fixed)),
        lambda: tl.fix(MIXED, output=path),
    ):
        path.unlink(missing_ok=True)
        write()
        assert path.read_bytes() == fixed and tl.check(path)
    stream = io.BytesIO()
    stream.write(fixed)
    assert stream.getvalue() == fixed and len(fixed) == len(bytes(fixed))
    with pytest.raises(OSError):
        fixed.save(tmp_path / "missing" / "fixed.onnx")


def test_a_result_is_sent_to_other_processes() -> None:
    fixed = tl.fix(MIXED)
    again = pickle.loads(pickle.dumps(fixed))
    assert again == fixed and again.changes == fixed.changes and again.model == fixed.model and tl.check(again)
