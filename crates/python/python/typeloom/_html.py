"""HTML of results, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["MAX_ROWS", "code", "counted", "pre", "table"]

MAX_ROWS = 100
"""The maximum number of rows of a table."""


def counted(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def pre(text: str) -> str:
    """A text with its line breaks."""
    from html import escape

    return f"<pre>{escape(text)}</pre>"


def code(text: object) -> str:
    """A name or a type."""
    from html import escape

    return f"<code>{escape(str(text))}</code>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], number: int, what: str) -> str:
    """A table of HTML cells, with at most `MAX_ROWS` of `number` rows; empty without rows. `what` is the noun of a row."""
    from itertools import islice

    cells = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in islice(rows, MAX_ROWS)
    )
    if not cells:
        return ""
    titles = "".join(f"<th>{title}</th>" for title in head)
    rest = f"<p>{counted(number - MAX_ROWS, f'further {what}')}</p>" if number > MAX_ROWS else ""
    return f"<table><tr>{titles}</tr>{cells}</table>{rest}"
