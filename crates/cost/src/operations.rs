//! The arithmetic of each operator: where a formula for a new operator is added.
//!
//! A formula follows the definition of the operator in the ONNX specification. Counted are
//!
//! - *multiply-accumulates* of products, convolutions, recurrent cells and attention: pairs of one
//!   multiplication and one addition, as in the inner loop of a product;
//! - *other operations*: one for each addition, multiplication, division, comparison, maximum, rounding, or
//!   evaluation of an elementary function (`exp`, `sqrt`, `erf`, ...), of any element type.
//!
//! A floating-point operation (FLOP) is one of the latter, or half of a multiply-accumulate. Copies, casts
//! and computations of indices count nothing. A Softmax of `n` elements so has `5*n`: maximum, difference,
//! exponential, sum, quotient.
//!
//! An operator without a formula is `None`, and the caller reports it.

mod attention;
mod node;
mod products;

use typeloom_dim::DimId;

use crate::amount::Amount;

pub(crate) use node::Node;

/// The work of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operations {
    pub(crate) macs: Amount,
    /// Without those of multiply-accumulates.
    pub(crate) other: Amount,
}

/// Operators that copy, cast or select elements, or only compute shapes.
const WITHOUT_ARITHMETIC: &[&str] = &[
    "BitCast",
    "Cast",
    "CastLike",
    "CenterCropPad",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "Expand",
    "ExpandDims",
    "EyeLike",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "OneHot",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "Pad",
    "Reshape",
    "ReverseSequence",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Squeeze",
    "TensorScatter",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
];

/// Operations for each element of the result.
const PER_RESULT: &[(&str, i128)] = &[
    ("Abs", 1),
    ("Acos", 1),
    ("Acosh", 1),
    ("Add", 1),
    ("And", 1),
    ("Asin", 1),
    ("Asinh", 1),
    ("Atan", 1),
    ("Atanh", 1),
    ("BatchNormalization", 4),
    ("Bernoulli", 1),
    ("BiasGelu", 6),
    ("BitShift", 1),
    ("BitwiseAnd", 1),
    ("BitwiseNot", 1),
    ("BitwiseOr", 1),
    ("BitwiseXor", 1),
    ("Ceil", 1),
    ("Celu", 7),
    ("Clip", 2),
    ("Cos", 1),
    ("Cosh", 1),
    ("Div", 1),
    ("Dropout", 0),
    ("Elu", 4),
    ("Equal", 1),
    ("Erf", 1),
    ("Exp", 1),
    ("FastGelu", 9),
    ("Floor", 1),
    ("Gelu", 5),
    ("Greater", 1),
    ("GreaterOrEqual", 1),
    ("HardSigmoid", 4),
    ("HardSwish", 5),
    ("IsInf", 1),
    ("IsNaN", 1),
    ("LeakyRelu", 2),
    ("Less", 1),
    ("LessOrEqual", 1),
    ("Log", 1),
    ("Mish", 5),
    ("Mod", 1),
    ("Mul", 1),
    ("Neg", 1),
    ("Not", 1),
    ("Or", 1),
    ("PRelu", 2),
    ("Pow", 1),
    ("QuickGelu", 6),
    ("RandomNormal", 1),
    ("RandomNormalLike", 1),
    ("RandomUniform", 1),
    ("RandomUniformLike", 1),
    ("Range", 2),
    ("Reciprocal", 1),
    ("Relu", 1),
    ("RotaryEmbedding", 3),
    ("Round", 1),
    ("Selu", 5),
    ("Shrink", 2),
    ("Sigmoid", 4),
    ("Sign", 1),
    ("Sin", 1),
    ("Sinh", 1),
    ("Softplus", 3),
    ("Softsign", 3),
    ("Sqrt", 1),
    ("Sub", 1),
    ("SwiGLU", 6),
    ("Swish", 6),
    ("Tan", 1),
    ("Tanh", 1),
    ("ThresholdedRelu", 1),
    ("Where", 1),
    ("Xor", 1),
];

/// Operations for each element of the first input, and for each element of the result.
const PER_INPUT: &[(&str, i128, i128)] = &[
    ("ArgMax", 1, 0),
    ("ArgMin", 1, 0),
    ("CumProd", 1, 0),
    ("CumSum", 1, 0),
    ("DynamicQuantizeLinear", 6, 0),
    ("GlobalAveragePool", 1, 1),
    ("GlobalLpPool", 2, 1),
    ("GlobalMaxPool", 1, 0),
    ("GroupNormalization", 7, 0),
    ("Hardmax", 1, 0),
    ("InstanceNormalization", 7, 0),
    ("LayerNormalization", 7, 0),
    ("LogSoftmax", 5, 0),
    ("LpNormalization", 3, 0),
    ("MeanVarianceNormalization", 6, 0),
    ("NonZero", 1, 0),
    ("QuantizeLinear", 4, 0),
    ("RMSNormalization", 4, 0),
    ("ReduceL1", 2, 0),
    ("ReduceL2", 2, 1),
    ("ReduceLogSum", 1, 1),
    ("ReduceLogSumExp", 2, 1),
    ("ReduceMax", 1, 0),
    ("ReduceMean", 1, 1),
    ("ReduceMin", 1, 0),
    ("ReduceProd", 1, 0),
    ("ReduceSum", 1, 0),
    ("ReduceSumSquare", 2, 0),
    ("SimplifiedLayerNormalization", 4, 0),
    ("SkipLayerNormalization", 8, 0),
    ("SkipSimplifiedLayerNormalization", 5, 0),
    ("Softmax", 5, 0),
];

