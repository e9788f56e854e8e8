"""typeloom proves the type of every value in a tensor program.

>>> import typeloom as tl
>>> report = tl.check('''<ir_version: 10, opset_import: ["" : 21]>
... g (float[N, 3] x, float[4, 5] w) => (y) { y = MatMul(x, w) }''')
>>> bool(report)
False
>>> print(report.diagnostics[0])
error[dim-mismatch]: `MatMul` needs equal dims, but axis 1 of `x` is 3 and axis 0 of `w` is 4

A model is a path, bytes, ONNX's textual syntax, ``onnx.ModelProto``, ``onnx_ir.Model`` or ``torch.onnx.ONNXProgram``.
"""

# Modules of the package import those of the standard library that few calls need, such as `json`, where they use them:
# importing the package is then faster.
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typeloom._api import (
    Cost,
    Explanation,
    check,
    cost,
    describe,
    diff,
    explain,
    infer,
    targets,
    view,
)
from typeloom._change import annotate, compile, convert, fix, link, specialize, strip
from typeloom._core import VERSION as __version__
from typeloom._errors import LinkError, ModelError, TypeloomError
from typeloom._interface import Diff, Difference, Interface, Parameter
from typeloom._model import ModelLike, model_from_text, model_to_text
from typeloom._operators import Operator, Operators, RuleContext, RuleInput, operator
from typeloom._report import Coverage, Diagnostic, Label, Location, PlacedNode, Placement, Report, Values
from typeloom._rewritten import Rewritten
from typeloom._session import Port, Session
from typeloom._types import Dim, Origin, Type
from typeloom._view import View

if TYPE_CHECKING:
    from typeloom import fleet, onnx, pool, registry, term, testing, types, typing
    from typeloom.onnx._patch import Patch
    from typeloom.pool import Pool

_SUBMODULES = frozenset(["fleet", "onnx", "pool", "registry", "term", "testing", "types", "typing"])


def __getattr__(name: str) -> Any:
    """Imports a submodule, or the module of a class, when it is first used."""
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module(f"typeloom.{name}")
    if name == "Pool":
        from typeloom.pool import Pool

        return Pool
    raise AttributeError(f"module 'typeloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def patch() -> Patch:
    """Replaces ``onnx.shape_inference`` and ``onnx.checker`` in this process; see `typeloom.onnx`.

    >>> import typeloom as tl
    >>> tl.patch.__module__
    'typeloom'

    Returns:
        The patch, whose `undo` restores the reference; also a context manager.

    Raises:
        TypeloomError: the package `onnx` is not installed.
    """
    from typeloom.onnx._patch import patch as apply

    return apply()


__all__ = [
    "Cost",
    "Coverage",
    "Diagnostic",
    "Diff",
    "Difference",
    "Dim",
    "Explanation",
    "Interface",
    "Label",
    "LinkError",
    "Location",
    "ModelError",
    "ModelLike",
    "Operator",
    "Operators",
    "Origin",
    "Parameter",
    "PlacedNode",
    "Placement",
    "Pool",
    "Port",
    "Report",
    "Rewritten",
    "RuleContext",
    "RuleInput",
    "Session",
    "Type",
    "TypeloomError",
    "Values",
    "View",
    "__version__",
    "annotate",
    "check",
    "compile",
    "convert",
    "cost",
    "describe",
    "diff",
    "explain",
    "fix",
    "fleet",
    "infer",
    "link",
    "model_from_text",
    "model_to_text",
    "onnx",
    "operator",
    "patch",
    "pool",
    "registry",
    "specialize",
    "strip",
    "targets",
    "term",
    "testing",
    "types",
    "typing",
    "view",
]
