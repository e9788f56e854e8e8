"""The interface of ``onnx.shape_inference``.

>>> import typeloom as tl
>>> from typeloom.onnx import shape_inference
>>> text = '<ir_version: 10, opset_import: ["" : 21]> g (float[N, 2] x) => (y) { h = Relu(x)  y = Concat<axis=0>(h, h) }'
>>> try:
...     import onnx.parser
... except ImportError:
...     pass
... else:
...     inferred = shape_inference.infer_shapes(onnx.parser.parse_model(text))
...     assert [value.name for value in inferred.graph.value_info] == ["h", "y"]

Types are written as the reference writes them: an extent is a number, a symbol of the model, or a generated name ``unk__0``.
`typeloom.annotate` writes expressions instead. Models with operators that the process registered in ``onnx.defs`` are passed to
the reference, which alone knows their rules.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from typeloom import _core
from typeloom.onnx._reference import (
    full_name,
    is_registered,
    message_name,
    message_type,
    reference,
    settings,
    validated,
)

if TYPE_CHECKING:
    InferenceError = Exception
else:
    _C = reference("onnx_cpp2py_export.shape_inference")

    class InferenceError(_C.InferenceError if _C is not None else Exception):
        """A model for which inference fails. A subclass of the reference's exception where `onnx` is installed."""

        __module__ = "typeloom.onnx.shape_inference"


__all__ = [
    "InferenceError",
    "infer_function_output_types",
    "infer_node_outputs",
    "infer_shapes",
    "infer_shapes_path",
]

_NEWEST_IR = 14


def __getattr__(name: str) -> Any:
    # Classes that only Python rules of the reference's schemas meet.
    if name in ("GraphInferencer", "InferenceContext"):
        module = reference("onnx_cpp2py_export.shape_inference")
        if module is not None:
            return getattr(module, name)
    raise AttributeError(f"module 'typeloom.onnx.shape_inference' has no attribute {name!r}")


def infer_shapes(
    model: Any, check_type: bool = False, strict_mode: bool = False, data_prop: bool = False
) -> Any:
    """Adds inferred types to the ``value_info`` and the outputs of all graphs of a model.

    Args:
        model: a ``ModelProto`` or its bytes.
        check_type: raise if an operator does not allow the type of a value.
        strict_mode: raise if the inference of a node fails; otherwise its results stay untyped.
        data_prop: let computed values decide shapes.

    Returns:
        A ``ModelProto``, of the class of the argument. For bytes: ``onnx.ModelProto``, or bytes if `onnx` is not installed.

    Raises:
        InferenceError: see `check_type` and `strict_mode`.
        TypeError: the argument is neither a ``ModelProto`` nor bytes.
        ValueError: the bytes are no model.
    """
    # Small models take a few microseconds, so the usual case looks up and calls nothing else.
    try:
        write, read = _CODECS[model.__class__]
    except KeyError:
        return _infer_other(model, check_type, strict_mode, data_prop)
    data: bytes = write(model)
    inferred = _infer_bytes(data, _SETTINGS, check_type, strict_mode, data_prop)
    if inferred.__class__ is bytes:
        return read(inferred)
    return read(_accepted(data, inferred, check_type, strict_mode, data_prop))


def _infer_other(model: Any, check_type: bool, strict_mode: bool, data_prop: bool) -> Any:
    """As `infer_shapes`, for an argument of a class that was no argument before."""
    kind = model.__class__
    if message_name(kind) == "ModelProto":
        _CODECS[kind] = (kind.SerializeToString, kind.FromString)
        return infer_shapes(model, check_type, strict_mode, data_prop)
    if isinstance(model, bytes):
        inferred = _infer(model, check_type, strict_mode, data_prop)
        result = message_type("ModelProto")
        return inferred if result is None else result.FromString(inferred)
    if isinstance(model, (str, os.PathLike)):
        raise TypeError(
            "infer_shapes only accepts ModelProto or bytes,"
            " For Model paths (str or os.PathLike), use infer_shapes_path()."
        )
    raise TypeError(f"infer_shapes only accepts ModelProto or bytes, incorrect type: {type(model)}")


_CODECS: dict[type, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]] = {}
"""``SerializeToString`` and ``FromString`` of the classes of ``ModelProto`` that were arguments before."""

_SETTINGS = settings()
_infer_bytes: Callable[..., Any] = _core.infer_shapes


def _infer(model: bytes | str, check_type: bool, strict_mode: bool, data_prop: bool) -> bytes:
    inferred = _core.infer_shapes(model, settings(), check_type, strict_mode, data_prop)
    if isinstance(inferred, bytes):
        return inferred
    return _accepted(model, inferred, check_type, strict_mode, data_prop)


def _accepted(
    model: bytes | str,
    inferred: tuple[bytes, list[str], list[tuple[str, str]]],
    check_type: bool,
    strict_mode: bool,
    data_prop: bool,
) -> bytes:
    """The new model in a result with errors or unknown operators."""
    file, errors, unknown = inferred
    if unknown and is_registered(unknown):
        data = model if isinstance(model, bytes) else _read(model)
        delegated: bytes = reference("onnx_cpp2py_export.shape_inference").infer_shapes(
            data, check_type, strict_mode, data_prop
        )
        return delegated
    if errors:
        _raise(errors)
    return file


