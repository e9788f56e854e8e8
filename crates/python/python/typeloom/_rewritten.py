"""New models, with the changes that led to them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typeloom._model import Form

__all__ = ["Rewritten"]


class Rewritten(bytes):
    """A model that `typeloom.fix`, `specialize`, `convert` or `annotate` changed: the bytes of the new file, with the changes.

    Each function that takes a model takes it too, and a file can be written from it.

    >>> import typeloom as tl
    >>> fixed = tl.fix('''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }''', policy="lossless")
    >>> print(fixed.text.splitlines()[-1])
    <text>: 1 cast inserted, the fewest possible
    >>> [cast["input"] for cast in fixed.changes["casts"]], fixed.ok
    (['x'], True)
    >>> fixed.model == tl.model_to_text(bytes(fixed))
    True

    Attributes:
        model: the new model in the form of the argument; the bytes for a path.
        changes: the changes as data: of a repair, of sizes or of a conversion as the command prints them with
            ``--format json``; of annotations the numbers of types
            that were ``added`` and ``filled`` in.
        text: the changes as the command prints them.
        ok: whether the model has no errors.
    """

    changes: dict[str, Any]
    text: str
    ok: bool
    _name: str
    _model: Any

    @classmethod
    def _of(cls, form: Form, file: bytes | None, changes: dict[str, Any], text: str, ok: bool) -> Rewritten:
        """`file` is `None` if the model did not change."""
        rewritten = cls(form.read() if file is None else file)
        rewritten.changes = changes
        rewritten.text = text
        rewritten.ok = ok
        rewritten._name = form.name
        rewritten._model = form.result(file)
        return rewritten

    @property
    def model(self) -> Any:
        """The new model in the form of the argument; the bytes for a path."""
        return self._model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model into a file.

        Raises:
            OSError: the file cannot be written.
        """
        from typeloom._files import write

        write(path, self)

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from typeloom._html import pre

        return pre(self.text)
