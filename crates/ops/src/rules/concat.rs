//! Operators that join and cut along one axis: Concat and Split.

use typeloom_solver::dim::{Decision, DimId};
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{DimVec, Failure, Ints, Port, Rule, RuleCx};

use super::Entry;
use super::common::{Source, list, unknown_extent};
use super::items::{Items, MOST, separable, strides, whole};

/// The inputs have one shape but for `axis`, along which the output is as long as all of them.
/// Source: Concat, `axis`.
const CONCAT: Rule = Rule { name: "concat.axis", run: concat };

/// The elements of the inputs, one after the other along the axis. Source: Concat.
const CONCAT_VALUE: Rule = Rule { name: "concat.value", run: concat_value };

/// The outputs have the shape of the input but for `axis`, whose extents add up to the input's: those that
/// `split` lists, or else parts of one size, of which the last one may be smaller from version 18 on.
/// Source: Split, `split` and `num_outputs`.
const SPLIT: Rule = Rule { name: "split.axis", run: split };

pub(super) const OPERATORS: &[Entry] =
    &[Entry::of("Concat", &[CONCAT, CONCAT_VALUE]), Entry::of("Split", &[SPLIT])];

/// `axis` of version 1 has no default in the table, but one in the text: 1.
fn concat_axis(cx: &RuleCx<'_, '_>, rank: usize) -> Result<usize, Failure> {
    let axis = cx.attr_int("axis")?.unwrap_or(1);
    cx.axis("axis", axis, rank)
}

fn concat(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let mut result: Option<(Port, DimVec)> = None;
    let mut along: Option<DimVec> = Some(DimVec::new());
    for port in (0..cx.input_count()).map(In) {
        if !cx.has(port) {
            continue;
        }
        let Some(shape) = cx.shape(port) else {
            along = None;
            continue;
        };
        let axis = concat_axis(cx, shape.len())?;
        if let Some(along) = &mut along {
            along.push(shape[axis]);
        }
        let Some((first, joined)) = &mut result else {
            result = Some((port, shape));
            continue;
        };
        if joined.len() != shape.len() {
            let message = format!("tensors of {} and of {} axes are joined", joined.len(), shape.len());
            return Err(Failure::shapes(&[*first, port], message));
        }
        for (at, (known, dim)) in joined.iter_mut().zip(&shape).enumerate() {
            if at != axis && *known != *dim {
                *known = cx.require_equal(
                    (*first, at, *known),
                    (port, at, *dim),
                    "are joined along another axis",
                )?;
            }
        }
    }
    let Some((_, mut joined)) = result else { return Ok(()) };
    let axis = concat_axis(cx, joined.len())?;
    joined[axis] = match along {
        Some(extents) => cx.dims().sum(&extents),
        None => unknown_extent(cx, Out(0), axis),
    };
    cx.set_shape(Out(0), &joined)
}

/// The most elements of an input of which nothing but their number is known, beside one whose elements are.
const MOST_UNKNOWN: i64 = 64;

/// Whether a tensor of this element type is followed as integers.
fn is_integral(elem: Elem) -> bool {
    [Elem::INT64, Elem::INT32, Elem::BOOL].contains(&elem)
}

fn concat_value(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let inputs: Vec<Port> = (0..cx.input_count()).map(In).filter(|port| cx.has(*port)).collect();
    if let [only] = inputs[..] {
        cx.copy_data(only, Out(0));
        return Ok(());
    }
    let known: Vec<Option<Items>> = inputs.iter().map(|port| Items::at(cx, *port)).collect();
    let Some(first) = known.iter().flatten().next() else { return Ok(()) };
    let rank = first.shape().len();
    if rank == 0 || cx.ints(Out(0)).is_some() {
        return Ok(());
    }
    let integral = matches!(first, Items::Ints(_)) && rank == 1 && cx.elem(Out(0)).is_some_and(is_integral);
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
    let axis = concat_axis(cx, rank)?;
    join(cx, &parts, axis);
    Ok(())
}

