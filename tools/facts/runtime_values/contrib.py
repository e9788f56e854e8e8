"""Random calls of the operators of `com.microsoft`."""

import numpy as np

from .case import Case, floats, ints, normal, one_of

EMPTY = None


def ms(op, inputs, attributes=None, outputs=("y",), constants=(), unspecified=(), **rest):
    return Case(f"com.microsoft.{op}", inputs, attributes or {}, outputs, constants, unspecified, **rest)


def f32(value):
    return np.array(value, np.float32)


def gelu(random):
    op = one_of(random, "Gelu", "QuickGelu", "FastGelu")
    attributes = {"alpha": float(one_of(random, 1.702, 1.0))} if op == "QuickGelu" else {}
    inputs = [("x", normal(random, 2, int(random.integers(1, 40)), scale=3))]
    if op == "FastGelu" and random.integers(2):
        inputs.append(("b", normal(random, inputs[0][1].shape[1])))
    return ms(op, inputs, attributes)


def bias_gelu(random):
    return ms("BiasGelu", [("x", normal(random, 2, 3, 8)), ("b", normal(random, 8))])


ACTIVATIONS = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "LeakyRelu": 1, "Clip": 2, "HardSigmoid": 2}


def fused_conv(random):
    group = int(one_of(random, 1, 1, 2))
    x, w = normal(random, 1, 2 * group, 5, 6), normal(random, 4, 2, 3, 2)
    attributes = {"pads": [1, 0, 1, 1], "strides": [1, int(one_of(random, 1, 2))], "group": group, "kernel_shape": [3, 2]}
    activation = one_of(random, *ACTIVATIONS)
    attributes["activation"] = activation
    parameters = {0: [], 1: [0.2], 2: [0.1, 0.6]}[ACTIVATIONS[activation]]
    if parameters:
        attributes["activation_params"] = parameters
    inputs = [("x", x), ("w", w), ("b", normal(random, 4) if random.integers(2) else None)]
    if random.integers(2):
        width = (6 + 1 - 2) // attributes["strides"][1] + 1
        inputs.append(("z", normal(random, 1, 4, 5, width)))
    return ms("FusedConv", inputs, attributes, constants=("w", "b"))


def fused_gemm(random):
    a, b = bool(random.integers(2)), bool(random.integers(2))
    x = normal(random, *((4, 3) if a else (3, 4)))
    w = normal(random, *((5, 4) if b else (4, 5)))
    activation = one_of(random, "Relu", "Tanh", "LeakyRelu", "Sigmoid")
    attributes = {"transA": int(a), "transB": int(b), "alpha": 0.5, "beta": 2.0, "activation": activation}
    if activation == "LeakyRelu":
        attributes["activation_alpha"] = 0.3
    inputs = [("x", x), ("w", w)] + ([("c", normal(random, 5))] if random.integers(2) else [])
    return ms("FusedGemm", inputs, attributes)


def fused_matmul(random):
    attributes = {name: int(random.integers(2)) for name in ("transA", "transB", "transBatchA", "transBatchB")}
    attributes["alpha"] = float(one_of(random, 1.0, 0.125))
    m, k, n, batch = 3, 4, 5, 2

    def shape(rows, columns, trans, trans_batch):
        last = [columns, rows] if trans else [rows, columns]
        return [last[0], batch, last[1]] if trans_batch else [batch, *last]

    x = normal(random, *shape(m, k, attributes["transA"], attributes["transBatchA"]))
    w = normal(random, *shape(k, n, attributes["transB"], attributes["transBatchB"]))
    if random.integers(3) == 0:
        attributes["transBatchA"] = attributes["transBatchB"] = 0
        x = normal(random, *([2, 2, k, m] if attributes["transA"] else [2, 2, m, k]))
        w = normal(random, *([n, k] if attributes["transB"] else [k, n]))
    dtype = one_of(random, np.float32, np.float32, np.float64)
    return ms("FusedMatMul", [("x", x.astype(dtype)), ("w", w.astype(dtype))], attributes)


def transpose_matmul(random):
    return ms("TransposeMatMul", [("x", normal(random, 4, 3)), ("w", normal(random, 4, 5))], {"transA": 1, "transB": 0, "alpha": 0.5})


def simplified_layer_norm(random):
    case = ms("SimplifiedLayerNormalization", [("x", normal(random, 2, 3, 20)), ("s", normal(random, 20))], {"epsilon": 1e-5, "axis": -1})
    case.op = "SimplifiedLayerNormalization"
    return case


