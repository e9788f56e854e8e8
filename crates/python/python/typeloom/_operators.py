"""Operators of other domains."""

from __future__ import annotations

import os

from typeloom import _core

__all__ = ["Operators"]


class Operators:
    """ONNX's operators, those of ONNX Runtime, and operators of other domains.

    >>> import typeloom as tl
    >>> operators = tl.Operators('''typeloom-operators 1
    ... domain com.example 1
    ... op Fold 1
    ...   type T tensor(float+float16)
    ...   in data T
    ...   out folded T
    ...   attr width int required
    ...   shape data [batch, length, rest...]
    ...   shape folded [batch, length // width, width, rest...]
    ... ''')
    >>> report = tl.check('''<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
    ... g (float[N, 4*S] x) => (y) { y = com.example.Fold <width = 4> (x) }''', operators=operators)
    >>> report.values["y"]
    Type('float[N, S, 4]')

    Args:
        *texts: descriptions of operators, in the format of ``docs/operator-files.md``. A later one takes precedence.

    Raises:
        TypeloomError: a text is not in the format; the message contains the line.
    """

    __slots__ = ("_core", "_texts")

    def __init__(self, *texts: str) -> None:
        self._texts = texts
        self._core = _core.Operators(list(texts))

    @classmethod
    def from_file(cls, *paths: str | os.PathLike[str]) -> Operators:
        """Reads descriptions of operators from files in UTF-8.

        Raises:
            OSError: a file cannot be read.
            TypeloomError: a file is not in the format.
        """
        texts: list[str] = []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        return cls(*texts)
