//! Recovery from errors, so that independent errors behind a node in error are found too.
//!
//! An error concerns one aspect of a node: the element types of its ports, or their shapes. The other aspect
//! is unaffected, and often most of the affected one is too.
//!
//! - *Element mismatch.* The rules run as usual, so the outputs keep their shapes, and a wrong extent at the
//!   same node is a second error. The outputs get the element type that the rest of the model confirms
//!   ([`element_types`]). So the next operand with a wrong type is another error, and operands that agree
//!   with the model are not in error.
//! - *Shape error.* The outputs keep their element types, which come from the signature. The rules run again
//!   with [`Purpose::Recover`](crate::state::recovery::Purpose::Recover): an extent on which two ports
//!   disagree is unknown, and every other extent of the outputs is kept. The unknown extent keeps its two
//!   candidates; an operand that matches neither is another error.
//!
//! One cause must give one diagnostic, so doubtful extents are unknown: an extent gets two candidates if a
//! transposed operand would be valid, and a declared type of an output takes precedence.
//!
//! Recovery does not run in a model without errors.

use typeloom_onnx::view::TypeKindView;
use typeloom_types::dtype::DtypeClass;

use crate::elem::{Elem, ElemSet};
use crate::map::Map;
use crate::operators::Operators;
use crate::program::{Body, DeclarationKind, Origin, StepId, StepKind, ValueId};
use crate::rule::{Port, RuleError};
use crate::signature::{FormalType, Schema};
use crate::solution::Type;
use crate::solve_error::SolveErrorKind;
use crate::state::Core;
use crate::state::frame::Frame;
use crate::state::recovery::Census;
use crate::ty::Types;

/// Maximum number of nodes behind an error that are searched for an operand that confirms an element type.
const MAX_SEARCHED: usize = 16;

/// Whether an error concerns element types only, so that shapes are unaffected.
pub(crate) fn concerns_elements(kind: &SolveErrorKind<'_>) -> bool {
    match kind {
        SolveErrorKind::Disagree { left, right, .. } => is_tensor(&left.1) && is_tensor(&right.1),
        SolveErrorKind::NotAllowed { found, allowed, .. } => is_tensor(found) && !allowed.tensor.is_empty(),
        SolveErrorKind::Rule { failure, .. } => matches!(failure, RuleError::Element { .. }),
        _ => false,
    }
}

/// Whether an error makes the recovered shapes of its node doubtful, so that a declared shape is better.
pub(crate) fn is_doubtful(kind: &SolveErrorKind<'_>) -> bool {
    matches!(kind, SolveErrorKind::Rule { .. }) && !concerns_elements(kind)
}

/// Whether an error of a rule is independent of an error about element types at the same node.
pub(crate) fn is_independent(kind: &SolveErrorKind<'_>) -> bool {
    let SolveErrorKind::Rule { failure, .. } = kind else { return false };
    matches!(
        failure,
        RuleError::Rank { .. }
            | RuleError::Dims { .. }
            | RuleError::Attribute { .. }
            | RuleError::Value { .. }
            | RuleError::Shapes { .. }
    )
}

fn is_tensor(ty: &Type) -> bool {
    ty.tensor().is_some()
}

/// Replaces the doubtful shape of a value by its declared shape, if there is one.
pub(crate) fn adopt_declared<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>, value: ValueId) {
    let body = std::sync::Arc::clone(&frame.body);
    for declaration in body.declarations(value) {
        if let Ok(declared) = core.read_declared(declaration.ty, declaration.kind)
            && declared.shape.is_some()
        {
            frame.slots[value.index()].shape = declared.shape;
            return;
        }
    }
}

