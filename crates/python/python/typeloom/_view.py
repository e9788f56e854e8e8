"""Pages for browsers."""

from __future__ import annotations

import os

__all__ = ["View"]

#: The height of the frame in a notebook, in pixels.
_HEIGHT = 640


class View:
    """The graph of a model as a page for browsers: one HTML file that loads nothing else.

    A notebook shows it in a frame, whose scripts cannot reach the notebook.

    >>> import typeloom as tl
    >>> view = tl.view('<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Neg(x) }')
    >>> view.html.startswith("<!doctype html>")
    True

    Attributes:
        html: the page.
    """

    __slots__ = ("_changes", "_errors", "_name", "_nodes", "html")

    def __init__(self, html: str, name: str, nodes: int, errors: int, changes: int | None = None) -> None:
        self.html = html
        self._name = name
        self._nodes = nodes
        self._errors = errors
        self._changes = changes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page into a file.

        Raises:
            OSError: the file cannot be written.
        """
        from typeloom._files import write

        write(path, self.html.encode())

    def _repr_html_(self) -> str:
        import html as _html

        # The frame has an origin of its own: its scripts reach neither the notebook nor its cookies.
        title = _html.escape(f"Graph of {self._name}")
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" title="{title}" width="100%" height="{_HEIGHT}" '
            f'srcdoc="{_html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        from typeloom._html import counted

        errors = f", {counted(self._errors, 'error')}" if self._errors else ""
        changes = "" if self._changes is None else f", {counted(self._changes, 'change')}"
        return f"<View of {self._name}: {counted(self._nodes, 'node')}{errors}{changes}>"
