#!/usr/bin/env python3
"""Compare which shapes of parameters ONNX Runtime and typeloom accept, for operators with several parameters.

    pip install onnxruntime==1.31.1 onnx==1.23.2
    cargo build -p typeloom-cli
    python3 tools/compare_parameters.py target/debug/typeloom [--only TEXT] [--all]

Each case is a node that runs. The script changes the shape of one input at a time: an axis is longer, twice as long or 1, the last two axes
change places, an axis is added or removed. ONNX Runtime runs each changed node, in a process of its own, because wrong parameters can crash it.

A node that runs and that typeloom rejects is a contradiction: the exit code is 1, unless the case is one of `STRICTER`. A node that fails and that typeloom accepts is a check that
is missing; ONNX Runtime also fails for reasons that are not about shapes, so these are only listed, with the error. `--all` prints every node.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

SEED = 1


def case(name, op, inputs, outputs=1, domain="com.microsoft", version=None, **attributes):
    """A node that runs. An input is a type (`float[2, 3]`), with a value after `=`; `!` makes it an initializer; empty if it is omitted."""
    return dict(name=name, op=op, inputs=inputs, outputs=outputs, domain=domain, version=version, attributes=attributes)


QKV = ["float[2, 3, 64]"] * 3
PAST = ["float[2, 4, 5, 16]"] * 2
GQA = ["float[2, 1, 64]", "float[2, 1, 32]", "float[2, 1, 32]"]
GQA_PAST = ["float[2, 2, 9, 16]"] * 2
FIRST = ["float[2, 3, 64]", "float[2, 3, 32]", "float[2, 3, 32]"]
LENGTHS = ["int32[2] = 7 7", "int32[1] = 8 !"]
ONE = dict(num_heads=4, kv_num_heads=2)
U8 = ["float[]", "uint8[]"]
EXPERTS = ["float[6, 16]", "float[6, 4]"]

# Cases of which ONNX Runtime runs more than the specification allows, or makes empty results.
STRICTER = {
    "group_norm": "the function body broadcasts scale and bias",
    "nhwc_max": "a window larger than the data has no position",
    "onnx_rotary": "an odd head has an element that is not rotated",
    "onnx_rotary_caches": "an odd head has an element that is not rotated",
    "prelu": "the slope is broadcast in one direction only",
    "qaverage": "a window larger than the data has no position",
}

# fmt: off
CASES = [
    case("matmul_integer", "MatMulInteger", ["uint8[2, 3, 4]", "int8[4, 5]", "uint8[]", "int8[5]"], domain=""),
    case("matmul_integer_rows", "MatMulInteger", ["uint8[3, 4]", "int8[4, 5]", "uint8[]", "int8[]"], domain=""),
    case("qlinear_matmul", "QLinearMatMul", ["uint8[3, 4]", *U8, "int8[4, 5]", "float[5]", "int8[5]", *U8], domain=""),
    case("qlinear_matmul_one", "QLinearMatMul", ["uint8[2, 3, 4]", *U8, "int8[4, 5]", "float[]", "int8[]", *U8], domain=""),
    case("qlinear_conv", "QLinearConv", ["uint8[1, 3, 8, 8]", *U8, "int8[4, 3, 3, 3] !", "float[4] !", "int8[4] !", *U8, "int32[4] !"], domain=""),
    case("conv_integer", "ConvInteger", ["uint8[1, 3, 8, 8]", "uint8[4, 3, 3, 3]", "uint8[]", "uint8[]"], domain=""),
    case("quantize", "QuantizeLinear", ["float[2, 3, 4]", "float[3]", "uint8[3]"], domain=""),
    case("quantize_one", "QuantizeLinear", ["float[2, 3, 4]", "float[]", "uint8[]"], domain=""),
    case("quantize_blocks", "QuantizeLinear", ["float[2, 32]", "float[2, 2]", "int8[2, 2]"], domain="", axis=1, block_size=16),
    case("dequantize", "DequantizeLinear", ["uint8[2, 3, 4]", "float[3]", "uint8[3]"], domain=""),
    case("dequantize_one", "DequantizeLinear", ["uint8[2, 3, 4]", "float[]", "uint8[]"], domain=""),
    case("dequantize_blocks", "DequantizeLinear", ["int8[2, 32]", "float[2, 2]", "int8[2, 2]"], domain="", axis=1, block_size=16),
    case("gemm", "Gemm", ["float[3, 4]", "float[4, 5]", "float[3, 5]"], domain=""),
    case("gemm_row", "Gemm", ["float[3, 4]", "float[4, 5]", "float[5]"], domain=""),
    case("prelu", "PRelu", ["float[2, 3, 4, 5]", "float[3, 1, 1]"], domain=""),
    case("conv", "Conv", ["float[1, 3, 8, 8]", "float[4, 3, 3, 3]", "float[4]"], domain=""),
    case("conv_transpose", "ConvTranspose", ["float[1, 3, 8, 8]", "float[3, 4, 3, 3]", "float[4]"], domain=""),
    case("batch_norm", "BatchNormalization", ["float[2, 3, 4]", "float[3]", "float[3]", "float[3]", "float[3]"], domain=""),
    case("instance_norm", "InstanceNormalization", ["float[2, 3, 4]", "float[3]", "float[3]"], domain=""),
    case("group_norm", "GroupNormalization", ["float[2, 4, 5]", "float[4]", "float[4]"], domain="", num_groups=2),
    case("layer_norm", "LayerNormalization", ["float[2, 3, 4]", "float[4]", "float[4]"], domain=""),
    case("layer_norm_two", "LayerNormalization", ["float[2, 3, 4]", "float[3, 4]", "float[3, 4]"], domain="", axis=1),
    case("rms_norm", "RMSNormalization", ["float[2, 3, 4]", "float[4]"], domain=""),
    case("lstm", "LSTM", ["float[3, 2, 4]", "float[1, 20, 4]", "float[1, 20, 5]", "float[1, 40]", "int32[2] = 2 3", "float[1, 2, 5]", "float[1, 2, 5]", "float[1, 15]"], 3, domain="", hidden_size=5),
    case("gru", "GRU", ["float[3, 2, 4]", "float[1, 15, 4]", "float[1, 15, 5]", "float[1, 30]", "int32[2] = 2 3", "float[1, 2, 5]"], 2, domain="", hidden_size=5),
    case("rnn", "RNN", ["float[3, 2, 4]", "float[1, 5, 4]", "float[1, 5, 5]", "float[1, 10]", "int32[2] = 2 3", "float[1, 2, 5]"], 2, domain="", hidden_size=5),
    case("onnx_attention", "Attention", ["float[2, 4, 3, 8]", "float[2, 4, 5, 8]", "float[2, 4, 5, 8]", "float[3, 5]"], domain=""),
    case("onnx_attention_past", "Attention", ["float[2, 4, 3, 8]", "float[2, 4, 5, 8]", "float[2, 4, 5, 8]", "float[2, 4, 3, 11]", "float[2, 4, 6, 8]", "float[2, 4, 6, 8]"], 3, domain=""),
    case("onnx_rotary", "RotaryEmbedding", ["float[2, 4, 3, 8]", "float[50, 4]", "float[50, 4]", "int64[2, 3]"], domain=""),
    case("onnx_rotary_caches", "RotaryEmbedding", ["float[2, 4, 3, 8]", "float[2, 3, 4]", "float[2, 3, 4]"], domain=""),

    case("attention", "Attention", ["float[2, 3, 64]", "float[64, 192]", "float[192]", "int32[2] = 3 2", "", "float[2, 4, 3, 3]"], num_heads=4),
    case("attention_mask", "Attention", ["float[2, 3, 64]", "float[64, 192]", "float[192]", "int32[2, 3] = 1"], num_heads=4),
    case("attention_mask3", "Attention", ["float[2, 3, 64]", "float[64, 192]", "float[192]", "int32[2, 3, 3] = 1"], num_heads=4),
    case("attention_past", "Attention", ["float[2, 3, 64]", "float[64, 192]", "float[192]", "", "float[2, 2, 4, 5, 16]"], 2, num_heads=4, unidirectional=1),
    case("attention_sizes", "Attention", ["float[2, 3, 64]", "float[64, 160]", "float[160]"], num_heads=4, qkv_hidden_sizes=[64, 64, 32]),
    case("mha", "MultiHeadAttention", [*QKV, "float[192]", "int32[2, 3] = 1", "float[2, 4, 3, 3]"], num_heads=4),
    case("mha_bias1", "MultiHeadAttention", [*QKV, "", "int32[2] = 3 2", "float[1, 1, 3, 3]"], num_heads=4),
    case("mha_mask3", "MultiHeadAttention", [*QKV, "", "int32[2, 3, 3] = 1"], num_heads=4),
    case("mha_cross", "MultiHeadAttention", ["float[2, 3, 64]", "float[2, 7, 64]", "float[2, 7, 32]", "float[160]", "int32[2, 7] = 1", "float[2, 4, 3, 7]"], num_heads=4),
    case("mha_heads", "MultiHeadAttention", ["float[2, 3, 64]", "float[2, 4, 7, 16]", "float[2, 4, 7, 16]"], num_heads=4),
    case("mha_past", "MultiHeadAttention", [*QKV, "", "int32[2, 8] = 1", "float[2, 4, 3, 8]", *PAST], 3, num_heads=4),
    case("mha_shared", "MultiHeadAttention", ["float[2, 1, 64]", "float[2, 1, 64]", "float[2, 1, 64]", "", "", "", *["float[2, 4, 9, 16]"] * 2, "int32[1] = 4"], 3, num_heads=4),
    case("gqa", "GroupQueryAttention", [*GQA, *GQA_PAST, *LENGTHS], 3, **ONE),
    case("gqa_first", "GroupQueryAttention", [*FIRST, "", "", "int32[2] = 2 2", "int32[1] = 3 !"], 3, **ONE),
    case("gqa_longer", "GroupQueryAttention", ["float[1, 3, 64]", "float[1, 3, 32]", "float[1, 3, 32]", *["float[1, 2, 9, 16]"] * 2, "int32[1] = 7", "int32[1] = 8 !", "float[50, 8]", "float[50, 8]"], 3, do_rotary=1, **ONE),
    case("gqa_packed", "GroupQueryAttention", ["float[2, 1, 128]", "", "", *GQA_PAST, *LENGTHS], 3, **ONE),
    case("gqa_rotary", "GroupQueryAttention", [*GQA, *GQA_PAST, *LENGTHS, "float[50, 8]", "float[50, 8]"], 3, do_rotary=1, **ONE),
    case("gqa_positions", "GroupQueryAttention", [*GQA, *GQA_PAST, *LENGTHS, "float[50, 8]", "float[50, 8]", "int64[2, 1] = 7", "float[2, 4, 1, 8]", "float[4]"], 3, do_rotary=1, **ONE),
    case("gqa_bias", "GroupQueryAttention", [*GQA, *GQA_PAST, *LENGTHS, "", "", "", "float[1, 1, 1, 8]", "float[4]"], 3, **ONE),
    case("gqa_int8", "GroupQueryAttention", [*GQA, *["int8[2, 2, 9, 16]"] * 2, *LENGTHS, "", "", "", "", "", "float[1]", "float[1]"], 3, k_quant_type="PER_TENSOR", v_quant_type="PER_TENSOR", kv_cache_bit_width=8, **ONE),
    case("gqa_int8_channels", "GroupQueryAttention", [*GQA, *["int8[2, 2, 9, 16]"] * 2, *LENGTHS, "", "", "", "", "", "float[32]", "float[32]"], 3, k_quant_type="PER_CHANNEL", v_quant_type="PER_CHANNEL", kv_cache_bit_width=8, **ONE),
    case("gqa_int4", "GroupQueryAttention", [*GQA, *["uint8[2, 2, 9, 8]"] * 2, *LENGTHS, "", "", "", "", "", "float[1]", "float[1]"], 3, k_quant_type="PER_TENSOR", v_quant_type="PER_TENSOR", kv_cache_bit_width=4, **ONE),
    case("decoder_self", "DecoderMaskedMultiHeadAttention", ["float[2, 1, 64]", "float[2, 1, 64]", "float[2, 1, 64]", "int32[2, 5] = 1", "float[2, 4, 1, 5]", *["float[2, 4, 9, 16]"] * 2, "int32[1] = 4", "int32[1] = 1"], 3, num_heads=4, past_present_share_buffer=1),
    case("decoder_bias", "DecoderMaskedMultiHeadAttention", ["float[2, 1, 64]", "float[2, 1, 64]", "float[2, 1, 64]", "", "", *["float[2, 4, 9, 16]"] * 2, "int32[1] = 4", "int32[1] = 1", "", "float[192]"], 3, num_heads=4, past_present_share_buffer=1),
    case("rotary", "RotaryEmbedding", ["float[2, 3, 64]", "int64[2, 3] = 1", "float[50, 8]", "float[50, 8]"], num_heads=4, rotary_embedding_dim=0),
    case("rotary_plain", "RotaryEmbedding", ["float[2, 3, 64]", "int64[2, 3] = 1", "float[50, 8]", "float[50, 8]"]),
    case("rotary_heads", "RotaryEmbedding", ["float[2, 4, 3, 16]", "int64[2, 3] = 1", "float[50, 8]", "float[50, 8]"]),
    case("rotary_part", "RotaryEmbedding", ["float[2, 3, 64]", "int64[1] = 1", "float[50, 4]", "float[50, 4]"], num_heads=4, rotary_embedding_dim=8),
    case("mrotary", "MRotaryEmbedding", ["float[2, 3, 64]", "int64[3, 2, 3] = 1", "float[50, 8]", "float[50, 8]"], num_heads=4, mrope_section=[2, 3, 3]),
    case("linear_attention", "LinearAttention", ["float[2, 3, 64]", "float[2, 3, 32]", "float[2, 3, 32]", "float[2, 2, 16, 16]", "float[2, 3, 2]", "float[2, 3, 2]"], 2, q_num_heads=4, kv_num_heads=2),
    case("linear_attention_gate", "LinearAttentionGate", ["float[2, 3, 4]", "float[4]", "float[4]", "float[2, 3, 4]"], 2),
    case("causal_conv", "CausalConvWithState", ["float[2, 6, 5]", "float[6, 1, 4]", "float[6]", "float[2, 6, 3]"], 2),

    case("nbits", "MatMulNBits", ["float[2, 3, 64]", "uint8[32, 2, 16]", "float[64]", "uint8[32]", "", "float[32]"], K=64, N=32, block_size=32, bits=4),
    case("nbits_const", "MatMulNBits", ["float[2, 3, 64]", "uint8[32, 2, 16] !", "float[64] !", "uint8[32] !", "", "float[32] !"], K=64, N=32, block_size=32, bits=4),
    case("nbits_axes", "MatMulNBits", ["float[2, 3, 64]", "uint8[32, 2, 16]", "float[32, 2]", "uint8[32, 1]"], K=64, N=32, block_size=32, bits=4),
    case("nbits_odd", "MatMulNBits", ["float[3, 80]", "uint8[8, 3, 16]", "float[8, 3]", "uint8[8, 2]"], K=80, N=8, block_size=32, bits=4),
    case("nbits_floats", "MatMulNBits", ["float[3, 64]", "uint8[8, 2, 16]", "float[8, 2]", "float[8, 2]"], K=64, N=8, block_size=32, bits=4),
    case("nbits_floats_flat", "MatMulNBits", ["float[3, 64]", "uint8[8, 2, 16]", "float[16]", "float[16]"], K=64, N=8, block_size=32, bits=4),
    case("nbits_group", "MatMulNBits", ["float[3, 64]", "uint8[8, 2, 16]", "float[16]", "uint8[8]", "int32[64]"], K=64, N=8, block_size=32, bits=4),
    case("nbits8", "MatMulNBits", ["float[3, 64]", "uint8[8, 2, 32]", "float[8, 2]", "uint8[8, 2]"], K=64, N=8, block_size=32, bits=8),
    case("nbits2", "MatMulNBits", ["float[3, 64]", "uint8[8, 2, 8]", "float[8, 2]", "uint8[8, 1]"], K=64, N=8, block_size=32, bits=2),
    case("bnb4", "MatMulBnb4", ["float[2, 3, 64]", "uint8[1024]", "float[32]"], K=64, N=32, block_size=64, quant_type=1),
    case("gather_blocks", "GatherBlockQuantized", ["uint8[32, 64]", "int64[2, 3]", "float[32, 4]", "uint8[32, 2]"], gather_axis=0, quantize_axis=1, block_size=32, bits=4),
    case("gather_blocks_int4", "GatherBlockQuantized", ["int4[32, 64]", "int64[2, 3]", "float[32, 2]", "int4[32, 2]"], gather_axis=0, quantize_axis=1, block_size=32),
    case("gather_blocks_8", "GatherBlockQuantized", ["uint8[32, 64]", "int64[2, 3]", "float[32, 2]", "uint8[32, 2]"], gather_axis=0, quantize_axis=1, block_size=32, bits=8),
    case("gather_blocks_3", "GatherBlockQuantized", ["int4[4, 32, 64]", "int64[3]", "float[4, 32, 2]"], gather_axis=1, quantize_axis=2, block_size=32),
    case("dynamic_matmul", "DynamicQuantizeMatMul", ["float[2, 3, 4]", "int8[4, 5]", "float[5]", "int8[5]", "float[5]"]),
    case("dynamic_matmul_one", "DynamicQuantizeMatMul", ["float[3, 4]", "int8[4, 5]", "float[1]", "int8[1]"]),
    case("dynamic_matmul_batch", "DynamicQuantizeMatMul", ["float[2, 3, 4]", "int8[2, 4, 5]", "float[]", "int8[]", "float[5]"]),
    case("integer_to_float", "MatMulIntegerToFloat", ["uint8[2, 3, 4]", "int8[4, 5]", "float[]", "float[5]", "uint8[]", "int8[5]", "float[5]"]),
    case("integer_to_float_one", "MatMulIntegerToFloat", ["uint8[3, 4]", "int8[4, 5]", "float[1]", "float[1]", "uint8[1]", "int8[1]"]),
    case("qgemm", "QGemm", ["uint8[3, 4]", *U8, "int8[4, 5]", "float[5]", "int8[5]", "int32[5]", *U8]),
    case("qgemm_c", "QGemm", ["uint8[3, 4]", *U8, "int8[4, 5]", "float[]", "int8[]", "int32[3, 5]", *U8]),
    case("qgemm_float", "QGemm", ["uint8[3, 4]", *U8, "int8[4, 5]", "float[5]", "int8[5]", "int32[1, 5]"]),
    case("qadd", "QLinearAdd", ["uint8[2, 3]", *U8, "uint8[3]", *U8, *U8]),
    case("qmul", "QLinearMul", ["uint8[2, 3]", *U8, "uint8[3]", *U8, *U8]),
    case("qsigmoid", "QLinearSigmoid", ["uint8[2, 3]", *U8, *U8]),
    case("qleaky", "QLinearLeakyRelu", ["uint8[2, 3]", *U8, *U8]),
    case("qsoftmax", "QLinearSoftmax", ["uint8[2, 3]", *U8, *U8], opset=13),
    case("qglobal", "QLinearGlobalAveragePool", ["uint8[2, 3, 8, 8]", *U8, *U8]),
    case("qaverage", "QLinearAveragePool", ["uint8[2, 3, 8, 8]", *U8, *U8], kernel_shape=[2, 2]),
    case("qwhere", "QLinearWhere", ["bool[2, 1]", "uint8[3]", *U8, "uint8[2, 3]", *U8, *U8]),
    case("qconcat", "QLinearConcat", [*U8, "uint8[2, 3]", *U8, "uint8[2, 4]", *U8], axis=1),
    case("qconv_last", "QLinearConv", ["uint8[1, 8, 8, 3]", *U8, "int8[4, 3, 3, 3] !", "float[4] !", "int8[4] !", *U8, "int32[4] !"], channels_last=1),
    case("qattention", "QAttention", ["uint8[2, 3, 64]", "int8[64, 192] !", "float[192]", "float[]", "float[192]", "int32[2] = 3 2", "uint8[]", "int8[192]"], num_heads=4),
    case("qattention_one", "QAttention", ["uint8[2, 3, 64]", "int8[64, 192]", "float[192]", "float[]", "float[]", "", "uint8[]", "int8[]", "float[2, 2, 4, 5, 16]"], 2, num_heads=4, unidirectional=1),
    case("quantize_ms", "QuantizeLinear", ["float[2, 3, 4]", "float[3]", "uint8[3]"], axis=1),
    case("dequantize_ms", "DequantizeLinear", ["uint8[2, 3, 4]", "float[3]", "uint8[3]"], axis=1),
    case("dynamic_lstm", "DynamicQuantizeLSTM", ["float[3, 2, 4]", "int8[1, 4, 20] !", "int8[1, 5, 20] !", "float[1, 40] !", "int32[2] = 2 3", "float[1, 2, 5]", "float[1, 2, 5]", "float[1, 15]", "float[1] !", "int8[1] !", "float[1] !", "int8[1] !"], 3, hidden_size=5),
    case("qembed", "QEmbedLayerNormalization", ["int32[2, 3]", "int32[2, 3]", "uint8[10, 8]", "uint8[9, 8]", "uint8[2, 8]", "uint8[8]", "uint8[8]", "int32[2, 3]", *["float[]"] * 5, *["uint8[]"] * 5], 2),
    case("moe", "MoE", [*EXPERTS, "float[4, 32, 16]", "float[4, 32]", "float[4, 16, 32]", "float[4, 16]"], k=1, activation_type="relu"),
    case("moe_swiglu", "MoE", [*EXPERTS, "float[4, 64, 16]", "float[4, 64]", "float[4, 16, 32]", "float[4, 16]"], k=2, activation_type="swiglu", swiglu_fusion=1),
    case("qmoe", "QMoE", ["float[6, 32]", "float[6, 4]", "uint8[4, 64, 16]", "float[4, 64]", "float[4, 64]", "uint8[4, 32, 32]", "float[4, 32]", "float[4, 32]"], k=1, activation_type="relu", expert_weight_bits=4),
    case("qmoe_blocks", "QMoE", ["float[6, 32]", "float[6, 4]", "uint8[4, 64, 16]", "float[4, 64, 2]", "", "uint8[4, 32, 32]", "float[4, 32, 4]", "", "", "", "", "uint8[4, 64, 1]", "uint8[4, 32, 2]"], k=1, activation_type="relu", expert_weight_bits=4, block_size=16),
    case("qmoe8", "QMoE", ["float[6, 32]", "float[6, 4]", "uint8[4, 64, 32]", "float[4, 64]", "", "uint8[4, 32, 64]", "float[4, 32]"], k=1, activation_type="relu", expert_weight_bits=8),

    case("bias_gelu", "BiasGelu", ["float[2, 3, 64]", "float[64]"]),
    case("fast_gelu", "FastGelu", ["float[2, 3, 64]", "float[64]"]),
    case("skip_norm", "SkipLayerNormalization", ["float[2, 3, 64]", "float[2, 3, 64]", "float[64]", "float[64]", "float[64]"]),
    case("skip_norm_2", "SkipLayerNormalization", ["float[6, 64]", "float[6, 64]", "float[64]"]),
    case("skip_rms", "SkipSimplifiedLayerNormalization", ["float[2, 3, 64]", "float[2, 3, 64]", "float[64]", "float[64]"]),
    case("simplified", "SimplifiedLayerNormalization", ["float[2, 3, 64]", "float[64]"], domain=""),
    case("embed", "EmbedLayerNormalization", ["int32[2, 3]", "int32[2, 3]", "float[10, 8]", "float[9, 8]", "float[2, 8]", "float[8]", "float[8]", "int32[2, 3]"], 2),
    case("embed_positions", "EmbedLayerNormalization", ["int32[2, 3]", "", "float[10, 8]", "float[9, 8]", "", "float[8]", "float[8]", "", "int32[2, 3]"], 3),
    case("fused_conv", "FusedConv", ["float[1, 3, 8, 8]", "float[4, 3, 3, 3]", "float[4]", "float[1, 4, 6, 6]"], activation="Relu"),
    case("fused_gemm", "FusedGemm", ["float[3, 4]", "float[4, 5]", "float[3, 5]"], activation="Relu"),
    case("fused_matmul", "FusedMatMul", ["float[2, 3, 4]", "float[5, 4]"], transB=1),
    case("cdist", "CDist", ["float[2, 3]", "float[4, 3]"], metric="euclidean"),
    case("crop", "CropAndResize", ["float[1, 3, 8, 8]", "float[2, 4]", "int32[2]", "int32[2] = 5 6 !"]),
    case("grid_sample", "GridSample", ["float[2, 3, 8, 8]", "float[2, 4, 5, 2]"]),
    case("ngram_block", "NGramRepeatBlock", ["int64[2, 5]", "float[2, 50]"], ngram_size=2),
    case("max_mask", "MaxpoolWithMask", ["float[2, 3, 8, 8]", "int32[2, 3, 8, 8] = 1"], kernel_shape=[2, 2]),
    case("transpose_pads", "ConvTransposeWithDynamicPads", ["float[1, 3, 8, 8]", "float[3, 4, 3, 3]", "int64[4] = 0 !", "float[4]"]),
    case("word_conv", "WordConvEmbedding", ["int32[3, 5] = 1", "float[4, 1, 2, 6]", "float[4]", "float[10, 6]"]),
    case("gated_rms", "GatedRMSNorm", ["float[2, 3, 16]", "float[16]", "float[2, 3, 16]"]),
    case("branch_rms", "BranchwiseRMSNorm", ["float[2, 3, 4, 16]", "float[4, 16]"]),
    case("gated_add", "GatedAdd", ["float[2, 3, 16]", "float[2, 3, 16]", "float[2, 3, 1]"]),
    case("engram", "EngramGate", ["float[2, 3, 4, 16]", "float[2, 3, 4, 16]", "float[2, 3, 16]", "float[4, 16]", "float[4, 16]", "float[4, 16]"], 2),
    case("premix", "HyperConnectionPreMix", ["float[2, 3, 4, 16]", "float[2, 3, 4]"]),
    case("postmix", "HyperConnectionPostMix", ["float[2, 3, 4, 16]", "float[2, 3, 16]", "float[2, 3, 4]", "float[2, 3, 4, 4]"]),
    case("silu", "ScaledSiLU", ["float[2, 3]", "float[]"]),
    case("ngram_hash", "NGramHashMapping", ["int64[2, 3]", "int64[3]", "int64[4] = 5", "int64[2, 2]"], 2, max_ngram_size=3, n_head_per_ngram=2, pad_id=0),
    case("attn_lstm", "AttnLSTM", ["float[3, 2, 4]", "float[1, 20, 8]", "float[1, 20, 5]", "float[1, 40]", "int32[2] = 2 3", "float[1, 2, 5]", "float[1, 2, 5]", "float[1, 15]", "float[1, 5, 6]", "float[1, 7, 6]", "float[1, 6]", "float[2, 9, 7]", "int32[2] = 9 8", "float[1, 12, 4]"], 3, hidden_size=5),
    case("nhwc_max", "NhwcMaxPool", ["uint8[2, 8, 8, 3]"], kernel_shape=[2, 2]),
    case("nchwc_conv", "Conv", ["float[1, 16, 8, 8]", "float[16, 16, 3, 3]", "float[16]"], domain="com.microsoft.nchwc"),
]
# fmt: on

ELEMENTS = {"float": "FLOAT", "float16": "FLOAT16", "bool": "BOOL", "int4": "INT4", "uint4": "UINT4"}


class Input:
    """One input: its element type, shape, value, and whether it is an initializer."""

    def __init__(self, text: str):
        self.is_stored = text.endswith("!")
        match = re.fullmatch(r"(\w+)\[(.*?)\](?: = (.*))?", text.rstrip("! "))
        self.element, shape, value = match.groups()
        self.shape = [int(extent) for extent in shape.split(",") if extent.strip()]
        self.value = value and [int(number) for number in value.split()]

    def number(self) -> int:
        return getattr(TensorProto, ELEMENTS.get(self.element, self.element.upper()))

    def array(self, shape, random):
        dtype = helper.tensor_dtype_to_np_dtype(self.number())
        if self.value is not None:
            return np.resize(np.array(self.value), shape).astype(dtype)
        if self.element.startswith("float"):
            return random.random(shape).astype(dtype)
        return random.integers(0, 2, shape).astype(dtype) if "int8" in self.element else np.zeros(shape, dtype)


def changes(shape):
    """Other shapes, each with the change."""
    found = {}
    for axis, extent in enumerate(shape):
        for other in (extent + 1, 2 * extent, 1):
            if other != extent:
                found.setdefault((*shape[:axis], other, *shape[axis + 1 :]), f"axis {axis} is {other}")
    if len(shape) > 1:
        found.setdefault((*shape[:-2], shape[-1], shape[-2]), "the last axes are exchanged")
        found.setdefault(tuple(shape[1:]), "the first axis is left out")
        found.setdefault((int(np.prod(shape)),), "there is one axis")
    else:
        found.setdefault((), "there is no axis")
        found.setdefault((*shape, 1), "there is an axis of 1 more at the end")
    found.setdefault((1, *shape), "there is an axis of 1 more at the start")
    if not shape:
        found.setdefault((3,), "there is an axis of 3")
    found.pop(tuple(shape), None)
    return found.items()


def build(one, shapes, random):
    """The model of a case with these shapes, and what it is run with."""
    inputs, stored, feeds, names = [], [], {}, []
    for at, text in enumerate(one["inputs"]):
        names.append(f"i{at}" if text else "")
        if not text:
            continue
        given = Input(text)
        array = given.array(shapes[at], random)
        if given.is_stored:
            stored.append(numpy_helper.from_array(array, names[-1]))
        else:
            inputs.append(helper.make_tensor_value_info(names[-1], given.number(), shapes[at]))
            feeds[names[-1]] = array
    outputs = [f"o{at}" for at in range(one["outputs"])]
    node = helper.make_node(one["op"], names, outputs, domain=one["domain"], **one["attributes"])
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], stored)
    imports = {"": one["version"] or 23, "com.microsoft": 1, one["domain"]: one["version"] or (1 if one["domain"] else 23)}
    imports = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=11), feeds


def serve(pipe):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    while True:
        try:
            model, feeds = pipe.recv()
            session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            values = {name: value for name, value in feeds.items()}
            for given in session.get_inputs():
                if "int4" in given.type:
                    number = TensorProto.INT4 if "uint4" not in given.type else TensorProto.UINT4
                    values[given.name] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(values[given.name], number)
                else:
                    values[given.name] = ort.OrtValue.ortvalue_from_numpy(values[given.name])
            session.run_with_ort_values([output.name for output in session.get_outputs()], values)
            pipe.send("")
        except EOFError:
            return
        except Exception as error:  # noqa: BLE001: the loader and kernels have several kinds of errors
            pipe.send(" ".join(str(error).split()) or "failed")


class Runner:
    def __init__(self):
        self.child = None

    def run(self, model, feeds) -> str:
        """The error of loading and running the model; empty if it runs."""
        if self.child is None:
            processes = multiprocessing.get_context("fork")
            self.pipe, theirs = processes.Pipe()
            self.child = processes.Process(target=serve, args=(theirs,), daemon=True)
            self.child.start()
            theirs.close()
        self.pipe.send((model, feeds))
        try:
            return self.pipe.recv()
        except EOFError:
            self.child = None
            return "crashed"


def verdicts(typeloom: str, paths: list[Path]) -> dict[str, list[str]]:
    """The errors that typeloom reports for each file."""
    found: dict[str, list[str]] = {str(path): [] for path in paths}
    for start in range(0, len(paths), 500):
        command = [typeloom, "check", "--no-config", "--format", "json", *map(str, paths[start : start + 500])]
        for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines():
            file = json.loads(line)
            found[file["file"]] = [it["message"] for it in file["diagnostics"] if it["severity"] == "error"]
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description="compare which shapes of parameters are accepted")
    arguments.add_argument("typeloom")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--all", action="store_true")
    options = arguments.parse_args()
    runner, rows = Runner(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for one in CASES:
            if options.only not in one["name"]:
                continue
            random = np.random.default_rng(SEED)
            shapes = [Input(text).shape if text else None for text in one["inputs"]]
            variants = [("as it is", shapes)]
            for at, shape in enumerate(shapes):
                for other, change in changes(shape) if shape is not None else ():
                    variants.append((f"input {at}: {change}", [*shapes[:at], list(other), *shapes[at + 1 :]]))
            for number, (change, changed) in enumerate(variants):
                model, feeds = build(one, changed, random)
                path = folder / f"{one['name']}-{number}.onnx"
                onnx.save(model, path)
                rows.append((one, change, path, runner.run(model.SerializeToString(), feeds)))
        ours = verdicts(options.typeloom, [row[2] for row in rows])
    counts, contradictions = Counter(), 0
    for one, change, path, error in rows:
        errors = ours[str(path)]
        kind = ("fails" if error else "runs", "rejected" if errors else "accepted")
        counts[kind] += 1
        broken = change == "as it is" and (error or errors)
        if options.all or broken or kind in (("runs", "rejected"), ("fails", "accepted")):
            mark = {("runs", "rejected"): "CONTRADICTION", ("fails", "accepted"): "missing"}.get(kind, "agreed")
            if mark == "CONTRADICTION" and one["name"] in STRICTER:
                mark = f"stricter, as {STRICTER[one['name']]}"
            contradictions += mark == "CONTRADICTION"
            reason = errors[0] if kind == ("runs", "rejected") else error.rsplit("Status Message: ", 1)[-1]
            print(f"{mark}: {one['name']} ({one['op']}): {change}: {reason[-150:]}")
    for (theirs, mine), count in sorted(counts.items()):
        print(f"{theirs}, {mine}: {count}")
    return int(contradictions > 0)


if __name__ == "__main__":
    sys.exit(main())
