//! ConvTranspose: the gradient of a convolution, which widens its input.
//!
//! ```text
//! output = stride * (input - 1) + output_padding + reach - padding
//! ```
//!
//! or the extents in `output_shape`, which then determine the padding. The `reach` of a window is
//! `(kernel - 1) * dilation + 1`, see [`super::super::sliding`].

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extent, Rule, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::{PLAIN, Ports, bias_fits, divides, group, kernel, leading, spatial_axes};
use crate::rules::common::unknown_extent;
use crate::rules::sliding::{self, AutoPad, PerAxis, Windows};

pub(super) const RULES: &[Rule] = &[
    // Source: ConvTranspose, the equations of its description, `output_shape`, `output_padding`, `auto_pad`.
    Rule { name: "convtranspose.windows", run: |cx| transpose(cx, PLAIN) },
    // Source: ConvTranspose, `W`, `group`.
    Rule { name: "convtranspose.channels", run: |cx| channels(cx, PLAIN) },
    // Source: ConvTranspose, `B`.
    Rule { name: "convtranspose.bias", run: |cx| bias(cx, PLAIN) },
    // Source: ConvTranspose, `kernel_shape`.
    Rule { name: "convtranspose.kernel", run: |cx| kernel(cx, PLAIN) },
    // Source: ConvTranspose, `output_padding`, `pads`.
    Rule { name: "convtranspose.padding", run: |cx| padding(cx, PLAIN) },
];

/// Parameters of the output besides the windows.
struct Widening {
    windows: Windows,
    output_padding: PerAxis,
    output_shape: Option<PerAxis>,
}

