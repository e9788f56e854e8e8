"""Contents of one type: the descriptors of `typeloom.pool`.

A class has the name and the fields of the variant in Rust. `_raw` and `read` convert descriptors to and from the dictionaries of
the extension module, whose fields are those of the JSON view in `docs/bundle-format.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Generic, NamedTuple, NoReturn, TypeAlias, TypeVar, cast

__all__ = [
    "Applied",
    "Borrowed",
    "Bound",
    "Const",
    "Container",
    "Declared",
    "Descriptor",
    "Digest",
    "Enum",
    "FloorDiv",
    "Function",
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
    "Primitive",
    "Product",
    "Recursive",
    "Rigid",
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

R = TypeVar("R", covariant=True)
_Raw: TypeAlias = dict[str, Any]


class Digest(str):
    """The identity of a type: a BLAKE3 digest as 64 hexadecimal digits.

    >>> import typeloom as tl
    >>> pool = tl.Pool()
    >>> digest = pool.digest(pool.primitive("int"))
    >>> digest == tl.pool.Digest(digest.upper()), len(bytes(digest))
    (True, 32)

    Raises:
        ValueError: the text is no such digest.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Digest:
        digits = text.lower()
        if len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
            raise ValueError(f"a digest has 64 hexadecimal digits: {text!r}")
        return super().__new__(cls, digits)

    def __bytes__(self) -> bytes:
        return bytes.fromhex(self)

    def __repr__(self) -> str:
        return f"Digest({str(self)!r})"


@dataclass(frozen=True, slots=True)
class Member:
    """A reference to a node of a recursive group.

    Attributes:
        number: the number of the node, from 0.
    """

    number: int


@dataclass(frozen=True, slots=True)
class Descriptor(Generic[R]):
    """Contents of one type, with references to other types: the base of all descriptors.

    The references of a pool's own descriptors are `Idx`, and those of portable ones `Digest`. Descriptors are equal if
    their contents are, and hashable.

    >>> import typeloom as tl
    >>> pool = tl.Pool()
    >>> ints = pool.intern(tl.pool.Container("list", pool.intern(tl.pool.Primitive("int"))))
    >>> pool.get(ints)
    Container(tag='list', child=<Idx int>)
    >>> pool.describe(ints).child == pool.digest(pool.primitive("int"))
    True
    """

    def _raw(self) -> _Raw:
        for cls in type(self).__mro__:
            if cls in _FORMS:
                kind, fields = _FORMS[cls]
                return {"kind": kind, **{name: codec.write(getattr(self, name)) for name, codec in fields.items()}}
        raise TypeError("a descriptor is an instance of one of the classes of typeloom.pool, such as Primitive")


TypeDescriptor: TypeAlias = Descriptor[Digest]
"""A portable descriptor."""


def _reference(reference: object) -> object:
    return {"member": reference.number} if isinstance(reference, Member) else reference


def _references(references: Sequence[object]) -> list[object]:
    return [_reference(reference) for reference in references]


def _fields(names: Sequence[str], types: Sequence[object]) -> list[_Raw]:
    if names and len(names) != len(types):
        raise ValueError("either all fields have a name, or none")
    fields: list[_Raw] = [{"type": _reference(ty)} for ty in types]
    for field, name in zip(fields, names, strict=False):
        field["name"] = name
    return fields


@dataclass(frozen=True, slots=True)
class Primitive(Descriptor[NoReturn]):
    """A primitive type, such as ``int``, ``str``, ``f32`` or ``unit``; `docs/bundle-format.md` lists them.

    Attributes:
        tag: the name.
    """

    tag: str

    def _raw(self) -> _Raw:
        return {"kind": self.tag}


@dataclass(frozen=True, slots=True)
class Container(Descriptor[R]):
    """A type with one argument.

    Attributes:
        tag: ``list``, ``option``, ``set``, ``channel``, ``range``, ``iterator`` or ``double_ended_iterator``.
        child: the type of the content.
    """

    tag: str
    child: R

    def _raw(self) -> _Raw:
        return {"kind": self.tag, "of": _reference(self.child)}


