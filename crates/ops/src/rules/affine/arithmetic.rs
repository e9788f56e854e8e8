//! Operators that compute elements from elements at the same position.
//!
//! The transfer functions map the forms of the inputs of an operator to a form of its result:
//!
//! ```text
//! i = Range (0, N)        i                        0 ..= N - 1
//! Mul (i, 2), Add 1       1 + 2*i                  1 ..= 2*N - 1
//! Div (i, 4)              function of i            0 ..= (N - 1)//4       not affine, but both ends occur
//! ```
//!
//! - [`add`], [`sub`], [`neg`], and [`mul`] by equal elements are exact.
//! - A function that does not decrease in either argument ([`monotone`]: products of natural numbers, minima,
//!   maxima) keeps the two ends, as a [`Variable::Function`] of the axes of both arguments.
//! - [`div`] and [`remainder`] split a form into multiples of the divisor and a rest that is less than it, as
//!   in `(S*i + j) / S` for `j` below `S`. Otherwise they keep ends.
//! - [`compare`] and [`choose`] have a result if it is the same for all elements.
//!
//! The functions for operators ([`apply`], [`combine`], [`choose`], [`clip`]) read the inputs and record the
//! result. They return whether an input is followed in this form, so that the rule does not try other forms
//! of constants.
//!
//! **Invariant:** both ends of a form occur. So arguments of `monotone` have no axis in common:
//! `i * (N - 1 - i)` is 0 at both ends of `i`, although its factors have other ends.
//!
//! A function costs a number of operations on dims that is linear in the terms, of which there are at most
//! [`MAX_TERMS`](super::MAX_TERMS). Parts are combined one by one if both operands have the same parts.
//!
//! **Limit:** a result is not followed if the sign of a coefficient is unknown, or if two terms depend on one
//! axis in different ways.

use std::sync::Arc;

use typeloom_dim::{Decision, DimId};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Affine, ComparisonOp, Form, Part, Port, RuleCx, Term, Variable};

use super::{between, ends, is_natural, operand, put};

/// A function of one form; `None` if the result is not followed.
pub(crate) type Unary = fn(&mut RuleCx<'_, '_>, &Form) -> Option<Form>;
/// A function of two forms; `None` if the result is not followed.
pub(crate) type Binary = fn(&mut RuleCx<'_, '_>, &Form, &Form) -> Option<Form>;
/// A function of two integers.
pub(crate) type Function = fn(&mut RuleCx<'_, '_>, DimId, DimId) -> DimId;

/// Applies a function to the elements of the first input, if they are followed in this form. Returns whether
/// they are.
pub(crate) fn apply(cx: &mut RuleCx<'_, '_>, function: Unary) -> bool {
    let Some(affine) = cx.affine(In(0)) else { return false };
    let mut affine = Affine::clone(&affine);
    for part in &mut affine.parts {
        part.form = part.form.as_ref().and_then(|form| function(cx, form));
    }
    put(cx, Out(0), affine);
    true
}

/// Applies a function to the elements of all inputs in turn, if one of them is followed in this form. Returns
/// whether one is.
pub(crate) fn combine(
    cx: &mut RuleCx<'_, '_>,
    function: impl Fn(&mut RuleCx<'_, '_>, &Form, &Form) -> Option<Form>,
) -> bool {
    let count = cx.input_count();
    if !(0..count).any(|at| cx.affine(In(at)).is_some()) {
        return false;
    }
    let mut result: Option<Affine> = None;
    for at in 0..count {
        let Some(next) = operand(cx, In(at)).and_then(|next| aligned(cx, &next, In(at))) else { return true };
        result = match result {
            None => Some(next),
            Some(known) => match pairs(&known, &next) {
                Some(joined) => Some(map_pairs(cx, joined, &function)),
                None => return true,
            },
        };
    }
    if let Some(result) = result {
        put(cx, Out(0), result);
    }
    true
}