fn transpose(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult {
    let Some(spatial) = spatial_axes(cx, ports)? else { return Ok(()) };
    let widening = read(cx, spatial)?;
    widen(cx, ports, spatial, &widening)
}

/// As ConvTranspose, with the padding in an input. Source: ConvTransposeWithDynamicPads, `Pads`.
pub(in super::super) const DYNAMIC_PADS: Rule =
    Rule { name: "convtransposewithdynamicpads.windows", run: dynamic_pads };

fn dynamic_pads(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let ports = Ports { input: In(0), weights: In(1), bias: Some(In(3)) };
    let Some(spatial) = spatial_axes(cx, ports)? else { return Ok(()) };
    channels(cx, ports)?;
    bias(cx, ports)?;
    let Some(pads) = cx.const_ints(In(2)) else { return Ok(()) };
    if pads.len() != 2 * spatial {
        let message =
            format!("must have {} for these axes, but has {}", counted(2 * spatial, "number"), pads.len());
        return Err(RuleError::value(In(2), message));
    }
    let mut widening = read(cx, spatial)?;
    widening.windows.pads = Some((0..spatial).map(|axis| (pads[axis], pads[axis + spatial])).collect());
    widen(cx, ports, spatial, &widening)
}

fn widen(cx: &mut RuleCx<'_, '_>, ports: Ports, spatial: usize, widening: &Widening) -> RuleResult {
    let channels = out_channels(cx, ports)?.map(|channels| channels.dim);
    let kernel = sliding::kernel(cx, ports.weights, spatial)?;
    let input = cx.shape(ports.input);
    let mut shape = leading(cx, ports, channels);
    for axis in 0..spatial {
        let extent = match (&widening.output_shape, &input, &kernel) {
            (Some(given), _, _) => Some(cx.dims().constant(given[axis])),
            (None, Some(input), Some(kernel)) => {
                let input = (ports.input, axis + 2, input[axis + 2]).into();
                widened(cx, widening, axis, input, kernel[axis])?
            }
            (None, Some(_) | None, _) => None,
        };
        shape.push(extent.unwrap_or_else(|| unknown_extent(cx, Out(0), axis + 2)));
    }
    cx.set_shape(Out(0), &shape)
}

fn read(cx: &RuleCx<'_, '_>, spatial: usize) -> RuleResult<Widening> {
    let output_padding = sliding::numbers(cx, "output_padding", spatial, 0)?;
    Ok(Widening {
        windows: Windows::read(cx, spatial)?,
        output_padding: output_padding.unwrap_or_else(|| PerAxis::from_elem(0, spatial)),
        output_shape: sliding::numbers(cx, "output_shape", spatial, 0)?,
    })
}

/// Explicit padding excludes automatic padding, and output padding is less than a step.
fn padding(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult {
    let Some(spatial) = spatial_axes(cx, ports)? else { return Ok(()) };
    let Widening { windows, output_padding, .. } = read(cx, spatial)?;
    if windows.auto_pad != AutoPad::NotSet && windows.pads.iter().flatten().any(|pads| *pads != (0, 0)) {
        return Err(RuleError::attribute("auto_pad", "excludes `pads`"));
    }
    for (axis, padding) in output_padding.into_iter().enumerate() {
        let (stride, dilation) = (windows.strides[axis], windows.dilations[axis]);
        if padding >= stride.max(dilation) {
            let message = format!(
                "is {padding} on spatial axis {axis}, but must be less than the stride {stride} or the dilation {dilation}"
            );
            return Err(RuleError::attribute("output_padding", message));
        }
    }
    Ok(())
}

/// The output channels: those of the weights for all groups.
fn out_channels(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult<Option<Extent>> {
    let group = group(cx)?;
    let Some(weights) = cx.shape(ports.weights) else {
        let bias = ports.bias.and_then(|bias| {
            cx.shape(bias).filter(|shape| shape.len() == 1).map(|shape| (bias, 0, shape[0]))
        });
        return Ok(bias.map(Extent::from));
    };
    if let Some(of_group) = cx.const_dim(weights[1])
        && of_group.checked_mul(group).is_none()
    {
        let message =
            format!("is {group}, which makes more channels than any tensor has: their number would overflow");
        return Err(RuleError::attribute("group", message));
    }
    let channels = cx.scaled(weights[1], group);
    Ok(Some((ports.weights, channels).into()))
}

fn channels(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult {
    let group = group(cx)?;
    let (input, weights) = (cx.shape(ports.input), cx.shape(ports.weights));
    for channels in [input.as_ref().map(|input| input[1]), weights.as_ref().map(|weights| weights[0])]
        .into_iter()
        .flatten()
    {
        divides(cx, "group", group, channels, "input")?;
    }
    if let (Some(input), Some(weights)) = (&input, &weights) {
        let relation = "are the input channels";
        cx.require_equal((ports.input, 1, input[1]), (ports.weights, 0, weights[0]), relation)?;
    }
    Ok(())
}

fn bias(cx: &mut RuleCx<'_, '_>, ports: Ports) -> RuleResult {
    let channels = out_channels(cx, ports)?;
    bias_fits(cx, ports, channels)
}

/// The extent of the output along a spatial axis.
fn widened(
    cx: &mut RuleCx<'_, '_>,
    widening: &Widening,
    axis: usize,
    input: Extent,
    kernel: DimId,
) -> RuleResult<Option<DimId>> {
    let Widening { windows, output_padding, .. } = widening;
    let reach = windows.reach(cx, axis, kernel)?;
    let (stride, extra) = (windows.strides[axis], output_padding[axis]);
    if windows.auto_pad == AutoPad::Same {
        // The specification gives the extent `input * stride`, which a kernel narrower than its stride cannot
        // reach, and does not define the padding of the output.
        return Ok((extra == 0 && cx.const_dim(reach).is_some_and(|reach| reach >= stride))
            .then(|| cx.scaled(input.dim, stride)));
    }
    let extra = cx.dims().constant(extra);
    let reach = cx.dims().add(reach, extra);
    let extent = windows.covered(cx, axis, input.dim, reach)?;
    if windows.pads.as_ref().is_some_and(|pads| pads[axis] != (0, 0)) {
        // Pads remove elements, and a runtime rejects an empty result.
        let relation = "are the least extent of a result and the one that the pads leave";
        cx.require_at_most((Out(0), DimId::ONE), (Out(0), axis + 2, extent), relation)?;
    }
    Ok(Some(extent))
}
