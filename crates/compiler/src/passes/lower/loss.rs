//! Losses.

use super::activation::log_softmax_of;
use super::form::{Form, Lowered, Operand, along, refuse};
use super::normalization::per_channel;
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("NegativeLogLikelihoodLoss", |f| f.real(0).and_then(loss)),
    rule("SoftmaxCrossEntropyLoss", cross_entropy),
];

fn cross_entropy(f: Form<'_>) -> Lowered<'_> {
    let log = log_softmax_of(f.real(0)?, &[1]);
    let y = loss(log)?;
    f.result(1, log);
    Ok(y)
}

/// The weighted entries of the target classes along axis 1; 0 for the ignored class.
fn loss(x: Operand<'_>) -> Lowered<'_> {
    let f = x.form;
    let target = f.input(1)?;
    let (rank, classes) = (x.rank()?, x.extent(1)?);
    let numbered = target.unsqueeze(&[1]);
    let named = numbered.equal(f.iota(target.dtype(), &along(rank, 1, classes))?);
    let picked = |values| named.select(values, 0.0).reduce("ReduceSum", &[1], false);
    let negative = -picked(x);
    let mut weight = f.optional_real(2)?.map(|weight| picked(per_channel(weight, rank)));
    if f.has("ignore_index") {
        let is_ignored = target.equal(f.int("ignore_index", 0) as f64);
        weight = Some(is_ignored.select(0.0, weight.unwrap_or_else(|| x.number(1.0))));
    }
    let losses = weight.map_or(negative, |weight| negative * weight);
    let axes: Vec<usize> = (0..rank - 1).collect();
    match f.text("reduction", "mean").as_str() {
        "none" => Ok(losses),
        "sum" => Ok(losses.reduce("ReduceSum", &axes, false)),
        "mean" => Ok(match weight {
            None => losses.reduce("ReduceMean", &axes, false),
            Some(weight) => {
                losses.reduce("ReduceSum", &axes, false) / weight.reduce("ReduceSum", &axes, false)
            }
        }),
        other => refuse(format!("`reduction` = `{other}` is not known")),
    }
}
