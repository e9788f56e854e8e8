#!/usr/bin/env python3
"""Write the facts about ONNX Runtime that `crates/targets` reads: limits, signatures, kernels, functions and rejected attributes.

    pip install onnxruntime==1.31.1 onnx==1.23.2     # or onnxruntime==1.32.0, or 1.24.4
    python3 tools/facts/runtime_kernels.py            # writes crates/targets/data/onnxruntime-1.31.txt, or that of the other version
    python3 tools/facts/runtime_kernels.py --check    # exit 1 if that file differs

Signatures and kernels come from the registries of the package. All other facts are the results of loading small models with
default options and the provider CPUExecutionProvider: the newest IR version, the newest version of each domain, the element
types that the loader knows, the operators that it replaces by function bodies because they have no kernel, and the attribute
values that constructors of kernels reject. `tools/facts/runtime_probes.py` contains these models.

The format is documented in `crates/targets/src/facts.rs`.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as runtime

import runtime_doubts
import runtime_probes as probes

PROVIDER = "CPUExecutionProvider"
VERSIONS = {"1.32.0": "onnxruntime-1.32", "1.31.1": "onnxruntime-1.31", "1.24.4": "onnxruntime-1.24"}
FOLDER = Path(__file__).resolve().parents[2] / "crates" / "targets" / "data"
UNBOUNDED = 2147483647

# The layouts that ONNX Runtime itself inserts; no model contains them.
INTERNAL = {"com.ms.internal.nhwc"}


def main() -> int:
    arguments = argparse.ArgumentParser(description="write the facts about ONNX Runtime")
    arguments.add_argument("--check", action="store_true")
    check = arguments.parse_args().check
    if onnxruntime.__version__ not in VERSIONS:
        raise SystemExit(f"onnxruntime is {onnxruntime.__version__}; the known versions are {', '.join(VERSIONS)}")
    path = FOLDER / f"{VERSIONS[onnxruntime.__version__]}.txt"
    text = render()
    before = path.read_text() if path.exists() else ""
    if check:
        if text != before:
            print(f"{path} would change")
        return int(text != before)
    path.write_text(text)
    return 0


class Sets:
    """The sets of types that the file names by number, in the order of their first use."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, ...], int] = {}

    def number(self, types) -> str:
        return str(self.numbers.setdefault(tuple(sorted(map(short, types))), len(self.numbers)))

    def lines(self) -> list[str]:
        return [f"set {number} {' '.join(types)}" for types, number in self.numbers.items()]


def short(ty: str) -> str:
    """A type in the notation of the file: `float`, `seq(float)`, `optional(seq(float))`, `sparse(float)`."""
    return probes.short(ty)


def render() -> str:
    schemas = [schema for schema in runtime.get_all_operator_schema() if schema.domain not in INTERNAL]
    schemas.sort(key=lambda schema: (schema.domain, schema.name, schema.since_version))
    kernels = defaultdict(list)
    for kernel in runtime.get_all_opkernel_def():
        if kernel.provider == PROVIDER:
            kernels[kernel.domain, kernel.op_name].append(kernel)
    loader = probes.Loader()
    domains = sorted({schema.domain for schema in schemas} | set(probes.DOMAINS))
    newest = {domain: probes.newest_version(loader, domain) for domain in domains}
    sets = Sets()
    body = []
    for at, schema in enumerate(schemas):
        following = schemas[at + 1] if at + 1 < len(schemas) else None
        if following and (following.domain, following.name) == (schema.domain, schema.name):
            last = following.since_version - 1
        else:
            last = newest[schema.domain] or schema.since_version
        body += signature(loader, schema, sets)
        own = matching(schema, kernels[schema.domain, schema.name])
        body += [f"  kernel {pairs(kernel, sets)}".rstrip() for kernel in merged(own)]
        if not schema.deprecated:
            body += functions(loader, schema, last, own, sets)
        body += rules(loader, schema, last, sets)
        if own and not schema.deprecated:
            for condition, types in runtime_doubts.doubts(loader, schema, last, own):
                row = {key: [f"tensor({ty})" if "(" not in ty else ty] for key, ty in types.items()}
                body.append(f"  doubts {condition}" + (f" | {pairs(row, sets)}" if row else ""))
    elements = probes.unknown_elements(loader)
    head = [
        "typeloom-target 1",
        f"source onnxruntime {onnxruntime.__version__}",
        f"provider {PROVIDER}",
        f"ir {probes.newest_ir(loader)}",
        *(f"domain {name(domain)} {version}" for domain, version in newest.items() if version),
        f"unknown {' '.join(elements)}",
        f"removed {' '.join(probes.removed(loader))}",
        f"folded {' '.join(probes.folded(loader))}",
    ]
    if pushed := probes.pushed(loader):
        head.append(f"pushed {' '.join(pushed)}")
    if probes.needs_all_outputs(loader):
        head.append("calls all-outputs")
    return "\n".join(head + sets.lines() + body) + "\n"


