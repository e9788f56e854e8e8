//! Ensembles of decision trees.
//!
//! Thresholds and sums are `f64` for inputs of `f64`, otherwise `f32`, as in ONNX Runtime. Trees are added in
//! their order.

use std::collections::HashMap;

use super::forest::{Forest, Source, Test};
use super::scores::{Opposite, Transform};
use super::{Labels, numbers, table};
use crate::attributes::Attributes;
use crate::call::{Call, Outcome, one};
use crate::element::{Number, Real, check_size, from_slice, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::ops::{ML_DOMAIN, Operator, native};
use crate::work;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    native("TreeEnsemble", |call| match call.tensor(0)?.dtype() {
        Dtype::F64 => ensemble::<f64>(call),
        // 16-bit floats are exact in `f32`.
        _ => ensemble::<f32>(call),
    })
    .of(ML_DOMAIN),
    native("TreeEnsembleClassifier", |call| match call.tensor(0)?.dtype() {
        Dtype::F64 => classify::<f64>(call),
        _ => classify::<f32>(call),
    })
    .of(ML_DOMAIN),
    native("TreeEnsembleRegressor", |call| match call.tensor(0)?.dtype() {
        Dtype::F64 => regress::<f64>(call),
        _ => regress::<f32>(call),
    })
    .of(ML_DOMAIN),
];

/// Number of rows that walk through one tree before the next: the tree stays in the cache.
const BLOCK: usize = 64;

/// Minimum number of walks for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 13;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Aggregate {
    Sum,
    Average,
    Min,
    Max,
}

/// A prepared ensemble.
#[derive(Debug)]
struct Ensemble<T> {
    forest: Forest<T>,
    targets: usize,
    base: Vec<T>,
    aggregate: Aggregate,
    transform: Transform,
    /// Labels of a classifier.
    labels: Labels,
    /// Whether all weights of a classifier are at least 0.
    all_positive: bool,
    /// Whether all weights belong to one of two classes.
    is_binary: bool,
}

/// Scores of one row; `None` if no leaf has a weight for the target.
type Scores<T> = [Option<T>];

impl<T: Real> Ensemble<T> {
    /// Adds the leaves of one row in all trees of a forest.
    fn add(&self, scores: &mut Scores<T>, tree: usize, row: &[T]) -> Result<(), KernelErrorKind> {
        let leaf = self.forest.walk(tree, row);
        if let [score] = scores {
            // As in ONNX Runtime, a leaf has one weight if there is one target.
            *score = Some(self.merged(*score, leaf.value));
            return Ok(());
        }
        for (target, weight) in leaf.weights {
            let Some(score) = scores.get_mut(*target) else {
                return invalid(format!("a weight of target {target} of {}", scores.len()));
            };
            *score = Some(self.merged(*score, *weight));
        }
        Ok(())
    }

    fn merged(&self, score: Option<T>, weight: T) -> T {
        match (score, self.aggregate) {
            (None, _) => weight,
            (Some(score), Aggregate::Sum | Aggregate::Average) => score + weight,
            (Some(score), Aggregate::Min) => {
                if weight < score {
                    weight
                } else {
                    score
                }
            }
            (Some(score), Aggregate::Max) => {
                if weight > score {
                    weight
                } else {
                    score
                }
            }
        }
    }

