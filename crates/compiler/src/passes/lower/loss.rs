//! Losses.

use super::activation::log_softmax_of;
use super::form::{Form, Lowered, Operand, refuse};
use super::select::counted;
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] =
    &[rule("NegativeLogLikelihoodLoss", likelihood), rule("SoftmaxCrossEntropyLoss", cross_entropy)];

fn likelihood(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    loss(f, &x)
}

fn cross_entropy(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let log = log_softmax_of(f, &x, &[1]);
    let y = loss(f, &log)?;
    f.result(1, &log);
    Ok(y)
}

/// The weighted entries of the target classes along axis 1; 0 for the ignored class.
fn loss(f: &mut Form<'_>, x: &Operand) -> Lowered<Operand> {
    let target = f.input(1)?;
    let (rank, classes) = (x.rank()?, x.extent(1)?);
    let zero = f.number(x, 0.0);
    let numbered = f.unsqueeze(&target, &[1]);
    let numbers = counted(f, &target, rank, 1, classes)?;
    let named = f.equal(&numbered, &numbers);
    let kept = f.select(&named, x, &zero);
    let picked = f.reduce("ReduceSum", &kept, &[1], false);
    let negative = f.neg(&picked);
    let one = f.number(x, 1.0);
    let mut weight = match f.optional_real(2)? {
        None => None,
        Some(weight) => {
            let mut shape = vec![-1];
            shape.extend(vec![1; rank - 2]);
            let weight = f.reshape(&weight, &shape);
            let kept = f.select(&named, &weight, &zero);
            Some(f.reduce("ReduceSum", &kept, &[1], false))
        }
    };
    if f.has("ignore_index") {
        let ignored = f.int("ignore_index", 0);
        let ignored = f.number(&target, ignored as f64);
        let is_ignored = f.equal(&target, &ignored);
        let weights = weight.unwrap_or_else(|| one.clone());
        weight = Some(f.select(&is_ignored, &zero, &weights));
    }
    let losses = match &weight {
        Some(weight) => f.mul(&negative, weight),
        None => negative,
    };
    let axes: Vec<usize> = (0..rank - 1).collect();
    match f.text("reduction", "mean").as_str() {
        "none" => Ok(losses),
        "sum" => Ok(f.reduce("ReduceSum", &losses, &axes, false)),
        "mean" => match weight {
            None => Ok(f.reduce("ReduceMean", &losses, &axes, false)),
            Some(weight) => {
                let sum = f.reduce("ReduceSum", &losses, &axes, false);
                let weights = f.reduce("ReduceSum", &weight, &axes, false);
                Ok(f.div(&sum, &weights))
            }
        },
        other => refuse(format!("`reduction` = `{other}` is not known")),
    }
}
