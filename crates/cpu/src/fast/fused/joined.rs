//! Float convolutions whose results are concatenated along the channels.
//!
//! Their products are computed together, so that threads wait for each other once, and each writes to its
//! part of the result, so that nothing is copied.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use super::convolution::Convolution;
use super::{FusedError, Node};
use crate::error::{KernelError, KernelErrorKind};
use crate::fast::convolution::Convolved;
use crate::memory;
use crate::ops::filter::Filter;
use crate::ops::slice::joined_shape;
use crate::ops::sliding::Windows;

/// Convolutions and a node that concatenates their results.
#[derive(Clone, Debug)]
pub(super) struct Joined(Vec<Convolution>);

impl Joined {
    /// Whether the node concatenates the results of these convolutions, and a kernel can compute them
    /// together.
    pub(super) fn fits(parts: &[&Convolution], node: &Node<'_>) -> bool {
        let Some(first) = parts.first() else { return false };
        let rank = first.filter().shape().len();
        let axis = match node.attributes.int("axis") {
            Ok(Some(axis)) => axis,
            Ok(None) if node.version < 4 => 1,
            Ok(None) | Err(_) => return false,
        };
        let are_equal = |part: &&Convolution| {
            let filter = part.filter();
            filter.dtype() == first.filter().dtype() && filter.shape().len() == rank && filter.is_product()
        };
        node.operator.name() == "Concat"
            && node.outputs == 1
            && parts.len() > 1
            && (axis == 1 || axis == 1 - rank as i64)
            && parts.iter().all(|part| part.is_alone())
            && parts.iter().all(are_equal)
    }

    pub(super) fn new(parts: Vec<Convolution>) -> Self {
        Self(parts)
    }

    /// Runs the kernel on the inputs of the convolutions.
    ///
    /// # Errors
    /// [`FusedError`] with the node that failed; nodes are numbered in the order of the convolutions, and the
    /// concatenation is the last.
    pub(super) fn run(&self, inputs: Vec<Option<Datum>>) -> Result<Vec<Datum>, FusedError> {
        let failed = |part: usize, kind: KernelErrorKind| {
            let node = self.0[..part].iter().map(Convolution::nodes).sum();
            let op = if part < self.0.len() { "Conv" } else { "Concat" }.to_owned();
            FusedError { node, error: KernelError { op, kind } }
        };
        let mut inputs = inputs.into_iter();
        let mut operands: Vec<(AnyTensor, Windows, Vec<usize>)> = Vec::with_capacity(self.0.len());
        for (at, part) in self.0.iter().enumerate() {
            let mut call = part.call(inputs.next().into_iter().collect());
            let x = call.take(0).map_err(|kind| failed(at, kind))?;
            let (windows, shape) = part.filter().windows(&call, &x).map_err(|kind| failed(at, kind))?;
            operands.push((x, windows, shape));
        }
        let shapes: Vec<&[usize]> = operands.iter().map(|(_, _, shape)| &shape[..]).collect();
        let shape = joined_shape(&shapes, 1).map_err(|kind| failed(self.0.len(), kind))?;
        let parts = self.0.iter().zip(&operands);
        let parts: Vec<Convolved<'_>> = parts
            .map(|(part, (x, windows, _))| {
                let (filter, finishing) = (part.filter(), part.finishing(None));
                Convolved { filter, windows, x, finishing }
            })
            .collect();
        let result = Filter::apply_all(&parts, &shape).map_err(|(at, kind)| failed(at, kind))?;
        operands.into_iter().for_each(|(x, ..)| memory::recycle_tensor(x));
        Ok(vec![result.into()])
    }
}
