"""Operators of other domains: descriptions as text, and shape rules in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeAlias, Union

from typeloom import _core
from typeloom._errors import TypeloomError
from typeloom._types import Dim, Type

__all__ = ["Operator", "Operators", "RuleContext", "RuleInput", "operator"]

_HEADER = "typeloom-operators 1"


class RuleInput(Type):
    """The type of an input of a node in a rule.

    An extent without a name has a name in the rule that begins with ``ʔ``. It cannot be used outside of the rule.
    """

    __slots__ = ("elements",)
    elements: tuple[Dim | None, ...] | None
    """The elements of an integer tensor of rank 0 or 1, if they are known; ``None`` for an unknown one."""

    @classmethod
    def _of_rule(cls, raw: tuple[str | None, Sequence[str] | None, Sequence[str | None] | None]) -> RuleInput:
        element, dims, elements = raw
        shape = None if dims is None else tuple(_plain(dim) for dim in dims)
        name = element or "tensor"
        if shape is None:
            text = f"{name}[...]"
        else:
            text = f"{name}[{', '.join(map(str, shape))}]" if shape else name
        known = cls.__new__(cls)
        known._raw, known.origin, known.is_assumed = ("tensor", None, element, shape, None, text), None, False
        known.elements = None if elements is None else tuple(None if one is None else Dim(one) for one in elements)
        return known


def _plain(dim: str) -> int | str:
    return int(dim) if dim.isdecimal() else dim


_Shape: TypeAlias = Union[Type, Sequence[Union[Dim, int, str, None]], None]


class Outputs:
    """The outputs of a node in a rule: assign a type or a shape by position, counted from 0."""

    __slots__ = ("_shapes",)

    def __init__(self, count: int) -> None:
        self._shapes: list[list[str | None] | None] = [None] * count

    def __setitem__(self, index: int, shape: _Shape) -> None:
        if isinstance(shape, str):
            raise TypeError("assign a type or a sequence of dims, not a text")
        dims = shape.shape if isinstance(shape, Type) else shape
        self._shapes[index] = None if dims is None else [None if dim is None else str(Dim(dim)) for dim in dims]

    def __len__(self) -> int:
        return len(self._shapes)

    def __iter__(self) -> Iterator[list[str | None] | None]:
        return iter(self._shapes)


class RuleContext:
    """A node to which a rule is applied.

    Attributes:
        inputs: the types of the inputs; ``None`` for an omitted one.
        outputs: assign the types or shapes of the outputs. A rule that leaves an output out states nothing about it. Element
            types come from the signature.
        attributes: numbers and strings in attributes, or their defaults, by name.
    """

    __slots__ = ("attributes", "inputs", "outputs")

    def __init__(
        self, inputs: list[RuleInput | None], outputs: Outputs, attributes: dict[str, Any]
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.attributes = attributes


Rule: TypeAlias = Callable[[RuleContext], object]


def _runner(rule: Rule) -> Callable[..., Any]:
    """The function that the extension module calls with the facts about a node."""

    def run(inputs: list[Any], attributes: dict[str, Any], outputs: int) -> Any:
        known = [None if raw is None else RuleInput._of_rule(raw) for raw in inputs]
        context = RuleContext(known, Outputs(outputs), attributes)
        try:
            rule(context)
            _check_symbols(context)
        except Exception as error:
            return [None] * outputs, f"{_message(error)} ({_line(error.__traceback__, rule)})"
        return list(context.outputs), None

    return run


def _check_symbols(context: RuleContext) -> None:
    """A rule computes from its inputs: a symbol of another source would equate extents that differ."""
    known = {symbol for ty in context.inputs if ty is not None for symbol in ty.symbols}
    for ty in context.inputs:
        for element in (ty.elements if ty is not None else None) or ():
            known.update(element.symbols if element is not None else ())
    for shape in context.outputs:
        for dim in shape or ():
            for symbol in Dim(dim).symbols if dim is not None else ():
                if symbol not in known:
                    raise ValueError(f"no input of the node has the symbol `{symbol}`")


def _message(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, (ValueError, TypeloomError)) and text else f"{type(error).__name__}: {text}"


def _line(trace: TracebackType | None, rule: Rule) -> str:
    """The innermost line of the file that defines the rule."""
    import traceback

    code: Any = getattr(rule, "__code__", None)
    file = None if code is None else code.co_filename
    frames = [frame for frame in traceback.extract_tb(trace) if frame.filename == file]
    if frames:
        return f"{frames[-1].filename}:{frames[-1].lineno}"
    return "the rule" if code is None else f"{file}:{code.co_firstlineno}"


class Operator:
    """An operator that a Python function defines; see `operator`."""

    __slots__ = ("domain", "name", "rule", "text", "version")

    def __init__(self, domain: str, name: str, version: int, text: str, rule: Rule) -> None:
        self.domain = domain
        self.name = name
        self.version = version
        self.text = text
        self.rule = rule

    def __call__(self, context: RuleContext) -> object:
        """Applies the rule."""
        return self.rule(context)

    def __repr__(self) -> str:
        return f"<Operator {self.domain}.{self.name}>"


def operator(
    domain: str,
    name: str,
    *,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    types: Mapping[str, str] | None = None,
    attributes: Mapping[str, str] | None = None,
    version: int = 1,
) -> Callable[[Rule], Operator]:
    """Defines an operator by its signature and a Python function that computes the shapes of its outputs.

    >>> import typeloom as tl
    >>> @tl.operator("com.example", "Fold", inputs={"data": "T"}, outputs={"folded": "T"},
    ...              types={"T": "tensor(float+float16)"}, attributes={"width": "int required"})
    ... def fold(cx):
    ...     data, width = cx.inputs[0], cx.attributes["width"]
    ...     if data.rank is not None:
    ...         batch, length = data.shape
    ...         cx.outputs[0] = data.with_shape(batch, length // width, width)
    >>> report = tl.check('''<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
    ... g (float[N, 4*S] x) => (y) { y = com.example.Fold <width = 4> (x) }''', operators=tl.Operators(fold))
    >>> report.values["y"]
    Type('float[N, S, 4]')

    A rule is a pure function of what it reads: the solver keeps its results, and calls it in any order, on any thread. It
    computes with symbolic dims. An exception is a diagnostic at the node; of a ``ValueError`` it has the message alone. The
    diagnostic cites the line of the rule.

    Args:
        domain: the domain of the operator.
        name: the operator.
        inputs: the types of the inputs by name, as in ``docs/operator-files.md``: a type variable, or ``tensor(float)``; with
            ``optional`` or ``variadic 1`` after it.
        outputs: the types of the outputs by name.
        types: the type variables by name, such as ``tensor(float+float16)``.
        attributes: the attributes by name, such as ``int required`` or ``int = 0``.
        version: the first version of the domain with the operator.

    Raises:
        TypeloomError: `Operators` raises it if the signature is wrong.
    """
    lines = [_HEADER, f"domain {domain} {version}", f"op {name} {version}"]
    for keyword, entries in (("type", types), ("in", inputs), ("out", outputs), ("attr", attributes)):
        lines += [f"  {keyword} {key} {value}" for key, value in (entries or {}).items()]
    text = "\n".join(lines) + "\n"

    def define(rule: Rule) -> Operator:
        return Operator(domain, name, version, text, rule)

    return define


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
        *sources: descriptions of operators in the format of ``docs/operator-files.md``, and operators that Python functions
            define (`operator`). A later one takes precedence. Operators do not change: `with_rule` returns new ones.

    Raises:
        TypeloomError: a text is not in the format; the message contains the line.
    """

    __slots__ = ("_core", "_sources")

    def __init__(self, *sources: str | Operator) -> None:
        self._sources: tuple[tuple[str, tuple[tuple[str, str, Rule], ...]], ...] = tuple(
            (source, ()) if isinstance(source, str) else (source.text, ((source.domain, source.name, source.rule),))
            for source in sources
        )
        self._build()

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes; functions that are defined in a program need a pickler for functions, as Ray's."""
        return (_restored, (self._sources,))

    def _build(self) -> None:
        self._core = _core.Operators(
            [
                (text, [(domain, name, _runner(rule)) for domain, name, rule in rules])
                for text, rules in self._sources
            ]
        )

    def with_rule(self, domain: str, name: str, rule: Rule) -> Operators:
        """The same operators, with a Python function in place of the shape lines of one of them.

        Args:
            domain: the domain of the operator.
            name: the operator, in all its versions.
            rule: the function; see `operator`.

        Raises:
            TypeloomError: no text describes the operator.
        """
        error: TypeloomError | None = None
        for index in reversed(range(len(self._sources))):
            text, rules = self._sources[index]
            copy = Operators.__new__(Operators)
            copy._sources = (*self._sources[:index], (text, (*rules, (domain, name, rule))), *self._sources[index + 1 :])
            try:
                copy._build()
            except TypeloomError as problem:
                error = problem
            else:
                return copy
        raise error or TypeloomError(f"`{domain}` has no operator `{name}`")

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


def _restored(sources: Any) -> Operators:
    operators = Operators.__new__(Operators)
    operators._sources = sources
    operators._build()
    return operators
