//! Execution of a description on a node: input shapes bind names to extents, and names determine output
//! shapes.
//!
//! Clauses are processed in passes until a fixed point. A pass processes the clauses with a name that was
//! bound since they were last processed. An input of unknown rank or an undecided condition therefore delays
//! only the clauses that depend on it. An extent that remains unknown is a fresh one.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Decision, DimId};
use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_solver::diagnostic::text;
use typeloom_solver::rule::Port::Out;
use typeloom_solver::rule::{Extent, ExtentRelation, Port, RuleCx, RuleError, RuleResult, ShapeRule};
use typeloom_types::shape::position;

use super::expr::{Action, AxesNo, Clause, Condition, Expr, Item, Mention, NameNo, Operation};
use crate::catalogue::Standard;
use crate::rules::common::{require_at_most, unknown_extent};

/// Relation of two extents with the same name in the description.
const SAME_NAME: &str = "have one name in the operator's description";

/// Relation of an extent and its expression.
const COMPUTED: ExtentRelation = ExtentRelation::described("must be equal by the operator's description");

/// Relation of an extent and its bound.
const AT_MOST: &str = "must obey a bound of the operator's description";

/// The clauses of one operator.
#[derive(Debug)]
pub(super) struct Shapes {
    pub(super) name: &'static str,
    pub(super) clauses: Vec<Clause>,
    /// Number of names of extents.
    pub(super) extents: usize,
    /// Number of names of lists of axes.
    pub(super) axis_lists: usize,
    /// The clauses that mention each extent and each list of axes.
    readers: BTreeMap<Mention, Vec<usize>>,
}

impl Shapes {
    pub(super) fn new(name: &'static str, clauses: Vec<Clause>, extents: usize, axis_lists: usize) -> Self {
        let mut readers: BTreeMap<Mention, Vec<usize>> = BTreeMap::new();
        for (at, clause) in clauses.iter().enumerate() {
            for mention in &clause.mentions {
                let list = readers.entry(*mention).or_default();
                if list.last() != Some(&at) {
                    list.push(at);
                }
            }
        }
        Self { name, clauses, extents, axis_lists, readers }
    }
}

impl ShapeRule for Shapes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, cx: &mut RuleCx<'_, '_>) -> RuleResult {
        let mut bindings = Bindings {
            extents: vec![None; self.extents],
            axis_lists: vec![None; self.axis_lists],
            unknown: Vec::new(),
        };
        let mut first = None;
        // The clauses of this pass and of the next one, by line.
        let mut pass: BTreeSet<usize> = (0..self.clauses.len()).collect();
        let mut next: BTreeSet<usize> = BTreeSet::new();
        let mut waiting = pass.clone();
        let mut progress = false;
        loop {
            while let Some(at) = pass.pop_first() {
                let clause = &self.clauses[at];
                let mut open = clause.mentions.clone();
                open.retain(|mention| !bindings.has(*mention));
                let state = bindings.clause(cx, clause).unwrap_or_else(|failure| {
                    // An error of the inputs does not affect outputs that depend on other inputs.
                    first.get_or_insert(failure);
                    ClauseState::Done
                });
                if state == ClauseState::Done {
                    waiting.remove(&at);
                    progress = true;
                }
                for mention in open.into_iter().filter(|mention| bindings.has(*mention)) {
                    progress = true;
                    for reader in self.readers.get(&mention).into_iter().flatten() {
                        if waiting.contains(reader) {
                            if *reader > at { &mut pass } else { &mut next }.insert(*reader);
                        }
                    }
                }
            }
            std::mem::swap(&mut pass, &mut next);
            if pass.is_empty() {
                if !std::mem::take(&mut progress) {
                    break;
                }
                // Requirements on extents also decide conditions.
                pass.clone_from(&waiting);
            }
        }
        for clause in &self.clauses {
            if let Err(failure) = bindings.output(cx, clause) {
                first.get_or_insert(failure);
            }
        }
        first.map_or(Ok(()), Err)
    }
}

/// Result of processing a clause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClauseState {
    /// The clause is complete.
    Done,
    /// The clause may derive more later.
    Waiting,
}

/// The values of names, with their origin.
struct Bindings<'r> {
    extents: Vec<Option<Extent>>,
    axis_lists: Vec<Option<(Port, usize, DimVec)>>,
    /// Extents of outputs that remain unknown, each with its expression. Equal expressions have one extent.
    unknown: Vec<(&'r Expr, DimId)>,
}