/// A short vector of which nothing but the length is known.
fn unknown_items(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<Items> {
    let [length] = cx.shape(port)?[..] else { return None };
    let length = cx.const_dim(length).filter(|length| (0..=MOST_UNKNOWN).contains(length))?;
    let items: Vec<DimId> = (0..length).map(|_| cx.dims().fresh_integer()).collect();
    Some(Items::Ints(Ints::vector(items).into()))
}

/// Joins constants along an axis: one block of each in turn, as often as there are outer indices.
fn join(cx: &mut RuleCx<'_, '_>, parts: &[Items], axis: usize) {
    let Some(first) = parts.first() else { return };
    let mut shape = first.shape().to_vec();
    let outer: usize = shape[..axis].iter().product();
    shape[axis] = parts.iter().map(|part| part.shape()[axis]).sum();
    let total: usize = parts.iter().map(Items::len).sum();
    let fits =
        |part: &Items| part.shape().iter().enumerate().all(|(at, extent)| at == axis || *extent == shape[at]);
    if total > MOST || !parts.iter().all(fits) {
        return;
    }
    // Positions in all parts laid end to end.
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

/// The elements of all parts, one part after the other; `None` if they are of two kinds.
fn end_to_end(parts: &[Items]) -> Option<Items> {
    let mut ints = Vec::new();
    let mut floats = Vec::new();
    for part in parts {
        match part {
            Items::Ints(part) => ints.extend_from_slice(&part.items),
            Items::Floats(part) => floats.extend_from_slice(&part.items),
        }
    }
    match (ints.is_empty(), floats.is_empty()) {
        (_, true) => Some(Items::Ints(Ints::vector(ints).into())),
        (true, false) => {
            let shape = Box::new([floats.len()]);
            Some(Items::Floats(typeloom_solver::rule::Floats { shape, items: floats.into() }.into()))
        }
        (false, false) => None,
    }
}

fn split(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let outputs = cx.output_count();
    let parts = split_parts(cx, outputs)?;
    let Some(shape) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.attr_int("axis")?.unwrap_or(0);
    let axis = cx.axis("axis", axis, shape.len())?;
    let extents = match parts {
        Parts::Listed(source, extents) => {
            listed_parts(cx, source, &extents, (axis, shape[axis]))?;
            extents
        }
        Parts::Equal { uneven } => equal_parts(cx, (axis, shape[axis]), outputs, uneven)?,
        Parts::Unknown if outputs == 1 => DimVec::from_slice(&[shape[axis]]),
        Parts::Unknown => (0..outputs).map(|at| unknown_extent(cx, Out(at), axis)).collect(),
    };
    for (at, extent) in extents.iter().enumerate() {
        let mut part = shape.clone();
        part[axis] = *extent;
        cx.set_shape(Out(at), &part)?;
    }
    split_value(cx, axis, &extents);
    Ok(())
}

/// How Split cuts.
enum Parts {
    /// Into parts of these extents.
    Listed(Source, DimVec),
    /// Into parts of one size; where `uneven`, the last one may be smaller.
    Equal { uneven: bool },
    /// Only the run knows.
    Unknown,
}

fn split_parts(cx: &mut RuleCx<'_, '_>, outputs: usize) -> Result<Parts, Failure> {
    let count = cx.attr_int("num_outputs")?;
    let Some(given) = list(cx, "split", 1)? else {
        return match count {
            None if cx.since_version() >= 18 => {
                Err(Failure::attribute("num_outputs", "must be given where the input split is left out"))
            }
            Some(count) if usize::try_from(count) != Ok(outputs) => Err(Failure::attribute(
                "num_outputs",
                format!("is {count}, but the node has {outputs} outputs"),
            )),
            Some(_) => Ok(Parts::Equal { uneven: true }),
            None => Ok(Parts::Equal { uneven: false }),
        };
    };
    if count.is_some() {
        return Err(Failure::attribute(
            "num_outputs",
            "is given beside the input split, and only one of them may be",
        ));
    }
    if let Some(len) = given.len
        && len != outputs
    {
        return Err(given.source.fault(format!("lists {len} parts, but the node has {outputs} outputs")));
    }
    Ok(match given.items {
        Some(extents) => Parts::Listed(given.source, extents),
        None => Parts::Unknown,
    })
}

/// The parts are extents, and add up to that of the axis.
fn listed_parts(
    cx: &mut RuleCx<'_, '_>,
    source: Source,
    extents: &[DimId],
    (axis, whole): (usize, DimId),
) -> Result<(), Failure> {
    for extent in extents {
        super::common::require_extent(cx, source, *extent)?;
    }
    let sum = cx.dims().sum(extents);
    if cx.dims().compare(sum, whole) == Decision::Different {
        let (sum, whole) = (cx.dims().display(sum).to_string(), cx.dims().display(whole).to_string());
        return Err(source.fault(format!("adds up to {sum}, but axis {axis} has extent {whole}")));
    }
    cx.require_equal((In(0), axis, whole), sum, "are an extent and the sum of its parts").map(drop)
}

fn equal_parts(
    cx: &mut RuleCx<'_, '_>,
    (axis, whole): (usize, DimId),
    outputs: usize,
    uneven: bool,
) -> Result<DimVec, Failure> {
    let count = i64::try_from(outputs).unwrap_or(i64::MAX);
    let divisor = cx.dims().constant(count);
    let zero = cx.dims().constant(0);
    let fault = |cx: &mut RuleCx<'_, '_>| {
        let whole = cx.dims().display(whole).to_string();
        Failure::shapes(
            &[In(0)],
            format!("axis {axis} of extent {whole} cannot be split into {count} parts of one size"),
        )
    };
    if uneven {
        let size = cx.dims().ceil_div(whole, divisor);
        let before = cx.dims().constant(count - 1);
        let before = cx.dims().mul(size, before);
        let last = cx.dims().sub(whole, before);
        if cx.const_dim(last).is_some_and(|last| last < 0) {
            return Err(fault(cx));
        }
        let mut extents: DimVec = (1..outputs).map(|_| size).collect();
        extents.push(last);
        return Ok(extents);
    }
    let remainder = cx.dims().modulo(whole, divisor);
    if cx.dims().compare(remainder, zero) == Decision::Different {
        return Err(fault(cx));
    }
    // Only an exact quotient passes at run time, so rounding changes nothing.
    let size = cx.dims().floor_div(whole, divisor);
    Ok((0..outputs).map(|_| size).collect())
}

fn split_value(cx: &mut RuleCx<'_, '_>, axis: usize, extents: &[DimId]) {
    let Some(items) = Items::at(cx, In(0)) else { return };
    let sizes = extents.iter().map(|dim| cx.const_dim(*dim).and_then(|extent| usize::try_from(extent).ok()));
    let Some(sizes) = sizes.collect::<Option<Vec<usize>>>() else { return };
    if items.shape().get(axis) != Some(&sizes.iter().sum()) {
        return;
    }
    let strides = strides(items.shape());
    let mut start = 0;
    for (at, size) in sizes.into_iter().enumerate() {
        let axes: Vec<_> = (0..items.shape().len())
            .map(|other| {
                if other == axis {
                    (start..start + size).map(|index| Some(index * strides[axis])).collect()
                } else {
                    whole(items.shape()[other], strides[other])
                }
            })
            .collect();
        if let Some((shape, positions)) = separable(&axes) {
            items.put(cx, Out(at), &shape, &positions);
        }
        start += size;
    }
}
