//! The context of a rule: one node, and tracked access to the state of the solve.
//!
//! # Contract with the memo
//!
//! The engine caches applications of rules under a key: the operator, its attributes, the ports that are
//! present, the types and shapes of the inputs, the constants that were read, and the scope of the node (see
//! [`crate::state::memo`]). The fields of [`RuleCx`] are private, so every read goes through an accessor of
//! this file. An accessor does one of three things:
//!
//! - It reads only data that the key covers: types, shapes and attributes at the node's ports.
//! - It records the read, which extends the key: [`RuleCx::data`].
//! - It marks the application as uncacheable: [`RuleCx::uncached`].
//!
//! Nodes with nested graphs are never cached, so their graphs need no tracking. The tables ([`RuleCx::core`])
//! need none either: they are shared by all applications and indexed by ids. Writes are compared by the memo
//! itself: an application that did more than write its outputs is not cached.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use typeloom_dim::shape::ShapeId;
use typeloom_dim::{DimId, Dims, Relation};
use typeloom_onnx::DecodeError;
use typeloom_onnx::domain::is_onnx;
use typeloom_onnx::view::{Attribute, NodeView};

use super::{Extent, ExtentRelation, Port, Rule, RuleError};
use crate::elem::ElemSet;
use crate::program::{Body, GraphId, Initializer, Origin, Span, StepId, ValueId};
use crate::signature::Schema;
use crate::solution::{Equation, EquationSource, Type};
use crate::solve_error::Limit;
use crate::solve_error::SolveErrorKind;
use crate::state::Core;
use crate::state::affine::Affine;
use crate::state::constants::{Data, MAX_ELEMENTS, MAX_PASSED_ELEMENTS, is_followed};
use crate::state::frame::{Frame, Slot};
use crate::state::parts::Parts;
use crate::state::recovery::Purpose;
use crate::ty::{Ty, Types, Waiter};

/// Maximum number of `Identity` nodes between two ports that hold one value.
const MAX_COPIES: usize = 64;

/// The view that a rule has of its node, and the operations that narrow its types.
///
/// The operations are grouped by file: types, shapes, constants, attributes, loops, conditions. `'r` is the
/// run of the rule, `'a` the lifetime of the model's bytes.
pub struct RuleCx<'r, 'a> {
    core: &'r mut Core<'a>,
    frame: &'r mut Frame<'a>,
    step: StepId,
    /// The positions of the inputs and outputs of the node in the list of all ports.
    ports: [Span; 2],
    schema: Option<&'a Schema>,
    rule: &'static str,
}

/// Unrestricted access to the state of a solve, for operations whose result the memo cannot key.
pub(crate) struct Uncached<'r, 'a> {
    pub(crate) core: &'r mut Core<'a>,
    pub(crate) frame: &'r mut Frame<'a>,
    /// The step of the node.
    pub(crate) step: StepId,
}

impl<'r, 'a> RuleCx<'r, 'a> {
    pub(crate) fn new(
        core: &'r mut Core<'a>,
        frame: &'r mut Frame<'a>,
        step: StepId,
        schema: Option<&'a Schema>,
        rule: &'static str,
    ) -> Self {
        let ports = frame.body.ports_of(step);
        Self { core, frame, step, ports, schema, rule }
    }

    /// Runs the rules of another operator on this node.
    ///
    /// # Errors
    /// The first error of those rules.
    pub fn run_rules(&mut self, schema: &'static Schema, rules: &[Rule]) -> Result<(), RuleError> {
        rules.iter().try_for_each(|rule| {
            let (schema, rule_name) = (Some(schema), rule.name);
            let Self { ports, step, .. } = *self;
            let mut cx = RuleCx { core: self.core, frame: self.frame, step, ports, schema, rule: rule_name };
            (rule.run)(&mut cx)
        })
    }

