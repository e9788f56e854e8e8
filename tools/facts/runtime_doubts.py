"""Values of attributes, ranks and numbers of inputs for which a kernel or the loader's inference may reject a node.

The registries do not list these conditions, so they are found by loading one node of each operator: inputs have unknown shapes and
types that a kernel supports, and one property is changed at a time. A rejection shows that the value is wrong for some
nodes, not for all, so each condition makes a verdict undecided instead of negative.
"""

import itertools
import random

from onnx import TensorProto, ValueInfoProto, helper

import runtime_probes as probes

NUMBERS = {"INT": [0, 1, 2, 4, -1, 3, -2, 8, 5, 16, 33, 64], "FLOAT": [0.5, 1.0, 0.0, 2.0, -1.0]}
ELEMENTS = {"INTS": [1, 0, 2, 3, -1, 7], "FLOATS": [0.5, 0.0, 1.0, -1.0]}
# Tried as well if a kernel rejects a number between two that it accepts. Few accepted ones are listed, as those of a set.
MORE_NUMBERS = [*range(-3, 34), 48, 64, 96, 100, *(2**power for power in range(7, 13))]
MAX_SET = 16
# Values of attributes that are strings, or lists of them.
STRINGS = [
    *("Relu", "Tanh", "Sigmoid", "LeakyRelu", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", "nearest", "linear", "cubic", "bilinear"),
    *("bicubic", "constant", "reflect", "edge", "wrap", "avg", "max", "none", "mean", "sum", "add", "mul", "min", "forward", "reverse"),
    *("bidirectional", "DCR", "CRD", "tanh", "silu", "asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel"),
    *("tf_crop_and_resize", "tf_half_pixel_for_nn", "half_pixel_symmetric", "output_half_pixel", "stretch", "not_larger"),
    *("not_smaller", "zeros", "border", "reflection", "relu", "RGB", "BGR", "Grayscale", "LOWER", "UPPER", "NONE", "TF", "IDF", "TFIDF"),
    *("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT", "AVERAGE", "SUM", "MIN", "MAX", "L1", "L2", "LINEAR", "POLY", "RBF", "SIGMOID"),
    *("TO_FLOAT", "TO_STRING", "TO_INT64", "DENSE", "SPARSE", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"),
    *("circular", "prune", "gelu", "swiglu", "identity", "softplus", "NCHW", "NHWC", "int8", "uint8"),
]
# Lengths of lists: one or two elements for each of up to three axes.
LENGTHS = [1, 2, 3, 4, 6, 8]
# Lists whose elements differ, or are compared with another list.
ORDERS = {"perm", "pads"}
TRIES = 160
MORE_TRIES = 40
MAX_RANK = 6
MAX_INPUTS = 8
# Attributes with a number of an element type, which decides the kernel; `runtime_probes.py` tests `saturate` by type.
TYPES = {"to", "dtype", "output_datatype", "output_dtype", "saturate"}
# The extents of a shape.
EXTENT = 8
# Operators that `runtime_probes.py` or the crate `targets` handles: a locale, tables, types as attributes.
TESTED = {"Optional", "StringNormalizer", "TfIdfVectorizer"}
# Operators whose inference compares the shapes and types of several inputs with attributes.
COMPARING = {"GatherBlockQuantized", "MatMulFpQ4"}


class Probe:
    """Nodes of one operator with types that a kernel supports."""

    def __init__(self, loader: probes.Loader, schema, version: int, kernels) -> None:
        self.loader, self.schema, self.version = loader, schema, version
        self.kinds = {name: value.type.name for name, value in sorted(schema.attributes.items()) if name not in TYPES}
        self.kernels = kernels
        self.use(kernels[0] if kernels else {})

    def use(self, kernel) -> None:
        """Chooses types that a kernel supports."""
        schema = self.schema
        self.types = {one.type_param_str: probes.preferred(one.allowed_type_strs) for one in schema.type_constraints}
        for variable, types in kernel.items():
            plain = probes.tensors(types)
            if plain and self.types.get(variable) not in plain:
                self.types[variable] = "float" if "float" in plain else plain[0]
        # The accepted values of attributes that are strings, as far as they are known.
        self.accepted: dict[str, list[str]] = {}
        # Whether nodes have all optional outputs.
        self.is_full = False
        # Optional inputs that the nodes have.
        self.present: list[str] = []

    def loads(self, attributes, ranks=None, counts=None, present=()) -> bool:
        """Whether a node loads. `ranks` and `counts` are by input: the rank, and the number of values of a variadic one."""
        inputs, names = [], []
        for formal in self.schema.inputs:
            option = formal.option.name
            count = (counts or {}).get(formal.name, 2 if option == "Variadic" else 1)
            if option == "Optional" and formal.name not in (*self.present, *present):
                names.append("")
                continue
            for at in range(count):
                name = f"x{len(names)}"
                names.append(name)
                inputs.append(ValueInfoProto(name=name, type=self.type_of(formal, (ranks or {}).get(formal.name))))
        while names and not names[-1]:
            names.pop()
        results = [formal for formal in self.schema.outputs if self.is_full or formal.option.name != "Optional"]
        outputs = [f"y{at}" for at, _ in enumerate(results)]
        chosen = {"to": 1, "dtype": 1} if "to" in self.schema.attributes else {}
        chosen = {key: value for key, value in chosen.items() if key in self.schema.attributes}
        node = helper.make_node(self.schema.name, names, outputs, domain=self.schema.domain, **chosen, **attributes)
        graph = helper.make_graph([node], "g", inputs, [ValueInfoProto(name=name) for name in outputs])
        imports = [helper.make_opsetid(*one) for one in {"": 13, self.schema.domain: self.version}.items()]
        return not self.loader.load(helper.make_model(graph, opset_imports=imports, ir_version=probes.IR))

    def type_of(self, formal, rank):
        elem = self.types.get(formal.typeStr, probes.short(formal.typeStr))
        shape = None if rank is None else [EXTENT] * rank
        if elem.startswith("seq("):
            return helper.make_sequence_type_proto(helper.make_tensor_type_proto(probes.ELEMENTS[elem[4:-1]], None))
        return helper.make_tensor_type_proto(probes.ELEMENTS.get(elem, TensorProto.FLOAT), shape)

    def some(self, kind: str, chance: random.Random):
        if kind in NUMBERS:
            return chance.choice(NUMBERS[kind])
        if kind in ELEMENTS:
            return [chance.choice(ELEMENTS[kind])] * chance.choice(LENGTHS)
        if kind == "STRING":
            return chance.choice(STRINGS)
        return ["a"] * chance.choice([1, 2]) if kind == "STRINGS" else None

    def base(self, excluded=()) -> dict | None:
        """Attributes with which a node loads: as few as possible, without the excluded ones."""
        chance = random.Random(self.schema.name)
        for attempt in range(TRIES):
            attributes = self.random(chance, excluded, 0.5 if attempt else 0.0)
            if self.loads(attributes):
                for name in [name for name in attributes if not self.schema.attributes[name].required]:
                    without = {key: value for key, value in attributes.items() if key != name}
                    if self.loads(without):
                        attributes = without
                return attributes
            if not self.kinds:
                return None
        return None

    def choose_inputs(self, excluded=()) -> dict | None:
        """The base with as few optional inputs as possible."""
        optional = [formal.name for formal in self.schema.inputs if formal.option.name == "Optional" and formal.name not in excluded]
        for count in range(len(optional[:4]) + 1):
            for chosen in itertools.combinations(optional[:4], count):
                self.present = list(chosen)
                if (base := self.base()) is not None:
                    return base
        return None

    def random(self, chance: random.Random, excluded=(), part: float = 0.5) -> dict:
        attributes = {}
        for name, kind in self.kinds.items():
            is_chosen = self.schema.attributes[name].required or chance.random() < part
            value = chance.choice(self.accepted[name]) if name in self.accepted else self.some(kind, chance)
            if is_chosen and name not in excluded and value is not None:
                attributes[name] = value
        return attributes

    def never_loads(self, fixed: dict, **given) -> bool:
        """Whether nodes with these attributes are rejected whatever the other attributes are."""
        chance = random.Random(self.schema.name)
        parts = itertools.islice(itertools.cycle((0.0, 0.2, 0.5)), MORE_TRIES)
        for at, part in enumerate(parts):
            self.is_full = at % 2 == 1
            accepted = self.loads({**self.random(chance, part=part), **fixed}, **given)
            self.is_full = False
            if accepted:
                return False
        return True


def doubts(loader: probes.Loader, schema, version: int, kernels) -> list[tuple[str, dict[str, str]]]:
    """The conditions for an operator, as in the file, with the types of variables that they are for."""
    if any(value.type.name.startswith(("GRAPH", "SPARSE", "TYPE")) for value in schema.attributes.values()):
        return []
    ports = tuple((formal.name, formal.option.name) for formal in schema.inputs)
    # Versions can differ in the values of strings.
    has_strings = any(value.type.name == "STRING" for value in schema.attributes.values())
    key = (schema.domain, schema.name, tuple(sorted(schema.attributes)), ports, has_strings and schema.since_version)
    if key not in KNOWN:
        KNOWN[key] = by_types(Probe(loader, schema, version, kernels))
    return KNOWN[key]


# Versions of an operator with the same attributes and inputs have the same conditions.
KNOWN: dict[tuple, list[tuple[str, dict[str, str]]]] = {}


def by_types(probe: Probe) -> list[tuple[str, dict[str, str]]]:
    """The conditions. Attributes of classical models depend on types, so those that differ between kernels name the types."""
    if probe.schema.domain != "ai.onnx.ml" or len(probe.kernels) < 2:
        return [(condition, {}) for condition in conditions(probe)]
    found = {}
    for kernel in probe.kernels:
        probe.use(kernel)
        types = {name: ty for name, ty in probe.types.items() if name in kernel}
        found[tuple(sorted(types.items()))] = conditions(probe)
    common = [one for one in next(iter(found.values())) if all(one in other for other in found.values())]
    different = [(one, dict(types)) for types, own in found.items() for one in own if one not in common]
    return [(condition, {}) for condition in common] + different


def conditions(probe: Probe) -> list[str]:
    schema = probe.schema
    if schema.name in TESTED:
        return []
    if schema.name in COMPARING:
        return ["always"]
    base = probe.choose_inputs()
    if base is None:
        # Nothing is known about the operator but its kernels.
        bare = "" if probe.loads({}) else " ".join(f"absent={name}" for name in sorted(schema.attributes))
        return ["always"] if schema.domain == "com.microsoft" else [bare] if bare else []
    found = []
    for name in base:
        if probe.schema.attributes[name].required:
            continue
        other = probe.base(excluded=[name])
        if other is None:
            found.append(f"absent={name}")
        else:
            others = [one for one in other if not schema.attributes[one].required]
            found.append(" ".join(f"absent={one}" for one in sorted([name, *others])))
    for name in list(probe.present):
        present, probe.present = probe.present, []
        alternatives = [name]
        while probe.choose_inputs(excluded=alternatives) is not None and probe.present:
            alternatives.append(probe.present[0])
            probe.present = []
        found.append(" ".join(f"missing={one}" for one in sorted(alternatives)))
        probe.present = present
    for name, kind in probe.kinds.items():
        strings = [value for value in STRINGS if probe.loads({**base, name: value})] if kind == "STRING" else []
        if strings:
            probe.accepted[name] = strings
    listed = probes.LISTED.get(probes.domain_and_name(schema), ({}, ()))[1]
    for name, kind in probe.kinds.items():
        if name in listed:
            continue
        found += values(probe, base, name, kind)
    for formal in schema.inputs:
        found += ranks(probe, base, formal)
    return list(dict.fromkeys(found))


def values(probe: Probe, base, name: str, kind: str) -> list[str]:
    if kind in NUMBERS:
        accepted = {value: accepts(probe, base, name, value) for value in NUMBERS[kind]}
        if kind == "INT" and has_gap(accepted):
            more = [value for value in MORE_NUMBERS if accepts(probe, base, name, value)]
            if len(more) <= MAX_SET:
                return [f"{name}!={','.join(map(str, more))}"]
        return bounds(name, accepted)
    if kind in ELEMENTS and name not in ORDERS:
        for length in LENGTHS:
            if any(probe.loads({**base, name: [value] * length}) for value in ELEMENTS[kind]):
                return bounds(name, {value: accepts(probe, base, name, [value] * length) for value in ELEMENTS[kind]})
        return []
    if kind == "STRING":
        accepted = probe.accepted.get(name, [])
        if accepted and len(accepted) < len(STRINGS):
            return [f"{name}!={','.join(sorted(accepted))}"]
    return []


def accepts(probe: Probe, base, name: str, value) -> bool:
    """Whether a node with this value loads, with and without optional outputs."""
    probe.is_full = True
    if probe.loads(base) and not probe.loads({**base, name: value}):
        probe.is_full = False
        return False
    probe.is_full = False
    return probe.loads({**base, name: value}) or not probe.never_loads({name: value})


def has_gap(accepted: dict) -> bool:
    """Whether a rejected number is between two accepted ones."""
    outcomes = [accepted[value] for value in sorted(accepted)]
    inner = outcomes[outcomes.index(True) : len(outcomes) - outcomes[::-1].index(True)] if any(outcomes) else []
    return False in inner


def bounds(name: str, accepted: dict) -> list[str]:
    """Conditions that hold for the rejected numbers: those below or above all accepted ones, and single ones between."""
    if not any(accepted.values()):
        return []
    ordered = sorted(accepted)
    least, most = min(value for value in ordered if accepted[value]), max(value for value in ordered if accepted[value])
    found = []
    below, above = [value for value in ordered if value < least], [value for value in ordered if value > most]
    if below:
        found.append(f"{name}<={below[-1]}")
    found += [f"{name}={value}" for value in ordered if least < value < most and not accepted[value]]
    if above:
        found.append(f"{name}>={above[0]}")
    return found


def ranks(probe: Probe, base, formal) -> list[str]:
    name, present = formal.name, [formal.name]
    found = []
    if formal.option.name == "Variadic":
        counts = {count: probe.loads(base, counts={name: count}) for count in range(1, MAX_INPUTS + 1)}
        others = sum(one.option.name == "Single" for one in probe.schema.inputs)
        found += [f"inputs={count + others}" for count, accepted in counts.items() if not accepted]
    if probe.loads(base, present=present):
        rejected = [rank for rank in range(MAX_RANK) if not probe.loads(base, {name: rank}, present=present)]
        rejected = [rank for rank in rejected if probe.never_loads({}, ranks={name: rank}, present=present)]
        if rejected and len(rejected) < MAX_RANK:
            accepted = [str(rank) for rank in range(MAX_RANK) if rank not in rejected]
            found.append(f"rank.{name}!={','.join(accepted)}")
    return found
