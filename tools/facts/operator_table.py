#!/usr/bin/env python3
"""Write the operator table that `typeloom-ops` embeds.

    pip install onnx==1.23.2
    python3 tools/facts/operator_table.py            # writes crates/ops/data/operators.txt
    python3 tools/facts/operator_table.py --check    # exit 1 if that file differs from the package

The table holds facts only: which operators there are, their ports, type variables, attributes and
defaults. Documentation strings are not copied. The format is specified at the top of
`crates/ops/src/table.rs`; the same schemas always give the same bytes.

The script refuses a package of another version, and every fact that the format cannot express, so
that nothing gets lost without notice.
"""

import argparse
import difflib
import math
import re
import struct
import sys
from pathlib import Path

ONNX_VERSION = "1.23.2"
TARGET = Path(__file__).resolve().parents[2] / "crates" / "ops" / "data" / "operators.txt"

# Element types in the order of their `TensorProto.DataType` numbers, from 1 on.
ELEMS = (
    "float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 "
    "bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2 "
    "float6e2m3 float6e3m2"
).split()

# Names for sets of element types that operators share. A set is written with the first group of this
# list that it contains, then the next one that what is left contains, and at last single elements.
GROUPS = {
    "classic": ELEMS[:15],
    "numeric": "float uint8 int8 uint16 int16 int32 int64 float16 double uint32 uint64".split(),
    "wide": "float int32 int64 float16 double uint32 uint64".split(),
    "floats": "float float16 double".split(),
    "ints": "int8 int16 int32 int64".split(),
    "uints": "uint8 uint16 uint32 uint64".split(),
    "float8s": "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz".split(),
    "float6s": "float6e2m3 float6e3m2".split(),
    "int4s": "uint4 int4".split(),
    "int2s": "uint2 int2".split(),
}

# Constructors over one element type, in the order in which the table writes them.
OVER_ELEMS = ("tensor({})", "seq(tensor({}))", "optional(tensor({}))", "optional(seq(tensor({})))")
# Constructors over a key and a value, likewise.
OVER_PAIRS = ("map({})", "seq(map({}))")

NAME = re.compile(r'[^\s"=]+')


class Inexpressible(Exception):
    """The package states a fact that the table's format has no place for."""


def elem_order(names):
    return sorted(names, key=ELEMS.index)


def elem_set(elems):
    rest, parts = set(elems), []
    for group, members in GROUPS.items():
        if rest.issuperset(members):
            parts.append(group)
            rest.difference_update(members)
    return "+".join(parts + elem_order(rest))


def pattern(template):
    """What the placeholder of a constructor matches."""
    return re.compile(re.escape(template).replace(r"\{\}", r"([^()]*)"))


def allowed_types(strings):
    """`tensor(..) seq(tensor(..)) ...`: a type variable's set, by constructor."""
    rest, parts = set(strings), []
    for template in OVER_ELEMS:
        matched = {text: hit[1] for text in rest if (hit := pattern(template).fullmatch(text))}
        if unknown := set(matched.values()) - set(ELEMS):
            raise Inexpressible(f"element types {sorted(unknown)}")
        rest.difference_update(matched)
        if matched:
            parts.append(template.format(elem_set(matched.values())))
    for template in OVER_PAIRS:
        matched = {text: hit[1].split(", ") for text in rest if (hit := pattern(template).fullmatch(text))}
        for text, pair in matched.items():
            if len(pair) != 2 or not set(pair) <= set(ELEMS):
                raise Inexpressible(f"type {text}")
        rest.difference_update(matched)
        if matched:
            pairs = sorted(matched.values(), key=lambda pair: [ELEMS.index(elem) for elem in pair])
            parts.append(template.format("+".join(f"{key}:{value}" for key, value in pairs)))
    if rest:
        raise Inexpressible(f"types {sorted(rest)}")
    return " ".join(parts)


def name(text):
    if not NAME.fullmatch(text):
        raise Inexpressible(f"name {text!r}")
    return text


def port(keyword, formal, is_last, variables):
    type_text = formal.type_str
    if type_text not in variables:
        literal = pattern(OVER_ELEMS[0]).fullmatch(type_text)
        if not literal or literal[1] not in ELEMS:
            raise Inexpressible(f"type {type_text} of port {formal.name}")
    line = f"  {keyword} {name(formal.name)} {type_text}"
    option = formal.option.name
    if option == "Variadic":
        if not is_last:
            raise Inexpressible(f"variadic port {formal.name} before another one")
        return f"{line} variadic {formal.min_arity}" + ("" if formal.is_homogeneous else " mixed")
    if not formal.is_homogeneous or formal.min_arity != 1:
        raise Inexpressible(f"arity of port {formal.name}")
    return line + {"Single": "", "Optional": " optional"}[option]


def ports(keyword, formals, declared_range, variables):
    """The lines of all inputs or outputs; what they say must imply the schema's own minimum and maximum."""
    least = most = 0
    lines = []
    for position, formal in enumerate(formals):
        lines.append(port(keyword, formal, position + 1 == len(formals), variables))
        option = formal.option.name
        most = 2**31 - 1 if option == "Variadic" else position + 1
        if option == "Variadic":
            least = position + formal.min_arity
        elif option == "Single":
            least = position + 1
    if (least, most) != declared_range:
        raise Inexpressible(f"{keyword} count {declared_range}, from ports {(least, most)}")
    return lines


