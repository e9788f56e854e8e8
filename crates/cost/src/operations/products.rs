//! Products: matrices, convolutions and recurrent cells.

use std::collections::BTreeMap;

use typeloom_dim::DimId;

use super::{Node, Operations};
use crate::amount::Amount;

/// Operations to convert a sum of integers to its quantised result: scale, round, add the zero point,
/// saturate.
const REQUANTISE: i128 = 4;

/// Each result is a sum over the input channels of its group and the window: the extents of the weights
/// after the first one.
pub(super) fn convolution(
    node: &mut Node<'_, '_>,
    weights: usize,
    bias: Option<usize>,
) -> Option<Operations> {
    let window = node.input(weights)?.get(1..)?;
    let results = node.result_count()?;
    let window = node.dims.product(window);
    let macs = results.times(node.dims, window);
    let has_bias = bias.is_some_and(|at| node.has_input(at));
    Some(Operations { macs, other: if has_bias { results } else { Amount::default() } })
}

/// Each element of the input is multiplied with the window of each output channel of its group.
pub(super) fn transposed_convolution(node: &mut Node<'_, '_>) -> Option<Operations> {
    let window = node.input(1)?.get(1..)?;
    let elements = node.input_count(0)?;
    let window = node.dims.product(window);
    let macs = elements.times(node.dims, window);
    let other = if node.has_input(2) { node.result_count()? } else { Amount::default() };
    Some(Operations { macs, other })
}

/// As `formula`, with a quantised result.
pub(super) fn quantized<'n, 'a>(
    node: &mut Node<'n, 'a>,
    formula: impl FnOnce(&mut Node<'n, 'a>) -> Option<Operations>,
) -> Option<Operations> {
    let mut operations = formula(node)?;
    operations.other.add(&node.result_count()?, REQUANTISE);
    Some(operations)
}

fn product(node: &mut Node<'_, '_>, inner: DimId) -> Option<Operations> {
    let results = node.result_count()?;
    Some(Operations { macs: results.times(node.dims, inner), other: Amount::default() })
}

/// Each result is a sum over the last axis of the first operand.
pub(super) fn matmul(node: &mut Node<'_, '_>) -> Option<Operations> {
    let inner = *node.input(0)?.last()?;
    product(node, inner)
}

pub(super) fn fused_matmul(node: &mut Node<'_, '_>) -> Option<Operations> {
    let shape = node.input(0)?;
    let back = if node.int("transA", Some(0))? != 0 { 2 } else { 1 };
    let inner = *shape.get(shape.len().checked_sub(back)?)?;
    product(node, inner)
}

/// `alpha * A * B + beta * C`.
pub(super) fn gemm(node: &mut Node<'_, '_>) -> Option<Operations> {
    let axis = usize::from(node.int("transA", Some(0))? == 0);
    let inner = *node.input(0)?.get(axis)?;
    let mut operations = product(node, inner)?;
    let has_bias = node.has_input(2);
    let scales = i128::from(node.float("alpha", 1.0)? != 1.0)
        + i128::from(has_bias && node.float("beta", 1.0)? != 1.0);
    operations.other.add(&node.result_count()?, scales + i128::from(has_bias));
    Some(operations)
}

/// One multiply-accumulate for each combination of indices and each operand after the first.
pub(super) fn einsum(node: &mut Node<'_, '_>) -> Option<Operations> {
    let equation = std::str::from_utf8(node.text("equation")??).ok()?;
    let operands: Vec<&str> = equation.split("->").next()?.split(',').collect();
    if equation.contains("...") || operands.len() as i128 != node.input_total() {
        return None;
    }
    let mut extents: BTreeMap<char, DimId> = BTreeMap::new();
    for (at, operand) in operands.iter().enumerate() {
        let letters = operand.chars().filter(|letter| !letter.is_whitespace());
        for (letter, dim) in letters.zip(node.input(at)?) {
            let known = extents.entry(letter).or_insert(*dim);
            // A broadcast axis.
            if *known == DimId::ONE {
                *known = *dim;
            }
        }
    }
    let extents: Vec<DimId> = extents.into_values().collect();
    let combinations = node.dims.product(&extents);
    let combinations = Amount::of_dim(node.dims, combinations);
    let products = operands.len() as i128 - 1;
    if products > 0 {
        return Some(Operations { macs: combinations.scaled(products), other: Amount::default() });
    }
    let is_sum = node.result_count()? != combinations;
    Some(super::other(if is_sum { combinations } else { Amount::default() }))
}

/// A recurrent cell: the products of its weights in each step of the sequence, and the default activations.
pub(super) fn recurrent(node: &mut Node<'_, '_>) -> Option<Operations> {
    let [first, second, _] = *node.input(0)? else { return None };
    let [directions, gates, hidden] = *node.input(2)? else { return None };
    let steps = node.dims.mul(first, second);
    let mut macs = node.input_count(1)?;
    macs.add(&node.input_count(2)?, 1);
    let macs = macs.times(node.dims, steps);
    // Sigmoids have 4 operations, `tanh` has one. Then the states are combined.
    let cell = match node.name {
        "LSTM" => 3 * 4 + 2 + 4,
        "GRU" => 2 * 4 + 1 + 5,
        _ => 1,
    };
    let cells = [steps, directions, hidden].into_iter().fold(DimId::ONE, |all, dim| node.dims.mul(all, dim));
    let mut other = Amount::of_dim(node.dims, cells).scaled(cell);
    // The two products are added, each with its bias.
    let sums = [steps, directions, gates].into_iter().fold(DimId::ONE, |all, dim| node.dims.mul(all, dim));
    let sums = Amount::of_dim(node.dims, sums);
    other.add(&sums, if node.has_input(3) { 3 } else { 1 });
    Some(Operations { macs, other })
}
