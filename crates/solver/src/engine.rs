//! The engine: runs the steps of a body until no slot changes, one frame at a time.
//!
//! # The question
//!
//! Each node relates the types of its inputs to those of its outputs. Which types fulfil the relations of all
//! nodes at once?
//!
//! The nodes of a model are in topological order, so a single pass from the first node to the last seems
//! enough; ONNX's shape inference is such a pass. It loses what flows against the order. In
//!
//! ```text
//! g (x) => (float[N, 4] y) { a = Relu (x)  y = Abs (a) }
//! ```
//!
//! nothing is known about `x` when `Relu` is reached; that it holds floats follows from the last line.
//! Repeated passes find it, but a chain of `n` nodes that is typed from its end then needs `n` passes.
//!
//! # The idea
//!
//! Types are terms with variables, and nodes unify them: `x`, `a` and `y` share one element variable, so the
//! declaration of `y` is known everywhere without another run ([`crate::ty`]). A step has to run again only
//! if its rule asked for something that was unknown, such as whether a value is a tensor or a sequence. Such
//! a step waits at the variable, and is woken when the variable narrows.
//!
//! This is chaotic iteration with a worklist (Kildall, 1973), with the order of steps as priority: of several
//! woken steps, the first one runs next, so that its readers run after it. The result is the greatest fixed
//! point, and does not depend on the order of runs.
//!
//! ```
//! use typeloom_onnx::text::model_bytes;
//! use typeloom_ops::catalogue::Standard;
//! use typeloom_solver::model::{Options, check};
//! use typeloom_solver::universe::Universe;
//!
//! let text = r#"<ir_version: 10, opset_import: ["" : 21]>
//!     g (x) => (float[N, 4] y) { a = Relu (x)  y = Abs (a) }"#;
//! let bytes = model_bytes(text)?;
//! let mut checked = check(&bytes, &Standard, Universe::try_standard()?, &Options::default())?;
//! let x = checked.find("x").ok_or("no value `x`")?;
//! // The element type comes from the end of the chain. Shapes are computed in the direction of data.
//! assert_eq!(checked.display_type(x), "float[...]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost and limits
//!
//! A slot only narrows, and a type has a bounded number of narrower ones, so each step runs a bounded number
//! of times; where types flow forward, once. States of loops are the exception: their shapes *widen*, see
//! [`crate::rule::RuleCx::assume_shape`]. A call of a function suspends the caller on an explicit stack, so
//! neither deep graphs nor long chains of calls use the machine stack. A frame ends with three questions that
//! only a complete frame can answer: which kind to assume for values that nothing decides, which types
//! `fallback` supplies, and whether declared shapes hold ([`claims`]).
//!
//! The documentation of the [crate] lists the layers below. Of the modules here, `initial`, `schema`,
//! `fallback`, [`relation`] and [`call`] are the actions of a step.

pub(crate) mod call;
mod fallback;
pub(crate) mod initial;
pub(crate) mod relation;
mod schema;

use std::sync::Arc;

use crate::analysis::{claims, recovery};
use crate::catalogue::Operator;
use crate::engine::call::{Call, Calls};
use crate::mode::{Detail, Mode};
use crate::operators::{OpKind, Operators};
use crate::program::{Body, StepId, StepKind};
use crate::rule::{Exit, GraphTypes, Port, RuleCx, RuleError};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::frame::Frame;
use crate::state::memo::Lookup;
use crate::state::recovery::Purpose;
use crate::ty::{Types, Waiter};

/// A solve in progress.
pub(crate) struct Engine<'a, 'p> {
    pub(crate) core: Box<Core<'a>>,
    pub(crate) operators: &'p Operators<'a>,
    /// Empty in a model without functions.
    pub(crate) calls: Calls<'a>,
    /// Whether unknown operators are errors.
    mode: Mode,
    woken: Vec<Waiter>,
}

impl<'a, 'p> Engine<'a, 'p> {
    pub(crate) fn new(
        core: Box<Core<'a>>,
        operators: &'p Operators<'a>,
        calls: Calls<'a>,
        mode: Mode,
    ) -> Self {
        Self { core, operators, calls, mode, woken: Vec::new() }
    }

