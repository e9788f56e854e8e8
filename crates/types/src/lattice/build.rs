//! Validation of a set of nodes, and construction of the tables of a lattice.
//!
//! Declarations are first sorted by their whole content, so the result is independent of their order (the
//! order of registered nodes is the linker's). Equal declarations are one node, so that two crates can
//! declare the same one. If an id is declared with several contents, every declaration is validated, and the
//! first one in sorted order is used as the parent of other nodes. Cycles are found by colouring: every node
//! has at most one parent, so walking up from each node until a coloured one visits each node once.
//!
//! The construction uses no recursion, so a chain of any length needs constant stack. Time and memory are O(n
//! log n).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::elements::elements;
use super::error::{LatticeError, LatticeViolation};
use super::{Entry, Lattice, NodeNo};
use crate::tree::{TypeKind, TypeNode, registered_nodes, wire_tag};

/// Maximum number of nodes of a lattice.
pub const MAX_NODES: usize = 1 << 20;

/// A node that is declared at run time, for example by a plugin or a file.
///
/// The fields correspond to those of [`TypeNode`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// The name of the type, unique in the lattice.
    pub id: Cow<'static, str>,
    /// The id of the parent.
    #[serde(default)]
    pub parent: Option<Cow<'static, str>>,
    /// Whether values can have exactly this type.
    pub kind: TypeKind,
    /// The name of the C structure in a generated header, or empty.
    #[serde(default)]
    pub ffi_name: Cow<'static, str>,
    /// The tag on a wire envelope; 0 derives it from the content of a concrete node.
    #[serde(default)]
    pub wire_hash: u64,
    /// The ONNX type denotation, or empty.
    #[serde(default)]
    pub denotation: Cow<'static, str>,
}

impl NodeSpec {
    /// A concrete leaf under `parent` without names for other languages.
    #[must_use]
    pub fn concrete(id: impl Into<Cow<'static, str>>, parent: impl Into<Cow<'static, str>>) -> Self {
        Self::new(id.into(), Some(parent.into()), TypeKind::Concrete)
    }

    /// An abstract node under `parent`.
    #[must_use]
    pub fn bound(id: impl Into<Cow<'static, str>>, parent: impl Into<Cow<'static, str>>) -> Self {
        Self::new(id.into(), Some(parent.into()), TypeKind::Abstract)
    }

    /// The root of a lattice.
    #[must_use]
    pub fn root(id: impl Into<Cow<'static, str>>) -> Self {
        Self::new(id.into(), None, TypeKind::Abstract)
    }

    fn new(id: Cow<'static, str>, parent: Option<Cow<'static, str>>, kind: TypeKind) -> Self {
        Self { id, parent, kind, ffi_name: Cow::Borrowed(""), wire_hash: 0, denotation: Cow::Borrowed("") }
    }

    /// Sets the ONNX type denotation.
    #[must_use]
    pub fn with_denotation(self, denotation: impl Into<Cow<'static, str>>) -> Self {
        Self { denotation: denotation.into(), ..self }
    }

    /// Sets the wire tag.
    #[must_use]
    pub fn with_wire_hash(self, wire_hash: u64) -> Self {
        Self { wire_hash, ..self }
    }

    /// Sets the name of the C structure.
    #[must_use]
    pub fn with_ffi_name(self, ffi_name: impl Into<Cow<'static, str>>) -> Self {
        Self { ffi_name: ffi_name.into(), ..self }
    }

    /// The node as a static, which is never freed.
    pub(super) fn into_static(self) -> &'static TypeNode {
        let Self { id, parent, kind, ffi_name, wire_hash, denotation } = self;
        let text = |text: Cow<'static, str>| match text {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => text.leak(),
        };
        let [id, ffi_name, denotation] = [id, ffi_name, denotation].map(text);
        Box::leak(Box::new(TypeNode { id, parent: parent.map(text), kind, ffi_name, wire_hash, denotation }))
    }

    /// The wire tag, declared or derived; see [`TypeNode::wire_tag`].
    #[must_use]
    pub fn wire_tag(&self) -> u64 {
        let Self { id, parent, kind, ffi_name, wire_hash, denotation } = self;
        wire_tag(id, parent.as_deref(), *kind, ffi_name, *wire_hash, denotation)
    }
}

