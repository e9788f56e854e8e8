//! Element types of a lattice, and their leaves in the type tree.
//!
//! An element type has up to two leaves: one for tensors (`tensor.f32`) and one for scalars (`scalar.f32`).
//! The element types of ONNX have the numbers of ONNX. Further leaves below `tensor` or `scalar` have numbers
//! from [`Elem::FIRST_CUSTOM`] on, in tree order; [`LeafElement`] defines their names.

use std::sync::{Arc, OnceLock};

use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::elements::LeafElement;
use typeloom_types::lattice::error::LatticeError;
use typeloom_types::lattice::{Lattice, NodeNo};
use typeloom_types::tree::builtin::TYPE_COMPOSITE;

use crate::elem::{Elem, ElemSet};

/// A lattice and its element types.
#[derive(Debug)]
pub struct Universe {
    lattice: Tree,
    tensor: Option<NodeNo>,
    scalar: Option<NodeNo>,
    composite: Option<NodeNo>,
    elem_of_node: Vec<Option<Elem>>,
    leaves: Vec<Leaves>,
}

#[derive(Debug)]
enum Tree {
    Default(&'static Lattice),
    Own(Arc<Lattice>),
}

/// Leaves of one element type.
#[derive(Clone, Debug, Default)]
struct Leaves {
    name: String,
    tensor: Option<NodeNo>,
    scalar: Option<NodeNo>,
}

/// Error of a type tree that a solve cannot use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UniverseError {
    /// The registered nodes do not form a tree.
    #[error(transparent)]
    Lattice(#[from] &'static LatticeError),
    #[error("the type tree has more than {} custom element types", Elem::LIMIT - Elem::FIRST_CUSTOM)]
    TooManyElements,
}

impl Universe {
    /// The universe of all registered type nodes, built once.
    ///
    /// # Panics
    /// If the registered nodes cannot be used; see [`Universe::try_standard`].
    #[must_use]
    pub fn standard() -> &'static Arc<Self> {
        match Self::try_standard() {
            Ok(universe) => universe,
            Err(error) => panic!("the registered type nodes cannot be used: {error}"),
        }
    }

    /// As [`Universe::standard`].
    ///
    /// # Errors
    /// [`UniverseError`] if the registered nodes do not form a tree, or have too many element types.
    pub fn try_standard() -> Result<&'static Arc<Self>, &'static UniverseError> {
        static STANDARD: OnceLock<Result<Arc<Universe>, UniverseError>> = OnceLock::new();
        STANDARD.get_or_init(|| Self::build(Tree::Default(Lattice::try_get()?))).as_ref()
    }

    /// The element types of another lattice.
    ///
    /// # Errors
    /// [`UniverseError`].
    pub fn of(lattice: Arc<Lattice>) -> Result<Arc<Self>, UniverseError> {
        Self::build(Tree::Own(lattice))
    }

    fn build(tree: Tree) -> Result<Arc<Self>, UniverseError> {
        let lattice = match &tree {
            Tree::Default(lattice) => *lattice,
            Tree::Own(lattice) => lattice,
        };
        let find = |id| lattice.lookup(id).map(|node| node.no);
        let (tensor, scalar) = (find("tensor"), find("scalar"));
        let composite = find(TYPE_COMPOSITE.id);
        let mut elem_of_node = vec![None; lattice.len()];
        let mut leaves = vec![Leaves::default(); usize::from(Elem::FIRST_CUSTOM)];
        for (root, kind) in [(tensor, TENSOR), (scalar, SCALAR)] {
            let Some(root) = root else { continue };
            for leaf in lattice.leaves_under(root).iter().copied() {
                let Some(element) = lattice.element_of(leaf) else { continue };
                let elem = elem_of(element, &mut leaves).ok_or(UniverseError::TooManyElements)?;
                *kind(&mut leaves[usize::from(elem.number())]) = Some(leaf);
                elem_of_node[leaf.index()] = Some(elem);
            }
        }
        Ok(Arc::new(Self { lattice: tree, tensor, scalar, composite, elem_of_node, leaves }))
    }

    /// The underlying lattice.
    #[must_use]
    pub fn lattice(&self) -> &Lattice {
        match &self.lattice {
            Tree::Default(lattice) => lattice,
            Tree::Own(lattice) => lattice,
        }
    }

    /// The abstract node of all tensors, if it exists.
    #[must_use]
    pub fn tensor_node(&self) -> Option<NodeNo> {
        self.tensor
    }

