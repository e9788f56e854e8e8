"""Runs a model in ONNX Runtime on behalf of ``typeloom run --compare ort``.

    python reference.py FOLDER

reads ``request.json`` in FOLDER and writes ``response.json``. A value is ``{"type": NUMBER, "shape": [...], "file": NAME}`` with ONNX's
number of the element type and a file with little-endian elements, ``{"type": 8, "shape": [...], "strings": [...]}``,
``{"sequence": [VALUE...]}``, ``{"map": {"keys": VALUE, "values": VALUE}}`` with two vectors, or ``{"optional": VALUE or null}``. An
output that has no such form is ``{"unsupported": MESSAGE}``.
An error is ``{"error": "import" | "load" | "run", "message": TEXT}``.
"""

import ctypes
import json
import re
import sys
from pathlib import Path

STRING = 8
#: NumPy's names of element types, by the numbers of ONNX.
NUMPY = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
    11: "float64", 12: "uint32", 13: "uint64",
}  # fmt: skip
#: Types of keys and values of maps, by the names of ONNX Runtime.
IN_MAPS = {"int64": 7, "float": 1, "double": 11, "string": STRING}
#: Types of the same size for those that NumPy does not have.
SAME_SIZE = {16: "uint16", 17: "uint8", 18: "uint8", 19: "uint8", 20: "uint8", 24: "uint8"}
#: Types with two elements in a byte.
HALF_BYTES = {21, 22, 23}


class Unsupported(Exception):
    """A value that the interface of ONNX Runtime for Python does not accept."""


def load(value, folder, numpy, onnxruntime):
    """A value of the request, in the form that a session accepts."""
    if "sequence" in value:
        return [load(item, folder, numpy, onnxruntime) for item in value["sequence"]]
    if "optional" in value:
        held = value["optional"]
        return None if held is None else load(held, folder, numpy, onnxruntime)
    if "map" in value:
        keys, values = (load(value["map"][part], folder, numpy, onnxruntime) for part in ("keys", "values"))
        if not isinstance(values, numpy.ndarray) or values.ndim != 1:
            raise Unsupported("values of maps are single numbers or texts in its interface for Python")
        return dict(zip(keys.tolist(), values.tolist()))
    number, shape = value["type"], value["shape"]
    if number == STRING:
        return numpy.array(value["strings"], dtype=object).reshape(shape)
    name = NUMPY.get(number) or SAME_SIZE.get(number)
    if name is None:
        raise Unsupported(f"inputs of ONNX's element type {number} cannot be given to its interface for Python")
    array = numpy.fromfile(folder / value["file"], dtype=name).reshape(shape)
    if number in NUMPY:
        return array
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, number)


class Writer:
    """Writes outputs into a folder."""

    def __init__(self, folder, numpy):
        self.folder, self.numpy, self.count = folder, numpy, 0

    def file(self, data):
        name = f"output-{self.count}.bin"
        self.count += 1
        (self.folder / name).write_bytes(data)
        return name

    def map(self, value, ty):
        """A dictionary, whose entries have the types in the text `ty`."""
        types = re.search(r"map\((\w+),tensor\((\w+)\)\)", ty)
        numbers = [IN_MAPS.get(name) for name in types.groups()] if types else [None]
        if None in numbers:
            return {"unsupported": f"a map in a value of type {ty}"}
        keys = sorted(value, key=lambda key: key.encode() if isinstance(key, str) else key)
        parts = zip(("keys", "values"), (keys, [value[key] for key in keys]), numbers)
        return {"map": {name: self.value(self.numpy.array(part, dtype=NUMPY.get(number, object))) for name, part, number in parts}}

    def value(self, value, ty=""):
        numpy = self.numpy
        if value is None:
            return {"optional": None}
        if isinstance(value, list):
            items = [self.value(item, ty) for item in value]
            broken = [item for item in items if "unsupported" in item]
            return broken[0] if broken else {"sequence": items}
        if isinstance(value, dict):
            return self.map(value, ty)
        if hasattr(value, "has_value"):
            return self.ort_value(value)
        if not isinstance(value, (numpy.ndarray, numpy.generic)):
            return {"unsupported": f"a value of type {type(value).__name__}"}
        array = numpy.asarray(value)
        if array.dtype.kind in "OU":
            return {"type": STRING, "shape": list(array.shape), "strings": [str(item) for item in array.ravel()]}
        numbers = [number for number, name in NUMPY.items() if name == array.dtype.name]
        if not numbers:
            return {"unsupported": f"an array of {array.dtype.name}"}
        data = numpy.ascontiguousarray(array).tobytes()
        return {"type": numbers[0], "shape": list(array.shape), "file": self.file(data)}

    def ort_value(self, value):
        if not value.has_value():
            return {"optional": None}
        if not value.is_tensor():
            return {"unsupported": "a sequence of an element type that NumPy does not have"}
        number, shape = value.element_type(), list(value.shape())
        if number == STRING:
            return self.value(value.numpy())
        elements = 1
        for extent in shape:
            elements *= extent
        if number in HALF_BYTES:
            size = (elements + 1) // 2
        elif number in NUMPY or number in SAME_SIZE:
            size = elements * self.numpy.dtype(NUMPY.get(number) or SAME_SIZE[number]).itemsize
        else:
            return {"unsupported": f"a tensor of ONNX's element type {number}"}
        data = ctypes.string_at(value.data_ptr(), size) if size else b""
        return {"type": number, "shape": shape, "file": self.file(data)}


def run(session, names, feed, onnxruntime):
    """The outputs: NumPy arrays, or values of ONNX Runtime if NumPy lacks a type of them."""
    plain = {"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bool)", "tensor(string)"}
    plain |= {f"tensor({sign}int{bits})" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    is_plain = all(output.type in plain or not output.type.startswith("tensor(") for output in session.get_outputs())
    is_value = {name: isinstance(value, onnxruntime.OrtValue) for name, value in feed.items()}
    if is_plain and not any(is_value.values()):
        return session.run(names, feed)
    for name, value in feed.items():
        if value is None or isinstance(value, (dict, list)):
            raise Unsupported(f"input {name} is no tensor, and another value has an element type that NumPy does not have")
        if not is_value[name]:
            feed[name] = onnxruntime.OrtValue.ortvalue_from_numpy(value)
    return session.run_with_ort_values(names, feed)


def respond(folder):
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        return {"error": "import", "message": str(error)}
    try:
        feed = {it["name"]: load(it["value"], folder, numpy, onnxruntime) for it in request["inputs"]}
    except Unsupported as error:
        return {"error": "run", "message": str(error)}
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        model = request["model"]
        if request["folder"] is not None:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", request["folder"])
            model = Path(model).read_bytes()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # Its errors have several classes, and some have none of its own.
        return {"error": "load", "message": str(error)}
    try:
        writer = Writer(folder, numpy)
        outputs = run(session, request["outputs"], feed, onnxruntime)
        types = {output.name: output.type for output in session.get_outputs()}
        values = [writer.value(value, types[name]) for name, value in zip(request["outputs"], outputs)]
    except Exception as error:  # As above.
        return {"error": "run", "message": str(error)}
    return {"version": onnxruntime.__version__, "outputs": values}


def main():
    folder = Path(sys.argv[1])
    response = respond(folder)
    (folder / "response.json").write_text(json.dumps(response), encoding="utf-8")


if __name__ == "__main__":
    main()
