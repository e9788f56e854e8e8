#!/usr/bin/env python3
"""Write the measurements of the package winml-cli as targets: six devices behind execution providers of ONNX Runtime.

    pip download --no-deps winml-cli==0.4.0 && pip install pyarrow==26.0.1 numpy==2.4.6
    python3 tools/facts/winml_tables.py winml_cli-0.4.0-py3-none-any.whl            # writes crates/targets/data/*.measured
    python3 tools/facts/winml_tables.py --check winml_cli-0.4.0-py3-none-any.whl    # exit 1 if a file differs
    python3 tools/facts/winml_tables.py --held-out 10 winml_cli-0.4.0-py3-none-any.whl

The package (MIT, Copyright (c) Microsoft Corporation) has a table for each operator, version and device. A row is a model of one
node with fixed extents, and two outcomes: whether the provider compiled it alone, and whether it ran with the CPU provider beside.

    compiled  ran     outcome
    yes       yes     +  on the device
    no        yes     ~  on the CPU
    yes       no      -  does not run
    no        no      -  does not run

Tables of patterns (subgraphs) are left out. A node between `DequantizeLinear` and `QuantizeLinear` has tables of its own; their
operators have the suffix `/quantized`.

Each column becomes a property of `crates/targets/src/measured/property.rs`. An unknown column is an error.
"""

import argparse
import io
import json
import re
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow.parquet

import measured

TABLES = "winml/modelkit/analyze/rules/runtime_check_rules/"
TARGETS = {
    "QNNExecutionProvider_NPU": ("qnn-npu", "Qualcomm NPU"),
    "QNNExecutionProvider_GPU": ("qnn-gpu", "Qualcomm GPU"),
    "OpenVINOExecutionProvider_CPU": ("onnxruntime-openvino-cpu", "Intel CPU"),
    "OpenVINOExecutionProvider_GPU": ("onnxruntime-openvino-gpu", "Intel GPU"),
    "OpenVINOExecutionProvider_NPU": ("onnxruntime-openvino-npu", "Intel NPU"),
    "NvTensorRTRTXExecutionProvider_GPU": ("tensorrt-rtx", "NVIDIA GPU"),
}

# Columns of one operator, or of a few, with the property that has the same values.
NAMED = {
    "Concat": {"num_inputs": "inputs", "first_axis": "axis.first", "last_axis": "axis.last"},
    "Flatten": {"normalized_axis": "axis.normalized"},
    "LayerNormalization": {"axis_is_last": "axis.last"},
    "LpNormalization": {"axis_is_last": "axis.last"},
    "Softmax": {"axis_size_is_one": "axis.one"},
    "Unsqueeze": {"num_axes": "count.axes"},
    "GatherND": {"last_index_dimension": "depth.indices"},
    "ScatterND": {
        "q_is_one": "scatter.line",
        "k_is_one": "scatter.one",
        "k_is_two": "scatter.two",
        "k_is_dim_minus_one": "scatter.rows",
        "k_is_dim": "scatter.elements",
    },
    "Expand": {
        "shape_len": "length.shape",
        "input_broadcasting_to_shape": "expand.grows",
        "shape_broadcasting_to_input": "expand.keeps",
    },
    "Reshape": {"shape_len": "length.shape", "shape_has_zero": "some.shape.0", "shape_all_zeros": "every.shape.0"},
    "Slice": {
        "axes_is_single": "slice.single",
        "slice_all": "slice.all",
        "starts_equal_shape": "slice.last",
        "steps_all_ones": "every.steps.1",
        "steps_is_neg_one": "every.steps.-1",
    },
    "Pad": {"pads_all_zeros": "every.pads.0", "pads_is_symmetric": "symmetric.pads"},
    "Resize": {
        "uses_scales": "uses.scales",
        "uses_sizes": "uses.sizes",
        "scales_up": "resize.up",
        "scales_down": "resize.down",
    },
    "ConstantOfShape": {"value_type": "type.T2"},
    "CumSum": {"axis_value": "value.axis"},
    "Dropout": {"training_mode_value": "value.training_mode"},
    "Shape": {"attr_start_less_than_end": "shape.ordered"},
    "Split": {"axis_is_negative": "axis.negative", "axis_is_zero": "equals.axis.0"},
    "TopK": {"K_is_max": "other.K_is_max"},
    "Squeeze": {"data_single_entry": "single.data"},
    "Attention": {column: f"other.{column}" for column in ("Q_shape", "K_shape", "V_shape", "attn_mask_shape")},
}
REDUCTIONS = {
    "single_axis": "axes.single",
    "axes_has_zero": "axes.zero",
    "has_first_axis": "axes.first",
    "has_last_axis": "axes.last",
    "full_reduction": "axes.all",
}
SHARED = {
    "dilations_all_ones": "every.dilations.1",
    "strides_all_ones": "every.strides.1",
    "pads_all_zeros": "every.pads.0",
    "attr_pads_all_zeros": "every.pads.0",
    "is_dilations_uniform": "uniform.dilations",
    "is_strides_uniform": "uniform.strides",
    "kernel_all_even": "even.kernel_shape",
    "kernel_equals_stride": "same.kernel_shape.strides",
    "axis_eq_one": "equals.axis.1",
    "axis_eq_zero": "equals.axis.0",
    "attr_axis_is_one": "equals.axis.1",
    "attr_axis_is_zero": "equals.axis.0",
    "attr_group_is_one": "equals.group.1",
    "attr_batch_dims_is_zero": "equals.batch_dims.0",
}
# Negated in the tables.
NEGATED = {"has_padding": "every.pads.0", "has_stride_gt1": "every.strides.1"}
# Functions of other columns, values of random numbers, and values that the package replaces by one constant.
DROPPED = {
    "output_dim",
    "shape_is_constant_or_empty",
    "is_first_axis",
    "is_last_axis",
    "kernel_shape_is_none",
    "data_shape_is_2_3",
    "ratio_value",
    "attr_seed",
    "attr_value",
    "attr_start",
    "attr_end",
}
FLOAT = {"t": "float", "v": "-999.9"}
INPUTS = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), ("A", "B")),
    "PRelu": ("X", "slope"),
    **dict.fromkeys(("Pow", "BitShift", "Where"), ("X", "Y")),
}


