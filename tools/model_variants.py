"""Changed copies of models, for `compare_targets.py`.

`alter` applies one to three random alterations to a model. Most results are still valid models, which the loader accepts or rejects
for a reason that the target decides; some are not, which tests the reports of errors as well.
"""

import copy
import random

import numpy as np
import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as runtime
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

ELEMENTS = [number for name, number in TensorProto.DataType.items() if name not in ("UNDEFINED", "STRING")]
# Values that attributes of several operators have.
STRINGS = [
    *(b"NOTSET", b"VALID", b"SAME_UPPER", b"nearest", b"linear", b"cubic", b"constant", b"reflect", b"edge", b"wrap", b"avg", b"max"),
    *(b"none", b"mean", b"sum", b"add", b"mul", b"min", b"forward", b"reverse", b"bidirectional", b"DCR", b"CRD", b"tanh", b"asymmetric"),
    *(b"align_corners", b"half_pixel", b"pytorch_half_pixel", b"tf_crop_and_resize", b"stretch", b"zeros", b"border", b"relu", b"RGB"),
]
MICROSOFT = "com.microsoft"


class Unchanged(Exception):
    """The alteration does not apply to the model."""


def alter(model: ModelProto, chance: random.Random, others) -> list[str]:
    """Changes a model, and returns the names of the alterations. `others` returns another random model."""
    if chance.random() < 0.8:
        model.ir_version = min(model.ir_version, chance.choice([8, 10, 13]))
    if chance.random() < 0.9:
        for one in model.opset_import:
            if one.domain in ("", "ai.onnx"):
                one.version = min(one.version, 25)
    applied = []
    wanted = chance.choices([1, 2, 3], [6, 3, 1])[0]
    for _ in range(12):
        if len(applied) == wanted:
            break
        (alteration,) = chance.choices(list(ALTERATIONS), list(ALTERATIONS.values()))
        try:
            alteration(model, chance, others)
            applied.append(alteration.__name__)
        except Unchanged:
            continue
    return applied


def pick(chance: random.Random, items):
    items = list(items)
    if not items:
        raise Unchanged
    return chance.choice(items)


# Versions.


def opset(model: ModelProto, chance: random.Random, _others) -> None:
    one = pick(chance, (one for one in model.opset_import if one.domain in ("", "ai.onnx")))
    one.version = chance.randint(6, 27)


def other_opset(model: ModelProto, chance: random.Random, _others) -> None:
    """The version of another domain; or a domain is imported, twice, or not at all."""
    one = pick(chance, model.opset_import)
    kind = chance.choice(["version", "twice", "new", "none"])
    if kind == "version" and one.domain not in ("", "ai.onnx"):
        one.version = chance.randint(1, 6)
    elif kind == "twice":
        model.opset_import.append(helper.make_opsetid(one.domain, chance.randint(max(1, one.version - 3), one.version + 1)))
    elif kind == "new":
        domains = ["ai.onnx.ml", MICROSOFT, "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft.nchwc", "ai.onnx.training", "a.b"]
        model.opset_import.append(helper.make_opsetid(chance.choice(domains), chance.randint(1, 6)))
    elif kind == "none" and len(model.opset_import) > 1:
        model.opset_import.remove(one)
    else:
        raise Unchanged


def ir_version(model: ModelProto, chance: random.Random, _others) -> None:
    model.ir_version = chance.randint(3, 14)


# Element types.


def elements(model: ModelProto, chance: random.Random, _others) -> None:
    """One element type is replaced by another in all declarations, and half of the time in initializers and attributes."""
    old = pick(chance, sorted(set(element_types(model.graph))))
    new = chance.choice(ELEMENTS)
    replace(model.graph, old, new, chance.random() < 0.5)


def one_element(model: ModelProto, chance: random.Random, _others) -> None:
    """The element type of one input is another one."""
    ty = pick(chance, (value.type for value in model.graph.input if value.type.HasField("tensor_type")))
    ty.tensor_type.elem_type = chance.choice(ELEMENTS)