def nearest_f32(text):
    try:
        return struct.unpack("<f", struct.pack("<f", float(text)))[0]
    except OverflowError:
        return math.inf


def f32(value):
    """The shortest decimal that reads back as the same 32-bit float, written as Rust's `{:?}` does."""
    if not math.isfinite(value):
        raise Inexpressible(f"float {value}")
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if nearest_f32(text) == value:
            mantissa, _, exponent = repr(float(text)).partition("e")
            return f"{mantissa}e{int(exponent)}" if exponent else mantissa
    raise AssertionError("nine digits identify every 32-bit float")


def quoted(value):
    text = value.decode("utf-8")
    if not text.isprintable():
        raise Inexpressible(f"string {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# How a default of each kind is written; kinds that are not here have no default.
DEFAULTS = {
    "FLOAT": lambda proto: [f32(proto.f)],
    "INT": lambda proto: [str(proto.i)],
    "STRING": lambda proto: [quoted(proto.s)],
    "FLOATS": lambda proto: [f32(value) for value in proto.floats],
    "INTS": lambda proto: [str(value) for value in proto.ints],
    "STRINGS": lambda proto: [quoted(value) for value in proto.strings],
}


def attribute(attribute_name, declared):
    kind = declared.type.name
    line = f"  attr {name(attribute_name)} {kind.lower()}"
    default = declared.default_value
    if not default.type:
        return line + (" required" if declared.required else "")
    if declared.required or kind not in DEFAULTS or default.AttributeType.Name(default.type) != kind:
        raise Inexpressible(f"default of attribute {attribute_name}")
    return " ".join([line, "=", *DEFAULTS[kind](default)])


def schema_lines(schema):
    head = f"op {name(schema.name)} {schema.since_version}"
    if schema.deprecated:
        head += " deprecated"
    if schema.has_function and schema.has_context_dependent_function:
        raise Inexpressible("two function bodies")
    if schema.has_function:
        head += " function"
    if schema.has_context_dependent_function:
        head += " function-from-node"
    variables = [name(var.type_param_str) for var in schema.type_constraints]
    if len(set(variables)) != len(variables):
        raise Inexpressible("type variable declared twice")
    lines = [head]
    for var in schema.type_constraints:
        lines.append(f"  type {var.type_param_str} {allowed_types(var.allowed_type_strs)}")
    lines += ports("in", schema.inputs, (schema.min_input, schema.max_input), variables)
    lines += ports("out", schema.outputs, (schema.min_output, schema.max_output), variables)
    for attribute_name in sorted(schema.attributes, key=str.encode):
        lines.append(attribute(attribute_name, schema.attributes[attribute_name]))
    return lines


def table(onnx):
    defs = onnx.defs
    schemas = sorted(
        defs.get_all_schemas_with_history(), key=lambda s: (s.domain.encode(), s.name.encode(), s.since_version)
    )
    domains = {domain: versions for domain, versions in sorted(defs.C.schema_version_map().items())}
    if missing := {schema.domain for schema in schemas} - set(domains):
        raise Inexpressible(f"domains without versions: {sorted(missing)}")
    for number, elem in enumerate(ELEMS, 1):
        if onnx.TensorProto.DataType.Name(number) != elem.upper():
            raise Inexpressible(f"element type number {number}")
    if len(onnx.TensorProto.DataType.keys()) != len(ELEMS) + 1:
        raise Inexpressible("further element types")

    operators = {(schema.domain, schema.name) for schema in schemas}
    lines = [
        "typeloom-operator-table 1",
        f"source onnx {ONNX_VERSION}",
        f"count {len(domains)} domains {len(operators)} operators {len(schemas)} schemas",
    ]
    lines += [f"group {group} {' '.join(elem_order(members))}" for group, members in GROUPS.items()]
    for domain, (oldest, newest) in domains.items():
        lines.append(f"domain {domain or 'ai.onnx'} {oldest} {newest}")
        for schema in schemas:
            if schema.domain != domain:
                continue
            try:
                lines += schema_lines(schema)
            except Inexpressible as reason:
                raise Inexpressible(f"{domain or 'ai.onnx'} {schema.name} {schema.since_version}: {reason}") from reason
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser(description="Write the operator table that typeloom-ops embeds.")
    arguments.add_argument("--check", action="store_true", help="compare with the file, write nothing, exit 1 on drift")
    check = arguments.parse_args().check
    try:
        import onnx
    except ImportError:
        sys.exit(f"the package is missing; run: pip install onnx=={ONNX_VERSION}")
    if onnx.__version__ != ONNX_VERSION:
        sys.exit(f"needs onnx {ONNX_VERSION}, found {onnx.__version__}; run: pip install onnx=={ONNX_VERSION}")
    try:
        text = table(onnx)
    except Inexpressible as reason:
        sys.exit(f"the table's format cannot express {reason}")
    if check:
        recorded = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
        difference = difflib.unified_diff(
            recorded.splitlines(), text.splitlines(), "recorded", f"onnx {ONNX_VERSION}", lineterm=""
        )
        if recorded != text:
            print("\n".join(difference))
            sys.exit(1)
        print(f"{TARGET.name} is what onnx {ONNX_VERSION} declares")
        return
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8", newline="\n")
    print(f"{TARGET.name}: {len(text.encode())} bytes, {text.count(chr(10))} lines")


if __name__ == "__main__":
    main()
