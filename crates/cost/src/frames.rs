//! The copies that the embedded runtime makes of the inputs of convolutions.
//!
//! A kernel copies its input with the padding around it, if windows reach past the input, or if they have
//! stride 1, so that products read them in place. A convolution of points copies nothing, and neither does
//! one with a filter for each channel. `typeloom_cpu::fast::convolution` has the kernels.

use typeloom_dim::{DimId, Dims};
use typeloom_solver::program::{Body, StepId};
use typeloom_types::dtype::Dtype;

use crate::amount::Amount;
use crate::attributes::{attribute, int, ints};
use crate::values::Size;

/// The largest number of filters of a channel for which the input is not copied.
const MAX_PLANES: i64 = 3;

/// Elements after the copy.
const SLACK: i128 = 64;

/// The bytes of the copy that a `Conv` makes; `None` if it makes none, or its extents are not known.
pub(crate) fn frame(dims: &mut Dims, body: &Body<'_>, sizes: &[Size], step: StepId) -> Option<Amount> {
    let size = |at: usize| Some(&sizes[body.inputs(step).get(at).copied().flatten()?.index()]);
    let (x, weights) = (size(0)?, size(1)?);
    let output = &sizes[body.outputs(step).first().copied().flatten()?.index()];
    let [batch, channels, input @ ..] = x.shape.as_deref()? else { return None };
    let [filters, group_channels, kernel @ ..] = weights.shape.as_deref()? else { return None };
    let output = output.shape.as_deref()?.get(2..)?;
    let groups = int(body, step, "group").unwrap_or(1);
    let filters = dims.as_constant(*filters)?;
    let is_planes = *group_channels == DimId::ONE && groups > 1 && filters / groups <= MAX_PLANES;
    if is_planes || input.len() != kernel.len() || output.len() != kernel.len() {
        return None;
    }
    let kernel: Vec<i64> = kernel.iter().map(|dim| dims.as_constant(*dim)).collect::<Option<_>>()?;
    let list = |name: &str| ints(body, step, name).unwrap_or_default();
    let (strides, dilations, pads) = (list("strides"), list("dilations"), list("pads"));
    let at = |list: &[i64], axis: usize| list.get(axis).copied().unwrap_or(1);
    let auto = attribute(body, step, "auto_pad")?.and_then(|attribute| attribute.s);
    let is_point = kernel.iter().all(|extent| *extent == 1);
    let is_padded =
        pads.iter().any(|pad| *pad != 0) || !is_point && auto.is_some_and(|auto| auto.starts_with(b"SAME"));
    let slides = !is_point && (0..kernel.len()).all(|axis| at(&strides, axis) == 1);
    if !is_padded && !slides {
        return None;
    }
    let mut extents = vec![*batch, *channels];
    for (axis, (kernel, output)) in kernel.iter().zip(output).enumerate() {
        let (stride, dilation) = (at(&strides, axis), at(&dilations, axis));
        let stride_dim = dims.constant(stride);
        let covered = dims.mul(*output, stride_dim);
        let rest = kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?.checked_sub(stride)?;
        let rest = dims.constant(rest);
        extents.push(dims.add(covered, rest));
    }
    let width = match x.dtype? {
        Dtype::F64 => 8,
        _ => 4,
    };
    let elements = dims.product(&extents);
    let mut bytes = Amount::of_dim(dims, elements).scaled(width);
    if slides {
        bytes.add(&Amount::from(SLACK), width);
    }
    Some(bytes)
}
