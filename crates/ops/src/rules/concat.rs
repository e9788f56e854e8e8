//! Operators that join and split along one axis: Concat and Split.
//!
//! `Concat` adds extents along its axis and requires equal ones along the others. `Split` is the inverse: its
//! parts add up to the extent.
//!
//! ```text
//! Concat <axis = 1> (float[B, P, 8], float[B, S, 8])     float[B, P + S, 8]
//! Split (float[N]), 2 equal parts                        float[N//2] twice, if N = 2*(N//2)
//! Split <num_outputs = 2> (float[N]), version 18         float[(N - 1)//2 + 1] and float[N//2], if N//2 >= 1
//! ```
//!
//! Exporters assemble shapes with these operators, so their values are followed. `Concat` tries the forms of
//! constants in order: positions as affine functions ([`affine`]), then lists of elements ([`Items`]). An
//! input of unknown elements becomes a list of fresh integers if it is a vector of at most [`MAX_UNKNOWN`]
//! elements, so that the extents next to it stay known. `Split` follows both forms.
//!
//! **Invariant:** the sum of extents that are numbers fits in an `i64`, or is an error.
//!
//! **Invariant:** a joined constant has elements of one kind. If a float input has symbols, all inputs are
//! converted to whole numbers, or the result is unknown.
//!
//! The shapes take time linear in the inputs times their rank, the values linear in the elements, of which
//! there are at most [`MAX_ITEMS`]. A larger constant is recorded as dropped.
//!
//! **Limit:** from version 18 on, an empty last part of an even split is an error, as in ONNX Runtime.

use smallvec::SmallVec;
use typeloom_dim::shape::DimVec;
use typeloom_dim::{Decision, DimId};
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Ints, Port, Rule, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::common::{Source, const_extents, list, require_multiple, unknown_extent};
use super::items::{Items, MAX_ITEMS, picked, whole_items};
use super::{Entry, affine};

/// The inputs have the same shape except for `axis`, whose output extent is the sum. Source: Concat, `axis`.
const CONCAT: Rule = Rule { name: "concat.axis", run: concat };

/// The concatenated elements of the inputs. Source: Concat.
const CONCAT_VALUE: Rule = Rule { name: "concat.value", run: concat_value };

/// The outputs have the shape of the input except for `axis`, whose extents add up to that of the input. They
/// are listed in `split`, or equal; from version 18 on, the last one may be smaller. Source: Split, `split`
/// and `num_outputs`.
const SPLIT: Rule = Rule { name: "split.axis", run: split };

pub(super) const OPERATORS: &[Entry] =
    &[Entry::of("Concat", &[CONCAT, CONCAT_VALUE]), Entry::of("Split", &[SPLIT])];

/// The default of `axis` in version 1, which only the prose of the specification states.
const AXIS: i64 = 1;

fn concat(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let ports: SmallVec<[Port; 8]> = (0..cx.input_count()).map(In).collect();
    concat_ports(cx, &ports)
}

/// Joins some of the inputs.
pub(super) fn concat_ports(cx: &mut RuleCx<'_, '_>, ports: &[Port]) -> RuleResult {
    let mut result: Option<(Port, DimVec)> = None;
    let mut along: Option<DimVec> = Some(DimVec::new());
    for port in ports.iter().copied() {
        if !cx.has(port) {
            continue;
        }
        let Some(shape) = cx.shape(port) else {
            along = None;
            continue;
        };
        let axis = cx.axis_attr(port, "axis", AXIS, shape.len())?;
        if let Some(along) = &mut along {
            along.push(shape[axis]);
        }
        let Some((first, joined)) = &mut result else {
            result = Some((port, shape));
            continue;
        };
        if joined.len() != shape.len() {
            let message = format!("tensors of {} and of {} axes are joined", joined.len(), shape.len());
            return Err(RuleError::shapes(&[*first, port], message));
        }
        for (at, (known, dim)) in joined.iter_mut().zip(&shape).enumerate() {
            if at != axis && *known != *dim {
                let relation = "are joined along another axis";
                *known = cx.require_equal((*first, at, *known), (port, at, *dim), relation)?;
            }
        }
    }
    let Some((first, mut joined)) = result else { return Ok(()) };
    let axis = cx.axis_attr(first, "axis", AXIS, joined.len())?;
    joined[axis] = match along {
        Some(extents) => joined_extent(cx, ports, &extents)?,
        None => unknown_extent(cx, Out(0), axis),
    };
    cx.set_shape(Out(0), &joined)
}

