//! The errors of a solve, as data.
//!
//! A [`SolveError`] refers to steps, values and types by id. [`crate::diagnostic`] turns the errors that are
//! shown into messages with printed nodes and causes, after solving.

mod limit;

use typeloom_dim::{Condition, DimId};
use typeloom_onnx::DecodeError;
use typeloom_types::relation::RelationError;

use crate::elem::ElemSet;
use crate::program::id::{DeclarationKind, GraphId, StepId, ValueId};
use crate::rule::error::RuleError;
use crate::rule::port::Port;
use crate::signature::{AllowedTypes, AttributeKind, Choices};
use crate::solution::{Equation, Type};

pub use limit::Limit;

/// An error or warning of one body.
#[derive(Clone, Debug)]
pub struct SolveError<'a> {
    pub site: ErrorSite,
    pub kind: SolveErrorKind<'a>,
}

impl From<DecodeError> for SolveErrorKind<'_> {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
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

/// The part of a body that an error concerns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ErrorSite {
    /// The model or function as a whole.
    Body,
    /// A graph.
    Graph(GraphId),
    /// A node, by its first step.
    Step(StepId),
    /// A value that no node defines.
    Value(ValueId),
}

impl ErrorSite {
    /// The node, if the site is one.
    pub(crate) fn step(self) -> Option<StepId> {
        match self {
            Self::Step(step) => Some(step),
            Self::Body | Self::Graph(_) | Self::Value(_) => None,
        }
    }
}