    /// The name under which errors and traces cite the rule.
    pub(crate) fn rule(&self) -> &'static str {
        self.rule
    }

    /// Sets the name of [`Self::rule`].
    pub(crate) fn set_rule(&mut self, rule: &'static str) {
        self.rule = rule;
    }

    /// Marks the application as uncacheable and returns the state of the solve.
    pub(crate) fn uncached(&mut self) -> Uncached<'_, 'a> {
        self.core.mark_uncacheable();
        Uncached { core: self.core, frame: self.frame, step: self.step }
    }

    /// The body during the solve. Marks the application as uncacheable.
    pub(crate) fn frame(&mut self) -> &mut Frame<'a> {
        self.uncached().frame
    }

    /// The tables of the solve.
    #[inline]
    pub(crate) fn core(&mut self) -> &mut Core<'a> {
        self.core
    }

    /// The tables of the solve, for reading.
    #[inline]
    pub(crate) fn tables(&self) -> &Core<'a> {
        self.core
    }

    /// The dims of the solve: constants, symbols and arithmetic on them.
    #[inline]
    pub fn dims(&mut self) -> &mut Dims {
        &mut self.core.dims
    }

    /// The table of types, to build a [`Ty`] for [`RuleCx::set_ty`].
    #[inline]
    pub fn types(&mut self) -> &mut Types {
        &mut self.core.types
    }

    /// A new extent without a name: unknown, but one definite number.
    pub fn fresh(&mut self) -> DimId {
        self.core.dims.fresh()
    }
}

/// The node.
impl<'a> RuleCx<'_, 'a> {
    /// The declared form of the operator.
    #[must_use]
    pub fn schema(&self) -> Option<&'a Schema> {
        self.schema
    }

    /// The first version of the domain that has this form of the operator; 0 for operators without a schema.
    #[must_use]
    pub fn since_version(&self) -> u32 {
        self.schema.map_or(0, |schema| schema.since_version)
    }

    /// The number of inputs that the node lists, including omitted ones.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.ports[0].1 as usize
    }

    /// The number of outputs that the node lists, including omitted ones.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.ports[1].1 as usize
    }

    /// Whether there is a value at the port.
    #[must_use]
    pub fn has(&self, port: Port) -> bool {
        self.value(port).is_some()
    }

    #[inline]
    pub(crate) fn value(&self, port: Port) -> Option<ValueId> {
        let (at, (first, count)) = match port {
            Port::In(at) => (at, self.ports[0]),
            Port::Out(at) => (at, self.ports[1]),
            Port::BodyIn(..) | Port::BodyOut(..) => return self.frame.body.at_port(self.step, port),
        };
        if at < count as usize { self.frame.body.ports[first as usize + at] } else { None }
    }

    /// Whether the node may never run, so that its needs must not narrow values of other nodes.
    pub(crate) fn is_conditional(&self) -> bool {
        self.frame.is_conditional(self.step)
    }

    /// The graph in the attribute `name` of the node.
    #[must_use]
    pub fn body(&self, name: &str) -> Option<GraphId> {
        let first = self.frame.body.first_step(self.step);
        let mut graphs = self.frame.body.graphs_of(first);
        graphs.find(|(_, graph)| graph.owner.is_some_and(|owner| owner.attribute == name)).map(|(id, _)| id)
    }

    /// The graphs of the node, in the order of its attributes.
    #[must_use]
    pub fn bodies(&self) -> Vec<GraphId> {
        let first = self.frame.body.first_step(self.step);
        self.frame.body.graphs_of(first).map(|(id, _)| id).collect()
    }

    /// The number of inputs of a nested graph.
    #[must_use]
    pub fn body_inputs(&self, graph: GraphId) -> usize {
        self.frame.body.graph(graph).inputs.len()
    }

    /// The number of outputs of a nested graph.
    #[must_use]
    pub fn body_outputs(&self, graph: GraphId) -> usize {
        self.frame.body.graph(graph).outputs.len()
    }

    /// The part of the node that holds its attributes; `None` if it has none.
    pub(crate) fn attribute_part(&self) -> Option<NodeView<'a>> {
        let step = self.frame.body.step(self.step);
        step.has_attributes().then(|| step.attribute_part())
    }

    /// The attributes of the node, if the check of the node has decoded them.
    #[inline]
    pub(crate) fn read_attributes(&self) -> Option<&[Attribute<'a>]> {
        self.core.attributes.of(self.frame.number, self.step)
    }

    /// The attribute itself, or for a reference that of the call.
    pub(crate) fn referenced<'s>(&'s self, attribute: &'s Attribute<'a>) -> Option<&'s Attribute<'a>> {
        self.frame.referenced(attribute)
    }

    /// The value of a key in the node's metadata; `None` if the metadata cannot be read.
    #[must_use]
    pub fn metadata(&mut self, key: &str) -> Option<&'a str> {
        let Uncached { frame, step, .. } = self.uncached();
        let mut entries = frame.body.step(step).node.metadata_props().filter_map(Result::ok);
        entries.find(|entry| entry.has_key(key)).and_then(|entry| entry.value().ok())
    }

    /// Whether two ports hold one value of the graph, or copies of one value made by at most 64 `Identity`
    /// nodes each.
    #[must_use]
    pub fn is_same_value(&mut self, a: Port, b: Port) -> bool {
        let (Some(a), Some(b)) = (self.value(a), self.value(b)) else { return false };
        let body = &self.uncached().frame.body;
        original(body, a) == original(body, b)
    }
}