/// Gives the outputs of a node with contradictory element types the type that the rest of the model confirms.
pub(crate) fn element_types<'a>(
    core: &mut Core<'a>,
    operators: &Operators<'a>,
    frame: &mut Frame<'a>,
    step: StepId,
    schema: &Schema,
    kind: &SolveErrorKind<'a>,
) {
    let body = std::sync::Arc::clone(&frame.body);
    let (port, candidates) = match kind {
        SolveErrorKind::Disagree { left, right, .. } => match (single(&left.1), single(&right.1)) {
            (Some(a), Some(b)) => (left.0, [(left.0, a), (right.0, b)]),
            _ => return,
        },
        SolveErrorKind::NotAllowed { port, .. } => {
            // Another port of the same type variable may have an allowed type.
            let Some(variable) = variable_of(schema, *port) else { return };
            let allowed = schema.type_vars[usize::from(variable)].allowed.tensor;
            let other = tied(schema, body.inputs(step), Port::In, variable).find_map(|(at, value)| {
                let elem = elem_of(core, frame, value)?;
                allowed.contains(elem).then_some((Port::In(at), elem))
            });
            let Some(other) = other else { return };
            (*port, [other, other])
        }
        _ => return,
    };
    let Some(variable) = variable_of(schema, port) else { return };
    let outputs: Vec<ValueId> = tied(schema, body.outputs(body.last_step(step)), Port::Out, variable)
        .map(|(_, value)| value)
        // A declared type of a value in error is used unchanged.
        .filter(|value| frame.slots[value.index()].ty == Some(Types::ERROR))
        .filter(|value| body.value(*value).declaration.is_none())
        .collect();
    let mut search = Search { core, operators, frame, body: &body };
    let Some(elem) = search.confirmed(step, &outputs, candidates) else { return };
    let outlier = candidates.iter().find(|(_, candidate)| *candidate != elem);
    if let Some((Port::In(at), _)) = outlier
        && let Some(culprit) = body.inputs(step).get(*at).copied().flatten()
    {
        frame.rare.culprits.insert(body.first_step(step), culprit);
    }
    let ty = core.types.tensor_of(ElemSet::of(elem));
    for value in outputs {
        frame.slots[value.index()].ty = Some(ty);
    }
}

/// The search for an operand that confirms an element type.
struct Search<'r, 'a> {
    core: &'r mut Core<'a>,
    operators: &'r Operators<'a>,
    frame: &'r Frame<'a>,
    body: &'r Body<'a>,
}

impl<'a> Search<'_, 'a> {
    /// The one of two element types that the rest of the model confirms.
    ///
    /// Precedence: if an operand has its element type from an input of the model, the type in the interface;
    /// the type of operands behind the node; the type of more constants; the type of the computed operand,
    /// not the stored one.
    fn confirmed(
        &mut self,
        step: StepId,
        outputs: &[ValueId],
        [(a_port, a), (b_port, b)]: [(Port, Elem); 2],
    ) -> Option<Elem> {
        if a == b {
            return Some(a);
        }
        let is_main = self.frame.number == 0;
        if is_main && self.core.recovery.census.is_none() {
            let census = Census::of(self.core, self.frame);
            self.core.recovery.census = Some(census);
        }
        let operand = |port: Port| port.is_input().then(|| self.body.at_port(step, port)).flatten();
        let (a_operand, b_operand) = (operand(a_port), operand(b_port));
        let mut is_from_input =
            |operand: Option<ValueId>| operand.is_some_and(|value| is_main && self.comes_from_input(value));
        let (from_input_a, from_input_b) = (is_from_input(a_operand), is_from_input(b_operand));
        let count = |core: &Core<'a>, of: fn(&Census) -> &Map<Elem, usize>, elem| {
            let census = core.recovery.census.as_ref().filter(|_| is_main);
            census.and_then(|census| of(census).get(&elem).copied()).unwrap_or(0)
        };
        if from_input_a || from_input_b {
            for value in outputs {
                self.core.recovery.from_input.insert(*value, true);
            }
            let used = |elem| {
                count(self.core, |it| &it.inputs, elem) > 0 || count(self.core, |it| &it.outputs, elem) > 0
            };
            match (used(a), used(b)) {
                (true, false) => return Some(a),
                (false, true) => return Some(b),
                (true, true) | (false, false) => {}
            }
        }
        if let Some(found) = self.confirmed_by_readers(outputs, (a, b)) {
            return Some(found);
        }
        if is_float(a) == is_float(b) {
            let constants = |elem| count(self.core, |it| &it.constants, elem);
            let (of_a, of_b) = (constants(a), constants(b));
            if of_a != of_b {
                return Some(if of_a > of_b { a } else { b });
            }
        }
        let is_stored = |operand: Option<ValueId>| operand.is_some_and(|value| self.is_stored(value));
        match (is_stored(a_operand), is_stored(b_operand)) {
            (true, false) => Some(b),
            (false, true) => Some(a),
            // Undecided: the readers have no type either.
            (true, true) | (false, false) => None,
        }
    }

    fn is_stored(&self, value: ValueId) -> bool {
        self.body.value(value).origin.initializer().is_some()
    }

    /// The declared form of the operator of a step.
    fn schema(&self, step: StepId) -> Option<&'a Schema> {
        self.operators.op(self.body.step(step).op).kind.schema()
    }

    /// Whether the element type of a value is that of an input of the model, by following type variables of
    /// signatures.
    fn comes_from_input(&mut self, value: ValueId) -> bool {
        let body = self.body;
        let mut path = Vec::new();
        let mut at = value;
        let found = loop {
            if let Some(known) = self.core.recovery.from_input.get(&at) {
                break *known;
            }
            path.push(at);
            let maker = match body.value(at).origin {
                Origin::Input => break body.value(at).graph == body.root(),
                Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => break false,
                Origin::Step(maker) => maker,
            };
            let Some(schema) = self.schema(maker) else { break false };
            let outputs = body.outputs(maker);
            let Some(output) = outputs.iter().position(|output| *output == Some(at)) else { break false };
            let Some(variable) = variable_of(schema, Port::Out(output)) else { break false };
            let mut inputs = tied(schema, body.inputs(maker), Port::In, variable);
            match inputs.find(|(_, input)| !self.is_stored(*input)) {
                // A cycle has no start.
                Some((_, next)) if path.len() <= body.values.len() => at = next,
                Some(_) | None => break false,
            }
        };
        self.core.recovery.from_input.extend(path.into_iter().map(|value| (value, found)));
        found
    }

    /// The element type of an operand that later nodes relate to one of some values, if it is one of two.
    fn confirmed_by_readers(&mut self, from: &[ValueId], (a, b): (Elem, Elem)) -> Option<Elem> {
        let body = self.body;
        let mut open: std::collections::VecDeque<ValueId> = from.iter().copied().collect();
        let mut searched = 0;
        while let Some(value) = open.pop_front() {
            for reader in body.consumers().of(value).iter().copied() {
                searched += 1;
                if searched > MAX_SEARCHED {
                    return None;
                }
                let Some(schema) = self.schema(reader) else { continue };
                if !matches!(body.step(reader).kind, StepKind::Node) {
                    continue;
                }
                let inputs = body.inputs(reader);
                let Some(at) = inputs.iter().position(|input| *input == Some(value)) else { continue };
                let Some(variable) = variable_of(schema, Port::In(at)) else { continue };
                for (_, input) in tied(schema, inputs, Port::In, variable).filter(|(other, _)| *other != at) {
                    let found = elem_of(self.core, self.frame, input);
                    if found == Some(a) || found == Some(b) {
                        return found;
                    }
                }
                let outputs = tied(schema, body.outputs(body.last_step(reader)), Port::Out, variable);
                open.extend(outputs.map(|(_, value)| value));
            }
        }
        None
    }
}