/// The sum of the extents along the axis; an error if those that are numbers overflow.
fn joined_extent(cx: &mut RuleCx<'_, '_>, ports: &[Port], extents: &[DimId]) -> RuleResult<DimId> {
    let numbers = extents.iter().filter_map(|extent| cx.const_dim(*extent)).map(i128::from);
    if numbers.sum::<i128>() > i128::from(i64::MAX) {
        let message = "the joined axis is longer than any tensor can be: its extent would overflow";
        return Err(RuleError::shapes(ports, message.to_owned()));
    }
    Ok(cx.dims().sum(extents))
}

/// Maximum length of an input of unknown elements that is joined with known elements.
const MAX_UNKNOWN: i64 = 64;

/// Whether tensors of this element type are tracked as integers.
fn is_integral(elem: Elem) -> bool {
    [Elem::INT64, Elem::INT32, Elem::BOOL].contains(&elem)
}

fn concat_value(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let inputs: SmallVec<[Port; 8]> = (0..cx.input_count()).map(In).filter(|port| cx.has(*port)).collect();
    if let [only] = inputs[..] {
        cx.copy_data(only, Out(0));
        return Ok(());
    }
    if let Some(rank) = cx.rank(Out(0))
        && affine::moves::concat(cx, &inputs, cx.axis_attr(inputs[0], "axis", AXIS, rank)?)
    {
        return Ok(());
    }
    // Only integers may be unknown.
    let is_integral = cx.elem(Out(0)).is_some_and(is_integral);
    let mut known: SmallVec<[Option<Items>; 2]> = SmallVec::new();
    for port in inputs.iter().copied() {
        let items = Items::at(cx, port);
        if items.is_none() && !is_integral {
            return Ok(());
        }
        known.push(items);
    }
    let Some(first) = known.iter().flatten().next() else { return Ok(()) };
    let rank = first.shape().len();
    if rank == 0 || cx.ints(Out(0)).is_some() {
        return Ok(());
    }
    let integral = matches!(first, Items::Ints(_)) && rank == 1 && is_integral;
    let mut parts: Vec<Items> = Vec::with_capacity(inputs.len());
    for (port, items) in inputs.iter().zip(known) {
        match items {
            Some(items) if items.shape().len() == rank => parts.push(items),
            Some(_) => return Ok(()),
            None if integral => match unknown_items(cx, *port) {
                Some(items) => parts.push(items),
                None => return Ok(()),
            },
            None => return Ok(()),
        }
    }
    let axis = cx.axis_attr(inputs[0], "axis", AXIS, rank)?;
    // If some floats are symbolic integers, all parts must be integers.
    let ints = |items: &Items| matches!(items, Items::Ints(_));
    if parts.iter().any(ints) && !parts.iter().all(ints) {
        let whole = inputs.iter().map(|port| whole_items(cx, *port).map(Items::Ints)).collect();
        let Some(whole) = whole else { return Ok(()) };
        parts = whole;
    }
    join(cx, &parts, axis);
    Ok(())
}

/// Unknown elements for a short vector of known length.
fn unknown_items(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<Items> {
    let [length] = cx.shape(port)?[..] else { return None };
    let length = cx.const_dim(length)?;
    if length > MAX_UNKNOWN {
        cx.drop_constant(Out(0));
        return None;
    }
    let items: Vec<DimId> = (0..length).map(|_| cx.dims().fresh_integer()).collect();
    Some(Items::Ints(Ints::vector(items).into()))
}

/// Joins constants along an axis: one block of each part in turn, for each outer index.
fn join(cx: &mut RuleCx<'_, '_>, parts: &[Items], axis: usize) {
    let Some(first) = parts.first() else { return };
    let mut shape = first.shape().to_vec();
    let outer: usize = shape[..axis].iter().product();
    shape[axis] = parts.iter().map(|part| part.shape()[axis]).sum();
    let total: usize = parts.iter().map(Items::len).sum();
    let fits =
        |part: &Items| part.shape().iter().enumerate().all(|(at, extent)| at == axis || *extent == shape[at]);
    if !parts.iter().all(fits) {
        return;
    }
    if total > MAX_ITEMS {
        cx.drop_constant(Out(0));
        return;
    }
    // Positions in the concatenation of all parts.
    let mut order = Vec::with_capacity(total);
    for index in 0..outer {
        let mut start = 0;
        for part in parts {
            let block = part.len().checked_div(outer).unwrap_or(0);
            order.extend((0..block).map(|at| Some(start + index * block + at)));
            start += part.len();
        }
    }
    if let Some(all) = end_to_end(parts) {
        all.put(cx, Out(0), &shape, &order);
    }
}

/// The concatenated elements of all parts; `None` if they are of different kinds.
fn end_to_end(parts: &[Items]) -> Option<Items> {
    let (mut ints, mut floats) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Items::Ints(part) => ints.extend_from_slice(&part.items),
            Items::Floats(part) => floats.extend_from_slice(&part.items),
        }
    }
    match (ints.is_empty(), floats.is_empty()) {
        (_, true) => Some(Items::Ints(Ints::vector(ints).into())),
        (true, false) => {
            let shape = smallvec::smallvec![floats.len()];
            Some(Items::Floats(typeloom_solver::rule::Floats { shape, items: floats.into() }.into()))
        }
        (false, false) => None,
    }
}

