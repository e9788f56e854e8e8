"""What it takes to make one model file, and the two exporters that PyTorch has.

A `Recipe` names the file, the network and inputs to try it on. `dynamo` exports through `torch.export`,
which keeps the author's source lines in every node; `trace` records one run of the network (the older
exporter), which keeps nothing and bakes in every Python number that the run met.

Recipes say nothing about how a file is cleaned, checked or written: see `finish.py`.
"""

import io
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from unittest.mock import patch

import onnx
import onnx_ir as ir
import onnxscript.optimizer
import torch
from torch.onnx._internal.exporter import _ir_passes

# What both exporters write without converting afterwards.
OPSET = 18

# The exporter's domain for the branches and bodies of control flow, until it inlines them.
SUBGRAPHS = "pkg.torch.__subgraph__"

# The seed of every network's weights, so that the same script writes the same bytes.
SEED = 7


@dataclass(eq=False)
class Recipe:
    """One model file: how it comes to be and how to see that it works."""

    file: str
    what: str
    how: str
    network: torch.nn.Module
    export: Callable[[torch.nn.Module], onnx.ModelProto]
    # Inputs the file must answer exactly as the network does.
    cases: Sequence[tuple] = ()
    # Inputs that the declared axes allow and the file nevertheless refuses.
    refused: Sequence[tuple] = ()
    # The types of inner values stay in the file.
    keep_value_info: bool = False
    # Where each node comes from in the author's Python stays in the file.
    keep_provenance: bool = True
    # Names of inputs, in the order of the flattened example.
    inputs: list[str] = field(default_factory=list)


def seeded(build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """The network with the same random weights on every run, ready for inference."""
    torch.manual_seed(SEED)
    return build().eval()


def everything(program: torch.onnx.ONNXProgram) -> None:
    """The exporter's own optimiser: folds constants and fuses operators."""
    program.optimize()


def folding(program: torch.onnx.ONNXProgram) -> None:
    """Constant folding alone: the network's operators stay as they are."""
    onnxscript.optimizer.fold_constants(program.model)
    onnxscript.optimizer.remove_unused_nodes(program.model)


def dynamo(example: tuple, dynamic_shapes, inputs: list[str], outputs: list[str], optimize=everything):
    """The exporter over `torch.export`: control flow, symbolic axes and source lines survive."""

    def export(network: torch.nn.Module) -> onnx.ModelProto:
        with patch.object(_ir_passes, "add_opset_imports", add_opset_imports):
            program = torch.onnx.export(
                network,
                example,
                dynamo=True,
                verbose=False,
                opset_version=OPSET,
                input_names=inputs,
                output_names=outputs,
                dynamic_shapes=dynamic_shapes,
                optimize=False,
            )
        optimize(program)
        return program.model_proto

    return export


def add_opset_imports(model: ir.Model, original=_ir_passes.add_opset_imports) -> None:
    """The exporter's step, which then gives its own domain one version everywhere.

    Unpatched, torch 2.15 writes a branch inside a loop with version 1 and the loop around it with the
    version of the standard operators, and refuses to inline its own functions over the difference.
    """
    original(model)
    for owner in (model, *model.functions.values()):
        if SUBGRAPHS in owner.opset_imports:
            owner.opset_imports[SUBGRAPHS] = 1


def trace(example: tuple, dynamic_axes: dict[str, dict[int, str]], inputs: list[str], outputs: list[str]):
    """The exporter that records one run: Python numbers become constants, declared axes are believed."""

    def export(network: torch.nn.Module) -> onnx.ModelProto:
        file = io.BytesIO()
        with warnings.catch_warnings():
            # It warns that it is the old exporter and that it bakes numbers in: both are the point here.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                network,
                example,
                file,
                dynamo=False,
                opset_version=OPSET,
                input_names=inputs,
                output_names=outputs,
                dynamic_axes=dynamic_axes,
            )
        return onnx.load_from_string(file.getvalue())

    return export


def quiet() -> None:
    """Leaves errors on the screen and nothing else."""
    for name in ("torch", "torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    # One name for two axes, and a compiled loop inside an export: both are meant.
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")
