//! Constraints between the ports of one operator.
//!
//! An operator declares relations; the solver runs them over the ports of each node until nothing
//! narrows any more. The five built-in ones cover most operators, and [`TypeRelation::Custom`] runs a
//! function that can read attributes, constants and ports and narrow ports.
//!
//! The *element* of a type is what its values are made of: every node under `tensor` or `scalar` has one,
//! so that `tensor.f32` and `scalar.f32` share one, and a leaf such as `peer_id` has none. A relation on
//! elements fails on a type that has none.
//!
//! A port that a node leaves out (a trailing or empty optional input) is skipped by every relation.
//!
//! **Invariant:** relations are constants: a relation is a fact about an operator, and holds for each
//! of its nodes alike.
//!
//! What the built-in relations do to symbolic shapes is the solver's business, not this module's.

use std::fmt;

pub mod custom;

mod rules;

use custom::CustomRelationCtx;
use rules::matmul_contract;
pub(crate) use rules::{cast_to, constant_value, gather_indices, slice_indices, where_broadcast};

/// One or several ports of an operator, by position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PortRef {
    /// One input.
    Input(usize),
    /// One output.
    Output(usize),
    /// Every input from this position on: a variadic rest.
    InputsFrom(usize),
    /// Every output from this position on: a variadic rest.
    OutputsFrom(usize),
}

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(at) => write!(f, "input {at}"),
            Self::Output(at) => write!(f, "output {at}"),
            Self::InputsFrom(at) => write!(f, "the inputs from {at} on"),
            Self::OutputsFrom(at) => write!(f, "the outputs from {at} on"),
        }
    }
}

/// What must hold between the types of an operator's ports.
#[derive(Clone, Copy)]
pub enum TypeRelation {
    /// All ports have one type, shape included.
    SameType(&'static [PortRef]),
    /// All ports have one element type; their shapes are not related.
    SameElementType(&'static [PortRef]),
    /// The shape of `out` is the shapes of `in0` and `in1` broadcast; elements are not related.
    BroadcastShape {
        /// One input.
        in0: PortRef,
        /// The other input.
        in1: PortRef,
        /// The result.
        out: PortRef,
    },
    /// The output is the input, element by element: same element type, same shape.
    Elementwise {
        /// What is mapped.
        input: PortRef,
        /// The result.
        output: PortRef,
    },
    /// The output has the input's element type, and its shape without the reduced axes (attribute or
    /// second input `axes`), or with extent 1 there (attribute `keepdims`).
    ReduceOver {
        /// What is reduced.
        input: PortRef,
        /// The result.
        output: PortRef,
    },
    /// Whatever the function says.
    Custom {
        /// The name that diagnostics cite, such as `matmul.contract`.
        name: &'static str,
        /// The rule.
        run: CustomRelation,
    },
}

impl TypeRelation {
    /// The name that diagnostics cite.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SameType(_) => "same-type",
            Self::SameElementType(_) => "same-element-type",
            Self::BroadcastShape { .. } => "broadcast-shape",
            Self::Elementwise { .. } => "elementwise",
            Self::ReduceOver { .. } => "reduce-over",
            Self::Custom { name, run: _ } => name,
        }
    }

    /// The ports it relates; none are known of a custom relation, which may ask for any.
    pub fn ports(&self) -> impl Iterator<Item = PortRef> + use<> {
        let (listed, named): (&'static [PortRef], [Option<PortRef>; 3]) = match *self {
            Self::SameType(ports) | Self::SameElementType(ports) => (ports, [None; 3]),
            Self::BroadcastShape { in0, in1, out } => (&[], [Some(in0), Some(in1), Some(out)]),
            Self::Elementwise { input, output } | Self::ReduceOver { input, output } => {
                (&[], [Some(input), Some(output), None])
            }
            Self::Custom { name: _, run: _ } => (&[], [None; 3]),
        };
        listed.iter().copied().chain(named.into_iter().flatten())
    }
}

impl fmt::Debug for TypeRelation {
    /// The name and the ports; addresses of functions are not the same from run to run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        f.debug_list().entries(self.ports()).finish()
    }
}

/// A relation that is a function of the node.
///
/// It must be *monotone*: with more known about the ports it may find out more, but never something
/// else. It is called again whenever a port narrows, until it returns [`RelationResult::Satisfied`]
/// or fails.
pub type CustomRelation = fn(&mut CustomRelationCtx<'_>) -> RelationResult;

/// What running a relation came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RelationResult {
    /// A port narrowed, and there may be more to find out: whatever depends on it runs again.
    Refined,
    /// There is nothing left to find out: the relation is retired. It may have narrowed ports just
    /// now; whoever provides the ports sees that itself.
    Satisfied,
    /// Too little is known: the relation is parked until one of its ports narrows.
    Defer,
    /// The node is ill-typed.
    Failed(RelationFailure),
}

impl RelationResult {
    /// The outcome of a rule that narrowed something or not, and has finished or not.
    #[must_use]
    pub fn of(progress: Progress) -> Self {
        match progress {
            Progress { complete: true, narrowed: _ } => Self::Satisfied,
            Progress { complete: false, narrowed: true } => Self::Refined,
            Progress { complete: false, narrowed: false } => Self::Defer,
        }
    }
}

/// How far a rule got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Whether a port narrowed.
    pub narrowed: bool,
    /// Whether there is nothing left to find out.
    pub complete: bool,
}

/// Why a relation does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}: expected {expected}, found {found}")]
pub struct RelationFailure {
    /// What the relation demands, in lower case and without a full stop.
    pub message: String,
    /// The ports that contradict each other.
    pub ports: Vec<PortRef>,
    /// What one side asks for, as the user writes it.
    pub expected: String,
    /// What the other side is.
    pub found: String,
}

impl From<RelationFailure> for RelationResult {
    fn from(failure: RelationFailure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Result<Progress, RelationFailure>> for RelationResult {
    fn from(result: Result<Progress, RelationFailure>) -> Self {
        match result {
            Ok(progress) => Self::of(progress),
            Err(failure) => Self::Failed(failure),
        }
    }
}

/// Ports that are not related.
pub const NO_RELATIONS: &[TypeRelation] = &[];

/// One input, one output, mapped element by element.
pub const ELEMENTWISE: &[TypeRelation] =
    &[TypeRelation::Elementwise { input: PortRef::Input(0), output: PortRef::Output(0) }];

/// The output has the element type of the first input, in a shape of its own.
pub const UNARY_SAME_ELEMENT: &[TypeRelation] =
    &[TypeRelation::SameElementType(&[PortRef::Input(0), PortRef::Output(0)])];

/// Two inputs of one element type, broadcast against each other.
pub const BROADCAST_BINARY: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[PortRef::Input(0), PortRef::Input(1), PortRef::Output(0)]),
    TypeRelation::BroadcastShape { in0: PortRef::Input(0), in1: PortRef::Input(1), out: PortRef::Output(0) },
];

/// Two inputs of one element type, multiplied as (stacks of) matrices.
pub const MATMUL_BINARY: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[PortRef::Input(0), PortRef::Input(1), PortRef::Output(0)]),
    TypeRelation::Custom { name: "matmul.contract", run: matmul_contract },
];

/// One input, reduced along axes.
pub const REDUCE_AXIS: &[TypeRelation] =
    &[TypeRelation::ReduceOver { input: PortRef::Input(0), output: PortRef::Output(0) }];
