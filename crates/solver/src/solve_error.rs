//! What can be wrong with a program, as data: the solver says it once, here, and never as a sentence.
//!
//! A [`SolveError`] names steps, values and types by id. The words, the printed node and the chain of
//! causes are made from it in [`crate::diagnostic`], after solving, for the errors that are shown.

use typeloom_onnx::DecodeError;
use typeloom_types::relation::RelationError;

use crate::diagnostic::Severity;
use crate::dim::{Condition, DimId};
use crate::elem::ElemSet;
use crate::model::mode::Mode;
use crate::program::id::{DeclarationKind, GraphId, StepId, ValueId};
use crate::rule::error::RuleError;
use crate::rule::port::Port;
use crate::signature::{AllowedTypes, AttributeKind, Choices};
use crate::solution::{Equation, Type};

pub use crate::state::limit::Limit;

/// One thing that is wrong, in one body.
#[derive(Clone, Debug)]
pub struct SolveError<'a> {
    /// Where.
    pub site: ErrorSite,
    /// What.
    pub kind: SolveErrorKind<'a>,
}

impl SolveError<'_> {
    /// Whether the model cannot be used as it is; the others are warnings.
    #[must_use]
    pub fn is_error(&self, mode: Mode) -> bool {
        self.kind.severity(mode) == Severity::Error
    }
}

impl<'a> SolveErrorKind<'a> {
    /// The error of the rule or relation with this name.
    pub(crate) fn of_rule(rule: &'a str, failure: RuleError) -> Self {
        match failure {
            RuleError::Malformed(error) => Self::Malformed(error),
            failure => Self::Rule { rule, failure },
        }
    }
}

/// What a error is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ErrorSite {
    /// The model or function as a whole.
    Body,
    /// A graph.
    Graph(GraphId),
    /// A node, by its first step.
    Step(StepId),
    /// A value that no node makes.
    Value(ValueId),
}

/// The kinds of errors; each has one diagnostic code, see [`crate::diagnostic::Code`].
#[derive(Clone, Debug)]
pub enum SolveErrorKind<'a> {
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
    /// Nodes are not in topological order: one reads a value that a later node makes.
    UsedBeforeMade {
        /// The value.
        value: ValueId,
        /// The input that reads it.
        input: usize,
        /// The node that makes it.
        maker: StepId,
        /// How many more nodes read what a later node makes.
        others: usize,
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
    /// A string attribute whose value is none of its operator's.
    AttributeChoice {
        /// Its name.
        name: &'a str,
        /// The value.
        found: String,
        /// The values that it can have.
        choices: Choices,
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
        failure: RuleError,
    },
    /// A custom relation of a plainly declared operator says no, or a declaration makes no sense here.
    Relation {
        /// The relation's name.
        relation: &'static str,
        /// Why, in its own words.
        failure: RelationError,
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
    /// A value is declared with the shape of a scalar and has axes: some exporters write an empty shape for an unknown one.
    EmptyShape {
        /// The value.
        value: ValueId,
        /// In which list the declaration stands.
        declared_in: DeclarationKind,
        /// What shows that it has axes.
        shown: Axes,
    },
    /// Dims are named by a mark that exporters write for an unknown extent, such as `?`.
    PlaceholderDim {
        /// The first value that is declared with one.
        value: ValueId,
        /// The axis.
        axis: usize,
        /// The mark.
        mark: String,
        /// How many more axes are named so.
        others: usize,
    },
    /// An extent is negative.
    NegativeDim {
        /// The list of the declaration; `None` for an extent of a stored tensor.
        declared_in: Option<DeclarationKind>,
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
    /// A function is called with fewer outputs than it has. An output that is not needed has an empty name.
    CallOutputs {
        /// How many the call has.
        given: usize,
        /// How many the function has.
        has: usize,
    },
    /// A function is called without an input that its body needs.
    CallInput {
        /// The position of the input.
        input: usize,
        /// The function's name for it.
        name: &'a str,
        /// The operator in the body that needs it; `None` where it is an output of the body.
        reader: Option<&'a str>,
    },
    /// A function is called with more different types and shapes than are solved; this call is typed without shapes.
    TooManyInstances {
        /// How many are solved.
        most: usize,
    },
    /// The model's IR version is missing, zero, or newer than the newest that is known.
    IrVersion {
        /// The version; zero where it is missing.
        found: i64,
        /// The newest that is known.
        newest: i64,
    },
    /// The model or a function imports a newer version of a domain than is known.
    NewerOpset {
        /// The function, if it is not the model.
        function: Option<String>,
        /// The domain.
        domain: &'a str,
        /// The version.
        imported: i64,
        /// The newest version that is known.
        newest: i64,
    },
    /// Nodes of one graph have the same name.
    DuplicateNodeName {
        /// The name.
        name: &'a str,
        /// How many nodes have it.
        count: usize,
        /// The first of them.
        first: StepId,
    },
    /// A limit hides a part of the type of a value.
    LimitReached {
        /// The value.
        value: ValueId,
        /// The limit.
        limit: Limit,
    },
    /// The extents of a tensor are known, and their product does not fit into 64 bits.
    ExtentOverflow {
        /// The value.
        value: ValueId,
    },
    /// A function that calls itself, directly or through others.
    RecursiveFunction {
        /// The functions on the way, from the one called to itself; of a long way, its ends.
        path: Vec<String>,
        /// How many functions are left out in the middle of the path.
        hidden: usize,
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
        error: Box<SolveErrorKind<'a>>,
        /// The location of the error.
        owner: CaseOwner,
        /// Whether the branches are known to be possible.
        reach: Reach,
    },
    /// A tensor's data is in another file, which cannot be used.
    MissingExternalData {
        /// Why it cannot be used, as a clause of its own.
        reason: String,
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

/// What shows that a value has axes.
#[derive(Clone, Debug)]
pub enum Axes {
    /// The type that its node gives it.
    Inferred(Type),
    /// A node that is at error where the value has none.
    Needed(StepId),
}

impl SolveErrorKind<'_> {
    /// The same, as an [`SolveErrorKind::EmptyShape`] where the shape of a scalar is declared for a value with axes.
    pub(crate) fn specific(self, value: ValueId) -> Self {
        let is_false = |declared: &Type, found: &Type| match (declared, found) {
            (Type::Tensor(declared), Type::Tensor(found)) => {
                declared.elem == found.elem
                    && declared.shape.as_ref().is_some_and(|shape| shape.is_empty())
                    && found.shape.as_ref().is_some_and(|shape| !shape.is_empty())
            }
            _ => false,
        };
        match self {
            Self::Contradiction { declared_in, declared, inferred, .. } if is_false(&declared, &inferred) => {
                Self::EmptyShape { value, declared_in, shown: Axes::Inferred(inferred) }
            }
            Self::DefaultContradicts { declared, found } if is_false(&declared, &found) => {
                Self::EmptyShape { value, declared_in: DeclarationKind::Input, shown: Axes::Inferred(found) }
            }
            other => other,
        }
    }
}

/// What a error of one case belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaseOwner {
    /// The node at its place.
    Node,
    /// The declared types of a value.
    Value(ValueId),
    /// An instance of a function, by its position among those of the case in which something is wrong.
    Instance(usize),
}

/// Whether what is wrong in a case makes the model wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// It does: data or every binding of symbols can choose the branch.
    Free,
    /// The condition of the branch depends on extents that are not known, is computed, holds for empty tensors only, or is
    /// one that a caller can avoid by the choice of symbols.
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
