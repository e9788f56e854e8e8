//! Ensembles of decision trees.

use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Rule, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::super::common::require_at_most;
use super::{classes, scores, targets_per_row};

/// Source: TreeEnsembleClassifier, `Y` and `Z`.
pub(super) const CLASSIFIER: Rule = Rule { name: "treeensembleclassifier.classes", run: classifier };

/// Source: TreeEnsembleRegressor, `n_targets`.
pub(super) const REGRESSOR: Rule = Rule { name: "treeensembleregressor.targets", run: regressor };

/// A list of numbers is given as floats or as a tensor, not as both. Source: TreeEnsembleClassifier version
/// 3, the attributes that end in `_as_tensor`.
pub(super) const WEIGHTS: Rule = Rule { name: "treeensemble.weights", run: weights };

fn classifier(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let labels = classes(cx, "classlabels_strings", "classlabels_int64s")?;
    let rows = cx.shape_of_rank(In(0), 2..=2)?.map(|shape| shape[0]);
    scores(cx, rows, Some(labels).filter(|labels| *labels > 0))?;
    features(cx, branches(cx)?)
}

/// The largest feature that a branch node tests; the number of a leaf has no meaning.
fn branches(cx: &RuleCx<'_, '_>) -> RuleResult<Option<i64>> {
    let features = cx.attr_ints("nodes_featureids")?.unwrap_or_default();
    let modes = cx.attr_strings("nodes_modes")?.unwrap_or_default();
    if features.len() != modes.len() {
        return Ok(None);
    }
    Ok(features.iter().zip(&modes).filter(|(_, mode)| **mode != b"LEAF").map(|(feature, _)| *feature).max())
}

/// Requires rows, whose rank the caller has checked, with the features that the trees test.
fn features(cx: &mut RuleCx<'_, '_>, largest: Option<i64>) -> RuleResult {
    let (Some(shape), Some(largest)) = (cx.shape(In(0)), largest) else { return Ok(()) };
    let needed = cx.dims().constant(largest.saturating_add(1));
    let relation = "is the number of features, which includes every feature that the trees test";
    require_at_most(cx, (In(0), needed), (In(0), 1, shape[1]), relation)
}

fn regressor(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 2..=2)?;
    match cx.attr_int("n_targets")? {
        Some(targets) => targets_per_row(cx, "n_targets", targets)?,
        None => cx.set_rank(Out(0), 2)?,
    }
    features(cx, branches(cx)?)
}

fn weights(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    const PAIRS: [(&str, &str); 5] = [
        ("nodes_values", "nodes_values_as_tensor"),
        ("nodes_hitrates", "nodes_hitrates_as_tensor"),
        ("class_weights", "class_weights_as_tensor"),
        ("target_weights", "target_weights_as_tensor"),
        ("base_values", "base_values_as_tensor"),
    ];
    for (list, tensor) in PAIRS {
        if cx.has_attr(list)? && cx.has_attr(tensor)? {
            return Err(RuleError::attribute(tensor, format!("and `{list}` cannot both be given")));
        }
    }
    Ok(())
}

/// Source: TreeEnsemble version 5, `n_targets`, `nodes_splits`, `leaf_weights`, `nodes_modes`.
pub(super) fn ensemble(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    const VECTORS: [&str; 5] =
        ["nodes_splits", "nodes_hitrates", "leaf_weights", "membership_values", "nodes_modes"];
    let input = cx.elem(In(0));
    for name in VECTORS {
        let Some(tensor) = cx.attr_tensor(name)? else { continue };
        let header = tensor.header()?;
        if header.dims.len() != 1 {
            let message = format!("must have one axis, but has {}", header.dims.len());
            return Err(RuleError::attribute(name, message));
        }
        let elem = Elem::from_onnx(header.data_type);
        let expected = if name == "nodes_modes" { Some(Elem::UINT8) } else { input };
        if expected.is_some() && elem != expected {
            let expected = expected.and_then(Elem::onnx_name).unwrap_or("?");
            let found = elem.and_then(Elem::onnx_name).unwrap_or("undefined");
            let message = format!("has elements of type {found}, but needs {expected}");
            return Err(RuleError::attribute(name, message));
        }
    }
    let lengths = [
        "nodes_featureids",
        "nodes_splits",
        "nodes_modes",
        "nodes_truenodeids",
        "nodes_falsenodeids",
        "nodes_trueleafs",
        "nodes_falseleafs",
    ];
    same_length(cx, &lengths)?;
    same_length(cx, &["leaf_targetids", "leaf_weights"])?;
    cx.require_rank(In(0), 2..=2)?;
    let targets = cx.attr_int("n_targets")?.unwrap_or(1);
    targets_per_row(cx, "n_targets", targets)?;
    let largest = cx.attr_ints("nodes_featureids")?.unwrap_or_default().into_iter().max();
    features(cx, largest)
}

/// Requires lists and vectors about the same entities to have the same length.
fn same_length(cx: &RuleCx<'_, '_>, names: &[&'static str]) -> RuleResult {
    let mut first: Option<(&str, usize)> = None;
    for name in names {
        let length = match (cx.attr_tensor(name)?, cx.attr_ints(name)?) {
            (Some(tensor), _) => tensor.header()?.dims.first().and_then(|dim| usize::try_from(*dim).ok()),
            (None, Some(list)) => Some(list.len()),
            (None, None) => None,
        };
        match (first, length) {
            (Some((other, before)), Some(length)) if before != length => {
                let message = format!("has {}, but `{other}` has {before}", counted(length, "item"));
                return Err(RuleError::attribute(name, message));
            }
            (None, Some(length)) => first = Some((name, length)),
            (Some(_), _) | (None, None) => {}
        }
    }
    Ok(())
}
