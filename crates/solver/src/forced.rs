//! What the equations that a graph leaves open say about the symbols of its inputs.
//!
//! A solve never merges symbols: where an operator needs `N` and `M` equal, it keeps an
//! [`Equation`](crate::solution::Equation). At the end the equations of nodes that always run are solved
//! one after the other, each with what the earlier ones gave put in. A symbol of an input that can only be
//! one number, and two that can only be equal, are faults; other solutions (`total = past + seq`) are not,
//! but what follows from them is.
//!
//! Extents are taken for 1 or more here: a graph that only works on empty tensors is not what anyone means,
//! so `batch*seq = 7*batch` says that `seq` is 7.
//!
//! Algorithm: elimination of one symbol by each equation, in the order of nodes, repeated while something
//! new follows. It is not complete; what it does not solve stays an equation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::Core;
use crate::dim::{Decision, DimId, Solved};
use crate::fault::{Fault, FaultKind, Place};
use crate::frame::{DeclaredApart, Frame};
use crate::program::{Origin, ValueId};
use crate::rule::{Extent, Failure, Port};
use crate::solution::{Equation, EquationSource, Need};

/// How often all equations are gone through.
const MOST_ROUNDS: usize = 4;

/// How many values are looked at in search of constants, for one equation.
const MOST_ANCESTORS: usize = 64;

/// The most equations that are looked at.
const MOST_EQUATIONS: usize = 4096;

/// The faults that follow from the equations of a finished frame.
pub(crate) fn faults<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<Fault<'a>> {
    if frame.equations.is_empty() && frame.declared_apart.is_empty() {
        return Vec::new();
    }
    let Forced { free, known, mut faults, .. } = solve(core, frame);
    faults.extend(declared_outputs(core, frame, &free, &known));
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

fn solve<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Forced<'a> {
    let free = input_symbols(core, frame);
    let mut equations: Vec<(Equation, bool)> = frame
        .equations
        .iter()
        .filter(|equation| !frame.is_conditional(equation.step) && frame.runs(equation.step))
        .filter(|equation| !matches!(equation.source, EquationSource::Declared(_)))
        .map(|equation| (*equation, is_baked(core, frame, equation)))
        .collect();
    equations.sort_by_key(|(equation, _)| equation.step);
    equations.dedup_by_key(|(equation, _)| (equation.left, equation.right, equation.need));
    equations.truncate(MOST_EQUATIONS);
    let mut forced = Forced { free, known: Known::default(), faults: Vec::new(), said: BTreeSet::new() };
    for _ in 0..MOST_ROUNDS {
        let before = equations.len();
        equations.retain(|(equation, baked)| forced.keep(core, equation, *baked));
        if equations.len() == before {
            break;
        }
    }
    forced
}

/// What symbols stand for.
#[derive(Default)]
struct Known {
    /// In the order in which it was found.
    order: Vec<DimId>,
    values: BTreeMap<DimId, DimId>,
}

/// What was found out so far.
struct Forced<'a> {
    /// The symbols that inputs declare.
    free: BTreeSet<DimId>,
    known: Known,
    faults: Vec<Fault<'a>>,
    /// The symbols that were spoken of.
    said: BTreeSet<DimId>,
}

impl<'a> Forced<'a> {
    /// Uses an equation; whether more may follow from it when more is known.
    fn keep(&mut self, core: &mut Core<'a>, equation: &Equation, baked: bool) -> bool {
        let [left, right] = [equation.left, equation.right].map(|dim| known_as(core, &self.known, dim));
        match equation.need {
            Need::Equal => match core.dims.solve_for_nonempty(left, right) {
                Solved::Always => false,
                Solved::Contradiction => {
                    self.contradiction(core, equation, left, right, baked);
                    false
                }
                Solved::Symbol { symbol, value } => {
                    self.symbol(core, equation, symbol, value, baked);
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
                    (Decision::Different | Decision::Undecided, _) => true,
                }
            }
        }
    }

