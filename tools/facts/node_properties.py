"""The properties of a node that tables of measured targets use, computed as `crates/targets` computes them."""

import numpy
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper

ELEMENTS = {name.lower(): number for name, number in TensorProto.DataType.items() if number}
NAMES = {number: name for name, number in ELEMENTS.items()}
# Attributes whose values a type variable of an output has.
REDUNDANT = {"to", "dtype", "output_datatype"}
# Texts that are free, as an equation is.
FREE_TEXTS = {"equation", "body_code"}
# Attributes that hold data. It matters only whether they are given.
DATA = {"value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings"}

# Attributes or inputs whose number of elements matters: the rank of the result follows from it.
REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
LENGTHS = {
    "ai.onnx::Col2Im": "image_shape",
    "ai.onnx::ConstantOfShape": "input",
    "ai.onnx::Squeeze": "axes",
    "ai.onnx::Unsqueeze": "axes",
    **{f"ai.onnx::Reduce{kind}": "axes" for kind in REDUCTIONS},
}


def element_name(number: int) -> str:
    return NAMES[number]


def properties(signature, versions, graph: GraphProto, node: NodeProto, answer: dict) -> dict[str, str]:
    """The properties of a node, with the ports and attributes of all versions of its operator. `answer` is that of `typeloom infer`."""
    types = {**answer["inputs"], **answer["value_info"], **answer["outputs"]}
    constants = {}
    for tensor in graph.initializer:
        constants[tensor.name] = {"k": "tensor", "e": NAMES[tensor.data_type], "s": list(tensor.dims)}
    types.update(constants)
    for made in graph.node:
        if made.op_type == "Constant":
            constants.update(dict.fromkeys(made.output))
    declared = {value.name for value in graph.input}
    found: dict[str, str] = {}
    for name in unique(variable for one in versions for variable in one.types):
        found[f"type.{name}"] = type_of_variable(signature, node, name, types)
    ports = unique(port.name for one in versions for port in one.inputs)
    # The first value of a variadic input.
    inputs: dict[str, str] = {}
    for at, name in enumerate(node.input):
        port = signature.port(at)
        if port and name:
            inputs.setdefault(port.name, name)
    for port in ports:
        name = inputs.get(port)
        found[f"rank.{port}"] = rank(types.get(name)) if name else "none"
        found[f"extents.{port}"] = extents(types.get(name)) if name else "none"
        found[f"constant.{port}"] = "true" if name in constants and name not in declared else "false"
    given = {attribute.name: attribute for attribute in node.attribute}
    if name := LENGTHS.get(signature.operator):
        found[f"length.{name}"] = length(given.get(name), types.get(inputs[name]) if name in inputs else None)
    if signature.operator == "ai.onnx::GatherElements":
        found["gather.equal"] = equal_extents(*(types.get(inputs.get(port)) for port in ports), attribute_text(given.get("axis"), signature.attributes["axis"]))
    if any(port.option == "variadic" for one in versions for port in one.inputs):
        found["inputs"] = str(sum(map(bool, node.input)))
    if any(port.option != "single" for one in versions for port in one.outputs):
        found["outputs"] = str(sum(map(bool, node.output)))
    for name in unique(name for one in versions for name in one.attributes):
        kinds = {one.attributes[name].kind for one in versions if name in one.attributes}
        described = signature.attributes.get(name)
        if name in REDUNDANT or name in FREE_TEXTS:
            continue
        if kinds & {"int", "float", "string"} and name not in DATA:
            found[f"attribute.{name}"] = attribute_text(given.get(name), described)
        elif kinds == {"ints"} and name not in DATA and name not in ports:
            found[f"list.{name}"] = list_class(given.get(name))
        elif not kinds & {"graph"}:
            found[f"given.{name}"] = "true" if name in given else "false"
    return found


def unique(names) -> list[str]:
    return list(dict.fromkeys(names))


def type_of_variable(signature, node: NodeProto, variable: str, types: dict) -> str:
    for ports, names in ((signature.inputs, node.input), (signature.outputs, node.output)):
        for at, name in enumerate(names):
            port = ports[at] if at < len(ports) else ports[-1] if ports else None
            if name and port and port.type == variable and types.get(name):
                return type_text(types[name])
    return "none"


def type_text(ty: dict) -> str:
    match ty["k"]:
        case "tensor":
            return ty.get("e") or "unknown"
        case "sparse":
            return f"sparse({ty.get('e')})"
        case "seq":
            return f"seq({type_text(ty['of'])})"
        case "opt":
            return f"optional({type_text(ty['of'])})"
        case "map":
            return f"map({ty['key']},{type_text(ty['val'])})"
    return "unknown"


def rank(ty: dict | None) -> str:
    return str(len(ty["s"])) if ty and ty.get("s") is not None else "open"


def extents(ty: dict | None) -> str:
    known = ty and ty.get("s") is not None and all(isinstance(extent, int) for extent in ty["s"])
    return "fixed" if known else "open"


def equal_extents(data: dict | None, indices: dict | None, axis: str) -> str:
    """Whether no extents of two inputs, apart from those of the axis, are different numbers."""
    shapes = [ty.get("s") if ty else None for ty in (data, indices)]
    if None in shapes:
        return "open"
    pairs = enumerate(zip(*shapes))
    differ = (at != int(axis) % len(shapes[0]) and isinstance(a, int) and isinstance(b, int) and a != b for at, (a, b) in pairs)
    return "false" if any(differ) else "true"


def attribute_text(attribute: AttributeProto | None, described) -> str:
    value = helper.get_attribute_value(attribute) if attribute is not None else described.default if described else None
    if value is None:
        return "none"
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, float):
        return number(value)
    text = str(value)
    # The format separates values by spaces.
    return text if text and not any(sign.isspace() for sign in text) else "other"


def number(value: float) -> str:
    """The shortest decimal of a 32-bit float, without an exponent."""
    single = numpy.float32(value)
    if not numpy.isfinite(single):
        return {"inf": "inf", "-inf": "-inf"}.get(str(single), "NaN")
    return numpy.format_float_positional(single, trim="-")


def list_class(attribute: AttributeProto | None) -> str:
    if attribute is None:
        return "none"
    values = list(attribute.ints)
    if not values:
        return "empty"
    if any(value < 0 for value in values):
        return "negative"
    if all(value == 0 for value in values):
        return "zeros"
    if all(value == 1 for value in values):
        return "ones"
    return "uniform" if len(set(values)) == 1 else "mixed"


def length(attribute: AttributeProto | None, ty: dict | None) -> str:
    """The number of elements of a list attribute, or of an input."""
    if attribute is not None:
        return str(len(attribute.ints))
    if ty is None:
        return "none"
    shape = ty.get("s")
    if shape == []:
        return "1"
    return str(shape[0]) if shape and len(shape) == 1 and isinstance(shape[0], int) else "unknown"
