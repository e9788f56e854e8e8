"""Models of one node for the scripts that measure a device: `openvino_probes.py` and `tract_probes.py`.

The examples are the backend tests of the pinned package `onnx` and those in `node_examples.py`. A *probe* is an example, adapted to one
version of its operator, with some random changes: element types, ranks, extents that are symbols, unknown shapes, constants, optional
ports and attributes. The command `typeloom` infers the types; a probe with errors is left out.
"""

import json
import random
import subprocess
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, defs, helper, numpy_helper

import node_examples
from node_properties import ELEMENTS, element_name, properties

ONNX_VERSION = "1.23.2"
NEWEST = defs.onnx_opset_version()
CONTRIB = Path(__file__).resolve().parents[2] / "crates" / "ops" / "data" / "com.microsoft.txt"
# Attributes with the number of an element type.
ELEMENT_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision")
# The part of the probes that differ from another one in one property only.
SIBLINGS = 0.45
# Attributes with one number for each spatial axis.
SPATIAL = ("kernel_shape", "strides", "dilations", "output_shape", "output_padding")


@dataclass
class Attribute:
    kind: str
    default: object = None
    required: bool = False


@dataclass
class Port:
    name: str
    type: str
    option: str = "single"


@dataclass
class Signature:
    """One version of an operator, which operator sets from `version` up to `until` have."""

    domain: str
    name: str
    version: int
    until: int
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    types: dict[str, list[str]] = field(default_factory=dict)
    attributes: dict[str, Attribute] = field(default_factory=dict)

    @property
    def operator(self) -> str:
        return f"{self.domain or 'ai.onnx'}::{self.name}"

    def port(self, at: int) -> Port | None:
        if at < len(self.inputs):
            return self.inputs[at]
        return self.inputs[-1] if self.inputs and self.inputs[-1].option == "variadic" else None


@dataclass
class Value:
    """An input: a tensor with its elements, or a value of another type."""

    array: numpy.ndarray | None
    elem: str = ""
    other: onnx.TypeProto | None = None
    constant: bool = False
    # `None`: the rank is unknown. Otherwise the numbers of the axes whose extents are symbols.
    open: frozenset | None = frozenset()

    def but(self, **changes) -> "Value":
        return Value(**{**self.__dict__, **changes})


@dataclass
class Probe:
    signature: Signature
    inputs: list[Value | None]
    attributes: dict[str, AttributeProto]
    outputs: int
    opset: int

    def copy(self) -> "Probe":
        return Probe(self.signature, list(self.inputs), dict(self.attributes), self.outputs, self.opset)


def signatures() -> dict[str, list[Signature]]:
    """All versions of all operators of `onnx` and of `com.microsoft.txt`, by name of the operator."""
    found: dict[str, list[Signature]] = {}
    for schema in defs.get_all_schemas_with_history():
        one = Signature(schema.domain, schema.name, schema.since_version, NEWEST)
        one.types = {each.type_param_str: sorted(map(short, each.allowed_type_strs)) for each in schema.type_constraints}
        for ports, formals in ((one.inputs, schema.inputs), (one.outputs, schema.outputs)):
            ports += [Port(each.name, short(each.type_str), each.option.name.lower()) for each in formals]
        for name, each in schema.attributes.items():
            default = helper.get_attribute_value(each.default_value) if each.default_value.name else None
            one.attributes[name] = Attribute(each.type.name.lower(), default, each.required)
        found.setdefault(one.operator, []).append(one)
    for one in contributed():
        found.setdefault(one.operator, []).append(one)
    for versions in found.values():
        versions.sort(key=lambda one: one.version)
        for one, after in zip(versions, versions[1:]):
            one.until = after.version - 1
    return dict(sorted(found.items()))