    /// The abstract node of all scalars, if it exists.
    #[must_use]
    pub fn scalar_node(&self) -> Option<NodeNo> {
        self.scalar
    }

    /// The leaf of values with named children, if it exists.
    #[must_use]
    pub fn composite_node(&self) -> Option<NodeNo> {
        self.composite
    }

    /// The leaf for tensors of `elem`, if it exists.
    #[must_use]
    pub fn tensor_leaf(&self, elem: Elem) -> Option<NodeNo> {
        self.leaves.get(usize::from(elem.number()))?.tensor
    }

    /// The leaf for scalars of `elem`, if it exists.
    #[must_use]
    pub fn scalar_leaf(&self, elem: Elem) -> Option<NodeNo> {
        self.leaves.get(usize::from(elem.number()))?.scalar
    }

    /// The element types of the tensors at or below `node`; `None` if `node` is not below `tensor`.
    #[must_use]
    pub fn tensor_elems(&self, node: NodeNo) -> Option<ElemSet> {
        self.elems_below(self.tensor?, node)
    }

    /// The element types of the scalars at or below `node`; `None` if `node` is not below `scalar`.
    #[must_use]
    pub fn scalar_elems(&self, node: NodeNo) -> Option<ElemSet> {
        self.elems_below(self.scalar?, node)
    }

    /// The lowest common ancestor of the tensor leaves of `elems`.
    pub(crate) fn tensor_bound(&self, elems: ElemSet) -> Option<NodeNo> {
        self.bound(self.tensor, elems, |leaves| leaves.tensor)
    }

    /// The lowest common ancestor of the scalar leaves of `elems`.
    pub(crate) fn scalar_bound(&self, elems: ElemSet) -> Option<NodeNo> {
        self.bound(self.scalar, elems, |leaves| leaves.scalar)
    }

    fn bound(
        &self,
        all: Option<NodeNo>,
        elems: ElemSet,
        leaf: fn(&Leaves) -> Option<NodeNo>,
    ) -> Option<NodeNo> {
        let mut joined: Option<NodeNo> = None;
        for leaf in elems.iter().filter_map(|elem| leaf(self.leaves.get(usize::from(elem.number()))?)) {
            joined = Some(joined.map_or(leaf, |joined| self.lattice().join(joined, leaf)));
            if joined == all {
                break;
            }
        }
        joined.or(all)
    }

    fn elems_below(&self, root: NodeNo, node: NodeNo) -> Option<ElemSet> {
        if !self.lattice().is_subtype(node, root) {
            return None;
        }
        let leaves = self.lattice().leaves_under(node).iter();
        Some(leaves.filter_map(|leaf| self.elem_of_node[leaf.index()]).collect())
    }

    /// The name of an element type: that of ONNX, or the name of the leaf for a custom type.
    #[must_use]
    pub fn elem_name(&self, elem: Elem) -> &str {
        let custom = || self.leaves.get(usize::from(elem.number())).map_or("", |leaves| leaves.name.as_str());
        elem.onnx_name().unwrap_or_else(custom)
    }

    /// The element type with this name: that of ONNX (`float`), the short one (`f32`), or that of a custom
    /// type.
    #[must_use]
    pub fn elem_named(&self, name: &str) -> Option<Elem> {
        let onnx = name.parse::<Dtype>().ok().map(Elem::of);
        onnx.or_else(|| custom_elem(name, &self.leaves))
    }
}

fn custom_elem(name: &str, leaves: &[Leaves]) -> Option<Elem> {
    let number = leaves.iter().position(|leaves| !leaves.name.is_empty() && leaves.name == name)?;
    u8::try_from(number).ok().and_then(Elem::new)
}

/// The leaf of one kind.
type OfKind = fn(&mut Leaves) -> &mut Option<NodeNo>;

const TENSOR: OfKind = |leaves| &mut leaves.tensor;
const SCALAR: OfKind = |leaves| &mut leaves.scalar;

/// The number of an element type, which is new for a name that `leaves` does not have.
fn elem_of(element: &LeafElement, leaves: &mut Vec<Leaves>) -> Option<Elem> {
    let name = match element {
        LeafElement::Onnx(dtype) => return Some(Elem::of(*dtype)),
        LeafElement::Custom(name) => name,
    };
    custom_elem(name, leaves).or_else(|| {
        let elem = u8::try_from(leaves.len()).ok().and_then(Elem::new)?;
        leaves.push(Leaves { name: name.to_string(), ..Leaves::default() });
        Some(elem)
    })
}