    /// The results of all rows: `finish` writes one row and returns its class.
    fn run(
        &self,
        x: &[T],
        (rows, columns): (usize, usize),
        finish: &(dyn Fn(&mut Scores<T>, &mut [T]) -> usize + Sync),
    ) -> Result<(Vec<T>, Vec<usize>), KernelErrorKind> {
        self.forest.check(columns)?;
        check_size(&[rows, self.targets], 4 * size_of::<T>())?;
        work::spend(self.forest.steps().saturating_mul(rows as u64))?;
        let mut results: Vec<(Vec<T>, Vec<usize>)> = vec![Default::default(); rows.div_ceil(BLOCK)];
        let failure = std::sync::Mutex::new(Ok(()));
        let is_parallel = threads::should_split(rows.saturating_mul(self.forest.len()), MIN_PARALLEL);
        threads::each_chunk(&mut results, 1, is_parallel, 1, &|block, result| {
            let own = &x[block * BLOCK * columns..rows.min((block + 1) * BLOCK) * columns];
            let count = rows.min((block + 1) * BLOCK) - block * BLOCK;
            match self.block(own, count, columns, finish) {
                Ok(done) => result.iter_mut().for_each(|result| *result = done.clone()),
                Err(error) => *failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Err(error),
            }
        });
        failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)?;
        let (mut out, mut classes) = (Vec::with_capacity(rows * self.targets), Vec::with_capacity(rows));
        for (scores, own) in results {
            out.extend(scores);
            classes.extend(own);
        }
        Ok((out, classes))
    }

    fn block(
        &self,
        x: &[T],
        rows: usize,
        columns: usize,
        finish: &(dyn Fn(&mut Scores<T>, &mut [T]) -> usize + Sync),
    ) -> Result<(Vec<T>, Vec<usize>), KernelErrorKind> {
        let mut scores = vec![None; rows * self.targets];
        for tree in 0..self.forest.len() {
            for (at, scores) in scores.chunks_exact_mut(self.targets).enumerate() {
                self.add(scores, tree, &x[at * columns..(at + 1) * columns])?;
            }
        }
        let mut out = vec![T::ZERO; rows * self.targets];
        let pairs = scores.chunks_exact_mut(self.targets).zip(out.chunks_exact_mut(self.targets));
        let classes = pairs.map(|(scores, out)| finish(scores, out)).collect();
        Ok((out, classes))
    }

    /// Finishes a row of a regression.
    fn finish(&self, scores: &mut Scores<T>, out: &mut [T]) {
        let count = T::of(self.forest.len() as f64);
        for (at, (score, out)) in scores.iter().zip(out.iter_mut()).enumerate() {
            let score = score.unwrap_or(T::ZERO);
            let score = if self.aggregate == Aggregate::Average { score / count } else { score };
            *out = score + self.base.get(at).copied().unwrap_or(T::ZERO);
        }
        if let [score] = out {
            [*score, _] = self.transform.apply_single(*score, Opposite::Absent);
        } else {
            self.transform.apply(out);
        }
    }

    /// Finishes a row of a classification, and returns its class.
    fn finish_class(&self, scores: &mut Scores<T>, out: &mut [T]) -> usize {
        if scores.len() > 2 {
            for (score, base) in scores.iter_mut().zip(&self.base) {
                *score = Some(score.map_or(*base, |score| score + *base));
            }
            let mut best: Option<(usize, T)> = None;
            for (at, score) in scores.iter().enumerate() {
                if let Some(score) = score
                    && best.is_none_or(|(_, most)| *score > most)
                {
                    best = Some((at, *score));
                }
            }
            write(out, scores);
            self.transform.apply(out);
            return best.map_or(0, |(at, _)| at);
        }
        let (first, second) = match scores {
            [only] => (only.unwrap_or(T::ZERO) + self.base.last().copied().unwrap_or(T::ZERO), None),
            [first, second] => match (&self.base[..], *second) {
                ([_, base], Some(second)) => {
                    // The base value of the first class is not used, as in ONNX Runtime.
                    let sum = if self.is_binary { second } else { first.unwrap_or(T::ZERO) } + *base;
                    (-sum, Some(sum))
                }
                ([base0, base1], None) => (first.unwrap_or(T::ZERO) + *base0, Some(*base1)),
                ([base], second) => (first.unwrap_or(T::ZERO) + *base, second),
                (_, second) => (first.unwrap_or(T::ZERO), second),
            },
            _ => return 0,
        };
        let weight = second.unwrap_or(first);
        let threshold = if self.is_binary && self.all_positive { T::of(0.5) } else { T::ZERO };
        let class = usize::from(weight > threshold);
        match (second, out) {
            (Some(second), [a, b]) => {
                let mut pair = [first, second];
                self.transform.apply(&mut pair);
                [*a, *b] = pair;
            }
            (None, [a, b]) => {
                let opposite = match (self.is_binary, self.all_positive) {
                    (true, true) => Opposite::Complement,
                    (true, false) => Opposite::Negative,
                    (false, _) if self.base.is_empty() => Opposite::Negative,
                    (false, _) => Opposite::Absent,
                };
                [*a, *b] = self.transform.apply_single(first, opposite);
            }
            (_, out) => out
                .iter_mut()
                .for_each(|out| [*out, _] = self.transform.apply_single(first, Opposite::Absent)),
        }
        class
    }
}

