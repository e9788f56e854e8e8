//! Constraints between the ports of one operator.
//!
//! An operator declares relations. The solver applies them to the ports of each node until no port narrows
//! any more. The five built-in relations cover most operators; [`TypeRelation::Custom`] runs a function that
//! reads attributes, constants and ports and narrows ports.
//!
//! The *element* of a type is the element type of its values: every node under `tensor` or `scalar` has one
//! (`tensor.f32` and `scalar.f32` the same), other leaves such as `peer_id` have none. A relation on elements
//! fails on a type without one.
//!
//! Relations skip ports that a node omits (a trailing or empty optional input).
//!
//! **Invariant:** relations are constants. A relation is a property of the operator and applies to all its
//! nodes.
//!
//! The solver defines the effect of built-in relations on symbolic shapes.

use std::fmt;

pub mod custom;
mod rules;

use custom::CustomRelationCtx;
use rules::matmul_contract;
pub(crate) use rules::{cast_to, constant_value, indices, where_broadcast};

/// One port or several ports of an operator, by position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PortRef {
    /// One input.
    Input(usize),
    /// One output.
    Output(usize),
    /// All inputs from this position on (variadic).
    InputsFrom(usize),
    /// All outputs from this position on (variadic).
    OutputsFrom(usize),
}

impl PortRef {
    /// The single ports at a node with these numbers of ports.
    pub fn expand(self, inputs: usize, outputs: usize) -> impl Iterator<Item = Self> {
        let (range, make): (_, fn(usize) -> Self) = match self {
            Self::Input(at) => (at..at.saturating_add(1), Self::Input),
            Self::Output(at) => (at..at.saturating_add(1), Self::Output),
            Self::InputsFrom(at) => (at..inputs, Self::Input),
            Self::OutputsFrom(at) => (at..outputs, Self::Output),
        };
        range.map(make)
    }
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

/// A constraint on the types of an operator's ports.
#[derive(Clone, Copy)]
pub enum TypeRelation {
    /// All ports have the same type, including the shape.
    SameType(&'static [PortRef]),
    /// All ports have the same element type; shapes are unrelated.
    SameElementType(&'static [PortRef]),
    /// The shape of `out` is the broadcast shape of `in0` and `in1`; element types are unrelated.
    BroadcastShape { in0: PortRef, in1: PortRef, out: PortRef },
    /// The output has the element type and shape of the input.
    Elementwise { input: PortRef, output: PortRef },
    /// The output has the input's element type, and its shape without the reduced axes (attribute or second
    /// input `axes`), or with extent 1 there (attribute `keepdims`).
    ReduceOver {
        /// The reduced tensor.
        input: PortRef,
        /// The result of the reduction.
        output: PortRef,
    },
    /// A constraint defined by a function.
    Custom {
        /// The name in diagnostics, such as `matmul.contract`.
        name: &'static str,
        /// The implementation.
        run: CustomRelation,
    },
}

impl TypeRelation {
    /// The name in diagnostics.
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

    /// The related ports; empty for a custom relation, which may read any port.
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
    /// Prints the name and the ports. Function addresses are omitted because they differ between runs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        f.debug_list().entries(self.ports()).finish()
    }
}

/// The implementation of a custom relation.
///
/// It must be *monotone*: more information about the ports never leads to a result that contradicts an
/// earlier one. The solver calls it whenever a port narrows, until it returns
/// [`RelationResult::Satisfied`] or fails.
///
/// A rule that only reads has the same type as one that narrows.
pub type CustomRelation = fn(&CustomRelationCtx<'_>) -> RelationResult;

/// Result of applying a relation once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RelationResult {
    /// A port narrowed, and the relation may derive more: dependent relations run again.
    Refined,
    /// The relation cannot derive more and is retired. It may have narrowed ports in this call; the
    /// implementation of [`PortAccess`](custom::PortAccess) tracks that.
    Satisfied,
    /// Too little is known: the relation is suspended until one of its ports narrows.
    Defer,
    /// The node is ill-typed.
    Failed(RelationError),
}

impl RelationResult {
    /// Translates progress into a result.
    #[must_use]
    pub fn of(progress: Progress) -> Self {
        match progress {
            Progress { complete: true, narrowed: _ } => Self::Satisfied,
            Progress { complete: false, narrowed: true } => Self::Refined,
            Progress { complete: false, narrowed: false } => Self::Defer,
        }
    }
}

/// Progress of one call of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Whether a port narrowed.
    pub narrowed: bool,
    /// Whether the relation cannot derive more.
    pub complete: bool,
}

/// Error of a relation that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}: expected {expected}, found {found}")]
pub struct RelationError {
    /// The requirement, in lower case and without a full stop.
    pub message: String,
    /// The ports that contradict each other.
    pub ports: Vec<PortRef>,
    /// The expected type or value, in the user's notation.
    pub expected: String,
    /// The actual type or value.
    pub found: String,
}

impl RelationError {
    /// The error of `ports` that do not meet a requirement.
    pub fn new(
        message: impl Into<String>,
        ports: impl IntoIterator<Item = PortRef>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let ports = ports.into_iter().collect();
        Self { message: message.into(), ports, expected: expected.into(), found: found.into() }
    }
}

impl From<RelationError> for RelationResult {
    fn from(failure: RelationError) -> Self {
        Self::Failed(failure)
    }
}

impl From<Result<Progress, RelationError>> for RelationResult {
    fn from(result: Result<Progress, RelationError>) -> Self {
        match result {
            Ok(progress) => Self::of(progress),
            Err(failure) => Self::Failed(failure),
        }
    }
}

/// The empty list of relations.
pub const NO_RELATIONS: &[TypeRelation] = &[];

/// One input and one output of the same type and shape.
pub const ELEMENTWISE: &[TypeRelation] =
    &[TypeRelation::Elementwise { input: PortRef::Input(0), output: PortRef::Output(0) }];

/// The output has the element type of the first input; its shape is unrelated.
pub const UNARY_SAME_ELEMENT: &[TypeRelation] =
    &[TypeRelation::SameElementType(&[PortRef::Input(0), PortRef::Output(0)])];

/// Two inputs of one element type, with broadcasting.
pub const BROADCAST_BINARY: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[PortRef::Input(0), PortRef::Input(1), PortRef::Output(0)]),
    TypeRelation::BroadcastShape { in0: PortRef::Input(0), in1: PortRef::Input(1), out: PortRef::Output(0) },
];

/// Two inputs of one element type, multiplied as stacks of matrices.
pub const MATMUL_BINARY: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[PortRef::Input(0), PortRef::Input(1), PortRef::Output(0)]),
    TypeRelation::Custom { name: "matmul.contract", run: |cx| matmul_contract(cx).into() },
];

/// One input, reduced along axes.
pub const REDUCE_AXIS: &[TypeRelation] =
    &[TypeRelation::ReduceOver { input: PortRef::Input(0), output: PortRef::Output(0) }];
