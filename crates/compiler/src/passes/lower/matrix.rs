//! Products of matrices and tensors.

use std::collections::VecDeque;

use typeloom_tensor::value_type::Dim;

use super::form::{Form, Lowered, Operand, OrRefusal, bounded, fixed, refuse, total};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[rule("Gemm", gemm), rule("Einsum", einsum)];

fn gemm<'f>(f: Form<'f>) -> Lowered<'f> {
    // Whether the third input is broadcast depends on its shape.
    f.ignore_attributes(&["broadcast"]);
    let (a, b) = (f.input(0)?, f.input(1)?);
    if [a, b].iter().any(|side| side.shape().is_some_and(|shape| shape.len() != 2)) {
        return refuse("its inputs are not matrices");
    }
    let side = |x: Operand<'f>, name: &str| if f.int(name, 0) != 0 { x.transpose(&[1, 0]) } else { x };
    let scaled = |x: Operand<'f>, factor: f64| if factor == 1.0 { x } else { factor * x };
    let (alpha, beta) = (f.float("alpha", 1.0), f.float("beta", 1.0));
    let y = scaled(side(a, "transA").matmul(side(b, "transB")), alpha);
    Ok(f.optional(2)?.map_or(y, |c| y + scaled(c, beta)))
}

/// The labels of one operand. Axes of an ellipsis are numbered from the last.
fn labels(term: &str, rank: usize) -> OrRefusal<Vec<char>> {
    let named = term.chars().filter(|c| c.is_alphabetic()).count();
    let mut labels = Vec::with_capacity(rank);
    let mut rest = term;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            let covered =
                rank.checked_sub(named).ok_or(()).or_else(|()| refuse("an operand has too few axes"))?;
            let numbers = (0..covered).rev().map(|at| char::from_u32(0xE000 + at as u32));
            labels.extend(numbers.flatten());
            rest = after;
        } else if first.is_alphabetic() {
            labels.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            return refuse(format!("`{first}` is not a label"));
        }
    }
    if labels.len() != rank {
        return refuse("the labels of an operand are not as many as its axes");
    }
    Ok(labels)
}

/// Takes the diagonal along repeated labels of an operand.
fn diagonal(mut x: Operand<'_>, mut labels: Vec<char>) -> OrRefusal<Labelled<'_>> {
    while let Some((first, second)) = repeated(&labels) {
        let extent = x.extent(first)?;
        bounded(extent * extent)?;
        let mut dims = vec![1; labels.len()];
        (dims[first], dims[second]) = (extent, extent);
        let on: Vec<bool> =
            (0..extent).flat_map(|row| (0..extent).map(move |column| row == column)).collect();
        x = x.form.mask(&dims, &on).select(x, 0.0).reduce("ReduceSum", &[second], false);
        labels.remove(second);
    }
    Ok(Labelled { x, labels })
}

fn repeated(labels: &[char]) -> Option<(usize, usize)> {
    let second = (0..labels.len()).find(|at| labels[..*at].contains(&labels[*at]))?;
    let first = labels.iter().position(|label| *label == labels[second])?;
    Some((first, second))
}

/// An operand with the labels of its axes.
struct Labelled<'f> {
    x: Operand<'f>,
    labels: Vec<char>,
}

impl<'f> Labelled<'f> {
    fn position(&self, label: char) -> Option<usize> {
        self.labels.iter().position(|own| *own == label)
    }

    /// The extent of the axis with a label, if there is one.
    fn extent(&self, label: char) -> OrRefusal<Option<i64>> {
        self.position(label).map(|at| self.x.extent(at)).transpose()
    }

    /// The product of the extents of some labels.
    fn total(&self, labels: &[char]) -> OrRefusal<Dim> {
        let extents = labels.iter().filter_map(|label| self.extent(*label).transpose());
        Ok(fixed(total(extents.collect::<OrRefusal<Vec<i64>>>()?)?))
    }