impl From<&'static TypeNode> for NodeSpec {
    fn from(node: &'static TypeNode) -> Self {
        let TypeNode { id, parent, kind, ffi_name, wire_hash, denotation } = *node;
        Self {
            id: Cow::Borrowed(id),
            parent: parent.map(Cow::Borrowed),
            kind,
            ffi_name: Cow::Borrowed(ffi_name),
            wire_hash,
            denotation: Cow::Borrowed(denotation),
        }
    }
}

/// Collects the nodes of a lattice.
///
/// ```
/// use typeloom_types::lattice::Lattice;
/// use typeloom_types::lattice::build::NodeSpec;
///
/// let lattice = Lattice::builder()
///     .with_registered()
///     .with_spec(NodeSpec::concrete("tensor.lns16", "tensor"))
///     .build()?;
/// assert!(lattice.is_subtype("tensor.lns16", "tensor"));
/// # Ok::<(), typeloom_types::lattice::error::LatticeError>(())
/// ```
#[derive(Default)]
pub struct LatticeBuilder {
    declared: Vec<Declared>,
}

struct Declared {
    spec: NodeSpec,
    origin: Option<&'static TypeNode>,
}

impl LatticeBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds every registered node.
    #[must_use]
    pub fn with_registered(self) -> Self {
        registered_nodes().fold(self, Self::with_node)
    }

    /// Adds a static node.
    #[must_use]
    pub fn with_node(mut self, node: &'static TypeNode) -> Self {
        self.declared.push(Declared { spec: node.into(), origin: Some(node) });
        self
    }

    /// Adds a node that is declared at run time.
    #[must_use]
    pub fn with_spec(mut self, spec: NodeSpec) -> Self {
        self.declared.push(Declared { spec, origin: None });
        self
    }

    /// Validates the nodes and builds the lattice.
    ///
    /// # Errors
    /// All violations of the rules in [`LatticeViolation`].
    pub fn build(self) -> Result<Lattice, LatticeError> {
        let mut declared = self.declared;
        if declared.len() > MAX_NODES {
            let violation = LatticeViolation::TooManyNodes { found: declared.len(), limit: MAX_NODES };
            return Err(LatticeError::from_violations(vec![violation]).expect("there is a violation"));
        }
        // Of equal declarations, one with a static is kept.
        declared.sort_by(|a, b| (&a.spec, a.origin.is_none()).cmp(&(&b.spec, b.origin.is_none())));
        declared.dedup_by(|again, first| again.spec == first.spec);
        let parents = resolve_parents(&declared);
        match LatticeError::from_violations(violations(&declared, &parents)) {
            Some(error) => Err(error),
            None => Ok(assemble(declared, &parents)),
        }
    }
}

/// The parent of a declaration, as a position among the sorted declarations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    None,
    Unknown,
    At(usize),
}

fn resolve_parents(declared: &[Declared]) -> Vec<Parent> {
    let position = |id: &str| declared.partition_point(|other| *other.spec.id < *id);
    declared
        .iter()
        .map(|node| match &node.spec.parent {
            None => Parent::None,
            Some(parent) => {
                let at = position(parent);
                match declared.get(at) {
                    Some(found) if found.spec.id == *parent => Parent::At(at),
                    Some(_) | None => Parent::Unknown,
                }
            }
        })
        .collect()
}