@dataclass(frozen=True, slots=True)
class TwoChild(Descriptor[R]):
    """A map or a result.

    Attributes:
        tag: ``map`` or ``result``.
        child1: the type of the keys, or of a success.
        child2: the type of the values, or of an error.
    """

    tag: str
    child1: R
    child2: R

    def _raw(self) -> _Raw:
        return {"kind": self.tag, "of": _references((self.child1, self.child2))}


@dataclass(frozen=True, slots=True)
class Borrowed(Descriptor[R]):
    """A borrowed value.

    Attributes:
        inner: the type of the value.
        lifetime: a `Lifetime`, or a variable of the sort ``region``.
    """

    inner: R
    lifetime: R


@dataclass(frozen=True, slots=True)
class Function(Descriptor[R]):
    """A function.

    Attributes:
        params: the types of the parameters.
        returns: the type of the result.
    """

    params: tuple[R, ...]
    returns: R


@dataclass(frozen=True, slots=True)
class Tuple(Descriptor[R]):
    """A tuple.

    Attributes:
        elements: the types of the elements.
    """

    elements: tuple[R, ...]


@dataclass(frozen=True, slots=True)
class Struct(Descriptor[R]):
    """A nominal product.

    Attributes:
        name: the name.
        field_names: the names of the fields; empty if the fields are positional.
        field_types: the types of the fields.
    """

    name: str
    field_names: tuple[str, ...]
    field_types: tuple[R, ...]

    def _raw(self) -> _Raw:
        return {"kind": "struct", "name": self.name, "fields": _fields(self.field_names, self.field_types)}


@dataclass(frozen=True, slots=True)
class VariantDescriptor(Generic[R]):
    """A variant of an enum.

    Attributes:
        name: the name.
        field_names: the names of the fields; empty if the fields are positional.
        field_types: the types of the fields.
    """

    name: str
    field_names: tuple[str, ...] = ()
    field_types: tuple[R, ...] = ()

    def _raw(self) -> _Raw:
        return {"name": self.name, "fields": _fields(self.field_names, self.field_types)}


@dataclass(frozen=True, slots=True)
class Enum(Descriptor[R]):
    """A nominal sum.

    Attributes:
        name: the name.
        variants: the variants, whose names differ.
    """

    name: str
    variants: tuple[VariantDescriptor[R], ...]


@dataclass(frozen=True, slots=True)
class Applied(Descriptor[R]):
    """A constructor that is known by name only, and its arguments.

    Attributes:
        name: the name.
        args: arguments of any sort.
    """

    name: str
    args: tuple[R, ...]


@dataclass(frozen=True, slots=True)
class Opaque(Descriptor[NoReturn]):
    """A nominal type with a hidden definition.

    Attributes:
        name: the name.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Declared(Descriptor[R]):
    """A nominal declaration with its definition, in which the parameters are bound.

    Attributes:
        name: the name.
        params: the sort of each parameter: ``type``, ``region`` or ``const``.
        body: the definition.
    """

    name: str
    params: tuple[str, ...]
    body: R


@dataclass(frozen=True, slots=True)
class Instance(Descriptor[R]):
    """A declaration and arguments for its parameters.

    Attributes:
        declaration: a `Declared`.
        args: the arguments.
    """

    declaration: R
    args: tuple[R, ...]


@dataclass(frozen=True, slots=True)
class Named(Descriptor[NoReturn]):
    """A name that is not resolved.

    Attributes:
        name: the name.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Rigid(Descriptor[NoReturn]):
    """A type parameter that is known by its identity only.

    Attributes:
        name: the name.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Scheme(Descriptor[R]):
    """A type that is generic over variables.

    Attributes:
        vars: the sort of each variable: ``type``, ``region`` or ``const``.
        body: the type in which the variables are bound.
    """

    vars: tuple[str, ...]
    body: R


@dataclass(frozen=True, slots=True)
class Variable(Descriptor[NoReturn]):
    """A variable: the base of `Bound` and `Infer`."""


@dataclass(frozen=True, slots=True)
class Bound(Variable):
    """A variable of an enclosing scheme or declaration.

    Attributes:
        depth: the number of binders between the variable and its own; 0 is the nearest.
        index: the number of the variable in its binder, from 0.
        sort: ``type``, ``region`` or ``const``.
    """

    depth: int
    index: int
    sort: str


@dataclass(frozen=True, slots=True)
class Infer(Variable):
    """A variable of an unfinished inference. It has no digest.

    Attributes:
        number: the number of the variable.
        sort: ``type``, ``region`` or ``const``.
    """

    number: int
    sort: str


@dataclass(frozen=True, slots=True)
class Lifetime(Descriptor[NoReturn]):
    """A named lifetime.

    Attributes:
        name: the name without the apostrophe.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Tensor(Descriptor[R]):
    """A tensor.

    Attributes:
        element: the type of the elements.
        dims: the extents, or ``None`` for an unknown rank.
    """

    element: R
    dims: tuple[R, ...] | None

    def _raw(self) -> _Raw:
        element = _reference(self.element)
        if self.dims is None:
            return {"kind": "tensor_unranked", "element": element}
        return {"kind": "tensor", "element": element, "dims": _references(self.dims)}