/// The work of a node of ONNX or of ONNX Runtime; `None` if there is no formula, or an extent that it needs
/// has no known rank.
pub(crate) fn operations(node: &mut Node<'_, '_>) -> Option<Operations> {
    if !matches!(node.domain, "" | "com.microsoft") {
        return None;
    }
    let name = node.name;
    if WITHOUT_ARITHMETIC.binary_search(&name).is_ok() {
        return Some(Operations::default());
    }
    if let Ok(at) = PER_RESULT.binary_search_by_key(&name, |(name, _)| name) {
        return node.result_count().map(|count| other(count.scaled(PER_RESULT[at].1)));
    }
    if let Ok(at) = PER_INPUT.binary_search_by_key(&name, |(name, ..)| name) {
        let (_, of_input, of_result) = PER_INPUT[at];
        let mut count = node.input_count(0)?.scaled(of_input);
        if of_result > 0 {
            count.add(&node.result_count()?, of_result);
        }
        return Some(other(count));
    }
    match name {
        // Elementwise.
        "Max" | "Min" | "Sum" => {
            let count = node.result_count()?;
            Some(other(count.scaled((node.input_total() - 1).max(0))))
        }
        "Mean" => node.result_count().map(|count| other(count.scaled(node.input_total()))),
        "DequantizeLinear" => {
            let has_zero = node.has_input(2);
            node.result_count().map(|count| other(count.scaled(if has_zero { 2 } else { 1 })))
        }
        // Windows.
        "AveragePool" | "MaxPool" | "LpPool" => pooling(node),
        "LRN" => {
            let size = node.int("size", None)?;
            node.result_count().map(|count| other(count.scaled(2 * i128::from(size) + 4)))
        }
        "Resize" | "Upsample" => resize(node),
        // Products.
        "Conv" | "FusedConv" => products::convolution(node, 1, Some(2)),
        "ConvInteger" => products::convolution(node, 1, None),
        "QLinearConv" => products::quantized(node, |node| products::convolution(node, 3, Some(8))),
        "ConvTranspose" => products::transposed_convolution(node),
        "Gemm" | "FusedGemm" => products::gemm(node),
        "MatMul" | "MatMulInteger" | "MatMulIntegerToFloat" | "MatMulNBits" => products::matmul(node),
        "FusedMatMul" => products::fused_matmul(node),
        "QLinearMatMul" => products::quantized(node, products::matmul),
        "Einsum" => products::einsum(node),
        "RNN" | "GRU" | "LSTM" => products::recurrent(node),
        // Attention.
        "Attention" if node.domain.is_empty() => attention::attention(node),
        "MultiHeadAttention" => attention::multi_head(node),
        "GroupQueryAttention" => attention::grouped(node),
        _ => None,
    }
}

fn other(other: Amount) -> Operations {
    Operations { macs: Amount::default(), other }
}

/// `k` operations for each result of a window of `k` elements: sums and a quotient, or comparisons.
fn pooling(node: &mut Node<'_, '_>) -> Option<Operations> {
    let window = node
        .ints("kernel_shape")?
        .into_iter()
        .try_fold(1_i128, |product, extent| product.checked_mul(i128::from(extent)))?;
    let each = match node.name {
        "MaxPool" => window - 1,
        "LpPool" => 2 * window,
        _ => window,
    };
    let count = node.output_count(0)?;
    Some(other(count.scaled(each)))
}

/// A weighted sum of 2 neighbours (4 for `cubic`) along each axis that changes.
fn resize(node: &mut Node<'_, '_>) -> Option<Operations> {
    let neighbours: i128 = match node.text("mode")?.unwrap_or(b"nearest") {
        b"nearest" => return Some(Operations::default()),
        b"linear" => 2,
        b"cubic" => 4,
        _ => return None,
    };
    let (from, to): (Vec<DimId>, Vec<DimId>) = (node.input(0)?.to_vec(), node.output(0)?.to_vec());
    let axes = from.iter().zip(&to).filter(|(from, to)| from != to).count();
    let weights = neighbours.checked_pow(u32::try_from(axes).ok()?)?;
    node.output_count(0).map(|count| other(count.scaled(2 * weights)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_name_each_operator_once() {
        let names = || {
            let moves = WITHOUT_ARITHMETIC.iter().copied();
            moves.chain(PER_RESULT.iter().map(|it| it.0)).chain(PER_INPUT.iter().map(|it| it.0))
        };
        assert!(WITHOUT_ARITHMETIC.is_sorted());
        assert!(PER_RESULT.is_sorted_by_key(|it| it.0));
        assert!(PER_INPUT.is_sorted_by_key(|it| it.0));
        let unique: std::collections::BTreeSet<&str> = names().collect();
        assert_eq!(unique.len(), names().count());
    }
}