def tensor_types(graph: GraphProto):
    for value in [*graph.input, *graph.output, *graph.value_info]:
        ty = value.type
        while ty.WhichOneof("value") in ("sequence_type", "optional_type"):
            ty = getattr(ty, ty.WhichOneof("value")).elem_type
        if ty.HasField("tensor_type"):
            yield ty.tensor_type


def element_types(graph: GraphProto):
    return (ty.elem_type for ty in tensor_types(graph))


def replace(graph: GraphProto, old: int, new: int, with_data: bool) -> None:
    for ty in tensor_types(graph):
        if ty.elem_type == old:
            ty.elem_type = new
    if with_data:
        for tensor in graph.initializer:
            if tensor.data_type == old:
                retype(tensor, new)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                replace(attribute.g, old, new, with_data)
            if with_data and node.op_type == "Constant" and attribute.HasField("t") and attribute.t.data_type == old:
                retype(attribute.t, new)
            if with_data and attribute.name in ("to", "dtype") and attribute.i == old:
                attribute.i = new


def retype(tensor: TensorProto, elem: int) -> None:
    try:
        array = numpy_helper.to_array(tensor)
        if array.dtype == object:
            array = np.zeros(array.shape, np.float32)
        changed = helper.make_tensor(tensor.name, elem, array.shape, array.astype(np.float32).ravel().tolist())
        tensor.CopyFrom(changed)
    except Exception as error:  # noqa: BLE001: not all data can be converted
        raise Unchanged from error


# Attributes.


def attribute_value(model: ModelProto, chance: random.Random, _others) -> None:
    node = pick(chance, (node for node in model.graph.node if node.attribute))
    attribute = chance.choice(node.attribute)
    if attribute.type == AttributeProto.INT:
        attribute.i = chance.choice([-1, 0, 1, 2, 3, 10])
    elif attribute.type == AttributeProto.INTS and attribute.ints:
        attribute.ints[chance.randrange(len(attribute.ints))] = chance.choice([-1, 0, 1, 2, 3])
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = chance.choice([-1.0, 0.0, 0.5, 2.0])
    elif attribute.type == AttributeProto.STRING:
        attribute.s = chance.choice(STRINGS)
    else:
        node.attribute.remove(attribute)


def attribute_removed(model: ModelProto, chance: random.Random, _others) -> None:
    node = pick(chance, (node for node in model.graph.node if node.attribute))
    node.attribute.remove(chance.choice(node.attribute))


def attribute_renamed(model: ModelProto, chance: random.Random, _others) -> None:
    node = pick(chance, (node for node in model.graph.node if node.attribute))
    chance.choice(node.attribute).name = chance.choice(["axis", "axes", "to", "mode", "alpha", "__x", "unknown", "keepdims"])


def attribute_retyped(model: ModelProto, chance: random.Random, _others) -> None:
    node = pick(chance, (node for node in model.graph.node if node.attribute))
    attribute = chance.choice(node.attribute)
    values = [1, 0.5, "constant", [0, 1], [0.5], ["a"]]
    attribute.CopyFrom(helper.make_attribute(attribute.name, chance.choice(values)))


def attribute_added(model: ModelProto, chance: random.Random, _others) -> None:
    """An attribute that some version of the operator has, with a plain value."""
    node = pick(chance, model.graph.node)
    known = {name: value for schema in schemas().get((node.domain, node.op_type), []) for name, value in schema.attributes.items()}
    name = pick(chance, sorted(set(known) - {attribute.name for attribute in node.attribute}))
    value = plain_attribute(name, known[name], chance)
    if value is None:
        raise Unchanged
    node.attribute.append(value)


def plain_attribute(name: str, described, chance: random.Random):
    kind = described.type.name
    values = {
        "INT": chance.choice([0, 1, 1, 2, -1]),
        "FLOAT": chance.choice([0.0, 0.5, 1.0]),
        "STRING": chance.choice(STRINGS).decode(),
        "INTS": [chance.choice([0, 1, 2]) for _ in range(chance.randint(1, 2))],
        "FLOATS": [0.5],
        "STRINGS": ["a"],
    }
    return helper.make_attribute(name, values[kind]) if kind in values else None


