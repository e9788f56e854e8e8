"""Models of one operator each, and inputs of typical sizes.

A case has a name, a model and an array per input. `node` makes one from arrays; arrays in `constants` become initializers, as weights
of real models are. New families are functions that yield cases, listed in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import helper, numpy_helper

from contender import IN_PLACE

OPSET, IR_VERSION = 21, 10


@dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    inputs: dict[str, np.ndarray[Any, Any]]


def node(
    name: str,
    op: str,
    inputs: list[Any],
    *,
    constants: tuple[int, ...] = (),
    outputs: int = 1,
    domain: str = "",
    domain_version: int = 1,
    opset: int = OPSET,
    in_place: dict[int, int] | None = None,
    **attributes: Any,
) -> Case:
    """A case of one node. `inputs` are arrays or None (omitted); those at the indices `constants` are initializers. `in_place` has the
    results that ONNX Runtime has to write to the memory of an input."""
    names = ["" if value is None else f"i{at}" for at, value in enumerate(inputs)]
    given = {names[at]: value for at, value in enumerate(inputs) if value is not None and at not in constants}
    stored = [numpy_helper.from_array(inputs[at], names[at]) for at in constants]
    results = [f"o{at}" for at in range(outputs)]
    for result, given_at in (in_place or {}).items():
        results[result] = names[given_at] + IN_PLACE
    made = helper.make_node(op, names, results, domain=domain, **attributes)
    graph = helper.make_graph(
        [made],
        "case",
        [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for key, value in given.items()],
        [onnx.ValueInfoProto(name=result) for result in results],
        stored,
    )
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, domain_version)] if domain else [])
    return Case(f"{op} {name}", helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION), given)


RANDOM = np.random.default_rng(1)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.standard_normal(shape, dtype=np.float32)


def bytes_of(kind: type, *shape: int) -> np.ndarray[Any, Any]:
    limits = np.iinfo(kind)
    return RANDOM.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


def scalar(value: float, kind: type = np.float32) -> np.ndarray[Any, Any]:
    return np.array(value, dtype=kind)


def integer() -> Iterator[Case]:
    for m, k, n in ((1, 768, 768), (128, 768, 768), (128, 768, 3072), (512, 512, 512)):
        for kind in (np.uint8, np.int8):
            a, b = bytes_of(np.uint8, m, k), bytes_of(kind, k, n)
            name = f"{m}x{k}x{n} {kind.__name__}"
            yield node(name, "MatMulInteger", [a, b, scalar(128, np.uint8), scalar(0, kind)], constants=(1, 3))
            scales = [scalar(0.02), scalar(128, np.uint8)]
            right = [b, scalar(0.01), scalar(0, kind)]
            out = [scalar(0.05), scalar(120, np.uint8)]
            yield node(name, "QLinearMatMul", [a, *scales, *right, *out], constants=(1, 2, 3, 4, 5, 6, 7))
    for label, shape, filters, group, strides in (
        ("64x56x56 3x3", (1, 64, 56, 56), (64, 64, 3, 3), 1, 1),
        ("256x14x14 1x1", (1, 256, 14, 14), (512, 256, 1, 1), 1, 1),
        ("3x224x224 7x7 /2", (1, 3, 224, 224), (64, 3, 7, 7), 1, 2),
        ("96x56x56 3x3 depthwise", (1, 96, 56, 56), (96, 1, 3, 3), 96, 1),
    ):
        pad = filters[2] // 2
        options: dict[str, Any] = {"group": group, "strides": [strides] * 2, "pads": [pad] * 4}
        x = bytes_of(np.uint8, *shape)
        yield node(label, "ConvInteger", [x, bytes_of(np.uint8, *filters), scalar(128, np.uint8)], constants=(1,), **options)
        w = bytes_of(np.int8, *filters)
        per_channel = np.full(filters[0], 0.01, np.float32)
        zeros = np.zeros(filters[0], np.int8)
        rest = [scalar(0.02), scalar(128, np.uint8), w, per_channel, zeros, scalar(0.5), scalar(128, np.uint8)]
        bias = RANDOM.integers(-1000, 1000, filters[0], dtype=np.int32)
        yield node(label, "QLinearConv", [x, *rest, bias], constants=tuple(range(1, 9)), **options)
    for shape in ((1, 64, 112, 112), (128, 768)):
        x, label = floats(*shape), "x".join(map(str, shape))
        yield node(label, "QuantizeLinear", [x, scalar(0.02), scalar(128, np.uint8)], constants=(1, 2))
        yield node(label, "DequantizeLinear", [bytes_of(np.uint8, *shape), scalar(0.02), scalar(128, np.uint8)], constants=(1, 2))
        per = np.full(shape[1], 0.02, np.float32)
        yield node(label + " per axis", "QuantizeLinear", [x, per, np.zeros(shape[1], np.int8)], constants=(1, 2), axis=1)
        yield node(label + " per axis", "DequantizeLinear", [bytes_of(np.int8, *shape), per, np.zeros(shape[1], np.int8)], constants=(1, 2), axis=1)
        yield node(label, "DynamicQuantizeLinear", [x], outputs=3)


def chain(name: str, text: str, x: np.ndarray[Any, Any], stored: dict[str, np.ndarray[Any, Any]]) -> Case:
    """A case of several nodes in ONNX's textual syntax, from the input `x` to the output `y`."""
    model = onnx.parser.parse_model(f'<ir_version: {IR_VERSION}, opset_import: ["" : {OPSET}]>\ng (float[{",".join(map(str, x.shape))}] x) => (float y) {{ {text} }}')
    model.graph.output[0].ClearField("type")
    model.graph.initializer.extend(numpy_helper.from_array(value, key) for key, value in stored.items())
    return Case(name, model, {"x": x})


