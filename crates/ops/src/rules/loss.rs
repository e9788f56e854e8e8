//! Losses over classes: scores `[N, C, d1, ...]`, labels `[N, d1, ...]`, one weight per class.

use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Rule, RuleCx, RuleResult};

use super::Entry;

/// Labels have the scores' shape without the classes, and so does the loss unless it is reduced to a scalar.
/// Source: NegativeLogLikelihoodLoss, `input`, `target`, `weight`, `reduction`.
const CLASSES: Rule = Rule { name: "negativeloglikelihoodloss.classes", run: classes };

/// The logarithms of the probabilities have the scores' shape. Source: SoftmaxCrossEntropyLoss, `log_prob`.
const LOG_PROBABILITIES: Rule =
    Rule { name: "softmaxcrossentropyloss.log_prob", run: |cx| cx.same_shape(In(0), Out(1)) };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("NegativeLogLikelihoodLoss", &[CLASSES]),
    Entry::of("SoftmaxCrossEntropyLoss", &[CLASSES, LOG_PROBABILITIES]),
];

fn classes(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 2..)?;
    cx.require_rank(In(1), 1..)?;
    let reduction = cx.attr_str("reduction")?;
    if reduction != Some("none") {
        cx.set_shape(Out(0), &[])?;
    }
    let (scores, labels) = (cx.shape(In(0)), cx.shape(In(1)));
    if let (Some(scores), Some(labels)) = (&scores, &labels) {
        if labels.len() + 1 != scores.len() {
            return Err(cx.wrong_rank(In(1), scores.len() - 1..=scores.len() - 1));
        }
        for (axis, label) in labels.iter().enumerate() {
            let at = if axis == 0 { 0 } else { axis + 1 };
            cx.require_equal((In(0), at, scores[at]), (In(1), axis, *label), "belong to one sample")?;
        }
    }
    cx.require_rank(In(2), 1..=1)?;
    if let (Some(scores), Some(weights)) = (&scores, cx.shape(In(2))) {
        cx.require_equal((In(0), 1, scores[1]), (In(2), 0, weights[0]), "count the classes")?;
    }
    if reduction != Some("none") {
        return Ok(());
    }
    match (labels, scores) {
        (Some(labels), _) => cx.set_shape(Out(0), &labels),
        (None, Some(mut scores)) => {
            scores.remove(1);
            cx.set_shape(Out(0), &scores)
        }
        (None, None) => Ok(()),
    }
}
