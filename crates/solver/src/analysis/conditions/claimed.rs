//! Decisions about claims: declared extents that differ from derived ones as expressions.
//!
//! A declared extent of an output or of an inner value is a claim about every run (see
//! [`crate::analysis::claims`]). It may hold although the expressions differ, because of the conditions that
//! the graph needs anyway. This module decides the claims of a solved frame:
//!
//! ```text
//! g (float[past] p, float[seq] x, int64[total] m) => (float[total] y) { y = Concat <axis = 0> (p, x) }
//!
//! derived past + seq, declared total: false, for example with past = 1, seq = 1, total = 1
//!                                     it would hold under the assumption total = past + seq
//! ```
//!
//! [`Dims::examine`](typeloom_dim::Dims::examine) decides the equation of both extents over the domain of the
//! equations of the graph. If it holds for few values of a free symbol only, the symbol gets the error.
//! Otherwise, if it does not hold always, a counterexample is searched: a binding that violates it and
//! satisfies the known equations of the graph. An equation that a proposed binding violates joins the domain,
//! and the search starts again (refinement by counterexamples, Clarke et al., 2000). A broadcast of two
//! extents has three cases: the first is 1, the second is 1, or both are equal. A counterexample in one case
//! refutes the claim.
//!
//! **Invariant:** a refuted claim has a binding that satisfies the known equations and for which the extents
//! differ. A claim without a proof and without a counterexample is an open [`Requirement`], and no error.
//!
//! **Invariant:** a value has at most one error here. A false promise takes precedence over a false label.
//!
//! **Limits:** the first [`MAX_CLAIMS`] claims of a frame are decided, and equal undecided ones once. Claims
//! about input axes without a name use at most [`MAX_EQUATIONS`] equations of these axes. An assumption that
//! makes a claim true is proposed only if the declared extent is a symbol of an input.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_dim::{Condition, Decision, DimId, Relation, Verdict};

