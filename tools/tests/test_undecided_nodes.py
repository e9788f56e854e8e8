"""The count of undecided nodes adds up the placements of the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "undecided_nodes.py"
MODEL = """<ir_version: 10, opset_import: ["" : 21]>
g (float[2, 3] x) => (y) { b = Relu (x)  c = Neg (b)  d = Neg (c)  y = Sigmoid (d) }
"""
TABLE = """typeloom-measured 1
source here
device Board
op ai.onnx::Relu 3
  version 6 13 14
  tree +
op ai.onnx::Sigmoid 2
  version 13
  rank.X 1 2
  tree +
"""


def run(*arguments: object) -> str:
    line = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def test_nodes_are_counted_with_their_reasons(real: Path, tmp_path: Path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "wrong.onnx").write_bytes(b"no model")
    (tmp_path / "a.onnxtxt").write_text(MODEL)
    (tmp_path / "board.measured").write_text(TABLE)
    output = run("--typeloom", real / "bin" / "typeloom", "--targets", tmp_path / "board.measured", "--models", 1, tmp_path / "a.onnxtxt", tmp_path / "models")
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert lines == [
        f"{tmp_path}/models/wrong.onnx: no verdict",
        "target models nodes undecided share",
        "board 1 4 2 50.00%",
        "board: 2 `Neg`: no node of this operator was measured",
        f"board: 2 in {tmp_path}/a.onnxtxt",
    ]