def contributed() -> list[Signature]:
    found, groups, domain = [], {}, ""
    for line in CONTRIB.read_text().splitlines():
        words = line.split()
        match words:
            case ["group", name, *elements]:
                groups[name] = elements
            case ["domain", name, _]:
                domain = "" if name == "ai.onnx" else name
            case ["op", name, version]:
                found.append(Signature(domain, name, int(version), NEWEST if not domain else 1))
            case ["type", name, kinds]:
                found[-1].types[name] = sorted(each for kind in kinds.split(",") for each in expanded(kind, groups))
            case ["type", name, *kinds]:
                found[-1].types[name] = sorted(each for kind in kinds for each in expanded(kind, groups))
            case ["in" | "out" as side, name, ty, *option]:
                ports = found[-1].inputs if side == "in" else found[-1].outputs
                ports.append(Port(name, short(ty), option[0] if option else "single"))
            case ["attr", name, kind, *rest]:
                default = None
                if "=" in rest:
                    text = " ".join(rest[rest.index("=") + 1 :])
                    default = {"int": int, "float": float}.get(kind, lambda it: it.strip('"'))(text)
                found[-1].attributes[name] = Attribute(kind, default, "required" in rest)
    return found


def expanded(kind: str, groups: dict[str, list[str]]) -> list[str]:
    """`tensor(floats+int8)` as its element types."""
    if not kind.startswith("tensor("):
        return [short(kind)]
    return [one for part in kind[len("tensor(") : -1].split("+") for one in groups.get(part, [part])]


def short(ty: str) -> str:
    """`tensor(float)` as `float`, also inside of other types."""
    return ty[len("tensor(") : -1] if ty.startswith("tensor(") else ty.replace("seq(tensor(", "seq(").replace("))", ")") if "tensor(" in ty else ty


# Examples.


