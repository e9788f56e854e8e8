"""Models that `runtime_kernels.py` loads to learn what the registries of ONNX Runtime do not list."""

import itertools
import multiprocessing
import os

import numpy
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

PROVIDER = "CPUExecutionProvider"

# Domains that the loader knows, in addition to those of its operators.
DOMAINS = ["ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.training", "com.microsoft.experimental", "com.ms.internal.nhwc"]

# No operator set and no IR has a version this high.
HIGHEST = 100

# The longest time for the load of a small model. It is much shorter also on a busy machine.
MAX_SECONDS = 60

# An IR version that all targets accept.
IR = 8

ELEMENTS = {name.lower(): number for name, number in TensorProto.DataType.items() if number}

# Operators with a body of other operators, each with examples: attributes, the shapes of the inputs, and the condition under which
# the example is representative, if the body depends on it. An attribute `{T2}` is the number of the element type of the variable.
FUNCTIONS = {
    "AffineGrid": [({}, [[1, 2, 3], [4]]), ({"align_corners": 1}, [[1, 3, 4], [5]])],
    "Attention": [
        ({"is_causal": causal, **more}, shapes, f"is_causal={causal}{'' if causal else '?'}")
        for causal in (0, 1)
        for more, shapes in (
            ({}, [[2, 3, 4, 8]] * 3),
            ({"softcap": 2.0}, [[2, 3, 4, 8]] * 3 + [[4, 4]]),
            ({"q_num_heads": 3, "kv_num_heads": 3}, [[2, 4, 24]] * 3),
            ({"scale": 0.5}, [[2, 3, 4, 8]] * 3 + [[2, 3, 4, 4]]),
        )
    ],
    "Bernoulli": [({"dtype": "{T2}"}, [[3]]), ({"dtype": "{T2}", "seed": 1.0}, [[3, 2]])],
    "BlackmanWindow": [({"output_datatype": "{T2}"}, [[]]), ({"output_datatype": "{T2}", "periodic": 0}, [[]])],
    "CastLike": [({}, [[2, 3], [1]])],
    "CausalConvWithState": [({}, [[2, 4, 8], [4, 1, 4]]), ({"activation": "silu"}, [[2, 4, 8], [4, 1, 4], [4], [2, 4, 3]])],
    "Celu": [({}, [[3]])],
    "CenterCropPad": [({}, [[4, 5], [2]]), ({"axes": [1]}, [[4, 5], [1]])],
    "Clip": [({}, [[3]], "inputs=1"), ({}, [[3], []], "inputs=2"), ({}, [[3], [], []], "inputs=3")],
    "DepthToSpace": [({"blocksize": 2}, [[1, 4, 2, 2]])],
    "DynamicQuantizeLinear": [({}, [[3]])],
    "Elu": [({}, [[3]])],
    "Gelu": [({}, [[3]], "approximate=none?"), ({"approximate": "tanh"}, [[3]], "approximate=tanh")],
    "GreaterOrEqual": [({}, [[3], [3]])],
    "GroupNormalization": [({"num_groups": 2}, [[1, 4, 2, 2], [4], [4]])],
    "HammingWindow": [({"output_datatype": "{T2}"}, [[]]), ({"output_datatype": "{T2}", "periodic": 0}, [[]])],
    "HannWindow": [({"output_datatype": "{T2}"}, [[]]), ({"output_datatype": "{T2}", "periodic": 0}, [[]])],
    "HardSigmoid": [({}, [[3]])],
    "HardSwish": [({}, [[3]])],
    "LayerNormalization": [({}, [[2, 3], [3]]), ({}, [[2, 3], [3], [3]]), ({"axis": 1}, [[2, 3, 4], [3, 4], [3, 4]])],
    "LeakyRelu": [({}, [[3]])],
    "LessOrEqual": [({}, [[3], [3]])],
    "LinearAttention": [
        ({"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}, [[2, 3, 16]] * 3),
        ({"q_num_heads": 2, "kv_num_heads": 2}, [[2, 3, 16]] * 3 + [[2, 2, 8, 8], [2, 3, 16], [2, 3, 2]]),
    ],
    "LogSoftmax": [({}, [[2, 3]])],
    "MeanVarianceNormalization": [({}, [[1, 2, 3, 3]])],
    "Mish": [({}, [[3]])],
    "NegativeLogLikelihoodLoss": [
        ({}, [[3, 5], [3]]),
        ({"reduction": "none", "ignore_index": 1}, [[3, 5, 2], [3, 2]]),
        ({"reduction": "sum"}, [[3, 5], [3], [5]]),
    ],
    "PRelu": [({}, [[3], [3]])],
    "RMSNormalization": [({}, [[2, 3], [3]]), ({"axis": 1}, [[2, 3, 4], [3, 4]])],
    "Range": [({}, [[], [], []])],
    "ReduceL1": [({}, [[2, 3]]), ({"keepdims": 0}, [[2, 3], [1]])],
    "ReduceL2": [({}, [[2, 3]]), ({"keepdims": 0}, [[2, 3], [1]])],
    "ReduceLogSum": [({}, [[2, 3]]), ({"keepdims": 0}, [[2, 3], [1]])],
    "ReduceLogSumExp": [({}, [[2, 3]]), ({"keepdims": 0}, [[2, 3], [1]])],
    "ReduceSumSquare": [({}, [[2, 3]]), ({"keepdims": 0}, [[2, 3], [1]])],
    "Relu": [({}, [[3]])],
    "RotaryEmbedding": [({}, [[2, 3, 4, 8], [50, 4], [50, 4], [2, 4]])],
    "Selu": [({}, [[3]])],
    "Shrink": [({}, [[3]])],
    "Softmax": [({}, [[2, 3]])],
    "SoftmaxCrossEntropyLoss": [
        ({}, [[3, 5], [3]]),
        ({"reduction": "none", "ignore_index": 1}, [[3, 5, 2], [3, 2]]),
        ({"reduction": "sum"}, [[3, 5], [3], [5]]),
    ],
    "Softplus": [({}, [[3]])],
    "Softsign": [({}, [[3]])],
    "SpaceToDepth": [({"blocksize": 2}, [[1, 1, 4, 4]])],
    "SwiGLU": [({}, [[2, 3], [2, 3]]), ({"alpha": 2.0}, [[2, 3], [2, 3]])],
    "Swish": [({}, [[3]]), ({"alpha": 2.0}, [[3]])],
    "ThresholdedRelu": [({}, [[3]])],
    "com.microsoft::BiasGelu": [({}, [[2, 3], [3]])],
    "com.microsoft::FastGelu": [({}, [[2, 3]]), ({}, [[2, 3], [3]])],
    "com.microsoft::Gelu": [({}, [[3]])],
    "com.microsoft::QuickGelu": [({}, [[3]])],
}

# Attributes that constructors of kernels may reject: other attributes, the tested ones with the condition that the value is an
# example of, and the shapes of inputs that are accepted without the tested ones.
ATTRIBUTES = {
    "Attention": [({}, {"scale": (0.0, "<=0")}, [[2, 3, 4, 8]] * 3)],
    "DFT": [({}, {"inverse": (1, "=1"), "onesided": (1, "=1")}, [[1, 6, 10, 2]])],
    "GRU": [({"hidden_size": 5}, {"layout": (1, "=1")}, [[3, 2, 4], [1, 15, 4], [1, 15, 5]])],
    "LRN": [({}, {"size": (size, condition)}, [[1, 2, 3, 3]]) for size, condition in [(0, "<=0"), *((n, f"={n}") for n in range(2, 21, 2))]],
    "LSTM": [({"hidden_size": 5}, {"layout": (1, "=1")}, [[3, 2, 4], [1, 20, 4], [1, 20, 5]])],
    "LpNormalization": [({}, {"p": (0, "<=0")}, [[2, 3]]), ({}, {"p": (3, ">=3")}, [[2, 3]])],
    "RNN": [({"hidden_size": 5}, {"layout": (1, "=1")}, [[3, 2, 4], [1, 5, 4], [1, 5, 5]])],
    "SequenceEmpty": [({}, {"dtype": (0, "<=0")}, [])],
}

# Operators with the attribute `saturate`: attributes and shapes, and the variable of the type that it is for.
SATURATING = {
    "Cast": ({"to": "{T2}"}, [[3]], "T2"),
    "CastLike": ({}, [[3], [1]], "T2"),
    "QuantizeLinear": ({}, [[3], [], []], None),
}

# Operators whose kernels compare attributes with lists of numbers before they have any shape: accepted attributes, and the
# compared ones. Every number of `NUMBERS` is tried.
LISTED = {"com.microsoft::MatMulNBits": ({"K": 64, "N": 32, "block_size": 32}, ("K", "N", "bits", "block_size"))}
NUMBERS = sorted({*range(-3, 301), *range(300, 5000, 50), *(2**power for power in range(9, 32))})

# Operators that slide a window over padded data.
POOLS = {"AveragePool", "LpPool", "MaxPool"}


# Operators whose shapes depend on the elements of inputs. Each input is the shape of a tensor, or a constant.
SHAPED = {
    "AffineGrid": [(2, 2, 3), [2, 3, 4, 5]],
    "BlackmanWindow": [5],
    "CenterCropPad": [(4, 5), [3, 3]],
    "Col2Im": [(1, 5, 5), [5, 5], [1, 5]],
    "ConstantOfShape": [[2, 3]],
    "DFT": [(1, 8, 1), 8, 1],
    "Expand": [(4, 1), [4, 5]],
    "HammingWindow": [5],
    "HannWindow": [5],
    "MelWeightMatrix": [4, 8, 8000, 0.0, 4000.0],
    "OneHot": [(3,), 5, [0.0, 1.0]],
    "Pad": [(2, 3), [0, 1, 0, 1], 0.0, [0, 1]],
    "Range": [0, 5, 1],
    "Reshape": [(4, 8), [-1, 16]],
    "Resize": [(1, 1, 4, 4), None, [1.0, 1.0, 2.0, 2.0]],
    "STFT": [(1, 32, 1), 4, None, 8],
    "Slice": [(4, 8), [0], [2], [1], [1]],
    "Split": [(4, 8), [1, 3]],
    "SplitToSequence": [(4, 8), [1, 3]],
    "Squeeze": [(1, 8), [0]],
    "Tile": [(4, 8), [2, 1]],
    "TopK": [(4, 8), [3]],
    "Unsqueeze": [(4, 8), [0]],
    "Upsample": [(1, 1, 4, 4), [1.0, 1.0, 2.0, 2.0]],
    **{f"Reduce{kind}": [(4, 8), [1]] for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()},
    "com.microsoft::ConvTransposeWithDynamicPads": [(1, 3, 8, 8), (3, 4, 3, 3), [0, 0, 0, 0]],
    "com.microsoft::ExpandDims": [(4, 8), 1],
    "com.microsoft::Range": [0, 5, 1],
}
# Other inputs of such operators, which exclude the ones above.
ALSO_SHAPED = {"Resize": [(1, 1, 4, 4), None, None, [1, 1, 8, 8]]}


class Loader:
    """Loads models in another process, because some crash it."""

    def __init__(self) -> None:
        self.child = None

    def load(self, model: onnx.ModelProto) -> str:
        """The error of the loader; empty if it accepts the model."""
        if self.child is None:
            processes = multiprocessing.get_context("fork")
            self.pipe, theirs = processes.Pipe()
            self.child = processes.Process(target=serve, args=(theirs,), daemon=True)
            self.child.start()
            theirs.close()
        self.pipe.send_bytes(model.SerializeToString())
        try:
            if self.pipe.poll(MAX_SECONDS):
                return self.pipe.recv()
        except EOFError:
            pass
        # A load that does not end is one that crashes.
        self.child.kill()
        self.child.join()
        self.child = None
        return "crashed"


def serve(pipe) -> None:
    # Crashes and warnings are expected.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    while True:
        try:
            ort.InferenceSession(pipe.recv_bytes(), options, providers=[PROVIDER])
            pipe.send("")
        except EOFError:
            return
        except Exception as error:  # noqa: BLE001: the loader has several kinds of errors
            pipe.send(" ".join(str(error).split()) or "failed")


def short(ty: str) -> str:
    """`tensor(float)` as `float`, and the same inside of other types."""
    for prefix, constructor in (("tensor(", ""), ("sparse_tensor(", "sparse"), ("seq(", "seq"), ("optional(", "optional")):
        if ty.startswith(prefix):
            inner = short(ty[len(prefix) : -1])
            return f"{constructor}({inner})" if constructor else inner
    if ty.startswith("map("):
        key, value = ty[4:-1].split(",", 1)
        return f"map({key.strip()},{short(value.strip())})"
    return ty


def model(op: str, domain: str, attributes, inputs, outputs: int, version: int, ir: int = IR) -> onnx.ModelProto:
    """A model of one node. Inputs are pairs of an element type and a shape."""
    names = [f"x{at}" for at in range(len(inputs))]
    results = [f"y{at}" for at in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    given = [helper.make_tensor_value_info(name, ELEMENTS[ty], shape) for name, (ty, shape) in zip(names, inputs)]
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name=name) for name in results])
    imports = {"": 13, domain: version}
    imports = [helper.make_opsetid(key, value) for key, value in imports.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir)