def skip_layer_norm(random):
    simplified = bool(random.integers(2))
    op = "SkipSimplifiedLayerNormalization" if simplified else "SkipLayerNormalization"
    x = normal(random, 2, 3, 18)
    skip = normal(random, *one_of(random, (2, 3, 18), (1, 3, 18), (3, 18)))
    inputs = [("x", x), ("skip", skip), ("gamma", normal(random, 18))]
    if not simplified:
        inputs.append(("beta", normal(random, 18) if random.integers(2) else None))
    if random.integers(2):
        inputs.append(("bias", normal(random, 18)))
    outputs = ("y", '""', '""', "sum") if random.integers(2) else ("y",)
    half = bool(random.integers(4) == 0)
    inputs = [(name, array if array is None else array.astype(np.float16 if half else np.float32)) for name, array in inputs]
    return ms(op, inputs, {"epsilon": 1e-5}, outputs)


def embed_layer_norm(random):
    words, positions, width, length = 7, 5, 12, 4
    segments = bool(random.integers(2))
    inputs = [
        ("ids", ints(random, 0, words, 2, length, dtype=np.int32)),
        ("segs", ints(random, 0, 2, 2, length, dtype=np.int32) if segments else None),
        ("we", normal(random, words, width)),
        ("pe", normal(random, positions, width)),
        ("se", normal(random, 2, width) if segments else None),
        ("gamma", normal(random, width)),
        ("beta", normal(random, width)),
    ]
    if random.integers(2):
        mask = np.ones((2, length), np.int32)
        mask[1, 2:] = 0
        inputs.append(("mask", mask))
    return ms("EmbedLayerNormalization", inputs, {"epsilon": 1e-5}, ("y", "m"))


def gated_rms_norm(random):
    x = normal(random, 2, 3, 8)
    return ms("GatedRMSNorm", [("x", x), ("s", normal(random, 8)), ("g", normal(random, 2, 3, 8))], {"activation": one_of(random, "silu", "sigmoid")})


def rotary(random):
    heads, size, length = 2, 8, 3
    x = normal(random, 2, heads, length, size) if random.integers(2) else normal(random, 2, length, heads * size)
    partial = bool(random.integers(2))
    half = 2 if partial else size // 2
    attributes = {"interleaved": int(random.integers(2))}
    if partial:
        attributes |= {"rotary_embedding_dim": 2 * half, "num_heads": heads}
    positions = np.array([1]) if random.integers(2) else ints(random, 0, 6, 2, length)
    angles = normal(random, 6, half)
    return ms("RotaryEmbedding", [("x", x), ("p", positions), ("c", np.cos(angles)), ("s", np.sin(angles))], attributes)


def attention(random):
    batch, length, width, heads, size = 2, 3, 6, 2, 4
    past = int(one_of(random, 0, 0, 2))
    hidden = heads * size
    value = hidden if past or random.integers(2) else heads * 3
    inputs = [
        ("x", normal(random, batch, length, width)),
        ("w", normal(random, width, 2 * hidden + value, scale=0.5)),
        ("b", normal(random, 2 * hidden + value)),
    ]
    kind = one_of(random, "none", "end", "range", "2d", "3d")
    total = past + length
    mask = {
        "none": None,
        "end": np.array([total, total - 1], np.int32),
        "range": np.array([total, total - 1, 0, 1], np.int32),
        "2d": np.array([[1] * total, [1] * (total - 1) + [0]], np.int32),
        "3d": np.maximum(ints(random, 0, 2, batch, length, total, dtype=np.int32), np.eye(length, total, dtype=np.int32)),
    }[kind]
    inputs.append(("m", mask))
    inputs.append(("past", normal(random, 2, batch, heads, past, size) if past else None))
    if random.integers(3) == 0:
        inputs.append(("bias", normal(random, int(one_of(random, 1, batch)), int(one_of(random, 1, heads)), length, total)))
    attributes = {"num_heads": heads, "unidirectional": int(random.integers(2))}
    if value != hidden:
        attributes["qkv_hidden_sizes"] = [hidden, hidden, value]
    if random.integers(3) == 0:
        attributes["scale"] = 0.3
    outputs = ("y", "present") if past or (value == hidden and random.integers(2)) else ("y",)
    return ms("Attention", inputs, attributes, outputs, constants=("w", "b"))


