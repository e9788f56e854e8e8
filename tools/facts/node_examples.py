"""Examples of operators that the backend tests of `onnx` do not have, for `node_probes.py`.

Each example has attributes and inputs: a tuple is the shape of a tensor, a list or a number is a constant, `None` an absent input.
"""

from onnx import GraphProto, TensorProto, ValueInfoProto, helper

# Values of attributes that no example has.
TEXTS = {
    "auto_pad": [b"NOTSET", b"VALID", b"SAME_UPPER", b"SAME_LOWER"],
    "direction": [b"forward", b"reverse", b"bidirectional"],
    "mode": [b"constant", b"edge", b"reflect", b"wrap", b"nearest", b"linear", b"cubic", b"bilinear", b"bicubic", b"DCR", b"CRD", b"avg", b"max"],
    "reduction": [b"none", b"mean", b"sum", b"add", b"mul", b"min", b"max"],
    "padding_mode": [b"zeros", b"border", b"reflection"],
    "approximate": [b"none", b"tanh"],
    "activation": [b"Relu", b"Sigmoid", b"Tanh", b"Clip", b"LeakyRelu", b"HardSigmoid", b"Abs"],
    "nearest_mode": [b"round_prefer_floor", b"round_prefer_ceil", b"floor", b"ceil"],
    "coordinate_transformation_mode": [
        *(b"half_pixel", b"half_pixel_symmetric", b"pytorch_half_pixel", b"align_corners", b"asymmetric", b"tf_crop_and_resize"),
        *(b"tf_half_pixel_for_nn", b"output_half_pixel"),
    ],
    "keep_aspect_ratio_policy": [b"stretch", b"not_larger", b"not_smaller"],
    "norm": [b"MAX", b"L1", b"L2"],
    "k_quant_type": [b"NONE", b"PER_TENSOR", b"PER_CHANNEL"],
    "v_quant_type": [b"NONE", b"PER_TENSOR", b"PER_CHANNEL"],
}


