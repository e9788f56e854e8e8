//! Nodes of the type tree, and their registration in the default lattice.
//!
//! A node is a constant: its id, the id of its parent, whether values can have exactly this type
//! ([`TypeKind::Concrete`]) or whether it is a bound ([`TypeKind::Abstract`]), and its names in other
//! languages and on the wire. Nodes refer to their parents by id, so a crate can add a leaf under a node of
//! another crate.
//!
//! Nodes submitted as [`TypeNode`] or [`TypeNodeReg`] form the default lattice ([`Lattice::get`]). Nodes known at run time
//! only are declared by [`NodeSpec`](crate::lattice::build::NodeSpec) instead.
//!
//! **Invariant:** a node is plain data. Building a lattice validates that ids are unique and that parents
//! exist.
//!
//! Example of [`TypeNode`]:
//!
//! ```
//! use typeloom_types::tree::builtin::TYPE_TENSOR;
//! use typeloom_types::tree::{TypeKind, TypeNode};
//!
//! static TYPE_TENSOR_POSIT16: TypeNode = TypeNode {
//!     id: "tensor.posit16",
//!     parent: Some("tensor"),
//!     kind: TypeKind::Concrete,
//!     ffi_name: "my_tensor_posit16_t",
//!     wire_hash: 0,
//!     denotation: "org.example.tensor.posit16",
//! };
//! typeloom_types::register_type_node!(TYPE_TENSOR_POSIT16);
//!
//! assert!(TYPE_TENSOR_POSIT16.is_subtype_of(&TYPE_TENSOR));
//! ```

use crate::lattice::Lattice;

pub mod builtin;
pub mod onnx;

/// A type: a concrete leaf that values can have, or an abstract bound of such leaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeNode {
    /// The name of the type, unique in a lattice; a dotted path by convention (`tensor.f32`).
    pub id: &'static str,
    /// The id of the parent; `None` for the root.
    pub parent: Option<&'static str>,
    /// Whether values can have exactly this type.
    pub kind: TypeKind,
    /// The name of the C structure in a generated header; empty if there is none.
    pub ffi_name: &'static str,
    /// The wire tag; 0 to derive it from the content, see [`TypeNode::wire_tag`].
    pub wire_hash: u64,
    /// The ONNX type denotation of values of this type; empty if there is none.
    pub denotation: &'static str,
}

/// Whether values can have exactly this type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeKind {
    /// A leaf: values have this type, and dispatch can select by it.
    Concrete,
    /// An interior node: a bound of the types of values.
    Abstract,
}

impl TypeNode {
    /// Whether this type is `other` or a descendant of it in the default lattice.
    ///
    /// An unregistered node is a subtype of the supertypes of its parent. The lookup by id takes O(log n);
    /// frequent queries should use [`NodeNo`](crate::lattice::NodeNo) and [`Lattice::is_subtype`].
    ///
    /// # Panics
    /// As [`Lattice::get`], if the registered nodes do not form a lattice.
    #[must_use]
    pub fn is_subtype_of(&self, other: &Self) -> bool {
        self.id == other.id
            || self
                .parent
                .is_some_and(|parent| parent == other.id || Lattice::get().is_subtype(parent, other))
    }

    /// Whether values can have exactly this type.
    #[must_use]
    pub const fn is_concrete(&self) -> bool {
        matches!(self.kind, TypeKind::Concrete)
    }

    /// Whether this type is a bound only.
    #[must_use]
    pub const fn is_abstract(&self) -> bool {
        matches!(self.kind, TypeKind::Abstract)
    }

    /// The wire tag: [`wire_hash`](Self::wire_hash) unless it is 0, else [`derived_wire_tag`]; 0 for an
    /// abstract node, which no value has.
    #[must_use]
    pub const fn wire_tag(&self) -> u64 {
        wire_tag(self.id, self.parent, self.kind, self.ffi_name, self.wire_hash, self.denotation)
    }
}

impl std::fmt::Display for TypeNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// The wire tag of a node with these fields; see [`TypeNode::wire_tag`].
pub(crate) const fn wire_tag(
    id: &str,
    parent: Option<&str>,
    kind: TypeKind,
    ffi_name: &str,
    wire_hash: u64,
    denotation: &str,
) -> u64 {
    match kind {
        TypeKind::Concrete if wire_hash == 0 => derived_wire_tag(id, parent, ffi_name, denotation),
        TypeKind::Concrete | TypeKind::Abstract => wire_hash,
    }
}

