//! A validated set of type nodes with subtype, join and meet queries.
//!
//! The nodes form one tree and are numbered in preorder, siblings by id. The subtree of a node is then an
//! interval of numbers:
//!
//! - `a <: b` iff `a` is in the interval of `b`: two comparisons;
//! - the *join* (least upper bound) is the lowest common ancestor: the smallest parent number in the preorder
//!   range after the smaller and up to the larger of the two nodes. A sparse table answers this range-minimum
//!   query in O(1) (Bender and Farach-Colton's reduction, on preorder numbers);
//! - the *meet* (greatest lower bound) is the deeper of two related nodes; unrelated nodes have none.
//!
//! With an added bottom element the tree is a lattice in the mathematical sense. The bottom has no node;
//! [`Lattice::meet`] returns `None` for it.
//!
//! **Invariant:** a lattice is immutable. Queries by number take no locks, compute no hashes and allocate
//! nothing.
//!
//! **Invariant:** numbers depend on the set of nodes only, not on their order of declaration. They differ
//! between sets of nodes and are never serialised.

use std::sync::OnceLock;

use crate::tree::{TypeKind, TypeNode};

pub mod build;
pub mod elements;
pub mod error;

use build::{LatticeBuilder, NodeSpec};
use elements::LeafElement;
use error::{ExtendError, LatticeError};

/// The preorder position of a node in its lattice.
///
/// A number is valid in one lattice only. Queries do not panic on a number that is out of range: such a
/// number is a subtype of itself only, and its join with any node is the root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeNo(std::num::NonZeroU32);

impl NodeNo {
    /// The number as an index, in the order of [`Lattice::nodes`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.raw() as usize
    }

    const fn raw(self) -> u32 {
        self.0.get() - 1
    }

    /// Every caller passes a number below [`build::MAX_NODES`].
    const fn from_raw(raw: u32) -> Self {
        Self(std::num::NonZeroU32::MIN.saturating_add(raw))
    }
}

/// The lattice of all registered nodes.
static DEFAULT: OnceLock<Result<Lattice, LatticeError>> = OnceLock::new();

/// A set of type nodes that form one tree.
pub struct Lattice {
    /// Nodes by number.
    entries: Box<[Entry]>,
    /// Parent of each node by number; the root is its own parent.
    parents: Box<[u32]>,
    /// Exclusive end of each node's subtree by number.
    ends: Box<[u32]>,
    /// Sparse table: row `k` at `i` is the minimum of `parents[i .. i + 2^k]`.
    lowest_parents: Box<[Box<[u32]>]>,
    /// Children of all nodes, grouped by parent, in preorder.
    children: Box<[NodeNo]>,
    /// Start of each node's group in `children` by number, and the end of the last group.
    child_starts: Box<[u32]>,
    /// Concrete nodes in preorder.
    leaves: Box<[NodeNo]>,
    /// Number of concrete nodes before each node by number, and their total.
    leaf_starts: Box<[u32]>,
    /// All nodes sorted by id.
    by_id: Box<[NodeNo]>,
    /// Nodes with a denotation, sorted by denotation.
    by_denotation: Box<[NodeNo]>,
    /// Nodes with a wire tag, sorted by tag.
    by_wire_tag: Box<[NodeNo]>,
    /// Element types of leaves below `tensor` and `scalar`, sorted by leaf.
    elements: Box<[(NodeNo, LeafElement)]>,
}

struct Entry {
    spec: NodeSpec,
    wire_tag: u64,
    origin: Option<&'static TypeNode>,
}

impl Lattice {
    /// Creates a builder without nodes.
    #[must_use]
    pub fn builder() -> LatticeBuilder {
        LatticeBuilder::new()
    }

