//! DeformConv: a convolution with offsets of the sampling positions.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, Rule, RuleCx, RuleResult};

use super::{PLAIN, Ports, bias, channels, convolve, divides, kernel, spatial_axes};
use crate::rules::sliding;

pub(super) const RULES: &[Rule] = &[
    // As Conv. Source: DeformConv, `kernel_shape`, `pads`.
    Rule { name: "deformconv.windows", run: |cx| convolve(cx, PORTS) },
    // As Conv. Source: DeformConv, `W`, `group`.
    Rule { name: "deformconv.channels", run: |cx| channels(cx, PORTS) },
    // As Conv. Source: DeformConv, `B`.
    Rule { name: "deformconv.bias", run: |cx| bias(cx, PORTS) },
    // As Conv. Source: DeformConv, `kernel_shape`.
    Rule { name: "deformconv.kernel", run: |cx| kernel(cx, PORTS) },
    // For each element of the kernel and each offset group, a position has an offset along every spatial axis
    // and a mask value. Source: DeformConv, `offset`, `mask`, `offset_group`.
    Rule { name: "deformconv.offsets", run: offsets },
];

const PORTS: Ports = Ports { bias: Some(In(3)), ..PLAIN };
const OFFSET: Port = In(2);
const MASK: Port = In(4);

fn offsets(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(spatial) = spatial_axes(cx, PORTS)? else { return Ok(()) };
    let groups = offset_groups(cx)?;
    let kernel = sliding::kernel(cx, PORTS.weights, spatial)?;
    let Some(known) = cx.shape(Out(0)) else { return Ok(()) };
    for (port, axes) in [(OFFSET, spatial), (MASK, 1)] {
        let Some(found) = cx.shape_of_rank(port, spatial + 2..=spatial + 2)? else { continue };
        cx.require_equal((port, 0, found[0]), (Out(0), 0, known[0]), "are the batch")?;
        if let Some(kernel) = &kernel {
            let numbers = numbers_per_position(cx, kernel, groups, axes);
            let relation = "is the number of values per position, for all offset groups";
            cx.require_equal((port, 1, found[1]), numbers, relation)?;
        }
        let (found, known) = ((port, &found[..]), (Out(0), &known[..]));
        cx.require_equal_axes(found, known, 2..spatial + 2, "are the positions of the kernel")?;
    }
    Ok(())
}

fn offset_groups(cx: &mut RuleCx<'_, '_>) -> RuleResult<i64> {
    let groups = cx.attr_at_least("offset_group", 1, 1)?;
    if let Some(input) = cx.shape(PORTS.input) {
        divides(cx, "offset_group", groups, input[1], "input")?;
    }
    Ok(groups)
}

fn numbers_per_position(cx: &mut RuleCx<'_, '_>, kernel: &[DimId], groups: i64, axes: usize) -> DimId {
    let elements = cx.dims().product(kernel);
    let axes = cx.count(axes);
    let offsets = cx.dims().mul(elements, axes);
    cx.scaled(offsets, groups)
}
