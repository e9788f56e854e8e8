"""Models of other libraries: onnx_ir, torch; helpers for tests."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
import typeloom as tl
from typeloom.testing import assert_replaces, assert_well_typed

from conftest import HEAD

NESTED = HEAD + """g (bool c, float[N, 2] x, float[2, 2] w) => (y) {
    y = If (c) <then_branch = t () => (float[N, 2] a) { h = Relu(x)  a = Abs(h) },
                else_branch = e () => (float[N, 2] b) { h = MatMul(x, w)  b = Neg(h) }>
}"""


def ir_model(text: str) -> Any:
    """A model of onnx_ir."""
    onnx, onnx_ir = pytest.importorskip("onnx"), pytest.importorskip("onnx_ir")
    return onnx_ir.from_proto(onnx.ModelProto.FromString(tl.model_from_text(text)))


def test_a_pass_fills_types_in_nested_graphs() -> None:
    model = ir_model(NESTED)
    from typeloom.onnx_ir import TypesPass

    result = TypesPass()(model)
    assert result.modified and result.model is model
    [branch] = [node for node in model.graph if node.op_type == "If"]
    shapes = [
        str(node.outputs[0].shape)
        for attribute in branch.attributes.values()
        for node in attribute.value
    ]
    assert shapes == ["[N,2]"] * 4
    assert str(branch.outputs[0].shape) == "[N,2]"
    assert not TypesPass()(model).modified
    assert tl.check(model)


def test_a_pass_refuses_or_completes_a_model_with_errors(wrong: str) -> None:
    model = ir_model(wrong.replace("y = MatMul(x, w)", "h = Relu(x)  y = MatMul(h, w)"))
    from typeloom.onnx_ir import TypesPass

    with pytest.raises(Exception) as error:
        TypesPass()(model)
    causes = [error.value, error.value.__cause__]
    assert any(isinstance(cause, tl.ModelError) for cause in causes)
    assert TypesPass(strict=False)(model).modified
    assert str(model.graph[0].outputs[0].shape) == "[N,3]"


TRACE = '''  File "/usr/lib/python3/site-packages/torch/export.py", line 7, in export
    return trace(module)
  File "/home/user/network.py", line 42, in forward
    return x @ self.weight
'''


def test_diagnostics_of_exported_programs_end_at_the_line_of_the_author(wrong: str) -> None:
    onnx = pytest.importorskip("onnx")
    proto = onnx.ModelProto.FromString(tl.model_from_text(wrong))
    entry = proto.graph.node[0].metadata_props.add()
    entry.key, entry.value = "pkg.torch.onnx.stack_trace", TRACE
    assert tl.check(proto).diagnostics[0].origin == "/home/user/network.py:42"
    assert "network.py:42" in tl.check(proto).text()

    class ONNXProgram:
        """As torch.onnx.ONNXProgram."""

        def __init__(self, model: Any, exported_program: Any) -> None:
            self.model, self.exported_program = model, exported_program

        @property
        def model_proto(self) -> Any:
            return pytest.importorskip("onnx_ir").to_proto(self.model)

    ONNXProgram.__module__ = "torch.onnx._internal"
    program = ONNXProgram(pytest.importorskip("onnx_ir").from_proto(proto), "exported")
    assert tl.check(program).diagnostics[0].origin == "/home/user/network.py:42"
    annotated = tl.annotate(program, partial=True)
    assert type(annotated.model) is ONNXProgram and annotated.model.exported_program == "exported"
    assert not annotated.ok and not tl.check(annotated)


def test_torch_exports(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    (tmp_path / "network.py").write_text(
        "import torch\n\n\nclass Network(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x @ x.T)\n"
    )
    module = types.ModuleType("network")
    sys.modules["network"] = module
    source = (tmp_path / "network.py").read_text()
    exec(compile(source, str(tmp_path / "network.py"), "exec"), module.__dict__)
    program = torch.onnx.export(module.Network(), (torch.ones(3, 4),), dynamo=True)
    report = assert_well_typed(program)
    assert [str(output.type) for output in tl.describe(program).outputs] == ["float[3, 3]"]
    assert type(tl.annotate(program).model) is type(program)
    proto = program.model_proto
    # An error: the inputs of the product no longer fit.
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5
    origins = [diagnostic.origin for diagnostic in tl.check(proto).diagnostics]
    assert report and any(origin and origin.endswith("network.py:6") for origin in origins), origins


def test_assertions_name_the_problem(text: str, wrong: str) -> None:
    assert assert_well_typed(text, fully=True)
    with pytest.raises(AssertionError, match="dim-mismatch"):
        assert_well_typed(wrong)
    with pytest.raises(AssertionError, match="y: int64"):
        assert_well_typed(HEAD + "g (float[N] x) => (y) { y = NonZero(x) }", fully=True)
    assert assert_replaces(text, text)
    with pytest.raises(AssertionError, match="cannot replace"):
        assert_replaces(text.replace("float[3, 4] w", "float[3, 5] w"), text)
