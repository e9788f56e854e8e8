//! Operators of ONNX Runtime (`com.microsoft`) whose types the description language cannot express.
//!
//! `data/com.microsoft.txt` describes most operators. These rules run in addition: windows over layouts with
//! the channels last, and element types that depend on attributes and on the presence of inputs. The source
//! of each rule is the operator's schema in the pinned package and the recorded types in
//! `tests/runtime_shapes/contrib.txt`.

use smallvec::SmallVec;
use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extent, Port, Rule, RuleCx, RuleError, RuleResult};

use super::common::{MAX_AXES, require_at_most, require_single, unknown_extent};
use super::concat::concat_ports;
use super::convolution::{CONV_WINDOWS, DYNAMIC_PADS};
use super::matrix::{Operand, Side, contract_axes, operand, parameter};
use super::normalization::{LAYER_SCALE, LAYER_STATISTICS};
use super::sliding::{self, Rounding, Windows};
use super::{Entry, rule};

const DOMAIN: &str = "com.microsoft";

/// Source: NhwcConv, NhwcFusedConv, `X` and `W`.
const CONV_LAST: Rule =
    Rule { name: "nhwcconv.windows", run: |cx| windows_last(cx, Some((In(1), ChannelAxis::Last))) };

/// Source: QLinearAveragePool, `channels_last`.
const QLINEAR_POOL: Rule = Rule {
    name: "qlinearaveragepool.channels_last",
    run: |cx| if cx.attr_flag("channels_last")? { windows_last(cx, None) } else { Ok(()) },
};

/// Source: FusedMatMul, `transA`, `transBatchA`; an operand of rank 1 is a row or a column.
const MATMUL: Rule = Rule { name: "fusedmatmul.contract", run: fused_matmul };

/// Source: DynamicQuantizeMatMul, `b_zero_point`.
const DYNAMIC_ZERO_POINT: Rule =
    Rule { name: "dynamicquantizematmul.zero_point", run: |cx| column_zero_point(cx, In(3)) };

/// Source: MatMulIntegerToFloat, `b_zero_point`.
const FLOAT_ZERO_POINT: Rule =
    Rule { name: "matmulintegertofloat.zero_point", run: |cx| column_zero_point(cx, In(5)) };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("ConvTransposeWithDynamicPads", &[DYNAMIC_PADS]).in_domain(DOMAIN),
    Entry::of("DynamicQuantizeMatMul", &[DYNAMIC_ZERO_POINT]).in_domain(DOMAIN),
    Entry::of("FusedMatMul FusedMatMulActivation TransposeMatMul", &[MATMUL]).in_domain(DOMAIN),
    Entry::of("GatherBlockQuantized", &[rule("gatherblockquantized.axis", gather)]).in_domain(DOMAIN),
    // Source: GridSample, `Y`.
    Entry::of("GridSample", &[rule("gridsample.elem", |cx| cx.same_elem(In(0), Out(0)))]).in_domain(DOMAIN),
    Entry::of("GroupQueryAttention", &[rule("groupqueryattention.cache", cache)]).in_domain(DOMAIN),
    Entry::of("LinearAttention", &[rule("linearattention.state", state)]).in_domain(DOMAIN),
    Entry::of("MatMulInteger16", &[rule("matmulinteger16.elem", integer16)]).in_domain(DOMAIN),
    Entry::of("MatMulIntegerToFloat", &[FLOAT_ZERO_POINT]).in_domain(DOMAIN),
    Entry::of("MurmurHash3", &[rule("murmurhash3.elem", hash)]).in_domain(DOMAIN),
    Entry::of("NhwcConv NhwcFusedConv", &[CONV_LAST]).in_domain(DOMAIN),
    // Source: NhwcMaxPool, `kernel_shape`.
    Entry::of("NhwcMaxPool", &[rule("nhwcmaxpool.windows", |cx| windows_last(cx, None))]).in_domain(DOMAIN),
    Entry::of("QGemm", &[rule("qgemm.elem", qgemm)]).in_domain(DOMAIN),
    Entry::of("QLinearAveragePool", &[QLINEAR_POOL]).in_domain(DOMAIN),
    Entry::of("QLinearConcat", &[rule("qlinearconcat.axis", qlinear_concat)]).in_domain(DOMAIN),
    Entry::of("QLinearConv", &[rule("qlinearconv.channels_last", qlinear_conv)]).in_domain(DOMAIN),
    Entry::of("UnfoldTensor", &[rule("unfoldtensor.windows", unfold)]).in_domain(DOMAIN),
    Entry::of("Conv", &[CONV_WINDOWS]).in_domain("com.microsoft.nchwc"),
    Entry::of("SimplifiedLayerNormalization", &[LAYER_SCALE, LAYER_STATISTICS]),
];