# Nodes.


def input_omitted(model: ModelProto, chance: random.Random, _others) -> None:
    node = pick(chance, (node for node in model.graph.node if node.input))
    at = chance.randrange(len(node.input))
    if at == len(node.input) - 1 and chance.random() < 0.5:
        del node.input[at]
    else:
        node.input[at] = ""


def input_added(model: ModelProto, chance: random.Random, _others) -> None:
    node = pick(chance, model.graph.node)
    names = [value.name for value in [*model.graph.input, *model.graph.initializer]]
    node.input.append(chance.choice([*names, ""]))


def output_omitted(model: ModelProto, chance: random.Random, _others) -> None:
    node = pick(chance, (node for node in model.graph.node if len(node.output) > 1))
    at = chance.randrange(len(node.output))
    name = node.output[at]
    if any(name in other.input for other in model.graph.node):
        raise Unchanged
    for value in [value for value in model.graph.output if value.name == name]:
        model.graph.output.remove(value)
    if at == len(node.output) - 1:
        del node.output[at]
    else:
        node.output[at] = ""


def operator(model: ModelProto, chance: random.Random, _others) -> None:
    """Another operator with as many inputs; its types may differ."""
    node = pick(chance, model.graph.node)
    count = len(node.input)
    fitting = [key for key, versions in schemas().items() if versions[-1].min_input <= count <= versions[-1].max_input]
    node.domain, node.op_type = pick(chance, fitting)
    import_domain(model, node.domain)


def domain(model: ModelProto, chance: random.Random, _others) -> None:
    node = pick(chance, model.graph.node)
    node.domain = chance.choice([MICROSOFT, "ai.onnx", "ai.onnx.ml", "", "a.b"])
    if chance.random() < 0.7:
        import_domain(model, node.domain)


def import_domain(model: ModelProto, name: str) -> None:
    name = "" if name == "ai.onnx" else name
    if all(one.domain != name for one in model.opset_import):
        model.opset_import.append(helper.make_opsetid(name, {"": 21, "ai.onnx.ml": 3}.get(name, 1)))


def node_appended(model: ModelProto, chance: random.Random, _others) -> None:
    """An operator without attributes reads an output of the graph."""
    graph = model.graph
    value = pick(chance, graph.output)
    unary = [key for key, versions in schemas().items() if versions[-1].min_input <= 1 and versions[-1].min_output <= 1]
    name, op = pick(chance, unary)
    node = helper.make_node(op, [value.name], ["appended"], domain=name)
    for key, described in schemas()[name, op][-1].attributes.items():
        if described.required and (plain := plain_attribute(key, described, chance)):
            node.attribute.append(plain)
    if op == "Cast":
        node.attribute[0].i = chance.choice(ELEMENTS)
    graph.node.append(node)
    import_domain(model, name)
    if chance.random() < 0.7:
        graph.output.remove(value)
    graph.output.append(ValueInfoProto(name="appended"))


def cast_before(model: ModelProto, chance: random.Random, _others) -> None:
    """An input of a node is cast, transposed or copied first."""
    graph = model.graph
    at = pick(chance, range(len(graph.node)))
    node = graph.node[at]
    port = pick(chance, (port for port, name in enumerate(node.input) if name))
    fresh = f"before{len(graph.node)}"
    kind = chance.choice(["Cast", "Cast", "Transpose", "Identity", "Dropout", "Relu", "Neg", "Shape", "Unsqueeze"])
    attributes = {"to": chance.choice(ELEMENTS)} if kind == "Cast" else {}
    graph.node.insert(at, helper.make_node(kind, [node.input[port]], [fresh], **attributes))
    node.input[port] = fresh
    import_domain(model, "")


# Inputs, initializers and constants.


def initializer_as_input(model: ModelProto, chance: random.Random, _others) -> None:
    """An initializer becomes an input, with or without a default value."""
    graph = model.graph
    tensor = pick(chance, (tensor for tensor in graph.initializer if all(tensor.name != value.name for value in graph.input)))
    graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    if chance.random() < 0.7:
        graph.initializer.remove(tensor)


