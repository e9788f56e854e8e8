//! Rules: what an operator says about its ports beyond its signature.
//!
//! A rule is a function with a name. It runs inside a [`RuleCx`], which shows it what is known about
//! the ports of one node and lets it narrow that knowledge. Knowledge that is missing is `None`, and
//! a rule that needs it does nothing: it runs again when more is known.
//!
//! Laws that every rule keeps, and the tests of the catalogue check:
//!
//! - *Monotone.* With more knowledge it never says less, and never the contrary.
//! - *Idempotent.* Run twice, it changes nothing the second time.
//! - *Sound.* It writes only what every run of the operator would confirm. Where an extent depends on
//!   data, the extent is [`fresh`](RuleCx::fresh); where even the rank does, nothing is written.
//!
//! ```
//! use typeloom_solver::rule::{Failure, Port::{In, Out}, RuleCx};
//!
//! /// `squeeze_last.shape`: the output drops the last axis, which must have extent 1.
//! fn squeeze_last(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
//!     let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
//!     let Some(last) = shape.pop() else { return Err(cx.wrong_rank(In(0), 1..)) };
//!     let one = cx.dims().constant(1);
//!     cx.require_equal((In(0), shape.len(), last), one, "is squeezed, so it must be 1")?;
//!     cx.set_shape(Out(0), &shape)
//! }
//! ```

mod attributes;
mod cases;
mod constants;
mod loops;
pub(crate) mod relation;
pub(crate) mod schema;
mod shapes;
mod types;
mod unroll;

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_onnx::DecodeError;
use typeloom_types::relation::RelationError;

use crate::catalogue::Operator;
use crate::dim::{DimId, Dims};
use crate::elem::ElemSet;
use crate::program::{Body, GraphId, Origin, Step, StepId, ValueId};
use crate::signature::Schema;
use crate::state::Core;
use crate::state::frame::Frame;

pub use cases::Comparison;
pub use constants::MAX_ELEMENTS;
pub(crate) use constants::is_followed;
pub use constants::{Counting, Floats, Ints, Order};
pub(crate) use loops::Loops;
pub use loops::{Knowledge, Trips};
pub use types::Kind;
pub use unroll::Unroll;
pub(crate) use unroll::Unrolled;

/// The dims of one shape.
pub type DimVec = SmallVec<[DimId; 6]>;

/// A rule of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name: the operator in lower case, a dot, what it relates (`matmul.contract`).
    pub name: &'static str,
    /// What it does.
    pub run: RuleFn,
}

/// What a rule does.
pub type RuleFn = fn(&mut RuleCx<'_, '_>) -> Result<(), Failure>;

/// A rule that is data, such as what a file says about the shapes of an operator.
pub trait ShapeRule: Send + Sync + std::fmt::Debug {
    /// Its name, as that of a [`Rule`].
    fn name(&self) -> &'static str;

    /// What it does; it keeps the laws of a [`Rule`].
    ///
    /// # Errors
    /// What is wrong with the node.
    fn run(&self, cx: &mut RuleCx<'_, '_>) -> Result<(), Failure>;
}

/// The rules of an operator that has nested graphs.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Runs before the nested graphs: types their inputs.
    pub enter: Rule,
    /// Runs after them: types the node's outputs.
    pub exit: ExitRule,
}

/// The second half of a [`Control`].
#[derive(Clone, Copy, Debug)]
pub struct ExitRule {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&mut RuleCx<'_, '_>) -> Result<Exit, Failure>,
}

/// What the end of a node with nested graphs decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The outputs are typed.
    Done,
    /// The inputs of the nested graphs were widened (see [`RuleCx::assume_shape`]): solve the graphs again.
    Again,
}

/// Where a value stands at a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Port {
    /// An input of the node.
    In(usize),
    /// An output of the node.
    Out(usize),
    /// An input of a graph nested in the node.
    BodyIn(GraphId, usize),
    /// An output of a graph nested in the node.
    BodyOut(GraphId, usize),
}

