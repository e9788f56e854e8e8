//! Conversion of ports and types to those of relations and the type tree.

use std::sync::Arc;

use typeloom_types::lattice::NodeNo;

use crate::elem::{Elem, ElemSet};
use crate::solution::Type;
use crate::ty::{Head, Ty, Types};
use crate::universe::Universe;

/// Minimum number of leaves for which a type is written as their common node.
const MIN_LEAVES: u32 = 7;

/// The most specific node of the tree above a type; the root for unknown types and for constructors outside
/// the tree.
pub(crate) fn node_of(types: &mut Types, ty: Ty) -> NodeNo {
    let universe = Arc::clone(types.universe());
    let lattice = universe.lattice();
    match types.head(ty) {
        Head::Unknown(bound) => bound.unwrap_or_else(|| lattice.root()),
        Head::Leaf(node) => node,
        Head::Tensor => {
            universe.tensor_bound(types.elems(ty).unwrap_or_default()).unwrap_or_else(|| lattice.root())
        }
        Head::Scalar => {
            universe.scalar_bound(types.elems(ty).unwrap_or_default()).unwrap_or_else(|| lattice.root())
        }
        Head::Composite => universe.composite_node().unwrap_or_else(|| lattice.root()),
        Head::Sparse | Head::Container(..) | Head::Error => lattice.root(),
    }
}

/// A type in the notation of the tree: the id of its node, if it has one.
pub(crate) fn tree_name(ty: &Type, universe: &Universe) -> String {
    let node = |node: NodeNo| universe.lattice().node(node).map_or("?", |node| node.id).to_owned();
    let leaves = |set: ElemSet, leaf: &dyn Fn(Elem) -> Option<NodeNo>, all: Option<NodeNo>| {
        let of = |elem: Elem| leaf(elem).map_or_else(|| universe.elem_name(elem).to_owned(), node);
        match set.len() {
            0 | MIN_LEAVES.. => all.map_or_else(|| "?".to_owned(), node),
            _ => set.iter().map(of).collect::<Vec<_>>().join(" or "),
        }
    };
    let (constructors, inner) = ty.split();
    let mut name: String = constructors.iter().map(|constructor| constructor.opening(universe)).collect();
    name += &match inner {
        Type::Unknown(bound) => node(bound.unwrap_or_else(|| universe.lattice().root())),
        Type::Leaf(leaf) => node(*leaf),
        Type::Tensor(tensor) => {
            leaves(tensor.elem, &|elem| universe.tensor_leaf(elem), universe.tensor_node())
        }
        Type::Sparse(tensor) => {
            let elems = leaves(tensor.elem, &|elem| universe.tensor_leaf(elem), universe.tensor_node());
            format!("sparse({elems})")
        }
        Type::Scalar(set) => leaves(*set, &|elem| universe.scalar_leaf(elem), universe.scalar_node()),
        Type::Composite(composite) if composite.children.is_empty() && composite.is_open => {
            universe.composite_node().map_or_else(|| "?".to_owned(), node)
        }
        Type::Composite(composite) => composite.text(|child| tree_name(child, universe)),
        Type::Error | Type::Container(..) => "error".to_owned(),
    };
    name.extend(constructors.iter().map(|_| ')'));
    name
}
