//! What can be wrong with a program, as data: the solver says it once, here, and never as a sentence.
//!
//! A [`Fault`] names steps, values and types by id. The words, the printed node and the chain of
//! causes are made from it in [`crate::diagnostic`], after solving, for the faults that are shown.

use typeloom_onnx::DecodeError;
use typeloom_types::relation::RelationFailure;

use crate::dim::{Condition, DimId};
use crate::elem::ElemSet;
use crate::program::{DeclarationKind, GraphId, StepId, ValueId};
use crate::rule::{Failure, Port};
use crate::signature::{AllowedTypes, AttributeKind};
use crate::solution::{Equation, Type};

/// One thing that is wrong, in one body.
#[derive(Clone, Debug)]
pub struct Fault<'a> {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: FaultKind<'a>,
}

impl Fault<'_> {
    /// Whether the model cannot be used as it is; other faults are warnings.
    #[must_use]
    pub fn is_error(&self, mode: crate::model::Mode) -> bool {
        self.kind.is_error(mode)
    }
}

impl FaultKind<'_> {
    fn is_error(&self, mode: crate::model::Mode) -> bool {
        match self {
            FaultKind::MissingExternalData { .. }
            | FaultKind::ForcedEquality { .. }
            | FaultKind::Assumed { .. }
            | FaultKind::ForcedSymbol { baked: false, .. }
            | FaultKind::Restricted { .. }
            | FaultKind::NarrowedInput { .. } => false,
            FaultKind::UnknownOperator { .. } => mode == crate::model::Mode::Strict,
            FaultKind::InCase { fault, reach, .. } => *reach == Reach::Free && fault.is_error(mode),
            FaultKind::Malformed(_)
            | FaultKind::NestingTooDeep
            | FaultKind::UndefinedValue { .. }
            | FaultKind::UsedBeforeMade { .. }
            | FaultKind::Cycle { .. }
            | FaultKind::DuplicateValue { .. }
            | FaultKind::UndefinedOutput { .. }
            | FaultKind::NewerOperator { .. }
            | FaultKind::MissingOpset
            | FaultKind::DeprecatedOperator { .. }
            | FaultKind::SurplusPorts { .. }
            | FaultKind::MissingPort { .. }
            | FaultKind::MissingAttribute { .. }
            | FaultKind::UnknownAttribute { .. }
            | FaultKind::AttributeKind { .. }
            | FaultKind::Disagree { .. }
            | FaultKind::NotAllowed { .. }
            | FaultKind::Rule { .. }
            | FaultKind::Relation { .. }
            | FaultKind::Contradiction { .. }
            | FaultKind::DefaultContradicts { .. }
            | FaultKind::NegativeDim { .. }
            | FaultKind::SeedContradicts { .. }
            | FaultKind::CallArity { .. }
            | FaultKind::RecursiveFunction { .. }
            | FaultKind::ForcedSymbol { baked: true, .. }
            | FaultKind::RefutedClaim(_)
            | FaultKind::Unresolved { .. } => true,
        }
    }
}

/// What a fault is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// The model or function as a whole.
    Body,
    /// A graph.
    Graph(GraphId),
    /// A node, by its first step.
    Step(StepId),
    /// A value that no node makes.
    Value(ValueId),
}

