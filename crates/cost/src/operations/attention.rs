//! Attention: the products of queries with keys and of weights with values, and the softmax between them.

use typeloom_dim::DimId;

use super::{Node, Operations};
use crate::amount::Amount;

/// Scale, mask and softmax of one weight.
const PER_WEIGHT: i128 = 7;

/// The work for queries and results with these elements, keys of `keys` positions, and `rows` softmaxes.
///
/// `queries` has a product with each key along the size of its heads, so `queries * keys` in total, and the
/// results are sums over the keys.
fn of(node: &mut Node<'_, '_>, queries: &Amount, keys: DimId, rows: DimId) -> Option<Operations> {
    let sums = queries.plus(&node.result_count()?);
    let weights = node.dims.mul(rows, keys);
    let other = Amount::of_dim(node.dims, weights).scaled(PER_WEIGHT);
    Some(Operations { macs: sums.times(node.dims, keys), other })
}

/// `heads * queries` for each element of the batch, from a shape `[batch, heads, queries, size]` or
/// `[batch, queries, heads * size]`.
fn rows(node: &mut Node<'_, '_>, heads: &str) -> Option<DimId> {
    match *node.input(0)? {
        [batch, heads, queries, _] => Some(node.dims.product(&[batch, heads, queries])),
        [batch, queries, _] => {
            let heads = node.int(heads, None)?;
            let heads = node.dims.constant(heads);
            Some(node.dims.product(&[batch, heads, queries]))
        }
        _ => None,
    }
}

/// The positions of keys, with those of a cache.
fn keys(node: &mut Node<'_, '_>, cache: usize) -> Option<DimId> {
    let own = match *node.input(1)? {
        [_, _, keys, _] | [_, keys, _] => keys,
        _ => return None,
    };
    if !node.has_input(cache) {
        return Some(own);
    }
    match *node.input(cache)? {
        [_, _, past, _] => Some(node.dims.add(own, past)),
        _ => None,
    }
}

/// The operator of ONNX.
pub(super) fn attention(node: &mut Node<'_, '_>) -> Option<Operations> {
    let (queries, keys, rows) = (node.input_count(0)?, keys(node, 4)?, rows(node, "q_num_heads")?);
    of(node, &queries, keys, rows)
}

/// Queries, keys and values in separate inputs.
pub(super) fn multi_head(node: &mut Node<'_, '_>) -> Option<Operations> {
    let (queries, keys, rows) = (node.input_count(0)?, keys(node, 6)?, rows(node, "num_heads")?);
    of(node, &queries, keys, rows)
}

/// Queries have the size of the results. The cache in the second output has all positions.
pub(super) fn grouped(node: &mut Node<'_, '_>) -> Option<Operations> {
    let [_, _, keys, _] = *node.output(1)? else { return None };
    let (queries, rows) = (node.result_count()?, rows(node, "num_heads")?);
    of(node, &queries, keys, rows)
}