    /// The lattice of all registered nodes, built on first use.
    ///
    /// # Panics
    /// If the registered nodes do not form a lattice; the message lists every violation. Nodes are registered
    /// by static declarations, so this is a mistake in the program. [`Lattice::try_get`] returns the error
    /// instead.
    #[must_use]
    pub fn get() -> &'static Self {
        match Self::try_get() {
            Ok(lattice) => lattice,
            Err(error) => panic!("the registered type nodes do not form a lattice: {error}"),
        }
    }

    /// The lattice of all registered nodes.
    ///
    /// # Errors
    /// All violations, if the nodes do not form a lattice.
    pub fn try_get() -> Result<&'static Self, &'static LatticeError> {
        DEFAULT.get_or_init(|| Self::builder().with_registered().build()).as_ref()
    }

    /// Adds nodes that are known only at run time to the default lattice, such as those of a file. They
    /// become statics, so that everything that uses the default lattice knows them. To be called once, before
    /// the first use of the lattice.
    ///
    /// ```
    /// use typeloom_types::lattice::Lattice;
    /// use typeloom_types::lattice::build::NodeSpec;
    /// use typeloom_types::lattice::error::ExtendError;
    ///
    /// let wrong = [NodeSpec::concrete("tensor.lns16", "tensors")];
    /// assert!(matches!(Lattice::extend(wrong), Err(ExtendError::Invalid(_))));
    ///
    /// Lattice::extend([NodeSpec::concrete("tensor.lns16", "tensor")])?;
    /// assert!(Lattice::get().is_subtype("tensor.lns16", "tensor"));
    /// assert_eq!(Lattice::extend([]), Err(ExtendError::InUse));
    /// # Ok::<(), ExtendError>(())
    /// ```
    ///
    /// # Errors
    /// If the nodes and the registered ones do not form a lattice, or if the default lattice is in use.
    /// Nothing is added then.
    pub fn extend(nodes: impl IntoIterator<Item = NodeSpec>) -> Result<(), ExtendError> {
        if DEFAULT.get().is_some() {
            return Err(ExtendError::InUse);
        }
        let nodes: Vec<NodeSpec> = nodes.into_iter().collect();
        let with = |all: LatticeBuilder, node: &NodeSpec| all.with_spec(node.clone());
        nodes.iter().fold(Self::builder().with_registered(), with).build()?;
        // The set is valid, so the statics are created once in a process, except for concurrent calls.
        let statics = nodes.into_iter().map(NodeSpec::into_static);
        let lattice = statics.fold(Self::builder().with_registered(), LatticeBuilder::with_node).build();
        DEFAULT.set(lattice).map_err(|_| ExtendError::InUse)
    }

    /// Number of nodes; at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a lattice is never empty")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The root of the tree, a supertype of every node.
    #[must_use]
    pub fn root(&self) -> NodeNo {
        NodeNo::from_raw(0)
    }

    /// Whether `a` is `b` or a descendant of it; false if either is not a node of this lattice.
    ///
    /// O(1) on numbers, O(log n) on ids and static nodes.
    #[must_use]
    pub fn is_subtype(&self, a: impl NodeKey, b: impl NodeKey) -> bool {
        let (Some(a), Some(b)) = (a.number_in(self), b.number_in(self)) else { return false };
        b <= a && self.ends.get(b.index()).is_some_and(|end| a.raw() < *end)
    }

    /// The least upper bound: the deepest common ancestor.
    #[must_use]
    pub fn join(&self, a: NodeNo, b: NodeNo) -> NodeNo {
        let (low, high) = (a.min(b), a.max(b));
        if low == high {
            return low;
        }
        if high.index() >= self.len() {
            return self.root();
        }
        let (from, to) = (low.index() + 1, high.index() + 1);
        let row = (to - from).ilog2();
        let lowest = &self.lowest_parents[row as usize];
        NodeNo::from_raw(lowest[from].min(lowest[to - (1 << row)]))
    }

    /// The greatest lower bound: the deeper of two related nodes, `None` for unrelated ones.
    #[must_use]
    pub fn meet(&self, a: NodeNo, b: NodeNo) -> Option<NodeNo> {
        let (low, high) = (a.min(b), a.max(b));
        (low == high || self.is_subtype(high, low)).then_some(high)
    }

    /// The node with this id.
    #[must_use]
    pub fn lookup(&self, id: &str) -> Option<NodeRef<'_>> {
        self.search(&self.by_id, |entry| (*entry.spec.id).cmp(id))
    }

    /// The node with this denotation; `None` for the empty string.
    #[must_use]
    pub fn lookup_denotation(&self, denotation: &str) -> Option<NodeRef<'_>> {
        self.search(&self.by_denotation, |entry| (*entry.spec.denotation).cmp(denotation))
    }

    /// The node with this wire tag, declared or derived; `None` for 0.
    #[must_use]
    pub fn lookup_wire_hash(&self, wire_tag: u64) -> Option<NodeRef<'_>> {
        self.search(&self.by_wire_tag, |entry| entry.wire_tag.cmp(&wire_tag))
    }

    fn search(&self, order: &[NodeNo], key: impl Fn(&Entry) -> std::cmp::Ordering) -> Option<NodeRef<'_>> {
        let at = order.binary_search_by(|no| key(&self.entries[no.index()])).ok()?;
        self.node(order[at])
    }

    /// The number of a node named by id, by static or by reference.
    #[must_use]
    pub fn number_of(&self, key: impl NodeKey) -> Option<NodeNo> {
        key.number_in(self)
    }

    /// The node with this number; `None` if the number is from a larger lattice.
    #[must_use]
    pub fn node(&self, no: NodeNo) -> Option<NodeRef<'_>> {
        let Entry { spec, wire_tag, origin } = self.entries.get(no.index())?;
        Some(NodeRef {
            lattice: self,
            no,
            id: &spec.id,
            parent: spec.parent.as_deref(),
            kind: spec.kind,
            ffi_name: &spec.ffi_name,
            wire_hash: spec.wire_hash,
            wire_tag: *wire_tag,
            denotation: &spec.denotation,
            origin: *origin,
        })
    }

    /// The inverse of [`NodeNo::index`].
    #[must_use]
    pub fn number_at(&self, index: usize) -> Option<NodeNo> {
        let raw = u32::try_from(index).ok().filter(|_| index < self.len())?;
        Some(NodeNo::from_raw(raw))
    }

    /// All nodes in preorder.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeRef<'_>> + DoubleEndedIterator {
        (0..self.len()).map(|index| {
            self.number_at(index).and_then(|no| self.node(no)).expect("the index is below the length")
        })
    }

    /// The parent; `None` for the root.
    #[must_use]
    pub fn parent(&self, no: NodeNo) -> Option<NodeNo> {
        let parent = NodeNo::from_raw(*self.parents.get(no.index())?);
        (parent != no).then_some(parent)
    }

    /// The children in order of their ids.
    #[must_use]
    pub fn children(&self, no: NodeNo) -> &[NodeNo] {
        match self.child_starts.get(no.index()..no.index() + 2) {
            Some(&[start, end]) => &self.children[start as usize..end as usize],
            Some(_) | None => &[],
        }
    }

    /// The concrete nodes at or below this node, in preorder.
    #[must_use]
    pub fn leaves_under(&self, no: NodeNo) -> &[NodeNo] {
        let Some(end) = self.ends.get(no.index()) else { return &[] };
        &self.leaves[self.leaf_starts[no.index()] as usize..self.leaf_starts[*end as usize] as usize]
    }
}

