"""Reports: the outcome of a check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

from typeloom import _core
from typeloom._errors import ModelError
from typeloom._html import code, pre, table
from typeloom._types import Origin, Type

if TYPE_CHECKING:
    from typeloom.registry import Verdict as Comparison

__all__ = ["Coverage", "Diagnostic", "Label", "Location", "PlacedNode", "Placement", "Report", "Values"]


Verdict = Literal["runs", "fallback", "rejected", "undecided"]
Place = Literal["device", "cpu", "rejected", "undecided"]
Severity = Literal["error", "warning"]

_T = TypeVar("_T")


class Label:
    """A message below a part of a printed node.

    Attributes:
        part: the part, such as the name of an input.
        text: the message; may be empty.
        primary: whether the part is the cause of the problem, rather than context.
    """

    __slots__ = ("part", "primary", "text")

    def __init__(self, part: str, text: str, primary: bool) -> None:
        self.part = part
        self.text = text
        self.primary = primary

    def __repr__(self) -> str:
        return f"<Label {self.part}: {self.text}>"


class Location:
    """The location of a problem in a model.

    Attributes:
        raw: the location as in ``typeloom check --format json``.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, Location) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self.raw))

    def __repr__(self) -> str:
        return f"<Location {self.raw}>"


class Diagnostic:
    """A problem of a model.

    Attributes:
        code: the stable identifier, such as ``dim-mismatch``; `typeloom.explain` explains it.
        severity: ``error`` or ``warning``.
        message: the problem in one sentence.
        value: the value that the problem concerns, if any.
        notes: further explanation.
        help: a proposed repair, if there is one.
        fix: the repair as data, if a program can make it.
        target: the target that rejects the model or leaves it undecided; `None` for a problem of the model itself.
        text: the problem as the command prints it, with the node and its labels.
    """

    __slots__ = ("_raw", "code", "fix", "help", "message", "notes", "severity", "target", "text", "value")

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw
        self.code: str = raw["code"]
        self.severity: Severity = raw["severity"]
        self.message: str = raw["message"]
        self.value: str | None = raw["value"]
        self.notes: list[str] = raw["notes"]
        self.help: str | None = raw.get("help")
        self.fix: dict[str, Any] | None = raw.get("fix")
        self.target: str | None = raw.get("target")
        self.text: str = raw["text"]

    @property
    def is_error(self) -> bool:
        """Whether the model cannot be used as it is."""
        return self.severity == "error"

    @property
    def location(self) -> Location:
        """The location of the problem."""
        return Location(self._raw["place"])

    @property
    def also(self) -> list[Location]:
        """Other locations of the same problem with the same cause."""
        return [Location(raw) for raw in self._raw.get("also", ())]

    @property
    def node(self) -> str | None:
        """The printed node or declaration that shows the problem."""
        snippets = self._raw["snippets"]
        return snippets[0]["text"] if snippets else None

    @property
    def labels(self) -> list[Label]:
        """The messages below parts of the printed nodes. They name the origin of each side of a contradiction."""
        labels: list[Label] = []
        for snippet in self._raw["snippets"]:
            text = snippet["text"].encode()
            for label in snippet["labels"]:
                part = text[label["start"] : label["end"]].decode(errors="replace")
                labels.append(Label(part, label["text"], label["primary"]))
        return labels

    @property
    def values(self) -> list[str]:
        """The labelled parts of the printed nodes, mostly names of values; see `labels`."""
        return list(dict.fromkeys(label.part for label in self.labels))

    @property
    def origin(self) -> str | None:
        """The line of the program that created the node, as ``FILE:LINE``, if the exporter recorded it."""
        source = self._raw.get("source")
        return None if source is None else f"{source['file']}:{source['line']}"

    def to_dict(self) -> dict[str, Any]:
        """The problem as in ``typeloom check --format json``."""
        return {key: value for key, value in self._raw.items() if key not in ("target", "text", "value")}

    def __str__(self) -> str:
        return f"{self.severity}[{self.code}]: {self.message}"

    def __repr__(self) -> str:
        return f"<Diagnostic {self}>"

    def _repr_html_(self) -> str:
        return pre(self.text)

    def __eq__(self, other: object) -> bool:
        return self._raw == other._raw if isinstance(other, Diagnostic) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.code, self.message, self.text))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Diagnostic, (self._raw,))