def input_as_initializer(model: ModelProto, chance: random.Random, _others) -> None:
    graph = model.graph
    value = pick(chance, (value for value in graph.input if value.type.HasField("tensor_type")))
    tensor = some_tensor(value, chance)
    kind = chance.choice(["initializer", "both", "constant", "sparse"])
    if kind == "constant":
        graph.node.insert(0, helper.make_node("Constant", [], [value.name], value=tensor))
        import_domain(model, "")
    elif kind == "sparse":
        graph.sparse_initializer.append(sparse(tensor))
    else:
        graph.initializer.append(tensor)
    if kind != "both":
        graph.input.remove(value)


def some_tensor(value: ValueInfoProto, chance: random.Random) -> TensorProto:
    ty = value.type.tensor_type
    if not ty.HasField("shape") or any(not dim.HasField("dim_value") for dim in ty.shape.dim):
        raise Unchanged
    shape = [dim.dim_value for dim in ty.shape.dim]
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    if not 0 <= count < 5000:
        raise Unchanged
    try:
        if ty.elem_type == TensorProto.STRING:
            return helper.make_tensor(value.name, ty.elem_type, shape, [b"a"] * count)
        return helper.make_tensor(value.name, ty.elem_type, shape, [chance.choice([0, 1, 1, 2]) for _ in range(count)])
    except Exception as error:  # noqa: BLE001: not all types can be written
        raise Unchanged from error


def sparse(tensor: TensorProto) -> onnx.SparseTensorProto:
    try:
        array = numpy_helper.to_array(tensor)
    except Exception as error:  # noqa: BLE001: not all types can be read
        raise Unchanged from error
    flat = array.ravel()
    places = [at for at, item in enumerate(flat.tolist()) if item]
    if not places or array.ndim == 0:
        raise Unchanged
    try:
        values = helper.make_tensor(tensor.name, tensor.data_type, [len(places)], flat[places].tolist())
    except Exception as error:  # noqa: BLE001: not all types can be written
        raise Unchanged from error
    indices = helper.make_tensor("", TensorProto.INT64, [len(places)], places)
    return helper.make_sparse_tensor(values, indices, list(array.shape))


def initializer_as_sparse(model: ModelProto, chance: random.Random, _others) -> None:
    tensor = pick(chance, model.graph.initializer)
    model.graph.sparse_initializer.append(sparse(tensor))
    model.graph.initializer.remove(tensor)


def initializer_as_constant(model: ModelProto, chance: random.Random, _others) -> None:
    graph = model.graph
    tensor = pick(chance, (tensor for tensor in graph.initializer if all(tensor.name != value.name for value in graph.input)))
    graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))
    graph.initializer.remove(tensor)
    import_domain(model, "")


def unused_added(model: ModelProto, chance: random.Random, _others) -> None:
    """An input, an initializer or a node that nothing reads."""
    graph = model.graph
    elem = chance.choice(ELEMENTS)
    kind = chance.choice(["input", "initializer", "node"])
    if kind == "input":
        graph.input.append(helper.make_tensor_value_info("unused", elem, [2]))
    elif kind == "initializer":
        try:
            graph.initializer.append(helper.make_tensor("unused", elem, [2], [1, 1]))
        except Exception as error:  # noqa: BLE001: not all types can be written
            raise Unchanged from error
    else:
        value = pick(chance, graph.input)
        op = chance.choice(["Relu", "Identity", "Neg", "Not", "Shape", "Gelu", "Unknown"])
        graph.node.append(helper.make_node(op, [value.name], ["unused"]))
        import_domain(model, "")


# Declared types.