def name(domain: str) -> str:
    return domain or "ai.onnx"


def signature(loader, schema, sets: Sets) -> list[str]:
    qualified = f"{schema.domain}::{schema.name}" if schema.domain else schema.name
    lines = [f"op {qualified} {schema.since_version}{' deprecated' if schema.deprecated else ''}"]
    for word, formals in (("in", schema.inputs), ("out", schema.outputs)):
        if formals:
            lines.append(f"  {word} {' '.join(map(formal, formals))}")
    variables = [f"{one.type_param_str}={sets.number(one.allowed_type_strs)}" for one in schema.type_constraints]
    if variables:
        lines.append(f"  types {' '.join(variables)}")
    attributes = [f"{key}{'!' if value.required else ''}" for key, value in sorted(schema.attributes.items())]
    if probes.ignores_attributes(loader, schema):
        attributes.append("*")
    if attributes:
        lines.append(f"  attrs {' '.join(attributes)}")
    return lines


def formal(port) -> str:
    """`X:T`, with `?` after the name of an optional port, `*` of a variadic one, `+` if its values may differ in type."""
    mark = {"Single": "", "Optional": "?", "Variadic": "*" if port.isHomogeneous else "+"}[port.option.name]
    return f"{port.name}{mark}:{short(port.typeStr)}"


def matching(schema, kernels) -> list[dict[str, tuple[str, ...]]]:
    """The type constraints of the kernels for a version of an operator. An unbounded kernel is for its first version only."""
    found = []
    for kernel in kernels:
        first, last = kernel.version_range
        if first == schema.since_version or (last != UNBOUNDED and first <= schema.since_version <= last):
            found.append({key: tuple(types) for key, types in kernel.type_constraints.items()})
    return found


def merged(kernels: list[dict[str, tuple[str, ...]]]) -> list[dict[str, tuple[str, ...]]]:
    """The kernels, with those that differ in the types of one constraint only as one."""
    kernels = [{key: tuple(sorted(types)) for key, types in kernel.items()} for kernel in kernels]
    changed = True
    while changed:
        changed = False
        for at, kernel in enumerate(kernels):
            for other in kernels[at + 1 :]:
                differing = [key for key in kernel if kernel[key] != other.get(key)]
                if kernel.keys() == other.keys() and len(differing) <= 1:
                    for key in differing:
                        kernel[key] = tuple(sorted({*kernel[key], *other[key]}))
                    kernels.remove(other)
                    changed = True
                    break
            if changed:
                break
    return sorted(kernels, key=lambda kernel: sorted(kernel.items()))


def pairs(kernel, sets: Sets) -> str:
    return " ".join(f"{key}={sets.number(types)}" for key, types in sorted(kernel.items()))


def rules(loader, schema, last: int, sets: Sets) -> list[str]:
    """What kernels reject, and what the loader cannot do for some nodes."""
    lines = []
    for conditions, variable, types in probes.rejections(loader, schema, last):
        lines.append(f"  rejects {conditions}" + (f" | {variable}={sets.number(types)}" if types else ""))
    if probes.pads_are_bounded(loader, schema, last):
        lines.append("  below pads kernel_shape")
    if fused := probes.fusions(loader, schema, last):
        lines.append(f"  fuses Transpose T={sets.number(fused)}")
    if probes.crashes_on_constants(loader, schema, last):
        lines.append("  crashes constants")
    if probes.crashes_when_transposed(loader, schema, last):
        lines.append("  crashes transposed")
    if read := probes.side_reads(loader, schema, last):
        lines.append(f"  reads {' '.join(read)}")
    lines += [f"  doubts constant={name}" for name in probes.constant_crashes(loader, schema, last)]
    lines += [f"  machine locale {conditions}" for conditions in probes.locale_conditions(loader, schema, last)]
    return lines


def functions(loader, schema, last: int, kernels, sets: Sets) -> list[str]:
    """The types for which the loader accepts an operator without a kernel, by versions of the domain."""
    lines, since = [], schema.since_version
    outcomes = {}
    for version in range(since, last + 1):
        outcomes[version] = probes.expanded(loader, schema, version, kernels)
    first = since
    for version in range(since, last + 1):
        if version < last and outcomes[version + 1] == outcomes[version]:
            continue
        for word, entries in zip(("function", "sometimes", "never"), outcomes[version]):
            for condition in sorted({entry[0] for entry in entries}):
                when = f" {condition} |" if condition else ""
                rows = [dict((key, (ty,)) for key, ty in entry[1:]) for entry in sorted(entries) if entry[0] == condition]
                lines += [f"  {word} {first} {version}{when} {pairs(row, sets)}".rstrip() for row in merged(rows)]
        first = version + 1
    return lines


if __name__ == "__main__":
    sys.exit(main())
