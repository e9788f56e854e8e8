//! Windows that slide along spatial axes, for convolution and pooling.
//!
//! A window of `kernel` elements at distance `dilation` covers `dilation * (kernel - 1) + 1` elements (its
//! reach). It starts at the front padding and advances by `stride` while it is within the padded axis, so it
//! has `(input + padding - reach) / stride + 1` positions, rounded down. With `ceil_mode` the number is
//! rounded up, and from version 22 on a window that would start in the padding after the input is omitted.
//!
//! **Invariant:** a number on which versions of the specification and runtimes disagree is unknown: before
//! version 22 the specification of `ceil_mode` counts windows that no runtime visits, and for `VALID` it
//! rounds down, but runtimes round up.
//!
//! Source: Conv, `auto_pad`, `pads`, `strides`, `dilations`; MaxPool, the formulas of its description.

use smallvec::{SmallVec, smallvec};
use typeloom_dim::{Decision, DimId};
use typeloom_solver::rule::{Extent, Port, RuleCx, RuleError, RuleResult};

use super::common::{choice, require_at_most, unknown_extent};

/// One number per spatial axis.
pub(super) type PerAxis = SmallVec<[i64; 6]>;

/// Rounding of the number of window positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    /// Windows within the padded input only.
    Down,
    /// Including a window that extends past the end.
    Up,
    /// As `Up`, but without a window that starts after the input.
    UpInside,
}

/// The value of `auto_pad`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AutoPad {
    /// The padding in `pads`.
    NotSet,
    /// Padding for `ceil(input / stride)` positions.
    Same,
    /// No padding.
    Valid,
}

/// The parameters of windows along all spatial axes.
pub(super) struct Windows {
    pub(super) strides: PerAxis,
    pub(super) dilations: PerAxis,
    /// The padding before and after each axis, if it is explicit.
    pub(super) pads: Option<SmallVec<[(i64, i64); 6]>>,
    pub(super) auto_pad: AutoPad,
}

impl Windows {
    /// Reads and validates the attributes of a node with `spatial` spatial axes.
    pub(super) fn read(cx: &RuleCx<'_, '_>, spatial: usize) -> RuleResult<Self> {
        let pads = numbers(cx, "pads", 2 * spatial, 0)?;
        let auto_pad = choice(cx, "auto_pad", &AUTO_PADS)?.unwrap_or(AutoPad::NotSet);
        let ones = || smallvec![1; spatial];
        Ok(Self {
            strides: numbers(cx, "strides", spatial, 1)?.unwrap_or_else(ones),
            dilations: numbers(cx, "dilations", spatial, 1)?.unwrap_or_else(ones),
            pads: pads.map(|pads| (0..spatial).map(|axis| (pads[axis], pads[axis + spatial])).collect()),
            auto_pad,
        })
    }

    /// Number of elements covered by a window of `kernel` elements along a spatial axis.
    pub(super) fn reach(&self, cx: &mut RuleCx<'_, '_>, axis: usize, kernel: DimId) -> RuleResult<DimId> {
        let dilation = self.dilations[axis];
        if let Some(kernel) = cx.const_dim(kernel) {
            let reach = kernel
                .checked_sub(1)
                .and_then(|steps| steps.checked_mul(dilation))
                .and_then(|reach| reach.checked_add(1));
            return match reach {
                Some(reach) => Ok(cx.dims().constant(reach)),
                None => Err(RuleError::attribute(
                    "dilations",
                    format!(
                        "is {dilation} on spatial axis {axis}, which is too large for any tensor: the window would overflow"
                    ),
                )),
            };
        }
        let dilation = cx.dims().constant(dilation);
        let steps = cx.dims().sub(kernel, DimId::ONE);
        let reach = cx.dims().mul(steps, dilation);
        Ok(cx.dims().add(reach, DimId::ONE))
    }

    /// Requires a window of `kernel` elements to fit into the padded axis; `spare` elements may extend past
    /// the end.
    ///
    /// Automatic padding makes every window fit.
    pub(super) fn require_fit(
        &self,
        cx: &mut RuleCx<'_, '_>,
        axis: usize,
        input: Extent,
        kernel: DimId,
        spare: i64,
    ) -> RuleResult {
        if self.auto_pad == AutoPad::Same {
            return Ok(());
        }
        let padding = match (&self.pads, self.auto_pad) {
            (Some(pads), AutoPad::NotSet) => pads[axis].0.saturating_add(pads[axis].1),
            (_, _) => 0,
        };
        let reach = self.reach(cx, axis, kernel)?;
        let padding = cx.dims().constant(padding.saturating_add(spare));
        let least = cx.dims().sub(reach, padding);
        require_at_most(
            cx,
            (input.port, least),
            input,
            "are the extent that a window requires and that of the axis",
        )
    }