def newest_ir(loader: Loader) -> int:
    accepted = [ir for ir in range(3, HIGHEST) if not loader.load(model("Relu", "", {}, [("float", [2])], 1, 13, ir))]
    return max(accepted)


def newest_version(loader: Loader, domain: str) -> int | None:
    """The newest version of a domain that the loader accepts as an import; `None` if it accepts all."""

    def accepts(version: int) -> bool:
        plain = model("Relu", "", {}, [("float", [2])], 1, version if domain == "" else 13)
        if domain:
            plain.opset_import.append(helper.make_opsetid(domain, version))
        return "under development" not in loader.load(plain)

    accepted = [version for version in range(1, HIGHEST + 1) if accepts(version)]
    return None if accepted[-1] == HIGHEST else max(accepted)


def unknown_elements(loader: Loader) -> list[str]:
    """The element types that the loader rejects wherever they occur."""
    errors = {}
    for element in ELEMENTS:
        one = model("Relu", "", {}, [("float", [2])], 1, 13)
        one.graph.input.append(helper.make_tensor_value_info("unused", ELEMENTS[element], [2]))
        errors[element] = loader.load(one)
    reasons = ("not currently registered", "Invalid tensor data type")
    return [element for element, error in errors.items() if any(reason in error for reason in reasons)]