def quantised() -> Iterator[Case]:
    """Patterns of quantised models: dynamic quantisation, and float nodes between dequantisation and quantisation."""
    convolution = "pads = [1, 1, 1, 1]"
    scales = {"s": scalar(0.02), "z": scalar(120, np.uint8)}
    for kind in (np.int8, np.uint8):
        zero = {"wz": scalar(0 if kind is np.int8 else 128, kind), "ws": scalar(0.01)}
        dynamic = "q, xs, xz = DynamicQuantizeLinear(x) c = {op}(q, w, xz, wz) f = Cast<to = 1>(c) k = Mul(xs, ws) p = Mul(f, k) y = Add(p, b)"
        for m, k, n in ((1, 768, 768), (128, 768, 3072)):
            stored = {"w": bytes_of(kind, k, n), "b": floats(n), **zero}
            yield chain(f"dynamic MatMul {m}x{k}x{n} {kind.__name__}", dynamic.format(op="MatMulInteger"), floats(m, k), stored)
        for channels, size in ((64, 56), (256, 14)):
            stored = {"w": bytes_of(kind, channels, channels, 3, 3), "b": floats(channels, 1, 1), **zero}
            name = f"dynamic Conv {channels}x{size}x{size} 3x3 {kind.__name__}"
            yield chain(name, dynamic.format(op=f"ConvInteger<{convolution}>"), floats(1, channels, size, size), stored)
    start = "q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) v = DequantizeLinear<axis = {axis}>(w, ws, wz) "
    end = " e = QuantizeLinear(r, s, z) y = DequantizeLinear(e, s, z)"
    for channels, size in ((64, 56), (256, 14)):
        per = {"ws": np.full(channels, 0.01, np.float32), "wz": np.zeros(channels, np.int8)}
        stored = {"w": bytes_of(np.int8, channels, channels, 3, 3), **per, **scales}
        text = start.format(axis=0) + f"c = Conv<{convolution}>(d, v) r = Relu(c)" + end
        yield chain(f"QDQ Conv {channels}x{size}x{size} 3x3", text, floats(1, channels, size, size), stored)
    per = {"ws": np.full(768, 0.01, np.float32), "wz": np.zeros(768, np.int8)}
    text = start.format(axis=1) + "r = MatMul(d, v)" + end
    yield chain("QDQ MatMul 128x768x768", text, floats(128, 768), {"w": bytes_of(np.int8, 768, 768), **per, **scales})
    text = start.format(axis=1).replace("v = DequantizeLinear<axis = 1>(w, ws, wz) ", "") + "t = DequantizeLinear(q, u, z) r = Add(d, t)" + end
    yield chain("QDQ Add 64x56x56", text, floats(1, 64, 56, 56), {"u": scalar(0.01), **scales})


