"""Names for annotations: the texts that options accept, and the forms of models and dims.

>>> from typing import get_args
>>> from typeloom.typing import Mode
>>> get_args(Mode)
('backward', 'forward', 'full')
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from typeloom._model import ModelLike
from typeloom._types import DimLike

__all__ = [
    "CompileCast",
    "ContractFormat",
    "DimLike",
    "Engine",
    "Level",
    "LinkCast",
    "Mode",
    "ModelLike",
    "Policy",
    "Precision",
    "RegistryMode",
]

Mode: TypeAlias = Literal["backward", "forward", "full"]
"""A direction of compatibility; see `typeloom.diff`."""

RegistryMode: TypeAlias = Literal[
    "none", "backward", "forward", "full", "backward_transitive", "forward_transitive", "full_transitive"
]
"""A compatibility mode of a subject; see `typeloom.registry.Registry.push`."""

Policy: TypeAlias = Literal[
    "minority",
    "lossless",
    "widest",
    "fewest",
    "to=bool",
    "to=int2",
    "to=int4",
    "to=int8",
    "to=int16",
    "to=int32",
    "to=int64",
    "to=uint2",
    "to=uint4",
    "to=uint8",
    "to=uint16",
    "to=uint32",
    "to=uint64",
    "to=float",
    "to=float16",
    "to=double",
    "to=bfloat16",
    "to=float4e2m1",
    "to=float6e2m3",
    "to=float6e3m2",
    "to=float8e4m3fn",
    "to=float8e4m3fnuz",
    "to=float8e5m2",
    "to=float8e5m2fnuz",
    "to=float8e8m0",
    "to=complex64",
    "to=complex128",
    "to=string",
]
"""The conversions that `typeloom.fix` may insert."""

Precision: TypeAlias = Literal["float16", "bfloat16", "float"]
"""The element types of `typeloom.convert`."""

LinkCast: TypeAlias = Literal["never", "lossless", "any"]
"""The casts that `typeloom.link` may insert."""

CompileCast: TypeAlias = Literal["never", "lossless", "as-declared"]
"""The conversion of edges by `typeloom.compile`."""

ContractFormat: TypeAlias = Literal[
    "triton", "oip", "mlflow", "json-schema", "openapi", "c-header", "rust", "python"
]
"""A format of `typeloom.Interface.to_contract`."""

Level: TypeAlias = Literal["allow", "warn", "deny"]
"""The severity of problems, as in settings files."""

Engine: TypeAlias = Literal["threads", "ray"]
"""An engine of `typeloom.fleet.check`."""


def __dir__() -> list[str]:
    return sorted(__all__)