fn violations(declared: &[Declared], parents: &[Parent]) -> Vec<LatticeViolation> {
    let mut violations = Vec::new();
    if declared.is_empty() {
        violations.push(LatticeViolation::Empty);
    }
    let mut roots = Vec::new();
    for group in declared.chunk_by(|a, b| a.spec.id == b.spec.id) {
        let id = &group[0].spec.id;
        if id.is_empty() || id.contains(|c: char| c.is_whitespace() || c.is_control()) {
            violations.push(LatticeViolation::MalformedId { id: id.to_string() });
        }
        if group.len() > 1 {
            violations.push(LatticeViolation::DuplicateId { id: id.to_string(), count: group.len() });
        }
        if group.iter().any(|node| node.spec.parent.is_none()) {
            roots.push(id.to_string());
        }
    }
    if roots.len() > 1 {
        violations.push(LatticeViolation::SeveralRoots { ids: roots });
    }
    for (node, parent) in declared.iter().zip(parents) {
        let id = node.spec.id.to_string();
        match (*parent, &node.spec.parent) {
            (Parent::Unknown, Some(parent)) => {
                violations.push(LatticeViolation::UnknownParent { id, parent: parent.to_string() });
            }
            (Parent::At(at), _) if declared[at].spec.kind == TypeKind::Concrete => {
                violations.push(LatticeViolation::ChildOfLeaf { id, leaf: declared[at].spec.id.to_string() });
            }
            (Parent::None | Parent::Unknown | Parent::At(_), _) => {}
        }
    }
    // Duplicate declarations of one id may violate the same rule; it is reported once.
    violations.sort();
    violations.dedup();
    violations.extend(cycles(declared, parents));
    violations.extend(shared_names(declared));
    violations
}

fn cycles(declared: &[Declared], parents: &[Parent]) -> Vec<LatticeViolation> {
    const NEW: usize = usize::MAX;
    let mut walk_of = vec![NEW; declared.len()];
    let mut violations = Vec::new();
    for start in 0..declared.len() {
        let mut at = start;
        while walk_of[at] == NEW {
            walk_of[at] = start;
            match parents[at] {
                Parent::At(parent) => at = parent,
                Parent::None | Parent::Unknown => break,
            }
        }
        // The walk ended at a root, at a node of an earlier walk, or at one of its own nodes, which is a
        // cycle.
        if walk_of[at] == start && matches!(parents[at], Parent::At(_)) {
            violations.push(LatticeViolation::Cycle { ids: cycle_through(declared, parents, at) });
        }
    }
    violations
}

/// The ids on the cycle that contains `on_cycle`, starting with the smallest.
fn cycle_through(declared: &[Declared], parents: &[Parent], on_cycle: usize) -> Vec<String> {
    let mut positions = vec![on_cycle];
    let mut at = parents[on_cycle];
    while let Parent::At(parent) = at {
        if parent == on_cycle {
            break;
        }
        positions.push(parent);
        at = parents[parent];
    }
    let smallest =
        positions.iter().enumerate().min_by_key(|(_, position)| **position).map_or(0, |(at, _)| at);
    positions.rotate_left(smallest);
    positions.into_iter().map(|position| declared[position].spec.id.to_string()).collect()
}

fn shared_names(declared: &[Declared]) -> Vec<LatticeViolation> {
    let mut by_tag: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    let mut by_denotation: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Declared { spec, origin: _ } in declared {
        let tag = spec.wire_tag();
        if tag != 0 {
            by_tag.entry(tag).or_default().push(&spec.id);
        }
        if !spec.denotation.is_empty() {
            by_denotation.entry(&spec.denotation).or_default().push(&spec.id);
        }
    }
    let several = |mut ids: Vec<&str>| {
        // Ids are sorted; duplicate ids are a separate violation.
        ids.dedup();
        (ids.len() > 1).then(|| ids.into_iter().map(String::from).collect::<Vec<_>>())
    };
    let tags = by_tag.into_iter().filter_map(|(wire_hash, ids)| {
        Some(LatticeViolation::DuplicateWireHash { wire_hash, ids: several(ids)? })
    });
    let denotations = by_denotation.into_iter().filter_map(|(denotation, ids)| {
        Some(LatticeViolation::DuplicateDenotation { denotation: denotation.into(), ids: several(ids)? })
    });
    tags.chain(denotations).collect()
}

