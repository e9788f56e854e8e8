"""Verdicts about runtimes."""

from __future__ import annotations

from pathlib import Path

import pytest

import typeloom as tl

NEWEST = "onnxruntime-1.32"
RUNTIMES = [NEWEST, "onnxruntime-1.31", "onnxruntime-1.24"]
BOARD = """typeloom-measured 1
source test 1
device Board
through onnxruntime BoardExecutionProvider
fixed
op ai.onnx::Relu 3
  version 14
  tree +
op ai.onnx::Sin 1
  version 22
  tree ~
"""


def model(ty: str) -> str:
    return f'<ir_version: 10, opset_import: ["" : 21]> g ({ty}[2] x) => (y) {{ y = Min(x, x) }}'


def test_targets_are_listed_newest_first() -> None:
    assert tl.targets()[:3] == RUNTIMES
    assert "qnn-npu" in tl.targets()


def test_a_target_has_details() -> None:
    found = tl.targets("qnn-npu")
    assert found["device"] == "Qualcomm NPU"
    assert found["through"] == "onnxruntime QNNExecutionProvider"
    assert found["fixed"] is True
    assert "13" in found["measured"]["ai.onnx::Abs"]["versions"]
    assert tl.targets(NEWEST)["provider"] == "CPUExecutionProvider"
    assert tl.targets("qnn") == {"name": "qnn", "targets": ["qnn-gpu", "qnn-npu"]}
    with pytest.raises(tl.TypeloomError, match="no target `qnn-np`"):
        tl.targets("qnn-np")


def test_a_group_is_all_of_its_targets() -> None:
    report = tl.check(model("float"), targets=["onnxruntime", NEWEST])
    assert report.targets == dict.fromkeys(RUNTIMES, "runs")


def test_the_path_of_a_file_is_a_target(tmp_path: Path) -> None:
    path = tmp_path / "board.txt"
    path.write_text(BOARD)
    text = '<ir_version: 10, opset_import: ["" : 22]> g (float[N, 2] x) => (y) { a = Sin(x)  b = Relu(a)  y = Relu(b) }'
    for target in (path, str(path), [path]):
        report = tl.check(text, targets=target)
        assert report.targets == {"board": "fallback"}
        placement = report.placements["board"]
        assert (placement.device, placement.cpu, placement.rejected, placement.undecided) == (2, 1, 0, 0)
        assert (placement.partitions, placement.crossing) == (1, "8*N")
        assert (placement.conditions, placement.fixed) == ([], ["N"])
        assert placement.nodes == [(0, "cpu", None), (1, "device", 0), (2, "device", 0)]
    assert report.text().endswith(
        "runs with fallback on board (1 of 3 nodes on the CPU, 1 partition, 8*N bytes cross) where N is a number"
    )


def test_a_wrong_file_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "board.txt"
    path.write_text("typeloom-measured 1\nsauce a\n")
    with pytest.raises(tl.TypeloomError, match="board.txt`: line 2 of the target: unknown word `sauce`"):
        tl.check(model("float"), targets=path)
    with pytest.raises(FileNotFoundError):
        tl.check(model("float"), targets=tmp_path / "none.txt")


def test_a_check_without_targets_has_no_verdicts() -> None:
    report = tl.check(model("int16"))
    assert report.targets == {}
    assert report.ok


def test_each_target_has_a_verdict_and_its_reasons_name_it() -> None:
    report = tl.check(model("int16"), targets=RUNTIMES)
    assert report.targets == dict.fromkeys(RUNTIMES, "rejected")
    assert report.placements == {}
    assert [(found.code, found.target) for found in report.diagnostics] == [("target-kernel", name) for name in RUNTIMES]
    assert not report
    assert report.text().endswith(", ".join(f"does not run on {name}" for name in RUNTIMES))
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
    with pytest.raises(tl.TypeloomError, match="no target `onnxruntime-9`; there are onnxruntime-1.32, onnxruntime-1.31, onnxruntime-1.24"):
        tl.check(model("float"), targets=["onnxruntime-9"])


def test_verdicts_consider_the_nodes_inside_functions() -> None:
    text = '''<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (int16[2] x) => (y) { y = l.f(x) }
    <domain: "l", opset_import: ["" : 13]> f (a) => (b) { b = Min(a, a) }'''
    assert tl.check(text, targets=[NEWEST]).targets == {NEWEST: "rejected"}


CONSTANT_SHAPES = """typeloom-measured 1
source test 1
device Chip
op ai.onnx::Reshape 2
  version 14
  constant.shape true false
  tree {1:0+1-}
op ai.onnx::Shape 1
  version 15
  tree +
op ai.onnx::Gather 1
  version 13
  tree +
op ai.onnx::Concat 1
  version 13
  tree +
"""


def test_fix_makes_the_changes_that_a_target_needs_and_the_model_computes_the_same(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    numpy = pytest.importorskip("numpy")
    text = """<ir_version: 10, opset_import: ["" : 17]> g (float[1, 3, 4, 4] x) => (y) {
        s = Shape(x)  first = Constant<value = int64[1] {0}>()  n = Gather(s, first)
        rest = Constant<value = int64[1] {-1}>()  t = Concat<axis = 0>(n, rest)  y = Reshape(x, t)
    }"""
    chip = tmp_path / "chip.txt"
    chip.write_text(CONSTANT_SHAPES)
    old = tl.model_from_text(text)
    fixed = tl.fix(old, targets=chip)
    assert tl.check(old, targets=chip).targets == {"chip": "rejected"}
    assert tl.check(fixed, targets=chip).targets == {"chip": "runs"}
    assert [change["change"] for change in fixed.changes["fixed"]] == [
        "`Reshape` (#5): `t` = [1, -1] is a constant, which the types prove (for chip)"
    ]
    x = numpy.arange(48, dtype=numpy.float32).reshape(1, 3, 4, 4)
    outputs = [runtime.InferenceSession(bytes(model)).run(None, {"x": x})[0] for model in (old, fixed)]
    assert numpy.array_equal(*outputs)