    /// Solves the frame and all functions that it calls, up to the question that ends the pass.
    pub(crate) fn run(&mut self, main: Box<Frame<'a>>) -> Box<Frame<'a>> {
        let mut suspended: Vec<Box<Frame<'a>>> = Vec::new();
        let mut frame = main;
        let mut body = Arc::clone(&frame.body);
        loop {
            if self.core.cases.ends_pass() {
                return suspended.into_iter().next().unwrap_or(frame);
            }
            self.deliver_woken(&mut frame, &mut suspended);
            match frame.next() {
                Some(step) => {
                    if let Some(call) = self.step(&mut frame, &body, step) {
                        // The node runs again after its function is solved, to copy the summary.
                        frame.wake(step);
                        let callee = self.calls.enter(&mut self.core, &frame, step, call);
                        frame.calling = Some(step);
                        body = Arc::clone(&callee.body);
                        suspended.push(std::mem::replace(&mut frame, callee));
                    }
                }
                None => match suspended.pop() {
                    Some(caller) => {
                        let callee = std::mem::replace(&mut frame, caller);
                        body = Arc::clone(&frame.body);
                        self.calls.leave(&mut self.core, callee);
                        // The summary is known now, so the call runs again.
                        if let Some(call) = frame.calling.take() {
                            frame.wake(call);
                        }
                    }
                    None if relation::assume_kinds(&mut self.core, self.operators, &mut frame) => {}
                    None if fallback::apply(&mut self.core, &mut frame) => {}
                    None => {
                        claims::verify(&mut self.core, &mut frame);
                        return frame;
                    }
                },
            }
        }
    }

    fn deliver_woken(&mut self, frame: &mut Frame<'a>, suspended: &mut [Box<Frame<'a>>]) {
        if !self.core.types.has_woken() {
            return;
        }
        self.core.types.take_woken(&mut self.woken);
        for waiter in self.woken.drain(..) {
            let step = StepId::new(waiter.step as usize);
            if waiter.frame == frame.number {
                frame.wake(step);
            } else if let Ok(at) = suspended.binary_search_by_key(&waiter.frame, |other| other.number) {
                // Frames are numbered in the order of their calls.
                suspended[at].wake(step);
            }
        }
    }