/// Types.
impl<'a> RuleCx<'_, 'a> {
    /// The type at a port, as the solver's own handle.
    #[inline]
    pub fn ty(&mut self, port: Port) -> Option<Ty> {
        let value = self.value(port)?;
        Some(self.core.ty_of(&mut self.frame.slots[value.index()]))
    }

    /// The type at a port; `None` while nothing is known of it.
    #[inline]
    pub(crate) fn known_ty(&self, port: Port) -> Option<Ty> {
        self.frame.slots[self.value(port)?.index()].ty
    }

    /// Sets the type at a port without a known type.
    #[inline]
    pub(crate) fn write_ty(&mut self, port: Port, ty: Ty) {
        if let Some(value) = self.value(port) {
            self.frame.slots[value.index()].ty = Some(ty);
        }
    }

    /// The type and shape at a port, for errors.
    pub(crate) fn snapshot(&mut self, port: Port) -> Type {
        match self.value(port) {
            Some(value) => self.core.snapshot(self.frame, value),
            None => Type::Unknown(None),
        }
    }

    /// Runs the rule again when more is known about `ty`.
    pub fn wait_for(&mut self, ty: Ty) {
        let waiter = self.waiter();
        self.core.types.watch(ty, waiter);
    }

    pub(crate) fn waiter(&self) -> Waiter {
        self.frame.waiter(self.step)
    }

    /// Records in the trace that the rule gives the value at a port its type.
    #[inline]
    pub(crate) fn trace_fixed(&mut self, port: Port) {
        if self.core.trace.is_some()
            && let Some(value) = self.value(port)
        {
            self.core.trace_fixed(self.frame.number, value, self.step, self.rule);
        }
    }

    /// Records in the trace that the rule equates the types at two ports.
    #[inline]
    pub(crate) fn trace_equal(&mut self, a: Port, b: Port) {
        if self.core.trace.is_some()
            && let (Some(a), Some(b)) = (self.value(a), self.value(b))
        {
            self.core.trace_equal(self.frame.number, a, b, self.step, self.rule);
        }
    }
}

/// Shapes.
impl RuleCx<'_, '_> {
    /// The shape at a port: at a port that the node reads, with the declared extents that the solve assumes.
    #[inline]
    pub(crate) fn shape_id(&self, port: Port) -> Option<ShapeId> {
        let value = self.value(port)?;
        match port {
            Port::In(_) | Port::BodyOut(..) => self.frame.shape_read(value),
            Port::Out(_) | Port::BodyIn(..) => self.frame.slots[value.index()].shape,
        }
    }

    /// The derived shape at a port.
    pub(crate) fn derived_shape(&self, port: Port) -> Option<ShapeId> {
        self.frame.slots[self.value(port)?.index()].shape
    }