def window(kernel: list[int], step: int) -> dict:
    """The attributes of a window that exporters write, with as many pads as keep the extents for a step of 1."""
    pads = [(extent - 1) // 2 for extent in kernel]
    return {"kernel_shape": kernel, "strides": [step] * len(kernel), "pads": [*pads, *pads]}


def branch(elem: str, outputs: int) -> GraphProto:
    """A branch of `If` with constants."""
    number = TensorProto.DataType.Value(elem)
    constants = [helper.make_node("Constant", [], [f"y{at}"], value=helper.make_tensor("v", number, [2], [1, 1])) for at in range(outputs)]
    return helper.make_graph(constants, "branch", [], [helper.make_tensor_value_info(f"y{at}", number, None) for at in range(outputs)])


def body(elem: str, states: int, collected: int) -> GraphProto:
    """The body of a `Loop` that keeps its states, and collects the first one."""
    number = TensorProto.DataType.Value(elem)

    def values(name: str, count: int) -> list[ValueInfoProto]:
        return [helper.make_tensor_value_info(f"{name}{at}", number, None) for at in range(count)]

    scalars = [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    nodes = [helper.make_node("Identity", ["c"], ["d"])]
    nodes += [helper.make_node("Identity", [f"s{at}"], [f"t{at}"]) for at in range(states)]
    nodes += [helper.make_node("Identity", ["s0"], [f"u{at}"]) for at in range(collected)]
    outputs = [helper.make_tensor_value_info("d", TensorProto.BOOL, []), *values("t", states), *values("u", collected)]
    return helper.make_graph(nodes, "body", [*scalars, *values("s", states)], outputs)


# The element types of nested graphs.
NESTED = "FLOAT FLOAT16 DOUBLE INT64 INT32 UINT8 BOOL".split()
QLINEAR = [(2, 3), 0.5, 1, (2, 3), 0.5, 1, 0.5, 1]

EXAMPLES = {
    "ai.onnx::Cast": [({"to": "INT32"}, [(2, 3)])],
    "ai.onnx::Concat": [({"axis": 0}, [(2, 3)]), ({"axis": 1}, [(2, 3), (2, 4), (2, 1)])],
    "ai.onnx::Constant": [
        ({"value_float": 1.0}, []),
        ({"value_int": 1}, []),
        ({"value_ints": [1, 2]}, []),
        ({"value_floats": [1.0, 2.0]}, []),
        ({"value_string": "a"}, []),
        ({"value_strings": ["a", "b"]}, []),
    ],
    "ai.onnx::AveragePool": [
        ({**window(kernel, 2), "ceil_mode": 0, "count_include_pad": 1}, [(1, 4, *[8] * len(kernel))]) for kernel in ([2, 2], [3, 3], [1, 1], [3])
    ],
    "ai.onnx::BatchNormalization": [({"epsilon": 1e-5, "momentum": 0.9}, [(1, 4, *[6] * axes), *[(4,)] * 4]) for axes in (1, 2, 3)],
    "ai.onnx::Clip": [({}, [(2, 3), 0.0, 6.0]), ({}, [(1, 4, 8, 8), 0.0]), ({}, [(2, 3, 4), (), ()])],
    "ai.onnx::ConstantOfShape": [({}, [[2, 3, 4, 5, 1, 2][:rank]]) for rank in range(7)] + [({}, [(rank,)]) for rank in range(1, 7)],
    "ai.onnx::Conv": [
        ({}, [(1, 4, 8, 8), (6, 4, 3, 3)]),
        ({"group": 2}, [(1, 4, 8, 8), (6, 2, 3, 3), (6,)]),
        ({"group": 4, "strides": [2, 2]}, [(1, 4, 8, 8), (4, 1, 3, 3), (4,)]),
        ({"pads": [1, 1, 1, 1], "dilations": [2, 2], "kernel_shape": [3, 3]}, [(1, 4, 8, 8), (6, 4, 3, 3), (6,)]),
        *(
            ({**window(kernel, step), "dilations": [1] * len(kernel), "group": group}, [(1, 4, *[8] * len(kernel)), (6 if group == 1 else 4, 4 // group, *kernel), *bias])
            for kernel in ([1, 1], [3, 3], [5, 3], [1], [3], [1, 1, 1], [3, 3, 3])
            for group, step, bias in ((1, 1, [(6,)]), (1, 2, []), (4, 1, [(4,)]), (2, 2, []))
        ),
    ],
    "ai.onnx::ConvTranspose": [
        ({}, [(1, 4, 8, 8), (4, 6, 3, 3)]),
        ({"group": 2}, [(1, 4, 8, 8), (4, 3, 3, 3), (6,)]),
        ({"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, [(1, 4, 8, 8), (4, 6, 3, 3), (6,)]),
        *(
            ({**window(kernel, 2), "dilations": [1] * len(kernel), "group": 1}, [(1, 4, *[5] * len(kernel)), (4, 6, *kernel), (6,)])
            for kernel in ([1, 1], [2, 2], [4, 4], [3], [2, 2, 2])
        ),
    ],
    "ai.onnx::Expand": [({}, [(1, 3, 1), [2, 3, 4]]), ({}, [(3, 1), (3,)]), ({}, [(1,), [5]]), ({}, [(), [2, 2]])],
    "ai.onnx::Div": [({}, pair) for pair in ([(), 2], [(1,), 2], [(3,), (3,)], [(2, 3), 2.0], [(2, 3, 4), (4,)], [2.0, (2, 3)], [(2, 4, 8, 8), (2, 4, 1, 1)])],
    # An index without axes removes the axis.
    "ai.onnx::Gather": [
        ({"axis": axis}, [(2, 3, 4, 5, 6)[:rank], index]) for rank in (1, 2, 3, 4, 5) for axis in {0, rank - 1} for index in (0, -1, [0, 1])
    ],
    "ai.onnx::GatherElements": [
        ({"axis": axis}, [shape, indices])
        for shape, axis in (((3,), 0), ((3, 4), 1), ((2, 3, 4), -1), ((2, 3, 4, 5), 2))
        for indices in (shape, (1, *shape[1:]), (*shape[:-1], 2))
    ],
    "ai.onnx::Gemm": [({"alpha": 1.0, "beta": 1.0, "transB": 1}, [(2, 3), (4, 3), (4,)]), ({"alpha": 1.0, "beta": 1.0}, [(2, 3), (3, 4), (4,)])],
    "ai.onnx::LayerNormalization": [
        ({"axis": -1, "epsilon": epsilon}, [(1, 2, 3, 8)[-rank:], (8,), *bias]) for rank in (2, 3, 4) for epsilon in (1e-5, 1e-12) for bias in ([], [(8,)])
    ],
    "ai.onnx::If": [
        ({"then_branch": branch(elem, count), "else_branch": branch(elem, count)}, [condition]) for elem in NESTED for count in (1, 2) for condition in ((), (1,), 1)
    ],
    "ai.onnx::Loop": [
        ({"body": body(elem, len(states), count)}, [*start, *states])
        for elem in NESTED
        for states in ([(2,)], [(2, 3)], [(1, 2, 3), (2,)], [()])
        for count in (0, 1)
        for start in ([3, 1], [(), ()], [(1,), None], [None, 1])
    ],
    "ai.onnx::MaxPool": [
        ({**window(kernel, step), "dilations": [1] * len(kernel), "ceil_mode": 0}, [(1, 4, *[8] * len(kernel))])
        for kernel in ([2, 2], [3, 3], [1, 1], [3], [2, 2, 2])
        for step in (1, 2)
    ],
    "ai.onnx::Resize": [
        ({"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, [(1, 3, 4, 4), *rest])
        for mode in ("nearest", "linear")
        for rest in ([None, [1.0, 1.0, 2.0, 2.0]], [None, None, [1, 3, 8, 8]], [None, None, (4,)])
    ],
    "ai.onnx::Slice": [
        ({}, [(2, 3, 4, 5, 6)[:rank], [0], [2], [axis], *step]) for rank in (1, 2, 3, 4, 5) for axis in {0, rank - 1} for step in ([], [[1]], [[2]])
    ],
    "ai.onnx::Split": [
        *(({"axis": 1}, [(2, 6, 4), sizes]) for sizes in ([3, 3], [2, 2, 2], [1, 5])),
        ({"axis": -1}, [(2, 3, 4, 6), [3, 3]]),
        ({"axis": 0}, [(6,), [2, 4]]),
    ],
    "ai.onnx::GlobalLpPool": [({"p": 2}, [(1, 3, 5, 5)])],
    "ai.onnx::LpPool": [({"kernel_shape": [2, 2]}, [(1, 3, 5, 5)])],
    "ai.onnx::MaxRoiPool": [({"pooled_shape": [2, 2]}, [(1, 3, 8, 8), (4, 5)])],
    "ai.onnx::MatMul": [({}, [(2, 3), (3, 4)]), ({}, [(2, 2, 3), (3, 4)]), ({}, [(3,), (3, 4)]), ({}, [(2, 2, 2, 3), (2, 2, 3, 4)])],
    "ai.onnx::Multinomial": [({"sample_size": 3}, [(2, 5)])],
    "ai.onnx::RandomNormal": [({"shape": [2, 3]}, [])],
    "ai.onnx::RandomNormalLike": [({}, [(2, 3)])],
    "ai.onnx::RandomUniform": [({"shape": [2, 3]}, [])],
    "ai.onnx::RandomUniformLike": [({}, [(2, 3)])],
    "ai.onnx::Reshape": [({}, [(2, 3, 4), [6, 4]]), ({}, [(2, 3, 4), [0, -1]]), ({}, [(2, 3, 4), (2,)])],
    "ai.onnx::Scatter": [({"axis": 1}, [(2, 3), [[0, 1], [1, 0]], (2, 2)])],
    "ai.onnx::SequenceEmpty": [({}, []), ({"dtype": 7}, [])],
    "ai.onnx::SimplifiedLayerNormalization": [({}, [(2, 3, 8), (8,)]), ({"epsilon": 1e-6, "stash_type": 1}, [(2, 3, 8), (8,)])],
    "ai.onnx::Upsample": [
        ({"height_scale": 2.0, "width_scale": 2.0}, [(1, 1, 4, 4)]),
        ({"scales": [1.0, 1.0, 2.0, 2.0]}, [(1, 1, 4, 4)]),
        ({"mode": "linear"}, [(1, 1, 4, 4), [1.0, 1.0, 2.0, 2.0]]),
    ],
    **{
        f"ai.onnx::Reduce{kind}": [({"keepdims": keep}, [(2, 3, 4), (count,)]) for keep in (0, 1) for count in (1, 2)]
        for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
    },
    "ai.onnx::Squeeze": [
        *(({}, [(1, 3, 1, 4), (count,)]) for count in (1, 2)),
        *(({}, [shape, axes]) for shape, axes in (((1,), [0]), ((2, 1), [1]), ((2, 1, 3), [1]), ((1, 1, 3), [0, 1]), ((2, 3, 1, 1), [-1]))),
        *(({}, [(1, 2, 3, 4, 5, 6)[:rank], [0]]) for rank in (2, 3, 4, 5, 6)),
    ],
    "ai.onnx::Unsqueeze": [
        *(({}, [(3, 4), (count,)]) for count in (1, 2)),
        *(({}, [shape, axes]) for shape, axes in (((), [0]), ((2,), [0]), ((2,), [0, 2]), ((2, 3), [1]), ((2, 3, 4), [-1]))),
    ],
    "ai.onnx.ml::Normalizer": [({"norm": "L2"}, [(2, 3)]), ({"norm": "MAX"}, [(3,)])],
    "com.microsoft::Attention": [
        ({"num_heads": 2}, [(2, 4, 8), (8, 24), (24,)]),
        ({"num_heads": 2}, [(2, 4, 8), (8, 24)]),
        ({"num_heads": 2, "unidirectional": 1}, [(2, 4, 8), (8, 24), (24,), (2, 4)]),
        ({"num_heads": 2}, [(2, 4, 8), (8, 24), (24,), (2,)]),
        ({"num_heads": 2}, [(2, 4, 8), (8, 24), (24,), (2, 7), (2, 2, 2, 3, 4)]),
        ({"num_heads": 2}, [(2, 4, 8), (8, 24), (24,), None, None, (2, 2, 4, 4)]),
        ({"num_heads": 2, "qkv_hidden_sizes": [8, 8, 8]}, [(2, 4, 8), (8, 24), (24,)]),
    ],
    "com.microsoft::BiasAdd": [({}, [(2, 4, 320), (320,), (2, 4, 320)])],
    "com.microsoft::BiasGelu": [({}, [(2, 3), (3,)]), ({}, [(2, 4, 3), (3,)])],
    "com.microsoft::BifurcationDetector": [({}, [(4,), (3,), [1], (4,)]), ({}, [(4,), (3,), [1]])],
    "com.microsoft::DequantizeLinear": [({}, [(2, 3), 0.5, 1]), ({"axis": 1}, [(2, 3), (3,), (3,)]), ({}, [(2, 3), (), ()])],
    "com.microsoft::DynamicQuantizeLSTM": [
        ({"hidden_size": 5}, [(3, 2, 4), (1, 4, 20), (1, 5, 20), None, None, None, None, None, (1,), (1,), (1,), (1,)]),
        ({"hidden_size": 5}, [(3, 2, 4), (1, 4, 20), (1, 5, 20), (1, 40), (2,), (1, 2, 5), (1, 2, 5), None, (1,), (1,), (1,), (1,)]),
    ],
    "com.microsoft::DynamicQuantizeMatMul": [
        ({}, [(2, 4), (4, 6), ()]),
        ({}, [(2, 4), (4, 6), (), ()]),
        ({}, [(2, 3, 4), (4, 6), (6,), (6,), (6,)]),
    ],
    "com.microsoft::EmbedLayerNormalization": [
        ({}, [(2, 4), (2, 4), (10, 8), (16, 8), (3, 8), (8,), (8,)]),
        ({}, [(2, 4), None, (10, 8), (16, 8), None, (8,), (8,), (2, 4)]),
        ({}, [(2, 4), (2, 4), (10, 8), (16, 8), (3, 8), (8,), (8,), (2, 4), (2, 4)]),
    ],
    "com.microsoft::FastGelu": [({}, [(2, 3)]), ({}, [(2, 3), (3,)])],
    "com.microsoft::FusedConv": [
        ({"activation": "Relu"}, [(1, 4, 8, 8), (6, 4, 3, 3)]),
        ({"activation": "Relu"}, [(1, 4, 8, 8), (6, 4, 3, 3), (6,), (1, 6, 6, 6)]),
        ({"activation": "LeakyRelu", "activation_params": [0.1]}, [(1, 4, 8, 8), (6, 4, 3, 3), (6,)]),
        ({"activation": "Clip", "activation_params": [0.0, 6.0]}, [(1, 4, 8, 8), (6, 4, 3, 3), (6,)]),
    ],
    "com.microsoft::FusedGemm": [
        ({"activation": "Relu"}, [(2, 3), (3, 4), (4,)]),
        ({"activation": "LeakyRelu", "transA": 1, "activation_alpha": 0.1}, [(3, 2), (3, 4), (2, 4)]),
        ({"activation": "Relu", "transB": 1}, [(2, 3), (4, 3)]),
    ],
    "com.microsoft::FusedMatMul": [
        ({}, [(2, 3), (3, 4)]),
        ({"transA": 1}, [(3, 2), (3, 4)]),
        ({"transB": 1, "alpha": 0.5}, [(5, 2, 3), (5, 4, 3)]),
        ({"transBatchA": 1}, [(3, 2, 4), (2, 4, 5)]),
    ],
    "com.microsoft::GatherBlockQuantized": [
        ({"block_size": 16, "bits": 4}, [(8, 32), (2, 3), (8, 2)]),
        ({"block_size": 16, "bits": 4}, [(8, 32), (2, 3), (8, 2), (8, 2)]),
        ({"block_size": 16, "bits": 8}, [(8, 32), (2, 3), (8, 2)]),
        ({"block_size": 16, "bits": 4}, [(8, 16), (2, 3), (8, 2), (8, 1)]),
    ],
    "com.microsoft::GatherND": [({}, [(2, 3, 4), [[0, 1], [1, 2]]]), ({}, [(2, 3, 4), (2, 1)])],
    "com.microsoft::Gelu": [({}, [(2, 3)])],
    "com.microsoft::GroupNorm": [
        ({"activation": 0, "groups": 2}, [(2, 4, 4, 8), (8,), (8,)]),
        ({"activation": 1, "groups": 2, "channels_last": 0}, [(2, 8, 4, 4), (8,), (8,)]),
    ],
    "com.microsoft::GroupQueryAttention": [
        ({"num_heads": 4, "kv_num_heads": 2}, [(2, 3, 64), (2, 3, 32), (2, 3, 32), (2, 2, 5, 16), (2, 2, 5, 16), (2,), ()]),
        ({"num_heads": 4, "kv_num_heads": 2}, [(2, 3, 64), (2, 3, 32), (2, 3, 32), None, None, (2,), ()]),
        ({"num_heads": 4, "kv_num_heads": 2}, [(2, 3, 128), None, None, (2, 2, 5, 16), (2, 2, 5, 16), (2,), ()]),
        (
            {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
            [(2, 3, 64), (2, 3, 32), (2, 3, 32), (2, 2, 5, 16), (2, 2, 5, 16), (2,), (), (32, 8), (32, 8)],
        ),
        (
            {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
            [(2, 3, 128), None, None, (2, 2, 5, 16), (2, 2, 5, 16), (2,), (), (32, 8), (32, 8)],
        ),
        (
            {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
            [(2, 3, 64), (2, 3, 32), (2, 3, 32), (2, 2, 5, 16), (2, 2, 5, 16), (2,), (), (32, 8), (32, 8), (2, 3), (2, 4, 3, 8)],
        ),
    ],
    "com.microsoft::MatMulIntegerToFloat": [
        ({}, [(2, 4), (4, 6), (), ()]),
        ({}, [(2, 4), (4, 6), (), (6,), (), (6,), (6,)]),
        ({}, [(2, 3, 4), (4, 6), (), (), (), ()]),
    ],
    "com.microsoft::MatMulNBits": [
        ({"K": 32, "N": 8, "bits": 4, "block_size": 16}, [(2, 32), (8, 2, 8), (16,)]),
        ({"K": 32, "N": 8, "bits": 4, "block_size": 16}, [(2, 3, 32), (8, 2, 8), (16,), (8,)]),
        ({"K": 32, "N": 8, "bits": 4, "block_size": 16, "accuracy_level": 4}, [(2, 3, 32), (8, 2, 8), (8, 2), (8, 1)]),
        ({"K": 32, "N": 8, "bits": 8, "block_size": 16}, [(2, 32), (8, 2, 16), (16,)]),
        ({"K": 32, "N": 8, "bits": 8, "block_size": 16}, [(2, 32), (8, 2, 16), (16,), (16,)]),
        ({"K": 32, "N": 8, "bits": 2, "block_size": 16}, [(2, 32), (8, 2, 4), (16,)]),
        ({"K": 32, "N": 8, "bits": 4, "block_size": 32}, [(2, 32), (8, 1, 16), (8,)]),
        ({"K": 32, "N": 8, "bits": 4, "block_size": 16}, [(2, 32), (8, 2, 8), (16,), None, (32,)]),
        ({"K": 32, "N": 8, "bits": 4, "block_size": 16}, [(2, 32), (8, 2, 8), (16,), None, None, (8,)]),
    ],
    "com.microsoft::MultiHeadAttention": [
        ({"num_heads": 2}, [(2, 3, 8), (2, 5, 8), (2, 5, 8)]),
        ({"num_heads": 2}, [(2, 3, 8), (2, 5, 8), (2, 5, 8), (24,)]),
        ({"num_heads": 2}, [(2, 3, 8), (2, 5, 8), (2, 5, 8), None, (2, 5)]),
        ({"num_heads": 2}, [(2, 3, 8), (2, 5, 8), (2, 5, 8), None, None, (2, 2, 3, 5)]),
        ({"num_heads": 2}, [(2, 3, 8), (2, 5, 8), (2, 5, 8), None, None, None, (2, 2, 4, 4), (2, 2, 4, 4)]),
        ({"num_heads": 2}, [(2, 3, 8), (2, 2, 5, 4), (2, 2, 5, 4)]),
        ({"num_heads": 2}, [(2, 3, 2, 3, 4)]),
        ({"num_heads": 2}, [(2, 3, 8), (2, 5, 2, 2, 4)]),
    ],
    "com.microsoft::Pad": [({}, [(2, 3), [0, 1, 0, 1]]), ({}, [(2, 3), [0, 1, 0, 1], 0.5]), ({"mode": "edge"}, [(2, 3), (4,)])],
    "com.microsoft::QLinearAdd": [({}, QLINEAR), ({}, [(2, 3), (), (), (2, 3), (), (), (), ()]), ({}, [(2, 3), 0.5, None, (3,), 0.5, None, 0.5])],
    "com.microsoft::QLinearMul": [({}, QLINEAR), ({}, [(2, 3), (), (), (2, 3), (), (), (), ()]), ({}, [(2, 3), 0.5, None, (3,), 0.5, None, 0.5])],
    "com.microsoft::QLinearAveragePool": [
        ({"kernel_shape": [2, 2]}, [(1, 3, 6, 6), 0.5, 1, 0.5, 1]),
        ({"kernel_shape": [2, 2], "strides": [2, 2]}, [(1, 3, 6, 6), (), None, (), None]),
        ({"kernel_shape": [2, 2], "channels_last": 1}, [(1, 6, 6, 3), 0.5, 1, 0.5, 1]),
    ],
    "com.microsoft::QLinearConcat": [({"axis": 1}, [0.5, 1, (2, 3), 0.5, 1, (2, 3), 0.5, 1]), ({"axis": 0}, [(), (), (2, 3), (), ()])],
    "com.microsoft::QLinearLeakyRelu": [({}, [(2, 3), 0.5, 1, 0.5, 1]), ({"alpha": 0.1}, [(2, 3), (), (), (), ()])],
    "com.microsoft::QLinearReduceMean": [({"axes": [1]}, [(2, 3), 0.5, 1, 0.5, 1]), ({"keepdims": 0}, [(2, 3), (), (), (), ()])],
    "com.microsoft::QLinearSigmoid": [({}, [(2, 3), 0.5, 1, 0.5, 1]), ({}, [(2, 3), (), (), (), ()])],
    "com.microsoft::QLinearSoftmax": [
        ({"opset": 13, "axis": -1}, [(2, 3), 0.5, 1, 0.5, 1]),
        ({"opset": 11, "axis": 1}, [(2, 3), 0.5, None, 0.5, 1]),
    ],
    "com.microsoft::QLinearWhere": [({}, [(2, 3), (2, 3), 0.5, 1, (2, 3), 0.5, 1, 0.5, 1])],
    "com.microsoft::QuantizeLinear": [({}, [(2, 3), 0.5, 1]), ({"axis": 1}, [(2, 3), (3,), (3,)]), ({}, [(2, 3), (), ()])],
    "com.microsoft::QuickGelu": [({}, [(2, 3)]), ({"alpha": 1.0}, [(2, 3)])],
    "com.microsoft::Range": [({}, [0, 5, 1]), ({}, [(), (), ()]), ({}, [0, 5])],
    "com.microsoft::RotaryEmbedding": [
        ({}, [(2, 3, 4, 8), (2, 4), (50, 4), (50, 4)]),
        ({"num_heads": 2}, [(2, 3, 16), (2, 3), (50, 4), (50, 4)]),
        ({"interleaved": 1}, [(2, 3, 4, 8), (1,), (50, 4), (50, 4)]),
        ({}, [(2, 3, 8), (2, 3), (50, 4), (50, 4)]),
    ],
    "com.microsoft::SkipLayerNormalization": [
        ({}, [(2, 3, 8), (2, 3, 8), (8,)]),
        ({}, [(2, 3, 8), (2, 3, 8), (8,), (8,)]),
        ({"epsilon": 1e-5}, [(2, 3, 8), (2, 3, 8), (8,), (8,), (8,)]),
    ],
    "com.microsoft::SkipSimplifiedLayerNormalization": [
        ({}, [(2, 3, 8), (2, 3, 8), (8,)]),
        ({"epsilon": 1e-5}, [(2, 3, 8), (2, 3, 8), (8,), (8,)]),
    ],
    "com.microsoft::Trilu": [({}, [(2, 3)]), ({"upper": 0}, [(2, 3), 1]), ({}, [(2, 3), ()])],
}