impl<'r> Bindings<'r> {
    /// Whether a name is bound.
    fn has(&self, mention: Mention) -> bool {
        match mention {
            Mention::Extent(name) => self.extents[name.0].is_some(),
            Mention::Axes(list) => self.axis_lists[list.0].is_some(),
        }
    }

    /// Whether all conditions of a clause hold; `None` if the first one that may not hold is undecided.
    fn applies(&mut self, cx: &mut RuleCx<'_, '_>, clause: &Clause) -> RuleResult<Option<bool>> {
        for condition in &clause.conditions {
            let holds = self.holds(cx, condition)?;
            if holds != Some(true) {
                return Ok(holds);
            }
        }
        Ok(Some(true))
    }

    fn clause(&mut self, cx: &mut RuleCx<'_, '_>, clause: &Clause) -> RuleResult<ClauseState> {
        match self.applies(cx, clause)? {
            Some(true) => {}
            Some(false) => return Ok(ClauseState::Done),
            None => return Ok(ClauseState::Waiting),
        }
        match &clause.action {
            Action::Shape(port @ Port::In(_), shapes) => self.input(cx, *port, shapes),
            Action::Shape(..) => Ok(ClauseState::Done),
            Action::Let(name, value) => match self.value(cx, value)? {
                Some(dim) => {
                    let port = self.port_of(value).unwrap_or(Out(0));
                    self.extents[name.0].get_or_insert(Extent { port, axis: None, dim });
                    Ok(ClauseState::Done)
                }
                None => Ok(ClauseState::Waiting),
            },
            Action::Require(left, right) | Action::RequireAtMost(left, right) => {
                let (Some(left), Some(right)) = (self.located(cx, left)?, self.located(cx, right)?) else {
                    return Ok(ClauseState::Waiting);
                };
                if matches!(clause.action, Action::Require(..)) {
                    cx.require_equal(left, right, COMPUTED)?;
                } else {
                    require_at_most(cx, left, right, AT_MOST)?;
                }
                Ok(ClauseState::Done)
            }
            Action::Like(operator, version) => {
                if let Lookup::Found(operator) = Standard.lookup("", operator, *version) {
                    cx.run_rules(operator.schema, operator.rules)?;
                }
                Ok(ClauseState::Done)
            }
        }
    }

    /// Matches the shape of an input with the one of these shapes that has as many axes.
    fn input(
        &mut self,
        cx: &mut RuleCx<'_, '_>,
        port: Port,
        shapes: &[Vec<Item>],
    ) -> RuleResult<ClauseState> {
        if !cx.has(port) {
            return Ok(ClauseState::Done);
        }
        let Some(shape) = cx.shape(port) else { return Ok(ClauseState::Waiting) };
        let fixed = |items: &[Item]| items.iter().filter(|item| item.is_one_axis()).count();
        let fits = |items: &&Vec<Item>| match fixed(items) {
            count if count == items.len() => shape.len() == count,
            count => shape.len() >= count,
        };
        let Some(items) = shapes.iter().find(fits) else {
            return Err(wrong_rank(cx, port, shapes));
        };
        let fixed = fixed(items);
        let mut step = ClauseState::Done;
        let mut axis = 0;
        for item in items {
            match item {
                Item::Any => axis += 1,
                Item::Extent(expr) => {
                    let at = Extent { port, axis: Some(axis), dim: shape[axis] };
                    if self.extent(cx, expr, at)? == ClauseState::Waiting {
                        step = ClauseState::Waiting;
                    }
                    axis += 1;
                }
                Item::OneOf(values) => {
                    let at = Extent { port, axis: Some(axis), dim: shape[axis] };
                    if self.one_of(cx, values, at)? == ClauseState::Waiting {
                        step = ClauseState::Waiting;
                    }
                    axis += 1;
                }
                Item::Axes(list) => {
                    let length = shape.len() - fixed;
                    self.axes(cx, *list, (port, axis), &shape[axis..axis + length])?;
                    axis += length;
                }
                // The parser rejects these in the shape of an input.
                Item::Broadcast(_) | Item::AnyOf(_) | Item::OnesOf(_) => {}
            }
        }
        Ok(step)
    }

