//! Sequence and optional operators.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use super::slice::{join, parts};
use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::check_size;
use crate::error::{KernelErrorKind, invalid};
use crate::movement::reshape;
use crate::shape::{axis, extents};
use crate::work;

pub(super) const OPERATORS: &[Operator] = &[
    native("SequenceEmpty", |_| Ok(vec![Datum::Sequence(Vec::new())])),
    native("SequenceConstruct", |call| {
        let values: Vec<Datum> =
            (0..call.inputs.len()).map(|index| call.take_value(index)).collect::<Result<_, _>>()?;
        Ok(vec![Datum::Sequence(values)])
    }),
    native("SequenceLength", |call| {
        one(AnyTensor::from_scalar(i64::try_from(call.sequence(0)?.len()).unwrap_or(i64::MAX)))
    }),
    native("SequenceAt", |call| {
        let at = position(call, 1, call.sequence(0)?.len())?;
        Ok(vec![call.sequence(0)?[at].clone()])
    }),
    native("SequenceErase", |call| {
        let length = call.sequence(0)?.len();
        let at = if call.has(1) { position(call, 1, length)? } else { length.wrapping_sub(1) };
        let mut values = call.sequence(0)?.to_vec();
        if at >= values.len() {
            return invalid("the sequence is empty");
        }
        values.remove(at);
        Ok(vec![Datum::Sequence(values)])
    }),
    native("SequenceInsert", sequence_insert),
    native("SplitToSequence", split_to_sequence),
    native("ConcatFromSequence", concat_from_sequence),
    native("Optional", |call| {
        let held = if call.has(0) { Some(Box::new(call.take_value(0)?)) } else { None };
        Ok(vec![Datum::Optional(held)])
    }),
    native("OptionalHasElement", |call| {
        let has = !matches!(call.inputs.first().and_then(Option::as_ref), None | Some(Datum::Optional(None)));
        one(AnyTensor::from_scalar(has))
    }),
    native("OptionalGetElement", |call| match call.take_value(0)? {
        Datum::Optional(Some(held)) => Ok(vec![*held]),
        Datum::Optional(None) => invalid("the optional is empty"),
        value => Ok(vec![value]),
    }),
];

/// Normalises a possibly negative position in a sequence.
fn position(call: &Call<'_>, index: usize, length: usize) -> Result<usize, KernelErrorKind> {
    let Some(given) = call.integer(index)? else { return Err(KernelErrorKind::MissingInput(index)) };
    super::gather::normalised_index(given, length)
}

fn sequence_insert(call: &mut Call<'_>) -> Outcome {
    let length = call.sequence(0)?.len();
    let at = match call.integer(2)? {
        None => length,
        Some(at) if at == length as i64 => length,
        Some(at) => super::gather::normalised_index(at, length)?,
    };
    let mut values = call.sequence(0)?.to_vec();
    values.insert(at, call.take_value(1)?);
    Ok(vec![Datum::Sequence(values)])
}

/// Requests the work and the memory of a sequence of this many tensors, which can be without elements.
fn check_parts(number: usize) -> Result<(), KernelErrorKind> {
    work::spend_each(&[number, PART_WORK])?;
    check_size(&[number], 2 * size_of::<Datum>())
}

/// Units of work for a tensor of a sequence.
const PART_WORK: usize = 200;

fn split_to_sequence(call: &mut Call<'_>) -> Outcome {
    let keep = call.flag("keepdims", true)?;
    let x = call.tensor(0)?;
    let axis = axis(call.int("axis", 0)?, x.rank())?;
    let extent = x.shape()[axis];
    let (sizes, dropped) = match call.integers(1)? {
        None => {
            check_parts(extent)?;
            (vec![1; extent], !keep)
        }
        Some(sizes) if call.tensor(1)?.rank() == 0 => {
            let size = extents(&sizes)?[0];
            if size == 0 {
                return invalid("the parts have extent 0");
            }
            check_parts(extent.div_ceil(size))?;
            ((0..extent.div_ceil(size)).map(|at| size.min(extent - at * size)).collect(), false)
        }
        Some(sizes) => (extents(&sizes)?, false),
    };
    let mut shape = x.shape().to_vec();
    shape.remove(axis);
    let values = parts(x, axis, &sizes)?.into_iter();
    let values = values.map(|part| Ok(Datum::from(if dropped { reshape(part, &shape)? } else { part })));
    Ok(vec![Datum::Sequence(values.collect::<Result<_, KernelErrorKind>>()?)])
}

fn concat_from_sequence(call: &mut Call<'_>) -> Outcome {
    let new_axis = call.flag("new_axis", false)?;
    let given = call.attributes.int("axis")?.ok_or(KernelErrorKind::MissingAttribute("axis"))?;
    let parts: Option<Vec<&AnyTensor>> = call.sequence(0)?.iter().map(Datum::as_tensor).collect();
    let Some(parts) = parts else {
        return Err(KernelErrorKind::InputKind { index: 0, wanted: "a sequence of tensors" });
    };
    if !new_axis {
        return one(join(&parts, given)?);
    }
    let mut widened = Vec::with_capacity(parts.len());
    for part in parts {
        let at = axis(given, part.rank() + 1)?;
        let mut shape = part.shape().to_vec();
        shape.insert(at, 1);
        widened.push(reshape(part.clone(), &shape)?);
    }
    one(join(&widened.iter().collect::<Vec<_>>(), given)?)
}