class Coverage:
    """Counts of values, including those of nested graphs.

    Attributes:
        values: all.
        typed: with a concrete element type and extents that are numbers or expressions over symbols of inputs.
        unknown_extents: with an extent that is unknown or decided by data.
        unknown_rank: of unknown rank.
        assumed: whose type depends on a declaration that could not be verified.
        open_conditions: conditions on symbols that are neither proved nor refuted.
    """

    __slots__ = ("assumed", "open_conditions", "typed", "unknown_extents", "unknown_rank", "values")

    def __init__(self, counts: list[int]) -> None:
        (
            self.values,
            self.typed,
            self.unknown_extents,
            self.unknown_rank,
            self.assumed,
            self.open_conditions,
        ) = counts

    def __repr__(self) -> str:
        return f"<Coverage {self.typed} of {self.values} values typed>"


class PlacedNode(NamedTuple):
    """A node of the graph with its place.

    Attributes:
        position: the position of the node in the graph.
        place: ``device``, ``cpu``, ``rejected`` if it does not run, or ``undecided``.
        partition: the number of its partition, from 0; `None` if it is not on the device.
    """

    position: int
    place: Place
    partition: int | None


class Placement:
    """Where the nodes of a model run.

    Attributes:
        device: the number of nodes that the device runs.
        cpu: the number of nodes that the CPU runs instead.
        rejected: the number of nodes that do not run.
        undecided: the number of nodes whose place is unknown.
        partitions: the number of parts of the model that the device runs without a stop.
        crossing: the bytes that cross between the device and the CPU, as an expression in the symbols; `None` if unknown.
        conditions: conditions on symbols under which this holds.
        fixed: the symbols that have to be numbers.
        nodes: the nodes of the graph, apart from constants.
    """

    __slots__ = (
        "conditions",
        "cpu",
        "crossing",
        "device",
        "fixed",
        "nodes",
        "partitions",
        "rejected",
        "undecided",
    )

    def __init__(self, raw: dict[str, Any]) -> None:
        self.device: int = raw["device"]
        self.cpu: int = raw["cpu"]
        self.rejected: int = raw["rejected"]
        self.undecided: int = raw["undecided"]
        self.partitions: int = raw["partitions"]
        self.crossing: str | None = raw["crossing"]
        self.conditions: list[str] = raw["conditions"]
        self.fixed: list[str] = raw["fixed"]
        self.nodes: list[PlacedNode] = [PlacedNode(*node) for node in raw["nodes"]]

    def __repr__(self) -> str:
        return f"<Placement {self.device} of {len(self.nodes)} nodes on the device>"