    /// Matches an extent of an input with its expression, and binds the unknown name if there is exactly one.
    fn extent(&mut self, cx: &mut RuleCx<'_, '_>, expr: &Expr, at: Extent) -> RuleResult<ClauseState> {
        if let Expr::Name(name) = expr {
            let extent = match self.extents[name.0] {
                None => at,
                Some(known) => Extent { dim: cx.require_equal(known, at, SAME_NAME)?, ..known },
            };
            self.extents[name.0] = Some(extent);
            return Ok(ClauseState::Done);
        }
        if let Some(value) = self.value(cx, expr)? {
            cx.require_equal(at, (at.port, value), COMPUTED)?;
            return Ok(ClauseState::Done);
        }
        let Some((name, dim)) = self.solve(cx, expr, at.dim)? else { return Ok(ClauseState::Waiting) };
        self.extents[name.0] = Some(Extent { dim, ..at });
        Ok(ClauseState::Done)
    }

    /// Requires an extent to be one of several values. What is left open is a condition only if one value is
    /// 1.
    fn one_of(&mut self, cx: &mut RuleCx<'_, '_>, values: &[Expr], at: Extent) -> RuleResult<ClauseState> {
        let mut known = DimVec::new();
        for value in values {
            let Some(value) = self.value(cx, value)? else { return Ok(ClauseState::Waiting) };
            known.push(value);
        }
        let decisions: Vec<Decision> = known.iter().map(|value| cx.dims().compare(at.dim, *value)).collect();
        if decisions.contains(&Decision::Equal) {
            return Ok(ClauseState::Done);
        }
        let possible = known.iter().zip(decisions).filter(|(_, decision)| *decision != Decision::Different);
        match possible.map(|(value, _)| *value).collect::<DimVec>()[..] {
            [] => {
                let found = cx.dims().display(at.dim).to_string();
                let known: Vec<String> =
                    known.iter().map(|value| cx.dims().display(*value).to_string()).collect();
                let axis = at.axis.unwrap_or_default();
                let message = format!("axis {axis} is {found}, but must be {}", text::list(&known, "or"));
                return Err(RuleError::shapes(&[at.port], message));
            }
            [only] => {
                cx.require_equal(at, (at.port, only), COMPUTED)?;
            }
            [DimId::ONE, other] | [other, DimId::ONE] => {
                cx.require_one_or_equal(at, (at.port, other), COMPUTED)?;
            }
            [..] => {}
        }
        Ok(ClauseState::Done)
    }

    /// Solves `expr = target` for the unknown name.
    fn solve(
        &mut self,
        cx: &mut RuleCx<'_, '_>,
        expr: &Expr,
        target: DimId,
    ) -> RuleResult<Option<(NameNo, DimId)>> {
        match expr {
            Expr::Name(name) => Ok(self.extents[name.0].is_none().then_some((*name, target))),
            Expr::Binary(operation, left, right) => {
                let (known, unknown, is_left) = match (self.value(cx, left)?, self.value(cx, right)?) {
                    (Some(known), None) => (known, right, true),
                    (None, Some(known)) => (known, left, false),
                    (Some(_), Some(_)) | (None, None) => return Ok(None),
                };
                let dims = cx.dims();
                let rest = match (operation, is_left) {
                    (Operation::Add, _) => dims.sub(target, known),
                    (Operation::Sub, true) => dims.sub(known, target),
                    (Operation::Sub, false) => dims.add(target, known),
                    (Operation::Mul, _) => match dims.div_exact(target, known) {
                        Some(rest) => rest,
                        None => return Ok(None),
                    },
                    (Operation::FloorDiv | Operation::Modulo | Operation::Min | Operation::Max, _) => {
                        return Ok(None);
                    }
                };
                self.solve(cx, unknown, rest)
            }
            Expr::If(condition, then, other) => match self.holds(cx, condition)? {
                Some(true) => self.solve(cx, then, target),
                Some(false) => self.solve(cx, other, target),
                None => Ok(None),
            },
            Expr::Integer(_)
            | Expr::Attribute(_)
            | Expr::AttributeItem(..)
            | Expr::Value(..)
            | Expr::Axis(..)
            | Expr::Rank(_)
            | Expr::Size(_) => Ok(None),
        }
    }

    fn axes(
        &mut self,
        cx: &mut RuleCx<'_, '_>,
        list: AxesNo,
        (port, from): (Port, usize),
        dims: &[DimId],
    ) -> RuleResult {
        let Some((other, other_from, known)) = self.axis_lists[list.0].clone() else {
            self.axis_lists[list.0] = Some((port, from, dims.into()));
            return Ok(());
        };
        if known.len() != dims.len() {
            let message = format!("{} axes are needed where there are {}", known.len(), dims.len());
            return Err(RuleError::shapes(&[other, port], message));
        }
        let mut better = known.clone();
        for (axis, (a, b)) in known.iter().zip(dims).enumerate() {
            better[axis] =
                cx.require_equal((other, other_from + axis, *a), (port, from + axis, *b), SAME_NAME)?;
        }
        self.axis_lists[list.0] = Some((other, other_from, better));
        Ok(())
    }

