"""Arrays between NumPy and the extension module; see `crates/python/src/array.rs` for the forms."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from typeloom import _core
from typeloom._types import Type

# NumPy's own annotations leave parts of an array's type unknown.
_Array: TypeAlias = Any

# Element types that NumPy gets from the package `ml_dtypes`, by ONNX's name.
_EXTENDED = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float6e2m3": "float6_e2m3fn",
    "float6e3m2": "float6_e3m2fn",
    "float4e2m1": "float4_e2m1fn",
    "uint4": "uint4",
    "int4": "int4",
    "uint2": "uint2",
    "int2": "int2",
}
_NAMES = {extended: name for name, extended in _EXTENDED.items()}
_PACKED = {"float6e2m3", "float6e3m2", "float4e2m1", "uint4", "int4", "uint2", "int2"}


def to_core(value: Any, ty: Type | None) -> Any:
    """A value as the extension module reads it. `ty` is the type of the input, for values without an own one."""
    is_array = isinstance(value, np.ndarray)
    if is_array:
        return _array(value)
    if value is None:
        return ("optional", None)
    if ty is not None and ty.kind == "optional":
        return ("optional", to_core(value, ty.inner))
    if ty is not None and ty.kind == "sequence":
        return ("sequence", [to_core(item, ty.inner) for item in value])
    if ty is not None and ty.kind == "map" and _is_mapping(value):
        return _map(value, ty)
    if hasattr(value, "__dlpack__"):
        return _array(np.from_dlpack(value))
    return _array(np.asarray(value, dtype=_dtype_of(ty)))


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _map(value: Mapping[Any, Any], ty: Type) -> Any:
    """Keys in the order of the core, and their values as one array."""
    texts = ty.element == "string"
    entries: dict[Any, Any] = {str.encode(key) if texts else operator.index(key): value[key] for key in value}
    keys = sorted(entries)
    values = np.asarray([entries[key] for key in keys], dtype=_dtype_of(ty.inner))
    names = ("strings", [len(keys)], [key.decode() for key in keys]) if texts else np.array(keys, dtype=np.int64)
    return ("map", names, _array(values))


def _dtype_of(ty: Type | None) -> Any:
    """The type of elements of an input that is a list or a number."""
    element = None if ty is None else ty.element
    return None if element is None or element in _EXTENDED else dtype_of(element)


def dtype_of(element: str) -> Any:
    """The dtype of an element type by ONNX's name.

    Raises:
        ImportError: NumPy lacks the element type, and ``ml_dtypes`` is not installed.
    """
    names = {"float": "float32", "double": "float64", "string": "O"}
    if element not in _EXTENDED:
        return np.dtype(names.get(element, element))
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        raise ImportError(f"arrays of {element} need the package `ml_dtypes`") from None
    return np.dtype(getattr(ml_dtypes, _EXTENDED[element]))


def _array(array: _Array) -> Any:
    if array.dtype.kind in "OUT":
        return ("strings", list(array.shape), [str(item) for item in array.ravel()])
    element = _NAMES.get(array.dtype.name)
    if not array.flags.c_contiguous:
        array = np.array(array, order="C")
    if array.dtype.byteorder == (">" if sys.byteorder == "little" else "<"):
        array = array.astype(array.dtype.newbyteorder("="))
    if element is None:
        return array
    if element in _PACKED:
        # A byte for each element, of which the lowest bits are the code.
        codes: _Array = array.view(np.uint8) & np.uint8((1 << _bits(element)) - 1)
        return ("codes", element, list(array.shape), np.ascontiguousarray(codes))
    return ("raw", element, array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8))


def _bits(element: str) -> int:
    return 6 if element.startswith("float6") else 2 if element.endswith("int2") else 4


def _core_tensor(value: object) -> bool:
    return isinstance(value, _core.Tensor)


def from_core(value: Any) -> Any:
    """A result of the extension module as an array, a list, a dictionary or ``None``."""
    if _core_tensor(value):
        return np.asarray(value)
    parts = value
    kind: str = parts[0]
    if kind == "strings":
        strings: _Array = np.array(parts[2], dtype=object)
        return strings.reshape(tuple(parts[1]))
    if kind == "sequence":
        return [from_core(item) for item in parts[1]]
    if kind == "map":
        keys, values = from_core(parts[1]), from_core(parts[2])
        # Single numbers are Python's, as in ONNX Runtime.
        return dict(zip(keys.tolist(), values.tolist() if values.ndim == 1 else values, strict=True))
    if kind == "optional":
        return None if parts[1] is None else from_core(parts[1])
    array: _Array = np.asarray(parts[2])
    return array.view(dtype_of(parts[1]))