/// The elements of an input at the positions of the output to which they are broadcast.
pub(crate) fn aligned(cx: &mut RuleCx<'_, '_>, affine: &Arc<Affine>, from: Port) -> Option<Affine> {
    let mut affine = Affine::clone(affine);
    if affine.single().is_some_and(|form| form.terms.is_empty()) || cx.shares_shape(from, Out(0)) {
        return Some(affine);
    }
    let (narrow, wide) = (cx.shape(from)?, cx.shape(Out(0))?);
    for term in affine.parts.iter_mut().filter_map(|part| part.form.as_mut()).flat_map(|form| &mut form.terms)
    {
        let Variable::Position(axis) = term.variable else { continue };
        let extent = |shape: &[DimId]| shape.len().checked_sub(axis + 1).map(|at| shape[at]);
        let (narrow, wide) = (extent(&narrow)?, extent(&wide)?);
        if cx.dims().compare(narrow, wide) != Decision::Equal {
            // The elements are those of the input, each at least once.
            term.variable = Variable::Function(1 << axis);
        }
    }
    Some(affine)
}

/// The parts of two operands that meet, and the axis of the parts.
struct Pairs {
    parts: Vec<(DimId, Option<Form>, Option<Form>)>,
    axis: Option<usize>,
}

fn pairs(a: &Affine, b: &Affine) -> Option<Pairs> {
    let is_independent = |one: &Part, many: &Affine| {
        one.form.as_ref().is_none_or(|form| match many.axis {
            Some(axis) => form.axes() & 1 << axis == 0,
            None => form.terms.is_empty(),
        })
    };
    let (parts, axis) = match (&a.parts[..], &b.parts[..]) {
        ([a], [b]) => (vec![(a.length, a.form.clone(), b.form.clone())], None),
        ([one], many) if is_independent(one, b) => {
            (many.iter().map(|part| (part.length, one.form.clone(), part.form.clone())).collect(), b.axis)
        }
        (many, [one]) if is_independent(one, a) => {
            (many.iter().map(|part| (part.length, part.form.clone(), one.form.clone())).collect(), a.axis)
        }
        (left, right)
            if left.len() == right.len()
                && a.axis.is_some()
                && a.axis == b.axis
                && left.iter().zip(right).all(|(a, b)| a.length == b.length) =>
        {
            let part = |(a, b): (&Part, &Part)| (a.length, a.form.clone(), b.form.clone());
            (left.iter().zip(right).map(part).collect(), a.axis)
        }
        _ => return None,
    };
    Some(Pairs { parts, axis })
}

fn map_pairs(
    cx: &mut RuleCx<'_, '_>,
    pairs: Pairs,
    function: &impl Fn(&mut RuleCx<'_, '_>, &Form, &Form) -> Option<Form>,
) -> Affine {
    let part = |(length, a, b): (DimId, Option<Form>, Option<Form>)| {
        let form = a.zip(b).and_then(|(a, b)| function(cx, &a, &b));
        Part { length, form }
    };
    Affine { parts: pairs.parts.into_iter().map(part).collect(), axis: pairs.axis }
}

/// `a + b`, exactly, unless both depend on one axis in different ways.
pub(crate) fn add(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form) -> Option<Form> {
    let mut sum = Form { base: cx.dims().add(a.base, b.base), terms: a.terms.clone() };
    for term in &b.terms {
        match sum.terms.iter().position(|known| known.variable.axes() & term.variable.axes() != 0) {
            None => sum.terms.push(term.clone()),
            Some(at) if is_same_position(&sum.terms[at], term) => {
                let coefficient = cx.dims().add(sum.terms[at].coefficient, term.coefficient);
                sum.terms[at].coefficient = coefficient;
                if coefficient == DimId::ZERO {
                    sum.terms.remove(at);
                }
            }
            Some(_) => return None,
        }
    }
    Some(sum)
}

fn is_same_position(a: &Term, b: &Term) -> bool {
    a.variable == b.variable && matches!(a.variable, Variable::Position(_))
}