def multi_head_attention(random):
    batch, queries, heads, size, v_size = 2, 3, 2, 4, int(one_of(random, 4, 3))
    keys = int(one_of(random, 3, 5))
    kind = one_of(random, "qkv", "qkv", "cross")
    inputs = {}
    if kind == "packed":
        keys, v_size = queries, size
        inputs["q"] = normal(random, batch, queries, heads, 3, size)
        inputs["k"] = inputs["v"] = None
    else:
        inputs["q"] = normal(random, batch, queries, heads * size)
        if kind == "kv":
            v_size = size
            inputs["k"], inputs["v"] = normal(random, batch, keys, heads, 2, size), None
        elif kind == "cross":
            inputs["k"], inputs["v"] = normal(random, batch, heads, keys, size), normal(random, batch, heads, keys, size)
        else:
            inputs["k"], inputs["v"] = normal(random, batch, keys, heads * size), normal(random, batch, keys, heads * v_size)
    bias = kind in ("qkv", "packed") and random.integers(2)
    inputs["b"] = normal(random, heads * (2 * size + v_size)) if bias else None
    past = 2 if kind == "qkv" and v_size == size and random.integers(2) else 0
    total = past + keys
    inputs["m"] = one_of(random, None, None, np.array([[1] * total, [1] * (total - 1) + [0]], np.int32), np.array([total, total - 1], np.int32) if not past else None)
    inputs["a"] = normal(random, int(one_of(random, 1, batch)), int(one_of(random, 1, heads)), queries, total) if random.integers(3) == 0 else None
    if past:
        inputs["pk"], inputs["pv"] = normal(random, batch, heads, past, size), normal(random, batch, heads, past, v_size)
    attributes = {"num_heads": heads, "unidirectional": int(kind == "qkv" and keys == queries and random.integers(2))}
    outputs = ("y", "key", "value") if past else ("y",)
    return ms("MultiHeadAttention", list(inputs.items()), attributes, outputs)


