//! What can be wrong with a graph of plainly declared operators, in the graph's own terms.
//!
//! Errors own everything they say and outlive the solve.

mod words;

use std::fmt;

use typeloom_types::relation::PortRef;

use crate::program::DeclarationKind;
use crate::solve_error::Side;

pub(super) use words::of_errors;

/// Why a graph has no solution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TypeError {
    /// A relation does not hold.
    #[error("{0}")]
    ConstraintFailed(Box<ConstraintFailure>),
    /// Strict mode: nothing settles the type of a value.
    #[error("the type of `{value}` is not settled: {}", Open { bound, possible })]
    UnresolvedType {
        /// The value; those whose types are tied to it are not reported again.
        value: String,
        /// The node that it is known to lie under.
        bound: String,
        /// The leaves that are still possible, where they are few.
        possible: Vec<String>,
    },
    /// Strict mode: an operator has no declaration.
    #[error("{node} has no declaration{}", Near(near))]
    UnknownOperator {
        /// The node.
        node: NodeLabel,
        /// Declared operators of the graph whose names are close.
        near: Vec<String>,
    },
    /// A required input or output is left out.
    #[error("{node} lacks {port}, `{name}`")]
    MissingPort {
        /// The node.
        node: NodeLabel,
        /// The port.
        port: PortRef,
        /// Its declared name.
        name: String,
    },
    /// More inputs or outputs than the operator declares.
    #[error("{node} has {given} {}, and its operator at most {most}", side_name(*side))]
    SurplusPorts {
        /// The node.
        node: NodeLabel,
        /// Inputs or outputs.
        side: Side,
        /// How many there are.
        given: usize,
        /// How many there can be.
        most: usize,
    },
    /// What a value is seeded with contradicts another seed of it, or the constant that it is.
    #[error("`{value}` is seeded as {seed}, and it is {found}")]
    SeedContradicts {
        /// The value.
        value: String,
        /// The type of the seed.
        seed: String,
        /// What else is known.
        found: String,
    },
    /// A type that a nested graph declares contradicts what is found out.
    #[error("`{value}` is declared as {declared}, and it is {inferred}")]
    DeclarationContradicts {
        /// The value.
        value: String,
        /// The declared type.
        declared: String,
        /// What was found out.
        inferred: String,
    },
    /// A seed for a value that the graph does not have.
    #[error("there is no value `{value}` to give a type to")]
    UnknownValue {
        /// The name.
        value: String,
    },
    /// A seed with a node that the tree does not have.
    #[error("`{value}` is seeded with `{id}`, which is no type of the tree")]
    UnknownType {
        /// The value.
        value: String,
        /// The id.
        id: String,
    },
    /// A seed that is no type.
    #[error("what `{value}` is seeded with is no type")]
    BadSeed {
        /// The value.
        value: String,
    },
    /// The graph is no graph: a name made twice, a cycle, malformed attributes.
    #[error("{}{message}", At(node.as_ref()))]
    InvalidGraph {
        /// The node, if it is about one.
        node: Option<NodeLabel>,
        /// What is wrong.
        message: String,
    },
    /// The type tree cannot be solved over.
    #[error("the type tree cannot be used: {message}")]
    BadLattice {
        /// Why.
        message: String,
    },
    /// Several independent errors, in graph order; never nested, never fewer than two.
    #[error("{}", Lines(.0))]
    Several(Vec<TypeError>),
}

/// A relation that does not hold, with everything that speaks against it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintFailure {
    /// The node that it belongs to.
    pub node: NodeLabel,
    /// The relation's name: `same-element-type`, or that of a custom one.
    pub relation: String,
    /// What it demands.
    pub message: String,
    /// The ports that do not fit, with their values, types and causes.
    pub sides: Vec<ConstraintSide>,
}

/// One port of a failed relation.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintSide {
    /// The port.
    pub port: PortRef,
    /// The value there.
    pub value: String,
    /// Its type, by the ids of the tree.
    pub ty: String,
    /// Its shape, where its rank is known.
    pub shape: Option<String>,
    /// What gave it the type.
    pub cause: Option<TypeCause>,
}

/// What gave a value its type, at the end of the shortest chain of relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeCause {
    /// The caller said so.
    Seed {
        /// The value that was seeded.
        value: String,
        /// With what.
        ty: String,
    },
    /// The graph declares it.
    Declared {
        /// The value that is declared.
        value: String,
        /// In which list.
        list: DeclarationKind,
    },
    /// It is the type of a constant in the graph.
    Constant {
        /// The constant.
        value: String,
    },
    /// A node gives the type whatever its inputs are.
    Node {
        /// The value that it gives it to.
        value: String,
        /// The node.
        node: NodeLabel,
        /// The relation that says so.
        relation: String,
    },
}

/// How a node is named to people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeLabel {
    /// Its own name; often empty.
    pub name: String,
    /// The operator.
    pub op_type: String,
    /// Its position in its graph.
    pub position: usize,
}

impl TypeError {
    pub(super) fn several(mut errors: Vec<Self>) -> Self {
        match errors.pop() {
            Some(only) if errors.is_empty() => only,
            last => Self::Several(errors.into_iter().chain(last).collect()),
        }
    }

    /// The errors one by one.
    #[must_use]
    pub fn errors(&self) -> &[Self] {
        match self {
            Self::Several(errors) => errors,
            one => std::slice::from_ref(one),
        }
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Inputs => "inputs",
        Side::Outputs => "outputs",
    }
}

impl fmt::Display for NodeLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, op_type, position } = self;
        write!(f, "node #{position} `{op_type}`")?;
        if name.is_empty() { Ok(()) } else { write!(f, " (`{name}`)") }
    }
}

impl fmt::Display for ConstraintFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, relation, message, sides } = self;
        write!(f, "{node}: {message} [{relation}]")?;
        for (at, side) in sides.iter().enumerate() {
            write!(f, "{} {side}", if at == 0 { ", but" } else { ", and" })?;
        }
        Ok(())
    }
}

impl fmt::Display for ConstraintSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, value, ty, shape, cause } = self;
        write!(f, "{port} `{value}` is {ty}{}", shape.as_deref().unwrap_or_default())?;
        cause.as_ref().map_or(Ok(()), |cause| write!(f, " ({cause})"))
    }
}

impl fmt::Display for TypeCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed { value, ty } => write!(f, "from the seed of `{value}`, {ty}"),
            Self::Declared { value, list } => {
                let list = match list {
                    DeclarationKind::Input => "graph input",
                    DeclarationKind::Output => "graph output",
                    DeclarationKind::Value => "value",
                };
                write!(f, "declared for {list} `{value}`")
            }
            Self::Constant { value } => write!(f, "from the constant `{value}`"),
            Self::Node { value, node, relation } => write!(f, "given to `{value}` by {node} [{relation}]"),
        }
    }
}

/// What is known of an unresolved type.
struct Open<'e> {
    bound: &'e str,
    possible: &'e [String],
}

impl fmt::Display for Open<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.possible {
            [] => write!(f, "it is under {}", self.bound),
            some => write!(f, "it is {}", some.join(" or ")),
        }
    }
}

struct Near<'e>(&'e [String]);

impl fmt::Display for Near<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            some => write!(f, "; close: {}", some.join(", ")),
        }
    }
}

struct At<'e>(Option<&'e NodeLabel>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |node| write!(f, "{node}: "))
    }
}

struct Lines<'e>(&'e [TypeError]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(errors) = self;
        write!(f, "{} errors", errors.len())?;
        errors.iter().try_for_each(|error| write!(f, "\n- {error}"))
    }
}