def shapes_removed(model: ModelProto, chance: random.Random, _others) -> None:
    """Ranks or extents are unknown, for some or all declarations."""
    kind = chance.choice(["rank", "extents", "symbols", "outputs"])
    if kind == "outputs":
        for value in model.graph.output:
            value.ClearField("type")
        del model.graph.value_info[:]
        return
    types = list(tensor_types(model.graph)) if chance.random() < 0.5 else [ty.tensor_type for ty in (value.type for value in model.graph.input) if ty.HasField("tensor_type")]
    if not types:
        raise Unchanged
    for ty in types:
        if kind == "rank":
            ty.ClearField("shape")
        else:
            for at, dim in enumerate(ty.shape.dim):
                if kind == "symbols":
                    dim.dim_param = f"d{at}"
                else:
                    dim.Clear()


def shape_changed(model: ModelProto, chance: random.Random, _others) -> None:
    """One extent, or the rank, of one declaration is another."""
    ty = pick(chance, (ty for ty in tensor_types(model.graph) if ty.HasField("shape")))
    kind = chance.choice(["extent", "more", "fewer", "zero"])
    if kind == "more" or not ty.shape.dim:
        ty.shape.dim.add().dim_value = chance.choice([1, 2, 3])
    elif kind == "fewer":
        del ty.shape.dim[chance.randrange(len(ty.shape.dim))]
    else:
        chance.choice(ty.shape.dim).dim_value = 0 if kind == "zero" else chance.choice([1, 2, 3, 4, 5, 8])


# Structure.


def in_function(model: ModelProto, chance: random.Random, _others) -> None:
    """A node becomes a call of a function that contains it."""
    graph = model.graph
    at = pick(chance, range(len(graph.node)))
    node = graph.node[at]
    inputs = [f"i{port}" if name else "" for port, name in enumerate(node.input)]
    outputs = [f"o{port}" if name else "" for port, name in enumerate(node.output)]
    inner = NodeProto()
    inner.CopyFrom(node)
    del inner.input[:], inner.output[:]
    inner.input.extend(inputs)
    inner.output.extend(outputs)
    if chance.random() < 0.8 and any(attribute.HasField("g") for attribute in node.attribute):
        raise Unchanged
    imports = [helper.make_opsetid(one.domain, one.version) for one in model.opset_import]
    for one in imports:
        if chance.random() < 0.3 and one.domain == "":
            one.version = chance.randint(7, 27)
    kept = [name for name in inputs if name], [name for name in outputs if name]
    function = helper.make_function("local", f"F{len(model.functions)}", *kept, [inner], imports)
    call = helper.make_node(function.name, [name for name in node.input if name], [name for name in node.output if name], domain="local")
    if chance.random() < 0.15 and len(call.output) > 1:
        del call.output[-1]
    graph.node.remove(node)
    graph.node.insert(at, call)
    if chance.random() < 0.9:
        model.functions.append(function)
    if chance.random() < 0.95:
        import_domain(model, "local")
    model.ir_version = max(model.ir_version, 8)


def in_branch(model: ModelProto, chance: random.Random, _others) -> None:
    """The nodes move into both branches of an `If`, or into one, with a condition that is an input or stored."""
    graph = model.graph
    if not graph.node or not graph.output or any(not value.type.WhichOneof("value") for value in graph.output):
        raise Unchanged
    inputs = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    if any(value.name in inputs for value in graph.output):
        raise Unchanged
    branches = {}
    for side in ("then", "else"):
        nodes = [copy.deepcopy(node) for node in graph.node]
        outputs = [ValueInfoProto(name=f"{side}_{value.name}") for value in graph.output]
        names = {name for node in nodes for name in node.output if name}
        for node in nodes:
            for names_of in (node.input, node.output):
                for at, name in enumerate(names_of):
                    if name in names:
                        names_of[at] = f"{side}_{name}"
        if chance.random() < 0.5:
            for output, value in zip(outputs, graph.output):
                output.type.CopyFrom(value.type)
        branches[f"{side}_branch"] = helper.make_graph(nodes, side, [], outputs)
    node = helper.make_node("If", ["condition"], [value.name for value in graph.output], **branches)
    if chance.random() < 0.5:
        graph.input.append(helper.make_tensor_value_info("condition", TensorProto.BOOL, []))
    else:
        graph.initializer.append(helper.make_tensor("condition", TensorProto.BOOL, [], [chance.choice([0, 1])]))
    del graph.node[:], graph.value_info[:]
    graph.node.append(node)
    import_domain(model, "")