    /// Sets the shape of an output.
    fn output(&mut self, cx: &mut RuleCx<'_, '_>, clause: &'r Clause) -> RuleResult {
        if self.applies(cx, clause)? != Some(true) {
            return Ok(());
        }
        let Action::Shape(port @ Out(_), shapes) = &clause.action else { return Ok(()) };
        let mut shape = DimVec::new();
        for item in shapes.iter().flatten() {
            match item {
                // The parser rejects several extents in the shape of an output.
                Item::Any | Item::OneOf(_) => shape.push(unknown_extent(cx, *port, shape.len())),
                Item::Extent(expr) => {
                    let extent = self.value(cx, expr)?;
                    shape.push(extent.unwrap_or_else(|| self.unknown_value(cx, expr, (*port, shape.len()))));
                }
                Item::Axes(list) | Item::AnyOf(list) | Item::OnesOf(list) => {
                    let Some((_, _, dims)) = &self.axis_lists[list.0] else { return Ok(()) };
                    for dim in dims {
                        shape.push(match item {
                            Item::AnyOf(_) => unknown_extent(cx, *port, shape.len()),
                            Item::OnesOf(_) => DimId::ONE,
                            _ => *dim,
                        });
                    }
                }
                Item::Broadcast(axis_lists) => match self.broadcast(cx, axis_lists)? {
                    Some(dims) => shape.extend_from_slice(&dims),
                    None => return Ok(()),
                },
            }
        }
        cx.set_shape(*port, &shape)
    }

    /// The extent of an expression that remains unknown, at an axis of an output.
    fn unknown_value(&mut self, cx: &mut RuleCx<'_, '_>, expr: &'r Expr, at: (Port, usize)) -> DimId {
        if let Some((_, known)) = self.unknown.iter().find(|(other, _)| *other == expr) {
            return *known;
        }
        let extent = unknown_extent(cx, at.0, at.1);
        self.unknown.push((expr, extent));
        extent
    }

    fn broadcast(&self, cx: &mut RuleCx<'_, '_>, axis_lists: &[AxesNo]) -> RuleResult<Option<DimVec>> {
        let mut wide: Vec<Extent> = Vec::new();
        for list in axis_lists {
            let Some((port, from, dims)) = &self.axis_lists[list.0] else { return Ok(None) };
            let own: Vec<Extent> =
                dims.iter().enumerate().map(|(axis, dim)| (*port, from + axis, *dim).into()).collect();
            let (long, short) = if own.len() > wide.len() { (own, wide) } else { (wide, own) };
            let offset = long.len() - short.len();
            wide = long;
            for (axis, other) in short.into_iter().enumerate() {
                let here = wide[offset + axis];
                let dim = cx.broadcast_dim(here, other)?;
                let origin = if dim == here.dim { here } else { other };
                wide[offset + axis] = Extent { dim, ..origin };
            }
        }
        Ok(Some(wide.into_iter().map(|extent| extent.dim).collect()))
    }

    /// The value of an expression with its origin for diagnostics.
    fn located(&mut self, cx: &mut RuleCx<'_, '_>, expr: &Expr) -> RuleResult<Option<Extent>> {
        if let Expr::Name(name) = expr {
            return Ok(self.extents[name.0]);
        }
        if let Expr::Axis(port, axis) = expr {
            let at = cx.rank(*port).and_then(|rank| position(*axis, rank));
            let dim = self.value(cx, expr)?;
            return Ok(dim.map(|dim| Extent { port: *port, axis: at, dim }));
        }
        let port = self.port_of(expr).unwrap_or(Port::In(0));
        Ok(self.value(cx, expr)?.map(|dim| Extent { port, axis: None, dim }))
    }

    /// The first port that an expression is made of.
    fn port_of(&self, expr: &Expr) -> Option<Port> {
        match expr {
            Expr::Value(port, _) | Expr::Axis(port, _) | Expr::Rank(port) => Some(*port),
            Expr::Name(name) => self.extents[name.0].map(|extent| extent.port),
            Expr::Size(list) => self.axis_lists[list.0].as_ref().map(|(port, ..)| *port),
            Expr::Binary(_, left, right) | Expr::If(_, left, right) => {
                self.port_of(left).or_else(|| self.port_of(right))
            }
            Expr::Integer(_) | Expr::Attribute(_) | Expr::AttributeItem(..) => None,
        }
    }