fn split(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let outputs = cx.output_count();
    let parts = split_parts(cx, outputs)?;
    let Some(shape) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.axis_attr(In(0), "axis", 0, shape.len())?;
    let is_uneven = matches!(parts, Parts::Equal { uneven: true });
    let extents = match parts {
        Parts::Listed(source, extents) => {
            listed_parts(cx, source, &extents, (axis, shape[axis]))?;
            extents
        }
        Parts::Equal { uneven } => {
            let extents = equal_parts(cx, (axis, shape[axis]), outputs, uneven)?;
            if uneven
                && let Some(last) = extents.last().copied()
                && cx.const_dim(last).is_none_or(|last| last > 0)
            {
                // ONNX Runtime rejects an empty part.
                let relation = "are the least extent of the last part and its extent";
                cx.require_at_most((In(0), DimId::ONE), (In(0), last), relation)?;
            }
            extents
        }
        Parts::Unknown if outputs == 1 => DimVec::from_slice(&[shape[axis]]),
        Parts::Unknown => (0..outputs).map(|at| unknown_extent(cx, Out(at), axis)).collect(),
    };
    for (at, extent) in extents.iter().enumerate() {
        let least = i64::from(is_uneven && at + 1 == outputs);
        if cx.const_dim(*extent).is_some_and(|extent| extent < least) {
            let message = format!("nothing of axis {axis} is left for part {at}");
            return Err(RuleError::shapes(&[In(0)], message));
        }
        let mut part = shape.clone();
        part[axis] = *extent;
        cx.set_shape(Out(at), &part)?;
    }
    split_value(cx, axis, &extents);
    Ok(())
}

/// The parts of Split.
enum Parts {
    /// Parts of these extents.
    Listed(Source, DimVec),
    /// Parts of the same size; if `uneven`, the last one may be smaller.
    Equal { uneven: bool },
    /// Known at run time only.
    Unknown,
}

fn split_parts(cx: &mut RuleCx<'_, '_>, outputs: usize) -> RuleResult<Parts> {
    let count = cx.attr_int("num_outputs")?;
    let Some(given) = list(cx, "split", 1)? else {
        return match count {
            None if cx.since_version() >= 18 => {
                Err(RuleError::attribute("num_outputs", "must be given if the input split is omitted"))
            }
            Some(count) if usize::try_from(count) != Ok(outputs) => {
                let message = format!("is {count}, but the node has {}", counted(outputs, "output"));
                Err(RuleError::attribute("num_outputs", message))
            }
            Some(_) => Ok(Parts::Equal { uneven: true }),
            None => Ok(Parts::Equal { uneven: false }),
        };
    };
    if count.is_some() {
        let message = "is given together with the input split, but only one of them is allowed";
        return Err(RuleError::attribute("num_outputs", message));
    }
    if let Some(len) = given.len
        && len != outputs
    {
        return Err(given.source.error(format!(
            "lists {}, but the node has {}",
            counted(len, "part"),
            counted(outputs, "output")
        )));
    }
    Ok(match given.items {
        Some(extents) => Parts::Listed(given.source, extents),
        None => Parts::Unknown,
    })
}

/// Listed extents, whose sum is the extent of the axis.
fn listed_parts(
    cx: &mut RuleCx<'_, '_>,
    source: Source,
    extents: &[DimId],
    (axis, whole): (usize, DimId),
) -> RuleResult {
    for extent in extents {
        super::common::require_extent(cx, source, *extent)?;
    }
    let sum = cx.dims().sum(extents);
    if cx.dims().compare(sum, whole) == Decision::Different {
        let (sum, whole) = (cx.dims().display(sum).to_string(), cx.dims().display(whole).to_string());
        return Err(source.error(format!("adds up to {sum}, but axis {axis} has extent {whole}")));
    }
    cx.require_equal((In(0), axis, whole), sum, "are an extent and the sum of its parts").map(drop)
}

