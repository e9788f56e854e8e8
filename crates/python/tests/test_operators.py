"""Operators with rules in Python."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import typeloom as tl

from conftest import interrupted

TEXT = """typeloom-operators 1
domain com.example 1
op Fold 1
  type T tensor(float+float16)
  in data T
  in sizes tensor(int64) optional
  out folded T
  out count T optional
  attr width int = 2
  attr names strings
"""
HEAD = '<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]> '


def check(rule: Any, graph: str) -> tl.Report:
    """Checks a graph with a rule for `Fold`."""
    return tl.check(HEAD + graph, operators=tl.Operators(TEXT).with_rule("com.example", "Fold", rule))


def test_a_rule_computes_with_symbolic_dims() -> None:
    def fold(cx: tl.RuleContext) -> None:
        data = cx.inputs[0]
        assert data is not None
        batch, length = data.dims
        assert batch is not None and length is not None
        width = cx.attributes["width"]
        cx.outputs[0] = data.with_shape(batch + 1, length // width, width)

    report = check(fold, "g (float16[N, 6*S] x) => (y) { y = com.example.Fold <width = 3> (x) }")
    assert report and str(report.values["y"]) == "float16[N + 1, 2*S, 3]"
    assert str(check(fold, "g (float[4, 8] x) => (y) { y = com.example.Fold(x) }").values["y"]) == "float[5, 4, 2]"


def test_extents_without_a_name_keep_their_identity() -> None:
    def fold(cx: tl.RuleContext) -> None:
        data = cx.inputs[0]
        assert data is not None and data.shape is not None
        cx.outputs[0] = [data.shape[1], data.shape[0]]

    report = check(
        fold,
        "g (float[N] x) => (y, z) { i = NonZero(x)  f = Cast <to = 1> (i)  a = com.example.Fold(f)"
        "  t = Transpose(f)  y = Add(a, t)  z = Abs(y) }",
    )
    assert report and report.values["z"].shape == (None, 1)


def test_elements_and_attributes_are_read() -> None:
    seen: list[Any] = []

    def fold(cx: tl.RuleContext) -> None:
        sizes = cx.inputs[1] if len(cx.inputs) > 1 else None
        seen.append((cx.attributes, sizes and sizes.elements, [ty and ty.element for ty in cx.inputs], len(cx.outputs)))
        if sizes is not None and sizes.elements is not None:
            cx.outputs[0] = sizes.elements

    report = check(
        fold,
        "g (float[N, M] x) => (y) { s = Shape(x)  y = com.example.Fold <names = [\"a\", \"b\"]> (x, s) }",
    )
    assert str(report.values["y"]) == "float[N, M]"
    attributes, elements, types, outputs = seen[-1]
    assert attributes == {"width": 2, "names": ["a", "b"]} and elements == ("N", "M")
    assert types == ["float", "int64"] and outputs == 1


def test_exceptions_are_diagnostics_that_cite_the_line() -> None:
    def fold(cx: tl.RuleContext) -> None:
        raise ValueError("the data needs three axes")

    def broken(cx: tl.RuleContext) -> None:
        cx.inputs[7]

    line = fold.__code__.co_firstlineno + 1
    [diagnostic] = check(fold, "g (float[N] x) => (y) { y = com.example.Fold(x) }").diagnostics
    assert diagnostic.is_error and "the data needs three axes" in diagnostic.message
    assert f"test_operators.py:{line}" in diagnostic.message
    [diagnostic] = check(broken, "g (float[N] x) => (y) { y = com.example.Fold(x) }").diagnostics
    assert "IndexError" in diagnostic.message and f"test_operators.py:{broken.__code__.co_firstlineno + 1}" in diagnostic.message


def test_wrong_results_of_rules_are_diagnostics() -> None:
    def invents(cx: tl.RuleContext) -> None:
        cx.outputs[0] = ["K"]

    def text(cx: tl.RuleContext) -> None:
        cx.outputs[0] = "float[2]"  # type: ignore[assignment]

    def beyond(cx: tl.RuleContext) -> None:
        cx.outputs[3] = [1]

    for rule, message in ((invents, "symbol `K`"), (text, "TypeError"), (beyond, "IndexError")):
        [diagnostic] = check(rule, "g (float[N] x) => (y) { y = com.example.Fold(x) }").diagnostics
        assert message in diagnostic.message, diagnostic

    def contradicts(cx: tl.RuleContext) -> None:
        cx.outputs[0] = [5]

    assert not check(contradicts, "g (float[N] x) => (float[4] y) { y = com.example.Fold(x) }")


def test_rules_run_on_many_threads() -> None:
    def fold(cx: tl.RuleContext) -> None:
        cx.outputs[0] = cx.inputs[0]

    operators = tl.Operators(TEXT).with_rule("com.example", "Fold", fold)
    text = HEAD + "g (float[N] x) => (y) { y = com.example.Fold(x) }"
    with ThreadPoolExecutor(8) as threads:
        reports = threads.map(lambda _: tl.check(text, operators=operators), range(200))
        assert all(str(report.values["y"]) == "float[N]" for report in reports)


def same(cx: tl.RuleContext) -> None:
    """A rule that another process finds by its name."""
    cx.outputs[0] = cx.inputs[0]


def test_operators_are_sent_to_other_processes() -> None:
    operators = pickle.loads(pickle.dumps(tl.Operators(TEXT).with_rule("com.example", "Fold", same)))
    text = HEAD + "g (float[N] x) => (y) { y = com.example.Fold(x) }"
    assert str(tl.check(text, operators=operators).values["y"]) == "float[N]"


def test_wrong_declarations_are_exceptions() -> None:
    with pytest.raises(tl.TypeloomError):
        tl.Operators(TEXT).with_rule("com.example", "Unfold", lambda cx: None)
    with pytest.raises(tl.TypeloomError):
        tl.Operators().with_rule("com.example", "Fold", lambda cx: None)
    with pytest.raises(tl.TypeloomError, match="line"):
        tl.Operators("typeloom-operators 1\nnonsense")
    with pytest.raises(tl.TypeloomError):
        tl.Operators(tl.operator("com.example", "A", inputs={"x": "T"}, outputs={"y": "T"})(lambda cx: None))


def test_operators_of_files(tmp_path: Any) -> None:
    path = tmp_path / "operators.txt"
    path.write_text(TEXT + "  shape data [a, b]\n  shape folded [b, a]\n", encoding="utf-8")
    text = HEAD + "g (float[N, 2] x) => (y) { y = com.example.Fold(x) }"
    assert str(tl.check(text, operators=tl.Operators.from_file(path)).values["y"]) == "float[2, N]"
    with pytest.raises(OSError):
        tl.Operators.from_file(tmp_path / "nothing")


ENDLESS = """
import typeloom as tl

@tl.operator("com.example", "Wait", inputs={"x": "tensor(float)"}, outputs={"y": "tensor(float)"})
def wait(cx):
    print("running", flush=True)
    while True:
        pass

try:
    tl.check('<ir_version: 10, opset_import: ["com.example" : 1]> g (float[N] x) => (y) { y = com.example.Wait(x) }',
             operators=tl.Operators(wait))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_an_interrupt_ends_a_rule() -> None:
    assert interrupted(ENDLESS) == ["running", "interrupted"]