def ignores_attributes(loader: Loader, schema) -> bool:
    """Whether the loader accepts attributes that the signature does not contain."""
    if schema.domain or schema.name != "LayerNormalization":
        return False
    one = model(schema.name, "", {"unknown": 1}, [("float", [2, 3]), ("float", [3])], 1, max(schema.since_version, 17))
    return not loader.load(one)


def removed(loader: Loader) -> list[str]:
    """The operators that need no kernel because the loader turns them into initializers."""
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])
    one = model("Constant", "", {"value": tensor}, [], 1, 13)
    return [] if loader.load(one) else ["Constant"]


def domain_and_name(schema) -> str:
    return f"{schema.domain}::{schema.name}" if schema.domain else schema.name


def expanded(loader: Loader, schema, version: int, kernels) -> tuple[frozenset, frozenset, frozenset]:
    """The types without a kernel for which all examples of an operator load, those for which only some do, and those for which none
    does although a cast to other types would help.

    Each entry is a condition with the types of the variables at the inputs of the examples."""
    if domain_and_name(schema) == "SequenceMap":
        return sequence_maps(loader, schema, version), frozenset(), frozenset()
    results: dict[tuple, set[bool]] = {}
    uncast: set[tuple] = set()
    allowed = {one.type_param_str: tensors(one.allowed_type_strs) for one in schema.type_constraints}
    for attributes, shapes, *condition in FUNCTIONS.get(domain_and_name(schema), []):
        used = {formal.typeStr for formal, _ in zip(schema.inputs, shapes)}
        used |= {value[1:-1] for value in attributes.values() if str(value).startswith("{")}
        variables = {key: types for key, types in allowed.items() if key in used}
        for types in itertools.product(*variables.values()):
            binding = dict(zip(variables, types))
            accepted = not loader.load(example(schema, version, (attributes, shapes), binding))
            # The loader casts `float16` to `float` where only the latter has a kernel.
            cast = {key: "float" if ty == "float16" else ty for key, ty in binding.items()}
            implied = any(supports(kernel, one) for kernel in kernels for one in (binding, cast))
            if not (implied and accepted):
                key = (*condition, *sorted(binding.items())) if condition else ("", *sorted(binding.items()))
                if implied:
                    uncast.add(key)
                results.setdefault(key, set()).add(accepted)
    always = frozenset(key for key, accepted in results.items() if accepted == {True})
    sometimes = frozenset(key for key, accepted in results.items() if len(accepted) == 2)
    # The loader prefers the body to a cast, and fails if the body is wrong for the type.
    never = frozenset(key for key, accepted in results.items() if accepted == {False} and key in uncast)
    return always, sometimes, never


