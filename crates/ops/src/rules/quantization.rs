//! Linear quantisation: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.

use typeloom_dim::DimId;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, Rule, RuleCx, RuleError, RuleResult};

use super::common::dtype_attr;
use super::elementwise::SAME_SHAPE;
use super::{Entry, rule};

/// The output has the type of `output_dtype`, else of the scale. Source: DequantizeLinear version 23,
/// `output_dtype` and `x_scale`.
const DEQUANTIZE_TYPE: Rule = Rule { name: "dequantizelinear.type", run: dequantize_type };

/// One scale for the tensor, for each slice along `axis`, or for each block of it; the zero point has the
/// scale's shape. Source: QuantizeLinear, `y_scale`, `axis` and `block_size`.
const SCALE: Rule = Rule { name: "quantizelinear.scale", run: scale };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("DequantizeLinear", &[SAME_SHAPE, SCALE]).until(23),
    Entry::of("DequantizeLinear", &[SAME_SHAPE, SCALE, DEQUANTIZE_TYPE]).since(23),
    Entry::of("DynamicQuantizeLinear", &[SAME_SHAPE, rule("dynamicquantizelinear.scalars", dynamic)]),
    Entry::of("QuantizeLinear", &[SAME_SHAPE, SCALE, rule("quantizelinear.type", quantize_type)]),
];

/// The output has the type of the zero point, else of `output_dtype`, else `uint8`; both must agree. Source:
/// QuantizeLinear, `y_zero_point` and `output_dtype`.
fn quantize_type(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let asked = dtype_attr(cx, "output_dtype")?;
    if cx.has(In(2)) {
        // The signature unifies the types of the output and the zero point.
        if let (Some(asked), Some(given)) = (asked, cx.elem(In(2)))
            && asked != given
        {
            let message = "requests another element type than that of the zero point";
            return Err(RuleError::attribute("output_dtype", message));
        }
        return Ok(());
    }
    cx.set_elem(Out(0), asked.unwrap_or(Elem::UINT8))
}

fn dequantize_type(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    match dtype_attr(cx, "output_dtype")? {
        Some(asked) => cx.set_elem(Out(0), asked),
        // A scale type that consists of an exponent only does not determine the result.
        None => match cx.elem(In(1)) {
            Some(Elem::FLOAT8E8M0) => {
                Err(RuleError::attribute("output_dtype", "must be given if the scale is float8e8m0"))
            }
            Some(scale) => cx.set_elem(Out(0), scale),
            None => cx.same_elem(In(1), Out(0)),
        },
    }
}

fn scale(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let axis = cx.attr_int("axis")?.unwrap_or(1);
    let block = cx.attr_int("block_size")?.unwrap_or(0);
    if block < 0 {
        let message = format!("is {block}, but a block has at least one element");
        return Err(RuleError::attribute("block_size", message));
    }
    if let (Some(scale), Some(zero_point)) = (cx.shape(In(1)), cx.shape(In(2))) {
        same_parameters(cx, (In(1), &scale), (In(2), &zero_point))?;
    }
    let (Some(data), Some(scale)) = (cx.shape(In(0)), cx.shape(In(1))) else { return Ok(()) };
    match scale.len() {
        0 => Ok(()),
        // One element is a scale for the whole tensor, for any axis.
        1 if cx.const_dim(scale[0]) == Some(1) => Ok(()),
        1 if block > 0 && data.len() == 1 => blocked(cx, &data, &scale, axis, block),
        1 => {
            let axis = cx.axis_of(In(0), "axis", axis, data.len())?;
            cx.require_equal((In(1), 0, scale[0]), (In(0), axis, data[axis]), "hold one scale per slice")
                .map(drop)
        }
        rank if rank == data.len() => blocked(cx, &data, &scale, axis, block),
        _ => {
            let message = "a scale has no axis, one axis, or as many axes as the data";
            Err(RuleError::shapes(&[In(0), In(1)], message))
        }
    }
}

fn blocked(cx: &mut RuleCx<'_, '_>, data: &[DimId], scale: &[DimId], axis: i64, block: i64) -> RuleResult {
    let axis = cx.axis_of(In(0), "axis", axis, data.len())?;
    for (at, (dim, scale)) in data.iter().zip(scale).enumerate() {
        if at != axis {
            cx.require_equal((In(1), at, *scale), (In(0), at, *dim), "are quantised together")?;
        } else if block > 0 {
            let block = cx.dims().constant(block);
            let blocks = cx.dims().ceil_div(*dim, block);
            cx.require_equal((In(1), at, *scale), (In(0), blocks), "hold one scale per block")?;
        }
    }
    Ok(())
}

/// A zero point has the shape of its scale; a scalar is accepted for a vector of one element.
fn same_parameters(
    cx: &mut RuleCx<'_, '_>,
    (scale_port, scale): (Port, &[DimId]),
    (zero_port, zero): (Port, &[DimId]),
) -> RuleResult {
    let single = |cx: &mut RuleCx<'_, '_>, shape: &[_]| shape.iter().all(|dim| cx.const_dim(*dim) == Some(1));
    if single(cx, scale) && single(cx, zero) {
        return Ok(());
    }
    if scale.len() != zero.len() {
        let message = "a scale and its zero point must have one shape";
        return Err(RuleError::shapes(&[scale_port, zero_port], message));
    }
    cx.require_equal_axes((scale_port, scale), (zero_port, zero), 0..scale.len(), "belong together")
}

/// Scale and zero point are single numbers. Source: DynamicQuantizeLinear, `y_scale`.
fn dynamic(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.set_shape(Out(1), &[])?;
    cx.set_shape(Out(2), &[])
}