/// The type variable of a port.
pub(crate) fn variable_of(schema: &Schema, port: Port) -> Option<u8> {
    match schema.formal(port)?.ty {
        FormalType::Var(variable) => Some(variable),
        FormalType::Tensor(_) => None,
    }
}

/// The values at ports of one type variable, with their positions.
fn tied(
    schema: &Schema,
    ports: &[Option<ValueId>],
    port: fn(usize) -> Port,
    variable: u8,
) -> impl Iterator<Item = (usize, ValueId)> {
    let values = ports.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
    values.filter(move |(at, _)| variable_of(schema, port(*at)) == Some(variable))
}

fn elem_of(core: &mut Core<'_>, frame: &Frame<'_>, value: ValueId) -> Option<Elem> {
    let ty = frame.slots[value.index()].ty?;
    core.types.elems(ty).and_then(ElemSet::single)
}

fn single(ty: &Type) -> Option<Elem> {
    ty.tensor()?.elem.single()
}

/// Whether an element type is a float.
fn is_float(elem: Elem) -> bool {
    elem.dtype().is_none_or(|dtype| matches!(dtype.class(), DtypeClass::Float | DtypeClass::Complex))
}

impl Census {
    fn of(core: &mut Core<'_>, frame: &Frame<'_>) -> Self {
        let body = &frame.body;
        let mut census = Self::default();
        for value in body.values() {
            let record = body.value(value);
            if record.origin.initializer().is_some()
                && let Some(elem) = elem_of(core, frame, value)
            {
                *census.constants.entry(elem).or_insert(0) += 1;
            }
            if record.declaration.is_none() || record.graph != body.root() {
                continue;
            }
            for declaration in body.declarations(value) {
                let list = match (declaration.kind, record.origin) {
                    (DeclarationKind::Input, Origin::Input) => &mut census.inputs,
                    (DeclarationKind::Output, _) => &mut census.outputs,
                    (DeclarationKind::Input | DeclarationKind::Value, _) => continue,
                };
                let Ok(ty) = declaration.ty.parse() else { continue };
                if let TypeKindView::Tensor { elem, .. } = ty.kind
                    && let Some(elem) = Elem::from_onnx(elem)
                {
                    *list.entry(elem).or_insert(0) += 1;
                }
            }
        }
        census
    }
}