def in_loop(model: ModelProto, chance: random.Random, _others) -> None:
    """A node without outputs of other types moves into the body of a `Loop`, as a scan output."""
    graph = model.graph
    node = pick(chance, (node for node in graph.node if len(node.output) == 1 and not any(one.HasField("g") for one in node.attribute)))
    at = list(graph.node).index(node)
    inner = NodeProto()
    inner.CopyFrom(node)
    inner.output[0] = "loop_result"
    body = helper.make_graph(
        [helper.make_node("Identity", ["loop_condition"], ["loop_next"]), inner],
        "body",
        [helper.make_tensor_value_info("loop_at", TensorProto.INT64, []), helper.make_tensor_value_info("loop_condition", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("loop_next", TensorProto.BOOL, []), ValueInfoProto(name="loop_result")],
    )
    graph.initializer.append(helper.make_tensor("trips", TensorProto.INT64, [], [2]))
    graph.node.remove(node)
    graph.node.insert(at, helper.make_node("Loop", ["trips", ""], [node.output[0]], body=body))
    for value in graph.output:
        if value.name == node.output[0]:
            value.ClearField("type")
    import_domain(model, "")


def combined(model: ModelProto, chance: random.Random, others) -> None:
    """Another model runs next to this one, or reads its outputs where the types are the same."""
    other = others()
    own = {one.domain: one.version for one in model.opset_import}
    if other.functions:
        raise Unchanged
    for one in other.opset_import:
        import_domain(model, one.domain)
        if one.domain not in own:
            model.opset_import[-1].version = one.version
    try:
        second = onnx.compose.add_prefix(other, "b_").graph
    except Exception as error:  # noqa: BLE001: models that are wrong on purpose
        raise Unchanged from error
    first = model.graph
    renamed = {}
    if chance.random() < 0.7:
        for value in second.input:
            for output in first.output:
                if output.type == value.type and output.type.WhichOneof("value"):
                    renamed[value.name] = output.name
    rename(second, renamed)
    first.input.extend(value for value in second.input if value.name not in renamed and value.name not in set(renamed.values()))
    for field in ("node", "initializer", "sparse_initializer", "output", "value_info"):
        getattr(first, field).extend(getattr(second, field))


def rename(graph: GraphProto, names: dict[str, str]) -> None:
    for node in graph.node:
        for at, name in enumerate(node.input):
            node.input[at] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, names)
    for value in graph.output:
        value.name = names.get(value.name, value.name)


def node_removed(model: ModelProto, chance: random.Random, _others) -> None:
    """A node is removed, and its outputs become inputs if their types are declared."""
    graph = model.graph
    node = pick(chance, graph.node)
    declared = {value.name: value for value in [*graph.value_info, *graph.output]}
    used = [name for name in node.output if any(name in other.input for other in graph.node)]
    if len(graph.node) < 2 or any(name not in declared for name in used):
        raise Unchanged
    graph.node.remove(node)
    graph.input.extend(declared[name] for name in used)
    for name in node.output:
        for value in [value for value in graph.output if value.name == name]:
            graph.output.remove(value)


# Models of one node, for operators that no recorded model has.


def schemas() -> dict[tuple[str, str], list]:
    if not SCHEMAS:
        for schema in runtime.get_all_operator_schema():
            if schema.domain not in ("com.ms.internal.nhwc", "com.microsoft.nchwc"):
                SCHEMAS.setdefault((schema.domain, schema.name), []).append(schema)
        for versions in SCHEMAS.values():
            versions.sort(key=lambda schema: schema.since_version)
    return SCHEMAS


SCHEMAS: dict[tuple[str, str], list] = {}