    /// Moves the axes into the order of these labels.
    fn moved(&self, labels: impl IntoIterator<Item = char>) -> Operand<'f> {
        let perm: Vec<usize> = labels.into_iter().filter_map(|label| self.position(label)).collect();
        self.x.transpose(&perm)
    }

    /// The batch axes, and two axes for two groups of labels.
    fn matrices(&self, batch: &[char], rows: &[char], columns: &[char]) -> Lowered<'f> {
        let moved = self.moved([batch, rows, columns].concat());
        let mut shape = batch.iter().map(|label| self.total(&[*label])).collect::<OrRefusal<Vec<Dim>>>()?;
        shape.extend([self.total(rows)?, self.total(columns)?]);
        moved.reshape_to(&shape)
    }
}

/// Contracts the operands one after the other. Labels that neither the result nor a later operand has are
/// summed as early as possible.
fn einsum(f: Form<'_>) -> Lowered<'_> {
    let equation: String = f.text("equation", "").chars().filter(|c| !c.is_whitespace()).collect();
    let (terms, result) = match equation.split_once("->") {
        Some((terms, result)) => (terms, Some(result)),
        None => (&equation[..], None),
    };
    let operands = f.all()?;
    let terms: Vec<&str> = terms.split(',').collect();
    if terms.len() != operands.len() || operands.is_empty() {
        return refuse("its equation does not have one term per input");
    }
    let mut all = Vec::new();
    for (term, operand) in terms.iter().zip(operands) {
        all.push(diagonal(operand, labels(term, operand.rank()?)?)?);
    }
    let mut numbers: Vec<char> = all.iter().flat_map(|operand| operand.labels.clone()).collect();
    numbers.retain(|label| !label.is_alphabetic());
    numbers.sort_unstable();
    numbers.dedup();
    numbers.reverse();
    let wanted: Vec<char> = match result {
        Some(result) => {
            let rank = result.chars().filter(|c| c.is_alphabetic()).count()
                + if result.contains("...") { numbers.len() } else { 0 };
            labels(result, rank)?
        }
        None => {
            // Labels that occur once, in alphabetical order, after those of an ellipsis.
            let every: String = terms.concat();
            let mut once: Vec<char> = every.chars().filter(|c| c.is_alphabetic()).collect();
            once.sort_unstable();
            once.retain(|label| every.matches(*label).count() == 1);
            numbers.into_iter().chain(once).collect()
        }
    };
    let mut later: VecDeque<Labelled<'_>> = all.into();
    let Some(mut left) = later.pop_front() else { return refuse("it has no inputs") };
    while let Some(right) = later.pop_front() {
        let is_needed =
            |label: &char| wanted.contains(label) || later.iter().any(|it| it.labels.contains(label));
        left = join(&left, &right, is_needed)?;
    }
    let gone: Vec<usize> = (0..left.labels.len()).filter(|at| !wanted.contains(&left.labels[*at])).collect();
    left.x = left.x.reduce("ReduceSum", &gone, false);
    left.labels.retain(|label| wanted.contains(label));
    if !wanted.iter().all(|label| left.labels.contains(label)) {
        return refuse("its result has a label that no input has");
    }
    Ok(left.moved(wanted))
}

/// Contracts two operands by a batch of matrix products.
fn join<'f>(
    left: &Labelled<'f>,
    right: &Labelled<'f>,
    is_needed: impl Fn(&char) -> bool,
) -> OrRefusal<Labelled<'f>> {
    let (both, rows): (Vec<char>, Vec<char>) =
        left.labels.iter().copied().partition(|label| right.labels.contains(label));
    let (batch, contracted): (Vec<char>, Vec<char>) = both.into_iter().partition(is_needed);
    let columns: Vec<char> =
        right.labels.iter().copied().filter(|label| !left.labels.contains(label)).collect();
    // An extent of 1 in an ellipsis is broadcast.
    let extent = |label: &char| Ok(left.extent(*label)?.max(right.extent(*label)?).unwrap_or(1));
    let sums = contracted.iter().map(extent).collect::<OrRefusal<Vec<i64>>>()?;
    let left_sums = left.matrices(&batch, &rows, &contracted)?;
    let right_sums = right.matrices(&batch, &contracted, &columns)?;
    if sums.contains(&0) {
        return refuse("a tensor without elements");
    }
    let labels = [batch, rows, columns].concat();
    let shape = labels.iter().map(|label| extent(label).map(fixed)).collect::<OrRefusal<Vec<Dim>>>()?;
    let x = left_sums.matmul(right_sums).reshape_to(&shape)?;
    Ok(Labelled { x, labels })
}