def main() -> int:
    arguments = argparse.ArgumentParser(description="write the measurements of winml-cli as targets")
    arguments.add_argument("wheel", type=Path)
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--only", metavar="NAME", help="of one target")
    arguments.add_argument("--held-out", type=int, default=0, metavar="NUMBER", help="build trees without this many different tenths, and compare")
    arguments.add_argument("--seed", type=int, default=1, help="of the choice of held-out rows")
    options = arguments.parse_args()
    wheel = zipfile.ZipFile(options.wheel)
    failed = 0
    for folder, (name, device) in TARGETS.items():
        if options.only not in (None, name):
            continue
        rows = read(wheel, folder)
        if options.held_out:
            failed += report(name, rows, options.held_out, options.seed)
            continue
        head = {
            "source": "winml-cli 0.4.0",
            "device": device,
            "through": f"onnxruntime {folder.split('_')[0]}",
            "fixed": "",
        }
        text = measured.compile(rows, head)
        failed += measured.store(name, text, options.check)
    return int(bool(failed))


def report(name: str, rows: list[dict], tenths: int, seed: int) -> int:
    """Prints how trees decide the rows that they were built without. Returns the number of false `+`."""
    pairs = Counter()
    for tenth in range(tenths):
        pairs += measured.held_out(rows, seed, tenth)
    decided = sum(count for (said, _), count in pairs.items() if said != "?")
    right = sum(count for (said, was), count in pairs.items() if said == was != "?")
    false = sum(count for (said, was), count in pairs.items() if said == "+" and was in "~-")
    fallback = sum(count for (said, was), count in pairs.items() if said == "~" and was == "-")
    print(f"{name}: {pairs.total()} rows, {decided} decided, {right} right ({100 * right / decided:.3f} %), {false} false +, {fallback} false ~", flush=True)
    return false


def read(wheel: zipfile.ZipFile, folder: str) -> list[dict]:
    found = []
    for path in sorted(name for name in wheel.namelist() if name.startswith(f"{TABLES}{folder}/") and name.endswith(".parquet")):
        match = re.fullmatch(rf"(\w+?)_{folder}_(.+)_opset(\d+)(_qdq)?\.parquet", Path(path).name)
        operator, domain, version, quantized = match.groups()
        if operator.endswith("Pattern"):
            continue
        table = pyarrow.parquet.read_table(io.BytesIO(wheel.read(path)))
        name = f"{domain}::{operator}{'/quantized' if quantized else ''}"
        found += rows(name, operator, int(version), table)
    return filled(found)


def rows(name: str, operator: str, version: int, table) -> list[dict]:
    """The rows of one table."""
    columns = {column: table[column].to_pylist() for column in table.schema.names if column != "compile_run_success"}
    properties: dict[str, list[str]] = {}
    for column, texts in columns.items():
        values = {text: json.loads(text) for text in set(texts)}
        for key, convert in converted(operator, column, values, columns):
            texts_of = {text: convert(value) for text, value in values.items()}
            properties[key] = [texts_of[text] for text in texts]
    for key in [key for key in properties if key.startswith("constant.")]:
        present = properties.get(key.replace("constant.", "present.", 1))
        if present:
            properties[key] = ["false" if absent == "false" else value for absent, value in zip(present, properties[key])]
    found = []
    for at, (compiled, ran) in enumerate(table["compile_run_success"].to_pylist()):
        outcome = "-" if not ran else "+" if compiled else "~"
        own = {key: values[at] for key, values in sorted(properties.items())}
        found.append({"operator": name, "version": version, "properties": own, "outcome": outcome})
    return found


