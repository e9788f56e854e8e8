//! The conditions that a graph places on the symbols of its inputs.
//!
//! A solve never merges symbols. Where an operator needs `N` and `M` equal, or an extent to be at least 4, the need is kept
//! as an [`Equation`]. This module judges the equations of the nodes that always run, and the declared extents that differ
//! from the derived ones ([`Claim`]).
//!
//! | what the equations say of a symbol that an input declares | fault |
//! |---|---|
//! | finitely many values remain | [`FaultKind::ForcedSymbol`], an error |
//! | no value remains | the fault of the node that needs it, an error |
//! | it equals another symbol of the inputs | [`FaultKind::ForcedEquality`], a warning |
//! | it is restricted in another way | [`FaultKind::Restricted`], a warning with a binding that fails |
//!
//! | what they say of a declared extent | fault |
//! |---|---|
//! | it equals the derived one | none |
//! | it differs under a binding with which the graph runs | [`FaultKind::RefutedClaim`], an error |
//! | it agrees for finitely many values of a symbol only | [`FaultKind::ForcedSymbol`], an error |
//!
//! Extents count as 1 or more here: a caller does not expect a graph that works on empty tensors only, so
//! `batch*seq = 7*batch` leaves one value for `seq`.
//!
//! Algorithm: elimination of one symbol by each equation, in the order of nodes, repeated while something new follows.
//! What remains is judged by a bounded search for a binding that violates it and satisfies everything else. Neither is
//! complete; an equation that is neither solved nor violated stays open, is listed and counted.

mod origin;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::claims::Claim;
use crate::core::Core;
use crate::dim::{Decision, DimId, Solved};
use crate::fault::{Fault, FaultKind, Place, RefutedClaim};
use crate::frame::Frame;
use crate::model::place_of;
use crate::program::{Origin, ValueId};
use crate::rule::{Extent, Failure};
use crate::solution::{Equation, EquationSource, Need};

use origin::is_baked;
use search::{Condition, Search};

/// How often all equations are gone through.
const MAX_ROUNDS: usize = 4;

/// The most equations that are judged.
const MAX_EQUATIONS: usize = 4096;

/// The most conditions and claims for which a violating binding is searched.
const MAX_SEARCHED: usize = 256;

/// The faults that follow from the equations and claims of a finished frame.
pub(crate) fn faults<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<Fault<'a>> {
    let mut faults = narrowed_inputs(core, frame);
    if frame.equations.is_empty() && frame.claims.is_empty() {
        return faults;
    }
    let mut facts = solve(core, frame);
    facts.restrictions(core);
    facts.claims(core, frame);
    faults.append(&mut facts.faults);
    faults
}

/// The symbols that can only be another symbol or an expression of others, with that.
pub(crate) fn merged<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<(DimId, DimId)> {
    let Known { order, values } = solve(core, frame).known;
    let mut merged: Vec<(DimId, DimId)> =
        order.into_iter().filter_map(|symbol| Some((symbol, *values.get(&symbol)?))).collect();
    merged.retain(|(_, value)| core.dims.as_constant(*value).is_none());
    merged
}

fn solve<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Facts<'a> {
    let mut equations: Vec<(Equation, bool)> = frame
        .equations
        .iter()
        .filter(|equation| !frame.is_conditional(equation.step) && frame.runs(equation.step))
        .map(|equation| (*equation, is_baked(core, frame, equation)))
        .collect();
    equations.sort_by_key(|(equation, _)| equation.step);
    equations.dedup_by_key(|(equation, _)| (equation.left, equation.right, equation.need));
    equations.truncate(MAX_EQUATIONS);
    let mut facts = Facts {
        free: input_symbols(core, frame),
        known: Known::default(),
        open: Vec::new(),
        faults: Vec::new(),
        reported: BTreeSet::new(),
        searches: MAX_SEARCHED,
    };
    for _ in 0..MAX_ROUNDS {
        let before = equations.len();
        equations.retain(|(equation, baked)| facts.use_equation(core, equation, *baked));
        if equations.len() == before {
            break;
        }
    }
    facts.open = equations.into_iter().map(|(equation, _)| equation).collect();
    facts
}