def examples(known: dict[str, list[Signature]]) -> dict[str, list[Probe]]:
    """Examples of each operator, for its newest version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    found: dict[str, list[Probe]] = {name: [] for name in known}
    for case in cases:
        graph = case.model.graph
        if len(graph.node) != 1 or graph.initializer or not case.data_sets:
            continue
        node = graph.node[0]
        versions = known[f"{node.domain or 'ai.onnx'}::{node.op_type}"]
        values = {}
        for info, value in zip(graph.input, case.data_sets[0][0]):
            if info.type.HasField("tensor_type"):
                array = numpy_helper.to_array(value) if isinstance(value, TensorProto) else numpy.asarray(value)
                values[info.name] = Value(array, element_name(info.type.tensor_type.elem_type))
            else:
                values[info.name] = Value(None, other=info.type)
        inputs = [values.get(name) for name in node.input]
        attributes = {each.name: each for each in node.attribute}
        probe = Probe(versions[-1], inputs, attributes, len(node.output), NEWEST)
        found[versions[-1].operator].append(probe)
    for name, written in node_examples.EXAMPLES.items():
        versions = known[name]
        for attributes, values in written:
            made = {key: helper.make_attribute(key, value) for key, value in attributes.items()}
            # The example is for the newest version that has these attributes.
            fitting = [one for one in versions if set(made) <= set(one.attributes) and len(values) <= len(one.inputs) + 20]
            signature = fitting[-1] if fitting else versions[-1]
            inputs = [written_value(signature, at, value) for at, value in enumerate(values)]
            found[name].append(Probe(signature, inputs, made, 1, signature.until))
    return found


def written_value(signature: Signature, at: int, value) -> Value | None:
    """A tuple is a shape, a list or a number a constant, `None` an absent input."""
    if value is None:
        return None
    port = signature.port(at)
    allowed = signature.types.get(port.type, [port.type])
    elem = next((ty for ty in ("float", "int64", "uint8") if ty in allowed), allowed[0])
    if isinstance(value, tuple):
        array = numpy.arange(value[0]) if elem == "int64" and len(value) == 1 else numpy.ones(value, numpy.float32)
        return Value(array, elem)
    return Value(numpy.array(value), elem, constant=True)


def adapted(example: Probe, signature: Signature) -> Probe | None:
    """An example for another version of the operator. Inputs and attributes with the same name are exchanged."""
    if example.signature is signature:
        return example.copy()
    names = [port.name for port in signature.inputs]
    variadic = bool(signature.inputs) and signature.inputs[-1].option == "variadic"
    inputs: list[Value | None] = []
    attributes = {}
    for at, value in enumerate(example.inputs):
        port = example.signature.port(at)
        if port is None:
            return None
        if port.name not in names and port.name in signature.attributes:
            if value is not None and value.array is not None:
                made = as_attribute(port.name, value.array, signature.attributes[port.name].kind)
                if made is None:
                    return None
                attributes[port.name] = made
        elif at < len(names) or variadic:
            inputs.append(value)
    for name, attribute in example.attributes.items():
        if name in signature.attributes:
            attributes[name] = attribute
        elif name in names:
            at = names.index(name)
            inputs += [None] * (at + 1 - len(inputs))
            value = numpy.array(helper.get_attribute_value(attribute))
            inputs[at] = Value(value, "int64" if value.dtype.kind == "i" else "float", constant=True)
    return Probe(signature, inputs, attributes, min(example.outputs, max(1, len(signature.outputs))), signature.until)


def as_attribute(name: str, array: numpy.ndarray, kind: str) -> AttributeProto | None:
    values = array.ravel().tolist()
    if array.dtype.kind not in "iuf":
        return None
    if kind in ("ints", "floats"):
        kinds = {"ints": (int, AttributeProto.INTS), "floats": (float, AttributeProto.FLOATS)}
        convert, number = kinds[kind]
        return helper.make_attribute(name, list(map(convert, values)), attr_type=number)
    if kind in ("int", "float") and len(values) == 1:
        return helper.make_attribute(name, int(values[0]) if kind == "int" else float(values[0]))
    return None


# Changes.


def changed(example: Probe, chance: random.Random, target: tuple[str, str] | None, known_texts: dict[str, list]) -> Probe:
    """An example with random changes. `target` is a type variable with the type that it has to have."""
    probe = example.copy()
    signature = probe.signature
    if chance.random() < 0.2:
        ranked(probe, chance)
    elif chance.random() < 0.35:
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            chance.choice([prepended, prepended, prepended_first, appended, cut, cut, cut_last, scalar])(probe, chance)
    retyped(probe, chance, target)
    if chance.random() < 0.6:
        for _ in range(chance.choice([1, 1, 2, 3])):
            altered(probe, chance, known_texts)
    for at in range(len(probe.inputs) - 1, -1, -1):
        port = signature.port(at)
        if port and port.option == "optional" and chance.random() < 0.25:
            probe.inputs[at] = None
        elif port and port.option == "variadic" and at == len(probe.inputs) - 1 and chance.random() < 0.2:
            if chance.random() < 0.5 and at + 1 > len(signature.inputs):
                probe.inputs.pop()
            else:
                probe.inputs += [probe.inputs[at]] * chance.choice([1, 1, 2, 3, 6])
    while probe.inputs and probe.inputs[-1] is None:
        probe.inputs.pop()
    constants(probe, chance)
    extents(probe, chance)
    if signature.outputs and signature.outputs[-1].option == "variadic" and chance.random() < 0.6:
        probe.outputs = chance.choice([1, 2, 2, 3, 4, 6, 8])
        if "num_outputs" in signature.attributes and (len(probe.inputs) < 2 or probe.inputs[1] is None):
            probe.attributes["num_outputs"] = helper.make_attribute("num_outputs", probe.outputs)
    elif len(signature.outputs) > 1:
        required = sum(port.option == "single" for port in signature.outputs)
        if chance.random() < 0.5:
            probe.outputs = chance.randint(max(1, required), len(signature.outputs))
    probe.opset = chance.choice([signature.version, signature.until, signature.until])
    return probe


def tensors(probe: Probe) -> list[tuple[int, Value]]:
    return [(at, value) for at, value in enumerate(probe.inputs) if value is not None and value.array is not None]


def first_rank(probe: Probe) -> int | None:
    found = tensors(probe)
    return found[0][1].array.ndim if found else None


def add_axis(probe: Probe, chance: random.Random, only_first: bool) -> None:
    rank = first_rank(probe)
    if rank is None or rank >= 7:
        return
    extent = chance.choice([1, 2])
    for place, (at, value) in enumerate(tensors(probe)):
        array = value.array
        if place == 0 or (array.ndim == rank and rank and not only_first):
            probe.inputs[at] = value.but(array=numpy.stack([array] * extent))
        elif array.ndim == 1 and array.size in (rank, 2 * rank) and array.dtype.kind in "if" and rank:
            parts = numpy.split(array, array.size // rank)
            added = numpy.array([0 if array.size == 2 * rank else chance.choice([1, extent])], array.dtype)
            probe.inputs[at] = value.but(array=numpy.concatenate([each for part in parts for each in (added, part)]))
    shift_axes(probe, chance, rank, 1)


def ranked(probe: Probe, chance: random.Random) -> None:
    """Another rank of the first input, and of those that have the same."""
    wanted = chance.randrange(7)
    for _ in range(7):
        rank = first_rank(probe)
        if rank is None or rank == wanted:
            return
        (prepended if rank < wanted else cut)(probe, chance)


def shift_axes(probe: Probe, chance: random.Random, rank: int, by: int) -> None:
    for name, attribute in list(probe.attributes.items()):
        if name == "perm" and attribute.type == AttributeProto.INTS and by == 1:
            probe.attributes[name] = helper.make_attribute(name, [0, *(each + 1 for each in attribute.ints)])
        elif name in ("perm", "axes", "shape", "pads", "repeats") and by == -1:
            probe.attributes.pop(name)
        elif name in ("scales", "shape", "pads", "repeats") and by == 1 and len(helper.get_attribute_value(attribute)) in (rank, 2 * rank):
            values = list(helper.get_attribute_value(attribute))
            kind = type(values[0]) if values else int
            plain = kind(0 if name == "pads" else 1)
            half = values[rank:]
            probe.attributes[name] = helper.make_attribute(name, [plain, *values[:rank], *([plain, *half] if half else [])])
        elif name == "axis" and attribute.type == AttributeProto.INT and chance.random() < 0.5:
            probe.attributes[name] = helper.make_attribute(name, attribute.i + by)


def prepended(probe: Probe, chance: random.Random) -> None:
    add_axis(probe, chance, only_first=False)


def prepended_first(probe: Probe, chance: random.Random) -> None:
    add_axis(probe, chance, only_first=True)


def appended(probe: Probe, chance: random.Random) -> None:
    """A further spatial axis."""
    for at, value in tensors(probe):
        if value.array.ndim >= 3 and value.array.ndim < 7:
            probe.inputs[at] = value.but(array=numpy.stack([value.array] * min(4, value.array.shape[-1]), axis=-1))
    for name in SPATIAL:
        if name in probe.attributes:
            values = list(probe.attributes[name].ints)
            probe.attributes[name] = helper.make_attribute(name, [*values, *values[-1:]])
    if "pads" in probe.attributes and probe.attributes["pads"].ints:
        values = list(probe.attributes["pads"].ints)
        half = len(values) // 2
        probe.attributes["pads"] = helper.make_attribute("pads", [*values[:half], values[half - 1], *values[half:], values[-1]])


def cut(probe: Probe, chance: random.Random) -> None:
    """The first axis is left out."""
    rank = first_rank(probe)
    if not rank:
        return
    for place, (at, value) in enumerate(tensors(probe)):
        if value.array.ndim == rank and value.array.shape[0] and (place == 0 or rank > 1):
            probe.inputs[at] = value.but(array=numpy.asarray(value.array[0]))
        elif value.array.ndim == 1 and value.array.size in (rank, 2 * rank) and rank > 1:
            parts = numpy.split(value.array, value.array.size // rank)
            probe.inputs[at] = value.but(array=numpy.concatenate([part[1:] for part in parts]))
    shift_axes(probe, chance, rank, -1)


def cut_last(probe: Probe, _chance: random.Random) -> None:
    """The last spatial axis is left out."""
    for at, value in tensors(probe):
        if value.array.ndim >= 3 and value.array.shape[-1]:
            probe.inputs[at] = value.but(array=numpy.asarray(value.array[..., 0]))
    for name in SPATIAL:
        if name in probe.attributes and probe.attributes[name].ints:
            probe.attributes[name] = helper.make_attribute(name, list(probe.attributes[name].ints)[:-1])
    if "pads" in probe.attributes and len(probe.attributes["pads"].ints) > 1:
        values = list(probe.attributes["pads"].ints)
        half = len(values) // 2
        probe.attributes["pads"] = helper.make_attribute("pads", [*values[: half - 1], *values[half:-1]])


def scalar(probe: Probe, chance: random.Random) -> None:
    """The first inputs become scalars."""
    if chance.random() < 0.4:
        for at, value in tensors(probe):
            if value.array.size and (at == 0 or chance.random() < 0.7):
                probe.inputs[at] = value.but(array=value.array.ravel()[:1].reshape(()))


def retyped(probe: Probe, chance: random.Random, target: tuple[str, str] | None) -> None:
    signature = probe.signature
    binding = {}
    if target:
        binding[target[0]] = target[1]
        if chance.random() < 0.4:
            # Models of one precision are more frequent than mixed ones.
            binding.update({variable: target[1] for variable, allowed in signature.types.items() if target[1] in allowed})
    for variable, allowed in signature.types.items():
        if variable not in binding and chance.random() < 0.25:
            binding[variable] = chance.choice(allowed)
    for at, value in enumerate(probe.inputs):
        port = signature.port(at)
        if value is None or port is None:
            continue
        allowed = signature.types.get(port.type, [port.type])
        wanted = binding.get(port.type)
        if wanted is None and value.elem not in allowed and value.other is None:
            wanted = binding[port.type] = chance.choice(allowed)
        if wanted is None or wanted == value.elem:
            continue
        if wanted in ELEMENTS:
            array = value.array if value.array is not None else numpy.ones((2, 3), numpy.float32)
            probe.inputs[at] = Value(array, wanted, constant=value.constant)
        elif (other := composed(wanted, value)) is not None:
            probe.inputs[at] = Value(None, other=other)
    for name in ELEMENT_ATTRIBUTES:
        described = signature.attributes.get(name)
        if described and described.kind == "int" and (name in ("to", "dtype") or name in probe.attributes or chance.random() < 0.3):
            variables = [port.type for port in signature.outputs if port.type in signature.types]
            inputs = {port.type for port in signature.inputs}
            free = [variable for variable in variables if variable not in inputs]
            if free and (free[0] in binding or described.required):
                elem = binding.get(free[0]) or chance.choice(signature.types[free[0]])
                if elem in ELEMENTS:
                    probe.attributes[name] = helper.make_attribute(name, ELEMENTS[elem])
    if signature.attributes.get("value") and signature.attributes["value"].kind == "tensor":
        free = signature.outputs[0].type
        elem = binding.get(free) or "float"
        if elem in ELEMENTS and "value" in probe.attributes:
            shape = list(probe.attributes["value"].t.dims)
            probe.attributes["value"] = helper.make_attribute("value", tensor("value", elem, numpy.ones(shape)))


def composed(ty: str, value: Value) -> onnx.TypeProto | None:
    """The type `seq(float)` or `optional(float)` around a tensor of the example's shape."""
    for prefix, make in (("seq(", helper.make_sequence_type_proto), ("optional(", helper.make_optional_type_proto)):
        if ty.startswith(prefix):
            inner = composed(ty[len(prefix) : -1], value)
            return inner and make(inner)
    if ty not in ELEMENTS:
        return None
    shape = value.array.shape if value.array is not None else (2, 3)
    return helper.make_tensor_type_proto(ELEMENTS[ty], shape)


