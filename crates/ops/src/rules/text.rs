//! Operators on strings.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{RuleCx, RuleError, RuleResult};

use super::elementwise::{BROADCAST, SAME_SHAPE};
use super::{Entry, rule};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("RegexFullMatch", &[SAME_SHAPE]),
    Entry::of("StringConcat", &[BROADCAST]),
    Entry::of("StringNormalizer", &[rule("stringnormalizer.words", normalize)]),
    Entry::of("StringSplit", &[rule("stringsplit.parts", split)]),
    Entry::of("TfIdfVectorizer", &[rule("tfidfvectorizer.ngrams", ngrams)]),
];

/// Stop words are removed, so a row has an unknown number of strings. Source: StringNormalizer, `X`, `Y` and
/// `stopwords`.
fn normalize(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(rank) = cx.require_rank(In(0), 1..=2)? else { return Ok(()) };
    if rank == 2
        && let Some(shape) = cx.shape(In(0))
    {
        cx.require_equal((In(0), 0, shape[0]), DimId::ONE, "is the number of rows, which must be 1")?;
    }
    if cx.rank(Out(0)).is_some() {
        return Ok(());
    }
    if cx.attr_strings("stopwords")?.unwrap_or_default().is_empty() {
        return cx.same_shape(In(0), Out(0));
    }
    let kept = cx.fresh();
    match rank {
        1 => cx.set_shape(Out(0), &[kept]),
        _ => cx.set_shape(Out(0), &[DimId::ONE, kept]),
    }
}

/// The parts of each string are on a new last axis; their numbers have the input's shape. Source:
/// StringSplit, `Y` and `Z`.
fn split(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.same_shape(In(0), Out(1))?;
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let parts = cx.shape(Out(0)).and_then(|known| known.last().copied()).unwrap_or_else(|| cx.fresh());
    shape.push(parts);
    cx.set_shape(Out(0), &shape)
}

/// One number per n-gram of the pool. Source: TfIdfVectorizer, `ngram_indexes` and `Y`.
fn ngrams(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 1..=2)?;
    let indexes = cx.attr_ints("ngram_indexes")?.unwrap_or_default();
    let Some(largest) = indexes.iter().copied().max() else {
        return Err(RuleError::attribute("ngram_indexes", "must name at least one n-gram"));
    };
    if indexes.iter().any(|index| *index < 0) {
        return Err(RuleError::attribute("ngram_indexes", "has an index below 0"));
    }
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let columns = cx.dims().constant(largest.saturating_add(1));
    if let Some(last) = shape.last_mut() {
        *last = columns;
    }
    cx.set_shape(Out(0), &shape)
}
