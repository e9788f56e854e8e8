"""Assertions for tests of models, for pytest and any other framework.

::

    from typeloom.testing import assert_replaces, assert_well_typed

    def test_the_exported_model():
        assert_well_typed("model.onnx")
        assert_replaces("model.onnx", "released.onnx")

`assert_well_typed` reads the settings file that ``typeloom check`` reads, so a test and a job of CI have the same result.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typeloom
from typeloom._interface import Diff, Interface
from typeloom._model import ModelLike
from typeloom._report import Report

if TYPE_CHECKING:
    from typeloom.typing import Level, Mode

__all__ = ["assert_replaces", "assert_well_typed"]


def __dir__() -> list[str]:
    return sorted(__all__)



def assert_well_typed(
    model: ModelLike,
    *,
    warnings: bool = True,
    fully: bool = False,
    config: bool | str | os.PathLike[str] = True,
    baseline: str | os.PathLike[str] | None = None,
    severities: Mapping[str, Level] | None = None,
    **options: Any,
) -> Report:
    """Asserts that a model has no errors.

    >>> from typeloom.testing import assert_well_typed
    >>> text = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }'
    >>> assert_well_typed(text, fully=True).values["y"]
    Type('float[N]')

    Args:
        model: a model, in any form that `typeloom.check` accepts.
        warnings: accept warnings.
        fully: require that the type of every value is fully known.
        config: the settings file: the nearest one above the model, as for ``typeloom check``; a path; or `False` for none.
        baseline: the file with known problems, instead of that of the settings file. They are accepted.
        severities: see `typeloom.check`; they take precedence over those of the settings file.
        **options: further options of `typeloom.check`.

    Returns:
        The report of the check.

    Raises:
        AssertionError: the model has errors; the message is the text of the report.
        OSError: the model, the settings file or the baseline cannot be read.
        TypeloomError: an option or the settings file is wrong.
    """
    __tracebackhide__ = True
    report = typeloom.check(model, config=config, baseline=baseline, severities=severities, **options)
    assert isinstance(report, Report), "pass one model at a time"
    if not report.ok or (report.diagnostics and not warnings):
        raise AssertionError(f"the model is not well typed\n{report.text()}")
    if fully and report.coverage.typed < report.coverage.values:
        unknown = [f"{name}: {ty}" for name, ty in report.values.items() if not _is_full(ty)]
        listed = "\n".join(f"  {line}" for line in unknown[:20])
        raise AssertionError(f"types are incomplete\n{listed}\n{report.text()}")
    return report


def _is_full(ty: typeloom.Type) -> bool:
    return ty.kind not in ("tensor", "sparse", "unknown") or (ty.shape is not None and None not in ty.shape)


def assert_replaces(
    new: ModelLike | Interface, old: ModelLike | Interface, *, mode: Mode = "backward", by_name: bool = False
) -> Diff:
    """Asserts that a new model can replace an old one for existing callers.

    >>> from typeloom.testing import assert_replaces
    >>> head = '<ir_version: 10, opset_import: ["" : 21]> '
    >>> old = head + "g (float[8] x) => (y) { y = Relu(x) }"
    >>> assert_replaces(head + "g (float[N] x) => (y) { y = Relu(x) }", old, by_name=True).compatible
    True

    Args:
        new: a model or an interface.
        old: a model or an interface.
        mode: ``backward``, ``forward`` or ``full``; see `typeloom.diff`.
        by_name: callers bind by name alone.

    Raises:
        AssertionError: the new model cannot replace the old one; the message lists the differences.
        ModelError: a model has errors.
    """
    __tracebackhide__ = True
    diff = typeloom.diff(old, new, mode=mode, by_name=by_name)
    if not diff:
        raise AssertionError(f"the new model cannot replace the old one\n{diff!r}")
    return diff
