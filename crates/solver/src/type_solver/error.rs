//! The errors of a [`TypeSolver`](super::TypeSolver).
//!
//! They own their data and outlive the solve. Errors of the graph's structure are [`Diagnostic`]s.
//!
//! Several errors of one kind have the variant of that kind, so that a match on it holds for any number of
//! them: the first error lists all of them. [`TypeError::errors`] returns them for every variant.

mod convert;

use std::fmt;

use typeloom_types::plural::counted;
use typeloom_types::relation::PortRef;

use crate::diagnostic::text::suggestion;
use crate::diagnostic::{Code, Diagnostic, Location, NodeLocation};
use crate::program::DeclarationKind;
use crate::solve_error::Side;

pub(super) use convert::from_checked;

/// Error of solving a graph.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TypeError {
    /// A relation does not hold.
    #[error("{}", shown(&.0.all, || .0.to_string()))]
    ConstraintFailed(Box<ConstraintFailure>),
    /// Strict mode: the type of a value is not determined.
    #[error("{}", shown(all, || format!("the type of `{value}` is not settled: it is {}", open(bound, possible))))]
    UnresolvedType {
        /// The value; those whose types are tied to it are not reported again.
        value: String,
        /// The lowest known bound of its type.
        bound: String,
        /// The remaining leaves, if they are few.
        possible: Vec<String>,
        /// All unresolved values, this one first, if they are several; otherwise empty.
        all: Vec<TypeError>,
    },
    /// Strict mode: an operator has no declaration.
    #[error("{node} has no declaration{}", suggestion(near))]
    UnknownOperator {
        node: NodeLabel,
        /// Declared operators of the graph whose names are close.
        near: Vec<String>,
    },
    /// A required input or output is left out.
    #[error("{node} lacks {port}, `{name}`")]
    MissingPort { node: NodeLabel, port: PortRef, name: String },
    /// More inputs or outputs than the operator declares.
    #[error("{node} has {given} {}s, and its operator at most {most}", side.noun())]
    SurplusPorts { node: NodeLabel, side: Side, given: usize, most: usize },
    /// A seed contradicts another seed of the value, or its constant.
    #[error("`{value}` is seeded as {seed}, but its type is {found}")]
    SeedContradicts { value: String, seed: String, found: String },
    /// A declared type of a nested graph contradicts the inferred one.
    #[error("`{value}` is declared as {declared}, but its type is {inferred}")]
    DeclarationContradicts { value: String, declared: String, inferred: String },
    /// A seed for a value that the graph does not have.
    #[error("there is no value `{value}` to give a type to")]
    UnknownValue { value: String },
    /// A seed with a node that the tree does not have.
    #[error("`{value}` is seeded with `{id}`, which is not a type of the tree")]
    UnknownType { value: String, id: String },
    /// A seed that is not a type.
    #[error("the seed of `{value}` is not a type")]
    BadSeed { value: String },
    /// The structure of the graph is invalid: a value defined twice, a cycle, a malformed attribute.
    #[error("{}{}", prefix(node.as_ref()), diagnostic.message)]
    InvalidGraph {
        /// `None` for an error of the whole graph.
        node: Option<NodeLabel>,
        diagnostic: Box<Diagnostic>,
    },
    /// The type tree cannot be solved over.
    #[error("the type tree cannot be used: {message}")]
    BadLattice { message: String },
    /// Independent errors of several kinds, in graph order; never nested, never fewer than two.
    #[error("{}", several(.0))]
    Several(Vec<TypeError>),
}

/// A relation that does not hold, with the ports that contradict it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintFailure {
    /// The node that it belongs to.
    pub node: NodeLabel,
    /// The relation's name: `same-element-type`, or that of a custom one.
    pub relation: String,
    /// The condition of the relation.
    pub message: String,
    /// The contradicting ports, with their values, types and causes.
    pub sides: Vec<ConstraintSide>,
    /// All failed relations, this one first, if they are several; otherwise empty.
    pub all: Vec<TypeError>,
}

/// One port of a failed relation.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintSide {
    pub port: PortRef,
    /// The value there.
    pub value: String,
    /// Its type, by the ids of the tree.
    pub ty: String,
    /// Its shape, if its rank is known.
    pub shape: Option<String>,
    pub cause: Option<TypeCause>,
}