impl std::fmt::Debug for Lattice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.nodes().map(|node| node.id)).finish()
    }
}

/// A node and its lattice.
#[derive(Clone, Copy)]
pub struct NodeRef<'l> {
    lattice: &'l Lattice,
    pub no: NodeNo,
    pub id: &'l str,
    /// The id of the parent.
    pub parent: Option<&'l str>,
    /// Whether values can have exactly this type.
    pub kind: TypeKind,
    /// The name of the C structure in a generated header, or empty.
    pub ffi_name: &'l str,
    /// The declared wire tag, or 0.
    pub wire_hash: u64,
    /// The wire tag, declared or derived; 0 for an abstract node without a declared tag.
    pub wire_tag: u64,
    /// The ONNX type denotation, or empty.
    pub denotation: &'l str,
    origin: Option<&'static TypeNode>,
}

impl NodeRef<'_> {
    /// The static node that this node was built from, if any.
    #[must_use]
    pub fn as_static(&self) -> Option<&'static TypeNode> {
        self.origin
    }

    /// Whether this node is `other` or a descendant of it.
    #[must_use]
    pub fn is_subtype_of(&self, other: impl NodeKey) -> bool {
        self.lattice.is_subtype(self.no, other)
    }

    /// Whether values can have exactly this type.
    #[must_use]
    pub fn is_concrete(&self) -> bool {
        self.kind == TypeKind::Concrete
    }

    /// Whether this node is a bound only.
    #[must_use]
    pub fn is_abstract(&self) -> bool {
        self.kind == TypeKind::Abstract
    }
}

impl std::fmt::Debug for NodeRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lattice: _, no, id, parent, kind, ffi_name, wire_hash, wire_tag, denotation, origin: _ } =
            self;
        f.debug_struct("NodeRef")
            .field("no", no)
            .field("id", id)
            .field("parent", parent)
            .field("kind", kind)
            .field("ffi_name", ffi_name)
            .field("wire_hash", wire_hash)
            .field("wire_tag", wire_tag)
            .field("denotation", denotation)
            .finish()
    }
}

impl std::fmt::Display for NodeRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// A key of a node in a lattice: its number, its id, its static, or a reference from any lattice.
///
/// Numbers need no lookup; other keys are found by id in O(log n).
pub trait NodeKey: sealed::Sealed + Copy {
    /// The number of the node in `lattice`, if it has the node.
    fn number_in(self, lattice: &Lattice) -> Option<NodeNo>;

    /// The name of the node in messages.
    fn label(self) -> String;
}

impl NodeKey for NodeNo {
    fn number_in(self, lattice: &Lattice) -> Option<NodeNo> {
        (self.index() < lattice.len()).then_some(self)
    }

    fn label(self) -> String {
        "a node of another lattice".into()
    }
}

impl NodeKey for &str {
    fn number_in(self, lattice: &Lattice) -> Option<NodeNo> {
        lattice.lookup(self).map(|node| node.no)
    }

    fn label(self) -> String {
        self.into()
    }
}

impl NodeKey for &TypeNode {
    fn number_in(self, lattice: &Lattice) -> Option<NodeNo> {
        self.id.number_in(lattice)
    }

    fn label(self) -> String {
        self.id.into()
    }
}

impl NodeKey for NodeRef<'_> {
    fn number_in(self, lattice: &Lattice) -> Option<NodeNo> {
        if std::ptr::eq(self.lattice, lattice) { Some(self.no) } else { self.id.number_in(lattice) }
    }

    fn label(self) -> String {
        self.id.into()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NodeNo {}
    impl Sealed for &str {}
    impl Sealed for &super::TypeNode {}
    impl Sealed for super::NodeRef<'_> {}
}

/// The registered node with this id; see [`Lattice::get`].
#[must_use]
pub fn lookup_by_id(id: &str) -> Option<&'static TypeNode> {
    Lattice::get().lookup(id)?.as_static()
}

/// The registered node with this ONNX type denotation; see [`Lattice::get`].
#[must_use]
pub fn lookup_denotation(denotation: &str) -> Option<&'static TypeNode> {
    Lattice::get().lookup_denotation(denotation)?.as_static()
}