def tensors(types) -> list[str]:
    return sorted(short(ty) for ty in types if ty.startswith("tensor("))


def supports(kernel, binding) -> bool:
    return all(f"tensor({ty})" in kernel[key] for key, ty in binding.items() if key in kernel)


def example(schema, version: int, one, binding) -> onnx.ModelProto:
    attributes, shapes = one
    known = {name for name in schema.attributes}
    chosen = {}
    for key, value in attributes.items():
        if key in known:
            variable = value[1:-1] if isinstance(value, str) and value.startswith("{") else None
            chosen[key] = ELEMENTS[binding[variable]] if variable else value
    types = [binding.get(formal.typeStr, short(formal.typeStr)) for formal in schema.inputs]
    outputs = sum(formal.option.name == "Single" for formal in schema.outputs)
    return model(schema.name, schema.domain, chosen, list(zip(types, shapes)), outputs, version)


def rejections(loader: Loader, schema, last: int) -> list[tuple[str, str, list[str]]]:
    """The attribute values that the kernels of an operator reject: conditions, and the types of a variable that they are for."""
    found = []
    types = {one.type_param_str: preferred(one.allowed_type_strs) for one in schema.type_constraints}
    for fixed, tested, shapes in ATTRIBUTES.get(domain_and_name(schema), []):
        if not set(tested) <= set(schema.attributes):
            continue
        values = {key: value for key, (value, _) in tested.items()}
        plain = dict(fixed)
        if domain_and_name(schema) == "LRN":
            plain["size"] = 3
        error = loader.load(example(schema, last, ({**fixed, **values}, shapes), types))
        if error and not loader.load(example(schema, last, (plain, shapes), types)):
            found.append((" ".join(f"{key}{condition}" for key, (_, condition) in tested.items()), "", []))
    found += [(condition, "", []) for condition in listed_numbers(loader, schema, last)]
    found += packed_weights(loader, schema, last)
    found += [(conditions, "", []) for conditions in shape_of_nodes(loader, schema, last)]
    if rejects_negative_axes(loader, schema, last):
        found.append(("axes<=-1 constant=scales", "", []))
    if schema.name == "DictVectorizer":
        found += vocabularies(loader, schema, last)
    if domain_and_name(schema) in SATURATING and "saturate" in schema.attributes:
        attributes, shapes, variable = SATURATING[schema.name]
        variable = variable or schema.inputs[2].typeStr
        allowed = next(one.allowed_type_strs for one in schema.type_constraints if one.type_param_str == variable)
        rejected = []
        for ty in tensors(allowed):
            types[variable] = ty
            plain = loader.load(example(schema, last, (attributes, shapes), types))
            if not plain and loader.load(example(schema, last, ({**attributes, "saturate": 0}, shapes), types)):
                rejected.append(f"tensor({ty})")
        if rejected:
            found.append(("saturate=0", variable, rejected))
    return found


