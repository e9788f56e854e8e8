//! The worklist: runs steps until nothing more is learnt, one frame at a time.
//!
//! Algorithm: chaotic iteration to the greatest fixed point, in step order (Kildall's worklist, with
//! program order as priority). Slots only narrow, so every step runs a bounded number of times; in a
//! graph whose knowledge flows forward every step runs once. Loops are the exception, see
//! [`crate::rule::RuleCx::assume_shape`]. Calls of functions suspend the caller on an explicit stack,
//! so that neither deep graphs nor long chains of calls use the machine stack.

pub(crate) mod call;

use std::sync::Arc;

use typeloom_onnx::{DecodeError, ErrorKind};

use crate::analysis::claims;
use crate::analysis::salvage::{self, Purpose};
use crate::catalogue::{FunctionId, OpKind, Operator, Operators};
use crate::elem::{Elem, ElemSet};
use crate::engine::call::{Call, Calls};
use crate::model::Mode;
use crate::program::{Body, Initializer, Origin, StepId, StepKind, ValueId};
use crate::rule::relation;
use crate::rule::schema;
use crate::rule::{Exit, Failure, MAX_ELEMENTS, Rule, RuleCx, is_followed};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::constants::{Data, DataId};
use crate::state::frame::Frame;
use crate::state::memo::{self, Recall};
use crate::state::trace::Cause;
use crate::state::{Core, Payloads};
use crate::ty::{Clash, Types, Waiter};

/// What a step came to.
enum Outcome {
    Done,
    /// A function has to be solved first.
    Call(Call),
}

/// A solve in progress.
pub(crate) struct Engine<'a, 'p> {
    pub(crate) core: Core<'a>,
    pub(crate) operators: &'p Operators<'a>,
    pub(crate) calls: Calls<'a>,
    /// Whether an operator that nobody knows is an error.
    mode: Mode,
    woken: Vec<Waiter>,
}

impl<'a, 'p> Engine<'a, 'p> {
    pub(crate) fn new(core: Core<'a>, operators: &'p Operators<'a>, calls: Calls<'a>, mode: Mode) -> Self {
        Self { core, operators, calls, mode, woken: Vec::new() }
    }

    /// Solves the frame, and every function that it calls.
    pub(crate) fn run(&mut self, main: Frame<'a>) -> Frame<'a> {
        let mut suspended: Vec<Frame<'a>> = Vec::new();
        let mut frame = main;
        let mut body = Arc::clone(&frame.body);
        loop {
            self.deliver_woken(&mut frame, &mut suspended);
            match frame.next() {
                Some(step) => match self.step(&mut frame, &body, step) {
                    Outcome::Done => {}
                    Outcome::Call(call) => {
                        // The node runs once more when its function is solved, to take the answer.
                        frame.wake(step);
                        let callee = self.calls.enter(&mut self.core, &frame, step, call);
                        frame.calling = Some(step);
                        body = Arc::clone(&callee.body);
                        suspended.push(std::mem::replace(&mut frame, callee));
                    }
                },
                None => match suspended.pop() {
                    Some(caller) => {
                        let callee = std::mem::replace(&mut frame, caller);
                        body = Arc::clone(&frame.body);
                        self.calls.leave(&mut self.core, callee);
                        // The call itself runs now that there is an answer to take over.
                        if let Some(call) = frame.calling.take() {
                            frame.wake(call);
                        }
                    }
                    None if relation::assume_kinds(&mut self.core, self.operators, &mut frame) => {}
                    None => {
                        claims::verify(&mut self.core, &mut frame);
                        return frame;
                    }
                },
            }
        }
    }

    fn deliver_woken(&mut self, frame: &mut Frame<'a>, suspended: &mut [Frame<'a>]) {
        if !self.core.types.has_woken() {
            return;
        }
        self.core.types.take_woken(&mut self.woken);
        for waiter in self.woken.drain(..) {
            let step = StepId::new(waiter.step as usize);
            if waiter.frame == frame.number {
                frame.wake(step);
            } else if let Ok(at) = suspended.binary_search_by_key(&waiter.frame, |other| other.number) {
                // Frames are numbered in the order in which they are entered.
                suspended[at].wake(step);
            }
        }
    }