/// Numbers the nodes of a valid set in preorder and fills the tables.
fn assemble(declared: Vec<Declared>, parents: &[Parent]) -> Lattice {
    let count = declared.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut open = Vec::new();
    for (position, parent) in parents.iter().enumerate() {
        match parent {
            Parent::At(parent) => below[*parent].push(position),
            Parent::None | Parent::Unknown => open.push(position),
        }
    }

    let mut number = vec![0_u32; count];
    let mut order = Vec::with_capacity(count);
    while let Some(position) = open.pop() {
        number[position] = dense(order.len());
        order.push(position);
        open.extend(below[position].iter().rev());
    }

    let parent_of = |position: usize| match parents[position] {
        Parent::At(parent) => number[parent],
        Parent::None | Parent::Unknown => number[position],
    };
    let parents: Box<[u32]> = order.iter().map(|position| parent_of(*position)).collect();
    let mut ends: Box<[u32]> = (0..count).map(|at| dense(at + 1)).collect();
    for at in (1..count).rev() {
        let parent = parents[at] as usize;
        ends[parent] = ends[parent].max(ends[at]);
    }

    let mut children = Vec::with_capacity(count);
    let mut child_starts = vec![0];
    for position in &order {
        children.extend(below[*position].iter().map(|child| NodeNo::from_raw(number[*child])));
        child_starts.push(dense(children.len()));
    }

    let mut slots: Vec<Option<Declared>> = declared.into_iter().map(Some).collect();
    let entries: Box<[Entry]> = order
        .iter()
        .filter_map(|position| slots[*position].take())
        .map(|Declared { spec, origin }| Entry { wire_tag: spec.wire_tag(), spec, origin })
        .collect();

    let mut leaves = Vec::new();
    let mut leaf_starts = vec![0];
    for (at, entry) in entries.iter().enumerate() {
        if entry.spec.kind == TypeKind::Concrete {
            leaves.push(NodeNo::from_raw(dense(at)));
        }
        leaf_starts.push(dense(leaves.len()));
    }

    let mut lattice = Lattice {
        lowest_parents: sparse_minima(&parents),
        by_id: sorted_by(&entries, |_| true, |a, b| a.spec.id.cmp(&b.spec.id)),
        by_denotation: sorted_by(
            &entries,
            |entry| !entry.spec.denotation.is_empty(),
            |a, b| a.spec.denotation.cmp(&b.spec.denotation),
        ),
        by_wire_tag: sorted_by(&entries, |entry| entry.wire_tag != 0, |a, b| a.wire_tag.cmp(&b.wire_tag)),
        entries,
        parents,
        ends,
        children: children.into(),
        child_starts: child_starts.into(),
        leaves: leaves.into(),
        leaf_starts: leaf_starts.into(),
        elements: Box::default(),
    };
    lattice.elements = elements(&lattice);
    lattice
}

/// Sparse table: row `k` at `i` is the minimum of `values[i .. i + 2^k]`.
fn sparse_minima(values: &[u32]) -> Box<[Box<[u32]>]> {
    let mut rows: Vec<Box<[u32]>> = vec![values.into()];
    let mut width = 1;
    while width * 2 <= values.len() {
        let last = &rows[rows.len() - 1];
        let row = last.iter().zip(&last[width..]).map(|(a, b)| *a.min(b)).collect();
        rows.push(row);
        width *= 2;
    }
    rows.into()
}

fn sorted_by(
    entries: &[Entry],
    keep: impl Fn(&Entry) -> bool,
    order: impl Fn(&Entry, &Entry) -> std::cmp::Ordering,
) -> Box<[NodeNo]> {
    let mut numbers: Vec<NodeNo> =
        (0..entries.len()).filter(|at| keep(&entries[*at])).map(|at| NodeNo::from_raw(dense(at))).collect();
    numbers.sort_by(|a, b| order(&entries[a.index()], &entries[b.index()]));
    numbers.into()
}

/// A number of nodes as it is stored in the tables.
fn dense(count: usize) -> u32 {
    u32::try_from(count).expect("a lattice has at most MAX_NODES nodes")
}