    /// Runs a step, or returns its call if the function has to be solved first.
    fn step(&mut self, frame: &mut Frame<'a>, body: &Body<'a>, step: StepId) -> Option<Call<'a>> {
        let first = body.first_step(step);
        // Whether this run found an error that makes the shapes of the node unreliable.
        let mut doubtful = false;
        if !frame.has_error(first) {
            let op = self.operators.op(body.step(step).op);
            let outcome = match &op.kind {
                OpKind::Schema(operator) => self.operator(frame, body, step, operator),
                OpKind::Declared(decl) => {
                    relation::run(&mut self.core, frame, step, decl, self.operators.declared_rule())
                        .and_then(|()| schema::payloads(&mut self.core, frame, step))
                }
                OpKind::Missing(kind) => match (&**kind, self.mode) {
                    (SolveErrorKind::UnknownOperator { .. }, Mode::Permissive) => {
                        schema::payloads(&mut self.core, frame, step)
                    }
                    (kind, Mode::Permissive | Mode::Strict) => Err(kind.clone()),
                },
                OpKind::Function(function) => {
                    match self.calls.call(&mut self.core, self.operators, frame, step, *function) {
                        Ok(Some(call)) => return Some(call),
                        Ok(None) => Ok(()),
                        Err(kind) => Err(kind),
                    }
                }
            };
            if let Err(kind) = outcome {
                doubtful = recovery::is_doubtful(&kind) || frame.rare.second_errors.contains_key(&first);
                frame.rare.errors.insert(first, SolveError { site: ErrorSite::Step(first), kind });
            }
        }
        if let StepKind::Enter(exit) = body.step(step).kind {
            match &self.operators.op(body.step(step).op).kind {
                OpKind::Schema(operator) if self.leaves_out_graphs(*operator) => frame.skip_to(exit),
                _ => self.declared_inputs(frame, step),
            }
            return None;
        }
        if matches!(body.step(step).kind, StepKind::Exit(_)) {
            self.recover_exit(frame, body, step, first);
        }
        let failed = frame.has_error(first);
        for value in body.outputs(step).iter().flatten().copied() {
            if failed && frame.slots[value.index()].ty.is_none() {
                frame.slots[value.index()].ty = Some(Types::ERROR);
            }
            if body.value(value).declaration.is_some() {
                self.core.meet_declarations(frame, value);
                if doubtful {
                    recovery::adopt_declared(&mut self.core, frame, value);
                }
            }
        }
        None
    }

    /// Unifies the declared types of the inputs of nested graphs.
    fn declared_inputs(&mut self, frame: &mut Frame<'a>, enter: StepId) {
        let body = Arc::clone(&frame.body);
        for (_, graph) in body.graphs_of(enter) {
            for value in graph.inputs.iter().copied() {
                if body.value(value).declaration.is_some() {
                    self.core.meet_declarations(frame, value);
                }
            }
        }
    }

    #[inline]
    fn operator(
        &mut self,
        frame: &mut Frame<'a>,
        body: &Body<'a>,
        step: StepId,
        operator: &Operator<'a>,
    ) -> Result<(), SolveErrorKind<'a>> {
        let kind = body.step(step).kind;
        let Core { memo, types, dims, .. } = &mut *self.core;
        let lookup = match (kind, memo) {
            (StepKind::Node, Some(memo)) if !operator.schema.deprecated => {
                memo.lookup(types, dims, frame, body, step)
            }
            (StepKind::Node | StepKind::Enter(_) | StepKind::Exit(_), _) => Lookup::Uncacheable,
        };
        match lookup {
            Lookup::Hit => Ok(()),
            Lookup::Miss | Lookup::Uncacheable => self.apply(frame, body, step, *operator, lookup),
        }
    }

    /// Applies an operator whose result the memo does not have.
    fn apply(
        &mut self,
        frame: &mut Frame<'a>,
        body: &Body<'a>,
        step: StepId,
        operator: Operator<'a>,
        lookup: Lookup,
    ) -> Result<(), SolveErrorKind<'a>> {
        let schema = operator.schema;
        let kind = body.step(step).kind;
        if !matches!(kind, StepKind::Exit(_)) {
            schema::arity(frame, step, schema)?;
            schema::attributes(&mut self.core.attributes, frame, step, schema)?;
            if let Some(error) = schema::types(&mut self.core, frame, body, step, schema) {
                self.after_types(frame, step, operator, &error);
                return Err(error);
            }
        }
        if let Err(error) = self.rules(frame, step, kind, operator) {
            self.recover(frame, step, operator);
            return Err(error);
        }
        if schema.takes_tensors && !matches!(kind, StepKind::Exit(_)) {
            schema::payloads(&mut self.core, frame, step)?;
        }
        let Core { memo, types, dims, .. } = &mut *self.core;
        if lookup == Lookup::Miss
            && let Some(memo) = memo
        {
            memo.insert(types, dims, frame, body, step);
        }
        // A deprecated operator is typed too, so that its readers are checked.
        if schema.deprecated && !matches!(kind, StepKind::Enter(_)) {
            return Err(SolveErrorKind::DeprecatedOperator { since: schema.since_version });
        }
        Ok(())
    }

    /// Keeps the shapes of a node with contradictory element types. They can have an error of their own.
    #[cold]
    fn after_types(
        &mut self,
        frame: &mut Frame<'a>,
        step: StepId,
        operator: Operator<'a>,
        error: &SolveErrorKind<'a>,
    ) {
        if !recovery::concerns_elements(error) {
            return;
        }
        recovery::element_types(&mut self.core, self.operators, frame, step, operator.schema, error);
        let kind = frame.body.step(step).kind;
        if let Err(other) = self.rules(frame, step, kind, operator) {
            if recovery::is_independent(&other) {
                let first = frame.body.first_step(step);
                frame
                    .rare
                    .second_errors
                    .insert(first, SolveError { site: ErrorSite::Step(first), kind: other });
            }
            self.recover(frame, step, operator);
        }
    }

    /// Types the outputs of a node with graphs and an input of an element type that the operator does not
    /// allow. The outputs do not depend on it.
    fn recover_exit(&mut self, frame: &mut Frame<'a>, body: &Body<'a>, step: StepId, first: StepId) {
        let Some(error) = frame.rare.errors.get(&first) else { return };
        let is_input = matches!(error.kind, SolveErrorKind::NotAllowed { port: Port::In(_), .. });
        if is_input
            && recovery::concerns_elements(&error.kind)
            && let OpKind::Schema(operator) = self.operators.op(body.step(step).op).kind
        {
            // The node has its error.
            let _ = self.rules(frame, step, body.step(step).kind, operator);
        }
    }

    /// Runs the rules of a node in error again to recover knowledge about its outputs.
    #[cold]
    fn recover(&mut self, frame: &mut Frame<'a>, step: StepId, operator: Operator<'a>) {
        if !matches!(frame.body.step(step).kind, StepKind::Node) {
            return;
        }
        self.core.recovery.purpose = Purpose::Recover;
        // The error is reported already. A rule may depend on earlier rules, so the first error ends the run.
        let _ = self.rules(frame, step, StepKind::Node, operator);
        self.rule_cx(frame, step, operator, "").doubt_swapped();
        self.core.recovery.purpose = Purpose::Check;
    }

    /// Whether the graphs of an operator are not typed, see [`GraphTypes::Check`].
    fn leaves_out_graphs(&self, operator: Operator<'a>) -> bool {
        self.core.detail == Detail::Types
            && operator.control.is_some_and(|control| control.graphs == GraphTypes::Check)
    }

    fn rules(
        &mut self,
        frame: &mut Frame<'a>,
        step: StepId,
        kind: StepKind,
        operator: Operator<'a>,
    ) -> Result<(), SolveErrorKind<'a>> {
        let kind = match kind {
            StepKind::Enter(_) if self.leaves_out_graphs(operator) => return Ok(()),
            StepKind::Exit(_) if self.leaves_out_graphs(operator) => StepKind::Node,
            kind => kind,
        };
        match (kind, operator.control) {
            (StepKind::Node, _) => {
                let mut rules = operator.rules.iter();
                rules.try_for_each(|rule| self.rule(frame, step, operator, rule.name, rule.run))?;
                let Some(described) = operator.described else { return Ok(()) };
                self.rule(frame, step, operator, described.name(), |cx| described.run(cx))
            }
            (StepKind::Enter(_), Some(control)) => {
                self.rule(frame, step, operator, control.enter.name, control.enter.run)
            }
            (StepKind::Exit(_), Some(control)) => {
                let exit = self.rule(frame, step, operator, control.exit.name, control.exit.run)?;
                if exit == Exit::Again {
                    frame.wake(step);
                }
                Ok(())
            }
            (StepKind::Enter(_) | StepKind::Exit(_), None) => Ok(()),
        }
    }

    fn rule_cx<'r>(
        &'r mut self,
        frame: &'r mut Frame<'a>,
        step: StepId,
        operator: Operator<'a>,
        rule: &'static str,
    ) -> RuleCx<'r, 'a> {
        RuleCx::new(&mut self.core, frame, step, Some(operator.schema), rule)
    }

    #[inline]
    fn rule<T>(
        &mut self,
        frame: &mut Frame<'a>,
        step: StepId,
        operator: Operator<'a>,
        name: &'static str,
        run: impl FnOnce(&mut RuleCx<'_, 'a>) -> Result<T, RuleError>,
    ) -> Result<T, SolveErrorKind<'a>> {
        run(&mut self.rule_cx(frame, step, operator, name))
            .map_err(|error| SolveErrorKind::of_rule(name, error))
    }
}
