//! Caches: inputs that a model returns with more positions, such as keys and values of attention.
//!
//! An input and an output are a pair if their names are equal up to the prefixes `past` and `present` (or
//! their common variants), or else if no other output has the name, and their types differ in one extent
//! only, which grows.

use std::collections::BTreeMap;

use typeloom_dim::{DimId, Dims};
use typeloom_solver::program::{Body, ValueId};

use crate::amount::Amount;
use crate::values::Size;

/// A cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    /// The input.
    pub input: String,
    /// The output that is the input of the next run.
    pub output: String,
    /// The axis that grows.
    pub axis: usize,
    /// The bytes of one position.
    pub bytes: Amount,
}

/// The beginnings of names of inputs and outputs.
const PREFIXES: &[&str] = &[
    "past_key_values",
    "present_key_values",
    "past_key_value",
    "present_key_value",
    "past",
    "present",
    "cache",
    "new_cache",
    "new",
    "next",
];

/// A name without its prefix.
fn stem(name: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).filter(|stem| !stem.is_empty())
}

/// The caches of a model.
pub(crate) fn caches(dims: &mut Dims, body: &Body<'_>, sizes: &[Size]) -> Vec<Cache> {
    let root = body.graph(body.root());
    let outputs: Vec<ValueId> = root.outputs.to_vec();
    let mut by_stem: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, output) in outputs.iter().enumerate() {
        if let Some(stem) = stem(body.value_name(*output)) {
            by_stem.insert(stem, at);
        }
    }
    let mut taken = vec![false; outputs.len()];
    let mut pairs: Vec<(ValueId, usize, usize)> = Vec::new();
    let mut others = Vec::new();
    for input in &root.inputs {
        let named = stem(body.value_name(*input)).and_then(|stem| by_stem.get(stem)).copied();
        let pair = named.and_then(|at| Some((at, growing_axis(dims, sizes, *input, outputs[at])?)));
        match pair.filter(|(at, _)| !taken[*at]) {
            Some((at, axis)) => {
                taken[at] = true;
                pairs.push((*input, at, axis));
            }
            None => others.push(*input),
        }
    }
    // Without names, only the next free outputs are compared, so that the search stays linear.
    let free: Vec<usize> = (0..outputs.len()).filter(|at| !taken[*at]).collect();
    let mut next = 0;
    for input in others {
        let near = free.iter().enumerate().skip(next).take(MAX_SKIPPED);
        let found = near.into_iter().find_map(|(position, at)| {
            Some((position, *at, growing_axis(dims, sizes, input, outputs[*at])?))
        });
        if let Some((position, at, axis)) = found {
            next = position + 1;
            pairs.push((input, at, axis));
        }
    }
    let cache = |dims: &mut Dims, (input, at, axis): (ValueId, usize, usize)| {
        let Size { shape, dtype, .. } = &sizes[input.index()];
        let mut rest: Vec<DimId> = shape.as_deref()?.to_vec();
        rest.remove(axis);
        let bytes = Size::of(dims, Some(rest.into()), *dtype).bytes?;
        let [input, output] = [input, outputs[at]].map(|value| body.value_name(value).to_owned());
        Some(Cache { input, output, axis, bytes })
    };
    pairs.into_iter().filter_map(|pair| cache(dims, pair)).collect()
}

/// Outputs that are compared with an input without a name of a cache.
const MAX_SKIPPED: usize = 8;

/// The only axis whose extents differ, if the output can be longer there.
fn growing_axis(dims: &mut Dims, sizes: &[Size], input: ValueId, output: ValueId) -> Option<usize> {
    let (from, to) = (&sizes[input.index()], &sizes[output.index()]);
    let (before, after) = (from.shape.as_deref()?, to.shape.as_deref()?);
    if from.dtype? != to.dtype? || before.len() != after.len() {
        return None;
    }
    let mut differing = before.iter().zip(after).enumerate().filter(|(_, (from, to))| from != to);
    let (axis, (from, to)) = differing.next()?;
    let growth = dims.sub(*to, *from);
    let grows = dims.bounds(growth).0.is_some_and(|least| least >= 0) || dims.as_symbol(*to).is_some();
    (differing.next().is_none() && grows).then_some(axis)
}
