"""Models in all forms that Python programs hold them, as paths and bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, Union

from typeloom import _core
from typeloom._rewritten import Rewritten

__all__ = ["Form", "ModelLike", "form_of", "model_from_text", "model_to_text"]


class _Message(Protocol):
    """``onnx.ModelProto``."""

    def SerializeToString(self) -> bytes: ...


class _Graph(Protocol):
    """``onnx_ir.Model``."""

    @property
    def graph(self) -> Any: ...


class _Program(Protocol):
    """``torch.onnx.ONNXProgram``."""

    @property
    def model_proto(self) -> Any: ...


ModelLike: TypeAlias = Union[
    str, "os.PathLike[str]", bytes, bytearray, "memoryview", _Message, _Graph, _Program
]
"""A model: a path, the bytes of a file, ONNX's textual syntax, ``onnx.ModelProto``, ``onnx_ir.Model`` or
``torch.onnx.ONNXProgram``."""


class Form:
    """A model with the way back to the form that the caller used.

    Attributes:
        model: what the extension module reads: a path or bytes.
        name: the name of the model in messages.
        back: converts the bytes of a new model to the form of the caller. A path becomes bytes.
        original: the model as the caller passed it.
    """

    __slots__ = ("back", "model", "name", "original")

    def __init__(self, model: bytes | str, name: str, back: Callable[[bytes], Any], original: object) -> None:
        self.model = model
        self.name = name
        self.back = back
        self.original = original

    def read(self) -> bytes:
        """The bytes of the model; those of a path are read."""
        if isinstance(self.model, bytes):
            return self.model
        with open(self.model, "rb") as file:
            return file.read()

    def result(self, file: bytes | None) -> Any:
        """The new model with the bytes `file`, in the form of the caller; `None` if it is the old one."""
        if file is None:
            return self.read() if isinstance(self.model, str) else self.original
        return self.back(file)


def form_of(model: ModelLike) -> Form:
    """Recognizes the form of a model.

    A text is a model in ONNX's textual syntax if it begins with ``<`` or contains a line break, and a path otherwise.

    Raises:
        TypeError: the object is no model.
        typeloom.TypeloomError: the text does not parse.
    """
    if isinstance(model, Rewritten):
        form = form_of(model.model)
        form.name = model._name
        return form
    if isinstance(model, bytes):
        return Form(model, "<model>", bytes, model)
    if isinstance(model, (bytearray, memoryview)):
        return Form(bytes(model), "<model>", type(model), model)
    if isinstance(model, str):
        if model.lstrip().startswith("<") or "\n" in model:
            return Form(_core.model_from_text(model), "<text>", _core.model_to_text, model)
        return Form(model, model, bytes, model)
    if isinstance(model, os.PathLike):
        path = os.fspath(model)
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        return Form(path, path, bytes, model)
    return _of_object(model)


def _of_object(model: Any) -> Form:
    kind: Any = model.__class__
    module = kind.__module__.partition(".")[0]
    if module == "onnx_ir":
        import onnx_ir

        name = f"<{model.graph.name or 'model'}>"
        to_proto: Any = onnx_ir.to_proto
        return Form(to_proto(model).SerializeToString(), name, _ir_back, model)
    if module == "torch" and _has(model, "model_proto"):
        return Form(model.model_proto.SerializeToString(), "<ONNXProgram>", _program_back(model), model)
    if _has(model, "SerializeToString") and _has(kind, "FromString"):
        if not _has(model, "graph"):
            raise TypeError(f"{kind.__name__} is not a model: pass a ModelProto")
        name = f"<{model.graph.name or 'model'}>"
        return Form(model.SerializeToString(), name, kind.FromString, model)
    raise TypeError(
        f"{kind.__name__} is not a model: pass a path, bytes, text, onnx.ModelProto, onnx_ir.Model or "
        "torch.onnx.ONNXProgram"
    )


def _has(model: object, name: str) -> bool:
    return hasattr(model, name)


def _ir_back(data: bytes) -> Any:
    import onnx
    import onnx_ir

    return onnx_ir.from_proto(onnx.ModelProto.FromString(data))


def _program_back(program: Any) -> Callable[[bytes], Any]:
    def back(data: bytes) -> Any:
        return type(program)(_ir_back(data), program.exported_program)

    return back


def model_from_text(text: str) -> bytes:
    """Parses ONNX's textual syntax.

    >>> import typeloom as tl
    >>> data = tl.model_from_text('<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (y) { y = Relu(x) }')
    >>> tl.infer(data)["y"]
    Type('float[2]')

    Args:
        text: a model, with its header ``<ir_version: ..., opset_import: [...]>``.

    Returns:
        The bytes of an ONNX file.

    Raises:
        TypeloomError: the text does not parse; the message contains the position.
    """
    return _core.model_from_text(text)


def model_to_text(model: ModelLike) -> str:
    """Prints a model in ONNX's textual syntax.

    >>> import typeloom as tl
    >>> data = tl.model_from_text('<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (y) { y = Relu(x) }')
    >>> "y = Relu(x)" in tl.model_to_text(data)
    True

    Args:
        model: the model.

    Returns:
        The text, which `model_from_text` reads.

    Raises:
        OSError: the file cannot be read.
        TypeloomError: the bytes are no model.
    """
    return _core.model_to_text(form_of(model).model)