/// The kinds of errors. Each has one diagnostic code, see [`crate::diagnostic::Code`].
#[derive(Clone, Debug, PartialEq)]
pub enum SolveErrorKind<'a> {
    /// The bytes are not a model.
    Malformed(DecodeError),
    /// Graphs are nested deeper than any producer writes.
    NestingTooDeep,
    /// A node reads a name that nothing defines.
    UndefinedValue {
        /// The placeholder of the missing value.
        value: ValueId,
        /// The input that reads it.
        input: usize,
    },
    /// Nodes are not in topological order: one reads a value that a later node defines.
    UsedBeforeMade {
        value: ValueId,
        /// The input that reads it.
        input: usize,
        /// The node that defines it.
        maker: StepId,
        /// The number of other nodes that read the result of a later node.
        others: usize,
    },
    /// Nodes that wait for each other: each reads a value that the next one defines.
    Cycle {
        /// The nodes, by first step, with the value that each takes from the next one.
        steps: Vec<(StepId, ValueId)>,
    },
    /// A value is defined twice in one graph.
    DuplicateValue {
        /// The value made first.
        first: ValueId,
        /// The output that makes it again, or `None` for an input or initializer.
        output: Option<usize>,
    },
    /// A graph has an output that nothing defines.
    UndefinedOutput {
        /// The placeholder of the missing value.
        value: ValueId,
    },
    /// No catalogue knows the operator.
    UnknownOperator {
        /// Operator names that are close; domains if the domain is unknown.
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
    /// The model does not import the operator's domain.
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
        /// The number of inputs or outputs of the node.
        given: usize,
        /// The maximum number.
        most: usize,
    },
    /// A required input or output is left out.
    MissingPort { port: Port, name: &'a str },
    /// A required attribute is left out.
    MissingAttribute { name: &'a str, kind: AttributeKind },
    /// An attribute that the operator does not have.
    UnknownAttribute {
        name: &'a str,
        /// Declared names that are close.
        near: Vec<String>,
    },
    /// An attribute of the wrong kind.
    AttributeKind {
        name: &'a str,
        /// The attribute's kind; `None` if it has no value.
        found: Option<AttributeKind>,
        /// The kind it must have.
        expected: AttributeKind,
    },
    /// A string attribute with a value that its operator does not have.
    AttributeChoice {
        name: &'a str,
        found: String,
        /// The values that the operator accepts.
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
    /// A port has a type that the operator does not allow.
    NotAllowed {
        port: Port,
        /// The type of the port.
        found: Type,
        /// The types that the operator allows.
        allowed: Box<AllowedTypes>,
    },
    /// A named rule does not hold.
    Rule { rule: &'a str, failure: RuleError },
    /// A relation of a declared operator does not hold, or its declaration cannot be applied.
    Relation { relation: &'static str, failure: RelationError },
    /// A declared type contradicts the inferred one.
    Contradiction {
        /// The list that contains the declaration.
        declared_in: DeclarationKind,
        /// The declared type.
        declared: Type,
        /// The inferred type.
        inferred: Type,
        /// The first axis that differs, if the shapes do.
        axis: Option<usize>,
    },
    /// An initializer contradicts the declared type of its input.
    DefaultContradicts {
        /// The declared type.
        declared: Type,
        /// The initializer's type.
        found: Type,
    },
    /// A value is declared with the shape of a scalar and has axes: some exporters write an empty shape for
    /// an unknown one.
    EmptyShape {
        value: ValueId,
        /// The list that contains the declaration.
        declared_in: DeclarationKind,
        /// The evidence that it has axes.
        shown: Axes,
    },
    /// Dims are named by a placeholder that exporters write for an unknown extent, such as `?`.
    PlaceholderDim {
        /// The first value that is declared with a placeholder.
        value: ValueId,
        axis: usize,
        mark: String,
        /// The number of other axes with a placeholder.
        others: usize,
    },
    /// An extent is negative.
    NegativeDim {
        /// The list of the declaration; `None` for an extent of a stored tensor.
        declared_in: Option<DeclarationKind>,
        axis: usize,
        extent: i64,
    },
    /// A seed of the caller contradicts the model.
    SeedContradicts {
        /// The seed.
        seed: Type,
        /// The type in the model.
        found: Type,
    },
    /// A function is called with the wrong number of inputs or outputs.
    CallArity {
        /// Inputs or outputs.
        side: Side,
        /// The number of inputs or outputs of the call.
        given: usize,
        /// The number of inputs or outputs of the function.
        most: usize,
    },
    /// A function is called with fewer outputs than it has. An output that is not needed has an empty name.
    CallOutputs {
        /// The number of outputs of the call.
        given: usize,
        /// The number of outputs of the function.
        has: usize,
    },
    /// A function is called without an input that its body needs.
    CallInput {
        /// The position of the input.
        input: usize,
        /// The function's name for it.
        name: &'a str,
        /// The operator in the body that needs it; `None` if it is an output of the body.
        reader: Option<&'a str>,
    },
    /// A function is called with more different types and shapes than are solved; this call is typed without
    /// shapes.
    TooManyInstances {
        /// The number of combinations that are solved.
        most: usize,
    },
    /// The model's IR version is missing, zero, or newer than the newest that is known.
    IrVersion {
        /// The version; zero if it is missing.
        found: i64,
        /// The newest known version.
        newest: i64,
    },
    /// The model or a function imports a newer version of a domain than is known.
    NewerOpset {
        /// The function, if it is not the model.
        function: Option<String>,
        domain: &'a str,
        imported: i64,
        /// The newest known version.
        newest: i64,
    },
    /// Nodes of one graph have the same name.
    DuplicateNodeName {
        name: &'a str,
        /// Number of nodes with this name.
        count: usize,
        /// The first of them.
        first: StepId,
    },
    /// A limit hides a part of the type of a value.
    LimitReached { value: ValueId, limit: Limit },
    /// The extents of a tensor are known, and their product does not fit into 64 bits.
    ExtentOverflow { value: ValueId },
    /// A function that calls itself, directly or through others.
    RecursiveFunction {
        /// The cycle of calls, from the function to itself; of a long cycle, its ends.
        path: Vec<String>,
        /// The number of functions left out in the middle of the path.
        hidden: usize,
    },
    /// A symbol that the model declares as free has finitely many admissible values.
    ForcedSymbol {
        symbol: DimId,
        /// The values, in ascending order.
        values: Vec<i64>,
        /// Those of the values that satisfy the other conditions of the model too.
        fitting: Vec<i64>,
        /// The equation that excludes all other values.
        equation: Equation,
        /// Whether a constant of the graph restricts the symbol, and not the declared extent of another
        /// input.
        by_constant: bool,
        /// Whether a contradiction of two declarations is an error: several inputs declare the symbol, or the
        /// operator is none of ONNX. The reference accepts models of other operators with one such symbol.
        is_certain: bool,
    },
    /// Several symbols that the model declares as free have finitely many admissible values together.
    ForcedSymbols {
        /// The condition on the symbols, in its simplest form.
        condition: Condition,
        /// The values of the symbols, if the other conditions of the model leave one for each.
        fitting: Vec<(DimId, i64)>,
        /// The equation that excludes all other values.
        equation: Equation,
        /// As for [`SolveErrorKind::ForcedSymbol`].
        by_constant: bool,
    },
    /// The graph runs for some bindings of the symbols of inputs only.
    Restricted {
        /// The conditions that have to hold, in their simplest form.
        conditions: Vec<Condition>,
        /// The equation that they come from.
        equation: Equation,
        /// A smallest binding of symbols that violates one of them.
        binding: Vec<(DimId, i64)>,
    },
    /// An unknown extent of a graph input has one admissible value.
    NarrowedInput { value: ValueId, axis: usize, extent: i64 },
    /// Two symbols of the model can only be equal.
    ForcedEquality { left: DimId, right: DimId, equation: Equation },
    /// A declared extent differs from the derived one for some binding of the symbols of inputs.
    RefutedClaim(Box<RefutedClaim>),
    /// A declared shape is neither confirmed nor refuted by the graph.
    Assumed {
        value: ValueId,
        /// Its type with the declared extents.
        declared: Type,
        /// Its type without them.
        derived: Type,
    },
    /// Strict mode: a value whose type is not determined.
    Unresolved {
        value: ValueId,
        /// The known part of the type.
        known: Type,
        /// The remaining element types of a tensor.
        possible: Option<ElemSet>,
    },
    /// An error that occurs in some branches only, or that differs between all cases.
    InCase {
        /// The case, by its position among those of the model.
        case: usize,
        /// The branches that cause it: the first step of each node, and the graph. `None` if every case has
        /// an error.
        branches: Option<Vec<(StepId, GraphId)>>,
        /// The error, in terms of the case.
        error: Box<SolveErrorKind<'a>>,
        /// The location of the error.
        owner: CaseOwner,
        /// Whether the branches are known to be possible.
        reach: Reach,
    },
    /// A tensor's data is in another file, which cannot be used.
    MissingExternalData {
        /// A clause with the reason.
        reason: String,
    },
}

/// A declared extent with a counterexample.
#[derive(Clone, Debug, PartialEq)]
pub struct RefutedClaim {
    pub value: ValueId,
    /// The list that holds the declaration.
    pub declared_in: DeclarationKind,
    pub axis: usize,
    /// The declared extent.
    pub declared: DimId,
    /// The derived extent, or one side of a derived broadcast.
    pub derived: DimId,
    /// The other side of a derived broadcast.
    pub broadcast_with: Option<DimId>,
    /// A binding of symbols for which the graph runs and the two differ.
    pub binding: Vec<(DimId, i64)>,
    /// The derived and the declared extent under that binding.
    pub extents: (i64, i64),
    /// The condition under which the two are equal, if it is a single one.
    pub holds_where: Option<Condition>,
    /// A symbol of the inputs and the dim that it has to equal so that the declaration holds.
    pub assumption: Option<(DimId, DimId)>,
    /// The axis that gave a declared name its meaning, if no input declares the name.
    pub named: Option<NamedAxis>,
    pub weight: ClaimWeight,
}

/// The axis that gives a declared name its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedAxis {
    /// The name.
    pub name: DimId,
    pub value: ValueId,
    pub axis: usize,
}

/// The meaning of a declared extent for those who read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimWeight {
    /// A number, or the extent of an output of the model, on which callers rely. A false one is an error.
    Promise,
    /// The name of an axis of an inner value. ONNX defines it as a name; some tools write texts that look
    /// like arithmetic. A false one is a warning.
    Label,
}

/// Evidence that a value has axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Axes {
    /// The type of the node's output.
    Inferred(Type),
    /// A node that would be in error if the value had no axes.
    Needed(StepId),
}

impl SolveErrorKind<'_> {
    /// Converts a contradiction to [`SolveErrorKind::EmptyShape`] if a value with axes is declared as a
    /// scalar.
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

/// The owner of an error of one case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaseOwner {
    /// The node at the error's site.
    Node,
    /// The declared types of a value.
    Value(ValueId),
    /// An instance of a function, by its position among the case's instances with errors.
    Instance(usize),
}

/// Whether an error of a case is an error of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// It is: data or every binding of symbols can choose the branch.
    Free,
    /// The condition of the branch depends on extents that are not known, is computed, holds for empty
    /// tensors only, or is one that a caller can avoid by the choice of symbols.
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

impl Side {
    /// The one of two values that belongs to the side.
    pub(crate) fn pick<T>(self, inputs: T, outputs: T) -> T {
        match self {
            Self::Inputs => inputs,
            Self::Outputs => outputs,
        }
    }

    /// `input` or `output`.
    pub(crate) fn noun(self) -> &'static str {
        self.pick("input", "output")
    }
}