def one_node(chance: random.Random) -> ModelProto:
    """A model of one random operator with random types that its signature allows. The contributed operators are preferred."""
    keys = sorted(schemas())
    if chance.random() < 0.6:
        keys = [key for key in keys if key[0] == MICROSOFT]
    key = chance.choice(keys)
    schema = chance.choice(schemas()[key])
    if schema.deprecated and chance.random() < 0.7:
        schema = schemas()[key][-1]
    binding = {}
    for one in schema.type_constraints:
        allowed = [ty for ty in one.allowed_type_strs if ty.startswith("tensor(")] or list(one.allowed_type_strs)
        common = [ty for ty in ("tensor(float)", "tensor(int64)", "tensor(float16)") if ty in allowed]
        binding[one.type_param_str] = chance.choice(common if common and chance.random() < 0.6 else allowed)
    inputs, names = [], []
    rank = chance.choice([1, 2, 2, 3, 4])
    for at, formal in enumerate(schema.inputs):
        if formal.option.name == "Optional" and chance.random() < 0.6:
            names.append("")
            continue
        names.append(f"x{at}")
        inputs.append(ValueInfoProto(name=f"x{at}", type=type_of(binding.get(formal.typeStr, formal.typeStr), rank, chance)))
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{at}" for at, formal in enumerate(schema.outputs) if formal.option.name == "Single" or chance.random() < 0.3]
    node = helper.make_node(schema.name, names, outputs, domain=schema.domain)
    for name, described in sorted(schema.attributes.items()):
        if (described.required or chance.random() < 0.15) and (plain := plain_attribute(name, described, chance)):
            if name in ("to", "dtype") and plain.type == AttributeProto.INT:
                plain.i = chance.choice(ELEMENTS)
            node.attribute.append(plain)
    graph = helper.make_graph([node], "g", inputs, [ValueInfoProto(name=name) for name in outputs])
    version = schema.since_version
    imports = [helper.make_opsetid(schema.domain, version)]
    if schema.domain:
        imports.append(helper.make_opsetid("", chance.randint(11, 25)))
    return helper.make_model(graph, opset_imports=imports, ir_version=chance.choice([8, 10, 11]))


def type_of(text: str, rank: int, chance: random.Random) -> onnx.TypeProto:
    """The type with ONNX Runtime's notation; ranks differ, and some are unknown."""
    for prefix, make in (("seq(", helper.make_sequence_type_proto), ("optional(", helper.make_optional_type_proto)):
        if text.startswith(prefix):
            return make(type_of(text[len(prefix) : -1], rank, chance))
    if text.startswith("map("):
        key, value = text[4:-1].split(",", 1)
        return helper.make_map_type_proto(TensorProto.DataType.Value(key.strip().upper()), type_of(value.strip(), rank, chance))
    if not text.startswith(("tensor(", "sparse_tensor(")):
        text = f"tensor({text})"
    make = helper.make_sparse_tensor_type_proto if text.startswith("sparse") else helper.make_tensor_type_proto
    elem = TensorProto.DataType.Value(text.split("(")[1].rstrip(")").upper())
    kind = chance.random()
    if kind < 0.35:
        return make(elem, None)
    if kind < 0.55:
        rank = chance.choice([0, 1, 2, 3])
    return make(elem, [chance.choice([2, 2, 4, 1]) for _ in range(rank)])


# Alterations with their weights.
ALTERATIONS = {
    opset: 12,
    other_opset: 2,
    ir_version: 2,
    elements: 12,
    one_element: 5,
    attribute_value: 6,
    attribute_removed: 3,
    attribute_renamed: 1,
    attribute_retyped: 1,
    attribute_added: 3,
    input_omitted: 2,
    input_added: 1,
    output_omitted: 2,
    operator: 4,
    domain: 1,
    node_appended: 4,
    cast_before: 4,
    initializer_as_input: 4,
    input_as_initializer: 5,
    initializer_as_sparse: 1,
    initializer_as_constant: 2,
    unused_added: 2,
    shapes_removed: 4,
    shape_changed: 2,
    in_function: 5,
    in_branch: 3,
    in_loop: 2,
    combined: 3,
    node_removed: 2,
}
