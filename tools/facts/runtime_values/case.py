"""A call of an operator."""

from dataclasses import dataclass, field

import numpy as np

DTYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "float16",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "uint16": "uint16",
    "int32": "int32",
    "uint32": "uint32",
    "int64": "int64",
    "uint64": "uint64",
    "bool": "bool",
    "object": "string",
}

ML = {"": 21, "ai.onnx.ml": 3}
ML_5 = {"": 21, "ai.onnx.ml": 5}
CONTRIB = {"": 17, "com.microsoft": 1}


@dataclass
class Case:
    op: str
    inputs: list
    attributes: dict = field(default_factory=dict)
    outputs: tuple = ("y",)
    constants: tuple = ()
    unspecified: tuple = ()
    versions: dict = field(default_factory=lambda: CONTRIB)
    # Results that ONNX Runtime writes to the memory of an input, by their names.
    in_place: dict = field(default_factory=dict)

    def __post_init__(self):
        self.inputs = [(name, array if array is None or isinstance(array, dict) else np.asarray(array)) for name, array in self.inputs]


def is_present(array):
    return array is not None


def normal(random, *shape, dtype=np.float32, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(dtype)


def ints(random, low, high, *shape, dtype=np.int64):
    return random.integers(low, high, shape).astype(dtype)


def one_of(random, *options):
    return options[int(random.integers(len(options)))]


def floats(random, *shape, scale=1.0):
    """A list of floats for an attribute."""
    return [float(value) for value in (random.standard_normal(shape) * scale).astype(np.float32).reshape(-1)]


def texts(*items):
    return np.array(items, dtype=object)
