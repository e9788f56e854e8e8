"""Results in notebooks, tables, and dtypes."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typeloom as tl
from typeloom import pool

from conftest import HEAD

OLD = HEAD + "g (float[N, 3] x) => (y) { y = Relu(x) }"
NEW = HEAD + "g (float[N, 4] x) => (y) { y = Relu(x) }"


class Html(HTMLParser):
    """The texts of the cells of each row, and all text; fails on an element that is not closed."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(result._repr_html_())
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def test_values_are_a_table(text: str) -> None:
    rows = Html(tl.check(text).values).rows
    assert rows[0] == ["value", "type", "origin"]
    assert rows[1:] == [
        ["x", "float[N, 3]", "input"],
        ["w", "float[3, 4]", "input"],
        ["h", "float[N, 4]", "MatMul"],
        ["y", "float[N, 4]", "Relu"],
    ]
    assert Html(tl.check(text)).rows == rows
    many = "".join(f"v{at} = Relu(x) " for at in range(150))
    report = tl.check(HEAD + f"g (float[N] x) => () {{ {many} }}", severities={"all": "allow"})
    shown = Html(report.values)
    assert len(shown.rows) == 101 and shown.text.endswith("51 further values")
    assert tl.check(b"\xff").values._repr_html_() == ""


def test_names_in_html_are_escaped() -> None:
    onnx = pytest.importorskip("onnx")
    proto = onnx.ModelProto.FromString(tl.model_from_text(OLD))
    proto.graph.input[0].name = proto.graph.node[0].input[0] = "<b>&x"
    report = tl.check(proto)
    for result in (report, report.values, tl.describe(proto), tl.diff(proto, NEW)):
        html = result._repr_html_()
        assert "<b>" not in html and "&lt;b&gt;&amp;x" in html


def test_keys_are_completed_and_wrong_ones_get_suggestions(text: str, tmp_path: Path) -> None:
    values = tl.check(text).values
    assert values._ipython_key_completions_() == ["x", "w", "h", "y"]
    model = HEAD + "g (float[N] pixels) => (scores) { scores = Relu(pixels) }"
    for report in (tl.check(model), mapped(model, tmp_path)):
        with pytest.raises(KeyError, match="has no value `score`; did you mean `scores`?"):
            report.values["score"]
        with pytest.raises(KeyError):
            report.values[7]  # type: ignore[index]
        assert "score" not in report.values and 7 not in report.values and "scores" in report.values
        assert report.values.get("score") is None and report.values.get("score", 7) == 7
        assert report.values.get("scores") == "float[N]"
    with pytest.raises(KeyError, match=r"there is no type node `tensor.f33`; did you mean .*`tensor.f32`"):
        tl.types.get("tensor.f33")


def mapped(text: str, folder: Path) -> tl.Report:
    """The report of a model that is so large that its file is mapped."""
    size = 20 << 20
    length = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F | 0x80, size >> 21])
    path = folder / "large.onnx"
    path.write_bytes(tl.model_from_text(text) + b"\xfa\x3e" + length + bytes(size))
    return tl.check(path)


def test_values_are_a_data_frame(text: str) -> None:
    pytest.importorskip("pandas")
    frame = tl.check(HEAD + "g (float[N, 2] x) => (y, z) { y = Relu(x)  z = NonZero(x) }").values.to_pandas()
    assert list(frame.index) == ["x", "y", "z"] and frame.index.name == "value"
    assert frame.loc["y"].to_dict() == {
        "type": "float[N, 2]",
        "element": "float",
        "rank": 2,
        "shape": (tl.Dim("N"), tl.Dim(2)),
        "origin": "node",
        "operator": "Relu",
        "node": None,
        "assumed": False,
    }
    assert frame["rank"].sum() == 6 and not frame["assumed"].any()
    assert len(tl.check(b"\xff").values.to_pandas()) == 0