def sibling(probe: Probe, chance: random.Random, known_texts: dict[str, list]) -> Probe:
    """A copy in which one attribute differs, one input is a constant or is none, or has symbols or has none."""
    probe = probe.copy()
    found = [(at, value) for at, value in tensors(probe) if value.open is not None]
    if not found or (probe.signature.attributes and chance.random() < 0.4):
        altered(probe, chance, known_texts)
        return probe
    at, value = chance.choice(found)
    if value.constant or chance.random() < 0.5:
        probe.inputs[at] = value.but(constant=not value.constant)
    else:
        axes = [axis for axis in range(value.array.ndim) if chance.random() < 0.5]
        probe.inputs[at] = value.but(open=frozenset() if value.open else frozenset(axes))
    return probe


INTS = [-2, -1, 0, 1, 2, 3, 4]
FLOATS = [-1.0, 0.0, 0.5, 1.0, 2.0, 1e-5, 1e-12, 100.0]


def altered(probe: Probe, chance: random.Random, known_texts: dict[str, list]) -> None:
    """One attribute has another value."""
    names = [name for name in probe.signature.attributes if name not in ELEMENT_ATTRIBUTES]
    if not names:
        return
    name = chance.choice(names)
    described = probe.signature.attributes[name]
    old = probe.attributes.get(name)
    if old is not None and not described.required and chance.random() < 0.3:
        del probe.attributes[name]
    elif described.kind == "int":
        probe.attributes[name] = helper.make_attribute(name, chance.choice([0, 1] if described.default in (0, 1) and name != "axis" and chance.random() < 0.6 else INTS))
    elif described.kind == "float":
        probe.attributes[name] = helper.make_attribute(name, chance.choice(FLOATS))
    elif described.kind == "string" and known_texts.get(name):
        probe.attributes[name] = helper.make_attribute(name, chance.choice(known_texts[name]))
    elif described.kind == "ints":
        rank = first_rank(probe) or 0
        length = len(old.ints) if old is not None and chance.random() < 0.8 else chance.choice([0, 1, 2, max(0, rank - 2), rank, 2 * max(0, rank - 2)])
        if name == "perm":
            values = list(range(rank))
            chance.shuffle(values)
        elif chance.random() < 0.4:
            values = [chance.choice([0, 1, 1, 2, -1])] * length
        else:
            values = [chance.choice([0, 1, 1, 2, 2, 3, -1]) for _ in range(length)]
        probe.attributes[name] = AttributeProto(name=name, type=AttributeProto.INTS, ints=values)