/// The symbols that equations determine.
#[derive(Default)]
struct Known {
    /// In the order in which they were determined.
    order: Vec<DimId>,
    values: BTreeMap<DimId, DimId>,
}

impl Known {
    /// A dim with every determined symbol replaced.
    ///
    /// A value mentions only symbols that were open when it was found, so this ends.
    fn put_into(&self, core: &mut Core<'_>, dim: DimId) -> DimId {
        let mut dim = core.dims.resolve(dim);
        loop {
            let values: Vec<(DimId, DimId)> = core
                .dims
                .symbols_of(dim)
                .iter()
                .filter_map(|symbol| Some((*symbol, *self.values.get(symbol)?)))
                .collect();
            if values.is_empty() {
                return dim;
            }
            dim = core.dims.substitute(dim, &values);
        }
    }
}

/// What the equations have shown so far.
struct Facts<'a> {
    /// The symbols that inputs declare.
    free: BTreeSet<DimId>,
    known: Known,
    /// The equations that nothing decided.
    open: Vec<Equation>,
    faults: Vec<Fault<'a>>,
    /// The symbols that a fault names as forced.
    reported: BTreeSet<DimId>,
    /// How many searches for a binding are left.
    searches: usize,
}

impl<'a> Facts<'a> {
    /// Uses an equation; whether more may follow from it when more is known.
    fn use_equation(&mut self, core: &mut Core<'a>, equation: &Equation, baked: bool) -> bool {
        let [left, right] = [equation.left, equation.right].map(|dim| self.known.put_into(core, dim));
        match equation.need {
            Need::Equal => match core.dims.solve_for_nonempty(left, right) {
                Solved::Always => false,
                Solved::Contradiction => {
                    self.contradiction(core, equation, left, right, baked);
                    false
                }
                Solved::Symbol { symbol, value } => {
                    self.determined(core, equation, symbol, value, baked);
                    false
                }
                Solved::Variable { .. } | Solved::Undecided => true,
            },
            Need::OneOrEqual => {
                let one = core.dims.compare(left, DimId::ONE);
                match (one, core.dims.compare(left, right)) {
                    (Decision::Equal, _) | (_, Decision::Equal) => false,
                    (Decision::Different, Decision::Different) => {
                        self.contradiction(core, equation, left, right, baked);
                        false
                    }
                    (Decision::Different, Decision::Undecided) => {
                        self.use_equation(core, &Equation { need: Need::Equal, ..*equation }, baked)
                    }
                    (Decision::Undecided, Decision::Different) => {
                        let one = Equation { need: Need::Equal, right: DimId::ONE, ..*equation };
                        self.use_equation(core, &one, baked)
                    }
                    (Decision::Undecided, Decision::Undecided) => {
                        !self.one_or_equal(core, equation, left, right, baked)
                    }
                }
            }
            Need::AtMost => {
                let gap = core.dims.sub(right, left);
                let (least, most) = search::positive_bounds(&mut core.dims, gap);
                if most.is_some_and(|most| most < 0) {
                    self.contradiction(core, equation, left, right, baked);
                    return false;
                }
                least.is_none_or(|least| least < 0)
            }
            Need::Broadcast => {
                let one = |core: &mut Core<'a>, dim| core.dims.compare(dim, DimId::ONE);
                if core.dims.compare(left, right) == Decision::Equal
                    || one(core, left) == Decision::Equal
                    || one(core, right) == Decision::Equal
                {
                    return false;
                }
                let as_one_or_equal = match (core.dims.as_constant(left), core.dims.as_constant(right)) {
                    (Some(_), _) => Equation { left: equation.right, right: equation.left, ..*equation },
                    (None, Some(_)) => *equation,
                    (None, None) => return true,
                };
                self.use_equation(core, &Equation { need: Need::OneOrEqual, ..as_one_or_equal }, baked)
            }
        }
    }

