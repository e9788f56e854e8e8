"""Pages for browsers and notebooks."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
import typeloom as tl

MODEL = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Neg(x) }'
BROKEN = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x, double[N] w) => (y) { y = Mul(x, w) }'


class Frames(HTMLParser):
    """The attributes of the frames in a text, and the names of all elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.frames: list[dict[str, str | None]] = []
        self.elements: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        if tag == "iframe":
            self.frames.append(dict(attrs))


def test_a_model_has_a_page_with_the_types_of_its_values() -> None:
    view = tl.view(MODEL)
    assert view.html.startswith("<!doctype html>")
    assert "<td>float[N]</td>" in view.html and "<p>The model has no problems.</p>" in view.html
    assert repr(view) == "<View of <text>: 1 node>"
    assert "<td>float[7]</td>" in tl.view(MODEL, assume={"N": 7}).html


def test_a_model_with_errors_has_a_page() -> None:
    view = tl.view(BROKEN)
    assert repr(view) == "<View of <text>: 1 node, 1 error>"
    assert "<td>element-type-mismatch</td>" in view.html


def test_a_notebook_shows_the_page_in_a_frame_with_an_origin_of_its_own() -> None:
    view = tl.view(BROKEN)
    shown = Frames(view._repr_html_())
    [frame] = shown.frames
    assert shown.elements == ["iframe"]
    assert frame["sandbox"] is not None and "allow-same-origin" not in frame["sandbox"]
    assert frame["srcdoc"] == view.html


def test_a_page_is_saved_as_a_whole(tmp_path: Path) -> None:
    view = tl.view(MODEL)
    path = tmp_path / "page.html"
    path.write_text("old")
    view.save(path)
    assert path.read_text(encoding="utf-8") == view.html
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(OSError):
        view.save(tmp_path / "missing" / "page.html")


def test_bytes_that_are_no_model_raise_their_problem(tmp_path: Path) -> None:
    with pytest.raises(tl.ModelError) as raised:
        tl.view(b"\xff\xff")
    assert raised.value.diagnostics[0].code == "malformed-file"
    with pytest.raises(FileNotFoundError):
        tl.view(tmp_path / "missing.onnx")


def test_two_models_have_a_page_with_their_changes() -> None:
    view = tl.view(MODEL, MODEL.replace("Neg", "Abs"))
    assert repr(view) == "<View of <text>: 1 node, 1 change>"
    assert "Neg -&gt; Abs" in view.html
    assert repr(tl.view(MODEL, MODEL)) == "<View of <text>: 1 node, 0 changes>"
    with pytest.raises(tl.ModelError):
        tl.view(MODEL, b"no model")


def test_a_page_has_the_verdicts_of_targets() -> None:
    model = '<ir_version: 8, opset_import: ["" : 17]> g (int16[2] x) => (y) { y = Min(x, x) }'
    page = tl.view(model, targets="onnxruntime-1.31").html
    assert "onnxruntime-1.31 has no kernel" in page and "onnxruntime-1.31" not in tl.view(model).html
    with pytest.raises(ValueError, match="one model"):
        tl.view(model, model, targets=["onnxruntime-1.31"])
    with pytest.raises(tl.TypeloomError):
        tl.view(model, targets=["onnxruntime-0.1"])