/// Why a rule says no.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// Two ports must have one type, or one element type, and cannot.
    Types {
        /// One.
        left: Port,
        /// The other.
        right: Port,
    },
    /// A port cannot have the element type that the rule needs.
    Element {
        /// The port.
        port: Port,
        /// What it may have.
        allowed: ElemSet,
    },
    /// A port is not the kind of type that the rule needs.
    Kind {
        /// The port.
        port: Port,
        /// What it must be, in words (`a sequence`).
        expected: &'static str,
    },
    /// A port has the wrong number of axes.
    Rank {
        /// The port.
        port: Port,
        /// Axes it has.
        found: usize,
        /// Axes it must have at least.
        least: usize,
        /// Axes it may have at most.
        most: Option<usize>,
    },
    /// Two extents differ that the rule needs equal.
    Dims {
        /// One: where it stands and what it is.
        left: Extent,
        /// The other; a place where the rule computes it has no axis.
        right: Extent,
        /// What relates them, in words that complete "these dims ..." (`are contracted`).
        relation: &'static str,
    },
    /// An attribute whose value the rule cannot use.
    Attribute {
        /// Its name.
        name: &'static str,
        /// What is wrong, in words that follow the name.
        message: String,
    },
    /// An input whose (constant) value the rule cannot use.
    Value {
        /// The port.
        port: Port,
        /// What is wrong, in words that follow the value's name.
        message: String,
    },
    /// Ports whose shapes do not fit together in another way than one pair of dims.
    Shapes {
        /// The ports.
        ports: SmallVec<[Port; 4]>,
        /// What is wrong: a sentence without full stop.
        message: String,
    },
    /// The shape at a port is known to be another than the rule computes.
    Contradiction {
        /// The port.
        port: Port,
        /// What is known.
        known: DimVec,
        /// What the rule computes.
        computed: DimVec,
        /// Both in words: a sentence without full stop.
        message: String,
    },
    /// The graphs of a node do not fit it.
    Body {
        /// The graph.
        graph: GraphId,
        /// What is wrong: a sentence without full stop.
        message: String,
    },
    /// A port does not lie under the node of the type tree that the rule needs.
    Relation(Box<RelationError>),
    /// The node's bytes are malformed.
    Malformed(DecodeError),
}

/// An extent and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// The port.
    pub port: Port,
    /// The axis of the port's shape, or `None` where the extent was computed from the port's value or attributes.
    pub axis: Option<usize>,
    /// The extent.
    pub dim: DimId,
}

impl From<(Port, usize, DimId)> for Extent {
    fn from((port, axis, dim): (Port, usize, DimId)) -> Self {
        Self { port, axis: Some(axis), dim }
    }
}

impl From<(Port, DimId)> for Extent {
    fn from((port, dim): (Port, DimId)) -> Self {
        Self { port, axis: None, dim }
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

/// What a rule sees of its node, and the verbs by which it narrows what is known.
///
/// The verbs are grouped: types and element types, shapes, constants, attributes.
/// `'r` is the run of the rule, `'a` the model's bytes.
pub struct RuleCx<'r, 'a> {
    pub(crate) core: &'r mut Core<'a>,
    pub(crate) frame: &'r mut Frame<'a>,
    pub(crate) step: StepId,
    pub(crate) schema: Option<&'a Schema>,
    pub(crate) rule: &'static str,
}

impl<'a> RuleCx<'_, 'a> {
    /// The dims of the solve: constants, symbols and arithmetic on them.
    pub fn dims(&mut self) -> &mut Dims {
        &mut self.core.dims
    }

    /// Runs the rules of another operator on this node, as if it were one of that operator.
    ///
    /// # Errors
    /// What those rules say is wrong.
    pub fn run_as(&mut self, operator: &Operator<'static>) -> Result<(), Failure> {
        for rule in operator.rules {
            let mut cx = RuleCx {
                core: &mut *self.core,
                frame: &mut *self.frame,
                step: self.step,
                schema: Some(operator.schema),
                rule: rule.name,
            };
            (rule.run)(&mut cx)?;
        }
        Ok(())
    }

    /// An extent that nobody named: unknown, but one definite number.
    pub fn fresh(&mut self) -> DimId {
        self.core.dims.fresh()
    }

    /// The first version of the domain that has this form of the operator; 0 for operators without a schema.
    #[must_use]
    pub fn since_version(&self) -> u32 {
        self.schema.map_or(0, |schema| schema.since_version)
    }

    /// The declared form of the operator.
    #[must_use]
    pub fn schema(&self) -> Option<&'a Schema> {
        self.schema
    }

