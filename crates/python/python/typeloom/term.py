"""Types as terms: equality, subtyping and inference as in Rust.

>>> from typeloom import term
>>> long, short = term.parse("&'static str"), term.parse("&'a str")
>>> long.is_subtype(short), short.is_subtype(long)
(True, False)
>>> short.subtype_error(long)
"`'a` is not known to outlive `'static`"
>>> term.parse("Vec<T>", types=["T"]).args
(<Ty T>,)

The names are those of the Rust module `typeloom::term`. `typeloom.Pool.intern_term` and `typeloom.Pool.term` convert terms to and
from portable types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, Union

from typeloom import _core
from typeloom._core import Symbols
from typeloom._errors import TypeloomError
from typeloom._items import items

__all__ = ["InferenceTable", "RelationError", "Symbols", "Ty", "is_subtype", "parse"]


def __dir__() -> list[str]:
    return sorted(__all__)


Outlives: TypeAlias = Iterable[tuple[str, str]]
Variances: TypeAlias = Mapping[str, Union[str, Sequence[str]]]

#: The table of names of terms without one of their own.
DEFAULT_SYMBOLS = Symbols()


class RelationError(TypeloomError):
    """Two terms are not related as required."""


class Ty:
    """A type as a term. `parse` makes terms; ``str`` prints them in Rust's syntax.

    Terms are equal if names and arguments are and they have the same symbols; they are hashable. Bound variables have no names:

    >>> from typeloom import term
    >>> term.parse("for<'x> fn(&'x u8)") == term.parse("for<'y> fn(&'y u8)")
    True

    Attributes:
        symbols: the table of the names in the term.
    """

    __slots__ = ("_core", "symbols")

    def __init__(self, core: _core.Ty, symbols: Symbols) -> None:
        self._core = core
        self.symbols = symbols

    @property
    def kind(self) -> str:
        """The variant of Rust's `TyData`.

        ``Apply`` (a name applied to arguments, also references, tuples and arrays), ``Placeholder`` (a parameter), ``Fn``, ``Dyn``,
        ``Alias`` (such as a projection), ``InferenceVar``, ``GeneratorWitness``, ``BoundVariable`` or ``Error``.

        >>> from typeloom import term
        >>> term.parse("fn(u8)").kind, term.parse("T", types=["T"]).kind
        ('Fn', 'Placeholder')
        """
        return self._core.kind

    @property
    def args(self) -> tuple[Ty | str, ...]:
        """The arguments of an application or alias: types, and lifetimes and constants as text. Other terms have none.

        >>> from typeloom import term
        >>> term.parse("[&'a str; 4]").args
        (<Ty &'a str>, '4')
        """
        return tuple(arg if isinstance(arg, str) else Ty(arg, self.symbols) for arg in self._core.args)

    def substitute(self, parameters: Mapping[str, Ty] | None = None, **more: Ty) -> Ty:
        """The term with terms instead of type parameters, all at once.

        >>> from typeloom import term
        >>> term.parse("Vec<T>", types=["T"]).substitute(T=term.parse("u8"))
        <Ty Vec<u8>>

        Raises:
            TypeloomError: a term has other symbols, or the result is too deep.
        """
        replacements = {**(parameters or {}), **more}
        return Ty(self._core.substitute({name: ty._core for name, ty in replacements.items()}), self.symbols)

    def is_subtype(self, other: Ty, *, outlives: Outlives = (), variances: Variances | None = None) -> bool:
        """Whether this type is a subtype of another one, lifetimes included; see `subtype_error`."""
        return self.subtype_error(other, outlives=outlives, variances=variances) is None

    def subtype_error(self, other: Ty, *, outlives: Outlives = (), variances: Variances | None = None) -> str | None:
        """The reason for which this type is no subtype of another one; ``None`` if it is one.

        >>> from typeloom import term
        >>> a, b = term.parse("Vec<&'a str>"), term.parse("Vec<&'b str>")
        >>> a.subtype_error(b, variances={"Vec": ["covariant"]})
        "`'a` is not known to outlive `'b`"
        >>> a.is_subtype(b, outlives=[("'a", "'b")], variances={"Vec": ["covariant"]})
        True

        Args:
            other: the supertype.
            outlives: pairs of a lifetime and one that it outlives.
            variances: for each nominal type the variances of its arguments: ``covariant``, ``contravariant``, ``invariant`` or
                ``bivariant``. Arguments are invariant if they are not here; the types of the language have Rust's variances.

        Raises:
            TypeloomError: the terms have different symbols, or inference variables: use an `InferenceTable`.
            ValueError: a text is no lifetime, or there is no such variance.
        """
        return self._core.subtype_error(other._core, list(outlives), _lists(variances))

    def __str__(self) -> str:
        return str(self._core)

    def __repr__(self) -> str:
        return f"<Ty {self}>"

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, Ty) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._core)


def parse(
    text: str,
    *,
    types: str | Iterable[str] = (),
    consts: str | Iterable[str] = (),
    auto_traits: str | Iterable[str] = (),
    symbols: Symbols | None = None,
) -> Ty:
    """The term of a text in Rust's syntax, or of a tensor type such as ``Tensor<f32, [N, 3]>``.

    >>> from typeloom import term
    >>> term.parse("&'a Vec<T>", types=["T"])
    <Ty &'a Vec<T>>
    >>> term.parse("Vec<")
    Traceback (most recent call last):
        ...
    typeloom.TypeloomError: expected a type at byte 4

    Args:
        text: the type.
        types: the names of type parameters. Other names are nominal types.
        consts: the names of constant parameters.
        auto_traits: the names of traits that form sets in ``dyn``, besides those of the standard library.
        symbols: the table of names; ``None`` is one table for the process, which keeps every name. Pass a table of your own for the
            texts of others.

    Raises:
        TypeloomError: the text is no type; the message has the byte.
    """
    symbols = DEFAULT_SYMBOLS if symbols is None else symbols
    return Ty(_core.parse_term(text, symbols, items(types), items(consts), items(auto_traits)), symbols)


def is_subtype(a: Ty, b: Ty, *, outlives: Outlives = (), variances: Variances | None = None) -> bool:
    """Whether a type is a subtype of another one; see `Ty.subtype_error`.

    >>> from typeloom import term
    >>> term.is_subtype(term.parse("fn(&'a u8)"), term.parse("fn(&'static u8)"))
    True
    """
    return a.is_subtype(b, outlives=outlives, variances=variances)


class InferenceTable:
    """Variables for types, which relations determine.

    >>> from typeloom import term
    >>> table = term.InferenceTable()
    >>> item = table.new_ty_var()
    >>> table.eq(term.parse("Vec<T>", types=["T"]).substitute(T=item), term.parse("Vec<(u8, &'a str)>"))
    >>> table.resolve(item)
    <Ty (u8, &'a str)>
    >>> table.eq(item, term.parse("u8"))
    Traceback (most recent call last):
        ...
    typeloom.term.RelationError: `(u8, &'a str)` is not `u8`

    A text has the notation ``?0`` for the first variable of a table. A relation that fails leaves the table unchanged.

    Attributes:
        symbols: the table of the names in the terms.
    """

    __slots__ = ("_core", "symbols")

    def __init__(self, symbols: Symbols | None = None, variances: Variances | None = None) -> None:
        self.symbols = DEFAULT_SYMBOLS if symbols is None else symbols
        self._core = _core.InferenceTable(self.symbols, _lists(variances))

    def __len__(self) -> int:
        """The number of variables, those of relations included."""
        return len(self._core)

    def new_ty_var(self) -> Ty:
        """A new variable."""
        return Ty(self._core.new_ty_var(), self.symbols)

    def eq(self, a: Ty, b: Ty) -> None:
        """Requires that two types are equal.

        Raises:
            RelationError: they cannot be equal.
            TypeloomError: a term has other symbols, or variables that are not of this table.
        """
        self.relate("invariant", a, b)

    def sub(self, a: Ty, b: Ty) -> None:
        """Requires that a type is a subtype of another one, except for lifetimes, which `region_error` checks.

        Raises:
            RelationError: it cannot be one.
            TypeloomError: a term has other symbols, or variables that are not of this table.
        """
        self.relate("covariant", a, b)

    def relate(self, variance: str, a: Ty, b: Ty) -> None:
        """Requires a relation.

        Args:
            variance: ``covariant`` if `a` is a subtype of `b`, ``contravariant`` if `b` is one of `a`, ``invariant`` if they are equal.
            a: the left side.
            b: the right side.

        Raises:
            RelationError: the types cannot be related so.
            TypeloomError: a term has other symbols, or variables that are not of this table.
            ValueError: there is no such variance.
        """
        reason = self._core.relate(variance, a._core, b._core)
        if reason is not None:
            raise RelationError(reason)

    def resolve(self, ty: Ty) -> Ty:
        """The term with the values of its variables."""
        return Ty(self._core.resolve(ty._core), self.symbols)

    @property
    def undecided(self) -> list[str]:
        """The parts of relations that are not decided yet. Every relation retries them."""
        return self._core.undecided

    def region_error(self, *, outlives: Outlives = ()) -> str | None:
        """The first lifetime that the relations require to live longer than is known; ``None`` if there is none.

        >>> from typeloom import term
        >>> table = term.InferenceTable()
        >>> table.sub(term.parse("&'a u8"), term.parse("&'b u8"))
        >>> table.region_error()
        "`'a` is not known to outlive `'b`"
        >>> table.region_error(outlives=[("'a", "'b")])

        Args:
            outlives: pairs of a lifetime and one that it outlives.

        Raises:
            ValueError: a text is no lifetime.
        """
        return self._core.region_error(list(outlives))

    def __repr__(self) -> str:
        return f"<InferenceTable of {len(self)} variables>"


def _lists(variances: Variances | None) -> dict[str, list[str]]:
    return {name: items(of) for name, of in (variances or {}).items()}