def constants(probe: Probe, chance: random.Random) -> None:
    everything = chance.random() < 0.08
    for place, (at, value) in enumerate(tensors(probe)):
        likely = 0.1 if place == 0 else 0.7 if value.array.ndim <= 1 and value.array.dtype.kind in "iu" else 0.5
        probe.inputs[at] = value.but(constant=everything or chance.random() < likely)


def extents(probe: Probe, chance: random.Random) -> None:
    kind = chance.choice(["fixed", "fixed", "fixed", "symbols", "symbols", "some", "some", "unknown", "mixed"])
    for at, value in tensors(probe):
        rank = value.array.ndim
        here = chance.choice(["fixed", "symbols", "some", "unknown"]) if kind == "mixed" else kind
        if here == "symbols":
            axes = frozenset(range(rank))
        elif here == "some":
            axes = frozenset(axis for axis in range(rank) if chance.random() < 0.35)
        else:
            axes = None if here == "unknown" else frozenset()
        probe.inputs[at] = value.but(open=axes)


# Models.


def tensor(name: str, elem: str, array: numpy.ndarray) -> TensorProto:
    flat = numpy.asarray(array).ravel().tolist()
    if elem == "string":
        values = [str(each).encode() for each in flat]
    elif elem == "bool":
        values = [bool(each) for each in flat]
    elif elem.startswith("complex"):
        values = [complex(each) if not isinstance(each, (str, bytes)) else 1j for each in flat]
    else:
        numbers = [0.0 if isinstance(each, (str, bytes)) else each.real if isinstance(each, complex) else each for each in flat]
        values = [float(each) for each in numbers] if "float" in elem or elem == "double" else [int(each) if abs(each) < 1e9 else 1 for each in numbers]
        if elem.startswith("uint"):
            values = [abs(each) for each in values]
        if elem in ("int8", "uint8", "int4", "uint4", "int2", "uint2"):
            top = {"int8": 127, "uint8": 255, "int4": 7, "uint4": 15, "int2": 1, "uint2": 3}[elem]
            values = [max(min(each, top), 0 if elem[0] == "u" else -top) for each in values]
    return helper.make_tensor(name, ELEMENTS[elem], list(numpy.shape(array)), values)