def group_query_attention(random):
    batch, heads, kv_heads, size = 2, 4, 2, 16
    prompt = bool(random.integers(2))
    queries = int(one_of(random, 3, 4)) if prompt else 1
    cached = int(one_of(random, 4, 6))
    packed = bool(random.integers(2))
    if packed:
        inputs = [("q", normal(random, batch, queries, (heads + 2 * kv_heads) * size)), ("k", None), ("v", None)]
    else:
        inputs = [
            ("q", normal(random, batch, queries, heads * size)),
            ("k", normal(random, batch, queries, kv_heads * size)),
            ("v", normal(random, batch, queries, kv_heads * size)),
        ]
    if prompt and random.integers(2):
        inputs += [("pk", None), ("pv", None)]
        lengths, total = [queries - 1] * batch, queries
    else:
        inputs += [(name, normal(random, batch, kv_heads, cached, size)) for name in ("pk", "pv")]
        lengths = [queries - 1] * batch if prompt else [cached - 1, cached - 2]
        total = queries if prompt else cached
    rotate = bool(random.integers(2))
    angles = normal(random, 16, size // 2)
    inputs += [
        ("n", np.array(lengths, np.int32)),
        ("t", np.array([total], np.int32)),
        ("cos", np.cos(angles) if rotate else None),
        ("sin", np.sin(angles) if rotate else None),
    ]
    attributes = {"num_heads": heads, "kv_num_heads": kv_heads, "do_rotary": int(rotate), "rotary_interleaved": int(rotate and random.integers(2))}
    extra = one_of(random, "none", "window", "softcap", "smooth", "sink", "bias", "scale")
    if extra == "window":
        attributes["local_window_size"] = 2
    elif extra == "softcap":
        attributes["softcap"] = 1.5
    elif extra == "smooth":
        attributes["smooth_softmax"] = 1
    elif extra == "scale":
        attributes["scale"] = 0.2
    elif extra == "sink":
        inputs += [("pos", None), ("ab", None), ("sinks", normal(random, heads))]
    elif extra == "bias":
        inputs += [("pos", None), ("ab", normal(random, int(one_of(random, 1, batch)), int(one_of(random, 1, heads)), queries, total))]
    return ms("GroupQueryAttention", inputs, attributes, ("y", "key", "value"))


def q_attention(random):
    batch, length, width, heads, size = 2, 3, 6, 2, 4
    hidden = heads * size
    weight = one_of(random, np.int8, np.uint8)
    columns = bool(random.integers(2))
    inputs = [
        ("x", ints(random, 0, 255, batch, length, width, dtype=np.uint8)),
        ("w", ints(random, -100, 100, width, 3 * hidden).astype(weight)),
        ("b", normal(random, 3 * hidden)),
        ("xs", f32(0.02)),
        ("ws", (np.abs(normal(random, *((3 * hidden,) if columns else ()))) * 0.01 + 0.01).astype(np.float32)),
        ("m", np.array([length, length - 1], np.int32) if random.integers(2) else None),
        ("xz", np.array(120, np.uint8)),
        ("wz", np.zeros(3 * hidden, weight) if columns else np.array(3, weight)),
    ]
    past = bool(random.integers(3) == 0)
    if past:
        inputs[5] = ("m", None)
        inputs.append(("past", normal(random, 2, batch, heads, 2, size)))
    return ms("QAttention", inputs, {"num_heads": heads, "unidirectional": int(random.integers(2))}, ("y", "present") if past else ("y",), constants=("w", "ws", "wz"))


def matmul_nbits(random):
    bits = int(one_of(random, 4, 4, 4, 8, 2))
    block = int(one_of(random, 16, 32))
    k, n = int(one_of(random, 32, 40, 64)), int(one_of(random, 5, 8, 17))
    blocks = -(-k // block)
    b = ints(random, 0, 256, n, blocks, block * bits // 8, dtype=np.uint8)
    scales = np.abs(normal(random, n * blocks, scale=0.1)) + 0.01
    zeros = None
    if random.integers(2):
        zeros = ints(random, 0, 256, n * (-(-blocks * bits // 8)), dtype=np.uint8)
    x = normal(random, *one_of(random, (1, k), (3, k), (2, 2, k)))
    inputs = [("x", x), ("b", b), ("s", scales.astype(np.float32)), ("z", zeros)]
    if random.integers(3) == 0:
        inputs += [("g", None), ("bias", normal(random, n))]
    if random.integers(4) == 0:
        inputs = [(name, array.astype(np.float16) if array is not None and array.dtype == np.float32 else array) for name, array in inputs]
    return ms("MatMulNBits", inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, constants=("b", "s", "z", "bias") if random.integers(2) else ())


def matmul_bnb4(random):
    k, n, block = int(one_of(random, 32, 64)), 6, int(one_of(random, 16, 32))
    b = ints(random, 0, 256, k * n // 2, dtype=np.uint8)
    scales = np.abs(normal(random, -(-k * n // block))).astype(np.float32)
    return ms("MatMulBnb4", [("x", normal(random, 2, k)), ("b", b), ("s", scales)], {"K": k, "N": n, "block_size": block, "quant_type": int(random.integers(2))})


def gather_block_quantized(random):
    rows, width, block = 6, 32, 16
    bits = int(one_of(random, 4, 8))
    data = ints(random, 0, 256, rows, width * bits // 8, dtype=np.uint8)
    scales = normal(random, rows, width // block)
    inputs = [("d", data), ("i", ints(random, 0, rows, 2, 2, dtype=one_of(random, np.int32, np.int64))), ("s", scales)]
    if random.integers(2):
        inputs.append(("z", ints(random, 0, 256, rows, -(-width // block * bits // 8), dtype=np.uint8)))
    return ms("GatherBlockQuantized", inputs, {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1})


def matmul_integer_to_float(random):
    a, b = (np.uint8, one_of(random, np.uint8, np.int8)) if random.integers(2) else (np.int8, np.int8)
    columns = bool(random.integers(2))
    inputs = [
        ("a", ints(random, -100, 100, 2, 3, 6).astype(a)),
        ("b", ints(random, -100, 100, 6, 4).astype(b)),
        ("sa", f32(0.03)),
        ("sb", np.abs(normal(random, *((4,) if columns else (1,)))) + np.float32(0.01)),
        ("za", np.array(7, a) if random.integers(2) else None),
        ("zb", ints(random, 0, 5, *((4,) if columns else (1,))).astype(b) if random.integers(2) else None),
    ]
    if random.integers(2):
        inputs.append(("bias", normal(random, 4)))
    return ms("MatMulIntegerToFloat", inputs)


def dynamic_quantize_matmul(random):
    b = one_of(random, np.uint8, np.int8)
    columns = bool(random.integers(2))
    size = (4,) if columns else (1,)
    inputs = [
        ("a", normal(random, 2, 3, 6)),
        ("b", ints(random, -100, 100, 6, 4).astype(b)),
        ("sb", np.abs(normal(random, *size)) + np.float32(0.01)),
        ("zb", ints(random, 0, 5, *size).astype(b) if random.integers(2) else None),
    ]
    if random.integers(2):
        inputs.append(("bias", normal(random, 4)))
    return ms("DynamicQuantizeMatMul", inputs)


def dynamic_quantize_lstm(random):
    steps, batch, width, hidden = 3, 2, 4, 5
    direction = one_of(random, "forward", "reverse", "bidirectional")
    dirs = 2 if direction == "bidirectional" else 1
    weight = one_of(random, np.int8, np.uint8)
    columns = bool(random.integers(2))
    size = (dirs, 4 * hidden) if columns else (dirs,)
    inputs = [
        ("x", normal(random, steps, batch, width)),
        ("w", ints(random, -60, 60, dirs, width, 4 * hidden).astype(weight)),
        ("r", ints(random, -60, 60, dirs, hidden, 4 * hidden).astype(weight)),
        ("b", normal(random, dirs, 8 * hidden) if random.integers(2) else None),
        ("n", np.array([3, 2], np.int32) if random.integers(3) == 0 else None),
        ("h", normal(random, dirs, batch, hidden) if random.integers(2) else None),
        ("c", normal(random, dirs, batch, hidden) if random.integers(2) else None),
        ("p", normal(random, dirs, 3 * hidden) if random.integers(3) == 0 else None),
        ("ws", (np.abs(normal(random, *size)) * 0.01 + 0.005).astype(np.float32)),
        ("wz", np.full(size, 0 if weight == np.int8 else 2, weight)),
        ("rs", (np.abs(normal(random, *size)) * 0.01 + 0.005).astype(np.float32)),
        ("rz", np.full(size, 0 if weight == np.int8 else 1, weight)),
    ]
    return ms("DynamicQuantizeLSTM", inputs, {"hidden_size": hidden, "direction": direction}, ("y", "yh", "yc"), constants=("w", "r", "ws", "wz", "rs", "rz"))


def q_gemm(random):
    a, b = (np.uint8, one_of(random, np.uint8, np.int8)) if random.integers(2) else (np.int8, np.int8)
    ta, tb, columns = bool(random.integers(2)), bool(random.integers(2)), bool(random.integers(2))
    size = (5,) if columns else ()
    inputs = [
        ("a", ints(random, -100, 100, *((4, 3) if ta else (3, 4))).astype(a)),
        ("as", f32(0.05)),
        ("az", np.array(4, a)),
        ("b", ints(random, -100, 100, *((5, 4) if tb else (4, 5))).astype(b)),
        ("bs", (np.abs(normal(random, *size)) * 0.1 + 0.01).astype(np.float32)),
        ("bz", ints(random, 0, 3, *size).astype(b)),
        ("c", ints(random, -500, 500, 5, dtype=np.int32) if random.integers(2) else None),
    ]
    if random.integers(2):
        inputs += [("ys", f32(0.3)), ("yz", np.array(9, a))]
    return ms("QGemm", inputs, {"transA": int(ta), "transB": int(tb), "alpha": float(one_of(random, 1.0, 0.5))}, constants=("as", "az", "b", "bs", "bz", "ys", "yz"))


def scale_and_zero(random, dtype, name, zero=True):
    return [(f"{name}s", f32(abs(random.standard_normal()) * 0.05 + 0.01)), (f"{name}z", np.array(random.integers(100, 140) - (128 if dtype == np.int8 else 0), dtype) if zero else None)]


def bytes_of(random, dtype, *shape):
    return ints(random, -128, 128, *shape).astype(dtype)


def q_linear_binary(random):
    dtype = one_of(random, np.uint8, np.int8)
    a, b = one_of(random, ((2, 3, 5), (2, 3, 5)), ((2, 3, 5), (5,)), ((1,), (4, 5)), ((2, 1, 5), (3, 1)))
    zero = True
    inputs = [("a", bytes_of(random, dtype, *a)), *scale_and_zero(random, dtype, "a", zero), ("b", bytes_of(random, dtype, *b))]
    inputs += scale_and_zero(random, dtype, "b", zero) + scale_and_zero(random, dtype, "y", zero)
    return ms(one_of(random, "QLinearAdd", "QLinearMul"), inputs)


def q_linear_unary(random):
    dtype = one_of(random, np.uint8, np.int8)
    op = one_of(random, "QLinearSigmoid", "QLinearLeakyRelu")
    inputs = [("x", bytes_of(random, dtype, 4, 5)), *scale_and_zero(random, dtype, "x"), *scale_and_zero(random, dtype, "y")]
    return ms(op, inputs, {"alpha": 0.2} if op == "QLinearLeakyRelu" else {})


def q_linear_softmax(random):
    dtype = one_of(random, np.uint8, np.int8)
    inputs = [("x", bytes_of(random, dtype, 2, 3, 5)), *scale_and_zero(random, dtype, "x")]
    inputs += [("ys", f32(1 / 256)), ("yz", np.array(0 if dtype == np.uint8 else -128, dtype))]
    return ms("QLinearSoftmax", inputs, {"opset": int(one_of(random, 11, 13)), "axis": int(one_of(random, 1, 2, -1))}, constants=("xs", "xz", "ys", "yz"))


def q_linear_pool(random):
    dtype = one_of(random, np.uint8, np.int8)
    last = bool(random.integers(2))
    x = bytes_of(random, dtype, *((1, 6, 5, 3) if last else (1, 3, 6, 5)))
    inputs = [("x", x), *scale_and_zero(random, dtype, "x"), *scale_and_zero(random, dtype, "y")]
    if random.integers(2):
        return ms("QLinearGlobalAveragePool", inputs, {"channels_last": int(last)})
    attributes = {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [1, 0, 0, 1], "count_include_pad": int(random.integers(2)), "channels_last": int(last)}
    return ms("QLinearAveragePool", inputs, attributes)


def q_linear_concat(random):
    dtype = one_of(random, np.uint8, np.int8)
    inputs = scale_and_zero(random, dtype, "y")
    for name in ("a", "b"):
        inputs += [(name, bytes_of(random, dtype, 2, int(random.integers(1, 4)), 3)), *scale_and_zero(random, dtype, name)]
    return ms("QLinearConcat", inputs, {"axis": 1})


def q_linear_where(random):
    dtype = one_of(random, np.uint8, np.int8)
    inputs = [("c", random.integers(0, 2, (2, 3)).astype(bool)), ("x", bytes_of(random, dtype, 2, 3)), *scale_and_zero(random, dtype, "x")]
    inputs += [("w", bytes_of(random, dtype, 3)), *scale_and_zero(random, dtype, "w"), *scale_and_zero(random, dtype, "y")]
    return ms("QLinearWhere", inputs, constants=("xs", "xz", "ws", "wz", "ys", "yz"))


def q_linear_conv(random):
    dtype, weight = (np.uint8, one_of(random, np.uint8, np.int8)) if random.integers(2) else (np.int8, np.int8)
    last = bool(random.integers(2))
    x = bytes_of(random, dtype, *((1, 6, 5, 4) if last else (1, 4, 6, 5)))
    inputs = [("x", x), *scale_and_zero(random, dtype, "x"), ("w", ints(random, -50, 50, 4, 4, 3, 2).astype(weight))]
    inputs += [("ws", f32(0.02)), ("wz", np.array(0, weight)), *scale_and_zero(random, dtype, "y")]
    if random.integers(2):
        inputs.append(("b", ints(random, -200, 200, 4, dtype=np.int32)))
    return ms("QLinearConv", inputs, {"pads": [1, 0, 1, 1], "channels_last": int(last), "kernel_shape": [3, 2]}, constants=("w", "ws", "wz"))


def nhwc_max_pool(random):
    dtype = one_of(random, np.uint8, np.int8)
    return ms("NhwcMaxPool", [("x", bytes_of(random, dtype, 1, 6, 5, 3))], {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [1, 0, 0, 1]})


def quantize(random):
    dtype = one_of(random, np.uint8, np.int8, np.uint16, np.int16)
    scale = np.abs(normal(random, *one_of(random, (), (4,)))) + np.float32(0.05)
    zero = np.full(scale.shape, 3, dtype)
    if random.integers(2):
        return ms("QuantizeLinear", [("x", normal(random, 4, 5, scale=2)), ("s", scale), ("z", zero)], {"axis": 0})
    return ms("DequantizeLinear", [("x", ints(random, 0, 100, 4, 5).astype(dtype)), ("s", scale), ("z", zero)], {"axis": 0})


def cdist(random):
    dtype = one_of(random, np.float32, np.float64)
    return ms("CDist", [("a", normal(random, 3, 5).astype(dtype)), ("b", normal(random, 4, 5).astype(dtype))], {"metric": one_of(random, "euclidean", "sqeuclidean")})


def conv_transpose_pads(random):
    inputs = [("x", normal(random, 1, 2, 4, 4)), ("w", normal(random, 2, 3, 3, 3)), ("p", np.array([1, 0, 1, 1])), ("b", normal(random, 3) if random.integers(2) else None)]
    if inputs[3][1] is None:
        inputs.pop()
    return ms("ConvTransposeWithDynamicPads", inputs, {"strides": [2, 1], "kernel_shape": [3, 3]})


def crop_and_resize(random):
    rois = np.sort(random.random((3, 2, 2)).astype(np.float32), axis=1).reshape(3, 4)
    if random.integers(2):
        rois[0, 3] = 1.3
    inputs = [("x", normal(random, 2, 3, 5, 6)), ("r", rois), ("b", np.array([0, 1, 1], np.int32)), ("s", np.array([int(random.integers(1, 4)), 4], np.int32))]
    return ms("CropAndResize", inputs, {"mode": one_of(random, "bilinear", "nearest"), "extrapolation_value": 0.5}, constants=("s",))


def expand_dims(random):
    return ms("ExpandDims", [("x", normal(random, 2, 3)), ("a", np.array(int(random.integers(-3, 3)), np.int32))], constants=("a",))


def gated_add(random):
    return ms("GatedAdd", [("x", normal(random, 2, 3, 4)), ("w", normal(random, 2, 3, 4)), ("g", normal(random, 2, 3, 1))])


def gather_nd(random):
    return ms("GatherND", [("x", normal(random, 3, 4, 5)), ("i", ints(random, 0, 3, 2, 2))])


def grid_sample(random):
    attributes = {"mode": one_of(random, "bilinear", "nearest", "bicubic"), "padding_mode": one_of(random, "zeros", "border", "reflection"), "align_corners": int(random.integers(2))}
    if attributes["mode"] == "bicubic" and attributes["padding_mode"] == "border":
        # ONNX Runtime clamps the point instead of the pixels around it.
        attributes["padding_mode"] = "zeros"
    return ms("GridSample", [("x", normal(random, 1, 2, 4, 5)), ("g", (random.random((1, 3, 2, 2)) * 2.2 - 1.1).astype(np.float32))], attributes)


def inverse(random):
    return ms("Inverse", [("x", normal(random, 2, 4, 4, dtype=one_of(random, np.float32, np.float64)) + 3 * np.eye(4, dtype=np.float32))])


def ngram_repeat(random):
    return ms("NGramRepeatBlock", [("i", ints(random, 0, 3, 2, 8)), ("s", normal(random, 2, 4))], {"ngram_size": int(random.integers(1, 4))})


def pad(random):
    pads = np.array([1, 0, 0, 2])
    inputs = [("x", normal(random, 2, 3)), ("p", pads if random.integers(2) else pads.reshape(1, 4)), ("v", f32([0.5]))]
    return ms("Pad", inputs, {"mode": one_of(random, "constant", "reflect", "edge")} if random.integers(2) else {}, constants=("p",))


def range_(random):
    dtype = one_of(random, np.int32, np.int64, np.float32)
    inputs = [("a", np.array(1, dtype)), ("b", np.array(9, dtype))] + ([("d", np.array(2, dtype))] if random.integers(2) else [])
    return ms("Range", inputs)


def trilu(random):
    return ms("Trilu", [("x", normal(random, 2, 3, 4)), ("k", np.array(int(random.integers(-2, 3))))], {"upper": int(random.integers(2))})


def unfold(random):
    return ms("UnfoldTensor", [("x", normal(random, 2, 7, 3))], {"dim": int(one_of(random, 1, 1, -2)), "size": 3, "step": int(random.integers(1, 4))})


def unique(random):
    return ms("Unique", [("x", ints(random, 0, 4, 9).astype(np.float32))], {}, ("y", "i", "c"))


def matmul_integer_16(random):
    return ms("MatMulInteger16", [("a", ints(random, -999, 999, 3, 4, dtype=np.int16)), ("b", ints(random, -999, 999, 4, 5, dtype=np.int16))])


def linear_attention(random):
    batch, length, size, v_size = 2, int(one_of(random, 1, 3)), 4, int(one_of(random, 4, 3))
    heads, kv_heads = one_of(random, (2, 2), (4, 2), (2, 4))
    rule = one_of(random, "linear", "gated", "delta", "gated_delta")
    state = (batch, kv_heads, size, v_size)
    inputs = [
        ("q", normal(random, batch, length, heads * size)),
        ("k", normal(random, batch, length, kv_heads * size, scale=0.5)),
        ("v", normal(random, batch, length, kv_heads * v_size)),
        ("past", normal(random, *state) if random.integers(2) else None),
        ("decay", -np.abs(normal(random, batch, length, kv_heads * int(one_of(random, 1, size)))) if "gated" in rule else None),
        ("beta", np.abs(normal(random, batch, length, int(one_of(random, 1, kv_heads)), scale=0.5)) if "delta" in rule else None),
    ]
    attributes = {"q_num_heads": heads, "kv_num_heads": kv_heads, "update_rule": rule}
    if random.integers(3) == 0:
        attributes["scale"] = 0.3
    return ms("LinearAttention", inputs, attributes, ("y", "state"))


def decoder_masked_attention(random):
    beams = int(one_of(random, 1, 1, 2))
    batch, heads, size, past, most = 2 * beams, 2, int(one_of(random, 4, 8)), int(one_of(random, 0, 1, 3)), 6
    hidden = heads * size
    cross = random.integers(4) == 0
    total = 5 if cross else past + 1
    inputs = {"q": normal(random, batch, 1, hidden)}
    for name in ("k", "v"):
        inputs[name] = normal(random, batch, heads, total, size) if cross else normal(random, batch, 1, hidden)
    inputs["m"] = np.array([[1] * total, [1] * (total - 1) + [0]] * beams, np.int32) if random.integers(2) else None
    bias = not cross and random.integers(3) == 0
    inputs["a"] = normal(random, int(one_of(random, 1, batch)), int(one_of(random, 1, heads)), 1, total) if bias else None
    for name in ("pk", "pv"):
        inputs[name] = None if cross else normal(random, batch, heads, most, size)
    inputs["n"] = None if cross else np.array([past], np.int32)
    inputs["w"] = np.array([beams], np.int32) if beams > 1 else None
    inputs["i"] = ints(random, 0, beams, batch // beams, beams, most, dtype=np.int32) if beams > 1 else None
    inputs["b"] = normal(random, 3 * hidden) if random.integers(2) else None
    attributes = {"num_heads": heads, "past_present_share_buffer": int(not cross)}
    if random.integers(3) == 0:
        attributes["scale"] = 0.3
    if random.integers(3) == 0:
        attributes["mask_filter_value"] = -2.0
    return ms("DecoderMaskedMultiHeadAttention", list(inputs.items()), attributes, ("y",) if cross else ("y", "key", "value"))


def sparse_attention(random):
    batch, heads, kv_heads, size, block, most = int(one_of(random, 1, 1, 2)), 2, 1, 16, 16, 32
    prompt = bool(random.integers(2))
    total = int(one_of(random, 20, 32))
    queries = total if prompt else 1
    packed = bool(random.integers(2))
    if packed:
        inputs = [("q", normal(random, batch, queries, (heads + 2 * kv_heads) * size)), ("k", None), ("v", None)]
    else:
        inputs = [("q", normal(random, batch, queries, heads * size))]
        inputs += [(name, normal(random, batch, queries, kv_heads * size)) for name in ("k", "v")]
    inputs += [(name, normal(random, batch, kv_heads, most, size)) for name in ("pk", "pv")]
    rows, columns = one_of(random, ([[0, 1, 2]], [[0, 1]]), ([[0, 1, 3]], [[0, 0, 1]]), ([[0, 1, 2], [0, 1, 3]], [[0, 1, -1], [0, 0, 1]]))
    rotate = bool(random.integers(2))
    angles = normal(random, most, size // 2)
    inputs += [
        ("rows", np.array(rows, np.int32)),
        ("columns", np.array(columns, np.int32)),
        ("t", np.array([total], np.int32)),
        # With fewer tokens in a batch, ONNX Runtime's results are not those of the definition.
        ("n", np.array([total] * batch, np.int32)),
        ("cos", np.cos(angles) if rotate else None),
        ("sin", np.sin(angles) if rotate else None),
    ]
    attributes = {"num_heads": heads, "kv_num_heads": kv_heads, "sparse_block_size": block, "do_rotary": int(rotate)}
    attributes["rotary_interleaved"] = int(rotate and random.integers(2))
    if random.integers(3) == 0:
        attributes["scale"] = 0.3
    return ms("SparseAttention", inputs, attributes, ("y", "key", "value"), in_place={"key": "pk", "value": "pv"})


FORMS = [
    ("CDist", cdist),
    ("ConvTransposeWithDynamicPads", conv_transpose_pads),
    ("CropAndResize", crop_and_resize),
    ("ExpandDims", expand_dims),
    ("GatedAdd", gated_add),
    ("GatherND", gather_nd),
    ("GridSample", grid_sample),
    ("Inverse", inverse),
    ("NGramRepeatBlock", ngram_repeat),
    ("Pad", pad),
    ("Range", range_),
    ("Trilu", trilu),
    ("UnfoldTensor", unfold),
    ("Unique", unique),
    ("MatMulInteger16", matmul_integer_16),
    ("Gelu", gelu),
    ("BiasGelu", bias_gelu),
    ("FusedConv", fused_conv),
    ("FusedGemm", fused_gemm),
    ("FusedMatMul", fused_matmul),
    ("TransposeMatMul", transpose_matmul),
    ("SimplifiedLayerNormalization", simplified_layer_norm),
    ("SkipLayerNormalization", skip_layer_norm),
    ("EmbedLayerNormalization", embed_layer_norm),
    ("GatedRMSNorm", gated_rms_norm),
    ("RotaryEmbedding", rotary),
    ("Attention", attention),
    ("MultiHeadAttention", multi_head_attention),
    ("GroupQueryAttention", group_query_attention),
    ("QAttention", q_attention),
    ("MatMulNBits", matmul_nbits),
    ("MatMulBnb4", matmul_bnb4),
    ("GatherBlockQuantized", gather_block_quantized),
    ("MatMulIntegerToFloat", matmul_integer_to_float),
    ("DynamicQuantizeMatMul", dynamic_quantize_matmul),
    ("DynamicQuantizeLSTM", dynamic_quantize_lstm),
    ("QGemm", q_gemm),
    ("QLinearBinary", q_linear_binary),
    ("QLinearUnary", q_linear_unary),
    ("QLinearSoftmax", q_linear_softmax),
    ("QLinearPool", q_linear_pool),
    ("QLinearConcat", q_linear_concat),
    ("QLinearWhere", q_linear_where),
    ("QLinearConv", q_linear_conv),
    ("NhwcMaxPool", nhwc_max_pool),
    ("Quantize", quantize),
    ("LinearAttention", linear_attention),
    ("DecoderMaskedMultiHeadAttention", decoder_masked_attention),
    ("SparseAttention", sparse_attention),
]