    /// `left` is 1 or a number: a symbol has two values, whichever of the two cases holds. Whether that is the case.
    fn one_or_equal(
        &mut self,
        core: &mut Core<'a>,
        equation: &Equation,
        left: DimId,
        right: DimId,
        baked: bool,
    ) -> bool {
        let case = |core: &mut Core<'a>, value| match core.dims.solve_for_nonempty(left, value) {
            Solved::Symbol { symbol, value } => Some((symbol, core.dims.as_constant(value)?)),
            Solved::Always | Solved::Contradiction | Solved::Variable { .. } | Solved::Undecided => None,
        };
        let (Some((symbol, a)), Some((other, b))) = (case(core, DimId::ONE), case(core, right)) else {
            return false;
        };
        if symbol != other || !self.free.contains(&symbol) {
            return false;
        }
        self.force(equation, symbol, &[a, b], baked);
        true
    }

    fn force(&mut self, equation: &Equation, symbol: DimId, values: &[i64], baked: bool) {
        if !self.reported.insert(symbol) {
            return;
        }
        let mut values = values.to_vec();
        values.sort_unstable();
        values.dedup();
        let kind = FaultKind::ForcedSymbol { symbol, values, equation: *equation, baked };
        self.faults.push(Fault { place: Place::Step(equation.step), kind });
    }

    /// An equation leaves one value for a symbol.
    fn determined(
        &mut self,
        core: &mut Core<'a>,
        equation: &Equation,
        symbol: DimId,
        value: DimId,
        baked: bool,
    ) {
        self.known.order.push(symbol);
        self.known.values.insert(symbol, value);
        if !self.free.contains(&symbol) {
            return;
        }
        if let Some(value) = core.dims.as_constant(value) {
            self.force(equation, symbol, &[value], baked);
            return;
        }
        let symbols = core.dims.symbols_of(value);
        if !symbols.iter().all(|symbol| self.free.contains(symbol)) {
            return;
        }
        let kind = if core.dims.as_symbol(value).is_some() {
            let (left, right) = (symbol.min(value), symbol.max(value));
            FaultKind::ForcedEquality { left, right, equation: *equation }
        } else {
            // A sum or product has to be equal to a symbol: the smallest binding in which it is not.
            let condition = Condition { need: Need::Equal, left: symbol, right: value };
            let Some(binding) = self.violation(core, condition) else { return };
            FaultKind::Restricted {
                need: Need::Equal,
                left: symbol,
                right: value,
                equation: *equation,
                binding,
            }
        };
        self.faults.push(Fault { place: Place::Step(equation.step), kind });
    }

    /// With what is known already, an equation cannot hold.
    fn contradiction(
        &mut self,
        core: &mut Core<'a>,
        equation: &Equation,
        left: DimId,
        right: DimId,
        baked: bool,
    ) {
        let place = Place::Step(equation.step);
        if equation.need == Need::Equal
            && let Solved::Symbol { symbol, value } =
                core.dims.solve_for_nonempty(equation.left, equation.right)
            && let Some(value) = core.dims.as_constant(value)
            && self.free.contains(&symbol)
        {
            let kind = FaultKind::ForcedSymbol { symbol, values: vec![value], equation: *equation, baked };
            self.faults.push(Fault { place, kind });
            return;
        }
        // What a symbol that was reported cannot be follows from that report.
        let mentions =
            |core: &Core<'a>, dim| core.dims.symbols_of(dim).iter().any(|s| self.reported.contains(s));
        if mentions(core, equation.left) || mentions(core, equation.right) {
            return;
        }
        let EquationSource::Ports { left: at, right: other, relation } = equation.source else { return };
        let (left, right) = (Extent { dim: left, ..at }, Extent { dim: right, ..other });
        let failure = Failure::Dims { left, right, relation };
        self.faults.push(Fault { place, kind: FaultKind::Rule { rule: equation.rule, failure } });
    }

    /// Reports the open equations that some binding of input symbols violates.
    fn restrictions(&mut self, core: &mut Core<'a>) {
        let mut reported: Vec<Condition> = Vec::new();
        let open = std::mem::take(&mut self.open);
        for equation in &open {
            let [left, right] = [equation.left, equation.right].map(|dim| self.known.put_into(core, dim));
            let condition = Condition { need: equation.need, left, right };
            let symbols = condition.symbols(core);
            let is_callers = symbols.iter().all(|symbol| self.free.contains(symbol));
            let is_reported = symbols.iter().any(|symbol| self.reported.contains(symbol));
            if !is_callers || is_reported || condition.is_anonymous(core) || reported.contains(&condition) {
                continue;
            }
            if self.searches == 0 {
                break;
            }
            self.searches -= 1;
            // What earlier conditions imply is not reported again.
            let Some(binding) = Search::new(&reported).violation(core, condition) else { continue };
            reported.push(condition);
            let kind =
                FaultKind::Restricted { need: equation.need, left, right, equation: *equation, binding };
            self.faults.push(Fault { place: Place::Step(equation.step), kind });
        }
        self.open = open;
    }

    fn violation(&mut self, core: &mut Core<'a>, condition: Condition) -> Option<Vec<(DimId, i64)>> {
        if self.searches == 0 || condition.is_anonymous(core) {
            return None;
        }
        self.searches -= 1;
        Search::new(&[]).violation(core, condition)
    }

    /// Judges declared extents that differ from the derived ones as expressions.
    fn claims(&mut self, core: &mut Core<'a>, frame: &Frame<'a>) {
        let mut conditions: Vec<Condition> = Vec::new();
        for equation in &self.open {
            let [left, right] = [equation.left, equation.right].map(|dim| self.known.put_into(core, dim));
            let condition = Condition { need: equation.need, left, right };
            if !condition.is_anonymous(core) {
                conditions.push(condition);
            }
        }
        let mut refuted: BTreeMap<ValueId, Fault<'a>> = BTreeMap::new();
        for claim in &frame.claims {
            if refuted.contains_key(&claim.value) || frame.value_faults.contains_key(&claim.value) {
                continue;
            }
            if let Some(kind) = self.claim(core, frame, claim, &conditions) {
                refuted.insert(claim.value, Fault { place: place_of(frame, claim.value), kind });
            }
        }
        self.faults.extend(refuted.into_values());
    }

    fn claim(
        &mut self,
        core: &mut Core<'a>,
        frame: &Frame<'a>,
        claim: &Claim,
        conditions: &[Condition],
    ) -> Option<FaultKind<'a>> {
        let [declared, derived] = [claim.declared, claim.derived].map(|dim| self.known.put_into(core, dim));
        let broadcast =
            claim.broadcast.map(|(a, b)| (self.known.put_into(core, a), self.known.put_into(core, b)));
        if broadcast.is_none() {
            if core.dims.compare(derived, declared) == Decision::Equal {
                return None;
            }
            // One value left: the constant is wrong, or the symbol is no symbol.
            if let Solved::Symbol { symbol, value } = core.dims.solve_for_nonempty(derived, declared)
                && let Some(value) = core.dims.as_constant(value)
                && self.free.contains(&symbol)
                && value > 0
            {
                if !self.reported.insert(symbol) {
                    return None;
                }
                let Origin::Step(step) = frame.body.value(claim.value).origin else { return None };
                let equation = Equation {
                    left: claim.derived,
                    right: claim.declared,
                    need: Need::Equal,
                    step: frame.body.first_step(step),
                    rule: "",
                    source: EquationSource::Declared(claim.value),
                };
                return Some(FaultKind::ForcedSymbol { symbol, values: vec![value], equation, baked: true });
            }
        }
        if self.searches == 0 {
            return None;
        }
        self.searches -= 1;
        let search = Search::new(conditions);
        let (binding, extents) = match broadcast {
            Some((a, b)) => search.broadcast_differs(core, a, b, declared)?,
            None => search.differs(core, derived, declared)?,
        };
        let mut binding = binding;
        self.complete(core, claim, &mut binding);
        let (derived, broadcast_with) = match claim.broadcast {
            Some((a, b)) if core.dims.resolve(a) == core.dims.resolve(claim.declared) => (a, Some(b)),
            Some((a, b)) => (b, Some(a)),
            None => (claim.derived, None),
        };
        Some(FaultKind::RefutedClaim(Box::new(RefutedClaim {
            value: claim.value,
            declared_in: claim.declared_in,
            axis: claim.axis,
            declared: claim.declared,
            derived,
            broadcast_with,
            binding,
            extents,
        })))
    }

    /// Adds the symbols of a claim that the equations determine to a binding of the others.
    fn complete(&self, core: &mut Core<'a>, claim: &Claim, binding: &mut Vec<(DimId, i64)>) {
        let sides = [
            Some(claim.declared),
            Some(claim.derived),
            claim.broadcast.map(|(a, _)| a),
            claim.broadcast.map(|(_, b)| b),
        ];
        let mut missing: Vec<DimId> =
            sides.into_iter().flatten().flat_map(|dim| core.dims.symbols_of(dim).to_vec()).collect();
        missing.retain(|symbol| binding.iter().all(|(known, _)| known != symbol));
        for symbol in missing {
            let value = self.known.put_into(core, symbol);
            if let Some(value) = search::evaluate(&core.dims, value, binding)
                && binding.iter().all(|(known, _)| *known != symbol)
            {
                binding.push((symbol, value));
            }
        }
        binding.sort_unstable();
    }
}

