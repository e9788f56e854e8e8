"""Sessions: run checked models on NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typeloom import _core
from typeloom._errors import ModelError
from typeloom._model import ModelLike, form_of
from typeloom._report import Diagnostic
from typeloom._types import Type

if TYPE_CHECKING:
    from typeloom._operators import Operators

__all__ = ["Port", "Session"]


class Port:
    """An input or output of a session.

    Attributes:
        name: the name in the model.
        type: the solved type.
        has_default: whether an input may be omitted.
    """

    __slots__ = ("has_default", "name", "type")

    def __init__(self, raw: tuple[str, Any, bool]) -> None:
        self.name, ty, self.has_default = raw
        self.type = Type._of(ty)

    def __repr__(self) -> str:
        return f"<Port {self.name}: {self.type}>"


class Session:
    """A checked model that is ready to run on the embedded backend.

    >>> import numpy as np, typeloom as tl
    >>> session = tl.Session('''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[N, 2] x) => (y) { h = Add(x, x)  y = ReduceSum <keepdims = 0> (h) }''')
    >>> session.run({"x": np.ones((3, 2), np.float32)})
    [array(12., dtype=float32)]

    Args:
        model: the model, in any form that `typeloom.check` accepts.
        backend: ``cpu``, the embedded backend.
        verify: compare every computed value with its proven type.
        operators: operators of other domains, for the check.
        external_data_dir: the folder of external data; the model's own by default.
        max_steps: the maximum number of steps of a run; each node counts as one each time it runs.
        max_memory: the maximum memory of tensors, in bytes.
        max_work: the maximum work of a run, in units of about a nanosecond of one core. The work of a node is estimated from
            the shapes before it runs. The defaults grow with the size of the model and of the inputs, as for `typeloom run`.

    Raises:
        ModelError: the model has errors.
        TypeloomError: the model cannot be prepared.
        OSError: the file cannot be read.

    A session can run on several threads at a time. A run releases the interpreter, and Ctrl-C ends it.
    """

    __slots__ = ("_core", "inputs", "outputs")

    def __init__(
        self,
        model: ModelLike,
        backend: str = "cpu",
        *,
        verify: bool = False,
        operators: Operators | None = None,
        external_data_dir: str | os.PathLike[str] | None = None,
        max_steps: int | None = None,
        max_memory: int | None = None,
        max_work: int | None = None,
    ) -> None:
        if backend != "cpu":
            raise ValueError(f"there is no backend `{backend}` in this package; there is `cpu`")
        form = form_of(model)
        settings = _core.Settings(
            operators=None if operators is None else operators._core, external_data_dir=external_data_dir
        )
        core, problems = _core.Session.open(
            form.model, settings, form.name, verify, max_steps, max_memory, max_work
        )
        if core is None:
            raise ModelError([Diagnostic(raw) for raw in problems])
        self._core = core
        self.inputs = [Port(raw) for raw in core.inputs]
        """The inputs in the order of the model."""
        self.outputs = [Port(raw) for raw in core.outputs]
        """The outputs in the order of the model."""

    def run(self, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        """Runs the model.

        Args:
            inputs: arrays by name, or in the order of the inputs: ``numpy.ndarray``, numbers, or objects with DLPack
                (``torch.Tensor``). Strings are arrays of ``str``; a sequence is a list, an absent optional is ``None``, and a
                map is a dictionary. Arrays in C order are used in place.

        Returns:
            The outputs in the order of the model. Arrays are read-only views of the memory of the result; elements that
            NumPy lacks (``bfloat16``, 8- and 4-bit floats) have the types of ``ml_dtypes``.

        Raises:
            TypeloomError: an input is missing, unknown or not of its type, or a node fails.
            TypeError: a value has no counterpart in ONNX.
        """
        if isinstance(inputs, str):
            inputs = [inputs]
        if not isinstance(inputs, Mapping):
            if len(inputs) > len(self.inputs):
                raise ValueError(f"the model has {len(self.inputs)} inputs, not {len(inputs)}")
            inputs = {port.name: value for port, value in zip(self.inputs, inputs)}
        from typeloom import _arrays

        types = {port.name: port.type for port in self.inputs}
        given = {name: _arrays.to_core(value, types.get(name)) for name, value in inputs.items()}
        outputs, _ = self._core.run(given)
        return [_arrays.from_core(value) for value in outputs]

    def __call__(self, **inputs: Any) -> list[Any]:
        """Runs the model on inputs by name; see `run`."""
        return self.run(inputs)

    def __repr__(self) -> str:
        def ports(ports: list[Port]) -> str:
            return ", ".join(f"{port.name}: {port.type}" for port in ports)

        return f"<Session ({ports(self.inputs)}) -> ({ports(self.outputs)})>"