def listed_numbers(loader: Loader, schema, last: int) -> list[str]:
    """The conditions on attributes that a kernel rejects whatever the inputs are: `K<=-1`, or `bits!=2,4,8`."""
    found = []
    fixed, names = LISTED.get(domain_and_name(schema), ({}, ()))
    inputs = [(preferred(types_of(schema, formal)), None) for formal in schema.inputs if formal.option.name == "Single"]
    for name in names:
        one = [model(schema.name, schema.domain, {**fixed, name: value}, inputs, 1, last) for value in NUMBERS]
        accepted = [value for value, node in zip(NUMBERS, one) if not loader.load(node)]
        if accepted == NUMBERS[-len(accepted) :]:
            found += [f"{name}<={accepted[0] - 1}"] if len(accepted) < len(NUMBERS) else []
        else:
            found.append(f"{name}!={','.join(map(str, accepted))}")
    return found


def packed_weights(loader: Loader, schema, last: int) -> list[tuple[str, str, list[str]]]:
    """The block sizes and the types of zero points that `MatMulNBits` rejects for a number of bits."""
    if domain_and_name(schema) != "com.microsoft::MatMulNBits":
        return []
    sizes = [2**power for power in range(4, 13)]
    inputs = [("float", [1, 1 << 13]), ("uint8", None), ("float", None)]

    def loads(bits: int, size: int, more=()) -> bool:
        attributes = {"K": 1 << 13, "N": 8, "bits": bits, "block_size": size}
        return not loader.load(model(schema.name, schema.domain, attributes, [*inputs, *more], 1, last))

    found = []
    common = [size for size in sizes if loads(4, size)]
    for bits in (2, 8):
        accepted = [size for size in sizes if loads(bits, size)]
        if accepted != common:
            found.append((f"bits={bits} block_size!={','.join(map(str, accepted))}", "", []))
        types = [ty for ty in ("float", "float16") if not loads(bits, 32, [(ty, None)])]
        if types:
            found.append((f"bits={bits} present=zero_points", "T3", [f"tensor({ty})" for ty in types]))
    return found


def types_of(schema, formal) -> list[str]:
    """The types that an operator allows at a port."""
    allowed = (one.allowed_type_strs for one in schema.type_constraints if one.type_param_str == formal.typeStr)
    return next(allowed, [formal.typeStr])