@dataclass(frozen=True, slots=True)
class Const(Descriptor[R]):
    """An extent or another constant: the base of `Int`, `Symbol`, `Sum` and the other operations.

    A pool keeps constants in normal form.
    """


@dataclass(frozen=True, slots=True)
class Int(Const[NoReturn]):
    """An integer.

    Attributes:
        value: the integer, of 64 bits.
    """

    value: int


@dataclass(frozen=True, slots=True)
class Symbol(Const[NoReturn]):
    """A named extent.

    Attributes:
        name: the name.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Sum(Const[R]):
    """An integer and multiples of monomials.

    Attributes:
        constant: the integer.
        terms: the coefficient and the monomial of each term.
    """

    constant: int
    terms: tuple[tuple[int, R], ...]


@dataclass(frozen=True, slots=True)
class _Operation(Const[R]):
    """Several operands.

    Attributes:
        of: the operands.
    """

    of: tuple[R, ...]


@dataclass(frozen=True, slots=True)
class Product(_Operation[R]):
    """A product.

    Attributes:
        of: the factors.
    """


@dataclass(frozen=True, slots=True)
class Min(_Operation[R]):
    """A minimum.

    Attributes:
        of: the operands.
    """


@dataclass(frozen=True, slots=True)
class Max(_Operation[R]):
    """A maximum.

    Attributes:
        of: the operands.
    """


@dataclass(frozen=True, slots=True)
class FloorDiv(Const[R]):
    """A quotient rounded down.

    Attributes:
        dividend: the dividend.
        divisor: the divisor.
    """

    dividend: R
    divisor: R

    def _raw(self) -> _Raw:
        return {"kind": "floor_div", "of": _references((self.dividend, self.divisor))}


@dataclass(frozen=True, slots=True)
class Mod(Const[R]):
    """The remainder of a quotient that is rounded down.

    Attributes:
        dividend: the dividend.
        divisor: the divisor.
    """

    dividend: R
    divisor: R

    def _raw(self) -> _Raw:
        return {"kind": "mod", "of": _references((self.dividend, self.divisor))}


@dataclass(frozen=True, slots=True)
class Unknown(Const[NoReturn]):
    """An unknown extent, which equals no other one."""


@dataclass(frozen=True, slots=True)
class Recursive(Descriptor[NoReturn]):
    """A member of a recursive group, with the whole group. Only portable descriptors have it: in a pool, members refer to each other.

    Attributes:
        group: the members in canonical order, whose references are `Digest` and `Member`.
        member: the number of the member, from 0.
    """

    group: tuple[Descriptor[Digest | Member], ...]
    member: int


def _read_reference(raw: Any) -> Any:
    if isinstance(raw, str):
        return str.__new__(Digest, raw)
    return Member(cast("_Raw", raw)["member"]) if isinstance(raw, dict) else raw


def _all(raw: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_read_reference(reference) for reference in raw)


def _read_fields(raw: Sequence[_Raw]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    names = tuple(field["name"] for field in raw if "name" in field)
    return names, tuple(_read_reference(field["type"]) for field in raw)


def _variant(raw: _Raw) -> VariantDescriptor[Any]:
    return VariantDescriptor(raw["name"], *_read_fields(raw["fields"]))


class _Codec(NamedTuple):
    """Conversion of a field to the value in the dictionary, and back."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _each(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> _Codec:
    def write_all(values: Sequence[Any]) -> list[Any]:
        return [write(value) for value in values]

    def read_all(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(read(value) for value in values)

    return _Codec(write_all, read_all)


def _same(value: Any) -> Any:
    return value


def _term(term: tuple[int, Any]) -> tuple[int, object]:
    return term[0], _reference(term[1])


def _read_term(term: tuple[int, Any]) -> tuple[int, Any]:
    return term[0], _read_reference(term[1])


def read(raw: _Raw) -> Descriptor[Any]:
    """The descriptor with the dictionary of the extension module."""
    kind: str = raw["kind"]
    if kind in _CLASSES:
        cls, fields = _CLASSES[kind]
        return cls(*(codec.read(raw[name]) for name, codec in fields.items()))
    match kind:
        case "struct":
            return Struct(raw["name"], *_read_fields(raw["fields"]))
        case "tensor" | "tensor_unranked":
            dims = _all(raw["dims"]) if kind == "tensor" else None
            return Tensor(_read_reference(raw["element"]), dims)
        case "floor_div":
            return FloorDiv(*_all(raw["of"]))
        case "mod":
            return Mod(*_all(raw["of"]))
        case "map" | "result":
            return TwoChild(kind, *_all(raw["of"]))
        case _:
            return Container(kind, _read_reference(raw["of"])) if "of" in raw else Primitive(kind)


_PLAIN = _Codec(_same, _same)
_PLAINS = _each(_same, _same)
_ONE = _Codec(_reference, _read_reference)
_MANY = _each(_reference, _read_reference)
_TERMS = _each(_term, _read_term)
_VARIANTS = _each(methodcaller("_raw"), _variant)
_GROUP = _each(methodcaller("_raw"), read)

#: The kind of each class, and its fields in order, whose names are the keys of the dictionary. Other classes have a `_raw` of their own.
_FORMS: dict[type[Descriptor[Any]], tuple[str, dict[str, _Codec]]] = {
    Borrowed: ("borrowed", {"inner": _ONE, "lifetime": _ONE}),
    Function: ("function", {"params": _MANY, "returns": _ONE}),
    Tuple: ("tuple", {"elements": _MANY}),
    Enum: ("enum", {"name": _PLAIN, "variants": _VARIANTS}),
    Applied: ("applied", {"name": _PLAIN, "args": _MANY}),
    Opaque: ("opaque", {"name": _PLAIN}),
    Declared: ("declared", {"name": _PLAIN, "params": _PLAINS, "body": _ONE}),
    Instance: ("instance", {"declaration": _ONE, "args": _MANY}),
    Named: ("named", {"name": _PLAIN}),
    Rigid: ("rigid", {"name": _PLAIN}),
    Scheme: ("scheme", {"vars": _PLAINS, "body": _ONE}),
    Bound: ("bound", {"depth": _PLAIN, "index": _PLAIN, "sort": _PLAIN}),
    Infer: ("infer", {"number": _PLAIN, "sort": _PLAIN}),
    Lifetime: ("lifetime", {"name": _PLAIN}),
    Int: ("const", {"value": _PLAIN}),
    Symbol: ("symbol", {"name": _PLAIN}),
    Sum: ("sum", {"constant": _PLAIN, "terms": _TERMS}),
    Product: ("product", {"of": _MANY}),
    Min: ("min", {"of": _MANY}),
    Max: ("max", {"of": _MANY}),
    Unknown: ("unknown", {}),
    Recursive: ("recursive", {"group": _GROUP, "member": _PLAIN}),
}
_CLASSES = {kind: (cls, fields) for cls, (kind, fields) in _FORMS.items()}