/// The kinds of faults; each has one diagnostic code, see [`crate::diagnostic::Code`].
#[derive(Clone, Debug)]
pub enum FaultKind<'a> {
    /// The bytes are not a model.
    Malformed(DecodeError),
    /// Graphs are nested deeper than any producer writes.
    NestingTooDeep,
    /// A node reads a name that nothing defines.
    UndefinedValue {
        /// The stand-in for the missing value.
        value: ValueId,
        /// The input that reads it.
        input: usize,
    },
    /// A node reads a value that is made by a later node of the same graph.
    UsedBeforeMade {
        /// The value.
        value: ValueId,
        /// The input that reads it.
        input: usize,
        /// The node that makes it.
        maker: StepId,
    },
    /// Nodes that wait for each other: each reads the value beside it, made by the next.
    Cycle {
        /// The nodes, by first step, with the value that each takes from the next one.
        steps: Vec<(StepId, ValueId)>,
    },
    /// A name is made twice in one graph.
    DuplicateValue {
        /// The value made first.
        first: ValueId,
        /// The output that makes it again, or `None` for an input or initializer.
        output: Option<usize>,
    },
    /// A graph promises an output that nothing makes.
    UndefinedOutput {
        /// The stand-in for the missing value.
        value: ValueId,
    },
    /// No catalogue knows the operator.
    UnknownOperator {
        /// Operator names that are close.
        near: Vec<String>,
        /// Whether the domain itself is unknown.
        domain_unknown: bool,
    },
    /// The operator exists, but only in a newer operator set than the model imports.
    NewerOperator {
        /// The first version that has it.
        since: u32,
        /// The version that the model imports.
        imported: i64,
    },
    /// The model does not say which version of the operator's domain it uses.
    MissingOpset,
    /// The operator was withdrawn in this operator set.
    DeprecatedOperator {
        /// The version that withdrew it.
        since: u32,
    },
    /// More inputs or outputs than the operator has.
    SurplusPorts {
        /// Inputs or outputs.
        side: Side,
        /// How many there are.
        given: usize,
        /// How many there can be.
        most: usize,
    },
    /// A required input or output is left out.
    MissingPort {
        /// Which.
        port: Port,
        /// Its declared name.
        name: &'a str,
    },
    /// A required attribute is left out.
    MissingAttribute {
        /// Its name.
        name: &'a str,
        /// Its kind.
        kind: AttributeKind,
    },
    /// An attribute that the operator does not have.
    UnknownAttribute {
        /// Its name.
        name: &'a str,
        /// Declared names that are close.
        near: Vec<String>,
    },
    /// An attribute of the wrong kind.
    AttributeKind {
        /// Its name.
        name: &'a str,
        /// The kind it has.
        found: Option<AttributeKind>,
        /// The kind it must have.
        expected: AttributeKind,
    },
    /// Two ports that share a type variable have different types.
    Disagree {
        /// The type variable.
        variable: &'a str,
        /// The port that came first.
        left: (Port, Type),
        /// The port that contradicts it.
        right: (Port, Type),
    },
    /// A port has a type that the operator does not take there.
    NotAllowed {
        /// The port.
        port: Port,
        /// What it has.
        found: Type,
        /// What it may have.
        allowed: Box<AllowedTypes>,
    },
    /// A named rule says no.
    Rule {
        /// The rule's name.
        rule: &'a str,
        /// Why.
        failure: Failure,
    },
    /// A custom relation of a plainly declared operator says no, or a declaration makes no sense here.
    Relation {
        /// The relation's name.
        relation: &'static str,
        /// Why, in its own words.
        failure: RelationFailure,
    },
    /// A declared type contradicts the inferred one.
    Contradiction {
        /// In which list the declaration stands.
        declared_in: DeclarationKind,
        /// The declared type.
        declared: Type,
        /// The inferred type.
        inferred: Type,
        /// The first dims that differ, if it is the shape.
        axis: Option<usize>,
    },
    /// An initializer contradicts the declared type of the input it is a default of.
    DefaultContradicts {
        /// The declared type.
        declared: Type,
        /// The initializer's type.
        found: Type,
    },
    /// A declared extent is negative.
    NegativeDim {
        /// Which axis.
        axis: usize,
        /// The extent.
        extent: i64,
    },
    /// The type that a caller seeded contradicts what the model says.
    SeedContradicts {
        /// The seed.
        seed: Type,
        /// What the model says.
        found: Type,
    },
    /// A function is called with the wrong number of inputs or outputs.
    CallArity {
        /// Inputs or outputs.
        side: Side,
        /// How many there are.
        given: usize,
        /// How many the function has.
        most: usize,
    },
    /// A function that calls itself, directly or through others.
    RecursiveFunction {
        /// The functions on the way, from the one called to itself.
        path: Vec<String>,
    },
    /// A symbol that the model declares as free has finitely many admissible values.
    ForcedSymbol {
        /// The symbol.
        symbol: DimId,
        /// The values, in ascending order.
        values: Vec<i64>,
        /// The equation that leaves only these.
        equation: Equation,
        /// Whether a constant of the graph restricts it, rather than the declared extent of another input.
        baked: bool,
    },
    /// The graph runs for some bindings of the symbols of inputs only.
    Restricted {
        /// The condition that has to hold, in its simplest form.
        condition: Condition,
        /// The equation that it comes from.
        equation: Equation,
        /// A smallest binding of symbols that violates it.
        binding: Vec<(DimId, i64)>,
    },
    /// An unknown extent of a graph input has one admissible value.
    NarrowedInput {
        /// The input.
        value: ValueId,
        /// The axis.
        axis: usize,
        /// The value.
        extent: i64,
    },
    /// Two symbols that the model declares apart can only be equal.
    ForcedEquality {
        /// One.
        left: DimId,
        /// The other.
        right: DimId,
        /// What forces it.
        equation: Equation,
    },
    /// A declared extent differs from the derived one for some binding of the symbols of inputs.
    RefutedClaim(Box<RefutedClaim>),
    /// A declared shape is neither confirmed nor refuted by the graph.
    Assumed {
        /// The value.
        value: ValueId,
        /// Its type with the declared extents.
        declared: Type,
        /// Its type without them.
        derived: Type,
    },
    /// Strict mode: a value whose type is not settled.
    Unresolved {
        /// The value.
        value: ValueId,
        /// What is known.
        known: Type,
        /// The element types that it could still have, where it is a tensor.
        possible: Option<ElemSet>,
    },
    /// Something that is wrong only if certain branches run, or in every case in a way of its own.
    InCase {
        /// The case, by its position among those of the model.
        case: usize,
        /// The branches that cause it: the first step of each node, and the graph. `None` where it is wrong in every case.
        branches: Option<Vec<(StepId, GraphId)>>,
        /// What is wrong, in terms of the case.
        fault: Box<FaultKind<'a>>,
        /// Where it is wrong.
        owner: CaseOwner,
        /// Whether the branches are known to be possible.
        reach: Reach,
    },
    /// A tensor's payload lies in a file that is not there; nothing needs it.
    MissingExternalData {
        /// The location, relative to the model.
        location: &'a str,
    },
}

/// A declared extent with a counterexample.
#[derive(Clone, Debug)]
pub struct RefutedClaim {
    /// The value.
    pub value: ValueId,
    /// The list that holds the declaration.
    pub declared_in: DeclarationKind,
    /// The axis.
    pub axis: usize,
    /// The declared extent.
    pub declared: DimId,
    /// The derived extent; one side of the broadcast where it is one.
    pub derived: DimId,
    /// The other side, where the derived extent is the broadcast of two.
    pub broadcast_with: Option<DimId>,
    /// A binding of symbols for which the graph runs and the two differ.
    pub binding: Vec<(DimId, i64)>,
    /// The derived and the declared extent under that binding.
    pub extents: (i64, i64),
}

/// What a fault of one case belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaseOwner {
    /// The node at its place.
    Node,
    /// The declared types of a value.
    Value(ValueId),
    /// An instance of a function, by its position among those of the case in which something is wrong.
    Instance(usize),
}

/// Whether a branch is known to be possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// It is: its condition depends on symbols or data.
    Free,
    /// Its condition depends on extents that are not known, which may always choose the other branch.
    Doubtful,
}

/// One side of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Inputs.
    Inputs,
    /// Outputs.
    Outputs,
}