    /// The inverse of [`Windows::positions`]: the extent that windows at `positions` positions along a
    /// spatial axis cover, without the explicit padding.
    pub(super) fn covered(
        &self,
        cx: &mut RuleCx<'_, '_>,
        axis: usize,
        positions: DimId,
        reach: DimId,
    ) -> RuleResult<DimId> {
        let (before, after) = self.pads.as_ref().map_or((0, 0), |pads| pads[axis]);
        let moves = cx.dims().sub(positions, DimId::ONE);
        let moved = cx.scaled(moves, self.strides[axis]);
        let dims = cx.dims();
        let (before, after) = (dims.constant(before), dims.constant(after));
        let padding = dims.add(before, after);
        let full = dims.add(moved, reach);
        let extent = dims.sub(full, padding);
        if dims.bounds(extent).1.is_some_and(|most| most < 0) {
            let message = format!("removes more elements from axis {} than it has", axis + 2);
            return Err(RuleError::attribute("pads", message));
        }
        Ok(extent)
    }

    /// Number of positions of a window of `kernel` elements along a spatial axis; `None` if the specification
    /// and its implementations disagree.
    pub(super) fn positions(
        &self,
        cx: &mut RuleCx<'_, '_>,
        axis: usize,
        input: Extent,
        kernel: DimId,
        rounding: Rounding,
    ) -> RuleResult<Option<DimId>> {
        let reach = self.reach(cx, axis, kernel)?;
        let stride = self.strides[axis];
        let explicit = match &self.pads {
            Some(pads) => Some(slide(cx, input, pads[axis], reach, stride, rounding)?),
            None => None,
        };
        let automatic = match self.auto_pad {
            AutoPad::NotSet => {
                return match explicit {
                    Some(explicit) => Ok(explicit),
                    None => slide(cx, input, (0, 0), reach, stride, rounding),
                };
            }
            AutoPad::Same => {
                let stride = cx.dims().constant(stride);
                Some(cx.dims().ceil_div(input.dim, stride))
            }
            AutoPad::Valid => {
                let down = slide(cx, input, (0, 0), reach, stride, Rounding::Down)?;
                let rounded = slide(cx, input, (0, 0), reach, stride, rounding)?;
                agreed(cx, down, rounded).unwrap_or(None)
            }
        };
        match explicit {
            None => Ok(automatic),
            // The two exclude each other, and implementations differ in their precedence.
            Some(explicit) => agreed(cx, automatic, explicit)
                .ok_or_else(|| RuleError::attribute("auto_pad", "requests another padding than `pads`")),
        }
    }

    /// The extents of the spatial axes of the output.
    pub(super) fn extents(
        &self,
        cx: &mut RuleCx<'_, '_>,
        input: Port,
        kernel: Option<&[DimId]>,
        rounding: Rounding,
    ) -> RuleResult<SmallVec<[DimId; 6]>> {
        let shape = cx.shape(input);
        let mut extents = SmallVec::new();
        for (axis, stride) in self.strides.iter().enumerate() {
            let positions = match (&shape, kernel) {
                (Some(shape), Some(kernel)) => {
                    let extent: Extent = (input, axis + 2, shape[axis + 2]).into();
                    let positions = self.positions(cx, axis, extent, kernel[axis], rounding)?;
                    // With rounding up, the only window may extend past the end by less than a step.
                    let spare = if rounding == Rounding::Down { 0 } else { stride.saturating_sub(1) };
                    self.require_fit(cx, axis, extent, kernel[axis], spare)?;
                    positions
                }
                // Only version 1 of LpPool makes the kernel optional, without a defined meaning.
                (Some(_) | None, _) => None,
            };
            extents.push(positions.unwrap_or_else(|| unknown_extent(cx, Port::Out(0), axis + 2)));
        }
        Ok(extents)
    }
}

/// The result of two readings of the specification: `Some(Some(..))` if they are equal, `None` if they
/// differ.
fn agreed(cx: &mut RuleCx<'_, '_>, a: Option<DimId>, b: Option<DimId>) -> Option<Option<DimId>> {
    let (Some(a), Some(b)) = (a, b) else { return Some(None) };
    match cx.dims().compare(a, b) {
        Decision::Equal => Some(Some(a)),
        Decision::Undecided => Some(None),
        Decision::Different => None,
    }
}

