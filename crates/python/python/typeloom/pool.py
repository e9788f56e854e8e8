"""Portable types: interned, identified by their contents, and exchanged as verified bundles.

>>> import typeloom as tl
>>> pool = tl.Pool()
>>> scores = pool.list(pool.map(pool.primitive("str"), pool.primitive("int")))
>>> scores
<Idx list<map<str, int>>>
>>> bundle = pool.export({"scores": scores})
>>> [root] = tl.Pool().import_(bundle)
>>> root.label, str(root.ty), root.digest == pool.digest(scores)
('scores', 'list<map<str, int>>', True)

The names are those of the Rust module `typeloom::pool`. `Pool` has a method for each kind of type; `Pool.intern` accepts a `Descriptor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from typeloom import _core
from typeloom._bundle import Bundle, BundleError, Root
from typeloom._core import Idx
from typeloom._descriptor import (
    Applied,
    Borrowed,
    Bound,
    Const,
    Container,
    Declared,
    Descriptor,
    Digest,
    Enum,
    FloorDiv,
    Function,
    Infer,
    Instance,
    Int,
    Lifetime,
    Max,
    Member,
    Min,
    Mod,
    Named,
    Opaque,
    Primitive,
    Product,
    Recursive,
    Rigid,
    Scheme,
    Struct,
    Sum,
    Symbol,
    Tensor,
    Tuple,
    TwoChild,
    TypeDescriptor,
    Unknown,
    Variable,
    VariantDescriptor,
    read,
)
from typeloom.term import DEFAULT_SYMBOLS, Symbols, Ty
from typeloom._interface import differences_table

if TYPE_CHECKING:
    from typeloom.typing import Mode

__all__ = [
    "Applied",
    "Borrowed",
    "Bound",
    "Bundle",
    "BundleError",
    "Compat",
    "Const",
    "Container",
    "Declared",
    "Descriptor",
    "Difference",
    "Digest",
    "Enum",
    "FloorDiv",
    "Function",
    "Idx",
    "ImportedRoot",
    "Infer",
    "Instance",
    "Int",
    "Lifetime",
    "Max",
    "Member",
    "Min",
    "Mod",
    "Named",
    "Opaque",
    "Pool",
    "Primitive",
    "Product",
    "Recursive",
    "Rigid",
    "Root",
    "Scheme",
    "Struct",
    "Sum",
    "Symbol",
    "Tensor",
    "Tuple",
    "TwoChild",
    "TypeDescriptor",
    "Unknown",
    "Variable",
    "VariantDescriptor",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# In the class `Pool`, `list` and `tuple` are methods.
_Indices: TypeAlias = list[Idx]
_Described: TypeAlias = list[tuple[Digest, TypeDescriptor]]
_Fields: TypeAlias = Mapping[str, Idx] | Sequence[Idx]
_Roots: TypeAlias = Mapping[str, Idx] | Sequence[tuple[str, Idx]]
_Portable: TypeAlias = Iterable[tuple[str, TypeDescriptor]]


class ImportedRoot(Root):
    """A labelled type of a bundle in a pool.

    Attributes:
        label: the label.
        ty: the type in the pool.
        digest: the digest of the type.
    """

    __slots__ = ("ty",)

    def __init__(self, label: str, ty: Idx, digest: Digest) -> None:
        super().__init__(label, digest)
        self.ty = ty

    def __repr__(self) -> str:
        return f"<ImportedRoot {self.label}: {self.ty}>"


_ImportedRoots: TypeAlias = list[ImportedRoot]


class Difference:
    """One difference between two types.

    Attributes:
        path: the location, such as ``fields.id``.
        change: ``type``, ``count``, ``field-added``, ``field-removed``, ``variant-added`` or ``variant-removed``.
        old: the old side as text.
        new: the new side as text.
        breaks_backward: whether the new type does not fit where the old one is expected.
        breaks_forward: whether the old type does not fit where the new one is expected.
        message: the difference in one line.
    """

    __slots__ = ("breaks_backward", "breaks_forward", "change", "message", "new", "old", "path")

    def __init__(self, raw: tuple[str, str, str, str, bool, bool, str]) -> None:
        self.path, self.change, self.old, self.new, self.breaks_backward, self.breaks_forward, self.message = raw

    def __repr__(self) -> str:
        return f"<Difference {self.message}>"


class Compat:
    """The result of a comparison of two types. It is true if they are compatible.

    Attributes:
        direction: ``backward``, ``forward`` or ``full``.
        equal: whether the types are equal.
        compatible: whether the types fit in the direction.
        breaking: the differences that break the direction.
        harmless: all other differences.
        truncated: whether differences are missing, because there are too many.
    """

    __slots__ = ("breaking", "compatible", "direction", "equal", "harmless", "truncated")

    def __init__(self, direction: Mode, raw: _core._Comparison) -> None:
        self.direction: Mode = direction
        self.equal, self.compatible, self.truncated, breaking, harmless = raw
        self.breaking = [Difference(one) for one in breaking]
        self.harmless = [Difference(one) for one in harmless]

    def __bool__(self) -> bool:
        return self.compatible

    def __repr__(self) -> str:
        return "\n".join([*(one.message for one in [*self.breaking, *self.harmless]), self._verdict])

    @property
    def _verdict(self) -> str:
        return "equal" if self.equal else f"{'' if self.compatible else 'not '}{self.direction} compatible"

    def _repr_html_(self) -> str:
        return f"<p>{self._verdict}</p>{differences_table([*self.breaking, *self.harmless])}"


class Pool:
    """A set of interned types: equal types have equal ids.

    >>> import typeloom as tl
    >>> pool = tl.Pool()
    >>> n, three = pool.dim_symbol("N"), pool.dim_const(3)
    >>> user = pool.structure("User", {"id": pool.primitive("u64"), "embedding": pool.tensor(pool.primitive("f32"), [n, three])})
    >>> print(user)
    struct User { id: u64, embedding: Tensor<f32, [N, 3]> }
    >>> pool.kind(user), len(pool.children(user))
    ('struct', 2)

    The methods raise `TypeloomError` for an id of another pool, and for a type that is not well formed: the pool is then unchanged
    except for names. Several threads can use a pool; each method is one step.
    """

    __slots__ = ("_core",)

    def __init__(self) -> None:
        self._core = _core.Pool()

    def __len__(self) -> int:
        """The number of types."""
        return len(self._core)

    # Types and descriptors.

    def intern(self, ty: Descriptor[Idx]) -> Idx:
        """The type with these contents. Constants and schemes are normalized.

        >>> from typeloom.pool import Int, Pool, Primitive, Sum, Symbol
        >>> pool = Pool()
        >>> n = pool.intern(Symbol("N"))
        >>> print(pool.intern(Sum(1, ((2, n),))), pool.intern(Sum(3, ())) == pool.intern(Int(3)))
        2*N + 1 True

        Raises:
            TypeloomError: the type is not well formed, or refers to types of another pool.
            TypeError, ValueError, OverflowError: a field has no valid value.
        """
        return self._core.intern(ty._raw())

    def intern_graph(self, nodes: Sequence[Descriptor[Idx | Member]]) -> _Indices:
        """The types of nodes that refer to each other: the type of each node, or none on an error.

        >>> from typeloom.pool import Container, Member, Pool, TwoChild
        >>> pool = Pool()
        >>> number = pool.primitive("int")
        >>> nodes = [TwoChild("result", number, Member(1)), Container("list", Member(0))]
        >>> print(pool.intern_graph(nodes)[1])
        rec0 = list<result<int, rec0>>

        Raises:
            TypeloomError: a node is not well formed, or a group is too large.
        """
        return self._core.intern_graph([node._raw() for node in nodes])

    def get(self, ty: Idx) -> Descriptor[Idx]:
        """The contents of a type, whose references are types of this pool."""
        return read(self._core.get(ty))

    def describe(self, ty: Idx) -> TypeDescriptor:
        """The contents of a type, whose references are digests.

        Raises:
            TypeloomError: the type contains inference variables.
        """
        return cast("TypeDescriptor", read(self._core.describe(ty)))

    def describe_transitive(self, ty: Idx) -> _Described:
        """Digests and descriptors of a type and of all types that it reaches, each once: primitives in the order of their names,
        then every other type after those that it refers to.

        >>> import typeloom as tl
        >>> pool = tl.Pool()
        >>> described = pool.describe_transitive(pool.list(pool.map(pool.primitive("str"), pool.primitive("int"))))
        >>> [descriptor.tag for _, descriptor in described]
        ['int', 'str', 'map', 'list']
        >>> other = tl.Pool()
        >>> types = other.reconstruct(described)
        >>> print(types[described[-1][0]])
        list<map<str, int>>

        Raises:
            TypeloomError: the type contains inference variables.
        """
        return self.describe_all([ty])

    def describe_all(self, roots: Sequence[Idx]) -> _Described:
        """Digests and descriptors of types and of all types that they reach, as `describe_transitive`."""
        described = self._core.describe_all(roots)
        return [(str.__new__(Digest, digest), cast("TypeDescriptor", read(raw))) for digest, raw in described]

    def reconstruct(self, descriptors: _Portable) -> dict[Digest, Idx]:
        """Interns described types; returns the type of each by its digest.

        Raises:
            TypeloomError: a descriptor is not well formed, has another digest, or refers to a missing type. The pool is then
                unchanged.
        """
        types = self._core.reconstruct([(digest, ty._raw()) for digest, ty in descriptors])
        return {str.__new__(Digest, digest): ty for digest, ty in types}

    def digest(self, ty: Idx) -> Digest:
        """The digest of a type. It does not depend on the pool.

        Raises:
            TypeloomError: the type contains inference variables.
        """
        return str.__new__(Digest, self._core.digest(ty))

    def find_digest(self, digest: str) -> Idx | None:
        """The type with a digest, if the pool has it.

        >>> import typeloom as tl
        >>> pool = tl.Pool()
        >>> number = pool.primitive("int")
        >>> pool.find_digest(pool.digest(number)) == number, pool.find_digest("0" * 64)
        (True, None)

        Raises:
            ValueError: the text is no digest.
        """
        return self._core.find_digest(digest)

    def signature(self, ty: Idx) -> str:
        """The type on one line; also ``str(ty)``. A long one is shortened."""
        self._core.facts(ty)
        return str(ty)

    def tree(self, ty: Idx) -> str:
        """The type as an indented tree."""
        return self._core.tree(ty)

    def kind(self, ty: Idx) -> str:
        """The kind of a type, such as ``list``, ``struct`` or ``int``: the name of its tag."""
        return self._core.facts(ty)[0]

    def sort(self, ty: Idx) -> str:
        """``type``, ``region`` or ``const``."""
        return self._core.facts(ty)[1]

    def is_open(self, ty: Idx) -> bool:
        """Whether the type has variables that no binder in it binds."""
        return self._core.facts(ty)[2]

    def is_recursive(self, ty: Idx) -> bool:
        """Whether the type contains itself."""
        return self._core.facts(ty)[3]

    def children(self, ty: Idx) -> _Indices:
        """The types that a type refers to, in order."""
        return self._core.children(ty)

    # Bundles and comparisons.

    def export(self, roots: _Roots) -> Bundle:
        """A bundle of labelled types: a function of the labels and types, and not of the pool.

        Raises:
            TypeloomError: a label occurs twice or is no name, or a type has free or inference variables.
        """
        return self.export_thin(roots, ())

    def export_thin(self, roots: _Roots, receiver_has: str | Iterable[str]) -> Bundle:
        """A bundle without the types that the receiver has.

        >>> import typeloom as tl
        >>> pool = tl.Pool()
        >>> number = pool.primitive("int")
        >>> bundle = pool.export_thin({"numbers": pool.list(number)}, [pool.digest(number)])
        >>> bundle.imports == [pool.digest(number)]
        True

        Args:
            roots: the labelled types.
            receiver_has: the digests of the types that the receiver has.

        Raises:
            TypeloomError: as `export`.
        """
        items = roots.items() if isinstance(roots, Mapping) else roots
        return Bundle(self._core.export(_list(items), _list(receiver_has)))

    def import_(self, bundle: Bundle | bytes) -> _ImportedRoots:
        """Interns the types of a bundle; returns its labelled types in order of labels.

        Everything is verified, and the digests are recomputed.

        >>> import typeloom as tl
        >>> interface = tl.describe('''<ir_version: 10, opset_import: ["" : 21]>
        ... g (float[N] x) => (y) { y = Relu(x) }''')
        >>> [root] = tl.Pool().import_(interface.to_bundle())
        >>> root.label, root.digest == interface.digest
        ('main', True)

        Raises:
            BundleError: the bundle is invalid, or omits types that the pool does not have. The pool is then unchanged.
        """
        roots, error = self._core.import_(bytes(bundle))
        if error is not None:
            raise BundleError(*error)
        return [ImportedRoot(label, ty, str.__new__(Digest, digest)) for label, ty, digest in roots]

    def compat(self, old: Idx, new: Idx, direction: Mode = "backward") -> Compat:
        """Compares two types.

        >>> import typeloom as tl
        >>> pool = tl.Pool()
        >>> pool.compat(pool.primitive("int"), pool.primitive("str"))
        (the type itself): `int` -> `str` (incompatible)
        not backward compatible

        Args:
            old: the type before a change.
            new: the type after it.
            direction: ``backward``: the new type fits where the old one is expected; ``forward``: the old one fits where the new
                one is expected; ``full``: both.
        """
        return Compat(direction, self._core.compat(old, new, direction))

    # Terms.

    def intern_term(self, term: Ty) -> Idx:
        """The portable type of a term; see `typeloom.term`.

        Raises:
            TypeloomError: the term contains inference variables or errors, or a name that is none in a pool.
        """
        return self._core.intern_term(term._core)

    def term(self, ty: Idx, symbols: Symbols | None = None) -> Ty:
        """The term of a type.

        >>> import typeloom as tl
        >>> pool = tl.Pool()
        >>> pool.term(pool.intern_term(tl.term.parse("fn(&'a str) -> Vec<u8>")))
        <Ty fn(&'a str) -> Vec<u8>>

        Args:
            ty: the type.
            symbols: the table of the names in the term; ``None`` is the table of `typeloom.term.parse`.

        Raises:
            TypeloomError: the type has a definition, such as a struct: terms name definitions and do not contain them.
        """
        symbols = DEFAULT_SYMBOLS if symbols is None else symbols
        return Ty(self._core.term(ty, symbols), symbols)

    # Kinds of types.

    def primitive(self, tag: str) -> Idx:
        """A `Primitive`, such as ``int``, ``str`` or ``f32``."""
        return self.intern(Primitive(tag))

    def container(self, tag: str, child: Idx) -> Idx:
        """A `Container`."""
        return self.intern(Container(tag, child))

    def option(self, child: Idx) -> Idx:
        """An option."""
        return self.container("option", child)

    def map(self, key: Idx, value: Idx) -> Idx:
        """A map."""
        return self.intern(TwoChild("map", key, value))

    def result(self, ok: Idx, error: Idx) -> Idx:
        """A result."""
        return self.intern(TwoChild("result", ok, error))

    def borrowed(self, inner: Idx, lifetime: Idx) -> Idx:
        """A `Borrowed` value."""
        return self.intern(Borrowed(inner, lifetime))

    def lifetime(self, name: str) -> Idx:
        """A `Lifetime`, without the apostrophe."""
        return self.intern(Lifetime(name))

    def function(self, params: Iterable[Idx], returns: Idx) -> Idx:
        """A `Function`."""
        return self.intern(Function(_tuple(params), returns))

    def structure(self, name: str, fields: _Fields) -> Idx:
        """A `Struct` with named or positional fields."""
        return self.intern(Struct(name, *_fields_of(fields)))

    def enumeration(self, name: str, variants: Mapping[str, _Fields]) -> Idx:
        """An `Enum`; each variant has named or positional fields.

        >>> import typeloom as tl
        >>> pool = tl.Pool()
        >>> print(pool.enumeration("Maybe", {"Some": [pool.primitive("int")], "None": []}))
        enum Maybe { Some(int), None }
        """
        described = (VariantDescriptor(variant, *_fields_of(fields)) for variant, fields in variants.items())
        return self.intern(Enum(name, _tuple(described)))

    def applied(self, name: str, args: Iterable[Idx]) -> Idx:
        """An `Applied` constructor."""
        return self.intern(Applied(name, _tuple(args)))

    def opaque(self, name: str) -> Idx:
        """An `Opaque` type."""
        return self.intern(Opaque(name))

    def named(self, name: str) -> Idx:
        """A `Named` type."""
        return self.intern(Named(name))

    def rigid(self, name: str) -> Idx:
        """A `Rigid` variable."""
        return self.intern(Rigid(name))

    def declared(self, name: str, params: str | Iterable[str], body: Idx) -> Idx:
        """A `Declared` type."""
        return self.intern(Declared(name, _tuple(params), body))

    def instance(self, declaration: Idx, args: Iterable[Idx]) -> Idx:
        """An `Instance` of a declaration."""
        return self.intern(Instance(declaration, _tuple(args)))

    def scheme(self, vars: str | Iterable[str], body: Idx) -> Idx:
        """A `Scheme`.

        >>> import typeloom as tl
        >>> pool = tl.Pool()
        >>> item = pool.bound(0, 0, "type")
        >>> print(pool.scheme(["type"], pool.function([pool.list(item)], pool.option(item))))
        forall T. (list<T>) -> option<T>
        """
        return self.intern(Scheme(_tuple(vars), body))

    def bound(self, depth: int, index: int, sort: str) -> Idx:
        """A `Bound` variable."""
        return self.intern(Bound(depth, index, sort))

    def infer(self, number: int, sort: str) -> Idx:
        """An `Infer` variable."""
        return self.intern(Infer(number, sort))

    def tensor(self, element: Idx, dims: Iterable[Idx]) -> Idx:
        """A `Tensor` of known rank."""
        return self.intern(Tensor(element, _tuple(dims)))

    def tensor_unranked(self, element: Idx) -> Idx:
        """A `Tensor` of unknown rank."""
        return self.intern(Tensor(element, None))

    def dim_const(self, value: int) -> Idx:
        """An integer extent."""
        return self.intern(Int(value))

    def dim_symbol(self, name: str) -> Idx:
        """A named extent."""
        return self.intern(Symbol(name))

    def dim_unknown(self) -> Idx:
        """An unknown extent."""
        return self.intern(Unknown())

    def dim_add(self, terms: Iterable[Idx]) -> Idx:
        """A sum of extents."""
        return self.intern(Sum(0, _tuple((1, term) for term in terms)))

    def dim_scale(self, factor: int, dim: Idx) -> Idx:
        """A multiple of an extent."""
        return self.intern(Sum(0, ((factor, dim),)))

    def dim_mul(self, factors: Iterable[Idx]) -> Idx:
        """A product of extents."""
        return self.intern(Product(_tuple(factors)))

    def dim_floor_div(self, dividend: Idx, divisor: Idx) -> Idx:
        """A quotient of extents rounded down."""
        return self.intern(FloorDiv(dividend, divisor))

    def dim_mod(self, dividend: Idx, divisor: Idx) -> Idx:
        """The remainder of the quotient that is rounded down."""
        return self.intern(Mod(dividend, divisor))

    def dim_min(self, dims: Iterable[Idx]) -> Idx:
        """The smallest of some extents."""
        return self.intern(Min(_tuple(dims)))

    def dim_max(self, dims: Iterable[Idx]) -> Idx:
        """The largest of some extents."""
        return self.intern(Max(_tuple(dims)))

    # The last two: their names are those of types in Python, which the methods above need.

    def list(self, child: Idx) -> Idx:
        """A list."""
        return self.container("list", child)

    def tuple(self, elements: Iterable[Idx]) -> Idx:
        """A `Tuple`."""
        return self.intern(Tuple(_tuple(elements)))

    def __repr__(self) -> str:
        return f"<Pool of {len(self)} types>"


def _tuple(items: Iterable[Any]) -> tuple[Any, ...]:
    """The items as a tuple; in the class `Pool`, `tuple` is a method."""
    return (items,) if isinstance(items, str) else tuple(items)


def _list(items: Iterable[Any]) -> list[Any]:
    """The items as a list; in the class `Pool`, `list` is a method."""
    return [items] if isinstance(items, str) else list(items)


def _fields_of(fields: _Fields) -> tuple[tuple[str, ...], tuple[Idx, ...]]:
    if isinstance(fields, Mapping):
        return tuple(fields), tuple(fields.values())
    return (), tuple(fields)