fn write<T: Real>(out: &mut [T], scores: &Scores<T>) {
    out.iter_mut().zip(scores).for_each(|(out, score)| *out = score.unwrap_or(T::ZERO));
}

/// Numbers that are an attribute of floats, or a tensor since version 3.
fn reals<T: Real>(attributes: &Attributes, name: &str) -> Result<Vec<T>, KernelErrorKind> {
    if let Some(tensor) = attributes.tensor(&format!("{name}_as_tensor"))? {
        return Ok(to_f64s(tensor)?.into_iter().map(T::of).collect());
    }
    let list = attributes.floats(name)?.unwrap_or_default();
    Ok(list.iter().map(|value| T::of(f64::from(*value))).collect())
}

fn test<T: Real>(mode: &str, value: T) -> Result<Test<T>, KernelErrorKind> {
    Ok(match mode {
        "BRANCH_LEQ" => Test::LessOrEqual(value),
        "BRANCH_LT" => Test::Less(value),
        "BRANCH_GTE" => Test::GreaterOrEqual(value),
        "BRANCH_GT" => Test::Greater(value),
        "BRANCH_EQ" => Test::Equal(value),
        "BRANCH_NEQ" => Test::NotEqual(value),
        other => return invalid(format!("`nodes_modes` has `{other}`")),
    })
}

fn index(value: i64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The trees of versions 1 to 4: parallel lists of nodes, and of weights for a target or class.
fn listed<T: Real>(
    attributes: &Attributes,
    weights: &str,
) -> Result<(Forest<T>, Vec<usize>), KernelErrorKind> {
    let ints =
        |name: &str| -> Result<&[i64], KernelErrorKind> { Ok(attributes.ints(name)?.unwrap_or_default()) };
    let (trees, ids, features) = (ints("nodes_treeids")?, ints("nodes_nodeids")?, ints("nodes_featureids")?);
    let (yes, no) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?);
    let missing = ints("nodes_missing_value_tracks_true")?;
    let modes = attributes.texts("nodes_modes")?.unwrap_or_default();
    let values = reals::<T>(attributes, "nodes_values")?;
    let count = modes.len();
    if [trees.len(), ids.len(), features.len(), yes.len(), no.len(), values.len()] != [count; 6] {
        return invalid("the lists of nodes differ in length");
    }
    let mut positions = HashMap::with_capacity(count);
    for at in 0..count {
        if positions.insert((trees[at], ids[at]), at).is_some() {
            return invalid(format!("node {} of tree {} is listed twice", ids[at], trees[at]));
        }
    }
    let targets: Vec<usize> = ints(&format!("{weights}_ids"))?.iter().map(|id| index(*id)).collect();
    let (weight_trees, weight_nodes) =
        (ints(&format!("{weights}_treeids"))?, ints(&format!("{weights}_nodeids"))?);
    let weights = reals::<T>(attributes, &format!("{weights}_weights"))?;
    if [weight_trees.len(), weight_nodes.len(), weights.len()] != [targets.len(); 3] {
        return invalid("the lists of weights differ in length");
    }
    let mut leaves: Vec<Vec<(usize, T)>> = vec![Vec::new(); count];
    for (at, weight) in weights.iter().enumerate() {
        let Some(node) = positions.get(&(weight_trees[at], weight_nodes[at])) else {
            return invalid(format!("a weight of node {}, which does not exist", weight_nodes[at]));
        };
        leaves[*node].push((targets[at], *weight));
    }
    let mut tests = Vec::with_capacity(count);
    for (mode, value) in modes.iter().zip(values) {
        tests.push(if *mode == "LEAF" { None } else { Some(test(mode, value)?) });
    }
    let source = |at: usize| -> Option<Source<T>> {
        let Some(test) = tests.get(at)?.clone() else { return Some(Source::Leaf(leaves[at].clone())) };
        let children = [*positions.get(&(trees[at], yes[at]))?, *positions.get(&(trees[at], no[at]))?];
        let missing = missing.get(at).is_some_and(|flag| *flag == 1);
        Some(Source::Branch { feature: index(features[at]), test, missing, children })
    };
    // The first node of a tree is its root.
    let roots: Vec<usize> = (0..count).filter(|at| *at == 0 || trees[*at] != trees[*at - 1]).collect();
    Ok((Forest::new(&source, &roots, count)?, targets))
}

