//! Differential tests of operators in old versions, on all element types and with non-default attributes: an
//! engine computes the same results as the embedded backend or refuses the model. Included in the tests of
//! each engine.
//!
//! The recorded cases cover one version and few element types of most operators, so they miss many silent
//! differences.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use typeloom_cpu::value::Value;
use typeloom_runtime::engine::Engine;
use typeloom_runtime::engine::session::EngineSession;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Port;
use typeloom_runtime::session::Session;
use typeloom_solver::model::Options;
use typeloom_solver::value_type::Dim;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use crate::compare;
use crate::worker::{Verdict, Worker};

/// Element types substituted for `T`.
const TYPES: &[&str] = &[
    "float", "double", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool",
];

/// Operator set version and graph; `<T>` is replaced with each element type.
const GRAPHS: &[(i64, &str)] = &[
    // Arithmetic on every element type.
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Add(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Sub(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Mul(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T>[4] y = {1, 2, 3, 2}> { z = Div(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T>[4] y = {1, 2, 3, 2}> { z = Mod(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T>[4] y = {1, 2, 3, 2}> { z = Mod<fmod = 1>(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T>[4] y = {0, 1, 2, 3}> { z = Pow(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) <float[4] y = {0, 1, 2, 3}> { z = Pow(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) <int64[1] y = {2}> { z = Pow(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Neg(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Abs(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Sign(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Relu(x) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Max(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Min(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Mean(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Sum(x, y, x) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T>[4] y = {0, 1, 2, 7}> { z = BitShift<direction = \"LEFT\">(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T>[4] y = {0, 1, 2, 7}> { z = BitShift<direction = \"RIGHT\">(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = BitwiseAnd(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = BitwiseXor(x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = BitwiseNot(x) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Equal(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = Less(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { z = GreaterOrEqual(x, y) }"),
    (18, "g (<T>[2, 4] x, <T>[4] y) => (z) { c = Greater(x, y) z = Where(c, x, y) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T> low = {1}, <T> high = {3}> { z = Clip(x, low, high) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T> high = {3}> { z = Clip(x, , high) }"),
    (6, "g (<T>[2, 4] x) => (z) { z = Clip<min = 0.5, max = 2.0>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Ceil(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Round(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Sqrt(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Exp(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Reciprocal(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Sigmoid(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Tanh(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Erf(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Softplus(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Elu<alpha = 0.5>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = LeakyRelu<alpha = 0.3>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Shrink<lambd = 1.0, bias = 0.5>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = HardSigmoid<alpha = 0.3, beta = 0.4>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T>[4] s = {1, 2, 3, 2}> { z = PRelu(x, s) }"),
    // Conversions.
    (18, "g (<T>[2, 4] x) => (z) { z = Cast<to = 1>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { h = Abs(x) z = Cast<to = 2>(h) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Cast<to = 3>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Cast<to = 6>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Cast<to = 7>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Cast<to = 9>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Cast<to = 10>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Cast<to = 11>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { h = Abs(x) z = Cast<to = 13>(h) }"),
    (18, "g (<T>[2, 4] x) => (z) <<T>[1] big = {100}> { h = Mul(x, big) z = Cast<to = 7>(h) }"),
    (18, "g (float[2, 4] x) => (z) { h = Exp(x) l = Log(h) s = Sqrt(x) z = IsNaN(s) }"),
    // Reductions.
    (11, "g (<T>[2, 3, 4] x) => (z) { z = ReduceSum<axes = [1, -1], keepdims = 0>(x) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[1] a = {-2}> { z = ReduceSum<keepdims = 0>(x, a) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) { z = ReduceSum(x) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) { z = ReduceSum<noop_with_empty_axes = 1>(x) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[0] a = {}> { z = ReduceSum<noop_with_empty_axes = 1>(x, a) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[1] a = {1}> { z = ReduceMean(x, a) }"),
    (13, "g (<T>[2, 3, 4] x) => (z) { z = ReduceMean<axes = [0]>(x) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[1] a = {1}> { z = ReduceMax(x, a) }"),
    (13, "g (<T>[2, 3, 4] x) => (z) { z = ReduceMin<axes = [-1], keepdims = 0>(x) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[1] a = {2}> { z = ReduceProd(x, a) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[1] a = {2}> { z = ReduceL1(x, a) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[1] a = {2}> { z = ReduceL2(x, a) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[1] a = {2}> { z = ReduceSumSquare(x, a) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[1] a = {2}> { z = ReduceLogSumExp(x, a) }"),
    (13, "g (<T>[2, 3, 4] x) => (z) { z = ArgMax<axis = -1, keepdims = 0>(x) }"),
    (13, "g (<T>[2, 3, 4] x) => (z) { z = ArgMin<axis = 1, select_last_index = 1>(x) }"),
    (14, "g (<T>[2, 3, 4] x) => (z) <int64 a = {1}> { z = CumSum<exclusive = 1, reverse = 1>(x, a) }"),
    (11, "g (<T>[2, 4] x) => (v, i) <int64[1] k = {2}> { v, i = TopK<largest = 0>(x, k) }"),
    (1, "g (float[2, 4] x) => (v, i) { v, i = TopK<k = 2>(x) }"),
    // Shapes and indices.
    (11, "g (<T>[2, 3, 4] x) => (z) { h = Unsqueeze<axes = [0, -1]>(x) z = Squeeze<axes = [0]>(h) }"),
    (13, "g (<T>[2, 3, 4] x) => (z) <int64[2] a = {0, -1}> { h = Unsqueeze(x, a) z = Squeeze(h) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[3] s = {0, -1, 2}> { z = Reshape(x, s) }"),
    (18, "g (<T>[2, 0, 4] x) => (z) <int64[2] s = {0, 7}> { z = Reshape<allowzero = 1>(x, s) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) { z = Flatten<axis = -1>(x) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) { z = Transpose(x) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) { z = Concat<axis = -2>(x, x) }"),
    (
        18,
        "g (<T>[2, 3, 4] x) => (z) <int64[1] s = {-1}, int64[1] e = {-9}, int64[1] a = {1}, int64[1] t = {-2}> { z = Slice(x, s, e, a, t) }",
    ),
    (9, "g (<T>[2, 3, 4] x) => (z) { z = Slice<axes = [2], starts = [-3], ends = [100]>(x) }"),
    (11, "g (<T>[2, 3, 4] x) => (a, b) { a, b = Split<axis = -1, split = [1, 3]>(x) }"),
    (18, "g (<T>[2, 3, 5] x) => (a, b, c) { a, b, c = Split<axis = -1, num_outputs = 3>(x) }"),
    (18, "g (<T>[2, 3, 4] x) => (z) <int64[2] i = {-1, 0}> { z = Gather<axis = 1>(x, i) }"),
    (18, "g (<T>[2, 4] x) => (z) <int64[2, 2] i = {-1, 0, 2, 1}> { z = GatherElements<axis = 1>(x, i) }"),
    (18, "g (<T>[2, 4] x) => (z) <int64[2, 2] i = {0, -1, 1, 0}> { z = GatherND(x, i) }"),
    (
        18,
        "g (<T>[2, 4] x) => (z) <int64[1, 2] i = {1, -1}, <T>[1, 2] u = {7, 1}> { z = ScatterElements<axis = 1>(x, i, u) }",
    ),
    (
        18,
        "g (<T>[2, 4] x) => (z) <int64[1, 2] i = {1, 1}, <T>[1, 2] u = {2, 3}> { z = ScatterElements<axis = 1, reduction = \"add\">(x, i, u) }",
    ),
    (18, "g (<T>[2, 4] x) => (z) <int64[1, 2] i = {1, -1}, <T>[1] u = {7}> { z = ScatterND(x, i, u) }"),
    (
        18,
        "g (<T>[2, 4] x) => (z) <int64[2, 2] i = {1, 1, 1, 1}, <T>[2] u = {2, 3}> { z = ScatterND<reduction = \"mul\">(x, i, u) }",
    ),
    (18, "g (<T>[2, 4] x) => (z) <int64[3] s = {3, 1, 4}> { z = Expand(x, s) }"),
    (18, "g (<T>[2, 4] x) => (z) <int64[2] r = {2, 1}> { z = Tile(x, r) }"),
    (18, "g (<T>[2, 4] x) => (z) <int64[4] p = {1, 0, 0, 2}, <T> v = {1}> { z = Pad(x, p, v) }"),
    (18, "g (<T>[2, 4] x) => (z) <int64[4] p = {0, 2, 0, 1}> { z = Pad<mode = \"reflect\">(x, p) }"),
    (18, "g (<T>[2, 4] x) => (z) <int64[4] p = {1, 0, 0, 2}> { z = Pad<mode = \"edge\">(x, p) }"),
    (2, "g (float[2, 4] x) => (z) { z = Pad<pads = [1, 0, 0, 2], value = 1.5>(x) }"),
    (18, "g (<T>[1, 4, 2, 2] x) => (z) { z = DepthToSpace<blocksize = 2, mode = \"CRD\">(x) }"),
    (18, "g (<T>[1, 1, 4, 2] x) => (z) { z = SpaceToDepth<blocksize = 2>(x) }"),
    (18, "g (<T>[4, 4] x) => (z) <int64 k = {-1}> { z = Trilu<upper = 0>(x, k) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Shape<start = 1>(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Size(x) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = NonZero(x) }"),
    (18, "g (<T>[3, 3] x) => (z) { z = EyeLike<k = 1>(x) }"),
    (18, "g (<T>[4] x) => (z) <bool[4] c = {1, 0, 1, 0}> { z = Compress(x, c) }"),
    (18, "g (<T> x) => (z) <<T> e = {9}, <T> d = {2}> { z = Range(x, e, d) }"),
    (18, "g (int64[3] x) => (z) <int64 d = {4}, <T>[2] v = {2, 5}> { z = OneHot<axis = 0>(x, d, v) }"),
    (18, "g (<T>[2, 4] x) => (z) { z = Identity(x) }"),
    // Matrices.
    (18, "g (<T>[2, 3, 4] x, <T>[4, 2] y) => (z) { z = MatMul(x, y) }"),
    (18, "g (<T>[4] x, <T>[4] y) => (z) { z = MatMul(x, y) }"),
    (
        18,
        "g (<T>[4, 2] x, <T>[4, 3] y, <T>[3] c) => (z) { z = Gemm<transA = 1, alpha = 2.0, beta = 0.5>(x, y, c) }",
    ),
    (18, "g (<T>[2, 3] x, <T>[3, 2] y) => (z) { z = Einsum<equation = \"ij,jk->ki\">(x, y) }"),
    (10, "g (uint8[2, 3] x, <T>[3, 2] y) => (z) <uint8 p = {3}> { z = MatMulInteger(x, y, p) }"),
    // Normalisation and similar operators, in versions with different semantics.
    (11, "g (<T>[2, 3, 4] x) => (z) { z = Softmax(x) }"),
    (13, "g (<T>[2, 3, 4] x) => (z) { z = Softmax<axis = 1>(x) }"),
    (11, "g (<T>[2, 3, 4] x) => (z) { z = LogSoftmax<axis = 1>(x) }"),
    (11, "g (<T>[2, 3, 4] x) => (z) { z = Hardmax<axis = 1>(x) }"),
    (13, "g (<T>[2, 3, 4] x) => (z) { z = Hardmax(x) }"),
    (
        17,
        "g (<T>[2, 3, 4] x, <T>[3, 4] s, <T>[3, 4] b) => (z) { z = LayerNormalization<axis = 1, epsilon = 0.01>(x, s, b) }",
    ),
    (
        9,
        "g (float[2, 3, 4] x, float[3] s, float[3] b, float[3] m) => (z) <float[3] v = {1, 2, 3}> { z = BatchNormalization<epsilon = 0.1>(x, s, b, m, v) }",
    ),
    (
        18,
        "g (float[2, 3, 4] x, float[3] s, float[3] b) => (z) { z = InstanceNormalization<epsilon = 0.1>(x, s, b) }",
    ),
    (18, "g (float[1, 5, 2, 2] x) => (z) { z = LRN<size = 4, alpha = 0.1, bias = 2.0>(x) }"),
    (18, "g (float[2, 3, 4] x) => (z) { z = LpNormalization<axis = 1, p = 1>(x) }"),
    (18, "g (float[2, 3, 2, 2] x) => (z) { z = MeanVarianceNormalization(x) }"),
    (18, "g (float[1, 2, 3, 3] x) => (z) { z = GlobalLpPool<p = 3>(x) }"),
    (10, "g (float[2, 3] x) => (z) { z = Dropout<ratio = 0.9>(x) }"),
    (13, "g (float[2, 3] x) => (z, m) { z, m = Dropout(x) }"),
    // Windows.
    (
        18,
        "g (<T>[1, 2, 5, 5] x) => (z) { z = MaxPool<kernel_shape = [2, 3], strides = [2, 2], ceil_mode = 1>(x) }",
    ),
    (18, "g (<T>[1, 2, 5, 5] x) => (z) { z = MaxPool<kernel_shape = [2, 2], dilations = [2, 2]>(x) }"),
    (
        18,
        "g (float[1, 1, 5, 5] x) => (z, i) { z, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2], storage_order = 1>(x) }",
    ),
    (
        18,
        "g (float[1, 2, 5, 5] x) => (z) { z = MaxPool<kernel_shape = [3, 3], auto_pad = \"SAME_LOWER\", strides = [2, 2]>(x) }",
    ),
    (
        18,
        "g (float[1, 2, 5, 5] x) => (z) { z = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x) }",
    ),
    (
        18,
        "g (float[1, 2, 5, 5] x) => (z) { z = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x) }",
    ),
    (
        19,
        "g (float[1, 2, 6, 6] x) => (z) { z = AveragePool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(x) }",
    ),
    (
        19,
        "g (float[1, 2, 6, 6] x) => (z) { z = AveragePool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1, count_include_pad = 1>(x) }",
    ),
    (19, "g (float[1, 2, 6, 6] x) => (z) { z = AveragePool<kernel_shape = [2, 2], dilations = [2, 2]>(x) }"),
    (18, "g (float[1, 2, 5, 5] x) => (z) { z = LpPool<kernel_shape = [2, 2], p = 3>(x) }"),
    (
        18,
        "g (<T>[1, 2, 5, 5] x, <T>[4, 1, 3, 3] w, <T>[4] b) => (z) { z = Conv<group = 2, dilations = [2, 1], pads = [1, 0, 1, 2]>(x, w, b) }",
    ),
    (
        18,
        "g (float[1, 2, 5, 5] x, float[2, 2, 2, 2] w) => (z) { z = Conv<auto_pad = \"SAME_LOWER\", strides = [2, 2]>(x, w) }",
    ),
    (
        18,
        "g (float[1, 2, 5, 5] x, float[2, 2, 2, 2] w) => (z) { z = Conv<auto_pad = \"VALID\", strides = [3, 2]>(x, w) }",
    ),
    (
        18,
        "g (float[1, 2, 3, 3] x, float[2, 1, 3, 3] w) => (z) { z = ConvTranspose<group = 2, strides = [2, 2], output_padding = [1, 1], pads = [1, 1, 1, 1]>(x, w) }",
    ),
    (
        18,
        "g (float[1, 2, 3, 3] x, float[2, 1, 3, 3] w) => (z) { z = ConvTranspose<strides = [3, 2], output_shape = [10, 8]>(x, w) }",
    ),
    (
        18,
        "g (float[1, 2, 3, 3] x, float[2, 1, 3, 3] w) => (z) { z = ConvTranspose<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w) }",
    ),
    (
        18,
        "g (float[1, 2, 3, 3] x, float[2, 1, 2, 2] w) => (z) { z = ConvTranspose<dilations = [2, 2]>(x, w) }",
    ),
    (
        9,
        "g (float[1, 1, 2, 2] x) => (z) <float[4] s = {1, 1, 2, 3}> { z = Upsample<mode = \"nearest\">(x, s) }",
    ),
    (
        10,
        "g (float[1, 1, 2, 2] x) => (z) <float[4] s = {1, 1, 2, 3}> { z = Resize<mode = \"linear\">(x, s) }",
    ),
    (
        13,
        "g (float[1, 1, 4, 4] x) => (z) <float[4] s = {1, 1, 0.6, 1.5}> { z = Resize<mode = \"linear\", coordinate_transformation_mode = \"align_corners\">(x, , s) }",
    ),
    (
        13,
        "g (float[1, 1, 4, 4] x) => (z) <float[4] s = {1, 1, 0.6, 1.5}> { z = Resize<mode = \"nearest\", nearest_mode = \"ceil\", coordinate_transformation_mode = \"asymmetric\">(x, , s) }",
    ),
    (
        13,
        "g (float[1, 1, 4, 4] x) => (z) <float[4] s = {1, 1, 0.6, 1.5}> { z = Resize<mode = \"cubic\", cubic_coeff_a = -0.5>(x, , s) }",
    ),
    (
        19,
        "g (float[1, 1, 4, 4] x) => (z) <float[4] s = {1, 1, 0.6, 0.5}> { z = Resize<mode = \"linear\", antialias = 1>(x, , s) }",
    ),
    // Quantisation: ties, saturation, axes.
    (13, "g (float[2, 4] x) => (z) <float s = {0.4}, uint8 p = {3}> { z = QuantizeLinear(x, s, p) }"),
    (
        13,
        "g (float[2, 4] x) => (z) <float[2] s = {0.5, 0.02}, int8[2] p = {3, -1}> { z = QuantizeLinear<axis = 0>(x, s, p) }",
    ),
    (13, "g (<T>[2, 4] x) => (z) <float s = {0.4}, <T> p = {3}> { z = DequantizeLinear(x, s, p) }"),
    (
        13,
        "g (int8[2, 4] x) => (z) <float[2] s = {0.5, 2.0}, int8[2] p = {3, -1}> { z = DequantizeLinear<axis = 0>(x, s, p) }",
    ),
    (11, "g (float[2, 4] x) => (y, s, p) { y, s, p = DynamicQuantizeLinear(x) }"),
    // Recurrence.
    (
        14,
        "g (float[3, 1, 2] x, float[1, 9, 2] w, float[1, 9, 3] r, float[1, 18] b) => (y, h) { y, h = GRU<hidden_size = 3, linear_before_reset = 1>(x, w, r, b) }",
    ),
    (
        14,
        "g (float[3, 1, 2] x, float[1, 9, 2] w, float[1, 9, 3] r) => (y, h) { y, h = GRU<hidden_size = 3, direction = \"reverse\">(x, w, r) }",
    ),
    (
        14,
        "g (float[3, 1, 2] x, float[1, 12, 2] w, float[1, 12, 3] r, float[1, 24] b, float[1, 9] p) => (y) { y = LSTM<hidden_size = 3>(x, w, r, b, , , , p) }",
    ),
    (
        14,
        "g (float[3, 1, 2] x, float[2, 12, 2] w, float[2, 12, 3] r) => (y, h, c) { y, h, c = LSTM<hidden_size = 3, direction = \"bidirectional\">(x, w, r) }",
    ),
    (
        14,
        "g (float[3, 1, 2] x, float[1, 12, 2] w, float[1, 12, 3] r) => (y, h, c) { y, h, c = LSTM<hidden_size = 3, clip = 0.1>(x, w, r) }",
    ),
    (
        14,
        "g (float[3, 1, 2] x, float[1, 12, 2] w, float[1, 12, 3] r) => (y, h, c) { y, h, c = LSTM<hidden_size = 3, input_forget = 1>(x, w, r) }",
    ),
    (
        14,
        "g (float[3, 2, 2] x, float[1, 3, 2] w, float[1, 3, 3] r) => (y) <int32[2] n = {3, 1}> { y = RNN<hidden_size = 3>(x, w, r, , n) }",
    ),
    (
        14,
        "g (float[3, 1, 2] x, float[1, 3, 2] w, float[1, 3, 3] r) => (y) { y = RNN<hidden_size = 3, activations = [\"Relu\"]>(x, w, r) }",
    ),
    // Control flow.
    (
        18,
        "g (bool c, float[2] x) => (z) { z = If<then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Exp(x) }>(c) }",
    ),
    (
        18,
        "g (float[2] x) => (z) <int64 n = {3}, bool go = {1}> { z = Loop<body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity(c) w = Add(v, v) }>(n, go, x) }",
    ),
    (
        18,
        "g (float[2] s, float[3, 2] x) => (f, y) { f, y = Scan<num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] t, float[2] u) { t = Add(a, e) u = Identity(t) }>(s, x) }",
    ),
    (
        18,
        "g (float[2] s, float[3, 2] x) => (f, y) { f, y = Scan<num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1], body = b (float[2] a, float[2] e) => (float[2] t, float[2] u) { t = Add(a, e) u = Identity(t) }>(s, x) }",
    ),
    // Regressions: graphs from the generator on which an engine differed.
    (18, "g (<T>[3, 1] x) => (z) <<T>[3, 2] y = {1, 2, 3, 2, 4, 5}> { z = Mod(x, y) }"),
    (18, "g (<T>[4] x) => (z) { z = Celu<alpha = 0.3>(x) }"),
    (24, "g (<T>[4] x) => (z) { z = Swish<alpha = 0.2>(x) }"),
    (2, "g (<T>[1, 2, 4, 3] x) => (z) { z = GlobalLpPool(x) }"),
    (28, "g (<T>[1, 2, 4, 4] x) => (z) { z = SpaceToDepth<blocksize = 2, mode = \"CRD\">(x) }"),
    (
        20,
        "g (float[1, 1, 3, 1] x) => (z) <float[1, 1, 2, 2] grid = {0.0, 1.5, 0.0, 0.8}> { z = GridSample<mode = \"cubic\", padding_mode = \"border\">(x, grid) }",
    ),
    (
        10,
        "g (<T>[1, 1, 4, 5] x) => (z) <float[4] s = {1.0, 1.0, 0.5, 0.6}> { z = Resize<mode = \"nearest\">(x, s) }",
    ),
    (
        13,
        "g (<T>[1, 1, 4, 5] x) => (z) <float[4] s = {1.0, 1.0, 0.75, 1.5}> { z = Resize<mode = \"linear\">(x, , s) }",
    ),
    (
        19,
        "g (<T>[1, 2, 4, 5] x) => (z) <int64[2] s = {3, 8}> { z = Resize<axes = [-1, 2], mode = \"linear\">(x, , , s) }",
    ),
    (
        19,
        "g (<T>[1, 2, 4, 5] x) => (z) <float[4] r = {0.1, 0.2, 0.7, 0.8}, int64[2] s = {3, 8}> { z = Resize<axes = [3, 2], coordinate_transformation_mode = \"tf_crop_and_resize\">(x, r, , s) }",
    ),
    (13, "g (<T>[2, 4] x) => (z) { z = ReduceLogSumExp<axes = [1]>(x) }"),
    (18, "g (<T>[2, 0] x) => (z) <int64[1] a = {1}> { z = ReduceMax(x, a) }"),
    (13, "g (<T>[2, 0] x) => (z) { z = ReduceMean<axes = [1]>(x) }"),
    (10, "g (<T>[2, 4] x) => (y, m) { y, m = Dropout(x) }"),
    (18, "g (string[3] x) => (z) <int64[4] i = {1, 1, -1, 0}> { z = Gather(x, i) }"),
    (20, "g (string[3] x) => (y, n) { y, n = StringSplit<delimiter = \",\">(x) }"),
    (18, "g (bool[2, 4] x) => (z) { z = Cast<to = 8>(x) }"),
    (
        18,
        "g (<T>[1, 1, 4] x, <T>[1, 1, 2] w) => (z) { z = ConvTranspose<strides = [3], auto_pad = \"SAME_UPPER\">(x, w) }",
    ),
    (
        18,
        "g (<T>[5] x) => (z) <int64[1] s = {-9}, int64[1] e = {-99}, int64[1] a = {0}, int64[1] k = {-1}> { z = Slice(x, s, e, a, k) }",
    ),
    (
        15,
        "g (<T>[1, 2, 3] x, <T>[2] s, <T>[2] b, float[2] m) => (z) <float[2] v = {1.0, 2.0}> { z = BatchNormalization(x, s, b, m, v) }",
    ),
];

/// A tensor of the port's type with small negative and positive numbers.
fn input(port: &Port) -> Option<AnyTensor> {
    let (dtype, shape) = (port.ty.dtype()?, port.ty.shape.as_deref()?);
    let shape: Vec<usize> = shape.iter().map(Dim::fixed).collect::<Option<_>>()?;
    let count = shape.iter().product::<usize>();
    let at = port.name.bytes().map(usize::from).sum::<usize>();
    let number = |index: usize| ((index * 5 + at) % 11) as f64 / 2.0 - 2.0;
    macro_rules! made {
        ($($name:ident => $ty:ty),*) => {
            match dtype {
                $(Dtype::$name => {
                    let elements: Vec<$ty> = (0..count).map(|index| number(index) as $ty).collect();
                    AnyTensor::from_vec(&shape, elements).ok()
                })*
                Dtype::Bool => {
                    AnyTensor::from_vec(&shape, (0..count).map(|index| number(index) > 0.6).collect::<Vec<bool>>()).ok()
                }
                // A cast from floats creates the other types.
                _ => None,
            }
        };
    }
    made!(
        F32 => f32, F64 => f64, I8 => i8, I16 => i16, I32 => i32, I64 => i64, U8 => u8, U16 => u16,
        U32 => u32, U64 => u64
    )
    .or_else(|| compare::cast(&AnyTensor::from_vec(&shape, (0..count).map(number).collect()).ok()?, dtype))
}

/// First word of the jobs; the rest is the index of the graph and an element type.
pub(crate) const JOB: &str = "graph";

/// Time limit of a graph, as for a recorded case.
const LIMIT: Duration = Duration::from_secs(60);

fn judge(engine: &Arc<dyn Engine>, text: &str) -> Verdict {
    let unasked = || Verdict::Unasked("the embedded backend does not run it".to_owned());
    let Ok(bytes) = typeloom_onnx::text::model_bytes(text) else { return unasked() };
    let Ok(mut checked) = typeloom_ops::check::check(&bytes, &Options::default()) else { return unasked() };
    let no_files = |_: &_| Err("no other files are read".to_owned());
    let Ok(session) = Session::of_checked(&mut checked, &no_files) else { return unasked() };
    if !checked.is_ok() {
        return unasked();
    }
    let mut inputs = HashMap::new();
    for port in session.inputs().iter().filter(|port| !port.has_default) {
        let Some(tensor) = input(port) else { return unasked() };
        inputs.insert(port.name.clone(), Value::Tensor(tensor));
    }
    let Ok(expected) = session.run(inputs.clone(), Verify::EveryValue) else { return unasked() };
    let ran = EngineSession::of_checked(Arc::clone(engine), &mut checked, &no_files, Verify::Inputs)
        .map_err(|error| error.to_string())
        .and_then(|session| session.run(inputs).map_err(|error| error.to_string()));
    let found = match ran {
        Ok(found) => found,
        Err(error) => return Verdict::Refused(error),
    };
    let pairs = found.outputs.iter().zip(&expected.outputs);
    // Narrow floats are rounded at different steps.
    let is_narrow = text.contains("float16") || text.contains("Cast<to = 10>");
    let tolerance = if is_narrow { (2e-2, 2e-2) } else { (1e-3, 1e-5) };
    let mut differences = pairs.filter_map(|((name, found), (_, expected))| {
        Some(format!("`{name}`: {}", compare::values(found, expected, tolerance)?))
    });
    differences.next().map_or(Verdict::Same, Verdict::Wrong)
}

/// A graph of the list for one element type.
fn text(at: usize, ty: &str) -> Option<String> {
    let (version, graph) = GRAPHS.get(at)?;
    Some(format!("<ir_version: 8, opset_import: [\"\" : {version}]> {}", graph.replace("<T>", ty)))
}

/// Verdict of a worker on a graph.
pub(crate) fn answer(engine: &Arc<dyn Engine>, job: &str) -> Verdict {
    let (at, ty) = job.split_once(' ').unwrap_or((job, ""));
    match at.parse().ok().and_then(|at| text(at, ty)) {
        Some(text) => judge(engine, &text),
        None => Verdict::Wrong("there is no such graph".to_owned()),
    }
}

/// Runs all graphs on all element types.
///
/// # Errors
/// If the engine's results differ from those of the embedded backend, or almost nothing is compared.
pub(crate) fn run(engine: &str, worker: &mut Worker) -> Result<(), String> {
    let (mut same, mut refused, mut unasked, mut differing) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut silent = Vec::new();
    for (at, (version, graph)) in GRAPHS.iter().enumerate() {
        let types: &[&str] = if graph.contains("<T>") { TYPES } else { &[""] };
        let unasked_before = unasked;
        for ty in types {
            match worker.ask(&format!("{JOB} {at} {ty}"), LIMIT) {
                Verdict::Unasked(_) => unasked += 1,
                Verdict::Same => same += 1,
                Verdict::Refused(why) => {
                    refused += 1;
                    println!("refused  {why}");
                }
                Verdict::Wrong(why) | Verdict::Lost(why) => {
                    println!("DIFFERS  {} (version {version}): {why}", graph.replace("<T>", ty));
                    differing += 1;
                }
            }
        }
        if unasked - unasked_before == types.len() {
            println!("not asked  {graph}");
            silent.push(*graph);
        }
    }
    println!(
        "\n{engine}: {same} graphs the same, {refused} refused, {unasked} not asked, {differing} different"
    );
    if differing > 0 {
        return Err(format!("{differing} graphs differ"));
    }
    if !silent.is_empty() {
        return Err(format!("nothing was compared on {} graphs", silent.len()));
    }
    if same < 200 {
        return Err(format!("only {same} graphs were compared"));
    }
    Ok(())
}
