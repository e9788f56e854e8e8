//! Sequences and optionals.
//!
//! The shape of a sequence is the common part of the shapes of its elements. An anonymous extent differs
//! between elements, so a value taken from a sequence gets fresh extents.
//!
//! The constant tracked for a sequence is the number of its elements, if it is known.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Ints, Kind, Port, Rule, RuleCx, RuleError, RuleResult};

use super::common::{dtype_attr, require_at_most, require_one_element};
use super::{Entry, rule};

/// A position in a sequence of `n` elements is a single number from `-n` to `n - 1`, or to `n` for an
/// insertion. Source: SequenceAt, SequenceErase and SequenceInsert, `position`.
const POSITION: Rule = Rule { name: "sequence.position", run: position };

/// A single number. Source: SequenceLength, `length`.
const NUMBER: Rule = Rule { name: "sequencelength.number", run: |cx| cx.set_shape(Out(0), &[]) };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("ConcatFromSequence", &[rule("concatfromsequence.axis", concat_from_sequence)]),
    Entry::of("Optional", &[rule("optional.wrap", optional)]),
    Entry::of("OptionalGetElement", &[rule("optionalgetelement.unwrap", optional_get_element)]),
    Entry::of("OptionalHasElement", &[rule("optionalhaselement.value", optional_has_element)]),
    Entry::of("SequenceAt", &[rule("sequenceat.element", sequence_at), POSITION]),
    Entry::of("SequenceConstruct", &[rule("sequenceconstruct.elements", sequence_construct)]),
    Entry::of("SequenceEmpty", &[rule("sequenceempty.type", sequence_empty)]),
    Entry::of("SequenceErase", &[rule("sequenceerase.elements", sequence_erase), POSITION]),
    Entry::of("SequenceInsert", &[rule("sequenceinsert.element", sequence_insert), POSITION]),
    Entry::of("SequenceLength", &[NUMBER, rule("sequencelength.value", sequence_length)]),
    Entry::of("SplitToSequence", &[rule("splittosequence.parts", split_to_sequence)]),
];

/// True for a value that is not an optional. Source: OptionalHasElement, `input` and `output`.
fn optional_has_element(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.set_shape(Out(0), &[])?;
    let has_element = match cx.kind(In(0)) {
        _ if !cx.has(In(0)) => false,
        Kind::Sequence | Kind::Other => true,
        Kind::Optional | Kind::Unknown | Kind::Error => return Ok(()),
    };
    let item = cx.dims().constant(i64::from(has_element));
    cx.set_ints(Out(0), Ints::scalar(item));
    Ok(())
}

/// Source: SequenceErase, `output_sequence`.
fn sequence_erase(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let one_less = length(cx, In(0)).map(|length| cx.dims().sub(length, DimId::ONE));
    set_length(cx, one_less);
    cx.same_shape(In(0), Out(0))
}

/// The number of elements, if it is known.
fn sequence_length(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.copy_data(In(0), Out(0));
    Ok(())
}

/// The shape of the elements of a port, with fresh extents for anonymous ones.
fn element_shape(cx: &mut RuleCx<'_, '_>, port: Port, known: Port) -> Option<DimVec> {
    let shape = cx.shape(port)?;
    // A repeated application keeps the extents of the first one.
    let before = cx.shape(known).filter(|before| before.len() == shape.len());
    let dims = shape.iter().enumerate().map(|(axis, dim)| match &before {
        _ if !cx.dims().is_anonymous(*dim) => *dim,
        Some(before) => before[axis],
        None => cx.fresh(),
    });
    Some(dims.collect())
}

