//! Convolutions: Conv and its quantised forms, ConvTranspose, DeformConv.
//!
//! The input is `[N, C, D1, ..., Dn]`, the weights are `[M, C / group, k1, ..., kn]` (for ConvTranspose `[C,
//! M / group, k1, ..., kn]`), the output is `[N, M, O1, ..., On]`. [`super::sliding`] computes the spatial
//! extents.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extent, Port, Rule, RuleCx, RuleError, RuleResult};

use super::common::{MAX_AXES, require_single, unknown_extent};
use super::sliding::{self, Rounding, Windows};
use super::{Entry, rule};

mod deform;
#[cfg(test)]
mod tests;
mod transpose;

pub(super) use transpose::DYNAMIC_PADS;

/// The input ports of a convolution.
#[derive(Clone, Copy)]
struct Ports {
    input: Port,
    weights: Port,
    bias: Option<Port>,
}

const PLAIN: Ports = Ports { input: In(0), weights: In(1), bias: Some(In(2)) };
/// The windows of a convolution with weights in a blocked channel layout.
pub(super) const CONV_WINDOWS: Rule = Rule { name: "nchwc.windows", run: |cx| convolve(cx, PLAIN) };
/// The inputs of ConvInteger after the weights are zero points.
const INTEGER: Ports = Ports { bias: None, ..PLAIN };
const QLINEAR: Ports = Ports { input: In(0), weights: In(3), bias: Some(In(8)) };

/// The number of window positions is the spatial extent of the output. Source: Conv, `auto_pad`,
/// `kernel_shape`, `pads`.
const CONV: Rule = Rule { name: "conv.windows", run: |cx| convolve(cx, PLAIN) };
/// One number per output channel. Source: Conv, `B`.
const CONV_BIAS: Rule = Rule { name: "conv.bias", run: |cx| bias(cx, PLAIN) };
/// The attribute equals the extents of the weights. Source: Conv, `kernel_shape`.
const CONV_KERNEL: Rule = Rule { name: "conv.kernel", run: |cx| kernel(cx, PLAIN) };

/// As Conv. Source: ConvInteger, `auto_pad`, `kernel_shape`, `pads`.
const CONV_INTEGER: Rule = Rule { name: "convinteger.windows", run: |cx| convolve(cx, INTEGER) };
/// As Conv. Source: ConvInteger, `w`, `group`.
const CONV_INTEGER_CHANNELS: Rule = Rule { name: "convinteger.channels", run: |cx| channels(cx, INTEGER) };
/// As Conv. Source: ConvInteger, `kernel_shape`.
const CONV_INTEGER_KERNEL: Rule = Rule { name: "convinteger.kernel", run: |cx| kernel(cx, INTEGER) };

/// As Conv, on the quantised tensors among the inputs. Source: QLinearConv, `auto_pad`, `kernel_shape`,
/// `pads`.
const QLINEAR_CONV: Rule = Rule { name: "qlinearconv.windows", run: |cx| convolve(cx, QLINEAR) };
/// As Conv. Source: QLinearConv, `w`, `group`.
const QLINEAR_CONV_CHANNELS: Rule = Rule { name: "qlinearconv.channels", run: |cx| channels(cx, QLINEAR) };
/// As Conv. Source: QLinearConv, `B`.
const QLINEAR_CONV_BIAS: Rule = Rule { name: "qlinearconv.bias", run: |cx| bias(cx, QLINEAR) };
/// As Conv. Source: QLinearConv, `kernel_shape`.
const QLINEAR_CONV_KERNEL: Rule = Rule { name: "qlinearconv.kernel", run: |cx| kernel(cx, QLINEAR) };

/// The weights have one zero point, or one per output channel. Source: ConvInteger, `x_zero_point`,
/// `w_zero_point`.
const CONV_INTEGER_ZERO_POINTS: Rule = Rule {
    name: "convinteger.zero_points",
    run: |cx| {
        require_single(cx, In(2))?;
        single_or_per_channel(cx, In(3), In(1))
    },
};

/// Each tensor has one scale and zero point; the weights may have one per output channel. Source:
/// QLinearConv, `x_scale` to `y_zero_point`.
const QLINEAR_CONV_SCALES: Rule = Rule {
    name: "qlinearconv.scales",
    run: |cx| {
        [In(1), In(2), In(6), In(7)].into_iter().try_for_each(|port| require_single(cx, port))?;
        [In(4), In(5)].into_iter().try_for_each(|port| single_or_per_channel(cx, port, In(3)))
    },
};

pub(super) const OPERATORS: &[Entry] = &[
    // The input has the channels of the weights for all groups. Source: Conv, `W`, `group`.
    Entry::of("Conv", &[CONV, rule("conv.channels", |cx| channels(cx, PLAIN)), CONV_BIAS, CONV_KERNEL]),
    Entry::of(
        "ConvInteger",
        &[CONV_INTEGER, CONV_INTEGER_CHANNELS, CONV_INTEGER_KERNEL, CONV_INTEGER_ZERO_POINTS],
    ),
    Entry::of("ConvTranspose", transpose::RULES),
    Entry::of("DeformConv", deform::RULES),
    Entry::of(
        "QLinearConv",
        &[QLINEAR_CONV, QLINEAR_CONV_CHANNELS, QLINEAR_CONV_BIAS, QLINEAR_CONV_KERNEL, QLINEAR_CONV_SCALES],
    ),
];

