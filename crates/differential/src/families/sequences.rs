//! Sequences and optionals.

use typeloom_tensor::datum::Datum;

use super::{axis, int, tensor};
use crate::build::{Builder, Var};

fn is_sequence(var: &Var) -> bool {
    var.values.iter().flatten().all(|value| matches!(value, Datum::Sequence(_)))
}

fn is_optional(var: &Var) -> bool {
    var.values.iter().flatten().all(|value| matches!(value, Datum::Optional(_)))
}

pub(super) fn sequence(b: &mut Builder<'_>) -> Option<()> {
    if let Some(sequence) = b.any(is_sequence)
        && b.choices.percent(70)
    {
        return match b.choices.below(4) {
            0 => b.simple("SequenceLength", &[&sequence.name]).map(|_| ()),
            1 => {
                let at = b.int_between(-1, 1);
                b.simple("SequenceAt", &[&sequence.name, &at]).map(|_| ())
            }
            2 => {
                let attributes = vec![int("axis", b.choices.between(0, 1))];
                b.node("ConcatFromSequence", &[&sequence.name], attributes, 1).map(|_| ())
            }
            _ => {
                let Some(Datum::Sequence(values)) = &sequence.values[b.lead()] else { return None };
                let dtype = values
                    .first()
                    .and_then(Datum::as_tensor)
                    .map(typeloom_tensor::any_tensor::AnyTensor::dtype);
                let x = b.any(|var| var.dtype() == dtype && dtype.is_some())?;
                b.simple("SequenceInsert", &[&sequence.name, &x.name]).map(|_| ())
            }
        };
    }
    let x = tensor(b, 1, 3)?;
    if b.choices.percent(50) {
        let axis = axis(b, x.rank()?);
        let keep = i64::from(b.choices.percent(60));
        if b.choices.percent(50) {
            let attributes = vec![int("axis", axis), int("keepdims", keep)];
            return b.node("SplitToSequence", &[&x.name], attributes, 1).map(|_| ());
        }
        let size = b.int_between(1, 3);
        return b.node("SplitToSequence", &[&x.name, &size], vec![int("axis", axis)], 1).map(|_| ());
    }
    let (dtype, own) = (x.dtype(), x.name.clone());
    let y = b.any(|var| var.dtype() == dtype)?;
    b.simple("SequenceConstruct", &[&own, &y.name]).map(|_| ())
}

pub(super) fn optional(b: &mut Builder<'_>) -> Option<()> {
    if let Some(optional) = b.any(is_optional)
        && b.choices.percent(80)
    {
        let op = *b.choices.pick(&["OptionalGetElement", "OptionalHasElement"]);
        return b.simple(op, &[&optional.name]).map(|_| ());
    }
    let x = tensor(b, 0, 3)?;
    b.simple("Optional", &[&x.name]).map(|_| ())
}