/// `-a`
pub(crate) fn neg(cx: &mut RuleCx<'_, '_>, a: &Form) -> Option<Form> {
    let minus_one = cx.dims().constant(-1);
    Some(scaled(cx, a, minus_one))
}

/// `a - b`
pub(crate) fn sub(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form) -> Option<Form> {
    let b = neg(cx, b)?;
    add(cx, a, &b)
}

fn scaled(cx: &mut RuleCx<'_, '_>, a: &Form, by: DimId) -> Form {
    let mut form = Form::equal(cx.dims().mul(a.base, by));
    for term in &a.terms {
        let coefficient = cx.dims().mul(term.coefficient, by);
        if coefficient != DimId::ZERO {
            form.terms.push(Term { coefficient, ..term.clone() });
        }
    }
    form
}

/// `a * b` of elements of which one is the same everywhere, or of natural numbers.
pub(crate) fn mul(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form) -> Option<Form> {
    if b.terms.is_empty() {
        return Some(scaled(cx, a, b.base));
    }
    if a.terms.is_empty() {
        return Some(scaled(cx, b, a.base));
    }
    for factor in [a, b] {
        let (least, _) = ends(cx, factor)?;
        if !is_natural(cx, least) {
            return None;
        }
    }
    monotone(cx, a, b, |cx, a, b| cx.dims().mul(a, b))
}

/// A function that does not decrease in either argument.
pub(crate) fn monotone(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form, function: Function) -> Option<Form> {
    if a.axes() & b.axes() != 0 {
        return None;
    }
    let ((least_a, greatest_a), (least_b, greatest_b)) = (ends(cx, a)?, ends(cx, b)?);
    let (least, greatest) = (function(cx, least_a, least_b), function(cx, greatest_a, greatest_b));
    Some(between(cx, (least, greatest), a.axes() | b.axes()))
}

/// `min(a, b)`
pub(crate) fn min(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form) -> Option<Form> {
    monotone(cx, a, b, |cx, a, b| cx.dims().min(a, b))
}

/// `max(a, b)`
pub(crate) fn max(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form) -> Option<Form> {
    monotone(cx, a, b, |cx, a, b| cx.dims().max(a, b))
}

/// The absolute value of elements of one sign.
pub(crate) fn abs(cx: &mut RuleCx<'_, '_>, a: &Form) -> Option<Form> {
    let (least, greatest) = ends(cx, a)?;
    if is_natural(cx, least) {
        return Some(a.clone());
    }
    let opposite = cx.dims().neg(greatest);
    if is_natural(cx, opposite) { neg(cx, a) } else { None }
}

/// `a / b` for one positive divisor: exact if the other terms add up to a remainder.
pub(crate) fn div(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form, divide: Function) -> Option<Form> {
    let divisor = divisor(cx, b)?;
    if let Some((quotient, _)) = split(cx, a, divisor) {
        return Some(quotient);
    }
    let (least, greatest) = ends(cx, a)?;
    let (least, greatest) = (divide(cx, least, divisor), divide(cx, greatest, divisor));
    Some(between(cx, (least, greatest), a.axes()))
}

/// The remainder of a division by one positive number, with the sign of the divisor or of the dividend.
pub(crate) fn remainder(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form, sign: Sign) -> Option<Form> {
    let divisor = divisor(cx, b)?;
    if let Some((_, remainder)) = split(cx, a, divisor) {
        return Some(remainder);
    }
    let (least, greatest) = ends(cx, a)?;
    if sign == Sign::OfDividend && !is_natural(cx, least) {
        return None;
    }
    // Consecutive numbers have all remainders if there are enough of them.
    let [Term { coefficient, count, variable: Variable::Position(_) }] = a.terms[..] else { return None };
    if !matches!(cx.const_dim(coefficient), Some(1 | -1)) {
        return None;
    }
    let last = cx.dims().sub(divisor, DimId::ONE);
    let more = cx.dims().sub(count, divisor);
    if is_natural(cx, more) {
        return Some(between(cx, (DimId::ZERO, last), a.axes()));
    }
    if least != DimId::ZERO {
        return None;
    }
    let greatest = cx.dims().min(greatest, last);
    Some(between(cx, (DimId::ZERO, greatest), a.axes()))
}