def _raise(errors: list[str]) -> NoReturn:
    text = "[ShapeInferenceError] Inference error(s): " + "\n".join(errors)
    if any(error.startswith("error[recursive-function]") for error in errors):
        from typeloom.onnx.checker import ValidationError

        raise ValidationError(f"Cycle detected in model-local function references: {text}")
    raise InferenceError(text)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def infer_shapes_path(
    model_path: str | os.PathLike[str],
    output_path: str | os.PathLike[str] = "",
    check_type: bool = False,
    strict_mode: bool = False,
    data_prop: bool = False,
) -> None:
    """Infers the types of a model file; weights in other files are not read.

    Args:
        model_path: the file.
        output_path: the file for the result; `model_path` by default.
        check_type: see `infer_shapes`.
        strict_mode: see `infer_shapes`.
        data_prop: see `infer_shapes`.

    Raises:
        InferenceError: see `infer_shapes`.
        ValidationError: the file cannot be read.
        TypeError: a path is no path.
    """
    if full_name(model_path) == "ModelProto":
        raise TypeError(
            "infer_shapes_path only accepts model Path (String),"
            "you can use infer_shapes for the ModelProto."
        )
    source, target = _path(model_path, "model"), _path(output_path, "output")
    try:
        inferred = _infer(source, check_type, strict_mode, data_prop)
    except OSError as error:
        from typeloom.onnx.checker import ValidationError

        raise ValidationError(
            f"Unable to open proto file: {source}. Please check if it is a valid proto."
        ) from error
    with open(target or source, "wb") as file:
        file.write(inferred)


def _path(path: str | os.PathLike[str], kind: str) -> str:
    try:
        return os.fspath(path)
    except TypeError as error:
        raise TypeError(
            f"infer_shapes_path only accepts {kind} path as a string or PathLike, "
            f"incorrect {kind} path type: {type(path)}"
        ) from error


def infer_node_outputs(
    schema: Any,
    node: Any,
    input_types: Mapping[str, Any],
    input_data: Mapping[str, Any] | None = None,
    input_sparse_data: Mapping[str, Any] | None = None,
    opset_imports: Sequence[Any] | None = None,
    ir_version: int = _NEWEST_IR,
) -> dict[str, Any]:
    """Infers the types of the outputs of one node.

    Args:
        schema: an ``onnx.defs.OpSchema``: the operator in one version.
        node: a ``NodeProto``.
        input_types: the ``TypeProto`` of every input, and those of values that nested graphs read.
        input_data: the ``TensorProto`` of inputs whose value is known.
        input_sparse_data: the ``SparseTensorProto`` of such inputs.
        opset_imports: versions of domains that nested graphs use, as ``OperatorSetIdProto``.
        ir_version: the version of the format.

    Returns:
        The ``TypeProto`` of each output with a known type, by name.

    Raises:
        InferenceError: the inference of the node fails.
        ValidationError: the node does not fit the declaration of its operator.
        KeyError: an input has no type.
    """
    types = {name: input_types[name].SerializeToString() for name in node.input if name}
    types.update((name, ty.SerializeToString()) for name, ty in input_types.items() if name not in types)

    def known(values: Mapping[str, Any] | None) -> dict[str, bytes]:
        values = values or {}
        return {name: values[name].SerializeToString() for name in node.input if name in values}

    imports = {opset.domain: opset.version for opset in opset_imports or ()}
    imports[schema.domain] = schema.since_version
    data, sparse = known(input_data), known(input_sparse_data)
    kind = _type_of(input_types, "TypeProto")
    if _is_custom(schema):
        outputs = schema._infer_node_outputs(
            node.SerializeToString(), types, data, sparse, imports, ir_version
        )
    else:
        from typeloom.onnx.checker import ValidationError

        message = node.SerializeToString()
        violation = None
        if not any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            violation = validated("NodeProto", message, ir_version, imports)
        if violation is not None:
            raise ValidationError(violation)
        found, errors = _core.infer_node(
            message,
            list(types.items()),
            list(data.items()),
            list(sparse.items()),
            list(imports.items()),
            ir_version,
            settings(),
        )
        if any(error.startswith(("error[element-type", "error[type-mismatch")) for error in errors):
            raise ValidationError("\n".join(errors))
        if errors:
            _raise(errors)
        outputs = dict(found)
    return {name: kind.FromString(ty) for name, ty in outputs.items()}


def _type_of(messages: Mapping[str, Any], name: str) -> Any:
    for message in messages.values():
        return _class_of(message)
    return message_type(name)


def _class_of(message: Any) -> Any:
    return message.__class__


def _is_custom(schema: Any) -> bool:
    """Whether only the reference knows the operator."""
    return schema.domain not in ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")


def infer_function_output_types(
    function: Any, input_types: Sequence[Any], attributes: Sequence[Any]
) -> list[Any]:
    """Infers the types of the outputs of a function.

    Args:
        function: a ``FunctionProto``.
        input_types: a ``TypeProto`` for each input.
        attributes: the ``AttributeProto`` of the call.

    Returns:
        A ``TypeProto`` for each output, empty if nothing is known.

    Raises:
        InferenceError: the inference of the body fails.
    """
    kind: Any = _class_of(input_types[0]) if input_types else message_type("TypeProto")
    found, errors = _core.infer_function(
        function.SerializeToString(),
        [ty.SerializeToString() for ty in input_types],
        [attribute.SerializeToString() for attribute in attributes],
        settings(),
    )
    if errors:
        _raise(errors)
    return [kind() if ty is None else kind.FromString(ty) for ty in found]