    /// Gives the values that no step makes their declared and initial types.
    pub(crate) fn start(core: &mut Core<'a>, frame: &mut Frame<'a>) {
        let body = Arc::clone(&frame.body);
        for value in (0..body.values.len()).map(ValueId::new) {
            let record = body.value(value);
            match record.origin {
                Origin::Step(_) => continue,
                Origin::Undefined => frame.slots[value.index()].ty = Some(Types::ERROR),
                Origin::Input => {}
                Origin::Initializer(at) | Origin::InputWithDefault(at) => {
                    if let Err(kind) = initializer(core, frame, value, body.initializers[at.index()]) {
                        let kind = kind.specific(value);
                        frame.value_errors.insert(value, SolveError { site: ErrorSite::Value(value), kind });
                    }
                }
            }
            // The inputs of nested graphs are typed by the node that the graph hangs on, first.
            if record.declaration.is_some() && (record.graph == body.root() || record.origin != Origin::Input)
            {
                core.meet_declarations(frame, value);
            }
            // A type that the caller gives to one value may say something about another.
            let is_free = frame.number == 0 && frame.seeded.is_empty();
            if is_free && record.graph == body.root() && record.origin == Origin::Input {
                core.keep_declared_input(frame, value);
            }
        }
    }

    fn step(&mut self, frame: &mut Frame<'a>, body: &Body<'a>, step: StepId) -> Outcome {
        let first = body.first_step(step);
        // Whether the node is found to be in error now, so that what is known of its shapes may be wrong.
        let mut doubtful = false;
        if !frame.errors.contains_key(&first) {
            let op = self.operators.op(body.step(step).op);
            let outcome = match &op.kind {
                OpKind::Schema(operator) => self.operator(frame, body, step, *operator),
                OpKind::Declared(decl) => relation::run(&mut self.core, frame, step, decl).and_then(|()| {
                    schema::payloads(&self.core, frame, step).map_err(SolveErrorKind::Malformed)
                }),
                OpKind::Missing(kind) => match (&**kind, self.mode) {
                    (SolveErrorKind::UnknownOperator { .. }, Mode::Permissive) => {
                        schema::payloads(&self.core, frame, step).map_err(SolveErrorKind::Malformed)
                    }
                    (kind, Mode::Permissive | Mode::Strict) => Err(kind.clone()),
                },
                OpKind::Function(function) => match self.call(frame, step, *function) {
                    Ok(Some(call)) => return Outcome::Call(call),
                    Ok(None) => Ok(()),
                    Err(kind) => Err(kind),
                },
            };
            if let Err(kind) = outcome {
                doubtful = salvage::is_doubtful(&kind) || frame.second_errors.contains_key(&first);
                frame.errors.insert(first, SolveError { site: ErrorSite::Step(first), kind });
            }
        }
        if matches!(body.step(step).kind, StepKind::Enter(_)) {
            self.declared_inputs(frame, step);
            return Outcome::Done;
        }
        let failed = frame.errors.contains_key(&first);
        for value in body.outputs(step).iter().flatten().copied() {
            if failed && frame.slots[value.index()].ty.is_none() {
                frame.slots[value.index()].ty = Some(Types::ERROR);
            }
            if body.value(value).declaration.is_some() {
                self.core.meet_declarations(frame, value);
                if doubtful {
                    salvage::adopt_declared(&mut self.core, frame, value);
                }
            }
        }
        Outcome::Done
    }

    /// The inputs of nested graphs may declare types of their own.
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