fn equal_parts(
    cx: &mut RuleCx<'_, '_>,
    (axis, whole): (usize, DimId),
    outputs: usize,
    uneven: bool,
) -> RuleResult<DimVec> {
    if uneven {
        return Ok(chunks(cx, whole, outputs));
    }
    let divisor = cx.count(outputs);
    let remainder = cx.dims().modulo(whole, divisor);
    if cx.dims().compare(remainder, DimId::ZERO) == Decision::Different {
        let whole = cx.dims().display(whole).to_string();
        let message = format!(
            "axis {axis} of extent {whole} cannot be split into {} of one size",
            counted(outputs, "part")
        );
        return Err(RuleError::shapes(&[In(0)], message));
    }
    let relation = "is split into equal parts";
    let size = require_multiple(cx, (In(0), axis, whole), divisor, relation)?;
    Ok((0..outputs).map(|_| size).collect())
}

/// Parts of `ceil(whole / count)` elements; the last one has the remainder.
fn chunks(cx: &mut RuleCx<'_, '_>, whole: DimId, count: usize) -> DimVec {
    let (divisor, others) = (cx.count(count), cx.count(count.saturating_sub(1)));
    let size = cx.dims().ceil_div(whole, divisor);
    let before = cx.dims().mul(size, others);
    // For two parts, the last extent is written as a quotient.
    let last = if count == 2 { cx.dims().floor_div(whole, divisor) } else { cx.dims().sub(whole, before) };
    let mut extents: DimVec = (1..count).map(|_| size).collect();
    extents.push(last);
    extents
}

