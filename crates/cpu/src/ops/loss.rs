//! Loss functions.

use typeloom_tensor::any_tensor::AnyTensor;

use super::activation::{log_softmax_row, rows};
use super::{Operator, widened};
use crate::call::{Call, integers, one};
use crate::element::{of_f64s, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::shape::around;

pub(super) const OPERATORS: &[Operator] = &[
    widened("NegativeLogLikelihoodLoss", |call| {
        let scores = to_f64s(call.tensor(0)?)?;
        one(likelihood(call, &scores)?)
    }),
    widened("SoftmaxCrossEntropyLoss", |call| {
        let x = call.tensor(0)?;
        if x.rank() < 2 {
            return invalid("the scores have no class axis");
        }
        let (outer, classes, inner) = around(x.shape(), 1);
        let mut scores = to_f64s(x)?;
        rows(&mut scores, outer, classes, inner, log_softmax_row);
        let log = of_f64s(x.dtype(), x.shape(), &scores)?;
        Ok(vec![likelihood(call, &scores)?.into(), log.into()])
    }),
];

/// Negative log likelihood: the negated scores of the target classes, weighted and reduced.
fn likelihood(call: &Call<'_>, scores: &[f64]) -> Result<AnyTensor, KernelErrorKind> {
    let (x, target) = (call.tensor(0)?, call.tensor(1)?);
    if x.rank() < 2 {
        return invalid("the scores have no class axis");
    }
    let (outer, classes, inner) = around(x.shape(), 1);
    let ignored = call.attributes.int("ignore_index")?;
    let weights = call.optional(2)?.map(to_f64s).transpose()?;
    let shape = [&x.shape()[..1], &x.shape()[2..]].concat();
    if target.shape() != shape || weights.as_ref().is_some_and(|weights| weights.len() != classes) {
        return invalid(format!("targets {:?} or weights do not fit scores {:?}", target.shape(), x.shape()));
    }
    let mut losses = Vec::with_capacity(outer * inner);
    let mut total = 0.0;
    for (at, class) in integers(target)?.into_iter().enumerate() {
        if ignored == Some(class) {
            losses.push(0.0);
            continue;
        }
        let class = super::gather::normalised_index(class, classes)?;
        let weight = weights.as_ref().map_or(1.0, |weights| weights[class]);
        losses.push(-scores[(at / inner * classes + class) * inner + at % inner] * weight);
        total += weight;
    }
    let sum: f64 = losses.iter().sum();
    match call.choice("reduction", &[("mean", Some(sum / total)), ("sum", Some(sum)), ("none", None)])? {
        Some(reduced) => of_f64s(x.dtype(), &[], &[reduced]),
        None => of_f64s(x.dtype(), &shape, &losses),
    }
}