/// Source: LinearAttention, `present_state`: without an input state, it has the element type of the data.
fn state(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    if cx.has(In(3)) { Ok(()) } else { cx.same_elem(In(0), Out(1)) }
}

/// Source: GroupQueryAttention, `k_quant_type`, `kv_cache_bit_width`: only a quantised cache has a separate
/// element type.
fn cache(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let is_plain =
        !cx.has_attr("kv_cache_bit_width")? && matches!(cx.attr_str("k_quant_type")?, None | Some("NONE"));
    if is_plain { cx.same_elem(In(0), Out(1)) } else { Ok(()) }
}

/// Source: MatMulInteger16, `Y`: products of signed numbers are signed.
fn integer16(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    match (cx.elem(In(0)), cx.elem(In(1))) {
        (Some(Elem::INT16), Some(Elem::INT16)) => cx.set_elem(Out(0), Elem::INT32),
        (Some(Elem::UINT16), Some(Elem::UINT16)) => cx.set_elem(Out(0), Elem::UINT32),
        (_, _) => Ok(()),
    }
}

/// Source: QGemm, `y_scale`, `y_zero_point`: without them, the product is a float.
fn qgemm(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    if cx.has(In(8)) { cx.same_elem(In(8), Out(0)) } else { cx.set_elem(Out(0), Elem::FLOAT) }
}

/// Source: MurmurHash3, `positive`.
fn hash(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let is_positive = cx.attr_int("positive")?.unwrap_or(1) != 0;
    cx.set_elem(Out(0), if is_positive { Elem::UINT32 } else { Elem::INT32 })
}

/// Source: QLinearConv, `channels_last`.
fn qlinear_conv(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let weights = Some((In(3), ChannelAxis::Second));
    if cx.attr_flag("channels_last")? { windows_last(cx, weights) } else { Ok(()) }
}

/// Source: QLinearConcat, `axis`; the inputs are a scale, a zero point and triples that start with a tensor.
fn qlinear_concat(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let tensors: Vec<Port> = (2..cx.input_count()).step_by(3).map(In).collect();
    let mut parameters = (2..cx.input_count()).filter(|at| at % 3 != 2).map(In);
    parameters.try_for_each(|port| require_single(cx, port))?;
    concat_ports(cx, &tensors)
}

/// The axis of weights that has the channels of the data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChannelAxis {
    /// As in `Conv`.
    Second,
    Last,
}

/// Windows over data with the channels on the last axis.
fn windows_last(cx: &mut RuleCx<'_, '_>, weights: Option<(Port, ChannelAxis)>) -> RuleResult {
    let Some(input) = cx.shape_of_rank(In(0), 3..=MAX_AXES)? else { return Ok(()) };
    let spatial = input.len() - 2;
    let windows = Windows::read(cx, spatial)?;
    let channels: Extent = (In(0), spatial + 1, input[spatial + 1]).into();
    let (kernel, channels): (Option<SmallVec<[DimId; 6]>>, Option<DimId>) = match weights {
        None => (sliding::kernel_dims(cx, spatial)?, Some(channels.dim)),
        Some((weights, axis)) => match cx.shape_of_rank(weights, input.len()..=input.len())? {
            Some(shape) => {
                let (of_group, kernel) = match axis {
                    ChannelAxis::Second => (shape[1], 2..),
                    ChannelAxis::Last => (shape[spatial + 1], 1..),
                };
                let kernel = shape[kernel].iter().take(spatial).copied().collect();
                let group = cx.attr_int("group")?.unwrap_or(1);
                let of_all = cx.scaled(of_group, group);
                let relation = "are the channels of the input and of the weights";
                cx.require_equal(channels, (weights, of_all), relation)?;
                (Some(kernel), Some(shape[0]))
            }
            None => (None, None),
        },
    };
    let rounding = if cx.attr_flag("ceil_mode")? { Rounding::Up } else { Rounding::Down };
    let mut shape: DimVec = [input[0]].into_iter().collect();
    for axis in 0..spatial {
        let positions = match &kernel {
            Some(kernel) => {
                let extent = (In(0), axis + 1, input[axis + 1]).into();
                windows.positions(cx, axis, extent, kernel[axis], rounding)?
            }
            None => None,
        };
        shape.push(positions.unwrap_or_else(|| unknown_extent(cx, Out(0), axis + 1)));
    }
    shape.push(channels.unwrap_or_else(|| unknown_extent(cx, Out(0), spatial + 1)));
    cx.set_shape(Out(0), &shape)
}