    /// Whether the rule may narrow the shape at a port: there is a value, and the node does not read a
    /// declared shape instead of the derived one.
    pub(crate) fn can_narrow_shape(&mut self, port: Port) -> bool {
        let Some(value) = self.value(port) else { return false };
        let is_assumed = matches!(port, Port::In(_) | Port::BodyOut(..))
            && !self.frame.assumed_shapes.is_empty()
            && self.frame.assumed_shapes.contains_key(&value);
        if is_assumed {
            // The key has the assumed shape, but not that it is assumed.
            self.core.mark_uncacheable();
        }
        !is_assumed
    }

    /// Sets the shape at a port and wakes the readers of the value.
    pub(crate) fn write_shape(&mut self, port: Port, shape: ShapeId) {
        if let Some(value) = self.value(port) {
            self.frame.set_shape(value, shape, self.step);
        }
    }

    /// The known shapes of the children of the composite at a port.
    pub(crate) fn parts(&self, port: Port) -> Option<Parts> {
        if self.frame.rare.parts.is_empty() {
            return None;
        }
        self.frame.rare.parts.get(&self.value(port)?).cloned()
    }

    /// Sets the shapes of the children of the composite at a port.
    pub(crate) fn write_parts(&mut self, port: Port, parts: Parts) {
        if let Some(value) = self.value(port) {
            self.frame.set_parts(value, parts, self.step);
        }
    }

    /// Records that the value at a port is the child of a composite, for messages.
    pub(crate) fn name_child(&mut self, port: Port, name: &str) {
        if let Some(value) = self.value(port) {
            self.frame.rare.children.entry(value).or_insert_with(|| name.into());
        }
    }

    /// Wakes the readers of the node's inputs, after a dim was bound.
    pub(crate) fn touch_inputs(&mut self) {
        let body = Arc::clone(&self.frame.body);
        for value in body.inputs(self.step).iter().flatten() {
            self.frame.touch(*value, self.step);
        }
    }

    /// Keeps an undecided condition on two extents, if both are expressions over symbols of the model.
    pub(crate) fn add_equation(
        &mut self,
        need: Relation,
        left: Extent,
        right: Extent,
        relation: ExtentRelation,
    ) {
        if self.core.recovery.purpose == Purpose::Recover
            || self.core.dims.is_anonymous(left.dim)
            || self.core.dims.is_anonymous(right.dim)
        {
            return;
        }
        let step = self.frame.body.first_step(self.step);
        let source = EquationSource::Ports { left, right, relation };
        let (left, right) = (left.dim, right.dim);
        self.frame.add_equation(Equation { left, right, need, step, rule: self.rule, source });
    }

    /// The error of a port with the wrong number of axes, for ranks that are known.
    #[must_use]
    pub fn wrong_rank(&self, port: Port, expected: impl RangeBounds<usize>) -> RuleError {
        let found = self.rank(port).unwrap_or(0);
        let least = match expected.start_bound() {
            Bound::Included(least) => *least,
            Bound::Excluded(below) => below + 1,
            Bound::Unbounded => 0,
        };
        let most = match expected.end_bound() {
            Bound::Included(most) => Some(*most),
            Bound::Excluded(above) => Some(above.saturating_sub(1)),
            Bound::Unbounded => None,
        };
        RuleError::Rank { port, found, least, most }
    }
}

/// Constants.
impl RuleCx<'_, '_> {
    /// The constant at a port. An initializer is decoded at its first read.
    pub(crate) fn data(&mut self, port: Port) -> Option<Data> {
        let value = self.value(port)?;
        self.misses_constant(port);
        if let Some(known) = self.core.data_of(self.frame, value) {
            return Some(known.clone());
        }
        // A default is typed as a constant: the model runs with it unless the caller replaces it.
        let initializer = self.frame.body.value(value).origin.initializer()?;
        let read = match self.frame.body.initializers[initializer.index()] {
            Initializer::Dense(tensor) => tensor.header().and_then(|header| self.core.read_tensor(&header)),
            Initializer::Sparse(_) => Ok(None),
        };
        let data = read.unwrap_or_else(|error| self.report_malformed(value, error)).unwrap_or(Data::Opaque);
        self.core.set_data(self.frame, value, data.clone());
        Some(data)
    }