def converted(operator: str, column: str, values: dict, columns: dict):
    """The property of a column and the function from its values to texts; nothing for a column that says nothing."""
    variadic = any(value.get("t") == "tuple" for value in values.values())
    if column.endswith(("_dynamic_axes", "_is_fixed_shape")) or column in DROPPED:
        return
    if column in NAMED.get(operator, {}):
        yield NAMED[operator][column], text_of
    elif operator.startswith("Reduce") and column in REDUCTIONS:
        yield REDUCTIONS[column], text_of
    elif column in SHARED:
        yield SHARED[column], truth_of
    elif column in NEGATED:
        yield NEGATED[column], lambda value: {"true": "false", "false": "true", "none": "false"}[text_of(value)]
    elif operator == "Squeeze" and column == "axes_is_empty":
        yield "axes.empty", text_of
    elif operator == "Squeeze" and column == "axes_len_greater_than_one":
        yield "axes.several", text_of
    elif match := re.fullmatch(r"QDQ_(\w+)", column):
        yield f"quantized.{match[1]}", text_of
    elif match := re.fullmatch(rf"(\w+)_{operator}", column):
        yield f"type.{match[1]}", text_of
    elif match := re.fullmatch(r"attr_(\w+)_is_none", column):
        if f"attr_{match[1]}" not in columns or is_list(columns[f"attr_{match[1]}"]):
            yield f"given.{match[1]}", negated
    elif match := re.fullmatch(r"attr_(\w+)", column):
        if FLOAT not in values.values() and not variadic:
            # The tables have no row with an absent attribute and a default at the same time.
            yield f"attribute.{match[1]}", lambda value: "0" if value["t"] == "none" and match[1].startswith("trans") else text_of(value)
    elif match := re.fullmatch(r"(\w+)_is_none", column):
        if not variadic:
            yield f"present.{match[1]}", negated
    elif match := re.fullmatch(r"(\w+)_is_constant", column):
        if not variadic:
            yield f"constant.{match[1]}", text_of
    elif match := re.fullmatch(r"(\w+)_dim", column):
        yield f"rank.{match[1]}", text_of
    elif match := re.fullmatch(r"(\w+)_is_single_element", column):
        yield f"single.{match[1]}", text_of
    elif match := re.fullmatch(r"(\w+)_broadcasting_to_(\w+)", column):
        first, second = INPUTS[operator]
        names = {"x": first, "y": second, "condition": "condition"}
        yield f"smaller.{names[match[1]]}.{names[match[2]]}", text_of
    else:
        raise SystemExit(f"{operator}: unknown column `{column}`")


def truth_of(value: dict) -> str:
    """Some columns have 0 and 1 for a truth."""
    return {"0": "false", "1": "true", "none": "false"}.get(text_of(value), text_of(value))


def is_list(texts: list[str]) -> bool:
    return any(json.loads(text)["t"] == "tuple" for text in set(texts))


def text_of(value: dict) -> str:
    kind = value["t"]
    if kind == "none":
        return "none"
    if kind == "bool":
        return "true" if value["v"] else "false"
    if kind == "int":
        return str(value["v"])
    if kind == "str":
        return value["v"].lower() if value["v"] in ELEMENTS else value["v"]
    if kind == "tuple":
        return "x".join(text_of(one) for one in value["v"]) or "empty"
    raise SystemExit(f"unknown value {value}")


ELEMENTS = {
    *("FLOAT", "FLOAT16", "DOUBLE", "BFLOAT16", "BOOL", "STRING"),
    *(f"{sign}INT{bits}" for sign in ("", "U") for bits in (2, 4, 8, 16, 32, 64)),
}


def negated(value: dict) -> str:
    return {"true": "false", "false": "true"}[text_of(value)]


def filled(found: list[dict]) -> list[dict]:
    """The rows with all properties that any version of the operator has."""
    absent = {"constant": "false", "present": "false", "given": "false"}
    for own in measured.grouped(found).values():
        keys = sorted({key for row in own for key in row["properties"]})
        for row in own:
            row["properties"] = {key: row["properties"].get(key, absent.get(key.split(".")[0], "none")) for key in keys}
    return found


if __name__ == "__main__":
    sys.exit(main())
