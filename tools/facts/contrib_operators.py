#!/usr/bin/env python3
"""Write the signatures of ONNX Runtime's operators into the description that `typeloom-ops` embeds.

    pip install onnxruntime==1.31.1 onnx==1.23.2
    python3 tools/facts/contrib_operators.py            # writes crates/ops/data/com.microsoft.txt
    python3 tools/facts/contrib_operators.py --check    # exit 1 if that file differs

Ports, type variables, attributes and defaults are facts of the package. Documentation strings are not
copied. What operators do to shapes (`shape`, `let`, `require`, `like`, `when` and comments) is written by
hand and kept: the script takes these lines over from the file as it is.
"""

import argparse
import sys
from pathlib import Path

import onnx
import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as runtime

VERSION = "1.31.1"
TARGET = Path(__file__).resolve().parents[2] / "crates" / "ops" / "data" / "com.microsoft.txt"

HAND = ("shape", "let", "require", "like", "when", "#")

# What the format cannot express.
LEFT_OUT = {"SparseToDenseMatMul": "takes sparse tensors"}

# Operators that ONNX Runtime puts into ONNX's own domain.
IN_ONNX = ["SimplifiedLayerNormalization"]

GROUPS = {
    "floats": "float double float16 bfloat16".split(),
    "halves": "float float16 bfloat16".split(),
    "all_ints": "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split(),
    "float8s": "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz".split(),
}


def main() -> int:
    arguments = argparse.ArgumentParser(description="write the description of com.microsoft")
    arguments.add_argument("--check", action="store_true")
    check = arguments.parse_args().check
    if onnxruntime.__version__ != VERSION:
        raise SystemExit(f"onnxruntime is {onnxruntime.__version__}; the file comes from {VERSION}")
    before = TARGET.read_text() if TARGET.exists() else ""
    text = render(by_hand(before))
    if check:
        if text != before:
            print(f"{TARGET} would change")
        return int(text != before)
    TARGET.write_text(text)
    return 0


def by_hand(text: str) -> dict[str, list[str]]:
    """The hand-written lines, by operator; those before the first one under the empty name."""
    found: dict[str, list[str]] = {}
    operator = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "op":
            operator = words[1]
        elif words and operator and words[0].startswith(HAND):
            found.setdefault(operator, []).append(line)
    return found


def render(hand: dict[str, list[str]]) -> str:
    schemas = runtime.get_all_operator_schema()
    lines = [
        "typeloom-operators 1",
        f"# Operators of onnxruntime {VERSION}. Written by tools/facts/contrib_operators.py, except for the shape lines.",
        *(f"# Left out: {name}, which {reason}." for name, reason in LEFT_OUT.items()),
    ]
    lines += [f"group {name} {' '.join(members)}" for name, members in GROUPS.items()]
    wanted = [
        ("ai.onnx", 28, [s for s in schemas if s.domain == "" and s.name in IN_ONNX]),
        ("com.microsoft", 1, [s for s in schemas if s.domain == "com.microsoft" and s.name not in LEFT_OUT]),
        ("com.microsoft.nchwc", 1, [s for s in schemas if s.domain == "com.microsoft.nchwc"]),
    ]
    for domain, newest, members in wanted:
        lines += ["", f"domain {domain} {newest}"]
        for schema in sorted(members, key=lambda schema: (schema.name, schema.since_version)):
            lines += ["", *operator(schema), *hand.pop(schema.name, [])]
    if hand:
        raise SystemExit(f"shapes of operators that the package does not have: {sorted(hand)}")
    return "\n".join(lines) + "\n"


def operator(schema) -> list[str]:
    lines = [f"op {schema.name} {schema.since_version}" + (" deprecated" if schema.deprecated else "")]
    variables = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
    used = [p.typeStr for p in [*schema.inputs, *schema.outputs]]
    for name, allowed in variables.items():
        if name in used:
            lines.append(f"  type {name} {types(allowed)}")
    for side, ports in (("in", schema.inputs), ("out", schema.outputs)):
        for at, port in enumerate(ports):
            lines.append(f"  {side} {port.name} {port.typeStr}{arity(schema, side, at, port)}")
    for name in sorted(schema.attributes):
        lines.append(f"  attr {name} {attribute(schema.attributes[name])}")
    return lines


def types(allowed: list[str]) -> str:
    elems = []
    for ty in allowed:
        if not ty.startswith("tensor("):
            raise SystemExit(f"{ty} is no tensor")
        elems.append(ty.removeprefix("tensor(").removesuffix(")"))
    words = []
    left = sorted(set(elems))
    for name, members in GROUPS.items():
        if set(members) <= set(left):
            words.append(name)
            left = [elem for elem in left if elem not in members]
    return f"tensor({'+'.join(words + left)})"


def arity(schema, side: str, at: int, port) -> str:
    if port.option.name == "Optional":
        return " optional"
    if port.option.name == "Variadic":
        least = schema.min_input if side == "in" else schema.min_output
        return f" variadic {max(0, least - at)}" + ("" if port.isHomogeneous else " mixed")
    return ""


def attribute(declared) -> str:
    kind = declared.type.name.lower()
    if declared.required:
        return f"{kind} required"
    if not declared._default_value:
        return kind
    value = onnx.helper.get_attribute_value(onnx.AttributeProto.FromString(declared._default_value))
    if isinstance(value, bytes):
        shown = '"' + value.decode().replace("\\", "\\\\").replace('"', '\\"') + '"'
    elif isinstance(value, (list, tuple)):
        shown = " ".join(number(item) for item in value)
        if not shown:
            return kind
    else:
        shown = number(value)
    return f"{kind} = {shown}"


def number(value) -> str:
    # The shortest decimal that reads back as the same 32-bit float.
    if isinstance(value, int):
        return str(value)
    for digits in range(1, 10):
        shown = f"{value:.{digits}g}"
        if onnx.numpy_helper.np.float32(shown) == onnx.numpy_helper.np.float32(value):
            return shown
    return repr(value)


if __name__ == "__main__":
    sys.exit(main())
