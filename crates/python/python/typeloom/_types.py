"""Dims and types of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

from typeloom import _core
from typeloom._core import TypeloomError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Dim", "DimLike", "Origin", "Type"]

DimLike: TypeAlias = Union["Dim", int, str]
"""A dim, a number, or the text of a symbol or an expression."""


class Dim:
    """The extent of an axis: a number, a symbol, or an expression over symbols.

    A text that is neither a number nor an expression is the name of a symbol, as in ONNX.

    Symbols are integers from 0 on. Two dims are equal if they are equal for all values of their symbols, as far as that
    can be decided: always for sums and products, mostly for quotients and minima.

    >>> from typeloom import Dim
    >>> n, past = Dim("n"), Dim("past")
    >>> n + past
    Dim('n + past')
    >>> (2 * n + 4) // 2 == n + 2
    True
    >>> (n + past).substitute(n=1, past=127)
    Dim(128)

    Operators: ``+``, ``-``, ``*``, ``//`` (rounds down), ``%``; methods: `ceil_div`, `minimum`, `maximum`. The other
    operand is a dim, an integer, or text.

    Raises:
        ValueError: the text is no dim, the divisor is zero, or the result is too large to be represented (more than 64
            terms, or numbers beyond 64 bits).
    """

    __slots__ = ("_size", "_symbols", "_text")
    _size: int | None
    _text: str
    _symbols: tuple[str, ...]

    def __init__(self, value: DimLike) -> None:
        if isinstance(value, Dim):
            self._size, self._text, self._symbols = value._size, value._text, value._symbols
            return
        if isinstance(value, bool) or not isinstance(cast(object, value), (int, str)):
            raise TypeError(f"a dim is made from an integer or a text, not from {type(value).__name__}")
        self._fill(_checked(_core.dim_parse, str(value)))

    @classmethod
    def _of(cls, shown: tuple[int | None, str, list[str]]) -> Dim:
        dim = cls.__new__(cls)
        dim._fill(shown)
        return dim

    def _fill(self, shown: tuple[int | None, str, list[str]]) -> None:
        self._size, self._text, symbols = shown
        self._symbols = tuple(symbols)

    @property
    def size(self) -> int | None:
        """The number, or ``None`` for a symbol or an expression."""
        return self._size

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols.

        >>> Dim("a*b + a").symbols
        ('a', 'b')
        """
        return self._symbols

    def substitute(self, values: Mapping[str, DimLike] | None = None, /, **symbols: DimLike) -> Dim:
        """Replaces symbols by dims, all at once.

        >>> Dim("a + b").substitute(a="b", b="a")
        Dim('a + b')
        """
        given = {**(values or {}), **symbols}
        pairs = [(name, str(Dim(value))) for name, value in given.items()]
        return Dim._of(_checked(_core.dim_substitute, self._text, pairs))

    def compare(self, other: DimLike) -> bool | None:
        """Whether two dims are equal: ``True`` for all values of the symbols, ``False`` for none, else ``None``.

        >>> print(Dim("n").compare("n + 1"), Dim("n").compare("m"))
        False None
        """
        return cast("bool | None", _checked(_core.dim_compare, self._text, str(Dim(other))))

    def ceil_div(self, other: DimLike) -> Dim:
        """The quotient, rounded up.

        >>> Dim("n").ceil_div(1)
        Dim('n')
        """
        return self._binary("ceil", self, other)

    def minimum(self, other: DimLike) -> Dim:
        """The smaller dim.

        >>> Dim(3).minimum(5)
        Dim(3)
        """
        return self._binary("min", self, other)

    def maximum(self, other: DimLike) -> Dim:
        """The greater dim.

        >>> Dim("n").maximum("n + 1")
        Dim('n + 1')
        """
        return self._binary("max", self, other)

    @staticmethod
    def _binary(operation: str, left: DimLike, right: DimLike) -> Dim:
        left, right = Dim(left), Dim(right)
        return Dim._of(_checked(_core.dim_binary, operation, left._text, right._text))

    def __add__(self, other: DimLike) -> Dim:
        return self._binary("+", self, other)

    def __radd__(self, other: DimLike) -> Dim:
        return self._binary("+", other, self)

    def __sub__(self, other: DimLike) -> Dim:
        return self._binary("-", self, other)

    def __rsub__(self, other: DimLike) -> Dim:
        return self._binary("-", other, self)

    def __mul__(self, other: DimLike) -> Dim:
        return self._binary("*", self, other)

    def __rmul__(self, other: DimLike) -> Dim:
        return self._binary("*", other, self)

    def __floordiv__(self, other: DimLike) -> Dim:
        return self._binary("//", self, other)

    def __rfloordiv__(self, other: DimLike) -> Dim:
        return self._binary("//", other, self)

    def __mod__(self, other: DimLike) -> Dim:
        return self._binary("%", self, other)

    def __rmod__(self, other: DimLike) -> Dim:
        return self._binary("%", other, self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int) and not isinstance(other, bool):
            return self._size == other
        if isinstance(other, str):
            try:
                other = Dim(other)
            except ValueError:
                return False
        if not isinstance(other, Dim):
            return NotImplemented
        if self._size is not None or other._size is not None:
            return self._size == other._size
        # The order of terms in the text is that of the author, so equal dims can have several texts.
        return self._text == other._text or (
            set(self._symbols) == set(other._symbols) and self.compare(other) is True
        )

    def __hash__(self) -> int:
        # As that of an equal integer; equal dims have the same symbols.
        return hash(frozenset(self._symbols) if self._size is None else self._size)

    def __int__(self) -> int:
        """The number.

        Raises:
            ValueError: the dim is not a number.
        """
        if self._size is None:
            raise ValueError(f"`{self._text}` is not a number")
        return self._size

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Dim({self._text})" if self._size is not None else f"Dim({self._text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Dim, (self._text,))


def _checked(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except TypeloomError as error:
        raise ValueError(str(error)) from None


class Origin:
    """The source of a value.

    Attributes:
        kind: ``input``, ``initializer``, ``node`` or ``undefined``.
        operator: the operator of the node.
        node: the name of the node; may be empty.
    """

    __slots__ = ("kind", "node", "operator")

    def __init__(self, kind: str, operator: str | None = None, node: str | None = None) -> None:
        self.kind = kind
        self.operator = operator
        self.node = node

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Origin):
            return NotImplemented
        return (self.kind, self.operator, self.node) == (other.kind, other.operator, other.node)

    def __hash__(self) -> int:
        return hash((self.kind, self.operator, self.node))

    def __str__(self) -> str:
        if self.kind != "node":
            return self.kind
        return f"{self.operator} `{self.node}`" if self.node else str(self.operator)

    def __repr__(self) -> str:
        return f"<Origin {self}>"


class Type:
    """The type of a value.

    >>> from typeloom import Type
    >>> ty = Type("float[N, 3]")
    >>> ty.element, ty.shape
    ('float', (Dim('N'), Dim(3)))
    >>> ty.substitute(N=8)
    Type('float[8, 3]')
    >>> Type("seq(int64[2])").inner
    Type('int64[2]')

    The text is ONNX's: ``float`` has rank 0, ``float[...]`` unknown rank, ``float[?]`` an unknown extent. The id of a node of
    the type tree is a type too, such as ``peer_id``.

    Raises:
        ValueError: the text is no type.
    """

    __slots__ = ("_raw", "is_assumed", "origin")
    origin: Origin | None
    """The source of the value that has this type, in a report."""
    is_assumed: bool
    """Whether the type depends on a declaration that could not be verified."""

    def __init__(self, text: str | Type) -> None:
        self._raw: Any = text._raw if isinstance(text, Type) else _checked(_core.parse_type, text)
        self.origin = None
        self.is_assumed = False

    @classmethod
    def _of(cls, raw: Any, origin: Origin | None = None, is_assumed: bool = False) -> Type:
        ty = cls.__new__(cls)
        ty._raw, ty.origin, ty.is_assumed = raw, origin, is_assumed
        return ty

    @property
    def kind(self) -> str:
        """``tensor``, ``sparse``, ``scalar``, ``sequence``, ``optional``, ``map``, ``composite``, ``node`` or ``unknown``."""
        return str(self._raw[0])

    @property
    def node(self) -> str | None:
        """The id of the most specific known node of the type tree, such as ``tensor.f32``."""
        return cast("str | None", self._raw[1])

    @property
    def element(self) -> str | None:
        """The element type by ONNX's name, such as ``float``; of a map, the type of its keys."""
        return cast("str | None", self._raw[2])

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The element type as a dtype of NumPy, or of ``ml_dtypes`` where NumPy has none; that of texts is ``object``.

        ``None`` if the type is no tensor, or the element type is unknown.

        >>> Type("float[N, 3]").dtype
        dtype('float32')

        Raises:
            ImportError: NumPy lacks the element type, and ``ml_dtypes`` is not installed.
        """
        if self.kind not in ("tensor", "sparse", "scalar") or self.element is None:
            return None
        from typeloom._arrays import dtype_of

        return cast("np.dtype[Any]", dtype_of(self.element))

    @property
    def shape(self) -> tuple[Dim | None, ...] | None:
        """The extents in order, ``None`` for an unknown one; ``None`` if the rank is unknown."""
        dims = self._raw[3]
        return None if dims is None else tuple(None if dim is None else Dim(dim) for dim in dims)

    @property
    def dims(self) -> tuple[Dim | None, ...]:
        """The extents; empty if the rank is unknown."""
        return self.shape or ()

    @property
    def rank(self) -> int | None:
        """The number of axes, if it is known."""
        dims = self._raw[3]
        return None if dims is None else len(dims)

    @property
    def inner(self) -> Type | None:
        """The type of the elements of a sequence, optional or map."""
        return Type._of(self._raw[4]) if self.kind in ("sequence", "optional", "map") else None

    @property
    def children(self) -> dict[str, Type]:
        """The children of a composite by name."""
        if self.kind != "composite" or self._raw[4] is None:
            return {}
        return {name: Type._of(child) for name, child in self._raw[4]}

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of all symbols in the order of their first use."""
        names: dict[str, None] = {}
        for dim in self.dims:
            names.update(dict.fromkeys(dim.symbols if dim is not None else ()))
        for part in (self.inner, *self.children.values()):
            names.update(dict.fromkeys(part.symbols if part is not None else ()))
        return tuple(names)

    def with_shape(self, *dims: DimLike | None) -> Type:
        """The type with another shape; ``None`` is an unknown extent.

        >>> Type("float[N, 3]").with_shape("N", 3, None)
        Type('float[N, 3, ?]')

        Raises:
            ValueError: the type has no shape.
        """
        if self.kind not in ("tensor", "sparse"):
            raise ValueError(f"`{self}` has no shape")
        shape = [None if dim is None else Dim(dim) for dim in dims]
        listed = ", ".join("?" if dim is None else str(dim) for dim in shape)
        name = self.element or self.node or "tensor"
        text = f"{name}[{listed}]" if shape else name
        raw = list(self._raw)
        raw[3] = tuple(None if dim is None else dim.size if dim.size is not None else str(dim) for dim in shape)
        raw[5] = text if self.kind == "tensor" else f"sparse_tensor({text})"
        return Type._of(tuple(raw))

    def substitute(self, values: Mapping[str, DimLike] | None = None, /, **symbols: DimLike) -> Type:
        """Replaces symbols by dims, all at once; also in the parts of the type."""
        given = {**(values or {}), **symbols}
        inner = self.inner
        if inner is not None:
            part = inner.substitute(given)
            raw = list(self._raw)
            raw[4] = part._raw
            head = {"sequence": "seq(", "optional": "optional(", "map": f"map({self.element}, "}[self.kind]
            raw[5] = f"{head}{part})"
            return Type._of(tuple(raw))
        if self.shape is None:
            return Type(self)
        return self.with_shape(*(dim if dim is None else dim.substitute(given) for dim in self.shape))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            try:
                other = Type(other)
            except ValueError:
                return False
        return self._raw == other._raw if isinstance(other, Type) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return str(self._raw[5])

    def __repr__(self) -> str:
        return f"Type({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Type._of, (self._raw, self.origin, self.is_assumed))