    /// As [`RuleCx::data`], for a form of constants that rules compute and files do not have: decodes no
    /// initializer.
    pub(crate) fn computed_data(&mut self, port: Port) -> Option<Data> {
        let value = self.value(port)?;
        self.misses_constant(port);
        self.core.data_of(self.frame, value).cloned()
    }

    /// The integers or whole floats at a port as affine functions of their positions, if they are known in
    /// that form.
    pub fn affine(&mut self, port: Port) -> Option<Arc<Affine>> {
        let value = self.value(port)?;
        self.misses_constant(port);
        match self.core.data_of(self.frame, value)? {
            Data::Affine(affine) => Some(Arc::clone(affine)),
            Data::Ints(_) | Data::Floats(_) | Data::Splat(_) | Data::Ratios(..) | Data::Opaque => None,
        }
    }

    /// Whether a port holds a constant of the file that no rule has read so far.
    pub(crate) fn is_unread(&self, port: Port) -> bool {
        self.value(port).is_some_and(|value| {
            !self.has_data(value) && self.frame.body.value(value).origin.initializer().is_some()
        })
    }

    #[cold]
    fn report_malformed(&mut self, value: ValueId, error: DecodeError) -> Option<Data> {
        self.frame.report_value(value, SolveErrorKind::Malformed(error));
        None
    }

    /// The node's first step. Marks the application as uncacheable.
    pub(crate) fn first_step(&mut self) -> StepId {
        let Uncached { frame, step, .. } = self.uncached();
        frame.body.first_step(step)
    }

    /// Whether a constant of a value is known already.
    pub(crate) fn has_data(&self, value: ValueId) -> bool {
        self.frame.slots[value.index()].data.is_some()
    }

    /// Sets the constant of a value and wakes its readers.
    pub(crate) fn write_data(&mut self, value: ValueId, data: Data) {
        self.core.set_data(self.frame, value, data);
        self.frame.touch(value, self.step);
    }

    /// Records that a port holds known integers that are too many to follow.
    pub fn drop_constant(&mut self, port: Port) {
        if let Some(value) = self.value(port) {
            self.uncached().frame.drop_constant(value);
        }
    }

    /// Records that the rule would use the constant at a port if it were smaller. The outputs of the node are
    /// dropped too.
    pub fn misses_constant(&mut self, port: Port) {
        let Some(value) = self.value(port) else { return };
        if let Some(memo) = &mut self.core.memo {
            memo.record_constant(value);
        }
        if !self.frame.is_dropped(value) {
            return;
        }
        let Uncached { core, frame, step } = self.uncached();
        let body = Arc::clone(&frame.body);
        let is_parameter = frame.number != 0 && matches!(body.value(value).origin, Origin::Input);
        let most = if is_parameter { MAX_PASSED_ELEMENTS } else { MAX_ELEMENTS };
        frame.rare.limited.insert((body.first_step(step), Limit::Constant { most }));
        for output in body.outputs(body.last_step(step)).iter().flatten() {
            let Slot { ty, .. } = frame.slots[output.index()];
            let elem = ty.and_then(|ty| core.types.elems(ty)).and_then(ElemSet::single);
            if elem.is_some_and(is_followed) {
                frame.drop_constant(*output);
            }
        }
    }
}

/// The value that `value` is a copy of.
fn original(body: &Body<'_>, mut value: ValueId) -> ValueId {
    for _ in 0..MAX_COPIES {
        match body.value(value).origin {
            Origin::Step(step) if is_identity(body, step) => match body.inputs(step) {
                [Some(input)] => value = *input,
                _ => return value,
            },
            _ => return value,
        }
    }
    value
}

/// Whether a step is an `Identity` node of ONNX.
fn is_identity(body: &Body<'_>, step: StepId) -> bool {
    body.step(step).node.domain().is_ok_and(is_onnx) && body.op_name(step) == "Identity"
}