/// Unknown extents of graph inputs that operators need to be one number.
fn narrowed_inputs<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<Fault<'a>> {
    let mut inputs: Vec<(ValueId, usize, i64)> = Vec::new();
    for (value, declared) in &frame.open_inputs {
        let (Some(declared), Some(shape)) = (declared, frame.slots[value.index()].shape) else { continue };
        let declared: crate::rule::DimVec = core.shapes.get(*declared).into();
        let solved: crate::rule::DimVec = core.shapes.get(shape).into();
        for (axis, (declared, solved)) in declared.iter().zip(&solved).enumerate() {
            let solved = core.dims.resolve(*solved);
            if core.dims.is_anonymous(*declared)
                && let Some(extent) = core.dims.as_constant(solved)
            {
                inputs.push((*value, axis, extent));
            }
        }
    }
    inputs.sort_unstable();
    inputs
        .into_iter()
        .map(|(value, axis, extent)| Fault {
            place: Place::Value(value),
            kind: FaultKind::NarrowedInput { value, axis, extent },
        })
        .collect()
}

/// The symbols in the declared shapes of the inputs that callers give.
pub(crate) fn input_symbols(core: &mut Core<'_>, frame: &Frame<'_>) -> BTreeSet<DimId> {
    let body = Arc::clone(&frame.body);
    let mut symbols = BTreeSet::new();
    if frame.number != 0 {
        return symbols;
    }
    for input in &body.graph(body.root()).inputs {
        match body.value(*input).origin {
            Origin::Input | Origin::InputWithDefault(_) => {}
            Origin::Initializer(_) | Origin::Step(_) | Origin::Undefined => continue,
        }
        for declaration in body.declarations(*input) {
            let Ok(read) = core.read_type(declaration.ty) else { continue };
            let Some(shape) = read.shape else { continue };
            for dim in core.shapes.get(shape) {
                symbols.extend(core.dims.symbols_of(*dim));
            }
        }
    }
    symbols
}