    /// How many inputs the node lists, those left out included.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.frame.body.inputs(self.step).len()
    }

    /// How many outputs the node lists, those left out included.
    #[must_use]
    pub fn output_count(&self) -> usize {
        let last = self.frame.body.last_step(self.step);
        self.frame.body.outputs(last).len()
    }

    /// Whether there is a value at the port.
    #[must_use]
    pub fn has(&self, port: Port) -> bool {
        self.value(port).is_some()
    }

    /// What the node's metadata says under a key; nothing where it cannot be read.
    #[must_use]
    pub fn metadata(&mut self, key: &str) -> Option<&'a str> {
        crate::state::memo::looked_elsewhere(self.core);
        let mut entries = self.step().node.metadata_props().filter_map(Result::ok);
        entries.find(|entry| entry.has_key(key)).and_then(|entry| entry.value().ok())
    }

    /// Whether two ports are one value of the graph, or copies of one by `Identity` nodes, of which 64 are looked through.
    #[must_use]
    pub fn is_same_value(&self, a: Port, b: Port) -> bool {
        let original = |port| self.value(port).map(|value| self.original(value));
        original(a).is_some() && original(a) == original(b)
    }

    /// The value that a value is a copy of.
    fn original(&self, mut value: ValueId) -> ValueId {
        let body = &self.frame.body;
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

    /// The graph that the attribute `name` of the node holds.
    #[must_use]
    pub fn body(&self, name: &str) -> Option<GraphId> {
        let first = self.frame.body.first_step(self.step);
        let named = |owner: Option<crate::program::GraphOwner<'_>>| {
            owner.is_some_and(|owner| owner.attribute == name)
        };
        self.frame.body.graphs_of(first).find(|(_, graph)| named(graph.owner)).map(|(id, _)| id)
    }

    /// How many inputs a nested graph has.
    #[must_use]
    pub fn body_inputs(&self, graph: GraphId) -> usize {
        self.frame.body.graph(graph).inputs.len()
    }

    /// How many outputs a nested graph has.
    #[must_use]
    pub fn body_outputs(&self, graph: GraphId) -> usize {
        self.frame.body.graph(graph).outputs.len()
    }

    pub(crate) fn step(&self) -> &Step<'a> {
        self.frame.body.step(self.step)
    }

    #[inline]
    pub(crate) fn value(&self, port: Port) -> Option<ValueId> {
        let body = &self.frame.body;
        match port {
            Port::In(at) => body.inputs(self.step).get(at).copied().flatten(),
            Port::Out(at) => body.outputs(body.last_step(self.step)).get(at).copied().flatten(),
            Port::BodyIn(graph, at) => body.graph(graph).inputs.get(at).copied(),
            Port::BodyOut(graph, at) => body.graph(graph).outputs.get(at).copied(),
        }
    }

    /// The failure that says that a port has the wrong number of axes, for ranks that are known.
    #[must_use]
    pub fn wrong_rank(&self, port: Port, expected: impl RangeBounds<usize>) -> Failure {
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
        Failure::Rank { port, found, least, most }
    }

    pub(crate) fn body_rc(&self) -> Arc<Body<'a>> {
        Arc::clone(&self.frame.body)
    }
}

/// How many copies of a value are looked through.
const MAX_COPIES: usize = 64;

/// Whether a step is of an `Identity` of ONNX.
fn is_identity(body: &Body<'_>, step: StepId) -> bool {
    let domain = body.step(step).node.domain().unwrap_or_default();
    matches!(domain, "" | "ai.onnx") && body.op_name(step) == "Identity"
}

impl Failure {
    /// An attribute whose value cannot be used.
    pub fn attribute(name: &'static str, message: impl Into<String>) -> Self {
        Self::Attribute { name, message: message.into() }
    }

    /// An input whose value cannot be used.
    pub fn value(port: Port, message: impl Into<String>) -> Self {
        Self::Value { port, message: message.into() }
    }

    /// Shapes that do not fit together.
    pub fn shapes(ports: &[Port], message: impl Into<String>) -> Self {
        Self::Shapes { ports: ports.into(), message: message.into() }
    }
}
