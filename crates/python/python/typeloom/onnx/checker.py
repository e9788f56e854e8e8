"""The interface of ``onnx.checker``.

>>> from typeloom.onnx import checker
>>> checker.check_model(b"")
Traceback (most recent call last):
typeloom.onnx.checker.ValidationError: The model does not have an ir_version set properly.

The functions validate the structure of messages: required fields, versions, names, the order of nodes, fields of tensors and
attributes. ``check_model(model, full_check=True)`` also checks types. `typeloom.check` reports all problems at once, with their causes.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from typeloom.onnx import shape_inference
from typeloom.onnx._reference import full_name, is_registered, reference, validated

if TYPE_CHECKING:
    ValidationError = Exception
else:
    _C = reference("onnx_cpp2py_export.checker")

    class ValidationError(_C.ValidationError if _C is not None else Exception):
        """A message that is not well formed. A subclass of the reference's exception where `onnx` is installed."""

        __module__ = "typeloom.onnx.checker"


__all__ = [
    "DEFAULT_CONTEXT",
    "LEXICAL_SCOPE_CONTEXT",
    "MAXIMUM_PROTOBUF",
    "C",
    "ValidationError",
    "check_attribute",
    "check_function",
    "check_graph",
    "check_model",
    "check_node",
    "check_sparse_tensor",
    "check_tensor",
    "check_value_info",
]

MAXIMUM_PROTOBUF = 2147483647
"""The size of the largest message, in bytes."""

_NEWEST_IR = 14
_NEWEST_OPSET = 28


class CheckerContext:
    """Versions for messages that are checked without their model.

    Attributes:
        ir_version: the version of the format.
        opset_imports: the version of each domain.
    """

    def __init__(self) -> None:
        self.ir_version = -1
        self.opset_imports: dict[str, int] = {}


class LexicalScopeContext:
    """The names that a message can read; always empty at the outermost level."""


DEFAULT_CONTEXT = CheckerContext()
DEFAULT_CONTEXT.ir_version = _NEWEST_IR
DEFAULT_CONTEXT.opset_imports = {"": _NEWEST_OPSET}

LEXICAL_SCOPE_CONTEXT = LexicalScopeContext()

C = SimpleNamespace(
    CheckerContext=CheckerContext, LexicalScopeContext=LexicalScopeContext, ValidationError=ValidationError
)
"""The classes under the name of the reference's extension module."""


def _check(kind: str, message: Any, ctx: Any) -> None:
    if full_name(message) != kind:
        raise TypeError(f"The proto message needs to be of type '{kind}'")
    violation = validated(kind, message.SerializeToString(), ctx.ir_version, ctx.opset_imports)
    if violation is not None:
        if _concerns_registered(violation):
            function = getattr(reference("onnx_cpp2py_export.checker"), _FUNCTIONS[kind])
            function(message.SerializeToString(), *_reference_contexts(kind, ctx))
            return
        raise ValidationError(violation)


_FUNCTIONS = {
    "AttributeProto": "check_attribute",
    "FunctionProto": "check_function",
    "GraphProto": "check_graph",
    "NodeProto": "check_node",
    "SparseTensorProto": "check_sparse_tensor",
    "TensorProto": "check_tensor",
    "ValueInfoProto": "check_value_info",
}


def _concerns_registered(violation: str) -> bool:
    """Whether the operator that typeloom lacks is one that this process registered in `onnx.defs`."""
    prefix, _, rest = violation.partition("No Op registered for ")
    return not prefix and is_registered([(domain, rest.split(" ", 1)[0]) for domain in _domains()])


def _domains() -> set[str]:
    """The domains of the reference's registry; only that of ONNX if it is not loaded."""
    import sys

    if "onnx" not in sys.modules:
        return {""}
    return {schema.domain for schema in reference("defs").get_all_schemas()}


def _reference_contexts(kind: str, ctx: Any) -> list[Any]:
    """The contexts of the reference's function."""
    module = reference("onnx_cpp2py_export.checker")
    own = module.CheckerContext()
    own.ir_version, own.opset_imports = ctx.ir_version, dict(ctx.opset_imports)
    has_scope = kind in ("AttributeProto", "FunctionProto", "GraphProto", "NodeProto")
    return [own, module.LexicalScopeContext()] if has_scope else [own]


def check_value_info(value_info: Any, ctx: Any = DEFAULT_CONTEXT) -> None:
    """Checks the declaration of a value, a ``ValueInfoProto``.

    Raises:
        ValidationError: the message is not well formed.
        TypeError: the argument is another message.
    """
    _check("ValueInfoProto", value_info, ctx)