def vocabularies(loader: Loader, schema, last: int) -> list[tuple[str, str, list[str]]]:
    """The types of maps for which each vocabulary is required."""
    needed: dict[str, list[str]] = {}
    names = ["int64_vocabulary", "string_vocabulary"]
    values = [[1], ["a"]]
    for ty in schema.type_constraints[0].allowed_type_strs:
        key, value = short(ty)[4:-1].split(",")
        given = helper.make_map_type_proto(ELEMENTS[key], helper.make_tensor_type_proto(ELEMENTS[value], None))
        errors = []
        for name, one in zip(names, values):
            node = helper.make_node(schema.name, ["x"], ["y"], domain=schema.domain, **{name: one})
            graph = helper.make_graph([node], "g", [onnx.ValueInfoProto(name="x", type=given)], [onnx.ValueInfoProto(name="y")])
            imports = [helper.make_opsetid(schema.domain, last)]
            errors.append(loader.load(helper.make_model(graph, opset_imports=imports, ir_version=IR)))
        for at in range(2):
            if not errors[at] and errors[1 - at]:
                needed.setdefault(names[at], []).append(ty)
    return [(f"absent={name}", schema.type_constraints[0].type_param_str, types) for name, types in needed.items()]


def shape_of_nodes(loader: Loader, schema, last: int) -> list[str]:
    """Combinations of attributes and numbers of ports that the loader rejects although the signature allows them."""
    found = []
    if schema.name == "BatchNormalization" and "training_mode" in schema.attributes:
        inputs = [("float", [1, 3, 2, 2]), *[("float", [3])] * 4]
        for training, outputs, condition in ((0, 3, "outputs>=2"), (1, 1, "outputs<=2")):
            if loader.load(model(schema.name, "", {"training_mode": training}, inputs, outputs, last)):
                found.append(f"training_mode={training}{'' if training else '?'} {condition}")
    if schema.name == "LinearClassifier":
        attributes = {"classlabels_ints": [1, 2], "coefficients": [0.5, -0.5]}
        results = []
        for more in ({}, {"intercepts": [0.0, 0.0]}):
            one = model(schema.name, schema.domain, {**attributes, **more}, [("float", [5])], 2, last)
            results.append(loader.load(one))
        if results[0] and not results[1]:
            found.append("absent=intercepts")
    return found


def rejects_negative_axes(loader: Loader, schema, last: int) -> bool:
    """Whether `Resize` rejects negative axes if its scales are constants."""
    if domain_and_name(schema) != "Resize" or "axes" not in schema.attributes:
        return False
    errors = []
    for axes in ([2, 3], [-2, -1]):
        one = model("Resize", "", {"axes": axes, "mode": "nearest"}, [("float", [1, 1, 2, 2])], 1, last)
        one.graph.node[0].input.extend(["", "scales"])
        one.graph.initializer.append(helper.make_tensor("scales", TensorProto.FLOAT, [2], [3.0, 2.0]))
        errors.append(loader.load(one))
    return not errors[0] and bool(errors[1])


def preferred(types) -> str:
    return "float" if "tensor(float)" in types else short(types[0])


def fusions(loader: Loader, schema, last: int) -> list[str]:
    """The types for which `MatMul` loads, but not after a `Transpose`, with which the loader fuses it."""
    if domain_and_name(schema) != "MatMul":
        return []
    found = []
    for ty in tensors(schema.type_constraints[0].allowed_type_strs):
        one = model("MatMul", "", {}, [(ty, [3, 3]), (ty, [3, 3])], 1, last)
        if loader.load(one):
            continue
        one.graph.node[0].input[0] = "t"
        one.graph.node.insert(0, helper.make_node("Transpose", ["x0"], ["t"], perm=[1, 0]))
        if loader.load(one):
            found.append(f"tensor({ty})")
    return found


def pads_are_bounded(loader: Loader, schema, last: int) -> bool:
    """Whether the kernels of an operator reject pads that are not smaller than the window."""
    if domain_and_name(schema) not in POOLS:
        return False
    errors = []
    for pad in (1, 2):
        attributes = {"kernel_shape": [2, 2], "pads": [1, 1, pad, pad]}
        errors.append(loader.load(example(schema, last, (attributes, [[1, 1, 5, 5]]), {"T": "float"})))
    return not errors[0] and bool(errors[1])


def crashes_on_constants(loader: Loader, schema, last: int) -> bool:
    """Whether the loader crashes on a node whose inputs are constants, with optional ones left out by name."""
    if domain_and_name(schema) != "DFT" or len(schema.inputs) < 3:
        return False
    one = example(schema, last, ({}, [[1, 5, 2]]), {"T1": "float", "T2": "int64"})
    del one.graph.input[:]
    one.graph.initializer.append(helper.make_tensor("x0", TensorProto.FLOAT, [1, 5, 2], [1.0] * 10))
    one.graph.node[0].input.extend(["", ""])
    return loader.load(one) == "crashed"