/// The wire tag of a concrete node without a declared one.
///
/// FNV-1a (64 bit) over the length-prefixed fields, with the highest bit set so that derived tags differ from
/// 0 and from the small declared tags. The tag identifies a type on a wire whose ends use the same lattice;
/// building a lattice rejects collisions. Processes that do not trust each other identify a type by the
/// digest of its descriptor instead.
#[must_use]
pub const fn derived_wire_tag(id: &str, parent: Option<&str>, ffi_name: &str, denotation: &str) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    let mut state = fnv_str(OFFSET_BASIS, "typeloom.types.wire_tag.1");
    state = fnv_str(state, id);
    state = match parent {
        None => fnv_byte(state, 0),
        Some(parent) => fnv_str(fnv_byte(state, 1), parent),
    };
    state = fnv_str(state, ffi_name);
    state = fnv_str(state, denotation);
    state | 1 << 63
}

const fn fnv_byte(state: u64, byte: u8) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    (state ^ byte as u64).wrapping_mul(PRIME)
}

const fn fnv_str(mut state: u64, text: &str) -> u64 {
    let length = (text.len() as u64).to_le_bytes();
    let mut at = 0;
    while at < length.len() {
        state = fnv_byte(state, length[at]);
        at += 1;
    }
    let bytes = text.as_bytes();
    at = 0;
    while at < bytes.len() {
        state = fnv_byte(state, bytes[at]);
        at += 1;
    }
    state
}

/// The registration of a node in the default lattice through `inventory`, submitted by
/// [`register_type_node!`](crate::register_type_node).
pub struct TypeNodeReg(pub &'static TypeNode);

inventory::collect!(TypeNodeReg);
inventory::collect!(TypeNode);

/// The registered nodes, in the linker's order.
pub fn registered_nodes() -> impl Iterator<Item = &'static TypeNode> {
    let statics = inventory::iter::<TypeNodeReg>.into_iter().map(|registration| registration.0);
    statics.chain(inventory::iter::<TypeNode>)
}

/// Registers a static [`TypeNode`](crate::tree::TypeNode) in the default lattice.
///
/// Registration takes effect at link time. The node is validated when the default lattice is first used.
#[macro_export]
macro_rules! register_type_node {
    ($node:path) => {
        $crate::private::inventory::submit! { $crate::tree::TypeNodeReg(&$node) }
    };
}

/// Declares and registers static nodes.
macro_rules! nodes {
    ($($(#[$doc:meta])* $name:ident = $id:expr, $parent:expr, $kind:ident, $ffi:expr, $wire:literal, $denotation:expr;)*) => {
        $(
            $(#[$doc])*
            pub static $name: $crate::tree::TypeNode = $crate::tree::TypeNode {
                id: $id,
                parent: $parent,
                kind: $crate::tree::TypeKind::$kind,
                ffi_name: $ffi,
                wire_hash: $wire,
                denotation: $denotation,
            };
            $crate::register_type_node!($name);
        )*
    };
}
use nodes;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_tag_depends_on_every_field_and_on_their_boundaries() {
        let base = derived_wire_tag("a", Some("b"), "c", "d");
        for other in [
            derived_wire_tag("x", Some("b"), "c", "d"),
            derived_wire_tag("a", Some("x"), "c", "d"),
            derived_wire_tag("a", None, "c", "d"),
            derived_wire_tag("a", Some("b"), "x", "d"),
            derived_wire_tag("a", Some("b"), "c", "x"),
            derived_wire_tag("a", Some("b"), "cd", ""),
            derived_wire_tag("ab", Some(""), "c", "d"),
        ] {
            assert_ne!(base, other);
            assert_ne!(other >> 63, 0);
        }
    }

    #[test]
    fn a_declared_tag_takes_precedence_and_an_abstract_node_has_none() {
        let node = TypeNode {
            id: "n",
            parent: Some("any"),
            kind: TypeKind::Concrete,
            ffi_name: "",
            wire_hash: 7,
            denotation: "",
        };
        assert_eq!(node.wire_tag(), 7);
        assert_eq!(TypeNode { wire_hash: 0, ..node }.wire_tag(), derived_wire_tag("n", Some("any"), "", ""));
        assert_eq!(TypeNode { wire_hash: 0, kind: TypeKind::Abstract, ..node }.wire_tag(), 0);
    }

    #[test]
    fn an_unregistered_node_is_a_subtype_of_its_parents_supertypes() {
        let node = TypeNode {
            id: "tensor.loose",
            parent: Some("tensor"),
            kind: TypeKind::Concrete,
            ffi_name: "",
            wire_hash: 0,
            denotation: "",
        };
        assert!(node.is_subtype_of(&node));
        assert!(node.is_subtype_of(&builtin::TYPE_TENSOR));
        assert!(node.is_subtype_of(&builtin::TYPE_ANY));
        assert!(!node.is_subtype_of(&builtin::TYPE_SCALAR));
        assert!(!builtin::TYPE_TENSOR.is_subtype_of(&node));
    }
}