/// The sign of a remainder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    OfDivisor,
    OfDividend,
}

/// The only divisor, which is not 0 in any run.
fn divisor(cx: &mut RuleCx<'_, '_>, b: &Form) -> Option<DimId> {
    (b.terms.is_empty() && cx.dims().is_non_negative(b.base)).then_some(b.base)
}

/// The quotient and the remainder of terms that are multiples of the divisor and terms that add up to less.
fn split(cx: &mut RuleCx<'_, '_>, a: &Form, divisor: DimId) -> Option<(Form, Form)> {
    let (mut quotient, mut rest) = (Form::equal(DimId::ZERO), Form::equal(DimId::ZERO));
    match cx.dims().div_exact(a.base, divisor) {
        Some(exact) => quotient.base = exact,
        None => rest.base = a.base,
    }
    for term in &a.terms {
        match cx.dims().div_exact(term.coefficient, divisor) {
            Some(coefficient) => quotient.terms.push(Term { coefficient, ..term.clone() }),
            None => rest.terms.push(term.clone()),
        }
    }
    let (least, greatest) = ends(cx, &rest)?;
    let below = cx.dims().sub(divisor, greatest);
    let below = cx.dims().sub(below, DimId::ONE);
    (is_natural(cx, least) && is_natural(cx, below)).then_some((quotient, rest))
}

/// 1 or 0 where the comparison has the same result for all elements.
pub(crate) fn compare(cx: &mut RuleCx<'_, '_>, a: &Form, b: &Form, comparison: ComparisonOp) -> Option<Form> {
    let ((least_a, greatest_a), (least_b, greatest_b)) = (ends(cx, a)?, ends(cx, b)?);
    let (least, greatest) = (cx.dims().sub(least_a, greatest_b), cx.dims().sub(greatest_a, least_b));
    let bounds = (cx.dims().bounds(least).0, cx.dims().bounds(greatest).1);
    let equality = match bounds {
        (Some(1..), _) | (_, Some(..0)) => Decision::Different,
        (Some(0), Some(0)) => Decision::Equal,
        _ => Decision::Undecided,
    };
    let truth = comparison.judge(equality, bounds)?;
    Some(Form::equal(cx.dims().constant(i64::from(truth))))
}

/// The operator `Where` with one truth value for all positions: the elements of one input. Returns whether an
/// operand is followed in this form.
pub(crate) fn choose(cx: &mut RuleCx<'_, '_>) -> bool {
    if ![In(0), In(1), In(2)].into_iter().any(|port| cx.affine(port).is_some()) {
        return false;
    }
    let condition = operand(cx, In(0));
    let truth = condition.as_deref().and_then(Affine::single).filter(|form| form.terms.is_empty());
    let Some(truth) = truth.and_then(|form| cx.const_dim(form.base)) else { return true };
    let chosen = if truth == 0 { In(2) } else { In(1) };
    if let Some(elements) = operand(cx, chosen).and_then(|elements| aligned(cx, &elements, chosen)) {
        put(cx, Out(0), elements);
    }
    true
}

/// Clip: omitted bounds have no effect. Returns whether the elements are followed in this form.
pub(crate) fn clip(cx: &mut RuleCx<'_, '_>) -> bool {
    let Some(affine) = cx.affine(In(0)) else { return false };
    let mut affine = Affine::clone(&affine);
    for (bound, function) in [(In(1), max as Binary), (In(2), min)] {
        if !cx.has(bound) {
            continue;
        }
        let Some(limit) = cx.ints(bound).and_then(|limit| limit.single()).map(Form::equal) else {
            return true;
        };
        for part in &mut affine.parts {
            part.form = part.form.as_ref().and_then(|form| function(cx, form, &limit));
        }
    }
    put(cx, Out(0), affine);
    true
}