def model(probe: Probe) -> ModelProto:
    signature = probe.signature
    inputs, initializers, names = [], [], []
    for at, value in enumerate(probe.inputs):
        if value is None:
            names.append("")
            continue
        name = f"x{at}"
        names.append(name)
        if value.other is not None:
            inputs.append(ValueInfoProto(name=name, type=value.other))
        elif value.constant:
            initializers.append(tensor(name, value.elem, value.array))
        else:
            shape = None
            if value.open is not None:
                # Equal extents get one symbol, so that a shape with symbols is as consistent as the example.
                shape = [f"n{extent}" if axis in value.open else extent for axis, extent in enumerate(value.array.shape)]
            inputs.append(helper.make_tensor_value_info(name, ELEMENTS[value.elem], shape))
    outputs = [f"y{at}" for at in range(probe.outputs)]
    node = helper.make_node(signature.name, names, outputs, domain=signature.domain)
    node.attribute.extend(probe.attributes.values())
    graph = helper.make_graph([node], "g", inputs, [ValueInfoProto(name=name) for name in outputs], initializers)
    imports = [helper.make_opsetid(signature.domain, probe.opset)]
    if signature.domain:
        imports.append(helper.make_opsetid("", 21))
    return helper.make_model(graph, opset_imports=imports, ir_version=10 if probe.opset <= 24 else 13)


