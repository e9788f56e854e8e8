"""Models that `runtime_kernels.py` loads to learn what the registries of ONNX Runtime do not list."""

import itertools
import multiprocessing

import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

PROVIDER = "CPUExecutionProvider"

# Domains that the loader knows, in addition to those of its operators.
DOMAINS = ["ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.training", "com.microsoft.experimental", "com.ms.internal.nhwc"]

# No operator set and no IR has a version this high.
HIGHEST = 100

# An IR version that all targets accept.
IR = 8

ELEMENTS = {name.lower(): number for name, number in TensorProto.DataType.items() if number}

# Operators with a body of other operators, each with examples: attributes, the shapes of the inputs, and the condition under which
# the example is representative, if the body depends on it. An attribute `{T2}` is the number of the element type of the variable.
FUNCTIONS = {
    "AffineGrid": [({}, [[1, 2, 3], [4]]), ({"align_corners": 1}, [[1, 3, 4], [5]])],
    "Attention": [
        ({}, [[2, 3, 4, 8]] * 3),
        ({"is_causal": 1, "softcap": 2.0}, [[2, 3, 4, 8]] * 3 + [[4, 4]]),
        ({"q_num_heads": 3, "kv_num_heads": 3}, [[2, 4, 24]] * 3),
        ({"scale": 0.5}, [[2, 3, 4, 8]] * 3 + [[2, 3, 4, 4]]),
    ],
    "Bernoulli": [({"dtype": "{T2}"}, [[3]]), ({"dtype": "{T2}", "seed": 1.0}, [[3, 2]])],
    "BlackmanWindow": [({"output_datatype": "{T2}"}, [[]]), ({"output_datatype": "{T2}", "periodic": 0}, [[]])],
    "CastLike": [({}, [[2, 3], [1]])],
    "Celu": [({}, [[3]])],
    "CenterCropPad": [({}, [[4, 5], [2]]), ({"axes": [1]}, [[4, 5], [1]])],
    "Clip": [({}, [[3]], "inputs=1"), ({}, [[3], []], "inputs=2"), ({}, [[3], [], []], "inputs=3")],
    "DynamicQuantizeLinear": [({}, [[3]])],
    "Elu": [({}, [[3]])],
    "Gelu": [({}, [[3]], "approximate=none"), ({"approximate": "tanh"}, [[3]], "approximate=tanh")],
    "GreaterOrEqual": [({}, [[3], [3]])],
    "GroupNormalization": [({"num_groups": 2}, [[1, 4, 2, 2], [4], [4]])],
    "HammingWindow": [({"output_datatype": "{T2}"}, [[]]), ({"output_datatype": "{T2}", "periodic": 0}, [[]])],
    "HannWindow": [({"output_datatype": "{T2}"}, [[]]), ({"output_datatype": "{T2}", "periodic": 0}, [[]])],
    "HardSigmoid": [({}, [[3]])],
    "HardSwish": [({}, [[3]])],
    "LayerNormalization": [({}, [[2, 3], [3]]), ({}, [[2, 3], [3], [3]]), ({"axis": 1}, [[2, 3, 4], [3, 4], [3, 4]])],
    "LeakyRelu": [({}, [[3]])],
    "LessOrEqual": [({}, [[3], [3]])],
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
    "Swish": [({}, [[3]]), ({"alpha": 2.0}, [[3]])],
    "ThresholdedRelu": [({}, [[3]])],
    "com.microsoft::BiasGelu": [({}, [[2, 3], [3]])],
    "com.microsoft::FastGelu": [({}, [[2, 3]]), ({}, [[2, 3], [3]])],
    "com.microsoft::Gelu": [({}, [[3]])],
    "com.microsoft::QuickGelu": [({}, [[3]])],
}

# Values of attributes that constructors of kernels may reject, with the shapes of inputs that are otherwise accepted.
ATTRIBUTES = {
    "GRU": [({"hidden_size": 5, "layout": 1}, [[3, 2, 4], [1, 15, 4], [1, 15, 5]])],
    "LSTM": [({"hidden_size": 5, "layout": 1}, [[3, 2, 4], [1, 20, 4], [1, 20, 5]])],
    "RNN": [({"hidden_size": 5, "layout": 1}, [[3, 2, 4], [1, 5, 4], [1, 5, 5]])],
}


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
            return self.pipe.recv()
        except EOFError:
            self.child = None
            return "crashed"


def serve(pipe) -> None:
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
    errors = {element: loader.load(model("Identity", "", {}, [(element, [2])], 1, 25)) for element in ELEMENTS}
    reasons = ("not currently registered", "Invalid tensor data type")
    return [element for element, error in errors.items() if any(reason in error for reason in reasons)]


def removed(loader: Loader) -> list[str]:
    """The operators that need no kernel because the loader turns them into initializers."""
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])
    one = model("Constant", "", {"value": tensor}, [], 1, 13)
    return [] if loader.load(one) else ["Constant"]


def domain_and_name(schema) -> str:
    return f"{schema.domain}::{schema.name}" if schema.domain else schema.name


def expanded(loader: Loader, schema, version: int, kernels) -> tuple[frozenset, frozenset]:
    """The types without a kernel for which all examples of an operator load, and those for which only some do.

    Each entry is a condition with the types of the variables at the inputs of the examples."""
    results: dict[tuple, set[bool]] = {}
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
                results.setdefault(key, set()).add(accepted)
    always = frozenset(key for key, accepted in results.items() if accepted == {True})
    return always, frozenset(key for key, accepted in results.items() if len(accepted) == 2)


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


def rejected_attributes(loader: Loader, schema, last: int) -> list[str]:
    """The attribute values that the kernels of an operator reject, as `name=value`."""
    found = []
    for attributes, shapes in ATTRIBUTES.get(domain_and_name(schema), []):
        *fixed, tested = attributes
        if tested not in schema.attributes:
            continue
        types = {one.type_param_str: "float" if "tensor(float)" in one.allowed_type_strs else short(one.allowed_type_strs[0]) for one in schema.type_constraints}
        without = {key: attributes[key] for key in fixed}
        error = loader.load(example(schema, last, (attributes, shapes), types))
        if error and not loader.load(example(schema, last, (without, shapes), types)):
            found.append(f"{tested}={attributes[tested]}")
    return found