    fn operator(
        &mut self,
        frame: &mut Frame<'a>,
        body: &Body<'a>,
        step: StepId,
        operator: Operator<'a>,
    ) -> Result<(), SolveErrorKind<'a>> {
        let schema = operator.schema;
        let kind = body.step(step).kind;
        let recall = match kind {
            StepKind::Node if !schema.deprecated => memo::recall(&mut self.core, frame, body, step),
            StepKind::Node | StepKind::Enter(_) | StepKind::Exit(_) => Recall::Unfit,
        };
        if recall == Recall::Answered {
            return Ok(());
        }
        if !matches!(kind, StepKind::Exit(_)) {
            if let Some(error) = schema::arity(frame, step, schema) {
                return Err(error);
            }
            match schema::attributes(frame, step, schema) {
                Ok(None) => {}
                Ok(Some(error)) => return Err(error),
                Err(error) => return Err(SolveErrorKind::Malformed(error)),
            }
            if let Some(error) = schema::types(&mut self.core, frame, body, step, schema) {
                self.after_types(frame, step, operator, &error);
                return Err(error);
            }
        }
        if let Err(error) = self.rules(frame, step, kind, operator) {
            self.salvage(frame, step, operator);
            return Err(error);
        }
        if schema.takes_tensors && !matches!(kind, StepKind::Exit(_)) {
            schema::payloads(&self.core, frame, step).map_err(SolveErrorKind::Malformed)?;
        }
        if recall == Recall::New {
            memo::remember(&mut self.core, frame, body, step);
        }
        // A withdrawn operator is typed all the same, so that what follows from it is checked.
        if schema.deprecated && !matches!(kind, StepKind::Enter(_)) {
            return Err(SolveErrorKind::DeprecatedOperator { since: schema.since_version });
        }
        Ok(())
    }

    /// Keeps what a contradiction of element types leaves of a node: its shapes, which can have a error of their own.
    #[cold]
    fn after_types(
        &mut self,
        frame: &mut Frame<'a>,
        step: StepId,
        operator: Operator<'a>,
        error: &SolveErrorKind<'a>,
    ) {
        if !salvage::concerns_elements(error) {
            return;
        }
        salvage::elements(&mut self.core, self.operators, frame, step, operator.schema, error);
        let kind = frame.body.step(step).kind;
        if let Err(other) = self.rules(frame, step, kind, operator) {
            if salvage::is_independent(&other) {
                let first = frame.body.first_step(step);
                frame.second_errors.insert(first, SolveError { site: ErrorSite::Step(first), kind: other });
            }
            self.salvage(frame, step, operator);
        }
    }

    /// Runs the rules of a node in error once more, for what is known of its outputs all the same.
    #[cold]
    fn salvage(&mut self, frame: &mut Frame<'a>, step: StepId, operator: Operator<'a>) {
        if !matches!(frame.body.step(step).kind, StepKind::Node) {
            return;
        }
        self.core.salvage.purpose = Purpose::Salvage;
        // What is wrong is known. A rule may rely on those before it, so the first that has no answer ends it.
        let _ = self.rules(frame, step, StepKind::Node, operator);
        self.rule_cx(frame, step, operator, "").doubt_swapped();
        self.core.salvage.purpose = Purpose::Check;
    }

    fn rules(
        &mut self,
        frame: &mut Frame<'a>,
        step: StepId,
        kind: StepKind,
        operator: Operator<'a>,
    ) -> Result<(), SolveErrorKind<'a>> {
        match (kind, operator.control) {
            (StepKind::Node, _) => {
                operator.rules.iter().try_for_each(|rule| self.rule(frame, step, operator, rule))?;
                let Some(described) = operator.described else { return Ok(()) };
                let name = described.name();
                let mut cx = self.rule_cx(frame, step, operator, name);
                described.run(&mut cx).map_err(|failure| error_of(name, failure))
            }
            (StepKind::Enter(_), Some(control)) => self.rule(frame, step, operator, &control.enter),
            (StepKind::Exit(_), Some(control)) => {
                let mut cx = self.rule_cx(frame, step, operator, control.exit.name);
                match (control.exit.run)(&mut cx) {
                    Ok(Exit::Done) => Ok(()),
                    Ok(Exit::Again) => {
                        frame.wake(step);
                        Ok(())
                    }
                    Err(failure) => Err(error_of(control.exit.name, failure)),
                }
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
        RuleCx { core: &mut self.core, frame, step, schema: Some(operator.schema), rule }
    }

    #[inline]
    fn rule(
        &mut self,
        frame: &mut Frame<'a>,
        step: StepId,
        operator: Operator<'a>,
        rule: &Rule,
    ) -> Result<(), SolveErrorKind<'a>> {
        (rule.run)(&mut self.rule_cx(frame, step, operator, rule.name))
            .map_err(|failure| error_of(rule.name, failure))
    }

    fn call(
        &mut self,
        frame: &mut Frame<'a>,
        step: StepId,
        function: FunctionId,
    ) -> Result<Option<Call>, SolveErrorKind<'a>> {
        self.calls.call(&mut self.core, self.operators, frame, step, function)
    }
}

pub(crate) fn error_of<'a>(rule: &'a str, failure: Failure) -> SolveErrorKind<'a> {
    match failure {
        Failure::Malformed(error) => SolveErrorKind::Malformed(error),
        failure @ (Failure::Types { .. }
        | Failure::Element { .. }
        | Failure::Kind { .. }
        | Failure::Rank { .. }
        | Failure::Dims { .. }
        | Failure::Attribute { .. }
        | Failure::Value { .. }
        | Failure::Shapes { .. }
        | Failure::Contradiction { .. }
        | Failure::Body { .. }
        | Failure::Relation(_)) => SolveErrorKind::Rule { rule, failure },
    }
}

/// The most elements of a constant that rules can follow.
const MAX_FOLLOWED: i64 = MAX_ELEMENTS as i64;
/// Integer constants of at most so many elements are read before anybody asks.
const MAX_READ_AHEAD: i64 = 16;