/// Number of positions of a window along an axis with this padding.
fn slide(
    cx: &mut RuleCx<'_, '_>,
    input: Extent,
    (before, after): (i64, i64),
    reach: DimId,
    stride: i64,
    rounding: Rounding,
) -> RuleResult<Option<DimId>> {
    let Some(padding) = before.checked_add(after) else {
        let message = format!("are {before} and {after}, more than any tensor has");
        return Err(RuleError::attribute("pads", message));
    };
    let dims = cx.dims();
    let (one, step, front, padding) =
        (DimId::ONE, dims.constant(stride), dims.constant(before), dims.constant(padding));
    let padded = dims.add(input.dim, padding);
    let slack = dims.sub(padded, reach);
    // With rounding up, there is a window at the start even if its end extends past the axis by less than a
    // step.
    let least = if rounding == Rounding::Down { 0 } else { 1 - stride };
    if dims.bounds(slack).1.is_some_and(|most| most < least) {
        return Err(too_small(cx, input, padded, reach));
    }
    let dims = cx.dims();
    let moves_down = dims.floor_div(slack, step);
    let down = dims.add(moves_down, one);
    if rounding == Rounding::Down || stride == 1 && dims.as_constant(reach).is_some_and(|reach| after < reach)
    {
        return Ok(Some(down));
    }
    let moves_up = dims.ceil_div(slack, step);
    let up = dims.add(moves_up, one);
    let Some(reach) = dims.as_constant(reach) else { return Ok(None) };
    // The last window starts at most `stride - 1` elements too late to be inside.
    if after.checked_add(stride - 1).is_some_and(|late| late < reach) {
        return Ok(Some(up));
    }
    let end = dims.add(input.dim, front);
    let inside = match (dims.as_constant(moves_up), dims.as_constant(end)) {
        (Some(moves), Some(end)) => match moves.checked_mul(stride) {
            Some(start) if start >= end => Some(moves_up),
            Some(_) => Some(up),
            None => None,
        },
        (Some(_) | None, _) if after <= reach => {
            let last = dims.sub(end, one);
            let last = dims.floor_div(last, step);
            let moves = dims.min(moves_up, last);
            Some(dims.add(moves, one))
        }
        (Some(_) | None, _) => None,
    };
    Ok(match rounding {
        Rounding::UpInside => inside,
        Rounding::Up | Rounding::Down => agreed(cx, Some(up), inside).unwrap_or(None),
    })
}

/// Error for a window that is larger than the padded axis.
fn too_small(cx: &mut RuleCx<'_, '_>, input: Extent, padded: DimId, reach: DimId) -> RuleError {
    let axis = input.axis.unwrap_or(0);
    let (padded, reach) = (cx.dims().display(padded).to_string(), cx.dims().display(reach).to_string());
    let message = format!(
        "a window over {reach} elements does not fit into axis {axis}, which has {padded} with its padding"
    );
    RuleError::shapes(&[input.port], message)
}

/// The extents in the attribute `kernel_shape`, if it is set.
pub(super) fn kernel_shape(cx: &RuleCx<'_, '_>, spatial: usize) -> RuleResult<Option<PerAxis>> {
    numbers(cx, "kernel_shape", spatial, 1)
}

/// A list attribute with exactly `count` numbers of at least `least`.
pub(super) fn numbers(
    cx: &RuleCx<'_, '_>,
    name: &'static str,
    count: usize,
    least: i64,
) -> RuleResult<Option<PerAxis>> {
    let Some(numbers) = cx.attr_numbers(name)? else { return Ok(None) };
    if numbers.len() != count {
        let message = format!("must have {count} entries for these axes, but has {}", numbers.len());
        return Err(RuleError::attribute(name, message));
    }
    match numbers.iter().find(|number| **number < least) {
        Some(bad) => Err(RuleError::attribute(name, format!("must be at least {least}, but holds {bad}"))),
        None => Ok(Some(numbers)),
    }
}

/// The values of the attribute `auto_pad`.
const AUTO_PADS: [(&str, AutoPad); 4] = [
    ("NOTSET", AutoPad::NotSet),
    ("SAME_UPPER", AutoPad::Same),
    ("SAME_LOWER", AutoPad::Same),
    ("VALID", AutoPad::Valid),
];

/// The extents in the attribute `kernel_shape` as dims, if it is set.
pub(super) fn kernel_dims(
    cx: &mut RuleCx<'_, '_>,
    spatial: usize,
) -> RuleResult<Option<SmallVec<[DimId; 6]>>> {
    let Some(given) = kernel_shape(cx, spatial)? else { return Ok(None) };
    Ok(Some(given.into_iter().map(|extent| cx.dims().constant(extent)).collect()))
}

/// The extents of the kernel: those in `kernel_shape`, else those of the weights.
pub(super) fn kernel(
    cx: &mut RuleCx<'_, '_>,
    weights: Port,
    spatial: usize,
) -> RuleResult<Option<SmallVec<[DimId; 6]>>> {
    if let Some(given) = kernel_dims(cx, spatial)? {
        return Ok(Some(given));
    }
    let Some(shape) = cx.shape(weights) else { return Ok(None) };
    match shape.iter().skip(2).position(|extent| cx.const_dim(*extent) == Some(0)) {
        Some(empty) => {
            Err(RuleError::shapes(&[weights], format!("the kernel is empty along axis {}", empty + 2)))
        }
        None => Ok(Some(shape.iter().skip(2).copied().collect())),
    }
}

/// Requires the elements of an input's value to be these extents.
pub(super) fn require_extents(cx: &mut RuleCx<'_, '_>, port: Port, extents: &[DimId]) -> RuleResult {
    match extents.iter().find_map(|extent| cx.const_dim(*extent).filter(|extent| *extent < 0)) {
        Some(bad) => Err(RuleError::value(port, format!("holds {bad}, which is not an extent"))),
        None => Ok(()),
    }
}
