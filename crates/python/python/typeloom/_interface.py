"""Interfaces of models, and their differences."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from typeloom import _core
from typeloom._errors import TypeloomError
from typeloom._html import code, table
from typeloom._types import Type

if TYPE_CHECKING:
    from typeloom.typing import ContractFormat, Mode

__all__ = ["Diff", "Difference", "Interface", "Parameter"]


class Parameter:
    """An input or output.

    Attributes:
        name: the name that callers use.
        type: the solved type.
        optional: whether a caller may omit it; always false for outputs.
        assumed: whether the type comes from a declaration that could not be verified.
    """

    __slots__ = ("assumed", "name", "optional", "type")

    def __init__(self, raw: tuple[str, Any, bool, bool]) -> None:
        self.name, ty, self.optional, self.assumed = raw
        self.type = Type._of(ty)

    def __repr__(self) -> str:
        return f"<Parameter {self.name}{'?' if self.optional else ''}: {self.type}>"


class Interface:
    """Inputs, outputs and conditions of a model.

    >>> import typeloom as tl
    >>> interface = tl.describe('''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[N, 3] x) => (y) { y = Relu(x) }''')
    >>> print(interface)
    (x: float[N, 3]) -> (y: float[N, 3])
    >>> interface.inputs[0].type.rank
    2
    >>> again = tl.Interface.from_bundle(interface.to_bundle())
    >>> again.digest == interface.digest
    True

    Two interfaces are equal if their digests are: names of symbols do not count.
    """

    __slots__ = ("_core", "name")

    def __init__(self, core: _core.Interface, name: str) -> None:
        self._core = core
        self.name = name

    @property
    def inputs(self) -> list[Parameter]:
        """The inputs in order."""
        return [Parameter(raw) for raw in self._core.inputs]

    @property
    def outputs(self) -> list[Parameter]:
        """The outputs in order."""
        return [Parameter(raw) for raw in self._core.outputs]

    @property
    def symbols(self) -> list[str]:
        """The names of the symbols in the order of their first use."""
        return self._core.symbols

    @property
    def conditions(self) -> list[str]:
        """The conditions on symbols without which the model fails, such as ``seq <= 64``."""
        return self._core.conditions

    @property
    def digest(self) -> str:
        """The BLAKE3 digest of the portable type: 64 hexadecimal digits."""
        return self._core.digest

    @property
    def signature(self) -> str:
        """The portable type on one line."""
        return self._core.signature

    def to_bundle(self, label: str = "main") -> bytes:
        """The interface as a bundle of portable type descriptors, which other processes and languages read."""
        return self._core.to_bundle(label)

    @classmethod
    def from_bundle(cls, bundle: bytes, label: str | None = None) -> Interface:
        """Reads an interface from a bundle: that with a label, or the only one.

        Raises:
            TypeloomError: the bundle is malformed, or has no such interface.
        """
        interfaces = _core.import_interfaces(bundle)
        found = [(name, core) for name, core in interfaces if label is None or name == label]
        if len(found) != 1:
            names = ", ".join(name for name, _ in interfaces) or "none"
            raise TypeloomError(f"the bundle has the interfaces {names}: choose one by its label")
        return cls(found[0][1], found[0][0])

    def to_contract(
        self, format: ContractFormat, *, model_name: str | None = None, max_batch: int | None = None
    ) -> str:
        """The interface in the format of a serving system, as ``typeloom describe --as``.

        >>> import typeloom as tl
        >>> interface = tl.describe('''<ir_version: 10, opset_import: ["" : 21]>
        ... g (float[N, 3] x) => (y) { y = Relu(x) }''')
        >>> print(interface.to_contract("triton", model_name="scorer"), end="")
        # Model configuration of Triton Inference Server, written by `typeloom describe --as triton`.
        # Not expressed: N: the same number in 2 axes (inputs.x.shape[0], outputs.y.shape[0])
        name: "scorer"
        platform: "onnxruntime_onnx"
        max_batch_size: 0
        input {
          name: "x"
          data_type: TYPE_FP32
          dims: [ -1, 3 ] # float[N, 3]
        }
        output {
          name: "y"
          data_type: TYPE_FP32
          dims: [ -1, 3 ] # float[N, 3]
        }

        Args:
            format: ``triton``, ``oip``, ``mlflow``, ``json-schema``, ``openapi``, ``c-header``, ``rust`` or ``python``.
            model_name: the name under which the model is served; by default the name of the file without its extension. Without
                one, a configuration of Triton has none, and applies to the model of its folder.
            max_batch: of ``triton``: the maximum size of batches that the server forms.

        Raises:
            TypeloomError: the format cannot express an input or output, or the types do not prove that there are batches.
        """
        if model_name is None and format != "triton" and not self.name.startswith("<"):
            model_name = os.path.splitext(os.path.basename(self.name))[0]
        return self._core.contract(format, model_name, max_batch)

    @classmethod
    def from_contract(cls, contract: str | bytes | os.PathLike[str]) -> Interface:
        """Reads a ``config.pbtxt`` of Triton, metadata of the Open Inference Protocol, or a signature of MLflow: a text, or the
        path of a file as an object of `pathlib`. Extents are numbers or unknown.

        >>> import typeloom as tl
        >>> head = '<ir_version: 10, opset_import: ["" : 21]> '
        >>> model = tl.describe(head + "g (float[N, 3] x) => (y) { y = Relu(x) }")
        >>> config = tl.Interface.from_contract(model.to_contract("triton", model_name="scorer"))
        >>> config.name, str(config)
        ('scorer', '(x: float[?, 3]) -> (y: float[?, 3])')
        >>> bool(config.diff(model))
        True
        >>> config.diff(tl.describe(head + "g (float[N, 4] x) => (y) { y = Relu(x) }"))
        inputs.x.shape[1]: 3 -> 4 (breaks both ways)
        outputs.y.shape[1]: 3 -> 4 (breaks both ways)
        not backward compatible

        A comparison with a contract ignores the facts that its format cannot express (`Diff.notes`) and the order of inputs and
        outputs.

        Raises:
            TypeloomError: the text is none of these, or malformed.
        """
        file = None
        if isinstance(contract, os.PathLike):
            file = os.fspath(contract)
            with open(file, "rb") as stream:
                contract = stream.read()
        text = contract.encode() if isinstance(contract, str) else contract
        core, name = _core.read_contract(text, file)
        return cls(core, name or "main")

    def to_dict(self) -> dict[str, Any]:
        """The interface as in ``typeloom describe --format json``."""
        return self._core.json(self.name)

    def to_json(self) -> str:
        """The interface as a JSON text."""
        import json

        return json.dumps(self.to_dict())

    def diff(self, new: Interface, *, mode: Mode = "backward", by_name: bool = False) -> Diff:
        """The differences from this interface to another; see `typeloom.diff`."""
        compatible, raw, notes = self._core.compare(new._core, mode, by_name)
        return Diff(self, new, mode, compatible, raw, notes)

    def __str__(self) -> str:
        return str(self._core)

    def __repr__(self) -> str:
        return self._core.text(self.name).rstrip()

    def _repr_html_(self) -> str:
        ports = [("input", port) for port in self.inputs] + [("output", port) for port in self.outputs]
        notes = {(True, False): "optional", (False, True): "assumed", (True, True): "optional, assumed"}
        rows = (
            (side, code(port.name), code(port.type), notes.get((port.optional, port.assumed), "")) for side, port in ports
        )
        conditions = f"<p>if {', '.join(map(code, self.conditions))}</p>" if self.conditions else ""
        head = f"<p>{code(self.name)}, digest {code(self.digest)}</p>"
        return head + table(("", "name", "type", ""), rows, len(ports), "port") + conditions

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Interface) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)


class Difference:
    """One difference between two interfaces.

    Attributes:
        path: the location, such as ``inputs.x.shape[0]``.
        code: the change, such as ``extent-changed``.
        old: the old side as text.
        new: the new side as text.
        breaks_backward: whether callers of the old interface cannot use the new one.
        breaks_forward: whether callers of the new interface cannot use the old one.
        message: the change in one line.
    """

    __slots__ = ("breaks_backward", "breaks_forward", "code", "message", "new", "old", "path")

    def __init__(self, raw: dict[str, Any]) -> None:
        self.path: str = raw["path"]
        self.code: str = raw["code"]
        self.old: str = raw["old"]
        self.new: str = raw["new"]
        self.breaks_backward: bool = raw["breaks"]["backward"]
        self.breaks_forward: bool = raw["breaks"]["forward"]
        self.message: str = raw["message"]

    def __repr__(self) -> str:
        return f"<Difference {self.message}>"


class Changed(Protocol):
    """A difference between two interfaces or types."""

    @property
    def path(self) -> str: ...
    @property
    def old(self) -> str: ...
    @property
    def new(self) -> str: ...
    @property
    def breaks_backward(self) -> bool: ...
    @property
    def breaks_forward(self) -> bool: ...


class Diff:
    """The differences between two interfaces. It is true if the new one can replace the old one.

    Attributes:
        old: the old interface.
        new: the new interface.
        mode: ``backward``, ``forward`` or ``full``.
        compatible: whether no difference breaks the mode.
        differences: every difference in either direction.
        notes: facts about one side that the other one, a contract for serving, cannot express.
    """

    __slots__ = ("compatible", "differences", "mode", "new", "notes", "old")

    def __init__(
        self,
        old: Interface,
        new: Interface,
        mode: Mode,
        compatible: bool,
        raw: list[dict[str, Any]],
        notes: list[str],
    ) -> None:
        self.old = old
        self.new = new
        self.mode: Mode = mode
        self.compatible = compatible
        self.differences = [Difference(one) for one in raw]
        self.notes = notes

    @property
    def equal(self) -> bool:
        """Whether the two interfaces are the same type."""
        return self.old == self.new

    def __bool__(self) -> bool:
        return self.compatible

    def __repr__(self) -> str:
        return "\n".join([*(difference.message for difference in self.differences), self._verdict])

    @property
    def _verdict(self) -> str:
        return "the same interface" if self.equal else f"{'' if self.compatible else 'not '}{self.mode} compatible"

    def _repr_html_(self) -> str:
        return f"<p>{self._verdict}</p>{differences_table(self.differences)}"


def differences_table(differences: Sequence[Changed]) -> str:
    """The differences as a table for notebooks."""
    breaks = {(True, True): "both", (True, False): "backward", (False, True): "forward", (False, False): ""}
    rows = (
        (code(one.path), code(one.old), code(one.new), breaks[one.breaks_backward, one.breaks_forward])
        for one in differences
    )
    return table(("path", "old", "new", "breaks"), rows, len(differences), "difference")
