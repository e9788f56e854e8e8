//! Products of matrices and tensors.

use super::form::{Form, Lowered, Operand, refuse, total};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[rule("Gemm", gemm), rule("Einsum", einsum)];

fn gemm(f: &mut Form<'_>) -> Lowered {
    // Whether the third input is broadcast depends on its shape.
    f.pass_over(&["broadcast"]);
    let (mut a, mut b) = (f.input(0)?, f.input(1)?);
    if [&a, &b].iter().any(|side| side.shape().is_some_and(|shape| shape.len() != 2)) {
        return refuse("its inputs are not matrices");
    }
    if f.int("transA", 0) != 0 {
        a = f.transpose(&a, &[1, 0]);
    }
    if f.int("transB", 0) != 0 {
        b = f.transpose(&b, &[1, 0]);
    }
    let mut y = f.matmul(&a, &b);
    let (alpha, beta) = (f.float("alpha", 1.0), f.float("beta", 1.0));
    if alpha != 1.0 {
        let alpha = f.number(&y, alpha);
        y = f.mul(&alpha, &y);
    }
    if let Some(c) = f.optional(2)? {
        let scaled = if beta == 1.0 {
            c
        } else {
            let beta = f.number(&c, beta);
            f.mul(&beta, &c)
        };
        y = f.add(&y, &scaled);
    }
    Ok(y)
}

/// The labels of one operand. Axes of an ellipsis are numbered from the last.
fn labels(term: &str, rank: usize) -> Lowered<Vec<char>> {
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
            return refuse(format!("`{first}` is no label"));
        }
    }
    if labels.len() != rank {
        return refuse("the labels of an operand are not as many as its axes");
    }
    Ok(labels)
}

/// Takes the diagonal along repeated labels of an operand.
fn diagonal(f: &mut Form<'_>, x: Operand, mut labels: Vec<char>) -> Lowered<(Operand, Vec<char>)> {
    let mut x = x;
    while let Some((first, second)) = repeated(&labels) {
        let extent = x.extent(first)?;
        super::form::bounded(extent * extent)?;
        let mut dims = vec![1; labels.len()];
        (dims[first], dims[second]) = (extent, extent);
        let on: Vec<bool> =
            (0..extent).flat_map(|row| (0..extent).map(move |column| row == column)).collect();
        let on = f.mask(&dims, &on);
        let zero = f.number(&x, 0.0);
        let only = f.select(&on, &x, &zero);
        x = f.reduce("ReduceSum", &only, &[second], false);
        labels.remove(second);
    }
    Ok((x, labels))
}

fn repeated(labels: &[char]) -> Option<(usize, usize)> {
    let second = (0..labels.len()).find(|at| labels[..*at].contains(&labels[*at]))?;
    let first = labels.iter().position(|label| *label == labels[second])?;
    Some((first, second))
}

