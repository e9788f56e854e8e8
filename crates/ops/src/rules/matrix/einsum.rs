//! Einsum: letters of the equation name axes; an ellipsis denotes axes that broadcast.

use std::collections::BTreeMap;

use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extent, Port, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

/// The part of the equation for one operand: letters before and after the ellipsis.
struct Term {
    before: Vec<char>,
    after: Option<Vec<char>>,
}

impl Term {
    fn parse(text: &str) -> Option<Self> {
        let (before, after) = match text.split_once("...") {
            Some((before, after)) => (before, Some(after)),
            None => (text, None),
        };
        let letters = |part: &str| -> Option<Vec<char>> {
            let letters: Vec<char> = part.chars().collect();
            letters.iter().all(char::is_ascii_alphabetic).then_some(letters)
        };
        let after = match after {
            Some(after) => Some(letters(after)?),
            None => None,
        };
        Some(Self { before: letters(before)?, after })
    }

    fn letters(&self) -> impl Iterator<Item = char> {
        self.before.iter().chain(self.after.iter().flatten()).copied()
    }

    fn len(&self) -> usize {
        self.before.len() + self.after.as_ref().map_or(0, Vec::len)
    }
}

/// A letter has the same extent in all operands, or 1: the reference and ONNX Runtime broadcast as NumPy
/// does, which the operator's text does not mention. A letter that is repeated in an operand selects a
/// diagonal of equal extents. Source: Einsum, `equation`.
pub(super) fn einsum(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(equation) = cx.attr_str("equation")? else { return Ok(()) };
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let malformed = || RuleError::attribute("equation", "is not of the form `ij,jk->ik`");
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(Term::parse(right).ok_or_else(malformed)?)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<Term> = left.split(',').map(Term::parse).collect::<Option<_>>().ok_or_else(malformed)?;
    if terms.len() != cx.input_count() {
        let message = format!("names {} operands, but the node has {}", terms.len(), cx.input_count());
        return Err(RuleError::attribute("equation", message));
    }
    let result = right.unwrap_or_else(|| implicit(&terms));
    let known: Vec<char> = terms.iter().flat_map(Term::letters).collect();
    if let Some(unknown) = result.letters().find(|letter| !known.contains(letter)) {
        return Err(RuleError::attribute("equation", format!("gives `{unknown}`, which no operand has")));
    }
    let mut extents: BTreeMap<char, (usize, Extent)> = BTreeMap::new();
    let mut ellipsis: Option<DimVec> = Some(DimVec::new());
    let mut covered_axes: Option<(usize, usize)> = None;
    let mut complete = true;
    for (at, term) in terms.iter().enumerate() {
        let port = In(at);
        let Some(shape) = cx.shape(port) else {
            complete = false;
            continue;
        };
        let fits = if term.after.is_some() { shape.len() >= term.len() } else { shape.len() == term.len() };
        if !fits {
            let message =
                format!("the equation gives it {}, but it has {}", counted(term.len(), "axis"), shape.len());
            return Err(RuleError::shapes(&[port], message));
        }
        let covered = shape.len() - term.len();
        if term.after.is_some() {
            // An ellipsis denotes the same number of axes in all operands, though their extents may
            // broadcast.
            if let Some((other, before)) = covered_axes.replace((at, covered))
                && before != covered
            {
                let message = format!(
                    "ellipsis for input {at} represents {}, but ellipsis for input {other} represents {}",
                    counted(covered, "dimension"),
                    counted(before, "dimension")
                );
                return Err(RuleError::shapes(&[port], message));
            }
            ellipsis = broadcast_ellipsis(
                cx,
                ellipsis,
                port,
                term.before.len(),
                &shape[term.before.len()..][..covered],
            )?;
        }
        let behind = term.before.len() + covered;
        let positions = term.before.iter().enumerate().map(|(axis, letter)| (axis, *letter));
        let positions = positions
            .chain(term.after.iter().flatten().enumerate().map(|(axis, letter)| (behind + axis, *letter)));
        for (axis, letter) in positions {
            let extent = Extent::from((port, axis, shape[axis]));
            let merged = match extents.get(&letter) {
                Some((operand, before)) if *operand == at => {
                    let dim = cx.require_equal(*before, extent, "share a letter of the equation")?;
                    Extent { dim, ..*before }
                }
                Some((_, before)) => {
                    let dim = cx.broadcast_dim(*before, extent)?;
                    Extent { dim, ..extent }
                }
                None => extent,
            };
            extents.insert(letter, (at, merged));
        }
    }
    let wants_ellipsis = result.after.is_some();
    let dims = |letters: &[char]| {
        letters
            .iter()
            .map(|letter| extents.get(letter).map(|(_, extent)| extent.dim))
            .collect::<Option<DimVec>>()
    };
    let (Some(mut shape), Some(after)) = (dims(&result.before), dims(result.after.as_deref().unwrap_or(&[])))
    else {
        return if complete || wants_ellipsis { Ok(()) } else { cx.set_rank(Out(0), result.len()) };
    };
    if wants_ellipsis {
        match ellipsis {
            Some(covered) if complete => shape.extend(covered),
            Some(_) | None => return Ok(()),
        }
    }
    shape.extend(after);
    cx.set_shape(Out(0), &shape)
}

/// Without `->`, the result has the letters that occur once, in alphabetical order, after the ellipsis.
fn implicit(terms: &[Term]) -> Term {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for letter in terms.iter().flat_map(Term::letters) {
        *counts.entry(letter).or_default() += 1;
    }
    let once = counts.into_iter().filter(|(_, count)| *count == 1).map(|(letter, _)| letter).collect();
    if terms.iter().any(|term| term.after.is_some()) {
        Term { before: Vec::new(), after: Some(once) }
    } else {
        Term { before: once, after: None }
    }
}

/// Broadcasts the ellipsis axes of one more operand with those of the previous operands.
fn broadcast_ellipsis(
    cx: &mut RuleCx<'_, '_>,
    sofar: Option<DimVec>,
    port: Port,
    first: usize,
    covered: &[typeloom_dim::DimId],
) -> RuleResult<Option<DimVec>> {
    let Some(sofar) = sofar else { return Ok(None) };
    let rank = sofar.len().max(covered.len());
    let mut shape = DimVec::with_capacity(rank);
    for axis in 0..rank {
        let a = (axis + sofar.len()).checked_sub(rank).map(|at| sofar[at]);
        let b = (axis + covered.len()).checked_sub(rank).map(|at| (at, covered[at]));
        shape.push(match (a, b) {
            (Some(a), Some((at, b))) => cx.broadcast_dim((Out(0), a), (port, first + at, b))?,
            (Some(a), None) => a,
            (None, Some((_, b))) => b,
            (None, None) => continue,
        });
    }
    Ok(Some(shape))
}
