//! Shapes of the parameters of `MatMulNBits`.
//!
//! The checker compares them with `K`, `N`, `bits` and `block_size`. Two more comparisons are about the loader
//! only: its inference needs the rank of `bias`, and it packs constant weights before the first run, also if
//! `weight_prepacked` means that another provider packed them in its own shape.

use typeloom_solver::diagnostic::TargetIssue;
use typeloom_solver::program::{Origin, ValueId};

use crate::fold::is_foldable;
use crate::node::{NodeCx, PortType, Ports, operator, undecided};
use crate::rules::attribute;

/// The position of the weights.
const WEIGHTS: usize = 1;

/// The position of the bias.
const BIAS: usize = 5;

/// The issue of a node whose parameters the loader rejects, or may reject.
pub(crate) fn issue(cx: &mut NodeCx<'_, '_>, ports: &Ports) -> Option<TargetIssue> {
    let body = std::sync::Arc::clone(&cx.body.body);
    if body.op_name(cx.step) != "MatMulNBits" {
        return None;
    }
    let inputs = body.inputs(cx.step);
    let input = |at: usize| inputs.get(at).copied().flatten();
    if let Some(bias) = input(BIAS)
        && extents(cx, bias).is_none()
    {
        let is_declared = matches!(body.value(bias).origin, Origin::Input) && cx.body.is_main();
        let reason = "the loader needs the shape of its `bias`";
        return Some(if is_declared { operator(reason.to_owned()) } else { undecided(reason) });
    }
    let number = |name: &str| attribute(cx, name).and_then(|attribute| attribute.i);
    if number("weight_prepacked").is_none_or(|packed| packed == 0) {
        return None;
    }
    let weights = input(WEIGHTS).filter(|weights| is_foldable(&body, *weights))?;
    let (columns, rows, block) = (number("N")?, number("K")?, number("block_size")?);
    let blocks = rows.checked_add(block.checked_sub(1)?)?.checked_div(block)?;
    let expected = [columns, blocks, number("bits").unwrap_or(4).checked_mul(block)? / 8];
    let found = extents(cx, weights)?;
    if found.iter().zip(expected).all(|(found, expected)| *found == Some(expected)) && found.len() == 3 {
        return None;
    }
    // Weights for float16 are packed on some processors only.
    let is_packed = matches!(ports.inputs.first(), Some(PortType::Known(ty)) if ty == "float");
    let is_wrong = is_packed && body.is_stored(weights) && found.iter().all(Option::is_some);
    Some(match is_wrong {
        true => operator(format!(
            "its weights must have the shape [{}, {}, {}]",
            expected[0], expected[1], expected[2]
        )),
        false => undecided("the loader may pack its weights, which have another shape"),
    })
}

/// The extents of a value, as far as they are numbers; `None` if its rank is unknown.
fn extents(cx: &mut NodeCx<'_, '_>, value: ValueId) -> Option<Vec<Option<i64>>> {
    let ty = cx.checked.type_within(cx.body, value);
    let shape = ty.tensor()?.shape.as_ref()?;
    let dims = cx.checked.dims();
    Some(shape.iter().map(|dim| dims.as_constant(*dim)).collect())
}