/// Number of elements of a sequence.
fn length(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<DimId> {
    cx.ints(port)?.single()
}

/// Sets the shape of the elements of the output, unless an earlier application did.
fn set_first_element_shape(cx: &mut RuleCx<'_, '_>, shape: Option<DimVec>) -> RuleResult {
    match shape {
        Some(shape) if cx.rank(Out(0)).is_none() => cx.set_element_shape(Out(0), &shape),
        Some(_) | None => Ok(()),
    }
}

fn set_length(cx: &mut RuleCx<'_, '_>, length: Option<DimId>) {
    if let Some(length) = length {
        cx.set_ints(Out(0), Ints::scalar(length));
    }
}

/// The default is float. Source: SequenceEmpty, `dtype`.
fn sequence_empty(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let elem = dtype_attr(cx, "dtype")?.unwrap_or(Elem::FLOAT);
    let element = cx.types().tensor_of(typeloom_solver::elem::ElemSet::of(elem));
    let sequence = cx.types().sequence(element);
    set_length(cx, Some(DimId::ZERO));
    cx.set_ty(Out(0), sequence, "a sequence")
}

/// Source: SequenceConstruct, `output_sequence`.
fn sequence_construct(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let inputs: Vec<Port> = (0..cx.input_count()).map(In).collect();
    for input in &inputs {
        cx.sequence_of(Out(0), *input)?;
    }
    let count = i64::try_from(inputs.len()).ok().map(|count| cx.dims().constant(count));
    set_length(cx, count);
    let shape = cx.join_shapes(&inputs);
    set_first_element_shape(cx, shape)
}

/// Source: SequenceAt, `tensor`.
fn sequence_at(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.sequence_of(In(0), Out(0))?;
    element_shape(cx, In(0), Out(0)).map_or(Ok(()), |shape| cx.set_shape(Out(0), &shape))
}

/// Source: SequenceInsert, `output_sequence`.
fn sequence_insert(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.sequence_of(In(0), In(1))?;
    cx.same_type(In(0), Out(0))?;
    let before = length(cx, In(0));
    let after = before.map(|length| cx.dims().add(length, DimId::ONE));
    set_length(cx, after);
    // The element inserted into an empty sequence is its only one.
    let shape = match before.and_then(|length| cx.const_dim(length)) {
        Some(0) => cx.shape(In(1)),
        Some(_) | None => cx.join_shapes(&[In(0), In(1)]),
    };
    set_first_element_shape(cx, shape)
}

fn position(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let inserts = cx.schema().is_some_and(|schema| &*schema.name == "SequenceInsert");
    let at = if inserts { In(2) } else { In(1) };
    require_one_element(cx, at, "a position must be a single number")?;
    let (Some(position), Some(length)) = (cx.const_int(at), length(cx, In(0))) else { return Ok(()) };
    let needed = match position {
        0.. if inserts => position,
        0.. => position.saturating_add(1),
        _ => position.saturating_neg(),
    };
    let needed = cx.dims().constant(needed);
    let relation = "are the required and the present number of elements";
    require_at_most(cx, (at, needed), (In(0), length), relation)
}

/// Source: SplitToSequence, `split`, `axis` and `keepdims`.
fn split_to_sequence(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.sequence_of(Out(0), In(0))?;
    cx.require_rank(In(1), ..=1)?;
    let axis = cx.attr_int("axis")?.unwrap_or(0);
    let keep = cx.attr_int("keepdims")?.unwrap_or(1) != 0;
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.axis_of(In(0), "axis", axis, shape.len())?;
    if cx.rank(Out(0)).is_some() {
        return Ok(());
    }
    let parts = cx.ints(In(1));
    let length = match &parts {
        None if !cx.has(In(1)) => Some(shape[axis]),
        None => None,
        Some(parts) => match (&parts.shape[..], &parts.items[..]) {
            ([], [part]) if cx.const_dim(*part).is_some_and(|part| part > 0) => {
                Some(cx.dims().ceil_div(shape[axis], *part))
            }
            ([count], _) => i64::try_from(*count).ok().map(|count| cx.dims().constant(count)),
            (_, _) => None,
        },
    };
    set_length(cx, length);
    if !cx.has(In(1)) {
        if keep {
            shape[axis] = DimId::ONE;
        } else {
            shape.remove(axis);
        }
        return cx.set_element_shape(Out(0), &shape);
    }
    let extent = cx.const_dim(shape[axis]);
    shape[axis] = match (parts, extent) {
        (Some(parts), extent) => {
            if parts.shape.len() == 1 && extent.is_none() {
                let sum = cx.dims().sum(&parts.items);
                let relation = "are an extent and the sum of its parts";
                cx.require_equal((In(0), axis, shape[axis]), (In(1), sum), relation)?;
            }
            part_extent(cx, &parts, extent)?
        }
        (None, Some(_) | None) => cx.fresh(),
    };
    cx.set_element_shape(Out(0), &shape)
}

/// The common extent of all parts, if there is one.
fn part_extent(cx: &mut RuleCx<'_, '_>, parts: &Ints, extent: Option<i64>) -> RuleResult<DimId> {
    let constants: Option<Vec<i64>> = parts.items.iter().map(|part| cx.const_dim(*part)).collect();
    let Some(constants) = constants else { return Ok(cx.fresh()) };
    if constants.iter().any(|part| *part < 0 || (parts.shape.is_empty() && *part == 0)) {
        return Err(RuleError::value(
            In(1),
            "holds a length of a part that is negative, or not greater than zero for all parts",
        ));
    }
    match (parts.shape.len(), &constants[..], extent) {
        // A scalar is the length of every part except possibly the last.
        (0, [part], Some(extent)) if extent % part == 0 => Ok(cx.dims().constant(*part)),
        (0, [_], _) => Ok(cx.fresh()),
        (_, parts, extent) => {
            let sum = parts.iter().try_fold(0_i64, |sum, part| sum.checked_add(*part));
            if let (Some(sum), Some(extent)) = (sum, extent)
                && sum != extent
            {
                let message = format!("holds parts with the sum {sum}, but the axis has {extent}");
                return Err(RuleError::value(In(1), message));
            }
            match parts {
                [first, rest @ ..] if rest.iter().all(|part| part == first) => Ok(cx.dims().constant(*first)),
                [] | [_, ..] => Ok(cx.fresh()),
            }
        }
    }
}

/// Source: ConcatFromSequence, `axis` and `new_axis`.
fn concat_from_sequence(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.sequence_of(In(0), Out(0))?;
    let axis = cx.attr_int("axis")?.unwrap_or(0);
    let new_axis = cx.attr_flag("new_axis")?;
    if cx.rank(Out(0)).is_some() {
        return Ok(());
    }
    let Some(mut shape) = element_shape(cx, In(0), Out(0)) else { return Ok(()) };
    let rank = shape.len() + usize::from(new_axis);
    let axis = cx.axis("axis", axis, rank)?;
    let length = length(cx, In(0));
    if new_axis {
        let count = length.unwrap_or_else(|| cx.fresh());
        shape.insert(axis, count);
        return cx.set_shape(Out(0), &shape);
    }
    // A named extent is that of every element.
    shape[axis] = match length {
        Some(length) if !cx.dims().is_anonymous(shape[axis]) => cx.dims().mul(length, shape[axis]),
        Some(_) | None => cx.fresh(),
    };
    cx.set_shape(Out(0), &shape)
}

/// Source: Optional, `input` and `type`.
fn optional(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    if cx.has(In(0)) {
        cx.optional_of(Out(0), In(0))?;
        return cx.same_shape(In(0), Out(0));
    }
    match cx.attr_type("type")? {
        Some(ty) => cx.set_optional_type(Out(0), ty),
        None => Err(RuleError::attribute("type", "must be given if there is no input")),
    }
}

/// From version 18 on, a value that is not an optional is returned unchanged. Source: OptionalGetElement,
/// `output`.
fn optional_get_element(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    match cx.kind(In(0)) {
        Kind::Unknown if cx.since_version() < 18 => cx.optional_of(In(0), Out(0))?,
        Kind::Unknown | Kind::Error => return Ok(()),
        Kind::Optional => cx.optional_of(In(0), Out(0))?,
        Kind::Sequence | Kind::Other => cx.same_type(In(0), Out(0))?,
    }
    cx.same_shape(In(0), Out(0))
}