fn regressor<T: Real>(attributes: &Attributes) -> Result<Ensemble<T>, KernelErrorKind> {
    let aggregate = match attributes.text("aggregate_function")? {
        None | Some("SUM") => Aggregate::Sum,
        Some("AVERAGE") => Aggregate::Average,
        Some("MIN") => Aggregate::Min,
        Some("MAX") => Aggregate::Max,
        Some(other) => return invalid(format!("`aggregate_function` = `{other}` is not known")),
    };
    Ok(Ensemble {
        forest: listed(attributes, "target")?.0,
        targets: index(attributes.int("n_targets")?.unwrap_or(1)),
        base: reals(attributes, "base_values")?,
        aggregate,
        transform: Transform::of(attributes)?,
        labels: Labels::Ints(Vec::new()),
        all_positive: false,
        is_binary: false,
    })
}

fn regress<T: Real>(call: &mut Call<'_>) -> Outcome {
    let ensemble = call.attributes.derived(regressor::<T>)?;
    let x = call.tensor(0)?;
    let size = table(x)?;
    let (scores, rows) = scores(&ensemble, &numbers(x)?, size)?;
    let scores: Vec<f32> = scores.into_iter().map(|score| Number::to_f64(score) as f32).collect();
    one(from_slice(&[rows, ensemble.targets], &scores)?)
}

fn scores<T: Real>(
    ensemble: &Ensemble<T>,
    x: &[T],
    size: (usize, usize),
) -> Result<(Vec<T>, usize), KernelErrorKind> {
    if ensemble.targets == 0
        || !matches!(ensemble.base.len(), 0 | 1) && ensemble.base.len() != ensemble.targets
    {
        return invalid(format!("{} base values for {} targets", ensemble.base.len(), ensemble.targets));
    }
    let (scores, _) = ensemble.run(x, size, &|scores, out| {
        ensemble.finish(scores, out);
        0
    })?;
    Ok((scores, size.0))
}

fn classify<T: Real>(call: &mut Call<'_>) -> Outcome {
    let ensemble = call.attributes.derived(|attributes| {
        let (forest, classes) = listed::<T>(attributes, "class")?;
        let labels = Labels::of(attributes, "classlabels_strings", "classlabels_int64s")?;
        let weights = reals::<T>(attributes, "class_weights")?;
        Ok(Ensemble {
            forest,
            targets: labels.len(),
            base: reals(attributes, "base_values")?,
            aggregate: Aggregate::Sum,
            transform: Transform::of(attributes)?,
            is_binary: labels.len() == 2
                && classes.windows(2).all(|pair| pair[0] == pair[1])
                && !classes.is_empty(),
            labels,
            all_positive: weights.iter().all(|weight| *weight >= T::ZERO),
        })
    })?;
    let x = call.tensor(0)?;
    let size = table(x)?;
    let (targets, base) = (ensemble.targets, ensemble.base.len());
    if targets == 0 || (targets > 2 && base != 0 && base != targets) || (targets <= 2 && base > 2) {
        return invalid(format!("{base} base values for {}", counted(targets, "class")));
    }
    let (scores, classes) =
        ensemble.run(&numbers(x)?, size, &|scores, out| ensemble.finish_class(scores, out))?;
    let scores: Vec<f32> = scores.into_iter().map(|score| Number::to_f64(score) as f32).collect();
    let labels = if targets == 1 {
        ensemble.labels.column(&vec![0; size.0])
    } else {
        ensemble.labels.column(&classes)
    };
    Ok(vec![labels?.into(), from_slice(&[size.0, targets], &scores)?.into()])
}