    /// The value of an expression; `None` if a part is unknown.
    fn value(&mut self, cx: &mut RuleCx<'_, '_>, expr: &Expr) -> RuleResult<Option<DimId>> {
        Ok(match expr {
            Expr::Integer(number) => Some(cx.dims().constant(*number)),
            Expr::Name(name) => self.extents[name.0].map(|extent| extent.dim),
            Expr::Attribute(name) => {
                let value = cx.attr_int(name)?;
                value.map(|value| cx.dims().constant(value))
            }
            Expr::AttributeItem(name, at) => {
                let item = cx.attr_ints(name)?.and_then(|items| items.get(*at).copied());
                item.map(|item| cx.dims().constant(item))
            }
            Expr::Value(port, at) => cx.ints(*port).and_then(|ints| ints.items.get(*at).copied()),
            Expr::Axis(port, axis) => {
                cx.shape(*port).and_then(|shape| Some(shape[position(*axis, shape.len())?]))
            }
            Expr::Rank(port) => {
                let rank = cx.rank(*port).and_then(|rank| i64::try_from(rank).ok());
                rank.map(|rank| cx.dims().constant(rank))
            }
            Expr::Size(list) => self.axis_lists[list.0]
                .as_ref()
                .map(|(_, _, dims)| dims.clone())
                .map(|dims| cx.dims().product(&dims)),
            Expr::Binary(operation, left, right) => {
                let (Some(a), Some(b)) = (self.value(cx, left)?, self.value(cx, right)?) else {
                    return Ok(None);
                };
                let dims = cx.dims();
                match operation {
                    Operation::Add => Some(dims.add(a, b)),
                    Operation::Sub => Some(dims.sub(a, b)),
                    Operation::Mul => Some(dims.mul(a, b)),
                    Operation::Min => Some(dims.min(a, b)),
                    Operation::Max => Some(dims.max(a, b)),
                    // A division by zero has no value.
                    Operation::FloorDiv | Operation::Modulo if dims.as_constant(b) == Some(0) => None,
                    Operation::FloorDiv => Some(dims.floor_div(a, b)),
                    Operation::Modulo => Some(dims.modulo(a, b)),
                }
            }
            Expr::If(condition, then, other) => match self.holds(cx, condition)? {
                Some(true) => self.value(cx, then)?,
                Some(false) => self.value(cx, other)?,
                None => None,
            },
        })
    }

    /// The value of a condition; `None` if it is undecided.
    fn holds(&mut self, cx: &mut RuleCx<'_, '_>, condition: &Condition) -> RuleResult<Option<bool>> {
        Ok(match condition {
            Condition::Has(port) => Some(cx.has(*port)),
            Condition::HasAttribute(name) => Some(cx.has_attr(name)?),
            Condition::Elem(port, elem) => cx.elem(*port).map(|found| found == *elem),
            Condition::Text { attribute, text } => cx.attr_str(attribute)?.map(|found| found == &**text),
            Condition::Not(inner) => self.holds(cx, inner)?.map(|holds| !holds),
            Condition::All(all) => {
                let mut answer = Some(true);
                for one in all {
                    match self.holds(cx, one)? {
                        Some(true) => {}
                        Some(false) => return Ok(Some(false)),
                        None => answer = None,
                    }
                }
                answer
            }
            Condition::Compare(comparison, left, right) => {
                let (Some(a), Some(b)) = (self.value(cx, left)?, self.value(cx, right)?) else {
                    return Ok(None);
                };
                let dims = cx.dims();
                let difference = dims.sub(a, b);
                comparison.judge(dims.compare(a, b), dims.bounds(difference))
            }
        })
    }
}

/// The error of an input for which no shape has as many axes.
fn wrong_rank(cx: &RuleCx<'_, '_>, port: Port, shapes: &[Vec<Item>]) -> RuleError {
    let mut ranks: Vec<usize> =
        shapes.iter().map(|items| items.iter().filter(|item| item.is_one_axis()).count()).collect();
    ranks.sort_unstable();
    let (least, most) = (ranks[0], ranks[ranks.len() - 1]);
    if !shapes.iter().flatten().all(Item::is_one_axis) {
        return cx.wrong_rank(port, least..);
    }
    if most - least + 1 == ranks.len() {
        return cx.wrong_rank(port, least..=most);
    }
    let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    RuleError::shapes(&[port], format!("the number of axes must be {}", text::list(&ranks, "or")))
}
