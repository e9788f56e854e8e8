"""`patch`: the drop-in functions in place of the reference's, for a process."""

from __future__ import annotations

from types import ModuleType, TracebackType
from typing import Any

from typeloom import _errors

__all__ = ["Patch", "patch"]

_FUNCTIONS = {
    "shape_inference": (
        "infer_function_output_types",
        "infer_node_outputs",
        "infer_shapes",
        "infer_shapes_path",
    ),
    "checker": (
        "check_attribute",
        "check_function",
        "check_graph",
        "check_model",
        "check_node",
        "check_sparse_tensor",
        "check_tensor",
        "check_value_info",
    ),
}


class Patch:
    """A patch in force. `undo` restores the reference; as a context manager it does so at the end of the block."""

    __slots__ = ("_saved",)

    def __init__(self, saved: list[tuple[ModuleType, str, Any, Any]]) -> None:
        self._saved = saved

    def undo(self) -> None:
        """Restores the functions of the reference. A function that was replaced since stays."""
        for module, name, old, new in reversed(self._saved):
            if getattr(module, name, None) is new:
                setattr(module, name, old)
        self._saved = []

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


def patch() -> Patch:
    """Replaces the functions of ``onnx.shape_inference`` and ``onnx.checker`` by those of typeloom in this process.

    >>> import typeloom as tl
    >>> try:
    ...     import onnx.shape_inference
    ... except ImportError:
    ...     pass
    ... else:
    ...     with tl.patch():
    ...         assert onnx.shape_inference.infer_shapes.__module__ == "typeloom.onnx.shape_inference"
    ...     assert onnx.shape_inference.infer_shapes.__module__ == "onnx.shape_inference"

    Names that were imported from these modules before keep the reference's functions. Contexts and exceptions stay those of
    the reference; typeloom's exceptions are subclasses of them.

    Returns:
        The patch, whose `undo` restores the reference.

    Raises:
        TypeloomError: the package `onnx` is not installed.
    """
    from importlib import import_module

    saved: list[tuple[ModuleType, str, Any, Any]] = []
    for name, functions in _FUNCTIONS.items():
        try:
            old = import_module(f"onnx.{name}")
        except ImportError as error:
            raise _errors.TypeloomError("the package onnx is not installed, so there is nothing to patch") from error
        new = import_module(f"typeloom.onnx.{name}")
        for function in functions:
            saved.append((old, function, getattr(old, function), getattr(new, function)))
            setattr(old, function, getattr(new, function))
    return Patch(saved)