use super::{Facts, MAX_CLAIMS, MAX_EQUATIONS, declared_symbols};
use crate::program::ValueId;
use crate::solution::{Equation, EquationSource, Requirement};
use crate::solve_error::{ClaimWeight, RefutedClaim, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::claim::Claim;
use crate::state::frame::Frame;

impl<'a> Facts<'a> {
    /// Decides declared extents that differ from derived ones as expressions.
    pub(super) fn claims(&mut self, core: &mut Core<'a>, frame: &Frame<'a>) {
        let mut refuted: BTreeMap<ValueId, SolveError<'a>> = BTreeMap::new();
        let mut unnamed: Option<Unnamed> = None;
        // Many values of a model have the same extents.
        let mut undecided = BTreeSet::new();
        for (at, claim) in frame.rare.claims.iter().enumerate() {
            if frame.rare.value_errors.contains_key(&claim.value) {
                continue;
            }
            // A false promise hides a false label of the same value.
            let earlier = refuted.get(&claim.value).map(|error| weight(&error.kind));
            if earlier.is_some_and(|earlier| earlier == ClaimWeight::Promise || claim.weight == earlier) {
                continue;
            }
            let mut claim = *claim;
            if core.dims.is_anonymous(claim.derived) {
                let unnamed = unnamed.get_or_insert_with(|| Unnamed::of(core, frame));
                claim.derived = core.dims.substitute(claim.derived, &unnamed.names);
                claim.broadcast = claim.broadcast.map(|(a, b)| {
                    let mut named = |dim| core.dims.substitute(dim, &unnamed.names);
                    (named(a), named(b))
                });
                for condition in std::mem::take(&mut unnamed.conditions) {
                    self.domain.assume(&mut core.dims, condition);
                }
            }
            // Only a promise without a name can restrict a symbol, so only it is decided by finitely many
            // values.
            let is_strict = claim.weight == ClaimWeight::Promise && claim.named.is_none();
            let condition = (claim.derived, claim.declared, claim.broadcast, is_strict);
            let is_decided = at < MAX_CLAIMS && !undecided.contains(&condition);
            let decided = if is_decided { self.claim(core, frame, &claim) } else { Err(()) };
            match decided {
                Ok(Some(kind)) => {
                    refuted.insert(claim.value, SolveError { site: frame.site_of(claim.value), kind });
                }
                Ok(None) => {}
                Err(()) => {
                    undecided.insert(condition);
                    let equation = claimed(frame, &claim);
                    let condition = Condition::new(Relation::Equal, claim.derived, claim.declared);
                    self.decided.requirements.push(Requirement { condition, equation, is_decided: false });
                }
            }
        }
        self.decided.errors.extend(refuted.into_values());
    }

    /// The error of a claim: `Ok(None)` if it holds, `Err` if it is undecided.
    fn claim(
        &mut self,
        core: &mut Core<'a>,
        frame: &Frame<'a>,
        claim: &Claim,
    ) -> Result<Option<SolveErrorKind<'a>>, ()> {
        let Some((a, b)) = claim.broadcast else {
            // Extents are not negative: if `seq - 2` is negative, it declares an empty axis.
            let declared = core.dims.max(claim.declared, DimId::ZERO);
            let condition = Condition::new(Relation::Equal, claim.derived, declared);
            let holds_where = match core.dims.examine(condition, &self.domain) {
                Verdict::Always => return Ok(None),
                // The case itself may leave few values.
                Verdict::Only { symbol, values }
                    if self.free.contains(&symbol)
                        && !self.in_case
                        && claim.weight == ClaimWeight::Promise
                        && claim.named.is_none() =>
                {
                    let equation = claimed(frame, claim);
                    if let [value] = values[..] {
                        self.declared.push(Condition::new(
                            Relation::Equal,
                            symbol,
                            core.dims.constant(value),
                        ));
                    }
                    let is_new = self.reported.insert(symbol);
                    let fitting = values.clone();
                    let kind = SolveErrorKind::ForcedSymbol {
                        symbol,
                        values,
                        fitting,
                        equation,
                        by_constant: true,
                        is_certain: true,
                    };
                    return Ok(is_new.then_some(kind));
                }
                Verdict::Undecided => return Err(()),
                Verdict::Equals { symbol, value } => Some(Condition::new(Relation::Equal, symbol, value)),
                Verdict::Restricted { conditions } => {
                    <[Condition; 1]>::try_from(conditions).ok().map(|[it]| it)
                }
                Verdict::Never | Verdict::Only { .. } => None,
            };
            let binding = self.counterexample(core, condition, &self.domain).ok_or(())?;
            return Ok(self.refuted(
                core,
                frame,
                claim,
                Counterexample { binding, holds_where, broadcast: None },
            ));
        };
        // A broadcast is one of three cases.
        let mut open = false;
        for (one, other, found) in [(b, DimId::ONE, a), (a, DimId::ONE, b), (a, b, a)] {
            let mut domain = self.domain.clone();
            domain.assume(&mut core.dims, Condition::new(Relation::Equal, one, other));
            let condition = Condition::new(Relation::Equal, found, claim.declared);
            if core.dims.compare(found, claim.declared) == Decision::Equal
                || core.dims.examine(condition, &domain) == Verdict::Always
            {
                continue;
            }
            if let Some(binding) = self.counterexample(core, condition, &domain) {
                let (shown, with) = if claim.declared == a { (a, b) } else { (b, a) };
                let broadcast = Some((found, shown, with));
                return Ok(self.refuted(
                    core,
                    frame,
                    claim,
                    Counterexample { binding, holds_where: None, broadcast },
                ));
            }
            open = true;
        }
        if open { Err(()) } else { Ok(None) }
    }

    /// The error of a claim with a counterexample.
    fn refuted(
        &self,
        core: &mut Core<'a>,
        frame: &Frame<'a>,
        claim: &Claim,
        counterexample: Counterexample,
    ) -> Option<SolveErrorKind<'a>> {
        let Counterexample { binding, holds_where, broadcast } = counterexample;
        let found = broadcast.map_or(claim.derived, |(found, _, _)| found);
        let extents = (core.dims.evaluate(found, &binding)?, core.dims.evaluate(claim.declared, &binding)?);
        let (derived, broadcast_with, assumption) = match broadcast {
            Some((_, shown, with)) => (shown, Some(with), None),
            None => (claim.derived, None, self.assumption(core, frame, claim)),
        };
        Some(SolveErrorKind::RefutedClaim(Box::new(RefutedClaim {
            value: claim.value,
            declared_in: claim.declared_in,
            axis: claim.axis,
            declared: claim.declared,
            derived,
            broadcast_with,
            binding,
            extents,
            holds_where,
            assumption,
            named: claim.named,
            weight: claim.weight,
        })))
    }

    /// A dim that a declared symbol has to equal so that the claim holds: the derived extent, or the sum of
    /// one of its symbols and another one, as for the length of a cache.
    fn assumption(&self, core: &mut Core<'a>, frame: &Frame<'a>, claim: &Claim) -> Option<(DimId, DimId)> {
        let symbol = claim.declared;
        core.dims.as_symbol(symbol)?;
        let own = core.dims.symbols_of(claim.derived);
        if core.dims.is_anonymous(claim.derived)
            || !self.free.contains(&symbol)
            || own.iter().any(|it| !self.free.contains(it))
        {
            return None;
        }
        if own.is_empty() || !own.contains(&symbol) {
            return (!own.is_empty()).then_some((symbol, claim.derived));
        }
        // Another axis of the value has an extent of its own.
        let others = declared_symbols(core, &frame.body, claim.value);
        let added: Vec<DimId> =
            self.free.iter().copied().filter(|it| !others.contains(it) && !own.contains(it)).collect();
        let suffix = |core: &Core<'a>, a: DimId, b: DimId| {
            let (a, b) = (core.dims.as_symbol(a).unwrap_or(""), core.dims.as_symbol(b).unwrap_or(""));
            a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count()
        };
        let mut best: Option<(usize, DimId)> = None;
        for base in own.into_iter().filter(|base| *base != symbol) {
            for other in &added {
                let sum = core.dims.add(base, *other);
                let derived = core.dims.substitute(claim.derived, &[(symbol, sum)]);
                let length = suffix(core, base, *other);
                if core.dims.compare(derived, sum) == Decision::Equal
                    && best.is_none_or(|(most, _)| length > most)
                {
                    best = Some((length, sum));
                }
            }
        }
        best.map(|(_, sum)| (symbol, sum))
    }
}

