//! What can be wrong with a set of type nodes.
//!
//! Faults are found all together, and reported in one order whatever the order of the nodes: by the
//! order of the variants of [`LatticeFault`], then by id.

use std::fmt::{self, Write as _};

/// One reason why a set of nodes is no lattice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum LatticeFault {
    /// There is no node at all.
    #[error("there are no nodes")]
    Empty,
    /// There are more nodes than a lattice may have.
    #[error("{found} nodes are more than the limit of {limit}")]
    TooManyNodes {
        /// How many were given.
        found: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// An id is empty, or contains white space or control characters.
    #[error("{id:?} is not an id: it must not be empty or contain white space")]
    MalformedId {
        /// The id as given.
        id: String,
    },
    /// Several nodes have one id.
    #[error("id `{id}` is declared {count} times")]
    DuplicateId {
        /// The id.
        id: String,
        /// How often it is declared.
        count: usize,
    },
    /// A node hangs under an id that nothing declares.
    #[error("`{id}` has the unknown parent `{parent}`")]
    UnknownParent {
        /// The node.
        id: String,
        /// The parent that is missing.
        parent: String,
    },
    /// A node hangs under a concrete node, which is a leaf.
    #[error("`{id}` hangs under `{leaf}`, which is concrete and must stay a leaf")]
    ChildOfLeaf {
        /// The node.
        id: String,
        /// Its parent.
        leaf: String,
    },
    /// Nodes that lie above themselves.
    #[error("the parents of {} form a cycle", Cycle(.ids))]
    Cycle {
        /// The whole cycle, each node followed by its parent, from the smallest id on.
        ids: Vec<String>,
    },
    /// More than one node has no parent.
    #[error("there must be one root, but {} have no parent", Ids(.ids))]
    SeveralRoots {
        /// The roots, by id.
        ids: Vec<String>,
    },
    /// Several nodes have one tag on the wire.
    #[error("wire hash {wire_hash:#x} belongs to {}", Ids(.ids))]
    DuplicateWireHash {
        /// The tag, given or derived.
        wire_hash: u64,
        /// The nodes, by id.
        ids: Vec<String>,
    },
    /// Several nodes have one denotation.
    #[error("denotation `{denotation}` belongs to {}", Ids(.ids))]
    DuplicateDenotation {
        /// The denotation.
        denotation: String,
        /// The nodes, by id.
        ids: Vec<String>,
    },
}

/// Everything that is wrong with a set of nodes; at least one fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatticeError {
    faults: Vec<LatticeFault>,
}

impl LatticeError {
    /// The error with these faults, or nothing if there are none.
    pub(super) fn from_faults(mut faults: Vec<LatticeFault>) -> Option<Self> {
        faults.sort();
        (!faults.is_empty()).then_some(Self { faults })
    }

    /// The faults, in a fixed order.
    #[must_use]
    pub fn faults(&self) -> &[LatticeFault] {
        &self.faults
    }
}

impl fmt::Display for LatticeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for LatticeError {}

struct Ids<'a>(&'a [String]);

impl fmt::Display for Ids<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(f, self.0, |at| if at + 1 == self.0.len() { " and " } else { ", " })
    }
}

struct Cycle<'a>(&'a [String]);

impl fmt::Display for Cycle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(f, self.0, |_| " -> ")?;
        match self.0.first() {
            Some(first) => write!(f, " -> `{first}`"),
            None => Ok(()),
        }
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    ids: &[String],
    separator: impl Fn(usize) -> &'static str,
) -> fmt::Result {
    for (at, id) in ids.iter().enumerate() {
        if at > 0 {
            f.write_str(separator(at))?;
        }
        f.write_char('`')?;
        f.write_str(id)?;
        f.write_char('`')?;
    }
    Ok(())
}
