//! Values of a checked model that are proven.

use std::collections::HashSet;

use typeloom_onnx::messages::TensorProto;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{StepId, ValueId};
use typeloom_solver::solution::Type;

/// The largest number of elements of a value that becomes an initializer.
pub(crate) const MAX_ITEMS: usize = 4096;

/// The values that depend on a declared type that is not proven.
pub(crate) fn doubtful(checked: &mut Checked<'_>) -> HashSet<ValueId> {
    let body = checked.shared_body();
    let mut doubtful: HashSet<ValueId> = body.values().filter(|value| checked.is_assumed(*value)).collect();
    if doubtful.is_empty() {
        return doubtful;
    }
    // A loop passes a doubt on to its next iteration, so one pass is not enough.
    loop {
        let before = doubtful.len();
        let (from, to) = body.graph(body.root()).steps;
        for step in (from..to).map(StepId::new) {
            let reads = body.inputs(step).iter().flatten().any(|value| doubtful.contains(value));
            let of_graphs =
                body.graphs_of(step).any(|(_, graph)| graph.outputs.iter().any(|it| doubtful.contains(it)));
            if reads || of_graphs {
                doubtful.extend(body.outputs(body.last_step(step)).iter().flatten());
                doubtful.extend(body.graphs_of(step).flat_map(|(_, graph)| graph.inputs.iter().copied()));
            }
        }
        if doubtful.len() == before {
            return doubtful;
        }
    }
}

/// A proven tensor without a name, in its own element type or another one that represents its elements.
pub(crate) fn tensor(checked: &mut Checked<'_>, value: ValueId, to: Option<Elem>) -> Option<TensorProto> {
    let elements = checked.elements(value, MAX_ITEMS)?;
    let Type::Tensor(ty) = checked.type_of(value) else { return None };
    let elem = to.or(ty.elem.single())?;
    let dims = checked.dims();
    let numbers = |ids: &[typeloom_dim::DimId]| -> Option<Vec<i64>> {
        ids.iter().map(|id| dims.as_constant(*id)).collect()
    };
    let (shape, items) = (numbers(ty.shape.as_ref()?)?, numbers(&elements.items)?);
    if usize::try_from(shape.iter().product::<i64>()) != Ok(items.len()) {
        return None;
    }
    let mut tensor =
        TensorProto { dims: shape, data_type: Some(i32::from(elem.number())), ..TensorProto::default() };
    // A whole number that the type represents; the sign of a zero is not known.
    let is_exact = |bits: u32| items.iter().all(|item| *item != 0 && item.unsigned_abs() <= 1 << bits);
    match elem {
        Elem::INT64 => tensor.int64_data = items,
        Elem::INT32 | Elem::INT16 | Elem::INT8 | Elem::UINT16 | Elem::UINT8 | Elem::BOOL => {
            tensor.int32_data = items.into_iter().map(i32::try_from).collect::<Result<_, _>>().ok()?;
        }
        #[expect(clippy::cast_precision_loss, reason = "whole numbers up to 2^24 are exact")]
        Elem::FLOAT if is_exact(f32::MANTISSA_DIGITS) => {
            tensor.float_data = items.into_iter().map(|item| item as f32).collect();
        }
        #[expect(clippy::cast_precision_loss, reason = "whole numbers up to 2^53 are exact")]
        Elem::DOUBLE if is_exact(f64::MANTISSA_DIGITS) => {
            tensor.double_data = items.into_iter().map(|item| item as f64).collect();
        }
        _ => return None,
    }
    Some(tensor)
}

/// The proven condition of an `If`.
pub(crate) fn condition(checked: &Checked<'_>, value: ValueId, doubtful: &HashSet<ValueId>) -> Option<bool> {
    if doubtful.contains(&value) {
        return None;
    }
    match checked.integers(value)?[..] {
        [only] => Some(only != 0),
        _ => None,
    }
}