fn convolve(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult {
    let Some(spatial) = spatial_axes(cx, ports)? else { return Ok(()) };
    let windows = Windows::read(cx, spatial)?;
    let kernel = sliding::kernel(cx, ports.weights, spatial)?;
    let channels = match (cx.shape(ports.weights), ports.bias.and_then(|bias| cx.shape(bias))) {
        (Some(weights), _) => Some(weights[0]),
        (None, Some(bias)) => bias.first().copied(),
        (None, None) => None,
    };
    let mut shape = leading(cx, ports, channels);
    shape.extend(windows.extents(cx, ports.input, kernel.as_deref(), Rounding::Down)?);
    cx.set_shape(Out(0), &shape)
}

/// Number of spatial axes of the input, the weights and `kernel_shape`, which must agree.
fn spatial_axes(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult<Option<usize>> {
    let input = cx.require_rank(ports.input, 3..)?;
    let weights = cx.require_rank(ports.weights, 3..)?;
    if let (Some(input), Some(weights)) = (input, weights)
        && input != weights
    {
        let message =
            format!("the input has {} spatial axes and the weight tensor has {}", input - 2, weights - 2);
        return Err(RuleError::shapes(&[ports.input, ports.weights], message));
    }
    let rank = match input.or(weights) {
        Some(rank) => Some(rank),
        None => cx.attr_numbers("kernel_shape")?.map(|kernel| kernel.len() + 2),
    };
    Ok(rank.filter(|rank| (3..=MAX_AXES).contains(rank)).map(|rank| rank - 2))
}

fn channels(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult {
    let group = group(cx)?;
    let Some(weights) = cx.shape(ports.weights) else { return Ok(()) };
    if let Some(input) = cx.shape(ports.input) {
        let of_group: Extent = (ports.weights, 1, weights[1]).into();
        let of_all =
            if group == 1 { of_group } else { (ports.weights, cx.scaled(of_group.dim, group)).into() };
        let relation = "are the channels of the input and those of the weights for all groups";
        cx.require_equal((ports.input, 1, input[1]), of_all, relation)?;
    }
    divides(cx, "group", group, weights[0], "output")
}

/// The attribute `group`.
fn group(cx: &RuleCx<'_, '_>) -> RuleResult<i64> {
    cx.attr_at_least("group", 1, 1)
}

/// Requires the number of groups in an attribute to divide a number of channels.
fn divides(
    cx: &mut RuleCx<'_, '_>,
    name: &'static str,
    groups: i64,
    channels: DimId,
    which: &str,
) -> RuleResult {
    match cx.const_dim(channels) {
        Some(channels) if channels.checked_rem(groups) != Some(0) => {
            let message = format!("is {groups}, which does not divide the {channels} {which} channels");
            Err(RuleError::attribute(name, message))
        }
        Some(_) | None => Ok(()),
    }
}

fn bias(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult {
    let channels = cx.shape(ports.weights).map(|weights| (ports.weights, 0, weights[0]).into());
    bias_fits(cx, ports, channels)
}

/// Requires the bias to be a vector with one element per output channel.
fn bias_fits(cx: &mut RuleCx<'_, '_>, ports: Ports, channels: Option<Extent>) -> RuleResult {
    let Some(bias) = ports.bias else { return Ok(()) };
    cx.require_rank(bias, 1..=1)?;
    if let (Some(shape), Some(channels)) = (cx.shape(bias), channels) {
        cx.require_equal((bias, 0, shape[0]), channels, "are the output channels")?;
    }
    Ok(())
}

/// Requires the spatial axes of the weights to have the extents of `kernel_shape`.
fn kernel(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult {
    let Some(weights) = cx.shape(ports.weights) else { return Ok(()) };
    let Some(given) = sliding::kernel_shape(cx, weights.len().saturating_sub(2))? else { return Ok(()) };
    for ((axis, dim), given) in weights.iter().enumerate().skip(2).zip(given) {
        let given = cx.dims().constant(given);
        cx.require_equal(
            (ports.weights, axis, *dim),
            given,
            "is an extent of the kernel, given by `kernel_shape`",
        )?;
    }
    Ok(())
}

/// Requires a tensor to have one element, or one per output channel.
fn single_or_per_channel(cx: &mut RuleCx<'_, '_>, port: Port, weights: Port) -> RuleResult {
    cx.require_rank(port, ..=1)?;
    let (Some(shape), Some(weights_shape)) = (cx.shape(port), cx.shape(weights)) else { return Ok(()) };
    let ([len], [channels, ..]) = (&shape[..], &weights_shape[..]) else { return Ok(()) };
    if cx.const_dim(*len).is_some_and(|len| len != 1) {
        cx.require_equal((port, 0, *len), (weights, 0, *channels), "are the output channels")?;
    }
    Ok(())
}

/// Batch and channel extents of the output.
fn leading(cx: &mut RuleCx<'_, '_>, ports: Ports, channels: Option<DimId>) -> DimVec {
    let batch = cx.shape(ports.input).and_then(|input| input.first().copied());
    let batch = batch.unwrap_or_else(|| unknown_extent(cx, Out(0), 0));
    let channels = channels.unwrap_or_else(|| unknown_extent(cx, Out(0), 1));
    [batch, channels].into_iter().collect()
}