def crashes_when_transposed(loader: Loader, schema, last: int) -> bool:
    """Whether the loader crashes on a node with parameters for each axis before a `Transpose` without `perm`."""
    if domain_and_name(schema) != "DequantizeLinear" or "axis" not in schema.attributes:
        return False
    text = f"""<ir_version: 8, opset_import: ["" : {last}]> g (int8[2, 2] q, float[2] f) => (y)
    {{ d = DequantizeLinear<axis = 0>(q, f) y = Transpose(d) }}"""
    return loader.load(untyped(text)) == "crashed"


def side_reads(loader: Loader, schema, last: int) -> list[str]:
    """The inputs whose elements the inference of the loader reads, so that it fails if they are in another file. Before them,
    `ranked` if it does so only for a known rank of the first input, and `sized` if it needs extents of the other inputs."""
    examples = [table[domain_and_name(schema)][: len(schema.inputs)] for table in (SHAPED, ALSO_SHAPED) if domain_and_name(schema) in table]
    found, outcomes = [], []
    for inputs in examples:
        for at, value in enumerate(inputs):
            if value is None or isinstance(value, tuple):
                continue
            errors = [loader.load(with_side_file(schema, last, inputs, at, known)) for known in ("extents", "rank", "nothing")]
            if is_about_side_files(errors[0]):
                found.append(schema.inputs[at].name)
                outcomes.append([is_about_side_files(error) for error in errors])
    if not found or not isinstance(examples[0][0], tuple):
        return found
    needs = "sized" if not all(ranked for _, ranked, _ in outcomes) else "" if any(none for _, _, none in outcomes) else "ranked"
    return [needs, *found] if needs else found


def constant_crashes(loader: Loader, schema, last: int) -> list[str]:
    """The inputs that are constants where the loader crashes although the shapes of all others are known."""
    inputs = SHAPED.get(domain_and_name(schema), [])[: len(schema.inputs)]
    if not inputs or loader.load(with_side_file(schema, last, inputs, -1, "extents")) != "crashed":
        return []
    return [formal.name for formal, value in zip(schema.inputs, inputs) if value is not None and not isinstance(value, tuple)]


def is_about_side_files(error: str) -> bool:
    return any(reason in error for reason in ("data from external tensors", "shape initializer data"))


def with_side_file(schema, version: int, inputs, moved: int, known: str) -> onnx.ModelProto:
    """A node with one of its constants in another file. The extents of its tensors are declared, or only their ranks, or nothing."""
    allowed = {one.type_param_str: tensors(one.allowed_type_strs) for one in schema.type_constraints}
    names, given, stored = [], [], []
    for at, (formal, value) in enumerate(zip(schema.inputs, inputs)):
        names.append("" if value is None else f"x{at}")
        types = allowed.get(formal.typeStr, [short(formal.typeStr)])
        if isinstance(value, tuple):
            ty = "float" if "float" in types else types[0]
            shape = {"extents": value, "rank": [None] * len(value), "nothing": None}[known]
            given.append(helper.make_tensor_value_info(names[-1], ELEMENTS[ty], shape))
        elif value is not None:
            elements = value if isinstance(value, list) else [value]
            wanted = "float" if isinstance(elements[0], float) else "int64"
            number = ELEMENTS[wanted if wanted in types else types[0]]
            shape = [len(elements)] if isinstance(value, list) else []
            # Stored as exporters do: the loader reads other fields of a message in other ways.
            array = numpy.array(elements, helper.tensor_dtype_to_np_dtype(number)).reshape(shape)
            tensor = numpy_helper.from_array(array, names[-1])
            if at == moved:
                tensor = onnx.TensorProto(name=tensor.name, data_type=number, dims=shape, data_location=TensorProto.EXTERNAL)
                tensor.external_data.add(key="location", value="x.data")
            stored.append(tensor)
    results = ["y0", "y1"] if schema.name in ("TopK", "Split") else ["y0"]
    node = helper.make_node(schema.name, names, results, domain=schema.domain)
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name=name) for name in results], stored)
    imports = [helper.make_opsetid(domain, number) for domain, number in {"": 13, schema.domain: version}.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=IR)


def locale_conditions(loader: Loader, schema, last: int) -> list[str]:
    """The attributes for which an operator needs a locale that the machine may not have."""
    if schema.name != "StringNormalizer":
        return []
    found = []
    for action in ("NONE", "LOWER", "UPPER"):
        for sensitive in (0, 1):
            plain = {"case_change_action": action, "is_case_sensitive": sensitive, "locale": "xx_XX"}
            with_words = {**plain, "stopwords": ["a"]}
            ty = {"S": "string"}
            results = [loader.load(example(schema, last, (one, [[2]]), ty)) for one in (plain, with_words)]
            if any("locale" in result for result in results):
                marks = ("?" if action == "NONE" else "", "" if sensitive else "?")
                found.append(f"case_change_action={action}{marks[0]} is_case_sensitive={sensitive}{marks[1]}")
    return found


