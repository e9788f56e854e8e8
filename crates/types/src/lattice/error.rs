//! Errors of a set of type nodes.
//!
//! All violations are collected. They are reported in an order that does not depend on the order of the
//! nodes: by variant of [`LatticeViolation`], then by id.

/// One violation of the rules for a lattice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum LatticeViolation {
    /// The set is empty.
    #[error("there are no nodes")]
    Empty,
    /// The set is larger than [`MAX_NODES`](super::build::MAX_NODES).
    #[error("{found} nodes are more than the limit of {limit}")]
    TooManyNodes {
        /// Number of declared nodes.
        found: usize,
        /// Maximum number of nodes.
        limit: usize,
    },
    /// An id is empty, or contains white space or control characters.
    #[error("{id:?} is not an id: it must not be empty or contain white space")]
    MalformedId { id: String },
    /// Several different nodes have the same id. Equal declarations are one node.
    #[error("id `{id}` is declared {count} times, with different contents")]
    DuplicateId {
        id: String,
        /// Number of different declarations.
        count: usize,
    },
    /// The parent of a node is not declared.
    #[error("`{id}` has the unknown parent `{parent}`")]
    UnknownParent {
        id: String,
        /// The missing parent.
        parent: String,
    },
    /// The parent of a node is concrete, hence a leaf.
    #[error("`{id}` is declared under `{leaf}`, which is concrete and cannot have children")]
    ChildOfLeaf {
        /// The child.
        id: String,
        /// The concrete parent.
        leaf: String,
    },
    /// Nodes are their own ancestors.
    #[error("the parents of {} form a cycle", cycle(ids))]
    Cycle {
        /// The cycle, each node followed by its parent, starting with the smallest id.
        ids: Vec<String>,
    },
    /// More than one node has no parent.
    #[error("there must be one root, but {} have no parent", list(ids))]
    SeveralRoots {
        /// The roots, sorted by id.
        ids: Vec<String>,
    },
    /// Several nodes have the same wire tag.
    #[error("wire hash {wire_hash:#x} belongs to {}", list(ids))]
    DuplicateWireHash {
        /// The tag, declared or derived.
        wire_hash: u64,
        /// The nodes, sorted by id.
        ids: Vec<String>,
    },
    /// Several nodes have the same denotation.
    #[error("denotation `{denotation}` belongs to {}", list(ids))]
    DuplicateDenotation {
        denotation: String,
        /// The nodes, sorted by id.
        ids: Vec<String>,
    },
}

/// All violations of a set of nodes; at least one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", texts(violations))]
pub struct LatticeError {
    violations: Vec<LatticeViolation>,
}

impl LatticeError {
    /// An error with these violations; `None` if there are none.
    pub(super) fn from_violations(mut violations: Vec<LatticeViolation>) -> Option<Self> {
        violations.sort();
        (!violations.is_empty()).then_some(Self { violations })
    }

    /// The violations in a fixed order.
    #[must_use]
    pub fn violations(&self) -> &[LatticeViolation] {
        &self.violations
    }
}

/// Error of adding nodes to the default lattice.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExtendError {
    /// The default lattice is in use already.
    #[error("the default lattice is in use already, so no nodes can be added")]
    InUse,
    /// The nodes and the registered ones do not form a lattice.
    #[error(transparent)]
    Invalid(#[from] LatticeError),
}

fn texts(violations: &[LatticeViolation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn list(ids: &[String]) -> String {
    let ids = quoted(ids);
    match ids.split_last() {
        Some((last, rest @ [_, ..])) => format!("{} and {last}", rest.join(", ")),
        Some((only, [])) => only.clone(),
        None => String::new(),
    }
}

fn cycle(ids: &[String]) -> String {
    let ids = quoted(ids);
    ids.iter().chain(ids.first()).cloned().collect::<Vec<_>>().join(" -> ")
}

fn quoted(ids: &[String]) -> Vec<String> {
    ids.iter().map(|id| format!("`{id}`")).collect()
}
