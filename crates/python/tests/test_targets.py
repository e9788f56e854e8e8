"""Verdicts about runtimes."""

from __future__ import annotations

import pytest

import typeloom as tl

NEWEST = "onnxruntime-1.31"


def model(ty: str) -> str:
    return f'<ir_version: 10, opset_import: ["" : 21]> g ({ty}[2] x) => (y) {{ y = Min(x, x) }}'


def test_targets_are_listed_newest_first() -> None:
    assert tl.targets() == [NEWEST, "onnxruntime-1.24"]


def test_a_check_without_targets_has_no_verdicts() -> None:
    report = tl.check(model("int16"))
    assert report.targets == {}
    assert report.ok


def test_each_target_has_a_verdict_and_its_reasons_name_it() -> None:
    report = tl.check(model("int16"), targets=tl.targets())
    assert report.targets == dict.fromkeys(tl.targets(), "rejected")
    assert [(found.code, found.target) for found in report.diagnostics] == [("target-kernel", name) for name in tl.targets()]
    assert not report
    assert report.text().endswith(f"does not run on {NEWEST}, does not run on onnxruntime-1.24")
    with pytest.raises(tl.ModelError):
        report.raise_for_errors()


def test_a_model_that_runs_has_no_diagnostics() -> None:
    report = tl.check(model("float"), targets=[NEWEST])
    assert report.targets == {NEWEST: "runs"}
    assert report.diagnostics == []


def test_an_undecided_model_has_a_warning() -> None:
    text = '<ir_version: 10, opset_import: ["" : 14]> g (float[3] x, float[1] r) => (y) { y = Dropout(x, r) }'
    report = tl.check(text, targets=[NEWEST])
    assert report.targets == {NEWEST: "undecided"}
    assert report.ok
    assert [(found.severity, found.target) for found in report.diagnostics] == [("warning", NEWEST)]


def test_a_model_with_errors_is_not_said_to_run() -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, float[3] z) => (y) { y = Add(x, z) }'
    report = tl.check(text, targets=[NEWEST])
    assert report.targets == {NEWEST: "undecided"}
    assert [found.target for found in report.diagnostics] == [None]


def test_the_name_of_the_target_is_not_part_of_the_json_format() -> None:
    (found,) = tl.check(model("int16"), targets=[NEWEST]).diagnostics
    assert "target" not in found.to_dict()


def test_an_unknown_target_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(tl.TypeloomError, match="no target `onnxruntime-9`; there are onnxruntime-1.31, onnxruntime-1.24"):
        tl.check(model("float"), targets=["onnxruntime-9"])


def test_verdicts_consider_the_nodes_inside_functions() -> None:
    text = '''<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (int16[2] x) => (y) { y = l.f(x) }
    <domain: "l", opset_import: ["" : 13]> f (a) => (b) { b = Min(a, a) }'''
    assert tl.check(text, targets=[NEWEST]).targets == {NEWEST: "rejected"}