/// The axes of an operand in the order of a product, each with its extent: batch axes, rows, columns.
fn flipped(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    [transposed, batch_transposed]: [&str; 2],
) -> RuleResult<Option<Operand>> {
    let Some(mut axes) = operand(cx, port)? else { return Ok(None) };
    let rank = axes.len();
    if rank > 1 {
        if cx.attr_flag(batch_transposed)? {
            // Moves the first axis before the last one.
            axes[..rank - 1].rotate_left(1);
        }
        if cx.attr_flag(transposed)? {
            axes.swap(rank - 2, rank - 1);
        }
    }
    Ok(Some(axes))
}

fn fused_matmul(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let left = flipped(cx, In(0), ["transA", "transBatchA"])?;
    let right = flipped(cx, In(1), ["transB", "transBatchB"])?;
    contract_axes(cx, left, right)
}

/// As `Gather`; several numbers of fewer than 8 bits share a byte along the last axis.
/// Source: GatherBlockQuantized, `output`, `bits`.
fn gather(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 2..)?;
    let (Some(mut data), Some(elem)) = (cx.shape(In(0)), cx.elem(In(0))) else { return Ok(()) };
    let axis = cx.axis_attr(In(0), "gather_axis", 0, data.len())?;
    let bits = cx.attr_int("bits")?.unwrap_or(4);
    if ![2, 4, 8].contains(&bits) {
        return Err(RuleError::attribute("bits", format!("is {bits}, but must be 2, 4 or 8")));
    }
    if elem == Elem::UINT8
        && let Some(last) = data.last_mut()
    {
        *last = cx.scaled(*last, 8 / bits);
    }
    if let Some(indices) = cx.shape(In(1)) {
        let shape: DimVec = data[..axis].iter().chain(&indices).chain(&data[axis + 1..]).copied().collect();
        cx.set_shape(Out(0), &shape)?;
    }
    let per_byte = if elem == Elem::UINT8 { 8 / bits } else { 1 };
    gathered_blocks(cx, &data, per_byte)
}

/// A scale for each block along an axis of the data, and zero points as many; several of these share a byte
/// along the last axis. Source: GatherBlockQuantized, `scales`, `zero_points`, `block_size`, `quantize_axis`.
fn gathered_blocks(cx: &mut RuleCx<'_, '_>, data: &[DimId], per_byte: i64) -> RuleResult {
    let rank = data.len();
    let axis = cx.axis_attr(In(0), "quantize_axis", 1, rank)?;
    let block = cx.attr_at_least("block_size", 128, 1)?;
    let (block, per_byte) = (cx.dims().constant(block), cx.dims().constant(per_byte));
    let mut scales = DimVec::from_slice(data);
    scales[axis] = cx.dims().ceil_div(data[axis], block);
    let mut zero_points = scales.clone();
    zero_points[rank - 1] = cx.dims().ceil_div(scales[rank - 1], per_byte);
    for (port, needed) in [(In(2), scales), (In(3), zero_points)] {
        let Some(given) = cx.shape_of_rank(port, rank..=rank)? else { continue };
        for (at, (given, needed)) in given.iter().zip(needed).enumerate() {
            cx.require_equal((port, at, *given), (In(0), needed), "are the blocks of the data")?;
        }
    }
    Ok(())
}

/// Zero points of the second operand are those of MatMulInteger.
fn column_zero_point(cx: &mut RuleCx<'_, '_>, port: Port) -> RuleResult {
    parameter(cx, port, In(1), Side::Columns)
}

/// The axis becomes the positions of the window, whose elements are a new last axis.
/// Source: UnfoldTensor, `dim`, `size`, `step`.
fn unfold(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(mut shape) = cx.shape_of_rank(In(0), 1..)? else { return Ok(()) };
    let axis = cx.axis_attr(In(0), "dim", -1, shape.len())?;
    if cx.attr_int("size")?.is_none() {
        return Ok(());
    }
    let (size, step) = (cx.attr_at_least("size", 1, 1)?, cx.attr_at_least("step", 1, 1)?);
    let (size, step) = (cx.dims().constant(size), cx.dims().constant(step));
    let relation = "are the window and the axis that it slides along";
    require_at_most(cx, (In(0), size), (In(0), axis, shape[axis]), relation)?;
    let slack = cx.dims().sub(shape[axis], size);
    let steps = cx.dims().floor_div(slack, step);
    shape[axis] = cx.dims().add(steps, DimId::ONE);
    shape.push(size);
    cx.set_shape(Out(0), &shape)
}