/// A binding that refutes a claim.
struct Counterexample {
    binding: Vec<(DimId, i64)>,
    /// The single condition under which the claim holds.
    holds_where: Option<Condition>,
    /// Of a broadcast: the extent under the binding, the shown operand, and the other one.
    broadcast: Option<(DimId, DimId, DimId)>,
}

/// Symbols for the extents of input axes without a name, with which claims about them are decided.
struct Unnamed {
    names: Vec<(DimId, DimId)>,
    /// The equations about these extents, with the symbols.
    conditions: Vec<Condition>,
}

impl Unnamed {
    fn of<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Self {
        let unnamed = core.unnamed_extents(frame);
        let mut names: Vec<(DimId, DimId)> = Vec::new();
        for input in &frame.body.graph(frame.body.root()).inputs {
            let Some(shape) = frame.open_inputs.get(input).copied().flatten() else { continue };
            for (axis, dim) in core.resolved(shape).into_iter().enumerate() {
                if unnamed.contains(&dim) && names.iter().all(|(known, _)| *known != dim) {
                    let name = format!("axis {axis} of {}", frame.body.value_name(*input));
                    names.push((dim, core.dims.symbol(&name)));
                }
            }
        }
        let mut conditions = Vec::new();
        for equation in frame.certain_equations() {
            let condition = equation.condition().map(|side| core.dims.resolve(side));
            let sides = [condition.left, condition.right];
            if sides.iter().any(|side| core.dims.variables_of(*side).iter().any(|it| unnamed.contains(it))) {
                conditions.push(condition.map(|side| core.dims.substitute(side, &names)));
            }
        }
        conditions.truncate(MAX_EQUATIONS);
        Self { names, conditions }
    }
}

/// The weight of a decided claim.
fn weight(kind: &SolveErrorKind<'_>) -> ClaimWeight {
    match kind {
        SolveErrorKind::RefutedClaim(claim) => claim.weight,
        _ => ClaimWeight::Promise,
    }
}

/// A claim as an equation between the derived and the declared extent.
fn claimed(frame: &Frame<'_>, claim: &Claim) -> Equation {
    // Values without a defining node have constant extents; then the equation belongs to the whole graph.
    let step = frame.body.maker(claim.value).unwrap_or_else(|| crate::program::StepId::new(0));
    Equation {
        left: claim.derived,
        right: claim.declared,
        need: Relation::Equal,
        step,
        rule: "",
        source: EquationSource::Declared(claim.value),
    }
}