fn split_value(cx: &mut RuleCx<'_, '_>, axis: usize, extents: &[DimId]) {
    affine::moves::split(cx, axis, extents);
    let Some(items) = Items::at(cx, In(0)) else { return };
    let Some(sizes) = const_extents(cx, extents) else { return };
    if items.shape().get(axis) != Some(&sizes.iter().sum()) {
        return;
    }
    let mut start = 0;
    for (at, size) in sizes.into_iter().enumerate() {
        let pick = |other| (other == axis).then(|| (start..start + size).map(Some).collect());
        if let Some((shape, positions)) = picked(items.shape(), pick) {
            items.put(cx, Out(at), &shape, &positions);
        }
        start += size;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{conditions, error, infer, infer_y};

    #[test]
    fn joined_tensors_add_up_along_the_axis() {
        let graph = "g (float[B, P, 8] a, float[B, S, 8] b) => (y) { y = Concat <axis = 1> (a, b) }";
        assert_eq!(infer_y(13, graph), "float[B, P + S, 8]");
        let graph = "g (float[2, 3] a, float[2, 4] b) => (y) { y = Concat (a, b) }";
        assert_eq!(infer_y(1, graph), "float[2, 7]", "the axis of version 1 is 1 by default");
        let graph = "g (float[2, 3] a, float[] b) => (y) { y = Concat <axis = -1> (a, b) }";
        assert_eq!(infer_y(13, graph), "float[2, ?]");
    }

    #[test]
    fn joined_tensors_agree_on_the_other_axes() {
        assert_eq!(
            error(13, "g (float[2, 3] a, float[3, 3] b) => (y) { y = Concat <axis = 1> (a, b) }"),
            "concat.axis: axis 0 of input 0 and axis 0 of input 1 are joined along another axis"
        );
        assert_eq!(
            error(13, "g (float[2, 3] a, float[2] b) => (y) { y = Concat <axis = 0> (a, b) }"),
            "concat.axis: tensors of 2 and of 1 axes are joined"
        );
        assert_eq!(
            error(13, "g (float[2, 3] a) => (y) { y = Concat <axis = 2> (a) }"),
            "concat.axis: axis is 2, outside [-2, 2) for 2 axes"
        );
        assert_eq!(
            error(
                13,
                "g (float[9223372036854775807] a, float[N] b, float[1] c) => (y) { y = Concat <axis = 0> (a, b, c) }"
            ),
            "concat.axis: the joined axis is longer than any tensor can be: its extent would overflow"
        );
    }

    #[test]
    fn a_joined_shape_may_be_known_in_part() {
        let y = infer_y(
            13,
            "g (float[N, 4] x, int64[1] runtime) => (y) <int64[1] seven = {7}> {
               shape = Shape (x)
               target = Concat <axis = 0> (shape, runtime, seven)
               y = ConstantOfShape (target)
             }",
        );
        assert_eq!(y, "float[N, 4, ?, 7]");
    }

    #[test]
    fn tables_are_joined_block_by_block() {
        let y = infer_y(
            13,
            "g () => (y) <int64[2, 2] a = {1, 2, 3, 4}, int64[2, 1] b = {5, 6}, int64[1] flat = {-1}> {
               joined = Concat <axis = 1> (a, b)
               shape = Reshape (joined, flat)
               y = ConstantOfShape (shape)
             }",
        );
        assert_eq!(y, "float[1, 2, 5, 3, 4, 6]");
    }

    #[test]
    fn a_split_by_a_list_has_the_listed_extents() {
        let types = infer(
            13,
            "g (float[N, 10] x) => () <int64[2] parts = {3, 7}> { a, b = Split <axis = -1> (x, parts) }",
        );
        assert_eq!((types["a"].as_str(), types["b"].as_str()), ("float[N, 3]", "float[N, 7]"));
        let types = infer(2, "g (float[10] x) => () { a, b = Split <split = [4, 6]> (x) }");
        assert_eq!((types["a"].as_str(), types["b"].as_str()), ("float[4]", "float[6]"));
    }

    #[test]
    fn a_split_into_parts_of_one_size_may_have_a_smaller_last_one_from_version_18_on() {
        let types = infer(18, "g (float[7, 3*N] x) => () { a, b, c = Split <num_outputs = 3> (x) }");
        assert_eq!(
            ["a", "b", "c"].map(|name| types[name].as_str()),
            ["float[3, 3*N]", "float[3, 3*N]", "float[1, 3*N]"]
        );
        let types = infer(13, "g (float[7, 3*N] x) => () { a, b, c = Split <axis = 1> (x) }");
        assert_eq!(types["c"], "float[7, N]");
        assert_eq!(
            error(13, "g (float[7] x) => () { a, b = Split (x) }"),
            "split.axis: axis 0 of extent 7 cannot be split into 2 parts of one size"
        );
        let types = infer(18, "g (float[N] x) => () { a, b = Split <num_outputs = 2> (x) }");
        assert_eq!(["a", "b"].map(|name| types[name].as_str()), ["float[(N - 1)//2 + 1]", "float[N//2]"]);
        assert_eq!(
            error(18, "g (float[5] x) => () { a, b, c, d = Split <num_outputs = 4> (x) }"),
            "split.axis: nothing of axis 0 is left for part 3"
        );
    }

    #[test]
    fn parts_fit_the_outputs_and_the_extent() {
        let split = |opset: u32, parts: &str| {
            error(
                opset,
                &format!("g (float[10] x) => () <int64[2] p = {{{parts}}}> {{ a, b = Split (x, p) }}"),
            )
        };
        assert_eq!(split(13, "3, 8"), "split.axis: input 1 adds up to 11, but axis 0 has extent 10");
        assert_eq!(split(13, "12, -2"), "split.axis: input 1 has the negative extent -2");
        assert_eq!(
            error(18, "g (float[10] x) => () { a, b = Split (x) }"),
            "split.axis: num_outputs must be given if the input split is omitted"
        );
        assert_eq!(
            error(18, "g (float[10] x) => () { a, b = Split <num_outputs = 5> (x) }"),
            "split.axis: num_outputs is 5, but the node has 2 outputs"
        );
        assert_eq!(
            error(13, "g (float[10] x) => () <int64[3] p = {3, 3, 4}> { a, b = Split (x, p) }"),
            "split.axis: input 1 lists 3 parts, but the node has 2 outputs"
        );
    }

    #[test]
    fn the_value_of_a_shape_is_split_too() {
        let types = infer(
            13,
            "g (float[A, B, 3] x) => () <int64[2] parts = {1, 2}> {
               shape = Shape (x)
               head, tail = Split (shape, parts)
               y = ConstantOfShape (tail)
             }",
        );
        assert_eq!(types["y"], "float[B, 3]");
    }

    #[test]
    fn parts_need_an_extent_that_they_divide() {
        let graph = "g (float[N] x) => (a, b) { a, b = Split (x) }";
        assert_eq!(conditions(13, graph), ["N = 2*(N//2)"]);
        let graph = "g (float[N] x) => (a, b) { a, b = Split <num_outputs = 2> (x) }";
        assert_eq!(conditions(18, graph), ["N//2 >= 1"]);
    }
}