def folded(loader: Loader) -> list[str]:
    """The operators that the loader computes from the extents of their input, for any type."""
    one = model("Shape", "", {}, [("uint4", [2, 3])], 1, 24)
    return [] if loader.load(one) else ["Shape"]


# Nodes behind a `DequantizeLinear`, with a tensor `d` of three axes.
BEHIND = {
    "Flatten": "Flatten(d)", "Gather": "Gather(d, i)", "Identity": "Identity(d)", "MaxPool": "MaxPool<kernel_shape = [1]>(d)", "Neg": "Neg(d)",
    "ReduceMax": "ReduceMax(d)", "Relu": "Relu(d)", "Reshape": "Reshape(d, s)", "Slice": "Slice(d, i, j)", "Split": "Split<num_outputs = 1>(d)",
    "Squeeze": "Squeeze(d, i)", "Transpose": "Transpose(d)", "Unsqueeze": "Unsqueeze(d, i)",
}  # fmt: skip


def pushed(loader: Loader) -> list[str]:
    """The operators behind a `DequantizeLinear` of int8 that the loader moves before it, and then rejects the types."""
    text = """<ir_version: 8, opset_import: ["" : 21]> g (int8[1, 2, 3] q) => (y) <float f = {{1}}, int8 z = {{0}},
    int64[1] i = {{0}}, int64[1] j = {{1}}, int64[2] s = {{2, 3}}> {{ d = DequantizeLinear(q, f, z) h = {node} y = Sqrt(h) }}"""
    return [op for op, node in BEHIND.items() if "output_dtype" in loader.load(untyped(text.format(node=node)))]


def untyped(text: str) -> onnx.ModelProto:
    """The model without the types of its outputs, and without initializers that nothing reads."""
    one = onnx.parser.parse_model(text)
    read = {name for node in one.graph.node for name in node.input}
    stored = [tensor for tensor in one.graph.initializer if tensor.name in read]
    outputs = [onnx.ValueInfoProto(name=value.name) for value in one.graph.output]
    del one.graph.initializer[:], one.graph.output[:]
    one.graph.initializer.extend(stored)
    one.graph.output.extend(outputs)
    return one


def needs_all_outputs(loader: Loader) -> bool:
    """Whether the loader rejects a call of a model-local function that leaves out the last output."""
    text = '''<ir_version: 8, opset_import: ["" : 17, "l" : 1]> g (float[3] x) => (float[3] y) { y = l.f(x) }
    <domain: "l", opset_import: ["" : 17]> f (a) => (c, d) { c = Relu(a) d = Neg(a) }'''
    return bool(loader.load(onnx.parser.parse_model(text)))


def sequence_maps(loader: Loader, schema, version: int) -> frozenset:
    """The types for which `SequenceMap` loads, with a body that copies its input."""
    always = set()
    sequences = sorted(short(ty) for one in schema.type_constraints if one.type_param_str == "S" for ty in one.allowed_type_strs)
    others = sorted(short(ty) for one in schema.type_constraints if one.type_param_str == "V" for ty in one.allowed_type_strs)
    for ty in sequences:
        for other in [None, *others]:
            inputs = [sequence(value, name) for value, name in zip((ty, other), ("x", "z")) if value]
            element = ty[4:-1]
            given = [helper.make_tensor_value_info("a", ELEMENTS[element], None)]
            if other:
                given.append(helper.make_tensor_value_info("b", ELEMENTS[other.removeprefix("seq(").rstrip(")")], None))
            output = helper.make_tensor_value_info("c", ELEMENTS[element], None)
            body = helper.make_graph([helper.make_node("Identity", ["a"], ["c"])], "b", given, [output])
            node = helper.make_node("SequenceMap", [value.name for value in inputs], ["y"], body=body)
            graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
            one = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=IR)
            if not loader.load(one):
                always.add(("", ("S", ty), *([("V", other)] if other else [])))
    return frozenset(always)


def sequence(ty: str, name: str) -> onnx.ValueInfoProto:
    if ty.startswith("seq("):
        return helper.make_tensor_sequence_value_info(name, ELEMENTS[ty[4:-1]], None)
    return helper.make_tensor_value_info(name, ELEMENTS[ty], None)