/// Version 5: separate lists of branches and leaves, and tests of membership.
fn ensemble<T: Real>(call: &mut Call<'_>) -> Outcome {
    let ensemble = call.attributes.derived(unified::<T>)?;
    let x = call.tensor(0)?;
    let (scores, rows) = scores(&ensemble, &numbers(x)?, table(x)?)?;
    let y = from_slice(&[rows, ensemble.targets], &scores)?;
    one(if y.dtype() == x.dtype() { y } else { crate::ops::cast::convert(&y, x.dtype())? })
}

fn unified<T: Real>(attributes: &Attributes) -> Result<Ensemble<T>, KernelErrorKind> {
    let ints = |name: &'static str| attributes.ints(name)?.ok_or(KernelErrorKind::MissingAttribute(name));
    let tensor = |name: &'static str| -> Result<Option<Vec<T>>, KernelErrorKind> {
        let Some(tensor) = attributes.tensor(name)? else { return Ok(None) };
        Ok(Some(to_f64s(tensor)?.into_iter().map(T::of).collect()))
    };
    let required = |name: &'static str| tensor(name)?.ok_or(KernelErrorKind::MissingAttribute(name));
    let (features, splits, modes) =
        (ints("nodes_featureids")?, required("nodes_splits")?, required("nodes_modes")?);
    let (yes, no) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?);
    let (yes_is_leaf, no_is_leaf) = (ints("nodes_trueleafs")?, ints("nodes_falseleafs")?);
    let missing = attributes.ints("nodes_missing_value_tracks_true")?.unwrap_or_default();
    let (targets, weights) = (ints("leaf_targetids")?, required("leaf_weights")?);
    let branches = modes.len();
    let lengths = [features.len(), splits.len(), yes.len(), no.len(), yes_is_leaf.len(), no_is_leaf.len()];
    if lengths != [branches; 6] || targets.len() != weights.len() {
        return invalid("the lists of nodes or of leaves differ in length");
    }
    // The sets of all membership tests, each ended by NaN.
    let members = tensor("membership_values")?.unwrap_or_default();
    let mut sets = members.split(|value| Number::is_nan(*value));
    let mut tests = Vec::with_capacity(branches);
    for (mode, split) in modes.iter().zip(splits) {
        tests.push(match Number::to_f64(*mode) as i64 {
            0 => Test::LessOrEqual(split),
            1 => Test::Less(split),
            2 => Test::GreaterOrEqual(split),
            3 => Test::Greater(split),
            4 => Test::Equal(split),
            5 => Test::NotEqual(split),
            6 => Test::Member(sets.next().unwrap_or_default().to_vec()),
            other => return invalid(format!("`nodes_modes` has {other}")),
        });
    }
    // Leaves follow the branches.
    let child =
        |at: i64, is_leaf: i64| if is_leaf == 0 { index(at) } else { index(at).saturating_add(branches) };
    let source = |at: usize| -> Option<Source<T>> {
        if let Some(leaf) = at.checked_sub(branches) {
            return Some(Source::Leaf(vec![(index(*targets.get(leaf)?), weights[leaf])]));
        }
        let children = [child(yes[at], yes_is_leaf[at]), child(no[at], no_is_leaf[at])];
        let missing = missing.get(at).is_some_and(|flag| *flag == 1);
        Some(Source::Branch { feature: index(features[at]), test: tests[at].clone(), missing, children })
    };
    let roots: Vec<usize> = ints("tree_roots")?.iter().map(|root| index(*root)).collect();
    if roots.iter().any(|root| *root >= branches) {
        return invalid("a root is not a branch");
    }
    let aggregate = match attributes.int("aggregate_function")?.unwrap_or(1) {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        other => return invalid(format!("`aggregate_function` = {other} is not known")),
    };
    let transform = match attributes.int("post_transform")?.unwrap_or(0) {
        0 => Transform::None,
        1 => Transform::Softmax,
        2 => Transform::Logistic,
        3 => Transform::SoftmaxZero,
        4 => Transform::Probit,
        other => return invalid(format!("`post_transform` = {other} is not known")),
    };
    Ok(Ensemble {
        forest: Forest::new(&source, &roots, branches.saturating_add(weights.len()))?,
        targets: index(attributes.int("n_targets")?.unwrap_or(1)),
        base: Vec::new(),
        aggregate,
        transform,
        labels: Labels::Ints(Vec::new()),
        all_positive: false,
        is_binary: false,
    })
}
