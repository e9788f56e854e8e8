"""What the drop-in modules share: messages without the package `onnx`, settings, and the reference if it is loaded.

**Invariant:** nothing here needs the package `onnx`. Messages travel as bytes: `SerializeToString` of the argument, and
`FromString` of its type for results.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from typeloom import _core

__all__ = [
    "full_name",
    "is_registered",
    "message_name",
    "message_type",
    "reference",
    "settings",
    "validated",
]


@lru_cache(maxsize=None)
def settings() -> _core.Settings:
    """The options of the reference: unknown operators and unknown types are no errors."""
    return _core.Settings(strict=False)


@lru_cache(maxsize=None)
def reference(module: str) -> Any:
    """A module of the package `onnx` by its name below `onnx`, or ``None`` if the package is not installed."""
    if find_spec("onnx") is None:
        return None
    try:
        return import_module(f"onnx.{module}" if module else "onnx")
    except ImportError:
        return None


def full_name(message: object) -> str:
    """The name of the message type of an object, such as ``ModelProto``; empty if it is no message of ONNX."""
    return message_name(type(message))


def message_name(kind: type) -> str:
    """The name of a message type of ONNX, such as ``ModelProto``; empty for other types."""
    descriptor = getattr(kind, "DESCRIPTOR", None)
    name: str = getattr(descriptor, "full_name", "")
    package, _, last = name.rpartition(".")
    return last if package == "onnx" else ""


def message_type(name: str) -> Any:
    """A message class of the package `onnx`; ``None`` if the package is not installed."""
    onnx = reference("")
    return None if onnx is None else getattr(onnx, name)


def is_registered(operators: list[tuple[str, str]]) -> bool:
    """Whether one of the operators was registered in `onnx.defs` by this process."""
    if not operators or "onnx" not in sys.modules:
        return False
    defs = reference("defs")
    if defs is None:
        return False
    # A loop: the generator of `any` would take as long as one question.
    for domain, name in operators:
        if defs.has(name, domain=domain):
            return True
    return False


def validated(
    kind: str,
    message: bytes | str,
    ir_version: int = 0,
    opset_imports: dict[str, int] | None = None,
    *,
    base: str = "",
    all_domains: bool = False,
    skip_compatibility: bool = False,
) -> str | None:
    """The first violation of the rules of a message, or ``None``."""
    return _core.validate(
        kind,
        message,
        settings(),
        base,
        ir_version,
        dict(opset_imports or {}),
        all_domains,
        skip_compatibility,
    )
