//! `Einsum`.
//!
//! Transposes and reshapes every operand to the labels of the equation, then folds the operands from the
//! left: each pair becomes one batched matrix product, which also sums over the labels that are not used
//! later.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::plural::counted;

use super::layout::permute;
use super::matmul::multiply;
use super::reduce::{Reduction, reduce_axes};
use super::{Operator, widened};
use crate::call::{Call, Outcome, one};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{reshape, strided};
use crate::shape::{count, strides};

pub(super) const OPERATORS: &[Operator] = &[widened("Einsum", einsum)];

/// A letter, or an ellipsis axis counted from the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Label {
    Dot(usize),
    Letter(char),
}

/// A tensor with distinctly labelled axes.
struct Term {
    labels: Vec<Label>,
    tensor: AnyTensor,
}

fn einsum(call: &mut Call<'_>) -> Outcome {
    let equation: String =
        call.text("equation", "")?.chars().filter(|letter| !letter.is_whitespace()).collect();
    let tensors = call.tensors()?;
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (&*equation, None),
    };
    let operands: Vec<&str> = left.split(',').collect();
    if operands.len() != tensors.len() {
        return invalid(format!(
            "the equation has {} for {}",
            counted(operands.len(), "term"),
            counted(tensors.len(), "input")
        ));
    }
    let mut labels = Vec::new();
    for (term, tensor) in operands.iter().zip(&tensors) {
        labels.push(labels_of(term, Some(tensor.rank()))?);
    }
    let dots = labels.iter().flatten().filter_map(|label| match label {
        Label::Dot(at) => Some(at + 1),
        Label::Letter(_) => None,
    });
    let dots = dots.max().unwrap_or(0);
    let wanted = match right {
        Some(right) => labels_of(right, None)?
            .into_iter()
            .flat_map(|label| match label {
                // An ellipsis in the result expands to all ellipsis axes.
                Label::Dot(_) => (0..dots).rev().map(Label::Dot).collect(),
                Label::Letter(_) => vec![label],
            })
            .collect(),
        None => implicit(&labels, dots),
    };
    let mut terms = Vec::with_capacity(tensors.len());
    for (labels, tensor) in labels.into_iter().zip(tensors) {
        terms.push(diagonal(labels, tensor)?);
    }
    let mut terms = terms.into_iter();
    let Some(mut result) = terms.next() else { return Err(KernelErrorKind::MissingInput(0)) };
    let rest: Vec<Term> = terms.collect();
    for at in 0..=rest.len() {
        let later = |label: &Label| {
            wanted.contains(label) || rest[at..].iter().any(|term| term.labels.contains(label))
        };
        result = drop_labels(result, later)?;
        if let Some(next) = rest.get(at) {
            let needed = |label: &Label| {
                wanted.contains(label) || rest[at + 1..].iter().any(|term| term.labels.contains(label))
            };
            result = contract(result, next, needed)?;
        }
    }
    let mut order = Vec::with_capacity(wanted.len());
    for label in &wanted {
        match result.labels.iter().position(|have| have == label) {
            Some(at) => order.push(at),
            None => {
                return invalid(format!(
                    "the result of the equation `{equation}` has a label that no input has"
                ));
            }
        }
    }
    one(permute(&result.tensor, &order)?)
}

fn labels_of(term: &str, rank: Option<usize>) -> Result<Vec<Label>, KernelErrorKind> {
    let letters = term.chars().filter(|letter| letter.is_alphabetic()).count();
    let mut labels = Vec::new();
    let mut rest = term;
    while let Some(letter) = rest.chars().next() {
        if let Some(tail) = rest.strip_prefix("...") {
            match rank {
                Some(rank) => {
                    let dots = rank.checked_sub(letters);
                    let Some(dots) = dots else {
                        return invalid(format!("`{term}` has more labels than axes"));
                    };
                    labels.extend((0..dots).rev().map(Label::Dot));
                }
                None => labels.push(Label::Dot(0)),
            }
            rest = tail;
        } else if letter.is_alphabetic() {
            labels.push(Label::Letter(letter));
            rest = &rest[letter.len_utf8()..];
        } else {
            return invalid(format!("`{letter}` is not a label"));
        }
    }
    match rank {
        Some(rank) if labels.len() != rank => {
            invalid(format!("`{term}` does not label {}", counted(rank, "axis")))
        }
        Some(_) | None => Ok(labels),
    }
}

