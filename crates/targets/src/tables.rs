//! Tables that operators have as attributes, and whose consistency constructors of kernels check.

use crate::node::NodeCx;
use crate::rules::{attribute, ints};

/// Whether the nodes of a tree ensemble, which attributes describe, are not a forest.
pub(crate) fn has_repeated_nodes(cx: &NodeCx<'_, '_>) -> bool {
    if cx.body.body.op_name(cx.step) != "TreeEnsemble" {
        return false;
    }
    let list = |name| ints(cx, name).unwrap_or_default();
    let sides = [
        (list("nodes_trueleafs"), list("nodes_truenodeids")),
        (list("nodes_falseleafs"), list("nodes_falsenodeids")),
    ];
    let mut open = list("tree_roots");
    let mut is_visited = vec![false; sides[0].0.len()];
    while let Some(node) = open.pop() {
        let Some(visited) = usize::try_from(node).ok().and_then(|node| is_visited.get_mut(node)) else {
            return true;
        };
        if std::mem::replace(visited, true) {
            return true;
        }
        for (leaves, children) in &sides {
            let at = usize::try_from(node).unwrap_or_default();
            match (leaves.get(at), children.get(at)) {
                (Some(0), Some(child)) => open.push(*child),
                (Some(_), Some(_)) => {}
                (Some(_) | None, _) => return true,
            }
        }
    }
    false
}

/// The lists of a classifier or a regressor of trees that have one element for each node.
const NODES: &[&str] = &[
    "nodes_falsenodeids",
    "nodes_featureids",
    "nodes_modes",
    "nodes_nodeids",
    "nodes_treeids",
    "nodes_truenodeids",
    "nodes_values",
];

/// Whether a list of a classifier or a regressor of trees is missing, or has another length than those of the
/// same table.
pub(crate) fn has_uneven_lists(cx: &NodeCx<'_, '_>) -> bool {
    let leaves: [&str; 4] = match cx.body.body.op_name(cx.step) {
        "TreeEnsembleClassifier" => ["class_ids", "class_nodeids", "class_treeids", "class_weights"],
        "TreeEnsembleRegressor" => ["target_ids", "target_nodeids", "target_treeids", "target_weights"],
        _ => return false,
    };
    let length = |name: &&str| {
        let count = |name: &str| {
            attribute(cx, name).map_or(0, |it| it.ints().count() + it.floats().count() + it.strings().count())
        };
        let tensor = attribute(cx, &format!("{name}_as_tensor")).and_then(|it| it.t);
        let header = tensor.and_then(|tensor| tensor.header().ok());
        header
            .map_or_else(|| count(name), |header| header.dims.iter().product::<i64>().unsigned_abs() as usize)
    };
    let is_uneven = |names: &[&str]| {
        let mut lengths = names.iter().map(length);
        let first = lengths.next().unwrap_or_default();
        first == 0 || lengths.any(|other| other != first)
    };
    is_uneven(NODES) || is_uneven(&leaves)
}

/// Whether the tables of n-grams of a `TfIdfVectorizer` contradict each other: the pool contains the unigrams
/// from the first position of `ngram_counts` on, the bigrams from the second one on, and so on.
pub(crate) fn has_wrong_grams(cx: &NodeCx<'_, '_>) -> bool {
    if cx.body.body.op_name(cx.step) != "TfIdfVectorizer" {
        return false;
    }
    let length = |name| attribute(cx, name).and_then(|attribute| attribute.i).unwrap_or_default();
    let weights = attribute(cx, "weights").map(|it| it.floats().count());
    let indexes = ints(cx, "ngram_indexes").unwrap_or_default().len();
    if length("max_skip_count") < 0 || weights.is_some_and(|weights| weights != indexes) {
        return true;
    }
    let (shortest, longest) = (length("min_gram_length"), length("max_gram_length"));
    let counts = ints(cx, "ngram_counts").unwrap_or_default();
    let strings = attribute(cx, "pool_strings").map(|attribute| attribute.strings().count());
    let pool = strings.or_else(|| ints(cx, "pool_int64s").map(|pool| pool.len())).unwrap_or_default();
    let is_range =
        1 <= shortest && shortest <= longest && usize::try_from(longest).is_ok_and(|it| it <= counts.len());
    let ends = counts.iter().skip(1).copied().chain([i64::try_from(pool).unwrap_or(i64::MAX)]);
    let fits = |(at, (start, end)): (usize, (&i64, i64))| {
        let length = i64::try_from(at + 1).unwrap_or(i64::MAX);
        *start >= 0 && *start <= end && (end - start) % length == 0
    };
    !is_range || !counts.iter().zip(ends).enumerate().all(fits)
}