class Values(Mapping[str, Type]):
    """The values of a model by name, with their types. Of two values of one name, that of the main graph counts.

    A notebook shows them as a table, and completes the names.
    """

    __slots__ = ("_all", "_report")

    def __init__(self, report: _core.Report) -> None:
        self._report = report
        self._all: dict[str, Type] | None = None

    def _load(self) -> dict[str, Type]:
        if self._all is None:
            types: dict[str, Type] = {}
            for name, value in self._report.values():
                types.setdefault(name, _type(value))
            self._all = types
        return self._all

    def _find(self, name: object) -> Type | None:
        if not isinstance(name, str):
            return None
        if self._all is not None:
            return self._all.get(name)
        value = self._report.value(name)
        return None if value is None else _type(value)

    def __getitem__(self, name: str) -> Type:
        """The type of a value.

        Raises:
            KeyError: there is no such value; the message lists similar ones.
        """
        found = self._find(name)
        if found is None:
            raise KeyError(self._report.missing(str(name)))
        return found

    def __contains__(self, name: object) -> bool:
        return self._find(name) is not None

    @overload
    def get(self, key: str, /) -> Type | None: ...
    @overload
    def get(self, key: str, default: Type, /) -> Type: ...
    @overload
    def get(self, key: str, default: _T, /) -> Type | _T: ...
    def get(self, key: str, default: Any = None, /) -> Any:
        """The type of a value, or the default."""
        found = self._find(key)
        return default if found is None else found

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each value, indexed by name.

        Columns: ``type``, ``element``, ``rank``, ``shape``: see `Type`; ``origin``, ``operator``, ``node``: see `Origin`;
        ``assumed``.

        Raises:
            ImportError: pandas is not installed.
        """
        from importlib import import_module

        pandas: Any = import_module("pandas")
        types = self._load()
        origins = [ty.origin or Origin("undefined") for ty in types.values()]
        columns: dict[str, list[Any]] = {
            "type": [str(ty) for ty in types.values()],
            "element": [ty.element for ty in types.values()],
            "rank": [ty.rank for ty in types.values()],
            "shape": [ty.shape for ty in types.values()],
            "origin": [origin.kind for origin in origins],
            "operator": [origin.operator for origin in origins],
            "node": [origin.node or None for origin in origins],
            "assumed": [ty.is_assumed for ty in types.values()],
        }
        frame = pandas.DataFrame(columns, index=pandas.Index(list(types), name="value"))
        return frame.astype({"rank": "Int64"})

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _repr_html_(self) -> str:
        rows = ((code(name), code(ty), code(ty.origin)) for name, ty in self.items())
        return table(("value", "type", "origin"), rows, len(self), "value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def __repr__(self) -> str:
        return f"<Values {len(self)}>"


def _type(value: Any) -> Type:
    ty, origin, is_assumed = value
    return Type._of(ty, Origin(*origin), is_assumed)


class Report:
    """The outcome of a check. It is true if the model has no errors.

    >>> import typeloom as tl
    >>> report = tl.check('''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }''')
    >>> bool(report)
    True
    >>> report.values["y"]
    Type('float[N, 4]')
    >>> report.values["y"].origin
    <Origin Relu>

    Attributes:
        name: the name of the model in messages.
        against: the comparison with a version of a registry, if the check named one and the model has no errors.
    """

    __slots__ = ("_core", "_diagnostics", "_values", "against", "name")

    def __init__(self, core: _core.Report, name: str, against: Comparison | None = None) -> None:
        self._core = core
        self.name = name
        self.against = against
        self._diagnostics: list[Diagnostic] | None = None
        self._values = Values(core)

    @property
    def ok(self) -> bool:
        """Whether the model has no errors. Warnings do not count; a rejection by a target does, and so does a difference that
        breaks the compatibility mode."""
        return self._core.is_ok

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All problems, in the order of the graph, one for each cause."""
        if self._diagnostics is None:
            self._diagnostics = [Diagnostic(raw) for raw in self._core.diagnostics()]
        return self._diagnostics

    @property
    def errors(self) -> list[Diagnostic]:
        """The problems that are errors."""
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.is_error]

    @property
    def targets(self) -> dict[str, Verdict]:
        """The verdict of each target that the check named: whether its runtime loads the model. ``fallback``: with some nodes
        on the CPU instead of the device.

        A model with errors of its own is rejected or undecided.

        >>> import typeloom as tl
        >>> report = tl.check('''<ir_version: 10, opset_import: ["" : 21]>
        ... g (int16[2] x) => (y) { y = Min(x, x) }''', targets=["onnxruntime-1.31"])
        >>> report.targets
        {'onnxruntime-1.31': 'rejected'}
        >>> print(report.diagnostics[0])
        error[target-kernel]: onnxruntime-1.31 has no kernel for `Min` with `x` of type int16
        """
        return {name: _VERDICTS[verdict] for name, verdict in self._core.targets()}

    @property
    def placements(self) -> dict[str, Placement]:
        """Where the nodes run, by the name of the target, for the targets of the check whose nodes were measured.

        >>> import typeloom as tl
        >>> report = tl.check('''<ir_version: 10, opset_import: ["" : 17]>
        ... g (float[2, 3] x) => (y) { y = Relu(x) }''', targets=["qnn-npu"])
        >>> report.placements["qnn-npu"].nodes
        [PlacedNode(position=0, place='device', partition=0)]
        """
        return {name: Placement(raw) for name, raw in self._core.placements()}

    @property
    def values(self) -> Values:
        """The values of the model with their types."""
        return self._values

    @property
    def conditions(self) -> list[str]:
        """The conditions on symbols under which the model runs, such as ``N <= 128``."""
        return self._core.conditions

    @property
    def excepted(self) -> dict[str, int]:
        """The number of problems of each code that the model excepts in its metadata; they are not diagnostics."""
        return dict(self._core.excepted)

    @property
    def known(self) -> int:
        """The number of problems that the baseline contains; they are not diagnostics."""
        return self._core.known

    @property
    def coverage(self) -> Coverage:
        """The number of values that are fully typed, assumed or unknown."""
        return Coverage(self._core.coverage)

    def raise_for_errors(self) -> Report:
        """Returns the report itself.

        Raises:
            ModelError: the model has errors.
        """
        if not self.ok:
            raise ModelError(self.diagnostics)
        return self

    def text(self, *, color: bool = False) -> str:
        """The text that the command prints: each problem with its node and labels, and a last line with the result."""
        problems = self._core.text(color)
        summary = f"{self.name}: {self._core.summary()}"
        return f"{problems}\n{summary}" if problems else summary

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return pre(self.text()) + self.values._repr_html_()


_VERDICTS: dict[str, Verdict] = {
    "runs": "runs",
    "fallback": "fallback",
    "rejected": "rejected",
    "undecided": "undecided",
}