/// Implicit output (no arrow): the ellipsis, then the letters that occur once, in alphabetical order.
fn implicit(labels: &[Vec<Label>], dots: usize) -> Vec<Label> {
    let letters = labels.iter().flatten().filter(|label| matches!(label, Label::Letter(_)));
    let mut once: Vec<Label> = Vec::new();
    for label in letters.clone() {
        // Sorted by insertion: there are few labels.
        if letters.clone().filter(|other| *other == label).count() == 1 {
            once.insert(once.partition_point(|other| other < label), *label);
        }
    }
    (0..dots).rev().map(Label::Dot).chain(once).collect()
}

/// A label that is repeated within one term selects the diagonal.
fn diagonal(labels: Vec<Label>, tensor: &AnyTensor) -> Result<Term, KernelErrorKind> {
    let own = strides(tensor.shape());
    let (mut kept, mut shape, mut view): (Vec<Label>, Vec<usize>, Vec<usize>) = Default::default();
    for (axis, label) in labels.iter().enumerate() {
        match kept.iter().position(|have| have == label) {
            Some(at) if shape[at] != tensor.shape()[axis] => {
                return invalid("a label has two extents");
            }
            Some(at) => view[at] += own[axis],
            None => {
                kept.push(*label);
                shape.push(tensor.shape()[axis]);
                view.push(own[axis]);
            }
        }
    }
    let tensor = if kept.len() == labels.len() { tensor.clone() } else { strided(tensor, &shape, &view)? };
    Ok(Term { labels: kept, tensor })
}

/// Sums over labels that are not used later.
fn drop_labels(term: Term, needed: impl Fn(&Label) -> bool) -> Result<Term, KernelErrorKind> {
    let axes: Vec<usize> = (0..term.labels.len()).filter(|axis| !needed(&term.labels[*axis])).collect();
    if axes.is_empty() {
        return Ok(term);
    }
    let tensor = reduce_axes(&term.tensor, &axes, false, Reduction::Sum)?;
    Ok(Term { labels: term.labels.into_iter().filter(|label| needed(label)).collect(), tensor })
}

/// Product of two terms, summed over shared labels that are not used later.
fn contract(a: Term, b: &Term, needed: impl Fn(&Label) -> bool) -> Result<Term, KernelErrorKind> {
    let extent = |term: &Term, label: &Label| {
        term.labels.iter().position(|have| have == label).map(|axis| term.tensor.shape()[axis])
    };
    let shared = |label: &&Label| b.labels.contains(label);
    let batch: Vec<Label> = a.labels.iter().filter(shared).filter(|label| needed(label)).copied().collect();
    let summed: Vec<Label> = a.labels.iter().filter(shared).filter(|label| !needed(label)).copied().collect();
    let only_a: Vec<Label> = a.labels.iter().filter(|label| !b.labels.contains(label)).copied().collect();
    let only_b: Vec<Label> = b.labels.iter().filter(|label| !a.labels.contains(label)).copied().collect();
    // One of the two extents of a label may be 1 (broadcasting).
    let mut extents: Vec<(Label, usize)> = Vec::new();
    for label in batch.iter().chain(&summed).chain(&only_a).chain(&only_b) {
        let (from_a, from_b) = (extent(&a, label), extent(b, label));
        let most = from_a.unwrap_or(1).max(from_b.unwrap_or(1));
        let most = if from_a == Some(0) || from_b == Some(0) { 0 } else { most };
        if [from_a, from_b].into_iter().flatten().any(|extent| extent != most && extent != 1) {
            return invalid("a label has two extents");
        }
        extents.push((*label, most));
    }
    let extent_of =
        |label: &Label| extents.iter().find(|(own, _)| own == label).map_or(1, |(_, extent)| *extent);
    let sizes = |labels: &[Label]| labels.iter().map(extent_of).collect::<Vec<usize>>();
    let arranged = |term: &Term, groups: [&[Label]; 3]| -> Result<AnyTensor, KernelErrorKind> {
        let own = strides(term.tensor.shape());
        let order: Vec<Label> = groups.concat();
        let view: Vec<usize> = order
            .iter()
            .map(|label| match term.labels.iter().position(|have| have == label) {
                Some(axis) if term.tensor.shape()[axis] != 1 => own[axis],
                Some(_) | None => 0,
            })
            .collect();
        let tensor = strided(&term.tensor, &sizes(&order), &view)?;
        reshape(tensor, &groups.map(|group| count(&sizes(group))))
    };
    let left = arranged(&a, [&batch, &only_a, &summed])?;
    let right = arranged(b, [&batch, &summed, &only_b])?;
    let product = multiply(&left, &right)?;
    let labels = [batch, only_a, only_b].concat();
    let tensor = reshape(product, &sizes(&labels))?;
    Ok(Term { labels, tensor })
}