def infer(command: str, models: list[bytes]) -> list[dict]:
    """What `typeloom infer` reports about each model."""
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(models):
            (Path(folder) / f"{number:06}.onnx").write_bytes(one)
        line = [command, "infer", "--format", "json", "--no-ignore", folder]
        output = subprocess.run(line, capture_output=True, text=True, check=False).stdout
    found: list[dict] = [{"ok": False}] * len(models)
    for line in output.splitlines():
        answer = json.loads(line)
        found[int(Path(answer["file"]).stem)] = answer
    return found


@dataclass
class Row:
    operator: str
    version: int
    opset: int
    properties: dict[str, str]
    model: bytes
    outcome: str = "?"
    error: str = ""


def rows_of(versions: list[Signature], own: list[Probe], wanted: int, command: str, seed: int, rounds: int = 6) -> list[Row]:
    """Up to `wanted` different probes of an operator."""
    chance = random.Random(f"{seed} {versions[0].operator}")
    texts: dict[str, list] = {}
    for example in own:
        for name, attribute in example.attributes.items():
            if attribute.type == AttributeProto.STRING and attribute.s not in texts.setdefault(name, []):
                texts[name].append(attribute.s)
    for name, more in node_examples.TEXTS.items():
        if any(name in one.attributes for one in versions):
            texts[name] = sorted({*texts.get(name, []), *more})
    bases = {}
    for one in versions:
        fitting = [probe for example in own if (probe := adapted(example, one)) is not None]
        if fitting:
            bases[one.version] = (one, fitting)
    found: dict[tuple, list[Row]] = {}
    accepted: list[Probe] = []
    cycle = 0
    for _ in range(rounds):
        total = sum(map(len, found.values()))
        if total >= wanted or not bases:
            break
        made: list[Probe] = []
        for number in range(2 * (wanted - total) + 40):
            signature, fitting = bases[list(bases)[number % len(bases)]]
            targets = [(name, ty) for name, allowed in signature.types.items() for ty in allowed]
            cycle += 1
            target = targets[cycle // len(bases) % len(targets)] if targets and chance.random() < 0.75 else None
            try:
                if accepted and chance.random() < SIBLINGS:
                    made.append(sibling(chance.choice(accepted), chance, texts))
                else:
                    made.append(changed(chance.choice(fitting), chance, target, texts))
            except (ValueError, IndexError, TypeError, OverflowError):
                continue
        messages, kept = [], []
        for probe in made:
            try:
                messages.append(model(probe).SerializeToString())
                kept.append(probe)
            except (ValueError, TypeError, OverflowError, KeyError, AttributeError):
                continue
        for probe, message, answer in zip(kept, messages, infer(command, messages)):
            if not answer["ok"]:
                continue
            signature = probe.signature
            node = onnx.load_from_string(message)
            known = properties(signature, versions, node.graph, node.graph.node[0], answer)
            key = (signature.version, tuple(known.values()))
            if not hides_rank(probe) and len(found.setdefault(key, [])) < 2:
                found[key].append(Row(signature.operator, signature.version, probe.opset, known, message))
                accepted.append(probe)
    return [row for rows in found.values() for row in rows][:wanted]


def hides_rank(probe: Probe) -> bool:
    """Whether a further value of a variadic input has an unknown rank, which the properties do not tell."""
    ports = probe.signature.inputs
    if not ports or ports[-1].option != "variadic":
        return False
    unknown = [value.open is None and not value.constant for value in probe.inputs[len(ports) - 1 :] if value is not None]
    return any(unknown) and not unknown[0]


def unknown_model(signature: Signature) -> bytes:
    """A node of an operator, as small as possible. It may be ill-typed: it tells only whether the runtime knows the operator."""
    node = helper.make_node(signature.name, ["x"], ["y"], domain=signature.domain)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])], [ValueInfoProto(name="y")])
    imports = [helper.make_opsetid(signature.domain, signature.version)]
    if signature.domain:
        imports.append(helper.make_opsetid("", 21))
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def node_proto(message: bytes) -> NodeProto:
    return onnx.load_from_string(message).graph.node[0]