/// Contracts the operands one after the other. Labels that neither the result nor a later operand has are
/// summed as early as possible.
fn einsum(f: &mut Form<'_>) -> Lowered {
    let equation: String = f.text("equation", "").chars().filter(|c| !c.is_whitespace()).collect();
    let (terms, result) = match equation.split_once("->") {
        Some((terms, result)) => (terms.to_owned(), Some(result.to_owned())),
        None => (equation.clone(), None),
    };
    let operands = f.all()?;
    let terms: Vec<&str> = terms.split(',').collect();
    if terms.len() != operands.len() || operands.is_empty() {
        return refuse("its equation has not a term for each input");
    }
    let mut all = Vec::new();
    for (term, operand) in terms.iter().zip(operands) {
        let labels = labels(term, operand.rank()?)?;
        all.push(diagonal(f, operand, labels)?);
    }
    let used: Vec<char> = all.iter().flat_map(|(_, labels)| labels.clone()).collect();
    let is_number = |label: &char| !label.is_alphabetic();
    let mut numbers: Vec<char> = used.iter().copied().filter(is_number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.reverse();
    let wanted: Vec<char> = match result {
        Some(result) => {
            let rank = result.chars().filter(|c| c.is_alphabetic()).count()
                + if result.contains("...") { numbers.len() } else { 0 };
            labels(&result, rank)?
        }
        None => {
            // Labels that occur once, in alphabetical order, after those of an ellipsis.
            let every: String = terms.concat();
            let mut once: Vec<char> = every.chars().filter(|c| c.is_alphabetic()).collect();
            once.sort_unstable();
            once.retain(|label| every.matches(*label).count() == 1);
            numbers.iter().copied().chain(once).collect()
        }
    };
    let mut rest = all.into_iter();
    let Some((mut x, mut own)) = rest.next() else { return refuse("it has no inputs") };
    let mut later: Vec<(Operand, Vec<char>)> = rest.collect();
    while !later.is_empty() {
        let (y, others) = later.remove(0);
        let needed =
            |label: &char| wanted.contains(label) || later.iter().any(|(_, labels)| labels.contains(label));
        (x, own) = join(f, (&x, &own), (&y, &others), needed)?;
    }
    let gone: Vec<usize> = (0..own.len()).filter(|at| !wanted.contains(&own[*at])).collect();
    x = f.reduce("ReduceSum", &x, &gone, false);
    own.retain(|label| wanted.contains(label));
    let perm: Vec<usize> = wanted.iter().filter_map(|label| own.iter().position(|it| it == label)).collect();
    if perm.len() != wanted.len() {
        return refuse("its result has a label that no input has");
    }
    Ok(f.transpose(&x, &perm))
}

/// Contracts two operands by a batch of matrix products.
fn join(
    f: &mut Form<'_>,
    (x, left): (&Operand, &[char]),
    (y, right): (&Operand, &[char]),
    needed: impl Fn(&char) -> bool,
) -> Lowered<(Operand, Vec<char>)> {
    let both: Vec<char> = left.iter().copied().filter(|label| right.contains(label)).collect();
    let contracted: Vec<char> = both.iter().copied().filter(|label| !needed(label)).collect();
    let batch: Vec<char> = both.iter().copied().filter(|label| needed(label)).collect();
    let only = |labels: &[char], others: &[char]| -> Vec<char> {
        labels.iter().copied().filter(|label| !others.contains(label)).collect()
    };
    let (rows, columns) = (only(left, right), only(right, left));
    let arranged =
        |f: &mut Form<'_>, x: &Operand, labels: &[char], groups: [&[char]; 3]| -> Lowered<Operand> {
            let order = groups.concat();
            let perm: Vec<usize> =
                order.iter().filter_map(|label| labels.iter().position(|it| it == label)).collect();
            let extent_of = |label: &char| {
                let at = labels.iter().position(|it| it == label).unwrap_or_default();
                x.extent(at)
            };
            let moved = f.transpose(x, &perm);
            let mut shape: Vec<Option<i64>> = Vec::new();
            for label in groups[0] {
                shape.push(Some(extent_of(label)?));
            }
            for group in &groups[1..] {
                let extents = group.iter().map(extent_of).collect::<Lowered<Vec<i64>>>()?;
                shape.push(Some(total(extents)?));
            }
            f.reshape_to(&moved, &shape)
        };
    let extents = |labels: &[char]| -> Lowered<Vec<i64>> {
        let of = |label: &char| match left.iter().position(|it| it == label) {
            Some(at) => {
                let own = x.extent(at)?;
                // An extent of 1 in an ellipsis is broadcast.
                match right.iter().position(|it| it == label) {
                    Some(other) => Ok(own.max(y.extent(other)?)),
                    None => Ok(own),
                }
            }
            None => match right.iter().position(|it| it == label) {
                Some(at) => y.extent(at),
                None => refuse("a label of no operand"),
            },
        };
        labels.iter().map(of).collect()
    };
    let (sums, left_sums) = (extents(&contracted)?, arranged(f, x, left, [&batch, &rows, &contracted])?);
    let right_sums = arranged(f, y, right, [&batch, &contracted, &columns])?;
    if sums.contains(&0) {
        return refuse("a tensor without elements");
    }
    let product = f.matmul(&left_sums, &right_sums);
    let order = [&batch[..], &rows[..], &columns[..]].concat();
    let shape: Vec<Option<i64>> = extents(&order)?.into_iter().map(Some).collect();
    let joined = f.reshape_to(&product, &shape)?;
    Ok((joined, order))
}
