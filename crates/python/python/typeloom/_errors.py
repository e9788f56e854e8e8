"""Exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typeloom._core import TypeloomError

if TYPE_CHECKING:
    from typeloom._report import Diagnostic

__all__ = ["LinkError", "ModelError", "TypeloomError"]


class ModelError(TypeloomError, ValueError):
    """A model has errors.

    Attributes:
        diagnostics: the problems of the model, warnings included.
    """

    __module__ = "typeloom"
    diagnostics: list[Diagnostic]

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("\n".join(diagnostic.text.rstrip() for diagnostic in diagnostics))
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type[ModelError], tuple[list[Diagnostic]]]:
        return (ModelError, (self.diagnostics,))


class LinkError(TypeloomError, ValueError):
    """Two models do not fit.

    Attributes:
        errors: the reasons, each a dictionary with ``code``, ``message``, ``sides`` and possibly ``help``. A side has
            ``file``, ``role``, ``name``, and possibly ``type`` and ``origin``.
    """

    __module__ = "typeloom"
    errors: list[dict[str, Any]]

    def __init__(self, text: str, errors: list[dict[str, Any]]) -> None:
        super().__init__(text)
        self.errors = errors

    def __reduce__(self) -> tuple[type[LinkError], tuple[str, list[dict[str, Any]]]]:
        return (LinkError, (str(self), self.errors))