def image() -> Iterator[Case]:
    x = floats(1, 32, 64, 64)
    none = None
    for mode, coordinates in (("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners"), ("cubic", "half_pixel")):
        scales = np.array([1, 1, 2, 2], np.float32)
        yield node(f"{mode} {coordinates} x2", "Resize", [x, none, scales], constants=(2,), mode=mode, coordinate_transformation_mode=coordinates)
    half = np.array([1, 1, 0.5, 0.5], np.float32)
    yield node("linear /2 antialias", "Resize", [x, none, half], constants=(2,), mode="linear", antialias=1)
    for label, filters, group in (("2x2 /2", (32, 32, 2, 2), 1), ("4x4 /2", (32, 16, 4, 4), 1), ("4x4 /2 depthwise", (32, 1, 4, 4), 32)):
        yield node(label, "ConvTranspose", [x, floats(*filters)], constants=(1,), strides=[2, 2], group=group)
    for size, stride in ((3, 1), (3, 2), (5, 1), (7, 1)):
        filters = floats(96, 1, size, size)
        options = {"group": 96, "strides": [stride] * 2, "pads": [size // 2] * 4}
        yield node(f"96x56x56 {size}x{size} /{stride} depthwise", "Conv", [floats(1, 96, 56, 56), filters, floats(96)], constants=(1, 2), **options)
    yield node("64x512 5 depthwise", "Conv", [floats(1, 64, 512), floats(64, 1, 5)], constants=(1,), group=64, pads=[2, 2])
    yield node("64x56x56 3x3", "Conv", [floats(1, 64, 56, 56), floats(64, 64, 3, 3)], constants=(1,), pads=[1] * 4)
    yield node("32x64x64 grouped", "Conv", [x, floats(64, 8, 3, 3)], constants=(1,), group=4, pads=[1] * 4)
    yield node("3x3", "MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2])
    yield node("3x3", "AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2])
    yield node("", "GlobalAveragePool", [x])
    yield node("bilinear", "GridSample", [x, RANDOM.uniform(-1, 1, (1, 64, 64, 2)).astype(np.float32)], mode="linear")
    yield node("bicubic", "GridSample", [x, RANDOM.uniform(-1, 1, (1, 64, 64, 2)).astype(np.float32)], mode="cubic")
    corners = RANDOM.uniform(0, 30, (50, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + 20], axis=1)
    yield node("50 regions", "RoiAlign", [x, boxes, np.zeros(50, np.int64)], output_height=7, output_width=7, sampling_ratio=2)
    photo, size = bytes_of(np.uint8, 1, 3, 480, 640), np.array([1, 3, 224, 224])
    yield node("480x640 to 224x224 uint8", "Resize", [photo, none, none, size], constants=(3,), mode="linear")
    yield node("480x640 to 224x224", "Resize", [floats(1, 3, 480, 640), none, none, size], constants=(3,), mode="linear")
    yield node("960x7x7 3x3 depthwise", "Conv", [floats(1, 960, 7, 7), floats(960, 1, 3, 3)], constants=(1,), group=960, pads=[1] * 4)
    yield node("240x28x28 5x5 /2 depthwise", "Conv", [floats(1, 240, 28, 28), floats(240, 1, 5, 5)], constants=(1,), group=240, pads=[2] * 4, strides=[2, 2])
    yield node("512x100 16 /8", "ConvTranspose", [floats(1, 512, 100), floats(512, 256, 16)], constants=(1,), strides=[8], pads=[4, 4])
    yield node("5x5", "MaxPool", [x], kernel_shape=[5, 5], pads=[2] * 4)
    yield node("32x64x64", "InstanceNormalization", [x, floats(32), floats(32)], constants=(1, 2))
    yield node("reflect", "Pad", [x, np.array([0, 0, 3, 3, 0, 0, 3, 3])], constants=(1,), mode="reflect")


def recurrent() -> Iterator[Case]:
    steps, batch, inputs, hidden = 50, 4, 128, 128
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for directions, direction in ((1, "forward"), (2, "bidirectional")):
            weights = [floats(directions, gates * hidden, size) / 10 for size in (inputs, hidden)]
            bias = floats(directions, 2 * gates * hidden) / 10
            yield node(f"50x4x128 {direction}", op, [floats(steps, batch, inputs), *weights, bias], constants=(1, 2, 3), hidden_size=hidden, direction=direction)


def shape() -> Iterator[Case]:
    x = floats(8, 128, 768)
    yield node("8x128x768 last", "Softmax", [x], axis=-1)
    yield node("8x128x768 axis 1", "Softmax", [x], axis=1)
    yield node("8x128x768", "LayerNormalization", [x, floats(768), floats(768)], constants=(1, 2))
    for op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"):
        for axis in (0, 1, 2):
            yield node(f"8x128x768 axis {axis}", op, [x, np.array([axis])], constants=(1,))
    for order in ((0, 2, 1), (1, 0, 2), (2, 1, 0)):
        yield node(f"8x128x768 {order}", "Transpose", [x], perm=list(order))
    yield node("50000x256 by 512", "Gather", [floats(50_000, 256), RANDOM.integers(0, 50_000, (4, 128))], constants=(0,))
    yield node("axis 1", "Concat", [x, x], axis=1)
    yield node("inner", "Slice", [x, np.array([32, 64]), np.array([96, 704]), np.array([1, 2])], constants=(1, 2, 3))
    yield node("inner", "Pad", [x, np.array([0, 1, 1, 0, 1, 1])], constants=(1,))
    yield node("", "Where", [x > 0, x, scalar(0)], constants=(2,))
    yield node("", "Expand", [floats(8, 1, 768), np.array([8, 128, 768])], constants=(1,))
    yield node("", "Tile", [floats(8, 16, 768), np.array([1, 8, 1])], constants=(1,))
    yield node("bhid,bhjd->bhij", "Einsum", [floats(2, 8, 128, 64), floats(2, 8, 128, 64)], equation="bhid,bhjd->bhij")
    yield node("k 10", "TopK", [x, np.array([10])], constants=(1,), outputs=2)
    yield node("axis 1", "CumSum", [x, np.array(1)], constants=(1,))
    yield node("last", "ArgMax", [x], axis=-1)
    yield node("", "ScatterND", [floats(1000, 256), RANDOM.permutation(1000)[:500, None], floats(500, 256)])
    yield node("", "GatherElements", [x, RANDOM.integers(0, 128, x.shape)], axis=1)
    yield node("", "NonZero", [x > 1])
    yield node("100000 of 1000", "Unique", [RANDOM.integers(0, 1000, 100_000)], outputs=4)
    yield node("100000", "Unique", [floats(100_000)], outputs=4)
    boxes = np.sort(RANDOM.uniform(0, 1, (1, 1000, 2, 2)).astype(np.float32), axis=2).reshape(1, 1000, 4)
    scores = RANDOM.uniform(0, 1, (1, 4, 1000)).astype(np.float32)
    limits = [np.array([100]), scalar(0.5), scalar(0.1)]
    yield node("1000 boxes", "NonMaxSuppression", [boxes, scores, *limits], constants=(2, 3, 4))


def elementwise() -> Iterator[Case]:
    x = floats(8, 128, 768)
    for op in ("Exp", "Tanh", "Sigmoid", "Erf", "Relu", "LeakyRelu", "Elu", "Softplus", "HardSwish", "Gelu", "Mish", "Sqrt", "Neg", "Floor", "Sin", "Log", "Atan"):
        given = abs(x) if op in ("Sqrt", "Log") else x
        yield node("8x128x768", op, [given])
    for op in ("Add", "Mul", "Div", "Max", "Greater"):
        yield node("8x128x768", op, [x, floats(8, 128, 768)])
        yield node("8x128x768 row", op, [x, floats(768)])
    yield node("scalar 2", "Pow", [x, scalar(2)], constants=(1,))
    yield node("", "Clip", [x, scalar(-1), scalar(1)], constants=(1, 2))
    yield node("f32 to f16", "Cast", [x], to=onnx.TensorProto.FLOAT16)
    yield node("f32 to i64", "Cast", [x], to=onnx.TensorProto.INT64)


def products() -> Iterator[Case]:
    for m, k, n in ((1, 768, 3072), (128, 768, 768), (512, 512, 512)):
        yield node(f"{m}x{k}x{n}", "MatMul", [floats(m, k), floats(k, n)], constants=(1,))
        yield node(f"{m}x{k}x{n} transposed", "Gemm", [floats(m, k), floats(n, k), floats(n)], constants=(1, 2), transB=1)
    yield node("8x8x128x64 batched", "MatMul", [floats(8, 8, 128, 64), floats(8, 8, 64, 128)])


def forest(trees: int, depth: int, features: int, prefix: str) -> dict[str, Any]:
    """Attributes of complete trees with one weight per leaf."""
    inner, count = 2**depth - 1, 2 ** (depth + 1) - 1
    ids = np.arange(count)
    is_leaf = ids >= inner
    every, leaves = np.tile(ids, trees), np.tile(ids[is_leaf], trees)
    total = trees * count
    return {
        "nodes_treeids": np.repeat(np.arange(trees), count).tolist(),
        "nodes_nodeids": every.tolist(),
        "nodes_featureids": RANDOM.integers(0, features, total).tolist(),
        "nodes_modes": np.tile(np.where(is_leaf, "LEAF", "BRANCH_LEQ"), trees).tolist(),
        "nodes_values": RANDOM.standard_normal(total).astype(np.float32).tolist(),
        "nodes_truenodeids": np.tile(np.where(is_leaf, 0, 2 * ids + 1), trees).tolist(),
        "nodes_falsenodeids": np.tile(np.where(is_leaf, 0, 2 * ids + 2), trees).tolist(),
        f"{prefix}_treeids": np.repeat(np.arange(trees), int(is_leaf.sum())).tolist(),
        f"{prefix}_nodeids": leaves.tolist(),
        f"{prefix}_ids": [0] * len(leaves),
        f"{prefix}_weights": RANDOM.standard_normal(len(leaves)).astype(np.float32).tolist(),
    }


def learned() -> Iterator[Case]:
    ml = {"domain": "ai.onnx.ml", "domain_version": 3}
    for rows, trees, depth in ((1, 100, 6), (1000, 100, 6), (1000, 10, 12)):
        x = floats(rows, 20)
        yield node(f"{rows} rows {trees} trees", "TreeEnsembleRegressor", [x], n_targets=1, **forest(trees, depth, 20, "target"), **ml)
        options = {"classlabels_int64s": [0, 1], "post_transform": "LOGISTIC", **forest(trees, depth, 20, "class")}
        yield node(f"{rows} rows {trees} trees", "TreeEnsembleClassifier", [x], outputs=2, **options, **ml)
    x = floats(1000, 64)
    labels = {"classlabels_ints": list(range(10))}
    weights = {"coefficients": floats(640).tolist(), "intercepts": floats(10).tolist()}
    yield node("1000x64 to 10", "LinearClassifier", [x], outputs=2, post_transform="SOFTMAX", **labels, **weights, **ml)
    yield node("1000x64 to 10", "LinearRegressor", [x], targets=10, **weights, **ml)
    machine = {"kernel_type": "RBF", "kernel_params": [0.1, 0.0, 3.0], "support_vectors": floats(200 * 64).tolist()}
    yield node("1000x64 200 vectors", "SVMRegressor", [x], n_supports=200, coefficients=floats(200).tolist(), rho=[0.5], **machine, **ml)
    pairs = {"coefficients": floats(400).tolist(), "rho": [0.1, 0.2, 0.3], "vectors_per_class": [60, 70, 70], "classlabels_ints": [0, 1, 2]}
    yield node("1000x64 200 vectors", "SVMClassifier", [x], outputs=2, **pairs, **machine, **ml)
    yield node("1000x64", "Scaler", [x], offset=floats(64).tolist(), scale=floats(64).tolist(), **ml)
    yield node("1000x64", "Normalizer", [x], norm="L2", **ml)
    yield node("1000x64", "Imputer", [x], imputed_value_floats=floats(64).tolist(), replaced_value_float=0.0, **ml)
    yield node("1000x64", "Binarizer", [x], threshold=0.5, **ml)
    keys = RANDOM.integers(0, 100, 50_000)
    yield node("50000", "LabelEncoder", [keys], keys_int64s=list(range(90)), values_int64s=list(range(10, 100)), **ml)
    yield node("50000", "OneHotEncoder", [keys[:5000]], cats_int64s=list(range(100)), **ml)


def contrib() -> Iterator[Case]:
    ms = {"domain": "com.microsoft"}
    x, row = floats(8, 128, 768), floats(768)
    for op in ("Gelu", "QuickGelu", "FastGelu"):
        yield node("8x128x768", op, [x], **ms)
    yield node("8x128x768", "BiasGelu", [x, row], **ms)
    yield node("8x128x768", "SkipLayerNormalization", [x, x, row, row], constants=(2, 3), epsilon=1e-5, **ms)
    yield node("8x128x768", "SkipSimplifiedLayerNormalization", [x, x, row], constants=(2,), epsilon=1e-5, **ms)
    yield node("8x128x768", "SimplifiedLayerNormalization", [x, row], constants=(1,), epsilon=1e-5)
    ids = RANDOM.integers(0, 30_000, (8, 128)).astype(np.int32)
    tables = [floats(30_000, 768), floats(512, 768), floats(2, 768)]
    embedded = [ids, np.zeros_like(ids), *tables, row, row]
    yield node("8x128x768", "EmbedLayerNormalization", embedded, constants=(2, 3, 4, 5, 6), outputs=2, **ms)
    yield node("64x56x56 3x3", "FusedConv", [floats(1, 64, 56, 56), floats(64, 64, 3, 3), floats(64)], constants=(1, 2), pads=[1] * 4, activation="Relu", **ms)
    yield node("8x8x128x64 transposed", "FusedMatMul", [floats(8, 8, 128, 64), floats(8, 8, 128, 64)], transB=1, alpha=0.125, **ms)
    yield node("128x768x768", "FusedGemm", [floats(128, 768), floats(768, 768), row], constants=(1, 2), activation="Relu", **ms)
    yield node("2x128x768", "Attention", [floats(2, 128, 768), floats(768, 2304) / 30, floats(2304)], constants=(1, 2), num_heads=12, **ms)
    yield node("2x128x768", "MultiHeadAttention", [floats(2, 128, 768) for _ in range(3)], num_heads=12, **ms)
    angles = floats(1024, 32)
    tables = [np.cos(angles), np.sin(angles)]
    yield node("2x128x768", "RotaryEmbedding", [floats(2, 128, 768), np.array([0]), *tables], constants=(2, 3), **ms)
    cache = [floats(1, 4, 512, 64) for _ in range(2)]
    step = [floats(1, 1, 16 * 64), floats(1, 1, 4 * 64), floats(1, 1, 4 * 64), *cache, np.array([511], np.int32), np.array([512], np.int32)]
    yield node("1 token 512 cached", "GroupQueryAttention", [*step, *tables], constants=(7, 8), outputs=3, num_heads=16, kv_num_heads=4, do_rotary=1, **ms)
    prompt = [floats(1, 128, 16 * 64), floats(1, 128, 4 * 64), floats(1, 128, 4 * 64), None, None, np.array([127], np.int32), np.array([128], np.int32)]
    yield node("128 tokens", "GroupQueryAttention", [*prompt, *tables], constants=(7, 8), outputs=3, num_heads=16, kv_num_heads=4, do_rotary=1, **ms)
    for m, bits in ((1, 4), (128, 4), (1, 8), (128, 8)):
        k, n, block = 2048, 2048, 32
        weights = [bytes_of(np.uint8, n, k // block, block * bits // 8), abs(floats(n * k // block)) / 100]
        yield node(f"{m}x{k}x{n} {bits} bits", "MatMulNBits", [floats(m, k), *weights], constants=(1, 2), K=k, N=n, bits=bits, block_size=block, **ms)
    a, b = bytes_of(np.uint8, 128, 768), bytes_of(np.int8, 768, 768)
    yield node("128x768x768", "MatMulIntegerToFloat", [a, b, scalar(0.02), scalar(0.01), scalar(128, np.uint8)], constants=(1, 3), **ms)
    yield node("128x768x768", "DynamicQuantizeMatMul", [floats(128, 768), b, scalar(0.01)], constants=(1, 2), **ms)
    yield node("128x768x768", "QGemm", [a, scalar(0.02), scalar(128, np.uint8), b, scalar(0.01), scalar(0, np.int8)], constants=(1, 2, 3, 4, 5), **ms)
    quantised = [bytes_of(np.uint8, 2, 128, 768), bytes_of(np.int8, 768, 2304), floats(2304), scalar(0.02), scalar(0.01), None, scalar(128, np.uint8), scalar(0, np.int8)]
    yield node("2x128x768", "QAttention", quantised, constants=(1, 2, 3, 4, 6, 7), num_heads=12, **ms)
    recurrent = [floats(50, 4, 128), bytes_of(np.int8, 1, 128, 512), bytes_of(np.int8, 1, 128, 512), floats(1, 1024), None, None, None, None]
    scales = [np.array([0.001], np.float32), np.array([0], np.int8)] * 2
    yield node("50x4x128", "DynamicQuantizeLSTM", [*recurrent, *scales], constants=(1, 2, 3, 8, 9, 10, 11), hidden_size=128, **ms)
    q = bytes_of(np.uint8, 1, 64, 56, 56)
    of_x, of_y = [scalar(0.02), scalar(128, np.uint8)], [scalar(0.03), scalar(120, np.uint8)]
    for op in ("QLinearAdd", "QLinearMul"):
        yield node("64x56x56", op, [q, *of_x, q, *of_x, *of_y], **ms)
    for op in ("QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool"):
        yield node("64x56x56", op, [q, *of_x, *of_y], **ms)
    yield node("64x56x56", "QLinearAveragePool", [q, *of_x, *of_y], kernel_shape=[3, 3], **ms)
    yield node("64x56x56", "QLinearConcat", [*of_y, q, *of_x, q, *of_x], axis=1, **ms)
    token, buffer = floats(1, 1, 16 * 64), [floats(1, 16, 512, 64) for _ in range(2)]
    yield node("1 token 500 cached", "DecoderMaskedMultiHeadAttention", [token, token, token, None, None, *buffer, np.array([500], np.int32)], outputs=3, num_heads=16, past_present_share_buffer=1, **ms)
    for tokens in (1, 128):
        q, k, v = floats(1, tokens, 16 * 64), floats(1, tokens, 16 * 64), floats(1, tokens, 16 * 64)
        gates = [floats(1, 16, 64, 64), -abs(floats(1, tokens, 16)), abs(floats(1, tokens, 16)) / 8]
        yield node(f"{tokens} tokens 16x64x64", "LinearAttention", [q, k / 8, v, *gates], outputs=2, q_num_heads=16, kv_num_heads=16, **ms)
    # Each block of 64 tokens attends to itself, the one before and the first one.
    columns = [sorted({0, max(block - 1, 0), block}) for block in range(8)]
    rows = np.cumsum([0, *map(len, columns)]).astype(np.int32)[np.newaxis]
    blocks = [rows, np.array([sum(columns, [])], np.int32)]
    cache = [floats(1, 4, 512, 64) for _ in range(2)]
    for tokens, total in ((1, 512), (512, 512)):
        sizes = [np.array([total], np.int32), np.array([total], np.int32)]
        given = [floats(1, tokens, 16 * 64), floats(1, tokens, 4 * 64), floats(1, tokens, 4 * 64), *cache, *blocks, *sizes]
        yield node(f"{tokens} tokens of 512", "SparseAttention", given, outputs=3, num_heads=16, kv_num_heads=4, sparse_block_size=64, in_place={1: 3, 2: 4}, **ms)


FAMILIES: dict[str, Callable[[], Iterator[Case]]] = {
    "integer": integer,
    "quantised": quantised,
    "image": image,
    "recurrent": recurrent,
    "shape": shape,
    "elementwise": elementwise,
    "products": products,
    "learned": learned,
    "contrib": contrib,
}