def check_tensor(tensor: Any, ctx: Any = DEFAULT_CONTEXT) -> None:
    """Checks a ``TensorProto``: one payload in the field of the element type, with enough entries for the shape.

    Raises:
        ValidationError: the message is not well formed.
        TypeError: the argument is another message.
    """
    _check("TensorProto", tensor, ctx)


def check_attribute(
    attr: Any, ctx: Any = DEFAULT_CONTEXT, lexical_scope_ctx: Any = LEXICAL_SCOPE_CONTEXT
) -> None:
    """Checks an ``AttributeProto`` and the messages in it.

    Raises:
        ValidationError: the message is not well formed.
        TypeError: the argument is another message.
    """
    _check("AttributeProto", attr, ctx)


def check_node(
    node: Any, ctx: Any = DEFAULT_CONTEXT, lexical_scope_ctx: Any = LEXICAL_SCOPE_CONTEXT
) -> None:
    """Checks a ``NodeProto``: its operator exists in the version of `ctx` and has these ports and attributes.

    Raises:
        ValidationError: the message is not well formed.
        TypeError: the argument is another message.
    """
    _check("NodeProto", node, ctx)


def check_function(
    function: Any, ctx: Any | None = None, lexical_scope_ctx: Any = LEXICAL_SCOPE_CONTEXT
) -> None:
    """Checks a ``FunctionProto``. By default its own imports are the versions of its domains.

    Raises:
        ValidationError: the message is not well formed.
        TypeError: the argument is another message.
    """
    if full_name(function) != "FunctionProto":
        raise TypeError("The proto message needs to be of type 'FunctionProto'")
    if ctx is None:
        ctx = CheckerContext()
        ctx.ir_version = _NEWEST_IR
        ctx.opset_imports = {opset.domain: opset.version for opset in function.opset_import}
    _check("FunctionProto", function, ctx)


def check_graph(
    graph: Any, ctx: Any = DEFAULT_CONTEXT, lexical_scope_ctx: Any = LEXICAL_SCOPE_CONTEXT
) -> None:
    """Checks a ``GraphProto``: names are unique and defined before they are read, and each node is well formed.

    Raises:
        ValidationError: the message is not well formed.
        TypeError: the argument is another message.
    """
    _check("GraphProto", graph, ctx)


def check_sparse_tensor(sparse: Any, ctx: Any = DEFAULT_CONTEXT) -> None:
    """Checks a ``SparseTensorProto``: sorted indices inside the shape, one for each value.

    Raises:
        ValidationError: the message is not well formed.
        TypeError: the argument is another message.
    """
    _check("SparseTensorProto", sparse, ctx)


def check_model(
    model: Any,
    full_check: bool = False,
    skip_opset_compatibility_check: bool = False,
    check_custom_domain: bool = False,
) -> None:
    """Checks a model.

    Args:
        model: a ``ModelProto``, its bytes, or a path. Files of external data are looked for in the folder of the path, or in
            the working directory.
        full_check: also infer types, as ``infer_shapes(model, check_type=True, strict_mode=True)``.
        skip_opset_compatibility_check: accept functions whose operators differ from those in the versions of the model.
        check_custom_domain: require that every operator is known, not only those of ONNX's own domains.

    Raises:
        ValidationError: the model is not well formed.
        InferenceError: inference fails.
        ValueError: the bytes are no model, or there are more than `MAXIMUM_PROTOBUF`.
    """
    base = ""
    data: bytes | str
    if isinstance(model, (str, os.PathLike)):
        path = os.fsdecode(cast("str | os.PathLike[str]", model))
        data, base = path, os.path.dirname(path)
    else:
        data = model if isinstance(model, bytes) else model.SerializeToString()
        if len(data) > _maximum():
            raise ValueError(
                "This protobuf of onnx model is too large (>2GiB). Call check_model with model path instead."
            )
    try:
        violation = validated(
            "ModelProto",
            data,
            base=base,
            all_domains=check_custom_domain,
            skip_compatibility=skip_opset_compatibility_check,
        )
    except OSError as error:
        raise ValidationError(
            f"Unable to open proto file: {data!r}. Please check if it is a valid proto."
        ) from error
    if violation is not None:
        if _concerns_registered(violation):
            module = reference("onnx_cpp2py_export.checker")
            check = module.check_model if isinstance(data, bytes) else module.check_model_path
            check(data, full_check, skip_opset_compatibility_check, check_custom_domain)
            return
        raise ValidationError(violation)
    if full_check:
        shape_inference._infer(data, True, True, False)


def _maximum() -> int:
    # `typeloom.patch` leaves the constant of the reference's module, which programs may change.
    import sys

    patched = sys.modules.get("onnx.checker")
    if patched is not None and getattr(patched, "check_model", None) is check_model:
        return int(getattr(patched, "MAXIMUM_PROTOBUF", MAXIMUM_PROTOBUF))
    return MAXIMUM_PROTOBUF