    fn symbol(&mut self, core: &mut Core<'a>, equation: &Equation, symbol: DimId, value: DimId, baked: bool) {
        self.known.order.push(symbol);
        self.known.values.insert(symbol, value);
        let kind = match core.dims.as_constant(value) {
            Some(value) if self.free.contains(&symbol) => {
                self.said.insert(symbol);
                FaultKind::ForcedSymbol { symbol, value, equation: *equation, baked }
            }
            None if core.dims.as_symbol(value).is_some()
                && self.free.contains(&symbol)
                && self.free.contains(&value) =>
            {
                let (left, right) = (symbol.min(value), symbol.max(value));
                FaultKind::ForcedEquality { left, right, equation: *equation }
            }
            Some(_) | None => return,
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
            let kind = FaultKind::ForcedSymbol { symbol, value, equation: *equation, baked };
            self.faults.push(Fault { place, kind });
            return;
        }
        // What a symbol that was spoken of cannot be follows from that.
        let mentions = |core: &Core<'a>, dim| core.dims.symbols_of(dim).iter().any(|s| self.said.contains(s));
        if mentions(core, equation.left) || mentions(core, equation.right) {
            return;
        }
        let EquationSource::Ports { left: at, right: other, relation } = equation.source else { return };
        let (left, right) = (Extent { dim: left, ..at }, Extent { dim: right, ..other });
        let failure = Failure::Dims { left, right, relation };
        self.faults.push(Fault { place, kind: FaultKind::Rule { rule: equation.rule, failure } });
    }
}

/// Whether a number that the equation brings in is of the graph, not of the declared type of another input.
fn is_baked(core: &Core<'_>, frame: &Frame<'_>, equation: &Equation) -> bool {
    let EquationSource::Ports { left, right, .. } = equation.source else { return true };
    let mut sides = vec![left, right];
    sides.retain(|side| core.dims.symbols_of(side.dim).is_empty());
    if sides.is_empty() {
        sides = vec![left, right];
    }
    let body = &frame.body;
    let value_at = |port: Port| match port {
        Port::In(at) => body.inputs(equation.step).get(at).copied().flatten(),
        Port::Out(_) | Port::BodyIn(..) | Port::BodyOut(..) => None,
    };
    let mut open = Vec::new();
    for side in sides {
        // What attributes say is of the graph.
        match value_at(side.port) {
            Some(value) => open.push(value),
            None => return true,
        }
    }
    let mut seen: BTreeSet<ValueId> = open.iter().copied().collect();
    while let Some(value) = open.pop() {
        match body.value(value).origin {
            Origin::Input => {}
            Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => return true,
            Origin::Step(step) => {
                let inputs = body.inputs(body.first_step(step));
                if inputs.is_empty() || seen.len() > MOST_ANCESTORS {
                    return true;
                }
                open.extend(inputs.iter().flatten().filter(|input| seen.insert(**input)));
            }
        }
    }
    false
}

/// A dim with everything put in that is known.
///
/// A value mentions only symbols that were not known when it was found, so this ends.
fn known_as(core: &mut Core<'_>, known: &Known, dim: DimId) -> DimId {
    let mut dim = core.dims.resolve(dim);
    loop {
        let values: Vec<(DimId, DimId)> = core
            .dims
            .symbols_of(dim)
            .iter()
            .filter_map(|symbol| Some((*symbol, *known.values.get(symbol)?)))
            .collect();
        if values.is_empty() {
            return dim;
        }
        dim = core.dims.substitute(dim, &values);
    }
}

/// The symbols in the declared shapes of the inputs that callers give.
fn input_symbols(core: &mut Core<'_>, frame: &Frame<'_>) -> BTreeSet<DimId> {
    let body = Arc::clone(&frame.body);
    let mut symbols = BTreeSet::new();
    for input in &body.graph(body.root()).inputs {
        if !matches!(body.value(*input).origin, Origin::Input) {
            continue;
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

/// Outputs that are declared with one symbol of the inputs although the graph gives them another.
///
/// The declaration is refuted, not just unproved: a caller can choose the two symbols apart.
fn declared_outputs<'a>(
    core: &mut Core<'a>,
    frame: &Frame<'a>,
    free: &BTreeSet<DimId>,
    known: &Known,
) -> Vec<Fault<'a>> {
    let mut found: BTreeMap<ValueId, FaultKind<'a>> = BTreeMap::new();
    for at in &frame.declared_apart {
        let [declared, other] = [at.declared, at.other].map(|dim| known_as(core, known, dim));
        let apart = declared != other && core.dims.compare(declared, other) == Decision::Undecided;
        if apart && free.contains(&at.declared) && free.contains(&at.other) {
            let DeclaredApart { value, axis, declared, other, broadcast } = *at;
            found.entry(value).or_insert(FaultKind::DeclaredSymbol {
                value,
                axis,
                declared,
                other,
                broadcast,
            });
        }
    }
    let place = |value: ValueId| match frame.body.value(value).origin {
        Origin::Step(step) => Place::Step(frame.body.first_step(step)),
        Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => {
            Place::Value(value)
        }
    };
    found.into_iter().map(|(value, kind)| Fault { place: place(value), kind }).collect()
}