/// Types a value from the tensor that stands in the graph for it.
fn initializer<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    value: ValueId,
    initializer: Initializer<'a>,
) -> Result<(), SolveErrorKind<'a>> {
    let mut dense = None;
    let (number, dims) = match initializer {
        Initializer::Dense(tensor) => {
            let header = tensor.header().map_err(SolveErrorKind::Malformed)?;
            let dims = header.dims.clone();
            (dense.insert(header).data_type, dims)
        }
        Initializer::Sparse(sparse) => {
            let sparse = sparse.parse().map_err(SolveErrorKind::Malformed)?;
            let header =
                sparse.values.map(|values| values.header()).transpose().map_err(SolveErrorKind::Malformed)?;
            (header.map_or(0, |header| header.data_type), sparse.dims)
        }
    };
    let Some(elem) = Elem::from_onnx(number) else {
        let offset = match initializer {
            Initializer::Dense(tensor) => tensor.offset(),
            Initializer::Sparse(sparse) => sparse.offset(),
        };
        let kind = ErrorKind::Other(
            format!("a tensor has element type number {number}, which does not exist").into(),
        );
        return Err(SolveErrorKind::Malformed(DecodeError { offset, kind }));
    };
    let set = ElemSet::of(elem);
    let ty = match initializer {
        Initializer::Dense(_) => core.types.tensor_of(set),
        Initializer::Sparse(_) => core.types.sparse_of(set),
    };
    let seeded = frame.slots[value.index()].ty.replace(ty);
    if let Some(seeded) = seeded
        && let Err(Clash) = core.types.unify(seeded, ty)
    {
        let (seed, found) = (core.type_of(Some(seeded), None), core.type_of(Some(ty), None));
        return Err(SolveErrorKind::SeedContradicts { seed, found });
    }
    core.trace_given(frame.number, value, Cause::Initializer);
    if let Some((axis, extent)) = dims.iter().copied().enumerate().find(|(_, extent)| *extent < 0) {
        return Err(SolveErrorKind::NegativeDim { declared_in: None, axis, extent });
    }
    // The caller may replace a default by a tensor of another shape; what the input declares holds then.
    let body = Arc::clone(&frame.body);
    let replaceable = matches!(body.value(value).origin, Origin::InputWithDefault(_));
    let declares = |core: &mut Core<'a>| {
        body.declarations(value)
            .any(|declaration| core.read_type(declaration.ty).is_ok_and(|read| read.shape.is_some()))
    };
    if let Initializer::Dense(tensor) = initializer {
        let count = dims.iter().try_fold(1_i64, |count, dim| count.checked_mul(*dim));
        let shapes_use = matches!(elem, Elem::INT64 | Elem::INT32);
        if count.is_none_or(|count| count > MAX_FOLLOWED) {
            frame.slots[value.index()].data = Some(DataId::OPAQUE);
            if is_followed(elem) {
                frame.dropped.insert(value);
            }
        } else if shapes_use && count.is_some_and(|count| count <= MAX_READ_AHEAD) {
            // Rules ask for these anyway, and the memo compares what was read.
            // A payload that cannot be read is reported where a rule asks for it.
            if let Ok(data) = core.read_tensor(tensor) {
                core.set_data(frame, value, data.unwrap_or(Data::Opaque));
            }
        }
    }
    let shape: crate::rule::DimVec = dims.iter().map(|dim| core.dims.constant(*dim)).collect();
    let shape = core.shapes.intern(&shape);
    if replaceable && declares(core) {
        default_fits(core, frame, value, shape)?;
    } else {
        frame.slots[value.index()].shape = Some(shape);
    }
    if core.payloads == Payloads::Optional {
        return Ok(());
    }
    // The type is known whatever is wrong with the data.
    match (initializer, dense) {
        (Initializer::Dense(_), Some(header)) => header.check_payload(),
        (Initializer::Dense(tensor), None) => tensor.check_payload(),
        (Initializer::Sparse(sparse), _) => sparse.check_payload(),
    }
    .map_err(SolveErrorKind::Malformed)
}

/// A default must itself have the declared shape of its input.
fn default_fits<'a>(
    core: &mut Core<'a>,
    frame: &Frame<'a>,
    value: ValueId,
    shape: crate::dim::shape::ShapeId,
) -> Result<(), SolveErrorKind<'a>> {
    let body = Arc::clone(&frame.body);
    for declaration in body.declarations(value) {
        let Ok(read) = core.read_type(declaration.ty) else { continue };
        if let Some(declared) = read.shape
            && core.shapes_differ(declared, shape).is_some()
        {
            let found = core.type_of(frame.slots[value.index()].ty, Some(shape));
            let declared = core.type_of(read.ty, read.shape);
            return Err(SolveErrorKind::DefaultContradicts { declared, found });
        }
    }
    Ok(())
}