/// The origin of a value's type, at the end of the shortest chain of relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeCause {
    /// A seed of the caller.
    Seed { value: String, ty: String },
    /// A declaration of the graph.
    Declared { value: String, list: DeclarationKind },
    /// A constant of the graph.
    Constant { value: String },
    /// A node whose output has this type for all inputs.
    Node {
        /// The output of the node.
        value: String,
        node: NodeLabel,
        relation: String,
    },
}

/// Name of a node in messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeLabel {
    pub name: String,
    /// The operator.
    pub op_type: String,
    /// Its position in its graph.
    pub position: usize,
}

impl TypeError {
    pub(super) fn several(mut errors: Vec<Self>) -> Self {
        if errors.len() == 1 {
            return errors.remove(0);
        }
        let kind = errors.first().map(std::mem::discriminant);
        let is_uniform = errors.iter().all(|error| Some(std::mem::discriminant(error)) == kind);
        match errors.first().filter(|_| is_uniform).cloned() {
            Some(Self::UnresolvedType { value, bound, possible, all: _ }) => {
                Self::UnresolvedType { value, bound, possible, all: errors }
            }
            Some(Self::ConstraintFailed(first)) => {
                Self::ConstraintFailed(Box::new(ConstraintFailure { all: errors, ..*first }))
            }
            _ => Self::Several(errors),
        }
    }

    /// The errors one by one.
    #[must_use]
    pub fn errors(&self) -> &[Self] {
        let all: &[Self] = match self {
            Self::Several(errors) | Self::UnresolvedType { all: errors, .. } => errors,
            Self::ConstraintFailed(failure) => &failure.all,
            _ => &[],
        };
        if all.is_empty() { std::slice::from_ref(self) } else { all }
    }
}

impl TypeError {
    /// The diagnostics of the errors that concern the graph; a wrong seed and an unusable type tree have
    /// none.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.errors().iter().filter_map(Self::diagnostic).collect()
    }

    fn diagnostic(&self) -> Option<Diagnostic> {
        let (code, node) = match self {
            Self::InvalidGraph { diagnostic, .. } => return Some(Diagnostic::clone(diagnostic)),
            Self::ConstraintFailed(failure) => (Code::RelationFailed, Some(&failure.node)),
            Self::UnresolvedType { .. } => (Code::UnresolvedType, None),
            Self::UnknownOperator { node, .. } => (Code::UnknownOperator, Some(node)),
            Self::MissingPort { node, port: PortRef::Input(_) | PortRef::InputsFrom(_), .. } => {
                (Code::MissingInput, Some(node))
            }
            Self::MissingPort { node, .. } => (Code::MissingOutput, Some(node)),
            Self::SurplusPorts { node, .. } => (Code::SurplusPorts, Some(node)),
            Self::SeedContradicts { .. } => (Code::SeedContradiction, None),
            Self::DeclarationContradicts { .. } => (Code::DeclaredTypeContradiction, None),
            Self::UnknownValue { .. }
            | Self::UnknownType { .. }
            | Self::BadSeed { .. }
            | Self::BadLattice { .. }
            | Self::Several(_) => return None,
        };
        let node = node.map(|NodeLabel { name, op_type, position }| NodeLocation {
            index: *position,
            name: name.clone(),
            operator: op_type.clone(),
            output: None,
        });
        Some(Diagnostic::new(code, self.to_string(), Location { node, ..Location::default() }))
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
        let Self { node, relation, message, sides, all: _ } = self;
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

/// The known part of an unresolved type.
fn open(bound: &str, possible: &[String]) -> String {
    if possible.is_empty() { format!("under {bound}") } else { possible.join(" or ") }
}

fn prefix(node: Option<&NodeLabel>) -> String {
    node.map(|node| format!("{node}: ")).unwrap_or_default()
}

/// The message of an error: that of `all`, if it lists several.
fn shown(all: &[TypeError], one: impl Fn() -> String) -> String {
    if all.is_empty() { one() } else { several(all) }
}

fn several(errors: &[TypeError]) -> String {
    let lines: String = errors.iter().map(|error| format!("\n- {error}")).collect();
    format!("{}{lines}", counted(errors.len(), "error"))
}