def test_a_data_frame_needs_pandas(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas"):
        tl.check(text).values.to_pandas()


def test_types_have_dtypes() -> None:
    expected = {"float": "float32", "double": "float64", "int64": "int64", "bool": "bool", "complex64": "complex64"}
    for element, dtype in expected.items():
        assert tl.Type(f"{element}[N]").dtype == np.dtype(dtype)
    assert tl.Type("string").dtype == np.dtype(object)
    for text in ("seq(float[2])", "map(int64, float)", "optional(float)", "peer_id", "tensor"):
        assert tl.Type(text).dtype is None, text


def test_dtypes_that_numpy_lacks_are_those_of_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert tl.Type("bfloat16[N]").dtype == np.dtype(ml_dtypes.bfloat16)
    assert tl.Type("float8e4m3fn").dtype == np.dtype(ml_dtypes.float8_e4m3fn)
    assert tl.Type("int4[3]").dtype == np.dtype(ml_dtypes.int4)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="bfloat16 need the package `ml_dtypes`"):
        tl.Type("bfloat16[N]").dtype


def test_interfaces_and_differences_are_tables() -> None:
    rows = [["", "name", "type", ""], ["input", "x", "float[N, 3]", ""], ["output", "y", "float[N, 3]", ""]]
    assert Html(tl.describe(OLD)).rows == rows
    conditions = tl.describe(HEAD + "g (float[N, 3] x, float[N, M] w) => (y) { y = Add(x, w) }")
    assert all(condition in Html(conditions).text for condition in conditions.conditions)
    diff = Html(tl.diff(OLD, NEW))
    assert diff.text.startswith("not backward compatible")
    assert diff.rows == [
        ["path", "old", "new", "breaks"],
        ["inputs.x.shape[1]", "3", "4", "both"],
        ["outputs.y.shape[1]", "3", "4", "both"],
    ]
    same = Html(tl.diff(OLD, OLD))
    assert same.text == "the same interface" and same.rows == []
    types = pool.Pool()
    compared = Html(types.compat(types.primitive("int"), types.primitive("str")))
    assert compared.text.startswith("not backward compatible") and len(compared.rows) == 2


def test_comparisons_with_a_registry_are_tables(tmp_path: Path) -> None:
    registry = tl.registry.Registry(tmp_path)
    registry.push(OLD, "net")
    verdict = Html(registry.check(NEW, "net"))
    assert verdict.text.startswith("not compatible with net (backward); nearest compatible version: none")
    assert verdict.rows[1] == ["inputs.x.shape[1]", "3", "4", "both"]
    assert "compatible with net" in Html(registry.check(OLD, "net")).text


def test_a_fleet_is_a_table_with_errors_first(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(tl.model_from_text(OLD))
    wrong = HEAD + "g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }"
    (tmp_path / "b.onnx").write_bytes(tl.model_from_text(wrong))
    result = tl.fleet.check([tmp_path, tmp_path / "c.onnx"], progress=False)
    shown = Html(result)
    assert shown.text.startswith("3 models: 1 ok, 1 with errors, 1 not read")
    assert shown.rows[:2] == [["code", "severity", "number"], ["element-type-mismatch", "error", "1"]]
    names = [Path(row[0]).name for row in shown.rows[3:]]
    assert names == ["b.onnx", "c.onnx", "a.onnx"]
    assert [row[1] for row in shown.rows[3:]][::2] == ["1 error", "ok"] and "No such file" in shown.rows[4][1]


def test_explanations_problems_and_repairs_keep_their_lines(text: str, wrong: str) -> None:
    mixed = HEAD + "g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }"
    for result, shown in (
        (tl.explain(text, "y"), str(tl.explain(text, "y"))),
        (tl.check(wrong).diagnostics[0], tl.check(wrong).diagnostics[0].text),
        (tl.fix(mixed), tl.fix(mixed).text),
    ):
        assert Html(result).text == shown and result._repr_html_().startswith("<pre>")
